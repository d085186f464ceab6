/// The view that checkers take of conversations.

/// A conversation as a checker sees it.
public struct TrueConversation: Sendable, Equatable {
  public let title: String
  /// Who may see it; empty for everybody.
  public let participants: [String]
  public let admins: [String]
}

extension ReferenceServer {
  /// The conversations that a connection has subscribed to.
  public func subscriptions(_ token: Int) -> Set<String> { subscribers[token]?.hearsOf ?? [] }

  /// Nil where there is none.
  public func conversation(_ id: String) -> TrueConversation? {
    conversations[id].map {
      TrueConversation(title: $0.title, participants: $0.participants, admins: $0.admins)
    }
  }
}
