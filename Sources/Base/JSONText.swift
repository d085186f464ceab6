/// Text as JSON prints it: the one codec of strings, for all modules.
///
/// What is read was mostly found to be well-formed before, and nothing here relies on it: a wrong
/// byte gives a wrong value, never a trap.

/// Whether bytes are UTF-8.
package func isUTF8(_ bytes: [UInt8]) -> Bool {
  do {
    _ = try UTF8Span(validating: bytes.span)
    return true
  } catch {
    return false
  }
}

private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")

/// Text as a JSON string.
package func quoted(_ text: [UInt8]) -> [UInt8] {
  var json: [UInt8] = []
  appendQuoted(text, to: &json)
  return json
}

/// Appends text as a JSON string. What is not UTF-8 is replaced, so that nothing of ours is ever
/// malformed.
package func appendQuoted(_ text: [UInt8], to json: inout [UInt8]) {
  let text = isUTF8(text) ? text : Array(String(decoding: text, as: UTF8.self).utf8)
  json.append(quote)
  for byte in text {
    switch byte {
    case quote, backslash:
      json.append(backslash)
      json.append(byte)
    case 0..<0x20:
      let hex = Array("0123456789abcdef".utf8)
      json += Array("\\u00".utf8) + [hex[Int(byte >> 4)], hex[Int(byte & 15)]]
    default:
      json.append(byte)
    }
  }
  json.append(quote)
}

/// Unescapes what stands between the quotes of a string.
///
/// A surrogate without its other half becomes U+FFFD, and is reported, since two
/// different texts become one by it.
package func unescape(_ raw: ArraySlice<UInt8>) -> (text: [UInt8], repaired: Bool) {
  // Most strings have no escape.
  guard let first = raw.firstIndex(of: backslash) else { return (Array(raw), false) }
  var text: [UInt8] = []
  text.reserveCapacity(raw.count)
  text += raw[..<first]
  var repaired = false
  var at = first
  while at < raw.endIndex {
    let byte = raw[at]
    at += 1
    guard byte == backslash, at < raw.endIndex else {
      text.append(byte)
      continue
    }
    let letter = raw[at]
    at += 1
    guard letter == UInt8(ascii: "u") else {
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
  case UInt8(ascii: "f"): 0x0C
  case UInt8(ascii: "n"): 0x0A
  case UInt8(ascii: "r"): 0x0D
  case UInt8(ascii: "t"): 0x09
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
  guard raw.endIndex - at >= 6, raw[at] == backslash, raw[at + 1] == UInt8(ascii: "u")
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

/// The value of a hexadecimal digit, or nil.
package func hexDigit(_ byte: UInt8) -> UInt32? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
  default: nil
  }
}
