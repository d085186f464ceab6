/// By conversation, where a page or a push of this connection showed all marks.
///
/// The core notes it, and windows read it on other threads, so the board has one of its own. Only
/// what changed is brought there: none is copied with each update, of however many conversations.
internal import Timeline

struct FreshRanges {
  private var ranges: [Int64: SpanSet] = [:]
  /// What the other one has not heard of.
  private var changed: [Int64] = []
  private var wasEmptied = false

  subscript(_ cid: Int64) -> SpanSet { ranges[cid] ?? SpanSet() }

  mutating func insert(_ span: SpanSet.Span, _ cid: Int64) {
    ranges[cid, default: SpanSet()].insert(span.low, span.high)
    markChanged(cid)
  }

  mutating func insert(_ more: SpanSet, _ cid: Int64) {
    ranges[cid] = self[cid].union(more)
    markChanged(cid)
  }

  /// Nothing of it is known to be fresh any more.
  mutating func remove(_ cid: Int64) {
    ranges[cid] = nil
    markChanged(cid)
  }

  /// Nothing is known of another connection.
  mutating func empty() {
    ranges = [:]
    changed = []
    wasEmptied = true
  }

  /// Brings the other one, which is only changed so, to the same.
  mutating func bring(to other: inout FreshRanges) {
    if wasEmptied { other.ranges = [:] }
    for cid in changed { other.ranges[cid] = ranges[cid] }
    wasEmptied = false
    if !changed.isEmpty { changed = [] }
  }

  private mutating func markChanged(_ cid: Int64) {
    if changed.last != cid { changed.append(cid) }
  }
}
