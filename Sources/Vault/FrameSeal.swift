/// Seals and opens one frame of the log, in its place.
///
/// A frame that lies open is a lead of 24 bytes, then header and page as SQLite has them. Sealed
/// it is a secret box with the frame's number and header, then the page's unit. Both are sealed
/// under one nonce, each with its key, so the box holds for that seal of the page only.
///
/// The cipher derives a key from the first 16 bytes of a nonce. Frames that are written in one
/// step have them in common, drawn for this step, and go by their last 8, so the two keys are
/// derived once, and what comes out is what libsodium's own functions make of key and nonce.
internal import CSodium

/// Where what seals the frames of one step lies, and how many bytes that takes.
private enum Room {
  static let drawn = 0
  static let pageKey = 16
  static let logKey = 48
  static let shortNonce = 80
  static let stream = 96
  static let bytes = 160
}

enum FrameSeal {
  /// Whether an open header is that of the last frame of a commit: no other has the size of the
  /// database.
  @inline(__always)
  static func isCommit(_ header: UnsafePointer<UInt8>) -> Bool {
    unsafe UnsafeRawPointer(header).loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0
  }

  /// Seals frames that lie open one after the other, the first of them `number`. False where
  /// they were not: what is not sealed must not be written.
  static func seal(
    _ frames: UnsafeMutablePointer<UInt8>, _ count: Int, from number: Int64,
    bound: UnsafeMutablePointer<UInt8>, pageKey: UnsafePointer<UInt8>,
    logKey: UnsafePointer<UInt8>
  ) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Room.bytes) { room in
      guard let room = room.baseAddress else { return false }
      unsafe room.initialize(repeating: 0, count: Room.bytes)
      unsafe randombytes_buf(room, Room.pageKey)
      unsafe crypto_core_hchacha20(room + Room.pageKey, room, pageKey, nil)
      unsafe crypto_core_hchacha20(room + Room.logKey, room, logKey, nil)
      for place in 0..<count {
        let frame = unsafe frames + place * FileFormat.frameUnitBytes
        let nonce = unsafe nonce(frame)
        unsafe nonce.update(from: room, count: Room.pageKey)
        unsafe UnsafeMutableRawPointer(nonce + Room.pageKey).storeBytes(
          of: UInt64(place).littleEndian, as: UInt64.self)
        unsafe UnitCipher.bind(bound, .page, pageNumber(frame + FileFormat.frameLeadBytes))
        unsafe sealPage(frame + FileFormat.framePageOffset, bound, room)
        unsafe sealLead(frame, number &+ Int64(place), room)
      }
      unsafe sodium_memzero(room, Room.bytes)
      return true
    }
  }

  /// What `crypto_aead_xchacha20poly1305_ietf` does once it has derived its key.
  @inline(__always)
  private static func sealPage(
    _ page: UnsafeMutablePointer<UInt8>, _ bound: UnsafeMutablePointer<UInt8>,
    _ room: UnsafeMutablePointer<UInt8>
  ) {
    let nonce = unsafe page + FileFormat.pageTextBytes
    // Four zeros stand before them.
    unsafe (room + Room.shortNonce + 4).update(from: nonce + Room.pageKey, count: 8)
    unsafe crypto_aead_chacha20poly1305_ietf_encrypt_detached(
      page, nonce + FileFormat.nonceBytes, nil, page, UInt64(FileFormat.pageTextBytes),
      bound, UInt64(FileFormat.boundBytes), nil, room + Room.shortNonce, room + Room.pageKey)
  }

  /// What `crypto_secretbox_xchacha20poly1305` does: the first 32 bytes of the stream are the
  /// key of the tag, and the next are laid over the text.
  @inline(__always)
  private static func sealLead(
    _ frame: UnsafeMutablePointer<UInt8>, _ number: Int64, _ room: UnsafeMutablePointer<UInt8>
  ) {
    let text = unsafe frame + FileFormat.tagBytes
    unsafe UnsafeMutableRawPointer(text).storeBytes(of: number.littleEndian, as: Int64.self)
    let stream = unsafe room + Room.stream
    unsafe crypto_stream_chacha20(stream, 64, nonce(frame) + Room.pageKey, room + Room.logKey)
    for place in 0..<leadTextBytes { unsafe text[place] ^= stream[32 &+ place] }
    unsafe crypto_onetimeauth_poly1305(frame, text, UInt64(leadTextBytes), stream)
  }

  /// Opens a frame in its place. False when any byte is not as it was sealed, or not here.
  static func open(
    _ frame: UnsafeMutablePointer<UInt8>, _ number: Int64,
    bound: UnsafeMutablePointer<UInt8>, pageKey: UnsafePointer<UInt8>,
    logKey: UnsafePointer<UInt8>
  ) -> Bool {
    let text = unsafe frame + FileFormat.tagBytes
    guard
      unsafe crypto_secretbox_xchacha20poly1305_open_detached(
        text, text, frame, UInt64(leadTextBytes), nonce(frame), logKey) == 0
    else { return false }
    let found = unsafe UnsafeRawPointer(text).loadUnaligned(as: Int64.self)
    guard Int64(littleEndian: found) == number else { return false }
    let page = unsafe frame + FileFormat.framePageOffset
    unsafe UnitCipher.bind(bound, .page, pageNumber(frame + FileFormat.frameLeadBytes))
    guard
      unsafe UnitCipher.open(page, FileFormat.pageTextBytes, into: page, bound: bound, key: pageKey)
    else { return false }
    unsafe (page + FileFormat.pageTextBytes).update(
      repeating: 0, count: FileFormat.reserveBytes)
    return true
  }

  /// The page that a frame holds, as its header says.
  @inline(__always)
  static func pageNumber(_ header: UnsafePointer<UInt8>) -> Int64 {
    Int64(unsafe UnsafeRawPointer(header).loadUnaligned(as: UInt32.self).bigEndian)
  }

  /// The frame's number and header.
  private static let leadTextBytes = FileFormat.frameNumberBytes + FileFormat.frameHeaderBytes

  /// Where the nonce of a frame lies.
  @inline(__always)
  private static func nonce(_ frame: UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8> {
    unsafe frame + (FileFormat.frameUnitBytes - FileFormat.reserveBytes)
  }
}
