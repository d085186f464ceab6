/// Pushes that come close together are checked together.
///
/// Rule protected: on a server that may lose pushes a lone message is checked at once, those that
/// come within a second of that share one check, and steady ones have one in three seconds. What
/// was lost between them is shown all the same.
import Engine
import ReferenceServer
import Testing

@Suite struct PushCheckTests {
  private static let servers: [FoundServer] = [.poor, .bare, .rich, .numbered]

  /// A conversation that has been caught up with, and its pushes.
  private func live(_ server: FoundServer) throws -> World {
    let world = try server.world()
    world.post(40)
    world.advance(ms: 60_000)
    try world.connectListening()
    try world.sync()
    world.advance(ms: 60_000)
    world.reset()
    return world
  }

  /// Lets time pass in steps of 50 ms, as a host does that waits no longer than it is told.
  private func run(_ world: World, ms: Int64) throws {
    for _ in 0..<ms / 50 {
      world.advance(ms: 50)
      _ = try world.client.advance()
      try world.run()
    }
  }

  private func isExact(_ world: World) throws -> Bool {
    let gap: UInt32 = 1 << 8
    return try world.cached().sorted() == world.truth().sorted()
      && world.page().rows.allSatisfy { $0.flags & gap == 0 }
  }

  /// Messages, deletions, and changes where the server tells them.
  private func requests(_ server: FoundServer) -> Int { server == .rich ? 3 : 2 }

  /// Protects: twenty messages in four seconds cost four checks, and not twenty.
  @Test(arguments: servers)
  func pushesOfASecondAreCheckedTogether(_ server: FoundServer) throws {
    let world = try live(server)
    for _ in 0..<20 {
      world.post(1, everyMs: 0)
      try run(world, ms: 200)
    }
    try run(world, ms: 4_000)
    #expect(world.requests.count <= 4 * requests(server))
    #expect(try isExact(world))
    #expect(try world.client.state().phase == .upToDate)
  }

  /// Protects: while messages come steadily they are checked every three seconds.
  @Test(arguments: servers)
  func steadyPushesAreCheckedEveryFewSeconds(_ server: FoundServer) throws {
    let world = try live(server)
    for _ in 0..<60 {
      world.post(1, everyMs: 0)
      try run(world, ms: 1_000)
    }
    #expect(world.requests.count <= (2 + 60 / 3) * requests(server))
    #expect(try isExact(world))
  }

  /// Protects: a lone message waits for nothing, also after a busy time.
  @Test func aLonePushIsCheckedAtOnce() throws {
    let world = try live(.poor)
    for _ in 0..<3 {
      world.reset()
      world.post(1, everyMs: 0)
      try world.run()
      #expect(world.requests.count == 2)
      #expect(try isExact(world))
      world.advance(ms: 10_000)
    }
  }

  /// Protects: what was lost beside pushes that wait for their check comes with it, and until then
  /// nothing is called whole.
  @Test func whatWasLostComesWithTheCheck() throws {
    let world = try live(.poor)
    world.post(1, everyMs: 0)
    try world.run()
    // The device does not hear of the first of these.
    let lost = world.post(1, everyMs: 50)
    world.losePushes()
    world.post(1, everyMs: 50)
    try world.run()
    #expect(try !world.cached().contains(lost[0]))
    #expect(try !isExact(world))
    #expect(try world.client.state().phase == .catchingUp)
    try run(world, ms: 1_000)
    #expect(try isExact(world))
  }

  /// Protects: a connection that ends while pushes wait takes nothing along.
  @Test func theNextConnectionAsksAtOnce() throws {
    let world = try live(.poor)
    world.post(1, everyMs: 0)
    try world.run()
    world.advance(ms: 100)
    world.post(1, everyMs: 0)
    try world.run()
    try world.disconnect()
    world.post(3)
    try world.connectListening()
    try world.run()
    #expect(try isExact(world))
  }

  /// Protects: no gap line is drawn for a message that only waits for its check.
  @Test func nothingIsDrawnMeanwhile() throws {
    let world = try live(.poor)
    let screen = try TestScreen(world, .latest, count: 30) { $0.holdMs = 1_000 }
    try screen.settle(world)
    for _ in 0..<100 {
      world.post(1, everyMs: 0)
      try run(world, ms: 100)
      try screen.poll()
      #expect(try screen.splits() == [])
    }
  }
}
