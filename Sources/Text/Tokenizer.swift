/// Cuts a text into tokens, for the index and for a query alike.
/// docs/reference/search.md has the rules.
///
/// Rule protected: what is found goes by the bytes alone, the same in each process and on each
/// system. Any bytes are a text; the bytes of a token's source lie in it, in the order of the text.

import Base

package struct Tokenizer {
  package enum Purpose: Equatable, Sendable {
    /// All tokens under which the text is found.
    case text(PrefixLengths)
    /// No two at one place: those that a text has which holds this one.
    case query
  }

  let purpose: Purpose
  let tables = CharacterTables()
  let lengths: [Int]
  let wordMax = Limits.wordCharactersMax
  /// Of the text.
  var at = 0
  var isEnded = false
  package internal(set) var list = TokenList()
  var word = OpenWord()
  var run = OpenRun()
  var open = Open.nothing
  /// In a query, the last character of a run, which is asked for where another token follows.
  var deferred: TokenEntry?
  /// Characters that may yet be composed or put in order.
  var segment: [Element] = []
  var parts: [Element] = []

  package init(_ purpose: Purpose) {
    self.purpose = purpose
    if case .text(let prefixes) = purpose { lengths = prefixes.lengths } else { lengths = [] }
  }

  /// All tokens of a text.
  package static func tokens(_ text: Span<UInt8>, _ purpose: Purpose) -> TokenList {
    var tokenizer = Tokenizer(purpose)
    tokenizer.run(text, atLeast: .max)
    return tokenizer.list
  }

  /// Puts the next tokens of a text into `list`, about as many as asked for; false after the last.
  /// It is given the same text each time. A text of megabytes takes no more memory than so many
  /// tokens.
  package mutating func next(_ text: Span<UInt8>, atLeast count: Int) -> Bool {
    dropGiven()
    run(text, atLeast: count)
    return !list.entries.isEmpty
  }

  /// Begins with another text.
  package mutating func reset() {
    at = 0
    isEnded = false
    (open, deferred) = (.nothing, nil)
    segment.removeAll(keepingCapacity: true)
    list.restart(keeping: 0)
  }

  mutating func run(_ text: Span<UInt8>, atLeast count: Int) {
    while at < text.count {
      if list.entries.count >= count { return }
      let byte = text[at]
      if byte < 0x80 {
        takeASCII(text, byte)
      } else {
        take(text, DecodedScalar(text, at: at))
      }
    }
    if !isEnded {
      endSegment()
      close()
      isEnded = true
    }
  }

  /// Lets go of the tokens that were given, but not of what is not ended.
  private mutating func dropGiven() {
    let first = openPlace
    list.restart(keeping: list.count &- first)
    word.place &-= first
    run.shift(first)
  }

  /// Where the bytes begin that no token was made of yet.
  private var openPlace: Int {
    switch open {
    case .nothing: list.count
    case .word: word.place &- 1
    case .run: run.place
    }
  }

  // MARK: - One character

  private mutating func takeASCII(_ text: Span<UInt8>, _ byte: UInt8) {
    endSegment()
    guard ASCII.isWord(byte) else {
      if byte == 0x23 || byte == 0x2A, takeKeycap(text, at) { return }
      close()
      at &+= 1
      return
    }
    var end = at &+ 1
    while end < text.count, ASCII.isWord(text[end]) { end &+= 1 }
    // A digit under a keycap is no part of the word before it.
    if end < text.count, text[end] >= 0xE2, ASCII.isDigit(text[end &- 1]) {
      let last = end &- 1
      if keycapEnd(text, last) != nil {
        if last > at { takeASCIIWord(text, last) }
        _ = takeKeycap(text, last)
        return
      }
    }
    takeASCIIWord(text, end)
  }

  @inline(__always)
  private mutating func takeASCIIWord(_ text: Span<UInt8>, _ end: Int) {
    openWord(at)
    let room = wordMax &- word.count
    let count = min(room, end &- at)
    if count > 0 {
      list.appendFolded(text, at..<at &+ count)
      word.count &+= count
    }
    word.isStripping = !ASCII.isDigit(text[end &- 1])
    word.keepable = 0
    word.source = word.source.lowerBound..<end
    at = end
  }

  private mutating func take(_ text: Span<UInt8>, _ scalar: DecodedScalar) {
    let source = at..<at &+ scalar.count
    let record = tables.record(scalar.code)
    switch record.kind {
    case .pictograph, .indicator, .tone:
      endSegment()
      close()
      takeEmoji(text, scalar, record.kind)
      return
    case .symbol:
      endSegment()
      close()
      replace(record, source)
      endSegment()
      close()
    case .dropped:
      extend(to: source.upperBound)
    case .mapped, .letters:
      replace(record, source)
    case .splitter, .word, .letter, .mark, .single:
      takeStable(scalar.code, record, source)
    }
    at = source.upperBound
  }

  /// What a character becomes is taken as if it stood there.
  private mutating func replace(_ record: CharacterRecord, _ source: Range<Int>) {
    for place in 0..<Int(record.order) {
      let code = tables.replacement(record, place)
      takeStable(code, record.kind == .letters ? .plainLetter : tables.record(code), source)
    }
  }

  /// A character that folding leaves alone.
  private mutating func takeStable(
    _ code: UInt32, _ record: CharacterRecord, _ source: Range<Int>
  ) {
    if record.continues {
      let isAlone = segment.isEmpty && record.kind == .mark
      if isAlone, open == .nothing || open == .word && word.isStripping {
        takeMark(code, record.order, source)
      } else {
        if segment.count >= Limits.segmentCharactersMax { endSegment() }
        segment.append(Element(code, record.order, source))
      }
      return
    }
    endSegment()
    if record.joins {
      segment.append(Element(code, record.order, source))
    } else {
      emit(code, record, source)
    }
  }

  /// What is dropped after a character belongs to it.
  private mutating func extend(to end: Int) {
    if let last = segment.indices.last {
      segment[last].source = segment[last].source.lowerBound..<end
    } else {
      extendOpen(to: end)
    }
  }

  // MARK: - What is composed

  /// Puts marks in order and composes, then takes what comes out.
  mutating func endSegment() {
    guard !segment.isEmpty else { return }
    if segment.count == 1 {
      let element = segment[0]
      segment.removeAll(keepingCapacity: true)
      emit(element.code, tables.record(element.code), element.source)
      return
    }
    parts.removeAll(keepingCapacity: true)
    for element in segment { decompose(element) }
    segment.removeAll(keepingCapacity: true)
    Element.order(&parts)
    compose()
    for place in parts.indices {
      let element = parts[place]
      emit(element.code, tables.record(element.code), element.source)
    }
  }

  private mutating func decompose(_ element: Element) {
    guard let (first, second) = tables.parts(element.code) else {
      parts.append(element)
      return
    }
    decompose(Element(first, tables.record(first).order, element.source))
    decompose(Element(second, tables.record(second).order, element.source))
  }

  /// Canonical composition (The Unicode Standard, 3.11), in place.
  private mutating func compose() {
    var starter: Int?
    var lastOrder: UInt8 = 0
    var count = 0
    for place in parts.indices {
      let element = parts[place]
      if let starter {
        let isNext = starter &+ 1 == count
        let isBlocked = !isNext && (lastOrder == 0 || lastOrder >= element.order)
        if !isBlocked, let code = tables.composite(parts[starter].code, element.code) {
          parts[starter].code = code
          parts[starter].take(element.source)
          continue
        }
      }
      if element.order == 0 { starter = count }
      lastOrder = element.order
      parts[count] = element
      count &+= 1
    }
    parts.removeLast(parts.count &- count)
  }

  // MARK: - What is folded

  private mutating func emit(_ code: UInt32, _ record: CharacterRecord, _ source: Range<Int>) {
    switch record.kind {
    case .mark: takeMark(code, record.order, source)
    case .single: takeSingle(code, source)
    case .word: takeWord(code, source, isLetter: false)
    case .letter: takeWord(code, source, isLetter: true)
    default: close()
    }
  }

  private mutating func takeMark(_ code: UInt32, _ order: UInt8, _ source: Range<Int>) {
    if code == Marks.subjoined {
      takeWord(Marks.iota, source, isLetter: true)
      return
    }
    switch open {
    case .nothing:
      // Of what it would be a mark splits.
      return
    case .word where word.isStripping:
      if let kept = Marks.kept(word.keepable, code) {
        // Both take two bytes.
        list.removeLast(2)
        list.append(scalar: kept)
        word.keepable = 0
      } else if order == 0 || order == UnicodeTables.aboveOrder {
        word.keepable = 0
      }
    case .word:
      appendToWord(code)
    case .run:
      if run.last.count < wordMax {
        list.append(scalar: code)
        run.last.count &+= 1
      }
    }
    extendOpen(to: source.upperBound)
  }

  private mutating func takeWord(_ code: UInt32, _ source: Range<Int>, isLetter: Bool) {
    openWord(source.lowerBound)
    let isCounted = word.count < wordMax
    appendToWord(code)
    word.isStripping = isLetter
    word.keepable = isLetter && isCounted ? code : 0
    extendOpen(to: source.upperBound)
  }

  private mutating func appendToWord(_ code: UInt32) {
    guard word.count < wordMax else { return }
    list.append(scalar: code)
    word.count &+= 1
  }
}
