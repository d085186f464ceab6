/// One conversation of an answer or a push, and one receipt of an answer.
///
/// What the list of conversations works with is read out; the object itself is the
/// host's and stays verbatim. Only a conversation without an id is of no use.
internal import Base

/// A class, since it is large and passed on whole.
package final class WireConversation: Sendable {
  package let id: [UInt8]
  /// The whole object.
  package let body: Range<Int>
  /// The name that this user gave it when he made it.
  package let clientID: [UInt8]?
  package let lastReadMessage: [UInt8]?
  package let unreadCount: Int64?
  package let created: Stamp?
  package let updated: Stamp?
  /// Its newest message; bad where it is one of another conversation.
  package let lastMessage: PageItem?
  /// It says by `null` that it holds none.
  package let isEmpty: Bool

  fileprivate init(_ node: Document.Node, id: [UInt8], messages: MessageReader) {
    let document = messages.document
    self.id = id
    body = document.range(node)
    clientID = messages.optionalID(Name.clientID, of: node)
    lastReadMessage = messages.optionalID(Name.lastReadMessageID, of: node)
    unreadCount = document.count(Name.unreadCount, of: node)
    created = messages.time(Name.createdAt, of: node)
    updated = messages.time(Name.updatedAt, of: node)
    lastMessage = document.present(Name.lastMessage, of: node).map {
      messages.lastMessage($0, of: id)
    }
    let last = document.member(Name.lastMessage, of: node)
    isEmpty = last.map { document.kind($0) == .null } ?? false
  }
}

/// What one user has done with a message, in microseconds since 1970; a time is nil
/// where it was not told.
package struct WireReceipt: Sendable {
  package let user: [UInt8]
  package let read: Int64?
  package let delivered: Int64?
  package let listened: Int64?
}

extension MessageReader {
  /// Nil for what is no object or has no usable id.
  func conversation(_ node: Document.Node) -> WireConversation? {
    optionalID(Name.conversationID, of: node).map { conversation(node, id: $0) }
  }

  @inline(never)
  func conversation(_ node: Document.Node, id: [UInt8]) -> WireConversation {
    WireConversation(node, id: id, messages: self)
  }

  /// Nil for what names no user.
  func receipt(_ node: Document.Node) -> WireReceipt? {
    guard let user = optionalID(Name.userID, of: node) else { return nil }
    return WireReceipt(
      user: user, read: time(Name.readAt, of: node)?.timeUs,
      delivered: time(Name.deliveredAt, of: node)?.timeUs,
      listened: time(Name.listenedAt, of: node)?.timeUs)
  }

  fileprivate func lastMessage(_ node: Document.Node, of id: [UInt8]) -> PageItem {
    let item = item(node)
    guard case .message(let message) = item, let named = message.conversation, named != id
    else { return item }
    return .bad(document.range(node), .wrongConversation)
  }
}
