/// New messages, where the index says whether they are: and what is remembered of a
/// conversation so that each message need not ask.
import Testing
import Timeline

@testable import Store

@Suite struct InsertionTests {
  @Test(arguments: Kind.allCases)
  func knownAndNewInAnyOrderAreStoredOnce(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let applied = try fixture.apply(
      [
        message("a", at: 1), message("a", at: 1, "edited", version: 2), message("b", at: 2),
        message("b", at: 2), message("c", at: 3), message("a", at: 9, "moved", version: 3),
        message("d", at: 4),
      ], cid)
    #expect(
      applied == [
        .inserted(1), .updated(1), .inserted(2), .unchanged(2), .inserted(3), .updated(1),
        .inserted(4),
      ])
    try fixture.reopen()
    #expect(try fixture.texts(cid, .latest) == ["b", "c", "d", "moved"])
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.count(cid, from: .min, to: .max) == 4)
    }
  }

  @Test func aNumberThatIsTakenIsDamage() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    do {
      try fixture.write { tx throws(StoreFailure) in
        tx.counters.lastNumber = 0
        _ = try tx.apply(message("b", at: 2), cid, issued: tx.lsn)
      }
      Issue.record("a number was given twice")
    } catch let failure as StoreFailure {
      // Only an older page can say that it is free.
      guard failure == .damaged else {
        Issue.record("\(failure)")
        return
      }
    }
    #expect(try fixture.texts(cid, .latest) == ["a"])
    #expect(try fixture.apply([message("b", at: 2)], cid) == [.inserted(2)])
  }

  @Test(arguments: Kind.allCases)
  func aDeletionIsKnownToTheVeryNextMessage(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.apply(message("a", at: 1), cid, issued: tx.lsn) == .inserted(1))
      _ = try tx.tombstone(bytes("b"), in: cid, version: nil)
      #expect(try tx.apply(message("b", at: 2), cid, issued: tx.lsn) == .tombstoned)
    }
    // One that is taken back leaves nothing.
    _ = try? fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("c"), in: cid, version: nil)
      _ = try tx.apply(message("c", at: 3), cid, issued: tx.lsn)
      throw StoreFailure.broken("on purpose")
    }
    #expect(try fixture.apply([message("c", at: 3)], cid) == [.inserted(2)])
    try fixture.write { tx throws(StoreFailure) in try tx.clearTombstones(cid) }
    #expect(try fixture.apply([message("b", at: 2)], cid) == [.inserted(3)])
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("d"), in: cid, version: nil)
    }
    #expect(try fixture.apply([message("d", at: 4)], cid, issued: 1_000) == [.tombstoned])
  }

  @Test(arguments: Kind.allCases)
  func aPlaceThatHidesSomethingIsKnownAtOnce(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    func places() throws -> Int {
      try fixture.read { rx throws(StoreFailure) in try rx.quarantined(cid).count }
    }
    #expect(try places() == 0)
    let (low, high) = (position(1, "a"), position(3, "c"))
    _ = try? fixture.write { tx throws(StoreFailure) in
      #expect(try tx.quarantined(cid).isEmpty)
      try tx.quarantineTable.quarantine(cid, bytes: bytes("{}"), reason: 1, low: low, high: high)
      #expect(try tx.quarantined(cid, from: .min, to: .max).count == 1)
      throw StoreFailure.broken("on purpose")
    }
    #expect(try places() == 0)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.quarantined(cid, from: .min, to: .max).isEmpty)
      try tx.quarantineTable.quarantine(cid, bytes: bytes("{}"), reason: 1, low: low, high: high)
      #expect(try tx.quarantined(cid, seen: true).isEmpty)
      try tx.quarantineTable.seeQuarantine(cid, low: low, high: high)
      #expect(try tx.quarantined(cid, seen: true).count == 1)
    }
    #expect(try places() == 1)
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.clearQuarantine(cid, low: low, high: high)
      #expect(try tx.quarantined(cid).isEmpty)
    }
    try fixture.reopen()
    #expect(try places() == 0)
  }
}
