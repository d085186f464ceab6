/// The reads of conversation lists, drafts and unread counts, by name like the others.
internal import Base

extension Queries {
  static let conversationsAfter: StaticString =
    "SELECT cid FROM conversation WHERE cid > ? ORDER BY cid LIMIT ?"

  static let spansBetween: StaticString = """
    SELECT cid, kind, low_time, low_id, high_time, high_id FROM span
    WHERE cid >= ? AND cid <= ? ORDER BY cid, kind, low_time, low_id
    """

  static let entitiesOfConversations: StaticString = """
    SELECT cid FROM entity WHERE kind = 1 AND cid >= ? AND cid <= ? ORDER BY cid
    """

  /// Who reads passes over hidden rows and ends by himself.
  static let newestKeys: StaticString = """
    SELECT number, time, key, lsn, flags FROM message WHERE cid = ?
    ORDER BY time DESC, key DESC
    """

  static let someDraft: StaticString = "SELECT 1 FROM draft LIMIT 1"

  static let entityOfConversation: StaticString =
    "SELECT body FROM entity WHERE kind = 1 AND cid = ? LIMIT 1"

  static let listing: StaticString =
    "SELECT made_us, told_lsn FROM conversation WHERE cid = ?"

  static let draft: StaticString = "SELECT body, reply_to FROM draft WHERE cid = ?"

  static let countUnread: StaticString = """
    SELECT count(*) FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?) AND flags & ? = 0
    """

  /// Whether any row of a part has none of some flags.
  static let someWithout: StaticString = """
    SELECT 1 FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?) AND flags & ? = 0 LIMIT 1
    """

  static let unreadNumbers: StaticString = """
    SELECT number FROM message
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?) AND flags & ? = 0
    """

  /// That the user has read or deleted what the server has not heard of.
  static let readingQueued: StaticString = """
    SELECT 1 FROM operation WHERE cid = ? AND verb IN (1, 21, 30) AND state < 3 LIMIT 1
    """

  static let markerQueued: StaticString = """
    SELECT 1 FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND verb = 30 AND state < 3 LIMIT 1
    """

  static let markersKept: StaticString = """
    SELECT target FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND verb = 30 AND state != 3
    """

  static let markerTold: StaticString = """
    SELECT 1 FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND verb = 30 AND state != 3 AND target = ? LIMIT 1
    """

  static let pendingSends: StaticString = """
    SELECT count(*), coalesce(max(state IN (2, 3)), 0)
    FROM operation INDEXED BY operation_pending WHERE cid = ? AND number != 0 AND state != 4
    """

  /// What the user wants a conversation to be.
  static let askedOfConversation: StaticString = """
    SELECT verb, body, state FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = x'' AND state != 4 AND verb IN (11, 31) ORDER BY seq
    """

  /// That the user leaves it or deletes it, and was not refused.
  static let leavesConversation: StaticString = """
    SELECT 1 FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = x'' AND state != 4 AND state != 3 AND verb IN (32, 33) LIMIT 1
    """

  /// That anything of a conversation is kept beside messages, operations and a draft.
  static let heardOf: StaticString = """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM tombstone WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM span WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM quarantine WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM waiting WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM event WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM entity WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM forgotten WHERE cid = ?1)
      OR EXISTS (SELECT 1 FROM operation WHERE cid = ?1 AND verb < 10)
    """

  static let listQueries: [StaticString] = [
    conversationsAfter, spansBetween, entitiesOfConversations, newestKeys,
    entityOfConversation, listing, draft, countUnread, someWithout, unreadNumbers,
    namedLast, someNamedLast, markerQueued, markersKept, markerTold, pendingSends,
    askedOfConversation, leavesConversation,
  ]
}
