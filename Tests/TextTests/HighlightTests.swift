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
