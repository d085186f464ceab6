/// Pages that go elsewhere than to the present: down, up, and to a place.
///
/// Each page claims what it proves by itself; whether a join was reached is read off the
/// ranges afterwards, because ranges merge in one place only. Rule protected: a page that
/// is not joined stays a detached range with its gaps.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension PageMerge {
  // MARK: Down

  mutating func takeBackward(_ walk: BackwardWalk) throws(StoreFailure) -> PageOutcome {
    let before = walk.pages
    var backward = before
    let verdict = backward.extend(
      rows: ingested.rows, rawCount: page.items.count, unread: ingested.unread, complete: isWhole)
    let claim = scheme.claim(
      ingested.items, low: backward.low == .min ? .min : nil, high: upperEnd)
    if verdict != .apart { try limitByLateRows(claim, passed: before.low) }
    switch verdict {
    case .extended, .start:
      let known = try tx.count(record.cid, from: backward.low, to: before.low)
      // A way that begins at the end of time has no run above it: the page says where it ends.
      let standing = before.low == .max ? Standing.begun : .run(to: before.low)
      try insert(claim, low: backward.low, standing)
      job.aim.wanted -= known
    case .resumed:
      job.aim.wanted -= try tx.count(record.cid, from: backward.low, to: before.low)
      if before.low == .max {
        // Nothing above it could be read: up to where it hides something is not known.
        try insert(claim, low: claim.low, .apart)
      } else {
        try insert(
          claim, low: backward.low, .run(to: before.low),
          hides: SpanSet.Span(low: claim.high, high: before.low))
      }
    case .apart:
      try insert(claim, low: claim.low, .apart)
    case .same:
      try setAside(claim)
    case .gaveUp:
      try setAside(claim)
      return .stuck
    }
    return try goOn(BackwardWalk(pages: backward, key: walk.key))
  }

  /// Where a page of a walk ends above: the selection's own end, or the present.
  private var upperEnd: Position? {
    guard job.turn.offset == 0 else { return nil }
    if let key = job.stage.walk?.key { return key.top }
    return job.stage.isReaching ? newestEnd : nil
  }

  /// Nothing newer than its last row existed when a page was made.
  private var newestEnd: Position? {
    ingested.items.compactMap { $0?.time }.max().map { .after(timestampGroup: $0) }
  }

  /// After a page of a walk: the run may have met a span; is the goal reached?
  mutating func goOn(_ walk: BackwardWalk) throws(StoreFailure) -> PageOutcome {
    var backward = walk.pages
    let isOlder = job.stage.isReaching
    if job.goal.jumps {
      var passable = ranges.spans
      passable.insert(try tx.quarantined(record.cid, seen: true))
      // A page cut inside its only timestamp group claims nothing yet, so it meets nothing; nor
      // does a run meet the range it belongs to where that ends inside the run's timestamp group.
      func isMet(_ span: SpanSet.Span) -> Bool {
        Joining.runLow(span.low, ties: scheme.ties) < backward.low && backward.low <= span.high
      }
      if let met = passable.spans.last(where: isMet) {
        let isJoined = ranges.spans.spans.contains(where: isMet)
        let low = Joining.runLow(met.low, ties: scheme.ties)
        let between = try tx.count(record.cid, from: low, to: backward.low)
        backward.jump(to: low, skipping: between)
        if isOlder, isJoined, job.goal.endsJoined { return endGoal() }
        job.aim.wanted -= between
      }
    }
    if isOlder {
      if backward.low <= job.goal.floor || job.aim.wanted <= 0 { return endGoal() }
      return onward(.older(turned(backward, from: walk.key)))
    } else {
      // Pages of nothing but stamps ahead say nothing of the newest messages.
      let isBelow = job.catchUp.bound.map { backward.low <= $0 } ?? true
      if backward.low == .min || isBelow && backward.low < claimedTop {
        let top = min(claimedTop, limit(in: scheme.open(backward.low, claimedTop)))
        claim(from: backward.low, to: top)
        try hideUnreadable(in: SpanSet().inserting(backward.low, high: top))
        return try contentIsWhole()
      }
      var catchUp = job.catchUp
      catchUp.way = .backward(turned(backward, from: walk.key))
      return .extended(.catchUp(catchUp))
    }
  }

  /// On servers that page by keys, a run that reached a lower timestamp group goes on from there.
  private func turned(
    _ backward: BackwardPagination, from last: PositionScheme.Key?
  ) -> BackwardWalk {
    guard backward.low != .max, !job.suspicion.isRevalidation,
      let key = memory.server.key(below: backward.low, record), key != last
    else { return BackwardWalk(pages: backward, key: last) }
    return BackwardWalk(
      pages: BackwardPagination(low: backward.low, above: 0, ties: scheme.ties), key: key)
  }

  /// The way to the goal goes on like this.
  private func onward(_ way: GapFill.Way) -> PageOutcome {
    .extended(.gap(GapFill(goal: job.goal, way: way)))
  }

  // MARK: Up

  mutating func takeForward(_ before: ForwardPagination) throws(StoreFailure) -> PageOutcome {
    var forward = before
    let rows = ingested.rows
    let isNewest = job.turn.offset == 0 || page.hasMoreAfter == false
    let verdict = forward.extend(
      rows: rows, rawCount: page.items.count, unread: ingested.unread, offset: job.turn.offset,
      endsAtStart: isWhole, endsAtPresent: page.hasMoreAfter == false)
    let claim = scheme.claim(
      ingested.items, low: isWhole ? .min : nil, high: isNewest ? newestEnd : nil)
    switch verdict {
    case .extended, .present:
      try insert(
        claim, low: claim.low,
        .extended(from: before.high, to: max(forward.high, claim.high)))
    case .resumed:
      let low = min(claim.low, forward.high)
      try insert(
        claim, low: claim.low,
        .extended(from: before.high, to: max(forward.high, claim.high)),
        hides: SpanSet.Span(low: before.high, high: low))
      job.goal.from = max(job.goal.from, low)
    case .apart:
      try insert(claim, low: claim.low, .apart)
    case .same:
      try setAside(claim)
      if let top = rows.last?.successor {
        forward.look(at: job.turn.offset - (try tx.count(record.cid, from: top, to: forward.high)))
      }
    case .gaveUp:
      try setAside(claim)
      return .stuck
    }
    if isNewest, verdict != .apart { return endGoal() }
    if verdict == .extended || verdict == .resumed, try hasRisen(claim) { return endGoal() }
    return onward(.forward(forward))
  }

  /// After a page that may have raised the range: is the goal reached?
  private mutating func hasRisen(_ claim: PageClaim) throws(StoreFailure) -> Bool {
    guard let span = ranges.spans.touching(job.goal.from), span.high > job.goal.from else {
      return false
    }
    job.aim.wanted -= try tx.count(record.cid, from: job.goal.from, to: span.high)
    job.goal.from = span.high
    job.goal.isStuck = false
    return job.aim.wanted <= 0 || span.high > max(claim.high, claim.low)
  }

  // MARK: To a place

  mutating func takeSearch(_ before: OffsetSearch) throws(StoreFailure) -> PageOutcome {
    var search = before
    if scheme.learnsTies, !search.target.id.isEmpty,
      let row = try tx.row(search.target.id, record.cid)
    {
      search.noteHit(row.position)
    }
    let rows = ingested.rows
    var looked = rows
    if case .time = job.request.kind { looked = scheme.byTime(ingested) }
    let verdict = search.judge(rows: looked, rawCount: page.items.count, endsAtStart: isWhole)
    let claim = scheme.claim(
      ingested.items, low: isWhole ? .min : nil,
      high: job.turn.offset == 0 ? newestEnd : nil)
    try insert(claim, low: claim.low, .apart)
    switch (verdict, job.request.kind) {
    case (.again, .marker), (.found, _), (.absent, _):
      break
    case (.again, _):
      return onward(.search(search))
    case (.gaveUp, _):
      return .stuck
    }
    switch job.request.kind {
    case .marker:
      // What this user wrote is not counted as unread: the marker may stand further down.
      if verdict == .again, job.turn.pages < 4, try tx.unreadReader.namedMarker(record.cid) != nil {
        return onward(.search(search))
      }
      return endGoal()
    case .at, .near, .time, .live, .count, .conversations, .all:
      return endGoal()
    case .latest, .older, .below, .above, .refresh:
      return try walkOn(from: rows)
    }
  }

  /// The page at an edge is found: a walk goes on from there, anchored.
  private mutating func walkOn(from rows: [Position]) throws(StoreFailure) -> PageOutcome {
    let edge = job.goal.from
    var low = edge
    if job.goal.jumps, let span = ranges.spans.touching(edge) { low = span.low }
    job.aim.wanted -= try tx.count(record.cid, from: low, to: edge)
    // The page may lie above the edge altogether; it is joined where a range goes deeper.
    let isAbove = low < (rows.first ?? low)
    let isJoined = isAbove && low < edge
    let isReached = low <= job.goal.floor || job.aim.wanted <= 0
    if isReached || isJoined && job.goal.endsJoined { return endGoal() }
    var above = job.turn.offset + page.items.count - rows.prefix { $0 < low }.count
    if isAbove, let first = rows.first {
      above += try tx.count(record.cid, from: low, to: first)
    }
    let pages = BackwardPagination(low: low, above: above, ties: scheme.ties)
    return onward(.older(BackwardWalk(pages: pages)))
  }

  /// What is on a screen below a page that was laid around one of its rows is read again as well:
  /// the page may have shown no more than that row.
  private mutating func refreshOn(_ spot: Spot) throws(StoreFailure) -> PageOutcome {
    guard case .aroundID(let id) = spot, ingested.ids.contains(id) else { return endGoal() }
    var lowest = job.goal.from
    if let asked = try tx.row(id, record.cid) { lowest = min(lowest, asked.position) }
    for position in ingested.items.compactMap({ $0 }) { lowest = min(lowest, position) }
    guard lowest < job.goal.from, job.goal.floor < lowest,
      let next = try tx.rows(
        record.cid, from: job.goal.floor, to: lowest, limit: 1, newestFirst: true
      ).first
    else { return endGoal() }
    job.goal.from = lowest
    return onward(.spot(.aroundID(next.position.id)))
  }

  mutating func takeSpot(_ spot: Spot) throws(StoreFailure) -> PageOutcome {
    var low: Position? = page.hasMoreBefore == false ? .min : nil
    var isNewest = page.hasMoreAfter == false
    var high: Position?
    switch spot {
    case .after(let bound):
      low = bound.position
      isNewest = isWhole
    case .before(let key):
      if isWhole { low = .min }
      high = key.top
    case .aroundID, .aroundTime:
      break
    }
    let claim = scheme.claim(
      ingested.items, low: low, high: isNewest ? newestEnd : high)
    try insert(claim, low: claim.low, .apart)
    switch job.request.kind {
    case .at(let id):
      return ingested.ids.contains(id) ? endGoal() : .lacksMessage
    case .refresh:
      return try refreshOn(spot)
    case .marker, .near, .time, .live, .count, .conversations, .all:
      return endGoal()
    case .above:
      if isNewest || page.items.isEmpty { return endGoal() }
      let edge = job.goal.from
      let wanted = job.aim.wanted
      if try hasRisen(claim) { return endGoal() }
      if case .before = spot {
        // Of the present nothing more can be claimed.
        if claim.low <= edge, job.goal.from < claim.high { return endGoal() }
        // Where messages do not come as they came before, how many tells more than when.
        job.goal.isStuck = job.aim.wanted == wanted
        return .reachedUp(to: job.goal.from)
      }
      // The same page would come again where this one brought nothing.
      job.goal.isStuck = job.goal.from <= edge || job.goal.from != claim.high
      return .reachedUp(to: job.goal.from)
    case .latest, .older, .below:
      return try sink(claim)
    }
  }

  /// After a page around the low edge: is the goal reached, and if not, on from where?
  private mutating func sink(_ claim: PageClaim) throws(StoreFailure) -> PageOutcome {
    let edge = job.goal.from
    let low = ranges.spans.touching(edge)?.low ?? edge
    job.aim.wanted -= try tx.count(record.cid, from: low, to: edge)
    job.goal.isStuck = low >= edge
    let isJoined = low < claim.low && low < edge
    let isReached = low <= job.goal.floor || job.aim.wanted <= 0
    if isReached || isJoined && job.goal.endsJoined { return endGoal() }
    return .reachedDown(to: low)
  }

  // MARK: Ending

  private mutating func endGoal() -> PageOutcome {
    job.aim.wanted = 0
    job.aim.isDone = true
    return .complete
  }
}
