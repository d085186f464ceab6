import Base
import Engine
import ReferenceServer
import Testing
import Timeline

/// Where windows open, what loads bring, what leaves.
@Suite struct WindowsOpen {
  @Test func atTheLatestItShowsTheCacheAtOnceAndThenThePresent() throws {
    let world = try World()
    world.post(300)
    let screen = try TestScreen(world)
    #expect(try screen.poll() == nil)
    #expect(try screen.state().waiting == .connection)
    try world.connect()
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
    let state = try screen.state()
    #expect(state.isAtEnd)
    #expect(!state.isAtStart)
    #expect(state.waiting == .nothing)
    #expect(state.trouble == nil)
  }

  @Test(arguments: ServerKind.few)
  func loadsBeforeUntilTheStart(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(180)
    try world.connect()
    let screen = try world.window()
    var loads = 0
    while try screen.window.load(Load(.before(0), count: 20)) {
      try screen.settle(world)
      loads += 1
      try #require(loads < 30)
    }
    #expect(try screen.ids() == world.truth())
    #expect(try screen.splits().isEmpty)
    #expect(try screen.state().isAtStart)
    #expect(!(try screen.state().hasGapBefore))
  }

  @Test func atTheFirstUnread() throws {
    let world = try World.exact()
    world.post(60)
    try world.connect()
    try world.sync(.older, want: 100)
    let truth = world.truth()
    let read = truth.prefix(50).map { Array($0.utf8) }
    try world.client.markRead(conversation: Array(world.room.utf8), ids: read)
    let screen = try world.window(.unread, count: 10)
    #expect(try screen.ids() == Array(truth[45..<55]))
    let first = try #require(try screen.window.rows(first: 5, count: 1)?.rows.first)
    #expect(try screen.state().anchor == first.number)
    #expect(!(try screen.state().isAtEnd))
    #expect(!(try screen.state().hasGapAfter))
    // With nothing unread it is the newest.
    let all = truth.map { Array($0.utf8) }
    try world.client.markRead(conversation: Array(world.room.utf8), ids: all)
    let second = try world.window(.unread, count: 10)
    #expect(try second.ids() == Array(truth.suffix(10)))
    #expect(try second.state().isAtEnd)
  }

  @Test func atAMessageAndAtATimeFromTheCache() throws {
    let world = try World.exact()
    world.post(200)
    try world.connect()
    try world.sync(.older, want: 300)
    try world.client.disconnected()
    let truth = world.truth()
    let screen = try world.window(.message(Array(truth[90].utf8)), count: 20)
    #expect(try screen.ids() == Array(truth[80..<100]))
    #expect(try screen.window.find(Array(truth[90].utf8)) == 10)
    #expect(try screen.window.find(Array("nobody".utf8)) == nil)
    let row = try #require(try screen.window.rows(first: 10, count: 1)?.rows.first)
    let second = try world.window(.time(row.timeUs), count: 20)
    #expect(try second.ids() == Array(truth[80..<100]))
    #expect(try second.state().anchor == row.number)
    // Newer, until it follows the present; then nothing lies there.
    #expect(try second.window.load(Load(.after(0), count: 60)))
    try second.settle(world)
    #expect(try second.ids() == Array(truth[80..<160]))
    #expect(try second.window.load(Load(.after(0), count: 60)))
    try second.settle(world)
    #expect(try second.ids() == Array(truth[80...]))
    #expect(try second.state().isAtEnd)
    #expect(try second.window.load(Load(.after(0))) == false)
    // The newest beside it, and instead of it.
    #expect(try screen.window.load(Load(.last, count: 10)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[80..<100]) + truth.suffix(10))
    #expect(try screen.splits() == [20])
    #expect(try screen.window.load(Load(.initial, count: 10)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth.suffix(10)))
    #expect(throws: Failure.notFound("no row of the window has this number")) {
      try screen.window.load(Load(.before(row.number)))
    }
  }

  /// Rows that a load is about to replace may be trimmed meanwhile: what it brings stays.
  @Test func aTrimOfRowsThatAreReplacedEmptiesNothing() throws {
    let world = try World.exact()
    world.post(200)
    try world.connect()
    try world.sync(.older, want: 300)
    try world.client.disconnected()
    let truth = world.truth()
    let screen = try world.window(.message(Array(truth[90].utf8)), count: 20)
    #expect(try screen.window.load(Load(.initial, count: 10)))
    try screen.window.trim(first: 2, count: 1)
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth.suffix(10)))
  }

  @Test func aMessageNobodyCanLookForIsRefused() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    #expect(throws: Failure.unsupported("the message is not stored, and cannot be looked for")) {
      try world.window(.message(Array("nobody".utf8)))
    }
  }

  @Test func aMessageThatTheServerDoesNotHaveEndsWithTrouble() throws {
    let world = try World.exact {
      $0.takesAround = true
    } profile: {
      $0.capabilities = .around
    }
    world.post(60)
    try world.connect()
    let screen = try world.window(.message(Array("nobody".utf8)))
    #expect(try screen.ids().isEmpty)
    #expect(try screen.state().trouble == .noMessage)
    #expect(try screen.state().waiting == .nothing)
  }

  @Test func fartherThanItsBoundRowsLeave() throws {
    let world = try World.exact(page: 100)
    world.post(400)
    try world.connect()
    try world.sync(.older, want: 500)
    let truth = world.truth()
    let screen = try world.window(count: 80, rowsMax: 100)
    #expect(try screen.window.load(Load(.before(0), count: 60)))
    try screen.settle(world)
    #expect(try screen.ids().count == 100)
    #expect(try screen.ids().first == truth[260])
    #expect(!(try screen.state().isAtEnd))
    #expect(try screen.window.load(Load(.after(0), count: 60)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[300...]))
    #expect(try screen.state().isAtEnd)
    try screen.window.trim(first: 10, count: 20)
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[310..<330]))
    #expect(try screen.splits().isEmpty)
    #expect(!(try screen.state().isAtEnd))
  }

  /// A window that was opened elsewhere and is sent to the newest messages before anything
  /// is known of the conversation asks for them.
  @Test func theNewestOfAnUnknownConversationAreAskedFor() throws {
    let world = try World.exact()
    world.post(50)
    let screen = try TestScreen(world, .time(World.epochUs), count: 20)
    try screen.poll()
    #expect(try screen.window.load(Load(.initial, count: 20)))
    try screen.poll()
    try world.connect()
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
    #expect(try screen.state().isAtEnd)
  }

  /// What is trimmed while the first unread message is still looked for stays away.
  @Test func aTrimWhileAPlaceIsLookedForBringsNothingBack() throws {
    let world = try World.exact(page: 100)
    world.post(100, sender: "me")
    try world.connect()
    try world.sync(.older, want: 200)
    let truth = world.truth()
    try world.client.disconnected()
    try world.client.connected()
    let screen = try TestScreen(world, .unread, count: 40)
    try screen.poll()
    #expect(try screen.ids() == Array(truth.suffix(40)))
    try screen.window.trim(first: 10, count: 5)
    try screen.poll()
    try screen.poll()
    #expect(try screen.ids() == Array(truth[70..<75]))
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[70..<75]))
  }

  /// Of several loads under way the bound follows the last one: who went back to the newest
  /// messages stays there when an older wish is answered.
  @Test func aLateAnswerDoesNotDragTheWindowAway() throws {
    let world = try World.exact(page: 100)
    world.post(100)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(400)
    try world.connect()
    let screen = try world.window(.message(Array(world.truth()[50].utf8)), count: 60, rowsMax: 100)
    #expect(!(try screen.state().isAtEnd))
    #expect(try screen.window.load(Load(.after(0), count: 300)))
    #expect(try screen.window.load(Load(.last, count: 60)))
    try screen.settle(world)
    #expect(try screen.state().isAtEnd)
    #expect(try screen.ids().last == world.truth().last)
    world.post(1)
    try world.sync()
    try screen.settle(world)
    #expect(try screen.ids().last == world.truth().last)
  }

  /// A full window that is read far from the newest messages is sent to them. The host draws once
  /// more what it has before it polls: what it shows then does not send them away again.
  @Test(arguments: [Load.Kind.last, .initial])
  func theNewestStayThoughTheOldRowsWereShownOnceMore(_ kind: Load.Kind) throws {
    let world = try World.exact(page: 100)
    world.post(400)
    try world.connect()
    try world.sync(.older, want: 500)
    let screen = try world.window(count: 80, rowsMax: 100)
    #expect(try screen.window.load(Load(.before(0), count: 60)))
    try screen.settle(world)
    try screen.window.show(first: 0, count: 10)
    world.post(50)
    try world.sync()
    try screen.settle(world)
    #expect(!(try screen.state().isAtEnd))
    #expect(try screen.window.load(Load(kind, count: 40)))
    try screen.window.show(first: 0, count: 10)
    try screen.poll()
    #expect(try screen.state().isAtEnd)
    #expect(try screen.ids().suffix(40) == world.truth().suffix(40))
    // Who shows nothing more stays at the present.
    world.post(150)
    try world.sync()
    try screen.settle(world)
    #expect(try screen.state().isAtEnd)
    #expect(try screen.ids().last == world.truth().last)
  }

  /// What the bound sends away is not brought again by each poll while a load waits: a host
  /// that polls until nothing is told comes to an end without any answer.
  @Test func aFullWindowComesToRestWhileItWaits() throws {
    let world = try World.exact(page: 100)
    world.post(600)
    try world.connect()
    try world.sync(.older, want: 200)
    let screen = try world.window(count: 90, rowsMax: 100)
    // More than there is room for lies before the gap that is asked for.
    #expect(try screen.window.load(Load(.before(0), count: 300)))
    // Nothing is carried from here on, so whatever was asked stays unanswered.
    var polls = 0
    while try screen.poll() != nil {
      polls += 1
      try #require(polls < 8)
    }
    #expect(try screen.ids().count <= 100)
    try screen.settle(world)
    #expect(try screen.ids().count == 100)
  }

  /// What open windows have loaded is what a retention may not drop: all of them together,
  /// no more than what stays after a trim, and nothing once they are closed.
  @Test func whatOpenWindowsShowIsPinned() throws {
    let world = try World.exact(page: 100)
    world.post(400)
    try world.connect()
    try world.sync(.older, want: 500)
    let room = Array(world.room.utf8)
    let places = try world.truth().map { try world.position(of: $0) }
    func pinned() -> [Int] {
      let pins = world.client.pinned(room)
      return places.indices.filter { pins.span(holding: places[$0]) != nil }
    }
    #expect(pinned() == [])
    let newest = try world.window(count: 20)
    #expect(pinned() == Array(380..<400))
    // Whatever arrives belongs to a window that follows the present.
    #expect(world.client.pinned(room).covers(places[399], high: .max))
    let old = try world.window(.message(Array(world.truth()[100].utf8)), count: 20)
    #expect(pinned() == Array(90..<110) + Array(380..<400))
    #expect(try old.window.load(Load(.before(0), count: 30)))
    try old.settle(world)
    #expect(pinned() == Array(60..<110) + Array(380..<400))
    try old.window.trim(first: 10, count: 5)
    try old.settle(world)
    #expect(pinned() == Array(70..<75) + Array(380..<400))
    #expect(world.client.pinned(Array("other".utf8)) == SpanSet())
    newest.window.close()
    #expect(pinned() == Array(70..<75))
    old.window.close()
    #expect(world.client.pinned(room) == SpanSet())
  }

  @Test func severalWindowsWatchOneConversation() throws {
    let world = try World.exact()
    world.post(120)
    try world.connect()
    let one = try TestScreen(world)
    let two = try TestScreen(world)
    let three = try world.window(count: 50)
    try one.settle(world)
    try two.settle(world)
    #expect(world.requests.filter { $0.contains("get_messages") }.count <= 3)
    #expect(try one.ids() == two.ids())
    #expect(try three.ids() == Array(world.truth().suffix(50)))
    world.post(3)
    try world.sync()
    for screen in [one, two, three] { try screen.settle(world) }
    #expect(try one.ids() == Array(world.truth().suffix(23)))
    #expect(try one.ids() == two.ids())
    one.window.close()
    one.window.close()
    #expect(throws: Failure.closed) { try one.window.poll() }
    world.client.close()
    #expect(throws: Failure.closed) { try two.window.poll() }
  }

  @Test func cacheOnlyAsksNothing() throws {
    let world = try World.exact()
    world.post(120)
    try world.connect()
    try world.sync()
    world.reset()
    let screen = try TestScreen(world, count: 50) { $0.isCacheOnly = true }
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
    _ = try screen.window.load(Load(.before(0)))
    try screen.settle(world)
    #expect(world.requests.isEmpty)
    #expect(try screen.state().waiting == .nothing)
  }

  @Test func thereIsABoundOnWindows() throws {
    let world = try World()
    var windows: [Window] = []
    let config = WindowConfig(conversation: Array(world.room.utf8))
    for _ in 0..<Limits.windowsMax { windows.append(try world.client.openWindow(config)) }
    #expect(throws: Failure.full("1,024 windows and lists are open")) {
      try world.client.openWindow(config)
    }
    windows.removeLast()
    windows.append(try world.client.openWindow(config))
  }
}
