/// What of a log is as of this connection, and how rows on a screen come to be.
///
/// Rule protected: what reached the present on this connection is as of now, since each change is
/// an entry of it. Elsewhere only that is which a page of this connection showed: no entry of the
/// range reports what a server marks in place, or takes out.
internal import Base
internal import Store
internal import Timeline

/// Rows on a screen whose pages were not read on this connection: the lowest and the highest entry
/// of them, each with its place, where it stays if it is gone.
struct LogRefresh {
  var bottom: (id: [UInt8], place: Place)
  var top: (id: [UInt8], place: Place)
}

extension LogInput {
  /// - Parameter shown: entries whose copies are as of now.
  func fresh(_ step: LogStep, shown: [[UInt8]]) throws(StoreFailure) -> SpanSet {
    var fresh = SpanSet()
    var apart = SpanSet()
    for range in book.ranges where !range.isUnverified {
      if range.present?.connection == book.facts.connection {
        fresh.insert(range.low(from: range.low), range.top)
      } else {
        apart.insert(.before(range.low), range.top)
      }
    }
    guard !apart.isEmpty else { return fresh }
    // Where rows of a range went elsewhere, it is not known any more which were shown.
    for id in step.moved {
      guard let range = try book.range(of: id).map({ book.ranges[$0] }) else { continue }
      if apart.holds(.before(range.low)) { apart.remove(.before(range.low), range.top) }
    }
    let kept = effects.fresh.intersection(apart)
    var pieces: [Place: (low: Place, high: Place)] = [:]
    for id in shown {
      guard let row = try book.table.row(id), let at = book.range(holding: row.place),
        !book.ranges[at].isUnverified
      else { continue }
      let known = pieces[book.ranges[at].low] ?? (row.place, row.place)
      pieces[book.ranges[at].low] = (min(known.low, row.place), max(known.high, row.place))
    }
    for range in book.ranges {
      guard let piece = pieces[range.low] else { continue }
      fresh.insert(range.low(from: piece.low), .after(piece.high))
    }
    return fresh.union(kept)
  }
}

extension LogRange {
  fileprivate var top: Position { .after(high) }

  /// Where what begins at a place of it does: at the start of all, where it starts the log.
  fileprivate func low(from place: Place) -> Position {
    place == low && start != nil ? .min : .before(place)
  }
}

// MARK: Asking for it

extension LogSync {
  /// Reads a part of the list again, page by page, as far as it was not read on this connection.
  mutating func refresh(
    _ job: inout SyncJob, from low: Position, to high: Position
  ) throws(StoreFailure) -> Step {
    let limit = Self.place(below: high)
    guard let bottom = try book.table.first(above: low.place.saturating(minus: 1), through: limit),
      let top = try book.table.last(below: limit.saturating(plus: 1), from: bottom.place)
    else { return .ended(nil) }
    let refresh = LogRefresh(bottom: (bottom.id, bottom.place), top: (top.id, top.place))
    return try ask(for: refresh, after: [], &job)
  }

  /// The page that was asked for is there, or its entry is not: what is still stale is next.
  mutating func goOn(
    _ refresh: LogRefresh, after stage: LogStage, _ job: inout SyncJob
  ) throws(StoreFailure) -> Step {
    guard case .entry(let id) = stage.aim else { return .ended(nil) }
    guard stage.reread.count < LogWalk.idleMax else { return .ended(.incomplete) }
    // A page that does not show what it was asked for leads no further.
    if let row = try book.table.row(id),
      !input.effects.fresh.holds(Position(place: row.place, id: id))
    {
      return .ended(nil)
    }
    return try ask(for: refresh, after: stage.reread, &job)
  }

  private mutating func ask(
    for refresh: LogRefresh, after others: [[UInt8]], _ job: inout SyncJob
  ) throws(StoreFailure) -> Step {
    var refresh = refresh
    if let row = try book.table.row(refresh.bottom.id) { refresh.bottom.place = row.place }
    if let row = try book.table.row(refresh.top.id) { refresh.top.place = row.place }
    guard let row = try stale(from: refresh.bottom.place, through: refresh.top.place) else {
      return .ended(nil)
    }
    var stage = try LogStage(.entry(row.id), in: book)
    stage.reread = others + [row.id]
    stage.refresh = refresh
    return try goOn(stage, &job)
  }

  /// The message to ask around: half a page below the topmost entry that is not as of this
  /// connection. Where the server has lost it, it goes; what changed others stays with them.
  private func stale(from low: Place, through high: Place) throws(StoreFailure) -> LogRow? {
    guard low <= high else { return nil }
    let gaps = input.effects.fresh.gaps(
      in: .before(low), high: .after(high))
    let half = max(1, input.memory.server.profile.pageLimit / 2)
    for gap in gaps.reversed() {
      var rows: [LogRow] = []
      var top = Self.place(below: gap.high).saturating(plus: 1)
      var hasMessage = false
      while rows.count < half || !hasMessage,
        let row = try book.table.last(below: top, from: gap.low.place)
      {
        rows.append(row)
        top = row.place
        hasMessage = hasMessage || row.entry.change == nil
      }
      // Of less than half a page its middle.
      let isLess = rows.count < half
      rows.removeAll { $0.entry.change != nil }
      if !rows.isEmpty { return isLess ? rows[rows.count / 2] : rows.last }
    }
    return nil
  }

  /// The highest place of what ends at a boundary.
  static func place(below high: Position) -> Place {
    high.key.isEmpty ? high.place.saturating(minus: 1) : high.place
  }
}
