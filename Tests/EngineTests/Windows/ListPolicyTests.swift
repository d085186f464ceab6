/// What a list of conversations shows before the network has answered, and what it asks for.
import Base
import ReferenceServer
import Testing

@testable import Engine

private let minute: Int64 = 60_000_000

@Suite struct ListPolicyTests {
  /// A device that knows the server's list.
  private func known(change: (inout ClientConfig) -> Void = { _ in }) throws -> World {
    let world = try World(change: change)
    world.rooms(3)
    try world.connect()
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    try world.run()
    world.reset()
    return world
  }

  private let all = ["r2", "r1", "r0", "room"]

  private func list(
    _ world: World, _ policy: Policy, limitMs: Int64 = 0, ageUs: Int64 = 0
  ) throws -> TestList {
    var config = ListConfig()
    config.choice = PolicyChoice(policy, limitMs: limitMs, ageUs: ageUs)
    return try TestList(world.client, config)
  }

  /// It opens on the answer, with what that has brought.
  @Test(arguments: [Policy.networkFirst, .networkOnly])
  func theNetworkOpensIt(_ policy: Policy) throws {
    let world = try known()
    try world.disconnect()
    world.rooms(1, prefix: "new")
    try world.connect()
    let list = try list(world, policy, limitMs: 60_000)
    #expect(try list.poll() == nil)
    var state = try list.list.state()
    #expect(state.basis == .cache && state.rowCount == 0 && state.isRefreshing)
    try list.settle(world)
    #expect(try list.ids() == ["new0"] + all)
    state = try list.list.state()
    #expect(state.basis == .network && state.trouble == nil && state.asOfUs == world.wallUs)
    // What was shown stays.
    try world.disconnect()
    try list.poll()
    #expect(try list.ids() == ["new0"] + all && list.list.state().basis == .cache)
  }

  @Test func afterItsLimitTheCacheIsShown() throws {
    let world = try known()
    let asked = world.wallUs
    try world.disconnect()
    world.advance(ms: 5_000)
    let list = try list(world, .networkFirst, limitMs: 2_000)
    #expect(try list.poll() == nil)
    #expect(try world.client.advance() == 2_000)
    world.clock.move(ms: 2_000)
    _ = try world.client.advance()
    try list.poll()
    #expect(try list.ids() == all)
    #expect(try list.list.state().basis == .cache && list.list.state().asOfUs == asked)
  }

  @Test func whatFailsOpensIt() throws {
    let world = try known()
    try world.disconnect()
    let offline = try list(world, .networkFirst)
    try offline.poll()
    #expect(try offline.ids() == all)
    try world.connect()
    world.alter = { _, answer in
      answer.replacingOccurrences(of: "\"status\":\"ok\"", with: "\"status\":\"error\"")
    }
    let refused = try list(world, .networkFirst)
    #expect(try refused.poll() == nil)
    try world.run()
    try refused.poll()
    #expect(try refused.ids() == all && refused.list.state().trouble != nil)
  }

  @Test func theNetworkAloneSaysWhyItIsEmpty() throws {
    let world = try known()
    try world.disconnect()
    let list = try list(world, .networkOnly, limitMs: 2_000)
    #expect(try list.poll() == nil)
    #expect(try list.list.state().trouble == .offline)
    try world.connect()
    #expect(try list.poll() == nil)
    #expect(try list.list.state().trouble == nil)
    world.clock.move(ms: 2_000)
    _ = try world.client.advance()
    #expect(try list.poll() == nil)
    #expect(try list.list.state().trouble == .timeout)
    try list.settle(world)
    #expect(try list.ids() == all && list.list.state().trouble == nil)
  }

  /// A connection asks for it only where it is too old.
  @Test func theYoungIsNotAskedFor() throws {
    let world = try known()
    let young = try list(world, .maximumAge, ageUs: minute)
    try young.settle(world)
    #expect(try young.ids() == all)
    #expect(world.asked("get_conversations").isEmpty)
    try world.disconnect()
    world.advance(ms: 30_000)
    try world.connect()
    try young.settle(world)
    #expect(world.asked("get_conversations").isEmpty)
    try world.disconnect()
    world.advance(ms: 31_000)
    world.rooms(1, prefix: "new")
    try world.connect()
    try young.settle(world)
    #expect(try young.ids() == ["new0"] + all)
    #expect(!world.asked("get_conversations").isEmpty)
  }

  /// The host is asked by each poll, and what it says holds from then on.
  @Test func theHostChooses() throws {
    let asked = Asked()
    let world = try known { $0.choose = { asked.take($0) } }
    try world.disconnect()
    asked.next = PolicyChoice(.networkOnly)
    let list = try list(world, .host)
    #expect(try list.poll() == nil)
    #expect(try list.list.state().trouble == .offline)
    asked.next = PolicyChoice(.cacheOnly)
    try list.poll()
    #expect(try list.ids() == all && list.list.state().trouble == nil)
    world.rooms(1, prefix: "new")
    try world.connect()
    try list.settle(world)
    #expect(world.asked("get_conversations").isEmpty)
    asked.next = PolicyChoice()
    try list.settle(world)
    #expect(try list.ids() == ["new0"] + all && list.list.state().basis == .network)
    let requests = world.asked("get_conversations").count
    try list.settle(world)
    #expect(world.asked("get_conversations").count == requests)
    #expect(
      asked.questions.allSatisfy {
        $0.isWindow && $0.kind == .conversations && $0.conversation.isEmpty
      })
  }

  /// Protects: what the host's function said is acted on by a later poll where one could not.
  @Test func whatCouldNotBeAskedIsAskedLater() throws {
    let asked = Asked()
    let world = try known { $0.choose = { asked.take($0) } }
    try world.disconnect()
    asked.next = PolicyChoice()
    let list = try list(world, .host)
    try list.poll()
    let syncs = try world.client.input { engine, _ in
      (0..<Limits.syncsMax).map { index in
        engine.scheduler.add(SyncRequest(conversation: Array("s\(index)".utf8)))
      }
    }
    try world.client.connected()
    try list.poll()
    #expect(try list.list.state().trouble == .full("4,096 syncs wait"))
    #expect(try !list.list.state().isRefreshing)
    _ = try world.client.cancel(syncs[0])
    try list.poll()
    try list.poll()
    #expect(try list.list.state().isRefreshing && list.list.state().trouble == nil)
  }
}
