/// What the client doubts, and in which order: itself, then the server, and neither without
/// end.
///
/// Rule protected: a restore is believed only of what the server said, not of what was learned
/// of its pages; and a server that contradicts itself is not asked for ever.
internal import Base
internal import Store
internal import Timeline

extension SyncEngine {
  /// Before the server is suspected the client suspects itself: an answer may have counted
  /// as whole only because this server once gave larger pages. That is forgotten, and all
  /// is asked anew, once.
  func looksAgain(
    _ job: inout SyncJob, in tx: WriteTransaction
  ) throws(StoreFailure) -> Bool {
    guard job.trustedSize, !job.isSecondLook else { return false }
    job.isSecondLook = true
    facts.largestPage = 0
    try tx.save(facts)
    beginAgain(&job)
    return true
  }

  func beginAgain(_ job: inout SyncJob) {
    job.beginAgain()
    job.goalIsDone = false
    let conversation = job.request.conversation
    if caughtUp.remove(conversation) { doubted.insert(conversation) }
  }

  /// A restore is rare. A server that seems restored again and again contradicts itself, and
  /// to follow it each time would be to ask without end.
  func mayBelieveRestore(_ conversation: [UInt8]) -> Bool {
    let times = restored[conversation, default: []].filter {
      clock.monotonicMs - $0 < Limits.restoresWithinMs
    }
    guard times.count < Limits.restoresMax else { return false }
    restored[conversation] = times + [clock.monotonicMs]
    return true
  }

  // MARK: Distrust

  /// Whether the server was found restored since this conversation was last synced.
  func mustDistrust(_ record: ConversationRecord) -> Bool {
    record.fetch != nil && record.restoredLSN < facts.restoredLSN
  }

  /// Drops what is claimed of a conversation; its rows stay readable until a whole
  /// answer shows which of them are gone.
  func distrust(
    _ record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    // Nothing follows the present any more, so no push may go on from there.
    if caughtUp.remove(record.id) { doubted.insert(record.id) }
    // What other syncs of it were about to join is no more.
    for index in jobs.indices where jobs[index].request.conversation == record.id {
      jobs[index].beginAnew()
    }
    record.fetch = nil
    record.deletions = nil
    record.marks = nil
    record.lowestSinceUs = nil
    record.auditedTotal = nil
    record.auditedCount = nil
    record.restoredLSN = tx.lsn
    try tx.save(record)
    try tx.save(spans: SpanSet(), replacing: try tx.spans(record.cid), in: record.cid)
    try tx.save(unverified: SpanSet(), replacing: try tx.unverified(record.cid), in: record.cid)
    try tx.save(stale: SpanSet(), replacing: try tx.stale(record.cid), in: record.cid)
    try tx.clearTombstones(record.cid)
    try tx.clearQuarantine(record.cid, low: .min, high: .max)
  }

  func distrust(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    try distrust(&record, in: tx)
    job.beginAnew()
    job.restores += 1
    job.stage = .newest
    return .next
  }
}
