/// A storage of the host's in memory that can lose its power, its lease, and any call.
///
/// It keeps the contract of `tl_storage` and no more: of what came after the last sync a crash
/// keeps any part, in any order.
import Base

/// The calls on a storage that may fail.
package enum StorageCall: Sendable, CaseIterable {
  case acquire
  case read
  case write
  case truncate
  case size
  case sync
  case remove

  /// Whether it changes something that is stored.
  package var changes: Bool { self == .write || self == .truncate || self == .remove }
}

package final class MemoryStorage: HostStorage {
  fileprivate enum Change {
    case write(Int, [UInt8])
    case truncate(Int)
  }

  fileprivate struct Object {
    var durable: [UInt8] = []
    var bytes: [UInt8] = []
    /// What came after the last sync.
    var pending: [Change] = []
  }

  private struct Name {
    var fence: UInt64 = 0
    var holder: UInt64 = 0
    var objects: [StorageObject: Object] = [:]
  }

  private struct Contents {
    var names: [[UInt8]: Name] = [:]
    var calls = 0
    var counts: [StorageCall: Int] = [:]
    var failAt: Int?
    var failCount = 0
    var failKind: StorageCall?
    var fault = StorageAnswer.failed
    /// Of a write that fails, so many bytes arrive.
    var partOfFailed = 0
    var refused = 0
    var before: (@Sendable (StorageCall, Int) -> Void)?
  }

  private let contents = Lock(Contents())

  package init() {}

  // MARK: For tests

  /// Calls so far, but for releases.
  package var calls: Int { contents.withLock { $0.calls } }
  package func count(_ call: StorageCall) -> Int { contents.withLock { $0.counts[call] ?? 0 } }
  /// Calls with an old number: each was refused.
  package var refused: Int { contents.withLock { $0.refused } }

  /// The `n`-th call from now (1 is the next) fails, and `count - 1` after it.
  package func fail(_ n: Int, count: Int = 1, _ answer: StorageAnswer, part: Int = 0) {
    contents.withLock {
      $0.failAt = $0.calls + n
      $0.failCount = count
      $0.fault = answer
      $0.partOfFailed = part
    }
  }

  /// The next call of a kind fails.
  package func fail(next call: StorageCall, _ answer: StorageAnswer) {
    contents.withLock {
      $0.failKind = call
      $0.fault = answer
    }
  }

  package func failNothing() { contents.withLock { $0.failAt = nil } }

  /// Called before each call is done, with no lock held, and with its number.
  package func before(_ call: (@Sendable (StorageCall, Int) -> Void)?) {
    contents.withLock { $0.before = call }
  }

  /// What another holder does who takes the name.
  package func takeOver(_ name: String) {
    contents.withLock { _ = Self.acquire(&$0, Array(name.utf8)) }
  }

  package func isHeld(_ name: String) -> Bool {
    contents.withLock { $0.names[Array(name.utf8)].map { $0.holder != 0 } ?? false }
  }

  package func bytes(_ name: String, _ object: StorageObject) -> [UInt8] {
    contents.withLock { $0.names[Array(name.utf8)]?.objects[object]?.bytes ?? [] }
  }

  package func put(_ name: String, _ object: StorageObject, _ bytes: [UInt8]) {
    contents.withLock {
      $0.names[Array(name.utf8), default: Name()].objects[object] = Object(
        durable: bytes, bytes: bytes)
    }
  }

  /// A storage as the loss of power would leave this one now; this one goes on.
  package func afterPowerLoss(_ random: inout Random) -> MemoryStorage {
    let left = MemoryStorage()
    var names = contents.withLock { $0.names }
    for name in names.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      for object in StorageObject.allCases {
        guard var known = names[name]?.objects[object] else { continue }
        known.lose(&random)
        names[name]?.objects[object] = known
      }
      names[name]?.holder = 0
    }
    left.contents.withLock { [names] in $0.names = names }
    return left
  }

  // MARK: Calls

  private static func acquire(_ contents: inout Contents, _ name: [UInt8]) -> UInt64 {
    contents.names[name, default: Name()].fence += 1
    let fence = contents.names[name]?.fence ?? 0
    contents.names[name]?.holder = fence
    return fence
  }

  private func run(
    _ call: StorageCall, _ lease: StorageLease?,
    _ body: (inout Contents, _ isCut: Bool) -> StorageAnswer
  ) -> StorageAnswer {
    let (before, number) = contents.withLock { contents in
      contents.calls += 1
      contents.counts[call, default: 0] += 1
      return (contents.before, contents.calls)
    }
    before?(call, number)
    return contents.withLock { contents in
      if let lease, contents.names[lease.name]?.fence != lease.fence {
        contents.refused += 1
        return .lost
      }
      if contents.failKind == call {
        contents.failKind = nil
        return contents.fault
      }
      if let first = contents.failAt, number >= first, number < first + contents.failCount {
        if call == .write && contents.fault != .lost { _ = body(&contents, true) }
        return contents.fault
      }
      return body(&contents, false)
    }
  }

  package func acquire(_ name: [UInt8], _ fence: inout UInt64) -> StorageAnswer {
    var given: UInt64 = 0
    let answer = run(.acquire, nil) { contents, _ in
      given = Self.acquire(&contents, name)
      return .done
    }
    fence = given
    return answer
  }

  package func release(_ lease: StorageLease) {
    contents.withLock {
      if $0.names[lease.name]?.holder == lease.fence { $0.names[lease.name]?.holder = 0 }
    }
  }

  package func read(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    into out: UnsafeMutableRawBufferPointer, _ got: inout Int
  ) -> StorageAnswer {
    var count = 0
    let answer = run(.read, lease) { contents, _ in
      let bytes = contents.names[lease.name]?.objects[object]?.bytes ?? []
      guard Int(offset) < bytes.count else { return .done }
      let part = bytes[Int(offset)..<min(bytes.count, Int(offset) + out.count)]
      out.copyBytes(from: part)
      count = part.count
      return .done
    }
    got = count
    return answer
  }

  package func write(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    _ bytes: UnsafeRawBufferPointer
  ) -> StorageAnswer {
    change(.write, lease, object) { .write(Int(offset), Array(bytes.prefix($0 ?? bytes.count))) }
  }

  package func truncate(
    _ lease: StorageLease, _ object: StorageObject, to size: UInt64
  ) -> StorageAnswer {
    change(.truncate, lease, object) { _ in .truncate(Int(size)) }
  }

  package func size(
    _ lease: StorageLease, _ object: StorageObject, _ size: inout UInt64
  ) -> StorageAnswer {
    var known = 0
    let answer = run(.size, lease) { contents, _ in
      known = contents.names[lease.name]?.objects[object]?.bytes.count ?? 0
      return .done
    }
    size = UInt64(known)
    return answer
  }

  package func sync(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    run(.sync, lease) { contents, _ in
      contents.names[lease.name]?.objects[object, default: Object()].sync()
      return .done
    }
  }

  package func remove(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    change(.remove, lease, object) { _ in .truncate(0) }
  }

  private func change(
    _ call: StorageCall, _ lease: StorageLease, _ object: StorageObject,
    _ make: (_ part: Int?) -> Change
  ) -> StorageAnswer {
    run(call, lease) { contents, isCut in
      let made = make(isCut ? contents.partOfFailed : nil)
      contents.names[lease.name]?.objects[object, default: Object()].take(made)
      return .done
    }
  }
}

extension MemoryStorage.Object {
  fileprivate mutating func take(_ change: MemoryStorage.Change) {
    Self.apply(change, to: &bytes)
    pending.append(change)
  }

  fileprivate mutating func sync() {
    durable = bytes
    pending = []
  }

  /// Each change since the last sync arrived, or not, or in parts, in any order.
  fileprivate mutating func lose(_ random: inout Random) {
    let share = [0.15, 0.5, 0.9][random.below(3)]
    var arrived: [MemoryStorage.Change] = []
    for change in pending {
      switch change {
      case .write(let offset, let bytes) where random.chance(0.5):
        // Torn at any byte.
        var start = 0
        while start < bytes.count {
          let end = min(bytes.count, start + 1 + random.below(900))
          if random.chance(share) {
            arrived.append(.write(offset + start, Array(bytes[start..<end])))
          }
          start = end
        }
      default: if random.chance(share) { arrived.append(change) }
      }
    }
    if random.chance(0.5) {
      for index in arrived.indices.dropFirst() {
        arrived.swapAt(index, random.below(index + 1))
      }
    }
    for change in arrived { Self.apply(change, to: &durable) }
    bytes = durable
    pending = []
  }

  private static func apply(_ change: MemoryStorage.Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let offset, let part):
      let end = offset + part.count
      if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
      bytes.replaceSubrange(offset..<end, with: part)
    case .truncate(let size):
      if bytes.count > size {
        bytes.removeLast(bytes.count - size)
      } else {
        bytes += [UInt8](repeating: 0, count: size - bytes.count)
      }
    }
  }
}
