/// From two counts of unread messages to one number, for files of forms before 16.
///
/// What the server counted and what came since are one number now, which is not exact until it is
/// told again. What was purged of conversations without a count goes into it.
internal import Base

struct UnreadMigration {
  let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// What lay in the row of `meta` goes to the conversation's own.
  func settleKept() throws(StoreFailure) {
    let kept = try connection.statement("SELECT kept_state FROM meta WHERE one = 1")
    guard try kept.step() else { throw .damaged }
    let stored = kept.bytes(0)
    if stored.isEmpty { return }
    guard let row = PackedColumns(stored), row.count == 27 else { throw .damaged }
    try connection.runNoted(
      """
      UPDATE conversation SET message_count = message_count + ?, fetch_us = ?, fetch_text = ?,
        deletions_us = ?, deletions_text = ?, marks_us = ?, marks_text = ?, top_time = ?,
        top_id = ?, lowest_since_us = ?, total_count = ?, restored_lsn = ?, audited_total = ?,
        audited_count = ?, read_time = ?, read_id = ?, read_named = ?, unread_count = ?,
        server_unread = ?, counted_time = ?, counted_id = ?, counted_flags = ?,
        counted_arrived = ?, counted_lsn = ?, unread_fewer = ?, unread_more = ?
      WHERE cid = ?
      """
    ) { parameters in
      for column in 1..<27 as Range<Int32> {
        if let bytes = row.optionalBytes(column) {
          parameters.bind(bytes)
        } else {
          parameters.bind(row.optionalInt(column))
        }
      }
      parameters.bind(row.int(0))
    }
    try connection.run("UPDATE meta SET kept_state = x'' WHERE one = 1")
  }

  func run() throws(StoreFailure) {
    // What is no count was none before, and two of the greatest are no number.
    try connection.execute(
      """
      UPDATE conversation SET
        server_unread = CASE
          WHEN server_unread BETWEEN 0 AND 1099511627776
            AND counted_arrived BETWEEN 0 AND 1099511627776
          THEN min(server_unread + counted_arrived, 1099511627776) END,
        counted_time = iif(counted_flags & 1, counted_time, NULL),
        counted_id = iif(counted_flags & 1, counted_id, NULL),
        counted_lsn = iif(counted_lsn BETWEEN 0 AND 1 << 60, counted_lsn << 1, 0);
      """)
    if connection.hasTable("purged_unread") {
      try connection.execute(
        """
        UPDATE conversation SET counted_time = NULL, counted_id = NULL, counted_lsn = 0,
          server_unread = min(unread_count + purged.count, 1099511627776)
        FROM (SELECT cid, count FROM purged_unread) AS purged
        WHERE purged.cid = conversation.cid AND server_unread IS NULL
          AND unread_count BETWEEN 0 AND 1099511627776
          AND purged.count BETWEEN 0 AND 1099511627776;
        DROP TABLE purged_unread;
        """)
    }
    try connection.execute(
      """
      ALTER TABLE conversation DROP COLUMN counted_flags;
      ALTER TABLE conversation DROP COLUMN counted_arrived;
      PRAGMA user_version = 16;
      """)
  }
}
