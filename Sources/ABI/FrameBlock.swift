/// What a `tl_frame` pointer points to: the frame, a magic word and its bytes in
/// one block, so that only what the library gave out is ever released.
internal import CTideline
internal import Engine

@safe struct FrameBlock {
  /// "outgoing" in ASCII, read as a number.
  private static let magic: UInt64 = 0x676E_696F_6774_756F

  private var frame: tl_frame
  private var word: UInt64

  static func new(_ frame: OutgoingFrame) -> UnsafeMutablePointer<tl_frame> {
    let header = MemoryLayout<FrameBlock>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: header + frame.bytes.count, alignment: MemoryLayout<FrameBlock>.alignment)
    unsafe fill(memory + header, frame.bytes)
    let bytes = unsafe view(memory + header, 0..<frame.bytes.count)
    unsafe memory.initializeMemory(
      as: FrameBlock.self, to: FrameBlock(frame: tl_frame(id: frame.id, bytes: bytes), word: magic))
    return unsafe memory.assumingMemoryBound(to: tl_frame.self)
  }

  static func free(_ frame: UnsafeMutablePointer<tl_frame>?) {
    guard let frame = unsafe frame, unsafe isAligned(OpaquePointer(frame)) else { return }
    let block = unsafe UnsafeMutableRawPointer(frame).assumingMemoryBound(to: FrameBlock.self)
    guard unsafe block.pointee.word == magic else { return }
    unsafe block.pointee.word = 0
    unsafe block.deallocate()
  }
}
