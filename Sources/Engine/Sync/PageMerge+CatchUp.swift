/// Pages that catch a conversation up: the tail, the newest page, the walk below it.
///
/// Rule protected: the watermark moves when the content is whole up to the present,
/// and to a stamp of the first page, which was read before all others.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension PageMerge {
  mutating func takeTail(_ bound: WatermarkPolicy.Bound) throws(StoreFailure) -> PageOutcome {
    if let bound = try boundBelowClock() {
      // What is stamped meanwhile may stand below what was asked for.
      try endTrust(atBound: bound)
      job.catchUp.bound = bound
      return .mustSeeNewest
    }
    try noteTop()
    if isWhole || page.items.isEmpty,
      try scheme.isUnbroken(ingested, from: bound.position, in: (record.cid, tx))
    {
      let claim = scheme.claim(ingested.items, low: bound.position, high: present)
      try insert(claim, low: bound.position, .toPresent)
      return try contentIsWhole()
    }
    // Until the catch-up is over, trust in the known range ends at the bound.
    if let open = scheme.open(job.catchUp.bound ?? bound.position, .max) {
      try endTrust(atBound: open.low)
    }
    let proof = scheme.proof(
      ofTail: memory.server.profile.truncates, stopsAtPage: job.stopsAtPage)
    if case .run = proof { return try beginRun() }
    // Which end was cut is not known, or it is the newer one: newest page first.
    try insertTail(bound: bound.position, proof)
    return .mustSeeNewest
  }

  /// The watermark stands ahead of the server's own clock as this answer tells it, by more than the
  /// overlap: messages that came since are stamped below it. It goes down to the newest row that
  /// the clock bears out, and the overlap is widened. Gives the bound there; nil where the clock is
  /// ahead of it, as ever.
  private mutating func boundBelowClock() throws(StoreFailure) -> Position? {
    guard let fetch = scheme.lateTop(record), fetch.time > .zero,
      let told = page.serverTime?.time, told == memory.server.surely,
      let stamp = scheme.stamp(fetch.text),
      case let aheadUs = fetch.time.us(since: told), aheadUs > scheme.overlapUs
    else { return nil }
    let below = try tx.rows(
      record.cid, from: .min, to: .after(told), limit: 1, newestFirst: true)
    let time = ServerTime(us: below.first?.position.time ?? 0)
    // A clock that was wrong by more than messages are ever late says nothing of how late they are.
    if aheadUs <= WatermarkPolicy.overlapUsMax { memory.server.noteLateness(aheadUs) }
    let lowered = ContentMark(newest: .before(time), text: stamp.printed(time))
    let bound = scheme.bound(lowered)?.position ?? .min
    try endTrust(at: bound)
    record.fetch = lowered
    return bound
  }

  /// A tail that was cut: its rows are neighbours all the same, and where the server keeps the
  /// oldest they begin at the bound. What is settled of them need not be read again.
  private mutating func insertTail(
    bound: Position, _ proof: PositionScheme.CutTail
  ) throws(StoreFailure) {
    let keepsOldest = memory.server.profile.truncates == .oldest
    let claim = scheme.claim(ingested.items, low: keepsOldest ? bound : nil, high: nil)
    if case .numbers = proof {
      for row in claim.rows {
        ranges.spans.insert(.before(timestampGroup: row.time), .after(timestampGroup: row.time))
      }
    }
    guard case .range = proof else { return try setAside(claim) }
    try insert(claim, low: claim.low, .apart)
    job.catchUp.tail = CutTail(
      span: SpanSet.Span(low: claim.low, high: min(claim.high, job.run.limit ?? .max)),
      issued: answer.issued, tookMs: max(0, now.monotonicMs.saturating(minus: job.turn.beganMs)),
      taken: now)
  }

  mutating func takeNewest() throws(StoreFailure) -> PageOutcome {
    try noteTop()
    if isWhole || page.items.isEmpty {
      let claim = scheme.claim(ingested.items, low: .min, high: present)
      try insert(claim, low: .min, .toPresent)
      if page.items.isEmpty { ranges.spans.insert(.min, .before(timestampGroup: .min + 1)) }
      return try contentIsWhole()
    }
    return try beginRun()
  }

  /// A page that claims up to the present and is cut at its older end.
  private mutating func beginRun() throws(StoreFailure) -> PageOutcome {
    let backward = BackwardPagination(
      newest: ingested.rows, rawCount: page.items.count, unread: ingested.unread,
      ties: scheme.ties)
    let claim = scheme.claim(ingested.items, low: nil, high: present)
    // Until the walk is over, trust in the known range ends at the bound. Numbers in a row are
    // trusted, but not where a count has made all unverified.
    let doubted = job.catchUp.bound.flatMap { bound in
      job.suspicion.isRevalidation ? bound : scheme.open(bound, .max)?.low
    }
    if let doubted {
      try endTrust(atBound: doubted)
      try keepTail()
    }
    let unproven = unprovenGroup(claim)
    if job.stopsAtPage {
      // What lies below is a gap, recorded; the newest messages must be whole though.
      job.catchUp.left = job.catchUp.bound ?? job.catchUp.left
      job.catchUp.bound = unproven
    } else if let unproven {
      job.catchUp.bound = min(job.catchUp.bound ?? unproven, unproven)
    }
    guard job.catchUp.bound != nil else {
      try insert(claim, low: claim.low, .toPresent)
      return try contentIsWhole()
    }
    try insert(claim, low: claim.low, .runAtPresent)
    return try goOn(BackwardWalk(pages: backward))
  }

  /// What the first page of this catch-up showed was read just now: of that stays what was settled
  /// when it was made, by the server's time as this page tells it.
  private mutating func keepTail() throws(StoreFailure) {
    guard let tail = job.catchUp.tail, let known = memory.server.time else { return }
    var passedMs = now.monotonicMs.saturating(minus: tail.taken.monotonicMs)
    if let wall = now.wallUs, let then = tail.taken.wallUs {
      passedMs = max(passedMs, wall.saturating(minus: then) / 1_000)
    }
    let (agoUs, isFar) = max(0, passedMs).saturating(plus: tail.tookMs)
      .multipliedReportingOverflow(by: 1_000)
    if isFar { return }
    let settled = known.saturating(minus: agoUs).saturating(minus: memory.server.overlapUs)
    var high = min(tail.span.high, .before(settled))
    if let pushed = lowestPushed(
      in: SpanSet.Span(low: tail.span.low, high: high), after: tail.issued)
    {
      high = min(high, pushed)
    }
    guard tail.span.low < high else { return }
    claim(from: tail.span.low, to: high)
    try hideUnreadable(in: SpanSet().inserting(tail.span.low, high: high))
  }

  /// Where a newest page lies in one timestamp group, but for stamps ahead, it proves nothing of
  /// it, and where it shows nothing but such stamps, nothing of what came before them: the
  /// walk must go on until the newest messages are whole.
  private func unprovenGroup(_ claim: PageClaim) -> Position? {
    guard let first = claim.rows.first, var last = claim.rows.last else {
      return job.catchUp.bound == nil || job.stopsAtPage ? .min : nil
    }
    if let ordinary = claim.rows.last(where: { job.catchUp.top?.covers($0) ?? false }) {
      last = ordinary
    } else if let time = job.catchUp.known, let stamped = scheme.time(at: first.time),
      time < stamped, memory.server.clock.wallUs.map({ $0 < stamped.us }) ?? true
    {
      // Nothing but stamps ahead: the newest messages are those the server's time bears out.
      // Where the device's clock has passed the stamps, it is the server's that stands still.
      return scheme.boundary(at: time)
    }
    let group = Position.before(timestampGroup: first.time)
    let isProven =
      scheme.endsAreExact || first.time != last.time
      || ranges.spans.covers(group, high: last.successor)
    return isProven ? nil : group
  }

  /// The content is whole up to the present: the watermark goes up. A push of a live conversation
  /// raises it too; `boundBelowClock` lowers it, and `dropClaims` takes it away.
  mutating func contentIsWhole() throws(StoreFailure) -> PageOutcome {
    if let top = provenTop, record.fetch.map({ !$0.covers(top.newest) }) ?? true {
      record.fetch = top
    }
    try noteBurst()
    job.caughtUp = .live(left: job.catchUp.left, changesAreDone: false)
    // What an earlier page of the same catch-up showed may be gone by now.
    let isAllSeen =
      job.catchUp.isFresh == true && job.evidence.suspects.isEmpty
      && !memory.server.profile.deletionsAreLater
    // A cursor of the server's own was taken before the first page was read.
    let hasCursor = record.deletions != nil && scheme.stamp(record.deletions?.text) == nil
    if isAllSeen, record.deletions == nil || hasCursor,
      let stamp = scheme.stamp(job.catchUp.top?.text),
      case let time = WatermarkPolicy.below(stamp.time, overlapUs: scheme.overlapUs),
      !hasUnread(below: time)
    {
      // All that is stored was read just now: older deletions and marks are in it.
      let known = stamp.watermark(at: time)
      if !hasCursor {
        record.deletions = known
        record.lowestSince = time
      }
      if memory.server.can(.changedSince), record.marks == nil { record.marks = known }
      return .whole(isAllSeen: true)
    }
    return .whole(isAllSeen: false)
  }

  /// Whether a row came by push or by answer since the catch-up began that no page has shown, and
  /// that stands where deletions would not be asked about it.
  private func hasUnread(below time: ServerTime) -> Bool {
    let unread = memory.pushed.lowest(
      in: record.cid, from: .min,
      to: scheme.boundary(at: time) ?? job.catchUp.top?.boundary ?? .after(time),
      after: job.catchUp.freshLSN, besides: answer.ids, or: job.run.shownPushes)
    return unread != nil
  }

  // MARK: Tops

  /// The watermark that the catch-up leaves: below where its claims had to end, so that the next
  /// one asks for all from there on.
  private var provenTop: ContentMark? {
    guard let top = job.catchUp.top, let limit = job.run.limit, top.covers(limit),
      let stamp = scheme.stamp(top.text)
    else { return job.catchUp.top }
    let time = ServerTime(us: limit.time).saturating(minus: 1)
    return ContentMark(newest: .before(time), text: stamp.printed(time))
  }

  /// Up to where the first page of this catch-up reached.
  var present: Position {
    job.catchUp.present ?? ranges.spans.newest?.high ?? .before(timestampGroup: .min + 1)
  }

  /// Up to where a walk of several pages speaks. A stamp years ahead puts every
  /// message that arrived meanwhile below it, so that part is not claimed.
  var claimedTop: Position {
    guard let top = job.catchUp.top, top.newest.time > 0 else { return present }
    let highest = max(top.newest.time, job.catchUp.raised?.us ?? .min)
    return min(present, .after(timestampGroup: highest))
  }

  /// Where no row of the first page could set the watermark, a later one may, as far
  /// as the server time that was known at the first.
  mutating func noteLaterTop() {
    guard topIsOpen, let known = job.catchUp.known else { return }
    let borneOut = ingested.stamps.filter { $0.stamp.time <= known }
    guard let top = borneOut.max(by: { $0.position < $1.position }),
      !(job.catchUp.top?.covers(top.position) ?? false)
    else { return }
    job.catchUp.top = ContentMark(newest: top.position, text: top.stamp.text)
  }

  /// No row of the first page could set the watermark.
  private var topIsOpen: Bool {
    job.catchUp.top == record.fetch || job.catchUp.top?.isUnproven ?? false
  }

  /// Where the first page showed nothing but stamps ahead, what is newer than the server time
  /// known then cannot be claimed. Now that a page tells the time, the newest is asked again.
  var mustLookAgain: Bool {
    guard topIsOpen, job.catchUp.borneOut == nil, let time = memory.server.time else {
      return false
    }
    return ingested.stamps.contains { item in
      scheme.time(at: item.position.time).map {
        $0 > job.catchUp.known ?? .min && $0 <= time
      } ?? false
    }
  }

  /// Begins anew with the newest page, once. Where the known range ends stays as it is.
  mutating func lookAgain() throws(StoreFailure) -> PageOutcome {
    try setAside(scheme.claim(ingested.items, low: nil, high: nil))
    if job.stopsAtPage { job.catchUp.bound = job.catchUp.left }
    // A page of nothing but such stamps says that the clock is not theirs; one among ordinary
    // stamps may be one of few.
    let known = job.catchUp.known ?? .min
    let isAll = ingested.stamps.allSatisfy { $0.stamp.time > known }
    job.catchUp.borneOut = isAll ? memory.server.time : known
    return .mustSeeNewest
  }

  /// The first page of a catch-up sets the watermark it will leave behind.
  private mutating func noteTop() throws(StoreFailure) {
    job.catchUp.known = [memory.server.time, job.catchUp.borneOut].compactMap { $0 }.max()
    // A page that reaches the present says that nothing stands above its last row.
    let highest = (ingested.items + [record.fetch?.newest]).compactMap { $0 }.max()
    job.catchUp.present = highest.map { .after(timestampGroup: $0.time) }
    let plausible = memory.server.plausibleTop(
      page, from: ingested, at: now, borneOut: job.catchUp.borneOut)
    let epoch = ingested.stamps.first.map {
      ContentMark(newest: .before(.zero), text: $0.stamp.printed(.zero))
    }
    job.catchUp.top = scheme.top(
      plausible, highest: highest, before: record.fetch, epoch: epoch)
    job.run.issued = answer.issued
    job.run.limit = nil
    try endBelowPushes()
    if !isWhole { try raiseTop() }
    job.catchUp.raised = try raised
  }

  /// The watermark of before, where a burst has raised it above all that is stored.
  private var raised: ServerTime? {
    get throws(StoreFailure) {
      guard let top = scheme.late(job.catchUp.top)?.time, let fetch = scheme.lateTop(record)?.time,
        top < fetch
      else { return nil }
      let above = try tx.rows(
        record.cid, from: .after(top), to: .after(fetch), limit: 1, newestFirst: true)
      return above.isEmpty ? fetch : nil
    }
  }

  /// Below a stamp years ahead there may be messages that were pushed while the page was under way:
  /// the page is older than those, so it does not claim up to the stamp.
  private mutating func endBelowPushes() throws(StoreFailure) {
    guard let top = job.catchUp.top, let present = job.catchUp.present else { return }
    let low = top.boundary
    guard low < present else { return }
    let above = try tx.rows(
      record.cid, from: low, to: present, limit: Limits.readRowsMax, newestFirst: true)
    // What pages have shown before was there when this one was made, whatever changed in it since.
    let isOlder = above.contains {
      $0.lsn > answer.issued && !ingested.ids.contains($0.position.id)
        && memory.pushed.contains(PushedID(cid: record.cid, id: $0.position.id))
    }
    if isOlder { job.catchUp.present = low }
  }
}
