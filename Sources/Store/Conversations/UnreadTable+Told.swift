/// How far the server is known to have this user's read marker.
///
/// Apart from the marker that is shown, which moves before the server hears of it: what
/// is told next must not take the server's marker back.
internal import Base
package import Timeline

extension UnreadTable {
  /// The server has the marker at a message, or above it.
  package func noteTold(marker id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let position = try tx.row(id, cid)?.position else { return }
    if let known = try tx.toldMarker(cid), known >= position { return }
    try tx.connection.run(
      "UPDATE conversation SET told_time = ?, told_id = ? WHERE cid = ?", position.time,
      position.key, cid)
  }

  /// What the server had may be lost.
  func forgetTold(_ cid: Int64) throws(StoreFailure) {
    try tx.connection.run(
      "UPDATE conversation SET told_time = NULL, told_id = NULL WHERE cid = ?", cid)
  }
}

extension ReadTransaction {
  /// The furthest message that the server was told as the last one read.
  package func toldMarker(_ cid: Int64) throws(StoreFailure) -> Position? {
    let row = try connection.statement(
      "SELECT told_time, told_id FROM conversation WHERE cid = ?", cid)
    guard try row.step(), let time = row.optionalInt(0) else { return nil }
    return Position(time: time, key: row.bytes(1))
  }
}
