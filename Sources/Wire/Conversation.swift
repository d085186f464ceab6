/// One conversation of an answer or a push, and one receipt of an answer.
///
/// What the list of conversations works with is read out; the object itself is the
/// host's and stays verbatim. Only a conversation without an id is of no use.
internal import Base

package struct WireConversation: Sendable {
  package let id: [UInt8]
  /// The whole object.
  package let body: Range<Int>
  /// Who takes part, nil where it does not say.
  package let participants: [[UInt8]]?
  package let admins: [[UInt8]]?
  package let lastReadMessage: [UInt8]?
  package let unreadCount: Int64?
  package let created: Stamp?
  package let updated: Stamp?
  /// Its newest message; bad where it is one of another conversation.
  package let lastMessage: PageItem?
}

/// What one user has done with a message; a time is nil where it was not told.
package struct WireReceipt: Sendable {
  package let user: [UInt8]
  package let read: Stamp?
  package let delivered: Stamp?
  package let listened: Stamp?
}

extension MessageReader {
  /// Nil for what is no object or has no usable id.
  func conversation(_ node: Document.Node) -> WireConversation? {
    optionalID(Name.conversationID, of: node).map { conversation(node, id: $0) }
  }

  @inline(never)
  func conversation(_ node: Document.Node, id: [UInt8]) -> WireConversation {
    let count = document.number(Name.unreadCount, of: node)
    return WireConversation(
      id: id, body: document.range(node),
      participants: users(Name.participantIDs, of: node),
      admins: users(Name.adminIDs, of: node),
      lastReadMessage: optionalID(Name.lastReadMessageID, of: node),
      unreadCount: count.flatMap { $0 >= 0 && $0 < 1 << 53 ? $0 : nil },
      created: time(Name.createdAt, of: node), updated: time(Name.updatedAt, of: node),
      lastMessage: document.present(Name.lastMessage, of: node).map { lastMessage($0, of: id) })
  }

  /// Nil for what names no user.
  func receipt(_ node: Document.Node) -> WireReceipt? {
    guard let user = optionalID(Name.userID, of: node) else { return nil }
    return WireReceipt(
      user: user, read: time(Name.readAt, of: node), delivered: time(Name.deliveredAt, of: node),
      listened: time(Name.listenedAt, of: node))
  }

  private func users(_ name: [UInt8], of node: Document.Node) -> [[UInt8]]? {
    document.member(name, of: node).flatMap { readers(document, $0) }
  }

  private func lastMessage(_ node: Document.Node, of id: [UInt8]) -> PageItem {
    let item = item(node)
    guard case .message(let message) = item, let named = message.conversation, named != id
    else { return item }
    return .bad(document.range(node), .wrongConversation)
  }
}
