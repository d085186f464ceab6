/// Sends that the user rewrote after the server was told of them: what the server has is
/// shown as what it is, and what the user wrote last is not lost.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxRewritten {
  /// How the message comes as it was before.
  enum Way: CaseIterable {
    case answer, exists, page, push
  }

  private func world(
    _ folder: TrapsRestart.Folder, seals: Bool, tellsClientIDs: Bool = true
  ) throws -> World {
    try World.idempotent(file: folder.file(), tellsClientIDs: tellsClientIDs) { config in
      guard seals else { return }
      config.seal = { sealable in
        // Not the same for a message and for an edit of it.
        let kind = sealable.message.isEmpty ? "sealed " : "edited "
        return .sealed(Array("\"\(kind)".utf8) + sealable.payload.dropFirst())
      }
      config.open = { _ in .notYet }
    }
  }

  /// The server has "one" and refused it all the same; the user writes "two" instead.
  private func rewritten(_ world: World) throws -> (operation: UInt64, number: UInt64) {
    try world.connect()
    try world.sync()
    world.server.failNext("odd", verb: "send_message", isDone: true)
    let said = try world.say("one", as: "q1")
    try world.run()
    #expect(try world.standing(said.operation) == .refused)
    try world.disconnect()
    try world.act("edit_message", "q1", #","payload":"two""#)
    #expect(try world.standing(said.operation) == .queued)
    #expect(try world.texts() == ["two"])
    return said
  }

  /// Answers to sends say only that there is such a message.
  private func answerOnlyExists(_ world: World) {
    world.alter = { request, answer in
      guard request.contains("\"type\":\"send_message\"") else { return answer }
      return answer.split(separator: ",\"data\":").first.map { $0 + "}" }
    }
  }

  @Test(arguments: Way.allCases, [true, false])
  func whatWasWrittenLastFollowsAsAnEdit(_ way: Way, _ seals: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(folder, seals: seals)
    let said = try rewritten(world)
    // A restart forgets nothing of it.
    try folder.kill(world)
    switch way {
    case .answer: break
    case .exists: answerOnlyExists(world)
    case .page, .push:
      world.server.failNext("rate_limited", retryAfterMs: 90_000, verb: "send_message")
    }
    try world.connect()
    try world.run()
    if way == .page { try world.sync() }
    if way == .push {
      let row = try #require(world.server.truth(world.room).last)
      _ = try world.client.receive(
        Array(
          """
          {"type":"message_new","conversation_id":"room","message":{"message_id":"\(row.id)",\
          "sender_id":"me","client_id":"q1","payload":\(row.payload),\
          "created_at":"\(ServerTime.text(row.stampUs, world.server.knobs))"}}
          """.utf8))
      try world.run()
    }
    world.answerAll()
    try world.wait(ms: 20_000)
    #expect(try world.standing(said.operation) == .done)
    #expect(world.served() == [seals ? "edited two" : "two"])
    #expect(world.asked("edit_message").count == 1)
    #expect(try world.seen().map(\.number) == [said.number])
    #expect(try world.texts() == ["two"])
    let state = try world.client.state()
    #expect(state.operationsOpen + state.operationsStuck == 0)
    // It is a message like any other when it comes anew.
    try world.client.clear()
    try world.run()
    try world.sync()
    #expect(try world.texts() == ["two"])
  }

  /// What was rewritten and is stored as it was written last needs no edit.
  @Test(arguments: [true, false])
  func whatArrivedAsWrittenNeedsNoEdit(_ seals: Bool) throws {
    let world = try world(TrapsRestart.Folder(), seals: seals)
    try world.connect()
    world.server.failNext("odd", verb: "send_message")
    let said = try world.say("one", as: "q1")
    try world.run()
    #expect(
      try world.client.editOperation(said.operation, Array(#"{"payload":"two"}"#.utf8)))
    try world.run()
    #expect(try world.standing(said.operation) == .done)
    #expect(world.asked("edit_message").isEmpty)
    #expect(try world.texts() == ["two"])
    try world.client.clear()
    try world.run()
    try world.sync()
    #expect(try world.texts() == ["two"])
  }

  /// What the user asked for since counts more.
  @Test(arguments: ["edit_message", "delete_message"])
  func whatWasAskedForSinceCounts(_ verb: String) throws {
    let world = try world(TrapsRestart.Folder(), seals: false)
    let said = try rewritten(world)
    try world.connect()
    // On its way, so that it is not changed in place.
    _ = try world.client.nextFrame()
    while try world.standing(said.operation) != .inFlight { _ = try world.client.nextFrame() }
    try world.act(verb, "q1", verb == "edit_message" ? #","payload":"three""# : "")
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 60_000)
    #expect(try world.standing(said.operation) == .done)
    #expect(world.asked("edit_message").count == (verb == "edit_message" ? 1 : 0))
    let left = verb == "edit_message" ? ["three"] : []
    #expect(world.served() == left)
    #expect(try world.texts() == left)
  }

  /// Where no client id is told the message is shown beside the send. What was done to it then
  /// does not say what the send is to say.
  @Test func anEditOfTheMessageShownBesideItCountsLess() throws {
    let world = try world(TrapsRestart.Folder(), seals: false, tellsClientIDs: false)
    try world.connect()
    world.server.failNext("odd", verb: "send_message", isDone: true)
    let said = try world.say("one", as: "q1")
    try world.run()
    try world.sync()
    #expect(try world.texts() == ["one", "one"])
    try world.disconnect()
    try world.act("edit_message", try #require(world.truth().last), #","payload":"three""#)
    #expect(
      try world.client.editOperation(said.operation, Array(#"{"payload":"two"}"#.utf8)))
    try world.connect()
    try world.run()
    #expect(world.served() == ["two"])
    #expect(try world.texts() == ["two"])
    #expect(try world.standing(said.operation) == .done)
  }

  /// Then two edits of the message wait, and the user's next one counts more than either.
  @Test func anEditAfterTwoThatWaitIsTheLast() throws {
    let hasKey = Lock(true)
    let world = try World.idempotent(tellsClientIDs: false) { config in
      config.seal = { sealable in
        hasKey.withLock { $0 } ? .sealed(sealable.payload) : .notYet
      }
    }
    try world.connect()
    world.server.failNext("odd", verb: "send_message", isDone: true)
    let said = try world.say("one", as: "q1")
    try world.run()
    try world.sync()
    #expect(
      try world.client.editOperation(said.operation, Array(#"{"payload":"two"}"#.utf8)))
    hasKey.withLock { $0 = false }
    try world.act("edit_message", try #require(world.truth().last), #","payload":"three""#)
    try world.run()
    #expect(try world.standing(said.operation) == .done)
    #expect(try world.texts() == ["two"])
    try world.act("edit_message", "q1", #","payload":"four""#)
    #expect(try world.texts() == ["four"])
    hasKey.withLock { $0 = true }
    _ = try world.client.reopenPayloads(conversation: nil)
    try world.run()
    #expect(world.served() == ["four"])
    #expect(try world.texts() == ["four"])
    let state = try world.client.state()
    #expect(state.operationsOpen + state.operationsStuck == 0)
  }

  /// A server that only says that there is such a message, and names none: the text stays, the
  /// user's to decide.
  @Test func whatCannotBeFoundIsTheUsersToDecide() throws {
    let world = try world(TrapsRestart.Folder(), seals: false, tellsClientIDs: false)
    let said = try rewritten(world)
    answerOnlyExists(world)
    try world.connect()
    try world.wait(ms: 60_000)
    #expect(try world.standing(said.operation) == .unknown)
    #expect(try world.waiting(said.operation) == .nothing)
    #expect(try world.texts() == ["one", "two"])
    #expect(try world.client.retry(said.operation))
    world.answerAll()
    try world.wait(ms: 60_000)
    #expect(try world.standing(said.operation) == .done)
    #expect(try world.texts() == ["two"])
    #expect(world.served() == ["two"])
  }

  /// A server may print what it was given otherwise: it is this user's message all the same,
  /// also after a lost answer.
  @Test func aTextThatIsPrintedOtherwiseStaysReadable() throws {
    let world = try world(TrapsRestart.Folder(), seals: true)
    try world.connect()
    world.lose("send_message")
    let said = try world.say("one")
    try world.run()
    world.alter = { $1.replacing(#""sealed one""#, with: #""seal\u0065d one""#) }
    try world.breakConnection()
    try world.run()
    #expect(try world.standing(said.operation) == .done)
    #expect(try world.client.operation(said.operation).rows[0].attempts == 2)
    #expect(try world.texts() == ["one"])
    #expect(world.asked("edit_message").isEmpty)
    try world.client.clear()
    try world.run()
    try world.sync()
    #expect(try world.texts() == ["one"])
  }
}
