/// What is left of a file, read into a new one: on a full disk, of a file that was cut, and of one
/// that may only be read.
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
    #expect(whole.files[path + "-wal"]?.isEmpty == false)
    for size in [12_287, 9_000, 8_192, 8_191, 4_096, 4_095, 0] {
      var cut = whole
      cut.files[path] = Array(bytes.prefix(size))
      cut.write(replacing: "", with: "")
      let target = folder.path + "/saved\(size)"
      if size < 4_096 {
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
