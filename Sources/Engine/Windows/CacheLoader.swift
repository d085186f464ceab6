/// How a window grows: what a wish loads from the cache, and what it must ask for.
///
/// A wish leaves from a boundary and wants so many visible messages on one side of
/// it. It walks the trusted ranges, where the cache is whole; at a gap it stops and
/// asks, or goes on with what is cached beyond, leaving a split. It is judged anew
/// at each poll, so answers, pushes and other windows all move it on.
internal import Base
internal import Store
internal import Timeline

/// One walk over the cache on behalf of a window's wishes.
struct CacheLoader {
  let rx: ReadTransaction
  let cid: Int64
  /// Trusted ranges, and places of unreadable items, which no request can fill.
  let passable: SpanSet
  /// Nothing newer than the newest range is on the server, as far as was heard.
  let endsAtPresent: Bool
  /// Whether gaps may be asked for now.
  let isUp: Bool
  var loaded: SpanSet
  /// Rows of what was loaded.
  var keys: [RowKey] = []

  init(
    _ rx: ReadTransaction, of record: ConversationRecord, spans: SpanSet, loaded: SpanSet,
    isUp: Bool
  ) throws(StoreFailure) {
    self.rx = rx
    cid = record.cid
    self.isUp = isUp
    self.loaded = loaded
    var passable = spans
    passable.insert(try rx.quarantined(record.cid, seen: true))
    self.passable = passable
    endsAtPresent = record.reachesPresent(spans, rx)
  }

  /// The oldest and the newest of the keys from an index on.
  func ends(of first: Int) -> (low: Position, high: Position)? {
    let places = keys[first...].map(\.position)
    guard let low = places.min(), let high = places.max() else { return nil }
    return (low, high)
  }

  /// What became of a wish.
  enum Outcome {
    case done
    /// A gap lies in the way, and what would fill it.
    case gap(SyncRequest.Kind, want: Int)
  }

  // MARK: Older

  /// So many rows are a picture also where nothing can be asked for.
  private static let pictureMin = 8

  /// Loads up to `want` rows below `top`, down to `floor`; `asks` where the rest of a gap is asked
  /// for, now or once there is a connection.
  mutating func older(
    from top: Position, want: Int, showsBeyond: Bool, floor: Position = .min, asks: Bool = false
  ) throws(StoreFailure) -> (Outcome, isSatisfied: Bool) {
    var edge = top
    var left = want
    while left > 0, edge > floor {
      guard let bottom = bottom(below: edge) else {
        // What is cached below the newest range never stands for the newest messages.
        let mayDo = top < .max || left < want
        return try olderAtGap(
          edge, left: left, showsBeyond: showsBeyond, mayDo: mayDo, asks: asks,
          shown: want - left)
      }
      let low = max(bottom, floor)
      let found = try rx.keys(cid, before: edge, limit: left, from: low)
      keys += found
      if found.count >= left, let first = found.map(\.position).min() {
        loaded.insert(first, edge)
        return (.done, true)
      }
      loaded.insert(low, edge)
      left -= found.count
      edge = low
    }
    return (.done, true)
  }

  /// The older end of the trusted range that reaches up to `edge`. What lies above the
  /// newest range is the present, not a gap.
  private func bottom(below edge: Position) -> Position? {
    if edge == .max { return passable.newest?.low }
    guard let span = passable.spans.last(where: { $0.low < edge }) else { return nil }
    if edge <= span.high { return span.low }
    return span == passable.newest && loaded.covers(edge, high: .max) ? span.low : nil
  }

  private mutating func olderAtGap(
    _ edge: Position, left: Int, showsBeyond: Bool, mayDo: Bool, asks: Bool,
    shown: Int
  ) throws(StoreFailure) -> (Outcome, isSatisfied: Bool) {
    var isSatisfied = false
    if showsBeyond {
      let found = try rx.keys(cid, before: edge, limit: left, from: nil)
      isSatisfied = mayDo && found.count >= left
      // What a page showed of the timestamp group that it cut stands alone above a split. A window
      // begins behind it, where that leaves it most of what it wants, or most of what there is
      // while the rest is asked for.
      let isCut = found.allSatisfy { .after(timestampGroup: $0.position.time) == edge }
      let isMost = shown >= left
      let begins =
        shown >= Self.pictureMin ? isUp || shown >= found.count : isUp && shown >= found.count
      if isCut, isMost || asks && begins {
        isSatisfied = isSatisfied && isMost
      } else {
        keys += found
        if let first = found.map(\.position).min() { loaded.insert(first, edge) }
      }
    }
    return (.gap(.below(edge), want: left), isSatisfied)
  }

  // MARK: Newer

  /// Loads up to `want` rows from `bottom` on. Whether the newest range ends at the
  /// present is known only where it was caught up.
  mutating func newer(
    from bottom: Position, want: Int, showsBeyond: Bool, isCaughtUp: Bool
  ) throws(StoreFailure) -> (Outcome, isSatisfied: Bool) {
    var edge = bottom
    var left = want
    while left > 0, edge < .max {
      guard let span = passable.span(holding: edge) else {
        if isCaughtUp, endsAtPresent, edge >= passable.newest?.high ?? .min {
          let found = try rx.keys(cid, from: edge, limit: left, to: nil)
          keys += found
          if found.count >= left, let last = found.map(\.position).max() {
            loaded.insert(edge, last.successor)
          } else {
            loaded.insert(edge, .max)
          }
          return (.done, true)
        }
        var isSatisfied = false
        if showsBeyond {
          let found = try rx.keys(cid, from: edge, limit: left, to: nil)
          keys += found
          if let last = found.map(\.position).max() { loaded.insert(edge, last.successor) }
          isSatisfied = found.count >= left
        }
        return (.gap(.above(edge), want: left), isSatisfied)
      }
      let found = try rx.keys(cid, from: edge, limit: left, to: span.high)
      keys += found
      if found.count >= left, let last = found.map(\.position).max() {
        loaded.insert(edge, last.successor)
        return (.done, true)
      }
      loaded.insert(edge, span.high)
      left -= found.count
      edge = span.high
    }
    return (.done, true)
  }

  // MARK: Places

  /// Where a place is, and whether the cache is whole there.
  enum Found {
    case at(RowKey, isTrusted: Bool)
    /// What is looked for lies in the gap behind this boundary, or is this row.
    case behind(Position, RowKey)
    /// Behind everything that is stored.
    case latest
    case unknown
  }

  func find(_ at: At) throws(StoreFailure) -> Found {
    switch at {
    case .latest:
      return .latest
    case .unread:
      guard let position = try rx.firstUnread(cid) else { return .unknown }
      if let found = try findByCount() { return found }
      let found = try row(at: position)
      let below = try rx.rows(cid, from: .min, to: position, limit: 1, newestFirst: true).first
      let read = [below?.position, try rx.unreadReader.readMarker(cid)].compactMap { $0 }.max()
      guard case .at(let key, _) = found, !passable.covers(read?.successor ?? .min, high: position)
      else { return found }
      return read.map { .behind($0.successor, key) } ?? .at(key, isTrusted: false)
    case .message(let id):
      guard let position = try rx.place(ofID: id, in: cid) else { return .unknown }
      if position.isPending { return .latest }
      return try row(at: position)
    case .time(let time):
      return try find(time: time)
    }
  }

  /// The message that the marker names is not to be had: so many are unread as the server counts
  /// from it, and the oldest of them is the first.
  private func findByCount() throws(StoreFailure) -> Found? {
    guard try rx.unreadReader.namedMarker(cid) != nil,
      let count = try rx.unreadReader.unreadAboveNowhere(cid),
      (1...Limits.markerWalkMax).contains(count),
      let newest = passable.newest
    else { return nil }
    if let place = try rx.unread(cid, fromNewest: count, downTo: newest.low) {
      return try row(at: place)
    }
    // It stands below the newest range, or the server counts what is not shown.
    guard newest.low > .min,
      let first = try rx.keys(cid, from: newest.low, limit: 1, to: newest.high).first
    else { return nil }
    return .at(first, isTrusted: false)
  }

  private func row(at position: Position) throws(StoreFailure) -> Found {
    let found = try rx.keys(cid, from: position, limit: 1, to: position.successor)
    guard let key = found.first else { return .unknown }
    return .at(key, isTrusted: passable.span(holding: position) != nil)
  }

  /// The first row at or after a time is that of the server only where nothing can
  /// lie between it and the row before.
  private func find(time: Int64) throws(StoreFailure) -> Found {
    let after = try rx.messages(RowQuery(cid: cid, from: .atTime(time), limit: 1))
    let before = try rx.messages(RowQuery(cid: cid, from: .beforeTime(time), limit: 1))
    let low = before.count == 0 ? .min : before.position(at: 0).successor
    guard after.count > 0 else { return before.count == 0 ? .unknown : .latest }
    let position = after.position(at: 0)
    guard let key = try rx.keys(cid, from: position, limit: 1, to: position.successor).first else {
      return .unknown
    }
    // All up to the time is known, and right behind it begins what is not.
    if position.time == after[0].timeUs,
      let span = passable.touching(.before(timestampGroup: time)),
      span.high > .min, position > span.high
    {
      return .behind(span.high, key)
    }
    return .at(key, isTrusted: passable.covers(low, high: position.successor))
  }
}
