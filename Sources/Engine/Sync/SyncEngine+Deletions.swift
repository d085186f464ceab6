/// Deletions, and what follows when they do not explain what is missing.
///
/// Deletions have a watermark of their own, made from server times only: the
/// greatest known before the request was sent, less the overlap. What a whole
/// answer did not show and no deletion explains is evidence that the server was
/// restored from an older copy.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Sets the deletion stage of a job, or ends it where nothing is stored.
  func askDeletions(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    let known = memory.server.timeUs
    let oldest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: false).first
    guard let form = try deletionForm(record, in: tx) else {
      // No time can be asked from, so what a whole answer did not show is not there.
      try dropSuspects(&job, of: record, in: tx)
      return try finish(&job, of: &record, in: tx)
    }
    let watermark = memory.server.isAhead(record.deletions) ? nil : record.deletions
    var text = watermark?.text
    var sinceUs: Int64
    if let watermark {
      sinceUs = watermark.timeUs
    } else {
      guard let oldest else { return try finish(&job, of: &record, in: tx) }
      // A stamp ahead of the server's clock does not say since when the row is there. Where
      // that is not known the device's may send the question further back, never on.
      let isAhead = (known ?? memory.server.clock.wallUs).map { $0 < oldest.timeUs } ?? true
      sinceUs = WatermarkPolicy.below(isAhead ? 0 : oldest.timeUs, overlapUs: overlapUs)
    }
    let horizon = config.profile.deletionHorizonUs
    if horizon > 0, let now = memory.server.timeAtLeast, now.saturating(minus: sinceUs) > horizon {
      try passHorizon(&job, of: record, in: tx)
    }
    if horizon > 0, let known, known.saturating(minus: sinceUs) > horizon {
      // What the server still remembers is asked for, with room for its clock.
      sinceUs = known.saturating(minus: horizon / 8 * 7)
      text = nil
    }
    let walk = LeftCursor.Walk(conversation: record.id, areChanges: false)
    let cursors = Cursors(text ?? form.printed(sinceUs), left: memory.left.take(walk))
    job.stage = .deletions(DeletionWalk(cursors: cursors, knownUs: known))
    record.lowestSinceUs = min(record.lowestSinceUs ?? sinceUs, sinceUs)
    return .next
  }

  /// How this server prints times; nil where it has printed none here. Rows that came by
  /// push or by answer have no watermark beside them, and are asked about all the same.
  private func deletionForm(
    _ record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Stamp? {
    if let form = stamp(record.fetch) ?? stamp(record.deletions) { return form }
    guard let printed = try tx.oldestStamp(record.cid) else { return nil }
    return Stamp(printed, zoneOffsetMinutes: config.profile.zoneOffsetMinutes)
  }

  /// Deletions that old are forgotten. What is stored stays and counts as whole, but
  /// only what a page shows anew is known not to be deleted.
  private func passHorizon(
    _ job: inout SyncJob, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    let before = try tx.unverified(record.cid)
    var unverified = before
    let newest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: true)
    if let last = newest.first { unverified.insert(.min, last.position.successor) }
    try tx.save(
      unverified: unverified.without(job.evidence.shown), replacing: before, in: record.cid)
    try dropSuspects(&job, of: record, in: tx)
  }

  /// No log explains them, so what a whole answer did not show is gone.
  private func dropSuspects(
    _ job: inout SyncJob, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    for id in job.evidence.suspects {
      guard let row = try tx.row(id, record.cid) else { continue }
      if try tx.remove(row.position, record.cid) != nil { job.status.removed += 1 }
    }
    job.evidence.suspects = []
  }

  /// Takes the answer: tombstones and watermark in one transaction.
  func takeDeletions(
    _ job: inout SyncJob, page: DeletedPage, on walk: DeletionWalk
  ) throws(StoreFailure) -> Step {
    var draft = job
    var leftWalk: (walk: LeftCursor.Walk, at: LeftCursor)?
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      var isIdle = true
      for id in page.ids where isIdle { isIdle = try tx.isTombstoned(id, in: record.cid) }
      for id in page.ids where try tx.tombstone(id, in: record.cid, version: nil) != nil {
        draft.status.removed += 1
      }
      try tx.dropMarks(.read, ids: page.ids, in: record.cid)
      try tx.dropMarks(.delivered, ids: page.ids, in: record.cid)
      try tx.dropMarks(.listened, ids: page.ids, in: record.cid)
      if page.hasMore {
        var walk = walk
        let goesOn = walk.cursors.goOn(
          to: page.nextSince, isIdle: isIdle, isEmpty: page.ids.isEmpty,
          pagesMax: self.config.profile.pagesMax)
        guard goesOn else {
          let form = try self.deletionForm(record, in: tx)
          leftWalk = self.left(walk.cursors, at: &record.deletions, form).map {
            (LeftCursor.Walk(conversation: record.id, areChanges: false), $0)
          }
          try tx.save(record)
          return Step.ended(.incomplete)
        }
        draft.stage = .deletions(walk)
        return Step.next
      }
      if let form = try self.deletionForm(record, in: tx) {
        self.moveDeletions(&record, page: page, form: form, knownUs: walk.knownUs)
      }
      let step = try self.afterDeletions(&draft, of: &record, in: tx)
      try tx.save(record)
      return step
    }
    if let (walk, left) = leftWalk { memory.left.leave(walk, at: left) }
    job = draft
    return step
  }

  /// The next walk goes on where this one was left: for good where its cursor is a time, less
  /// the overlap, and otherwise as long as the process remembers it.
  func left(
    _ cursors: Cursors, at watermark: inout Watermark?, _ form: Stamp?
  ) -> LeftCursor? {
    guard let next = cursors.left else { return nil }
    if let stamp = Stamp(next, zoneOffsetMinutes: config.profile.zoneOffsetMinutes), let form,
      memory.server.timeUs.map({ stamp.timeUs <= $0.saturating(plus: WatermarkPolicy.dayUs) })
        ?? false
    {
      let time = max(stamp.timeUs, WatermarkPolicy.earliestUs + overlapUs) - overlapUs
      if watermark.map({ $0.timeUs < time }) ?? true {
        watermark = Watermark(timeUs: time, text: form.printed(time))
        return nil
      }
    }
    return LeftCursor(from: cursors.first, next: next)
  }

  private func moveDeletions(
    _ record: inout ConversationRecord, page: DeletedPage, form: Stamp, knownUs: Int64?
  ) {
    guard let base = page.serverTime?.timeUs ?? knownUs else { return }
    let time = base.saturating(minus: overlapUs)
    if record.deletions.map({ $0.timeUs < time || memory.server.isAhead($0) }) ?? true {
      record.deletions = Watermark(timeUs: time, text: form.printed(time))
    }
  }

  /// Deletions are known: is everything that was absent explained?
  private func afterDeletions(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    var missing: [StoredRow] = []
    for id in job.evidence.suspects {
      if let row = try tx.row(id, record.cid) { missing.append(row) }
    }
    job.evidence.suspects = []
    if let lowest = missing.map(\.position).min() {
      if try looksAgain(&job, in: tx) { return .next }
      guard job.restores == 0 else { return .ended(.incomplete) }
      // What contradicts itself is no evidence.
      if job.evidence.isContradicted { return try askChanges(&job, of: &record, in: tx) }
      let isBelieved = memory.restores.confirms(
        missing.map(\.position.id), unseen: try unseen(record, in: tx), lowest: lowest,
        in: record.id, askedMs: job.turn.beganMs, nowMs: memory.server.clock.monotonicMs)
      guard isBelieved else {
        // The rows stay until another answer lacks them too.
        try doubt(missing, of: record, in: tx)
        return try askChanges(&job, of: &record, in: tx)
      }
      guard memory.restores.mayBelieve(record.id, nowMs: memory.server.clock.monotonicMs) else {
        return .ended(.incomplete)
      }
      memory.effects.restores &+= 1
      // A restore is the whole server's: every conversation must be looked at.
      memory.server.noteRestore(at: tx.lsn)
      try tx.save(memory.server.facts)
      return try distrust(&job, of: &record, in: tx)
    }
    memory.restores.keep(try unseen(record, in: tx), in: record.id)
    return try askChanges(&job, of: &record, in: tx)
  }

  /// Rows in doubt of which nothing was heard since: no answer has claimed their place.
  private func unseen(
    _ record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Set<[UInt8]> {
    let doubted = memory.restores.doubted(in: record.id)
    if doubted.isEmpty { return [] }
    let unverified = try tx.unverified(record.cid)
    var unseen: Set<[UInt8]> = []
    for id in doubted {
      guard let row = try tx.row(id, record.cid) else { continue }
      if unverified.span(holding: row.position) != nil { unseen.insert(id) }
    }
    return unseen
  }

  /// Whether these rows are still there on the server is not known.
  private func doubt(
    _ missing: [StoredRow], of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    let before = try tx.unverified(record.cid)
    var unverified = before
    // What was shown between them is in no doubt.
    for place in missing.map(\.position).sorted() { unverified.insert(place, place.successor) }
    try tx.save(unverified: unverified, replacing: before, in: record.cid)
  }

  /// The content is whole and the deletions are known.
  func finish(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    if job.stopsAtPage, job.request.kind != .live {
      // It reached the beginning without a walk of its own: a catch-up looks into it.
      if try difference(job, of: record, in: tx) != nil { memory.effects.owed.append(record.id) }
    } else if let step = try audit(&job, of: &record, in: tx) {
      return step
    }
    if let newest = try newestBelowRange(job, of: record, in: tx) { job.aim.floor = newest }
    guard job.hasGoal, !job.aim.isDone else { return .ended(nil) }
    return try planGapFill(&job, of: record, in: tx)
  }

  /// The newest message, where all that the newest range held is deleted: it stands below that
  /// range, mostly as the first row of a cut page, and is to be whole as well.
  private func newestBelowRange(
    _ job: SyncJob, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Position? {
    guard job.request.kind == .latest, !job.aim.isDone, job.aim.floor == nil,
      let range = try passable(record, in: tx).newest, !range.reachesStart,
      let last = try tx.keys(record.cid, before: .beforePending, limit: 1, from: nil).first
    else { return nil }
    return last.position < range.low ? last.position : nil
  }

  // MARK: Audit

  /// Compares the server's count with ours where everything is claimed.
  ///
  /// A mismatch is a hint, since a message or a deletion may be on its way: it is
  /// looked at once more, then the conversation is walked through once, by offset and not by
  /// the keys that are in question. The same difference is not looked into again, but until it
  /// has gone no read calls the conversation whole.
  private func audit(
    _ job: inout SyncJob, of record: inout ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Step? {
    guard let (total, count) = try counts(job, of: record, in: tx) else { return nil }
    if count == total {
      record.auditedTotal = nil
      record.auditedCount = nil
      memory.restores.forgetBuried(record.id)
      return nil
    }
    if !job.evidence.sawBuried, try difference(job, of: record, in: tx) == nil { return nil }
    // Noted before all is looked at once more, since that need not go as far down again.
    if job.evidence.sawBuried, job.restores == 0,
      memory.restores.confirmsBuried(
        in: record.id, askedMs: job.turn.beganMs, nowMs: memory.server.clock.monotonicMs),
      memory.restores.mayBelieve(record.id, nowMs: memory.server.clock.monotonicMs)
    {
      // The server shows what it said was deleted: it was restored.
      memory.effects.restores &+= 1
      return try distrust(&job, of: &record, in: tx)
    }
    if job.suspicion.rise() {
      if job.suspicion.isRevalidation {
        memory.effects.mismatches &+= 1
        job.beginAgain()
        job.stage = .catchUp(CatchUp(bound: .min))
      } else if try !looksAgain(&job, in: tx) {
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
    _ job: SyncJob, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> (total: Int64, stored: Int64)? {
    let spans = try tx.spans(record.cid)
    guard !config.profile.countsHidden else { return nil }
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
  private func difference(
    _ job: SyncJob, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Int64? {
    guard let (total, count) = try counts(job, of: record, in: tx), total != count else {
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
