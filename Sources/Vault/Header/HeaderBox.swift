/// What only who has the data key reads of a header: the public part of each slot, and the content
/// key.
///
/// The parts are sealed so that nobody outside has both halves of what a slot's key is made of,
/// also one who could turn a public part back. The content key is the one of the first data key:
/// what the tables know by digests they know after a change of the data key, too.
internal import CSQLite
internal import CSodium

@safe final class HeaderBox {
  /// Eight parts, then the content key.
  private static let textBytes = (FileHeader.slotCount + 1) * FileFormat.keyBytes
  private static let onceOffset = 1344
  /// Nonce, ciphertext, tag. All zeros in a file of an earlier version.
  static let range = 1600..<1600 + FileFormat.nonceBytes + textBytes + FileFormat.tagBytes

  /// Where what was made once for the wrapping of a slot lies: the public half.
  static func place(ofOnce number: Int) -> Range<Int> {
    let start = onceOffset + number * FileFormat.keyBytes
    return start..<start + FileFormat.keyBytes
  }

  private let block: UnsafeMutablePointer<UInt8>

  /// Nothing but zeros.
  init() throws(VaultFailure) {
    guard let raw = unsafe sodium_malloc(Self.textBytes) else { throw .io(SQLITE_NOMEM) }
    unsafe sodium_memzero(raw, Self.textBytes)
    unsafe block = raw.assumingMemoryBound(to: UInt8.self)
  }

  /// That of an authentic header.
  convenience init(of header: FileHeader, _ keys: KeyMemory) throws(VaultFailure) {
    try self.init()
    let bytes = header.bytes[Self.range]
    guard bytes.contains(where: { $0 != 0 }) else {
      unsafe set(content: keys.content)
      return
    }
    let nonce = Array(bytes.prefix(FileFormat.nonceBytes))
    let sealed = Array(bytes.dropFirst(FileFormat.nonceBytes))
    let bound = Self.bound(to: header)
    let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      block, nil, nil, sealed, UInt64(sealed.count), bound, UInt64(bound.count), nonce, keys.box)
    guard result == 0 else { throw .damaged }
  }

  deinit { unsafe sodium_free(block) }

  /// Valid as long as the box lives.
  var content: UnsafePointer<UInt8> {
    unsafe UnsafePointer(block + FileHeader.slotCount * FileFormat.keyBytes)
  }

  func set(content: UnsafePointer<UInt8>) {
    let place = unsafe block + FileHeader.slotCount * FileFormat.keyBytes
    unsafe place.update(from: content, count: FileFormat.keyBytes)
  }

  func part(_ number: Int) -> [UInt8] {
    let place = unsafe block + number * FileFormat.keyBytes
    return unsafe Array(UnsafeBufferPointer(start: place, count: FileFormat.keyBytes))
  }

  func set(part: [UInt8], of number: Int) {
    let place = unsafe block + number * FileFormat.keyBytes
    for (index, byte) in part.prefix(FileFormat.keyBytes).enumerated() {
      unsafe place[index] = byte
    }
  }

  func sealed(for header: FileHeader, _ keys: KeyMemory) throws(VaultFailure) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: FileFormat.nonceBytes)
    unsafe randombytes_buf(&nonce, nonce.count)
    let bound = Self.bound(to: header)
    var sealed = [UInt8](repeating: 0, count: Self.textBytes + FileFormat.tagBytes)
    let done = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, block, UInt64(Self.textBytes), bound, UInt64(bound.count), nil, nonce,
      keys.box)
    guard done == 0 else { throw .io(SQLITE_ERROR) }
    return nonce + sealed
  }

  /// Version, file and form of the pages.
  private static func bound(to header: FileHeader) -> [UInt8] {
    Array(header.bytes[0..<12]) + Array(header.bytes[16..<44])
  }
}
