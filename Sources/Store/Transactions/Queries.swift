/// The reads that a screen waits for, by name, so that a test can ask SQLite how
/// it would run each: by a key, with no scan of a table and no sorting.
enum Queries {
  /// Who reads passes over hidden rows and ends by himself: in SQL that costs each row more.
  static let older: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message WHERE cid = ? AND (time, key) < (?, ?) ORDER BY time DESC, key DESC
    """

  static let latest: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message WHERE cid = ? ORDER BY time DESC, key DESC
    """

  static let newer: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message WHERE cid = ? AND (time, key) >= (?, ?) ORDER BY time, key
    """

  static let at: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message WHERE cid = ? AND time = ? AND key = ?
      AND flags & 1408 /* RowFlags.hidden */ = 0
    """

  /// The same of eight places.
  static let atEight: StaticString = """
    WITH place (c, t, k) AS (VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?),
      (?, ?, ?), (?, ?, ?), (?, ?, ?))
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id, cid
    FROM place CROSS JOIN message
    WHERE cid = c AND time = t AND key = k AND flags & 1408 /* RowFlags.hidden */ = 0
    """

  static let one: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message WHERE cid = ? AND id = ? AND flags & ? = 0
    """

  static let byNumber: StaticString =
    "SELECT time, key FROM message WHERE number = ? AND cid = ?"

  static let byID: StaticString =
    "SELECT time, key, number, lsn, flags, sent_us FROM message WHERE cid = ? AND id = ?"

  static let oldest: StaticString =
    "SELECT time, key FROM message WHERE cid = ? ORDER BY time, key LIMIT 1"

  static let newest: StaticString =
    "SELECT time, key FROM message WHERE cid = ? ORDER BY time DESC, key DESC LIMIT 1"

  static let rangeUp: StaticString = """
    SELECT time, key, number, lsn, flags, sent_us FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?)
    ORDER BY time, key LIMIT ?
    """

  static let rangeDown: StaticString = """
    SELECT time, key, number, lsn, flags, sent_us FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?)
    ORDER BY time DESC, key DESC LIMIT ?
    """

  static let rangeUntil: StaticString = """
    SELECT time, key, number, lsn, flags, sent_us FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?) AND lsn <= ?
    ORDER BY time DESC, key DESC LIMIT ?
    """

  static let stored: StaticString = """
    SELECT time, number, flags, lsn, issued, marked, version, edited_us, sender, stamp,
      reply_to, reactions, read_by, payload, rest, raw, sent_us, pin_issued, reactions_version,
      delivered_by, listened_by, digest, key
    FROM message WHERE cid = ? AND id = ?
    """

  static let oldestStamp: StaticString = """
    SELECT stamp FROM message WHERE cid = ? AND stamp != x'' ORDER BY time, key LIMIT 1
    """

  static let someTombstone: StaticString = "SELECT 1 FROM tombstone WHERE cid = ? LIMIT 1"

  static let tombstone: StaticString =
    "SELECT version, lsn FROM tombstone WHERE cid = ? AND id = ?"

  static let forgotten: StaticString = "SELECT 1 FROM forgotten WHERE cid = ? AND id = ?"

  static let changes: StaticString =
    "SELECT last, entries FROM change WHERE last > ? ORDER BY last"

  static let pendingMarks: StaticString = """
    SELECT operation.cid, conversation.id, target
    FROM operation INDEXED BY operation_mark
      JOIN conversation ON conversation.cid = operation.cid
    WHERE verb = ? AND verb < 10 ORDER BY operation.seq LIMIT ?
    """

  static let someMark: StaticString =
    "SELECT 1 FROM operation WHERE verb IN (1, 2, 3) AND verb < 10 LIMIT 1"

  static let pendingMarkCount: StaticString =
    "SELECT count(*) FROM operation WHERE verb IN (1, 2, 3) AND verb < 10"

  static let spans: StaticString = """
    SELECT low_time, low_id, high_time, high_id FROM span
    WHERE cid = ? AND kind = ? ORDER BY low_time, low_id
    """

  static let quarantined: StaticString = """
    SELECT DISTINCT low_time, low_id, high_time, high_id FROM quarantine
    WHERE cid = ? AND seen >= ? AND lsn > ?
    ORDER BY low_time, low_id, high_time, high_id
    """

  static let newestQuarantined: StaticString = """
    SELECT low_time, low_id, high_time, high_id FROM quarantine
    WHERE cid = ? ORDER BY low_time DESC, low_id DESC LIMIT ?
    """

  static let someQuarantined: StaticString = "SELECT 1 FROM quarantine WHERE cid = ? LIMIT 1"

  static let quarantinedItems: StaticString = """
    SELECT quarantine.seq, conversation.id, reason, low_time, high_time, size, bytes
    FROM quarantine LEFT JOIN conversation ON conversation.cid = quarantine.cid
    WHERE quarantine.seq > ? AND (? OR quarantine.cid = ?) ORDER BY quarantine.seq LIMIT ?
    """

  static let hidden: StaticString = """
    SELECT DISTINCT low_time, low_id, high_time, high_id FROM quarantine
    WHERE cid = ? AND (low_time, low_id) < (?, ?) AND (high_time, high_id) > (?, ?)
    ORDER BY low_time, low_id, high_time, high_id
    """

  static let count: StaticString = """
    SELECT count(*) FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?)
    """

  static let pinnedOlder: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message INDEXED BY message_pinned
    WHERE cid = ? AND (time, key) < (?, ?)
      AND flags & 8208 /* RowFlags.pinnedOrQueued */ != 0 AND flags & ? = 0
    ORDER BY time DESC, key DESC LIMIT ?
    """

  static let pinnedNewer: StaticString = """
    SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,
      rest, sent_us, delivered_by, listened_by, edited_us, client_id
    FROM message INDEXED BY message_pinned
    WHERE cid = ? AND (time, key) >= (?, ?)
      AND flags & 8208 /* RowFlags.pinnedOrQueued */ != 0 AND flags & ? = 0
    ORDER BY time, key LIMIT ?
    """

  static let keysDown: StaticString = """
    SELECT number, time, key, lsn, flags FROM message WHERE cid = ? AND (time, key) < (?, ?)
    ORDER BY time DESC, key DESC
    """

  static let keysUp: StaticString = """
    SELECT number, time, key, lsn, flags FROM message WHERE cid = ? AND (time, key) >= (?, ?)
    ORDER BY time, key
    """

  static let keysOfNumbers: StaticString = """
    SELECT number, time, key, lsn FROM message INDEXED BY message_number
    WHERE number >= ? AND number <= ? AND cid = ? AND flags & ? = 0
    ORDER BY number LIMIT ?
    """

  static let newestFlags: StaticString = """
    SELECT time, key, flags FROM message WHERE cid = ? AND flags & ? = 0
    ORDER BY time DESC, key DESC
    """

  static let timeFrom: StaticString = """
    SELECT time, sent_us FROM message WHERE cid = ? AND (time, key) >= (?, x'')
    ORDER BY time, key LIMIT 1
    """

  static let waiting: StaticString = """
    SELECT marked, reactions_version, reactions, pin_issued, pinned, read_by, delivered_by,
      listened_by
    FROM waiting WHERE cid = ? AND id = ?
    """

  static let offered: StaticString = "SELECT flags FROM offered WHERE cid = ? AND id = ?"

  static let events: StaticString = """
    SELECT event.seq, kind, action, silent, event.cid, conversation.id, entity, body, event.id
    FROM event LEFT JOIN conversation ON conversation.cid = event.cid
    WHERE event.seq > ? ORDER BY event.seq LIMIT ?
    """

  static let entities: StaticString = """
    SELECT kind, entity.cid, conversation.id, entity.id, body
    FROM entity LEFT JOIN conversation ON conversation.cid = entity.cid
    WHERE kind = ? AND entity.cid = ? AND entity.id > ? ORDER BY entity.id LIMIT ?
    """

  static let entitiesOfKind: StaticString = """
    SELECT kind, entity.cid, conversation.id, entity.id, body
    FROM entity LEFT JOIN conversation ON conversation.cid = entity.cid
    WHERE kind = ? AND (entity.cid, entity.id) > (?, ?) ORDER BY entity.cid, entity.id LIMIT ?
    """

  static let entity: StaticString = """
    SELECT kind, entity.cid, conversation.id, entity.id, body
    FROM entity LEFT JOIN conversation ON conversation.cid = entity.cid
    WHERE kind = ? AND entity.cid = ? AND entity.id = ?
    """

  static let aliasOf: StaticString = "SELECT name FROM alias WHERE cid = ? ORDER BY name LIMIT 1"

  static let seen: StaticString = "SELECT 1 FROM ref WHERE ref = ?"

  static let greatestRef: StaticString = "SELECT max(ref) FROM ref"

  static let pendingReplies: StaticString =
    "SELECT ref FROM ref INDEXED BY ref_owed WHERE owed = 1 AND seq > 0 ORDER BY seq LIMIT ?"

  static let pendingReplyCount: StaticString =
    "SELECT count(*) FROM ref INDEXED BY ref_owed WHERE owed = 1 AND seq > 0"

  static let lastEvent: StaticString = """
    SELECT max(last_event, coalesce((SELECT max(seq) FROM event), 0)) FROM meta WHERE one = 1
    """

  static let trimmedEvent: StaticString = "SELECT trimmed_event FROM meta WHERE one = 1"

  static let alias: StaticString = "SELECT cid FROM alias WHERE name = ?"

  static let all: [StaticString] =
    [
      older, latest, newer, at, one, byNumber, byID, oldest, newest, rangeUp, rangeDown, rangeUntil,
      stored, oldestStamp, someTombstone, tombstone, forgotten, changes, pendingMarks, someMark,
      pendingMarkCount, spans, quarantined, someQuarantined, hidden, quarantinedItems,
      count, conversation, pinnedOlder, pinnedNewer, keysDown, keysUp,
      keysOfNumbers, newestFlags, timeFrom, waiting, events, entity, entities,
      entitiesOfKind, aliasOf, seen,
      greatestRef, pendingReplies, pendingReplyCount, lastEvent, trimmedEvent, offered, alias,
    ] + operationQueries + listQueries + retentionQueries
}
