/// Files that earlier commits have made: a kill at any write of the way to the newest form.
import Base
import Foundation
import TestSupport
import Testing
import Vault

@testable import Store

struct FormTests {
  static let files: [String] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Boundary/forms")
    let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return all.filter { $0.hasSuffix(".tide") }.sorted().map { folder.path + "/" + $0 }
  }()

  @Test func theyAreThere() { #expect(Self.files.count >= 7) }

  /// A file, and what lies beside it of own work.
  private func copy(_ file: String, to path: String) throws {
    for end in ["", "-own"] where FileManager.default.fileExists(atPath: file + end) {
      try FileManager.default.copyItem(atPath: file + end, toPath: path + end)
    }
  }

  /// What `make_form.py` has put in, as far as the tables say it.
  private func expectAll(_ store: MessageStore, _ note: String) throws {
    try store.read { rx throws(StoreFailure) in
      let room = try rx.conversation(bytes("c"))
      let cid = room?.cid ?? 0
      let count = try rx.connection.number("SELECT count(*) FROM message WHERE cid = ?", cid)
      #expect(count == 41, "\(note)")
      let operations = try rx.operations(OperationFilter(openOnly: true, limit: 100))
      #expect(
        operations.filter { !$0.verb.isMark }.map(\.verb)
          == [.sendMessage, .editMessage, .reactMessage], "\(note)")
      #expect(try rx.pendingMarks(limit: 9).map(\.ids) == [[bytes("m04")]], "\(note)")
      let other = try rx.conversation(bytes("e"))?.cid ?? 0
      #expect(try rx.draft(other)?.body == bytes("a draft"), "\(note)")
    }
  }

  @Test(arguments: FormTests.files)
  func aKillAtEachWriteLeavesItWhole(_ file: String) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("form-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("form.tide").path
    var write = 1
    while true {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        try FileManager.default.removeItem(atPath: folder.path + "/" + name)
      }
      try copy(file, to: path)
      let disk = FaultVFS()
      let config = StoreConfig(
        kind: .file(
          path: path, key: HostKey((0..<32).map { UInt8($0) }), create: false, strict: false,
          baseVFS: disk.name),
        account: [], user: bytes("me"))
      disk.die(atWrite: write, afterBytes: write * 137 % 4_096)
      do {
        let store = try MessageStore.open(config)
        store.close()
      } catch {
        // Killed on the way.
      }
      let wasKilled = disk.isDead
      disk.revive()
      let store = try MessageStore.open(config)
      try expectAll(store, "write \(write)")
      store.close()
      if !wasKilled { break }
      write += 1
    }
    #expect(write > 1)
  }

  /// Protects: the same after a loss of power, at any event of the way.
  @Test(arguments: FormTests.files)
  func aPowerCutLeavesItWhole(_ file: String) throws {
    let folders = try (0..<2).map { _ in
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("form-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return folder.path
    }
    defer { for folder in folders { try? FileManager.default.removeItem(atPath: folder) } }
    try copy(file, to: folders[0] + "/form.tide")
    func config(_ folder: String, _ disk: FaultVFS?) -> StoreConfig {
      StoreConfig(
        kind: .file(
          path: folder + "/form.tide", key: HostKey((0..<32).map { UInt8($0) }), create: false,
          strict: false, baseVFS: disk?.name),
        account: [], user: bytes("me"))
    }
    let disk = FaultVFS()
    let record = DiskRecord(folders[0], on: disk)
    try MessageStore.open(config(folders[0], disk)).close()
    record.end(on: disk)
    #expect(record.count > 0)
    var random = Random(seed: 3)
    try record.eachCut(rounds(2_000, least: 20), &random) { cut, left, _ in
      for (name, bytes) in left.files {
        try Data(bytes).write(to: URL(fileURLWithPath: folders[1] + "/" + name))
      }
      let store = try MessageStore.open(config(folders[1], nil))
      try expectAll(store, "cut at \(cut)")
      store.close()
      for name in try FileManager.default.contentsOfDirectory(atPath: folders[1]) {
        try FileManager.default.removeItem(atPath: folders[1] + "/" + name)
      }
    }
  }

  /// Protects: own work of a file that is lost comes back from what an earlier commit kept of it.
  @Test func earlierOwnWorkIsPutBack() throws {
    let file = try #require(Self.files.first { $0.hasSuffix("/form-16-own.tide") })
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("form-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("form.tide").path
    try FileManager.default.copyItem(atPath: file + "-own", toPath: path + "-own")
    let config = StoreConfig(
      kind: .file(
        path: path, key: HostKey((0..<32).map { UInt8($0) }), create: true, strict: false,
        baseVFS: nil),
      account: [], user: bytes("me"))
    for _ in 0..<2 {
      let store = try MessageStore.open(config)
      let work = try store.openWork().filter { !$0.verb.isMark }
      #expect(work.map(\.verb) == [.sendMessage, .editMessage, .reactMessage])
      try store.read { rx throws(StoreFailure) in
        #expect(try rx.pendingMarks(limit: 9).map(\.ids) == [[bytes("m04")]])
        let other = try rx.conversation(bytes("e"))?.cid ?? 0
        #expect(try rx.draft(other)?.body == bytes("a draft"))
      }
      #expect(try store.isKeptTwice())
      store.close()
    }
  }
}
