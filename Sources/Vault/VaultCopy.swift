/// A copy of an open file, made in slices beside those who write.
///
/// Rule protected: the name that was asked for never leads to less than a whole copy, and never to
/// a file that was there. The copy is as the file was when it began: a reader keeps its
/// transaction, so the log grows until the end. It is sealed anew by the same keys for the same
/// file, and the header is the file's as of the end: a key that was removed meanwhile does not open
/// it.
internal import Base
internal import CSQLite
internal import Glibc

// All that changes is behind the lock.
@safe package final class VaultCopy: @unchecked Sendable {
  /// Pages of a step: some milliseconds.
  private static let stepPages: Int32 = 64
  /// Pages after which the file is synced, so that the last sync is not one of all.
  private static let syncPages = 4096

  private enum Stage {
    case pages, header
    /// The header of that number is written and synced.
    case name(UInt32)
    case done
    case failed(VaultFailure)
  }

  // The connections are used under the lock only.
  @safe private struct State: @unchecked Sendable {
    var stage = Stage.pages
    var source: OpaquePointer?
    var target: OpaquePointer?
    var backup: OpaquePointer?
    /// The file that is copied and the one that is made; nil once they are let go.
    var original: VaultCore?
    var core: VaultCore?
    var number: UInt64 = 0
    var syncedPages = 0
    var donePages = 0
    var allPages = 0
  }

  private let base: SQLiteVFS
  private let path: String
  private let state = Lock(State())

  /// Begins a copy of what `vault` has now.
  init(of vault: Vault, to path: String) throws(VaultFailure) {
    guard let original = vault.core, let header = original.copies.current else {
      throw .io(SQLITE_MISUSE)
    }
    let place = try unsafe vault.fileVFS()
    unsafe base = place.base
    self.path = try unsafe Opening.fullPath(place.base, path)
    try Self.mustBeFree(self.path)
    let name = HeaderFile.unfinishedName(self.path)
    let (file, hold) = try unsafe HeaderFile.claimed(place.base, name)
    let core = unsafe VaultCore(
      base: place.base,
      opened: HeaderFile.Opened(header: header, keys: original.keys),
      mainFile: file, hold: hold, isCopy: true)
    try state.withLock { (state) throws(VaultFailure) in
      state.original = original
      state.core = core
      state.number = Registry.add(core)
      do throws(VaultFailure) {
        try file.truncate()
        try HeaderFile.makePrivate(name)
        unsafe state.source = try vault.connectSource()
        let opener = ConnectionOpener(
          path: name, vfsName: unsafe place.vfsName, number: state.number)
        unsafe state.target = try opener.openTarget()
        unsafe state.backup = sqlite3_backup_init(state.target, "main", state.source, "main")
        if unsafe state.backup == nil {
          throw Self.failure(unsafe sqlite3_extended_errcode(state.target))
        }
        // Nothing is copied yet; it tells how many pages there are.
        _ = try copyPages(0, &state)
      } catch {
        end(&state)
        throw error
      }
    }
  }

  deinit {
    end()
  }

  /// Does as little as can be done at once; true when the copy is whole and has its name. After a
  /// failure nothing of it is left, and each later step fails likewise.
  package func step() throws(VaultFailure) -> Bool {
    try state.withLock { (state) throws(VaultFailure) in
      do throws(VaultFailure) {
        switch state.stage {
        case .pages:
          if try copyPages(Self.stepPages, &state) { state.stage = .header }
        case .header:
          state.stage = .name(try writeHeader(state))
        case .name(let number):
          guard state.original?.copies.current?.sequence == number else {
            // A key was added or removed since.
            state.stage = .header
            return false
          }
          // Somebody took its name away: what is there now is not ours.
          if state.core?.mainFile.hasMoved ?? true { throw .io(SQLITE_IOERR) }
          try publish()
          state.stage = .done
          end(&state)
        case .done: break
        case .failed(let failure): throw failure
        }
      } catch {
        state.stage = .failed(error)
        end(&state)
        throw error
      }
      if case .done = state.stage { return true }
      return false
    }
  }

  /// How many bytes are copied, and of how many.
  package var progress: (done: UInt64, total: UInt64, isDone: Bool) {
    state.withLock { state in
      let page = UInt64(FileFormat.pageBytes)
      let isDone = if case .done = state.stage { true } else { false }
      return (
        UInt64(clamping: state.donePages) &* page, UInt64(clamping: state.allPages) &* page, isDone
      )
    }
  }

  /// It has come to an end of either kind: it has no connection.
  package var isOver: Bool { state.withLock { $0.core == nil } }

  /// Ends it: one that is not whole is removed.
  package func end() { state.withLock { end(&$0) } }

  // MARK: Stages

  /// True when all are copied.
  private func copyPages(_ count: Int32, _ state: inout State) throws(VaultFailure) -> Bool {
    guard let backup = unsafe state.backup, let core = state.core else { throw .io(SQLITE_MISUSE) }
    let result = unsafe sqlite3_backup_step(backup, count)
    guard result == SQLITE_OK || result == SQLITE_DONE else { throw Self.failure(result) }
    state.allPages = Int(unsafe sqlite3_backup_pagecount(backup))
    state.donePages = state.allPages &- Int(unsafe sqlite3_backup_remaining(backup))
    if result == SQLITE_DONE {
      closeConnections(&state)
      return true
    }
    if state.donePages &- state.syncedPages >= Self.syncPages {
      try core.mainFile.sync()
      state.syncedPages = state.donePages
    }
    return false
  }

  private func writeHeader(_ state: State) throws(VaultFailure) -> UInt32 {
    guard let core = state.core, let header = state.original?.copies.current else {
      throw .io(SQLITE_MISUSE)
    }
    let copy = header.ofCopy(core.keys)
    for copy in copy.copies(core.keys) { try core.mainFile.write(copy.bytes, at: copy.place) }
    try core.mainFile.sync()
    return header.sequence
  }

  private func publish() throws(VaultFailure) {
    try Self.mustBeFree(path)
    let name = HeaderFile.unfinishedName(path)
    guard try HeaderFile.publish(name, as: path) else { throw .exists }
    do throws(VaultFailure) {
      // This syncs the folder, too.
      try unsafe HeaderFile.remove(base, name)
    } catch {
      // A loss of power may take its name away: it is not done, and nobody has seen it yet.
      _ = unsafe unlink(path)
      throw error
    }
  }

  /// What lies there would be taken for the log of the copy, or its own work: an earlier file of
  /// the same keys may have left it.
  static func mustBeFree(_ path: String) throws(VaultFailure) {
    for end in ["", "-wal", OwnFile.suffix] {
      guard try FileStatus(path: path + end) == .missing else { throw .exists }
    }
  }

  // MARK: End

  private func end(_ state: inout State) {
    closeConnections(&state)
    guard state.core != nil else { return }
    switch state.stage {
    case .done: break
    case .failed: removeUnfinished(state)
    case .pages, .header, .name:
      state.stage = .failed(.io(SQLITE_ABORT))
      removeUnfinished(state)
    }
    Registry.remove(state.number)
    state.core = nil
    state.original = nil
  }

  private func removeUnfinished(_ state: State) {
    if state.core?.mainFile.hasMoved ?? true { return }
    do throws(VaultFailure) {
      try unsafe HeaderFile.remove(base, HeaderFile.unfinishedName(path))
    } catch {
      // The next copy to this name makes it anew.
    }
  }

  private func closeConnections(_ state: inout State) {
    unsafe sqlite3_backup_finish(state.backup)
    unsafe sqlite3_close_v2(state.target)
    unsafe sqlite3_close_v2(state.source)
    unsafe state.backup = nil
    unsafe state.target = nil
    unsafe state.source = nil
  }

  private static func failure(_ code: Int32) -> VaultFailure {
    Vault.failure(fromSQLite: code) ?? .io(code)
  }
}

extension Vault {
  /// Begins a copy of the file as it is now, in a new file. It has to end before the vault does.
  package func copy(to path: String) throws(VaultFailure) -> VaultCopy {
    try VaultCopy(of: self, to: path)
  }

  /// Whether the file is a copy that no client has opened yet.
  package var isCopied: Bool {
    guard let header = core?.copies.current else { return false }
    return header.flags & HeaderFlag.copied != 0
  }

  /// From now on the file is an original, and what its client sends is sent by nobody else.
  package func endCopied() throws(VaultFailure) {
    guard let core else { throw .io(SQLITE_MISUSE) }
    try core.copies.change { (header) throws(VaultFailure) in
      try header.ofOriginal(core.keys)
    }
  }
}
