/// How many messages of a conversation the user has not read, and whether that is all.
///
/// It is the number that `UnreadCounters` keeps. Where the server has told no count it is that of
/// the stored rows above the read marker, which is exact where those are proven complete.
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

package struct UnreadReader {
  let rx: ReadTransaction

  /// The unread messages of a conversation.
  package func unread(_ record: ConversationRecord) throws(StoreFailure) -> Unread {
    try unread(record, topmost: nil)
  }

  /// - Parameter topmost: where the newest row stands, hidden or not, for who knows it.
  func unread(_ record: ConversationRecord, topmost: Position??) throws(StoreFailure) -> Unread {
    let tally = try rx.tally(record.cid)
    if let number = tally.number {
      return Unread(Int(clamping: number), isExact: tally.isExact)
    }
    return Unread(
      Int(clamping: tally.here), isExact: try isWhole(tally, of: record, topmost: topmost))
  }

  /// Whether everything from the marker to the present is here.
  func isWhole(
    _ tally: UnreadCounters, of record: ConversationRecord, topmost: Position?? = nil
  ) throws(StoreFailure) -> Bool {
    guard try isCovered(above: tally.marker, of: record, topmost: topmost) else { return false }
    // A message that is still to be sent stands above all that is here.
    if let named = tally.named, try rx.operation(clientID: named) == nil { return false }
    return try !isOrderUnknown(at: tally.marker, record.cid)
  }

  /// When an unread row came last.
  package func cameLSN(_ cid: Int64) throws(StoreFailure) -> UInt64 { try rx.tally(cid).came }

  /// Whether the server has not heard of all that this user has read or deleted.
  package func hasQueued(_ cid: Int64) throws(StoreFailure) -> Bool {
    try rx.connection.number(Queries.readingQueued, cid) != nil
  }

  /// The last message that this user has read; nil where none is known.
  package func readMarker(_ cid: Int64) throws(StoreFailure) -> Position? {
    try rx.tally(cid).marker
  }

  /// The message that the server named as the last one read, where it is not stored yet.
  package func namedMarker(_ cid: Int64) throws(StoreFailure) -> [UInt8]? {
    try rx.tally(cid).named
  }

  /// How many messages are unread by the server's count; nil where it has told none.
  package func countedUnread(_ cid: Int64) throws(StoreFailure) -> Int? {
    try rx.tally(cid).number.map { Int(clamping: $0) }
  }

  /// The same above a marker whose place is not known; nil where the place is known.
  package func unreadAboveNowhere(_ cid: Int64) throws(StoreFailure) -> Int? {
    let tally = try rx.tally(cid)
    let isNowhere = try isAhead(tally, cid)
    guard isNowhere || tally.marker == nil else { return nil }
    return tally.number.map { Int(clamping: $0) }
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
    _ cid: Int64, from low: Position, to high: Position, without flags: RowFlags = .notUnread
  ) throws(StoreFailure) -> Int64 {
    guard low < high else { return 0 }
    return try rx.connection.number(
      Queries.countUnread, cid, low.time, low.key, high.time, high.key, flags.rawValue) ?? 0
  }

  /// Whether any row of a part has none of these flags.
  func hasRow(
    _ cid: Int64, from low: Position, to high: Position, without flags: RowFlags
  ) throws(StoreFailure) -> Bool {
    guard low < high else { return false }
    return try rx.connection.number(
      Queries.someWithout, cid, low.time, low.key, high.time, high.key, flags.rawValue) != nil
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
    guard let fetch = record.fetch, let high = spans.newest?.high, high >= fetch.newest
    else { return false }
    let newest = if let topmost { topmost } else { try rx.newest(record.cid) }
    if let newest, newest >= high { return false }
    spans = spans.without(try rx.unverified(record.cid))
    let low = low.map(\.successor) ?? .min
    // Behind the newest range there is nothing to be read.
    return low >= high || spans.covers(low, high: high)
  }

  /// The furthest message that the server was told as the last one read.
  package func serverMarker(_ cid: Int64) throws(StoreFailure) -> Position? {
    let row = try rx.connection.statement(
      "SELECT told_time, told_id FROM conversation WHERE cid = ?", cid)
    guard try row.step(), let time = row.optionalInt(0) else { return nil }
    return Position(time: time, key: row.bytes(1))
  }
}
