/// A store that rests: what is on disk, what is held, who opens it again, and what it says when the
/// file is not as it was left.
import Base
import Foundation
import Glibc
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

@Suite struct RestTests {
  private func send(_ fixture: Fixture, _ name: String) throws {
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(
        OperationRecord(
          .sendMessage, cid: cid, target: bytes(name), clientID: bytes(name), plain: bytes(name)))
    }
  }

  private func post(_ fixture: Fixture, _ ids: Range<Int>) throws {
    let cid = try fixture.conversation()
    try fixture.apply(ids.map { message("m\($0)", at: Int64($0)) }, cid)
  }

  private func count(_ fixture: Fixture) throws -> UInt64 {
    try fixture.store.read { rx throws(StoreFailure) in try rx.counts().messages }
  }

  /// Names of the open descriptors on the file and what lies beside it.
  private func open(_ fixture: Fixture) -> [String] {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap { name in
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
    }.filter { $0.hasPrefix(fixture.path) }
  }

  private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func copy(_ from: String, _ to: String) throws {
    try? FileManager.default.removeItem(atPath: to)
    try FileManager.default.copyItem(atPath: from, toPath: to)
  }

  /// Protects: nothing but the lock is held, and the main file alone has every commit.
  @Test func itHoldsTheLockAlone() throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<50)
    try send(fixture, "s1")
    _ = try fixture.read { rx throws(StoreFailure) in try rx.counts() }
    #expect(open(fixture).count > 3)
    #expect(try fixture.store.rest())
    #expect(open(fixture) == [fixture.path])
    #expect(!isThere(fixture.path + "-wal"))
    #expect(try !fixture.store.rest())
    #expect(throws: StoreFailure.vault(.locked)) { try MessageStore.open(fixture.config) }
    // What says nothing of the file does not open it.
    _ = (fixture.store.lsn, fixture.store.lastChange, fixture.store.syncedCommit)
    _ = (fixture.store.fileBytes, try fixture.store.keySlots())
    try fixture.store.syncDurable()
    #expect(open(fixture) == [fixture.path])
    let copied = fixture.path + "-copied"
    try copy(fixture.path, copied)
    var config = fixture.config
    config.kind = .file(
      path: copied, key: HostKey([UInt8](repeating: 7, count: 32)), create: false, strict: true,
      baseVFS: nil)
    let other = try MessageStore.open(config)
    #expect(other.lsn == fixture.store.lsn && !other.isLogLost)
    other.close()
    #expect(try count(fixture) == 50)
  }

  /// Protects: whatever needs the file opens it, and goes on where it was.
  @Test(arguments: [
    "write", "read", "beside", "own", "key", "copy", "rotation", "check", "heal",
  ])
  func eachCallThatNeedsTheFileOpensIt(_ what: String) throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<20)
    try send(fixture, "s1")
    let store = fixture.store
    let lsn = store.lsn
    #expect(try store.rest())
    switch what {
    case "write": try post(fixture, 20..<21)
    case "read": #expect(try count(fixture) == 20)
    case "beside":
      let seen = try fixture.read { rx throws(StoreFailure) in rx.lsn }
      #expect(seen == lsn)
    case "own": try send(fixture, "s2")
    case "key":
      let key = NewSlot(HostKey([UInt8](repeating: 8, count: 32)))
      #expect(try store.putKey(key, replacing: nil) == 1)
      #expect(try store.rest())
      #expect(try store.removeKey(1))
    case "copy": store.end(try #require(try store.copy(to: fixture.path + "-c")))
    case "rotation":
      #expect(try store.beginRotation())
      store.endRotation()
    case "check":
      let check = try #require(try store.pageCheck())
      #expect(try store.rest())
      while !(try store.step(check)) {}
      #expect(check.damaged == 0)
    default: _ = try store.heal()
    }
    #expect(open(fixture).count > 1)
    _ = try count(fixture)
    #expect(try store.isKeptTwice())
    #expect(try store.rest())
    try fixture.reopen()
    #expect(try count(fixture) == (what == "write" ? 21 : 20))
    let sent = [bytes("s1")] + (what == "own" ? [bytes("s2")] : [])
    #expect(try fixture.store.openWork().map(\.clientID) == sent)
  }

  /// Protects: a copy and a new data key hold connections that must not be closed under them.
  @Test func workUnderWayKeepsItOpen() throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<20)
    let copy = try #require(try fixture.store.copy(to: fixture.path + "-c"))
    #expect(try !fixture.store.rest())
    while !(try fixture.store.step(copy)) {}
    #expect(try fixture.store.rest())
    fixture.store.end(copy)
    #expect(try fixture.store.beginRotation())
    #expect(try !fixture.store.rest())
    while !(try fixture.store.stepRotation()) {}
    #expect(try fixture.store.rest())
    #expect(try count(fixture) == 20)
    let memory = try Fixture(.memory)
    #expect(try !memory.store.rest())
  }

  /// Protects: who asks for it holds the engine, and a long read must not hold that up.
  @Test func aReadKeepsItOpen() throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<20)
    let store = fixture.store
    try store.read { rx throws(StoreFailure) in
      #expect(try !store.rest())
      #expect(try rx.counts().messages == 20)
    }
    let look = { (_: ReadTransaction) throws(StoreFailure) in #expect(try !store.rest()) }
    try store.readBeside(failure: { $0 }, look)
    #expect(try store.rest())
  }

  /// Protects: where the file cannot be brought up to date the store goes on as it was.
  @Test(arguments: [true, false]) func aDiskThatFailsKeepsItOpen(_ isFull: Bool) throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    try post(fixture, 0..<20)
    if isFull { disk.fillDisk() } else { disk.failSyncs(true) }
    #expect(throws: isFull ? StoreFailure.full : .vault(.io(1034))) { try fixture.store.rest() }
    #expect(open(fixture).count > 1)
    #expect(try count(fixture) == 20)
    disk.reset()
    if isFull {
      try post(fixture, 20..<21)
      #expect(try fixture.store.rest())
      #expect(try count(fixture) == 21)
    } else {
      // No later sync is believed.
      #expect(throws: StoreFailure.self) { try fixture.store.rest() }
      #expect(try count(fixture) == 20)
    }
  }

  /// Protects: a file that rests on a full disk can be read.
  @Test func aFullDiskCanBeRead() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    try post(fixture, 0..<20)
    #expect(try fixture.store.rest())
    disk.fillDisk()
    #expect(try count(fixture) == 20)
    #expect(throws: StoreFailure.full) { try post(fixture, 20..<21) }
    #expect(try fixture.store.rest())
    #expect(try count(fixture) == 20)
    disk.fillDisk(false)
    try post(fixture, 20..<21)
    #expect(try count(fixture) == 21)
  }

  /// Protects: what is under the name is the file that was left, or nothing of it is believed; once
  /// that is back, it goes on.
  @Test(arguments: ["removed", "another", "linked", "older", "foreign", "emptied"])
  func aFileThatIsNotAsItWasIsRefused(_ what: String) throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<20)
    #expect(try fixture.store.rest())
    let kept = fixture.path + ".kept"
    let old = fixture.path + ".old"
    try copy(fixture.path, old)
    try post(fixture, 20..<30)
    #expect(try fixture.store.rest())
    let manager = FileManager.default
    func writeOver(_ path: String) throws {
      // The same file, with other bytes.
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.path))
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      try handle.write(contentsOf: bytes)
      try handle.truncate(atOffset: UInt64(bytes.count))
      try handle.close()
    }
    switch what {
    case "removed": try manager.moveItem(atPath: fixture.path, toPath: kept)
    case "another":
      try manager.moveItem(atPath: fixture.path, toPath: kept)
      try copy(old, fixture.path)
    case "linked": try manager.linkItem(atPath: fixture.path, toPath: kept)
    case "foreign":
      try copy(fixture.path, kept)
      try Data(repeating: 7, count: 40_000).write(to: URL(fileURLWithPath: old))
      try writeOver(old)
    case "emptied":
      try copy(fixture.path, kept)
      #expect(truncate(fixture.path, 0) == 0)
    default:
      try copy(fixture.path, kept)
      try writeOver(old)
    }
    #expect(throws: StoreFailure.vault(.moved)) { try count(fixture) }
    #expect(throws: StoreFailure.vault(.moved)) { try post(fixture, 30..<31) }
    #expect(throws: StoreFailure.vault(.moved)) {
      _ = try fixture.read { rx throws(StoreFailure) in try rx.counts() }
    }
    #expect(open(fixture).count == 1)
    switch what {
    case "linked": try manager.removeItem(atPath: kept)
    case "older", "foreign", "emptied": try writeOver(kept)
    default:
      try? manager.removeItem(atPath: fixture.path)
      try manager.moveItem(atPath: kept, toPath: fixture.path)
    }
    #expect(try count(fixture) == 30)
    try post(fixture, 30..<31)
    #expect(try count(fixture) == 31)
  }

  /// Protects: a log that lies beside the file when it is opened again is not read over it.
  @Test(arguments: [false, true]) func anOldLogIsNotBelieved(_ isCut: Bool) throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<20)
    try post(fixture, 20..<25)
    let (log, old) = (fixture.path + "-wal", fixture.path + ".old")
    try copy(log, old)
    try post(fixture, 25..<30)
    #expect(try fixture.store.rest())
    for round in 0..<2 {
      try copy(old, log)
      if isCut {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try handle.truncate(atOffset: try handle.seekToEnd() / 2)
        try handle.close()
      }
      #expect(try count(fixture) == UInt64(30 + round))
      // What was put there is one of an earlier generation the second time.
      try post(fixture, 30 + round..<31 + round)
      #expect(try fixture.store.rest())
    }
    try fixture.reopen()
    #expect(try count(fixture) == 32 && !fixture.store.isLogLost)
  }

  /// Protects: own work goes on behind what was kept of it, or is kept anew.
  @Test(arguments: ["as it was", "removed", "cut", "another"])
  func ownWorkIsKeptTwiceBehindIt(_ what: String) throws {
    let fixture = try Fixture(.file)
    let own = fixture.path + "-own"
    try send(fixture, "s1")
    try copy(own, fixture.path + ".old")
    try send(fixture, "s2")
    #expect(try fixture.store.rest())
    #expect(open(fixture).count == 1)
    switch what {
    case "removed": try FileManager.default.removeItem(atPath: own)
    case "cut": #expect(truncate(own, 3_000) == 0)
    case "another": try copy(fixture.path + ".old", own)
    default: break
    }
    try send(fixture, "s3")
    #expect(try fixture.store.isKeptTwice())
    // All of it is there without the main file.
    fixture.store.close()
    try FileManager.default.removeItem(atPath: fixture.path)
    try fixture.reopen()
    #expect(
      try fixture.store.openWork().map(\.clientID) == [bytes("s1"), bytes("s2"), bytes("s3")])
  }

  @Test func itsEndsAreThoseOfAnOpenOne() throws {
    let fixture = try Fixture(.file)
    try send(fixture, "s1")
    #expect(try fixture.store.rest())
    fixture.store.close()
    #expect(open(fixture).isEmpty)
    #expect(throws: StoreFailure.closed) { try count(fixture) }
    #expect(throws: StoreFailure.closed) { try fixture.store.rest() }
    try fixture.reopen()
    #expect(try fixture.store.openWork().count == 1)
    #expect(try fixture.store.rest())
    let kept = try #require(fixture.store.release())
    #expect(open(fixture).isEmpty)
    #expect(throws: StoreFailure.released) { try count(fixture) }
    let again = try MessageStore.open(fixture.config.again(kept))
    #expect(try again.openWork().count == 1)
    #expect(try again.rest())
    try again.wipe()
    #expect(!isThere(fixture.path) && !isThere(fixture.path + "-own"))
  }

  /// Protects: a wipe of a file that cannot be opened fails, and lets go of it.
  @Test func aWipeThatFailsLetsGo() throws {
    let fixture = try Fixture(.file)
    #expect(try fixture.store.rest())
    let kept = fixture.path + ".kept"
    try FileManager.default.moveItem(atPath: fixture.path, toPath: kept)
    #expect(throws: StoreFailure.vault(.moved)) { try fixture.store.wipe() }
    try FileManager.default.moveItem(atPath: kept, toPath: fixture.path)
    #expect(open(fixture).isEmpty)
    try fixture.reopen()
  }

  /// Protects: a wipe that finds no file leaves no work beside its name, which the next file would
  /// take.
  @Test func aWipeWithoutTheFileLeavesNoWork() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(
        OperationRecord(
          .sendMessage, cid: cid, target: bytes("s"), clientID: bytes("s"), plain: bytes("text")))
    }
    #expect(try fixture.store.rest())
    #expect(FileManager.default.fileExists(atPath: fixture.path + "-own"))
    try FileManager.default.removeItem(atPath: fixture.path)
    #expect(throws: StoreFailure.vault(.moved)) { try fixture.store.wipe() }
    #expect(!FileManager.default.fileExists(atPath: fixture.path + "-own"))
  }

  /// Protects: a file that is given up while its last pages get a new data key is the one that is
  /// taken again.
  @Test func itIsGivenUpWithItsNewKey() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    try post(fixture, 0..<20)
    let store = fixture.store
    #expect(try store.beginRotation())
    let kept = Lock<KeptStore??>(nil)
    let begun = Lock(false)
    disk.onEvent { _ in
      let isFirst = begun.withLock { begun in
        defer { begun = true }
        return !begun
      }
      guard isFirst else { return }
      Thread.detachNewThread {
        let found = store.release()
        kept.withLock { $0 = .some(found) }
      }
      // It waits for this step from here on.
      while store.ended != .released { sched_yield() }
    }
    while try !store.stepRotation() {}
    disk.onEvent(nil)
    while kept.withLock({ $0 == nil }) { sched_yield() }
    let found = try #require(kept.withLock { $0 } ?? nil)
    let again = try MessageStore.open(fixture.config.again(found))
    again.close()
  }

  /// Protects: a kill at any write of a rest, or of what comes behind it, loses no commit that was
  /// synced.
  @Test func aKillAtAnyWriteLosesNothing() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    var (kept, next) = (0, 0)
    for write in 1...30 {
      disk.die(atWrite: write, afterBytes: write * 1_297 % 9_000)
      while !disk.isDead {
        do {
          try post(fixture, next..<next + 1)
          next += 1
          if next % 2 == 0 { try fixture.store.syncDurable() }
          kept = next % 2 == 0 ? next : kept
          if try fixture.store.rest() { kept = next }
        } catch is StoreFailure {
          #expect(disk.isDead)
        }
      }
      fixture.store.close()
      disk.revive()
      try fixture.reopen()
      let found = Int(try count(fixture))
      #expect((kept...next + 1).contains(found))
      #expect(!fixture.store.isLogLost)
      (kept, next) = (found, found)
    }
    #expect(next > 10)
  }

  /// Protects: whatever a power cut keeps of a rest, and of what follows it, each commit before the
  /// last rest is there.
  @Test func aPowerCutLosesNothingThatRested() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    fixture.store.close()
    let start = DiskImage(paths: ["", "-wal", "-own"].map { fixture.path + $0 })
    disk.record()
    try fixture.reopen()
    var rested: [(event: Int, rows: Int, sends: Int)] = [(0, 0, 0)]
    for step in 0..<6 {
      try post(fixture, step * 5..<step * 5 + 5)
      if step % 2 == 0 { try send(fixture, "s\(step)") }
      #expect(try fixture.store.rest())
      rested.append((disk.events.count, step * 5 + 5, step / 2 + 1))
    }
    let (events, copied) = (disk.events, fixture.path + "-cut")
    var random = Random(seed: 5)
    var config = fixture.config
    config.kind = .file(
      path: copied, key: HostKey([UInt8](repeating: 7, count: 32)), create: false, strict: false,
      baseVFS: nil)
    #expect(events.count > 60)
    for cut in 0...events.count {
      for suffix in ["", "-wal", "-own"] {
        try? FileManager.default.removeItem(atPath: copied + suffix)
      }
      start.afterPowerCut(events[..<cut], &random).write(replacing: fixture.path, with: copied)
      let store = try MessageStore.open(config)
      defer { store.close() }
      let least = try #require(rested.last { $0.event <= cut })
      let rows = try store.read { rx throws(StoreFailure) in try rx.counts().messages }
      #expect(rows >= least.rows, "\(cut)")
      #expect(try store.openWork().count >= least.sends, "\(cut)")
      #expect(!store.isLogLost, "\(cut)")
    }
  }

  /// Protects: reads and writes of other threads beside rests see every commit, and none fails.
  @Test func threadsBesideRestsFailNever() async throws {
    let fixture = try Fixture(.file)
    try post(fixture, 0..<1)
    let store = fixture.store
    let cid = try fixture.conversation()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for step in 1..<200 {
          try store.write { tx throws(StoreFailure) in
            _ = try tx.apply(message("m\(step)", at: Int64(step)), cid, issued: tx.lsn)
          }
        }
      }
      for isBeside in [false, true] {
        group.addTask {
          var last: UInt64 = 0
          for _ in 0..<200 {
            let look = { (rx: ReadTransaction) throws(StoreFailure) in try rx.counts().messages }
            let seen =
              isBeside
              ? try store.readBeside(failure: { $0 }, look)
              : try store.read(failure: { $0 }, look)
            #expect(seen >= last)
            last = seen
          }
        }
      }
      group.addTask {
        for _ in 0..<50 {
          _ = try store.read { rx throws(StoreFailure) in rx.lsn }
          // Whoever reads is in the way for a moment.
          while try !store.rest() {}
        }
      }
      try await group.waitForAll()
    }
    #expect(try count(fixture) == 200)
  }
}
