/// The small parts of folding: ASCII, the marks that make letters, and what waits to be composed.

enum ASCII {
  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  @inline(__always)
  static func isWord(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 26 }

  /// A letter or digit in lower case.
  @inline(__always)
  static func folded(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}

enum Marks {
  /// The iota written below, which full case folding makes a letter.
  static let subjoined: UInt32 = 0x345
  static let iota: UInt32 = 0x3B9

  /// The Cyrillic letter that a letter and a mark are, where it is another letter: й ї ў ѓ ќ.
  static func kept(_ letter: UInt32, _ mark: UInt32) -> UInt32? {
    switch (letter, mark) {
    case (0x438, 0x306): 0x439
    case (0x456, 0x308): 0x457
    case (0x443, 0x306): 0x45E
    case (0x433, 0x301): 0x453
    case (0x43A, 0x301): 0x45C
    default: nil
    }
  }
}

/// A character that may yet be composed or change places.
struct Element {
  var code: UInt32
  /// The place of its combining class.
  let order: UInt8
  var source: Range<Int>

  init(_ code: UInt32, _ order: UInt8, _ source: Range<Int>) {
    self.code = code
    self.order = order
    self.source = source
  }

  mutating func take(_ other: Range<Int>) {
    source =
      min(source.lowerBound, other.lowerBound)..<max(source.upperBound, other.upperBound)
  }

  /// Canonical ordering: marks by their class, equal ones as they stand.
  static func order(_ elements: inout [Element]) {
    for place in elements.indices.dropFirst() where elements[place].order > 0 {
      var hole = place
      let element = elements[place]
      while hole > 0, elements[hole &- 1].order > element.order {
        elements[hole] = elements[hole &- 1]
        hole &-= 1
      }
      elements[hole] = element
    }
  }
}

extension CharacterRecord {
  static let plainLetter = CharacterRecord(
    kind: .letter, joins: false, continues: false, order: 0, place: 0)
}
