/// What is asked of the server.
///
/// A request is one line of JSON with its members in a fixed order, so that the
/// same request is the same bytes.

package enum Verb: Sendable, Equatable, CaseIterable {
  case getMessages, getDeletedSince, markRead

  /// The name on the wire.
  package var name: StaticString {
    switch self {
    case .getMessages: "get_messages"
    case .getDeletedSince: "get_deleted_since"
    case .markRead: "mark_read"
    }
  }

  init?(name: [UInt8]) {
    for verb in Verb.allCases where Name.bytes(verb.name) == name {
      self = verb
      return
    }
    return nil
  }
}

package enum Request: Sendable, Equatable {
  case getMessages(conversation: [UInt8], limit: Int, offset: Int, after: [UInt8]?)
  case getDeletedSince(conversation: [UInt8], since: [UInt8])
  case markRead(conversation: [UInt8], ids: [[UInt8]])

  package var verb: Verb {
    switch self {
    case .getMessages: .getMessages
    case .getDeletedSince: .getDeletedSince
    case .markRead: .markRead
    }
  }

  /// The frame to send, under the id that the answer is to echo.
  package func encoded(id: [UInt8]) -> [UInt8] {
    var line = Line()
    line.add("type", Name.bytes(verb.name))
    line.add("request_id", id)
    switch self {
    case .getMessages(let conversation, let limit, let offset, let after):
      line.add("conversation_id", conversation)
      line.add("limit", limit)
      line.add("offset", offset)
      if let after { line.add("after_ts", after) }
    case .getDeletedSince(let conversation, let since):
      line.add("conversation_id", conversation)
      line.add("since", since)
    case .markRead(let conversation, let ids):
      line.add("conversation_id", conversation)
      line.add("message_ids", ids)
    }
    return line.closed()
  }
}

/// A JSON object under construction.
private struct Line {
  private var json: [UInt8] = []

  mutating func add(_ name: StaticString, _ text: [UInt8]) {
    begin(name)
    appendQuoted(text, to: &json)
  }

  mutating func add(_ name: StaticString, _ number: Int) {
    begin(name)
    json += Array("\(number)".utf8)
  }

  mutating func add(_ name: StaticString, _ texts: [[UInt8]]) {
    begin(name)
    json.append(Character.openBracket)
    for (index, text) in texts.enumerated() {
      if index > 0 { json.append(Character.comma) }
      appendQuoted(text, to: &json)
    }
    json.append(Character.closeBracket)
  }

  func closed() -> [UInt8] {
    json + [Character.closeBrace]
  }

  private mutating func begin(_ name: StaticString) {
    json.append(json.isEmpty ? Character.openBrace : Character.comma)
    appendQuoted(Name.bytes(name), to: &json)
    json.append(Character.colon)
  }
}
