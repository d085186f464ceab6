/// Seals and opens the frames of a file of own work.
///
/// Rule protected: each frame names the one before it by its tag, and the first names the random
/// number of its file. So a frame opens only where it was written: one that was taken out, moved,
/// or put in from another file ends what can be read. Nothing says where the last frame is.
internal import CSodium

struct OwnChain: Sendable {
  private let keys: KeyMemory
  private var bound: [UInt8]
  private var number: Int64 = 1
  /// Where the next frame goes.
  private(set) var end = FileFormat.ownOffset

  private static let lengthOffset = 40
  private static let tagOffset = 44

  init(_ keys: KeyMemory, fileId: [UInt8], generation: [UInt8]) {
    self.keys = keys
    bound = [UInt8](repeating: 0, count: FileFormat.ownBoundBytes)
    unsafe bound.withUnsafeMutableBufferPointer { bound in
      guard let start = bound.baseAddress else { return }
      unsafe UnitCipher.bind(start, fileId: fileId)
    }
    setTag(generation[...])
  }

  /// The next frame as it is written.
  mutating func seal(_ text: [UInt8]) -> [UInt8] {
    let lead = FileFormat.ownLeadBytes
    var frame = [UInt8](repeating: 0, count: lead + text.count + FileFormat.reserveBytes)
    Words.put(UInt32(text.count), at: 0, of: &frame)
    bind(text.count)
    unsafe frame.withUnsafeMutableBufferPointer { frame in
      guard let start = frame.baseAddress else { return }
      let nonce = unsafe start + lead + text.count
      unsafe randombytes_buf(nonce, FileFormat.nonceBytes)
      unsafe crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        start + lead, nonce + FileFormat.nonceBytes, nil, text, UInt64(text.count),
        bound, UInt64(bound.count), nil, nonce, keys.own)
    }
    advance(over: frame[lead...])
    return frame
  }

  /// The text of the next frame, without its length; nil where it is none.
  mutating func open(_ frame: [UInt8]) -> [UInt8]? {
    let count = frame.count - FileFormat.reserveBytes
    guard count >= 0 else { return nil }
    bind(count)
    var text = [UInt8](repeating: 0, count: count)
    let isSound = unsafe frame.withUnsafeBufferPointer { frame in
      guard let start = frame.baseAddress else { return false }
      let nonce = unsafe start + count
      return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
        &text, nil, start, UInt64(count), nonce + FileFormat.nonceBytes,
        bound, UInt64(bound.count), nonce, keys.own) == 0
    }
    guard isSound else { return nil }
    advance(over: frame[...])
    return text
  }

  private mutating func bind(_ count: Int) {
    unsafe bound.withUnsafeMutableBufferPointer { bound in
      guard let start = bound.baseAddress else { return }
      unsafe UnitCipher.bind(start, .own, number)
    }
    Words.put(UInt32(count), at: Self.lengthOffset, of: &bound)
  }

  private mutating func advance(over unit: ArraySlice<UInt8>) {
    setTag(unit.suffix(FileFormat.tagBytes))
    // As many frames no file has.
    number &+= 1
    end += Int64(FileFormat.ownLeadBytes + unit.count)
  }

  private mutating func setTag(_ tag: ArraySlice<UInt8>) {
    bound.replaceSubrange(Self.tagOffset..., with: tag)
  }
}
