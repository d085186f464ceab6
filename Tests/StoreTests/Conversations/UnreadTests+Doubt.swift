/// Numbers that are not exact: what they are until the server tells them again.
import Testing
import Timeline

@testable import Store

extension UnreadTests {
  /// A count without its newest message does not say what a page shows that is newer: as many as
  /// were counted are taken for those, and the others are news.
  @Test func aCountWithoutItsNewestMessageGoesOn() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try told(fixture, cid, 6, newest: nil)
    for (count, id) in [(7, "m8b"), (8, "m12")] {
      try fixture.apply([message(id, at: id == "m12" ? 12 : 8)], cid)
      #expect(try unread(fixture, cid) == Unread(count, isExact: false))
    }
    try fixture.reopen()
    // A push is news.
    try fixture.write { tx throws(StoreFailure) in
      tx.receivedSince = tx.lsn
      _ = try tx.apply(message("m13", at: 13), cid, issued: tx.lsn)
    }
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
  }

  /// So many messages of others, and all that there is.
  private func whole(_ count: Int64) throws -> (Fixture, Int64) {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...count).map { message("m\($0)", at: $0) }, cid)
    try cover(fixture, cid, to: 99)
    return (fixture, cid)
  }

  /// Where all is stored and the number is not exact, it is that of the rows that a window shows as
  /// unread, until the server tells how many another device has read.
  @Test func theRowsAreTheNumberWhereAllIsStored() throws {
    let (fixture, cid) = try whole(9)
    #expect(try unread(fixture, cid) == Unread(9, isExact: true))
    try told(fixture, cid, 8, newest: position(9, "m9"))
    #expect(try unread(fixture, cid) == Unread(8, isExact: true))
    try fixture.apply([message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(10, isExact: false))
    try fixture.reopen()
    try fixture.apply([message("m4", at: 4, flags: .deleted, version: 2)], cid)
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    try told(fixture, cid, 8, newest: position(12, "m12"))
    #expect(try unread(fixture, cid) == Unread(8, isExact: true))
  }

  /// A page brings what came before the count and one more than it counted: one of them was read
  /// elsewhere or is gone, also where all is stored.
  @Test func oneMoreThanWasCountedIsNotExactWhereAllIsStored() throws {
    let (fixture, cid) = try whole(6)
    try told(fixture, cid, 7, newest: position(9, "m9"))
    #expect(try unread(fixture, cid) == Unread(7, isExact: true))
    try fixture.apply([message("m7", at: 7), message("m8", at: 8)], cid)
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
    try fixture.reopen()
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
    try told(fixture, cid, 7, newest: position(9, "m9"))
    #expect(try unread(fixture, cid) == Unread(7, isExact: true))
  }

  /// Which of those that are called read another device had read before is not known.
  @Test func callingSomeReadIsNotExactWhereTheServerHadLess() throws {
    let (fixture, cid) = try whole(10)
    try told(fixture, cid, 8, newest: position(10, "m10"))
    #expect(try unread(fixture, cid) == Unread(8, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.unreadTable.moveReadMarker(cid, to: position(8, "m8"))
    }
    #expect(try !unread(fixture, cid).isExact)
  }

  /// What comes after all was called read is unread, and nothing else.
  @Test(arguments: ["m5", "m9"])
  func whatComesAfterAllWasReadIsUnread(_ last: String) throws {
    let (fixture, cid) = try whole(9)
    try told(fixture, cid, 2, newest: position(9, "m9"))
    try fixture.write { tx throws(StoreFailure) in
      guard let row = try tx.row(bytes(last), cid) else { throw .notFound }
      _ = try tx.unreadTable.moveReadMarker(cid, to: row.position)
    }
    let left = last == "m5" ? 4 : 0
    #expect(try unread(fixture, cid) == Unread(left, isExact: last == "m9"))
    for came in 1...3 {
      try fixture.apply([message("n\(came)", at: Int64(20 + came))], cid)
      #expect(try unread(fixture, cid) == Unread(left + came, isExact: false))
      try fixture.reopen()
      #expect(try unread(fixture, cid) == Unread(left + came, isExact: false))
    }
  }

  /// The same where a commit takes a message in and leaves something open behind it: on the way
  /// all seems to be here.
  @Test func whatACommitLeavesSettlesADoubt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try cover(fixture, cid, to: 9)
    try told(fixture, cid, 6, newest: position(9, "m9"))
    #expect(try unread(fixture, cid) == Unread(6, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(message("m12", at: 12), cid, issued: tx.lsn)
      let old = try tx.spans(cid)
      try tx.save(
        spans: old.inserting(.min, high: .after(timestampGroup: 12)), replacing: old, in: cid)
      guard var record = try tx.conversation(cid: cid) else { throw .notFound }
      record.fetch = ContentMark(newest: .before(timestampGroup: 15), text: bytes("t"))
      try tx.save(record)
    }
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    // Once all is whole again the rows say how many there are.
    try cover(fixture, cid, to: 15)
    #expect(try unread(fixture, cid) == Unread(10, isExact: false))
  }

  /// The user read up to a message that is not stored; what counts from below is older.
  @Test func aCountFromBelowAMarkerThatIsNotStoredIsNotTaken() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...10).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      var mark = OperationRecord(.markLastRead, cid: cid, target: bytes("m12"))
      mark.state = .done
      _ = try tx.operationTable.addOperation(mark)
      try tx.unreadTable.noteLastRead(bytes("m12"), in: cid)
    }
    try told(fixture, cid, 9, newest: position(10, "m10"), lastRead: "m3")
    #expect(try unread(fixture, cid).isExact == false)
    try told(fixture, cid, 0, newest: position(10, "m10"), lastRead: "m12")
    #expect(try unread(fixture, cid).count <= 7)
  }
}
