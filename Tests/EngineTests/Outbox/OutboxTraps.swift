/// Traps of sending, each by its number, and the interleaving that a chat on a bad
/// network meets.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct OutboxTraps {
  /// A message is sent before those that came earlier are known: one row that changes
  /// and two that are new, and the row on screen is the same.
  @Test func t23_remoteAndLocalUpdatesInterleave() throws {
    let world = try World.exact {
      $0.idempotentSends = true
    } profile: {
      $0.capabilities = [.idempotentSend]
    }
    world.post(60)
    try world.connect()
    let screen = try world.window()
    try world.client.disconnected()
    world.post(2)
    world.advance(ms: 1_000)
    world.lose("get_messages")
    try world.client.connected()
    let (operation, number) = try world.say("mine")
    try screen.poll()
    #expect(screen.numbers.last == number)
    let shown = screen.numbers
    #expect(try world.states().last == .queued)
    let before = screen.diffs.count
    // The answer comes first, and then what was missed.
    try world.run()
    #expect(try world.standing(operation) == .done)
    try screen.poll()
    // One change of state, and nothing else.
    #expect(try world.states().last == .confirmed)
    #expect(screen.diffs[before...].flatMap(\.ops) == [DiffOp(.update, row: shown.count - 1)])
    #expect(screen.numbers == shown)
    world.answerAll()
    try world.breakConnection()
    try screen.settle(world)
    #expect(screen.numbers.last == number)
    #expect(screen.numbers.count == shown.count + 2)
    let ops = screen.diffs[before...].flatMap(\.ops)
    #expect(ops.filter { $0.kind == .insert }.map(\.count).reduce(0, +) == 2)
    // What is verified again on the new connection may look different in its place.
    #expect(ops.allSatisfy { $0.kind == .insert || $0.kind == .update })
    #expect(try screen.ids() == Array(world.truth().suffix(screen.numbers.count)))
  }

  /// The row keeps its identity where the server puts it elsewhere: a move, no removal.
  @Test func t23_aPendingRowMoves() throws {
    let world = try World.exact()
    world.post(60)
    try world.connect()
    let screen = try world.window()
    let (_, number) = try world.say("mine")
    let frame = try #require(try world.client.nextFrame())
    let answers = world.server.handle(frame.bytes, user: "me")
    world.advance(ms: 1_000)
    world.post(1)
    try screen.poll()
    #expect(screen.numbers.last == number)
    for answer in answers { _ = try world.client.receive(answer) }
    try world.sync()
    try screen.settle(world)
    #expect(screen.numbers.dropLast().last == number)
    #expect(!screen.diffs.flatMap(\.ops).contains { $0.kind == .remove })
  }

  /// The push of a send overtakes its answer, twice.
  @Test func t24_anEchoMakesNoSecondRow() throws {
    let world = try World.exact()
    world.post(60)
    try world.connectListening()
    let screen = try world.window()
    let (_, number) = try world.say("mine")
    let frame = try #require(try world.client.nextFrame())
    let answers = world.server.handle(frame.bytes, user: "me")
    try world.run()
    for answer in answers + answers { _ = try world.client.receive(answer) }
    try screen.settle(world)
    #expect(screen.numbers.filter { $0 == number }.count == 1)
    #expect(try screen.ids().filter { $0 == world.truth().last }.count == 1)
    #expect(screen.numbers.last == number)
  }

  /// What this user sent from elsewhere is never taken for what is pending here.
  @Test(arguments: [true, false])
  func t24_anotherDevicesEqualTextIsAnotherMessage(_ isInFlight: Bool) throws {
    let world = try World.forgetful()
    world.post(110)
    try world.connectListening()
    try world.sync()
    let (operation, number) = try world.say("hello", as: "here")
    if isInFlight { _ = try world.client.nextFrame() }
    _ = world.server.handle(
      Array(
        """
        {"type":"send_message","request_id":"x","conversation_id":"room",\
        "client_id":"there","payload":"hello"}
        """.utf8), user: "me")
    if !isInFlight { try world.disconnect() }
    try world.connectListening()
    try world.sync()
    let rows = try world.seen().filter { $0.text == "hello" }
    if isInFlight {
      #expect(try world.standing(operation) == .unknown)
      #expect(rows.count == 2)
      #expect(rows.last?.number == number)
    } else {
      #expect(try world.standing(operation) == .done)
      #expect(world.served() == ["hello", "hello"])
      #expect(rows.count == 2)
    }
  }

  /// Nor where that other device gives no client ids: a send that can be told again need
  /// not be guessed at, and goes out until it is answered.
  @Test(arguments: [true, false])
  func t24_anEqualTextWithoutAClientIDIsAnotherMessage(_ isPushed: Bool) throws {
    let world = try World.idempotent()
    world.post(110)
    try world.connectListening()
    try world.sync()
    let (operation, number) = try world.say("hello", as: "here")
    _ = try world.client.nextFrame()
    if !isPushed { try world.disconnect() }
    world.advance(ms: 1_000)
    let other = world.server.post(
      conversation: world.room, sender: "me", payload: "\"hello\"", id: nil, stampUs: nil,
      lateUs: nil)
    if isPushed { try world.run() }
    if isPushed { #expect(try world.standing(operation) == .inFlight) }
    try world.disconnect()
    try world.connectListening()
    try world.sync()
    try world.run()
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["hello", "hello"])
    let rows = try world.seen().filter { $0.text == "hello" }
    #expect(rows.count == 2)
    #expect(rows.map { $0.id == other } == [true, false])
    #expect(rows.last?.number == number)
  }

  /// A time-out is neither a failure nor a reason to send twice.
  @Test func t25_aTimeOutIsUnknownAndSettlesItself() throws {
    let world = try World.forgetful()
    world.post(110)
    try world.connect()
    try world.sync()
    world.lose("send_message")
    let (operation, number) = try world.say("hello")
    try world.run()
    world.answerAll()
    try world.wait(ms: 60_000)
    #expect(try world.standing(operation) == .done)
    #expect(world.served() == ["hello"])
    #expect(world.asked("send_message").count == 1)
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [number])
  }

  /// A key that comes late: the message had its place all the time.
  @Test func t26_aSealedMessageKeepsItsPlaceAndOpensLater() throws {
    let hasKey = Key()
    let world = try World.idempotent { config in
      config.open = { sealed in
        guard hasKey.isThere else { return .notYet }
        return .plain(Array(sealed.frame[sealed.payload]), control: false, event: false)
      }
    }
    world.post(60)
    try world.connect()
    try world.sync()
    let sealed = try world.seen()
    #expect(sealed.count >= 50 && sealed.allSatisfy { $0.flags & (1 << 6) != 0 })
    let before = try world.client.state().changeSeq
    #expect(try world.client.reopenPayloads(conversation: nil) == 0)
    hasKey.come()
    #expect(try world.client.reopenPayloads(conversation: Array("other".utf8)) == 0)
    #expect(try world.client.reopenPayloads(conversation: nil) == sealed.count)
    let opened = try world.seen()
    #expect(opened.map(\.number) == sealed.map(\.number))
    #expect(opened.allSatisfy { $0.flags & (1 << 6) == 0 })
    #expect(try world.client.state().changeSeq > before)
    #expect(try world.client.reopenPayloads(conversation: nil) == 0)
  }

  /// What cannot be sealed yet waits, and lets others pass; what was sealed once is sent
  /// again as it is.
  @Test func t26_anUnsealedSendWaitsForItsKey() throws {
    let hasKey = Key()
    let world = try World.idempotent { config in
      config.seal = { sealable in
        guard hasKey.isThere else { return .notYet }
        hasKey.use()
        return .sealed(Array("\"sealed \(hasKey.uses)\"".utf8))
      }
    }
    try world.connect()
    let (operation, number) = try world.say("secret")
    #expect(try world.waiting(operation) == .seal)
    try world.run()
    #expect(world.served().isEmpty)
    hasKey.come()
    #expect(try world.client.reopenPayloads(conversation: nil) == 1)
    world.lose("send_message")
    try world.run()
    world.answerAll()
    try world.breakConnection()
    try world.run()
    #expect(world.served() == ["sealed 1"])
    #expect(world.asked("send_message").count == 2)
    #expect(try world.seen().map(\.number) == [number])
    #expect(hasKey.uses == 1)
  }

  /// Marks outlive the process: each is sent until it is confirmed, and never after.
  @Test func marksAreSentOnceAfterARestart() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    world.post(130)
    try world.connect()
    try world.sync()
    // What this user wrote, and what was read already, is never told.
    let mine = world.server.post(
      conversation: world.room, sender: "me", payload: "\"mine\"", id: nil, stampUs: nil,
      lateUs: nil)
    try world.sync()
    let named = Array(try world.cached().suffix(51))
    let others = named.filter { $0 != mine }
    #expect(others.count == 50)
    let ids = named.map { Array($0.utf8) }
    try world.client.disconnected()
    try world.client.markRead(conversation: Array("room".utf8), ids: ids)
    try world.client.markDelivered(conversation: Array("room".utf8), ids: ids)
    try folder.kill(world)
    world.reset()
    // The first answer is lost, and the process dies once more.
    world.alter = { request, answer in request.contains("\"type\":\"mark_") ? nil : answer }
    try world.client.connected()
    try world.run()
    try folder.kill(world)
    world.answerAll()
    try world.client.connected()
    try world.run()
    // One request of marks at a time: the second one waited for the first.
    for (verb, count) in [("mark_read", 2), ("mark_delivered", 1)] {
      let asked = world.asked(verb)
      #expect(asked.count == count)
      #expect(asked.allSatisfy { Self.named($0) == Set(others) })
    }
    try folder.kill(world)
    try world.client.connected()
    try world.sync()
    #expect(world.asked("mark_read").count == 2)
    #expect(world.asked("mark_delivered").count == 1)
  }
}

extension OutboxTraps {
  /// The ids in a request of marks.
  private static func named(_ request: String) -> Set<String> {
    let object = try? JSONSerialization.jsonObject(with: Data(request.utf8)) as? [String: Any]
    return Set(object?["message_ids"] as? [String] ?? [])
  }
}

/// A key that comes when the test says so.
final class Key: @unchecked Sendable {
  private let lock = NSLock()
  private var there = false
  private var used = 0

  var isThere: Bool { lock.withLock { there } }
  var uses: Int { lock.withLock { used } }
  func come() { lock.withLock { there = true } }
  func use() { lock.withLock { used += 1 } }
}
