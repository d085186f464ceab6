/// Changes of an entry, by the register that they write: each is found by an index, however many
/// there are.
internal import Base
package import Timeline

extension LogRows {
  static let someChange: StaticString =
    "SELECT 1 FROM entry INDEXED BY entry_target WHERE cid = ? AND target = ? LIMIT 1"

  /// One search in the index for each kind.
  static let lastChange: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry WHERE cid = ?1 AND place = (SELECT max(place) FROM (
      SELECT max(place) AS place FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 0 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 1 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 2 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 3 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 4 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 5 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 6 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 7 AND place BETWEEN ?3 AND ?4
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = 8 AND place BETWEEN ?3 AND ?4))
    """

  /// Of one kind, or the later one of two.
  static let lastOfKinds: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry WHERE cid = ?1 AND place = (SELECT max(place) FROM (
      SELECT max(place) AS place FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = ?3 AND place BETWEEN ?5 AND ?6
      UNION ALL SELECT max(place) FROM entry INDEXED BY entry_target
        WHERE cid = ?1 AND target = ?2 AND kind = ?4 AND place BETWEEN ?5 AND ?6))
    """

  static let reactionsByUser: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry INDEXED BY entry_reaction
    WHERE cid = ? AND target = ? AND user = ? AND kind BETWEEN 3 AND 5 AND place BETWEEN ? AND ?
    ORDER BY place DESC LIMIT ?
    """

  static let reactions: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body,
      EXISTS (SELECT 1 FROM entry AS other INDEXED BY entry_target
        WHERE other.cid = entry.cid AND other.target = entry.id)
    FROM entry INDEXED BY entry_reaction
    WHERE cid = ? AND target = ? AND kind BETWEEN 3 AND 5
    ORDER BY user DESC, place DESC LIMIT ?
    """

  package func hasChanges(of target: [UInt8]) throws(StoreFailure) -> Bool {
    try tx.connection.number(Self.someChange, cid, target) != nil
  }

  package func lastChange(
    of target: [UInt8], _ slot: LogSlot?, from low: Place, through high: Place
  ) throws(StoreFailure) -> LogRow? {
    let connection = try tx.connection
    switch slot {
    case nil: return try one(connection.statement(Self.lastChange, cid, target, low, high))
    case .content: return try lastEdit(of: target, by: nil, from: low, through: high)
    case .pin:
      return try one(
        connection.statement(
          Self.lastOfKinds, cid, target, Self.pinKind, Self.unpinKind, low, high))
    case .deletion:
      return try one(
        connection.statement(
          Self.lastOfKinds, cid, target, Self.deletionKind, Self.deletionKind, low, high))
    case .moderation:
      return try one(
        connection.statement(
          Self.lastOfKinds, cid, target, Self.moderationKind, Self.moderationKind, low, high))
    case .reactions(let user):
      return try reactions(of: target, by: user, from: low, through: high, limit: 1).first
    }
  }

  package func reactions(
    of target: [UInt8], by user: [UInt8], from low: Place, through high: Place, limit: Int
  ) throws(StoreFailure) -> [LogRow] {
    try all(
      tx.connection.statement(
        Self.reactionsByUser, cid, target, user, low, high, Int64(clamping: limit)))
  }

  package func reactions(
    of target: [UInt8], limit: Int
  ) throws(StoreFailure) -> [LogReaction] {
    let row = try tx.connection.statement(
      Self.reactions, cid, target, Int64(clamping: limit))
    var found: [LogReaction] = []
    while try row.step() { found.append(LogReaction(try Self.row(row), isNamed: row.int(12) != 0)) }
    return found
  }
}
