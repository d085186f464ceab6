/// Reads updates: what the server repeats until it is replied to.
///
/// Whatever an update holds, its `ref` comes through, so that nothing that this
/// version cannot read blocks what stands behind it. An item that is bad is bad
/// alone; an entity or an action that is unknown goes to the host as it came.

struct UpdateReader {
  private let document: Document
  private let messages: MessageReader
  private let node: Document.Node

  init(_ messages: MessageReader, _ node: Document.Node) {
    document = messages.document
    self.messages = messages
    self.node = node
  }

  /// Nil where no `ref` can be read.
  func update() -> Update? {
    guard let ref = messages.optionalID(document.present(Name.ref, of: node)) else { return nil }
    let silent = document.member(Name.silent, of: node).flatMap { document.bool($0) } ?? false
    let payload = document.present(Name.payload, of: node)
    let name = payload.flatMap { messages.optionalID(document.member(Name.entity, of: $0)) }
    let action = document.present(Name.action, of: node).flatMap { self.action($0) }
    var effects: [Effect]? = []
    var isKnown = false
    if let payload, let name, let action {
      let entity = EntityName(name)
      isKnown = entity?.knows(action) ?? false
      effects =
        if isKnown, let entity {
          self.effects(entity, action, payload)
        } else {
          [.unknown(name: name, body: document.range(node))]
        }
    } else {
      effects = nil
    }
    return Update(
      ref: ref, silent: silent, action: action ?? .other, entity: name ?? [],
      effects: effects ?? [], raw: document.range(node), isKnown: isKnown && effects != nil,
      isBroken: effects == nil)
  }

  /// Nil where it is no text.
  private func action(_ node: Document.Node) -> Update.Action? {
    document.string(node).map { name in
      switch String(decoding: name, as: UTF8.self) {
      case "new": .new
      case "update": .update
      case "delete": .delete
      default: .other
      }
    }
  }

  /// The effects of the items, in their order; nil where the items are no list.
  private func effects(
    _ entity: EntityName, _ action: Update.Action, _ payload: Document.Node
  ) -> [Effect]? {
    guard let array = document.member(Name.items, of: payload),
      let nodes = document.elements(of: array)
    else { return nil }
    var groups = Groups()
    for node in nodes {
      let item = ItemReader(messages, node)
      switch entity {
      case .message where action == .delete: item.deletion(&groups)
      case .receipt: item.receipts(&groups)
      case .message: groups.add(item.message(isNew: action == .new))
      case .reaction: groups.add(item.reactions(action))
      case .pin: groups.add(item.pin(isPinned: action == .delete ? false : item.isPinned))
      case .typing: groups.add(item.typing())
      case .conversation: groups.add(item.entity(.conversation, action))
      case .member: groups.add(item.entity(.member, action))
      case .profile: groups.add(item.entity(.profile, action))
      }
    }
    return groups.effects()
  }
}

/// The entities that this version knows.
private enum EntityName {
  case message, conversation, receipt, reaction, pin, typing, member, profile

  init?(_ name: [UInt8]) {
    switch String(decoding: name, as: UTF8.self) {
    case "message": self = .message
    case "conversation": self = .conversation
    case "receipt": self = .receipt
    case "reaction": self = .reaction
    case "pin": self = .pin
    case "typing": self = .typing
    case "member": self = .member
    case "profile": self = .profile
    default: return nil
    }
  }

  /// Receipts only grow, so to delete one has no meaning here.
  func knows(_ action: Update.Action) -> Bool {
    action != .other && !(self == .receipt && action == .delete)
  }
}

/// Effects of one update; ids that share all else are brought together.
struct Groups {
  /// Ids to delete (no kind), or ids with a receipt of one user.
  private struct Group {
    let conversation: [UInt8]
    let kind: Effect.ReceiptKind?
    let user: [UInt8]
    var ids: [[UInt8]]
  }

  private var others: [Effect] = []
  private var groups: [Group] = []

  mutating func add(_ effect: Effect) {
    others.append(effect)
  }

  mutating func add(
    _ id: [UInt8], to conversation: [UInt8], _ kind: Effect.ReceiptKind?, _ user: [UInt8]
  ) {
    // A few back is enough for lists in any order that servers have, and bounded.
    for index in groups.indices.suffix(6)
    where groups[index].conversation == conversation && groups[index].kind == kind
      && groups[index].user == user
    {
      groups[index].ids.append(id)
      return
    }
    groups.append(Group(conversation: conversation, kind: kind, user: user, ids: [id]))
  }

  /// All effects. Deletions and receipts do not depend on any order.
  func effects() -> [Effect] {
    others
      + groups.map { group in
        if let kind = group.kind {
          .receipts(
            conversation: group.conversation, kind: kind, user: group.user, ids: group.ids)
        } else {
          .messagesDeleted(conversation: group.conversation, ids: group.ids)
        }
      }
  }
}
