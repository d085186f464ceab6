/// Stamps ahead of the server's own clock: nothing that is stamped by it afterwards is missed.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ClockAhead {
  private func stamped(_ world: World, aheadMs: Int64) {
    world.advance(ms: 1_000)
    world.server.post(
      conversation: world.room, sender: "you", payload: "\"ahead\"", id: nil,
      stampUs: world.server.nowUs + aheadMs * 1_000, lateUs: nil)
  }

  private func expectWhole(
    _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try world.sync().trouble == nil, sourceLocation: location)
    // Numbers say the order, whatever the stamps are.
    guard !world.server.knobs.numbersMessages else {
      let all = world.server.truth(world.room).map(\.id)
      return #expect(try world.cached() == all, sourceLocation: location)
    }
    #expect(try world.cached() == world.truth(), sourceLocation: location)
    #expect(try world.lies() == [], sourceLocation: location)
  }

  /// Protects: one message stamped ahead, by push or by page, hides none that comes after it, where
  /// answers tell the server's time.
  @Test(arguments: [FoundServer.rich, .poor, .numbered], [20_000, 3_600_000] as [Int64])
  func oneStampAheadHidesNothing(_ kind: FoundServer, aheadMs: Int64) throws {
    for (listens, isLossless) in [(true, true), (true, false), (false, false)] {
      let world = try kind.world(
        knobs: {
          $0.sendsServerTime = true
          $0.pushIsLossless = isLossless
        }, profile: { $0.pushIsLossless = isLossless })
      world.post(5)
      if listens { try world.connectListening() } else { try world.connect() }
      try world.sync()
      stamped(world, aheadMs: aheadMs)
      try world.run()
      try world.sync()
      try world.disconnect()
      world.post(7)
      if listens { try world.connectListening() } else { try world.connect() }
      try expectWhole(world)
      world.post(2)
      try expectWhole(world)
    }
  }

  /// Protects: where answers tell no time, an overlap that is as wide as stamps run ahead brings
  /// all the same; a stamp more than two minutes ahead of the device's clock moves nothing.
  @Test(arguments: [FoundServer.poor, .bare], [20_000, 100_000, 3_600_000] as [Int64])
  func anOverlapCoversStampsWithoutAClock(_ kind: FoundServer, aheadMs: Int64) throws {
    let world = try kind.world(profile: { $0.overlapUs = 120_000_000 })
    world.post(5)
    try world.connect()
    try world.sync()
    stamped(world, aheadMs: aheadMs)
    try world.sync()
    try world.disconnect()
    world.post(7)
    try world.connect()
    try expectWhole(world)
  }

  /// Protects: where the server's clock itself was ahead when the watermark was set, and answers
  /// tell by now that it is not, nothing is missed.
  @Test(arguments: FoundServer.byTime, [20_000, 3_600_000] as [Int64])
  func aClockThatWasAheadHidesNothing(_ kind: FoundServer, aheadMs: Int64) throws {
    let world = try kind.world(knobs: { $0.sendsServerTime = true })
    world.post(5)
    try world.connect()
    try world.sync()
    world.server.nowUs += aheadMs * 1_000
    world.post(1)
    try world.sync()
    try world.disconnect()
    world.server.stepBack(us: aheadMs * 1_000)
    world.post(7)
    try world.connect()
    try expectWhole(world)
    world.post(1)
    try world.disconnect()
    try world.connect()
    try expectWhole(world)
  }

  /// Protects: of two instances whose clocks are half a minute apart neither hides what the other
  /// stamps, whichever answers: what was missed once widens the overlap.
  @Test(arguments: FoundServer.byTime)
  func twoInstancesHideNothing(_ kind: FoundServer) throws {
    let world = try kind.world(knobs: { $0.sendsServerTime = true })
    world.post(5)
    try world.connect()
    try world.sync()
    var left = 0
    for round in 0..<30 {
      try world.disconnect()
      stamped(world, aheadMs: 30_000)
      world.post(1)
      if round % 2 == 0 { stamped(world, aheadMs: 30_000) }
      world.advance(ms: 3_000)
      let answersAhead = round % 3 == 0
      if answersAhead { world.server.nowUs += 30_000_000 }
      try world.connect()
      try world.sync()
      if answersAhead { world.server.stepBack(us: 30_000_000) }
      if try world.cached() != world.truth() { left += 1 }
    }
    #expect(left == 0)
    try expectWhole(world)
  }

  /// Protects: a push that was committed late widens the overlap, so that others as late are found.
  @Test func aLatePushWidensTheOverlap() throws {
    let world = try FoundServer.bare.world(
      knobs: { $0.pushIsLossless = true }, profile: { $0.pushIsLossless = true })
    world.post(40)
    try world.connectListening()
    try world.sync()
    world.post(2)
    try world.run()
    stamped(world, aheadMs: -12_000)
    try world.run()
    try world.disconnect()
    world.post(1)
    stamped(world, aheadMs: -12_000)
    try world.connectListening()
    try expectWhole(world)
  }

  /// Protects: a sign of typing that is minutes old is not shown, also where no answer told the
  /// server's time.
  @Test func oldSignsOfTypingAreNotShown() throws {
    let world = try FoundServer.bare.world()
    world.post(1)
    let list = try TestList(world.client)
    try world.connect()
    try list.settle(world)
    func sign(agoUs: Int64) throws -> String {
      try world.hand(
        """
        {"type":"typing","conversation_id":"room","user_id":"you","event":"begin",\
        "at":"\(Frames.time(world.server.nowUs - agoUs))"}
        """)
      _ = try list.poll()
      return try list.rows().first?.typing ?? ""
    }
    #expect(try sign(agoUs: 600_000_000) == "")
    #expect(try sign(agoUs: 1_000_000) == #"["you"]"#)
  }
}
