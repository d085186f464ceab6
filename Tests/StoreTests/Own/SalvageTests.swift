/// A salvage where more than pages is lost: the marks of the log, or both copies of the header; and
/// of a file that is an older one.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct SalvageTests {
  private let disk = FaultVFS()
  private let fixture: Fixture
  private let cid: Int64

  /// Messages in the main file, and more in the log.
  init() throws {
    fixture = try Fixture(.file, baseVFS: disk.name)
    cid = try fixture.conversation()
    try fixture.apply((0..<50).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    try fixture.reopen()
    try fixture.apply((50..<100).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: cid, target: bytes("s"), clientID: bytes("s")))
    }
    disk.die(atWrite: 1)
    fixture.store.close()
    disk.revive()
  }

  private func change(_ body: (inout Data) -> Void) throws {
    let url = URL(fileURLWithPath: fixture.path)
    var bytes = try Data(contentsOf: url)
    body(&bytes)
    try bytes.write(to: url)
  }

  private func salvage(_ change: (inout StoreConfig) -> Void = { _ in }) throws -> Salvaged {
    let saved = fixture.path + ".saved"
    for end in ["", "-wal", "-own"] { try? FileManager.default.removeItem(atPath: saved + end) }
    var config = fixture.config
    change(&config)
    let work = try SalvagedFile(config, to: saved)
    while try !work.step() {}
    return work.found
  }

  /// Protects: what only the log has is saved where no mark says which log it is.
  @Test func aLogWithoutAMarkIsRead() throws {
    try change { bytes in
      for copy in [0, 4096] { bytes[copy + 2048] ^= 1 }
    }
    #expect(throws: StoreFailure.damaged) { try MessageStore.open(fixture.config) }
    let found = try salvage()
    #expect(found.messages == 100)
    #expect(found.putBack.isEmpty)
  }

  /// Protects: where both copies of the header are lost, that of the file of own work opens it.
  @Test(arguments: [false, true]) func theHeaderBesideTheFileOpensIt(_ hasOwn: Bool) throws {
    try change { bytes in
      bytes.replaceSubrange(0..<8192, with: [UInt8](repeating: 7, count: 8192))
    }
    if !hasOwn {
      try FileManager.default.removeItem(atPath: fixture.path + "-own")
      #expect(throws: StoreFailure.notOurs) { _ = try salvage() }
      return
    }
    #expect(throws: StoreFailure.notOurs) { try MessageStore.open(fixture.config) }
    #expect(try salvage().messages == 100)
    #expect(throws: StoreFailure.vault(.wrongKey)) {
      _ = try salvage { config in
        config.kind = .file(
          path: fixture.path, key: HostKey([UInt8](repeating: 8, count: 32)), create: false,
          strict: false, baseVFS: disk.name)
      }
    }
    // It is not that of another file.
    try change { bytes in
      bytes.replaceSubrange(8192..., with: [UInt8](repeating: 7, count: bytes.count - 8192))
    }
    try FileManager.default.removeItem(atPath: fixture.path + "-wal")
    #expect(throws: StoreFailure.damaged) { _ = try salvage() }
  }

  /// Protects: a host that keeps the newest commit is not given an older file for it.
  @Test func anOlderFileIsRefused() throws {
    try fixture.reopen()
    let last = fixture.store.lsn
    fixture.store.close()
    for (least, isRefused) in [(last, false), (last + 1, true)] {
      func change(_ config: inout StoreConfig) {
        config.leastCommit = least
        config.refusesLoss = true
      }
      if isRefused {
        #expect(throws: StoreFailure.vault(.lost)) { _ = try salvage(change) }
        #expect(!FileManager.default.fileExists(atPath: fixture.path + ".saved"))
      } else {
        #expect(try salvage(change).messages == 100)
      }
    }
  }

  /// Protects: after a sync of the log has failed, nothing is known to be on disk, whatever is
  /// synced later.
  @Test func aSyncThatFailedIsNotMadeUpFor() throws {
    try fixture.reopen()
    let before = fixture.store.syncedCommit
    _ = try fixture.conversation("other")
    disk.failSyncs(true)
    #expect(throws: StoreFailure.self) { try fixture.store.syncDurable() }
    disk.failSyncs(false)
    try fixture.store.writer.withLock { writer in
      _ = try? writer.connection?.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }
    #expect(throws: StoreFailure.self) { try fixture.store.syncDurable() }
    #expect(fixture.store.syncedCommit == before)
  }
}
