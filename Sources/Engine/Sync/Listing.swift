/// The server's list of conversations, asked for in pages, and what it says of each.
///
/// A page of the list may shift while it is read: what becomes active moves to its
/// top. So the list counts as whole only where as many conversations were seen as the
/// server counts, and a walk that saw fewer begins again, a few times. A conversation
/// that is missing is not taken for deleted: that is told by pushes and by answers.
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
  private var isCut = false
  private var budget = PageBudget()

  static let restartsMax = 2

  func request(limit: Int) -> Request {
    let body = "\"limit\":\(limit),\"offset\":\(offset),\"include_last_message\":true"
    return .operation(OperationRequest(verb: .getConversations, body: Array(body.utf8)))
  }

  init(restarts: Int = 0) {
    self.restarts = restarts
  }

  /// Takes the ids of a page. True where the walk is over.
  mutating func add(_ ids: [[UInt8]], count: Int, total: Int64?) -> Bool {
    let known = seen.count
    seen.formUnion(ids)
    offset += count
    self.total = total
    budget.take(count: count, total: total, isNew: seen.count > known)
    if count == 0 { return true }
    isCut = offset >= Limits.conversationsMax
    return isCut || total.map { Int64(offset) >= $0 } ?? false
  }

  /// Whether the server goes on and on.
  func isSpent(pagesMax: Int) -> Bool { budget.isSpent(pagesMax: pagesMax) }

  /// What the next walk goes on from; nil where this one leads nowhere.
  var left: Listing? {
    if budget.isIdle { return nil }
    var left = self
    left.budget = PageBudget()
    return left
  }

  /// Whether all were seen that the server has.
  var isWhole: Bool { !isCut && total.map { Int64(seen.count) >= $0 } ?? true }
}

extension SyncEngine {
  /// Takes a page of the list in one transaction.
  func takeListing(
    _ job: inout SyncJob, listing: Listing, found: [WireConversation], bad: [Range<Int>],
    total: Int64?, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) -> Step {
    var effects = UpdateApplier.Effects()
    try commit { tx throws(StoreFailure) in
      var applier = UpdateApplier(self, in: tx, answer: .getConversations, from: ingest, at: now)
      for conversation in found { try applier.told(conversation) }
      for range in bad {
        try applier.setAside(range, reason: BadItem.badConversation.code, cid: 0)
      }
      effects = applier.effects
    }
    tell(effects)
    job.status.received += found.count
    var listing = listing
    let isOver = listing.add(
      found.map(\.id), count: found.count + bad.count, total: total)
    guard isOver else {
      if listing.isSpent(pagesMax: config.profile.pagesMax) {
        memory.left.leave(listing.left)
        return .ended(.incomplete)
      }
      job.stage = .listing(listing)
      return .next
    }
    if bad.isEmpty, listing.isWhole {
      list.becameWhole()
      report.tellHost()
      try settleList()
      return .ended(nil)
    }
    guard bad.isEmpty, listing.restarts < Listing.restartsMax else { return .ended(.incomplete) }
    job.stage = .listing(Listing(restarts: listing.restarts + 1))
    return .next
  }

  // MARK: Open lists

  func openList(_ config: ListConfig, at now: Instant) throws(Failure) -> UInt64 {
    let number = try windows.openList(asks: !config.isCacheOnly)
    do throws(Failure) {
      if tracker.isUp { try askList(number, at: now) }
    } catch {
      closeWindow(number, at: now)
      throw error
    }
    return number
  }

  private func askList(_ number: UInt64, at now: Instant) throws(Failure) {
    guard windows.windows[number]?.asksList == true else { return }
    _ = try ask(number, SyncRequest(kind: .conversations, isUrgent: true), now)
  }

  /// A new connection: open lists ask for theirs, all of them once.
  func wakeLists(_ now: Instant) {
    list.begin()
    for number in windows.windows.keys.sorted() {
      do {
        try askList(number, at: now)
      } catch {
        report.logLines.append((.warn, "too many syncs wait for a list to ask for its own"))
      }
    }
    askOwedList()
  }

  /// Asks for a list of which something was told that could not be read, also where nobody
  /// looks at it: nothing else would bring that.
  private func askOwedList() {
    guard memory.server.facts.owesList, tracker.isUp, scheduler.hasRoom, !scheduler.asksList
    else { return }
    scheduler.add(SyncRequest(kind: .conversations))
  }

  /// Asks once more for a list of which a count is in doubt, where somebody looks at it: once all
  /// that may put others in doubt is done, and once a minute at most. What waits for a conversation
  /// to be made asks nothing, for as long as the user likes.
  func recount(_ now: Instant) {
    guard let due = list.recountMs, tracker.isUp, windows.asksList, now.monotonicMs >= due,
      scheduler.jobs.allSatisfy({ outbox.isUnmade($0.request.conversation) })
    else { return }
    list.recount(at: now.monotonicMs)
    scheduler.add(SyncRequest(kind: .conversations))
  }

  private func settleList() throws(StoreFailure) {
    guard memory.server.facts.owesList else { return }
    try commit { tx throws(StoreFailure) in
      memory.server.owe(list: false)
      try tx.save(memory.server.facts)
    }
  }

  // MARK: Typing

  /// Takes signs of typing after their delivery is committed.
  func hear(_ signs: [UpdateApplier.TypingSignal], at now: Instant) {
    for sign in signs {
      let isNews =
        sign.event.map { event in
          typing.receive(
            event, of: sign.user, in: sign.conversation, atUs: sign.atUs,
            serverUs: memory.server.timeUs, nowMs: now.monotonicMs)
        } ?? typing.spoke(sign.user, in: sign.conversation)
      if isNews { postTyping(sign.conversation) }
    }
  }

  /// What was not repeated in time ends.
  func expireTyping(_ now: Instant) {
    for conversation in typing.expire(nowMs: now.monotonicMs) { postTyping(conversation) }
  }

  func clearTyping() {
    for conversation in typing.clear() { postTyping(conversation) }
  }

  private func postTyping(_ conversation: [UInt8]) {
    let users = typing.users(conversation)
    windows.snapshot.withLock { snapshot in
      snapshot.typing[conversation] = users.isEmpty ? nil : users
      for number in snapshot.typed.keys { snapshot.typed[number]?.insert(conversation) }
    }
    report.tellHost()
  }
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
  mutating func told(_ known: WireConversation) throws(StoreFailure) {
    try settle(known)
    let record = try tx.conversation(creating: known.id)
    let isOld = asked.map { $0 < record.deletedLSN } ?? false
    var last: WireMessage?
    if case .message(let message) = known.lastMessage { last = message }
    if isOld {
      if last != nil { _ = takePayloads(1) }
      return
    }
    try keep(known, record)
    var newest: Position?
    try self.last(of: known)
    if let last, let order = engine.scheme.isSequence ? last.sequence : last.stamp.timeUs {
      newest = try tx.row(last.id, record.cid)?.position ?? Position(time: order, id: last.id)
    }
    try tx.noteServer(
      record.cid, unread: known.unreadCount, lastRead: known.lastReadMessage, newest: newest,
      issued: asked ?? tx.lsn)
  }

  /// One that was made here is known by its client id, whatever tells of it first.
  mutating func settle(_ known: WireConversation) throws(StoreFailure) {
    guard let name = known.clientID, let old = try tx.settle(creation: name, as: known.id)
    else { return }
    effects.named.append((old, known.id))
  }

  /// Whether those who are in a conversation are told of it, and this user, who has left
  /// it, as well: that does not bring it back.
  func isLeft(_ known: WireConversation) throws(StoreFailure) -> Bool {
    guard let record = try tx.conversation(known.id), record.deletedLSN > 0,
      try tx.entry(record).body == nil
    else { return false }
    do {
      let document = try Document(Array(arrival.frame[known.body]))
      guard let people = participants(document, user: engine.config.user) else { return false }
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
      madeUs: known.updated?.timeUs ?? known.created?.timeUs, issued: issued)
  }
}
