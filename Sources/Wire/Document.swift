/// Parsed JSON: the bytes as they came and a flat tape of where each value lies.
///
/// The grammar is RFC 8259 to the letter, UTF-8 is validated once over the whole text, and scanning
/// does not recurse, so nothing that a server sends can exhaust the stack; `isSameJSON` recurses to
/// the depth that was scanned. Values are ranges of the original bytes, which is how payloads stay
/// verbatim. Of members with the same name the last one wins.
internal import Base

/// Why bytes are no frame. A bad item inside a good frame is not a failure.
package enum WireFailure: Error, Equatable, Sendable {
  /// Longer than a frame may be; nothing was read.
  case tooLarge
  /// Not UTF-8.
  case notUTF8
  /// Not JSON.
  case syntax
  /// Nested deeper than is allowed.
  case tooDeep
  /// JSON, but not an object.
  case notAFrame
  /// A request whose `type` is none that a host may ask for, or that has two.
  case unknownVerb
  /// A request that only the library itself makes: its answer belongs to a sync.
  case ownVerb
  /// A request without this member.
  case missingMember(Parameter)
  /// One in which it is wrong.
  case badMember(Parameter)
  /// One that has it twice.
  case repeatedMember(Parameter)
}

package struct Document: Sendable {
  /// A value of the document that gave it.
  package struct Node: Equatable, Sendable {
    let index: Int
  }

  package enum Kind: Sendable {
    case object, array, string, number, bool, null
  }

  package let bytes: [UInt8]
  private let tape: [Scanner.Entry]

  /// Parses a whole text.
  ///
  /// - Parameter depth: arrays and objects that it is to stand in.
  /// - Throws: `tooLarge`, `notUTF8`, `syntax` or `tooDeep`.
  package init(_ bytes: [UInt8], inside depth: Int = 0) throws(WireFailure) {
    guard bytes.count <= Limits.frameBytesMax else { throw .tooLarge }
    guard isUTF8(bytes) else { throw .notUTF8 }
    var scanner = Scanner(expecting: bytes.count, inside: depth)
    try scanner.scan(bytes.span)
    self.bytes = bytes
    tape = scanner.tape
  }

  package var root: Node { Node(index: 0) }

  /// The bytes of a value, verbatim.
  package func range(_ node: Node) -> Range<Int> {
    let entry = tape[node.index]
    return entry.start..<entry.stop
  }

  package func kind(_ node: Node) -> Kind {
    switch bytes[tape[node.index].start] {
    case ASCII.openBrace: .object
    case ASCII.openBracket: .array
    case ASCII.quote: .string
    case ASCII.t, ASCII.f: .bool
    case ASCII.n: .null
    default: .number
    }
  }

  /// Whether a value is a string with escapes.
  func isEscaped(_ node: Node) -> Bool { tape[node.index].isEscaped }

  /// True or false, or nil where the value is neither.
  package func bool(_ node: Node) -> Bool? {
    kind(node) == .bool ? bytes[tape[node.index].start] == ASCII.t : nil
  }

  /// The exact integer that a number stands for, or nil.
  package func integer(_ node: Node) -> Int64? {
    kind(node) == .number ? exactInteger(bytes[range(node)]) : nil
  }

  /// The same of a number that is written in digits alone. What prints whole numbers with a point
  /// or an exponent may have rounded them before.
  package func digits(_ node: Node) -> Int64? {
    bytes[range(node)].allSatisfy { isDigit($0) || $0 == ASCII.minus } ? integer(node) : nil
  }

  /// The text of a string, unescaped; an unpaired surrogate becomes U+FFFD.
  package func string(_ node: Node) -> [UInt8]? {
    unescaped(node)?.text
  }

  /// The text of a string, and whether an unpaired surrogate was replaced.
  func unescaped(_ node: Node) -> (text: [UInt8], repaired: Bool)? {
    guard kind(node) == .string else { return nil }
    let entry = tape[node.index]
    let inner = entry.start + 1..<entry.stop - 1
    guard entry.isEscaped else { return (Array(bytes[inner]), false) }
    return unescape(bytes[inner])
  }

  /// The first element of an array, the first key of an object, or nil.
  package func firstChild(of node: Node) -> Node? {
    let entry = tape[node.index]
    return entry.next > node.index + 1 ? Node(index: node.index + 1) : nil
  }

  /// The value that follows `child` inside `parent`. In an object keys and
  /// values take turns.
  package func next(after child: Node, in parent: Node) -> Node? {
    let index = tape[child.index].next
    return index < tape[parent.index].next ? Node(index: index) : nil
  }

  /// How many elements an array has, counted up to `most` and one beyond.
  func count(of node: Node, upTo most: Int) -> Int {
    var count = 0
    var child = firstChild(of: node)
    while let element = child, count <= most {
      count += 1
      child = next(after: element, in: node)
    }
    return count
  }

  /// The value of a member, the last one of that name; nil where there is none
  /// or the value is no object.
  package func member(_ name: [UInt8], of node: Node) -> Node? {
    guard kind(node) == .object else { return nil }
    var found: Node?
    var child = firstChild(of: node)
    while let key = child, let value = next(after: key, in: node) {
      if isString(key, text: name) { found = value }
      child = next(after: value, in: node)
    }
    return found
  }

  /// As `member`, with `null` taken as absent.
  func present(_ name: [UInt8], of node: Node) -> Node? {
    guard let value = member(name, of: node), kind(value) != .null else { return nil }
    return value
  }

  // Kept out of line: frames have many small members, and each has its reader.

  /// The text of a member that is a string.
  @inline(never)
  func text(_ name: [UInt8], of node: Node) -> [UInt8]? {
    member(name, of: node).flatMap { string($0) }
  }

  /// A member that is true or false.
  @inline(never)
  func flag(_ name: [UInt8], of node: Node) -> Bool? {
    member(name, of: node).flatMap { bool($0) }
  }

  /// A member that is a whole number.
  @inline(never)
  func number(_ name: [UInt8], of node: Node) -> Int64? {
    member(name, of: node).flatMap { integer($0) }
  }

  /// A member that counts something: no server has more of anything, and a count that was cut
  /// would be a lie.
  @inline(never)
  func count(_ name: [UInt8], of node: Node) -> Int64? {
    number(name, of: node).flatMap { (0...Limits.countMax).contains($0) ? $0 : nil }
  }

  /// Whether a value is a string whose text, unescaped, is `text`.
  @inline(__always)
  func isString(_ node: Node, text: [UInt8]) -> Bool {
    let entry = tape[node.index]
    // Most are told apart by their length: two quotes are around the text.
    guard entry.stop &- entry.start == text.count &+ 2 || entry.isEscaped else { return false }
    return holds(entry, text: text)
  }

  @inline(never)
  private func holds(_ entry: Scanner.Entry, text: [UInt8]) -> Bool {
    guard bytes[entry.start] == ASCII.quote else { return false }
    if entry.isEscaped {
      return unescape(bytes[entry.start + 1..<entry.stop - 1]).text == text
    }
    let start = entry.start &+ 1
    for at in text.indices where bytes[start &+ at] != text[at] { return false }
    return true
  }
}

// MARK: One value, printed in two ways

/// Whether two texts are one JSON value: a server may print what it was sent anew, with other
/// spaces, escapes and numbers, and its members in another order. True also of equal bytes that are
/// no JSON.
package func isSameJSON(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  if one == other { return true }
  guard let one = canonicalJSON(one), let other = canonicalJSON(other) else { return false }
  return one == other
}

/// The text that all prints of a value share; nil where it is no JSON.
func canonicalJSON(_ text: [UInt8]) -> [UInt8]? {
  do {
    let document = try Document(text)
    var canonical: [UInt8] = []
    canonical.reserveCapacity(text.count)
    append(document.root, of: document, to: &canonical)
    return canonical
  } catch {
    return nil
  }
}

/// Documents are at most `Limits.jsonDepthMax` deep.
private func append(_ node: Document.Node, of document: Document, to text: inout [UInt8]) {
  switch document.kind(node) {
  case .bool, .null: text.append(contentsOf: document.bytes[document.range(node)])
  case .number: appendNumber(document.bytes[document.range(node)], to: &text)
  case .string: appendQuoted(document.string(node) ?? [], to: &text)
  case .array:
    text.append(ASCII.openBracket)
    var child = document.firstChild(of: node)
    while let element = child {
      append(element, of: document, to: &text)
      text.append(ASCII.comma)
      child = document.next(after: element, in: node)
    }
    text.append(ASCII.closeBracket)
  case .object:
    // Of members of one name the last counts.
    var members: [[UInt8]: Document.Node] = [:]
    var child = document.firstChild(of: node)
    while let key = child, let value = document.next(after: key, in: node) {
      members[document.string(key) ?? []] = value
      child = document.next(after: value, in: node)
    }
    text.append(ASCII.openBrace)
    for (name, value) in Array(members).ordered({ $0.key.lexicographicallyPrecedes($1.key) }) {
      appendQuoted(name, to: &text)
      text.append(ASCII.colon)
      append(value, of: document, to: &text)
      text.append(ASCII.comma)
    }
    text.append(ASCII.closeBrace)
  }
}

/// Sign, digits without zeros at the ends, and the power of ten of the last one: 1.50e3 is `15e2`.
/// A number whose exponent has over 9 digits stays as it is.
private func appendNumber(_ number: ArraySlice<UInt8>, to text: inout [UInt8]) {
  var digits: [UInt8] = []
  var power = 0
  var isNegative = false
  var isFraction = false
  var rest = number
  scan: while let byte = rest.first {
    switch byte {
    case ASCII.minus: isNegative = true
    case ASCII.point: isFraction = true
    case ASCII.zero...ASCII.nine:
      if !(digits.isEmpty && byte == ASCII.zero) { digits.append(byte) }
      if isFraction { power &-= 1 }
    default: break scan
    }
    rest.removeFirst()
  }
  if rest.count > 0 {
    guard rest.count <= 11, let exponent = Int(String(decoding: rest.dropFirst(), as: UTF8.self))
    else { return text.append(contentsOf: number) }
    power &+= exponent
  }
  while digits.last == ASCII.zero {
    digits.removeLast()
    power &+= 1
  }
  if digits.isEmpty { return text.append(ASCII.zero) }
  if isNegative { text.append(ASCII.minus) }
  text.append(contentsOf: digits)
  text.append(contentsOf: "e\(power)".utf8)
}
