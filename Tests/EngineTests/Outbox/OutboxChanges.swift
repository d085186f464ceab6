/// What is done to messages: those on the server, and those still on their way.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxChanges {
  private func synced(_ world: World, count: Int = 110) throws -> String {
    world.post(count)
    try world.connect()
    try world.sync()
    return try #require(world.server.newestIDs(world.room, 1).first)
  }

  @Test func anEditBeforeItWasSentIsOneMessageWithTheFinalText() throws {
    let world = try World.idempotent()
    let (operation, number) = try world.say("first", as: "c1")
    #expect(try world.act("edit_message", "c1", #","payload":"second""#) == operation)
    #expect(try world.act("edit_message", "c1", #","payload":"final""#) == operation)
    #expect(try world.seen().map(\.text) == ["final"])
    try world.connect()
    try world.run()
    #expect(world.served() == ["final"])
    #expect(world.asked("edit_message").isEmpty)
    #expect(try world.seen().map(\.number) == [number])
  }

  /// Also where its frame waits for the host already.
  @Test func anEditTakesAWaitingFrameBack() throws {
    let world = try World.idempotent()
    try world.connect()
    try world.say("first", as: "c1")
    try world.act("edit_message", "c1", #","payload":"final""#)
    try world.run()
    #expect(world.served() == ["final"])
    #expect(world.asked("send_message").count == 1)
  }

  /// An edit that waited for the send is older than one made after its refusal.
  @Test func theLastEditOfARefusedOneCounts() throws {
    let world = try World.idempotent()
    try world.connect()
    let (operation, _) = try world.say("first", as: "c1")
    let frame = try #require(try world.client.nextFrame())
    let edit = try world.act("edit_message", "c1", #","payload":"second""#)
    #expect(edit != operation)
    world.server.failNext("conflict", verb: "send_message")
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    #expect(try world.standing(operation) == .refused)
    #expect(try world.act("edit_message", "c1", #","payload":"final""#) == operation)
    #expect(try world.texts() == ["final"])
    try world.run()
    #expect(world.served() == ["final"])
    #expect(try world.texts() == ["final"])
  }

  /// A window that was opened while there was nothing else holds what is sent from it, and
  /// what others send before it is confirmed.
  @Test func aWindowOfNothingButPendingRowsKeepsThem() throws {
    let world = try World.idempotent()
    let sent = try (0..<3).map { try world.say("mine \($0)", as: "c\($0)").number }
    let window = try world.client.openWindow(
      WindowConfig(conversation: Array(world.room.utf8), at: .latest, count: 2))
    _ = try window.poll()
    #expect(try window.state().rowCount == 3)
    world.post(120)
    try world.connect()
    try world.run()
    while try window.poll() != nil { try world.run() }
    let rows = try #require(try window.rows(first: 0, count: 1_000)).rows.map(\.number)
    #expect(Array(rows.suffix(3)) == sent)
    #expect(rows.count > 3)
    #expect(try window.state().isAtEnd)
    window.close()
  }

  /// Also where it was confirmed since the window was polled.
  @Test func aWindowFindsASendByItsClientID() throws {
    let world = try World.idempotent()
    _ = try synced(world)
    let window = try world.client.openWindow(
      WindowConfig(conversation: Array(world.room.utf8), at: .latest, count: 20))
    _ = try window.poll()
    try world.say("mine", as: "c1")
    _ = try window.poll()
    let row = try #require(try window.find(Array("c1".utf8)))
    try world.run()
    #expect(try window.find(Array("c1".utf8)) == row)
    _ = try window.poll()
    #expect(try window.find(Array("c1".utf8)) == row)
    window.close()
  }

  @Test func anEditOfOneInFlightFollowsIt() throws {
    let world = try World.idempotent()
    try world.connect()
    let (operation, number) = try world.say("first", as: "c1")
    let frame = try #require(try world.client.nextFrame())
    let edit = try world.act("edit_message", "c1", #","payload":"final""#)
    #expect(edit != operation)
    #expect(try world.waiting(edit) == .turn)
    #expect(try world.texts() == ["final"])
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    #expect(try world.texts() == ["final"])
    try world.run()
    #expect(world.served() == ["final"])
    #expect(try world.standing(edit) == .done)
    #expect(try world.seen().map(\.number) == [number])
  }

  @Test func aDeleteOfAQueuedOneCancelsIt() throws {
    let world = try World.idempotent()
    try world.say("never", as: "c1")
    try world.act("delete_message", "c1")
    #expect(try world.texts().isEmpty)
    #expect(try world.open().isEmpty)
    try world.connect()
    try world.run()
    #expect(world.requests.isEmpty)
  }

  @Test func aDeleteOfOneInFlightHidesItAndFollows() throws {
    let world = try World.idempotent()
    try world.connect()
    try world.say("never mind", as: "c1")
    let frame = try #require(try world.client.nextFrame())
    let delete = try world.act("delete_message", "c1")
    #expect(try world.texts().isEmpty)
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    #expect(try world.texts().isEmpty)
    try world.run()
    #expect(try world.standing(delete) == .done)
    #expect(world.served().isEmpty)
    try world.sync()
    #expect(try world.texts().isEmpty)
  }

  /// The server deletes it before the answer is there: the answer brings nothing back.
  @Test func aModeratorDeletesBeforeTheConfirmation() throws {
    let world = try World.idempotent()
    _ = try synced(world)
    let token = world.server.subscribe(user: "me")
    let (operation, _) = try world.say("rude")
    let frame = try #require(try world.client.nextFrame())
    let answers = world.server.handle(frame.bytes, user: "me")
    let id = try #require(world.server.newestIDs(world.room, 1).first)
    world.server.delete(conversation: world.room, ids: [id])
    let pushes = world.server.drain(token)
    // The deletion overtakes everything.
    for push in pushes.reversed() { _ = try world.client.receive(push) }
    for answer in answers { _ = try world.client.receive(answer) }
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(try !world.texts().contains("rude"))
    #expect(try world.open().isEmpty)
  }

  @Test func aRetryDoesNotBringADeletedMessageBack() throws {
    let world = try World.idempotent()
    _ = try synced(world)
    let token = world.server.subscribe(user: "me")
    let (operation, _) = try world.say("rude")
    world.lose("send_message")
    try world.run()
    world.answerAll()
    let id = try #require(world.server.newestIDs(world.room, 1).first)
    world.server.delete(conversation: world.room, ids: [id])
    _ = world.server.drain(token)
    world.server.unsubscribe(token)
    try world.sync()
    try world.breakConnection()
    try world.run()
    try world.sync()
    #expect(world.asked("send_message").count == 2)
    #expect(try world.standing(operation) == .done)
    #expect(try !world.texts().contains("rude"))
  }

  @Test func changesAreSeenAtOnceAndConfirmed() throws {
    let world = try World.idempotent()
    world.post(110)
    world.advance(ms: 1_000)
    let mine = world.server.post(
      conversation: world.room, sender: "me", payload: "\"mine\"", id: nil, stampUs: nil,
      lateUs: nil)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    try world.act("edit_message", mine, #","payload":"edited""#)
    try world.act("react_message", mine, #","reaction":"+""#)
    try world.act("pin_message", mine)
    for _ in 0..<2 {
      #expect(try world.texts().last == "edited")
      #expect(try world.reactions(mine) == #"{"+":["me"]}"#)
      #expect(try world.isPinned(mine))
      try world.connect()
      try world.run()
    }
    #expect(try world.open().isEmpty)
    #expect(world.served() == ["edited"])
    try world.act("unpin_message", mine)
    try world.act("unreact_message", mine, #","reaction":"+""#)
    try world.run()
    #expect(try !world.isPinned(mine))
    #expect(try ["", "{}"].contains(world.reactions(mine)))
  }

  /// A refused change leaves what the server said.
  @Test func aRefusedChangeIsTakenBackOnceItIsDropped() throws {
    let world = try World.idempotent()
    let theirs = try synced(world)
    let before = try world.texts().last
    let edit = try world.act("edit_message", theirs, #","payload":"mine now""#)
    #expect(try world.texts().last == "mine now")
    try world.run()
    #expect(try world.standing(edit) == .refused)
    #expect(try world.client.cancel(operation: edit))
    #expect(try world.texts().last == before)
  }

  @Test func theLastOfSeveralChangesGoesOut() throws {
    let world = try World.idempotent()
    let id = try synced(world)
    try world.client.disconnected()
    world.reset()
    try world.act("pin_message", id)
    try world.act("unpin_message", id)
    try world.act("pin_message", id)
    try world.act("react_message", id, #","reaction":"a""#)
    try world.act("unreact_message", id, #","reaction":"a""#)
    try world.act("react_message", id, #","reaction":"b""#)
    try world.connect()
    try world.run()
    #expect(world.asked("pin_message").count == 1)
    #expect(world.asked("unpin_message").isEmpty)
    #expect(world.asked("react_message").count == 1)
    #expect(world.asked("unreact_message").count == 1)
    #expect(try world.reactions(id) == #"{"b":["me"]}"#)
  }

  @Test func anAnswerToAPendingMessageNamesItsRealID() throws {
    let world = try World.idempotent()
    try world.say("question", as: "c1")
    try world.perform(
      """
      {"type":"send_message","conversation_id":"room","payload":"answer","reply_to":"c1"}
      """)
    try world.connect()
    try world.run()
    let first = try #require(world.truth().first { $0 == world.server.newestIDs("room", 2).last })
    #expect(world.asked("send_message").last?.contains("\"reply_to\":\"\(first)\"") == true)
  }
}
