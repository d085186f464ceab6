/// The ranges of a conversation that are proven whole, and by that its gaps.
///
/// A new conversation is one gap. Only evidence inserts a span (see
/// `PageClaim`); retention, restores and lost watermarks take spans away.
/// Spans are kept sorted, disjoint and not touching: two ranges that touch leave
/// nothing out, so they are one.
package struct SpanSet: Equatable, Sendable {
  /// One whole range, `low ..< high`.
  package struct Span: Equatable, Sendable {
    package var low: Position
    package var high: Position

    package init(low: Position, high: Position) {
      self.low = low
      self.high = high
    }

    /// Nothing older than this span exists.
    package var reachesStart: Bool { low == .min }

    package func contains(_ position: Position) -> Bool {
      low <= position && position < high
    }
  }

  /// Oldest first.
  package private(set) var spans: [Span]

  package init() {
    spans = []
  }

  /// Takes spans as stored: false where they are not sorted and apart.
  package init?(stored: [Span]) {
    for (index, span) in stored.enumerated() {
      guard span.low < span.high else { return nil }
      if index > 0, stored[index - 1].high >= span.low { return nil }
    }
    spans = stored
  }

  package var isEmpty: Bool { spans.isEmpty }

  /// The newest span.
  package var newest: Span? { spans.last }

  /// The index of the first span whose high end is at or above `position`.
  private func firstIndex(reaching position: Position) -> Int {
    var low = 0
    var high = spans.count
    while low < high {
      let middle = (low + high) / 2
      if spans[middle].high < position { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The span that holds `position`.
  package func span(holding position: Position) -> Span? {
    index(holding: position).map { spans[$0] }
  }

  /// Whether a span holds `position`.
  package func holds(_ position: Position) -> Bool { index(holding: position) != nil }

  private func index(holding position: Position) -> Int? {
    let index = firstIndex(reaching: position)
    // Where it is the end of that span, the next one may begin with it.
    for index in index..<Swift.min(index + 2, spans.count) where spans[index].contains(position) {
      return index
    }
    return nil
  }

  /// Whether a span holds two positions and all between them; nil where that differs among them.
  package func holds(from low: Position, through high: Position) -> Bool? {
    if let index = index(holding: low) { return spans[index].contains(high) ? true : nil }
    let next = firstIndex(reaching: low)
    // A span that ends with the lower one holds none of them.
    for span in spans[next...].prefix(2) where low < span.high && span.low <= high { return nil }
    return false
  }

  /// Whether all of `low ..< high` is whole.
  package func covers(_ low: Position, high: Position) -> Bool {
    guard low < high else { return true }
    guard let index = index(holding: low) else { return false }
    return high <= spans[index].high
  }

  /// Whether nothing is missing between two messages: that all of
  /// `a.successor ..< b` is whole, asked without making the successor.
  package func joins(_ a: Position, and b: Position) -> Bool {
    if b.follows(a) { return true }
    let index = firstIndex(reaching: b)
    guard index < spans.count else { return false }
    return spans[index].low <= a || spans[index].low.follows(a)
  }

  /// Adds a proven range. It joins every span that it overlaps or touches.
  ///
  /// This is the one place where two ranges merge.
  package mutating func insert(_ low: Position, _ high: Position) {
    guard low < high else { return }
    let first = firstIndex(reaching: low)
    guard first < spans.count, spans[first].low <= high else {
      spans.insert(Span(low: low, high: high), at: first)
      return
    }
    // What it joins is apart and in order, so the last of it reaches highest.
    var last = first
    while last + 1 < spans.count, spans[last + 1].low <= high { last += 1 }
    if low < spans[first].low { spans[first].low = low }
    let reached = spans[last].high
    spans[first].high = reached < high ? high : reached
    if first < last { spans.removeSubrange(first + 1..<last + 1) }
  }

  /// Makes `low ..< high` a gap again.
  package mutating func remove(_ low: Position, _ high: Position) {
    guard low < high else { return }
    var first = firstIndex(reaching: low)
    if first < spans.count, spans[first].high == low { first += 1 }
    var end = first
    while end < spans.count, spans[end].low < high { end += 1 }
    guard first < end else { return }
    let (bottom, top) = (spans[first].low, spans[end - 1].high)
    var kept: [Span] = []
    if bottom < low { kept.append(Span(low: bottom, high: low)) }
    if high < top { kept.append(Span(low: high, high: top)) }
    spans.replaceSubrange(first..<end, with: kept)
  }

  /// Makes gaps of the oldest of more than so many.
  package mutating func keepNewest(_ count: Int) {
    if spans.count > count { spans.removeFirst(spans.count - count) }
  }

  /// The gaps that meet `low ..< high`, oldest first, cut to it.
  package func gaps(in low: Position, high: Position) -> [Span] {
    guard low < high else { return [] }
    var gaps: [Span] = []
    var edge = low
    for span in spans[firstIndex(reaching: low)...] {
      if span.low >= high { break }
      if edge < span.low { gaps.append(Span(low: edge, high: span.low)) }
      edge = Swift.max(edge, span.high)
    }
    if edge < high { gaps.append(Span(low: edge, high: high)) }
    return gaps
  }
}
