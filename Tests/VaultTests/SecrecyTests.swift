/// Nothing that was stored can be found in any file, in any form it may take there.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct SecrecyTests {
  private static let texts = [
    "Sejdeme se u Karlova mostu", "明天在老地方见面", "meet me at the old bridge 🦊", "msg-7f3a-secret-id",
  ]
  private static let numbers: [Int64] = [0x1122_3344_5566_7788, 1_777_284_000_123_456]

  /// Every byte string that must not be found.
  private static var needles: [(String, [UInt8])] {
    var needles: [(String, [UInt8])] = []
    for text in texts {
      needles.append((text, Array(text.utf8)))
      let wide = Array(text.utf16.prefix(8))
      needles.append((text + " (16 LE)", wide.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }))
      needles.append((text + " (16 BE)", wide.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }))
    }
    for number in numbers {
      let big = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
      needles.append(("\(number) BE", big))
      needles.append(("\(number) LE", big.reversed()))
    }
    for word in ["SQLite format 3", "CREATE TABLE", "message_table", "sqlite_autoindex"] {
      needles.append((word, Array(word.utf8)))
    }
    return needles
  }

  private static func found(in files: [[UInt8]]) -> [String] {
    needles.filter { needle in
      files.contains { Data($0).range(of: Data(needle.1)) != nil }
    }.map(\.0)
  }

  private static func write(_ database: Database) {
    database.run(
      """
      CREATE TABLE IF NOT EXISTS message_table(id TEXT PRIMARY KEY, n INTEGER, wide BLOB, back BLOB)
      """)
    for (place, text) in texts.enumerated() {
      for number in numbers {
        let wide = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let back = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let order = withUnsafeBytes(of: number.littleEndian) { Array($0) }
        database.run(
          """
          INSERT OR REPLACE INTO message_table VALUES('\(text)-\(place)-\(number)', \(number),
            x'\(hex(wide))', x'\(hex(back + order))')
          """)
      }
    }
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
  }

  @Test func nothingReadableReachesTheDisk() throws {
    let place = Place()
    let fault = FaultVFS()
    try open(place.path).close()
    var image = DiskImage(paths: [place.path])
    fault.record()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    Self.write(writer)
    writer.run("CREATE VIRTUAL TABLE f USING fts5(body)")
    writer.run("INSERT INTO f SELECT id FROM message_table")
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    Self.write(writer)
    writer.run("BEGIN; UPDATE message_table SET n=n; ROLLBACK; VACUUM")
    writer.close()
    vault.close()
    // Every byte of every write that was ever made, and the file it has come to.
    var writes: [[UInt8]] = []
    for event in fault.events {
      if case .write(_, let bytes) = event.change { writes.append(bytes) }
      image.apply(event)
    }
    #expect(writes.count > 30)
    #expect(Self.found(in: writes) == [])
    #expect(Self.found(in: Array(image.files.values)) == [])
    let isComplete = image.files == [place.path: contents(place.path)]
    #expect(isComplete)
  }

  @Test func nothingReadableIsLeftByAKill() throws {
    let place = Place()
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    Self.write(writer)
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    fault.die(atWrite: 3, afterBytes: 1000)
    Self.write(writer)
    #expect(fault.isDead)
    writer.close()
    vault.close()
    let files = place.names.map { contents(place.path($0)) }
    #expect(files.count == 2)
    #expect(Self.found(in: files) == [])
  }

  @Test func theSearchFindsAllOfItInPlainSQLite() throws {
    let place = Place()
    for encoding in ["UTF-8", "UTF-16be"] {
      let path = place.path("plain-\(encoding).db")
      var plain: OpaquePointer?
      sqlite3_open_v2(path, &plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix")
      let database = Database(plain!)
      database.run("PRAGMA encoding='\(encoding)'; PRAGMA journal_mode=WAL")
      Self.write(database)
      #expect(!Self.found(in: [contents(path + "-wal")]).isEmpty)
    }
    let files = place.names.map { contents(place.path($0)) }
    #expect(Self.found(in: files).count == Self.needles.count)
  }

  @Test func equalPagesAreNeverSealedAlike() throws {
    let place = Place()
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    // A commit of one page, and one of more than go into one step.
    fill(writer, 0..<600)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    fault.record()
    for round in 0..<50 {
      writer.run("UPDATE t SET body='\(round % 2)' WHERE id=3; PRAGMA wal_checkpoint(TRUNCATE)")
    }
    writer.run("UPDATE t SET body=body || 'x'; PRAGMA wal_checkpoint(TRUNCATE)")
    var sealed: [[UInt8]: [UInt8]] = [:]
    var seals = 0
    var copies = 0
    for event in fault.events {
      guard case .write(_, let bytes) = event.change else { continue }
      // A mark of the log has 72 bytes, as its header.
      if event.kind == .main && bytes.count != 72 {
        let nonce = Array(bytes.suffix(40).prefix(24))
        // A checkpoint seals nothing: it writes what the log had.
        let isCopy = sealed[nonce] == bytes
        #expect(isCopy)
        copies += 1
      } else {
        let unit = bytes.count == 72 ? 72 : 4144
        for end in stride(from: unit, through: bytes.count, by: unit) {
          seals += 1
          sealed[Array(bytes[..<end].suffix(40).prefix(24))] = Array(bytes[..<end].suffix(4096))
        }
      }
    }
    #expect(seals > 100 + 40)
    #expect(sealed.count == seals)
    #expect(copies > 50 + 40)
  }
}
