/// What the user does, on its way into the file. Lives for one transaction.
///
/// Rule protected: an operation that was never sent is changed in place; one that may have been
/// sent is followed by another operation, which waits for it.
internal import Base
internal import Store
internal import Wire

/// A request of the host's, with its payload as it would go out.
struct Draft {
  var request: OperationRequest
  var sealed: [UInt8]?
  /// The hook had no key for it yet.
  var awaitsSeal = false
  var awaitsUpload = false
  /// The payload was sealed for the message that it edits, as one not sent yet.
  var isSealedAsSend = false
}

struct OperationWriter {
  /// What the process knows of operations, before this one.
  let outbox: Outbox
  /// Payloads are sealed before they go out.
  let seals: Bool
  let tx: WriteTransaction

  func enqueue(
    _ draft: Draft, verb: OperationVerb, names: inout ClientNames, at now: Instant
  ) throws(StoreFailure) -> OperationRecord {
    let request = draft.request
    var name = request.clientID
    if let name, let known = try tx.operation(clientID: name) { return known }
    while verb.isNew, name == nil {
      let made = names.next()
      if try tx.operation(clientID: made) == nil { name = made }
    }
    var record = OperationRecord(
      verb, cid: 0, clientID: name, body: OperationRecord.body(request.body))
    record.plain = request.payload
    record.sealed = draft.sealed
    record.waits = draft.awaitsUpload ? .upload : draft.awaitsSeal ? .seal : .nothing
    record.atUs = now.wallUs ?? 0
    switch verb {
    case .createConversation:
      record.cid = try tx.operationTable.conversation(pending: name ?? []).cid
    case .reactMessage, .unreactMessage:
      record.plain = operationText("reaction", in: request.body)
    default:
      break
    }
    if verb != .createConversation, let conversation = request.conversation {
      let known = try tx.conversation(creating: conversation)
      record.cid = known.cid
      record.depends = try tx.creation(of: known.cid)
      if verb == .deleteConversation || verb == .leaveConversation,
        let made = try tx.operation(record.depends), made.isUnsent
      {
        // Its creation was never sent, so its end need not be sent.
        try tx.operationTable.removeOperation(made.seq)
        try tx.removeConversation(known.cid)
        return made
      }
    }
    if verb == .sendMessage {
      record.replyTo = operationText("reply_to", in: record.members)
      try noteReply(&record)
    }
    if let message = request.message {
      if let changed = try aim(&record, at: message, draft: draft) { return changed }
    }
    if verb == .markLastRead {
      if let further = try supersede(marker: &record) { return further }
    } else if let changed = try supersede(record, draft: draft) {
      return changed
    }
    return try tx.operationTable.addOperation(record)
  }

  /// Says which message an operation is about. A send that never left is changed at once, and is
  /// returned.
  private func aim(
    _ record: inout OperationRecord, at message: [UInt8], draft: Draft
  ) throws(StoreFailure) -> OperationRecord? {
    record.target = try tx.id(ofSend: message, in: record.cid)
    guard var send = try tx.operation(clientID: message), send.verb == .sendMessage,
      send.cid == record.cid, send.state != .done
    else { return nil }
    if record.verb == .deleteMessage, send.isUnsent || !isOnItsWay(send) {
      try tx.operationTable.removeOperation(send.seq)
      return send
    }
    if send.isUnsent, record.verb == .editMessage {
      // An edit that waits for the send is older than this one.
      for older in try tx.operations(on: message, in: record.cid)
      where older.verb == .editMessage && older.isUnsent {
        try tx.operationTable.removeOperation(older.seq)
      }
      try rewrite(&send, plain: record.plain, draft: draft, isFit: draft.isSealedAsSend)
      return send
    }
    record.depends = send.seq
    return nil
  }

  /// Gives an operation another payload. What was sealed for something else is sealed
  /// once more.
  private func rewrite(
    _ record: inout OperationRecord, plain: [UInt8]?, draft: Draft, isFit: Bool
  ) throws(StoreFailure) {
    record.rewrite(plain)
    record.sealed = isFit ? draft.sealed : nil
    let awaitsSeal = seals && record.sealed == nil
    if record.waits != .upload { record.waits = awaitsSeal ? .seal : .nothing }
    if record.state == .refused { try requeue(&record) }
    try tx.operationTable.saveOperation(record)
  }

  /// Of several operations on one thing that were never sent, the last one counts. Gives
  /// the one that takes this one's place.
  private func supersede(
    _ record: OperationRecord, draft: Draft
  ) throws(StoreFailure) -> OperationRecord? {
    guard !record.target.isEmpty, record.verb.isChange else { return nil }
    var edited: OperationRecord?
    for older in try tx.operations(on: record.target, in: record.cid) where older.isUnsent {
      if older.state == .refused { continue }
      switch (record.verb, older.verb) {
      case (.deleteMessage, .deleteMessage):
        return older
      case (.editMessage, .editMessage):
        // Two can wait: what a send is to say since it was rewritten follows as an edit by itself.
        if let edited { try tx.operationTable.removeOperation(edited.seq) }
        edited = older
      case (.deleteMessage, .editMessage), (.deleteMessage, .reactMessage),
        (.deleteMessage, .unreactMessage), (.deleteMessage, .pinMessage),
        (.deleteMessage, .unpinMessage), (.pinMessage, .pinMessage),
        (.pinMessage, .unpinMessage), (.unpinMessage, .pinMessage),
        (.unpinMessage, .unpinMessage):
        try tx.operationTable.removeOperation(older.seq)
      case (.reactMessage, .reactMessage), (.reactMessage, .unreactMessage),
        (.unreactMessage, .reactMessage), (.unreactMessage, .unreactMessage):
        if older.plain == record.plain { try tx.operationTable.removeOperation(older.seq) }
      default:
        break
      }
    }
    guard var last = edited else { return nil }
    try rewrite(&last, plain: record.plain, draft: draft, isFit: !draft.isSealedAsSend)
    return last
  }
}

extension OperationRecord {
  /// It was never sent, or the server has refused it.
  var isUnsent: Bool { state == .refused || (state == .queued && attempts == 0) }
}

extension OpenOperation {
  var isUnsent: Bool { state == .queued && attempts == 0 }
}
