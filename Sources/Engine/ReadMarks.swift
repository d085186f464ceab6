/// Read marks: durable, batched, each id sent until confirmed and never after.
///
/// Fetching is not reading; marking what was fetched is a setting. Only ids of
/// others that this user is not known to have read are ever queued.
internal import Base
internal import Store
internal import Wire

extension Core {
  /// Queues marks for the host; synced before it returns.
  func markRead(_ conversation: [UInt8], _ ids: [[UInt8]], _ now: Instant) throws(Failure) {
    let queued = try storing { () throws(StoreFailure) in
      let queued = try commit { tx throws(StoreFailure) in
        guard let record = try tx.conversation(conversation) else { return false }
        var queued = false
        for id in ids where try tx.enqueueMark(.read, id, record.cid) { queued = true }
        return queued
      }
      if queued { try store.syncDurable() }
      return queued
    }
    if queued {
      readsWaiting = true
      pump(now)
    }
  }

  /// Sends what is queued, one request a conversation.
  func sendReads(_ now: Instant) {
    guard readsWaiting, exchange.hasRoom, readsNotBeforeMs <= now.monotonicMs else { return }
    do {
      let groups = try store.read { rx throws(StoreFailure) in
        try rx.pendingMarks(limit: Limits.markReadMax)
      }
      var left = false
      for group in groups where group.kind == .read {
        let isInFlight = exchange.flights.contains { flight in
          if case .reads(let cid, _, _) = flight.purpose { return cid == group.cid }
          return false
        }
        guard !isInFlight, exchange.hasRoom else {
          left = true
          continue
        }
        let ids = Array(group.ids.prefix(readBatches[group.cid] ?? Limits.markReadBatch))
        left = left || ids.count < group.ids.count
        stats.requests += 1
        exchange.send(
          .markRead(conversation: group.conversation, ids: ids),
          for: .reads(cid: group.cid, conversation: group.conversation, ids: ids),
          issued: lastLSN, account: commander)
        hasNews = true
      }
      readsWaiting = left
    } catch {
      logLines.append((.error, "read marks could not be read"))
    }
  }

  /// Takes the answer to a `mark_read`.
  func takeReadAnswer(
    _ outcome: Outcome, _ cid: Int64, _ conversation: [UInt8], _ ids: [[UInt8]], _ now: Instant
  ) throws(StoreFailure) -> Receipt {
    let purpose = Flight.Purpose.reads(cid: cid, conversation: conversation, ids: ids)
    switch outcome {
    case .failed(.rateLimited, let retry), .failed(.unavailable, let retry):
      trouble(purpose, .unavailable, retryAfterMs: retry ?? 0, now)
      return .applied
    case .failed(.other, let retry):
      // An error that says nothing here is no refusal: the marks are still owed.
      trouble(purpose, .unavailable, retryAfterMs: retry ?? 0, now)
      return .applied
    case .failed(.exists, _), .done, .page, .deleted, .changed, .malformed:
      do {
        try commit { tx throws(StoreFailure) in
          _ = try tx.confirmMarks(.read, ids, cid)
        }
      } catch {
        trouble(purpose, .storage(0), retryAfterMs: 0, now)
        throw error
      }
      readBatches[cid] = readBatches[cid].flatMap { size in
        size < Limits.markReadBatch / 2 ? size * 2 : nil
      }
    case .failed(let error, _):
      let isOfAll = error == .forbidden || error == .unsupported
      if ids.count > 1, !isOfAll {
        // One of them may be the reason, and the others are still owed.
        readBatches[cid] = ids.count / 2
      } else {
        // Refused for good: asking again would be refused again.
        try commit { tx throws(StoreFailure) in try tx.dropMarks(.read, ids, cid) }
        logLines.append((.warn, "the server refused read marks"))
      }
    }
    readAttempts = 0
    readsWaiting = true
    return .applied
  }
}
