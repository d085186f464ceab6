/// What the process remembers of operations. All of it can be lost: what must not be
/// lost is in the store.
internal import Base
internal import Store

struct Outbox {
  /// A look whether an unknown operation has arrived.
  struct Check {
    /// Not before the request is too old to arrive any more; nil until connected.
    var notBeforeMs: Int64?
    /// The catch-up that looks.
    var sync: UInt64?
    var attempts = 0
  }

  /// All that is not done, by `seq`: a copy of what the store has.
  private(set) var open: [OpenOperation] = []
  /// When those that had trouble may be tried again.
  private(set) var notBeforeMs: [UInt64: Int64] = [:]
  /// Of those, the ones that the server gave a time.
  private var isServerPause: Set<UInt64> = []
  private var troubles: [UInt64: Int] = [:]
  /// When this process first sent what would be done twice.
  private(set) var firstSentMs: [UInt64: Int64] = [:]
  private(set) var checks: [UInt64: Check] = [:]
  /// By operation, how much of its attachment is uploaded.
  private(set) var permille: [UInt64: UInt32] = [:]
  /// Conversations that the server does not know yet, by the names they have here.
  private var unmade: Set<[UInt8]> = []
  /// What the store could not take: requests that have ended, and operations in a copy of a file
  /// that its original may have sent.
  private var unwritten = (ends: Set<UInt64>(), sends: [UInt64]())
  /// The host has said that nothing of an earlier connection reaches the server any more.
  private(set) var isFormerDead = false
  /// Whether the last request out was an operation's, where there is room for one.
  private(set) var wasLast = false
  /// The server was seen to tell client ids.
  private(set) var tellsClientIDs = false
  /// An edit that followed by itself is to be sealed.
  private var mustSeal = false
  /// What the user did may be committed and not synced, by an earlier process too.
  private(set) var needsSync = true
  /// Names of what the user makes.
  var names: ClientNames

  init(names: ClientNames = ClientNames(seed: 0)) { self.names = names }

  /// What the user did is brought to disk: it is not there until that has ended well.
  mutating func beginSync() { needsSync = true }

  mutating func endSync() { needsSync = false }

  mutating func load(_ all: [OpenOperation]) {
    open = all
  }

  /// Takes in how an operation stands now; nil for one that is gone.
  mutating func update(_ seq: UInt64, operation: OpenOperation?) {
    let place = place(of: seq)
    let isThere = place < open.count && open[place].seq == seq
    guard let operation, operation.state != .done else {
      if isThere { open.remove(at: place) }
      removeState(seq)
      return
    }
    if operation.state != .unknown { checks[seq] = nil }
    if isThere { open[place] = operation } else { open.insert(operation, at: place) }
  }

  private mutating func removeState(_ seq: UInt64) {
    resetBackoff(seq)
    checks[seq] = nil
    permille[seq] = nil
    firstSentMs[seq] = nil
    unwritten.ends.remove(seq)
  }

  func operation(_ seq: UInt64) -> OpenOperation? {
    let place = place(of: seq)
    return place < open.count && open[place].seq == seq ? open[place] : nil
  }

  /// Where an operation stands, or would.
  private func place(of seq: UInt64) -> Int {
    var low = 0
    var high = open.count
    while low < high {
      let middle = low + (high - low) / 2
      if open[middle].seq < seq { low = middle + 1 } else { high = middle }
    }
    return low
  }

  mutating func noteFirstSent(_ seq: UInt64, at nowMs: Int64) { firstSentMs[seq] = nowMs }

  /// Notes a try in vain; gives how many there were in a row.
  mutating func noteTrouble(_ seq: UInt64) -> Int {
    troubles[seq, default: 0] += 1
    return troubles[seq] ?? 1
  }

  mutating func pause(_ seq: UInt64, untilMs: Int64, isServerPause: Bool) {
    notBeforeMs[seq] = untilMs
    if isServerPause { self.isServerPause.insert(seq) }
  }

  /// There is no reason left to wait.
  mutating func resetBackoff(_ seq: UInt64) {
    notBeforeMs[seq] = nil
    troubles[seq] = nil
    isServerPause.remove(seq)
  }

  /// A new connection: only what a server asked for is still waited for, and looks wait for what is
  /// under way, where that may still arrive.
  mutating func connect(at nowMs: Int64, timeoutMs: Int64) {
    for seq in Array(notBeforeMs.keys).ascending() where !isServerPause.contains(seq) {
      resetBackoff(seq)
    }
    let checksAfterMs = nowMs + (isFormerDead ? 0 : timeoutMs)
    for seq in checks.keys where checks[seq]?.notBeforeMs == nil || isFormerDead {
      checks[seq]?.notBeforeMs = checksAfterMs
    }
    isFormerDead = false
  }

  /// A request went out: an operation's, or another one.
  mutating func noteSent(isOperation: Bool) { wasLast = isOperation }

  /// A message of this user's came with its client id.
  mutating func noteClientIDs() { tellsClientIDs = true }

  mutating func note(permille: UInt32, of seq: UInt64) { self.permille[seq] = permille }

  // MARK: Conversations that are made here

  func isUnmade(_ conversation: [UInt8]) -> Bool { unmade.contains(conversation) }

  /// It is to be made, and the server does not know it yet.
  mutating func make(_ conversation: [UInt8]) { unmade.insert(conversation) }

  /// The server knows it, or it is not made after all.
  mutating func settle(_ conversation: [UInt8]) { unmade.remove(conversation) }

  // MARK: Payloads to be sealed

  mutating func noteSeal() { mustSeal = true }

  mutating func takeSeal() -> Bool {
    defer { mustSeal = false }
    return mustSeal
  }

  // MARK: What is not written yet

  /// A request has ended, and the store could not be written.
  mutating func noteLoose(_ seq: UInt64) { unwritten.ends.insert(seq) }

  mutating func endLoose(_ seq: UInt64) { unwritten.ends.remove(seq) }

  var looseEnds: [UInt64] { Array(unwritten.ends).ascending() }

  /// That the original of a copy may have sent these could not be written.
  mutating func leaveUnnoted(_ all: [UInt64]) { unwritten.sends = all }

  var unnoted: [UInt64] { unwritten.sends }

  // MARK: Looks at the server

  /// Whether it has arrived is to be looked at, not before a time; without one, once connected.
  mutating func check(_ seq: UInt64, notBeforeMs: Int64? = nil) {
    checks[seq] = Check(notBeforeMs: notBeforeMs)
  }

  /// The catch-up that looks has begun.
  mutating func look(_ seq: UInt64, by sync: UInt64) { checks[seq]?.sync = sync }

  /// The operations that a catch-up looked for, oldest first.
  func looked(by sync: UInt64) -> [UInt64] {
    Array(checks.filter { $0.value.sync == sync }.keys).ascending()
  }

  /// The look came to nothing: once more, after a pause that grows.
  mutating func lookAgain(_ seq: UInt64, pauseMs: (_ attempts: Int) -> Int64) {
    guard var check = checks[seq] else { return }
    check.sync = nil
    check.attempts += 1
    check.notBeforeMs = (check.notBeforeMs ?? 0) + pauseMs(check.attempts)
    checks[seq] = check
  }

  mutating func endCheck(_ seq: UInt64) { checks[seq] = nil }

  /// No request of an earlier connection arrives any more: looks need not wait for that.
  mutating func formerConnectionIsDead(isUp: Bool, at nowMs: Int64) {
    isFormerDead = !isUp
    guard isUp else { return }
    for seq in checks.keys where checks[seq]?.attempts == 0 {
      checks[seq]?.notBeforeMs = nowMs
    }
  }

  /// The next time at which something may be done.
  func deadlineMs(after nowMs: Int64) -> Int64? {
    let times = notBeforeMs.values.filter { $0 > nowMs }
    let looks = checks.values.compactMap { $0.sync == nil ? $0.notBeforeMs : nil }
    return (times + looks.filter { $0 > nowMs }).min()
  }
}
