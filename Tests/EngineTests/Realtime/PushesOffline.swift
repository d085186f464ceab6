/// What a push notification brings while there is no connection.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct PushesOffline {
  /// A client that has caught up with 60 messages, without a connection now.
  private func offline(
    profile: Profile = Profile(), change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    let world = try World(profile: profile, change: change)
    world.post(60)
    try world.connectListening()
    try world.sync()
    try world.disconnect()
    world.reset()
    return world
  }

  /// The newest message of the server's, as the body of a notification.
  private func newest(_ world: World, more: String = "") throws -> String {
    let id = try #require(world.truth().last)
    let stampUs = try #require(world.server.message("room", id)).stampUs
    return Frames.message(id, atUs: stampUs, more: more)
  }

  /// The row is there at once, behind a gap; nothing that was trusted grew, and nothing is asked.
  @Test func aPushIsAnIsland() throws {
    let world = try offline()
    let before = try world.page().coverage
    world.post(30)
    #expect(try world.hand(Frames.push(newest(world))) == .applied)
    let page = try world.page()
    #expect(try world.cached().last == world.truth().last)
    #expect(page.rows.last.map { $0.flags & (1 << 7) != 0 } == true)
    #expect(!page.coverage.whole)
    #expect(page.coverage.contentAsOfUs == before.contentAsOfUs)
    #expect(page.coverage.deletionsAsOfUs == before.deletionsAsOfUs)
    #expect(try world.lies() == [])
    #expect(try world.client.nextFrame() == nil)
    #expect(try world.client.state().phase == .offline)
    try world.connect()
    try world.sync()
    #expect(try world.cached().suffix(31) == world.truth().suffix(31))
    #expect(try world.lies() == [])
  }

  /// Neither a lossless push nor a named predecessor nor a number joins what is known.
  @Test(arguments: [0, 1, 2])
  func nothingJoins(_ evidence: Int) throws {
    var profile = Profile()
    if evidence == 0 { profile.pushIsLossless = true }
    let world = try offline(profile: profile)
    let last = try #require(world.truth().last)
    world.post(1)
    let more = evidence == 1 ? ",\"prev_id\":\"\(last)\"" : ""
    try world.hand(Frames.push(newest(world, more: more)))
    #expect(try !world.page().coverage.whole)
    #expect(try world.lies() == [])
    try world.connect()
    try world.sync()
    #expect(try world.tailFaults(50) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// The rows of an open window: the message behind a split, and marks that nobody verified now.
  @Test func aWindowShowsIt() throws {
    let world = try offline()
    let screen = try TestScreen(world)
    _ = try screen.poll()
    world.post(5)
    try world.hand(Frames.push(newest(world)))
    _ = try screen.poll()
    let page = try #require(try screen.window.rows(first: 0, count: 100))
    let row = try #require(page.rows.last)
    #expect(String(decoding: page[row.id], as: UTF8.self) == world.truth().last)
    #expect(row.flags & (1 << 8) != 0)
    #expect(row.flags & (1 << 9) != 0)
    try world.connect()
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
    #expect(try screen.ids().suffix(10) == world.truth().suffix(10))
  }

  /// An update with a ref is replied to on the next connection, once.
  @Test func aReplyGoesOutOnTheNextConnection() throws {
    let world = try offline()
    world.post(1)
    let update = Frames.update("r1", "message", [try newest(world)])
    #expect(try world.hand(update) == .applied)
    #expect(try world.hand(update) == .applied)
    #expect(try world.client.stats().updatesRepeated == 1)
    #expect(try world.client.state().repliesOwed == 1)
    #expect(try world.client.state().framesWaiting == 0)
    #expect(try world.client.nextFrame() == nil)
    try world.connect()
    #expect(try world.replies() == ["r1"])
    try world.lookOnceMore()
    #expect(try world.replies() == [])
    #expect(try world.client.state().repliesOwed == 0)
  }

  /// What was pushed and is gone by the next connection does not stay.
  @Test func whatWasDeletedSinceGoes() throws {
    let world = try offline()
    world.post(1)
    let id = try #require(world.truth().last)
    try world.hand(Frames.push(newest(world)))
    world.advance(ms: 60_000)
    world.server.delete(conversation: "room", ids: [id])
    #expect(try world.cached().contains(id))
    try world.connect()
    try world.sync()
    #expect(try !world.cached().contains(id))
    #expect(try world.lies() == [])
  }

  /// Edits, deletions and receipts are taken, too. Who types offline is not shown.
  @Test func otherPushesAreTaken() throws {
    let world = try offline()
    let (edited, deleted) = (world.truth()[58], world.truth()[59])
    let stampUs = try #require(world.server.message("room", edited)).stampUs
    try world.hand(
      Frames.edit(
        Frames.message(
          edited, atUs: stampUs, payload: "\"new\"",
          more: ",\"edited_at\":\"\(Frames.time(stampUs + 9_000_000))\"")))
    try world.hand(
      "{\"type\":\"message_deleted\",\"conversation_id\":\"room\",\"message_ids\":[\"\(deleted)\"]}"
    )
    try world.hand(
      "{\"type\":\"typing\",\"conversation_id\":\"room\",\"user_id\":\"you\"}")
    #expect(try world.payload(edited) == "\"new\"")
    #expect(try !world.cached().contains(deleted))
    #expect(try world.client.advance() == -1)
  }

  /// Before the first connection of a process, and of a file of which nothing is known.
  @Test func theFirstThingThatAFileHears() throws {
    let world = try World()
    world.post(40)
    try world.hand(Frames.push(newest(world)))
    #expect(try world.cached() == [world.truth().last].compactMap { $0 })
    #expect(try !world.page().coverage.gaps.isEmpty)
    #expect(try world.client.state().asOfUs == 0)
    try world.connect()
    try world.sync()
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// An answer that nobody waits for is of no use; a frame of an unusable connection is refused.
  @Test func answersAreNotTaken() throws {
    let world = try offline()
    world.advance(ms: 60_000)
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    try world.connect()
    var late: [String] = []
    world.alter = { _, answer in
      late.append(answer)
      return nil
    }
    try world.run()
    try world.disconnect()
    #expect(try world.hand(#require(late.first)) == .ignored)
    #expect(try world.client.stats().answersUnmatched == 1)
  }

  @Test func aVoidConnectionIsRefused() throws {
    var knobs = ServerKnobs()
    knobs.echoesRequestIDs = false
    let world = try World(knobs: knobs)
    world.post(3)
    try world.connect()
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    world.alter = { _, _ in nil }
    try world.run()
    world.advance(ms: 40_000)
    _ = try world.client.advance()
    #expect(try world.client.state().reconnectWanted)
    let push = Frames.push(try newest(world))
    #expect(throws: Failure.offline) { try world.hand(push) }
    try world.disconnect()
    #expect(try world.hand(push) == .applied)
  }
}
