/// The newest entries of the feed and the newest refs, as they lie in the row of `meta`.
///
/// Each commit writes that row anyway, and a page that it need not write is the dearest
/// thing that it can save. Beyond their bounds they move to tables of their own, many at
/// once. Rule protected: an entry and a ref are in one of both places, and who reads asks
/// the table first and then here, which is the order in which they came.
internal import Base
internal import Glibc

/// Entries of the feed, oldest first; their numbers end with that of the newest entry.
struct InlineChanges: Equatable, Sendable {
  /// Entries at most, so that the row stays on its page.
  static let countMax = 64
  private static let entryBytes = 32

  private(set) var bytes: [UInt8] = []

  init() {}

  init(stored: [UInt8]) throws(StoreFailure) {
    guard stored.count % Self.entryBytes == 0 else { throw .damaged }
    bytes = stored
  }

  var count: Int { bytes.count / Self.entryBytes }

  /// The first word: silence, the kind in fifteen bits, the origin in two and whether it notifies.
  mutating func append(_ run: FeedRuns.Run) {
    let told: Int64 = (run.isSilent ? 1 : 0) | (run.notifies ? 1 << 18 : 0)
    let word = told | run.kind.rawValue << 1 | run.origin.rawValue << 16
    let words = (
      word.littleEndian, run.cid.littleEndian,
      run.numbers.lowerBound.littleEndian, run.numbers.upperBound.littleEndian
    )
    unsafe withUnsafeBytes(of: words) { words in unsafe bytes.append(contentsOf: words) }
  }

  /// The entry at a place; there is one below `count`.
  func run(_ place: Int) throws(StoreFailure) -> FeedRuns.Run {
    let start = place * Self.entryBytes
    guard let word = bytes.number(at: start), let cid = bytes.number(at: start + 8),
      let first = bytes.number(at: start + 16), let last = bytes.number(at: start + 24),
      let kind = ChangeKind(rawValue: word >> 1 & 0x7FFF), word >> 19 == 0,
      let origin = ChangeOrigin(rawValue: word >> 16 & 3),
      UInt64(bitPattern: first) <= UInt64(bitPattern: last)
    else { throw .damaged }
    return FeedRuns.Run(
      cid: cid, kind: kind, isSilent: word & 1 != 0, notifies: word & 1 << 18 != 0, origin: origin,
      numbers: UInt64(bitPattern: first)...UInt64(bitPattern: last))
  }
}

/// Refs of updates, oldest first, each with its time and whether its reply is pending.
struct InlineRefs: Equatable, Sendable {
  /// Bytes at most, so that the row stays on its page.
  static let bytesMax = 1_024
  private static let headBytes = 11

  struct Entry {
    var start: Int
    var ref: Range<Int>
    var isPending: Bool
    var atUs: Int64
  }

  private(set) var bytes: [UInt8] = []

  init() {}

  init(stored: [UInt8]) { bytes = stored }

  /// The entry that begins at `start`; nil behind the last.
  func entry(_ start: Int) -> Entry? {
    guard start + Self.headBytes <= bytes.count, let atUs = bytes.number(at: start + 3) else {
      return nil
    }
    let from = start + Self.headBytes
    let size = Int(bytes[start + 1]) | Int(bytes[start + 2]) << 8
    guard size <= bytes.count - from else { return nil }
    return Entry(start: start, ref: from..<from + size, isPending: bytes[start] != 0, atUs: atUs)
  }

  /// The entry of a ref, from the one that begins at `first` on.
  func find(_ ref: [UInt8], from first: Int = 0) -> Entry? {
    let start = unsafe bytes.withUnsafeBytes { all in
      unsafe ref.withUnsafeBytes { ref in unsafe Self.find(ref, in: all, from: first) }
    }
    return start.flatMap { entry($0) }
  }

  /// Where the entry of a ref begins. Each update looks through all of them.
  private static func find(
    _ ref: UnsafeRawBufferPointer, in all: UnsafeRawBufferPointer, from first: Int
  ) -> Int? {
    var start = first
    while start + headBytes <= all.count {
      let from = start + headBytes
      let size = unsafe Int(all[start + 1]) | Int(all[start + 2]) << 8
      guard size <= all.count - from else { return nil }
      let found = unsafe UnsafeRawBufferPointer(rebasing: all[from..<from + size])
      if size == ref.count, unsafe isSame(found, as: ref) { return start }
      start = from + size
    }
    return nil
  }

  /// Whether one ref sorts before another, as SQLite compares blobs.
  static func precedes(_ a: [UInt8], than b: [UInt8]) -> Bool {
    let size = Swift.min(a.count, b.count)
    let order = unsafe a.withUnsafeBytes { a in
      unsafe b.withUnsafeBytes { b -> Int32 in
        guard size > 0, let a = a.baseAddress, let b = b.baseAddress else { return 0 }
        return unsafe memcmp(a, b, size)
      }
    }
    return order == 0 ? a.count < b.count : order < 0
  }

  /// Whether two of one size are the same.
  private static func isSame(_ a: UnsafeRawBufferPointer, as b: UnsafeRawBufferPointer) -> Bool {
    guard let first = a.baseAddress, let second = b.baseAddress, unsafe !a.isEmpty else {
      return true
    }
    // Refs that are counted up differ there.
    guard unsafe a[a.count - 1] == b[b.count - 1] else { return false }
    return unsafe memcmp(first, second, a.count) == 0
  }

  /// Refs whose replies are pending.
  func pending() -> [[UInt8]] {
    var result: [[UInt8]] = []
    var next = 0
    while let found = entry(next) {
      if found.isPending { result.append(Array(bytes[found.ref])) }
      next = found.ref.upperBound
    }
    return result
  }

  /// False where there is no room for one of that size.
  mutating func append(_ ref: [UInt8], atUs: Int64) -> Bool {
    guard ref.count + Self.headBytes <= Self.bytesMax - bytes.count else { return false }
    // They are shared with what was counted at the commit before: one copy, with room.
    bytes.reserveCapacity(bytes.count + Self.headBytes + ref.count)
    bytes.append(UInt8(1))
    bytes.append(UInt8(truncatingIfNeeded: ref.count))
    bytes.append(UInt8(truncatingIfNeeded: ref.count >> 8))
    bytes.append(atUs)
    bytes.append(contentsOf: ref)
    return true
  }

  mutating func mark(_ entry: Entry, isPending: Bool) {
    bytes[entry.start] = isPending ? 1 : 0
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ number: Int64) {
    unsafe Swift.withUnsafeBytes(of: number.littleEndian) { word in
      unsafe append(contentsOf: word)
    }
  }

  fileprivate func number(at start: Int) -> Int64? {
    guard start >= 0, start <= count - 8 else { return nil }
    return unsafe withUnsafeBytes { raw in
      unsafe Int64(littleEndian: raw.loadUnaligned(fromByteOffset: start, as: Int64.self))
    }
  }
}
