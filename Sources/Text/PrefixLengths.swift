/// How long the beginnings of words are that become tokens of their own.

package struct PrefixLengths: Equatable, Sendable {
  /// The greatest length that can be asked for.
  package static let max = 16
  package static let none = PrefixLengths([])
  /// What a search as one types asks for most.
  package static let common = PrefixLengths([2, 3, 4])

  /// Ascending.
  package let lengths: [Int]

  package init(_ lengths: [Int]) {
    self.lengths = Set(lengths.filter { $0 > 0 && $0 <= Self.max }).sorted()
  }

  package func contains(_ length: Int) -> Bool { lengths.contains(length) }
}
