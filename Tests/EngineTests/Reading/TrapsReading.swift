/// Read marks, readers, control messages and what the user removed.
///
/// Rule protected: fetching is not reading, a mark is pending until it is confirmed
/// and never after, and read state only grows.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsReading {
  /// The ids of each `mark_read` request since the last `reset`.
  private func marks(_ world: World) -> [[String]] {
    world.asked("mark_read").map { request in
      let list = request.components(separatedBy: "\"message_ids\":[").last ?? ""
      return list.split(separator: "]", omittingEmptySubsequences: false)[0]
        .split(separator: ",").map { $0.trimmingCharacters(in: ["\""]) }
    }
  }

  /// Also where what is seen is marked: nobody has seen it.
  @Test(arguments: ServerKind.all)
  func t16_fetchingIsNotReading(_ kind: ServerKind) throws {
    let world = try kind.world(config: { $0.autoMarkRead = true })
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    #expect(world.asked("mark_read").isEmpty)
    #expect(try world.client.state().readsPending == 0)
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unread != 0 })
    #expect(try world.tailFaults(150) == [])
  }

  /// A sync that asks for it: after the page is stored, foreign and unread only, batched.
  @Test(arguments: ServerKind.all)
  func t16_aSyncThatMarksSendsForeignUnreadIdsOnce(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync(marksRead: true)
    try world.client.disconnected()
    let foreign = world.post(100)
    world.post(30, sender: "me")
    let known = world.post(20)
    world.server.markRead(conversation: world.room, ids: known, user: "me")
    try world.client.connected()
    world.reset()
    try world.sync(marksRead: true)
    try world.run()
    let sent = marks(world)
    #expect(sent.flatMap { $0 }.sorted() == foreign.sorted())
    // One request at most for each page that brought some.
    #expect(sent.count <= world.asked("get_messages").count)
    #expect(try world.client.state().readsPending == 0)
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unread == 0 })
    world.reset()
    try world.sync(marksRead: true)
    #expect(world.asked("mark_read").isEmpty)
    #expect(try world.tailFaults(150) == [])
  }

  /// Offline, 130 ids: pending; one batch when there is a connection; each id again
  /// after each failure, and never after the confirmation.
  @Test(arguments: ServerKind.all)
  func t16_aMarkIsSentUntilItIsConfirmed(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    world.post(5, sender: "me")
    try world.sync()
    try world.client.disconnected()
    let unread = Array(world.server.newestIDs(world.room, 135).dropFirst(5))
    let asked = world.server.newestIDs(world.room, 135)
    try world.client.markRead(
      conversation: Array("room".utf8), ids: asked.map { Array($0.utf8) })
    try world.client.markRead(
      conversation: Array("room".utf8), ids: asked.map { Array($0.utf8) })
    world.reset()
    try world.run()
    #expect(world.requests.isEmpty)
    #expect(try world.client.state().readsPending == 130)
    // Refused for now, then lost with the connection, then confirmed.
    world.server.failNext("unavailable")
    try world.client.connected()
    try world.run()
    #expect(try world.client.state().readsPending == 130)
    world.alter = { request, answer in request.contains("mark_read") ? nil : answer }
    world.advance(ms: 120_000)
    _ = try world.client.advance()
    try world.run()
    try world.client.disconnected()
    world.alter = { $1 }
    #expect(try world.client.state().readsPending == 130)
    try world.client.connected()
    try world.settle()
    #expect(
      marks(world).map { $0.sorted() } == [unread.sorted(), unread.sorted(), unread.sorted()])
    #expect(try world.client.state().readsPending == 0)
    try world.sync()
    try world.client.markRead(
      conversation: Array("room".utf8), ids: asked.map { Array($0.utf8) })
    try world.run()
    #expect(world.asked("mark_read").count == 3)
  }

  /// A mark that the server refuses for good is not asked for ever.
  @Test(arguments: ServerKind.few)
  func t16_aRefusedMarkIsNotSentAgain(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    world.server.failNext("forbidden")
    let id = world.server.newestIDs(world.room, 1)[0]
    try world.client.markRead(conversation: Array("room".utf8), ids: [Array(id.utf8)])
    world.reset()
    try world.settle()
    #expect(world.asked("mark_read").count == 1)
    #expect(try world.client.state().readsPending == 0)
  }

  /// What another device of this user has read is known, and an older copy of the
  /// message, or another reader, does not take it back.
  @Test(arguments: ServerKind.all)
  func t16_readStateOnlyGrows(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let ids = world.server.newestIDs(world.room, 4)
    var isRead = false
    world.alter = { request, answer in
      if request.contains("get_messages"), !isRead {
        isRead = true
        do {
          try world.push {
            world.server.markRead(conversation: world.room, ids: ids, user: "me")
            world.server.markRead(conversation: world.room, ids: ids, user: "third")
          }
        } catch { Issue.record(error) }
      }
      return answer
    }
    // The page was made before the marks; it names no readers.
    try world.sync()
    try world.push { world.server.markRead(conversation: world.room, ids: ids, user: "fourth") }
    try world.sync()
    let page = try world.page()
    let newest = page.rows.suffix(4)
    let readers = newest.map { String(decoding: page[$0.readBy], as: UTF8.self) }
    #expect(readers.allSatisfy { $0.contains("\"me\"") && $0.contains("\"third\"") })
    #expect(readers.allSatisfy { $0.contains("\"fourth\"") })
    #expect(newest.allSatisfy { $0.flags & MessageBit.unread == 0 })
    // Held apart: what the host gets as its own names no reader.
    #expect(
      newest.allSatisfy { row in
        let rest = String(decoding: page[row.rest], as: UTF8.self)
        let payload = String(decoding: page[row.payload], as: UTF8.self)
        return !rest.contains("read_by") && !payload.contains("third")
      })
    #expect(page.rows.dropLast(4).allSatisfy { $0.flags & MessageBit.unread != 0 })
    let before = readers
    try world.sync()
    let again = try world.page()
    #expect(
      again.rows.suffix(4).map { String(decoding: again[$0.readBy], as: UTF8.self) }
        == before)
  }

  /// Readers that an older answer does not know are not forgotten.
  @Test(arguments: ServerKind.few)
  func t16_anAnswerWithFewerReadersTakesNoneAway(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let ids = world.server.newestIDs(world.room, 3)
    world.server.markRead(conversation: world.room, ids: ids, user: "me")
    world.server.markRead(conversation: world.room, ids: ids, user: "third")
    func readers() throws -> [String] {
      let page = try world.page()
      #expect(page.rows.suffix(3).allSatisfy { $0.flags & MessageBit.unread == 0 })
      return page.rows.suffix(3).map { String(decoding: page[$0.readBy], as: UTF8.self) }
    }
    try world.sync()
    let known = try readers()
    #expect(known.allSatisfy { $0.contains("\"third\"") })
    world.alter = { _, answer in
      answer.replacingOccurrences(of: #"[{"user_id":"me"},{"user_id":"third"}]"#, with: "[]")
    }
    world.reset()
    try world.sync()
    #expect(world.bodies.contains(ids[0]))
    #expect(world.answers.allSatisfy { !$0.contains("third") })
    #expect(try readers() == known)
  }

  @Test(arguments: ServerKind.all)
  func controlMessagesAreStoredAndNeverShown(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    var control: Set<String> = []
    for index in 0..<140 {
      world.advance(ms: 1_000)
      let payload = index % 10 == 3 ? #"{"_control":{"key":1}}"# : #"{"text":"_control"}"#
      let id = world.put(payload)
      if index % 10 == 3 { control.insert(id) }
    }
    try world.client.connected()
    world.reset()
    let status = try world.sync()
    #expect(status.inserted == 140)
    #expect(try world.tailFaults(140, but: control) == [])
    #expect(try world.lies(hidden: control) == [])
    #expect(try world.isWhole())
    // Counted as known, not as visible; a limit counts what is visible.
    let page = try world.page(limit: 100)
    #expect(page.rows.count == 100)
    #expect(page.coverage.knownCount == (try world.cached().count) + control.count)
    let id = try #require(control.first)
    #expect(throws: Failure.noMessage) {
      try world.client.message(conversation: Array("room".utf8), id: Array(id.utf8))
    }
  }

  /// Removed on this device: it stays away through every refetch and still counts.
  @Test(arguments: ServerKind.all)
  func whatWasForgottenStaysAway(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    let ids = world.server.newestIDs(world.room, 100)
    let gone: Set = [ids[0], ids[50], ids[99]]
    for id in gone {
      try world.client.forget(conversation: Array("room".utf8), id: Array(id.utf8))
    }
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    try world.sync()
    world.server.edit(conversation: world.room, id: ids[0], payload: "\"edited\"")
    try world.sync()
    world.server.failNext("unknown_cursor")
    try world.sync()
    try world.sync(.older, want: 10_000)
    #expect(try world.cached() == world.truth().filter { !gone.contains($0) })
    #expect(try world.lies(hidden: gone) == [])
    let page = try world.page()
    #expect(page.coverage.stop == .start)
    #expect(page.coverage.gaps.isEmpty)
    let bytes = page.page[0..<page.page.textBytes]
    #expect(bytes.count > 100 && !String(decoding: bytes, as: UTF8.self).contains("edited"))
  }
}
