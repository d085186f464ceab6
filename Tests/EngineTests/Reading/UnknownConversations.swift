/// What is said of conversations of which nothing was fetched.
///
/// Rule protected: nothing is called whole without evidence, also where there is nothing.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct UnknownConversations {
  private func expectUnknown(
    _ page: MessagePage, _ place: SourceLocation = #_sourceLocation
  ) {
    #expect(!page.coverage.whole, sourceLocation: place)
    #expect(page.coverage.gaps.count == 1, sourceLocation: place)
    #expect(page.coverage.stop == .gap, sourceLocation: place)
    #expect(page.coverage.gaps.first?.beforeRow == page.rows.count, sourceLocation: place)
    #expect(page.coverage.gaps.first?.poisoned == false, sourceLocation: place)
  }

  private func everywhere(
    _ world: World, _ name: String, _ place: SourceLocation = #_sourceLocation
  ) throws {
    for from in [MessageQuery.From.latest, .oldest, .time(World.epochUs), .beforeTime(7)] {
      for descending in [true, false] {
        let query = MessageQuery(
          conversation: Array(name.utf8), from: from, descending: descending, limit: 20)
        expectUnknown(try world.client.messages(query), place)
      }
    }
  }

  private func expectGap(
    _ world: World, _ name: String, _ place: SourceLocation = #_sourceLocation
  ) throws {
    let window = try world.client.openWindow(WindowConfig(conversation: Array(name.utf8)))
    defer { window.close() }
    _ = try window.poll()
    let state = try window.state()
    #expect(state.hasGapBefore && !state.isAtStart, sourceLocation: place)
  }

  @Test func oneThatNobodyHasSeen() throws {
    let world = try World()
    try everywhere(world, "never")
    try expectGap(world, "never")
    #expect(try world.client.stats().conversations == 0)
  }

  @Test func oneThatTheServerDoesNotKnow() throws {
    let world = try World()
    try world.connect()
    let id = try world.client.sync(SyncRequest(conversation: Array("nobody's".utf8)))
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == .noConversation)
    try everywhere(world, "nobody's")
    try expectGap(world, "nobody's")
  }

  /// Its name was heard of, and nothing else.
  @Test func oneOfWhichOnlyTheNameIsKnown() throws {
    let world = try World()
    try world.connect()
    try world.hand(
      Frames.update("r", "typing", ["{\"conversation_id\":\"other\",\"user_id\":\"you\"}"]))
    try everywhere(world, "other")
    try expectGap(world, "other")
  }

  @Test func oneThatWasRemoved() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync()
    #expect(try world.page().rows.count >= 50)
    try world.hand("{\"type\":\"conversation_deleted\",\"conversation_id\":\"room\"}")
    try everywhere(world, "room")
  }

  @Test func oneThatWasCleared() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.disconnect()
    try world.client.clear()
    try everywhere(world, "room")
    try expectGap(world, "room")
  }

  /// Made here, so that the server may have another of the same people.
  @Test func oneThatWasMadeHere() throws {
    let world = try World()
    let made =
      #"{"type":"create_conversation","client_id":"mine","participant_ids":["you"],"#
      + #""distinct":true}"#
    _ = try world.perform(made)
    try everywhere(world, "mine")
    _ = try world.say("hello", as: "first", in: "mine")
    try expectGap(world, "mine")
    let page = try world.page(in: "mine")
    #expect(page.rows.count == 1 && !page.coverage.whole)
    #expect(page.coverage.gaps.map(\.beforeRow) == [0] && page.coverage.stop == .gap)
    try world.connect()
    try world.run()
    let id = try #require(world.server.conversationIDs.first { $0 != "room" })
    #expect(try world.sync(in: id).trouble == nil)
    let whole = try world.page(in: id)
    #expect(whole.coverage.whole && whole.coverage.gaps.isEmpty && whole.coverage.stop == .start)
  }

  /// One that is known to be empty is whole.
  @Test func oneThatIsEmpty() throws {
    let world = try World()
    try world.connect()
    try world.sync()
    let page = try world.page()
    #expect(page.coverage.whole && page.coverage.gaps.isEmpty && page.coverage.stop == .start)
  }

  /// A read that finds no row where nothing was fetched is not whole either.
  @Test func aReadIntoAGap() throws {
    let world = try World()
    world.post(260)
    try world.connect()
    try world.sync()
    let early = MessageQuery(
      conversation: Array(world.room.utf8), from: .beforeTime(World.epochUs + 1_000_000), limit: 5)
    let page = try world.client.messages(early)
    #expect(page.rows.isEmpty && !page.coverage.whole && page.coverage.gaps.count == 1)
    #expect(page.coverage.stop == .gap)
  }
}
