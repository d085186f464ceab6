/// Read, delivered and listened marks: durable, batched, each id sent until confirmed
/// and never after.
///
/// Fetching is not reading; marking what was fetched is a setting. Only ids of
/// others that this user is not known to have read, received or listened to are ever
/// queued.
internal import Base
internal import Store
internal import Wire

/// Marks of one kind in one conversation.
struct ReceiptGroup: Hashable {
  let kind: ReceiptKind
  let cid: Int64
}

/// What the process remembers of the receipts that the file owes the server.
struct ReceiptQueue {
  /// Whether some may be waiting, and when to try again after trouble.
  private(set) var isWaiting = true
  private var attempts = 0
  private(set) var notBeforeMs: Int64 = .min
  /// The trouble was that no answer came.
  private(set) var isSilent = false
  /// How many pages have queued since some were sent.
  private var queued = 0
  /// How many go into one request where the server refused a larger one.
  private var batches: [ReceiptGroup: Int] = [:]

  /// A new connection: all are tried again.
  mutating func connect() {
    isWaiting = true
    attempts = 0
    notBeforeMs = .min
    isSilent = false
    queued = 0
  }

  /// A page has queued so many.
  mutating func queue(_ count: Int) {
    isWaiting = true
    queued += min(count, Limits.markReadBatch)
  }

  /// Some may be waiting again.
  mutating func wake() { isWaiting = true }

  /// Whether those that are queued wait for pages to come: fewer and larger requests say the same.
  var areFew: Bool { queued > 0 && queued < Limits.markReadBatch }

  /// All that wait are looked through.
  mutating func beginSending() { queued = 0 }

  /// How many of those that wait go into one request.
  func batch(_ group: ReceiptGroup) -> Int { batches[group] ?? Limits.markReadBatch }

  /// So many of a group have to wait for another request.
  mutating func leave(_ count: Int) { queued += min(count, Limits.markReadBatch) }

  mutating func endSending(areLeft: Bool) { isWaiting = areLeft }

  /// Something else was answered: what was lost is not lost because nobody hears.
  mutating func heard(at nowMs: Int64, backoffMs: Int64) {
    guard isSilent else { return }
    isSilent = false
    attempts = min(attempts, 1)
    notBeforeMs = min(notBeforeMs, nowMs + backoffMs)
  }

  /// How long marks wait that a server refuses again and again.
  private static let pauseMs: Int64 = 15 * 60_000

  /// Marks were not taken: they are tried again.
  mutating func fail(
    isSilent: Bool, at nowMs: Int64, pauseMs: (_ attempts: Int, _ atLeast: Int64) -> Int64
  ) {
    isWaiting = true
    attempts += 1
    self.isSilent = isSilent
    let isRefusing = !isSilent && attempts > SyncScheduler.attemptsMax
    notBeforeMs = nowMs + pauseMs(attempts, isRefusing ? Self.pauseMs : 0)
  }

  /// Marks were taken, and a request may be larger again.
  mutating func succeed(_ group: ReceiptGroup) {
    batches[group] = batches[group].flatMap { size in
      size < Limits.markReadBatch / 2 ? size * 2 : nil
    }
  }

  /// One of so many may be the reason why the server refused them, and the others are still owed.
  mutating func halve(_ group: ReceiptGroup, of count: Int) { batches[group] = count / 2 }

  /// An answer came, whatever it says.
  mutating func answered() {
    attempts = 0
    isWaiting = true
  }
}

extension SyncEngine {
  /// Queues marks for the host; synced before it returns.
  func mark(
    _ kind: ReceiptKind, in conversation: [UInt8], ids: [[UInt8]], at now: Instant
  ) throws(Failure) {
    let queued = try storing { () throws(StoreFailure) in
      let queued = try commit { tx throws(StoreFailure) in
        guard let record = try tx.conversation(conversation) else { return false }
        var queued = false
        for id in ids where try tx.enqueueMark(kind, id: id, in: record.cid) { queued = true }
        return queued
      }
      if queued || outbox.owesSync { try syncOwn() }
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
      // An error that says nothing here is no refusal: the marks are still owed.
      trouble(purpose, failure: .unavailable, retryAfterMs: retry ?? 0, at: now)
      return .applied
    case .failed(.exists, _), .done, .page, .deleted, .changed, .malformed, .message,
      .conversation, .conversations, .receipts, .counts, .subscribed:
      do {
        try commit { tx throws(StoreFailure) in
          _ = try tx.confirmMarks(group.kind, ids: ids, in: group.cid)
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
          try tx.dropMarks(group.kind, ids: ids, in: group.cid)
        }
        report.logLines.append((.warn, "the server refused marks"))
      }
    }
    receipts.answered()
    return .applied
  }
}
