/// The server's list of conversations, asked for in pages, and what it says of each.
///
/// A page of the list may shift while it is read: what becomes active moves to its
/// top. So the list counts as whole only where as many conversations were seen as the
/// server counts, and a walk that saw fewer begins again, a few times. A conversation
/// that is missing is not taken for deleted: pushes and answers report deletions.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// How far a walk through the list has come.
struct Listing {
  var offset = 0
  var seen: Set<[UInt8]> = []
  /// What the server counted on the last page.
  var total: Int64?
  /// How often it began again.
  var restarts = 0
  /// More is there than is read.
  private(set) var isCut = false
  /// Pages that brought less than a quarter of what was asked for.
  private var thinPages = 0
  private var budget = PageBudget()

  static let restartsMax = 2

  func request(limit: Int) -> Request {
    let body = "\"limit\":\(limit),\"offset\":\(offset),\"include_last_message\":true"
    return .operation(OperationRequest(verb: .getConversations, body: Array(body.utf8)))
  }

  init(restarts: Int = 0) {
    self.restarts = restarts
  }

  /// Takes the ids of a page of which `limit` were asked for. True where the walk is over.
  mutating func add(_ ids: [[UInt8]], count: Int, total: Int64?, limit: Int) -> Bool {
    let known = seen.count
    seen.formUnion(ids)
    let new = seen.count &- known
    if new < limit / 4 { thinPages &+= 1 }
    offset += count
    self.total = total
    budget.take(count: count, total: total, isNew: new > 0)
    if count == 0 { return true }
    isCut = offset >= Limits.conversationsMax
    return isCut || total.map { Int64(offset) >= $0 } ?? false
  }

  /// Whether the server goes on and on. A count is a number that it says: pages that bring little
  /// are bounded whatever that is.
  func isSpent(pagesMax: Int) -> Bool {
    thinPages >= pagesMax || budget.isSpent(pagesMax: pagesMax)
  }

  /// What the next walk goes on from; nil where this one leads nowhere.
  var left: Listing? {
    if budget.isIdle { return nil }
    var left = self
    left.budget = PageBudget()
    left.thinPages = 0
    return left
  }

  /// Whether all were seen that the server has.
  var isWhole: Bool { !isCut && total.map { Int64(seen.count) >= $0 } ?? true }
}

extension UpdateApplier {
  /// Somebody types, or, without an event, has said something.
  struct TypingSignal {
    var conversation: [UInt8]
    var user: [UInt8]
    var event: TypingEvent?
    var atUs: Int64?
  }

  /// Takes in what a conversation says of itself, by push or in an answer: the object,
  /// the newest message as a detached range, the read marker, and the count of unread ones.
  mutating func applyConversation(_ known: WireConversation) throws(StoreFailure) {
    try settle(known)
    let record = try tx.conversation(creating: known.id)
    let isOld = asked.map { $0 < record.deletedLSN } ?? false
    var last: WireMessage?
    if case .message(let message) = known.lastMessage { last = message }
    if isOld {
      if last != nil { _ = takePayloads(1) }
      return
    }
    let isEmpty = try isEmpty(known, record)
    // That a message is the last one does not say its position in a log.
    let order = last.flatMap { memory.server.scheme.order(of: $0) }
    var isPlaced = true
    if let last, order == nil { isPlaced = try tx.row(last.id, record.cid) != nil }
    try keep(known, record)
    var newest: Position?
    let came = try tx.unreadReader.cameLSN(record.cid)
    try self.last(of: known)
    if let last {
      newest =
        try tx.row(last.id, record.cid)?.position
        ?? order.map { Position(time: $0, id: last.id) }
    }
    if let asked, isEmpty || newest != nil {
      try name(last: last?.id, at: isPlaced ? newest : nil, in: record, asked: asked)
    }
    try tx.unreadTable.noteServer(
      record.cid, unread: known.unreadCount, lastRead: known.lastReadMessage, newest: newest,
      issued: asked ?? tx.lsn, came: came)
  }

  /// Whether an answer that asked for last messages shows that the conversation has none: it says
  /// so, or it has the last message of others, or an earlier answer had this one's.
  private func isEmpty(
    _ known: WireConversation, _ record: ConversationRecord
  ) throws(StoreFailure) -> Bool {
    if asked == nil || known.lastMessage != nil { return false }
    if known.isEmpty || lasts == .told { return true }
    guard lasts == .asked, let body = try tx.entry(record).body else { return false }
    return operationValue("last_message", in: Array(body.dropFirst().dropLast())) != nil
  }

  /// Rows above the last message that an answer names were deleted without a report, except those
  /// that came on this connection and may be newer than the answer.
  private func name(
    last id: [UInt8]?, at place: Position?, in record: ConversationRecord, asked: UInt64
  ) throws(StoreFailure) {
    let settled = memory.server.time.map { $0.saturating(minus: memory.server.overlapUs) } ?? .min
    try NamedLastTable(tx, record.cid).name(id, at: place?.time ?? .min, issued: asked) { row in
      guard row.timeUs >= settled.us,
        let lsn = memory.pushed.lsn(of: PushedID(cid: record.cid, id: row.position.id))
      else { return false }
      return lsn > memory.live.beganLSN
    }
  }

  /// One that was made here is known by its client id, whatever tells of it first.
  mutating func settle(_ known: WireConversation) throws(StoreFailure) {
    guard let name = known.clientID,
      let old = try tx.operationTable.settle(creation: name, as: known.id)
    else { return }
    effects.named.append((old, known.id))
  }

  /// Whether this is a change of a conversation that this user has left, pushed to its members:
  /// that does not bring it back.
  func isLeft(_ known: WireConversation) throws(StoreFailure) -> Bool {
    guard let record = try tx.conversation(known.id), record.deletedLSN > 0,
      try tx.entry(record).body == nil
    else { return false }
    do {
      let document = try Document(Array(arrival.frame[known.body]))
      guard let people = participants(document, user: rules.user) else { return false }
      return people.count > 0 && !people.hasUser
    } catch {
      return false
    }
  }

  private func keep(
    _ known: WireConversation, _ record: ConversationRecord
  ) throws(StoreFailure) {
    guard known.body.count <= Limits.messageBytesMax else { return }
    try tx.putConversation(
      record.cid, id: known.id, body: Array(arrival.frame[known.body]),
      madeUs: known.updated?.timeUs ?? known.created?.timeUs,
      issued: isPlanted(.olderAnswerReplaces) ? tx.lsn : issued)
  }
}
