/// A client's day on a connection that is not perfect: what waits for what, and how long.
import Base
import Engine
import Glibc
import ReferenceServer
import Testing

@Suite struct ClientLife {
  // MARK: Sends that are echoed and never answered

  /// The server echoes request ids, pushes each message to its sender and never answers the sends:
  /// the push settles them, so nothing waits for a time-out, and none is told.
  @Test func anEchoSettlesASend() throws {
    let world = try World.idempotent()
    try world.connectListening()
    try world.sync()
    world.lose("send_message")
    for index in 0..<20 { try world.say("text \(index)") }
    try world.run()
    #expect(world.served() == (0..<20).map { "text \($0)" })
    #expect(try world.open() == [])
    #expect(try world.client.state().requestsInFlight == 0)
    #expect(try world.client.stats().timeouts == 0)
    try world.wait(ms: 200_000)
    #expect(try world.client.stats().timeouts == 0)
    #expect(try !world.client.state().reconnectWanted)
    #expect(try world.texts() == (0..<20).map { "text \($0)" })
  }

  /// The answer comes after the echo has settled the send, and changes nothing: neither for the
  /// send itself, nor for the next one, which was told meanwhile.
  @Test func anAnswerAfterItsEchoIsHarmless() throws {
    let world = try World.idempotent()
    try world.connectListening()
    try world.sync()
    var kept: [String] = []
    world.alter = { request, answer in
      if request.contains("\"send_message\""), answer.contains("\"ok\"") {
        kept.append(answer)
        return nil
      }
      return answer
    }
    try world.say("one")
    try world.say("two")
    try world.run()
    #expect(kept.count == 2)
    for answer in kept { try world.hand(answer) }
    world.answerAll()
    try world.say("three")
    try world.run()
    #expect(try world.texts() == ["one", "two", "three"])
    #expect(try world.open() == [])
    #expect(try world.client.stats().timeouts == 0)
  }

  // MARK: The descriptor

  private func isReadable(_ world: World) throws -> Bool {
    var poll = pollfd(fd: try world.client.eventDescriptor(), events: Int16(POLLIN), revents: 0)
    return unsafe Glibc.poll(&poll, 1, 0) == 1
  }

  /// A host that takes frames only while it is connected sleeps while it is not.
  @Test func theDescriptorRestsOffline() throws {
    let world = try World()
    world.post(120)
    try world.connect()
    let screen = try world.window()
    _ = try world.client.disconnected()
    #expect(try isReadable(world))
    /// A turn of such a host; false where it may sleep then.
    func turn() throws -> Bool {
      while try screen.poll() != nil {}
      _ = try world.client.advance()
      return try isReadable(world)
    }
    #expect(try turn())
    #expect(try !turn())
    // It wakes for what is news offline, too, whenever in a turn that comes.
    while try screen.poll() != nil {}
    _ = try world.client.send(
      Outgoing(conversation: Array(world.room.utf8), payload: Array("\"mine\"".utf8)))
    _ = try world.client.advance()
    #expect(try isReadable(world))
    #expect(try screen.poll() != nil)
    #expect(try !turn())
    try world.client.connected()
    #expect(try isReadable(world))
    #expect(try world.client.nextFrame() != nil)
  }

  // MARK: Marks

  private func marking(_ count: Int) throws -> World {
    var knobs = ServerKnobs()
    knobs.echoesRequestIDs = true
    let world = try World(knobs: knobs)
    world.post(count)
    try world.connect()
    return world
  }

  /// A long backlog is marked in requests of two hundred, while it comes and at its end.
  @Test func aBacklogIsMarkedInFewRequests() throws {
    let world = try marking(1_000)
    try world.sync(marksRead: true)
    try world.sync(.older, want: 1_000, marksRead: true)
    let marks = world.asked("mark_read")
    #expect(try world.client.state().readsPending == 0)
    #expect(marks.count <= 7)
    let ids = marks.flatMap { request in
      world.truth().filter { request.contains("\"\($0)\"") }
    }
    #expect(ids.count == 1_000 && Set(ids).count == 1_000)
  }

  /// Protects: a host's clock that went back by weeks makes no wait that `poll` takes for another.
  // header: "Time until the next deadline, -1 for none; fits `poll`."
  @Test func theWaitFitsPollAfterTheClockWasSetBack() throws {
    let world = try World()
    try world.connect()
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    world.clock.move(ms: -60 * 86_400_000)
    let waitMs = try world.client.advance()
    #expect(waitMs > 0 && waitMs <= Int64(Int32.max))
  }

  /// The server never answers marks and answers all else: they are tried again within a minute
  /// and a half, however often they were lost.
  @Test func lostMarksAreTriedAgainSoon() throws {
    let world = try marking(20)
    world.lose("mark_read")
    try world.sync(marksRead: true)
    var tried: [Int64] = []
    var lastMs: Int64 = 0
    for second in 0..<1_500 {
      world.advance(ms: 1_000)
      let known = world.asked("mark_read").count
      _ = try world.client.advance()
      if second % 20 == 0 { try world.sync(.live) }
      try world.run()
      if world.asked("mark_read").count > known {
        tried.append(Int64(second) - lastMs)
        lastMs = Int64(second)
      }
    }
    #expect(tried.count > 20)
    #expect(tried.max() ?? .max <= 90)
    world.answerAll()
    try world.wait(ms: 100_000)
    #expect(try world.client.state().readsPending == 0)
  }
}
