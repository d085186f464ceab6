/// Frames whose lists are longer than a list may be.
///
/// Rule protected: no frame holds the writer up, and nothing that one said is lost. It is set
/// aside and replied to, and what it spoke of is asked for again.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct LongLists {
  private static let over = Limits.listItemsMax + 1

  /// These ids behind so many that nobody knows that the list is too long.
  private func padded(_ ids: [String]) -> String {
    let unknown = (0..<(Self.over - ids.count)).map { "\"u\($0)\"" }
    return (unknown + ids.map { "\"\($0)\"" }).joined(separator: ",")
  }

  private func push(_ type: String, _ ids: [String]) -> String {
    """
    {"type":"\(type)","conversation_id":"room","user_id":"you","message_ids":[\(padded(ids))]}
    """
  }

  /// A live conversation of three pages on a server that loses no push.
  private func live(
    _ knobs: ServerKnobs = ServerKnobs(), file: ClientConfig.File = .memory,
    _ change: (inout Profile) -> Void = { _ in }
  ) throws -> World {
    var profile = Profile()
    profile.pushIsLossless = true
    change(&profile)
    let world = try World(knobs: knobs, profile: profile, file: file)
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 200)
    world.reset()
    return world
  }

  private func poisons(_ world: World) throws -> Int {
    guard case .events(let events) = try world.client.events(after: 0, limit: 100) else { return 0 }
    return events.count { $0.kind == 4 }
  }

  @Test func aPushOfTooManyDeletionsIsSetAsideAndAskedFor() throws {
    let world = try live()
    let gone = Array(world.truth().suffix(7))
    world.server.delete(conversation: world.room, ids: gone)
    #expect(try world.hand(push("message_deleted", gone)) == .quarantined)
    #expect(try world.client.stats().tombstones == 0)
    #expect(try poisons(world) == 1)
    try world.run()
    #expect(!world.asked("get_deleted_since").isEmpty)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// Deletions are asked from before what the watermark was.
  @Test func theWatermarkOfDeletionsIsLowered() throws {
    let world = try live()
    world.advance(ms: 60_000)
    try world.disconnect()
    try world.connect()
    try world.sync()
    let before = try world.page().coverage.deletionsAsOfUs
    _ = try world.hand(push("message_deleted", []))
    #expect(try world.page().coverage.deletionsAsOfUs < before)
    try world.run()
    #expect(try world.page().coverage.deletionsAsOfUs >= before)
  }

  /// The process is killed before it could ask.
  @Test func whatWasSetAsideIsAskedForAfterAKill() throws {
    let folder = try TrapsRestart.Folder()
    let world = try live(file: folder.file())
    let gone = Array(world.truth().prefix(70).suffix(9))
    world.server.delete(conversation: world.room, ids: gone)
    #expect(try world.hand(push("message_deleted", gone)) == .quarantined)
    try world.reopen()
    try world.sync(.live)
    #expect(try world.cached() == world.truth())
  }

  @Test func anUpdateOfTooManyMessagesIsAskedFor() throws {
    let world = try live()
    world.post(120)
    let rows = world.server.truth(world.room).suffix(120)
    let items = rows.map {
      Frames.message($0.id, atUs: $0.stampUs, payload: $0.payload)
    }
    let again = [String](repeating: items[0], count: Self.over - items.count)
    let frame = Frames.update("long", "message", again + items)
    #expect(try world.hand(frame) == .quarantined)
    #expect(try world.replies() == ["long"])
    try world.run()
    #expect(try world.tailFaults(120) == [])
    #expect(try world.lies() == [])
    #expect(try world.isWhole())
    // What comes again changes nothing.
    #expect(try world.hand(frame) == .applied)
    #expect(try world.client.stats().updatesRepeated == 1)
  }

  /// What is pushed behind it does not make the conversation whole.
  @Test func aLaterPushJoinsNothingUntilItWasAskedFor() throws {
    let world = try live()
    world.post(120)
    let rows = world.server.truth(world.room).suffix(120)
    let items = rows.map { Frames.message($0.id, atUs: $0.stampUs, payload: $0.payload) }
    let again = [String](repeating: items[0], count: Self.over - items.count)
    _ = try world.hand(Frames.update("long", "message", again + items))
    try world.push { world.post(1) }
    #expect(try world.lies() == [])
    try world.run()
    #expect(try world.tailFaults(121) == [])
    #expect(try world.lies() == [])
  }

  @Test(arguments: ["messages_read", "messages_delivered", "messages_listened"])
  func receiptsOfTooManyAreAskedForAsChanges(_ type: String) throws {
    var knobs = ServerKnobs()
    knobs.tellsChanges = true
    let world = try live(knobs) { $0.capabilities.insert(.changedSince) }
    let id = try #require(world.truth().first)
    world.server.mark(
      type == "messages_read" ? .read : type == "messages_delivered" ? .delivered : .listened,
      conversation: world.room, ids: [id], user: "me")
    let before = try world.page().coverage.marksAsOfUs
    #expect(try world.hand(push(type, [id])) == .quarantined)
    #expect(try world.page().coverage.marksAsOfUs < before)
    #expect(try world.page().coverage.staleCount == 130)
    try world.run()
    #expect(!world.asked("get_changed_since").isEmpty)
    let (row, page) = try #require(try world.shown(id))
    let lists = [page[row.readBy], page[row.deliveredBy], page[row.listenedBy]]
    #expect(lists.contains { String(decoding: $0, as: UTF8.self).contains("me") })
    #expect(try world.page().coverage.staleCount == 0)
  }

  /// Where no log of changes is kept, what was shown is not fresh any more.
  @Test func receiptsOfTooManyMakeStale() throws {
    let world = try live()
    #expect(try world.page().coverage.staleCount == 0)
    #expect(try world.hand(push("messages_read", [])) == .quarantined)
    #expect(try world.page().coverage.staleCount == 130)
  }

  /// An item of a message with too long a list is bad alone.
  @Test func aMessageWithTooManyReadersIsSetAsideAlone() throws {
    let world = try World()
    world.post(3)
    try world.connect()
    func readers(_ count: Int) -> String {
      ",\"read_by\":[" + (0..<count).map { "\"r\($0)\"" }.joined(separator: ",") + "]"
    }
    let stamp = world.server.nowUs
    let items = [
      Frames.message("a", atUs: stamp, more: readers(Limits.listItemsMax)),
      Frames.message("b", atUs: stamp + 1, more: readers(Self.over)),
      Frames.message("c", atUs: stamp + 2),
    ]
    #expect(try world.hand(Frames.update("r", "message", items)) == .quarantined)
    #expect(try world.cached() == ["a", "c"])
    #expect(try world.replies() == ["r"])
  }

  /// An answer is of no use then: it changes nothing, and no watermark moves.
  @Test func anAnswerOfTooManyDeletionsIsMalformed() throws {
    let world = try live()
    let gone = Array(world.truth().suffix(3))
    world.server.delete(conversation: world.room, ids: gone)
    let before = try world.page().coverage.deletionsAsOfUs
    try world.disconnect()
    try world.connect()
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      return answer.replacingOccurrences(
        of: "\"message_ids\":[", with: "\"message_ids\":[\(self.padded([])),")
    }
    let id = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    #expect(throws: Failure.frame("message_ids has over 10,000 entries")) { try world.run() }
    #expect(try world.client.syncStatus(id).trouble == .unavailable)
    #expect(try world.page().coverage.deletionsAsOfUs == before)
    #expect(try world.client.stats().tombstones == 0)
    #expect(try world.client.stats().framesBad == 1)
    world.alter = { $1 }
    world.advance(ms: 60_000)
    _ = try world.client.advance()
    try world.run()
    #expect(try world.cached() == world.truth())
  }

  /// The list is asked for also where nobody looks at it, by the next process too, and no more
  /// once it was read whole.
  @Test(arguments: [false, true]) func anUpdateOfTooManyConversationsIsAskedFor(
    _ isKilled: Bool
  ) throws {
    let folder = try TrapsRestart.Folder()
    let world = try live(file: folder.file())
    for index in 0..<130 {
      world.server.post(conversation: "c\(index)", sender: "you", payload: "\"t\"")
    }
    let items = (0..<Self.over).map { "{\"conversation_id\":\"c\($0)\"}" }
    let frame = Frames.update("many", "conversation", "update", items)
    #expect(try world.hand(frame) == .quarantined)
    if isKilled { try world.reopen() }
    world.reset()
    try world.run()
    #expect(world.asked("get_conversations").count >= 3)
    #expect(try world.client.stats().conversations == 131)
    world.reset()
    try world.reopen()
    try world.run()
    #expect(world.asked("get_conversations").isEmpty)
  }

  /// A walk through the list that was under way says nothing of what was told meanwhile.
  @Test func aListThatIsUnderWayBeginsAnew() throws {
    let world = try live()
    for index in 0..<130 {
      world.server.post(conversation: "c\(index)", sender: "you", payload: "\"t\"")
    }
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    world.reset()
    let items = (0..<Self.over).map { "{\"conversation_id\":\"c\($0)\"}" }
    _ = try world.hand(Frames.update("many", "conversation", "update", items))
    try world.run()
    #expect(world.asked("get_conversations").count >= 4)
    #expect(try world.client.stats().conversations == 131)
  }

  /// Each back-dated message splits a range: there are only so many of those.
  @Test func rangesAreBounded() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.page().coverage.whole)
    for part in 0..<2 {
      let items = (0..<2_500).map { index in
        Frames.message(
          "old \(part) \(index)",
          atUs: World.epochUs - 86_400_000_000_000
            + Int64(index * 3 + part) * 10_000_000)
      }
      _ = try world.hand(Frames.update("part \(part)", "message", "new", items))
    }
    #expect(try world.page().coverage.gaps.count >= Limits.spansMax)
    #expect(try world.cached().count == 5_130)
    #expect(try world.lies() == [])
  }

  /// Conversations that nobody knows are not made, and more than are counted doubt all.
  @Test func manyConversationsInOneFrame() throws {
    let world = try live()
    let gone = Array(world.truth().suffix(7))
    world.server.delete(conversation: world.room, ids: gone)
    func item(_ conversation: String, _ id: String) -> String {
      "{\"conversation_id\":\"\(conversation)\",\"message_id\":\"\(id)\"}"
    }
    let items = (0..<(2 * Self.over)).map { item("c\($0)", "m") } + gone.map { item("room", $0) }
    #expect(try world.hand(Frames.update("many", "message", "delete", items)) == .quarantined)
    #expect(try world.client.stats().conversations == 1)
    #expect(try world.replies() == ["many"])
    try world.run()
    #expect(try world.cached() == world.truth())
  }

  /// As many receipts of one message as an update may have are one change of it.
  @Test func manyReceiptsOfOneMessageAreOneChange() throws {
    let world = try live()
    let id = try #require(world.truth().last)
    let items = (0..<Limits.listItemsMax).map {
      "{\"conversation_id\":\"room\",\"message_id\":\"\(id)\",\"user_id\":\"r\($0)\"}"
    }
    #expect(try world.hand(Frames.update("r", "receipt", items)) == .applied)
    let names = try #require(try world.readers(id))
    #expect(names.contains("\"r0\"") && names.contains("\"r9999\""))
    #expect(names.split(separator: ",").count == Limits.listItemsMax)
    // The same for a message that is not known yet.
    let unknown = items.map { $0.replacingOccurrences(of: id, with: "later") }
    #expect(try world.hand(Frames.update("s", "receipt", unknown)) == .applied)
    try world.hand(Frames.push(Frames.message("later", atUs: world.server.nowUs + 1)))
    #expect(try world.readers("later")?.split(separator: ",").count == Limits.listItemsMax)
  }

  /// More copies of one message than are read: the rest is set aside, and asked for.
  @Test(arguments: [false, true]) func manyCopiesOfOneMessage(_ areApart: Bool) throws {
    let world = try live()
    let stamp = world.server.nowUs + 1_000_000
    func copies(_ count: Int) -> [String] {
      (0..<count).flatMap { number in
        let copy = Frames.message("m", atUs: stamp, more: ",\"version\":\(number)")
        let other = Frames.message("o\(number)", atUs: stamp)
          .replacingOccurrences(of: "\"room\"", with: "\"other\"")
        return areApart ? [copy, other] : [copy]
      }
    }
    #expect(try world.hand(Frames.update("few", "message", copies(16))) == .applied)
    #expect(try world.hand(Frames.update("many", "message", copies(130))) == .quarantined)
    let most = UInt64(130 - Limits.copiesMax)
    let taken = try world.client.stats().quarantined
    #expect(most - UInt64(Limits.copiesMax) <= taken && taken <= most)
    #expect(try poisons(world) == 1)
    world.reset()
    try world.run()
    #expect(!world.asked("get_messages").isEmpty)
  }

  /// Of many sets of reactions, or pins, of one message in an update one is written.
  @Test func theLastOfManyReactionsStands() throws {
    let world = try live()
    let id = try #require(world.truth().last)
    func set(_ name: String, _ more: String) -> String {
      "{\"conversation_id\":\"room\",\"message_id\":\"\(id)\","
        + "\"reactions\":{\"\(name)\":[\"you\"]}\(more)}"
    }
    let plain = (0..<130).map { set("n\($0)", "") }
    try world.hand(Frames.update("a", "reaction", plain))
    #expect(try world.reactions(id) == "{\"n129\":[\"you\"]}")
    let counted = (0..<130).map { set("v\($0)", ",\"version\":\(200 - $0)") }
    try world.hand(Frames.update("b", "reaction", counted))
    #expect(try world.reactions(id) == "{\"v0\":[\"you\"]}")
    let pins = (0..<131).map {
      "{\"conversation_id\":\"room\",\"message_id\":\"\(id)\",\"pinned\":\($0 % 2 == 0)}"
    }
    try world.hand(Frames.update("c", "pin", pins))
    #expect(try world.isPinned(id))
  }
}
