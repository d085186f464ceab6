/// The process is killed, on the real file: what was committed is there, nothing else.
///
/// A kill is played by copying the files as they lie and opening the copy; the old
/// client is not closed before, so nothing that only closing writes can help.
import Base
import Engine
import Foundation
import ReferenceServer
import Store
import Testing

@Suite struct TrapsRestart {
  /// A directory of its own, removed at the end.
  final class Folder {
    let path = FileManager.default.temporaryDirectory.path + "/traps-" + UUID().uuidString
    private var count = 0
    private var dead: [Client] = []

    init() throws {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true)
    }

    deinit {
      for client in dead { client.close() }
      try? FileManager.default.removeItem(atPath: path)
    }

    private let key = HostKey([UInt8](repeating: 0x5A, count: 32))

    func file() -> ClientConfig.File {
      .path(path + "/\(count).tide", key: key, create: true, strict: false)
    }

    var storePath: (path: String, key: HostKey) { (path + "/\(count).tide", key) }

    /// The process dies; another one opens what is on the disk.
    func kill(_ world: World, keeping ends: [String] = ["", "-wal"]) throws {
      let old = path + "/\(count).tide"
      count += 1
      for suffix in ends where FileManager.default.fileExists(atPath: old + suffix) {
        try FileManager.default.copyItem(
          atPath: old + suffix, toPath: path + "/\(count).tide" + suffix)
      }
      dead.append(world.client)
      world.config.file = file()
      world.client = try Client.open(world.config)
    }
  }

  private func world(_ kind: ServerKind, _ folder: Folder) throws -> World {
    try World(knobs: kind.knobs, profile: kind.profile, file: folder.file())
  }

  /// A kill after every single frame of a catch-up.
  @Test(arguments: ServerKind.all)
  func t28_aKillAfterAnyFrameLosesNothing(_ kind: ServerKind) throws {
    let folder = try Folder()
    let world = try world(kind, folder)
    world.post(60)
    try world.connect()
    try world.sync()
    try folder.kill(world)
    try world.missing(130)
    let gone = Array(world.server.newestIDs(world.room, 140).suffix(2))
    world.server.delete(conversation: world.room, ids: gone)
    for length in 1...12 {
      _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
      var seen = 0
      try world.run { _, _ in
        seen += 1
        return seen > length
      }
      let before = try world.cached()
      try folder.kill(world)
      #expect(try world.cached() == before)
      #expect(try world.lies().filter { $0.hasPrefix("lacks") } == [])
      try world.client.connected()
    }
    try world.sync()
    #expect(try world.tailFaults(130) == [])
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.lies() == [])
  }

  /// Marks made offline outlive the process, are sent once, and never after.
  @Test(arguments: ServerKind.few)
  func t16_marksMadeOfflineOutliveTheProcess(_ kind: ServerKind) throws {
    let folder = try Folder()
    let world = try world(kind, folder)
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    try world.client.disconnected()
    let ids = world.server.newestIDs(world.room, 130)
    try world.client.markRead(
      conversation: Array("room".utf8), ids: ids.map { Array($0.utf8) })
    try folder.kill(world)
    #expect(try world.client.state().readsPending == 130)
    world.reset()
    try world.client.connected()
    try world.run()
    #expect(world.asked("mark_read").count == 1)
    #expect(ids.allSatisfy { world.requests[0].contains($0) })
    try folder.kill(world)
    #expect(try world.client.state().readsPending == 0)
    world.reset()
    try world.client.connected()
    try world.sync()
    #expect(world.asked("mark_read").isEmpty)
    #expect(try world.page().rows.suffix(130).allSatisfy { $0.flags & MessageBit.unread == 0 })
  }

  /// One answer after a restore was heard when the process dies. The next process knows what is in
  /// doubt, believes the restore by its own answer, and takes back what is no longer so.
  @Test(arguments: ServerKind.all)
  func t31_aRestoreIsBelievedAcrossAKill(_ kind: ServerKind) throws {
    let folder = try Folder()
    let world = try world(kind, folder)
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    let survivor = world.server.newestIDs(world.room, 50)[49]
    let backup = world.server.backup()
    world.server.delete(conversation: world.room, ids: [survivor])
    world.advance(ms: 60_000)
    world.post(3)
    try world.sync()
    #expect(try world.cached() == world.truth())
    world.server.restore(backup)
    world.advance(ms: 60_000)
    try world.sync()
    #expect(try world.client.stats().restores == 0)
    try folder.kill(world)
    try world.client.connected()
    try world.sync()
    #expect(try world.client.stats().restores == 1)
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.cached().contains(survivor))
    #expect(try world.lies() == [])
  }

  /// What was forgotten stays forgotten.
  @Test(arguments: ServerKind.few)
  func whatWasForgottenStaysAwayAfterARestart(_ kind: ServerKind) throws {
    let folder = try Folder()
    let world = try world(kind, folder)
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    let id = world.server.newestIDs(world.room, 3)[2]
    try world.client.forget(conversation: Array("room".utf8), id: Array(id.utf8))
    try folder.kill(world)
    try world.client.connected()
    try world.sync()
    #expect(try world.cached() == world.truth().filter { $0 != id })
  }

  /// A cursor that is gone means unknown: nothing is claimed, all is looked at again,
  /// and what vanished without a trace meanwhile is found.
  @Test(arguments: ServerKind.all)
  func t32_aLostCursorMeansAFullFetch(_ kind: ServerKind) throws {
    let folder = try Folder()
    let world = try world(kind, folder)
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try folder.kill(world)
    world.client.close()
    let (path, key) = folder.storePath
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: key, create: false, strict: false, baseVFS: nil),
        account: Array("personal".utf8), user: Array("me".utf8)))
    try store.write { tx throws(StoreFailure) in
      guard var record = try tx.conversation(Array("room".utf8)) else { return }
      record.fetch = nil
      try tx.save(record)
    }
    store.close()
    world.client = try Client.open(world.config)
    #expect(try world.cached() == world.truth())
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unverified != 0 })
    world.post(130)
    // Far below the newest page: only a full walk can show it.
    let imported = world.put("\"imported\"", agoMs: 200_000)
    try world.client.connected()
    world.reset()
    try world.sync()
    #expect(!world.requests[0].contains("after_ts"))
    #expect(try world.lies() == [])
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.cached().contains(imported))
    #expect(try world.lies() == [])
  }
}
