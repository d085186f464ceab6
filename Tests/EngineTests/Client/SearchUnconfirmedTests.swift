/// What this user sends and edits is found before the server has confirmed it.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct SearchUnconfirmedTests {
  private func page(
    _ world: World, _ text: String, _ change: (inout SearchQuery) -> Void = { _ in }
  ) throws -> HitPage {
    var query = SearchQuery(Array(text.utf8))
    change(&query)
    return try SearchService(world.client).search(query)
  }

  private func texts(_ page: HitPage) -> [String] {
    page.rows.map { row in
      String(decoding: page.messages[page.messages[row.message].payload], as: UTF8.self)
    }
  }

  private func found(
    _ world: World, _ text: String, _ change: (inout SearchQuery) -> Void = { _ in }
  ) throws -> [String] {
    texts(try page(world, text, change))
  }

  /// Page by page, one hit each.
  private func paged(_ world: World, _ text: String) throws -> [String] {
    var all: [String] = []
    var (time, number): (Int64, UInt64) = (0, 0)
    while true {
      let page = try page(world, text) {
        $0.limit = 1
        $0.afterUs = time
        $0.afterNumber = number
      }
      all += texts(page)
      guard page.hasMore, let last = page.rows.last else { return all }
      let row = page.messages[last.message]
      (time, number) = (row.timeUs, row.number)
      if all.count > 9 { return all }
    }
  }

  private func stored() throws -> World {
    let world = try World.idempotent()
    _ = try SearchService(world.client).switchSearch(on: true)
    world.server.post(
      conversation: world.room, sender: "me", payload: "\"slovo jedna\"", id: nil, stampUs: nil,
      lateUs: nil)
    try world.connect()
    try world.sync()
    try world.disconnect()
    return world
  }

  @Test func whatIsSentIsFoundAtOnce() throws {
    let world = try stored()
    try world.say("slovo dva")
    try world.say("slovo tři, jiné")
    let all = ["\"slovo tři, jiné\"", "\"slovo dva\"", "\"slovo jedna\""]
    #expect(try found(world, "slovo") == all)
    #expect(try paged(world, "slovo") == all)
    #expect(try found(world, "slovo -jine") == Array(all[1...]))
    #expect(try found(world, "\"slovo dva\"") == [all[1]])
    #expect(try found(world, "slo tri") == [] && found(world, "slovo tr") == [all[0]])
    #expect(try found(world, "slovo") { $0.isMine = true } == all)
    #expect(try found(world, "slovo") { $0.sender = Array("you".utf8) } == [])
    #expect(try found(world, "slovo") { $0.conversation = Array("other".utf8) } == [])
    #expect(try found(world, "slovo") { $0.beforeUs = .max - 1 } == [all[2]])
    try world.connect()
    try world.run()
    #expect(try found(world, "slovo") == all && paged(world, "slovo") == all)
  }

  /// Protects: a message that is to be edited is found by what a screen shows, and by nothing else.
  @Test func whatIsEditedIsFoundByTheNewText() throws {
    let world = try stored()
    let row = try #require(try page(world, "slovo").rows.first)
    let first = try page(world, "slovo")
    let id = String(decoding: first.messages[first.messages[row.message].id], as: UTF8.self)
    _ = try world.act("edit_message", id, ",\"payload\":\"nápis jedna\"")
    #expect(try found(world, "napis") == ["\"nápis jedna\""] && found(world, "slovo") == [])
    _ = try world.act("edit_message", id, ",\"payload\":\"nápis dva\"")
    #expect(try found(world, "jedna") == [] && found(world, "napis dva").count == 1)
    let marks = try page(world, "napis").rows.first?.marks
    #expect(marks?.map(\.utf8) == [0..<6])
    try world.connect()
    try world.run()
    #expect(try found(world, "napis") == ["\"nápis dva\""] && found(world, "slovo") == [])
  }
}
