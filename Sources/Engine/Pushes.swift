/// Realtime without acknowledgement: each push is an island.
///
/// A pushed message is stored and shown at once, claims nothing and moves no
/// watermark, because pushes may be lost or overtake each other. It asks for a
/// catch-up that closes the gap.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// A message that came by push.
struct PushedID: Hashable {
  let cid: Int64
  let id: [UInt8]
}

extension Core {
  /// Remembers a few pushes, until a page shows them.
  private func remember(_ pushed: PushedID) {
    if onlyPushed.count >= Limits.pushesRemembered { onlyPushed = [] }
    onlyPushed.insert(pushed)
  }

  func take(
    _ push: Push, _ frame: [UInt8], _ opened: [OpenedPayload], _ now: Instant
  ) throws(StoreFailure) -> Receipt {
    var receipt = Receipt.ignored
    for effect in push.effects { receipt = try take(effect, frame, opened, now) }
    if receipt == .ignored { stats.framesIgnored += 1 }
    return receipt
  }

  private func take(
    _ effect: Effect, _ frame: [UInt8], _ opened: [OpenedPayload], _ now: Instant
  ) throws(StoreFailure) -> Receipt {
    switch effect {
    case .message(let conversation, let item, _):
      return try takeMessage(conversation, item, frame, opened, now)
    case .messagesDeleted(let conversation, let ids):
      try commit { tx throws(StoreFailure) in
        let record = try tx.conversation(creating: conversation)
        for id in ids { _ = try tx.tombstone(id, record.cid, version: nil) }
        try tx.dropMarks(.read, ids, record.cid)
      }
    case .receipts(let conversation, .read, let user, let ids):
      try commit { tx throws(StoreFailure) in
        guard let record = try tx.conversation(conversation) else { return }
        let isMe = user == self.config.user
        _ = try tx.receipts(.read, user: user, ids: ids, record.cid, isMe: isMe)
      }
    case .receipts, .reactions, .pin, .typing, .entity, .entityDeleted, .unknown, .bad:
      return .ignored
    }
    return .applied
  }

  private func takeMessage(
    _ conversation: [UInt8], _ item: PageItem, _ frame: [UInt8], _ opened: [OpenedPayload],
    _ now: Instant
  ) throws(StoreFailure) -> Receipt {
    var pushed: PushedID?
    let isBad = try commit { tx throws(StoreFailure) in
      // Newer than every request that is on its way, older than the next one.
      let ingest = Ingest(
        user: self.config.user, autoMarkRead: false, frame: frame, opened: opened,
        issued: tx.lsn)
      var record = try tx.conversation(creating: conversation)
      let ingested = try ingest.page([item], record, tx)
      for bad in ingested.bad {
        try tx.quarantine(
          record.cid, bytes: Array(frame[bad.range]), reason: bad.reason.code, low: .min,
          high: .min)
      }
      if let position = ingested.insertedAt.first {
        pushed = PushedID(cid: record.cid, id: position.id)
      }
      if let time = ingested.stamps.first?.stamp.timeUs {
        try self.lowerDeletions(&record, below: time, tx)
        if !ingested.insertedAt.isEmpty { try self.endTrust(record, below: time, tx) }
        self.learnTime(time, now)
        try tx.save(self.facts)
      }
      return !ingested.bad.isEmpty
    }
    if let pushed { remember(pushed) }
    if isBad { stats.quarantined += 1 }
    // What was lost before this push is asked for, also where a catch-up is under way:
    // its first page may be older than the push.
    let isAsking = jobs.contains { $0.request.conversation == conversation }
    if isAsking || caughtUp.contains(conversation) { catchUp(conversation) }
    return isBad ? .quarantined : .applied
  }

  /// A row that came from no page may have been deleted before the lowest time that
  /// deletions were ever asked from: the watermark goes below it.
  private func lowerDeletions(
    _ record: inout ConversationRecord, below time: Int64, _ tx: WriteTransaction
  ) throws(StoreFailure) {
    guard let watermark = stamp(record.deletions), let lowest = record.lowestSinceUs,
      time < lowest + overlapUs
    else { return }
    let lowered = time - overlapUs
    record.deletions = Watermark(timeUs: lowered, text: watermark.printed(lowered))
    record.lowestSinceUs = lowered
    try tx.save(record)
  }

  /// A row above the watermark that came from no page: what was missed may lie below
  /// it, so nothing above the watermark is claimed until the next catch-up.
  private func endTrust(
    _ record: ConversationRecord, below time: Int64, _ tx: WriteTransaction
  ) throws(StoreFailure) {
    guard let fetch = record.fetch, time > fetch.timeUs else { return }
    let stored = try tx.spans(record.cid)
    var spans = stored
    spans.remove(.after(tick: fetch.timeUs), .max)
    try tx.save(spans: spans, replacing: stored, record.cid)
  }

  /// A lone stamp has nothing to bear it out, so a push moves the known server time
  /// on but never sets the first one.
  private func learnTime(_ time: Int64, _ now: Instant) {
    guard facts.serverTimeUs != nil else { return }
    let plausible = Trust.greatestPlausible(
      [time], known: facts.serverTimeUs, serverTime: nil, wallUs: now.wallUs)
    if let plausible { facts.serverTimeUs = max(facts.serverTimeUs ?? .min, plausible) }
  }
}
