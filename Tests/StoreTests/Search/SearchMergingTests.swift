/// Places in the index, and its segments: what is merged, when, and what is gone then.
import Base
import Testing
import Timeline

@testable import Store
@testable import Text

extension Fixture {
  /// Blocks of the index that have a text in them as it is.
  fileprivate func blocks(_ text: String) throws -> Int64 {
    let asked = bytes(text)
    return try read { rx throws(StoreFailure) in
      try rx.connection.number(
        "SELECT count(*) FROM search_data WHERE instr(block, CAST(? AS BLOB)) > 0", asked) ?? -1
    }
  }

  fileprivate func segments() throws -> Int64 {
    try read { rx throws(StoreFailure) in
      try rx.connection.number("SELECT count(DISTINCT segid) FROM search_idx") ?? -1
    }
  }

  fileprivate func work(_ slice: SearchSlice) throws -> SearchSlice.Rest {
    try write { tx throws(StoreFailure) in try SearchControl(tx).work(slice).rest }
  }

  fileprivate func number(_ sql: StaticString) throws -> Int64 {
    try read { rx throws(StoreFailure) in try rx.connection.number(sql) ?? -1 }
  }
}

@Suite struct SearchMergingTests {
  /// Protects: of many messages of one second each has its place, is found again by it when it
  /// changes, and pages are in order.
  @Test func manyMessagesOfOneSecond() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    let count = 3_000
    let all = (0..<count).map { message("m\($0)", at: Int64($0 * 7 % 500), "word w\($0)") }
    try fixture.apply(all, cid)
    try fixture.apply([message("far", at: 60_000_000, "word")], cid)
    #expect(try fixture.number("SELECT count(*) FROM search_row") == Int64(count + 1))
    let tries = try fixture.number("SELECT tries FROM search_state")
    #expect(tries > 10 && tries < 40)
    #expect(try fixture.number("SELECT count(*) FROM search_crowd") == 1)
    // Where there was no crowd, hits are looked for no farther than usual.
    let places = try fixture.read { rx throws(StoreFailure) in
      let index = SearchIndex(connection: try rx.connection)
      return [try index.lastPlace(upTo: 3), try index.lastPlace(upTo: 1 << 30)]
    }
    #expect(places == [3 + SearchPlace.reach(tries), (1 << 30) + 15])
    let order = (0..<count).sorted { a, b in
      let (first, second): (Int, Int) = (a * 7 % 500, b * 7 % 500)
      return first == second ? a > b : first > second
    }
    let expected: [UInt64] = [UInt64(count + 1)] + order.map { UInt64($0 + 1) }
    var found: [UInt64] = []
    var after: SearchRequest.Place?
    while true {
      var request = SearchRequest(bytes("word"), limit: 700)
      request.after = after
      let asked = request
      let answer = try #require(
        try fixture.read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
      found += answer.hits.map(\.place.number)
      guard answer.hasMore else { break }
      after = answer.hits.last?.place
    }
    #expect(found == expected)
    try fixture.write { tx throws(StoreFailure) in
      for index in 0..<count { _ = try tx.tombstone(bytes("m\(index)"), in: cid, version: nil) }
    }
    #expect(try fixture.find("word") == [UInt64(count + 1)])
    #expect(try fixture.number("SELECT count(*) FROM search_row") == 1)
  }

  /// Protects: places are small, so that the words of the index are: five messages of the same
  /// words a minute apart take two bytes each for it, where milliseconds took four.
  @Test func placesAreSeconds() {
    #expect(SearchPlace.unit(0) == 0 && SearchPlace.unit(1_023_999) == 0)
    #expect(SearchPlace.unit(1_024_000) == 1 && SearchPlace.unit(-1) == -1)
    #expect(SearchPlace.unit(.max) == (1 << 33) - 1 && SearchPlace.unit(.min) == -1 << 33)
    #expect(SearchPlace.reach(0) == 0 && SearchPlace.reach(1) == 3 && SearchPlace.reach(4) == 15)
    for count: Int64 in 0...SearchPlace.triesMax {
      let place = SearchPlace.place(of: 5, in: -3, try: count)
      #expect(place >= -3 && place <= -3 + SearchPlace.reach(count))
    }
    #expect(SearchPlace.reach(.max) == SearchPlace.reach(SearchPlace.triesMax))
  }

  /// Protects: words of a message that went are in no segment once all is merged, and until then
  /// the index says that they may be.
  @Test func wordsThatWentLeaveAllSegments() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    for index in 0..<40 {
      try fixture.apply([message("m\(index)", at: Int64(index), "qsecret\(index) word")], cid)
    }
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.forget(bytes("m7"), in: cid)
      _ = try tx.tombstone(bytes("m8"), in: cid, version: nil)
    }
    try fixture.apply([message("m9", at: 9, "changed", version: 2)], cid)
    #expect(try fixture.blocks("qsecret7") > 0)
    #expect(
      try fixture.read { rx throws(StoreFailure) in try rx.searchReader.state() }?.isDone == false)
    // Another one goes while all is merged: that is begun once more.
    #expect(try fixture.work(SearchSlice(1, builds: false, mergesAll: false)) == .more)
    var rest = SearchSlice.Rest.more
    while rest == .more {
      rest = try fixture.work(SearchSlice(1, builds: false, mergesAll: false))
    }
    #expect(rest == .due)
    #expect(try fixture.work(SearchSlice(1)) == .begun)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.drop(bytes("m10"), in: cid) }
    #expect(try fixture.number("SELECT removed FROM search_state") == 1)
    var steps = 0
    while try fixture.work(SearchSlice(1)) != .nothing { steps += 1 }
    #expect(steps > 0 && steps < 100)
    for index in 7...10 { #expect(try fixture.blocks("qsecret\(index)") == 0) }
    #expect(try fixture.segments() == 1)
    #expect(try fixture.find("word").count == 36 && fixture.find("qsecret11") == [12])
    #expect(
      try fixture.read { rx throws(StoreFailure) in try rx.searchReader.state() }?.isDone == true)
  }

  /// Protects: segments stay few where slices are done, and where none is; nothing is merged
  /// inside a commit that follows slices.
  @Test func segmentsStayFew() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    for index in 0..<300 {
      try fixture.apply([message("m\(index)", at: Int64(index) * 1_000_000, "word w\(index)")], cid)
      while try fixture.work(SearchSlice(64, builds: false)) != .nothing {}
    }
    #expect(try fixture.segments() < 24)
    for index in 300..<600 {
      try fixture.apply([message("m\(index)", at: Int64(index) * 1_000_000, "word w\(index)")], cid)
    }
    #expect(try fixture.segments() < 96)
    #expect(try fixture.find("word", limit: 1_000).count == 600)
  }

  /// Protects: who asks for it has one segment, also where no message went.
  @Test func allIsMergedWhereItIsAskedFor() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.switchOn()
    for index in 0..<5 { try fixture.apply([message("m\(index)", at: Int64(index), "word")], cid) }
    #expect(try fixture.segments() == 5)
    #expect(try fixture.work(SearchSlice(64)) == .nothing)
    var slice = SearchSlice(64)
    slice.beginsAll = true
    #expect(try fixture.work(slice) == .begun)
    while try fixture.work(SearchSlice(64)) != .nothing {}
    #expect(try fixture.segments() == 1)
  }

  /// Protects: a slice of a build does about as much as it is told, of long texts fewer.
  @Test func slicesOfABuildAreBounded() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let long = String(repeating: "slovo ", count: 1_000)
    for start in 0..<20 {
      try fixture.apply(
        (0..<100).map {
          message("m\(start * 100 + $0)", at: Int64(start), start < 10 ? "word" : long)
        }, cid)
    }
    try fixture.write { tx throws(StoreFailure) in #expect(try SearchControl(tx).switchOn()) }
    var before = try fixture.number("SELECT below FROM search_state")
    var most: [Int64] = [0, 0]
    while try fixture.work(SearchSlice(128)) != .nothing {
      let below = try fixture.number("SELECT below FROM search_state")
      let half = below > 1_000 ? 1 : 0
      most[half] = max(most[half], before - below)
      before = below
    }
    // A message of one word costs half of what a short one costs.
    #expect(most[0] >= 200 && most[0] <= 256 && most[1] >= 5 && most[1] <= 6, "\(most)")
    #expect(try fixture.find("word", limit: 1_000).count == 1_000)
    #expect(try fixture.find("slovo", limit: 1_000).count == 1_000)
  }
}
