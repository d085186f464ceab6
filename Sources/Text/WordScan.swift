/// Looks for words in a text and cuts only those parts of it into tokens that may have one.
///
/// A byte of ASCII that splits ends all that is open, so what stands between two of them is a part
/// by itself. Most parts are a word of ASCII, which is compared as it stands, or one that begins
/// with other letters than are asked. The newest 50 hits with their marks took 2,785
/// thousand instructions when each text was cut into tokens, and take 2,105.

import Base

struct WordScan {
  private let pieces: [Query.Piece]
  /// No character of a script without spaces is asked.
  private let areASCII: Bool
  private let tables = CharacterTables()
  private let wordMax = Limits.wordCharactersMax

  /// Nil where phrases are asked: they go over the ends of parts.
  init?(_ query: Query) {
    guard query.pieces.allSatisfy({ $0.tokens.count == 1 }) else { return nil }
    pieces = query.pieces
    areASCII = pieces.allSatisfy { ($0.tokens[0].first ?? 0x80) < 0x80 }
  }

  /// Calls with the bytes of each occurrence.
  func find(_ text: Span<UInt8>, _ tokenizer: inout Tokenizer, _ found: (Range<Int>) -> Void) {
    var at = 0
    while at < text.count {
      if splits(text, at) {
        at &+= 1
        continue
      }
      let start = at
      while at < text.count, ASCII.isWord(text[at]) { at &+= 1 }
      let head = start..<at
      while at < text.count, !splits(text, at) { at &+= 1 }
      if head.upperBound == at {
        for piece in pieces where isMatch(text, head, piece) { found(head) }
      } else if !isRuledOut(text, head, at) {
        tokenizer.reset()
        tokenizer.run(text.extracting(start..<at), atLeast: .max)
        let places = TokenPlaces(tokenizer.list, phrases: false)
        for piece in pieces {
          places.find(piece) { found(start &+ $0.lowerBound..<start &+ $0.upperBound) }
        }
      }
    }
  }

  /// Whether a byte ends all that is open. Of a keycap it is no end.
  @inline(__always)
  private func splits(_ text: Span<UInt8>, _ place: Int) -> Bool {
    let byte = text[place]
    if byte >= 0x80 || ASCII.isWord(byte) { return false }
    guard byte == 0x23 || byte == 0x2A else { return true }
    return place &+ 1 == text.count || text[place &+ 1] < 0xE2
  }

  /// Whether a word of ASCII is one that is asked, or begins so.
  private func isMatch(_ text: Span<UInt8>, _ word: Range<Int>, _ piece: Query.Piece) -> Bool {
    let token = piece.tokens[0]
    let count = min(word.count, wordMax)
    guard count == token.count || count > token.count && piece.beginning != nil else {
      return false
    }
    return agrees(text, word, token, token.count)
  }

  /// Whether the first letters of a word are those of a token.
  @inline(__always)
  private func agrees(
    _ text: Span<UInt8>, _ word: Range<Int>, _ token: [UInt8], _ count: Int
  ) -> Bool {
    for place in 0..<count
    where ASCII.folded(text[word.lowerBound &+ place]) != token[place] { return false }
    return true
  }

  /// Whether a part with other characters than ASCII has certainly nothing that is asked: it is one
  /// word, which begins with other letters, or has only characters that are tokens by themselves.
  private func isRuledOut(_ text: Span<UInt8>, _ head: Range<Int>, _ end: Int) -> Bool {
    if head.isEmpty ? !areASCII : mayBegin(text, head) { return false }
    var at = head.upperBound
    var isWord: Bool? = head.isEmpty ? nil : true
    while at < end {
      if text[at] < 0x80 {
        guard isWord == true, ASCII.isWord(text[at]) else { return false }
        at &+= 1
        continue
      }
      let scalar = DecodedScalar(text, at: at)
      let record = tables.record(scalar.code)
      // What is composed may become another letter.
      if record.continues { return false }
      switch record.kind {
      case .letter where isWord != false: isWord = true
      case .letters where isWord != false:
        if isWord == nil, mayBegin(tables.replacement(record, 0)) { return false }
        isWord = true
      case .single where isWord != true, .splitter where isWord != true: isWord = false
      default: return false
      }
      at &+= scalar.count
    }
    return true
  }

  /// Whether one of the words that are asked, all of ASCII, begins with a letter.
  private func mayBegin(_ letter: UInt32) -> Bool {
    pieces.contains { UInt32($0.tokens[0].first ?? 0) == letter }
  }

  private func mayBegin(_ text: Span<UInt8>, _ head: Range<Int>) -> Bool {
    head.count > wordMax
      || pieces.contains { piece in
        let token = piece.tokens[0]
        return agrees(text, head, token, min(head.count, token.count))
      }
  }
}
