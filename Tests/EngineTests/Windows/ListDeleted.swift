/// A list shows the last message that the server has, also where its conversation was not synced
/// since another one was deleted.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ListDeleted {
  private func temporary() -> String {
    FileManager.default.temporaryDirectory.path + "/deleted-" + UUID().uuidString
  }

  private func file(_ path: String) -> ClientConfig.File {
    .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
  }

  private func remove(_ path: String) {
    for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) }
  }

  private func say(_ world: World, _ room: String, _ count: Int) -> [String] {
    (0..<count).map { index in
      world.advance(ms: 1_000)
      return world.server.post(
        conversation: room, sender: "you", payload: "\"\(room) \(index)\"", id: nil, stampUs: nil,
        lateUs: nil)
    }
  }

  /// Two rooms, all stored; `other` was active last.
  private func world(
    _ kind: FoundServer, _ path: String, syncs: Bool = true
  ) throws -> (world: World, ids: [String]) {
    let world = try kind.world(file: file(path))
    world.server.createConversation("other", participants: ["me", "you"])
    let ids = say(world, "room", 5)
    _ = say(world, "other", 3)
    let last = say(world, "room", 2)
    try world.connect()
    if syncs {
      try world.sync()
      try world.sync(in: "other")
    }
    try world.sync(.conversations, in: "")
    return (world, ids + last)
  }

  private func lasts(_ list: TestList) throws -> [String] {
    try list.rows().map { "\($0.id) \($0.lastText.filter { $0 != "\"" })" }
  }

  private func unread(_ list: TestList) throws -> Int {
    try #require(try list.rows().first { $0.id == "room" }).unread
  }

  /// Protects: a list answer that names another last message is believed for text, order and
  /// number of unread messages, at once, and after a restart without a connection.
  @Test(arguments: FoundServer.allCases, [true, false])
  func aListAnswerIsBelieved(_ kind: FoundServer, syncs: Bool) throws {
    let path = temporary()
    defer { remove(path) }
    let (world, ids) = try world(kind, path, syncs: syncs)
    var list = try TestList(world.client)
    try list.settle(world)
    #expect(try lasts(list) == ["room room 1", "other other 2"])
    try world.disconnect()
    world.advance(ms: 60_000)
    world.server.delete(conversation: "room", ids: Array(ids.suffix(2)), lateUs: 0)
    try world.connect()
    try list.settle(world)
    #expect(try lasts(list) == ["other other 2", "room room 4"])
    #expect(try unread(list) == 5)
    try world.disconnect()
    try world.reopen()
    try world.client.disconnected()
    list = try TestList(world.client)
    _ = try list.poll()
    #expect(try lasts(list) == ["other other 2", "room room 4"])
    #expect(try unread(list) == 5)
    // What comes is the last message again, and a sync ends all doubt.
    try world.connectListening()
    try list.settle(world)
    _ = say(world, "room", 1)
    try world.run()
    try list.settle(world)
    #expect(try lasts(list) == ["room room 0", "other other 2"])
    #expect(try unread(list) == 6)
    try world.sync()
    try list.settle(world)
    #expect(try lasts(list) == ["room room 0", "other other 2"])
    #expect(try unread(list) == 6)
    world.client.close()
  }

  /// Protects: a conversation of which all messages were deleted shows none.
  @Test(arguments: FoundServer.allCases, [true, false])
  func aListAnswerWithoutALastMessageIsBelieved(_ kind: FoundServer, isAlone: Bool) throws {
    let path = temporary()
    defer { remove(path) }
    let (world, ids) = try world(kind, path)
    let list = try TestList(world.client)
    try list.settle(world)
    try world.disconnect()
    world.server.delete(conversation: "room", ids: ids, lateUs: 0)
    if isAlone { world.server.deleteConversation("other") }
    try world.connect()
    try list.settle(world)
    let shown = try lasts(list)
    #expect(shown.contains("room "), "\(shown)")
    world.client.close()
  }

  /// Protects: an answer that is late or that was asked for before takes nothing away that came
  /// since, and a message that is shown again is the last one again.
  @Test(arguments: FoundServer.withPages)
  func whatCameSinceIsTheLast(_ kind: FoundServer) throws {
    let path = temporary()
    defer { remove(path) }
    let (world, _) = try world(kind, path)
    try world.disconnect()
    try world.connectListening()
    let list = try TestList(world.client)
    var asked: OutgoingFrame?
    while asked == nil, let frame = try world.client.nextFrame() {
      let text = String(decoding: frame.bytes, as: UTF8.self)
      if text.contains("get_conversations") { asked = frame }
      _ = try world.client.frameSent(frame.id)
    }
    let old = world.server.handle(try #require(asked).bytes, user: "me")
    _ = say(world, "room", 1)
    let new = try #require(world.server.newestIDs("room", 1).first)
    try world.hand(
      """
      {"type":"message_new","conversation_id":"room","message":\
      {"message_id":"\(new)","conversation_id":"room","sender_id":"you","seq":8,\
      "created_at":"\(Frames.time(world.server.nowUs).prefix(19))","payload":"new"}}
      """)
    for answer in old { _ = try world.client.receive(answer) }
    _ = try list.poll()
    #expect(try lasts(list).first == "room new")
    world.client.close()
  }

  /// Protects: a push may be faster than the commit behind it, so an answer of the same connection
  /// that lacks its message takes nothing away. The next connection's does.
  @Test(arguments: FoundServer.withPages)
  func aPushFasterThanItsCommitStaysTheLast(_ kind: FoundServer) throws {
    let path = temporary()
    defer { remove(path) }
    let (world, _) = try world(kind, path)
    try world.hand(
      """
      {"type":"message_new","conversation_id":"room","message":\
      {"message_id":"early","conversation_id":"room","sender_id":"you","seq":8,\
      "created_at":"\(Frames.time(world.server.nowUs).prefix(19))","payload":"early"}}
      """)
    let list = try TestList(world.client)
    try list.settle(world)
    #expect(try lasts(list).first == "room early")
    world.advance(ms: 60_000)
    try world.disconnect()
    try world.connect()
    try list.settle(world)
    #expect(try lasts(list).first == "room room 1")
    world.client.close()
  }

  /// Protects: where the last message is deleted by a push and what stands before it is not stored,
  /// an open list asks for it.
  @Test(arguments: FoundServer.withPages)
  func aPushThatDeletesTheLastOneAsksTheList(_ kind: FoundServer) throws {
    let path = temporary()
    defer { remove(path) }
    let (world, ids) = try world(kind, path, syncs: false)
    try world.disconnect()
    // Without a count nothing else makes the list ask.
    world.alter = { $1.replacing(/,"unread_count":\d+/, with: "") }
    try world.client.clear()
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    #expect(try lasts(list) == ["room room 1", "other other 2"])
    world.advance(ms: 61_000)
    world.server.delete(conversation: "room", ids: [ids[6]], lateUs: 0)
    try world.run()
    try world.wait(ms: 2_000)
    try list.settle(world)
    #expect(try lasts(list) == ["room room 0", "other other 2"])
    world.client.close()
  }
}
