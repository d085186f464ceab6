/// The texts of a payload that are searched: what stands in the members of these names.
///
/// Rule protected: any bytes are a payload. What is no JSON, and a string of JSON, is a text by
/// itself. Of all texts together the first 64 KiB are searched, so that a message costs no more to
/// be indexed, to be taken out and to be marked, however long it is.

import Base

/// Names of members whose texts are searched, in this order.
package struct MemberNames: Equatable, Sendable {
  package static let common = MemberNames(Array("text body caption file_name".utf8))

  /// With spaces between them, as a profile and the index say them.
  package let bytes: [UInt8]
  let names: [[UInt8]]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    names = bytes.split(separator: 0x20).map(Array.init)
  }
}

package struct MemberTexts: Sendable {
  package struct Member: Equatable, Sendable {
    /// Empty where the payload itself is the text.
    package let name: [UInt8]
    /// Unescaped; half a surrogate is U+FFFD.
    package let text: [UInt8]

    package init(name: [UInt8], text: [UInt8]) {
      self.name = name
      self.text = text
    }
  }

  package let members: [Member]

  package init(_ payload: [UInt8], _ names: MemberNames = .common) {
    var reader = MemberReader(payload)
    switch reader.root(names.names) {
    case .object(let found): members = Self.searched(found)
    case .string(let text): members = Self.searched([Member(name: [], text: text)])
    case .other:
      members =
        payload.isEmpty || payload.elementsEqual(MemberReader.null)
        ? [] : Self.searched([Member(name: [], text: payload)])
    }
  }

  /// Of a text that the host gave in place of the payload.
  package init(searchable text: [UInt8]) {
    members = Self.searched([Member(name: [], text: text)])
  }

  /// As much of them as is searched.
  private static func searched(_ members: [Member]) -> [Member] {
    var left = Limits.searchedBytesMax
    return members.map { member in
      let count = Swift.min(member.text.count, left)
      left &-= count
      if count == member.text.count { return member }
      return Member(name: member.name, text: Array(member.text.prefix(count)))
    }
  }

  /// Whether an object of JSON has a member of that name that is not `null`.
  package static func has(_ name: StaticString, in object: [UInt8]) -> Bool {
    var reader = MemberReader(object)
    return reader.has(name.bytes)
  }
}

/// Reads the outermost members of an object, once and forwards; it does not trap, and gives
/// nothing where the object does not end as one.
private struct MemberReader {
  enum Root {
    case object([MemberTexts.Member])
    case string([UInt8])
    case other
  }

  static let null = Array("null".utf8)
  private static let quote = UInt8(ascii: "\"")

  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func root(_ names: [[UInt8]]) -> Root {
    skipSpaces()
    switch peek {
    case Self.quote:
      guard let text = string(), isAtEnd else { return .other }
      return .string(unescape(bytes[text]).text)
    case UInt8(ascii: "{"):
      var found = [Range<Int>?](repeating: nil, count: names.count)
      let isObject = object { name, value in
        guard let index = names.firstIndex(where: name.elementsEqual) else { return }
        // Of members of one name the last one counts.
        found[index] = value
      }
      guard isObject, isAtEnd else { return .other }
      return .object(
        zip(names, found).compactMap { name, value in
          guard let value, bytes[value.lowerBound] == Self.quote else { return nil }
          let text = unescape(bytes[value.lowerBound &+ 1..<value.upperBound &- 1]).text
          return MemberTexts.Member(name: name, text: text)
        })
    default: return .other
    }
  }

  mutating func has(_ name: [UInt8]) -> Bool {
    skipSpaces()
    var found = false
    guard peek == UInt8(ascii: "{") else { return false }
    let bytes = bytes
    let isObject = object { member, value in
      if member.elementsEqual(name) { found = !bytes[value].elementsEqual(Self.null) }
    }
    return isObject && found
  }

  /// Calls with the name and the bytes of each member; false where it is no object.
  private mutating func object(_ member: (ArraySlice<UInt8>, Range<Int>) -> Void) -> Bool {
    at &+= 1
    skipSpaces()
    if take(UInt8(ascii: "}")) { return true }
    while true {
      skipSpaces()
      guard let name = string() else { return false }
      skipSpaces()
      guard take(UInt8(ascii: ":")) else { return false }
      skipSpaces()
      guard let value = value() else { return false }
      let written = bytes[name]
      let isEscaped = written.contains(UInt8(ascii: "\\"))
      member(isEscaped ? unescape(written).text[...] : written, value)
      skipSpaces()
      if take(UInt8(ascii: "}")) { return true }
      guard take(UInt8(ascii: ",")) else { return false }
    }
  }

  private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

  private var isAtEnd: Bool {
    var reader = self
    reader.skipSpaces()
    return reader.at == bytes.count
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    at &+= 1
    return true
  }

  private mutating func skipSpaces() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      at &+= 1
    }
  }

  /// What stands between the quotes of the string that begins here.
  private mutating func string() -> Range<Int>? {
    guard take(Self.quote) else { return nil }
    let first = at
    while let byte = peek {
      at &+= 1
      if byte == Self.quote { return first..<at &- 1 }
      if byte == UInt8(ascii: "\\") { at &+= 1 }
    }
    return nil
  }

  /// The bytes of the value that begins here, however deep it is.
  private mutating func value() -> Range<Int>? {
    let first = at
    var depth = 0
    while let byte = peek {
      switch byte {
      case Self.quote:
        guard string() != nil else { return nil }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth &+= 1
        at &+= 1
        continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return nil }
        depth &-= 1
        at &+= 1
      case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09:
        if depth == 0 { return nil }
        at &+= 1
        continue
      default:
        while let byte = peek, !Self.ends(byte) { at &+= 1 }
      }
      if depth == 0 { return first..<at }
    }
    return nil
  }

  private static func ends(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"),
      UInt8(ascii: "{"), UInt8(ascii: "["), quote, 0x20, 0x0A, 0x0D, 0x09:
      true
    default: false
    }
  }
}
