/// Where a text has what a query asks, to be shown marked.
///
/// A phrase is one range, the beginning of a word marks the whole word, and ranges that touch are
/// one. Ranges are ascending and end where characters end.

package struct Highlights: Equatable, Sendable {
  /// In bytes of the text.
  package internal(set) var utf8: [Range<Int>] = []
  /// The same in code units of UTF-16, where bytes that are no UTF-8 are U+FFFD, one for each
  /// maximal subpart.
  package internal(set) var utf16: [Range<Int>] = []

  package init(_ text: Span<UInt8>, _ query: Query) {
    let list = Tokenizer.tokens(text, .text(.none))
    let places = TokenPlaces(list)
    var found: [Range<Int>] = []
    for piece in query.pieces { places.find(piece) { found.append($0) } }
    found.sort { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
    for range in found {
      if let last = utf8.last, range.lowerBound <= last.upperBound {
        utf8[utf8.count &- 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        utf8.append(range)
      }
    }
    utf16 = Self.utf16(text, utf8)
  }

  /// Ranges of bytes that begin and end where characters do, as code units.
  static func utf16(_ text: Span<UInt8>, _ ranges: [Range<Int>]) -> [Range<Int>] {
    var result: [Range<Int>] = []
    var (at, units) = (0, 0)
    func go(to end: Int) {
      while at < end, at < text.count {
        let scalar = DecodedScalar(text, at: at)
        at &+= scalar.count
        units &+= scalar.utf16Count
      }
    }
    for range in ranges {
      go(to: range.lowerBound)
      let first = units
      go(to: range.upperBound)
      result.append(first..<units)
    }
    return result
  }
}

extension Query {
  /// Whether texts have what is asked, without an index; a phrase is in one of them.
  package func finds(_ texts: [MemberTexts.Member]) -> Bool {
    if nothing != nil { return false }
    let places = texts.map { TokenPlaces(Tokenizer.tokens($0.text.span, .text(.none))) }
    func has(_ piece: Piece) -> Bool {
      places.contains { text in
        var isFound = false
        text.find(piece) { _ in isFound = true }
        return isFound
      }
    }
    return pieces.allSatisfy(has) && !excluded.contains(where: has)
  }
}

/// The tokens of a text by their places, in which phrases are looked for.
struct TokenPlaces {
  private let list: TokenList
  /// For each place, its tokens among those of the list.
  private var places: [Range<Int>] = []

  init(_ list: TokenList) {
    self.list = list
    for (index, entry) in list.entries.enumerated() {
      if entry.isColocated, let last = places.indices.last {
        places[last] = places[last].lowerBound..<index &+ 1
      } else {
        places.append(index..<index &+ 1)
      }
    }
  }

  /// Calls with the bytes of each occurrence.
  func find(_ piece: Query.Piece, _ found: (Range<Int>) -> Void) {
    let tokens = piece.tokens
    guard !tokens.isEmpty, places.count >= tokens.count else { return }
    for first in 0...places.count &- tokens.count {
      var range: Range<Int>?
      for (offset, token) in tokens.enumerated() {
        let isBeginning = piece.beginning != nil && offset == tokens.count &- 1
        guard let entry = match(first &+ offset, token, isBeginning) else {
          range = nil
          break
        }
        let before = range ?? entry.source
        range =
          min(
            before.lowerBound, entry.source.lowerBound)..<max(
            before.upperBound, entry.source.upperBound)
      }
      if let range { found(range) }
    }
  }

  /// The token at a place that is the one looked for, or a word that begins so.
  private func match(_ place: Int, _ token: [UInt8], _ isBeginning: Bool) -> TokenEntry? {
    for entry in list.entries[places[place]] {
      if entry.place.count < token.count { continue }
      if entry.place.count > token.count, !isBeginning || entry.kind != .word { continue }
      if list[entry].starts(with: token) { return entry }
    }
    return nil
  }
}
