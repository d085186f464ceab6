/// The reads that a screen waits for, by name, so that a test can ask SQLite how
/// it would run each: by a key, with no scan of a table and no sorting.
enum Queries {
  static let older: StaticString = """
    SELECT number, time, flags, lsn, id, sender, stamp, payload, reply_to, reactions, read_by, rest
    FROM message WHERE cid = ? AND (time, id) < (?, ?) AND flags & ? = 0
    ORDER BY time DESC, id DESC LIMIT ?
    """

  static let newer: StaticString = """
    SELECT number, time, flags, lsn, id, sender, stamp, payload, reply_to, reactions, read_by, rest
    FROM message WHERE cid = ? AND (time, id) >= (?, ?) AND flags & ? = 0
    ORDER BY time, id LIMIT ?
    """

  static let one: StaticString = """
    SELECT number, time, flags, lsn, id, sender, stamp, payload, reply_to, reactions, read_by, rest
    FROM message WHERE cid = ? AND id = ? AND flags & ? = 0
    """

  static let byNumber: StaticString =
    "SELECT time, id FROM message WHERE number = ? AND cid = ?"

  static let byID: StaticString =
    "SELECT time, id, number, lsn, flags FROM message WHERE cid = ? AND id = ?"

  static let oldest: StaticString =
    "SELECT time, id FROM message WHERE cid = ? ORDER BY time, id LIMIT 1"

  static let newest: StaticString =
    "SELECT time, id FROM message WHERE cid = ? ORDER BY time DESC, id DESC LIMIT 1"

  static let rangeUp: StaticString = """
    SELECT time, id, number, lsn, flags FROM message
    WHERE cid = ? AND (time, id) >= (?, ?) AND (time, id) < (?, ?)
    ORDER BY time, id LIMIT ?
    """

  static let rangeDown: StaticString = """
    SELECT time, id, number, lsn, flags FROM message
    WHERE cid = ? AND (time, id) >= (?, ?) AND (time, id) < (?, ?)
    ORDER BY time DESC, id DESC LIMIT ?
    """

  static let stored: StaticString = """
    SELECT time, number, flags, lsn, issued, marked, version, edited_us, sender, stamp,
      reply_to, reactions, read_by, payload, rest, raw
    FROM message WHERE cid = ? AND id = ?
    """

  static let tombstone: StaticString =
    "SELECT version FROM tombstone WHERE cid = ? AND id = ?"

  static let changes: StaticString = """
    SELECT change.seq, kind, change.cid, first, last, conversation.id
    FROM change JOIN conversation ON conversation.cid = change.cid
    WHERE change.seq > ? ORDER BY change.seq LIMIT ?
    """

  static let pendingReads: StaticString = """
    SELECT operation.cid, conversation.id, target
    FROM operation JOIN conversation ON conversation.cid = operation.cid
    WHERE verb = 1 ORDER BY operation.seq LIMIT ?
    """

  static let queuedReads: StaticString =
    "SELECT target FROM operation WHERE cid = ? AND verb = 1"

  static let pendingReadCount: StaticString = "SELECT count(*) FROM operation WHERE verb = 1"

  static let spans: StaticString = """
    SELECT low_time, low_id, high_time, high_id FROM span
    WHERE cid = ? ORDER BY low_time, low_id
    """

  static let quarantined: StaticString = """
    SELECT DISTINCT low_time, low_id, high_time, high_id FROM quarantine
    WHERE cid = ? ORDER BY low_time, low_id, high_time, high_id
    """

  static let count: StaticString = """
    SELECT count(*) FROM message
    WHERE cid = ? AND (time, id) >= (?, ?) AND (time, id) < (?, ?)
    """

  static let conversation: StaticString = """
    SELECT cid, id, fetch_us, fetch_text, deletions_us, deletions_text, lowest_since_us,
      total_count, restored_lsn, audited_total, audited_count
    FROM conversation WHERE id = ?
    """

  static let conversationByCID: StaticString = """
    SELECT cid, id, fetch_us, fetch_text, deletions_us, deletions_text, lowest_since_us,
      total_count, restored_lsn, audited_total, audited_count
    FROM conversation WHERE cid = ?
    """

  static let all: [StaticString] = [
    older, newer, one, byNumber, byID, oldest, newest, rangeUp, rangeDown, stored, tombstone,
    changes, pendingReads, queuedReads, pendingReadCount, spans, quarantined, count, conversation,
    conversationByCID,
  ]
}
