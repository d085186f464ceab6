/// Realtime frames, and the view that checkers take of the world.
///
/// Each committed change is told once to everybody who may see it, in the order
/// of the commits: as a plain push to the connections, or, with envelopes, as an
/// update to each account, which is repeated on every connection until it is
/// replied to. Losing frames on the way is the owner's business.
extension ReferenceServer {
  struct Subscriber {
    let user: String
    let account: String
    var queue: [[UInt8]] = []
    /// What it has subscribed to, where that is asked for.
    var hearsAll = false
    var hearsOf: Set<String> = []
  }

  /// The most updates that are pending for an account; beyond, the oldest are forgotten, as
  /// for a device that never comes back.
  static let owedMax = 100_000

  /// Starts a connection's queue of pushes and returns its token. With
  /// envelopes it begins with all that the account has not replied to.
  public func subscribe(user: String, account: String = "personal") -> Int {
    subscriberCount += 1
    var first = Subscriber(user: user, account: account)
    if knobs.pushesAtConnect > 0, !knobs.keepsLog { first.queue = newest(for: user) }
    if knobs.envelope { first.queue += accounts[register(user, account)].owed.map(\.frame) }
    subscribers[subscriberCount] = first
    return subscriberCount
  }

  public func unsubscribe(_ token: Int) {
    subscribers[token] = nil
  }

  /// Takes out what has been pushed since the last time.
  public func drain(_ token: Int) -> [[UInt8]] {
    guard let queue = subscribers[token]?.queue, !queue.isEmpty else { return [] }
    subscribers[token]?.queue = []
    return queue
  }

  /// The refs of what an account has not replied to, the oldest first.
  public func pendingRefs(user: String, account: String = "personal") -> [String] {
    accounts.first { $0.user == user && $0.name == account }?.owed.map(\.ref) ?? []
  }

  /// The newest messages that `user` may see, the oldest of them first.
  private func newest(for user: String) -> [[UInt8]] {
    var rows: [Row] = []
    for id in conversationIDs {
      guard let state = conversations[id], state.admits(user) else { continue }
      rows += state.rows.suffix(knobs.pushesAtConnect)
    }
    rows.sort { ($0.place.tickUs, $0.place.arrival) < ($1.place.tickUs, $1.place.arrival) }
    return rows.suffix(knobs.pushesAtConnect).compactMap {
      News.message($0, isNew: true, isSilent: true).plain(knobs)
    }
  }

  private func register(_ user: String, _ name: String) -> Int {
    if let known = accounts.firstIndex(where: { $0.user == user && $0.name == name }) {
      return known
    }
    accounts.append(Account(user: user, name: name))
    onChange?(.account(Account(user: user, name: name)))
    return accounts.count - 1
  }

  /// Takes a reply; one to a ref that is not pending changes nothing.
  func settle(ref: String, user: String, account: String) {
    guard let index = accounts.firstIndex(where: { $0.user == user && $0.name == account }),
      let at = accounts[index].owed.firstIndex(where: { $0.ref == ref })
    else { return }
    let settled = accounts[index].owed.remove(at: at)
    onChange?(.settled(settled))
  }

  // MARK: Telling

  /// Tells everybody who may see `state`, or everybody, save one user.
  func push(
    _ news: News, to state: ConversationState?, except: String? = nil, only: String? = nil
  ) {
    func hears(_ user: String) -> Bool {
      user != except && user == only ?? user && state?.admits(user) ?? true
    }
    if knobs.keepsLog, let state, let frame = enter(news, in: state) {
      for token in subscribers.keys.sorted() {
        guard let subscriber = subscribers[token], hears(subscriber.user),
          isTold(token, subscriber, state), !isDropped
        else { continue }
        subscribers[token]?.queue.append(frame)
      }
      return
    }
    if knobs.envelope { return update(news, of: state, hears) }
    guard !subscribers.isEmpty else { return }
    var made: [String: [UInt8]] = [:]
    for token in subscribers.keys.sorted() {
      guard let subscriber = subscribers[token], hears(subscriber.user),
        isTold(token, subscriber, state)
      else { continue }
      let name = news.isOfConversation ? self.name(of: state, for: subscriber.user) : nil
      guard let bytes = made[name ?? ""] ?? news.plain(knobs, as: name) else { continue }
      made[name ?? ""] = bytes
      if !isDropped { subscribers[token]?.queue.append(bytes) }
    }
  }

  /// Whether a connection is one that hears of what happens there.
  private func isTold(
    _ token: Int, _ subscriber: Subscriber, _ state: ConversationState?
  ) -> Bool {
    if !knobs.tellsSender, token == acting { return false }
    guard knobs.needsSubscribing, !subscriber.hearsAll else { return true }
    return state.map { subscriber.hearsOf.contains($0.id) } ?? false
  }

  /// Whether an account is the one that is asking, and is not told what it asked for.
  private func isActing(_ account: Account) -> Bool {
    guard !knobs.tellsSender, let acting, let subscriber = subscribers[acting]
    else { return false }
    return subscriber.user == account.user && subscriber.account == account.name
  }

  private var isDropped: Bool {
    knobs.pushDropShare > 0 && pushDice.chance(knobs.pushDropShare)
  }

  private func update(_ news: News, of state: ConversationState?, _ hears: (String) -> Bool) {
    var payloads: [String: [UInt8]] = [:]
    for index in accounts.indices
    where hears(accounts[index].user) && !isActing(accounts[index]) {
      let account = accounts[index]
      let name = news.isOfConversation ? self.name(of: state, for: account.user) : nil
      let body = payloads[name ?? ""] ?? news.payload(knobs, as: name)
      payloads[name ?? ""] = body
      refs += 1
      let update = Update(ref: "u\(refs)", account: account.name, payload: body)
      if account.owed.count >= ReferenceServer.owedMax {
        let forgotten = accounts[index].owed.removeFirst()
        onChange?(.settled(forgotten))
      }
      accounts[index].owed.append(update)
      onChange?(.update(account, update))
      for token in subscribers.keys.sorted() {
        guard let subscriber = subscribers[token], subscriber.user == account.user,
          subscriber.account == account.name
        else { continue }
        if !isDropped { subscribers[token]?.queue.append(update.frame) }
      }
    }
  }

  /// A visible message as a checker sees it.
  public struct TrueRow: Sendable, Equatable {
    public let id: String
    /// The printed time, which is all that a client can know.
    public let stampUs: Int64
    public let sender: String
    public let payload: String
    public let version: Int
    public let arrival: Int
    public let number: Int64
    public let flaw: ServerMessage.Flaw
  }

  /// The visible messages in the server's order.
  public func truth(_ conversation: String) -> [TrueRow] {
    (conversations[conversation]?.rows ?? []).map { row in
      let message = row.message
      return TrueRow(
        id: message.id, stampUs: row.place.tickUs, sender: message.sender,
        payload: message.payload, version: message.version, arrival: message.arrival,
        number: message.number, flaw: message.flaw)
    }
  }

  /// Says whether the visible messages may have changed: they have not where it is the same.
  public func revision(_ conversation: String) -> ServerRevision {
    ServerRevision(epoch: epoch, changes: conversations[conversation]?.revision ?? 0)
  }

  /// The ids of the messages that a user has not read.
  public func unread(_ conversation: String, of user: String) -> Set<String> {
    Set(conversations[conversation]?.unread(of: user, knobs.ties).map(\.message.id) ?? [])
  }

  public func visibleCount(_ conversation: String) -> Int {
    conversations[conversation]?.rows.count ?? 0
  }

  /// The deletion log, in its order.
  public func deletions(_ conversation: String) -> [ServerDeletion] {
    conversations[conversation]?.deletions ?? []
  }

  public func message(_ conversation: String, _ id: String) -> ServerMessage? {
    conversations[conversation]?.message(id, knobs.ties)
  }

  /// The printed time of the newest visible message.
  public func newestStampUs(_ conversation: String) -> Int64? {
    conversations[conversation]?.rows.last?.place.tickUs
  }

  /// The ids of the newest visible messages, the newest first.
  public func newestIDs(_ conversation: String, _ count: Int) -> [String] {
    (conversations[conversation]?.rows ?? []).suffix(max(0, count)).reversed().map(\.message.id)
  }
}

/// Which state of a conversation's rows it is.
public struct ServerRevision: Sendable, Equatable {
  let epoch: Int
  let changes: Int
}

/// One account of a user, and what it has not replied to.
struct Account {
  let user: String
  let name: String
  var owed: [Update] = []
}

/// One update, with the frame that carries it.
struct Update {
  let ref: String
  let frame: [UInt8]

  init(ref: String, frame: [UInt8]) {
    self.ref = ref
    self.frame = frame
  }

  init(ref: String, account: String, payload: [UInt8]) {
    var out = Array("{\"account\":".utf8)
    ServerJSON.write(account, into: &out)
    out.append(contentsOf: ",\"type\":\"update\",\"payload\":{\"ref\":".utf8)
    ServerJSON.write(ref, into: &out)
    out.append(0x2C)
    out.append(contentsOf: payload)
    out.append(contentsOf: "}}".utf8)
    self.init(ref: ref, frame: out)
  }
}
