/// A client of the reference server that keeps a log.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct LogReferenceTests {
  private func world(_ change: (inout ServerKnobs) -> Void = { _ in }) throws -> World {
    var knobs = ServerKnobs()
    knobs.keepsLog = true
    change(&knobs)
    var profile = Profile()
    profile.log = LogProfile(refusesUnknown: true, namesEpoch: true)
    profile.pageLimit = 20
    return try World(knobs: knobs, profile: profile)
  }

  /// Each message as its id and what it says; `-` where it is deleted.
  private func shown(_ world: World) throws -> [String] {
    let page = try world.page()
    return page.rows.map { row in
      let says = String(decoding: page[row.payload], as: UTF8.self)
      return "\(String(decoding: page[row.id], as: UTF8.self)) "
        + (row.flags & (1 << 3) != 0 ? "-" : says)
    }
  }

  /// The same of the server. Ids of changes begin with an x, those of messages do not.
  private func truth(_ world: World) -> [String] {
    world.server.entryIDs(world.room).filter { !$0.hasPrefix("x") }.map { id in
      "\(id) \(world.server.message(world.room, id)?.payload ?? "-")"
    }
  }

  /// Reads down to the start; then all is there, in its order, as it is.
  private func expectWhole(
    _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for _ in 0..<100 {
      let coverage = try world.page().coverage
      if coverage.whole, coverage.stop == .start { break }
      let status = try world.sync(.older, want: 20)
      #expect(status.trouble == nil, sourceLocation: location)
    }
    #expect(try shown(world) == truth(world), sourceLocation: location)
    let coverage = try world.page().coverage
    #expect(
      coverage.whole && coverage.stop == .start && coverage.gaps.isEmpty,
      "\(coverage)", sourceLocation: location)
  }

  private func changeAll(_ world: World, _ ids: [String]) {
    world.server.edit(conversation: world.room, id: ids[3], payload: "\"edited\"")
    world.server.react(conversation: world.room, id: ids[7], user: "you", reaction: "+")
    world.server.pin(conversation: world.room, id: ids[9])
    world.server.delete(conversation: world.room, ids: [ids[5]])
    world.server.markRead(conversation: world.room, ids: [ids[2]], user: "me")
  }

  /// Protects: a log is read to its start, and pushes that name the entry before them make what
  /// follows whole without a request, whatever the stamps say.
  @Test func pushesOfALogAreWhole() throws {
    let world = try world()
    let ids = world.post(90)
    changeAll(world, ids)
    try world.connectListening()
    try world.sync()
    try expectWhole(world)
    world.reset()
    world.server.post(
      conversation: world.room, sender: "you", payload: "\"back\"",
      stampUs: World.epochUs - 3_600_000_000)
    world.server.stepBack(us: 3_600_000_000)
    let new = world.post(12)
    changeAll(world, new)
    try world.run()
    #expect(world.requests == [])
    try expectWhole(world)
  }

  /// Protects: what is sent stands where the log lists it, once.
  @Test func aSendStandsWhereTheLogListsIt() throws {
    let world = try world()
    world.post(5)
    try world.connectListening()
    try world.sync()
    try world.say("mine")
    try world.run()
    world.post(2)
    try world.run()
    try expectWhole(world)
    #expect(try shown(world).count == 8)
  }

  /// Protects: tokens that expired, gaps, a clock that was set back, a purge and an older backup
  /// end in what the server has.
  @Test func troublesOfALogEnd() throws {
    let world = try world { $0.logGapMin = 30 }
    let ids = world.post(70)
    try world.connectListening()
    try world.sync()
    try expectWhole(world)
    let backup = world.server.backup()
    try world.disconnect()
    world.server.stepBack(us: 7_200_000_000)
    changeAll(world, ids)
    world.post(50)
    world.server.expireTokens()
    try world.connectListening()
    try world.sync()
    try expectWhole(world)
    world.post(60)
    try world.disconnect()
    world.post(60)
    try world.connectListening()
    world.reset()
    try world.sync(.live)
    #expect(world.answers.contains { $0.contains("\"gap\":true") })
    try world.sync()
    try expectWhole(world)
    world.server.purgeLog(conversation: world.room, count: 40)
    world.post(30)
    try world.run()
    try world.sync()
    #expect(Array(try shown(world).suffix(truth(world).count)) == truth(world))
    world.server.restore(backup)
    try world.disconnect()
    try world.connectListening()
    try world.sync()
    try expectWhole(world)
  }
}
