/// Changes of messages that are known: edits, reactions, pins and receipts made while
/// nobody was connected.
///
/// Asked only of servers that keep such a log, and with a watermark of its own. After a
/// whole answer all that is claimed is fresh, but for what was stored when a watermark was
/// lost and no page has shown since; on other servers only what a page of this connection
/// showed is, see `SyncMemory.fresh`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncPlanner {
  /// Sets the stage that asks for changes, where a catch-up has not yet done so.
  func askChanges(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    guard memory.server.can(.changedSince), job.isLive, !job.caughtUp.changesAreDone,
      let form = memory.server.stamp(record.fetch?.text)
    else { return try finish(&job, of: &record) }
    var since = memory.server.isAhead(record.marks) ? nil : record.marks?.text
    if since == nil {
      let oldest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: false)
      since = oldest.first.map {
        form.printed(
          WatermarkPolicy.below(ServerTime(us: $0.timeUs), overlapUs: memory.server.overlapUs))
      }
    }
    guard let since else { return try finish(&job, of: &record) }
    let walk = LeftCursor.Walk(conversation: record.id, areChanges: true)
    let cursors = Cursors(since, left: memory.left.take(walk))
    job.stage = .changes(ChangeWalk(cursors: cursors, known: memory.server.time))
    return .next
  }

  /// The server no longer knows the watermark of changes: from now on, then, by a time or by the
  /// cursor of the next page where pages name one. Of all that
  /// is stored changes may have been missed, also for later connections: it is asked again
  /// when it is looked at.
  func loseMarks(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    var record = try tx.conversation(creating: job.request.conversation)
    job.caughtUp.noteChanges()
    try staleAll(record)
    record.marks = nil
    if !job.evidence.namesCursors, let form = memory.server.stamp(record.fetch?.text),
      let known = memory.server.time
    {
      record.marks = form.watermark(at: known.saturating(minus: memory.server.overlapUs))
    }
    let step = try finish(&job, of: &record)
    try tx.save(record)
    return step
  }

  /// Of all that is stored changes may have been missed.
  func staleAll(_ record: ConversationRecord) throws(StoreFailure) {
    let stale = try tx.stale(record.cid)
    let newest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: true)
    if let last = newest.first?.position {
      try tx.save(
        stale: stale.inserting(.min, high: last.successor), replacing: stale, in: record.cid)
    }
  }

  /// Less the overlap, as for deletions; a cursor that is no time is kept as it came.
  func moveMarks(
    _ record: inout ConversationRecord, page: ChangedPage, known: ServerTime?
  ) {
    var told: ServerTime?
    if let next = page.nextSince {
      guard let stamp = memory.server.stamp(next) else {
        record.marks = Watermark(at: page.serverTime?.time ?? known ?? .zero, text: next)
        return
      }
      told = stamp.time
    }
    guard let form = memory.server.stamp(record.fetch?.text),
      let base = told ?? page.serverTime?.time ?? known
    else { return }
    let time = base.saturating(minus: memory.server.overlapUs)
    if record.marks.map({ $0.time < time || memory.server.isAhead($0) }) ?? true {
      record.marks = form.watermark(at: time)
    }
  }
}
