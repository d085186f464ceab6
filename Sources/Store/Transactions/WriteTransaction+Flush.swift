/// What a commit changes of conversations is gathered and written at its end, each row once.
///
/// Who reads meanwhile sees it through `changedRecord`, `changedTally` and `changedCount`; who
/// writes in SQL what a record or a tally holds lets what was gathered go first. The same holds
/// for the one row of `meta`, where most of it goes (`LastChangedState`).
internal import Base
internal import Timeline

/// What a commit has changed of one conversation so far.
struct ConversationChange {
  var record: ConversationRecord?
  var tally: UnreadCounters?
  /// Rows inserted less rows removed.
  var count: Int64 = 0

  var isEmpty: Bool { record == nil && tally == nil && count == 0 }
}

extension WriteTransaction {
  /// A record is to be written.
  func change(to record: ConversationRecord) {
    changed[record.cid, default: ConversationChange()].record = record
    guard let entry = memo?.entry(record.cid) else { return }
    entry.record = record
    entry.summary = nil
  }

  /// A tally is to be written.
  func change(_ cid: Int64, to tally: UnreadCounters) {
    changed[cid, default: ConversationChange()].tally = tally
  }

  /// Notes that a conversation has more or fewer rows.
  func noteRows(_ cid: Int64, change: Int64) {
    changed[cid, default: ConversationChange()].count &+= change
  }

  /// Writes what was gathered.
  func flushConversations() throws(StoreFailure) {
    if changed.isEmpty { return }
    let gathered = changed
    let written = gathered.keys.filter { !(gathered.value($0)?.isEmpty ?? true) }
    for cid in written.ascending() {
      let change = gathered[cid, default: ConversationChange()]
      // Both may read the row, and with it the count as it was.
      let isKept = try keep(cid, change: change, isAlone: written.count == 1)
      let state = isKept ? nil : try state(of: cid, change)
      takeCount(change.count, in: cid)
      if isKept { continue }
      if let (record, tally) = state {
        try conversationTable.write(record, tally, rows: change.count)
        memo?.entry(cid).tally = tally
      } else if change.count != 0 {
        try conversationTable.add(rows: change.count, to: cid)
      }
    }
    changed = SmallDictionary()
  }

  /// What is to be written of a conversation; nil where its count alone changed.
  private func state(
    of cid: Int64, _ change: ConversationChange
  ) throws(StoreFailure) -> (ConversationRecord, UnreadCounters)? {
    if change.record == nil, change.tally == nil { return nil }
    let record = if let record = change.record { record } else { try conversation(cid: cid) }
    guard let record else { return nil }
    let tally = if let tally = change.tally { tally } else { try tally(cid) }
    return (record, tally)
  }

  /// The count of a conversation's rows changes, which is written now.
  private func takeCount(_ change: Int64, in cid: Int64) {
    guard let entry = memo?.entry(cid) else { return }
    entry.count = entry.count.map { Swift.max(0, $0 &+ Int(clamping: change)) }
    entry.summary = nil
  }
}

extension WriteTransaction {
  /// What the store counts, and the rest where any of it changed.
  func flushMeta() throws(StoreFailure) {
    let kept = counters.kept
    if counters.own != before.own {
      try connection.runNoted(
        "UPDATE meta SET own_lsn = ?, own_opening = ? WHERE one = 1", counters.own.lsn,
        counters.own.opening)
    }
    guard changedFacts != nil || kept !== before.kept else {
      return try connection.runNoted(
        """
        UPDATE meta SET opening = ?, lsn = ?, last_number = ?, last_change = ?,
          trimmed_change = ?, last_operation = ?, recent_changes = ?, recent_refs = ?
        WHERE one = 1
        """
      ) { row in counters.bind(&row) }
    }
    let facts = try facts()
    try connection.runNoted(
      """
      UPDATE meta SET opening = ?, lsn = ?, last_number = ?, last_change = ?,
        trimmed_change = ?, last_operation = ?, recent_changes = ?, recent_refs = ?,
        server_time = ?, largest_page = ?, overlap_us = ?, epoch = ?, restored_lsn = ?,
        clock_ahead = ?, owes_list = ?, kept_state = ?
      WHERE one = 1
      """
    ) { row in
      counters.bind(&row)
      facts.bind(&row)
      row.bind(kept?.packed ?? [])
    }
  }
}

extension Counters {
  fileprivate func bind(_ row: inout Parameters) {
    row.bind(opening)
    row.bind(lsn)
    row.bind(lastNumber)
    row.bind(lastChange)
    row.bind(trimmedChange)
    row.bind(lastOperation)
    row.bind(recentChanges.bytes)
    row.bind(recentRefs.bytes)
  }
}

extension ServerFacts {
  fileprivate func bind(_ row: inout Parameters) {
    row.bind(serverTime?.us)
    row.bind(Int64(largestPage))
    row.bind(overlapUs)
    row.bind(epoch)
    row.bind(restoredLSN)
    row.bind(clockAheadUs)
    row.bind(needsList ? 1 as Int64 : 0)
  }
}

// MARK: What is kept in the row of meta

extension WriteTransaction {
  /// Takes a change of a conversation into what is kept. False where it is of another one and does
  /// not take its place: only one that changes alone does, and one that is not too long.
  func keep(
    _ cid: Int64, change: ConversationChange, isAlone: Bool
  ) throws(StoreFailure) -> Bool {
    if let kept = counters.kept, kept.record.cid == cid {
      counters.kept = LastChangedState(
        change.record ?? kept.record, tally: change.tally ?? kept.tally,
        rows: kept.rows &+ change.count)
      if counters.kept?.isTooLong ?? false { try settleKept() }
    } else {
      guard isAlone, let record = try conversation(cid: cid) else { return false }
      let state = LastChangedState(record, tally: try tally(cid), rows: change.count)
      if state.isTooLong { return false }
      try settleKept()
      counters.kept = state
    }
    if let tally = change.tally { memo?.entry(cid).tally = tally }
    return true
  }

  /// Brings what is kept to the conversation's own row.
  func settleKept() throws(StoreFailure) {
    guard let kept = counters.kept else { return }
    counters.kept = nil
    try kept.write(connection)
  }

  /// All that was changed of conversations stands in their rows, for who changes those in SQL.
  func settleConversations() throws(StoreFailure) {
    try flushConversations()
    try settleKept()
  }
}
