/// A message as the server holds it, and its bytes on the wire.
///
/// A message never changes in place: a change makes a new one, so backups and
/// pages share what they can and a rendered object is made once a version.
public struct ServerMessage: Sendable, Equatable {
  /// A way in which one message on the wire is broken, for tests of clients.
  public enum Flaw: Int, Sendable, CaseIterable {
    case none, garbledTime, missingID, notAnObject, numberForID
  }

  /// Who set one reaction, in the order in which they did.
  public struct Reaction: Sendable, Equatable {
    public var name: String
    public var users: [String]
  }

  public var id: String
  public var conversation: String
  public var sender: String
  /// The server's time when the message was posted, unrounded.
  public var stampUs: Int64
  /// The number of the commit that made it visible.
  public var arrival: Int
  /// JSON text, kept as it is.
  public var payload: String
  public var version = 1
  public var editedUs: Int64?
  public var replyTo: String?
  public var reactions: [Reaction] = []
  public var readBy: [String] = []
  public var deliveredBy: [String] = []
  public var listenedBy: [String] = []
  /// Nil until it is pinned for the first time.
  public var isPinned: Bool?
  /// When it was last edited, reacted to, pinned or marked.
  public var changedUs: Int64?
  /// Its number in the conversation, in the order of visibility.
  public var number: Int64 = 0
  /// The message right before it when it became visible.
  public var previousID: String?
  public var flaw = Flaw.none
  /// What the sender's device called it.
  public var clientID: String?
  /// JSON text, kept as it is.
  public var attachment: String?
  public var metadata: String?
  /// When each mark was set, by the kind and the user; those of a data set have none.
  public var markedUs: [String: Int64] = [:]

  func write(_ knobs: ServerKnobs, into out: inout [UInt8]) {
    if flaw == .notAnObject {
      out.append(contentsOf: "\"lost\"".utf8)
      return
    }
    out.append(0x7B)
    if flaw == .numberForID {
      out.append(contentsOf: "\"message_id\":17,".utf8)
    } else if flaw != .missingID {
      text("\"message_id\":", id, &out)
      out.append(0x2C)
    }
    text("\"conversation_id\":", conversation, &out)
    text(",\"sender_id\":", sender, &out)
    if flaw == .garbledTime {
      text(",\"created_at\":", "yesterday, late", &out)
    } else {
      time(",\"created_at\":\"", stampUs, knobs, &out)
    }
    out.append(contentsOf: ",\"payload\":".utf8)
    out.append(contentsOf: payload.utf8)
    if knobs.tellsVersions { out.append(contentsOf: ",\"version\":\(version)".utf8) }
    if knobs.tellsVersions, let editedUs { time(",\"edited_at\":\"", editedUs, knobs, &out) }
    if let replyTo { text(",\"reply_to\":", replyTo, &out) }
    if knobs.echoesClientIDs, let clientID { text(",\"client_id\":", clientID, &out) }
    if let attachment { out.append(contentsOf: ",\"attachment\":\(attachment)".utf8) }
    if let metadata { out.append(contentsOf: ",\"metadata\":\(metadata)".utf8) }
    // Of a changed message the set is told even where it is empty again.
    if !reactions.isEmpty || version > 1 {
      out.append(contentsOf: ",\"reactions\":".utf8)
      writeReactions(into: &out)
    }
    if let isPinned { out.append(contentsOf: ",\"pinned\":\(isPinned)".utf8) }
    users(",\"read_by\":[", readBy, &out)
    if !deliveredBy.isEmpty { users(",\"delivered_by\":[", deliveredBy, &out) }
    if !listenedBy.isEmpty { users(",\"listened_by\":[", listenedBy, &out) }
    if knobs.numbersMessages { out.append(contentsOf: ",\"seq\":\(number)".utf8) }
    if knobs.sendsPreviousIDs, let previousID { text(",\"prev_id\":", previousID, &out) }
    if knobs.hostMembers { writeHostMembers(into: &out) }
    out.append(0x7D)
  }

  func writeReactions(into out: inout [UInt8]) {
    out.append(0x7B)
    for (index, reaction) in reactions.enumerated() {
      if index > 0 { out.append(0x2C) }
      ServerJSON.write(reaction.name, into: &out)
      out.append(0x3A)
      ServerJSON.write(reaction.users, into: &out)
    }
    out.append(0x7D)
  }

  /// Members of the host that no client may lose or stumble over; which ones
  /// hangs on the arrival alone, so that it stays the same in every version.
  private func writeHostMembers(into out: inout [UInt8]) {
    if arrival % 7 == 3 {
      out.append(contentsOf: ",\"x_client\":{\"app\":\"web\",\"build\":\(arrival)}".utf8)
    }
    if arrival % 11 == 5 {
      out.append(contentsOf: ",\"x_scores\":[1,-2.5e3,null,true,\"\\u010d\\\"\"]".utf8)
    }
  }

  private func users(_ key: StaticString, _ users: [String], _ out: inout [UInt8]) {
    key.withUTF8Buffer { out.append(contentsOf: $0) }
    for (index, user) in users.enumerated() {
      text(index > 0 ? ",{\"user_id\":" : "{\"user_id\":", user, &out)
      out.append(0x7D)
    }
    out.append(0x5D)
  }

  private func text(_ key: StaticString, _ value: String, _ out: inout [UInt8]) {
    key.withUTF8Buffer { out.append(contentsOf: $0) }
    ServerJSON.write(value, into: &out)
  }

  private func time(
    _ key: StaticString, _ value: Int64, _ knobs: ServerKnobs, _ out: inout [UInt8]
  ) {
    key.withUTF8Buffer { out.append(contentsOf: $0) }
    ServerTime.write(value, knobs, into: &out)
    out.append(0x22)
  }
}

/// A place in a conversation's order: the number where the server gives numbers,
/// else the printed time, then what breaks ties.
struct Place: Equatable {
  /// 0 for all where the server gives none.
  var number: Int64
  var tickUs: Int64
  var arrival: Int
  var id: String

  func isBefore(_ other: Place, _ ties: ServerKnobs.Ties) -> Bool {
    if number != other.number { return number < other.number }
    if tickUs != other.tickUs { return tickUs < other.tickUs }
    switch ties {
    case .arrival: return arrival < other.arrival
    case .id: return id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }
  }
}

/// A visible message at its place, with its bytes.
struct Row {
  let place: Place
  let message: ServerMessage
  let rendered: [UInt8]

  init(_ message: ServerMessage, _ knobs: ServerKnobs) {
    self.message = message
    place = Place(
      number: knobs.numbersMessages ? message.number : 0,
      tickUs: ServerTime.tick(message.stampUs, resolutionUs: knobs.timeResolutionUs),
      arrival: message.arrival, id: message.id)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(message.payload.utf8.count + 320)
    message.write(knobs, into: &bytes)
    rendered = bytes
  }
}

/// One entry of the deletion log.
public struct ServerDeletion: Sendable, Equatable {
  public var id: String
  /// The server's time when the deletion was asked for, unrounded.
  public var deletedUs: Int64
  /// The number of the commit that made it visible.
  public var arrival: Int
}
