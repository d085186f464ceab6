/// Answers to a sync that are no pages of messages: deletions, changes, the conversation itself.
///
/// Each is one transaction. What it decides is the planner's; what it changes in memory is changed
/// when it is committed.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Takes the answer: tombstones and watermark in one transaction.
  func takeDeletions(
    _ job: inout SyncJob, page: DeletedPage, on walk: DeletionWalk
  ) throws(StoreFailure) -> Step {
    var draft = job
    var leftWalk: (walk: LeftCursor.Walk, at: LeftCursor)?
    let step = try commit { tx throws(StoreFailure) in
      let planner = planner(tx)
      var record = try tx.conversation(creating: draft.request.conversation)
      var isIdle = true
      for id in page.ids where isIdle { isIdle = try tx.isTombstoned(id, in: record.cid) }
      for id in page.ids where try tx.tombstone(id, in: record.cid, version: nil) != nil {
        draft.status.removed += 1
      }
      try tx.annotationTable.dropMarks(.read, ids: page.ids, in: record.cid)
      try tx.annotationTable.dropMarks(.delivered, ids: page.ids, in: record.cid)
      try tx.annotationTable.dropMarks(.listened, ids: page.ids, in: record.cid)
      if page.hasMore {
        var walk = walk
        let goesOn = walk.cursors.goOn(
          to: page.nextSince, isIdle: isIdle, isEmpty: page.ids.isEmpty,
          pagesMax: self.config.profile.pagesMax)
        guard goesOn else {
          let form = try planner.deletionForm(record)
          leftWalk = planner.left(walk.cursors, at: &record.deletions, form).map {
            (LeftCursor.Walk(conversation: record.id, areChanges: false), $0)
          }
          try tx.save(record)
          return Step.ended(.incomplete)
        }
        draft.stage = .deletions(walk)
        return Step.next
      }
      if let form = try planner.deletionForm(record) {
        planner.moveDeletions(&record, page: page, form: form, knownUs: walk.knownUs)
      }
      let step = try planner.afterDeletions(&draft, of: &record)
      try tx.save(record)
      return step
    }
    if let (walk, left) = leftWalk { memory.left.leave(walk, at: left) }
    job = draft
    return step
  }

  /// Takes the answer: the changed messages that are stored, or that belong into a
  /// range that is claimed.
  func takeChanges(
    _ job: inout SyncJob, page: ChangedPage, from ingest: Ingest, on walk: ChangeWalk
  ) throws(StoreFailure) -> Step {
    var draft = job
    let (step, effects) = try commit { tx throws(StoreFailure) -> (Step, ChangeEffects) in
      let planner = planner(tx)
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
        try memory.server.endTrust(&spans, of: record, below: top, in: tx)
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
          effects.left = planner.left(walk.cursors, at: &record.marks, self.stamp(record.fetch))
          try tx.save(record)
          return (.ended(.incomplete), effects)
        }
        draft.stage = .changes(walk)
        return (.next, effects)
      }
      effects.fresh = claims
      draft.caughtUp.noteChanges()
      planner.moveMarks(&record, page: page, knownUs: walk.knownUs)
      let step = try planner.finish(&draft, of: &record)
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

  /// The server no longer knows the watermark of changes.
  func loseMarks(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    var draft = job
    let step = try commit { tx throws(StoreFailure) in try planner(tx).loseMarks(&draft) }
    job = draft
    return step
  }

  func loseDeletionCursor(_ job: inout SyncJob) throws(StoreFailure) -> Step? {
    var draft = job
    let step = try commit { tx throws(StoreFailure) in
      try planner(tx).loseDeletionCursor(&draft)
    }
    if step != nil { job = draft }
    return step
  }

  /// The message that a page was to be laid around is gone on the server: the longer way.
  func planWithoutSpot(_ job: SyncJob) throws(StoreFailure) {
    var draft = job
    let stage = try commit { tx throws(StoreFailure) in try planner(tx).planWithoutSpot(draft) }
    guard let stage else { return end(draft, trouble: nil) }
    draft.stage = stage
    draft.turn.attempts = 0
    scheduler.replace(draft)
  }

  /// Takes what the server says of a conversation, and goes on to the marker that it names.
  func takeAsked(
    _ job: inout SyncJob, _ known: WireConversation, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) -> Step {
    var draft = job
    var effects = UpdateApplier.Effects()
    let stage = try commit { tx throws(StoreFailure) -> SyncStage? in
      let record = try tx.conversation(creating: draft.request.conversation)
      guard record.id == known.id else { return nil }
      var applier = applier(tx, answer: .getConversation, from: ingest, at: now)
      try applier.told(known)
      effects = applier.effects
      return try planner(tx).planAtMarker(&draft, of: record, asks: false)
    }
    tell(effects)
    if let stage { draft.stage = stage }
    job = draft
    return stage == nil ? .ended(nil) : .next
  }

  /// Whether an answer says two things that cannot both be so: it is empty, and there is more. It
  /// claims nothing and takes nothing away.
  func contradictsItself(_ page: Page, to job: SyncJob) -> Bool {
    guard page.items.isEmpty else { return false }
    if page.hasMore == true { return true }
    guard !job.stage.selects, job.turn.offset == 0, !config.profile.countsHidden else {
      return false
    }
    return page.totalCount.map { $0 > 0 } ?? false
  }

  // MARK: Catch-ups of the library's own

  /// Looks once more at conversations of which one answer lacked rows: down to the lowest of them.
  func checkRestores(_ now: Instant) {
    guard tracker.isUp else { return }
    for check in memory.restores.takeDue(nowMs: now.monotonicMs) {
      startRecheck(check.conversation, from: check.lowest)
    }
  }

  /// A catch-up beside those that were asked for, of which all down to a place is wanted,
  /// gaps below the newest page included; its number.
  func startLook(_ conversation: [UInt8], downTo floor: Position) -> UInt64 {
    scheduler.add(SyncRequest(conversation: conversation)) { job in
      job.aim.floor = floor
      job.aim.isBounded = floor == .min
    }
  }

  /// A catch-up that reads everything from a place on once more.
  func startRecheck(_ conversation: [UInt8], from lowest: Position) {
    guard scheduler.hasRoom else { return }
    scheduler.add(SyncRequest(conversation: conversation)) { $0.aim.recheckFrom = lowest }
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
    ingest.placesBehind = rules.learnsTies
    for case .message(let message) in items {
      guard let payload = opened.popFirst(),
        message.conversation == nil || message.conversation == record.id,
        let order = rules.usesSequence ? message.sequence : message.stamp.timeUs
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
