/// Messages in the block of memory in which they reach the host.
///
/// In front room for who gets the block, then the rows, then the bytes in which their texts lie.
/// It has one owner at a time: who made it, then the engine, which looks at it alone and gives
/// it on once. So mostly nothing is copied on the way.
@safe package final class RowPage: @unchecked Sendable {
  /// Room in front for who gets the block; what follows is aligned.
  package static var headBytes: Int { 128 }

  /// Rows; none once the block was given away.
  package var count: Int { isGiven ? 0 : rowCount }
  /// Ended before its limit, because its bytes would have become too many.
  package let isCut: Bool
  private let rowCount: Int
  private let byteCount: Int
  /// Bytes of the block.
  private let room: Int
  private let start: UnsafeMutableRawPointer
  private var isGiven = false

  /// Takes over a block whose rows and bytes are set, and follow each other.
  package init(
    adopting start: UnsafeMutableRawPointer, room: Int, rows: Int, bytes: Int, isCut: Bool
  ) {
    unsafe self.start = start
    self.room = room
    rowCount = rows
    byteCount = bytes
    self.isCut = isCut
  }

  /// A page of these rows, whose texts lie in the bytes of another one.
  package init(_ rows: [MessageRow], over other: RowPage) {
    let rowBytes = rows.count * Self.rowBytes
    room = Self.headBytes + rowBytes + other.byteCount
    unsafe start = Self.allocate(room)
    rowCount = rows.count
    byteCount = other.byteCount
    isCut = other.isCut
    let first = unsafe (start + Self.headBytes).bindMemory(
      to: MessageRow.self, capacity: rows.count)
    unsafe first.initialize(from: rows, count: rows.count)
    unsafe bytes.copyMemory(from: other.bytes, byteCount: byteCount)
  }

  /// A page without rows.
  package convenience init() {
    let start = unsafe Self.allocate(Self.headBytes)
    unsafe self.init(adopting: start, room: Self.headBytes, rows: 0, bytes: 0, isCut: false)
  }

  deinit {
    if !isGiven { unsafe start.deallocate() }
  }

  package static func allocate(_ room: Int) -> UnsafeMutableRawPointer {
    .allocate(byteCount: room, alignment: 16)
  }

  package static var rowBytes: Int { MemoryLayout<MessageRow>.stride }

  /// Looks at the rows where they lie, and may change them there.
  package func withRows<Result>(
    _ body: (UnsafeMutableBufferPointer<MessageRow>) -> Result
  ) -> Result {
    let first = unsafe (start + Self.headBytes).assumingMemoryBound(to: MessageRow.self)
    let rows = unsafe UnsafeMutableBufferPointer(start: first, count: count)
    return withExtendedLifetime(self) { unsafe body(rows) }
  }

  /// Turns the rows round.
  package func reverse() {
    unsafe withRows { rows in
      for index in 0..<rows.count / 2 { unsafe rows.swapAt(index, rows.count - 1 - index) }
    }
  }

  /// A copy of the rows.
  package var rows: [MessageRow] { unsafe withRows { rows in unsafe Array(rows) } }

  private var bytes: UnsafeMutableRawPointer {
    unsafe start + Self.headBytes + rowCount * Self.rowBytes
  }

  /// A row; an empty one where there is none.
  package subscript(_ index: Int) -> MessageRow {
    unsafe withRows { rows in unsafe rows.indices.contains(index) ? rows[index] : MessageRow() }
  }

  /// The bytes of a text; none for a range that is not of this page.
  package subscript(_ text: Range<Int>) -> [UInt8] {
    guard !isGiven, text.lowerBound >= 0, text.upperBound <= byteCount else { return [] }
    return withExtendedLifetime(self) {
      unsafe [UInt8](UnsafeRawBufferPointer(start: bytes + text.lowerBound, count: text.count))
    }
  }

  /// How many bytes its texts take; none once the block was given away.
  package var textBytes: Int { isGiven ? 0 : byteCount }

  /// Copies all of its texts to where there is room for them.
  package func copyTexts(to target: UnsafeMutableRawPointer) {
    withExtendedLifetime(self) {
      unsafe target.copyMemory(from: bytes, byteCount: textBytes)
    }
  }

  /// A block with what is on the page, and with room behind that.
  package typealias Block = (
    start: UnsafeMutableRawPointer, bytes: UnsafeMutableRawPointer, end: UnsafeMutableRawPointer
  )

  /// Gives the block away with room for `extra` bytes behind the bytes: where it begins, where
  /// they do, and where the room does. The page has no rows then; nil where that was done before.
  package func give(extra: Int) -> Block? {
    if isGiven { return nil }
    let used = Self.headBytes + rowCount * Self.rowBytes + byteCount
    var block = unsafe start
    // What is twice as large as it need be would be held as long as the host holds it.
    if used + extra > room || room / 2 > used + extra {
      unsafe block = Self.allocate(used + extra)
      unsafe block.copyMemory(from: start, byteCount: used)
      unsafe start.deallocate()
    }
    isGiven = true
    return unsafe (block, block + (used - byteCount), block + used)
  }
}
