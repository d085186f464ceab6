/// What the log holds is brought to the main file as it was sealed.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct CopyTests {
  private static let frameBytes = 4144

  /// The pages of a log, sealed.
  private func pages(_ log: [UInt8]) -> [[UInt8]] {
    stride(from: 72, through: log.count - Self.frameBytes, by: Self.frameBytes).map {
      Array(log[$0 + 48..<$0 + Self.frameBytes])
    }
  }

  @Test func aCheckpointSealsNothingAnew() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<300)
    let logged = Set(pages(contents(place.logPath)))
    #expect(logged.count > 30)
    #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
    let file = contents(place.path)
    let copied = stride(from: 8192, to: file.count, by: 4096).count {
      logged.contains(Array(file[$0..<$0 + 4096]))
    }
    #expect(copied == (file.count - 8192) / 4096)
    #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<300))
    #expect(writer.one("PRAGMA integrity_check") == "ok")
  }

  /// Copying ends with the checkpoint, also with one that fails: what the writer reads
  /// from the log afterwards is text.
  @Test func aDamagedFrameIsNotCopiedAndTheLogIsKept() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run("PRAGMA cache_size=1")
    fill(writer, 0..<100)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.run("UPDATE t SET body = 'changed' WHERE id = 7")
    writer.run("UPDATE t SET body = 'changed' WHERE id = 93")
    let whole = contents(place.logPath)
    var damaged = whole
    damaged[72 + 2000] ^= 1
    let before = contents(place.path).dropFirst(8192)
    overwrite(place.logPath, damaged)
    guard case .failure(let error) = writer.rows("PRAGMA wal_checkpoint(PASSIVE)") else {
      Issue.record("a damaged page was copied")
      return
    }
    #expect(Vault.failure(fromSQLite: error.code) == .damaged)
    #expect(contents(place.path).dropFirst(8192) == before)
    overwrite(place.logPath, whole)
    #expect(
      try writer.rows("SELECT body FROM t WHERE id IN (7, 93)").get()
        == ["changed", "changed"])
    #expect(writer.one("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
    #expect(writer.one("PRAGMA integrity_check") == "ok")
  }

  /// A reader sees text while the writer copies.
  @Test func readersBesideACheckpointSeeText() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<300)
    let reader = Database(try vault.connect(.reader))
    reader.run("PRAGMA cache_size=1")
    let before = disk.counts.writes
    // Half-way through the checkpoint another connection reads everything from the log.
    let seen = Lock<[[String]]>([])
    let read = UncheckedSendable { try? reader.rows("SELECT * FROM t").get() }
    disk.onEvent { event in
      guard event.kind == .main, case .write(8192 + 40960, _) = event.change else { return }
      if let rows = read.call() { seen.withLock { $0.append(rows) } }
    }
    #expect(writer.one("PRAGMA wal_checkpoint(PASSIVE)")?.hasPrefix("0|") ?? false)
    disk.onEvent(nil)
    #expect(disk.counts.writes > before + 10)
    #expect(seen.withLock { $0 } == [expectedRows(0..<300)])
  }

  /// An earlier state of the same page, in the same log, under the header of a later one.
  @Test func aSealedPageHoldsForItsFrameOnly() throws {
    let place = Place()
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<20)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    for step in 0..<4 { writer.run("UPDATE t SET body = 'step \(step)' WHERE id = 3") }
    fault.die(atWrite: 1)
    writer.close()
    vault.close()
    let image = DiskImage(paths: [place.path, place.logPath])
    let log = try #require(image.files[place.logPath])
    let start = { (frame: Int) in 72 + frame * Self.frameBytes }
    #expect(log.count == start(4))
    for (name, range, source) in [
      ("page", 48..<Self.frameBytes, log), ("header", 0..<48, log),
      ("page of the file", 48..<Self.frameBytes, try #require(image.files[place.path])),
    ] {
      var changed = image
      let at = start(3)
      // Row 3 lies on page 2 of the file.
      let from = source == log ? start(1) : 8192 + 4096 - 48
      changed.files[place.logPath]?.replaceSubrange(
        at + range.lowerBound..<at + range.upperBound,
        with: source[from + range.lowerBound..<from + range.upperBound])
      changed.write(replacing: "", with: "")
      let again = try open(place.path)
      #expect(again.rejectedFrames == 1, "\(name)")
      let reader = Database(try again.connect(.reader))
      #expect(reader.one("SELECT body FROM t WHERE id = 3") == "step 2", "\(name)")
      reader.close()
      again.close()
    }
  }

  /// A reader is used by the thread that checkpoints, within it.
  private struct UncheckedSendable: @unchecked Sendable {
    let call: () -> [String]?
  }

  /// Writes into a file that others have open.
  private func overwrite(_ path: String, _ bytes: [UInt8]) {
    let file = open(path, O_RDWR)
    #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
    close(file)
  }
}
