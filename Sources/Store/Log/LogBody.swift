/// What an entry of a log says, in the bytes that the log keeps as its content: a message as it
/// came, or the payload of an edit.
///
/// The log compares contents as bytes and reads none of them. What a copy only says of how it came
/// is not in them.
internal import Base
internal import Timeline

package enum LogBody {
  private static let columns: Int32 = 15

  /// What is to be kept of a message, or of an edit: of that one its payload, with what belongs to
  /// it, and when it was made as the time of the edit.
  package static func packed(_ message: IncomingMessage) -> [UInt8] {
    var row = ColumnPacker()
    row.bind(message.sender)
    row.bind(message.timeUs)
    row.bind(message.stamp)
    row.bind(message.payload)
    row.bind(message.flags.intersection(said).rawValue)
    row.bind(message.version)
    row.bind(message.replyTo)
    row.bind(message.readBy)
    row.bind(message.rest)
    row.bind(message.raw)
    row.bind(message.searchable)
    row.bind(message.digest)
    row.bind(message.deliveredBy)
    row.bind(message.listenedBy)
    row.bind(message.editedUs)
    return row.packed
  }

  /// What a server says of a message in its own entry. Deletions, pins and reactions are entries.
  private static let said = RowFlags(
    rawValue: RowFlags.mine.rawValue | RowFlags.readByMe.rawValue | RowFlags.event.rawValue
      | RowFlags.sealed.rawValue | RowFlags.control.rawValue | RowFlags.listenedByMe.rawValue
      | RowFlags.moderated.rawValue)

  /// The message of an entry; nil for one that says nothing.
  static func message(
    _ packed: [UInt8], id: [UInt8]
  ) throws(StoreFailure) -> IncomingMessage? {
    if packed.isEmpty { return nil }
    guard let row = PackedColumns(packed), row.count == columns else { throw .damaged }
    var message = IncomingMessage(
      id: id, sender: row.bytes(0), timeUs: row.int(1), stamp: row.bytes(2), payload: row.bytes(3),
      flags: RowFlags(rawValue: row.int(4)).intersection(said), version: row.optionalInt(5),
      replyTo: row.optionalBytes(6), readBy: row.optionalBytes(7), rest: row.bytes(8),
      raw: row.optionalBytes(9), deliveredBy: row.optionalBytes(12),
      listenedBy: row.optionalBytes(13))
    message.searchable = row.optionalBytes(10)
    message.digest = row.optionalInt(11)
    message.editedUs = row.optionalInt(14)
    return message
  }
}

extension IncomingMessage {
  /// Shows what an edit says.
  mutating func show(edit: IncomingMessage) {
    payload = edit.payload
    raw = edit.raw
    searchable = edit.searchable
    digest = edit.digest
    flags.replace([.sealed, .control], from: edit.flags)
    editedUs = edit.editedUs
  }

  /// Whether it shows what an edit says. One that was edited later shows another edit.
  func isShowing(edit: IncomingMessage) -> Bool {
    if let shown = editedUs, let made = edit.editedUs, shown > made { return false }
    return payload == edit.payload
      && flags.symmetricDifference(edit.flags).isDisjoint(with: [.sealed, .control])
  }

  /// Shows nothing any more.
  mutating func showDeleted() {
    payload = Array("null".utf8)
    raw = nil
    searchable = nil
    digest = nil
    editedUs = nil
    flags.remove(.sealed)
    flags.insert(.deleted)
  }
}
