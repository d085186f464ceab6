/// The language of queries: pieces, phrases, what is excluded, beginnings, limits.

import Base
import Testing
import Text

private func query(_ text: String, _ prefixes: PrefixLengths = .common) -> Query {
  let bytes = Array(text.utf8)
  return Query(bytes.span, prefixes: prefixes)
}

private func expression(_ text: String, words: [String]? = nil) -> String {
  let bytes = query(text).expression(words: words.map { $0.map { Array($0.utf8) } })
  return String(decoding: bytes, as: UTF8.self).replacing("\u{1}", with: "^")
}

@Suite struct QueryTests {
  /// Protects: a query is asked as quoted tokens, whatever was typed.
  @Test func expressions() {
    #expect(expression("Příliš žluťoučký. ") == #""prilis" AND "zlutoucky""#)
    #expect(expression("gen-itgc. x.") == #""gen" + "itgc" AND "x""#)
    #expect(expression(#""a b" c."#) == #""a" + "b" AND "c""#)
    #expect(expression("a. -b -\"c d\"") == #"("a") NOT ("b" OR "c" + "d")"#)
    #expect(expression("重跑gen-itgc后") == #""重跑" + "跑" + "gen" + "itgc" + "后""#)
    #expect(expression("我们明天") == #""我们" + "们明" + "明天""#)
    #expect(expression("家") == #""家""#)
    #expect(expression("NEAR(a b) AND") == #""near" + "a" AND "b" AND "^and""#)
    #expect(expression("* ^ : { }") == "")
    #expect(expression("a\u{0}b.") == #""a" AND "b""#)
    #expect(expression("a\u{3000}b\u{A0}c.") == #""a" AND "b" AND "c""#)
  }

  /// Protects: the last piece alone is a beginning, where it ends in a word and is neither quoted
  /// nor excluded.
  @Test func beginnings() {
    #expect(expression("foo ba") == #""foo" AND "^ba""#)
    #expect(expression("foo ba ") == #""foo" AND "^ba""#)
    #expect(expression("foo ba %") == #""foo" AND "ba""#)
    #expect(expression("foo ba.") == #""foo" AND "ba""#)
    #expect(expression("gen-it") == #""gen" + "^it""#)
    #expect(expression("foo \"ba\"") == #""foo" AND "ba""#)
    #expect(expression("foo \"ba") == #""foo" AND "ba""#)
    #expect(expression("ba -foo") == #"("ba") NOT ("foo")"#)
    #expect(expression("明") == #""明""#)
    #expect(expression("👍") == #""👍""#)
    #expect(expression("12") == #""^12""#)
    #expect(query("p").pieces.last?.beginning == .letter)
    #expect(query("pr").pieces.last?.beginning == .indexed)
    #expect(query("prilis").pieces.last?.beginning == .vocabulary)
    #expect(query("prilis", PrefixLengths([6])).pieces.last?.beginning == .indexed)
    #expect(query(String(repeating: "a", count: 63)).pieces.last?.beginning == .vocabulary)
    #expect(query(String(repeating: "a", count: 64)).pieces.last?.beginning == nil)
    #expect(query(String(repeating: "a", count: 65)).pieces.last?.beginning == nil)
  }

  /// Protects: the words of the vocabulary take the place of the last word, in its phrase.
  @Test func vocabulary() {
    #expect(expression("a-prilis") == #""a" + "prilis" *"#)
    #expect(
      expression("a-prilis", words: ["prilis", "prilisne"])
        == #"("a" + "prilis" OR "a" + "prilisne")"#)
    #expect(expression("prilis", words: []) == #"("prilis")"#)
    #expect(expression("x prilis -y", words: ["prilis"]).hasSuffix(#"NOT ("y")"#) == true)
  }

  /// Protects: a minus excludes at the start of a piece, before what is no space and no minus.
  @Test func exclusions() {
    #expect(query("-a").nothing == .onlyExclusions)
    #expect(query("- a.").excluded.isEmpty)
    #expect(query("--a.").excluded.isEmpty)
    #expect(query("b-a.").excluded.isEmpty)
    #expect(query("b -%").excluded.isEmpty)
    #expect(query("b -a -a").excluded.count == 1)
  }

  /// Protects: a query that asks nothing says why.
  @Test func nothingAsked() {
    for text in ["", " ", "%", "\"", "\"\"", "-", "--", "* :", "\u{0}", "\u{FE0F}", "\u{301}"] {
      #expect(query(text).nothing == .noWord, "\(text)")
      #expect(query(text).expression().isEmpty)
    }
    #expect(query("-a -b").nothing == .onlyExclusions)
    #expect(query("-a -b").expression().isEmpty)
    #expect(query("a -b").nothing == nil)
  }

  /// Protects: equal pieces count once, and a beginning is not asked beside the whole word.
  @Test func equalPieces() {
    #expect(expression("foo FOO foo") == #""foo""#)
    #expect(expression("foo bar foo.") == #""foo" AND "bar""#)
    #expect(expression("foo fo") == #""foo" AND "^fo""#)
  }

  /// Protects: at most 32 pieces are asked, and the query says when there were more.
  @Test(arguments: [31, 32, 33]) func pieces(_ count: Int) {
    let words = (0..<count).map { "w\($0)" }
    let asked = query(words.joined(separator: " "))
    #expect(asked.pieces.count == min(count, Limits.queryPiecesMax))
    #expect(asked.isCut == (count > Limits.queryPiecesMax))
    // One that is known already takes no place.
    #expect(query((words + ["w0."]).joined(separator: " ")).isCut == asked.isCut)
  }

  /// Protects: at most 256 tokens are asked; a phrase is asked as far as there is room, and what
  /// is excluded only as a whole.
  @Test(arguments: [255, 256, 257]) func tokensOfAPhrase(_ count: Int) {
    let phrase = (0..<count).map { "w\($0)" }.joined(separator: "-")
    let asked = query(phrase)
    #expect(asked.pieces.map(\.tokens.count) == [min(count, Limits.queryTokensMax)])
    #expect(asked.isCut == (count > Limits.queryTokensMax))
    #expect((asked.pieces[0].beginning == nil) == asked.isCut)
    let without = query("a -\(phrase)")
    #expect(without.excluded.count == (count < Limits.queryTokensMax ? 1 : 0))
    #expect(without.isCut == (count >= Limits.queryTokensMax))
  }

  /// Protects: a megabyte of query is one of few tokens.
  @Test func aMegabyte() {
    let long = String(repeating: "foo-bar ", count: 131_072)
    #expect(query(long).expression().count < 100)
    let piece = query(String(repeating: "明", count: 350_000))
    #expect(piece.isCut && piece.pieces[0].tokens.count == Limits.queryTokensMax)
    #expect(query(String(repeating: "\"", count: 1 << 20)).nothing == .noWord)
  }
}
