/// How complete a page of cached rows is: which gaps touch it, and why it ends.
///
/// Rows outside every span may have missing neighbours on both sides, so each of
/// them has a gap before and behind it. Reads go past gaps and mark them; cached
/// history beyond a gap stays readable.
package struct Completeness: Equatable, Sendable {
  package enum Stop: Equatable, Sendable { case limit, start, gap, present }

  package struct Gap: Equatable, Sendable {
    /// The gap lies before this row; the row count means behind the last one.
    package let beforeRow: Int
    package let low: Position
    package let high: Position
    /// It hides nothing but an item that could not be read.
    package let isQuarantined: Bool
  }

  package private(set) var gaps: [Gap]
  /// Nothing is missing between the first and the last row.
  package private(set) var isWhole: Bool
  package let stop: Stop

  /// The same for `count` rows whose places are made only where they are asked: mostly nothing
  /// is missing between the first and the last, and no other says anything then.
  package init(
    spans: SpanSet, poisoned: [SpanSet.Span], count: Int, goesOlder: Bool, anchor: Position?,
    reachedLimit: Bool, endsAtPresent: Bool = true, place: (Int) -> Position
  ) {
    let ends = count > 2 ? [place(0), place(count - 1)] : []
    let isWhole = count > 2 && spans.holds(from: ends[0], through: ends[1]) == true
    self.init(
      spans: spans, poisoned: poisoned, rows: isWhole ? ends : (0..<count).map(place),
      goesOlder: goesOlder, anchor: anchor, reachedLimit: reachedLimit,
      endsAtPresent: endsAtPresent)
    guard isWhole else { return }
    gaps = gaps.map { gap in
      Gap(
        beforeRow: gap.beforeRow == 2 ? count : gap.beforeRow, low: gap.low, high: gap.high,
        isQuarantined: gap.isQuarantined)
    }
  }

  /// Takes in rows of a screen, of `count`, before which messages are not loaded, though they may
  /// be stored. `place` also knows the rows beside them.
  package mutating func split(before rows: [Int], count: Int, place: (Int) -> Position) {
    for row in rows {
      let index = gaps.firstIndex { $0.beforeRow >= row } ?? gaps.count
      if index < gaps.count, gaps[index].beforeRow == row { continue }
      let (low, high) = (place(row - 1), place(row))
      let gap = Gap(
        beforeRow: row, low: low.isPending ? .max : low.successor,
        high: high.isPending ? .max : high, isQuarantined: false)
      gaps.insert(gap, at: index)
    }
    if rows.contains(where: { $0 > 0 && $0 < count }) { isWhole = false }
  }

  /// - Parameters:
  ///   - rows: ascending.
  ///   - anchor: the position the read left from, or nil for an end of the history.
  ///   - reachedLimit: the page is as long as was asked.
  ///   - endsAtPresent: the newest of the spans is what reached the present.
  package init(
    spans: SpanSet, poisoned: [SpanSet.Span], rows: [Position], goesOlder: Bool,
    anchor: Position?, reachedLimit: Bool, endsAtPresent: Bool = true
  ) {
    // What is pending stands behind the present and says nothing of what the server has.
    let rows = rows.filter { !$0.isPending }
    let anchor = anchor.flatMap { goesOlder && $0.isPending ? nil : $0 }
    // What the read passed over: from its older to its newer boundary.
    let end = max(spans.newest?.high ?? .min, rows.last?.successor ?? .min)
    let top = endsAtPresent ? end : .max
    let low: Position
    let high: Position
    if goesOlder {
      high = anchor ?? top
      low = reachedLimit ? Self.gapTouching(rows.first ?? high, spans: spans) : .min
    } else {
      low = anchor ?? .min
      high = reachedLimit ? rows.last?.successor ?? low : max(top, low)
    }
    var found: [Gap] = []
    for row in 0...rows.count {
      let to = row < rows.count ? rows[row] : high
      // Mostly nothing lies between, which is asked without making a boundary.
      if row > 0 ? spans.joins(rows[row - 1], and: to) : spans.covers(low, high: to) { continue }
      let from = row > 0 ? rows[row - 1].successor : low
      if to <= from { continue }
      let parts = spans.gaps(in: from, high: to)
      let isQuarantined = parts.allSatisfy { part in
        poisoned.contains { $0.low <= part.low && part.high <= $0.high }
      }
      found.append(
        Gap(
          beforeRow: row, low: parts.first?.low ?? from, high: parts.last?.high ?? to,
          isQuarantined: isQuarantined))
    }
    // Where nothing was fetched and nothing is shown, all there may be is missing.
    let isUnknown = rows.isEmpty && spans.isEmpty
    if isUnknown, found.isEmpty {
      found.append(Gap(beforeRow: 0, low: .min, high: .max, isQuarantined: false))
    }
    gaps = found
    isWhole =
      rows.isEmpty
      ? found.isEmpty : !found.contains { $0.beforeRow > 0 && $0.beforeRow < rows.count }
    if reachedLimit {
      stop = .limit
    } else if !goesOlder {
      stop = isUnknown || !endsAtPresent ? .gap : .present
    } else if rows.isEmpty {
      stop = anchor == nil && spans.isEmpty || !spans.covers(.min, high: high) ? .gap : .start
    } else {
      stop = spans.covers(.min, high: rows[0]) ? .start : .gap
    }
  }

  /// The older end of the gap that ends right at `position`; `position` for none.
  private static func gapTouching(_ position: Position, spans: SpanSet) -> Position {
    guard let below = spans.gaps(in: .min, high: position).last, below.high == position else {
      return position
    }
    return below.low
  }
}
