/// What a salvage calls complete of a conversation.
///
/// Rule protected: nothing is complete where something may be missing. A conversation that counts
/// other rows than were saved has lost some that no page tells of.
internal import Base
internal import Timeline

extension Salvage {
  func settleConversations() throws(StoreFailure) {
    if isLog, !loss.isOfAny { try SalvagedLogs(connection, loss).cut() }
    try noteMissing()
    if loss.isOfAny {
      try reset(.min ... .max)
    } else {
      for cids in loss.conversations { try reset(cids) }
    }
    try connection.execute(
      """
      UPDATE conversation SET message_count =
        (SELECT count(*) FROM message WHERE message.cid = conversation.cid)
      """)
  }

  /// What is called complete of a log ends where it was cut.
  func cutSpans(_ counters: Counters) throws(StoreFailure) -> Counters {
    if loss.isOfAny || loss.rows.isEmpty { return counters }
    let tx = WriteTransaction(
      connection, counters: counters, rules: StoreRules(user: binding.user),
      positionKind: binding.positionKind, digest: ContentDigest(vault: nil))
    try tx.begin()
    do throws(StoreFailure) {
      for (low, high) in loss.rows {
        for cid in try SalvagedLogs.conversations(low.first...high.first, connection) {
          let old = try tx.spans(cid)
          var new = old
          new.remove(
            cid == low.first && low.second > .min ? .after(timestampGroup: low.second) : .min,
            cid == high.first && high.second < .max ? .before(timestampGroup: high.second) : .max)
          new.keepNewest(Limits.spansMax)
          try tx.save(spans: new, replacing: old, in: cid)
        }
      }
      return try tx.commit()
    } catch {
      tx.abandon()
      throw error
    }
  }

  /// Conversations that count other rows, but those that are known to lack some.
  private func noteMissing() throws(StoreFailure) {
    if loss.isOfAny { return }
    var missing: [Int64] = []
    do {
      let row = try connection.statement(
        """
        SELECT cid FROM conversation AS c WHERE message_count !=
          (SELECT count(*) FROM message AS m WHERE m.cid = c.cid)
        """)
      while try row.step() { missing.append(row.int(0)) }
    }
    for cid in missing where !isLog || !loss.hasRows(of: cid) { loss.note(in: cid) }
  }

  /// Nothing is known of these conversations but their rows.
  private func reset(_ cids: ClosedRange<Int64>) throws(StoreFailure) {
    let (low, high) = (cids.lowerBound, cids.upperBound)
    if isLog { try SalvagedLogs(connection, loss).remove(cids) }
    try connection.run("DELETE FROM span WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run("DELETE FROM tombstone WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run("DELETE FROM quarantine WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run(
      """
      UPDATE conversation SET fetch_us = NULL, fetch_text = NULL,
        deletions_us = NULL, deletions_text = NULL, marks_us = NULL, marks_text = NULL,
        top_time = NULL, top_id = NULL, lowest_since_us = NULL, total_count = NULL,
        audited_total = NULL, audited_count = NULL, server_unread = NULL, made_us = NULL
      WHERE cid BETWEEN ? AND ?
      """, low, high)
    try SalvagedLogs.count(cids, connection)
  }
}

extension SalvageLoss {
  func hasRows(of cid: Int64) -> Bool {
    rows.contains { $0.low.first <= cid && cid <= $0.high.first }
  }
}

/// Logs of which some entries are lost.
///
/// Rule protected: two entries are neighbours only where nothing is lost between them. So a range
/// ends below what is lost and another begins above; entries keep their places. A message has its
/// entry, so what one of the two lacks the other one loses.
struct SalvagedLogs {
  private let connection: Connection
  private let loss: SalvageLoss

  init(_ connection: Connection, _ loss: SalvageLoss) {
    self.connection = connection
    self.loss = loss
  }

  static func conversations(
    _ cids: ClosedRange<Int64>, _ connection: Connection
  ) throws(StoreFailure) -> [Int64] {
    var found: [Int64] = []
    let row = try connection.statement(
      "SELECT cid FROM conversation WHERE cid BETWEEN ? AND ?", cids.lowerBound, cids.upperBound)
    while try row.step() { found.append(row.int(0)) }
    return found
  }

  func cut() throws(StoreFailure) {
    for (low, high) in loss.rows {
      for cid in try Self.conversations(low.first...high.first, connection) {
        try cut(
          cid, below: cid == low.first ? low.second : .min,
          above: cid == high.first ? high.second : .max)
      }
    }
    // What stands in no range was in one that is lost.
    try connection.run(
      """
      DELETE FROM entry WHERE NOT EXISTS (SELECT 1 FROM log_range AS r
        WHERE r.cid = entry.cid AND entry.place BETWEEN r.low AND r.high)
      """)
    try connection.run(
      """
      DELETE FROM message WHERE NOT EXISTS (SELECT 1 FROM entry AS e
        WHERE e.cid = message.cid AND e.id = message.id AND e.place = message.time)
      """)
  }

  /// Nothing between these places is known any more.
  private func cut(_ cid: Int64, below low: Int64, above high: Int64) throws(StoreFailure) {
    try connection.run(
      "DELETE FROM entry WHERE cid = ? AND place > ? AND place < ?", cid, low, high)
    try connection.run(
      "DELETE FROM message WHERE cid = ? AND time > ? AND time < ?", cid, low, high)
    try forgetMarkers(of: cid...cid, above: low, below: high)
    // Its place is in none of the new ranges.
    try connection.run(
      """
      DELETE FROM quarantine WHERE cid = ? AND low_time > ? AND low_time < ?
      """, cid, low, high)
    var ranges: [(low: Int64, high: Int64)] = []
    do {
      let row = try connection.statement(
        "SELECT low, high FROM log_range WHERE cid = ? AND low < ? AND high > ?", cid, high, low)
      while try row.step() { ranges.append((row.int(0), row.int(1))) }
    }
    for range in ranges { try cut(cid, range, below: low, above: high) }
    // The newest ones may be lost: that the present was reached is not known any more.
    try connection.run(
      """
      UPDATE conversation SET fetch_us = NULL, fetch_text = NULL WHERE cid = ?1
        AND NOT EXISTS (SELECT 1 FROM entry AS e WHERE e.cid = ?1 AND e.place >= ?2)
      """, cid, high)
    try SalvagedLogs.count(cid...cid, connection)
  }

  private func cut(
    _ cid: Int64, _ range: (low: Int64, high: Int64), below low: Int64, above high: Int64
  ) throws(StoreFailure) {
    let last = try connection.number(
      "SELECT max(place) FROM entry WHERE cid = ? AND place BETWEEN ? AND ?", cid, range.low,
      Swift.min(low, range.high))
    let first = try connection.number(
      "SELECT min(place) FROM entry WHERE cid = ? AND place BETWEEN ? AND ?", cid,
      Swift.max(high, range.low), range.high)
    if let first {
      try connection.run(
        """
        INSERT OR IGNORE INTO log_range (cid, low, high, flags, connection, present_request,
          present_connection)
        SELECT cid, ?2, high, flags, connection, present_request, present_connection
        FROM log_range WHERE cid = ?1 AND low = ?3
        """, cid, first, range.low)
      try connection.run(
        """
        UPDATE OR IGNORE log_token SET low = ?2 WHERE cid = ?1 AND low = ?3 AND side = 1
          AND EXISTS (SELECT 1 FROM entry AS e WHERE e.cid = ?1 AND e.id = log_token.id
            AND e.place >= ?2)
        """, cid, first, range.low)
    }
    guard let last else {
      try connection.run("DELETE FROM log_range WHERE cid = ? AND low = ?", cid, range.low)
      try connection.run("DELETE FROM log_token WHERE cid = ? AND low = ?", cid, range.low)
      return
    }
    try connection.run(
      """
      UPDATE log_range SET high = ?3, present_request = NULL, present_connection = NULL
      WHERE cid = ?1 AND low = ?2
      """, cid, range.low, last)
    try connection.run(
      """
      DELETE FROM log_token WHERE cid = ?1 AND low = ?2 AND (side = 1
        OR NOT EXISTS (SELECT 1 FROM entry AS e WHERE e.cid = ?1 AND e.id = log_token.id
          AND e.place <= ?3))
      """, cid, range.low, last)
  }

  /// Nothing is known of these logs. A marker is of its message, wherever that comes.
  func remove(_ cids: ClosedRange<Int64>) throws(StoreFailure) {
    let (low, high) = (cids.lowerBound, cids.upperBound)
    try connection.run("DELETE FROM message WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run("DELETE FROM entry WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run("DELETE FROM log_range WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run("DELETE FROM log_token WHERE cid BETWEEN ? AND ?", low, high)
    try connection.run(
      """
      UPDATE log_fact SET epoch = NULL, empty_request = NULL, empty_connection = NULL,
        contradictions = 0, step_us = 0
      WHERE cid BETWEEN ? AND ?
      """, low, high)
    try forgetMarkers(of: cids, above: .min, below: .max)
  }

  /// Markers between these places keep their message alone, which gets a new place.
  private func forgetMarkers(
    of cids: ClosedRange<Int64>, above low: Int64, below high: Int64
  ) throws(StoreFailure) {
    let (first, last) = (cids.lowerBound, cids.upperBound)
    try connection.run(
      """
      UPDATE conversation SET read_time = NULL, read_id = NULL,
        read_named = coalesce(read_named, nullif(
          iif(read_id >= x'01' AND read_id < x'F8', read_id, substr(read_id, 5)), x''))
      WHERE cid BETWEEN ? AND ? AND read_time > ? AND read_time < ?
      """, first, last, low, high)
    try connection.run(
      """
      UPDATE conversation SET told_time = NULL, told_id = NULL
      WHERE cid BETWEEN ? AND ? AND told_time > ? AND told_time < ?
      """, first, last, low, high)
  }

  /// Counts what is unread of the rows that are there.
  static func count(
    _ cids: ClosedRange<Int64>, _ connection: Connection
  ) throws(StoreFailure) {
    try connection.run(
      """
      UPDATE conversation SET server_unread = NULL,
        unread_count = (SELECT count(*) FROM message WHERE message.cid = conversation.cid
          AND flags & 3499 /* RowFlags.uncounted */ = 0
          AND (read_time IS NULL OR (time, key) > (read_time, read_id)))
      WHERE cid BETWEEN ? AND ?
      """, cids.lowerBound, cids.upperBound)
  }
}
