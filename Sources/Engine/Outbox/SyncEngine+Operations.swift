/// What the user does: taking it up, changing it, taking it back, and how it ends.
///
/// Rule protected: what was taken up is on disk before the call returns. What the server did is
/// one transaction with the end of the operation, so that a screen never sees neither and never
/// both.
///
/// A message of an answer is taken like a pushed one, a detached range unless something proves
/// that it joins, but it moves no watermark: others may have been sent before it. That a
/// message of mine settles a send is the store's to see, whatever brought it.
internal import Base
internal import Store
internal import Timeline
internal import Vault
internal import Wire

extension SyncEngine {
  /// What waits in the file. Mostly nothing was left, and opening is to be quick.
  func loadOperations() throws(StoreFailure) {
    let open = try store.read { rx throws(StoreFailure) in
      try rx.openOperations(limit: Limits.operationsMax)
    }
    outbox.load(open)
    if !open.isEmpty { try noteUnmade(open) }
  }

  /// What the file lacks is put back. Of what an earlier process left nothing is in flight, and
  /// what only asked is moot.
  func recoverOperations() throws(StoreFailure) {
    if store.lacksOwnWork {
      try putBackOwn()
      try loadOperations()
    }
    let open = outbox.open
    if open.isEmpty { return }
    do throws(StoreFailure) {
      try commit { tx throws(StoreFailure) in
        for operation in open {
          if operation.verb.isFetch {
            try tx.operationTable.removeOperation(operation.seq)
          } else if operation.state == .inFlight {
            try endFlight(operation.seq, tx)
          } else if store.lacksEnds, operation.state == .queued, operation.verb.isNew {
            try noteMaybeSent(operation.seq, tx)
          }
        }
      }
    } catch {
      try recoverLater(open, error)
    }
    for operation in outbox.open { checkUnknown(operation.seq) }
  }

  private func noteUnmade(_ open: [OpenOperation]) throws(StoreFailure) {
    try store.read { rx throws(StoreFailure) in
      for operation in open where operation.verb == .createConversation {
        if let conversation = try rx.conversation(cid: operation.cid), conversation.isPending {
          outbox.make(conversation.id)
        }
      }
    }
  }

  /// What the first commit has put back that a disk took which was full at the opening.
  func takeUp(putBack operations: [UInt64]) {
    if operations.isEmpty { return }
    do throws(StoreFailure) { try noteUnmade(outbox.open) } catch {
      // It is made when its operation comes to its end.
    }
    for seq in operations {
      guard let operation = outbox.operation(seq), operation.state == .unknown,
        operation.verb == .sendMessage
      else { continue }
      outbox.check(seq, notBeforeMs: tracker.isUp ? memory.asked.now.monotonicMs : nil)
    }
  }

  /// Its answer is lost.
  func endFlight(_ seq: UInt64, _ tx: WriteTransaction) throws(StoreFailure) {
    guard var record = try tx.operation(seq), record.state == .inFlight else { return }
    record.state = isRepeatable(record) ? .queued : .unknown
    try tx.operationTable.saveOperation(record)
  }

  /// What the file had lost was in flight, as far as is known.
  func recover(putBack operations: [UInt64]) throws(StoreFailure) {
    if operations.isEmpty { return }
    try commit { tx throws(StoreFailure) in
      for seq in operations { try endFlight(seq, tx) }
    }
  }

  /// A send that goes out now will stand above this: a time, or a number.
  func sentAfter(_ cid: Int64, _ tx: WriteTransaction) throws(StoreFailure) -> Int64? {
    scheme.told(at: memory.server.time, newest: try tx.newest(cid))
  }

  /// A disk that takes nothing can be read all the same: what was under way ends once it takes
  /// something again, and no fetch of the earlier process goes out.
  private func recoverLater(
    _ open: [OpenOperation], _ failure: StoreFailure
  ) throws(StoreFailure) {
    switch failure {
    case .full, .vault(.io): break
    default: throw failure
    }
    outbox.load(open.filter { !$0.verb.isFetch })
    for operation in outbox.open where operation.state == .inFlight {
      outbox.noteLoose(operation.seq)
    }
    guard store.lacksEnds else { return }
    outbox.leaveUnnoted(
      outbox.open.filter { $0.state == .queued && $0.verb.isNew }.map(\.seq))
  }

  /// Who reads what the user did.
  var operationReader: OperationReader {
    OperationReader(store: store, outbox: outbox, tracker: tracker)
  }

  /// Who takes up what the user does, for one transaction.
  func writer(_ tx: WriteTransaction) -> OperationWriter {
    OperationWriter(outbox: outbox, seals: config.seals, tx: tx)
  }

  func isRepeatable(_ record: OperationRecord) -> Bool {
    OutboxPolicy.isRepeatable(
      record.verb.onWire, body: record.members,
      isIdempotent: config.profile.capabilities.contains(.idempotentSend))
  }

  /// Whether equal payloads may say that a message is a send of this device. Never
  /// where a send can be repeated: it need not be guessed whether it has arrived.
  var matchesPayloads: Bool {
    !outbox.tellsClientIDs && !can(.idempotentSend)
  }

  var ingestRules: IngestRules {
    IngestRules(
      user: config.user, autoMarkDelivered: config.autoMarkDelivered,
      scheme: scheme, matchesPayloads: matchesPayloads,
      learnsTies: scheme.learnsTies, tiesAreByArrival: config.profile.ties == .arrival)
  }

  /// The name that the server knows a conversation by, where it knows it by another.
  func canonical(_ conversation: [UInt8]) throws(StoreFailure) -> [UInt8] {
    try store.read { rx throws(StoreFailure) in try rx.conversation(conversation)?.id }
      ?? conversation
  }

  // MARK: Taking up

  func perform(
    _ draft: Draft, _ now: Instant
  ) throws(Failure) -> OperationRecord {
    guard let verb = OperationVerb(draft.request.verb), !verb.isMark else {
      throw .unsupported("a verb that is not performed")
    }
    guard outbox.open.count < Limits.operationsMax else {
      throw .full("100,000 operations are not done")
    }
    let record = try storing { () throws(StoreFailure) in
      var names = outbox.names
      let record = try commit { tx throws(StoreFailure) in
        let record = try writer(tx).enqueue(draft, verb: verb, names: &names, at: now)
        try record.outdate(outbox.open, in: tx)
        return record
      }
      outbox.names = names
      if !verb.isFetch { try syncOwn() }
      return record
    }
    if verb == .createConversation, record.state != .done, let name = record.clientID {
      outbox.make(name)
      windows.note(name, isUnmade: false)
    }
    if record.verb != verb, record.verb == .createConversation, let name = record.clientID {
      unmake(name)
    }
    if verb == .unsubscribe {
      let name = try storing { () throws(StoreFailure) -> [UInt8]? in
        guard let given = draft.request.conversation else { return nil }
        return try canonical(given)
      }
      subscriptions.remove(Subscription(conversation: name, body: record.members))
    }
    report.tellHost()
    pump(now)
    return record
  }

  // MARK: The host's decisions

  /// Changes an operation that the store has: false where `body` says so.
  func change(
    _ seq: UInt64, _ now: Instant,
    _ body: (inout OperationRecord, WriteTransaction) throws(StoreFailure) -> Bool
  ) throws(Failure) -> Bool {
    let found = try storing { () throws(StoreFailure) -> Bool? in
      let found = try commit { tx throws(StoreFailure) -> Bool? in
        guard var record = try tx.operation(seq), !record.verb.isMark else { return nil }
        return try body(&record, tx)
      }
      if found == true { try syncOwn() }
      return found
    }
    guard let found else { throw .noOperation }
    if found {
      report.tellHost()
      pump(now)
    }
    return found
  }

  func retry(_ seq: UInt64, _ now: Instant) throws(Failure) -> Bool {
    // A wait for the next try is over, whatever comes of this.
    outbox.resetBackoff(seq)
    return try change(seq, now) { record, tx throws(StoreFailure) in
      switch record.state {
      case .inFlight, .answered, .done:
        return false
      case .queued:
        return !tracker.isPending(.operation(seq))
      case .unknown, .refused:
        try writer(tx).requeue(&record)
        try tx.operationTable.saveOperation(record)
        return true
      }
    }
  }

  func cancelOperation(_ seq: UInt64, at now: Instant) throws(Failure) -> Bool {
    var gone: [UInt8]?
    let isDropped = try change(seq, now) { record, tx throws(StoreFailure) in
      switch record.state {
      case .inFlight, .answered, .done: return false
      case .queued, .unknown, .refused: break
      }
      if record.verb == .createConversation,
        let conversation = try tx.conversation(cid: record.cid), conversation.isPending
      {
        gone = conversation.id
      }
      try tx.operationTable.removeOperation(seq)
      if record.verb == .markLastRead {
        try tx.unreadTable.takeBackLastRead(record.target, in: record.cid)
      }
      if gone != nil { try tx.removeConversation(record.cid) }
      return true
    }
    if let gone { unmake(gone) }
    return isDropped
  }

  /// Whether all syncs are of conversations whose making failed: nothing goes on before the user
  /// decides.
  func waitsForUser() throws(Failure) -> Bool {
    guard scheduler.jobs.allSatisfy({ outbox.isUnmade($0.request.conversation) }) else {
      return false
    }
    var stuck = Set<Int64>()
    for operation in outbox.open where operation.verb == .createConversation {
      if operation.state == .unknown || operation.state == .refused { stuck.insert(operation.cid) }
    }
    if stuck.isEmpty { return false }
    return try storing { () throws(StoreFailure) in
      try store.read { rx throws(StoreFailure) in
        for job in scheduler.jobs {
          guard let record = try rx.conversation(job.request.conversation),
            stuck.contains(record.cid)
          else { return false }
        }
        return true
      }
    }
  }

  /// Nothing more is asked of a conversation.
  func leave(_ conversation: [UInt8]) {
    outbox.settle(conversation)
    memory.live.leave(conversation)
    scheduler.leave(conversation)
    for job in scheduler.jobs where job.request.conversation == conversation {
      tracker.abandon(.sync(job.id))
      end(job, trouble: .noConversation)
    }
  }

  // MARK: Answers

  /// Takes the answer to an operation.
  func takeOperationAnswer(
    _ seq: UInt64, response: Response, for pending: PendingRequest, from arrival: Arrival
  ) throws(StoreFailure) -> Receipt {
    let now = arrival.now
    var outcome = response.outcome
    guard
      let record = try store.read({ rx throws(StoreFailure) in try rx.operation(seq) })
    else { return ignore("the operation of this answer is gone") }
    if case .message(let item) = outcome, let reason = wrong(item, for: record) {
      outcome = .malformed(reason)
    }
    let ending: OutboxPolicy.Ending =
      switch outcome {
      case .failed(let error, let retryAfterMs): .failed(error, retryAfterMs: retryAfterMs)
      case .malformed: .malformed
      default: .ok
      }
    let verdict = OutboxPolicy.verdict(
      ending, verb: pending.verb, isRepeatable: true, wasTaken: true)
    do {
      var isDone = verdict == .done
      // The server has the message, perhaps as it was before the user rewrote it: only the
      // message itself tells.
      if case .failed = outcome, record.isRewritten, record.verb.isNew { isDone = false }
      guard isDone else {
        try end(seq, ending: ending, refusal: response.refusal, at: now, deadlineMs: nil)
        return .applied
      }
      return try scheme.history.finish(
        record, outcome, response, for: pending, from: arrival, self)
    } catch {
      // It was answered, but that is not known any more.
      outbox.noteLoose(seq)
      throw error
    }
  }

  /// Why the message of an answer says nothing of the operation; nil where it does. One that is
  /// clearly another message would take the text of a send away.
  private func wrong(_ item: PageItem, for record: OperationRecord) -> StaticText? {
    switch item {
    case .bad(_, let reason):
      return reason.text
    case .message(let message) where record.verb == .sendMessage:
      if message.sender != config.user { return StaticText("sender_id", "is another user") }
      if let name = message.clientID, name != record.clientID {
        return StaticText("client_id", "is not the one that was sent")
      }
      return nil
    case .message:
      return nil
    }
  }

  func finish(
    _ record: OperationRecord, outcome: Outcome, response: Response, for pending: PendingRequest,
    from arrival: Arrival
  ) throws(StoreFailure) -> Receipt {
    var effects = UpdateApplier.Effects()
    var left: [UInt8]?
    var name: [UInt8]?
    var isWanted = false
    try commit { tx throws(StoreFailure) in
      var applier = applier(tx, ServerUpdate(answer: pending.verb), from: arrival)
      applier.answered = record
      applier.isAside = true
      applier.asked = pending.issued
      if record.verb.isFetch { applier.issued = pending.issued }
      let conversation = try tx.conversation(cid: record.cid)
      name = conversation?.id
      if record.verb == .subscribe { isWanted = try !record.isOutdated(tx) }
      // What was asked of a conversation that has gone is of no use to a new one.
      let isLate = (conversation?.deletedLSN ?? 0) > pending.issued
      switch outcome {
      case .conversation(let known) where record.verb == .createConversation:
        if let conversation, conversation.isPending {
          applier.effects.named.append((conversation.id, known.id))
          _ = try tx.operationTable.confirm(conversation: record.cid, as: known.id)
        }
        try applier.applyConversation(known)
      case .message(let item):
        if !isLate, let conversation {
          try applier.messages(
            conversation.id, items: [PushedItem(item: item, isNew: record.verb == .sendMessage)])
        }
      case .conversation(let known):
        if !isLate { try applier.applyConversation(known) }
      case .conversations(let all, let bad, _):
        applier.lasts = UpdateApplier.Lasts(isAsked: record.asksLast, all)
        for known in all { try applier.applyConversation(known) }
        for range in bad {
          try applier.setAside(range, reason: BadItem.badConversation.code, cid: 0)
        }
      case .counts(let count, _) where record.verb == .getUnreadCount:
        if !isLate {
          try tx.unreadTable.noteServer(
            record.cid, unread: count, lastRead: nil, newest: nil, issued: pending.issued)
        }
      case .receipts(let receipts):
        if !isLate { try applier.receipts(receipts, of: record) }
      default:
        if !isLate { left = try applier.effect(of: record, in: conversation) }
      }
      if record.verb == .markLastRead { try writer(tx).noteTold(record) }
      try close(record.seq, outcome, response, arrival, tx)
      effects = applier.effects
    }
    runEffects(effects)
    if let left { leave(left) }
    if isWanted {
      let one = Subscription(conversation: name, body: record.members)
      // What was asked before the host asked anew tells nothing any more.
      tracker.abandon(.subscription(one))
      subscriptions.add(one)
      catchUpSubscribed(one, at: arrival.now)
    }
    // It is there, and has not been shown: a catch-up brings it.
    if record.verb == .sendMessage, case .failed = outcome, let name { catchUp(name) }
    report.tellHost()
    return effects.quarantined > 0 ? .quarantined : .applied
  }

  /// The server has taken what the user did; where it stands the log has still to say.
  func finishInLog(
    _ record: OperationRecord, outcome: Outcome, response: Response, from arrival: Arrival
  ) throws(StoreFailure) -> Receipt {
    var id: [UInt8]?
    if case .message(.message(let message)) = outcome { id = message.id }
    var effects: LogEffects?
    let name = try commit { tx throws(StoreFailure) -> [UInt8]? in
      if case .failed(.notFound, _) = outcome,
        let conversation = try tx.conversation(cid: record.cid)
      {
        // What was to be deleted has left the log.
        var input = try LogInput(memory, ingestRules, of: conversation, in: tx)
        try input.book.lost(record.target)
        try input.finish()
        effects = input.effects
      }
      var result: [UInt8]?
      if let data = response.data, data.count <= Limits.resultBytesMax {
        result = Array(arrival.frame[data])
      }
      let waits = try LogSends(tx, record.cid).noteAnswer(to: record, id: id, result: result)
      return waits ? try tx.conversation(cid: record.cid)?.id : nil
    }
    if let effects { note(effects) }
    if let name { catchUp(name) }
    report.tellHost()
    return .applied
  }

  /// Notes that an operation is done, with its result.
  private func close(
    _ seq: UInt64, _ outcome: Outcome, _ response: Response, _ arrival: Arrival,
    _ tx: WriteTransaction
  ) throws(StoreFailure) {
    guard var record = try tx.operation(seq) else { return }
    if record.state != .done, record.verb == .sendMessage {
      // The message is kept out, by its deletion or because it cannot be placed.
      var id: [UInt8] = []
      if case .message(.message(let message)) = outcome { id = message.id }
      try tx.operationTable.settle(send: seq, as: id)
      guard let settled = try tx.operation(seq) else { return }
      record = settled
    }
    record.state = .done
    record.errorCode = nil
    record.errorText = nil
    if let data = response.data, data.count <= Limits.resultBytesMax {
      record.result = Array(arrival.frame[data])
    }
    try tx.operationTable.saveOperation(record)
    try tx.operationTable.resolve(seq, target: nil)
    try tx.operationTable.trimOperations()
  }

  /// A conversation that was made here has its name from the server.
  func rename(_ old: [UInt8], _ new: [UInt8]) {
    outbox.settle(old)
    scheduler.rename(old, new)
    windows.rename(old, new)
    report.tellHost()
  }

  // MARK: Signs

  /// Tells something that is not waited for, if it can go out now.
  func sendSign(_ request: OperationRequest) -> Bool {
    guard tracker.isUp, tracker.outbox.count < Limits.framesMax else { return false }
    var request = request
    if let name = request.conversation {
      // The server does not know one that was not made yet.
      if outbox.isUnmade(name) { return false }
      do {
        request.conversation = try canonical(name)
      } catch {
        return false
      }
    }
    tracker.queueUnanswered(.operation(request), account: commander)
    report.tellHost()
    return true
  }
}

extension OperationRecord {
  /// It asks for the last message of each conversation.
  fileprivate var asksLast: Bool { operationFlag("include_last_message", in: members) }
}
