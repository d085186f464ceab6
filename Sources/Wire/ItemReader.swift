/// Reads one item of an update, or a push that has the shape of one.
///
/// Each effect needs its ids: an item without them is bad and says why.
internal import Base

struct ItemReader {
  private let document: Document
  private let messages: MessageReader
  private let node: Document.Node

  init(_ messages: MessageReader, node: Document.Node) {
    document = messages.document
    self.messages = messages
    self.node = node
  }

  func message(isNew: Bool) -> Effect {
    let item = messages.item(node)
    switch item {
    case .message(let message):
      guard let named = message.conversation else { return bad(.badConversation) }
      return .message(conversation: named, item: item, isNew: isNew)
    case .bad(let range, let reason):
      let named = messages.optionalID(Name.conversationID, of: node)
      return named.map { .message(conversation: $0, item: item, isNew: isNew) }
        ?? .bad(range, reason)
    }
  }

  /// Adds the item's id to those that are deleted.
  func deletion(_ groups: inout Groups) {
    do {
      let conversation = try conversation()
      groups.add(try messageID(), to: conversation, kind: nil, user: [])
    } catch {
      groups.add(bad(error.reason))
    }
  }

  /// Adds the item's id to each kind of receipt that it tells: `read` where it
  /// says no time.
  func receipts(_ groups: inout Groups) {
    do {
      let conversation = try conversation()
      let id = try messageID()
      let user = try user()
      let isDelivered = document.present(Name.deliveredAt, of: node) != nil
      let isListened = document.present(Name.listenedAt, of: node) != nil
      if isDelivered { groups.add(id, to: conversation, kind: .delivered, user: user) }
      if isListened { groups.add(id, to: conversation, kind: .listened, user: user) }
      if !isDelivered && !isListened || document.present(Name.readAt, of: node) != nil {
        groups.add(id, to: conversation, kind: .read, user: user)
      }
    } catch {
      groups.add(bad(error.reason))
    }
  }

  /// What any other item tells.
  func effect(_ entity: EntityName, action: Update.Action) -> Effect {
    do {
      return try read(entity, action)
    } catch {
      return bad(error.reason)
    }
  }

  private func read(
    _ entity: EntityName, _ action: Update.Action
  ) throws(Unusable) -> Effect {
    guard document.kind(node) == .object else { throw Unusable(reason: .notAnObject) }
    let body = document.range(node)
    if entity == .profile {
      let id = try messages.id(
        document.present(Name.userID, of: node) ?? document.present(Name.profileID, of: node),
        of: .user)
      return small(.profile, action: action, in: nil, id: id, body: body)
    }
    let conversation = try conversation()
    switch entity {
    case .conversation:
      return small(.conversation, action: action, in: conversation, id: conversation, body: body)
    case .member:
      return small(.member, action: action, in: conversation, id: try user(), body: body)
    case .typing: return try typing(conversation, action: action)
    case .reaction: return try reactions(conversation, action: action)
    case .pin:
      // A pin that says nothing of itself is one.
      let isPinned = action != .delete && document.flag(Name.pinned, of: node) ?? true
      return .pin(conversation: conversation, id: try messageID(), isPinned: isPinned)
    // Read above, or by a function of their own.
    case .message, .receipt, .profile: throw Unusable(reason: .notAnObject)
    }
  }

  private func small(
    _ kind: Effect.EntityKind, action: Update.Action, in conversation: [UInt8]?, id: [UInt8],
    body: Range<Int>
  ) -> Effect {
    action == .delete
      ? .entityDeleted(kind, conversation: conversation, id: id, body: body)
      : .entity(
        kind, conversation: conversation, id: id, body: body,
        known: kind == .conversation ? messages.conversation(node, id: id) : nil)
  }

  /// What is taken away is finished; what names no event has begun.
  private func typing(
    _ conversation: [UInt8], action: Update.Action
  ) throws(Unusable) -> Effect {
    let named = document.present(Name.event, of: node)
    let name = named.map { document.string($0) ?? [] }
    return .typing(
      conversation: conversation, user: try user(),
      event: action == .delete ? .finished : name.map { TypingEvent(name: $0) } ?? .begin,
      at: messages.time(Name.at, of: node), body: document.range(node))
  }

  /// The whole set, or one user's part of it. A deletion tells what is left, or that nothing is.
  private func reactions(
    _ conversation: [UInt8], action: Update.Action
  ) throws(Unusable) -> Effect {
    let id = try messageID()
    let start = document.range(node).lowerBound
    var range = start..<start
    if let set = document.present(Name.reactions, of: node) {
      guard document.kind(set) == .object else { throw Unusable(reason: .noReactions) }
      if document.hasTooManyReactions(set) {
        return .skipped(
          document.range(node), SkippedList(.marks, in: conversation, list: .reactions))
      }
      range = document.range(set)
    } else if let reaction = messages.optionalID(Name.reaction, of: node),
      document.present(Name.userID, of: node) != nil
    {
      let isAdded = action != .delete && document.flag(Name.added, of: node) ?? true
      return .reacted(
        conversation: conversation, id: id,
        change: UserReaction(
          user: try user(), reaction: reaction, isAdded: isAdded,
          version: document.number(Name.version, of: node)))
    } else if action != .delete {
      throw Unusable(reason: .noReactions)
    }
    let version = document.number(Name.version, of: node)
    return .reactions(conversation: conversation, id: id, reactions: range, version: version)
  }

  /// The first that any item is asked for, but for a profile.
  private func conversation() throws(Unusable) -> [UInt8] {
    guard document.kind(node) == .object else { throw Unusable(reason: .notAnObject) }
    let named = document.present(Name.conversationID, of: node)
    return try messages.id(named, of: .conversation)
  }

  private func messageID() throws(Unusable) -> [UInt8] {
    try messages.id(document.present(Name.messageID, of: node), of: .message)
  }

  private func user() throws(Unusable) -> [UInt8] {
    try messages.id(document.present(Name.userID, of: node), of: .user)
  }

  private func bad(_ reason: BadItem) -> Effect {
    .bad(document.range(node), reason)
  }
}
