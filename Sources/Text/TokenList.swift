/// Tokens as the tokenizer gives them: one block of bytes, and where each token is in it.

/// What a token is.
package enum TokenKind: UInt8, Sendable {
  /// Letters, numbers and marks.
  case word
  /// One character of a script that is written without spaces.
  case single
  /// Two such characters that follow each other.
  case pair
  case emoji
  /// The beginning of a word, under a mark.
  case prefix
}

/// Bytes that a text cannot have in a token, because they split: what begins with one was made by
/// the library.
package enum TokenMark {
  package static let prefix: UInt8 = 1
}

/// One token.
package struct TokenEntry: Equatable, Sendable {
  package let kind: TokenKind
  /// Stands where the token before it stands.
  package let isColocated: Bool
  /// The bytes of the text that it came from.
  package let source: Range<Int>
  /// Where it is among the bytes of its list.
  package let place: Range<Int>
}

package struct TokenList {
  package internal(set) var bytes: [UInt8] = []
  package internal(set) var entries: [TokenEntry] = []

  package init() {}

  /// The bytes of a token.
  package subscript(_ entry: TokenEntry) -> ArraySlice<UInt8> { bytes[entry.place] }

  /// Lets go of all tokens, and of all bytes but the last ones.
  mutating func restart(keeping count: Int) {
    entries.removeAll(keepingCapacity: true)
    bytes.removeSubrange(0..<bytes.count &- min(max(count, 0), bytes.count))
  }
}
