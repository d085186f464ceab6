/// What ends a new data key on a storage of the host's at any call: another holder, no power, an
/// error.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct StorageRotationEndTests: StoredRotation {
  /// Protects: a holder that takes the name over at any call finds the old file or the new one,
  /// whole, and removes the other one; the late calls of the old holder change nothing; what the
  /// new one commits outlives a loss of power.
  @Test(arguments: [StorageObject.main, .next]) func aNameTakenOverAtEachCall(
    _ object: StorageObject
  ) throws {
    let start = try made(in: object)
    let old = id(start, object)
    var random = Random(seed: 103)
    var ends: [Bool] = []
    for call in 2... {
      let storage = again(start)
      let taken = Lock<[[UInt8]]?>(nil)
      @Sendable func bytes(_ storage: MemoryStorage) -> [[UInt8]] {
        StorageObject.allCases.map { storage.bytes("eva", $0) }
      }
      storage.before { [weak storage] _, number in
        guard let storage, number == call else { return }
        storage.takeOver("eva")
        taken.withLock { $0 = bytes(storage) }
      }
      let course = holder(storage)
      storage.before(nil)
      guard let found = taken.withLock({ $0 }) else { break }
      #expect(storage.refused == 1 && found == bytes(storage), "call \(call)")
      // The last calls come once the file has its new key: they remove the old one.
      let tells: [VaultFailure?] = [nil, .locked, .io(SQLITE_ABORT)]
      #expect(tells.contains(course.failure), "call \(call): \(String(describing: course.failure))")
      // The next holder commits, and then all that was not synced may go.
      let vault = try open(storage, create: false)
      let writer = Database(try vault.connect(.writer))
      let rows = try writer.rows("SELECT * FROM t").get()
      #expect(rows.count >= course.written && rows == expectedRows(0..<rows.count), "\(call)")
      fill(writer, rows.count..<rows.count + 3)
      try vault.syncLog()
      for image in 0..<4 {
        let left = storage.afterPowerLoss(&random)
        expectWhole(left, least: rows.count + 3, "call \(call), image \(image)")
      }
      writer.close()
      vault.close()
      expectWhole(storage, least: rows.count + 3, "call \(call)")
      ends.append(id(storage, used(storage)[0]) != old)
    }
    #expect(ends.count > 40 && !ends[0] && ends.last == true, "\(ends.count)")
    #expect(ends == ends.sorted { !$0 && $1 })
  }

  /// Protects: power that goes before any call, and once more while the next holder puts right what
  /// it finds, takes nothing that was synced.
  @Test(arguments: [StorageObject.main, .next]) func powerThatGoesAtEachCall(
    _ object: StorageObject
  ) throws {
    let storage = again(try made(in: object))
    let old = id(storage, object)
    let random = Lock(Random(seed: 31))
    let images = Lock<[(storage: MemoryStorage, least: Int, call: Int)]>([])
    let least = Lock(storedRows)
    /// Most of them where there is most to go wrong.
    func watch(_ storage: MemoryStorage, _ ofWrites: Int, _ ofSyncs: Int) {
      storage.before { [weak storage] call, number in
        guard call.changes || call == .sync, let storage else { return }
        for _ in 0..<(call == .write ? ofWrites : ofSyncs) {
          let left = random.withLock { storage.afterPowerLoss(&$0) }
          images.withLock { $0.append((left, least.withLock { $0 }, number)) }
        }
      }
    }
    watch(storage, 1, 12)
    let course = holder(storage) { course in least.withLock { $0 = course.durable } }
    #expect(course.isReplaced)
    storage.before(nil)
    let first = images.withLock { images in
      defer { images = [] }
      return images
    }
    var replaced = 0
    for (number, image) in first.enumerated() {
      // The log of the old one has ended before.
      let isBoth = [.main, .next].allSatisfy { hasMagic(image.storage.bytes("eva", $0)) }
      if isBoth { #expect(image.storage.bytes("eva", .log).isEmpty, "image \(number)") }
      least.withLock { $0 = image.least }
      watch(image.storage, number % 4 == 0 ? 1 : 0, number % 4 == 0 ? 1 : 0)
      expectWhole(image.storage, least: image.least, "image \(number) at call \(image.call)")
      image.storage.before(nil)
      if id(image.storage, used(image.storage).first ?? .main) != old { replaced += 1 }
    }
    let note = "\(replaced) of \(first.count)"
    #expect(first.count > 200 && replaced > 20 && replaced < first.count - 20, "\(note)")
    let second = images.withLock { $0 }
    for (number, image) in second.enumerated() {
      expectWhole(image.storage, least: image.least, "second \(number) at call \(image.call)")
    }
    #expect(second.count > 60, "\(second.count)")
  }

  /// Protects: an error of any call leaves the file with one of its two keys. A holder that may go
  /// on does, and loses nothing of what it writes then.
  @Test(arguments: [StorageObject.main, .next], [StorageAnswer.failed, .full])
  func anErrorAtEachCall(_ object: StorageObject, _ answer: StorageAnswer) throws {
    let start = try made(in: object)
    var random = Random(seed: 8)
    var (goneOn, ended, replaced) = (0, 0, 0)
    var (call, errors) = (1, 1)
    while true {
      let storage = again(start)
      storage.fail(call, count: errors, answer, part: random.below(9))
      let course = holder(storage)
      let isReached = storage.calls >= call
      storage.failNothing()
      for image in 0..<3 {
        let left = storage.afterPowerLoss(&random)
        expectWhole(left, least: course.durable, "call \(call), image \(image)")
      }
      expectWhole(storage, least: course.written, "call \(call)")
      guard isReached else { break }
      // Each one alone, and some at once, so that what it is put right by fails as well.
      (call, errors) = errors == 1 ? (call, 4) : (call + 1, 1)
      if course.isReplaced { replaced += 1 }
      if course.failure != nil {
        // Without trouble it writes one row before, one afterwards, and some meanwhile.
        if course.written > storedRows + 1 { goneOn += 1 } else { ended += 1 }
      }
    }
    #expect(goneOn > 30 && ended > 5 && replaced > 0, "\(goneOn) \(ended) \(replaced)")
  }

  /// Protects: a holder that takes over while an error is put right finds one of the two, and so
  /// does the one after a loss of power in the midst of its opening.
  @Test(arguments: [StorageObject.main, .next]) func aNameTakenOverAfterAnError(
    _ object: StorageObject
  ) throws {
    let start = try made(in: object)
    let whole = again(start)
    #expect(holder(whole).isReplaced)
    let random = Lock(Random(seed: 55))
    let images = Lock<[MemoryStorage]>([])
    var count = 0
    // Around the step that makes the new one the file, and its end.
    for call in whole.calls - 40..<whole.calls - 5 {
      for later in 1...4 {
        let storage = again(start)
        storage.fail(call, .failed, part: 8)
        storage.before { [weak storage] _, number in
          if number == call + later { storage?.takeOver("eva") }
        }
        let course = holder(storage)
        storage.before { [weak storage] call, _ in
          guard call.changes || call == .sync, let storage else { return }
          for _ in 0..<2 {
            let left = random.withLock { storage.afterPowerLoss(&$0) }
            images.withLock { $0.append(left) }
          }
        }
        expectWhole(storage, least: course.written, "call \(call) and \(later)")
        storage.before(nil)
        let all = images.withLock { images in
          defer { images = [] }
          return images
        }
        for image in all { expectWhole(image, least: course.durable, "call \(call), \(later)") }
        count += all.count
      }
    }
    #expect(count > 500, "\(count)")
  }
}
