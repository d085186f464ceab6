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
  private var isTold: Set<UInt64> = []
  private var troubles: [UInt64: Int] = [:]
  var checks: [UInt64: Check] = [:]
  var permille: [UInt64: UInt32] = [:]
  /// Conversations that the server does not know yet, by the names they have here.
  var pending: Set<[UInt8]> = []
  /// Requests that have ended while the store could not be written.
  var loose: [UInt64: Bool] = [:]
  /// The host has said that nothing of an earlier connection reaches the server any more.
  var isFormerDead = false
  /// Whether the last request out was an operation's, where there is room for one.
  var wasLast = false
  /// The server was seen to tell client ids.
  var tellsClientIDs = false

  mutating func load(_ all: [OpenOperation]) {
    open = all
  }

  /// Takes in how an operation stands now; nil for one that is gone.
  mutating func update(_ seq: UInt64, operation: OpenOperation?) {
    let place = place(of: seq)
    let isThere = place < open.count && open[place].seq == seq
    guard let operation, operation.state != .done else {
      if isThere { open.remove(at: place) }
      forget(seq)
      return
    }
    if operation.state != .unknown { checks[seq] = nil }
    if isThere { open[place] = operation } else { open.insert(operation, at: place) }
  }

  private mutating func forget(_ seq: UInt64) {
    calm(seq)
    checks[seq] = nil
    permille[seq] = nil
    loose[seq] = nil
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

  /// Notes a try in vain; gives how many there were in a row.
  mutating func noteTrouble(_ seq: UInt64) -> Int {
    troubles[seq, default: 0] += 1
    return troubles[seq] ?? 1
  }

  mutating func pause(_ seq: UInt64, untilMs: Int64, isTold: Bool) {
    notBeforeMs[seq] = untilMs
    if isTold { self.isTold.insert(seq) }
  }

  /// There is no reason left to wait.
  mutating func calm(_ seq: UInt64) {
    notBeforeMs[seq] = nil
    troubles[seq] = nil
    isTold.remove(seq)
  }

  /// A new connection: only what a server asked for is still waited for.
  mutating func connect(checksAfterMs: Int64) {
    for seq in notBeforeMs.keys.sorted() where !isTold.contains(seq) { calm(seq) }
    for seq in checks.keys where checks[seq]?.notBeforeMs == nil || isFormerDead {
      checks[seq]?.notBeforeMs = checksAfterMs
    }
    isFormerDead = false
  }

  /// No request of an earlier connection arrives any more: looks need not wait for that.
  mutating func hurryChecks(at nowMs: Int64) {
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
