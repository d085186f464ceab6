/// A new file with the keys of another one: what can be read of that is written into it.
///
/// Rule protected: as for a copy, the name that was asked for never leads to less than all of it,
/// and never to a file that was there. It is made as `NAME-new`, without a header until the end.
internal import Base
internal import CSQLite
internal import Synchronization

// The connection is its taker's; the rest is constant or used by one thread at a time.
@safe package final class FreshFile: @unchecked Sendable {
  private let base: SQLiteVFS
  private let path: String
  private let name: String
  private let original: VaultCore
  private let core: VaultCore
  private let number: UInt64
  private var writer: OpaquePointer?
  private var isThere = true

  /// Begins a file that gets the name `path` when it is finished.
  init(
    like original: VaultCore, base: SQLiteVFS, vfsName: String, path: String
  ) throws(VaultFailure) {
    guard let header = original.copies.current else { throw .io(SQLITE_MISUSE) }
    unsafe self.base = base
    self.original = original
    self.path = path
    name = HeaderFile.unfinishedName(path)
    let (file, hold) = try unsafe HeaderFile.claimed(base, name)
    core = unsafe VaultCore(
      base: base,
      opened: HeaderFile.Opened(header: header, keys: original.keys),
      mainFile: file, hold: hold)
    number = Registry.add(core)
    do throws(VaultFailure) {
      try file.truncate()
      try HeaderFile.makePrivate(name)
      // A log that lies there is of a file that is gone.
      try unsafe HeaderFile.remove(base, name + "-wal")
      let first = FirstPage.sealed(
        flags: header.flags, fileId: header.fileId, keys: original.keys)
      try file.write(first, at: Int64(FileFormat.pagesOffset))
      let opener = ConnectionOpener(path: name, vfsName: vfsName, number: number)
      unsafe writer = try opener.openWriter { (_) throws(VaultFailure) in }
    } catch {
      end()
      throw error
    }
  }

  deinit { end() }

  /// The one connection that writes it. Its taker closes it before the end.
  package func connect() throws(VaultFailure) -> OpaquePointer {
    guard let taken = unsafe writer else { throw .locked }
    unsafe writer = nil
    return unsafe taken
  }

  /// What was written gets its name: a file of its own, which its first opening takes for a copy.
  package func finish() throws(VaultFailure) {
    guard let header = original.copies.current else { throw .io(SQLITE_MISUSE) }
    guard try FileStatus(path: name + "-wal") == .missing else { throw .io(SQLITE_IOERR) }
    let copy = header.ofCopy(core.keys)
    for copy in copy.copies(core.keys) { try core.mainFile.write(copy.bytes, at: copy.place) }
    try core.mainFile.sync()
    if core.mainFile.hasMoved { throw .io(SQLITE_IOERR) }
    try VaultCopy.mustBeFree(path)
    guard try HeaderFile.publish(name, as: path) else { throw .exists }
    isThere = false
    do throws(VaultFailure) { try unsafe HeaderFile.remove(base, name) } catch {
      // It is whole and has its name; the next opening takes the other one away.
    }
    end()
  }

  /// Ends it; what has no name yet is removed.
  package func end() {
    unsafe sqlite3_close_v2(writer)
    unsafe writer = nil
    if isThere {
      isThere = false
      do throws(VaultFailure) {
        // The log first: an opening looks for it where it finds the other.
        try unsafe HeaderFile.remove(base, name + "-wal")
        if !core.mainFile.hasMoved { try unsafe HeaderFile.remove(base, name) }
      } catch {
        // The next file that is made under that name makes it anew.
      }
    }
    Registry.remove(number)
  }
}

extension Vault {
  /// The pages of the file, each by itself.
  package func pages() throws(VaultFailure) -> PageReader {
    guard let core else { throw .io(SQLITE_MISUSE) }
    return try PageReader(core, logPath: logPath)
  }

  /// A new file beside this one, into which it is read; nil on a storage of the host's.
  package func fresh() throws(VaultFailure) -> FreshFile? {
    guard let core, session == nil else { return nil }
    return try unsafe FreshFile(like: core, base: base, vfsName: vfsName, path: filePath)
  }

  /// Writes what `source` has over all that the file has, in one transaction of its writer. What a
  /// page was before does not matter, so one that does not open is no failure meanwhile.
  package func replaceAll(
    of writer: OpaquePointer, with source: OpaquePointer
  ) throws(VaultFailure) {
    guard let core else { throw .io(SQLITE_MISUSE) }
    core.replacing.store(true, ordering: .relaxed)
    defer { core.replacing.store(false, ordering: .relaxed) }
    // It takes nothing back in part, so its pages may leave the memory before its end.
    unsafe sqlite3_exec(writer, "PRAGMA cache_spill=ON", nil, nil, nil)
    defer { unsafe sqlite3_exec(writer, "PRAGMA cache_spill=OFF", nil, nil, nil) }
    guard let backup = unsafe sqlite3_backup_init(writer, "main", source, "main") else {
      let code = unsafe sqlite3_extended_errcode(writer)
      throw Vault.failure(fromSQLite: code) ?? .io(code)
    }
    let step = unsafe sqlite3_backup_step(backup, -1)
    let end = unsafe sqlite3_backup_finish(backup)
    guard step == SQLITE_DONE, end == SQLITE_OK else {
      let code = step == SQLITE_DONE ? end : step
      throw Vault.failure(fromSQLite: code) ?? .io(code)
    }
  }
}

/// A file that is read page by page and nothing else: its tables may be of no use.
package final class BrokenFile {
  private let core: VaultCore
  private let path: String
  /// Under which new files are made.
  private let baseVFS: String

  /// Claims it by its key, like any opening. Nothing is changed.
  package init(_ config: VaultConfig) throws(VaultFailure) {
    guard Vault.sodiumIsReady, sqlite3_initialize() == SQLITE_OK else { throw .io(SQLITE_ERROR) }
    var config = config
    config.readsOnly = true
    let found = try config.storage == nil ? Opening.file(config) : Opening.name(config)
    core = found.repair.core
    path = found.repair.path
    baseVFS = config.storage == nil ? config.baseVFS : VaultConfig.systemVFS
  }

  /// At least one of them has to be there, in the file or in its log.
  package func pages() throws(VaultFailure) -> PageReader {
    let pages = try PageReader(core, logPath: path + "-wal", readsOnly: true)
    if pages.count > 0, !core.hasSpareHeader { return pages }
    // That header may be the one of another file.
    for page in 1...max(1, pages.count) {
      do throws(VaultFailure) { if try pages.page(page) != nil { return pages } } catch {
        // The disk cannot read it.
      }
    }
    throw .damaged
  }

  /// Reads what lies beside it, see `Vault.readOwn`.
  package func readOwn(_ take: ([UInt8]) -> Void) throws(VaultFailure) -> OwnFound {
    try OwnReader.read(beside: core, path + OwnFile.suffix, nil, take).found
  }

  /// Begins a new file with its keys.
  package func fresh(at target: String) throws(VaultFailure) -> FreshFile {
    guard let base = unsafe sqlite3_vfs_find(baseVFS) else { throw .io(SQLITE_ERROR) }
    let vfsName = try unsafe SealedVFS.register(over: base, named: baseVFS)
    let target = try unsafe Opening.fullPath(base, target)
    try VaultCopy.mustBeFree(target)
    return try unsafe FreshFile(like: core, base: base, vfsName: vfsName, path: target)
  }
}
