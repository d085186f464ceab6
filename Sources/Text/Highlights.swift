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
    var tokenizer = Tokenizer(.text(.none))
    self.init(text, query, &tokenizer)
  }

  /// The same with a tokenizer of texts that keeps its room for the next one.
  package init(_ text: Span<UInt8>, _ query: Query, _ tokenizer: inout Tokenizer) {
    var found: [Range<Int>] = []
    if let scan = WordScan(query) {
      scan.find(text, &tokenizer) { found.append($0) }
    } else {
      tokenizer.reset()
      tokenizer.run(text, atLeast: .max)
      let places = TokenPlaces(tokenizer.list)
      for piece in query.pieces { places.find(piece) { found.append($0) } }
    }
    if found.isEmpty { return }
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
  /// How often texts have each piece that is asked, at most 255 times, without an index; nil where
  /// they do not have what is asked. A phrase is in one of them.
  package func counts(_ texts: [MemberTexts.Member]) -> [UInt8]? {
    if nothing != nil { return nil }
    let places = texts.map { TokenPlaces(Tokenizer.tokens($0.text.span, .text(.none))) }
    func count(_ piece: Piece) -> UInt8 {
      var count = 0
      for text in places { text.find(piece) { _ in count &+= 1 } }
      return UInt8(clamping: count)
    }
    guard !excluded.contains(where: { count($0) > 0 }) else { return nil }
    let counts = pieces.map(count)
    return counts.contains(0) ? nil : counts
  }
}

/// The tokens of a text by their places, in which phrases are looked for.
struct TokenPlaces {
  private let list: TokenList
  /// For each place, its tokens among those of the list; of no use where no phrase is looked for.
  private var places: [Range<Int>] = []

  init(_ list: TokenList, phrases: Bool = true) {
    self.list = list
    guard phrases else { return }
    places.reserveCapacity(list.entries.count)
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
    if tokens.count == 1 { return findOne(tokens[0], piece.beginning != nil, found) }
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

  private func findOne(
    _ token: [UInt8], _ isBeginning: Bool, _ found: (Range<Int>) -> Void
  ) {
    // Of a place one token counts, as in a phrase.
    var isPlaceFound = false
    for entry in list.entries {
      if !entry.isColocated { isPlaceFound = false }
      if isPlaceFound || !isMatch(entry, token, isBeginning) { continue }
      isPlaceFound = true
      found(entry.source)
    }
  }

  @inline(__always)
  private func isMatch(_ entry: TokenEntry, _ token: [UInt8], _ isBeginning: Bool) -> Bool {
    let isLonger = entry.place.count > token.count
    return !(isLonger && (!isBeginning || entry.kind != .word)) && list.starts(entry, with: token)
  }

  /// The token at a place that is the one looked for, or a word that begins so.
  private func match(_ place: Int, _ token: [UInt8], _ isBeginning: Bool) -> TokenEntry? {
    for entry in list.entries[places[place]] where isMatch(entry, token, isBeginning) {
      return entry
    }
    return nil
  }
}
