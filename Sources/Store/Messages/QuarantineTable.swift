/// Items that could not be read, set aside with the place they hide.
///
/// The place stays a gap and is remembered, so that it is not fetched again each
/// time. A place may be wider than what was shown of it, as where a page ends in the
/// timestamp group of such an item: until all of it was shown, it is a gap like any other. Bytes
/// and rows are bounded: the oldest go, and their place is an ordinary gap again.
internal import Base
package import Timeline

/// Writes what cannot be read, inside of a transaction.
package struct QuarantineTable {
  let tx: WriteTransaction
}

extension QuarantineTable {
  package func quarantine(
    _ cid: Int64, bytes: [UInt8], reason: Int64, low: Position, high: Position
  ) throws(StoreFailure) {
    let kept = Array(bytes.prefix(Limits.quarantineBytesMax))
    try tx.connection.run(
      """
      INSERT OR IGNORE INTO quarantine
        (seq, cid, low_time, low_id, high_time, high_id, digest, size, reason, lsn, bytes, seen)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
      """, try lastQuarantined() &+ 1, cid, low.time, low.key, high.time, high.key,
      tx.digest(bytes[...]), bytes.count, reason, tx.lsn, kept)
    guard try tx.connection.changes > 0 else { return }
    try trimQuarantine()
    tx.feed.add(.coverage, cid, 0...0)
  }

  /// The number below that of the next item. Numbers of each commit are apart, so none is given
  /// twice: who reads on from one misses nothing, also where the newest items have gone.
  private func lastQuarantined() throws(StoreFailure) -> Int64 {
    let (first, overflow) = Int64(clamping: tx.lsn).multipliedReportingOverflow(
      by: Limits.quarantinedInCommit)
    let last = try tx.connection.number("SELECT max(seq) FROM quarantine") ?? 0
    return overflow ? last : Swift.max(first, last)
  }

  /// Lets the oldest go beyond the bound; they are counted once, and then with each.
  private func trimQuarantine() throws(StoreFailure) {
    let count: Int64
    if let known = tx.asked.quarantinedCount {
      count = known &+ 1
    } else {
      count = try tx.connection.number("SELECT count(*) FROM quarantine") ?? 0
    }
    tx.asked.quarantinedCount = count
    let most = Int64(clamping: Limits.quarantineKept)
    guard count > most else { return }
    try tx.connection.run(
      """
      DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine ORDER BY seq LIMIT ?)
      """, count &- most)
    tx.asked.quarantinedCount = most
  }

  /// Of the places inside `low ..< high` everything was shown: beside the unreadable
  /// items nothing hides there.
  package func seeQuarantine(
    _ cid: Int64, low: Position, high: Position
  ) throws(StoreFailure) {
    guard try tx.someQuarantined(cid) else { return }
    try tx.connection.run(
      """
      UPDATE quarantine SET seen = 1
      WHERE cid = ? AND seen = 0
        AND (low_time, low_id) >= (?, ?) AND (low_time, low_id) < (?, ?)
        AND (high_time, high_id) <= (?, ?)
      """, cid, low.time, low.key, high.time, high.key, high.time, high.key)
    if try tx.connection.changes > 0 { tx.feed.add(.coverage, cid, 0...0) }
  }

  /// Messages may have come to lie in the places that reach above `boundary`.
  package func doubtQuarantine(
    _ cid: Int64, above boundary: Position
  ) throws(StoreFailure) {
    guard try tx.someQuarantined(cid) else { return }
    try tx.connection.run(
      """
      UPDATE quarantine SET seen = 0
      WHERE cid = ? AND seen = 1 AND (high_time, high_id) > (?, ?)
      """, cid, boundary.time, boundary.key)
    if try tx.connection.changes > 0 { tx.feed.add(.coverage, cid, 0...0) }
  }

  /// Rows went from inside `low ..< high`: a place that reaches there hides more than it did.
  package func doubtQuarantine(
    _ cid: Int64, low: Position, high: Position
  ) throws(StoreFailure) {
    guard try tx.someQuarantined(cid) else { return }
    try tx.connection.run(
      """
      UPDATE quarantine SET seen = 0
      WHERE cid = ? AND seen = 1 AND (low_time, low_id) < (?, ?) AND (high_time, high_id) > (?, ?)
      """, cid, high.time, high.key, low.time, low.key)
    if try tx.connection.changes > 0 { tx.feed.add(.coverage, cid, 0...0) }
  }

  /// Places that end inside a time group end at its boundaries from now on: its rows take another
  /// order, and beside which of them an item stood is not known any more, nor what was shown there.
  package func widenQuarantine(_ cid: Int64, timestampGroup time: Int64) throws(StoreFailure) {
    guard try tx.someQuarantined(cid) else { return }
    tx.asked.quarantinedCount = nil
    let high = Position.after(timestampGroup: time)
    try tx.connection.run(
      """
      UPDATE OR REPLACE quarantine SET low_id = x'', seen = 0
      WHERE cid = ? AND low_time = ? AND low_id != x''
      """, cid, time)
    var changes = try tx.connection.changes
    try tx.connection.run(
      """
      UPDATE OR REPLACE quarantine SET high_time = ?, high_id = ?, seen = 0
      WHERE cid = ? AND high_time = ? AND high_id != x''
      """, high.time, high.key, cid, time)
    changes += try tx.connection.changes
    if changes > 0 { tx.feed.add(.coverage, cid, 0...0) }
  }

  /// Takes `low ..< high`, which was shown anew, out of the places: what it hides is told
  /// anew as well, and of a wider place only the parts beside it stay.
  package func clearQuarantine(
    _ cid: Int64, low: Position, high: Position
  ) throws(StoreFailure) {
    guard low <= high, try tx.someQuarantined(cid) else { return }
    tx.asked.quarantinedCount = nil
    try tx.connection.run(
      """
      DELETE FROM quarantine
      WHERE cid = ? AND (low_time, low_id) >= (?, ?) AND (high_time, high_id) <= (?, ?)
      """, cid, low.time, low.key, high.time, high.key)
    var changes = try tx.connection.changes
    try tx.connection.run(
      """
      INSERT OR IGNORE INTO quarantine
        (seq, cid, low_time, low_id, high_time, high_id, digest, size, reason, lsn, bytes, seen)
      SELECT ? + row_number() OVER (ORDER BY seq), cid, ?, ?, high_time, high_id, digest, size,
        reason, lsn, bytes, seen
      FROM quarantine
      WHERE cid = ? AND (low_time, low_id) < (?, ?) AND (high_time, high_id) > (?, ?)
      """, try lastQuarantined(), high.time, high.key, cid, low.time, low.key, high.time, high.key)
    changes += try tx.connection.changes
    try tx.connection.run(
      """
      UPDATE OR REPLACE quarantine SET high_time = ?, high_id = ?
      WHERE cid = ? AND (low_time, low_id) < (?, ?) AND (high_time, high_id) > (?, ?)
      """, low.time, low.key, cid, low.time, low.key, low.time, low.key)
    changes += try tx.connection.changes
    try tx.connection.run(
      """
      UPDATE OR REPLACE quarantine SET low_time = ?, low_id = ?
      WHERE cid = ? AND (low_time, low_id) >= (?, ?) AND (low_time, low_id) < (?, ?)
        AND (high_time, high_id) > (?, ?)
      """, high.time, high.key, cid, low.time, low.key, high.time, high.key, high.time, high.key)
    changes += try tx.connection.changes
    if changes > 0 { tx.feed.add(.coverage, cid, 0...0) }
  }
}

/// An item that was set aside.
package struct QuarantinedItem: Equatable, Sendable {
  /// Grows, never reused.
  package var seq: UInt64
  /// Empty for none.
  package var conversation: [UInt8]
  package var reason: Int64
  package var low: Int64
  package var high: Int64
  /// How many bytes it came with.
  package var size: UInt64
  /// What is kept of them.
  package var bytes: [UInt8]
}
