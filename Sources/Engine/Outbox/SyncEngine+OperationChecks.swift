/// Operations that were never answered: whether they have arrived is looked for by a catch-up.
///
/// Rule protected: what is not known to have arrived is not sent again unasked, and where nobody
/// can tell it is the user's to decide.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Begins the catch-ups that look for unknown sends. A conversation that may have been
  /// made shows by nothing that it was: it is the user's to decide at once.
  func runChecks(_ now: Instant) {
    guard tracker.isUp else { return }
    for seq in outbox.checks.keys.sorted() {
      guard let check = outbox.checks[seq], check.sync == nil,
        let due = check.notBeforeMs, due <= now.monotonicMs
      else { continue }
      guard let operation = outbox.operation(seq) else {
        outbox.endCheck(seq)
        continue
      }
      do {
        let (record, after) = try store.read { rx throws(StoreFailure) in
          (try rx.conversation(cid: operation.cid), try rx.operation(seq)?.toldAfter)
        }
        guard let conversation = record?.id else {
          try giveUp(seq)
          continue
        }
        // One that began before may not show what has arrived since.
        if scheduler.asks(conversation) { continue }
        outbox.look(seq, by: startLook(conversation, downTo: scheme.boundary(after: after)))
      } catch {
        return
      }
    }
  }

  /// Nothing that went out on an earlier connection reaches the server any more.
  func formerConnectionIsDead(_ now: Instant) {
    outbox.formerConnectionIsDead(isUp: tracker.isUp, at: now.monotonicMs)
    if tracker.isUp { pump(now) }
  }

  /// A catch-up looks for all unknown ones that were to be looked for.
  func checkEnded(_ job: SyncJob, trouble: Failure?) {
    for seq in outbox.looked(by: job.id) {
      switch trouble {
      case nil, .refused, .notFound, .unsupported, .incomplete:
        do {
          try giveUp(seq)
        } catch {
          lookAgain(seq)
        }
      default:
        lookAgain(seq)
      }
    }
  }

  /// It was not there, or nobody may look: the user's to decide.
  private func giveUp(_ seq: UInt64) throws(StoreFailure) {
    try commit { tx throws(StoreFailure) in try tx.giveUp(send: seq) }
    outbox.endCheck(seq)
    report.tellHost()
  }

  private func lookAgain(_ seq: UInt64) {
    outbox.lookAgain(seq) { attempts in tracker.backoffMs(attempt: attempts, atLeast: 0) }
  }
}
