/// What is taken out of the cache comes anew, also from inside of a place of unreadable items.
import Testing
import Timeline

@testable import Store

@Suite struct DropTests {
  private func seen(_ fixture: Fixture, _ cid: Int64) throws -> [Int64] {
    try fixture.read { tx throws(StoreFailure) in try tx.quarantined(cid, seen: true) }
      .map(\.low.time)
  }

  private func filled() throws -> (Fixture, Int64) {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...100).map { message("m\($0)", at: Int64($0) * 10) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      for time in [Int64(150), 900] {
        let (low, high) = (position(time, ""), position(time + 25, ""))
        try tx.quarantineTable.quarantine(cid, bytes: bytes("x"), reason: 1, low: low, high: high)
        try tx.quarantineTable.seeQuarantine(cid, low: low, high: high)
      }
    }
    #expect(try seen(fixture, cid).sorted() == [150, 900])
    return (fixture, cid)
  }

  /// A place that was seen whole hides one row more.
  @Test func aPlaceOfUnreadableItemsLosesARow() throws {
    let (fixture, cid) = try filled()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.drop(bytes("m16"), in: cid) != nil)
      #expect(try tx.drop(bytes("m50"), in: cid) != nil)
    }
    #expect(try seen(fixture, cid) == [900])
  }

  @Test func allOfAConversationGoes() throws {
    let (fixture, cid) = try filled()
    try fixture.write { tx throws(StoreFailure) in try tx.dropMessages(cid) }
    #expect(try seen(fixture, cid) == [])
  }
}
