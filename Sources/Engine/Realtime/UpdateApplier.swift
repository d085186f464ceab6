/// One update on its way into the store.
///
/// All its effects are one transaction. What cannot be applied is kept as it came, counted and
/// replied to, so that it never blocks what stands behind it.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// One delivery on its way into the store; lives for one transaction.
struct UpdateApplier {
  /// What is to be done when the transaction is over.
  struct Effects {
    var quarantined = 0
    /// What could not be applied.
    var aside = SetAside()
    /// A message of this user's came with its client id.
    var sawClientID = false
    var duplicates = 0
    var pushed: [PushedRow] = []
    /// Reactions of single users, and the commit that took them in.
    var reacted: [(message: PushedID, told: UserReaction, lsn: UInt64)] = []
    /// Where marks are known as of now.
    var shown: [(cid: Int64, span: SpanSet.Span)] = []
    /// What is whole because messages name each other, apart from what the watermark tops.
    var linked: [(cid: Int64, span: SpanSet.Span)] = []
    /// Conversations in which something may be missing below what came.
    var behind: Set<[UInt8]> = []
    /// Who types, or has said something.
    var signs: [TypingSignal] = []
    /// Conversations that are no more.
    var left: [[UInt8]] = []
    /// Conversations made here that have a name from the server.
    var named: [(old: [UInt8], new: [UInt8])] = []
    /// Marks were queued.
    var queuedMarks = false
    /// What was taken into logs.
    var logs: [LogEffects] = []
    /// What is to be asked for again.
    var doubts = Doubts()
  }

  /// Whether a request asked for the last message of each conversation (`asked`), and whether the
  /// answer has one (`told`).
  enum Lasts {
    case untold, asked, told

    init(isAsked: Bool, _ all: [WireConversation]) {
      self = !isAsked ? .untold : all.contains { $0.lastMessage != nil } ? .told : .asked
    }
  }

  let memory: SyncMemory
  let pushReach: PushReach
  let rules: IngestRules
  let tx: WriteTransaction
  let update: ServerUpdate
  let arrival: Arrival
  var effects = Effects()
  /// The operation that this is the answer to.
  var answered: OperationRecord?
  /// What comes beside something else tells of no newer ones before it.
  var isAside = false
  /// The host gets `TL_QUARANTINED`: something could not be applied.
  var isQuarantined = false
  /// The commit after which an answer was asked for; nil for what was pushed.
  var asked: UInt64?
  /// The same of what an answer may know no better than what came meanwhile. Nil for what
  /// is newer than every request that is on its way.
  var issued: UInt64?
  /// Whether the answer names the last messages of its conversations.
  var lasts = Lasts.untold
  /// How often messages came.
  var copies = CopyCounter()
  /// The payloads of the messages that are still to come.
  private var opened: ArraySlice<OpenedPayload>

  init(
    _ memory: SyncMemory, pushReach: PushReach, rules: IngestRules, in tx: WriteTransaction,
    update: ServerUpdate, from arrival: Arrival
  ) {
    self.memory = memory
    self.pushReach = pushReach
    self.rules = rules
    self.tx = tx
    self.update = update
    self.arrival = arrival
    opened = arrival.opened
  }

  mutating func run() throws(StoreFailure) {
    if let fault = update.fault, let raw = update.raw {
      if let skipped = update.skipped { return try skip(raw, skipped) }
      try setAside(raw, reason: fault.code, cid: 0)
      return try poison(raw, cid: nil)
    }
    var index = 0
    while index < update.effects.count {
      guard case .message(let conversation, _, _) = update.effects[index] else {
        let effect = update.effects[index]
        if memory.server.scheme.history.onlyNotes(effect, &self) {
          index += 1
          continue
        }
        let rest = update.effects[index...]
        let beside = rest.prefix { $0.isBeside(effect) }
        if try !applyTogether(beside) { try apply(effect) }
        index += max(1, beside.count)
        continue
      }
      // Neighbours of one conversation are one small page.
      var items: [PushedItem] = []
      while index < update.effects.count,
        case .message(conversation, let item, let isNew) = update.effects[index]
      {
        items.append(PushedItem(item: item, isNew: isNew))
        index += 1
      }
      try messages(conversation, items: items)
    }
  }

  private mutating func apply(_ effect: Effect) throws(StoreFailure) {
    switch effect {
    case .message:
      break
    case .messagesDeleted(let conversation, let ids):
      try delete(ids, in: tx.conversation(creating: conversation))
    case .receipts(let conversation, let kind, let user, let ids):
      let cid = try tx.conversation(creating: conversation).cid
      _ = try tx.annotationTable.receipts(
        ReceiptKind(kind), user: user, ids: ids, in: cid, isMe: user == rules.user)
    case .reactions(let conversation, let id, let range, let version):
      let cid = try tx.conversation(creating: conversation).cid
      let json = range.isEmpty ? nil : Array(arrival.frame[range])
      _ = try tx.annotationTable.reactions(
        id, in: cid, json: json, version: version, issued: tx.lsn)
    case .reacted(let conversation, let id, let change):
      try reacted(change, to: id, in: conversation)
    case .pin(let conversation, let id, let isPinned):
      let cid = try tx.conversation(creating: conversation).cid
      _ = try tx.annotationTable.pin(id, in: cid, isPinned: isPinned, issued: tx.lsn)
    case .typing(let conversation, let user, let typing, let at, let body):
      if user != rules.user {
        effects.signs.append(
          TypingSignal(conversation: conversation, user: user, event: typing, atUs: at?.timeUs))
      }
      try event(.typing, body: body, cid: try tx.conversation(creating: conversation).cid)
    case .entity(let kind, let conversation, let id, let body, let known):
      if let known { try settle(known) }
      if let known, try isLeft(known) {
        if case .message = known.lastMessage { _ = takePayloads(1) }
        return
      }
      try entity(
        kind, in: conversation, id: id, body: body, isDeleted: false, isToldApart: known != nil)
      if let known { try applyConversation(known) }
    case .entityDeleted(let kind, let conversation, let id, let body):
      try entity(kind, in: conversation, id: id, body: body, isDeleted: true)
    case .unknown(let name, let body):
      try event(.unknown, body: body, cid: nil, named: name)
    case .skipped(let range, let skipped):
      try skip(range, skipped)
    case .bad(let range, let reason):
      try setAside(range, reason: reason.code, cid: 0)
      try poison(range, cid: nil)
    }
  }

  /// Applies deletions by id. If the last message is deleted, and the one before it is not known
  /// here, the list of conversations is requested.
  func delete(_ ids: [[UInt8]], in record: ConversationRecord) throws(StoreFailure) {
    let cid = record.cid
    if asked == nil {
      memory.effects.deleted.append(contentsOf: ids.map { PushedID(cid: cid, id: $0) })
    }
    let lasts = NamedLastTable(tx, cid)
    let newest = try lasts.newestVisible()
    for id in ids { _ = try tx.tombstone(id, in: cid, version: nil) }
    // What is gone is not pending any more.
    for kind in [ReceiptKind.read, .delivered, .listened] {
      try tx.annotationTable.dropMarks(kind, ids: ids, in: cid)
    }
    guard let newest, ids.contains(newest.position.id) else { return }
    let whole = record.trusted(try tx.spans(cid), tx).span(holding: newest.position)
    let next = try lasts.newestVisible()?.position ?? .min
    if whole.map({ $0.low > next }) ?? true { lasts.doubt() }
  }

  /// One user's reaction, laid over the set that is stored. What cannot be remembered for pages on
  /// their way is asked for.
  mutating func reacted(
    _ told: UserReaction, to id: [UInt8], in conversation: [UInt8]
  ) throws(StoreFailure) {
    let cid = try tx.conversation(creating: conversation).cid
    let message = PushedID(cid: cid, id: id)
    if memory.reacted.isOutdated(told, of: message) { return }
    if memory.reacted.isFull {
      try doubt(SkippedList([.marks], in: conversation, list: .reactions))
    }
    _ = try tx.annotationTable.react(
      id, in: cid, user: told.user, reaction: told.reaction, isAdded: told.isAdded,
      version: told.version)
    effects.reacted.append((message, told, tx.lsn))
  }

  /// The opened payloads of the next readable messages.
  mutating func takePayloads(_ count: Int) -> ArraySlice<OpenedPayload> {
    defer { opened = opened.dropFirst(count) }
    return opened.prefix(count)
  }

  /// Keeps bytes that could not be applied. They have no place among the messages.
  mutating func setAside(
    _ range: Range<Int>, reason: Int64, cid: Int64
  ) throws(StoreFailure) {
    effects.quarantined += 1
    effects.aside.note(reason)
    try tx.quarantineTable.quarantine(
      cid, bytes: Array(arrival.frame[range]), reason: reason, low: .min, high: .min)
  }
}
