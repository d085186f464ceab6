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
  /// Conversations with a window of which a catch-up is due or under way, and when one is to be
  /// asked for; in the past where it is under way.
  var catchingUp: [[UInt8]: Int64] = [:]
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
  /// By window, when the server was last asked for all that is new.
  var asOf: [UInt64: Int64] = [:]
  /// By window, what its screen has loaded: never to be purged.
  var loaded: [UInt64: (conversation: [UInt8], ranges: SpanSet)] = [:]
  var typing = TypingBoard()
  /// Whether the server's list was fetched whole on this connection, and is being asked for.
  var list = (isWhole: false, isAsked: false)
}

/// Who types, as lists of conversations see it.
struct TypingBoard {
  /// By conversation, who is typing there.
  private(set) var users: [[UInt8]: [[UInt8]]] = [:]
  /// By list of conversations, where that changed since it last looked.
  private var changed: [UInt64: Set<[UInt8]>] = [:]

  mutating func open(_ list: UInt64) { changed[list] = [] }

  mutating func close(_ list: UInt64) { changed[list] = nil }

  mutating func set(_ users: [[UInt8]], in conversation: [UInt8]) {
    self.users[conversation] = users.isEmpty ? nil : users
    for list in changed.keys { changed[list]?.insert(conversation) }
  }

  /// What changed since a list last looked.
  mutating func take(_ list: UInt64) -> Set<[UInt8]> {
    guard let found = changed[list] else { return [] }
    if !found.isEmpty { changed[list] = [] }
    return found
  }
}

final class WindowRegistry {
  struct Entry {
    var conversation: [UInt8]
    /// It shows the newest messages, so it asks for the present at each connection.
    var isFollowing: Bool
    /// Its sync of the present on this connection.
    var live: UInt64?
    /// Where what it shows may come from, and whether each poll asks the host for that.
    var choice = PolicyChoice()
    var asksHost = false
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

  private(set) var windows: [UInt64: Entry] = [:]
  private var leaving: [UInt64] = []
  private var next: UInt64 = 1

  /// Tells windows how the connection stands after an input.
  func post(
    _ memory: SyncMemory, _ scheduler: SyncScheduler, list: ListFreshness,
    permille: [UInt64: UInt32], isUp: Bool
  ) {
    let catchingUp = isUp ? catchingUp(scheduler) : [:]
    snapshot.withLock { snapshot in
      snapshot.isUp = isUp
      snapshot.catchingUp = catchingUp
      snapshot.isSilent = scheduler.jobs.contains { $0.turn.attempts > 0 }
      snapshot.caughtUp = memory.live.caughtUp
      memory.fresh.bring(to: &snapshot.fresh)
      snapshot.list = (list.isWhole, isUp && scheduler.asksList)
      snapshot.permille = permille
    }
  }

  private func catchingUp(_ scheduler: SyncScheduler) -> [[UInt8]: Int64] {
    var found: [[UInt8]: Int64] = [:]
    for conversation in Set(windows.values.map(\.conversation)) {
      if scheduler.checks.waiting.contains(conversation) {
        found[conversation] = scheduler.checks.dueMs(conversation)
      } else if scheduler.isCatchingUp(conversation) {
        found[conversation] = .min
      }
    }
    return found
  }

  /// Splits that are held back are due as other deadlines are: gives the next one, and whether
  /// one has passed, which is reported once.
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

  func ensureRoom() throws(Failure) {
    guard windows.count < Limits.windowsMax else { throw .full(WindowRegistry.isFull) }
  }

  func open(_ conversation: [UInt8], isFollowing: Bool) -> UInt64 {
    defer { next &+= 1 }
    windows[next] = Entry(conversation: conversation, isFollowing: isFollowing)
    return next
  }

  /// A list of conversations, which is one window more.
  func openList(asks: Bool) throws(Failure) -> UInt64 {
    try ensureRoom()
    let number = open([], isFollowing: false)
    windows[number]?.asksList = asks
    snapshot.withLock { $0.typing.open(number) }
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

  /// Nothing is kept of it; what only this window asked for is to be let go of.
  func close(_ number: UInt64) -> Entry? {
    guard let entry = windows.removeValue(forKey: number) else { return nil }
    snapshot.withLock { snapshot in
      snapshot.ends[number] = nil
      snapshot.loaded[number] = nil
      snapshot.holds[number] = nil
      snapshot.asOf[number] = nil
      snapshot.typing.close(number)
    }
    return entry
  }

  /// It is to be closed once the file was taken again: that may mark what was seen.
  func closeLater(_ number: UInt64) { leaving.append(number) }

  func takeLeaving() -> [UInt64] {
    defer { leaving = [] }
    return leaving
  }

  /// The host chose where what it shows may come from.
  func choose(_ number: UInt64, _ choice: PolicyChoice, asksHost: Bool) {
    windows[number]?.choice = choice
    windows[number]?.asksHost = asksHost
  }

  /// Whether a list asks for the server's on this connection.
  func setAsksList(_ number: UInt64, _ asks: Bool) { windows[number]?.asksList = asks }

  /// The server was asked for its list.
  func noteList(asOfUs: Int64) {
    for (number, entry) in windows where entry.conversation.isEmpty {
      snapshot.withLock { $0.asOf[number] = asOfUs }
    }
  }

  /// The server was asked for all that is new of a conversation.
  func note(asOfUs: Int64, _ conversation: [UInt8]) {
    for (number, entry) in windows where entry.conversation == conversation {
      snapshot.withLock { $0.asOf[number] = asOfUs }
    }
  }

  // MARK: What windows ask for

  /// It waits for a sync.
  func wait(_ number: UInt64, for sync: UInt64) { windows[number]?.syncs.insert(sync) }

  /// One that had nothing to ask ended at once.
  func postEnd(_ number: UInt64, _ end: SharedSnapshot.End) {
    snapshot.withLock { $0.ends[number, default: []].append(end) }
  }

  /// It wants a sync no more; false where it did not wait for it.
  func leave(_ number: UInt64, _ sync: UInt64) -> Bool {
    windows[number]?.syncs.remove(sync) != nil
  }

  /// Its sync of the present; nil where it is to ask for another.
  func setLive(_ number: UInt64, _ live: UInt64?) { windows[number]?.live = live }

  /// A window came to show the present.
  func setFollowing(_ number: UInt64) { windows[number]?.isFollowing = true }

  // MARK: What happens to them

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
      postEnd(number, SharedSnapshot.End(sync: sync, trouble: trouble))
    }
  }
}
