/// Conversations that are made here, asked for, left and come to again.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxConversations {
  @discardableResult
  private func create(
    _ world: World, _ name: String, _ more: String = ""
  ) throws -> UInt64 {
    try world.perform(
      """
      {"type":"create_conversation","client_id":"\(name)","participant_ids":["me","you"]\(more)}
      """
    ).operation
  }

  /// Made, written to and looked at while offline; then the server names it.
  @Test(arguments: [false, true])
  func oneMadeOfflineWorksAtOnce(_ restarts: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.idempotent(file: folder.file())
    let operation = try create(world, "mine", #","title":"ours""#)
    let a = try world.say("a", in: "mine")
    let b = try world.say("b", in: "mine")
    #expect(try world.texts(in: "mine") == ["a", "b"])
    let sync = try world.client.sync(SyncRequest(conversation: Array("mine".utf8)))
    #expect(try world.client.syncStatus(sync).phase == .waiting)
    let window = try world.client.openWindow(WindowConfig(conversation: Array("mine".utf8)))
    _ = try window.poll()
    #expect(try window.state().rowCount == 2)
    if restarts { try folder.kill(world) }
    try world.connect()
    try world.run()
    #expect(try world.standing(operation) == .done)
    let real = try #require(world.server.conversationIDs.first { $0 != world.room })
    #expect(world.served(in: real) == ["a", "b"])
    #expect(try world.seen(in: real).map(\.number) == [a.number, b.number])
    // Its first name still finds it.
    #expect(try world.seen(in: "mine").map(\.number) == [a.number, b.number])
    let later = try world.say("c", in: "mine")
    try world.run()
    #expect(world.served(in: real) == ["a", "b", "c"])
    #expect(try world.standing(later.operation) == .done)
    try world.sync(in: "mine")
    if restarts { return }
    #expect(try world.client.syncStatus(sync).phase == .ended)
    _ = try window.poll()
    #expect(try window.state().rowCount == 3)
    #expect(!world.requests.contains { $0.contains("\"conversation_id\":\"mine\"") })
  }

  /// There is one for the same people already: what was written goes there.
  @Test func aDistinctOneBecomesTheOneThatIsThere() throws {
    let world = try World.forgetful()
    world.server.createConversation("pair", participants: ["me", "you"])
    world.put("\"old\"", in: "pair")
    try world.connect()
    try world.sync(in: "pair")
    try world.client.disconnected()
    try create(world, "mine", #","distinct":true"#)
    let said = try world.say("new", in: "mine")
    let window = try world.client.openWindow(WindowConfig(conversation: Array("mine".utf8)))
    _ = try window.poll()
    world.advance(ms: 1_000)
    try world.connect()
    try world.run()
    let real = try world.page(in: "mine").conversation
    let id = String(decoding: real, as: UTF8.self)
    #expect(world.server.conversationIDs.contains(id))
    try world.sync(in: id)
    #expect(try world.texts(in: id).last == "new")
    #expect(try world.seen(in: id).last?.number == said.number)
    for _ in 0..<5 {
      _ = try window.poll()
      try world.run()
    }
    #expect(try window.state().rowCount == (try world.texts(in: id).count))
  }

  @Test func aRefusedOneKeepsWhatWasWritten() throws {
    let world = try World.idempotent()
    try world.connect()
    world.server.failNext("forbidden", verb: "create_conversation")
    let operation = try create(world, "mine")
    let said = try world.say("hello", in: "mine")
    try world.run()
    #expect(try world.standing(operation) == .refused)
    #expect(try world.standing(said.operation) == .queued)
    #expect(world.asked("send_message").isEmpty)
    #expect(try world.client.retry(operation))
    try world.run()
    #expect(try world.standing(said.operation) == .done)
  }

  /// A sync of a conversation whose making was refused waits for the user: nothing is under way.
  @Test func aSyncOfARefusedOneIsNoCatchingUp() throws {
    let world = try World.idempotent()
    try world.connect()
    world.server.failNext("forbidden", verb: "create_conversation")
    let operation = try create(world, "mine")
    let sync = try world.client.sync(SyncRequest(conversation: Array("mine".utf8)))
    #expect(try world.client.state().phase == .catchingUp)
    try world.run()
    #expect(try world.standing(operation) == .refused)
    #expect(try world.client.syncStatus(sync).phase == .waiting)
    #expect(try world.client.state().phase == .upToDate)
    // Beside it something is under way.
    let other = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    #expect(try world.client.state().phase == .catchingUp)
    try world.run()
    #expect(try world.client.syncStatus(other).phase == .ended)
    #expect(try world.client.state().phase == .upToDate)
    #expect(try world.client.retry(operation))
    try world.run()
    #expect(try world.client.syncStatus(sync).phase == .ended)
    #expect(try world.client.state().phase == .upToDate)
  }

  @Test func aCancelledOneTakesWhatWasWrittenAlong() throws {
    let world = try World.idempotent()
    let operation = try create(world, "mine")
    let said = try world.say("hello", in: "mine")
    #expect(try world.client.cancel(operation: operation))
    #expect(throws: Failure.noOperation) { try world.standing(said.operation) }
    #expect(try world.texts(in: "mine").isEmpty)
    try world.connect()
    try world.run()
    #expect(world.asked("create_conversation").isEmpty)
  }

  /// Where nobody was told of it there is nothing to be undone: not a conversation that was
  /// there for the same people, and nobody who would hear of one that comes and goes.
  @Test(arguments: ["leave_conversation", "delete_conversation"], [true, false])
  func oneThatNobodyWasToldOfIsTakenBack(_ verb: String, _ isRefused: Bool) throws {
    let world = try World.idempotent()
    let list = try TestList(world.client)
    let made = try create(world, "mine", #","distinct":true"#)
    let said = try world.say("hello", in: "mine")
    if isRefused {
      world.server.failNext("forbidden", verb: "create_conversation")
      try world.connect()
      try world.run()
      #expect(try world.standing(made) == .refused)
    }
    _ = try list.poll()
    #expect(try list.ids().contains("mine"))
    world.reset()
    let gone = try world.perform(#"{"type":"\#(verb)","conversation_id":"mine"}"#).operation
    #expect(gone == made)
    #expect(throws: Failure.noOperation) { try world.standing(made) }
    #expect(throws: Failure.noOperation) { try world.standing(said.operation) }
    if !isRefused { try world.connect() }
    try list.settle(world)
    #expect(try list.ids() == ["room"])
    for name in ["create_conversation", "send_message", verb] {
      #expect(world.asked(name).isEmpty)
    }
    #expect(world.server.conversationIDs == ["room"])
  }

  /// What may have been told is followed by its deletion.
  @Test func oneThatMayBeThereIsDeletedAfterwards() throws {
    let world = try World.idempotent()
    try world.connect()
    try create(world, "mine")
    world.lose("create_conversation")
    try world.run()
    let gone = try world.perform(
      #"{"type":"delete_conversation","conversation_id":"mine"}"#
    ).operation
    #expect(world.server.conversationIDs.count == 2)
    world.answerAll()
    try world.breakConnection()
    try world.wait(ms: 100_000)
    #expect(try world.standing(gone) == .done)
    #expect(world.server.conversationIDs == ["room"])
  }

  @Test func oneThatIsLeftIsEmptyAndBeginsAnew() throws {
    let world = try World.idempotent()
    world.post(130)
    try world.connect()
    try world.sync()
    let leave = try world.perform(
      #"{"type":"leave_conversation","conversation_id":"room"}"#
    ).operation
    try world.run()
    #expect(try world.standing(leave) == .done)
    #expect(try world.cached().isEmpty)
    _ = world.server.addMember(conversation: "room", user: "me")
    world.post(60)
    try world.sync()
    #expect(try world.tailFaults(50) == [])
    #expect(try world.lies() == [])
  }

  @Test func whatIsAskedForIsAnsweredAndNotKept() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.idempotent(file: folder.file())
    world.post(3)
    let stale = try world.perform(#"{"type":"get_conversations"}"#).operation
    try folder.kill(world)
    #expect(throws: Failure.noOperation) { try world.standing(stale) }
    try world.connect()
    let list = try world.perform(
      #"{"type":"get_conversations","include_last_message":true}"#
    ).operation
    try world.run()
    #expect(try world.standing(list) == .done)
    #expect(try world.said(list, \.result).contains("\"room\""))
    #expect(try world.texts() == ["text 2"])
  }

  @Test func subscriptionsAreAskedAgainBeforeOtherWork() throws {
    let world = try World.idempotent()
    world.post(3)
    try world.connect()
    try world.perform(#"{"type":"subscribe"}"#)
    try world.perform(#"{"type":"subscribe","conversation_id":"room"}"#)
    try world.run()
    try world.client.disconnected()
    try world.say("hello")
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    world.reset()
    try world.connect()
    try world.run()
    #expect(world.requests.first?.contains("\"subscribe\"") == true)
    #expect(world.asked("subscribe").count == 2)
    #expect(world.asked("subscribe").last?.contains("\"conversation_id\":\"room\"") == true)
    #expect(world.served() == ["hello"])
    try world.perform(#"{"type":"unsubscribe"}"#)
    try world.perform(#"{"type":"unsubscribe","conversation_id":"room"}"#)
    try world.run()
    world.reset()
    try world.breakConnection()
    try world.run()
    #expect(world.asked("subscribe").isEmpty)
  }

  /// The first request is on its way when the second is made, and is to be repeated.
  @Test(arguments: ["lost", "ok", "unavailable"]) func theLastWordAboutASubscriptionCounts(
    ending: String
  ) throws {
    let world = try World.idempotent()
    try world.connect()
    if ending == "unavailable" { world.server.failNext(ending, verb: "subscribe") }
    try world.perform(#"{"type":"subscribe","conversation_id":"room"}"#)
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    try world.perform(#"{"type":"unsubscribe","conversation_id":"room"}"#)
    let answers = ending == "lost" ? [] : world.server.handle(frame.bytes, user: "me")
    for answer in answers { _ = try world.client.receive(answer) }
    try world.wait(ms: 100_000)
    try world.breakConnection()
    try world.run()
    #expect(world.asked("subscribe").isEmpty)
    #expect(world.asked("unsubscribe").count == 1)
    #expect(try world.open().isEmpty)
  }

  @Test func deliveriesAreToldByThemselves() throws {
    let world = try World { $0.autoMarkDelivered = true }
    world.post(60)
    try world.connectListening()
    try world.sync()
    #expect(world.asked("mark_delivered").count == 1)
    world.post(1)
    try world.run()
    #expect(world.asked("mark_delivered").count == 2)
    try world.sync()
    #expect(world.asked("mark_delivered").count == 2)
  }

  private func draft(_ world: World, _ name: String) throws -> String {
    let page = try world.client.conversation(Array(name.utf8))
    let row = try #require(page.rows.first)
    return String(decoding: page.bytes[row.draft], as: UTF8.self)
  }

  /// Both were written; the one that was written last is what the user goes on with.
  @Test(arguments: [true, false])
  func ofTwoDraftsTheNewerStaysWhereConversationsMerge(_ isOwnNewer: Bool) throws {
    let world = try World.idempotent()
    _ = world.server.handle(
      Array(
        """
        {"type":"create_conversation","request_id":"x","client_id":"theirs",\
        "participant_ids":["me","you"],"distinct":true}
        """.utf8), user: "you")
    let pair = try #require(world.server.conversationIDs.last)
    world.put("\"old\"", in: pair)
    try world.connect()
    try world.sync(in: pair)
    try world.disconnect()
    try create(world, "mine", #","distinct":true"#)
    for name in isOwnNewer ? [pair, "mine"] : ["mine", pair] {
      try world.client.setDraft(conversation: Array(name.utf8), body: Array("in \(name)".utf8))
    }
    let list = try TestList(world.client)
    _ = try list.poll()
    try world.connect()
    try list.settle(world)
    #expect(try draft(world, pair) == (isOwnNewer ? "in mine" : "in \(pair)"))
    #expect(try draft(world, "mine") == draft(world, pair))
  }

  @Test func aDraftOutlivesTheCancelledConversation() throws {
    let world = try World.idempotent()
    let name = Array("mine".utf8)
    let operation = try create(world, "mine")
    try world.client.setDraft(conversation: name, body: Array("kept".utf8))
    let list = try TestList(world.client)
    _ = try list.poll()
    #expect(try world.client.cancel(operation: operation))
    #expect(try draft(world, "mine") == "kept")
    #expect(try world.client.conversations(offset: 0, limit: 10).rows.isEmpty)
    // Made once more under its name, it has its draft.
    try create(world, "mine")
    try world.connect()
    try world.run()
    let real = try #require(world.server.conversationIDs.first { $0 != world.room })
    #expect(try draft(world, real) == "kept")
    try world.client.setDraft(conversation: name, body: [])
    #expect(try draft(world, real).isEmpty)
  }

  /// What was written under a name before the conversation is made goes with it.
  @Test func aDraftBeforeTheConversationIsItsDraft() throws {
    let world = try World.idempotent()
    try world.client.setDraft(conversation: Array("mine".utf8), body: Array("early".utf8))
    try create(world, "mine")
    let said = try world.say("a", in: "mine")
    try world.connect()
    try world.run()
    let real = try #require(world.server.conversationIDs.first { $0 != world.room })
    #expect(try draft(world, real) == "early")
    #expect(try world.standing(said.operation) == .done)
    #expect(world.served(in: real) == ["a"])
  }
}
