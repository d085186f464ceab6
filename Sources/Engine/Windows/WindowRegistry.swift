/// The open windows as the core sees them: whose syncs go first, and who is told
/// of their ends.
///
/// A window never holds the core's lock while it reads. What it must know of the
/// core stands on a board with a lock of its own, so a screen does not wait for a
/// merge. Locks are taken in one order: window, core, board.
internal import Base
internal import Store
internal import Timeline

/// What windows may know of the core without waiting for it.
struct SharedSnapshot {
  struct End {
    var sync: UInt64
    var trouble: Failure?
  }

  var isUp = false
  /// A request was not answered, and is tried again.
  var isSilent = false
  /// Counts connections, so that a window notices a new one.
  var connections: UInt64 = 0
  /// Conversations whose newest range was caught up on this connection.
  var caughtUp = IDSet()
  /// Where all marks were verified on this connection.
  var fresh = FreshRanges()
  /// Conversations with a window of which a catch-up is due or under way.
  var catchingUp: [[UInt8]] = []
  /// By window, when it is to draw a split that it holds back.
  var holds: [UInt64: Int64] = [:]
  /// What is on screens, where what is seen is marked read.
  var seen = SeenBoard()
  /// Until when the host was told that nothing is due.
  var restsUntilMs = Int64.max
  /// By operation, how much of its attachment is uploaded.
  var permille: [UInt64: UInt32] = [:]
  /// By window, syncs of its that ended since it last looked.
  var ends: [UInt64: [End]] = [:]
  /// By window, what its screen has loaded: never to be purged.
  var loaded: [UInt64: (conversation: [UInt8], ranges: SpanSet)] = [:]
  /// By conversation, who is typing there.
  var typing: [[UInt8]: [[UInt8]]] = [:]
  /// By list of conversations, where that changed since it last looked.
  var typed: [UInt64: Set<[UInt8]>] = [:]
  /// The server's list of conversations was fetched whole on this connection.
  var listIsWhole = false
  /// It is being asked for.
  var listIsAsked = false
}

final class WindowRegistry {
  struct Entry {
    var conversation: [UInt8]
    /// It shows the newest messages, so it asks for the present at each connection.
    var isFollowing: Bool
    /// Its sync of the present on this connection.
    var live: UInt64?
    /// Its syncs that have not ended.
    var syncs: Set<UInt64> = []
    /// Its conversation was to be made here and is not: nobody is asked about it.
    var isUnmade = false
    /// It is a list of conversations, which asks for the server's own at each
    /// connection.
    var asksList = false
  }

  let snapshot = Lock(SharedSnapshot())

  /// Whether a list of conversations is open that asks for the server's.
  var asksList: Bool { windows.values.contains { $0.asksList } }

  fileprivate(set) var windows: [UInt64: Entry] = [:]
  fileprivate var next: UInt64 = 1

  /// Tells windows how the connection stands after an input.
  func post(_ engine: SyncEngine) {
    let isUp = engine.tracker.isUp
    let jobs = engine.scheduler.jobs
    let catchingUp = catchingUp(engine)
    snapshot.withLock { snapshot in
      snapshot.isUp = isUp
      snapshot.catchingUp = catchingUp
      snapshot.isSilent = jobs.contains { $0.turn.attempts > 0 }
      snapshot.caughtUp = engine.memory.live.caughtUp
      engine.memory.fresh.bring(to: &snapshot.fresh)
      snapshot.listIsWhole = engine.list.isWhole
      snapshot.listIsAsked = isUp && engine.scheduler.asksList
      snapshot.permille = engine.outbox.permille
    }
  }

  private func catchingUp(_ engine: SyncEngine) -> [[UInt8]] {
    if windows.isEmpty || !engine.tracker.isUp { return [] }
    var found: [[UInt8]] = []
    for job in engine.scheduler.jobs {
      let conversation = job.request.conversation
      if job.isCatchingUp || engine.scheduler.owed.contains(conversation),
        !found.contains(conversation),
        windows.values.contains(where: { $0.conversation == conversation })
      {
        found.append(conversation)
      }
    }
    return found
  }

  /// Splits that are held back are due as other deadlines are: gives the next one, and whether
  /// one has passed, which is told once.
  func takeHolds(at nowMs: Int64, rest next: Int64) -> (next: Int64, isDue: Bool) {
    snapshot.withLock { snapshot in
      var (next, isDue) = (next, false)
      for (number, until) in snapshot.holds {
        if until <= nowMs {
          snapshot.holds[number] = nil
          isDue = true
        } else {
          next = min(next, until)
        }
      }
      snapshot.restsUntilMs = next
      return (next, isDue)
    }
  }

  /// Why no more are opened; windows and lists count together.
  static let isFull: StaticText = "1,024 windows and lists are open"

  /// A list of conversations, which is one window more.
  func openList(asks: Bool) throws(Failure) -> UInt64 {
    guard windows.count < Limits.windowsMax else { throw .full(WindowRegistry.isFull) }
    let number = next
    next += 1
    windows[number] = Entry(conversation: [], isFollowing: false, asksList: asks)
    snapshot.withLock { $0.typed[number] = [] }
    return number
  }

  /// Whether a screen of a conversation waits for an answer, or has not looked since one came.
  func waits(for conversation: [UInt8]) -> Bool {
    for (number, entry) in windows where entry.conversation == conversation {
      if !entry.syncs.isEmpty { return true }
      if snapshot.withLock({ $0.ends[number]?.isEmpty == false }) { return true }
    }
    return false
  }

  /// A conversation has another name.
  func rename(_ old: [UInt8], _ new: [UInt8]) {
    for number in windows.keys where windows[number]?.conversation == old {
      windows[number]?.conversation = new
    }
  }

  /// A conversation is not made after all, or is made once more.
  func note(_ conversation: [UInt8], isUnmade: Bool) {
    for number in windows.keys where windows[number]?.conversation == conversation {
      windows[number]?.isUnmade = isUnmade
    }
  }

  /// A sync ended: those who asked for it are told.
  func ended(_ sync: UInt64, trouble: Failure?) {
    for (number, entry) in windows where entry.syncs.contains(sync) {
      windows[number]?.syncs.remove(sync)
      // What failed, or was cancelled by the host, may be asked again.
      if trouble != nil, entry.live == sync { windows[number]?.live = nil }
      snapshot.withLock {
        $0.ends[number, default: []].append(SharedSnapshot.End(sync: sync, trouble: trouble))
      }
    }
  }
}

extension SyncEngine {
  func openWindow(_ config: WindowConfig) throws(Failure) -> UInt64 {
    guard windows.windows.count < Limits.windowsMax else {
      throw .full(WindowRegistry.isFull)
    }
    let number = windows.next
    windows.next += 1
    let isFollowing = !config.isCacheOnly && (config.at == .latest || config.at == .unread)
    let conversation = try storing { () throws(StoreFailure) in
      try canonical(config.conversation)
    }
    windows.windows[number] = WindowRegistry.Entry(
      conversation: conversation, isFollowing: isFollowing)
    return number
  }

  /// What only this window asked for is dropped.
  func closeWindow(_ number: UInt64, at now: Instant) {
    guard let known = windows.windows[number] else { return }
    if config.autoMarkRead {
      // It has nothing on a screen any more; what it had there for long enough was seen.
      windows.snapshot.withLock { snapshot in
        snapshot.seen.show(
          [], of: number, known.conversation, at: now.monotonicMs, for: config.seenMs)
      }
      markSeen(now)
    }
    guard let entry = windows.windows.removeValue(forKey: number) else { return }
    windows.snapshot.withLock { snapshot in
      snapshot.ends[number] = nil
      snapshot.loaded[number] = nil
      snapshot.holds[number] = nil
      snapshot.typed[number] = nil
    }
    for sync in entry.syncs.sorted() { release(sync, at: now) }
  }

  /// Asks for something on a window's account, before all other work.
  func ask(
    _ number: UInt64, _ request: SyncRequest, _ now: Instant
  ) throws(Failure) -> UInt64 {
    let sync = try sync(request, at: now)
    if scheduler.job(sync) != nil {
      windows.windows[number]?.syncs.insert(sync)
    } else {
      // It had nothing to ask and ended at once.
      let trouble = try syncStatus(sync).trouble
      windows.snapshot.withLock {
        $0.ends[number, default: []].append(SharedSnapshot.End(sync: sync, trouble: trouble))
      }
    }
    return sync
  }

  /// A window wants an unanswered request no more.
  func drop(_ number: UInt64, sync: UInt64, at now: Instant) {
    guard windows.windows[number]?.syncs.remove(sync) != nil else { return }
    release(sync, at: now)
  }

  /// The sync of the present that a window waits for on this connection.
  func askLive(_ number: UInt64, at now: Instant) throws(Failure) -> UInt64? {
    guard let entry = windows.windows[number], entry.isFollowing, !entry.isUnmade else {
      return nil
    }
    if let live = entry.live { return live }
    let request = SyncRequest(conversation: entry.conversation, kind: .live, isUrgent: true)
    let live = try ask(number, request, now)
    windows.windows[number]?.live = live
    return live
  }

  /// A window came to show the present.
  func follow(_ number: UInt64) {
    windows.windows[number]?.isFollowing = true
  }

  /// A new connection: what screens show comes first.
  func wakeWindows(_ now: Instant) {
    windows.snapshot.withLock { $0.connections += 1 }
    if !windows.windows.isEmpty { report.tellHost() }
    for number in windows.windows.keys.sorted() {
      if let live = windows.windows[number]?.live, scheduler.job(live) != nil { continue }
      windows.windows[number]?.live = nil
      do {
        _ = try askLive(number, at: now)
      } catch {
        report.logLines.append((.warn, "too many syncs wait for a window to ask for its own"))
      }
    }
  }
}
