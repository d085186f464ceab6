/// What a person typed into a search box, as tokens: docs/reference/search.md has the language.
///
/// Rule protected: any bytes are a query. It is made of tokens and never of text, so nothing in it
/// can be a mistake of syntax.

import Base

package struct Query: Equatable, Sendable {
  /// Why a query asks nothing and finds nothing.
  package enum Nothing: Equatable, Sendable {
    /// There is no letter, number or emoji in it.
    case noWord
    /// It says only what is not to be found.
    case onlyExclusions
  }

  /// How the last word of a query is asked for that may be the beginning of a longer one.
  package enum Beginning: Equatable, Sendable {
    /// It is a token by itself.
    case indexed
    /// The words that begin so are looked up first.
    case vocabulary
    /// One letter: as many words begin so as there are, and all of them are asked.
    case letter
  }

  /// Tokens that follow each other.
  package struct Piece: Equatable, Sendable {
    package internal(set) var tokens: [[UInt8]]
    /// Of the last token.
    package internal(set) var beginning: Beginning?
  }

  /// All of them must occur.
  package internal(set) var pieces: [Piece] = []
  /// None of them may occur.
  package internal(set) var excluded: [Piece] = []
  /// Pieces or tokens were more than are asked: what came after is left out.
  package internal(set) var isCut = false
  package internal(set) var nothing: Nothing?

  /// Reads a query for an index that has words' beginnings of those lengths.
  package init(_ text: Span<UInt8>, prefixes: PrefixLengths) {
    var reader = QueryReader()
    var room = Limits.queryTokensMax
    while let piece = reader.next(text) {
      guard add(piece, text, prefixes, &room) else {
        isCut = true
        break
      }
    }
    dropImpliedBeginning()
    if pieces.isEmpty { nothing = excluded.isEmpty ? .noWord : .onlyExclusions }
  }

  /// Adds a piece of the text; false where there is no room for all of it.
  private mutating func add(
    _ piece: QueryReader.Piece, _ text: Span<UInt8>, _ prefixes: PrefixLengths, _ room: inout Int
  ) -> Bool {
    let bytes = text.extracting(piece.range)
    var tokenizer = Tokenizer(.query)
    tokenizer.run(bytes, atLeast: room &+ 1)
    let list = tokenizer.list
    guard !list.entries.isEmpty else { return true }
    let isWhole = tokenizer.isEnded && list.entries.count <= room
    // A part of what is excluded would exclude more.
    if !isWhole, piece.isExcluded || room == 0 { return false }
    var added = Piece(tokens: list.entries.prefix(room).map { Array(list[$0]) }, beginning: nil)
    if isWhole, piece.isLast, !piece.isQuoted, !piece.isExcluded {
      added.beginning = Self.beginning(list, bytes.count, prefixes)
    }
    // Equal pieces count once.
    if (piece.isExcluded ? excluded : pieces).contains(added) { return isWhole }
    if pieces.count &+ excluded.count == Limits.queryPiecesMax { return false }
    room &-= added.tokens.count
    if piece.isExcluded { excluded.append(added) } else { pieces.append(added) }
    return isWhole
  }

  /// How the last token is asked for, where it is a word that reaches to the end.
  private static func beginning(
    _ list: TokenList, _ end: Int, _ prefixes: PrefixLengths
  ) -> Beginning? {
    guard let last = list.entries.last, last.kind == .word, last.source.upperBound == end else {
      return nil
    }
    let length = list[last].reduce(0) { $0 &+ ($1 & 0xC0 == 0x80 ? 0 : 1) }
    if prefixes.contains(length) { return .indexed }
    if length == 1 { return .letter }
    return length < Limits.wordCharactersMax ? .vocabulary : nil
  }

  /// What an equal piece asks as a whole word needs not be asked as a beginning.
  private mutating func dropImpliedBeginning() {
    guard let last = pieces.last, last.beginning != nil else { return }
    if pieces.dropLast().contains(Piece(tokens: last.tokens, beginning: nil)) {
      pieces.removeLast()
    }
  }
}

/// Cuts a query at its spaces and quotes.
private struct QueryReader {
  struct Piece {
    let range: Range<Int>
    let isQuoted: Bool
    let isExcluded: Bool
    /// Nothing but spaces comes after it.
    let isLast: Bool
  }

  private var at = 0

  mutating func next(_ text: Span<UInt8>) -> Piece? {
    skipSpaces(text)
    guard at < text.count else { return nil }
    let isExcluded = isExclusion(text)
    if isExcluded { at &+= 1 }
    let isQuoted = text[at] == Self.quote
    let range = isQuoted ? quoted(text) : unquoted(text)
    skipSpaces(text)
    return Piece(
      range: range, isQuoted: isQuoted, isExcluded: isExcluded, isLast: at == text.count)
  }

  private static let quote: UInt8 = 0x22
  private static let minus: UInt8 = 0x2D

  /// A minus before a character other than a space and a minus.
  private func isExclusion(_ text: Span<UInt8>) -> Bool {
    text[at] == Self.minus && at &+ 1 < text.count && text[at &+ 1] != Self.minus
      && spaceCount(text, at &+ 1) == 0
  }

  /// Up to the next quote, or to the end where there is none: someone still types.
  private mutating func quoted(_ text: Span<UInt8>) -> Range<Int> {
    at &+= 1
    let first = at
    while at < text.count, text[at] != Self.quote { at &+= 1 }
    let range = first..<at
    if at < text.count { at &+= 1 }
    return range
  }

  private mutating func unquoted(_ text: Span<UInt8>) -> Range<Int> {
    let first = at
    while at < text.count, spaceCount(text, at) == 0 { at &+= 1 }
    return first..<at
  }

  private mutating func skipSpaces(_ text: Span<UInt8>) {
    while at < text.count {
      let count = spaceCount(text, at)
      if count == 0 { return }
      at &+= count
    }
  }

  /// Bytes of the space at a place; 0 where there is none. Control characters are spaces.
  private func spaceCount(_ text: Span<UInt8>, _ place: Int) -> Int {
    let byte = text[place]
    if byte < 0x80 { return byte <= 0x20 || byte == 0x7F ? 1 : 0 }
    guard byte == 0xC2 || byte >= 0xE1 && byte <= 0xE3 else { return 0 }
    let scalar = DecodedScalar(text, at: place)
    switch scalar.code {
    case 0x80...0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
      return scalar.count
    default: return 0
    }
  }
}
