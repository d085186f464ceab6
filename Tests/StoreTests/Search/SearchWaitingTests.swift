/// New messages that wait to be indexed are found all the same.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

@Suite struct SearchWaitingTests {
  private func waiting() throws -> (Fixture, Int64) {
    let fixture = try Fixture(.file)
    try fixture.reopen { $0.indexesLater = true }
    let cid = try fixture.conversation()
    try fixture.switchOn()
    return (fixture, cid)
  }

  private func number(_ fixture: Fixture, _ sql: StaticString) throws -> Int64? {
    try fixture.read { rx throws(StoreFailure) in try rx.connection.number(sql) }
  }

  private func waitingCount(_ fixture: Fixture) throws -> Int64? {
    try number(fixture, "SELECT count(*) FROM search_change")
  }

  /// Protects: they are found in their order, among those that are indexed, also after a restart;
  /// a slice of work indexes them.
  @Test func theyAreFoundAtOnce() throws {
    let (fixture, cid) = try waiting()
    try fixture.apply([message("a", at: 1_000, "word one"), message("b", at: 9_000, "word")], cid)
    #expect(try waitingCount(fixture) == 2 && fixture.vocabulary() == [])
    #expect(try fixture.find("word") == [2, 1] && fixture.find("word -one") == [2])
    #expect(try fixture.ranked("word").hits.map(\.place.number) == [2, 1])
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    #expect(try waitingCount(fixture) == 0 && fixture.find("word") == [2, 1])
    try fixture.apply([message("c", at: 5_000, "word"), message("d", at: 9_000, "word")], cid)
    try fixture.reopen()
    #expect(try waitingCount(fixture) == 2 && fixture.find("word") == [4, 2, 3, 1])
    #expect(try fixture.find("word", limit: 2) == [4, 2])
    #expect(try fixture.checkIndex() == .right)
    let state = try fixture.read { rx throws(StoreFailure) in try rx.searchReader.state() }
    #expect(state?.isDone == false)
  }

  /// Protects: what the index has of a message leaves it with the commit that changes the message.
  @Test func whatChangesDoesNotWait() throws {
    let (fixture, cid) = try waiting()
    try fixture.apply([message("a", at: 1, "word one"), message("b", at: 2, "word two")], cid)
    // It is not in the index, so it goes on waiting.
    try fixture.apply([message("a", at: 1, "word changed", version: 2)], cid)
    #expect(try waitingCount(fixture) == 2)
    #expect(try fixture.find("one") == [] && fixture.find("changed") == [1])
    try fixture.write { tx throws(StoreFailure) in
      try SearchControl(tx).finish()
      _ = try tx.apply(message("c", at: 3, "word three"), cid, issued: tx.lsn)
    }
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("b"), in: cid, version: nil)
    }
    #expect(try waitingCount(fixture) == 0)
    #expect(try fixture.vocabulary().filter { $0.hasPrefix("two") }.isEmpty)
    #expect(try fixture.find("word") == [3, 1])
    try fixture.apply([message("d", at: 4, "word four")], cid)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.forget(bytes("d"), in: cid) }
    #expect(try fixture.find("four") == [])
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    #expect(try fixture.find("four") == [] && fixture.checkIndex() == .right)
  }

  /// Protects: who asks for one segment has it, though the first slice indexes what waits.
  @Test func allIsMergedAfterThem() throws {
    let (fixture, cid) = try waiting()
    for index in 0..<5 {
      try fixture.apply([message("m\(index)", at: Int64(index), "word")], cid)
      try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    }
    try fixture.apply([message("last", at: 9, "word")], cid)
    try fixture.write { tx throws(StoreFailure) in
      var slice = SearchSlice(64)
      slice.beginsAll = true
      #expect(try SearchControl(tx).work(slice).rest == .more)
    }
    // FTS5 writes what was indexed with the commit, and merges what was written.
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
    #expect(try number(fixture, "SELECT count(DISTINCT segid) FROM search_idx") == 1)
    #expect(try fixture.find("word").count == 6)
  }

  /// Protects: not more wait than a search can look through.
  @Test func theyAreFew() throws {
    let (fixture, cid) = try waiting()
    for index in 0..<300 {
      try fixture.apply([message("m\(index)", at: Int64(index) * 1_000, "word")], cid)
      #expect(try waitingCount(fixture) ?? .max <= 256)
    }
    #expect(try waitingCount(fixture) ?? 0 > 0)
    #expect(try fixture.find("word", limit: 900).count == 300)
  }
}
