/// Catching up, and going back: what is asked first, and what each page changes.
///
/// One algorithm serves every server. First everything after the watermark less
/// the overlap; a whole answer ends it with one request. Otherwise the newest page,
/// which claims up to the present, and from there a walk back by offset until it
/// reaches below the watermark less the overlap, or the start. The watermark moves
/// in the transaction that stores the last page of the walk, to the top of its
/// *first* page: later pages were read later, so nothing that was still committing
/// then can lie below the next overlap.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Who decides, in a transaction, what is asked next.
  func planner(_ tx: WriteTransaction) -> SyncPlanner {
    SyncPlanner(memory: memory, pageLimit: tracker.pacing.pageLimit, tx: tx)
  }

  /// Decides the first request of a job.
  func begin(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    if job.request.kind == .conversations {
      job.stage = .listing(memory.left.takeListing())
      return .next
    }
    if job.request.kind == .count {
      job.stage = .asking
      return .next
    }
    let conversation = job.request.conversation
    if job.request.kind == .live, config.profile.pushIsLossless,
      memory.live.isLive(conversation), !scheduler.isPending(conversation)
    {
      // Whatever happens there is pushed, and nothing pushed is lost.
      return .ended(nil)
    }
    return try scheme.history.begin(&job, self)
  }

  /// The same where pages are asked for.
  func beginPages(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    let conversation = job.request.conversation
    let record = try store.read { rx throws(StoreFailure) in try rx.conversation(conversation) }
    if needsNoCatchUp(job, of: record) {
      return try commit { tx throws(StoreFailure) in
        try planner(tx).planGapFill(&job, of: try tx.conversation(creating: conversation))
      }
    }
    if var record, memory.server.mustDistrust(record) {
      try commit { tx throws(StoreFailure) in try planner(tx).distrust(&record) }
      job.stage = .catchUp(CatchUp())
      return .next
    }
    guard let record, let fetch = record.fetch, let bound = scheme.bound(fetch) else {
      job.stage = .catchUp(CatchUp())
      return .next
    }
    if let lowest = job.aim.recheckFrom, lowest < bound.position {
      job.stage = .catchUp(CatchUp(bound: .before(timestampGroup: lowest.time)))
      return .next
    }
    // Where page sizes vary, an answer that starts at the bound proves little.
    let provesLittle = config.profile.pageSizeVaries && config.profile.truncates != .newest
    let (end, isMore) = try store.read { rx throws(StoreFailure) in
      try memory.server.quietEnd(
        record, from: bound.position, limit: tracker.pacing.pageLimit, in: rx)
    }
    let way: CatchUp.Way =
      provesLittle || isMore || scheme.asksForAll(from: fetch) ? .newest : .tail(bound)
    job.stage = .catchUp(CatchUp(way: way, bound: end ?? bound.position))
    return .next
  }

  /// Whether a job may go for its goal at once. Where a watermark is missing nothing
  /// can be claimed, so a page of the present comes first.
  private func needsNoCatchUp(_ job: SyncJob, of record: ConversationRecord?) -> Bool {
    if !job.caughtUp.isNone { return true }
    switch job.request.kind {
    case .latest, .live, .count, .conversations, .all:
      return false
    case .older:
      // A count that differs is looked at again.
      return memory.live.isLive(job.request.conversation) && record?.auditedTotal == nil
    case .below, .above, .at, .marker, .near, .time, .refresh:
      return record.map { $0.fetch != nil && !memory.server.mustDistrust($0) } ?? false
    }
  }

  var scheme: PositionScheme { memory.server.scheme }

  func can(_ capability: Profile.Capabilities) -> Bool {
    config.profile.capabilities.contains(capability)
  }

  /// Takes a page of messages: rows, claims and watermark in one transaction. Nil where it
  /// contradicts itself: it is asked for once more.
  func takePage(
    _ job: inout SyncJob, page: Page, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) -> Step? {
    if contradictsItself(page, to: job) {
      report.logLines.append((.warn, "an empty page that says there is more"))
      trouble(.sync(job.id), failure: .incomplete, retryAfterMs: 0, at: now)
      return nil
    }
    let wasLive = job.isLive
    var ingest = ingest
    ingest.placesBehind = scheme.learnsTies && memory.ties.isUnstable
    let answer = PageAnswer(issued: ingest.issued, asked: ingest.asked)
    let (step, effects) = try commit { tx throws(StoreFailure) -> (Step, PageEffects?) in
      let planner = planner(tx)
      var record = try tx.conversation(creating: job.request.conversation)
      if try newEpoch(page, in: tx) {
        // The page is the new server's: begin again with nothing believed.
        guard job.restores < 2 else { return (.ended(.incomplete), nil) }
        return (try planner.distrust(&job, of: &record), nil)
      }
      try planner.takeCursors(of: page, into: &record, for: &job)
      var merge = try PageMerge(
        page, of: ingest.frame, answer: answer, to: job, at: now, memory,
        receivesAll: pushReach.receivesAll(record), record: record, in: tx)
      try noteNews(of: record, in: tx)
      // Where updates are replied to, each message has one, which may be silent.
      if !can(.envelope) {
        let isMute = config.profile.isPlanted(.pageOffersNothing)
        ingest.offer = .above(try isMute ? .max : tx.news(record.cid) ?? .max)
      }
      var ingested = try ingest.page(page.items, of: record, in: tx)
      // One message may be told wrongly. Where most are others, the server was built anew and gives
      // its ids again.
      if ingested.others > 1, ingested.others > ingested.duplicates / 2, job.restores == 0,
        memory.restores.mayBelieve(record.id, nowMs: now.monotonicMs)
      {
        memory.effects.restores &+= 1
        let step = try planner.distrust(&job, of: &record)
        // So is what this page brought, which older copies may hide.
        record.restoredLSN = tx.lsn &+ 1
        try tx.save(record)
        return (step, nil)
      }
      ingested.record(page.items, frame: ingest.frame)
      merge.scheme.knowsOrder = order(&ingested, of: merge.listing, frame: ingest.frame)
      let shown = memory.server.plausibleTime(ingested, stated: nil, at: now)
      if !memory.server.isBorneOut(page.serverTime, shown: shown) {
        merge.page.serverTime = nil
      }
      memory.server.learn(merge.page, from: ingested, at: now)
      merge.ingested = ingested
      let outcome = try merge.merge()
      try merge.ranges.flush(record.cid, in: tx)
      let step = try planner.next(after: outcome, of: &merge.job, &merge.record)
      try tx.save(memory.server.facts)
      job = merge.job
      if job.isLive, !wasLive {
        try tx.unreadTable.outliveCount(from: memory.live.beganLSN, in: record.cid)
      }
      job.budget.take(ingested, total: page.totalCount)
      try tx.save(merge.record)
      try noteNews(of: merge.record, in: tx)
      return (step, PageEffects(merge))
    }
    if let effects { runEffects(effects, in: &job, wasLive: wasLive) }
    return step
  }

  /// What comes after the first fetch is new, as far as that has shown what there was.
  private func noteNews(
    of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    guard !can(.envelope), try tx.news(record.cid) == nil else { return }
    let shown = try tx.spans(record.cid).newest?.low
    if let bound = record.fetch.flatMap({ scheme.bound($0)?.position }) {
      try tx.save(news: max(bound, shown ?? bound), in: record.cid)
    } else if shown == .min {
      // There was none.
      try tx.save(news: .min, in: record.cid)
    }
  }

  // MARK: Logs

  /// Has a log say in one transaction what a job does next.
  func readLog<Next>(
    _ job: inout SyncJob, _ body: (inout LogSync, inout SyncJob) throws(StoreFailure) -> Next
  ) throws(StoreFailure) -> Next {
    let wasLive = job.isLive
    let (next, effects) = try commit { tx throws(StoreFailure) -> (Next, LogEffects) in
      let record = try tx.conversation(creating: job.request.conversation)
      var sync = try LogSync(memory, ingestRules, of: record, in: tx)
      let next = try body(&sync, &job)
      if job.isLive, !wasLive {
        try tx.unreadTable.outliveCount(from: memory.live.beganLSN, in: record.cid)
      }
      return (next, sync.input.effects)
    }
    note(effects)
    report.aside.add(effects.aside)
    report.stats.quarantined &+= UInt64(clamping: effects.quarantined)
    report.stats.duplicates &+= UInt64(clamping: effects.duplicates)
    if effects.sawClientID { outbox.noteClientIDs() }
    if effects.queuedMarks { receipts.queue(max(1, effects.inserted)) }
    if job.isLive, !wasLive { memory.live.markLive(job.request.conversation) }
    if effects.needsCatchUp { scheduler.markPending(job.request.conversation) }
    return next
  }

  /// Takes a page of a log.
  func takeEntries(
    _ job: inout SyncJob, page: EntryPage, on stage: LogStage, from ingest: Ingest,
    at now: Instant
  ) throws(StoreFailure) -> Step {
    try readLog(&job) { sync, job throws(StoreFailure) in
      if let time = page.serverTime, memory.server.isBorneOut(time) {
        memory.server.learnTime(time.time, at: now)
        try sync.tx.save(memory.server.facts)
      }
      return try sync.take(page, on: stage, of: &job, from: ingest)
    }
  }

  /// A refusal that only says where the log goes on; nil for any other.
  func takeRefusal(
    _ job: inout SyncJob, _ error: ServerError, on stage: LogStage
  ) throws(StoreFailure) -> Step? {
    try readLog(&job) { sync, job throws(StoreFailure) in
      try sync.refused(error, on: stage, of: &job)
    }
  }

  /// Brings memory to where a page brought the file.
  private func runEffects(_ effects: PageEffects, in job: inout SyncJob, wasLive: Bool) {
    let (cid, ingested) = (effects.conversation.cid, effects.ingested)
    report.aside.add(effects.answer.aside)
    report.stats.quarantined += UInt64(ingested.bad.count)
    report.stats.duplicates += UInt64(ingested.duplicates)
    if ingested.sawClientID { outbox.noteClientIDs() }
    if ingested.queuedMarks { receipts.queue(max(1, ingested.insertedAt.count)) }
    pass(ingested, of: effects.conversation, shownTo: &job, at: store.lsn)
    for (from, to) in effects.answer.moved where memory.fresh[cid].holds(from) {
      memory.fresh.insert(SpanSet.Span(low: to, high: to.successor), cid)
    }
    memory.fresh.insert(effects.shown, cid)
    if !effects.answer.settled.isEmpty {
      memory.settled[cid] = memory.settled[cid, default: SpanSet()].union(effects.answer.settled)
    }
    if job.isLive, !wasLive {
      memory.linked.remove(below: effects.links.bound, isTop: effects.links.isTop, cid)
      memory.live.markLive(job.request.conversation)
      scheduler.pass(job)
    }
    if effects.answer.isBehind { scheduler.markPending(job.request.conversation) }
    for other in effects.answer.taught where memory.live.isLive(other) { catchUp(other) }
  }

  /// A page has shown what came another way. To the other runs of the conversation that are under
  /// way it has not, and what this page brought came another way.
  private func pass(
    _ ingested: Ingested, of conversation: (id: [UInt8], cid: Int64), shownTo job: inout SyncJob,
    at lsn: UInt64
  ) {
    let number = job.id
    let isShared = scheduler.jobs.contains {
      $0.id != number && $0.request.conversation == conversation.id
        && $0.run.issued != nil
    }
    if isShared {
      for position in ingested.insertedAt {
        memory.pushed.insert(
          PushedRow(
            id: PushedID(cid: conversation.cid, id: position.id), position: position, lsn: lsn))
      }
    }
    // A set that is empty hashes what it is asked for, too.
    if memory.pushed.isEmpty { return }
    for id in ingested.ids.all {
      let id = PushedID(cid: conversation.cid, id: id)
      if !isShared {
        memory.pushed.remove(id)
      } else if memory.pushed.contains(id) {
        job.run.shownPushes.insert(id)
      }
    }
  }

  /// Puts a page in order, oldest first; false where the server's order is not known yet.
  private func order(
    _ ingested: inout Ingested, of listing: TieLearner.Listing, frame: [UInt8]
  ) -> Bool {
    memory.ties.learn(ingested.items.lazy.compactMap { $0?.time }, of: listing)
    let descends = memory.ties.descends(listing)
    ingested.noteUnread(frame, descends: descends)
    if descends == true { ingested.items.reverse() }
    return descends != nil
  }

  /// Whether the server says that it is no longer the one it was.
  private func newEpoch(_ page: Page, in tx: WriteTransaction) throws(StoreFailure) -> Bool {
    guard let isChange = memory.server.enter(epoch: page.epoch, at: tx.lsn) else { return false }
    if isChange {
      memory.effects.restores &+= 1
      memory.ties = TieLearner()
    }
    try tx.save(memory.server.facts)
    return isChange
  }

  // MARK: Deletions, changes, the conversation itself
  /// Takes the answer: tombstones and watermark in one transaction.
  func takeDeletions(
    _ job: inout SyncJob, page: DeletedPage, on walk: DeletionWalk
  ) throws(StoreFailure) -> Step {
    var leftWalk: (walk: LeftCursor.Walk, at: LeftCursor)?
    var page = page
    if !memory.server.isBorneOut(page.serverTime) { page.serverTime = nil }
    let step = try commit { tx throws(StoreFailure) in
      let planner = planner(tx)
      var record = try tx.conversation(creating: job.request.conversation)
      var isIdle = true
      for id in page.ids where isIdle { isIdle = try tx.isTombstoned(id, in: record.cid) }
      for id in page.ids where try tx.tombstone(id, in: record.cid, version: nil) != nil {
        job.status.removed += 1
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
        job.stage = .deletions(walk)
        return Step.next
      }
      if let form = try planner.deletionForm(record) {
        planner.moveDeletions(&record, page: page, form: form, known: walk.known)
      }
      let step = try planner.afterDeletions(&job, of: &record)
      try tx.save(record)
      return step
    }
    if let (walk, left) = leftWalk { memory.left.leave(walk, at: left) }
    return step
  }

  /// Takes the answer: the changed messages that are stored, or that belong into a
  /// range that is claimed.
  func takeChanges(
    _ job: inout SyncJob, page: ChangedPage, from ingest: Ingest, on walk: ChangeWalk
  ) throws(StoreFailure) -> Step {
    var page = page
    if !memory.server.isBorneOut(page.serverTime) { page.serverTime = nil }
    let (step, effects) = try commit { tx throws(StoreFailure) -> (Step, ChangeEffects) in
      let planner = planner(tx)
      var record = try tx.conversation(creating: job.request.conversation)
      var effects = ChangeEffects(conversation: record.id, cid: record.cid)
      let stored = try tx.spans(record.cid)
      var spans = stored
      let ingested = try ingest.known(page.items, of: record, spans: spans, in: tx)
      if let top = ingested.insertedAt.map({ ServerTime(us: $0.time) }).max(),
        let fetch = self.scheme.lateTop(record), top > fetch.time
      {
        // Where a claim reaches above the watermark, others may have arrived with these.
        effects.isBehind = true
        try memory.server.endTrust(&spans, of: record, below: top, in: tx)
        try tx.save(spans: spans, replacing: stored, in: record.cid)
      }
      let claims = spans.without(try tx.stale(record.cid))
      job.status.received += page.items.count
      job.status.inserted += ingested.insertedAt.count
      effects.queuedMarks = ingested.queuedMarks
      if page.hasMore {
        var walk = walk
        let goesOn = walk.cursors.goOn(
          to: page.nextSince, isIdle: page.items.isEmpty, isEmpty: page.items.isEmpty,
          pagesMax: self.config.profile.pagesMax)
        guard goesOn else {
          effects.left = planner.left(
            walk.cursors, at: &record.marks, memory.server.stamp(record.fetch?.text))
          try tx.save(record)
          return (.ended(.incomplete), effects)
        }
        job.stage = .changes(walk)
        return (.next, effects)
      }
      effects.fresh = claims
      job.caughtUp.noteChanges()
      planner.moveMarks(&record, page: page, known: walk.known)
      let step = try planner.finish(&job, of: &record)
      try tx.save(record)
      return (step, effects)
    }
    runEffects(effects, of: job)
    return step
  }

  /// Brings memory to where changed messages brought the file.
  private func runEffects(_ effects: ChangeEffects, of job: SyncJob) {
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
    try commit { tx throws(StoreFailure) in try planner(tx).loseMarks(&job) }
  }

  func loseDeletionCursor(_ job: inout SyncJob) throws(StoreFailure) -> Step? {
    try commit { tx throws(StoreFailure) in try planner(tx).loseDeletionCursor(&job) }
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
    var effects = UpdateApplier.Effects()
    var isNamed = false
    let stage = try commit { tx throws(StoreFailure) -> SyncStage? in
      let record = try tx.conversation(creating: job.request.conversation)
      guard record.id == known.id else { return nil }
      var applier = applier(tx, answer: .getConversation, from: ingest, at: now)
      try applier.applyConversation(known)
      effects = applier.effects
      if job.request.kind == .count { return nil }
      isNamed = try tx.unreadReader.namedMarker(record.cid) != nil
      return try scheme.history.planAtMarker(&job, of: record, planner(tx))
    }
    runEffects(effects)
    if known.unreadCount == nil { try noCount(of: known.id, isNever: windows.asksList) }
    return try scheme.history.goToMarker(&job, stage, isNamed: isNamed, self)
  }

  /// Whether an answer says two things that cannot both be so: it is empty, and there is more. It
  /// claims nothing and takes nothing away.
  func contradictsItself(_ page: Page, to job: SyncJob) -> Bool {
    guard page.items.isEmpty, !config.profile.isPlanted(.contradictionsCount) else { return false }
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
