/// Hits by relevance: what goes first, and pages that neither repeat nor skip.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

extension Fixture {
  /// One page by relevance; `behind` goes on where it ends.
  func ranked(
    _ text: String, limit: Int = 100, behind: RankedHits? = nil,
    _ change: (inout SearchRequest) -> Void = { _ in }
  ) throws -> SearchAnswer {
    var request = SearchRequest(bytes(text), limit: limit)
    request.isByRelevance = true
    request.behind = behind
    change(&request)
    let asked = request
    return try #require(try read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
  }

  /// All pages by relevance, as numbers.
  func allRanked(
    _ text: String, limit: Int, _ change: (inout SearchRequest) -> Void = { _ in },
    between: () throws -> Void = {}
  ) throws -> [UInt64] {
    var numbers: [UInt64] = []
    var behind: RankedHits?
    while true {
      let answer = try ranked(text, limit: limit, behind: behind, change)
      numbers += answer.hits.map(\.place.number)
      guard answer.hasMore, let order = answer.ranked else { return numbers }
      behind = order
      try between()
    }
  }
}

extension SearchAnswer {
  fileprivate var numbers: [UInt64] { hits.map(\.place.number) }
}

@Suite struct SearchRelevanceTests {
  @Test func scores() {
    let one = Relevance.score([1], [1], bytes: 64)
    #expect(abs(one - 1) < 1e-9)
    #expect(Relevance.score([2], [1], bytes: 64) > one)
    #expect(Relevance.score([1], [1], bytes: 640) < one)
    #expect(Relevance.score([1], [1], bytes: 5) > one)
    #expect(Relevance.weight(1) > Relevance.weight(100))
    #expect(Relevance.weight(10_000) > 0 && Relevance.weight(0) == Relevance.weight(1))
    #expect(Relevance.score([0, 255], [1, 1], bytes: .min) > 0)
  }

  /// Protects: more of the word goes first, then the shorter text, then the newer one; a rare word
  /// counts more than one that is everywhere.
  @Test func theBestGoesFirst() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let filler = String(repeating: "other ", count: 20)
    let texts = [
      "word \(filler)", "word word word", "word", "word", "rare word common", "common common",
      "common rare", "none",
    ]
    for (index, text) in texts.enumerated() {
      try fixture.apply([message("m\(index)", at: Int64(index + 1) * 5_000_000, text)], cid)
    }
    for index in 0..<40 {
      try fixture.apply([message("x\(index)", at: Int64(index), "common here")], cid)
    }
    #expect(try fixture.ranked("word").numbers == [2, 4, 3, 5, 1])
    try fixture.apply([message("r", at: 1, "rare rare common")], cid)
    try fixture.apply([message("c", at: 900_000_000, "rare common common")], cid)
    #expect(try fixture.ranked("rare common").numbers.prefix(2) == [49, 50])
    let answer = try fixture.ranked("wor", limit: 2)
    #expect(answer.numbers == [2, 4] && answer.hasMore && answer.count == 5)
    #expect(answer.ranked?.isCut == false)
    #expect(try fixture.ranked("word -rare").numbers == [2, 4, 3, 1])
    #expect(try fixture.ranked("\"word common\"").numbers == [5])
    #expect(try fixture.ranked("nowhere").count == 0 && fixture.ranked("").hits.isEmpty)
  }

  /// Protects: pages neither repeat nor skip, though messages come, change and go in between; what
  /// is gone is left out.
  /// header: "By relevance the first page fixes the order"
  @Test func pagesGoThroughOneOrder() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    for index in 0..<50 {
      let text = String(repeating: "word ", count: index % 5 + 1)
      try fixture.apply([message("m\(index)", at: Int64(index) * 500, text)], cid)
    }
    let before = try fixture.ranked("word").numbers
    #expect(before.count == 50 && Set(before).count == 50)
    var round = 0
    func change() throws {
      try fixture.apply([message("n\(round)", at: 90_000, "word word word word word word")], cid)
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.tombstone(bytes("m\(before[10 * round + 8] - 1)"), in: cid, version: nil)
      }
      // It moves, and changes: once is enough all the same.
      try fixture.apply([message("m\(before[49] - 1)", at: 70_000, "word", version: 9)], cid)
      round += round < 4 ? 1 : 0
    }
    let pages = try fixture.allRanked("word", limit: 7, between: change)
    let gone = Set((0..<5).map { before[10 * $0 + 8] })
    #expect(pages == before.filter { !gone.contains($0) })
  }

  @Test func filtersAndTimes() throws {
    let fixture = try Fixture(.memory)
    let (cid, other) = (try fixture.conversation(), try fixture.conversation("d"))
    try fixture.switchOn()
    // Of one second, so that their places say little.
    for index in 0..<30 {
      let text = index % 3 == 0 ? "word word" : "word"
      try fixture.apply(
        [message("m\(index)", at: Int64(index) * 1_000, text)], index < 15 ? cid : other)
    }
    #expect(try Set(fixture.ranked("word") { $0.cid = other }.numbers) == Set(16...30))
    let found = try fixture.ranked("word") {
      $0.fromUs = 4_000
      $0.beforeUs = 9_000
    }
    #expect(Set(found.numbers) == Set(5...9) && found.numbers.first == 7 && found.count == 5)
    #expect(try fixture.ranked("word") { $0.beforeUs = .min }.hits.isEmpty)
  }

  /// Protects: no more than the newest are ranked, and the answer says so.
  @Test func theNewestAreRanked() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let count = Relevance.most + 5
    for start in stride(from: 0, to: count, by: 1_000) {
      try fixture.apply(
        (start..<min(start + 1_000, count)).map {
          message("m\($0)", at: Int64($0) * 2_000_000, $0 < 5 ? "word word" : "word")
        }, cid)
    }
    try fixture.switchOn()
    let answer = try fixture.ranked("word", limit: 3)
    #expect(answer.numbers == [UInt64(count), UInt64(count - 1), UInt64(count - 2)])
    #expect(answer.count == Relevance.most && answer.ranked?.isCut == true && answer.hasMore)
  }
}

@Suite struct SearchedTextsTests {
  /// Protects: what the host names is searched and nothing else, and another choice builds the
  /// index anew.
  @Test func membersThatTheProfileNames() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let payload = #"{"text":"one","titul":"dva","alt\u0065r":"three"}"#
    try fixture.apply([message("a", at: 1, payload)], cid)
    #expect(try fixture.find("one") == [1] && fixture.find("dva") == [])
    try fixture.reopen { $0.searchMembers = bytes(" titul alter ") }
    #expect(try fixture.coverage().unbuilt > 0)
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    #expect(try fixture.find("one") == [] && fixture.find("dva three") == [1])
    var marker = try fixture.ranked("three").marker
    let marks = marker.marks(bytes(payload), nil)
    #expect(marks.map(\.member) == [bytes("alter")])
    try fixture.reopen { $0.searchMembers = bytes(" titul alter ") }
    #expect(try fixture.coverage().unbuilt == 0)
  }

  /// Protects: what the host's hook gives is searched in place of the payload, is kept, follows an
  /// edit, and goes with the message.
  @Test func whatTheHookGives() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    var given = message("a", at: 1, "payload")
    given.searchable = bytes("given 明天")
    var sealed = message("s", at: 2, "raw", flags: .sealed)
    sealed.raw = bytes("raw")
    try fixture.apply([given, sealed, message("b", at: 3, "payload")], cid)
    #expect(try fixture.find("payload") == [3] && fixture.find("given 明天") == [1])
    #expect(try fixture.find("raw") == [])
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      try SearchControl(tx).rebuild()
      try SearchControl(tx).finish()
    }
    #expect(try fixture.find("given") == [1] && fixture.find("raw") == [])
    let answer = try fixture.ranked("given")
    let hit = try #require(answer.hits.first)
    #expect(hit.searchable == bytes("given 明天"))
    let mark = SearchMark(member: [], utf8: 0..<5, utf16: 0..<5)
    var marker = answer.marker
    let marks = marker.marks(bytes("payload"), hit.searchable)
    #expect(marks == [mark])
    try fixture.write { tx throws(StoreFailure) in
      for row in try tx.sealed(after: 0, position: .min, limit: 3) {
        #expect(try tx.takeOpened(row, payload: bytes("p"), flags: [], searchable: bytes("later")))
      }
    }
    #expect(try fixture.find("later") == [2])
    // The same content again, which cannot be opened now.
    sealed.digest = try fixture.message("s", cid)?.digest
    try fixture.apply([sealed], cid)
    #expect(try fixture.find("later") == [2] && fixture.find("raw") == [])
    var edited = message("a", at: 1, "payload", version: 2)
    edited.searchable = bytes("edited")
    try fixture.apply([edited], cid)
    #expect(try fixture.find("given") == [] && fixture.find("edited") == [1])
    try fixture.apply([message("a", at: 1, "payload", version: 3)], cid)
    #expect(try fixture.find("edited") == [] && fixture.find("payload") == [3, 1])
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.forget(bytes("s"), in: cid)
      _ = try tx.forget(bytes("a"), in: cid)
    }
    #expect(try fixture.find("later") == [])
    #expect(try fixture.message("s", cid)?.searchable == nil)
    let blocks = try fixture.read { rx throws(StoreFailure) in
      try rx.connection.number("SELECT count(*) FROM message WHERE raw IS NOT NULL")
    }
    #expect(blocks == 0)
  }
}
