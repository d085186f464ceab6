/// Random scrolling on every kind of server, held against the server after each step.
///
/// Rule protected: neighbours without a gap between them are neighbours on the server,
/// whatever was asked in whatever order, and filling all gaps gives the server's state.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct ReachRandom {
  @Test(arguments: CapableKind.all, 1...6)
  func scrollingAnywhereNeverLies(_ kind: CapableKind, _ seed: Int) throws {
    var random = Random(seed: UInt64(seed))
    let limit = [6, 10, 20][seed % 3]
    let world = try kind.world(limit: limit)
    world.post(90 + random.below(60), everyMs: kind.everyMs)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    for step in 0..<30 {
      let deed = try act(world, kind, &random)
      let breaks = try world.breaks()
      if !breaks.isEmpty { Issue.record("\(kind) \(seed).\(step) \(deed): \(breaks)") }
      #expect(breaks == [])
      if !breaks.isEmpty { return }
    }
    #expect(try world.reach(.latest).trouble == nil)
    #expect(try world.reach(.older, want: 10_000).trouble == nil)
    #expect(try world.cached() == world.order())
    #expect(try world.splits() == [])
    #expect(try world.breaks() == [])
  }

  private func act(
    _ world: World, _ kind: CapableKind, _ random: inout Random
  ) throws -> String {
    let truth = world.order()
    let anyone = truth[random.below(truth.count)]
    let place = world.serverPosition(of: anyone)
    let want = random.below(25)
    switch random.below(12) {
    case 0, 1:
      #expect(try world.reach(.below(place), want: want).trouble == nil)
      return "below \(anyone)"
    case 2, 3:
      #expect(try world.reach(.above(place), want: want).trouble == nil)
      return "above \(anyone)"
    case 4:
      #expect(try world.reach(.near(place)).trouble == nil)
      return "near \(anyone)"
    case 5:
      let stamp = world.server.truth(world.room).first { $0.id == anyone }?.stampUs ?? 0
      #expect(try world.reach(.time(stamp)).trouble == nil)
      return "time of \(anyone)"
    case 6:
      let other = world.serverPosition(of: truth[random.below(truth.count)])
      let (low, high) = place < other ? (place, other) : (other, place)
      #expect(try world.reach(.refresh(low, high.successor)).trouble == nil)
      return "refresh"
    case 7:
      // Past the tick that the present was claimed with.
      world.advance(ms: 2_000)
      world.post(1 + random.below(30), everyMs: kind.everyMs)
      return "posts"
    case 8:
      let first = random.below(truth.count)
      world.advance(ms: 20_000)
      world.server.delete(
        conversation: world.room, ids: Array(truth[first...].prefix(1 + random.below(12))))
      world.advance(ms: 20_000)
      #expect(try world.reach(.live).trouble == nil)
      return "deletes from \(anyone)"
    case 9:
      try world.client.disconnected()
      world.post(random.below(60), everyMs: kind.everyMs)
      try world.client.connected()
      #expect(try world.reach(random.below(2) == 0 ? .live : .latest).trouble == nil)
      return "was away"
    case 10:
      #expect(try world.reach(.older, want: want).trouble == nil)
      return "older"
    default:
      try world.push { world.post(2, everyMs: kind.everyMs) }
      try world.run()
      return "pushes"
    }
  }
}
