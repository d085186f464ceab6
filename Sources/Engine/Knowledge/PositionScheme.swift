/// What positions and times mean to each other on this server.
///
/// A position is a server time, or the server's number of the message. Numbers are
/// given in the order in which messages become visible and never again: no two
/// messages share one, nothing appears below a number that was seen, so an end is
/// exact and content needs no overlap. Rule protected: what is compared with a clock
/// is a time, and what is compared with a range is a position.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct PositionScheme {
  /// What the first part of a position is.
  private enum Order { case time, number, place }

  private let order: Order
  /// The order of messages with one printed time; numbers know no ties.
  let ties: Ties
  let overlapUs: Int64
  /// What the server counts is not what it shows.
  let countsHidden: Bool
  /// Pages are at hand oldest first, whatever the server's order is.
  var knowsOrder = false
  /// Times of the page at hand whose messages do not stand by their ids.
  var rankedTimes: Set<Int64> = []
  private let resolutionUs: Int64
  private let zoneOffsetMinutes: Int

  init(_ profile: Profile, overlapUs: Int64) {
    order = profile.log != nil ? .place : profile.capabilities.contains(.sequence) ? .number : .time
    countsHidden = profile.countsHidden
    ties = order != .time ? .never : profile.ties == .id ? .byID : .unknown
    resolutionUs = profile.timeResolutionUs
    zoneOffsetMinutes = profile.zoneOffsetMinutes
    self.overlapUs = overlapUs
  }

  /// The server keeps a log: positions are places in it, which mean nothing to the server.
  var keepsLog: Bool { order == .place }

  /// Messages may appear below what is known: their places are times, and one is committed late.
  /// Nothing appears below a number.
  var comesLate: Bool { order == .time }

  /// What is selected by time are neighbours. Not where positions are numbers.
  var selectsByPlace: Bool { order == .time }

  /// The watermark of content, where messages may still appear below it.
  func lateTop(_ record: ConversationRecord) -> Watermark? { late(record.fetch) }

  /// The time up to which content was fetched, where positions are times.
  func late(_ mark: ContentMark?) -> Watermark? {
    comesLate ? mark.map { Watermark(timeUs: $0.order, text: $0.text) } : nil
  }

  /// The first part of a message's position: its time, or the server's number, if it has one.
  func order(of message: WireMessage) -> Int64? {
    comesLate ? message.stamp.timeUs : message.sequence
  }

  /// The server's number of the row at a position; nil where positions are none.
  func number(at position: Int64) -> UInt64? {
    order == .number ? UInt64(clamping: position) : nil
  }

  /// Pages say the order of messages with one printed time.
  var learnsTies: Bool { ties == .unknown }

  /// A page's end is exact: nothing beyond its last row shares that row's place.
  var endsAreExact: Bool { ties != .unknown }

  func stamp(_ watermark: Watermark?) -> Stamp? { stamp(watermark?.text) }

  func stamp(_ mark: ContentMark?) -> Stamp? { stamp(mark?.text) }

  /// The time that a watermark's text says; nil where it is a cursor.
  func stamp(_ text: [UInt8]?) -> Stamp? {
    text.flatMap { Stamp($0, zoneOffsetMinutes: zoneOffsetMinutes) }
  }

  /// Where a catch-up begins: what lies below need not be asked for again.
  ///
  /// The text asks by time. Under numbers the range ends right above the newest known
  /// one, and whether anything was committed late shows as a missing number.
  func bound(_ fetch: ContentMark) -> WatermarkPolicy.Bound? {
    guard let stamp = stamp(fetch.text) else { return nil }
    var bound = WatermarkPolicy.bound(stamp, overlapUs: overlapUs, resolutionUs: resolutionUs)
    if !comesLate { bound.position = fetch.boundary }
    return bound
  }

  /// The top of a range that ends the overlap below a watermark.
  func settled(below mark: ContentMark) -> Position {
    !comesLate ? .max : .before(timestampGroup: mark.order.saturating(minus: overlapUs))
  }

  /// What came after this time or number was known lies above; nil says nothing.
  func boundary(after known: Int64?) -> Position {
    guard let known else { return .min }
    if !comesLate { return .after(timestampGroup: known) }
    return .before(timestampGroup: known.saturating(minus: overlapUs))
  }

  /// The claim of a page; `nil` is an end where the server cuts.
  func claim(_ items: [Position?], low: Position?, high: Position?) -> PageClaim {
    PageClaim(
      items: items, low: low.map { .open($0) } ?? .cut, high: high.map { .open($0) } ?? .cut,
      ties: ties, isAscending: knowsOrder, rankedTimes: rankedTimes)
  }

  /// Whether the numbers from `low` up to the last of `rows` are all there: what was
  /// committed late, and what was deleted, leaves a hole.
  func isUnbroken(_ rows: [Position], from low: Position) -> Bool {
    if comesLate { return true }
    // The boundary above a number is the one below the next.
    var last: Int64?
    for row in rows.ascending() where row >= low {
      guard last.map({ Joining.isNext(row.time, after: $0) }) ?? (row.time == low.time)
      else { return false }
      last = row.time
    }
    return true
  }

  /// The selection of all that stands at or above a boundary.
  func tail(above edge: Position, form: Stamp) -> WatermarkPolicy.Bound {
    let unit = max(form.resolutionUs, resolutionUs, 1)
    let time = WatermarkPolicy.floor(edge.time, to: unit)
    return WatermarkPolicy.Bound(
      position: .before(timestampGroup: time), after: form.printed(time.saturating(minus: unit)))
  }

  /// A selection of everything before a time.
  struct Key: Equatable {
    /// The time, exclusive, as the server prints times.
    var text: [UInt8]
    /// Nothing at or above it is in the selection; all below it is.
    var top: Position
  }

  /// The selection that holds the whole timestamp group of a run's low end, so that late
  /// arrivals and ties cannot hide between the run and its next page.
  func key(below low: Position, form: Stamp) -> Key {
    let unit = max(form.resolutionUs, resolutionUs, 1)
    let time = low.id.isEmpty && low.time > .min ? low.time - 1 : low.time
    let top = WatermarkPolicy.floor(time, to: unit).saturating(plus: unit)
    return Key(text: form.printed(top), top: .before(timestampGroup: top))
  }
}
