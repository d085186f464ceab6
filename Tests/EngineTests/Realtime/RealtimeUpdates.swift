/// Updates take effect once, in any order, and none blocks the next.
import Base
import Engine
import Foundation
import ReferenceServer
import Store
import Testing

@Suite struct RealtimeUpdates {
  private let at = World.epochUs

  private func connected() throws -> World {
    let world = try World()
    try world.connect()
    return world
  }

  private func message(
    _ id: String, _ second: Int64 = 0, payload: String = "\"text\"", more: String = ""
  ) -> String {
    Frames.message(id, atUs: at + second * 1_000_000, payload: payload, more: more)
  }

  @Test func threeTimesTheSameUpdateIsOneEffectAndThreeReplies() throws {
    let world = try connected()
    let update = Frames.update("r1", "message", [message("a")])
    for _ in 0..<3 {
      #expect(try world.hand(update) == .applied)
      #expect(try world.replies() == ["r1"])
    }
    #expect(try world.cached() == ["a"])
    let stats = try world.client.stats()
    #expect(stats.updates == 1)
    #expect(stats.updatesRepeated == 2)
    #expect(stats.replies == 3)
    let seq = try world.client.state().changeSeq
    try world.hand(update)
    #expect(try world.client.state().changeSeq == seq)
  }

  /// A ref that was seen changes nothing, whatever comes under it.
  @Test func aSeenRefChangesNothing() throws {
    let world = try connected()
    try world.hand(Frames.update("r1", "message", [message("a")]))
    try world.hand(Frames.update("r1", "message", [message("b", 1)]))
    #expect(try world.cached() == ["a"])
  }

  @Test func theSameMessageUnderTwoRefsIsOneMessage() throws {
    let world = try connected()
    try world.hand(Frames.update("r1", "message", [message("a")]))
    let seq = try world.client.state().changeSeq
    try world.hand(Frames.update("r2", "message", [message("a")]))
    #expect(try world.cached() == ["a"])
    #expect(try world.client.state().changeSeq == seq)
    #expect(try world.replies() == ["r1", "r2"])
  }

  /// The answer first or the update first: the same single message.
  @Test(arguments: [true, false])
  func responseAndUpdateInEitherOrder(_ isAnswerFirst: Bool) throws {
    let world = try World()
    world.post(120)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    var pushes: [[UInt8]] = []
    let token = world.server.subscribe(user: "me")
    world.post(3)
    pushes = world.server.drain(token)
    try world.client.connected()
    let updates = Frames.updates(of: pushes, ref: "r")
    #expect(updates.count == 3)
    if !isAnswerFirst { for update in updates { try world.hand(update) } }
    try world.sync()
    if isAnswerFirst { for update in updates { try world.hand(update) } }
    try world.run()
    let cached = try world.cached()
    #expect(cached == Array(world.truth().suffix(cached.count)))
    #expect(Set(cached).count == cached.count && cached.count >= 53)
    #expect(try world.lies() == [])
  }

  /// T11: what is told about a message before the message itself waits for it.
  @Test func t11_whatComesBeforeItsMessageWaits() throws {
    let world = try connected()
    let place = "\"conversation_id\":\"room\",\"message_id\":\"a\""
    try world.hand(
      Frames.update("r1", "reaction", "update", ["{\(place),\"reactions\":{\"👍\":[\"you\"]}}"]))
    try world.hand(Frames.update("r2", "pin", ["{\(place),\"pinned\":true}"]))
    try world.hand(
      Frames.update("r3", "receipt", ["{\(place),\"user_id\":\"me\",\"read_at\":\"x\"}"]))
    try world.hand(
      Frames.update("r4", "receipt", ["{\(place),\"user_id\":\"zoe\",\"delivered_at\":\"x\"}"]))
    #expect(try world.cached() == [])
    try world.hand(Frames.update("r5", "message", [message("a")]))
    #expect(try world.reactions("a") == "{\"👍\":[\"you\"]}")
    #expect(try world.isPinned("a"))
    #expect(try world.readers("a")?.contains("me") == true)
    let flags = try #require(try world.shown("a")).view.flags
    #expect(flags & MessageBit.unread == 0)
    #expect(try world.replies() == ["r1", "r2", "r3", "r4", "r5"])
  }

  /// T11: an edit that overtakes its message is the message, and the older copy that
  /// follows does not put it back.
  @Test func t11_anEditBeforeItsMessage() throws {
    let world = try connected()
    let edited = message(
      "a", payload: "\"new\"", more: ",\"version\":2,\"edited_at\":\"\(Frames.time(at + 9))\"")
    try world.hand(Frames.update("r1", "message", "update", [edited]))
    try world.hand(
      Frames.update("r2", "message", [message("a", payload: "\"old\"", more: ",\"version\":1")]))
    #expect(try world.payload("a") == "\"new\"")
  }

  @Test func aDeletionBeforeItsMessage() throws {
    let world = try connected()
    let place = "{\"conversation_id\":\"room\",\"message_id\":\"a\"}"
    try world.hand(Frames.update("r1", "message", "delete", [place]))
    try world.hand(Frames.update("r2", "message", [message("a"), message("b", 1)]))
    #expect(try world.cached() == ["b"])
    try world.hand(Frames.push(message("a")))
    #expect(try world.cached() == ["b"])
  }

  /// T15: who has read a message is kept, and no older copy takes it back.
  @Test func t15_readStatesOnlyGrow() throws {
    let world = try connected()
    try world.hand(Frames.push(message("a")))
    try world.hand(
      """
      {"type":"messages_read","conversation_id":"room","user_id":"me","message_ids":["a"]}
      """)
    try world.hand(
      """
      {"type":"messages_read","conversation_id":"room","user_id":"zoe","message_ids":["a"]}
      """)
    try world.hand(Frames.edit(message("a", payload: "\"b\"", more: ",\"read_by\":[]")))
    let readers = try #require(try world.readers("a"))
    #expect(readers.contains("me") && readers.contains("zoe"))
    #expect(try #require(try world.shown("a")).view.flags & MessageBit.unread == 0)
    #expect(try world.payload("a") == "\"b\"")
  }

  /// T21: of two copies of one message the newer wins, field by field.
  @Test func t21_theCachedCopyIsNotKept() throws {
    let world = try connected()
    world.post(120)
    try world.sync()
    let ids = Array(world.truth().suffix(20))
    try world.push {
      for id in ids { world.server.edit(conversation: "room", id: id, payload: "\"edited\"") }
      world.server.react(conversation: "room", id: ids[3], user: "you", reaction: "👍")
    }
    for id in ids { #expect(try world.payload(id) == "\"edited\"") }
    try world.sync()
    for id in ids { #expect(try world.payload(id) == "\"edited\"") }
    #expect(try world.reactions(ids[3])?.contains("you") == true)
  }

  /// T22: messages stand by the server's time, never by id.
  @Test func t22_idsHaveNoOrder() throws {
    let world = try connected()
    let ids = ["9", "10", "b", "A", "é", "0"]
    let screen = try TestScreen(world)
    for index in [2, 5, 0, 4, 1, 3] {
      try world.hand(Frames.update("r\(index)", "message", [message(ids[index], Int64(index))]))
      try screen.poll()
    }
    #expect(try world.cached() == ids)
    #expect(try screen.ids() == ids)
    let again = [3, 1, 5, 0, 2, 4].map { message(ids[$0], Int64($0)) }
    try world.hand(Frames.update("all", "message", again))
    #expect(try world.cached() == ids)
    try screen.poll()
    #expect(try screen.ids() == ids)
  }

  @Test func anOlderUpdateAfterANewerOneAndAfterARestart() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    func copy(_ version: Int) -> String {
      message("a", payload: "\"v\(version)\"", more: ",\"version\":\(version)")
    }
    func reacted(_ version: Int) -> String {
      """
      {"conversation_id":"room","message_id":"a","reactions":{"v\(version)":["you"]},\
      "version":\(version)}
      """
    }
    try world.hand(Frames.update("m3", "message", "update", [copy(3)]))
    try world.hand(Frames.update("x3", "reaction", "update", [reacted(3)]))
    try world.hand(Frames.update("m2", "message", "update", [copy(2)]))
    try world.hand(Frames.update("x2", "reaction", "update", [reacted(2)]))
    #expect(try world.payload("a") == "\"v3\"")
    #expect(try world.reactions("a") == "{\"v3\":[\"you\"]}")
    try folder.kill(world)
    try world.client.connected()
    try world.hand(Frames.update("m1", "message", [copy(1)]))
    try world.hand(Frames.update("x1", "reaction", "update", [reacted(1)]))
    #expect(try world.payload("a") == "\"v3\"")
    #expect(try world.reactions("a") == "{\"v3\":[\"you\"]}")
    try world.hand(Frames.update("x4", "reaction", "update", [reacted(4)]))
    #expect(try world.reactions("a") == "{\"v4\":[\"you\"]}")
  }

  /// A frame for another account is refused before anything looks at it.
  @Test func aFrameForAnotherAccountIsUntouched() throws {
    let opened = Lock(0)
    let world = try World { config in
      config.open = { _ in
        opened.withLock { $0 += 1 }
        return .plain([0x61], control: false, event: false)
      }
    }
    try world.connect()
    let before = try world.client.stats()
    let frame = Frames.update("r1", "message", account: "business", [message("a")])
    #expect(throws: Failure.mismatch("account is not that of the client")) {
      try world.hand(frame)
    }
    var expected = before
    expected.framesIn += 1
    expected.framesBad += 1
    #expect(try world.client.stats() == expected)
    #expect(opened.withLock { $0 } == 0)
    #expect(try world.replies() == [])
    #expect(try world.cached() == [])
    #expect(try world.hand(Frames.update("r1", "message", [message("a")])) == .applied)
    #expect(try world.cached() == ["a"])
  }

  /// Each readable message of an update is opened once, in order, bad ones between.
  @Test func eachMessageGetsItsOwnPayload() throws {
    let world = try World { config in
      config.open = { sealed in
        .plain(Array("open ".utf8) + sealed.id, control: false, event: false)
      }
    }
    try world.connect()
    let items =
      [message("a"), "{\"message_id\":\"bad\",\"conversation_id\":\"room\"}"]
      + (1..<130).map { message("m\($0)", Int64($0)) }
    #expect(try world.hand(Frames.update("r1", "message", items)) == .quarantined)
    for id in ["a", "m1", "m77", "m129"] { #expect(try world.payload(id) == "open \(id)") }
    #expect(try world.client.stats().quarantined == 1)
  }
}

extension Frames {
  /// Pushed messages as updates, each with a ref of its own.
  static func updates(of pushes: [[UInt8]], ref: String) -> [String] {
    pushes.enumerated().compactMap { index, push in
      guard let object = try? JSONSerialization.jsonObject(with: Data(push)) as? [String: Any],
        let message = object["message"],
        let json = try? JSONSerialization.data(withJSONObject: message)
      else { return nil }
      let action = object["type"] as? String == "message_new" ? "new" : "update"
      return update("\(ref)\(index)", "message", action, [String(decoding: json, as: UTF8.self)])
    }
  }
}
