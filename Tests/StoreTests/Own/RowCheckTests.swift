/// What a look at the rows finds: nothing in a sound file, and each thing that contradicts another.
import Base
import TestSupport
import Testing
import Timeline

@testable import Store

struct RowCheckTests {
  private func found(_ fixture: Fixture) throws -> UInt64 {
    var check = RowCheck()
    var steps = 0
    while try !fixture.read({ rx throws(StoreFailure) in try check.step(rx) }) { steps += 1 }
    #expect(steps < 1_000)
    return check.found.count
  }

  /// Three slices of messages, a send and a draft.
  private func fill() throws -> Fixture {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((0..<2_500).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    let other = try fixture.conversation("d")
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: other, target: bytes("s"), clientID: bytes("s")))
      try tx.operationTable.setDraft(StoredDraft(body: bytes("draft")), other)
    }
    return fixture
  }

  @Test func aSoundFileIsSound() throws {
    let fixture = try fill()
    #expect(try found(fixture) == 0)
    try fixture.reopen()
    #expect(try found(fixture) == 0)
    #expect(try found(try Fixture(.memory)) == 0)
  }

  @Test func whatLostItsConversationIsFound() throws {
    let fixture = try fill()
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("DELETE FROM conversation WHERE id = CAST('d' AS BLOB)")
    }
    #expect(try found(fixture) == 2)
    // A new one gets a number of its own, so nothing is sent there.
    try fixture.write { tx throws(StoreFailure) in
      let cid = try tx.conversation(creating: bytes("new")).cid
      #expect(try tx.operations(OperationFilter(cid: cid, limit: 9)).isEmpty)
      #expect(try tx.draft(cid) == nil)
    }
    #expect(try found(fixture) == 2)
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("DELETE FROM conversation")
    }
    #expect(try found(fixture) == 2_502)
  }
}
