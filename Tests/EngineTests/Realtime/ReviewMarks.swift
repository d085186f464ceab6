/// Read marks against servers that refuse.
///
/// Rule protected: each mark is sent until the server confirms it; a refusal of one
/// message, or one that says nothing, takes no other mark with it.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ReviewMarks {
  private static func error(_ request: String, code: String) -> String {
    let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
    return """
      {"type":"mark_read","request_id":"\(id)","status":"error","error":{"code":"\(code)"}}
      """
  }

  /// One id of the batch is refused; the server says no to the whole request.
  @Test func aRefusedMarkTakesNoOtherWithIt() throws {
    let world = try World()
    world.post(40)
    try world.connect()
    try world.sync()
    let ids = try world.cached()
    let bad = ids[17]
    var confirmed: Set<String> = []
    world.alter = { request, answer in
      guard request.contains("\"mark_read\"") else { return answer }
      if request.contains(bad) { return Self.error(request, code: "not_found") }
      for id in ids where request.contains(id) { confirmed.insert(id) }
      return answer
    }
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: ids.map { Array($0.utf8) })
    try world.run()
    try world.settle()
    #expect(confirmed == Set(ids).subtracting([bad]))
    #expect(try world.client.state().readsPending == 0)
    #expect(world.asked("mark_read").count < 30)
  }

  /// An error without a meaning here is no refusal for good.
  @Test func anUnknownErrorKeepsTheMarks() throws {
    let world = try World()
    world.post(10)
    try world.connect()
    try world.sync()
    let ids = try world.cached()
    var answers = 0
    world.alter = { request, answer in
      guard request.contains("\"mark_read\"") else { return answer }
      answers += 1
      return answers < 3 ? Self.error(request, code: "internal") : answer
    }
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: ids.map { Array($0.utf8) })
    try world.run()
    #expect(try world.client.state().readsPending == 10)
    try world.settle()
    #expect(answers == 3)
    #expect(try world.client.state().readsPending == 0)
  }

  /// A server that never says more than "error" is not asked for ever.
  @Test func anUnknownErrorForEverIsNotAskedForEver() throws {
    let world = try World()
    world.post(10)
    try world.connect()
    try world.sync()
    world.alter = { request, answer in
      request.contains("\"mark_read\"") ? Self.error(request, code: "internal") : answer
    }
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: try world.cached().map { Array($0.utf8) })
    try world.run()
    try world.settle(stepMs: 30_000)
    #expect(world.asked("mark_read").count < 30)
    #expect(try world.client.state().readsPending == 10)
    world.alter = { $1 }
    try world.client.connected()
    try world.run()
    #expect(try world.client.state().readsPending == 0)
  }
}
