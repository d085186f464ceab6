/// The server's number of a message in its conversation. Numbers are given in the order in which
/// messages become visible. Positions behind all of them are for what the server has not seen.
package struct ServerSequence: Hashable, Sendable, BitwiseCopyable {
  package let value: Int64

  /// From 0 on and below 2^62, nil for any other: both neighbours are numbers of a position, too.
  package init?(_ value: Int64) {
    guard 0..<1 << 62 ~= value else { return nil }
    self.value = value
  }

  /// Whether it is right behind another, so that nothing fits between them.
  package func follows(_ other: ServerSequence) -> Bool { value == other.value + 1 }
}
