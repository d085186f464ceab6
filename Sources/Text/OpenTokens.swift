/// The word or run of characters that is being read, and how it becomes tokens.

import Base

enum Open {
  case nothing
  case word
  case run
}

/// A word; its bytes are the last ones of the list, after the mark that its beginnings have.
struct OpenWord {
  var place = 0
  /// Characters that count.
  var count = 0
  var source = 0..<0
  /// Ends in a letter after which marks are dropped.
  var isStripping = false
  /// The letter it ends in, if a mark may yet make another letter of it.
  var keepable: UInt32 = 0
}

/// Characters of a script written without spaces; the last two of them are not tokens yet.
struct OpenRun {
  struct Unit {
    var place: Int
    var source: Range<Int>
    /// Characters with their marks.
    var count = 1
  }

  var previous: Unit?
  var last = Unit(place: 0, source: 0..<0)

  var place: Int { previous?.place ?? last.place }

  mutating func shift(_ count: Int) {
    previous?.place &-= count
    last.place &-= count
  }
}

extension Tokenizer {
  @inline(__always)
  mutating func openWord(_ start: Int) {
    if open == .word { return }
    close()
    list.append(TokenMark.prefix)
    word = OpenWord(place: list.count, source: start..<start)
    open = .word
  }

  mutating func takeSingle(_ code: UInt32, _ source: Range<Int>) {
    if open == .run {
      endPair(list.count)
      run.previous = run.last
    } else {
      close()
      run.previous = nil
      open = .run
    }
    run.last = OpenRun.Unit(place: list.count, source: source)
    list.append(scalar: code)
  }

  mutating func extendOpen(to end: Int) {
    switch open {
    case .nothing: return
    case .word: word.source = word.source.lowerBound..<max(word.source.upperBound, end)
    case .run:
      let source = run.last.source
      run.last.source = source.lowerBound..<max(source.upperBound, end)
    }
  }

  /// Ends what is open.
  @inline(__always)
  mutating func close() {
    switch open {
    case .nothing: return
    case .word: closeWord()
    case .run: closeRun()
    }
    open = .nothing
  }

  private mutating func closeWord() {
    let place = word.place..<list.count
    add(TokenEntry(kind: .word, isColocated: false, source: word.source, place: place))
    var (characters, end) = (0, place.lowerBound)
    for length in lengths where length <= word.count {
      while characters < length, end < place.upperBound {
        end &+= 1
        while end < place.upperBound, list.byte(end) & 0xC0 == 0x80 { end &+= 1 }
        characters &+= 1
      }
      add(
        TokenEntry(
          kind: .prefix, isColocated: true, source: word.source,
          place: place.lowerBound &- 1..<end))
    }
  }

  /// The pair of the two characters before the one that begins at a place.
  private mutating func endPair(_ end: Int) {
    guard let previous = run.previous else { return }
    let isText = purpose != .query
    if isText { addSingle(previous, run.last.place) }
    let source =
      previous.source.lowerBound..<max(previous.source.upperBound, run.last.source.upperBound)
    add(
      TokenEntry(
        kind: .pair, isColocated: isText, source: source, place: previous.place..<end))
  }

  private mutating func closeRun() {
    let end = list.count
    endPair(end)
    if purpose == .query, run.previous != nil {
      deferred = TokenEntry(
        kind: .single, isColocated: false, source: run.last.source, place: run.last.place..<end)
    } else {
      addSingle(run.last, end)
    }
  }

  private mutating func addSingle(_ unit: OpenRun.Unit, _ end: Int) {
    add(
      TokenEntry(
        kind: .single, isColocated: false, source: unit.source, place: unit.place..<end))
  }

  @inline(__always)
  mutating func add(_ entry: TokenEntry) {
    if let single = deferred {
      list.entries.append(single)
      deferred = nil
    }
    list.entries.append(entry)
  }
}
