/// A file made, used by several connections, closed and opened again.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

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

  /// With spilling on, which no connection of the vault has, SQLite rewrites
  /// pages and headers of frames that are already in the log.
  @Test func framesMayBeRewrittenInPlace() throws {
    let place = Place()
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<500, batch: 100)
    writer.run("PRAGMA cache_spill=ON; PRAGMA cache_spill=5; PRAGMA cache_size=5")
    fault.record()
    writer.run("BEGIN")
    for round in 0..<3 { writer.run("UPDATE t SET body = body || '-\(round)'") }
    #expect(writer.run("COMMIT") == SQLITE_OK)
    var places: [Int64: Int] = [:]
    for case .write(let offset, _) in fault.events.map(\.change) { places[offset, default: 0] += 1 }
    #expect(places.values.contains { $0 > 1 })
    fault.die(atWrite: 1)
    writer.close()
    vault.close()
    fault.revive()
    let again = try open(place.path, strict: true)
    let reader = Database(try again.connect(.reader))
    let expected = (0..<500).map { "\($0)|\(text($0))-0-1-2" }
    #expect(try reader.rows("SELECT * FROM t").get() == expected)
  }

  @Test func threadsReadAndSyncBesideTheWriter() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run("PRAGMA wal_autocheckpoint=50")
    writer.run("CREATE TABLE pair(a, b); INSERT INTO pair VALUES(0, 0)")
    let seen = Lock<[String]>([])
    let done = Lock(false)
    let group = DispatchGroup()
    for reader in 0..<4 {
      let database = Database(try vault.connect(.reader))
      nonisolated(unsafe) let shared = database
      DispatchQueue.global().async(group: group) {
        while !done.withLock({ $0 }) {
          if reader == 0 {
            if (try? vault.syncLog()) == nil { seen.withLock { $0.append("sync failed") } }
            continue
          }
          let row = shared.one("SELECT a = b FROM pair") ?? "none"
          if row != "1" { seen.withLock { $0.append(row) } }
        }
        shared.close()
      }
    }
    for round in 1...2000 {
      #expect(writer.run("UPDATE pair SET a=\(round), b=\(round)") == SQLITE_OK)
    }
    done.withLock { $0 = true }
    group.wait()
    #expect(seen.withLock { $0 } == [])
    #expect(writer.one("SELECT a FROM pair") == "2000")
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
    #expect(throws: VaultFailure.notFound) { _ = try open(place.path("kept.db"), create: false) }
    #expect(place.names == [])
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
