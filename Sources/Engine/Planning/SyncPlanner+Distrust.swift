/// What the client doubts, and in which order: itself, then the server, and neither without
/// end.
///
/// Rule protected: a restore is believed only of what the server said, not of what was learned
/// of its pages; and a server that contradicts itself is not asked for ever.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncPlanner {
  /// Before the server is suspected the client suspects itself: an answer may have counted
  /// as whole only because this server once gave larger pages. That is forgotten, and all
  /// is asked anew, once.
  func looksAgain(
    _ job: inout SyncJob
  ) throws(StoreFailure) -> Bool {
    guard job.evidence.trustedSize, job.suspicion.lookAgain() else { return false }
    memory.server.resetPageSize()
    try tx.save(memory.server.facts)
    beginAgain(&job)
    return true
  }

  func beginAgain(_ job: inout SyncJob) {
    job.beginAgain()
    job.aim.isDone = false
    memory.effects.doubted.append(job.request.conversation)
  }

  // MARK: Distrust

  /// Drops what is claimed of a conversation; its rows stay readable until a whole
  /// answer shows which of them are gone.
  func distrust(
    _ record: inout ConversationRecord
  ) throws(StoreFailure) {
    try dropClaims(&record)
    memory.ties.removeTaught()
    record.restoredLSN = tx.lsn
    try tx.save(record)
    try tx.clearTombstones(record.cid)
  }

  /// The same where only what was proven is lost: rows go by two answers, as ever.
  func dropClaims(
    _ record: inout ConversationRecord
  ) throws(StoreFailure) {
    memory.effects.unclaimed.append(record.id)
    record.fetch = nil
    record.deletions = nil
    record.marks = nil
    record.lowestSince = nil
    record.auditedTotal = nil
    record.auditedCount = nil
    try tx.save(record)
    try tx.save(spans: SpanSet(), replacing: try tx.spans(record.cid), in: record.cid)
    // What one answer has lacked stays unverified until another one covers it.
    let unverified = try tx.unverified(record.cid)
    var doubted = SpanSet()
    if profile.deletionHorizonUs == 0 { doubted = unverified }
    for id in memory.restores.doubted(in: record.id) {
      guard let place = try tx.row(id, record.cid)?.position else { continue }
      doubted.insert(place, place.successor)
    }
    try tx.save(unverified: doubted, replacing: unverified, in: record.cid)
    try tx.save(stale: SpanSet(), replacing: try tx.stale(record.cid), in: record.cid)
    try tx.quarantineTable.clearQuarantine(record.cid, low: .min, high: .max)
  }

  func distrust(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    try distrust(&record)
    job.beginAnew()
    job.restores += 1
    job.stage = .catchUp(CatchUp())
    return .next
  }
}
