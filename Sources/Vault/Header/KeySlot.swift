/// A key slot: the file's data key, wrapped for a key that the host has.
///
/// The host's key wraps it, while that is at hand. Each slot also has a public part (X25519), made
/// of the host's key: to wrap another data key for it takes that part alone, so a file gets a new
/// data key without the keys of all slots. Opening a slot that was wrapped so takes 750,000
/// instructions more, a tenth of a cold start.
///
/// What it says of itself is read from a file of anybody's, so the figures of Argon2id are bounded
/// before they are used. The label alone is not bound to the wrapped key; the header's keyed sum
/// covers it.
internal import Base
internal import CSQLite
internal import CSodium

/// One slot as bytes.
struct KeySlot: Equatable, Sendable {
  private(set) var bytes: [UInt8]

  static let bytesCount = 160
  // Places inside a slot: kind, operations, memory, salt, nonce, wrapped key with its tag, label.
  private static let saltOffset = 16
  private static let nonceOffset = 32
  private static let wrappedOffset = 56
  private static let labelOffset = 104
  private static let labelEnd = 152

  static let empty = KeySlot([UInt8](repeating: 0, count: bytesCount))

  /// `bytes` are exactly 160.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// A slot that wraps nothing yet, with its public part, to which anybody who has that can wrap.
  /// It takes as long as the figures of a passphrase say.
  static func prepared(_ new: NewSlot) throws(VaultFailure) -> PreparedSlot {
    var slot = empty
    Words.put(new.key.kind.rawValue, at: 0, of: &slot.bytes)
    if new.key.kind == .passphrase {
      Words.put(new.operations, at: 4, of: &slot.bytes)
      Words.put(UInt32(truncatingIfNeeded: new.memoryBytes), at: 8, of: &slot.bytes)
      Words.put(UInt32(truncatingIfNeeded: new.memoryBytes >> 32), at: 12, of: &slot.bytes)
    }
    guard slot.isUsable, new.label.count <= Limits.slotLabelBytesMax else {
      throw .io(SQLITE_MISUSE)
    }
    slot.randomize(saltOffset..<nonceOffset)
    slot.bytes.replaceSubrange(labelOffset..<labelOffset + new.label.count, with: new.label)
    let wrapping = try slot.wrappingKey(new.key)
    guard let secret = wrapping.derive(secretMessage) else { throw .io(SQLITE_NOMEM) }
    return PreparedSlot(slot: slot, part: secret.part, wrapping: wrapping)
  }

  /// Wraps the data key, where the key that opens the slot is not at hand so that who has the
  /// secret of its public part can open it; gives the public part of the secret that was made for
  /// that, and is gone, or zeros.
  mutating func wrap(
    _ keys: KeyMemory, for new: PreparedSlot, of file: FileHeader
  ) throws(VaultFailure) -> [UInt8] {
    var once = [UInt8](repeating: 0, count: FileFormat.keyBytes)
    var key = new.wrapping
    if key == nil {
      let pair = unsafe KeyMemory.Wrapping { out in
        unsafe randombytes_buf(out, FileFormat.keyBytes)
        return true
      }
      guard let pair else { throw .io(SQLITE_NOMEM) }
      once = pair.part
      key = try pair.agree(with: new.part)?.derive(once + new.part)
    }
    guard let wrapping = key else { throw .io(SQLITE_NOMEM) }
    randomize(Self.nonceOffset..<Self.wrappedOffset)
    let bound = bound(to: file)
    let nonce = Array(bytes[Self.nonceOffset..<Self.wrappedOffset])
    var sealed = [UInt8](repeating: 0, count: FileFormat.keyBytes + FileFormat.tagBytes)
    let done = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, keys.data, UInt64(FileFormat.keyBytes), bound, UInt64(bound.count), nil,
      nonce, wrapping.bytes)
    guard done == 0 else { throw .io(SQLITE_ERROR) }
    bytes.replaceSubrange(Self.wrappedOffset..<Self.labelOffset, with: sealed)
    return once
  }

  private mutating func randomize(_ range: Range<Int>) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe randombytes_buf(start + range.lowerBound, range.count)
    }
  }

  private static let secretMessage = Array("tideline slot secret".utf8)

  var kind: UInt32 { Words.get(bytes, 0) }
  var isEmpty: Bool { kind == 0 }
  private var operations: UInt32 { Words.get(bytes, 4) }
  private var memoryBytes: UInt64 {
    UInt64(Words.get(bytes, 8)) | UInt64(Words.get(bytes, 12)) << 32
  }

  /// Whether this version tries keys on it. The figures come from outside, and nothing is reserved
  /// or computed for those that are over the bounds.
  var isUsable: Bool {
    switch KeyKind(rawValue: kind) {
    case .raw, .code: true
    case .passphrase:
      Limits.operationsRange.contains(operations) && Limits.hashBytesRange.contains(memoryBytes)
    case nil: false
    }
  }

  /// What it says to anybody.
  func view(_ number: Int) -> SlotView {
    SlotView(
      number: number, kind: kind, operations: operations, memoryBytes: memoryBytes,
      label: Array(bytes[Self.labelOffset..<Self.labelEnd].prefix { $0 != 0 }))
  }

  /// The keys of the file, or nil where `key` is not the one that the slot is for. `once` is what
  /// `wrap` gave.
  func open(
    _ key: HostKey, once: [UInt8], of file: FileHeader
  ) throws(VaultFailure) -> KeyMemory? {
    var wrapping = try wrappingKey(key)
    if once.contains(where: { $0 != 0 }) {
      guard let secret = wrapping.derive(Self.secretMessage) else { throw .io(SQLITE_NOMEM) }
      guard let shared = try secret.agree(with: once) else { return nil }
      guard let derived = shared.derive(once + secret.part) else { throw .io(SQLITE_NOMEM) }
      wrapping = derived
    }
    let bound = bound(to: file)
    let nonce = Array(bytes[Self.nonceOffset..<Self.wrappedOffset])
    let sealed = Array(bytes[Self.wrappedOffset..<Self.labelOffset])
    var isWrong = false
    let keys = unsafe KeyMemory { data in
      let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
        data, nil, nil, sealed, UInt64(sealed.count), bound, UInt64(bound.count), nonce,
        wrapping.bytes)
      isWrong = result != 0
      return !isWrong
    }
    // Without memory nothing was tried.
    if keys == nil, !isWrong { throw .io(SQLITE_NOMEM) }
    return keys
  }

  /// What a slot is bound to: the file it lies in and its own parameters.
  private func bound(to file: FileHeader) -> [UInt8] {
    Array(file.bytes[0..<12]) + Array(file.bytes[16..<44]) + Array(bytes[0..<Self.nonceOffset])
  }

  /// The key that wraps the data key. A raw key and a code are random, so one keyed hash with the
  /// slot's salt is enough; a passphrase is made slow to guess.
  private func wrappingKey(_ key: HostKey) throws(VaultFailure) -> KeyMemory.Wrapping {
    let salt = Array(bytes[Self.saltOffset..<Self.nonceOffset])
    let (kind, operations, memory) = (key.kind, operations, memoryBytes)
    let message =
      Array("tideline slot ".utf8) + [UInt8(ascii: "0") + UInt8(truncatingIfNeeded: kind.rawValue)]
      + [0] + salt
    let made = unsafe KeyMemory.Wrapping { out in
      unsafe key.withBytes { secret in
        if kind != .passphrase {
          return unsafe crypto_generichash(
            out, FileFormat.keyBytes, message, UInt64(message.count), secret, key.count) == 0
        }
        return unsafe secret.withMemoryRebound(to: CChar.self, capacity: key.count) { secret in
          unsafe crypto_pwhash_argon2id(
            out, UInt64(FileFormat.keyBytes), secret, UInt64(key.count), salt, UInt64(operations),
            Int(truncatingIfNeeded: memory), crypto_pwhash_argon2id_ALG_ARGON2ID13) == 0
        }
      } ?? false
    }
    // It fails for want of memory alone, which says nothing of the key.
    guard let made else { throw .io(SQLITE_NOMEM) }
    return made
  }
}

/// A slot for a key, of no file yet.
package struct PreparedSlot: Sendable {
  var slot: KeySlot
  /// To which a data key is wrapped without the key of the slot.
  let part: [UInt8]
  /// Made of the key of the slot; nil where that is not at hand.
  var wrapping: KeyMemory.Wrapping?
}

/// Numbers in the header, the lowest byte first.
enum Words {
  static func get(_ bytes: [UInt8], _ place: Int) -> UInt32 {
    UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
      | UInt32(bytes[place + 3]) << 24
  }

  static func put(_ word: UInt32, at place: Int, of bytes: inout [UInt8]) {
    for index in 0..<4 {
      bytes[place + index] = UInt8(truncatingIfNeeded: word >> UInt32(8 * index))
    }
  }
}
