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
