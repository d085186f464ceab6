/// A client that rests, whole: what goes on meanwhile, and what a kill and another holder leave.
import Base
import Engine
import Foundation
import ReferenceServer
import TestSupport
import Testing

@Suite struct ClientRest {
  /// Protects: a connection, the requests on it and the screens outlive any number of rests, and
  /// nothing is asked that would not be asked otherwise.
  @Test(arguments: ServerKind.all)
  func whatIsUnderWayGoesOn(_ kind: ServerKind) throws {
    let (open, none) = try day(kind, rests: false)
    let (rested, rests) = try day(kind, rests: true)
    #expect(none == 0 && rests > 10)
    #expect(rested == open)
  }

  /// What a day of syncs and a screen shows, how many requests it took, and how often it rested.
  private func day(_ kind: ServerKind, rests: Bool) throws -> (seen: [String], rests: Int) {
    let folder = try TrapsRestart.Folder()
    let world = try World(knobs: kind.knobs, profile: kind.profile, file: folder.file())
    world.post(60)
    var count = 0
    func rest() { if rests, (try? world.client.rest()) ?? false { count += 1 } }
    world.before = { _, _ in rest() }
    func run() throws {
      try world.run { _, _ in
        rest()
        return false
      }
      rest()
    }
    try world.connect()
    let screen = try world.window()
    for kind in [SyncRequest.Kind.latest, .older, .latest] {
      _ = try screen.poll()
      rest()
      _ = try world.client.sync(
        SyncRequest(conversation: Array("room".utf8), kind: kind, want: 200))
      try run()
      _ = try screen.poll()
      world.post(30)
    }
    try screen.settle(world)
    let rows = screen.numbers.map { "\($0)" }
    return (try world.cached() + rows + ["\(world.requests.count)"], count)
  }

  /// Protects: a reply that was sent before a rest is not sent once more after a kill.
  @Test func aReplyIsRememberedBeforeARest() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    let at = World.epochUs
    try world.hand(Frames.update("r1", "message", [Frames.message("m1", atUs: at)]))
    let frame = try #require(try world.client.nextFrame())
    #expect(try world.client.frameSent(frame.id))
    #expect(try world.client.rest())
    try folder.kill(world)
    try world.client.connected()
    #expect(try world.client.nextFrame() == nil)
  }

  /// Protects: what another holder of a name has taken is not opened again.
  @Test func aNameThatIsLostIsToldAsItIsOtherwise() throws {
    let storage = MemoryStorage()
    let file = ClientConfig.File.path(
      "eva", key: HostKey(Array(1...32)), create: true, strict: false)
    let world = try World.forgetful(file: file) { $0.storage = storage }
    world.post(20)
    try world.connect()
    try world.sync()
    let seen = try world.seen().map(\.text)
    #expect(try world.client.rest())
    #expect(storage.isHeld("eva"))
    #expect(try world.seen().map(\.text) == seen)
    #expect(try world.client.rest())
    storage.takeOver("eva")
    #expect(throws: Failure.locked) { _ = try world.seen() }
    #expect(throws: Failure.locked) { try world.client.rest() }
    #expect(throws: Failure.locked) { try world.say("late", as: "late") }
    world.client.close()
    world.client = try Client.open(world.config)
    #expect(try world.seen().map(\.text) == seen)
  }
}
