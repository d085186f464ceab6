/// Reads one item of an update, or a push that has the shape of one.
///
/// Each effect needs its ids: an item without them is bad and says why.
internal import Base

struct ItemReader {
  private let document: Document
  private let messages: MessageReader
  private let node: Document.Node

  init(_ messages: MessageReader, _ node: Document.Node) {
    document = messages.document
    self.messages = messages
    self.node = node
  }

  /// What a pin says of itself; a pin that says nothing is one.
  var isPinned: Bool {
    document.member(Name.pinned, of: node).flatMap { document.bool($0) } ?? true
  }

  func message(isNew: Bool) -> Effect {
    let item = messages.item(node)
    let named = messages.optionalID(document.member(Name.conversationID, of: node))
    if let named { return .message(conversation: named, item: item, isNew: isNew) }
    guard case .bad(let range, let reason) = item else { return bad(.badConversation) }
    return .bad(range, reason)
  }

  /// Adds the item's id to those that are deleted.
  func deletion(_ groups: inout Groups) {
    do {
      let conversation = try conversation()
      groups.add(try messageID(), to: conversation, nil, [])
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
      if isDelivered { groups.add(id, to: conversation, .delivered, user) }
      if isListened { groups.add(id, to: conversation, .listened, user) }
      if !isDelivered && !isListened || document.present(Name.readAt, of: node) != nil {
        groups.add(id, to: conversation, .read, user)
      }
    } catch {
      groups.add(bad(error.reason))
    }
  }

  /// The whole set. A deletion tells what is left, or that nothing is.
  func reactions(_ action: Update.Action) -> Effect {
    effect { () throws(Unusable) in
      let conversation = try conversation()
      let id = try messageID()
      let start = document.range(node).lowerBound
      var range = start..<start
      if let set = document.present(Name.reactions, of: node) {
        guard document.kind(set) == .object else { throw Unusable(reason: .noReactions) }
        range = document.range(set)
      } else if action != .delete {
        throw Unusable(reason: .noReactions)
      }
      let version = document.member(Name.version, of: node).flatMap { document.integer($0) }
      return .reactions(conversation: conversation, id: id, reactions: range, version: version)
    }
  }

  func pin(isPinned: Bool) -> Effect {
    effect { () throws(Unusable) in
      .pin(conversation: try conversation(), id: try messageID(), isPinned: isPinned)
    }
  }

  func typing() -> Effect {
    effect { () throws(Unusable) in
      .typing(
        conversation: try conversation(), user: try user(), body: document.range(node))
    }
  }

  func entity(_ kind: Effect.EntityKind, _ action: Update.Action) -> Effect {
    effect { () throws(Unusable) in
      var owner: [UInt8]? = nil
      let id: [UInt8]
      switch kind {
      case .conversation:
        id = try conversation()
        owner = id
      case .member:
        owner = try conversation()
        id = try user()
      case .profile:
        guard document.kind(node) == .object else { throw Unusable(reason: .notAnObject) }
        id = try messages.id(
          document.present(Name.userID, of: node) ?? document.present(Name.profileID, of: node),
          orElse: .noUser)
      }
      let body = document.range(node)
      return action == .delete
        ? .entityDeleted(kind, conversation: owner, id: id, body: body)
        : .entity(kind, conversation: owner, id: id, body: body)
    }
  }

  /// The first that any item is asked for, but for a profile.
  private func conversation() throws(Unusable) -> [UInt8] {
    guard document.kind(node) == .object else { throw Unusable(reason: .notAnObject) }
    let named = document.present(Name.conversationID, of: node)
    return try messages.id(named, orElse: .badConversation)
  }

  private func messageID() throws(Unusable) -> [UInt8] {
    try messages.id(document.present(Name.messageID, of: node), orElse: .noId)
  }

  private func user() throws(Unusable) -> [UInt8] {
    try messages.id(document.present(Name.userID, of: node), orElse: .noUser)
  }

  private func bad(_ reason: BadItem) -> Effect {
    .bad(document.range(node), reason)
  }

  private func effect(_ read: () throws(Unusable) -> Effect) -> Effect {
    do {
      return try read()
    } catch {
      return bad(error.reason)
    }
  }
}
