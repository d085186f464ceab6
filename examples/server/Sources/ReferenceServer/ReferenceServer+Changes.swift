/// What users do to messages and conversations after they were posted.
///
/// A change is visible at once and is told to everybody who may see it. What
/// changes nothing tells nothing.

/// What a user can have done with a message of somebody else.
public enum ServerMark: String, Sendable, CaseIterable {
  case read, delivered, listened

  var users: WritableKeyPath<ServerMessage, [String]> {
    switch self {
    case .read: \.readBy
    case .delivered: \.deliveredBy
    case .listened: \.listenedBy
    }
  }
}

extension ReferenceServer {
  /// Replaces a payload; the version grows.
  @discardableResult
  public func edit(conversation: String, id: String, payload: String) -> Bool {
    change(conversation, id) { message in
      message.payload = payload
      message.version += 1
      message.editedUs = nowUs
      return true
    } news: {
      .message($0, isNew: false, isSilent: true)
    }
  }

  /// Sets or takes back a reaction; the version grows.
  @discardableResult
  public func react(
    conversation: String, id: String, user: String, reaction: String, isSet: Bool = true
  ) -> Bool {
    change(conversation, id) { message in
      let index = message.reactions.firstIndex { $0.name == reaction }
      if let index {
        let has = message.reactions[index].users.contains(user)
        if has == isSet { return false }
        if isSet {
          message.reactions[index].users.append(user)
        } else {
          message.reactions[index].users.removeAll { $0 == user }
          if message.reactions[index].users.isEmpty { message.reactions.remove(at: index) }
        }
      } else {
        guard isSet else { return false }
        message.reactions.append(.init(name: reaction, users: [user]))
      }
      message.version += 1
      return true
    } news: {
      .reacted($0.message, by: user)
    }
  }

  /// Pins or unpins a message; the version grows.
  @discardableResult
  public func pin(conversation: String, id: String, isPinned: Bool = true) -> Bool {
    change(conversation, id) { message in
      guard (message.isPinned ?? false) != isPinned else { return false }
      message.isPinned = isPinned
      message.version += 1
      return true
    } news: {
      .pinned($0.message)
    }
  }

  /// Notes what `user` has done with messages of others; returns the ids that
  /// were news. Marks have no version.
  @discardableResult
  public func mark(
    _ mark: ServerMark, conversation: String, ids: [String], user: String
  ) -> [String] {
    guard let state = conversations[conversation] else { return [] }
    var news: [String] = []
    for id in ids {
      guard var message = state.message(id, knobs.ties), message.sender != user,
        !message[keyPath: mark.users].contains(user)
      else { continue }
      message[keyPath: mark.users].append(user)
      message.markedUs["\(mark.rawValue) \(user)"] = nowUs
      message.changedUs = nowUs
      state.put(message, knobs)
      onChange?(.message(message))
      news.append(id)
    }
    if !news.isEmpty { push(.marked(mark, conversation, user: user, news, nowUs), to: state) }
    return news
  }

  @discardableResult
  public func markRead(conversation: String, ids: [String], user: String) -> [String] {
    mark(.read, conversation: conversation, ids: ids, user: user)
  }

  private func change(
    _ conversation: String, _ id: String, _ body: (inout ServerMessage) -> Bool,
    news: (Row) -> News
  ) -> Bool {
    guard let state = conversations[conversation], var message = state.message(id, knobs.ties),
      body(&message)
    else { return false }
    message.changedUs = nowUs
    state.put(message, knobs)
    onChange?(.message(message))
    push(news(Row(message, knobs)), to: state)
    return true
  }

  /// Takes back the deletion of a message: it is where it was, under its id and number, and no
  /// deletion is told of it any more.
  @discardableResult
  public func bringBack(conversation: String, id: String) -> Bool {
    guard let state = conversations[conversation], let version = state.deadVersions[id],
      var message = state.deleted.removeValue(forKey: id)
    else { return false }
    message.version = version + 1
    message.changedUs = nowUs
    state.put(message, knobs)
    onChange?(.message(message))
    push(.message(Row(message, knobs), isNew: true, isSilent: true), to: state)
    return true
  }

  // MARK: Conversations and people

  /// Tells everybody else what `user` is doing; nothing is kept of it.
  @discardableResult
  public func typing(conversation: String, user: String, event: String = "begin") -> Bool {
    guard let state = conversations[conversation] else { return false }
    push(.typing(conversation, user: user, event: event, nowUs), to: state, except: user)
    return true
  }

  @discardableResult
  public func rename(conversation: String, title: String) -> Bool {
    guard let state = conversations[conversation] else { return false }
    state.title = title
    noteUpdate(state)
    return true
  }

  /// A conversation has been changed: it is kept and told.
  func noteUpdate(_ state: ConversationState, isNew: Bool = false) {
    if !isNew { state.updatedUs = nowUs }
    onChange?(.conversation(state.id))
    push(.conversation(state, isNew: isNew), to: state)
  }

  /// Takes a conversation away with all that is in it.
  @discardableResult
  public func deleteConversation(_ id: String) -> Bool {
    guard let state = conversations.removeValue(forKey: id) else { return false }
    conversationIDs.removeAll { $0 == id }
    onChange?(.conversationDeletion(id))
    push(.conversationDeleted(id), to: state)
    return true
  }

  /// Adds a participant; in a conversation of everybody only the news is new.
  @discardableResult
  public func addMember(conversation: String, user: String) -> Bool {
    guard let state = conversations[conversation], !state.participants.contains(user)
    else { return false }
    if !state.participants.isEmpty { state.participants.append(user) }
    onChange?(.conversation(conversation))
    push(.member(state, user: user, isGone: false), to: state)
    return true
  }

  /// Takes a participant out, who hears of it too. The last one stays: without
  /// participants everybody could see it.
  @discardableResult
  public func removeMember(conversation: String, user: String) -> Bool {
    guard let state = conversations[conversation] else { return false }
    if !state.participants.isEmpty {
      guard state.participants.contains(user), state.participants.count > 1 else { return false }
    }
    let before = state.copy()
    state.participants.removeAll { $0 == user }
    state.admins.removeAll { $0 == user }
    onChange?(.conversation(conversation))
    push(.member(state, user: user, isGone: true), to: before)
    return true
  }

  /// Gives a user a name, which all accounts are told.
  public func setProfile(user: String, name: String) {
    let isNew = profiles.updateValue(name, forKey: user) == nil
    onChange?(.profile(user))
    push(.profile(user: user, name: name, isNew: isNew), to: nil)
  }

  /// Users who are no more; all of them go in one update.
  public func deleteProfiles(_ users: [String]) {
    for user in users {
      profiles[user] = nil
      onChange?(.profile(user))
    }
    if !users.isEmpty { push(.profilesDeleted(users), to: nil) }
  }

  /// Tells all who may see the conversation, or all accounts, something that
  /// the server knows nothing of: `items` is JSON text, put in as it is.
  public func announce(
    entity: String, action: String, items: String, isSilent: Bool = false,
    conversation: String? = nil
  ) {
    let news = News.other(entity: entity, action: action, items: items, isSilent: isSilent)
    guard let conversation else { return push(news, to: nil) }
    if let state = conversations[conversation] { push(news, to: state) }
  }
}
