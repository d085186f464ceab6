/// What a server keeps of a conversation: pages that are asked for by time or number, or a log.
///
/// Each input that the two take differently is one member, and nothing else asks which it is. What
/// differs between times and numbers is in `PositionScheme`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

protocol History {
  /// Decides the first request of a job about messages.
  static func begin(_ job: inout SyncJob, _ engine: SyncEngine) throws(StoreFailure) -> Step

  /// The page around the last read message, once the server has told which that is.
  static func planAtMarker(
    _ job: inout SyncJob, of record: ConversationRecord, _ planner: SyncPlanner
  ) throws(StoreFailure) -> SyncStage?

  /// What follows when that transaction has ended.
  static func goToMarker(
    _ job: inout SyncJob, _ stage: SyncStage?, isNamed: Bool, _ engine: SyncEngine
  ) throws(StoreFailure) -> Step

  /// Takes messages that a push, a list or an answer has.
  static func take(
    _ items: [PushedItem], of conversation: [UInt8], _ applier: inout UpdateApplier
  ) throws(StoreFailure)

  /// Whether a pushed effect changes nothing by itself.
  static func onlyNotes(_ effect: Effect, _ applier: inout UpdateApplier) -> Bool

  /// Takes a push of entries.
  static func take(
    _ push: EntryPush, from arrival: Arrival, _ engine: SyncEngine
  ) throws(Failure) -> Receipt

  /// Takes the answer to what the user did.
  static func finish(
    _ record: OperationRecord, _ outcome: Outcome, _ response: Response,
    for pending: PendingRequest,
    from arrival: Arrival, _ engine: SyncEngine
  ) throws(StoreFailure) -> Receipt

  static func take(
    imported message: WireMessage, _ item: ImportItem, named name: [UInt8],
    _ slice: inout ImportSlice
  ) throws(StoreFailure)

  /// Takes out one message; false where there is none.
  static func drop(
    _ id: [UInt8], of conversation: [UInt8], at now: Instant, _ engine: SyncEngine
  ) throws(StoreFailure) -> Bool

  /// All messages of a conversation were taken out.
  static func dropAll(_ cid: Int64, in tx: WriteTransaction) throws(StoreFailure)

  static func retention(_ engine: SyncEngine) -> LogRetention?

  /// What the conversation as a whole says of a page, beside its gaps.
  static func fill(
    _ coverage: inout Coverage, of record: ConversationRecord, first: Position?, _ reading: Reading
  ) throws(StoreFailure)
}

enum PagedHistory: History {
  static func begin(_ job: inout SyncJob, _ engine: SyncEngine) throws(StoreFailure) -> Step {
    try engine.beginPages(&job)
  }

  static func planAtMarker(
    _ job: inout SyncJob, of record: ConversationRecord, _ planner: SyncPlanner
  ) throws(StoreFailure) -> SyncStage? {
    try planner.planAtMarker(&job, of: record, asks: false)
  }

  static func goToMarker(
    _ job: inout SyncJob, _ stage: SyncStage?, isNamed: Bool, _ engine: SyncEngine
  ) throws(StoreFailure) -> Step {
    guard let stage else { return .ended(nil) }
    job.stage = stage
    return .next
  }

  static func take(
    _ items: [PushedItem], of conversation: [UInt8], _ applier: inout UpdateApplier
  ) throws(StoreFailure) {
    try applier.insert(conversation, items: items)
  }

  static func onlyNotes(_ effect: Effect, _ applier: inout UpdateApplier) -> Bool { false }

  static func take(
    _ push: EntryPush, from arrival: Arrival, _ engine: SyncEngine
  ) throws(Failure) -> Receipt {
    try engine.takeForeign(
      arrival.frame, of: bytes("entries_new"), because: "type is not one that is known here")
  }

  static func finish(
    _ record: OperationRecord, _ outcome: Outcome, _ response: Response,
    for pending: PendingRequest,
    from arrival: Arrival, _ engine: SyncEngine
  ) throws(StoreFailure) -> Receipt {
    try engine.finish(record, outcome: outcome, response: response, for: pending, from: arrival)
  }

  static func take(
    imported message: WireMessage, _ item: ImportItem, named name: [UInt8],
    _ slice: inout ImportSlice
  ) throws(StoreFailure) {
    try slice.insert(message, item, name)
  }

  static func drop(
    _ id: [UInt8], of conversation: [UInt8], at now: Instant, _ engine: SyncEngine
  ) throws(StoreFailure) -> Bool {
    try engine.drop(id, of: conversation)
  }

  static func dropAll(_ cid: Int64, in tx: WriteTransaction) throws(StoreFailure) {}

  static func retention(_ engine: SyncEngine) -> LogRetention? { nil }

  static func fill(
    _ coverage: inout Coverage, of record: ConversationRecord, first: Position?, _ reading: Reading
  ) throws(StoreFailure) {
    // Below 1970 stands only what begins before all that there is.
    coverage.deletionsAsOfUs = max(0, record.deletions?.time.us ?? 0)
    coverage.contentAsOfUs = reading.scheme.stamp(record.fetch?.text)?.timeUs ?? 0
    coverage.marksAsOfUs = max(0, record.marks?.time.us ?? 0)
    coverage.totalCount = record.totalCount ?? -1
    guard record.auditedTotal != nil, coverage.totalCount != coverage.knownCount,
      reading.scheme.countsProve
    else { return }
    // A walk the other way has not found what the server counts.
    coverage.whole = false
    if coverage.stop == .start || coverage.stop == .present { coverage.stop = .count }
  }
}

enum LogHistory: History {
  static func begin(_ job: inout SyncJob, _ engine: SyncEngine) throws(StoreFailure) -> Step {
    try engine.readLog(&job) { sync, job throws(StoreFailure) in try sync.begin(&job) }
  }

  static func planAtMarker(
    _ job: inout SyncJob, of record: ConversationRecord, _ planner: SyncPlanner
  ) throws(StoreFailure) -> SyncStage? { nil }

  static func goToMarker(
    _ job: inout SyncJob, _ stage: SyncStage?, isNamed: Bool, _ engine: SyncEngine
  ) throws(StoreFailure) -> Step {
    isNamed ? try begin(&job, engine) : .ended(nil)
  }

  static func take(
    _ items: [PushedItem], of conversation: [UInt8], _ applier: inout UpdateApplier
  ) throws(StoreFailure) {
    try applier.insertDetached(conversation, items: items)
  }

  /// A push that is no entry shows that something has changed in the log.
  static func onlyNotes(_ effect: Effect, _ applier: inout UpdateApplier) -> Bool {
    switch effect {
    case .messagesDeleted(let conversation, _), .reactions(let conversation, _, _, _),
      .reacted(let conversation, _, _), .pin(let conversation, _, _):
      applier.effects.behind.insert(conversation)
      return true
    default:
      return false
    }
  }

  static func take(
    _ push: EntryPush, from arrival: Arrival, _ engine: SyncEngine
  ) throws(Failure) -> Receipt {
    let receipt = try engine.storing { () throws(StoreFailure) in
      try engine.apply(push, arrival)
    }
    engine.pump(arrival.now)
    return receipt
  }

  static func finish(
    _ record: OperationRecord, _ outcome: Outcome, _ response: Response,
    for pending: PendingRequest,
    from arrival: Arrival, _ engine: SyncEngine
  ) throws(StoreFailure) -> Receipt {
    if record.verb.makesEntry {
      return try engine.finishInLog(record, outcome: outcome, response: response, from: arrival)
    }
    return try PagedHistory.finish(record, outcome, response, for: pending, from: arrival, engine)
  }

  static func take(
    imported message: WireMessage, _ item: ImportItem, named name: [UInt8],
    _ slice: inout ImportSlice
  ) throws(StoreFailure) {
    try slice.keep(message, item, name)
  }

  static func drop(
    _ id: [UInt8], of conversation: [UInt8], at now: Instant, _ engine: SyncEngine
  ) throws(StoreFailure) -> Bool {
    try engine.giveBack(id, of: conversation, at: now)
  }

  static func dropAll(_ cid: Int64, in tx: WriteTransaction) throws(StoreFailure) {
    try LogRanges(tx).deleteAll(cid)
    try tx.unreadTable.clearPlaces(cid)
  }

  static func retention(_ engine: SyncEngine) -> LogRetention? {
    LogRetention(memory: engine.memory, rules: engine.ingestRules)
  }

  /// What the range says that holds the first row.
  static func fill(
    _ coverage: inout Coverage, of record: ConversationRecord, first: Position?, _ reading: Reading
  ) throws(StoreFailure) {
    guard coverage.whole, let first,
      let top = try LogCertificate(reading.rx).top(above: first, in: record.cid)
    else { return }
    coverage.asOfEntry = top.id
    coverage.contentAsOfUs = max(0, top.timeUs ?? 0)
    coverage.deletionsAsOfUs = coverage.contentAsOfUs
    coverage.marksAsOfUs = coverage.contentAsOfUs
  }
}
