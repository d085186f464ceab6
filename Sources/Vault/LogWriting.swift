/// Writing the log.
///
/// The frames of a commit are gathered, and sealed and written in one step when the
/// last of them comes: each call of the system costs as much as sealing a page.
/// SQLite looks at none of them before, and where it does they are written first.
internal import CSQLite
internal import CSodium
internal import Support
internal import Synchronization

private let frameBytes = Int64(FileFormat.frameBytes)
private let frameHeaderBytes = Int64(FileFormat.frameHeaderBytes)
private let logHeaderBytes = Int64(FileFormat.logHeaderBytes)

func writeLog(
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
  guard within == frameHeaderBytes && size == FileFormat.pageBytes else {
    unsafe own.clearHalves()
    return Code.writeFailed
  }
  return unsafe own.writeFramePage(number, bytes)
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  fileprivate func writeHeader(_ bytes: UnsafePointer<UInt8>) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit,
      let bound = unsafe pointee.bound, let key = unsafe pointee.log_key
    else { return Code.writeFailed }
    unsafe clearHalves()
    // The log begins anew, so what was gathered is of a transaction that was taken back.
    unsafe pointee.batch_count = 0
    let begun = unsafe withVault { core in core.marks.begin() }
    guard let begun else { return Code.writeFailed }
    if begun.result != SQLITE_OK { return begun.result }
    unsafe UnitCipher.bind(bound, .logHeader, Int64(bitPattern: begun.generation))
    unsafe UnitCipher.seal(bytes, FileFormat.logHeaderBytes, into: unit, bound: bound, key: key)
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
    unsafe clearHalves()
    guard replaces else {
      unsafe pending.update(from: bytes, count: FileFormat.frameHeaderBytes)
      unsafe pointee.pending_frame = number
      return SQLITE_OK
    }
    let flushed = unsafe writeBatch()
    if flushed != SQLITE_OK { return flushed }
    let result = unsafe readFrame(number)
    if result != SQLITE_OK { return result }
    unsafe (unit + FileFormat.frameLeadBytes).update(
      from: bytes, count: FileFormat.frameHeaderBytes)
    return unsafe writeFrames(unit, 1, from: number)
  }

  /// A page completes the frame whose header waits, or replaces the page of a
  /// frame that was written before in the same transaction.
  @inline(__always)
  fileprivate func writeFramePage(_ number: Int64, _ page: UnsafePointer<UInt8>) -> Int32 {
    guard let unit = unsafe pointee.unit, let pending = unsafe pointee.pending else {
      return Code.writeFailed
    }
    let completes = unsafe pointee.pending_frame == number
    unsafe clearHalves()
    if completes {
      guard unsafe isWellFormed(page, FrameSeal.pageNumber(pending)) else {
        return Code.writeFailed
      }
      return unsafe gather(number, pending, page)
    }
    let flushed = unsafe writeBatch()
    if flushed != SQLITE_OK { return flushed }
    let result = unsafe readFrame(number)
    if result != SQLITE_OK { return result }
    let header = unsafe unit + FileFormat.frameLeadBytes
    guard unsafe isWellFormed(page, FrameSeal.pageNumber(header)) else { return Code.writeFailed }
    unsafe (header + FileFormat.frameHeaderBytes).update(
      from: page, count: FileFormat.pageTextBytes)
    return unsafe writeFrames(unit, 1, from: number)
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
    let frame = unsafe batch + Int(count) * FileFormat.frameUnitBytes
    let text = unsafe frame + FileFormat.frameLeadBytes
    unsafe text.update(from: header, count: FileFormat.frameHeaderBytes)
    unsafe (text + FileFormat.frameHeaderBytes).update(
      from: page, count: FileFormat.pageTextBytes)
    unsafe pointee.batch_count = count &+ 1
    let isFull = count &+ 1 == FileFormat.batchFrames
    guard unsafe isFull || FrameSeal.isCommit(header) else { return SQLITE_OK }
    return unsafe writeBatch()
  }

  /// Seals the frames that wait and writes them. They are gone also where that fails:
  /// their transaction fails with it.
  func writeBatch() -> Int32 {
    let count = unsafe pointee.batch_count
    guard count > 0 else { return SQLITE_OK }
    unsafe pointee.batch_count = 0
    guard let batch = unsafe pointee.batch else { return Code.writeFailed }
    return unsafe writeFrames(batch, Int(count), from: pointee.batch_first)
  }

  /// Seals frames that lie open one after the other and writes them, in one call.
  private func writeFrames(
    _ frames: UnsafeMutablePointer<UInt8>, _ count: Int, from number: Int64
  ) -> Int32 {
    guard let base = unsafe pointee.base, let bound = unsafe pointee.bound,
      let pageKey = unsafe pointee.page_key, let logKey = unsafe pointee.log_key
    else { return Code.writeFailed }
    let last = unsafe frames + ((count - 1) * FileFormat.frameUnitBytes + FileFormat.frameLeadBytes)
    let isCommit = unsafe FrameSeal.isCommit(last)
    guard
      unsafe FrameSeal.seal(
        frames, count, from: number, bound: bound, pageKey: pageKey, logKey: logKey)
    else { return Code.writeFailed }
    unsafe noteStep()
    let bytes = count * FileFormat.frameUnitBytes
    let result = unsafe base.write(frames, Int32(bytes), at: place(ofFrame: number))
    if result == SQLITE_OK { unsafe startWrite(place(ofFrame: number), bytes) }
    _ = unsafe withVault { core in
      core.written.add(UInt64(count), ordering: .acquiringAndReleasing)
      if isCommit, result == SQLITE_OK {
        core.marks.commit(UInt64(bitPattern: number &+ Int64(count) &- 1))
      }
    }
    return result
  }
}
