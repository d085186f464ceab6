/// How far the server is known to have this user's read marker.
///
/// Apart from the marker that is shown, which moves before the server hears of it: what
/// is told next must not take the server's marker back.
internal import Base
internal import Timeline

extension UnreadTable {
  /// The server has the marker at a message, or above it.
  package func noteTold(marker id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let position = try tx.row(id, cid)?.position else { return }
    if let known = try tx.unreadReader.toldMarker(cid), known >= position { return }
    try tx.conversationTable.note(toldMarker: position, of: cid)
  }

  /// What the server had may be lost.
  func forgetTold(_ cid: Int64) throws(StoreFailure) {
    try tx.conversationTable.note(toldMarker: nil, of: cid)
  }
}
