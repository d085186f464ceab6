/// Listened marks beside read ones: durable, sent until confirmed, never after.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct MarksListened {
  private let listened: UInt32 = 1 << 10

  /// The server of this test knows `mark_listened`, or answers with `code`.
  private func world(
    file: ClientConfig.File = .memory, code: String? = nil
  ) throws -> (World, [String]) {
    let world = try World(file: file)
    world.post(130)
    try world.connect()
    try world.sync()
    world.alter = { request, answer in
      guard request.contains("\"mark_listened\"") else { return answer }
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      let outcome =
        code.map { "\"status\":\"error\",\"error\":{\"code\":\"\($0)\"}" }
        ?? "\"status\":\"ok\",\"data\":{}"
      return "{\"type\":\"mark_listened\",\"request_id\":\"\(id)\",\(outcome)}"
    }
    world.reset()
    return (world, Array(try world.cached().suffix(50)))
  }

  private func bytes(_ ids: [String]) -> [[UInt8]] { ids.map { Array($0.utf8) } }

  @Test func aListenedMarkIsSentOnceAndShown() throws {
    let (world, ids) = try world()
    try world.client.markListened(conversation: Array("room".utf8), ids: bytes(ids))
    try world.run()
    #expect(world.asked("mark_listened").count == 1)
    #expect(world.asked("mark_read").isEmpty)
    #expect(try world.client.state().readsPending == 0)
    for id in ids {
      let row = try #require(try world.shown(id))
      // Listening is not reading.
      #expect(row.view.flags & MessageBit.unread != 0)
    }
    try world.client.markListened(conversation: Array("room".utf8), ids: bytes(ids))
    try world.client.connected()
    try world.run()
    #expect(world.asked("mark_listened").count == 1)
  }

  @Test func bothKindsOutliveTheProcess() throws {
    let folder = try TrapsRestart.Folder()
    let (world, ids) = try world(file: folder.file())
    try world.client.disconnected()
    try world.client.markListened(conversation: Array("room".utf8), ids: bytes(ids))
    try world.client.markRead(conversation: Array("room".utf8), ids: bytes(ids))
    try folder.kill(world)
    #expect(try world.client.state().readsPending == 100)
    try world.client.connected()
    try world.run()
    #expect(world.asked("mark_listened").count == 1)
    #expect(world.asked("mark_read").count == 1)
    #expect(try world.client.state().readsPending == 0)
    try folder.kill(world)
    #expect(try world.client.state().readsPending == 0)
  }

  /// A server without the verb takes no read mark along.
  @Test func aServerWithoutTheVerbRefusesItAlone() throws {
    let (world, ids) = try world(code: "unsupported")
    try world.client.markListened(conversation: Array("room".utf8), ids: bytes(ids))
    try world.client.markRead(conversation: Array("room".utf8), ids: bytes(ids))
    try world.run()
    try world.settle()
    #expect(world.asked("mark_listened").count == 1)
    #expect(try world.client.state().readsPending == 0)
    for id in ids {
      #expect(try #require(try world.shown(id)).view.flags & MessageBit.unread == 0)
    }
  }

  /// Another device of this user listened: nothing is pending any more.
  @Test func whatAnotherDeviceDidIsNotOwed() throws {
    let (world, ids) = try world()
    try world.client.disconnected()
    try world.client.markListened(conversation: Array("room".utf8), ids: bytes(ids))
    try world.client.connected()
    _ = try world.client.nextFrame()
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    try world.hand(
      """
      {"type":"messages_listened","conversation_id":"room","user_id":"me","message_ids":[\(list)]}
      """)
    #expect(try world.client.state().readsPending == 0)
  }
}
