/// Marked read is what a person saw: rows that were on a screen for long enough, and nothing else.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowSeen {
  /// A window on forty messages of somebody else's, with the newest twenty loaded.
  private func reading(
    _ count: Int = 40, seenMs: Int64 = 1_000, pushes: Bool = false
  ) throws -> (World, TestScreen) {
    let world = try World {
      $0.autoMarkRead = true
      $0.seenMs = seenMs
    }
    world.post(count)
    if pushes { try world.connectListening() } else { try world.connect() }
    let screen = try TestScreen(world)
    try screen.settle(world)
    world.reset()
    return (world, screen)
  }

  /// Ids that the server was told, sorted.
  private func marked(_ world: World) -> [String] {
    world.asked("mark_read").flatMap { request in
      world.truth().filter { request.contains("\"\($0)\"") }
    }.sorted()
  }

  private func pass(_ ms: Int64, _ world: World) throws {
    world.advance(ms: ms)
    _ = try world.client.advance()
    try world.run()
  }

  /// Neither the loading of rows nor time alone reads them.
  @Test func whatIsOnlyLoadedIsNotSeen() throws {
    let (world, screen) = try reading()
    try pass(60_000, world)
    try screen.settle(world)
    #expect(marked(world) == [])
    #expect(try world.client.advance() == -1)
  }

  /// Those on the screen, once, when the time is over and not before; the deadline says when.
  @Test(arguments: [1, 1_000, 5_000] as [Int64])
  func rowsOnScreenAreReadAfterTheTime(_ seenMs: Int64) throws {
    let (world, screen) = try reading(seenMs: seenMs)
    try screen.window.show(first: 5, count: 10)
    #expect(try world.client.advance() == seenMs)
    try pass(seenMs - 1, world)
    #expect(marked(world) == [])
    #expect(try world.client.advance() == 1)
    try pass(1, world)
    let ids = try screen.ids()
    #expect(marked(world) == ids[5..<15].sorted())
    #expect(try world.client.state().readsPending == 0)
    world.reset()
    // They stay on the screen, also for a host that says so again.
    try screen.window.show(first: 5, count: 10)
    try pass(60_000, world)
    #expect(marked(world) == [])
    #expect(try world.client.advance() == -1)
  }

  /// Only what was there for the whole time: what came later has its own, what left begins anew.
  @Test func rowsCountForTheWholeTimeOnly() throws {
    let (world, screen) = try reading()
    let ids = try screen.ids()
    try screen.window.show(first: 0, count: 5)
    try pass(600, world)
    try screen.window.show(first: 3, count: 5)
    try pass(400, world)
    #expect(marked(world) == ids[3..<5].sorted())
    try pass(600, world)
    #expect(marked(world) == ids[3..<8].sorted())
    world.reset()
    try screen.window.show(first: 0, count: 1)
    try pass(999, world)
    try screen.window.show(first: 19, count: 1)
    try screen.window.show(first: 0, count: 1)
    try pass(999, world)
    #expect(marked(world) == [])
    try pass(1, world)
    #expect(marked(world) == [ids[0]])
  }

  /// Scrolling past a thousand messages reads none of them.
  @Test func whoScrollsPastReadsNothing() throws {
    let (world, screen) = try reading()
    for first in 0..<16 {
      try screen.window.show(first: first, count: 1)
      try pass(250, world)
    }
    #expect(marked(world) == [])
  }

  /// An empty show and a close end it; what had been there for long enough by then counts.
  @Test(arguments: [false, true])
  func anEmptyShowAndACloseEndIt(_ closes: Bool) throws {
    let (world, screen) = try reading()
    let ids = try screen.ids()
    func leave() throws {
      if closes { screen.window.close() } else { try screen.window.show(first: 0, count: 0) }
    }
    try screen.window.show(first: 2, count: 1)
    world.advance(ms: 999)
    try leave()
    try pass(60_000, world)
    #expect(marked(world) == [])
    let other = try TestScreen(world)
    try other.settle(world)
    #expect(try other.ids() == ids)
    try other.window.show(first: 2, count: 1)
    world.advance(ms: 1_000)
    if closes { other.window.close() } else { try other.window.show(first: 0, count: 0) }
    _ = try world.client.advance()
    try world.run()
    #expect(marked(world) == [ids[2]])
  }

  /// What was pushed while the window is open is loaded, and not seen until the host shows it.
  @Test func aPushIsNotSeen() throws {
    let (world, screen) = try reading(pushes: true)
    try screen.window.show(first: 19, count: 1)
    world.post(1)
    try screen.settle(world)
    try pass(5_000, world)
    #expect(marked(world) == [try screen.ids()[19]])
    world.reset()
    try screen.window.show(first: 20, count: 1)
    try pass(1_000, world)
    #expect(marked(world) == [try screen.ids()[20]])
  }

  /// Neither a plain sync, nor a catch-up of the library's own: only one that asks for it.
  @Test func aSyncMarksWhereItIsAskedTo() throws {
    let (world, _) = try reading()
    world.post(5)
    try world.sync()
    try world.sync(.older, want: 10)
    try pass(10_000, world)
    #expect(marked(world) == [])
    let new = world.post(3)
    try world.sync(marksRead: true)
    #expect(Set(marked(world)).isSuperset(of: new))
  }

  /// Offline too: a person reads what is cached, and the server hears of it later.
  @Test func whatIsSeenOfflineIsToldLater() throws {
    let (world, screen) = try reading()
    try world.disconnect()
    _ = try screen.poll()
    try screen.window.show(first: 0, count: 3)
    try pass(1_000, world)
    #expect(try world.client.state().readsPending == 3)
    try world.connect()
    try world.run()
    #expect(marked(world) == Array(try screen.ids()[0..<3]).sorted())
  }

  /// A row that was deleted while it was on the screen, and one of this user's own.
  @Test func deletedRowsAndOwnOnesAreNotMarked() throws {
    let (world, screen) = try reading(pushes: true)
    world.post(1, sender: "me")
    try screen.settle(world)
    let ids = try screen.ids()
    try screen.window.show(first: 18, count: 3)
    world.server.delete(conversation: "room", ids: [ids[18]])
    try screen.settle(world)
    try pass(1_000, world)
    #expect(marked(world) == [ids[19]])
  }

  /// Rows that come one by one are marked together, so that a slow scroll is not one write each.
  @Test func aScrollIsFewWrites() throws {
    let (world, screen) = try reading()
    var commits = try world.client.stats().commits
    for count in 1...20 {
      try screen.window.show(first: 0, count: count)
      try pass(20, world)
    }
    commits = try world.client.stats().commits
    for _ in 0..<100 { try pass(20, world) }
    #expect(marked(world) == (try screen.ids()).sorted())
    #expect(try world.client.stats().commits - commits <= 8)
  }

  /// Without the flag nothing is marked.
  @Test func withoutTheFlagNothingIsMarked() throws {
    let world = try World()
    world.post(40)
    try world.connect()
    let screen = try world.window()
    try screen.window.show(first: 0, count: 20)
    try screen.settle(world)
    try pass(60_000, world)
    #expect(marked(world) == [])
  }
}
