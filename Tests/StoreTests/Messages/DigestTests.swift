/// Which content is the same, and which unreadable item is which. What a server may choose freely
/// must not pass for something else.
import Testing
import Timeline

@testable import Store

@Suite struct DigestTests {
  /// Two payloads with one FNV-1a sum, and one size.
  static let pair = ["\"7a014ca4d70df5b8\"", "\"165a67bd3b788441\""]

  /// Protects: two unreadable items at one place stay two.
  @Test(arguments: Kind.allCases)
  func itemsThatOnlySumAlikeAreTwo(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      for item in Self.pair + Self.pair {
        try tx.quarantineTable.quarantine(
          cid, bytes: bytes(item), reason: 1, low: position(1, ""), high: position(2, ""))
      }
    }
    #expect(try fixture.read { rx throws(StoreFailure) in try rx.counts().quarantined } == 2)
  }

  /// Protects: a file whose digests had no key opens, keeps its messages, and trusts none of them.
  @Test func digestsWithoutAKeyAreForgotten() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    var opened = message("a", at: 1)
    opened.digest = 5
    try fixture.apply([opened], cid)
    try fixture.write { tx throws(StoreFailure) in try tx.settleConversations() }
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.quarantine(
        cid, bytes: bytes("{}"), reason: 1, low: position(5, ""), high: position(6, ""))
      try tx.connection.execute(
        """
        ALTER TABLE meta DROP COLUMN owes_list;
        DROP INDEX message_id;
        ALTER TABLE message DROP COLUMN id;
        ALTER TABLE message RENAME COLUMN key TO id;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        PRAGMA user_version = 5;
        """)
      try tx.connection.execute(Fixture.toNinthForm)
    }
    try fixture.reopen()
    #expect(try fixture.message("a", cid)?.payload == bytes("a"))
    #expect(try fixture.message("a", cid)?.digest == nil)
    #expect(try fixture.read { rx throws(StoreFailure) in try rx.counts().quarantined } == 0)
  }

  /// Protects: what is stored is known again in another process, and in no other file.
  @Test func aDigestIsOfTheFile() throws {
    let fixture = try Fixture(.file)
    let first = fixture.store.digest(bytes("one")[...])
    #expect(first != fixture.store.digest(bytes("two")[...]))
    try fixture.reopen()
    #expect(fixture.store.digest(bytes("one")[...]) == first)
    #expect(try Fixture(.file).store.digest(bytes("one")[...]) != first)
  }
}
