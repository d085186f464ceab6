/// The JSON array of user ids that have read, got or heard a message.
///
/// It only grows: two lists become their union, in the order of first appearance, up to as many as
/// a list of a frame may hold. Ids are compared as text, so two spellings of one id (escaped or
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
    for user in new where all.count < Limits.listItemsMax && known.insert(user).inserted {
      all.append(user)
    }
    guard all.count > old.count else { return nil }
    let text = JSONList(all).closed()
    return text.count <= Limits.messageBytesMax ? text : nil
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

    private mutating func string() -> [UInt8]? {
      guard consume(UInt8(ascii: "\"")) else { return nil }
      let start = place
      while place < text.count, text[place] >= 0x20 {
        let byte = text[place]
        place += byte == UInt8(ascii: "\\") ? 2 : 1
        guard byte == UInt8(ascii: "\"") else { continue }
        let found = unescape(text[start..<place - 1])
        // Two users may become one where a character is put in for what is none.
        return found.repaired ? nil : found.text
      }
      return nil
    }
  }
}
