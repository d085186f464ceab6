/// A server that was built anew and gives the same ids again, without an epoch that says so.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct RebuiltServers {
  private func post(_ world: World, _ count: Int, by sender: String, says text: String) {
    for index in 0..<count {
      world.advance(ms: 1_000)
      world.server.post(
        conversation: world.room, sender: sender, payload: "\"\(text) \(index)\"",
        id: "id\(index)", stampUs: nil, lateUs: nil)
    }
  }

  /// Protects: what is stored under these ids is not what the server has; no ghost stays, and
  /// nothing new hides behind an old copy.
  @Test(arguments: FoundServer.allCases, ["you", "other"])
  func idsThatAreUsedAgain(_ server: FoundServer, _ sender: String) throws {
    let world = try server.world(knobs: { $0.sendsEpoch = false })
    let empty = world.server.backup()
    post(world, 60, by: "you", says: "old")
    for index in 0..<60 {
      world.server.edit(conversation: world.room, id: "id\(index)", payload: "\"edited\"")
    }
    try world.connectListening()
    try world.sync()
    try world.sync(.older, want: 100)
    try world.disconnect()
    world.server.restore(empty)
    world.advance(ms: 600_000)
    post(world, 40, by: sender, says: "new")
    try world.connectListening()
    for _ in 0..<3 {
      try world.sync()
      try world.lookOnceMore()
    }
    try world.sync(.older, want: 100)
    #expect(try world.cached() == world.truth())
    let page = try world.page()
    let says = page.rows.map { String(decoding: page[$0.payload], as: UTF8.self) }
    #expect(says == (0..<40).map { "\"new \($0)\"" })
  }
}
