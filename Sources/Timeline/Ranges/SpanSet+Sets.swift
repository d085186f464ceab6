/// Ranges as sets: what two span sets share, hold together, and where they differ.
///
/// Every range that comes out is built by `SpanSet.insert`, the one place where
/// two ranges merge.
extension SpanSet {
  package mutating func insert(_ ranges: [Span]) {
    for range in ranges { insert(range.low, range.high) }
  }

  package mutating func remove(_ ranges: [Span]) {
    for range in ranges { remove(range.low, range.high) }
  }

  /// This set with one more range.
  package func inserting(_ low: Position, high: Position) -> SpanSet {
    var set = self
    set.insert(low, high)
    return set
  }

  /// What lies in either set.
  package func union(_ other: SpanSet) -> SpanSet {
    var set = self
    set.insert(other.spans)
    return set
  }

  /// What lies in both sets.
  package func intersection(_ other: SpanSet) -> SpanSet {
    var set = SpanSet()
    var mine = 0
    var theirs = 0
    while mine < spans.count, theirs < other.spans.count {
      let a = spans[mine]
      let b = other.spans[theirs]
      set.insert(Swift.max(a.low, b.low), Swift.min(a.high, b.high))
      if a.high < b.high { mine += 1 } else { theirs += 1 }
    }
    return set
  }

  /// What lies in this set and not in the other.
  package func without(_ other: SpanSet) -> SpanSet {
    var set = self
    set.remove(other.spans)
    return set
  }

  /// The ranges that lie in exactly one of the two sets, oldest first.
  package func difference(with other: SpanSet) -> [Span] {
    var pieces: [Span] = []
    eachDifference(from: other) { pieces.append($0) }
    return pieces
  }

  /// The same, one by one.
  package func eachDifference(from other: SpanSet, _ body: (Span) -> Void) {
    // Mostly they differ in the newest range, or nowhere.
    var shared = 0
    while shared < Swift.min(spans.count, other.spans.count), spans[shared] == other.spans[shared] {
      shared += 1
    }
    if shared == spans.count, shared == other.spans.count { return }
    // Walking over the ends of both sets, each end changes the answer; an end that
    // both sets have changes it twice.
    var low: Position?
    var mine = shared * 2
    var theirs = mine
    while true {
      let a = end(mine)
      let b = other.end(theirs)
      let edge: Position
      if let a, b.map({ a < $0 }) ?? true {
        edge = a
        mine += 1
      } else if let b, a != b {
        edge = b
        theirs += 1
      } else if a != nil {
        mine += 1
        theirs += 1
        continue
      } else {
        return
      }
      if let begin = low {
        body(Span(low: begin, high: edge))
        low = nil
      } else {
        low = edge
      }
    }
  }

  /// The ends of all ranges in turn, low and high ones; nil behind the last.
  private func end(_ number: Int) -> Position? {
    guard number / 2 < spans.count else { return nil }
    return number % 2 == 0 ? spans[number / 2].low : spans[number / 2].high
  }
}
