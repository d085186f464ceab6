/// What is asked more than once: the last read marker, and subscriptions.
import Engine
import ReferenceServer
import Testing

@Suite struct OutboxMarkers {
  private func synced() throws -> (World, [String]) {
    let world = try World.idempotent()
    world.post(110)
    try world.connect()
    try world.sync()
    return (world, try world.cached())
  }

  private func told(_ world: World) -> [String] {
    world.asked("mark_last_read").map { request in
      String(request.split(separator: "\"message_id\":\"").last?.prefix { $0 != "\"" } ?? "")
    }
  }

  @Test func theServersMarkerIsNotTakenBack() throws {
    let (world, ids) = try synced()
    try world.act("mark_last_read", ids[40])
    try world.run()
    let lower = try world.act("mark_last_read", ids[20])
    #expect(try world.standing(lower) == .done)
    try world.run()
    #expect(told(world) == [ids[40]])
    #expect(try world.open().isEmpty)
    try world.act("mark_last_read", ids[41])
    try world.run()
    #expect(told(world) == [ids[40], ids[41]])
  }

  /// What was called read and is taken back before it was told is unread again.
  @Test(arguments: [false, true]) func aMarkerThatIsTakenBackIsUnreadAgain(_ isTold: Bool) throws {
    let (world, ids) = try synced()
    try world.sync(.older, want: 1_000)
    let all = try world.cached()
    if isTold {
      try world.act("mark_last_read", all[40])
      try world.wait(ms: 2_000)
    }
    func unread() throws -> (Int, Bool) {
      let row = try #require(try world.client.conversation(Array("room".utf8)).rows.first)
      return (row.unread, row.flags & ConversationFlags.unreadExact != 0)
    }
    let before = try unread()
    #expect(before == (isTold ? 69 : 110, true))
    let screen = try world.window(count: 20)
    try world.client.disconnected()
    let flags = try world.page().rows.map(\.flags)
    let mark = try world.act("mark_last_read", try #require(ids.last))
    #expect(try unread() == (0, true))
    try screen.poll()
    #expect(try world.client.cancel(operation: mark))
    // What the server counted may be another number now.
    #expect(try unread() == (before.0, !isTold))
    #expect(try world.page().rows.map(\.flags) == flags)
    // A window hears of the rows that are unread again.
    #expect(try screen.window.poll() != nil)
    // And what is told next is no further than what the server has and the user says now.
    try world.act("mark_last_read", all[60])
    #expect(try unread() == (49, !isTold))
    world.reset()
    try world.connect()
    try world.run()
    #expect(told(world) == [all[60]])
    try world.wait(ms: 2_000)
    #expect(try unread() == (49, true) || isTold)
  }

  /// Nor by one that waited for the answer to a further one.
  @Test(arguments: [false, true])
  func aMarkerBehindAFurtherOneWaitsForItsAnswer(_ isRefused: Bool) throws {
    let (world, ids) = try synced()
    try world.act("mark_last_read", ids[40])
    let frame = try #require(try world.client.nextFrame())
    let lower = try world.act("mark_last_read", ids[20])
    #expect(try world.standing(lower) == .queued)
    if isRefused { world.server.failNext("forbidden", verb: "mark_last_read") }
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    try world.run()
    #expect(try world.standing(lower) == .done)
    #expect(told(world) == (isRefused ? [ids[20]] : []))
  }

  /// One that was never sent tells nothing of what the server has.
  @Test func aMarkerThatWasTakenBackIsToldWhenItComesAgain() throws {
    let (world, ids) = try synced()
    try world.client.disconnected()
    let first = try world.act("mark_last_read", ids[40])
    #expect(try world.client.cancel(operation: first))
    try world.act("mark_last_read", ids[30])
    try world.act("mark_last_read", ids[40])
    try world.act("mark_last_read", ids[35])
    try world.connect()
    try world.run()
    #expect(told(world) == [ids[40]])
  }

  /// A message that is not stored here stands nowhere: both are told.
  @Test func anUnknownMarkerTakesNoKnownOnesPlace() throws {
    let (world, ids) = try synced()
    try world.client.disconnected()
    let known = try world.act("mark_last_read", ids[40])
    let unknown = try world.act("mark_last_read", "nowhere")
    #expect(try world.act("mark_last_read", "nowhere") == unknown)
    try world.connect()
    try world.run()
    #expect(told(world) == [ids[40], "nowhere"])
    #expect(try world.standing(known) == .done)
    #expect(try world.standing(unknown) == .refused)
  }

  /// Another device has read further: so the server says.
  @Test func whatTheServerHasIsNotTakenBackEither() throws {
    let (world, ids) = try synced()
    world.server.moveReadMarker(conversation: world.room, id: ids[40], user: "me")
    try world.perform(#"{"type":"get_conversation","conversation_id":"room"}"#)
    try world.run()
    let lower = try world.act("mark_last_read", ids[20])
    try world.run()
    #expect(try world.standing(lower) == .done)
    #expect(told(world).isEmpty)
  }

  /// The message that the user read up to is deleted before the server hears of it: all below is
  /// read all the same, here and there.
  @Test(arguments: [false, true])
  func aMarkOfADeletedMessageIsOfTheOneBelow(_ isHeard: Bool) throws {
    let (world, ids) = try synced()
    try world.sync(.conversations)
    if !isHeard { try world.client.disconnected() }
    let mark = try world.act("mark_last_read", ids[ids.count - 1])
    world.server.delete(conversation: world.room, ids: Array(ids.suffix(2)))
    if !isHeard { try world.connect() }
    try world.run()
    try world.wait(ms: 4_000)
    #expect(Set(told(world)) == Set([ids.count - 1, ids.count - 2, ids.count - 3].map { ids[$0] }))
    #expect(try world.standing(mark) == .done)
    #expect(world.server.unread(world.room, of: "me").isEmpty)
    let row = try #require(try world.client.conversation(Array("room".utf8)).rows.first)
    #expect(row.unread == 0)
    // The server goes on from the message below, and its counts are taken.
    try world.sync()
    world.post(20)
    try world.client.disconnected()
    try world.connect()
    try world.sync(.conversations)
    let then = try #require(try world.client.conversation(Array("room".utf8)).rows.first)
    #expect(then.unread == 20)
    #expect(then.flags & ConversationFlags.unreadExact != 0)
  }

  /// Where the server has all that was read, nothing is refused.
  @Test func aMarkThatNothingIsLeftOfIsDone() throws {
    let (world, ids) = try synced()
    try world.act("mark_last_read", ids[ids.count - 2])
    try world.run()
    let mark = try world.act("mark_last_read", ids[ids.count - 1])
    world.server.delete(conversation: world.room, ids: [ids[ids.count - 1]])
    try world.run()
    #expect(told(world) == [ids[ids.count - 2], ids[ids.count - 1]])
    #expect(try world.standing(mark) == .done)
  }

  /// What is sent behind a mark does not wait for its tries.
  @Test func aSendBehindAMarkOfADeletedMessageGoesOutAtOnce() throws {
    let (world, ids) = try synced()
    try world.act("mark_last_read", ids[ids.count - 1])
    try world.perform(
      #"{"type":"send_message","conversation_id":"room","payload":"x","client_id":"c"}"#)
    world.server.delete(conversation: world.room, ids: Array(ids.suffix(3)))
    try world.run()
    #expect(told(world).count == 4)
    #expect(world.asked("send_message").count == 1)
  }

  /// What the server refuses otherwise it counts without, and is asked.
  @Test func aMarkThatIsRefusedMakesTheNumberInexact() throws {
    let (world, ids) = try synced()
    try world.sync(.conversations)
    func isExact() throws -> Bool {
      let row = try #require(try world.client.conversation(Array("room".utf8)).rows.first)
      return row.flags & ConversationFlags.unreadExact != 0
    }
    #expect(try isExact())
    world.server.failNext("forbidden", verb: "mark_last_read")
    try world.act("mark_last_read", ids[ids.count - 1])
    try world.run()
    #expect(try !isExact())
    world.reset()
    try world.wait(ms: 4_000)
    #expect(world.asked("get_conversation").count == 1)
  }

  // MARK: Subscriptions

  /// Ended while it is on its way, or while it waits: it stays ended.
  @Test(arguments: 0..<3)
  func aSubscriptionThatWasEndedIsNotAskedAgain(_ kind: Int) throws {
    let world = try World.idempotent()
    world.post(3)
    try world.connect()
    try world.sync()
    if kind == 2 {
      world.server.failNext("rate_limited", retryAfterMs: 5_000, verb: "subscribe")
    }
    let subscribe = try world.perform(#"{"type":"subscribe","conversation_id":"room"}"#)
    var answers: [[UInt8]] = []
    if kind > 0 {
      let frame = try #require(try world.client.nextFrame())
      answers = world.server.handle(frame.bytes, user: "me")
    }
    let end = try world.perform(#"{"type":"unsubscribe","conversation_id":"room"}"#)
    for answer in answers { _ = try world.client.receive(answer) }
    try world.wait(ms: 60_000)
    #expect(try world.standing(end.operation) == .done)
    // Not sent at all where it was not on its way, and not a second time where it was.
    if kind == 1 {
      #expect(try world.standing(subscribe.operation) == .done)
    } else {
      #expect(throws: Failure.noOperation) { try world.standing(subscribe.operation) }
    }
    #expect(world.asked("subscribe").isEmpty)
    try world.breakConnection()
    try world.run()
    #expect(world.asked("subscribe").isEmpty)
    // And once more, which counts again.
    try world.perform(#"{"type":"subscribe","conversation_id":"room"}"#)
    try world.run()
    try world.breakConnection()
    try world.run()
    #expect(world.asked("subscribe").count == 2)
  }
}
