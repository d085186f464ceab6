/// Badges as a person sees them on the way: a number changes only with a cause that he could name.
///
/// Rule protected: the count that the server told goes on until something happens that changes it;
/// what nobody knows to have been counted makes it inexact, and it is asked for once more.
import Engine
import ReferenceServer
import Testing

@Suite struct ListBadges {
  /// What a list shows of the room at each answer.
  private final class Badge {
    let world: World
    let list: TestList
    private(set) var seen: [String] = []

    init(_ world: World) throws {
      self.world = world
      list = try TestList(world.client)
      world.alter = { [unowned self] _, answer in
        note()
        return answer
      }
    }

    func note() {
      do {
        try list.poll()
        guard let row = try list.rows().first(where: { $0.id == world.room }) else { return }
        let text = "\(row.unread)\(row.isExact ? "" : "?")"
        if seen.last != text { seen.append(text) }
      } catch {
        Issue.record(error)
      }
    }

    func settle(_ screen: TestScreen? = nil) throws {
      for _ in 0..<100 {
        try world.run()
        note()
        let isNews = try screen?.poll() != nil
        if !isNews, try world.isQuiet() { return }
      }
    }
  }

  private func world(_ count: Int) throws -> World {
    let world = try World()
    world.post(count)
    world.advance(ms: 60_000)
    return world
  }

  private func markRead(_ world: World, _ index: Int) {
    _ = world.server.moveReadMarker(
      conversation: world.room, id: world.server.truth(world.room)[index].id, user: "me")
  }

  /// The list and the newest page are known.
  private func caughtUp(_ world: World) throws -> Badge {
    try world.connect()
    let badge = try Badge(world)
    try badge.settle()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    return badge
  }

  /// Old messages that this device never had were deleted: what is unread stays as it is.
  @Test func deletionsOfWhatWasNeverSeenTakeNoBadge() throws {
    let world = try world(400)
    markRead(world, 341)
    let badge = try caughtUp(world)
    #expect(badge.seen == ["58"])
    try world.client.disconnected()
    let ids = world.server.truth(world.room).map(\.id)
    world.server.delete(conversation: world.room, ids: Array(ids[20..<60]))
    try world.client.connected()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    #expect(badge.seen.allSatisfy { $0.hasPrefix("58") })
    try world.wait(ms: 2_000)
    try badge.settle()
    #expect(badge.seen.last == "58")
    // Where some of them had been counted, the server's next word says so.
    try world.client.disconnected()
    world.server.delete(conversation: world.room, ids: Array(ids[395..<400]))
    try world.client.connected()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    try world.wait(ms: 2_000)
    try badge.settle()
    #expect(badge.seen.last == "53")
  }

  /// A badge of a host that keeps no list open.
  private func badge(_ world: World) throws -> String {
    let row = try #require(try world.client.conversation(Array(world.room.utf8)).rows.first)
    let isExact = row.flags & ConversationFlags.unreadExact != 0
    return "\(row.unread)\(isExact ? "" : "?")"
  }

  /// No push tells what another device reads. A count that the server told on this connection is
  /// exact until it tells another; one of an earlier connection only until this one has told
  /// anything of the conversation.
  ///
  /// header: "one, until this one has told of the conversation), and everything since is accounted"
  @Test(arguments: [400, 60], [true, false])
  func aCountOfAnEarlierConnectionIsExactNoMore(_ count: Int, _ hasNews: Bool) throws {
    let world = try world(count)
    markRead(world, count - 50)
    try world.connect()
    try world.sync(.conversations)
    try world.sync(.older, want: 60)
    #expect(try badge(world) == "49")
    // Read elsewhere, while the device is connected and hears nothing of it.
    markRead(world, count - 40)
    try world.sync()
    #expect(try badge(world) == "49")
    try world.sync(.conversations)
    #expect(try badge(world) == "39")
    try world.client.disconnected()
    markRead(world, count - 20)
    if hasNews { world.post(2) }
    #expect(try badge(world) == "39")
    try world.client.connected()
    #expect(try badge(world) == "39")
    try world.sync()
    #expect(try badge(world) == (hasNews ? "41?" : "39?"))
    world.post(1)
    try world.sync()
    #expect(try badge(world) == (hasNews ? "42?" : "40?"))
    try world.sync(.conversations)
    #expect(try badge(world) == (hasNews ? "22" : "20"))
    // What the user does here is as exact as what it began with.
    try world.act("mark_last_read", world.truth().last ?? "")
    #expect(try badge(world) == "0")
  }

  /// The server's count of an earlier connection is not gone back to once all is counted here.
  @Test func aCountOfAnEarlierConnectionIsLetGo() throws {
    let world = try world(120)
    markRead(world, 118)
    try world.connectListening()
    world.alter = { request, answer in
      request.contains("get_conversations")
        ? answer.replacingOccurrences(of: "\"unread_count\":1", with: "\"unread_count\":8") : answer
    }
    try world.sync(.conversations)
    try world.sync(.older, want: 200)
    #expect(try badge(world) == "8")
    try world.disconnect()
    try world.connectListening()
    try world.sync()
    #expect(try badge(world) == "1?")
    // A push that joins nothing yet is one more.
    world.alter = { _, _ in nil }
    world.post(1)
    try world.run()
    #expect(try badge(world) == "2?")
  }

  /// What the user calls read is 0 at once, on each connection.
  @Test func nothingUnreadIsNothingOnEachConnection() throws {
    let world = try world(60)
    markRead(world, 40)
    try world.connect()
    try world.sync(.conversations)
    try world.sync(.older, want: 60)
    try world.client.disconnected()
    markRead(world, 50)
    try world.client.connected()
    try world.sync()
    #expect(try badge(world) == "19?")
    try world.act("mark_last_read", world.truth().last ?? "")
    #expect(try badge(world).hasPrefix("0"))
    try world.run()
    try world.client.disconnected()
    try world.client.connected()
    try world.sync()
    #expect(try badge(world).hasPrefix("0"))
  }

  /// An open list asks for the counts of each connection: nothing becomes inexact on the way.
  @Test func anOpenListNeedsNoDoubt() throws {
    let world = try world(400)
    markRead(world, 341)
    let badge = try caughtUp(world)
    world.reset()
    try world.client.disconnected()
    markRead(world, 361)
    try world.client.connected()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    #expect(badge.seen == ["58", "38"])
  }

  /// A sync that waits for the user keeps nobody from asking for a count that is in doubt.
  @Test func aSyncThatWaitsForTheUserKeepsNoBadgeInDoubt() throws {
    let world = try world(400)
    markRead(world, 341)
    let badge = try caughtUp(world)
    world.server.failNext("forbidden", verb: "create_conversation")
    let made = try world.perform(
      #"{"type":"create_conversation","client_id":"mine","participant_ids":["you"]}"#)
    let sync = try world.client.sync(SyncRequest(conversation: Array("mine".utf8)))
    try badge.settle()
    #expect(try world.standing(made.operation) == .refused)
    #expect(try world.client.syncStatus(sync).phase == .waiting)
    try world.client.disconnected()
    let ids = world.server.truth(world.room).map(\.id)
    world.server.delete(conversation: world.room, ids: Array(ids[20..<60]))
    try world.client.connected()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    try world.wait(ms: 2_000)
    try badge.settle()
    #expect(badge.seen.contains("58?"))
    #expect(badge.seen.last == "58")
    #expect(try world.client.syncStatus(sync).phase == .waiting)
  }

  /// The marker's message comes with the window that opens there: what the server counted from it
  /// stands.
  @Test(arguments: [At.unread, .latest])
  func aWindowAtTheMarkerChangesNoBadge(_ at: At) throws {
    let world = try world(800)
    markRead(world, 99)
    try world.connect()
    let badge = try Badge(world)
    try badge.settle()
    let screen = try TestScreen(world, at)
    try badge.settle(screen)
    for _ in 0..<12 {
      _ = try screen.window.load(Load(.before(0), count: 80))
      try badge.settle(screen)
    }
    #expect(badge.seen == ["700"])
  }

  /// The message that the marker names was deleted, and this device had read less.
  @Test func aMarkerWhoseMessageWentCounts() throws {
    let world = try world(120)
    markRead(world, 80)
    let badge = try caughtUp(world)
    #expect(badge.seen == ["39"])
    try world.client.disconnected()
    world.post(400)
    world.advance(ms: 60_000)
    // Read on another device, and then deleted.
    markRead(world, 126)
    let ids = world.server.truth(world.room).map(\.id)
    world.server.delete(conversation: world.room, ids: [ids[126]])
    try world.client.connected()
    try badge.settle()
    #expect(badge.seen == ["39", "393"])
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try badge.settle()
    try world.wait(ms: 2_000)
    try badge.settle()
    #expect(badge.seen.allSatisfy { $0 == "39" || $0.hasPrefix("393") })
    #expect(badge.seen.last == "393")
  }
}
