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
  let config: ClientConfig
  let store: MessageStore
  var facts: ServerFacts
  /// The device's clocks at the last page, and by how much the server's was seen to be ahead
  /// of the one that runs since the device's start.
  var clock = Instant(monotonicMs: 0)
  var aheadOfStartUs: Int64?
  var toldClock = ToldClock()
  var lastLSN: UInt64
  var tracker: RequestTracker
  /// Syncs that have not ended, in the order asked.
  var jobs: [SyncJob] = []
  private var ended: [UInt64: SyncStatus] = [:]
  private var endedOrder: [UInt64] = []
  var nextSync: UInt64 = 1
  /// All conversations are being caught up with.
  var catchUpAll: CatchUpAll?
  /// Conversations whose catch-up ended well on this connection.
  var caughtUp = IDSet()
  var fresh = FreshRanges()
  /// How this server lists messages, as far as seen.
  var ties = TieLearner()
  /// How this server prints times, from the last page of any conversation.
  var form: Stamp?
  /// Conversations in which something arrived by push since their last catch-up.
  var dirty: Set<[UInt8]> = []
  /// Conversations that were live on this connection until a sync dropped what was claimed
  /// of them; it catches up anew by itself.
  var doubted: Set<[UInt8]> = []
  /// Where walks without an end were left: through deletions and changes, whose cursors are
  /// no times, and through the list of conversations.
  var leftCursors: [LeftCursor.Walk: LeftCursor] = [:]
  var leftListing: Listing?
  /// At which offsets what is known stands on the server.
  var offsets = OffsetHints()
  /// What speaks for a server that was restored.
  var restores = RestoreDetection()
  /// Messages that came by push and that no page has shown yet.
  var pushed = PushedRows()
  /// What they have linked, and no catch-up has gone over yet.
  var linked = LinkedRanges()
  /// What the user did may be committed and not synced, by an earlier process too.
  var owesSync = true
  /// Receipts owed to the server.
  var receipts = ReceiptQueue()
  /// Replies owed to updates.
  var acknowledgements = Acknowledgements()
  /// What the user did and the server has not confirmed.
  var outbox = Outbox()
  var subscriptions = Subscriptions()
  /// An edit that followed by itself is to be sealed.
  var mustSeal = false
  /// Names of what the user makes.
  var random: Random
  /// The open windows: what they ask goes first.
  let windows = WindowRegistry()
  /// The server's list of conversations was fetched whole on this connection.
  var listIsWhole = false
  /// A count of unread messages is in doubt, and when the list may be asked for it.
  var mustRecount = false
  /// Where what is committed now comes from: the host, but while a frame is taken.
  var origin = ChangeOrigin.own
  var recountsFromMs = Int64.min
  var typing = Typing()
  /// The newest commit when the connection began; nil while there is none.
  var connectedLSN: UInt64?
  /// The newest commit when this connection began.
  var beganLSN: UInt64 = 0
  var stats = Stats()
  var logLines = LogLines()
  /// What the input that is being taken has set aside.
  var aside = SetAside()
  /// Why it is of no use.
  var ignored: StaticText?
  /// Whether the host should look.
  var hasNews = false
  /// What `state` counts in the store, as of a commit.
  private var tally: (lsn: UInt64, counts: StoredCounts)?

  init(_ config: ClientConfig, in store: MessageStore) throws(StoreFailure) {
    self.config = config
    self.store = store
    facts = try store.read { rx throws(StoreFailure) in try rx.facts() }
    lastLSN = store.lsn
    tracker = RequestTracker(
      seed: config.seed,
      pacing: AdaptivePacing(
        configuredMs: config.requestTimeoutMs,
        pageLimit: min(max(config.profile.pageLimit, 1), Limits.pageLimitMax)),
      pendingMax: config.requestsMax)
    // Other names in each process, also where the host gives the seed.
    var mixed = Random(seed: config.seed ^ lastLSN)
    random = Random(seed: mixed.next())
    try recoverOperations()
  }

  /// Only a commit changes these, so they are counted once for each. A host asks after each turn.
  func countStored() throws(Failure) -> StoredCounts {
    let lsn = store.lsn
    if let tally, tally.lsn == lsn { return tally.counts }
    let counts = try storing { () throws(StoreFailure) in
      try store.read { rx throws(StoreFailure) in
        StoredCounts(
          readsPending: try rx.pendingMarkCount(), changeSeq: try rx.lastChange(),
          owed: try rx.owedCount())
      }
    }
    tally = (lsn, counts)
    return counts
  }

  struct StoredCounts {
    var readsPending: Int
    var changeSeq: UInt64
    var owed: Int
  }

  /// The account that requests are commands of; nil where they go out bare.
  var commander: [UInt8]? {
    config.profile.capabilities.contains(.envelope) ? config.account : nil
  }

  var overlapUs: Int64 {
    max(config.profile.overlapUs, facts.overlapUs)
  }

  // MARK: Inputs

  func connected(_ now: Instant) {
    logLines.append((.info, "connected"))
    requeue(tracker.connect(), now)
    restores.connect(nowMs: now.monotonicMs)
    toldClock.connect()
    caughtUp = IDSet()
    doubted = []
    offsets = OffsetHints()
    leftCursors = [:]
    leftListing = nil
    fresh.empty()
    receipts.connect()
    for index in jobs.indices { jobs[index].notBeforeMs = .min }
    beginAcknowledgements()
    subscriptions.connect { attempt in
      now.monotonicMs + tracker.backoffMs(attempt: attempt, atLeast: 0)
    }
    let waitMs = outbox.isFormerDead ? 0 : tracker.pacing.timeoutMs
    outbox.connect(checksAfterMs: now.monotonicMs + waitMs)
    clearTyping()
    connectedLSN = lastLSN
    beganLSN = lastLSN
    wakeLists(now)
    wakeWindows(now)
    catchUpWithAllAgain()
    checkRestores(now)
    pump(now)
  }

  func disconnected(_ now: Instant) {
    if tracker.link != .down { logLines.append((.info, "disconnected")) }
    requeue(tracker.disconnect(), now)
    subscriptions.disconnect()
    caughtUp = IDSet()
    fresh.empty()
    listIsWhole = false
    connectedLSN = nil
    clearTyping()
    acknowledgements.disconnect()
  }

  /// What was unanswered is asked again on the next connection.
  private func requeue(_ lost: [PendingRequest], _ now: Instant) {
    for pending in lost {
      switch pending.purpose {
      case .sync(let id):
        guard let index = jobs.firstIndex(where: { $0.id == id }) else { continue }
        jobs[index].inFlight = false
        jobs[index].status.phase = .waiting
        jobs[index].status.trouble = .offline
        // Offsets and bounds belong to the time they were asked in.
        jobs[index].beginAgain()
      case .marks:
        receipts.isWaiting = true
      case .operation:
        loseOperation(pending, at: now)
      case .subscription(let one):
        // A connection that never lasts until the time-out would see nothing else.
        guard let sentMs = pending.sentMs, now.monotonicMs - sentMs >= AdaptivePacing.timeoutMsMin
        else { continue }
        subscribeAgain(one, atLeast: 0, isSilent: true, at: now)
      }
    }
    for index in jobs.indices where !jobs[index].inFlight { jobs[index].beginAgain() }
    if !lost.isEmpty || !windows.windows.isEmpty { hasNews = true }
  }

  func advance(_ now: Instant) -> Int64 {
    let late = tracker.expire(nowMs: now.monotonicMs)
    for pending in late {
      stats.timeouts += 1
      if case .operation = pending.purpose {
        loseOperation(pending, at: now)
      } else {
        trouble(pending.purpose, failure: .timeout, retryAfterMs: 0, at: now)
      }
    }
    if tracker.link == .void, !late.isEmpty {
      logLines.append((.warn, "no answer in time on a connection without request ids"))
      hasNews = true
    }
    expireTyping(now)
    checkRestores(now)
    markSeen(now)
    pump(now)
    var next = min(tracker.deadlineMs ?? .max, typing.deadlineMs ?? .max)
    if tracker.isUp {
      for job in jobs where !job.inFlight && job.notBeforeMs > now.monotonicMs {
        next = min(next, job.notBeforeMs)
      }
      if receipts.isWaiting, receipts.notBeforeMs > now.monotonicMs {
        next = min(next, receipts.notBeforeMs)
      }
      next = min(next, outbox.deadlineMs(after: now.monotonicMs) ?? .max)
      if let check = restores.nextMs, check > now.monotonicMs { next = min(next, check) }
      if mustRecount, windows.asksList, recountsFromMs > now.monotonicMs {
        next = min(next, recountsFromMs)
      }
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
    if held.isDue { hasNews = true }
    next = held.next
    return next == .max ? -1 : max(0, next - now.monotonicMs)
  }

  func sync(_ asked: SyncRequest, at now: Instant) throws(Failure) -> UInt64 {
    if asked.kind == .all {
      let all = catchUpWithAll(
        marksRead: asked.marksRead, isCacheOnly: asked.policy == .cacheOnly)
      pump(now)
      return all
    }
    var request = asked
    request.conversation = try storing { () throws(StoreFailure) in
      try canonical(asked.conversation)
    }
    if let index = jobs.firstIndex(where: { !$0.isBounded && $0.request.isTwin(of: request) }) {
      let id = jobs[index].id
      jobs[index].holders += 1
      if request.isUrgent, !jobs[index].request.isUrgent {
        jobs[index].request.isUrgent = true
        pump(now)
      }
      return id
    }
    guard jobs.count < Limits.syncsMax else { throw .full }
    let id = nextSync
    nextSync += 1
    var job = SyncJob(id: id, request: request)
    if request.policy == .cacheOnly {
      job.status.phase = .ended
      remember(job)
      hasNews = true
      return id
    }
    if !tracker.isUp { job.status.trouble = .offline }
    jobs.append(job)
    pump(now)
    return id
  }

  /// False when the sync had ended.
  func cancel(_ id: UInt64, at now: Instant) throws(Failure) -> Bool {
    if cancelCatchUp(id, at: now) { return true }
    guard let job = jobs.first(where: { $0.id == id }) else {
      guard ended[id] != nil else { throw .notFound }
      return false
    }
    tracker.abandon(.sync(id))
    end(job, trouble: .cancelled)
    pump(now)
    return true
  }

  /// Says that one of those who asked for a sync wants it no more; the last one
  /// cancels it.
  func release(_ id: UInt64, at now: Instant) {
    guard let index = jobs.firstIndex(where: { $0.id == id }) else { return }
    jobs[index].holders -= 1
    guard jobs[index].holders <= 0 else { return }
    tracker.abandon(.sync(id))
    end(jobs[index], trouble: .cancelled)
    pump(now)
  }

  func syncStatus(_ id: UInt64) throws(Failure) -> SyncStatus {
    if let job = jobs.first(where: { $0.id == id }) { return job.status }
    if let status = catchUpStatus(id) { return status }
    guard let status = ended[id] else { throw .notFound }
    return status
  }

  // MARK: Jobs

  /// Takes a job out of the queue with its result.
  func end(_ job: SyncJob, trouble: Failure?) {
    var job = job
    jobs.removeAll { $0.id == job.id }
    job.status.phase = .ended
    job.status.trouble = trouble
    if trouble == .incomplete { stats.walksIncomplete += 1 }
    log(end: job.status, trouble: trouble)
    remember(job)
    catchUpEnded(job, trouble: trouble)
    windows.ended(job.id, trouble: trouble)
    checkEnded(job, trouble: trouble)
    hasNews = true
    let conversation = job.request.conversation
    // What came by push beside it is closed all the same where all had been caught up.
    let isKept = caughtUp.contains(conversation) || doubted.contains(conversation)
    if dirty.contains(conversation), trouble == nil || isKept, tracker.isUp {
      dirty.remove(conversation)
      catchUp(conversation)
    } else if trouble == .cancelled, doubted.contains(conversation), tracker.isUp {
      // It was what brought back the claims that it had dropped, and nobody else does.
      catchUp(conversation)
    }
  }

  private func remember(_ job: SyncJob) { remember(job.id, job.status) }

  func remember(_ id: UInt64, _ status: SyncStatus) {
    ended[id] = status
    endedOrder.append(id)
    if endedOrder.count > Limits.syncsRemembered {
      ended[endedOrder.removeFirst()] = nil
    }
  }

  /// Asks for a catch-up on the library's own account; one at a time.
  func catchUp(_ conversation: [UInt8]) {
    guard jobs.count < Limits.syncsMax else { return }
    let request = SyncRequest(conversation: conversation)
    if jobs.contains(where: { $0.request.conversation == conversation }) {
      dirty.insert(conversation)
      return
    }
    jobs.append(SyncJob(id: nextSync, request: request))
    nextSync += 1
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
      guard let index = jobs.firstIndex(where: { $0.id == id }) else { return }
      jobs[index].inFlight = false
      jobs[index].attempts += 1
      if jobs[index].attempts >= Self.attemptsMax {
        end(jobs[index], trouble: failure)
        return
      }
      stats.retries += 1
      jobs[index].status.phase = .waiting
      jobs[index].status.trouble = failure
      jobs[index].notBeforeMs =
        now.monotonicMs
        + tracker.backoffMs(attempt: jobs[index].attempts, atLeast: retryAfterMs)
    }
  }

  static let attemptsMax = 6

  /// Sends what may be sent now: subscriptions, whose first answers all else waits for, then
  /// what the user did and marks, then what a screen waits for, then the other syncs in the order
  /// asked; one sync request at a time in each conversation.
  func pump(_ now: Instant) {
    guard sendSubscriptions() else { return }
    sendTroubled(now)
    sendOperations(now)
    sendMarks(now)
    recount(now)
    repeat { sendSyncs(now) } while feedCatchUp()
  }

  private func sendSyncs(_ now: Instant) {
    if jobs.isEmpty { return }
    var busy = Set(jobs.filter(\.inFlight).map(\.request.conversation))
    for isUrgent in [true, false] {
      var index = 0
      while index < jobs.count {
        guard tracker.hasRoom else { return }
        let job = jobs[index]
        let conversation = job.request.conversation
        let waits =
          job.inFlight || job.notBeforeMs > now.monotonicMs
          || outbox.pending.contains(conversation)
        if job.request.isUrgent != isUrgent || waits || !busy.insert(conversation).inserted {
          index += 1
          continue
        }
        launch(job, at: now)
        if index < jobs.count, jobs[index].id == job.id {
          index += 1
        } else {
          // It ended at once and has left the list; the next one may have its turn.
          busy.remove(conversation)
        }
      }
    }
  }

  private func launch(_ job: SyncJob, at now: Instant) {
    var job = job
    if case .start = job.stage {
      job.beganMs = now.monotonicMs
      do {
        if case .ended(let trouble) = try begin(&job) {
          end(job, trouble: trouble)
          return
        }
      } catch {
        end(job, trouble: Failure(error))
        return
      }
    }
    guard let request = job.wireRequest(limit: tracker.pacing.pageLimit) else {
      Invariants.report("a job without a request", #fileID, #line)
      end(job, trouble: .internal("a job without a request"))
      return
    }
    job.inFlight = true
    job.status.phase = .running
    job.status.requests += 1
    stats.requests += 1
    replace(job)
    tracker.send(request, for: .sync(job.id), issued: lastLSN, account: commander)
    outbox.wasLast = false
    hasNews = true
  }

  func replace(_ job: SyncJob) {
    guard let index = jobs.firstIndex(where: { $0.id == job.id }) else { return }
    jobs[index] = job
  }
}
