/// How a vault finds what it opens: a file under a path, or a name on a storage of the host's.
internal import Base
internal import CSQLite
internal import Support

/// What was found and claimed, before SQLite reads its log.
struct Opening {
  let repair: Repair
  /// The VFS through which SQLite opens it.
  let vfsName: String
  /// It was made just now.
  let isMade: Bool

  static func file(_ config: VaultConfig) throws(VaultFailure) -> Opening {
    guard let base = unsafe sqlite3_vfs_find(config.baseVFS) else { throw .io(SQLITE_ERROR) }
    let vfsName = try unsafe SealedVFS.register(over: base, named: config.baseVFS)
    let path =
      if let kept = config.kept?.path { kept } else { try unsafe fullPath(base, config.path) }
    guard try FileStatus(path: path + "-wal") != .other else { throw .inTheWay }
    var isMade = false
    // Once more where a wipe had emptied the file that was there.
    for _ in 0..<2 {
      if case .missing = try FileStatus(path: path) {
        isMade = true
        guard config.create else { throw .notFound }
        try unsafe HeaderFile.make(base, path, config.key)
      }
      if let repair = try unsafe openCore(base, path, config) {
        return Opening(repair: repair, vfsName: vfsName, isMade: isMade)
      }
    }
    throw .locked
  }

  /// Takes the name over. Where there is no file in it, one is made.
  static func name(_ config: VaultConfig) throws(VaultFailure) -> Opening {
    guard let storage = config.storage else { throw .io(SQLITE_MISUSE) }
    try StorageVFS.register()
    guard let base = unsafe sqlite3_vfs_find(StorageVFS.name) else { throw .io(SQLITE_ERROR) }
    let vfsName = try unsafe SealedVFS.register(over: base, named: StorageVFS.name)
    let session = try StorageSession(storage, name: Array(config.path.utf8))
    let claim = StorageClaim(session)
    do throws(VaultFailure) {
      let path = claim.path
      let otherPath = HeaderFile.unfinishedName(path)
      let main = try unsafe FoundObject(BaseFile(base, path, create: true))
      let next = try unsafe FoundObject(BaseFile(base, otherPath, create: true))
      session.file = FoundObject.file(main, next)
      let (own, other) = session.file == .main ? (main, next) : (next, main)
      let file = try unsafe BaseFile(base, path, create: true)
      let isUnfinished = try own.hasMagic ? false : HeaderFile.isShort(file)
      var found =
        try isUnfinished
        ? nil
        : HeaderFile.open(file, config, own.start) {
          unsafe OwnFile.header(base, path + OwnFile.suffix, isNamed: true)
        }
      let isMade = found == nil
      if isMade {
        if main.isWiped || next.isWiped {
          try unsafe OwnFile.destroy(base, path + OwnFile.suffix, isNamed: true)
        }
        guard config.create else { throw .notFound }
        if !other.isEmpty { try unsafe HeaderFile.removeOther(base, otherPath) }
        try unsafe HeaderFile.make(base, file, log: path + "-wal", config.key)
        found = try HeaderFile.open(file, config)
      }
      guard let opened = found else { throw .damaged }
      let core = unsafe VaultCore(
        base: base, opened: opened, mainFile: file,
        hold: .name(claim))
      // What is empty is not there.
      let repair = Repair(
        core: core, path: path, isLeftOver: false, hasOther: !isMade && !other.isEmpty,
        hadLog: true)
      return Opening(repair: repair, vfsName: vfsName, isMade: isMade)
    } catch {
      claim.end()
      throw error
    }
  }

  /// Takes the file, in this process and against others, and opens its header. Nil where that was
  /// wiped: the deletion that came to no end is ended.
  private static func openCore(
    _ base: SQLiteVFS, _ path: String, _ config: VaultConfig
  ) throws(VaultFailure) -> Repair? {
    guard case .file(let identity, _, _) = try FileStatus(path: path) else { throw .notOurs }
    // Before the file is opened: closing it again would drop the locks of the
    // vault that this process may have on it.
    guard let claim = FileClaim(identity) else { throw .locked }
    // The same for a database of the host's own, which it may have locked.
    guard !HeaderFile.isHeldByAnother(identity) else { throw .notOurs }
    // A try in vain opens it for reading only, which wakes nobody who waits for it.
    guard unsafe tideline_is_locked(path) == 0 else { throw .locked }
    let file = try unsafe BaseFile(base, path, create: false, readsOnly: config.readsOnly)
    let lock = try FileLock(path, identity, readsOnly: config.readsOnly)
    try file.claim()
    guard case .file(identity, _, let names) = try FileStatus(path: path) else { throw .locked }
    // A crash while the file was made leaves it the name that it was made under.
    let unfinished = try FileStatus(path: HeaderFile.unfinishedName(path))
    let isLeftOver = unfinished.identity == identity
    // SQLite finds the log by the file's name: under another one it would not see it.
    guard names <= (isLeftOver ? 2 : 1) else { throw .linked }
    let spare = { unsafe OwnFile.header(base, path + OwnFile.suffix, isNamed: false) }
    guard let opened = try HeaderFile.open(file, config, spare: spare) else {
      if config.readsOnly { throw .notFound }
      try unsafe OwnFile.destroy(base, path + OwnFile.suffix, isNamed: false)
      try unsafe HeaderFile.remove(base, path + "-wal")
      if isLeftOver { try unsafe HeaderFile.remove(base, HeaderFile.unfinishedName(path)) }
      try unsafe HeaderFile.remove(base, path)
      withExtendedLifetime((file, claim, lock)) {}
      return nil
    }
    let core = unsafe VaultCore(
      base: base, opened: opened, mainFile: file,
      hold: .file(claim, lock))
    return Repair(
      core: core, path: path, isLeftOver: isLeftOver,
      hasOther: unfinished != .missing && !isLeftOver,
      hadLog: try FileStatus(path: path + "-wal") != .missing)
  }

  /// The path as SQLite will use it: absolute, symbolic links followed.
  static func fullPath(_ base: SQLiteVFS, _ path: String) throws(VaultFailure) -> String {
    guard let call = unsafe base.pointee.xFullPathname, !path.isEmpty,
      !path.utf8.contains(0)
    else { throw .io(SQLITE_CANTOPEN) }
    let room = unsafe Int(base.pointee.mxPathname) + 1
    var buffer = [CChar](repeating: 0, count: room)
    let result = unsafe call(base, path, Int32(truncatingIfNeeded: room), &buffer)
    // The higher bits only say that there was a symbolic link.
    guard result & 0xFF == SQLITE_OK else { throw Vault.failure(fromSQLite: result) ?? .io(result) }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let full = String(decoding: bytes, as: UTF8.self)
    // It would be written over once a file has the name without that end.
    if ["-new", "-own", "-wal"].contains(where: full.hasSuffix) { throw .reserved }
    return full
  }
}
