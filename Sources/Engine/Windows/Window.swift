/// One screen's view of a conversation, as the host holds it.
///
/// A poll takes the core's news from the board, reads one committed state, makes one
/// step of the list, and tells the core what to ask. The core's lock is taken only for
/// that last part, and only when there is something to ask.
internal import Base
internal import Store
package import Timeline

package final class Window: Sendable {
  let live: LiveQuery<WindowState>

  fileprivate init(_ client: Client, number: UInt64, config: WindowConfig) {
    live = LiveQuery(client, number: number, seen: WindowState(config))
  }

  package var client: Client { live.client }
  private var number: UInt64 { live.number }

  /// Idempotent. What it asked for is dropped, later calls fail.
  package func close() { live.close() }

  /// Moves to the newest committed state; nil where nothing changed.
  package func poll() throws(Failure) -> WindowDiff? {
    var diff: WindowDiff?
    // The host's hooks are called while no lock is held.
    let now = client.now()
    let choice = try chosen()
    var isEarlier = false
    defer { if isEarlier { client.signalNews() } }
    try live.inside { screen throws(Failure) in
      let from = screen.list.version
      if let choice {
        screen.config.choice = choice
        screen.gate.choose(choice)
      }
      let fresh = observe(&screen)
      screen.pass(at: now)
      let ops = try look(&screen, fresh, at: now)
      isEarlier = hold(screen)
      try ask(&screen, fresh, at: now)
      if !ops.isEmpty { unsee(screen) }
      if !ops.isEmpty { diff = WindowDiff(from: from, list: screen.list, ops: ops) }
    }
    return diff
  }

  /// What the host's function makes of it now; nil where it is not asked.
  private func chosen() throws(Failure) -> PolicyChoice? {
    var conversation: [UInt8]?
    try live.inside { screen in
      if screen.config.asksHost { conversation = screen.config.conversation }
    }
    guard let conversation else { return nil }
    return try PolicyChoice(.host).made(
      by: client.config, for: conversation, .live, isWindow: true)
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
      if isLate { try client.input { _, _ throws(Failure) in } }
      let stamp = client.looks.withLock(\.stamp)
      let wasLoaded = screen.list.loaded
      let step = try client.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in
          try screen.look(rx, fresh: fresh, nowMs: now.monotonicMs)
        }
      }
      screen.tellItems(step)
      ops.append(contentsOf: step)
      if screen.list.loaded == wasLoaded { break }
      pin(screen)
      isLate = client.looks.withLock { $0.isLate(stamp) }
    } while isLate
    return ops
  }

  /// What stands on the board is the window's; gives what is fresh.
  private func observe(_ screen: inout WindowState) -> FreshRanges {
    client.snapshot.withLock { snapshot in
      screen.observe(&snapshot, number: number)
      return snapshot.fresh
    }
  }

  /// When a split that is held back is to be drawn; true where the host thinks that nothing is due
  /// by then.
  private func hold(_ screen: WindowState) -> Bool {
    let until = [screen.list.heldUntilMs, screen.gate.deadlineMs].compactMap { $0 }.min()
    if until == nil, !screen.holds, !screen.gate.wasShut { return false }
    return client.snapshot.withLock { snapshot in
      let isNew = snapshot.holds[number] != until
      snapshot.holds[number] = until
      return isNew && until.map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// While it is open, what its screen has loaded may not be purged.
  private func pin(_ screen: WindowState) {
    let loaded = screen.list.loaded
    client.snapshot.withLock { $0.loaded[number] = (screen.config.conversation, loaded) }
  }

  /// Tells the core what is wanted of the network, and what no more.
  private func ask(
    _ screen: inout WindowState, _ fresh: FreshRanges, at now: Instant
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
    var lines = LogLines()
    defer { screen.logLines += lines }
    try client.input(at: now, logging: &lines) { engine, now throws(Failure) in
      if screen.config.asksHost {
        engine.windows.choose(number, screen.config.choice, asksHost: true)
      }
      if mustFollow {
        screen.connection.isFollowing = true
        engine.windows.follow(number)
      }
      for ask in old {
        screen.requested.forget(ask.sync)
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

  /// False where nothing lies there.
  package func load(_ load: Load) throws(Failure) -> Bool {
    guard (1...Limits.windowLoadMax).contains(load.count) else {
      throw .invalid("count is not between 1 and 1,000")
    }
    return try wish { screen throws(Failure) in
      if case .around(.message(let id)) = load.kind {
        try client.mustFind(id, config: screen.config)
      }
      return try screen.load(load)
    }
  }

  /// False where no gap lies before the row.
  package func fill(row: Int) throws(Failure) -> Bool {
    try wish { screen throws(Failure) in try screen.fill(row: row) }
  }

  package func show(first: Int, count: Int) throws(Failure) {
    let now = client.now()
    var isNews = false
    defer { if isNews { client.signalNews() } }
    try live.inside { screen throws(Failure) in
      let fresh = observe(&screen)
      isNews = try screen.show(first: first, count: count)
      client.looks.withLock { $0.note(screen.config.conversation) }
      if see(first: first, count: count, screen, at: now) { isNews = true }
      try ask(&screen, fresh, at: now)
    }
  }

  /// Notes which rows are on the screen; true where the host thinks that nothing is due by the time
  /// at which they will have been seen.
  private func see(first: Int, count: Int, _ screen: WindowState, at now: Instant) -> Bool {
    guard client.config.autoMarkRead else { return false }
    let shown = min(count, screen.list.count - first, Limits.markReadMax)
    let items = screen.list.items(first..<first + shown)
    let (conversation, seenMs) = (screen.config.conversation, client.config.seenMs)
    return client.snapshot.withLock { snapshot in
      snapshot.seen.show(items, of: number, conversation, at: now.monotonicMs, for: seenMs)
      return snapshot.seen.deadlineMs(for: seenMs).map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// What went from the list is not on the screen any more.
  private func unsee(_ screen: WindowState) {
    guard client.config.autoMarkRead else { return }
    client.snapshot.withLock { snapshot in
      snapshot.seen.keep(of: number) { screen.list.row(ofNumber: $0) != nil }
    }
  }

  package func trim(first: Int, count: Int) throws(Failure) {
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
    if isThere { client.signalNews() }
    return isThere
  }

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  package func rows(first: Int, count: Int) throws(Failure) -> MessagePage? {
    guard first >= 0, count >= 0 else { throw .invalid("rows are asked for that no list has") }
    var page: MessagePage?
    try live.inside { screen throws(Failure) in
      let from = min(first, screen.list.count)
      let items = screen.list.items(from..<from + min(count, screen.list.count - from))
      guard !items.isEmpty else { return }
      page = try client.reading { reading throws(Failure) in
        try reading.page(screen, items: items, first: first)
      }
    }
    return page
  }

  package func find(_ id: [UInt8]) throws(Failure) -> Int? {
    var found: Int?
    try live.inside { screen throws(Failure) in
      found = screen.list.row(ofID: id)
      if found != nil { return }
      // A send is named by its client id, while it is pending and after.
      let conversation = screen.config.conversation
      let known = try client.reading { reading throws(Failure) in
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

  package func state() throws(Failure) -> WindowStatus {
    var status = WindowStatus()
    try live.inside { screen in status = screen.status }
    return status
  }

  /// What was read and touched so far: the cost that tests hold to the change.
  package var work: Int { live.work }

  /// What is loaded, as of the last poll.
  package var loaded: SpanSet { live.loaded }
}

extension Client {
  package func openWindow(_ config: WindowConfig) throws(Failure) -> Window {
    try check(config.conversation)
    guard (1...Limits.windowLoadMax).contains(config.count) else {
      throw .invalid("count is not between 1 and 1,000")
    }
    guard (Limits.windowRowsMin...Limits.windowRowsMax).contains(config.rowsMax) else {
      throw .invalid("rows_max is not between 100 and 200,000")
    }
    var config = config
    config.asksHost = config.choice.policy == .host
    config.choice = try config.choice.made(
      by: self.config, for: config.conversation, .live, isWindow: true)
    if case .message(let id) = config.at { try mustFind(id, config: config) }
    let number = try input { engine, now throws(Failure) in
      let number = try engine.openWindow(config)
      do throws(Failure) {
        _ = try engine.askLive(number, at: now)
      } catch {
        engine.closeWindow(number, at: now)
        throw error
      }
      return number
    }
    looks.withLock { $0.note(config.conversation) }
    signalNews()
    return Window(self, number: number, config: config)
  }

  /// What open windows of a conversation have loaded: a retention drops nothing of it.
  package func pinned(_ conversation: [UInt8]) -> SpanSet {
    snapshot.withLock { snapshot in
      var pinned = SpanSet()
      for (_, entry) in snapshot.loaded where entry.conversation == conversation {
        pinned = pinned.union(entry.ranges)
      }
      return pinned
    }
  }

  /// A message that is not stored can be looked for by some servers only.
  fileprivate func mustFind(_ id: [UInt8], config: WindowConfig) throws(Failure) {
    try check(id)
    if !config.isCacheOnly, canLookAround { return }
    let isStored = try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in
        guard let record = try rx.conversation(config.conversation) else { return false }
        return try rx.place(ofID: id, in: record.cid) != nil
      }
    }
    if !isStored { throw .unsupported("the message is not stored, and cannot be looked for") }
  }
}

/// The checksum of a list of row numbers, as the header defines it.
package func checksum(_ numbers: [UInt64]) -> UInt64 {
  windowChecksum(numbers)
}
