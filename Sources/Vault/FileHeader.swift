/// The header in front of the pages: who can open the file, and how it is laid out.
///
/// It is kept twice, each copy with a plain checksum (so that damage is told
/// from a wrong key) and a keyed one (so that nobody without the key can change
/// a flag). A write that tears one copy leaves the other.
internal import Base
internal import CSodium

/// One copy of the header, as bytes. `isSound` is asked before anything else.
struct FileHeader: Equatable {
  private(set) var bytes: [UInt8]

  static let slotCount = 8
  static let slotBytes = 160
  static let slotsOffset = 64
  static let macOffset = 4000
  static let macEnd = 4032
  static let sumOffset = 4064
  private static let sumBytes = 32

  /// The kinds of key slot of version 1.
  private enum SlotKind {
    static let raw: UInt32 = 1
  }

  /// `copy` has exactly `FileFormat.copyBytes` bytes.
  init?(_ copy: ArraySlice<UInt8>) {
    guard copy.count == FileFormat.copyBytes else { return nil }
    bytes = Array(copy)
  }

  /// The header of a new file, with one slot that `key` opens.
  init?(newFor key: HostKey, fileId: [UInt8], keys: KeyMemory) {
    bytes = Array(repeating: 0, count: FileFormat.copyBytes)
    guard fileId.count == FileFormat.fileIdBytes else { return nil }
    bytes.replaceSubrange(0..<8, with: FileFormat.magic)
    put(FileFormat.version, at: 8)
    put(1, at: 12)
    bytes.replaceSubrange(16..<32, with: fileId)
    put(UInt32(FileFormat.pageBytes), at: 32)
    put(UInt32(FileFormat.reserveBytes), at: 36)
    put(FileFormat.cipher, at: 40)
    put(HeaderFlag.initialized | HeaderFlag.incrementalVacuum, at: 44)
    guard wrap(keys, with: key, slot: 0) else { return nil }
    close(with: keys)
  }

  var hasMagic: Bool { bytes.starts(with: FileFormat.magic) }
  var version: UInt32 { word(at: 8) }
  var sequence: UInt32 { word(at: 12) }
  var fileId: [UInt8] { Array(bytes[16..<32]) }
  var flags: UInt32 { word(at: 44) }

  /// True when the copy has our magic and no byte of it was changed by accident.
  /// Magic, version and this checksum keep their places in every version.
  var isSound: Bool {
    hasMagic && plainSum() == Array(bytes[Self.sumOffset...])
  }

  /// True when this version of the library can read what the header describes.
  var isKnown: Bool {
    version == FileFormat.version && word(at: 32) == UInt32(FileFormat.pageBytes)
      && word(at: 36) == UInt32(FileFormat.reserveBytes) && word(at: 40) == FileFormat.cipher
  }

  /// The keys of the file, or nil when no slot opens with `key`.
  func unlock(_ key: HostKey) -> KeyMemory? {
    for slot in 0..<Self.slotCount where word(at: place(of: slot)) == SlotKind.raw {
      if let keys = unwrap(key, slot: slot) { return keys }
    }
    return nil
  }

  /// True when the header is the one that was written with these keys.
  func isAuthentic(_ keys: KeyMemory) -> Bool {
    Array(bytes[Self.macOffset..<Self.macEnd]) == keyedSum(keys)
  }

  /// The same header with every key slot empty: no key opens it any more.
  func withoutSlots() -> FileHeader {
    var wiped = self
    let end = Self.slotsOffset + Self.slotCount * Self.slotBytes
    for place in Self.slotsOffset..<end { wiped.bytes[place] = 0 }
    for place in Self.macOffset..<Self.sumOffset { wiped.bytes[place] = 0 }
    wiped.bytes.replaceSubrange(Self.sumOffset..., with: wiped.plainSum())
    return wiped
  }
}

// MARK: - Slots

extension FileHeader {
  // Places inside a slot: kind, ops, mem, salt, nonce, wrapped key with its tag.
  private static let saltOffset = 16
  private static let saltBytes = 16
  private static let slotNonceOffset = 32
  private static let wrappedOffset = 56

  private func place(of slot: Int) -> Int {
    Self.slotsOffset + slot * Self.slotBytes
  }

  /// What a slot is bound to: the file it lies in and its own parameters.
  private func bound(slot: Int) -> [UInt8] {
    let start = place(of: slot)
    return Array(bytes[0..<12]) + Array(bytes[16..<44])
      + Array(bytes[start..<start + Self.slotNonceOffset])
  }

  /// The key that wraps the data key: the host's key is random, so one keyed
  /// hash with the slot's salt is enough and no slow derivation is run.
  private static func wrappingKey(_ key: HostKey, salt: ArraySlice<UInt8>) -> KeyMemory.Wrapping? {
    let message = Array("tideline slot 1".utf8) + [0] + Array(salt)
    return unsafe KeyMemory.Wrapping { out in
      unsafe key.withBytes { bytes in
        unsafe crypto_generichash(
          out, FileFormat.keyBytes, message, UInt64(message.count), bytes, key.count) == 0
      }
    }
  }

  private mutating func wrap(_ keys: KeyMemory, with key: HostKey, slot: Int) -> Bool {
    let start = place(of: slot)
    put(SlotKind.raw, at: start)
    randomize(start + Self.saltOffset, Self.saltBytes)
    randomize(start + Self.slotNonceOffset, FileFormat.nonceBytes)
    let salt = bytes[start + Self.saltOffset..<start + Self.slotNonceOffset]
    guard let wrapping = Self.wrappingKey(key, salt: salt) else { return false }
    let bound = bound(slot: slot)
    let nonce = Array(bytes[start + Self.slotNonceOffset..<start + Self.wrappedOffset])
    var sealed = [UInt8](repeating: 0, count: FileFormat.keyBytes + FileFormat.tagBytes)
    let done = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, keys.data, UInt64(FileFormat.keyBytes), bound, UInt64(bound.count), nil,
      nonce, wrapping.bytes)
    let wrapped = start + Self.wrappedOffset
    bytes.replaceSubrange(wrapped..<wrapped + sealed.count, with: sealed)
    return done == 0
  }

  private func unwrap(_ key: HostKey, slot: Int) -> KeyMemory? {
    let start = place(of: slot)
    let salt = bytes[start + Self.saltOffset..<start + Self.slotNonceOffset]
    guard let wrapping = Self.wrappingKey(key, salt: salt) else { return nil }
    let bound = bound(slot: slot)
    let nonce = Array(bytes[start + Self.slotNonceOffset..<start + Self.wrappedOffset])
    let wrapped = start + Self.wrappedOffset
    let sealed = Array(bytes[wrapped..<wrapped + FileFormat.keyBytes + FileFormat.tagBytes])
    return unsafe KeyMemory { data in
      unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
        data, nil, nil, sealed, UInt64(sealed.count), bound, UInt64(bound.count), nonce,
        wrapping.bytes) == 0
    }
  }
}

// MARK: - Words and sums

extension FileHeader {
  private func word(at place: Int) -> UInt32 {
    UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
      | UInt32(bytes[place + 3]) << 24
  }

  private mutating func put(_ word: UInt32, at place: Int) {
    for index in 0..<4 {
      bytes[place + index] = UInt8(truncatingIfNeeded: word >> UInt32(8 * index))
    }
  }

  private mutating func randomize(_ place: Int, _ count: Int) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe randombytes_buf(start + place, count)
    }
  }

  private mutating func close(with keys: KeyMemory) {
    bytes.replaceSubrange(Self.macOffset..<Self.macEnd, with: keyedSum(keys))
    bytes.replaceSubrange(Self.sumOffset..., with: plainSum())
  }

  private func keyedSum(_ keys: KeyMemory) -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: Self.sumBytes)
    unsafe crypto_generichash(
      &sum, sum.count, bytes, UInt64(Self.macOffset), keys.header, FileFormat.keyBytes)
    return sum
  }

  private func plainSum() -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: Self.sumBytes)
    unsafe crypto_generichash(&sum, sum.count, bytes, UInt64(Self.sumOffset), nil, 0)
    return sum
  }
}
