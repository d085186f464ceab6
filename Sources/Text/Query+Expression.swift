/// A query as SQLite's full-text search is asked it: quoted tokens, and the words between them.
///
/// The tokenizer of the index takes what stands in the quotes as the token it is.

extension Query {
  /// The expression for FTS5. `words` are those of the vocabulary that begin as the last word
  /// does, where that was looked up; nil asks the index for all that begin so, which costs as many
  /// lists as there are words. Empty where nothing is asked.
  package func expression(words: [[UInt8]]? = nil) -> [UInt8] {
    guard nothing == nil else { return [] }
    var result: [UInt8] = []
    for (place, piece) in pieces.enumerated() {
      if place > 0 { result += " AND ".utf8 }
      Self.append(piece, words, to: &result)
    }
    guard !excluded.isEmpty else { return result }
    result.insert(UInt8(ascii: "("), at: 0)
    result += ") NOT (".utf8
    for (place, piece) in excluded.enumerated() {
      if place > 0 { result += " OR ".utf8 }
      Self.append(piece, nil, to: &result)
    }
    result.append(UInt8(ascii: ")"))
    return result
  }

  /// The same for one of the pieces alone.
  package func expression(of piece: Int, words: [[UInt8]]?) -> [UInt8] {
    var result: [UInt8] = []
    if pieces.indices.contains(piece) { Self.append(pieces[piece], words, to: &result) }
    return result
  }

  /// How many phrases of the expression stand for the last piece; each other one is one.
  package func lastPhrases(words: [[UInt8]]?) -> Int {
    switch pieces.last?.beginning {
    case nil, .indexed: 1
    case .vocabulary, .letter: max(words?.count ?? 1, 1)
    }
  }

  private static func append(_ piece: Piece, _ words: [[UInt8]]?, to result: inout [UInt8]) {
    switch piece.beginning {
    case nil: append(piece.tokens, to: &result)
    case .indexed:
      append(piece.tokens, mark: TokenMark.prefix, to: &result)
    case .vocabulary, .letter:
      guard let words else {
        append(piece.tokens, to: &result)
        result += " *".utf8
        return
      }
      // The word itself need not be in the vocabulary: then nothing is found, and not all.
      let endings = words.isEmpty ? piece.tokens.suffix(1) : words[...]
      result.append(UInt8(ascii: "("))
      for (place, word) in endings.enumerated() {
        if place > 0 { result += " OR ".utf8 }
        append(piece.tokens.dropLast() + [word], to: &result)
      }
      result.append(UInt8(ascii: ")"))
    }
  }

  /// A phrase; the mark stands before its last token.
  private static func append(_ tokens: [[UInt8]], mark: UInt8? = nil, to result: inout [UInt8]) {
    for (place, token) in tokens.enumerated() {
      if place > 0 { result += " + ".utf8 }
      result.append(UInt8(ascii: "\""))
      if let mark, place == tokens.count - 1 { result.append(mark) }
      for byte in token {
        // No token has a quote in it; one that had would not end the text here.
        if byte == UInt8(ascii: "\"") { result.append(byte) }
        result.append(byte)
      }
      result.append(UInt8(ascii: "\""))
    }
  }
}
