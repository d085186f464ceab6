/// One message of a page or a push.
///
/// What the library needs is read out; what belongs to the host (the payload and
/// every member without a meaning here) stays a verbatim piece of the frame. A
/// message that cannot be placed, named or opened is a bad item, alone.
package import Base

/// An item of a page: a message, or bytes that are to be set aside.
package enum PageItem: Sendable {
  case message(WireMessage)
  case bad(Range<Int>, BadItem)
}

/// A message; the ranges point into the bytes of its frame. It is handed from room to room, which
/// would be a copy of all its members each time.
package final class WireMessage: Sendable {
  package let id: [UInt8]
  /// The conversation it names, nil where it names none.
  package let conversation: [UInt8]?
  package let sender: [UInt8]
  package let stamp: Stamp
  package let sequence: ServerSequence?
  /// The id of the message right before it.
  package let previousID: [UInt8]?
  /// The JSON value of `payload`, which may be `null`.
  package let payload: Range<Int>
  /// The whole object.
  package let object: Range<Int>
  package let version: Int64?
  package let editedUs: Int64?
  /// Whether it says when it was edited, readable or not.
  package let edited: Bool
  package let replyTo: [UInt8]?
  /// The JSON object of reactions.
  package let reactions: Range<Int>?
  package let pinned: Bool
  package let deleted: Bool
  package let isEvent: Bool
  package let moderated: Bool
  /// Users that have read it, nil where the server did not say.
  package let readBy: [[UInt8]]?
  /// Users that it was delivered to, likewise.
  package let deliveredBy: [[UInt8]]?
  /// Users that have listened to it, likewise.
  package let listenedBy: [[UInt8]]?
  package let clientID: [UInt8]?
  /// A JSON object of all members that the host is told of nowhere else, verbatim; empty where
  /// there are none.
  package let rest: [UInt8]

  private static let lists: [(Member, BadItem.List)] = [
    (.readBy, .readBy), (.deliveredBy, .deliveredBy), (.listenedBy, .listenedBy),
  ]

  fileprivate init(
    _ reader: MessageReader, node: Document.Node, object: Range<Int>
  ) throws(Unusable) {
    let document = reader.document
    var members = Members(document, node: node)
    id = try reader.id(members[.id], of: .message)
    if let named = members[.conversation] {
      conversation = try reader.id(named, of: .conversation)
    } else {
      conversation = nil
    }
    sender = try reader.id(members[.sender], of: .sender)
    guard let time = members[.time] else { throw Unusable(reason: .noTime) }
    guard let stamp = reader.stamp(time) else { throw Unusable(reason: .badTime) }
    guard let payload = members.payload else { throw Unusable(reason: .noPayload) }
    self.stamp = stamp
    self.payload = document.range(payload)
    self.object = object
    sequence = members.read(.sequence) { document.digits($0).flatMap { ServerSequence($0) } }
    previousID = members.read(.previousID) { reader.optionalID($0) }
    version = members.read(.version) { document.integer($0) }
    editedUs = members.consume(.editedAt) { reader.stamp($0)?.timeUs }
    edited = members[.editedAt] != nil
    replyTo = members.consume(.replyTo) { reader.optionalID($0) }
    for (member, list) in Self.lists {
      guard let node = members[member] else { continue }
      if document.isTooLong(node) { throw Unusable(reason: .tooMany(list)) }
      // When each of them did is for the host alone.
      if saysMoreThanUsers(document, node: node) { members.keep(member) }
    }
    if let set = members[.reactions], document.kind(set) == .object,
      document.hasTooManyReactions(set)
    {
      throw Unusable(reason: .tooMany(.reactions))
    }
    reactions = members.consume(.reactions) {
      document.kind($0) == .object ? document.range($0) : nil
    }
    pinned = members.consume(.pinned) { document.bool($0) } ?? false
    deleted = members.consume(.deleted) { document.bool($0) } ?? false
    isEvent = members.consume(.kind) { reader.kind($0) } ?? false
    moderated = members.consume(.moderated) { document.bool($0) } ?? false
    clientID = members.consume(.clientID) { reader.optionalID($0) }
    readBy = members[.readBy].flatMap { readers(document, node: $0) }
    deliveredBy = members[.deliveredBy].flatMap { readers(document, node: $0) }
    listenedBy = members[.listenedBy].flatMap { readers(document, node: $0) }
    rest = members.rest()
  }
}

/// Reads messages out of one frame.
struct MessageReader {
  let document: Document
  let zoneOffsetMinutes: Int

  func item(_ node: Document.Node) -> PageItem {
    let object = document.range(node)
    guard document.kind(node) == .object else { return .bad(object, .notAnObject) }
    guard object.count <= Limits.messageBytesMax else { return .bad(object, .tooLarge) }
    do {
      return .message(try WireMessage(self, node: node, object: object))
    } catch {
      return .bad(object, error.reason)
    }
  }

  /// An id that must be there.
  @inline(never)
  func id(_ node: Document.Node?, of member: BadItem.IDMember) throws(Unusable) -> [UInt8] {
    guard let node, let (text, repaired) = document.unescaped(node), !text.isEmpty
    else { throw Unusable(reason: member.missing) }
    guard text.count <= Limits.idBytesMax else { throw Unusable(reason: .idTooLong(member)) }
    guard !repaired else { throw Unusable(reason: .badId(member)) }
    return text
  }

  /// An id that may be missing or unusable.
  @inline(never)
  func optionalID(_ node: Document.Node?) -> [UInt8]? {
    do {
      return try id(node, of: .message)
    } catch {
      return nil
    }
  }

  /// An id that a member may hold.
  @inline(never)
  func optionalID(_ name: [UInt8], of node: Document.Node) -> [UInt8]? {
    optionalID(document.member(name, of: node))
  }

  /// A time that a member may hold.
  @inline(never)
  func time(_ name: [UInt8], of node: Document.Node) -> Stamp? {
    stamp(document.member(name, of: node))
  }

  @inline(never)
  func stamp(_ node: Document.Node?) -> Stamp? {
    guard let node, let text = document.string(node) else { return nil }
    return Stamp(text, zoneOffsetMinutes: zoneOffsetMinutes)
  }

  /// The ids of an array, and how many of its elements were none.
  func ids(_ array: Document.Node) -> (ids: [[UInt8]], badCount: Int) {
    var ids: [[UInt8]] = []
    var badCount = 0
    var child = document.firstChild(of: array)
    while let element = child {
      if let id = optionalID(element) { ids.append(id) } else { badCount += 1 }
      child = document.next(after: element, in: array)
    }
    return (ids, badCount)
  }

  /// Whether a kind is `event`; nil for a kind that only the host knows.
  fileprivate func kind(_ node: Document.Node) -> Bool? {
    guard let kind = document.string(node) else { return nil }
    return kind == Name.event ? true : kind == Name.plain ? false : nil
  }
}

/// The members of one message: those with a meaning by name, the last of each
/// name, and all others in the order sent.
private struct Members: ~Copyable {
  private let document: Document
  private let node: Document.Node
  /// Place on the tape of each value; 0, the place of the root, where absent.
  /// There is room for more of them than `Member` has.
  private var found = InlineArray<20, Int>(repeating: 0)
  /// Members whose value has no meaning here; they are kept for the host.
  private var unused = InlineArray<20, Bool>(repeating: false)
  private var keepsAny = false

  init(_ document: Document, node: Document.Node) {
    self.document = document
    self.node = node
    var child = document.firstChild(of: node)
    while let key = child, let value = document.next(after: key, in: node) {
      if let member = document.messageMember(key) {
        found[member.rawValue] = value.index
      } else {
        keepsAny = true
      }
      child = document.next(after: value, in: node)
    }
  }

  /// The value of a member, with `null` taken as absent.
  subscript(member: Member) -> Document.Node? {
    let index = found[member.rawValue]
    let value = Document.Node(index: index)
    return index == 0 || document.kind(value) == .null ? nil : value
  }

  /// The payload is the one member that may be `null`.
  var payload: Document.Node? {
    let index = found[Member.payload.rawValue]
    return index == 0 ? nil : Document.Node(index: index)
  }

  /// Keeps a member for the host, whether or not it has a meaning here.
  mutating func keep(_ member: Member) {
    guard found[member.rawValue] != 0 else { return }
    unused[member.rawValue] = true
    keepsAny = true
  }

  /// Reads a member that may be missing. It is kept for the host in any case, which is told of
  /// it nowhere else.
  mutating func read<Value>(_ member: Member, _ read: (Document.Node) -> Value?) -> Value? {
    guard let value = self[member] else { return nil }
    keep(member)
    return read(value)
  }

  /// Reads a member that may be missing, and keeps for the host what `read` cannot.
  mutating func consume<Value>(_ member: Member, _ read: (Document.Node) -> Value?) -> Value? {
    guard let value = self[member] else { return nil }
    let result = read(value)
    if result == nil { keep(member) }
    return result
  }

  /// The object of all members without a meaning here.
  func rest() -> [UInt8] {
    guard keepsAny else { return [] }
    var rest: [UInt8] = []
    var child = document.firstChild(of: node)
    while let key = child, let value = document.next(after: key, in: node) {
      if isKept(key, value: value) {
        rest.append(rest.isEmpty ? ASCII.openBrace : ASCII.comma)
        rest += document.bytes[document.range(key).lowerBound..<document.range(value).upperBound]
      }
      child = document.next(after: value, in: node)
    }
    rest.append(ASCII.closeBrace)
    return rest
  }

  private func isKept(_ key: Document.Node, value: Document.Node) -> Bool {
    guard let member = document.messageMember(key) else { return true }
    return unused[member.rawValue] && found[member.rawValue] == value.index
  }
}

extension Document {
  /// The member of a message that a key names, however it is escaped.
  fileprivate func messageMember(_ key: Node) -> Member? {
    let range = range(key)
    let inner = range.lowerBound + 1..<range.upperBound - 1
    guard isEscaped(key) else { return Member(bytes.span, key: inner) }
    let name = unescape(bytes[inner]).text
    return Member(name.span, key: name.indices)
  }
}
