/// What has happened, as frames: a plain push, or the payload of an update.
///
/// One value makes both, so that the two ways of telling never differ.
enum News {
  case message(Row, isNew: Bool, isSilent: Bool)
  case deleted(String, [String])
  case marked(ServerMark, String, user: String, [String], Int64)
  case reacted(ServerMessage, by: String)
  case pinned(ServerMessage)
  case typing(String, user: String, event: String, Int64)
  case conversation(ConversationState, isNew: Bool)
  /// With what only one user is told of it: JSON members, each behind a comma.
  case ownConversation(ConversationState, more: [UInt8])
  case conversationDeleted(String)
  case member(ConversationState, user: String, isGone: Bool)
  case profile(user: String, name: String, isNew: Bool)
  case profilesDeleted([String])
  case other(entity: String, action: String, items: String, isSilent: Bool)

  // MARK: Plain

  /// Whether it holds a conversation, of which its maker is told more than others.
  var isOfConversation: Bool {
    switch self {
    case .conversation, .ownConversation, .member: true
    default: false
    }
  }

  /// The push frame; nil where there is none without envelopes. `name` is the client id of a
  /// conversation for the user who is told.
  func plain(_ knobs: ServerKnobs, as name: String? = nil) -> [UInt8]? {
    var out = Writer(knobs)
    switch self {
    case .message(let row, let isNew, _):
      out.head(isNew ? "message_new" : "message_edited", row.message.conversation)
      out.raw(",\"message\":")
      out.raw(row.rendered)
    case .deleted(let conversation, let ids):
      out.head("message_deleted", conversation)
      out.texts("message_ids", ids)
    case .marked(let mark, let conversation, let user, let ids, _):
      out.head("messages_\(mark.rawValue)", conversation)
      out.text("user_id", user)
      out.texts("message_ids", ids)
    case .reacted(let message, _):
      out.head("message_reacted", message.conversation)
      out.reactions(message)
    case .pinned(let message):
      let isPinned = message.isPinned ?? false
      out.head(isPinned ? "message_pinned" : "message_unpinned", message.conversation)
      out.text("message_id", message.id)
    case .typing(let conversation, let user, let event, let us):
      out.head("typing", conversation)
      out.text("user_id", user)
      out.text("event", event)
      out.time("at", us)
    case .conversation(let state, _), .member(let state, _, _):
      out.head("conversation_updated", state.id)
      out.raw(",\"conversation\":{")
      out.conversation(state, name)
      out.raw("}")
    case .ownConversation(let state, let more):
      out.head("conversation_updated", state.id)
      out.raw(",\"conversation\":{")
      out.conversation(state, name)
      out.raw(more)
      out.raw("}")
    case .conversationDeleted(let id): out.head("conversation_deleted", id)
    case .profile, .profilesDeleted, .other: return nil
    }
    out.raw("}")
    return out.bytes
  }

  // MARK: Updates

  /// What an update holds beside its ref.
  func payload(_ knobs: ServerKnobs, as name: String? = nil) -> [UInt8] {
    let (entity, action, isSilent) = kind
    var out = Writer(knobs)
    out.raw("\"silent\":\(isSilent),\"action\":")
    ServerJSON.write(action, into: &out.bytes)
    out.raw(",\"payload\":{\"entity\":")
    ServerJSON.write(entity, into: &out.bytes)
    out.raw(",\"items\":")
    items(&out, name)
    out.raw("}")
    return out.bytes
  }

  private var kind: (entity: String, action: String, isSilent: Bool) {
    switch self {
    case .message(_, let isNew, let isSilent): ("message", isNew ? "new" : "update", isSilent)
    case .deleted: ("message", "delete", true)
    case .marked: ("receipt", "new", true)
    case .reacted: ("reaction", "update", true)
    case .pinned(let message): ("pin", message.isPinned == true ? "new" : "delete", true)
    case .typing: ("typing", "new", true)
    case .conversation(_, let isNew): ("conversation", isNew ? "new" : "update", true)
    case .ownConversation: ("conversation", "update", true)
    case .conversationDeleted: ("conversation", "delete", true)
    case .member(_, _, let isGone): ("member", isGone ? "delete" : "new", true)
    case .profile(_, _, let isNew): ("profile", isNew ? "new" : "update", true)
    case .profilesDeleted: ("profile", "delete", true)
    case .other(let entity, let action, _, let isSilent): (entity, action, isSilent)
    }
  }

  private func items(_ out: inout Writer, _ name: String?) {
    switch self {
    case .message(let row, _, _):
      out.raw("[")
      out.raw(row.rendered)
      out.raw("]")
    case .deleted(let conversation, let ids):
      out.list(ids) { out, id in out.names(conversation, id) }
    case .marked(let mark, let conversation, let user, let ids, let us):
      out.list(ids) { out, id in
        out.names(conversation, id)
        out.text("user_id", user)
        out.time("\(mark.rawValue)_at", us)
      }
    case .reacted(let message, _):
      out.list([message]) { out, message in
        out.first("conversation_id", message.conversation)
        out.reactions(message)
      }
    case .pinned(let message):
      out.list([message]) { out, message in
        out.names(message.conversation, message.id)
        out.raw(",\"pinned\":\(message.isPinned ?? false)")
      }
    case .typing(let conversation, let user, let event, let us):
      out.list([user]) { out, user in
        out.first("conversation_id", conversation)
        out.text("user_id", user)
        out.text("event", event)
        out.time("at", us)
      }
    case .conversation(let state, _): out.list([state]) { $0.conversation($1, name) }
    case .ownConversation(let state, let more):
      out.list([state]) { out, state in
        out.conversation(state, name)
        out.raw(more)
      }
    case .conversationDeleted(let id): out.list([id]) { $0.first("conversation_id", $1) }
    case .member(let state, let user, let isGone):
      out.list([user]) { out, user in
        out.first("conversation_id", state.id)
        out.text("user_id", user)
        if !isGone { out.text("role", "member") }
      }
    case .profile(let user, let name, _):
      out.list([user]) { out, user in
        out.first("user_id", user)
        out.text("name", name)
      }
    case .profilesDeleted(let users): out.list(users) { $0.first("user_id", $1) }
    case .other(_, _, let items, _): out.raw(items)
    }
  }
}

/// Puts the members of a frame one behind the other.
struct Writer {
  var bytes: [UInt8] = []
  private let knobs: ServerKnobs

  init(_ knobs: ServerKnobs) {
    self.knobs = knobs
  }

  mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }
  mutating func raw(_ some: [UInt8]) { bytes.append(contentsOf: some) }

  mutating func head(_ type: String, _ conversation: String) {
    raw("{")
    first("type", type)
    text("conversation_id", conversation)
  }

  mutating func first(_ key: String, _ value: String) {
    raw("\"\(key)\":")
    ServerJSON.write(value, into: &bytes)
  }

  mutating func text(_ key: String, _ value: String) {
    raw(",")
    first(key, value)
  }

  mutating func texts(_ key: String, _ values: [String]) {
    raw(",\"\(key)\":")
    ServerJSON.write(values, into: &bytes)
  }

  mutating func time(_ key: String, _ us: Int64) { text(key, ServerTime.text(us, knobs)) }

  mutating func names(_ conversation: String, _ id: String) {
    first("conversation_id", conversation)
    text("message_id", id)
  }

  mutating func reactions(_ message: ServerMessage) {
    text("message_id", message.id)
    raw(",\"reactions\":")
    message.writeReactions(into: &bytes)
    raw(",\"version\":\(message.version)")
  }

  mutating func conversation(_ state: ConversationState, _ name: String?) {
    first("conversation_id", state.id)
    if let name { text("client_id", name) }
    text("title", state.title)
    texts("participant_ids", state.participants)
    if !state.admins.isEmpty { texts("admin_ids", state.admins) }
    if let metadata = state.metadata { raw(",\"metadata\":\(metadata)") }
    time("created_at", state.createdUs)
    if let updatedUs = state.updatedUs { time("updated_at", updatedUs) }
  }

  mutating func list<Item>(_ items: [Item], _ write: (inout Writer, Item) -> Void) {
    raw("[")
    for (index, item) in items.enumerated() {
      raw(index > 0 ? ",{" : "{")
      write(&self, item)
      raw("}")
    }
    raw("]")
  }
}
