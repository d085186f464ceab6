/// What a `tl_frame`, a `tl_diff`, a `tl_text` or a `tl_layout` pointer points to: the struct, a
/// magic word and the bytes that it points to in one block, so that only what the
/// library gave out is ever released.
internal import Base
internal import CTideline
internal import Engine
internal import Viewport

@safe struct Block<Head> {
  private var head: Head
  private var word: UInt64

  /// A block with room for `size` bytes behind the struct, which `make` fills.
  static func new(
    _ word: UInt64, _ size: Int, _ make: (UnsafeMutableRawPointer) -> Head
  ) -> UnsafeMutablePointer<Head> {
    let header = MemoryLayout<Block<Head>>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: header + size, alignment: MemoryLayout<UInt64>.alignment)
    let head = unsafe make(memory + header)
    unsafe memory.initializeMemory(as: Block<Head>.self, to: Block(head: head, word: word))
    return unsafe memory.assumingMemoryBound(to: Head.self)
  }

  static func free(_ word: UInt64, _ head: UnsafeMutablePointer<Head>?) {
    guard let head = unsafe head, unsafe isAligned(OpaquePointer(head)) else { return }
    let block = unsafe UnsafeMutableRawPointer(head).assumingMemoryBound(to: Block<Head>.self)
    guard unsafe block.pointee.word == word else { return }
    unsafe block.pointee.word = 0
    unsafe block.deallocate()
  }
}

extension Block<tl_frame> {
  /// "outgoing" in ASCII, read as a number.
  private static var word: UInt64 { 0x676E_696F_6774_756F }

  static func new(_ frame: OutgoingFrame) -> UnsafeMutablePointer<tl_frame> {
    unsafe new(word, frame.bytes.count) { bytes in
      unsafe fill(bytes, frame.bytes)
      return unsafe tl_frame(id: frame.id, bytes: view(bytes, 0..<frame.bytes.count))
    }
  }

  static func free(_ frame: UnsafeMutablePointer<tl_frame>?) { unsafe free(word, frame) }
}

extension Block<tl_text> {
  /// "any text" in ASCII, read as a number.
  private static var word: UInt64 { 0x7478_6574_2079_6E61 }

  static func new(_ text: [UInt8]) -> UnsafeMutablePointer<tl_text> {
    unsafe new(word, text.count) { bytes in
      unsafe fill(bytes, text)
      return unsafe tl_text(bytes: view(bytes, 0..<text.count))
    }
  }

  static func free(_ text: UnsafeMutablePointer<tl_text>?) { unsafe free(word, text) }
}

extension Block<tl_diff> {
  /// "one diff" in ASCII, read as a number.
  private static var word: UInt64 { 0x6666_6964_2065_6E6F }

  static func new(_ diff: WindowDiff) -> UnsafeMutablePointer<tl_diff> {
    unsafe new(word, diff.ops.count * MemoryLayout<tl_op>.stride) { bytes in
      let ops = unsafe bytes.bindMemory(to: tl_op.self, capacity: diff.ops.count)
      for (index, op) in diff.ops.enumerated() {
        unsafe (ops + index).initialize(
          to: tl_op(
            kind: op.kind.rawValue, row: UInt32(clamping: op.row),
            from: UInt32(clamping: op.from), count: UInt32(clamping: op.count)))
      }
      return unsafe tl_diff(
        from_version: diff.from, to_version: diff.to, checksum: diff.checksum,
        row_count: UInt32(clamping: diff.rowCount), op_count: UInt32(clamping: diff.ops.count),
        ops: diff.ops.isEmpty ? nil : UnsafePointer(ops))
    }
  }

  static func free(_ diff: UnsafeMutablePointer<tl_diff>?) { unsafe free(word, diff) }
}

extension Block<tl_layout> {
  /// "a layout" in ASCII, read as a number.
  private static var word: UInt64 { 0x7475_6F79_616C_2061 }

  static func new(_ layout: Layout, layouts: UInt64) -> UnsafeMutablePointer<tl_layout> {
    let count = layout.rows.count + layout.missing.count
    return unsafe new(word, count * MemoryLayout<tl_placed>.stride) { bytes in
      let rows = unsafe bytes.bindMemory(to: tl_placed.self, capacity: count)
      for (index, row) in (layout.rows + layout.missing).enumerated() {
        unsafe (rows + index).initialize(to: tl_placed(row))
      }
      let missing = unsafe rows + layout.rows.count
      return unsafe tl_layout(
        layouts: layouts, row_count: UInt32(clamping: layout.rows.count),
        missing_count: UInt32(clamping: layout.missing.count),
        rows: layout.rows.isEmpty ? nil : UnsafePointer(rows),
        missing: layout.missing.isEmpty ? nil : UnsafePointer(missing))
    }
  }

  static func free(_ layout: UnsafeMutablePointer<tl_layout>?) { unsafe free(word, layout) }
}
