/// What becomes of a received frame: an answer to a request, a push, or nothing.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Takes a frame whose payloads have been opened; why, where not all of it is of use.
  func take(
    _ frame: Frame, opened: [OpenedPayload], at now: Instant
  ) throws(Failure) -> (Receipt, StaticText?) {
    report.beginInput()
    source = ChangeSource(frame.body)
    defer { source = ChangeSource() }
    let arrival = Arrival(frame: frame.bytes, opened: opened[...], now: now)
    let receipt: Receipt
    switch frame.body {
    case .unknown(let reason):
      receipt = try takeForeign(frame.bytes, of: frame.foreignType, because: reason)
    case .push(let push):
      receipt = try receive(ServerUpdate(push), arrival)
    case .update(let update):
      receipt = try receive(ServerUpdate(update), arrival)
    case .entries(let push):
      receipt = try scheme.history.take(push, from: arrival, self)
    case .response(let response):
      guard let pending = try match(response, at: now) else {
        return told(ignore("the answer is to no open request"))
      }
      source.answers(pending)
      switch pending.purpose {
      case .sync(let id):
        receipt = try advance(id, response.outcome, to: pending, from: arrival)
      case .marks(let group, let conversation, let ids):
        receipt = try storing { () throws(StoreFailure) in
          try takeMarkAnswer(response.outcome, group: group, in: conversation, ids: ids, at: now)
        }
        pump(now)
      case .operation(let seq):
        source.origin = .own
        receipt = try storing { () throws(StoreFailure) in
          try takeOperationAnswer(seq, response: response, for: pending, from: arrival)
        }
        pump(now)
        if case .malformed(let reason) = response.outcome { throw refuse(reason) }
      case .subscription(let one):
        takeSubscription(one, outcome: response.outcome, at: now)
        pump(now)
        receipt = .applied
      }
    }
    return told(receipt)
  }

  private func told(_ receipt: Receipt) -> (Receipt, StaticText?) {
    switch receipt {
    case .applied:
      return (receipt, nil)
    case .ignored:
      report.logLines.append(.debug, "a frame was ignored", because: report.ignored)
      return (receipt, report.ignored)
    case .quarantined:
      let reason = report.aside.first.flatMap { BadItem.text(code: $0) }
      report.logLines.append(
        .warn, "items were set aside", Int64(clamping: report.aside.count), because: reason)
      return (receipt, reason)
    }
  }

  /// An answer, or another frame, is of no use.
  func ignore(_ reason: StaticText) -> Receipt {
    report.ignored = reason
    return .ignored
  }

  /// An answer of the wrong shape.
  private func refuse(_ reason: StaticText) -> Failure {
    report.stats.framesBad += 1
    report.logLines.append(.warn, "a frame was refused", because: reason)
    return .frame(reason)
  }

  /// The request that is answered; nil where none is open.
  private func match(_ response: Response, at now: Instant) throws(Failure) -> PendingRequest? {
    guard let pending = tracker.match(response, nowMs: now.monotonicMs) else {
      report.stats.answersUnmatched += 1
      return nil
    }
    if case .failed(let error, _) = response.outcome {
      report.logLines.append(
        .warn, StaticText(pending.verb.name, "was answered with an error"), because: error.text)
    }
    if receipts.isSilent {
      receipts.noteAnswer(
        at: now.monotonicMs, backoffMs: tracker.backoffMs(attempt: 1, atLeast: 0))
    }
    if case .malformed(let reason) = response.outcome {
      switch pending.purpose {
      case .sync, .marks:
        trouble(pending.purpose, failure: .unavailable, retryAfterMs: 0, at: now)
        pump(now)
        throw refuse(reason)
      case .operation, .subscription:
        break
      }
    }
    return pending
  }

  /// Hands a frame that only the host understands to it, as it came.
  func takeForeign(
    _ frame: [UInt8], of type: [UInt8]?, because reason: StaticText
  ) throws(Failure) -> Receipt {
    guard let type, config.profile.tellsUnknownFrames else {
      report.stats.framesIgnored += 1
      return ignore(reason)
    }
    try storing { () throws(StoreFailure) in
      try commit { tx throws(StoreFailure) in
        // What is too large to be kept is told all the same, without its body.
        _ = try tx.feedTable.addEvent(
          kind: EventKind.frame.rawValue, action: EventAction.none.rawValue, isSilent: false,
          cid: nil, entity: type, body: frame.count <= Limits.messageBytesMax ? frame : [])
      }
    }
    return .applied
  }

  private func receive(_ update: ServerUpdate, _ arrival: Arrival) throws(Failure) -> Receipt {
    let receipt = try storing { () throws(StoreFailure) in try apply(update, arrival) }
    pump(arrival.now)
    return receipt
  }

  /// Moves a sync on by one answer. The job is a copy of the scheduler's, which stays as it was
  /// where a transaction fails.
  private func advance(
    _ id: UInt64, _ outcome: Outcome, to pending: PendingRequest, from arrival: Arrival
  ) throws(Failure) -> Receipt {
    let now = arrival.now
    guard var job = scheduler.job(id) else {
      report.stats.answersUnmatched += 1
      return ignore("the sync of this answer has ended")
    }
    job.turn.inFlight = false
    var ingest = Ingest(
      ingestRules, frame: arrival.frame, opened: arrival.opened, issued: pending.issued,
      autoMarkRead: job.request.marksRead, asked: pending.limit)
    ingest.reacted = memory.reacted
    ingest.revivable = memory.revivable
    let bad = report.stats.quarantined
    // It has begun again since it asked.
    let isOld = if case .start = job.stage { true } else { false }
    memory.server.noteAnswer(at: now)
    do throws(StoreFailure) {
      let step: Step?
      switch (job.stage, outcome) {
      case (_, .failed(let error, let retryAfterMs)):
        step = try refused(&job, error: error, retryAfterMs: retryAfterMs, at: now)
      case (.start, _):
        step = .next
      case (.deletions(let walk), .deleted(let page)):
        step = try takeDeletions(&job, page: page, on: walk)
      case (.changes(let walk), .changed(let page)):
        step = try takeChanges(&job, page: page, from: ingest, on: walk)
      case (.listing(let listing), .conversations(let found, let bad, let total)):
        step = try takeListing(
          &job, listing: listing, found: found, bad: bad, total: total, from: ingest, at: now)
      case (.log(let stage), .entries(let page)):
        step = try takeEntries(&job, page: page, on: stage, from: ingest, at: now)
      case (.asking, .conversation(let known)):
        step = try takeAsked(&job, known, from: ingest, at: now)
      case (.catchUp, .page(let page)), (.gap, .page(let page)):
        step = try takePage(&job, page: page, from: ingest, at: now)
      default:
        trouble(pending.purpose, failure: .unavailable, retryAfterMs: 0, at: now)
        step = nil
      }
      if let step { goOn(job, step) }
    } catch {
      // The transaction left nothing behind; the sync tries again later.
      trouble(pending.purpose, failure: Failure(error), retryAfterMs: 0, at: now)
      pump(now)
      throw Failure(error)
    }
    pump(now)
    if isOld { return ignore("the sync of this answer has begun again") }
    return report.stats.quarantined > bad ? .quarantined : .applied
  }

  /// An answer was taken: its sync asks again, or it ends.
  private func goOn(_ taken: SyncJob, _ step: Step) {
    var job = taken
    job.turn.attempts = 0
    job.turn.notBeforeMs = .min
    job.status.trouble = nil
    switch step {
    case .next where job.stage.asksPages && job.budget.isSpent(pagesMax: config.profile.pagesMax):
      end(job, trouble: .incomplete)
    case .next:
      scheduler.replace(job)
    case .ended(let failure):
      end(job, trouble: failure)
    }
  }

  /// The server said no: the step where the sync goes on as after an answer, else nil.
  private func refused(
    _ job: inout SyncJob, error: ServerError, retryAfterMs: Int64?, at now: Instant
  ) throws(StoreFailure) -> Step? {
    let isForNow = error == .rateLimited || error == .unavailable
    switch job.stage {
    // It asks something else now, and not sooner than the server wants.
    case .start where !isForNow:
      return .next
    case .deletions where error == .unknownCursor:
      if let step = try loseDeletionCursor(&job) { return step }
    case .changes where error == .unknownCursor:
      return try loseMarks(&job)
    case .log(let stage):
      if let step = try takeRefusal(&job, error, on: stage) { return step }
    case .asking where retryAfterMs == nil && !isForNow:
      // It cannot tell how far the user has read; or not of this conversation.
      if job.request.kind == .count {
        let isNever = error == .unsupported || error == .invalid
        try noCount(of: job.request.conversation, isNever: isNever)
      }
      end(job, trouble: nil)
      return nil
    default:
      break
    }
    try end(job, after: error, retryAfterMs: retryAfterMs, at: now)
    return nil
  }

  /// Ends a sync that was refused, has it try later, or begin anew.
  private func end(
    _ job: SyncJob, after error: ServerError, retryAfterMs: Int64?, at now: Instant
  ) throws(StoreFailure) {
    switch error {
    case .rateLimited, .unavailable:
      trouble(.sync(job.id), failure: .unavailable, retryAfterMs: retryAfterMs ?? 0, at: now)
    case .unknownCursor:
      // What the server no longer knows proves nothing any more: from the start.
      var job = job
      guard job.restores == 0 else { return end(job, trouble: .refused) }
      job.restores += 1
      try commit { tx throws(StoreFailure) in
        guard var record = try tx.conversation(job.request.conversation) else { return }
        try planner(tx).dropClaims(&record)
      }
      job.beginAnew()
      scheduler.replace(job)
    case .notFound:
      // Where a message was looked for, it is the message that is not found.
      if case .at = job.request.kind, job.stage.spot != nil {
        return end(job, trouble: .noMessage)
      }
      if job.request.kind == .marker { return end(job, trouble: nil) }
      guard case .aroundID? = job.stage.spot else { return end(job, trouble: .noConversation) }
      try planWithoutSpot(job)
    case .unsupported:
      end(job, trouble: .unsupported("the server does not know the request"))
    case .forbidden, .invalid, .tooLarge, .conflict, .exists:
      end(job, trouble: .refused)
    case .other:
      guard let retryAfterMs else { return end(job, trouble: .refused) }
      trouble(.sync(job.id), failure: .unavailable, retryAfterMs: retryAfterMs, at: now)
    }
  }

  func storing<Result>(
    _ body: () throws(StoreFailure) -> Result
  ) throws(Failure) -> Result {
    do {
      return try body()
    } catch {
      throw Failure(error)
    }
  }
}
