/// Emoji: a sequence of code points that is shown as one picture is one token.

import Base

/// Code points that hold a sequence together.
private enum Emoji {
  static let textStyle: UInt32 = 0xFE0E
  static let emojiStyle: UInt32 = 0xFE0F
  static let joiner: UInt32 = 0x200D
  static let keycap: UInt32 = 0x20E3
  static let tags: ClosedRange<UInt32> = 0xE0020...0xE007F
  static let tones: ClosedRange<UInt32> = 0x1F3FB...0x1F3FF
}

extension Tokenizer {
  /// Where a keycap ends whose character is at a place: that, perhaps U+FE0F, and U+20E3.
  func keycapEnd(_ text: Span<UInt8>, _ place: Int) -> Int? {
    guard place &+ 1 < text.count, text[place &+ 1] >= 0xE2 else { return nil }
    let next = skipStyle(text, place &+ 1)
    guard let scalar = scalar(text, next), scalar.code == Emoji.keycap else { return nil }
    return next &+ scalar.count
  }

  /// Takes a keycap; false where there is none.
  mutating func takeKeycap(_ text: Span<UInt8>, _ place: Int) -> Bool {
    guard let end = keycapEnd(text, place) else { return false }
    close()
    let first = list.count
    list.append(text[place])
    list.append(scalar: Emoji.keycap)
    addEmoji(first..<list.count, place..<end, isColocated: false)
    if purpose != .query, ASCII.isDigit(text[place]) {
      addEmoji(first..<first &+ 1, place..<end, isColocated: true)
    }
    at = end
    return true
  }

  mutating func takeEmoji(_ text: Span<UInt8>, _ scalar: DecodedScalar, _ kind: CharacterKind) {
    let (start, first) = (at, list.count)
    var count = 1
    var hasTone = false
    list.append(scalar: scalar.code)
    at &+= scalar.count
    if kind == .indicator {
      if let second = self.scalar(text, at), tables.record(second.code).kind == .indicator {
        list.append(scalar: second.code)
        at &+= second.count
      }
      at = skipStyle(text, at)
    } else {
      takeModifiers(text, &count, &hasTone)
      while let joined = pictographAfterJoiner(text) {
        appendToEmoji(Emoji.joiner, &count)
        appendToEmoji(joined.scalar.code, &count)
        at = joined.end
        takeModifiers(text, &count, &hasTone)
      }
    }
    let place = first..<list.count
    addEmoji(place, start..<at, isColocated: false)
    if hasTone, purpose != .query { addBare(place, start..<at) }
  }

  /// The tone of a skin, and the tags of a flag.
  private mutating func takeModifiers(
    _ text: Span<UInt8>, _ count: inout Int, _ hasTone: inout Bool
  ) {
    at = skipStyle(text, at)
    if let tone = scalar(text, at), Emoji.tones.contains(tone.code) {
      appendToEmoji(tone.code, &count)
      hasTone = true
      at = skipStyle(text, at &+ tone.count)
    }
    while let tag = scalar(text, at), Emoji.tags.contains(tag.code) {
      appendToEmoji(tag.code, &count)
      at &+= tag.count
    }
  }

  private func pictographAfterJoiner(
    _ text: Span<UInt8>
  ) -> (scalar: DecodedScalar, end: Int)? {
    guard let joiner = scalar(text, at), joiner.code == Emoji.joiner,
      let next = scalar(text, at &+ joiner.count), tables.record(next.code).kind == .pictograph
    else { return nil }
    return (next, at &+ joiner.count &+ next.count)
  }

  /// The sequence without tones, for those who look for the picture.
  private mutating func addBare(_ place: Range<Int>, _ source: Range<Int>) {
    let first = list.count
    var next = place.lowerBound
    while next < place.upperBound {
      let scalar = list.scalar(next)
      if !Emoji.tones.contains(scalar.code) { list.append(scalar: scalar.code) }
      next &+= scalar.count
    }
    addEmoji(first..<list.count, source, isColocated: true)
  }

  private mutating func addEmoji(
    _ place: Range<Int>, _ source: Range<Int>, isColocated: Bool
  ) {
    add(TokenEntry(kind: .emoji, isColocated: isColocated, source: source, place: place))
  }

  private mutating func appendToEmoji(_ code: UInt32, _ count: inout Int) {
    guard count < wordMax else { return }
    list.append(scalar: code)
    count &+= 1
  }

  private func scalar(_ text: Span<UInt8>, _ place: Int) -> DecodedScalar? {
    guard place < text.count, text[place] >= 0x80 else { return nil }
    return DecodedScalar(text, at: place)
  }

  private func skipStyle(_ text: Span<UInt8>, _ place: Int) -> Int {
    guard let next = scalar(text, place),
      next.code == Emoji.emojiStyle || next.code == Emoji.textStyle
    else { return place }
    return place &+ next.count
  }
}
