/// What an operation did, where the server confirms it without showing the result.
///
/// Rule protected: the result of a confirmed operation stays, on this device and after a restart,
/// until a newer copy of the server's replaces it.
internal import Base

extension OperationTable {
  /// Writes the payload of a confirmed edit into its row. Pages that were requested before this
  /// commit do not replace it. The server's version and edit time are not known, so those of the
  /// row stay, and any later copy outranks them.
  package func confirm(edit record: OperationRecord) throws(StoreFailure) {
    guard let payload = record.plain,
      let stored = try tx.storedMessage(record.target, in: record.cid),
      stored.message.flags.isDisjoint(with: .forgotten)
    else { return }
    var row = stored
    row.message.payload = payload
    row.message.raw = nil
    row.message.searchable = nil
    row.message.digest = record.sealed.map { tx.digest($0[...]) }
    row.message.flags.insert(.edited)
    row.message.flags.remove(.sealed)
    row.issued = Swift.max(stored.issued, tx.lsn)
    row.lsn = stored.lsn < (try tx.restoredLSN(record.cid)) ? stored.lsn : tx.lsn
    try tx.write(row, over: stored, record.cid)
    try tx.feedTable.noteChange(
      record.cid, number: row.number, was: stored.message.state, now: row.message.state,
      trace: .operation(record.seq))
  }

  /// Replaces the object of a conversation with what a confirmed operation made of it. Answers to
  /// earlier requests do not replace it.
  package func confirm(
    object body: [UInt8], of conversation: ConversationRecord
  ) throws(StoreFailure) {
    let row = try tx.connection.statement(Queries.listing, conversation.cid)
    guard try row.step() else { return }
    let madeUs = row.optionalInt(0)
    _ = consume row
    try tx.feedTable.putEntity(kind: 1, cid: conversation.cid, id: conversation.id, body: body)
    try tx.conversationTable.note(madeUs: madeUs, told: tx.lsn, of: conversation.cid)
  }
}
