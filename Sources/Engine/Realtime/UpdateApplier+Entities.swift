/// Parts of updates that are no messages: small entities, events, and what this
/// version does not understand.
///
/// Conversations, members and profiles are kept as they came, the newest copy only.
/// Everything the host may have to act on is a durable event, in the transaction of
/// the update, so that an update is never replied to and its event lost.
internal import Base
internal import Store
internal import Wire

/// `TL_EVENT_` kinds of the header.
enum EventKind: Int64 {
  case unknown = 1
  case typing = 2
  case conversation = 3
  case poison = 4
  case member = 5
  case profile = 6
  case frame = 7
}

/// `TL_ACTION_` values of the header.
enum EventAction: Int64 {
  case none = 0
  case new = 1
  case update = 2
  case delete = 3

  init(_ action: Update.Action) {
    self =
      switch action {
      case .new: .new
      case .update: .update
      case .delete: .delete
      case .other: .none
      }
  }

  /// Only what is told of a conversation says what was done.
  init(_ push: Push) {
    self =
      switch push.effects.first {
      case .entity: .update
      case .entityDeleted: .delete
      default: .none
      }
  }
}

extension Effect.EntityKind {
  /// `TL_ENTITY_` kinds of the header; the values are part of the file's format.
  var code: Int64 {
    switch self {
    case .conversation: 1
    case .member: 2
    case .profile: 3
    }
  }
}

extension EventKind {
  init(_ kind: Effect.EntityKind) {
    self =
      switch kind {
      case .conversation: .conversation
      case .member: .member
      case .profile: .profile
      }
  }
}

extension ReceiptKind {
  init(_ kind: Effect.ReceiptKind) {
    self =
      switch kind {
      case .read: .read
      case .delivered: .delivered
      case .listened: .listened
      }
  }
}

extension UpdateApplier {
  /// Keeps an entity, or lets it go. What a conversation says of itself is kept apart, where
  /// it can be read.
  mutating func entity(
    _ kind: Effect.EntityKind, in conversation: [UInt8]?, id: [UInt8], body: Range<Int>,
    isDeleted: Bool, isToldApart: Bool = false
  ) throws(StoreFailure) {
    var cid: Int64 = 0
    if let conversation { cid = try tx.conversation(creating: conversation).cid }
    if isDeleted {
      if kind == .conversation {
        try tx.removeConversation(cid)
        effects.left.append(id)
      } else {
        try tx.feedTable.removeEntity(kind: kind.code, cid: cid, id: id)
      }
    } else if body.count > Limits.messageBytesMax {
      try setAside(body, reason: BadItem.tooLarge.code, cid: cid)
      return try poison(body, cid: cid)
    } else if !isToldApart {
      try tx.feedTable.putEntity(
        kind: kind.code, cid: cid, id: id, body: Array(arrival.frame[body]))
    }
    // Who asked has the answer.
    if answered == nil { try event(EventKind(kind), body: body, cid: cid, id: id) }
  }

  /// Hands something to the host, as it came.
  func event(
    _ kind: EventKind, body: Range<Int>, cid: Int64?, named name: [UInt8]? = nil,
    id: [UInt8] = []
  ) throws(StoreFailure) {
    // What is too large to be kept is told all the same, without its body.
    let kept = body.count <= Limits.messageBytesMax ? Array(arrival.frame[body]) : []
    try tx.feedTable.addEvent(
      kind: kind.rawValue, action: update.action.rawValue, isSilent: update.isSilent,
      cid: cid, entity: name ?? update.name, body: kept, id: id)
  }

  /// Tells the host that something could not be applied, once: the whole update
  /// where it is one, because it will not come again.
  mutating func poison(_ body: Range<Int>, cid: Int64?) throws(StoreFailure) {
    guard !isQuarantined else { return }
    isQuarantined = true
    try event(.poison, body: update.raw ?? body, cid: cid)
  }
}
