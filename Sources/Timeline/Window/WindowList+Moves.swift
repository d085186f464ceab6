/// Where positions are places that move: what a list has loaded goes with its rows.
///
/// Rule protected: a place that rows of the list have left is not loaded any more, for rows of
/// another range may come to stand there. What is loaded of the present stays so, and so does the
/// start where it is proven.
internal import Base

extension WindowList {
  /// Rows of the list that stand elsewhere now.
  package struct Moves {
    /// By row of the list as it is: where each stands now.
    fileprivate var places: [Int: Position] = [:]

    package var isEmpty: Bool { places.isEmpty }

    /// The new places, in their order.
    package var sorted: [Position] { Array(places.values).ascending() }
  }

  /// - Parameter loaded: what is loaded of the list as it is.
  package func moves(_ keys: [RowKey], in loaded: SpanSet) -> Moves {
    var moves = Moves()
    for key in keys {
      guard let row = row(ofNumber: key.number), let old = position(ofRow: row),
        old != key.position, !old.isPending, !key.position.isPending, loaded.holds(old)
      else { continue }
      moves.places[row] = key.position
    }
    return moves
  }

  /// What is loaded once rows have moved: each of them by itself, and the others as they were.
  ///
  /// - Returns: `present` is where begins what the list follows now, whatever stands there.
  package func loaded(
    _ loaded: SpanSet, after moves: Moves, trusted spans: SpanSet
  ) -> (loaded: SpanSet, present: Position?) {
    var result = loaded
    var present: Position?
    var runs: [(rows: ClosedRange<Int>, span: SpanSet.Span)] = []
    for row in Array(moves.places.keys).ascending() {
      guard let old = position(ofRow: row), let span = loaded.span(holding: old) else { continue }
      if let last = runs.last, last.rows.upperBound + 1 == row, last.span == span {
        runs[runs.count - 1].rows = last.rows.lowerBound...row
      } else {
        runs.append((row...row, span))
      }
    }
    var kept = SpanSet()
    for (rows, span) in runs {
      let below = position(ofRow: rows.lowerBound - 1).map(\.successor) ?? .min
      let above = position(ofRow: rows.upperBound + 1) ?? .max
      let (low, high) = (max(span.low, below), min(span.high, above))
      result.remove(low, high)
      let places = rows.compactMap { moves.places[$0] }
      guard let first = places.min(), let last = places.max()?.successor else { continue }
      if span.high == .max, above == .max || above.isPending {
        let top = low == span.low ? last : max(low, last)
        kept.insert(top, .max)
        present = top
      }
      if low == .min, spans.covers(.min, high: first) { kept.insert(.min, first) }
    }
    for place in moves.places.values { kept.insert(place, place.successor) }
    return (result.union(kept), present)
  }

  /// Whether two rows, as they stand now, were neighbours with nothing to load between them.
  package func wereNeighbours(_ one: UInt64, _ other: UInt64) -> Bool {
    guard let one = row(ofNumber: one), let other = row(ofNumber: other), abs(one - other) == 1,
      let a = position(ofRow: min(one, other)), let b = position(ofRow: max(one, other))
    else { return false }
    return loaded.joins(a, and: b)
  }

  /// Where a boundary is now that stood at a row, or right behind one.
  package func place(of boundary: Position, after moves: Moves) -> Position {
    let row = row(from: boundary)
    if let old = position(ofRow: row), let new = moves.places[row] {
      if old == boundary { return new }
      if boundary == .before(timestampGroup: old.time) { return .before(timestampGroup: new.time) }
    }
    if let old = position(ofRow: row - 1), let new = moves.places[row - 1] {
      if old.successor == boundary { return new.successor }
      if boundary == .after(timestampGroup: old.time) { return .after(timestampGroup: new.time) }
    }
    return boundary
  }
}
