/// An edit whose sender is not the message's is ignored, whichever way it comes and whenever.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct OthersEdits {
  enum Way: CaseIterable { case push, pushUnmarked, update, page, imported }

  private func text(_ id: String, _ world: World) throws -> [String] {
    let (row, page) = try #require(try world.shown(id))
    return [page[row.payload], page[row.sender]].map { String(decoding: $0, as: UTF8.self) }
  }

  private func world(othersEdit: Bool) throws -> World {
    var profile = Profile()
    profile.othersEdit = othersEdit
    let world = try World(profile: profile)
    world.post(3)
    try world.connect()
    return world
  }

  /// The message as another user would have it, marked as an edit.
  private func rewritten(_ id: String, _ world: World, _ way: Way) -> String {
    let atUs = world.server.truth("room").first { $0.id == id }?.stampUs ?? 0
    let edited = way == .pushUnmarked ? "" : ",\"edited_at\":\"\(Frames.time(atUs + 5_000_000))\""
    return Frames.message(
      id, atUs: atUs, payload: "\"rewritten\"", sender: "mallory", more: edited)
  }

  private func come(_ copy: String, _ way: Way, _ world: World) throws {
    switch way {
    case .push, .pushUnmarked: try world.hand(Frames.edit(copy))
    case .update:
      let ref = "r\(try world.client.stats().updates)"
      try world.hand(Frames.update(ref, "message", "update", [copy]))
    case .imported: try world.take([copy])
    case .page:
      world.alter = { _, answer in
        let edited = "\"rewritten\",\"edited_at\":\"\(Frames.time(World.epochUs + 9_000_000))\""
        let own = /"sender_id":"you"(,"created_at":"[^"]*","payload":)"text 2"/
        return answer.replacing(own) { "\"sender_id\":\"mallory\"\($0.1)\(edited)" }
      }
      try world.disconnect()
      try world.connect()
      try world.sync()
      #expect(world.answers.contains { $0.contains("rewritten") })
      world.alter = { $1 }
    }
  }

  /// An import never outranks what the server said, whoever edits.
  @Test(arguments: Way.allCases) func isIgnored(_ way: Way) throws {
    let world = try world(othersEdit: false)
    try world.sync()
    let id = try #require(world.truth().last)
    let before = try text(id, world)
    try come(rewritten(id, world, way), way, world)
    #expect(try text(id, world) == before)
  }

  @Test(arguments: [Way.push, .update, .imported])
  func isIgnoredBeforeItsMessage(_ way: Way) throws {
    let world = try world(othersEdit: false)
    let id = try #require(world.truth().last)
    try come(rewritten(id, world, way), way, world)
    try world.sync()
    #expect(try text(id, world) == ["\"text 2\"", "you"])
    try come(rewritten(id, world, way), way, world)
    #expect(try text(id, world) == ["\"text 2\"", "you"])
  }

  /// A moderator's, where the host says that there are some.
  @Test(arguments: [Way.push, .pushUnmarked, .update])
  func countsWhereOthersEdit(_ way: Way) throws {
    let world = try world(othersEdit: true)
    try world.sync()
    let id = try #require(world.truth().last)
    try come(rewritten(id, world, way), way, world)
    #expect(try text(id, world) == ["\"rewritten\"", "mallory"])
  }
  /// In a log an edit is an entry: in a page or pushed, before its message and behind it.
  @Test(arguments: [false, true], [false, true])
  func isIgnoredInALog(_ isPushed: Bool, _ othersEdit: Bool) throws {
    let host = try LogHost { $0.profile.othersEdit = othersEdit }
    let early = host.change(.edit, of: "m2", by: "mallory", says: "early")
    host.post("mine")
    #expect(early == "x1")
    let own = host.post("first")
    try host.client.connected()
    if isPushed { try host.sync(.live) }
    host.change(.edit, of: own, says: "second", pushes: isPushed)
    host.change(.edit, of: own, by: "mallory", says: "late", pushes: isPushed)
    try host.run()
    if !isPushed { try host.sync(.live) }
    let says = othersEdit ? [#"m2 "early""#, #"m3 "late""#] : [#"m2 "mine""#, #"m3 "second""#]
    #expect(try host.shown() == says)
  }

  /// Protects: also where only versions tell an edit, in either order.
  @Test(arguments: [true, false]) func aLaterVersionIsAnEdit(_ isFirst: Bool) throws {
    let world = try world(othersEdit: false)
    try world.sync()
    let atUs = world.server.nowUs + 1_000_000
    let copies = [("you", 1), ("mallory", 2)].map { sender, version in
      Frames.message(
        "new", atUs: atUs, payload: "\"\(sender)\"", sender: sender,
        more: ",\"version\":\(version)")
    }
    for copy in isFirst ? copies : copies.reversed() {
      try world.hand(Frames.push(copy))
    }
    #expect(try text("new", world) == ["\"you\"", "you"])
  }
}
