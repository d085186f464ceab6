/// Keeping the counts of unread messages, in the transactions that change rows.
///
/// Rule protected: a count that is called exact is never wrong. Our own count moves
/// with every row. Of the server's count only what was heard as it happened is taken
/// away; where something may have happened before the server counted, or after, its
/// count is given up. The read marker only moves forward.
internal import Base
package import Timeline

extension WriteTransaction {
  /// Notes that a row came, changed, moved or went. `isHeard` says that it happens
  /// now; what an answer tells may have happened long ago.
  func noteUnread(
    _ cid: Int64, was before: (position: Position, flags: RowFlags)?,
    now after: (position: Position, flags: RowFlags)?, isHeard: Bool
  ) throws(StoreFailure) {
    let old = before.flatMap { $0.flags.isDisjoint(with: .notUnread) ? $0.position : nil }
    let new = after.flatMap { $0.flags.isDisjoint(with: .notUnread) ? $0.position : nil }
    if before == nil, let name = after?.position { try takeNamed(name, cid) }
    guard old != new else { return }
    var tally = try tally(cid)
    if let old, tally.isAboveMarker(old) { tally.unread -= 1 }
    if let new, tally.isAboveMarker(new) { tally.unread += 1 }
    if old == nil { tally.moreLSN = lsn }
    if new == nil { tally.fewerLSN = lsn }
    if var counted = tally.counted {
      let isKept = counted.note(
        old.flatMap { tally.isAboveMarker($0) ? $0 : nil },
        new.flatMap { tally.isAboveMarker($0) ? $0 : nil }, isNew: before == nil,
        isHeard: isHeard)
      tally.counted = isKept ? counted : nil
    }
    save(tally, cid)
  }

  /// Something was read or deleted of which nothing is stored: whether the server
  /// counted it cannot be told.
  func noteUnreadUnknown(_ cid: Int64) throws(StoreFailure) {
    var tally = try tally(cid)
    tally.counted = nil
    tally.fewerLSN = lsn
    save(tally, cid)
  }

  /// Moves the read marker up to a message. False where it stands there or above.
  @discardableResult
  package func moveReadMarker(_ cid: Int64, to position: Position) throws(StoreFailure) -> Bool {
    var tally = try tally(cid)
    guard tally.isAboveMarker(position), !position.isPending else { return false }
    let low = tally.marker.map(\.successor) ?? .min
    let passed = try countUnread(cid, from: low, to: position.successor)
    if var counted = tally.counted {
      if position >= counted.top {
        counted.count = 0
        counted.arrived -= try countUnread(
          cid, from: Swift.max(low, counted.top.successor), to: position.successor)
        tally.counted = counted
      } else if try spans(cid).covers(low, position.successor) {
        counted.count -= passed
        tally.counted = counted.count < 0 ? nil : counted
      } else {
        tally.counted = nil
      }
    }
    tally.marker = position
    tally.unread -= passed
    tally.fewerLSN = lsn
    save(tally, cid)
    return true
  }

  /// Takes in the id of the last message that the server knows as read. One that is
  /// not stored is waited for.
  package func noteLastRead(_ cid: Int64, id: [UInt8]) throws(StoreFailure) {
    if let row = try row(id, cid) {
      try moveReadMarker(cid, to: row.position)
      return
    }
    var tally = try tally(cid)
    guard tally.named != id else { return }
    tally.named = id
    save(tally, cid)
  }

  private func takeNamed(_ position: Position, _ cid: Int64) throws(StoreFailure) {
    var tally = try tally(cid)
    guard tally.named == position.id else { return }
    tally.named = nil
    save(tally, cid)
    try moveReadMarker(cid, to: position)
  }

  /// Takes in the server's count of unread messages, asked for after commit `issued`.
  /// `newest` is the newest message that it told beside the count; nil where it told
  /// none. False where so much happened meanwhile that it says nothing.
  @discardableResult
  package func noteServerUnread(
    _ cid: Int64, count: Int64, newest: Position?, issued: UInt64
  ) throws(StoreFailure) -> Bool {
    var tally = try tally(cid)
    let isMixed = tally.fewerLSN > issued || newest == nil && tally.moreLSN > issued
    // A marker that the server has not heard of may lie anywhere in what it counted.
    let isAhead = try connection.number(Queries.markerQueued, cid) != nil
    let top: Position
    if let newest {
      top = newest
    } else {
      top = try rows(
        cid, from: .min, to: Self.beyond, limit: 1, newestFirst: true
      ).first?.position ?? .min
    }
    let isRead = tally.marker.map { $0 >= top } ?? false
    guard count >= 0, !isMixed, isRead || !isAhead else { return false }
    // What the user has read and the server has not heard of yet.
    let queued = try connection.number(
      Queries.countQueued, cid, top.time, top.id, tally.marker?.time ?? .min,
      tally.marker?.id ?? [], RowFlags.notUnread.subtracting(.readQueued).rawValue)
    let low = tally.marker.map { Swift.max($0, top) } ?? top
    tally.counted = Tally.Counted(
      count: isRead ? 0 : Swift.max(0, count &- (queued ?? 0)), top: top,
      isSharp: newest != nil,
      arrived: try countUnread(cid, from: low.successor, to: Self.beyond))
    save(tally, cid)
    return true
  }

  /// The server's count is of a state that is lost.
  package func dropServerUnread(_ cid: Int64) throws(StoreFailure) {
    var tally = try tally(cid)
    guard tally.counted != nil else { return }
    tally.counted = nil
    save(tally, cid)
  }

  /// All rows of a conversation went at once; the marker stays.
  func clearUnread(_ cid: Int64) throws(StoreFailure) {
    var tally = try tally(cid)
    tally.unread = 0
    tally.counted = nil
    tally.fewerLSN = lsn
    save(tally, cid)
  }

  private func countUnread(
    _ cid: Int64, from low: Position, to high: Position
  ) throws(StoreFailure) -> Int64 {
    guard low < high else { return 0 }
    return try connection.number(
      Queries.countUnread, cid, low.time, low.id, high.time, high.id,
      RowFlags.notUnread.rawValue) ?? 0
  }

  private func save(_ tally: Tally, _ cid: Int64) {
    tallies[cid] = tally
  }

  /// Writes what changed, and tells the feed where that can be seen.
  func flushTallies() throws(StoreFailure) {
    for cid in tallies.keys.sorted() {
      guard let tally = tallies[cid] else { continue }
      try connection.run(
        """
        UPDATE conversation SET read_time = ?, read_id = ?, read_named = ?, unread_count = ?,
          server_unread = ?, counted_time = ?, counted_id = ?, counted_sharp = ?,
          counted_arrived = ?, unread_fewer = ?, unread_more = ?
        WHERE cid = ?
        """, tally.marker?.time, tally.marker?.id, tally.named, tally.unread,
        tally.counted?.count, tally.counted?.top.time, tally.counted?.top.id,
        tally.counted?.isSharp ?? false ? 1 : 0, tally.counted?.arrived ?? 0, tally.fewerLSN,
        tally.moreLSN, cid)
    }
    tallies = [:]
  }
}

extension Tally.Counted {
  /// A row above the marker went from `old` to `new`. False where it cannot be told
  /// whether the server counted it.
  fileprivate mutating func note(
    _ old: Position?, _ new: Position?, isNew: Bool, isHeard: Bool
  ) -> Bool {
    let wasAbove = old.map { $0 > top }
    let isAbove = new.map { $0 > top }
    switch (wasAbove, isAbove) {
    case (true, true), (false, false), (nil, nil):
      return true
    case (nil, true):
      arrived += 1
      // Without the newest message of the count, only what is heard is surely later.
      return !isNew || isSharp || isHeard
    case (true, nil):
      arrived -= 1
      return true
    case (nil, false):
      if isNew { return !isHeard }
      count += 1
      return isHeard
    case (false, nil):
      count -= 1
      return isHeard && count >= 0
    case (true, false), (false, true):
      return false
    }
  }
}
