/// An edit that was pushed is not undone by a copy from before it that comes late.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct LateCopies {
  /// What an edit says of itself: nothing, when, which version, both.
  enum Said: CaseIterable {
    case nothing, when, version, both

    func more(_ atUs: Int64) -> String {
      let when = #","edited_at":"\#(Frames.time(atUs))""#
      return switch self {
      case .nothing: ""
      case .when: when
      case .version: #","version":2"#
      case .both: when + #","version":2"#
      }
    }
  }

  private func text(_ id: String, _ world: World) throws -> String? {
    try world.shown(id).map { String(decoding: $0.page[$0.view.payload], as: UTF8.self) }
  }

  private func edited(_ id: String, _ world: World, _ said: Said) -> String {
    let at = world.server.nowUs
    return Frames.edit(
      Frames.message(id, atUs: at, payload: "\"new\"", more: said.more(at + 1_000_000)))
  }

  /// Takes the next request and gives what the server answers to it now, unheard.
  private func underWay(_ world: World) throws -> [[UInt8]] {
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    return world.server.handle(frame.bytes, user: "me")
  }

  /// A page that was under way when the edit came, of a message that is in the file or not.
  @Test(arguments: Said.allCases, [false, true])
  func aPageUnderWay(_ said: Said, _ isStored: Bool) throws {
    let world = try World()
    world.post(3)
    try world.connect()
    if isStored { try world.sync() }
    let id = try #require(world.truth().last)
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8), kind: .live))
    let answers = try underWay(world)
    try world.hand(edited(id, world, said))
    #expect(try text(id, world) == "\"new\"")
    for answer in answers { _ = try world.client.receive(answer) }
    #expect(try text(id, world) == "\"new\"")
  }

  /// The row went between the edit and the page, which is of before both.
  @Test(arguments: Said.allCases, ["drop", "drop all", "clear"])
  func aPageUnderWayBehindARowThatWent(_ said: Said, _ way: String) throws {
    let world = try World()
    world.post(3)
    try world.connect()
    let id = try #require(world.truth().last)
    let room = Array("room".utf8)
    _ = try world.client.sync(SyncRequest(conversation: room, kind: .live))
    let answers = try underWay(world)
    try world.hand(edited(id, world, said))
    switch way {
    case "drop": try world.client.drop(conversation: room, id: Array(id.utf8))
    case "drop all": try world.client.drop(conversation: room, id: [])
    default: try world.client.clear()
    }
    for answer in answers { _ = try world.client.receive(answer) }
    let shown = try text(id, world)
    #expect(shown == nil || shown == "\"new\"")
  }

  /// The push that tells it as new, behind the one that tells the edit and says so.
  @Test(arguments: [Said.when, .version, .both], [false, true])
  func thePushOfTheFirstCopy(_ said: Said, _ isStored: Bool) throws {
    let world = try World()
    world.post(3)
    try world.connect()
    if isStored { try world.sync() }
    let id = try #require(world.truth().last)
    let first = Frames.message(
      id, atUs: world.server.nowUs, payload: "\"old\"",
      more: said == .version || said == .both ? #","version":1"# : "")
    try world.hand(edited(id, world, said))
    try world.hand(Frames.push(first))
    #expect(try text(id, world) == "\"new\"")
    // Also where what it tells of the version is missing.
    try world.hand(Frames.push(Frames.message(id, atUs: world.server.nowUs, payload: "\"old\"")))
    #expect(try text(id, world) == "\"new\"")
  }

  /// The later of two updates came first.
  @Test(arguments: [Said.when, .version, .both]) func anUpdateThatOvertook(_ said: Said) throws {
    let world = try World()
    try world.connect()
    let at = World.epochUs
    let new = Frames.message("a", atUs: at, payload: "\"new\"", more: said.more(at + 1_000_000))
    try world.hand(Frames.update("r2", "message", "update", [new]))
    try world.hand(Frames.update("r1", "message", [Frames.message("a", atUs: at)]))
    #expect(try text("a", world) == "\"new\"")
  }

  /// Where no copy says anything of an edit, what came last is taken.
  @Test func withoutAWordOfAnEditTheLastIsTaken() throws {
    let world = try World()
    try world.connect()
    let at = World.epochUs
    try world.hand(Frames.push(Frames.message("a", atUs: at, payload: "\"one\"")))
    try world.hand(Frames.edit(Frames.message("a", atUs: at, payload: "\"two\"")))
    try world.hand(Frames.edit(Frames.message("a", atUs: at, payload: "\"three\"")))
    #expect(try text("a", world) == "\"three\"")
    try world.hand(Frames.push(Frames.message("a", atUs: at, payload: "\"four\"")))
    #expect(try text("a", world) == "\"four\"")
  }
}
