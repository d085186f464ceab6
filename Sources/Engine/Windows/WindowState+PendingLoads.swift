/// A window's wishes on one state of the store: which are done, which must ask.
///
/// The present comes before what is older, and a place before what surrounds it. A
/// wish that was answered and did not move gives up and takes what the cache has, so
/// that no window asks for ever.
internal import Base
internal import Store
internal import Timeline

extension WindowState {
  /// Lets every wish load what it can, and forgets those that have what they want.
  mutating func grow(_ loader: inout CacheLoader, from first: Int = 0) throws(StoreFailure) {
    let pending = loads.wishes[first...]
    loads.wishes.removeSubrange(first...)
    for wish in pending { try grow(wish, loader: &loader) }
  }

  private mutating func grow(_ pending: PendingLoad, loader: inout CacheLoader)
    throws(StoreFailure)
  {
    var wish = pending
    wish.grown = nil
    wish.meanwhile = nil
    let mayAsk = !config.isCacheOnly && !wish.hasGivenUp && wish.atGap != .show
    let showsBeyond = wish.atGap != .ask || !mayAsk || !connection.isUp
    let known = loader.keys.count
    let result: (outcome: CacheLoader.Outcome, isSatisfied: Bool)
    switch wish.aim {
    case .older(let edge):
      result = try loader.older(
        from: edge, want: wish.want, showsBeyond: showsBeyond, asks: mayAsk)
      wish.grown = loader.ends(of: known)
      // What is older may come with the page of the present.
      if edge == .max, mayAsk, requested.isLivePending || isLiveNext, !result.isSatisfied {
        keep(wish, asking: nil)
        return
      }
    case .newer(let edge):
      result = try loader.newer(
        from: edge, want: wish.want, showsBeyond: showsBeyond,
        isCaughtUp: connection.isCaughtUp || !connection.isUp || !mayAsk)
    case .fill(let high, let low):
      result = try loader.older(from: high, want: wish.want, showsBeyond: false, floor: low)
    case .place(let at):
      try grow(wish, at: at, mayAsk: mayAsk, loader: &loader)
      return
    case .beside(let place):
      if mayAsk, connection.isUp, !loader.passable.holds(place) {
        try resolve(wish, kind: .near(place), want: 0, mayAsk: true, loader: &loader)
      } else {
        try growBothSides(of: place, want: wish.want, atGap: wish.atGap, loader: &loader)
      }
      return
    }
    wish.grown = loader.ends(of: known)
    if wish.leads { lead(&wish, keys: loader.keys[known...]) }
    guard case .gap(let kind, let want) = result.outcome, !result.isSatisfied else { return }
    try resolve(wish, kind: kind, want: want, mayAsk: mayAsk, loader: &loader)
  }

  /// What a wish loaded and the bound sent away again at once is not loaded anew at each
  /// look: with it goes the wish. The window is full of what lies nearer to the user.
  mutating func dropEvictedWishes() {
    let loaded = list.loaded
    func isEvicted(_ ends: (low: Position, high: Position)?) -> Bool {
      guard let ends else { return false }
      return loaded.span(holding: ends.low) == nil || loaded.span(holding: ends.high) == nil
    }
    loads.wishes.removeAll { isEvicted($0.grown) }
    for index in loads.wishes.indices where isEvicted(loads.wishes[index].meanwhile) {
      loads.wishes[index].isTrimmed = true
    }
  }

  /// The bound keeps what was loaded now, and as much of where it was loaded from.
  private mutating func lead(_ wish: inout PendingLoad, keys: ArraySlice<RowKey>) {
    guard !keys.isEmpty else { return }
    if case .older(.max) = wish.aim {
      // Once: they are there now, and where the user is, he says himself.
      view.focus = nil
      wish.leads = false
      return
    }
    let places = keys.map(\.position).ascending()
    let reach = min(places.count, config.rowsMax / 2) - 1
    if case .newer = wish.aim {
      view.focus = places[reach]
    } else {
      view.focus = places[places.count - 1 - reach]
    }
  }

  /// Keeps a wish that needs an answer, unless it has had it and nothing moved.
  private mutating func resolve(
    _ wish: PendingLoad, kind: SyncRequest.Kind, want: Int, mayAsk: Bool,
    loader: inout CacheLoader
  ) throws(StoreFailure) {
    var wish = wish
    if mayAsk, let tried = wish.tried.last, kind.goesOn(tried),
      let pending = requested.open.first(where: { $0.request.kind == tried })
    {
      // What is under way moved the edge and goes on from there by itself.
      keep(wish, asking: pending.request)
    } else if mayAsk, wish.tried.contains(kind),
      !requested.open.contains(where: { $0.request.kind == kind })
    {
      wish.hasGivenUp = true
      try grow(wish, loader: &loader)
    } else if mayAsk {
      if connection.isUp { wish.remember(tried: kind) }
      keep(
        wish,
        asking: SyncRequest(
          conversation: config.conversation, kind: kind, want: want, isUrgent: true))
    } else if case .older(.max) = wish.aim, loader.keys.isEmpty, list.isEmpty {
      // An empty window takes whatever comes first.
      keep(wish, asking: nil)
    }
  }

  private mutating func keep(_ wish: PendingLoad, asking request: SyncRequest?) {
    var wish = wish
    wish.next = request
    loads.wishes.append(wish)
  }

  /// Looks for a place; once it is found, loads both sides of it.
  private mutating func grow(
    _ wish: PendingLoad, at: At, mayAsk: Bool, loader: inout CacheLoader
  ) throws(StoreFailure) {
    let marks = loader.rx.unreadReader
    if case .unread = at, mayAsk, connection.isUp, try marks.namedMarker(loader.cid) != nil {
      // What is cached says nothing of where the marker is; the present may. It is shown all the
      // same where nobody answers.
      let isLive = requested.isLivePending || isLiveNext
      let isAsked = requested.open.contains { $0.request.kind == .marker }
      if isLive || isAsked || !wish.tried.contains(.marker) {
        let wish = connection.isSilent ? try showMeanwhile(wish, loader: &loader) : wish
        if isLive { return keep(wish, asking: nil) }
        return try resolve(wish, kind: .marker, want: 0, mayAsk: true, loader: &loader)
      }
    }
    var found = try loader.find(at)
    if case .behind(let bound, let key) = found {
      if mayAsk, connection.isUp {
        let wish = try showBeside(key.position, wish, at: at, loader: &loader)
        return try resolve(
          wish, kind: .above(bound), want: wish.want, mayAsk: true, loader: &loader)
      }
      found = .at(key, isTrusted: true)
    }
    switch found {
    case .behind: break
    case .latest:
      try grow(.newest(wish.want), loader: &loader)
    case .at(let key, let isTrusted):
      if !isTrusted, mayAsk, connection.isUp {
        // The first row that is cached behind a gap is hardly the one that is meant.
        if case .time = at { return try growToUnknown(wish, at: at, mayAsk: true, loader: &loader) }
        if case .unread = at { return try growToUnread(wish, behind: key, loader: &loader) }
      }
      view.anchor = key.number
      if wish.leads { view.focus = key.position }
      loader.loaded.insert(key.position, key.position.successor)
      loader.keys.append(key)
      if isTrusted || !mayAsk {
        let atGap = wish.hasGivenUp ? PendingLoad.AtGap.show : wish.atGap
        return try growBothSides(of: key.position, want: wish.want, atGap: atGap, loader: &loader)
      }
      let known = loader.keys.count
      if !connection.isUp, !wish.isTrimmed {
        try showAround(key.position, want: wish.want, loader: &loader)
      }
      var wish = wish
      wish.meanwhile = loader.ends(of: known)
      wish.grown = (key.position, key.position)
      let kind: SyncRequest.Kind =
        if case .time(let time) = at { .time(time) } else { .near(key.position) }
      try resolve(wish, kind: kind, want: 0, mayAsk: mayAsk, loader: &loader)
    case .unknown:
      try growToUnknown(wish, at: at, mayAsk: mayAsk, loader: &loader)
    }
  }

  /// Looks for the first unread message below a row that stands behind a gap.
  private mutating func growToUnread(
    _ wish: PendingLoad, behind key: RowKey, loader: inout CacheLoader
  ) throws(StoreFailure) {
    if try loader.rx.unreadReader.readMarker(loader.cid) == nil {
      // Nobody has said where it is: the server is asked before anything is walked through.
      let isAsked = requested.open.contains { $0.request.kind == .marker }
      if isAsked || !wish.tried.contains(.marker) {
        return try resolve(wish, kind: .marker, want: 0, mayAsk: true, loader: &loader)
      }
      guard try isMarkerOnTheWay(loader.rx, loader.cid) else {
        // The newest page may show it.
        if requested.isLivePending || isLiveNext { return keep(wish, asking: nil) }
        view.isMarkerUnknown = true
        return try grow(.newest(wish.want), loader: &loader)
      }
    }
    try resolve(wish, kind: .below(key.position), want: wish.want, mayAsk: true, loader: &loader)
  }

  /// Whether the server named a marker, which is on the way back, or was, and so few messages are
  /// unread from there. Else nobody's history is walked through.
  private func isMarkerOnTheWay(_ rx: ReadTransaction, _ cid: Int64) throws(StoreFailure) -> Bool {
    guard let named = try rx.unreadReader.namedMarker(cid) else { return false }
    if try !rx.isDeleted(named, in: cid) { return true }
    return try rx.unreadReader.countedUnread(cid).map { $0 <= Limits.markerWalkMax } ?? false
  }

  private mutating func growBothSides(
    of place: Position, want: Int, atGap: PendingLoad.AtGap, loader: inout CacheLoader
  ) throws(StoreFailure) {
    try grow(PendingLoad(.older(place), want: want / 2, atGap: atGap), loader: &loader)
    try grow(PendingLoad(.newer(place), want: want - want / 2, atGap: atGap), loader: &loader)
  }

  /// The newest that is cached, until a place is known.
  private mutating func showMeanwhile(
    _ wish: PendingLoad, loader: inout CacheLoader
  ) throws(StoreFailure) -> PendingLoad {
    let known = loader.keys.count
    if !wish.isTrimmed {
      let isAtEnd = isAtEnd
      _ = try loader.older(from: .max, want: wish.want, showsBeyond: true)
      // What comes meanwhile may lie far from the place.
      let high = loader.ends(of: known)?.high.successor ?? .min
      if !isAtEnd { loader.loaded.remove(high, .max) }
    }
    var wish = wish
    wish.meanwhile = loader.ends(of: known)
    return wish
  }

  /// All up to a time is here, and is shown while what comes next is asked for.
  private func showBeside(
    _ place: Position, _ wish: PendingLoad, at: At, loader: inout CacheLoader
  ) throws(StoreFailure) -> PendingLoad {
    guard case .time = at, !wish.isTrimmed else { return wish }
    let known = loader.keys.count
    try showAround(place, want: wish.want, loader: &loader)
    var wish = wish
    wish.meanwhile = loader.ends(of: known)
    return wish
  }

  private mutating func growToUnknown(
    _ wish: PendingLoad, at: At, mayAsk: Bool, loader: inout CacheLoader
  ) throws(StoreFailure) {
    switch at {
    case .latest, .unread:
      // Nothing unread is known: the newest, until the present has answered.
      if connection.isUp, requested.isLivePending || isLiveNext, mayAsk {
        let wish = try showMeanwhile(wish, loader: &loader)
        keep(wish, asking: nil)
      } else if !wish.isTrimmed {
        try grow(.newest(wish.want), loader: &loader)
      }
    case .message(let id):
      if !mayAsk { requested.trouble = requested.trouble ?? .noMessage }
      try resolve(wish, kind: .at(id), want: 0, mayAsk: mayAsk, loader: &loader)
    case .time(let time):
      if !mayAsk {
        requested.trouble = requested.trouble ?? .notFound("there is no message at this time")
      }
      try resolve(wish, kind: .time(time), want: 0, mayAsk: mayAsk, loader: &loader)
    }
  }

  /// Nothing is known of the conversation: places are asked for all the same.
  mutating func askBlindly() {
    for index in loads.wishes.indices {
      loads.wishes[index].next = nil
      let kind: SyncRequest.Kind
      switch loads.wishes[index].aim {
      case .place(.message(let id)): kind = .at(id)
      case .place(.time(let time)): kind = .time(time)
      default: continue
      }
      if loads.wishes[index].hasGivenUp || config.isCacheOnly { continue }
      if loads.wishes[index].tried.contains(kind),
        !requested.open.contains(where: { $0.request.kind == kind })
      {
        loads.wishes[index].hasGivenUp = true
        requested.trouble = requested.trouble ?? .noMessage
        continue
      }
      if connection.isUp { loads.wishes[index].remember(tried: kind) }
      loads.wishes[index].next = SyncRequest(
        conversation: config.conversation, kind: kind, isUrgent: true)
    }
  }

  /// What is cached on both sides, gaps or not.
  private func showAround(
    _ position: Position, want: Int, loader: inout CacheLoader
  ) throws(StoreFailure) {
    // No more than stays, or each look would bring the rest and send it away again.
    let reach = config.rowsMax / 2 - 1
    _ = try loader.older(from: position, want: min(want / 2, reach), showsBeyond: true)
    _ = try loader.newer(
      from: position, want: min(want - want / 2, reach), showsBeyond: true, isCaughtUp: true)
  }
}

// MARK: What to ask, and how it stands

extension WindowState {
  /// What this window wants of the network now.
  func requests(fresh: FreshRanges) -> [SyncRequest] {
    if config.isCacheOnly { return [] }
    return loads.wishes.compactMap(\.next) + refresh(fresh)
  }

  /// Stale rows on screen, as one range; one request at a time, the newest first.
  private func refresh(_ fresh: FreshRanges) -> [SyncRequest] {
    if let pending = requested.open.first(where: { $0.request.kind.isRefresh }) {
      return [pending.request]
    }
    guard connection.isUp, !config.leavesStale, !requested.isLivePending, let shown = view.shown,
      let cid = feed.cid
    else { return [] }
    let good = fresh[cid].without(trust.unverified).union(trust.refreshed)
    // Rows beside what nobody can read are in no trusted range; pages show them all the same.
    var known = list.spans
    for hole in trust.quarantined where list.row(from: hole.low) < list.row(from: hole.high) {
      known.insert(hole.low, hole.high)
    }
    for rows in lone(in: shown, apartFrom: known) { known.insert(rows.low, rows.high) }
    let onScreen = known.intersection(SpanSet().inserting(shown.low, high: shown.high))
    for span in onScreen.spans.reversed() {
      let stale = good.gaps(in: span.low, high: span.high)
      guard let low = stale.first?.low, let high = stale.last?.high else { continue }
      return [
        SyncRequest(
          conversation: config.conversation, kind: .refresh(low, high), isUrgent: true)
      ]
    }
    return []
  }

  /// Rows on screen that stand in a gap below the newest range, a run of them at a time: the last
  /// ones before an absence, which may have late neighbours.
  private func lone(in shown: SpanSet.Span, apartFrom known: SpanSet) -> [SpanSet.Span] {
    guard let newest = list.spans.newest?.low else { return [] }
    return known.gaps(in: shown.low, high: min(shown.high, newest)).compactMap { gap in
      let rows = list.row(from: gap.low)..<list.row(from: gap.high)
      guard !rows.isEmpty, let first = list.position(ofRow: rows.lowerBound),
        let last = list.position(ofRow: rows.upperBound - 1)
      else { return nil }
      return SpanSet.Span(low: first, high: last.successor)
    }
  }

  var waiting: Waiting {
    if config.isCacheOnly || pendingConversation.isUnmade { return .nothing }
    let kinds = requested.open.map(\.request.kind) + loads.wishes.compactMap(\.next?.kind)
    if !connection.isUp { return connection.isFollowing || !kinds.isEmpty ? .connection : .nothing }
    return kinds.map(\.waiting).min { $0.rank < $1.rank } ?? .nothing
  }

  var status: WindowStatus {
    var status = WindowStatus()
    status.version = list.version
    status.checksum = list.checksum
    status.rowCount = list.count
    status.splitCount = list.splitCount
    status.waiting = waiting
    status.trouble = requested.trouble
    status.anchor = view.anchor
    status.isAtEnd = isAtEnd
    status.isAtStart = isAtStart
    status.hasGapBefore = ends.gaps.before
    status.hasGapAfter = ends.gaps.behind
    status.isMarkerUnknown = view.isMarkerUnknown
    status.basis = connection.isUp && connection.isCaughtUp ? .network : .cache
    status.asOfUs = fetchPolicy.asOfUs
    return status
  }
}

extension SyncRequest.Kind {
  fileprivate var isRefresh: Bool {
    if case .refresh = self { return true }
    return false
  }

  /// Whether it is the rest of what another asked for.
  fileprivate func goesOn(_ other: SyncRequest.Kind) -> Bool {
    switch (self, other) {
    case (.below(let mine), .below(let theirs)): mine < theirs
    case (.above(let mine), .above(let theirs)): theirs < mine
    default: false
    }
  }

  fileprivate var waiting: Waiting {
    switch self {
    case .at, .marker, .near, .time: .place
    case .latest, .live, .count, .conversations, .all: .present
    case .older, .below: .older
    case .above: .newer
    case .refresh: .refresh
    }
  }
}

extension Waiting {
  /// What the user misses most comes first.
  fileprivate var rank: Int {
    switch self {
    case .connection: 0
    case .place: 1
    case .present: 2
    case .older: 3
    case .newer: 4
    case .refresh: 5
    case .nothing: 6
    }
  }
}
