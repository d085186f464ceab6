/// The row of a conversation, and the other names of it: every statement that writes one.
///
/// Rule protected: a row's state is what a record and a tally hold, and lies in one order of
/// columns, which `Queries.conversation` reads and `write` writes. That of the conversation that
/// changed last may lie in the row of `meta` (`LastChangedState`): who changes these columns
/// otherwise than by `write` brings it to its own row first (`settleConversations`).
internal import Base
internal import Timeline

struct ConversationTable {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  // MARK: Rows

  /// Makes a row; one that this user makes is pending until the server knows it.
  func insert(_ id: [UInt8], isPending: Bool) throws(StoreFailure) {
    try connection.run(
      "INSERT INTO conversation (id, is_pending) VALUES (?, ?)", id, isPending ? 1 : 0)
    // What waits in a conversation that is lost would be sent to one that got its number.
    let isTaken = try connection.number(
      """
      SELECT EXISTS (SELECT 1 FROM operation WHERE cid = last_insert_rowid() AND state != 4)
        OR EXISTS (SELECT 1 FROM draft WHERE cid = last_insert_rowid())
        OR EXISTS (SELECT 1 FROM message WHERE cid = last_insert_rowid())
      """)
    if isTaken == 0 { return }
    try connection.run(
      """
      UPDATE conversation SET cid = 1 + max((SELECT max(cid) FROM conversation),
        (SELECT coalesce(max(cid), 0) FROM operation),
        (SELECT coalesce(max(cid), 0) FROM draft),
        (SELECT coalesce(max(cid), 0) FROM message))
      WHERE cid = last_insert_rowid()
      """)
  }

  /// The row of one that the server never knew, with messages that were imported into it.
  func remove(_ cid: Int64) throws(StoreFailure) {
    try connection.run("DELETE FROM message WHERE cid = ?", cid)
    try connection.run("DELETE FROM conversation WHERE cid = ?", cid)
  }

  /// The state of a row, and how many rows of messages it has more.
  func write(
    _ record: ConversationRecord, _ tally: UnreadCounters, rows: Int64
  ) throws(StoreFailure) {
    try connection.runNoted(
      """
      UPDATE conversation SET message_count = message_count + ?, fetch_us = ?, fetch_text = ?,
        deletions_us = ?, deletions_text = ?, marks_us = ?, marks_text = ?, top_time = ?,
        top_id = ?, lowest_since_us = ?, total_count = ?, restored_lsn = ?, audited_total = ?,
        audited_count = ?, read_time = ?, read_id = ?, read_named = ?, unread_count = ?,
        server_unread = ?, counted_time = ?, counted_id = ?, counted_lsn = ?, unread_fewer = ?,
        unread_more = ?
      WHERE cid = ?
      """
    ) { row in
      row.bind(rows)
      record.bind(&row)
      tally.bind(&row)
      row.bind(record.cid)
    }
  }

  /// The count alone.
  func add(rows: Int64, to cid: Int64) throws(StoreFailure) {
    try connection.runNoted(
      "UPDATE conversation SET message_count = message_count + ? WHERE cid = ?", rows, cid)
  }

  /// All that was known of it is forgotten but its names, its epoch and how much of it was told;
  /// its tally is the caller's to write.
  func clear(_ cid: Int64, deletedLSN: UInt64) throws(StoreFailure) {
    try connection.run(
      """
      UPDATE conversation SET fetch_us = NULL, fetch_text = NULL, deletions_us = NULL,
        deletions_text = NULL, marks_us = NULL, marks_text = NULL, top_time = NULL, top_id = NULL,
        lowest_since_us = NULL,
        total_count = NULL, audited_total = NULL, audited_count = NULL, made_us = NULL,
        deleted_lsn = ?
      WHERE cid = ?
      """, deletedLSN, cid)
  }

  // MARK: What it is called, and whether the server knows it

  /// It is made by this user, under the name that its row has.
  func begin(_ cid: Int64) throws(StoreFailure) {
    try connection.run("UPDATE conversation SET is_pending = 1 WHERE cid = ?", cid)
  }

  /// The server knows it as `id`.
  func confirm(_ cid: Int64, as id: [UInt8]) throws(StoreFailure) {
    try connection.run("UPDATE conversation SET id = ?, is_pending = 0 WHERE cid = ?", id, cid)
  }

  /// It is not made after all.
  func takeBack(_ cid: Int64, deletedLSN: UInt64) throws(StoreFailure) {
    try connection.run(
      "UPDATE conversation SET is_pending = 0, deleted_lsn = ? WHERE cid = ?", deletedLSN, cid)
  }

  /// It is found by another name, too.
  func add(name: [UInt8], of cid: Int64) throws(StoreFailure) {
    try connection.run("INSERT OR REPLACE INTO alias (name, cid) VALUES (?, ?)", name, cid)
  }

  func moveNames(from cid: Int64, to other: Int64) throws(StoreFailure) {
    try connection.run("UPDATE alias SET cid = ? WHERE cid = ?", other, cid)
  }

  // MARK: What was sent to the server, and received

  /// When it was made or changed, and the commit that received that.
  func note(madeUs: Int64?, told: UInt64, of cid: Int64) throws(StoreFailure) {
    try connection.run(
      """
      UPDATE conversation SET made_us = ?, told_lsn = ?
      WHERE cid = ? AND (made_us IS NOT ? OR told_lsn != ?)
      """, madeUs, told, cid, madeUs, told)
  }

  /// The server has this user's read marker at a message; nil where that may be lost.
  func note(serverMarker place: Position?, of cid: Int64) throws(StoreFailure) {
    try connection.run(
      "UPDATE conversation SET told_time = ?, told_id = ? WHERE cid = ?", place?.time, place?.key,
      cid)
  }
}

extension Queries {
  /// Rows of conversations: the record, and behind that what is counted of it. That of a name, and
  /// where it is NULL or nobody's, those of all numbers from ?2 to ?3.
  static let conversation: StaticString = """
    SELECT cid, id, fetch_us, fetch_text, deletions_us, deletions_text, marks_us, marks_text,
      top_time, top_id, lowest_since_us, total_count, restored_lsn, audited_total, audited_count,
      is_pending, deleted_lsn, read_time, read_id, read_named, unread_count, server_unread,
      counted_time, counted_id, counted_lsn, unread_fewer, unread_more, message_count
    FROM conversation WHERE cid >= coalesce((SELECT cid FROM conversation WHERE id = ?1), ?2)
      AND cid <= coalesce((SELECT cid FROM conversation WHERE id = ?1), ?3)
    ORDER BY cid
    """
}
