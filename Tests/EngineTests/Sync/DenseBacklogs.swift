/// Late commits within an overlap that is dense with messages.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct DenseBacklogs {
  /// A backlog of messages 4 ms apart, caught up with.
  private func caughtUp(_ count: Int = 3_000, at ms: Int64 = 4) throws -> World {
    var knobs = ServerKnobs()
    knobs.echoesRequestIDs = true
    let world = try World(knobs: knobs)
    world.post(count, everyMs: ms)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: count)
    #expect(try world.cached() == world.truth())
    world.reset()
    return world
  }

  /// What is committed late within the overlap is found all the same, wherever it lies.
  @Test(arguments: [100, 900, 2_500, 4_800])
  func lateCommitsAreFound(_ lateMs: Int64) throws {
    let world = try caughtUp()
    let late = world.put("\"late\"", lateMs: lateMs)
    // Nothing of it is seen at the first looks.
    try world.sync(.live)
    try world.lookOnceMore()
    try world.sync(.live)
    #expect(try world.lies(hidden: [late]) == [])
    world.advance(ms: 10_000)
    try world.lookOnceMore()
    try world.sync()
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }
}
