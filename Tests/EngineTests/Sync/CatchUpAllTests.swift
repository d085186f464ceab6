/// One call that catches up with all conversations, a few at a time.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct CatchUpAllTests {
  /// So many conversations, all known, each with something new since; the last one is the most
  /// active.
  private func behind(
    _ count: Int, news: Int = 2, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> (World, [String]) {
    var knobs = ServerKnobs()
    knobs.echoesRequestIDs = true
    let world = try World(knobs: knobs, change: change)
    let rooms = (0..<count).map { "r\($0)" }
    for room in rooms {
      world.server.createConversation(room, participants: ["me", "you"])
      world.advance(ms: 1_000)
      for _ in 0..<4 { world.put(in: room) }
    }
    try world.connect()
    for room in rooms { try world.sync(.live, in: room) }
    try world.client.disconnected()
    world.advance(ms: 60_000)
    for room in rooms { for _ in 0..<news { world.put(in: room) } }
    world.reset()
    return (world, rooms)
  }

  private func all(_ world: World) throws -> UInt64 {
    try world.client.sync(SyncRequest(kind: .all))
  }

  /// The conversations in the order in which they were first asked for.
  private func order(_ world: World, _ rooms: [String]) -> [String] {
    var seen: [String] = []
    for request in world.asked("get_messages") {
      guard let room = rooms.first(where: { request.contains("\"conversation_id\":\"\($0)\"") })
      else { continue }
      if !seen.contains(room) { seen.append(room) }
    }
    return seen
  }

  /// All of them, those that were active last first, two requests at a time at most.
  @Test func allAreBroughtUpToDate() throws {
    let (world, rooms) = try behind(30)
    let sync = try all(world)
    #expect(try world.client.syncStatus(sync).phase == .waiting)
    #expect(try world.client.nextFrame() == nil)
    try world.connect()
    var most = 0
    var dones: [Int] = []
    world.before = { _, _ in
      most = max(most, (try? world.client.state().requestsInFlight) ?? 99)
      dones.append((try? world.client.syncStatus(sync).done) ?? -1)
      #expect(((try? world.client.state().syncsLeft) ?? 99) <= 3)
    }
    try world.run()
    #expect(most <= 2)
    #expect(dones == dones.sorted())
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil)
    #expect(status.done == 30 && status.total == 30)
    #expect(status.inserted == 60)
    for room in rooms { #expect(try world.tailFaults(6, in: room) == []) }
    #expect(order(world, rooms) == rooms.reversed())
    #expect(try world.client.state().phase == .upToDate)
  }

  /// A thousand of them are no thousand syncs.
  @Test func aThousandAreFewSyncs() throws {
    let (world, rooms) = try behind(1_000, news: 0)
    try world.connect()
    let sync = try all(world)
    var most = 0
    for _ in 0..<6 {
      world.before = { _, _ in most = max(most, (try? world.client.state().syncsLeft) ?? 9_999) }
      do { try world.run() } catch is World.Endless { continue }
    }
    #expect(most <= 3)
    #expect(try world.client.syncStatus(sync).done == rooms.count)
    #expect(try world.client.syncStatus(sync).phase == .ended)
  }

  /// What is on a screen comes first, whenever it was active.
  @Test func openWindowsComeFirst() throws {
    let (world, rooms) = try behind(10)
    var config = WindowConfig(conversation: Array("r3".utf8))
    config.isCacheOnly = true
    let window = try world.client.openWindow(config)
    _ = try all(world)
    try world.connect()
    try world.run()
    #expect(order(world, rooms).first == "r3")
    #expect(order(world, rooms).count == 10)
    window.close()
  }

  /// The same call again is the same sync; after its end it is another one.
  @Test func anIdenticalOneIsJoined() throws {
    let (world, _) = try behind(5)
    let sync = try all(world)
    #expect(try all(world) == sync)
    try world.connect()
    #expect(try all(world) == sync)
    try world.run()
    #expect(try all(world) != sync)
  }

  @Test func aCancelEndsIt() throws {
    let (world, rooms) = try behind(10)
    try world.connect()
    let sync = try all(world)
    _ = try world.client.nextFrame()
    #expect(try world.client.cancel(sync))
    #expect(try world.client.syncStatus(sync).trouble == .cancelled)
    #expect(try !world.client.cancel(sync))
    world.reset()
    try world.run()
    #expect(order(world, rooms).count <= 1)
    #expect(try world.client.state().syncsLeft == 0)
  }

  /// One that the server refuses does not stop the others, and spoils nothing.
  @Test func aRefusedConversationStopsNoOther() throws {
    let (world, rooms) = try behind(8)
    world.alter = { request, answer in
      guard request.contains("\"conversation_id\":\"r4\""),
        let at = request.range(of: "\"request_id\":\"")
      else { return answer }
      let id = request[at.upperBound...].prefix { $0 != "\"" }
      return "{\"type\":\"get_messages\",\"request_id\":\"\(id)\",\"status\":\"error\","
        + "\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}"
    }
    try world.connect()
    let sync = try all(world)
    try world.run()
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil && status.done == 8)
    for room in rooms where room != "r4" { #expect(try world.tailFaults(6, in: room) == []) }
  }

  /// A connection that breaks: the next one goes on with those that are left.
  @Test func anotherConnectionGoesOn() throws {
    let (world, rooms) = try behind(12)
    try world.connect()
    let sync = try all(world)
    var answered = 0
    world.alter = { _, answer in
      answered += 1
      return answered > 8 ? nil : answer
    }
    try world.run()
    let done = try world.client.syncStatus(sync).done
    #expect(done > 0 && done < 12)
    try world.client.disconnected()
    #expect(try world.client.syncStatus(sync).trouble == .offline)
    world.alter = { $1 }
    world.reset()
    try world.connect()
    try world.run()
    #expect(try world.client.syncStatus(sync).done == 12)
    #expect(order(world, rooms).count == 12 - done)
    for room in rooms { #expect(try world.tailFaults(6, in: room) == []) }
  }

  /// With the flag each connection does it by itself.
  @Test func eachConnectionCatchesUpByItself() throws {
    let (world, rooms) = try behind(5) { $0.catchesUpAll = true }
    for _ in 0..<2 {
      for room in rooms { world.put(in: room) }
      world.advance(ms: 30_000)
      try world.lookOnceMore()
      for room in rooms { #expect(try world.tailFaults(5, in: room) == []) }
      #expect(try world.client.state().phase == .upToDate)
    }
  }

  @Test func ofTheCacheOnlyItEndsAtOnce() throws {
    let (world, _) = try behind(3)
    let sync = try world.client.sync(SyncRequest(kind: .all, choice: PolicyChoice(.cacheOnly)))
    #expect(try world.client.syncStatus(sync).phase == .ended)
    try world.connect()
    try world.run()
    #expect(world.requests == [])
  }
}
