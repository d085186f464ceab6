/// The reference server: one world of users, conversations and messages.
///
/// Pure and deterministic: no clock, no thread, no socket. The owner moves
/// `nowUs`, posts and deletes, hands in request frames and takes answers and
/// pushes out. The same seed and the same calls give the same bytes. Confined
/// to one thread at a time.
public final class ReferenceServer {
  public let knobs: ServerKnobs
  /// Changes when the server is restored from a backup.
  public private(set) var epoch = 1

  /// The server's clock. Moving it commits what has fallen due.
  public var nowUs: Int64 = 0 {
    didSet { settle() }
  }

  var dice: ServerDice
  var conversations: [String: ConversationState] = [:]
  /// Conversations in the order of their making.
  public internal(set) var conversationIDs: [String] = []
  var arrivals = 0
  /// How often tokens were forgotten.
  var expiries = 0
  private var posted = 0
  private var tickets = 0
  /// What is stamped and not yet visible, the soonest last.
  private var pending: [Pending] = []
  var subscribers: [Int: Subscriber] = [:]
  var subscriberCount = 0
  /// Chances of pushes have dice of their own, so that they change nothing else.
  var pushDice: ServerDice
  var accounts: [Account] = []
  var refs = 0
  /// The names of users, as far as any were told.
  public internal(set) var profiles: [String: String] = [:]
  /// The newest number given in each conversation, for ever: none is given
  /// twice, not even after a restore.
  var lastNumbers: [String: Int64] = [:]
  var failures: [PlannedFailure] = []
  /// The connection whose request is being handled.
  var acting: Int?
  /// The conversations that requests with a client id made, also those long gone.
  var creations: [SendKey: String] = [:]
  /// The channel of each user who has asked for one.
  var channels: [String: String] = [:]
  /// Hears of each committed change; the journal listens here.
  var onChange: ((ServerChange) -> Void)?

  public init(knobs: ServerKnobs = ServerKnobs(), seed: UInt64) {
    self.knobs = knobs
    dice = ServerDice(seed: seed)
    pushDice = ServerDice(seed: seed ^ 0x7075_7368)
  }

  private enum Commit {
    case message(ServerMessage, isSilent: Bool)
    case deletion(conversation: String, ids: [String], deletedUs: Int64)
  }

  private struct Pending {
    let dueUs: Int64
    let ticket: Int
    let commit: Commit
  }

  // MARK: Conversations

  /// Makes a conversation; without participants everybody may see it.
  public func createConversation(_ id: String, title: String = "", participants: [String] = []) {
    guard conversations[id] == nil else { return }
    let state = ConversationState(id: id, title: title, participants: participants)
    state.createdUs = nowUs
    conversations[id] = state
    conversationIDs.append(id)
    onChange?(.conversation(id))
  }

  public func participants(of conversation: String) -> [String] {
    conversations[conversation]?.participants ?? []
  }

  public func title(of conversation: String) -> String {
    conversations[conversation]?.title ?? ""
  }

  // MARK: Changes

  /// Posts a message and returns its id. It is stamped now (or with `stampUs`)
  /// and becomes visible `lateUs` later; nil lets the knob draw the lateness.
  /// `payload` is JSON text. An id in use is returned and nothing is posted.
  @discardableResult
  public func post(
    conversation: String, sender: String, payload: String, id: String? = nil,
    stampUs: Int64? = nil, lateUs: Int64? = nil, replyTo: String? = nil,
    flaw: ServerMessage.Flaw = .none, isSilent: Bool = false, clientID: String? = nil,
    attachment: String? = nil, metadata: String? = nil
  ) -> String {
    createConversation(conversation)
    posted += 1
    let newID = id ?? makeID()
    let message = ServerMessage(
      id: newID, conversation: conversation, sender: sender, stampUs: stampUs ?? nowUs,
      arrival: 0, payload: payload, replyTo: replyTo, flaw: flaw, clientID: clientID,
      attachment: attachment, metadata: metadata)
    enqueue(.message(message, isSilent: isSilent), lateUs ?? lateness(knobs.commitLatenessMaxUs))
    return newID
  }

  /// Deletes messages; the deletion is stamped now and visible `lateUs` later.
  public func delete(conversation: String, ids: [String], lateUs: Int64? = nil) {
    let late = lateUs ?? lateness(knobs.deletionLatenessMaxUs)
    var deletedUs = nowUs
    // Where stamps of messages run ahead of the clock so that none comes in between, those
    // of deletions do too: a device takes both for the same clock.
    if knobs.sendsPreviousIDs, let last = conversations[conversation]?.lastPlace {
      deletedUs = max(deletedUs, last.tickUs)
    }
    enqueue(.deletion(conversation: conversation, ids: ids, deletedUs: deletedUs), late)
  }

  // MARK: Commits

  private func enqueue(_ commit: Commit, _ lateUs: Int64) {
    tickets += 1
    let due = nowUs + max(0, lateUs)
    var at = pending.count
    while at > 0, pending[at - 1].dueUs <= due { at -= 1 }
    pending.insert(Pending(dueUs: due, ticket: tickets, commit: commit), at: at)
    settle()
  }

  /// Sets the clock back: what comes next is stamped earlier. What is on its way comes when it
  /// would have come.
  public func stepBack(us: Int64) {
    pending = pending.map {
      Pending(dueUs: $0.dueUs - us, ticket: $0.ticket, commit: $0.commit)
    }
    nowUs -= us
  }

  private func settle() {
    while let next = pending.last, next.dueUs <= nowUs {
      pending.removeLast()
      apply(next.commit)
    }
  }

  private func apply(_ commit: Commit) {
    switch commit {
    case .message(let message, let isSilent): show(message, isSilent)
    case .deletion(let conversation, let ids, let deletedUs):
      guard let state = conversations[conversation] else { return }
      var gone: [String] = []
      for id in ids {
        arrivals += 1
        let entry = ServerDeletion(id: id, deletedUs: deletedUs, arrival: arrivals)
        guard state.remove(entry, knobs) else { continue }
        gone.append(id)
        onChange?(.deletion(conversation, entry, version: state.deadVersions[id] ?? 0))
      }
      if !gone.isEmpty { push(.deleted(conversation, gone), to: state) }
    }
  }

  /// A message becomes visible: it gets its number and its place.
  private func show(_ posted: ServerMessage, _ isSilent: Bool) {
    guard let state = conversations[posted.conversation], !state.contains(posted.id),
      state.log.place(of: posted.id) == nil
    else { return }
    var message = posted
    arrivals += 1
    message.arrival = arrivals
    let number = (lastNumbers[state.id] ?? 0) + 1
    lastNumbers[state.id] = number
    message.number = number
    if knobs.sendsPreviousIDs { link(&message, in: state) }
    if let dead = state.deadVersions[message.id] {
      message.version = dead + 1
      message.changedUs = nowUs
    }
    state.put(message, knobs)
    onChange?(.message(message))
    push(.message(Row(message, knobs), isNew: true, isSilent: isSilent), to: state)
  }

  /// Names the message before, and sees to it that none comes in between, nor before one
  /// that is deleted: a device may still hear of that one and of what it named.
  private func link(_ message: inout ServerMessage, in state: ConversationState) {
    message.previousID = state.rows.last?.message.id
    guard let last = state.lastPlace else { return }
    let unit = max(1, knobs.timeResolutionUs)
    for stampUs in [message.stampUs, last.tickUs, last.tickUs + unit] {
      message.stampUs = stampUs
      if last.isBefore(Row(message, knobs).place, knobs.ties) { return }
    }
  }

  private func lateness(_ limit: Int64) -> Int64 {
    limit <= 0 ? 0 : Int64(dice.below(Int(limit) + 1))
  }

  private func makeID() -> String {
    switch knobs.idStyle {
    case .ordered:
      let digits = String(posted)
      return "m-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    case .random:
      return ReferenceServer.uuid(&dice)
    }
  }

  static func uuid(_ dice: inout ServerDice) -> String {
    var text: [UInt8] = []
    let words = [dice.next(), dice.next()]
    for index in 0..<16 {
      var byte = UInt8(truncatingIfNeeded: words[index / 8] >> UInt64(index % 8 * 8))
      if index == 6 { byte = byte & 0x0F | 0x40 }
      if index == 8 { byte = byte & 0x3F | 0x80 }
      if [4, 6, 8, 10].contains(index) { text.append(0x2D) }
      text.append(ServerJSON.hex(byte >> 4))
      text.append(ServerJSON.hex(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }

  // MARK: Backup

  /// The whole visible state at one moment; what is not yet visible is not in it.
  public struct Snapshot {
    let conversations: [ConversationState]
    let creations: [SendKey: String]
  }

  public func backup() -> Snapshot {
    Snapshot(
      conversations: conversationIDs.compactMap { conversations[$0]?.copy() },
      creations: creations)
  }

  /// Goes back to a backup: later rows and deletions are gone, commits on their
  /// way are lost, the epoch is a new one. Nobody is told.
  public func restore(_ snapshot: Snapshot) {
    pending.removeAll()
    epoch += 1
    conversations.removeAll()
    conversationIDs.removeAll()
    creations = snapshot.creations
    for state in snapshot.conversations {
      conversations[state.id] = state.copy()
      conversationIDs.append(state.id)
    }
    // What was to be told is of a time that never was.
    for index in accounts.indices { accounts[index].owed.removeAll() }
    onChange?(.everything)
  }

  /// Takes up a stored state; for the journal.
  func adopt(epoch: Int, arrivals: Int, posted: Int, refs: Int) {
    self.epoch = epoch
    self.refs = refs
    self.arrivals = arrivals
    self.posted = posted
    // Chance goes on from what the file holds, or ids that were given would be given again.
    for count in [posted, arrivals, conversationIDs.count] where posted > 0 {
      dice.goOn(from: UInt64(truncatingIfNeeded: count))
    }
  }

  var counters: (arrivals: Int, posted: Int) { (arrivals, posted) }

  /// When the next commit falls due, or nil.
  public var nextCommitUs: Int64? { pending.last?.dueUs }
  public var pendingCount: Int { pending.count }
}

/// What has just been committed.
enum ServerChange {
  case conversation(String)
  case message(ServerMessage)
  case deletion(String, ServerDeletion, version: Int)
  case conversationDeletion(String)
  case account(Account)
  case update(Account, Update)
  case settled(Update)
  case profile(String)
  case marker(String, user: String)
  case sent(String, SendKey)
  case creation(SendKey)
  case channel(String)
  case entry(String, place: Int, EntryLog.Entry)
  case purge(String, first: Int, ids: [String])
  case everything
}
