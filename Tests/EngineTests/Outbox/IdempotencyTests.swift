/// A server that knows a repeated send for a while, or from one device or connection: beyond that
/// the library looks before it repeats.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct IdempotencyTests {
  enum Scheme: CaseIterable { case times, numbers, log }

  /// What makes the server forget.
  enum End: CaseIterable { case time, device, connection }

  private func world(
    _ scheme: Scheme, _ folder: TrapsRestart.Folder, tellsClientIDs: Bool = true,
    change: (inout Profile) -> Void
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.idempotentSends = true
    knobs.echoesClientIDs = tellsClientIDs
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
    _ scheme: Scheme, _ end: End, arrives: Bool, _ folder: TrapsRestart.Folder
  ) throws -> (world: World, operation: UInt64, number: UInt64) {
    let world = try world(scheme, folder) {
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
    if end == .time { world.timestampGroup(ms: 130_000) }
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
      world.timestampGroup(ms: 60_000)
      _ = try world.client.advance()
      world.timestampGroup(ms: 20_000)
      _ = try world.client.advance()
    } else {
      if end == .time { world.timestampGroup(ms: 100_000) }
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

  /// Protects: where no client ids are told, an equal payload tells that it has arrived.
  @Test(arguments: [true, false])
  func withoutClientIDsItIsFoundByItsPayload(_ arrives: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(.times, folder, tellsClientIDs: false) {
      $0.idempotencyScope = .connection
    }
    let said = try world.sayUnanswered("hello", arrives: arrives)
    world.server.forgetSends()
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
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
    world.hear()
    try world.breakConnection()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(try world.standing(made.operation) == .unknown)
    #expect(world.requests.count { $0.contains("create_conversation") } == 1)
  }
}
