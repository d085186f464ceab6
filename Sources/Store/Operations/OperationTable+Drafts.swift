/// Drafts: what the user has written and not sent, one a conversation.
///
/// They are the user's own work: no clearing of the cache takes them, and a
/// conversation that is removed and joined again still has its own.
internal import Base

/// What the user has written and not sent.
package struct StoredDraft: Equatable, Sendable {
  /// As the host gave it.
  package var body: [UInt8]
  /// Id of the message that it answers; empty for none.
  package var replyTo: [UInt8]

  package init(body: [UInt8], replyTo: [UInt8] = []) {
    self.body = body
    self.replyTo = replyTo
  }
}

extension OperationTable {
  /// Keeps a draft in place of the one that is there; nil for none.
  package func setDraft(_ draft: StoredDraft?, _ cid: Int64) throws(StoreFailure) {
    if let draft {
      let replyTo: [UInt8]? = draft.replyTo.isEmpty ? nil : draft.replyTo
      try tx.connection.run(
        """
        INSERT INTO draft (cid, body, reply_to, lsn) VALUES (?, ?, ?, ?)
        ON CONFLICT (cid) DO UPDATE
        SET body = excluded.body, reply_to = excluded.reply_to, lsn = excluded.lsn
        WHERE body != excluded.body OR reply_to IS NOT excluded.reply_to
        """, cid, draft.body, replyTo, tx.lsn)
    } else {
      try tx.connection.run("DELETE FROM draft WHERE cid = ?", cid)
    }
    guard try tx.connection.changes > 0 else { return }
    tx.ownTable.note(draft: cid)
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
  }

  /// Takes the draft of one conversation into another; where that has one, too, the one
  /// that was written last stays.
  func moveDraft(from cid: Int64, to other: Int64) throws(StoreFailure) {
    try tx.connection.run(
      """
      DELETE FROM draft WHERE cid IN (?, ?)
        AND lsn < (SELECT max(lsn) FROM draft WHERE cid IN (?, ?))
      """, cid, other, cid, other)
    try tx.connection.run("UPDATE draft SET cid = ? WHERE cid = ?", other, cid)
    tx.ownTable.note(draft: cid)
    tx.ownTable.note(draft: other)
    if try tx.connection.changes > 0 {
      tx.feedTable.change(.conversations, in: other, numbers: nil)
    }
  }
}
