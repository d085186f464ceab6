/// Realtime against a server that numbers its messages, links them, or repeats its
/// updates until they are replied to.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct RealtimeServer {
  // MARK: Numbers and links

  private func numbered(_ change: (inout Profile) -> Void = { _ in }) throws -> World {
    var knobs = ServerKnobs()
    knobs.numbersMessages = true
    var profile = Profile()
    profile.capabilities = [.sequence]
    change(&profile)
    let world = try World(knobs: knobs, profile: profile)
    world.post(130)
    try world.connect()
    try world.sync()
    world.reset()
    return world
  }

  /// A number that follows leaves no room: no request is made.
  @Test func aNumberThatFollowsJoins() throws {
    let world = try numbered()
    try world.push { world.post(120, everyMs: 100) }
    try world.run()
    #expect(world.requests == [])
    #expect(try world.isWhole())
    let cached = try world.cached()
    let truth = world.server.truth("room").map(\.id)
    #expect(cached == Array(truth.suffix(cached.count)) && cached.count >= 170)
  }

  /// A number that is missing is a gap, which one request closes.
  @Test func aNumberThatIsMissingIsAGap() throws {
    let world = try numbered()
    let token = world.server.subscribe(user: "me")
    world.post(6)
    let pushes = world.server.drain(token)
    for (index, push) in pushes.enumerated() where index != 2 {
      _ = try world.client.receive(push)
    }
    #expect(try !world.isWhole())
    try world.run()
    #expect(world.asked("get_messages").count >= 1)
    #expect(try world.isWhole())
    let cached = try world.cached()
    let truth = world.server.truth("room").map(\.id)
    #expect(cached == Array(truth.suffix(cached.count)) && cached.count >= 56)
  }

  /// Without a number a message has no place here: it is set aside.
  @Test func aMessageWithoutANumberIsSetAside() throws {
    let world = try numbered()
    let push = Frames.push(Frames.message("a", atUs: world.server.nowUs))
    #expect(try world.hand(push) == .quarantined)
    #expect(try !world.cached().contains("a"))
  }

  /// The server's own links join, whatever the resolution of its times.
  @Test(arguments: [1_000_000, 1] as [Int64])
  func theServersLinksJoin(_ resolutionUs: Int64) throws {
    var knobs = ServerKnobs()
    knobs.sendsPreviousIDs = true
    knobs.timeResolutionUs = resolutionUs
    let world = try World(knobs: knobs)
    world.post(130)
    try world.connect()
    try world.sync()
    world.reset()
    try world.push { world.post(60) }
    try world.run()
    #expect(world.requests == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(110) == [])
  }

  // MARK: Envelopes

  /// Seed 4's server: updates are pending until replied to. Connections drop, frames are
  /// lost on both ways and come twice, the process is killed. At the end the server
  /// has nothing pending, and the cache is the server's.
  @Test(arguments: [true, false], [1, 2, 3, 4] as [UInt64])
  func everyUpdateArrivesOnceThroughDropsAndKills(_ isLossless: Bool, _ seed: UInt64) throws {
    let folder = try TrapsRestart.Folder()
    var knobs = ServerKnobs()
    knobs.envelope = true
    knobs.pushesAtConnect = seed % 2 == 0 ? 10 : 0
    var profile = Profile()
    profile.capabilities = [.envelope]
    profile.pushIsLossless = isLossless
    let world = try World(knobs: knobs, profile: profile, seed: seed, file: folder.file())
    world.post(130)
    try world.connect()
    try world.sync()
    var random = Random(seed: seed)
    var token = world.server.subscribe(user: "me")
    func reconnect() throws {
      world.server.unsubscribe(token)
      try world.client.disconnected()
      token = world.server.subscribe(user: "me")
      try world.client.connected()
      _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    }
    func deliver(dropping share: Double) throws {
      for push in world.server.drain(token) {
        if random.chance(share) { return try reconnect() }
        _ = try world.client.receive(push)
        if random.chance(0.1) { _ = try world.client.receive(push) }
      }
      // An answer that is lost takes its connection with it.
      var isLost = false
      try world.run { _, _ in
        isLost = isLost || random.chance(share / 2)
        return isLost
      }
      if isLost { try reconnect() }
    }
    for _ in 0..<60 {
      world.post(random.below(3), everyMs: 700)
      let ids = world.server.newestIDs("room", 12)
      let id = ids[random.below(ids.count)]
      switch random.below(6) {
      case 0: world.server.edit(conversation: "room", id: id, payload: "\"e\(random.below(99))\"")
      case 1: world.server.react(conversation: "room", id: id, user: "you", reaction: "👍")
      case 2: world.server.delete(conversation: "room", ids: [id])
      case 3: _ = world.server.markRead(conversation: "room", ids: [id], user: "you")
      default: break
      }
      try deliver(dropping: 0.1)
      if random.chance(0.1) {
        try folder.kill(world)
        try reconnect()
      }
    }
    try reconnect()
    for _ in 0..<4 { try deliver(dropping: 0) }
    try world.settle()
    #expect(world.server.pendingRefs(user: "me") == [])
    #expect(try world.client.state().repliesOwed == 0)
    try world.sync()
    try world.settle()
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(40) == [])
    #expect(try world.isWhole())
    for id in world.truth().suffix(40) {
      let message = try #require(world.server.message("room", id))
      #expect(try world.payload(id) == message.payload, "\(id)")
      let names = message.reactions.flatMap(\.users)
      let reactions = try world.reactions(id) ?? ""
      #expect(names.allSatisfy { reactions.contains($0) }, "\(id): \(reactions)")
    }
  }

  /// On a line that loses nothing, a connection that holds needs no page at all.
  @Test func aLosslessEnvelopeNeedsNoPages() throws {
    var knobs = ServerKnobs()
    knobs.envelope = true
    var profile = Profile()
    profile.capabilities = [.envelope]
    profile.pushIsLossless = true
    let world = try World(knobs: knobs, profile: profile)
    let token = world.server.subscribe(user: "me")
    world.post(130)
    // Nobody is connected, so these are lost.
    _ = world.server.drain(token)
    try world.connect()
    try world.sync()
    world.reset()
    for _ in 0..<60 {
      world.post(2)
      for push in world.server.drain(token) { _ = try world.client.receive(push) }
      try world.run()
    }
    #expect(world.asked("get_messages").isEmpty && world.asked("get_deleted_since").isEmpty)
    #expect(world.requests.filter { $0.contains("\"reply\"") }.count >= 120)
    #expect(try world.tailFaults(170) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }
}
