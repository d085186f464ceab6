/// A message that was deleted and is back under its id: an undo, mail out of the trash, a
/// moderator's restore.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ReturnedMessages {
  private func temporary() -> String {
    FileManager.default.temporaryDirectory.path + "/returned-" + UUID().uuidString
  }

  private func file(_ path: String) -> ClientConfig.File {
    .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
  }

  private func remove(_ path: String) {
    for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) }
  }

  /// Messages that are all stored, and one of them that was deleted, which the device was told.
  private func deleted(
    _ world: World, count: Int = 60, place: Int = 30
  ) throws -> String {
    let ids = world.post(count)
    try world.connect()
    try world.sync()
    for _ in 0..<3 { try world.sync(.older, want: 100) }
    #expect(try world.cached() == world.truth())
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: [ids[place]], lateUs: 0)
    world.advance(ms: 60_000)
    try world.sync()
    #expect(try world.cached() == world.truth())
    world.advance(ms: 60_000)
    return ids[place]
  }

  /// Protects: a short process that is told of the message by changes, by the count or by a page
  /// shows it again, and no later one loses it.
  @Test(arguments: [FoundServer.rich, .poor, .numbered], [(60, 30), (60, 58), (20, 5)])
  func aShortProcessShowsItAgain(_ kind: FoundServer, _ place: (Int, Int)) throws {
    let path = temporary()
    defer { remove(path) }
    let world = try kind.world(file: file(path))
    let id = try deleted(world, count: place.0, place: place.1)
    #expect(world.server.bringBack(conversation: world.room, id: id))
    for _ in 0..<2 {
      world.advance(ms: 60_000)
      try world.reopen()
      let status = try world.sync()
      #expect(status.trouble == nil)
      #expect(try world.cached() == world.truth())
      #expect(try world.page().coverage.whole)
      #expect(try world.lies() == [])
    }
    world.client.close()
  }

  /// Protects: under numbers a conversation that lacks a message which the server counts is not
  /// called whole, by whatever it was caught up with; and a full sync ends with that message.
  @Test(
    arguments: [[], .before, .around, .changedSince] as [Profile.Capabilities],
    [(0, 5), (0, 30), (0, 58), (20, 5), (20, 30), (20, 58)])
  func numbersAreCountedToo(_ more: Profile.Capabilities, _ spot: (cap: Int, place: Int)) throws {
    for (kind, isLossless) in [
      (SyncRequest.Kind.latest, false), (.live, false), (.older, false), (.latest, true),
      (.live, true),
    ] {
      let path = temporary()
      defer { remove(path) }
      let world = try FoundServer.numbered.world(
        file: file(path),
        knobs: {
          $0.pageCap = spot.cap
          $0.pushIsLossless = isLossless
          $0.takesBefore = more.contains(.before)
          $0.takesAround = more.contains(.around)
          $0.tellsChanges = more.contains(.changedSince)
        },
        profile: {
          $0.capabilities.formUnion(more)
          $0.pushIsLossless = isLossless
        })
      let id = try deleted(world, place: spot.place)
      #expect(world.server.bringBack(conversation: world.room, id: id))
      for turn in 0..<2 {
        world.advance(ms: 60_000)
        try world.reopen()
        #expect(try world.sync(kind, want: 100).trouble == nil)
        let (isWhole, shown) = (try world.page().coverage.whole, try world.cached())
        if isWhole || kind != .live && turn == 1 {
          #expect(shown == world.truth(), "\(kind), \(isLossless), \(turn)")
        }
      }
      world.client.close()
    }
  }

  /// Protects: without counts the next page that shows it brings it back.
  @Test func aPageThatShowsItBringsItBack() throws {
    let path = temporary()
    defer { remove(path) }
    let world = try FoundServer.bare.world(file: file(path))
    let id = try deleted(world, count: 20, place: 17)
    #expect(world.server.bringBack(conversation: world.room, id: id))
    try world.reopen()
    #expect(try world.sync().trouble == nil)
    #expect(try world.cached() == world.truth())
    world.client.close()
  }

  /// Protects: what a connection that loses and reorders nothing pushes after the deletion is back.
  @Test(arguments: FoundServer.withPages)
  func aPushAfterTheDeletionBringsItBack(_ kind: FoundServer) throws {
    let world = try kind.world(
      knobs: { $0.pushIsLossless = true }, profile: { $0.pushIsLossless = true })
    let ids = world.post(20)
    try world.connectListening()
    try world.sync()
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: [ids[5]], lateUs: 0)
    try world.run()
    #expect(try world.cached() == world.truth())
    world.advance(ms: 60_000)
    #expect(world.server.bringBack(conversation: world.room, id: ids[5]))
    try world.run()
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
    // And goes again.
    world.server.delete(conversation: world.room, ids: [ids[5]], lateUs: 0)
    try world.run()
    #expect(try world.cached() == world.truth())
  }

  /// Protects: a copy that was asked for before the deletion was told does not bring it back, nor
  /// does a push that may have been overtaken by the deletion.
  @Test(arguments: [FoundServer.rich, .poor, .numbered])
  func anOlderCopyDoesNot(_ kind: FoundServer) throws {
    let world = try kind.world()
    let ids = world.post(20)
    try world.connect()
    try world.sync()
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8), kind: .latest))
    let asked = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(asked.id)
    let old = world.server.handle(asked.bytes, user: "me")
    let token = world.server.subscribe(user: "me")
    world.server.edit(conversation: world.room, id: ids[19], payload: "\"late\"")
    world.server.delete(conversation: world.room, ids: [ids[19]], lateUs: 0)
    for push in world.server.drain(token).reversed() { _ = try world.client.receive(push) }
    for answer in old { _ = try world.client.receive(answer) }
    #expect(try !world.cached().contains(ids[19]))
    try world.run()
    try world.sync()
    #expect(try world.cached() == world.truth())
  }
}
