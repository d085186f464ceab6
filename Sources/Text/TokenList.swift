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
  /// The bytes of tokens, and room for more behind them.
  private var room: [UInt8] = []
  /// Bytes of tokens.
  private(set) var count = 0
  package internal(set) var entries: [TokenEntry] = []

  package init() {}

  /// The bytes of all tokens.
  package var bytes: ArraySlice<UInt8> { room[..<count] }

  /// The bytes of a token.
  package subscript(_ entry: TokenEntry) -> ArraySlice<UInt8> { room[entry.place] }

  /// Whether a token begins so. A slice of the bytes would be counted once more for each look.
  @inline(__always)
  func starts(_ entry: TokenEntry, with token: [UInt8]) -> Bool {
    guard entry.place.count >= token.count else { return false }
    var place = entry.place.lowerBound
    for byte in token {
      if room[place] != byte { return false }
      place &+= 1
    }
    return true
  }

  /// Lets go of all tokens, and of all bytes but the last ones.
  mutating func restart(keeping kept: Int) {
    entries.removeAll(keepingCapacity: true)
    let first = count &- min(max(kept, 0), count)
    for place in first..<count { room[place &- first] = room[place] }
    count &-= first
  }

  @inline(__always)
  func byte(_ place: Int) -> UInt8 { room[place] }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    if count == room.count { grow(1) }
    room[count] = byte
    count &+= 1
  }

  /// Appends letters and digits of ASCII in lower case.
  @inline(__always)
  mutating func appendFolded(_ text: Span<UInt8>, _ range: Range<Int>) {
    if range.count > room.count &- count { grow(range.count) }
    var place = count
    var span = room.mutableSpan
    for at in range {
      span[place] = ASCII.folded(text[at])
      place &+= 1
    }
    count = place
  }

  /// Appends a code point.
  @inline(__always)
  mutating func append(scalar code: UInt32) {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: code &>> shift & 0x3F | 0x80) }
    func head(_ shift: UInt32, _ mark: UInt32) -> UInt8 {
      UInt8(truncatingIfNeeded: code &>> shift | mark)
    }
    if code < 0x80 {
      append(UInt8(truncatingIfNeeded: code))
    } else if code < 0x800 {
      append(head(6, 0xC0))
      append(tail(0))
    } else if code < 0x10000 {
      append(head(12, 0xE0))
      append(tail(6))
      append(tail(0))
    } else {
      append(head(18, 0xF0))
      append(tail(12))
      append(tail(6))
      append(tail(0))
    }
  }

  /// Takes back the last bytes.
  mutating func removeLast(_ removed: Int) { count &-= min(removed, count) }

  /// The code point that begins at a place.
  func scalar(_ place: Int) -> DecodedScalar { DecodedScalar(room.span, at: place) }

  @inline(never)
  private mutating func grow(_ added: Int) {
    room += [UInt8](repeating: 0, count: max(added, room.count, 256))
  }
}
