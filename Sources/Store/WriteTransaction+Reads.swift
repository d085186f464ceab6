/// Read state: receipts from the server, and read marks that it is owed.
///
/// Both only grow. A mark is an operation: durable, sent until the server
/// confirms it, and never after. Operations of other verbs share the table.
internal import Base

/// What an operation asks of the server. The values are part of the file's
/// format; the index on read marks names theirs.
enum OperationVerb: Int64 {
  case markRead = 1
}

extension WriteTransaction {
  /// Notes that `user` has read messages. Returns the numbers of the rows that
  /// changed; unknown ids are passed over.
  package func markReadBy(
    user: [UInt8], ids: [[UInt8]], _ cid: Int64, isMe: Bool
  ) throws(StoreFailure) -> [UInt64] {
    var changed: [UInt64] = []
    for id in ids {
      if isMe { try dropRead(id, cid) }
      if let number = try grow(id, cid, user, isMe: isMe) { changed.append(number) }
    }
    return changed
  }

  /// Queues a read mark. False where it is not owed: the message is unknown,
  /// forgotten, this user's own, already read, or already queued.
  package func enqueueRead(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> Bool {
    guard let row = try row(id, cid),
      row.flags.isDisjoint(with: [.mine, .readByMe, .forgotten])
    else { return false }
    try connection.run(
      "INSERT OR IGNORE INTO operation (verb, cid, target, lsn) VALUES (?, ?, ?, ?)",
      OperationVerb.markRead.rawValue, cid, id, lsn)
    guard try connection.changes > 0 else { return false }
    noteChange(cid, row.number, was: row.flags, now: row.flags)
    return true
  }

  /// Takes in the server's confirmation: the marks are done, and the rows are
  /// read. Returns the numbers of the rows that changed.
  package func confirmReads(
    _ ids: [[UInt8]], _ cid: Int64
  ) throws(StoreFailure) -> [UInt64] {
    try markReadBy(user: user, ids: ids, cid, isMe: true)
  }

  /// Gives marks up that the server refuses for good.
  package func dropReads(_ ids: [[UInt8]], _ cid: Int64) throws(StoreFailure) {
    for id in ids { try dropRead(id, cid) }
  }

  func dropRead(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) {
    try connection.run(
      "DELETE FROM operation WHERE verb = 1 AND cid = ? AND target = ?", cid, id)
  }

  /// Adds one reader to one message: its number where that changed the row.
  private func grow(
    _ id: [UInt8], _ cid: Int64, _ user: [UInt8], isMe: Bool
  ) throws(StoreFailure) -> UInt64? {
    guard let known = try readState(id, cid) else { return nil }
    let old = known.flags
    let flags = isMe ? old.union(.readByMe) : old
    // A husk keeps no names.
    let grown =
      old.contains(.forgotten)
      ? known.readers : ReaderList.adding(user, to: known.readers)
    guard flags != old || grown != known.readers else { return nil }
    // The lsn of a row of a lost epoch waits for a copy of the row itself.
    try connection.run(
      """
      UPDATE message SET flags = ?, read_by = ?, lsn = iif(lsn < ?, lsn, ?)
      WHERE cid = ? AND time = ? AND id = ?
      """, flags.rawValue, grown, try restoredLSN(cid), lsn, cid, known.time, id)
    noteChange(cid, known.number, was: old, now: flags)
    return known.number
  }

  private struct ReadState {
    var time: Int64
    var number: UInt64
    var flags: RowFlags
    var readers: [UInt8]?
  }

  private func readState(
    _ id: [UInt8], _ cid: Int64
  ) throws(StoreFailure) -> ReadState? {
    let row = try connection.statement(
      "SELECT time, number, flags, read_by FROM message WHERE cid = ? AND id = ?", cid, id)
    guard try row.step() else { return nil }
    return ReadState(
      time: row.int(0), number: row.uint(1), flags: RowFlags(rawValue: row.int(2)),
      readers: row.optionalBytes(3))
  }
}

extension ReadTransaction {
  /// Messages of a conversation whose read marks the server has not confirmed.
  ///
  /// A read lays them over what the server said.
  package func queuedReads(_ cid: Int64) throws(StoreFailure) -> Set<[UInt8]> {
    let statement = try connection.statement(Queries.queuedReads, cid)
    var ids: Set<[UInt8]> = []
    while try statement.step() { ids.insert(statement.bytes(0)) }
    return ids
  }

  /// Read marks that the server has not confirmed, the oldest first, grouped by
  /// conversation.
  package func pendingReads(limit: Int) throws(StoreFailure) -> [PendingReads] {
    let statement = try connection.statement(
      Queries.pendingReads, Swift.min(Swift.max(0, limit), Limits.readRowsMax))
    var groups: [PendingReads] = []
    var places: [Int64: Int] = [:]
    while try statement.step() {
      let cid = statement.int(0)
      if let place = places[cid] {
        groups[place].ids.append(statement.bytes(2))
      } else {
        places[cid] = groups.count
        groups.append(
          PendingReads(cid: cid, conversation: statement.bytes(1), ids: [statement.bytes(2)]))
      }
    }
    return groups
  }
}
