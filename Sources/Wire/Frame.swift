/// One frame from the server, read as far as its outer shape goes.
///
/// A frame that is no JSON object is refused whole; a frame of a kind that this
/// version does not know is `unknown` and harmless. `null` counts as absent
/// everywhere but in a payload.
package import Base

package struct Frame: Sendable {
  package let bytes: [UInt8]
  /// The account that the frame names, unescaped.
  package let account: [UInt8]?
  /// What it names as its account is no string: it is for nobody.
  package let isForNobody: Bool
  package let body: Body
  /// The type of one that is unknown because the protocol has no such type, empty where the frame
  /// names none.
  package let foreignType: [UInt8]?
}

package enum Body: Sendable {
  /// An answer, bare or in an envelope of type `reply`.
  case response(Response)
  /// What needs no acknowledgement.
  case push(Push)
  /// The same of a server that keeps a log.
  case entries(EntryPush)
  /// What is to be replied to, whatever it holds.
  case update(Update)
  /// An unknown type, a push of the wrong shape, or an update without a usable `ref`: why.
  case unknown(StaticText)
}

extension Frame {
  /// Reads a frame. Times without a zone are taken to be in the given one.
  ///
  /// - Throws: `tooLarge`, `notUTF8`, `syntax`, `tooDeep` or `notAFrame`.
  package init(_ bytes: [UInt8], zoneOffsetMinutes: Int) throws(WireFailure) {
    let document = try Document(bytes)
    guard document.kind(document.root) == .object else { throw .notAFrame }
    let messages = MessageReader(document: document, zoneOffsetMinutes: zoneOffsetMinutes)
    self.bytes = bytes
    let named = document.present(Name.account, of: document.root)
    account = named.flatMap { document.string($0) }
    isForNobody = named != nil && account == nil
    do {
      body = try Frame.body(messages)
    } catch {
      body = .unknown(error.reason)
    }
    let type = document.member(Name.type, of: document.root).flatMap { document.string($0) } ?? []
    if case .unknown = body, !Frame.isOfProtocol(type) {
      foreignType = type
    } else {
      foreignType = nil
    }
  }

  /// Whether frames of a type are understood, where they are well formed.
  private static func isOfProtocol(_ type: [UInt8]) -> Bool {
    type == Name.reply || type == Name.update || type == Name.command || Verb(name: type) != nil
      || PushReader.isPush(type)
  }

  private static func body(_ messages: MessageReader) throws(Unread) -> Body {
    let document = messages.document
    let type = document.member(Name.type, of: document.root)
    let payload = document.present(Name.payload, of: document.root)
    if let payload, let type, document.isString(type, text: Name.reply) {
      guard let answer = AnswerReader(messages, answer: payload).response() else {
        throw Unread("status", "is missing")
      }
      return .response(answer)
    }
    if let type, document.isString(type, text: Name.update) {
      guard let payload else { throw Unread("payload", "is missing") }
      return .update(try UpdateReader(messages, node: payload).update())
    }
    if let answer = AnswerReader(messages, answer: document.root).response() {
      return .response(answer)
    }
    guard let name = type.flatMap({ document.string($0) }) else {
      throw Unread("type", "is missing or not a string")
    }
    if name == EntryReader.push {
      return .entries(try EntryReader(messages: messages).push(document.root))
    }
    return .push(try PushReader(messages).push(name))
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

/// A readable message of a frame, with the conversation that the frame says it belongs to, empty
/// where it says none.
package struct FrameMessage {
  package let conversation: [UInt8]
  package let message: WireMessage
}

/// The readable messages of a frame in order of appearance.
package func frameMessages(_ frame: Frame) -> [FrameMessage] {
  var found: [FrameMessage] = []
  func add(_ message: WireMessage, _ conversation: [UInt8] = []) {
    found.append(FrameMessage(conversation: conversation, message: message))
  }
  func add(_ items: [PageItem]) {
    for case .message(let message) in items { add(message) }
  }
  func add(_ effects: [Effect]) {
    for effect in effects {
      switch effect {
      case .message(let conversation, .message(let message), _):
        add(message, conversation)
      case .entity(_, _, _, _, let known?): add(known)
      default: break
      }
    }
  }
  func add(_ conversation: WireConversation) {
    guard case .message(let message) = conversation.lastMessage else { return }
    add(message, conversation.id)
  }
  switch frame.body {
  case .response(let response):
    switch response.outcome {
    case .page(let page): add(page.items)
    case .changed(let page): add(page.items)
    case .message(let item): add([item])
    case .conversation(let conversation): add(conversation)
    case .conversations(let all, _, _): for conversation in all { add(conversation) }
    case .deleted, .done, .receipts, .counts, .subscribed, .failed, .malformed, .entries: break
    }
  case .push(let push): add(push.effects)
  case .update(let update): add(update.effects)
  case .entries, .unknown: break
  }
  return found
}

/// The entries of a frame of a log, with the conversation that it says they belong to, empty where
/// it says none; nil where it has none.
package func frameEntries(_ frame: Frame) -> (items: [EntryItem], conversation: [UInt8])? {
  switch frame.body {
  case .entries(let push): (push.items, push.conversation)
  case .response(let response):
    if case .entries(let page) = response.outcome { (page.items, []) } else { nil }
  case .push, .update, .unknown: nil
  }
}
