/// Which bytes are UTF-8, beside the validator of Swift's library.
import Base
import Testing

@testable import Wire

private func isText(_ bytes: [UInt8]) -> Bool {
  (try? UTF8Span(validating: bytes.span)) != nil
}

/// Bytes at both sides of each limit that the table of well-formed sequences has.
private let limits: [UInt8] = [
  0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
  0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF,
]
/// As many bytes as two looks and a half, and some.
private let blank = [UInt8](repeating: 0x61, count: 45)

@Suite struct UTF8Tests {
  /// Each sequence of four such bytes that begins with a lead, and of three or fewer behind ASCII,
  /// across the end of a look.
  @Test(arguments: limits)
  func sequencesAreJudgedAlike(_ first: UInt8) {
    let fourths: [UInt8] = first >= 0xE0 ? [0x61, 0x80, 0xBF, 0xC2, 0xF0] : [0x61, 0x80, 0xC3]
    var text = blank
    var wrong: [[UInt8]] = []
    for second in limits {
      for third in limits {
        for fourth in fourths {
          text.replaceSubrange(17..<21, with: [first, second, third, fourth])
          if isUTF8(text) != isText(text) { wrong.append(Array(text[17..<21])) }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test(arguments: [
    "ä", "€", "😀", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
  ])
  func charactersStandAnywhere(_ character: String) {
    let sequence = Array(character.utf8)
    func isUTF8(_ sequence: [UInt8], _ at: Int, of count: Int) -> Bool {
      var text = [UInt8](repeating: 0x61, count: count)
      text.insert(contentsOf: sequence, at: at)
      return Wire.isUTF8(text)
    }
    // Without its first byte, its last, and with one of them twice.
    let broken: [[UInt8]] = [
      Array(sequence.dropFirst()), Array(sequence.dropLast()), sequence + sequence.suffix(1),
      sequence.prefix(1) + sequence,
    ]
    for count in 16..<60 {
      for at in 0...count {
        #expect(isUTF8(sequence, at, of: count))
        for broken in broken {
          #expect(!isUTF8(broken, at, of: count), "\(broken) at \(at) of \(count)")
        }
      }
    }
  }

  @Test func textsThatWereChangedAreJudgedAlike() {
    var random = Random(seed: 20_261_122)
    var texts = 0
    for _ in 0..<4_000 {
      var text: [UInt8] = [0x61, 0x61, 0x61]
      while text.count < 22 + Int(random.next() % 80) {
        let bits = UInt32(truncatingIfNeeded: random.next())
        // Of each length as many.
        let value = bits >> 2 % [0x80, 0x800, 0xFFFF, 0x10_FFFF][Int(bits & 3)]
        if let scalar = Unicode.Scalar(value) { text += Array(String(scalar).utf8) }
      }
      #expect(isUTF8(text))
      let at = Int(random.next() % UInt64(text.count))
      switch random.next() % 3 {
      case 0: text[at] = limits[Int(random.next() % UInt64(limits.count))]
      case 1: text.remove(at: at)
      default: text[at] ^= 1 << UInt8(random.next() % 8)
      }
      let expected = isText(text)
      texts += expected ? 1 : 0
      #expect(isUTF8(text) == expected)
    }
    // Both answers were asked for.
    #expect(texts > 200 && texts < 3_800)
  }
}
