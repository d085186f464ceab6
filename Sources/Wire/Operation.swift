/// What the user asked for, as the host gave it and as the server is told.
///
/// The few members that the outbox works with are read out; all others stay the
/// bytes that the host wrote, so that what a server understands and this version
/// does not goes out unharmed.
internal import Base

package struct OperationRequest: Sendable, Equatable {
  package var verb: Verb
  package var conversation: [UInt8]?
  package var message: [UInt8]?
  package var clientID: [UInt8]?
  /// A JSON value.
  package var payload: [UInt8]?
  /// The ids of a mark; empty for every other verb.
  package var messageIDs: [[UInt8]]
  /// All other members: what stands between the braces of an object.
  package var body: [UInt8]

  package init(
    verb: Verb, conversation: [UInt8]? = nil, message: [UInt8]? = nil, clientID: [UInt8]? = nil,
    payload: [UInt8]? = nil, messageIDs: [[UInt8]] = [], body: [UInt8] = []
  ) {
    self.verb = verb
    self.conversation = conversation
    self.message = message
    self.clientID = clientID
    self.payload = payload
    self.messageIDs = messageIDs
    self.body = body
  }
}

/// Reads a request object that a host gave.
///
/// Strict for what has a meaning here, whichever the verb: a member of the wrong
/// kind is refused, and so is one that stands there twice, since servers differ in
/// which of the two they take. `null` is as if absent, but as a payload.
/// - Throws: as `Document.init`, and `notAFrame`, `unknownVerb`, `ownVerb`, `missingMember`,
///   `badMember` or `repeatedMember`;
///   `tooLarge` also for what no message may hold.
package func parseOperation(_ json: [UInt8]) throws(WireFailure) -> OperationRequest {
  let document = try Document(json)
  guard document.kind(document.root) == .object else { throw .notAFrame }
  guard let verb = document.text(Name.type, of: document.root).flatMap({ Verb(name: $0) })
  else { throw .unknownVerb }
  guard let needs = verb.needs else { throw .ownVerb }
  var reader = OperationReader(document, verb: verb)
  try reader.read()
  for parameter in needs where !reader.has(parameter) { throw .missingMember(parameter) }
  let size = (reader.request.payload?.count ?? 0) + reader.request.body.count
  guard size <= Limits.messageBytesMax else { throw .tooLarge }
  return reader.request
}

extension OperationRequest {
  /// `send_message` of parts that a host gave one by one: what is read off a request object of
  /// them. Each is looked at where it lies, so that nothing is printed to be parsed again.
  ///
  /// - Throws: as `parseOperation`.
  package static func send(
    conversation: [UInt8], clientID: [UInt8], replyTo: [UInt8], payload: [UInt8],
    attachment: [UInt8], metadata: [UInt8]
  ) throws(WireFailure) -> OperationRequest {
    func value(_ json: [UInt8]) throws(WireFailure) -> [UInt8]? {
      if json.isEmpty { return nil }
      let document = try Document(json, inside: 1)
      return Array(document.bytes[document.range(document.root)])
    }
    func id(_ text: [UInt8], _ parameter: Parameter) throws(WireFailure) -> [UInt8]? {
      if text.isEmpty { return nil }
      let id = isUTF8(text) ? text : Array(String(decoding: text, as: UTF8.self).utf8)
      guard id.count <= Limits.idBytesMax else { throw .badMember(parameter) }
      return id
    }
    let (payload, attachment) = (try value(payload), try value(attachment))
    let metadata = try value(metadata)
    var request = OperationRequest(verb: .sendMessage)
    request.conversation = try id(conversation, .conversationID)
    request.clientID = try id(clientID, .clientID)
    var members = JSONObject()
    if let replyTo = try id(replyTo, .replyTo) { members.add("reply_to", replyTo) }
    guard let payload else { throw .missingMember(.payload) }
    if let attachment { members.add("attachment", json: attachment) }
    if let metadata { members.add("metadata", json: metadata) }
    request.payload = payload
    request.body = members.members
    guard payload.count + request.body.count <= Limits.messageBytesMax else { throw .tooLarge }
    return request
  }
}

/// Reads the members of one request.
private struct OperationReader {
  private let document: Document
  private let messages: MessageReader
  var request: OperationRequest
  /// A bit for each member that stands there with a value.
  private var seen: UInt32 = 0
  private var hasType = false

  init(_ document: Document, verb: Verb) {
    self.document = document
    messages = MessageReader(document: document, zoneOffsetMinutes: 0)
    request = OperationRequest(verb: verb)
  }

  func has(_ parameter: Parameter) -> Bool {
    seen & parameter.bit != 0
  }

  mutating func read() throws(WireFailure) {
    var child = document.firstChild(of: document.root)
    while let key = child, let value = document.next(after: key, in: document.root) {
      try member(key, value)
      child = document.next(after: value, in: document.root)
    }
  }

  private mutating func member(
    _ key: Document.Node, _ value: Document.Node
  ) throws(WireFailure) {
    let name = document.string(key) ?? []
    // The type has been read, and ids of requests are not the host's to give.
    if name == Name.requestID { return }
    if name == Name.type {
      if hasType { throw .unknownVerb }
      hasType = true
      return
    }
    guard let parameter = Parameter(name: name) else { return keep(key, value) }
    let isNull = document.kind(value) == .null && parameter != .payload
    if isNull { return }
    if has(parameter) { throw .repeatedMember(parameter) }
    guard accept(parameter, value: value) else { throw .badMember(parameter) }
    seen |= parameter.bit
    switch parameter {
    case .conversationID, .messageID, .clientID, .payload: break
    case .messageIDs where !request.messageIDs.isEmpty: break
    default: keep(key, value)
    }
  }

  private mutating func keep(_ key: Document.Node, _ value: Document.Node) {
    if !request.body.isEmpty { request.body.append(ASCII.comma) }
    request.body +=
      document.bytes[document.range(key).lowerBound..<document.range(value).upperBound]
  }

  /// Whether a member has a value of its kind, which is taken where it is used.
  private mutating func accept(_ parameter: Parameter, value: Document.Node) -> Bool {
    switch parameter {
    case .conversationID:
      request.conversation = messages.optionalID(value)
      return request.conversation != nil
    case .messageID:
      request.message = messages.optionalID(value)
      return request.message != nil
    case .clientID:
      request.clientID = messages.optionalID(value)
      return request.clientID != nil
    case .replyTo, .reaction, .channel:
      return messages.optionalID(value) != nil
    case .title, .at:
      return document.kind(value) == .string
    case .messageIDs, .userIDs, .participantIDs, .adminIDs:
      return takeIDs(parameter, value: value)
    case .payload:
      request.payload = Array(document.bytes[document.range(value)])
      return true
    case .event:
      return document.string(value).map { TypingEvent(name: $0) != .other } ?? false
    case .limit:
      return document.integer(value).map { $0 > 0 && $0 <= Limits.pageLimitMax } ?? false
    case .offset:
      return document.integer(value).map { $0 >= 0 && $0 < 1 << 53 } ?? false
    case .includeLastMessage, .distinct, .direct:
      return document.kind(value) == .bool
    }
  }

  /// Ids only, and at least one where the verb is about them.
  private mutating func takeIDs(_ parameter: Parameter, value: Document.Node) -> Bool {
    guard document.kind(value) == .array,
      document.count(of: value, upTo: Limits.markReadMax) <= Limits.markReadMax
    else { return false }
    let (ids, badCount) = messages.ids(value)
    guard badCount == 0 else { return false }
    guard parameter == .messageIDs || parameter == .userIDs else { return true }
    switch request.verb {
    case .markRead, .markDelivered, .markListened:
      if parameter == .messageIDs { request.messageIDs = ids }
    default: break
    }
    return !ids.isEmpty
  }
}

// MARK: - Bodies

/// The value of a member of a stored body, as JSON; nil where absent or `null`.
package func operationValue(_ name: StaticString, in body: [UInt8]) -> [UInt8]? {
  guard let document = opened(body),
    let node = document.present(Name.bytes(name), of: document.root)
  else { return nil }
  return Array(document.bytes[document.range(node)])
}

/// The text of a member of a stored body, unescaped; nil where it is no string.
package func operationText(_ name: StaticString, in body: [UInt8]) -> [UInt8]? {
  guard let document = opened(body) else { return nil }
  return document.text(Name.bytes(name), of: document.root)
}

/// Whether a member of a stored body is `true`.
package func operationFlag(_ name: StaticString, in body: [UInt8]) -> Bool {
  guard let document = opened(body) else { return false }
  return document.flag(Name.bytes(name), of: document.root) == true
}

/// A stored body with a member put in the place of the ones of that name; nil
/// takes them out. Of the others nothing changes.
package func operationBody(
  _ body: [UInt8], setting name: StaticString, to json: [UInt8]?
) -> [UInt8] {
  guard let document = opened(body) else { return body }
  let wanted = Name.bytes(name)
  var out = JSONObject()
  var child = document.firstChild(of: document.root)
  while let key = child, let value = document.next(after: key, in: document.root) {
    if document.string(key) != wanted {
      out.add(
        members: document.bytes[
          document.range(key).lowerBound..<document.range(value).upperBound])
    }
    child = document.next(after: value, in: document.root)
  }
  if let json { out.add(wanted, json: json) }
  return out.members
}

/// A list of users of a stored body, with the `user_ids` of an operation added or taken out.
/// Elements are ids or objects with a `user_id`. Nil where one of the two has no list.
package func operationUsers(
  _ name: StaticString, in body: [UInt8], changedBy operation: [UInt8], isAdded: Bool
) -> [UInt8]? {
  guard let document = opened(body), let given = opened(operation),
    let list = document.list(Name.bytes(name)), let changed = given.list(Array("user_ids".utf8))
  else { return nil }
  let users = changed.compactMap(given.user)
  let named = Set(users)
  var result = JSONList()
  var known = Set<[UInt8]>()
  for node in list {
    let user = document.user(node)
    if !isAdded, let user, named.contains(user) { continue }
    if let user { known.insert(user) }
    result.add(json: document.bytes[document.range(node)])
  }
  if isAdded { for user in users where known.insert(user).inserted { result.add(user) } }
  return result.closed()
}

extension Document {
  fileprivate func list(_ name: [UInt8]) -> [Node]? {
    guard let list = present(name, of: root), kind(list) == .array else { return nil }
    var nodes: [Node] = []
    var child = firstChild(of: list)
    while let node = child {
      nodes.append(node)
      child = next(after: node, in: list)
    }
    return nodes
  }

  fileprivate func user(_ node: Node) -> [UInt8]? {
    string(node) ?? (kind(node) == .object ? text(Name.userID, of: node) : nil)
  }
}

/// A stored body as the object it was cut from.
private func opened(_ body: [UInt8]) -> Document? {
  do {
    return try Document([ASCII.openBrace] + body + [ASCII.closeBrace])
  } catch {
    return nil
  }
}
