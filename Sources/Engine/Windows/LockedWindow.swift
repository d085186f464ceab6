/// A window and the items over it, as they lie behind the window's lock.
///
/// Rule protected: no hook of the host's runs while a window is locked. The lock is private to this
/// type, which has the core and no client, and is given values and no functions: what it runs under
/// the lock cannot reach a hook.
internal import Base
internal import Store
internal import Timeline

final class LockedWindow: Sendable {
  private let live: LiveQuery<WindowState>
  private var core: Core { live.core }
  private var number: UInt64 { live.number }

  init(_ core: Core, number: UInt64, config: WindowConfig) {
    live = LiveQuery(core, number: number, seen: WindowState(config))
  }

  /// False where it was shut.
  func shut() -> Bool { live.shut() }

  var work: Int { live.work }

  var loaded: SpanSet { live.loaded }

  // MARK: A poll

  /// Moves to the newest committed state; nil where nothing changed.
  /// - Parameter choice: what the host's function says; nil where it is not asked.
  func poll(
    at now: Instant, _ choice: PolicyChoice?, logging lines: inout LogLines
  ) throws(Failure) -> WindowDiff? {
    var diff: WindowDiff?
    var isEarlier = false
    defer { if isEarlier { core.signal.set() } }
    try live.inside { screen throws(Failure) in
      let from = screen.list.version
      if let choice {
        screen.config.choice = choice
        screen.fetchPolicy.choose(choice)
      }
      let fresh = observe(&screen)
      screen.pass(at: now)
      let ops = try look(&screen, fresh, at: now)
      isEarlier = core.hold(screen, of: number)
      try ask(&screen, fresh, at: now, &lines)
      if !ops.isEmpty { core.unsee(screen, of: number) }
      if !ops.isEmpty { diff = WindowDiff(from: from, list: screen.list, ops: ops) }
    }
    return diff
  }

  /// Of which conversation the host's function is to be asked; nil where it is not.
  func asked() throws(Failure) -> [UInt8]? {
    var conversation: [UInt8]?
    try live.inside { screen in
      if screen.config.asksHost { conversation = screen.config.conversation }
    }
    return conversation
  }

  /// Brings the list to the newest committed state, and pins what it has loaded. Where a purge came
  /// in between, what it took was never shown: it looks once more.
  private func look(
    _ screen: inout WindowState, _ fresh: FreshRanges, at now: Instant
  ) throws(Failure) -> [DiffOp] {
    var ops: [DiffOp] = []
    var isLate = false
    repeat {
      // Whoever is in the core finishes first.
      if isLate { core.waitForInput() }
      let stamp = core.accessTimes.withLock(\.stamp)
      let wasLoaded = screen.list.loaded
      let step = try core.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in
          try screen.look(rx, fresh: fresh, nowMs: now.monotonicMs)
        }
      }
      screen.applyToItems(step)
      ops.append(contentsOf: step)
      if screen.list.loaded == wasLoaded { break }
      core.pin(screen, of: number)
      isLate = core.accessTimes.withLock { $0.isLate(stamp) }
    } while isLate
    return ops
  }

  /// What stands on the board is the window's; gives what is fresh.
  private func observe(_ screen: inout WindowState) -> FreshRanges {
    core.snapshot.withLock { snapshot in
      screen.observe(&snapshot, number: number)
      return snapshot.fresh
    }
  }

  /// Tells the core what is wanted of the network, and what no more.
  private func ask(
    _ screen: inout WindowState, _ fresh: FreshRanges, at now: Instant, _ lines: inout LogLines
  ) throws(Failure) {
    let wanted = screen.requests(fresh: fresh)
    let new = wanted.filter { request in
      !screen.requested.open.contains { $0.request.kind == request.kind }
    }
    let old = screen.requested.open.filter { ask in
      ask.request.kind != .live && !wanted.contains { $0.kind == ask.request.kind }
    }
    let follows = !screen.config.isCacheOnly && (screen.isAtEnd || screen.wantsPresent)
    let mustFollow = follows && !screen.connection.isFollowing
    let mustAskLive = (mustFollow || screen.connection.isFollowing) && screen.isLiveDue
    guard !new.isEmpty || !old.isEmpty || mustFollow || mustAskLive else { return }
    try core.input(at: now, logging: &lines) { engine, now throws(Failure) in
      if screen.config.asksHost {
        engine.windows.choose(number, screen.config.choice, asksHost: true)
      }
      if mustFollow {
        screen.connection.isFollowing = true
        engine.windows.setFollowing(number)
      }
      for ask in old {
        screen.requested.remove(ask.sync)
        engine.drop(number, sync: ask.sync, at: now)
      }
      do throws(Failure) {
        if mustAskLive {
          didAsk(try engine.askForPresent(number, at: now), screen: &screen)
        }
        for request in new {
          let sync = try engine.ask(number, request, now)
          screen.requested.add(sync, request)
        }
      } catch {
        guard case .full = error else { throw error }
        screen.requested.trouble = error
      }
    }
  }

  /// The present was asked for; nil where that is over already.
  private func didAsk(_ live: UInt64?, screen: inout WindowState) {
    screen.connection.noteLiveAsked()
    guard let live else { return }
    screen.requested.add(
      live, SyncRequest(conversation: screen.config.conversation, kind: .live, isUrgent: true))
  }

  // MARK: What the user does

  func load(_ load: Load) throws(Failure) -> Bool {
    try wish { screen throws(Failure) in
      if case .around(.message(let id)) = load.kind { try core.mustFind(id, screen.config) }
      return try screen.load(load)
    }
  }

  func fill(row: Int) throws(Failure) -> Bool {
    try wish { screen throws(Failure) in try screen.fill(row: row) }
  }

  func show(
    first: Int, count: Int, at now: Instant, logging lines: inout LogLines
  ) throws(Failure) {
    var isNews = false
    defer { if isNews { core.signal.set() } }
    try live.inside { screen throws(Failure) in
      let fresh = observe(&screen)
      isNews = try screen.show(first: first, count: count)
      core.accessTimes.withLock { $0.note(screen.config.conversation) }
      if core.see(first: first, count: count, of: number, screen, at: now) { isNews = true }
      try ask(&screen, fresh, at: now, &lines)
    }
  }

  func trim(first: Int, count: Int) throws(Failure) {
    _ = try wish { screen throws(Failure) in
      try screen.trim(first: first, count: count)
      return true
    }
  }

  /// What only the next poll shows makes the descriptor readable.
  private func wish(
    _ body: (inout WindowState) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    var isThere = false
    try live.inside { screen throws(Failure) in
      _ = observe(&screen)
      isThere = try body(&screen)
    }
    if isThere { core.signal.set() }
    return isThere
  }

  // MARK: Reading

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  func rows(first: Int, count: Int) throws(Failure) -> MessagePage? {
    guard first >= 0, count >= 0 else { throw .invalid("rows are asked for that no list has") }
    var page: MessagePage?
    try live.inside { screen throws(Failure) in
      let from = min(first, screen.list.count)
      let items = screen.list.items(from..<from + min(count, screen.list.count - from))
      guard !items.isEmpty else { return }
      page = try core.reading { reading throws(Failure) in
        try reading.page(screen, items: items, first: first)
      }
    }
    return page
  }

  func find(_ id: [UInt8]) throws(Failure) -> Int? {
    var found: Int?
    try live.inside { screen throws(Failure) in
      found = screen.list.row(ofID: id)
      if found != nil { return }
      // A send is named by its client id, while it is pending and after.
      let conversation = screen.config.conversation
      let known = try core.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) -> (place: Position, number: UInt64)? in
          guard let record = try rx.conversation(conversation),
            let place = try rx.place(ofID: id, in: record.cid)
          else { return nil }
          return (place, try rx.operation(clientID: id)?.number ?? 0)
        }
      }
      guard let known else { return }
      let row = screen.list.row(from: known.place)
      let isThere = screen.list[row]?.position == known.place
      // It may have been confirmed since the last poll.
      found = isThere ? row : screen.list.row(ofNumber: known.number)
    }
    return found
  }

  func state() throws(Failure) -> WindowStatus {
    var status = WindowStatus()
    try live.inside { screen in status = screen.status }
    return status
  }

  // MARK: Items

  /// Runs `body` with the window's state and the place of a list of items in it.
  private func inside(
    items number: UInt64, _ body: (inout WindowState, Int) throws(Failure) -> Void
  ) throws(Failure) {
    try live.inside { screen throws(Failure) in
      guard let index = screen.items.firstIndex(where: { $0.number == number }) else {
        throw .closed
      }
      try body(&screen, index)
    }
  }

  /// The same where the items are as of the window's last step.
  private func reading(
    items number: UInt64, _ body: (inout WindowState, Int) throws(Failure) -> Void
  ) throws(Failure) {
    try inside(items: number) { screen, index throws(Failure) in
      if screen.items[index].list.isBehind { throw .invalid("the items are to be polled first") }
      try body(&screen, index)
    }
  }

  func open(items list: ItemList, seeksLine: Bool) throws(Failure) -> UInt64 {
    var number: UInt64 = 1
    try live.inside { screen throws(Failure) in
      if screen.items.count >= Limits.itemsMax {
        throw .full("8 lists of items stand over one window; nothing changed")
      }
      number = (screen.items.last?.number ?? 0) &+ 1
      var state = ItemsState(number: number, list: list, seeksLine: seeksLine)
      let rows = screen.list.count
      if rows > 0 { state.list.take([DiffOp(.insert, row: 0, count: rows)]) }
      screen.items.append(state)
    }
    return number
  }

  func close(items number: UInt64) {
    do {
      try live.inside { screen in screen.items.removeAll { $0.number == number } }
    } catch {
      // The window is closed, and all that stood over it with it.
    }
  }

  func beginPoll(items number: UInt64) throws(Failure) {
    try inside(items: number) { screen, index throws(Failure) in
      if screen.items[index].isPolling { throw .invalid("a poll of these items is under way") }
      screen.items[index].isPolling = true
    }
  }

  func endPoll(items number: UInt64) {
    do {
      try inside(items: number) { screen, index in screen.items[index].isPolling = false }
    } catch {
      // It was closed meanwhile.
    }
  }

  /// Reads some of the rows that the next merge needs; nil where all are read.
  func read(items number: UInt64, _ reader: inout RowReader) throws(Failure) -> RowPart? {
    var part: RowPart?
    try inside(items: number) { screen, index throws(Failure) in
      if reader.wanted == nil {
        reader.wanted = screen.items[index].list.rowsWanted()
        reader.taken = screen.items[index].list.taken
      }
      try reader.mustBeCurrent(screen.items[index])
      let rows = reader.next.compactMap { screen.list[$0] }
      guard !rows.isEmpty else { return }
      let page = try core.reading { reading throws(Failure) in
        try reading.page(screen, items: rows, first: 0)
      }
      part = RowPart(items: rows, page: page)
    }
    return part
  }

  /// Merges the rows that were read; nil where no item changed.
  func merge(items number: UInt64, _ reader: RowReader) throws(Failure) -> WindowDiff? {
    var diff: WindowDiff?
    try inside(items: number) { screen, index throws(Failure) in
      try reader.mustBeCurrent(screen.items[index])
      screen.items[index].note(unread: reader.unread)
      screen.seekLine(index)
      let line = screen.lineRow(index)
      let from = screen.items[index].list.version
      let steps = screen.items[index].list.merge(reader.rows, line: line)
      if !steps.isEmpty { diff = WindowDiff(from: from, items: screen.items[index].list, steps) }
    }
    return diff
  }

  func items(
    _ number: UInt64, first: Int, count: Int
  ) throws(Failure) -> [ItemView] {
    var views: [ItemView] = []
    try reading(items: number) { screen, index in
      let end = min(first.saturating(plus: count), screen.items[index].list.count)
      let reaches = screen.isAtEnd
      for place in min(first, end)..<end {
        guard let item = screen.items[index].list.item(at: place) else { continue }
        let range = screen.items[index].list.range(of: item, reachesPresent: reaches)
        views.append(ItemView(item, range: range))
      }
    }
    return views
  }

  func find(items number: UInt64, row: Int) throws(Failure) -> (item: Int, place: Int)? {
    var found: (item: Int, place: Int)?
    try reading(items: number) { screen, index in
      found = screen.items[index].list.find(row: row)
    }
    return found
  }

  func index(items number: UInt64, ofKey key: UInt64) throws(Failure) -> Int? {
    var found: Int?
    try reading(items: number) { screen, index in
      found = screen.items[index].list.index(ofKey: key)
    }
    return found
  }

  func bits(items number: UInt64, of item: Int, place: Int) throws(Failure) -> UInt64? {
    var bits: UInt64?
    try reading(items: number) { screen, index in
      guard let row = screen.items[index].list.row(ofItem: item, place: place) else { return }
      bits = screen.items[index].list.bits(row: row)
    }
    return bits
  }

  func range(items number: UInt64, at place: Int) throws(Failure) -> Range<Int>? {
    var range: Range<Int>?
    try reading(items: number) { screen, index in
      let reaches = screen.isAtEnd
      range = screen.items[index].list.range(at: place, reachesPresent: reaches)
    }
    return range
  }

  func state(items number: UInt64) throws(Failure) -> ItemsStatus {
    var status = ItemsStatus()
    try inside(items: number) { screen, index in
      status = screen.items[index].list.status(reachesPresent: screen.isAtEnd)
      if !status.isBehind, let row = screen.lineRow(index) {
        status.unreadItem = screen.items[index].list.find(row: row)?.item
      }
    }
    return status
  }

  func setOpen(items number: UInt64, _ item: Int, _ isOpen: Bool) throws(Failure) -> Bool {
    var isDone = false
    try reading(items: number) { screen, index in
      isDone = screen.items[index].list.setOpen(item, isOpen)
    }
    if isDone { core.signal.set() }
    return isDone
  }

  func setUnread(items number: UInt64, row: UInt64) throws(Failure) {
    try inside(items: number) { screen, index throws(Failure) in
      var line: Position?
      if row != 0 {
        line = screen.list.position(ofNumber: row)
        if line == nil { throw .notFound("no row of the window has this number") }
      }
      screen.items[index].line = line
      screen.items[index].seeksLine = false
    }
    core.signal.set()
  }

  /// The window's rows of items; nil where the first one is beyond the end.
  func rows(items number: UInt64, first: Int, count: Int) throws(Failure) -> Range<Int>? {
    var rows: Range<Int>?
    try reading(items: number) { screen, index throws(Failure) in
      let items = screen.items[index].list.count
      if first > items { return }
      rows = 0..<0
      let last = min(first.saturating(plus: count), items).saturating(minus: 1)
      guard count > 0, let one = screen.items[index].list.item(at: first),
        let other = screen.items[index].list.item(at: last)
      else { return }
      let (low, high) = one.firstRow < other.firstRow ? (one, other) : (other, one)
      rows = low.firstRow..<high.firstRow.saturating(plus: high.rowCount)
    }
    return rows
  }

  func work(items number: UInt64) -> Int {
    var work = 0
    do {
      try inside(items: number) { screen, index in work = screen.items[index].list.work }
    } catch {
      // A closed list costs nothing.
    }
    return work
  }
}
