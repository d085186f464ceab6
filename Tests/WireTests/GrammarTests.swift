/// The grammar of RFC 8259: what must be read, what must be refused, and what the
/// standard leaves open, each as the protocol page defines it.
import Base
import Foundation
import Testing
import Wire

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// The failure that a text meets, nil where it is read.
func failure(_ json: [UInt8]) -> WireFailure? {
  do {
    _ = try Document(json)
    return nil
  } catch {
    return error
  }
}

@Suite struct GrammarTests {
  @Test(arguments: [
    "{}", "[]", "0", "-0", "1", "-1", "10", "1.5", "-0.1", "1e1", "1E+2", "1e-2", "0e0",
    "123.456e78",
    "true", "false", "null", "\"\"", "\"a\"", "\" \"", " [ ] ", "\t\r\n{\"a\" : 1 }\n",
    "[1,2,3]", "[[],[[]],{}]", "{\"a\":{\"b\":[]}}", "{\"\":0}", "{\"a\":1,\"a\":2}", "[null]",
    #""\"\\\/\b\f\n\r\t\u0041""#, #""\uD83D\uDE00""#, #""\u0000""#, "\"\u{7F}\"", "\"\u{2028}\"",
    "\"Příliš žluťoučký\"", "\"前言你好世界\"", "\"👨‍👩‍👧\"", #"{"a\u0062":1}"#,
    "[100000000000000000000000000000000000]", "[1e9999]", "\"\u{FEFF}\"",
  ])
  func reads(_ json: String) {
    #expect(failure(bytes(json)) == nil)
  }

  @Test(arguments: [
    "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,,2]", "{\"a\"}",
    "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{a:1}", "{'a':1}", "{1:1}",
    "{null:1}", "{\"a\":1]", "[1}", "[]]", "{}{}", "1 2", "tru", "True", "nul", "nulll", "NaN",
    "Infinity", "-", "+1", "01", "-01", "1.", ".5", "-.5", "1e", "1e+", "1.e1", "0x10", "1a", "1_0",
    "--1", "\"", "\"a", "\"\\\"", #""\x""#, #""\a""#, #""\u12""#, #""\u12G4""#, #""\U0041""#,
    "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\u{1F}\"", "[\"a\",\n\"b]", "// a\n1", "/*a*/1", "[1]#",
    "\u{FEFF}{}", "\u{A0}1", "\u{C}1", "{\"a\":1,\"b\"}", "[\"a\":1]", "\\u0031", "\"a\"\"b\"",
    "{\"a\"::1}", "*", "\u{0}", "[1]\u{0}", "{\"a\":1}}", "\"\\",
  ])
  func refuses(_ json: String) {
    #expect(failure(bytes(json)) == .syntax)
  }

  @Test(
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22],
      [0x22, 0xE0, 0x80, 0x80, 0x22],
      [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x80, 0x22],
      [0x22, 0xF0, 0x9F, 0x98, 0x22], [0xFE, 0xFF, 0x00, 0x7B], [0x5B, 0xE9, 0x5D],
    ] as [[UInt8]])
  func refusesWhatIsNotUTF8(_ json: [UInt8]) {
    #expect(failure(json) == .notUTF8)
  }

  @Test func nestingHasALimit() {
    let most = Limits.jsonDepthMax
    for (opening, middle, closing) in [("[", "", "]"), ("{\"a\":", "0", "}")] {
      func nested(_ depth: Int) -> [UInt8] {
        bytes(
          String(repeating: opening, count: depth) + middle
            + String(repeating: closing, count: depth))
      }
      #expect(failure(nested(most - 1)) == nil)
      #expect(failure(nested(most)) == nil)
      #expect(failure(nested(most + 1)) == .tooDeep)
      #expect(failure(nested(100_000)) == .tooDeep)
    }
    // Siblings do not nest.
    #expect(failure(bytes("[" + String(repeating: "[],", count: most * 2) + "[]]")) == nil)
  }

  @Test func lengthHasALimit() {
    func quoted(_ count: Int) -> [UInt8] {
      [0x22] + [UInt8](repeating: 0x61, count: count - 2) + [0x22]
    }
    #expect(failure(quoted(Limits.frameBytesMax - 1)) == nil)
    #expect(failure(quoted(Limits.frameBytesMax)) == nil)
    #expect(failure(quoted(Limits.frameBytesMax + 1)) == .tooLarge)
    // The length is looked at first, whatever the bytes are.
    #expect(failure([UInt8](repeating: 0xFF, count: 64 << 20)) == .tooLarge)
  }

  /// The wide path over strings against the obvious one: for strings of every
  /// length around a word, with special bytes anywhere, both must agree.
  @Test func wideScanEqualsByteScan() throws {
    var random = Random(seed: 7)
    let pieces: [[UInt8]] = [
      [0x61], [0x20], [0x21], [0x23], [0x5B], [0x5D], [0x7F], bytes("é"), bytes("你"), bytes("😀"),
      bytes("\\n"), bytes("\\\\"), bytes("\\\""), [0x22], [0x5C], [0x1F], [0x00], [0x0A],
    ]
    for round in 0..<20_000 {
      var body: [UInt8] = []
      for _ in 0..<random.below(40) {
        // Mostly ordinary bytes, so that whole words are passed over.
        body += pieces[random.chance(0.9) ? random.below(10) : random.below(pieces.count)]
      }
      let json = [0x22] + body + [0x22]
      #expect((failure(json) == nil) == isOneString(json), "round \(round): \(text(json))")
    }
  }

  /// Whether the bytes are one JSON string, looked at byte by byte.
  private func isOneString(_ json: [UInt8]) -> Bool {
    var escaped = false
    for (index, byte) in json.enumerated().dropFirst() {
      if escaped {
        guard bytes("\"\\/bfnrt").contains(byte) else { return false }
        escaped = false
      } else if byte == 0x5C {
        escaped = true
      } else if byte == 0x22 {
        return index == json.count - 1
      } else if byte < 0x20 {
        return false
      }
    }
    return false
  }

  /// Against another parser: broken texts are taken or refused alike. That one
  /// forgives a comma before an end, so there only the one direction is asked.
  @Test func agreesWithFoundation() {
    var random = Random(seed: 11)
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"\"", "0", "1", "-", "2.5", "1e2", "true", "null",
      " ",
      "false", "\\", "\"", "[]", "{}", "\"b\":", "\"c\":1,", ".", "e", "+",
    ]
    var taken = 0
    for _ in 0..<20_000 {
      var json = random.chance(0.5) ? "[" : "{\"k\":"
      for _ in 0..<random.below(7) { json += pieces[random.below(pieces.count)] }
      json += json.hasPrefix("[") ? "]" : "}"
      let theirs = (try? JSONSerialization.jsonObject(with: Data(json.utf8))) != nil
      let ours = failure(bytes(json)) == nil
      let dense = json.filter { $0 != " " }
      let forgiven = dense.contains(",]") || dense.contains(",}")
      #expect(ours == theirs || forgiven && theirs, "\(json)")
      taken += ours ? 1 : 0
    }
    #expect(taken > 500)
  }
}
