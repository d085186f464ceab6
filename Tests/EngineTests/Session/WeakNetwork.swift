/// A weak network: what a screen waits for goes first, nothing is asked twice, pages
/// shrink and waits follow what answers really take.
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@testable import Engine

@Suite struct WeakNetwork {
  private func frames(_ world: World) throws -> [String] {
    var frames: [String] = []
    while let frame = try world.client.nextFrame() {
      frames.append(String(decoding: frame.bytes, as: UTF8.self))
    }
    return frames
  }

  private func answer(_ world: World, _ request: String) throws {
    for sent in world.server.handle(Array(request.utf8), user: "me") {
      _ = try world.client.receive(sent)
    }
  }

  /// Several syncs wait; the screen's goes out first.
  @Test func whatAScreenWaitsForGoesFirst() throws {
    let world = try CapableKind.all[0].world()
    for name in ["a", "b", "c"] {
      world.server.createConversation(name, participants: ["me"])
      for _ in 0..<50 { world.put(in: name) }
    }
    for name in ["a", "b", "c"] {
      _ = try world.client.sync(SyncRequest(conversation: Array(name.utf8)))
    }
    _ = try world.client.sync(
      SyncRequest(conversation: Array("room".utf8), kind: .live, isUrgent: true))
    world.post(50)
    try world.connect()
    #expect(try frames(world).first?.contains("\"room\"") == true)
  }

  /// Between two pages of a long walk the screen's page is asked, and the walk goes on
  /// to its end all the same.
  @Test(arguments: CapableKind.all)
  func aScreenInterruptsALongWalk(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(60, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    try world.missing(130, everyMs: kind.everyMs)
    let truth = world.order()
    let long = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    for _ in 0..<3 {
      for request in try frames(world) { try answer(world, request) }
    }
    #expect(try world.client.syncStatus(long).phase != .ended)
    let waiting = try frames(world)
    #expect(waiting.count == 1)
    let far = world.serverPosition(of: truth[20])
    let urgent = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), kind: .near(far), isUrgent: true))
    let live = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), kind: .live, isUrgent: true))
    // One request in flight a conversation stays the rule.
    #expect(try frames(world).isEmpty)
    try answer(world, waiting[0])
    try world.run()
    #expect(try world.client.syncStatus(urgent).trouble == nil)
    #expect(try world.client.syncStatus(live).phase == .ended)
    let status = try world.client.syncStatus(long)
    #expect(status.phase == .ended && status.trouble == nil)
    #expect(try world.cached().suffix(140) == truth.suffix(140))
    #expect(try world.breaks() == [])
  }

  /// Identical wishes are one; a wish that becomes urgent lifts the one that waits.
  @Test func identicalWishesAreOne() throws {
    let world = try CapableKind.all[3].world()
    world.post(100)
    try world.connect()
    try world.sync()
    let edge = world.serverPosition(of: world.order()[80])
    let room = Array(world.room.utf8)
    world.reset()
    let first = try world.client.sync(SyncRequest(conversation: room, kind: .below(edge)))
    let second = try world.client.sync(
      SyncRequest(conversation: room, kind: .below(edge), isUrgent: true))
    #expect(first == second)
    try world.run()
    #expect(world.requests.count == 1)
  }

  /// Time-outs halve the page, down to ten; quick answers let it grow back.
  @Test func thePageFollowsTheNetwork() throws {
    let world = try CapableKind.all[3].world(limit: 50)
    world.post(200)
    try world.connect()
    try world.sync()
    #expect(try world.client.stats().pageLimit == 50)
    let room = Array(world.room.utf8)
    let edge = world.serverPosition(of: world.order()[180])
    _ = try world.client.sync(SyncRequest(conversation: room, kind: .below(edge)))
    var asked: [String] = []
    for _ in 0..<3 {
      asked += try frames(world)
      world.advance(ms: 200_000)
      _ = try world.client.advance()
      world.advance(ms: 100_000)
      _ = try world.client.advance()
    }
    asked += try frames(world)
    #expect(asked.count == 4)
    for (request, limit) in zip(asked, [50, 25, 12, 10]) {
      #expect(request.contains("\"limit\":\(limit),"))
    }
    try answer(world, try #require(asked.last))
    #expect(try world.client.stats().pageLimit > 10)
    #expect(try world.reach(.older, want: 500).trouble == nil)
    #expect(try world.cached() == world.order())
    #expect(try world.splits() == [])
    #expect(try world.client.stats().pageLimit == 50)
  }

  /// The wait follows what answers took, between five seconds and four times what is
  /// configured.
  @Test func theWaitFollowsTheNetwork() {
    var pacing = AdaptivePacing(configuredMs: 30_000, pageLimit: 50)
    #expect(pacing.timeoutMs == 30_000)
    for _ in 0..<40 { pacing.answered(afterMs: 100) }
    #expect(pacing.timeoutMs == 5_000)
    for _ in 0..<80 { pacing.answered(afterMs: 10_000) }
    #expect((40_000...45_000).contains(pacing.timeoutMs))
    for _ in 0..<20 { pacing.timedOut() }
    #expect(pacing.timeoutMs == 120_000)
    #expect(pacing.pageLimit == 10)
    pacing.answered(afterMs: -5)
    #expect(pacing.pageLimit == 15)
    var small = AdaptivePacing(configuredMs: 1, pageLimit: 3)
    small.timedOut()
    #expect(small.pageLimit == 3)
    #expect(small.timeoutMs >= 1)
  }

  /// Under lossless push a live conversation needs no request at all.
  @Test func aLiveConversationIsNotAskedAgain() throws {
    let world = try CapableKind.all[0].world(profile: { $0.pushIsLossless = true })
    world.post(50)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    world.reset()
    try world.push { world.post(3) }
    try world.run()
    #expect(try world.reach(.live).trouble == nil)
    #expect(world.requests.isEmpty)
    #expect(try world.cached().suffix(23) == world.order().suffix(23))
    #expect(try world.breaks() == [])
  }

  /// What was pushed while a sync was under way is closed by it, or, where it is cancelled, by
  /// the library itself.
  @Test func whatWasPushedBesideACancelledSyncIsClosed() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync()
    let sync = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    _ = try #require(try world.client.nextFrame())
    world.post(120)
    try world.push { world.post(1) }
    #expect(try world.client.cancel(sync))
    try world.run()
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }
}
