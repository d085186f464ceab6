/// The vault on a storage of the host's: what a file does, a lease that is lost, a sync that fails.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

func open(
  _ storage: MemoryStorage, _ name: String = "eva", key: [UInt8] = key, create: Bool = true,
  strict: Bool = false
) throws(VaultFailure) -> Vault {
  var config = VaultConfig(path: name, key: HostKey(key), create: create, strict: strict)
  config.storage = storage
  return try Vault.open(config)
}

let brokenSync = VaultFailure.io(SQLITE_IOERR | (4 << 8))

struct StorageTests {
  private func content(_ storage: MemoryStorage, _ name: String = "eva") throws -> [String] {
    let vault = try open(storage, name, create: false)
    defer { vault.close() }
    let writer = Database(try vault.connect(.writer))
    #expect(writer.one("PRAGMA integrity_check") == "ok")
    return try writer.rows("SELECT * FROM t").get()
  }

  @Test func itKeepsWhatAFileKeeps() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    #expect(vault.isMade)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<300)
    let reader = Database(try vault.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<300))
    #expect(writer.one("PRAGMA wal_checkpoint(RESTART)") != nil)
    fill(writer, 300..<400)
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<400))
    #expect(vault.fileBytes > 100_000)
    reader.close()
    writer.close()
    vault.close()
    #expect(!storage.isHeld("eva"))
    // The last connection has brought the log home.
    #expect(storage.bytes("eva", .log).isEmpty)
    #expect(try content(storage) == expectedRows(0..<400))
    #expect(throws: VaultFailure.wrongKey) { _ = try open(storage, key: otherKey) }
    #expect(throws: VaultFailure.notFound) { _ = try open(storage, "ada", create: false) }
  }

  /// Protects: the bytes are those of a file, so that one may become the other.
  @Test func itsBytesAreThoseOfAFile() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<100)
    let place = Place()
    store(storage.bytes("eva", .main), place.path)
    store(storage.bytes("eva", .log), place.logPath)
    let file = try open(place.path, create: false)
    let reader = Database(try file.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<100))
    reader.close()
    file.close()
    let other = MemoryStorage()
    other.put("ada", .main, contents(place.path))
    #expect(try content(other, "ada") == expectedRows(0..<100))
  }

  /// Protects: who takes a name over reads its log in large parts, not by the frame.
  @Test func aLogIsReadInLargeParts() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<400, batch: 1)
    let frames = storage.bytes("eva", .log).count / 4144
    #expect(frames > 400)
    let before = storage.count(.read)
    let next = try open(storage)
    let reads = storage.count(.read) - before
    #expect(reads < 20 + frames / 10)
    let reader = Database(try next.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<400))
    reader.close()
    next.close()
    writer.close()
    vault.close()
  }

  @Test func namesAreApartAndWipingLeavesNothing() throws {
    let storage = MemoryStorage()
    let (eva, ada) = (try open(storage), try open(storage, "ada"))
    let (first, second) = (
      Database(try eva.connect(.writer)), Database(try ada.connect(.writer))
    )
    fill(first, 0..<20)
    fill(second, 50..<60)
    #expect(try second.rows("SELECT * FROM t").get() == expectedRows(50..<60))
    first.close()
    try eva.destroy()
    #expect(storage.bytes("eva", .main).isEmpty && storage.bytes("eva", .log).isEmpty)
    #expect(try second.rows("SELECT * FROM t").get() == expectedRows(50..<60))
    second.close()
    ada.close()
  }

  /// Protects: a second holder ends the first, who then touches nothing.
  @Test func whoHasLostTheNameTouchesNothing() throws {
    let storage = MemoryStorage()
    let old = try open(storage)
    let writer = Database(try old.connect(.writer))
    fill(writer, 0..<50)
    try old.syncLog()
    let new = try open(storage)
    let later = Database(try new.connect(.writer))
    #expect(try later.rows("SELECT * FROM t").get() == expectedRows(0..<50))
    let code = writer.run("INSERT INTO t VALUES(1000, 'late')")
    #expect(Vault.failure(fromSQLite: code) == .locked)
    #expect(old.givenUp == .locked)
    #expect(throws: VaultFailure.locked) { try old.syncLog() }
    let calls = storage.calls
    writer.run("UPDATE t SET body = 'late'")
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.close()
    old.close()
    #expect(storage.calls == calls)
    #expect(storage.isHeld("eva"))
    fill(later, 50..<60)
    later.close()
    new.close()
    #expect(try content(storage) == expectedRows(0..<60))
  }

  /// Protects: after a sync that failed nothing later is believed, and nothing is asked any more.
  @Test(arguments: [StorageAnswer.failed, .full]) func aFailedSyncEndsIt(
    _ answer: StorageAnswer
  ) throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    storage.fail(1, answer)
    #expect(throws: brokenSync) { try vault.syncLog() }
    #expect(vault.givenUp == brokenSync)
    let calls = storage.calls
    #expect(throws: brokenSync) { try vault.syncLog() }
    #expect(Vault.failure(fromSQLite: writer.run("INSERT INTO t VALUES(1000, '')")) == brokenSync)
    writer.close()
    vault.close()
    #expect(storage.calls == calls)
    #expect(!storage.isHeld("eva"))
    #expect(try content(storage) == expectedRows(0..<10))
  }

  /// Protects: a making that ended at any call is made anew, and a file that was made never is.
  @Test func aMakingThatEndsAnywhereIsMadeAnew() throws {
    var random = Random(seed: 5)
    for call in 1...40 {
      let storage = MemoryStorage()
      storage.fail(call, count: 1000, .failed, part: random.below(4096))
      let made = try? open(storage)
      made?.close()
      storage.failNothing()
      for _ in 0..<10 {
        let left = storage.afterPowerLoss(&random)
        let again = try open(left)
        let writer = Database(try again.connect(.writer))
        fill(writer, 0..<3)
        writer.close()
        again.close()
        #expect(try content(left) == expectedRows(0..<3), "call \(call)")
      }
      if made != nil { return }
    }
    Issue.record("it was never made")
  }

  @Test func aFileIsNeverMadeAnew() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<100)
    writer.close()
    vault.close()
    var bytes = storage.bytes("eva", .main)
    bytes[3] ^= 1
    bytes[4096 + 3] ^= 1
    storage.put("eva", .main, bytes)
    #expect(throws: VaultFailure.notOurs) { _ = try open(storage) }
    bytes[3] ^= 1
    bytes[100] ^= 1
    storage.put("eva", .main, Array(bytes[..<12288]))
    #expect(throws: VaultFailure.damaged) { _ = try open(storage) }
    #expect(storage.bytes("eva", .main) == Array(bytes[..<12288]))
  }
}

/// Ends in the midst of everything: power, errors at each call, and the lease.
struct StorageFaultTests {
  private static let start = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE mark(n INTEGER PRIMARY KEY)
    """

  private func made() throws -> MemoryStorage {
    let storage = MemoryStorage()
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    writer.run(Self.start)
    writer.close()
    vault.close()
    return storage
  }

  /// Commits, checkpoints of each kind, a file that grows and shrinks. `committed` is told how many
  /// commits were acknowledged.
  private func session(_ writer: Database, _ committed: (Int) -> Void) {
    var count = 0
    func commit(_ sql: String) {
      let text = "BEGIN; \(sql); INSERT INTO mark VALUES(\(count + 1)); COMMIT"
      guard writer.run(text) == SQLITE_OK else {
        writer.run("ROLLBACK")
        return
      }
      count += 1
      committed(count)
    }
    for step in 0..<6 { commit("INSERT INTO t VALUES(\(step), '\(text(step))')") }
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    commit("INSERT INTO t SELECT id + 100, body FROM t")
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
  }

  private func content(_ database: Database) throws -> [String] {
    let tables = try database.rows("SELECT name FROM sqlite_schema ORDER BY name").get()
    return try tables + database.rows("SELECT * FROM t ORDER BY id").get()
  }

  private func states() throws -> [[String]] {
    let vault = try open(try made())
    let writer = Database(try vault.connect(.writer))
    var states = [try content(writer)]
    session(writer) { _ in states.append((try? content(writer)) ?? []) }
    return states
  }

  /// Opens what is there: the number of commits in it, which is one of the states.
  private func survivors(_ storage: MemoryStorage, _ states: [[String]], _ note: String) -> Int {
    do {
      let vault = try open(storage, create: false)
      defer { vault.close() }
      let writer = Database(try vault.connect(.writer))
      #expect(writer.one("PRAGMA integrity_check") == "ok", "\(note)")
      let count = Int(writer.one("SELECT count(*) FROM mark") ?? "") ?? -1
      let isAState = try states.indices.contains(count) && content(writer) == states[count]
      #expect(isAState, "\(note): \(count) commits")
      #expect(writer.run("INSERT INTO mark VALUES(1000)") == SQLITE_OK, "\(note)")
      #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0", "\(note)")
      writer.close()
      return count
    } catch {
      Issue.record("\(note): \(error)")
      return -1
    }
  }

  /// Protects: power that goes before any call keeps what was synced, whatever else arrived.
  @Test func powerThatGoesAtAnyCallKeepsWhatWasSynced() throws {
    let states = try states()
    let storage = try made()
    let durable = Lock(0)
    let images = Lock<[(storage: MemoryStorage, promised: Int, call: Int)]>([])
    let random = Lock(Random(seed: 21))
    let vault = try open(storage)
    let writer = Database(try vault.connect(.writer))
    storage.before { [weak storage] call, number in
      guard call.changes || call == .sync, let storage else { return }
      for _ in 0..<3 {
        let left = random.withLock { storage.afterPowerLoss(&$0) }
        let promised = durable.withLock { $0 }
        images.withLock { $0.append((left, promised, number)) }
      }
    }
    session(writer) { commits in
      guard commits % 2 == 0 else { return }
      #expect(throws: Never.self) { try vault.syncLog() }
      durable.withLock { $0 = commits }
    }
    writer.close()
    vault.close()
    storage.before(nil)
    var lost = 0
    let all = images.withLock { $0 }
    for (index, image) in all.enumerated() {
      let found = survivors(image.storage, states, "image \(index) at call \(image.call)")
      #expect(found >= image.promised, "image \(index) at call \(image.call)")
      if found == image.promised { lost += 1 }
    }
    #expect(all.count > 150 && lost > 20 && lost < all.count)
  }

  /// Protects: an error of any call fails what it is in, and harms nothing.
  @Test(arguments: [StorageAnswer.failed, .full]) func anErrorAtEachCallHarmsNothing(
    _ answer: StorageAnswer
  ) throws {
    let states = try states()
    var random = Random(seed: 8)
    var failures = 0
    for call in 1...10_000 {
      let storage = try made()
      storage.fail(call, answer, part: random.below(5000))
      var acknowledged = 0
      var (isOpen, givenUp) = (false, false)
      do {
        let vault = try open(storage)
        isOpen = true
        let writer = Database(try vault.connect(.writer))
        session(writer) { acknowledged = $0 }
        givenUp = vault.givenUp != nil
        writer.close()
        vault.close()
      } catch {
        let isTold = error as? VaultFailure == .full || "\(error)".hasPrefix("io")
        #expect(isTold, "call \(call): \(error)")
      }
      let reached = storage.calls >= call
      storage.failNothing()
      let found = marks(storage)
      // What failed after its commit was in the log may be there all the same.
      #expect(found >= acknowledged, "call \(call), \(isOpen)")
      if acknowledged < states.count - 1 { failures += 1 }
      let left = storage.afterPowerLoss(&random)
      if !givenUp { #expect(marks(left) >= 0, "call \(call)") }
      guard reached else { break }
    }
    #expect(failures > 30)
  }

  /// How many commits are there; -1 where the file is not sound.
  private func marks(_ storage: MemoryStorage) -> Int {
    guard let vault = try? open(storage, create: false) else { return -1 }
    defer { vault.close() }
    guard let handle = try? vault.connect(.writer) else { return -1 }
    let writer = Database(handle)
    defer { writer.close() }
    guard writer.one("PRAGMA integrity_check") == "ok" else { return -1 }
    return Int(writer.one("SELECT count(*) FROM mark") ?? "") ?? -1
  }

  /// Protects: a name that is taken over before any call, in the midst of a checkpoint too, is
  /// whole for the successor, and the late calls of the old holder change nothing.
  @Test func aNameTakenOverAtAnyCallIsWhole() throws {
    let states = try states()
    // The first call is the one that acquires the name.
    var (ends, call) = (Set<Int>(), 1)
    var isOver = false
    while !isOver {
      call += 1
      let storage = try made()
      let taken = Lock<(main: [UInt8], log: [UInt8])?>(nil)
      let first = storage.calls
      var acknowledged = 0
      storage.before { [weak storage, call] _, number in
        guard let storage, number == first + call else { return }
        storage.takeOver("eva")
        taken.withLock {
          $0 = (storage.bytes("eva", .main), storage.bytes("eva", .log))
        }
      }
      if let vault = try? open(storage) {
        let writer = Database(try vault.connect(.writer))
        session(writer) { acknowledged = $0 }
        #expect(taken.withLock { $0 == nil } || vault.givenUp == .locked)
        writer.close()
        vault.close()
      }
      storage.before(nil)
      guard let (main, log) = taken.withLock({ $0 }) else {
        isOver = true
        break
      }
      #expect(storage.refused == 1, "call \(call)")
      let isSame = storage.bytes("eva", .main) == main && storage.bytes("eva", .log) == log
      #expect(isSame, "call \(call)")
      let found = survivors(storage, states, "call \(call)")
      #expect(found >= acknowledged, "call \(call)")
      ends.insert(found)
    }
    #expect(call > 100 && ends.count > 8)
  }
}
