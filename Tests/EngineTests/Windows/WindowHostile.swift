/// Windows and reaches against servers that answer nonsense, and hosts that are rude.
///
/// Rule protected: whatever is answered, each wish ends; nothing is asked for ever, and
/// nothing that was open stays behind.
import Base
import Engine
import Foundation
import Glibc
import ReferenceServer
import Testing
import Timeline

@Suite struct WindowHostile {
  /// More messages in one tick than a page around a message shows beside it.
  @Test func aTickLargerThanAPageIsPassedUpwards() throws {
    let kind = CapableKind(name: "around", capabilities: [.around], everyMs: 1_000)
    let world = try kind.world(limit: 10)
    world.post(60)
    world.post(45, everyMs: 0)
    world.post(40)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    let target = world.serverPosition(of: truth[40])
    #expect(try world.reach(.near(target)).trouble == nil)
    for _ in 0..<30 where try !world.splits().isEmpty {
      let status = try world.reach(.above(target), want: 15)
      #expect(status.trouble == nil)
      #expect(try world.breaks() == [])
    }
    #expect(try world.cached().suffix(100) == truth.suffix(100))
  }

  /// A server that always gives the page it gave first.
  @Test(arguments: CapableKind.all)
  func theSamePageAgainAndAgainEnds(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 10)
    world.post(200, everyMs: kind.everyMs)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    var body: String?
    world.alter = { request, answer in
      guard request.contains("get_messages"), let start = answer.range(of: "\"messages\"")
      else { return answer }
      let kept = body ?? String(answer[start.lowerBound...])
      body = kept
      return String(answer[..<start.lowerBound]) + kept
    }
    let place = world.serverPosition(of: truth[90])
    _ = try world.reach(.near(place))
    _ = try world.reach(.above(place), want: 50)
    _ = try world.reach(.below(place), want: 50)
    _ = try world.reach(.at(Array(truth[20].utf8)))
    _ = try world.reach(.older, want: 100)
    _ = try world.reach(.latest)
    #expect(try world.client.state().syncsLeft == 0)
  }

  /// Places at the ends of time are places like others.
  @Test(arguments: CapableKind.all, [Int64.min, .min + 1, -1, 0, .max - 1, .max])
  func theEndsOfTimeAreNoTrap(_ kind: CapableKind, _ time: Int64) throws {
    let world = try kind.world()
    world.post(100, everyMs: kind.everyMs)
    try world.connect()
    let empty = try world.window(.time(time))
    #expect(try empty.state().waiting == .nothing)
    let screen = try world.window()
    #expect(try screen.window.load(Load(.around(.time(time)), count: 7)))
    try screen.settle(world)
    _ = try world.client.messages(
      MessageQuery(conversation: Array(world.room.utf8), from: .time(time)))
    _ = try world.client.messages(
      MessageQuery(conversation: Array(world.room.utf8), from: .beforeTime(time)))
    #expect(try world.breaks() == [])
  }

  /// A message that a page is laid around was deleted meanwhile: the gap is filled all
  /// the same.
  @Test func anEdgeThatIsGoneFillsTheGapAllTheSame() throws {
    let kind = CapableKind(name: "around", capabilities: [.around], everyMs: 1_000)
    let world = try kind.world()
    world.post(100)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    let edge = try #require(try world.cached().first)
    world.advance(ms: 10_000)
    world.server.delete(conversation: world.room, ids: [edge])
    let below = try world.reach(.below(world.serverPosition(of: truth[99])), want: 200)
    #expect(below.trouble == nil)
    #expect(try world.cached().filter { $0 != edge } == truth.filter { $0 != edge })
  }

  /// Where places are numbers, what is told of times are times all the same.
  @Test func numbersAreNeverToldAsTimes() throws {
    let kind = CapableKind(name: "sequence", capabilities: [.sequence])
    let world = try kind.world()
    world.post(100)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let target = world.serverPosition(of: world.order()[40])
    #expect(try world.reach(.near(target)).trouble == nil)
    let coverage = try world.page().coverage
    let times = world.server.truth(world.room).map(\.stampUs)
    #expect(coverage.contentAsOfUs == times.last)
    #expect(coverage.gaps.count >= 2)
    for gap in coverage.gaps {
      #expect(gap.lowUs == .min || times.contains(gap.lowUs))
      #expect(times.contains(gap.highUs))
      #expect(gap.lowUs < gap.highUs)
    }
  }

  /// A gap lies behind what was read: the first unread message lies in it, not above it.
  @Test(arguments: CapableKind.all)
  func theFirstUnreadIsLookedForBehindWhatWasRead(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    let read = try world.cached().map { Array($0.utf8) }
    try world.client.markRead(conversation: Array("room".utf8), ids: read)
    try world.run()
    try world.client.disconnected()
    world.post(200)
    try world.client.connected()
    let truth = world.order()
    let screen = try world.window(.unread, count: 10)
    let ids = try screen.ids()
    let row = try #require(try screen.window.find(Array(truth[60].utf8)))
    let page = try #require(try screen.window.rows(first: row, count: 1))
    #expect(try screen.state().anchor == page.rows[0].number)
    #expect(ids.filter { (55..<65).contains(truth.firstIndex(of: $0) ?? -1) }.count == 10)
    #expect(try screen.state().waiting == .nothing)
  }

  /// What is older is not asked for before the present has come, which may bring it.
  @Test func theFirstLookAsksForThePresentOnly() throws {
    let world = try World.exact()
    world.post(100)
    try world.connect()
    try world.sync(.live)
    try world.client.disconnected()
    world.post(30)
    try world.connect()
    world.reset()
    let screen = try TestScreen(world, count: 50)
    try screen.poll()
    try screen.settle(world)
    #expect(try screen.ids().count == 50)
    #expect(world.requests.count <= 4)
    // Where the present had come before the first look, wishes go on all the same.
    let second = try TestScreen(world, count: 120)
    try world.run()
    try second.settle(world)
    #expect(try second.ids().count >= 119)
    #expect(try second.state().waiting == .nothing)
  }

  /// Windows that could not be opened leave nothing behind.
  @Test func aFullQueueCostsNoWindow() throws {
    let world = try World()
    for index in 0..<Limits.syncsMax {
      _ = try world.client.sync(SyncRequest(conversation: Array("room \(index)".utf8)))
    }
    for _ in 0..<Limits.windowsMax + 1 {
      do {
        let window = try world.client.openWindow(
          WindowConfig(conversation: Array(world.room.utf8)))
        window.close()
      } catch {
        #expect(error == .full("4,096 syncs wait"))
      }
    }
    var quiet = WindowConfig(conversation: Array(world.room.utf8))
    quiet.isCacheOnly = true
    _ = try world.client.openWindow(quiet)
  }

  /// What is under way for a wish is not asked again because the wish moved on.
  @Test func aPageUnderWayIsNotThrownAway() throws {
    let world = try World.exact(page: 10)
    world.post(200)
    try world.connect()
    let screen = try world.window(count: 10)
    world.reset()
    #expect(try screen.window.load(Load(.before(0), count: 50)))
    // The host polls whenever a frame was taken.
    for _ in 0..<100 {
      try screen.poll()
      guard let frame = try world.client.nextFrame() else { break }
      _ = try world.client.frameSent(frame.id)
      let answers = world.server.handle(frame.bytes, user: "me")
      try screen.poll()
      for answer in answers {
        _ = try world.client.receive(answer)
        // Frames leave before the screen is drawn.
        let next = try world.client.nextFrame()
        try screen.poll()
        if let next {
          _ = try world.client.frameSent(next.id)
          for answer in world.server.handle(next.bytes, user: "me") {
            _ = try world.client.receive(answer)
          }
        }
      }
    }
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(60)))
    #expect(try world.client.stats().answersUnmatched == 0)
  }

  /// A trim of what is far does not end a load under way at the other end.
  @Test func aTrimLeavesALoadUnderWay() throws {
    let world = try World.exact()
    world.post(200)
    try world.connect()
    let screen = try world.window(count: 40)
    let truth = world.truth()
    #expect(try screen.window.load(Load(.before(0), count: 60)))
    try screen.poll()
    let kept = try screen.ids().prefix(20)
    let first = try #require(kept.first)
    let last = try #require(kept.last)
    try screen.window.trim(first: 0, count: 20)
    try screen.settle(world)
    let ids = try screen.ids()
    #expect(ids.last == last)
    #expect(ids.first != first)
    #expect(ids == truth.filter { ids.contains($0) })
    #expect(try screen.splits() == [])
    #expect(ids.count >= 60)
  }

  /// The host lets go of a sync that a window shares: the window still gets its present.
  @Test func aCancelOfTheHostLeavesTheWindowItsPresent() throws {
    let world = try World.exact()
    world.post(100)
    let screen = try TestScreen(world)
    let id = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), kind: .live))
    try world.connect()
    #expect(try world.client.cancel(id))
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
  }

  /// The present could not be had; a load of the newest asks for it again.
  @Test func aLoadOfTheNewestAsksAgain() throws {
    let world = try World.exact()
    world.post(100)
    try world.connect()
    world.before = { _, _ in world.server.failNext("forbidden") }
    let screen = try world.window()
    #expect(try screen.ids().isEmpty)
    #expect(try screen.state().trouble == .refused)
    world.before = { _, _ in }
    #expect(try screen.window.load(Load(.last)))
    try screen.settle(world)
    #expect(try screen.ids().suffix(20) == world.truth().suffix(20))
  }

  /// A window in the middle of the history is told of a new connection, and of its end.
  @Test func aWindowHearsOfConnections() throws {
    let world = try World.exact()
    world.post(100)
    try world.connect()
    try world.sync(.older, want: 100)
    let screen = try world.window(.message(Array(world.truth()[30].utf8)), count: 10)
    try screen.window.show(first: 0, count: 10)
    try screen.settle(world)
    func isReadable() throws -> Bool {
      var poll = pollfd(fd: try world.client.eventDescriptor(), events: Int16(POLLIN), revents: 0)
      return unsafe Glibc.poll(&poll, 1, 0) == 1
    }
    while try world.client.nextFrame() != nil {}
    #expect(try !isReadable())
    try world.client.disconnected()
    #expect(try isReadable())
    while try world.client.nextFrame() != nil {}
    try world.client.connected()
    #expect(try isReadable())
    world.reset()
    try screen.settle(world)
    #expect(world.requests.contains { $0.contains("get_messages") })
  }
}

extension WindowHostile {
  /// Changes that promise more for ever: with cursors that go round, that are always
  /// new, or with none; the window comes to rest and says what is wrong.
  @Test(arguments: ["round", "new", "none"])
  func changesWithoutAnEndEnd(_ how: String) throws {
    let kind = CapableKind(name: "changes", capabilities: [.changedSince])
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    var turn = 0
    world.alter = { request, answer in
      guard request.contains("get_changed_since") else { return answer }
      turn += 1
      let next = "\"next_since\":\"c\(how == "round" ? turn % 3 : turn)\""
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_changed_since","request_id":"\(id)","status":"ok","data":\
        {"messages":[],"has_more":true\(how == "none" ? "" : "," + next)}}
        """
    }
    try world.connect()
    let screen = try world.window()
    #expect(turn > 0 && turn < 40)
    #expect(try screen.state().waiting == .nothing)
    #expect(try screen.state().trouble == .incomplete)
    #expect(try screen.ids() == Array(world.truth().suffix(19)))
  }
}
