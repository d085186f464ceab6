/// Reads pushes: frames of one effect that are not replied to.
///
/// A push that lacks what it needs is no push: it is ignored and counted, and the
/// next sync makes good what it would have told.

struct PushReader {
  private let document: Document
  private let messages: MessageReader

  init(_ messages: MessageReader) {
    document = messages.document
    self.messages = messages
  }

  /// Whether a type is that of a push.
  static func isPush(_ type: [UInt8]) -> Bool {
    PushName(rawValue: String(decoding: type, as: UTF8.self)) != nil
  }

  func push(_ type: [UInt8]) throws(Unread) -> Push {
    guard let name = PushName(rawValue: String(decoding: type, as: UTF8.self)) else {
      throw Unread("type", "is not one that is known here")
    }
    return Push(name: type, effects: [try effect(name)])
  }

  private func effect(_ name: PushName) throws(Unread) -> Effect {
    switch name {
    case .new: try message(isNew: true)
    case .edited: try message(isNew: false)
    case .deleted: try deletion()
    case .read: try receipts(.read)
    case .delivered: try receipts(.delivered)
    case .listened: try receipts(.listened)
    case .conversationUpdated: try conversation(isDeleted: false)
    case .conversationDeleted: try conversation(isDeleted: true)
    case .reacted: try item(.reaction, action: .update)
    case .pinned: try item(.pin, action: .new)
    case .unpinned: try item(.pin, action: .delete)
    case .typing: try item(.typing, action: .new)
    }
  }

  /// The frame read as an item.
  private func item(_ entity: EntityName, action: Update.Action) throws(Unread) -> Effect {
    let effect = ItemReader(messages, node: document.root).effect(entity, action: action)
    if case .bad(_, let reason) = effect { throw Unread(reason.text) }
    return effect
  }

  /// A member of the frame, `null` taken as absent.
  private func member(_ name: [UInt8]) -> Document.Node? {
    document.present(name, of: document.root)
  }

  private func id(_ name: [UInt8], of member: BadItem.IDMember) throws(Unread) -> [UInt8] {
    do {
      return try messages.id(document.member(name, of: document.root), of: member)
    } catch {
      throw Unread(error.reason.text)
    }
  }

  private func ids() throws(Unread) -> Document.Node {
    guard let array = member(Name.messageIDs), document.kind(array) == .array else {
      throw Unread("message_ids", "is missing or not a list")
    }
    return array
  }

  /// The frame, set aside.
  private func skipped(_ topics: SkippedList.Topics, in conversation: [UInt8]) -> Effect {
    .skipped(
      document.range(document.root),
      SkippedList(topics, in: conversation, list: .messageIDs))
  }

  private func deletion() throws(Unread) -> Effect {
    let conversation = try id(Name.conversationID, of: .conversation)
    let ids = try ids()
    if document.isTooLong(ids) { return skipped(.deletions, in: conversation) }
    return .messagesDeleted(conversation: conversation, ids: messages.ids(ids).ids)
  }

  private func receipts(_ kind: Effect.ReceiptKind) throws(Unread) -> Effect {
    let conversation = try id(Name.conversationID, of: .conversation)
    let ids = try ids()
    let user = try id(Name.userID, of: .user)
    if document.isTooLong(ids) { return skipped(.marks, in: conversation) }
    return .receipts(
      conversation: conversation, kind: kind, user: user, ids: messages.ids(ids).ids)
  }

  /// The message of a push and its conversation, which either may name.
  private func message(isNew: Bool) throws(Unread) -> Effect {
    guard let node = member(Name.message) else { throw Unread("message", "is missing") }
    let item = messages.item(node)
    var named: [UInt8]?
    if case .message(let message) = item { named = message.conversation }
    // A frame that names its conversation wrongly is not to be guessed at.
    if member(Name.conversationID) == nil {
      if let named { return .message(conversation: named, item: item, isNew: isNew) }
      if case .bad(_, let reason) = item { throw Unread(reason.text) }
    }
    let conversation = try id(Name.conversationID, of: .conversation)
    guard let named, named != conversation else {
      return .message(conversation: conversation, item: item, isNew: isNew)
    }
    let wrong = PageItem.bad(document.range(node), .wrongConversation)
    return .message(conversation: conversation, item: wrong, isNew: isNew)
  }

  /// The frame's `conversation`, or the frame itself where it has none.
  private func conversation(isDeleted: Bool) throws(Unread) -> Effect {
    var body = document.root
    if let inner = member(Name.conversation) {
      guard document.kind(inner) == .object else {
        throw Unread("conversation", "is not a JSON object")
      }
      body = inner
    }
    let stated = member(Name.conversationID)
    let named = document.present(Name.conversationID, of: body)
    let id: [UInt8]
    do {
      id = try messages.id(stated ?? named, of: .conversation)
    } catch {
      throw Unread(error.reason.text)
    }
    guard named.map({ messages.optionalID($0) == id }) ?? true else {
      throw Unread(BadItem.wrongConversation.text)
    }
    let range = document.range(body)
    return isDeleted
      ? .entityDeleted(.conversation, conversation: id, id: id, body: range)
      : .entity(
        .conversation, conversation: id, id: id, body: range,
        known: messages.conversation(body, id: id))
  }
}

/// The types of the frames that are pushes.
private enum PushName: String {
  case new = "message_new"
  case edited = "message_edited"
  case deleted = "message_deleted"
  case read = "messages_read"
  case delivered = "messages_delivered"
  case listened = "messages_listened"
  case reacted = "message_reacted"
  case pinned = "message_pinned"
  case unpinned = "message_unpinned"
  case conversationUpdated = "conversation_updated"
  case conversationDeleted = "conversation_deleted"
  case typing
}
