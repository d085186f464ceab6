/// Refusals, delays and lost answers: what was refused is the user's to decide, what may
/// have arrived is not sent again unasked.
import Base
import Engine
import ReferenceServer
import TestSupport
import Testing

@Suite struct OutboxTroubles {
  @Test func aRefusalOfTheFirstLeavesTheOthersInOrder() throws {
    let world = try World.idempotent()
    try world.connect()
    try world.sync()
    world.server.failNext("forbidden", verb: "send_message")
    let a = try world.say("a")
    let b = try world.say("b")
    let c = try world.say("c")
    try world.run()
    #expect(world.served() == ["b", "c"])
    #expect(try world.standing(a.operation) == .refused)
    #expect(try world.said(a.operation, \.errorCode) == "forbidden")
    #expect(try world.standing(b.operation) == .done)
    #expect(try world.standing(c.operation) == .done)
    // It stays on screen, behind what is confirmed, and can be sent after all.
    #expect(try world.texts() == ["b", "c", "a"])
    #expect(try world.client.state().operationsStuck == 1)
    #expect(try world.client.retry(a.operation))
    try world.run()
    #expect(world.served() == ["b", "c", "a"])
    #expect(try world.seen().map(\.number) == [b.number, c.number, a.number])
  }

  @Test func aMessageTooLargeIsRefusedAndMayBeShortened() throws {
    var knobs = ServerKnobs()
    knobs.payloadBytesMax = 40
    let world = try World(knobs: knobs)
    try world.connect()
    let long = try world.say(String(repeating: "x", count: 50))
    try world.run()
    #expect(try world.standing(long.operation) == .refused)
    #expect(try world.said(long.operation, \.errorCode) == "too_large")
    #expect(try world.client.editOperation(long.operation, Array(#"{"payload":"short"}"#.utf8)))
    try world.run()
    #expect(world.served() == ["short"])
    #expect(try world.seen().map(\.number) == [long.number])
  }

  @Test func aDelayThatTheServerAskedForIsKept() throws {
    let world = try World.idempotent()
    try world.connect()
    try world.sync()
    world.server.failNext("rate_limited", retryAfterMs: 90_000, verb: "send_message")
    let (operation, _) = try world.say("later")
    try world.say("behind")
    try world.run()
    #expect(world.served().isEmpty)
    #expect(try world.waiting(operation) == .retry)
    // Not even a new connection makes it come sooner.
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 80_000)
    #expect(world.served().isEmpty)
    try world.wait(ms: 200_000)
    #expect(world.served() == ["later", "behind"])
  }

  @Test func anUnavailableServerIsAskedAgain() throws {
    let world = try World.forgetful()
    try world.connect()
    for _ in 0..<5 { world.server.failNext("unavailable", verb: "send_message") }
    let (operation, _) = try world.say("hello")
    try world.wait(ms: 400_000)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(operation) == .done)
    #expect(try world.client.operation(operation).rows[0].attempts == 6)
  }

  /// Nothing was ever shown there by a page: deletions are asked by the row that is there.
  @Test func whatIsTakenAwayFromAnEmptyConversationGoes() throws {
    let world = try World.idempotent()
    try world.connect()
    let (operation, _) = try world.say("a")
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(try world.texts() == ["a"])
    let ids = world.server.newestIDs(world.room, 1)
    world.server.delete(conversation: world.room, ids: ids, lateUs: 0)
    world.advance(ms: 60_000)
    try world.sync()
    #expect(try world.texts().isEmpty)
    #expect(try world.standing(operation) == .done)
  }

  /// An error that is done all the same: the client id tells.
  @Test func existsIsSuccess() throws {
    let world = try World.idempotent()
    try world.connect()
    world.server.failNext("unavailable", verb: "send_message", isDone: true)
    let (operation, number) = try world.say("hello")
    try world.wait(ms: 100_000)
    #expect(world.asked("send_message").count == 2)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(operation) == .done)
    #expect(try world.seen().map(\.number) == [number])
  }

  /// Without idempotency a lost answer is looked for, and nothing is sent twice.
  @Test(arguments: [true, false], [true, false])
  func aLostAnswerIsLookedFor(_ arrives: Bool, _ tellsClientIDs: Bool) throws {
    let world = try World.forgetful(tellsClientIDs: tellsClientIDs)
    world.post(110)
    try world.connect()
    try world.sync()
    let (operation, number) = try world.sayUnanswered("hello", arrives: arrives)
    try world.say("behind")
    try world.breakConnection()
    #expect(try world.standing(operation) == .unknown)
    #expect(try world.waiting(operation) == .check)
    try world.wait(ms: 200_000)
    #expect(world.asked("send_message").count == (arrives ? 2 : 1))
    #expect(try world.standing(operation) == (arrives ? .done : .unknown))
    #expect(world.served() == (arrives ? ["hello", "behind"] : ["behind"]))
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
    if arrives { return }
    // What stays unknown is the user's to decide.
    #expect(try world.waiting(operation) == .nothing)
    #expect(try world.client.retry(operation))
    try world.run()
    #expect(world.served() == ["behind", "hello"])
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
  }

  /// A server that prints payloads anew and tells no client ids: the send is found by its value.
  @Test func aPayloadThatIsPrintedAnewIsTheSameOne() throws {
    let world = try World.forgetful(tellsClientIDs: false)
    world.post(110)
    try world.connect()
    try world.sync()
    let (operation, number) = try world.sayUnanswered("hello", arrives: true)
    world.alter = { _, answer in answer.replacing("\"hello\"", with: "\"\\u0068ell\\u006f\"") }
    try world.breakConnection()
    #expect(try world.standing(operation) == .unknown)
    try world.wait(ms: 200_000)
    #expect(world.answers.contains { $0.contains("\\u0068ell") })
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["hello"])
    #expect(world.asked("send_message").count == 1)
    // One bubble, which keeps its number.
    #expect(try world.seen().filter { $0.text.contains("ell") }.map(\.number) == [number])
  }

  @Test(arguments: 0..<6)
  func withoutIdempotencyAKillSendsAtMostOnce(_ step: Int) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.forgetful(file: folder.file())
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
    try world.connect()
    try world.run()
    try world.wait(ms: 200_000)
    #expect(world.served() == (step == 1 ? [] : ["hello"]))
    #expect(try world.standing(said.operation) == (step == 1 ? .unknown : .done))
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [said.number])
    #expect(world.asked("send_message").count == (step == 0 ? 1 : 0))
  }

  /// A frame that nobody took has not been sent.
  @Test func aFrameNotTakenIsStillQueued() throws {
    let world = try World.forgetful()
    try world.connect()
    let (operation, _) = try world.say("hello")
    try world.client.disconnected()
    #expect(try world.standing(operation) == .queued)
    try world.connect()
    try world.run()
    #expect(world.served() == ["hello"])
  }

  @Test func whatIsCancelledIsGoneWithWhatWaitedForIt() throws {
    let world = try World.idempotent()
    let (operation, _) = try world.say("hello", as: "c1")
    try world.act("react_message", "c1", #","reaction":"+""#)
    try world.say("other")
    #expect(try world.client.cancel(operation: operation))
    #expect(throws: Failure.noOperation) { try world.standing(operation) }
    #expect(try world.texts() == ["other"])
    #expect(try world.open().count == 1)
    try world.connect()
    try world.run()
    #expect(world.served() == ["other"])
    #expect(world.asked("react_message").isEmpty)
  }

  @Test func anUploadIsWaitedFor() throws {
    let world = try World.idempotent()
    try world.connect()
    let (operation, _) = try world.perform(
      """
      {"type":"send_message","conversation_id":"room","payload":"photo","attachment":{"n":1}}
      """, upload: true)
    try world.say("text")
    try world.run()
    #expect(world.served() == ["text"])
    #expect(try world.waiting(operation) == .upload)
    #expect(try world.client.uploadProgress(operation, permille: 300))
    #expect(try world.client.operation(operation).rows[0].uploadPermille == 300)
    #expect(try world.client.uploadFailed(operation, reason: Array("no space".utf8)))
    #expect(try world.standing(operation) == .refused)
    #expect(try world.client.retry(operation))
    #expect(try world.waiting(operation) == .upload)
    #expect(try world.client.uploaded(operation, attachment: Array(#"{"url":"x"}"#.utf8)))
    try world.run()
    #expect(world.asked("send_message").last?.contains(#""attachment":{"url":"x"}"#) == true)
    #expect(try world.standing(operation) == .done)
    #expect(try world.client.uploaded(operation, attachment: []) == false)
  }

  /// What carries no attachment would wait for ever.
  @Test func onlyAMessageWaitsForAnUpload() throws {
    let world = try World.idempotent()
    for json in [
      #"{"type":"subscribe"}"#, #"{"type":"get_conversations"}"#,
      #"{"type":"react_message","conversation_id":"room","message_id":"m","reaction":"+"}"#,
      #"{"type":"mark_read","conversation_id":"room","message_ids":["m"]}"#,
      #"{"type":"typing","conversation_id":"room","event":"begin"}"#,
    ] {
      #expect(throws: Failure.invalid("only a message has an attachment")) {
        try world.perform(json, upload: true)
      }
    }
    #expect(try world.open().isEmpty)
  }

  /// Nothing shows by itself that a conversation was made: the user decides at once.
  @Test func aConversationThatMayHaveBeenMadeIsTheUsersToDecide() throws {
    let world = try World.forgetful()
    try world.connect()
    world.lose("create_conversation")
    let made = try world.perform(
      #"{"type":"create_conversation","client_id":"k","participant_ids":["me","you"]}"#)
    let said = try world.say("hello", in: "k")
    try world.run()
    world.answerAll()
    try world.breakConnection()
    #expect(try world.standing(made.operation) == .unknown)
    #expect(try world.waiting(made.operation) == .nothing)
    #expect(try world.waiting(said.operation) == .turn)
    try world.wait(ms: 200_000)
    #expect(world.asked("create_conversation").count == 1)
    #expect(try world.client.retry(made.operation))
    try world.run()
    #expect(try world.standing(said.operation) == .done)
  }

  /// Where only the sync fails the operation is kept: the same client id finds it again,
  /// and no call says that it is safe before a sync that did not fail.
  @Test func whatCouldNotBeSyncedIsPerformedAgain() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try World.idempotent(file: folder.file()) { $0.baseVFS = disk.name }
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    disk.failSyncs(true)
    #expect(throws: Failure.self) { try world.say("once", as: "c1") }
    disk.failSyncs(false)
    // What a failed sync has lost no later sync brings back.
    #expect(throws: Failure.self) { try world.say("once", as: "c1") }
    world.client.close()
    world.client = try Client.open(world.config)
    let again = try world.say("once", as: "c1")
    let kept = try world.client.operations(OperationQuery(limit: 10)).rows
    #expect(kept.map(\.id) == [again.operation])
    try world.connect()
    try world.run()
    #expect(world.served() == ["once"])
    #expect(try world.standing(again.operation) == .done)
  }

  /// Marks likewise: that they are queued already does not say that they are safe.
  @Test func aRepeatedMarkIsSyncedToo() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try World.idempotent(file: folder.file()) { $0.baseVFS = disk.name }
    let ids = world.post(3).map { Array($0.utf8) }
    try world.connect()
    try world.sync()
    let room = Array(world.room.utf8)
    // Else the opening makes the file of own work, and syncs the log for it.
    try world.client.setDraft(conversation: room, body: [1])
    disk.failSyncs(true)
    #expect(throws: Failure.self) { try world.client.markRead(conversation: room, ids: ids) }
    disk.failSyncs(false)
    #expect(throws: Failure.self) { try world.client.markRead(conversation: room, ids: ids) }
    // Killed before the sync: what it left is queued and not on disk yet.
    try folder.kill(world, keeping: ["", "-wal", "-own"])
    let before = disk.counts.syncs
    try world.client.markRead(conversation: room, ids: ids)
    #expect(disk.counts.syncs > before)
    let after = disk.counts.syncs
    try world.client.markRead(conversation: room, ids: ids)
    #expect(disk.counts.syncs == after)
  }
}

/// A send whose answer was lost is looked for wherever it may stand.
@Suite struct OutboxLooks {
  /// Whether a window showed the newest page before the look began.
  @Test(arguments: [true, false], [true, false])
  func itIsFoundBelowMoreThanTwoPages(_ wasSynced: Bool, _ hasWindow: Bool) throws {
    let world = try World.forgetful()
    world.post(60)
    try world.connect()
    if wasSynced { try world.sync() }
    world.lose("send_message")
    let (operation, number) = try world.say("mine")
    try world.run()
    #expect(world.served() == ["mine"])
    try world.disconnect()
    world.advance(ms: 60_000)
    world.post(130)
    world.answerAll()
    try world.connectListening()
    if hasWindow { try world.window(count: 10).settle(world) }
    try world.wait(ms: 400_000)
    #expect(try world.standing(operation) == .done)
    #expect(try world.client.retry(operation) == false)
    #expect(try world.seen().filter { $0.text == "mine" }.map(\.number) == [number])
    #expect(world.served() == ["mine"])
  }

  /// Where it never arrived, what came since its time was looked through, and no more.
  @Test func whatNeverArrivedIsLookedForNoFurtherThanItCanStand() throws {
    let world = try World.forgetful()
    world.post(2_000)
    try world.connect()
    // What another conversation showed says what the time was.
    for _ in 0..<4 { world.server.post(conversation: "elsewhere", sender: "you", payload: "1") }
    try world.sync(in: "elsewhere")
    world.advance(ms: 60_000)
    let (operation, _) = try world.say("mine")
    _ = try world.client.nextFrame()
    try world.disconnect()
    world.post(130)
    try world.connect()
    world.reset()
    try world.wait(ms: 400_000)
    #expect(try world.standing(operation) == .unknown)
    #expect(try world.waiting(operation) == .nothing)
    // Three pages, and nothing of the 2,000 older ones.
    #expect(world.asked("get_messages").count <= 6, "\(world.requests)")
  }

  /// Where nothing was known of the server's time, a bounded number is looked through.
  @Test(arguments: [Limits.lookMax - 1, Limits.lookMax, Limits.lookMax + 200])
  func withoutATimeTheLookIsBounded(_ count: Int) throws {
    let world = try World.forgetful()
    world.post(30)
    try world.connect()
    world.lose("send_message")
    let (operation, _) = try world.say("mine")
    try world.run()
    try world.disconnect()
    world.answerAll()
    world.post(count)
    try world.connect()
    try world.wait(ms: 400_000)
    let isFound = try world.standing(operation) == .done
    #expect(isFound == (count <= Limits.lookMax))
  }

  /// Such a look bounds no catch-up: what the user asked for beside it is whole, however much
  /// came, also where a window took the newest page first.
  @Test func aBoundedLookBoundsNoCatchUp() throws {
    let world = try World.forgetful()
    world.post(30)
    try world.connect()
    world.lose("send_message")
    let (operation, _) = try world.say("mine")
    try world.run()
    try world.disconnect()
    world.post(60)
    // The look has the newest page when the connection is lost.
    world.alter = { request, answer in request.contains("\"offset\":0") ? answer : nil }
    try world.connect()
    world.advance(ms: 400_000)
    _ = try world.client.advance()
    try world.run()
    try world.disconnect()
    #expect(try world.standing(operation) == .unknown)
    world.answerAll()
    world.post(Limits.lookMax * 5 / 2)
    try world.connect()
    let sync = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    let screen = try TestScreen(world)
    try screen.poll()
    try world.run()
    try screen.settle(world)
    #expect(try world.client.syncStatus(sync).trouble == nil)
    let count = Limits.lookMax * 5 / 2 + 50
    let truth = Set(world.truth())
    let confirmed = try world.cached().filter { truth.contains($0) }
    #expect(confirmed.suffix(count) == world.truth().suffix(count))
    #expect(try world.splits().count <= 1)
  }

  /// On a new connection each subscription is asked for before anything else; one that has
  /// trouble holds up no other.
  @Test func aSubscriptionInTroubleHoldsUpNoOther() throws {
    let world = try World.idempotent(echoesIDs: false)
    try world.connect()
    for name in ["a", "b", "c"] {
      _ = world.server.post(
        conversation: name, sender: "you", payload: "1", id: nil, stampUs: nil, lateUs: nil)
      try world.perform(#"{"type":"subscribe","conversation_id":"\#(name)"}"#)
    }
    try world.run()
    try world.disconnect()
    try world.say("hello")
    world.reset()
    world.server.failNext("unavailable", verb: "subscribe")
    try world.connect()
    try world.wait(ms: 60_000)
    let asked = world.requests.map { request in
      ["\"a\"", "\"b\"", "\"c\"", "send_message"].first { request.contains($0) } ?? ""
    }
    #expect(Array(asked.prefix(4)) == ["\"a\"", "\"b\"", "\"c\"", "send_message"])
    #expect(asked.filter { $0 == "\"a\"" }.count == 2)
  }
}
