/// A secret of the host's on its way to the file: one buffer that is wiped.
///
/// An array would be copied by whoever changes it while another holds it, also by who means to
/// wipe it, and each copy stays in freed memory. This is passed by reference only, and lies in
/// guarded pages that are not written to swap or to a core dump. Whoever made it wipes it when the
/// call has ended.
internal import CSodium

/// What a secret is, by the number of its kind in the file.
package enum KeyKind: UInt32, Sendable {
  /// 32 random bytes.
  case raw = 1
  /// What a person remembers.
  case passphrase = 2
  /// What `RecoveryCode` made.
  case code = 3
}

// It is written by `init` and `wipe` alone; who opens with it waits for both.
@safe package final class HostKey: @unchecked Sendable {
  package let kind: KeyKind
  /// 0 where the system had no memory for it.
  package let count: Int
  private var block: UnsafeMutableRawPointer?

  /// `fill` writes the bytes.
  package init(_ kind: KeyKind, count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    self.kind = kind
    // The library asks for it before the first memory, in any order of calls.
    unsafe block = sodium_init() < 0 ? nil : sodium_malloc(max(1, count))
    guard let block = unsafe block else {
      self.count = 0
      return
    }
    self.count = count
    unsafe fill(block.assumingMemoryBound(to: UInt8.self))
  }

  /// Copies what lies at `source`.
  package convenience init(copying source: UnsafeRawBufferPointer, as kind: KeyKind = .raw) {
    unsafe self.init(kind, count: source.count) { out in
      guard let start = source.baseAddress else { return }
      unsafe UnsafeMutableRawPointer(out).copyMemory(from: start, byteCount: source.count)
    }
  }

  /// A copy of bytes that are another's to wipe.
  package convenience init(_ bytes: [UInt8], as kind: KeyKind = .raw) {
    unsafe self.init(kind, count: bytes.count) { out in
      for (place, byte) in bytes.enumerated() { unsafe out[place] = byte }
    }
  }

  deinit {
    unsafe sodium_free(block)
  }

  /// Overwrites the secret and gives its memory back: guarded pages are four mappings of the
  /// process, which has few for thousands of clients.
  package func wipe() {
    unsafe sodium_free(block)
    unsafe block = nil
  }

  /// The secret's bytes, for the call only; nil without memory, and once it is wiped.
  package func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result? {
    guard let block = unsafe block else { return nil }
    return unsafe body(UnsafePointer(block.assumingMemoryBound(to: UInt8.self)))
  }
}

extension HostKey: Equatable {
  package static func == (a: HostKey, b: HostKey) -> Bool { a === b }
}

/// A key slot that the host asks for.
package struct NewSlot: Sendable {
  package var key: HostKey
  /// What anybody may read who has the file.
  package var label: [UInt8]
  /// Figures of Argon2id, for a passphrase.
  package var operations: UInt32
  package var memoryBytes: UInt64

  package init(
    _ key: HostKey, label: [UInt8] = [], operations: UInt32 = Limits.operationsDefault,
    memoryBytes: UInt64 = Limits.hashBytesDefault
  ) {
    self.key = key
    self.label = label
    self.operations = operations
    self.memoryBytes = memoryBytes
  }
}

/// What a key slot says to anybody who has the file.
package struct SlotView: Equatable, Sendable {
  package var number: Int
  /// Its number in the file, also of a kind of a later version.
  package var kind: UInt32
  package var operations: UInt32
  package var memoryBytes: UInt64
  package var label: [UInt8]

  package init(
    number: Int, kind: UInt32, operations: UInt32, memoryBytes: UInt64, label: [UInt8]
  ) {
    self.number = number
    self.kind = kind
    self.operations = operations
    self.memoryBytes = memoryBytes
    self.label = label
  }
}
