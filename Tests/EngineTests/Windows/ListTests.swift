/// The list of conversations: what it shows, in which order, and what changes it.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct ListTests {
  @Test func showsConversationsTheLastActiveFirst() throws {
    let world = try World.lossless()
    world.rooms(3)
    try world.connectListening()
    let list = try TestList(world.client)
    #expect(try list.poll() == nil)
    try list.settle(world)
    // The first one has no message, so its making counts.
    #expect(try list.ids() == ["r2", "r1", "r0", "room"])
    let row = try list.row("r1")
    #expect(row.title == "Room 1" && row.unread == 1 && row.isExact)
    #expect(row.last == world.truth(in: "r1").last && row.row.memberCount == 2)
    #expect(row.row.activityUs == row.message?.timeUs)
    #expect(!row.row.body.isEmpty && row.lastRead.isEmpty && row.row.flags == 2)
    var state = try list.list.state()
    #expect(state.unread == 3 && state.isUnreadExact && state.isWhole && state.trouble == nil)
    // A message lifts its conversation, in one step each.
    let id = world.postMessage("again", in: "r0")
    try world.run()
    let diff = try #require(try list.poll())
    #expect(diff.ops == [DiffOp(.move, row: 0, from: 2), DiffOp(.update, row: 0)])
    #expect(try list.row("r0").last == id && list.row("r0").unread == 2)
    state = try list.list.state()
    #expect(state.unread == 4 && state.isUnreadExact)
    world.server.rename(conversation: "r2", title: "Ü \"2\"")
    try world.run()
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 1)])
    #expect(try list.row("r2").title == "Ü \"2\"")
    world.server.deleteConversation("r1")
    try world.run()
    #expect(try list.poll()?.ops == [DiffOp(.remove, row: 2)])
    #expect(try list.list.find(Array("r1".utf8)) == nil)
    #expect(try list.list.state().unread == 3)
  }

  @Test func aReadFromTheCacheIsTheSame() throws {
    let world = try World.lossless()
    world.rooms(5)
    try world.connect()
    let list = try TestList(world.client)
    try list.settle(world)
    let page = try world.client.conversations(offset: 1, limit: 3)
    #expect(page.rows.map { TestList.Row($0, page) } == Array(try list.rows()[1...3]))
    #expect(try world.client.conversations(offset: 6, limit: 9).rows.isEmpty)
    let one = try world.client.conversation(Array("r3".utf8))
    #expect(one.rows.map { TestList.Row($0, one) } == [try list.row("r3")])
    #expect(throws: Failure.noConversation) { try world.client.conversation(Array("no".utf8)) }
    #expect(throws: Failure.invalid("limit is not between 1 and 10,000")) {
      try world.client.conversations(offset: -1, limit: 1)
    }
    #expect(throws: Failure.invalid("rows_max is not between 100 and 200,000")) {
      try world.client.openList(ListConfig(rowsMax: 99))
    }
  }

  /// Own messages of another device, all of one printed second: none leaves the list's order or
  /// its counts different, and each one is heard of.
  @Test func eachMessageOfOneSecondIsHeardOf() throws {
    let world = try World.lossless()
    world.rooms(2)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    world.advance(ms: 1_000)
    for index in 0..<60 {
      let id = world.server.post(
        conversation: "r1", sender: "me", payload: "\"own\"", id: String(format: "z%02d", index),
        stampUs: nil, lateUs: nil)
      try world.run()
      #expect(try list.poll() != nil, "\(id)")
      #expect(try list.row("r1").last == id)
    }
    #expect(try list.poll() == nil)
  }

  /// A list that was opened on an empty file, and did not look before the cache was cleared.
  @Test func whatIsToBeSentOutlivesTheCache() throws {
    let world = try World(profile: Profile())
    let list = try TestList(world.client)
    _ = try list.poll()
    #expect(try world.client.conversations(offset: 0, limit: 9).rows.isEmpty)
    let request =
      #"{"type":"send_message","conversation_id":"c1","client_id":"one","payload":"x"}"#
    _ = try world.client.perform(Array(request.utf8))
    try world.client.clear()
    #expect(try list.poll() != nil)
    #expect(try list.ids() == ["c1"])
    #expect(try world.client.conversations(offset: 0, limit: 9).rows.count == 1)
    #expect(try list.poll() == nil)
  }

  @Test func aLongListComesInPagesAndIsAskedOnce() throws {
    let world = try World(profile: Profile())
    world.rooms(130)
    try world.connect()
    let list = try TestList(world.client)
    let other = try TestList(world.client)
    let sync = try world.client.sync(SyncRequest(kind: .conversations))
    try list.settle(world)
    try other.settle(world)
    #expect(world.requests.count == 3)
    #expect(world.requests.allSatisfy { $0.contains("\"include_last_message\":true") })
    #expect(try world.client.syncStatus(sync).phase == .ended)
    #expect(try world.client.syncStatus(sync).received == 131)
    #expect(try list.ids() == (0..<130).reversed().map { "r\($0)" } + ["room"])
    #expect(try other.ids() == list.ids())
    // By itself on each connection.
    world.reset()
    try world.disconnect()
    #expect(try list.list.poll() == nil && list.list.state().isWhole == false)
    try world.connect()
    try list.settle(world)
    #expect(world.requests.count == 3)
    #expect(try list.list.state().isWhole)
  }

  @Test func whatShiftsWhileItIsReadIsAskedAgain() throws {
    let world = try World(profile: Profile())
    world.rooms(120)
    try world.connect()
    // What stood at the end moves to the top, past the pages that were read.
    world.before = { index, _ in
      if index == 1 { for room in 0..<3 { world.postMessage("up", in: "r\(room)") } }
    }
    let list = try TestList(world.client)
    try list.settle(world)
    #expect(world.requests.count == 6)
    #expect(try list.list.state().isWhole && list.ids().count == 121)
    #expect(try list.ids().prefix(3) == ["r2", "r1", "r0"])
  }

  @Test func trouble() throws {
    let world = try World(profile: Profile())
    world.rooms(3)
    try world.connect()
    world.server.failNext("forbidden", verb: "get_conversations")
    let list = try TestList(world.client)
    try list.settle(world)
    #expect(try list.list.state().trouble == .refused)
    #expect(try list.list.state().isWhole == false)
    world.server.failNext("unavailable", verb: "get_conversations")
    let sync = try world.client.sync(SyncRequest(kind: .conversations))
    try world.run()
    world.advance(ms: 60_000)
    _ = try world.client.advance()
    try list.settle(world)
    #expect(try world.client.syncStatus(sync).trouble == nil)
    #expect(try list.ids().count == 4)
    list.list.close()
    list.list.close()
    #expect(throws: Failure.closed) { try list.list.poll() }
  }

  @Test func aListOfTheCacheAsksNothing() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    world.rooms(3)
    try world.connect()
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    try world.run()
    try world.reopen()
    world.reset()
    var config = ListConfig()
    config.isCacheOnly = true
    let list = try TestList(world.client, config)
    try list.settle(world)
    #expect(world.requests.isEmpty)
    #expect(try list.ids() == ["r2", "r1", "r0", "room"])
    #expect(try list.rows().map(\.unread) == [1, 1, 1, 0])
    #expect(try list.rows().allSatisfy(\.isExact))
    // All is counted, but whether these are all is not known on this connection.
    #expect(try list.list.state().unread == 3 && list.list.state().isUnreadExact == false)
    world.client.close()
  }

  @Test func rowsBeyondTheLimitAreCountedAndComeBack() throws {
    let world = try World.lossless()
    world.rooms(150)
    try world.connectListening()
    let list = try TestList(world.client, ListConfig(rowsMax: 100))
    try list.settle(world)
    #expect(try list.ids() == (50..<150).reversed().map { "r\($0)" })
    #expect(try list.list.state().unread == 150)
    world.postMessage("up", in: "r7")
    try list.settle(world)
    #expect(try list.ids().first == "r7" && list.ids().last == "r51")
    for room in 100..<130 { world.server.deleteConversation("r\(room)") }
    try list.settle(world)
    #expect(try list.ids().count == 100)
    #expect(try list.list.state().unread == 121)
  }

  @Test func draftsAreShownAndKept() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    world.rooms(2)
    try world.connect()
    var list = try TestList(world.client)
    try list.settle(world)
    let room = Array("r0".utf8)
    try world.client.setDraft(
      conversation: room, body: Array("so far".utf8), replyTo: Array("m".utf8))
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 1)])
    #expect(try list.row("r0").draft == "so far")
    try world.reopen()
    list = try TestList(world.client)
    try list.settle(world)
    #expect(try list.row("r0").draft == "so far" && !list.row("r0").row.draftReplyTo.isEmpty)
    #expect(try world.client.draft(conversation: room)?.replyTo == Array("m".utf8))
    try world.client.setDraft(conversation: room, body: [])
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 1)])
    #expect(try world.client.draft(conversation: room) == nil)
    #expect(throws: Failure.tooLarge("a draft is over 64 KiB")) {
      try world.client.setDraft(
        conversation: room, body: [UInt8](repeating: 1, count: Limits.draftBytesMax + 1))
    }
    try world.client.setDraft(
      conversation: room, body: [UInt8](repeating: 1, count: Limits.draftBytesMax))
    // A draft alone makes no conversation.
    try world.client.setDraft(conversation: Array("new".utf8), body: [1])
    _ = try list.poll()
    #expect(try list.ids() == ["r1", "r0", "room"])
    world.client.close()
  }

  @Test func whatWaitsToBeSentStandsFirst() throws {
    let world = try World.lossless()
    world.rooms(3)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.disconnect()
    func send(_ room: String, _ client: String) throws {
      let request =
        #"{"type":"send_message","conversation_id":"\#(room)","client_id":"\#(client)","#
        + #""payload":"x"}"#
      _ = try world.client.perform(Array(request.utf8))
    }
    try send("r0", "one")
    try send("r1", "two")
    _ = try list.poll()
    #expect(try list.ids() == ["r1", "r0", "r2", "room"])
    let row = try list.row("r0")
    #expect(row.last == "one" && row.row.flags & ConversationFlags.hasPending != 0)
    let number = row.message?.number
    try world.connectListening()
    try list.settle(world)
    #expect(try list.row("r0").last == world.truth(in: "r0").last)
    #expect(try list.row("r0").message?.number == number)
    #expect(try list.row("r0").row.flags & ConversationFlags.hasPending == 0)
    world.postMessage("later", in: "r2")
    try list.settle(world)
    #expect(try list.ids().first == "r2")
    try world.disconnect()
    let made = #"{"type":"create_conversation","client_id":"mine","participant_ids":["you"]}"#
    _ = try world.client.perform(Array(made.utf8))
    _ = try list.poll()
    #expect(try list.row("mine").row.flags & ConversationFlags.pending != 0)
    let place = try list.list.find(Array("mine".utf8))
    #expect(place == 0)
    try world.connectListening()
    try list.settle(world)
    #expect(try list.ids().contains("mine") == false && list.ids().count == 5)
    #expect(try list.list.find(Array("mine".utf8)) != nil)
  }
}
