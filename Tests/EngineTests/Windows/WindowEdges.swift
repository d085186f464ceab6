/// What windows do where their rows are gone, and what they say of their ends.
///
/// Rule protected: a window never stands empty or short of the newest messages while there
/// are more, and a gap beside its first or last row is told.
import Base
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct WindowEdges {
  /// Ten messages of one second arrived against the order of their ids, and what was newer
  /// is deleted: the newest range shows nothing, and the second is read whole.
  @Test func theNewestOfASecondThatWasCutComeBack() throws {
    let world = try CapableKind.all[0].world(limit: 5)
    world.post(60)
    world.advance(ms: 1_000)
    let ties = (0..<10).reversed().map { index in
      world.server.post(
        conversation: world.room, sender: "you", payload: "\"tie\"", id: "t\(index)",
        stampUs: nil, lateUs: nil)
    }
    let newest = world.post(3)
    try world.connectListening()
    let screen = try world.window(count: 5)
    #expect(try screen.ids() == newest)
    world.server.delete(conversation: world.room, ids: newest)
    try screen.poll()
    try screen.settle(world)
    let ids = try screen.ids()
    #expect(ids.count >= 5 && ids == ties.suffix(ids.count))
    #expect(try screen.splits().isEmpty)
    let state = try screen.state()
    #expect(state.isAtEnd && !state.hasGapAfter && state.waiting == .nothing)
  }

  /// The same without a connection: the gap behind the last row is told and can be filled.
  @Test func theGapBeforeThePresentIsTold() throws {
    let world = try World.exact()
    world.post(100)
    try world.connectListening()
    try world.sync()
    try world.disconnect()
    world.post(50)
    try world.connectListening()
    let screen = try world.window(count: 20)
    #expect(try screen.window.load(Load(.before(0), count: 5, isPastGaps: true)))
    try screen.settle(world)
    let truth = world.truth()
    let shown = Array(try screen.ids().suffix(20))
    try pushDeleted(shown, world)
    try world.disconnect()
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[80..<100]))
    var state = try screen.state()
    #expect(state.isAtEnd && state.hasGapAfter && state.hasGapBefore)
    #expect(state.waiting == .connection)
    #expect(throws: Failure.offline) { try screen.window.fill(row: 20) }
    world.server.delete(conversation: world.room, ids: shown)
    try world.connectListening()
    try screen.settle(world)
    #expect(try screen.ids().suffix(20) == world.truth().suffix(20))
    #expect(try screen.window.fill(row: screen.ids().count) == false)
    state = try screen.state()
    #expect(state.isAtEnd && !state.hasGapAfter && state.waiting == .nothing)
  }

  /// A window that was opened on an empty feed, and did not look before the cache was cleared.
  @Test func whatIsToBeSentOutlivesTheCacheHere() throws {
    let world = try World()
    let screen = try TestScreen(world, count: 20)
    try screen.poll()
    let request =
      #"{"type":"send_message","conversation_id":"room","client_id":"one","payload":"x"}"#
    _ = try world.client.perform(Array(request.utf8))
    try world.client.clear()
    try screen.poll()
    #expect(try screen.ids() == ["one"])
  }

  /// All that a window of the newest messages shows is deleted: it shows what is the newest
  /// then, whoever told of the deletions.
  @Test(arguments: CapableKind.all, [true, false])
  func aWindowWhoseRowsAreDeletedShowsTheNewest(_ kind: CapableKind, _ isUp: Bool) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connectListening()
    let screen = try world.window(count: 20)
    world.advance(ms: 60_000)
    let shown = try screen.ids()
    #expect(shown.count >= 10)
    if !isUp { try world.disconnect() }
    world.server.delete(conversation: world.room, ids: shown)
    world.advance(ms: 60_000)
    if !isUp { try world.connectListening() }
    try screen.settle(world)
    let order = world.order()
    let ids = try screen.ids()
    #expect(ids.count >= (kind.hasTies ? 1 : 20))
    #expect(ids == Array(order.suffix(ids.count)))
    #expect(try screen.splits().isEmpty)
    let state = try screen.state()
    #expect(state.isAtEnd && !state.hasGapAfter && state.waiting == .nothing)
  }

  /// The same in the midst of the history: what stands around the place is shown.
  @Test(arguments: CapableKind.all)
  func aWindowInTheMidstOfTheHistoryLoadsAgain(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connectListening()
    try world.sync()
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == world.order()[100] }?.stampUs)
    let screen = try world.window(.time(stamp), count: 20)
    let shown = try screen.ids()
    let low = try #require(world.order().firstIndex(of: shown[0]))
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: shown)
    world.advance(ms: 60_000)
    try screen.settle(world)
    let order = world.order()
    let ids = try screen.ids()
    #expect(ids.count >= 10)
    let first = try #require(order.firstIndex(of: ids.first ?? ""))
    #expect(first <= low && low <= first + ids.count)
    #expect(ids == Array(order[first...].prefix(ids.count)))
    #expect(!(try screen.state().isAtEnd))
    #expect(try screen.state().waiting == .nothing)
  }

  /// Rows at both ends of an island are deleted under an open window, then the whole island:
  /// the split stays where the gap is, goes with the island, and filling what is left gives
  /// the server's state.
  @Test(arguments: CapableKind.all)
  func anIslandLosesItsEndsAndGoes(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connectListening()
    let screen = try world.window(count: 20)
    let newest = try screen.ids()
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == world.order()[100] }?.stampUs)
    #expect(try screen.window.load(Load(.around(.time(stamp)), count: 16)))
    try screen.settle(world)
    let island = Array(try screen.ids().dropLast(newest.count))
    #expect(island.count >= 8)
    #expect(try screen.ids().suffix(newest.count) == newest[...])
    #expect(try screen.splits().contains(island.count))
    world.advance(ms: 60_000)
    let ends = Array(island.prefix(2) + island.suffix(2))
    world.server.delete(conversation: world.room, ids: ends)
    try screen.settle(world)
    #expect(try screen.ids() == island.filter { !ends.contains($0) } + newest)
    #expect(try screen.splits().contains(island.count - 4))
    #expect(try world.breaks(screen) == [])
    world.server.delete(conversation: world.room, ids: island)
    try screen.settle(world)
    #expect(try screen.ids() == newest)
    #expect(try screen.splits().allSatisfy { $0 > 0 })
    let gaps = try world.page().coverage.gaps.map(\.beforeRow)
    let first = try #require(try world.cached().firstIndex(of: newest[0]))
    #expect(try screen.state().hasGapBefore == gaps.contains(first))
    while try !screen.state().isAtStart {
      #expect(try screen.window.load(Load(.before(0), count: 400)))
      try screen.settle(world)
      while let split = try screen.splits().last {
        #expect(try screen.window.fill(row: split))
        try screen.settle(world)
      }
    }
    #expect(try screen.ids() == world.order())
  }

  /// The cache is emptied under open windows: they load what they showed.
  @Test(arguments: CapableKind.all)
  func windowsLoadAgainWhatWasCleared(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connectListening()
    let newest = try world.window(count: 20)
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == world.order()[100] }?.stampUs)
    let middle = try world.window(.time(stamp), count: 20)
    #expect(try middle.ids().contains(world.order()[100]) || kind.hasTies)
    try world.client.clear()
    try newest.poll()
    try middle.poll()
    #expect(try newest.ids().isEmpty && newest.state().hasGapBefore)
    #expect(try middle.ids().isEmpty && middle.state().hasGapBefore)
    try newest.settle(world)
    try middle.settle(world)
    try newest.settle(world)
    let order = world.order()
    let ids = try newest.ids()
    #expect(ids.count >= 10 && ids.last == order.last)
    #expect(try world.breaks(newest) == [])
    let around = try middle.ids()
    let first = try #require(order.firstIndex(of: around.first ?? ""))
    #expect((75...100).contains(first) && around.count >= 20)
    #expect(try middle.splits() == [])
    #expect(try world.breaks(middle) == [])
  }

  /// The server tells of deletions; what is asked because of it is not answered.
  private func pushDeleted(_ ids: [String], _ world: World) throws {
    for id in ids {
      let frame =
        #"{"type":"message_deleted","conversation_id":"room","message_ids":["\#(id)"]}"#
      _ = try world.client.receive(Array(frame.utf8))
    }
  }

  /// Without a connection a window that lost its rows says that more may be there.
  @Test func anEmptyWindowSaysThatItLacksSomething() throws {
    let world = try World.exact()
    world.post(100)
    try world.connectListening()
    let screen = try world.window(count: 20)
    try pushDeleted(try screen.ids(), world)
    try world.disconnect()
    try screen.settle(world)
    let state = try screen.state()
    #expect(state.rowCount == 0 && state.hasGapBefore && state.waiting == .connection)
    #expect(throws: Failure.offline) { try screen.window.fill(row: 0) }
  }

  /// A conversation that is empty is whole: no gap, nothing is waited for, nothing asked.
  @Test func anEmptyConversationHasNoGap() throws {
    let world = try World.exact()
    world.post(30)
    try world.connectListening()
    let screen = try world.window(count: 20)
    while try screen.window.load(Load(.before(0))) { try screen.settle(world) }
    world.server.delete(conversation: world.room, ids: world.truth())
    try screen.settle(world)
    let state = try screen.state()
    #expect(state.rowCount == 0 && !state.hasGapBefore && !state.hasGapAfter)
    #expect(state.waiting == .nothing)
    world.reset()
    try screen.settle(world)
    #expect(world.requests.isEmpty)
    #expect(try screen.window.fill(row: 0) == false)
  }

  /// Where the newest messages are cached and a time far below is asked for, no row of the
  /// newest is shown for it, not even at first.
  @Test(arguments: CapableKind.all)
  func noStrayRowIsShownForATime(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    let order = world.order()
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == order[100] }?.stampUs)
    let screen = try TestScreen(world, .time(stamp), count: 20)
    try screen.poll()
    #expect(try screen.ids().isEmpty)
    #expect(try screen.state().anchor == 0)
    #expect(try screen.state().waiting == .place)
    try screen.settle(world)
    let ids = try screen.ids()
    let first = try #require(order.firstIndex(of: ids.first ?? ""))
    #expect(ids == Array(order[first...].prefix(ids.count)))
    let splits = try screen.splits()
    #expect(kind.hasTies || splits.isEmpty)
    #expect((80...105).contains(first) && ids.count >= 10)
  }

  /// Where absence is deletion, a page far below says nothing of the second that the newest
  /// page has cut.
  @Test func aJumpJudgesNothingOfASecondThatWasCut() throws {
    let world = try CapableKind.all[3].world(
      limit: 8, profile: { $0.absenceIsDeletion = true })
    world.post(60)
    world.advance(ms: 1_000)
    try world.connectListening()
    world.post(12, everyMs: 0)
    world.advance(ms: 60_000)
    world.post(3)
    try world.run()
    let pushed = try world.page().rows.map(\.number)
    let stamp = try #require(world.server.truth(world.room).dropFirst(20).first?.stampUs)
    let screen = try world.window(.time(stamp), count: 8)
    #expect(try !screen.ids().isEmpty)
    // A row that goes and comes again has another number.
    #expect(try world.page().rows.suffix(15).map(\.number) == pushed)
  }

  /// The seed's example: a window of the newest page opens above a gap, and says so; so does
  /// an island on both its sides, and nobody does who has more in the cache.
  @Test(arguments: CapableKind.all)
  func theGapsBesideAWindowAreTold(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    let screen = try world.window(count: 20)
    #expect(try screen.state().hasGapBefore)
    #expect(!(try screen.state().hasGapAfter))
    #expect(try screen.window.fill(row: 0))
    try screen.settle(world)
    #expect(try screen.ids() == world.order())
    #expect(!(try screen.state().hasGapBefore))
    #expect(try screen.state().isAtStart)
    try screen.window.trim(first: 100, count: 20)
    try screen.settle(world)
    #expect(!(try screen.state().hasGapBefore))
    #expect(!(try screen.state().hasGapAfter))
  }

  @Test(arguments: CapableKind.all)
  func theGapsBesideAnIslandAreTold(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == world.order()[100] }?.stampUs)
    _ = try world.window(.time(stamp), count: 20)
    let page = try world.page()
    let gaps = Set(page.coverage.gaps.map(\.beforeRow))
    #expect(gaps.contains { (1..<page.rows.count).contains($0) })
    for row in 0..<page.rows.count - 1 {
      let screen = try TestScreen(world, .message(Array(page[page.rows[row].id])), count: 1) {
        $0.isCacheOnly = true
      }
      try screen.poll()
      let state = try screen.state()
      #expect(state.rowCount == 1 && !state.isAtEnd)
      #expect(state.hasGapBefore == gaps.contains(row))
      #expect(state.hasGapAfter == gaps.contains(row + 1))
      screen.window.close()
    }
  }
}
