/// The VFS that presents a storage of the host's to the vault, in the place of the file system.
///
/// It is chosen where the base of a vault is chosen, and the built-in file does not know of it.
/// A path is the number of a session, so that no name of the host's reaches SQLite.
internal import Base
internal import CSQLite
internal import Glibc
internal import Support

enum StorageVFS {
  static let name = SealedVFS.ownName("tideline-storage")
  private struct Contents {
    var sessions: [(number: UInt64, session: StorageSession)] = []
    var lastNumber: UInt64 = 0
    var isRegistered = false
  }

  private static let contents = Lock(Contents())

  /// Makes the VFS known to SQLite, once in a process.
  static func register() throws(VaultFailure) {
    guard let system = unsafe sqlite3_vfs_find("unix") else { throw .io(SQLITE_ERROR) }
    let result = contents.withLock { contents -> Int32 in
      if contents.isRegistered { return SQLITE_OK }
      let result = unsafe sqlite3_vfs_register(make(like: system), 0)
      contents.isRegistered = result == SQLITE_OK
      return result
    }
    guard result == SQLITE_OK else { throw .io(result) }
  }

  /// Gives a session the path under which its files are opened.
  static func add(_ session: StorageSession) -> String {
    contents.withLock {
      $0.lastNumber &+= 1
      $0.sessions.append(($0.lastNumber, session))
      return "/\($0.lastNumber)"
    }
  }

  static func remove(_ session: StorageSession) {
    contents.withLock { $0.sessions.removeAll { $0.session === session } }
  }

  /// What a path leads to; nil for anything but the file and what lies beside it.
  fileprivate static func place(
    _ path: UnsafePointer<CChar>?
  ) -> (session: StorageSession, object: StorageObject)? {
    guard let path = unsafe path, unsafe path[0] == 0x2F else { return nil }
    var number: UInt64 = 0
    var at = 1
    while case let digit = unsafe path[at], (0x30...0x39).contains(digit), at < 20 {
      number = number &* 10 &+ UInt64(digit - 0x30)
      at += 1
    }
    let found = contents.withLock { contents in
      contents.sessions.first { $0.number == number }?.session
    }
    guard let found else { return nil }
    if unsafe path[at] == 0 { return (found, found.file) }
    if unsafe strcmp(path + at, HeaderFile.unfinishedName("")) == 0 { return (found, found.other) }
    if unsafe strcmp(path + at, "-wal") == 0 { return (found, .log) }
    if unsafe strcmp(path + at, OwnFile.suffix) == 0 { return (found, .own) }
    return nil
  }

  /// A VFS that is never freed: time, chance and sleep are those of the system.
  private static func make(like system: SQLiteVFS) -> SQLiteVFS {
    let vfs = SQLiteVFS.allocate(capacity: 1)
    unsafe vfs.initialize(to: system.pointee)
    unsafe vfs.pointee.iVersion = 2
    unsafe vfs.pointee.szOsFile = Int32(MemoryLayout<tideline_stored_file>.stride)
    unsafe vfs.pointee.mxPathname = 64
    unsafe vfs.pointee.pNext = nil
    unsafe vfs.pointee.zName = UnsafePointer(strdup(name))
    unsafe vfs.pointee.pAppData = nil
    unsafe vfs.pointee.xOpen = openStored
    unsafe vfs.pointee.xDelete = deleteStored
    unsafe vfs.pointee.xAccess = accessStored
    unsafe vfs.pointee.xFullPathname = { _, path, room, out in
      guard let path = unsafe path, let out = unsafe out, unsafe strlen(path) < Int(room) else {
        return SQLITE_CANTOPEN
      }
      unsafe strcpy(out, path)
      return SQLITE_OK
    }
    return unsafe vfs
  }
}

private func openStored(
  _: SQLiteVFS?, _ path: UnsafePointer<CChar>?, _ file: SQLiteFile?, _ flags: Int32,
  _ outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let file = unsafe file else { return SQLITE_CANTOPEN }
  unsafe file.pointee.pMethods = nil
  guard let place = unsafe StorageVFS.place(path) else { return SQLITE_CANTOPEN }
  let own = unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: tideline_stored_file.self)
  unsafe own.initialize(to: tideline_stored_file())
  unsafe own.pointee.session = Unmanaged.passRetained(place.session).toOpaque()
  unsafe own.pointee.object = place.object.rawValue
  unsafe own.pointee.head.pMethods = UnsafePointer(StorageMethods.table)
  unsafe outFlags?.pointee = flags
  return SQLITE_OK
}

private func deleteStored(
  _: SQLiteVFS?, _ path: UnsafePointer<CChar>?, _ syncs: Int32
) -> Int32 {
  guard let place = unsafe StorageVFS.place(path) else { return Code.deleteFailed }
  let result = place.session.remove(place.object)
  guard result == SQLITE_OK, syncs != 0 else { return result }
  return place.session.sync(place.object)
}

/// What is empty is not there: a storage knows no difference.
private func accessStored(
  _: SQLiteVFS?, _ path: UnsafePointer<CChar>?, _: Int32, _ out: UnsafeMutablePointer<Int32>?
) -> Int32 {
  unsafe out?.pointee = 0
  guard let place = unsafe StorageVFS.place(path) else { return SQLITE_OK }
  var size: Int64 = 0
  let result = place.session.size(place.object, &size)
  unsafe out?.pointee = size > 0 ? 1 : 0
  return result
}

private enum StorageMethods {
  // Made once, never changed, never freed.
  nonisolated(unsafe) static let table: UnsafeMutablePointer<sqlite3_io_methods> = {
    let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    unsafe table.initialize(to: sqlite3_io_methods())
    unsafe table.pointee.iVersion = 2
    unsafe table.pointee.xClose = closeStored
    unsafe table.pointee.xRead = { file, out, count, offset in
      guard let out = unsafe out, count >= 0, offset >= 0 else { return Code.readFailed }
      return unsafe with(file) { session, object in
        unsafe session.read(object, out, Int(count), at: UInt64(offset))
      }
    }
    unsafe table.pointee.xWrite = { file, from, count, offset in
      guard let from = unsafe from, count >= 0, offset >= 0 else { return Code.writeFailed }
      return unsafe with(file) { session, object in
        unsafe session.write(object, from, Int(count), at: UInt64(offset))
      }
    }
    unsafe table.pointee.xTruncate = { file, size in
      guard size >= 0 else { return Code.truncateFailed }
      return unsafe with(file) { $0.truncate($1, to: UInt64(size)) }
    }
    unsafe table.pointee.xSync = { file, _ in unsafe with(file) { $0.sync($1) } }
    unsafe table.pointee.xFileSize = { file, out in
      var size: Int64 = 0
      let result = unsafe with(file) { $0.size($1, &size) }
      unsafe out?.pointee = size
      return result
    }
    unsafe table.pointee.xLock = { file, level in
      unsafe locking(file) { locks, own in unsafe locks.lock(own, level) }
    }
    unsafe table.pointee.xUnlock = { file, level in
      unsafe locking(file) { locks, own in
        unsafe locks.unlock(own, level)
        return SQLITE_OK
      }
    }
    unsafe table.pointee.xCheckReservedLock = { file, out in
      unsafe locking(file) { locks, _ in
        unsafe out?.pointee = locks.isReserved ? 1 : 0
        return SQLITE_OK
      }
    }
    unsafe table.pointee.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    unsafe table.pointee.xSectorSize = { _ in Int32(FileFormat.pageBytes) }
    unsafe table.pointee.xDeviceCharacteristics = { _ in 0 }
    unsafe table.pointee.xShmMap = { file, number, size, extend, out in
      unsafe out?.pointee = nil
      return unsafe locking(file) { locks, own in
        let found = unsafe locks.region(own, number, size, extend: extend != 0)
        unsafe out?.pointee = found.memory
        return unsafe found.result
      }
    }
    unsafe table.pointee.xShmLock = { file, first, count, flags in
      unsafe locking(file) { locks, own in unsafe locks.lockSlots(own, first, count, flags) }
    }
    // Whoever has the lock after another one sees what that one wrote.
    unsafe table.pointee.xShmBarrier = { file in _ = unsafe locking(file) { _, _ in SQLITE_OK } }
    unsafe table.pointee.xShmUnmap = { file, _ in
      unsafe locking(file) { locks, own in
        unsafe locks.unmap(own)
        return SQLITE_OK
      }
    }
    return unsafe table
  }()

  private static func own(_ file: SQLiteFile?) -> StoredFile? {
    unsafe UnsafeMutableRawPointer(file)?.assumingMemoryBound(to: tideline_stored_file.self)
  }

  private static func with(
    _ file: SQLiteFile?, _ body: (StorageSession, StorageObject) -> Int32
  ) -> Int32 {
    guard let own = unsafe own(file), let session = unsafe own.pointee.session,
      let object = unsafe StorageObject(rawValue: own.pointee.object)
    else { return SQLITE_IOERR }
    return unsafe Unmanaged<StorageSession>.fromOpaque(session)._withUnsafeGuaranteedRef {
      body($0, object)
    }
  }

  private static func locking(
    _ file: SQLiteFile?, _ body: (inout StorageLocks, StoredFile) -> Int32
  ) -> Int32 {
    guard let own = unsafe own(file) else { return SQLITE_IOERR }
    return unsafe with(file) { session, object in
      session.withLocks(of: object) { locks in unsafe body(&locks, own) }
    }
  }

  private static let closeStored: @convention(c) (SQLiteFile?) -> Int32 = { file in
    guard let own = unsafe own(file), let session = unsafe own.pointee.session else {
      return SQLITE_OK
    }
    _ = unsafe locking(file) { locks, own in
      unsafe locks.unmap(own)
      unsafe locks.unlock(own, SQLITE_LOCK_NONE)
      return SQLITE_OK
    }
    unsafe own.pointee.session = nil
    unsafe Unmanaged<StorageSession>.fromOpaque(session).release()
    return SQLITE_OK
  }
}
