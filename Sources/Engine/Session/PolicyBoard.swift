/// Syncs whose answer may not come from anywhere: who waits for which one, and for how long.
///
/// Rule protected: what was promised to one who asked changes no sync. Beneath stands a sync as any
/// other, which others may have asked for, too; a promise has a number of its own and ends once,
/// with that sync or before it.
internal import Base

struct PolicyBoard {
  struct Promise {
    /// The one that the host knows it by.
    let number: UInt64
    let choice: PolicyChoice
    /// What is to be answered, for what stands on the cache.
    let subject: AskedTimes.Subject
    /// The sync that brings it.
    let sync: UInt64
    let deadlineMs: Int64?

    func kept(by sync: UInt64) -> Promise {
      Promise(
        number: number, choice: choice, subject: subject, sync: sync, deadlineMs: deadlineMs)
    }
  }

  private(set) var promises: [Promise] = []

  func promise(_ number: UInt64) -> Promise? { promises.first { $0.number == number } }

  var deadlineMs: Int64? { promises.lazy.compactMap(\.deadlineMs).min() }

  mutating func add(_ promise: Promise) { promises.append(promise) }

  mutating func take(_ number: UInt64) -> Promise? {
    guard let index = promises.firstIndex(where: { $0.number == number }) else { return nil }
    return promises.remove(at: index)
  }

  /// Those that a sync was to keep.
  mutating func take(of sync: UInt64) -> [Promise] {
    if promises.isEmpty { return [] }
    defer { promises.removeAll { $0.sync == sync } }
    return promises.filter { $0.sync == sync }
  }

  /// Those whose time is up.
  mutating func takeLate(_ nowMs: Int64) -> [Promise] {
    func isLate(_ promise: Promise) -> Bool { promise.deadlineMs.map { $0 <= nowMs } ?? false }
    if !promises.contains(where: isLate) { return [] }
    defer { promises.removeAll(where: isLate) }
    return promises.filter(isLate)
  }

  /// Those that nothing but a connection could keep.
  mutating func takeOffline() -> [Promise] {
    func isLost(_ promise: Promise) -> Bool {
      promise.choice.policy == .networkOnly
        || promise.choice.policy == .networkFirst && promise.deadlineMs == nil
    }
    if !promises.contains(where: isLost) { return [] }
    defer { promises.removeAll(where: isLost) }
    return promises.filter(isLost)
  }
}
