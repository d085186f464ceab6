/// What the main file and the log have in common: memory, locks, shared memory, controls.
///
/// The state of a file is plain memory that SQLite owns; nothing is counted or
/// allocated while pages go through.
internal import CSQLite
internal import CSodium
internal import Support
internal import Synchronization

/// Bytes of the one block that a file works in: unit, associated data, frame header.
private let unitRoom = 4160
private let boundRoom = 64
private let pendingRoom = 32
private let blockBytes = unitRoom + boundRoom + pendingRoom

extension UnsafeMutablePointer where Pointee == tideline_file {
  /// Gives the file its vault and its memory. False when there is none.
  func attach(_ core: VaultCore) -> Bool {
    guard let block = unsafe sqlite3_malloc(Int32(blockBytes)) else { return false }
    let bytes = unsafe block.bindMemory(to: UInt8.self, capacity: blockBytes)
    unsafe pointee.unit = bytes
    unsafe pointee.bound = bytes + unitRoom
    unsafe pointee.pending = bytes + unitRoom + boundRoom
    unsafe pointee.page_key = core.keys.page
    unsafe pointee.log_key = core.keys.log
    unsafe pointee.flags = Int32(bitPattern: core.flags)
    unsafe pointee.scrubs = core.isCopy ? 1 : 0
    unsafe pointee.vault = Unmanaged.passRetained(core).toOpaque()
    unsafe UnitCipher.bind(pointee.bound, fileId: core.fileId)
    return true
  }

  /// Lets go of both. The memory may hold a page's text, so it is wiped.
  func detach() {
    if let batch = unsafe pointee.batch {
      unsafe sodium_memzero(batch, FileFormat.batchBytes)
      unsafe sqlite3_free(batch)
      unsafe pointee.batch = nil
    }
    if let block = unsafe pointee.unit {
      unsafe sodium_memzero(block, blockBytes)
      unsafe sqlite3_free(block)
      unsafe pointee.unit = nil
    }
    if let vault = unsafe pointee.vault {
      unsafe pointee.vault = nil
      unsafe Unmanaged<VaultCore>.fromOpaque(vault).release()
    }
  }

  /// True while the writer copies pages from the log to the main file: they pass through
  /// SQLite's buffer as they are sealed, and it looks at none of them.
  @inline(__always)
  var isCopying: Bool {
    guard unsafe pointee.writer != 0 else { return false }
    return unsafe withVault { core in core.copying.load(ordering: .relaxed) } ?? false
  }

  /// True while the writer writes over all of the file.
  var isReplacing: Bool {
    guard unsafe pointee.writer != 0 else { return false }
    return unsafe withVault { core in core.replacing.load(ordering: .relaxed) } ?? false
  }

  /// Calls `body` with the file's vault.
  @inline(__always)
  func withVault<Result>(_ body: (VaultCore) -> Result) -> Result? {
    guard let vault = unsafe pointee.vault else { return nil }
    return unsafe Unmanaged<VaultCore>.fromOpaque(vault)._withUnsafeGuaranteedRef(body)
  }
}

/// The file behind SQLite's pointer.
@inline(__always)
func vaultFile(_ file: SQLiteFile?) -> VaultFile? {
  unsafe UnsafeMutableRawPointer(file)?.assumingMemoryBound(to: tideline_file.self)
}

/// The file underneath.
@inline(__always)
func baseFile(_ file: SQLiteFile?) -> SQLiteFile? {
  unsafe vaultFile(file)?.pointee.base
}

/// The methods that pass through, or are the same for both kinds of file.
enum CommonMethods {
  static func table() -> UnsafeMutablePointer<sqlite3_io_methods> {
    let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    unsafe table.initialize(to: sqlite3_io_methods())
    // Version 2 has no xFetch, so SQLite never maps ciphertext into memory.
    unsafe table.pointee.iVersion = 2
    unsafe table.pointee.xLock = { file, level in
      unsafe baseFile(file)?.lock(level) ?? SQLITE_IOERR
    }
    unsafe table.pointee.xUnlock = { file, level in
      unsafe baseFile(file)?.unlock(level) ?? SQLITE_IOERR
    }
    unsafe table.pointee.xCheckReservedLock = { file, out in
      guard let base = unsafe baseFile(file),
        let call = unsafe base.pointee.pMethods?.pointee.xCheckReservedLock
      else { return SQLITE_IOERR }
      return unsafe call(base, out)
    }
    unsafe table.pointee.xFileControl = fileControl
    unsafe table.pointee.xSectorSize = { file in
      guard let base = unsafe baseFile(file),
        let call = unsafe base.pointee.pMethods?.pointee.xSectorSize
      else { return Int32(FileFormat.pageBytes) }
      return unsafe call(base)
    }
    unsafe table.pointee.xDeviceCharacteristics = deviceCharacteristics
    unsafe table.pointee.xShmMap = { file, region, size, extend, out in
      guard let base = unsafe baseFile(file), let methods = unsafe base.pointee.pMethods,
        unsafe methods.pointee.iVersion >= 2, let call = unsafe methods.pointee.xShmMap
      else { return SQLITE_IOERR }
      return unsafe call(base, region, size, extend, out)
    }
    unsafe table.pointee.xShmLock = { file, offset, count, flags in
      guard let base = unsafe baseFile(file), let methods = unsafe base.pointee.pMethods,
        unsafe methods.pointee.iVersion >= 2, let call = unsafe methods.pointee.xShmLock
      else { return SQLITE_IOERR }
      return unsafe call(base, offset, count, flags)
    }
    unsafe table.pointee.xShmBarrier = { file in
      guard let base = unsafe baseFile(file),
        let call = unsafe base.pointee.pMethods?.pointee.xShmBarrier
      else { return }
      unsafe call(base)
    }
    unsafe table.pointee.xShmUnmap = { file, remove in
      guard let base = unsafe baseFile(file),
        let call = unsafe base.pointee.pMethods?.pointee.xShmUnmap
      else { return SQLITE_OK }
      return unsafe call(base, remove)
    }
    return unsafe table
  }

  /// Overwriting one unit never harms its neighbours: without this SQLite would
  /// split frames at sectors. Nothing else that a device may promise holds for
  /// units, which are larger than what SQLite thinks it writes.
  private static let deviceCharacteristics: @convention(c) (SQLiteFile?) -> Int32 = { file in
    let kept = SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN | SQLITE_IOCAP_IMMUTABLE
    var device: Int32 = 0
    if let base = unsafe baseFile(file),
      let call = unsafe base.pointee.pMethods?.pointee.xDeviceCharacteristics
    {
      device = unsafe call(base)
    }
    return device & kept | SQLITE_IOCAP_POWERSAFE_OVERWRITE
  }
}

/// Null I/O, a control newer than the headers this is built with.
private let controlNullIO: Int32 = 43

private func fileControl(
  _ file: SQLiteFile?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
  switch operation {
  case SQLITE_FCNTL_SIZE_HINT, SQLITE_FCNTL_CHUNK_SIZE:
    // The file would grow by bytes that no key has sealed.
    return SQLITE_OK
  case SQLITE_FCNTL_MMAP_SIZE:
    unsafe argument?.assumingMemoryBound(to: Int64.self).pointee = 0
    return SQLITE_OK
  case SQLITE_FCNTL_POWERSAFE_OVERWRITE:
    unsafe argument?.assumingMemoryBound(to: Int32.self).pointee = 1
    return SQLITE_OK
  case SQLITE_FCNTL_BEGIN_ATOMIC_WRITE, SQLITE_FCNTL_COMMIT_ATOMIC_WRITE,
    SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE, controlNullIO:
    return SQLITE_NOTFOUND
  case SQLITE_FCNTL_CKPT_START, SQLITE_FCNTL_CKPT_DONE:
    if let own = unsafe vaultFile(file), unsafe own.pointee.writer != 0 {
      let begins = operation == SQLITE_FCNTL_CKPT_START
      _ = unsafe own.withVault { core in
        core.copying.store(begins, ordering: .relaxed)
        if begins { core.marks.copyingBegins() }
      }
    }
    return unsafe baseFile(file)?.control(operation, argument) ?? SQLITE_NOTFOUND
  case SQLITE_FCNTL_PRAGMA:
    if unsafe vaultFile(file)?.withVault(\.isCopy) ?? false { return SQLITE_NOTFOUND }
    return unsafe pragma(argument)
  default:
    return unsafe baseFile(file)?.control(operation, argument) ?? SQLITE_NOTFOUND
  }
}

/// Keeps a file in the one form that was proven: log mode, pages of 4096 bytes.
private func pragma(_ argument: UnsafeMutableRawPointer?) -> Int32 {
  guard
    let texts = unsafe argument?.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self),
    let name = unsafe texts[1], let value = unsafe texts[2]
  else { return SQLITE_NOTFOUND }
  if unsafe sqlite3_stricmp(name, "page_size") == 0 { return SQLITE_OK }
  if unsafe sqlite3_stricmp(name, "journal_mode") == 0,
    unsafe sqlite3_stricmp(value, "wal") != 0
  {
    return SQLITE_ERROR
  }
  return SQLITE_NOTFOUND
}
