/// Realtime frames, and the view that checkers take of the world.
///
/// Each committed change is pushed once to every subscriber who may see it, in
/// the order of the commits. Losing frames is the owner's business.
extension ReferenceServer {
  struct Subscriber {
    let user: String
    var queue: [[UInt8]] = []
  }

  /// Starts a queue of pushes for `user` and returns its token.
  public func subscribe(user: String) -> Int {
    subscriberCount += 1
    subscribers[subscriberCount] = Subscriber(user: user)
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

  func push(to state: ConversationState, _ frame: () -> [UInt8]) {
    guard !subscribers.isEmpty else { return }
    var made: [UInt8]?
    for token in subscribers.keys {
      guard let user = subscribers[token]?.user, state.admits(user) else { continue }
      let bytes = made ?? frame()
      made = bytes
      subscribers[token]?.queue.append(bytes)
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
    public let flaw: ServerMessage.Flaw
  }

  /// The visible messages in the server's order.
  public func truth(_ conversation: String) -> [TrueRow] {
    (conversations[conversation]?.rows ?? []).map { row in
      let message = row.message
      return TrueRow(
        id: message.id, stampUs: row.place.tickUs, sender: message.sender,
        payload: message.payload, version: message.version, arrival: message.arrival,
        flaw: message.flaw)
    }
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

/// The push frames.
enum Push {
  static func message(_ type: String, _ row: Row) -> [UInt8] {
    var out = head(type, row.message.conversation)
    out.append(contentsOf: ",\"message\":".utf8)
    out.append(contentsOf: row.rendered)
    out.append(0x7D)
    return out
  }

  static func reacted(_ message: ServerMessage) -> [UInt8] {
    var out = head("message_reacted", message.conversation)
    out.append(contentsOf: ",\"message_id\":".utf8)
    ServerJSON.write(message.id, into: &out)
    out.append(contentsOf: ",\"reactions\":".utf8)
    message.writeReactions(into: &out)
    out.append(contentsOf: ",\"version\":\(message.version)}".utf8)
    return out
  }

  static func deleted(_ conversation: String, _ ids: [String]) -> [UInt8] {
    var out = head("message_deleted", conversation)
    out.append(contentsOf: ",\"message_ids\":".utf8)
    ServerJSON.write(ids, into: &out)
    out.append(0x7D)
    return out
  }

  static func read(_ conversation: String, _ user: String, _ ids: [String]) -> [UInt8] {
    var out = head("messages_read", conversation)
    out.append(contentsOf: ",\"user_id\":".utf8)
    ServerJSON.write(user, into: &out)
    out.append(contentsOf: ",\"message_ids\":".utf8)
    ServerJSON.write(ids, into: &out)
    out.append(0x7D)
    return out
  }

  private static func head(_ type: String, _ conversation: String) -> [UInt8] {
    var out = Array("{\"type\":\"\(type)\",\"conversation_id\":".utf8)
    ServerJSON.write(conversation, into: &out)
    return out
  }
}
