/// What the server tells unasked, applied once.
///
/// Rule protected: all effects of a frame, the ref under which it is remembered and
/// the reply that is owed for it are one transaction. A ref that was seen is replied
/// to again and changes nothing. What cannot be applied is kept as it came, counted
/// and replied to, so that it never blocks what stands behind it.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Takes a delivery in one transaction.
  func apply(_ update: ServerUpdate, _ arrival: Arrival) throws(StoreFailure) -> Receipt {
    var isRepeated = false
    var effects = UpdateApplier.Effects()
    try commit { tx throws(StoreFailure) in
      if let ref = update.ref, try tx.seen(ref) {
        isRepeated = true
        return try tx.feedTable.owe(ref, wallUs: arrival.now.wallUs ?? .max)
      }
      tx.isSilent = update.isSilent
      if self.config.profile.pushIsLossless, !self.subscriptions.areInTrouble() {
        tx.heardSince = self.memory.live.heardSince
      }
      var applier = applier(tx, update, from: arrival)
      try applier.run()
      effects = applier.effects
      if let ref = update.ref { try self.remember(ref, at: arrival.now, in: tx) }
    }
    if let ref = update.ref {
      // Without a connection the file alone owes it: the next one hands it out.
      if tracker.isUp { acknowledgements.owe(ref) }
      report.tellHost()
      if isRepeated { report.stats.updatesRepeated += 1 } else { report.stats.updates += 1 }
    }
    if isRepeated { return .applied }
    if update.ref != nil { acknowledgements.noteApplied() }
    tell(effects)
    ask(effects.doubts, at: arrival.now)
    if tracker.isUp { hear(effects.signs, at: arrival.now) }
    return effects.quarantined > 0 ? .quarantined : .applied
  }

  /// Notes a ref and the reply owed; from time to time old refs are let go.
  private func remember(
    _ ref: [UInt8], at now: Instant, in tx: WriteTransaction
  ) throws(StoreFailure) {
    // Without a clock a ref does not age; there are only so many of them.
    try tx.feedTable.owe(ref, wallUs: now.wallUs ?? .max)
    guard acknowledgements.mustTrim else { return }
    let memoryUs = Int64(clamping: config.profile.refDays) &* WatermarkPolicy.dayUs
    try tx.feedTable.trimRefs(
      kept: config.profile.refsMax, beforeUs: now.wallUs?.saturating(minus: memoryUs) ?? .min,
      owedKept: config.profile.refsMax)
  }

  /// What the memory learns once a delivery is committed.
  func tell(_ effects: UpdateApplier.Effects) {
    report.stats.quarantined += UInt64(effects.quarantined)
    report.stats.duplicates += UInt64(effects.duplicates)
    report.aside.add(effects.aside)
    if effects.sawClientID { outbox.noteClientIDs() }
    if effects.queuedMarks { receipts.queue(Limits.markReadBatch) }
    for (old, new) in effects.named { rename(old, new) }
    for conversation in effects.left { leave(conversation) }
    for row in effects.pushed { memory.pushed.insert(row) }
    for (message, told, lsn) in effects.reacted {
      memory.reacted.insert(told, of: message, lsn: lsn)
    }
    for (cid, span) in effects.linked { memory.linked.insert(span, cid) }
    // Without a connection nothing is fresh, and whatever waits for one asks after it.
    guard tracker.isUp else { return }
    for (cid, span) in effects.shown { memory.fresh.insert(span, cid) }
    if effects.behind.isEmpty { return }
    for conversation in effects.behind.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      // What was lost before this push is asked for, also where a catch-up is under
      // way: its first page may be older than the push.
      let isAsking = scheduler.asks(conversation)
      let wasLive =
        memory.live.wasLive(conversation) || scheduler.owed.contains(conversation)
      if isAsking || wasLive { catchUp(conversation) }
    }
  }

  /// Asks for what was told in lists that were not read. Nothing that is under way may make
  /// these conversations live: its pages may be older.
  func ask(_ doubts: UpdateApplier.Doubts, at now: Instant) {
    var names = doubts.conversations.filter { !$0.topics.isEmpty }.map(\.id)
    for one in doubts.conversations where one.topics.contains(.marks) {
      memory.fresh.remove(one.cid)
    }
    if !doubts.all.isEmpty {
      if doubts.all.contains(.marks) { memory.fresh.empty() }
      names += memory.live.caughtUp.all.sorted { $0.lexicographicallyPrecedes($1) }
      scheduler.beginAgain()
    }
    for name in names {
      scheduler.beginAgain { $0.conversation == name }
      memory.live.doubt(name)
      let isAsking = scheduler.asks(name)
      if isAsking || scheduler.owed.contains(name) || memory.live.isDoubted(name) { catchUp(name) }
    }
    if doubts.list {
      scheduler.beginAgain { $0.kind == .conversations }
      memory.left.forgetListing()
      wakeLists(now)
    }
  }

  /// How far what happens on the server is heard now.
  var heard: Heard {
    Heard(
      isUp: tracker.isUp, isLossless: config.profile.pushIsLossless, subscriptions: subscriptions,
      open: outbox.open, jobs: scheduler.jobs)
  }

  /// Who applies an update, for one transaction.
  func applier(
    _ tx: WriteTransaction, _ update: ServerUpdate, from arrival: Arrival
  ) -> UpdateApplier {
    UpdateApplier(
      memory, heard: heard, rules: ingestRules, in: tx, update: update, from: arrival)
  }

  /// The same for what an answer tells of conversations, which may know no better than what came
  /// meanwhile.
  func applier(
    _ tx: WriteTransaction, answer verb: Verb, from ingest: Ingest, at now: Instant
  ) -> UpdateApplier {
    var applier = applier(
      tx, ServerUpdate(answer: verb),
      from: Arrival(frame: ingest.frame, opened: ingest.opened, now: now))
    applier.isAside = true
    applier.asked = ingest.issued
    applier.issued = ingest.issued
    return applier
  }
}
