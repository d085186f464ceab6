/// What an operation waits for: the send that it answers, or the creation of its
/// conversation.
///
/// Rules protected: nothing waits for a send that is the user's to decide, and a name
/// that only this device knows is never told to the server.
internal import Base
internal import Store
internal import Wire

extension OperationWriter {
  /// Whether a send may still arrive without a word of the user's.
  func isOnItsWay(_ send: OperationRecord) -> Bool {
    switch send.state {
    case .queued, .inFlight, .answered: true
    case .unknown: outbox.checks[send.seq] != nil
    case .refused, .done: false
    }
  }

  // MARK: Answers to messages

  /// Says what a send waits for. One that answers a message which is not sent, and not on
  /// its way, is the user's to decide.
  func noteReply(
    _ record: inout OperationRecord
  ) throws(StoreFailure) {
    record.depends = try tx.creation(of: record.cid)
    guard let name = record.replyTo, let send = try tx.operation(clientID: name),
      send.verb == .sendMessage, send.state != .done
    else { return }
    if isOnItsWay(send) {
      record.depends = send.seq
    } else {
      record.state = .refused
      record.errorCode = OperationRecord.notSent
    }
  }

  /// Queues an operation again. An answer to what was not sent, and is not on its way, is
  /// then a message like any other.
  func requeue(
    _ record: inout OperationRecord
  ) throws(StoreFailure) {
    var wasLost = record.errorCode == OperationRecord.notSent
    record.state = .queued
    record.firstSent = nil
    record.errorCode = nil
    record.errorText = nil
    guard record.verb == .sendMessage else { return }
    if wasLost, let name = record.replyTo {
      wasLost = try tx.operation(clientID: name) == nil
      try noteReply(&record)
    }
    guard wasLost || record.state == .refused else { return }
    record.body = OperationRecord.body(
      operationBody(record.members, setting: "reply_to", to: nil))
    record.replyTo = nil
    record.state = .queued
    record.errorCode = nil
  }

  /// Gives a send other members: false where it would answer itself, or what waits for it.
  func setReply(
    _ record: inout OperationRecord
  ) throws(StoreFailure) -> Bool {
    let reply = operationText("reply_to", in: record.members)
    if reply == record.replyTo {
      try requeue(&record)
      return true
    }
    var next: OperationRecord?
    if let reply { next = try tx.operation(clientID: reply) }
    while let awaited = next {
      if awaited.seq == record.seq { return false }
      next = awaited.depends == 0 ? nil : try tx.operation(awaited.depends)
    }
    record.replyTo = reply
    record.state = .queued
    record.errorCode = nil
    record.errorText = nil
    try noteReply(&record)
    return true
  }
}
