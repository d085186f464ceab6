/// A slice of a purge: rows that go from the cache and stay on the server.
///
/// Rule protected: nothing is called whole where a row was taken out, and nothing else is said by
/// it. The message was not deleted, so it leaves no tombstone, is told to the feed as purged, and
/// is as unread as before. Whole timestamp groups lose their trust at once, before their first row
/// goes, since rows of one time may change places.
internal import Base
package import Timeline

/// What a slice did.
package struct PurgeSlice: Sendable {
  package var rows: Int64 = 0
  package var bytes: Int64 = 0
  /// Where trust ended.
  package var ranges = SpanSet()
  /// Where to go on; nil where nothing more of the conversation can go.
  package var next: Position?

  package init() {}
}

package struct Purge {
  let tx: WriteTransaction

  package init(_ tx: WriteTransaction) { self.tx = tx }

  /// Takes out rows of a conversation from its far end on.
  ///
  /// - Parameters:
  ///   - from: where the slice before has ended.
  ///   - limit: rows that are looked at.
  ///   - isEnough: asked before each row with what went so far and when the server made it.
  package func slice(
    _ record: ConversationRecord, from: Position, besides protection: Protection, limit: Int,
    until isEnough: (PurgeSlice) -> Bool
  ) throws(StoreFailure) -> PurgeSlice {
    var slice = PurgeSlice()
    var gone: [Row] = []
    var left = limit
    for range in protection.ranges.gaps(in: from, high: .beforePending) {
      let rows = try rows(record.cid, in: range, limit: left)
      left &-= rows.count
      var top: Position?
      for row in rows {
        if isEnough(slice) {
          slice.next = row.position
          break
        }
        if protection.keeps(row.position.id, number: row.number, flags: row.flags) { continue }
        top = row.position
        gone.append(row)
        slice.rows &+= 1
        slice.bytes = slice.bytes.saturating(plus: row.bytes)
      }
      if let top {
        let low = range.low == .min ? range.low : .before(timestampGroup: range.low.time)
        slice.ranges.insert(low, min(.after(timestampGroup: top.time), range.high))
      }
      if slice.next != nil { break }
      if left <= 0 {
        slice.next = rows.last?.position.successor ?? range.low
        break
      }
    }
    if !gone.isEmpty { try take(gone, of: record, slice) }
    return slice
  }

  struct Row {
    var position: Position
    var number: UInt64
    var flags: RowFlags
    var lists: ReceiptLists
    var bytes: Int64

    var state: RowState { RowState(position: position, flags: flags) }
  }

  func rows(
    _ cid: Int64, in range: SpanSet.Span, limit: Int
  ) throws(StoreFailure) -> [Row] {
    let row = try tx.connection.statement(
      Queries.purgeRows, cid, range.low.time, range.low.key, range.high.time, range.high.key,
      limit)
    var rows: [Row] = []
    while try row.step() {
      rows.append(
        Row(
          position: Position(time: row.int(0), key: row.bytes(1)), number: row.uint(2),
          flags: RowFlags(rawValue: row.int(3)), lists: ReceiptLists(row, from: 4),
          bytes: row.int(7)))
    }
    return rows
  }

  func take(
    _ rows: [Row], of record: ConversationRecord, _ slice: PurgeSlice
  ) throws(StoreFailure) {
    let cid = record.cid
    try tx.unreadTable.keep(rows.map(\.state), of: cid)
    for row in rows {
      let id = row.position.id
      if row.flags.isDisjoint(with: [.mine, .forgotten]), let told = tx.told(row.flags, row.lists) {
        try tx.annotationTable.wait(id, in: cid) { $0.lists = told }
      }
      try tx.connection.runNoted(
        "DELETE FROM message WHERE cid = ? AND time = ? AND key = ?", cid, row.position.time,
        row.position.key)
      try tx.annotationTable.keepOffer(id, in: cid, row.flags)
      try tx.feedTable.notePurged(cid, number: row.number, was: row.state)
    }
    tx.inserted.spoil()
    tx.memo?.entry(cid).summary = nil
    tx.noteRows(cid, change: 0 &- slice.rows)
    try endTrust(slice.ranges, in: record)
    try RoomTables(connection: try tx.connection).notePurged(
      cid, rows: slice.rows, bytes: slice.bytes)
  }

  private func endTrust(
    _ ranges: SpanSet, in record: ConversationRecord
  ) throws(StoreFailure) {
    let cid = record.cid
    let spans = try tx.spans(cid)
    var kept = spans.without(ranges)
    kept.keepNewest(Limits.spansMax)
    try tx.save(spans: kept, replacing: spans, in: cid)
    for range in ranges.spans {
      try tx.quarantineTable.doubtQuarantine(cid, low: range.low, high: range.high)
    }
    let unverified = try tx.unverified(cid)
    let doubted = unverified.without(ranges)
    if doubted != unverified {
      try tx.save(unverified: doubted, replacing: unverified, in: cid)
    }
    let stale = try tx.stale(cid)
    let old = stale.without(ranges)
    if old != stale { try tx.save(stale: old, replacing: stale, in: cid) }
  }
}
