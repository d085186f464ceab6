/// What a purge must leave in a conversation.
///
/// Rule protected: what somebody looks at, what this user is doing something with, and what the
/// list and the read marker stand on never goes. Ranges are widened to whole timestamp groups,
/// since rows of one time may still change places; single rows keep their place with a gap around
/// them.
internal import Base
package import Timeline

package struct Protection {
  /// Rows that windows have loaded keep so many on each side.
  package static let margin = 200

  let cid: Int64
  /// Nothing in here goes.
  package private(set) var ranges = SpanSet()
  private var ids = IDSet()
  /// Local ids in entries of the feed that a subscriber has not read, ascending.
  private let untold: [ClosedRange<UInt64>]

  /// - Parameters:
  ///   - loaded: what open windows have loaded.
  ///   - youngUs: what the server made from here on stays.
  ///   - untold: messages with these local ids stay; ascending.
  package init(
    _ cid: Int64, loaded: SpanSet, youngUs: Int64?, untold: [ClosedRange<UInt64>],
    in rx: ReadTransaction
  ) throws(StoreFailure) {
    self.cid = cid
    self.untold = untold
    for span in loaded.spans { try keep(span, margin: Self.margin, in: rx) }
    if let youngUs {
      keep(from: try rx.boundary(atTime: youngUs, in: cid), to: .max)
    }
    try keepNewest(in: rx)
    try keepMarker(in: rx)
    try keepTargets(in: rx)
  }

  /// The list shows the newest message that is seen.
  private mutating func keepNewest(in rx: ReadTransaction) throws(StoreFailure) {
    let row = try rx.connection.statement(Queries.newestFlags, cid, RowFlags.hidden.rawValue)
    var newest = try row.step() ? Position(time: row.int(0), key: row.bytes(1)) : nil
    if newest == nil { newest = try rx.newest(cid) }
    if let newest { keep(from: newest, to: .max) }
  }

  /// The last message that was read, and the first one behind it.
  private mutating func keepMarker(in rx: ReadTransaction) throws(StoreFailure) {
    guard let marker = try rx.unreadReader.readMarker(cid) else { return }
    var high = marker.successor
    if let next = try place(Queries.rowsAbove, at: high, skipping: 0, in: rx) {
      high = next.successor
    }
    keep(from: marker, to: high)
  }

  /// What open operations are about, what they answer, and what the draft answers.
  private mutating func keepTargets(in rx: ReadTransaction) throws(StoreFailure) {
    let row = try rx.connection.statement(Queries.keptTargets, cid)
    while try row.step() {
      if row.size(0) > 0 { ids.insert(row.bytes(0)) }
      if let id = row.optionalBytes(1) { ids.insert(id) }
    }
    let draft = try rx.connection.statement("SELECT reply_to FROM draft WHERE cid = ?", cid)
    if try draft.step(), let id = draft.optionalBytes(0) { ids.insert(id) }
  }

  private mutating func keep(
    _ span: SpanSet.Span, margin: Int, in rx: ReadTransaction
  ) throws(StoreFailure) {
    let below = try place(Queries.rowsBelow, at: span.low, skipping: margin &- 1, in: rx)
    let above = try place(Queries.rowsAbove, at: span.high, skipping: margin &- 1, in: rx)
    keep(from: below ?? .min, to: above?.successor ?? .max)
  }

  private func place(
    _ query: StaticString, at edge: Position, skipping count: Int, in rx: ReadTransaction
  ) throws(StoreFailure) -> Position? {
    let row = try rx.connection.statement(query, cid, edge.time, edge.key, count)
    return try row.step() ? Position(time: row.int(0), key: row.bytes(1)) : nil
  }

  mutating func keep(from low: Position, to high: Position) {
    let bottom = low == .min ? low : .before(timestampGroup: low.time)
    let isWhole = high == .max || high.key.isEmpty
    ranges.insert(bottom, isWhole ? high : .after(timestampGroup: high.time))
  }

  private func isUntold(_ number: UInt64) -> Bool {
    var (low, high) = (0, untold.count)
    while low < high {
      let middle = (low &+ high) / 2
      if untold[middle].upperBound < number { low = middle &+ 1 } else { high = middle }
    }
    return low < untold.count && untold[low].contains(number)
  }

  /// Whether a row stays that lies in none of the ranges.
  func keeps(_ id: [UInt8], number: UInt64, flags: RowFlags) -> Bool {
    isUntold(number)
      || !flags.isDisjoint(with: RowFlags.derived.union(.pinned)) || ids.contains(id)
  }
}
