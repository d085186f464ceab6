/// Decides what a sync asks next. Lives for one transaction.
///
/// It reads what is stored and known, changes the job, and tells nobody: what others are to do is
/// among the transaction's effects. What is wanted beyond the present is in `SyncPlanner+GapFill`,
/// what is doubted in `SyncPlanner+Audit` and `SyncPlanner+Distrust`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct SyncPlanner {
  let memory: SyncMemory
  /// How many messages a page is asked for.
  let pageLimit: Int
  let tx: WriteTransaction

  var scheme: PositionScheme { memory.server.scheme }

  var profile: Profile { memory.server.profile }

  /// The spans, with the places of unreadable items counted as seen.
  func passable(
    _ record: ConversationRecord
  ) throws(StoreFailure) -> SpanSet {
    var set = try tx.spans(record.cid)
    set.insert(try tx.quarantined(record.cid, seen: true))
    return set
  }

  /// The spans, with the places of unreadable items that this connection or this job has shown.
  /// Others may be readable by now: a fill asks for them again, once a connection.
  func passable(
    _ record: ConversationRecord, by job: SyncJob
  ) throws(StoreFailure) -> SpanSet {
    var set = try tx.spans(record.cid)
    let began = Int64(clamping: memory.live.beganLSN)
    set.insert(try tx.quarantined(record.cid, seen: true, after: began))
    set.insert(
      try tx.quarantined(record.cid, seen: true).filter {
        job.evidence.passed.covers($0.low, high: $0.high)
      })
    return set
  }

  /// Decides what a sync asks next, after what a page did for it.
  func next(
    after outcome: PageOutcome, of job: inout SyncJob, _ record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    switch outcome {
    case .whole(let isAllSeen):
      return isAllSeen
        ? try finish(&job, of: &record) : try askDeletions(&job, of: &record)
    case .complete:
      return job.evidence.suspects.isEmpty && !job.evidence.needsDeletions
        ? try finish(&job, of: &record) : try askDeletions(&job, of: &record)
    case .mustSeeNewest:
      job.catchUp.way = .newest
      return .next
    case .extended(let stage):
      job.stage = stage
    case .reachedDown(let low):
      let known = try passable(record, by: job)
      job.stage = try planBelow(job.goal, of: job, from: low, known: known, of: record)
    case .reachedUp(let high):
      let known = try passable(record, by: job)
      job.stage = try planAbove(job.goal, from: high, known: known, of: record)
    case .lacksMessage:
      return .ended(.noMessage)
    case .stuck:
      return .ended(.incomplete)
    }
    return job.hasPagesLeft ? .next : .ended(.incomplete)
  }

  /// The content is whole and the deletions are known.
  func finish(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    if job.stopsAtPage, job.request.kind != .live {
      // It reached the beginning without a walk of its own: a catch-up looks into it.
      if try difference(job, of: record) != nil { memory.effects.pending.append(record.id) }
    } else if let step = try audit(&job, of: &record) {
      return step
    }
    if let newest = try newestBelowRange(job, of: record) { job.aim.floor = newest }
    guard job.hasGoal, !job.aim.isDone else { return .ended(nil) }
    return try planGapFill(&job, of: record)
  }

  /// The newest message, where all that the newest range held is deleted: it stands below that
  /// range, mostly as the first row of a cut page, and is to be whole as well.
  private func newestBelowRange(
    _ job: SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) -> Position? {
    guard job.request.kind == .latest, !job.aim.isDone, job.aim.floor == nil,
      let range = try passable(record).newest, !range.reachesStart,
      let last = try tx.keys(record.cid, before: .beforePending, limit: 1, from: nil).first
    else { return nil }
    return last.position < range.low ? last.position : nil
  }
}
