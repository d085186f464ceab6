/// Finds by offset alone the page around a position, for servers that know nothing else.
///
/// It halves the offsets between a page that was too new and one that was too old; where
/// one is not known it takes the list's own ends, or leaps on. Arrivals and deletions
/// shift offsets between requests: then the two sides cross, the older knowledge is
/// dropped, and it goes on from the nearer one. The number of requests is bounded; the
/// page found is a detached range like any other, from which both paginations go on.
package struct OffsetSearch: Equatable, Sendable {
  package private(set) var target: Position
  /// The offset to ask next.
  package private(set) var offset: Int
  private let limit: Int
  /// How many messages the server said it had: where to halve before `below` is known.
  private let total: Int
  /// The target lies at or behind this offset: the page before it was too new.
  private var above: Int?
  /// It lies before this one: the page from here on was too old.
  private var below: Int?
  private var steps = 0
  /// Leaps in one direction, so far.
  private var leaps = 0
  /// Times it looked across the seam of two pages.
  private var seams = 0
  /// Offsets in a row, up to the last one asked, at which nothing could be read.
  private var unread: Range<Int>?
  /// Nothing older exists: the next page is the nearest.
  private var isLast = false

  package static let stepsMax = 64
  private static let seamsMax = 4

  package enum Verdict: Equatable, Sendable {
    /// This page holds the target, or, where that is only a time, lies around it or at
    /// the end nearest to it.
    case found
    /// Ask `offset`.
    case again
    /// Too many steps.
    case gaveUp
    /// This page is where the message would be, and does not show it. No proof that it
    /// is gone: what the page claims is.
    case absent
  }

  /// - Parameters:
  ///   - target: a message, or the boundary of a timestamp group for a time.
  ///   - total: how many messages the server has, where it said so.
  ///   - limit: the page size.
  ///   - first: the offset to ask first, where one is guessed.
  package init(target: Position, total: Int?, limit: Int, first: Int? = nil) {
    self.target = target
    self.limit = Swift.max(1, Swift.min(limit, 1 << 20))
    // What a server says is kept far from where sums overflow.
    self.total = Swift.max(0, Swift.min(total ?? 0, 1 << 40))
    offset = Swift.max(0, Swift.min(first ?? (self.total - self.limit) / 2, 1 << 40))
  }

  /// The message that is looked for stands elsewhere within its time: pages teach their order.
  package mutating func noteHit(_ place: Position) {
    if place.time == target.time { target = place }
  }

  /// Takes the answer to `offset`.
  /// - Parameters:
  ///   - rows: its readable rows, ascending.
  ///   - rawCount: its items, unreadable ones included.
  ///   - endsAtStart: nothing older existed beyond this page.
  package mutating func judge(
    rows: [Position], rawCount: Int, endsAtStart: Bool = false
  ) -> Verdict {
    steps += 1
    if !target.key.isEmpty, rows.contains(target) { return .found }
    if steps > Self.stepsMax { return .gaveUp }
    guard let bottom = rows.first, let top = rows.last else {
      return takeUnread(rawCount, endsAtStart: endsAtStart)
    }
    if isLast { return nearest }
    if top < target {
      if offset == 0 { return nearest }
      below = offset
      if let other = above, other > offset { above = nil }
      return aim(toOlder: false)
    }
    if target < bottom {
      if endsAtStart { return nearest }
      above = offset + rawCount
      if let other = below, other < offset + rawCount { below = nil }
      return aim(toOlder: true)
    }
    // The page lies around the target. Where it is cut in the target's own timestamp group, the
    // message may stand on the other side of the cut.
    let isCut = bottom.time == target.time || top.time == target.time && offset > 0
    guard !target.key.isEmpty, isCut, seams < Self.seamsMax else { return nearest }
    seams += 1
    let isOlder = bottom.time == target.time && (seams % 2 == 1 || top.time != target.time)
    offset = Swift.max(0, isOlder ? offset + rawCount - 1 : offset - limit + 1)
    return .again
  }

  private var nearest: Verdict { target.key.isEmpty ? .found : .absent }

  /// Chooses the next offset after a page on one side.
  private mutating func aim(toOlder: Bool) -> Verdict {
    // Before the first surprise the list itself is the bracket.
    let isFirst = leaps == 0 && seams == 0
    if isFirst, toOlder, below == nil, let above, above < total {
      offset = above + Swift.max(0, (total - above - limit) / 2)
      return .again
    }
    if isFirst, !toOlder, above == nil {
      offset /= 2
      return .again
    }
    switch (above, below) {
    case (let above?, let below?) where above < below:
      leaps = 0
      offset = above + Swift.max(0, (below - above - limit) / 2)
    case (let above?, _?):
      // Two pages meet and the target is between them: look across their seam.
      if seams >= Self.seamsMax { return nearest }
      seams += 1
      leaps = 0
      self.above = nil
      self.below = nil
      offset = Swift.max(0, above - Swift.max(1, limit / 2))
    default:
      let leap = limit << Swift.min(leaps, 24)
      leaps += 1
      offset = toOlder ? (above ?? offset) + leap - limit : Swift.max(0, offset - leap)
    }
    return .again
  }

  /// Nothing here, or nothing that can be read. What cannot be read up to the end of all is
  /// as good as nothing.
  private mutating func takeUnread(_ rawCount: Int, endsAtStart: Bool) -> Verdict {
    if unread?.upperBound != offset { unread = offset..<offset }
    let first = unread?.lowerBound ?? offset
    if rawCount > 0, !endsAtStart {
      offset += rawCount
      unread = first..<offset
      return .again
    }
    offset = first
    if offset == 0 { return .absent }
    if let above, above >= offset {
      isLast = true
      offset = Swift.max(0, above - limit)
      return .again
    }
    below = offset
    return aim(toOlder: false)
  }
}
