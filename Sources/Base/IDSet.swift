/// A set of ids. All bytes of an id are hashed at once; an array gives them one by one, which
/// takes ten times as long, and each message of a page is looked for.

package struct IDSet: Equatable, Sendable {
  private struct ID: Hashable {
    let bytes: [UInt8]

    func hash(into hasher: inout Hasher) {
      hasher.combine(all: bytes)
    }
  }

  private var ids: Set<ID> = []

  package init() {}

  package init(_ ids: some Sequence<[UInt8]>) {
    insert(all: ids)
  }

  package var count: Int { ids.count }

  /// All of them, in no order.
  package var all: [[UInt8]] { ids.map(\.bytes) }

  package mutating func reserve(_ count: Int) {
    if count > 1 { ids.reserveCapacity(count) }
  }

  package mutating func insert(_ id: [UInt8]) {
    ids.insert(ID(bytes: id))
  }

  package mutating func insert(all ids: some Sequence<[UInt8]>) {
    for id in ids { insert(id) }
  }

  package func contains(_ id: [UInt8]) -> Bool {
    !ids.isEmpty && ids.contains(ID(bytes: id))
  }
}

extension Hasher {
  /// The bytes of an array at once.
  package mutating func combine(all bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe combine(bytes: $0) }
  }
}

/// The bytes of an id as one number, the same in each process: who wants it spread mixes it.
package func foldedBytes(of id: [UInt8]) -> UInt64 {
  unsafe id.withUnsafeBytes { bytes in
    var folded: UInt64 = 0xCBF2_9CE4_8422_2325
    // Eight bytes at a time, and the rest one by one.
    let words = bytes.count & ~7
    for at in stride(from: 0, to: words, by: 8) {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      folded = (folded ^ word) &* 0x100_0000_01B3
      folded ^= folded >> 29
    }
    for at in words..<bytes.count {
      folded = (folded ^ UInt64(unsafe bytes[at])) &* 0x100_0000_01B3
    }
    return folded
  }
}
