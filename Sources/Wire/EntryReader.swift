/// Reads the entries of a log: the data of a `get_entries` answer, and the push `entries_new`.
///
/// `docs/reference/protocol-log.md` has the words. An answer without `after` proves
/// nothing and is malformed; an entry that cannot be read keeps its place where its id can
/// be, and is a hole otherwise.
package import Base

/// What a `get_entries` answer says.
package struct EntryPage: Sendable {
  /// Where a page ends at its older side.
  package enum Edge: Sendable, Equatable {
    /// No token: the log starts with the page.
    case start
    case token([UInt8])
    /// Something that is no token: what lies before is not known.
    case unknown
  }

  /// Oldest first.
  package let items: [EntryItem]
  package let before: Edge
  package let after: [UInt8]
  package let isPresent: Bool
  package let isGap: Bool
  package let epoch: [UInt8]?
  package let serverTime: Stamp?
}

/// What `entries_new` says.
package struct EntryPush: Sendable {
  package let conversation: [UInt8]
  package let items: [EntryItem]
  /// The id of the entry before the first one.
  package let previous: [UInt8]?
  package let before: [UInt8]?
  package let after: [UInt8]?

  package init(
    conversation: [UInt8], items: [EntryItem], previous: [UInt8]? = nil, before: [UInt8]? = nil,
    after: [UInt8]? = nil
  ) {
    self.conversation = conversation
    self.items = items
    self.previous = previous
    self.before = before
    self.after = after
  }
}

package enum EntryItem: Sendable {
  case message(WireMessage)
  case change(WireChange)
  /// It keeps its place, and that is all.
  case unreadable(id: [UInt8], Range<Int>, StaticText)
  /// Not even its id is known.
  case hole(Range<Int>, StaticText)
}

/// An entry that is no message; the ranges point into the bytes of its frame.
package struct WireChange: Sendable {
  package enum Kind: Sendable, Equatable {
    case edit(payload: Range<Int>)
    case delete
    case react([UInt8])
    case unreact([UInt8])
    case reactions([[UInt8]])
    case read, delivered, listened
    case pin, unpin, moderate
    /// One without effect, or of a name that only the host knows.
    case none
  }

  package let id: [UInt8]
  /// The conversation that it names, nil where it names none.
  package let conversation: [UInt8]?
  package let kind: Kind
  /// What it changes, and who did it; not needed where it has no effect.
  package let target: [UInt8]?
  package let sender: [UInt8]?
  package let stamp: Stamp?
  package let isDeleted: Bool
  package let object: Range<Int>
}

/// A payload in a frame of entries: that of a message, or of an edit, which is one of its message.
package struct EntryPayload: Sendable {
  /// The conversation that its object names, nil where it names none.
  package let conversation: [UInt8]?
  package let id: [UInt8]
  package let sender: [UInt8]
  package let payload: Range<Int>
  package let object: Range<Int>
}

/// The payloads of entries in order of appearance.
package func entryPayloads(_ items: [EntryItem]) -> [EntryPayload] {
  items.compactMap { item in
    switch item {
    case .message(let message):
      return EntryPayload(
        conversation: message.conversation, id: message.id, sender: message.sender,
        payload: message.payload, object: message.object)
    case .change(let change):
      guard case .edit(let payload) = change.kind, let target = change.target else { return nil }
      return EntryPayload(
        conversation: change.conversation, id: target, sender: change.sender ?? [],
        payload: payload,
        object: change.object)
    case .unreadable, .hole:
      return nil
    }
  }
}

struct EntryReader {
  let messages: MessageReader
  var document: Document { messages.document }

  func page(_ data: Document.Node) throws(Unread) -> EntryPage {
    let items = try items(data)
    guard let after = token(EntryName.after, of: data) else {
      throw Unread("after", "is missing, empty, no string, or over 2,048 bytes")
    }
    let before: EntryPage.Edge
    if document.present(EntryName.before, of: data) == nil {
      before = .start
    } else {
      before = token(EntryName.before, of: data).map { .token($0) } ?? .unknown
    }
    return EntryPage(
      items: items, before: before, after: after,
      isPresent: document.flag(EntryName.present, of: data) ?? false,
      isGap: document.flag(EntryName.gap, of: data) ?? false,
      epoch: messages.optionalID(Name.epoch, of: data),
      serverTime: messages.time(Name.serverTime, of: data))
  }

  /// The type of the frame of a push.
  static let push = Name.bytes("entries_new")

  func push(_ root: Document.Node) throws(Unread) -> EntryPush {
    let conversation: [UInt8]
    do {
      conversation = try messages.id(
        document.member(Name.conversationID, of: root), of: .conversation)
    } catch {
      throw Unread(error.reason.text)
    }
    let items = try items(root)
    if items.isEmpty { throw Unread("entries", "is empty") }
    return EntryPush(
      conversation: conversation, items: items,
      previous: messages.optionalID(EntryName.previous, of: root),
      before: token(EntryName.before, of: root), after: token(EntryName.after, of: root))
  }

  /// A token; nil where there is none, or something that can be none.
  private func token(_ name: [UInt8], of node: Document.Node) -> [UInt8]? {
    guard let found = document.present(name, of: node),
      let (text, repaired) = document.unescaped(found), !repaired, !text.isEmpty,
      text.count <= Limits.tokenBytesMax
    else { return nil }
    return text
  }

  private func items(_ node: Document.Node) throws(Unread) -> [EntryItem] {
    guard let array = document.member(EntryName.entries, of: node), document.kind(array) == .array
    else { throw Unread("entries", "is missing or not a list") }
    guard let nodes = document.elements(of: array) else {
      throw Unread("entries", "has over 10,000 entries")
    }
    return nodes.map { item($0) }
  }

  private func item(_ node: Document.Node) -> EntryItem {
    let object = document.range(node)
    guard document.kind(node) == .object else { return .hole(object, BadItem.notAnObject.text) }
    if document.present(EntryName.change, of: node) == nil {
      switch messages.item(node) {
      case .message(let message): return .message(message)
      case .bad(_, let reason): return bad(node, Name.messageID, reason.text)
      }
    }
    guard object.count <= Limits.messageBytesMax else {
      return bad(node, EntryName.entryID, BadItem.tooLarge.text)
    }
    do throws(Unread) {
      return .change(try change(node))
    } catch {
      return bad(node, EntryName.entryID, error.reason)
    }
  }

  private func bad(_ node: Document.Node, _ name: [UInt8], _ reason: StaticText) -> EntryItem {
    let object = document.range(node)
    guard let id = messages.optionalID(name, of: node) else { return .hole(object, reason) }
    return .unreadable(id: id, object, reason)
  }

  private func change(_ node: Document.Node) throws(Unread) -> WireChange {
    guard let id = messages.optionalID(EntryName.entryID, of: node) else {
      throw Unread("entry_id", "is missing or not an id of 1 to 512 bytes")
    }
    let kind = try kind(node)
    let target = messages.optionalID(EntryName.targetID, of: node)
    let sender = messages.optionalID(EntryName.senderID, of: node)
    if kind != .none {
      if target == nil { throw Unread("target_id", "is missing or not an id of 1 to 512 bytes") }
      if sender == nil { throw Unread(BadItem.noSender.text) }
    }
    return WireChange(
      id: id, conversation: messages.optionalID(Name.conversationID, of: node), kind: kind,
      target: target, sender: sender,
      stamp: messages.time(Name.createdAt, of: node),
      isDeleted: document.flag(EntryName.deleted, of: node) ?? false,
      object: document.range(node))
  }

  private func kind(_ node: Document.Node) throws(Unread) -> WireChange.Kind {
    guard let word = document.text(EntryName.change, of: node) else {
      throw Unread("change", "is not a string")
    }
    switch String(decoding: word, as: UTF8.self) {
    case "edit":
      guard let payload = document.member(Name.payload, of: node) else {
        throw Unread(BadItem.noPayload.text)
      }
      return .edit(payload: document.range(payload))
    case "delete": return .delete
    case "react": return .react(try reaction(node))
    case "unreact": return .unreact(try reaction(node))
    case "reactions": return .reactions(try reactions(node))
    case "read": return .read
    case "delivered": return .delivered
    case "listened": return .listened
    case "pin": return .pin
    case "unpin": return .unpin
    case "moderate": return .moderate
    default: return .none
    }
  }

  private func reaction(_ node: Document.Node) throws(Unread) -> [UInt8] {
    guard let reaction = messages.optionalID(EntryName.reaction, of: node) else {
      throw Unread("reaction", "is missing or not a string of 1 to 512 bytes")
    }
    return reaction
  }

  /// Those of one user; what is none is passed over.
  private func reactions(_ node: Document.Node) throws(Unread) -> [[UInt8]] {
    guard let array = document.present(Name.reactions, of: node), document.kind(array) == .array
    else { throw Unread("reactions", "is missing or not a list") }
    if document.isTooLong(array) { throw Unread("reactions", "has over 10,000 entries") }
    return messages.ids(array).ids
  }
}

/// The members that only a log has.
private enum EntryName {
  static let entries = Name.bytes("entries")
  static let before = Name.bytes("before")
  static let after = Name.bytes("after")
  static let present = Name.bytes("present")
  static let gap = Name.bytes("gap")
  static let previous = Name.bytes("prev")
  static let entryID = Name.bytes("entry_id")
  static let change = Name.bytes("change")
  static let targetID = Name.bytes("target_id")
  static let senderID = Name.bytes("sender_id")
  static let reaction = Name.bytes("reaction")
  static let deleted = Name.bytes("deleted")
}
