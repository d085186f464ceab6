/// Deletions: tombstones, and rows that go.
///
/// A deleted id leaves a tombstone for good, whether the message was known or
/// not, so that a late or a repeated copy cannot bring it back.
internal import Base
package import Timeline

extension WriteTransaction {
  /// Takes in the server's deletion of a message. Returns the number of the row
  /// that went.
  ///
  /// A row whose version is newer than the deletion's was made after it, and
  /// stays.
  package func tombstone(
    _ id: [UInt8], in cid: Int64, version: Int64?
  ) throws(StoreFailure) -> UInt64? {
    let found = try place(id, cid)
    if let newer = found?.version, let version, newer > version { return nil }
    try connection.runNoted(
      """
      INSERT INTO tombstone (cid, id, version, lsn) VALUES (?, ?, ?, ?)
      ON CONFLICT (cid, id) DO UPDATE SET version = excluded.version, lsn = excluded.lsn
      WHERE excluded.version IS NOT NULL
        AND (tombstone.version IS NULL OR excluded.version > tombstone.version)
      """, cid, id, version, lsn)
    memo?.entry(cid).someDeleted = true
    guard let found else {
      if try connection.changes > 0 {
        try unreadTable.noteUnreadUnknown(cid)
        traceTable.note(.deleted, id, in: cid)
      }
      _ = try annotationTable.takeWaiting(id, in: cid)
      return nil
    }
    try delete(found, id: id, in: cid, as: .deleted)
    return found.number
  }

  package func isTombstoned(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Bool {
    try deletion(id, in: cid) != nil
  }

  /// A remembered deletion.
  struct Deletion: Equatable {
    var version: Int64?
    /// The commit that recorded it.
    var lsn: UInt64
  }

  func deletion(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Deletion? {
    guard try someDeleted(cid) else { return nil }
    let statement = try connection.statement(Queries.tombstone, cid, id)
    guard try statement.step() else { return nil }
    return Deletion(version: statement.optionalInt(0), lsn: statement.uint(1))
  }

  /// In most conversations nothing was deleted, and each message that comes asks.
  private func someDeleted(_ cid: Int64) throws(StoreFailure) -> Bool {
    let connection = try connection
    let entry = memo?.entry(cid)
    if let kept = entry?.someDeleted { return kept }
    let isSome = try connection.number(Queries.someTombstone, cid) != nil
    entry?.someDeleted = isSome
    return isSome
  }

  /// Drops the tombstones of a conversation whose server was restored, and what
  /// waits: both may be of the epoch that was lost.
  package func clearTombstones(_ cid: Int64) throws(StoreFailure) {
    try connection.run("DELETE FROM tombstone WHERE cid = ?", cid)
    try connection.run("DELETE FROM waiting WHERE cid = ?", cid)
    try unreadTable.doubt(cid)
    try unreadTable.clearServerMarker(cid)
  }

  /// Takes a row out without a tombstone: an answer omits it, and the server may send it again.
  package func remove(_ position: Position, _ cid: Int64) throws(StoreFailure) -> UInt64? {
    guard let found = try place(position.id, cid), found.position.time == position.time else {
      return nil
    }
    try delete(found, id: position.id, in: cid, as: .omitted)
    return found.number
  }

  private struct Place {
    var position: Position
    var number: UInt64
    var flags: RowFlags
    var version: Int64?
  }

  private func place(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> Place? {
    let row = try connection.statement(
      "SELECT time, number, flags, version, key FROM message WHERE cid = ? AND id = ?", cid, id)
    guard try row.step() else { return nil }
    return Place(
      position: Position(time: row.int(0), key: row.bytes(4)), number: row.uint(1),
      flags: RowFlags(rawValue: row.int(2)),
      version: row.optionalInt(3))
  }

  private func delete(
    _ place: Place, id: [UInt8], in cid: Int64, as effect: TraceEffect
  ) throws(StoreFailure) {
    try connection.runNoted(
      "DELETE FROM message WHERE cid = ? AND time = ? AND key = ?", cid, place.position.time,
      place.position.key)
    memo?.entry(cid).summary = nil
    try annotationTable.keepOffer(id, in: cid, place.flags)
    // There is nothing left to be marked.
    if try annotationTable.hasPendingMarks() {
      try ownTable.deleteMarks(
        """
        DELETE FROM operation WHERE cid = ? AND target = ? AND state != 4 AND verb < 10
        RETURNING seq
        """, cid, id)
    }
    noteRows(cid, change: -1)
    try feedTable.noteChange(
      cid, number: place.number, was: RowState(position: place.position, flags: place.flags),
      now: nil, trace: .effect(effect))
  }
}

/// Rows that are removed here and are still on the server. Marks that the server has confirmed are
/// not sent again when the message returns; pending ones stay pending.
extension WriteTransaction {
  /// Takes out one message, without a tombstone; its place, nil where it is not stored.
  package func drop(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Position? {
    guard let stored = try row(id, cid) else { return nil }
    try take([stored], of: cid)
    try quarantineTable.doubtQuarantine(
      cid, low: stored.position, high: stored.position.successor)
    return stored.position
  }

  /// Takes out all messages of a conversation, in pieces, so that a long one does not fill the
  /// memory.
  package func dropMessages(_ cid: Int64) throws(StoreFailure) {
    try traceTable.removingAll(of: cid) { () throws(StoreFailure) in
      while true {
        let rows = try rows(
          cid, from: .min, to: Self.beyond, limit: Limits.readRowsMax, newestFirst: false)
        if rows.isEmpty { break }
        try take(rows, of: cid)
      }
    }
    try quarantineTable.doubtQuarantine(cid, low: .min, high: Self.beyond)
  }

  private func take(_ rows: [StoredRow], of cid: Int64) throws(StoreFailure) {
    try unreadTable.keep(
      rows.map { RowState(position: $0.position, flags: $0.flags) }, of: cid)
    for row in rows {
      let id = row.position.id
      let told = try annotationTable.toldLists(id, in: cid)
      let state = RowState(position: row.position, flags: row.flags)
      try feedTable.noteChange(cid, number: row.number, was: state, now: nil, counts: false)
      try connection.run(
        "DELETE FROM message WHERE cid = ? AND time = ? AND key = ?", cid, row.position.time,
        row.position.key)
      // Else it would be found again for ever.
      guard try connection.changes > 0 else { throw .damaged }
      try annotationTable.keepOffer(id, in: cid, row.flags)
      if let told { try annotationTable.wait(id, in: cid) { $0.lists = told } }
    }
    noteRows(cid, change: -Int64(rows.count))
  }
}
