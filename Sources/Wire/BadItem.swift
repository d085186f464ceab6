/// Why something that the server sent is of no use, in words that name the member.
///
/// Rule protected: a reason is made of constants. It says which member was wrong, never what the
/// member held.
package import Base

/// Why an item of a page was set aside.
package enum BadItem: Hashable, Sendable {
  /// A member that holds an id.
  package enum IDMember: CaseIterable, Sendable {
    case message, sender, conversation, user
  }

  /// A list whose entries are counted.
  package enum List: CaseIterable, Sendable {
    case readBy, deliveredBy, listenedBy, reactions, items, messageIDs
  }

  /// Not a JSON object.
  case notAnObject
  /// More bytes than a message may have.
  case tooLarge
  /// No `message_id`, or an empty one, or not a string.
  case noId
  /// An id longer than an id may be.
  case idTooLong(IDMember)
  /// An id with an unpaired surrogate: as bytes it would equal other ids.
  case badId(IDMember)
  /// No `sender_id`, or an empty one, or not a string.
  case noSender
  /// No `created_at`.
  case noTime
  /// A `created_at` that is not a time.
  case badTime
  /// No `payload`.
  case noPayload
  /// A `conversation_id` that is empty or not a string, or none where one is needed.
  case badConversation
  /// A push whose message names another conversation than the frame does.
  case wrongConversation
  /// No `seq`, where the server's numbers are the positions.
  case noSequence
  /// An item of an update without the user it is about.
  case noUser
  /// An item of an update without a set of reactions.
  case noReactions
  /// A list with more entries than one may have.
  case tooMany(List)
  /// One of so many copies of a message in one frame that it is not read.
  case tooOften
  /// An update whose `action` is no string.
  case noAction
  /// An update whose `payload` names no entity.
  case noEntity
  /// An update whose `payload` has no list of items.
  case noItems
  /// A line, or an element, that is not JSON.
  case notJSON

  /// All of them, each once.
  package static let all: [BadItem] = {
    var all: [BadItem] = [
      .notAnObject, .tooLarge, .noId, .noSender, .noTime, .badTime, .noPayload, .badConversation,
      .wrongConversation, .noSequence, .noUser, .noReactions, .tooOften, .noAction, .noEntity,
      .noItems, .notJSON,
    ]
    for member in IDMember.allCases {
      all.append(contentsOf: [.idTooLong(member), .badId(member)])
    }
    for list in List.allCases { all.append(.tooMany(list)) }
    return all
  }()

  package var text: StaticText {
    switch self {
    case .notAnObject: "an item is not a JSON object"
    case .tooLarge: "an item is over 4 MiB"
    case .noId: "message_id is missing, empty or not a string"
    case .idTooLong(let member): StaticText(member.name, "is over 512 bytes")
    case .badId(let member): StaticText(member.name, "has half a surrogate pair")
    case .noSender: "sender_id is missing, empty or not a string"
    case .noTime: "created_at is missing"
    case .badTime: "created_at is not a time"
    case .noPayload: "payload is missing"
    case .badConversation: "conversation_id is missing, empty or not a string"
    case .wrongConversation: "conversation_id is that of another conversation"
    case .noSequence: "seq is missing, too large, or not a whole number in digits alone"
    case .noUser: "user_id is missing, empty or not a string"
    case .noReactions: "reactions is missing or not a JSON object"
    case .tooMany(let list): StaticText(list.name, "has over 10,000 entries")
    case .tooOften: "message_id came too often in one frame"
    case .noAction: "action is missing or not a string"
    case .noEntity: "entity is missing, empty or not a string"
    case .noItems: "items is missing or not a list"
    case .notJSON: "an item is not JSON"
    }
  }
}

extension BadItem.IDMember {
  var name: StaticString {
    switch self {
    case .message: "message_id"
    case .sender: "sender_id"
    case .conversation: "conversation_id"
    case .user: "user_id"
    }
  }

  /// What is said where there is no id at all.
  var missing: BadItem {
    switch self {
    case .message: .noId
    case .sender: .noSender
    case .conversation: .badConversation
    case .user: .noUser
    }
  }
}

extension BadItem.List {
  var name: StaticString {
    switch self {
    case .readBy: "read_by"
    case .deliveredBy: "delivered_by"
    case .listenedBy: "listened_by"
    case .reactions: "reactions"
    case .items: "items"
    case .messageIDs: "message_ids"
    }
  }
}

/// An item that is to be set aside.
struct Unusable: Error {
  let reason: BadItem
}

/// A frame, or an answer, that lacks what it must say.
struct Unread: Error {
  let reason: StaticText

  init(_ reason: StaticText) {
    self.reason = reason
  }

  init(_ member: StaticString, _ words: StaticString) {
    reason = StaticText(member, words)
  }
}

extension WireFailure {
  /// What is wrong with bytes that go by this name: "the frame", "a list", "the request".
  package func text(of subject: StaticString) -> StaticText {
    switch self {
    case .tooLarge: StaticText(subject, "is over 16 MiB")
    case .notUTF8: StaticText(subject, "is not UTF-8")
    case .syntax: StaticText(subject, "is not JSON")
    case .tooDeep: StaticText(subject, "is nested over 128 levels deep")
    case .notAFrame: StaticText(subject, "is not a JSON object")
    case .unknownVerb: "type is missing, there twice, or not one of the protocol"
    case .ownVerb: "messages are asked for by a sync"
    case .missingMember(let parameter): StaticText(parameter.name, "is missing")
    case .repeatedMember(let parameter): StaticText(parameter.name, "is there twice")
    case .badMember(let parameter): StaticText(parameter.name, parameter.demand)
    }
  }
}

extension ServerError {
  /// Its code, as far as the protocol knows it.
  package var text: StaticText {
    switch self {
    case .notFound: "not_found"
    case .forbidden: "forbidden"
    case .invalid: "invalid"
    case .tooLarge: "too_large"
    case .conflict: "conflict"
    case .exists: "exists"
    case .unknownCursor: "unknown_cursor"
    case .rateLimited: "rate_limited"
    case .unavailable: "unavailable"
    case .unsupported: "unsupported"
    case .other: "a code that is not of the protocol"
    }
  }
}

extension Parameter {
  /// What a value that is refused is not.
  fileprivate var demand: StaticString {
    switch self {
    case .conversationID, .messageID, .clientID, .replyTo, .reaction, .channel:
      "is not an id of 1 to 512 bytes"
    case .title, .at: "is not a string"
    case .messageIDs, .userIDs: "is not a list of 1 to 10,000 ids"
    case .participantIDs, .adminIDs: "is not a list of up to 10,000 ids"
    case .payload: "is not a JSON value"
    case .event: "is not begin, pause or finished"
    case .limit: "is not a whole number from 1 to 1,000"
    case .offset: "is not a whole number, or too large a one"
    case .includeLastMessage, .distinct, .direct: "is not true or false"
    }
  }
}
