/// What the server confirms without showing it stays on the screen.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct OutboxConfirmed {
  private func temporary() -> String {
    FileManager.default.temporaryDirectory.path + "/confirmed-" + UUID().uuidString
  }

  private func file(_ path: String) -> ClientConfig.File {
    .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
  }

  private func remove(_ path: String) {
    for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) }
  }

  /// An older message of this user and one of another, in a conversation that is all stored.
  private func posted(_ world: World) throws -> (mine: String, theirs: String) {
    let mine = world.post(1, sender: "me")[0]
    let theirs = world.post(110)[3]
    try world.connectListening()
    try world.sync()
    for _ in 0..<5 { try world.sync(.older, want: 100) }
    #expect(try world.cached().contains(mine))
    return (mine, theirs)
  }

  private func isShown(_ world: World, _ mine: String, _ theirs: String) throws -> Bool {
    let row = try #require(try world.seen().first { $0.id == mine })
    return try row.text == "edited" && world.reactions(theirs) == #"{"+":["me"]}"#
      && world.isPinned(theirs)
  }

  /// Protects: an edit, a reaction and a pin that the server confirms with no more than `ok` show
  /// from the call on: while each answer comes, after syncs, another connection and a restart.
  @Test(arguments: FoundServer.allCases)
  func aBareConfirmationKeepsWhatWasDone(_ kind: FoundServer) throws {
    let path = temporary()
    defer { remove(path) }
    let world = try kind.world(file: file(path)) {
      $0.answersWithResult = false
      $0.tellsSender = false
    }
    let (mine, theirs) = try posted(world)
    try world.disconnect()
    try world.act("edit_message", mine, #","payload":"edited""#)
    try world.act("react_message", theirs, #","reaction":"+""#)
    try world.act("pin_message", theirs)
    world.post(3)
    world.alter = { _, answer in
      do { #expect(try isShown(world, mine, theirs), "\(answer)") } catch { Issue.record(error) }
      return answer
    }
    #expect(try isShown(world, mine, theirs))
    try world.connectListening()
    try world.run()
    if kind != .log { #expect(try world.open().isEmpty) }
    for _ in 0..<2 {
      try world.sync()
      #expect(try isShown(world, mine, theirs))
      try world.disconnect()
      try world.connectListening()
      try world.run()
      #expect(try isShown(world, mine, theirs))
      try world.reopen()
      #expect(try isShown(world, mine, theirs))
    }
    #expect(world.served() == ["edited"])
    world.answerAll()
    world.client.close()
  }

  /// Protects: a page that was requested before the confirmation undoes nothing, and a newer copy
  /// of the server's replaces what was confirmed.
  @Test(arguments: FoundServer.withPages)
  func onlyANewerCopyReplacesIt(_ kind: FoundServer) throws {
    let world = try kind.world { $0.answersWithResult = false }
    let mine = world.post(1, sender: "me")[0]
    try world.connect()
    try world.sync()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8), kind: .latest))
    let asked = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(asked.id)
    let old = world.server.handle(asked.bytes, user: "me")
    try world.act("edit_message", mine, #","payload":"edited""#)
    try world.act("react_message", mine, #","reaction":"+""#)
    if kind == .bare {
      // One request at a time: the page comes first.
      for answer in old { _ = try world.client.receive(answer) }
      try world.run()
    } else {
      try world.run()
      for answer in old { _ = try world.client.receive(answer) }
    }
    #expect(try world.seen().map(\.text) == ["edited"])
    #expect(try world.reactions(mine) == #"{"+":["me"]}"#)
    world.advance(ms: 5_000)
    world.server.edit(conversation: world.room, id: mine, payload: "\"by another device\"")
    world.server.react(
      conversation: world.room, id: mine, user: "me", reaction: "+", isSet: false)
    try world.lookOnceMore()
    try world.sync()
    #expect(try world.seen().map(\.text) == ["by another device"])
    #expect(try ["", "{}"].contains(world.reactions(mine)))
  }

  /// Protects: the number of participants, the title and the admins are those that were confirmed,
  /// also where an answer that was requested before comes after.
  @Test(arguments: FoundServer.allCases)
  func aBareConfirmationChangesTheConversation(_ kind: FoundServer) throws {
    let world = try kind.world {
      $0.answersWithResult = false
      $0.tellsSender = false
    }
    world.post(1)
    let list = try TestList(world.client)
    try world.connectListening()
    try list.settle(world)
    func count() throws -> Int {
      try list.list.rows(first: 0, count: 1)?.rows.first?.memberCount ?? 0
    }
    #expect(try count() == 2)
    let about = #""conversation_id":"room""#
    try world.perform(
      #"{"type":"add_participants",\#(about),"user_ids":["u3","u4","you"]}"#)
    try list.settle(world)
    #expect(try count() == 4)
    try world.perform(#"{"type":"remove_participants",\#(about),"user_ids":["u3"]}"#)
    try world.perform(#"{"type":"add_admins",\#(about),"user_ids":["u4"]}"#)
    try world.perform(#"{"type":"save_conversation",\#(about),"title":"New"}"#)
    try list.settle(world)
    #expect(try count() == 3)
    #expect(world.server.participants(of: "room").count == 3)
    #expect(try list.rows().map(\.title) == ["New"])
    let page = try #require(try list.list.rows(first: 0, count: 1))
    let body = page.rows.first.map { String(decoding: page.bytes[$0.body], as: UTF8.self) }
    #expect(body?.contains(#""u4"]"#) == true)
  }
}
