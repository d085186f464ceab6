/// The values of the conversation list that cross the engine's border.
/// They mirror the structs of the header one to one, without pointers.
package import Base

/// How to open a conversation list.
package struct ListConfig: Equatable, Sendable {
  /// Conversations in memory at most; those that rested longest are left out.
  package var rowsMax: Int
  /// Where what it shows may come from.
  package var choice = PolicyChoice()
  /// The host's function chooses, at each poll.
  package var asksHost = false

  package init(rowsMax: Int = 10_000) {
    self.rowsMax = rowsMax
  }

  /// Never ask the network.
  package var isCacheOnly: Bool {
    get { choice.policy == .cacheOnly }
    set { choice.policy = newValue ? .cacheOnly : .cacheThenNetwork }
  }
}

/// One conversation; the ranges point into the page's bytes. Empty means absent.
package struct ConversationRow: Sendable {
  /// The conversation's local identity.
  package var number: UInt64 = 0
  /// `TL_CONVERSATION_` flags of the header.
  package var flags: UInt32 = 0
  /// 0 where the conversation object does not name them.
  package var memberCount = 0
  package var unread = 0
  /// When something last happened; 0 where that is not known.
  package var activityUs: Int64 = 0
  package var id: Range<Int> = 0..<0
  /// `title` of the conversation object, unescaped.
  package var title: Range<Int> = 0..<0
  /// The whole conversation object, as it came.
  package var body: Range<Int> = 0..<0
  /// Id of the last message read by the marker.
  package var lastRead: Range<Int> = 0..<0
  package var draft: Range<Int> = 0..<0
  package var draftReplyTo: Range<Int> = 0..<0
  /// JSON array of the ids of those who type, in the order in which they began.
  package var typing: Range<Int> = 0..<0
  package var clientID: Range<Int> = 0..<0
  /// Which of the page's messages is the newest visible one, pending ones included.
  package var last: Int?

  package init() {}
}

package enum ConversationFlags {
  package static let pending: UInt32 = 1 << 0
  package static let unreadExact: UInt32 = 1 << 1
  package static let hasPending: UInt32 = 1 << 2
  package static let hasStuck: UInt32 = 1 << 3
}

/// Rows of a list with the bytes behind them, and their messages.
package struct ConversationPage: Sendable {
  package var rows: [ConversationRow] = []
  package var bytes: [UInt8] = []
  package var messages = RowPage()

  package init() {}
}

/// How a list stands, as of its last poll.
package struct ListStatus: Equatable, Sendable {
  package var version: UInt64 = 0
  package var checksum: UInt64 = 0
  package var rowCount = 0
  /// Those beyond the limit of rows included.
  package var conversationCount = 0
  /// Of all conversations, those beyond the limit of rows included.
  package var unread = 0
  /// Each of them is exact, and the list is whole.
  package var isUnreadExact = false
  /// The server's list was fetched whole on this connection.
  package var isWhole = false
  /// The server is being asked for its list.
  package var isRefreshing = false
  /// Why the list could not be fetched; nil after it went well.
  package var trouble: Failure?
  package var basis = Basis.cache
  /// When the server was last asked for all of it, by the device's clock; 0 where that is unknown.
  package var asOfUs: Int64 = 0

  package init() {}
}
