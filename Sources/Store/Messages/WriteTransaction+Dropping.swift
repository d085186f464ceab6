/// Rows that go from here and are still on the server.
///
/// Rule protected: what the server was told of a message is not told again when it comes anew, and
/// what it is owed stays owed.
internal import Base
package import Timeline

extension WriteTransaction {
  /// Takes out one message, without a tombstone; its place, nil where it is not stored.
  package func drop(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Position? {
    guard let stored = try row(id, cid) else { return nil }
    try take([stored], of: cid)
    return stored.position
  }

  /// Takes out all messages of a conversation, in pieces, so that a long one does not fill the
  /// memory.
  package func dropMessages(_ cid: Int64) throws(StoreFailure) {
    while true {
      let rows = try rows(
        cid, from: .min, to: Self.beyond, limit: Limits.readRowsMax, newestFirst: false)
      if rows.isEmpty { return }
      try take(rows, of: cid)
    }
  }

  private func take(_ rows: [StoredRow], of cid: Int64) throws(StoreFailure) {
    for row in rows {
      let id = row.position.id
      let told = try toldLists(id, in: cid)
      try noteChange(
        cid, number: row.number, was: RowState(position: row.position, flags: row.flags), now: nil)
      try connection.run(
        "DELETE FROM message WHERE cid = ? AND time = ? AND key = ?", cid, row.position.time,
        row.position.key)
      try keepOffer(id, in: cid, row.flags)
      if let told { try wait(id, in: cid) { $0.lists = told } }
    }
    noteRows(cid, change: -Int64(rows.count))
    try noteUnreadUnknown(cid)
  }
}
