/// One page of messages on its way into a conversation's claims.
///
/// Lives for one transaction. It decides whether the page is whole and hands it to
/// its stage: catching up (`PageMerge+CatchUp`), or going elsewhere (`PageMerge+GapFill`). What
/// a page proves is written down in `PageMerge+Claims`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct PageMerge {
  let engine: SyncEngine
  var scheme: PositionScheme
  var record: ConversationRecord
  var job: SyncJob
  let tx: WriteTransaction
  var spans: SpanSet
  var stored: SpanSet
  /// Where deletions were not known before this page, and where they are not now.
  let unverified: SpanSet
  var stillUnverified: SpanSet
  /// Of what changes may have been missed before this page, and of what now.
  let stale: SpanSet
  var stillStale: SpanSet
  /// What this page claims by itself.
  var claimed = SpanSet()
  /// The messages that this page shows.
  var shownIDs = IDSet()
  /// Both as they were written last: what others write after that stays.
  private var written: (unverified: SpanSet, stale: SpanSet)
  /// From where and up to where it shows all that there is.
  var shownLow = Position.max
  var shownHigh = Position.min
  /// Rows that it gave another place within their time.
  var moved: [(from: Position, to: Position)] = []
  /// The server's time as it was known before this page.
  private let knownUs: Int64?

  init(
    engine: SyncEngine, record: ConversationRecord, job: SyncJob, tx: WriteTransaction
  ) throws(StoreFailure) {
    self.engine = engine
    scheme = engine.scheme
    knownUs = engine.memory.server.timeUs
    self.record = record
    self.job = job
    self.tx = tx
    stored = try tx.spans(record.cid)
    spans = record.trusted(stored)
    unverified = try tx.unverified(record.cid)
    stillUnverified = unverified
    stale = try tx.stale(record.cid)
    stillStale = stale
    written = (unverified, stale)
    try recallDoubts()
    if job.isAtBeginning {
      self.job.isAtBeginning = false
      self.job.isFresh = try tx.oldest(record.cid) == nil
    }
  }

  /// Where deletions are never forgotten, what is unverified is what one answer has lacked: also
  /// one that an earlier process heard.
  private func recallDoubts() throws(StoreFailure) {
    guard !unverified.isEmpty, engine.config.profile.deletionHorizonUs == 0,
      engine.memory.restores.mustRecall(record.id)
    else { return }
    var missing: [Position] = []
    for span in unverified.spans where missing.count < Limits.pageItemsMax {
      let rows = try tx.rows(
        record.cid, from: span.low, to: span.high, limit: Limits.readRowsMax, newestFirst: false)
      missing.append(contentsOf: rows.map(\.position))
    }
    engine.memory.restores.recall(missing, in: record.id)
  }

  mutating func merge(
    _ page: Page, from ingested: Ingested, frame: [UInt8], at now: Instant
  ) throws(StoreFailure) -> Step {
    job.pages += 1
    shownIDs = ingested.ids
    let before = stored
    job.status.received += ingested.items.count
    job.status.inserted += ingested.insertedAt.count
    job.sawBuried = job.sawBuried || ingested.sawBuried
    engine.memory.server.noteLateness(lateness(ingested))
    if let total = page.totalCount {
      try noteGrowth(total)
      record.totalCount = total
    }
    job.total = page.totalCount ?? job.total
    let isWhole = Joining.isWhole(
      items: page.items.count, asked: job.asked,
      largestPage: engine.memory.server.facts.largestPage,
      sizesVary: engine.config.profile.pageSizeVaries, hasMore: page.hasMore,
      counted: job.selects || engine.config.profile.countsHidden
        ? nil : page.totalCount.map { $0 &- Int64(job.offset) })
    if page.hasMore == false, !job.selects, !engine.config.profile.countsHidden,
      let total = page.totalCount, total > page.items.count + job.offset
    {
      job.isContradicted = true
    }
    if isWhole, page.hasMore == nil, !page.items.isEmpty { job.trustedSize = true }
    if !job.selects {
      engine.memory.offsets.remember(
        ingested.items.compactMap { $0 }.sorted(), at: job.offset, in: record.cid)
    }
    if job.stage.isReaching { try endTrustAboveWatermark(ingested) }
    if scheme.learnsTies, !ingested.bad.isEmpty { try noteRanks(ingested) }
    let (listing, run, climbs) = (listing, job.openGroup, job.stage.climbs)
    let step: Step
    switch job.stage {
    case .tail(let bound):
      step = try takeTail(page, from: ingested, bound: bound, whole: isWhole, frame: frame, at: now)
    case .newest:
      step = try takeNewest(page, from: ingested, whole: isWhole, frame: frame, at: now)
    case .backward(let backward):
      if mustLookAgain(ingested) {
        step = try lookAgain(ingested, frame: frame)
      } else {
        noteLaterTop(ingested)
        step = try takeBackward(backward, page: page, from: ingested, whole: isWhole, frame: frame)
      }
    case .older(let backward):
      step = try takeBackward(backward, page: page, from: ingested, whole: isWhole, frame: frame)
    case .forward(let forward):
      step = try takeForward(forward, page: page, from: ingested, whole: isWhole, frame: frame)
    case .search(let search):
      step = try takeSearch(search, page: page, from: ingested, whole: isWhole, frame: frame)
    case .spot(let spot):
      step = try takeSpot(spot, page: page, from: ingested, whole: isWhole, frame: frame)
    case .start, .deletions, .changes, .listing, .asking:
      step = .next
    }
    try doubtInsertions(ingested, into: before)
    try learnTies(ingested, of: listing, run: run, climbs: climbs)
    try flush()
    return step
  }

  /// What the server counts more than the last time came after the newest range, mostly: that
  /// is where the range stands now.
  private func noteGrowth(_ total: Int64) throws(StoreFailure) {
    guard !job.stage.isReaching, let known = record.totalCount, known < total,
      let high = stored.newest?.high,
      let row = try tx.rows(record.cid, from: .min, to: high, limit: 1, newestFirst: true).first
    else { return }
    // What a server says is kept far from where sums overflow.
    engine.memory.offsets.remember(
      [row.position], at: Int(min(max(0, total &- known), 1 << 40)), in: record.cid)
  }

  /// How far below the watermark a message appeared in a range that was whole.
  private func lateness(_ ingested: Ingested) -> Int64 {
    guard let fetch = record.fetch, let known = scheme.stamp(fetch)?.timeUs else { return 0 }
    var latest: Int64 = 0
    for position in ingested.insertedAt {
      let isLate =
        scheme.isSequence
        ? position.time > fetch.timeUs
        : position.time <= fetch.timeUs && stored.span(holding: position) != nil
      guard isLate, let time = ingested.time(at: position) else { continue }
      latest = max(latest, known.saturating(minus: time))
    }
    return latest
  }

  /// A page that is no catch-up may meet messages that arrived since: what lies
  /// between the watermark and them is not known.
  private mutating func endTrustAboveWatermark(
    _ ingested: Ingested
  ) throws(StoreFailure) {
    guard !scheme.isSequence, let fetch = record.fetch,
      ingested.insertedAt.contains(where: { $0.time > fetch.timeUs })
    else { return }
    try endTrust(at: .after(timestampGroup: fetch.timeUs))
  }

  /// Nothing from `boundary` on is claimed any more, up to the end of the range that
  /// the watermark tops. Ranges above that were settled when they were claimed, and stay.
  mutating func endTrust(at boundary: Position) throws(StoreFailure) {
    spans.endTrust(at: boundary, watermark: record.fetch)
    try tx.doubtQuarantine(record.cid, above: boundary)
  }

  /// A catch-up that takes more than one answer reads all anew from its bound on, also what
  /// pages claimed above the watermark whose stamps nothing bore out.
  mutating func endTrust(atBound bound: Position) throws(StoreFailure) {
    try endTrust(at: bound)
    var settled = bound
    if let fetch = record.fetch, fetch.timeUs != 0, let knownUs {
      settled = max(bound, .before(timestampGroup: knownUs.saturating(minus: scheme.overlapUs)))
    }
    spans.remove(settled, .max)
    for link in engine.memory.linked.above(bound, record.cid).spans {
      spans.remove(link.low, link.high)
    }
  }

  /// From where on links may be left, and whether no range stands above the newest one.
  var linksLeft: (bound: Position, isTop: Bool) {
    let bound = record.fetch.flatMap { scheme.bound($0)?.position } ?? .min
    let top = record.fetch.map { Position.after(timestampGroup: $0.timeUs) } ?? .max
    return (bound, spans.newest.map { $0.low <= top } ?? true)
  }

  /// Writes the claims so that what follows in this transaction reads them.
  mutating func flush() throws(StoreFailure) {
    spans.keepNewest(Limits.spansMax)
    try tx.save(spans: spans, replacing: stored, in: record.cid)
    stored = spans
    if stillUnverified != written.unverified {
      try tx.save(
        unverified: stillUnverified, replacing: try tx.unverified(record.cid), in: record.cid)
    }
    if stillStale != written.stale {
      try tx.save(stale: stillStale, replacing: try tx.stale(record.cid), in: record.cid)
    }
    written = (stillUnverified, stillStale)
  }
}

extension SpanSet {
  mutating func endTrust(at boundary: Position, watermark: Watermark?) {
    let top = watermark.map { Position.after(timestampGroup: $0.timeUs) } ?? .max
    if let span = spans.last(where: { $0.low <= top }) { remove(boundary, span.high) }
  }
}
