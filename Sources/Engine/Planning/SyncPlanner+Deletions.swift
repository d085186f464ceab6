/// Deletions, and what follows when they do not explain what is missing.
///
/// Deletions have a watermark of their own, made from server times only: the
/// greatest known before the request was sent, less the overlap. What a whole
/// answer did not show and no deletion explains is evidence that the server was
/// restored from an older copy.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncPlanner {
  /// Sets the deletion stage of a job, or ends it where nothing is stored.
  func askDeletions(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    job.evidence.needsDeletions = false
    let known = memory.server.time
    let oldest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: false).first
    guard let form = try deletionForm(record) else {
      // No time can be asked from, so what a whole answer did not show is not there.
      try dropSuspects(&job, of: record)
      return try finish(&job, of: &record)
    }
    let watermark = memory.server.isAhead(record.deletions) ? nil : record.deletions
    var text = watermark?.text
    var since: ServerTime
    if let watermark {
      since = watermark.time
    } else {
      guard let oldest else { return try finish(&job, of: &record) }
      // A stamp ahead of the server's clock does not say since when the row is there. Where
      // that is not known the device's may send the question further back, never on.
      let isAhead = (known?.us ?? memory.server.clock.wallUs).map { $0 < oldest.timeUs } ?? true
      since = WatermarkPolicy.below(
        ServerTime(us: isAhead ? 0 : oldest.timeUs), overlapUs: memory.server.overlapUs)
    }
    let horizon = profile.deletionHorizonUs
    if horizon > 0, let now = memory.server.timeAtLeast, now.us(since: since) > horizon {
      try passHorizon(&job, of: record)
    }
    if horizon > 0, let known, known.us(since: since) > horizon {
      // What the server still remembers is asked for, with room for its clock.
      since = known.saturating(minus: horizon / 8 * 7)
      text = nil
    }
    let walk = LeftCursor.Walk(conversation: record.id, areChanges: false)
    let cursors = Cursors(text ?? form.printed(since), left: memory.left.take(walk))
    job.stage = .deletions(DeletionWalk(cursors: cursors, known: known))
    // A cursor goes on from what was asked before it.
    if watermark == nil || text == nil || memory.server.stamp(watermark?.text) != nil {
      record.lowestSince = min(record.lowestSince ?? since, since)
    }
    return .next
  }

  /// Takes the first cursors that a page names, before its messages: what pages show from now on
  /// was there when they were made. What is stored already may have been deleted or changed before:
  /// it goes where a whole answer lacks it, and is stale until a page shows it.
  func takeCursors(
    of page: Page, into record: inout ConversationRecord, for job: inout SyncJob
  ) throws(StoreFailure) {
    // Where pages show what was deleted, no page says that nothing was deleted before it.
    guard !profile.deletionsAreLater else { return }
    let time = memory.server.time.map { $0.saturating(minus: memory.server.overlapUs) } ?? .zero
    if let text = page.deletedSince {
      job.evidence.namesCursors = true
      if record.deletions == nil, scheme.stamp(text) == nil {
        record.deletions = Watermark(at: time, text: text)
        if try tx.oldest(record.cid) != nil { record.restoredLSN = tx.lsn }
        try tx.save(record)
      }
    }
    if let text = page.changedSince, memory.server.can(.changedSince), record.marks == nil,
      scheme.stamp(text) == nil
    {
      record.marks = Watermark(at: time, text: text)
      try tx.save(record)
      try staleAll(record)
    }
  }

  /// The server has forgotten the cursor that it gave. Where its pages name one, all is read anew
  /// from there; otherwise the time of that answer takes its place. Nil where a time was asked
  /// from. A server that knows neither tells no deletions: absence alone does.
  func loseDeletionCursor(_ job: inout SyncJob) throws(StoreFailure) -> Step? {
    var record = try tx.conversation(creating: job.request.conversation)
    if job.restores > 0 {
      try dropSuspects(&job, of: record)
      record.deletions = nil
      let step = try askChanges(&job, of: &record)
      try tx.save(record)
      return step
    }
    guard let known = record.deletions, memory.server.stamp(known.text) == nil,
      !job.evidence.namesCursors, let form = try deletionForm(record)
    else { return nil }
    record.deletions = known.time > .zero ? form.watermark(at: known.time) : nil
    let step = try askDeletions(&job, of: &record)
    try tx.save(record)
    return step
  }

  /// How this server prints times; nil where it has printed none here. Rows that came by
  /// push or by answer have no watermark beside them, and are asked about all the same.
  func deletionForm(
    _ record: ConversationRecord
  ) throws(StoreFailure) -> Stamp? {
    if let form = memory.server.stamp(record.fetch?.text)
      ?? memory.server.stamp(record.deletions?.text)
    {
      return form
    }
    return memory.server.stamp(try tx.oldestStamp(record.cid))
  }

  /// Deletions that old are forgotten. What is stored stays and counts as whole, but
  /// only what a page shows anew is known not to be deleted.
  private func passHorizon(
    _ job: inout SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) {
    let before = try tx.unverified(record.cid)
    var unverified = before
    let newest = try tx.rows(record.cid, from: .min, to: .max, limit: 1, newestFirst: true)
    if let last = newest.first { unverified.insert(.min, last.position.successor) }
    try tx.save(
      unverified: unverified.without(job.evidence.shown), replacing: before, in: record.cid)
    try dropSuspects(&job, of: record)
  }

  /// No log explains them, so what a whole answer did not show is gone.
  private func dropSuspects(
    _ job: inout SyncJob, of record: ConversationRecord
  ) throws(StoreFailure) {
    for id in job.evidence.suspects {
      guard let row = try tx.row(id, record.cid) else { continue }
      if try tx.remove(row.position, record.cid) != nil { job.status.removed += 1 }
    }
    job.evidence.suspects = []
  }

  /// The next walk goes on where this one was left: for good where its cursor is a time, less
  /// the overlap, and otherwise as long as the process remembers it.
  func left(
    _ cursors: Cursors, at watermark: inout Watermark?, _ form: Stamp?
  ) -> LeftCursor? {
    guard let next = cursors.left else { return nil }
    if let stamp = memory.server.stamp(next), let form,
      memory.server.time.map({ stamp.time <= $0.saturating(plus: WatermarkPolicy.dayUs) })
        ?? false
    {
      let overlapUs = memory.server.overlapUs
      let time = max(stamp.time.saturating(minus: overlapUs), WatermarkPolicy.earliest)
      if watermark.map({ $0.time < time }) ?? true {
        watermark = form.watermark(at: time)
        return nil
      }
    }
    return LeftCursor(from: cursors.first, next: next)
  }

  /// Less the overlap; a cursor that is no time is kept as it came, and one that is leads no
  /// further than the server's time is known.
  func moveDeletions(
    _ record: inout ConversationRecord, page: DeletedPage, form: Stamp, known: ServerTime?
  ) {
    let told = page.serverTime?.time ?? known
    let next = page.nextSince.map { memory.server.stamp($0) }
    if let text = page.nextSince, next == .some(nil) {
      let time = told.map { $0.saturating(minus: memory.server.overlapUs) }
      record.deletions = Watermark(at: time ?? record.deletions?.time ?? .zero, text: text)
      return
    }
    // A cursor goes on being asked with until another one is named.
    if page.nextSince == nil, let known = record.deletions, memory.server.stamp(known.text) == nil {
      return
    }
    guard let told else { return }
    let base = min(told, (next ?? nil)?.time ?? told)
    let time = base.saturating(minus: memory.server.overlapUs)
    if record.deletions.map({ $0.time < time || memory.server.isAhead($0) }) ?? true {
      record.deletions = form.watermark(at: time)
    }
  }

  /// Deletions are known: is everything that was absent explained?
  func afterDeletions(
    _ job: inout SyncJob, of record: inout ConversationRecord
  ) throws(StoreFailure) -> Step {
    var missing: [StoredRow] = []
    for id in job.evidence.suspects {
      if let row = try tx.row(id, record.cid) { missing.append(row) }
    }
    job.evidence.suspects = []
    if let lowest = missing.map(\.position).min() {
      if try looksAgain(&job) { return .next }
      guard job.restores == 0 else { return .ended(.incomplete) }
      // What contradicts itself is no evidence.
      if job.evidence.isContradicted { return try askChanges(&job, of: &record) }
      let isBelieved = memory.restores.confirms(
        missing.map(\.position.id), unseen: try unseen(record), lowest: lowest,
        in: record.id, askedMs: job.turn.beganMs, nowMs: memory.server.clock.monotonicMs)
      guard isBelieved else {
        // The rows stay until another answer lacks them too.
        try doubt(missing, of: record)
        return try askChanges(&job, of: &record)
      }
      guard memory.restores.mayBelieve(record.id, nowMs: memory.server.clock.monotonicMs) else {
        return .ended(.incomplete)
      }
      memory.effects.restores &+= 1
      // A restore is the whole server's: every conversation must be looked at.
      memory.server.noteRestore(at: tx.lsn)
      try tx.save(memory.server.facts)
      return try distrust(&job, of: &record)
    }
    memory.restores.keep(try unseen(record), in: record.id)
    return try askChanges(&job, of: &record)
  }

  /// Suspected rows that no answer has covered since.
  private func unseen(
    _ record: ConversationRecord
  ) throws(StoreFailure) -> Set<[UInt8]> {
    let doubted = memory.restores.doubted(in: record.id)
    if doubted.isEmpty { return [] }
    let unverified = try tx.unverified(record.cid)
    var unseen: Set<[UInt8]> = []
    for id in doubted {
      guard let row = try tx.row(id, record.cid) else { continue }
      if unverified.span(holding: row.position) != nil { unseen.insert(id) }
    }
    return unseen
  }

  /// Whether these rows are still there on the server is not known.
  private func doubt(
    _ missing: [StoredRow], of record: ConversationRecord
  ) throws(StoreFailure) {
    let before = try tx.unverified(record.cid)
    var unverified = before
    // What was shown between them stays verified.
    for place in missing.map(\.position).ascending() { unverified.insert(place, place.successor) }
    try tx.save(unverified: unverified, replacing: before, in: record.cid)
  }
}
