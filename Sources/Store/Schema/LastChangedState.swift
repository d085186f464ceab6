/// The conversation that changed last: its state lies in the row of `meta`, not yet in its own.
///
/// Each commit writes that row anyway, and a burst of updates is mostly of one conversation: it
/// saves them a page each, which is 8 % of an update. Rule protected: what is kept overrides the
/// conversation's own row, for all that a record, a tally and the count of rows hold. Who reads one
/// of these asks here as well; who writes their columns in SQL brings it to its row first
/// (`settleConversations`).

final class LastChangedState: Sendable {
  /// As of the last commit. Where it was read from the file it lacks the conversation's name.
  let record: ConversationRecord
  let tally: UnreadCounters
  /// Rows that were inserted less those removed since the conversation's own row was written.
  let rows: Int64
  /// As it is to be stored.
  let packed: [UInt8]

  /// Bytes at most, so that the row of `meta` stays on its page.
  private static let bytesMax = 640
  /// More rows than any conversation gains.
  private static let rowsMax: UInt64 = 1 << 48

  init(_ record: ConversationRecord, tally: UnreadCounters, rows: Int64) {
    self.record = record
    self.tally = tally
    self.rows = rows
    var row = ColumnPacker()
    row.bind(record.cid)
    row.bind(rows)
    record.bind(&row)
    tally.bind(&row)
    packed = row.packed
  }

  var isTooLong: Bool { packed.count > Self.bytesMax }

  /// As it is stored, which is empty for nothing.
  convenience init?(stored: [UInt8]) throws(StoreFailure) {
    if stored.isEmpty { return nil }
    guard let row = PackedColumns(stored),
      row.count == 2 + ConversationRecord.stateColumns + UnreadCounters.columns,
      row.int(1).magnitude <= Self.rowsMax
    else { throw .damaged }
    var record = ConversationRecord(cid: row.int(0), id: [])
    record.readState(row, from: 2)
    self.init(
      record, tally: UnreadCounters(row, from: 2 + ConversationRecord.stateColumns),
      rows: row.int(1))
  }

  /// What a conversation's own row says, with what is kept of it.
  func laid(over stored: ConversationRecord) -> ConversationRecord {
    guard stored.cid == record.cid else { return stored }
    return stored.with(stateOf: record)
  }

  /// Writes it to the conversation's own row.
  func write(_ connection: Connection) throws(StoreFailure) {
    try ConversationTable(connection).write(record, tally, rows: rows)
  }
}
