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

extension SyncEngine {
  /// Sets the stage that asks for changes, where a catch-up has not yet done so.
  func askChanges(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    guard can(.changedSince), job.isLive, !job.caughtUp.changesAreDone,
      let form = stamp(record.fetch)
    else { return try finish(&job, of: &record, in: tx) }
    var since = memory.server.isAhead(record.marks) ? nil : record.marks?.text
    if since == nil {
      let oldest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: false)
      since = oldest.first.map {
        form.printed(WatermarkPolicy.below($0.timeUs, overlapUs: overlapUs))
      }
    }
    guard let since else { return try finish(&job, of: &record, in: tx) }
    let walk = LeftCursor.Walk(conversation: record.id, areChanges: true)
    let cursors = Cursors(since, left: memory.left.take(walk))
    job.stage = .changes(ChangeWalk(cursors: cursors, knownUs: memory.server.timeUs))
    return .next
  }

  /// Takes the answer: the changed messages that are stored, or that belong into a
  /// range that is claimed.
  func takeChanges(
    _ job: inout SyncJob, page: ChangedPage, from ingest: Ingest, on walk: ChangeWalk
  ) throws(StoreFailure) -> Step {
    var draft = job
    let (step, effects) = try commit { tx throws(StoreFailure) -> (Step, ChangeEffects) in
      var record = try tx.conversation(creating: draft.request.conversation)
      var effects = ChangeEffects(conversation: record.id, cid: record.cid)
      let stored = try tx.spans(record.cid)
      var spans = stored
      let ingested = try ingest.known(page.items, of: record, spans: spans, in: tx)
      if let top = ingested.insertedAt.map(\.time).max(), !self.scheme.isSequence,
        let fetch = record.fetch, top > fetch.timeUs
      {
        // Where a claim reaches above the watermark, others may have arrived with these.
        effects.isBehind = true
        try self.endTrust(&spans, of: record, below: top, in: tx)
        try tx.save(spans: spans, replacing: stored, in: record.cid)
      }
      let claims = spans.without(try tx.stale(record.cid))
      draft.status.received += page.items.count
      draft.status.inserted += ingested.insertedAt.count
      effects.queuedMarks = ingested.queuedMarks
      if page.hasMore {
        var walk = walk
        let goesOn = walk.cursors.goOn(
          to: page.nextSince, isIdle: page.items.isEmpty, isEmpty: page.items.isEmpty,
          pagesMax: self.config.profile.pagesMax)
        guard goesOn else {
          effects.left = self.left(walk.cursors, at: &record.marks, self.stamp(record.fetch))
          try tx.save(record)
          return (.ended(.incomplete), effects)
        }
        draft.stage = .changes(walk)
        return (.next, effects)
      }
      effects.fresh = claims
      draft.caughtUp.noteChanges()
      self.moveMarks(&record, page: page, knownUs: walk.knownUs)
      let step = try self.finish(&draft, of: &record, in: tx)
      try tx.save(record)
      return (step, effects)
    }
    follow(effects, of: job)
    job = draft
    return step
  }

  /// Brings memory to where changed messages brought the file.
  private func follow(_ effects: ChangeEffects, of job: SyncJob) {
    if effects.queuedMarks { receipts.queue(Limits.markReadBatch) }
    if let left = effects.left {
      memory.left.leave(
        LeftCursor.Walk(conversation: effects.conversation, areChanges: true), at: left)
    }
    if let fresh = effects.fresh { memory.fresh.insert(fresh, effects.cid) }
    if effects.isBehind { catchUp(job.request.conversation) }
  }

  /// The server no longer knows the watermark of changes: from now on, then. Of all that
  /// is stored changes may have been missed, also for later connections: it is asked again
  /// when it is looked at.
  func loseMarks(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    var draft = job
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      draft.caughtUp.noteChanges()
      let stale = try tx.stale(record.cid)
      let newest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: true)
      if let last = newest.first?.position {
        try tx.save(
          stale: stale.inserting(.min, high: last.successor), replacing: stale, in: record.cid)
      }
      record.marks = nil
      if let form = self.stamp(record.fetch), let known = memory.server.timeUs {
        let time = known.saturating(minus: self.overlapUs)
        record.marks = Watermark(timeUs: time, text: form.printed(time))
      }
      let step = try self.finish(&draft, of: &record, in: tx)
      try tx.save(record)
      return step
    }
    job = draft
    return step
  }

  /// Less the overlap, as for deletions; a cursor that is no time is kept as it came.
  private func moveMarks(
    _ record: inout ConversationRecord, page: ChangedPage, knownUs: Int64?
  ) {
    let zone = config.profile.zoneOffsetMinutes
    var nextUs: Int64?
    if let next = page.nextSince {
      guard let stamp = Stamp(next, zoneOffsetMinutes: zone) else {
        record.marks = Watermark(timeUs: page.serverTime?.timeUs ?? knownUs ?? 0, text: next)
        return
      }
      nextUs = stamp.timeUs
    }
    guard let form = stamp(record.fetch),
      let base = nextUs ?? page.serverTime?.timeUs ?? knownUs
    else { return }
    let time = base.saturating(minus: overlapUs)
    if record.marks.map({ $0.timeUs < time || memory.server.isAhead($0) }) ?? true {
      record.marks = Watermark(timeUs: time, text: form.printed(time))
    }
  }
}

/// What changed messages change in memory, once their transaction is committed.
private struct ChangeEffects {
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

extension Ingest {
  /// Stores those of the items that are known already, or that a claim says must be.
  fileprivate func known(
    _ items: [PageItem], of record: ConversationRecord, spans: SpanSet, in tx: WriteTransaction
  ) throws(StoreFailure) -> Ingested {
    var result = Ingested()
    var opened = opened
    var ingest = self
    ingest.placesBehind = learnsTies
    for case .message(let message) in items {
      guard let payload = opened.popFirst(),
        message.conversation == nil || message.conversation == record.id,
        let order = usesSequence ? message.sequence : message.stamp.timeUs
      else { continue }
      let position = Position(time: order, id: message.id)
      let isKnown =
        try tx.row(message.id, record.cid) != nil || spans.span(holding: position) != nil
      if isKnown, !result.copies.isTooOften(message.id, in: record.cid) {
        try ingest.one(
          message, order: order, payload: payload, of: record, result: &result, in: tx)
      }
    }
    return result
  }
}
