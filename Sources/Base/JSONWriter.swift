/// Objects and lists of JSON that are being written: who writes one glues no bytes.
///
/// Members stand in the order in which they were added, so that the same content is the same
/// bytes. What is added as JSON is put in as it is.

extension StaticString {
  package var bytes: [UInt8] { withUTF8Buffer { unsafe Array($0) } }
}

package struct JSONObject: Sendable {
  private var json = [UInt8(ascii: "{")]

  package init() {}

  package mutating func add(_ name: StaticString, _ text: [UInt8]) {
    begin(name.bytes)
    appendQuoted(text, to: &json)
  }

  package mutating func add(_ name: StaticString, _ number: Int) {
    begin(name.bytes)
    json += Array("\(number)".utf8)
  }

  package mutating func add(_ name: StaticString, _ texts: [[UInt8]]) {
    begin(name.bytes)
    json += JSONList(texts).closed()
  }

  package mutating func add(_ name: StaticString, json value: [UInt8]) {
    add(name.bytes, json: value)
  }

  package mutating func add(_ name: [UInt8], json value: [UInt8]) {
    begin(name)
    json += value
  }

  /// Adds what stands between the braces of another object, which may be nothing.
  package mutating func add(members: some Collection<UInt8>) {
    if members.isEmpty { return }
    beginMember()
    json += members
  }

  package func closed() -> [UInt8] { json + [UInt8(ascii: "}")] }

  /// What stands between the braces.
  package var members: [UInt8] { Array(json.dropFirst()) }

  private mutating func begin(_ name: [UInt8]) {
    beginMember()
    appendQuoted(name, to: &json)
    json.append(UInt8(ascii: ":"))
  }

  private mutating func beginMember() {
    if json.count > 1 { json.append(UInt8(ascii: ",")) }
  }
}

package struct JSONList: Sendable {
  private var json = [UInt8(ascii: "[")]

  package init() {}

  package init(_ texts: [[UInt8]]) {
    for text in texts { add(text) }
  }

  package mutating func add(_ text: [UInt8]) {
    begin()
    appendQuoted(text, to: &json)
  }

  package mutating func add(json value: some Collection<UInt8>) {
    begin()
    json += value
  }

  package func closed() -> [UInt8] { json + [UInt8(ascii: "]")] }

  private mutating func begin() {
    if json.count > 1 { json.append(UInt8(ascii: ",")) }
  }
}
