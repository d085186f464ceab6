/// One page of messages on its way into a conversation's claims.
///
/// Lives for one transaction and has the page at hand. It decides whether the page is whole and
/// hands it to its stage: catching up (`PageMerge+CatchUp`), or going elsewhere
/// (`PageMerge+GapFill`). What a page proves is written down in `PageMerge+Claims`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct PageMerge {
  let memory: SyncMemory
  let tx: WriteTransaction
  /// Whether whatever is committed in the conversation comes by push.
  let receivesAll: Bool
  var scheme: PositionScheme
  var record: ConversationRecord
  var job: SyncJob
  /// What is claimed of the conversation, as this page changes it.
  var ranges: ClaimedRanges
  var answer: PageAnswer
  var page: Page
  let frame: [UInt8]
  let now: Instant
  /// Its items, once they are rows.
  var ingested = Ingested()
  /// Nothing lies beyond it at the end where the server cuts.
  private(set) var isWhole = false
  /// The server's time as it was known before this page.
  private let known: ServerTime?

  init(
    _ page: Page, of frame: [UInt8], answer: PageAnswer, to job: SyncJob, at now: Instant,
    _ memory: SyncMemory, receivesAll: Bool, record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    (self.page, self.frame, self.answer, self.job, self.now) = (page, frame, answer, job, now)
    (self.memory, self.receivesAll, self.record, self.tx) = (memory, receivesAll, record, tx)
    scheme = memory.server.scheme
    known = memory.server.time
    ranges = try ClaimedRanges(of: record, in: tx)
    try recallDoubts()
    if case .catchUp(let catchUp) = job.stage, catchUp.isFresh == nil {
      self.job.catchUp.isFresh = try tx.oldest(record.cid) == nil
      self.job.catchUp.freshLSN = tx.lsn
    }
  }

  /// Where deletions are never forgotten, what is unverified is what one answer has lacked: also
  /// one that an earlier process heard. What was there before a restore goes without it.
  private func recallDoubts() throws(StoreFailure) {
    guard !ranges.unverified.isEmpty, memory.server.profile.deletionHorizonUs == 0,
      memory.restores.mustRecall(record.id)
    else { return }
    var missing: [Position] = []
    for span in ranges.unverified.spans where missing.count < Limits.pageItemsMax {
      let rows = try tx.rows(
        record.cid, from: span.low, to: span.high, limit: Limits.readRowsMax, newestFirst: false)
      missing.append(contentsOf: rows.filter { $0.lsn >= record.restoredLSN }.map(\.position))
    }
    if let check = memory.restores.recall(missing, in: record.id) {
      memory.effects.checks.append(check)
    }
  }

  /// Who calls it writes `ranges`, which the next step is planned by.
  mutating func merge() throws(StoreFailure) -> PageOutcome {
    let before = ranges.stored
    try notePage()
    let (listing, run, climbs) = (listing, job.run.openGroup, job.stage.climbs)
    let outcome: PageOutcome
    switch job.stage {
    case .catchUp(let catchUp):
      switch catchUp.way {
      case .tail(let bound): outcome = try takeTail(bound)
      case .newest: outcome = try takeNewest()
      case .backward where mustLookAgain: outcome = try lookAgain()
      case .backward(let walk):
        noteLaterTop()
        outcome = try takeBackward(walk)
      }
    case .gap(let gap):
      switch gap.way {
      case .older(let walk): outcome = try takeBackward(walk)
      case .forward(let forward): outcome = try takeForward(forward)
      case .search(let search): outcome = try takeSearch(search)
      case .spot(let spot): outcome = try takeSpot(spot)
      }
    case .start, .deletions, .changes, .listing, .asking, .log:
      outcome = .extended(job.stage)
    }
    try doubtInsertions(into: before)
    try learnTies(of: listing, run: run, climbs: climbs)
    return outcome
  }

  /// What the page says whatever was asked.
  private mutating func notePage() throws(StoreFailure) {
    job.turn.pages += 1
    answer.ids = ingested.ids
    job.status.received += ingested.items.count
    job.status.inserted += ingested.insertedAt.count
    noteBuried()
    memory.server.noteLateness(lateness())
    if let total = page.totalCount {
      try noteGrowth(total)
      record.totalCount = total
    }
    job.evidence.total = page.totalCount ?? job.evidence.total
    isWhole = Joining.isWhole(
      items: page.items.count, asked: answer.asked,
      largestPage: memory.server.facts.largestPage,
      sizesVary: memory.server.profile.pageSizeVaries, hasMore: page.hasMore,
      counted: job.stage.selects || memory.server.profile.countsHidden
        ? nil : page.totalCount.map { $0 &- Int64(job.turn.offset) },
      areReadable: ingested.bad.isEmpty)
    if page.hasMore == false, !job.stage.selects, !memory.server.profile.countsHidden,
      let total = page.totalCount, total > page.items.count + job.turn.offset
    {
      job.evidence.isContradicted = true
    }
    if isWhole, page.hasMore == nil, !page.items.isEmpty { job.evidence.trustedSize = true }
    if !job.stage.selects {
      memory.offsets.remember(ingested.rows, at: job.turn.offset, in: record.cid)
    }
    if job.stage.isReaching { try endTrustAboveWatermark() }
    if scheme.learnsTies, !ingested.bad.isEmpty { try noteRanks() }
  }

  /// What was deleted is shown by a server that was restored, or by one whose pages go on showing
  /// it: then all that a page shows is to be asked about.
  private mutating func noteBuried() {
    guard memory.server.profile.deletionsAreLater else {
      job.evidence.sawBuried = job.evidence.sawBuried || ingested.sawBuried
      return
    }
    guard let oldest = ingested.stamps.map(\.stamp.time).min() else { return }
    if memory.server.lowerDeletions(&record, showing: oldest) { job.evidence.needsDeletions = true }
  }

  /// What the server counts more than the last time came after the newest range, mostly: that
  /// is where the range stands now.
  private func noteGrowth(_ total: Int64) throws(StoreFailure) {
    guard !job.stage.isReaching, let known = record.totalCount, known < total,
      let high = ranges.stored.newest?.high,
      let row = try tx.rows(record.cid, from: .min, to: high, limit: 1, newestFirst: true).first
    else { return }
    // What a server says is kept far from where sums overflow.
    memory.offsets.remember(
      [row.position], at: Int(min(max(0, total &- known), 1 << 40)), in: record.cid)
  }

  /// How far below the watermark a message appeared in a range that was whole.
  private func lateness() -> Int64 {
    guard let fetch = record.fetch, let known = scheme.stamp(fetch.text)?.timeUs else { return 0 }
    var latest: Int64 = 0
    for position in ingested.insertedAt {
      guard scheme.isLate(position, below: fetch, in: ranges.stored),
        let time = ingested.time(at: position)
      else { continue }
      latest = max(latest, known.saturating(minus: time))
    }
    return latest
  }

  /// A page that is no catch-up may meet messages that arrived since: what lies
  /// between the watermark and them is not known.
  private mutating func endTrustAboveWatermark() throws(StoreFailure) {
    guard let fetch = scheme.lateTop(record),
      ingested.insertedAt.contains(where: { $0.time > fetch.time.us })
    else { return }
    let kept = settled
    try endTrust(at: .after(fetch.time))
    ranges.spans = ranges.spans.union(kept)
  }

  /// What pages of this connection have claimed, and was settled then: no message can have come
  /// to be stamped there since. Who doubts the server believes nothing of it.
  private var settled: SpanSet {
    guard job.suspicion.isNone, job.aim.recheckFrom == nil, let settled = memory.settled[record.cid]
    else { return SpanSet() }
    return settled.intersection(ranges.spans)
  }

  /// Nothing from `boundary` on is claimed any more, up to the end of the range that
  /// the watermark tops. Ranges above that were settled when they were claimed, and stay.
  mutating func endTrust(at boundary: Position) throws(StoreFailure) {
    try ranges.spans.endTrust(at: boundary, of: record, in: tx)
  }

  /// A catch-up that takes more than one answer reads all anew from its bound on, also what
  /// pages claimed above the watermark whose stamps nothing bore out. What pages of this connection
  /// have shown and was settled then stays claimed.
  mutating func endTrust(atBound bound: Position) throws(StoreFailure) {
    let kept = settled
    try endTrust(at: bound)
    var settled = bound
    if let fetch = record.fetch, !fetch.isUnproven, let known {
      settled = max(bound, scheme.settled(at: known))
    }
    ranges.spans.remove(settled, .max)
    ranges.spans = ranges.spans.without(memory.linked.above(bound, record.cid)).union(kept)
  }

  /// From where on links may be left, and whether no range stands above the newest one.
  var linksLeft: (bound: Position, isTop: Bool) {
    let bound = record.fetch.flatMap { scheme.bound($0)?.position } ?? .min
    let top = record.fetch?.boundary ?? .max
    return (bound, ranges.spans.newest.map { $0.low <= top } ?? true)
  }
}

extension SpanSet {
  mutating func endTrust(
    at boundary: Position, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) {
    let top = record.fetch?.boundary ?? .max
    if let span = spans.last(where: { $0.low <= top }) { remove(boundary, span.high) }
    try tx.quarantineTable.doubtQuarantine(record.cid, above: boundary)
  }
}
