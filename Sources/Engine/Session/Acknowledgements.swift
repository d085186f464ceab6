/// Replies to updates: apply, commit, sync, then reply.
///
/// Rule protected: no reply is handed out before its effect is on disk, and each is
/// pending until the host reports its frame as sent. What is pending is in the file, from
/// the transaction of the effect on; here is only what is next, so a lost process
/// loses nothing: all that is still pending is handed out again on each connection.
internal import Base
internal import Store
internal import Wire

struct Acknowledgements {
  /// Refs whose replies can be handed out, oldest first.
  private(set) var ready: [[UInt8]] = []
  /// Handed out and not yet reported as sent.
  private var handed: [(frame: UInt64, ref: [UInt8])] = []
  /// Reported as sent, which the file does not know yet.
  private(set) var settled: [[UInt8]] = []
  /// Whether the file may have pending replies that are not here.
  private(set) var hasMore = false
  /// Some that were handed out are not remembered, and what waits behind them waits
  /// for the host's reports.
  private var isHeldBack = false
  /// The newest commit that is known to be on disk.
  private var syncedLSN: UInt64 = 0
  /// Updates applied since refs were last trimmed.
  private var untrimmed = Acknowledgements.trimEvery
  static let trimEvery = 256

  /// A new connection: whatever is pending is to be handed out again.
  mutating func connect() {
    ready = []
    handed = []
    isHeldBack = false
    hasMore = true
  }

  mutating func disconnect() {
    ready = []
    handed = []
    hasMore = false
  }

  /// A reply is pending, also where it had been handed out before.
  mutating func markPending(_ ref: [UInt8]) {
    handed.removeAll { $0.ref == ref }
    // Refs are mostly numbers that go up, so one look at the end tells two apart.
    guard !ready.contains(where: { $0.last == ref.last && $0 == ref }) else { return }
    if ready.count < Limits.repliesReady {
      ready.append(ref)
    } else {
      hasMore = true
    }
  }

  /// How many to ask the file for, so that those handed out hide none.
  var loadLimit: Int { handed.count + settled.count + Limits.repliesReady }

  /// Takes in what is pending in the file, oldest first.
  mutating func load(_ pending: [[UInt8]]) {
    let known = Set(handed.map(\.ref)).union(settled)
    hasMore = pending.count >= loadLimit
    for ref in pending where !known.contains(ref) { ready.append(ref) }
  }

  /// The next reply has become a frame.
  mutating func handOut(_ frame: UInt64) {
    guard !ready.isEmpty else { return }
    // A host that reports nothing takes no memory; the file still knows.
    if handed.count >= Limits.repliesHanded {
      handed.removeFirst()
      hasMore = false
      isHeldBack = true
    }
    handed.append((frame, ready.removeFirst()))
  }

  /// The host wrote a frame: false where it is no reply.
  mutating func report(_ frame: UInt64) -> Bool {
    guard let index = handed.firstIndex(where: { $0.frame == frame }) else { return false }
    settled.append(handed.remove(at: index).ref)
    if isHeldBack, handed.count < Limits.repliesHanded / 2 {
      isHeldBack = false
      hasMore = true
    }
    return true
  }

  /// The file knows.
  mutating func flushed() {
    settled = []
  }

  /// Whether refs are to be trimmed with the next update.
  var mustTrim: Bool { untrimmed &+ 1 >= Self.trimEvery }

  /// An update was applied, and refs were trimmed where they had to be.
  mutating func noteApplied() { untrimmed = mustTrim ? 0 : untrimmed &+ 1 }

  /// Whether effects up to a commit are to be brought to disk first.
  func isUnsynced(_ lsn: UInt64) -> Bool { syncedLSN < lsn }

  mutating func synced(_ lsn: UInt64) { syncedLSN = lsn }
}
