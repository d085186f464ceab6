/// A VFS for tests that lies under the vault's: it counts, records and fails on demand.
///
/// With it a test sees every byte that goes to disk, takes the picture that a
/// kill or a power cut would leave at any point, and refuses any single write.
import Base
import CSQLite
import Glibc

/// What a file is to SQLite.
package enum FaultFileKind: Sendable {
  case main
  case log
  case other
}

/// One thing that was done to a file.
package struct DiskEvent: Sendable {
  package enum Change: Sendable {
    case write(offset: Int64, bytes: [UInt8])
    case truncate(size: Int64)
    case sync
    case delete
  }

  package var path: String
  package let kind: FaultFileKind
  package let change: Change
  /// That of the file as it was opened, or as it is removed.
  package var inode: UInt64 = 0
}

/// How a write goes wrong.
package enum WriteFault: Sendable {
  /// Nothing is written; the result code is given back.
  case fail(Int32)
  /// The first bytes are written, then the result code is given back.
  case short(bytes: Int, Int32)
}

/// The VFS. Each one is registered once and never freed, so reuse it with `reset`.
package final class FaultVFS: @unchecked Sendable {
  package struct Counts: Sendable, Equatable {
    package var reads = 0
    package var writes = 0
    /// Bytes of those that were let through whole.
    package var bytesWritten = 0
    package var syncs = 0
    package var truncates = 0
    package var deletes = 0
  }

  fileprivate struct Plan {
    var counts = Counts()
    var recording = false
    var events: [DiskEvent] = []
    var failWriteAt: Int?
    var failWriteCount = 0
    var fault = WriteFault.fail(SQLITE_IOERR | (3 << 8))
    var failSyncs = false
    var failFolderSyncs = false
    var failReadAt: Int?
    var readFault: Int32 = 0
    var isFull = false
    var dieAt: Int?
    var dieAfterBytes = 0
    var isDead = false
    var onEvent: ((DiskEvent) -> Void)?
  }

  /// To be given as the base of a vault.
  package let name: String
  fileprivate let base: UnsafeMutablePointer<sqlite3_vfs>
  fileprivate let plan = Lock(Plan())
  private static let made = Lock(0)

  package init(over baseName: String = "unix-excl") {
    sqlite3_initialize()
    let number = Self.made.withLock {
      $0 += 1
      return $0
    }
    name = "fault-\(number)"
    base = sqlite3_vfs_find(baseName)!
    register()
  }

  /// Everything as in a new one; what is counted starts at zero.
  package func reset() {
    plan.withLock { $0 = Plan() }
  }

  package var counts: Counts { plan.withLock { $0.counts } }

  /// Keeps every event with its bytes from now on.
  package func record() {
    plan.withLock {
      $0.recording = true
      $0.events = []
    }
  }

  /// The events since `record`.
  package var events: [DiskEvent] { plan.withLock { $0.events } }

  /// Called before an event is done, with no lock held.
  package func onEvent(_ call: (@Sendable (DiskEvent) -> Void)?) {
    plan.withLock { $0.onEvent = call }
  }

  /// The `n`-th write from now (1 is the next) fails, and `count - 1` after it.
  package func failWrite(_ n: Int, count: Int = 1, _ fault: WriteFault) {
    plan.withLock {
      $0.failWriteAt = $0.counts.writes + n
      $0.failWriteCount = count
      $0.fault = fault
    }
  }

  /// The `n`-th read from now (1 is the next) fails once, with the code that SQLite's own VFS
  /// gives for what a disk cannot read (`EIO`), or with another one.
  package func failRead(_ n: Int, _ code: Int32 = SQLITE_IOERR | (33 << 8)) {
    plan.withLock {
      $0.failReadAt = $0.counts.reads + n
      $0.readFault = code
    }
  }

  /// Nothing can be written: each write fails as on a full disk, or works again.
  package func fillDisk(_ isFull: Bool = true) {
    plan.withLock { $0.isFull = isFull }
  }

  /// The code that the next read gives, or nil where it is to be done.
  fileprivate func judgeRead() -> Int32? {
    plan.withLock { plan in
      plan.counts.reads += 1
      return plan.counts.reads == plan.failReadAt ? plan.readFault : nil
    }
  }

  /// Syncs fail, or work again.
  package func failSyncs(_ fail: Bool) {
    plan.withLock { $0.failSyncs = fail }
  }

  /// A name that is taken away is gone from the folder, which cannot be synced.
  package func failFolderSyncs(_ fail: Bool) {
    plan.withLock { $0.failFolderSyncs = fail }
  }

  /// At the `n`-th write from now the process dies: of that write only the first
  /// `bytes` arrive, and everything after it fails and changes nothing. Close
  /// what is open, call `revive`, and the files are what a kill had left.
  package func die(atWrite n: Int, afterBytes bytes: Int = 0) {
    plan.withLock {
      $0.dieAt = $0.counts.writes + n
      $0.dieAfterBytes = bytes
    }
  }

  package var isDead: Bool { plan.withLock { $0.isDead } }

  package func revive() {
    plan.withLock {
      $0.isDead = false
      $0.dieAt = nil
    }
  }

  // MARK: - What an operation is to do

  fileprivate enum Verdict {
    case pass
    case give(Int32)
    case short(Int, Int32)
  }

  private static let dead = SQLITE_IOERR | (3 << 8)

  fileprivate func judge(_ event: DiskEvent) -> Verdict {
    let call = plan.withLock { $0.isDead ? nil : $0.onEvent }
    call?(event)
    return plan.withLock { plan in
      if plan.isDead { return .give(Self.dead) }
      let verdict = Self.decide(&plan, event)
      if plan.recording { Self.note(&plan, event, verdict) }
      return verdict
    }
  }

  private static func decide(_ plan: inout Plan, _ event: DiskEvent) -> Verdict {
    switch event.change {
    case .write(_, let bytes):
      plan.counts.writes += 1
      if plan.counts.writes == plan.dieAt {
        plan.isDead = true
        return .short(plan.dieAfterBytes, dead)
      }
      if plan.isFull { return .give(SQLITE_FULL) }
      if let first = plan.failWriteAt, plan.counts.writes >= first,
        plan.counts.writes < first + plan.failWriteCount
      {
        switch plan.fault {
        case .fail(let code): return .give(code)
        case .short(let bytes, let code): return .short(bytes, code)
        }
      }
      plan.counts.bytesWritten += bytes.count
    case .sync:
      plan.counts.syncs += 1
      if plan.failSyncs { return .give(SQLITE_IOERR | (4 << 8)) }
    case .truncate: plan.counts.truncates += 1
    case .delete: plan.counts.deletes += 1
    }
    return .pass
  }

  private static func note(_ plan: inout Plan, _ event: DiskEvent, _ verdict: Verdict) {
    switch (verdict, event.change) {
    case (.pass, _): plan.events.append(event)
    case (.short(let count, _), .write(let offset, let bytes)):
      let part = DiskEvent.Change.write(offset: offset, bytes: Array(bytes.prefix(count)))
      plan.events.append(DiskEvent(path: event.path, kind: event.kind, change: part))
    default: break
    }
  }
}

// MARK: - As SQLite sees it

private struct FaultFile {
  var head: sqlite3_file
  var base: UnsafeMutablePointer<sqlite3_file>
  var state: UnsafeMutableRawPointer
}

private final class FileState {
  let vfs: FaultVFS
  let path: String
  let kind: FaultFileKind
  let inode: UInt64

  init(_ vfs: FaultVFS, _ path: String, _ kind: FaultFileKind) {
    self.vfs = vfs
    self.path = path
    self.kind = kind
    inode = TestSupport.inode(of: path) ?? 0
  }
}

private func own(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<FaultFile> {
  UnsafeMutableRawPointer(file!).assumingMemoryBound(to: FaultFile.self)
}

private func base(
  _ file: UnsafeMutablePointer<sqlite3_file>?
) -> UnsafeMutablePointer<sqlite3_file> {
  own(file).pointee.base
}

private func methods(_ file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods {
  own(file).pointee.base.pointee.pMethods.pointee
}

private func judge(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ change: DiskEvent.Change
) -> FaultVFS.Verdict {
  let state = Unmanaged<FileState>.fromOpaque(own(file).pointee.state).takeUnretainedValue()
  return state.vfs.judge(
    DiskEvent(path: state.path, kind: state.kind, change: change, inode: state.inode))
}

private func owner(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> FaultVFS {
  Unmanaged<FaultVFS>.fromOpaque(vfs!.pointee.pAppData).takeUnretainedValue()
}

// Made once, never changed, never freed.
nonisolated(unsafe) private let table: UnsafeMutablePointer<sqlite3_io_methods> = {
  let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
  table.initialize(to: sqlite3_io_methods())
  table.pointee.iVersion = 2
  table.pointee.xClose = { file in
    let result = methods(file).xClose(base(file))
    Unmanaged<FileState>.fromOpaque(own(file).pointee.state).release()
    base(file).deallocate()
    return result
  }
  table.pointee.xRead = { file, out, count, offset in
    let state = Unmanaged<FileState>.fromOpaque(own(file).pointee.state).takeUnretainedValue()
    if let code = state.vfs.judgeRead() { return code }
    return methods(file).xRead(base(file), out, count, offset)
  }
  table.pointee.xWrite = { file, from, count, offset in
    let bytes = Array(UnsafeRawBufferPointer(start: from, count: Int(count)))
    switch judge(file, .write(offset: offset, bytes: bytes)) {
    case .pass: return methods(file).xWrite(base(file), from, count, offset)
    case .give(let code): return code
    case .short(let part, let code):
      let usable = min(Int(count), part)
      if usable > 0 { _ = methods(file).xWrite(base(file), from, Int32(usable), offset) }
      return code
    }
  }
  table.pointee.xTruncate = { file, size in
    guard case .pass = judge(file, .truncate(size: size)) else { return SQLITE_IOERR | (6 << 8) }
    return methods(file).xTruncate(base(file), size)
  }
  table.pointee.xSync = { file, flags in
    if case .give(let code) = judge(file, .sync) { return code }
    return methods(file).xSync(base(file), flags)
  }
  table.pointee.xFileSize = { methods($0).xFileSize(base($0), $1) }
  table.pointee.xLock = { methods($0).xLock(base($0), $1) }
  table.pointee.xUnlock = { methods($0).xUnlock(base($0), $1) }
  table.pointee.xCheckReservedLock = { methods($0).xCheckReservedLock(base($0), $1) }
  table.pointee.xFileControl = { methods($0).xFileControl(base($0), $1, $2) }
  table.pointee.xSectorSize = { methods($0).xSectorSize(base($0)) }
  table.pointee.xDeviceCharacteristics = { methods($0).xDeviceCharacteristics(base($0)) }
  table.pointee.xShmMap = { methods($0).xShmMap(base($0), $1, $2, $3, $4) }
  table.pointee.xShmLock = { methods($0).xShmLock(base($0), $1, $2, $3) }
  table.pointee.xShmBarrier = { methods($0).xShmBarrier(base($0)) }
  table.pointee.xShmUnmap = { methods($0).xShmUnmap(base($0), $1) }
  return table
}()

extension FaultVFS {
  fileprivate func register() {
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: base.pointee)
    vfs.pointee.iVersion = 2
    vfs.pointee.pNext = nil
    vfs.pointee.szOsFile = Int32(MemoryLayout<FaultFile>.stride)
    vfs.pointee.zName = UnsafePointer(strdup(name))
    vfs.pointee.pAppData = Unmanaged.passRetained(self).toOpaque()
    vfs.pointee.xOpen = { vfs, name, file, flags, outFlags in
      let vfs = owner(vfs)
      let under = UnsafeMutableRawPointer.allocate(
        byteCount: Int(vfs.base.pointee.szOsFile), alignment: 16
      ).assumingMemoryBound(to: sqlite3_file.self)
      under.pointee.pMethods = nil
      file?.pointee.pMethods = nil
      let result = vfs.base.pointee.xOpen(vfs.base, name, under, flags, outFlags)
      guard result == SQLITE_OK else {
        under.deallocate()
        return result
      }
      let kind: FaultFileKind =
        flags & SQLITE_OPEN_MAIN_DB != 0
        ? .main : flags & SQLITE_OPEN_WAL != 0 ? .log : .other
      let state = FileState(vfs, name.map { String(cString: $0) } ?? "", kind)
      own(file).initialize(
        to: FaultFile(
          head: sqlite3_file(pMethods: UnsafePointer(table)), base: under,
          state: Unmanaged.passRetained(state).toOpaque()))
      return SQLITE_OK
    }
    vfs.pointee.xDelete = { vfs, name, sync in
      let vfs = owner(vfs)
      let path = name.map { String(cString: $0) } ?? ""
      let event = DiskEvent(
        path: path, kind: .other, change: .delete, inode: inode(of: path) ?? 0)
      guard case .pass = vfs.judge(event) else { return SQLITE_IOERR | (10 << 8) }
      let result = vfs.base.pointee.xDelete(vfs.base, name, sync)
      let fails = sync != 0 && vfs.plan.withLock { $0.failFolderSyncs }
      return result == SQLITE_OK && fails ? SQLITE_IOERR | (5 << 8) : result
    }
    vfs.pointee.xAccess = { owner($0).base.pointee.xAccess(owner($0).base, $1, $2, $3) }
    vfs.pointee.xFullPathname = {
      owner($0).base.pointee.xFullPathname(owner($0).base, $1, $2, $3)
    }
    sqlite3_vfs_register(vfs, 0)
  }
}
