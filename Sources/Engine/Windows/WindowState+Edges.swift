/// The ends of a window: what lies beyond its first and its last row, and what it does
/// where its rows are gone.
///
/// Rule protected: a window never stands empty, or without the newest messages that it
/// follows, while there are more: it asks for them by itself, once for each end and
/// connection, and meanwhile says that a gap lies there.
internal import Base
internal import Store
internal import Timeline

extension WindowState {
  /// Whether it shows the newest messages and goes on with them.
  var isAtEnd: Bool { list.loaded.spans.last?.high == .max }

  /// Whether it wants the newest messages of a conversation of which nothing is known yet:
  /// only asking for the present tells of it.
  var wantsPresent: Bool {
    guard feed.cid == nil else { return false }
    return loads.wishes.contains { wish in
      switch wish.aim {
      case .older(let edge): edge == .max
      case .place(let at): at == .latest || at == .unread
      case .newer, .fill, .beside: false
      }
    }
  }

  /// Whether the first row is the conversation's first message.
  var isAtStart: Bool {
    guard let first = list.first?.position else { return false }
    return list.spans.covers(.min, high: first) && list.loaded.span(holding: first)?.low == .min
  }

  /// Where the last row that the server has stands; what is pending is behind the present.
  var lastSent: Position? { list.position(ofRow: list.row(from: .beforePending) - 1) }

  /// Whether that is a row of the newest that it shows.
  var standsAtEnd: Bool {
    isAtEnd && lastSent.map { list.loaded.joins($0, and: .max) } ?? false
  }

  /// Trusted ranges, and places of unreadable items, which no request can fill.
  private var passable: SpanSet {
    trust.quarantined.reduce(list.spans) { $0.inserting($1.low, high: $1.high) }
  }

  /// Where the rows went that a window shows, or the newest of those that follow the
  /// present, wishes for what stands there now.
  mutating func refill() {
    guard !list.loaded.isEmpty else { return }
    let last = lastSent
    if let last { ends.stood = list.position(ofRow: list.count / 2) ?? last }
    let known = passable
    guard isAtEnd ? lacksPresent(known, lastSent: last) : list.isEmpty && ends.stood != nil else {
      return
    }
    if loads.wishes.contains(where: { !isAtEnd || $0.reachesPresent }) { return }
    let end = known.newest?.low ?? list.loaded.spans.last?.low
    let place = (isAtEnd ? end : ends.stood) ?? .max
    let refill = Refill(connection: connection.number, place: place, isEmpty: list.isEmpty)
    if ends.refilled == refill { return }
    ends.refilled = refill
    // What is pending is among the newest, and is not what is missing.
    let pending = hasLostEnd ? list.count &- list.row(from: .beforePending) : 0
    loads.wishes.append(
      isAtEnd
        ? .newest(config.count &+ pending)
        : PendingLoad(.beside(place), want: config.count, atGap: .ask))
  }

  /// Whether nothing of the newest range is shown, and it is not all that there is; or what
  /// was shown behind rows that are not loaded is gone, as a message that was not sent.
  private func lacksPresent(_ known: SpanSet, lastSent: Position?) -> Bool {
    if let last = list.position(ofRow: list.count - 1), !list.loaded.joins(last, and: .max) {
      return true
    }
    // Who trimmed to what is pending wants no more.
    if lastSent == nil, !list.isEmpty { return ends.stoodAtEnd }
    guard let newest = known.newest?.low else { return lastSent == nil }
    if let lastSent, lastSent >= newest { return hasLostEnd }
    return newest != .min || !list.loaded.covers(.min, high: .max)
  }

  /// What stood at the end is gone, but for what is pending, and what lies below was not loaded.
  private var hasLostEnd: Bool {
    guard ends.stoodAtEnd, isAtEnd, let lastSent else { return false }
    return !list.loaded.joins(lastSent, and: .max)
  }

  /// A gap that opens below the newest messages is not loaded: what jumps and searches bring
  /// of it stands far from what the window shows.
  mutating func noteGap(loaded: inout SpanSet, change: WindowChange) {
    guard let spans = change.spans else { return }
    if var high = spans.newest?.low, high > list.spans.newest?.high ?? .min,
      loaded.spans.last?.high == .max
    {
      // The newest range is another one: between it and the range below all is unknown.
      let floor = spans.spans.dropLast().last?.high ?? .min
      var row = list.row(from: high) - 1
      while high > floor, let position = list[row]?.position {
        let low = position.successor
        if low < high, !spans.covers(low, high: high) {
          loaded.remove(low, high)
          ends.opened.insert(low, high)
        }
        high = position
        row -= 1
      }
    }
  }

  /// Once such a gap is whole it belongs to the window.
  mutating func joinFilledGaps(
    _ rx: ReadTransaction, in cid: Int64, loaded: inout SpanSet, change: inout WindowChange
  ) throws(StoreFailure) {
    guard let spans = change.spans, !ends.opened.isEmpty else { return }
    let gaps = ends.opened.without(loaded).spans
    ends.opened = SpanSet()
    for gap in gaps {
      // Where what stood beside it was let go, the window no longer wants it.
      guard loaded.spans.contains(where: { $0.high == gap.low }),
        loaded.spans.contains(where: { $0.low == gap.high })
      else { continue }
      ends.opened.insert(gap.low, gap.high)
      guard spans.covers(gap.low, high: gap.high) else { continue }
      let found = try rx.keys(cid, from: gap.low, limit: Limits.readRowsMax, to: gap.high)
      if found.count >= Limits.readRowsMax { continue }
      loaded.insert(gap.low, gap.high)
      change.upsert(found)
    }
  }

  /// What is pending goes below what is pending when the server confirms it, and so does
  /// what others send meanwhile: no bound of a window at the present lies above that place.
  func keepPending(
    _ rx: ReadTransaction, in cid: Int64, loaded: inout SpanSet, change: inout WindowChange
  ) throws(StoreFailure) {
    guard let last = loaded.spans.last, last.high == .max, last.low.isPending else { return }
    let low = try rx.newest(cid)?.successor ?? .min
    let found = try rx.keys(cid, from: low, limit: Limits.readRowsMax, to: last.low)
    // Where more is pending than the window holds, the newest of it is what is shown.
    guard list.count + found.count <= config.rowsMax else { return }
    loaded.insert(low, .max)
    change.upsert(found)
  }

  /// A row that is shown and takes another place within its time stays: the end that it would
  /// pass goes with it.
  func keepMoved(
    _ rx: ReadTransaction, in cid: Int64, loaded: inout SpanSet, change: inout WindowChange
  ) throws(StoreFailure) {
    if change.isWhole || rx.positionsMove { return }
    for key in change.upserted where !loaded.holds(key.position) {
      guard let old = list.position(ofNumber: key.number), old.time == key.position.time,
        old != key.position, let span = loaded.span(holding: old)
      else { continue }
      let (low, high) =
        key.position < span.low
        ? (key.position, span.low) : (span.high, key.position.successor)
      loaded.insert(low, high)
      change.upsert(try rx.keys(cid, from: low, limit: Limits.readRowsMax, to: high))
    }
  }

  /// What the gap flags say, as of this state of the store.
  mutating func noteEdges(
    _ rx: ReadTransaction, of record: ConversationRecord
  ) throws(StoreFailure) {
    let cid = record.cid
    ends.gaps = Edges()
    guard let first = list.position(ofRow: 0), let last = lastSent else {
      // Without a row the gap is whatever may be hidden.
      ends.gaps.before = list.spans.newest.map { !list.spans.covers(.min, high: $0.high) } ?? true
      return
    }
    if !list.spans.covers(.min, high: first) {
      let below = try rx.keys(cid, before: first, limit: 1, from: nil).first?.position
      ends.gaps.before = below.map { !list.spans.joins($0, and: first) } ?? true
    }
    if isAtEnd, list.loaded.joins(last, and: .max) {
      ends.gaps.behind =
        list.spans.newest.map { last < $0.low && $0.low != last.successor } ?? false
      if !record.reachesPresent(list.spans, rx) { ends.gaps.behind = true }
      return
    }
    let above = try rx.keys(cid, from: last.successor, limit: 1, to: nil).first?.position
    if let above, !above.isPending {
      ends.gaps.behind = !list.spans.joins(last, and: above)
    } else {
      ends.gaps.behind = !(list.spans.newest?.contains(last) ?? false) || record.fetch == nil
    }
  }

  /// What asks for the gap between the last row and the present.
  func wishBehind(_ want: Int) -> PendingLoad? {
    guard isAtEnd, ends.gaps.behind, let low = lastSent?.successor,
      let high = passable.newest?.low, low < high
    else { return nil }
    return PendingLoad(.fill(from: high, to: low), want: want, atGap: .ask)
  }
}

extension PendingLoad {
  /// It brings the newest messages.
  fileprivate var reachesPresent: Bool {
    if case .older(.max) = aim { return true }
    return false
  }
}
