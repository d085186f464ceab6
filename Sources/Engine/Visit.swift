/// One page of messages on its way into a conversation's claims.
///
/// Lives for one transaction. It decides whether the page is whole, what it proves,
/// what it joins, and whether the catch-up is over.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct Visit {
  let core: Core
  var record: ConversationRecord
  var job: SyncJob
  let tx: WriteTransaction
  private var spans: SpanSet
  private var stored: SpanSet

  init(
    core: Core, record: ConversationRecord, job: SyncJob, tx: WriteTransaction
  ) throws(StoreFailure) {
    self.core = core
    self.record = record
    self.job = job
    self.tx = tx
    stored = try tx.spans(record.cid)
    spans = record.trusted(stored)
    if job.pages == 0, try tx.oldest(record.cid) == nil { self.job.isFresh = true }
  }

  private var tiesByID: Bool { core.config.profile.ties == .id }

  mutating func take(
    _ page: Page, _ ingested: Ingested, frame: [UInt8], _ now: Instant
  ) throws(StoreFailure) -> Step {
    job.pages += 1
    job.status.received += ingested.items.count
    job.status.inserted += ingested.insertedAt.count
    job.sawBuried = job.sawBuried || ingested.sawBuried
    core.noteLateness(lateness(ingested))
    job.total = page.totalCount
    if let total = page.totalCount { record.totalCount = total }
    let whole = isWhole(page)
    let step: Step
    switch job.stage {
    case .tail(let bound):
      step = try takeTail(page, ingested, bound, whole, frame, now)
    case .newest:
      step = try takeNewest(page, ingested, whole, frame, now)
    case .walk(let walk), .older(let walk):
      endTrustAboveWatermark(ingested)
      if !isOlder { noteLaterTop(ingested) }
      step = try takeWalk(walk, page, ingested, whole, frame)
    case .start, .deletions:
      step = .next
    }
    try flush()
    return step
  }

  /// How far below the watermark a message appeared in a range that was whole.
  private func lateness(_ ingested: Ingested) -> Int64 {
    guard let fetch = record.fetch else { return 0 }
    return ingested.insertedAt.lazy
      .filter { $0.time <= fetch.timeUs && stored.span(holding: $0) != nil }
      .map { fetch.timeUs - $0.time }.max() ?? 0
  }

  /// A walk to older messages may meet ones that arrived since: what lies between
  /// the watermark and them is not known.
  private mutating func endTrustAboveWatermark(_ ingested: Ingested) {
    guard isOlder, let fetch = record.fetch,
      ingested.insertedAt.contains(where: { $0.time > fetch.timeUs })
    else { return }
    spans.remove(.after(tick: fetch.timeUs), .max)
  }

  /// Whether nothing lies beyond the page at the end where the server cuts.
  ///
  /// Short means fewer items than asked and fewer than this server has ever given,
  /// where page sizes are exact; the server's own word outranks it.
  private func isWhole(_ page: Page) -> Bool {
    if let hasMore = page.hasMore { return !hasMore }
    if core.config.profile.pageSizeVaries { return false }
    return page.items.count < job.asked && page.items.count < core.facts.largestPage
  }

  // MARK: The three kinds of page

  private mutating func takeTail(
    _ page: Page, _ ingested: Ingested, _ bound: Trust.Bound, _ whole: Bool, _ frame: [UInt8],
    _ now: Instant
  ) throws(StoreFailure) -> Step {
    noteTop(page, ingested, now)
    if whole || page.items.isEmpty {
      let claim = PageClaim(
        items: ingested.items, low: .open(bound.position), high: .open(present),
        tiesByID: tiesByID)
      try insert(claim, ingested, frame, low: bound.position, .toPresent)
      return try contentIsWhole()
    }
    // Until the catch-up is over, trust in the known range ends at the bound.
    spans.remove(bound.position, .max)
    guard core.config.profile.truncates == .newest else {
      // Which end was cut is not known, or it is the newer one: newest page first.
      let claim = PageClaim(items: ingested.items, low: .cut, high: .cut, tiesByID: tiesByID)
      try setAside(ingested, claim, frame)
      job.stage = .newest
      return .next
    }
    return try beginRun(page, ingested, frame)
  }

  private mutating func takeNewest(
    _ page: Page, _ ingested: Ingested, _ whole: Bool, _ frame: [UInt8], _ now: Instant
  ) throws(StoreFailure) -> Step {
    noteTop(page, ingested, now)
    if whole || page.items.isEmpty {
      let claim = PageClaim(
        items: ingested.items, low: .open(.min), high: .open(present), tiesByID: tiesByID)
      try insert(claim, ingested, frame, low: .min, .toPresent)
      if page.items.isEmpty { spans.insert(.min, .before(tick: .min + 1)) }
      return try contentIsWhole()
    }
    return try beginRun(page, ingested, frame)
  }

  /// A page that claims up to the present and is cut at its older end.
  private mutating func beginRun(
    _ page: Page, _ ingested: Ingested, _ frame: [UInt8]
  ) throws(StoreFailure) -> Step {
    let walk = Walk(
      newest: ingested.items.compactMap { $0 }.sorted(), rawCount: page.items.count,
      tiesByID: tiesByID)
    let claim = PageClaim(
      items: ingested.items, low: .cut, high: .open(present), tiesByID: tiesByID)
    if let tick = unprovenTick(claim) {
      job.bound = min(job.bound ?? tick, tick)
    }
    guard let bound = job.bound else {
      try insert(claim, ingested, frame, low: claim.low, .toPresent)
      return try contentIsWhole()
    }
    // Until the walk is over, trust in the known range ends at the bound.
    spans.remove(bound, .max)
    try insert(claim, ingested, frame, low: claim.low, .runAtPresent)
    return try goOn(walk)
  }

  /// Where a newest page lies in one tick, but for stamps ahead, it proves nothing of
  /// it: the walk must go on until the newest messages are whole.
  private func unprovenTick(_ claim: PageClaim) -> Position? {
    guard let first = claim.rows.first, var last = claim.rows.last else {
      return job.bound == nil ? .min : nil
    }
    if let top = job.top?.timeUs, let ordinary = claim.rows.last(where: { $0.time <= top }) {
      last = ordinary
    }
    let tick = Position.before(tick: first.time)
    let isProven = tiesByID || first.time != last.time || spans.covers(tick, last.successor)
    return isProven ? nil : tick
  }

  private mutating func takeWalk(
    _ before: Walk, _ page: Page, _ ingested: Ingested, _ whole: Bool, _ frame: [UInt8]
  ) throws(StoreFailure) -> Step {
    var walk = before
    let rows = ingested.items.compactMap { $0 }.sorted()
    let verdict = walk.take(rows: rows, rawCount: page.items.count, complete: whole)
    let claim = PageClaim(
      items: ingested.items, low: walk.low == .min ? .open(.min) : .cut, high: .cut,
      tiesByID: tiesByID)
    switch verdict {
    case .extended, .start:
      let known = try tx.count(record.cid, from: walk.low, to: before.low)
      try insert(claim, ingested, frame, low: walk.low, .run(to: before.low))
      job.wanted -= known
    case .resumed:
      try insert(claim, ingested, frame, low: claim.low, .apart)
      try tx.quarantine(
        record.cid, bytes: [], reason: BadItem.wholePageCode, low: claim.high,
        high: before.low)
    case .apart:
      try insert(claim, ingested, frame, low: claim.low, .apart)
    case .same:
      try setAside(ingested, claim, frame)
    case .gaveUp:
      try setAside(ingested, claim, frame)
      return .ended(.incomplete)
    }
    return try goOn(walk)
  }

  // MARK: Joining and ending

  /// After a joined page: the run may have met a span; is the goal reached?
  private mutating func goOn(_ walk: Walk) throws(StoreFailure) -> Step {
    var walk = walk
    var passable = spans
    for hole in try tx.quarantined(record.cid) { passable.insert(hole.low, hole.high) }
    // A page cut inside its only tick claims nothing yet, so it meets nothing.
    if let met = passable.spans.last(where: { $0.low < walk.low && walk.low <= $0.high }) {
      let between = try tx.count(record.cid, from: met.low, to: walk.low)
      walk.jump(to: met.low, skipping: between)
      job.wanted -= between
      job.openTick = nil
    }
    if isOlder {
      if walk.low == .min || job.wanted <= 0 { return try endOlder() }
      job.stage = .older(walk)
    } else {
      if walk.low == .min || job.bound.map({ walk.low <= $0 }) ?? true {
        spans.insert(walk.low, claimedTop)
        for hole in try tx.quarantined(record.cid) { spans.remove(hole.low, hole.high) }
        return try contentIsWhole()
      }
      job.stage = .walk(walk)
    }
    let pagesMax = job.request.pagesMax
    return pagesMax > 0 && job.pages >= pagesMax ? .ended(.incomplete) : .next
  }

  private var isOlder: Bool {
    if case .older = job.stage { return true }
    return false
  }

  /// The content is whole up to the present: the watermark moves, now and only now.
  private mutating func contentIsWhole() throws(StoreFailure) -> Step {
    if let top = job.top, record.fetch.map({ $0.timeUs < top.timeUs }) ?? true {
      record.fetch = top
    }
    job.caughtUp = true
    try flush()
    if job.isFresh, record.deletions == nil, let top = job.top, let stamp = core.stamp(top) {
      // All that is stored was read just now: older deletions are already in it.
      let time = top.timeUs - core.overlapUs
      record.deletions = Watermark(timeUs: time, text: stamp.printed(time))
      record.lowestSinceUs = time
      return try core.finish(&job, &record, tx)
    }
    return try core.askDeletions(&job, &record, tx)
  }

  private mutating func endOlder() throws(StoreFailure) -> Step {
    job.wanted = 0
    job.olderIsDone = true
    if !job.suspects.isEmpty { return try core.askDeletions(&job, &record, tx) }
    try flush()
    return try core.finish(&job, &record, tx)
  }

  /// Writes the claims so that what follows in this transaction reads them.
  private mutating func flush() throws(StoreFailure) {
    try tx.save(spans: spans, replacing: stored, record.cid)
    stored = spans
  }

  // MARK: Claims

  /// Up to where the first page of this catch-up reached.
  private var present: Position {
    job.present ?? spans.newest?.high ?? .before(tick: .min + 1)
  }

  /// Where no stamp can be borne out, a watermark that asks for everything again.
  private func atTheEpoch(_ ingested: Ingested) -> Watermark? {
    ingested.stamps.first.map { Watermark(timeUs: 0, text: $0.stamp.printed(0)) }
  }

  /// Up to where a walk of several pages speaks. A stamp years ahead puts every
  /// message that arrived meanwhile below it, so that part is not claimed.
  private var claimedTop: Position {
    guard let top = job.top, top.timeUs > 0 else { return present }
    return min(present, .after(tick: top.timeUs))
  }

  /// Where no row of the first page could set the watermark, a later one may, as far
  /// as the server time that was known at the first.
  private mutating func noteLaterTop(_ ingested: Ingested) {
    guard job.top == record.fetch || job.top?.timeUs == 0, let known = job.knownUs else { return }
    let borneOut = ingested.stamps.map(\.stamp).filter { $0.timeUs <= known }
    guard let stamp = borneOut.max(by: { $0.timeUs < $1.timeUs }),
      stamp.timeUs > job.top?.timeUs ?? .min
    else { return }
    job.top = Watermark(timeUs: stamp.timeUs, text: stamp.text)
  }

  /// The first page of a catch-up sets the watermark it will leave behind.
  private mutating func noteTop(_ page: Page, _ ingested: Ingested, _ now: Instant) {
    job.knownUs = core.facts.serverTimeUs
    // A page that reaches the present says that nothing stands above its last row.
    let times = ingested.items.compactMap { $0?.time } + [record.fetch?.timeUs].compactMap { $0 }
    job.present = times.max().map { .after(tick: $0) }
    guard
      let position = core.plausibleTop(page, ingested, now),
      let stamp = ingested.stamps.first(where: { $0.position == position })?.stamp
    else {
      job.top = record.fetch ?? atTheEpoch(ingested)
      return
    }
    job.top = Watermark(timeUs: stamp.timeUs, text: stamp.text)
  }

  /// Where claims must end while the catch-up is not over: a message stamped within
  /// the overlap may still appear, and only the watermark knows to ask for it.
  private var ceiling: Position {
    guard !job.caughtUp, job.bound != nil, let top = job.top else { return .max }
    return .before(tick: top.timeUs - core.overlapUs)
  }

  /// How a page stands to what is known.
  private enum Standing {
    /// Whole from `low` up to the present; nothing is left to ask.
    case toPresent
    /// The newest part of a run that has not reached its goal.
    case runAtPresent
    /// Joined to a run whose low end was here.
    case run(to: Position)
    /// By itself.
    case apart
  }

  /// Stores what a page proves: its claim, its holes, and what it shows to be absent.
  private mutating func insert(
    _ claim: PageClaim, _ ingested: Ingested, _ frame: [UInt8], low: Position,
    _ standing: Standing
  ) throws(StoreFailure) {
    try tx.clearQuarantine(record.cid, low: claim.low, high: claim.high)
    var proven = SpanSet()
    proven.insert(claim.low, claim.high)
    var highest = ceiling
    var absentLow = claim.low
    var absentHigh = claim.high
    switch standing {
    case .toPresent:
      highest = .max
      absentLow = low
      absentHigh = .max
    case .runAtPresent:
      absentHigh = .max
    case .run(let high):
      proven.insert(low, high)
    case .apart:
      break
    }
    for hole in claim.holes { proven.remove(hole.low, hole.high) }
    for piece in proven.spans { spans.insert(piece.low, min(piece.high, highest)) }
    for hole in claim.holes { spans.remove(hole.low, hole.high) }
    try setAside(ingested, claim, frame)
    try judge(from: absentLow, to: absentHigh, seen: ingested.ids, holes: claim.holes)
    if case .apart = standing { return }
    try closeTick(claim, low: low)
  }

  /// Keeps the unreadable items with their place.
  private func setAside(
    _ ingested: Ingested, _ claim: PageClaim, _ frame: [UInt8]
  ) throws(StoreFailure) {
    for (order, bad) in ingested.bad.enumerated() {
      let hole =
        claim.holes.indices.contains(order)
        ? claim.holes[order]
        : claim.holes.last ?? SpanSet.Span(low: .min, high: .min)
      try tx.quarantine(
        record.cid, bytes: Array(frame[bad.range]), reason: bad.reason.code, low: hole.low,
        high: hole.high)
    }
  }

  // MARK: Absence

  /// Rows that a whole range does not show: leftovers of a lost epoch go, deletions
  /// where the profile says so; the rest is suspected until deletions are known.
  private mutating func judge(
    from low: Position, to high: Position, seen: Set<[UInt8]>, holes: [SpanSet.Span]
  ) throws(StoreFailure) {
    var top = high
    while low < top {
      let rows = try tx.rows(
        record.cid, from: low, to: top, limit: Limits.readRowsMax, newestFirst: true)
      for row in rows where !seen.contains(row.position.id) {
        if !holes.contains(where: { $0.contains(row.position) }) { try judge(row) }
      }
      guard rows.count == Limits.readRowsMax, let lowest = rows.last?.position else { return }
      top = lowest
    }
  }

  /// Judges a row that a whole answer did not show.
  private mutating func judge(_ row: StoredRow) throws(StoreFailure) {
    let isLeftover = row.lsn < record.restoredLSN
    guard isLeftover || row.lsn <= job.issued else { return }
    if !isLeftover, row.position.time >= settledUs,
      core.onlyPushed.contains(PushedID(cid: record.cid, id: row.position.id))
    {
      // A push may be faster than the commit behind it.
      job.unsettled.insert(row.position.id)
    } else if isLeftover || core.config.profile.absenceIsDeletion {
      // No tombstone: an answer that shows it again is believed.
      if try tx.remove(row.position, record.cid) != nil { job.status.removed += 1 }
    } else if job.suspects.count < Limits.pageItemsMax {
      job.suspects.append(row.position.id)
    }
  }

  /// Messages stamped from here on may still be committing on the server.
  private var settledUs: Int64 {
    core.facts.serverTimeUs.map { $0 - core.overlapUs } ?? .max
  }

  /// Judges the tick that a run's low end cut, once the run has passed it, and
  /// opens the one that the low end cuts now.
  private mutating func closeTick(_ claim: PageClaim, low: Position) throws(StoreFailure) {
    if var open = job.openTick {
      open.seen.formUnion(claim.rows.filter { $0.time == open.time }.map(\.id))
      job.openTick = open
      guard low <= .before(tick: open.time) else { return }
      try judge(
        from: .before(tick: open.time), to: .after(tick: open.time), seen: open.seen, holes: [])
      job.openTick = nil
    }
    guard !tiesByID, let time = claim.rows.first?.time, low == .after(tick: time) else { return }
    let seen = claim.rows.prefix { $0.time == time }.map(\.id)
    job.openTick = OpenTick(time: time, seen: Set(seen))
  }
}
