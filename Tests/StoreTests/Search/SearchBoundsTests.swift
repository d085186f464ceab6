/// What texts cost that are made to cost much: to be indexed, to be taken out, to be found.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

@Suite struct SearchBoundsTests {
  private func fixture(waits: Bool = true) throws -> (Fixture, Int64) {
    let fixture = try Fixture(.file)
    try fixture.reopen { $0.indexesLater = waits }
    let cid = try fixture.conversation()
    try fixture.switchOn()
    return (fixture, cid)
  }

  private func number(_ fixture: Fixture, _ sql: StaticString) throws -> Int64 {
    try fixture.read { rx throws(StoreFailure) in try rx.connection.number(sql) ?? -1 }
  }

  private func work(_ fixture: Fixture, _ size: Int64) throws -> SearchSlice.Done {
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).work(SearchSlice(size)) }
  }

  private func delete(_ fixture: Fixture, _ ids: [String], _ cid: Int64) throws {
    try fixture.write { tx throws(StoreFailure) in
      for id in ids { _ = try tx.tombstone(bytes(id), in: cid, version: nil) }
    }
  }

  private let long = String(repeating: "dlouhe slovo ", count: 6_000)

  // MARK: Pages

  /// Protects: hits come in pages of so many bytes as other reads, each hit once, in both orders,
  /// and what is read in another order than it is given takes no room from it.
  @Test(arguments: [false, true]) func aPageOfHitsHasSoManyBytes(_ isByRelevance: Bool) throws {
    let (fixture, cid) = try fixture(waits: false)
    let payload = "word " + String(repeating: "x", count: 4_000_000)
    for index in 0..<20 {
      // Of one second: places are not in the order of times.
      try fixture.apply([message("m\(index)", at: Int64(index), payload)], cid)
    }
    var (found, pages): ([UInt64], Int) = ([], 0)
    var request = SearchRequest(bytes("word"), limit: 1_000)
    request.isByRelevance = isByRelevance
    while pages < 10 {
      let asked = request
      let answer = try #require(
        try fixture.read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
      pages += 1
      found += answer.hits.map(\.place.number)
      #expect(answer.rows.textBytes <= RowBuilder.bytesMax + 100_000, "\(answer.rows.textBytes)")
      #expect(answer.hits.allSatisfy { $0.row != nil })
      guard answer.hasMore else { break }
      #expect(answer.hits.count == 16 && (answer.count == nil) == !isByRelevance)
      request.after = isByRelevance ? nil : answer.hits.last?.place
      request.behind = answer.ranked
    }
    #expect(pages == 2 && found.count == 20 && Set(found) == Set(1...20))
    if !isByRelevance { #expect(found == (1...20).reversed()) }
  }

  /// Protects: what a page has no room for is not read, however many hits are asked for.
  @Test func aFullPageReadsNoMore() throws {
    let (fixture, cid) = try fixture(waits: false)
    let payload = "word " + String(repeating: "x", count: 4_000_000)
    for index in 0..<26 {
      try fixture.apply([message("m\(index)", at: Int64(index) * 60_000_000, payload)], cid)
    }
    let answer = try #require(
      try fixture.read { rx throws(StoreFailure) in
        try rx.searchReader.search(SearchRequest(bytes("word"), limit: 1_000))
      })
    #expect(answer.hits.count == 16 && answer.hasMore && answer.read == 18, "\(answer.read)")
  }

  /// Protects: a hit has so many marks and no more, the first ones.
  @Test func marksOfAHitAreFew() throws {
    let (fixture, cid) = try fixture(waits: false)
    try fixture.apply([message("a", at: 1, String(repeating: "a b ", count: 10_000))], cid)
    let answer = try #require(
      try fixture.read { rx throws(StoreFailure) in
        try rx.searchReader.search(SearchRequest(bytes("a"), limit: 1))
      })
    var marker = answer.marker
    let row = try #require(answer.hits.first?.row)
    let marks = marker.marks(answer.rows[answer.rows[row].payload], nil)
    #expect(marks.count == Limits.searchMarksMax)
    #expect(marks.map(\.utf8) == (0..<Limits.searchMarksMax).map { $0 * 4..<$0 * 4 + 1 })
  }

  // MARK: What is searched of a text

  /// Protects: of the texts of a message the first 64 KiB are searched, together.
  @Test func theBeginningOfALongTextIsSearched() throws {
    let (fixture, cid) = try fixture(waits: false)
    let most = Limits.searchedBytesMax
    let text = "first " + String(repeating: " ", count: most - 12) + "within beyond"
    let more = String(repeating: " ", count: most - 4)
    try fixture.apply(
      [
        message("a", at: 1, text),
        message("b", at: 2, "{\"text\":\"\(more)\",\"body\":\"near far\"}"),
      ], cid)
    #expect(try fixture.find("first") == [1] && fixture.find("within") == [1])
    #expect(try fixture.find("beyond") == [] && fixture.find("near") == [2])
    #expect(try fixture.find("far") == [] && fixture.checkIndex() == .right)
    try delete(fixture, ["a", "b"], cid)
    #expect(try fixture.vocabulary() == [])
  }

  // MARK: Slices

  /// Protects: a slice takes up so many bytes of text, not so many messages.
  @Test func aSliceCountsBytes() throws {
    let (fixture, cid) = try fixture()
    for index in 0..<15 { try fixture.apply([message("m\(index)", at: Int64(index), long)], cid) }
    #expect(try number(fixture, "SELECT count(*) FROM search_change") > 8)
    var slices = 0
    var left = try number(fixture, "SELECT count(*) FROM search_change")
    while left > 0 {
      let done = try work(fixture, 100)
      let now = try number(fixture, "SELECT count(*) FROM search_change")
      #expect(left - now == 1 && done.size > 200 && done.size < 400)
      left = now
      slices += 1
    }
    #expect(try fixture.find("slovo").count == 15 && fixture.checkIndex() == .right)
  }

  /// Protects: a commit that deletes or edits long texts takes none of them out of the index; they
  /// are found no more, or as they are now, and slices take them out.
  @Test func longTextsLeaveInSlices() throws {
    let (fixture, cid) = try fixture()
    for index in 0..<30 { try fixture.apply([message("m\(index)", at: Int64(index), long)], cid) }
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    #expect(try number(fixture, "SELECT count(*) FROM search_row") == 30)
    try delete(fixture, (0..<10).map { "m\($0)" }, cid)
    try fixture.apply(
      (10..<20).map { message("m\($0)", at: Int64($0 + 5_000_000), "kratke w\($0)", version: 2) },
      cid)
    #expect(try number(fixture, "SELECT count(*) FROM search_row") >= 25)
    #expect(try number(fixture, "SELECT count(*) FROM search_change") >= 15)
    func look() throws {
      #expect(try fixture.find("slovo") == (21...30).reversed().map { UInt64($0) })
      #expect(try fixture.find("kratke") == (11...20).reversed().map { UInt64($0) })
      #expect(try fixture.ranked("slovo").hits.count == 10)
      #expect(try Set(fixture.ranked("kratke").hits.map(\.place.number)) == Set(11...20))
    }
    try look()
    #expect(try fixture.checkIndex() == .behind)
    try fixture.reopen()
    try look()
    while try number(fixture, "SELECT count(*) FROM search_change") > 0 {
      _ = try work(fixture, 1)
      try look()
    }
    #expect(try number(fixture, "SELECT count(*) FROM search_row") == 20)
    #expect(try fixture.checkIndex() == .right)
  }

  /// Protects: what is short goes with the commit that says so, however much of it.
  @Test func shortTextsLeaveAtOnce() throws {
    let (fixture, cid) = try fixture()
    try fixture.apply((0..<2_000).map { message("m\($0)", at: Int64($0), "slovo w\($0)") }, cid)
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    try delete(fixture, (0..<1_500).map { "m\($0)" }, cid)
    #expect(try number(fixture, "SELECT count(*) FROM search_change") == 0)
    #expect(try number(fixture, "SELECT count(*) FROM search_row") == 500)
  }

  /// Protects: a search looks through so many bytes of what waits, the newest, and says how many
  /// messages it has not looked through.
  @Test func aSearchLooksThroughSoManyBytes() throws {
    let (fixture, cid) = try fixture()
    let payload = "word " + String(repeating: "x", count: 300_000)
    for index in 0..<40 {
      try fixture.apply([message("m\(index)", at: Int64(index), payload)], cid)
    }
    #expect(try number(fixture, "SELECT count(*) FROM search_change") == 40)
    let answer = try #require(
      try fixture.read { rx throws(StoreFailure) in
        try rx.searchReader.search(SearchRequest(bytes("word"), limit: 100))
      })
    #expect(answer.looked <= SearchLook.bytesMax + payload.utf8.count)
    #expect(answer.hits.map(\.place.number) == [40, 39, 38, 37])
    #expect(answer.coverage.unbuilt == 36 && answer.coverage.total == 36)
    while try work(fixture, 1).rest != .nothing {}
    #expect(try fixture.find("word").count == 40 && fixture.coverage().unbuilt == 0)
  }

  // MARK: Growth

  struct Hostile: CustomStringConvertible, Sendable {
    let description: String
    let count: Int
    var isOld = false
    /// The text of a message.
    let text: @Sendable (inout Dice) -> String
  }

  private static func words(
    _ letters: [Character], _ length: Int, _ count: Int
  ) -> @Sendable (inout Dice) -> String {
    { dice in
      (0..<count).map { _ in
        String((0..<length).map { _ in letters[dice.roll(letters.count)] })
      }.joined(separator: " ")
    }
  }

  private static let latin = Array("abcdefghijklmnopqrstuvwxyz0123456789")
  private static let squares = letters(0x3300...0x3357)
  private static let hangul = letters(0xAC00...0xD7A3)

  private static func letters(_ codes: ClosedRange<UInt32>) -> [Character] {
    codes.compactMap { Unicode.Scalar($0).map(Character.init) }
  }

  static let hostile = [
    Hostile(description: "words of 4", count: 16, text: words(latin, 4, 12_000)),
    Hostile(description: "words of 5", count: 16, text: words(latin, 5, 10_000)),
    Hostile(description: "few words of 4", count: 4_000, text: words(latin, 4, 20)),
    Hostile(description: "of old", count: 4_000, isOld: true, text: words(latin, 4, 20)),
    Hostile(description: "beyond what is searched", count: 8, text: words(latin, 4, 60_000)),
    Hostile(description: "one word of 4", count: 10_000, text: words(latin, 4, 1)),
    Hostile(description: "squares", count: 16, text: words(squares, 20_000, 1)),
    Hostile(description: "few squares", count: 2_000, text: words(squares, 60, 1)),
    Hostile(description: "one square", count: 10_000, text: words(squares, 1, 1)),
    Hostile(description: "blessings", count: 16, text: words(["ﷺ"], 20_000, 1)),
    Hostile(description: "few blessings", count: 10_000, text: words(["ﷺ"], 3, 1)),
    Hostile(description: "hangul", count: 16, text: words(hangul, 20_000, 1)),
    Hostile(description: "few hangul", count: 4_000, text: words(hangul, 30, 1)),
  ]

  /// Protects: the index takes at most 12 times the text that is searched and 128 bytes a message,
  /// merged or not, whatever the texts are made for. docs/reference/search.md says so.
  @Test(arguments: hostile) func theIndexIsSoLarge(_ hostile: Hostile) throws {
    let (fixture, cid) = try fixture(waits: false)
    var dice = Dice(state: 7)
    var searched: Int64 = 0
    for start in stride(from: 0, to: hostile.count, by: 100) {
      try fixture.apply(
        (start..<min(start + 100, hostile.count)).map {
          let text = hostile.text(&dice)
          searched += Int64(min(text.utf8.count, Limits.searchedBytesMax))
          // Places of all sizes.
          let time = Int64(dice.roll(1 << 30)) << 20
          return message("m\($0)", at: hostile.isOld ? -time : time, text)
        }, cid)
    }
    func size() throws -> Int64 {
      try number(
        fixture,
        """
        SELECT (SELECT sum(length(block)) FROM search_data)
          + (SELECT sum(length(term) + 12) FROM search_idx) + (SELECT 20 * count(*) FROM search_row)
        """)
    }
    let most = 12 * searched + 128 * Int64(hostile.count)
    let before = try size()
    try fixture.write { tx throws(StoreFailure) in
      var slice = SearchSlice(1_000_000)
      slice.beginsAll = true
      while try SearchControl(tx).work(slice).rest != .nothing { slice.beginsAll = false }
    }
    let after = try size()
    #expect(before <= most && after <= most, "\(searched) bytes: \(before), \(after)")
  }
}
