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
  var gate: Gate
  var list: WindowList
  var isClosed = false
  /// The conversation's number, once it is known.
  var cid: Int64?
  var making = Making()
  /// It shows the newest messages in the place of the first unread one.
  var isMarkerUnknown = false
  /// The newest entry of the change feed that the list stands for.
  private var seq: UInt64 = 0
  var wishes: [PendingLoad] = []
  /// Requests without an end, by their number.
  private(set) var asked: [(sync: UInt64, request: SyncRequest)] = []
  /// Ranges whose deletions are not known any more.
  private(set) var unverified = SpanSet()
  /// Where all marks were verified on this connection, as of the last look.
  private var fresh = SpanSet()
  /// Places of items that could not be read.
  private(set) var poisoned: [SpanSet.Span] = []
  /// What the user sees, and what was refreshed for it on this connection.
  private(set) var shown: SpanSet.Span?
  private(set) var refreshed = SpanSet()
  /// Where too many rows must leave, those farthest from here go first.
  var focus: Position?
  var anchor: UInt64 = 0
  /// As of the last look.
  var edges = Edges()
  /// A place in the midst of its rows, while it had any.
  var stood: Position?
  var refilled: Refill?
  /// The ends from which a page was loaded ahead on this connection.
  var preloaded: (above: Position?, below: Position?)
  /// Gaps that opened below the newest messages, and are not loaded until they are whole.
  var opened = SpanSet()
  /// Lists of items that stand over it.
  var items: [ItemsState] = []
  var trouble: Failure?
  var logLines = LogLines()
  /// What it was that failed; the same going well again takes the trouble away.
  private var troubled: SyncRequest.Kind?
  private(set) var isUp = false
  private(set) var isSilent = false
  /// A catch-up of the conversation is due or under way.
  private var isHealing = false
  /// Splits were held back before this look.
  private(set) var holds = false
  /// Whether the newest range was caught up on this connection.
  private(set) var isCaughtUp = false
  private(set) var connections: UInt64 = 0
  /// The connection for which the present was asked.
  var liveAsked: UInt64?
  /// Entries and keys read so far: the cost that tests hold to the change.
  private(set) var read = 0
  /// Whether the core was told that this window shows the present.
  var isFollowing: Bool

  init(_ config: WindowConfig) {
    self.config = config
    list = WindowList(rowsMax: config.rowsMax)
    isFollowing = config.follows
    gate = Gate(config)
    switch config.at {
    case .latest: wishes = [.newest(config.count)]
    default:
      wishes = [PendingLoad(.place(config.at), want: config.count, atGap: .ask)]
      wishes[0].leads = true
    }
  }

  // MARK: The core's news

  /// Takes what stands on the board: ends of syncs, and a new connection.
  mutating func observe(_ snapshot: inout SharedSnapshot, number: UInt64) {
    let connections = snapshot.connections
    isCaughtUp = snapshot.caughtUp.contains(config.conversation)
    if connections != self.connections {
      self.connections = connections
      refreshed = SpanSet()
      fresh = SpanSet()
      preloaded = (nil, nil)
      for index in wishes.indices {
        wishes[index].beginAgain()
      }
    }
    isUp = snapshot.isUp
    isHealing = snapshot.catchingUp.contains(config.conversation)
    isSilent = snapshot.isSilent
    gate.asOfUs = snapshot.asOf[number] ?? 0
    for end in snapshot.ends.removeValue(forKey: number) ?? [] {
      for ask in asked where ask.sync == end.sync {
        if ask.request.kind == .live { gate.hasFailed = end.trouble != nil }
        if case .refresh(let low, let high) = ask.request.kind { refreshed.insert(low, high) }
        if end.trouble == .cancelled, ask.request.kind == .live { liveAsked = nil }
        if let failure = end.trouble, failure != .cancelled {
          trouble = failure
          troubled = ask.request.kind
        } else if ask.request.kind == troubled {
          trouble = nil
        }
      }
      asked.removeAll { $0.sync == end.sync }
    }
  }

  /// Nothing of what the host last wished for is to be done.
  mutating func forgetWishes() {
    wishes = []
    kept = nil
    isReplaced = false
  }

  mutating func didAsk(_ sync: UInt64, request: SyncRequest) {
    if asked.contains(where: { $0.sync == sync }) { return }
    asked.append((sync, request))
  }

  /// It is wanted no more.
  mutating func forget(_ sync: UInt64) {
    asked.removeAll { $0.sync == sync }
  }

  var isLivePending: Bool { asked.contains { $0.request.kind == .live } }

  /// The present is asked for right after this look.
  var isLiveNext: Bool {
    isUp && isFollowing && liveAsked != connections && !config.isCacheOnly
  }

  // MARK: The host's wishes

  /// False where nothing lies there.
  mutating func load(_ load: Load) throws(Failure) -> Bool {
    let atGap: PendingLoad.AtGap = load.isPastGaps ? .show : .ask
    trouble = nil
    isMarkerUnknown = false
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
      replace(wish)
      focus = item.position
    case .after(let number):
      let row = try number == 0 ? list.count - 1 : self.row(number)
      guard let item = list[row] else { return show(newestOf: load.count, replacing: false) }
      if row == list.count - 1, isAtEnd, !edges.behind { return false }
      let behind = row >= list.row(from: lastSent ?? .max) ? wishBehind(load.count) : nil
      var wish =
        behind ?? PendingLoad(.newer(item.position.successor), want: load.count, atGap: atGap)
      wish.leads = true
      replace(wish)
      focus = item.position
    case .around(let at):
      var wish = PendingLoad(.place(at), want: load.count, atGap: atGap)
      wish.leads = true
      replace(wish)
    }
    return true
  }

  private mutating func show(newestOf count: Int, replacing: Bool) -> Bool {
    if replacing {
      wishes = []
      anchor = 0
      shown = nil
      isReplaced = true
    }
    replace(.newest(count, leads: true))
    // The present could not be had: once more.
    if troubled == .live { liveAsked = nil }
    focus = nil
    return true
  }

  /// All that is loaded is to be let go at the next look.
  private(set) var isReplaced = false

  private func row(_ number: UInt64) throws(Failure) -> Int {
    guard let row = list.row(ofNumber: number) else {
      throw .notFound("no row of the window has this number")
    }
    return row
  }

  /// A new wish takes the place of one like it, and is where the user is now.
  private mutating func replace(_ wish: PendingLoad) {
    wishes.removeAll { $0.isLike(wish) }
    for index in wishes.indices { wishes[index].leads = false }
    wishes.append(wish)
  }

  /// False where no gap lies before the row.
  mutating func fill(row: Int) throws(Failure) -> Bool {
    guard row >= 0, row <= list.count else { throw .invalid("no such row") }
    let low = list[row - 1]?.position.successor ?? .min
    let high = list[row]?.position ?? .max
    let isEnd = row == list.count
    if list.isEmpty ? !edges.before : isEnd && isAtEnd && !edges.behind { return false }
    if !isEnd, row > 0, list[row]?.splitBefore == false { return false }
    if row == 0, list.spans.covers(low, high: high) { return false }
    let isGap =
      isEnd
      ? isAtEnd || list.isEmpty || !isCached(from: low)
      : !list.spans.covers(low, high: high.isPending ? list.spans.newest?.high ?? high : high)
    if isGap, !isUp || config.isCacheOnly { throw .offline }
    trouble = nil
    if list.isEmpty {
      refilled = nil
      refill()
      if wishes.isEmpty { return show(newestOf: config.count, replacing: false) }
      return true
    }
    focus = isEnd ? low : high
    if isEnd {
      replace(
        wishBehind(Limits.windowLoadMax)
          ?? PendingLoad(.newer(low), want: config.count, atGap: .ask))
    } else {
      replace(PendingLoad(.fill(from: high, to: low), want: Limits.windowLoadMax, atGap: .ask))
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
      shown = nil
      return false
    }
    shown = SpanSet.Span(low: low, high: high.successor)
    focus = list[(first + last) / 2]?.position
    return config.preloads && preload(around: first...last)
  }

  mutating func trim(first: Int, count: Int) throws(Failure) {
    guard first >= 0, count >= 0, first <= list.count else { throw .invalid("no such row") }
    // A load that replaces all rows was asked for: these leave, and what it brings stays.
    if isReplaced { return }
    let rows = first..<first + min(count, list.count - first)
    wishes = wishes.filter { isWanted($0, keeping: rows) }
    if rows.count < list.count {
      for index in wishes.indices { wishes[index].isTrimmed = true }
    }
    kept = list.loaded(keeping: rows)
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

  /// What is to stay loaded from the next look on.
  private(set) var kept: SpanSet?

  // MARK: A look

  /// Moves the list to the state that `rx` sees.
  mutating func look(
    _ rx: ReadTransaction, fresh snapshot: FreshRanges, nowMs: Int64
  ) throws(StoreFailure) -> [DiffOp] {
    holds = list.heldUntilMs != nil
    let found = try rx.conversation(config.conversation)
    if try notesUnmade(found, rx) { return letGo(nowMs) }
    guard let record = found else {
      askBlindly()
      edges.before = true
      return []
    }
    var change = WindowChange()
    let wasLoaded = list.loaded
    var loaded = kept ?? wasLoaded
    if isReplaced { loaded = SpanSet() }
    // One that was made here takes the server's name, or becomes one that was known.
    config.conversation = record.id
    if cid != record.cid {
      cid = record.cid
      seq = try rx.lastChange()
      change.isWhole = true
    } else {
      try follow(rx, in: record.cid, change: &change)
    }
    var spans = list.spans
    let wasUnverified = unverified
    if change.isWhole || change.spans != nil {
      spans = record.trusted(try rx.spans(record.cid))
      change.spans = spans
      unverified = try rx.unverified(record.cid)
      poisoned = try rx.quarantined(record.cid, seen: true)
    }
    change.redrawn = wasUnverified.difference(with: unverified)
    noteVerified(snapshot[record.cid], change: &change)
    try followGap(rx, in: record.cid, loaded: &loaded, change: &change)
    if change.isWhole { try reload(rx, in: record.cid, loaded: loaded, change: &change) }
    if !wishes.isEmpty, !gate.isShut {
      var loader = try CacheLoader(rx, of: record, spans: spans, loaded: loaded, isUp: isUp)
      try grow(&loader)
      loaded = loader.loaded
      change.upsert(loader.keys)
    }
    try keepPending(rx, in: record.cid, loaded: &loaded, change: &change)
    try keepMoved(rx, in: record.cid, loaded: &loaded, change: &change)
    if loaded != list.loaded { change.loaded = loaded }
    read += change.upserted.count + (change.spans?.spans.count ?? 0)
    change.focus = focus
    change.healing = healing(record, spans)
    (change.nowMs, change.holdMs) = (nowMs, config.holdMs)
    kept = nil
    isReplaced = false
    var ops = list.apply(change)
    forgetEvicted()
    let known = wishes.count
    refill()
    if wishes.count > known {
      ops += try grow(wishesFrom: known, rx, of: record, nowMs: nowMs)
    }
    ops += healAgain(record, spans, nowMs: nowMs)
    if change.spans != nil || !ops.isEmpty || wasLoaded != list.loaded {
      try noteEdges(rx, in: record.cid)
    }
    return ops
  }

  /// What the cache has of a wish that only the change itself gave cause for. The others wait for
  /// what they have just found missing, which nobody has asked for yet.
  private mutating func grow(
    wishesFrom first: Int, _ rx: ReadTransaction, of record: ConversationRecord, nowMs: Int64
  ) throws(StoreFailure) -> [DiffOp] {
    var loader = try CacheLoader(rx, of: record, spans: list.spans, loaded: list.loaded, isUp: isUp)
    try grow(&loader, from: first)
    read += loader.keys.count
    var change = WindowChange()
    if loader.loaded != list.loaded { change.loaded = loader.loaded }
    change.upserted = loader.keys
    change.focus = focus
    (change.nowMs, change.holdMs) = (nowMs, config.holdMs)
    let ops = list.apply(change)
    forgetEvicted()
    return ops
  }

  /// Wishes came and went with the change itself: what they settle is other splits now.
  private mutating func healAgain(
    _ record: ConversationRecord, _ spans: SpanSet, nowMs: Int64
  ) -> [DiffOp] {
    let healing = healing(record, spans)
    if healing == list.healing { return [] }
    var change = WindowChange()
    change.focus = focus
    change.healing = healing
    (change.nowMs, change.holdMs) = (nowMs, config.holdMs)
    return list.apply(change)
  }

  /// What settles splits: a catch-up those above what it starts from, a fill those in its gap.
  private func healing(_ record: ConversationRecord, _ spans: SpanSet) -> Healing {
    var healing = Healing()
    guard isUp else { return healing }
    if isHealing {
      healing.floor = spans.newest?.low ?? .min
      if let fetch = record.fetch {
        let top = Position.after(timestampGroup: fetch.timeUs)
        let known = spans.spans.last { $0.low <= top }
        healing.floor = known?.low ?? .min
      }
    }
    for wish in wishes where wish.next != nil {
      if case .fill(let high, let low) = wish.aim, low < high {
        healing.fills.insert(low, high.successor)
      }
    }
    return healing
  }

  /// Rows that were stale and are verified now look different. That all are stale once a
  /// connection is lost is no step: the host knows of the connection.
  private mutating func noteVerified(_ now: SpanSet, change: inout WindowChange) {
    fresh.eachDifference(from: now) { piece in
      if now.holds(piece.low) { change.redrawn.append(piece) }
    }
    fresh = now
  }

  /// What the feed says of this conversation since the last look.
  private mutating func follow(
    _ rx: ReadTransaction, in cid: Int64, change: inout WindowChange
  ) throws(StoreFailure) {
    let limit = Limits.windowChangesMax
    let found = try rx.changes(since: seq, limit: limit)
    guard case .entries(let entries) = found, entries.count < limit else {
      // Too many to be followed; mostly they are of other conversations.
      if case .entries = found { change.isWhole = try rx.hasChanges(cid, after: seq) }
      if case .resync = found { change.isWhole = true }
      seq = try rx.lastChange()
      return
    }
    read += entries.count
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
    seq = change.isWhole ? try rx.lastChange() : last.seq
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
