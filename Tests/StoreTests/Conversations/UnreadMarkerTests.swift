/// What a marker does to a count at once, and not a commit later.
import Testing
import Timeline

@testable import Store

@Suite struct UnreadMarkerTests {
  /// Protects: a badge that goes to what is counted here where the marker moves to a place above
  /// which all is here, and does not fall once more at a commit that has nothing to do with it.
  @Test(arguments: Kind.allCases)
  func theCountIsSettledWithTheMarker(_ kind: Kind) throws {
    let counts = UnreadTests()
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 5), message("c", at: 6)], cid)
    try counts.cover(fixture, cid, from: 5, to: 9)
    try counts.told(fixture, cid, 36, newest: position(6, "c"))
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.outliveCount(from: tx.lsn, in: cid)
    }
    #expect(try counts.unread(fixture, cid) == Unread(36, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(5, "b"))
    }
    #expect(try counts.unread(fixture, cid).count == 1)
    // Another commit, in which its counts are looked at.
    try fixture.write { tx throws(StoreFailure) in try tx.unreadTable.noteUnreadUnknown(cid) }
    #expect(try counts.unread(fixture, cid).count == 1)
  }
}
