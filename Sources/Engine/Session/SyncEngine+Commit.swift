/// The one way by which the engine writes: what memory follows of a transaction changes with it.
/// And what is taken out of the cache, with what memory knew of it.
internal import Base
internal import Store
internal import Timeline
internal import Vault

extension SyncEngine {
  /// One transaction; its number and its counters are kept when it commits. What it changes in
  /// memory is changed when it has, and where it fails memory is as it was.
  func commit<Result>(
    _ body: (WriteTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    var result: Result?
    try commitWhole { tx throws(StoreFailure) in result = try body(tx) }
    guard let result else { throw .broke("a transaction gave nothing") }
    return result
  }

  /// One function for all results: a copy for each of their types made the library 40 kB larger.
  private func commitWhole(
    _ body: (WriteTransaction) throws(StoreFailure) -> Void
  ) throws(StoreFailure) {
    let before = memory.learned
    var changed: [(UInt64, OpenOperation?)] = []
    var mustSeal = false
    var putBack: [UInt64] = []
    var counting = UnreadCommit()
    let isRefused = config.commits?.begins(self) ?? false
    do {
      try store.write(isRefused: isRefused) { tx throws(StoreFailure) in
        putBack = tx.putBack
        for seq in putBack { try endFlight(seq, tx) }
        tx.seals = config.seals
        tx.origin = source.origin
        if tx.isTraced {
          let connection = tracker.isUp ? tracker.connections : 0
          tx.setSource(source.traced(at: memory.asked.now, connection: connection))
        }
        tx.counting.connectedAt = memory.live.beganLSN
        tx.counting.losesNoPush = config.profile.pushIsLossless
        // First, since the body may mark one of them as pending again.
        if !acknowledgements.settled.isEmpty {
          try tx.feedTable.settleReplies(acknowledgements.settled)
        }
        try body(tx)
        mustSeal = tx.mustSeal
        try tx.unreadTable.settle()
        counting = tx.counting
        for seq in Array(tx.feedTable.changedOperations).ascending() {
          changed.append((seq, try tx.operation(seq).map { OpenOperation($0) }))
        }
      }
      acknowledgements.flushed()
      if mustSeal { outbox.noteSeal() }
      for (cid, isWanted) in counting.recounts { list.recounts.note(cid, isWanted: isWanted) }
      if let cid = counting.caughtUp { list.recounts.bringBack(cid) }
      for (seq, operation) in changed { track(seq, operation) }
      takeUp(putBack: putBack)
      if !memory.effects.isEmpty { runEffects(memory.takeEffects()) }
      if store.lsn != lastLSN {
        lastLSN = store.lsn
        report.stats.commits += 1
        report.tellHost()
      }
    } catch {
      memory.takeBack(to: before)
      config.commits?.failed(self)
      throw error
    }
  }

  /// Brings memory to where a transaction brought the file.
  private func runEffects(_ effects: CommitEffects) {
    for _ in 0..<effects.restores {
      report.stats.restores &+= 1
      report.logLines.append(
        (.warn, "the server's copy is older than what is here: it was restored"))
    }
    for _ in 0..<effects.mismatches {
      report.stats.auditMismatches &+= 1
      report.logLines.append((.warn, "the server counts other messages than are here"))
    }
    if !effects.deleted.isEmpty { memory.pushed.insert(deleted: effects.deleted) }
    for conversation in effects.doubted { memory.live.doubt(conversation) }
    for conversation in effects.unclaimed {
      // Nothing follows the present any more, so no push may go on from there.
      memory.live.doubt(conversation)
      scheduler.beginAnew(in: conversation)
    }
    for conversation in effects.pending { scheduler.markPending(conversation) }
    for check in effects.checks { startRecheck(check.conversation, from: check.lowest) }
  }

  // MARK: Out of the cache

  func clear(_ now: Instant) throws(Failure) {
    try healing { () throws(StoreFailure) in
      try commit { tx throws(StoreFailure) in try tx.clearCache() }
      // A power cut would bring the old cache back, which was to be gone.
      try store.syncDurable()
    }
    forgetStored()
    report.tellHost()
    if tracker.isUp {
      wakeLists(now)
      wakeWindows(now)
    }
    pump(now)
  }

  /// Runs something of the store's; where a page of the file is damaged the file is healed, and it
  /// runs once more.
  func healing<Result>(
    _ body: () throws(StoreFailure) -> Result
  ) throws(Failure) -> Result {
    do throws(Failure) { return try storing(body) } catch {
      guard error == .damaged else { throw error }
    }
    try heal()
    return try storing(body)
  }

  /// Writes what the sound pages of the file say over all of it. What was lost is a gap, which
  /// syncs fill.
  @discardableResult func heal(_ known: Contradictions? = nil) throws(Failure) -> Salvaged {
    let found = try storing { () throws(StoreFailure) in
      let found = try store.heal(known)
      try recover(putBack: found.putBack)
      outbox.load(
        try store.read { rx throws(StoreFailure) in
          try rx.openOperations(limit: Limits.operationsMax)
        })
      for seq in found.putBack { checkUnknown(seq) }
      return found
    }
    report.logLines.append(
      .warn, "pages of the file were damaged, and are gaps now", Int64(clamping: found.lostPages))
    lastLSN = store.lsn
    forgetStored()
    report.tellHost()
    return found
  }

  /// Where a page is in the way the file is healed. What cannot be put back now waits.
  func putBackOwn() throws(StoreFailure) {
    do throws(StoreFailure) { try commit { _ in } } catch {
      switch error {
      case .full, .vault(.io): return
      case .damaged: break
      default: throw error
      }
      do throws(Failure) { try heal() } catch {
        // It stays beside the file, and the host is told.
      }
    }
  }

  /// What memory knew of stored rows is forgotten, and syncs begin again.
  private func forgetStored() {
    memory.clear()
    scheduler.clearAllPending()
    list.expire()
    list.recounts = Recounts()
    for job in scheduler.jobs { tracker.abandon(.sync(job.id)) }
    // An answer that is still waited for says nothing to a job that is at its start.
    scheduler.letGo(of: nil) { tracker.isPending(.sync($0)) }
    scheduler.wake()
    scheduler.beginAgain()
  }

  /// False where there is no such message. A page that is under way may show it as it was before
  /// an edit that goes with its row, so what was asked is asked again.
  func drop(_ id: [UInt8], of conversation: [UInt8]) throws(StoreFailure) -> Bool {
    let name = try commit { tx throws(StoreFailure) -> [UInt8]? in
      guard let record = try tx.conversation(conversation),
        let place = try tx.drop(id, in: record.cid)
      else { return nil }
      let stored = try tx.spans(record.cid)
      var spans = stored
      spans.remove(place, place.successor)
      spans.keepNewest(Limits.spansMax)
      try tx.save(spans: spans, replacing: stored, in: record.cid)
      return record.id
    }
    guard let name else { return false }
    scheduler.beginAgain { $0.conversation == name }
    return true
  }

  /// Takes out one message, which comes anew with the next page that lists it. False where it is
  /// not stored.
  func giveBack(
    _ id: [UInt8], of conversation: [UInt8], at now: Instant
  ) throws(StoreFailure) -> Bool {
    let effects = try commit { tx throws(StoreFailure) -> LogEffects? in
      guard let record = try tx.conversation(conversation), try tx.row(id, record.cid) != nil else {
        return nil
      }
      var input = try LogInput(memory, ingestRules, of: record, in: tx)
      _ = try tx.drop(id, in: record.cid)
      try input.book.giveBack(id)
      try input.finish()
      return input.effects
    }
    guard let effects else { return false }
    note(effects)
    // A page that is under way may be older than what goes with the row.
    scheduler.beginAgain { $0.conversation == effects.conversation }
    if memory.live.isLive(effects.conversation) { catchUp(effects.conversation) }
    pump(now)
    return true
  }

  /// False where there is no such conversation.
  func drop(_ conversation: [UInt8], at now: Instant) throws(StoreFailure) -> Bool {
    let record = try commit { tx throws(StoreFailure) -> ConversationRecord? in
      guard var record = try tx.conversation(conversation), !record.isPending else { return nil }
      try tx.dropMessages(record.cid)
      try scheme.history.dropAll(record.cid, in: tx)
      try planner(tx).dropClaims(&record)
      record.totalCount = nil
      try tx.save(record)
      // It is fetched for the first time once more.
      try tx.save(news: nil, in: record.cid)
      return record
    }
    guard let record else { return false }
    forget(record)
    if windows.windows.values.contains(where: { $0.conversation == record.id && $0.isFollowing }) {
      catchUp(record.id)
    }
    pump(now)
    return true
  }

  /// Takes out all that the file has of a conversation but its id, the user's own work with it. Nil
  /// where there is no such conversation.
  func erase(_ conversation: [UInt8], at now: Instant) throws(StoreFailure) -> Erased? {
    var operations: [UInt64] = []
    let found = try commit { tx throws(StoreFailure) -> (ConversationRecord, Erased)? in
      guard let record = try tx.conversation(conversation), !record.isPending else { return nil }
      operations = try tx.operations(in: record.cid)
      return (record, try tx.erase(record.cid, operations))
    }
    guard let (record, erased) = found else { return nil }
    for seq in operations { tracker.abandon(.operation(seq)) }
    forget(record)
    leave(record.id)
    // A power cut would bring it back.
    try store.syncDurable()
    pump(now)
    return erased
  }

  /// Nothing is known of a conversation any more, and what was asked of it says nothing.
  private func forget(_ record: ConversationRecord) {
    memory.drop(record.cid)
    for job in scheduler.jobs where job.request.conversation == record.id {
      tracker.abandon(.sync(job.id))
    }
    scheduler.letGo(of: record.id) { tracker.isPending(.sync($0)) }
  }
}
