/// What a page proves: its claim, its holes, and what it shows to be absent.
///
/// Rule protected: a claim never reaches further than its evidence, and absence is
/// judged only inside what an answer showed whole.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// How a page stands to what is known.
enum Standing {
  /// Whole from `low` up to the present; nothing is left to ask.
  case toPresent
  /// The newest part of a run that has not reached its goal.
  case runAtPresent
  /// Joined to a run whose low end was here.
  case run(to: Position)
  /// Joined to a run that was whole from here up, and is up to there now.
  case extended(from: Position, to: Position)
  /// The first part of a run that nothing known is above.
  case begun
  /// By itself.
  case apart
}

extension PageMerge {
  mutating func insert(
    _ claim: PageClaim, low: Position, _ standing: Standing, hides hidden: SpanSet.Span? = nil
  ) throws(StoreFailure) {
    (answer.low, answer.high) = (claim.low, claim.high)
    try tx.quarantineTable.clearQuarantine(record.cid, low: claim.low, high: claim.high)
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
      (answer.low, answer.high) = (low, .max)
    case .runAtPresent:
      absentHigh = .max
      answer.high = .max
    case .run(let high):
      proven.insert(low, high)
      // What is joined below a range is as settled as that range: they are doubted together.
      if ranges.spans.span(holding: high) != nil { highest = max(highest, high) }
    case .extended(let from, let to):
      proven.insert(from, to)
    case .apart where !job.stage.isReaching:
      // A tail that does not reach the present tops no watermark.
      highest = max(highest, settledNow)
    case .begun, .apart:
      break
    }
    let shown = proven
    let limit = limit(of: proven, standing)
    highest = min(highest, limit)
    proven.remove(claim.holes)
    for piece in proven.spans {
      let high = min(piece.high, highest)
      doubtTop(below: SpanSet.Span(low: piece.low, high: high))
      ranges.spans.insert(piece.low, high)
      if job.stage.isReaching { answer.settled.insert(piece.low, min(high, settledNow)) }
    }
    ranges.spans.remove(claim.holes)
    for piece in claim.pieces {
      let high = min(piece.high, limit)
      answer.claimed.insert(piece.low, high)
      job.evidence.shown.insert(piece.low, high)
      ranges.unverified.remove(piece.low, high)
      ranges.stale.remove(piece.low, high)
    }
    try setAside(claim)
    if let hidden, hidden.low < hidden.high {
      try tx.quarantineTable.quarantine(
        record.cid, bytes: [], reason: BadItem.wholePageCode, low: hidden.low,
        high: hidden.high)
    }
    // A run goes on over what its earlier pages could not read.
    try hideUnreadable(in: shown)
    try passUnreadable(shown)
    try judge(
      from: absentLow, to: absentHigh, asOf: answer.issued, seen: answer.ids, holes: claim.holes)
    switch standing {
    case .toPresent, .runAtPresent: try closeGroup(claim, low: low, runTop: .max)
    case .run(let high): try closeGroup(claim, low: low, runTop: high)
    case .begun: try closeGroup(claim, low: low, runTop: .min)
    case .extended, .apart: break
    }
  }

  /// What earlier pages of the run have shown is whole, but for what was purged since.
  mutating func claim(from low: Position, to high: Position) {
    ranges.spans.insert(SpanSet().inserting(low, high: high).without(job.run.purged).spans)
  }

  /// A claim behaves as if what came another way had come after it: it ends below the timestamp
  /// group of the lowest such row. Of a run that is since its first page was asked for.
  private mutating func limit(of proven: SpanSet, _ standing: Standing) -> Position {
    guard let low = proven.spans.first?.low, let high = proven.newest?.high,
      let open = scheme.open(low, high)
    else { return .max }
    switch standing {
    case .toPresent, .runAtPresent, .begun:
      job.run.issued = answer.issued
      job.run.limit = nil
    case .apart:
      return lowestPushed(in: open, after: answer.issued) ?? .max
    case .run, .extended:
      break
    }
    return limit(in: open)
  }

  /// The same for what the whole run claims now.
  mutating func limit(in open: SpanSet.Span?) -> Position {
    guard let open else { return .max }
    let issued = job.run.issued ?? answer.issued
    job.run.issued = issued
    if let boundary = lowestPushed(in: open, after: issued) {
      job.run.limit = min(job.run.limit ?? .max, boundary)
      answer.isBehind = true
    }
    return job.run.limit ?? .max
  }

  /// Up to where a claim reaches of what came another way since its page was asked for.
  func lowestPushed(in open: SpanSet.Span, after issued: UInt64) -> Position? {
    // Where all that is committed is pushed, nothing can have come beside what was.
    if receivesAll { return nil }
    return memory.pushed.lowest(
      in: record.cid, from: open.low, to: open.high, after: issued, besides: answer.ids,
      or: job.run.shownPushes
    ).map { .before(timestampGroup: $0.time) }
  }

  /// A page of a walk adds to its run what lies below the run only. A row at its upper end in a
  /// group that the run has passed, and that the run had not shown, came another way.
  mutating func limitByLateRows(_ claim: PageClaim, passed: Position) throws(StoreFailure) {
    let reaches = job.stage.isReaching
    guard let top = reaches ? .max : job.catchUp.present, let open = scheme.open(passed, top) else {
      return
    }
    // What was purged and is shown again was there before.
    var late = ingested.insertedAt.filter { !job.run.purged.holds($0) }
    if !memory.pushed.isEmpty {
      late.append(contentsOf: ingested.items.compactMap { $0 }.filter { isPushedLate($0.id) })
    }
    late = late.filter { open.contains($0) }
    if let row = lateInOpenGroup { late.append(row) }
    for position in late {
      let low = Position.before(timestampGroup: position.time)
      if claim.low <= low, .after(timestampGroup: position.time) <= claim.high { continue }
      job.run.limit = min(job.run.limit ?? .max, low)
      if reaches {
        ranges.spans.remove(low, .after(timestampGroup: position.time))
      } else {
        answer.isBehind = true
        try endTrust(at: low)
      }
    }
  }

  /// A row of the group that the run is walking, above all that this page shows again of it.
  private var lateInOpenGroup: Position? {
    guard let open = job.run.openGroup else { return nil }
    let group = ingested.items.compactMap { $0 }.filter { $0.time == open.time }
    guard let newest = group.lastIndex(where: { open.seen.contains($0.id) }),
      let above = group.dropFirst(newest).dropFirst().first
    else { return nil }
    // Where it is not known which end is the upper one, both go on beyond what is shown again.
    if !scheme.knowsOrder, group.first.map({ open.seen.contains($0.id) }) ?? true { return nil }
    return above
  }

  /// Whether a row came another way since the run began, and no page of it has shown it before.
  private func isPushedLate(_ id: [UInt8]) -> Bool {
    let pushed = PushedID(cid: record.cid, id: id)
    guard let lsn = memory.pushed.lsn(of: pushed), !job.run.shownPushes.contains(pushed) else {
      return false
    }
    return lsn > job.run.issued ?? answer.issued
  }

  /// A page that brings a row into a range that was whole, without claiming the row's timestamp
  /// group, makes that group a gap. From the watermark's own group on, trust ends there.
  mutating func doubtInsertions(into whole: SpanSet) throws(StoreFailure) {
    for position in ingested.insertedAt where whole.span(holding: position) != nil {
      let time = position.time
      guard
        let group = scheme.open(.before(timestampGroup: time), .after(timestampGroup: time)),
        !answer.claimed.covers(group.low, high: group.high)
      else { continue }
      ranges.spans.remove(group.low, group.high)
      guard let fetch = record.fetch, position >= fetch.newest else { continue }
      try endTrust(at: group.low)
      answer.isBehind = true
    }
  }

  /// What the watermark tops was read when messages within the overlap were still to come.
  /// Only a catch-up asks for that part again: no other page joins its end from above.
  private mutating func doubtTop(below piece: SpanSet.Span) {
    guard job.stage.isReaching, let fetch = record.fetch,
      let bound = scheme.bound(fetch)?.position,
      let top = scheme.open(bound, fetch.boundary)?.high
    else { return }
    guard piece.low <= top, top < piece.high, let span = ranges.spans.touching(top),
      span.high == top
    else { return }
    ranges.spans.remove(max(bound, span.low), top)
  }

  /// Of what was inserted, the places of unreadable items stay gaps.
  mutating func hideUnreadable(in shown: SpanSet) throws(StoreFailure) {
    for span in shown.spans {
      ranges.spans.remove(try tx.quarantined(record.cid, from: span.low, to: span.high))
    }
  }

  /// Counts places of unreadable items as seen once all around them was shown: by this
  /// page, by those before it, or by what was known, such places among it.
  private mutating func passUnreadable(_ shown: SpanSet) throws(StoreFailure) {
    job.evidence.passed = job.evidence.passed.union(shown)
    var known = job.evidence.passed.union(ranges.stored)
    known.insert(try tx.quarantined(record.cid, seen: true))
    for span in known.spans
    where shown.spans.contains(where: { $0.low <= span.high && span.low <= $0.high }) {
      try tx.quarantineTable.seeQuarantine(record.cid, low: span.low, high: span.high)
    }
  }

  /// Where claims must end for now: a message stamped within the overlap may still
  /// appear, and only the watermark knows to ask for it.
  private var ceiling: Position {
    if job.stage.isReaching {
      guard let fetch = scheme.lateTop(record) else { return .max }
      return max(.after(fetch.time), settledNow)
    }
    guard job.catchUp.bound != nil, let top = job.catchUp.top else { return .max }
    return scheme.settled(below: top)
  }

  /// Up to where no message can come to be stamped any more.
  private var settledNow: Position {
    memory.server.scheme.settled(at: memory.server.time)
  }

  /// Keeps the unreadable items with their place.
  mutating func setAside(_ claim: PageClaim) throws(StoreFailure) {
    for (order, bad) in ingested.bad.enumerated() {
      answer.aside.note(bad.reason.code)
      let hole =
        claim.holes.indices.contains(order)
        ? claim.holes[order]
        : claim.holes.last ?? SpanSet.Span(low: .min, high: .min)
      try tx.quarantineTable.quarantine(
        record.cid, bytes: Array(frame[bad.range]), reason: bad.reason.code, low: hole.low,
        high: hole.high)
    }
  }

  // MARK: Absence

  /// Rows that a whole range does not show: leftovers of a lost epoch go, deletions
  /// where the profile says so or nothing else can tell any more; the rest is
  /// suspected until deletions are known.
  private mutating func judge(
    from low: Position, to high: Position, asOf issued: UInt64, seen: IDSet,
    holes: [SpanSet.Span]
  ) throws(StoreFailure) {
    // An answer that was asked for at `issued` says nothing of a row that came or changed
    // since, but where that was before the server was restored.
    let last = max(issued, max(record.restoredLSN, 1) &- 1)
    // Where the server forgets deletions, rows that were not judged are unverified: all are judged.
    let until = memory.server.profile.deletionHorizonUs > 0 ? UInt64(clamping: Int64.max) : last
    var top = high
    while low < top {
      let rows = try tx.rows(
        record.cid, from: low, to: top, until: until, limit: Limits.readRowsMax)
      for row in rows where !seen.contains(row.position.id) {
        if row.lsn > last {
          job.evidence.shown.remove(row.position, row.position.successor)
        } else if !holes.contains(where: { $0.contains(row.position) }) {
          try judge(row)
        }
      }
      guard rows.count == Limits.readRowsMax, let lowest = rows.last?.position else { return }
      top = lowest
    }
  }

  /// Judges a row that an answer did not show.
  private mutating func judge(_ row: StoredRow) throws(StoreFailure) {
    let isLeftover = row.lsn < record.restoredLSN
    // What contradicts itself takes nothing away.
    if job.evidence.isContradicted { return }
    if !isLeftover, row.timeUs >= settled.us,
      memory.pushed.contains(PushedID(cid: record.cid, id: row.position.id))
    {
      // A push may be faster than the commit behind it.
      job.evidence.unsettled.insert(row.position.id)
    } else if isLeftover || memory.server.profile.absenceIsDeletion
      // A row that only an import brought says nothing of the server.
      || row.flags.contains(.imported)
      || ranges.unverifiedBefore.span(holding: row.position) != nil
        && !memory.restores.isDoubted(row.position.id, in: record.id)
    {
      // No tombstone: an answer that shows it again is believed.
      if try tx.remove(row.position, record.cid) != nil { job.status.removed += 1 }
    } else if job.evidence.suspects.count < Limits.pageItemsMax {
      if memory.restores.isDoubted(row.position.id, in: record.id) {
        // A claim around a suspected row does not verify it.
        ranges.unverified.insert(row.position, row.position.successor)
      }
      job.evidence.suspects.append(row.position.id)
    }
  }

  /// Messages stamped from here on may still be committing on the server: any of them,
  /// while its time is not known.
  private var settled: ServerTime {
    memory.server.time.map { $0.saturating(minus: memory.server.overlapUs) } ?? .min
  }

  /// Judges the timestamp group that a run's low end cut, once the run has passed it, and
  /// opens the one that the low end cuts now. A run that begins below it shows nothing of it.
  private mutating func closeGroup(
    _ claim: PageClaim, low: Position, runTop: Position
  ) throws(StoreFailure) {
    if let open = job.run.openGroup, runTop < .after(timestampGroup: open.time) {
      job.run.openGroup = nil
    }
    if var open = job.run.openGroup {
      open.seen.insert(all: claim.rows.filter { $0.time == open.time }.map(\.id))
      job.run.openGroup = open
      guard low <= .before(timestampGroup: open.time) else { return }
      let (bottom, top) = (
        Position.before(timestampGroup: open.time), Position.after(timestampGroup: open.time)
      )
      try judge(
        from: bottom, to: top, asOf: open.issued, seen: open.seen,
        holes: try tx.quarantined(record.cid, from: bottom, to: top))
      job.run.openGroup = nil
      if top <= job.run.limit ?? .max {
        answer.claimed.insert(bottom, top)
        job.evidence.shown.insert(bottom, top)
        ranges.unverified.remove(bottom, top)
        ranges.stale.remove(bottom, top)
      }
    }
    guard !scheme.endsAreExact, let time = claim.rows.first?.time,
      low == .after(timestampGroup: time)
    else { return }
    let seen = claim.rows.prefix { $0.time == time }.map(\.id)
    job.run.openGroup = OpenTimestampGroup(time: time, issued: answer.issued, seen: IDSet(seen))
  }
}
