// A server that lists in the order of arrival, with stamps that go back: what it shows is not
// called whole while it counts more than was seen.

import ReferenceServer
import Testing

@testable import Engine

/// Pages by numbers that the profile does not speak of, so the client takes times for the order.
@Suite struct ArrivalOrder {
  private static let dayUs: Int64 = 86_400_000_000

  private func world(_ change: (inout Profile) -> Void = { _ in }) throws -> World {
    var knobs = ServerKnobs()
    knobs.numbersMessages = true
    knobs.takesBefore = true
    var profile = Profile()
    profile.capabilities = [.before]
    change(&profile)
    let world = try World(knobs: knobs, profile: profile)
    world.post(200)
    return world
  }

  /// The newest messages are stamped a day before all others.
  private func postBackDated(_ world: World, _ count: Int) {
    for index in 0..<count {
      world.advance(ms: 1_000)
      world.server.post(
        conversation: "room", sender: "you", payload: "\"late \(index)\"", id: nil,
        stampUs: World.epochUs - Self.dayUs + Int64(index) * 1_000_000, lateUs: nil)
    }
  }

  private func ids(_ world: World) -> Set<String> {
    Set(world.server.truth("room").map(\.id))
  }

  /// All that the server counts is fetched, or the conversation is not whole and says why.
  private func judge(_ world: World, isFirst: Bool) throws {
    let coverage = try world.page().coverage
    let missing = try ids(world).subtracting(world.cached())
    if coverage.whole || coverage.stop == .start {
      #expect(missing.isEmpty, "whole, and \(missing.count) are missing")
    } else if isFirst {
      #expect(coverage.stop == .count || !coverage.gaps.isEmpty)
    }
  }

  @Test(arguments: [1, 5, 49, 120]) func aFreshFile(count: Int) throws {
    let world = try world()
    postBackDated(world, count)
    try world.connect()
    for turn in 0..<4 {
      try world.sync()
      try judge(world, isFirst: turn == 0)
      try world.sync(.older, want: 1_000)
      try judge(world, isFirst: turn == 0)
    }
    // By offset, which does not go by times, everything is found where a page reaches over them.
    if count < 50 { #expect(try ids(world).subtracting(world.cached()).isEmpty) }
  }

  /// A window that is scrolled down to the beginning counts, as a sync to there does.
  @Test func aWindowThatReachesTheBeginningCounts() throws {
    let world = try world { $0.pageLimit = 20 }
    postBackDated(world, 5)
    try world.connect()
    let screen = try TestScreen(world)
    for _ in 0..<40 {
      try screen.settle(world)
      if try screen.window.state().isAtStart { break }
      _ = try screen.window.load(Load(.before(0), count: 20))
    }
    try screen.settle(world)
    let coverage = try world.page().coverage
    let missing = try ids(world).subtracting(world.cached())
    #expect(missing.isEmpty || !coverage.whole)
  }

  /// The server's clock is set back while the client is connected to it, and after.
  @Test(arguments: [Int64(30), 3_600, 86_400]) func aClockThatSteps(seconds: Int64) throws {
    let world = try world()
    try world.connect()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached().count == 200)
    try world.client.disconnected()
    world.server.nowUs -= seconds * 1_000_000
    world.post(130)
    try world.connect()
    for turn in 0..<3 {
      try world.sync()
      try judge(world, isFirst: turn == 0)
      try world.sync(.older, want: 1_000)
      try judge(world, isFirst: turn == 0)
    }
  }

  /// Where the host says that the count is none, time order is all there is, as the page says.
  @Test func withoutACountTimeIsBelieved() throws {
    let world = try world { $0.countsHidden = true }
    postBackDated(world, 5)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.client.stats().auditMismatches == 0)
  }
}
