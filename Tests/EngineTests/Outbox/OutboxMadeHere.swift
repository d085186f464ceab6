/// A conversation that is made here and told by the server under its client id.
///
/// Rule protected: it is one row with one number, whatever comes first: a push, a page of the list,
/// the conversation asked for by its id, or the answer to its making.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxMadeHere {
  enum Way: CaseIterable { case push, list, asked, answer }

  @discardableResult
  private func create(_ world: World, _ more: String = "") throws -> UInt64 {
    try world.perform(
      """
      {"type":"create_conversation","client_id":"mine","participant_ids":["you"],\
      "title":"ours"\(more)}
      """
    ).operation
  }

  /// A list that asks for nothing.
  private func quietList(_ world: World) throws -> TestList {
    var config = ListConfig()
    config.isCacheOnly = true
    return try TestList(world.client, config)
  }

  /// An answer is lost: its request stays under way.
  private func go(_ world: World, _ list: TestList) throws {
    for _ in 0..<10 {
      try world.run()
      try list.poll()
    }
  }

  /// The number of a conversation, by any of its names.
  private func number(_ world: World, _ name: String) throws -> UInt64? {
    try world.client.conversation(Array(name.utf8)).rows.first?.number
  }

  private func made(_ world: World) throws -> String {
    try #require(world.server.conversationIDs.first { $0 != world.room })
  }

  /// Made with an answer that is lost, and told again by the way that is given.
  private func makeAndShow(_ world: World, _ way: Way, _ list: TestList) throws {
    if way == .push { try world.connectListening() } else { try world.connect() }
    if way != .answer { world.lose("create_conversation") }
    try go(world, list)
    switch way {
    case .push, .answer: break
    case .list: _ = try world.client.sync(SyncRequest(kind: .conversations))
    case .asked:
      let id = try made(world)
      _ = try world.perform(#"{"type":"get_conversation","conversation_id":"\#(id)"}"#)
    }
    try go(world, list)
  }

  @Test(arguments: Way.allCases, [false, true])
  func itIsOneRowWhateverTellsIt(_ way: Way, _ isIdempotent: Bool) throws {
    let world = try isIdempotent ? World.idempotent() : World.forgetful()
    let list = try quietList(world)
    // A server that was seen to name the request that it answers is asked for more beside it.
    try world.connect()
    try world.sync()
    try world.disconnect()
    let operation = try create(world)
    let said = try world.say("hello", in: "mine")
    let window = try world.client.openWindow(WindowConfig(conversation: Array("mine".utf8)))
    _ = try window.poll()
    let first = try #require(try number(world, "mine"))
    _ = try list.poll()
    #expect(list.numbers.first == first)
    try makeAndShow(world, way, list)
    let real = try made(world)
    #expect(try world.standing(operation) == .done)
    #expect(try number(world, real) == first)
    #expect(try number(world, "mine") == first)
    #expect(try list.ids().filter { $0 != world.room } == [real])
    #expect(try list.ids().contains(real))
    for diff in list.diffs { #expect(diff.rowCount <= 2) }
    // What was written in it follows, and its window goes on.
    #expect(try world.standing(said.operation) == .done)
    #expect(world.served(in: real) == ["hello"])
    _ = try window.poll()
    #expect(try window.state().rowCount == 1)
    #expect(world.server.conversationIDs.count == 2)
  }

  /// A late answer of its making changes nothing, nor does one that refuses it.
  @Test(arguments: [true, false])
  func theAnswerAfterThePushChangesNothing(_ isRefused: Bool) throws {
    let world = try World.idempotent()
    try world.connectListening()
    let list = try quietList(world)
    var late: [String] = []
    world.alter = { request, answer in
      guard request.contains("\"create_conversation\"") else { return answer }
      late.append(answer)
      return nil
    }
    let operation = try create(world)
    let first = try #require(try number(world, "mine"))
    try go(world, list)
    let real = try made(world)
    #expect(try world.standing(operation) == .done)
    var frame = try #require(late.first)
    if isRefused {
      let data = try #require(frame.firstRange(of: #""status":"ok""#)).lowerBound
      frame = frame[..<data] + #""status":"error","error":{"code":"forbidden"}}"#
    }
    _ = try world.client.receive(Array(frame.utf8))
    try go(world, list)
    #expect(try world.standing(operation) == .done)
    #expect(try number(world, real) == first)
    #expect(try list.ids() == [real])
  }

  /// One that was refused and is there all the same is made.
  @Test func aRefusedOneThatIsThereIsMade() throws {
    let world = try World.idempotent()
    try world.connect()
    world.server.failNext("forbidden", verb: "create_conversation", isDone: true)
    let operation = try create(world)
    let said = try world.say("hello", in: "mine")
    let first = try #require(try number(world, "mine"))
    try world.run()
    #expect(try world.standing(operation) == .refused)
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(try world.standing(said.operation) == .done)
    #expect(try number(world, try made(world)) == first)
  }

  enum End: CaseIterable { case cancelled, left, refused, refusedAndLeft }

  /// What is not made after all is gone from its window, which says so and asks nobody.
  ///
  /// header: "has no rows then and says #TL_E_NOT_FOUND as its trouble"
  @Test(arguments: End.allCases, [false, true])
  func aWindowOnOneThatIsNotMadeIsTold(_ end: End, _ hasDraft: Bool) throws {
    let world = try World.idempotent()
    let isRefused = end == .refused || end == .refusedAndLeft
    if isRefused { world.server.failNext("forbidden", verb: "create_conversation") }
    if isRefused { try world.connect() }
    let operation = try create(world)
    try world.say("hello", in: "mine")
    try world.say("again", in: "mine")
    if hasDraft {
      try world.client.setDraft(conversation: Array("mine".utf8), body: Array("draft".utf8))
    }
    let list = try quietList(world)
    let screen = try TestScreen(world) { $0.conversation = Array("mine".utf8) }
    try screen.settle(world)
    try list.poll()
    #expect(screen.numbers.count == 2)
    #expect(try screen.state().trouble == nil)
    if end == .left || end == .refusedAndLeft {
      try world.perform(#"{"type":"leave_conversation","conversation_id":"mine"}"#)
    } else {
      #expect(try world.client.cancel(operation: operation))
    }
    try screen.poll()
    try list.poll()
    #expect(screen.numbers.isEmpty)
    #expect(try screen.state().trouble == .noConversation)
    #expect(try screen.state().waiting == .nothing)
    #expect(try !screen.state().hasGapBefore)
    #expect(try !list.ids().contains("mine"))
    // Nobody is asked of a name that only this device ever used.
    if isRefused { try world.disconnect() }
    world.reset()
    try world.connect()
    _ = try screen.window.load(Load(.last))
    try screen.settle(world)
    #expect(!world.requests.contains { $0.contains("\"mine\"") })
    #expect(screen.numbers.isEmpty)
    #expect(try screen.state().trouble == .noConversation)
    // Made once more under its name it is shown again.
    try create(world)
    try world.say("at last", in: "mine")
    try screen.settle(world)
    #expect(screen.numbers.count == 1)
    #expect(try screen.state().trouble == nil)
    #expect(world.served(in: try made(world)) == ["at last"])
    #expect(try screen.state().waiting == .nothing)
  }

  /// A name that nobody here made one under is a name of another device.
  @Test func aNameOfAnotherDeviceIsNobodysHere() throws {
    let world = try World.idempotent()
    try world.connectListening()
    let other = """
      {"type":"create_conversation","client_id":"theirs","participant_ids":["you"],"request_id":"1"}
      """
    let operation = try create(world)
    let said = try world.say("in the room", as: "theirs")
    _ = world.server.handle(Array(other.utf8), user: "me")
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(try world.standing(said.operation) == .done)
    #expect(world.server.conversationIDs.count == 3)
    #expect(try world.texts() == ["in the room"])
    #expect(try world.client.conversations(offset: 0, limit: 10).rows.count == 3)
  }
}
