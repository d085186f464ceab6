/// A file of the VFS underneath, opened by the vault itself and not for SQLite.
///
/// The header is read and written through it. Opening and closing the path in
/// any other way would drop every POSIX lock that this process has on the file.
internal import CSQLite
internal import Glibc

typealias SQLiteFile = UnsafeMutablePointer<sqlite3_file>
typealias SQLiteVFS = UnsafeMutablePointer<sqlite3_vfs>

// Used by one thread at a time: the one that opens the vault, then those that take turns in
// `HeaderCopies`.
@safe final class BaseFile: @unchecked Sendable {
  private let file: SQLiteFile
  private let name: UnsafePointer<CChar>

  /// Opens `path` as a main file, for reading and writing; where `readsOnly` is set and it may not
  /// be written, for reading.
  init(
    _ vfs: SQLiteVFS, _ path: String, create: Bool, readsOnly: Bool = false
  ) throws(VaultFailure) {
    guard let made = unsafe sqlite3_create_filename(path, "", "", 0, nil) else {
      throw .io(SQLITE_NOMEM)
    }
    let size = unsafe max(Int(vfs.pointee.szOsFile), MemoryLayout<sqlite3_file>.size)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    _ = unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    unsafe name = made
    unsafe file = memory.assumingMemoryBound(to: sqlite3_file.self)
    try unsafe open(vfs, create: create, readsOnly: readsOnly)
  }

  private func open(
    _ vfs: SQLiteVFS, create: Bool, readsOnly: Bool
  ) throws(VaultFailure) {
    var result = SQLITE_CANTOPEN
    var given: Int32 = 0
    if let open = unsafe vfs.pointee.xOpen {
      let wanted = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB | (create ? SQLITE_OPEN_CREATE : 0)
      result = unsafe open(vfs, name, file, wanted, &given)
    }
    let isReadOnly = given & SQLITE_OPEN_READONLY != 0
    if result == SQLITE_OK && isReadOnly && !readsOnly { result = SQLITE_READONLY }
    guard result == SQLITE_OK else {
      throw Vault.failure(fromSQLite: result) ?? .io(result)
    }
  }

  /// Gives the descriptor back. Until `reopen` each call fails.
  func rest() { unsafe file.end() }

  /// Opens the same name again.
  func reopen(_ vfs: SQLiteVFS) throws(VaultFailure) {
    do throws(VaultFailure) { try unsafe open(vfs, create: false, readsOnly: false) } catch {
      rest()
      throw error
    }
  }

  deinit {
    unsafe file.end()
    unsafe UnsafeMutableRawPointer(file).deallocate()
    unsafe sqlite3_free_filename(name)
  }

  /// Takes the lock that keeps other processes out for as long as the file is open.
  func claim() throws(VaultFailure) {
    let result = unsafe file.lock(SQLITE_LOCK_SHARED)
    unsafe file.unlock(SQLITE_LOCK_NONE)
    if result & 0xFF == SQLITE_BUSY { throw .locked }
    try check(result)
  }

  /// True when the path does not lead to this file any more.
  var hasMoved: Bool {
    var moved: Int32 = 0
    return unsafe file.control(SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
  }

  func size() throws(VaultFailure) -> Int64 {
    var size: Int64 = 0
    try check(unsafe file.size(&size))
    return size
  }

  /// Of one call: a storage of the host's is promised no more than 66,304 bytes.
  private static let partBytes = 65_536

  /// Reads up to `count` bytes; fewer when the file ends before.
  func read(_ count: Int, at offset: Int64) throws(VaultFailure) -> [UInt8] {
    let there = try size()
    let usable = Int(max(0, min(Int64(count), there - offset)))
    guard usable > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: usable)
    for start in stride(from: 0, to: usable, by: Self.partBytes) {
      let count = Int32(truncatingIfNeeded: min(Self.partBytes, usable &- start))
      let place = offset &+ Int64(start)
      try check(
        unsafe bytes.withUnsafeMutableBytes { part in
          guard let base = part.baseAddress else { return Code.readFailed }
          return unsafe file.read(base + start, count, at: place)
        })
    }
    return bytes
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws(VaultFailure) {
    for start in stride(from: 0, to: bytes.count, by: Self.partBytes) {
      let count = Int32(truncatingIfNeeded: min(Self.partBytes, bytes.count &- start))
      let place = offset &+ Int64(start)
      try check(
        unsafe bytes.withUnsafeBytes { part in
          guard let base = part.baseAddress else { return Code.writeFailed }
          return unsafe file.write(base + start, count, at: place)
        })
    }
  }

  func truncate() throws(VaultFailure) {
    try check(unsafe file.truncate(0))
  }

  func sync() throws(VaultFailure) {
    try check(unsafe file.sync(SQLITE_SYNC_NORMAL))
  }

  private func check(_ result: Int32) throws(VaultFailure) {
    if result != SQLITE_OK { throw Vault.failure(fromSQLite: result) ?? .io(result) }
  }
}

/// The methods of a file underneath. A missing one is an error, never a trap.
extension UnsafeMutablePointer where Pointee == sqlite3_file {
  @inline(__always)
  func read(_ out: UnsafeMutableRawPointer, _ count: Int32, at offset: Int64) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xRead else { return Code.readFailed }
    let result = unsafe call(self, out, count, offset)
    // A disk that cannot read says nothing of what is stored, and the next try may succeed.
    return result == Code.unreadable ? Code.readFailed : result
  }

  @inline(__always)
  func write(_ from: UnsafeRawPointer, _ count: Int32, at offset: Int64) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xWrite else { return Code.writeFailed }
    let result = unsafe call(self, from, count, offset)
    guard result == Code.writeFailed, unsafe isOutOfRoom else { return result }
    return SQLITE_FULL
  }

  /// Whether the last call failed for want of room that SQLite does not know: a quota, or the
  /// greatest size of a file.
  private var isOutOfRoom: Bool {
    var number: Int32 = 0
    let known = unsafe control(SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK
    return known && (number == EDQUOT || number == EFBIG)
  }

  func truncate(_ size: Int64) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xTruncate else {
      return Code.truncateFailed
    }
    return unsafe call(self, size)
  }

  func sync(_ flags: Int32) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xSync else { return Code.syncFailed }
    return unsafe call(self, flags)
  }

  func size(_ out: UnsafeMutablePointer<Int64>) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xFileSize else { return Code.readFailed }
    return unsafe call(self, out)
  }

  func lock(_ level: Int32) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xLock else { return SQLITE_IOERR }
    return unsafe call(self, level)
  }

  @discardableResult
  func unlock(_ level: Int32) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xUnlock else { return SQLITE_IOERR }
    return unsafe call(self, level)
  }

  func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xFileControl else {
      return SQLITE_NOTFOUND
    }
    return unsafe call(self, operation, argument)
  }

  /// Closes the file if it is open.
  @discardableResult
  func end() -> Int32 {
    guard let call = unsafe pointee.pMethods?.pointee.xClose else { return SQLITE_OK }
    let result = unsafe call(self)
    unsafe pointee.pMethods = nil
    return result
  }
}
