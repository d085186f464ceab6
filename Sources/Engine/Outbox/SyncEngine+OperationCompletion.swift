/// Answers to operations: what the server did, in one transaction with the end of the
/// operation, so that a screen never sees neither and never both.
///
/// A message of an answer is taken like a pushed one, a detached range unless something proves
/// that it joins, but it moves no watermark: others may have been sent before it. That a
/// message of mine settles a send is the store's to see, whatever brought it.
internal import Base
internal import Store
internal import Wire

extension SyncEngine {
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
      return try finish(record, outcome: outcome, response: response, for: pending, from: arrival)
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

  private func finish(
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
        try applier.told(known)
      case .message(let item):
        if !isLate, let conversation {
          try applier.messages(
            conversation.id, items: [PushedItem(item: item, isNew: record.verb == .sendMessage)])
        }
      case .conversation(let known):
        if !isLate { try applier.told(known) }
      case .conversations(let all, let bad, _):
        for known in all { try applier.told(known) }
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
    tell(effects)
    if let left { leave(left) }
    if isWanted {
      let one = Subscription(conversation: name, body: record.members)
      // What was asked before the host asked anew tells nothing any more.
      tracker.abandon(.subscription(one))
      subscriptions.add(one)
      hearFromNow(one, at: arrival.now)
    }
    // It is there, and has not been shown: a catch-up brings it.
    if record.verb == .sendMessage, case .failed = outcome, let name { catchUp(name) }
    report.tellHost()
    return effects.quarantined > 0 ? .quarantined : .applied
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
}

extension ServerUpdate {
  init(answer verb: Verb) {
    name = []
    action = .none
    isSilent = false
    ref = nil
    effects = []
    raw = nil
    fault = nil
    skipped = nil
  }
}

extension UpdateApplier {
  /// The last message of a conversation that was told; it may be an old one.
  mutating func last(of known: WireConversation) throws(StoreFailure) {
    guard let item = known.lastMessage else { return }
    let wasAside = isAside
    isAside = true
    try messages(known.id, items: [PushedItem(item: item, isNew: false)])
    isAside = wasAside
  }

  /// Who has done what with a message that was asked about.
  mutating func receipts(
    _ receipts: [WireReceipt], of record: OperationRecord
  ) throws(StoreFailure) {
    var users: [ReceiptKind: [[UInt8]]] = [:]
    var areMine: Set<ReceiptKind> = []
    for receipt in receipts {
      for (kind, stamp) in [
        (ReceiptKind.read, receipt.read), (.delivered, receipt.delivered),
        (.listened, receipt.listened),
      ] where stamp != nil {
        users[kind, default: []].append(receipt.user)
        if receipt.user == rules.user { areMine.insert(kind) }
      }
    }
    if users.isEmpty { return }
    _ = try tx.annotationTable.receipts(users, of: record.target, in: record.cid, areMine: areMine)
  }

  /// What is known to be so because the server did it. Gives the conversation that this
  /// user is no longer in.
  func effect(
    of record: OperationRecord, in conversation: ConversationRecord?
  ) throws(StoreFailure) -> [UInt8]? {
    switch record.verb {
    case .deleteMessage:
      guard !record.target.isEmpty else { return nil }
      _ = try tx.tombstone(record.target, in: record.cid, version: nil)
      try tx.annotationTable.dropMarks(.read, ids: [record.target], in: record.cid)
      try tx.annotationTable.dropMarks(.delivered, ids: [record.target], in: record.cid)
      try tx.annotationTable.dropMarks(.listened, ids: [record.target], in: record.cid)
    case .pinMessage, .unpinMessage:
      _ = try tx.annotationTable.pin(
        record.target, in: record.cid, isPinned: record.verb == .pinMessage, issued: tx.lsn)
    case .saveConversation:
      try save(record, in: conversation)
    case .deleteConversation, .leaveConversation:
      try tx.removeConversation(record.cid)
      return conversation?.id
    default:
      break
    }
    return nil
  }

  /// A server that does not show the conversation again did as it was asked.
  private func save(
    _ record: OperationRecord, in conversation: ConversationRecord?
  ) throws(StoreFailure) {
    guard let conversation, let body = try tx.entry(conversation).body else { return }
    var members = Array(body.dropFirst().dropLast())
    for name in ["title", "metadata"] as [StaticString] {
      guard let value = operationValue(name, in: record.members) else { continue }
      members = operationBody(members, setting: name, to: value)
    }
    try tx.feedTable.putEntity(
      kind: Effect.EntityKind.conversation.code, cid: record.cid, id: conversation.id,
      body: OperationRecord.body(members))
  }
}
