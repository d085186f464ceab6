/// What a page teaches of the order inside one printed time.
///
/// Comes after all that the page proves: to ranges, gaps and counts a time group is a set, so
/// nothing of what was claimed knows of the order, and marks of single rows go where those go.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension PageMerge {
  /// Which requests are listed as this one.
  var listing: TieLearner.Listing {
    switch job.stage {
    case .catchUp(let catchUp):
      if case .tail = catchUp.way { .afterTime } else { .others }
    case .gap(let gap):
      if case .spot(.after) = gap.way { .afterTime } else { .others }
    case .start, .deletions, .changes, .listing, .asking, .log:
      .others
    }
  }

  /// Notes which groups of a page that hides something do not stand by their ids.
  mutating func noteRanks() throws(StoreFailure) {
    for time in Set(ingested.items.lazy.compactMap { $0?.time }) {
      let group = try tx.timestampGroup(time, record.cid)
      if group.contains(where: { $0.position.rank != 0 }) { scheme.rankedTimes.insert(time) }
    }
  }

  /// Puts the groups of a page, which is at hand oldest first or not known to be, in its order.
  mutating func learnTies(
    of listing: TieLearner.Listing, run: OpenTimestampGroup?, climbs: Bool
  ) throws(StoreFailure) {
    guard scheme.learnsTies else { return }
    if memory.ties.isUnstable { return try noteUntaught() }
    for cid in memory.ties.takeTaught(besides: record.cid) {
      if let other = try tx.conversation(cid: cid) { answer.taught.append(other.id) }
    }
    for page in memory.ties.takeWaiting(in: record.cid) {
      try arrange(page.time, by: page.shown, new: [], waited: page)
    }
    let rows = ingested.bad.isEmpty ? ingested.items : ingested.items.filter { $0 != nil }
    guard let first = rows.first??.time, let last = rows.last??.time else { return }
    let isUnknown = memory.ties.isUnknown(listing)
    let isOne = rows.count > 1 && first == last && rows.allSatisfy { $0?.time == first }
    guard isUnknown ? isOne : memory.ties.descends(listing) != nil else {
      return try noteUntaught()
    }
    let pushedTimes = memory.pushed.times(in: record.cid)
    var start = 0
    while start < rows.count {
      let time = rows[start]?.time ?? first
      var end = start
      while end < rows.count, rows[end]?.time == time { end += 1 }
      defer { start = end }
      // Alone in the middle of a page it has no company but what came another way.
      let isEnd = start == 0 || end == rows.count
      if end - start == 1, !isEnd, !pushedTimes.contains(time) { continue }
      var shown = TieOrder.Shown(ids: [])
      shown.isClosedBelow = start > 0 || answer.low <= .before(timestampGroup: time)
      shown.isClosedAbove = end < rows.count || .after(timestampGroup: time) <= answer.high
      shown.ids = rows[start..<end].compactMap { $0?.id }
      if let run, run.time == time { shown.run = run.seen }
      // Asked for once more as the lowest one, which after arrivals it need not be.
      if rows.count == 1, let id = shown.ids.first, shown.run.contains(id) { continue }
      shown.climbs = climbs
      if isUnknown {
        var page = TieLearner.Waiting(
          cid: record.cid, time: time, issued: answer.issued, shown: shown)
        page.known.insert(all: try tx.timestampGroup(time, record.cid).map(\.position.id))
        memory.ties.wait(page, listing)
        try noteUntaught()
      } else {
        try arrange(time, by: shown, new: ingested.insertedAt)
      }
    }
  }

  /// The page shows messages of one time and does not tell their order: what is counted from one
  /// of them is a guess.
  private func noteUntaught() throws(StoreFailure) {
    for time in Array(Set(ingested.items.lazy.compactMap { $0?.time })).ascending()
    where try tx.timestampGroup(time, record.cid).count > 1 {
      try tx.note(orderOf: time, isKnown: false, in: record.cid)
    }
  }

  private mutating func arrange(
    _ time: Int64, by page: TieOrder.Shown, new: [Position], waited: TieLearner.Waiting? = nil
  ) throws(StoreFailure) {
    let stored = try tx.timestampGroup(time, record.cid)
    guard stored.count > 1, stored.count < Limits.readRowsMax else { return }
    // What came before this page was asked for is on the page where it belongs there, also where
    // the walk is older: another walk of the conversation may have brought it.
    let issued = waited?.issued ?? answer.issued
    let new = Set(new.lazy.filter { $0.time == time }.map(\.id))
    let rows = stored.map { row in
      let id = PushedID(cid: record.cid, id: row.position.id)
      return TieOrder.Row(
        position: row.position, isNew: new.contains(id.id),
        // Of a page that waited whatever was stored since came later, edited or not.
        isLate: memory.pushed.lsn(of: id).map { $0 > issued }
          ?? waited.map { !$0.known.contains(id.id) } ?? false,
        isPlaced: waited?.placed.contains(id.id) ?? false,
        isAhead: waited?.ahead.contains(id.id) ?? false)
    }
    let order = TieOrder.arranged(rows, by: page)
    let onPage = Set(page.ids)
    let shown = order.filter { onPage.contains($0.position.id) }
    let places = order.map(\.position)
    let isAhead = page.isClosedBelow && !page.isClosedAbove
    memory.ties.place(page.ids, isAhead: isAhead, at: time, in: record.cid)
    let isWhole = page.isClosedAbove && page.isClosedBelow
    guard memory.ties.teaches(shown, in: record.cid, isWhole: isWhole) else {
      return try tx.note(orderOf: time, isKnown: false, in: record.cid)
    }
    // A page that shows all that is stored of it has shown their order.
    if shown.count == stored.count {
      try tx.note(orderOf: time, isKnown: true, in: record.cid)
    }
    let ranks = TieOrder.ranks(for: places)
    guard zip(places, ranks).contains(where: { $0.rank != $1 }) else { return }
    var byID: [[UInt8]: Int] = [:]
    for (place, rank) in zip(places, ranks) { byID[place.id] = rank }
    let changed = stored.map { (row: $0, rank: byID[$0.position.id] ?? $0.position.rank) }
    try tx.rankTable.rerank(changed, at: time, in: record.cid)
    try tx.quarantineTable.widenQuarantine(record.cid, timestampGroup: time)
    let moves = changed.map { row, rank in
      (from: row.position, to: Position(time: time, rank: rank, id: row.position.id))
    }
    ranges.unverified.shiftRanks(moves, at: time)
    ranges.stale.shiftRanks(moves, at: time)
    ranges.spans.retreat(from: time)
    answer.moved.append(contentsOf: moves)
  }
}

extension SpanSet {
  /// Rows of a group have other places: what was said of one is said of it there.
  mutating func shiftRanks(_ moves: [(from: Position, to: Position)], at time: Int64) {
    let low = Position.before(timestampGroup: time)
    let high = Position.after(timestampGroup: time)
    if covers(low, high: high) || !spans.contains(where: { $0.low < high && low < $0.high }) {
      return
    }
    let held = moves.filter { holds($0.from) }.map(\.to)
    remove(low, high)
    for place in held { insert(place, place.successor) }
  }

  /// An end inside a group says nothing where the rows of the group change places: it goes to
  /// the group's boundary, away from what is claimed.
  fileprivate mutating func retreat(from time: Int64) {
    let low = Position.before(timestampGroup: time)
    let high = Position.after(timestampGroup: time)
    if !covers(low, high: high) { remove(low, high) }
  }
}
