/// What the user does: taking it up, changing it, taking it back, and reading it.
///
/// Rule protected: what was taken up is on disk before the call returns.
internal import Base
internal import Store
internal import Vault
internal import Wire

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
            try tx.operationTable.removeOperation(operation.seq)
          } else if operation.state == .inFlight, var record = try tx.operation(operation.seq) {
            record.state = isRepeatable(record) ? .queued : .unknown
            try tx.operationTable.saveOperation(record)
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

  /// Who takes up what the user does, for one transaction.
  func writer(_ tx: WriteTransaction) -> OperationWriter {
    OperationWriter(outbox: outbox, seals: config.seal != nil, tx: tx)
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

  var ingestRules: IngestRules {
    IngestRules(
      user: config.user, autoMarkDelivered: config.autoMarkDelivered,
      usesSequence: can(.sequence), matchesPayloads: matchesPayloads,
      learnsTies: scheme.learnsTies)
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
    outbox.calm(seq)
    return try change(seq, now) { record, tx throws(StoreFailure) in
      switch record.state {
      case .inFlight, .done:
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
      if record.state == .inFlight || record.state == .done { return false }
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
    scheduler.forgive(conversation)
    for job in scheduler.jobs where job.request.conversation == conversation {
      tracker.abandon(.sync(job.id))
      end(job, trouble: .noConversation)
    }
  }

  // MARK: Reading

  func operations(_ query: OperationQuery) throws(StoreFailure) -> [FoundOperation] {
    try store.read { rx throws(StoreFailure) in
      var filter = OperationFilter(
        openOnly: query.openOnly, after: query.after, limit: query.limit)
      if let name = query.conversation {
        guard let known = try rx.conversation(name) else { return [] }
        filter.cid = known.cid
      }
      var found: [FoundOperation] = []
      for record in try rx.operations(filter) where !record.verb.isMark {
        let conversation = try rx.conversation(cid: record.cid)?.id ?? []
        found.append(FoundOperation(record: record, conversation: conversation))
      }
      return found
    }
  }

  func operation(_ seq: UInt64) throws(StoreFailure) -> FoundOperation? {
    try store.read { rx throws(StoreFailure) in
      guard let record = try rx.operation(seq), !record.verb.isMark else { return nil }
      return FoundOperation(
        record: record, conversation: try rx.conversation(cid: record.cid)?.id ?? [])
    }
  }

  func page(_ found: [FoundOperation], _ now: Instant) -> OperationPage {
    var page = OperationPage(rows: [], bytes: [])
    for found in found {
      let record = found.record
      func put(_ value: [UInt8]) -> Range<Int> {
        let start = page.bytes.count
        page.bytes += value
        return start..<page.bytes.count
      }
      let isUploading = record.waits == .upload && record.state != .done
      let retry = outbox.notBeforeMs[record.seq].map { max(0, $0 - now.monotonicMs) }
      page.rows.append(
        OperationView(
          id: record.seq, number: record.number, standing: OperationStanding(record.state),
          waiting: waiting(record, now), attempts: UInt32(clamping: record.attempts),
          uploadPermille: isUploading ? outbox.permille[record.seq] ?? 0 : 1_000,
          retryMs: record.state == .queued ? retry ?? -1 : -1,
          verb: put(bytes(record.verb.onWire.name)), conversation: put(found.conversation),
          message: put(record.target), clientID: put(record.clientID ?? []),
          request: put(record.request), result: put(record.result ?? []),
          errorCode: put(record.errorCode ?? []), errorText: put(record.errorText ?? [])))
    }
    return page
  }

  private func waiting(_ record: OperationRecord, _ now: Instant) -> OperationWaiting {
    switch record.state {
    case .inFlight, .refused, .done:
      return .nothing
    case .unknown:
      if outbox.checks[record.seq] == nil { return .nothing }
      return tracker.isUp ? .check : .connection
    case .queued:
      if record.waits == .upload { return .upload }
      if record.waits == .seal { return .seal }
      if record.depends != 0 { return .turn }
      if let due = outbox.notBeforeMs[record.seq], due > now.monotonicMs { return .retry }
      if !tracker.isUp { return .connection }
      return tracker.isPending(.operation(record.seq)) ? .nothing : .turn
    }
  }

  /// Tells something that is not waited for, if it can go out now.
  func tell(_ request: OperationRequest) -> Bool {
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
    tracker.tell(.operation(request), account: commander)
    report.tellHost()
    return true
  }
}
