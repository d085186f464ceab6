/// How many messages of a conversation the user has not read, and whether that is all.
///
/// Two counts stand beside each other. Our own is of the stored rows above the read
/// marker; it is exact where those rows are proven whole. The server's is remembered
/// with the place up to which it counted, and goes on by what was heard since; it is
/// exact where nothing is missing above that place, until something happens of which
/// nobody knows whether it was counted. Where neither is exact, the greater of them goes.
internal import Base
package import Timeline

/// Unread messages of one conversation.
package struct Unread: Equatable, Sendable {
  package var count: Int
  /// False where the server may count another number, mostly a greater one.
  package var isExact: Bool

  package init(_ count: Int, isExact: Bool) {
    self.count = Swift.max(0, count)
    self.isExact = isExact
  }
}

/// What is kept of a conversation to count its unread messages.
struct UnreadCounters: Equatable {
  /// The last message that was read, by this user's marker.
  var marker: Position?
  /// A message that the server named as read and that is not stored yet.
  var named: [UInt8]?
  /// Unread rows above the marker.
  var unread: Int64 = 0
  var counted: Counted?
  /// Last commit in which anything became read or went, and in which anything came.
  var fewerLSN: UInt64 = 0
  var moreLSN: UInt64 = 0

  /// What the server counted.
  struct Counted: Equatable {
    /// Its count, less what was read or went since.
    var count: Int64
    /// The newest message that it counted, as far as known.
    var top: Position
    /// It is the newest: what stands above it came later.
    var isSharp: Bool
    /// Less may have been taken off it than it held: a lower bound for good.
    var isLow = false
    /// Everything that came above `top` was heard, one by one.
    var isWhole = true
    /// Unread rows above `top` and the marker.
    var arrived: Int64 = 0
    /// When it counted.
    var lsn: UInt64
    /// Something was read or went of which nobody knows whether the server counted it: it goes on
    /// as before, and is exact no more until the server counts anew.
    var isDoubted = false
    /// It counted on an earlier connection, and this one has told of the conversation since: what
    /// was read elsewhere meanwhile is in no count. Or more are here than it counted, and nobody
    /// knows whether they came later. Our own count is not exact either until it counts anew.
    var isOutlived = false
    /// It counted from the message that is named as read and not stored.
    var isFromNamed = false
    /// So many rows are unread here that it had counted as read, while it was beyond doubt:
    /// another device has read them, and which ones they are is not known.
    var surplus: Int64 = 0

    /// The facts as they are stored, and the surplus above them.
    var bits: Int64 {
      let facts: Int64 =
        (isSharp ? 1 : 0) + (isWhole ? 2 : 0) + (isLow ? 4 : 0) + (isDoubted ? 8 : 0)
        + (isFromNamed ? 16 : 0) + (isOutlived ? 32 : 0)
      return facts | surplus &<< Self.surplusShift
    }

    static let surplusShift: Int64 = 8

    /// Where it is beyond doubt it says what of the unread rows is read already.
    mutating func noteSurplus(of unread: Int64) {
      if isDoubted || isLow { return }
      surplus = min(max(0, unread &- count &- arrived), Limits.countMax)
    }

    /// What it counted stands at its top or below: no more is too many than is unread there.
    mutating func boundSurplus(by unread: Int64) {
      surplus = min(surplus, max(0, unread &- arrived))
    }

    /// In doubt, what went below its top may be what it had counted as read. Where all may have
    /// been told, which they were is not known: it is exact once the server counts anew.
    mutating func takeSurplus() {
      if surplus == 0 { return }
      surplus &-= 1
      if surplus == 0 { isOutlived = true }
    }
  }

  func isAboveMarker(_ position: Position) -> Bool {
    marker.map { $0 < position } ?? true
  }
}

extension RowFlags {
  /// What makes a row none that is to be read: nobody reads an event, or what was deleted.
  static let notUnread: RowFlags = hidden.union([.mine, .readByMe, .readQueued, .deleted, .event])
  /// What changes only because this user does something on this device.
  static let ownDoing: RowFlags = derived.union(.forgotten)
}

extension RowState {
  var isUnread: Bool { flags.isDisjoint(with: .notUnread) && !position.isPending }
}

package struct UnreadReader {
  let rx: ReadTransaction

  /// The unread messages of a conversation.
  package func unread(_ record: ConversationRecord) throws(StoreFailure) -> Unread {
    try unread(record, topmost: nil)
  }

  /// - Parameter topmost: where the newest row stands, hidden or not, for who knows it.
  func unread(_ record: ConversationRecord, topmost: Position??) throws(StoreFailure) -> Unread {
    let tally = try rx.tally(record.cid)
    var known = tally.counted.map { $0.count &+ $0.arrived }
    if let counted = tally.counted, try isOrderUnknown(at: counted.top, record.cid) {
      // Which of those that share its time came later nobody can tell.
      let later = try countUnread(
        record.cid, from: .after(timestampGroup: counted.top.time), to: ReadTransaction.beyond)
      known = counted.count &+ later
    } else if let counted = tally.counted {
      let isWhole =
        counted.isWhole ? true : try isCovered(above: counted.top, of: record, topmost: topmost)
      if isWhole, !counted.isLow, !counted.isDoubted,
        !counted.isOutlived || known == 0
      {
        return Unread(Int(clamping: counted.count &+ counted.arrived), isExact: true)
      }
    }
    // What was purged is as unread as before.
    let purged = try purgedUnread(record.cid)?.count ?? 0
    let here = tally.unread.saturating(plus: purged)
    // The server's marker stands further on than ours, nobody knows where.
    if try isAhead(tally, record.cid) {
      return Unread(Int(clamping: known ?? here), isExact: false)
    }
    if try isOrderUnknown(at: tally.marker, record.cid) {
      return Unread(Int(clamping: known ?? here), isExact: false)
    }
    // A greater count of the server's holds what has not been heard of yet.
    let isGreater = tally.counted?.isDoubted ?? false && known ?? 0 > tally.unread
    let isAllHere =
      isGreater ? false : try isCovered(above: tally.marker, of: record, topmost: topmost)
    // What was read elsewhere makes nothing of nothing.
    let isOutlived = tally.counted?.isOutlived ?? false
    // What it had counted as read, and nobody has told, is in our count.
    let isSurplus = tally.counted?.surplus ?? 0 > 0 && tally.unread > 0
    let isExact = isAllHere && !isSurplus && (!isOutlived || tally.unread == 0)
    if isExact { return Unread(Int(clamping: tally.unread), isExact: true) }
    // What the server has counted as read is so until it counts anew.
    let own = (isAllHere ? tally.unread : here) &- (tally.counted?.surplus ?? 0)
    return Unread(
      Int(clamping: isAllHere ? own : Swift.max(own, known ?? 0)), isExact: false)
  }

  /// The last message that this user has read; nil where none is known.
  package func readMarker(_ cid: Int64) throws(StoreFailure) -> Position? {
    try rx.tally(cid).marker
  }

  /// The message that the server named as the last one read, where it is not stored yet.
  package func namedMarker(_ cid: Int64) throws(StoreFailure) -> [UInt8]? {
    try rx.tally(cid).named
  }

  /// How many unread messages the server has counted; nil where it has not.
  package func countedUnread(_ cid: Int64) throws(StoreFailure) -> Int? {
    try rx.tally(cid).counted.map { Int(clamping: $0.count &+ $0.arrived) }
  }

  /// How many messages are unread above a marker whose place is not known, as the server counted
  /// from it; nil where the place is known, or the count is of another one.
  package func unreadAboveNowhere(_ cid: Int64) throws(StoreFailure) -> Int? {
    let tally = try rx.tally(cid)
    guard let counted = tally.counted else { return nil }
    guard try isAhead(tally, cid) ? counted.isFromNamed : tally.marker == nil else { return nil }
    return Int(clamping: Swift.max(0, counted.count &+ counted.arrived))
  }

  /// Whether the server names a message as read that is not stored: what the user named is told it
  /// first, and what he is sending stands behind all that is stored.
  func isAhead(_ tally: UnreadCounters, _ cid: Int64) throws(StoreFailure) -> Bool {
    guard let named = tally.named,
      try rx.connection.number(Queries.markerTold, cid, named) == nil
    else { return false }
    return try rx.operation(clientID: named) == nil
  }

  /// Whether messages share the time of a place, and no page has told their order.
  func isOrderUnknown(at place: Position?, _ cid: Int64) throws(StoreFailure) -> Bool {
    guard let place else { return false }
    return try rx.untaught(cid).holds(place)
  }

  func countUnread(
    _ cid: Int64, from low: Position, to high: Position
  ) throws(StoreFailure) -> Int64 {
    guard low < high else { return 0 }
    return try rx.connection.number(
      Queries.countUnread, cid, low.time, low.key, high.time, high.key,
      RowFlags.notUnread.rawValue) ?? 0
  }

  /// Whether the trusted ranges hold everything from a place up to what is known of the
  /// present.
  ///
  /// - Parameter topmost: where the newest row stands, hidden or not, for who knows it.
  func isCovered(
    above low: Position?, of record: ConversationRecord, topmost: Position?? = nil
  ) throws(StoreFailure) -> Bool {
    var spans = try rx.spans(record.cid)
    // A newest range that ends below the watermark was cut out of what was once whole.
    guard let fetch = record.fetch, let high = spans.newest?.high, high.time >= fetch.timeUs
    else { return false }
    let newest = if let topmost { topmost } else { try rx.newest(record.cid) }
    if let newest, newest >= high { return false }
    spans = spans.without(try rx.unverified(record.cid))
    let low = low.map(\.successor) ?? .min
    // Behind the newest range there is nothing to be read.
    return low >= high || spans.covers(low, high: high)
  }

  /// The furthest message that the server was told as the last one read.
  package func toldMarker(_ cid: Int64) throws(StoreFailure) -> Position? {
    let row = try rx.connection.statement(
      "SELECT told_time, told_id FROM conversation WHERE cid = ?", cid)
    guard try row.step(), let time = row.optionalInt(0) else { return nil }
    return Position(time: time, key: row.bytes(1))
  }

  /// Those that were purged, as long as they are missing.
  func purgedUnread(_ cid: Int64) throws(StoreFailure) -> PurgedUnread? {
    if rx.memo?.some.purged == false { return nil }
    let connection = try rx.connection
    guard connection.hasTable("purged_unread"),
      try connection.number("SELECT 1 FROM purged_unread LIMIT 1") != nil
    else {
      rx.memo?.some.purged = false
      return nil
    }
    let row = try rx.connection.statement(
      "SELECT count, time, key FROM purged_unread WHERE cid = ?", cid)
    guard try row.step() else { return nil }
    return PurgedUnread(count: row.int(0), top: Position(time: row.int(1), key: row.bytes(2)))
  }
}
