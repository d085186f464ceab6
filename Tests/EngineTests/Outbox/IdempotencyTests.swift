/// A server that knows a repeated send for a while, or from one device or connection: beyond that
/// the library looks before it repeats.
import Base
import ReferenceServer
import Store
import Testing

@testable import Engine

@Suite struct IdempotencyTests {
  enum Scheme: CaseIterable { case times, numbers, log }

  /// What makes the server forget.
  enum End: CaseIterable { case time, device, connection }

  private func world(
    _ scheme: Scheme, _ folder: TrapsRestart.Folder, tellsClientIDs: Bool = true,
    echoes: Bool = true, change: (inout Profile) -> Void
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.idempotentSends = true
    knobs.echoesClientIDs = tellsClientIDs
    knobs.echoesRequestIDs = echoes
    knobs.keepsLog = scheme == .log
    knobs.numbersMessages = scheme == .numbers
    var profile = Profile()
    profile.capabilities = [.idempotentSend]
    if scheme == .numbers { profile.capabilities.insert(.sequence) }
    if scheme == .log { profile.keepsLog(refusesUnknown: true, namesEpoch: true) }
    change(&profile)
    let world = try World(knobs: knobs, profile: profile, file: folder.file()) {
      $0.device = Array("first".utf8)
    }.ticking()
    world.post(120)
    try world.connect()
    try world.run()
    try world.sync()
    return world
  }

  /// A send whose answer is lost, and then all that the server knows it by.
  private func lost(
    _ scheme: Scheme, _ end: End, arrives: Bool, _ folder: TrapsRestart.Folder,
    echoes: Bool = true
  ) throws -> (world: World, operation: UInt64, number: UInt64) {
    let world = try world(scheme, folder, echoes: echoes) {
      switch end {
      case .time: $0.idempotencyUs = 120_000_000
      case .device: $0.idempotencyScope = .device
      case .connection: $0.idempotencyScope = .connection
      }
    }
    try world.say("earlier")
    try world.run()
    let said = try world.sayUnanswered("hello", arrives: arrives)
    try world.client.disconnected()
    if end == .time { world.advance(ms: 130_000) }
    if end == .device { world.config.device = Array("second".utf8) }
    if end == .device { try folder.kill(world) }
    world.server.forgetSends()
    world.post(70)
    return (world, said.operation, said.number)
  }

  /// Protects: a send that has arrived is not there twice, also where the server has forgotten it.
  @Test(arguments: Scheme.allCases, End.allCases)
  func whatHasArrivedIsFound(_ scheme: Scheme, _ end: End) throws {
    let folder = try TrapsRestart.Folder()
    let (world, operation, number) = try lost(scheme, end, arrives: true, folder)
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["earlier", "hello"])
    #expect(try world.standing(operation) == .done)
    try world.sync()
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
  }

  /// Protects: what has not arrived goes out by itself once the server was looked at, and what was
  /// said after it stays behind it.
  @Test(arguments: Scheme.allCases, End.allCases)
  func whatHasNotArrivedIsSentOnce(_ scheme: Scheme, _ end: End) throws {
    let folder = try TrapsRestart.Folder()
    let (world, operation, _) = try lost(scheme, end, arrives: false, folder)
    let behind = try world.say("behind").operation
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["earlier", "hello", "behind"])
    for seq in [operation, behind] { #expect(try world.standing(seq) == .done) }
  }

  /// Protects: where one request at a time goes out, a send that waits for a look takes the place
  /// of none: the sync that waits goes out at once.
  @Test func aSyncGoesOutInItsPlace() throws {
    let folder = try TrapsRestart.Folder()
    let (world, operation, _) = try lost(
      .times, .connection, arrives: true, folder, echoes: false)
    let sync = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try world.connect()
    try world.run()
    #expect(try world.client.syncStatus(sync).phase == .ended)
    try world.wait(ms: 120_000)
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["earlier", "hello"])
  }

  /// Protects: where the server still knows it nothing is looked for, and nothing waits.
  @Test(arguments: End.allCases)
  func whatIsKnownIsRepeatedAtOnce(_ end: End) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder) {
      switch end {
      case .time: $0.idempotencyUs = 120_000_000
      case .device: $0.idempotencyScope = .device
      case .connection: $0.idempotencyScope = .connection
      }
    }
    let said = try world.sayUnanswered("hello", arrives: true)
    if end == .connection {
      // Its time-out passes on the connection that it went out on.
      world.advance(ms: 60_000)
      _ = try world.client.advance()
      world.advance(ms: 20_000)
      _ = try world.client.advance()
    } else {
      if end == .time { world.advance(ms: 60_000) }
      try folder.kill(world)
      try world.connect()
    }
    try world.run()
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
  }

  /// Protects: a clock that was set back says nothing of how long ago it was.
  @Test func aClockThatWasSetBackIsNotBelieved() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder) { $0.idempotencyUs = 120_000_000 }
    try world.say("earlier")
    try world.run()
    let said = try world.sayUnanswered("hello", arrives: true)
    try folder.kill(world)
    world.clock.setSkew(us: -3_600_000_000)
    world.server.forgetSends()
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["earlier", "hello"])
    #expect(try world.standing(said.operation) == .done)
  }

  /// Protects: where the server tells no client ids a look does not say whether it has arrived: it
  /// is not sent twice by itself, and no other message of this user's is taken for it.
  @Test(arguments: [true, false])
  func withoutClientIDsItIsTheUsersToDecide(_ arrives: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder, tellsClientIDs: false) {
      $0.idempotencyScope = .connection
    }
    let said = try world.sayUnanswered("hello", arrives: arrives)
    world.server.forgetSends()
    // Another device of this user's says the same.
    if !arrives {
      world.server.post(conversation: "room", sender: "me", payload: "\"hello\"")
    }
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .unknown)
  }

  /// Protects: what was given up is the user's to decide, also in the next process.
  @Test func whatWasGivenUpIsNotSentByItself() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder) { $0.idempotencyScope = .device }
    let said = try world.sayUnanswered("hello", arrives: false)
    world.config.device = Array("second".utf8)
    try folder.kill(world)
    world.alter = { request, answer in
      request.contains("get_messages")
        ? answer.replacing("\"status\":\"ok\"", with: "\"status\":\"error\"")
          .replacing("\"data\":", with: "\"error\":{\"code\":\"forbidden\"},\"data\":")
        : answer
    }
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(try world.standing(said.operation) == .unknown)
    world.answerAll()
    try folder.kill(world)
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(try world.standing(said.operation) == .unknown)
    #expect(world.served().isEmpty)
    #expect(try world.client.retry(said.operation))
    try world.run()
    #expect(world.served() == ["hello"])
  }

  /// Protects: what was refused is not there, so that once it was corrected it goes out at once.
  @Test func whatWasRefusedAndCorrectedGoesOut() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder) { $0.idempotencyScope = .connection }
    world.alter = { request, answer in
      request.contains("send_message")
        ? answer.replacing("\"status\":\"ok\"", with: "\"status\":\"error\"")
          .replacing("\"data\":", with: "\"error\":{\"code\":\"too_large\"},\"data\":")
        : answer
    }
    let reply = world.server.newestIDs(world.room, 1)[0]
    let said = try world.perform(
      """
      {"type":"send_message","conversation_id":"room","reply_to":"\(reply)","payload":"long"}
      """)
    try world.run()
    #expect(try world.standing(said.operation) == .refused)
    world.answerAll()
    try world.breakConnection()
    #expect(
      try world.client.editOperation(
        said.operation,
        Array(#"{"reply_to":null,"payload":"short"}"#.utf8)))
    try world.run()
    #expect(try world.standing(said.operation) == .done)
  }

  /// Protects: of a clock that says less than has passed the other one is believed, and of a time
  /// that is nearly over nothing is expected.
  @Test func anAgeIsTheGreaterOneWithRoomForTheRequest() {
    func isKnown(wallS: Int64?, sinceS: Int64?, by: Int64 = 7, isOfAccount: Bool = true) -> Bool {
      let recognition = RepeatRecognition(
        now: SendStamp(atUs: 1_000_000_000, by: 8), nowMs: 500_000, isOfAccount: isOfAccount,
        knownUs: 120_000_000, timeoutMs: 30_000)
      return recognition.isKnown(
        SendStamp(atUs: wallS.map { 1_000_000_000 - $0 * 1_000_000 }, by: by),
        sinceMs: sinceS.map { 500_000 - $0 * 1_000 })
    }
    #expect(isKnown(wallS: 80, sinceS: 80))
    #expect(isKnown(wallS: 80, sinceS: nil))
    #expect(isKnown(wallS: nil, sinceS: 80))
    #expect(!isKnown(wallS: nil, sinceS: nil))
    #expect(!isKnown(wallS: 95, sinceS: nil))
    #expect(!isKnown(wallS: 5, sinceS: 200))
    #expect(!isKnown(wallS: -5, sinceS: 10))
    #expect(!isKnown(wallS: 10, sinceS: 10, isOfAccount: false))
    #expect(isKnown(wallS: 10, sinceS: 10, by: 8, isOfAccount: false))
    let forEver = RepeatRecognition(
      now: SendStamp(atUs: nil, by: 0), nowMs: 0, isOfAccount: true, knownUs: 0, timeoutMs: 30_000)
    #expect(forEver.isKnown(SendStamp(atUs: 0, by: -1), sinceMs: nil))
  }

  /// Protects: a conversation that may have been made is not made twice.
  @Test func aCreateIsTheUsersToDecide() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder) { $0.idempotencyScope = .connection }
    let made = try world.perform(
      """
      {"type":"create_conversation","client_id":"made","title":"t","participant_ids":["me","you"]}
      """)
    world.lose("create_conversation")
    try world.run()
    world.answerAll()
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(try world.standing(made.operation) == .unknown)
    #expect(world.requests.count { $0.contains("create_conversation") } == 1)
  }
}
