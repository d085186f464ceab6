/// What is left of a file, read into a new one: on a full disk, of a file that was cut, and of one
/// that may only be read.
import Base
import Engine
import Foundation
import TestSupport
import Testing

@Suite struct Salvages {
  private let disk = FaultVFS()

  /// A closed file with 300 messages and one that waits.
  private func closed(_ folder: TrapsRestart.Folder) throws -> World {
    let world = try World.forgetful(file: folder.file()) { $0.baseVFS = disk.name }
    world.post(300)
    try world.connect()
    try world.sync(.older, want: 300)
    try world.disconnect()
    try world.say("mine")
    return world
  }

  private func salvage(_ world: World, to path: String) throws(Failure) {
    let work = try Salvaging.start(world.config, to: path)
    while try !work.step(milliseconds: 0).isDone {}
  }

  /// How many messages the file at `path` has, that of the user included.
  private func count(_ world: World, _ path: String) throws -> Int {
    var config = world.config
    guard case .path(_, let key, _, _) = config.file else { return 0 }
    config.file = .path(path, key: key, create: false, strict: true)
    let client = try Client.open(config)
    defer { client.close() }
    #expect(try client.operations(OperationQuery(limit: 10)).rows.count == 1)
    return try client.messages(MessageQuery(conversation: Array("room".utf8), limit: 1_000))
      .rows.count
  }

  private func names(_ folder: TrapsRestart.Folder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  /// Protects: a disk that fills up at any write of a salvage is full, and nothing of it is left.
  @Test func aFullDiskIsSaidAtEachWrite() throws {
    let folder = try TrapsRestart.Folder()
    let world = try closed(folder)
    world.client.close()
    let before = try names(folder)
    let target = folder.path + "/saved"
    var failures = 0
    for write in 1...2_000 {
      disk.reset()
      disk.failWrite(write, count: 1_000_000, .fail(13))
      do throws(Failure) {
        try salvage(world, to: target)
        break
      } catch {
        #expect(error == .noRoomOnDisk, "write \(write)")
        #expect(try names(folder) == before, "write \(write)")
        failures += 1
      }
    }
    disk.reset()
    #expect(failures > 20)
    #expect(try count(world, target) == 301)
  }

  /// Protects: of a file that was cut all is saved that its log has; where no page is left in
  /// either it is damaged.
  @Test func aFileThatWasCutIsReadFromItsLog() throws {
    let folder = try TrapsRestart.Folder()
    let world = try closed(folder)
    // What a kill leaves.
    disk.die(atWrite: 1)
    world.client.close()
    disk.reset()
    let path = folder.storePath.path
    let whole = DiskImage(paths: [path, path + "-wal"])
    let bytes = try #require(whole.files[path])
    let own = try Data(contentsOf: URL(fileURLWithPath: path + "-own"))
    #expect(whole.files[path + "-wal"]?.isEmpty == false)
    for size in [12_287, 9_000, 8_192, 8_191, 4_096, 4_095, 0] {
      var cut = whole
      cut.files[path] = Array(bytes.prefix(size))
      cut.write(replacing: "", with: "")
      let target = folder.path + "/saved\(size)"
      if size < 4_096 {
        // The header of the file of own work is one more.
        try salvage(world, to: target)
        #expect(try count(world, target) == 301, "cut at \(size)")
        try FileManager.default.removeItem(atPath: target)
        try? FileManager.default.removeItem(atPath: target + "-own")
        try FileManager.default.removeItem(atPath: path + "-own")
        defer { try? own.write(to: URL(fileURLWithPath: path + "-own")) }
        #expect(throws: size == 0 ? Failure.notOurs : .damaged) { try salvage(world, to: target) }
        continue
      }
      try salvage(world, to: target)
      #expect(DiskImage(paths: [path, path + "-wal"]).files == cut.files)
      #expect(try count(world, target) == 301, "cut at \(size)")
      try FileManager.default.removeItem(atPath: path + "-wal")
      #expect(throws: Failure.damaged) { try salvage(world, to: target + "-none") }
      #expect(!FileManager.default.fileExists(atPath: target + "-none"))
    }
  }

  /// Protects: the right to read a file and its log is enough.
  // header: "The file is only read; no client may have it."
  @Test func aFileThatMayOnlyBeReadIsSalvaged() throws {
    let folder = try TrapsRestart.Folder()
    let world = try closed(folder)
    disk.die(atWrite: 1)
    world.client.close()
    disk.reset()
    let path = folder.storePath.path
    let out = folder.path + "/out"
    try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: false)
    #expect(chmod(out, 0o777) == 0)
    for name in [path, path + "-wal"] { #expect(chmod(name, 0o444) == 0) }
    #expect(chmod(folder.path, 0o555) == 0)
    defer { _ = chmod(folder.path, 0o755) }
    let before = DiskImage(paths: [path, path + "-wal"]).files
    try asNobody {
      #expect(access(path, W_OK) != 0 || geteuid() == 0)
      #expect(throws: Failure.storage(8)) { _ = try Client.open(world.config) }
      try salvage(world, to: out + "/saved")
      #expect(try count(world, out + "/saved") == 301)
    }
    #expect(DiskImage(paths: [path, path + "-wal"]).files == before)
    // Nor may a client have it meanwhile.
    for name in [folder.path, path, path + "-wal"] { #expect(chmod(name, 0o755) == 0) }
    world.client = try Client.open(world.config)
    asNobody {
      #expect(throws: Failure.locked) { try salvage(world, to: out + "/other") }
    }
    world.client.close()
  }

  /// Protects: after a loss of power the file is as it was, also where a page of it is damaged; the
  /// new one is not there, is unfinished, or has all, and has all once the work was done.
  @Test func aPowerCutLosesNothing() throws {
    let folder = try TrapsRestart.Folder()
    let world = try closed(folder)
    world.client.close()
    let path = folder.storePath.path
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    try handle.seek(toOffset: 8_192 + 4_096 * 20 + 100)
    try handle.write(contentsOf: [1, 2, 3, 4, 5])
    try handle.close()
    let before = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    let record = DiskRecord(folder.path, on: disk)
    try salvage(world, to: folder.path + "/saved")
    record.end(on: disk)
    disk.reset()
    let there = try TrapsRestart.Folder()
    var random = Random(seed: 62)
    var seen: [Bool: Int] = [:]
    try record.eachCut(rounds(10_000, least: 100), &random) { cut, left, _ in
      for (name, bytes) in left.files {
        try Data(bytes).write(to: URL(fileURLWithPath: there.path + "/" + name))
      }
      #expect(left.files[URL(fileURLWithPath: path).lastPathComponent] == before)
      let saved = there.path + "/saved"
      do throws(Failure) {
        let (messages, operations) = try found(world, saved)
        #expect(messages > 200 && operations == 1, "cut at \(cut)")
        seen[true, default: 0] += 1
      } catch {
        let isUnfinished = if case .notFound = error { true } else { error == .notOurs }
        #expect(isUnfinished, "cut at \(cut): \(error)")
        #expect(cut < record.count)
        seen[false, default: 0] += 1
      }
      for name in try FileManager.default.contentsOfDirectory(atPath: there.path) {
        try FileManager.default.removeItem(atPath: there.path + "/" + name)
      }
    }
    #expect(seen[true, default: 0] > 0 && seen[false, default: 0] > 20)
  }

  private func found(_ world: World, _ path: String) throws(Failure) -> (Int, Int) {
    var config = world.config
    config.baseVFS = nil
    guard case .path(_, let key, _, _) = config.file else { return (0, 0) }
    config.file = .path(path, key: key, create: false, strict: false)
    let client = try Client.open(config)
    defer { client.close() }
    let page = try client.messages(
      MessageQuery(conversation: Array("room".utf8), limit: 1_000))
    return (page.rows.count, try client.operations(OperationQuery(limit: 10)).rows.count)
  }

  /// Runs `body` with the rights of another user on this thread, where the process has all.
  private func asNobody(_ body: () throws -> Void) rethrows {
    typealias Call = @convention(c) (UInt32) -> Int32
    let call = dlsym(nil, "setfsuid").map { unsafeBitCast($0, to: Call.self) }
    let root = geteuid() == 0
    if root { _ = call?(65_534) }
    defer { if root { _ = call?(0) } }
    try body()
  }
}
