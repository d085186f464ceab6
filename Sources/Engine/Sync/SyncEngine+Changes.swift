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
    guard can(.changedSince), job.isLive, !job.changesAreDone,
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
    job.stage = .changes(
      since: job.beginCursors(since, left: memory.left.take(walk)),
      knownUs: memory.server.timeUs)
    return .next
  }

  /// Takes the answer: the changed messages that are stored, or that belong into a
  /// range that is claimed.
  func takeChanges(
    _ job: inout SyncJob, page: ChangedPage, from ingest: Ingest, since: [UInt8], knownUs: Int64?
  ) throws(StoreFailure) -> Step {
    var draft = job
    var isDone = false
    var isBehind = false
    var claims: (cid: Int64, ranges: SpanSet)?
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      let stored = try tx.spans(record.cid)
      var spans = stored
      let ingested = try ingest.known(page.items, of: record, spans: spans, in: tx)
      if let top = ingested.insertedAt.map(\.time).max(), !self.scheme.isSequence,
        let fetch = record.fetch, top > fetch.timeUs
      {
        // Where a claim reaches above the watermark, others may have arrived with these.
        isBehind = true
        try self.endTrust(&spans, of: record, below: top, in: tx)
        try tx.save(spans: spans, replacing: stored, in: record.cid)
      }
      claims = (record.cid, spans.without(try tx.stale(record.cid)))
      draft.status.received += page.items.count
      draft.status.inserted += ingested.insertedAt.count
      if ingested.queuedMarks { receipts.queue(Limits.markReadBatch) }
      if page.hasMore {
        let next = draft.nextCursor(
          page.nextSince, after: since, isIdle: page.items.isEmpty,
          isEmpty: page.items.isEmpty, pagesMax: self.config.profile.pagesMax)
        guard let next else {
          self.leave(
            draft, of: record.id, areChanges: true, at: &record.marks, self.stamp(record.fetch))
          try tx.save(record)
          return Step.ended(.incomplete)
        }
        draft.stage = .changes(since: next, knownUs: knownUs)
        return Step.next
      }
      isDone = true
      draft.changesAreDone = true
      self.moveMarks(&record, page: page, knownUs: knownUs)
      let step = try self.finish(&draft, of: &record, in: tx)
      try tx.save(record)
      return step
    }
    if isDone, let claims {
      memory.fresh.insert(claims.ranges, claims.cid)
    }
    if isBehind { catchUp(job.request.conversation) }
    job = draft
    return step
  }

  /// The server no longer knows the watermark of changes: from now on, then. Of all that
  /// is stored changes may have been missed, also for later connections: it is asked again
  /// when it is looked at.
  func loseMarks(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    var draft = job
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      draft.changesAreDone = true
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
