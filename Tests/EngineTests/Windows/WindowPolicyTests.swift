/// What a window shows before the network has answered, and what it asks for.
import Base
import Engine
import ReferenceServer
import Testing

private let minute: Int64 = 60_000_000

@Suite struct WindowPolicyTests {
  private func known(change: (inout ClientConfig) -> Void = { _ in }) throws -> World {
    let world = try World.exact(config: change)
    world.post(10)
    try world.connect()
    try world.sync(.older, want: 100)
    world.reset()
    return world
  }

  private func screen(
    _ world: World, _ policy: Policy, limitMs: Int64 = 0, ageUs: Int64 = 0, at: At = .latest
  ) throws -> TestScreen {
    try TestScreen(world, at) { config in
      config.choice = PolicyChoice(policy, limitMs: limitMs, ageUs: ageUs)
    }
  }

  /// It opens on the answer, with what that has brought.
  @Test(arguments: [Policy.networkFirst, .networkOnly])
  func theNetworkOpensIt(_ policy: Policy) throws {
    let world = try known()
    try world.disconnect()
    world.post(3)
    try world.connect()
    let screen = try screen(world, policy, limitMs: 60_000)
    #expect(try screen.poll() == nil)
    #expect(try screen.state().basis == .cache && screen.state().waiting == .present)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth())
    let state = try screen.state()
    #expect(state.basis == .network && state.trouble == nil && state.asOfUs == world.wallUs)
  }

  @Test func afterItsLimitTheCacheIsShown() throws {
    let world = try known()
    try world.disconnect()
    let asked = world.wallUs
    let screen = try screen(world, .networkFirst, limitMs: 2_000)
    #expect(try screen.poll() == nil)
    #expect(try world.client.advance() == 2_000)
    world.clock.move(ms: 2_000)
    _ = try world.client.advance()
    try screen.poll()
    #expect(try screen.ids() == world.truth())
    #expect(try screen.state().basis == .cache && screen.state().asOfUs == asked)
    // What was shown stays when the connection comes and goes.
    try world.connect()
    try screen.settle(world)
    #expect(try screen.state().basis == .network)
    try world.disconnect()
    try screen.poll()
    #expect(try screen.ids() == world.truth() && screen.state().basis == .cache)
  }

  /// Without a limit a connection that is not there is not waited for, nor one that fails.
  @Test func whatFailsOpensIt() throws {
    let world = try known()
    try world.disconnect()
    let offline = try screen(world, .networkFirst)
    try offline.poll()
    #expect(try offline.ids() == world.truth())
    try world.connect()
    world.alter = { _, answer in
      answer.replacingOccurrences(of: "\"status\":\"ok\"", with: "\"status\":\"error\"")
    }
    let refused = try screen(world, .networkFirst)
    #expect(try refused.poll() == nil)
    try refused.settle(world)
    #expect(try refused.ids() == world.truth() && refused.state().trouble != nil)
  }

  @Test func theNetworkAloneSaysWhyItIsEmpty() throws {
    let world = try known()
    try world.disconnect()
    let screen = try screen(world, .networkOnly, limitMs: 2_000)
    #expect(try screen.poll() == nil)
    #expect(try screen.state().trouble == .offline && screen.state().rowCount == 0)
    try world.connect()
    #expect(try screen.poll() == nil)
    #expect(try screen.state().trouble == nil)
    world.clock.move(ms: 2_000)
    _ = try world.client.advance()
    #expect(try screen.poll() == nil)
    #expect(try screen.state().trouble == .timeout && screen.state().rowCount == 0)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth() && screen.state().trouble == nil)
  }

  /// Also one that opens elsewhere waits for what is new.
  @Test func anotherPlaceWaits() throws {
    let world = try known()
    let id = world.truth()[4]
    try world.disconnect()
    try world.connect()
    let screen = try screen(world, .networkFirst, limitMs: 9_000, at: .message(Array(id.utf8)))
    #expect(try screen.poll() == nil)
    try screen.settle(world)
    #expect(try screen.ids().contains(id))
  }

  @Test func theYoungIsNotAskedFor() throws {
    let world = try known()
    let young = try screen(world, .maximumAge, ageUs: minute)
    try young.settle(world)
    #expect(try young.ids() == world.truth())
    #expect(world.requests.isEmpty)
    try world.disconnect()
    world.advance(ms: 61_000)
    world.post(2)
    try world.connect()
    try young.settle(world)
    #expect(try young.ids() == world.truth() && young.state().basis == .network)
  }

  /// What the host's function no longer forbids is shown; what was shown stays.
  @Test(arguments: [
    PolicyChoice(.cacheOnly), PolicyChoice(), PolicyChoice(.maximumAge, ageUs: minute),
    PolicyChoice(.networkFirst),
  ])
  func theHostOpensIt(_ next: PolicyChoice) throws {
    let asked = Asked()
    let world = try known { $0.choose = { asked.take($0) } }
    try world.disconnect()
    asked.next = PolicyChoice(.networkOnly, limitMs: 2_000)
    let screen = try screen(world, .host)
    #expect(try screen.poll() == nil)
    #expect(try screen.state().trouble == .offline)
    asked.next = next
    try screen.poll()
    #expect(try screen.ids() == world.truth() && screen.state().trouble == nil)
    asked.next = PolicyChoice(.networkOnly)
    #expect(try screen.poll() == nil)
    #expect(try screen.ids() == world.truth())
  }

  /// A limit that the host's function sets later counts from the first look.
  @Test func theHostsLimitCountsFromTheFirstLook() throws {
    let asked = Asked()
    let world = try known { $0.choose = { asked.take($0) } }
    try world.disconnect()
    asked.next = PolicyChoice(.networkOnly)
    let screen = try screen(world, .host)
    #expect(try screen.poll() == nil)
    world.clock.move(ms: 1_500)
    asked.next = PolicyChoice(.networkFirst, limitMs: 2_000)
    #expect(try screen.poll() == nil)
    #expect(try world.client.advance() == 500)
    world.clock.move(ms: 500)
    _ = try world.client.advance()
    try screen.poll()
    #expect(try screen.ids() == world.truth())
  }

  /// The host is asked by each poll; engine and window keep to what it says.
  @Test func theHostChooses() throws {
    let asked = Asked()
    let world = try known { $0.choose = { asked.take($0) } }
    let screen = try screen(world, .host)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth())
    try world.disconnect()
    world.post(2)
    try world.connect()
    try screen.settle(world)
    #expect(world.requests.isEmpty)
    asked.next = PolicyChoice()
    try screen.settle(world)
    #expect(try screen.ids() == world.truth() && !world.requests.isEmpty)
    #expect(asked.questions.allSatisfy { $0.isWindow && $0.kind == .live })
  }
}
