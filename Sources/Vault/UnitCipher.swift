/// Seals and opens one unit: the hot path of every page and frame.
///
/// A unit is ciphertext, then 24 bytes of nonce, then 16 bytes of tag. Each seal
/// draws a new nonce, also for the same page, so no keystream is ever used
/// twice. Nothing is allocated here.
internal import CSodium

enum UnitCipher {
  /// Seals `count` bytes of `text` into `unit`, which has room for 40 more.
  /// Both may begin at the same address.
  @inline(__always)
  static func seal(
    _ text: UnsafePointer<UInt8>, _ count: Int, into unit: UnsafeMutablePointer<UInt8>,
    bound: UnsafePointer<UInt8>, key: UnsafePointer<UInt8>
  ) {
    let nonce = unsafe unit + count
    unsafe randombytes_buf(nonce, FileFormat.nonceBytes)
    unsafe crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
      unit, nonce + FileFormat.nonceBytes, nil, text, UInt64(count),
      bound, UInt64(FileFormat.boundBytes), nil, nonce, key)
  }

  /// Opens a unit of `count` bytes of text into `text`, which may be the unit
  /// itself. False, and `text` all zero, when any byte is not as it was sealed.
  @inline(__always)
  static func open(
    _ unit: UnsafePointer<UInt8>, _ count: Int, into text: UnsafeMutablePointer<UInt8>,
    bound: UnsafePointer<UInt8>, key: UnsafePointer<UInt8>
  ) -> Bool {
    let nonce = unsafe unit + count
    return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
      text, nil, unit, UInt64(count), nonce + FileFormat.nonceBytes,
      bound, UInt64(FileFormat.boundBytes), nonce, key) == 0
  }

  /// True when `open` would succeed, in a third of its time: nothing is deciphered.
  @inline(__always)
  static func isSound(
    _ unit: UnsafePointer<UInt8>, _ count: Int,
    bound: UnsafePointer<UInt8>, key: UnsafePointer<UInt8>
  ) -> Bool {
    let nonce = unsafe unit + count
    return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
      nil, nil, unit, UInt64(count), nonce + FileFormat.nonceBytes,
      bound, UInt64(FileFormat.boundBytes), nonce, key) == 0
  }

  /// Writes the part of the associated data that all units of a file share.
  static func bind(_ bound: UnsafeMutablePointer<UInt8>, fileId: [UInt8]) {
    let raw = UnsafeMutableRawPointer(bound)
    unsafe raw.initializeMemory(as: UInt8.self, repeating: 0, count: FileFormat.boundBytes)
    for (place, byte) in fileId.prefix(FileFormat.fileIdBytes).enumerated() {
      unsafe bound[place] = byte
    }
    unsafe raw.storeBytes(
      of: FileFormat.version.littleEndian, toByteOffset: 16, as: UInt32.self)
    unsafe raw.storeBytes(
      of: UInt32(FileFormat.pageBytes).littleEndian, toByteOffset: 20, as: UInt32.self)
    unsafe raw.storeBytes(
      of: FileFormat.cipher.littleEndian, toByteOffset: 24, as: UInt32.self)
  }

  /// Writes the part of the associated data that is the unit's own.
  @inline(__always)
  static func bind(_ bound: UnsafeMutablePointer<UInt8>, _ kind: UnitKind, _ number: Int64) {
    let raw = UnsafeMutableRawPointer(bound)
    unsafe raw.storeBytes(of: kind.rawValue.littleEndian, toByteOffset: 28, as: UInt32.self)
    unsafe raw.storeBytes(of: number.littleEndian, toByteOffset: 32, as: Int64.self)
  }
}
