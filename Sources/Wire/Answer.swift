/// What the server answered to a request.
///
/// An answer is of use only whole: data of the wrong shape is `malformed` and
/// counts as a failed try. A bad message inside a good answer is set aside alone.
package import Base

/// A frame, or the payload of one, with a `status`.
package struct Response: Sendable {
  package let verb: Verb?
  /// The echoed id, unescaped; nil where the server echoes none.
  package let requestID: [UInt8]?
  package let outcome: Outcome
  /// The JSON value of `data`, of an answer that has any.
  package let data: Range<Int>?
  /// Why the server refused, in its own words.
  package let refusal: Refusal?
}

/// The `error` of an answer, as the server wrote it.
package struct Refusal: Sendable, Equatable {
  /// Empty where there is none that can be one.
  package let code: [UInt8]
  /// The beginning of it, where it is long.
  package let text: [UInt8]

  package init(code: [UInt8], text: [UInt8]) {
    self.code = code
    self.text = text
  }
}

package enum Outcome: Sendable {
  case page(Page)
  case deleted(DeletedPage)
  case changed(ChangedPage)
  case entries(EntryPage)
  /// What was asked for is done; what else there is to know is in `data`.
  case done
  /// The message as it now is, of a send, an edit or a reaction.
  case message(PageItem)
  case conversation(WireConversation)
  /// In the order sent; of those that cannot be read only where they stand.
  case conversations([WireConversation], bad: [Range<Int>], totalCount: Int64?)
  case receipts([WireReceipt])
  case counts(messages: Int64, conversations: Int64?)
  case subscribed(epoch: [UInt8]?)
  /// `exists` with the data of the first answer is that answer, no failure.
  case failed(ServerError, retryAfterMs: Int64?)
  /// A status that is neither `ok` nor `error`, or data of the wrong shape: why.
  case malformed(StaticText)
}

/// What `get_messages` answered.
package struct Page: Sendable {
  /// In the order sent.
  package let items: [PageItem]
  package let totalCount: Int64?
  package var serverTime: Stamp?
  package let hasMore: Bool?
  /// Whether older messages lie before the page; told where it is around something.
  package let hasMoreBefore: Bool?
  /// Whether newer messages lie behind it.
  package let hasMoreAfter: Bool?
  package let epoch: [UInt8]?
  /// Cursors of the server's own, made before the page was read: from where deletions and changes
  /// may be asked for.
  package let deletedSince: [UInt8]?
  package let changedSince: [UInt8]?
}

/// What `get_deleted_since` answered.
package struct DeletedPage: Sendable {
  package let ids: [[UInt8]]
  /// Elements that were no ids.
  package let badCount: Int
  package var serverTime: Stamp?
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
  package var serverTime: Stamp?
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

  init(_ messages: MessageReader, answer: Document.Node) {
    document = messages.document
    self.messages = messages
    self.answer = answer
  }

  /// Nil where the object has no `status`.
  func response() -> Response? {
    guard let status = document.present(Name.status, of: answer) else { return nil }
    let verb = document.text(Name.type, of: answer).flatMap { Verb(name: $0) }
    let requestID = document.text(Name.requestID, of: answer)
    let error = document.present(Name.error, of: answer)
    let data =
      document.present(Name.data, of: answer)
      ?? error.flatMap { document.present(Name.data, of: $0) }
    let isError = document.string(status) == Name.error
    let outcome =
      isError ? failure(error, verb: verb, data: data) : success(status, verb: verb, data: data)
    return Response(
      verb: verb, requestID: requestID, outcome: outcome, data: data.map { document.range($0) },
      refusal: isError ? refusal(error) : nil)
  }

  private func success(
    _ status: Document.Node, verb: Verb?, data: Document.Node?
  ) -> Outcome {
    guard document.string(status) == Name.ok else {
      return .malformed("status is neither ok nor error")
    }
    guard let verb else { return .malformed("type is missing or not a verb of the protocol") }
    do {
      return try told(verb, data: data)
    } catch {
      return .malformed(error.reason)
    }
  }

  /// The data of an answer that has to have some.
  private func needed(_ data: Document.Node?) throws(Unread) -> Document.Node {
    guard let data else { throw Unread("data", "is missing") }
    return data
  }

  /// What data that may be missing or odd says.
  private func may(
    _ data: Document.Node?, _ read: (Document.Node) throws(Unread) -> Outcome
  ) -> Outcome {
    guard let data else { return .done }
    do throws(Unread) {
      return try read(data)
    } catch {
      return .done
    }
  }

  /// What the data of a verb's answer says.
  private func told(_ verb: Verb, data: Document.Node?) throws(Unread) -> Outcome {
    switch verb {
    case .markRead, .markDelivered, .markListened, .deleteMessage, .pinMessage, .unpinMessage,
      .deleteConversation, .leaveConversation, .typing, .unsubscribe, .deleteUserChannels:
      .done
    case .getMessages: try page(needed(data))
    case .getDeletedSince: try deleted(needed(data))
    case .getChangedSince: try changed(needed(data))
    case .getEntries: try entries(needed(data))
    case .sendMessage: try message(needed(data))
    case .editMessage, .reactMessage, .unreactMessage: may(data, message)
    case .createConversation, .getConversation: try conversation(needed(data))
    case .markLastRead, .saveConversation, .addParticipants, .removeParticipants, .addAdmins,
      .removeAdmins:
      may(data, conversation)
    case .getConversations: try conversations(needed(data))
    case .getReceipts: try receipts(needed(data))
    case .getUnreadCount, .getTotalUnreadCount: try counts(needed(data))
    case .subscribe: .subscribed(epoch: data.flatMap { messages.optionalID(Name.epoch, of: $0) })
    case .getUserChannel:
      try channel(needed(data))
    }
  }

  /// A refusal, but for what had arrived before: its data is the first answer's.
  private func failure(
    _ error: Document.Node?, verb: Verb?, data: Document.Node?
  ) -> Outcome {
    let code = error.flatMap { document.text(Name.code, of: $0) }
    let reason = ServerError(code: code)
    if reason == .exists, let verb, verb.needs != nil, let data {
      do {
        return try told(verb, data: data)
      } catch {
        // It says nothing but that it exists.
      }
    }
    let retry = error.flatMap { document.number(Name.retryAfterMs, of: $0) }
    return .failed(
      reason,
      retryAfterMs: retry.flatMap { $0 < 0 ? nil : min($0, Limits.retryAfterMsMax) })
  }

  private func refusal(_ error: Document.Node?) -> Refusal {
    var text = error.flatMap { document.text(Name.message, of: $0) } ?? []
    if text.count > Limits.refusalBytesMax {
      // Cut where a character begins.
      var end = Limits.refusalBytesMax
      while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
      text = Array(text[..<end])
    }
    return Refusal(
      code: error.flatMap { messages.optionalID(Name.code, of: $0) } ?? [], text: text)
  }

  /// The elements of a list that must be there.
  private func list(
    _ name: [UInt8], _ member: StaticString, of data: Document.Node
  ) throws(Unread) -> [Document.Node] {
    guard let array = document.member(name, of: data), document.kind(array) == .array else {
      throw Unread(member, "is missing or not a list")
    }
    guard let nodes = document.elements(of: array) else {
      throw Unread(member, "has over 10,000 entries")
    }
    return nodes
  }

  private func channel(_ data: Document.Node) throws(Unread) -> Outcome {
    guard document.present(Name.channel, of: data) != nil else {
      throw Unread("channel", "is missing")
    }
    return .done
  }

  private func message(_ data: Document.Node) throws(Unread) -> Outcome {
    guard let node = document.present(Name.message, of: data) else {
      throw Unread("message", "is missing")
    }
    return .message(messages.item(node))
  }

  private func conversation(_ data: Document.Node) throws(Unread) -> Outcome {
    guard let node = document.present(Name.conversation, of: data) else {
      throw Unread("conversation", "is missing")
    }
    do {
      let id = try messages.id(document.member(Name.conversationID, of: node), of: .conversation)
      return .conversation(messages.conversation(node, id: id))
    } catch {
      throw Unread(error.reason.text)
    }
  }

  private func conversations(_ data: Document.Node) throws(Unread) -> Outcome {
    let nodes = try list(Name.conversations, "conversations", of: data)
    var all: [WireConversation] = []
    var bad: [Range<Int>] = []
    for node in nodes {
      if let one = messages.conversation(node) {
        all.append(one)
      } else {
        bad.append(document.range(node))
      }
    }
    return .conversations(all, bad: bad, totalCount: count(Name.totalCount, data))
  }

  private func receipts(_ data: Document.Node) throws(Unread) -> Outcome {
    let nodes = try list(Name.receipts, "receipts", of: data)
    return .receipts(nodes.compactMap { messages.receipt($0) })
  }

  private func counts(_ data: Document.Node) throws(Unread) -> Outcome {
    guard let messages = count(Name.messageCount, data) else {
      throw Unread("message_count", "is missing or not a count")
    }
    return .counts(messages: messages, conversations: count(Name.conversationCount, data))
  }

  private func count(_ name: [UInt8], _ data: Document.Node) -> Int64? {
    document.count(name, of: data)
  }

  private func page(_ data: Document.Node) throws(Unread) -> Outcome {
    let items = try items(data)
    return .page(
      Page(
        items: items,
        totalCount: count(Name.totalCount, data),
        serverTime: messages.time(Name.serverTime, of: data),
        hasMore: document.flag(Name.hasMore, of: data),
        hasMoreBefore: document.flag(Name.hasMoreBefore, of: data),
        hasMoreAfter: document.flag(Name.hasMoreAfter, of: data),
        epoch: messages.optionalID(Name.epoch, of: data),
        deletedSince: messages.optionalID(Name.deletedSince, of: data),
        changedSince: messages.optionalID(Name.changedSince, of: data)))
  }

  private func changed(_ data: Document.Node) throws(Unread) -> Outcome {
    let items = try items(data)
    return .changed(
      ChangedPage(
        items: items,
        nextSince: messages.optionalID(Name.nextSince, of: data),
        hasMore: document.flag(Name.hasMore, of: data) ?? false,
        serverTime: messages.time(Name.serverTime, of: data)))
  }

  private func entries(_ data: Document.Node) throws(Unread) -> Outcome {
    .entries(try EntryReader(messages: messages).page(data))
  }

  private func deleted(_ data: Document.Node) throws(Unread) -> Outcome {
    guard let array = document.member(Name.messageIDs, of: data), document.kind(array) == .array
    else { throw Unread("message_ids", "is missing or not a list") }
    if document.isTooLong(array) { throw Unread("message_ids", "has over 10,000 entries") }
    let (ids, badCount) = messages.ids(array)
    return .deleted(
      DeletedPage(
        ids: ids, badCount: badCount,
        serverTime: messages.time(Name.serverTime, of: data),
        hasMore: document.flag(Name.hasMore, of: data) ?? false,
        nextSince: messages.optionalID(Name.nextSince, of: data)))
  }

  /// The messages of an answer.
  private func items(_ data: Document.Node) throws(Unread) -> [PageItem] {
    try list(Name.messages, "messages", of: data).map { messages.item($0) }
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
