/// Unread messages that share their printed time with the read marker.
///
/// Rule protected: a count that is called exact is the server's, also where no page has told in
/// which order the messages of that time stand.
import Engine
import ReferenceServer
import Testing

@Suite struct TieCounts {
  /// All of one second; the marker stands in the midst of it. The server tells no counts.
  private func world(_ seed: UInt64, unread: Int, _ silence: @escaping () -> Bool) throws -> World {
    var knobs = ServerKnobs()
    knobs.ties = .arrival
    var profile = Profile()
    profile.ties = .arrival
    let world = try World(knobs: knobs, profile: profile, seed: seed)
    world.post(6, everyMs: 0)
    _ = world.server.moveReadMarker(
      conversation: world.room, id: world.server.truth(world.room)[5 - unread].id, user: "me")
    world.alter = { _, answer in
      guard silence(), let at = answer.firstRange(of: #","unread_count":"#)?.lowerBound else {
        return answer
      }
      let rest = answer[answer.index(after: at)...].drop { $0 != "," && $0 != "}" }
      return "\(answer[..<at])\(rest)"
    }
    try world.connect()
    return world
  }

  private func badge(_ world: World) throws -> (count: Int, isExact: Bool) {
    let row = try #require(try world.client.conversation(Array(world.room.utf8)).rows.first)
    return (row.unread, row.flags & ConversationFlags.unreadExact != 0)
  }

  /// Pages of one second only do not say which end of them is the newer one.
  @Test func whatSharesItsTimeWithTheMarkerIsNotExactUntilAPageTeaches() throws {
    var wrong = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      let world = try world(seed, unread: 3) { true }
      try world.sync(.conversations)
      try world.sync(.older, want: 100)
      #expect(try world.cached().count == 6)
      let badge = try badge(world)
      #expect(!badge.isExact || badge.count == 3, "seed \(seed)")
      if badge.count != 3 { wrong += 1 }
      // A page of two times says how all of them are listed.
      world.post(1, everyMs: 60_000)
      try world.lookOnceMore()
      try world.sync(.older, want: 100)
      let taught = try self.badge(world)
      #expect(taught == (4, true), "seed \(seed)")
    }
    #expect(wrong > 5)
  }

  /// The server's count goes on from its newest message, which shares its time as well.
  @Test func theServersCountIsNotAddedToByGuess() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      let world = try world(seed, unread: 3) { false }
      try world.sync(.conversations)
      try world.sync(.older, want: 100)
      let badge = try badge(world)
      #expect(!badge.isExact || badge.count == 3, "seed \(seed)")
    }
  }
}
