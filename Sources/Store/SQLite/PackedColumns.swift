/// Values one behind the other, in bytes: for each its kind, then what it says, little-endian.

struct ColumnPacker: ColumnSink {
  private(set) var packed: [UInt8] = []

  init() {
    packed.reserveCapacity(512)
  }

  mutating func bind(_ value: Int64?) {
    guard let value else { return packed.append(PackedColumns.none) }
    packed.append(PackedColumns.number)
    append(UInt64(bitPattern: value))
  }

  mutating func bind(_ value: UInt64?) {
    bind(value.map { Int64(clamping: $0) })
  }

  mutating func bind(_ value: [UInt8]?) {
    guard let value else { return packed.append(PackedColumns.none) }
    packed.append(PackedColumns.text)
    append(UInt64(value.count))
    packed.append(contentsOf: value)
  }

  private mutating func append(_ number: UInt64) {
    unsafe withUnsafeBytes(of: number.littleEndian) { unsafe packed.append(contentsOf: $0) }
  }
}

/// The same to be read. A value that is not there, or of another kind, reads as SQLite has it.
struct PackedColumns: ColumnSource {
  fileprivate static let none: UInt8 = 0
  fileprivate static let number: UInt8 = 1
  fileprivate static let text: UInt8 = 2

  private enum Value {
    case none
    case number(Int64)
    case text(Range<Int>)
  }

  private let packed: [UInt8]
  private var values: [Value] = []

  /// Nil for bytes that no packer has made.
  init?(_ packed: [UInt8]) {
    self.packed = packed
    var next = 0
    while next < packed.count {
      let kind = packed[next]
      next += 1
      if kind == Self.none {
        values.append(.none)
        continue
      }
      guard packed.count - next >= 8 else { return nil }
      var word: UInt64 = 0
      for place in (0..<8).reversed() { word = word << 8 | UInt64(packed[next + place]) }
      next += 8
      if kind == Self.number {
        values.append(.number(Int64(bitPattern: word)))
        continue
      }
      guard kind == Self.text, word <= UInt64(packed.count - next) else { return nil }
      values.append(.text(next..<next + Int(word)))
      next += Int(word)
    }
  }

  var count: Int32 { Int32(clamping: values.count) }

  private func value(_ column: Int32) -> Value {
    values.indices.contains(Int(column)) ? values[Int(column)] : .none
  }

  func optionalInt(_ column: Int32) -> Int64? {
    if case .number(let number) = value(column) { return number }
    return nil
  }

  func int(_ column: Int32) -> Int64 { optionalInt(column) ?? 0 }

  func uint(_ column: Int32) -> UInt64 { UInt64(clamping: int(column)) }

  func optionalBytes(_ column: Int32) -> [UInt8]? {
    if case .text(let range) = value(column) { return Array(packed[range]) }
    return nil
  }

  func bytes(_ column: Int32) -> [UInt8] { optionalBytes(column) ?? [] }
}
