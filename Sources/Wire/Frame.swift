/// One frame from the server, read as far as its outer shape goes.
///
/// A frame that is no JSON object is refused whole; a frame of a kind that this
/// version does not know is `unknown` and harmless. `null` counts as absent
/// everywhere but in a payload.
internal import Base

package struct Frame: Sendable {
  package let bytes: [UInt8]
  /// The account that the frame names, unescaped.
  package let account: [UInt8]?
  package let body: Body
}

package enum Body: Sendable {
  case response(Response)
  case push(Push)
  /// An unknown type, or a push of the wrong shape.
  case unknown
}

/// A frame with a `status`.
package struct Response: Sendable {
  package let verb: Verb?
  /// The echoed id, unescaped; nil where the server echoes none.
  package let requestID: [UInt8]?
  package let outcome: Outcome
}

package enum Outcome: Sendable {
  case page(Page)
  case deleted(DeletedPage)
  case done
  case failed(ServerError, retryAfterMs: Int64?)
  /// A status that is neither `ok` nor `error`, or data of the wrong shape.
  case malformed
}

/// What `get_messages` answered.
package struct Page: Sendable {
  /// In the order sent.
  package let items: [PageItem]
  package let totalCount: Int64?
  package let serverTime: Stamp?
  package let hasMore: Bool?
  package let epoch: [UInt8]?
}

/// What `get_deleted_since` answered.
package struct DeletedPage: Sendable {
  package let ids: [[UInt8]]
  /// Elements that were no ids.
  package let badCount: Int
  package let serverTime: Stamp?
  package let hasMore: Bool
  package let nextSince: [UInt8]?
}

/// Why a server refused.
package enum ServerError: Sendable, Equatable {
  case notFound, forbidden, invalid, tooLarge, conflict, exists, unknownCursor, rateLimited
  case unavailable, unsupported, other

  init(code: [UInt8]?) {
    self =
      switch code.map({ String(decoding: $0, as: UTF8.self) }) {
      case "not_found": .notFound
      case "forbidden": .forbidden
      case "invalid": .invalid
      case "too_large": .tooLarge
      case "conflict": .conflict
      case "exists": .exists
      case "unknown_cursor": .unknownCursor
      case "rate_limited": .rateLimited
      case "unavailable": .unavailable
      case "unsupported": .unsupported
      default: .other
      }
  }
}

/// What the server tells unasked and without wanting an answer.
package enum Push: Sendable {
  case messageNew(conversation: [UInt8], item: PageItem)
  case messageEdited(conversation: [UInt8], item: PageItem)
  case messageDeleted(conversation: [UInt8], ids: [[UInt8]])
  case messagesRead(conversation: [UInt8], user: [UInt8], ids: [[UInt8]])
}

extension Frame {
  /// Reads a frame. Times without a zone are taken to be in the given one.
  ///
  /// - Throws: `tooLarge`, `notUTF8`, `syntax`, `tooDeep` or `notAFrame`.
  package init(_ bytes: [UInt8], zoneOffsetMinutes: Int) throws(WireFailure) {
    let document = try Document(bytes)
    guard document.kind(document.root) == .object else { throw .notAFrame }
    let reader = FrameReader(document, zoneOffsetMinutes: zoneOffsetMinutes)
    self.bytes = bytes
    account = document.member(Name.account, of: document.root).flatMap { document.string($0) }
    body = reader.body()
  }
}

/// Where in a frame the account is named: what stands between the quotes, raw.
///
/// Nil where none is named.
/// - Throws: as `Frame.init`.
package func frameAccount(of bytes: [UInt8]) throws(WireFailure) -> Range<Int>? {
  let document = try Document(bytes)
  guard document.kind(document.root) == .object else { throw .notAFrame }
  guard let node = document.member(Name.account, of: document.root),
    document.kind(node) == .string
  else { return nil }
  let range = document.range(node)
  let inner = range.lowerBound + 1..<range.upperBound - 1
  return inner.isEmpty ? nil : inner
}

private struct FrameReader {
  private let document: Document
  private let messages: MessageReader

  init(_ document: Document, zoneOffsetMinutes: Int) {
    self.document = document
    messages = MessageReader(document: document, zoneOffsetMinutes: zoneOffsetMinutes)
  }

  func body() -> Body {
    let type = member(Name.type).flatMap { document.string($0) }
    if let status = member(Name.status) {
      let verb = type.flatMap { Verb(name: $0) }
      let requestID = member(Name.requestID).flatMap { document.string($0) }
      return .response(
        Response(verb: verb, requestID: requestID, outcome: outcome(status, verb)))
    }
    guard let type, let push = push(String(decoding: type, as: UTF8.self)) else { return .unknown }
    return .push(push)
  }

  /// A member of the frame, `null` taken as absent.
  private func member(_ name: [UInt8]) -> Document.Node? {
    document.present(name, of: document.root)
  }

  private func outcome(_ status: Document.Node, _ verb: Verb?) -> Outcome {
    let status = document.string(status)
    if status == Name.error { return failure() }
    guard status == Name.ok, let verb else { return .malformed }
    if verb == .markRead { return .done }
    guard let data = member(Name.data) else { return .malformed }
    let answer = verb == .getMessages ? page(data) : deleted(data)
    return answer ?? .malformed
  }

  private func failure() -> Outcome {
    guard let error = member(Name.error) else { return .failed(.other, retryAfterMs: nil) }
    let code = document.member(Name.code, of: error).flatMap { document.string($0) }
    let retry = document.member(Name.retryAfterMs, of: error).flatMap { document.integer($0) }
    return .failed(ServerError(code: code), retryAfterMs: retry.flatMap { $0 < 0 ? nil : $0 })
  }

  private func page(_ data: Document.Node) -> Outcome? {
    guard let array = document.member(Name.messages, of: data), document.kind(array) == .array
    else { return nil }
    let count = document.count(of: array, upTo: Limits.pageItemsMax)
    guard count <= Limits.pageItemsMax else { return nil }
    var items: [PageItem] = []
    items.reserveCapacity(count)
    var child = document.firstChild(of: array)
    while let element = child {
      items.append(messages.item(element))
      child = document.next(after: element, in: array)
    }
    let total = document.member(Name.totalCount, of: data).flatMap { document.integer($0) }
    return .page(
      Page(
        items: items,
        // No server counts beyond what a double holds exactly.
        totalCount: total.flatMap { $0 >= 0 && $0 < 1 << 53 ? $0 : nil },
        serverTime: messages.stamp(document.member(Name.serverTime, of: data)),
        hasMore: document.member(Name.hasMore, of: data).flatMap { document.bool($0) },
        epoch: messages.optionalID(document.member(Name.epoch, of: data))))
  }

  private func deleted(_ data: Document.Node) -> Outcome? {
    guard let array = document.member(Name.messageIDs, of: data), document.kind(array) == .array
    else { return nil }
    let (ids, badCount) = messages.ids(array)
    return .deleted(
      DeletedPage(
        ids: ids, badCount: badCount,
        serverTime: messages.stamp(document.member(Name.serverTime, of: data)),
        hasMore: document.member(Name.hasMore, of: data).flatMap { document.bool($0) } ?? false,
        nextSince: messages.optionalID(document.member(Name.nextSince, of: data))))
  }

  private func push(_ type: String) -> Push? {
    switch type {
    case "message_new":
      return message().map { .messageNew(conversation: $0, item: $1) }
    case "message_edited":
      return message().map { .messageEdited(conversation: $0, item: $1) }
    case "message_deleted":
      guard let conversation = conversation(), let ids = ids() else { return nil }
      return .messageDeleted(conversation: conversation, ids: ids)
    case "messages_read":
      guard let conversation = conversation(), let ids = ids(),
        let user = messages.optionalID(member(Name.userID))
      else { return nil }
      return .messagesRead(conversation: conversation, user: user, ids: ids)
    default:
      return nil
    }
  }

  private func conversation() -> [UInt8]? {
    messages.optionalID(member(Name.conversationID))
  }

  private func ids() -> [[UInt8]]? {
    guard let array = member(Name.messageIDs), document.kind(array) == .array else { return nil }
    return messages.ids(array).ids
  }

  /// The message of a push and its conversation, which either may name.
  private func message() -> (conversation: [UInt8], item: PageItem)? {
    guard let node = member(Name.message) else { return nil }
    let item = messages.item(node)
    var named: [UInt8]?
    if case .message(let message) = item { named = message.conversation }
    // A frame that names its conversation wrongly is not to be guessed at.
    guard let stated = member(Name.conversationID) else { return named.map { ($0, item) } }
    guard let conversation = messages.optionalID(stated) else { return nil }
    guard let named, named != conversation else { return (conversation, item) }
    return (conversation, .bad(document.range(node), .wrongConversation))
  }
}
