/// What waits for an operation that comes to nothing.
///
/// Rule protected: nothing that the user did is lost with a send, or hangs out of sight.
/// An answer to the send is a message of its own: it is refused, and the user's to
/// decide. What is about the send shows over its row, follows it and is dropped with it;
/// a deletion has then nothing to wait for, and takes it back.
internal import Base

extension OperationRecord {
  /// The code of an answer to a message that was not sent.
  package static let notSent = Array("not_sent".utf8)
}

extension OperationTable {
  /// Drops an operation and what waits for it. What it lay over is seen again as the
  /// server said it.
  package func removeOperation(_ seq: UInt64) throws(StoreFailure) {
    try abandon(seq, isGone: true)
  }

  /// A send may have arrived, was looked for and not found: nobody will tell any more.
  package func giveUp(send seq: UInt64) throws(StoreFailure) {
    guard var send = try tx.operation(seq), send.state == .unknown else { return }
    send.firstSent = nil
    try save(send)
    try abandon(seq, isGone: false)
  }

  /// Settles what waits for an operation that is dropped, or that is the user's to
  /// decide. One may wait for another in a long row, so nothing here calls itself.
  func abandon(_ first: UInt64, isGone: Bool) throws(StoreFailure) {
    var gone = isGone ? [first] : []
    var stuck = isGone ? [] : [first]
    // What was said in a conversation that will never be made has no place.
    let root = isGone ? try tx.operation(first) : nil
    let unmade = root.flatMap { $0.verb == .createConversation ? $0.cid : nil }
    while true {
      if let seq = gone.last {
        let waiting = try tx.operations(awaiting: seq)
        if waiting.isEmpty {
          gone.removeLast()
          try drop(seq)
        }
        for one in waiting {
          if one.verb == .sendMessage, one.cid != unmade {
            try refuse(answer: one)
            stuck.append(one.seq)
          } else {
            gone.append(one.seq)
          }
        }
      } else if let seq = stuck.popLast() {
        let waiting = try tx.operations(awaiting: seq)
        if waiting.contains(where: { $0.verb == .deleteMessage && $0.state == .queued }) {
          gone.append(seq)
          continue
        }
        for one in waiting where one.verb == .sendMessage {
          try refuse(answer: one)
          stuck.append(one.seq)
        }
      } else {
        return
      }
    }
  }

  private func refuse(answer: OperationRecord) throws(StoreFailure) {
    var refused = answer
    refused.state = .refused
    refused.depends = try tx.creation(of: answer.cid)
    refused.errorCode = OperationRecord.notSent
    refused.errorText = nil
    try save(refused)
  }

  /// Drops it alone: what waits for it stays as it is.
  func drop(_ seq: UInt64) throws(StoreFailure) {
    guard let known = try tx.operation(seq) else { return }
    try tx.connection.run("DELETE FROM operation WHERE seq = ?", seq)
    tx.asked.operation = nil
    tx.ownTable.note(seq)
    tx.feed.add(.operations, known.cid, seq...seq)
    try tx.feedTable.noteChange(known.cid, number: known.number, was: known.row, now: nil)
    try refresh(over: known)
  }

  /// Lets go on what waited for an operation; with `target`, on the message that it made.
  package func resolve(_ seq: UInt64, target: [UInt8]?) throws(StoreFailure) {
    while true {
      let waiting = try tx.operations(awaiting: seq)
      if waiting.isEmpty { return }
      for one in waiting {
        var next = one
        let creation = try tx.creation(of: one.cid)
        next.depends = creation == seq ? 0 : creation
        if let target, next.verb.isChange { next.target = target }
        try save(next)
      }
    }
  }
}
