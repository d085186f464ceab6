/// One encrypted file: open, locked, and reachable through SQLite only.
///
/// A vault knows nothing of what its pages say. It decides who may open the file
/// and what reaches the disk: ciphertext, in units that cannot be changed,
/// moved or taken from another file without being noticed.
internal import Base
internal import CSQLite
internal import CSodium
internal import Glibc
internal import Support
internal import Synchronization

// The path is constant, the rest is behind the lock.
@safe package final class Vault: @unchecked Sendable {
  /// Pages in the log at which a commit writes them back into the file.
  package static var logPages: Int { ConnectionOpener.checkpointPages }

  // The writer is only passed on, to one taker.
  @safe private struct Contents: @unchecked Sendable {
    var core: VaultCore?
    var number: UInt64 = 0
    /// The writer, opened with the vault and waiting to be asked for.
    var writer: OpaquePointer?
    /// What is to be put right once the file is accepted.
    var repair: Repair?
  }

  private let path: String
  let base: SQLiteVFS
  let vfsName: String
  private let contents: Lock<Contents>
  /// Kept for after the end, when the files are closed.
  private let rejected: UInt32
  /// Commits that were on disk are missing: the log is, or its end.
  package let isLogLost: Bool
  /// There was no file before.
  package let isMade: Bool
  /// The opening of a name on a storage of the host's.
  let session: StorageSession?
  /// Where the next record of own work goes.
  let own = Lock(OwnFile())

  private init(
    path: String, base: SQLiteVFS, vfsName: String, number: UInt64, writer: OpaquePointer,
    repair: Repair, isMade: Bool
  ) {
    let core = repair.core
    self.path = path
    self.isMade = isMade
    if case .name(let claim) = core.hold { session = claim.session } else { session = nil }
    unsafe self.base = base
    self.vfsName = vfsName
    rejected = core.rejected.load(ordering: .acquiring)
    isLogLost = core.marks.isLost
    unsafe contents = Lock(
      Contents(core: core, number: number, writer: writer, repair: repair))
  }

  deinit {
    close()
  }

  /// Opens the file and its log, and makes it where that is allowed. A failure
  /// has changed nothing in a file that was there.
  package static func open(_ config: VaultConfig) throws(VaultFailure) -> Vault {
    guard sodiumIsReady, sqlite3_initialize() == SQLITE_OK else { throw .io(SQLITE_ERROR) }
    guard config.key.count > 0 else { throw .io(SQLITE_NOMEM) }
    let isRaw = config.key.kind == .raw
    guard !isRaw || config.key.count == FileFormat.keyBytes else { throw .wrongKey }
    let found = try config.storage == nil ? Opening.file(config) : Opening.name(config)
    let (repair, core) = (found.repair, found.repair.core)
    let number = Registry.add(core)
    do throws(VaultFailure) {
      let connection = ConnectionOpener(
        path: repair.path, vfsName: found.vfsName, number: number)
      let writer = unsafe try connection.openWriter { (writer) throws(VaultFailure) in
        let frames = unsafe ConnectionOpener.logFrames(writer)
        try core.judgeLog(frames, refusesLoss: config.refusesLoss)
        if config.strict && core.rejected.load(ordering: .acquiring) > 0 { throw .damaged }
      }
      let vault = unsafe Vault(
        path: repair.path, base: core.base, vfsName: found.vfsName, number: number,
        writer: writer, repair: repair, isMade: found.isMade)
      if !config.isTentative { vault.accept() }
      return vault
    } catch {
      Registry.remove(number)
      unsafe repair.undo(core.base)
      throw error
    }
  }

  /// Keeps what was opened, and puts right what the opening found: from now on the file is
  /// written to. What cannot be put right now, as on a full disk, waits for the next opening.
  package func accept() {
    let repair = contents.withLock { state in
      defer { state.repair = nil }
      return state.repair
    }
    core?.marks.activate()
    if let repair { unsafe repair.run(base) }
  }

  /// Ends a vault that was not accepted, its connections being closed: the file and what lies
  /// beside it are as they were.
  package func refuse() {
    let (repair, writer) = unsafe contents.withLock { state in
      let old = unsafe (state.repair, state.writer)
      state.repair = nil
      unsafe state.writer = nil
      return unsafe old
    }
    if let writer = unsafe writer { unsafe ConnectionOpener.discard(writer) }
    close()
    if let repair { unsafe repair.undo(base) }
  }

  /// A descriptor that can be read once somebody has let go of the file; the caller closes it. Nil
  /// where the system has none left.
  package static func watch(_ path: String) throws(VaultFailure) -> Int32? {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .io(SQLITE_CANTOPEN) }
    let descriptor = unsafe tideline_watch_file(path)
    if descriptor == -2 { throw .notFound }
    if descriptor == -3 { throw .io(SQLITE_CANTOPEN) }
    return descriptor < 0 ? nil : descriptor
  }

  /// A new `sqlite3 *` of the file. The caller closes it with `sqlite3_close`.
  /// There is one writer at a time: a second one is `locked`.
  package func connect(_ role: ConnectionRole) throws(VaultFailure) -> OpaquePointer {
    let (number, ready) = unsafe try contents.withLock { state throws(VaultFailure) in
      guard let core = state.core else { throw .io(SQLITE_MISUSE) }
      guard role == .writer else { return unsafe (state.number, OpaquePointer?.none) }
      let ready = unsafe state.writer
      unsafe state.writer = nil
      let isOpen = core.writerOpen.load(ordering: .acquiring)
      guard unsafe ready != nil || !isOpen else { throw .locked }
      return unsafe (state.number, ready)
    }
    if let ready = unsafe ready { return unsafe ready }
    let connection = ConnectionOpener(path: path, vfsName: vfsName, number: number)
    switch role {
    case .writer: return try unsafe connection.openWriter { (_) throws(VaultFailure) in }
    case .reader: return try unsafe connection.openReader()
    }
  }

  /// Opens the writer, for `connect` to give it, unless `accept` refuses what was found.
  func openWriter(
    _ accept: (OpaquePointer) throws(VaultFailure) -> Void
  ) throws(VaultFailure) {
    let number = contents.withLock { $0.number }
    let connection = ConnectionOpener(path: path, vfsName: vfsName, number: number)
    let writer = unsafe try connection.openWriter(accept)
    contents.withLock { unsafe $0.writer = writer }
  }

  /// A reader that keeps one state of the file, for a copy.
  func connectSource() throws(VaultFailure) -> OpaquePointer {
    let number = try contents.withLock { state throws(VaultFailure) in
      guard state.core != nil else { throw .io(SQLITE_MISUSE) }
      return state.number
    }
    return try unsafe ConnectionOpener(path: path, vfsName: vfsName, number: number).openSource()
  }

  /// Where copies are made, and the name under which they are opened there: a name on a storage of
  /// the host's is copied into a file.
  func fileVFS() throws(VaultFailure) -> (base: SQLiteVFS, vfsName: String) {
    guard session != nil else { return unsafe (base, vfsName) }
    let name = VaultConfig.systemVFS
    guard let base = unsafe sqlite3_vfs_find(name) else { throw .io(SQLITE_ERROR) }
    return unsafe (base, try SealedVFS.register(over: base, named: name))
  }

  /// It is a file, not a name on a storage of the host's.
  package var isFile: Bool { session == nil }
  var filePath: String { path }
  var logPath: String { path + "-wal" }
  var core: VaultCore? { contents.withLock { $0.core } }

  /// Another file has taken the place of this one, under its name.
  func replace(with core: VaultCore) {
    let number = contents.withLock { state in
      defer {
        state.core = core
        state.number = Registry.add(core)
      }
      return state.number
    }
    Registry.remove(number)
  }

  /// What opens the same file again once it was let go of; nil after the end.
  package var kept: KeptFile? {
    guard let core else { return nil }
    return KeptFile(path: session == nil ? path : nil, fileId: core.fileId, keys: core.keys)
  }

  static var sodiumIsReady: Bool { sodium_init() >= 0 }

  /// Returns when everything committed so far survives a power cut. May be called
  /// beside the writer; many commits share one sync. After a sync has failed no
  /// later one is believed, because the system may have dropped what it could
  /// not write: the vault has to be opened again.
  package func syncLog() throws(VaultFailure) {
    guard let core else { throw .io(SQLITE_MISUSE) }
    let result = core.syncLog()
    if result != SQLITE_OK { throw Vault.failure(fromSQLite: result) ?? .io(result) }
  }

  /// All that was committed is known to be on disk.
  package var isAllSynced: Bool { core?.isAllSynced ?? false }

  /// Tells contents of this file apart (SipHash-2-4 under a key of the file): who does not have
  /// the key can make no two that are taken for one. 0 after the end.
  package func digest(_ bytes: UnsafeRawBufferPointer) -> Int64 {
    guard let core else { return 0 }
    var digest: UInt64 = 0
    unsafe withUnsafeMutableBytes(of: &digest) { out in
      guard let out = out.baseAddress else { return }
      unsafe crypto_shorthash(
        out.assumingMemoryBound(to: UInt8.self),
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count),
        core.keys.content)
    }
    return Int64(bitPattern: UInt64(littleEndian: digest))
  }

  /// Frames of the log that were lost when it was opened: broken ones, and those
  /// behind them.
  package var rejectedFrames: UInt32 { rejected }

  /// Bytes of the file, its log and what is kept twice on disk.
  package var fileBytes: UInt64 {
    session?.bytes ?? [path, logPath, ownPath].reduce(0) { $0 &+ FileStatus.bytes(of: $1) }
  }

  /// Why the storage is not to be used any more: another holder has the name, or a sync failed.
  /// Nil on a file.
  package var givenUp: VaultFailure? { session?.failure }

  /// Ends the vault. Its lock is given back and its keys are wiped as soon as
  /// the last connection is closed as well.
  package func close() {
    let (core, number, writer) = unsafe contents.withLock { state in
      let old = unsafe (state.core, state.number, state.writer)
      unsafe state = Contents(core: nil, number: 0, writer: nil, repair: nil)
      return unsafe old
    }
    unsafe sqlite3_close_v2(writer)
    own.withLock { $0 = OwnFile() }
    if core != nil { Registry.remove(number) }
  }

  /// Makes the file unreadable for every key, then removes it and its log. Every
  /// connection has to be closed before: otherwise it is `locked`.
  package func destroy() throws(VaultFailure) {
    let (core, writer) = unsafe contents.withLock { state in
      let old = unsafe (state.core, state.writer)
      unsafe state.writer = nil
      return unsafe old
    }
    guard let core else { throw .io(SQLITE_MISUSE) }
    unsafe sqlite3_close_v2(writer)
    guard core.openFiles.load(ordering: .acquiring) == 0 else { throw .locked }
    // An old one that could not be wiped would be the file again.
    if !isFile { try unsafe HeaderFile.removeOther(base, HeaderFile.unfinishedName(path)) }
    try core.copies.wipe()
    try removeOwn()
    try unsafe HeaderFile.remove(base, path + "-wal")
    try unsafe HeaderFile.remove(base, path)
    close()
  }

  /// What a result of SQLite means for the file, or nil where it says nothing of it.
  package static func failure(fromSQLite code: Int32) -> VaultFailure? {
    if code == Code.badData { return .damaged }
    if code == Code.lost { return .locked }
    switch code & 0xFF {
    case SQLITE_AUTH: return .wrongKey
    case SQLITE_NOTADB: return .notOurs
    case SQLITE_CORRUPT: return .damaged
    case SQLITE_FULL: return .full
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: return .locked
    case SQLITE_CANTOPEN: return tideline_has_descriptor() == 0 ? .noDescriptor : .io(code)
    case SQLITE_IOERR, SQLITE_READONLY, SQLITE_PERM, SQLITE_NOMEM: return .io(code)
    default: return nil
    }
  }
}
