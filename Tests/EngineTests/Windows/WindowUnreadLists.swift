/// A window that opens at the first unread message while a list has shown the last one, or offline.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowUnreadBesideAList {
  /// Protects: where the server tells no marker, and one old message is unread, two answers at
  /// most come before something is shown, and nobody's history is walked through.
  @Test(arguments: FoundServer.withPages, [true, false])
  func itOpensAtOnce(_ server: FoundServer, _ hasList: Bool) throws {
    let world = try server.world()
    let ids = world.post(1_200)
    let read = Array(ids[..<3] + ids[4..<1_195])
    #expect(world.server.markRead(conversation: world.room, ids: read, user: "me").count == 1_194)
    try world.connectListening()
    if hasList {
      let list = try TestList(world.client)
      try list.settle(world)
    }
    world.reset()
    let screen = try TestScreen(world, .unread, count: 40)
    try screen.poll()
    var blank = 0
    world.alter = { _, answer in
      _ = try? screen.poll()
      if screen.numbers.isEmpty { blank += 1 }
      return answer
    }
    try screen.settle(world)
    #expect(blank <= 2, "\(blank) answers")
    #expect(world.requests.filter { $0.contains("get_messages") }.count <= 4)
    let row = try #require(screen.numbers.firstIndex(of: try screen.state().anchor))
    #expect(try screen.ids()[row] == ids[1_195])
    #expect(try screen.splits().isEmpty)
  }

  /// Protects: where nobody can be asked it opens at the oldest unread message that is here.
  @Test(arguments: FoundServer.withPages)
  func offlineItOpensAtTheOldestThatIsHere(_ server: FoundServer) throws {
    let world = try server.world()
    let ids = world.post(60)
    try world.connectListening()
    try world.sync()
    try world.disconnect()
    let here = try world.cached()
    let screen = try TestScreen(world, .unread, count: 40)
    try screen.settle(world)
    let row = try #require(screen.numbers.firstIndex(of: try screen.state().anchor))
    #expect(try screen.ids()[row] == here[0])
    #expect(ids.contains(here[0]))
  }
}
