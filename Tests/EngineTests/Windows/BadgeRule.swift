/// The number of unread messages is what the server told last, moved by what is seen since, and is
/// asked for again where something is seen of which it may or may not know.
import Base
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct BadgeRule {
  /// A row of the list, or of the conversation where no list is open: `20`, or `20?`.
  private func badge(_ world: World) throws -> String {
    let row = try #require(try world.client.conversation(Array(world.room.utf8)).rows.first)
    let isExact = row.flags & ConversationFlags.unreadExact != 0
    return "\(row.unread)\(isExact ? "" : "?")"
  }

  private func world(
    _ count: Int, knobs: ServerKnobs = ServerKnobs(), profile: Profile = Profile(),
    seed: UInt64 = 1
  ) throws -> World {
    let world = try World(knobs: knobs, profile: profile, seed: seed)
    world.post(count)
    world.advance(ms: 60_000)
    return world
  }

  private func markRead(_ world: World, _ index: Int) {
    _ = world.server.moveReadMarker(
      conversation: world.room, id: world.server.truth(world.room)[index].id, user: "me")
  }

  private func unread(_ world: World) -> Int {
    world.server.unread(world.room, of: "me").count
  }

  private func without(_ member: String, _ answer: String) -> String {
    guard let at = answer.firstRange(of: #","\#(member)":"#)?.lowerBound else { return answer }
    let rest = answer[answer.index(after: at)...].drop { $0 != "," && $0 != "}" }
    return "\(answer[..<at])\(rest)"
  }

  // MARK: Faults of the rule that went before

  /// Protects: a count that comes while an own mark waits is asked for again once the server has
  /// the mark.
  @Test(arguments: [true, false]) func aCountBesideAWaitingMarkIsAskedForAgain(
    _ hasList: Bool
  ) throws {
    let world = try world(30)
    try world.connect()
    let list = hasList ? try TestList(world.client) : nil
    try list?.settle(world)
    try world.sync()
    try world.sync(.conversations)
    try world.client.disconnected()
    try world.act("mark_last_read", try #require(world.truth().last))
    #expect(try badge(world).hasPrefix("0"))
    world.post(20)
    try world.client.connected()
    var late: String?
    world.alter = { request, answer in
      guard request.contains("mark_last_read"), late == nil else { return answer }
      late = answer
      return nil
    }
    try world.sync(.conversations)
    try world.sync()
    _ = try world.client.receive(Array(try #require(late).utf8))
    try world.wait(ms: 61_000)
    try list?.settle(world)
    #expect(try badge(world) == "20")
  }

  /// Protects: counts of a server that tells no marker are taken after an own mark, too.
  @Test func aCountWithoutAMarkerIsTakenAfterAnOwnMark() throws {
    let world = try world(30)
    world.alter = { [self] _, answer in without("last_read_message_id", answer) }
    try world.connect()
    try world.sync(.conversations)
    try world.sync()
    try world.act("mark_last_read", world.truth()[9])
    try world.run()
    markRead(world, 29)
    try world.sync(.conversations)
    #expect(try badge(world) == "0")
  }

  /// Protects: the list takes a step where a server without counts names a read message that is not
  /// stored: the number is exact no more.
  @Test func aNamedMarkerThatIsNotStoredIsAStepOfTheList() throws {
    let world = try world(6)
    markRead(world, 3)
    world.alter = { [self] _, answer in without("unread_count", answer) }
    try world.connect()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.sync()
    try world.sync(.conversations)
    try list.settle(world)
    #expect(try badge(world) == "2")
    #expect(try list.list.state().isUnreadExact)
    try world.hand(
      """
      {"type":"conversation_updated","conversation_id":"room","conversation":\
      {"conversation_id":"room","last_read_message_id":"nowhere"}}
      """)
    try list.settle(world)
    #expect(try badge(world) == "2?")
    #expect(try !list.list.state().isUnreadExact)
  }

  /// Protects: a marker that is told without a count, and whose message is not stored, makes the
  /// number inexact, and it is asked for.
  @Test(arguments: [true, false]) func aNamedMarkerThatIsNotStoredIsAskedAfter(
    _ hasList: Bool
  ) throws {
    let world = try world(20)
    try world.connect()
    let list = hasList ? try TestList(world.client) : nil
    try list?.settle(world)
    try world.sync(.conversations)
    try world.sync()
    #expect(try badge(world) == "20")
    world.post(20)
    markRead(world, 34)
    try world.hand(
      """
      {"type":"conversation_updated","conversation_id":"room","conversation":\
      {"conversation_id":"room","last_read_message_id":"\(world.truth()[34])"}}
      """)
    try world.run()
    try world.wait(ms: 61_000)
    try world.run()
    #expect(try badge(world).hasPrefix("5"))
  }

  /// Protects: where the server does not tell of one conversation, it is asked for others.
  @Test func aConversationWithoutACountStopsNoOther() throws {
    let world = try world(20)
    world.server.createConversation("other", participants: ["me", "you"])
    for _ in 0..<5 {
      _ = world.server.post(
        conversation: "other", sender: "you", payload: "1", id: nil, stampUs: nil, lateUs: nil)
    }
    try world.connect()
    try world.sync(.conversations)
    try world.sync()
    _ = try world.client.sync(SyncRequest(conversation: Array("other".utf8)))
    try world.run()
    func name(_ conversation: String) throws {
      try world.hand(
        """
        {"type":"conversation_updated","conversation_id":"\(conversation)","conversation":\
        {"conversation_id":"\(conversation)","last_read_message_id":"nowhere"}}
        """)
      try world.wait(ms: 4_000)
    }
    try world.wait(ms: 4_000)
    try world.wait(ms: 61_000)
    world.server.failNext("not_found", verb: "get_conversation")
    world.reset()
    try name(world.room)
    #expect(world.asked("get_conversation").count == 1)
    try name("other")
    #expect(world.asked("get_conversation").last?.contains(#""other""#) == true)
  }

  // MARK: One printed second

  /// Protects: rows of the last printed second, or of the marker's, are counted once, whatever the
  /// order of their ids.
  @Test(arguments: [ServerKnobs.Ties.arrival, .id], [true, false])
  func whatSharesTheLastSecondIsCountedOnce(_ ties: ServerKnobs.Ties, _ hasMarker: Bool) throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      var knobs = ServerKnobs()
      knobs.ties = ties
      var profile = Profile()
      profile.ties = ties == .arrival ? .arrival : .id
      let world = try World(knobs: knobs, profile: profile, seed: seed)
      world.post(4, everyMs: 1_000)
      world.post(3, everyMs: 0)
      if hasMarker { markRead(world, 4) }
      try world.connect()
      let list = try TestList(world.client)
      try list.settle(world)
      #expect(try badge(world) == "\(unread(world))", "seed \(seed)")
      try world.sync(.older, want: 100)
      try list.settle(world)
      try expectTrue(world, "seed \(seed), all")
      // More of the same second, and a look at the newest page before the list tells.
      world.post(2, everyMs: 0)
      try world.sync()
      try list.settle(world)
      try expectTrue(world, "seed \(seed), more")
      try world.sync(.conversations)
      try expectTrue(world, "seed \(seed), told")
      #expect(try badge(world).hasPrefix("\(unread(world))"), "seed \(seed)")
    }
  }

  /// Protects: where the host does not know the server's order of one printed time, no number is
  /// called exact that depends on it. Pushed messages stand as they came, which is a guess.
  @Test(arguments: [true, false], [1_000_000, 1_000])
  func aGuessedOrderMakesNoExactNumber(_ isByID: Bool, _ resolutionUs: Int64) throws {
    var exact = 0
    for seed in 1...40 as ClosedRange<UInt64> {
      var knobs = ServerKnobs()
      knobs.ties = isByID ? .id : .arrival
      knobs.timeResolutionUs = resolutionUs
      knobs.pushIsLossless = true
      var profile = Profile()
      profile.pushIsLossless = true
      let world = try World(knobs: knobs, profile: profile, seed: seed)
      world.post(20)
      world.advance(ms: 60_000)
      var random = Random(seed: seed)
      try world.connectListening()
      let list = try TestList(world.client)
      func look(_ place: String) throws {
        try world.run()
        try list.settle(world)
        if try !badge(world).hasSuffix("?") { exact += 1 }
        try expectTrue(world, "seed \(seed), \(place)")
      }
      try world.sync(.conversations)
      try world.sync()
      for step in 0..<12 {
        let newest = Array(world.truth().suffix(6))
        switch random.below(8) {
        case 0: try world.act("mark_last_read", newest[random.below(6)])
        case 1:
          let id = newest[random.below(6)]
          _ = world.server.markRead(conversation: world.room, ids: [id], user: "me")
        case 2: world.server.delete(conversation: world.room, ids: [newest[2]])
        case 3: try world.wait(ms: 61_000)
        case 4:
          _ = world.server.moveReadMarker(
            conversation: world.room, id: newest[random.below(6)], user: "me")
        case 5: try world.sync(.conversations)
        default: world.post(7, everyMs: 0)
        }
        try look("step \(step)")
      }
    }
    #expect(exact > 40)
  }

  private func expectTrue(_ world: World, _ place: String) throws {
    let badge = try badge(world)
    #expect(badge.hasSuffix("?") || badge == "\(unread(world))", "\(place): \(badge)")
  }

  // MARK: Away

  /// Protects: a read on another device that a page shows after the count is in the count.
  @Test(arguments: [true, false])
  func aReadThatAPageShowsAfterTheCountIsInIt(_ hasList: Bool) throws {
    let world = try world(41)
    try world.connect()
    let list = hasList ? try TestList(world.client) : nil
    try world.sync(.conversations)
    try list?.settle(world)
    try world.sync()
    #expect(try badge(world) == "41")
    try world.client.disconnected()
    _ = world.server.markRead(
      conversation: world.room, ids: [world.truth()[20]], user: "me")
    try world.client.connected()
    try world.sync(.conversations)
    try list?.settle(world)
    try world.sync()
    try world.sync(.refresh(.min, .beforePending))
    #expect(try badge(world).hasPrefix("40"))
  }

  /// Protects: deletions that a catch-up shows after the count are in the count.
  @Test(arguments: [2, 4], [true, false])
  func deletionsWhileAwayAreInTheCount(_ count: Int, _ hasList: Bool) throws {
    let world = try world(10)
    markRead(world, 5)
    try world.connect()
    let list = hasList ? try TestList(world.client) : nil
    try world.sync(.conversations)
    try list?.settle(world)
    try world.sync()
    try world.sync(.older, want: 100)
    #expect(try badge(world) == "4")
    try world.client.disconnected()
    world.server.delete(conversation: world.room, ids: Array(world.truth().suffix(4).prefix(2)))
    if count == 4 {
      world.server.delete(conversation: world.room, ids: Array(world.truth().suffix(2)))
    }
    try world.client.connected()
    try world.sync(.conversations)
    try list?.settle(world)
    try world.sync()
    let shown = try badge(world)
    #expect(shown.hasPrefix("\(4 - count)"))
    try world.wait(ms: 61_000)
    try list?.settle(world)
    #expect(try badge(world) == "\(4 - count)")
  }
}
