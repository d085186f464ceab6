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

  /// Nil for a type that is no push, and for a frame that lacks what it needs.
  func push(_ type: [UInt8]) -> Push? {
    effect(String(decoding: type, as: UTF8.self)).map { Push(name: type, effects: [$0]) }
  }

  private func effect(_ type: String) -> Effect? {
    switch type {
    case "message_new": return message(isNew: true)
    case "message_edited": return message(isNew: false)
    case "message_deleted":
      guard let conversation = id(Name.conversationID), let ids = ids() else { return nil }
      return .messagesDeleted(conversation: conversation, ids: ids)
    case "messages_read": return receipts(.read)
    case "messages_delivered": return receipts(.delivered)
    case "messages_listened": return receipts(.listened)
    case "conversation_updated": return conversation(isDeleted: false)
    case "conversation_deleted": return conversation(isDeleted: true)
    default:
      let item = ItemReader(messages, document.root)
      let effect: Effect? =
        switch type {
        case "message_reacted": item.reactions(.update)
        case "message_pinned": item.pin(isPinned: true)
        case "message_unpinned": item.pin(isPinned: false)
        case "typing": item.typing()
        default: nil
        }
      guard let effect else { return nil }
      if case .bad = effect { return nil }
      return effect
    }
  }

  /// A member of the frame, `null` taken as absent.
  private func member(_ name: [UInt8]) -> Document.Node? {
    document.present(name, of: document.root)
  }

  private func id(_ name: [UInt8]) -> [UInt8]? {
    messages.optionalID(member(name))
  }

  private func ids() -> [[UInt8]]? {
    guard let array = member(Name.messageIDs), document.kind(array) == .array else { return nil }
    return messages.ids(array).ids
  }

  private func receipts(_ kind: Effect.ReceiptKind) -> Effect? {
    guard let conversation = id(Name.conversationID), let ids = ids(),
      let user = id(Name.userID)
    else { return nil }
    return .receipts(conversation: conversation, kind: kind, user: user, ids: ids)
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
      : .entity(.conversation, conversation: id, id: id, body: range)
  }
}
