/// The reads of the index, by name, so that a test can ask SQLite how it would run each.
extension Queries {
  /// What changed, when and what it was, and what it is.
  static let searchChanges: StaticString = """
    SELECT c.number, c.time, c.cid, c.flags, c.sender, c.payload, c.rest,
      m.cid, m.flags, m.sender, m.payload, m.rest, coalesce(m.sent_us, m.time)
    FROM search_change AS c LEFT JOIN message AS m ON m.number = c.number
    ORDER BY c.number LIMIT ?
    """

  /// Messages below a number.
  static let searchBuild: StaticString = """
    SELECT number, cid, flags, sender, payload, rest, coalesce(sent_us, time)
    FROM message INDEXED BY message_number WHERE number < ? ORDER BY number DESC LIMIT ?
    """

  static let searchTries: StaticString = "SELECT tries FROM search_crowd WHERE stretch = ?"

  static let searchCrowds: StaticString =
    "SELECT stretch, tries FROM search_crowd WHERE stretch >= ? AND stretch <= ?"

  static let searchNumber: StaticString = "SELECT number FROM search_row WHERE place = ?"

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

  /// What is to be sent, newest first: number, flags and content, and what a filter asks.
  static let searchSends: StaticString = """
    SELECT number, seq, cid, flags, plain, body FROM operation INDEXED BY operation_number
    WHERE number > 0 AND number != 0 AND state != 4 AND flags & 1480 = 0
    ORDER BY number DESC LIMIT ?
    """

  /// What is to be edited; of one message the last text counts.
  static let searchEdits: StaticString = """
    SELECT cid, target, plain FROM operation INDEXED BY operation_open
    WHERE verb >= 10 AND state != 4 AND seq > 0 AND verb = 20 AND state < 3
      AND plain IS NOT NULL
    ORDER BY seq DESC LIMIT ?
    """

  static let searchEdited: StaticString = """
    SELECT number, time, key, coalesce(sent_us, time), flags, sender, rest FROM message
    WHERE cid = ? AND id = ?
    """

  static let searchTime: StaticString =
    "SELECT coalesce(sent_us, time) FROM message INDEXED BY message_number WHERE number = ?"

  static let searchSend: StaticString = """
    SELECT 1 FROM operation INDEXED BY operation_number
    WHERE number = ? AND number != 0 AND state != 4
    """

  static let searchBooks: StaticString =
    "SELECT first, below, tries, merging, removed FROM search_state WHERE one = 1"
}
