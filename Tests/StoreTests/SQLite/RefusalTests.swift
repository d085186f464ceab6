import TestSupport
/// What a store says of a file that it cannot have, and what it leaves there.
import Testing

@testable import Store

@Suite struct RefusalTests {
  /// Two messages in a file, after a kill, with its log, or closed, without one.
  private func left(
    _ fixture: Fixture, _ disk: FaultVFS, withLog: Bool, change: StaticString? = nil
  ) throws -> DiskImage {
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    if let change {
      // It ends the transaction, so that the store finds none to commit.
      _ = try? fixture.write { tx throws(StoreFailure) in try tx.connection.execute(change) }
    }
    if withLog { disk.die(atWrite: 1) }
    fixture.store.close()
    disk.revive()
    let image = DiskImage(paths: [fixture.path, fixture.path + "-wal"])
    #expect((image.files[fixture.path + "-wal"] != nil) == withLog)
    return image
  }

  /// Opens what is at `path`, twice, and expects a failure that changes no byte and no name.
  private func expectRefusal(
    _ failure: StoreFailure, _ path: String, _ config: StoreConfig
  ) throws {
    let names = [path, path + "-wal", path + "-new", path + "-journal", path + "-shm"]
    let before = DiskImage(paths: names).files
    for _ in 0..<2 {
      #expect(throws: failure) { _ = try MessageStore.open(config) }
      let isSame = DiskImage(paths: names).files == before
      #expect(isSame)
    }
  }

  /// Protects: each refused opening leaves file and log as they are, byte for byte. A file of
  /// another user, of a later version, or of another program is not ours to check in.
  @Test(arguments: [true, false])
  func aRefusalLeavesTheFileAndItsLog(_ withLog: Bool) throws {
    for change in [nil, "PRAGMA user_version = 99; COMMIT", "PRAGMA application_id = 7; COMMIT"]
      as [StaticString?]
    {
      let disk = FaultVFS()
      let fixture = try Fixture(.file, baseVFS: disk.name)
      let image = try left(fixture, disk, withLog: withLog, change: change)
      let path = fixture.path + "2"
      image.write(replacing: fixture.path, with: path)
      var config = fixture.config
      guard case .file(_, let key, _, let strict, let base) = config.kind else { return }
      config.kind = .file(path: path, key: key, create: true, strict: strict, baseVFS: base)
      switch change?.description {
      case nil:
        var other = config
        other.user = bytes("another")
        try expectRefusal(.mismatch(.user), path, other)
        other = config
        other.account = bytes("another")
        try expectRefusal(.mismatch(.account), path, other)
        other = config
        other.positionKind = 1
        try expectRefusal(.mismatch(.positionKind), path, other)
      case "PRAGMA user_version = 99; COMMIT": try expectRefusal(.tooNew, path, config)
      default: try expectRefusal(.notOurs, path, config)
      }
    }
  }

  /// Protects: a read that fails is never told as damage by the store, at the opening and in use.
  @Test func aReadThatFailsIsNeverDamage() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    let cid = try fixture.conversation()
    for step in 0..<40 { try fixture.apply([message("m\(step)", at: Int64(step))], cid) }
    disk.die(atWrite: 1)
    fixture.store.close()
    disk.revive()
    let image = DiskImage(paths: [fixture.path, fixture.path + "-wal"])
    let path = fixture.path + "2"
    var config = fixture.config
    guard case .file(_, let key, _, let strict, let base) = config.kind else { return }
    config.kind = .file(path: path, key: key, create: false, strict: strict, baseVFS: base)
    var failures = 0
    for read in 1... {
      image.write(replacing: fixture.path, with: path)
      disk.reset()
      disk.failRead(read)
      do throws(StoreFailure) {
        let store = try MessageStore.open(config)
        defer { store.close() }
        let rows = try store.readBeside(
          failure: { $0 },
          { rx throws(StoreFailure) in
            try rx.messages(RowQuery(cid: cid, from: .oldest, limit: 100)).rows.count
          })
        #expect(rows == 40)
        if disk.counts.reads < read { break }
      } catch {
        failures += 1
        guard case .vault(.io) = error else {
          Issue.record("read \(read): \(error)")
          continue
        }
      }
    }
    #expect(failures > 10)
  }
}
