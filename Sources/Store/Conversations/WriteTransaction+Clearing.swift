/// Conversations that go, and a cache that is made anew.
///
/// Rule protected: what is the user's own outlives the cache: operations, drafts, names
/// given to conversations, what was erased here, and how far the user has read.
internal import Base
internal import Timeline

extension WriteTransaction {
  /// Drops all that the server said. Who follows the feed reads anew.
  package func clearCache() throws(StoreFailure) {
    try settleConversations()
    traceTable.note(.removed, [], in: 0)
    let told = try toldMarks()
    try annotationTable.keepOffers()
    try Schema.rebuildCache(try connection)
    let trace = feed.trace
    feed = FeedRuns()
    feed.trace = trace
    inserted.spoil()
    asked.someWait = nil
    counters.lastChange &+= 1
    counters.trimmedChange = counters.lastChange
    counters.recentChanges = InlineChanges()
    for mark in told.reversed() {
      try annotationTable.wait(mark.id, in: mark.cid) { $0.lists = mark.lists }
    }
  }

  private struct ToldMarks {
    var cid: Int64
    var id: [UInt8]
    var lists: ReceiptLists
  }

  /// What the server was told of messages of others, the newest first: each is told once,
  /// also where the message comes anew from a server that shows no receipts.
  private func toldMarks() throws(StoreFailure) -> [ToldMarks] {
    let row = try connection.statement(Queries.toldMarks, RowFlags.mine.union(.forgotten).rawValue)
    var found: [ToldMarks] = []
    while found.count < Limits.waitingKept, try row.step() {
      guard let lists = told(RowFlags(rawValue: row.int(2)), ReceiptLists(row, from: 3)) else {
        continue
      }
      found.append(ToldMarks(cid: row.int(0), id: row.bytes(1), lists: lists))
    }
    return found
  }

  /// This user's part of the marks of a message; nil where there is none.
  func told(_ flags: RowFlags, _ known: ReceiptLists) -> ReceiptLists? {
    var lists = ReceiptLists()
    if flags.contains(.readByMe) { lists.add(user, .read) }
    if let names = known.deliveredBy, ReaderList.contains(user, list: names) {
      lists.add(user, .delivered)
    }
    if flags.contains(.listenedByMe) { lists.add(user, .listened) }
    return lists == ReceiptLists() ? nil : lists
  }

  /// Takes out all that is known of a conversation. Its operations and its draft are the
  /// user's and stay; answers to what was asked before are of the conversation that went,
  /// which `deletedLSN` tells.
  package func removeConversation(_ cid: Int64) throws(StoreFailure) {
    guard let record = try conversation(cid: cid) else { return }
    try settleConversations()
    if record.isPending {
      // The server never knew it, so nothing of it comes back. Its name is kept where a
      // draft is still read by it.
      if try draft(cid) == nil {
        try conversationTable.remove(cid)
      } else {
        try conversationTable.takeBack(cid, deletedLSN: lsn)
        try ownTable.note(of: cid)
      }
      feed.add(.entities, cid, 0...0)
      return
    }
    try traceTable.removingAll(of: cid) { () throws(StoreFailure) in try removeRows(of: cid) }
    try ownTable.deleteMarks("DELETE FROM operation WHERE cid = ? AND verb < 10 RETURNING seq", cid)
    asked.operation = nil
    try connection.run("DELETE FROM span WHERE cid = ?", cid)
    try connection.run("DELETE FROM quarantine WHERE cid = ?", cid)
    if positionKind == LogTables.positionKind { try LogTables.remove(cid, try connection) }
    asked.quarantinedCount = nil
    try clearTombstones(cid)
    try feedTable.removeEntities(of: cid)
    try conversationTable.clear(cid, deletedLSN: lsn)
    // Nothing of it is counted, and how far it was read is forgotten.
    change(cid, to: UnreadCounters())
    feed.add(.coverage, cid, 0...0)
    feed.add(.entities, cid, 0...0)
  }

  /// In pieces, so that a long conversation does not fill the memory.
  private func removeRows(of cid: Int64) throws(StoreFailure) {
    while true {
      let rows = try rows(
        cid, from: .min, to: Self.beyond, limit: Limits.readRowsMax, newestFirst: false)
      guard let last = rows.last else { break }
      for row in rows {
        try annotationTable.keepOffer(row.position.id, in: cid, row.flags)
        try feedTable.noteChange(
          cid, number: row.number, was: RowState(position: row.position, flags: row.flags), now: nil
        )
      }
      try connection.run(
        "DELETE FROM message WHERE cid = ? AND (time, key) <= (?, ?)", cid, last.position.time,
        last.position.key)
      // Else they would be found again for ever.
      guard try connection.changes > 0 else { throw .damaged }
      noteRows(cid, change: -Int64(rows.count))
    }
  }
}

// MARK: - For good

/// What was erased of a conversation.
package struct Erased: Equatable, Sendable {
  package var conversations: UInt64 = 0
  package var messages: UInt64 = 0
  package var operations: UInt64 = 0
  /// Unreadable items, events, entities, a draft.
  package var items: UInt64 = 0
  /// Of the contents of messages.
  package var bytes: UInt64 = 0

  package init() {}
}

extension WriteTransaction {
  /// What the user did in a conversation, done or not.
  package func operations(in cid: Int64) throws(StoreFailure) -> [UInt64] {
    let row = try connection.statement(
      "SELECT seq FROM operation WHERE cid = ? AND verb >= 10 ORDER BY seq", cid)
    var found: [UInt64] = []
    while try row.step() { found.append(row.uint(0)) }
    return found
  }

  /// Takes all out that is known of a conversation the server knows, the user's own with it. Its id
  /// stays, by which answers to what was asked before are known to be late.
  package func erase(_ cid: Int64, _ operations: [UInt64]) throws(StoreFailure) -> Erased {
    var erased = Erased()
    erased.conversations = 1
    erased.operations = UInt64(clamping: operations.count)
    ownTable.noteErased()
    do {
      let row = try connection.statement(
        """
        SELECT count(*), coalesce(sum(length(payload) + length(rest) + ifnull(length(raw), 0)), 0),
          (SELECT count(*) FROM quarantine WHERE cid = ?1)
            + (SELECT count(*) FROM event WHERE cid = ?1)
            + (SELECT count(*) FROM entity WHERE cid = ?1)
            + (SELECT count(*) FROM draft WHERE cid = ?1)
        FROM message WHERE cid = ?1
        """, cid)
      if try row.step() {
        (erased.messages, erased.bytes, erased.items) = (row.uint(0), row.uint(1), row.uint(2))
      }
    }
    for seq in operations { try operationTable.removeOperation(seq) }
    try operationTable.setDraft(nil, cid)
    try removeConversation(cid)
    try connection.run("DELETE FROM entity WHERE cid = ?", cid)
    try connection.run("DELETE FROM event WHERE cid = ?", cid)
    try connection.run(
      "UPDATE meta SET event_count = (SELECT count(*) FROM event WHERE kind != 2) WHERE one = 1")
    try connection.run("DELETE FROM offered WHERE cid = ?", cid)
    try connection.run("DELETE FROM forgotten WHERE cid = ?", cid)
    asked.someForgotten = nil
    memo?.some.forgotten = nil
    try traceTable.erase(cid)
    return erased
  }
}
