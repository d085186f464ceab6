/// The host's key on its way to the file: one buffer that is wiped.
///
/// An array would be copied by whoever changes it while another holds it, also by who means to
/// wipe it, and each copy stays in freed memory. This is passed by reference only; whoever made
/// it wipes it when the opening has ended.
internal import Glibc

// It is written by `init` and `wipe` alone; who opens with it waits for both.
@safe package final class HostKey: @unchecked Sendable {
  package let count: Int
  private let block: UnsafeMutableRawPointer

  /// Copies what lies at `source`.
  package init(copying source: UnsafeRawBufferPointer) {
    count = source.count
    unsafe block = .allocate(byteCount: max(1, source.count), alignment: 16)
    guard let start = source.baseAddress else { return }
    unsafe block.copyMemory(from: start, byteCount: source.count)
  }

  /// A copy of bytes that are another's to wipe.
  package convenience init(_ bytes: [UInt8]) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    unsafe room.copyBytes(from: bytes)
    unsafe self.init(copying: UnsafeRawBufferPointer(room))
    if let start = room.baseAddress { unsafe explicit_bzero(start, room.count) }
    unsafe room.deallocate()
  }

  deinit {
    wipe()
    unsafe block.deallocate()
  }

  /// Overwrites the key. After it the key is zeros.
  package func wipe() {
    unsafe explicit_bzero(block, count)
  }

  /// The key's bytes, for the call only.
  package func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe body(UnsafePointer(block.assumingMemoryBound(to: UInt8.self)))
  }
}

extension HostKey: Equatable {
  package static func == (a: HostKey, b: HostKey) -> Bool { a === b }
}
