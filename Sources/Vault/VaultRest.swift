/// A vault that rests: no file is open but for its lock, so nobody else can open the file.
///
/// Rule protected: a vault rests only once the main file has all of the log and is synced. What
/// lies under the name when the files are opened again is judged as at an opening: a file that is
/// not open can be removed, replaced or written over.
internal import CSQLite
internal import Synchronization

extension Vault {
  /// Copies all of the log into the main file and syncs it. False where a reader is in the way.
  package func writeBack(_ writer: OpaquePointer) throws(VaultFailure) -> Bool {
    try syncLog()
    var (logged, copied) = (Int32(0), Int32(0))
    let result = unsafe sqlite3_wal_checkpoint_v2(
      writer, "main", SQLITE_CHECKPOINT_FULL, &logged, &copied)
    switch result & 0xFF {
    case SQLITE_OK: return logged == copied
    case SQLITE_BUSY, SQLITE_LOCKED: return false
    default: throw Self.failure(fromSQLite: result) ?? .io(result)
    }
  }

  /// Gives every descriptor back but that of the lock. All was written back, and no connection is
  /// open.
  package func rest() {
    restOwn()
    core?.rest()
  }

  /// Opens the files again, for `connect` to give the writer. After a failure it rests on.
  package func wake() throws(VaultFailure) {
    guard let core else { throw .io(SQLITE_MISUSE) }
    do throws(VaultFailure) {
      try core.wake(filePath)
      try unsafe openWriter { (writer) throws(VaultFailure) in
        let frames = unsafe ConnectionOpener.logFrames(writer)
        try core.judgeLog(frames, refusesLoss: false)
      }
    } catch {
      core.rest()
      throw error
    }
    reopenOwn()
  }
}

extension VaultCore {
  fileprivate func rest() {
    marks.rest()
    // They count from the opening of the log, whatever is found beside the file then.
    written.store(0, ordering: .releasing)
    synced.store(0, ordering: .releasing)
    mainFile.rest()
  }

  fileprivate func wake(_ path: String) throws(VaultFailure) {
    // Looked at before as well: closing another file of this process would end its POSIX locks.
    try checkName(path)
    try unsafe mainFile.reopen(base)
    try checkName(path)
    if mainFile.hasMoved { throw .moved }
    // It may have been written over where it lies.
    var isThere = false
    for place in HeaderFile.places {
      let header = FileHeader(try mainFile.read(FileFormat.copyBytes, at: place)[...])
      if let header, header.isSound, header.fileId == fileId { isThere = true }
    }
    guard isThere else { throw .moved }
    try mainFile.claim()
  }

  /// Whether the path leads to the file that is locked.
  func has(_ path: String) throws(VaultFailure) -> Bool {
    guard case .file(let claim, _) = hold else { return true }
    return try FileStatus(path: path).identity == claim.identity
  }

  /// The path leads to the file that is locked, and to no other one.
  private func checkName(_ path: String) throws(VaultFailure) {
    guard case .file(let claim, _) = hold else { return }
    guard case .file(claim.identity, _, names: 1) = try FileStatus(path: path) else {
      throw .moved
    }
  }
}
