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

extension Core {
  /// Decides the first request of a job.
  func begin(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    let conversation = job.request.conversation
    if job.caughtUp || job.request.kind == .older && caughtUp.contains(conversation) {
      return try commit { tx throws(StoreFailure) in
        try self.beginOlder(&job, try tx.conversation(creating: conversation), tx)
      }
    }
    let record = try store.read { rx throws(StoreFailure) in try rx.conversation(conversation) }
    if var record, mustDistrust(record) {
      try commit { tx throws(StoreFailure) in try self.distrust(&record, tx) }
      job.stage = .newest
      return .next
    }
    guard let record, let fetch = stamp(record.fetch) else {
      job.stage = .newest
      return .next
    }
    let bound = Trust.bound(
      fetch, overlapUs: overlapUs, resolutionUs: config.profile.timeResolutionUs)
    job.bound = bound.position
    // Where page sizes vary, an answer that starts at the bound proves little.
    let provesLittle = config.profile.pageSizeVaries && config.profile.truncates != .newest
    job.stage = provesLittle ? .newest : .tail(bound)
    return .next
  }

  func stamp(_ watermark: Watermark?) -> Stamp? {
    watermark.flatMap { Stamp($0.text, zoneOffsetMinutes: config.profile.zoneOffsetMinutes) }
  }

  /// Begins the walk below the newest known range.
  func beginOlder(
    _ job: inout SyncJob, _ record: ConversationRecord, _ tx: WriteTransaction
  ) throws(StoreFailure) -> Step {
    job.caughtUp = true
    let passable = try passable(record, tx)
    guard let newest = passable.newest, !newest.reachesStart else { return .ended(nil) }
    // One page, whatever it brings: it shares a few messages with what is known.
    if job.wanted == 0 { job.wanted = 1 }
    let above = try tx.count(record.cid, from: newest.low, to: .max)
    job.stage = .older(
      Walk(low: newest.low, above: above, tiesByID: config.profile.ties == .id))
    return .next
  }

  /// The spans, with the places of unreadable items counted as seen.
  func passable(
    _ record: ConversationRecord, _ tx: WriteTransaction
  ) throws(StoreFailure) -> SpanSet {
    var set = try tx.spans(record.cid)
    for hole in try tx.quarantined(record.cid) { set.insert(hole.low, hole.high) }
    return set
  }

  /// Takes a page of messages: rows, claims and watermark in one transaction.
  func takePage(
    _ job: inout SyncJob, _ page: Page, _ ingest: Ingest, _ now: Instant
  ) throws(StoreFailure) -> Step {
    var draft = job
    draft.issued = ingest.issued
    draft.asked = ingest.asked
    var badItems = 0
    var ingestedDuplicates = 0
    let step = try commit { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: draft.request.conversation)
      if try newEpoch(page, tx) {
        // The page is the new server's: begin again with nothing believed.
        guard draft.restores < 2 else { return Step.ended(.incomplete) }
        return try distrust(&draft, &record, tx)
      }
      var visit = try Visit(core: self, record: record, job: draft, tx: tx)
      let ingested = try ingest.page(page.items, record, tx)
      badItems = ingested.bad.count
      ingestedDuplicates = ingested.duplicates
      learn(page, ingested, now)
      let step = try visit.take(page, ingested, frame: ingest.frame, now)
      try tx.save(facts)
      for id in ingested.ids { onlyPushed.remove(PushedID(cid: record.cid, id: id)) }
      draft = visit.job
      record = visit.record
      try tx.save(record)
      return step
    }
    stats.quarantined += UInt64(badItems)
    stats.duplicates += UInt64(ingestedDuplicates)
    job = draft
    if job.caughtUp { caughtUp.insert(job.request.conversation) }
    return step
  }

  /// Whether the server says that it is no longer the one it was.
  private func newEpoch(_ page: Page, _ tx: WriteTransaction) throws(StoreFailure) -> Bool {
    guard let epoch = page.epoch, epoch != facts.epoch else { return false }
    let isChange = facts.epoch != nil
    facts.epoch = epoch
    if isChange {
      facts.restoredLSN = tx.lsn
      stats.restores += 1
    }
    try tx.save(facts)
    return isChange
  }

  /// What a page tells about the server as a whole.
  private func learn(_ page: Page, _ ingested: Ingested, _ now: Instant) {
    facts.largestPage = max(facts.largestPage, page.items.count)
    // The server's own word on its clock also mends what a lone stamp had set.
    if let serverTime = page.serverTime?.timeUs { facts.serverTimeUs = serverTime }
    if let top = plausibleTop(page, ingested, now) {
      facts.serverTimeUs = max(facts.serverTimeUs ?? .min, top.time)
    }
    if ingested.queuedMarks { marksWaiting = true }
  }

  /// A message that appeared below a watermark shows how late this server commits.
  func noteLateness(_ latenessUs: Int64) {
    if latenessUs > 0 { facts.overlapUs = Trust.widened(overlapUs, latenessUs: latenessUs) }
  }

  /// The newest row whose stamp the other server times bear out.
  func plausibleTop(_ page: Page, _ ingested: Ingested, _ now: Instant) -> Position? {
    let times = ingested.stamps.map(\.stamp.timeUs).sorted()
    guard
      let greatest = Trust.greatestPlausible(
        times, known: facts.serverTimeUs, serverTime: page.serverTime?.timeUs,
        wallUs: now.wallUs)
    else { return nil }
    return ingested.stamps.map(\.position).filter { $0.time <= greatest }.max()
  }
}
