/// The list of conversations, as the host holds it.
///
/// It polls as a window does: the core's news from the board, one committed state, one
/// step of the list. Locks are taken in the same order: list, core, board.
internal import Base
package import Store
internal import Timeline

package final class ConversationList: Sendable {
  private let live: LiveQuery<ListState>

  fileprivate init(_ client: Client, number: UInt64, config: ListConfig) {
    live = LiveQuery(client, number: number, seen: ListState(config))
  }

  package var client: Client { live.client }

  /// Idempotent. What it asked for is dropped, later calls fail.
  package func close() { live.close() }

  /// Moves to the newest committed state; nil where nothing changed.
  package func poll() throws(Failure) -> WindowDiff? {
    var diff: WindowDiff?
    // The host's hooks are called while no lock is held.
    let now = client.now()
    let choice = try chosen()
    var isEarlier = false
    defer { if isEarlier { client.signalNews() } }
    try live.inside { screen throws(Failure) in
      let from = screen.list.version
      let number = live.number
      if let choice { screen.choose(choice) }
      client.snapshot.withLock { screen.observe(&$0, number: number) }
      screen.pass(at: now)
      isEarlier = client.hold(screen.gate, of: number)
      if screen.mustTell { try tell(&screen, at: now) }
      let ops = try client.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in try screen.look(rx) }
      }
      if !ops.isEmpty { diff = WindowDiff(from: from, list: screen.list, ops: ops) }
    }
    return diff
  }

  /// Tells the core what the host's function says. Where it cannot ask now a later poll tells it.
  private func tell(_ screen: inout ListState, at now: Instant) throws(Failure) {
    var lines = LogLines()
    defer { screen.logLines += lines }
    let (number, choice) = (live.number, screen.config.choice)
    do throws(Failure) {
      try client.input(at: now, logging: &lines) { engine, now throws(Failure) in
        try engine.choose(number, choice, at: now)
      }
      screen.noteTold()
      if case .full = screen.trouble { screen.trouble = nil }
    } catch {
      guard case .full = error else { throw error }
      screen.trouble = error
    }
  }

  /// What the host's function makes of it now; nil where it is not asked.
  private func chosen() throws(Failure) -> PolicyChoice? {
    var asksHost = false
    try live.inside { screen in asksHost = screen.config.asksHost }
    guard asksHost else { return nil }
    return try PolicyChoice(.host).made(
      by: client.config, for: [], .conversations, isWindow: true)
  }

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  package func rows(first: Int, count: Int) throws(Failure) -> ConversationPage? {
    guard first >= 0, (1...Limits.readRowsMax).contains(count) else {
      throw .invalid("rows are asked for that no list has")
    }
    var page: ConversationPage?
    try live.inside { screen throws(Failure) in
      let (end, overflow) = first.addingReportingOverflow(count)
      let items = screen.list.items(min(first, overflow ? first : end)..<(overflow ? first : end))
      guard !items.isEmpty else { return }
      let typing = client.snapshot.withLock { $0.typing.users }
      page = try client.reading { reading throws(Failure) in
        try reading.conversations(items.map { Int64(clamping: $0.number) }, typing: typing)
      }
    }
    return page
  }

  /// The row of a conversation, by its id or the name that this user gave it.
  package func find(_ id: [UInt8]) throws(Failure) -> Int? {
    var found: Int?
    try live.inside { screen throws(Failure) in
      found = screen.list.row(ofID: id)
      if found != nil { return }
      let cid = try client.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in try rx.conversation(id)?.cid }
      }
      found = cid.flatMap { screen.list.row(ofNumber: UInt64(clamping: $0)) }
    }
    return found
  }

  package func state() throws(Failure) -> ListStatus {
    var status = ListStatus()
    try live.inside { screen in status = screen.status }
    return status
  }

  /// What was read and touched so far: the cost that tests hold to the change.
  package var work: Int { live.work }
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

  /// When one that waits for the network is to be looked at; true where the host thinks that
  /// nothing is due by then.
  fileprivate func hold(_ gate: Gate, of number: UInt64) -> Bool {
    if gate.deadlineMs == nil, !gate.wasShut { return false }
    return snapshot.withLock { snapshot in
      let isNew = snapshot.holds[number] != gate.deadlineMs
      snapshot.holds[number] = gate.deadlineMs
      return isNew && gate.deadlineMs.map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// Conversations of the cache, the last active first.
  package func conversations(offset: Int, limit: Int) throws(Failure) -> ConversationPage {
    guard offset >= 0, (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    let typing = snapshot.withLock { $0.typing.users }
    // The order is kept: a page costs what changed since the last one, and itself.
    return try listed.withLock { listed throws(Failure) in
      try reading { reading throws(Failure) in
        _ = try reading.storing { rx throws(StoreFailure) in try listed.look(rx) }
        let first = min(offset, listed.list.count)
        let items = listed.list.items(first..<min(first + limit, listed.list.count))
        return try reading.conversations(
          items.map { Int64(clamping: $0.number) }, typing: typing)
      }
    }
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

  /// Who is typing in a conversation, in the order in which they began.
  package func typing(conversation: [UInt8]) throws(Failure) -> [[UInt8]] {
    try check(conversation)
    try ensureOpen()
    return snapshot.withLock { $0.typing.users[conversation] ?? [] }
  }
}

extension WindowDiff {
  init(from: UInt64, list: borrowing WindowList, ops: [DiffOp]) {
    self.init(
      from: from, to: list.version, checksum: list.checksum, rowCount: list.count,
      ops: ops.map { op in
        WindowOp(
          WindowOp.Kind(rawValue: op.kind.rawValue) ?? .update, row: op.row, from: op.from,
          count: op.count)
      })
  }
}
