/// What users do to messages by request: send, edit, delete, read on, ask who has.
///
/// Only who wrote a message edits it; who wrote it and the conversation's admins
/// delete it. A send with a client id is done once where the server can do that.
extension ReferenceServer {
  func sendMessage(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let payload = try payload(request)
    let key = request.clientID.map { SendKey(user: user, clientID: $0) }
    if knobs.idempotentSends, let key, let first = state.sent[key] {
      throw .exists(first)
    }
    // Visible at once, whatever the lateness of others: it has been answered.
    let id = post(
      conversation: state.id, sender: user, payload: payload, lateUs: 0,
      replyTo: request.replyTo, clientID: request.clientID,
      attachment: request.attachment.map { String(decoding: $0, as: UTF8.self) },
      metadata: request.metadata.map { String(decoding: $0, as: UTF8.self) })
    let data = try message(id, state)
    if let key {
      state.sent[key] = data
      onChange?(.sent(state.id, key))
    }
    return data
  }

  /// Forgets under which client ids it was told to send, as a server does that knows them for a
  /// while, or by device.
  public func forgetSends() {
    for state in conversations.values { state.sent = [:] }
  }

  /// The same of one send.
  public func forgetSend(_ clientID: String, of user: String, in conversation: String) {
    conversations[conversation]?.sent[SendKey(user: user, clientID: clientID)] = nil
  }

  /// A push that tells an edit of a message under another sender, as some servers let pass. The
  /// message stays as it is.
  public func edit(
    of id: String, in conversation: String, as sender: String, _ payload: String
  ) -> [UInt8]? {
    guard var message = conversations[conversation]?.message(id, knobs.ties) else { return nil }
    message.sender = sender
    message.payload = payload
    message.version += 1
    message.editedUs = nowUs
    return News.message(Row(message, knobs), isNew: false, isSilent: true).plain(knobs)
  }

  func editMessage(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    guard state.message(id, knobs.ties)?.sender == user else {
      throw ServerFailure("forbidden", "the message of another")
    }
    edit(conversation: state.id, id: id, payload: try payload(request))
    return try message(id, state)
  }

  func deleteMessage(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    guard state.message(id, knobs.ties)?.sender == user || state.isAdmin(user) else {
      throw ServerFailure("forbidden", "the message of another")
    }
    delete(conversation: state.id, ids: [id], lateUs: 0)
    return ReferenceServer.nothing
  }

  func markLastRead(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    moveReadMarker(conversation: state.id, id: id, user: user)
    return conversation(state, user, hasLast: false)
  }

  /// Notes that a user has read up to a message, and tells the user's devices. A
  /// marker never moves back.
  @discardableResult
  public func moveReadMarker(conversation: String, id: String, user: String) -> Bool {
    guard let state = conversations[conversation], let place = state.place(id),
      state.moveMarker(of: user, to: ReadMarker(id: id, place: place), knobs.ties)
    else { return false }
    onChange?(.marker(conversation, user: user))
    push(.ownConversation(state, more: own(state, user)), to: state, only: user)
    return true
  }

  func getReceipts(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let id = try target(request, state)
    var out = Writer(knobs)
    out.raw("{\"receipts\":")
    guard let message = state.message(id, knobs.ties) else {
      throw ServerFailure("not_found", "no such message")
    }
    var users: [String] = []
    for mark in ServerMark.allCases {
      for user in message[keyPath: mark.users] where !users.contains(user) { users.append(user) }
    }
    out.list(users) { out, user in
      out.first("user_id", user)
      for mark in ServerMark.allCases {
        if let us = message.markedUs["\(mark.rawValue) \(user)"] {
          out.time("\(mark.rawValue)_at", us)
        }
      }
    }
    out.raw("}")
    return out.bytes
  }

  private func payload(_ request: Request) throws(ServerFailure) -> String {
    guard let payload = request.payload else {
      throw ServerFailure("invalid", "payload is missing")
    }
    guard knobs.payloadBytesMax == 0 || payload.count <= knobs.payloadBytesMax else {
      throw ServerFailure("too_large", "the payload is too large")
    }
    let text = String(decoding: payload, as: UTF8.self)
    return knobs.printsAnew ? Self.printedAnew(text) : text
  }

  /// Data that holds a message as it is now.
  func message(_ id: String, _ state: ConversationState) throws(ServerFailure) -> [UInt8] {
    guard let message = state.message(id, knobs.ties) else {
      throw ServerFailure("not_found", "no such message")
    }
    var out = Array("{\"message\":".utf8)
    message.write(knobs, into: &out)
    out.append(0x7D)
    return out
  }

  // MARK: Conversations as a user sees them

  /// Data that holds a conversation as a user sees it.
  func conversation(_ state: ConversationState, _ user: String, hasLast: Bool) -> [UInt8] {
    var out = Writer(knobs)
    out.raw("{\"conversation\":")
    write(state, user, hasLast: hasLast, into: &out)
    out.raw("}")
    return out.bytes
  }

  func write(
    _ state: ConversationState, _ user: String, hasLast: Bool, into out: inout Writer
  ) {
    out.raw("{")
    out.conversation(state, name(of: state, for: user))
    out.raw(own(state, user))
    if hasLast, let last = state.rows.last {
      out.raw(",\"last_message\":")
      out.raw(last.rendered)
    }
    out.raw("}")
  }

  /// The client id that a user is told of a conversation that he made.
  func name(of state: ConversationState?, for user: String) -> String? {
    knobs.echoesClientIDs ? state?.names[user] : nil
  }

  /// What only this user is told of a conversation.
  private func own(_ state: ConversationState, _ user: String) -> [UInt8] {
    var out = Writer(knobs)
    if let marker = state.markers[user] { out.text("last_read_message_id", marker.id) }
    out.raw(",\"unread_count\":\(state.unreadCount(of: user, knobs.ties))")
    return out.bytes
  }

  /// A payload as a database prints it that keeps values: without spaces, but one behind each colon
  /// and comma.
  public static func printedAnew(_ payload: String) -> String {
    var printed = ""
    var (isInString, isEscaped) = (false, false)
    for letter in payload.unicodeScalars {
      if isInString {
        printed.unicodeScalars.append(letter)
        if letter == "\"", !isEscaped { isInString = false }
        isEscaped = letter == "\\" && !isEscaped
        continue
      }
      if letter == " " { continue }
      printed.unicodeScalars.append(letter)
      if letter == ":" || letter == "," { printed.unicodeScalars.append(" ") }
      isInString = letter == "\""
    }
    return printed
  }
}
