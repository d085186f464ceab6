/// What the user names by a client id is found by it as long as its message is stored, and
/// one client id is for one thing.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct OutboxNames {
  /// More operations are done than are remembered.
  private func forgetSends(_ world: World) throws {
    world.server.createConversation("other", participants: ["me", "you"])
    for index in 0...Limits.operationsKept {
      try world.perform(
        #"{"type":"save_conversation","conversation_id":"other","title":"\#(index)"}"#)
      if index % 100 == 0 { try world.run() }
    }
    try world.run()
    #expect(try world.open().isEmpty)
  }

  @Test(arguments: [true, false])
  func aSendIsKnownByItsNameWhileItsMessageIsStored(_ tellsClientIDs: Bool) throws {
    let world = try World.exact {
      $0.idempotentSends = true
      $0.echoesClientIDs = tellsClientIDs
    } profile: {
      $0.capabilities = [.idempotentSend]
    }.ticking()
    world.post(110)
    try world.connect()
    try world.sync()
    let first = try world.say("question", as: "c1")
    try world.run()
    let id = try #require(world.truth().last)
    try forgetSends(world)
    #expect(throws: Failure.noOperation) { try world.standing(first.operation) }
    let page = try world.client.message(conversation: Array("room".utf8), id: Array("c1".utf8))
    #expect(page.rows.map(\.number) == [first.number])
    let window = try world.window()
    try window.settle(world)
    #expect(try window.window.find(Array("c1".utf8)) == window.numbers.count - 1)
    try world.perform(
      #"{"type":"send_message","conversation_id":"room","payload":"answer","reply_to":"c1"}"#)
    try world.act("edit_message", "c1", #","payload":"really""#)
    try world.act("react_message", "c1", #","reaction":"+""#)
    #expect(try world.texts().suffix(2) == ["really", "answer"])
    try world.run()
    #expect(try world.open().isEmpty)
    #expect(world.asked("send_message").last?.contains(#""reply_to":"\#(id)""#) == true)
    for verb in ["edit_message", "react_message"] {
      #expect(world.asked(verb).last?.contains(#""message_id":"\#(id)""#) == true)
    }
    // A cache that is made anew learns it from a server that tells it.
    try world.client.clear()
    try world.sync()
    try world.act("pin_message", "c1")
    try world.run()
    let name = tellsClientIDs ? id : "c1"
    #expect(world.asked("pin_message").last?.contains(#""message_id":"\#(name)""#) == true)
  }

  /// What others call theirs is no name of this user's.
  @Test func theNamesOfOthersAreNotTaken() throws {
    let world = try World.idempotent()
    try world.connect()
    _ = world.server.handle(
      Array(
        """
        {"type":"send_message","request_id":"x","conversation_id":"room","client_id":"c1",\
        "payload":"theirs"}
        """.utf8), user: "you")
    try world.sync()
    #expect(try world.texts() == ["theirs"])
    try world.act("pin_message", "c1")
    try world.run()
    #expect(world.asked("pin_message").last?.contains(#""message_id":"c1""#) == true)
  }

  /// A draft outlives the memory of sends, so it takes the real id when there is one.
  @Test func aDraftAnswersTheMessageItself() throws {
    let world = try World.idempotent()
    let room = Array("room".utf8)
    try world.say("question", as: "c1")
    try world.client.setDraft(
      conversation: room, body: Array("so".utf8), replyTo: Array("c1".utf8))
    #expect(try world.client.draft(conversation: room)?.replyTo == Array("c1".utf8))
    let list = try TestList(world.client)
    _ = try list.poll()
    try world.connect()
    try list.settle(world)
    let id = Array(try #require(world.truth().last).utf8)
    let draft = try world.client.draft(conversation: room)
    #expect(draft?.replyTo == id && draft?.body == Array("so".utf8))
    let row = try list.list.rows(first: 0, count: 1)
    #expect(row.map { Array($0.bytes[$0.rows[0].draftReplyTo]) } == id)
    // So does one that is written afterwards.
    try world.client.setDraft(
      conversation: room, body: Array("then".utf8), replyTo: Array("c1".utf8))
    #expect(try world.client.draft(conversation: room)?.replyTo == id)
  }

  @Test func oneClientIDIsForOneMessage() throws {
    let world = try World.idempotent()
    world.post(2)
    try world.connect()
    try world.sync()
    let ids = try world.cached()
    try world.say("mine", as: "c1")
    let edit = try world.act("edit_message", ids[0], #","payload":"a","client_id":"k""#)
    #expect(try world.act("edit_message", ids[0], #","payload":"a","client_id":"k""#) == edit)
    for other in [ids[1], "c1"] {
      #expect(throws: Failure.self) {
        try world.act("edit_message", other, #","payload":"b","client_id":"k""#)
      }
    }
    let liked = #","reaction":"+","client_id":"r""#
    let reaction = try world.act("react_message", "c1", liked)
    #expect(throws: Failure.self) {
      try world.act("react_message", "c1", #","reaction":"-","client_id":"r""#)
    }
    #expect(try world.act("react_message", "c1", liked) == reaction)
    try world.run()
    // The message has got its id, by which it may be called as well.
    let mine = try #require(world.truth().last)
    for name in ["c1", mine] {
      #expect(try world.act("react_message", name, liked) == reaction)
    }
    #expect(throws: Failure.self) { try world.act("react_message", ids[1], liked) }
  }

  /// A name is of its own conversation: elsewhere the server may call a message the same.
  @Test func aNameOfAnotherConversationIsNotTaken() throws {
    let world = try World.idempotent()
    let room = Array("room".utf8)
    world.server.createConversation("other", participants: ["me", "you"])
    try world.connect()
    try world.say("there", as: "k", in: "other")
    try world.run()
    world.advance(ms: 1_000)
    _ = world.server.post(conversation: "room", sender: "me", payload: "\"here\"", id: "k")
    try world.sync()
    #expect(try world.cached() == ["k"])
    try world.client.setDraft(conversation: room, body: room, replyTo: Array("k".utf8))
    #expect(try world.client.draft(conversation: room)?.replyTo == Array("k".utf8))
    try world.perform(
      #"{"type":"send_message","conversation_id":"room","payload":"answer","reply_to":"k"}"#)
    try world.run()
    #expect(world.asked("send_message").last?.contains(#""reply_to":"k""#) == true)
    try world.act("delete_message", "k")
    #expect(try world.texts() == ["answer"])
    try world.run()
    #expect(world.asked("delete_message").last?.contains(#""message_id":"k""#) == true)
    #expect(!world.truth().contains("k"))
  }

  /// So may it in the same conversation, where it keeps the client ids as its own.
  @Test func aServerMayTakeTheClientIDForItsOwn() throws {
    let world = try World.idempotent()
    world.alter = { [unowned world] _, answer in
      guard let id = world.truth().first else { return answer }
      return answer.replacingOccurrences(of: "\"\(id)\"", with: "\"c1\"")
    }
    try world.connect()
    try world.say("question", as: "c1")
    try world.run()
    #expect(try world.cached() == ["c1"])
    try world.perform(
      #"{"type":"send_message","conversation_id":"room","payload":"answer","reply_to":"c1"}"#)
    try world.run()
    #expect(world.asked("send_message").last?.contains(#""reply_to":"c1""#) == true)
  }
}
