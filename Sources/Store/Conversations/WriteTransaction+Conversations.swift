/// Conversations, what is known of the server, spans, and quarantined places.
///
/// Each save writes the difference only: an input that changed nothing commits
/// nothing.
internal import Base
package import Timeline

extension WriteTransaction {
  /// The conversation, new where it was unknown.
  package func conversation(
    creating id: [UInt8]
  ) throws(StoreFailure) -> ConversationRecord {
    if let known = try conversation(id) { return known }
    try conversationTable.insert(id, isPending: false)
    guard let created = try conversation(id) else { throw .damaged }
    return created
  }

  package func save(_ record: ConversationRecord) throws(StoreFailure) {
    guard let known = try conversation(cid: record.cid), known.id == record.id else {
      // Two pages of the file contradict each other.
      throw .damaged
    }
    // What it is beside what who saves it knows.
    var saved = record
    saved.isPending = known.isPending
    saved.deletedLSN = known.deletedLSN
    saved.top = known.top
    guard known != saved else { return }
    // Ranges are trusted only beside a watermark: what is believed changes with it.
    if (known.fetch == nil) != (record.fetch == nil) { feed.add(.coverage, record.cid, 0...0) }
    change(to: saved)
  }

  package func save(_ facts: ServerFacts) throws(StoreFailure) {
    guard try self.facts() != facts else { return }
    changedFacts = facts
  }

  /// Replaces the trusted ranges; only those that differ are written.
  ///
  /// `old` is what `spans` gave in this transaction.
  package func save(
    spans new: SpanSet, replacing old: SpanSet, in cid: Int64
  ) throws(StoreFailure) {
    try save(new, replacing: old, in: cid, kind: .content)
    unreadTable.settleLater(cid)
  }

  /// The same for the ranges whose deletions are not known any more; `old` is what
  /// `unverified` gave.
  package func save(
    unverified new: SpanSet, replacing old: SpanSet, in cid: Int64
  ) throws(StoreFailure) {
    try save(new, replacing: old, in: cid, kind: .unverified)
    unreadTable.settleLater(cid)
  }

  /// The same for the ranges of which changes may have been missed; `old` is what `stale`
  /// gave.
  package func save(
    stale new: SpanSet, replacing old: SpanSet, in cid: Int64
  ) throws(StoreFailure) {
    try save(new, replacing: old, in: cid, kind: .stale)
  }

  /// Notes that a page has shown the messages of one time, and whether it told their order.
  package func note(
    orderOf time: Int64, isKnown: Bool, in cid: Int64
  ) throws(StoreFailure) {
    let old = try untaught(cid)
    var new = old
    let (low, high) = (Position.before(timestampGroup: time), Position.after(timestampGroup: time))
    if isKnown { new.remove(low, high) } else { new.insert(low, high) }
    if new == old { return }
    new.keepNewest(Limits.spansMax)
    try save(new, replacing: old, in: cid, kind: .untaught)
    unreadTable.settleLater(cid)
  }

  /// Notes that a message stands behind those of its time by a guess: by the server's order it may
  /// stand below the read marker, where that is in it.
  package func note(guessAt time: Int64, in cid: Int64) throws(StoreFailure) {
    try note(orderOf: time, isKnown: false, in: cid)
    if try tally(cid).marker?.time == time { try unreadTable.doubt(cid) }
  }

  /// Notes from where on messages are new to this device.
  package func save(news low: Position?, in cid: Int64) throws(StoreFailure) {
    let old = try news(cid)
    if low == old { return }
    func set(_ low: Position?) -> SpanSet {
      low.map { SpanSet(stored: [SpanSet.Span(low: $0, high: .max)]) ?? SpanSet() } ?? SpanSet()
    }
    try save(set(low), replacing: set(old), in: cid, kind: .news)
  }

  private func save(
    _ new: SpanSet, replacing old: SpanSet, in cid: Int64, kind: SpanKind
  ) throws(StoreFailure) {
    guard new != old else { return }
    // As they are held to it when they are read.
    try ensure(
      SpanSet(stored: new.spans) != nil, "ranges that are not sorted and apart were saved",
      or: StoreFailure.broken)
    let isSuspect = old == kind.unknown
    if isSuspect {
      // Stored ranges that made no sense were read as this; now they go.
      try connection.runNoted("DELETE FROM span WHERE cid = ? AND kind = ?", cid, kind.rawValue)
    }
    for span in old.spans where new.exact(span.low) == nil {
      try connection.runNoted(
        "DELETE FROM span WHERE cid = ? AND kind = ? AND low_time = ? AND low_id = ?",
        cid, kind.rawValue, span.low.time, span.low.key)
    }
    // Where the newest range ends stands with the conversation; the range's own row learns it
    // when another one is newer.
    let (newest, late) = kind == .content ? (new.newest?.low, old.newest?.low) : (nil, nil)
    for span in new.spans {
      let known = isSuspect ? nil : old.exact(span.low)
      if span.low == newest ? known != nil : known == span && span.low != late { continue }
      try connection.runNoted(
        """
        INSERT OR REPLACE INTO span (cid, kind, low_time, low_id, high_time, high_id)
        VALUES (?, ?, ?, ?, ?, ?)
        """, cid, kind.rawValue, span.low.time, span.low.key, span.high.time, span.high.key)
    }
    if kind == .content { try moveTop(cid, to: new.newest?.high) }
    if kind == .content, old.isOneFromTheBeginning != new.isOneFromTheBeginning {
      memo?.some.partial = nil
    }
    if let entry = memo?.entry(cid) {
      if kind == .content { entry.spans = new }
      if kind == .unverified { entry.unverified = new }
      if kind == .untaught { entry.untaught = new }
      if kind == .news { entry.news = new }
      entry.summary = nil
    }
    if kind != .news { feed.add(.coverage, cid, 0...0) }
  }

  /// Where the newest range ends is written with the conversation, whose row most commits
  /// change anyway.
  private func moveTop(_ cid: Int64, to top: Position?) throws(StoreFailure) {
    guard var record = try conversation(cid: cid), record.top != top else { return }
    record.top = top
    change(to: record)
  }
}

extension SpanSet {
  /// Nothing is missing before its end.
  fileprivate var isOneFromTheBeginning: Bool {
    spans.count == 1 && spans.first?.low.time == .min
  }

  /// The span that begins exactly at `low`.
  fileprivate func exact(_ low: Position) -> Span? {
    guard let span = span(holding: low), span.low == low else { return nil }
    return span
  }
}
