/// Counts in doubt: what takes their exactness changes no number.
import Testing
import Timeline

@testable import Store

extension UnreadTests {
  /// Where the server counts fewer than are unread here, another device has read some of them. A
  /// push that takes the count its exactness does not bring them back.
  @Test func whatAnotherDeviceHasReadDoesNotComeBack() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try told(fixture, cid, 6, newest: nil)
    // It came late, or was counted: nobody knows, and the server is asked once more.
    try fixture.apply([message("m8b", at: 8)], cid)
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try fixture.apply([message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
    try fixture.reopen()
    try fixture.apply([message("m13", at: 13)], cid)
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

  /// The same where all is stored: our own count holds what the server has counted as read or gone,
  /// and nobody has told what that is.
  @Test func whatTheServerHadLessOfIsNotCountedAgainWhereAllIsStored() throws {
    let (fixture, cid) = try whole(9)
    #expect(try unread(fixture, cid) == Unread(9, isExact: true))
    try told(fixture, cid, 8, newest: nil)
    #expect(try unread(fixture, cid) == Unread(8, isExact: true))
    // It may have been counted, and puts the count in doubt.
    try fixture.apply([message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    try fixture.reopen()
    try fixture.apply([message("m13", at: 13)], cid)
    #expect(try unread(fixture, cid) == Unread(10, isExact: false))
    // What came after the count is none that it knew of.
    try fixture.apply([message("m12", at: 12, flags: .deleted, version: 2)], cid)
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    // The deletion that it knew of may be this one.
    try fixture.apply([message("m4", at: 4, flags: .deleted, version: 2)], cid)
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    try fixture.apply([message("m5", at: 5, flags: .deleted, version: 2)], cid)
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
    try told(fixture, cid, 8, newest: nil)
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

  /// What this user calls read takes what the server had less of along: what comes later is unread.
  @Test(arguments: ["m5", "m9"])
  func whatIsReadTakesWhatTheServerHadLessOfAlong(_ last: String) throws {
    let (fixture, cid) = try whole(9)
    try told(fixture, cid, 2, newest: position(9, "m9"))
    try fixture.apply([message("m8b", at: 8)], cid)
    try fixture.write { tx throws(StoreFailure) in
      guard let row = try tx.row(bytes(last), cid) else { throw .notFound }
      _ = try tx.unreadTable.moveReadMarker(cid, to: row.position)
    }
    for came in 1...3 {
      try fixture.apply([message("n\(came)", at: Int64(20 + came))], cid)
      let expected = Unread(came, isExact: last == "m9")
      #expect(try unread(fixture, cid) == expected)
      try fixture.reopen()
      #expect(try unread(fixture, cid) == expected)
    }
  }

  /// The same where a commit takes a message in and leaves something open behind it: on the way
  /// all seems to be here.
  @Test func whatACommitLeavesSettlesADoubt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try cover(fixture, cid, to: 9)
    try told(fixture, cid, 6, newest: nil)
    #expect(try unread(fixture, cid) == Unread(6, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(message("m12", at: 12), cid, issued: tx.lsn)
      let old = try tx.spans(cid)
      try tx.save(
        spans: old.inserting(.min, high: .after(timestampGroup: 12)), replacing: old, in: cid)
      guard var record = try tx.conversation(cid: cid) else { throw .notFound }
      record.fetch = Watermark(timeUs: 15, text: bytes("t"))
      try tx.save(record)
    }
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    // Once all is whole again the rows say how many there are, less what it had counted as read.
    try cover(fixture, cid, to: 15)
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
  }
}
