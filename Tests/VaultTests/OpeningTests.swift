/// Opening a file that cannot be opened: five different answers, nothing changed.
import CSQLite
import CSodium
import Foundation
import TestSupport
import Testing
import Vault

struct OpeningTests {
  /// A closed file with ten rows.
  private func made(_ place: Place, rows: Int = 10) throws {
    let vault = try open(place.path)
    fill(Database(try vault.connect(.writer)), 0..<rows)
    vault.close()
  }

  private func rows(_ place: Place) throws -> String? {
    let vault = try open(place.path, create: false)
    defer { vault.close() }
    return Database(try vault.connect(.reader)).one("SELECT count(*) FROM t")
  }

  /// Expects a failure that leaves bytes, names and time of change as they are.
  private func expectRefusal(_ failure: VaultFailure, _ place: Place, key: [UInt8] = key) throws {
    let before = DiskImage(paths: [place.path, place.logPath]).files
    let dates = try place.names.map {
      try FileManager.default.attributesOfItem(atPath: place.path($0))[.modificationDate] as? Date
    }
    let names = place.names
    for create in [true, false] {
      #expect(throws: failure) { _ = try open(place.path, key: key, create: create) }
    }
    let isSame = DiskImage(paths: [place.path, place.logPath]).files == before
    #expect(isSame)
    #expect(place.names == names)
    #expect(
      try dates
        == place.names.map {
          try FileManager.default.attributesOfItem(atPath: place.path($0))[.modificationDate]
            as? Date
        })
  }

  /// Changes bytes of both header copies, or one, and closes the plain sum again if asked.
  private func patch(
    _ place: Place, copies: [Int] = [0, 1], at offset: Int, _ bytes: [UInt8], resum: Bool
  ) {
    var file = contents(place.path)
    for copy in copies {
      let start = copy * 4096
      file.replaceSubrange(start + offset..<start + offset + bytes.count, with: bytes)
      guard resum else { continue }
      var sum = [UInt8](repeating: 0, count: 32)
      crypto_generichash(&sum, 32, unmarked(file[start..<start + 4064]), 4064, nil, 0)
      file.replaceSubrange(start + 4064..<start + 4096, with: sum)
    }
    store(file, place.path)
  }

  @Test func aWrongKeyIsToldApart() throws {
    let place = Place()
    try made(place)
    try expectRefusal(.wrongKey, place, key: otherKey)
    for bit in [0, 100, 255] {
      var near = key
      near[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, key: near) }
    }
    #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, key: Array(key.dropLast())) }
    #expect(try rows(place) == "10")
  }

  @Test func whatIsNotOursIsLeftAlone() throws {
    let place = Place()
    for bytes in [[], Array("hello".utf8), [UInt8](repeating: 0, count: 20000)] {
      store(bytes, place.path)
      try expectRefusal(.notOurs, place)
    }
    try FileManager.default.removeItem(atPath: place.path)
    var plain: OpaquePointer?
    sqlite3_open_v2(place.path, &plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix")
    fill(Database(plain!), 0..<10)
    try expectRefusal(.notOurs, place)
    #expect(throws: VaultFailure.notOurs) { _ = try open(place.directory) }
  }

  @Test func aNewerFormatIsToldApart() throws {
    for (offset, value) in [(8, 2), (8, 200), (40, 2), (32, 1)] as [(Int, UInt8)] {
      let place = Place()
      try made(place)
      patch(place, at: offset, [value], resum: true)
      try expectRefusal(.tooNew, place)
    }
  }

  @Test func aDamagedCopyIsMadeAgainFromTheOther() throws {
    for copy in [0, 1] {
      for offset in [0, 8, 44, 90, 120, 2000, 4010, 4090] {
        let place = Place()
        try made(place)
        let whole = contents(place.path)
        patch(place, copies: [copy], at: offset, [0xEE, 0xEE], resum: false)
        let broken = contents(place.path)
        #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, key: otherKey) }
        let isUntouched = broken != whole && contents(place.path) == broken
        #expect(isUntouched)
        #expect(try rows(place) == "10")
        let isMadeAgain = contents(place.path).prefix(8192) == whole.prefix(8192)
        #expect(isMadeAgain)
      }
    }
  }

  @Test func damageToBothCopiesIsDamage() throws {
    let places = [
      (44, true), (64 + 8, false), (3990, true), (4010, true), (4032, true), (4063, true),
      (4090, false),
    ]
    for (offset, resum) in places {
      let place = Place()
      try made(place)
      patch(place, at: offset, [contents(place.path)[offset] ^ 0xEE], resum: resum)
      try expectRefusal(.damaged, place)
    }
    // Slots that were changed, with a plain sum that fits, open with no key.
    for offset in [64 + 4, 64 + 20, 64 + 40, 64 + 60] {
      let place = Place()
      try made(place)
      patch(place, at: offset, [contents(place.path)[offset] ^ 0xEE], resum: true)
      try expectRefusal(.wrongKey, place)
    }
  }

  @Test func aFileThatWasCutIsDamage() throws {
    for size in [20, 4095, 4096, 8191, 8192, 12287] {
      let place = Place()
      try made(place)
      store(Array(contents(place.path).prefix(size)), place.path)
      try expectRefusal(.damaged, place)
    }
  }

  @Test func aMissingFileIsMadeOnlyWhereAllowed() throws {
    let place = Place()
    #expect(throws: VaultFailure.notFound) { _ = try open(place.path, create: false) }
    #expect(place.names == [])
    #expect(throws: (any Error).self) { _ = try open(place.path("none/x.db")) }
    #expect(throws: VaultFailure.io(SQLITE_CANTOPEN)) { _ = try open("") }
    // What a crash has left while a file was made is no obstacle, nor is the log
    // of a file that is gone.
    store([1, 2, 3], place.path + "-new")
    store([UInt8](repeating: 5, count: 9000), place.logPath)
    try open(place.path, strict: true).close()
    try FileManager.default.removeItem(atPath: place.path)
    try made(place)
    #expect(place.names == ["cache.db"])
    let mode = try FileManager.default.attributesOfItem(atPath: place.path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
  }

  /// Protects: what is no file is neither opened nor removed, and the failure says that.
  @Test(arguments: ["-new", "-wal"]) func whatIsNoFileIsInTheWay(_ end: String) throws {
    let place = Place()
    let name = place.path + end
    for isFolder in [false, true] {
      #expect(isFolder ? mkdir(name, 0o700) == 0 : mkfifo(name, 0o600) == 0)
      for _ in 0..<2 {
        #expect(throws: VaultFailure.inTheWay) { _ = try open(place.path) }
        #expect(place.names == ["cache.db" + end])
      }
      #expect(remove(name) == 0)
    }
    // A link is removed, as ever, and what it leads to stays.
    #expect(mkfifo(place.path("pipe"), 0o600) == 0)
    #expect(symlink(place.path("pipe"), place.path + "-new") == 0)
    let vault = try open(place.path)
    #expect(place.names == ["cache.db", "cache.db-wal", "pipe"])
    #expect(mkfifo(place.path("copy-new"), 0o600) == 0)
    #expect(throws: VaultFailure.inTheWay) { _ = try vault.copy(to: place.path("copy")) }
    vault.close()
    #expect(mkfifo(place.logPath, 0o600) == 0)
    #expect(throws: VaultFailure.inTheWay) { _ = try open(place.path) }
    #expect(remove(place.logPath) == 0)
    try open(place.path).close()
  }

  @Test func aSecondOpenIsLockedInTheProcess() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    try FileManager.default.createSymbolicLink(
      atPath: place.path("link.db"), withDestinationPath: place.path)
    try FileManager.default.linkItem(atPath: place.path, toPath: place.path("hard.db"))
    for name in ["cache.db", "link.db", "hard.db"] {
      #expect(throws: VaultFailure.locked) { _ = try open(place.path(name)) }
      #expect(throws: VaultFailure.locked) { _ = try open(place.path(name), key: otherKey) }
    }
    #expect(try isLockedForOthers(place.path))
    // The vault has ended, but a connection is still there.
    vault.close()
    #expect(throws: VaultFailure.locked) { _ = try open(place.path) }
    #expect(writer.one("SELECT count(*) FROM t") == "10")
    writer.close()
    #expect(try !isLockedForOthers(place.path))
    // Nobody has it, but the other name is one name too many.
    for name in ["cache.db", "link.db", "hard.db"] {
      #expect(throws: VaultFailure.linked) { _ = try open(place.path(name)) }
    }
    try FileManager.default.removeItem(atPath: place.path("hard.db"))
    #expect(try rows(place) == "10")
  }

  @Test func anotherProcessIsLockedOut() throws {
    let place = Place()
    try made(place)
    let before = contents(place.path)
    // The lock that SQLite takes in another process, held until its input ends.
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    other.arguments = [
      "python3", "-c",
      """
      import fcntl, sys
      f = open(sys.argv[1], "r+b")
      fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
      print("held", flush=True)
      sys.stdin.read()
      """, place.path,
    ]
    let input = Pipe()
    let output = Pipe()
    other.standardInput = input
    other.standardOutput = output
    try other.run()
    _ = output.fileHandleForReading.availableData
    #expect(throws: VaultFailure.locked) { _ = try open(place.path) }
    #expect(throws: VaultFailure.locked) { _ = try open(place.path, key: otherKey) }
    try input.fileHandleForWriting.close()
    other.waitUntilExit()
    let isSame = contents(place.path) == before
    #expect(isSame)
    #expect(try rows(place) == "10")
  }

  /// Asks another process whether it could lock the file as SQLite does.
  private func isLockedForOthers(_ path: String) throws -> Bool {
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    other.arguments = [
      "python3", "-c",
      """
      import fcntl, sys
      f = open(sys.argv[1], "r+b")
      try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
      except OSError: sys.exit(1)
      """, path,
    ]
    try other.run()
    other.waitUntilExit()
    return other.terminationStatus == 1
  }
}
