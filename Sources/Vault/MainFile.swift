/// The main file: two header copies, then pages, each of them one unit.
///
/// SQLite sees a file that begins at page 1. A page that does not open is an
/// error and never data; the one exception is the first look at page 1, which
/// a crash may have torn while the log still holds the page.
internal import CSQLite
internal import Support
internal import Synchronization

enum MainMethods {
  // Made once, never changed, never freed.
  nonisolated(unsafe) static let table: UnsafeMutablePointer<sqlite3_io_methods> = {
    let table = unsafe CommonMethods.table()
    unsafe table.pointee.xClose = closeMain
    unsafe table.pointee.xRead = readMain
    unsafe table.pointee.xWrite = writeMain
    unsafe table.pointee.xTruncate = truncateMain
    unsafe table.pointee.xSync = { unsafe syncMain($0, $1) }
    unsafe table.pointee.xFileSize = sizeOfMain
    return unsafe table
  }()
}

private let pageBytes = Int64(FileFormat.pageBytes)

/// Where page `number` lies.
@inline(__always)
private func place(ofPage number: Int64) -> Int64 {
  Int64(FileFormat.pagesOffset) &+ (number &- 1) &* pageBytes
}

private func closeMain(_ file: SQLiteFile?) -> Int32 {
  guard let own = unsafe vaultFile(file) else { return SQLITE_OK }
  let result = unsafe own.pointee.base?.end() ?? SQLITE_OK
  let writer = unsafe own.pointee.writer != 0
  _ = unsafe own.withVault { core in
    if writer { core.writerOpen.store(false, ordering: .releasing) }
    core.openFiles.subtract(1, ordering: .acquiringAndReleasing)
  }
  unsafe own.detach()
  return result
}

/// SQLite syncs the file only once a checkpoint has brought all of the log to it.
private func syncMain(_ file: SQLiteFile?, _ flags: Int32) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base else {
    return Code.syncFailed
  }
  guard unsafe own.pointee.writer != 0 else { return unsafe base.sync(flags) }
  return unsafe own.withVault { core in
    let marked = core.marks.copyingEnds()
    if marked != SQLITE_OK { return marked }
    let result = unsafe base.sync(flags)
    if result == SQLITE_OK { core.marks.mainFileSynced() }
    return result
  } ?? Code.syncFailed
}

private func sizeOfMain(_ file: SQLiteFile?, _ out: UnsafeMutablePointer<Int64>?) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base,
    let out = unsafe out
  else { return SQLITE_IOERR }
  var size: Int64 = 0
  let result = unsafe base.size(&size)
  // Pages that were cut off are damaged ones: SQLite would refuse the whole file.
  let least = unsafe own.pointee.least_pages &* pageBytes
  unsafe out.pointee = max(0, least, size &- Int64(FileFormat.pagesOffset))
  return result
}

// MARK: - Reading

private func readMain(
  _ file: SQLiteFile?, _ out: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
) -> Int32 {
  guard let own = unsafe vaultFile(file), let out = unsafe out, count > 0, offset >= 0 else {
    return Code.readFailed
  }
  let number = offset / pageBytes &+ 1
  let within = offset % pageBytes
  if within == 0 && Int64(count) == pageBytes {
    let page = unsafe out.assumingMemoryBound(to: UInt8.self)
    let result = unsafe own.readPage(number, into: page)
    guard result == Code.badData, unsafe own.isReplacing else { return result }
    if number == 1 { unsafe writeFirstHundred(page, flags: own.pointee.flags) }
    return SQLITE_OK
  }
  guard within &+ Int64(count) <= pageBytes else { return Code.readFailed }
  let page = unsafe own.pointee.unit
  guard let page = unsafe page else { return Code.readFailed }
  let result = unsafe own.readPage(number, into: page)
  if result == Code.badData && number == 1 && within &+ Int64(count) <= 100 {
    unsafe writeFirstHundred(page, flags: own.pointee.flags)
  } else if result != SQLITE_OK {
    unsafe out.initializeMemory(as: UInt8.self, repeating: 0, count: Int(count))
    return result
  }
  unsafe out.copyMemory(from: page + Int(within), byteCount: Int(count))
  return SQLITE_OK
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  /// Reads and opens a whole page in place. On failure `page` is all zero.
  @inline(__always)
  fileprivate func readPage(_ number: Int64, into page: UnsafeMutablePointer<UInt8>) -> Int32 {
    guard let base = unsafe pointee.base, let bound = unsafe pointee.bound,
      let key = unsafe pointee.page_key
    else { return Code.readFailed }
    let offset = place(ofPage: number)
    let result = unsafe base.read(page, Int32(FileFormat.pageBytes), at: offset)
    guard result == SQLITE_OK else {
      unsafe page.update(repeating: 0, count: FileFormat.pageBytes)
      guard result == Code.shortRead else { return result }
      // Past the end is for SQLite to judge; a page that is cut off is not.
      var size: Int64 = 0
      let asked = unsafe base.size(&size)
      if asked != SQLITE_OK { return asked }
      let isPast = unsafe size <= offset && number > pointee.least_pages
      return isPast ? Code.shortRead : Code.badData
    }
    unsafe UnitCipher.bind(bound, .page, number)
    let isWhole = unsafe UnitCipher.open(
      page, FileFormat.pageTextBytes, into: page, bound: bound, key: key)
    // SQLite counts the reserved bytes into checksums, so they are always zero.
    unsafe (page + FileFormat.pageTextBytes).update(
      repeating: 0, count: FileFormat.reserveBytes)
    if number == 1, isWhole { unsafe pointee.least_pages = FirstPage.count(page) }
    return isWhole ? SQLITE_OK : Code.badData
  }
}

/// What SQLite needs to find the log: size and form of the pages, and log mode.
/// Nothing is read from the file with it; page 1 itself still has to open.
private func writeFirstHundred(_ page: UnsafeMutablePointer<UInt8>, flags: Int32) {
  let first = FirstPage.header(flags: UInt32(bitPattern: flags))
  for (place, byte) in first.enumerated() { unsafe page[place] = byte }
}

// MARK: - Writing

private func writeMain(
  _ file: SQLiteFile?, _ from: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
) -> Int32 {
  guard let own = unsafe vaultFile(file), let from = unsafe from,
    Int64(count) == pageBytes, offset >= 0, offset % pageBytes == 0
  else { return Code.writeFailed }
  let number = offset / pageBytes &+ 1
  let page = unsafe from.assumingMemoryBound(to: UInt8.self)
  let isSealed = unsafe own.isCopying
  guard unsafe isSealed || isWellFormed(page, number) else { return Code.writeFailed }
  let known = unsafe own.pointee.page_count
  if number > known {
    let result = unsafe own.fill(upTo: number &- 1)
    if result != SQLITE_OK { return result }
  }
  let result = unsafe isSealed ? own.copyPage(number, page) : own.writePage(number, page)
  let filled = unsafe own.pointee.page_count
  if result == SQLITE_OK && number > filled {
    unsafe own.pointee.page_count = number
  }
  return result
}

/// The reserved bytes are about to be replaced, so they must be zero; a first
/// page that does not reserve them comes from a file of another form.
@inline(__always)
func isWellFormed(_ page: UnsafePointer<UInt8>, _ number: Int64) -> Bool {
  unsafe hasEmptyTail(page)
    && (number != 1 || page[20] == UInt8(FileFormat.reserveBytes))
}

/// True when the 40 bytes at a page's end are zero.
@inline(__always)
private func hasEmptyTail(_ page: UnsafePointer<UInt8>) -> Bool {
  let tail = unsafe UnsafeRawPointer(page + FileFormat.pageTextBytes)
  var seen: UInt64 = 0
  for word in 0..<FileFormat.reserveBytes / 8 {
    seen |= unsafe tail.loadUnaligned(fromByteOffset: word &* 8, as: UInt64.self)
  }
  return seen == 0
}

/// Overwrites what no row of a page has between its list of rows and the first of them. SQLite
/// leaves bytes of rows there that it has moved to another page, and never reads them again, also
/// with `secure_delete`.
private func emptyGap(_ page: UnsafeMutablePointer<UInt8>, _ number: Int64, flags: Int32) {
  let mapped = Int64(FileFormat.pageTextBytes / 5 + 1)
  let hasMaps = UInt32(bitPattern: flags) & HeaderFlag.incrementalVacuum != 0
  // A map of pages begins like a page of rows; other pages begin with the upper byte of a number of
  // a page, which is as great in no file of less than 128 GiB.
  if hasMaps, number >= 2, (number &- 2) % mapped == 0 { return }
  let start = number == 1 ? 100 : 0
  let list: Int
  switch unsafe page[start] {
  case 2, 5: list = start &+ 12
  case 10, 13: list = start &+ 8
  default: return
  }
  let first = unsafe list &+ 2 &* (Int(page[start &+ 3]) << 8 | Int(page[start &+ 4]))
  let last = unsafe Int(page[start &+ 5]) << 8 | Int(page[start &+ 6])
  guard first < last, last <= FileFormat.pageTextBytes else { return }
  unsafe (page + first).update(repeating: 0, count: last &- first)
}

extension UnsafeMutablePointer where Pointee == tideline_file {
  @inline(__always)
  fileprivate func writePage(_ number: Int64, _ page: UnsafePointer<UInt8>) -> Int32 {
    guard let base = unsafe pointee.base, let bound = unsafe pointee.bound,
      let key = unsafe pointee.page_key, let unit = unsafe pointee.unit
    else { return Code.writeFailed }
    unsafe UnitCipher.bind(bound, .page, number)
    var text = unsafe page
    if unsafe pointee.scrubs != 0 {
      unsafe unit.update(from: page, count: FileFormat.pageTextBytes)
      unsafe emptyGap(unit, number, flags: pointee.flags)
      unsafe text = UnsafePointer(unit)
    }
    unsafe UnitCipher.seal(text, FileFormat.pageTextBytes, into: unit, bound: bound, key: key)
    return unsafe base.write(unit, Int32(FileFormat.pageBytes), at: place(ofPage: number))
  }

  /// Writes a page that the log has sealed for this place. Another one is refused, so
  /// that what the log still holds is not given up for it.
  @inline(__always)
  fileprivate func copyPage(_ number: Int64, _ page: UnsafePointer<UInt8>) -> Int32 {
    guard let base = unsafe pointee.base, let bound = unsafe pointee.bound,
      let key = unsafe pointee.page_key
    else { return Code.writeFailed }
    unsafe UnitCipher.bind(bound, .page, number)
    guard unsafe UnitCipher.isSound(page, FileFormat.pageTextBytes, bound: bound, key: key) else {
      return Code.badData
    }
    return unsafe base.write(page, Int32(FileFormat.pageBytes), at: place(ofPage: number))
  }

  /// Seals an empty page into every place up to `last` that the file does not
  /// have yet. SQLite leaves such holes and takes them for zeros; bytes that no
  /// key has sealed would let anyone blank a page. What was there once stays damaged.
  fileprivate func fill(upTo last: Int64) -> Int32 {
    guard let base = unsafe pointee.base, let unit = unsafe pointee.unit else {
      return Code.writeFailed
    }
    var size: Int64 = 0
    let result = unsafe base.size(&size)
    if result != SQLITE_OK { return result }
    unsafe pointee.page_count = max(0, size &- Int64(FileFormat.pagesOffset)) / pageBytes
    unsafe pointee.page_count = max(pointee.page_count, min(last, pointee.least_pages))
    while unsafe pointee.page_count < last {
      let next = unsafe pointee.page_count &+ 1
      unsafe unit.update(repeating: 0, count: FileFormat.pageBytes)
      let result = unsafe writePage(next, unit)
      if result != SQLITE_OK { return result }
      unsafe pointee.page_count = next
    }
    return SQLITE_OK
  }
}

private func truncateMain(_ file: SQLiteFile?, _ size: Int64) -> Int32 {
  guard let own = unsafe vaultFile(file), let base = unsafe own.pointee.base,
    size >= 0, size % pageBytes == 0
  else { return Code.truncateFailed }
  let pages = size / pageBytes
  let filled = unsafe own.fill(upTo: pages)
  if filled != SQLITE_OK { return filled }
  let result = unsafe base.truncate(Int64(FileFormat.pagesOffset) &+ size)
  if result == SQLITE_OK {
    unsafe own.pointee.page_count = pages
    unsafe own.pointee.least_pages = min(pages, own.pointee.least_pages)
  }
  return result
}
