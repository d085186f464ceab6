/// The index of words in the file: what is found, in which order, and what no longer is.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

extension SearchControl {
  /// Does all that is to be done.
  func finish(_ size: Int64 = 1_000_000) throws(StoreFailure) {
    while try work(SearchSlice(size)).rest != .nothing {}
  }
}

extension Fixture {
  func switchOn() throws {
    try write { tx throws(StoreFailure) in
      let control = try SearchControl(tx)
      #expect(try control.switchOn())
      try control.finish()
    }
  }

  /// One page of hits, as numbers.
  func find(
    _ text: String, limit: Int = 100, _ change: (inout SearchRequest) -> Void = { _ in }
  ) throws -> [UInt64] {
    var request = SearchRequest(bytes(text), limit: limit)
    change(&request)
    let asked = request
    let answer = try read { rx throws(StoreFailure) in try rx.searchReader.search(asked) }
    return try #require(answer).hits.map(\.place.number)
  }

  func coverage(_ cid: Int64? = nil) throws -> SearchCoverage {
    var request = SearchRequest(bytes("x"), limit: 1)
    request.cid = cid
    let asked = request
    return try #require(try read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
      .coverage
  }

  /// All words with how often they occur, as the index has them.
  func vocabulary() throws -> [String] {
    try read { rx throws(StoreFailure) in
      try rx.connection.registerTokenizer()
      let row = try rx.connection.statement("SELECT term, doc, cnt FROM search_word")
      var words: [String] = []
      while try row.step() {
        words.append("\(String(decoding: row.bytes(0), as: UTF8.self)) \(row.int(1)) \(row.int(2))")
      }
      return words
    }
  }
}

@Suite struct SearchIndexTests {
  @Test(arguments: Kind.allCases)
  func aFileWithoutSearchHasNothingOfIt(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, "hello")], cid)
    let objects = try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.searchReader.search(SearchRequest(bytes("hello"), limit: 5)) == nil)
      #expect(try rx.searchReader.state() == nil)
      return try rx.connection.number(
        "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search%' OR type = 'trigger'")
    }
    #expect(objects == 0)
  }

  /// Protects: what the corpus says is found, through the file, where all of it was there before
  /// and where all of it comes later.
  @Test(arguments: [true, false])
  func corpus(_ isBuilt: Bool) throws {
    let corpus = Corpus()
    #expect(corpus.queries.count > 150)
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    if !isBuilt { try fixture.switchOn() }
    for (index, text) in corpus.texts.enumerated() {
      let payload = String(decoding: quoted(text.bytes), as: UTF8.self)
      try fixture.apply([message("m\(index)", at: Int64(index) * 1_000, payload)], cid)
    }
    if isBuilt { try fixture.switchOn() }
    try fixture.reopen()
    for question in corpus.queries {
      // What is no UTF-8 is no JSON either, and was replaced.
      let query = String(decoding: question.query, as: UTF8.self)
      guard isUTF8(question.query) else { continue }
      let names = Set(try fixture.find(query).map { corpus.texts[Int($0) - 1].name })
      #expect(names == question.names, "\(question.line)")
    }
  }

  @Test func textsOfTheMembersAndNoPhraseAcrossThem() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let payloads = [
      #"{"text":"one two","caption":"three","other":"four"}"#,
      #"{"body":"P\u0159\u00edli\u0161","file_name":"report.pdf","text":null}"#,
      #"  {"text":{"text":"five"},"body":["six"],"text":"seven" } "#, #""eight\nnine""#, "null",
      "ten {", #"{"text":"eleven""#, #"{"a":1,"text":"twelve","n":{"x":[1,"}",{}]}}"#,
    ]
    for (index, payload) in payloads.enumerated() {
      try fixture.apply([message("m\(index)", at: Int64(index), payload)], cid)
    }
    let expected: [(String, [UInt64])] = [
      ("one two", [1]), ("\"one two\"", [1]), ("\"two three\"", []), ("two three", [1]),
      ("four", []), ("prilis", [2]), ("report.pdf", [2]), ("five", []), ("six", []),
      ("seven", [3]), ("\"eight nine\"", [4]), ("null", []), ("ten", [6]), ("eleven", [7]),
      ("twelve", [8]), ("text", [7]),
    ]
    for (query, numbers) in expected { #expect(try fixture.find(query) == numbers, "\(query)") }
  }

  @Test func whatGoesIsFoundNoMore() throws {
    let fixture = try Fixture(.file)
    let (cid, other) = (try fixture.conversation(), try fixture.conversation("d"))
    try fixture.switchOn()
    try fixture.apply((1...8).map { message("m\($0)", at: $0, "word w\($0)") }, cid)
    try fixture.apply([message("o", at: 9, "word other")], other)
    #expect(try fixture.find("word") == [9, 8, 7, 6, 5, 4, 3, 2, 1])
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("m1"), in: cid, version: nil)
      _ = try tx.forget(bytes("m2"), in: cid)
      _ = try tx.drop(bytes("m3"), in: cid)
      _ = try tx.remove(position(4, "m4"), cid)
    }
    try fixture.apply([message("m5", at: 5, "changed", version: 2)], cid)
    try fixture.apply([message("m6", at: 6, "word", flags: .deleted, version: 2)], cid)
    try fixture.apply([message("m7", at: 20, "word w7", version: 2)], cid)
    #expect(try fixture.find("word") == [7, 9, 8])
    #expect(try fixture.find("w5") == [] && fixture.find("changed") == [5])
    // No word of theirs is left, either.
    #expect(
      try fixture.vocabulary().filter { $0.hasPrefix("w") }.sorted() == [
        "w7 1 1", "w8 1 1", "word 3 3",
      ])
    try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(cid) }
    #expect(try fixture.find("word") == [9])
    try fixture.write { tx throws(StoreFailure) in try tx.dropMessages(other) }
    #expect(try fixture.find("word") == [] && fixture.vocabulary() == [])
    try fixture.apply([message("x", at: 1, "word")], cid)
    try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
    #expect(try fixture.find("word") == [])
    let again = try fixture.conversation()
    try fixture.apply([message("y", at: 1, "word")], again)
    try fixture.reopen()
    #expect(try fixture.find("word").count == 1)
  }

  @Test func sealedMessagesWaitUntilTheyAreOpened() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    var sealed = message("a", at: 1, "x", flags: .sealed)
    sealed.raw = bytes("raw")
    try fixture.apply([sealed, message("c", at: 2, "secret", flags: .control)], cid)
    #expect(try fixture.find("secret") == [] && fixture.coverage().sealed == 1)
    #expect(try fixture.coverage(cid).sealed == 1)
    try fixture.write { tx throws(StoreFailure) in
      for row in try tx.sealed(after: 0, position: .min, limit: 9) {
        #expect(try tx.takeOpened(row, payload: bytes("my secret"), flags: []))
      }
    }
    #expect(try fixture.find("secret") == [1] && fixture.coverage().sealed == 0)
  }

  @Test func filters() throws {
    let fixture = try Fixture(.memory)
    let (c, d) = (try fixture.conversation("c"), try fixture.conversation("d"))
    try fixture.switchOn()
    var all = (1...6).map { message("m\($0)", at: $0 * 1_000, "word -x") }
    all[1].sender = bytes("\"*ján\u{0}")
    all[2].flags = .mine
    all[3].rest = bytes(#"{"attachment":{"url":"a"}}"#)
    all[4].rest = bytes(#"{"attachment":null}"#)
    try fixture.apply(Array(all[..<3]), c)
    try fixture.apply(Array(all[3...]), d)
    #expect(try fixture.find("word") { $0.cid = c } == [3, 2, 1])
    #expect(try fixture.find("word") { $0.cid = d } == [6, 5, 4])
    #expect(try fixture.find("word") { $0.sender = bytes("\"*ján\u{0}") } == [2])
    #expect(try fixture.find("word") { $0.isMine = true } == [3])
    #expect(try fixture.find("word") { $0.hasAttachment = true } == [4])
    #expect(try fixture.find("word -x") { $0.cid = c } == [])
    #expect(
      try fixture.find("word") {
        $0.fromUs = 2_000
        $0.beforeUs = 5_000
      } == [4, 3, 2])
    #expect(try fixture.find("word") { $0.beforeUs = .min } == [])
  }

  /// Protects: pages neither repeat nor skip, whatever comes in between, in one millisecond, too.
  @Test func pagesGoByTimeAndNumber() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let times: [Int64] = [5_000, 5_300, 5_100, 5_300, 9_000, .min, .max, -1, 4_999, 5_300]
    for (index, time) in times.enumerated() {
      try fixture.apply([message("m\(index)", at: time, "word")], cid)
    }
    #expect(try fixture.find("word") == [7, 5, 10, 4, 2, 3, 1, 9, 8, 6])
    var pages: [UInt64] = []
    var after: SearchRequest.Place?
    while true {
      var request = SearchRequest(bytes("word"), limit: 3)
      request.after = after
      let asked = request
      let answer = try #require(
        try fixture.read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
      pages += answer.hits.map(\.place.number)
      guard answer.hasMore else { break }
      after = answer.hits.last?.place
      try fixture.apply([message("n\(pages.count)", at: 10_000, "word")], cid)
    }
    #expect(pages == [7, 5, 10, 4, 2, 3, 1, 9, 8, 6])
  }

  @Test func anOlderFileIsBuiltInSteps() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    for start in 0..<10 {
      try fixture.apply(
        (0..<100).map {
          message("m\(start * 100 + $0)", at: Int64(start * 100 + $0), "word \($0)")
        },
        cid)
    }
    try fixture.write { tx throws(StoreFailure) in #expect(try SearchControl(tx).switchOn()) }
    #expect(try fixture.find("word") == [] && fixture.coverage().unbuilt == 1_001)
    var steps = 0
    var isDone = false
    while !isDone {
      isDone = try fixture.write { tx throws(StoreFailure) in
        try SearchControl(tx).work(SearchSlice(200)).rest == .nothing
      }
      steps += 1
      try fixture.reopen()
      // What was built already is changed, and what was not; removals keep it from being done.
      if steps > 20 { continue }
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.tombstone(bytes("m\(1_000 - steps)"), in: cid, version: nil)
        _ = try tx.tombstone(bytes("m\(steps)"), in: cid, version: nil)
      }
    }
    #expect(steps > 4)
    #expect(
      try fixture.read { rx throws(StoreFailure) in try rx.searchReader.state() }?.isDone == true)
    #expect(try fixture.find("word", limit: 1_000).count == 1_000 - 2 * min(steps, 20))
    let before = try fixture.vocabulary()
    try fixture.write { tx throws(StoreFailure) in
      try SearchControl(tx).rebuild()
      try SearchControl(tx).finish()
    }
    #expect(try fixture.vocabulary() == before)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try SearchControl(tx).switchOff())
      #expect(try !SearchControl(tx).switchOff())
    }
    #expect(try fixture.read { rx throws(StoreFailure) in try rx.searchReader.isOn } == false)
  }

  /// Protects: to switch search off takes nothing large in one transaction, what is left goes in
  /// slices, also behind a kill and beside a new index, and nothing of it stays.
  @Test(arguments: [false, true]) func whatIsSwitchedOffGoesInSlices(_ isOnAgain: Bool) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let words = (0..<400).map { "w\($0)" }.joined(separator: " ")
    for part in 0..<8 {
      try fixture.apply(
        (0..<50).map { message("m\(part * 50 + $0)", at: Int64(part * 50 + $0), words) }, cid)
    }
    func number(_ text: StaticString) throws -> Int64 {
      try fixture.read { rx throws(StoreFailure) in try rx.connection.number(text) ?? -1 }
    }
    func size() throws -> Int64 {
      try number("SELECT count(*) FROM left_search_data") + number("SELECT count(*) FROM left_row")
    }
    let pages = try number("SELECT count(*) FROM search_data")
    #expect(pages > 20)
    try fixture.write { tx throws(StoreFailure) in _ = try SearchControl(tx).switchOff() }
    #expect(try size() == pages + 400)
    #expect(try fixture.read { rx throws(StoreFailure) in try rx.searchReader.isOn } == false)
    if isOnAgain {
      try fixture.write { tx throws(StoreFailure) in _ = try SearchControl(tx).switchOn() }
    }
    var steps = 0
    while true {
      let rest = try fixture.write { tx throws(StoreFailure) in
        try SearchControl(tx).work(SearchSlice(16)).rest
      }
      if rest == .nothing { break }
      steps += 1
      if steps % 5 == 0 { try fixture.reopen() }
      if try number("SELECT count(*) FROM sqlite_schema WHERE name = 'left_row'") == 1 {
        #expect(try size() > 0 || steps > 2)
      }
      if steps > 3_000 { break }
    }
    #expect(steps > Int(pages) / 4 && steps < 3_000)
    #expect(try number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'left%'") == 0)
    if isOnAgain {
      #expect(try fixture.find("w7", limit: 1_000).count == 400)
      try fixture.write { tx throws(StoreFailure) in _ = try SearchControl(tx).switchOff() }
    }
    // A second one that follows at once takes the first one with it.
    try fixture.switchOn()
    try fixture.write { tx throws(StoreFailure) in
      _ = try SearchControl(tx).switchOff()
      _ = try SearchControl(tx).switchOn()
      _ = try SearchControl(tx).switchOff()
    }
    #expect(try number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search%'") == 0)
  }

  /// Protects: an index of another version, or one that did not follow, is built anew.
  @Test func aStaleIndexIsBuiltAnew() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    try fixture.apply([message("a", at: 1, "word")], cid)
    for change: StaticString in [
      "UPDATE search_state SET version = 0; COMMIT",
      "DROP TRIGGER search_removed; UPDATE search_state SET merging = 0; COMMIT",
    ] {
      try fixture.alter(change)
      try fixture.reopen()
      #expect(try fixture.coverage().unbuilt > 0)
      try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
      #expect(try fixture.find("word") == [1])
    }
  }

  /// Protects: what was rolled back was not indexed.
  @Test func aWriteThatFailsLeavesTheIndex() throws {
    struct Stop: Error {}
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    #expect(throws: StoreFailure.self) {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.apply(message("a", at: 1, "word"), cid, issued: tx.lsn)
        throw .full
      }
    }
    #expect(try fixture.find("word") == [] && fixture.vocabulary() == [])
  }

  @Test func coverageTellsWhatIsNotHere() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    #expect(try fixture.coverage().partial == 1 && fixture.coverage(cid).partial == 1)
    var whole = SpanSet()
    whole.insert(.min, position(20, "b"))
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: whole, replacing: SpanSet(), in: cid)
    }
    #expect(try fixture.coverage().partial == 0 && fixture.coverage(cid).partial == 0)
    // What is remembered of it follows each change, also of the ranges alone.
    var holes = SpanSet()
    holes.insert(.min, position(5, "a"))
    holes.insert(position(10, "b"), position(20, "b"))
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: holes, replacing: whole, in: cid)
    }
    #expect(try fixture.coverage().partial == 1)
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: whole, replacing: holes, in: cid)
    }
    #expect(try fixture.coverage().partial == 0)
    _ = try fixture.conversation("d")
    #expect(try fixture.coverage().partial == 1)
  }
}
