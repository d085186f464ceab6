/// Going elsewhere than to the present: which request fills a gap, for each kind of server.
///
/// A server that pages by keys (`before`) is asked for all below the edge's own timestamp group and
/// up, so nothing can hide between two pages; one that finds messages (`around`) for the
/// page around the edge's message; one that keeps the oldest of a cut answer for all
/// after the edge. Otherwise offsets are searched, and `BackwardPagination` or
/// `ForwardPagination` prove the joins.
/// Under numbers a selection by time may leave out what was committed late, so it is
/// never used to go on from an edge.
///
/// `planGapFill` chooses by what is wanted; what a page then changes, and whether it goes on, is in
/// `PageMerge+GapFill.swift`; `SyncJob.wireRequest` makes the request.
///
/// Rule protected: where a capability is missing the way is longer, not less safe.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncPlanner {
  /// Sets the first request of what a job is about beyond catching up.
  func planGapFill(
    _ job: inout SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) -> Step {
    job.run.issued = nil
    job.run.limit = nil
    if job.caughtUp.isNone { job.caughtUp = .passedOver }
    // One page at least: it shares a few messages with what is known.
    job.aim.wanted = max(job.aim.wanted, 1)
    if case .at(let id) = job.request.kind, !memory.server.can(.around),
      try tx.row(id, record.cid) == nil
    {
      return .ended(.unsupported("the server finds no message"))
    }
    guard let stage = try firstStage(&job, of: record) else { return .ended(nil) }
    job.stage = stage
    return .next
  }

  /// The first stage of what a job is about; nil where that is known.
  private func firstStage(
    _ job: inout SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage? {
    let known = try passable(record, by: job)
    var goal = Goal()
    switch job.request.kind {
    case .live, .count, .conversations, .all:
      return nil
    case .latest, .older:
      guard let edge = try lowestKnown(known, of: record) else { return nil }
      if job.request.kind == .latest {
        goal.floor = job.aim.floor ?? .min
        job.aim.wanted = job.aim.isBounded ? Limits.lookMax : .max
        guard edge > goal.floor else { return nil }
      }
      return try planBelow(goal, of: job, from: edge, known: known, of: record)
    case .below(let wanted):
      let place = try onServer(wanted, of: record)
      goal.endsJoined = true
      let edge = known.touching(place)?.low ?? edge(above: place, known: known)
      if edge > place {
        // What stands between them is known already, and is not what was wanted.
        let known = try tx.count(record.cid, from: place, to: edge)
        job.aim.wanted = min(job.aim.wanted, .max - known) + known
      }
      return edge == .min
        ? nil : try planBelow(goal, of: job, from: edge, known: known, of: record)
    case .above(let wanted):
      let place = try onServer(wanted, of: record)
      goal.endsJoined = true
      let span = known.touching(place)
      if let span, span == known.newest, job.isLive || memory.live.isLive(record.id),
        let fetch = record.fetch, span.high >= fetch.boundary
      {
        // This is the range that follows the present.
        return nil
      }
      return try planAbove(goal, from: span?.high ?? place, known: known, of: record)
    case .at(let id):
      guard let row = try tx.row(id, record.cid) else { return spot(.aroundID(id), goal) }
      return try planAround(
        goal, of: job, place: row.position, known: known, of: record)
    case .marker:
      return try planAtMarker(&job, of: record, asks: true)
    case .near(let place):
      return try planAround(
        goal, of: job, place: try onServer(place, of: record), known: known, of: record)
    case .time(let time):
      return try planAround(goal, of: job, time: ServerTime(us: time), known: known, of: record)
    case .refresh(let low, let wanted):
      let high = try onServer(wanted, of: record)
      goal.floor = low
      goal.jumps = false
      job.aim.wanted = .max
      return try planRefresh(goal, of: job, to: high, known: known, of: record)
    }
  }

  /// Where the newest range ends below; nil where that is the beginning. A newest page that hides
  /// something inside one second claims nothing: the way begins above its rows then.
  private func lowestKnown(
    _ known: SpanSet, of record: ConversationRecord
  ) throws(StoreFailure) -> Position? {
    guard let newest = known.newest else { return try tx.newest(record.cid)?.successor }
    return newest.reachesStart ? nil : newest.low
  }

  /// The message that a page was to be laid around is gone on the server: the longer way.
  func planWithoutSpot(_ job: SyncJob) throws(StoreFailure) -> SyncStage? {
    let record = try tx.conversation(creating: job.request.conversation)
    let known = try passable(record, by: job)
    var goal = job.goal
    goal.isStuck = true
    switch job.request.kind {
    case .above:
      return try planAbove(goal, from: goal.from, known: known, of: record)
    case .near(let place):
      return try planAround(goal, of: job, place: place, known: known, of: record)
    default:
      return try planBelow(goal, of: job, from: goal.from, known: known, of: record)
    }
  }

  private func spot(_ spot: Spot, _ goal: Goal) -> SyncStage {
    .gap(GapFill(goal: goal, way: .spot(spot)))
  }

  /// What is on its way stands behind all that the server has: a window's place among it
  /// is the place behind the newest message.
  private func onServer(
    _ place: Position, of record: ConversationRecord
  ) throws(StoreFailure) -> Position {
    guard place.isPending else { return place }
    return try tx.newest(record.cid)?.successor ?? .min
  }

  /// The boundary below which to go on from a place that no range holds.
  ///
  /// The rows of the timestamp group that a cut page ends in are shown and in no range, for others
  /// of that timestamp group may lie beyond the cut. The range ends right above the timestamp
  /// group, so the way goes on from there: the next page overlaps the range and shows all of the
  /// timestamp group.
  private func edge(above place: Position, known: SpanSet) -> Position {
    let end = Joining.runLow(place, ties: scheme.ties)
    return known.spans.contains { $0.low == end } ? end : place
  }

  // MARK: Down

  /// Goes on below a boundary.
  func planBelow(
    _ goal: Goal, of job: SyncJob, from edge: Position, known: SpanSet,
    of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage {
    var goal = goal
    goal.from = edge
    let span = known.touching(edge)
    if let key = memory.server.key(below: edge, record) {
      // Without a known range the selection itself is the upper end.
      let low = span == nil || !goal.jumps ? key.top : edge
      return older(BackwardPagination(low: low, above: 0, ties: scheme.ties), by: key, goal)
    }
    if let span, span == known.newest, job.isLive || memory.live.isLive(record.id) {
      let above = try tx.count(record.cid, from: edge, to: .max)
      return older(BackwardPagination(low: edge, above: above, ties: scheme.ties), goal)
    }
    if memory.server.can(.around), goal.jumps, !goal.isStuck,
      let row = try tx.rows(
        record.cid, from: edge, to: .max, limit: 1, newestFirst: false
      ).first, span?.contains(row.position) ?? false
    {
      return spot(.aroundID(row.position.id), goal)
    }
    // So that the page shows a few rows of the range, too.
    let below = try memory.offsets.offset(below: edge, in: span, of: record, tx: tx)
      .map { max(0, $0 - 4) }
    return search(goal, target: edge, of: record, first: below)
  }

  private func older(
    _ pages: BackwardPagination, by key: PositionScheme.Key? = nil, _ goal: Goal
  ) -> SyncStage {
    .gap(GapFill(goal: goal, way: .older(BackwardWalk(pages: pages, key: key))))
  }

  private func search(
    _ goal: Goal, target: Position, of record: ConversationRecord, first: Int? = nil
  ) -> SyncStage {
    let total = record.totalCount.map { Int(clamping: $0) }
    let limit = pageLimit
    let search = OffsetSearch(target: target, total: total, limit: limit, first: first)
    return .gap(GapFill(goal: goal, way: .search(search)))
  }

  // MARK: Up

  /// Goes on above a boundary.
  func planAbove(
    _ goal: Goal, from edge: Position, known: SpanSet, of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage {
    var goal = goal
    goal.from = edge
    if profile.truncates == .oldest, !goal.isStuck,
      let form = memory.server.form(of: record),
      let tail = scheme.tail(above: edge, form: form)
    {
      return spot(.after(tail), goal)
    }
    let span = known.touching(edge)
    // Without a range only the message that the edge names is surely beside it.
    let low = span?.low ?? .min
    let top = span == nil ? edge.successor : edge
    var rows = try tx.rows(record.cid, from: low, to: top, limit: 50, newestFirst: true)
      .map(\.position)
    if memory.server.can(.around), !goal.isStuck, let beside = rows.first,
      span != nil || beside == edge || beside.successor == edge
    {
      return spot(.aroundID(beside.id), goal)
    }
    // Without a known range the run is empty and begins with the timestamp group.
    let high = span == nil && scheme.ties == .unknown ? .before(timestampGroup: edge.time) : edge
    let guess = try memory.offsets.offset(below: high, in: span, of: record, tx: tx)
    if guess == nil, !goal.isStuck, let key = key(above: edge, rows, record) {
      return spot(.before(key), goal)
    }
    if span == nil { rows = [] }
    let stored = try tx.count(record.cid, from: high, to: .max)
    let pages = ForwardPagination(
      high: high, index: guess ?? stored, rows: rows.ascending(), ties: scheme.ties)
    return .gap(GapFill(goal: goal, way: .forward(pages)))
  }

  /// The selection for the page above a boundary, on servers that page by keys: one that ends
  /// where, by how close together messages stood below, a page of them ends.
  private func key(
    above edge: Position, _ rows: [Position], _ record: ConversationRecord
  ) -> PositionScheme.Key? {
    guard let low = rows.last?.time else { return nil }
    let lived = max(0, min(edge.time.saturating(minus: low), WatermarkPolicy.leapUs))
    let reach =
      lived / Int64(clamping: rows.count)
      * Int64(clamping: max(1, pageLimit - 8))
    let (time, isFar) = edge.time.addingReportingOverflow(reach)
    return isFar || reach <= 0
      ? nil : memory.server.key(below: .before(timestampGroup: time), record)
  }

  // MARK: Anywhere

  /// The last message read, by its id, or by how many unread ones stand above it at least. Where
  /// nothing is known of it the server is asked.
  func planAtMarker(
    _ job: inout SyncJob, of record: ConversationRecord, asks: Bool
  ) throws(StoreFailure) -> SyncStage? {
    let goal = Goal()
    guard let id = try tx.unreadReader.namedMarker(record.cid) else {
      return asks ? try tx.unreadReader.readMarker(record.cid) == nil ? .asking : nil : nil
    }
    if memory.server.can(.around) {
      return spot(.aroundID(id), goal)
    }
    guard let count = try tx.unreadReader.countedUnread(record.cid) else { return nil }
    job.turn.pages = 0
    let limit = pageLimit
    let search = OffsetSearch(target: .min, total: nil, limit: limit, first: count - limit / 2)
    return .gap(GapFill(goal: goal, way: .search(search)))
  }

  /// What a window shows is asked for again. Rows that stand in a gap are few, and no range says
  /// at which offset.
  private func planRefresh(
    _ goal: Goal, of job: SyncJob, to high: Position, known: SpanSet,
    of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage? {
    let low = goal.floor
    guard low < high else { return nil }
    if memory.server.can(.around), !memory.server.can(.before),
      let row = try tx.rows(record.cid, from: low, to: high, limit: 1, newestFirst: true).first,
      !known.holds(row.position)
    {
      var goal = goal
      goal.from = high
      return spot(.aroundID(row.position.id), goal)
    }
    return try planBelow(goal, of: job, from: high, known: known, of: record)
  }

  private func planAround(
    _ goal: Goal, of job: SyncJob, place: Position, known: SpanSet,
    of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage? {
    if let span = known.span(holding: place), span.low < place { return nil }
    if memory.server.can(.around) {
      if !place.id.isEmpty, !goal.isStuck, try tx.row(place.id, record.cid) != nil {
        return spot(.aroundID(place.id), goal)
      }
      if let time = scheme.time(at: place.time),
        let form = memory.server.form(of: record)
      {
        return spot(.aroundTime(form.printed(time)), goal)
      }
    }
    // The place itself belongs to the page.
    if let key = memory.server.key(below: place.successor, record) {
      return older(BackwardPagination(low: key.top, above: 0, ties: scheme.ties), by: key, goal)
    }
    let edge = edge(above: place, known: known)
    if edge > place {
      return try planBelow(goal, of: job, from: edge, known: known, of: record)
    }
    return search(goal, target: place, of: record)
  }

  /// A page around a time. Under numbers a time is looked for among the times of pages,
  /// which follow the numbers closely enough to come near.
  private func planAround(
    _ goal: Goal, of job: SyncJob, time wanted: ServerTime, known: SpanSet,
    of record: ConversationRecord
  ) throws(StoreFailure) -> SyncStage? {
    // What the host names may lie outside of all that can be printed.
    let time = min(max(wanted, WatermarkPolicy.earliest), WatermarkPolicy.latest)
    if let place = scheme.boundary(at: time) {
      return try planAround(goal, of: job, place: place, known: known, of: record)
    }
    if memory.server.can(.around),
      let form = memory.server.form(of: record)
    {
      return spot(.aroundTime(form.printed(time)), goal)
    }
    return search(goal, target: .before(time), of: record)
  }
}

extension SpanSet {
  /// The range that a boundary lies in or at the end of.
  func touching(_ boundary: Position) -> Span? {
    if let span = span(holding: boundary) { return span }
    return spans.last { $0.low <= boundary && boundary <= $0.high }
  }
}
