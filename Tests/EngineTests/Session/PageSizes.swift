/// Servers whose pages are not what they were: sent twice, cut shorter, or contradicting
/// each other.
///
/// Rule protected: what was learned of a server's pages is doubted before the server is, and
/// nothing that a server answers makes the client ask without end.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct PageSizes {
  static let kinds = [
    CapableKind(name: "offset", capabilities: []),
    CapableKind(name: "offset, ties", capabilities: [], everyMs: 80),
    CapableKind(name: "offset, keeps oldest", capabilities: [], keepsOldest: true, everyMs: 80),
    CapableKind(name: "before, ties", capabilities: [.before], everyMs: 80),
    CapableKind(name: "sequence", capabilities: [.sequence], everyMs: 80),
  ]

  /// Pages that hold each row twice teach nothing of how large a page may be: afterwards a full
  /// page is no whole answer, no row is taken for gone, and no restore is seen.
  @Test(arguments: kinds) func aPageOfDoublesTeachesNothing(_ kind: CapableKind) throws {
    let world = try kind.world(knobs: { $0.pageCap = 7 })
    world.post(381, everyMs: kind.everyMs)
    world.alter = { _, answer in Self.messages(of: answer) { $0 + $0 } }
    world.listsBothWays = true
    try world.connect()
    let screen = try world.window(count: 20)
    world.alter = { $1 }
    // As many as of a server that never did so: not even a second look.
    try followsHonestly(screen, world, requestsMax: 4)
  }

  /// A server that gives less than it did: its full pages look short. The client doubts what
  /// it learned, asks once more, and takes no restore for it.
  @Test(arguments: kinds) func aLoweredCapIsNoRestore(_ kind: CapableKind) throws {
    let world = try kind.world(knobs: { $0.pageCap = 14 })
    world.post(381, everyMs: kind.everyMs)
    try world.connect()
    let screen = try world.window(count: 20)
    world.alter = { request, answer in
      let keepsOldest = kind.keepsOldest && request.contains("after_ts")
      return Self.messages(of: answer) { Array(keepsOldest ? $0.prefix(7) : $0.suffix(7)) }
    }
    try followsHonestly(screen, world, requestsMax: 7)
  }

  private func followsHonestly(
    _ screen: TestScreen, _ world: World, requestsMax: Int
  ) throws {
    let before = try screen.ids().count
    for _ in 0..<3 {
      try world.client.disconnected()
      try world.client.connected()
      world.reset()
      try screen.settle(world)
      #expect(world.requests.count <= requestsMax)
    }
    #expect(try screen.ids().count >= before)
    #expect(try screen.state().trouble == nil)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.breaks() == [])
    // All of it can still be had, by asking.
    #expect(try world.reach(.older, want: 1_000).trouble == nil)
    #expect(try world.cached() == world.order())
    #expect(try world.client.stats().restores == 0)
  }

  /// A page that shows fewer rows than the server counts is not the whole conversation.
  @Test func aShortPageBelowTheCountIsNotWhole() throws {
    let world = try World()
    let other = "other"
    world.server.createConversation(other, participants: ["me", "you"])
    world.post(130)
    for _ in 0..<130 {
      world.advance(ms: 1_000)
      world.put(in: other)
    }
    try world.connect()
    try world.sync()
    world.alter = { _, answer in Self.messages(of: answer) { Array($0.suffix(7)) } }
    try world.sync(in: other)
    let page = try world.page(in: other)
    #expect(page.rows.count == 7)
    #expect(page.coverage.gaps.contains { $0.beforeRow < 2 })
    #expect(try world.lies(in: other) == [])
  }

  /// A server of two copies: selections are answered by one that lacks a message, the rest by
  /// one that has it, and each says that its answer is whole. It cannot be told from one that is
  /// restored each time; it is believed a few times, and then the sync ends and says so.
  @Test(arguments: [false, true])
  func aServerThatContradictsItselfIsNotAskedWithoutEnd(_ isLossless: Bool) throws {
    var knobs = ServerKnobs()
    knobs.sendsHasMore = true
    knobs.sendsEpoch = false
    var profile = Profile()
    profile.pushIsLossless = isLossless
    let world = try World(knobs: knobs, profile: profile)
    world.post(60)
    try world.connect()
    let screen = try world.window(count: 20)
    try world.sync()
    let hidden = world.server.newestIDs(world.room, 2)[1]
    world.alter = { request, answer in
      guard request.contains("after_ts") else { return answer }
      return Self.messages(of: answer) { rows in
        rows.filter { ($0 as? [String: Any])?["message_id"] as? String != hidden }
      }
    }
    for round in 0..<12 {
      world.reset()
      if round % 4 == 3 {
        try world.client.disconnected()
        try world.client.connected()
      }
      try world.sync()
      try screen.settle(world)
      #expect(world.requests.count <= 6)
    }
    #expect(try world.client.stats().restores <= 3)
    #expect(try world.cached().contains(hidden))
    // An hour later, and of one mind again.
    world.alter = { $1 }
    world.advance(ms: 3_700_000)
    #expect(try world.sync().trouble == nil)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(20))
  }

  /// A restore that two syncs find in a live conversation is followed by the second; there is
  /// no other one after it.
  @Test func aRestoreInALiveConversationIsFollowedOnce() throws {
    var knobs = ServerKnobs()
    knobs.sendsEpoch = false
    let world = try World(knobs: knobs, profile: Profile())
    world.post(130)
    let backup = world.server.backup()
    world.post(3)
    try world.connect()
    let screen = try world.window(count: 20)
    try world.sync()
    world.server.restore(backup)
    world.advance(ms: 1_000)
    world.post(1)
    try world.sync()
    #expect(try world.client.stats().restores == 0)
    world.reset()
    try world.lookOnceMore()
    try screen.settle(world)
    #expect(try world.client.stats().restores == 1)
    // The look at what was in doubt, and then all anew.
    #expect(world.requests.count <= 9)
    #expect(try world.cached().suffix(20) == world.truth().suffix(20))
  }

  private static func messages(of answer: String, _ change: ([Any]) -> [Any]) -> String {
    guard
      var frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      var data = frame["data"] as? [String: Any], let rows = data["messages"] as? [Any]
    else { return answer }
    data["messages"] = change(rows)
    frame["data"] = data
    guard let bytes = try? JSONSerialization.data(withJSONObject: frame) else { return answer }
    return String(decoding: bytes, as: UTF8.self)
  }
}
