/// What a pushed message joins, and what it asks for where it joins nothing.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct RealtimePushes {
  /// A client that has caught up with 130 messages and is connected.
  private func caughtUp(_ world: World) throws -> World {
    world.post(130)
    try world.connect()
    try world.sync()
    world.reset()
    return world
  }

  /// A push of `id`, which the server has, that names its predecessor.
  private func linked(_ world: World, _ id: String, after previous: String) throws -> String {
    let stampUs = try #require(world.server.message("room", id)).stampUs
    return Frames.push(
      Frames.message(id, atUs: stampUs, more: ",\"prev_id\":\"\(previous)\""))
  }

  // MARK: Lossless push

  @Test func losslessPushNeedsNoRefetchAndSurvivesARestart() throws {
    let folder = try TrapsRestart.Folder()
    let world = try caughtUp(try World.lossless(file: folder.file()))
    try world.push { world.post(120) }
    try world.run()
    #expect(world.requests == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(170) == [])
    try folder.kill(world)
    #expect(try world.isWhole())
    #expect(try world.tailFaults(170) == [])
    // The quiet hours are not fetched again: only the overlap is.
    try world.client.connected()
    world.reset()
    try world.sync()
    #expect(world.asked("get_messages").count == 1)
    #expect(world.bodies.count <= 7)
    #expect(try world.lies() == [])
  }

  /// What was missed while offline is found: the watermark never passed it.
  @Test(arguments: ServerKind.all)
  func losslessPushLosesNothingAcrossConnections(_ kind: ServerKind) throws {
    let world = try kind.world(profile: { $0.pushIsLossless = true })
    world.post(130)
    try world.connect()
    try world.sync()
    for round in 0..<4 {
      try world.push { world.post(15, everyMs: round % 2 == 0 ? 1_000 : 100) }
      try world.run()
      #expect(try world.lies() == [])
      // Stamped now, visible only when the connection is gone.
      let late = world.put("\"late \(round)\"", lateMs: 3_000)
      try world.missing(110)
      try world.push { world.post(2) }
      #expect(try world.lies(hidden: [late]) == [])
      try world.sync()
      #expect(try world.lies() == [])
    }
    #expect(try world.tailFaults(4 * 128) == [])
    #expect(try world.isWhole())
  }

  /// A push while a catch-up is under way may be newer than its pages.
  @Test func aLosslessPushDuringACatchUpAsksOnceMore() throws {
    let world = try caughtUp(try World.lossless())
    try world.missing(120)
    let token = world.server.subscribe(user: "me")
    world.alter = { _, answer in
      // The answer was made before the message, and comes after it.
      if world.server.visibleCount("room") == 250 {
        world.post(1)
        for push in world.server.drain(token) { _ = try? world.client.receive(push) }
      }
      return answer
    }
    try world.sync()
    #expect(try world.tailFaults(121) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// All that the catch-up showed of the present lies in the place of an item that cannot be read:
  /// a push goes on from where the catch-up was made, not from what was known before the absence.
  @Test func aPushAfterPoisonJoinsNothingThatWasMissed() throws {
    var knobs = ServerKnobs()
    knobs.pageCap = 3
    knobs.timeResolutionUs = 1_000
    var profile = Profile()
    profile.pushIsLossless = true
    let world = try World(knobs: knobs, profile: profile)
    world.post(30)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(40)
    let bad = world.put(flaw: .numberForID)
    world.advance(ms: 700)
    for _ in 0..<3 { world.put() }
    try world.client.connected()
    try world.sync(.live)
    world.advance(ms: 700)
    try world.push { world.post(1) }
    #expect(try world.lies() == [])
    try world.sync(.older, want: 100)
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(70, but: [bad]) == [])
  }

  /// A push that comes before the catch-up of its connection proves nothing.
  @Test func aLosslessPushBeforeTheCatchUpIsAnIsland() throws {
    let world = try caughtUp(try World.lossless())
    try world.missing(120)
    try world.push { world.post(3) }
    #expect(try !world.isWhole())
    #expect(try world.lies() == [])
    try world.sync()
    #expect(try world.isWhole())
    #expect(try world.tailFaults(123) == [])
  }

  /// A stamp from the future is shown; what comes after it is not lost behind it.
  @Test(arguments: [true, false])
  func aLosslessPushFromTheFutureHidesNothing(_ hasClock: Bool) throws {
    let world = try caughtUp(try World.lossless())
    if !hasClock { world.clock.setSkew(us: nil) }
    try world.push {
      world.put("\"future\"", agoMs: -400 * 86_400_000)
      world.post(5)
    }
    try world.run()
    try world.missing(120)
    try world.sync()
    #expect(Set(world.truth().suffix(125)).isSubset(of: Set(try world.cached())))
    #expect(try world.lies() == [])
  }

  /// An edit of a message that was never loaded asks for nothing where push is lossless.
  @Test func anEditOfAnOldMessageAsksForNothing() throws {
    let world = try caughtUp(try World.lossless())
    let old = world.truth()[3]
    try world.push { world.server.edit(conversation: "room", id: old, payload: "\"edited\"") }
    try world.run()
    #expect(world.requests == [])
    #expect(try world.payload(old) == "\"edited\"")
    #expect(try world.lies() == [])
  }

  /// Without the promise each push is an island and the gap is closed by a request.
  @Test func aPushWithoutThePromiseAsks() throws {
    let world = try caughtUp(try World())
    try world.push { world.post(1) }
    try world.run()
    #expect(world.asked("get_messages").count == 1)
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  // MARK: Predecessors

  @Test func aNamedPredecessorJoins() throws {
    let world = try caughtUp(try World())
    var previous = try #require(world.truth().last)
    for _ in 0..<20 {
      let id = world.post(1)[0]
      try world.hand(try linked(world, id, after: previous))
      previous = id
    }
    try world.run()
    #expect(world.requests == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
    // The watermark did not move: what was pushed is asked for again.
    try world.missing(120)
    try world.sync()
    #expect(try world.tailFaults(140) == [])
    #expect(try world.isWhole())
  }

  @Test func anotherPredecessorLeavesAGapAndAsks() throws {
    let world = try caughtUp(try World())
    let ids = world.post(3)
    try world.hand(try linked(world, ids[2], after: ids[1]))
    #expect(try !world.isWhole())
    #expect(try world.lies() == [])
    try world.run()
    #expect(world.asked("get_messages").count == 1)
    #expect(try world.isWhole())
    #expect(try world.tailFaults(53) == [])
  }

  /// T20: the last messages pushed at reconnect are an island until proven joined.
  @Test(arguments: ServerKind.all)
  func t20_theBatchAtReconnectIsAnIsland(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    try world.connect()
    try world.sync()
    let known = try world.cached().count
    try world.missing(300)
    let batch = Array(world.truth().suffix(10))
    for (index, id) in batch.enumerated() {
      let previous = world.truth()[world.truth().count - 11 + index]
      try world.hand(try linked(world, id, after: previous))
    }
    #expect(try world.cached().count == known + 10)
    #expect(try !world.isWhole())
    #expect(try world.lies() == [])
    try world.sync()
    #expect(try world.tailFaults(310) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// T20: where the first of the batch names the newest known message, it joins.
  @Test func t20_theBatchJoinsByItsPredecessor() throws {
    let world = try caughtUp(try World())
    let last = try #require(world.truth().last)
    try world.missing(10)
    let truth = world.truth()
    for (index, id) in truth.suffix(10).enumerated() {
      let previous = index == 0 ? last : truth[truth.count - 11 + index]
      try world.hand(try linked(world, id, after: previous))
    }
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
    try world.sync()
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// Pushes that are lost, late and doubled leave nothing behind once it is quiet.
  @Test(arguments: ServerKind.all, [1, 2, 3] as [UInt64])
  func lostLateAndDoubledPushesDoNoHarm(_ kind: ServerKind, _ seed: UInt64) throws {
    let world = try kind.world(seed: seed)
    world.post(130)
    try world.connect()
    try world.sync()
    var random = Random(seed: seed)
    let token = world.server.subscribe(user: "me")
    var held: [[UInt8]] = []
    for _ in 0..<40 {
      world.post(1 + random.below(4), everyMs: 400)
      if random.chance(0.3) {
        let id = world.server.newestIDs("room", 8)[random.below(8)]
        world.server.edit(conversation: "room", id: id, payload: "\"edit\"")
      }
      if random.chance(0.15) {
        world.server.delete(
          conversation: "room", ids: [world.server.newestIDs("room", 20)[random.below(20)]])
      }
      for push in world.server.drain(token) where !random.chance(0.3) {
        held.append(push)
        if random.chance(0.2) { held.append(push) }
      }
      while held.count > random.below(6) {
        _ = try world.client.receive(held.remove(at: random.below(held.count)))
      }
      if random.chance(0.5) { try world.run() }
    }
    for push in held { _ = try world.client.receive(push) }
    try world.sync()
    try world.settle()
    #expect(try world.tailFaults(40) == [])
    #expect(try world.lies() == [])
    #expect(try world.isWhole())
  }
}
