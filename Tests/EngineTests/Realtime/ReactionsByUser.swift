/// Servers that tell who has reacted, and not the whole set.
///
/// Rule protected: what one user did is laid over what is known, stays where a page was asked for
/// before it, and goes where a newer page shows otherwise.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ReactionsByUser {
  private func world() throws -> (World, [String]) {
    let world = try ServerKind.all[0].world()
    let posted = world.post(10, everyMs: 2_000)
    try world.connect()
    try world.sync()
    return (world, posted)
  }

  private func pushReaction(
    _ world: World, _ id: String, _ user: String, _ reaction: String = "x", isAdded: Bool = true,
    version: Int? = nil
  ) throws {
    let more = version.map { ",\"version\":\($0)" } ?? ""
    let push = """
      {"type":"message_reacted","conversation_id":"room","message_id":"\(id)","user_id":"\(user)",\
      "reaction":"\(reaction)","added":\(isAdded)\(more)}
      """
    _ = try world.client.receive(Array(push.utf8))
  }

  private func reactions(_ world: World, _ id: String) throws -> String {
    let page = try world.page()
    let row = try #require(page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == id })
    return String(decoding: page[row.reactions], as: UTF8.self)
  }

  @Test func oneUserAfterAnother() throws {
    let (world, posted) = try world()
    try pushReaction(world, posted[4], "a")
    try pushReaction(world, posted[4], "b")
    try pushReaction(world, posted[4], "b")
    try pushReaction(world, posted[4], "a", "y")
    #expect(try reactions(world, posted[4]) == #"{"x":["a","b"],"y":["a"]}"#)
    try pushReaction(world, posted[4], "a", isAdded: false)
    try pushReaction(world, posted[4], "b", isAdded: false)
    #expect(try reactions(world, posted[4]) == #"{"y":["a"]}"#)
    try pushReaction(world, posted[4], "a", "y", isAdded: false)
    #expect(try reactions(world, posted[4]) == "")
  }

  /// By the message's version an older change is known for one, also where a page had it first.
  @Test func anOlderChangeChangesNothing() throws {
    let (world, posted) = try world()
    try pushReaction(world, posted[4], "a", isAdded: false, version: 6)
    try pushReaction(world, posted[4], "a", version: 5)
    #expect(try reactions(world, posted[4]) == "")
    let whole = """
      {"type":"message_reacted","conversation_id":"room","message_id":"\(posted[5])",\
      "reactions":{"x":["b"]},"version":8}
      """
    _ = try world.client.receive(Array(whole.utf8))
    try pushReaction(world, posted[5], "a", version: 7)
    #expect(try reactions(world, posted[5]) == #"{"x":["b"]}"#)
  }

  /// A page that was asked for before the change, and shows the set without it.
  @Test func aPageOnItsWayDoesNotUndoIt() throws {
    let (world, posted) = try world()
    world.server.react(conversation: world.room, id: posted[9], user: "b", reaction: "x")
    world.advance(ms: 1_000)
    world.alter = { request, answer in
      if request.contains("get_messages") { try? pushReaction(world, posted[9], "a") }
      return answer
    }
    try world.client.disconnected()
    try world.client.connected()
    try world.sync()
    #expect(try reactions(world, posted[9]) == #"{"x":["b","a"]}"#)
    world.alter = { $1 }
    // One that is asked for later is right, whatever it shows.
    world.advance(ms: 1_000)
    try world.client.disconnected()
    try world.client.connected()
    try world.sync()
    #expect(try reactions(world, posted[9]) == #"{"x":["b"]}"#)
  }

  /// Its message is not known yet: it comes by a page that was asked for before, or by a push.
  @Test func itWaitsForItsMessage() throws {
    let (world, _) = try world()
    var late = world.post(1)
    world.alter = { request, answer in
      if request.contains("get_messages") { try? pushReaction(world, late[0], "a") }
      return answer
    }
    try world.sync()
    #expect(try reactions(world, late[0]) == #"{"x":["a"]}"#)
    world.alter = { $1 }
    late = world.post(1)
    try pushReaction(world, late[0], "b")
    let push = """
      {"type":"message_new","conversation_id":"room","message":{"message_id":"\(late[0])",\
      "sender_id":"you","created_at":"2026-02-15T22:17:00","payload":"late"}}
      """
    _ = try world.client.receive(Array(push.utf8))
    #expect(try reactions(world, late[0]) == #"{"x":["b"]}"#)
  }
}
