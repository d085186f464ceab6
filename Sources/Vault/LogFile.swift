/// The log: a sealed header, then frames, each of them one unit with its page.
///
/// A frame's header carries a checksum over the page's text, so it is sealed
/// together with the page and written with it. During recovery a frame that
/// does not open ends the log, as a bad checksum would: a torn tail is no error.
/// It is counted, because damage looks the same.
///
/// The frames of a commit are gathered, and sealed and written in one step when the
/// last of them comes: each call of the system costs as much as sealing a page.
/// SQLite looks at none of them before, and where it does they are written first.
internal import Base
internal import CSQLite
internal import CSodium
internal import Support
internal import Synchronization

enum LogMethods {
  // Made once, never changed, never freed.
  nonisolated(unsafe) static let table: UnsafeMutablePointer<sqlite3_io_methods> = {
    let table = unsafe CommonMethods.table()
    unsafe table.pointee.xClose = closeLog
    unsafe table.pointee.xRead = readLog
    unsafe table.pointee.xWrite = writeLog
    unsafe table.pointee.xTruncate = truncateLog
    unsafe table.pointee.xSync = syncLog
    unsafe table.pointee.xFileSize = sizeOfLog
    return unsafe table
  }()
}

private let frameBytes = Int64(FileFormat.frameBytes)
private let frameHeaderBytes = Int64(FileFormat.frameHeaderBytes)
private let logHeaderBytes = Int64(FileFormat.logHeaderBytes)
private let pageBytes = Int64(FileFormat.pageBytes)

/// Where frame `number`, counted from 1, lies.
@inline(__always)
private func place(ofFrame number: Int64) -> Int64 {
  Int64(FileFormat.logHeaderUnitBytes) &+ (number &- 1) &* frameBytes
}

private func closeLog(_ file: SQLiteFile?) -> Int32 {
  guard let own = unsafe vaultFile(file) else { return SQLITE_OK }
  let writer = unsafe own.pointee.writer != 0
  _ = unsafe own.withVault { core in
    guard writer else { return }
    // What was committed and not yet brought to the main file stays durable.
    _ = core.syncLog()
    unsafe core.log.withLock { unsafe $0 = nil }
  }
  let result = unsafe own.pointee.base?.end() ?? SQLITE_OK
  _ = unsafe own.withVault { core in
    core.openFiles.subtract(1, ordering: .acquiringAndReleasing)
  }
  unsafe own.detach()
  return result
}

/// The log as SQLite sees it is shorter: its header needs 40 bytes more than it holds.
private func sizeOfLog(_ file: SQLiteFile?, _ out: UnsafeMutablePointer<Int64>?) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base,
    let out = unsafe out
  else { return SQLITE_IOERR }
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  var size: Int64 = 0
  let result = unsafe base.size(&size)
  let hasHeader = size >= Int64(FileFormat.logHeaderUnitBytes)
  unsafe out.pointee = hasHeader ? size &- Int64(FileFormat.reserveBytes) : 0
  return result
}

private func truncateLog(_ file: SQLiteFile?, _ size: Int64) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base, size >= 0 else {
    return Code.truncateFailed
  }
  unsafe own.forgetHalves()
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  return unsafe base.truncate(size == 0 ? 0 : size &+ Int64(FileFormat.reserveBytes))
}

private func syncLog(_ file: SQLiteFile?, _ flags: Int32) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base else {
    return Code.syncFailed
  }
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  return unsafe own.withVault { core in unsafe core.syncLogFile(base, flags) }
    ?? Code.syncFailed
}

// MARK: - Reading

private func readLog(
  _ file: SQLiteFile?, _ out: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
) -> Int32 {
  guard let own = unsafe vaultFile(file), let out = unsafe out, count > 0, offset >= 0,
    let unit = unsafe own.pointee.unit
  else { return Code.readFailed }
  let size = Int64(count)
  unsafe own.forgetHalves()
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  if offset < logHeaderBytes {
    guard offset &+ size <= logHeaderBytes else { return Code.readFailed }
    return unsafe own.readHeader(into: out, Int(count), from: Int(offset))
  }
  let number = (offset &- logHeaderBytes) / frameBytes &+ 1
  let within = (offset &- logHeaderBytes) % frameBytes
  guard within &+ size <= frameBytes else { return Code.readFailed }
  let isWhole = size == frameBytes
  let result = unsafe own.readFrame(number)
  guard result == SQLITE_OK else {
    unsafe out.initializeMemory(as: UInt8.self, repeating: 0, count: Int(count))
    if isWhole && result == Code.badData { return unsafe own.rejectFrames(from: number) }
    return result
  }
  if isWhole { unsafe own.pointee.whole_frame = number }
  unsafe out.copyMemory(from: unit + Int(within), byteCount: Int(count))
  return SQLITE_OK
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  /// Forgets what was said about a frame, unless the next call follows at once.
  @inline(__always)
  fileprivate func forgetHalves() {
    unsafe pointee.pending_frame = 0
    unsafe pointee.whole_frame = 0
  }

  /// Reads and opens a frame into the file's unit: header, page, empty tail.
  @inline(__always)
  fileprivate func readFrame(_ number: Int64) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.key
    else { return Code.readFailed }
    let result = unsafe base.read(
      unit, Int32(FileFormat.frameBytes), at: place(ofFrame: number))
    guard result == SQLITE_OK else { return result }
    unsafe Sealing.bind(bound, .frame, number)
    guard
      unsafe Sealing.open(unit, FileFormat.frameTextBytes, into: unit, bound: bound, key: key)
    else { return Code.badData }
    unsafe (unit + FileFormat.frameTextBytes).update(
      repeating: 0, count: FileFormat.reserveBytes)
    return SQLITE_OK
  }

  /// Reads a part of the log's header. One that does not open reads as zeros,
  /// which SQLite takes for an empty log.
  fileprivate func readHeader(
    into out: UnsafeMutableRawPointer, _ count: Int, from offset: Int
  ) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.key
    else { return Code.readFailed }
    let result = unsafe base.read(unit, Int32(FileFormat.logHeaderUnitBytes), at: 0)
    unsafe Sealing.bind(bound, .logHeader, 0)
    guard result == SQLITE_OK,
      unsafe Sealing.open(unit, FileFormat.logHeaderBytes, into: unit, bound: bound, key: key)
    else {
      unsafe out.initializeMemory(as: UInt8.self, repeating: 0, count: count)
      if result != SQLITE_OK { return result }
      if count < FileFormat.logHeaderBytes { return Code.badData }
      return unsafe rejectFrames(from: 0)
    }
    unsafe out.copyMemory(from: unit + offset, byteCount: count)
    return SQLITE_OK
  }

  /// Ends the log before `number` (0: before its header) and counts what is lost
  /// with it. A frame that this vault wrote itself must open: that is an error.
  fileprivate func rejectFrames(from number: Int64) -> Int32 {
    let lost = number == 0 ? 1 : unsafe countLost(from: number)
    return unsafe withVault { core in
      if core.written.load(ordering: .acquiring) > 0 { return Code.badData }
      core.rejected.add(lost, ordering: .acquiringAndReleasing)
      return SQLITE_OK
    } ?? Code.readFailed
  }

  /// How many frames from `number` on are broken, or whole and of this log: the
  /// rest was left there by an earlier log and is no loss.
  private func countLost(from number: Int64) -> UInt32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit else { return 1 }
    var size: Int64 = 0
    guard unsafe base.size(&size) == SQLITE_OK else { return 1 }
    var header = [UInt8](repeating: 0, count: FileFormat.logHeaderBytes)
    guard unsafe readHeader(into: &header, header.count, from: 0) == SQLITE_OK else { return 1 }
    var lost: UInt32 = 0
    var next = number
    while place(ofFrame: next &+ 1) <= size {
      let result = unsafe readFrame(next)
      let isOfThisLog = (0..<8).allSatisfy { unsafe unit[8 &+ $0] == header[16 &+ $0] }
      if result == Code.badData || result == SQLITE_OK && isOfThisLog { lost &+= 1 }
      next &+= 1
    }
    return max(1, lost)
  }
}

// MARK: - Writing

private func writeLog(
  _ file: SQLiteFile?, _ from: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
) -> Int32 {
  guard let own = unsafe vaultFile(file), let from = unsafe from, count > 0, offset >= 0 else {
    return Code.writeFailed
  }
  let bytes = unsafe from.assumingMemoryBound(to: UInt8.self)
  let size = Int64(count)
  if offset == 0 && size == logHeaderBytes { return unsafe own.writeHeader(bytes) }
  guard offset >= logHeaderBytes else { return Code.writeFailed }
  let number = (offset &- logHeaderBytes) / frameBytes &+ 1
  let within = (offset &- logHeaderBytes) % frameBytes
  if within == 0 && size == frameHeaderBytes {
    return unsafe own.writeFrameHeader(number, bytes)
  }
  guard within == frameHeaderBytes && size == pageBytes, unsafe hasEmptyTail(bytes) else {
    unsafe own.forgetHalves()
    return Code.writeFailed
  }
  return unsafe own.writeFramePage(number, bytes)
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  fileprivate func writeHeader(_ bytes: UnsafePointer<UInt8>) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.key
    else { return Code.writeFailed }
    unsafe forgetHalves()
    // The log begins anew, so what was gathered is of a transaction that was taken back.
    unsafe pointee.batch_count = 0
    unsafe Sealing.bind(bound, .logHeader, 0)
    unsafe Sealing.seal(bytes, FileFormat.logHeaderBytes, into: unit, bound: bound, key: key)
    return unsafe base.write(unit, Int32(FileFormat.logHeaderUnitBytes), at: 0)
  }

  /// A frame's header waits for its page. Only where the frame was just read
  /// whole does SQLite mean to replace the header of a frame that is there.
  @inline(__always)
  fileprivate func writeFrameHeader(_ number: Int64, _ bytes: UnsafePointer<UInt8>) -> Int32 {
    guard let unit = unsafe pointee.unit, let pending = unsafe pointee.pending else {
      return Code.writeFailed
    }
    let replaces = unsafe pointee.whole_frame == number
    unsafe forgetHalves()
    guard replaces else {
      unsafe pending.update(from: bytes, count: FileFormat.frameHeaderBytes)
      unsafe pointee.pending_frame = number
      return SQLITE_OK
    }
    let flushed = unsafe writeBatch()
    if flushed != SQLITE_OK { return flushed }
    let result = unsafe readFrame(number)
    if result != SQLITE_OK { return result }
    unsafe unit.update(from: bytes, count: FileFormat.frameHeaderBytes)
    return unsafe sealFrame(number)
  }

  /// A page completes the frame whose header waits, or replaces the page of a
  /// frame that was written before in the same transaction.
  @inline(__always)
  fileprivate func writeFramePage(_ number: Int64, _ page: UnsafePointer<UInt8>) -> Int32 {
    guard let unit = unsafe pointee.unit, let pending = unsafe pointee.pending else {
      return Code.writeFailed
    }
    let completes = unsafe pointee.pending_frame == number
    unsafe forgetHalves()
    if completes { return unsafe gather(number, pending, page) }
    let flushed = unsafe writeBatch()
    if flushed != SQLITE_OK { return flushed }
    let result = unsafe readFrame(number)
    if result != SQLITE_OK { return result }
    unsafe (unit + FileFormat.frameHeaderBytes).update(
      from: page, count: FileFormat.pageTextBytes)
    return unsafe sealFrame(number)
  }

  /// Puts a whole frame to those that wait, and writes them where it ends a commit.
  @inline(__always)
  private func gather(
    _ number: Int64, _ header: UnsafePointer<UInt8>, _ page: UnsafePointer<UInt8>
  ) -> Int32 {
    if unsafe pointee.batch_first &+ pointee.batch_count != number {
      let result = unsafe writeBatch()
      if result != SQLITE_OK { return result }
    }
    if unsafe pointee.batch == nil {
      guard let room = unsafe sqlite3_malloc(Int32(FileFormat.batchBytes)) else {
        return SQLITE_NOMEM
      }
      unsafe pointee.batch = room.bindMemory(to: UInt8.self, capacity: FileFormat.batchBytes)
    }
    guard let batch = unsafe pointee.batch else { return SQLITE_NOMEM }
    let count = unsafe pointee.batch_count
    if count == 0 { unsafe pointee.batch_first = number }
    let unit = unsafe batch + Int(count &* frameBytes)
    unsafe unit.update(from: header, count: FileFormat.frameHeaderBytes)
    unsafe (unit + FileFormat.frameHeaderBytes).update(
      from: page, count: FileFormat.pageTextBytes)
    unsafe pointee.batch_count = count &+ 1
    // The size of the database stands in the last frame of a commit and in no other.
    let size = unsafe UnsafeRawPointer(header).loadUnaligned(fromByteOffset: 4, as: UInt32.self)
    guard size != 0 || count &+ 1 == FileFormat.batchFrames else { return SQLITE_OK }
    return unsafe writeBatch()
  }

  /// Seals the frames that wait and writes them. They are gone also where that fails:
  /// their transaction fails with it.
  fileprivate func writeBatch() -> Int32 {
    let count = unsafe pointee.batch_count
    guard count > 0 else { return SQLITE_OK }
    unsafe pointee.batch_count = 0
    guard let base = unsafe pointee.base, let batch = unsafe pointee.batch,
      let bound = unsafe pointee.bound, let key = unsafe pointee.key
    else { return Code.writeFailed }
    return unsafe withUnsafeTemporaryAllocation(
      byteCount: Int(FileFormat.batchFrames) * FileFormat.nonceBytes, alignment: 8
    ) { nonces -> Int32 in
      guard let drawn = nonces.baseAddress else { return SQLITE_NOMEM }
      unsafe randombytes_buf(drawn, Int(count) * FileFormat.nonceBytes)
      for place in 0..<Int(count) {
        let unit = unsafe batch + place * FileFormat.frameBytes
        unsafe UnsafeMutableRawPointer(unit + FileFormat.frameTextBytes).copyMemory(
          from: drawn + place * FileFormat.nonceBytes, byteCount: FileFormat.nonceBytes)
        unsafe Sealing.bind(bound, .frame, pointee.batch_first &+ Int64(place))
        unsafe Sealing.sealWithNonce(
          unit, FileFormat.frameTextBytes, into: unit, bound: bound, key: key)
      }
      let result = unsafe base.write(
        batch, Int32(count &* frameBytes), at: place(ofFrame: pointee.batch_first))
      _ = unsafe withVault { core in
        core.written.add(UInt64(count), ordering: .acquiringAndReleasing)
      }
      return result
    }
  }

  /// Seals what the unit holds as frame `number` and writes it, in one call.
  @inline(__always)
  private func sealFrame(_ number: Int64) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.key
    else { return Code.writeFailed }
    unsafe Sealing.bind(bound, .frame, number)
    unsafe Sealing.seal(unit, FileFormat.frameTextBytes, into: unit, bound: bound, key: key)
    let result = unsafe base.write(
      unit, Int32(FileFormat.frameBytes), at: place(ofFrame: number))
    _ = unsafe withVault { core in core.written.add(1, ordering: .acquiringAndReleasing) }
    return result
  }
}
