/// Deletions where rows came by push or by answer, and no page was ever seen.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsIslands {
  /// Three messages bear the server's time out.
  private func elsewhere(_ world: World) {
    world.server.createConversation("other", participants: ["me", "you"])
    for _ in 0..<3 {
      world.put("\"elsewhere\"", in: "other")
      world.advance(ms: 1_000)
    }
  }

  private func kill(_ world: World, _ folder: TrapsRestart.Folder?) throws {
    guard let folder else { return try world.disconnect() }
    try folder.kill(world)
  }

  /// A moderator is faster than the answer to the first message of a conversation.
  @Test(arguments: [false, true])
  func t07_aFirstMessageDeletedBeforeItsAnswerGoes(_ restarts: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.idempotent(file: folder.file())
    try world.connect()
    try world.say("hello")
    let frame = try #require(try world.client.nextFrame())
    let answers = world.server.handle(frame.bytes, user: "me")
    world.advance(ms: 1_000)
    world.server.delete(conversation: "room", ids: world.truth())
    for answer in answers { _ = try world.client.receive(answer) }
    #expect(try world.texts() == ["hello"])
    try kill(world, restarts ? folder : nil)
    try world.connect()
    try world.sync()
    #expect(try world.texts().isEmpty)
    #expect(try world.client.stats().restores == 0)
    // It is remembered, so that no late copy brings it back.
    #expect(try world.client.stats().tombstones == 1)
    let asked = world.asked("get_deleted_since").count
    try world.sync()
    #expect(world.asked("get_deleted_since").count == asked)
  }

  /// The same for what others wrote, whether the server's time is known or not.
  @Test(arguments: [false, true])
  func t07_aPushedMessageDeletedWhileAwayGoes(_ knowsTime: Bool) throws {
    let world = try World()
    if knowsTime { elsewhere(world) }
    try world.connectListening()
    if knowsTime { try world.sync(in: "other") }
    world.alter = { _, _ in nil }
    let ids = world.post(3)
    try world.run()
    #expect(try world.cached() == ids)
    try world.disconnect()
    world.answerAll()
    world.advance(ms: 60_000)
    world.server.delete(conversation: "room", ids: ids)
    try world.connect()
    try world.sync()
    #expect(try world.cached().isEmpty)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.client.stats().tombstones == 3)
  }

  /// Where the server has forgotten the deletion, the page that lacks the row decides.
  @Test func t07_aPushedMessageDeletedBeyondTheHorizonGoes() throws {
    let hour: Int64 = 3_600_000_000
    var profile = Profile()
    profile.deletionHorizonUs = hour
    let folder = try TrapsRestart.Folder()
    var knobs = ServerKnobs()
    knobs.deletionHorizonUs = hour
    let world = try World(knobs: knobs, profile: profile, file: folder.file())
    try world.connectListening()
    world.alter = { _, _ in nil }
    let ids = world.post(3)
    try world.run()
    #expect(try world.cached() == ids)
    world.server.delete(conversation: "room", ids: ids)
    world.answerAll()
    world.advance(ms: 5 * 3_600_000)
    elsewhere(world)
    try folder.kill(world)
    try world.connect()
    try world.sync(in: "other")
    try world.sync()
    #expect(try world.cached().isEmpty)
  }

  /// A push may be faster than the commit behind it, also where no time is known yet.
  @Test func t12_aPushBeforeItsCommitIsNoRestore() throws {
    let world = try World()
    try world.connect()
    let push = """
      {"type":"message_new","conversation_id":"room","message":{"message_id":"m1",\
      "conversation_id":"room","sender_id":"you","created_at":"2026-02-15T22:15:45",\
      "payload":"early"}}
      """
    _ = try world.client.receive(Array(push.utf8))
    try world.run()
    try world.sync()
    #expect(try world.cached() == ["m1"])
    #expect(try world.client.stats().restores == 0)
  }

  /// A stamp years ahead does not say when a message came, so all deletions are asked for.
  @Test(arguments: [false, true])
  func t07_aPushedMessageAheadOfTheClockGoes(_ knowsTime: Bool) throws {
    let world = try World()
    if knowsTime { elsewhere(world) }
    try world.connectListening()
    if knowsTime { try world.sync(in: "other") }
    world.alter = { _, _ in nil }
    let id = world.server.post(
      conversation: "room", sender: "you", payload: "\"ahead\"", id: nil,
      stampUs: World.epochUs + 5 * 365 * 86_400_000_000, lateUs: nil)
    try world.run()
    #expect(try world.cached() == [id])
    try world.disconnect()
    world.answerAll()
    world.advance(ms: 60_000)
    world.server.delete(conversation: "room", ids: [id])
    try world.connect()
    try world.sync()
    #expect(try world.cached().isEmpty)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.client.stats().tombstones == 1)
  }
}
