/// Whether bytes are UTF-8, sixteen of them at a time.
///
/// A byte is judged by itself and by the three before it, which says all that the table of
/// well-formed sequences says (The Unicode Standard, table 3-7): whether a byte has to
/// continue a character goes by the leads among those three, and the first byte behind a
/// few leads has a narrower range.

/// Bytes of one look, and how many of those before it bear on it.
private let width = 16
private let reach = 3
private typealias Word = SIMD2<UInt64>
private let highBits: UInt64 = 0x8080_8080_8080_8080

/// Whether bytes are UTF-8.
func isUTF8(_ bytes: [UInt8]) -> Bool {
  let text = bytes.span
  let count = text.count
  // What begins with other than ASCII has nothing before it to look at. No frame does.
  guard count >= reach + width, text[0] | text[1] | text[2] < 0x80 else {
    return isUTF8BySteps(text)
  }
  var wrong = Word()
  let last = count &- width
  var at = reach
  while at < last {
    if !isASCII(text, at: at) { wrong |= misfits(text, at: at) }
    at &+= width
  }
  // The last look may see bytes a second time.
  wrong |= misfits(text, at: last)
  let isWhole = text[count &- 1] < 0xC0 && text[count &- 2] < 0xE0 && text[count &- 3] < 0xF0
  return isWhole && (wrong[0] | wrong[1]) & highBits == 0
}

private func isUTF8BySteps(_ text: Span<UInt8>) -> Bool {
  do {
    _ = try UTF8Span(validating: text)
    return true
  } catch {
    return false
  }
}

/// Whether the bytes of a look and those that bear on it are all below 128.
@inline(__always)
private func isASCII(_ text: Span<UInt8>, at: Int) -> Bool {
  let seen =
    sequence(text, at: at &- reach, type: UInt64.self)
    | sequence(text, at: at &+ 5, type: UInt64.self)
    | sequence(text, at: at &+ 8, type: UInt64.self)
  return seen & highBits == 0
}

/// The high bit of each byte of a look that cannot stand where it does, or before which none can.
///
/// Shifting a word to the left brings the bits of each byte to its high bit in turn; what the
/// neighbours bring with them lies below it and is not looked at.
@inline(__always)
private func misfits(_ text: Span<UInt8>, at: Int) -> Word {
  let byte = sequence(text, at: at, type: Word.self)
  let before = sequence(text, at: at &- 1, type: Word.self)
  let second = sequence(text, at: at &- 2, type: Word.self)
  let third = sequence(text, at: at &- 3, type: Word.self)

  let continues =
    before & before &<< 1 | second & second &<< 1 & second &<< 2
    | third & third &<< 1 & third &<< 2 & third &<< 3
  let isContinuation = byte & ~(byte &<< 1)

  // What the byte before allows behind it: leads of two, three and four bytes.
  let lead = before & before &<< 1
  let long = lead & before &<< 2
  let (b3, b2, b1, b0) = (before &<< 4, before &<< 5, before &<< 6, before &<< 7)
  let two = lead & ~(before &<< 2)
  let three = long & ~(before &<< 3)
  let four = long & before &<< 3
  let isZero = ~(b3 | b2 | b1 | b0)
  // Above 0x9F among continuations, and above 0x8F.
  let isUpper = byte &<< 2
  let isRaised = isUpper | byte &<< 3
  // Overlong forms, surrogates, what lies beyond the last character.
  let overlong =
    two & ~(before &<< 3 | b3 | b2 | b1) | isZero & (three & ~isUpper | four & ~isRaised)
  let surrogate = three & b3 & b2 & ~b1 & b0 & isUpper
  let beyond = four & (b3 | b2 & (b1 | b0 | isRaised))
  return (continues ^ isContinuation) | overlong | surrogate | beyond
}

/// Bytes of a text from a place on, as they lie. The caller sees to it that they are there.
@inline(__always)
private func sequence<Bytes: BitwiseCopyable>(
  _ text: Span<UInt8>, at: Int, type: Bytes.Type
) -> Bytes {
  // The load is checked against the bounds of the span; any bits are a value.
  unsafe text.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: type)
}
