/// What becomes of a received frame: an answer to a request, a push, or nothing.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Takes a frame whose payloads have been opened.
  func receive(
    _ frame: Frame, _ opened: [OpenedPayload], _ now: Instant
  ) throws(Failure) -> Receipt {
    switch frame.body {
    case .unknown:
      stats.framesIgnored += 1
      return .ignored
    case .push(let push):
      return try receive(ServerUpdate(push), frame.bytes, opened, now)
    case .update(let update):
      return try receive(ServerUpdate(update), frame.bytes, opened, now)
    case .response(let response):
      guard let pending = tracker.match(response, nowMs: now.monotonicMs) else {
        stats.answersUnmatched += 1
        return .ignored
      }
      if case .operation(let seq) = pending.purpose {
        let arrival = Arrival(frame: frame.bytes, opened: opened[...], now: now)
        let receipt = try storing { () throws(StoreFailure) in
          try takeOperationAnswer(seq, response, pending, arrival)
        }
        pump(now)
        if case .malformed = response.outcome { throw .frame }
        return receipt
      }
      return try answer(response.outcome, pending, frame.bytes, opened, now)
    }
  }

  private func receive(
    _ update: ServerUpdate, _ frame: [UInt8], _ opened: [OpenedPayload], _ now: Instant
  ) throws(Failure) -> Receipt {
    let receipt = try storing { () throws(StoreFailure) in
      try apply(update, Arrival(frame: frame, opened: opened[...], now: now))
    }
    pump(now)
    return receipt
  }

  private func answer(
    _ outcome: Outcome, _ pending: PendingRequest, _ frame: [UInt8], _ opened: [OpenedPayload],
    _ now: Instant
  ) throws(Failure) -> Receipt {
    switch (pending.purpose, outcome) {
    case (.operation, _):
      return .ignored
    case (.subscription(let one), _):
      takeSubscription(one, outcome, now)
      pump(now)
      return .applied
    case (_, .malformed):
      trouble(pending.purpose, .unavailable, retryAfterMs: 0, now)
      pump(now)
      throw .frame
    case (.marks(let group, let conversation, let ids), _):
      let receipt = try storing { () throws(StoreFailure) in
        try takeMarkAnswer(outcome, group, conversation, ids, now)
      }
      pump(now)
      return receipt
    case (.sync(let id), _):
      guard var job = jobs.first(where: { $0.id == id }) else {
        stats.answersUnmatched += 1
        return .ignored
      }
      job.inFlight = false
      // It has begun again since it asked.
      let isOld = if case .start = job.stage { true } else { false }
      let ingest = Ingest(
        self, frame: frame, opened: opened[...], issued: pending.issued,
        autoMarkRead: config.autoMarkRead, asked: pending.limit)
      let bad = stats.quarantined
      do {
        try advance(&job, outcome, ingest, now)
      } catch {
        // The transaction left nothing behind; the sync tries again later.
        trouble(pending.purpose, Failure(error), retryAfterMs: 0, now)
        pump(now)
        throw Failure(error)
      }
      pump(now)
      return isOld ? .ignored : stats.quarantined > bad ? .quarantined : .applied
    }
  }

  /// Moves a job on by one answer.
  private func advance(
    _ job: inout SyncJob, _ outcome: Outcome, _ ingest: Ingest, _ now: Instant
  ) throws(StoreFailure) {
    let step: Step
    switch (job.stage, outcome) {
    case (.start, .failed(.rateLimited, let retryAfterMs)),
      (.start, .failed(.unavailable, let retryAfterMs)):
      // It asks something else now, and not sooner than the server wants.
      trouble(.sync(job.id), .unavailable, retryAfterMs: retryAfterMs ?? 0, now)
      return
    case (.start, _):
      step = .next
    case (.deletions(_, let sinceUs, let knownUs), .deleted(let page)):
      step = try takeDeletions(&job, page, sinceUs: sinceUs, knownUs: knownUs)
    case (.changes(let since, let knownUs), .changed(let page)):
      step = try takeChanges(&job, page, ingest, since: since, knownUs: knownUs)
    case (.changes, .failed(.unknownCursor, _)):
      step = try loseMarks(&job)
    case (.listing(let listing), .conversations(let found, let bad, let total)):
      step = try takeListing(&job, listing, found, bad: bad, total: total, ingest, now)
    case (.tail, .page(let page)), (.newest, .page(let page)), (.backward, .page(let page)),
      (.older, .page(let page)), (.forward, .page(let page)), (.search, .page(let page)),
      (.spot, .page(let page)):
      step = try takePage(&job, page, ingest, now)
    case (_, .failed(let error, let retryAfterMs)):
      try refused(job, error, retryAfterMs, now)
      return
    default:
      trouble(.sync(job.id), .unavailable, retryAfterMs: 0, now)
      return
    }
    job.attempts = 0
    job.notBeforeMs = .min
    job.status.trouble = nil
    switch step {
    case .next:
      replace(job)
    case .ended(let failure):
      end(job, failure)
    }
  }

  /// The server said no.
  private func refused(
    _ job: SyncJob, _ error: ServerError, _ retryAfterMs: Int64?, _ now: Instant
  ) throws(StoreFailure) {
    switch error {
    case .rateLimited, .unavailable:
      trouble(.sync(job.id), .unavailable, retryAfterMs: retryAfterMs ?? 0, now)
    case .unknownCursor:
      // What the server no longer knows proves nothing any more: from the start.
      var job = job
      guard job.restores == 0 else { return end(job, .refused) }
      job.restores += 1
      try commit { tx throws(StoreFailure) in
        guard var record = try tx.conversation(job.request.conversation) else { return }
        try distrust(&record, tx)
      }
      job.beginAnew()
      replace(job)
    case .notFound:
      // Where a message was looked for, it is the message that is not found.
      if case .at = job.request.kind, case .spot = job.stage { return end(job, .notFound) }
      if job.request.kind == .marker { return end(job, nil) }
      guard case .spot(.aroundID) = job.stage else { return end(job, .refused) }
      try goWithoutSpot(job)
    case .forbidden, .invalid, .tooLarge, .conflict, .exists, .unsupported:
      end(job, .refused)
    case .other:
      guard let retryAfterMs else { return end(job, .refused) }
      trouble(.sync(job.id), .unavailable, retryAfterMs: retryAfterMs, now)
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
