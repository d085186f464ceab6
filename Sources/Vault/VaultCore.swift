/// What all open files of one vault share.
///
/// It lives as long as the vault or any of its files: the last one to go closes
/// the file underneath, which gives the lock back, and wipes the keys.
internal import Base
internal import CSQLite
internal import Synchronization

/// Which file it is, whatever path leads to it.
struct FileIdentity: Equatable, Sendable {
  var device: UInt64
  var inode: UInt64
}

/// What keeps others out of the file, or off the name.
enum FileHold: Sendable {
  case file(FileClaim, FileLock)
  case name(StorageClaim)
}

// The base VFS is never unregistered and everything else is constant or guarded.
@safe final class VaultCore: @unchecked Sendable {
  let base: SQLiteVFS
  let keys: KeyMemory
  let fileId: [UInt8]
  let flags: UInt32
  let hasSpareHeader: Bool
  let mainFile: BaseFile
  let copies: HeaderCopies
  let marks: LogMarks
  let hold: FileHold

  /// Frames written to the log, and how many of them are known to be on disk.
  let written = Atomic<UInt64>(0)
  let synced = Atomic<UInt64>(0)
  /// What an earlier process left in the log may not be on disk, and only a sync of
  /// this one can tell.
  private let isInherited = Atomic<Bool>(true)
  /// A sync of the log failed: what it held may be gone, and no later sync can tell.
  let logBroken = Atomic<Bool>(false)
  let rejected = Atomic<UInt32>(0)
  /// The writer is copying pages from the log to the main file.
  let copying = Atomic<Bool>(false)
  /// All of the file is being written over, so a page that does not open reads as an empty one.
  let replacing = Atomic<Bool>(false)
  /// It is a copy under way, which is written without a log: until it is whole nobody sees it.
  let isCopy: Bool
  let openFiles = Atomic<Int>(0)
  let writerOpen = Atomic<Bool>(false)
  /// The writer's log, for syncing it beside the writer.
  let log = unsafe Lock<SQLiteFile?>(nil)

  init(
    base: SQLiteVFS, opened: HeaderFile.Opened, mainFile: BaseFile, hold: FileHold,
    isCopy: Bool = false
  ) {
    unsafe self.base = base
    keys = opened.keys
    fileId = opened.header.fileId
    flags = opened.header.flags
    hasSpareHeader = opened.isSpare
    self.mainFile = mainFile
    copies = HeaderCopies(mainFile, opened.header, stale: opened.broken)
    let isFile = if case .file = hold { true } else { false }
    marks = LogMarks(copies, opened, countsFrames: isFile)
    self.hold = hold
    self.isCopy = isCopy
  }

  /// Compares what was found of the log with what the file says of it.
  func judgeLog(_ frames: UInt64, refusesLoss: Bool) throws(VaultFailure) {
    if frames == 0 { readLogHeader() }
    switch marks.judge(frames) {
    case .whole:
      // SQLite begins a log only once the main file has all of the one before, and is synced.
      if frames == 0 { isInherited.store(false, ordering: .releasing) }
    case .damaged: throw .damaged
    case .lost:
      if refusesLoss { throw .lost }
      // A log that is not there at all has no frames to count.
      rejected.max(1, ordering: .acquiringAndReleasing)
    }
  }

  /// SQLite does not read the header of a log that has no frames.
  private func readLogHeader() {
    var header = [UInt8](repeating: 0, count: FileFormat.logHeaderUnitBytes)
    var bound = [UInt8](repeating: 0, count: FileFormat.boundBytes)
    let result = unsafe log.withLock { file -> Int32 in
      unsafe header.withUnsafeMutableBytes { room in
        guard let file = unsafe file, let room = room.baseAddress else { return Code.readFailed }
        return unsafe file.read(room, Int32(FileFormat.logHeaderUnitBytes), at: 0)
      }
    }
    guard result == SQLITE_OK else { return }
    let generation = unsafe bound.withUnsafeMutableBufferPointer { bound -> UInt64? in
      guard let bound = bound.baseAddress else { return nil }
      unsafe UnitCipher.bind(bound, fileId: fileId)
      return unsafe openHeader(&header, bound: bound, key: keys.log)
    }
    if let generation { marks.found(generation) }
  }

  /// Brings every frame written so far to disk. Cheap when all of them are.
  func syncLog() -> Int32 {
    let target = written.load(ordering: .acquiring)
    if logBroken.load(ordering: .acquiring) { return Code.syncFailed }
    if isSynced(target) { return SQLITE_OK }
    return unsafe log.withLock { file -> Int32 in
      if isSynced(target) { return SQLITE_OK }
      guard let file = unsafe file else { return target == 0 ? SQLITE_OK : Code.syncFailed }
      return unsafe syncLogFile(file, SQLITE_SYNC_NORMAL)
    }
  }

  /// Every frame written so far is known to be on disk.
  var isAllSynced: Bool {
    !logBroken.load(ordering: .acquiring) && isSynced(written.load(ordering: .acquiring))
  }

  private func isSynced(_ target: UInt64) -> Bool {
    !isInherited.load(ordering: .acquiring) && synced.load(ordering: .acquiring) >= target
  }

  /// Syncs the log and remembers how far it is on disk. After one has failed none does.
  func syncLogFile(_ file: SQLiteFile, _ flags: Int32) -> Int32 {
    if logBroken.load(ordering: .acquiring) { return Code.syncFailed }
    let target = written.load(ordering: .acquiring)
    let reached = marks.reached
    let result = unsafe file.sync(flags)
    if result == SQLITE_OK {
      marks.synced(reached)
      synced.max(target, ordering: .acquiringAndReleasing)
      isInherited.store(false, ordering: .releasing)
    } else {
      logBroken.store(true, ordering: .releasing)
    }
    return result
  }
}
