/// What it costs to open a window where the user left off, thousands of messages ago.
///
/// Rule protected: the place is found by what is known of it, not page by page; what is shown
/// is a range around it, and no end of the history.
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
    world.advance(ms: 86_400_000)
    world.post(5_000, everyMs: 30_000)
    if restarts { try world.reopen() } else { try world.connect() }
    world.reset()
    let screen = try world.window(.unread, count: 40)
    #expect(world.asked("get_messages").count <= (kind.readsByPlace ? 4 : 3))
    try expectPlace(150, screen, world)
    #expect(try world.cached().count <= 150 + 400)
  }

  /// Nothing is cached but what the list tells: the marker, and how many are unread.
  @Test(arguments: kinds) func theFirstUnreadOfThousandsByTheMarker(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 50)
    world.post(100, everyMs: 60_000)
    let marker = try #require(world.order().last)
    world.markElsewhere(marker)
    world.post(5_000, everyMs: 30_000)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    world.reset()
    let screen = try world.window(.unread, count: 40)
    #expect(world.asked("get_messages").count <= 2)
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
    #expect(world.asked("get_messages").count <= (kind.findsTimes ? 3 : 7))
    try expectPlace(1_000, screen, world)
    for _ in 0..<4 {
      world.reset()
      #expect(try screen.window.load(Load(.after(0), count: 40)))
      try screen.settle(world)
      #expect(world.asked("get_messages").count <= 2)
    }
    #expect(try screen.splits().isEmpty)
    #expect(try world.breaks() == [])
  }

  /// The screen begins where it should, has no hole, and says that more lies above.
  func expectPlace(_ first: Int, _ screen: TestScreen, _ world: World) throws {
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
    #expect(!state.isAtEnd && state.waiting == .nothing && state.trouble == nil)
  }
}

/// The same where the server tells less, or the world is not even.
extension ReachCost {
  /// Without a count of all messages the way up is felt for, over a quiet year as well.
  @Test(arguments: [1, 365] as [Int64], [30_000, 700] as [Int64])
  func upwardsByTimeWhereNothingIsCounted(_ days: Int64, _ everyMs: Int64) throws {
    let world = try CapableKind.all[3].world(limit: 50, knobs: { $0.sendsTotalCount = false })
    world.post(150, everyMs: everyMs)
    try world.connect()
    try world.sync()
    #expect(try world.sync(.older, want: 150).trouble == nil)
    try world.act("mark_last_read", try #require(try world.cached().last))
    try world.run()
    try world.disconnect()
    world.advance(ms: days * 86_400_000)
    world.post(5_000, everyMs: everyMs)
    try world.connect()
    world.reset()
    let screen = try world.window(.unread, count: 40)
    #expect(world.asked("get_messages").count <= 15)
    try expectPlace(150, screen, world)
  }

  /// Messages that were pushed while the device listened are in no page's count.
  @Test(arguments: [5, 60, 400]) func whatWasPushedMovesTheGuess(_ pushed: Int) throws {
    let world = try CapableKind.all[0].world(
      limit: 50, knobs: { $0.pushIsLossless = true }, profile: { $0.pushIsLossless = true })
    world.post(150)
    try world.connectListening()
    try world.sync()
    world.post(pushed, everyMs: 10_000)
    try world.run()
    try world.act("mark_last_read", try #require(try world.cached().last))
    try world.run()
    #expect(try world.cached().last == world.order().last)
    try world.disconnect()
    world.advance(ms: 86_400_000)
    world.post(5_000, everyMs: 30_000)
    try world.connect()
    world.reset()
    let screen = try world.window(.unread, count: 40)
    #expect(world.asked("get_messages").count <= 3)
    try expectPlace(150 + pushed, screen, world)
  }

  /// What the user wrote on another device is not counted as unread, and stands between.
  @Test(arguments: [0, 10, 60]) func ownMessagesStandAmongTheUnread(_ own: Int) throws {
    let world = try CapableKind.all[0].world(limit: 50)
    world.post(100)
    let marker = try #require(world.order().last)
    world.markElsewhere(marker)
    world.post(300)
    world.post(own, sender: "me")
    world.post(300)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    world.reset()
    let screen = try world.window(.unread, count: 40)
    #expect(world.asked("get_messages").count <= 2 + (own + 29) / 30)
    try expectPlace(100, screen, world)
  }

  /// The message that the marker names is gone, and so is the way to it: no trouble of the
  /// window's, which shows what it can.
  @Test func aMarkerThatIsGoneIsNoTrouble() throws {
    let world = try CapableKind.all[6].world(limit: 50)
    world.post(100)
    let marker = world.order()[20]
    world.markElsewhere(marker)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    world.server.delete(conversation: world.room, ids: [marker])
    let screen = try world.window(.unread, count: 40)
    #expect(try screen.state().trouble == nil)
    #expect(try screen.state().waiting == .nothing)
    #expect(try !screen.ids().isEmpty)
    #expect(world.asked("get_messages").filter { $0.contains("around_id") }.count == 1)
  }

  /// A count that no server can mean harms nothing.
  @Test(arguments: ["9223372036854775807", "9007199254740991", "0", "-1"])
  func aCountThatIsALieHarmsNothing(_ count: String) throws {
    let world = try CapableKind.all[0].world(limit: 50)
    world.post(300)
    let marker = world.order()[60]
    world.markElsewhere(marker)
    world.alter = { request, answer in
      answer.replacingOccurrences(of: "\"unread_count\":239", with: "\"unread_count\":\(count)")
        .replacingOccurrences(of: "\"total_count\":300", with: "\"total_count\":\(count)")
    }
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    #expect(world.answers.contains { $0.contains("\"unread_count\":\(count)") })
    let screen = try world.window(.unread, count: 40)
    try expectPlace(61, screen, world)
  }
}

extension World {
  /// The same user has read up to a message on another device.
  fileprivate func markElsewhere(_ id: String) {
    let request = """
      {"type":"mark_last_read","request_id":"other","conversation_id":"\(room)",\
      "message_id":"\(id)"}
      """
    _ = server.handle(Array(request.utf8), user: "me")
  }
}

extension CapableKind {
  /// Its page above a place begins there, or lies around it: half of it is what is known.
  fileprivate var readsByPlace: Bool { keepsOldest || capabilities.contains(.around) }

  /// A time is one request.
  fileprivate var findsTimes: Bool {
    capabilities.contains(.around)
      || capabilities.contains(.before) && !capabilities.contains(.sequence)
  }
}
