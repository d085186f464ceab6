/// A copy of an open file: whole or not there, whatever happens beside it or to it.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct BackupTests {
  /// An open file with some pages, in the main file and in the log.
  private struct Source {
    let place = Place()
    let vault: Vault
    let writer: Database
    let disk: FaultVFS?

    init(rows: Int = 400, disk: FaultVFS? = nil) throws {
      self.disk = disk
      vault = try open(place.path, base: disk?.name ?? "unix-excl")
      writer = Database(try vault.connect(.writer))
      fill(writer, 0..<rows / 2)
      writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
      fill(writer, rows / 2..<rows)
    }

    var target: String { place.path("copy") }
    var unfinished: String { place.path("copy-new") }

    func backUp(to path: String? = nil) throws(VaultFailure) {
      let copy = try vault.copy(to: path ?? target)
      while try !copy.step() {}
    }

    func close() {
      writer.close()
      vault.close()
    }
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func content(_ path: String) throws -> [String] {
    let vault = try open(path, create: false, strict: true)
    defer { vault.close() }
    let reader = Database(try vault.connect(.reader))
    defer { reader.close() }
    #expect(reader.one("PRAGMA integrity_check") == "ok")
    return try reader.rows("SELECT * FROM t").get()
  }

  private func isWhole(_ path: String) -> Bool {
    guard let vault = try? open(path, create: false) else { return false }
    defer { vault.close() }
    guard let handle = try? vault.connect(.reader) else { return false }
    let reader = Database(handle)
    defer { reader.close() }
    return reader.one("PRAGMA integrity_check") == "ok"
  }

  /// Protects: a copy that gets a new data key before it counts as a file of its own keeps what is
  /// committed from then on, also after a kill before anything was copied from the log.
  @Test func aCopyWithANewKeyKeepsItsLog() throws {
    let source = try Source()
    try source.backUp()
    source.close()
    let vault = try open(source.target)
    let writer = try vault.rotate(Database(try vault.connect(.writer)))
    fill(writer, 400..<410)
    try vault.syncLog()
    let left = DiskImage(paths: [source.target, source.target + "-wal"])
    left.write(replacing: source.target, with: source.place.path("killed"))
    writer.close()
    vault.close()
    #expect(try content(source.place.path("killed")).count == 410)
  }

  /// Protects: the copy is one state, that of its beginning, whatever is written and checkpointed
  /// meanwhile; and writers do not make it begin again.
  @Test func itIsTheStateOfItsMoment() throws {
    let source = try Source(rows: 4000)
    let copy = try source.vault.copy(to: source.target)
    var steps = 0
    while try !copy.step() {
      steps += 1
      fill(source.writer, 10_000 + steps * 100..<10_100 + steps * 100)
      source.writer.run("UPDATE t SET body = 'later' WHERE id % 7 = \(steps % 7)")
      source.writer.run("DELETE FROM t WHERE id = \(steps)")
      source.writer.run("PRAGMA wal_checkpoint(PASSIVE)")
      #expect(!exists(source.target))
      try #require(steps < 100)
    }
    #expect(steps > 3)
    let progress = copy.progress
    #expect(progress.isDone && progress.done == progress.total)
    #expect(progress.total == UInt64(contents(source.target).count - 8192))
    #expect(try content(source.target) == expectedRows(0..<4000))
    #expect(source.writer.one("SELECT count(*) FROM t WHERE id = 1") == "0")
    #expect(source.writer.one("PRAGMA integrity_check") == "ok")
    #expect(source.place.names == ["cache.db", "cache.db-wal", "copy"])
    source.close()
  }

  /// Protects: while a copy is under way the log keeps what it needs, and not for longer.
  @Test func theLogIsFreeAfterwards() throws {
    let source = try Source()
    let copy = try source.vault.copy(to: source.target)
    fill(source.writer, 400..<500)
    let held = source.writer.one("PRAGMA wal_checkpoint(PASSIVE)")?.split(separator: "|") ?? []
    #expect(held.count == 3 && held[1] != held[2])
    while try !copy.step() {}
    #expect(source.writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
    source.close()
  }

  /// Protects: only units reach the disk, sealed anew, and each is bound to its place.
  @Test func eachPageIsSealed() throws {
    let source = try Source()
    source.writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    try source.backUp()
    source.close()
    #expect(isWhole(source.target))
    let (file, copy) = (contents(source.place.path), contents(source.target))
    #expect(copy.count == file.count)
    #expect(Data(copy).range(of: Data("row-1".utf8)) == nil)
    let pages = stride(from: 8192, to: copy.count, by: 4096)
    let nonces = pages.flatMap { [copy[$0 + 4056..<$0 + 4080], file[$0 + 4056..<$0 + 4080]] }
    #expect(Set(nonces).count == nonces.count)
    for (number, page) in pages.enumerated() {
      var changed = copy
      changed[page + number % 4096] ^= 1
      store(changed, source.target)
      #expect(!isWhole(source.target), "page \(number + 1)")
    }
  }

  /// Protects: each key of the end opens it, and none that was removed before.
  @Test(arguments: [false, true]) func theKeysOfTheEndOpenIt(_ isHeaderWritten: Bool) throws {
    let source = try Source()
    try source.vault.add(.passphrase)
    let removed = try source.vault.add(.otherRaw)
    let copy = try source.vault.copy(to: source.target)
    _ = try copy.step()
    try source.vault.add(.code)
    if isHeaderWritten {
      while copy.progress.done < copy.progress.total { _ = try copy.step() }
      #expect(try !copy.step())
    }
    try source.vault.removeSlot(removed)
    while try !copy.step() {}
    for given in [Given.raw, .passphrase, .code] {
      let vault = try open(source.target, given)
      let reader = Database(try vault.connect(.reader))
      #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<400))
      reader.close()
      vault.close()
    }
    #expect(throws: VaultFailure.wrongKey) { _ = try open(source.target, .otherRaw) }
    source.close()
  }

  /// Protects: a client is told once that its file is a copy.
  @Test func itSaysThatItIsACopy() throws {
    let source = try Source()
    try source.backUp()
    #expect(!source.vault.isCopied)
    for _ in 0..<2 {
      let vault = try open(source.target)
      #expect(vault.isCopied)
      vault.close()
    }
    let vault = try open(source.target)
    try vault.endCopied()
    #expect(!vault.isCopied)
    vault.close()
    let again = try open(source.target, strict: true)
    #expect(!again.isCopied)
    again.close()
    source.close()
  }

  /// Protects: nothing that is there is overwritten, emptied or taken for the copy's own.
  @Test func nothingIsOverwritten() throws {
    let source = try Source()
    let place = source.place
    store([1, 2, 3], source.target)
    #expect(throws: VaultFailure.exists) { try source.backUp() }
    #expect(contents(source.target) == [1, 2, 3])
    #expect(throws: VaultFailure.exists) { try source.backUp(to: place.path) }
    #expect(throws: VaultFailure.exists) { try source.backUp(to: place.directory) }
    store([4], place.path("other-wal"))
    #expect(throws: VaultFailure.exists) { try source.backUp(to: place.path("other")) }
    #expect(contents(place.path("other-wal")) == [4])
    #expect(throws: VaultFailure.io(SQLITE_CANTOPEN)) {
      try source.backUp(to: place.path("missing/copy"))
    }
    // One that comes meanwhile.
    let copy = try source.vault.copy(to: place.path("late"))
    store([5], place.path("late"))
    #expect(throws: VaultFailure.exists) { while try !copy.step() {} }
    #expect(throws: VaultFailure.exists) { _ = try copy.step() }
    #expect(contents(place.path("late")) == [5])
    #expect(
      place.names == ["cache.db", "cache.db-wal", "copy", "late", "other-wal"])
    source.close()
  }

  /// Protects: a name that leads to another file as well, or to one that is open, is not emptied.
  @Test func theUnfinishedNameMayBeAnothers() throws {
    let source = try Source()
    let place = source.place
    try source.backUp()
    let whole = contents(source.target)
    // As a kill between the two names leaves it, and then the copy is moved.
    #expect(link(source.target, source.unfinished) == 0)
    #expect(rename(source.target, place.path("moved")) == 0)
    try source.backUp()
    #expect(contents(place.path("moved")) == whole)
    #expect(try content(source.target) == expectedRows(0..<400))
    #expect(symlink(place.path("moved"), place.path("next-new")) == 0)
    try source.backUp(to: place.path("next"))
    #expect(contents(place.path("moved")) == whole)
    source.close()
  }

  /// Protects: a file that is made removes what has the names beside it, which must be no other
  /// file.
  @Test func namesBesideAFileAreNoNamesOfFiles() throws {
    let source = try Source()
    let place = source.place
    #expect(symlink(place.path("a-wal"), place.path("link")) == 0)
    for name in ["a-new", "a-wal", "a-own", "link"] {
      #expect(throws: VaultFailure.reserved) { _ = try open(place.path(name)) }
      #expect(throws: VaultFailure.reserved) { try source.backUp(to: place.path(name)) }
    }
    try source.backUp(to: place.path("a-wall"))
    source.close()
  }

  /// Protects: a file that somebody put at the unfinished name meanwhile gets no other name, and
  /// stays.
  @Test func whatTookItsUnfinishedNameIsLeftAlone() throws {
    let source = try Source()
    let copy = try source.vault.copy(to: source.target)
    while copy.progress.done < copy.progress.total { _ = try copy.step() }
    #expect(try !copy.step())
    try FileManager.default.removeItem(atPath: source.unfinished)
    store([1, 2, 3], source.unfinished)
    #expect(throws: VaultFailure.self) { _ = try copy.step() }
    #expect(!exists(source.target) && contents(source.unfinished) == [1, 2, 3])
    source.close()
  }

  /// Protects: two to one name do not mix, and two to two names do not hinder each other.
  @Test func twoAtOnce() throws {
    let source = try Source()
    let first = try source.vault.copy(to: source.target)
    _ = try first.step()
    #expect(throws: VaultFailure.locked) { _ = try source.vault.copy(to: source.target) }
    let second = try source.vault.copy(to: source.place.path("second"))
    fill(source.writer, 400..<450)
    let third = try source.vault.copy(to: source.place.path("third"))
    var left = [first, second, third]
    while !left.isEmpty { left = try left.filter { try !$0.step() } }
    #expect(try content(source.target) == expectedRows(0..<400))
    #expect(try content(source.place.path("second")) == expectedRows(0..<400))
    #expect(try content(source.place.path("third")) == expectedRows(0..<450))
    source.close()
  }

  /// Protects: what is ended before its time is gone, and nothing of the file is held any more.
  @Test func oneThatIsGivenUpLeavesNothing() throws {
    let source = try Source()
    var copy: VaultCopy? = try source.vault.copy(to: source.target)
    _ = try copy?.step()
    #expect(exists(source.unfinished))
    copy = nil
    #expect(source.place.names == ["cache.db", "cache.db-wal"])
    copy = try source.vault.copy(to: source.target)
    copy?.end()
    #expect(throws: VaultFailure.io(SQLITE_ABORT)) { _ = try copy?.step() }
    #expect(source.place.names == ["cache.db", "cache.db-wal"])
    source.close()
    try open(source.place.path).close()
  }

  /// Protects: a copy that a loss of power may take away is not called done.
  @Test func aFolderThatCannotBeSyncedIsAFailure() throws {
    let disk = FaultVFS()
    let source = try Source(disk: disk)
    disk.failFolderSyncs(true)
    #expect(throws: VaultFailure.io(SQLITE_IOERR | (5 << 8))) { try source.backUp() }
    #expect(source.place.names == ["cache.db", "cache.db-wal"])
    disk.failFolderSyncs(false)
    try source.backUp()
    #expect(try content(source.target) == expectedRows(0..<400))
    source.close()
  }

  /// Protects: a page of the file that does not open ends the copy.
  @Test func damageIsNotCopied() throws {
    let source = try Source()
    source.writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    source.close()
    var bytes = contents(source.place.path)
    bytes[8192 + 4096 * 12 + 100] ^= 1
    store(bytes, source.place.path)
    let vault = try open(source.place.path)
    let copy = try vault.copy(to: source.target)
    #expect(throws: VaultFailure.damaged) { while try !copy.step() {} }
    #expect(!exists(source.target) && !exists(source.unfinished))
    vault.close()
  }

  /// Protects: on a disk that refuses any one write there is no copy, no part of one, and the file
  /// is as it was.
  @Test(arguments: [
    WriteFault.fail(SQLITE_FULL), .short(bytes: 700, SQLITE_FULL),
    .fail(SQLITE_IOERR | (3 << 8)),
  ])
  func eachWriteMayFail(_ fault: WriteFault) throws {
    let disk = FaultVFS()
    let source = try Source(rows: 200, disk: disk)
    var failures = 0
    for write in 1... {
      disk.failWrite(write, fault)
      do throws(VaultFailure) {
        try source.backUp()
        break
      } catch {
        #expect(error == .full || error == .io(SQLITE_IOERR | (3 << 8)), "\(write)")
      }
      failures += 1
      #expect(source.place.names == ["cache.db", "cache.db-wal"], "\(write)")
    }
    // Each page and both copies of the header.
    #expect(failures == contents(source.target).count / 4096)
    disk.reset()
    #expect(try content(source.target) == expectedRows(0..<200))
    #expect(try source.writer.rows("SELECT * FROM t").get() == expectedRows(0..<200))
    source.close()
  }

  @Test func aSyncThatFailsEndsIt() throws {
    let disk = FaultVFS()
    let source = try Source(rows: 200, disk: disk)
    disk.failSyncs(true)
    #expect(throws: VaultFailure.io(SQLITE_IOERR | (4 << 8))) { try source.backUp() }
    disk.failSyncs(false)
    #expect(source.place.names == ["cache.db", "cache.db-wal"])
    try source.backUp()
    #expect(try content(source.target) == expectedRows(0..<200))
    source.close()
  }

  /// Protects: a kill at any write leaves no file of the name, or a whole one, and the next copy
  /// takes the place of what it left.
  @Test(arguments: [0, 2000]) func aKillAtEachWrite(_ bytes: Int) throws {
    let disk = FaultVFS()
    let source = try Source(rows: 200, disk: disk)
    var kills = 0
    for write in 1... {
      disk.die(atWrite: write, afterBytes: bytes)
      do throws(VaultFailure) {
        try source.backUp()
        #expect(!disk.isDead)
      } catch {
        #expect(disk.isDead)
      }
      let wasKilled = disk.isDead
      disk.revive()
      if !wasKilled { break }
      kills += 1
      #expect(!exists(source.target) && exists(source.unfinished), "\(write)")
    }
    #expect(kills == contents(source.target).count / 4096)
    #expect(!exists(source.unfinished))
    #expect(try content(source.target) == expectedRows(0..<200))
    source.close()
  }

  /// Protects: a name on a storage of the host's is copied into a file.
  @Test func aStorageIsCopiedIntoAFile() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<300)
    let place = Place()
    let copy = try vault.copy(to: place.path)
    fill(writer, 300..<320)
    while try !copy.step() {}
    #expect(try content(place.path) == expectedRows(0..<300))
    writer.close()
    vault.close()
    let other = MemoryStorage()
    other.put("ada", .main, contents(place.path))
    let back = try open(other, "ada", create: false)
    let reader = Database(try back.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<300))
    reader.close()
    back.close()
  }
}
