/// A disk that is full or cannot read, under a whole client: what it says, and what still works.
import Engine
import Foundation
import ReferenceServer
import TestSupport
import Testing

@Suite struct DiskTroubles {
  private func world(_ folder: TrapsRestart.Folder, _ disk: FaultVFS) throws -> World {
    let world = try World.forgetful(file: folder.file()) { $0.baseVFS = disk.name }
    world.post(20)
    try world.connect()
    try world.sync()
    return world
  }

  /// Protects: a full disk does not take the cache from the user. A send was under way, a fetch
  /// waited and a reply was pending when the process died, each of which the opening used to note.
  @Test func aFullDiskCanBeReadWhileSendsAreUnderWay() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try world(folder, disk)
    try world.say("one", as: "c1")
    try world.say("two", as: "c2")
    try world.perform(#"{"type":"get_conversation","conversation_id":"room"}"#)
    // The first is handed out and never answered.
    let frame = try #require(try world.client.nextFrame())
    _ = try world.client.frameSent(frame.id)
    let before = try world.seen().map(\.text)
    disk.fillDisk()
    try folder.kill(world)
    #expect(try world.seen().map(\.text) == before)
    // That it may have arrived is to be written down, and is once something can be.
    let states = try world.states().suffix(2)
    #expect(Array(states) == [.inFlight, .queued])
    #expect(throws: Failure.noRoomOnDisk) { try world.say("three", as: "c3") }
    #expect(try world.seen().map(\.text) == before)
    // What goes out is written down first, so nothing goes.
    try world.connect()
    var frames: [String] = []
    do {
      while let next = try world.client.nextFrame() {
        frames.append(String(decoding: next.bytes, as: UTF8.self))
      }
    } catch {
      #expect(error == .noRoomOnDisk)
    }
    #expect(!frames.contains { $0.contains("send_message") })
    disk.fillDisk(false)
    try world.client.connected()
    #expect(try Array(world.states().suffix(2)) == [.unknown, .queued])
    try folder.kill(world)
    #expect(try Array(world.states().suffix(2)) == [.unknown, .queued])
    try world.connect()
    // What was sent is looked for, and only then the next one goes.
    world.advance(ms: 60_000)
    _ = try world.client.advance()
    try world.run()
    #expect(world.served() == ["two"])
  }

  /// Protects: a backup with a message that waits can be read on a full disk. The message is looked
  /// for before it is sent, once there is room to write that down, also after another opening.
  // header: "On a full disk a file opens and can be read."
  @Test(arguments: [false, true]) func aBackupCanBeReadOnAFullDisk(_ opensAgain: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try world(folder, disk)
    try world.disconnect()
    let said = try world.say("hello")
    let before = try world.seen().map(\.text)
    let copy = folder.path + "/copy.tide"
    let work = try Backup(world.client).start(copy)
    while try !work.step(milliseconds: 0).isDone {}
    try world.connect()
    try world.run()
    #expect(world.served() == ["hello"])
    world.client.close()
    world.advance(ms: 130_000)
    world.config.file = .path(copy, key: folder.storePath.key, create: false, strict: true)
    disk.fillDisk()
    for _ in 0...(opensAgain ? 1 : 0) {
      world.client.close()
      world.client = try Client.open(world.config)
      #expect(try world.seen().map(\.text) == before)
      #expect(try world.standing(said.operation) == .queued)
      try world.connect()
      while let next = try? world.client.nextFrame() {
        #expect(!String(decoding: next.bytes, as: UTF8.self).contains("send_message"))
      }
      try world.disconnect()
    }
    disk.fillDisk(false)
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
    // It is no copy any more, so what waits is sent at once.
    try world.disconnect()
    try world.say("later")
    world.client.close()
    world.client = try Client.open(world.config)
    try world.connect()
    try world.run()
    #expect(world.served() == ["hello", "later"])
  }

  /// Protects: a disk that cannot read is never told as damage by a client.
  @Test func aReadThatFailsIsNeverDamage() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try world(folder, disk)
    try world.say("one", as: "c1")
    disk.die(atWrite: 1)
    world.client.close()
    disk.revive()
    let files = DiskImage(paths: [folder.storePath.path, folder.storePath.path + "-wal"])
    var failures = 0
    for read in 1... {
      files.write(replacing: "", with: "")
      disk.reset()
      disk.failRead(read)
      do throws(Failure) {
        let client = try Client.open(world.config)
        defer { client.close() }
        let page = try client.messages(MessageQuery(conversation: Array("room".utf8), limit: 100))
        #expect(page.rows.count == 21)
        if disk.counts.reads < read { break }
      } catch {
        failures += 1
        guard case .storage = error else {
          Issue.record("read \(read): \(error)")
          continue
        }
      }
    }
    #expect(failures > 5)
  }
}
