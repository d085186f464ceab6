/// The conversation that changed last: its state lies in the row of `meta`, not yet in its own.
///
/// Each commit writes that row anyway, and a burst of updates is mostly of one conversation: it
/// saves them a page each. Rule protected: what is kept overrides the conversation's own row, for
/// all that a record, a tally and the count of rows hold. Who reads one of these asks here as
/// well; who writes their columns in SQL brings it to its row first (`settleConversations`).

final class KeptState: Sendable {
  /// As of the last commit. Where it was read from the file it lacks the conversation's name.
  let record: ConversationRecord
  let tally: Tally
  /// Rows that were inserted less those removed since the conversation's own row was written.
  let rows: Int64

  init(_ record: ConversationRecord, _ tally: Tally, rows: Int64) {
    self.record = record
    self.tally = tally
    self.rows = rows
  }

  /// Out of the columns of `meta`; nil where nothing is kept.
  convenience init?(_ row: borrowing Statement, from column: Int32) {
    guard row.int(column) != 0 else { return nil }
    var record = ConversationRecord(cid: row.int(column), id: [])
    record.readState(row, from: column + 2)
    self.init(
      record, Tally(row, from: column + 2 + ConversationRecord.stateColumns),
      rows: row.int(column + 1))
  }

  /// What a conversation's own row says, with what is kept of it.
  func laid(over stored: ConversationRecord) -> ConversationRecord {
    guard stored.cid == record.cid else { return stored }
    return stored.with(stateOf: record)
  }

  /// In a file whose cache is to be made anew, with no transaction of the store.
  static func settle(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      UPDATE conversation SET message_count = message_count + kept_rows,
        fetch_us = kept_fetch_us, fetch_text = kept_fetch_text,
        deletions_us = kept_deletions_us, deletions_text = kept_deletions_text,
        marks_us = kept_marks_us, marks_text = kept_marks_text, top_time = kept_top_time,
        top_id = kept_top_id, lowest_since_us = kept_lowest_since_us,
        total_count = kept_total_count, restored_lsn = kept_restored_lsn,
        audited_total = kept_audited_total, audited_count = kept_audited_count,
        read_time = kept_read_time, read_id = kept_read_id, read_named = kept_read_named,
        unread_count = kept_unread_count, server_unread = kept_server_unread,
        counted_time = kept_counted_time, counted_id = kept_counted_id,
        counted_flags = kept_counted_flags, counted_arrived = kept_counted_arrived,
        counted_lsn = kept_counted_lsn, unread_fewer = kept_unread_fewer,
        unread_more = kept_unread_more
      FROM meta WHERE one = 1 AND cid = kept_cid;
      UPDATE meta SET kept_cid = 0 WHERE one = 1;
      """)
  }
}

extension ReadTransaction {
  /// What is kept, in the state that is seen.
  func storedKept() throws(StoreFailure) -> KeptState? {
    let row = try connection.statement(
      """
      SELECT
        kept_cid, kept_rows, kept_fetch_us, kept_fetch_text, kept_deletions_us,
        kept_deletions_text, kept_marks_us, kept_marks_text, kept_top_time, kept_top_id,
        kept_lowest_since_us, kept_total_count, kept_restored_lsn, kept_audited_total,
        kept_audited_count, kept_read_time, kept_read_id, kept_read_named, kept_unread_count,
        kept_server_unread, kept_counted_time, kept_counted_id, kept_counted_flags,
        kept_counted_arrived, kept_counted_lsn, kept_unread_fewer, kept_unread_more
      FROM meta WHERE one = 1
      """)
    guard try row.step() else { throw .damaged }
    return KeptState(row, from: 0)
  }
}

extension WriteTransaction {
  /// Takes a change of a conversation into what is kept. False where it is of another one and does
  /// not take its place: only one that changes alone does.
  func keep(
    _ cid: Int64, _ change: ConversationChange, isAlone: Bool
  ) throws(StoreFailure) -> Bool {
    if let kept = counters.kept, kept.record.cid == cid {
      counters.kept = KeptState(
        change.record ?? kept.record, change.tally ?? kept.tally, rows: kept.rows &+ change.count)
    } else {
      guard isAlone, let record = try conversation(cid: cid) else { return false }
      let tally = try tally(cid)
      try settleKept()
      counters.kept = KeptState(record, tally, rows: change.count)
    }
    if let tally = change.tally { memo?.entry(cid).tally = tally }
    return true
  }

  /// Brings what is kept to the conversation's own row.
  func settleKept() throws(StoreFailure) {
    guard let kept = counters.kept else { return }
    counters.kept = nil
    try write(kept.record, kept.tally, kept.rows)
  }

  /// All that was changed of conversations stands in their rows, for who changes those in SQL.
  func settleConversations() throws(StoreFailure) {
    try flushConversations()
    try settleKept()
  }
}
