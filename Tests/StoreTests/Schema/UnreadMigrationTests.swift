/// Files of earlier forms, which held two counts of unread messages.
import Testing
import Timeline

@testable import Store

@Suite struct UnreadMigrationTests {
  /// Protects: the number of a file of the fifteenth form goes on, wherever its state lay, and what
  /// was purged of a conversation without a count goes into it. What is no count is none.
  @Test(arguments: [false, true], [7, 1 << 53 - 1] as [Int64])
  func aFileOfTheFifteenthFormKeepsItsNumbers(_ isKept: Bool, _ count: Int64) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    let purged = try fixture.conversation("purged")
    try fixture.apply([message("p", at: 1)], purged)
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in try tx.settleConversations() }
    try fixture.alter("PRAGMA user_version = 15; COMMIT") { tx throws(StoreFailure) in
      try tx.connection.execute(
        """
        ALTER TABLE conversation ADD COLUMN counted_flags INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversation ADD COLUMN counted_arrived INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE purged_unread (
          cid INTEGER NOT NULL PRIMARY KEY,
          count INTEGER NOT NULL,
          time INTEGER NOT NULL,
          key BLOB NOT NULL
        ) STRICT;
        """)
      try tx.connection.run("INSERT INTO purged_unread VALUES (?, 4, 1, x'61')", purged)
      guard isKept, let record = try tx.conversation(cid: cid) else {
        return try tx.connection.run(
          """
          UPDATE conversation SET server_unread = ?, counted_time = 2, counted_id = x'62',
            counted_flags = 3, counted_arrived = 2, counted_lsn = 3
          WHERE cid = ?
          """, count, cid)
      }
      var row = ColumnPacker()
      row.bind(cid)
      row.bind(0 as Int64)
      record.bind(&row)
      for _ in 0..<3 { row.bind(nil as Int64?) }
      for number in [2, count, 2] { row.bind(number) }
      row.bind(bytes("b"))
      for number in [3, 2, 3, 0, 0] as [Int64] { row.bind(number) }
      try tx.connection.run("UPDATE meta SET kept_state = ?", row.packed)
    }
    try fixture.reopen()
    let counts = UnreadTests()
    #expect(fixture.store.schemaVersion == 17)
    #expect(
      try counts.unread(fixture, cid) == Unread(count == 7 ? 9 : 2, isExact: false))
    #expect(try counts.unread(fixture, purged) == Unread(5, isExact: false))
    try fixture.read { rx throws(StoreFailure) in
      let tally = try rx.tally(cid)
      #expect(tally.top == position(2, "b") && tally.countedLSN == 3 && tally.here == 2)
    }
    try counts.told(fixture, cid, 2, newest: position(2, "b"))
    try fixture.reopen()
    #expect(try counts.unread(fixture, cid) == Unread(2, isExact: true))
  }
}
