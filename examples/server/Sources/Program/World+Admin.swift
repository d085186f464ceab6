/// Requests by which a demonstration changes the server between two situations.
///
/// They are no part of the protocol; a real server has none of them.

import ReferenceServer

extension World {
  private static let countMax = 100_000

  func admin(_ request: Request, _ connection: Connection) -> [UInt8] {
    do throws(ServerFailure) {
      return server.answer(request, data: Array(try perform(request, connection).utf8))
    } catch {
      return server.answer(request, failure: error)
    }
  }

  private func perform(
    _ request: Request, _ connection: Connection
  ) throws(ServerFailure) -> String {
    switch request.type {
    case "admin_conversations": return listing()
    case "admin_post":
      let ids = try post(
        try conversation(request), try count(request), request.overSeconds ?? 0,
        isSilent: request.isSilent ?? false, backUs: try span(request.backSeconds ?? 0))
      return "{\"message_ids\":\(array(ids)),\(now)}"
    case "admin_delete":
      let conversation = try conversation(request)
      let ids = try targets(request, conversation)
      server.delete(conversation: conversation, ids: ids)
      return "{\"message_ids\":\(array(ids)),\(now)}"
    case "admin_advance":
      advance(us: try span(request.overSeconds))
      return "{\(now)}"
    case "admin_backup":
      backup = server.backup()
      return "{\(now)}"
    case "admin_restore":
      guard let backup else { throw ServerFailure("not_found", "there is no backup") }
      server.restore(backup)
      // A restored server has been down: whoever was connected is not any more.
      closeOthers(than: connection)
      return "{\"epoch\":\"\(server.epoch)\",\(now)}"
    case "admin_clock":
      stepBack(us: try span(request.backSeconds))
      return "{\(now)}"
    case "admin_expire":
      server.expireTokens()
      return "{\(now)}"
    case "admin_purge":
      server.purgeLog(conversation: try conversation(request), count: try count(request))
      return "{\(now)}"
    case "admin_disconnect":
      closeOthers(than: connection)
      return "{\(now)}"
    default: return try act(request)
    }
  }

  /// What others do in the world.
  private func act(_ request: Request) throws(ServerFailure) -> String {
    switch request.type {
    case "admin_edit", "admin_react", "admin_unreact", "admin_pin", "admin_unpin":
      return "{\"message_ids\":\(array([try change(request)])),\(now)}"
    case "admin_read", "admin_delivered", "admin_listened":
      return "{\"message_ids\":\(array(try mark(request))),\(now)}"
    case "admin_typing":
      let room = try conversation(request)
      let user = request.user ?? other(in: room)
      server.typing(conversation: room, user: user, event: request.event ?? "begin")
      return "{\(now)}"
    case "admin_rename":
      let title = try needed(request.title, "title")
      server.rename(conversation: try conversation(request), title: title)
      return "{\(now)}"
    case "admin_conversation_delete":
      server.deleteConversation(try conversation(request))
      return "{\(now)}"
    case "admin_member_add", "admin_member_remove": return try member(request)
    case "admin_fail": return try fail(request)
    case "admin_profile":
      server.setProfile(
        user: try needed(request.user, "user"), name: try needed(request.name, "name"))
      return "{\(now)}"
    case "admin_profile_delete":
      server.deleteProfiles([try needed(request.user, "user")])
      return "{\(now)}"
    case "admin_update":
      server.announce(
        entity: try needed(request.entity, "entity"), action: request.action ?? "new",
        items: String(decoding: request.items ?? Array("[]".utf8), as: UTF8.self),
        isSilent: request.isSilent ?? false)
      return "{\(now)}"
    default: throw ServerFailure("unsupported", "no such admin request")
    }
  }

  /// Lets requests to come fail: any, or those of the verb that `name` gives.
  private func fail(_ request: Request) throws(ServerFailure) -> String {
    let code = try needed(request.title, "title")
    let wait = try request.overSeconds.map { seconds throws(ServerFailure) in
      Int(try span(seconds) / 1_000)
    }
    for _ in 0..<(try count(request)) {
      server.failNext(code, retryAfterMs: wait, verb: request.name)
    }
    return "{\(now)}"
  }

  private var now: String { "\"now\":\"\(ServerTime.text(server.nowUs, server.knobs))\"" }

  private func conversation(_ request: Request) throws(ServerFailure) -> String {
    guard let id = request.conversation else {
      throw ServerFailure("invalid", "conversation_id is missing")
    }
    guard server.conversationIDs.contains(id) else {
      throw ServerFailure("not_found", "no such conversation")
    }
    return id
  }

  private func count(_ request: Request) throws(ServerFailure) -> Int {
    let count = request.count ?? 1
    guard (1...World.countMax).contains(count) else {
      throw ServerFailure("invalid", "count lies between 1 and \(World.countMax)")
    }
    return count
  }

  private func span(_ seconds: Int?) throws(ServerFailure) -> Int64 {
    guard let seconds, (0...315_360_000).contains(seconds) else {
      throw ServerFailure("invalid", "over_s lies between 0 and ten years")
    }
    return Int64(seconds) * 1_000_000
  }

  /// Posts messages, evenly over the seconds that pass meanwhile.
  private func post(
    _ conversation: String, _ count: Int, _ overSeconds: Int, isSilent: Bool, backUs: Int64
  ) throws(ServerFailure) -> [String] {
    let whole = try span(overSeconds)
    let step = whole / Int64(count)
    let ids = (0..<count).map { _ in
      advance(us: step)
      return postOne(conversation, isSilent: isSilent, backUs: backUs)
    }
    advance(us: whole - step * Int64(count))
    return ids
  }

  private func needed(_ text: String?, _ name: String) throws(ServerFailure) -> String {
    guard let text, !text.isEmpty, text.utf8.count <= 512 else {
      throw ServerFailure("invalid", "\(name) is missing or too long")
    }
    return text
  }

  /// Anybody of a conversation but the data set's reader.
  private func other(in conversation: String) -> String {
    let members = server.participants(of: conversation)
    return (members.isEmpty ? DataSet.users : members).first { $0 != DataSet.reader }
      ?? DataSet.reader
  }

  /// The messages that are named, else the newest.
  private func targets(_ request: Request, _ room: String) throws(ServerFailure) -> [String] {
    if let ids = request.messageIDs { return ids }
    if let id = request.messageID { return [id] }
    return server.newestIDs(room, try count(request))
  }

  /// Changes one message, the newest unless another is named.
  private func change(_ request: Request) throws(ServerFailure) -> String {
    let room = try conversation(request)
    guard let id = request.messageID ?? server.newestIDs(room, 1).first,
      server.message(room, id) != nil
    else { throw ServerFailure("not_found", "no such message") }
    let user = request.user ?? other(in: room)
    let reaction = request.reaction ?? "👍"
    switch request.type {
    case "admin_edit":
      let payload = request.payload ?? Array("\"edited\"".utf8)
      server.edit(
        conversation: room, id: id, payload: String(decoding: payload, as: UTF8.self))
    case "admin_pin": server.pin(conversation: room, id: id)
    case "admin_unpin": server.pin(conversation: room, id: id, isPinned: false)
    default:
      server.react(
        conversation: room, id: id, user: user, reaction: reaction,
        isSet: request.type == "admin_react")
    }
    return id
  }

  /// Marks messages for a user; returns which ones that was news of.
  private func mark(_ request: Request) throws(ServerFailure) -> [String] {
    let room = try conversation(request)
    let ids = try targets(request, room)
    let marks: [String: ServerMark] = ["admin_read": .read, "admin_delivered": .delivered]
    let mark = marks[request.type] ?? .listened
    return server.mark(
      mark, conversation: room, ids: ids, user: request.user ?? other(in: room))
  }

  private func member(_ request: Request) throws(ServerFailure) -> String {
    let room = try conversation(request)
    let user = try needed(request.user, "user")
    let isDone =
      request.type == "admin_member_add"
      ? server.addMember(conversation: room, user: user)
      : server.removeMember(conversation: room, user: user)
    guard isDone else { throw ServerFailure("conflict", "nothing to change") }
    return "{\"participant_ids\":\(array(server.participants(of: room))),\(now)}"
  }

  private func listing() -> String {
    let all = server.conversationIDs.map { id in
      let newest = server.newestStampUs(id).map { "\"\(ServerTime.text($0, server.knobs))\"" }
      return "{\"conversation_id\":\(ServerJSON.quote(id)),"
        + "\"title\":\(ServerJSON.quote(server.title(of: id))),"
        + "\"participant_ids\":\(array(server.participants(of: id))),"
        + "\"message_count\":\(server.visibleCount(id)),\"newest\":\(newest ?? "null")}"
    }
    return "{\"conversations\":[\(all.joined(separator: ","))],\"total_count\":\(all.count)}"
  }

  private func array(_ texts: [String]) -> String {
    "[" + texts.map(ServerJSON.quote).joined(separator: ",") + "]"
  }
}
