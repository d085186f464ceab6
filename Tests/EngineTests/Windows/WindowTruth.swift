/// What a window shows where the server says enough: all rows that are there, and no gap between
/// them.
import Base
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct WindowTruth {
  /// Each says whether a page was the last one: by a count, or by `has_more`.
  private func world(_ server: FoundServer) throws -> World {
    try server.world(knobs: { $0.sendsHasMore = true })
  }

  /// Protects: a conversation whose whole first page is just full is shown whole.
  @Test(arguments: FoundServer.allCases, [49, 50, 51])
  func aPageThatIsJustFullIsShownWhole(_ server: FoundServer, _ count: Int) throws {
    let world = try world(server)
    let ids = world.post(count)
    try world.connectListening()
    let screen = try world.window(count: 60)
    #expect(try screen.ids() == ids)
    #expect(try screen.splits().isEmpty)
  }

  /// Protects: a window that was opened in the past and read up to the present has no gaps
  /// between rows that are there.
  @Test(arguments: FoundServer.allCases)
  func thePastReadUpToThePresentIsWhole(_ server: FoundServer) throws {
    let world = try world(server)
    world.post(120)
    try world.connectListening()
    try world.sync()
    try world.sync(.older, want: 60)
    try world.disconnect()
    world.post(180)
    try world.connectListening()
    let truth = world.truth()
    let screen = try world.window(.message(Array(truth[100].utf8)), count: 20)
    for _ in 0..<40 where try !screen.state().isAtEnd {
      let last = try #require(screen.numbers.last)
      _ = try screen.window.load(Load(.after(last), count: 30))
      try screen.settle(world)
    }
    #expect(try screen.state().isAtEnd)
    #expect(try screen.ids().suffix(200) == truth.suffix(200))
    let splits = try screen.splits()
    #expect(splits == [])
  }

  /// Protects: a window at a time shows what is cached there at its first poll, also where the
  /// message at that time was dropped. (By numbers and in a log nothing says how wide the gap is.)
  @Test(arguments: FoundServer.byTime)
  func aTimeBesideADroppedMessageShowsWhatIsHere(_ server: FoundServer) throws {
    let world = try world(server)
    let ids = world.post(40)
    try world.connectListening()
    try world.sync()
    let stamp = try #require(world.server.truth(world.room).first { $0.id == ids[20] }).stampUs
    try world.client.drop(
      conversation: Array(world.room.utf8), id: Array(ids[20].utf8))
    let screen = try TestScreen(world, .time(stamp), count: 20)
    try screen.poll()
    #expect(try screen.ids().count >= 10)
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
  }

  /// Protects: by numbers and in a log the place is asked for, and all around it is shown then, the
  /// dropped message too. Offline what is cached is shown at once.
  @Test(arguments: [FoundServer.numbered, .log], [true, false])
  func aTimeBesideADroppedMessageIsAskedFor(_ server: FoundServer, _ isUp: Bool) throws {
    let world = try world(server)
    let ids = world.post(40)
    try world.connectListening()
    try world.sync()
    let stamp = try #require(world.server.truth(world.room).first { $0.id == ids[20] }).stampUs
    if !isUp { try world.disconnect() }
    try world.client.drop(
      conversation: Array(world.room.utf8), id: Array(ids[20].utf8))
    let screen = try TestScreen(world, .time(stamp), count: 20)
    try screen.settle(world)
    #expect(try screen.ids().count >= 10)
    #expect(try screen.ids().contains(ids[20]) == isUp)
    if isUp { #expect(try screen.splits().isEmpty) }
  }
}
