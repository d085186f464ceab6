/// What the user does: taking it up, changing it, taking it back.
///
/// Rules protected: what was taken up is on disk before the call returns. What the
/// server was never told is changed in place; what it may have been told is followed by
/// another operation, which waits for it.
internal import Base
internal import Store
internal import Vault
internal import Wire

/// A request of the host's, with its payload as it would go out.
struct Draft {
  var request: OperationRequest
  var sealed: [UInt8]?
  /// The hook had no key for it yet.
  var awaitsSeal = false
  var awaitsUpload = false
  /// The payload was sealed for the message that it edits, as one not sent yet.
  var isSealedAsSend = false
}

extension SyncEngine {
  /// What an earlier process left: nothing is in flight, and what only asked is moot.
  func recoverOperations() throws(StoreFailure) {
    let open = try store.read { rx throws(StoreFailure) in
      try rx.openOperations(limit: Limits.operationsMax)
    }
    outbox.load(open)
    // Mostly nothing was left, and opening is to be quick.
    if open.isEmpty { return }
    try store.read { rx throws(StoreFailure) in
      for operation in open where operation.verb == .createConversation {
        if let conversation = try rx.conversation(cid: operation.cid), conversation.isPending {
          outbox.make(conversation.id)
        }
      }
    }
    do throws(StoreFailure) {
      try commit { tx throws(StoreFailure) in
        for operation in open {
          if operation.verb.isFetch {
            try tx.removeOperation(operation.seq)
          } else if operation.state == .inFlight, var record = try tx.operation(operation.seq) {
            record.state = isRepeatable(record) ? .queued : .unknown
            try tx.saveOperation(record)
          }
        }
      }
    } catch {
      try recoverLater(open, error)
    }
    for operation in outbox.open
    where operation.state == .unknown && operation.verb == .sendMessage {
      outbox.check(operation.seq)
    }
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
  }

  func isRepeatable(_ record: OperationRecord) -> Bool {
    OutboxPolicy.isRepeatable(
      record.verb.onWire, body: record.members,
      isIdempotent: config.profile.capabilities.contains(.idempotentSend))
  }

  /// Whether equal payload bytes may say that a message is a send of this device. Never
  /// where a send can be told again: it need not be guessed whether it has arrived.
  var matchesPayloads: Bool {
    !outbox.tellsClientIDs && !config.profile.capabilities.contains(.idempotentSend)
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
        let record = try enqueue(draft, verb: verb, names: &names, at: now, in: tx)
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

  private func enqueue(
    _ draft: Draft, verb: OperationVerb, names: inout ClientNames, at now: Instant,
    in tx: WriteTransaction
  ) throws(StoreFailure) -> OperationRecord {
    let request = draft.request
    var name = request.clientID
    if let name, let known = try tx.operation(clientID: name) { return known }
    while verb.isNew, name == nil {
      let made = names.next()
      if try tx.operation(clientID: made) == nil { name = made }
    }
    var record = OperationRecord(
      verb, cid: 0, clientID: name, body: OperationRecord.body(request.body))
    record.plain = request.payload
    record.sealed = draft.sealed
    record.waits = draft.awaitsUpload ? .upload : draft.awaitsSeal ? .seal : .nothing
    record.atUs = now.wallUs ?? 0
    switch verb {
    case .createConversation:
      record.cid = try tx.conversation(pending: name ?? []).cid
    case .reactMessage, .unreactMessage:
      record.plain = operationText("reaction", in: request.body)
    default:
      break
    }
    if verb != .createConversation, let conversation = request.conversation {
      let known = try tx.conversation(creating: conversation)
      record.cid = known.cid
      record.depends = try tx.creation(of: known.cid)
      if verb == .deleteConversation || verb == .leaveConversation,
        let made = try tx.operation(record.depends), made.isUntold
      {
        // Nobody was told of it, so nobody need hear of its end.
        try tx.removeOperation(made.seq)
        try tx.removeConversation(known.cid)
        return made
      }
    }
    if verb == .sendMessage {
      record.replyTo = operationText("reply_to", in: record.members)
      try noteReply(&record, in: tx)
    }
    if let message = request.message {
      if let changed = try aim(&record, at: message, draft: draft, in: tx) { return changed }
    }
    if verb == .markLastRead {
      if let further = try supersede(marker: &record, in: tx) { return further }
    } else if let changed = try supersede(record, draft: draft, in: tx) {
      return changed
    }
    return try tx.addOperation(record)
  }

  /// Says which message an operation is about. One that the server was never told of is
  /// changed here and now, and comes back.
  private func aim(
    _ record: inout OperationRecord, at message: [UInt8], draft: Draft,
    in tx: WriteTransaction
  ) throws(StoreFailure) -> OperationRecord? {
    record.target = try tx.id(ofSend: message, in: record.cid)
    guard var send = try tx.operation(clientID: message), send.verb == .sendMessage,
      send.cid == record.cid, send.state != .done
    else { return nil }
    if record.verb == .deleteMessage, send.isUntold || !isOnItsWay(send) {
      try tx.removeOperation(send.seq)
      return send
    }
    if send.isUntold, record.verb == .editMessage {
      // An edit that waits for the send is older than this one.
      for older in try tx.operations(on: message, in: record.cid)
      where older.verb == .editMessage && older.isUntold {
        try tx.removeOperation(older.seq)
      }
      try rewrite(&send, plain: record.plain, draft: draft, isFit: draft.isSealedAsSend, in: tx)
      return send
    }
    record.depends = send.seq
    return nil
  }

  /// Gives an operation another payload. What was sealed for something else is sealed
  /// once more.
  private func rewrite(
    _ record: inout OperationRecord, plain: [UInt8]?, draft: Draft, isFit: Bool,
    in tx: WriteTransaction
  ) throws(StoreFailure) {
    record.rewrite(plain)
    record.sealed = isFit ? draft.sealed : nil
    let awaitsSeal = config.seal != nil && record.sealed == nil
    if record.waits != .upload { record.waits = awaitsSeal ? .seal : .nothing }
    if record.state == .refused {
      record.state = .queued
      record.errorCode = nil
      record.errorText = nil
    }
    try tx.saveOperation(record)
  }

  /// Of several operations on one thing that were never told, the last one counts. Gives
  /// the one that takes this one's place.
  private func supersede(
    _ record: OperationRecord, draft: Draft, in tx: WriteTransaction
  ) throws(StoreFailure) -> OperationRecord? {
    guard !record.target.isEmpty, record.verb.isChange else { return nil }
    var edited: OperationRecord?
    for older in try tx.operations(on: record.target, in: record.cid) where older.isUntold {
      if older.state == .refused { continue }
      switch (record.verb, older.verb) {
      case (.deleteMessage, .deleteMessage):
        return older
      case (.editMessage, .editMessage):
        // Two can wait: what a send is to say since it was rewritten follows as an edit by itself.
        if let edited { try tx.removeOperation(edited.seq) }
        edited = older
      case (.deleteMessage, .editMessage), (.deleteMessage, .reactMessage),
        (.deleteMessage, .unreactMessage), (.deleteMessage, .pinMessage),
        (.deleteMessage, .unpinMessage), (.pinMessage, .pinMessage),
        (.pinMessage, .unpinMessage), (.unpinMessage, .pinMessage),
        (.unpinMessage, .unpinMessage):
        try tx.removeOperation(older.seq)
      case (.reactMessage, .reactMessage), (.reactMessage, .unreactMessage),
        (.unreactMessage, .reactMessage), (.unreactMessage, .unreactMessage):
        if older.plain == record.plain { try tx.removeOperation(older.seq) }
      default:
        break
      }
    }
    guard var last = edited else { return nil }
    try rewrite(&last, plain: record.plain, draft: draft, isFit: !draft.isSealedAsSend, in: tx)
    return last
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
    outbox.calm(seq)
    return try change(seq, now) { record, tx throws(StoreFailure) in
      switch record.state {
      case .inFlight, .done:
        return false
      case .queued:
        return !tracker.isPending(.operation(seq))
      case .unknown, .refused:
        try requeue(&record, tx)
        try tx.saveOperation(record)
        return true
      }
    }
  }

  func cancelOperation(_ seq: UInt64, at now: Instant) throws(Failure) -> Bool {
    var gone: [UInt8]?
    let isDropped = try change(seq, now) { record, tx throws(StoreFailure) in
      if record.state == .inFlight || record.state == .done { return false }
      if record.verb == .createConversation,
        let conversation = try tx.conversation(cid: record.cid), conversation.isPending
      {
        gone = conversation.id
      }
      try tx.removeOperation(seq)
      if record.verb == .markLastRead {
        try tx.takeBackLastRead(record.target, in: record.cid)
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
    scheduler.forgive(conversation)
    for job in scheduler.jobs where job.request.conversation == conversation {
      tracker.abandon(.sync(job.id))
      end(job, trouble: .noConversation)
    }
  }
}

extension OperationRecord {
  /// The server has not been told of it, or has said that it will not do it.
  var isUntold: Bool { state == .refused || (state == .queued && attempts == 0) }
}

extension OpenOperation {
  var isUntold: Bool { state == .queued && attempts == 0 }
}
