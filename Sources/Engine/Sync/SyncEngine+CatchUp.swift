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
  /// Decides the first request of a job.
  func begin(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    if job.request.kind == .conversations {
      job.stage = .listing(leftListing ?? Listing())
      leftListing = nil
      return .next
    }
    let conversation = job.request.conversation
    if job.request.kind == .live, config.profile.pushIsLossless,
      caughtUp.contains(conversation), !scheduler.owed.contains(conversation)
    {
      // Whatever happens there is pushed, and nothing pushed is lost.
      return .ended(nil)
    }
    let record = try store.read { rx throws(StoreFailure) in try rx.conversation(conversation) }
    if needsNoCatchUp(job, of: record) {
      return try commit { tx throws(StoreFailure) in
        try self.planGapFill(&job, of: try tx.conversation(creating: conversation), in: tx)
      }
    }
    if var record, mustDistrust(record) {
      try commit { tx throws(StoreFailure) in try self.distrust(&record, in: tx) }
      job.stage = .newest
      return .next
    }
    guard let record, let fetch = record.fetch, let bound = scheme.bound(fetch) else {
      job.stage = .newest
      return .next
    }
    job.bound = bound.position
    if let lowest = job.recheckFrom, lowest < bound.position {
      job.bound = .before(timestampGroup: lowest.time)
      job.stage = .newest
      return .next
    }
    // Where page sizes vary, an answer that starts at the bound proves little.
    let provesLittle = config.profile.pageSizeVaries && config.profile.truncates != .newest
    // A watermark that no stamp bore out asks for everything, from the newest page on.
    let asksForAll = fetch.timeUs == 0 && !scheme.isSequence
    job.stage = provesLittle || asksForAll ? .newest : .tail(bound)
    return .next
  }

  /// Whether a job may go for its goal at once. Where a watermark is missing nothing
  /// can be claimed, so a page of the present comes first.
  private func needsNoCatchUp(_ job: SyncJob, of record: ConversationRecord?) -> Bool {
    if job.caughtUp { return true }
    switch job.request.kind {
    case .latest, .live, .conversations, .all:
      return false
    case .older:
      // A count that differs is looked at again.
      return caughtUp.contains(job.request.conversation) && record?.auditedTotal == nil
    case .below, .above, .at, .marker, .near, .time, .refresh:
      return record.map { $0.fetch != nil && !mustDistrust($0) } ?? false
    }
  }

  func stamp(_ watermark: Watermark?) -> Stamp? { scheme.stamp(watermark) }

  var scheme: PositionScheme { PositionScheme(config.profile, overlapUs: overlapUs) }

  func can(_ capability: Profile.Capabilities) -> Bool {
    config.profile.capabilities.contains(capability)
  }

  /// The spans, with the places of unreadable items counted as seen.
  func passable(
    _ record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> SpanSet {
    var set = try tx.spans(record.cid)
    for hole in try tx.quarantined(record.cid, seen: true) { set.insert(hole.low, hole.high) }
    return set
  }

  /// Takes a page of messages: rows, claims and watermark in one transaction.
  func takePage(
    _ job: inout SyncJob, page: Page, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) -> Step {
    var draft = job
    draft.issued = ingest.issued
    draft.asked = ingest.asked
    var badItems = 0
    var ingestedDuplicates = 0
    var shown: (cid: Int64, ranges: SpanSet)?
    var passed: (ingested: Ingested, record: ConversationRecord)?
    var moved: [(from: Position, to: Position)] = []
    var left = (bound: Position.min, isTop: false)
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      if try newEpoch(page, in: tx) {
        // The page is the new server's: begin again with nothing believed.
        guard draft.restores < 2 else { return Step.ended(.incomplete) }
        return try distrust(&draft, of: &record, in: tx)
      }
      var merge = try PageMerge(engine: self, record: record, job: draft, tx: tx)
      var ingested = try ingest.of(draft, record, self).page(page.items, of: record, in: tx)
      ingested.record(page.items, frame: ingest.frame)
      merge.scheme.knowsOrder = order(&ingested, of: merge.listing, frame: ingest.frame)
      badItems = ingested.bad.count
      if ingested.sawClientID { outbox.tellsClientIDs = true }
      ingestedDuplicates = ingested.duplicates
      var page = page
      let shownUs = plausibleTime(ingested, told: nil, at: now)
      if !isBorneOut(page.serverTime, shownUs: shownUs) { page.serverTime = nil }
      learn(page, from: ingested, at: now)
      let step = try merge.merge(page, from: ingested, frame: ingest.frame, at: now)
      shown = (record.cid, merge.job.shown)
      moved = merge.moved
      try tx.save(facts)
      draft = merge.job
      if draft.isLive, !job.isLive, !windows.asksList {
        try tx.outliveCount(from: beganLSN, in: record.cid)
      }
      passed = (ingested, record)
      let first = ingested.items.first { $0 != nil } ?? nil
      let last = ingested.items.last { $0 != nil } ?? nil
      let isFirst = draft.budget.isFirst(from: first?.id, to: last?.id)
      draft.budget.take(
        count: ingested.distinct, total: page.totalCount,
        isNew: isFirst || !ingested.insertedAt.isEmpty)
      record = merge.record
      try tx.save(record)
      left = merge.linksLeft
      return step
    }
    report.stats.quarantined += UInt64(badItems)
    report.stats.duplicates += UInt64(ingestedDuplicates)
    if let passed { pass(passed.ingested, of: passed.record, shownTo: &draft, at: store.lsn) }
    if let shown {
      for (from, to) in moved where fresh[shown.cid].holds(from) {
        fresh.insert(SpanSet.Span(low: to, high: to.successor), shown.cid)
      }
      fresh.insert(shown.ranges, shown.cid)
    }
    if draft.isLive, !job.isLive {
      if let shown { linked.forget(below: left.bound, isTop: left.isTop, shown.cid) }
      becameLive(draft)
    }
    if draft.isBehind {
      scheduler.owe(draft.request.conversation)
      draft.isBehind = false
    }
    job = draft
    return step
  }

  /// A page has shown what came another way. To the other runs of the conversation that are under
  /// way it has not, and what this page brought came another way.
  private func pass(
    _ ingested: Ingested, of record: ConversationRecord, shownTo job: inout SyncJob,
    at lsn: UInt64
  ) {
    let number = job.id
    let isShared = scheduler.jobs.contains {
      $0.id != number && $0.request.conversation == record.id && $0.runIssued != nil
    }
    if isShared {
      for position in ingested.insertedAt {
        pushed.insert(
          PushedRow(
            id: PushedID(cid: record.cid, id: position.id), position: position, lsn: lsn))
      }
    }
    // A set that is empty hashes what it is asked for, too.
    if pushed.isEmpty { return }
    for id in ingested.ids.all {
      let id = PushedID(cid: record.cid, id: id)
      if !isShared {
        pushed.remove(id)
      } else if pushed.contains(id) {
        job.shownPushes.insert(id)
      }
    }
  }

  /// Puts a page in order, oldest first; false where the server's order is not known yet.
  private func order(
    _ ingested: inout Ingested, of listing: TieLearner.Listing, frame: [UInt8]
  ) -> Bool {
    ties.learn(ingested.items.lazy.compactMap { $0?.time }, of: listing)
    let descends = ties.descends(listing)
    ingested.noteUnread(frame, descends: descends)
    if descends == true { ingested.items.reverse() }
    return descends != nil
  }

  /// A catch-up ended well. Where it stopped at the newest page, what the longer ones
  /// were to bring is a gap below the watermark now, and becomes their goal.
  ///
  /// Others of the conversation that are under way begin again at the watermark: what was still
  /// to come within the overlap below it, they would take for known.
  private func becameLive(_ job: SyncJob) {
    let conversation = job.request.conversation
    caughtUp.insert(conversation)
    doubted.remove(conversation)
    scheduler.pass(job)
  }

  /// Whether the server says that it is no longer the one it was.
  private func newEpoch(_ page: Page, in tx: WriteTransaction) throws(StoreFailure) -> Bool {
    guard let epoch = page.epoch, epoch != facts.epoch else { return false }
    let isChange = facts.epoch != nil
    facts.epoch = epoch
    if isChange {
      facts.restoredLSN = tx.lsn
      noteRestore()
      ties = TieLearner()
    }
    try tx.save(facts)
    return isChange
  }

  /// What a page tells about the server as a whole.
  private func learn(_ page: Page, from ingested: Ingested, at now: Instant) {
    facts.largestPage = max(facts.largestPage, ingested.distinct)
    if let stamp = ingested.stamps.last?.stamp { form = stamp }
    // The server's own word on its clock also mends what a lone stamp had set.
    if let serverTime = page.serverTime?.timeUs {
      facts.serverTimeUs = serverTime
      noteClock(serverTime, isTold: true, at: now)
    }
    if let time = plausibleTime(ingested, told: page.serverTime, at: now) {
      facts.serverTimeUs = max(facts.serverTimeUs ?? .min, time)
      noteClock(time, isTold: false, at: now)
    }
    if ingested.queuedMarks { receipts.queue(max(1, ingested.insertedAt.count)) }
  }

  /// Whether what an answer tells of the server's clock is taken for it.
  func isBorneOut(_ serverTime: Stamp?, shownUs: Int64? = nil) -> Bool {
    guard let serverTime else { return true }
    return toldClock.isBorneOut(
      serverTime.timeUs, known: serverTimeAtLeast(), shownUs: shownUs,
      connection: restores.connection, nowMs: clock.monotonicMs)
  }

  /// The server's clock is past `time`, or shows it where the server says so.
  func noteClock(_ time: Int64, isTold: Bool, at now: Instant) {
    guard config.profile.deletionHorizonUs > 0 else { return }
    func ahead(of clockUs: Int64, before: Int64?) -> Int64 {
      let seen = time &- clockUs
      return isTold ? seen : max(seen, before ?? seen)
    }
    if let wall = now.wallUs { facts.clockAheadUs = ahead(of: wall, before: facts.clockAheadUs) }
    aheadOfStartUs = ahead(of: now.monotonicMs &* 1_000, before: aheadOfStartUs)
  }

  /// What the server's clock shows at least. Where nothing new is told only the device's
  /// clocks say how long ago the last was; they lower trust and move no watermark.
  func serverTimeAtLeast() -> Int64? {
    guard let known = facts.serverTimeUs else { return nil }
    let byWall = clock.wallUs.flatMap { wall in facts.clockAheadUs.map { wall &+ $0 } }
    let byStart = aheadOfStartUs.map { clock.monotonicMs &* 1_000 &+ $0 }
    return max(known, byWall ?? known, byStart ?? known)
  }

  /// A message that appeared below a watermark shows how late this server commits.
  func noteLateness(_ latenessUs: Int64) {
    if latenessUs > 0 {
      facts.overlapUs = WatermarkPolicy.widened(overlapUs, latenessUs: latenessUs)
    }
  }

  /// The greatest stamp that the other server times bear out.
  private func plausibleTime(
    _ ingested: Ingested, told serverTime: Stamp?, at now: Instant
  ) -> Int64? {
    WatermarkPolicy.greatestPlausible(
      ingested.stamps.map(\.stamp.timeUs).sorted(), known: facts.serverTimeUs,
      serverTime: serverTime?.timeUs, wallUs: now.wallUs)
  }

  /// The newest row whose stamp the other server times bear out, or another page has.
  func plausibleTop(
    _ page: Page, from ingested: Ingested, at now: Instant, borneOutUs: Int64?
  ) -> (position: Position, stamp: Stamp)? {
    let told = page.serverTime
    let times = [plausibleTime(ingested, told: told, at: now), borneOutUs].compactMap { $0 }
    guard let greatest = times.max() else { return nil }
    return ingested.stamps.filter { $0.stamp.timeUs <= greatest }
      .max { $0.position < $1.position }
  }
}

extension Ingest {
  /// The same, told what the job knows of its page.
  fileprivate func of(
    _ job: SyncJob, _ record: ConversationRecord, _ engine: SyncEngine
  ) -> Ingest {
    var ingest = self
    ingest.placesBehind = learnsTies && engine.ties.isUnstable
    // Where updates are replied to, each message has one, which may be silent.
    if engine.can(.envelope) { return ingest }
    let known = record.fetch.flatMap { engine.scheme.bound($0)?.position }
    ingest.offer = job.newFrom.map { .above($0) } ?? .historyBelow(known ?? .max)
    return ingest
  }
}
