/// The reads of the index, by name, so that a test can ask SQLite how it would run each.
extension Queries {
  /// What changed, where it is in the index, what it was, and what it is.
  static let searchChanges: StaticString = """
    SELECT c.number, r.place, c.cid, c.flags, c.sender, c.payload, c.rest,
      m.cid, m.flags, m.sender, m.payload, m.rest, coalesce(m.sent_us, m.time)
    FROM search_change AS c LEFT JOIN search_row AS r ON r.number = c.number
      LEFT JOIN message AS m ON m.number = c.number
    ORDER BY c.number LIMIT ?
    """

  /// Messages below a number, and where they are in the index.
  static let searchBuild: StaticString = """
    SELECT m.number, r.place, m.cid, m.flags, m.sender, m.payload, m.rest,
      coalesce(m.sent_us, m.time)
    FROM message AS m INDEXED BY message_number
      LEFT JOIN search_row AS r ON r.number = m.number
    WHERE m.number < ? ORDER BY m.number DESC LIMIT ?
    """

  static let searchLast: StaticString =
    "SELECT place FROM search_row WHERE place >= ? AND place <= ? ORDER BY place DESC LIMIT 1"

  /// The last of the places that are taken one after the other from one on.
  static let searchFull: StaticString = """
    SELECT place FROM search_row AS r
    WHERE place >= ? AND NOT EXISTS (SELECT 1 FROM search_row WHERE place = r.place + 1)
    ORDER BY place LIMIT 1
    """

  /// Rows that have a place below another one, newest first.
  static let searchHits: StaticString = """
    SELECT rowid FROM search
    WHERE search MATCH CAST(? AS TEXT) AND rowid >= ? AND rowid <= ? ORDER BY rowid DESC
    """

  static let searchMessage: StaticString = """
    SELECT r.number, m.cid, m.time, m.key, coalesce(m.sent_us, m.time), m.flags
    FROM search_row AS r JOIN message AS m ON m.number = r.number WHERE r.place = ?
    """

  static let searchWords: StaticString = """
    SELECT term FROM search_word WHERE term >= CAST(? AS TEXT) AND term < CAST(? AS TEXT) LIMIT ?
    """

  /// Conversations whose messages are not one trusted range from the beginning on.
  static let searchPartial: StaticString = """
    SELECT (SELECT count(*) FROM conversation WHERE is_pending = 0) -
      (SELECT count(*) FROM (SELECT 1 FROM span WHERE kind = 0 GROUP BY cid
        HAVING count(*) = 1 AND min(low_time) = -9223372036854775808))
    """

  static let searchSealed: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_sealed
      WHERE flags & 64 != 0 LIMIT ?)
    """

  static let searchSealedIn: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_sealed
      WHERE cid = ? AND flags & 64 != 0 LIMIT ?)
    """

  static let searchState: StaticString =
    "SELECT first, below, merges FROM search_state WHERE one = 1"
}
