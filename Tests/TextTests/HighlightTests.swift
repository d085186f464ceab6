/// Where hits are marked, in bytes and in code units of UTF-16.

import Testing
import Text

private func marks(_ text: String, _ query: String) -> Highlights {
  let (text, query) = (Array(text.utf8), Array(query.utf8))
  return Highlights(text.span, Query(query.span, prefixes: .common))
}

/// The text with brackets around what is marked; both kinds of ranges have to say the same.
private func marked(_ text: String, _ query: String) -> String {
  let found = marks(text, query)
  let (bytes, units) = (Array(text.utf8), Array(text.utf16))
  var (byBytes, byUnits) = ("", "")
  var (byte, unit) = (0, 0)
  for (range, unitRange) in zip(found.utf8, found.utf16) {
    byBytes += String(decoding: bytes[byte..<range.lowerBound], as: UTF8.self)
    byBytes += "[" + String(decoding: bytes[range], as: UTF8.self) + "]"
    byUnits += String(decoding: units[unit..<unitRange.lowerBound], as: UTF16.self)
    byUnits += "[" + String(decoding: units[unitRange], as: UTF16.self) + "]"
    (byte, unit) = (range.upperBound, unitRange.upperBound)
  }
  byBytes += String(decoding: bytes[byte...], as: UTF8.self)
  byUnits += String(decoding: units[unit...], as: UTF16.self)
  #expect(byBytes == byUnits)
  return byBytes
}

@Suite struct HighlightTests {
  /// Protects: what is marked is the text as it was written, however folding changes lengths.
  @Test func folded() {
    #expect(marked("Der Fußweg, die STRASSE", "fussweg strasse") == "Der [Fußweg], die [STRASSE]")
    #expect(marked("a ﬃ b", "ffi.") == "a [ﬃ] b")
    #expect(marked("😀 e\u{301}te\u{301} x", "ete.") == "😀 [e\u{301}te\u{301}] x")
    #expect(marked("مُحَمَّدٌ ا", "محمد") == "[مُحَمَّدٌ] ا")
    #expect(marked("so\u{AD}ft", "soft") == "[so\u{AD}ft]")
    #expect(marked("x ㍿ y", "会社") == "x [㍿] y")
  }

  /// Protects: a beginning marks the whole word, a phrase is one range, touching ranges are one.
  @Test func ranges() {
    #expect(marked("Příliš přímo pro", "pri") == "[Příliš] [přímo] pro")
    #expect(marked("přílišnost", "prilis") == "[přílišnost]")
    #expect(marked("gen-itgc, gen itg", "gen-it") == "[gen-itgc], [gen itg]")
    #expect(marked("a b c a", "\"a b\"") == "[a b] c a")
    #expect(marked("我们明天见", "明天") == "我们[明天]见")
    #expect(marked("我们明天见", "我们 明天 天") == "[我们明天]见")
    #expect(marked("重跑gen后", "重跑gen") == "[重跑gen]后")
    #expect(marked("よろしくね", "ね よ") == "[よ]ろしく[ね]")
    #expect(marked("ok 👍🏽👨‍👩‍👧", "👍") == "ok [👍🏽]👨‍👩‍👧")
    #expect(marked("foo bar", "foo -bar") == "[foo] bar")
    #expect(marked("foo", "x").contains("[") == false)
  }

  /// Protects: bytes that are no UTF-8 count as U+FFFD, one for each maximal subpart.
  @Test func invalidBytes() {
    let text: [UInt8] = [0xFF, 0xE2, 0x82, 0x20, 0xED, 0xA0, 0x80, 0x66, 0x6F, 0x6F, 0xF0, 0x9F]
    let foo = Array("foo".utf8)
    let found = Highlights(text.span, Query(foo.span, prefixes: .common))
    #expect(found.utf8 == [7..<10])
    let units = Array(String(decoding: text, as: UTF8.self).utf16)
    #expect(found.utf16.map { String(decoding: units[$0], as: UTF16.self) } == ["foo"])
  }
}

/// Characters that make parts of a text special: what ends words, composes, folds, is one token or
/// several.
private let pieces: [[UInt8]] =
  [
    "a", "B", "h", "o", "j", "N", "y", "1", " ", " ", ".", "#", "*", "\"", "-", "_", "é", "ý",
    "e\u{301}", "\u{301}", "\u{338}", "ß", "ﬃ", "–", "你", "好", "ね", "👍🏽", "👨‍👩‍👧", "\u{FE0F}",
    "\u{20E3}", "1\u{FE0F}\u{20E3}", "#\u{20E3}", "\u{AD}", "\u{200D}", "й", "и\u{306}", "İ",
    "\u{212A}", "\u{345}", "α", "㍿", "각", "\u{1100}\u{1161}", "ｈ", "١", "مُ", "🇨🇿", "²", "¾",
  ].map { Array($0.utf8) } + [[0xFF], [0xE2, 0x82], [0xED, 0xA0, 0x80]]

extension HighlightTests {
  /// Protects: which parts of a text are cut into tokens changes no mark. A phrase that no text has
  /// makes all of it be cut.
  @Test(arguments: 0..<8)
  func partsAreAsTheWhole(_ seed: UInt64) {
    var state = seed &+ 1
    func draw(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    func bytes(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in pieces[draw(pieces.count)] } }
    var marked = 0
    for _ in 0..<4_000 {
      let text = bytes(draw(24))
      // What the text has is mostly asked.
      let from = draw(text.count + 1)
      let part = text[from..<min(text.count, from + 1 + draw(6))].filter { $0 != 0x22 }
      let asked = draw(4) == 0 ? bytes(1 + draw(3)).filter { $0 != 0x22 } : Array(part)
      let query = draw(2) == 0 ? asked : bytes(1).filter { $0 != 0x22 } + [0x20] + asked
      let whole = Array("\"qz qz\" ".utf8) + query
      let found = Highlights(text.span, Query(query.span, prefixes: .common))
      let cut = Highlights(text.span, Query(whole.span, prefixes: .common))
      #expect(found == cut, "\(text) \(query)")
      marked += found.utf8.count
    }
    #expect(marked > 500)
  }

  /// Protects: of a word that is longer than a token the first letters are compared, and a long
  /// beginning is found as the index has it.
  @Test func longWords() {
    let long = String(repeating: "ab", count: 60)
    #expect(marked("\(long) x", "\(long).") == "[\(long)] x")
    #expect(marked("\(long)c x", "\(long).") == "[\(long)c] x")
    #expect(marked("\(long)é", "\(long).") == "[\(long)é]")
    #expect(marked("abab \(long)", "abab.") == "[abab] \(long)")
    #expect(marked("abab \(long)", "abab") == "[abab] [\(long)]")
  }
}
