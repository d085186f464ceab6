/// Windows that open at the first unread message.
///
/// Rule protected: such a window shows the place that is meant and what lies around it, and
/// nothing that the way there happened to bring.
import Engine
import ReferenceServer
import Testing

@Suite struct WindowUnread {
  /// All that is cached is read, and the host looks before anything has come: the place is
  /// looked for all the same.
  @Test(arguments: CapableKind.all, [5, 15, 200])
  func whatCameSinceIsWaitedFor(_ kind: CapableKind, _ later: Int) throws {
    let world = try kind.world()
    world.post(60, everyMs: kind.everyMs)
    try world.connect()
    try world.sync(.older, want: 60)
    let read = try world.cached().map { Array($0.utf8) }
    try world.client.markRead(conversation: Array("room".utf8), ids: read)
    try world.run()
    try world.client.disconnected()
    world.advance(ms: 60_000)
    world.post(later, everyMs: kind.everyMs)
    try world.client.connected()
    let screen = try TestScreen(world, .unread, count: 10)
    try screen.poll()
    try screen.settle(world)
    try expectUnbroken(screen, world, around: 60)
  }

  /// The server has the marker, and nothing of the conversation is cached but what its list
  /// tells.
  @Test(arguments: CapableKind.all, [true, false])
  func noRowOfTheWayThereStays(_ kind: CapableKind, _ pollsEarly: Bool) throws {
    let world = try kind.world()
    world.post(100, everyMs: kind.everyMs)
    readElsewhere(world.order()[40], world)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    let screen = try TestScreen(world, .unread, count: 10)
    if pollsEarly { try screen.poll() }
    try screen.settle(world)
    try expectUnbroken(screen, world, around: 41)
  }

  /// Where the server is asked for the marker and does not answer, the newest that is cached is
  /// shown after a while; once it answers, the first unread is there.
  @Test func aSilentServerHidesNothingThatIsCached() throws {
    let world = try CapableKind.all[6].world(limit: 20)
    world.post(100)
    readElsewhere(world.order()[10], world)
    try world.connect()
    try world.sync()
    #expect(try world.sync(.conversations).trouble == nil)
    try world.disconnect()
    try world.connect()
    world.lose("get_messages")
    let screen = try TestScreen(world, .unread, count: 20)
    try screen.poll()
    for _ in 0..<3 {
      try world.wait(ms: 60_000)
      try screen.poll()
    }
    #expect(try screen.ids() == world.order().suffix(19))
    world.answerAll()
    try world.wait(ms: 600_000)
    try screen.settle(world)
    let number = try screen.state().anchor
    let row = try #require(screen.numbers.firstIndex(of: number))
    #expect(try screen.ids()[row] == world.order()[11])
  }

  /// Another device of this user has read up to a message.
  private func readElsewhere(_ id: String, _ world: World) {
    let mark = """
      {"type":"mark_last_read","request_id":"other","conversation_id":"room",\
      "message_id":"\(id)"}
      """
    _ = world.server.handle(Array(mark.utf8), user: "me")
  }

  private func expectUnbroken(_ screen: TestScreen, _ world: World, around first: Int) throws {
    let ids = try screen.ids()
    let truth = world.order()
    let number = try screen.state().anchor
    let row = try #require(screen.numbers.firstIndex(of: number))
    #expect(ids[row] == truth[first])
    let low = try #require(truth.firstIndex(of: ids[0]))
    #expect(ids == Array(truth[low..<min(low + ids.count, truth.count)]))
    #expect(row >= 5 && ids.count - row >= min(5, truth.count - first))
    #expect(try screen.splits().isEmpty)
    #expect(try screen.state().waiting == .nothing)
  }
}
