/// The list of conversations, as the host holds it.
///
/// It polls as a window does: the core's news from the board, one committed state, one
/// step of the list. Locks are taken in the same order: list, core, board. It asks the host's hooks
/// before and after; all that is locked is done by `LockedList`.
internal import Base
package import Store
internal import Timeline

package final class ConversationList: Sendable {
  package let client: Client
  private let locked: LockedList
  private let number: UInt64

  fileprivate init(_ client: Client, number: UInt64, config: ListConfig) {
    self.client = client
    self.number = number
    locked = LockedList(client.core, number: number, config: config)
  }

  deinit {
    close()
  }

  /// Idempotent. What it asked for is dropped, later calls fail.
  package func close() {
    if locked.shut() { client.closeWindow(number) }
  }

  /// Moves to the newest committed state; nil where nothing changed.
  package func poll() throws(Failure) -> WindowDiff? {
    let now = client.now()
    var choice: PolicyChoice?
    if try locked.asksHost() {
      choice = try PolicyChoice(.host).made(
        by: client.config, for: [], .conversations, isWindow: true)
    }
    var lines = LogLines()
    defer { client.log(lines) }
    return try locked.poll(at: now, choice, logging: &lines)
  }

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  package func rows(first: Int, count: Int) throws(Failure) -> ConversationPage? {
    try locked.rows(first: first, count: count)
  }

  /// The row of a conversation, by its id or the name that this user gave it.
  package func find(_ id: [UInt8]) throws(Failure) -> Int? { try locked.find(id) }

  package func state() throws(Failure) -> ListStatus { try locked.state() }

  /// What was read and touched so far: the cost that tests hold to the change.
  package var work: Int { locked.work }
}

extension Client {
  package func openList(_ config: ListConfig = ListConfig()) throws(Failure) -> ConversationList {
    guard (Limits.windowRowsMin...Limits.windowRowsMax).contains(config.rowsMax) else {
      throw .invalid("rows_max is not between 100 and 200,000")
    }
    var config = config
    config.asksHost = config.choice.policy == .host
    config.choice = try config.choice.made(
      by: self.config, for: [], .conversations, isWindow: true)
    let number = try input { engine, now throws(Failure) in try engine.openList(config, at: now) }
    signalNews()
    return ConversationList(self, number: number, config: config)
  }

  /// Conversations of the cache, the last active first.
  package func conversations(offset: Int, limit: Int) throws(Failure) -> ConversationPage {
    guard offset >= 0, (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    return try core.conversations(offset: offset, limit: limit)
  }

  /// One conversation of the cache, by its id or the name that this user gave it.
  package func conversation(_ id: [UInt8]) throws(Failure) -> ConversationPage {
    try check(id)
    let typing = snapshot.withLock { $0.typing.users }
    return try reading { reading throws(Failure) in
      let cid = try reading.storing { rx throws(StoreFailure) -> Int64? in
        guard let record = try rx.conversation(id) else { return nil }
        // One that holds nothing but a draft is in no list.
        if try rx.draft(record.cid) != nil { return record.cid }
        let summary = try rx.summary(record)
        return summary.isListed || summary.isLeft ? record.cid : nil
      }
      guard let cid else { throw .noConversation }
      return try reading.conversations([cid], typing: typing, isNamed: true)
    }
  }

  // MARK: Drafts

  /// Keeps what the user has written; an empty draft is none.
  package func setDraft(
    conversation: [UInt8], body: [UInt8], replyTo: [UInt8] = []
  ) throws(Failure) {
    try check(conversation)
    guard body.count <= Limits.draftBytesMax else { throw .tooLarge("a draft is over 64 KiB") }
    if !replyTo.isEmpty { try check(replyTo) }
    try input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in
          if body.isEmpty {
            guard let record = try tx.conversation(conversation) else { return }
            return try tx.operationTable.setDraft(nil, record.cid)
          }
          let cid = try tx.conversation(creating: conversation).cid
          let answered = try tx.id(ofSend: replyTo, in: cid)
          try tx.operationTable.setDraft(StoredDraft(body: body, replyTo: answered), cid)
        }
      }
    }
  }

  /// Nil where there is none.
  package func draft(conversation: [UInt8]) throws(Failure) -> StoredDraft? {
    try check(conversation)
    return try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in
        guard let record = try rx.conversation(conversation) else { return nil }
        return try rx.draft(record.cid)
      }
    }
  }
}

extension WindowDiff {
  init(from: UInt64, list: borrowing WindowList, ops: [DiffOp]) {
    self.init(
      from: from, to: list.version, checksum: list.checksum, rowCount: list.count,
      ops: ops)
  }
}
