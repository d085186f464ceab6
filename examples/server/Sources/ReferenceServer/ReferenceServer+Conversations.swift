/// What users do with conversations by request, and what they subscribe to.
///
/// Where a conversation has admins, only they change who takes part and delete it;
/// everybody in it gives it a title and leaves it.
extension ReferenceServer {
  func performOnConversations(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    switch request.type {
    case "get_conversations": return try getConversations(request, user)
    case "get_conversation":
      let state = try room(request, user)
      return conversation(state, user, hasLast: request.includesLastMessage ?? false)
    case "create_conversation": return try createConversation(request, user)
    case "save_conversation": return try saveConversation(request, user)
    case "delete_conversation":
      deleteConversation(try governed(request, user).id)
      return ReferenceServer.nothing
    case "leave_conversation": return try leaveConversation(request, user)
    case "add_participants", "remove_participants": return try changeMembers(request, user)
    case "add_admins", "remove_admins": return try changeAdmins(request, user)
    case "get_unread_count":
      let state = try room(request, user)
      return Array("{\"message_count\":\(state.unreadCount(of: user, knobs.ties))}".utf8)
    case "get_total_unread_count":
      let counts = visible(to: user).map { $0.unreadCount(of: user, knobs.ties) }
      let data =
        "{\"message_count\":\(counts.reduce(0, +)),"
        + "\"conversation_count\":\(counts.count { $0 > 0 })}"
      return Array(data.utf8)
    case "subscribe", "unsubscribe": return try subscribe(request, user)
    case "get_user_channel": return channel(of: user)
    case "delete_user_channels":
      if channels.removeValue(forKey: user) != nil { onChange?(.channel(user)) }
      return ReferenceServer.nothing
    default: throw ServerFailure("unsupported", "no such request")
    }
  }

  /// The conversations that a user may see, in the order of their making.
  private func visible(to user: String) -> [ConversationState] {
    conversationIDs.compactMap { conversations[$0] }.filter { $0.admits(user) }
  }

  /// A conversation that the user may change as its admins may.
  private func governed(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> ConversationState {
    let state = try room(request, user)
    guard state.admins.isEmpty || state.isAdmin(user) else {
      throw ServerFailure("forbidden", "not an admin")
    }
    return state
  }

  /// Those with the newest activity first.
  private func getConversations(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let limit = request.limit ?? 50
    let offset = request.offset ?? 0
    guard limit > 0, offset >= 0 else { throw ServerFailure("invalid", "limit or offset") }
    let all = visible(to: user).enumerated().sorted { one, other in
      (one.element.activityUs, one.offset) > (other.element.activityUs, other.offset)
    }
    var out = Writer(knobs)
    out.raw("{\"conversations\":[")
    for (index, one) in all.dropFirst(offset).prefix(limit).enumerated() {
      if index > 0 { out.raw(",") }
      write(one.element, user, hasLast: request.includesLastMessage ?? false, into: &out)
    }
    out.raw("],\"total_count\":\(all.count)}")
    return out.bytes
  }

  private func createConversation(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    guard let named = request.participantIDs else {
      throw ServerFailure("invalid", "participant_ids is missing")
    }
    let key = request.clientID.map { SendKey(user: user, clientID: $0) }
    if knobs.idempotentSends, let key, let id = creations[key] {
      guard let state = conversations[id] else {
        throw ServerFailure("not_found", "it was made and is gone")
      }
      throw .exists(conversation(state, user, hasLast: false))
    }
    let members = unique([user] + named)
    let admins = unique(request.adminIDs ?? [user])
    guard admins.allSatisfy(members.contains) else {
      throw ServerFailure("invalid", "an admin who does not take part")
    }
    let isDirect = request.isDirect ?? false
    guard !isDirect || members.count == 2 else {
      throw ServerFailure("invalid", "a direct conversation is one of two")
    }
    let isDistinct = request.isDistinct ?? false
    if isDirect || isDistinct, let known = existing(members, isDirect: isDirect) {
      note(key, known.id)
      return conversation(known, user, hasLast: false)
    }
    let state = ConversationState(
      id: ReferenceServer.uuid(&dice), title: request.title ?? "", participants: members)
    state.admins = admins
    state.metadata = request.metadata.map { String(decoding: $0, as: UTF8.self) }
    state.createdUs = nowUs
    state.isDirect = isDirect
    state.isDistinct = isDistinct
    conversations[state.id] = state
    conversationIDs.append(state.id)
    note(key, state.id)
    noteUpdate(state, isNew: true)
    return conversation(state, user, hasLast: false)
  }

  private func note(_ key: SendKey?, _ id: String) {
    guard let key else { return }
    creations[key] = id
    conversations[id]?.names[key.user] = key.clientID
    onChange?(.creation(key))
  }

  /// The one conversation of these people, of its kind.
  private func existing(_ members: [String], isDirect: Bool) -> ConversationState? {
    conversationIDs.compactMap { conversations[$0] }.first { state in
      (isDirect ? state.isDirect : state.isDistinct)
        && Set(state.participants) == Set(members)
    }
  }

  private func unique(_ users: [String]) -> [String] {
    var all: [String] = []
    for user in users where !all.contains(user) { all.append(user) }
    return all
  }

  private func saveConversation(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    if let title = request.title { state.title = title }
    if let metadata = request.metadata {
      state.metadata = String(decoding: metadata, as: UTF8.self)
    }
    noteUpdate(state)
    return conversation(state, user, hasLast: false)
  }

  /// The last one to leave takes the conversation along. Who has left and asks again, because no
  /// answer came, is told so.
  private func leaveConversation(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    if let id = request.conversation, let state = conversations[id], !state.admits(user) {
      throw ServerFailure("not_found", "not a participant")
    }
    let state = try room(request, user)
    guard !state.participants.isEmpty else {
      throw ServerFailure("conflict", "everybody takes part in it")
    }
    if state.participants == [user] {
      deleteConversation(state.id)
    } else {
      removeMember(conversation: state.id, user: user)
    }
    return ReferenceServer.nothing
  }

  private func users(_ request: Request) throws(ServerFailure) -> [String] {
    guard let users = request.userIDs, !users.isEmpty, !users.contains("") else {
      throw ServerFailure("invalid", "user_ids is missing")
    }
    return unique(users)
  }

  private func changeMembers(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let state = try governed(request, user)
    let users = try users(request)
    guard !state.participants.isEmpty else {
      throw ServerFailure("conflict", "everybody takes part in it")
    }
    let isAdding = request.type == "add_participants"
    guard isAdding || !state.participants.allSatisfy(users.contains) else {
      throw ServerFailure("conflict", "somebody has to stay")
    }
    for one in users {
      if isAdding {
        addMember(conversation: state.id, user: one)
      } else {
        removeMember(conversation: state.id, user: one)
      }
    }
    return conversation(state, user, hasLast: false)
  }

  private func changeAdmins(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let state = try governed(request, user)
    let users = try users(request)
    if request.type == "add_admins" {
      guard users.allSatisfy(state.admits) else {
        throw ServerFailure("invalid", "an admin who does not take part")
      }
      state.admins = unique(state.admins + users)
    } else {
      state.admins.removeAll { users.contains($0) }
    }
    noteUpdate(state)
    return conversation(state, user, hasLast: false)
  }

  // MARK: Subscriptions and channels

  /// To one conversation, to the user's channel, or to all that there is.
  private func subscribe(
    _ request: Request, _ user: String
  ) throws(ServerFailure) -> [UInt8] {
    let isOn = request.type == "subscribe"
    if let channel = request.channel, isOn, channels[user] != channel {
      throw ServerFailure("not_found", "no such channel")
    }
    let one = request.conversation == nil ? nil : try room(request, user).id
    if let acting, var subscriber = subscribers[acting] {
      if let one {
        if isOn { subscriber.hearsOf.insert(one) } else { subscriber.hearsOf.remove(one) }
      } else {
        subscriber.hearsAll = isOn
      }
      subscribers[acting] = subscriber
    }
    guard isOn, knobs.sendsEpoch else { return ReferenceServer.nothing }
    return Array("{\"epoch\":\"\(epoch)\"}".utf8)
  }

  /// The user's channel, made at the first time.
  private func channel(of user: String) -> [UInt8] {
    let id = channels[user] ?? "channel-" + ReferenceServer.uuid(&dice)
    if channels.updateValue(id, forKey: user) == nil { onChange?(.channel(user)) }
    var out = Writer(knobs)
    out.raw("{\"channel\":{")
    out.first("name", id)
    out.text("user_id", user)
    out.raw("}}")
    return out.bytes
  }
}
