/// Which of several read markers counts.
///
/// Rule protected: what the server has as read never moves back.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension OperationWriter {
  /// Of markers that were never told the furthest counts; it comes back where it is there
  /// already. Where one of them is not stored here they cannot be compared, and both are
  /// told, in their order.
  func supersede(
    marker record: inout OperationRecord
  ) throws(StoreFailure) -> OperationRecord? {
    let place = try tx.row(record.target, record.cid)?.position
    for open in outbox.open
    where open.verb == .markLastRead && open.cid == record.cid && open.isUntold {
      guard let older = try tx.operation(open.seq) else { continue }
      if older.target == record.target { return older }
      guard let place, let other = try tx.row(older.target, record.cid)?.position else {
        continue
      }
      if place < other { return older }
      try tx.operationTable.removeOperation(older.seq)
    }
    if let place, let told = try tx.unreadReader.toldMarker(record.cid), place <= told {
      record.state = .done
    }
    try tx.unreadTable.noteLastRead(record.target, in: record.cid)
    return nil
  }

  /// The server has the marker: what waits to be told and is no further is done as well.
  func noteTold(
    _ record: OperationRecord
  ) throws(StoreFailure) {
    try tx.unreadTable.noteConfirmed(record.cid)
    try tx.unreadTable.noteTold(marker: record.target, in: record.cid)
    guard let told = try tx.unreadReader.toldMarker(record.cid) else { return }
    for open in outbox.open
    where open.verb == .markLastRead && open.cid == record.cid && open.seq != record.seq {
      guard var other = try tx.operation(open.seq), other.state == .queued,
        let place = try tx.row(other.target, record.cid)?.position, place <= told
      else { continue }
      other.state = .done
      try tx.operationTable.saveOperation(other)
    }
  }

  /// The marker's message is no more, though what stands below it was read as well: the mark goes
  /// to the newest message there. False where nothing is left to be told.
  func lower(_ record: inout OperationRecord) throws(StoreFailure) -> Bool {
    let mark = try tx.unreadReader.readMarker(record.cid)
    guard var high = try tx.row(record.target, record.cid)?.position ?? mark?.successor
    else { return false }
    let told = try tx.unreadReader.toldMarker(record.cid) ?? .min
    for _ in 0..<Self.lookedAt {
      guard
        let row = try tx.rows(record.cid, from: told, to: high, limit: 1, newestFirst: true).first,
        row.position > told
      else { return false }
      let isGone = !row.flags.isDisjoint(with: .hidden.union(.deleted))
      if !isGone, row.position.id != record.target {
        record.target = row.position.id
        return true
      }
      high = row.position
    }
    return false
  }

  /// So many rows are looked at for the next lower one, and so many are told one after another.
  private static let lookedAt = 16
  static let loweredMax = 4
}
