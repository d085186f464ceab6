/// What values mean: text, numbers, members, and the bytes they lie in.
import Base
import Testing
import Wire

@Suite struct DocumentTests {
  private func value(_ json: String) throws -> (Document, Document.Node) {
    let document = try Document(bytes("{\"v\":\(json)}"))
    return (document, try #require(document.member(bytes("v"), of: document.root)))
  }

  @Test(arguments: [
    (#""""#, ""), (#""a""#, "a"), (#""\"\\\/""#, "\"\\/"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
    (#""\u0041\u00e9\u4F60""#, "Aé你"), (#""\uD83D\uDE00""#, "😀"), (#""\u0000""#, "\0"),
    (#""x\ud83d\ude00y""#, "x😀y"), (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
    (#""\u07ff\u0800""#, "\u{7FF}\u{800}"),
    // Half a pair is no character.
    (#""\ud83d""#, "\u{FFFD}"), (#""\ude00""#, "\u{FFFD}"), (#""\ud83dx""#, "\u{FFFD}x"),
    (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
    (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ud83d\n""#, "\u{FFFD}\n"), (#""\ud83d\ude0""#, nil),
  ])
  func strings(_ json: String, _ expected: String?) throws {
    guard let expected else {
      #expect(failure(bytes(json)) == .syntax)
      return
    }
    let (document, node) = try value(json)
    #expect(document.string(node).map { text($0) } == expected)
  }

  @Test(arguments: [
    ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("9223372036854775807", .max),
    ("-9223372036854775808", .min), ("1.0", 1), ("1e3", 1000), ("1.5e1", 15), ("120e-1", 12),
    ("0.0", 0), ("0e99999999999", 0), ("1000000000000000000", 1_000_000_000_000_000_000),
    ("0.000001e6", 1), ("-12.50e1", -125), ("1E+2", 100),
    ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1e19", nil), ("1.5", nil),
    ("1e-1", nil), ("99999999999999999999", nil), ("1e99999999999", nil), ("1e-99999999999", nil),
    ("100000000000000000000000000", nil), ("\"1\"", nil), ("true", nil), ("null", nil),
  ])
  func integersAreExactOrNone(_ json: String, _ expected: Int64?) throws {
    let (document, node) = try value(json)
    #expect(document.integer(node) == expected)
  }

  @Test func membersAreFoundByTheirText() throws {
    let json = #" {"a":1,"message\u005fid":"x", "b" : {"a":2,"c":[1,{"a":3}]},"a":4,"é":5} "#
    let document = try Document(bytes(json))
    func integer(_ name: String) -> Int64? {
      document.member(bytes(name), of: document.root).flatMap { document.integer($0) }
    }
    // The last of two wins, and a nested one is another's.
    #expect(integer("a") == 4)
    #expect(integer("é") == 5)
    #expect(integer("c") == nil)
    #expect(integer("") == nil)
    let escaped = try #require(document.member(bytes("message_id"), of: document.root))
    #expect(document.string(escaped) == bytes("x"))
    let inner = try #require(document.member(bytes("b"), of: document.root))
    #expect(text(document.bytes[document.range(inner)]) == #"{"a":2,"c":[1,{"a":3}]}"#)
    #expect(document.member(bytes("a"), of: escaped) == nil)
  }

  @Test func childrenComeInOrder() throws {
    let document = try Document(bytes("[1,[2,[3]],{\"k\":4},[],{},\"s\"]"))
    var seen: [String] = []
    var child = document.firstChild(of: document.root)
    while let node = child {
      seen.append(text(document.bytes[document.range(node)]))
      child = document.next(after: node, in: document.root)
    }
    #expect(seen == ["1", "[2,[3]]", "{\"k\":4}", "[]", "{}", "\"s\""])
  }

  @Test(arguments: [
    (#"{"_control":{"a":1}}"#, true), (#" {"x":1,"_control":false}"#, true),
    (#"{"\u005fcontrol":1}"#, true), (#"{"_control":null}"#, false), (#"{"a":"_control"}"#, false),
    (#"{"a":{"_control":1}}"#, false), (#"["_control"]"#, false), (#""_control""#, false),
    (#"{"_control":1,"_control":null}"#, false), (#"{"__control":1}"#, false),
    (#"{"_control":1"#, false), ("", false), ("  ", false), ("{", false), ("{_", false),
    (#"{"\n":1,"\u005f_control":1,"\u005fc\u006fntrol":[]}"#, true),
    (#"{"\\u005fcontrol":1}"#, false), (#"{"\n":"_","\"":"_control"}"#, false),
    ("{\\", false), ("\u{0}{\"_control\":1}", false), (#"{"_controls":1}"#, false),
  ])
  func controlIsAMemberThatIsNotNull(_ payload: String, _ expected: Bool) {
    #expect(hasControlMember(bytes(payload)) == expected)
  }

  /// Eight bytes are looked at together, so the place in them must not matter, nor what else is
  /// there.
  @Test func controlIsFoundAtAnyPlace() {
    for before in ["", "_", "x_", "\\n", "é_", "/]^`"] {
      for count in 0..<20 {
        let name = before + String(repeating: "a", count: count)
        let head = "{\"\(name)\":1,"
        #expect(hasControlMember(bytes(head + #""_control":1}"#)))
        #expect(hasControlMember(bytes(head + #""\u005fcontrol":1}"#)))
        #expect(!hasControlMember(bytes(head + #""_contro":1}"#)))
      }
    }
  }

  /// A member counts by its text, a value by being a string as well.
  @Test func wordsAreStringsAndWhole() throws {
    func action(_ value: String) throws -> Update.Action? {
      let json = #"{"type":"update","payload":{"ref":"1","action":\#(value)}}"#
      guard case .update(let update) = try frame(json).body else { return nil }
      return update.action
    }
    #expect(try action(#""new""#) == .new && action(#""n\u0065w""#) == .new)
    #expect(try action(#""delete""#) == .delete && action(#""updatE""#) == .other)
    // Values that are as long as the word with its quotes.
    #expect(try action("12345") == .other && action("false") == .other && action("[123]") == .other)
    for type in ["12345678", "[\"updat\"]", #""Update""#, #""updat\u0045""#] {
      let json = #"{"type":\#(type),"payload":{"ref":"1","action":"new"}}"#
      guard case .unknown = try frame(json).body else { throw Unexpected(text: json) }
    }
  }

  @Test func readersOnlyGrow() {
    let first = mergedReadBy(stored: nil, adding: [bytes("b"), bytes("a"), bytes("b"), []])
    #expect(text(first) == #"["b","a"]"#)
    // Nothing new: the same bytes, spaces and all.
    let stored = bytes(#"[ "b", {"user_id":"a"}, 7 ]"#)
    #expect(mergedReadBy(stored: stored, adding: [bytes("a")]) == stored)
    #expect(mergedReadBy(stored: stored, adding: []) == stored)
    #expect(
      text(mergedReadBy(stored: stored, adding: [bytes("c\"\n")])) == #"["b","a","c\"\u000a"]"#)
    #expect(text(mergedReadBy(stored: bytes("garbage"), adding: [])) == "[]")
    #expect(text(mergedReadBy(stored: nil, adding: [])) == "[]")
    #expect(
      userIDs(inReadBy: bytes(#"[{"user_id":"a"},"b",{"user_id":3},{},null,""]"#)) == [
        bytes("a"), bytes("b"),
      ])
    #expect(userIDs(inReadBy: bytes("{}")) == [])
    #expect(userIDs(inReadBy: mergedReadBy(stored: nil, adding: [bytes("ž\\")])) == [bytes("ž\\")])
  }
}
