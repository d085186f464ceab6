/// The words of the protocol, in one place.
///
/// Members not listed in `Member` belong to the host and are kept verbatim.
internal import Base

/// Names of members of frames and of their data.
enum Name {
  static let type = bytes("type")
  static let requestID = bytes("request_id")
  static let status = bytes("status")
  static let ok = bytes("ok")
  static let error = bytes("error")
  static let data = bytes("data")
  static let code = bytes("code")
  static let retryAfterMs = bytes("retry_after_ms")
  static let account = bytes("account")
  static let ref = bytes("ref")
  static let silent = bytes("silent")
  static let action = bytes("action")
  static let payload = bytes("payload")
  static let entity = bytes("entity")
  static let items = bytes("items")
  static let reply = bytes("reply")
  static let command = bytes("command")
  static let new = bytes("new")
  static let update = bytes("update")
  static let delete = bytes("delete")
  static let conversation = bytes("conversation")
  static let messageID = bytes("message_id")
  static let profileID = bytes("profile_id")
  static let readAt = bytes("read_at")
  static let deliveredAt = bytes("delivered_at")
  static let listenedAt = bytes("listened_at")
  static let reactions = bytes("reactions")
  static let pinned = bytes("pinned")
  static let version = bytes("version")
  static let conversationID = bytes("conversation_id")
  static let message = bytes("message")
  static let messages = bytes("messages")
  static let messageIDs = bytes("message_ids")
  static let conversations = bytes("conversations")
  static let receipts = bytes("receipts")
  static let channel = bytes("channel")
  static let messageCount = bytes("message_count")
  static let conversationCount = bytes("conversation_count")
  static let lastMessage = bytes("last_message")
  static let clientID = bytes("client_id")
  static let lastReadMessageID = bytes("last_read_message_id")
  static let unreadCount = bytes("unread_count")
  static let createdAt = bytes("created_at")
  static let updatedAt = bytes("updated_at")
  static let at = bytes("at")
  static let userID = bytes("user_id")
  static let added = bytes("added")
  static let reaction = bytes("reaction")
  static let totalCount = bytes("total_count")
  static let serverTime = bytes("server_time")
  static let hasMore = bytes("has_more")
  static let hasMoreBefore = bytes("has_more_before")
  static let hasMoreAfter = bytes("has_more_after")
  static let nextSince = bytes("next_since")
  static let deletedSince = bytes("deleted_since")
  static let changedSince = bytes("changed_since")
  static let epoch = bytes("epoch")
  static let event = bytes("event")
  static let plain = bytes("message")
  static let control = bytes("_control")

  @inline(never)
  static func bytes(_ text: StaticString) -> [UInt8] {
    text.bytes
  }
}

/// The members of a message that the library understands.
enum Member: Int, CaseIterable {
  case id, conversation, sender, time, payload, version, editedAt, replyTo, reactions
  case pinned, deleted, kind, moderated, readBy, clientID
  case sequence, previousID, deliveredBy, listenedBy

  var name: StaticString {
    switch self {
    case .id: "message_id"
    case .conversation: "conversation_id"
    case .sender: "sender_id"
    case .time: "created_at"
    case .payload: "payload"
    case .version: "version"
    case .editedAt: "edited_at"
    case .replyTo: "reply_to"
    case .reactions: "reactions"
    case .pinned: "pinned"
    case .deleted: "deleted"
    case .kind: "kind"
    case .moderated: "moderated"
    case .readBy: "read_by"
    case .clientID: "client_id"
    case .sequence: "seq"
    case .previousID: "prev_id"
    case .deliveredBy: "delivered_by"
    case .listenedBy: "listened_by"
    }
  }

  /// The member that a key in `text` names, if it is one of these.
  init?(_ text: Span<UInt8>, key: Range<Int>) {
    guard let word = Word(text, name: key) else { return nil }
    for (known, member) in Member.words where known == word {
      self = member
      return
    }
    return nil
  }

  private static let words: [(Word, Member)] = allCases.compactMap { member in
    let name = Name.bytes(member.name)
    return Word(name.span, name: name.indices).map { ($0, member) }
  }
}

/// A short name as two numbers, so that a key is compared with many at once.
private struct Word: Equatable {
  private let low: UInt64
  private let high: UInt64

  /// Takes up to 15 bytes; their count is kept beside them. Nil for more.
  init?(_ text: Span<UInt8>, name: Range<Int>) {
    let count = name.count
    guard count <= 15 else { return nil }
    low = Word.number(text, start: name.lowerBound, count: min(count, 8))
    let rest = count > 8 ? Word.number(text, start: name.lowerBound &+ 8, count: count &- 8) : 0
    high = rest | UInt64(truncatingIfNeeded: count) &<< 56
  }

  /// Up to eight bytes, the first lowest.
  private static func number(_ text: Span<UInt8>, start: Int, count: Int) -> UInt64 {
    if let word = eightBytes(text, at: start) {
      return count == 8 ? word : word & ((1 as UInt64) &<< UInt64(count &* 8) &- 1)
    }
    var number: UInt64 = 0
    for at in 0..<count {
      number |= UInt64(text[start &+ at]) &<< UInt64(at &* 8)
    }
    return number
  }
}
