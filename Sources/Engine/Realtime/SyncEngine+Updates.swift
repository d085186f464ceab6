/// What the server tells unasked, applied once, and what is pending for it beside syncs and
/// operations: replies to updates, receipts, and what the host has subscribed to.
///
/// Rule protected: all effects of a frame, the ref under which it is remembered and
/// the reply that is pending for it are one transaction. A ref that was seen is replied
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
      if let ref = update.ref, try tx.feedReader.seen(ref) {
        isRepeated = true
        return try tx.feedTable.markPending(ref, wallUs: arrival.now.wallUs ?? .max)
      }
      tx.isSilent = update.isSilent
      if self.config.profile.pushIsLossless, !self.subscriptions.areInTrouble() {
        tx.receivedSince = self.memory.live.receivedSince
      }
      var applier = applier(tx, update, from: arrival)
      try applier.run()
      effects = applier.effects
      if let ref = update.ref { try self.remember(ref, at: arrival.now, in: tx) }
    }
    if let ref = update.ref {
      // Without a connection it is pending in the file alone: the next one hands it out.
      if tracker.isUp { acknowledgements.markPending(ref) }
      report.tellHost()
      if isRepeated { report.stats.updatesRepeated += 1 } else { report.stats.updates += 1 }
    }
    if isRepeated { return .applied }
    if update.ref != nil { acknowledgements.noteApplied() }
    runEffects(effects)
    ask(effects.doubts, at: arrival.now)
    if tracker.isUp { applyTyping(effects.signs, at: arrival.now) }
    return effects.quarantined > 0 ? .quarantined : .applied
  }

  /// Notes a ref and the reply pending; from time to time old refs are let go.
  private func remember(
    _ ref: [UInt8], at now: Instant, in tx: WriteTransaction
  ) throws(StoreFailure) {
    // Without a clock a ref does not age; there are only so many of them.
    try tx.feedTable.markPending(ref, wallUs: now.wallUs ?? .max)
    guard acknowledgements.mustTrim else { return }
    let memoryUs = Int64(clamping: config.profile.refDays) &* WatermarkPolicy.dayUs
    try tx.feedTable.trimRefs(
      kept: config.profile.refsMax, beforeUs: now.wallUs?.saturating(minus: memoryUs) ?? .min,
      pendingKept: config.profile.refsMax)
  }

  /// What the memory learns once a delivery is committed.
  func runEffects(_ effects: UpdateApplier.Effects) {
    report.stats.quarantined += UInt64(effects.quarantined)
    report.stats.duplicates += UInt64(effects.duplicates)
    report.aside.add(effects.aside)
    if effects.sawClientID { outbox.noteClientIDs() }
    if effects.queuedMarks { receipts.queue(Limits.markReadBatch) }
    for log in effects.logs { note(log) }
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
    for conversation in Array(effects.behind).inByteOrder() {
      // What was lost before this push is asked for, also where a catch-up is under
      // way: its first page may be older than the push.
      let isAsking = scheduler.asks(conversation)
      let wasLive = memory.live.wasLive(conversation) || scheduler.isPending(conversation)
      if isAsking || wasLive { scheduler.checks.add(conversation) }
    }
  }

  /// Brings memory to where an input brought a log.
  func note(_ log: LogEffects) {
    if log.isConnected { memory.logs.noteConnected(log.cid) }
    memory.logs.note(emptyEnd: log.emptyEnd, of: log.cid)
    guard tracker.isUp else { return }
    memory.fresh.remove(log.cid)
    memory.fresh.insert(log.fresh, log.cid)
  }

  /// Takes a push of a server that keeps a log.
  func apply(_ push: EntryPush, _ arrival: Arrival) throws(StoreFailure) -> Receipt {
    var effects = UpdateApplier.Effects()
    try commit { tx throws(StoreFailure) in
      if self.config.profile.pushIsLossless, !self.subscriptions.areInTrouble() {
        tx.receivedSince = self.memory.live.receivedSince
      }
      var applier = applier(tx, ServerUpdate(entries: push), from: arrival)
      try applier.entries(push)
      effects = applier.effects
    }
    runEffects(effects)
    if tracker.isUp { applyTyping(effects.signs, at: arrival.now) }
    return effects.quarantined > 0 ? .quarantined : .applied
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
      names += Array(memory.live.caughtUp.all).inByteOrder()
      scheduler.beginAgain()
    }
    for name in names {
      scheduler.beginAgain { $0.conversation == name }
      memory.live.doubt(name)
      let isAsking = scheduler.asks(name)
      if isAsking || scheduler.isPending(name) || memory.live.isDoubted(name) { catchUp(name) }
    }
    if doubts.list {
      scheduler.beginAgain { $0.kind == .conversations }
      memory.left.removeListing()
      wakeLists(now)
    }
  }

  /// How far what happens on the server is pushed now.
  var pushReach: PushReach {
    PushReach(
      isUp: tracker.isUp, isLossless: config.profile.pushIsLossless, subscriptions: subscriptions,
      open: outbox.open, jobs: scheduler.jobs)
  }

  /// Who applies an update, for one transaction.
  func applier(
    _ tx: WriteTransaction, _ update: ServerUpdate, from arrival: Arrival
  ) -> UpdateApplier {
    UpdateApplier(
      memory, pushReach: pushReach, rules: ingestRules, in: tx, update: update, from: arrival)
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

  // MARK: Replies

  /// Hands the pending replies out again.
  func beginAcknowledgements() {
    acknowledgements.connect()
    do {
      try loadAcknowledgements()
      if !acknowledgements.ready.isEmpty { report.tellHost() }
    } catch {
      report.tellHost()
    }
  }

  private func loadAcknowledgements() throws(StoreFailure) {
    guard acknowledgements.ready.isEmpty, acknowledgements.hasMore else { return }
    let limit = acknowledgements.loadLimit
    acknowledgements.load(
      try store.read { rx throws(StoreFailure) in try rx.feedReader.pendingReplies(limit: limit) })
  }

  /// The next reply as a frame, made only when all effects are on disk: one sync
  /// serves all that are ready.
  func nextAcknowledgement() throws(Failure) -> OutgoingFrame? {
    guard tracker.isUp else { return nil }
    return try storing { () throws(StoreFailure) in
      try loadAcknowledgements()
      guard let ref = acknowledgements.ready.first else { return nil }
      if acknowledgements.isUnsynced(lastLSN) {
        try store.syncDurable()
        acknowledgements.synced(lastLSN)
      }
      let frame = tracker.newFrame()
      acknowledgements.handOut(frame)
      report.stats.replies += 1
      let account = config.account.isEmpty ? nil : config.account
      return OutgoingFrame(id: frame, bytes: encodedReply(ref: ref, account: account))
    }
  }

  /// The host wrote a reply: false where the frame is none.
  func acknowledgementSent(_ frame: UInt64) -> Bool {
    guard acknowledgements.report(frame) else { return false }
    if acknowledgements.hasMore, acknowledgements.ready.isEmpty { report.tellHost() }
    if acknowledgements.settled.count >= Limits.repliesReady { rememberSent() }
    return true
  }

  /// Writes down which replies were sent, where no commit has done it on its way. What
  /// cannot be written is replied to once more, which does no harm.
  func rememberSent() {
    guard !acknowledgements.settled.isEmpty else { return }
    do {
      try commit { _ throws(StoreFailure) in }
    } catch {
      report.logLines.append((.warn, "sent replies could not be noted"))
    }
  }

  // MARK: Receipts

  /// Queues marks for the host; synced before it returns.
  func mark(
    _ kind: ReceiptKind, in conversation: [UInt8], ids: [[UInt8]], at now: Instant
  ) throws(Failure) {
    let queued = try storing { () throws(StoreFailure) in
      let queued = try commit { tx throws(StoreFailure) in
        guard let record = try tx.conversation(conversation) else { return false }
        var queued = false
        for id in ids where try tx.annotationTable.enqueueMark(kind, id: id, in: record.cid) {
          queued = true
        }
        return queued
      }
      if queued || outbox.needsSync { try syncOwn() }
      return queued
    }
    if queued {
      receipts.queue(Limits.markReadBatch)
      pump(now)
    }
  }

  /// Brings to disk what the user did. Where that fails, or an earlier process was killed
  /// before it, what is found queued may not be called safe.
  func syncOwn() throws(StoreFailure) {
    outbox.beginSync()
    try store.syncDurable()
    outbox.endSync()
  }

  /// Sends what is queued, one request a conversation and kind.
  func sendMarks(_ now: Instant) {
    guard receipts.isWaiting, tracker.hasRoom, receipts.notBeforeMs <= now.monotonicMs else {
      return
    }
    // Pages that go on bring more of them: fewer and larger requests say the same.
    let goesOn = scheduler.jobs.contains {
      $0.stage.asksPages && $0.turn.attempts == 0
        && ($0.turn.inFlight || $0.turn.notBeforeMs <= now.monotonicMs)
    }
    if goesOn, receipts.areFew { return }
    do {
      let groups = try store.read { rx throws(StoreFailure) in
        try rx.pendingMarks(limit: Limits.markReadMax)
      }
      var left = false
      receipts.beginSending()
      for group in groups {
        let key = ReceiptGroup(kind: group.kind, cid: group.cid)
        let isPending = tracker.pendingRequests.contains { pending in
          if case .marks(key, _, _) = pending.purpose { true } else { false }
        }
        guard !isPending, tracker.hasRoom else {
          left = true
          continue
        }
        let ids = Array(group.ids.prefix(receipts.batch(key)))
        if ids.count < group.ids.count {
          left = true
          receipts.leave(group.ids.count - ids.count)
        }
        report.stats.requests += 1
        let request: Request =
          switch group.kind {
          case .read: .markRead(conversation: group.conversation, ids: ids)
          case .delivered: .markDelivered(conversation: group.conversation, ids: ids)
          case .listened: .markListened(conversation: group.conversation, ids: ids)
          }
        tracker.send(
          request, for: .marks(key, conversation: group.conversation, ids: ids),
          issued: lastLSN, account: commander)
        report.tellHost()
      }
      receipts.endSending(areLeft: left)
    } catch {
      report.logLines.append((.error, "marks could not be read"))
    }
  }

  /// Marks were not taken: they are tried again.
  func troubleMarks(_ failure: Failure, retryAfterMs: Int64, at now: Instant) {
    receipts.fail(isSilent: failure == .timeout, at: now.monotonicMs) { attempts, atLeast in
      tracker.backoffMs(attempt: attempts, atLeast: max(retryAfterMs, atLeast))
    }
  }

  /// Takes the answer to marks.
  func takeMarkAnswer(
    _ outcome: Outcome, group: ReceiptGroup, in conversation: [UInt8], ids: [[UInt8]],
    at now: Instant
  ) throws(StoreFailure) -> Receipt {
    let purpose = PendingRequest.Purpose.marks(group, conversation: conversation, ids: ids)
    switch outcome {
    case .failed(.rateLimited, let retry), .failed(.unavailable, let retry):
      trouble(purpose, failure: .unavailable, retryAfterMs: retry ?? 0, at: now)
      return .applied
    case .failed(.other, let retry):
      // An error that says nothing here is no refusal: the marks are still pending.
      trouble(purpose, failure: .unavailable, retryAfterMs: retry ?? 0, at: now)
      return .applied
    case .failed(.exists, _), .done, .page, .entries, .deleted, .changed, .malformed, .message,
      .conversation, .conversations, .receipts, .counts, .subscribed:
      do {
        try commit { tx throws(StoreFailure) in
          _ = try tx.annotationTable.confirmMarks(group.kind, ids: ids, in: group.cid)
        }
      } catch {
        trouble(purpose, failure: .storage(0), retryAfterMs: 0, at: now)
        throw error
      }
      receipts.succeed(group)
    case .failed(let error, _):
      let isOfAll = error == .forbidden || error == .unsupported
      if ids.count > 1, !isOfAll {
        receipts.halve(group, of: ids.count)
      } else {
        // Refused for good: asking again would be refused again.
        try commit { tx throws(StoreFailure) in
          try tx.annotationTable.dropMarks(group.kind, ids: ids, in: group.cid)
        }
        report.logLines.append((.warn, "the server refused marks"))
      }
    }
    receipts.answered()
    return .applied
  }

  // MARK: Subscriptions

  /// Asks what is due; false while other work is to wait for it.
  func sendSubscriptions() -> Bool {
    while subscriptions.areDue {
      guard tracker.hasRoom, let one = subscriptions.takeDue() else { return false }
      ask(one)
    }
    return !tracker.pendingRequests.contains { pending in
      guard case .subscription(let one) = pending.purpose else { return false }
      return subscriptions.holdsUp(one)
    }
  }

  /// Asks one of those in trouble once more, one at a time.
  func sendTroubled(_ now: Instant) {
    guard subscriptions.nextMs != nil, tracker.hasRoom,
      !tracker.pendingRequests.contains(where: \.isSubscription),
      let one = subscriptions.takeTroubled(now.monotonicMs)
    else { return }
    ask(one)
  }

  private func ask(_ one: Subscription) {
    report.stats.requests += 1
    let request = OperationRequest(
      verb: .subscribe, conversation: one.conversation, body: one.body)
    tracker.send(
      .operation(request), for: .subscription(one), issued: lastLSN, account: commander)
    report.tellHost()
  }

  func takeSubscription(_ one: Subscription, outcome: Outcome, at now: Instant) {
    subscriptions.rest(now.monotonicMs)
    switch outcome {
    case .failed(.rateLimited, let retry), .failed(.unavailable, let retry):
      subscribeAgain(one, atLeast: retry ?? 0, at: now)
    case .failed(.other, let retry?):
      subscribeAgain(one, atLeast: retry, at: now)
    case .malformed:
      subscribeAgain(one, atLeast: 0, at: now)
    case .failed(let error, _) where error != .exists:
      subscriptions.remove(one)
      report.logLines.append((.warn, "the server refused a subscription"))
    default:
      if subscriptions.confirm(one) { catchUpSubscribed(one, at: now) }
    }
  }

  func subscribeAgain(
    _ one: Subscription, atLeast: Int64, isSilent: Bool = false, at now: Instant
  ) {
    subscriptions.again(one, isSilent: isSilent) { attempt in
      now.monotonicMs + tracker.backoffMs(attempt: attempt, atLeast: atLeast)
    }
  }

  /// What came before a subscription took hold was not pushed: what was caught up until
  /// then may lack it, and is caught up anew.
  func catchUpSubscribed(_ one: Subscription, at now: Instant) {
    memory.live.noteCommitted(from: lastLSN)
    scheduler.beginAgain { one.covers($0.conversation) }
    let past = memory.live.caughtUp.all.filter { one.covers($0) }
    for name in Array(past).inByteOrder() {
      memory.live.doubt(name)
      catchUp(name)
    }
    if one.conversation == nil { wakeLists(now) }
  }
}
