/// The VFS that stands between SQLite and the disk, and lets only units through.
///
/// Registered under a name of its own, one for each VFS underneath and each copy of the library
/// in the process, and never as the default. A main file and its log are opened; everything else
/// is refused, so a journal or a temporary file cannot leak what it holds: the connections
/// keep both in memory.
internal import Base
internal import CSQLite
internal import Glibc
internal import Support
internal import Synchronization

typealias VaultFile = UnsafeMutablePointer<tideline_file>

enum SealedVFS {
  static let name = ownName("tideline-vault")
  /// Names the vault in the URI of a file, by its number in the registry.
  static let numberKey = "tlv"
  /// Set in the URI of the writing connection.
  static let writerKey = "tlw"

  /// A name that no other copy of the library gives to a VFS: both may use one SQLite, which finds
  /// the last one that was registered under a name.
  static func ownName(_ name: String) -> String {
    let address = unsafe UInt(bitPattern: MainMethods.table)
    return "\(name)-\(String(address, radix: 16))"
  }

  // Registrations are never taken back: a connection may outlive its vault.
  private static let registered = Lock<[(name: String, base: UInt)]>([])

  /// The name under which files over `base` are opened.
  static func register(over base: SQLiteVFS, named baseName: String) throws(VaultFailure) -> String
  {
    let name = baseName == "unix-excl" ? Self.name : "\(Self.name)+\(baseName)"
    let address = UInt(bitPattern: base)
    let result = registered.withLock { known -> Int32 in
      if known.contains(where: { $0.name == name && $0.base == address }) { return SQLITE_OK }
      let result = unsafe sqlite3_vfs_register(make(over: base, name: name), 0)
      if result == SQLITE_OK {
        known.removeAll { $0.name == name }
        known.append((name, address))
      }
      return result
    }
    guard result == SQLITE_OK else { throw .io(result) }
    return name
  }

  /// A VFS that is never freed.
  private static func make(over base: SQLiteVFS, name: String) -> SQLiteVFS {
    let vfs = SQLiteVFS.allocate(capacity: 1)
    unsafe vfs.initialize(to: sqlite3_vfs())
    unsafe vfs.pointee.iVersion = 2
    unsafe vfs.pointee.szOsFile =
      Int32(MemoryLayout<tideline_file>.stride) &+ base.pointee.szOsFile
    unsafe vfs.pointee.mxPathname = base.pointee.mxPathname
    unsafe vfs.pointee.zName = UnsafePointer(strdup(name))
    unsafe vfs.pointee.pAppData = UnsafeMutableRawPointer(base)
    unsafe vfs.pointee.xOpen = openFile
    unsafe vfs.pointee.xDelete = deleteFile
    unsafe vfs.pointee.xAccess = accessFile
    unsafe vfs.pointee.xFullPathname = fullPathname
    unsafe vfs.pointee.xDlOpen = { _, _ in nil }
    unsafe vfs.pointee.xDlError = { _, count, out in
      if count > 0 { unsafe out?.pointee = 0 }
    }
    unsafe vfs.pointee.xDlClose = { _, _ in }
    unsafe vfs.pointee.xRandomness = { vfs, count, out in
      guard let base = unsafe below(vfs), let call = unsafe base.pointee.xRandomness else {
        return 0
      }
      return unsafe call(base, count, out)
    }
    unsafe vfs.pointee.xSleep = { vfs, time in
      guard let base = unsafe below(vfs), let call = unsafe base.pointee.xSleep else { return 0 }
      return unsafe call(base, time)
    }
    unsafe vfs.pointee.xCurrentTime = { vfs, out in
      guard let base = unsafe below(vfs), let call = unsafe base.pointee.xCurrentTime else {
        return SQLITE_ERROR
      }
      return unsafe call(base, out)
    }
    unsafe vfs.pointee.xCurrentTimeInt64 = { vfs, out in
      guard let base = unsafe below(vfs), unsafe base.pointee.iVersion >= 2,
        let call = unsafe base.pointee.xCurrentTimeInt64
      else { return SQLITE_ERROR }
      return unsafe call(base, out)
    }
    unsafe vfs.pointee.xGetLastError = { vfs, count, out in
      guard let base = unsafe below(vfs), let call = unsafe base.pointee.xGetLastError else {
        return 0
      }
      return unsafe call(base, count, out)
    }
    return unsafe vfs
  }
}

/// The VFS underneath.
private func below(_ vfs: SQLiteVFS?) -> SQLiteVFS? {
  unsafe vfs?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
}

private func openFile(
  _ vfs: SQLiteVFS?, _ name: UnsafePointer<CChar>?, _ file: SQLiteFile?, _ flags: Int32,
  _ outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let file = unsafe file else { return SQLITE_CANTOPEN }
  unsafe file.pointee.pMethods = nil
  let isMain = flags & SQLITE_OPEN_MAIN_DB != 0
  let isLog = flags & SQLITE_OPEN_WAL != 0
  guard isMain || isLog, let name = unsafe name, let base = unsafe below(vfs),
    let open = unsafe base.pointee.xOpen
  else { return SQLITE_CANTOPEN }
  let number = unsafe sqlite3_uri_int64(name, SealedVFS.numberKey, 0)
  guard let core = Registry.vault(UInt64(bitPattern: number)) else { return SQLITE_AUTH }
  let writer = unsafe sqlite3_uri_boolean(name, SealedVFS.writerKey, 0) != 0

  let own = unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: tideline_file.self)
  let under = unsafe UnsafeMutableRawPointer(own + 1).assumingMemoryBound(to: sqlite3_file.self)
  unsafe own.initialize(to: tideline_file())
  unsafe under.pointee.pMethods = nil
  guard unsafe own.attach(core) else { return SQLITE_NOMEM }
  let isWriter = writer && isMain
  if isWriter, core.writerOpen.exchange(true, ordering: .acquiringAndReleasing) {
    unsafe own.detach()
    return SQLITE_BUSY
  }
  // The vault has made the file; a main file that is gone must not come back empty.
  let wanted = isMain ? flags & ~SQLITE_OPEN_CREATE : flags
  let result = unsafe open(base, name, under, wanted, outFlags)
  guard result == SQLITE_OK else {
    unsafe under.end()
    unsafe own.detach()
    if isWriter { core.writerOpen.store(false, ordering: .releasing) }
    return result
  }
  unsafe own.pointee.base = under
  unsafe own.pointee.name = name
  unsafe own.pointee.writer = writer ? 1 : 0
  // A storage is told of nothing before its sync.
  if case .name = core.hold { unsafe own.pointee.hint = -1 }
  unsafe own.pointee.head.pMethods = UnsafePointer(isLog ? LogMethods.table : MainMethods.table)
  core.openFiles.add(1, ordering: .acquiringAndReleasing)
  if writer && isLog { unsafe core.log.withLock { unsafe $0 = under } }
  return SQLITE_OK
}

private func deleteFile(_ vfs: SQLiteVFS?, _ name: UnsafePointer<CChar>?, _ sync: Int32) -> Int32 {
  guard let base = unsafe below(vfs), let call = unsafe base.pointee.xDelete else {
    return SQLITE_IOERR
  }
  return unsafe call(base, name, sync)
}

/// A rollback journal is never ours: one that lies there was put there, and is not looked at.
private func accessFile(
  _ vfs: SQLiteVFS?, _ name: UnsafePointer<CChar>?, _ flags: Int32,
  _ out: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let base = unsafe below(vfs), let call = unsafe base.pointee.xAccess else {
    return SQLITE_IOERR
  }
  let suffix = "-journal"
  if let name = unsafe name {
    let length = unsafe strlen(name)
    if length >= suffix.utf8.count, unsafe strcmp(name + length - suffix.utf8.count, suffix) == 0 {
      unsafe out?.pointee = 0
      return SQLITE_OK
    }
  }
  return unsafe call(base, name, flags, out)
}

private func fullPathname(
  _ vfs: SQLiteVFS?, _ name: UnsafePointer<CChar>?, _ count: Int32,
  _ out: UnsafeMutablePointer<CChar>?
) -> Int32 {
  guard let base = unsafe below(vfs), let call = unsafe base.pointee.xFullPathname else {
    return SQLITE_CANTOPEN
  }
  return unsafe call(base, name, count, out)
}
