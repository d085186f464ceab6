/// Messages whose payload could not be opened yet: to be offered again when keys come.
///
/// A row that changed while the host opened its payload is left as it is. Who wrote a
/// message knows what it says, whoever has the key.
internal import Base
package import Timeline

package struct SealedRow: Equatable, Sendable {
  package var cid: Int64
  package var position: Position
  package var number: UInt64
  package var lsn: UInt64
  /// The payload as it came.
  package var raw: [UInt8]
}

extension WriteTransaction {
  /// Writes what the host opened: false where the row is not what it was.
  package func takeOpened(
    _ sealed: SealedRow, payload: [UInt8], flags: RowFlags, searchable: [UInt8]? = nil
  ) throws(StoreFailure) -> Bool {
    guard let stored = try storedMessage(sealed.position.id, in: sealed.cid),
      stored.lsn == sealed.lsn, stored.message.flags.contains(.sealed),
      stored.message.raw ?? [] == sealed.raw
    else { return false }
    var opened = stored
    opened.message.payload = payload
    opened.message.raw = nil
    opened.message.searchable = searchable
    opened.message.digest = opened.message.digest ?? digest(sealed.raw[...])
    opened.message.flags.replace([.sealed, .control], from: flags)
    opened.message.flags.formUnion(flags.intersection(.event))
    opened.lsn = stored.lsn < (try restoredLSN(sealed.cid)) ? stored.lsn : lsn
    try write(opened, over: stored, sealed.cid)
    try feedTable.noteChange(
      sealed.cid, number: stored.number, was: stored.message.state, now: opened.message.state)
    return true
  }

  /// Gives a copy that cannot be opened the text that this user wrote: of the send that
  /// it settles or settled, or of the edit that made it, which is known by its bytes.
  func reveal(
    _ copy: inout IncomingMessage, told: IncomingMessage, in cid: Int64,
    send: OperationRecord?
  ) throws(StoreFailure) {
    guard copy.isSealed else { return }
    let isEdited = copy.flags.contains(.edited)
    if let text = told.written { return copy.show(text) }
    if !isEdited, let send, !send.isRewritten, let text = send.plain { return copy.show(text) }
    let row = try connection.statement(Queries.textOf, cid, copy.id, copy.raw)
    while try row.step() {
      if row.int(0) == OperationVerb.editMessage.rawValue || !isEdited {
        return copy.show(row.bytes(1))
      }
    }
  }
}
