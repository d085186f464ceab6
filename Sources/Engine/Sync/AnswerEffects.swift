/// What an answer to a sync changes in memory, once its transaction is committed.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// What a page changes in memory, once its transaction is committed.
struct PageEffects {
  let conversation: (id: [UInt8], cid: Int64)
  let ingested: Ingested
  let answer: PageAnswer
  /// What its run has shown, marks included.
  let shown: SpanSet
  let links: (bound: Position, isTop: Bool)

  init(_ merge: PageMerge) {
    conversation = (merge.record.id, merge.record.cid)
    ingested = merge.ingested
    answer = merge.answer
    shown = merge.job.evidence.shown
    links = merge.linksLeft
  }
}

/// What changed messages change in memory, once their transaction is committed.
struct ChangeEffects {
  let conversation: [UInt8]
  let cid: Int64
  var queuedMarks = false
  /// Where a walk without an end was left.
  var left: LeftCursor?
  /// What is claimed, after the last answer: all of that is fresh now.
  var fresh: SpanSet?
  /// Others may have arrived with these.
  var isBehind = false
}
