/// The log: a sealed header, then frames, each of them a sealed header and a page.
///
/// A frame's header carries a checksum over the page's text, so it is sealed as well.
/// The page is sealed as the main file has it: when the log is brought there it is
/// copied as it lies, and not opened and sealed once more.
///
/// During recovery a frame that does not open ends the log, as a bad checksum would:
/// a torn tail is no error. It is counted, because damage looks the same.
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
    unsafe table.pointee.xWrite = { unsafe writeLog($0, $1, $2, $3) }
    unsafe table.pointee.xTruncate = truncateLog
    unsafe table.pointee.xSync = syncLog
    unsafe table.pointee.xFileSize = sizeOfLog
    return unsafe table
  }()
}

private let frameBytes = Int64(FileFormat.frameBytes)
private let frameUnitBytes = Int64(FileFormat.frameUnitBytes)
private let logHeaderBytes = Int64(FileFormat.logHeaderBytes)
private let logHeaderUnitBytes = Int64(FileFormat.logHeaderUnitBytes)

/// Where frame `number`, counted from 1, lies.
@inline(__always)
func place(ofFrame number: Int64) -> Int64 {
  logHeaderUnitBytes &+ (number &- 1) &* frameUnitBytes
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
  unsafe own.endEarlyWrites()
  let result = unsafe own.pointee.base?.end() ?? SQLITE_OK
  _ = unsafe own.withVault { core in
    core.openFiles.subtract(1, ordering: .acquiringAndReleasing)
  }
  unsafe own.detach()
  return result
}

/// The log as SQLite sees it is shorter: its header needs 40 bytes more than it holds,
/// each frame 24. A frame that is cut off stays one.
private func sizeOfLog(_ file: SQLiteFile?, _ out: UnsafeMutablePointer<Int64>?) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base,
    let out = unsafe out
  else { return SQLITE_IOERR }
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  var size: Int64 = 0
  let result = unsafe base.size(&size)
  let (whole, rest) = max(0, size &- logHeaderUnitBytes)
    .quotientAndRemainder(dividingBy: frameUnitBytes)
  unsafe out.pointee =
    size >= logHeaderUnitBytes
    ? logHeaderBytes &+ whole &* frameBytes &+ min(rest, frameBytes &- 1) : 0
  return result
}

private func truncateLog(_ file: SQLiteFile?, _ size: Int64) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base, size >= 0 else {
    return Code.truncateFailed
  }
  unsafe own.clearHalves()
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  let (whole, rest) = max(0, size &- logHeaderBytes).quotientAndRemainder(dividingBy: frameBytes)
  return unsafe base.truncate(size == 0 ? 0 : place(ofFrame: whole &+ 1) &+ rest)
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
  unsafe own.clearHalves()
  let flushed = unsafe own.writeBatch()
  if flushed != SQLITE_OK { return flushed }
  if offset < logHeaderBytes {
    guard offset &+ size <= logHeaderBytes else { return Code.readFailed }
    return unsafe own.readHeader(into: out, Int(count), from: Int(offset))
  }
  let number = (offset &- logHeaderBytes) / frameBytes &+ 1
  let within = (offset &- logHeaderBytes) % frameBytes
  guard within &+ size <= frameBytes else { return Code.readFailed }
  if size == FileFormat.pageBytes && within == FileFormat.frameHeaderBytes,
    unsafe own.isCopying
  {
    return unsafe own.readSealedPage(number, into: out)
  }
  let isWhole = size == frameBytes
  let result = unsafe own.readFrame(number)
  guard result == SQLITE_OK else {
    unsafe out.initializeMemory(as: UInt8.self, repeating: 0, count: Int(count))
    if isWhole && result == Code.badData { return unsafe own.rejectFrames(from: number) }
    if result == Code.badData && size == FileFormat.pageBytes, unsafe own.isReplacing {
      return SQLITE_OK
    }
    return result
  }
  if isWhole { unsafe own.pointee.whole_frame = number }
  unsafe out.copyMemory(
    from: unit + FileFormat.frameLeadBytes + Int(within), byteCount: Int(count))
  return SQLITE_OK
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  /// Forgets what was said about a frame, unless the next call follows at once.
  @inline(__always)
  func clearHalves() {
    unsafe pointee.pending_frame = 0
    unsafe pointee.whole_frame = 0
  }

  /// Reads and opens a frame into the file's unit: behind the lead header, page, empty
  /// tail, as SQLite has them.
  @inline(__always)
  func readFrame(_ number: Int64) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let pageKey = unsafe pointee.page_key,
      let logKey = unsafe pointee.log_key
    else { return Code.readFailed }
    let result = unsafe base.read(
      unit, Int32(FileFormat.frameUnitBytes), at: place(ofFrame: number))
    guard result == SQLITE_OK else { return result }
    return unsafe FrameSeal.open(unit, number, bound: bound, pageKey: pageKey, logKey: logKey)
      ? SQLITE_OK : Code.badData
  }

  /// Reads a frame's page as it lies. Whether it is whole is found when it is written.
  @inline(__always)
  fileprivate func readSealedPage(_ number: Int64, into out: UnsafeMutableRawPointer) -> Int32 {
    guard let base = unsafe pointee.base else { return Code.readFailed }
    let page = place(ofFrame: number &+ 1) &- Int64(FileFormat.pageBytes)
    return unsafe base.read(out, Int32(FileFormat.pageBytes), at: page)
  }

  /// Reads a part of the log's header. One that does not open reads as zeros,
  /// which SQLite takes for an empty log.
  fileprivate func readHeader(
    into out: UnsafeMutableRawPointer, _ count: Int, from offset: Int
  ) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.log_key
    else { return Code.readFailed }
    let result = unsafe base.read(unit, Int32(FileFormat.logHeaderUnitBytes), at: 0)
    var header = [UInt8](repeating: 0, count: FileFormat.logHeaderUnitBytes)
    for place in header.indices { header[place] = unsafe unit[place] }
    guard result == SQLITE_OK, unsafe openHeader(&header, bound: bound, key: key) else {
      unsafe out.initializeMemory(as: UInt8.self, repeating: 0, count: count)
      if result != SQLITE_OK { return result }
      if count < FileFormat.logHeaderBytes { return Code.badData }
      return unsafe rejectFrames(from: 0)
    }
    unsafe header.withUnsafeBytes { header in
      guard let header = header.baseAddress else { return }
      unsafe out.copyMemory(from: header + offset, byteCount: count)
    }
    return SQLITE_OK
  }

  /// Opens the header as that of the log that belongs to the file.
  private func openHeader(
    _ header: inout [UInt8], bound: UnsafeMutablePointer<UInt8>, key: UnsafePointer<UInt8>
  ) -> Bool {
    unsafe withVault { core in
      guard let generation = unsafe core.openHeader(&header, bound: bound, key: key) else {
        return false
      }
      let needed = core.marks.framesNeeded(of: generation)
      var number: UInt64 = 0
      while number < needed {
        number &+= 1
        if unsafe readFrame(Int64(clamping: number)) != SQLITE_OK { return false }
      }
      core.marks.found(generation)
      return true
    } ?? false
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
      let salts = unsafe unit + FileFormat.frameLeadBytes + 8
      let isOfThisLog = (0..<8).allSatisfy { unsafe salts[$0] == header[16 &+ $0] }
      if result == Code.badData || result == SQLITE_OK && isOfThisLog { lost &+= 1 }
      next &+= 1
    }
    return max(1, lost)
  }
}

extension VaultCore {
  /// Opens a header of the log in its place; gives the generation that it was sealed with.
  func openHeader(
    _ header: inout [UInt8], bound: UnsafeMutablePointer<UInt8>, key: UnsafePointer<UInt8>
  ) -> UInt64? {
    guard header.count == FileFormat.logHeaderUnitBytes else { return nil }
    return unsafe header.withUnsafeMutableBufferPointer { header in
      guard let unit = header.baseAddress else { return nil }
      let count = FileFormat.logHeaderBytes
      return marks.generation { generation in
        unsafe UnitCipher.bind(bound, .logHeader, Int64(bitPattern: generation))
        // A try in vain would empty it.
        guard unsafe UnitCipher.isSound(unit, count, bound: bound, key: key) else { return false }
        return unsafe UnitCipher.open(unit, count, into: unit, bound: bound, key: key)
      }
    }
  }
}
