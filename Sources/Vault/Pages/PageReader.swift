/// The pages of a file one by one, without SQLite: each says by itself whether it is sound.
///
/// A page is the one that SQLite would see: that of the log's last commit, else that of the main
/// file. Rule protected: a page that does not open is no page, and what lies beside it is read all
/// the same. The file is not changed.
internal import Base
internal import CSQLite
internal import CSodium
internal import Synchronization

package final class PageReader {
  private let core: VaultCore
  private let log: BaseFile?
  /// In which frame of the log a page lies.
  private var frames: [Int64: Int64] = [:]
  private var bound = [UInt8](repeating: 0, count: FileFormat.boundBytes)
  /// Pages of the database, also those that are missing.
  package private(set) var count = 0
  /// Frames that the last commit of an open file needs and that do not open.
  package private(set) var lostFrames: Int64 = 0

  init(_ core: VaultCore, logPath: String, readsOnly: Bool = false) throws(VaultFailure) {
    self.core = core
    var log: BaseFile?
    if case .name = core.hold {
      log = try unsafe BaseFile(core.base, logPath, create: true)
    } else if case .file = try FileStatus(path: logPath) {
      log = try unsafe BaseFile(core.base, logPath, create: false, readsOnly: readsOnly)
    }
    self.log = log
    try begin()
    if let committed = try readLog() { count = Int(clamping: committed) }
    // What the last commit said of it may be lost.
    if lostFrames > 0 { count = max(count, named()) }
  }

  /// Those of the main file alone.
  init(mainFileOf core: VaultCore) throws(VaultFailure) {
    self.core = core
    log = nil
    try begin()
  }

  private func begin() throws(VaultFailure) {
    unsafe bound.withUnsafeMutableBufferPointer { bound in
      guard let start = bound.baseAddress else { return }
      unsafe UnitCipher.bind(start, fileId: core.fileId)
    }
    let pages = (try core.mainFile.size() &- Int64(FileFormat.pagesOffset))
    count = Int(clamping: max(0, pages) / Int64(FileFormat.pageBytes))
    count = max(count, named())
  }

  /// Pages that page 1 names; 0 where it cannot be read.
  private func named() -> Int {
    do throws(VaultFailure) {
      guard let first = try page(1) else { return 0 }
      let named = unsafe first.withUnsafeBufferPointer { first in
        unsafe first.baseAddress.map { unsafe FirstPage.count($0) } ?? 0
      }
      return Int(clamping: named)
    } catch {
      // Who reads the page is told.
      return 0
    }
  }

  /// The text of a page, without its reserved bytes; nil where it does not open.
  package func page(_ number: Int) throws(VaultFailure) -> [UInt8]? {
    let number = Int64(number)
    var unit: [UInt8]
    if let frame = frames[number], let log {
      let place = place(ofFrame: frame) &+ Int64(FileFormat.framePageOffset)
      unit = try log.read(FileFormat.pageBytes, at: place)
    } else {
      let place = Int64(FileFormat.pagesOffset) &+ (number &- 1) &* Int64(FileFormat.pageBytes)
      unit = try core.mainFile.read(FileFormat.pageBytes, at: place)
    }
    guard unit.count == FileFormat.pageBytes,
      unsafe open(&unit, .page, number, core.keys.page)
    else { return nil }
    unit.removeLast(FileFormat.reserveBytes)
    return unit
  }

  /// Opens a unit in its place.
  private func open(
    _ unit: inout [UInt8], _ kind: UnitKind, _ number: Int64, _ key: UnsafePointer<UInt8>
  ) -> Bool {
    let count = unit.count &- FileFormat.reserveBytes
    return unsafe unit.withUnsafeMutableBufferPointer { unit in
      unsafe bound.withUnsafeMutableBufferPointer { bound in
        guard let unit = unit.baseAddress, let bound = bound.baseAddress else { return false }
        unsafe UnitCipher.bind(bound, kind, number)
        return unsafe UnitCipher.open(unit, count, into: unit, bound: bound, key: key)
      }
    }
  }

  // MARK: The log

  /// The generation of the log.
  private func openHeader(_ header: inout [UInt8]) -> UInt64? {
    unsafe bound.withUnsafeMutableBufferPointer { bound in
      guard let bound = bound.baseAddress else { return nil }
      return unsafe core.openHeader(&header, bound: bound, key: core.keys.log)
    }
  }

  /// Finds the pages of all commits of the log; gives how many pages the database then has, or nil
  /// where the log has no commit. docs/reference/file-format.md has the rules. Up to the last
  /// commit of an open file a frame that does not open ends nothing. The main file has the newest
  /// pages of those frames that were copied.
  private func readLog() throws(VaultFailure) -> Int64? {
    let last = Int64(clamping: core.marks.committed.load(ordering: .acquiring))
    lostFrames = max(0, last &- core.marks.copied(of: nil))
    guard let log else { return nil }
    var header = try log.read(FileFormat.logHeaderUnitBytes, at: 0)
    guard header.count == FileFormat.logHeaderUnitBytes, let generation = openHeader(&header)
    else { return nil }
    let copied = core.marks.copied(of: generation)
    var sum = LogSum(isBigEndian: header[3] & 1 != 0)
    sum.add(header[0..<24])
    guard sum.isEqual(to: header[24..<32]) else { return nil }
    var waiting: [Int64: Int64] = [:]
    var committed: Int64?
    lostFrames = 0
    for number in 1...Int64.max {
      let isNeeded = number <= last
      guard let frame = try frame(number, in: log), frame[8..<16].elementsEqual(header[16..<24])
      else {
        if number > copied {
          if !isNeeded { break }
          lostFrames &+= 1
        }
        continue
      }
      let lead = frame.prefix(FileFormat.frameHeaderBytes)
      sum.add(lead[0..<8])
      sum.add(frame[FileFormat.frameHeaderBytes...])
      guard isNeeded || sum.isEqual(to: lead[16..<24]) else { break }
      if number > copied { waiting[Self.number(lead[0..<4])] = number }
      let size = Self.number(lead[4..<8])
      if size != 0 {
        frames.merge(waiting) { _, newer in newer }
        waiting = [:]
        committed = size
      }
    }
    // The frame that ends the last commit is a lost one.
    if lostFrames > 0 { frames.merge(waiting) { _, newer in newer } }
    return committed
  }

  /// The header and the page of a frame, as SQLite has them; nil at the end of the log.
  private func frame(_ number: Int64, in log: BaseFile) throws(VaultFailure) -> [UInt8]? {
    var unit = try log.read(FileFormat.frameUnitBytes, at: place(ofFrame: number))
    guard unit.count == FileFormat.frameUnitBytes else { return nil }
    let isWhole = unsafe unit.withUnsafeMutableBufferPointer { unit in
      unsafe bound.withUnsafeMutableBufferPointer { bound in
        guard let unit = unit.baseAddress, let bound = bound.baseAddress else { return false }
        return unsafe FrameSeal.open(
          unit, number, bound: bound, pageKey: core.keys.page, logKey: core.keys.log)
      }
    }
    return isWhole ? Array(unit[FileFormat.frameLeadBytes...]) : nil
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reduce(0) { $0 &<< 8 | Int64($1) }
  }
}

/// The running checksum of SQLite's log.
private struct LogSum {
  let isBigEndian: Bool
  private var first: UInt32 = 0
  private var second: UInt32 = 0

  init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

  mutating func add(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { raw in
      var place = 0
      while place &+ 8 <= raw.count {
        first = first &+ (unsafe word(raw, place)) &+ second
        second = second &+ (unsafe word(raw, place &+ 4)) &+ first
        place &+= 8
      }
    }
  }

  private func word(_ raw: UnsafeRawBufferPointer, _ place: Int) -> UInt32 {
    let word = unsafe raw.loadUnaligned(fromByteOffset: place, as: UInt32.self)
    return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
  }

  func isEqual(to bytes: ArraySlice<UInt8>) -> Bool {
    let both = bytes.reduce(0 as UInt64) { $0 &<< 8 | UInt64($1) }
    return both == UInt64(first) &<< 32 | UInt64(second)
  }
}
