/// A newest page that lies inside one second and hides a message there.
///
/// Rule protected: nothing of it can be claimed, and what stands below is reached all the same.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct HiddenSecond {
  @Test func theWayDownGoesOnBelowIt() throws {
    var knobs = ServerKnobs()
    knobs.ties = .id
    var profile = Profile()
    profile.ties = .id
    let world = try World(knobs: knobs, profile: profile)
    world.post(70)
    world.advance(ms: 1_000)
    world.post(60, everyMs: 0)
    let hidden = try #require(world.truth().last)
    world.alter = { _, answer in
      answer.replacingOccurrences(of: "\"\(hidden)\"", with: "7")
    }
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth().filter { $0 != hidden })
    #expect(try world.page().coverage.stop == .start)
  }
}
