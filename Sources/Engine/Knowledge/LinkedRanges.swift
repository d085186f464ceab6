/// Ranges that pushed messages have linked by name, apart from the range that the watermark tops.
///
/// Rule protected: between two messages of which one names the other nothing stood when it was
/// pushed, but one stamped between them may be committed yet. So the catch-up that moves the
/// watermark over such a range reads it anew, or leaves it as a gap.
internal import Timeline

struct LinkedRanges {
  private var ranges: [Int64: SpanSet] = [:]
  /// Conversations of which an earlier process has left no link.
  private var known: Set<Int64> = []

  mutating func insert(_ span: SpanSet.Span, _ cid: Int64) {
    ranges[cid, default: SpanSet()].insert(span.low, span.high)
  }

  /// A catch-up has gone over what was linked below a boundary; `isTop` where it has left no range
  /// above its own.
  mutating func remove(below bound: Position, isTop: Bool, _ cid: Int64) {
    if isTop { known.insert(cid) }
    guard var left = ranges[cid] else { return }
    left.remove(.min, bound)
    ranges[cid] = left.isEmpty ? nil : left
  }

  /// What may be linked from a boundary on.
  func above(_ bound: Position, _ cid: Int64) -> SpanSet {
    let all = SpanSet().inserting(bound, high: .max)
    guard known.contains(cid) else { return all }
    return ranges[cid].map { all.intersection($0) } ?? SpanSet()
  }
}
