/// An edit of a message that cannot be opened is found by what it says, in each order.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct SearchSealedEdits {
  /// Protects: what this user is to say instead is found by its text, by time and by relevance.
  @Test(arguments: [true, false])
  func anEditOfASealedMessageIsFound(_ isByRelevance: Bool) throws {
    let world = try World.idempotent { config in config.open = { _ in .notYet } }
    _ = try SearchService(world.client).switchSearch(on: true)
    let id = world.post(1, sender: "me")[0]
    try world.connect()
    try world.sync()
    try world.disconnect()
    try world.act("edit_message", id, #","payload":"nápis""#)
    func count(_ text: String) throws -> Int {
      var query = SearchQuery(Array(text.utf8))
      query.isByRelevance = isByRelevance
      return try SearchService(world.client).search(query).rows.count
    }
    #expect(try count("napis") == 1)
    #expect(try count("text") == 0)
  }
}
