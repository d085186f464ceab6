/// Requests and their answers, exactly as the protocol page says.
///
/// One frame in, its answers out. What is not understood is answered as an
/// error and changes nothing.
extension ReferenceServer {
  /// Answers one frame of `user`: a request, bare or as a command, or a reply
  /// to an update, which has no answer. `token` names the connection it came by.
  public func handle(_ frame: [UInt8], user: String, from token: Int? = nil) -> [[UInt8]] {
    acting = token
    defer { acting = nil }
    guard let request = Request(frame) else {
      return [answer(Request.unreadable, failure: ServerFailure("invalid", "not a request"))]
    }
    switch request.type {
    case "command":
      guard let account = request.account, let command = request.command else {
        return [answer(request, failure: ServerFailure("invalid", "not a command"))]
      }
      return respond(command, user).map { wrap($0, account) }
    case "reply":
      if let account = request.account, let ref = request.repliedRef {
        settle(ref: ref, user: user, account: account)
      }
      return []
    default: return respond(request, user)
    }
  }

  /// An answer as the account gets it.
  public func wrap(_ answer: [UInt8], _ account: String) -> [UInt8] {
    guard knobs.answersInEnvelope else { return answer }
    var out = Array("{\"account\":".utf8)
    ServerJSON.write(account, into: &out)
    out.append(contentsOf: ",\"type\":\"reply\",\"payload\":".utf8)
    out.append(contentsOf: answer)
    out.append(0x7D)
    return out
  }

  private func respond(_ request: Request, _ user: String) -> [[UInt8]] {
    let index = failures.firstIndex { $0.verb ?? request.type == request.type }
    let planned = index.map { failures.remove(at: $0) }
    if let planned, !planned.isDone { return [answer(request, failure: planned.failure)] }
    do throws(ServerFailure) {
      if let planned {
        _ = try perform(request, user)
        return [answer(request, failure: planned.failure)]
      }
      return try perform(request, user).map { [answer(request, data: told($0, to: request))] } ?? []
    } catch {
      return [answer(request, failure: error)]
    }
  }

  /// What the answer to a change tells of it, where it need not tell anything.
  private func told(_ data: [UInt8], to request: Request) -> [UInt8] {
    switch request.type {
    case "edit_message", "react_message", "unreact_message", "mark_last_read",
      "save_conversation", "add_participants", "remove_participants", "add_admins",
      "remove_admins":
      knobs.answersWithResult ? data : ReferenceServer.nothing
    default: data
    }
  }

  /// Does what a request asks and gives the data of its answer, if it has one.
  private func perform(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8]? {
    switch request.type {
    case "get_entries": return try getEntries(request, user)
    case "get_messages", "get_deleted_since", "get_changed_since":
      if knobs.keepsLog { throw ServerFailure("unsupported", "a log is read by get_entries") }
      return try getPage(request, user)
    case "mark_read": return try mark(.read, request, user)
    case "mark_delivered": return try mark(.delivered, request, user)
    case "mark_listened": return try mark(.listened, request, user)
    case "react_message": return try react(request, user, isSet: true)
    case "unreact_message": return try react(request, user, isSet: false)
    case "pin_message": return try pin(request, user, isPinned: true)
    case "unpin_message": return try pin(request, user, isPinned: false)
    case "typing":
      guard let event = request.event else { throw ServerFailure("invalid", "event is missing") }
      typing(conversation: try room(request, user).id, user: user, event: event)
      return nil
    case "send_message": return try sendMessage(request, user)
    case "edit_message": return try editMessage(request, user)
    case "delete_message": return try deleteMessage(request, user)
    case "mark_last_read": return try markLastRead(request, user)
    case "get_receipts": return try getReceipts(request, user)
    default: return try performOnConversations(request, user)
    }
  }

  private func getPage(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    switch request.type {
    case "get_messages": try getMessages(request, user)
    case "get_deleted_since": try getDeletedSince(request, user)
    default: try getChangedSince(request, user)
    }
  }

  static let nothing = Array("{}".utf8)

  /// Lets the next request fail in this way, and those asked for after it: any, or
  /// only those of one verb. With `isDone` it is done all the same.
  public func failNext(
    _ code: String, retryAfterMs: Int? = nil, verb: String? = nil, isDone: Bool = false
  ) {
    let failure = ServerFailure(code, "as asked for", retryAfterMs: retryAfterMs)
    failures.append(PlannedFailure(verb: verb, isDone: isDone, failure: failure))
  }

  func room(_ request: Request, _ user: String) throws(ServerFailure) -> ConversationState {
    guard let id = request.conversation else {
      throw ServerFailure("invalid", "conversation_id is missing")
    }
    guard let state = conversations[id] else {
      throw ServerFailure("not_found", "no such conversation")
    }
    guard state.admits(user) else { throw ServerFailure("forbidden", "not a participant") }
    return state
  }

  func target(
    _ request: Request, _ state: ConversationState
  ) throws(ServerFailure) -> String {
    guard let id = request.messageID else {
      throw ServerFailure("invalid", "message_id is missing")
    }
    guard state.contains(id) else { throw ServerFailure("not_found", "no such message") }
    return id
  }

  private func mark(
    _ mark: ServerMark, _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    guard let ids = request.messageIDs else {
      throw ServerFailure("invalid", "message_ids is missing")
    }
    self.mark(mark, conversation: state.id, ids: ids, user: user)
    return ReferenceServer.nothing
  }

  private func react(
    _ request: Request, _ user: String, isSet: Bool
  ) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    guard let reaction = request.reaction, !reaction.isEmpty else {
      throw ServerFailure("invalid", "reaction is missing")
    }
    react(conversation: state.id, id: id, user: user, reaction: reaction, isSet: isSet)
    return try message(id, state)
  }

  private func pin(
    _ request: Request, _ user: String, isPinned: Bool
  ) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    pin(conversation: state.id, id: id, isPinned: isPinned)
    return ReferenceServer.nothing
  }

  // MARK: Frames

  private func head(_ request: Request, _ status: StaticString, room: Int) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(room + request.requestID.count + 128)
    out.append(contentsOf: "{\"type\":".utf8)
    ServerJSON.write(request.type, into: &out)
    if knobs.echoesRequestIDs, !request.requestID.isEmpty {
      out.append(contentsOf: ",\"request_id\":".utf8)
      out.append(contentsOf: request.requestID)
    }
    out.append(contentsOf: ",\"status\":\"".utf8)
    status.withUTF8Buffer { out.append(contentsOf: $0) }
    return out
  }

  /// The answer to what was done before: `exists`, with what the first one was told.
  private func answer(_ request: Request, existing data: [UInt8]) -> [UInt8] {
    var out = head(request, "error\",\"error\":{\"code\":\"exists\",", room: data.count)
    out.append(contentsOf: "\"message\":\"done before\"},\"data\":".utf8)
    out.append(contentsOf: data)
    out.append(0x7D)
    return out
  }

  /// An answer with `data`, a JSON value.
  public func answer(_ request: Request, data: [UInt8]) -> [UInt8] {
    var out = head(request, "ok\",\"data\":", room: data.count)
    out.append(contentsOf: data)
    out.append(0x7D)
    return out
  }

  public func answer(_ request: Request, failure: ServerFailure) -> [UInt8] {
    if let data = failure.existing { return answer(request, existing: data) }
    var out = head(request, "error\",\"error\":{\"code\":", room: 128)
    ServerJSON.write(failure.code, into: &out)
    out.append(contentsOf: ",\"message\":".utf8)
    ServerJSON.write(failure.message, into: &out)
    if let wait = failure.retryAfterMs {
      out.append(contentsOf: ",\"retry_after_ms\":\(wait)".utf8)
    }
    out.append(contentsOf: "}}".utf8)
    return out
  }
}

/// An error answer: a code of the protocol and a sentence for people.
public struct ServerFailure: Error, Sendable {
  public let code: String
  public let message: String
  public let retryAfterMs: Int?
  /// Of `exists`: the data of the first answer.
  private(set) var existing: [UInt8]?

  /// What was asked for had been done.
  static func exists(_ data: [UInt8]) -> ServerFailure {
    var failure = ServerFailure("exists", "done before")
    failure.existing = data
    return failure
  }

  public init(_ code: String, _ message: String, retryAfterMs: Int? = nil) {
    self.code = code
    self.message = message
    self.retryAfterMs = retryAfterMs
  }
}

/// A failure asked for before its request came.
struct PlannedFailure {
  /// Nil for any.
  let verb: String?
  /// The request is done, and only its answer says otherwise.
  let isDone: Bool
  let failure: ServerFailure
}
