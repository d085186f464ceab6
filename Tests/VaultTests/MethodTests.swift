/// The VFS called directly, with what SQLite asks for seldom or never.
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct MethodTests {
  private static let refused = SQLITE_IOERR | (3 << 8)
  private static let badData = SQLITE_IOERR | (32 << 8)
  private static let short = SQLITE_IOERR | (2 << 8)

  /// A file of a connection: the main one, or its log.
  private struct File {
    let file: UnsafeMutablePointer<sqlite3_file>

    init(_ database: Database, log: Bool) throws {
      var found: UnsafeMutablePointer<sqlite3_file>?
      let which = log ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER
      sqlite3_file_control(database.handle, "main", which, &found)
      file = try #require(found)
    }

    private var methods: sqlite3_io_methods { file.pointee.pMethods.pointee }

    func read(_ count: Int, at offset: Int64) -> (Int32, [UInt8]) {
      var bytes = [UInt8](repeating: 0xAA, count: count)
      let result = methods.xRead(file, &bytes, Int32(count), offset)
      return (result, bytes)
    }

    func write(_ bytes: [UInt8], at offset: Int64) -> Int32 {
      methods.xWrite(file, bytes, Int32(bytes.count), offset)
    }

    func truncate(_ size: Int64) -> Int32 { methods.xTruncate(file, size) }

    func control(_ operation: Int32, _ value: Int64) -> (Int32, Int64) {
      var value = value
      let result = methods.xFileControl(file, operation, &value)
      return (result, value)
    }

    var size: Int64 {
      var size: Int64 = -1
      _ = methods.xFileSize(file, &size)
      return size
    }

    var device: Int32 { methods.xDeviceCharacteristics(file) }
    var version: Int32 { methods.iVersion }
  }

  private func page(_ byte: UInt8, tail: UInt8 = 0) -> [UInt8] {
    [UInt8](repeating: byte, count: 4056) + [UInt8](repeating: tail, count: 40)
  }

  private func withFiles(
    _ body: (Place, Database, File, File, Vault) throws -> Void
  ) throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<50)
    try body(place, writer, File(writer, log: false), File(writer, log: true), vault)
  }

  @Test func holesAreFilledWithSealedZeros() throws {
    try withFiles { place, writer, main, _, _ in
      writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
      let pages = main.size / 4096
      #expect(main.write(page(7), at: (pages + 9) * 4096) == SQLITE_OK)
      #expect(main.truncate((pages + 20) * 4096) == SQLITE_OK)
      #expect(main.size == (pages + 20) * 4096)
      for number in pages..<pages + 20 {
        let (result, bytes) = main.read(4096, at: number * 4096)
        #expect(result == SQLITE_OK)
        #expect(bytes == page(number == pages + 9 ? 7 : 0))
      }
      let onDisk = contents(place.path)
      for start in stride(from: 0, to: onDisk.count, by: 4096) {
        #expect(onDisk[start..<start + 4096].contains { $0 != 0 })
      }
      #expect(main.truncate(pages * 4096) == SQLITE_OK)
      #expect(main.read(4096, at: pages * 4096).0 == Self.short)
      #expect(writer.one("PRAGMA integrity_check") == "ok")
    }
  }

  @Test func whatIsNoPageIsRefused() throws {
    try withFiles { place, _, main, log, _ in
      let before = DiskImage(paths: [place.path, place.logPath]).files
      for (bytes, offset) in [
        ([UInt8](repeating: 1, count: 512), 4096), (page(1), 100), (page(1), -4096),
        (page(1, tail: 1), 4096), (page(0) + [0], 4096),
        // A first page that reserves nothing.
        (page(0), 0),
      ] as [([UInt8], Int64)] {
        #expect(main.write(bytes, at: offset) == Self.refused)
      }
      for (bytes, offset) in [
        ([UInt8](repeating: 1, count: 31), 0), ([UInt8](repeating: 1, count: 8), 24),
        (page(1, tail: 9), 32 + 24), (page(1), 32 + 25), ([UInt8](repeating: 1, count: 24), 40),
        ([UInt8](repeating: 1, count: 4120), 32), (page(1), -24),
      ] as [([UInt8], Int64)] {
        #expect(log.write(bytes, at: offset) == Self.refused)
      }
      // Nor as a frame of the log, where its number stands in the header.
      for (number, bytes) in [(UInt8(1), page(0)), (2, page(1, tail: 1))] {
        let frame = (log.size - 32) / 4120
        #expect(
          log.write([0, 0, 0, number] + [UInt8](repeating: 0, count: 20), at: 32 + frame * 4120)
            == SQLITE_OK)
        #expect(log.write(bytes, at: 32 + frame * 4120 + 24) == Self.refused)
      }
      #expect(main.truncate(100) != SQLITE_OK)
      #expect(main.truncate(-4096) != SQLITE_OK)
      #expect(main.read(4096, at: 100).0 != SQLITE_OK)
      #expect(main.read(10, at: -1).0 != SQLITE_OK)
      #expect(log.read(40, at: 0).0 != SQLITE_OK)
      let isSame = DiskImage(paths: [place.path, place.logPath]).files == before
      #expect(isSame)
    }
  }

  @Test func partsOfUnitsReadAsTheWhole() throws {
    try withFiles { _, writer, main, log, _ in
      let whole = log.read(4120, at: 32).1
      for (start, count) in [(0, 8), (8, 16), (16, 8), (24, 4096), (100, 5), (4080, 40)] {
        #expect(log.read(count, at: Int64(32 + start)).1 == Array(whole[start..<start + count]))
      }
      let header = log.read(32, at: 0).1
      #expect(log.read(8, at: 24).1 == Array(header[24...]))
      writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
      #expect(log.size == 0)
      let first = main.read(4096, at: 0).1
      #expect(first.starts(with: Array("SQLite format 3".utf8)))
      #expect(main.read(100, at: 0).1 == Array(first[..<100]))
      #expect(main.read(16, at: 24).1 == Array(first[24..<40]))
      #expect(main.read(17, at: 4096 + 50).1 == Array(main.read(4096, at: 4096).1[50..<67]))
    }
  }

  /// Only what an earlier process has left may be torn.
  @Test func aFrameOfThisVaultThatDoesNotOpenIsAnError() throws {
    try withFiles { place, _, _, log, vault in
      #expect(log.read(4120, at: 32).0 == SQLITE_OK)
      let file = open(place.logPath, O_RDWR)
      var noise: [UInt8] = [1, 2, 3]
      #expect(pwrite(file, &noise, 3, 72 + 2000) == 3)
      close(file)
      let (result, bytes) = log.read(4120, at: 32)
      #expect(result == Self.badData)
      #expect(bytes.allSatisfy { $0 == 0 })
      #expect(vault.rejectedFrames == 0)
    }
  }

  @Test func nothingIsPromisedThatUnitsCannotKeep() throws {
    try withFiles { _, _, main, log, _ in
      for file in [main, log] {
        #expect(file.version == 2)
        #expect(file.device & SQLITE_IOCAP_POWERSAFE_OVERWRITE != 0)
        let others =
          SQLITE_IOCAP_ATOMIC | SQLITE_IOCAP_ATOMIC4K | SQLITE_IOCAP_SAFE_APPEND
          | SQLITE_IOCAP_SEQUENTIAL | SQLITE_IOCAP_BATCH_ATOMIC
        #expect(file.device & others == 0)
        let size = file.size
        #expect(file.control(SQLITE_FCNTL_SIZE_HINT, 1 << 24).0 == SQLITE_OK)
        #expect(file.control(SQLITE_FCNTL_CHUNK_SIZE, 1 << 20).0 == SQLITE_OK)
        #expect(file.size == size)
        #expect(file.control(SQLITE_FCNTL_MMAP_SIZE, 1 << 30) == (SQLITE_OK, 0))
        #expect(file.control(SQLITE_FCNTL_BEGIN_ATOMIC_WRITE, 0).0 == SQLITE_NOTFOUND)
      }
    }
  }
}
