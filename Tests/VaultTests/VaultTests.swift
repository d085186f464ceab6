/// A file made, used by several connections, closed and opened again.
import CSQLite
import Foundation
import Testing
import Vault
import VaultSupport

struct VaultTests {
  @Test func whatIsWrittenIsThereAfterReopening() throws {
    let place = Place()
    for round in 0..<3 {
      let vault = try open(place.path, create: round == 0)
      let writer = Database(try vault.connect(.writer))
      #expect(writer.one("PRAGMA journal_mode") == "wal")
      #expect(writer.one("PRAGMA page_size") == "4096")
      #expect(writer.one("PRAGMA auto_vacuum") == "2")
      fill(writer, round * 300..<(round + 1) * 300)
      #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<(round + 1) * 300))
      #expect(vault.fileBytes > 300 * 200)
      if round == 1 { #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0") }
      #expect(writer.one("PRAGMA integrity_check") == "ok")
      writer.close()
      vault.close()
      #expect(place.names == ["cache.db"])
    }
  }

  @Test func readersSeeSnapshotsBesideTheWriter() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<50)
    let readers = try (0..<3).map { _ in Database(try vault.connect(.reader)) }
    readers[0].run("BEGIN")
    #expect(readers[0].one("SELECT count(*) FROM t") == "50")
    fill(writer, 50..<80)
    #expect(readers[0].one("SELECT count(*) FROM t") == "50")
    #expect(readers[1].one("SELECT count(*) FROM t") == "80")
    #expect(readers[2].run("INSERT INTO t VALUES(999,'x')") & 0xFF == SQLITE_READONLY)
    // No index of the log on disk: it would hold sums over plain text.
    #expect(place.names == ["cache.db", "cache.db-wal"])
    readers[0].run("COMMIT")
    #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
    #expect(readers[0].one("SELECT count(*) FROM t") == "80")
  }

  @Test func thereIsOneWriterAtATime() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    #expect(throws: VaultFailure.locked) { _ = try vault.connect(.writer) }
    fill(writer, 0..<10)
    writer.close()
    let next = Database(try vault.connect(.writer))
    #expect(next.one("SELECT count(*) FROM t") == "10")
  }

  @Test func aFileShrinksAfterRowsAreGone() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<2000, batch: 500)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    let before = vault.fileBytes
    writer.run("DELETE FROM t WHERE id > 100")
    writer.run("PRAGMA incremental_vacuum")
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(vault.fileBytes < before / 4)
    #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<101))
    #expect(writer.one("PRAGMA integrity_check") == "ok")
    #expect(writer.run("VACUUM") == SQLITE_OK)
    #expect(writer.one("PRAGMA integrity_check") == "ok")
  }

  @Test func journalsAndOtherFormsAreRefused() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    for mode in ["DELETE", "MEMORY", "OFF", "TRUNCATE", "PERSIST"] {
      writer.run("PRAGMA journal_mode=\(mode)")
      #expect(writer.one("PRAGMA journal_mode") == "wal")
    }
    writer.run("PRAGMA page_size=8192; VACUUM;")
    #expect(writer.one("PRAGMA page_size") == "4096")
    // A journal that somebody has put there is not looked at.
    writer.close()
    vault.close()
    store([UInt8](repeating: 0xD9, count: 4096), place.path + "-journal")
    let again = try open(place.path, create: false)
    #expect(Database(try again.connect(.reader)).one("SELECT count(*) FROM t") == "10")
  }

  @Test func aLargeSortAndAStatementRollbackLeaveNoFile() throws {
    let place = Place()
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<3000, batch: 1000)
    fault.record()
    #expect(writer.one("SELECT count(*) FROM (SELECT body FROM t ORDER BY body DESC)") == "3000")
    writer.run("CREATE TEMP TABLE s AS SELECT * FROM t")
    writer.run("BEGIN; UPDATE t SET body=body||'x' WHERE id<100; SAVEPOINT a")
    #expect(writer.run("INSERT INTO t SELECT id-1, body FROM t ORDER BY id DESC") != SQLITE_OK)
    writer.run("ROLLBACK TO a; ROLLBACK")
    #expect(fault.events.allSatisfy { $0.kind != .other })
    #expect(place.names == ["cache.db", "cache.db-wal"])
    #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<3000))
  }

  @Test func destroyingLeavesNothing() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    #expect(throws: VaultFailure.locked) { try vault.destroy() }
    // A second name of the file shows what would be left of it.
    try FileManager.default.linkItem(atPath: place.path, toPath: place.path("kept.db"))
    writer.close()
    try vault.destroy()
    #expect(place.names == ["kept.db"])
    #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path("kept.db")) }
    #expect(throws: VaultFailure.io(SQLITE_MISUSE)) { try vault.syncLog() }
    let fresh = try open(place.path)
    #expect(Database(try fresh.connect(.writer)).one("SELECT count(*) FROM sqlite_schema") == "0")
  }

  @Test func oddPathsWork() throws {
    let place = Place()
    for name in ["a b?c=1&d#e%20.db", "žluťoučký 猫.db", "'quoted\".db"] {
      let vault = try open(place.path(name))
      fill(Database(try vault.connect(.writer)), 0..<5)
      vault.close()
      #expect(FileManager.default.fileExists(atPath: place.path(name)))
    }
    #expect(place.names.count == 3)
  }
}
