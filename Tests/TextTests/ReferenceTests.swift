/// The tokenizer against an independent one in Python, which goes by unicodedata.

import TestSupport
import Testing
import Text

@Suite struct ReferenceTests {
  /// Protects: the tables and the rules say of each code point, alone and among others, what
  /// Unicode says.
  @Test func eachCodePoint() {
    var blocks = 0
    for line in Corpus.lines("code-points.txt") {
      let parts = line.split(separator: " ")
      guard parts.count == 3, let first = UInt32(parts[0], radix: 16),
        let last = UInt32(parts[1], radix: 16)
      else {
        Issue.record("not a line: \(line)")
        return
      }
      for block in first...last {
        blocks += 1
        let scalars = (block << 8...block << 8 | 255).compactMap(Unicode.Scalar.init)
        let alone = scalars.map { String(Character($0)) }.joined(separator: "\n")
        // Blocks of equal sums are those without a token: only the ends are gone through in full.
        if block > first, block < last {
          #expect(tokens(alone).entries.isEmpty, "block \(String(block, radix: 16))")
          continue
        }
        var sum = Sum()
        sum.addTokens(alone, .text(.common))
        for (before, after) in [("A", "b"), ("अ", "अ"), ("か", "か"), ("1", "ا")] {
          let texts = scalars.map { "\(before)\(Character($0))\(after)" }
          sum.addTokens(texts.joined(separator: "\n"), .text(.common))
        }
        #expect(sum.hex == parts[2], "block \(String(block, radix: 16))")
      }
    }
    #expect(blocks == 0x1100)
  }

  /// Protects: marks put in order, composition, runs and sequences, in texts that mix scripts.
  @Test func randomTexts() {
    let sums = Corpus.lines("texts.txt")
    #expect(sums.count == 200)
    var dice = Dice(14)
    for (place, expected) in sums.enumerated() {
      var sum = Sum()
      for _ in 0..<100 {
        let text = Alphabet.text(&dice)
        sum.addTokens(text, .text(.common))
        sum.addTokens(text, .query)
      }
      #expect(sum.hex == expected, "texts from \(place * 100) on")
    }
  }

  /// Protects: the part of the expected results that people can read is what is compared.
  @Test func sampleForPeople() {
    let samples = Corpus.lines("sample.tsv").filter { !$0.hasPrefix("#") }
    #expect(samples.count > 100)
    for line in samples {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
      let list = tokens(String(parts[1]), .query)
      let found = list.entries.map { String(decoding: list[$0], as: UTF8.self) }
      #expect((found.isEmpty ? "-" : found.joined(separator: " ")) == parts[2], "\(line)")
    }
  }
}

/// What random texts are made of, as reference.py makes them.
private enum Alphabet {
  static let ranges: [(Int, Int)] = [
    (0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0xA0, 0x17F), (0x300, 0x345), (0x370, 0x3FF),
    (0x400, 0x45F), (0x306, 0x308), (0x591, 0x5F4), (0x621, 0x670), (0x900, 0x97F),
    (0x980, 0x9FF), (0xD80, 0xDFF), (0xE01, 0xE5B), (0xE81, 0xEDF), (0x1000, 0x109F),
    (0x1100, 0x11FF), (0x1780, 0x17DD), (0x1E00, 0x1FFF), (0x200B, 0x2064), (0x20D0, 0x218B),
    (0x2460, 0x24FF), (0x2E80, 0x2FDF), (0x3001, 0x3030), (0x3041, 0x30FF), (0x3131, 0x318E),
    (0x3200, 0x33FF), (0x4E00, 0x4E20), (0xAC00, 0xAC40), (0xF900, 0xF940), (0xFB00, 0xFDFF),
    (0xFE00, 0xFE0F), (0xFE70, 0xFEFF), (0xFF01, 0xFFDC), (0x1D400, 0x1D7FF),
    (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F64F), (0x1F3FB, 0x1F3FF), (0x200D, 0x200D),
    (0xFE0F, 0xFE0F), (0x20E3, 0x20E3), (0xE0061, 0xE007F), (0x0, 0xD7FF), (0xE000, 0x10FFFF),
  ]

  static func text(_ dice: inout Dice) -> String {
    let near = [dice.roll(ranges.count), dice.roll(ranges.count), dice.roll(ranges.count)]
    var result = String.UnicodeScalarView()
    for _ in 0..<dice.roll(24) + 1 {
      let place = dice.roll(4)
      let (first, last) = ranges[place < 3 ? near[place] : dice.roll(ranges.count)]
      let code = first + dice.roll(last - first + 1)
      result.append(Unicode.Scalar(UInt32(code)) ?? " ")
    }
    return String(result)
  }
}
