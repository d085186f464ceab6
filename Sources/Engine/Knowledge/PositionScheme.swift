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
  private enum Order: Int64 { case time, number, place }

  private let order: Order
  /// The order of messages with one printed time; numbers know no ties.
  let ties: Ties
  let overlapUs: Int64
  /// What the server counts is not what it shows.
  private let countsHidden: Bool
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

  /// The number of the scheme in a file.
  var kind: Int64 { order.rawValue }

  /// What differs between pages and logs.
  var history: any History.Type { order == .place ? LogHistory.self : PagedHistory.self }

  // MARK: Times and positions

  /// The boundary before all that was stamped at a time or later; nil where positions are no times.
  func boundary(at time: ServerTime) -> Position? {
    order == .time ? .before(time) : nil
  }

  /// The time that the first part of a position is; nil where it is none.
  func time(at position: Int64) -> ServerTime? {
    order == .time ? ServerTime(us: position) : nil
  }

  /// The watermark of content, where messages may still appear below it.
  func lateTop(_ record: ConversationRecord) -> Watermark? { late(record.fetch) }

  /// The time up to which content was fetched, where positions are times.
  func late(_ mark: ContentMark?) -> Watermark? {
    mark.flatMap { mark in
      time(at: mark.newest.time).map { Watermark(at: $0, text: mark.text) }
    }
  }

  /// The first part of a message's position: its time, or the server's number, if it has one. In a
  /// log a message does not say where it stands.
  func order(of message: WireMessage) -> Int64? {
    switch order {
    case .time: message.stamp.timeUs
    case .number: message.sequence?.value
    case .place: nil
    }
  }

  /// The server's number that the first part of a position is; nil where it is none.
  func sequence(at position: Int64) -> ServerSequence? {
    order == .number ? ServerSequence(position) : nil
  }

  /// Whether the server's count may show that something is missing in a range that is whole.
  /// Numbers prove themselves that none is missing, whatever is counted.
  var countsProve: Bool { order == .time && !countsHidden }

  /// Pages say the order of messages with one printed time.
  var learnsTies: Bool { ties == .unknown }

  /// A page's end is exact: nothing beyond its last row shares that row's place.
  var endsAreExact: Bool { ties != .unknown }

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
    if order != .time { bound.position = fetch.boundary }
    return bound
  }

  /// Whether a catch-up from a watermark asks for everything: one that no stamp bore out.
  func asksForAll(from fetch: ContentMark) -> Bool { late(fetch)?.time == .zero }

  // MARK: Messages that are committed late

  /// The part of a range in which messages may still appear, for they are stamped when they are
  /// written and appear later: all of it. Nothing appears below a number.
  func open(_ low: Position, _ high: Position) -> SpanSet.Span? {
    order == .time ? SpanSet.Span(low: low, high: high) : nil
  }

  /// Whether a message that a page brought was committed late: it appeared in a range that was
  /// whole; or its number is above the known ones, though its time is not.
  func isLate(_ position: Position, below fetch: ContentMark, in ranges: SpanSet) -> Bool {
    order == .time
      ? fetch.covers(position) && ranges.span(holding: position) != nil
      : !fetch.covers(position)
  }

  /// The top of a range that ends the overlap below a watermark.
  func settled(below mark: ContentMark) -> Position {
    late(mark).map { .before($0.time.saturating(minus: overlapUs)) } ?? .max
  }

  /// Up to where no message can come to be stamped any more, at a time of the server.
  func settled(at time: ServerTime?) -> Position {
    time.flatMap { boundary(at: $0.saturating(minus: overlapUs)) } ?? .min
  }

  /// What a send that goes out now will stand above: a time, or the number of the newest message.
  func told(at time: ServerTime?, newest: Position?) -> Int64? {
    order == .time ? time?.us : newest?.time
  }

  /// What came after this time or number was known lies above. Nil without one, but in a log: all
  /// that it lists is looked at.
  func boundary(after known: Int64?) -> Position? {
    guard let known else { return order == .place ? .min : nil }
    return boundary(at: ServerTime(us: known).saturating(minus: overlapUs))
      ?? .after(timestampGroup: known)
  }

  /// The watermark that the first page of a catch-up leaves behind. A number needs nothing to bear
  /// it out; only the time beside it does. Where no stamp can be borne out, a watermark that asks
  /// for everything again.
  func top(
    _ plausible: (position: Position, stamp: Stamp)?, highest: Position?,
    before fetch: ContentMark?, epoch: ContentMark?
  ) -> ContentMark? {
    if order == .time {
      return plausible.map { ContentMark(newest: $0.position, text: $0.stamp.text) } ?? fetch
        ?? epoch
    }
    let text = plausible?.stamp.text ?? fetch?.text ?? epoch?.text
    return text.flatMap { text in highest.map { ContentMark(newest: $0, text: text) } }
  }

  // MARK: Pages

  /// The claim of a page; `nil` is an end where the server cuts.
  func claim(_ items: [Position?], low: Position?, high: Position?) -> PageClaim {
    PageClaim(
      items: items, low: low.map { .open($0) } ?? .cut, high: high.map { .open($0) } ?? .cut,
      ties: ties, isAscending: knowsOrder, rankedTimes: rankedTimes)
  }

  /// Whether the rows of a tail leave nothing out that may be a message. It was selected by time,
  /// and one committed late has a number above its time's place. So all numbers from `low` up to
  /// the last have to be there, and all rows that are stored: what was committed late, and what was
  /// deleted, leaves a hole.
  func isUnbroken(
    _ tail: Ingested, from low: Position, in conversation: (cid: Int64, tx: WriteTransaction)
  ) throws(StoreFailure) -> Bool {
    if order == .time { return true }
    // The boundary above a number is the one below the next.
    var last: ServerSequence?
    for row in tail.rows where row >= low {
      guard let number = sequence(at: row.time),
        last.map(number.follows) ?? (row.time == low.time)
      else { return false }
      last = number
    }
    let known = try conversation.tx.rows(
      conversation.cid, from: low, to: .max, limit: Limits.readRowsMax, newestFirst: true)
    return known.allSatisfy { tail.ids.contains($0.position.id) }
  }

  /// What the rows of a tail prove that was cut at one end, or at an unknown one.
  enum CutTail {
    /// They are the newest: a run begins with them.
    case run
    /// They follow the bound.
    case range
    /// What was selected by time leaves numbers out, but between numbers in a row.
    case numbers
    /// Neighbours of which a walk shows all again.
    case nothing
  }

  func proof(ofTail truncates: Profile.Truncates, stopsAtPage: Bool) -> CutTail {
    if order != .time { return .numbers }
    return switch truncates {
    case .newest: .run
    case .oldest: .range
    case .unknown: stopsAtPage ? .range : .nothing
    }
  }

  /// The rows of a page that is searched for a time, by their times: those follow the numbers
  /// closely enough to come near.
  func byTime(_ ingested: Ingested) -> [Position] {
    order == .time
      ? ingested.rows
      : ingested.stamps.map { Position(time: $0.stamp.timeUs, id: $0.position.id) }.ascending()
  }

  /// The selection of all that stands at or above a boundary; nil where a selection by time leaves
  /// messages out.
  func tail(above edge: Position, form: Stamp) -> WatermarkPolicy.Bound? {
    if order != .time { return nil }
    let unit = max(form.resolutionUs, resolutionUs, 1)
    let time = ServerTime(us: edge.time).floored(to: unit)
    return WatermarkPolicy.Bound(
      position: .before(time), after: form.printed(time.saturating(minus: unit)))
  }

  /// A selection of everything before a time.
  struct Key: Equatable {
    /// The time, exclusive, as the server prints times.
    var text: [UInt8]
    /// Nothing at or above it is in the selection; all below it is.
    var top: Position
  }

  /// The selection that holds the whole timestamp group of a run's low end, so that late
  /// arrivals and ties cannot hide between the run and its next page; nil where a selection by time
  /// leaves messages out.
  func key(below low: Position, form: Stamp) -> Key? {
    if order != .time { return nil }
    let unit = max(form.resolutionUs, resolutionUs, 1)
    let time = low.id.isEmpty && low.time > .min ? low.time - 1 : low.time
    let top = ServerTime(us: time).floored(to: unit).saturating(plus: unit)
    return Key(text: form.printed(top), top: .before(top))
  }
}
