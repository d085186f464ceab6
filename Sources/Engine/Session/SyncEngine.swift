/// The state machine: inputs in, one store transaction each, frames out.
///
/// Everything durable is in the store; what is here can be lost with the process.
/// A `SyncEngine` is reached under the client's lock only, and reads no clock: each input
/// carries the time.
internal import Base
internal import Store
internal import Timeline
internal import Wire

final class SyncEngine {
  let config: CoreConfig
  let store: MessageStore
  let memory: SyncMemory
  var lastLSN: UInt64
  var tracker: RequestTracker
  var scheduler: SyncScheduler
  /// Receipts pending for the server.
  var receipts = ReceiptQueue()
  /// Replies pending for updates.
  var acknowledgements = Acknowledgements()
  /// What the user did and the server has not confirmed.
  var outbox: Outbox
  var subscriptions: Subscriptions
  /// The open windows: what they ask goes first.
  let windows: WindowRegistry
  /// The server's list of conversations, as far as this connection has read it.
  var list = ListFreshness()
  /// Where what is committed now comes from: the host, but while a frame is taken.
  var source = ChangeSource()
  var typing = Typing()
  /// What the host is told of: counters, lines, and whether it should look.
  var report: Report

  /// Only reads. Once the file is accepted, `recoverOperations` is due.
  ///
  /// - Parameter old: whose file was given up: what the host knows by number goes on from it, and
  ///   what the file says is read anew.
  init(
    _ config: CoreConfig, in store: MessageStore, after old: SyncEngine? = nil
  ) throws(StoreFailure) {
    self.config = config
    self.store = store
    let facts = try store.read { rx throws(StoreFailure) in try rx.facts() }
    memory = SyncMemory(ServerKnowledge(config.profile, facts: facts))
    lastLSN = store.lsn
    scheduler = old?.scheduler ?? SyncScheduler()
    subscriptions = old?.subscriptions ?? Subscriptions()
    windows = old?.windows ?? WindowRegistry()
    report = old?.report ?? Report()
    tracker =
      old?.tracker
      ?? RequestTracker(
        seed: config.seed,
        pacing: AdaptivePacing(
          configuredMs: config.requestTimeoutMs,
          pageLimit: min(max(config.profile.pageLimit, 1), Limits.pageLimitMax)),
        pendingMax: config.requestsMax)
    outbox = Outbox(names: old?.outbox.names ?? ClientNames(seed: config.seed ^ lastLSN))
    if let old { takeOver(old) }
    try loadOperations()
  }

  /// Only a commit changes these, so they are counted once for each. A host asks after each turn.
  func countStored() throws(Failure) -> StoredCounts {
    let lsn = store.lsn
    if let counts = report.counts(asOf: lsn) { return counts }
    let counts = try storing { () throws(StoreFailure) in
      try store.read { rx throws(StoreFailure) in
        StoredCounts(
          readsPending: try rx.pendingMarkCount(), changeSeq: try rx.feedReader.lastChange(),
          pendingReplies: try rx.feedReader.pendingReplyCount())
      }
    }
    report.keep(counts, asOf: lsn)
    return counts
  }

  /// The account that requests are commands of; nil where they go out bare.
  var commander: [UInt8]? {
    config.profile.capabilities.contains(.envelope) ? config.account : nil
  }

  var overlapUs: Int64 { memory.server.overlapUs }

  // MARK: Inputs

  func connected(_ now: Instant) {
    report.logLines.append((.info, "connected"))
    requeue(tracker.connect(nowMs: now.monotonicMs), now)
    if tracker.isResting(now.monotonicMs) {
      let restMs = tracker.losses.restsUntilMs - now.monotonicMs
      report.logLines.append(.warn, "connections ended without an answer: requests wait", restMs)
      // Who waits for news has to hear until when.
      report.tellHost()
    }
    memory.connect(at: lastLSN, nowMs: now.monotonicMs)
    receipts.connect()
    scheduler.wake()
    beginAcknowledgements()
    // Those in trouble come after other work, also where that has to wait.
    let beginsMs = max(now.monotonicMs, tracker.losses.restsUntilMs)
    subscriptions.connect { attempt in
      beginsMs + tracker.backoffMs(attempt: attempt, atLeast: 0)
    }
    outbox.connect(at: now.monotonicMs, timeoutMs: tracker.pacing.timeoutMs)
    clearTyping()
    wakeLists(now)
    wakeWindows(now)
    catchUpWithAllAgain()
    checkRestores(now)
    pump(now)
  }

  func disconnected(_ now: Instant) {
    if tracker.link != .down { report.logLines.append((.info, "disconnected")) }
    requeue(tracker.disconnect(nowMs: now.monotonicMs), now)
    subscriptions.disconnect()
    memory.disconnect()
    list.expire()
    clearTyping()
    acknowledgements.disconnect()
  }

  /// What was unanswered is asked again on the next connection.
  private func requeue(_ lost: [PendingRequest], _ now: Instant) {
    var syncs: [UInt64] = []
    for pending in lost {
      switch pending.purpose {
      case .sync(let id):
        syncs.append(id)
        if pending.sentMs != nil { scheduler.noteLost(id) }
      case .marks:
        receipts.wake()
      case .operation:
        loseOperation(pending, at: now)
      case .subscription(let one):
        // A connection that never lasts until the time-out would see nothing else.
        guard let sentMs = pending.sentMs, now.monotonicMs - sentMs >= AdaptivePacing.timeoutMsMin
        else { continue }
        subscribeAgain(one, atLeast: 0, isSilent: true, at: now)
      }
    }
    scheduler.disconnect(losing: syncs)
    endInVain()
    breakPromises(scheduler.policies.takeOffline(), .offline, at: now)
    if !lost.isEmpty || !windows.windows.isEmpty { report.tellHost() }
  }

  /// Ends a sync that was asked six times, and all of them after six connections without an answer.
  private func endInVain() {
    if config.profile.isPlanted(.syncNeverGivenUp) { return }
    for job in scheduler.jobs
    where tracker.losses.isGivenUp || job.turn.attempts >= SyncScheduler.attemptsMax {
      end(job, trouble: .timeout)
    }
    if tracker.losses.isGivenUp { endCatchUp(trouble: .incomplete) }
  }

  func advance(_ now: Instant) -> Int64 {
    let late = tracker.expire(nowMs: now.monotonicMs)
    for pending in late {
      report.stats.timeouts += 1
      if case .operation = pending.purpose {
        loseOperation(pending, at: now)
      } else {
        trouble(pending.purpose, failure: .timeout, retryAfterMs: 0, at: now)
      }
    }
    if tracker.link == .unusable, !late.isEmpty {
      report.logLines.append((.warn, "no answer in time on a connection without request ids"))
      endInVain()
      report.tellHost()
    }
    expireTyping(now)
    checkRestores(now)
    markSeen(now)
    breakPromises(scheduler.policies.takeLate(now.monotonicMs), .timeout, at: now)
    pump(now)
    var next = min(tracker.deadlineMs ?? .max, typing.deadlineMs ?? .max)
    next = min(next, scheduler.policies.deadlineMs ?? .max)
    if tracker.isUp {
      next = min(next, scheduler.deadlineMs(after: now.monotonicMs) ?? .max)
      if tracker.isResting(now.monotonicMs) { next = min(next, tracker.losses.restsUntilMs) }
      if receipts.isWaiting, receipts.notBeforeMs > now.monotonicMs {
        next = min(next, receipts.notBeforeMs)
      }
      next = min(next, outbox.deadlineMs(after: now.monotonicMs) ?? .max)
      if let check = memory.restores.nextMs, check > now.monotonicMs { next = min(next, check) }
      next = min(next, list.recounts.nextMs(after: now.monotonicMs) ?? .max)
      if let again = subscriptions.nextMs, again > now.monotonicMs {
        next = min(next, again)
      }
    }
    if config.autoMarkRead,
      let seen = windows.snapshot.withLock({ $0.seen.deadlineMs(for: config.seenMs) })
    {
      next = min(next, max(seen, now.monotonicMs))
    }
    let held = windows.takeHolds(at: now.monotonicMs, rest: next)
    if held.isDue { report.tellHost() }
    next = held.next
    return next == .max ? -1 : max(0, next - now.monotonicMs)
  }

  func sync(_ asked: SyncRequest, at now: Instant) throws(Failure) -> UInt64 {
    if asked.kind == .all {
      let all = catchUpWithAll(marksRead: asked.marksRead)
      pump(now)
      return all
    }
    var request = asked
    request.conversation = try storing { () throws(StoreFailure) in
      try canonical(asked.conversation)
    }
    if let twin = scheduler.join(request) {
      if twin.isRaised { pump(now) }
      return twin.id
    }
    guard scheduler.hasRoom else { throw .full("4,096 syncs wait") }
    let id = scheduler.add(request, trouble: tracker.isUp ? nil : .offline)
    pump(now)
    return id
  }

  /// False when the sync had ended.
  func cancel(_ id: UInt64, at now: Instant) throws(Failure) -> Bool {
    if cancelPromise(id, at: now) || cancelCatchUp(id, at: now) { return true }
    guard let job = scheduler.job(id) else {
      guard scheduler.status(id) != nil else { throw .noSync }
      return false
    }
    let kept = scheduler.policies.take(of: id)
    tracker.abandon(.sync(id))
    end(job, trouble: .cancelled)
    keepOn(kept, with: job.request, at: now)
    pump(now)
    return true
  }

  /// Says that one of those who asked for a sync wants it no more; the last one
  /// cancels it.
  func release(_ id: UInt64, at now: Instant) {
    if scheduler.all?.id == id, scheduler.leaveAll() { _ = cancelCatchUp(id, at: now) }
    guard let job = scheduler.leave(id) else { return }
    tracker.abandon(.sync(id))
    end(job, trouble: .cancelled)
    pump(now)
  }

  func syncStatus(_ id: UInt64) throws(Failure) -> SyncStatus {
    let known = scheduler.policies.promise(id)?.sync ?? id
    guard var status = catchUpStatus(known) ?? scheduler.status(known) else { throw .noSync }
    if let subject = subject(of: known) { status.asOfUs = asOfUs(subject) }
    return status
  }

  // MARK: Jobs

  /// Takes a job out of the queue with its result.
  func end(_ job: SyncJob, trouble: Failure?) {
    let status = scheduler.end(job, trouble: trouble, asOfUs: noteAsked(job, trouble: trouble))
    if trouble == .incomplete { report.stats.walksIncomplete += 1 }
    report.log(end: status, trouble: trouble)
    catchUpEnded(job.id, status, trouble: trouble)
    keepPromises(of: job.id, status)
    windows.ended(job.id, trouble: trouble)
    checkEnded(job, trouble: trouble)
    report.tellHost()
    let conversation = job.request.conversation
    // What came by push beside it is closed all the same where all had been caught up.
    let isKept = memory.live.wasLive(conversation)
    if scheduler.pending.contains(conversation), trouble == nil || isKept, tracker.isUp {
      scheduler.clearPending(conversation)
      catchUp(conversation)
    } else if trouble == .cancelled, memory.live.isDoubted(conversation), tracker.isUp {
      // It was what brought back the claims that it had dropped, and nobody else does.
      catchUp(conversation)
    }
  }

  /// Asks for a catch-up on the library's own account; one at a time.
  func catchUp(_ conversation: [UInt8]) {
    guard scheduler.hasRoom else { return }
    if scheduler.asks(conversation) { return scheduler.markPending(conversation) }
    scheduler.add(SyncRequest(conversation: conversation))
  }

  /// A request failed for now: try again later, or give up.
  func trouble(
    _ purpose: PendingRequest.Purpose, failure: Failure, retryAfterMs: Int64, at now: Instant
  ) {
    switch purpose {
    case .operation:
      break
    case .subscription(let one):
      subscriptions.rest(now.monotonicMs)
      subscribeAgain(one, atLeast: retryAfterMs, isSilent: failure == .timeout, at: now)
    case .marks:
      troubleMarks(failure, retryAfterMs: retryAfterMs, at: now)
    case .sync(let id):
      let (isRetried, given) = scheduler.fail(id, failure, nowMs: now.monotonicMs) { attempts in
        tracker.backoffMs(attempt: attempts, atLeast: retryAfterMs)
      }
      if isRetried { report.stats.retries += 1 }
      if let given { end(given, trouble: failure) }
    }
  }

  /// Sends what may be sent now: subscriptions, whose first answers all else waits for, then
  /// what the user did and marks, then what a screen waits for, then the other syncs in the order
  /// asked; one sync request at a time in each conversation.
  func pump(_ now: Instant) {
    let rests =
      tracker.isResting(now.monotonicMs) && !config.profile.isPlanted(.connectionsNotPaused)
    guard !rests, sendSubscriptions() else { return }
    if tracker.isUp { for name in scheduler.checks.takeDue(now.monotonicMs) { catchUp(name) } }
    sendTroubled(now)
    sendOperations(now)
    sendMarks(now)
    recount(now)
    repeat { sendSyncs(now) } while feedCatchUp(now)
  }

  private func sendSyncs(_ now: Instant) {
    if scheduler.jobs.isEmpty { return }
    var busy = Set(scheduler.jobs.filter(\.turn.inFlight).map(\.request.conversation))
    for isUrgent in [true, false] {
      var index = 0
      while tracker.hasRoom,
        let found = scheduler.ready(
          from: index, isUrgent: isUrgent, nowMs: now.monotonicMs, besides: busy,
          waitsFor: { outbox.isUnmade($0) })
      {
        let job = scheduler.jobs[found]
        launch(job, at: now)
        index = found
        // One that ended at once has left the list, and the next one may have its turn.
        guard found < scheduler.jobs.count, scheduler.jobs[found].id == job.id else { continue }
        busy.insert(job.request.conversation)
        index += 1
      }
    }
  }

  private func launch(_ waiting: SyncJob, at now: Instant) {
    var job = waiting
    if case .start = job.stage {
      job.turn.beganMs = now.monotonicMs
      do {
        if case .ended(let trouble) = try begin(&job) {
          end(job, trouble: trouble)
          return
        }
      } catch {
        end(waiting, trouble: Failure(error))
        return
      }
    }
    guard let request = job.wireRequest(limit: tracker.pacing.pageLimit) else {
      Invariants.report("a job without a request", #fileID, #line)
      end(job, trouble: .internal("a job without a request"))
      return
    }
    job.turn.inFlight = true
    job.status.phase = .running
    job.status.requests += 1
    report.stats.requests += 1
    scheduler.replace(job)
    tracker.send(request, for: .sync(job.id), issued: lastLSN, account: commander)
    outbox.noteSent(isOperation: false)
    report.tellHost()
  }

  /// What would be done next for a message.
  func next(after found: Explanation) -> Explanation.Next {
    let soon: Explanation.Next = tracker.isUp ? .request : .connect
    switch found.reason {
    case .shown, .erased, .control, .deleted, .unreadable, .elsewhere, .cancelled: return .none
    case .pending: return found.isStuck ? .decide : soon
    case .deleting: return soon
    case .noConversation: return scheduler.asksList ? soon : .syncConversations
    case .absent, .gap, .purged, .dropped, .unfetched: break
    }
    let isWatched = windows.windows.values.contains {
      $0.conversation == found.conversation && $0.isFollowing
    }
    let isAsked = scheduler.asks(found.conversation) || scheduler.isPending(found.conversation)
    if isAsked || isWatched && !tracker.isUp { return soon }
    if found.reason == .absent {
      return memory.live.isLive(found.conversation) ? .none : .syncLatest
    }
    return found.reason == .unfetched || found.isAtPresent ? .syncLatest : .syncOlder
  }
}
