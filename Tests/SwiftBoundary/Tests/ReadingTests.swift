/// The turn, and what is read of the cache.
import CTidelineShared
import Glibc
import Testing
import Tideline

@Suite struct ReadingTests {
  @Test func aSyncBringsAPageThatIsWhole() throws {
    let client = try Client()
    let sync = try client.sync("c")
    #expect(try client.nextFrame() == nil)
    #expect(try client.status(ofSync: sync).phase == tl_sync_phase(TL_SYNC_WAITING))
    try client.connected()
    let server = Server((1...3).map { message($0) })
    let requests = try server.serve(client)
    #expect(requests.map(\.type).contains("get_messages"))
    let status = try client.status(ofSync: sync)
    #expect(status.phase == tl_sync_phase(TL_SYNC_ENDED) && status.result == TL_OK)
    #expect(status.inserted == 3)
    #expect(try !client.cancel(sync: sync))

    // A page proves nothing of what is older, nor of the rest of the time at its end.
    #expect(try client.page("c").coverage().gaps == [0, 1])
    try client.sync("c", kind: TL_SYNC_OLDER)
    try server.serve(client)
    let page = try client.page("c")
    #expect(page.messages.map(\.id) == ["m1", "m2", "m3"])
    #expect(page.messages[0].payload == #""ahoj""#)
    #expect(page.messages[0].timeUs == 1_714_557_660_000_000)
    let coverage = try page.coverage()
    #expect(coverage.isWhole && coverage.gaps.isEmpty && coverage.knownCount == 3)
    #expect(coverage.stop == tl_stop(TL_STOP_START))
    // What is of another kind is not in it.
    #expect(page.changes.isEmpty && page.events.isEmpty && page.operations.isEmpty)
    #expect(try client.message("c", "m2").number == page.messages[1].number)
    let numbers = page.messages.map(\.number).sorted()
    #expect(try client.numbered("c", numbers[0]...numbers[2]).map(\.number) == numbers)
    let one = try client.numbered("c", numbers[1]...numbers[2], limit: 1)
    #expect(one.map(\.number) == [numbers[1]])
    let older = try client.page("c", from: TL_FROM_BEFORE, number: page.messages[1].number)
    #expect(older.messages.map(\.id) == ["m1"])
  }

  /// header: "every view of the batch points into it"
  @Test func theBlockHoldsEachView() throws {
    let client = try caughtUp([message(1)])
    let page = try client.page("c")
    let block = try page.block()
    let offset = try #require(try page.offsetOfFirstPayload())
    let payload = Array(#""ahoj""#.utf8)
    #expect(Array(block[offset..<offset + payload.count]) == payload)
  }

  @Test func anUnknownConversationHasAGap() throws {
    let page = try Client().page("nobody's")
    #expect(page.messages.isEmpty)
    let coverage = try page.coverage()
    #expect(!coverage.isWhole && coverage.gaps == [0])
  }

  @Test func changesAreToldOnce() throws {
    let client = try caughtUp([message(1)])
    let changes = try client.changes()
    #expect(changes.contains { $0.kind == TL_CHANGE_INSERTED && $0.conversation == "c" })
    let seen = try #require(changes.last).seq
    #expect(try client.state().change_seq == seen)
    #expect(try client.changes(after: seen).isEmpty)
    try client.receive(push(message(2)))
    #expect(try !client.changes(after: seen).isEmpty)
  }

  @Test func updatesBecomeEventsAndEntitiesAndAreRepliedTo() throws {
    var options = Client.Options()
    options.profile.capabilities = UInt32(TL_SERVER_ENVELOPE)
    let client = try Client(options)
    try client.connected()
    func update(_ ref: String, _ entity: String, _ item: String) -> String {
      """
      {"type":"update","payload":{"ref":"\(ref)","action":"new",\
      "payload":{"entity":"\(entity)","items":[\(item)]}}}
      """
    }
    try client.receive(update("r1", "sticker", #"{"n":1}"#))
    try client.receive(update("r2", "member", #"{"conversation_id":"c","user_id":"eva"}"#))
    let events = try client.events()
    #expect(events.map { Int($0.kind) } == [TL_EVENT_UNKNOWN, TL_EVENT_MEMBER])
    let event = try #require(events.first)
    #expect(event.kind == TL_EVENT_UNKNOWN && event.entity == "sticker")
    #expect(event.action == TL_ACTION_NEW && event.body.contains(#""n":1"#))
    #expect(try client.events(after: event.seq).count == 1)
    #expect(try client.entities(TL_ENTITY_MEMBER, in: "c").map(\.id) == ["eva"])
    #expect(try client.entities(TL_ENTITY_PROFILE).isEmpty)
    #expect(try client.state().replies_owed == 2)
    try Server().serve(client)
    #expect(try client.state().replies_owed == 0)
    #expect(try client.stats().replies == 2)
  }

  @Test func whatWasSetAsideSaysWhyAndCanBeRead() throws {
    let client = try Client()
    try client.connected()
    #expect(try client.quarantined().isEmpty)
    let bad = #"{"message_id":"m1","sender_id":"jan","created_at":"soon","payload":1}"#
    let status = try client.receive(
      #"{"type":"message_new","conversation_id":"c","message":\#(bad)}"#)
    #expect(status == Status(TL_QUARANTINED) && lastReason() == "created_at is not a time")
    let item = try #require(try client.quarantined(in: "c").first)
    #expect(item.item == bad && item.reason == "created_at is not a time")
    #expect(item.conversation == "c" && !item.isCut && item.size == UInt64(bad.utf8.count))
    #expect(try client.quarantined(after: item.seq).isEmpty)
    #expect(try client.quarantined(in: "d").isEmpty)
  }

  @Test func aRequestHasADeadlineOnceItWasSent() throws {
    let client = try Client()
    #expect(try client.advance() == nil)
    try client.connected()
    try client.sync("c")
    let frame = try #require(try client.nextFrame()?.id)
    #expect(try client.sent(frame))
    #expect(try !client.sent(999))
    #expect(try #require(try client.advance()) > 0)
  }

  @Test func theDescriptorIsReadableWhenThereIsNews() throws {
    let client = try Client()
    _ = try client.nextFrame()
    func isReadable() throws -> Bool {
      var waiting = pollfd(fd: try client.descriptor(), events: Int16(POLLIN), revents: 0)
      return poll(&waiting, 1, 0) == 1
    }
    #expect(try !isReadable())
    try client.connected()
    try client.sync("c")
    #expect(try isReadable())
    try Server().serve(client)
    #expect(try !isReadable())
  }

  @Test func aSyncIsCancelled() throws {
    let client = try Client()
    let sync = try client.sync("c")
    #expect(try client.cancel(sync: sync))
    #expect(try client.status(ofSync: sync).result == TL_E_CANCELLED)
    let cached = try client.sync("c", policy: TL_POLICY_CACHE_ONLY)
    #expect(try client.status(ofSync: cached).phase == tl_sync_phase(TL_SYNC_ENDED))
  }

  @Test func anAnswerSaysWhatItStandsOn() throws {
    let client = try caughtUp([message(1)])
    let sync = try client.sync("c", policy: TL_POLICY_MAX_AGE, ageUs: 3_600_000_000)
    let young = try client.status(ofSync: sync)
    #expect(young.phase == tl_sync_phase(TL_SYNC_ENDED) && young.basis == tl_basis(TL_BASIS_CACHE))
    #expect(young.as_of_us > 0)
    let first = try client.sync("c", policy: TL_POLICY_NETWORK_FIRST, limitMs: 60_000)
    try Server([message(1)]).serve(client)
    #expect(try client.status(ofSync: first).basis == tl_basis(TL_BASIS_NETWORK))
  }

  @Test func whatTheServerCanGiveAgainIsCleared() throws {
    let client = try caughtUp([message(1), message(2)])
    try client.forget("c", "m1")
    #expect(try client.messages("c").map(\.id) == ["m2"])
    #expect(try client.explain("c", "m1").contains(#""reason":"erased""#))
    try client.connectionIsDead()
    try client.drop("c", "m2")
    #expect(try client.messages("c").isEmpty)
    try client.drop("c")
    try client.draft("c", "not lost")
    try client.clear()
    #expect(try client.messages("c").isEmpty)
    #expect(try client.conversation("c").draft == "not lost")
    try client.disconnected()
    #expect(try client.state().phase == tl_phase(TL_PHASE_OFFLINE))
  }
}
