/// Tells contents apart without keeping them: payloads that were opened, and unreadable items.
///
/// Rule protected: what a server chooses freely never passes for something else. A digest is made
/// under a key that nobody outside has: that of the file for what is stored, that of the process
/// for what is not. One without a key could be met on purpose, and the text of one message would
/// be shown for another.
internal import Base
internal import Vault

/// Makes the digests of one store.
struct ContentDigest: Sendable {
  /// Nil in memory, where nothing outlives the process.
  let vault: Vault?

  func callAsFunction(_ bytes: ArraySlice<UInt8>) -> Int64 {
    guard let vault else { return Self.ofProcess(bytes) }
    return unsafe bytes.withUnsafeBytes { unsafe vault.digest($0) }
  }

  /// Another one in each process (the standard library's SipHash, seeded at random).
  static func ofProcess(_ bytes: ArraySlice<UInt8>) -> Int64 {
    var hasher = Hasher()
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return Int64(hasher.finalize())
  }
}

extension MessageStore {
  /// The digest under which the content of a message is stored.
  package func digest(_ bytes: ArraySlice<UInt8>) -> Int64 { contentDigest(bytes) }
}
