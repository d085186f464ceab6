/// The server's count, held against ours where everything is claimed.
///
/// Rule protected: the count is an audit, and no truth.
internal import Base
internal import Store
internal import Timeline

extension SyncPlanner {
  /// Compares the server's count with ours where everything is claimed.
  ///
  /// A mismatch is a hint, since a message or a deletion may be on its way: it is
  /// looked at once more, then the conversation is walked through once, by offset and not by
  /// the keys that are in question. The same difference is not looked into again, but until it
  /// has gone no read calls the conversation whole.
  func audit(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step? {
    guard let (total, count) = try counts(job, of: record) else { return nil }
    if count == total {
      record.auditedTotal = nil
      record.auditedCount = nil
      memory.restores.clearBuried(record.id)
      return nil
    }
    if !job.evidence.sawBuried, try difference(job, of: record) == nil { return nil }
    // Noted before all is looked at once more, since that need not go as far down again.
    if job.evidence.sawBuried, job.restores == 0,
      memory.restores.confirmsBuried(
        in: record.id, askedMs: job.turn.beganMs, nowMs: memory.server.clock.monotonicMs),
      memory.restores.mayBelieve(record.id, nowMs: memory.server.clock.monotonicMs)
    {
      // The server shows what it said was deleted: it was restored.
      memory.effects.restores &+= 1
      return try distrust(&job, of: &record)
    }
    if job.suspicion.rise() {
      if job.suspicion.isRevalidation {
        memory.effects.mismatches &+= 1
        job.beginAgain()
        job.stage = .catchUp(CatchUp(bound: .min))
      } else if try !looksAgain(&job) {
        beginAgain(&job)
      }
      return .next
    }
    record.auditedTotal = total
    record.auditedCount = count
    return nil
  }

  /// How many messages the server counts and we do, where everything is claimed.
  private func counts(
    _ job: SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) -> (total: Int64, stored: Int64)? {
    let spans = try tx.spans(record.cid)
    guard !profile.countsHidden else { return nil }
    guard let total = job.evidence.total, spans.spans.count == 1,
      spans.newest?.reachesStart == true,
      try tx.quarantined(record.cid).isEmpty
    else { return nil }
    let stored = Int64(try tx.count(record.cid, from: .min, to: .max))
    var unsettled: Int64 = 0
    for id in job.evidence.unsettled where try tx.row(id, record.cid) != nil { unsettled += 1 }
    return (total, stored - unsettled)
  }

  /// By how much they differ, where that was not looked into: what was is the difference, since
  /// a server that always counts one more does so for each new message too.
  func difference(
    _ job: SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) -> Int64? {
    guard let (total, count) = try counts(job, of: record), total != count else {
      return nil
    }
    if let auditedTotal = record.auditedTotal, let auditedCount = record.auditedCount,
      auditedTotal &- auditedCount == total &- count
    {
      return nil
    }
    return total &- count
  }
}
