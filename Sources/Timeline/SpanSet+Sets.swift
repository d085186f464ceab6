/// Ranges as sets: what two span sets share, hold together, and where they differ.
///
/// Every range that comes out is built by `SpanSet.insert`, the one place where
/// two ranges merge.
extension SpanSet {
  /// This set with one more range.
  package func inserting(_ low: Position, _ high: Position) -> SpanSet {
    var set = self
    set.insert(low, high)
    return set
  }

  /// What lies in either set.
  package func union(_ other: SpanSet) -> SpanSet {
    var set = self
    for span in other.spans { set.insert(span.low, span.high) }
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
    for span in other.spans { set.remove(span.low, span.high) }
    return set
  }

  /// The ranges that lie in exactly one of the two sets, oldest first.
  package func difference(with other: SpanSet) -> [Span] {
    if self == other { return [] }
    // Walking over the ends of both sets, each end changes the answer; an end that
    // both sets have changes it twice.
    var edges: [Position] = []
    let a = edgeList
    let b = other.edgeList
    var mine = 0
    var theirs = 0
    while mine < a.count || theirs < b.count {
      if theirs == b.count || (mine < a.count && a[mine] < b[theirs]) {
        edges.append(a[mine])
        mine += 1
      } else if mine == a.count || b[theirs] < a[mine] {
        edges.append(b[theirs])
        theirs += 1
      } else {
        mine += 1
        theirs += 1
      }
    }
    return stride(from: 0, to: edges.count - 1, by: 2).map {
      Span(low: edges[$0], high: edges[$0 + 1])
    }
  }

  private var edgeList: [Position] {
    var edges: [Position] = []
    edges.reserveCapacity(spans.count * 2)
    for span in spans {
      edges.append(span.low)
      edges.append(span.high)
    }
    return edges
  }
}
