/// What strings and numbers mean, once the scanner has found where they lie.
///
/// Only well-formed input reaches these functions, yet none of them relies on it:
/// a wrong byte gives a wrong value, never a trap.

/// Unescapes what stands between the quotes of a string.
///
/// A surrogate without its other half becomes U+FFFD, and is told, since two
/// different texts become one by it.
func unescape(_ raw: ArraySlice<UInt8>) -> (text: [UInt8], repaired: Bool) {
  var text: [UInt8] = []
  text.reserveCapacity(raw.count)
  var repaired = false
  var at = raw.startIndex
  while at < raw.endIndex {
    let byte = raw[at]
    at += 1
    guard byte == ASCII.backslash, at < raw.endIndex else {
      text.append(byte)
      continue
    }
    let letter = raw[at]
    at += 1
    guard letter == ASCII.u else {
      text.append(shortEscape(letter))
      continue
    }
    var unit = codeUnit(raw, at: &at)
    if unit & 0xFC00 == 0xD800, let low = lowSurrogate(raw, at: &at) {
      unit = 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
    } else if unit & 0xF800 == 0xD800 {
      unit = 0xFFFD
      repaired = true
    }
    append(unit, to: &text)
  }
  return (text, repaired)
}

/// What a one-letter escape stands for.
private func shortEscape(_ letter: UInt8) -> UInt8 {
  switch letter {
  case UInt8(ascii: "b"): 0x08
  case ASCII.f: 0x0C
  case ASCII.n: 0x0A
  case UInt8(ascii: "r"): 0x0D
  case ASCII.t: 0x09
  default: letter
  }
}

/// Reads the four digits of a `\u` escape.
private func codeUnit(_ raw: ArraySlice<UInt8>, at: inout Int) -> UInt32 {
  var unit: UInt32 = 0
  for _ in 0..<4 where at < raw.endIndex {
    unit = unit << 4 | (hexDigit(raw[at]) ?? 0)
    at += 1
  }
  return unit
}

/// Reads an escape of a low surrogate; passes over nothing where there is none.
private func lowSurrogate(_ raw: ArraySlice<UInt8>, at: inout Int) -> UInt32? {
  guard raw.endIndex - at >= 6, raw[at] == ASCII.backslash, raw[at + 1] == ASCII.u
  else { return nil }
  var next = at + 2
  let unit = codeUnit(raw, at: &next)
  guard unit & 0xFC00 == 0xDC00 else { return nil }
  at = next
  return unit
}

/// Appends a scalar as UTF-8.
private func append(_ scalar: UInt32, to text: inout [UInt8]) {
  func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F) }
  func head(_ mark: UInt32, shift: UInt32) -> UInt8 {
    UInt8(truncatingIfNeeded: mark | scalar >> shift)
  }
  switch scalar {
  case ..<0x80: text.append(head(0, shift: 0))
  case ..<0x800: text += [head(0xC0, shift: 6), tail(0)]
  case ..<0x10000: text += [head(0xE0, shift: 12), tail(6), tail(0)]
  default: text += [head(0xF0, shift: 18), tail(12), tail(6), tail(0)]
  }
}

/// The integer that a JSON number stands for, where it is one exactly and fits.
///
/// `1.0` and `1e3` are integers too; `1.5`, `1e-1` and anything beyond 64 bits
/// give nil rather than something near.
func exactInteger(_ text: ArraySlice<UInt8>) -> Int64? {
  var at = text.startIndex
  let negative = at < text.endIndex && text[at] == ASCII.minus
  if negative { at += 1 }
  // The digits without the point, and how many stood behind it.
  var digits: [UInt8] = []
  var behindPoint = 0
  var seenPoint = false
  while at < text.endIndex, text[at] | 0x20 != UInt8(ascii: "e") {
    if text[at] == ASCII.point {
      seenPoint = true
    } else {
      digits.append(text[at] &- ASCII.zero)
      behindPoint += seenPoint ? 1 : 0
    }
    at += 1
  }
  while digits.last == 0 {
    digits.removeLast()
    behindPoint -= 1
  }
  guard let first = digits.firstIndex(where: { $0 != 0 }) else { return 0 }
  guard let exponent = exponent(text[at...]), digits.count - first <= 19 else { return nil }
  // What is left ends in a digit that is not zero, so the scale must not be negative.
  let scale = exponent - behindPoint
  guard scale >= 0, scale < 19 else { return nil }
  var value: Int64 = 0
  for digit in digits[first...] + [UInt8](repeating: 0, count: scale) {
    let (tens, over) = value.multipliedReportingOverflow(by: 10)
    let step = negative ? -Int64(digit) : Int64(digit)
    let (sum, carry) = tens.addingReportingOverflow(step)
    guard !over, !carry else { return nil }
    value = sum
  }
  return value
}

/// The exponent of a number from its `e` on, 0 without one, nil when absurd.
private func exponent(_ text: ArraySlice<UInt8>) -> Int? {
  var negative = false
  var value = 0
  for byte in text.dropFirst() {
    if byte == ASCII.minus { negative = true }
    guard isDigit(byte) else { continue }
    value = value * 10 + Int(byte - ASCII.zero)
    // No frame is long enough to need more.
    guard value < 1 << 28 else { return nil }
  }
  return negative ? -value : value
}

/// Appends text as a JSON string. What is not UTF-8 is replaced, so that no
/// frame of ours is ever malformed.
func appendQuoted(_ text: [UInt8], to json: inout [UInt8]) {
  let text = isUTF8(text) ? text : Array(String(decoding: text, as: UTF8.self).utf8)
  json.append(ASCII.quote)
  for byte in text {
    switch byte {
    case ASCII.quote, ASCII.backslash:
      json += [ASCII.backslash, byte]
    case 0..<0x20:
      let hex = Array("0123456789abcdef".utf8)
      json += Array("\\u00".utf8) + [hex[Int(byte >> 4)], hex[Int(byte & 15)]]
    default:
      json.append(byte)
    }
  }
  json.append(ASCII.quote)
}
