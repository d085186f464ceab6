/// The reads of the index, by name, so that a test can ask SQLite how it would run each.
extension Queries {
  /// What changed, when and what it was, and what it is.
  static let searchChanges: StaticString = """
    SELECT c.number, c.time, c.cid, c.flags, c.sender, c.payload, c.rest, c.raw,
      m.cid, m.flags, m.sender, m.payload, m.rest, m.raw, coalesce(m.sent_us, m.time)
    FROM search_change AS c LEFT JOIN message AS m ON m.number = c.number
    ORDER BY c.number LIMIT ?
    """

  /// Whether anything changed that was indexed.
  static let searchChanged: StaticString =
    "SELECT 1 FROM search_change WHERE time IS NOT NULL LIMIT 1"

  static let searchWaitingCount: StaticString =
    "SELECT count(*) FROM (SELECT 1 FROM search_change LIMIT ?)"

  /// How many wait, up to a bound, bytes that are to be read for them, whether one changed that was
  /// indexed, and the bytes of the first one.
  static let searchQueue: StaticString = """
    SELECT count(*), total(bytes), total(time IS NOT NULL),
      (SELECT bytes FROM search_change ORDER BY number LIMIT 1)
    FROM (SELECT bytes, time FROM search_change LIMIT ?)
    """

  /// Messages that wait and were not looked through: those with lesser numbers, up to a bound.
  static let searchWaitingBelow: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM search_change AS c
      JOIN message AS m INDEXED BY message_number ON m.number = c.number
      WHERE c.number < ? LIMIT ?)
    """

  static let searchIsWaiting: StaticString = "SELECT 1 FROM search_change WHERE number = ?"

  /// Messages that wait to be indexed, or to be indexed as they are now; the newest first.
  static let searchWaiting: StaticString = """
    SELECT m.number, m.cid, m.flags, m.sender, m.payload, m.rest, m.raw,
      coalesce(m.sent_us, m.time), m.time, m.key
    FROM search_change AS c
      CROSS JOIN message AS m INDEXED BY message_number ON m.number = c.number
    ORDER BY c.number DESC
    """

  /// Messages below a number.
  static let searchBuild: StaticString = """
    SELECT number, cid, flags, sender, payload, rest, raw, coalesce(sent_us, time)
    FROM message INDEXED BY message_number WHERE number < ? ORDER BY number DESC LIMIT ?
    """

  static let searchTries: StaticString = "SELECT tries FROM search_crowd WHERE stretch = ?"

  static let searchCrowds: StaticString =
    "SELECT stretch, tries FROM search_crowd WHERE stretch >= ? AND stretch <= ?"

  static let searchNumber: StaticString = "SELECT number FROM search_row WHERE place = ?"

  /// Rows that have a place below another one, newest first, with all that a page has of them: one
  /// statement, for each that is begun anew costs as much as a row.
  static let searchHits: StaticString = """
    SELECT m.number, m.time, m.flags, m.lsn, m.key, m.sender, m.stamp, m.payload, m.reply_to,
      m.reactions, m.read_by, m.rest, m.sent_us, m.delivered_by, m.listened_by, m.edited_us,
      m.client_id, search.rowid, m.cid, m.raw
    FROM search CROSS JOIN search_row AS r ON r.place = search.rowid
      CROSS JOIN message AS m INDEXED BY message_number ON m.number = r.number
    WHERE search MATCH CAST(? AS TEXT) AND search.rowid >= ? AND search.rowid <= ?
    ORDER BY search.rowid DESC
    """

  /// The same with what ranks them: place, number, size, and counts of the pieces.
  static let searchRanked: StaticString = """
    SELECT search.rowid, r.number, r.size, tideline_counts(search, ?, ?)
    FROM search CROSS JOIN search_row AS r ON r.place = search.rowid
    WHERE search MATCH CAST(? AS TEXT) AND search.rowid >= ? AND search.rowid <= ?
    ORDER BY search.rowid DESC LIMIT ?
    """

  /// How many rows have something, up to a bound.
  static let searchCount: StaticString = """
    SELECT count(*) FROM
      (SELECT 1 FROM search WHERE search MATCH CAST(? AS TEXT) LIMIT ?)
    """

  static let searchNumbered: StaticString = """
    SELECT cid, time, key, coalesce(sent_us, time), raw, flags
    FROM message INDEXED BY message_number WHERE number = ?
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

  /// The same, and those in which something is sealed, in the order of their numbers.
  static let searchUnsearched: StaticString = """
    SELECT cid FROM conversation AS c WHERE cid > ? AND is_pending = 0 AND (
      NOT EXISTS (SELECT 1 FROM span WHERE cid = c.cid AND kind = 0 GROUP BY cid
        HAVING count(*) = 1 AND min(low_time) = -9223372036854775808)
      OR EXISTS (SELECT 1 FROM message INDEXED BY message_sealed
        WHERE cid = c.cid AND flags & 64 /* RowFlags.sealed */ != 0))
    ORDER BY cid LIMIT ?
    """

  static let searchSealed: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_sealed
      WHERE flags & 64 /* RowFlags.sealed */ != 0 LIMIT ?)
    """

  static let searchSealedIn: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_sealed
      WHERE cid = ? AND flags & 64 /* RowFlags.sealed */ != 0 LIMIT ?)
    """

  /// What is to be sent, newest first: number, flags and content, and what a filter asks.
  static let searchSends: StaticString = """
    SELECT number, seq, cid, flags, plain, body FROM operation INDEXED BY operation_number
    WHERE number > 0 AND number != 0 AND state != 4
      AND flags & 1480 /* SearchableRow.notFound */ = 0
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
    SELECT seq, cid FROM operation INDEXED BY operation_number
    WHERE number = ? AND number != 0 AND state != 4
    """

  /// How FTS5 has its segments.
  static let searchStructure: StaticString = "SELECT block FROM search_data WHERE id = 10"

  static let searchRowCount: StaticString = "SELECT count(*) FROM search_row"

  static let searchLastNumber: StaticString = "SELECT max(number) FROM message"

  /// Each token with its row and its place in it.
  static let searchTokens: StaticString =
    "SELECT term, doc, offset FROM search_token WHERE term > CAST(? AS TEXT)"

  /// Rows that have one token behind a place, each with what its places in the row sum up to.
  static let searchTokenRows: StaticString = """
    SELECT search.rowid, tideline_sum(search, ?) FROM search
    WHERE search MATCH CAST(? AS TEXT) AND search.rowid > ? ORDER BY search.rowid LIMIT ?
    """

  static let searchBooks: StaticString =
    "SELECT first, below, tries, merging, removed FROM search_state WHERE one = 1"
}
