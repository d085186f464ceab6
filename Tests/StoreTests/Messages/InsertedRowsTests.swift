/// What a commit inserted is told without a look at the file: the same that the file says.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct InsertedRowsTests {
  /// Keys as the writer's connection tells them, which knows of the last commit, and as a
  /// connection of its own reads them.
  private func expectSame(
    _ fixture: Fixture, _ cids: [Int64], _ numbers: ClosedRange<UInt64>, _ note: String
  ) throws {
    for cid in cids {
      for low in numbers {
        for high in low...numbers.upperBound {
          for limit in [1, 3, 100] {
            let told = try fixture.store.read { rx throws(StoreFailure) in
              try rx.keys(numbers: low...high, in: cid, limit: limit)
            }
            let read = try fixture.read { rx throws(StoreFailure) in
              try rx.keys(numbers: low...high, in: cid, limit: limit)
            }
            try #require(told == read, "\(note): \(low)...\(high) of \(cid), \(limit) at most")
          }
        }
      }
    }
  }

  @Test func everyKindOfCommitTellsWhatTheFileSays() throws {
    let fixture = try Fixture(.file)
    let cids = [try fixture.conversation("a"), try fixture.conversation("b")]
    var random = Random(seed: 21)
    var names: [(name: String, cid: Int64)] = []
    for step in 0..<60 {
      try fixture.write { tx throws(StoreFailure) in
        for part in 0..<1 + random.below(step % 7 == 0 ? 20 : 3) {
          let at = Int64(random.below(50))
          if !names.isEmpty, random.chance(0.25), let old = names.randomElement(using: &random) {
            if random.chance(0.5) {
              _ = try tx.tombstone(bytes(old.name), in: old.cid, version: nil)
            } else {
              _ = try tx.apply(
                message(old.name, at: at, "changed \(step)", version: Int64(step)), old.cid,
                issued: tx.lsn)
            }
            continue
          }
          let name = "m\(step)-\(part)"
          let cid = random.chance(0.8) ? cids[0] : cids[1]
          let flags: RowFlags = random.chance(0.2) ? .control : []
          _ = try tx.apply(message(name, at: at, flags: flags), cid, issued: tx.lsn)
          names.append((name, cid))
        }
      }
      let last = UInt64(names.count)
      try expectSame(fixture, cids, (last > 8 ? last - 8 : 1)...last + 1, "step \(step)")
    }
  }

  @Test func theNextCommitEndsIt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in
      // What the transaction itself does is not told by the commit before it.
      #expect(tx.memo?.inserted.keys(1...2, in: cid) == nil)
      _ = try tx.apply(message("b", at: 2, "changed", version: 5), cid, issued: tx.lsn)
      #expect(try tx.keys(numbers: 2...2, in: cid, limit: 9).map(\.revision) == [tx.lsn])
      _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
      #expect(try tx.keys(numbers: 1...2, in: cid, limit: 9).map(\.number) == [2])
    }
    try expectSame(fixture, [cid], 1...2, "one was deleted")
    // One that fails changes nothing, and tells nothing either.
    #expect(throws: StoreFailure.closed) {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.apply(message("c", at: 3), cid, issued: tx.lsn)
        throw .closed
      }
    }
    try expectSame(fixture, [cid], 1...3, "one failed")
  }

  @Test func aCacheThatIsClearedTellsNothingOfWhatItHad() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(message("a", at: 1), cid, issued: tx.lsn)
      try tx.clearCache()
    }
    try expectSame(fixture, [cid], 1...1, "cleared")
  }

  @Test(arguments: Kind.allCases)
  func aTransactionThatHasEndedTellsNothingFromMemory(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    var kept: ReadTransaction?
    try fixture.store.read { rx throws(StoreFailure) in
      #expect(try rx.conversation(bytes("c"))?.cid == cid)
      #expect(try rx.keys(numbers: 1...1, in: cid, limit: 1).count == 1)
      kept = rx
    }
    let ended = try #require(kept)
    #expect(throws: StoreFailure.self) { try ended.conversation(bytes("c")) }
    #expect(throws: StoreFailure.self) { try ended.conversation(cid: cid) }
    #expect(throws: StoreFailure.self) { try ended.spans(cid) }
    #expect(throws: StoreFailure.self) { try ended.unverified(cid) }
    #expect(throws: StoreFailure.self) { try ended.quarantined(cid, seen: true) }
    #expect(throws: StoreFailure.self) { try ended.keys(numbers: 1...1, in: cid, limit: 1) }
    #expect(throws: StoreFailure.self) { try ended.count(cid, from: .min, to: .max) }
    #expect(throws: StoreFailure.self) { try ended.unreadReader.readMarker(cid) }
    #expect(throws: StoreFailure.self) { try ended.facts() }
  }
}
