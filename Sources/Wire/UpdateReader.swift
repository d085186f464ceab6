/// Reads updates: what the server repeats until it is replied to.
///
/// Whatever an update holds, its `ref` comes through, so that nothing that this
/// version cannot read blocks what stands behind it. An item that is bad is bad
/// alone; an entity or an action that is unknown goes to the host as it came.

struct UpdateReader {
  private let document: Document
  private let messages: MessageReader
  private let node: Document.Node

  init(_ messages: MessageReader, node: Document.Node) {
    document = messages.document
    self.messages = messages
    self.node = node
  }

  func update() throws(Unread) -> Update {
    guard let ref = messages.optionalID(Name.ref, of: node) else {
      throw Unread("ref", "is missing or not an id")
    }
    let payload = document.present(Name.payload, of: node)
    let entity = payload.flatMap { messages.optionalID(Name.entity, of: $0) }
    let verb = document.member(Name.action, of: node)
    let action = verb.map { self.action($0) } ?? .other
    var effects: [Effect]?
    var isKnown = false
    var skipped: SkippedList?
    var fault: BadItem?
    if let payload, let entity, let verb, document.kind(verb) == .string {
      let name = EntityName(rawValue: String(decoding: entity, as: UTF8.self))
      if let name, name.knows(action) {
        effects = self.effects(name, action, payload)
        skipped = effects == nil ? self.skipped(name, action, payload) : nil
        isKnown = effects != nil
        if effects == nil { fault = skipped == nil ? .noItems : .tooMany(.items) }
      } else {
        effects = [.unknown(name: entity, body: document.range(node))]
      }
    } else if payload == nil {
      fault = .noPayload
    } else {
      fault = entity == nil ? .noEntity : .noAction
    }
    return Update(
      ref: ref, silent: document.flag(Name.silent, of: node) ?? false, action: action,
      entity: entity ?? [], effects: effects ?? [], raw: document.range(node), isKnown: isKnown,
      fault: fault, skipped: skipped)
  }

  private func action(_ verb: Document.Node) -> Update.Action {
    if document.isString(verb, text: Name.new) { return .new }
    if document.isString(verb, text: Name.update) { return .update }
    return document.isString(verb, text: Name.delete) ? .delete : .other
  }

  /// What the items were about, where they are too many.
  private func skipped(
    _ entity: EntityName, _ action: Update.Action, _ payload: Document.Node
  ) -> SkippedList? {
    guard let array = document.member(Name.items, of: payload), document.kind(array) == .array
    else { return nil }
    return SkippedList(array, of: entity, action: action, in: messages)
  }

  /// The effects of the items, in their order; nil where the items are no list, or too long a
  /// one.
  @inline(never)
  private func effects(
    _ entity: EntityName, _ action: Update.Action, _ payload: Document.Node
  ) -> [Effect]? {
    guard let array = document.member(Name.items, of: payload),
      let nodes = document.elements(of: array)
    else { return nil }
    var groups = Groups()
    for node in nodes {
      let item = ItemReader(messages, node: node)
      switch entity {
      case .message where action == .delete: item.deletion(&groups)
      case .receipt: item.receipts(&groups)
      case .message: groups.add(item.message(isNew: action == .new))
      case .conversation, .reaction, .pin, .typing, .member, .profile:
        groups.add(item.effect(entity, action: action))
      }
    }
    return groups.effects()
  }
}

/// The entities that this version knows.
enum EntityName: String {
  case message, conversation, receipt, reaction, pin, typing, member, profile

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
    _ id: [UInt8], to conversation: [UInt8], kind: Effect.ReceiptKind?, user: [UInt8]
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
    if groups.isEmpty { return others }
    var effects = others
    effects.reserveCapacity(others.count + groups.count)
    for group in groups {
      if let kind = group.kind {
        effects.append(
          .receipts(
            conversation: group.conversation, kind: kind, user: group.user, ids: group.ids))
      } else {
        effects.append(.messagesDeleted(conversation: group.conversation, ids: group.ids))
      }
    }
    return effects
  }
}
