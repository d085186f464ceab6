/// The index is compared with the messages, token by token.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

extension Fixture {
  /// Looks at all of the index.
  func checkIndex(size: Int64 = 7, between: () throws -> Void = {}) throws -> SearchCheck.Finding? {
    var check = SearchCheck()
    while true {
      var next = check
      let finding = try read { rx throws(StoreFailure) in
        var taken = next
        let finding = try taken.step(rx, size: size)
        next = taken
        return finding
      }
      check = next
      if finding != .more { return finding }
      try between()
    }
  }
}

@Suite struct SearchCheckTests {
  private func filled() throws -> (Fixture, Int64) {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    for index in 0..<60 {
      let text = "word w\(index) 我们明天 👍🏽👍 x-y 1️⃣"
      try fixture.apply([message("m\(index)", at: Int64(index) * 900, text)], cid)
    }
    try fixture.switchOn()
    for index in 0..<20 {
      try fixture.apply([message("n\(index)", at: Int64(index) * 900, "later \(index)")], cid)
    }
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("m3"), in: cid, version: nil)
    }
    return (fixture, cid)
  }

  @Test func aRightIndexIsRight() throws {
    let (fixture, cid) = try filled()
    #expect(try fixture.checkIndex() == .right && fixture.checkIndex(size: .max) == .right)
    // While it changes all the time, too.
    var next = 0
    let found = try fixture.checkIndex(size: 5) {
      try fixture.apply([message("c\(next)", at: Int64(next), "new \(next)")], cid)
      next += 1
    }
    #expect(found == .right && next == 3)
    // And while it is built.
    try fixture.write { tx throws(StoreFailure) in
      try SearchControl(tx).rebuild()
      _ = try SearchControl(tx).work(SearchSlice(20))
    }
    #expect(try fixture.coverage().unbuilt > 0 && fixture.checkIndex() == .right)
    try fixture.write { tx throws(StoreFailure) in _ = try SearchControl(tx).switchOff() }
    #expect(try fixture.checkIndex() == nil)
  }

  /// Protects: no step looks at more than it is told, also where many messages have one token.
  @Test(arguments: [1, 2, 5] as [Int64]) func aTokenOfManyIsLookedAtInSteps(_ size: Int64) throws {
    let (fixture, cid) = try filled()
    try fixture.apply(
      (0..<300).map { message("many\($0)", at: Int64($0), "word word \($0) word") }, cid)
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    var check = SearchCheck()
    var (most, steps): (Int64, Int) = (0, 0)
    var finding: SearchCheck.Finding? = .more
    while finding == .more {
      let before = check
      (finding, check) = try fixture.read { rx throws(StoreFailure) in
        var check = before
        return (try check.step(rx, size: size), check)
      }
      most = max(most, check.looked - before.looked)
      steps += 1
    }
    #expect(finding == .right && steps > 30)
    // One message has three places of a token, which come together.
    #expect(most <= size * 32 + 3)
  }

  /// Protects: what is found in steps is what is found at once, whatever a token holds.
  @Test(arguments: ["word", #"a"b"#, "\"", #"x""y"#]) func aTokenThatNoMessageHasIsFound(
    _ token: String
  ) throws {
    let (fixture, _) = try filled()
    try fixture.alter("SELECT 1; COMMIT") { tx throws(StoreFailure) in
      try tx.connection.registerTokenizer()
      for place in 0..<100 {
        try tx.connection.run(
          "INSERT INTO search (rowid, text) VALUES (?, CAST(? AS TEXT))", Int64(900_000 + place),
          [DocumentMark.term] + Array(token.utf8))
      }
    }
    #expect(try fixture.checkIndex(size: 1) == .wrong)
    #expect(try fixture.checkIndex(size: .max) == .wrong)
  }

  /// Protects: what is in the index of a message that is gone is found, which FTS5's own check does
  /// not see, as is what the index lacks, and what stands at another place.
  @Test(
    arguments: [
      "INSERT INTO search (rowid, text) VALUES (123456, CAST(x'67686F7374' AS TEXT)); COMMIT",
      "DELETE FROM search_row WHERE number = 5; COMMIT",
      "UPDATE search_row SET number = 9999 WHERE number = 5; COMMIT",
      """
      INSERT INTO search (search, rowid, text) VALUES ('delete', (SELECT place FROM search_row
        WHERE number = 70), CAST(x'6C61746572' AS TEXT)); COMMIT
      """,
      "INSERT INTO search_row (place, number, size) VALUES (77777, 77777, 1); COMMIT",
    ] as [StaticString])
  func aWrongOneIsWrong(_ change: StaticString) throws {
    let (fixture, _) = try filled()
    try fixture.alter(change) { tx throws(StoreFailure) in try tx.connection.registerTokenizer() }
    #expect(try fixture.checkIndex() == .wrong)
    try fixture.write { tx throws(StoreFailure) in
      try SearchControl(tx).rebuild()
      try SearchControl(tx).finish()
    }
    #expect(try fixture.checkIndex() == .right)
  }
}
