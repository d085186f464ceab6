/// The JSON array of user ids that have read, got or heard a message.
///
/// It only grows: two lists become their union, in the order of first
/// appearance. Ids are compared as text, so two spellings of one id (escaped or
/// not) are one reader.
internal import Base

enum ReaderList {
  /// The union of two lists. One that is not an array of strings counts as none.
  static func union(_ stored: [UInt8]?, added: [UInt8]?) -> [UInt8]? {
    guard let added, added != stored else { return stored }
    guard let stored else { return decode(added) == nil ? nil : added }
    guard let new = decode(added) else { return stored }
    guard let old = decode(stored) else { return added }
    return joined(old, new: new) ?? stored
  }

  /// The list with more readers.
  static func adding(_ users: [[UInt8]], to stored: [UInt8]?) -> [UInt8]? {
    let old = stored.flatMap(decode) ?? []
    return joined(old, new: users) ?? stored
  }

  /// Whether a user is on a list.
  static func contains(_ user: [UInt8], list: [UInt8]) -> Bool {
    decode(list)?.contains(user) ?? false
  }

  /// The joined list as JSON; nil where nothing came to it, or too much would.
  private static func joined(_ old: [[UInt8]], new: [[UInt8]]) -> [UInt8]? {
    var known = Set(old)
    var all = old
    for user in new where known.insert(user).inserted { all.append(user) }
    guard all.count > old.count else { return nil }
    let text = encode(all)
    return text.count <= Limits.messageBytesMax ? text : nil
  }

  static func encode(_ users: [[UInt8]]) -> [UInt8] {
    var text: [UInt8] = [UInt8(ascii: "[")]
    for (index, user) in users.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      append(user, to: &text)
    }
    text.append(UInt8(ascii: "]"))
    return text
  }

  /// Appends text as a JSON string.
  static func append(_ user: [UInt8], to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in user {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      case 0..<0x20:
        text.append(contentsOf: Array("\\u00".utf8))
        text.append(hexDigit(byte >> 4))
        text.append(hexDigit(byte & 15))
      default:
        text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  /// The users of a list; nil where the text is anything else.
  static func decode(_ text: [UInt8]) -> [[UInt8]]? {
    var reader = Reader(text: text)
    return reader.list(isAlone: true)
  }

  /// The members of an object whose values are lists; nil where the text is anything else.
  static func groups(_ text: [UInt8]) -> [(name: [UInt8], users: [[UInt8]])]? {
    var reader = Reader(text: text)
    return reader.groups()
  }

  /// Walks the text byte by byte; every step checks its bounds.
  private struct Reader {
    let text: [UInt8]
    var place = 0

    mutating func groups() -> [(name: [UInt8], users: [[UInt8]])]? {
      guard consume(UInt8(ascii: "{")) else { return nil }
      var groups: [(name: [UInt8], users: [[UInt8]])] = []
      if consume(UInt8(ascii: "}")) { return isAtEnd ? groups : nil }
      repeat {
        guard let name = string(), consume(UInt8(ascii: ":")), let users = list(isAlone: false)
        else { return nil }
        groups.append((name, users))
      } while consume(UInt8(ascii: ","))
      guard consume(UInt8(ascii: "}")), isAtEnd else { return nil }
      return groups
    }

    mutating func list(isAlone: Bool) -> [[UInt8]]? {
      guard consume(UInt8(ascii: "[")) else { return nil }
      var users: [[UInt8]] = []
      if consume(UInt8(ascii: "]")) { return !isAlone || isAtEnd ? users : nil }
      repeat {
        guard let user = string() else { return nil }
        users.append(user)
      } while consume(UInt8(ascii: ","))
      guard consume(UInt8(ascii: "]")), !isAlone || isAtEnd else { return nil }
      return users
    }

    private var isAtEnd: Bool {
      mutating get {
        skipSpace()
        return place == text.count
      }
    }

    private mutating func skipSpace() {
      while place < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[place]) { place += 1 }
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
      skipSpace()
      guard place < text.count, text[place] == byte else { return false }
      place += 1
      return true
    }

    private mutating func next() -> UInt8? {
      guard place < text.count else { return nil }
      defer { place += 1 }
      return text[place]
    }

    private mutating func string() -> [UInt8]? {
      guard consume(UInt8(ascii: "\"")) else { return nil }
      var user: [UInt8] = []
      while let byte = next() {
        switch byte {
        case UInt8(ascii: "\""): return user
        case UInt8(ascii: "\\"):
          guard let scalar = escape() else { return nil }
          user.append(contentsOf: Array(String(Character(scalar)).utf8))
        case 0..<0x20: return nil
        default: user.append(byte)
        }
      }
      return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
      switch next() {
      case UInt8(ascii: "\""): return "\""
      case UInt8(ascii: "\\"): return "\\"
      case UInt8(ascii: "/"): return "/"
      case UInt8(ascii: "b"): return "\u{8}"
      case UInt8(ascii: "f"): return "\u{c}"
      case UInt8(ascii: "n"): return "\n"
      case UInt8(ascii: "r"): return "\r"
      case UInt8(ascii: "t"): return "\t"
      case UInt8(ascii: "u"): return unicode()
      default: return nil
      }
    }

    private mutating func unicode() -> Unicode.Scalar? {
      guard let first = hex4() else { return nil }
      guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
      guard next() == UInt8(ascii: "\\"), next() == UInt8(ascii: "u"), let second = hex4(),
        (0xDC00..<0xE000).contains(second)
      else { return nil }
      return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func hex4() -> UInt32? {
      var value: UInt32 = 0
      for _ in 0..<4 {
        guard let byte = next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue
        else { return nil }
        value = value << 4 | UInt32(digit)
      }
      return value
    }
  }
}
