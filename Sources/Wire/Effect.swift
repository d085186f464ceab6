/// What a frame that nobody asked for does, in one currency.
///
/// A plain push and an acknowledged update say the same things in two forms.
/// Both become effects here, so that the engine applies each of them in one way.

/// What the server tells without wanting an answer.
package struct Push: Sendable {
  /// The type of the frame.
  package let name: [UInt8]
  package let effects: [Effect]
}

/// What the server tells until it is replied to.
package struct Update: Sendable {
  package enum Action: Sendable {
    case new, update, delete
    /// One that this version does not know.
    case other
  }

  /// What to reply with; text of one byte at least.
  package let ref: [UInt8]
  /// The server asks not to notify the user.
  package let silent: Bool
  package let action: Action
  /// The name of the entity, empty where none is readable.
  package let entity: [UInt8]
  package let effects: [Effect]
  /// The update object, verbatim.
  package let raw: Range<Int>
  /// Whether this version knows what the entity and the action mean together.
  package let isKnown: Bool
  /// Why nothing but the `ref` can be made out; `raw` is to be set aside then.
  package let fault: BadItem?
  /// What is lost with one that is broken since it has too many items.
  package let skipped: SkippedList?
}

/// What a user does at the keyboard.
package enum TypingEvent: Sendable, Equatable {
  case begin, pause, finished
  /// One that only the host knows.
  case other

  init(name: [UInt8]) {
    self =
      switch String(decoding: name, as: UTF8.self) {
      case "begin": .begin
      case "pause": .pause
      case "finished": .finished
      default: .other
      }
  }
}

/// That one user has reacted, or has taken it back.
package struct UserReaction: Equatable, Sendable {
  package let user: [UInt8]
  package let reaction: [UInt8]
  package let isAdded: Bool
  /// The message's, from this change on.
  package let version: Int64?

  package init(user: [UInt8], reaction: [UInt8], isAdded: Bool, version: Int64?) {
    self.user = user
    self.reaction = reaction
    self.isAdded = isAdded
    self.version = version
  }
}

/// One thing that happened; the ranges point into the bytes of its frame.
package enum Effect: Sendable {
  package enum ReceiptKind: Sendable {
    case read, delivered, listened
  }

  package enum EntityKind: Sendable {
    case conversation, member, profile
  }

  /// A message is new or was changed. A bad item is set aside in its conversation.
  case message(conversation: [UInt8], item: PageItem, isNew: Bool)
  case messagesDeleted(conversation: [UInt8], ids: [[UInt8]])
  case receipts(conversation: [UInt8], kind: ReceiptKind, user: [UInt8], ids: [[UInt8]])
  /// The whole set of a message's reactions, a JSON object; an empty range where
  /// none are left.
  case reactions(conversation: [UInt8], id: [UInt8], reactions: Range<Int>, version: Int64?)
  /// One user's reaction of one kind, where the frame does not have the whole set.
  indirect case reacted(conversation: [UInt8], id: [UInt8], change: UserReaction)
  case pin(conversation: [UInt8], id: [UInt8], isPinned: Bool)
  /// `at` is the server's time of it, where it tells one.
  indirect case typing(
    conversation: [UInt8], user: [UInt8], event: TypingEvent, at: Stamp?, body: Range<Int>)
  /// `conversation` is nil for a profile, and the id itself for a conversation, of
  /// which `known` is what it says of itself.
  case entity(
    EntityKind, conversation: [UInt8]?, id: [UInt8], body: Range<Int>, known: WireConversation?)
  case entityDeleted(EntityKind, conversation: [UInt8]?, id: [UInt8], body: Range<Int>)
  /// For the host, as it came: the name of the entity and the update object.
  case unknown(name: [UInt8], body: Range<Int>)
  /// One that is too long: it is set aside, and its content is requested.
  case skipped(Range<Int>, SkippedList)
  /// An item that cannot be applied, and whose conversation is not known.
  case bad(Range<Int>, BadItem)
}
