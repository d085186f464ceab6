/// JSON as the server writes and reads it, by hand and without copies.
///
/// Writing appends to a byte array. Reading walks one object and is strict: a
/// frame that is not JSON is answered as invalid and never half understood.
public enum ServerJSON {
  /// `text` as a JSON string.
  public static func quote(_ text: String) -> String {
    var bytes: [UInt8] = []
    write(text, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  static func write(_ text: String, into out: inout [UInt8]) {
    out.append(0x22)
    for byte in text.utf8 {
      switch byte {
      case 0x22, 0x5C:
        out.append(0x5C)
        out.append(byte)
      case 0x0A: out.append(contentsOf: [0x5C, 0x6E])
      case 0x00..<0x20:
        out.append(contentsOf: "\\u00".utf8)
        out.append(hex(byte >> 4))
        out.append(hex(byte & 15))
      default: out.append(byte)
      }
    }
    out.append(0x22)
  }

  static func write(_ texts: [String], into out: inout [UInt8]) {
    out.append(0x5B)
    for (index, text) in texts.enumerated() {
      if index > 0 { out.append(0x2C) }
      write(text, into: &out)
    }
    out.append(0x5D)
  }

  static func hex(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? 0x30 + nibble : 0x57 + nibble
  }
}

/// A cursor over one frame. Each method returns nil where the text is not the
/// JSON it asks for, and the whole frame is then given up.
struct JSONCursor {
  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var peek: UInt8? { at < bytes.count ? bytes[at] : nil }
  var isAtEnd: Bool { at == bytes.count }

  mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard peek == byte else { return false }
    at += 1
    return true
  }

  /// Walks the members of an object; `member` takes the value of each.
  mutating func object(_ member: (inout JSONCursor, String) -> Bool) -> Bool {
    guard take(0x7B) else { return false }
    if take(0x7D) { return true }
    repeat {
      skipSpace()
      guard let key = string(), take(0x3A) else { return false }
      skipSpace()
      guard member(&self, key) else { return false }
    } while take(0x2C)
    return take(0x7D)
  }

  mutating func array(_ element: (inout JSONCursor) -> Bool) -> Bool {
    guard take(0x5B) else { return false }
    if take(0x5D) { return true }
    repeat {
      skipSpace()
      guard element(&self) else { return false }
    } while take(0x2C)
    return take(0x5D)
  }

  mutating func strings() -> [String]? {
    var all: [String] = []
    let whole = array { cursor in
      guard let text = cursor.string() else { return false }
      all.append(text)
      return true
    }
    return whole ? all : nil
  }

  mutating func string() -> String? {
    guard peek == 0x22 else { return nil }
    at += 1
    let start = at
    while let byte = peek, byte != 0x22, byte != 0x5C, byte >= 0x20 { at += 1 }
    guard let stop = peek else { return nil }
    if stop == 0x22 {
      at += 1
      return String(validating: bytes[start..<(at - 1)], as: UTF8.self)
    }
    guard stop == 0x5C else { return nil }
    return escapedString(from: start)
  }

  private mutating func escapedString(from start: Int) -> String? {
    var text = Array(bytes[start..<at])
    while let byte = peek {
      at += 1
      switch byte {
      case 0x22: return String(validating: text, as: UTF8.self)
      case 0x5C: guard escape(into: &text) else { return nil }
      case 0x00..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func escape(into text: inout [UInt8]) -> Bool {
    guard let kind = peek else { return false }
    at += 1
    switch kind {
    case 0x22, 0x5C, 0x2F: text.append(kind)
    case 0x62: text.append(0x08)
    case 0x66: text.append(0x0C)
    case 0x6E: text.append(0x0A)
    case 0x72: text.append(0x0D)
    case 0x74: text.append(0x09)
    case 0x75:
      guard var value = hexUnit() else { return false }
      if (0xD800..<0xDC00).contains(value) {
        guard peek == 0x5C else { return false }
        at += 1
        guard peek == 0x75 else { return false }
        at += 1
        guard let low = hexUnit(), (0xDC00..<0xE000).contains(low) else { return false }
        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(value) else { return false }
      text.append(contentsOf: Character(scalar).utf8)
    default: return false
    }
    return true
  }

  private mutating func hexUnit() -> UInt32? {
    guard at + 4 <= bytes.count,
      let digits = String(validating: bytes[at..<(at + 4)], as: UTF8.self),
      digits.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
      let value = UInt32(digits, radix: 16)
    else { return nil }
    at += 4
    return value
  }

  /// A whole number that fits, or nil.
  mutating func integer() -> Int? {
    let start = at
    if peek == 0x2D { at += 1 }
    while let byte = peek, (0x30...0x39).contains(byte) { at += 1 }
    return Int(String(decoding: bytes[start..<at], as: UTF8.self))
  }

  mutating func bool() -> Bool? {
    switch skip().map(Array.init) {
    case Array("true".utf8): true
    case Array("false".utf8): false
    default: nil
    }
  }

  /// Steps over any value and returns its bytes.
  mutating func skip(depth: Int = 0) -> ArraySlice<UInt8>? {
    guard depth < 64, let first = peek else { return nil }
    let start = at
    var whole: Bool
    switch first {
    case 0x22: whole = string() != nil
    case 0x7B: whole = object { cursor, _ in cursor.skip(depth: depth + 1) != nil }
    case 0x5B: whole = array { cursor in cursor.skip(depth: depth + 1) != nil }
    default:
      while let byte = peek, isScalar(byte) { at += 1 }
      let word = String(decoding: bytes[start..<at], as: UTF8.self)
      whole = ["true", "false", "null"].contains(word) || isNumber(word)
    }
    return whole ? bytes[start..<at] : nil
  }

  private func isScalar(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2B
      || byte == 0x2E || byte == 0x45
  }

  /// The grammar of JSON numbers, which is narrower than the language's own.
  private func isNumber(_ word: String) -> Bool {
    var rest = Substring(word)
    if rest.first == "-" { rest.removeFirst() }
    let whole = rest.prefix { $0.isASCII && $0.isNumber }
    guard !whole.isEmpty, whole == "0" || whole.first != "0" else { return false }
    rest = rest.dropFirst(whole.count)
    if rest.first == "." {
      let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard !digits.isEmpty else { return false }
      rest = rest.dropFirst(digits.count + 1)
    }
    guard let e = rest.first else { return true }
    guard e == "e" || e == "E" else { return false }
    rest.removeFirst()
    if rest.first == "+" || rest.first == "-" { rest.removeFirst() }
    return !rest.isEmpty && rest.allSatisfy { $0.isASCII && $0.isNumber }
  }
}
