/// Deletions, husks, and rows that go.
import Testing
import Timeline

@testable import Store

@Suite struct RemovalTests {
  @Test(arguments: Kind.allCases)
  func aDeletionBeatsEveryLaterCopy(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.tombstone(bytes("a"), in: cid, version: nil) == 1)
      #expect(try tx.tombstone(bytes("a"), in: cid, version: nil) == nil)
    }
    try fixture.reopen()
    let again = try fixture.apply([message("a", at: 1, version: 9)], cid, issued: 1_000)
    #expect(again == [.tombstoned])
    // This one was asked for before the deletion was known.
    #expect(try fixture.apply([message("a", at: 1)], cid, issued: 1) == [.overtaken])
    #expect(try fixture.texts(cid, .latest) == ["b"])
  }

  @Test func aDeletionBeforeItsMessageWaitsForIt() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.tombstone(bytes("a"), in: cid, version: nil) == nil)
    }
    #expect(try fixture.apply([message("a", at: 1)], cid) == [.tombstoned])
    #expect(try fixture.apply([message("a", at: 1)], other) == [.inserted(1)])
  }

  @Test func onlyANewerServerVersionLiftsADeletion() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
      // Said again with a version; an older one said later changes nothing.
      _ = try tx.tombstone(bytes("a"), in: cid, version: 4)
      _ = try tx.tombstone(bytes("a"), in: cid, version: 2)
    }
    #expect(try fixture.apply([message("a", at: 1)], cid) == [.tombstoned])
    #expect(try fixture.apply([message("a", at: 1, version: 4)], cid) == [.tombstoned])
    #expect(try fixture.apply([message("a", at: 1, version: 5)], cid) == [.inserted(1)])
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.isTombstoned(bytes("a"), in: cid) == false)
      #expect(try tx.tombstone(bytes("a"), in: cid, version: 4) == nil)
      #expect(try tx.tombstone(bytes("a"), in: cid, version: 5) == 1)
    }
  }

  @Test func aRestoreClearsTombstonesOfItsConversationOnly() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    try fixture.write { tx throws(StoreFailure) in
      for place in [cid, other] { _ = try tx.tombstone(bytes("a"), in: place, version: nil) }
      try tx.clearTombstones(cid)
    }
    #expect(try fixture.apply([message("a", at: 1)], cid) == [.inserted(1)])
    #expect(try fixture.apply([message("a", at: 1)], other) == [.tombstoned])
  }

  @Test(arguments: Kind.allCases)
  func aForgottenMessageStaysAHusk(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, readBy: #"["eva"]"#), message("b", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.forget(bytes("a"), in: cid) == 1)
      #expect(try tx.forget(bytes("unknown"), in: cid) == nil)
    }
    try fixture.reopen()
    #expect(try fixture.apply([message("a", at: 1, version: 7)], cid) == [.forgotten(1)])
    #expect(try fixture.texts(cid, .oldest) == ["b"])
    let placeholder = try #require(try fixture.message("a", cid))
    #expect(placeholder.payload.isEmpty && placeholder.sender.isEmpty && placeholder.stamp.isEmpty)
    #expect(placeholder.readBy == nil)
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.count(cid, from: .min, to: .max) == 2)
      #expect(try tx.message(bytes("a"), cid).rows.isEmpty)
      #expect(try tx.row(bytes("a"), cid)?.position == position(1, "a"))
    }
    // It follows the server's time, so that ranges compare.
    #expect(try fixture.apply([message("a", at: 5)], cid) == [.forgotten(1)])
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.newest(cid) == position(5, "a"))
    }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.tombstone(bytes("a"), in: cid, version: nil) == 1)
      #expect(try tx.count(cid, from: .min, to: .max) == 1)
    }
  }

  /// The husk went with a deletion or a restore; the message comes again, and stays away.
  @Test(arguments: Kind.allCases, [true, false])
  func whatWasForgottenStaysForgottenWhenItsRowWent(_ kind: Kind, _ isDeleted: Bool) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.forget(bytes("a"), in: cid)
      if isDeleted {
        _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
        try tx.clearTombstones(cid)
      } else {
        _ = try tx.remove(position(1, "a"), cid)
      }
    }
    try fixture.reopen()
    let again = message("a", at: 1, readBy: #"["eva"]"#)
    #expect(try fixture.apply([again, message("c", at: 3)], cid) == [.inserted(3), .inserted(4)])
    #expect(try fixture.texts(cid, .oldest) == ["b", "c"])
    let placeholder = try #require(try fixture.message("a", cid))
    #expect(placeholder.payload.isEmpty && placeholder.sender.isEmpty && placeholder.readBy == nil)
    #expect(try fixture.apply([again], other) == [.inserted(5)])
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.count(cid, from: .min, to: .max) == 3)
    }
    #expect(try fixture.texts(other, .oldest) == ["a"])
  }

  @Test func aRowTakenOutMayComeBack() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.remove(position(2, "a"), cid) == nil)
      #expect(try tx.remove(position(1, "a"), cid) == 1)
    }
    #expect(try fixture.apply([message("a", at: 1)], cid) == [.inserted(2)])
  }
}
