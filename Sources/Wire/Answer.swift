/// What the server answered to a request.
///
/// An answer is of use only whole: data of the wrong shape is `malformed` and
/// counts as a failed try. A bad message inside a good answer is set aside alone.
internal import Base

/// A frame, or the payload of one, with a `status`.
package struct Response: Sendable {
  package let verb: Verb?
  /// The echoed id, unescaped; nil where the server echoes none.
  package let requestID: [UInt8]?
  package let outcome: Outcome
}

package enum Outcome: Sendable {
  case page(Page)
  case deleted(DeletedPage)
  case changed(ChangedPage)
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
  /// Whether older messages lie before the page; told where it is around something.
  package let hasMoreBefore: Bool?
  /// Whether newer messages lie behind it.
  package let hasMoreAfter: Bool?
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

/// What `get_changed_since` answered.
package struct ChangedPage: Sendable {
  /// In the order sent.
  package let items: [PageItem]
  /// What to ask next, from the same server and as it came.
  package let nextSince: [UInt8]?
  package let hasMore: Bool
  package let serverTime: Stamp?
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

/// Reads the answer that an object of a frame may be.
struct AnswerReader {
  private let document: Document
  private let messages: MessageReader
  private let answer: Document.Node

  init(_ messages: MessageReader, _ answer: Document.Node) {
    document = messages.document
    self.messages = messages
    self.answer = answer
  }

  /// Nil where the object has no `status`.
  func response() -> Response? {
    guard let status = document.present(Name.status, of: answer) else { return nil }
    let verb = document.text(Name.type, of: answer).flatMap { Verb(name: $0) }
    let requestID = document.text(Name.requestID, of: answer)
    return Response(verb: verb, requestID: requestID, outcome: outcome(status, verb))
  }

  private func outcome(_ status: Document.Node, _ verb: Verb?) -> Outcome {
    let status = document.string(status)
    if status == Name.error { return failure() }
    guard status == Name.ok, let verb else { return .malformed }
    let data = document.present(Name.data, of: answer)
    let outcome: Outcome? =
      switch verb {
      case .markRead, .markListened: .done
      case .getMessages: data.flatMap { page($0) }
      case .getDeletedSince: data.flatMap { deleted($0) }
      case .getChangedSince: data.flatMap { changed($0) }
      }
    return outcome ?? .malformed
  }

  private func failure() -> Outcome {
    guard let error = document.present(Name.error, of: answer) else {
      return .failed(.other, retryAfterMs: nil)
    }
    let code = document.text(Name.code, of: error)
    let retry = document.number(Name.retryAfterMs, of: error)
    return .failed(ServerError(code: code), retryAfterMs: retry.flatMap { $0 < 0 ? nil : $0 })
  }

  private func page(_ data: Document.Node) -> Outcome? {
    guard let items = items(data) else { return nil }
    let total = document.number(Name.totalCount, of: data)
    return .page(
      Page(
        items: items,
        // No server counts beyond what a double holds exactly.
        totalCount: total.flatMap { $0 >= 0 && $0 < 1 << 53 ? $0 : nil },
        serverTime: messages.time(Name.serverTime, of: data),
        hasMore: document.flag(Name.hasMore, of: data),
        hasMoreBefore: document.flag(Name.hasMoreBefore, of: data),
        hasMoreAfter: document.flag(Name.hasMoreAfter, of: data),
        epoch: messages.optionalID(Name.epoch, of: data)))
  }

  private func changed(_ data: Document.Node) -> Outcome? {
    guard let items = items(data) else { return nil }
    return .changed(
      ChangedPage(
        items: items,
        nextSince: messages.optionalID(Name.nextSince, of: data),
        hasMore: document.flag(Name.hasMore, of: data) ?? false,
        serverTime: messages.time(Name.serverTime, of: data)))
  }

  private func deleted(_ data: Document.Node) -> Outcome? {
    guard let array = document.member(Name.messageIDs, of: data), document.kind(array) == .array
    else { return nil }
    let (ids, badCount) = messages.ids(array)
    return .deleted(
      DeletedPage(
        ids: ids, badCount: badCount,
        serverTime: messages.time(Name.serverTime, of: data),
        hasMore: document.flag(Name.hasMore, of: data) ?? false,
        nextSince: messages.optionalID(Name.nextSince, of: data)))
  }

  /// The messages of an answer; nil where they are no list, or too long a one.
  private func items(_ data: Document.Node) -> [PageItem]? {
    guard let array = document.member(Name.messages, of: data),
      let nodes = document.elements(of: array)
    else { return nil }
    return nodes.map { messages.item($0) }
  }
}

extension Document {
  /// The elements of an array, nil where it is none or longer than a page may be.
  func elements(of array: Node) -> [Node]? {
    guard kind(array) == .array else { return nil }
    let count = count(of: array, upTo: Limits.pageItemsMax)
    guard count <= Limits.pageItemsMax else { return nil }
    var elements: [Node] = []
    elements.reserveCapacity(count)
    var child = firstChild(of: array)
    while let element = child {
      elements.append(element)
      child = next(after: element, in: array)
    }
    return elements
  }
}
