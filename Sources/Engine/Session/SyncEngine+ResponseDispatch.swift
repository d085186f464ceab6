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
    let receipt = try receive(frame, opened: opened, at: now)
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

  private func receive(
    _ frame: Frame, opened: [OpenedPayload], at now: Instant
  ) throws(Failure) -> Receipt {
    origin = frame.origin
    defer { origin = .own }
    switch frame.body {
    case .unknown(let reason):
      if let type = frame.foreignType, config.profile.tellsUnknownFrames {
        try storing { () throws(StoreFailure) in try storeFrameEvent(frame.bytes, of: type) }
        return .applied
      }
      report.stats.framesIgnored += 1
      return ignore(reason)
    case .push(let push):
      return try receive(ServerUpdate(push), frame: frame.bytes, opened: opened, at: now)
    case .update(let update):
      return try receive(ServerUpdate(update), frame: frame.bytes, opened: opened, at: now)
    case .entries(let push):
      return try scheme.history.take(push, of: frame, opened: opened, at: now, self)
    case .response(let response):
      guard let pending = tracker.match(response, nowMs: now.monotonicMs) else {
        report.stats.answersUnmatched += 1
        return ignore("the answer is to no open request")
      }
      if case .failed(let error, _) = response.outcome {
        report.logLines.append(
          .warn, StaticText(pending.verb.name, "was answered with an error"), because: error.text)
      }
      if receipts.isSilent {
        receipts.noteAnswer(
          at: now.monotonicMs, backoffMs: tracker.backoffMs(attempt: 1, atLeast: 0))
      }
      return try answer(response, for: pending, frame: frame.bytes, opened: opened, at: now)
    }
  }

  /// A frame of another scheme than this server's.
  func receiveForeign(_ frame: Frame, of type: [UInt8]) throws(Failure) -> Receipt {
    if config.profile.tellsUnknownFrames {
      try storing { () throws(StoreFailure) in try storeFrameEvent(frame.bytes, of: type) }
      return .applied
    }
    report.stats.framesIgnored += 1
    return ignore("type is not one that is known here")
  }

  /// Hands a frame that only the host understands to it, as it came.
  private func storeFrameEvent(_ frame: [UInt8], of type: [UInt8]) throws(StoreFailure) {
    try commit { tx throws(StoreFailure) in
      // What is too large to be kept is told all the same, without its body.
      _ = try tx.feedTable.addEvent(
        kind: EventKind.frame.rawValue, action: EventAction.none.rawValue, isSilent: false,
        cid: nil,
        entity: type, body: frame.count <= Limits.messageBytesMax ? frame : [])
    }
  }

  private func receive(
    _ update: ServerUpdate, frame: [UInt8], opened: [OpenedPayload], at now: Instant
  ) throws(Failure) -> Receipt {
    let receipt = try storing { () throws(StoreFailure) in
      try apply(update, Arrival(frame: frame, opened: opened[...], now: now))
    }
    pump(now)
    return receipt
  }

  private func answer(
    _ response: Response, for pending: PendingRequest, frame: [UInt8], opened: [OpenedPayload],
    at now: Instant
  ) throws(Failure) -> Receipt {
    switch (pending.purpose, response.outcome) {
    case (.operation(let seq), let outcome):
      origin = .own
      let arrival = Arrival(frame: frame, opened: opened[...], now: now)
      let receipt = try storing { () throws(StoreFailure) in
        try takeOperationAnswer(seq, response: response, for: pending, from: arrival)
      }
      pump(now)
      if case .malformed(let reason) = outcome { throw refuse(reason) }
      return receipt
    case (.subscription(let one), let outcome):
      takeSubscription(one, outcome: outcome, at: now)
      pump(now)
      return .applied
    case (_, .malformed(let reason)):
      trouble(pending.purpose, failure: .unavailable, retryAfterMs: 0, at: now)
      pump(now)
      throw refuse(reason)
    case (.marks(let group, let conversation, let ids), let outcome):
      let receipt = try storing { () throws(StoreFailure) in
        try takeMarkAnswer(outcome, group: group, in: conversation, ids: ids, at: now)
      }
      pump(now)
      return receipt
    case (.sync(let id), let outcome):
      guard var job = scheduler.job(id) else {
        report.stats.answersUnmatched += 1
        return ignore("the sync of this answer has ended")
      }
      job.turn.inFlight = false
      // It has begun again since it asked.
      let isOld = if case .start = job.stage { true } else { false }
      var ingest = Ingest(
        ingestRules, frame: frame, opened: opened[...], issued: pending.issued,
        autoMarkRead: job.request.marksRead, asked: pending.limit)
      ingest.reacted = memory.reacted
      let bad = report.stats.quarantined
      do {
        try advance(&job, outcome: outcome, from: ingest, at: now)
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
  }

  /// Moves a job on by one answer.
  private func advance(
    _ job: inout SyncJob, outcome: Outcome, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) {
    memory.server.noteAnswer(at: now)
    let step: Step
    switch (job.stage, outcome) {
    case (.start, .failed(.rateLimited, let retryAfterMs)),
      (.start, .failed(.unavailable, let retryAfterMs)):
      // It asks something else now, and not sooner than the server wants.
      trouble(.sync(job.id), failure: .unavailable, retryAfterMs: retryAfterMs ?? 0, at: now)
      return
    case (.start, _):
      step = .next
    case (.deletions(let walk), .deleted(var page)):
      if !memory.server.isBorneOut(page.serverTime) { page.serverTime = nil }
      step = try takeDeletions(&job, page: page, on: walk)
    case (.deletions, .failed(.unknownCursor, _)):
      guard let again = try loseDeletionCursor(&job) else {
        return try refused(job, error: .unknownCursor, retryAfterMs: nil, at: now)
      }
      step = again
    case (.changes(let walk), .changed(var page)):
      if !memory.server.isBorneOut(page.serverTime) { page.serverTime = nil }
      step = try takeChanges(&job, page: page, from: ingest, on: walk)
    case (.changes, .failed(.unknownCursor, _)):
      step = try loseMarks(&job)
    case (.listing(let listing), .conversations(let found, let bad, let total)):
      step = try takeListing(
        &job, listing: listing, found: found, bad: bad, total: total, from: ingest, at: now)
    case (.log(let stage), .entries(let page)):
      step = try takeEntries(&job, page: page, on: stage, from: ingest, at: now)
    case (.log(let stage), .failed(let error, let retryAfterMs)):
      guard let next = try takeRefusal(&job, error, on: stage) else {
        return try refused(job, error: error, retryAfterMs: retryAfterMs, at: now)
      }
      step = next
    case (.asking, .conversation(let known)):
      step = try takeAsked(&job, known, from: ingest, at: now)
    case (.catchUp, .page(let page)), (.gap, .page(let page)):
      if contradictsItself(page, to: job) {
        report.logLines.append((.warn, "an empty page that says there is more"))
        trouble(.sync(job.id), failure: .incomplete, retryAfterMs: 0, at: now)
        return
      }
      step = try takePage(&job, page: page, from: ingest, at: now)
    case (_, .failed(let error, let retryAfterMs)):
      try refused(job, error: error, retryAfterMs: retryAfterMs, at: now)
      return
    default:
      trouble(.sync(job.id), failure: .unavailable, retryAfterMs: 0, at: now)
      return
    }
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

  /// The server said no.
  private func refused(
    _ job: SyncJob, error: ServerError, retryAfterMs: Int64?, at now: Instant
  ) throws(StoreFailure) {
    if case .asking = job.stage, retryAfterMs == nil, error != .unavailable, error != .rateLimited {
      // It cannot tell how far the user has read; or not of this conversation.
      if job.request.kind == .count {
        let isNever = error == .unsupported || error == .invalid
        try noCount(of: job.request.conversation, isNever: isNever)
      }
      return end(job, trouble: nil)
    }
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

extension Frame {
  /// Where what it changes comes from.
  fileprivate var origin: ChangeOrigin {
    if case .response = body { .fetched } else { .pushed }
  }
}
