/// A server, or a proxy before it, that takes a request and closes the connection.
///
/// Rules protected: such a server is asked again after pauses that grow, a sync ends after six
/// connections without an answer, and nothing that the user did is lost.
import Base
import ReferenceServer
import Testing

@testable import Engine

@Suite struct ClosingServers {
  /// One client of any scheme, whose host connects again at once.
  struct Device {
    let client: Client
    let clock: World.ManualClock
    let run: () throws -> Void

    init(_ world: World) {
      client = world.client
      clock = world.clock
      run = { try world.run() }
    }

    init(_ host: LogHost) {
      client = host.client
      clock = host.clock
      run = { try host.run() }
    }

    static func all() throws -> [Device] {
      let worlds = try [CapableKind.all[0], CapableKind.all[7]].map { kind in
        let world = try kind.world()
        world.post(30)
        return Device(world)
      }
      let host = try LogHost()
      for _ in 0..<30 { host.post() }
      return worlds + [Device(host)]
    }

    /// The next frame, and how long it was waited for; nil where none is to come.
    func frame() throws -> (request: String, waitedMs: Int64)? {
      var waited: Int64 = 0
      for _ in 0..<100 {
        if let frame = try client.nextFrame() {
          _ = try client.frameSent(frame.id)
          return (String(decoding: frame.bytes, as: UTF8.self), waited)
        }
        let ms = max(try client.advance(), 0)
        waited += ms
        clock.move(ms: ms)
      }
      return nil
    }

    /// A connection that ends at its first request; how long that was waited for.
    func cut() throws -> Int64? {
      try client.connected()
      let waited = try frame()?.waitedMs
      try client.disconnected()
      return waited
    }
  }

  /// The first two requests go out at once; from then on each waits longer, by `backoffMs`.
  private func expectGrowing(_ waits: [Int64]) {
    #expect(waits.prefix(2).allSatisfy { $0 == 0 }, "\(waits)")
    for (attempt, waited) in waits.dropFirst(2).enumerated() {
      let base = min(Int64(1_000) << Int64(min(attempt, 6)), 60_000)
      #expect((base * 3 / 4...base * 5 / 4).contains(waited), "\(waits)")
    }
  }

  /// A sync ends after six connections, and says that there was no answer.
  @Test func aSyncEnds() throws {
    for device in try Device.all() {
      let sync = try device.client.sync(SyncRequest(conversation: Array("room".utf8)))
      var waits: [Int64] = []
      for _ in 0..<400 {
        guard let waited = try device.cut() else { break }
        waits.append(waited)
      }
      #expect(waits.count == 6, "\(waits.count)")
      expectGrowing(waits)
      let status = try device.client.syncStatus(sync)
      #expect(status.phase == .ended && status.trouble == .timeout)
    }
  }

  /// One behind others that hold it back ends with them: none of them is asked for ever.
  @Test func allThatWaitEnd() throws {
    let device = try Device.all()[0]
    _ = try device.client.perform(
      Array(#"{"type":"subscribe","conversation_id":"room"}"#.utf8), PerformOptions())
    let syncs = try ["room", "other", "third"].map { name in
      try device.client.sync(SyncRequest(conversation: Array(name.utf8)))
    }
    for _ in 0..<6 { _ = try device.cut() }
    for sync in syncs { #expect(try device.client.syncStatus(sync).trouble == .timeout) }
  }

  /// A window asks anew on each connection; the pauses grow all the same, and it says why.
  @Test func aWindowIsPaced() throws {
    for device in try Device.all() {
      let window = try device.client.openWindow(
        WindowConfig(conversation: Array("room".utf8), at: .latest, count: 20, rowsMax: 100))
      var waits: [Int64] = []
      for _ in 0..<12 {
        _ = try window.poll()
        waits.append(try #require(try device.cut()))
      }
      expectGrowing(waits)
      _ = try window.poll()
      #expect(try window.state().trouble == .timeout)
      // The server is well again: the window is, too, without anything the user does.
      try device.client.connected()
      for _ in 0..<10 {
        let ms = try device.client.advance()
        if ms > 0 { device.clock.move(ms: ms) }
        try device.run()
        _ = try window.poll()
      }
      #expect(try window.state().basis == .network)
      #expect(try window.state().rowCount >= 19)
    }
  }

  /// A send that may be repeated waits, and arrives once the server answers.
  @Test func aRepeatableSendIsPacedAndKept() throws {
    let world = try World.idempotent()
    let device = Device(world)
    let (operation, _) = try world.say("hello")
    let waits = try (0..<12).map { _ in try #require(try device.cut()) }
    expectGrowing(waits)
    #expect(try world.standing(operation) == .queued)
    try world.connect()
    #expect(try world.waiting(operation) == .retry)
    #expect(try #require(try world.client.operation(operation).rows.first).retryMs > 40_000)
    try world.wait(ms: 120_000)
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["hello"])
  }

  /// Another send becomes unknown at once, and what is behind it waits; both are there at the end.
  @Test func anotherSendIsUnknown() throws {
    let world = try World.forgetful(tellsClientIDs: false)
    let device = Device(world)
    let (operation, _) = try world.say("hello")
    try world.say("behind")
    _ = try device.cut()
    #expect(try world.standing(operation) == .unknown)
    for _ in 0..<12 { _ = try device.cut() }
    #expect(try world.standing(operation) == .unknown)
    try world.connect()
    try world.wait(ms: 300_000)
    #expect(try world.texts() == ["behind", "hello"] || world.served() == ["behind"])
  }

  /// Marks are paced by the same rule.
  @Test func marksArePaced() throws {
    let world = try CapableKind.all[0].world()
    world.post(10)
    try world.connect()
    try world.sync()
    try world.disconnect()
    let device = Device(world)
    let ids = try world.cached().map { Array($0.utf8) }
    try world.client.markRead(conversation: Array("room".utf8), ids: ids)
    let waits = try (0..<8).map { _ in try #require(try device.cut()) }
    expectGrowing(waits)
  }

  /// Any answer, an error too, ends the pauses: a network that is merely bad is asked at once.
  @Test func anAnswerEndsThePauses() throws {
    let world = try CapableKind.all[0].world()
    world.post(30)
    let device = Device(world)
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    for _ in 0..<3 { _ = try device.cut() }
    try world.connect()
    let frame = try #require(try device.frame())
    world.server.failNext("unavailable")
    for answer in world.server.handle(Array(frame.request.utf8), user: "me") {
      _ = try world.client.receive(answer)
    }
    try world.disconnect()
    #expect(try device.cut() == 0)
    #expect(try device.cut() == 0)
  }

  /// Time spent without a connection counts as a pause.
  @Test func nobodyWaitsLongerThanThePause() throws {
    let device = try Device.all()[0]
    _ = try device.client.sync(SyncRequest(conversation: Array("room".utf8)))
    for _ in 0..<5 { _ = try device.cut() }
    device.clock.move(ms: 60_000)
    #expect(try device.cut() == 0)
  }

  /// A connection that is unusable after a time-out counts as one without an answer.
  @Test func timeOutsCountAsWell() throws {
    let world = try CapableKind.all[0].world { $0.echoesRequestIDs = false }
    world.post(30)
    let device = Device(world)
    let syncs = try ["room", "other"].map { name in
      try device.client.sync(SyncRequest(conversation: Array(name.utf8)))
    }
    var waits: [Int64] = []
    for round in 0..<6 {
      guard round.isMultiple(of: 2) else {
        waits.append(try #require(try device.cut()))
        continue
      }
      try world.connect()
      waits.append(try #require(try device.frame()).waitedMs)
      while try !world.client.state().reconnectWanted {
        device.clock.move(ms: max(try world.client.advance(), 1))
      }
    }
    expectGrowing(waits)
    for sync in syncs { #expect(try world.client.syncStatus(sync).trouble == .timeout) }
  }

  /// A request that alone ends the connection, where others are answered, is asked six times.
  @Test func oneRequestThatEndsTheConnectionIsGivenUp() throws {
    let world = try CapableKind.all[0].world()
    world.post(30)
    let device = Device(world)
    _ = try world.perform(#"{"type":"subscribe","conversation_id":"room"}"#)
    try world.connect()
    try world.run()
    try world.disconnect()
    let sync = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    for _ in 0..<6 {
      #expect(try world.client.syncStatus(sync).phase != .ended)
      try world.connect()
      while let frame = try device.frame(), !frame.request.contains("get_messages") {
        for answer in world.server.handle(Array(frame.request.utf8), user: "me") {
          _ = try world.client.receive(answer)
        }
      }
      try world.disconnect()
    }
    #expect(try world.client.syncStatus(sync).trouble == .timeout)
  }

  /// Protects: a server that answers one request and closes at the next is not asked without end.
  @Test func oneAnswerAConnectionIsBounded() throws {
    let world = try CapableKind.all[0].world()
    world.post(200)
    let screen = try TestScreen(world)
    let device = Device(world)
    var waited: Int64 = 0
    for _ in 0..<30 {
      try world.client.connected()
      try screen.poll()
      for isAnswered in [true, false] {
        guard let next = try device.frame() else { break }
        waited += next.waitedMs
        if !isAnswered { break }
        for answer in world.server.handle(Array(next.request.utf8), user: "me") {
          _ = try world.client.receive(answer)
        }
        try screen.poll()
        world.post(1)
      }
      try world.client.disconnected()
    }
    // Twelve a minute, and not one more.
    #expect(waited >= 90_000)
  }
}
