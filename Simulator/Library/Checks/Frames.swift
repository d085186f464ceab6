/// Reads the few members of a frame that the simulated network has to know.
///
/// Not a JSON reader: the world's own ids hold no escapes, so a search for the member is enough.
/// It shares no code with the client, so that a fault there is not repeated here.
enum Frames {
  /// Where the value of the first member `name` begins.
  private static func valueStart(_ name: String, _ bytes: [UInt8]) -> Int? {
    let needle = Array("\"\(name)\"".utf8)
    guard var index = find(needle, in: bytes, from: 0) else { return nil }
    index += needle.count
    while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x3A { index += 1 }
    return index < bytes.count ? index : nil
  }

  static func find(_ needle: [UInt8], in bytes: [UInt8], from: Int) -> Int? {
    guard let first = needle.first, bytes.count >= needle.count else { return nil }
    return bytes.withUnsafeBufferPointer { hay in
      var index = from
      let last = hay.count - needle.count
      while index <= last {
        if hay[index] == first {
          var offset = 1
          while offset < needle.count, hay[index + offset] == needle[offset] { offset += 1 }
          if offset == needle.count { return index }
        }
        index += 1
      }
      return nil
    }
  }

  /// The type of a frame, its own or that of its envelope.
  static func type(_ bytes: [UInt8]) -> String? { string("type", bytes) }

  /// The request itself, where it travels in an envelope.
  static func request(_ bytes: [UInt8]) -> [UInt8] { inside("command", bytes) }

  /// The answer itself, where it travels in an envelope.
  static func answer(_ bytes: [UInt8]) -> [UInt8] { inside("reply", bytes) }

  private static func inside(_ envelope: String, _ bytes: [UInt8]) -> [UInt8] {
    guard type(bytes) == envelope, let start = valueStart("payload", bytes) else { return bytes }
    return Array(bytes[start..<(bytes.count - 1)])
  }

  /// An answer or push without the deletions in it; for a planted fault.
  static func withoutDeletions(_ bytes: [UInt8]) -> [UInt8] {
    guard let type = string("type", bytes),
      ["get_deleted_since", "message_deleted"].contains(type),
      let start = valueStart("message_ids", bytes),
      let end = bytes[start...].firstIndex(of: 0x5D)
    else { return bytes }
    var kept = Array(bytes[...start])
    kept.append(contentsOf: bytes[end...])
    return kept
  }

  /// An update with so many items that its list is too long: behind its own come such as are none.
  static func withLongList(_ bytes: [UInt8]) -> [UInt8] {
    let end = Array("]}}}".utf8)
    guard type(bytes) == "update", bytes.suffix(end.count).elementsEqual(end) else { return bytes }
    return bytes.dropLast(end.count) + longTail + end
  }

  private static let longTail = Array(String(repeating: ",0", count: 10_001).utf8)

  static func hasLongList(_ bytes: [UInt8]) -> Bool {
    bytes.count > longTail.count && type(bytes) == "update"
      && bytes.dropLast(4).suffix(longTail.count).elementsEqual(longTail)
  }

  /// The same update without a list at all; for a planted fault.
  static func withoutLongList(_ bytes: [UInt8]) -> [UInt8] {
    guard hasLongList(bytes), let start = valueStart("items", bytes) else { return bytes }
    return bytes[..<start] + Array("0}}}".utf8)
  }

  /// A page in place of which an empty one comes that says that there is more.
  static func contradicted(_ bytes: [UInt8]) -> [UInt8] {
    guard let start = valueStart("messages", bytes), string("status", bytes) == "ok" else {
      return bytes
    }
    return bytes[...start] + contradiction + (type(bytes) == "reply" ? [0x7D] : [])
  }

  private static let contradiction = Array("],\"has_more\":true,\"total_count\":50}}".utf8)

  static func isContradicted(_ bytes: [UInt8]) -> Bool {
    bytes.suffix(contradiction.count + 1).starts(with: contradiction)
      || bytes.suffix(contradiction.count).elementsEqual(contradiction)
  }

  static func string(_ name: String, _ bytes: [UInt8]) -> String? {
    guard let start = valueStart(name, bytes), bytes[start] == 0x22 else { return nil }
    guard let end = bytes[(start + 1)...].firstIndex(of: 0x22) else { return nil }
    return String(decoding: bytes[(start + 1)..<end], as: UTF8.self)
  }

  /// The first member `name` that is an object. Strings in these frames hold no braces.
  static func object(_ name: String, _ bytes: [UInt8]) -> [UInt8]? {
    guard let start = find(Array("\"\(name)\":{".utf8), in: bytes, from: 0) else { return nil }
    let from = start + name.utf8.count + 3
    var depth = 0
    for index in from..<bytes.count {
      if bytes[index] == 0x7B { depth += 1 }
      if bytes[index] == 0x7D { depth -= 1 }
      if depth == 0 { return Array(bytes[from...index]) }
    }
    return nil
  }

  /// The first member `name` that is a number.
  static func number(_ name: String, _ bytes: [UInt8]) -> Int? {
    guard let start = valueStart(name, bytes) else { return nil }
    let digits = bytes[start...].prefix { $0 == 0x2D || (0x30...0x39).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// The values of all members `name` that are text.
  static func all(_ name: String, _ bytes: [UInt8]) -> [String] {
    let needle = Array("\"\(name)\":\"".utf8)
    var found: [String] = []
    var from = 0
    while let at = find(needle, in: bytes, from: from) {
      let start = at + needle.count
      guard let end = bytes[start...].firstIndex(of: 0x22) else { break }
      found.append(String(decoding: bytes[start..<end], as: UTF8.self))
      from = end
    }
    return found
  }

  static func strings(_ name: String, _ bytes: [UInt8]) -> [String] {
    guard let start = valueStart(name, bytes), bytes[start] == 0x5B else { return [] }
    guard let end = bytes[start...].firstIndex(of: 0x5D) else { return [] }
    let parts = bytes[(start + 1)..<end].split(separator: 0x22, omittingEmptySubsequences: false)
    return parts.enumerated().compactMap { index, part in
      index % 2 == 1 ? String(decoding: part, as: UTF8.self) : nil
    }
  }

  /// A short form of a frame for the trace.
  static func brief(_ bytes: [UInt8], _ width: Int = 180) -> String {
    let text = String(decoding: bytes.prefix(width), as: UTF8.self)
    return bytes.count > width ? "\(text)… (\(bytes.count) bytes)" : text
  }
}
