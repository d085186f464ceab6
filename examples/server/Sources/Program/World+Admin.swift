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
      let ids = try post(try conversation(request), try count(request), request.overSeconds ?? 0)
      return "{\"message_ids\":\(array(ids)),\(now)}"
    case "admin_delete":
      let conversation = try conversation(request)
      let ids = server.newestIDs(conversation, try count(request))
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
    case "admin_disconnect":
      closeOthers(than: connection)
      return "{\(now)}"
    default: throw ServerFailure("unsupported", "no such admin request")
    }
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
    _ conversation: String, _ count: Int, _ overSeconds: Int
  ) throws(ServerFailure) -> [String] {
    let whole = try span(overSeconds)
    let step = whole / Int64(count)
    let ids = (0..<count).map { _ in
      advance(us: step)
      return postOne(conversation)
    }
    advance(us: whole - step * Int64(count))
    return ids
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
