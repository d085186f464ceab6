/// Key slots: whoever has one key is in, whatever happened to the others.
import Base
import CSQLite
import CSodium
import Foundation
import TestSupport
import Testing
import Vault

/// A key of its kind, by which a test knows it.
enum Given: CaseIterable {
  case raw, otherRaw, passphrase, otherPassphrase, code, otherCode

  /// Made anew at each use: whoever opens wipes it.
  var secret: HostKey {
    switch self {
    case .raw: HostKey(key)
    case .otherRaw: HostKey(otherKey)
    case .passphrase: HostKey(Array("correct horse".utf8), as: .passphrase)
    case .otherPassphrase: HostKey(Array("battery staple".utf8), as: .passphrase)
    case .code: HostKey([UInt8](repeating: UInt8(ascii: "0"), count: 30), as: .code)
    case .otherCode: HostKey([UInt8](repeating: UInt8(ascii: "7"), count: 30), as: .code)
    }
  }

  /// With the least figures, so that a test does not take long.
  func slot(_ label: String = "") -> NewSlot {
    NewSlot(secret, label: Array(label.utf8), operations: 1, memoryBytes: 1 << 20)
  }
}

func open(
  _ path: String, _ given: Given, create: Bool = false, base: String = "unix-excl"
) throws(VaultFailure) -> Vault {
  try Vault.open(VaultConfig(path: path, key: given.secret, create: create, baseVFS: base))
}

extension Vault {
  @discardableResult
  func add(_ given: Given, _ label: String = "", replacing: Int? = nil) throws(VaultFailure) -> Int
  {
    try put(slot(for: given.slot(label)), replacing: replacing)
  }
}

struct KeyTests {
  /// Which of the keys open the file.
  func openers(_ path: String) -> [Given] {
    Given.allCases.filter { given in
      guard let vault = try? open(path, given) else { return false }
      vault.close()
      return true
    }
  }

  private func content(_ vault: Vault) throws -> [String] {
    try Database(try vault.connect(.reader)).rows("SELECT * FROM t").get()
  }

  /// A closed file with ten rows that `keys` open; its first slot is that of `key`.
  func made(_ place: Place, _ keys: [Given] = []) throws {
    let vault = try open(place.path, .raw, create: true)
    fill(Database(try vault.connect(.writer)), 0..<10)
    for key in keys { try vault.add(key) }
    vault.close()
  }

  @Test(arguments: Given.allCases) func aFileIsMadeForEachKind(given: Given) throws {
    let place = Place()
    let vault = try open(place.path, given, create: true)
    fill(Database(try vault.connect(.writer)), 0..<10)
    let kind = given.secret.kind
    let slots = try vault.slots()
    #expect(slots.map(\.kind) == [kind.rawValue])
    #expect(slots.map(\.operations) == [kind == .passphrase ? 3 : 0])
    #expect(slots.map(\.memoryBytes) == [kind == .passphrase ? 64 << 20 : 0])
    vault.close()
    for other in Given.allCases {
      do throws(VaultFailure) {
        let vault = try open(place.path, other)
        #expect(other == given)
        #expect((try? content(vault)) == expectedRows(0..<10))
        vault.close()
      } catch {
        #expect(other != given)
        #expect(error == (other.secret.kind == kind ? .wrongKey : .noSlot), "\(other)")
      }
    }
  }

  @Test func keysAreAddedChangedAndRemovedWhileOpen() throws {
    let place = Place()
    let vault = try open(place.path, .raw, create: true)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    #expect(try vault.add(.passphrase, "Eva's") == 1)
    #expect(try vault.add(.code, "printed 2026-11") == 2)
    try vault.removeSlot(0)
    fill(writer, 10..<20)
    #expect(try vault.add(.otherPassphrase, "Eva's new", replacing: 1) == 1)
    #expect(try vault.slots().map(\.number) == [1, 2])
    #expect(
      try vault.slots().map { String(decoding: $0.label, as: UTF8.self) }
        == ["Eva's new", "printed 2026-11"])
    writer.close()
    vault.close()
    #expect(openers(place.path) == [.otherPassphrase, .code])
    // The number that is free is taken again.
    let again = try open(place.path, .code)
    #expect(try again.add(.otherRaw) == 0)
    #expect(try content(again) == expectedRows(0..<20))
    again.close()
    #expect(openers(place.path) == [.otherRaw, .otherPassphrase, .code])
  }

  /// Protects: one key is enough, of whatever kind it is and in whichever slot.
  @Test(arguments: Given.allCases) func withAllOthersLostOneOpens(kept: Given) throws {
    let place = Place()
    let others = Given.allCases.filter { $0 != .raw }
    try made(place, others)
    let vault = try open(place.path, kept)
    let number = Given.allCases.firstIndex(of: kept) ?? -1
    for slot in 0..<6 where slot != number { try vault.removeSlot(slot) }
    #expect(throws: VaultFailure.lastSlot) { try vault.removeSlot(number) }
    vault.close()
    #expect(openers(place.path) == [kept])
    let again = try open(place.path, kept)
    #expect(try content(again) == expectedRows(0..<10))
  }

  @Test func thereAreEightSlots() throws {
    let place = Place()
    let vault = try open(place.path, .raw, create: true)
    for number in 1..<8 { #expect(try vault.add(.code) == number) }
    #expect(throws: VaultFailure.slotsFull) { try vault.add(.code) }
    #expect(try vault.add(.otherCode, replacing: 7) == 7)
    for number in [-1, 8, .max] {
      #expect(throws: VaultFailure.noSuchSlot) { try vault.removeSlot(number) }
      #expect(throws: VaultFailure.noSuchSlot) { try vault.add(.code, replacing: number) }
    }
    try vault.removeSlot(3)
    #expect(throws: VaultFailure.noSuchSlot) { try vault.removeSlot(3) }
    #expect(throws: VaultFailure.noSuchSlot) { try vault.add(.code, replacing: 3) }
    vault.close()
    #expect(throws: VaultFailure.io(SQLITE_MISUSE)) { try vault.add(.code) }
    #expect(throws: VaultFailure.io(SQLITE_MISUSE)) { try vault.removeSlot(1) }
  }

  /// Protects: a change of key costs the same on a file of any size.
  @Test func aChangeWritesEachCopyAroundItsMark() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, .raw, create: true, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<2000, batch: 500)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    for change in 0..<3 {
      disk.record()
      switch change {
      case 0: try vault.add(.passphrase)
      case 1: try vault.add(.code, replacing: 1)
      default: try vault.removeSlot(1)
      }
      let seen = disk.events.map { event in
        switch event.change {
        case .write(let offset, let bytes): "\(offset) \(bytes.count)"
        case .sync: "sync"
        default: "other"
        }
      }
      #expect(seen == ["0 2048", "2120 1976", "sync", "4096 2048", "6216 1976", "sync"])
    }
  }

  /// Protects: wherever a change is torn, the old keys open the file or the new ones do.
  @Test func aKillAtEachWriteOfAChangeLocksNobodyOut() throws {
    for write in 1...5 {
      for torn in [0, 1, 100, 511, 2048, 4088] {
        let place = Place()
        let disk = FaultVFS()
        try made(place, [.passphrase])
        let vault = try open(place.path, .raw, base: disk.name)
        let slot = try vault.slot(for: Given.otherPassphrase.slot())
        disk.die(atWrite: write, afterBytes: torn)
        let isDone = (try? vault.put(slot, replacing: 1)) != nil
        #expect(isDone == (write == 5))
        vault.close()
        disk.revive()
        let found = openers(place.path)
        // The second write of a copy has 1976 bytes.
        let isNew = write > 2 || write == 2 && torn >= 1976
        #expect(found == [.raw, isNew ? .otherPassphrase : .passphrase], "\(write), \(torn)")
        // The opening has made both copies alike.
        let bytes = contents(place.path)
        #expect(unmarked(bytes[..<4096]) == unmarked(bytes[4096..<8192]))
        #expect(try content(open(place.path, .raw)) == expectedRows(0..<10))
      }
    }
  }

  @Test func aPowerCutInAChangeLocksNobodyOut() throws {
    let place = Place()
    try made(place, [.passphrase])
    let disk = FaultVFS()
    let start = DiskImage(paths: [place.path])
    let vault = try open(place.path, .raw, base: disk.name)
    disk.record()
    try vault.add(.otherRaw, replacing: 0)
    try vault.add(.code)
    try vault.removeSlot(1)
    let events = disk.events
    vault.close()
    let states: [[Given]] = [
      [.raw, .passphrase], [.otherRaw, .passphrase], [.otherRaw, .passphrase, .code],
      [.otherRaw, .code],
    ]
    var random = Random(seed: 61)
    var seen: Set<Int> = []
    for image in 0..<400 {
      let cut = random.below(events.count + 1)
      let after = start.afterPowerCut(events[..<cut], &random)
      let target = Place()
      after.write(replacing: place.directory, with: target.directory)
      let found = openers(target.path)
      guard let state = states.firstIndex(of: found) else {
        Issue.record("image \(image), cut at \(cut): \(found)")
        continue
      }
      // Six events are a change: each copy is two writes around the mark of the log, and a sync.
      #expect(state >= (cut + 3) / 6 && state <= (cut + 4) / 6, "image \(image), cut at \(cut)")
      seen.insert(state)
    }
    #expect(seen.count == 4)
  }

  /// Protects: where one copy is torn and could not be mended, it is the one that is written first.
  @Test func theTornCopyIsWrittenFirst() throws {
    for broken in [0, 1] {
      let place = Place()
      let disk = FaultVFS()
      try made(place)
      var bytes = contents(place.path)
      bytes[broken * 4096 + 2000] ^= 1
      store(bytes, place.path)
      disk.failWrite(1, .fail(SQLITE_IOERR))
      let vault = try open(place.path, .raw, base: disk.name)
      disk.reset()
      disk.die(atWrite: 1, afterBytes: 700)
      #expect(throws: (any Error).self) { try vault.add(.code) }
      vault.close()
      disk.revive()
      #expect(openers(place.path) == [.raw])
    }
  }

  @Test func aFailureLeavesTheOldSlotsOrTheNew() throws {
    for write in 1...4 {
      let place = Place()
      let disk = FaultVFS()
      try made(place)
      let vault = try open(place.path, .raw, base: disk.name)
      disk.failWrite(write, .fail(SQLITE_FULL))
      #expect(throws: write < 3 ? VaultFailure.full : .fullAfterChange) { try vault.add(.code) }
      let slots = write < 3 ? 1 : 2
      #expect(try vault.slots().count == slots)
      disk.reset()
      // The next one goes on from what there is.
      #expect(try vault.add(.passphrase) == slots)
      vault.close()
      let all: [Given] = [.raw, .passphrase, .code]
      #expect(openers(place.path) == Array(all.prefix(slots + 1)))
    }
  }

  /// Protects: what is said of the keys after a sync that failed is what the next opening takes.
  @Test(arguments: [1, 2]) func aSyncThatFailsLeavesWhatIsSaid(_ broken: Int) throws {
    let place = Place()
    let disk = FaultVFS()
    try made(place)
    let vault = try open(place.path, .raw, base: disk.name)
    let slot = try vault.slot(for: Given.code.slot("code"))
    if broken == 2 {
      // Nor can the old header be put back.
      disk.failWrite(3, count: 9, .fail(SQLITE_IOERR))
    }
    disk.failSyncs(true)
    #expect(throws: (any Error).self) { try vault.put(slot, replacing: 0) }
    let said = try vault.slots().map(\.kind)
    #expect(said == [(broken == 1 ? Given.raw : .code).secret.kind.rawValue])
    #expect(try Vault.slots(at: place.path).map(\.kind) == said)
    disk.reset()
    disk.failSyncs(false)
    vault.close()
    #expect(openers(place.path) == [broken == 1 ? .raw : .code])
  }

  private func patch(_ path: String, slot: Int, at offset: Int, _ bytes: [UInt8]) {
    var file = contents(path)
    for start in [0, 4096] {
      let place = start + 64 + 160 * slot + offset
      file.replaceSubrange(place..<place + bytes.count, with: bytes)
      var sum = [UInt8](repeating: 0, count: 32)
      crypto_generichash(&sum, 32, unmarked(file[start..<start + 4064]), 4064, nil, 0)
      file.replaceSubrange(start + 4064..<start + 4096, with: sum)
    }
    store(file, path)
  }

  private func little(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }

  /// Protects: a file from outside makes nobody reserve or compute more than is allowed.
  @Test func figuresOverTheBoundsAreNotTried() throws {
    let place = Place()
    let vault = try open(place.path, .passphrase, create: true)
    try vault.add(.passphrase, replacing: 0)
    vault.close()
    let whole = contents(place.path)
    let figures: [(operations: UInt64, memory: UInt64, isTried: Bool)] = [
      (16, 1 << 20, true), (17, 1 << 20, false), (0, 1 << 20, false),
      (UInt64(UInt32.max), 1 << 20, false), (1, 256 << 20, true), (1, (256 << 20) + 1, false),
      (1, 1 << 40, false), (1, .max, false), (1, (1 << 20) - 1, false), (1, 0, false),
    ]
    for (operations, memory, isTried) in figures {
      store(whole, place.path)
      patch(place.path, slot: 0, at: 4, little(operations, 4) + little(memory, 8))
      #expect(throws: isTried ? VaultFailure.wrongKey : .noSlot) {
        _ = try open(place.path, .passphrase)
      }
      // They are shown as they are.
      #expect(try Vault.slots(at: place.path).map(\.memoryBytes) == [memory])
    }
    #expect(throws: VaultFailure.io(SQLITE_MISUSE)) {
      let vault = try open(place.path("other.db"), .raw, create: true)
      _ = try vault.slot(for: NewSlot(Given.passphrase.secret, operations: 17))
    }
  }

  /// Protects: a slot opens in its own file only.
  @Test(arguments: [Given.raw, .passphrase, .code])
  func aSlotOfAnotherFileDoesNotOpen(given: Given) throws {
    let (place, other) = (Place(), Place())
    try made(place)
    let foreign = try open(other.path, given, create: true)
    try foreign.add(given, replacing: 0)
    foreign.close()
    patch(place.path, slot: 1, at: 0, Array(contents(other.path)[64..<224]))
    if given != .raw {
      #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, given) }
    } else {
      patch(place.path, slot: 0, at: 0, Array(contents(other.path)[64..<224]))
      #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, given) }
    }
  }

  /// Protects: the keyed sum commits a header to one data key and covers labels and kinds.
  @Test func whatIsChangedInASlotIsNoticedByWhoHasAKey() throws {
    let place = Place()
    try made(place, [.code])
    let whole = contents(place.path)
    for (slot, offset) in [(1, 104), (1, 0), (1, 60), (1, 159), (5, 0), (0, 151)] {
      store(whole, place.path)
      patch(place.path, slot: slot, at: offset, [9])
      #expect(throws: VaultFailure.damaged) { _ = try open(place.path, .raw) }
    }
    // Whoever lists them has no key: he is shown what stands there, also a later kind.
    store(whole, place.path)
    patch(place.path, slot: 1, at: 0, [9])
    #expect(try Vault.slots(at: place.path).map(\.kind) == [1, 9])
    #expect(throws: VaultFailure.noSlot) { _ = try open(place.path, .code) }
  }

  @Test func slotsAreListedWhileTheFileIsOpen() throws {
    let place = Place()
    let vault = try open(place.path, .raw, create: true)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<100)
    try vault.add(.passphrase, "Eva's passphrase, of 2026-11-28, on the phone 48")
    let listed = try Vault.slots(at: place.path)
    #expect(listed == (try vault.slots()))
    #expect(listed.map(\.number) == [0, 1])
    #expect(listed.map(\.operations) == [0, 1])
    #expect(listed[1].label.count == 48)
    #expect(place.names == ["cache.db", "cache.db-wal"])
    #expect(throws: VaultFailure.locked) { _ = try open(place.path, .passphrase) }
    // A process that looks from outside finds the lock of SQLite where it was.
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    other.arguments = [
      "python3", "-c",
      """
      import fcntl, sys
      f = open(sys.argv[1], "r+b")
      try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
      except OSError: sys.exit(1)
      """, place.path,
    ]
    try other.run()
    other.waitUntilExit()
    #expect(other.terminationStatus == 1)
    fill(writer, 100..<120)
    writer.close()
    vault.close()
    #expect(try Vault.slots(at: place.path) == listed)
  }

  @Test func whatCannotBeListedIsToldApart() throws {
    let place = Place()
    #expect(throws: VaultFailure.notFound) { try Vault.slots(at: place.path) }
    #expect(throws: VaultFailure.notOurs) { try Vault.slots(at: place.directory) }
    #expect(throws: VaultFailure.io(SQLITE_CANTOPEN)) { try Vault.slots(at: "") }
    store(Array("hello".utf8), place.path)
    #expect(throws: VaultFailure.notOurs) { try Vault.slots(at: place.path) }
    try FileManager.default.removeItem(atPath: place.path)
    try made(place)
    patch(place.path, slot: 0, at: 8 - 64, [2])
    #expect(throws: VaultFailure.tooNew) { try Vault.slots(at: place.path) }
    patch(place.path, slot: 0, at: 8 - 64, [1])
    var bytes = contents(place.path)
    bytes[2000] ^= 1
    store(bytes, place.path)
    #expect(try Vault.slots(at: place.path).count == 1)
    bytes[6000] ^= 1
    store(bytes, place.path)
    #expect(throws: VaultFailure.damaged) { try Vault.slots(at: place.path) }
    #expect(mkfifo(place.path("pipe"), 0o600) == 0)
    #expect(throws: VaultFailure.notOurs) { try Vault.slots(at: place.path("pipe")) }
  }

  /// Protects: threads that change keys at once lose none of each other's.
  @Test func threadsThatAddAtOnceGetSlotsOfTheirOwn() throws {
    let place = Place()
    let vault = try open(place.path, .raw, create: true)
    // One of the threads has it alone.
    nonisolated(unsafe) let writer = Database(try vault.connect(.writer))
    let numbers = Lock([Int]())
    let refused = Lock(0)
    DispatchQueue.concurrentPerform(iterations: 10) { turn in
      if turn == 0 {
        fill(writer, 0..<200)
        return
      }
      do throws(VaultFailure) {
        let number = try vault.add(turn % 2 == 0 ? .passphrase : .code)
        numbers.withLock { $0.append(number) }
      } catch {
        if error == .slotsFull { refused.withLock { $0 += 1 } }
      }
    }
    #expect(numbers.withLock { $0.sorted() } == [1, 2, 3, 4, 5, 6, 7])
    #expect(refused.withLock { $0 } == 2)
    #expect(try content(vault) == expectedRows(0..<200))
    writer.close()
    vault.close()
    #expect(try Vault.slots(at: place.path).count == 8)
    #expect(openers(place.path).first == .raw)
  }

  @Test func aStorageOfTheHostHasSlotsToo() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    try vault.add(.code, "printed")
    try vault.removeSlot(0)
    vault.close()
    #expect(throws: VaultFailure.noSlot) { _ = try open(storage, create: false) }
    var config = VaultConfig(path: "eva", key: Given.code.secret, create: false)
    config.storage = storage
    let again = try Vault.open(config)
    #expect(try again.slots().map(\.number) == [1])
  }

  @Test func aWipedFileTakesNoKey() throws {
    let place = Place()
    let vault = try open(place.path, .raw, create: true)
    let slot = try vault.slot(for: Given.code.slot())
    try FileManager.default.linkItem(atPath: place.path, toPath: place.path("kept.db"))
    try vault.destroy()
    #expect(throws: VaultFailure.io(SQLITE_MISUSE)) { try vault.put(slot, replacing: nil) }
    #expect(try Vault.slots(at: place.path("kept.db")) == [])
    #expect(throws: VaultFailure.notFound) { _ = try open(place.path("kept.db"), .raw) }
  }
}
