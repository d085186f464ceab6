/// Messages that are sent: at once on screen, once on the server, in order.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxSending {
  @Test func aMessageIsThereAtOnceAndKeepsItsNumber() throws {
    let world = try World.idempotent()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    let (operation, number) = try world.say("hello")
    #expect(try world.standing(operation) == .queued)
    #expect(try world.waiting(operation) == .connection)
    let pending = try #require(try world.seen().last)
    #expect(pending.text == "hello" && pending.number == number)
    try world.connect()
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["hello"])
    let sent = try #require(try world.seen().last)
    #expect(sent.number == number && sent.text == "hello")
    #expect(sent.id == world.server.newestIDs(world.room, 1).first)
    #expect(try world.seen().count { $0.text == "hello" } == 1)
    try world.sync()
    #expect(try world.seen().count { $0.text == "hello" } == 1)
    #expect(try world.open().isEmpty)
    #expect(try world.said(operation, \.result).contains("message_id"))
  }

  @Test func manyGoInOrder() throws {
    for echoes in [true, false] {
      let world = try World.idempotent(echoesIDs: echoes)
      let texts = (0..<120).map { "m\($0)" }
      for text in texts { try world.say(text) }
      #expect(try world.texts() == texts)
      try world.connect()
      try world.run()
      #expect(world.served() == texts)
      try world.sync()
      #expect(try world.texts() == texts)
    }
  }

  @Test func theSameClientIDIsTheSameOperation() throws {
    let world = try World.idempotent()
    let first = try world.say("once", as: "c1")
    let second = try world.say("twice", as: "c1")
    #expect(first == second)
    try world.connect()
    try world.run()
    let third = try world.say("thrice", as: "c1")
    #expect(third.operation == first.operation)
    try world.run()
    #expect(world.served() == ["once"])
    #expect(try world.texts() == ["once"])
  }

  /// The push comes before the answer, and after it; and not at all.
  @Test(arguments: ["before", "after", "never"], [true, false])
  func theEchoIsTheSameMessage(_ echo: String, _ tellsClientIDs: Bool) throws {
    let world = try World.forgetful(tellsClientIDs: tellsClientIDs)
    world.post(120)
    try world.connect()
    try world.sync()
    let token = world.server.subscribe(user: "me")
    var answer: [UInt8] = []
    let (operation, number) = try world.say("hello")
    while let frame = try world.client.nextFrame() {
      for sent in world.server.handle(frame.bytes, user: "me") {
        if String(decoding: frame.bytes, as: UTF8.self).contains("send_message") {
          answer = sent
        } else {
          _ = try world.client.receive(sent)
        }
      }
    }
    let pushes = world.server.drain(token)
    #expect(pushes.count == 1)
    if echo == "before" {
      for push in pushes { _ = try world.client.receive(push) }
      #expect(try world.standing(operation) == .done)
      #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
    }
    _ = try world.client.receive(answer)
    #expect(try world.standing(operation) == .done)
    if echo == "after" {
      for push in pushes { _ = try world.client.receive(push) }
    }
    try world.run()
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
    try world.sync()
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
  }

  /// A kill between any two steps: with an idempotent server there is one copy.
  @Test(arguments: 0..<6)
  func aKillAtAnyPointSendsOnce(_ step: Int) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.idempotent(file: folder.file())
    world.post(110)
    try world.connect()
    try world.sync()
    let said = try world.say("hello")
    var frames: [[UInt8]] = []
    if step >= 1, let frame = try world.client.nextFrame() { frames = [frame.bytes] }
    var answers: [[UInt8]] = []
    if step >= 2 { answers = frames.flatMap { world.server.handle($0, user: "me") } }
    if step == 3 { for answer in answers { _ = try world.client.receive(answer) } }
    if step == 4 { try world.client.disconnected() }
    if step == 5 {
      world.advance(ms: 200_000)
      _ = try world.client.advance()
    }
    try folder.kill(world)
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [said.number])
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
    try world.sync()
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [said.number])
  }

  @Test func conversationsDoNotWaitForEachOther() throws {
    let world = try World.idempotent()
    world.server.createConversation("other", participants: ["me", "you"])
    try world.connect()
    try world.sync()
    world.lose("send_message") { true }
    try world.say("stuck")
    try world.run()
    world.answerAll()
    try world.say("free", in: "other")
    try world.say("behind")
    try world.run()
    #expect(world.served(in: "other") == ["free"])
    #expect(world.served() == ["stuck"])
    try world.wait(ms: 200_000)
    #expect(world.served() == ["stuck", "behind"])
  }

  @Test func whatWasSentBeforeTheConnectionBrokeIsSentAgain() throws {
    let world = try World.idempotent()
    try world.connect()
    try world.sync()
    let (operation, number) = try world.say("hello")
    world.lose("send_message")
    try world.run()
    #expect(try world.standing(operation) == .inFlight)
    #expect(try world.client.cancel(operation: operation) == false)
    #expect(try world.client.retry(operation) == false)
    world.answerAll()
    try world.breakConnection()
    try world.run()
    #expect(world.served() == ["hello"])
    #expect(try world.seen().map(\.number) == [number])
    #expect(try world.client.operation(operation).rows[0].attempts == 2)
  }
}
