/// What a list and a window tell when they cannot follow step by step: rows that vanished,
/// and more changes than are followed.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct ListResync {
  /// More entries of the feed than one look follows, about nothing that is looked at.
  private func flood(_ world: World, _ conversation: String) throws {
    for index in 0...Limits.windowChangesMax {
      try world.client.setDraft(
        conversation: Array(conversation.utf8), body: Array("\(index)".utf8))
    }
  }

  @Test func whatAListCouldNotFollowIsDrawnAgain() throws {
    let world = try World.lossless()
    world.rooms(3)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.client.setDraft(conversation: Array("r1".utf8), body: Array("mine".utf8))
    world.server.rename(conversation: "r0", title: "Another")
    try world.run()
    try flood(world, "aside")
    let diff = try #require(try list.poll())
    #expect(diff.ops == [DiffOp(.update, row: 0, count: 4)])
    #expect(try list.row("r1").draft == "mine" && list.row("r0").title == "Another")
    #expect(try list.poll() == nil)
  }

  @Test func whatAWindowCouldNotFollowIsDrawnAgain() throws {
    let world = try World.idempotent()
    let ids = world.post(6)
    try world.connect()
    let window = try world.client.openWindow(WindowConfig(conversation: Array(world.room.utf8)))
    try world.run()
    _ = try window.poll()
    try world.run()
    _ = try window.poll()
    try world.disconnect()
    _ = try window.poll()
    try world.act("edit_message", ids[1], #","payload":"other""#)
    try world.act("react_message", ids[3], #","reaction":"+""#)
    try flood(world, "aside")
    let diff = try #require(try window.poll())
    #expect(diff.ops == [DiffOp(.update, row: 0, count: 6)])
    #expect(try window.poll() == nil)
  }

  @Test func aCancelledConversationLeavesTheList() throws {
    let world = try World.lossless()
    world.rooms(2)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.disconnect()
    _ = try list.poll()
    let made = try world.perform(
      #"{"type":"create_conversation","client_id":"mine","participant_ids":["you"]}"#)
    _ = try list.poll()
    #expect(try list.ids().count == 4)
    #expect(try world.client.cancel(operation: made.operation))
    #expect(try list.poll()?.ops == [DiffOp(.remove, row: 0)])
    #expect(try list.ids() == ["r1", "r0", "room"])
    #expect(try list.list.state().conversationCount == 3)
  }

  /// Of the same people there is one already, and it has a row of its own.
  @Test func aConversationThatTurnsOutToBeKnownLeavesTheList() throws {
    let world = try World.lossless()
    world.rooms(2)
    let other = """
      {"type":"create_conversation","client_id":"theirs","participant_ids":["you"],\
      "distinct":true,"request_id":"1"}
      """
    _ = world.server.handle(Array(other.utf8), user: "me")
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    let before = try list.ids()
    #expect(before.count == 4)
    try world.disconnect()
    try world.perform(
      """
      {"type":"create_conversation","client_id":"mine","participant_ids":["you"],"distinct":true}
      """)
    _ = try list.poll()
    #expect(try list.ids().count == 5)
    try world.connectListening()
    try list.settle(world)
    #expect(try list.ids().sorted() == before.sorted())
    #expect(try list.list.state().conversationCount == 4)
  }

  /// Whoever has read what is on its way has read all before it.
  @Test func aMessageOnItsWayIsTheLastRead() throws {
    let world = try World.lossless()
    world.rooms(1)
    for index in 0..<120 { world.postMessage("\(index)", in: "r0") }
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    #expect(try list.row("r0").unread == 121)
    try world.disconnect()
    try world.say("mine", as: "c1", in: "r0")
    try world.perform(
      #"{"type":"mark_last_read","conversation_id":"r0","message_id":"c1"}"#)
    _ = try list.poll()
    #expect(try list.row("r0").unread == 0)
    try world.connectListening()
    try list.settle(world)
    let row = try list.row("r0")
    #expect(row.unread == 0 && row.lastRead == world.truth(in: "r0").last)
    world.postMessage("later", in: "r0")
    try list.settle(world)
    #expect(try list.row("r0").unread == 1)
  }

  /// What is left is gone from the list at once, and comes back where that was refused.
  @Test(arguments: ["leave_conversation", "delete_conversation"])
  func whatIsLeftIsGoneAtOnce(_ verb: String) throws {
    let world = try World.lossless()
    world.rooms(3)
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    try world.disconnect()
    _ = try list.poll()
    let request = #"{"type":"\#(verb)","conversation_id":"r1"}"#
    let refused = try world.perform(request).operation
    #expect(try list.poll()?.ops == [DiffOp(.remove, row: 1)])
    #expect(try list.list.state().unread == 2)
    #expect(try world.client.conversation(Array("r1".utf8)).rows.count == 1)
    world.server.failNext("forbidden", verb: verb)
    try world.connectListening()
    try list.settle(world)
    #expect(try world.standing(refused) == .refused)
    #expect(try list.ids() == ["r2", "r1", "r0", "room"] && list.list.state().unread == 3)
    try world.perform(request)
    try list.settle(world)
    #expect(try list.ids() == ["r2", "r0", "room"])
    #expect(world.asked(verb).count == 2)
  }
}
