/// A window over places that move: what it has loaded, and where it is, goes with its rows.
internal import Base
internal import Store
internal import Timeline

extension WindowState {
  /// Brings what is loaded, wished for and on the screen to where the rows of the list are now.
  mutating func applyMoves(
    _ rx: ReadTransaction, in cid: Int64, spans: SpanSet, loaded: inout SpanSet,
    change: inout WindowChange
  ) throws(StoreFailure) {
    guard rx.positionsMove, !list.isEmpty, !loaded.isEmpty else { return }
    var keys = change.upserted
    if change.isWhole {
      keys = []
      for item in list.items(0..<list.count) where !item.position.isPending {
        keys.append(contentsOf: try rx.keys(numbers: item.number...item.number, in: cid, limit: 1))
      }
    }
    let moves = list.moves(keys, in: loaded)
    if moves.isEmpty { return }
    let present: Position?
    (loaded, present) = list.loaded(loaded, after: moves, trusted: spans)
    if let present {
      change.upsert(try rx.keys(cid, from: present, limit: Limits.readRowsMax, to: nil))
    }
    for place in moves.sorted {
      try join(place, rx, in: cid, spans: spans, loaded: &loaded)
    }
    shiftWishes(moves, loaded: loaded)
  }

  /// A row that moved is loaded together with those that it stands beside, where nothing can come
  /// between them or they stood beside each other before.
  private func join(
    _ place: Position, _ rx: ReadTransaction, in cid: Int64, spans: SpanSet,
    loaded: inout SpanSet
  ) throws(StoreFailure) {
    guard let own = try rx.keys(cid, from: place, limit: 1, to: place.successor).first else {
      return
    }
    let below = try rx.keys(cid, before: place, limit: 1, from: nil).first
    let above = try rx.keys(cid, from: place.successor, limit: 1, to: nil).first
    for key in [below, above].compactMap({ $0 }) where loaded.holds(key.position) {
      let (low, high) = (min(key.position, place), max(key.position, place))
      guard spans.joins(low, and: high) || list.wereNeighbours(key.number, own.number) else {
        continue
      }
      loaded.insert(low, high.successor)
    }
  }

  private mutating func shiftWishes(_ moves: WindowList.Moves, loaded: SpanSet) {
    func now(_ place: Position) -> Position { list.place(of: place, after: moves) }
    for index in loads.wishes.indices {
      switch loads.wishes[index].aim {
      case .older(let edge): loads.wishes[index].aim = .older(now(edge))
      case .newer(let edge): loads.wishes[index].aim = .newer(now(edge))
      case .beside(let edge): loads.wishes[index].aim = .beside(now(edge))
      case .fill(let high, let low):
        loads.wishes[index].aim = .fill(from: now(high), to: now(low))
      case .place: break
      }
    }
    var opened = SpanSet()
    for gap in ends.opened.spans {
      var (low, high) = (now(gap.low), now(gap.high))
      // A row that moved is loaded from its own position on, and not from that of its place.
      high = loaded.spans.first { $0.low.time == high.time && $0.low >= high }?.low ?? high
      if low < high { opened.insert(low, high) }
    }
    ends.opened = opened
    view.focus = view.focus.map(now)
    ends.stood = ends.stood.map(now)
    if let shown = view.shown {
      let (low, high) = (now(shown.low), now(shown.high))
      // If its ends moved past each other, the range stays until rows are shown again.
      if low < high { view.shown = SpanSet.Span(low: low, high: high) }
    }
  }
}
