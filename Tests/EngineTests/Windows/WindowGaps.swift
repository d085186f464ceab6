import Base
import Engine
import ReferenceServer
import Testing

/// Splits, the gaps behind them, and how they go.
@Suite struct WindowGaps {
  /// Cached [101–200], then the server goes on to 300.
  private func lagging(_ world: World) throws -> [String] {
    world.post(200)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 80)
    try world.client.disconnected()
    world.post(100)
    world.reset()
    return world.truth()
  }

  /// Opening brings [281–300]; older pages of 20 until one block reaches down to 101.
  @Test(
    arguments: ServerKind.few + ServerKind.capable.filter { $0.capabilities.contains(.sequence) })
  func theSeedsExample(_ kind: ServerKind) throws {
    let world = try kind.world {
      $0.pageCap = 20
    } profile: {
      $0.pageLimit = 20
    }
    let truth = try lagging(world)
    try world.connect()
    let screen = try world.window(count: 20)
    // What the page showed of a second that it may have cut stands behind a gap, and is not shown.
    let first = try screen.ids()
    #expect(first.count >= 19 && first == Array(truth.suffix(first.count)))
    #expect(try screen.splits().isEmpty)
    #expect(try screen.state().hasGapBefore)
    var loads = 0
    while try screen.ids().count < 190 {
      _ = try screen.window.load(Load(.before(0), count: 20))
      try screen.settle(world)
      loads += 1
      try #require(loads < 15)
    }
    let ids = try screen.ids()
    #expect(ids == Array(truth.suffix(ids.count)))
    #expect(try screen.splits().isEmpty)
    #expect(!(try screen.state().hasGapAfter))
    // Seen ranges need no content again.
    world.reset()
    let second = try world.window(count: 20)
    for _ in 0..<8 {
      _ = try second.window.load(Load(.before(0), count: 20))
      try second.settle(world)
    }
    #expect(try second.ids() == Array(truth.suffix(180)))
    #expect(!world.requests.contains { $0.contains("\"offset\":") && !$0.contains("after_ts") })
  }

  /// In the midst of a load the server forgets what it is asked from, and all that was claimed
  /// goes. The user wants no older page any more; the present comes back all the same.
  @Test(arguments: [true, false])
  func whatWasClaimedComesBackWhereTheLoadThatLostItIsDropped(_ trims: Bool) throws {
    let world = try World.exact(page: 10)
    world.post(60)
    try world.connect()
    let other = try world.window(count: 10)
    let screen = try world.window(count: 10)
    let truth = world.truth()
    _ = try screen.window.load(Load(.before(0), count: 30))
    try screen.poll()
    var isLost = false
    world.before = { _, _ in
      if isLost {
        // The screen sees all splits, before anything is answered.
        if trims {
          try? screen.window.trim(first: 1, count: 9)
        } else {
          screen.window.close()
        }
        _ = try? screen.poll()
        world.before = { _, _ in }
      } else {
        isLost = true
        world.server.failNext("unknown_cursor")
      }
    }
    try world.run()
    try other.settle(world)
    #expect(isLost)
    #expect(try other.ids() == truth.suffix(10))
    #expect(try other.splits() == [])
    #expect(try !other.state().hasGapAfter)
    #expect(try other.state().waiting == .nothing)
  }

  @Test func offlineItReadsPastAGapAndLeavesASplit() throws {
    let world = try World.exact()
    let truth = try lagging(world)
    try world.connect()
    try world.sync(.live)
    try world.client.disconnected()
    let screen = try world.window(count: 50)
    #expect(try screen.ids() == Array(truth[170..<200]) + truth.suffix(20))
    // The newest cached rows may have late neighbours, so they stand apart too.
    #expect(try screen.splits().last == 30)
    #expect(try screen.state().splitCount == screen.splits().count)
    #expect(try screen.state().waiting == .connection)
    #expect(try screen.window.load(Load(.before(0), count: 20)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[150..<200]) + truth.suffix(20))
    #expect(throws: Failure.offline) { try screen.window.fill(row: 50) }
    // Cached history ends here: a wish waits for a connection.
    #expect(try screen.window.load(Load(.before(0), count: 100)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[100..<200]) + truth.suffix(20))
    try world.connect()
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[50..<200]) + truth.suffix(20))
  }

  @Test func onlinePastAGapOnlyWhereItIsWished() throws {
    let world = try World.exact()
    let truth = try lagging(world)
    try world.connect()
    let screen = try world.window(count: 20)
    #expect(try screen.ids() == Array(truth.suffix(20)))
    world.reset()
    #expect(try screen.window.load(Load(.before(0), count: 10, isPastGaps: true)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[190..<200]) + truth.suffix(20))
    #expect(try screen.splits().last == 10)
    #expect(world.requests.isEmpty)
  }

  @Test func fillingAGapTakesTheSplitAway() throws {
    let world = try World.exact()
    let truth = try lagging(world)
    try world.connect()
    let screen = try world.window(count: 20)
    #expect(try screen.window.load(Load(.before(0), count: 10, isPastGaps: true)))
    try screen.settle(world)
    #expect(try screen.splits().last == 10)
    #expect(try screen.window.fill(row: 10))
    // Nothing but that it heals now.
    #expect(try screen.poll()?.ops == [DiffOp(.update, row: 10)])
    #expect(try screen.state().waiting == .older)
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
    #expect(try screen.ids() == Array(truth[190...]))
    #expect(try screen.window.fill(row: 10) == false)
    #expect(try screen.state().waiting == .nothing)
  }

  /// A jump to a quoted message in an unknown range, then both ways until it is one.
  @Test(arguments: [[], .before, .around, [.before, .around]] as [Profile.Capabilities])
  func jumpAndMerge(_ capabilities: Profile.Capabilities) throws {
    let world = try World.exact {
      $0.takesBefore = capabilities.contains(.before)
      $0.takesAround = capabilities.contains(.around)
    } profile: {
      $0.capabilities = capabilities
    }
    world.post(300)
    let truth = world.truth()
    try world.connect()
    let screen = try world.window(count: 20)
    if capabilities.contains(.around) {
      let quoted = Array(truth[120].utf8)
      #expect(try screen.window.load(Load(.around(.message(quoted)), count: 10)))
      #expect(try screen.poll() == nil)
      #expect(try screen.state().waiting == .place)
    } else {
      let stamp = try #require(world.server.truth(world.room).first { $0.id == truth[120] })
      #expect(try screen.window.load(Load(.around(.time(stamp.stampUs)), count: 10)))
    }
    try screen.settle(world)
    let jumped = try screen.ids()
    #expect(jumped.contains(truth[120]))
    #expect(jumped.suffix(20) == truth.suffix(20))
    #expect(try screen.splits().count == 1)
    let row = try #require(try screen.window.find(Array(truth[120].utf8)))
    let found = try #require(try screen.window.rows(first: row, count: 1)?.rows.first)
    #expect(try screen.state().anchor == found.number)
    // Upwards from the island, and then downwards.
    var turns = 0
    while let split = try screen.splits().first {
      let below = try #require(try screen.window.rows(first: split - 1, count: 1)?.rows.first)
      #expect(try screen.window.load(Load(.after(below.number), count: 40)))
      try screen.settle(world)
      turns += 1
      try #require(turns < 12)
    }
    while try screen.window.load(Load(.before(0), count: 60)) {
      try screen.settle(world)
      turns += 1
      try #require(turns < 20)
    }
    #expect(try screen.ids() == truth)
    #expect(try screen.splits().isEmpty)
  }

  /// Islands of a few rows in a gap that one large page covers.
  @Test func onePageSwallowsAnIsland() throws {
    let world = try World.exact(page: 100) {
      $0.takesBefore = true
      $0.takesAround = true
    } profile: {
      $0.capabilities = [.before, .around]
    }
    world.post(400)
    let truth = world.truth()
    try world.connect()
    let screen = try world.window(count: 20)
    for index in [260, 240] {
      #expect(try screen.window.load(Load(.around(.message(Array(truth[index].utf8))), count: 4)))
      try screen.settle(world)
    }
    #expect(try screen.splits().count >= 1)
    var turns = 0
    while let split = try screen.splits().last {
      #expect(try screen.window.fill(row: split))
      try screen.settle(world)
      turns += 1
      try #require(turns < 10)
    }
    let ids = try screen.ids()
    #expect(ids == Array(truth.suffix(ids.count)))
    #expect(ids.contains(truth[240]))
  }

  /// A window that was open while much was missed jumps into it: what the search for the place
  /// brings on its way is no row.
  @Test(arguments: CapableKind.all, [true, false])
  func aSearchInAGapBringsNoRowsOfItsOwn(_ kind: CapableKind, _ pollsEach: Bool) throws {
    let (world, screen) = try missed(kind, 2_000, pollsEach: pollsEach)
    let before = try screen.ids()
    let known = try screen.splits().count
    #expect(before.count >= 80 && before.count <= (pollsEach ? 150 : 101))
    let middle = world.server.truth(world.room)[1_000]
    #expect(try screen.window.load(Load(.around(.time(middle.stampUs)), count: 20)))
    try screen.settle(world)
    let ids = try screen.ids()
    #expect(ids.contains(middle.id))
    #expect(ids.count <= before.count + 20 + 30, "\(ids.count)")
    #expect(try screen.splits().count <= known + 3)
  }

  /// What is fetched by others, until the gap is whole, is shown.
  @Test(arguments: CapableKind.all)
  func aGapThatIsFilledElsewhereIsShown(_ kind: CapableKind) throws {
    let (world, screen) = try missed(kind, 200)
    #expect(try !screen.splits().isEmpty)
    try world.sync(.older, want: 400)
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
    let ids = try screen.ids()
    #expect(ids.count >= 240 && ids == world.order().suffix(ids.count))
  }

  /// What the window let go of beside the gap does not come back with it.
  @Test(arguments: [true, false])
  func aGapBesideWhatWasTrimmedStaysAway(_ keepsNewest: Bool) throws {
    let (world, screen) = try missed(CapableKind.all[0], 200)
    let count = try screen.ids().count
    try screen.window.trim(first: keepsNewest ? count - 10 : 0, count: 10)
    try screen.settle(world)
    let kept = try screen.ids()
    #expect(kept.count == 10)
    try world.sync(.older, want: 400)
    try screen.settle(world)
    #expect(try screen.ids() == kept)
  }

  /// A window of the newest 50, and so many messages that it missed.
  private func missed(
    _ kind: CapableKind, _ count: Int, pollsEach: Bool = false
  ) throws -> (World, TestScreen) {
    let world = try kind.world(limit: 50)
    world.post(300, everyMs: kind.everyMs)
    try world.connectListening()
    let screen = try world.window(count: 50)
    try world.disconnect()
    world.advance(ms: 60_000)
    world.post(count, everyMs: kind.everyMs)
    world.advance(ms: 60_000)
    if pollsEach {
      // A host that looks after each answer also sees what no range holds yet.
      try world.client.connected()
      try screen.poll()
      while let frame = try world.client.nextFrame() {
        for answer in world.server.handle(frame.bytes, user: "me") {
          _ = try world.client.receive(answer)
          try screen.poll()
        }
      }
    } else {
      try world.connectListening()
    }
    try screen.settle(world)
    return (world, screen)
  }
}
