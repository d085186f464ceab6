/// Which of the two files is right: what only a stale file of own work has is not put back, and
/// what the main file has lost is.
import Base
import Foundation
import TestSupport
import Testing
import Vault

@testable import Store

extension MessageStore {
  func openWork() throws -> [OperationRecord] {
    try read { rx throws(StoreFailure) in
      try rx.operations(OperationFilter(openOnly: true, limit: 1_000))
    }
  }

  /// The file of own work says what the main file says.
  func isKeptTwice() throws -> Bool {
    try writer.withLock { writer in
      let vault = try #require(self.vault)
      let connection = try #require(writer.connection)
      var (kept, main) = (OwnIndex(contentDigest), OwnIndex(contentDigest))
      let found = try vault.readOwn { kept.take(record: $0) }
      try snapshot(connection, counters: writer.counters, failure: { $0 }) {
        rx throws(StoreFailure) in
        try OwnUnits(rx: rx).each { _ = main.take($0, .put($1)) }
      }
      return kept.isSame(as: main) && (found == .current || main.isEmpty)
    }
  }
}

struct OwnStateTests {
  private let disk = FaultVFS()
  private let fixture: Fixture
  private let cid: Int64

  init() throws {
    fixture = try Fixture(.file, baseVFS: disk.name)
    cid = try fixture.conversation()
  }

  private var store: MessageStore { fixture.store }
  private var ownPath: String { fixture.path + "-own" }
  private var own: Data? { FileManager.default.contents(atPath: ownPath) }

  private func put(_ content: Data?, at path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    try content?.write(to: URL(fileURLWithPath: path))
  }

  @discardableResult
  private func say(_ name: String) throws -> UInt64 {
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(
          .sendMessage, cid: cid, target: bytes(name), clientID: bytes(name), plain: bytes(name))
      ).seq
    }
  }

  private func cancel(_ seq: UInt64) throws {
    try fixture.write { tx throws(StoreFailure) in try tx.operationTable.removeOperation(seq) }
  }

  private func draft(_ text: String?) throws {
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.setDraft(text.map { StoredDraft(body: bytes($0)) }, cid)
    }
  }

  private func names() throws -> [String] {
    try store.openWork().map { text($0.clientID) ?? "" }
  }

  /// The process ends: nothing of the log is written back.
  private func kill() {
    disk.die(atWrite: 1)
    store.close()
    disk.revive()
  }

  /// `a` is in the main file, and `b` with its draft was in the log, which is lost.
  private func loseLog() throws {
    try say("a")
    try fixture.reopen()
    try say("b")
    // So that many commits follow before the file has as many again.
    for number in 0..<9 { try draft("\(number)") }
    try draft("half")
    kill()
    try put(nil, at: fixture.path + "-wal")
  }

  // MARK: What the main file says

  enum Look: CaseIterable { case torn, copied, opened }

  /// Protects: what was cancelled stays so, also where the file of own work could not follow, or is
  /// an older one, and the main file may have lost something.
  @Test(arguments: Look.allCases) func whatWasCancelledStaysSo(_ look: Look) throws {
    try say("a")
    let seq = try say("b")
    try draft("secret")
    let older = own
    try cancel(seq)
    try draft(nil)
    var path = fixture.path
    if look == .copied {
      path += ".copy"
      let copy = try #require(try store.copy(to: path))
      while try !store.step(copy) {}
      store.end(copy)
    }
    kill()
    if look == .torn {
      let log = try #require(FileHandle(forUpdatingAtPath: path + "-wal"))
      try log.seekToEnd()
      try log.write(contentsOf: Data(repeating: 7, count: 4_144))
      try log.close()
    }
    try put(older, at: path + "-own")
    var config = fixture.config
    config.kind = .file(
      path: path, key: HostKey([UInt8](repeating: 7, count: 32)), create: false, strict: false,
      baseVFS: disk.name)
    let store = try MessageStore.open(config)
    defer { store.close() }
    #expect((store.rejectedFrames > 0) == (look == .torn))
    #expect(try store.openWork().map(\.clientID) == [bytes("a")])
    #expect(try store.read { rx throws(StoreFailure) in try rx.draft(cid) } == nil)
    #expect(try store.isKeptTwice())
  }

  /// Protects: a log that is gone, whole or in part, takes no own work with it.
  @Test(arguments: [false, true]) func whatTheLogHadComesBack(_ isCut: Bool) throws {
    try say("a")
    try fixture.reopen()
    try say("b")
    let end = FileManager.default.contents(atPath: fixture.path + "-wal")
    let seq = try say("c")
    try say("d")
    try cancel(seq)
    try draft("half")
    let last = store.lsn
    kill()
    try put(isCut ? end : nil, at: fixture.path + "-wal")
    try fixture.reopen()
    #expect(isCut || store.isLogLost)
    #expect(try names() == ["a", "b", "d"])
    #expect(try store.openWork().last?.state == .inFlight)
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.draft(cid)?.body == bytes("half"))
    }
    #expect(try store.isKeptTwice())
    #expect(store.lsn > last)
    try fixture.reopen()
    #expect(try names() == ["a", "b", "d"])
  }

  /// Protects: what is put back into a file that has gone on without it changes what it was to
  /// change, and nothing that took its number.
  @Test func whatIsPutBackKeepsToItsOwn() throws {
    store.close()
    let backup = try #require(FileManager.default.contents(atPath: fixture.path))
    try fixture.reopen()
    let sent = try say("lost")
    for verb in [OperationVerb.editMessage, .deleteMessage] {
      try fixture.write { tx throws(StoreFailure) in
        var after = OperationRecord(verb, cid: cid, target: bytes("lost"), plain: bytes("changed"))
        after.depends = sent
        _ = try tx.operationTable.addOperation(after)
      }
    }
    try say("also lost")
    store.close()
    let kept = own
    try put(backup, at: fixture.path)
    try put(nil, at: ownPath)
    try fixture.reopen()
    for name in ["w", "x"] { try say(name) }
    store.close()
    try put(kept, at: ownPath)
    try fixture.reopen()
    let all = try store.openWork()
    #expect(all.count == 6)
    let lost = try #require(all.first { $0.clientID == bytes("lost") })
    let changes = all.filter { $0.verb == .editMessage || $0.verb == .deleteMessage }
    #expect(changes.count == 2)
    #expect(changes.allSatisfy { $0.target == bytes("lost") && $0.depends == lost.seq })
    #expect(Set(all.compactMap { text($0.clientID) }) == ["w", "x", "lost", "also lost"])
    #expect(Set(all.map(\.seq)).count == all.count)
    #expect(Set(all.map(\.number).filter { $0 != 0 }).count == 4)
    #expect(try store.isKeptTwice())
  }

  /// Protects: the commit that puts back is newer than all that was read, so that a file of own
  /// work that cannot be made anew is a stale one from then on, also where it had nothing to give.
  @Test(arguments: [false, true]) func whatWasPutBackCanBeCancelled(_ isBefore: Bool) throws {
    try loseLog()
    let blocked = ownPath + "-new/x"
    try FileManager.default.createDirectory(
      atPath: blocked, withIntermediateDirectories: true)
    try fixture.reopen()
    #expect(try names() == ["a", "b"])
    if isBefore { _ = try fixture.conversation("d") }
    try cancel(try #require(try store.openWork().last).seq)
    kill()
    try fixture.reopen()
    #expect(try names() == ["a"])
    kill()
    try FileManager.default.removeItem(atPath: ownPath + "-new")
    try fixture.reopen()
    #expect(try names() == ["a"])
    #expect(try store.isKeptTwice())
  }

  // MARK: A full disk

  enum Later: CaseIterable { case commit, ownWork, opening, killed }

  /// Protects: where it cannot be put back now the file opens all the same, and it is put back by
  /// the first commit, or at the next opening.
  @Test(arguments: Later.allCases) func aFullDiskPutsBackLater(_ later: Later) throws {
    try loseLog()
    let kept = own
    disk.fillDisk()
    try fixture.reopen()
    #expect(try names() == ["a"])
    #expect(throws: StoreFailure.full) { try say("x") }
    #expect(own == kept)
    if later != .opening && later != .killed { disk.fillDisk(false) }
    switch later {
    case .commit: _ = try fixture.conversation("d")
    case .ownWork: try say("c")
    case .opening:
      store.close()
      #expect(own == kept)
      disk.fillDisk(false)
      try fixture.reopen()
    case .killed:
      kill()
      disk.fillDisk(false)
      try fixture.reopen()
    }
    #expect(try names() == (later == .ownWork ? ["a", "b", "c"] : ["a", "b"]))
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.draft(cid)?.body == bytes("half"))
    }
    #expect(try store.isKeptTwice())
  }

  // MARK: What is to be gone

  /// Protects: an erasure that was killed before it reached the file of own work ends at the next
  /// opening.
  @Test func whatIsLeftOfErasedTextGoesAtTheOpening() throws {
    try say("a")
    try draft("secret")
    try draft("other")
    kill()
    try fixture.reopen()
    var units: [[UInt8]] = []
    _ = try store.vault?.readOwn { record in
      OwnRecord.each(in: record) { _, change in units.append(change.unit ?? []) }
    }
    #expect(units.contains { text($0)?.contains("other") ?? false })
    #expect(!units.contains { text($0)?.contains("secret") ?? false })
    #expect(try store.isKeptTwice())
  }

  /// Protects: a rotation that was killed leaves nothing under the former data key, also where no
  /// own work is left.
  @Test(arguments: [false, true]) func theFormerDataKeyOpensNothing(_ isEmpty: Bool) throws {
    let seq = try say("a")
    if isEmpty { try cancel(seq) }
    let former = try #require(own)
    #expect(try store.beginRotation())
    while try !store.stepRotation() {}
    store.close()
    try put(former, at: ownPath)
    let handle = try #require(FileHandle(forReadingAtPath: ownPath))
    try fixture.reopen()
    #expect(own.map { unmarked($0) } == (isEmpty ? nil : unmarked(try header())))
    #expect(try #require(try handle.readToEnd())[64..<4_096].allSatisfy { $0 == 0 })
    #expect(try names() == (isEmpty ? [] : ["a"]))
    #expect(try store.isKeptTwice())
  }

  /// Protects: where one of the former data key cannot be made anew it is removed.
  @Test func theFormerDataKeyOpensNothingOnAFullDisk() throws {
    try say("a")
    let former = try #require(own)
    #expect(try store.beginRotation())
    while try !store.stepRotation() {}
    store.close()
    try put(former, at: ownPath)
    let blocked = ownPath + "-new/x"
    try FileManager.default.createDirectory(
      atPath: blocked, withIntermediateDirectories: true)
    try fixture.reopen()
    #expect(own == nil)
    #expect(try names() == ["a"])
  }

  /// Protects: whatever could not be written, what is under the former data key is gone, or it is
  /// said.
  @Test func whatARotationLeavesIsSaid() throws {
    var (writes, said) = (0, 0)
    // The first one fails nowhere, and counts.
    for back in -1..<12 {
      let other = try OwnStateTests()
      try other.cancel(try other.say("a"))
      #expect(try other.store.beginRotation())
      let before = other.disk.counts.writes
      if back >= 0 { other.disk.failWrite(writes - back, .fail(10 | (3 << 8))) }
      do { while try !other.store.stepRotation() {} } catch {
        said += 1
        continue
      }
      if back < 0 { writes = other.disk.counts.writes - before }
      #expect(other.own == nil, "\(back)")
    }
    #expect(said > 3)
  }

  /// A header without the mark of the log, which each of its copies has for itself.
  private func unmarked(_ bytes: Data) -> [UInt8] {
    var copy = Array(bytes.prefix(4_096))
    for place in 2048..<2120 { copy[place] = 0 }
    return copy
  }

  private func header() throws -> Data {
    try #require(FileManager.default.contents(atPath: fixture.path)).prefix(4_096)
  }

  @Test func theSizeCountsIt() throws {
    try say("a")
    let sizes = ["", "-wal", "-own"].map {
      FileManager.default.contents(atPath: fixture.path + $0)?.count ?? 0
    }
    #expect(sizes.allSatisfy { $0 > 0 })
    #expect(store.fileBytes == UInt64(sizes.reduce(0, +)))
  }
}
