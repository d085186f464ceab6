/// A set of ids. A few are a list, for to look through that takes less than one hash. Of more, all
/// bytes of an id are hashed at once; an array gives them one by one, which takes ten times as
/// long, and each message of a page is looked for.

package struct IDSet: Sendable {
  private struct ID: Hashable {
    let bytes: [UInt8]

    func hash(into hasher: inout Hasher) {
      hasher.combine(all: bytes)
    }
  }

  private static let fewMax = 4

  /// All of them, each once, while nothing is hashed.
  private var few: [[UInt8]] = []
  private var hashed: Set<ID>?

  package init() {}

  package init(_ ids: some Sequence<[UInt8]>) {
    insert(all: ids)
  }

  package var count: Int { hashed?.count ?? few.count }

  /// All of them, in no order.
  package var all: [[UInt8]] { hashed?.map(\.bytes) ?? few }

  package mutating func reserve(_ count: Int) {
    if count > Self.fewMax { hash(count) }
  }

  package mutating func insert(_ id: [UInt8]) {
    if few.count == Self.fewMax { hash(2 * Self.fewMax) }
    if hashed != nil {
      hashed?.insert(ID(bytes: id))
    } else if !few.contains(id) {
      few.append(id)
    }
  }

  /// False where it was not there.
  @discardableResult
  package mutating func remove(_ id: [UInt8]) -> Bool {
    if hashed != nil { return hashed?.remove(ID(bytes: id)) != nil }
    guard let place = few.firstIndex(of: id) else { return false }
    few.remove(at: place)
    return true
  }

  /// Leaves the list for good.
  private mutating func hash(_ count: Int) {
    var ids = hashed ?? []
    hashed = nil
    ids.reserveCapacity(count)
    for id in few { ids.insert(ID(bytes: id)) }
    few = []
    hashed = ids
  }

  package mutating func insert(all ids: some Sequence<[UInt8]>) {
    for id in ids { insert(id) }
  }

  package func contains(_ id: [UInt8]) -> Bool {
    hashed?.contains(ID(bytes: id)) ?? few.contains(id)
  }
}

extension IDSet: Equatable {
  package static func == (a: IDSet, b: IDSet) -> Bool {
    a.count == b.count && a.all.allSatisfy { b.contains($0) }
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
