/// Kills and power cuts at every point: the file opens and holds what it promised.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct CrashTests {
  /// A session on a file that exists: commits, checkpoints, a growing and a
  /// shrinking file. `committed` is told after each commit how many there are.
  private func session(_ writer: Database, _ committed: (Int) -> Void) {
    var count = 0
    func commit(_ sql: String) {
      guard writer.run("BEGIN; \(sql); INSERT INTO mark VALUES(\(count + 1)); COMMIT") == SQLITE_OK
      else {
        writer.run("ROLLBACK")
        return
      }
      count += 1
      committed(count)
    }
    for step in 0..<6 {
      commit("INSERT INTO t VALUES(\(step), '\(text(step))')")
    }
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    commit("INSERT INTO t SELECT id + 100, body FROM t")
    // Pages that are freed in the transaction that made them leave holes.
    commit(
      """
      CREATE TABLE big(x); INSERT INTO big VALUES(zeroblob(40000)),(zeroblob(20000));
      DELETE FROM big WHERE length(x)=40000
      """)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    commit("DELETE FROM t WHERE id < 3")
    commit("DROP TABLE big; PRAGMA incremental_vacuum")
    writer.run("PRAGMA wal_checkpoint(RESTART)")
    commit("UPDATE t SET body = body || '-again'")
    commit("CREATE INDEX IF NOT EXISTS byBody ON t(body)")
  }

  private func prepared(_ place: Place) throws {
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE mark(n INTEGER PRIMARY KEY)")
    writer.close()
    vault.close()
  }

  /// Content after each number of commits, from a run without any fault.
  private func states() throws -> [[String]] {
    let place = Place()
    try prepared(place)
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    var states = [try content(writer)]
    session(writer) { _ in states.append((try? content(writer)) ?? []) }
    return states
  }

  private func content(_ database: Database) throws -> [String] {
    let tables = try database.rows("SELECT name FROM sqlite_schema ORDER BY name").get()
    return try tables + database.rows("SELECT * FROM t ORDER BY id").get()
  }

  /// Opens what a crash has left. The number of commits that are there, or nil
  /// after recording why the file is not as one of the states.
  private func survivors(_ path: String, _ states: [[String]], _ note: String) -> Int? {
    do {
      let vault = try open(path, create: false)
      defer { vault.close() }
      let writer = Database(try vault.connect(.writer))
      #expect(writer.one("PRAGMA integrity_check") == "ok", "\(note)")
      let count = Int(writer.one("SELECT count(*) FROM mark") ?? "") ?? -1
      let isAState = try states.indices.contains(count) && content(writer) == states[count]
      #expect(isAState, "\(note): \(count) commits")
      // It goes on from there.
      #expect(writer.run("INSERT INTO mark VALUES(1000)") == SQLITE_OK, "\(note)")
      #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0", "\(note)")
      return count
    } catch {
      Issue.record("\(note): \(error)")
      return nil
    }
  }

  @Test func aKillAtEveryWriteLosesNothingThatWasCommitted() throws {
    let place = Place()
    try prepared(place)
    let states = try states()
    let start = DiskImage(paths: [place.path])
    let fault = FaultVFS()
    var ends: [Int] = []
    var kills = 0
    while true {
      // Once in the first of the frames that one write brings, and once in a later one.
      let writes = kills / 2 + 1
      let torn =
        kills % 2 == 0
        ? [0, 1, 511, 2048, 4100][writes % 5] : 4144 * (writes % 7) + [0, 700][writes % 2]
      kills += 1
      start.write(replacing: "", with: "")
      let vault = try open(place.path, base: fault.name)
      let writer = Database(try vault.connect(.writer))
      fault.die(atWrite: writes, afterBytes: torn)
      var acknowledged = 0
      session(writer) { acknowledged = $0 }
      let wasKilled = fault.isDead
      writer.close()
      vault.close()
      fault.revive()
      guard wasKilled else { break }
      let found = survivors(place.path, states, "write \(writes)") ?? -1
      // A commit is there when it was acknowledged, or when only that was missing.
      #expect(found == acknowledged || found == acknowledged + 1, "write \(writes)")
      ends.append(found)
      try? FileManager.default.removeItem(atPath: place.logPath)
    }
    // Every state but the last, which no write follows, is what some kill has left.
    #expect(ends.count > 60)
    #expect(Set(ends).count >= states.count - 1)
  }

  @Test func aKillWhileTheFileIsMadeLeavesNoHalfFile() throws {
    let fault = FaultVFS()
    for write in 1...8 {
      let place = Place()
      fault.die(atWrite: write, afterBytes: 100)
      let made = try? open(place.path, base: fault.name)
      made?.close()
      fault.revive()
      let again = try open(place.path, base: fault.name)
      let writer = Database(try again.connect(.writer))
      fill(writer, 0..<5)
      writer.close()
      again.close()
      #expect(place.names == ["cache.db"])
      if made != nil { break }
      #expect(write < 8)
    }
  }

  /// One run with its events, how many were done at each commit, and how many
  /// commits were durable after how many events.
  private func recorded(
    _ place: Place, sync: Bool
  ) throws -> (start: DiskImage, events: [DiskEvent], durable: [(events: Int, commits: Int)]) {
    let fault = FaultVFS()
    let start = DiskImage(paths: [place.path])
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    fault.record()
    var durable: [(events: Int, commits: Int)] = []
    session(writer) { commits in
      guard sync && commits % 2 == 0 else { return }
      #expect(throws: Never.self) { try vault.syncLog() }
      durable.append((fault.events.count, commits))
    }
    let events = fault.events
    writer.close()
    vault.close()
    return (start, events, durable)
  }

  @Test(arguments: [true, false]) func aPowerCutKeepsWhatWasSynced(sync: Bool) throws {
    let place = Place()
    try prepared(place)
    let states = try states()
    let run = try recorded(place, sync: sync)
    var random = Random(seed: sync ? 11 : 12)
    var lost = 0
    var rejected = 0
    for image in 0..<250 {
      let cut = random.below(run.events.count + 1)
      let promised = run.durable.last { $0.events <= cut }?.commits ?? 0
      let after = run.start.afterPowerCut(run.events[..<cut], &random)
      let target = Place()
      after.write(replacing: place.directory, with: target.directory)
      if let vault = try? open(target.path, create: false) {
        rejected += Int(vault.rejectedFrames)
        vault.close()
      }
      let found = survivors(target.path, states, "image \(image), cut at \(cut)") ?? -1
      #expect(found >= promised, "image \(image), cut at \(cut)")
      let done = run.events[..<cut].count
      if found < promised || done > 0 && found == 0 { lost += 1 }
    }
    // The pictures are rough enough to matter.
    #expect(lost > 0)
    #expect(rejected > 0)
  }
}
