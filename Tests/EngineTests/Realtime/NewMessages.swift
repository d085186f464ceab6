/// What a host may notify of: each message that came after the first fetch of its conversation,
/// once, whichever request brings it, and nothing that was there before. On every kind of server.
import Base
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct NewMessages {
  /// A conversation of 60 that was fetched.
  private func world(_ server: FoundServer, page: Int = 50) throws -> World {
    let world = try server.world(profile: { $0.pageLimit = page })
    world.post(60)
    try world.connectListening()
    try world.sync()
    return world
  }

  /// The ids of what was offered, in the order of the feed.
  private func offered(_ world: World) throws -> [String] {
    let page = try world.page()
    guard case .changes(let all) = try world.client.changes(after: 0, limit: 10_000) else {
      Issue.record("the feed is not whole")
      return []
    }
    return all.filter(\.notifies).flatMap { change in
      page.rows.filter { (change.first...change.last).contains($0.number) }
        .map { String(decoding: page[$0.id], as: UTF8.self) }
    }
  }

  private func expect(
    _ ids: [String], _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try offered(world)
    let lost = Set(ids).subtracting(found).count
    let old = Set(found).subtracting(ids).count
    #expect(
      found.count == ids.count && lost == 0 && old == 0,
      "\(found.count) of \(ids.count), lost \(lost), old \(old)", sourceLocation: location)
  }

  /// Protects: what was missed is offered over many pages, also while a list shows the last of it.
  @Test(arguments: FoundServer.allCases, [30, 60, 130, 280])
  func whatWasMissedWithAListOpen(_ server: FoundServer, _ count: Int) throws {
    let world = try world(server)
    let list = try TestList(world.client)
    try list.settle(world)
    try world.disconnect()
    let ids = world.post(count)
    try world.connectListening()
    try list.settle(world)
    try world.sync()
    try expect(ids, world)
  }

  /// Protects: so is it where a window has asked for the newest page before.
  @Test(arguments: FoundServer.allCases, [60, 200])
  func whatWasMissedWithAWindowOpen(_ server: FoundServer, _ count: Int) throws {
    let world = try world(server)
    let screen = try world.window(count: 20)
    try world.disconnect()
    let ids = world.post(count)
    try world.connectListening()
    let id = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try screen.settle(world)
    #expect(try world.client.syncStatus(id).trouble == nil)
    try expect(ids, world)
  }

  /// Protects: a gap that the newest page left is offered once it is filled, whoever fills it.
  @Test(arguments: FoundServer.allCases)
  func aGapIsOfferedOnceItIsFilled(_ server: FoundServer) throws {
    let world = try world(server)
    try world.disconnect()
    let ids = world.post(130)
    try world.connectListening()
    try world.sync(.live)
    for _ in 0..<4 { try world.sync(.older, want: 50) }
    try expect(ids, world)
  }

  /// Protects: the rest of a catch-up that was interrupted, also where the newest page came first.
  @Test(arguments: FoundServer.allCases, [1, 2])
  func theRestOfACatchUpThatWasInterrupted(_ server: FoundServer, _ answers: Int) throws {
    let world = try world(server)
    try world.disconnect()
    let ids = world.post(180)
    if server == .log { world.server.expireTokens() }
    try world.connectListening()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try world.run { index, _ in index >= answers }
    try world.disconnect()
    try world.connectListening()
    try world.sync()
    for _ in 0..<4 { try world.sync(.older, want: 50) }
    try expect(ids, world)
  }

  /// Protects: a page around a message that stands apart, which a later catch-up joins.
  @Test(arguments: [FoundServer.rich, .log])
  func aLookThatStandsApart(_ server: FoundServer) throws {
    let world = try world(server, page: 20)
    try world.disconnect()
    let ids = world.post(90)
    try world.connectListening()
    try world.sync(.at(Array(ids[50].utf8)))
    try world.sync()
    for _ in 0..<4 { try world.sync(.older, want: 50) }
    try expect(ids, world)
  }

  /// Protects: the first fetch is history, and so is all below it.
  @Test(arguments: FoundServer.allCases)
  func theFirstFetchIsHistory(_ server: FoundServer) throws {
    let world = try server.world(profile: { $0.pageLimit = 20 })
    world.post(90)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.sync(.live)
    try world.sync()
    for _ in 0..<5 { try world.sync(.older, want: 30) }
    try world.lookOnceMore()
    try world.sync()
    try expect([], world)
  }

  /// Protects: of a conversation that was empty when it was fetched all is new.
  @Test(arguments: FoundServer.allCases)
  func theFirstMessagesAreNew(_ server: FoundServer) throws {
    let world = try server.world()
    try world.connectListening()
    try world.sync()
    try world.disconnect()
    let ids = world.post(5)
    try world.connectListening()
    try world.sync()
    try expect(ids, world)
  }

  /// Protects: the same after the conversation was dropped from the cache.
  @Test(arguments: FoundServer.allCases)
  func aConversationThatWasDroppedIsHistory(_ server: FoundServer) throws {
    let world = try world(server)
    let ids = world.post(3)
    try world.sync()
    try expect(ids, world)
    try world.client.drop(conversation: Array(world.room.utf8), id: [])
    try world.sync()
    try world.sync(.older, want: 50)
    let more = world.post(2)
    try world.sync()
    #expect(try offered(world).suffix(2) == more)
  }
}
