/// What little conversations cost, and from which times they ask.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct SmallConversations {
  /// A file of which nothing is known meets a conversation of few messages, and opens it again
  /// and again: few requests each time, and no time before 1970.
  @Test(arguments: [1, 2, 3], [true, false])
  func aReopeningAsksForNoTimeBefore1970(_ count: Int, _ hasClock: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    if !hasClock { world.clock.setSkew(us: nil) }
    world.post(count)
    world.advance(ms: 3_600_000)
    try world.connect()
    try world.sync(.live)
    #expect(world.requests.allSatisfy { !$0.contains("\"1969") })
    for _ in 0..<3 {
      try folder.kill(world)
      world.advance(ms: 3_600_000)
      world.reset()
      try world.client.connected()
      try world.sync(.live)
      #expect(world.requests.count <= 3, "\(world.requests)")
      #expect(world.requests.allSatisfy { !$0.contains("\"1969") }, "\(world.requests)")
      #expect(try world.page().coverage.deletionsAsOfUs >= 0)
      #expect(try world.page().coverage.contentAsOfUs >= 0)
      #expect(try world.cached() == world.truth())
      #expect(try world.lies() == [])
    }
    world.server.delete(conversation: "room", ids: [world.truth()[0]])
    world.advance(ms: 3_600_000)
    try world.lookOnceMore()
    try world.sync(.live)
    #expect(try world.cached() == world.truth())
  }

  /// Messages that have such times are asked for with such times.
  @Test func timesBefore1970AreAskedForWhereMessagesHaveThem() throws {
    let world = try World()
    world.put("\"old\"", agoMs: World.epochUs / 1_000 + 86_400_000)
    world.put("\"older\"", agoMs: World.epochUs / 1_000 + 2 * 86_400_000)
    try world.connect()
    try world.sync()
    try world.lookOnceMore()
    try world.sync()
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }
}
