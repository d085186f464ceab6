/// When two ranges merge: every rule of evidence, in one place.
///
/// Ranges merge in `SpanSet.insert`, and only because they overlap or touch. So the
/// question is what may be inserted. A page is an unbroken run of the server's order;
/// these rules say how far it speaks, and what ties it to a run that is known:
///
/// 1. Across: it has rows on both sides of the run's end. `reachesUp`, `reachesDown`.
/// 2. A shared message, where both end in the same timestamp group. `CutEdge.isShared`.
/// 3. An open end: nothing lies beyond it, because the request drew the boundary, the
///    page is short, or the server says so. `isWhole`.
/// 4. Consecutive numbers leave nothing between: such ranges touch by themselves, see
///    `Ties.never`, and `ServerSequence` says whether a selection by time left one out.
/// 5. A push: as of the moment in which it is told, a message is whole from the range
///    that it follows up to itself, because nothing is lost on the way: `pushed`; with what
///    is stored beside it because numbers leave nothing between: `numbered`; or from the message
///    that it names as the one before it: `named`.
///
/// Without one of them a page stands alone, with a gap beside it.
package import Base

package enum Joining {
  /// How far down a page speaks that is cut below its oldest row.
  ///
  /// The rest of that row's timestamp group may lie on the other side of the cut. Only where
  /// the order inside a timestamp group is known is the end exact.
  package static func cutLow(_ oldest: Position, ties: Ties) -> Position {
    switch ties {
    case .unknown: .after(timestampGroup: oldest.time)
    case .byID: oldest
    case .never: .before(timestampGroup: oldest.time)
    }
  }

  /// How far up a page speaks that is cut above its newest row.
  package static func cutHigh(_ newest: Position, ties: Ties) -> Position {
    switch ties {
    case .unknown: .before(timestampGroup: newest.time)
    case .byID: newest.successor
    case .never: .after(timestampGroup: newest.time)
    }
  }

  /// From where a run goes on downwards that is whole from `low` up.
  ///
  /// Where the order inside a timestamp group is not known, an end in the middle of one tells no
  /// page from another: messages on both of its sides stand mixed on the server. So the run goes on
  /// from above the timestamp group, and its pages show the whole of it.
  package static func runLow(_ low: Position, ties: Ties) -> Position {
    ties == .unknown && !low.key.isEmpty ? .after(timestampGroup: low.time) : low
  }

  /// Whether a page from below lies across, or touches, the low end of a run.
  package static func reachesUp(_ newest: Position, to low: Position, ties: Ties) -> Bool {
    cutHigh(newest, ties: ties) >= low
  }

  /// Whether a page from above lies across, or touches, the high end of a run.
  package static func reachesDown(_ oldest: Position, to high: Position, ties: Ties) -> Bool {
    cutLow(oldest, ties: ties) <= high
  }

  /// Whether nothing lies beyond a page at the end where the server cuts.
  ///
  /// Short means fewer items than asked, unreadable ones counted, and fewer than this
  /// server has ever given, where page sizes are exact. The server's word outranks it, and
  /// `counted`, how many the server counts from the page's first item on, speaks against it. It
  /// speaks for one or two items that can be read: no server's pages are that small.
  package static func isWhole(
    items: Int, asked limit: Int, largestPage: Int, sizesVary: Bool, hasMore: Bool?,
    counted: Int64? = nil, areReadable: Bool = true
  ) -> Bool {
    if let hasMore { return !hasMore }
    if let counted, counted > items { return false }
    let isCounted = items <= 2 && areReadable && counted == Int64(items)
    let isShort = items < largestPage || isCounted
    return !sizesVary && items < limit && isShort
  }

  /// What a pushed message above `present` proves, up to where a live conversation is known:
  /// nothing between the two is unknown here.
  package static func pushed(
    _ position: Position, onto present: Position, isLive: Bool
  ) -> SpanSet.Span? {
    guard isLive, present <= position else { return nil }
    return SpanSet.Span(low: present, high: .after(timestampGroup: position.time))
  }

  /// What a message proves that names `previous` as the one before it.
  package static func named(_ position: Position, after previous: Position) -> SpanSet.Span {
    SpanSet.Span(low: previous, high: position.successor)
  }

  /// What a numbered message proves: its own number, and those beside it that are stored, since
  /// nothing fits between two of them.
  package static func numbered(
    _ number: ServerSequence, hasBelow: Bool, hasAbove: Bool
  ) -> SpanSet.Span {
    SpanSet.Span(
      low: .before(timestampGroup: number.value - (hasBelow ? 1 : 0)),
      high: .after(timestampGroup: number.value + (hasAbove ? 1 : 0)))
  }
}

/// The order of messages with the same first part of their position.
package enum Ties: Sendable {
  /// Not known, or by arrival: a cut may go through a timestamp group in any way.
  case unknown
  /// By the bytes of their ids, as positions are.
  case byID
  /// There are none: the first part is the server's number, which no two share. Every
  /// end is exact, and ranges that end in consecutive numbers touch.
  case never
}

/// The messages of a run in the timestamp group that its end cuts.
struct CutEdge: Equatable, Sendable {
  private(set) var time: Int64?
  private(set) var ids = IDSet()

  /// Takes the rows of a timestamp group in which the run ends now.
  mutating func move(to time: Int64, rows: ArraySlice<Position>) {
    if self.time != time { ids = IDSet() }
    self.time = time
    for row in rows { ids.insert(row.id) }
  }

  /// Whether the page shows a message of the run in that timestamp group.
  func isShared(_ rows: [Position]) -> Bool {
    newestShared(rows) != nil
  }

  /// The index of the newest such message.
  func newestShared(_ rows: [Position]) -> Int? {
    guard let time else { return nil }
    return rows.lastIndex { $0.time == time && ids.contains($0.id) }
  }
}
