/// What the file says of its log: which one belongs to it, and how much of it was on disk.
///
/// A mark lies in each copy of the header, in bytes that the sums of the copy count as zeros: a
/// torn one spoils no key. Marks of even generations lie in the first copy, of odd ones in the
/// second, so the one of the log before is whole while that of this log is written.

struct LogMark: Equatable, Sendable {
  enum State: UInt64 {
    /// The log has commits that the main file lacks.
    case needed = 0
    /// The same, and pages of it are on their way into the main file, which is no state by itself.
    case copying = 1
    /// The main file has all of the log.
    case spare = 2
  }

  /// How often a log was begun; the header of the log is sealed with it.
  var generation: UInt64
  /// Committed frames of it that were on disk.
  var frames: UInt64
  /// How many of them the main file has.
  var copied: UInt64
  var state: State

  /// That of a file without a log.
  static let initial = LogMark(generation: 0, frames: 0, copied: 0, state: .spare)

  /// In which copy of the header it lies.
  var place: Int { Int(truncatingIfNeeded: generation & 1) }

  /// Where it lies there.
  static let range = 2048..<2048 + unitBytes
  private static let textBytes = 32
  static let unitBytes = textBytes + FileFormat.reserveBytes
}

// MARK: - On disk

extension LogMark {
  /// The mark as a unit for one of the copies.
  func sealed(in place: Int, fileId: [UInt8], keys: KeyMemory) -> [UInt8] {
    var unit = [UInt8](repeating: 0, count: Self.unitBytes)
    for (index, value) in [generation, frames, copied, state.rawValue].enumerated() {
      for byte in 0..<8 {
        unit[index * 8 + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte))
      }
    }
    unsafe Self.withBound(to: place, fileId) { bound in
      unsafe unit.withUnsafeMutableBufferPointer { unit in
        guard let unit = unit.baseAddress else { return }
        unsafe UnitCipher.seal(unit, Self.textBytes, into: unit, bound: bound, key: keys.log)
      }
    }
    return unit
  }

  /// Nil where it is not as it was sealed.
  init?(_ unit: [UInt8], in place: Int, fileId: [UInt8], keys: KeyMemory) {
    guard unit.count == Self.unitBytes else { return nil }
    var text = unit
    var isWhole = false
    unsafe Self.withBound(to: place, fileId) { bound in
      unsafe text.withUnsafeMutableBufferPointer { text in
        guard let text = text.baseAddress else { return }
        isWhole = unsafe UnitCipher.open(
          text, Self.textBytes, into: text, bound: bound, key: keys.log)
      }
    }
    func value(_ index: Int) -> UInt64 {
      text[index * 8..<index * 8 + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard isWhole, let state = State(rawValue: value(3)) else { return nil }
    self.init(generation: value(0), frames: value(1), copied: value(2), state: state)
  }

  private static func withBound(
    to place: Int, _ fileId: [UInt8], _ body: (UnsafeMutablePointer<UInt8>) -> Void
  ) {
    var bound = [UInt8](repeating: 0, count: FileFormat.boundBytes)
    unsafe bound.withUnsafeMutableBufferPointer { bound in
      guard let bound = bound.baseAddress else { return }
      unsafe UnitCipher.bind(bound, fileId: fileId)
      unsafe UnitCipher.bind(bound, .mark, Int64(place))
      unsafe body(bound)
    }
  }
}

/// The marks of both copies, as an opening has found them.
struct FoundMarks: Sendable {
  let marks: [LogMark?]
  /// The file has had marks since it was made.
  let isMarked: Bool

  /// Those of a file that has no log.
  init() {
    marks = HeaderFile.places.map { _ in LogMark.initial }
    isMarked = true
  }

  /// Those that lie in `start`, the bytes of both copies.
  init(in start: [UInt8], of header: FileHeader, _ keys: KeyMemory) {
    marks = HeaderFile.places.enumerated().map { index, place in
      let copy = start.dropFirst(Int(place))
      let unit = Array(copy.dropFirst(LogMark.range.lowerBound).prefix(LogMark.unitBytes))
      return LogMark(unit, in: index, fileId: header.fileId, keys: keys)
    }
    isMarked = header.flags & HeaderFlag.marked != 0
  }

  /// That of the newest generation; nil where none opens.
  var newest: LogMark? {
    let known = marks.compactMap { $0 }
    guard let first = known.first, let last = known.last else { return nil }
    if first.generation != last.generation {
      return first.generation > last.generation ? first : last
    }
    return marks[first.place] ?? first
  }

  /// No crash leaves both of them torn.
  var isDamaged: Bool { isMarked && newest == nil }
}
