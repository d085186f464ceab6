/// Unread messages that were purged: the count of them goes on.
///
/// Rule protected: how many messages are unread does not follow a purge. What was counted here
/// above the read marker and went is kept as a number with the place of the topmost of them, until
/// the marker passes that place or the messages come back. It makes no count exact.
internal import Base
internal import Timeline

struct PurgedUnread: Equatable {
  var count: Int64
  /// No purged one stands above it.
  var top: Position
}

/// Keeps the number, inside of a transaction.
struct PurgedUnreadBook {
  let tx: WriteTransaction

  init(_ tx: WriteTransaction) { self.tx = tx }

  /// Unread rows above the marker are about to go, the topmost of which stands at `top`.
  func add(_ count: Int64, top: Position, in record: ConversationRecord) throws(StoreFailure) {
    if count <= 0 { return }
    let cid = record.cid
    var purged = try tx.unreadReader.purgedUnread(cid) ?? PurgedUnread(count: 0, top: top)
    // Where all is here, none of those that were purged before is missing any more.
    if purged.count > 0, try tx.unreadReader.isCovered(above: tx.tally(cid).marker, of: record) {
      purged.count = 0
    }
    purged.count = purged.count.saturating(plus: count)
    purged.top = max(purged.top, top)
    try write(purged, cid)
  }

  /// An unread row came above the marker: one that was purged may be back.
  func take(_ position: Position, in cid: Int64) throws(StoreFailure) {
    guard var purged = try tx.unreadReader.purgedUnread(cid), position <= purged.top else { return }
    purged.count = purged.count.saturating(minus: 1)
    try write(purged, cid)
  }

  /// Where all is here again, as a commit leaves it, none is missing any more: also where those
  /// that came back were read elsewhere meanwhile.
  func settle(above marker: Position?, in cid: Int64) throws(StoreFailure) {
    guard try tx.unreadReader.purgedUnread(cid) != nil, let record = try tx.conversation(cid: cid),
      try tx.unreadReader.isCovered(above: marker, of: record)
    else { return }
    try forget(cid)
  }

  /// The server has counted: of those that were purged no more are unread than it has beside what
  /// is here. A lower bound says nothing, nor does a count whose newest message stands below some.
  func bound(by tally: UnreadCounters, in cid: Int64) throws(StoreFailure) {
    guard let counted = tally.counted, !counted.isLow, !counted.isDoubted, !counted.isOutlived,
      var purged = try tx.unreadReader.purgedUnread(cid),
      !counted.isSharp || purged.top <= counted.top
    else { return }
    let most = max(0, counted.count &+ counted.arrived &- tally.unread)
    if purged.count <= most { return }
    purged.count = most
    try write(purged, cid)
  }

  /// The marker moved up.
  func pass(_ position: Position, in cid: Int64) throws(StoreFailure) {
    guard let purged = try tx.unreadReader.purgedUnread(cid), purged.top <= position else { return }
    try forget(cid)
  }

  func forget(_ cid: Int64) throws(StoreFailure) {
    guard try tx.unreadReader.purgedUnread(cid) != nil else { return }
    try tx.connection.runNoted("DELETE FROM purged_unread WHERE cid = ?", cid)
    note(cid)
  }

  private func write(_ purged: PurgedUnread, _ cid: Int64) throws(StoreFailure) {
    if purged.count <= 0 { return try forget(cid) }
    try tx.connection.runNoted(
      """
      INSERT INTO purged_unread (cid, count, time, key) VALUES (?, ?, ?, ?)
      ON CONFLICT (cid) DO UPDATE SET count = excluded.count, time = excluded.time,
        key = excluded.key
      """, cid, purged.count, purged.top.time, purged.top.key)
    note(cid)
  }

  private func note(_ cid: Int64) {
    tx.memo?.some.purged = nil
    tx.memo?.entry(cid).summary = nil
  }
}
