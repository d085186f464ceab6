/// What Tests/TextTests/reference.py has written down, and how it is summed.

import Text

/// The tokens of a text, all of them.
func tokens(_ text: String, _ purpose: Tokenizer.Purpose = .text(.common)) -> TokenList {
  let bytes = Array(text.utf8)
  return Tokenizer.tokens(bytes.span, purpose)
}

/// FNV-1a, 64 bits.
struct Sum {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }

  mutating func addTokens(_ text: String, _ purpose: Tokenizer.Purpose) {
    let list = tokens(text, purpose)
    for entry in list.entries {
      add(entry.kind.rawValue * 2 + (entry.isColocated ? 1 : 0))
      for byte in list[entry] { add(byte) }
      add(10)
    }
    add(10)
  }

  var hex: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The random numbers of reference.py.
struct Dice {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func roll(_ sides: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(sides))
  }
}
