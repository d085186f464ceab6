import Engine
import ReferenceServer
import Testing

@Suite struct WindowGaps {
  /// Cached [100–200], then the server goes on to 300.
  private func world(_ kind: ServerKind) throws -> (World, [String]) {
    let world = try kind.world { $0.pageCap = 20 } profile: { $0.pageLimit = 20 }
    world.post(200)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 81)
    try world.client.disconnected()
    world.post(100)
    world.reset()
    return (world, world.truth())
  }

  @Test(arguments: ServerKind.few)
  func theSeedsExample(_ kind: ServerKind) throws {
    let (world, truth) = try world(kind)
    try world.connect()
    let screen = try world.window(count: 20)
    #expect(try screen.ids().suffix(20) == truth.suffix(20))
    var loads = 0
    print(try screen.ids(), world.requests, try screen.state())
    while try screen.ids().count < 150 {
      _ = try screen.window.load(Load(.before(0), count: 20))
      try screen.settle(world)
      loads += 1
      try #require(loads < 12)
    }
    let ids = try screen.ids()
    #expect(ids == Array(truth.suffix(ids.count)))
    #expect(ids.count > 100)
  }

  @Test func offlineItReadsPastAGapAndLeavesASplit() throws {
    let (world, truth) = try world(ServerKind.all[0])
    try world.connect()
    print(try world.sync(.live), try world.page().coverage, try world.page().rows.count)
    try world.client.disconnected()
    let screen = try world.window(count: 50)
    print(try screen.picture())
    #expect(try screen.ids() == Array(truth[170..<200]) + truth.suffix(20))
    #expect(try screen.splits() == [30])
    #expect(try screen.state().splitCount == 1)
    #expect(try screen.window.load(Load(.before(0), count: 20)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[150..<200]) + truth.suffix(20))
    #expect(throws: Failure.offline) { try screen.window.fill(row: 50) }
  }

  @Test func fillingAGapTakesTheSplitAway() throws {
    let (world, truth) = try world(ServerKind.all[0])
    try world.connect()
    let screen = try world.window(count: 20)
    let split = try #require(try screen.splits().first)
    #expect(try screen.window.fill(row: split))
    #expect(try screen.poll() == nil)
    #expect(try screen.state().waiting == .older)
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
    let ids = try screen.ids()
    #expect(ids == Array(truth.suffix(ids.count)))
    #expect(try screen.window.fill(row: split) == false)
  }
}
