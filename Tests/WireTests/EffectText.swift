/// An effect as one line of text, so that tests can compare effects whole.
import Wire

extension Effect {
  var line: String {
    switch self {
    case .message(let conversation, .message(let message), let isNew):
      "\(isNew ? "new" : "edited") \(text(message.id)) in \(text(conversation))"
    case .message(let conversation, .bad(let range, let reason), _):
      "bad \(reason) at \(range) in \(text(conversation))"
    case .messagesDeleted(let conversation, let ids):
      "deleted \(list(ids)) in \(text(conversation))"
    case .receipts(let conversation, let kind, let user, let ids):
      "\(kind) \(list(ids)) in \(text(conversation)) by \(text(user))"
    case .reactions(let conversation, let id, let range, let version):
      "reactions \(range) version \(version ?? -1) of \(list([conversation, id]))"
    case .reacted(let conversation, let id, let change):
      "\(change.isAdded ? "reacts" : "takes back") \(list([change.user, change.reaction])) "
        + "version \(change.version ?? -1) of \(list([conversation, id]))"
    case .pin(let conversation, let id, let isPinned):
      "\(isPinned ? "pin" : "unpin") \(list([conversation, id]))"
    case .typing(let conversation, let user, let event, let at, let body):
      "\(event) typing \(list([conversation, user])) since \(text(at?.text ?? [])) at \(body)"
    case .entity(let kind, let conversation, let id, let body, _):
      "\(kind) \(list([conversation ?? [], id])) at \(body)"
    case .entityDeleted(let kind, let conversation, let id, let body):
      "gone \(kind) \(list([conversation ?? [], id])) at \(body)"
    case .unknown(let name, let body):
      "unknown \(text(name)) at \(body)"
    case .skipped(let range, let skipped):
      "skipped \(skipped.topics.rawValue) \(list(skipped.conversations ?? [])) at \(range)"
    case .bad(let range, let reason):
      "bad \(reason) at \(range)"
    }
  }

  private func list(_ ids: [[UInt8]]) -> String {
    ids.map { text($0) }.joined(separator: ",")
  }
}

extension Effect: Equatable {
  package static func == (left: Effect, right: Effect) -> Bool {
    left.line == right.line
  }
}
