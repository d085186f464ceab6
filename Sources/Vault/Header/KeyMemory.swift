/// The keys of one open file, in guarded memory that is wiped when it is freed.
///
/// The data key is random and lives in the file, wrapped by the host's key. What
/// seals pages, frames and the header are keys derived from it, one for each
/// purpose, so that a unit of one kind can never pass for another.
internal import CSQLite
internal import CSodium

// Written once in `init`, read-only memory afterwards, so it may be shared.
@safe final class KeyMemory: @unchecked Sendable {
  private let block: UnsafeMutablePointer<UInt8>

  private enum Slot: Int {
    case data = 0
    case page = 1
    case log = 2
    case header = 3
    case content = 4
    case box = 5
    case own = 6
  }

  private static let context = "tl-vault"
  private static let blockBytes = 7 * FileFormat.keyBytes

  /// Derives the keys of the data key that `fill` writes; nil when it cannot.
  init?(_ fill: (UnsafeMutablePointer<UInt8>) -> Bool) {
    guard let raw = unsafe sodium_malloc(Self.blockBytes) else { return nil }
    unsafe block = raw.assumingMemoryBound(to: UInt8.self)
    unsafe sodium_memzero(raw, Self.blockBytes)
    guard unsafe fill(block) else { return nil }
    for slot in [Slot.page, .log, .header, .content, .box, .own] {
      let derived = unsafe crypto_kdf_derive_from_key(
        block + slot.rawValue * FileFormat.keyBytes, FileFormat.keyBytes,
        UInt64(slot.rawValue), Self.context, block)
      guard derived == 0 else { return nil }
    }
    unsafe sodium_mprotect_readonly(raw)
  }

  deinit {
    unsafe sodium_free(block)
  }

  /// A new random data key.
  static func random() -> KeyMemory? {
    unsafe KeyMemory { key in
      unsafe randombytes_buf(key, FileFormat.keyBytes)
      return true
    }
  }

  /// Valid as long as the object lives.
  var data: UnsafePointer<UInt8> { unsafe at(.data) }
  var page: UnsafePointer<UInt8> { unsafe at(.page) }
  var log: UnsafePointer<UInt8> { unsafe at(.log) }
  var header: UnsafePointer<UInt8> { unsafe at(.header) }
  var content: UnsafePointer<UInt8> { unsafe at(.content) }
  var box: UnsafePointer<UInt8> { unsafe at(.box) }
  var own: UnsafePointer<UInt8> { unsafe at(.own) }

  /// Takes the content key that the header has in the place of the derived one. Nobody else has the
  /// object yet.
  func take(content: UnsafePointer<UInt8>) {
    unsafe sodium_mprotect_readwrite(block)
    let place = unsafe block + Slot.content.rawValue * FileFormat.keyBytes
    unsafe place.update(from: content, count: FileFormat.keyBytes)
    unsafe sodium_mprotect_readonly(block)
  }

  private func at(_ slot: Slot) -> UnsafePointer<UInt8> {
    unsafe UnsafePointer(block + slot.rawValue * FileFormat.keyBytes)
  }
}

extension KeyMemory {
  /// A key that lives for one wrapping or unwrapping. Nothing changes it.
  @safe final class Wrapping: @unchecked Sendable {
    private let block: UnsafeMutablePointer<UInt8>

    init?(_ fill: (UnsafeMutablePointer<UInt8>) -> Bool) {
      guard let raw = unsafe sodium_malloc(FileFormat.keyBytes) else { return nil }
      unsafe block = raw.assumingMemoryBound(to: UInt8.self)
      guard unsafe fill(block) else { return nil }
    }

    deinit {
      unsafe sodium_free(block)
    }

    /// Valid as long as the object lives.
    var bytes: UnsafePointer<UInt8> { unsafe UnsafePointer(block) }

    /// BLAKE2b-256 of a message under this key.
    func derive(_ message: [UInt8]) -> Wrapping? {
      unsafe Wrapping { out in
        unsafe crypto_generichash(
          out, FileFormat.keyBytes, message, UInt64(message.count), block, FileFormat.keyBytes) == 0
      }
    }

    /// What this secret and the public part of another one have in common (X25519); nil where that
    /// is a point that has nothing in common with any secret.
    func agree(with part: [UInt8]) throws(VaultFailure) -> Wrapping? {
      var isPoint = false
      let shared = unsafe Wrapping { out in
        isPoint = unsafe crypto_scalarmult(out, block, part) == 0
        return true
      }
      guard let shared else { throw .io(SQLITE_NOMEM) }
      return isPoint ? shared : nil
    }

    /// The public part of this secret.
    var part: [UInt8] {
      var part = [UInt8](repeating: 0, count: FileFormat.keyBytes)
      unsafe crypto_scalarmult_base(&part, block)
      return part
    }
  }
}
