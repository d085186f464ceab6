/// Gap lines that nobody should see: a split that a request under way will settle.
///
/// Rule protected: what heals is held back for a settable time, what lasts is drawn at once, and
/// the count of splits tells both.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowHold {
  private static let gapBefore: UInt32 = 1 << 8
  private static let healing: UInt32 = 1 << 12

  /// A host on a network that takes its time: each frame needs `latencyMs` either way.
  private final class SlowHost {
    let world: World
    let screen: TestScreen
    let latencyMs: Int64
    private let pushes: Int
    private var due: [(atMs: Int64, act: () throws -> Void)] = []
    private var nowMs: Int64 = 0
    /// Rows that were drawn with a split before them, at each poll.
    var drawn = 0
    var counted = 0
    /// The most at one poll.
    var most = 0

    init(_ world: World, latencyMs: Int64, holdMs: Int64) throws {
      self.world = world
      self.latencyMs = latencyMs
      try world.connect()
      screen = try TestScreen(world, .latest, count: 50) { $0.holdMs = holdMs }
      try screen.settle(world)
      pushes = world.server.subscribe(user: "me")
    }

    func later(_ ms: Int64, _ act: @escaping () throws -> Void) {
      due.append((nowMs + ms, act))
    }

    /// Lets time pass in steps of ten milliseconds; the host looks after each.
    func run(ms: Int64) throws {
      let end = nowMs + ms
      while nowMs < end {
        nowMs += 10
        world.advance(ms: 10)
        let now = due.filter { $0.atMs <= nowMs }
        due.removeAll { $0.atMs <= nowMs }
        for item in now { try item.act() }
        for push in world.server.drain(pushes) {
          later(latencyMs) { [world] in _ = try world.client.receive(push) }
        }
        _ = try world.client.advance()
        while let frame = try world.client.nextFrame() {
          _ = try world.client.frameSent(frame.id)
          later(latencyMs) { [self] in
            for answer in world.server.handle(frame.bytes, user: "me") {
              later(latencyMs) { [self] in _ = try world.client.receive(answer) }
            }
          }
        }
        try screen.poll()
        let splits = try screen.splits().count
        drawn += splits
        most = max(most, splits)
        counted += try screen.state().splitCount
      }
    }
  }

  private func live(holdMs: Int64) throws -> SlowHost {
    let world = try World()
    world.post(120)
    world.advance(ms: 60_000)
    let host = try SlowHost(world, latencyMs: 150, holdMs: holdMs)
    var random = Random(seed: 24)
    for index in 0..<60 {
      if index.isMultiple(of: 10) {
        _ = try world.client.send(
          Outgoing(conversation: Array(world.room.utf8), payload: Array("\"mine\"".utf8)))
      } else {
        world.post(1, everyMs: 0)
      }
      try host.run(ms: Int64(random.below(70)) * 10 + 10)
    }
    try host.run(ms: 3_000)
    #expect(try host.screen.splits() == [])
    #expect(try host.screen.state().splitCount == 0)
    #expect(host.counted > 100)
    return host
  }

  /// A window at the present of what is known, which holds splits back for a second.
  private func caughtUp() throws -> (World, TestScreen) {
    let world = try World()
    world.post(120)
    world.advance(ms: 60_000)
    try world.connect()
    let screen = try TestScreen(world, .latest, count: 50) { $0.holdMs = 1_000 }
    try screen.settle(world)
    return (world, screen)
  }

  /// So many are posted, and only the last one is pushed.
  private func push(_ count: Int, to world: World) throws {
    world.post(count)
    let newest = try #require(world.server.truth(world.room).last)
    try world.hand(Frames.push(Frames.message(newest.id, atUs: newest.stampUs)))
  }

  @Test func sixtyLiveMessagesDrawNoGap() throws {
    #expect(try live(holdMs: 1_000).drawn == 0)
    // A host that asks for all of them has them.
    #expect(try live(holdMs: 0).drawn > 100)
  }

  /// Messages come faster than answers: one line at most stands for all that is on its way.
  @Test(arguments: [250, 700] as [Int64], [350, 1_500] as [Int64])
  func steadyPushesDrawOneLineAtMost(_ everyMs: Int64, _ latencyMs: Int64) throws {
    let world = try World()
    world.post(120)
    world.advance(ms: 60_000)
    let host = try SlowHost(world, latencyMs: latencyMs, holdMs: 1_000)
    for _ in 0..<60 {
      world.post(1, everyMs: 0)
      try host.run(ms: everyMs)
    }
    #expect(host.most <= 1)
    #expect(host.counted > 100)
    try host.run(ms: 8_000)
    #expect(try host.screen.splits() == [])
  }

  /// A page is shorter than what the window wants, and cuts a second: what it shows of that is not
  /// drawn above a split while the rest is on its way, and at the end nothing is missing.
  @Test(arguments: [1, 2, 3, 12], [20, 50])
  func aFirstPictureBeginsWithoutASplit(_ each: Int, _ count: Int) throws {
    var knobs = ServerKnobs()
    knobs.pageCap = 20
    let world = try World(knobs: knobs)
    for index in 0..<200 { world.post(1, everyMs: index.isMultiple(of: each) ? 1_000 : 0) }
    world.advance(ms: 60_000)
    try world.connect()
    let screen = try TestScreen(world, .latest, count: count)
    var pictures = 0
    for _ in 0..<20 {
      // What has come with one answer, before the rest of it is asked for.
      try world.run()
      guard try screen.poll() != nil else { continue }
      pictures += 1
      #expect(try screen.splits() == [])
    }
    #expect(pictures > (count == 20 && each < 10 ? 0 : 1))
    #expect(try screen.splits() == [])
    #expect(try screen.ids().count >= count - each)
    #expect(try screen.ids() == world.truth().suffix(screen.ids().count))
  }

  /// The same of a conversation of a few messages that nothing is known of: whether its first page
  /// is all there is only the next one says.
  @Test(arguments: 1...12)
  func aShortConversationComesWithoutASplit(_ count: Int) throws {
    let world = try World()
    world.post(count)
    world.advance(ms: 60_000)
    try world.connect()
    let screen = try TestScreen(world, .latest, count: 50)
    var pictures = 0
    for _ in 0..<20 {
      if let frame = try world.client.nextFrame() {
        _ = try world.client.frameSent(frame.id)
        for answer in world.server.handle(frame.bytes, user: "me") {
          _ = try world.client.receive(answer)
        }
      }
      if try screen.poll() != nil { pictures += 1 }
      #expect(try screen.splits() == [])
    }
    #expect(pictures > 0)
    #expect(try screen.ids() == world.truth())
    #expect(try screen.state().isAtStart)
  }

  /// The answer takes longer than the hold: the split is drawn when that is over, says that it
  /// heals, and goes with the answer. The deadline and the descriptor tell of it.
  @Test func whatTakesLongerIsDrawn() throws {
    let (world, screen) = try caughtUp()
    _ = try world.client.advance()
    try push(1, to: world)
    #expect(try screen.poll() != nil)
    #expect(try screen.splits() == [])
    #expect(try screen.state().splitCount == 1)
    #expect(try world.client.advance() == 1_000)
    world.advance(ms: 400)
    #expect(try world.client.advance() == 600)
    #expect(try screen.poll() == nil)
    world.advance(ms: 599)
    #expect(try screen.poll() == nil)
    world.advance(ms: 1)
    _ = try world.client.advance()
    #expect(try screen.poll() != nil)
    let rows = try #require(try screen.window.rows(first: 0, count: 100)).rows
    #expect((rows.last?.flags ?? 0) & Self.gapBefore != 0)
    #expect((rows.last?.flags ?? 0) & Self.healing != 0)
    #expect(try screen.splits().count == 1)
    try screen.settle(world)
    #expect(try screen.splits() == [])
  }

  /// The connection goes while a split is held back: nothing settles it any more.
  @Test func whatDoesNotHealAnyMoreIsDrawnAtOnce() throws {
    let (world, screen) = try caughtUp()
    try push(3, to: world)
    _ = try screen.poll()
    #expect(try screen.splits() == [])
    try world.client.disconnected()
    _ = try screen.poll()
    let last = try #require(try screen.window.rows(first: 0, count: 100)?.rows.last)
    #expect(last.flags & Self.gapBefore != 0)
    #expect(last.flags & Self.healing == 0)
    // Connected again it heals, and is not taken away before it has.
    try world.client.connected()
    _ = try screen.poll()
    let again = try #require(try screen.window.rows(first: 0, count: 100)?.rows.last)
    #expect(again.flags & Self.gapBefore != 0)
    #expect(again.flags & Self.healing != 0)
    try screen.settle(world)
    #expect(try screen.splits() == [])
    #expect(try world.lies() == [])
  }

  /// A gap below what a catch-up starts from lasts, whatever is caught up above it.
  @Test func aGapFurtherDownDoesNotHeal() throws {
    let (world, screen) = try caughtUp()
    try world.client.disconnected()
    world.post(200)
    world.advance(ms: 60_000)
    try world.connect()
    try screen.settle(world)
    // The row that the newest page cut stands above the gap, and nothing is loaded beside it.
    let low = try #require(try screen.splits().last)
    _ = try screen.window.load(Load(.before(screen.numbers[low]), count: 1, isPastGaps: true))
    try screen.settle(world)
    func gaps() throws -> [UInt32] {
      try #require(try screen.window.rows(first: 0, count: 1_000)).rows.map(\.flags)
        .filter { $0 & Self.gapBefore != 0 }
    }
    let lasting = try gaps()
    #expect(!lasting.isEmpty && lasting.allSatisfy { $0 & Self.healing == 0 })
    let version = try screen.state().version
    try push(1, to: world)
    _ = try screen.poll()
    #expect(try screen.state().version == version + 1)
    #expect(try gaps() == lasting)
    try screen.settle(world)
    #expect(try gaps().count == lasting.count)
  }

  /// A gap that somebody asked to be filled says so from then on.
  @Test func aGapThatIsFilledHeals() throws {
    let world = try World.exact()
    world.post(200)
    try world.connect()
    let screen = try TestScreen(world, .latest, count: 20) { $0.holdMs = 1_000 }
    try screen.settle(world)
    try world.client.disconnected()
    world.post(100)
    try world.connect()
    try screen.settle(world)
    _ = try screen.window.load(Load(.before(0), count: 60, isPastGaps: true))
    try screen.settle(world)
    let split = try #require(try screen.splits().first)
    let row = try #require(try screen.window.rows(first: split, count: 1)?.rows.first)
    #expect(row.flags & Self.healing == 0)
    #expect(try screen.window.fill(row: split))
    _ = try screen.poll()
    let asked = try #require(try screen.window.rows(first: split, count: 1)?.rows.first)
    #expect(asked.flags & Self.gapBefore != 0)
    // The request is known once the poll has asked for it.
    _ = try screen.poll()
    let filling = try #require(try screen.window.rows(first: split, count: 1)?.rows.first)
    #expect(filling.flags & Self.healing != 0)
    try screen.settle(world)
    let filled = try #require(screen.numbers.firstIndex(of: row.number))
    #expect(try !screen.splits().contains(filled))
  }
}
