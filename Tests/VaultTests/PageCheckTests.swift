/// The look at each page: what is cut off, and what only the log has.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct PageCheckTests {
  private func check(_ vault: Vault) throws -> (pages: Int, damaged: Int) {
    let check = try vault.pageCheck()
    while try !check.step() {}
    #expect(check.progress.done == check.progress.total)
    return (Int(check.progress.total), Int(check.damaged))
  }

  /// A file without a log; how many pages it has.
  private func prepared(_ place: Place) throws -> Int {
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<400)
    writer.close()
    vault.close()
    return (contents(place.path).count - 8_192) / 4_096
  }

  private func cut(_ path: String, _ bytes: Int) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.truncate(atOffset: try file.seekToEnd() - UInt64(bytes))
    try file.close()
  }

  /// Protects: each page that is missing is a damaged one, also where a part of it is there, and
  /// whether it was cut while it was open or before.
  @Test(arguments: [false, true], [4_096 * 3, 4_096 * 2 + 1]) func whatIsCutOff(
    _ isOpen: Bool, _ bytes: Int
  ) throws {
    let place = Place()
    let pages = try prepared(place)
    if !isOpen { try cut(place.path, bytes) }
    let vault = try open(place.path, create: false)
    if isOpen {
      #expect(try check(vault) == (pages, 0))
      try cut(place.path, bytes)
    }
    #expect(try check(vault) == (pages, 3))
    // What is there can be read, and the rest is damage.
    let reader = Database(try vault.connect(.reader))
    #expect(reader.one("SELECT id FROM t WHERE id = 0") == "0")
    #expect(
      reader.rows("SELECT * FROM t") == .failure(SQLiteError(code: SQLITE_IOERR | (32 << 8)))
        || reader.rows("SELECT * FROM t") == .failure(SQLiteError(code: SQLITE_CORRUPT)))
    reader.close()
    vault.close()
  }

  /// Protects: a checkpoint that writes behind missing pages makes none of them sound.
  @Test func whatIsCutOffStaysDamaged() throws {
    let place = Place()
    let pages = try prepared(place)
    let vault = try open(place.path, create: false)
    let writer = Database(try vault.connect(.writer))
    #expect(writer.one("SELECT count(*) FROM sqlite_schema") == "1")
    try cut(place.path, 4_096 * 3)
    writer.run("CREATE TABLE u(body TEXT)")
    #expect(writer.run("INSERT INTO u VALUES(hex(zeroblob(20000)))") == SQLITE_OK)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(contents(place.logPath).isEmpty)
    let found = try check(vault)
    #expect(found.pages > pages && found.damaged == 3)
    writer.close()
    vault.close()
  }

  /// Protects: frames that were copied are neither needed nor newer than the main file, also where
  /// one of them does not open any more.
  @Test func whatTheMainFileHasOfTheLog() throws {
    let place = Place()
    _ = try prepared(place)
    let vault = try open(place.path, create: false)
    vault.accept()
    let writer = Database(try vault.connect(.writer))
    writer.run("UPDATE t SET body = 'first' WHERE id < 40")
    writer.run("UPDATE t SET body = 'second' WHERE id < 40")
    let frames = (contents(place.logPath).count - 72) / (4_096 + 64)
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    #expect(contents(place.logPath).count > 72)
    let file = try #require(FileHandle(forUpdatingAtPath: place.logPath))
    try file.seek(toOffset: try file.seekToEnd() - 100)
    try file.write(contentsOf: [1, 2, 3, 4])
    try file.close()
    #expect(frames > 3)
    #expect(try check(vault).damaged == 0)
    let pages = try vault.pages()
    let texts = try (1...pages.count).compactMap { try pages.page($0) }
    #expect(texts.contains { String(decoding: $0, as: UTF8.self).contains("second") })
    #expect(!texts.contains { String(decoding: $0, as: UTF8.self).contains("first") })
    writer.close()
    vault.close()
  }

  /// Protects: a page that only the log has is looked at, and each frame that recovery needs.
  @Test func whatTheLogHas() throws {
    let place = Place()
    let pages = try prepared(place)
    let vault = try open(place.path, create: false)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 400..<600)
    let log = contents(place.logPath)
    let frames = (log.count - 72) / 4_144
    let all = try check(vault)
    #expect(all.pages > pages && all.damaged == 0)
    for broken in [[1], [frames / 2], [2, frames]] {
      let file = try #require(FileHandle(forUpdatingAtPath: place.logPath))
      for frame in broken {
        let at = 72 + (frame - 1) * 4_144 + 999
        try file.seek(toOffset: UInt64(at))
        try file.write(contentsOf: [log[at] ^ 1])
      }
      let found = try check(vault)
      #expect(found.pages == all.pages)
      // A page that no other frame has is missing, too.
      #expect((broken.count...broken.count * 2).contains(found.damaged))
      for frame in broken {
        let at = 72 + (frame - 1) * 4_144 + 999
        try file.seek(toOffset: UInt64(at))
        try file.write(contentsOf: [log[at]])
      }
      try file.close()
      #expect(try check(vault).damaged == 0)
    }
    // Begun anew, the frames that are left behind are of no use.
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    fill(writer, 600..<610)
    let file = try #require(FileHandle(forUpdatingAtPath: place.logPath))
    try file.seek(toOffset: UInt64(72 + (frames - 1) * 4_144 + 999))
    try file.write(contentsOf: [1, 2, 3, 4])
    try file.close()
    #expect(try check(vault).damaged == 0)
    writer.close()
    vault.close()
  }
}
