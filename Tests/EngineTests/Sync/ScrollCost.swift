/// What scrolling asks of a server that knows nothing but `offset`, with all defaults.
///
/// Rule protected: a page further is about a page of requests, however long the history is.
/// The first row of a cut page stands in no range, since others of its tick may lie beyond
/// the cut, and is not shown; the way goes on from the range above it, and its next page shows all
/// of the tick.
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct ScrollCost {
  /// Opened at the newest 50, a page is 50, and the user scrolls up a page, and on.
  @Test(arguments: [300, 5_000, 50_000], [1_000, 300] as [Int64])
  func aPageUpCostsAtMostTwoRequests(_ size: Int, _ everyMs: Int64) throws {
    let world = try World()
    world.post(size, everyMs: everyMs)
    try world.connect()
    world.reset()
    let screen = try world.window(count: 50)
    #expect(world.asked("get_messages").count == 1)
    let truth = Array(world.truth().suffix(300))
    for scroll in 1...4 {
      world.reset()
      #expect(try screen.window.load(Load(.before(0), count: 50)))
      try screen.settle(world)
      #expect(world.asked("get_messages").count <= 2)
      let ids = try screen.ids()
      #expect(ids.count >= 45 * (scroll + 1) && ids == truth.suffix(ids.count))
      #expect(try screen.splits().isEmpty)
    }
    #expect(try world.breaks() == [])
  }

  /// Many messages in the tick that the first page cuts: on through it, without losing any.
  @Test(arguments: [60, 160]) func aTickThatTheFirstPageCutsIsPassed(_ burst: Int) throws {
    let world = try World()
    world.post(5_000)
    world.post(burst, everyMs: 0)
    world.post(30)
    try world.connect()
    let screen = try world.window(count: 50)
    for _ in 0..<6 {
      world.reset()
      #expect(try screen.window.load(Load(.before(0), count: 50)))
      try screen.settle(world)
      #expect(world.asked("get_messages").count <= 2 + (burst + 49) / 46)
      #expect(try world.breaks() == [])
    }
    let ids = try screen.ids()
    #expect(ids.count >= 300)
    #expect(ids == world.truth().suffix(ids.count))
  }

  /// Messages come and go between the page and the scroll, so that offsets have moved.
  @Test(arguments: [-3, 1, 30, 70]) func offsetsThatMovedLoseNothing(_ change: Int) throws {
    let world = try World()
    world.post(5_000, everyMs: 300)
    try world.connect()
    let screen = try world.window(count: 50)
    if change > 0 {
      world.post(change, everyMs: 300)
    } else {
      world.server.delete(
        conversation: world.room, ids: world.server.newestIDs(world.room, -change))
    }
    world.reset()
    #expect(try screen.window.load(Load(.before(0), count: 50)))
    try screen.settle(world)
    #expect(world.asked("get_messages").count <= 6)
    #expect(try world.breaks().allSatisfy { _ in change < 0 })
    try world.sync()
    #expect(try world.breaks() == [])
  }

  /// Far from the present the first look is a search; from there on, up and down, a page
  /// costs what it costs at the newest one.
  @Test(arguments: [5_000, 50_000], [1_000, 300] as [Int64])
  func aPageBesideAnIslandCostsAtMostTwoRequests(_ size: Int, _ everyMs: Int64) throws {
    let world = try World()
    world.post(size, everyMs: everyMs)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.truth()
    let target = world.serverPosition(of: truth[size / 5])
    world.reset()
    #expect(try world.reach(.near(target)).trouble == nil)
    #expect(world.asked("get_messages").count <= 20)
    for step in 0..<6 {
      // Some arrive meanwhile.
      if step == 3 { world.post(20) }
      world.reset()
      #expect(try world.reach(.below(target), want: 40).trouble == nil)
      #expect(world.asked("get_messages").count <= 2)
      world.reset()
      #expect(try world.reach(.above(target), want: 40).trouble == nil)
      #expect(world.asked("get_messages").count <= 2)
      #expect(try world.breaks() == [])
    }
    let around = (size / 5 - 200)..<(size / 5 + 200)
    #expect(try Set(world.cached()).isSuperset(of: truth[around]))
  }

  /// A jump to the first row of the newest page, which no range holds, asks beside that page.
  @Test func aJumpToTheRowThatIsCutOffAsksOnce() throws {
    let world = try World()
    world.post(5_000)
    try world.connect()
    let screen = try world.window(count: 50)
    world.reset()
    let first = world.truth()[5_000 - 50]
    #expect(try screen.ids().first == world.truth()[5_000 - 49])
    #expect(try world.reach(.near(world.position(of: first))).trouble == nil)
    #expect(world.asked("get_messages").count == 1)
    #expect(try world.breaks() == [])
  }
}
