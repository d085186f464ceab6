/// A new data key for an open file: nothing is lost, nothing old can be read, whatever ends it.
import Base
import CSQLite
import CSodium
import Foundation
import TestSupport
import Testing
import Vault

extension Vault {
  /// All of it at once; gives the connection that writes from then on.
  func rotate(_ writer: Database, between: (Int) -> Void = { _ in }) throws -> Database {
    let work = try self.rotation(from: writer.handle)
    defer { work.end() }
    var steps = 0
    while try !work.step() {
      steps += 1
      between(steps)
      try #require(steps < 10_000)
    }
    guard case .replaced(nil) = try work.finish({ writer.close() }) else {
      throw VaultFailure.io(SQLITE_ABORT)
    }
    return Database(try connect(.writer))
  }
}

struct RotationTests {
  private func content(_ path: String, _ given: Given = .raw) throws -> [String] {
    let vault = try open(path, given)
    defer { vault.close() }
    let reader = Database(try vault.connect(.reader))
    defer { reader.close() }
    #expect(reader.one("PRAGMA integrity_check") == "ok")
    return try reader.rows("SELECT * FROM t").get()
  }

  private func id(_ path: String) -> [UInt8] { Array(contents(path)[16..<32]) }

  /// Protects: each key that opened the file opens it with its new data key, none of them being at
  /// hand; what was written meanwhile is there; nothing is left beside it.
  @Test func eachKeyOpensIt() throws {
    let place = Place()
    let vault = try open(place.path, create: true)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<3000)
    try vault.add(.passphrase, "Eva's")
    try vault.add(.code)
    let removed = try vault.add(.otherRaw)
    let before = try vault.slots()
    var written = 3000
    writer = try vault.rotate(writer) { step in
      fill(writer, written..<written + 20)
      written += 20
      if step == 2 { try? vault.removeSlot(removed) }
      if step % 3 == 0 { writer.run("PRAGMA wal_checkpoint(PASSIVE)") }
    }
    #expect(written > 3060)
    #expect(try vault.slots() == before.filter { $0.number != removed })
    fill(writer, written..<written + 10)
    try vault.add(.otherCode)
    writer.close()
    vault.close()
    #expect(place.names == ["cache.db"])
    for given in [Given.raw, .passphrase, .code, .otherCode] {
      #expect(try content(place.path, given) == expectedRows(0..<written + 10), "\(given)")
    }
    #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, Given.otherRaw) }
    #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, .otherPassphrase) }
  }

  /// Protects: the file is another one for whoever has let go of it; no page is sealed as before.
  @Test func nothingOfTheOldFileHolds() throws {
    let place = Place()
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<200)
    writer.close()
    vault.close()
    let old = contents(place.path)
    let again = try open(place.path)
    let removed = try again.add(.otherRaw)
    again.close()
    let oldest = contents(place.path)
    let third = try open(place.path)
    try third.removeSlot(removed)
    writer = try third.rotate(Database(try third.connect(.writer)))
    writer.close()
    third.close()
    let new = contents(place.path)
    #expect(new.count == old.count && new[16..<32] != old[16..<32])
    for page in stride(from: 8192, to: new.count, by: 4096) {
      #expect(new[page..<page + 4096] != old[page..<page + 4096])
    }
    // Who had a key that was removed, and the header of that time, writes it over the new one.
    store(Array(oldest[..<8192] + new[8192...]), place.path)
    for given in [Given.otherRaw, .raw] {
      #expect(throws: (any Error).self) { _ = try content(place.path, given) }
    }
    // The pages of the old file are none of the new one.
    store(Array(new[..<8192] + old[8192...]), place.path)
    #expect(throws: (any Error).self) { _ = try content(place.path) }
  }

  /// Protects: a file that becomes shorter than what was copied is copied again.
  @Test func theFileMayShrinkMeanwhile() throws {
    let place = Place()
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<4000)
    var rows = 50
    writer = try vault.rotate(writer) { step in
      if step == 4 { writer.run("DELETE FROM t WHERE id >= 50; PRAGMA incremental_vacuum") }
      guard step > 4 else { return }
      // What is written from now on has to be in the new file.
      fill(writer, rows..<rows + 5)
      rows += 5
    }
    #expect(rows > 50)
    writer.close()
    vault.close()
    #expect(try content(place.path) == expectedRows(0..<rows))
    #expect(contents(place.path).count < 40 * 4096)
  }

  /// Protects: a write that fails after it was repeated in the copy is not in the new file.
  @Test func aTransactionThatFailsIsNotInIt() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<2000)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    var failed = 0
    writer = try vault.rotate(writer) { step in
      guard step % 2 == 0, step < 10 else { return }
      disk.failWrite(2, .fail(SQLITE_FULL))
      if writer.run("UPDATE t SET body = 'lost' WHERE id < 400") != SQLITE_OK { failed += 1 }
      disk.reset()
      writer.run("ROLLBACK")
    }
    #expect(failed > 1)
    writer.close()
    vault.close()
    #expect(try content(place.path) == expectedRows(0..<2000))
  }

  // MARK: Ends

  /// A closed file, and the rows that are in it.
  private func made(_ place: Place, rows: Int = 200) throws {
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<rows)
    writer.close()
    vault.close()
  }

  /// Protects: a kill at any write leaves the old file or the new one, whole; the next opening
  /// removes the other.
  @Test(arguments: [0, 700, 4000]) func aKillAtEachWrite(_ bytes: Int) throws {
    let place = Place()
    try made(place)
    let start = DiskImage(paths: [place.path])
    let old = id(place.path)
    let disk = FaultVFS()
    var ends: [Bool] = []
    for write in 1... {
      start.write(replacing: "", with: "")
      let vault = try open(place.path, base: disk.name)
      var writer = Database(try vault.connect(.writer))
      fill(writer, 200..<210)
      disk.die(atWrite: write, afterBytes: bytes)
      if let next = try? vault.rotate(writer) { writer = next }
      let wasKilled = disk.isDead
      writer.close()
      vault.close()
      disk.revive()
      guard wasKilled else { break }
      #expect(FileManager.default.fileExists(atPath: place.path("cache.db-new")) || write < 5)
      #expect(try content(place.path) == expectedRows(0..<210), "write \(write)")
      #expect(place.names == ["cache.db"], "write \(write)")
      ends.append(id(place.path) != old)
    }
    #expect(ends.count > 25 && !ends[0] && ends.contains(true))
    #expect(ends == ends.sorted { !$0 && $1 })
  }

  /// Protects: on a disk that refuses any one write, and on a full one, the file is as it was and
  /// goes on; nothing is left beside it.
  @Test(arguments: [
    WriteFault.fail(SQLITE_FULL), .short(bytes: 700, SQLITE_FULL),
    .fail(SQLITE_IOERR | (3 << 8)),
  ])
  func eachWriteMayFail(_ fault: WriteFault) throws {
    let place = Place()
    try made(place)
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    var writer = Database(try vault.connect(.writer))
    let old = id(place.path)
    var failures = 0
    var isReplaced = false
    for write in 1... {
      disk.failWrite(write, fault)
      do {
        writer = try vault.rotate(writer)
        break
      } catch {
        // The one that wipes the old file fails once the new one has its place.
        isReplaced = error as? VaultFailure == .io(SQLITE_ABORT)
        let means: VaultFailure = if case .fail(778) = fault { .io(778) } else { .full }
        #expect(isReplaced || error as? VaultFailure == means, "\(write)")
      }
      disk.reset()
      failures += 1
      // After the end the writer is to be opened again.
      writer.close()
      writer = Database(try vault.connect(.writer))
      #expect(writer.run("INSERT INTO t VALUES(-1, ''); DELETE FROM t WHERE id < 0") == SQLITE_OK)
      #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<200), "\(write)")
      #expect(place.names.contains("cache.db-new") == isReplaced, "\(write): \(place.names)")
      if isReplaced { break }
    }
    #expect(failures > 25)
    disk.reset()
    writer.close()
    vault.close()
    #expect(id(place.path) != old)
    #expect(try content(place.path) == expectedRows(0..<200))
    #expect(place.names == ["cache.db"])
  }

  /// Protects: after a loss of power the file is the old one or the new one, with all that was
  /// durable, wherever in a rotation it comes; and the other one is gone.
  @Test func aPowerCutLosesNothing() throws {
    let place = Place()
    try made(place)
    let start = DiskImage(paths: [place.path])
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    var writer = Database(try vault.connect(.writer))
    disk.record()
    let inode = inodeOf(place.path)
    let exchange = Lock<Int?>(nil)
    let path = place.path
    disk.onEvent { [unowned disk] _ in
      exchange.withLock { found in
        if found == nil, inodeOf(path) != inode { found = disk.events.count }
      }
    }
    var durable: [(events: Int, rows: Int)] = [(0, 200)]
    var rows = 200
    func write() throws {
      fill(writer, rows..<rows + 5)
      rows += 5
      try vault.syncLog()
      durable.append((disk.events.count, rows))
    }
    try write()
    writer = try vault.rotate(writer) { _ in try? write() }
    try write()
    let ends = disk.events.count
    writer.close()
    vault.close()
    disk.onEvent(nil)
    let events = Array(disk.events[..<ends])
    let turn = try #require(exchange.withLock { $0 })
    var random = Random(seed: 97)
    var seen: [Bool: Int] = [:]
    for image in 0..<rounds(12_000, least: 600) {
      // Each third around the exchange, where there is most to go wrong.
      let cut =
        image % 3 == 0
        ? min(ends, max(0, turn - 6 + random.below(14))) : random.below(ends + 1)
      let isTurned = cut > turn || cut == turn && random.chance(0.5)
      let after = left(start, events, cut, turn, isTurned: isTurned, place, &random)
      let target = Place()
      after.write(replacing: place.directory, with: target.directory)
      let promised = durable.last { $0.events <= cut }?.rows ?? 0
      do {
        let found = try content(target.path)
        #expect(found.count >= promised && found == expectedRows(0..<found.count), "\(cut)")
      } catch {
        Issue.record("image \(image), cut at \(cut) of \(ends), turn \(turn): \(error)")
      }
      #expect(target.names == ["cache.db"], "image \(image), cut at \(cut), turn \(turn)")
      seen[isTurned, default: 0] += 1
    }
    #expect(seen[true, default: 0] > 50 && seen[false, default: 0] > 50)
  }

  /// What is on the disk. Events name a file as it was opened, so from the exchange on until the
  /// old one is deleted those of `NAME` are of the old file, which is `NAME-new` then.
  private func left(
    _ start: DiskImage, _ events: [DiskEvent], _ cut: Int, _ turn: Int, isTurned: Bool,
    _ place: Place, _ random: inout Random
  ) -> DiskImage {
    let (path, other) = (place.path, place.path("cache.db-new"))
    let (old, new) = (place.path("old"), place.path("new"))
    var image = start
    image.files[old] = image.files.removeValue(forKey: path)
    var isThere = true
    let told = events[..<cut].enumerated().map { number, event in
      var event = event
      if number < turn {
        if event.path == path { event.path = old }
        if event.path == other { event.path = new }
      } else if isThere, event.path == path || event.path == other {
        if case .delete = event.change { isThere = false }
        event.path = old
      } else if event.path == path {
        event.path = new
      }
      return event
    }
    var after = image.afterPowerCut(told[...], &random)
    after.files[isTurned ? other : path] = after.files.removeValue(forKey: old)
    after.files[isTurned ? path : other] = after.files.removeValue(forKey: new)
    return after
  }

  /// Protects: a file that has the other name by itself is neither emptied nor removed.
  @Test func aNameThatIsAnothersIsLeftAlone() throws {
    let place = Place()
    try made(place)
    let other = place.path("cache.db-new")
    let own = try open(place.path("another"))
    fill(Database(try own.connect(.writer)), 0..<10)
    own.close()
    #expect(rename(place.path("another"), other) == 0)
    let whole = contents(other)
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    #expect(throws: VaultFailure.exists) { _ = try vault.rotation(from: writer.handle) }
    writer.close()
    vault.close()
    #expect(try content(place.path) == expectedRows(0..<200))
    #expect(contents(other) == whole)
  }

  /// Protects: one that is let go of leaves the file as it was.
  @Test func whatIsLetGoOfIsForgotten() throws {
    let place = Place()
    try made(place, rows: 2000)
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    let old = id(place.path)
    let rotation = try vault.rotation(from: writer.handle)
    #expect(try !rotation.step())
    #expect(throws: VaultFailure.locked) { _ = try vault.rotation(from: writer.handle) }
    rotation.end()
    #expect(throws: (any Error).self) { _ = try rotation.step() }
    fill(writer, 2000..<2010)
    writer.close()
    vault.close()
    #expect(place.names == ["cache.db"] && id(place.path) == old)
    #expect(try content(place.path) == expectedRows(0..<2010))
  }

  /// Protects: nobody else gets the file while it changes.
  @Test func itStaysLocked() throws {
    let place = Place()
    try made(place)
    let vault = try open(place.path)
    let writer = try vault.rotate(Database(try vault.connect(.writer)))
    #expect(throws: VaultFailure.locked) { _ = try open(place.path) }
    writer.close()
    vault.close()
    #expect(try content(place.path) == expectedRows(0..<200))
  }

  /// Protects: a file of an earlier version opens, and is refused before anything is changed; once
  /// its key was written anew it is as others.
  @Test func aSlotOfAnEarlierVersion() throws {
    let place = Place()
    try made(place)
    let bytes = Array("content".utf8)
    var digest: Int64 = 0
    do {
      let vault = try open(place.path)
      digest = bytes.withUnsafeBytes { vault.digest($0) }
      vault.close()
    }
    store(olden(contents(place.path)), place.path)
    let whole = contents(place.path)
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    #expect(throws: VaultFailure.oldSlot) { try vault.checkRotation() }
    #expect(throws: VaultFailure.oldSlot) { _ = try vault.rotation(from: writer.handle) }
    #expect(contents(place.path) == whole)
    try vault.add(.code)
    #expect(throws: VaultFailure.oldSlot) { try vault.checkRotation() }
    try vault.add(.raw, replacing: 0)
    writer = try vault.rotate(writer)
    #expect(bytes.withUnsafeBytes { vault.digest($0) } == digest)
    writer.close()
    vault.close()
    #expect(try content(place.path, .raw) == expectedRows(0..<200))
    #expect(try content(place.path, .code) == expectedRows(0..<200))
  }

  /// The same file as earlier versions made it: nothing lies behind the slots.
  func olden(_ file: [UInt8]) -> [UInt8] {
    func blake(_ message: [UInt8], _ key: [UInt8] = []) -> [UInt8] {
      var out = [UInt8](repeating: 0, count: 32)
      crypto_generichash(&out, 32, message, UInt64(message.count), key, key.count)
      return out
    }
    var header = Array(file[..<4096])
    let slotKey = blake(Array("tideline slot 1\0".utf8) + header[80..<96], key)
    let bound = Array(header[..<12] + header[16..<44] + header[64..<96])
    var data = [UInt8](repeating: 0, count: 32)
    let opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
      &data, nil, nil, Array(header[120..<168]), 48, bound, UInt64(bound.count),
      Array(header[96..<120]), slotKey)
    #expect(opened == 0)
    for place in 1344..<4000 { header[place] = 0 }
    header[44] &= ~2
    var sumKey = [UInt8](repeating: 0, count: 32)
    crypto_kdf_derive_from_key(&sumKey, 32, 3, "tl-vault", data)
    header.replaceSubrange(4000..<4032, with: blake(Array(header[..<4000]), sumKey))
    header.replaceSubrange(4064..<4096, with: blake(Array(header[..<4064])))
    return header + header + file[8192...]
  }

  /// Protects: digests that the tables have say the same afterwards, and in the next opening.
  @Test func digestsStay() throws {
    let place = Place()
    let vault = try open(place.path)
    let bytes = Array("content".utf8)
    let before = bytes.withUnsafeBytes { vault.digest($0) }
    let writer = try vault.rotate(Database(try vault.connect(.writer)))
    #expect(bytes.withUnsafeBytes { vault.digest($0) } == before)
    writer.close()
    vault.close()
    let again = try open(place.path)
    #expect(bytes.withUnsafeBytes { again.digest($0) } == before)
    again.close()
    let other = try open(place.path("other"))
    #expect(bytes.withUnsafeBytes { other.digest($0) } != before)
    other.close()
  }

  /// Protects: a page carries no bytes of rows that are gone.
  @Test func whatWentIsInNoPage() throws {
    let place = Place()
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    writer.run("PRAGMA secure_delete=ON")
    writer.run("CREATE TABLE u(k BLOB PRIMARY KEY, body TEXT) WITHOUT ROWID")
    var random = Random(seed: 5)
    for number in 0..<1500 {
      let key = random.below(1 << 30)
      writer.run("INSERT OR IGNORE INTO u VALUES(\(key), 'planted\(number)\(text(number))')")
    }
    writer.run("DELETE FROM u WHERE k % 3 != 0")
    let kept = Set(try writer.rows("SELECT body FROM u").get())
    let gone = (0..<1500).filter { !kept.contains("planted\($0)\(text($0))") }
    #expect(gone.count > 800)
    func found() throws -> Int {
      let pages = try vault.pages()
      var bytes: [UInt8] = []
      for page in 1...pages.count { bytes += try #require(try pages.page(page)) }
      let data = Data(bytes)
      return gone.count { data.range(of: Data("planted\($0)row".utf8)) != nil }
    }
    // SQLite leaves them there.
    #expect(try found() > 0)
    writer = try vault.rotate(writer)
    #expect(try found() == 0)
    #expect(writer.one("PRAGMA integrity_check") == "ok")
    #expect(Set(try writer.rows("SELECT body FROM u").get()) == kept)
    writer.close()
    vault.close()
  }
}
