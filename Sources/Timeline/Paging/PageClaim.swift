/// What one page proves: the range in which it shows every message the server had.
///
/// A page is an unbroken run of the server's order, so everything between its two
/// ends is whole. What needs care is the ends, and items that cannot be read:
///
/// - A cut end claims no part of its last timestamp group (messages with the same printed
///   time) unless the order of ties is known: see `Joining`.
/// - An open end claims up to the boundary that the request itself drew.
/// - An unreadable item leaves a hole between its neighbours. At an end, nothing
///   beyond the nearest readable row is claimed.
package struct PageClaim: Equatable, Sendable {
  /// One end of a page.
  package enum End: Equatable, Sendable {
    /// The server cut the page here; more may follow.
    case cut
    /// Nothing lies between the last row and this boundary.
    case open(Position)
  }

  /// The readable rows, ascending.
  package let rows: [Position]
  /// The claimed range; empty where `low >= high`.
  package let low: Position
  package let high: Position
  /// Parts of the range that hide an unreadable item.
  package let holes: [SpanSet.Span]

  /// - Parameters:
  ///   - items: the page in the order sent, nil for an unreadable item.
  ///   - low: its older end.
  ///   - high: its newer end.
  ///   - isAscending: that the order sent is oldest first is known from elsewhere.
  ///   - rankedTimes: groups that do not stand by their ids: a hole does not end inside of them.
  package init(
    items: [Position?], low: End, high: End, ties: Ties, isAscending: Bool = false,
    rankedTimes: Set<Int64> = []
  ) {
    let rows = items.compactMap { $0 }.ascending()
    self.rows = rows
    guard let first = rows.first, let last = rows.last else {
      self.low = .max
      self.high = .min
      holes = []
      return
    }
    let bottom = Self.boundary(low, cut: Joining.cutLow(first, ties: ties))
    let top = Self.boundary(high, cut: Joining.cutHigh(last, ties: ties))
    self.low = bottom
    self.high = top
    holes =
      rows.count == items.count
      ? []
      : Self.holes(
        items, bottom: Swift.min(bottom, first), top: Swift.max(top, last.successor),
        isAscending: isAscending
      ).map { hole in
        var hole = hole
        if rankedTimes.contains(hole.low.time) { hole.low = .before(timestampGroup: hole.low.time) }
        if rankedTimes.contains(hole.high.time), !hole.high.key.isEmpty {
          hole.high = .after(timestampGroup: hole.high.time)
        }
        return hole
      }
  }

  /// The pieces of the claim without its holes, oldest first.
  package var pieces: [SpanSet.Span] {
    var set = SpanSet()
    set.insert(low, high)
    set.remove(holes)
    return set.spans
  }

  private static func boundary(_ end: End, cut: Position) -> Position {
    if case .open(let boundary) = end { return boundary }
    return cut
  }

  /// Between which neighbours each unreadable item lies.
  private static func holes(
    _ items: [Position?], bottom: Position, top: Position, isAscending: Bool
  ) -> [SpanSet.Span] {
    let readable = items.compactMap { $0 }
    let ascending = zip(readable, readable.dropFirst()).allSatisfy { $0.time <= $1.time }
    let descending = zip(readable, readable.dropFirst()).allSatisfy { $0.time >= $1.time }
    guard ascending != descending || ascending && isAscending else {
      // The order of the array says nothing: the item may be anywhere in the page.
      guard let first = readable.min(), let last = readable.max() else { return [] }
      return [
        SpanSet.Span(
          low: Swift.min(bottom, .before(timestampGroup: first.time)),
          high: Swift.max(top, .after(timestampGroup: last.time)))
      ]
    }
    let ordered = ascending ? items : items.reversed()
    var found = SpanSet()
    var below: Position?
    for (index, item) in ordered.enumerated() {
      if let item {
        below = item
        continue
      }
      let above = ordered[(index + 1)...].first { $0 != nil } ?? nil
      let low = below?.successor ?? bottom
      let high = above ?? top
      if low < high {
        found.insert(low, high)
      } else if let below {
        // Neighbours in one timestamp group, in an order that is not that of their ids.
        found.insert(.before(timestampGroup: below.time), .after(timestampGroup: below.time))
      }
    }
    return found.spans
  }
}
