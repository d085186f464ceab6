/// A client on a storage of the host's: what it says once its name or its trust is gone.
import Base
import Engine
import ReferenceServer
import TestSupport
import Testing

@Suite struct LostStorage {
  private static func file() -> ClientConfig.File {
    .path("eva", key: HostKey(Array(1...32)), create: true, strict: false)
  }

  private func world(_ storage: MemoryStorage) throws -> World {
    let world = try World.forgetful(file: Self.file()) { $0.storage = storage }
    world.post(20)
    try world.connect()
    try world.sync()
    return world
  }

  /// What each kind of call says.
  private func answers(_ world: World) -> [Failure?] {
    let calls: [() throws -> Void] = [
      { _ = try world.client.nextFrame() },
      { _ = try world.client.advance() },
      { try world.client.connected() },
      { _ = try world.client.state() },
      { _ = try world.seen() },
      { try world.say("late", as: "late") },
      { try world.client.markRead(conversation: Array("room".utf8), ids: [Array("x".utf8)]) },
      { try world.client.wipe() },
    ]
    return calls.map { call in
      do {
        try call()
        return nil
      } catch {
        return error as? Failure
      }
    }
  }

  /// Protects: another holder's client hands out no frame, not even one that waited, says so in
  /// each call, and leaves the storage alone.
  @Test func whoHasLostTheNameHandsOutNothing() throws {
    let storage = MemoryStorage()
    let world = try world(storage)
    let seen = try world.seen().map(\.text)
    try world.say("one", as: "c1")
    // A request that needs no storage to go out.
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    storage.takeOver("eva")
    #expect(throws: Failure.locked) { try world.say("two", as: "c2") }
    let calls = storage.calls
    for answer in answers(world) { #expect(answer == .locked) }
    world.client.close()
    #expect(storage.calls == calls)
    #expect(throws: Failure.closed) { _ = try world.client.nextFrame() }
    world.client = try Client.open(world.config)
    #expect(try world.seen().map(\.text) == seen + ["one"])
    #expect(try world.states().last == .queued)
  }

  @Test func aReadThatFindsTheNameLostSaysSo() throws {
    let storage = MemoryStorage()
    let world = try world(storage)
    world.client.close()
    world.client = try Client.open(world.config)
    storage.takeOver("eva")
    let before = storage.calls
    #expect(throws: Failure.locked) { _ = try world.seen() }
    #expect(storage.calls > before)
    let calls = storage.calls
    for answer in answers(world) { #expect(answer == .locked) }
    world.client.close()
    #expect(storage.calls == calls)
    world.client = try Client.open(world.config)
    #expect(try world.seen().count == 20)
  }

  /// Protects: after a failed sync nothing is believed until the client is opened again.
  @Test func aSyncThatFailedIsToldUntilItIsOpenedAgain() throws {
    let storage = MemoryStorage()
    let world = try world(storage)
    try world.say("one", as: "c1")
    storage.fail(next: .sync, .failed)
    let broken = Failure.storage(1034)
    #expect(throws: broken) { try world.say("two", as: "c2") }
    let calls = storage.calls
    for answer in answers(world) { #expect(answer == broken) }
    world.client.close()
    #expect(storage.calls == calls)
    #expect(!storage.isHeld("eva"))
    world.client = try Client.open(world.config)
    #expect(try world.seen().map(\.text).contains("one"))
    try world.say("three", as: "c3")
  }

  /// Protects: an error of a write is an error of its call, and no more.
  @Test func aFullStorageIsAFullDisk() throws {
    let storage = MemoryStorage()
    let world = try world(storage)
    storage.fail(next: .write, .full)
    #expect(throws: Failure.noRoomOnDisk) { try world.say("one", as: "c1") }
    try world.say("two", as: "c2")
    #expect(try world.seen().last?.text == "two")
  }
}
