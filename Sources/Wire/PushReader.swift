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

  /// Nil for a type that is no push, and for a frame that lacks what it needs.
  func push(_ type: [UInt8]) -> Push? {
    effect(String(decoding: type, as: UTF8.self)).map { Push(name: type, effects: [$0]) }
  }

  private func effect(_ type: String) -> Effect? {
    switch PushName(rawValue: type) {
    case .new: message(isNew: true)
    case .edited: message(isNew: false)
    case .deleted: deletion()
    case .read: receipts(.read)
    case .delivered: receipts(.delivered)
    case .listened: receipts(.listened)
    case .conversationUpdated: conversation(isDeleted: false)
    case .conversationDeleted: conversation(isDeleted: true)
    case .reacted: item(.reaction, action: .update)
    case .pinned: item(.pin, action: .new)
    case .unpinned: item(.pin, action: .delete)
    case .typing: item(.typing, action: .new)
    case nil: nil
    }
  }

  /// The frame read as an item; nil where it is a bad one.
  private func item(_ entity: EntityName, action: Update.Action) -> Effect? {
    let effect = ItemReader(messages, node: document.root).effect(entity, action: action)
    if case .bad = effect { return nil }
    return effect
  }

  /// A member of the frame, `null` taken as absent.
  private func member(_ name: [UInt8]) -> Document.Node? {
    document.present(name, of: document.root)
  }

  private func id(_ name: [UInt8]) -> [UInt8]? {
    messages.optionalID(name, of: document.root)
  }

  private func ids() -> Document.Node? {
    guard let array = member(Name.messageIDs), document.kind(array) == .array else { return nil }
    return array
  }

  /// The frame, set aside.
  private func skipped(_ topics: SkippedList.Topics, in conversation: [UInt8]) -> Effect {
    .skipped(document.range(document.root), SkippedList(topics, in: conversation))
  }

  private func deletion() -> Effect? {
    guard let conversation = id(Name.conversationID), let ids = ids() else { return nil }
    if document.isTooLong(ids) { return skipped(.deletions, in: conversation) }
    return .messagesDeleted(conversation: conversation, ids: messages.ids(ids).ids)
  }

  private func receipts(_ kind: Effect.ReceiptKind) -> Effect? {
    guard let conversation = id(Name.conversationID), let ids = ids(),
      let user = id(Name.userID)
    else { return nil }
    if document.isTooLong(ids) { return skipped(.marks, in: conversation) }
    return .receipts(
      conversation: conversation, kind: kind, user: user, ids: messages.ids(ids).ids)
  }

  /// The message of a push and its conversation, which either may name.
  private func message(isNew: Bool) -> Effect? {
    guard let node = member(Name.message) else { return nil }
    let item = messages.item(node)
    var named: [UInt8]?
    if case .message(let message) = item { named = message.conversation }
    // A frame that names its conversation wrongly is not to be guessed at.
    guard let stated = member(Name.conversationID) else {
      return named.map { .message(conversation: $0, item: item, isNew: isNew) }
    }
    guard let conversation = messages.optionalID(stated) else { return nil }
    guard let named, named != conversation else {
      return .message(conversation: conversation, item: item, isNew: isNew)
    }
    let wrong = PageItem.bad(document.range(node), .wrongConversation)
    return .message(conversation: conversation, item: wrong, isNew: isNew)
  }

  /// The frame's `conversation`, or the frame itself where it has none.
  private func conversation(isDeleted: Bool) -> Effect? {
    var body = document.root
    if let inner = member(Name.conversation) {
      guard document.kind(inner) == .object else { return nil }
      body = inner
    }
    let stated = member(Name.conversationID)
    let named = document.present(Name.conversationID, of: body)
    guard let id = messages.optionalID(stated ?? named),
      named.map({ messages.optionalID($0) == id }) ?? true
    else { return nil }
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
