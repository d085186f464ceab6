/// The tokenizer of Text inside SQLite's full-text search.

import TestSupport
import Testing
import Text

@testable import Store

@Suite struct SearchTokenizerTests {
  private let connection: Connection

  init() throws {
    connection = try Connection.memory()
    try connection.registerTokenizer()
    try connection.execute(
      "CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='tideline 2 3 4')")
  }

  private func insert(_ text: [UInt8], _ row: Int64) throws {
    try connection.run("INSERT INTO words(rowid, text) VALUES (?1, CAST(?2 AS TEXT))", row, text)
  }

  private func find(_ expression: [UInt8]) throws -> Set<Int64> {
    let statement = try connection.statement(
      "SELECT rowid FROM words WHERE words MATCH CAST(?1 AS TEXT)", expression)
    var found: Set<Int64> = []
    while try statement.step() { found.insert(statement.int(0)) }
    return found
  }

  /// Protects: SQLite finds what the corpus says, by the expressions that queries print.
  @Test func corpus() throws {
    let corpus = Corpus()
    #expect(corpus.queries.count > 150)
    for (row, text) in corpus.texts.enumerated() { try insert(text.bytes, Int64(row)) }
    for question in corpus.queries {
      let query = Query(question.query.span, prefixes: PrefixLengths([2, 3, 4]))
      let expression = query.expression()
      let found = expression.isEmpty ? [] : try find(expression)
      let names = Set(found.map { corpus.texts[Int($0)].name })
      #expect(names == question.names, "\(question.line)")
    }
  }

  /// Protects: no query is an error of SQLite, whatever its bytes are.
  @Test func anyQuery() throws {
    try insert(Array("foo NEAR bar 明天 👍".utf8), 1)
    var state: UInt64 = 28
    let near = Array("\"-*^:(){}+ fooNEARAND明👍\u{0}\u{1}\\'%_".utf8)
    for _ in 0..<5_000 {
      var bytes: [UInt8] = []
      for _ in 0..<24 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let roll = Int(state >> 40)
        bytes.append(
          roll % 4 == 0 ? UInt8(truncatingIfNeeded: roll >> 8) : near[(roll >> 8) % near.count])
      }
      let expression = Query(bytes.span, prefixes: .common).expression()
      if !expression.isEmpty { _ = try find(expression) }
    }
  }

  /// Protects: the tokenizer is refused lengths that it cannot have, and a table can be made with
  /// none.
  @Test func arguments() throws {
    try connection.execute(
      "CREATE VIRTUAL TABLE plain USING fts5(text, content='', tokenize='tideline')")
    #expect(throws: StoreFailure.self) {
      try connection.execute(
        "CREATE VIRTUAL TABLE wrong USING fts5(text, content='', tokenize='tideline 17')")
    }
    #expect(throws: StoreFailure.self) {
      try connection.execute(
        "CREATE VIRTUAL TABLE wrong USING fts5(text, content='', tokenize='tideline x')")
    }
  }

  /// Protects: the words of the vocabulary are the words of the texts, and beginnings stand under
  /// their mark.
  @Test func vocabulary() throws {
    try insert(Array("Příliš 明天".utf8), 1)
    try connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(words, row)")
    let statement = try connection.statement("SELECT term FROM terms ORDER BY term")
    var terms: [String] = []
    while try statement.step() {
      terms.append(String(decoding: statement.bytes(0), as: UTF8.self))
    }
    #expect(terms == ["\u{1}pr", "\u{1}pri", "\u{1}pril", "prilis", "天", "明", "明天"])
  }
}
