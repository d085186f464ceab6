/// What people find in texts of many languages, and what they do not.

import TestSupport
import Testing
import Text

@Suite struct CorpusTests {
  static let corpus = Corpus()

  /// Protects: each query finds the texts that it should find and no other.
  @Test func hitsAndMisses() {
    let corpus = Self.corpus
    #expect(corpus.texts.count > 40 && corpus.queries.count > 150)
    let indexed = corpus.texts.map { Posting(Tokenizer.tokens($0.bytes.span, .text(.common))) }
    for question in corpus.queries {
      let query = Query(question.query.span, prefixes: .common)
      let found = corpus.texts.indices.filter { indexed[$0].holds(query) }
      #expect(Set(found.map { corpus.texts[$0].name }) == question.names, "\(question.line)")
    }
  }

  /// Protects: each hit of the corpus is marked, and what is marked is found for itself.
  @Test func hitsAreMarked() {
    let corpus = Self.corpus
    for question in corpus.queries where !question.names.isEmpty {
      let query = Query(question.query.span, prefixes: .common)
      let line = question.line
      for text in corpus.texts where question.names.contains(text.name) {
        guard text.bytes.count < 20_000 else { continue }
        let marks = Highlights(text.bytes.span, query)
        #expect(!marks.utf8.isEmpty, "\(line)")
        for range in marks.utf8 {
          let part = Array(text.bytes[range])
          let posting = Posting(Tokenizer.tokens(part.span, .text(.common)))
          let holds = query.pieces.contains(where: posting.holds)
          #expect(holds, "\(line): \(String(decoding: part, as: UTF8.self))")
        }
      }
    }
  }
}

/// The tokens of one text at their places, as an index has them.
struct Posting {
  private var places: [[UInt8]: Set<Int>] = [:]

  init(_ list: TokenList) {
    var place = -1
    for entry in list.entries {
      if !entry.isColocated { place += 1 }
      places[Array(list[entry]), default: []].insert(place)
    }
  }

  func holds(_ query: Query) -> Bool {
    query.nothing == nil && query.pieces.allSatisfy(holds)
      && !query.excluded.contains(where: holds)
  }

  func holds(_ piece: Query.Piece) -> Bool {
    guard let first = piece.tokens.first, let last = piece.tokens.last else { return false }
    let end = piece.tokens.count - 1
    let ends = ends(piece, last)
    let begins = end == 0 ? ends : places[first] ?? []
    return begins.contains { begin in
      ends.contains(begin + end)
        && piece.tokens.dropLast().enumerated().allSatisfy { offset, token in
          places[token]?.contains(begin + offset) == true
        }
    }
  }

  /// Where the last token of a piece is, or a word that begins so.
  private func ends(_ piece: Query.Piece, _ last: [UInt8]) -> Set<Int> {
    switch piece.beginning {
    case nil: places[last] ?? []
    case .indexed: places[[TokenMark.prefix] + last] ?? []
    case .vocabulary, .letter:
      places.filter { $0.key.starts(with: last) }.reduce(into: []) { $0.formUnion($1.value) }
    }
  }
}
