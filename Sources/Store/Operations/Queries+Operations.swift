/// The reads of operations and of what they show as rows, by name. Each goes by a key.
extension Queries {
  static let operation: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation WHERE seq = ?
    """

  static let operationByClient: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_client WHERE client_id = ?
    """

  static let messageByClient: StaticString = """
    SELECT id FROM message INDEXED BY message_client WHERE cid = ? AND client_id = ? LIMIT 1
    """

  static let namelessOwn: StaticString = """
    SELECT 1 FROM message
    WHERE cid = ? AND time >= ? AND flags & ? != 0 AND client_id IS NULL LIMIT 1
    """

  static let operationsOf: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND seq > ? ORDER BY seq LIMIT ?
    """

  static let operationsOpenOf: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND seq > ? AND state != 4 ORDER BY seq LIMIT ?
    """

  /// Those that the server has answered and its log has not listed.
  static let operationsAnswered: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_kept
    WHERE cid = ? AND verb >= 10 AND state = -1 ORDER BY seq LIMIT ?
    """

  static let operations: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation WHERE verb >= 10 AND seq > ? ORDER BY seq LIMIT ?
    """

  static let operationsOpen: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_open
    WHERE verb >= 10 AND state != 4 AND seq > ? ORDER BY seq LIMIT ?
    """

  /// Those of one kind of mark.
  static let marksFrom: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_mark
    WHERE verb = ? AND verb < 10 AND seq > ? ORDER BY seq LIMIT ?
    """

  static let drafts: StaticString = "SELECT cid FROM draft ORDER BY cid"
  static let draftsFrom: StaticString =
    "SELECT cid FROM draft WHERE cid > ? ORDER BY cid LIMIT ?"

  static let operationsOn: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = ? AND state != 4 AND verb >= 10 ORDER BY seq
    """

  static let operationsAwaiting: StaticString = """
    SELECT seq, verb, cid, target, state, number, flags, client_id, depends, waits, reply_to,
      attempts, body, plain, sealed, error_code, error_text, at_us, told_after, result, lsn,
      rewritten, told_us, told_by
    FROM operation INDEXED BY operation_depends
    WHERE depends = ? AND depends != 0 ORDER BY seq
    """

  static let openOperations: StaticString = """
    SELECT seq, verb, cid, state, depends, waits, attempts
    FROM operation INDEXED BY operation_open
    WHERE verb >= 10 AND state != 4 AND seq > 0 ORDER BY seq LIMIT ?
    """

  static let someOpen: StaticString = """
    SELECT coalesce(
      (SELECT 1 FROM operation INDEXED BY operation_open
       WHERE verb >= 10 AND state != 4 AND seq > 0 LIMIT 1),
      (SELECT 1 FROM operation INDEXED BY operation_mark
       WHERE verb < 10 AND verb > 0 LIMIT 1))
    FROM meta WHERE one = 1
    """

  static let somePending: StaticString = """
    SELECT 1 FROM operation INDEXED BY operation_number
    WHERE number > 0 AND number != 0 AND state != 4 LIMIT 1
    """

  static let verbsOn: StaticString = """
    SELECT verb FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = ? AND state != 4 AND state < 3 ORDER BY seq
    """

  static let contentOn: StaticString = """
    SELECT verb, plain FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = ? AND state != 4 AND state < 3 ORDER BY seq
    """

  static let textOf: StaticString = """
    SELECT verb, plain FROM operation INDEXED BY operation_text
    WHERE cid = ? AND target = ? AND plain IS NOT NULL
      AND (verb = 20 AND sealed = ? OR verb = 10 AND state = 4 AND rewritten = 0)
    ORDER BY seq DESC
    """

  static let toldMarks: StaticString = """
    SELECT cid, id, flags, read_by, delivered_by, listened_by FROM message
    WHERE flags & ? = 0
      AND (flags & 514 /* RowFlags.readOrListened */ != 0 OR delivered_by IS NOT NULL)
    ORDER BY coalesce(sent_us, time) DESC
    """

  static let lastKept: StaticString = """
    SELECT seq FROM operation INDEXED BY operation_done
    WHERE state = 4 AND seq > 0 ORDER BY seq DESC LIMIT 1 OFFSET ?
    """

  static let sendOfPayload: StaticString = """
    SELECT seq FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND state IN (1, 2)
      AND coalesce(sealed, plain) = ?
    ORDER BY seq LIMIT 1
    """

  static let sendsThatMayHaveArrived: StaticString = """
    SELECT seq, coalesce(sealed, plain) FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND state IN (1, 2)
    ORDER BY seq
    """

  static let pendingUp: StaticString = """
    SELECT number, 9223372036854775806, flags, lsn, client_id,
      (SELECT user FROM meta WHERE one = 1), x'', plain, reply_to, NULL, NULL, body, at_us,
      NULL, NULL, seq, state
    FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND seq >= ? AND seq < ?
      AND flags & ? = 0 AND flags & ? = ?
    ORDER BY seq LIMIT ?
    """

  static let pendingDown: StaticString = """
    SELECT number, 9223372036854775806, flags, lsn, client_id,
      (SELECT user FROM meta WHERE one = 1), x'', plain, reply_to, NULL, NULL, body, at_us,
      NULL, NULL, seq, state
    FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND seq >= ? AND seq < ?
      AND flags & ? = 0 AND flags & ? = ?
    ORDER BY seq DESC LIMIT ?
    """

  static let pendingKeysUp: StaticString = """
    SELECT number, seq, lsn FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND seq >= ? AND seq < ?
      AND flags & ? = 0
    ORDER BY seq LIMIT ?
    """

  static let pendingKeysDown: StaticString = """
    SELECT number, seq, lsn FROM operation INDEXED BY operation_pending
    WHERE cid = ? AND number != 0 AND state != 4 AND seq >= ? AND seq < ?
      AND flags & ? = 0
    ORDER BY seq DESC LIMIT ?
    """

  static let pendingKeysOfNumbers: StaticString = """
    SELECT number, seq, lsn FROM operation INDEXED BY operation_number
    WHERE number >= ? AND number <= ? AND number != 0 AND state != 4 AND cid = ?
      AND flags & ? = 0
    ORDER BY number LIMIT ?
    """

  static let operationCounts: StaticString = """
    SELECT coalesce(sum(state < 2), 0), coalesce(sum(state > 1), 0)
    FROM operation INDEXED BY operation_open WHERE verb >= 10 AND state != 4 AND seq > 0
    """

  static let mark: StaticString = """
    SELECT seq FROM operation INDEXED BY operation_target
    WHERE cid = ? AND target = ? AND state != 4 AND verb = ?
    """

  static let sealed: StaticString = """
    SELECT cid, time, key, number, lsn, raw FROM message INDEXED BY message_sealed
    WHERE (cid, time, key) > (?, ?, ?) AND flags & 64 /* RowFlags.sealed */ != 0
    ORDER BY cid, time, key LIMIT ?
    """

  static let operationQueries: [StaticString] = [
    sealed, messageByClient, operationCounts, mark, marksFrom, operation, operationByClient,
    operationsOf, operationsOpenOf, operationsAnswered, operations, operationsOpen, operationsOn,
    operationsAwaiting, openOperations, someOpen, somePending, verbsOn, contentOn, textOf,
    lastKept, sendOfPayload, sendsThatMayHaveArrived, pendingUp, pendingDown, pendingKeysUp,
    pendingKeysDown, pendingKeysOfNumbers,
  ]
}
