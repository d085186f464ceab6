/// A new data key for an open file: all pages are sealed anew into another file, which then takes
/// its name.
///
/// Rule protected: the name leads to a whole file at all times, to the old one until the new one
/// has all that was committed. The writer's pages are copied in slices, and SQLite repeats each
/// later write of the writer in the copy (`sqlite3_backup`), so nobody waits. Each of the two
/// headers names the other file, so an opening after a crash knows what `NAME-new` is, and removes
/// it. On a storage of the host's `NAME-new` is the main object that is not the file.
internal import Base
internal import CSQLite
internal import CSodium
internal import Glibc
internal import Support
internal import Synchronization

// Used under the lock of the writer only.
@safe package final class VaultRotation: @unchecked Sendable {
  /// Pages of a step: some milliseconds.
  private static let stepPages: Int32 = 64
  /// Pages after which the new file is synced, so that the last sync is not one of all.
  private static let syncPages = 4096

  /// What has become of the file.
  package enum Outcome: Sendable {
    /// It has the new key; a failure is that of the removal of the old one, which the next opening
    /// does again.
    case replaced(VaultFailure?)
    /// It cannot be used before it is opened again.
    case unknown(VaultFailure)
  }

  private let vault: Vault
  /// The file that gets another key, and the new one; nil once they are let go of.
  private var original: VaultCore?
  private let name: String
  private let number: UInt64
  private var core: VaultCore?
  private var source: OpaquePointer?
  private var target: OpaquePointer?
  private var backup: OpaquePointer?
  private var syncedPages = 0
  private var donePages = 0
  private var allPages = 0

  /// Begins it, with the connection that alone writes the file.
  init(of vault: Vault, from writer: OpaquePointer) throws(VaultFailure) {
    guard let original = vault.core, let header = original.copies.current else {
      throw .io(SQLITE_MISUSE)
    }
    self.vault = vault
    self.original = original
    name = HeaderFile.unfinishedName(vault.filePath)
    var id = [UInt8](repeating: 0, count: FileFormat.fileIdBytes)
    unsafe randombytes_buf(&id, id.count)
    guard let keys = KeyMemory.random() else { throw .io(SQLITE_NOMEM) }
    unsafe keys.take(content: original.keys.content)
    let next = try header.rotated(to: id, from: original.keys, to: keys)
    if vault.isFile {
      try HeaderFile.mayReplace(name, of: header.other)
      try unsafe HeaderFile.removeRemains(vault.base, of: header.other, under: name)
    } else {
      try unsafe HeaderFile.removeOther(vault.base, name)
    }
    try original.copies.change { (header) throws(VaultFailure) in
      try header.replaced(by: id, original.keys)
    }
    let (file, hold) =
      try vault.isFile
      ? unsafe HeaderFile.claimed(vault.base, name)
      : unsafe (BaseFile(vault.base, name, create: true), original.hold)
    let core = unsafe VaultCore(
      base: vault.base, opened: HeaderFile.Opened(header: next, keys: keys),
      mainFile: file, hold: hold, isCopy: true)
    self.core = core
    number = Registry.add(core)
    unsafe source = writer
    do throws(VaultFailure) {
      try file.truncate()
      if vault.isFile { try HeaderFile.copyMode(of: vault.filePath, to: name) }
      // By this an opening knows what it is.
      try file.write(Array(next.bytes[16..<32]), at: 16)
      try file.sync()
      let opener = ConnectionOpener(path: name, vfsName: vault.vfsName, number: number)
      unsafe target = try opener.openTarget()
      try begin()
    } catch {
      end()
      throw error
    }
  }

  // Ended before by who owns it, under the lock.
  deinit { Registry.remove(number) }

  private func begin() throws(VaultFailure) {
    unsafe sqlite3_backup_finish(backup)
    unsafe backup = sqlite3_backup_init(target, "main", source, "main")
    if unsafe backup == nil { throw Self.failure(unsafe sqlite3_extended_errcode(target)) }
    syncedPages = 0
    // Nothing is copied yet; it tells how many pages there are.
    _ = try copy(0)
  }

  /// Copies a little; true when the end copies the rest.
  package func step() throws(VaultFailure) -> Bool {
    if allPages &- donePages <= Int(Self.stepPages) { return true }
    // The file has become shorter than what was copied: what is written from now on would not be
    // repeated.
    if try copy(Self.stepPages) {
      try begin()
      return false
    }
    if donePages &- syncedPages >= Self.syncPages || allPages &- donePages <= Int(Self.stepPages) {
      try core?.mainFile.sync()
      syncedPages = donePages
    }
    return false
  }

  /// How many bytes are copied, and of how many.
  package var progress: (done: UInt64, total: UInt64) {
    let page = UInt64(FileFormat.pageBytes)
    return (UInt64(clamping: donePages) &* page, UInt64(clamping: allPages) &* page)
  }

  /// True when SQLite repeats no more writes, since all is copied.
  private func copy(_ count: Int32) throws(VaultFailure) -> Bool {
    guard let backup = unsafe backup else { throw .io(SQLITE_ABORT) }
    let result = unsafe sqlite3_backup_step(backup, count)
    guard result == SQLITE_OK || result == SQLITE_DONE else { throw Self.failure(result) }
    allPages = Int(unsafe sqlite3_backup_pagecount(backup))
    donePages = allPages &- Int(unsafe sqlite3_backup_remaining(backup))
    return result == SQLITE_DONE
  }

  /// Puts the new file in the place of the old one. Nobody is at the file but the writer, and
  /// `close` closes that. After a throw the file is as it was, without a connection.
  package func finish(_ close: () -> Void) throws(VaultFailure) -> Outcome {
    guard let core, let original else { throw .io(SQLITE_ABORT) }
    let path = vault.filePath
    do throws(VaultFailure) {
      guard try copy(-1) else { throw .io(SQLITE_ERROR) }
      let writer = unsafe source
      closeConnections()
      // Closing does this as well, and says nothing where it fails, as on a full disk.
      let result = unsafe sqlite3_wal_checkpoint_v2(
        writer, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
      let isDone = [SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED].contains(result & 0xFF)
      if !isDone { throw Self.failure(result) }
      try core.mainFile.sync()
      close()
      // The log is written back, and gone: the new file must not find one.
      guard original.openFiles.load(ordering: .acquiring) == 0, try isLogGone(),
        let header = original.copies.current
      else { throw .io(SQLITE_IOERR) }
      let next = try header.rotated(to: core.fileId, from: original.keys, to: core.keys)
      let hidden = vault.isFile ? 0 : FileFormat.magic.count
      for copy in next.copies(core.keys) {
        try core.mainFile.write(Array(copy.bytes[hidden...]), at: copy.place + Int64(hidden))
      }
      try core.mainFile.sync()
      if let session = vault.session {
        if let failure = try HeaderFile.finish(core.mainFile) { return unknown(failure) }
        session.file = session.other
        return replaced(original, core, next)
      }
      if core.mainFile.hasMoved || original.mainFile.hasMoved { throw .io(SQLITE_IOERR) }
      switch unsafe tideline_exchange_files(name, path) {
      case 0, 1: break
      case -1: throw .io(SQLITE_IOERR)
      case -2: throw .full
      default: return unknown(.io(SQLITE_IOERR))
      }
      return replaced(original, core, next)
    } catch {
      end()
      throw error
    }
  }

  /// SQLite removes it, and says neither where that fails nor that it is durable.
  private func isLogGone() throws(VaultFailure) -> Bool {
    guard let session = vault.session else {
      return try FileStatus(path: vault.logPath) == .missing
    }
    var size: Int64 = 0
    let result = session.size(.log, &size)
    if result != SQLITE_OK { throw Self.failure(result) }
    guard size == 0 else { return false }
    try unsafe HeaderFile.remove(vault.base, vault.logPath)
    return true
  }

  /// Which file has the name is found at the next opening; until then nothing is committed.
  private func unknown(_ failure: VaultFailure) -> Outcome {
    letGo()
    vault.close()
    return .unknown(failure)
  }

  private func replaced(
    _ original: VaultCore, _ core: VaultCore, _ header: FileHeader
  ) -> Outcome {
    letGo()
    var failure: VaultFailure?
    do throws(VaultFailure) {
      try original.copies.wipe()
      try unsafe HeaderFile.remove(vault.base, name)
    } catch {
      failure = error
    }
    do throws(VaultFailure) {
      let file = try unsafe BaseFile(vault.base, vault.filePath, create: false)
      try file.claim()
      let next = unsafe VaultCore(
        base: vault.base, opened: HeaderFile.Opened(header: header, keys: core.keys),
        mainFile: file, hold: core.hold)
      next.marks.activate()
      vault.replace(with: next)
    } catch {
      vault.close()
      return .unknown(error)
    }
    return .replaced(failure)
  }

  /// Ends it: a new file that is not whole is removed.
  package func end() {
    closeConnections()
    guard let core else { return }
    letGo()
    if core.mainFile.hasMoved { return }
    do throws(VaultFailure) {
      if vault.isFile {
        try unsafe HeaderFile.remove(vault.base, name)
      } else {
        try unsafe HeaderFile.removeOther(vault.base, name)
      }
    } catch {
      // The next opening removes it.
    }
  }

  private func letGo() {
    Registry.remove(number)
    core = nil
    original = nil
  }

  private func closeConnections() {
    unsafe sqlite3_backup_finish(backup)
    unsafe sqlite3_close_v2(target)
    unsafe backup = nil
    unsafe target = nil
    unsafe source = nil
  }

  private static func failure(_ code: Int32) -> VaultFailure {
    Vault.failure(fromSQLite: code) ?? .io(code)
  }
}

extension Vault {
  /// Says why the file could not get a new data key, where something is in the way.
  package func checkRotation() throws(VaultFailure) {
    guard let core, let header = core.copies.current else { throw .io(SQLITE_MISUSE) }
    guard try header.isRotatable(core.keys) else { throw .oldSlot }
    // On a storage the other main object is the library's own.
    if isFile { try HeaderFile.mayReplace(HeaderFile.unfinishedName(filePath), of: header.other) }
  }

  /// Begins to give the file a new data key.
  package func rotation(from writer: OpaquePointer) throws(VaultFailure) -> VaultRotation {
    try unsafe VaultRotation(of: self, from: writer)
  }
}

// MARK: - What a crash leaves

extension HeaderFile {
  /// Whether what begins so is what is left of the file `id` under the other name, or was never
  /// finished.
  private static func isRemains(_ start: [UInt8], of id: [UInt8]) -> Bool {
    let first = start.prefix(32)
    if first.allSatisfy({ $0 == 0 }) { return true }
    return id.contains { $0 != 0 } && first.dropFirst(16).elementsEqual(id)
  }

  /// A file of its own, which only has that name, is not to be emptied.
  static func mayReplace(_ name: String, of id: [UInt8]) throws(VaultFailure) {
    guard let identity = try FileStatus(path: name).identity else { return }
    let start = try start(of: identity, name)
    guard isRemains(start, of: id) || !start.starts(with: FileFormat.magic) else { throw .exists }
  }

  /// Removes what a rotation has left that a crash has ended: the new file, or the old one, whose
  /// key slots are overwritten before; also what a healing has left, and its log.
  static func removeRemains(
    _ base: SQLiteVFS, of id: [UInt8], under name: String
  ) throws(VaultFailure) {
    guard let identity = try FileStatus(path: name).identity,
      isRemains(try start(of: identity, name), of: id)
    else { return }
    let (file, hold) = try unsafe claimed(base, name)
    // All but what says which file it was.
    let kept = FileHeader.slotsOffset
    let zeros = [UInt8](repeating: 0, count: FileFormat.copyBytes - kept)
    for place in places { try file.write(zeros, at: place + Int64(kept)) }
    try file.sync()
    // The log first: where it is left, so is what leads here.
    try unsafe remove(base, name + "-wal")
    try unsafe remove(base, name)
    withExtendedLifetime(hold) {}
  }

  /// Whoever could read the one can read the other.
  static func copyMode(of path: String, to name: String) throws(VaultFailure) {
    var status = Glibc.stat()
    guard unsafe stat(path, &status) == 0, unsafe chmod(name, status.st_mode & 0o777) == 0 else {
      throw .io(SQLITE_CANTOPEN)
    }
  }
}
