/// Updates that were applied, and the replies pending for them.
///
/// Rule protected: a ref is stored in the transaction of its effect, so what was
/// applied is known, across restarts, and is applied once. The reply stays pending
/// until it was sent; a ref that is pending is never forgotten.
internal import Base

extension FeedTable {
  /// Remembers a ref and that its reply is pending, also where it had been sent.
  package func markPending(_ ref: [UInt8], wallUs: Int64) throws(StoreFailure) {
    let isNew = tx.unseenRef == ref
    tx.unseenRef = nil
    if !isNew {
      if let known = tx.counters.recentRefs.find(ref) {
        if !known.isPending { tx.counters.recentRefs.mark(known, isPending: true) }
        return
      }
      if try tx.feedReader.isStored(ref) {
        return try tx.connection.run("UPDATE ref SET owed = 1 WHERE ref = ? AND owed = 0", ref)
      }
    }
    if tx.counters.recentRefs.append(ref, atUs: wallUs) { return }
    try moveRefs()
    if tx.counters.recentRefs.append(ref, atUs: wallUs) { return }
    try tx.connection.run("INSERT INTO ref (ref, at_us, owed) VALUES (?, ?, 1)", ref, wallUs)
  }

  /// Brings the newest refs to their table.
  private func moveRefs() throws(StoreFailure) {
    let recent = tx.counters.recentRefs
    var greatest = tx.memo?.greatestRef
    var next = 0
    while let entry = recent.entry(next) {
      next = entry.ref.upperBound
      let ref = Array(recent.bytes[entry.ref])
      try tx.connection.runNoted(
        """
        INSERT INTO ref (ref, at_us, owed) VALUES (?, ?, ?)
        ON CONFLICT (ref) DO UPDATE SET owed = max(owed, excluded.owed)
        """,
        ref, entry.atUs, entry.isPending ? 1 : 0)
      if let known = greatest, InlineRefs.precedes(known, than: ref) { greatest = ref }
    }
    tx.memo?.greatestRef = greatest
    tx.counters.recentRefs = InlineRefs()
  }

  /// Notes that replies were sent.
  package func settleReplies(_ refs: [[UInt8]]) throws(StoreFailure) {
    // Mostly they come in the order in which they were pending.
    var next = 0
    for ref in refs {
      let ahead = tx.counters.recentRefs.find(ref, from: next)
      if let known = ahead ?? tx.counters.recentRefs.find(ref) {
        next = known.ref.upperBound
        if known.isPending { tx.counters.recentRefs.mark(known, isPending: false) }
        continue
      }
      try tx.connection.run("UPDATE ref SET owed = 0 WHERE ref = ? AND owed = 1", ref)
    }
  }

  /// Forgets the oldest refs beyond `kept`, and the oldest of those seen before
  /// `beforeUs`. One that came later by the device's clock shields those behind it:
  /// a clock that jumps costs memory, bounded by the number, and no update. Of those that are
  /// pending the newest `pendingKept` stay: what is forgotten the server tells again.
  package func trimRefs(
    kept: Int, beforeUs: Int64, pendingKept: Int = .max
  ) throws(StoreFailure) {
    try moveRefs()
    let newest = try tx.connection.number("SELECT max(seq) FROM ref") ?? 0
    let (beyond, overflow) = newest.subtractingReportingOverflow(Int64(Swift.max(0, kept)))
    let young = try tx.connection.number(
      "SELECT seq FROM ref WHERE at_us >= ? ORDER BY seq LIMIT 1", beforeUs)
    let limit = Swift.max(overflow ? 0 : beyond, young.map { $0 &- 1 } ?? newest)
    try tx.connection.run("DELETE FROM ref WHERE seq <= ? AND owed = 0", limit)
    guard pendingKept < .max else { return }
    try tx.connection.run(
      """
      DELETE FROM ref WHERE owed = 1 AND seq <=
        (SELECT seq FROM ref WHERE owed = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?)
      """, Swift.max(1, pendingKept))
  }
}

extension FeedReader {
  /// Whether an update was applied before.
  package func seen(_ ref: [UInt8]) throws(StoreFailure) -> Bool {
    if try rx.recentRefs().find(ref) != nil { return true }
    let isKnown = try isStored(ref)
    rx.unseenRef = isKnown ? nil : ref
    return isKnown
  }

  /// Whether a ref is in the table. Most servers count them up, and what comes behind the
  /// greatest need not be looked for.
  func isStored(_ ref: [UInt8]) throws(StoreFailure) -> Bool {
    if let memo = try rx.known {
      var greatest = memo.greatestRef
      if greatest == nil { greatest = try storedGreatestRef() }
      memo.greatestRef = greatest
      if let greatest, InlineRefs.precedes(greatest, than: ref) { return false }
    }
    return try rx.connection.number(Queries.seen, ref) != nil
  }

  private func storedGreatestRef() throws(StoreFailure) -> [UInt8] {
    let statement = try rx.connection.statement(Queries.greatestRef)
    guard try statement.step() else { return [] }
    return statement.bytes(0)
  }

  /// Refs whose replies are pending, oldest first.
  package func pendingReplies(limit: Int) throws(StoreFailure) -> [[UInt8]] {
    let statement = try rx.connection.statement(Queries.pendingReplies, Swift.max(0, limit))
    var refs: [[UInt8]] = []
    while try statement.step() { refs.append(statement.bytes(0)) }
    refs += try rx.recentRefs().pending().prefix(Swift.max(0, limit - refs.count))
    return refs
  }

  package func pendingReplyCount() throws(StoreFailure) -> Int {
    Int(clamping: try rx.connection.number(Queries.pendingReplyCount) ?? 0)
      + (try rx.recentRefs().pending().count)
  }
}
