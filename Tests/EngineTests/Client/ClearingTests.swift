/// What is the user's own outlives the cache, whoever empties it.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@testable import Store

@Suite struct ClearingTests {
  /// A conversation with everything of the user's in it, offline.
  private func filled(_ folder: TrapsRestart.Folder) throws -> (World, UInt64, [String]) {
    let world = try World.idempotent(file: folder.file())
    world.post(130)
    try world.connect()
    try world.sync(.older, want: 130)
    try world.disconnect()
    let ids = try world.cached()
    try #require(ids.count == 130)
    try world.client.markRead(
      conversation: Array("room".utf8), ids: ids.suffix(5).map { Array($0.utf8) })
    try world.client.forget(conversation: Array("room".utf8), id: Array(ids[100].utf8))
    try world.client.setDraft(conversation: Array("other".utf8), body: Array("kept".utf8))
    return (world, try world.say("mine").operation, ids)
  }

  private func expectOwn(_ world: World, _ operation: UInt64) throws {
    #expect(try world.texts() == ["mine"])
    #expect(try world.standing(operation) == .queued)
    #expect(try world.client.state().readsPending == 5)
    let page = try world.client.conversation(Array("other".utf8))
    #expect(page.rows.map { String(decoding: page.bytes[$0.draft], as: UTF8.self) } == ["kept"])
  }

  @Test func theCacheComesBackAroundTheUsersOwnWork() throws {
    let folder = try TrapsRestart.Folder()
    let (world, operation, ids) = try filled(folder)
    let window = try world.client.openWindow(
      WindowConfig(conversation: Array("room".utf8), count: 50))
    _ = try window.poll()
    #expect(try window.state().rowCount == 50)
    try world.client.clear()
    try expectOwn(world, operation)
    #expect(try window.poll() != nil)
    #expect(try window.state().rowCount == 1)
    world.reset()
    try world.connect()
    try world.run()
    try world.sync(.older, want: 130)
    #expect(try world.standing(operation) == .done)
    // What was erased here stays away; nothing else does.
    #expect(try world.cached().dropLast() == ids.filter { $0 != ids[100] }[...])
    #expect(world.requests.filter { $0.contains("\"mark_read\"") }.count == 1)
    _ = try window.poll()
    #expect(try window.find(Array((ids.last ?? "").utf8)) != nil)
  }

  /// An answer to what was asked before brings no claim about what was emptied since.
  @Test(arguments: [true, false]) func aSyncUnderWayBeginsAgain(_ echoesIDs: Bool) throws {
    let world = try World.idempotent(echoesIDs: echoesIDs)
    world.post(130)
    try world.connect()
    let sync = try world.client.sync(
      SyncRequest(conversation: Array("room".utf8), kind: .older, want: 130))
    let list = try world.client.openList()
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    try world.client.clear()
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    #expect(try world.client.syncStatus(sync).phase != .ended)
    _ = try list.poll()
    #expect(try list.state().isRefreshing)
    try world.run()
    #expect(try world.client.syncStatus(sync).trouble == nil)
    #expect(try world.client.syncStatus(sync).phase == .ended)
    #expect(try world.cached() == world.truth())
    _ = try list.poll()
    let state = try list.state()
    #expect(!state.isRefreshing && state.isWhole && state.conversationCount == 1)
  }

  /// It asks something else now, but not sooner than the server wants.
  @Test func aSyncThatBeginsAgainKeepsTheServersPause() throws {
    let world = try World.idempotent(echoesIDs: false)
    world.post(130)
    try world.connect()
    let sync = try world.client.sync(
      SyncRequest(conversation: Array("room".utf8), kind: .older, want: 130))
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    try world.client.clear()
    let refusal = """
      {"type":"get_messages","status":"error",\
      "error":{"code":"rate_limited","message":"","retry_after_ms":30000}}
      """
    #expect(try world.client.receive(Array(refusal.utf8)) == .ignored)
    world.reset()
    try world.wait(ms: 29_900)
    #expect(world.requests.isEmpty)
    try world.wait(ms: 60_000)
    try world.run()
    #expect(try world.client.syncStatus(sync).phase == .ended)
    #expect(try world.client.syncStatus(sync).trouble == nil)
    #expect(try world.cached() == world.truth())
  }

  /// A file whose cache has an older form is opened, and only the cache is gone.
  @Test func anotherFormOfTheCacheKeepsOperationsAndDrafts() throws {
    let folder = try TrapsRestart.Folder()
    let (world, operation, ids) = try filled(folder)
    let marker = ids[99]
    try world.perform(
      #"{"type":"mark_last_read","conversation_id":"room","message_id":"\#(marker)"}"#)
    let since = try world.client.state().changeSeq
    world.client.close()
    let (path, key) = folder.storePath
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: key, create: false, strict: false, baseVFS: nil),
        account: world.config.account, user: world.config.user))
    try store.write { tx throws(StoreFailure) in
      let connection = try tx.connection
      try connection.execute("DROP TABLE message; CREATE TABLE message (old BLOB);")
      try connection.execute("DROP TABLE entity; DROP TABLE waiting; DROP TABLE event;")
      try connection.execute("UPDATE meta SET cache_form = cache_form - 1")
    }
    store.close()
    world.client = try Client.open(world.config)
    try expectOwn(world, operation)
    let page = try world.client.conversation(Array("room".utf8))
    #expect(page.rows.map { String(decoding: page.bytes[$0.lastRead], as: UTF8.self) } == [marker])
    guard case .resync = try world.client.changes(after: since, limit: 10) else {
      throw Failure.incomplete
    }
    try world.connect()
    try world.sync()
    #expect(try world.standing(operation) == .done)
    try world.sync(.older, want: 130)
    #expect(try world.cached().dropLast() == ids.filter { $0 != ids[100] }[...])
    // It is opened as it is the next time.
    let rows = try world.cached()
    world.client.close()
    world.client = try Client.open(world.config)
    #expect(try world.cached() == rows)
  }

  /// What the server was told once it is not told again, though it shows no receipts.
  @Test func whatWasToldIsNotToldAgain() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.idempotent(file: folder.file()) {
      $0.autoMarkDelivered = true
    }
    world.post(130)
    try world.connect()
    try world.sync(.older, want: 130, marksRead: true)
    try world.run()
    let told = ["mark_delivered", "mark_read"].map { world.asked($0).count }
    #expect(told.allSatisfy { $0 > 0 })
    let names = try NSRegularExpression(
      pattern: #""(read|delivered)_by":\[[^\]]*\]"#)
    world.alter = { _, answer in
      names.stringByReplacingMatches(
        in: answer, range: NSRange(answer.startIndex..., in: answer),
        withTemplate: #""$1_by":[]"#)
    }
    try world.client.clear()
    try folder.kill(world)
    try world.connect()
    try world.sync(.older, want: 130, marksRead: true)
    try world.run()
    #expect(try world.cached() == world.truth())
    #expect(["mark_delivered", "mark_read"].map { world.asked($0).count } == told)
    #expect(try world.client.state().readsPending == 0)
    // What comes now is new.
    world.post(1)
    try world.sync()
    #expect(world.asked("mark_delivered").count == told[0] + 1)
  }

  @Test func aTitleIsShownBeforeItIsConfirmed() throws {
    let world = try World.idempotent()
    try world.connect()
    let list = try TestList(world.client)
    try list.settle(world)
    world.server.rename(conversation: "room", title: "Old")
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    try list.settle(world)
    try world.disconnect()
    try world.perform(
      #"{"type":"save_conversation","conversation_id":"room","title":"New"}"#)
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 0)])
    #expect(try list.row("room").title == "New")
    world.server.failNext("forbidden", verb: "save_conversation")
    try world.connect()
    try list.settle(world)
    #expect(try list.row("room").title == "Old")
    let again = try world.perform(
      #"{"type":"save_conversation","conversation_id":"room","title":"Newer"}"#)
    // An answer that does not show the conversation.
    world.alter = { request, answer in
      guard request.contains("save_conversation"),
        let object = try? JSONSerialization.jsonObject(with: Data(request.utf8)),
        let id = (object as? [String: Any])?["request_id"] as? String
      else { return answer }
      return #"{"type":"save_conversation","request_id":"\#(id)","status":"ok","data":{}}"#
    }
    try list.settle(world)
    #expect(try world.standing(again.operation) == .done)
    #expect(try list.row("room").title == "Newer")
  }
}
