import Engine
import ReferenceServer
import Testing

@Suite struct FirstSteps {
  @Test func theFirstOpenFetchesOnePageAndTheSecondOnlyWhatIsNew() throws {
    let world = try World()
    world.post(200)
    try world.connect()
    let first = try world.sync()
    #expect(first.trouble == nil)
    #expect(first.phase == .ended)
    #expect(world.requests.count == 1)
    #expect(try world.cached() == Array(world.truth().suffix(50)))

    world.post(3)
    world.advance(ms: 300_000)
    world.reset()
    let second = try world.sync()
    #expect(second.inserted == 3)
    #expect(world.requests.count == 2)
    #expect(try world.cached() == Array(world.truth().suffix(53)))
  }

  @Test func everythingIsFetchedOnDemand() throws {
    let world = try World()
    world.post(200)
    try world.connect()
    try world.sync()
    let status = try world.sync(.older, want: 10_000)
    #expect(status.trouble == nil)
    #expect(try world.cached() == world.truth())
    let page = try world.page()
    #expect(page.coverage.whole)
    #expect(page.coverage.stop == .start)
  }
}

@Suite struct ReadMarksAtOnce {
  @Test func aMarkedMessageIsReadAtOnceAlsoOffline() throws {
    let world = try World()
    let ids = world.post(120)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    let last = try #require(ids.last)
    func isUnread() throws -> Bool {
      let page = try world.page()
      let row = try #require(page.rows.last)
      return row.flags & (1 << 1) != 0
    }
    #expect(try isUnread())
    let before = try world.client.state().changeSeq
    try world.client.markRead(conversation: Array(world.room.utf8), ids: [Array(last.utf8)])
    #expect(try !isUnread())
    #expect(try world.client.state().readsPending == 1)
    #expect(try world.client.changes(after: before, limit: 10) != .none)
    try world.connect()
    try world.run()
    #expect(try !isUnread())
    #expect(try world.client.state().readsPending == 0)
  }
}

@Suite struct Epochs {
  /// A page of `ids`, one a second, as a server with epochs prints it.
  private func page(_ ids: ClosedRange<Int>, epoch: String) -> [UInt8] {
    let rows = ids.map { id in
      #"{"message_id":"m\#(id)","conversation_id":"room","sender_id":"you","#
        + #""created_at":"2026-02-15T22:\#(10 + id / 60):\#(10 + id % 50)","payload":"x"}"#
    }
    let head = #"{"type":"get_messages","status":"ok","data":{"messages":["#
    let tail = #"],"has_more":false,"epoch":"\#(epoch)"}}"#
    return Array((head + rows.joined(separator: ",") + tail).utf8)
  }

  @Test func anotherEpochDropsWhatTheServerLost() throws {
    let world = try World()
    let client = world.client
    try client.connected()
    func sync(_ answers: [[UInt8]]) throws {
      _ = try client.sync(SyncRequest(conversation: Array(world.room.utf8)))
      for answer in answers {
        _ = try #require(try client.nextFrame())
        _ = try client.receive(answer)
      }
    }
    try sync([page(1...9, epoch: "a")])
    #expect(try world.cached().count == 9)
    // The answer that names the new epoch is thrown away, the newest page asked anew.
    try sync([page(5...6, epoch: "b"), page(1...6, epoch: "b")])
    #expect(try world.cached() == (1...6).map { "m\($0)" })
    #expect(try client.stats().restores == 1)
  }
}
