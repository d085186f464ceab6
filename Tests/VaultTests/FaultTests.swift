/// The disk refuses: a transaction fails as a whole, and the next one works.
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct FaultTests {
  @Test(arguments: [
    WriteFault.fail(SQLITE_IOERR | (3 << 8)), .short(bytes: 700, SQLITE_IOERR | (3 << 8)),
    .fail(SQLITE_FULL), .short(bytes: 2000, SQLITE_FULL),
    .short(bytes: 2 * 4144 + 700, SQLITE_FULL),
  ])
  func everyWriteMayFail(_ fault: WriteFault) throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<20)
    var expected = expectedRows(0..<20)
    var failures = 0
    for round in 0..<60 {
      disk.failWrite(1 + round % 2, fault)
      let id = 100 + round
      let result = writer.run(
        """
        BEGIN; INSERT INTO t VALUES(\(id), '\(text(id))');
        INSERT INTO t SELECT id + 10000 * \(id), body FROM t WHERE id < 20; COMMIT
        """)
      if result == SQLITE_OK {
        expected.append("\(id)|\(text(id))")
      } else {
        failures += 1
        writer.run("ROLLBACK")
        let means = Vault.failure(fromSQLite: result)
        #expect(means == .full || means == .io(SQLITE_IOERR | (3 << 8)), "\(result)")
      }
      if round % 10 == 9 { writer.run("PRAGMA wal_checkpoint(TRUNCATE)") }
      disk.failWrite(1_000_000, fault)
      #expect(try writer.rows("SELECT * FROM t WHERE id < 10000").get() == expected)
    }
    #expect(failures > 20)
    #expect(writer.one("PRAGMA integrity_check") == "ok")
    #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
    writer.close()
    vault.close()
    let again = try open(place.path, strict: true)
    let reader = Database(try again.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t WHERE id < 10000").get() == expected)
  }

  @Test func makingAFileOnAFullDiskLeavesNothing() throws {
    let disk = FaultVFS()
    for write in 1...3 {
      let place = Place()
      disk.failWrite(write, .short(bytes: 10, SQLITE_FULL))
      #expect(throws: VaultFailure.full) { _ = try open(place.path, base: disk.name) }
      #expect(place.names == [])
      disk.reset()
      try open(place.path, base: disk.name).close()
      #expect(place.names == ["cache.db"])
    }
  }

  @Test func theBarrierSyncsOnceForManyCommits() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    try vault.syncLog()
    let before = disk.counts.syncs
    for round in 0..<20 { fill(writer, 100 + round * 10..<110 + round * 10) }
    #expect(disk.counts.syncs == before)
    try vault.syncLog()
    #expect(disk.counts.syncs == before + 1)
    for _ in 0..<5 { try vault.syncLog() }
    #expect(disk.counts.syncs == before + 1)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    let after = disk.counts.syncs
    try vault.syncLog()
    #expect(disk.counts.syncs == after)
  }

  @Test func aFailedSyncIsNeverTakenBack() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    disk.failSyncs(true)
    let failed = VaultFailure.io(SQLITE_IOERR | (4 << 8))
    #expect(throws: failed) { try vault.syncLog() }
    disk.failSyncs(false)
    #expect(throws: failed) { try vault.syncLog() }
    writer.close()
    vault.close()
    let again = try open(place.path)
    let next = Database(try again.connect(.writer))
    #expect(try next.rows("SELECT * FROM t").get() == expectedRows(0..<10))
    fill(next, 10..<20)
    try again.syncLog()
  }

  @Test func oneFrameIsOneWrite() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    disk.record()
    writer.run("UPDATE t SET body='x' WHERE id=3")
    let sizes = disk.events.map { event -> Int in
      if case .write(_, let bytes) = event.change { return bytes.count }
      return 0
    }
    #expect(sizes == [4144])
  }

  /// Protects: a disk that cannot read is no damage, at the opening and in use. A host starts a
  /// new file where it is told of damage.
  @Test func aReadThatFailsIsNeverDamage() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<200)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    fill(writer, 200..<400)
    disk.die(atWrite: 1)
    writer.run("UPDATE t SET body='never'")
    writer.close()
    vault.close()
    let files = DiskImage(paths: [place.path, place.logPath])
    var failures = 0
    for read in 1... {
      files.write(replacing: "", with: "")
      disk.reset()
      disk.failRead(read)
      guard let failure = failureOfUse(place, disk) else {
        if disk.counts.reads < read { break }
        continue
      }
      failures += 1
      guard case .io = failure else {
        Issue.record("read \(read): \(failure)")
        continue
      }
    }
    #expect(failures > 50)
  }

  /// Opens, reads all and closes; what failed first, if anything did.
  private func failureOfUse(_ place: Place, _ disk: FaultVFS) -> VaultFailure? {
    do throws(VaultFailure) {
      let vault = try open(place.path, create: false, base: disk.name)
      defer { vault.close() }
      let reader = Database(try vault.connect(.reader))
      switch reader.rows("SELECT * FROM t") {
      case .failure(let error): return Vault.failure(fromSQLite: error.code) ?? .notOurs
      case .success(let rows):
        // No row is lost without a word.
        #expect(rows == expectedRows(0..<400))
        return nil
      }
    } catch {
      return error
    }
  }

  /// Protects: what is stored can be read on a full disk, also where a killed process left a log
  /// and a header that has to be repaired.
  @Test func aFullDiskCanBeRead() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<40)
    disk.die(atWrite: 1)
    writer.run("UPDATE t SET body='never'")
    writer.close()
    vault.close()
    var file = contents(place.path)
    file[2000] ^= 1
    store(file, place.path)
    disk.reset()
    disk.fillDisk()
    let again = try open(place.path, base: disk.name)
    let reader = Database(try again.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<40))
    let full = Database(try again.connect(.writer))
    #expect(Vault.failure(fromSQLite: full.run("INSERT INTO t VALUES(1000, 'x')")) == .full)
    disk.fillDisk(false)
    #expect(full.run("INSERT INTO t VALUES(1000, 'x')") == SQLITE_OK)
    full.close()
    reader.close()
    again.close()
    try open(place.path, base: disk.name).close()
    let isRepaired = contents(place.path)[2000] == file[2000] ^ 1
    #expect(isRepaired)
  }
}
