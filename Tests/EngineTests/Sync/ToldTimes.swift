/// What one answer tells of the server's clock.
///
/// Rule protected: a told time that leaps ahead of all that is known takes no row away and moves
/// no watermark, until another answer tells the same.
import Engine
import ReferenceServer
import Testing

@Suite struct ToldTimes {
  private static let day: Int64 = 86_400_000

  private func world(
    _ capabilities: Profile.Capabilities = [], isWrong: Bool = false
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.deletionHorizonUs = 30 * Self.day * 1_000
    knobs.sendsServerTime = true
    knobs.tellsChanges = capabilities.contains(.changedSince)
    var profile = Profile()
    profile.deletionHorizonUs = 30 * Self.day * 1_000
    profile.capabilities.formUnion(capabilities)
    let world = try World(knobs: knobs, profile: profile)
    if isWrong { world.alter = { Self.leap($1) } }
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 200)
    #expect(try world.cached() == world.truth())
    return world
  }

  /// An answer with the year 2099 for the server's time.
  private static func leap(_ answer: String) -> String {
    answer.replacing(/"server_time":"[0-9]{4}/, with: "\"server_time\":\"2099")
  }

  /// Such an answer lacks a row as well: that is no deletion that was forgotten.
  @Test func aToldLeapTakesNoRowAway() throws {
    let world = try world()
    let truth = world.truth()
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      return TrapsStale.without(truth[120], Self.leap(answer))
    }
    try world.lookOnceMore()
    _ = try world.sync(.live)
    #expect(world.answers.contains { $0.contains("\"server_time\":\"2099") })
    #expect(try world.cached() == truth)
    world.alter = { $1 }
    try world.lookOnceMore()
    #expect(try world.lies() == [])
    #expect(try world.cached() == truth)
    #expect(try world.client.stats().restores == 0)
  }

  /// One answer of a server that has lost its clock puts nothing in doubt and asks for no more than
  /// is pending.
  @Test func aToldFallTakesNoWatermarkBack() throws {
    let world = try world()
    world.alter = { request, answer in
      request.contains("get_messages")
        ? answer.replacing(/"server_time":"[0-9]{4}/, with: "\"server_time\":\"1970") : answer
    }
    try world.lookOnceMore()
    _ = try world.sync(.live)
    #expect(world.answers.contains { $0.contains("\"server_time\":\"1970") })
    world.alter = { $1 }
    world.reset()
    for _ in 0..<2 {
      try world.lookOnceMore()
      _ = try world.sync(.live)
    }
    let asked = world.requests.filter { $0.contains("get_deleted_since") }
    #expect(!asked.isEmpty && asked.allSatisfy { $0.contains("\"since\":\"2026") })
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unverified == 0 })
    #expect(try world.lies() == [])
  }

  /// Nor does it hide what is deleted from then on, whichever answer told it.
  @Test(arguments: ["get_messages", "get_deleted_since"])
  func aToldLeapHidesNoDeletion(_ verb: String) throws {
    let world = try world()
    world.alter = { $0.contains(verb) ? Self.leap($1) : $1 }
    try world.lookOnceMore()
    _ = try world.sync(.live)
    #expect(world.answers.contains { $0.contains("\"server_time\":\"2099") })
    try hearsDeletions(world)
  }

  /// Nor does a server whose clock was wrong on each of several connections, from the first
  /// answer on or later, once it is right.
  @Test(arguments: [false, true], [false, true])
  func aClockThatWasWrongHidesNoDeletion(_ isFirst: Bool, _ changes: Bool) throws {
    let world = try world(changes ? [.changedSince] : [], isWrong: isFirst)
    world.alter = { Self.leap($1) }
    for _ in 0..<3 {
      try world.lookOnceMore()
      _ = try world.sync(.live)
      _ = try world.sync(.older, want: 300)
    }
    try hearsDeletions(world)
  }

  /// The server's answers are right again: what is deleted meanwhile and later goes.
  private func hearsDeletions(_ world: World) throws {
    let truth = world.truth()
    world.advance(ms: 3_600_000)
    for days in [0, 3] {
      world.advance(ms: Int64(days) * Self.day)
      let gone = Array(truth[(10 + 10 * days)..<(15 + 10 * days)])
      world.server.delete(conversation: world.room, ids: gone)
      world.server.edit(conversation: world.room, id: truth[60 + days], payload: "\"new\"")
      world.advance(ms: 300_000)
      world.alter = { $1 }
      // A clock that goes back is believed once a second connection says so.
      for _ in 0..<2 {
        try world.lookOnceMore()
        _ = try world.sync(.live)
      }
      _ = try world.sync(.older, want: 300)
      #expect(Set(try world.cached()).isDisjoint(with: gone))
      if world.config.profile.capabilities.contains(.changedSince) {
        let shown = try #require(try world.shown(truth[60 + days]))
        #expect(String(decoding: shown.page[shown.view.payload], as: UTF8.self) == "\"new\"")
      }
    }
    let lies = try world.lies().filter { !$0.contains("is unverified") }
    #expect(lies == [])
  }

  /// Where the whole server has moved on, the second connection believes it.
  @Test func whatTwoConnectionsTellIsBelieved() throws {
    let world = try world()
    let gone = Array(world.truth()[10..<15])
    world.clock.setSkew(us: nil)
    try world.client.disconnected()
    world.server.delete(conversation: world.room, ids: gone)
    // The device knows of no time that has passed.
    world.server.nowUs += 40 * Self.day * 1_000
    try world.client.connected()
    _ = try world.sync(.live)
    #expect(Set(try world.cached()).isSuperset(of: gone))
    try world.lookOnceMore()
    _ = try world.sync(.live)
    #expect(try world.lies().allSatisfy { $0.contains("is unverified") || $0.contains("still") })
    _ = try world.sync(.older, want: 300)
    _ = try world.sync(.refresh(.min, .max))
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().restores == 0)
  }
}
