/// A storage of the host's whose objects are files under a VFS, so that what a test does to a disk
/// it does to a storage as well. A name is the path of its main object.
import Base
import CSQLite
import Glibc

package final class FileStorage: HostStorage, @unchecked Sendable {
  private final class OpenFile {
    let file: UnsafeMutablePointer<sqlite3_file>
    private let name: UnsafePointer<CChar>

    init?(_ vfs: UnsafeMutablePointer<sqlite3_vfs>, _ path: String, isLog: Bool, create: Bool) {
      name = sqlite3_create_filename(path, "", "", 0, nil)
      file = UnsafeMutableRawPointer.allocate(
        byteCount: Int(vfs.pointee.szOsFile), alignment: 16
      ).assumingMemoryBound(to: sqlite3_file.self)
      file.pointee.pMethods = nil
      let kind = isLog ? SQLITE_OPEN_WAL : SQLITE_OPEN_MAIN_DB
      let flags = SQLITE_OPEN_READWRITE | kind | (create ? SQLITE_OPEN_CREATE : 0)
      guard vfs.pointee.xOpen(vfs, name, file, flags, nil) == SQLITE_OK else {
        // A class that is not made has no end of its own.
        UnsafeMutableRawPointer(file).deallocate()
        sqlite3_free_filename(name)
        return nil
      }
    }

    deinit {
      _ = file.pointee.pMethods.pointee.xClose(file)
      UnsafeMutableRawPointer(file).deallocate()
      sqlite3_free_filename(name)
    }
  }

  private struct Contents {
    var fences: [[UInt8]: UInt64] = [:]
    var files: [String: OpenFile] = [:]
  }

  private let vfs: UnsafeMutablePointer<sqlite3_vfs>
  private let contents = Lock(Contents())

  /// Over the VFS of that name.
  package init(over name: String) {
    vfs = sqlite3_vfs_find(name)!
  }

  private static func path(_ lease: StorageLease, _ object: StorageObject) -> String {
    let ends: [StorageObject: String] = [.main: "", .log: "-wal", .own: "-own", .next: "-new"]
    return String(decoding: lease.name, as: UTF8.self) + (ends[object] ?? "")
  }

  private static func answer(_ code: Int32) -> StorageAnswer {
    switch code & 0xFF {
    case SQLITE_OK: .done
    case SQLITE_FULL: .full
    default: .failed
    }
  }

  /// Runs a call of the newest holder on the file of an object; nil where there is none.
  private func run(
    _ lease: StorageLease, _ object: StorageObject, create: Bool = false,
    _ body: (UnsafeMutablePointer<sqlite3_file>?) -> StorageAnswer
  ) -> StorageAnswer {
    contents.withLock { contents in
      guard contents.fences[lease.name] == lease.fence else { return .lost }
      let path = Self.path(lease, object)
      if let known = contents.files[path] { return body(known.file) }
      if !create, access(path, F_OK) != 0 { return body(nil) }
      let isLog = object == .log || object == .own
      guard let made = OpenFile(vfs, path, isLog: isLog, create: create) else {
        return .failed
      }
      contents.files[path] = made
      return body(made.file)
    }
  }

  package func acquire(_ name: [UInt8], _ fence: inout UInt64) -> StorageAnswer {
    fence = contents.withLock { contents in
      contents.fences[name, default: 0] += 1
      return contents.fences[name] ?? 0
    }
    return .done
  }

  package func release(_ lease: StorageLease) {
    contents.withLock { contents in
      guard contents.fences[lease.name] == lease.fence else { return }
      for object in StorageObject.allCases { contents.files[Self.path(lease, object)] = nil }
    }
  }

  package func read(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    into out: UnsafeMutableRawBufferPointer, _ got: inout Int
  ) -> StorageAnswer {
    var count = 0
    let answer = run(lease, object) { file in
      guard let file else { return .done }
      var size: Int64 = 0
      let asked = file.pointee.pMethods.pointee.xFileSize(file, &size)
      guard asked == SQLITE_OK else { return Self.answer(asked) }
      count = Int(max(0, min(Int64(out.count), size - Int64(offset))))
      guard count > 0 else { return .done }
      return Self.answer(
        file.pointee.pMethods.pointee.xRead(file, out.baseAddress, Int32(count), Int64(offset)))
    }
    got = count
    return answer
  }

  package func write(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    _ bytes: UnsafeRawBufferPointer
  ) -> StorageAnswer {
    run(lease, object, create: true) { file in
      guard let file else { return .failed }
      return Self.answer(
        file.pointee.pMethods.pointee.xWrite(
          file, bytes.baseAddress, Int32(bytes.count), Int64(offset)))
    }
  }

  package func truncate(
    _ lease: StorageLease, _ object: StorageObject, to size: UInt64
  ) -> StorageAnswer {
    run(lease, object) { file in
      guard let file else { return .done }
      return Self.answer(file.pointee.pMethods.pointee.xTruncate(file, Int64(size)))
    }
  }

  package func size(
    _ lease: StorageLease, _ object: StorageObject, _ size: inout UInt64
  ) -> StorageAnswer {
    var known: Int64 = 0
    let answer = run(lease, object) { file in
      guard let file else { return .done }
      return Self.answer(file.pointee.pMethods.pointee.xFileSize(file, &known))
    }
    size = UInt64(max(0, known))
    return answer
  }

  package func sync(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    run(lease, object) { file in
      guard let file else { return .done }
      return Self.answer(file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL))
    }
  }

  package func remove(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    contents.withLock { contents in
      guard contents.fences[lease.name] == lease.fence else { return .lost }
      let path = Self.path(lease, object)
      contents.files[path] = nil
      guard access(path, F_OK) == 0 else { return .done }
      return Self.answer(vfs.pointee.xDelete(vfs, path, 1))
    }
  }
}
