/// The bytes on disk are those of docs/reference/file-format.md: a reader that shares no
/// code with the library, written from that page, reads what the library wrote.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct FormatTests {
  /// Runs the independent reader. What it prints, and its exit status.
  private func decrypt(
    _ path: String, _ target: String, key: [UInt8], kind: String = "raw"
  ) throws -> (String, Int32) {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("read_vault.py").path
    let reader = Process()
    reader.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    reader.arguments = [
      "python3", script, path, kind, key.map { String(format: "%02x", $0) }.joined(), target,
    ]
    let output = Pipe()
    reader.standardOutput = output
    reader.standardError = output
    try reader.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    reader.waitUntilExit()
    return (String(decoding: text, as: UTF8.self), reader.terminationStatus)
  }

  private func plain(_ path: String) throws -> Database {
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, "unix")
    #expect(result == SQLITE_OK)
    return Database(try #require(handle))
  }

  @Test func anIndependentReaderReadsOwnWork() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = try vault.beginOwn()
    try writer.put(Array("first".utf8))
    try vault.finishOwn(writer)
    try vault.appendOwn(Array(" and second".utf8))
    vault.close()
    let target = place.path("plain")
    let (said, status) = try decrypt(place.path + "-own", target, key: key)
    #expect(status == 0, "\(said)")
    #expect(contents(target) == Array("first and second".utf8))
  }

  @Test func anIndependentReaderReadsPagesAndLog() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<300)
    writer.run("PRAGMA wal_checkpoint(RESTART)")
    fill(writer, 300..<400)
    writer.run("UPDATE t SET body = 'changed' WHERE id = 7")
    try vault.syncLog()
    // Left as a kill leaves it, with an unfinished transaction at the end.
    writer.run("BEGIN; DELETE FROM t")
    disk.die(atWrite: 3)
    writer.run("COMMIT")
    #expect(disk.isDead)
    writer.close()
    vault.close()

    let target = place.path("plain.db")
    let (said, status) = try decrypt(place.path, target, key: key)
    #expect(status == 0, "\(said)")
    #expect(!said.contains(" 0 from the log") && !said.contains("lost"))
    let copy = try plain(target)
    var expected = expectedRows(0..<400)
    expected[7] = "7|changed"
    #expect(try copy.rows("SELECT * FROM t").get() == expected)
    #expect(copy.one("PRAGMA integrity_check") == "ok")

    // It knows by the mark that a log was there, and how long it was.
    let log = contents(place.logPath)
    for size in [0, 72, 72 + 4144] {
      store(Array(log.prefix(size)), place.logPath)
      #expect(try decrypt(place.path, target, key: key).0.hasSuffix("lost commits\n"), "\(size)")
    }
    store(log, place.logPath)

    // The log goes into the file; the reader finds the same there.
    let again = try open(place.path)
    again.close()
    let second = try decrypt(place.path, place.path("second.db"), key: key)
    #expect(second.0.contains(" 0 from the log"))
    #expect(try plain(place.path("second.db")).rows("SELECT * FROM t").get() == expected)
    #expect(try decrypt(place.path, target, key: otherKey).1 != 0)
  }

  @Test func anIndependentReaderOpensEachKindOfSlot() throws {
    let place = Place()
    var printed = [UInt8](repeating: 0, count: RecoveryCode.printedBytes)
    #expect(RecoveryCode.make(&printed))
    let typed = Array(String(decoding: printed, as: UTF8.self).lowercased().utf8)
    let code = try #require(typed.withUnsafeBytes { RecoveryCode.read($0) })
    let passphrase = Array("žluťoučký kůň".utf8)
    let vault = try open(place.path)
    fill(Database(try vault.connect(.writer)), 0..<50)
    for key in [HostKey(passphrase, as: .passphrase), code] {
      let new = NewSlot(key, label: Array("new".utf8), operations: 2, memoryBytes: 2 << 20)
      _ = try vault.put(vault.slot(for: new), replacing: nil)
    }
    vault.close()
    let keys = [("raw", key), ("passphrase", passphrase), ("code", printed), ("code", typed)]
    for (kind, key) in keys {
      let (said, status) = try decrypt(place.path, place.path("plain.db"), key: key, kind: kind)
      #expect(status == 0, "\(said)")
      let copy = try plain(place.path("plain.db"))
      #expect(try copy.rows("SELECT * FROM t").get() == expectedRows(0..<50))
      #expect(try decrypt(place.path, place.path("no.db"), key: key + [65], kind: kind).1 != 0)
    }
    // It finds the typing error by the check alone.
    var wrong = printed
    wrong[3] = wrong[3] == 65 ? 66 : 65
    let (said, _) = try decrypt(place.path, place.path("no.db"), key: wrong, kind: "code")
    #expect(said == "typing error\n")
  }

  @Test func aNewFileIsTwoHeadersAndOnePage() throws {
    let place = Place()
    try open(place.path).close()
    let bytes = contents(place.path)
    #expect(bytes.count == 12288)
    #expect(Array(bytes[..<8]) == Array("TIDELINE".utf8))
    #expect(unmarked(bytes[..<4096]) == unmarked(bytes[4096..<8192]))
    // Two files made alike share nothing but the fixed fields.
    let other = Place()
    try open(other.path).close()
    let second = contents(other.path)
    #expect(bytes[16..<32] != second[16..<32])
    #expect(bytes[80..<168] != second[80..<168])
    #expect(bytes[8192...] != second[8192...])
  }

  /// Protects: while the key of a slot is at hand that key wraps, which makes openings cheap; a new
  /// data key is wrapped for the public parts.
  @Test func aNewSlotIsWrappedByItsKey() throws {
    let place = Place()
    try open(place.path).close()
    func isDirect(_ slot: Int) -> Bool {
      contents(place.path)[1344 + 32 * slot..<1376 + 32 * slot].allSatisfy { $0 == 0 }
    }
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    try vault.add(.code)
    #expect(isDirect(0) && isDirect(1))
    writer = try vault.rotate(writer)
    #expect(!isDirect(0) && !isDirect(1))
    try vault.add(.raw, replacing: 0)
    #expect(isDirect(0) && !isDirect(1))
    writer.close()
    vault.close()
  }
}
