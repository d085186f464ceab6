/// What it costs to open a window where the user left off, thousands of messages ago.
///
/// Rule protected: the place is found by what is known of it, not page by page; what is shown
/// is a range around it, with the gap above it told.
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct ReachCost {
  static let kinds = CapableKind.all.filter { !$0.hasTies }

  /// The user read all, and 5,000 messages came since.
  @Test(arguments: kinds, [true, false])
  func theFirstUnreadOfThousandsBehindWhatWasRead(_ kind: CapableKind, _ restarts: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try kind.world(limit: 50, config: { $0.file = folder.file() })
    world.post(150, everyMs: 60_000)
    try world.connect()
    try world.sync()
    #expect(try world.sync(.older, want: 50).trouble == nil)
    let last = try #require(try world.cached().last)
    try world.act("mark_last_read", last)
    try world.run()
    try world.disconnect()
    world.tick(ms: 86_400_000)
    world.post(5_000, everyMs: 30_000)
    if restarts { try world.reopen() } else { try world.connect() }
    world.reset()
    let screen = try world.window(.unread, count: 40)
    print("A", kind.name, restarts, world.asked("get_messages").count)
    try expectPlace(150, screen, world)
    #expect(try world.cached().count <= 150 + 400)
  }

  /// Nothing is cached but what the list tells: the marker, and how many are unread.
  @Test(arguments: kinds) func theFirstUnreadOfThousandsByTheMarker(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 50)
    world.post(100, everyMs: 60_000)
    let marker = try #require(world.order().last)
    _ = world.server.handle(
      Array(
        """
        {"type":"mark_last_read","request_id":"other","conversation_id":"room",\
        "message_id":"\(marker)"}
        """.utf8), user: "me")
    world.post(5_000, everyMs: 30_000)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    world.reset()
    let screen = try world.window(.unread, count: 40)
    print("B", kind.name, world.asked("get_messages").count)
    try expectPlace(100, screen, world)
  }

  /// Up from a place in the midst of what is not known.
  @Test(arguments: kinds) func upFromAPlaceInTheMidst(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 50)
    world.post(5_000, everyMs: 30_000)
    try world.connect()
    let time = try #require(world.server.truth(world.room).dropFirst(1_000).first).stampUs
    world.reset()
    let screen = try world.window(.time(time), count: 40)
    print("C", kind.name, world.asked("get_messages").count)
    try expectPlace(1_000, screen, world)
    for _ in 0..<4 {
      world.reset()
      #expect(try screen.window.load(Load(.after(0), count: 40)))
      try screen.settle(world)
      print("D", kind.name, world.asked("get_messages").count)
    }
    #expect(try screen.splits().isEmpty)
    #expect(try world.breaks() == [])
  }

  /// The screen begins where it should, has no hole, and says that more lies above.
  private func expectPlace(_ first: Int, _ screen: TestScreen, _ world: World) throws {
    let ids = try screen.ids()
    let truth = world.order()
    let number = try screen.state().anchor
    let row = try #require(screen.numbers.firstIndex(of: number))
    #expect(ids[row] == truth[first])
    let low = try #require(truth.firstIndex(of: ids[0]))
    #expect(ids == Array(truth[low..<min(low + ids.count, truth.count)]))
    #expect(ids.count >= 40 && ids.count <= 80)
    #expect(try screen.splits().isEmpty)
    #expect(try world.breaks() == [])
    let state = try screen.state()
    #expect(state.waiting == .nothing && state.trouble == nil)
  }
}
