/// Strings of JSON and what is written with them: nothing that a host or a server says comes out
/// as another thing, or ends a value before its time.
import Testing

@testable import Base

private func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct JSONTextTests {
  @Test(arguments: ["", "a", "ä€😀", "\"", "\\", "\\\"", "\u{0}\u{1F}\n\t", "\u{7F}\u{2028}"])
  func whatIsQuotedComesBack(_ text: String) {
    let json = quoted(utf8(text))
    #expect(json.first == UInt8(ascii: "\"") && json.last == UInt8(ascii: "\""))
    #expect(json.allSatisfy { $0 >= 0x20 })
    let found = unescape(json[1..<json.count - 1])
    #expect(found.text == utf8(text) && !found.repaired)
  }

  @Test func escapesMeanWhatTheGrammarSays() {
    func text(_ json: String) -> [UInt8] { unescape(utf8(json)[...]).text }
    #expect(text(#"\"\\\/\b\f\n\r\t"#) == utf8("\"\\/\u{8}\u{C}\n\r\t"))
    #expect(text(#"\u0041\u00e4\u20AC\ud83d\uDE00"#) == utf8("Aä€😀"))
    for lone in [#"\ud83d"#, #"\ude00"#, #"\ud83d\u0041"#] {
      #expect(unescape(utf8(lone)[...]).repaired)
    }
    // What no scanner lets through: an escape that ends too early.
    for cut in ["\\", #"\u"#, #"\u00"#, #"\ud83d\u"#] { _ = text(cut) }
  }

  @Test func whatIsNoTextIsReplaced() {
    #expect(quoted([0x61, 0xFF]) == utf8("\"a\u{FFFD}\""))
    #expect(isUTF8(utf8("ä€😀")) && isUTF8([]))
    for wrong: [UInt8] in [[0x80], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5]] {
      #expect(!isUTF8(wrong))
    }
  }

  @Test func objectsAndListsAreWrittenInOrder() {
    var object = JSONObject()
    #expect(object.closed() == utf8("{}") && object.members.isEmpty)
    object.add("a", utf8("\""))
    object.add("b", 7)
    object.add(members: [])
    object.add("c", [utf8("x"), utf8("y")])
    object.add(members: utf8(#""d":null,"e":1"#))
    object.add(utf8("\n"), json: utf8("[]"))
    let members = #""a":"\"","b":7,"c":["x","y"],"d":null,"e":1,"\u000a":[]"#
    #expect(object.members == utf8(members) && object.closed() == utf8("{\(members)}"))
    var list = JSONList()
    #expect(list.closed() == utf8("[]"))
    list.add(json: utf8("1"))
    list.add(utf8("b"))
    #expect(list.closed() == utf8(#"[1,"b"]"#))
  }
}
