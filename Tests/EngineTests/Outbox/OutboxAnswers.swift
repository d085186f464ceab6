/// Answers to messages that are not sent after all, and what was done to such messages:
/// nothing that the user wrote is lost, and nothing waits out of sight.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxAnswers {
  /// An answer to a message, by whichever name it has.
  private func answer(
    _ world: World, _ text: String, to message: String, as clientID: String = "b1"
  ) throws -> (operation: UInt64, number: UInt64) {
    world.advance(ms: 1_000)
    return try world.perform(
      """
      {"type":"send_message","client_id":"\(clientID)","conversation_id":"room",\
      "reply_to":"\(message)","payload":"\(text)"}
      """)
  }

  /// A send whose frame the host has taken, and what the server says to it then.
  private func sent(
    _ world: World, _ text: String, as clientID: String
  ) throws -> (operation: UInt64, refuse: () throws -> Void) {
    try world.connect()
    let (operation, _) = try world.say(text, as: clientID)
    let frame = try #require(try world.client.nextFrame())
    return (
      operation,
      {
        world.server.failNext("too_large", verb: "send_message")
        for answer in world.server.handle(frame.bytes, user: "me") {
          _ = try world.client.receive(answer)
        }
      }
    )
  }

  /// An answer with another message than the one that was sent takes nothing away: the send is told
  /// again, to a server that knows it by its client id.
  @Test(arguments: [
    (#""sender_id":"me""#, #""sender_id":"you""#), (#""client_id":"k1""#, #""client_id":"k2""#),
  ])
  func anAnswerWithAnotherMessageSettlesNothing(_ told: String, _ wrong: String) throws {
    let world = try World.idempotent()
    try world.connect()
    let (operation, _) = try world.say("one", as: "k1")
    var isFirst = true
    world.alter = { request, answer in
      defer { if request.contains("send_message") { isFirst = false } }
      guard isFirst, request.contains("send_message") else { return answer }
      return answer.replacing(told, with: wrong).replacing(
        #""message_id":""#, with: #""message_id":"0"#)
    }
    try world.run()
    #expect(!isFirst)
    #expect(try world.texts() == ["one"])
    #expect(try world.standing(operation) != .done)
    try world.wait(ms: 60_000)
    #expect(try world.standing(operation) == .done)
    #expect(try world.texts() == ["one"])
    #expect(world.served() == ["one"])
  }

  private func isNotSent(_ world: World, _ operation: UInt64) throws -> Bool {
    try world.standing(operation) == .refused
      && world.said(operation, \.errorCode) == "not_sent"
  }

  /// The user has it sent by itself, or sends what it answers first.
  @Test(arguments: [false, true])
  func anAnswerToARefusedMessageIsTheUsersToDecide(_ both: Bool) throws {
    let world = try World.idempotent()
    let a = try sent(world, "question", as: "a1")
    let b = try answer(world, "answer", to: "a1")
    let c = try answer(world, "more", to: "b1", as: "c1")
    #expect(try world.waiting(b.operation) == .turn)
    try a.refuse()
    #expect(try isNotSent(world, b.operation))
    #expect(try isNotSent(world, c.operation))
    #expect(try world.texts() == ["question", "answer", "more"])
    #expect(try world.client.state().operationsStuck == 3)
    if both { #expect(try world.client.retry(a.operation)) }
    #expect(try world.client.retry(b.operation))
    #expect(try world.client.retry(c.operation))
    try world.run()
    let names = world.truth()
    let told = world.asked("send_message").suffix(2)
    #expect(world.served() == (both ? ["question", "answer", "more"] : ["answer", "more"]))
    #expect(told.first?.contains("\"reply_to\":\"\(names[0])\"") == both)
    #expect(told.first?.contains("reply_to") == both)
    #expect(told.last?.contains("\"reply_to\":\"\(names[both ? 1 : 0])\"") == true)
    #expect(try world.standing(c.operation) == .done)
  }

  @Test(arguments: [false, true])
  func whatTheUserTakesBackTakesNoAnswerAlong(_ deletes: Bool) throws {
    let world = try World.idempotent()
    let a = try world.say("question", as: "a1")
    let b = try answer(world, "answer", to: "a1")
    try world.act("react_message", "a1", #","reaction":"+""#)
    if deletes {
      try world.act("delete_message", "a1")
    } else {
      #expect(try world.client.cancel(operation: a.operation))
    }
    #expect(try world.open() == [b.operation])
    #expect(try isNotSent(world, b.operation))
    #expect(try world.seen().map(\.number) == [b.number])
    // A retry sends it without the message that it answered.
    #expect(try world.client.retry(b.operation))
    try world.connect()
    try world.run()
    #expect(world.served() == ["answer"])
    #expect(world.asked("send_message").allSatisfy { !$0.contains("a1") })
  }

  /// An edit sends it like a retry does.
  @Test func anEditedAnswerToNothingAnswersNothing() throws {
    let world = try World.idempotent()
    let a = try world.say("question", as: "a1")
    let b = try answer(world, "answer", to: "a1")
    #expect(try world.client.cancel(operation: a.operation))
    #expect(try isNotSent(world, b.operation))
    #expect(try world.act("edit_message", "b1", #","payload":"remark""#) == b.operation)
    try world.connect()
    try world.run()
    #expect(world.served() == ["remark"])
    #expect(world.asked("send_message").allSatisfy { !$0.contains("reply_to") })
  }

  @Test func anAnswerToWhatWasNotFoundIsTheUsersToDecide() throws {
    let world = try World.forgetful()
    try world.connect()
    let (a, _) = try world.say("question", as: "a1")
    _ = try world.client.nextFrame()
    let b = try answer(world, "answer", to: "a1")
    try world.breakConnection()
    #expect(try world.waiting(a) == .check)
    #expect(try world.waiting(b.operation) == .turn)
    try world.wait(ms: 200_000)
    #expect(try world.standing(a) == .unknown)
    #expect(try isNotSent(world, b.operation))
    #expect(try world.client.retry(a))
    #expect(try world.client.retry(b.operation))
    try world.run()
    #expect(world.served() == ["question", "answer"])
    let first = try #require(world.truth().first)
    #expect(world.asked("send_message").last?.contains("\"reply_to\":\"\(first)\"") == true)
  }

  @Test func anAnswerToARefusedMessageIsRefusedAtOnce() throws {
    let world = try World.idempotent()
    let a = try sent(world, "question", as: "a1")
    try a.refuse()
    let b = try answer(world, "answer", to: "a1")
    #expect(try isNotSent(world, b.operation))
    #expect(try world.texts() == ["question", "answer"])
    // Other words are a retry as well.
    #expect(
      try world.client.editOperation(b.operation, Array(#"{"payload":"by itself"}"#.utf8)))
    try world.run()
    #expect(world.served() == ["by itself"])
    #expect(world.asked("send_message").last?.contains("reply_to") == false)
  }

  /// What an answer waits for is seen anew when it is told to answer something else.
  @Test func anotherMessageToAnswerIsAnotherOneToWaitFor() throws {
    let world = try World.idempotent()
    let a = try sent(world, "question", as: "a1")
    let b = try answer(world, "answer", to: "a1")
    let change = { (json: String) in
      try world.client.editOperation(b.operation, Array(json.utf8))
    }
    #expect(try world.waiting(b.operation) == .turn)
    #expect(try change(#"{"reply_to":null}"#))
    try world.say("other", as: "o1")
    #expect(try change(#"{"reply_to":"o1"}"#))
    try a.refuse()
    #expect(try world.standing(b.operation) == .queued)
    try world.run()
    #expect(world.served() == ["other", "answer"])
    let other = try #require(world.truth().first)
    #expect(world.asked("send_message").last?.contains("\"reply_to\":\"\(other)\"") == true)
    // Nobody answers himself, or what waits for his own words.
    try world.client.disconnected()
    let c = try world.say("c", as: "c1")
    let d = try answer(world, "d", to: "c1", as: "d1")
    #expect(throws: Failure.self) {
      try world.client.editOperation(d.operation, Array(#"{"reply_to":"d1"}"#.utf8))
    }
    #expect(throws: Failure.self) {
      try world.client.editOperation(c.operation, Array(#"{"reply_to":"d1"}"#.utf8))
    }
  }

  @Test func anAnswerInAConversationThatIsNotMadeYetWaitsForBoth() throws {
    let world = try World.idempotent()
    let made = try world.perform(
      #"{"type":"create_conversation","client_id":"k","participant_ids":["me","you"]}"#)
    func ask() throws -> (a: UInt64, b: UInt64) {
      let a = try world.perform(
        #"{"type":"send_message","conversation_id":"k","payload":"photo","client_id":"a1"}"#,
        upload: true)
      let b = try world.perform(
        #"{"type":"send_message","conversation_id":"k","payload":"answer","reply_to":"a1"}"#)
      return (a.operation, b.operation)
    }
    let (a, b) = try ask()
    #expect(try world.client.uploadFailed(a, reason: []))
    #expect(try isNotSent(world, b))
    #expect(try world.client.retry(b))
    #expect(try world.waiting(b) == .turn)
    #expect(try world.client.cancel(operation: a))
    // What was said where there will be no conversation goes with it.
    let (_, second) = try ask()
    #expect(try world.client.cancel(operation: second))
    let (third, fourth) = try ask()
    #expect(try world.client.uploadFailed(third, reason: []))
    #expect(try isNotSent(world, fourth))
    #expect(try world.client.cancel(operation: made.operation))
    #expect(try world.open().isEmpty)
  }

  /// Hidden for ever would be a deletion that waits for what is not sent.
  @Test(arguments: [false, true])
  func aDeletionTakesBackWhatIsNotSent(_ isUnknown: Bool) throws {
    let world = try isUnknown ? World.forgetful() : World.idempotent()
    let a = try sent(world, "never mind", as: "a1")
    try world.act("edit_message", "a1", #","payload":"really""#)
    let b = try answer(world, "answer", to: "a1")
    try world.act("delete_message", "a1")
    #expect(try world.texts() == ["answer"])
    if isUnknown {
      try world.breakConnection()
      try world.wait(ms: 200_000)
    } else {
      try a.refuse()
    }
    #expect(try world.open() == [b.operation])
    #expect(try isNotSent(world, b.operation))
    #expect(try world.texts() == ["answer"])
    #expect(throws: Failure.noOperation) { try world.standing(a.operation) }
  }

  @Test func aDeletionOfWhatWasNotFoundTakesItBack() throws {
    let world = try World.forgetful()
    let a = try sent(world, "never mind", as: "a1")
    try world.breakConnection()
    try world.wait(ms: 200_000)
    #expect(try world.standing(a.operation) == .unknown)
    #expect(try world.act("delete_message", "a1") == a.operation)
    #expect(try world.open().isEmpty)
    #expect(try world.texts().isEmpty)
  }

  /// Edits and reactions lie over the refused row, go out after it, or go with it.
  @Test(arguments: [false, true])
  func whatIsAboutARefusedMessageSharesItsFate(_ retries: Bool) throws {
    let world = try World.idempotent()
    let a = try sent(world, "first", as: "a1")
    let edit = try world.act("edit_message", "a1", #","payload":"final""#)
    let reaction = try world.act("react_message", "a1", #","reaction":"+""#)
    try a.refuse()
    #expect(try world.texts() == ["final"])
    #expect(try world.open() == [a.operation, edit, reaction])
    if retries {
      #expect(try world.client.retry(a.operation))
      try world.run()
      #expect(world.served() == ["final"])
    } else {
      #expect(try world.client.cancel(operation: a.operation))
      try world.run()
      #expect(world.served().isEmpty)
      #expect(world.asked("react_message").isEmpty)
    }
    #expect(try world.open().isEmpty)
  }

  /// The name that only this device knows is never told, whatever a process forgot.
  @Test func aRestartForgetsNothingOfIt() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.forgetful(file: folder.file())
    let a = try sent(world, "question", as: "a1")
    let b = try answer(world, "answer", to: "a1")
    try folder.kill(world)
    #expect(try world.standing(a.operation) == .unknown)
    #expect(try world.standing(b.operation) == .queued)
    try world.connect()
    try world.wait(ms: 200_000)
    #expect(try isNotSent(world, b.operation))
    try folder.kill(world)
    #expect(try isNotSent(world, b.operation))
    try world.connect()
    try world.wait(ms: 200_000)
    #expect(try world.client.retry(b.operation))
    try world.run()
    #expect(world.served() == ["answer"])
    #expect(world.requests.allSatisfy { !$0.contains("\"reply_to\":\"a1\"") })
  }

  /// A name that was given to something is never taken for something else, whose loss nobody
  /// would hear of.
  @Test func oneClientIDIsForOneThing() throws {
    let world = try World.idempotent()
    try world.connect()
    let first = try world.say("a", as: "k")
    #expect(throws: Failure.self) { try world.say("b", as: "k", in: "elsewhere") }
    #expect(throws: Failure.self) {
      try world.perform(#"{"type":"create_conversation","client_id":"k"}"#)
    }
    #expect(try world.say("a", as: "k").operation == first.operation)
    try world.run()
    #expect(try world.say("a", as: "k").operation == first.operation)
    #expect(throws: Failure.self) { try world.say("b", as: "k", in: "elsewhere") }
    #expect(world.served() == ["a"])
  }
}
