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
  private var arrivals = 0
  private var posted = 0
  private var tickets = 0
  /// What is stamped and not yet visible, the soonest last.
  private var pending: [Pending] = []
  var subscribers: [Int: Subscriber] = [:]
  var subscriberCount = 0
  var failures: [ServerFailure] = []
  /// Hears of each committed change; the journal listens here.
  var onChange: ((ServerChange) -> Void)?

  public init(knobs: ServerKnobs = ServerKnobs(), seed: UInt64) {
    self.knobs = knobs
    dice = ServerDice(seed: seed)
  }

  private enum Commit {
    case message(ServerMessage)
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
    conversations[id] = ConversationState(id: id, title: title, participants: participants)
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
    flaw: ServerMessage.Flaw = .none
  ) -> String {
    createConversation(conversation)
    posted += 1
    let newID = id ?? makeID()
    let message = ServerMessage(
      id: newID, conversation: conversation, sender: sender, stampUs: stampUs ?? nowUs,
      arrival: 0, payload: payload, replyTo: replyTo, flaw: flaw)
    enqueue(.message(message), lateUs ?? lateness(knobs.commitLatenessMaxUs))
    return newID
  }

  /// Deletes messages; the deletion is stamped now and visible `lateUs` later.
  public func delete(conversation: String, ids: [String], lateUs: Int64? = nil) {
    let late = lateUs ?? lateness(knobs.deletionLatenessMaxUs)
    enqueue(.deletion(conversation: conversation, ids: ids, deletedUs: nowUs), late)
  }

  /// Replaces a payload; the version grows.
  @discardableResult
  public func edit(conversation: String, id: String, payload: String) -> Bool {
    change(conversation, id) { message in
      message.payload = payload
      message.version += 1
      message.editedUs = nowUs
      return true
    } push: {
      Push.message("message_edited", $0)
    }
  }

  /// Sets or takes back a reaction; the version grows.
  @discardableResult
  public func react(
    conversation: String, id: String, user: String, reaction: String, isSet: Bool = true
  ) -> Bool {
    change(conversation, id) { message in
      let index = message.reactions.firstIndex { $0.name == reaction }
      if let index {
        let has = message.reactions[index].users.contains(user)
        if has == isSet { return false }
        if isSet {
          message.reactions[index].users.append(user)
        } else {
          message.reactions[index].users.removeAll { $0 == user }
          if message.reactions[index].users.isEmpty { message.reactions.remove(at: index) }
        }
      } else {
        guard isSet else { return false }
        message.reactions.append(.init(name: reaction, users: [user]))
      }
      message.version += 1
      return true
    } push: {
      Push.reacted($0.message)
    }
  }

  /// Notes that `user` has read messages of others; returns the ids that were
  /// news. Read marks have no version.
  @discardableResult
  public func markRead(conversation: String, ids: [String], user: String) -> [String] {
    guard let state = conversations[conversation] else { return [] }
    var news: [String] = []
    for id in ids {
      guard var message = state.message(id, knobs.ties), message.sender != user,
        !message.readBy.contains(user)
      else { continue }
      message.readBy.append(user)
      state.put(message, knobs)
      onChange?(.message(message))
      news.append(id)
    }
    if !news.isEmpty { push(to: state) { Push.read(conversation, user, news) } }
    return news
  }

  private func change(
    _ conversation: String, _ id: String, _ body: (inout ServerMessage) -> Bool,
    push frame: (Row) -> [UInt8]
  ) -> Bool {
    guard let state = conversations[conversation], var message = state.message(id, knobs.ties),
      body(&message)
    else { return false }
    state.put(message, knobs)
    onChange?(.message(message))
    push(to: state) { frame(Row(message, knobs)) }
    return true
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

  private func settle() {
    while let next = pending.last, next.dueUs <= nowUs {
      pending.removeLast()
      apply(next.commit)
    }
  }

  private func apply(_ commit: Commit) {
    switch commit {
    case .message(var message):
      guard let state = conversations[message.conversation], !state.contains(message.id)
      else { return }
      arrivals += 1
      message.arrival = arrivals
      if let dead = state.deadVersions[message.id] { message.version = dead + 1 }
      state.put(message, knobs)
      onChange?(.message(message))
      push(to: state) { Push.message("message_new", Row(message, knobs)) }
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
      if !gone.isEmpty { push(to: state) { Push.deleted(conversation, gone) } }
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
  }

  public func backup() -> Snapshot {
    Snapshot(conversations: conversationIDs.compactMap { conversations[$0]?.copy() })
  }

  /// Goes back to a backup: later rows and deletions are gone, commits on their
  /// way are lost, the epoch is a new one. Nobody is told.
  public func restore(_ snapshot: Snapshot) {
    pending.removeAll()
    epoch += 1
    conversations.removeAll()
    conversationIDs.removeAll()
    for state in snapshot.conversations {
      conversations[state.id] = state.copy()
      conversationIDs.append(state.id)
    }
    onChange?(.everything)
  }

  /// Takes up a stored state; for the journal.
  func adopt(epoch: Int, arrivals: Int, posted: Int) {
    self.epoch = epoch
    self.arrivals = arrivals
    self.posted = posted
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
  case everything
}
