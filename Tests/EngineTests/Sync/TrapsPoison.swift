/// Items that nobody can read, where a page ends, where nothing else is, and in large ticks.
///
/// Rule protected: an unreadable item harms only itself. What stands beside it is fetched,
/// what arrives later beside it is fetched as well, and a sync that meets it ends well.
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct TrapsPoison {
  static let flaws = ServerMessage.Flaw.allCases.filter { $0 != .none }

  /// Posts and says which of them nobody can read.
  static func post(
    _ count: Int, everyMs: Int64, to world: World, _ isBad: (Int) -> ServerMessage.Flaw?
  ) -> Set<String> {
    var bad: Set<String> = []
    for index in 0..<count {
      world.advance(ms: everyMs)
      let flaw = isBad(index)
      let id = world.put(flaw: flaw ?? .none)
      if flaw != nil { bad.insert(id) }
    }
    return bad
  }

  static func expectAll(_ world: World, but bad: Set<String>) throws {
    #expect(try world.cached() == world.truth().filter { !bad.contains($0) })
    #expect(try world.lies() == [])
  }

  /// 150 messages in one second, of which each page shows a part: the second is not seen
  /// because an item of it could not be read.
  @Test(arguments: ServerKind.all)
  func poisonInALargeTickHidesNothingElse(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    // Pages from a time on tell how they are listed.
    world.post(3)
    try world.sync()
    try world.client.disconnected()
    world.advance(ms: 1_000)
    let bad = Self.post(150, everyMs: 0, to: world) { $0 % 40 == 7 ? .garbledTime : nil }
    world.advance(ms: 10_000)
    try world.client.connected()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 1_000).trouble == nil)
    try Self.expectAll(world, but: bad)
  }

  /// Small pages that begin or end with items that cannot be read, one to three in a row.
  @Test(arguments: [true, false], 1...3)
  func poisonAtAPagesEndJoinsIt(_ varies: Bool, _ length: Int) throws {
    for shift in 0..<4 {
      var knobs = ServerKnobs()
      knobs.pageCap = 4
      knobs.pageSizesVary = varies
      var profile = Profile()
      profile.pageSizeVaries = varies
      let world = try World(knobs: knobs, profile: profile)
      let bad = Self.post(60, everyMs: 1_000, to: world) { index in
        guard (index + shift) % 9 < length else { return nil }
        return Self.flaws[index % Self.flaws.count]
      }
      try world.connect()
      #expect(try world.sync().trouble == nil)
      #expect(try world.sync(.older, want: 1_000).trouble == nil, "shift \(shift)")
      try Self.expectAll(world, but: bad)
    }
  }

  /// The oldest message of all cannot be read: the walk to the start ends there.
  @Test(arguments: ServerKind.all, [true, false])
  func poisonAtTheStartEndsTheWalk(_ kind: ServerKind, _ varies: Bool) throws {
    var knobs = kind.knobs
    knobs.pageSizesVary = varies
    var profile = kind.profile
    profile.pageSizeVaries = varies
    let world = try World(knobs: knobs, profile: profile)
    let bad = Self.post(90, everyMs: 1_000, to: world) { $0 == 0 ? .garbledTime : nil }
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 1_000).trouble == nil)
    try Self.expectAll(world, but: bad)
  }

  /// Nothing of a conversation can be read, whether it is one page or many.
  @Test(arguments: ServerKind.few + ServerKind.capable, [1, 2, 50, 130])
  func aConversationOfPoisonEndsWell(_ kind: ServerKind, _ count: Int) throws {
    let world = try kind.world()
    let bad = Self.post(count, everyMs: 1_000, to: world) { _ in .missingID }
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 1_000).trouble == nil)
    // A place among them is looked for, and nothing is found that could be shown.
    if count < 100 {
      world.reset()
      let place = try world.window(.time(world.server.nowUs - 500_000), count: 6)
      try place.settle(world)
      #expect(try place.state().trouble == .notFound("there is no message at this time"))
      #expect(world.asked("get_messages").count <= 6)
    }
    let screen = try world.window(count: 22)
    try screen.settle(world)
    #expect(try screen.state().trouble == nil)
    #expect(try screen.state().isAtEnd)
    world.post(70)
    #expect(try world.sync().trouble == nil)
    #expect(try world.tailFaults(20, but: bad) == [])
    #expect(try world.lies() == [])
  }

  /// An item lies below a stamp years ahead: its place reaches up to that stamp, and all
  /// that arrives from now on comes to lie in it.
  @Test(arguments: ServerKind.few)
  func whatArrivesInAWidePlaceIsFetched(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(30)
    var bad = Self.post(1, everyMs: 1_000, to: world) { _ in .garbledTime }
    world.put(agoMs: -5 * 366 * 86_400_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    for _ in 0..<2 {
      try world.client.disconnected()
      bad.formUnion(
        Self.post(130, everyMs: 1_000, to: world) { $0 == 65 ? .garbledTime : nil })
      try world.client.connected()
      #expect(try world.sync().trouble == nil)
    }
    #expect(try world.sync(.older, want: 1_000).trouble == nil)
    try Self.expectAll(world, but: bad)
  }

  /// The way up from an old place leads over more unreadable items than a page holds: what
  /// stands above them is joined, their place is known, and nothing is asked for twice.
  @Test(arguments: [13, 50])
  func theWayUpLeadsOverPoison(_ length: Int) throws {
    let world = try World.exact(page: 10)
    world.post(60)
    let bad = Self.post(length, everyMs: 1_000, to: world) { _ in .missingID }
    world.post(60)
    try world.connect()
    try world.sync(.live)
    let stamps = world.server.truth(world.room).map(\.stampUs)
    let place = Position(time: stamps[30], id: [])
    #expect(try world.sync(.near(place)).trouble == nil)
    let edge = Position(time: stamps[30] + 1, id: [])
    // Each time it goes on to the next island that pages on the way left behind.
    for step in 0..<40 {
      try #require(step < 39)
      world.reset()
      #expect(try world.sync(.above(edge), want: 15).trouble == nil)
      if world.requests.isEmpty { break }
    }
    let readable = Set(world.truth().suffix(world.truth().count - 31)).subtracting(bad)
    #expect(readable.isSubset(of: try world.cached()))
    let gaps = try world.page().coverage.gaps.filter { $0.lowUs > stamps[30] }
    #expect(!gaps.isEmpty && gaps.allSatisfy(\.poisoned))
    #expect(try world.lies() == [])
  }

  /// Nothing of the newest pages can be read: the way up ends there, and ends well.
  @Test(arguments: [7, 35])
  func theWayUpEndsInPoison(_ length: Int) throws {
    let world = try World.exact(page: 10)
    world.post(90)
    try world.connect()
    let stamps = world.server.truth(world.room).map(\.stampUs)
    try world.sync(.live)
    try world.client.disconnected()
    _ = Self.post(length, everyMs: 1_000, to: world) { _ in .missingID }
    try world.client.connected()
    #expect(try world.sync(.near(Position(time: stamps[30], id: []))).trouble == nil)
    let edge = Position(time: stamps[30] + 1, id: [])
    #expect(try world.sync(.above(edge), want: 1_000).trouble == nil)
    let old = Position(time: stamps[89] + 1, id: [])
    #expect(try world.sync(.above(old), want: 1_000).trouble == nil)
    #expect(try world.lies() == [])
  }

  /// Messages were lost before a push: they may have come to lie in the wide place of an
  /// item below a stamp years ahead, so the gap is not called one that only poison makes.
  @Test func aPushThatJoinsNothingDoubtsWidePlaces() throws {
    let world = try World.exact(page: 50)
    world.post(30)
    _ = Self.post(1, everyMs: 1_000, to: world) { _ in .garbledTime }
    world.put(agoMs: -5 * 366 * 86_400_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 100).trouble == nil)
    func gaps() throws -> [String] {
      try world.page().coverage.gaps.map { "\($0.beforeRow) \($0.poisoned)" }
    }
    let first = try gaps()
    #expect(first == ["30 true"])
    world.post(3)
    try world.push { world.post(1) }
    let second = try gaps()
    #expect(second == ["30 false", "31 false"])
    try world.sync()
    #expect(try world.cached().count == 35)
    #expect(try world.lies() == [])
  }
}
