/// What is asked of the server.
///
/// A request is one line of JSON with its members in a fixed order, so that the
/// same request is the same bytes.
internal import Base

package enum Request: Sendable {
  /// Which messages a page is to hold.
  package enum Place: Sendable {
    /// So many from the newest end, of all or of those after a time.
    case offset(Int, after: [UInt8]?)
    /// Those before a time and, in its timestamp group, before an id; less so many from the
    /// newest end of them.
    case before(stamp: [UInt8], id: [UInt8]?, offset: Int)
    /// Those around a message, itself included.
    case aroundID([UInt8])
    /// Those around a time.
    case aroundTime([UInt8])
  }

  /// The one place in a log that a page is to be at.
  package enum EntryPlace: Equatable, Sendable {
    case newest
    /// Tokens of the server's, as they came.
    case before([UInt8])
    case after([UInt8])
    case around([UInt8])
  }

  case getMessages(conversation: [UInt8], limit: Int, place: Place)
  case getEntries(conversation: [UInt8], limit: Int, place: EntryPlace)
  case getDeletedSince(conversation: [UInt8], since: [UInt8])
  case getChangedSince(conversation: [UInt8], since: [UInt8])
  case markRead(conversation: [UInt8], ids: [[UInt8]])
  case markDelivered(conversation: [UInt8], ids: [[UInt8]])
  case markListened(conversation: [UInt8], ids: [[UInt8]])
  case operation(OperationRequest)

  package var verb: Verb {
    switch self {
    case .getMessages: .getMessages
    case .getEntries: .getEntries
    case .getDeletedSince: .getDeletedSince
    case .getChangedSince: .getChangedSince
    case .markRead: .markRead
    case .markDelivered: .markDelivered
    case .markListened: .markListened
    case .operation(let operation): operation.verb
    }
  }

  /// The frame to send, under the id that the answer is to echo: bare, or as a
  /// command of an account.
  package func encoded(id: [UInt8], account: [UInt8]? = nil) -> [UInt8] {
    var line = JSONObject()
    line.add("type", Name.bytes(verb.name))
    line.add("request_id", id)
    switch self {
    case .getMessages(let conversation, let limit, let place):
      line.add("conversation_id", conversation)
      line.add("limit", limit)
      line.add(place)
    case .getEntries(let conversation, let limit, let place):
      line.add("conversation_id", conversation)
      line.add("limit", limit)
      switch place {
      case .newest: break
      case .before(let token): line.add("before", token)
      case .after(let token): line.add("after", token)
      case .around(let id): line.add("around_id", id)
      }
    case .getDeletedSince(let conversation, let since),
      .getChangedSince(let conversation, let since):
      line.add("conversation_id", conversation)
      line.add("since", since)
    case .markRead(let conversation, let ids), .markDelivered(let conversation, let ids),
      .markListened(let conversation, let ids):
      line.add("conversation_id", conversation)
      line.add("message_ids", ids)
    case .operation(let operation):
      line.add(operation)
    }
    let request = line.closed()
    guard let account else { return request }
    return enveloped("command", payload: request, account: account)
  }
}

/// The frame that says that an update has been applied and is on disk.
package func encodedReply(ref: [UInt8], account: [UInt8]?) -> [UInt8] {
  var line = JSONObject()
  line.add("ref", ref)
  return enveloped("reply", payload: line.closed(), account: account)
}

private func enveloped(
  _ type: StaticString, payload: [UInt8], account: [UInt8]?
) -> [UInt8] {
  var line = JSONObject()
  if let account { line.add("account", account) }
  line.add("type", Name.bytes(type))
  line.add("payload", json: payload)
  return line.closed()
}

extension JSONObject {
  fileprivate mutating func add(_ place: Request.Place) {
    switch place {
    case .offset(let offset, let after):
      add("offset", offset)
      if let after { add("after_ts", after) }
    case .before(let stamp, let id, let offset):
      add("offset", offset)
      add("before_ts", stamp)
      if let id { add("before_id", id) }
    case .aroundID(let id):
      add("around_id", id)
    case .aroundTime(let stamp):
      add("around_ts", stamp)
    }
  }

  /// What the host gave follows what is known, as it came.
  fileprivate mutating func add(_ operation: OperationRequest) {
    if let conversation = operation.conversation { add("conversation_id", conversation) }
    if let message = operation.message { add("message_id", message) }
    if let clientID = operation.clientID { add("client_id", clientID) }
    if !operation.messageIDs.isEmpty { add("message_ids", operation.messageIDs) }
    if let payload = operation.payload { add("payload", json: payload) }
    add(members: operation.body)
  }
}
