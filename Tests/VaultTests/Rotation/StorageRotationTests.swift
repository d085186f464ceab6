/// A new data key on a storage of the host's: the file changes between two objects of its name.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

let storedRows = 60

/// How far a holder came.
struct Course {
  /// Rows that are there, and that no loss of power takes.
  var (written, durable) = (storedRows, storedRows)
  var isReplaced = false
  var failure: VaultFailure?
}

/// A storage with a file of some rows, and a holder that gives it a new data key.
protocol StoredRotation {}

extension StoredRotation {
  func content(_ storage: MemoryStorage, key: [UInt8] = key) throws -> [String] {
    let vault = try open(storage, key: key, create: false)
    defer { vault.close() }
    let writer = Database(try vault.connect(.writer))
    defer { writer.close() }
    #expect(writer.one("PRAGMA integrity_check") == "ok")
    return try writer.rows("SELECT * FROM t").get()
  }

  func id(_ storage: MemoryStorage, _ object: StorageObject) -> [UInt8] {
    Array(storage.bytes("eva", object).prefix(32).dropFirst(16))
  }

  /// The main objects that have bytes.
  func used(_ storage: MemoryStorage) -> [StorageObject] {
    [.main, .next].filter { !storage.bytes("eva", $0).isEmpty }
  }

  func hasMagic(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Array("TIDELINE".utf8)) }

  /// A closed file in one of the two objects.
  func made(in object: StorageObject = .main, rows: Int = storedRows) throws -> MemoryStorage {
    let storage = MemoryStorage()
    let vault = try open(storage)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<rows)
    if object == .next { writer = try vault.rotate(writer) }
    writer.close()
    vault.close()
    #expect(used(storage) == [object])
    return storage
  }

  /// The same once more; all of it is durable.
  func again(_ storage: MemoryStorage) -> MemoryStorage {
    let other = MemoryStorage()
    for object in StorageObject.allCases { other.put("eva", object, storage.bytes("eva", object)) }
    return other
  }

  /// Opens it, writes beside a rotation, and goes on afterwards as long as it can. Each number is
  /// told before what comes next.
  func holder(_ storage: MemoryStorage, _ told: (Course) -> Void = { _ in }) -> Course {
    var course = Course()
    do throws(VaultFailure) {
      let vault = try open(storage, create: false)
      defer { vault.close() }
      var writer = Database(try vault.connect(.writer))
      func write() {
        let row = "INSERT INTO t VALUES(\(course.written), '\(text(course.written))')"
        guard writer.run(row) == SQLITE_OK else { return }
        course.written += 1
        told(course)
        guard (try? vault.syncLog()) != nil else { return }
        course.durable = course.written
        told(course)
      }
      write()
      do {
        writer = try vault.rotate(writer) { _ in write() }
        course.isReplaced = true
      } catch {
        course.failure = error as? VaultFailure
        writer.close()
        writer = Database(try vault.connect(.writer))
      }
      write()
      writer.close()
    } catch {
      course.failure = course.failure ?? error
    }
    return course
  }

  /// Opens what is there: all that was promised, in one object.
  func expectWhole(_ storage: MemoryStorage, least: Int, _ note: String) {
    do {
      let found = try content(storage)
      #expect(found.count >= least, "\(note): \(found.count) of \(least)")
      #expect(found == expectedRows(0..<found.count), "\(note)")
      #expect(used(storage).count == 1, "\(note): \(used(storage))")
      #expect(storage.bytes("eva", .log).isEmpty, "\(note)")
    } catch {
      Issue.record("\(note): \(error)")
    }
  }
}

struct StorageRotationTests: StoredRotation {
  // MARK: Without trouble

  /// Protects: each key opens it, as often as it gets another data key; what was written meanwhile
  /// is there; the other object is empty.
  @Test func itChangesBetweenTwoObjects() throws {
    let storage = try made()
    var ids = [id(storage, .main)]
    var rows = storedRows
    for turn in 0..<4 {
      let vault = try open(storage, create: false)
      var writer = Database(try vault.connect(.writer))
      if turn == 1 { try vault.add(.code) }
      writer = try vault.rotate(writer) { _ in
        fill(writer, rows..<rows + 10)
        rows += 10
      }
      fill(writer, rows..<rows + 10)
      rows += 10
      #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<rows))
      // Its log belongs to the new file.
      let reader = Database(try vault.connect(.reader))
      #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<rows))
      reader.close()
      writer.close()
      vault.close()
      let object: StorageObject = turn % 2 == 0 ? .next : .main
      #expect(used(storage) == [object])
      ids.append(id(storage, object))
      #expect(try content(storage) == expectedRows(0..<rows))
    }
    #expect(Set(ids).count == 5)
    var config = VaultConfig(path: "eva", key: Given.code.secret, create: false)
    config.storage = storage
    try Vault.open(config).close()
    #expect(throws: VaultFailure.wrongKey) { _ = try content(storage, key: otherKey) }
  }

  /// Protects: no page is sealed as before, and the old header has no slots when it is removed: no
  /// key, removed or not, opens blocks that the storage has kept.
  @Test(arguments: [StorageObject.main, .next]) func nothingOfTheOldFileHolds(
    _ object: StorageObject
  ) throws {
    let storage = try made(in: object)
    let old = storage.bytes("eva", object)
    let removed = Lock<[[UInt8]]>([])
    storage.before { [weak storage] call, _ in
      guard call == .remove, let bytes = storage?.bytes("eva", object), !bytes.isEmpty else {
        return
      }
      removed.withLock { $0.append(bytes) }
    }
    let vault = try open(storage, create: false)
    let slot = try vault.add(.otherRaw)
    try vault.removeSlot(slot)
    let writer = try vault.rotate(Database(try vault.connect(.writer)))
    writer.close()
    vault.close()
    storage.before(nil)
    let last = try #require(removed.withLock { $0.last })
    #expect(last[16..<32] == old[16..<32])
    for copy in [0, 4096] {
      #expect(unmarked(last[copy..<copy + 4096])[64..<4064].allSatisfy { $0 == 0 })
    }
    let new = storage.bytes("eva", object == .main ? .next : .main)
    for page in stride(from: 8192, to: new.count, by: 4096) {
      #expect(new[page..<page + 4096] != old[page..<page + 4096])
    }
    let vaults: [(header: [UInt8], pages: [UInt8])] = [(old, new), (new, old), (last, old)]
    for (header, pages) in vaults {
      let mixed = MemoryStorage()
      mixed.put("eva", .main, Array(header[..<8192] + pages[8192...]))
      #expect(throws: (any Error).self) { _ = try content(mixed) }
    }
  }

  /// Protects: one that is let go of leaves the file as it was.
  @Test func whatIsLetGoOfIsForgotten() throws {
    let storage = try made(rows: 2000)
    let old = id(storage, .main)
    let vault = try open(storage, create: false)
    let writer = Database(try vault.connect(.writer))
    let rotation = try vault.rotation(from: writer.handle)
    #expect(try !rotation.step())
    #expect(used(storage) == [.main, .next])
    rotation.end()
    #expect(throws: (any Error).self) { _ = try rotation.step() }
    #expect(used(storage) == [.main])
    fill(writer, 2000..<2010)
    writer.close()
    vault.close()
    #expect(id(storage, .main) == old)
    #expect(try content(storage) == expectedRows(0..<2010))
  }

  /// Protects: who has let go of the name finds that it leads to another file.
  @Test func whatWasKeptOpensTheOldFileOnly() throws {
    let storage = try made()
    var vault = try open(storage, create: false)
    let kept = try #require(vault.kept)
    let writer = try vault.rotate(Database(try vault.connect(.writer)))
    let now = try #require(vault.kept)
    writer.close()
    vault.close()
    var config = VaultConfig(path: "eva", key: HostKey(key), create: false)
    config.storage = storage
    config.kept = kept
    #expect(throws: VaultFailure.replaced) { _ = try Vault.open(config) }
    config.kept = now
    vault = try Vault.open(config)
    vault.close()
  }

  /// Protects: a backup and a change of keys are those of the file, whichever object has it.
  @Test func theOtherObjectIsAFileAsWell() throws {
    let storage = try made(in: .next)
    let place = Place()
    let vault = try open(storage, create: false)
    let writer = Database(try vault.connect(.writer))
    fill(writer, storedRows..<storedRows + 10)
    #expect(vault.fileBytes > 30_000)
    let copy = try vault.copy(to: place.path)
    while try !copy.step() {}
    try vault.add(.otherRaw)
    try vault.removeSlot(0)
    writer.close()
    vault.close()
    #expect(try content(storage, key: otherKey) == expectedRows(0..<storedRows + 10))
    #expect(throws: VaultFailure.wrongKey) { _ = try content(storage) }
    let file = try open(place.path, create: false)
    let reader = Database(try file.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<storedRows + 10))
    reader.close()
    file.close()
  }

  // MARK: Two that may be the file

  /// A storage with the old file and the new one, both whole, as a crash leaves it.
  private func both(_ object: StorageObject = .main) throws -> MemoryStorage {
    let storage = again(try made(in: object))
    let other: StorageObject = object == .main ? .next : .main
    let found = Lock<(old: [UInt8], new: [UInt8])?>(nil)
    storage.before { [weak storage, hasMagic] _, _ in
      guard let storage else { return }
      let (old, new) = (storage.bytes("eva", object), storage.bytes("eva", other))
      if hasMagic(old), hasMagic(new) { found.withLock { $0 = $0 ?? (old, new) } }
    }
    #expect(holder(storage).isReplaced)
    let both = try #require(found.withLock { $0 })
    let left = MemoryStorage()
    left.put("eva", object, both.old)
    left.put("eva", other, both.new)
    return left
  }

  @Test(arguments: [StorageObject.main, .next]) func theNewerOneIsTheFile(
    _ object: StorageObject
  ) throws {
    let storage = try both(object)
    let other: StorageObject = object == .main ? .next : .main
    let new = id(storage, other)
    // Who only reads it changes nothing.
    let bytes = storage.bytes("eva", object)
    var config = VaultConfig(path: "eva", key: HostKey(key), create: false)
    config.storage = storage
    let broken = try BrokenFile(config)
    #expect(try broken.pages().count > 5)
    #expect(storage.bytes("eva", object) == bytes)
    #expect(try content(storage).count > storedRows)
    #expect(used(storage) == [other] && id(storage, other) == new)
  }

  /// Protects: a damaged or a later one of the two is told, and neither is removed.
  @Test func aDamagedOneIsTold() throws {
    for object in [StorageObject.main, .next] {
      for (at, failure) in [(100, VaultFailure.damaged), (8, .tooNew)] {
        let storage = try both()
        var bytes = storage.bytes("eva", object)
        for copy in [0, 1] {
          bytes[copy * 4096 + at] ^= 6
          if at == 8 { resum(&bytes, copy: copy) }
        }
        storage.put("eva", object, bytes)
        #expect(throws: failure) { _ = try open(storage) }
        #expect(used(storage) == [.main, .next] && storage.bytes("eva", object) == bytes)
      }
    }
  }

  /// Protects: what a host puts into the main object is the file: a backup, or an older copy.
  @Test func whatAHostPutsThereIsTheFile() throws {
    let older = try made(rows: 30)
    for isBackup in [false, true] {
      let storage = try made(in: .next)
      let place = Place()
      if isBackup {
        let vault = try open(older, create: false)
        let copy = try vault.copy(to: place.path)
        while try !copy.step() {}
        vault.close()
      }
      let bytes = isBackup ? contents(place.path) : older.bytes("eva", .main)
      storage.put("eva", .main, bytes)
      #expect(try content(storage) == expectedRows(0..<30))
      #expect(used(storage) == [.main])
    }
  }

  /// Protects: a file that was wiped never comes back, also where its former one is still there:
  /// no power that goes at any call of the wipe brings that back.
  @Test(arguments: [StorageObject.main, .next]) func aWipeEndsBoth(_ object: StorageObject) throws {
    let storage = try both(object)
    let old = id(storage, object)
    // The old one stays: there is no room to wipe it.
    storage.fail(next: .write, .full)
    let vault = try open(storage, create: false)
    #expect(used(storage) == [.main, .next])
    let random = Lock(Random(seed: 12))
    let images = Lock<[MemoryStorage]>([])
    storage.before { [weak storage] call, _ in
      guard call.changes || call == .sync, let storage else { return }
      for _ in 0..<6 {
        let left = random.withLock { storage.afterPowerLoss(&$0) }
        images.withLock { $0.append(left) }
      }
    }
    try vault.destroy()
    storage.before(nil)
    for object in StorageObject.allCases { #expect(storage.bytes("eva", object).isEmpty) }
    var gone = 0
    for image in images.withLock({ $0 }) {
      do {
        #expect(try content(image).count > storedRows)
        #expect(id(image, used(image)[0]) != old)
      } catch {
        #expect(error as? VaultFailure == .notFound)
        gone += 1
        let vault = try open(image)
        #expect(vault.isMade)
        vault.close()
        #expect(used(image) == [.main])
      }
    }
    #expect(gone > 5 && gone < images.withLock { $0.count })
  }
}
