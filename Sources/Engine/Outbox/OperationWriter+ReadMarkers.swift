/// Which of several read markers counts.
///
/// Rule protected: what the server has as read never moves back.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension OperationWriter {
  /// Of markers that were never sent the furthest counts; it is returned where it is there
  /// already. Where one of them is not stored here they cannot be compared, and both are
  /// sent, in their order.
  func supersede(
    marker record: inout OperationRecord
  ) throws(StoreFailure) -> OperationRecord? {
    let place = try tx.row(record.target, record.cid)?.position
    for open in outbox.open
    where open.verb == .markLastRead && open.cid == record.cid && open.isUnsent {
      guard let older = try tx.operation(open.seq) else { continue }
      if older.target == record.target { return older }
      guard let place, let other = try tx.row(older.target, record.cid)?.position else {
        continue
      }
      if place < other { return older }
      try tx.operationTable.removeOperation(older.seq)
    }
    if let place, let told = try tx.unreadReader.serverMarker(record.cid), place <= told {
      record.state = .done
    }
    try tx.unreadTable.noteLastRead(record.target, in: record.cid)
    return nil
  }

  /// The server has the marker: waiting ones that are no further are done as well.
  func noteTold(
    _ record: OperationRecord
  ) throws(StoreFailure) {
    try tx.unreadTable.noteConfirmed(record.cid)
    try tx.unreadTable.noteServer(marker: record.target, in: record.cid)
    guard let told = try tx.unreadReader.serverMarker(record.cid) else { return }
    for open in outbox.open
    where open.verb == .markLastRead && open.cid == record.cid && open.seq != record.seq {
      guard var other = try tx.operation(open.seq), other.state == .queued,
        let place = try tx.row(other.target, record.cid)?.position, place <= told
      else { continue }
      other.state = .done
      try tx.operationTable.saveOperation(other)
    }
  }

  /// The server does not find the marker's message, though what stands below was read as well: the
  /// mark goes to the newest message there.
  func lower(_ record: inout OperationRecord) throws(StoreFailure) -> LoweredMark {
    let mark = try tx.unreadReader.readMarker(record.cid)
    let own = mark.flatMap { $0.id == record.target ? $0 : nil }
    guard var high = try tx.row(record.target, record.cid)?.position ?? own else {
      // What was deleted here stood no higher than the marker that has passed it since.
      return try tx.isTombstoned(record.target, in: record.cid) ? .nothing : .unknown
    }
    let told = try tx.unreadReader.serverMarker(record.cid) ?? .min
    for _ in 0..<Self.lookedAt {
      guard
        let row = try tx.rows(record.cid, from: told, to: high, limit: 1, newestFirst: true).first,
        row.position > told
      else { return .nothing }
      if row.flags.isDisjoint(with: Self.notMarked) {
        record.target = row.position.id
        return .lowered
      }
      high = row.position
    }
    return .unknown
  }

  /// So many rows are looked at for the next lower one, and a mark goes down after so many tries in
  /// a row.
  private static let lookedAt = 16
  static let loweredMax = 8

  /// What the server may not know as a message.
  private static let notMarked: RowFlags = .hidden.union([.deleted, .event, .imported])
}

/// Where a mark goes whose message the server does not find.
enum LoweredMark {
  case lowered
  /// The server has all that was read.
  case nothing
  /// It was not stored here, or too much of what stands below is no message.
  case unknown
}
