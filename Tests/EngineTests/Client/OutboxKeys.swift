/// Payloads that open once: what was opened, and what this user wrote, is never lost to
/// a copy that cannot be opened.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct OutboxKeys {
  /// A key that opens each sealed text once, and none while it is away.
  private final class Ratchet: @unchecked Sendable {
    private let lock = NSLock()
    private var used: Set<String> = []
    private var away = false

    var isAway: Bool {
      get { lock.withLock { away } }
      set { lock.withLock { away = newValue } }
    }

    func open(_ sealed: Sealed) -> Opened {
      let text = String(decoding: sealed.frame[sealed.payload], as: UTF8.self)
      let isNew = lock.withLock { !away && used.insert(text).inserted }
      return isNew ? .plain(Array("open \(text)".utf8), control: false, event: false) : .notYet
    }
  }

  private func world(
    _ folder: TrapsRestart.Folder, _ ratchet: Ratchet
  ) throws -> World {
    try World.idempotent(file: folder.file()) { $0.open = { ratchet.open($0) } }
  }

  /// What this user writes goes out sealed, and nothing comes back that he can open.
  private func writer(_ folder: TrapsRestart.Folder) throws -> World {
    try World.idempotent(file: folder.file()) { config in
      config.seal = { .sealed(Array("\"sealed ".utf8) + $0.payload.dropFirst()) }
      config.open = { _ in .notYet }
    }
  }

  /// Numbers and texts, with a mark on what is sealed.
  private func shown(_ world: World) throws -> [String] {
    try world.seen().map { "\($0.number) \($0.text)\($0.flags & (1 << 6) == 0 ? "" : " sealed")" }
  }

  /// The newest message of the newest answer, as a push.
  private func push(_ answer: [UInt8]) throws -> [UInt8] {
    let object = try JSONSerialization.jsonObject(with: Data(answer)) as? [String: Any]
    let data = object?["data"] as? [String: Any]
    let messages = try #require(data?["messages"] as? [[String: Any]])
    let newest = try #require(
      messages.max { ($0["created_at"] as? String ?? "") < ($1["created_at"] as? String ?? "") })
    return Array(
      try JSONSerialization.data(withJSONObject: [
        "type": "message_new", "conversation_id": "room", "message": newest,
      ]))
  }

  @Test func t26_whatWasOpenedOnceStaysOpen() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(folder, Ratchet())
    world.post(130)
    try world.connect()
    try world.sync(.older, want: 130)
    let opened = try shown(world)
    #expect(opened.count == 130 && opened.allSatisfy { $0.contains("open") })
    try world.breakConnection()
    try world.sync()
    #expect(try shown(world) == opened)
    let answer = try #require(world.answers.last { $0.contains("\"messages\":[{") })
    _ = try world.client.receive(push(Array(answer.utf8)))
    #expect(try shown(world) == opened)
    try folder.kill(world)
    try world.connect()
    try world.sync()
    #expect(try shown(world) == opened)
    #expect(try world.client.reopenPayloads(conversation: nil) == 0)
  }

  /// A copy that could be opened is not lost to one that came before it and could not.
  @Test func t26_anOlderCopyThatOpensIsTaken() throws {
    let folder = try TrapsRestart.Folder()
    let ratchet = Ratchet()
    let world = try world(folder, ratchet)
    world.post(60)
    try world.connect()
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    let frame = try #require(try world.client.nextFrame())
    let answers = world.server.handle(frame.bytes, user: "me")
    ratchet.isAway = true
    _ = try world.client.receive(push(try #require(answers.first)))
    #expect(try shown(world).map { $0.hasSuffix("sealed") } == [true])
    ratchet.isAway = false
    for answer in answers { _ = try world.client.receive(answer) }
    try world.run()
    #expect(try shown(world).count >= 50)
    #expect(try shown(world).allSatisfy { $0.contains("open") && !$0.hasSuffix("sealed") })
  }

  /// What is newer on the server is not hidden behind what was opened before.
  @Test(arguments: [true, false])
  func t26_aNewerEditThatCannotBeOpenedIsSealed(_ restarts: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let ratchet = Ratchet()
    let world = try world(folder, ratchet)
    world.post(60)
    try world.connect()
    try world.sync()
    let newest = try #require(world.truth().last)
    let old = try #require(try shown(world).last)
    ratchet.isAway = true
    world.advance(ms: 1_000)
    #expect(world.server.edit(conversation: "room", id: newest, payload: "\"text new\""))
    if restarts { try folder.kill(world) }
    try world.disconnect()
    try world.connect()
    try world.sync()
    #expect(try shown(world).last?.hasSuffix("text new sealed") == true)
    #expect(try shown(world).dropLast().allSatisfy { !$0.hasSuffix("sealed") })
    ratchet.isAway = false
    #expect(try world.client.reopenPayloads(conversation: nil) == 1)
    try world.breakConnection()
    try world.sync()
    let row = try #require(try shown(world).last)
    #expect(row.hasSuffix("open text new") && row.prefix(2) == old.prefix(2))
  }

  /// What this user sent and edited shows as it was written, whatever the answer's fate.
  @Test(arguments: [true, false])
  func t26_whatThisUserWroteStaysReadable(_ isAnswered: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try writer(folder)
    try world.connect()
    let first = try world.say("one")
    let second = try world.say("two")
    try world.run()
    func expect(_ texts: [String]) throws {
      #expect(try shown(world) == zip([first.number, second.number], texts).map { "\($0) \($1)" })
    }
    func seeAgain() throws {
      try world.disconnect()
      try world.connect()
      try world.sync()
    }
    try expect(["one", "two"])
    try seeAgain()
    try expect(["one", "two"])
    let id = try #require(try world.seen().last?.id)
    if !isAnswered { world.lose("edit_message") }
    world.advance(ms: 1_000)
    let edit = try world.act("edit_message", id, #","payload":"three""#)
    try world.run()
    world.answerAll()
    try world.wait(ms: 60_000)
    #expect(try world.standing(edit) == .done)
    try expect(["one", "three"])
    try seeAgain()
    try folder.kill(world)
    try seeAgain()
    try expect(["one", "three"])
    // The messages come anew, the operations are still known.
    try world.client.clear()
    try world.run()
    try world.sync()
    #expect(try world.texts() == ["one", "three"])
    // Another device edits it.
    world.advance(ms: 1_000)
    #expect(world.server.edit(conversation: "room", id: id, payload: "\"sealed elsewhere\""))
    try seeAgain()
    #expect(try shown(world).last?.hasSuffix("sealed elsewhere sealed") == true)
  }

  /// The server has a message of which no answer came, and refuses it when it is sent again. What
  /// the user writes in its place then is not the text of the message that the server has.
  @Test func t26_aTextThatTheServerNeverGotIsNotShownForAnother() throws {
    let world = try writer(TrapsRestart.Folder())
    try world.connect()
    world.lose("send_message")
    let said = try world.say("one", as: "q1")
    try world.run()
    world.answerAll()
    world.server.failNext("too_large", verb: "send_message")
    try world.breakConnection()
    try world.run()
    #expect(try world.standing(said.operation) == .refused)
    world.server.failNext("forbidden", verb: "edit_message")
    try world.act("edit_message", "q1", #","payload":"two""#)
    try world.run()
    #expect(try world.standing(said.operation) == .done)
    #expect(world.served() == ["sealed one"])
    #expect(try shown(world) == ["\(said.number) sealed one sealed"])
    // Nor when it comes anew.
    try world.client.clear()
    try world.sync()
    #expect(try shown(world).map { $0.drop { $0 != " " } } == [" sealed one sealed"])
  }

  /// Protects: two payloads with one FNV-1a sum are two contents. Whoever chooses both must not
  /// have the text of the first one shown for an edit that nobody could open.
  @Test func aPayloadThatOnlySumsAlikeIsAnother() throws {
    let first = "\"7a014ca4d70df5b8\""
    let second = "\"165a67bd3b788441\""
    let folder = try TrapsRestart.Folder()
    let world = try World.forgetful(file: folder.file()) { config in
      config.open = { sealed in
        Array(sealed.frame[sealed.payload]) == Array(second.utf8)
          ? .notYet : .plain(Array("\"open\"".utf8), control: false, event: false)
      }
    }
    world.post(3)
    world.advance(ms: 1_000)
    let id = world.put(first)
    try world.connect()
    try world.sync()
    #expect(try shown(world).last?.hasSuffix("open") == true)
    #expect(world.server.edit(conversation: world.room, id: id, payload: second))
    try world.breakConnection()
    try world.sync()
    #expect(try shown(world).last?.hasSuffix("165a67bd3b788441 sealed") == true)
  }
}
