/// What one window knows: its list, its wishes, and what it waits for.
///
/// A look reads one committed state of the store: the changes since the last look,
/// the trusted ranges, and what the wishes load. All of it becomes one step of the
/// list. Afterwards it says what to ask of the network; nothing here asks by itself.
internal import Base
internal import Store
internal import Timeline

struct WindowState: LiveQueryState {
  var config: WindowConfig
  /// Whether it shows what the cache has.
  var fetchPolicy: FetchPolicyState
  var list: WindowList
  var isClosed = false
  var pendingConversation = PendingConversation()
  var feed = FeedCursor()
  var connection: WindowConnection
  var loads = WindowLoads()
  var requested = WindowRequests()
  var trust = WindowTrust()
  var view = WindowView()
  var ends = WindowEnds()
  /// Lists of items that stand over it.
  var items: [ItemsState] = []
  /// Splits were held back before this look.
  private(set) var holds = false

  init(_ config: WindowConfig) {
    self.config = config
    list = WindowList(rowsMax: config.rowsMax)
    connection = WindowConnection(isFollowing: config.follows)
    fetchPolicy = FetchPolicyState(config.choice)
    switch config.at {
    case .latest: loads.wishes = [.newest(config.count)]
    default:
      loads.wishes = [PendingLoad(.place(config.at), want: config.count, atGap: .ask)]
      loads.wishes[0].leads = true
    }
  }

  // MARK: The core's news

  /// Takes what stands on the board: ends of syncs, and a new connection.
  mutating func observe(_ snapshot: inout SharedSnapshot, number: UInt64) {
    if connection.observe(snapshot, config.conversation) {
      trust.beginAgain()
      ends.beginAgain()
      loads.beginAgain()
    }
    fetchPolicy.asOfUs = snapshot.asOf[number] ?? 0
    for end in snapshot.ends.removeValue(forKey: number) ?? [] {
      for request in requested.take(end) {
        if request.kind == .live { fetchPolicy.hasFailed = end.trouble != nil }
        if case .refresh(let low, let high) = request.kind { trust.refreshed.insert(low, high) }
        if end.trouble == .cancelled, request.kind == .live { connection.liveAsked = nil }
      }
    }
  }

  /// The present is asked for right after this look.
  var isLiveNext: Bool { connection.isUp && isLiveDue && connection.isFollowing }

  /// Nobody has asked for the present on this connection.
  var isLiveDue: Bool { !connection.isLiveAsked && !config.isCacheOnly }

  /// Entries and keys read so far: the cost that tests hold to the change.
  var read: Int { feed.read }

  // MARK: The host's wishes

  /// False where nothing lies there.
  mutating func load(_ load: Load) throws(Failure) -> Bool {
    let atGap: PendingLoad.AtGap = load.isPastGaps ? .show : .ask
    requested.trouble = nil
    view.isMarkerUnknown = false
    switch load.kind {
    case .initial:
      return show(newestOf: load.count, replacing: true)
    case .last:
      return show(newestOf: load.count, replacing: false)
    case .before(let number):
      let row = try number == 0 ? 0 : self.row(number)
      guard let item = list[row] else { return show(newestOf: load.count, replacing: false) }
      if row == 0, isAtStart { return false }
      var wish = PendingLoad(.older(item.position), want: load.count, atGap: atGap)
      wish.leads = true
      loads.replace(wish)
      view.focus = item.position
    case .after(let number):
      let row = try number == 0 ? list.count - 1 : self.row(number)
      guard let item = list[row] else { return show(newestOf: load.count, replacing: false) }
      if row == list.count - 1, isAtEnd, !ends.gaps.behind { return false }
      let behind = row >= list.row(from: lastSent ?? .max) ? wishBehind(load.count) : nil
      var wish =
        behind ?? PendingLoad(.newer(item.position.successor), want: load.count, atGap: atGap)
      wish.leads = true
      loads.replace(wish)
      view.focus = item.position
    case .around(let at):
      var wish = PendingLoad(.place(at), want: load.count, atGap: atGap)
      wish.leads = true
      loads.replace(wish)
    }
    return true
  }

  private mutating func show(newestOf count: Int, replacing: Bool) -> Bool {
    if replacing {
      loads.wishes = []
      view.anchor = 0
      view.shown = nil
      loads.isReplaced = true
    }
    loads.replace(.newest(count, leads: true))
    // The present could not be had: once more.
    if requested.troubled == .live { connection.liveAsked = nil }
    view.focus = nil
    return true
  }

  private func row(_ number: UInt64) throws(Failure) -> Int {
    guard let row = list.row(ofNumber: number) else {
      throw .notFound("no row of the window has this number")
    }
    return row
  }

  /// False where no gap lies before the row.
  mutating func fill(row: Int) throws(Failure) -> Bool {
    guard row >= 0, row <= list.count else { throw .invalid("no such row") }
    let low = list[row - 1]?.position.successor ?? .min
    let high = list[row]?.position ?? .max
    let isEnd = row == list.count
    if list.isEmpty ? !ends.gaps.before : isEnd && isAtEnd && !ends.gaps.behind { return false }
    if !isEnd, row > 0, list[row]?.splitBefore == false { return false }
    if row == 0, list.spans.covers(low, high: high) { return false }
    let isGap =
      isEnd
      ? isAtEnd || list.isEmpty || !isCached(from: low)
      : !list.spans.covers(low, high: high.isPending ? list.spans.newest?.high ?? high : high)
    if isGap, !connection.isUp || config.isCacheOnly { throw .offline }
    requested.trouble = nil
    if list.isEmpty {
      ends.refilled = nil
      refill()
      if loads.wishes.isEmpty { return show(newestOf: config.count, replacing: false) }
      return true
    }
    view.focus = isEnd ? low : high
    if isEnd {
      loads.replace(
        wishBehind(Limits.windowLoadMax)
          ?? PendingLoad(.newer(low), want: config.count, atGap: .ask))
    } else {
      loads.replace(
        PendingLoad(.fill(from: high, to: low), want: Limits.windowLoadMax, atGap: .ask))
    }
    return true
  }

  private func isCached(from position: Position) -> Bool {
    list.spans.span(holding: position) != nil
  }

  /// True where only the next poll brings what is to be loaded for it.
  mutating func show(first: Int, count: Int) throws(Failure) -> Bool {
    guard first >= 0, count >= 0, first <= list.count else { throw .invalid("no such row") }
    let last = first + min(count, list.count - first) - 1
    guard count > 0, let low = list[first]?.position, let high = list[last]?.position else {
      view.shown = nil
      return false
    }
    view.shown = SpanSet.Span(low: low, high: high.successor)
    view.focus = list[(first + last) / 2]?.position
    return config.preloads && preload(around: first...last)
  }

  mutating func trim(first: Int, count: Int) throws(Failure) {
    guard first >= 0, count >= 0, first <= list.count else { throw .invalid("no such row") }
    // A load that replaces all rows was asked for: these leave, and what it brings stays.
    if loads.isReplaced { return }
    let rows = first..<first + min(count, list.count - first)
    loads.wishes = loads.wishes.filter { isWanted($0, keeping: rows) }
    if rows.count < list.count {
      for index in loads.wishes.indices { loads.wishes[index].isTrimmed = true }
    }
    var kept = list.loaded(keeping: rows)
    if let low = list[rows.lowerBound]?.position, low.isPending, !rows.isEmpty {
      // It goes right above what the server has when it is confirmed.
      let sent = SpanSet().inserting(lastSent?.successor ?? .min, high: low)
      kept = kept.union(list.loaded.intersection(sent))
    }
    loads.kept = kept
  }

  /// Whether a wish goes on from a row that stays, and brings none back that leaves.
  private func isWanted(_ wish: PendingLoad, keeping rows: Range<Int>) -> Bool {
    guard let low = list[rows.lowerBound]?.position, !rows.isEmpty,
      let high = list[rows.upperBound - 1]?.position
    else { return false }
    let isLast = rows.upperBound == list.count
    switch wish.aim {
    case .older(let edge): return rows.lowerBound == 0 && (edge <= high || isLast)
    case .newer(let edge): return isLast && low < edge
    case .fill(let edge, _): return low < edge && (edge <= high || isLast && isAtEnd)
    case .place, .beside: return true
    }
  }

  // MARK: A look

  /// Moves the list to the state that `rx` sees.
  mutating func look(
    _ rx: ReadTransaction, fresh snapshot: FreshRanges, nowMs: Int64
  ) throws(StoreFailure) -> [DiffOp] {
    holds = list.heldUntilMs != nil
    ends.isOfLog = rx.positionsMove
    // What the host trimmed away is not lost.
    ends.stoodAtEnd = loads.kept == nil && standsAtEnd
    let found = try rx.conversation(config.conversation)
    if try notesUnmade(found, rx) { return letGo(nowMs) }
    guard let record = found else {
      askBlindly()
      ends.gaps.before = true
      return []
    }
    var change = WindowChange()
    let wasLoaded = list.loaded
    var loaded = loads.kept ?? wasLoaded
    if loads.isReplaced { loaded = SpanSet() }
    // One that was made here takes the server's name, or becomes one that was known.
    config.conversation = record.id
    if feed.cid != record.cid {
      feed.cid = record.cid
      feed.seq = try rx.feedReader.lastChange()
      change.isWhole = true
    } else {
      try applyChanges(rx, in: record.cid, change: &change)
    }
    var spans = list.spans
    let wasUnverified = trust.unverified
    if change.isWhole || change.spans != nil {
      spans = record.trusted(try rx.spans(record.cid), rx)
      change.spans = spans
      trust.unverified = try rx.unverified(record.cid)
      trust.quarantined = try rx.quarantined(record.cid, seen: true)
    }
    change.redrawn = wasUnverified.difference(with: trust.unverified)
    noteVerified(snapshot[record.cid], change: &change)
    noteGap(loaded: &loaded, change: change)
    try applyMoves(rx, in: record.cid, spans: spans, loaded: &loaded, change: &change)
    try joinFilledGaps(rx, in: record.cid, loaded: &loaded, change: &change)
    if change.isWhole { try reload(rx, in: record.cid, loaded: loaded, change: &change) }
    if !loads.wishes.isEmpty, !fetchPolicy.isShut {
      var loader = try CacheLoader(
        rx, of: record, spans: spans, loaded: loaded, isUp: connection.isUp)
      try grow(&loader)
      loaded = loader.loaded
      change.upsert(loader.keys)
    }
    try keepPending(rx, in: record.cid, loaded: &loaded, change: &change)
    try keepMoved(rx, in: record.cid, loaded: &loaded, change: &change)
    if loaded != list.loaded { change.loaded = loaded }
    feed.read += change.upserted.count + (change.spans?.spans.count ?? 0)
    change.focus = view.focus
    change.healing = healing(record, spans)
    hold(&change, nowMs)
    loads.kept = nil
    loads.isReplaced = false
    var ops = list.apply(change)
    dropEvictedWishes()
    let known = loads.wishes.count
    refill()
    if loads.wishes.count > known {
      ops += try grow(wishesFrom: known, rx, of: record, nowMs: nowMs)
    }
    ops += healAgain(record, spans, nowMs: nowMs)
    if change.spans != nil || !ops.isEmpty || wasLoaded != list.loaded || rx.positionsMove {
      try noteEdges(rx, of: record)
    }
    return ops
  }

  /// What the cache has of a wish that only the change itself gave cause for. The others wait for
  /// what they have just found missing, which nobody has asked for yet.
  private mutating func grow(
    wishesFrom first: Int, _ rx: ReadTransaction, of record: ConversationRecord, nowMs: Int64
  ) throws(StoreFailure) -> [DiffOp] {
    var loader = try CacheLoader(
      rx, of: record, spans: list.spans, loaded: list.loaded, isUp: connection.isUp)
    try grow(&loader, from: first)
    feed.read += loader.keys.count
    var change = WindowChange()
    if loader.loaded != list.loaded { change.loaded = loader.loaded }
    change.upserted = loader.keys
    change.focus = view.focus
    hold(&change, nowMs)
    let ops = list.apply(change)
    dropEvictedWishes()
    return ops
  }

  /// Wishes came and went with the change itself: what they settle is other splits now.
  private mutating func healAgain(
    _ record: ConversationRecord, _ spans: SpanSet, nowMs: Int64
  ) -> [DiffOp] {
    let healing = healing(record, spans)
    if healing == list.healing { return [] }
    var change = WindowChange()
    change.focus = view.focus
    change.healing = healing
    hold(&change, nowMs)
    return list.apply(change)
  }

  /// How long a split that heals is not drawn: from now on, or from when its catch-up is asked for.
  func hold(_ change: inout WindowChange, _ nowMs: Int64) {
    (change.nowMs, change.holdMs) = (nowMs, config.holdMs)
    change.holdFromMs = connection.healsFromMs
  }

  /// What settles splits: a catch-up those above what it starts from, a fill those in its gap.
  private func healing(_ record: ConversationRecord, _ spans: SpanSet) -> Healing {
    var healing = Healing()
    guard connection.isUp else { return healing }
    if ends.isOfLog { healing.opened = ends.opened }
    if connection.isHealing {
      healing.floor = spans.newest?.low ?? .min
      if let fetch = record.fetch {
        let top = fetch.boundary
        let known = spans.spans.last { $0.low <= top }
        healing.floor = known?.low ?? .min
      }
    }
    for wish in loads.wishes where wish.next != nil {
      if case .fill(let high, let low) = wish.aim, low < high {
        healing.fills.insert(low, high.successor)
      }
    }
    return healing
  }

  /// Rows that were stale and are verified now look different. That all are stale once a
  /// connection is lost is no step: the host knows of the connection.
  private mutating func noteVerified(_ now: SpanSet, change: inout WindowChange) {
    trust.fresh.eachDifference(from: now) { piece in
      if now.holds(piece.low) { change.redrawn.append(piece) }
    }
    trust.fresh = now
  }

  /// What the feed says of this conversation since the last look.
  private mutating func applyChanges(
    _ rx: ReadTransaction, in cid: Int64, change: inout WindowChange
  ) throws(StoreFailure) {
    let limit = Limits.windowChangesMax
    let found = try rx.feedReader.changes(since: feed.seq, limit: limit)
    guard case .entries(let entries) = found, entries.count < limit else {
      // Too many to be followed; mostly they are of other conversations.
      if case .entries = found {
        change.isWhole = try rx.feedReader.hasChanges(cid, after: feed.seq)
      }
      if case .resync = found { change.isWhole = true }
      feed.seq = try rx.feedReader.lastChange()
      return
    }
    feed.read += entries.count
    guard let last = entries.last else { return }
    var reads = 0
    for entry in entries where entry.cid == cid {
      change.spans = SpanSet()
      switch entry.kind {
      case .inserted, .updated, .removed, .purged: break
      default: continue
      }
      guard entry.first > 0, entry.first <= entry.last else { continue }
      let found = try rx.keys(numbers: entry.first...entry.last, in: cid, limit: limit)
      reads += found.count
      if reads >= limit {
        change.isWhole = true
        break
      }
      change.upsert(found)
      if entry.kind == .updated { change.touched += found.map(\.number) }
      if entry.kind != .inserted { markMissing(entry, found: found, change: &change) }
    }
    feed.seq = change.isWhole ? try rx.feedReader.lastChange() : last.seq
  }

  /// Rows of an entry that are not to be seen any more.
  private func markMissing(_ entry: ChangeEntry, found: [RowKey], change: inout WindowChange) {
    let there = Set(found.map(\.number))
    if entry.last - entry.first < UInt64(list.count) {
      for number in entry.first...entry.last where !there.contains(number) {
        change.removed.append(number)
      }
    } else {
      for item in list.items(0..<list.count)
      where item.number >= entry.first && item.number <= entry.last {
        if !there.contains(item.number) { change.removed.append(item.number) }
      }
    }
  }

  /// Everything that is loaded, read anew.
  private func reload(
    _ rx: ReadTransaction, in cid: Int64, loaded: SpanSet, change: inout WindowChange
  ) throws(StoreFailure) {
    change.removed = []
    change.upserted = []
    for span in loaded.spans {
      var low = span.low
      while true {
        let found = try rx.keys(cid, from: low, limit: Limits.readRowsMax, to: span.high)
        change.upsert(found)
        guard found.count >= Limits.readRowsMax, let last = found.map(\.position).max() else {
          break
        }
        low = last.successor
      }
    }
  }
}
