/// The values of the conversation list, drafts and typing that cross the engine's
/// border. They mirror the structs of the header one to one, without pointers.

/// How to open a conversation list.
package struct ListConfig: Equatable, Sendable {
  /// Conversations in memory at most; those that rested longest are left out.
  package var rowsMax: Int
  /// Never ask the network.
  package var isCacheOnly = false

  package init(rowsMax: Int = 10_000) {
    self.rowsMax = rowsMax
  }
}

/// Unread messages of one conversation, or of all.
package struct UnreadCount: Equatable, Sendable {
  package var count: Int
  /// False for a lower bound: there may be more.
  package var isExact: Bool

  package init(_ count: Int, isExact: Bool) {
    self.count = count
    self.isExact = isExact
  }
}

/// One conversation of the list; the ranges point into the page's bytes. Empty means
/// absent.
package struct ConversationRow: Equatable, Sendable {
  /// The conversation's local identity; it stays while the file lives.
  package var number: UInt64 = 0
  package var id: Range<Int> = 0..<0
  /// `title` of the conversation object, unescaped.
  package var title: Range<Int> = 0..<0
  /// JSON value, as it came.
  package var metadata: Range<Int> = 0..<0
  /// The whole conversation object, as it came.
  package var body: Range<Int> = 0..<0
  /// The newest visible message, pending ones included; its ranges, too, point into
  /// the page's bytes. Nil where none is known.
  package var lastMessage: MessageView?
  /// When something last happened, in microseconds; 0 where that is not known.
  package var activityUs: Int64 = 0
  package var unread = UnreadCount(0, isExact: false)
  /// Id of the last message that this user has read; empty where none is known.
  package var lastRead: Range<Int> = 0..<0
  package var hasDraft = false
  package var draft: Range<Int> = 0..<0
  /// Id of the message that the draft is an answer to.
  package var draftReplyTo: Range<Int> = 0..<0
  /// JSON array of the ids of those who type, in the order in which they began.
  package var typing: Range<Int> = 0..<0
  package var typingCount = 0
  /// As the conversation object names them; -1 where it does not.
  package var memberCount = -1
  /// The server has not confirmed its creation.
  package var isPending = false
  /// It went since the last poll; nothing but the number is told.
  package var isGone = false

  package init() {}
}

/// Rows of a list with the bytes behind them.
package struct ConversationPage: Equatable, Sendable {
  package var rows: [ConversationRow] = []
  package var bytes: [UInt8] = []

  package init() {}
}

/// How a list stands.
package struct ListStatus: Equatable, Sendable {
  package var version: UInt64 = 0
  package var checksum: UInt64 = 0
  package var rowCount = 0
  /// All conversations, those beyond the limit of rows included.
  package var conversationCount = 0
  /// Over all conversations. Exact where each is, and where all are known.
  package var unread = UnreadCount(0, isExact: false)
  /// The server's whole list was read once.
  package var isComplete = false
  /// The server is being asked for its list.
  package var isRefreshing = false
  /// Why the last refresh failed; nil after one that went well.
  package var trouble: Failure?

  package init() {}
}

/// What the user has written and not sent.
package struct Draft: Equatable, Sendable {
  /// As the host gave it.
  package var body: [UInt8]
  /// Id of the message that it is an answer to; empty for none.
  package var replyTo: [UInt8]

  package init(body: [UInt8], replyTo: [UInt8] = []) {
    self.body = body
    self.replyTo = replyTo
  }
}
