/// What the generated tables say of a code point, read where they lie in the library.
///
/// Nothing is decoded or allocated beforehand: the tables are literals, a part of the library's
/// file that all its processes share.

/// What the tokenizer does with a character.
enum CharacterKind: UInt8 {
  /// Ends a word.
  case splitter
  /// A letter or number.
  case word
  /// A Latin, Greek or Cyrillic letter: the marks after it are dropped.
  case letter
  case mark
  /// A character of a script written without spaces: a token by itself.
  case single
  case pictograph
  /// Two of them are a flag.
  case indicator
  /// Of a skin.
  case tone
  /// Not there, and splits nothing.
  case dropped
  /// Becomes other characters.
  case mapped
  /// Becomes characters that are each a `letter`.
  case letters
  /// A symbol that becomes other characters, which do not run together with their neighbours.
  case symbol
}

/// What is known of a code point.
struct CharacterRecord {
  let kind: CharacterKind
  /// Begins what may be composed or put in order with what follows.
  let joins: Bool
  /// May be composed with what is before it, or stand in another order.
  let continues: Bool
  /// The place of its combining class; of what becomes other characters, their number.
  let order: UInt8
  /// Where it is among the records.
  let place: Int
}

/// A literal made of digits to the base 64, from `0` to `o`.
@safe
private struct Digits {
  private let first: UnsafePointer<UInt8>
  private let count: Int

  init(_ literal: StaticString) {
    unsafe first = literal.utf8Start
    count = literal.utf8CodeUnitCount
  }

  /// The number of so many digits; 0 beyond the end.
  @inline(__always)
  func number(at place: Int, width: Int) -> UInt32 {
    guard place >= 0, place <= count &- width else { return 0 }
    var value: UInt32 = 0
    for offset in 0..<width {
      value = value &<< 6 | UInt32(unsafe first[place &+ offset] &- 0x30)
    }
    return value
  }
}

struct CharacterTables {
  private let index = Digits(UnicodeTables.index)
  private let blocks = Digits(UnicodeTables.blocks)
  private let records = Digits(UnicodeTables.records)
  private let pool = Digits(UnicodeTables.pool)
  private let composed = Digits(UnicodeTables.composed)
  private let decomposed = Digits(UnicodeTables.decomposed)

  @inline(__always)
  func record(_ code: UInt32) -> CharacterRecord {
    let code = Int(code)
    let block = Int(index.number(at: code / UnicodeTables.blockSize &* 2, width: 2))
    let place = block &* UnicodeTables.blockSize &+ code % UnicodeTables.blockSize
    let record = Int(blocks.number(at: place &* 2, width: 2)) &* 6
    let head = records.number(at: record, width: 2)
    let flags = UInt8(truncatingIfNeeded: head &>> 6)
    return CharacterRecord(
      kind: CharacterKind(rawValue: flags & 15) ?? .splitter, joins: flags & 16 != 0,
      continues: flags & 32 != 0, order: UInt8(truncatingIfNeeded: head & 63), place: record)
  }

  /// One of the characters that a `mapped`, `letters` or `symbol` becomes.
  @inline(__always)
  func replacement(_ record: CharacterRecord, _ place: Int) -> UInt32 {
    // The character, or where the characters are in the pool.
    let value = records.number(at: record.place &+ 2, width: 4)
    if record.order == 1 { return value }
    return pool.number(at: (Int(value) &+ place) &* 4, width: 4)
  }

  /// The character that two are composed to, where folding leaves it alone.
  func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if let syllable = Hangul.composite(first, second) { return syllable }
    let key = UInt64(first) << 32 | UInt64(second)
    return find(composed, key) { pair in
      UInt64(composed.number(at: pair, width: 4)) << 32
        | UInt64(composed.number(at: pair &+ 4, width: 4))
    }.map { composed.number(at: $0 &+ 8, width: 4) }
  }

  /// The two that a character is composed of.
  func parts(_ code: UInt32) -> (UInt32, UInt32)? {
    if let parts = Hangul.parts(code) { return parts }
    return find(decomposed, UInt64(code)) { pair in
      UInt64(decomposed.number(at: pair &+ 8, width: 4))
    }.map {
      (decomposed.number(at: $0, width: 4), decomposed.number(at: $0 &+ 4, width: 4))
    }
  }

  /// Where the pair with that key is in an ordered table of pairs.
  private func find(_ table: Digits, _ key: UInt64, _ keyAt: (Int) -> UInt64) -> Int? {
    var (low, high) = (0, UnicodeTables.pairCount)
    while low < high {
      let middle = (low &+ high) / 2
      let found = keyAt(middle &* 12)
      if found == key { return middle &* 12 }
      if found < key { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }
}

/// Hangul syllables, which Unicode composes by calculation (The Unicode Standard, 3.12).
private enum Hangul {
  static let (lead, vowel, trail, syllable): (UInt32, UInt32, UInt32, UInt32) =
    (0x1100, 0x1161, 0x11A7, 0xAC00)
  static let (vowels, trails, syllables): (UInt32, UInt32, UInt32) = (21, 28, 11_172)

  static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if first >= lead, first < lead + 19, second >= vowel, second < vowel + vowels {
      return syllable + ((first - lead) * vowels + second - vowel) * trails
    }
    if first >= syllable, first < syllable + syllables, (first - syllable) % trails == 0,
      second > trail, second < trail + trails
    {
      return first + second - trail
    }
    return nil
  }

  static func parts(_ code: UInt32) -> (UInt32, UInt32)? {
    guard code >= syllable, code < syllable + syllables else { return nil }
    let place = code - syllable
    if place % trails > 0 { return (code - place % trails, trail + place % trails) }
    let pair = place / trails
    return (lead + pair / vowels, vowel + pair % vowels)
  }
}
