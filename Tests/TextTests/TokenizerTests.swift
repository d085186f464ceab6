/// What holds of the tokens of any text.

import Base
import Testing
import Text

@Suite struct TokenizerTests {
  /// Protects: no bytes trap it; sources lie in the text, in its order; no token is empty or has a
  /// byte that splits; the marks of the library are the library's.
  @Test func anyBytes() {
    var dice = Dice(28)
    // What begins and continues sequences, and what stands in them, more often than chance has it.
    let near: [UInt8] = [
      0x20, 0x22, 0x2D, 0x31, 0x41, 0x65, 0x00, 0x01, 0xC3, 0xCC, 0x81, 0x88, 0xE2, 0x83, 0xA3,
      0xEF, 0xB8, 0x8F, 0xF0, 0x9F, 0x8F, 0xBD, 0x91, 0x8D, 0xE0, 0xB8, 0xB3, 0xD0, 0xED, 0xF3,
    ]
    for _ in 0..<20_000 {
      let text = (0..<dice.roll(40)).map { _ in
        dice.roll(3) == 0 ? UInt8(dice.roll(256)) : near[dice.roll(near.count)]
      }
      let list = Tokenizer.tokens(text.span, .text(.common))
      check(list, text)
      check(Tokenizer.tokens(text.span, .query), text)
      let query = Query(text.span, prefixes: .common)
      for range in Highlights(text.span, query).utf8 {
        #expect(range.lowerBound >= 0 && range.upperBound <= text.count && !range.isEmpty)
      }
    }
  }

  private func check(_ list: TokenList, _ text: [UInt8]) {
    var last = 0..<0
    for entry in list.entries {
      let bytes = list[entry]
      #expect(entry.source.lowerBound >= last.lowerBound, "\(text)")
      #expect(entry.source.upperBound <= text.count && !entry.source.isEmpty, "\(text)")
      #expect(entry.isColocated || entry.source.upperBound >= last.upperBound, "\(text)")
      if !entry.isColocated { last = entry.source }
      #expect(!bytes.isEmpty)
      #expect(bytes.dropFirst(entry.kind == .prefix ? 1 : 0).allSatisfy { $0 > 0x20 && $0 != 0x22 })
    }
  }

  /// Protects: a text is cut the same in parts of any size, and with a tokenizer used before.
  @Test func inParts() {
    let text = Array("Příliš 我们明天👍🏽 gen-itgc か\u{3099}く ๑น้ำ 1️⃣ ěš".utf8)
    let whole = Tokenizer.tokens(text.span, .text(.common))
    let expected = whole.entries.map { Part($0, whole) }
    var tokenizer = Tokenizer(.text(.common))
    for size in 1...expected.count + 1 {
      var parts: [Part] = []
      tokenizer.reset()
      while tokenizer.next(text.span, atLeast: size) {
        let list = tokenizer.list
        #expect(list.entries.count <= size + PrefixLengths.max + 2)
        parts += list.entries.map { Part($0, list) }
      }
      #expect(parts == expected, "parts of \(size)")
    }
  }

  private struct Part: Equatable {
    let kind: TokenKind
    let source: Range<Int>
    let bytes: [UInt8]

    init(_ entry: TokenEntry, _ list: TokenList) {
      (kind, source, bytes) = (entry.kind, entry.source, Array(list[entry]))
    }
  }

  /// Protects: a word counts to its first 64 characters, whatever bytes they take, and its source
  /// is the whole word.
  @Test(arguments: ["a", "ж", "अ", "𐐨"]) func longWords(_ letter: String) {
    for count in [63, 64, 65, 10_000] {
      let list = tokens(String(repeating: letter, count: count), .text(.none))
      #expect(list.entries.count == 1)
      #expect(list.entries[0].source == 0..<count * letter.utf8.count)
      #expect(list.bytes[list.entries[0].place].count == min(count, 64) * letter.utf8.count)
    }
  }

  /// Protects: marks without end take no time of their square, and belong to their letter.
  @Test(arguments: ["e", "か", "ا", "ก", "1", ""]) func marksWithoutEnd(_ letter: String) {
    let marks = String(repeating: "\u{301}\u{323}", count: 100_000)
    let list = tokens(letter + marks, .text(.none))
    #expect(list.entries.count == (letter.isEmpty ? 0 : 1))
    for entry in list.entries {
      #expect(entry.source == 0..<letter.utf8.count + 400_000)
      #expect(list[entry].count <= 4 * Limits.wordCharactersMax)
    }
  }

  /// Protects: a query that is a part of a text is found in it, where the part begins and ends
  /// with words.
  @Test func partsAreFound() {
    var dice = Dice(5)
    let words = ["重跑", "gen", "-", "itgc", "后", "Ž", "👍🏽", "か\u{3099}", "น้ำ", " ", "1️⃣", "™", "한"]
    for _ in 0..<3_000 {
      let rolled = (0..<dice.roll(12) + 1).map { _ in words[dice.roll(words.count)] }
      let first = dice.roll(rolled.count)
      let separator = dice.roll(2) == 0 ? "" : ", "
      let last = first + dice.roll(rolled.count - first)
      let part = rolled[first...last].joined(separator: separator)
      let query = Array("\"\(part)\"".utf8)
      let text = rolled.joined(separator: separator)
      let asked = Query(query.span, prefixes: .common)
      let isJoined = separator.isEmpty
      // Cut inside a word of Latin letters the part is another word.
      guard asked.nothing == nil, !isJoined || isWhole(rolled, first, part) else { continue }
      let posting = Posting(tokens(text))
      #expect(posting.holds(asked), "\(part) in \(text)")
    }
  }

  /// Whether no letter or digit of Latin stands right before or behind the part.
  private func isWhole(_ rolled: [String], _ first: Int, _ part: String) -> Bool {
    let text = rolled.joined()
    let before = rolled[..<first].joined()
    let after = text.utf8.dropFirst(before.utf8.count + part.utf8.count)
    let latin = ["gen", "itgc", "Ž"]
    let beginsWord = latin.contains { part.hasPrefix($0) }
    let endsWord = latin.contains { part.hasSuffix($0) }
    let isAfterWord = latin.contains { before.hasSuffix($0) }
    let isBeforeWord = latin.contains {
      String(decoding: Array(after), as: UTF8.self).hasPrefix($0)
    }
    return !(beginsWord && isAfterWord) && !(endsWord && isBeforeWord)
  }
}
