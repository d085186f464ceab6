/// What an opening does where the file has lost own work: the newer of the two counts, a page that
/// is damaged takes nothing with it, and a file that is refused stays as it was.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct OwnLossTests {
  private static let rooms = 40
  private let disk = FaultVFS()
  private let fixture: Fixture
  private let cid: Int64

  init() throws {
    fixture = try Fixture(.file, baseVFS: disk.name)
    cid = try fixture.conversation()
  }

  private var store: MessageStore { fixture.store }
  private var path: String { fixture.path }
  private var ownPath: String { path + "-own" }

  private func content(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

  private func put(_ content: Data?, at path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    try content?.write(to: URL(fileURLWithPath: path))
  }

  @discardableResult
  private func say(_ name: String, _ plain: String? = nil) throws -> UInt64 {
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(
          .sendMessage, cid: cid, target: bytes(name), clientID: bytes(name),
          plain: bytes(plain ?? name))
      ).seq
    }
  }

  private func rewrite(_ seq: UInt64, _ plain: String) throws {
    try fixture.write { tx throws(StoreFailure) in
      guard var record = try tx.operation(seq) else { throw .damaged }
      record.plain = bytes(plain)
      try tx.operationTable.saveOperation(record)
    }
  }

  private func cancel(_ seq: UInt64) throws {
    try fixture.write { tx throws(StoreFailure) in try tx.operationTable.removeOperation(seq) }
  }

  private func draft(_ text: String?, in cid: Int64? = nil) throws {
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.setDraft(text.map { StoredDraft(body: bytes($0)) }, cid ?? self.cid)
    }
  }

  private func mark(_ id: String, isQueued: Bool) throws {
    try fixture.write { tx throws(StoreFailure) in
      if isQueued {
        _ = try tx.annotationTable.enqueueMark(.read, id: bytes(id), in: cid)
      } else {
        try tx.annotationTable.dropMarks(.read, ids: [bytes(id)], in: cid)
      }
    }
  }

  /// What each send says, by its client id, and the drafts.
  private func work(_ store: MessageStore) throws -> (sends: [String: String], drafts: [String]) {
    var sends: [String: String] = [:]
    for record in try store.openWork() {
      sends[text(record.clientID) ?? ""] = text(record.plain) ?? ""
    }
    let drafts = try store.read { rx throws(StoreFailure) in
      var found: [String] = []
      var cids: [Int64] = []
      do {
        let row = try rx.connection.statement(Queries.drafts)
        while try row.step() { cids.append(row.int(0)) }
      }
      for cid in cids { found.append(text(try rx.draft(cid)?.body) ?? "") }
      return found
    }
    return (sends, drafts)
  }

  private func marked() throws -> [String] {
    try store.read { rx throws(StoreFailure) in
      try rx.pendingMarks(limit: 9).flatMap(\.ids).map { text($0) ?? "" }
    }
  }

  /// The process ends: nothing of the log is written back.
  private func kill() {
    disk.die(atWrite: 1)
    store.close()
    disk.revive()
  }

  // MARK: Which one is newer

  enum Loss: CaseIterable { case log, backup }

  /// Protects: after a loss all own work is as it was last, whatever became of it since: changed,
  /// taken back, or new.
  @Test(arguments: Loss.allCases) func theNewerOneCounts(_ loss: Loss) throws {
    try fixture.apply((0..<3).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    let kept = try say("kept")
    let changed = try say("changed", "one")
    let gone = try say("gone")
    try draft("one")
    let other = try fixture.conversation("other")
    try draft("was here", in: other)
    try mark("m0", isQueued: true)
    try mark("m1", isQueued: true)
    try fixture.reopen()
    store.close()
    let older = content(path)
    try fixture.reopen()
    try rewrite(changed, "two")
    try cancel(gone)
    try draft("two")
    try draft(nil, in: other)
    try mark("m1", isQueued: false)
    try mark("m2", isQueued: true)
    try say("new")
    if loss == .log { kill() } else { store.close() }
    try put(older, at: path)
    try put(nil, at: path + "-wal")
    try fixture.reopen()
    let found = try work(store)
    #expect(found.sends == ["kept": "kept", "changed": "two", "new": "new"])
    #expect(found.drafts == ["two"])
    // Nobody takes a mark back, so the server has what is gone of them.
    #expect(try marked() == ["m0", "m1", "m2"])
    #expect(try store.openWork().map(\.seq).prefix(2) == [kept, changed])
    #expect(try store.isKeptTwice())
    // It may have been sent with what was lost, so it is looked for.
    #expect(store.lacksEnds)
    try fixture.reopen()
    #expect(try work(store) == found)
    #expect(!store.lacksEnds)
  }

  /// Protects: a file that has gone on elsewhere keeps what was done there, and gets what only the
  /// file of own work has.
  @Test func aForkKeepsItsOwn() throws {
    let both = try say("both", "one")
    try draft("one")
    store.close()
    let (fork, forkOwn) = (content(path), content(ownPath))
    try fixture.reopen()
    try rewrite(both, "here")
    try draft("here")
    for number in 0..<20 { try say("here \(number)") }
    store.close()
    let own = content(ownPath)
    for hasOwn in [true, false] {
      try put(fork, at: path)
      try put(hasOwn ? forkOwn : nil, at: ownPath)
      try fixture.reopen()
      try rewrite(both, "there")
      try draft("there")
      try say("there")
      store.close()
      try put(own, at: ownPath)
      try fixture.reopen()
      let found = try work(store)
      #expect(found.sends["both"] == "there")
      #expect(found.sends["there"] == "there")
      #expect(found.sends.count == 22)
      #expect(found.drafts == ["there"])
      #expect(try store.isKeptTwice())
      store.close()
    }
  }

  /// Protects: what the server has answered is asked again where the file has lost the answer with
  /// the row that it made. A power cut may take the log and leave the record of it.
  @Test func anAnswerThatWasLostIsAskedAgain() throws {
    try fixture.apply([message("m0", at: 5)], cid)
    try say("sent")
    try say("kept")
    let gone = try say("gone")
    let edit = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(.editMessage, cid: cid, target: bytes("m0"), plain: bytes("edit")))
    }
    try mark("m0", isQueued: true)
    let (older, log) = (content(path), content(path + "-wal"))
    try fixture.write { tx throws(StoreFailure) in
      var copy = message("id", at: 9, flags: .mine)
      copy.clientID = bytes("sent")
      _ = try tx.apply(copy, cid, issued: tx.lsn)
      var done = edit
      done.state = .done
      try tx.operationTable.saveOperation(done)
      _ = try tx.annotationTable.confirmMarks(.read, ids: [bytes("m0")], in: cid)
    }
    try cancel(gone)
    #expect(try work(store).sends.keys.sorted() == ["kept"])
    kill()
    try put(older, at: path)
    try put(log, at: path + "-wal")
    try fixture.reopen()
    #expect(try work(store).sends == ["sent": "sent", "kept": "kept", "": "edit"])
    #expect(try marked() == ["m0"])
    // They are looked for before they are sent.
    #expect(store.lacksEnds)
    #expect(try store.isKeptTwice())
  }

  /// Protects: one that is made anew does not say why a unit is gone, so it says what is on disk.
  @Test func whatIsMadeAnewIsOnDisk() throws {
    try say("a")
    #expect(store.syncedCommit == store.lsn)
    try say("b")
    #expect(store.syncedCommit < store.lsn)
    try FileManager.default.removeItem(atPath: ownPath)
    store.vault?.leaveOwn()
    try say("c")
    #expect(store.syncedCommit == store.lsn)
    #expect(try store.isKeptTwice())
  }

  /// Protects: one that could not be made anew gets no later records, which would hide what it
  /// missed.
  @Test func oneThatMissedAChangeGetsNoMore() throws {
    let seq = try say("a")
    try store.syncDurable()
    disk.failSyncs(true)
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.removeOperation(seq)
      tx.ownTable.noteErased()
    }
    disk.failSyncs(false)
    try draft("later")
    kill()
    try fixture.reopen()
    #expect(try work(store).sends.isEmpty)
    #expect(try work(store).drafts == ["later"])
    #expect(try store.isKeptTwice())
  }

  /// Protects: a start of the file of own work adds what it has, and removes nothing.
  @Test func oneThatIsCutTakesNothing() throws {
    for text in ["draft", "newer"] {
      for number in 0..<Self.rooms {
        let body = "\(text) of \(number) " + String(repeating: "word ", count: 1_000)
        try draft(body, in: try fixture.conversation("room\(number)"))
      }
    }
    try fixture.reopen()
    let size = try #require(content(ownPath)).count
    // It is made anew in several frames.
    #expect((200_000..<300_000).contains(size))
    for place in stride(from: 10_000, to: size, by: 37_000) {
      for isCut in [true, false] {
        store.close()
        var own = try #require(content(ownPath))
        if isCut { own.removeSubrange(place...) } else { own[place] ^= 1 }
        try put(own, at: ownPath)
        try fixture.reopen()
        let drafts = try work(store).drafts
        #expect(drafts.count == Self.rooms && drafts.allSatisfy { $0.hasPrefix("newer of") })
        #expect(try store.isKeptTwice())
        #expect(content(ownPath)?.count == size)
      }
    }
  }

  /// Protects: what a fork has and the main file could not take never replaces what that has.
  @Test func aForkStaysOne() {
    var fork = OwnContents()
    fork.take(record: OwnRecord.commit(5, of: [77]))
    #expect(fork.isAsNew(as: OwnStamp(lsn: 5, opening: 77)) && !fork.isFork)
    fork.take(record: OwnRecord.fork)
    fork.take(record: OwnRecord.commit(9, of: [88]))
    #expect(fork.isFork && !fork.isAsNew(as: OwnStamp(lsn: 9, opening: 88)))
  }

  // MARK: Damage

  /// A file whose drafts are many pages, before and after more was done, and the commit of that.
  private func fillRooms(_ fixture: Fixture) throws -> Data? {
    func draft(_ text: String) throws {
      for number in 0..<Self.rooms {
        let cid = try fixture.conversation("room\(number)")
        let body = bytes("\(text) of \(number) " + String(repeating: "word ", count: 200))
        try fixture.write { tx throws(StoreFailure) in
          try tx.operationTable.setDraft(StoredDraft(body: body), cid)
        }
      }
    }
    try draft("draft")
    fixture.store.close()
    let older = FileManager.default.contents(atPath: fixture.path)
    try fixture.reopen()
    try draft("newer")
    for number in 0..<Self.rooms {
      let cid = try fixture.conversation("room\(number)")
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.operationTable.addOperation(
          OperationRecord(
            .sendMessage, cid: cid, target: bytes("s\(number)"), clientID: bytes("s\(number)"),
            plain: bytes("s\(number)")))
      }
    }
    fixture.store.close()
    return older
  }

  /// Destroys each page with a draft of a file that opens.
  private func harmDrafts(_ config: StoreConfig, _ bytes: Data) throws -> Data {
    let store = try MessageStore.open(config, isTentative: true)
    var harmed = bytes
    do {
      let vault = try #require(store.vault)
      let pages = try vault.pages()
      var count = 0
      for number in 2...pages.count {
        guard let page = try pages.page(number), page[0] == 13,
          String(decoding: page, as: UTF8.self).contains("draft of")
        else { continue }
        let place = 8192 + (number - 1) * 4096 + 100
        harmed.replaceSubrange(place..<place + 8, with: [1, 2, 3, 4, 5, 6, 7, 8])
        count += 1
      }
      #expect(count > 3)
    }
    store.refuse()
    return harmed
  }

  private func expectRooms(_ store: MessageStore) throws {
    let found = try work(store)
    #expect(found.sends.count >= Self.rooms)
    #expect(found.drafts.count == Self.rooms)
    #expect(found.drafts.allSatisfy { $0.hasPrefix("newer of") })
  }

  /// Protects: a page that is damaged takes no own work with it: the opening heals the file.
  @Test func whatIsPutBackBesideDamageHealsTheFile() throws {
    let older = try #require(try fillRooms(fixture))
    let own = content(ownPath)
    try put(older, at: path)
    try put(nil, at: ownPath)
    let harmed = try harmDrafts(fixture.config, older)
    try put(harmed, at: path)
    try put(own, at: ownPath)
    try fixture.reopen()
    try expectRooms(store)
    #expect(try store.isKeptTwice())
    // It goes on being kept twice.
    try say("later")
    #expect(try store.isKeptTwice())
    try fixture.reopen()
    try expectRooms(store)
    #expect(try work(store).sends["later"] == "later")
  }

  /// Protects: an older page of an index, which lists no operation, takes none out of the file of
  /// own work.
  @Test func anOlderPageOfAnIndexTakesNothing() throws {
    store.close()
    let older = try #require(content(path))
    try fixture.reopen()
    for number in 0..<5 { try say("s\(number)") }
    try fixture.apply([message("m0", at: 5)], cid)
    try mark("m0", isQueued: true)
    let roots = try store.read { rx throws(StoreFailure) in
      try ["operation_open", "operation_mark"].map { name throws(StoreFailure) in
        try rx.connection.number(
          "SELECT rootpage FROM sqlite_schema WHERE name = CAST(? AS TEXT)", bytes(name))
      }
    }
    store.close()
    var harmed = try #require(content(path))
    for root in roots {
      let place = 8192 + (Int(try #require(root)) - 1) * 4096
      harmed.replaceSubrange(place..<place + 4096, with: older[place..<place + 4096])
    }
    try put(harmed, at: path)
    try fixture.reopen()
    #expect(try work(store).sends.count == 5)
    #expect(try marked() == ["m0"])
    #expect(try store.isKeptTwice())
  }

  /// Protects: where the file cannot be healed what only the file of own work has stays there, and
  /// what is done later goes behind it.
  @Test(arguments: [false, true]) func whatCannotBePutBackStays(_ isStorage: Bool) throws {
    let older = try #require(try fillRooms(fixture))
    let own = try #require(content(ownPath))
    try put(older, at: path)
    try put(nil, at: ownPath)
    let harmed = try harmDrafts(fixture.config, older)
    var config = fixture.config
    let storage = MemoryStorage()
    if isStorage {
      storage.put("eva", .main, Array(harmed))
      storage.put("eva", .own, Array(own))
      config.storage = storage
      config.kind = .file(
        path: "eva", key: HostKey([UInt8](repeating: 7, count: 32)), create: false, strict: false,
        baseVFS: nil)
    } else {
      try put(harmed, at: path)
      try put(own, at: ownPath)
      // Nothing can be made under the name that a heal needs.
      try FileManager.default.createDirectory(
        atPath: path + "-new/x", withIntermediateDirectories: true)
    }
    for time in 0..<2 {
      let store = try MessageStore.open(config)
      #expect(store.lacksOwnWork)
      if time == 0 {
        try store.write { tx throws(StoreFailure) in
          let cid = try tx.conversation(bytes("c"))?.cid ?? 0
          _ = try tx.operationTable.addOperation(
            OperationRecord(
              .sendMessage, cid: cid, target: bytes("later"), clientID: bytes("later"),
              plain: bytes("later")))
        }
      }
      var kept = OwnContents()
      _ = try store.vault?.readOwn { kept.take(record: $0) }
      #expect(kept.units(.draft).count == Self.rooms)
      #expect(
        kept.units(.draft).allSatisfy { (text($0.row.bytes(3)) ?? "").hasPrefix("newer of") })
      let names = kept.units(.operation).map { text($0.row.bytes(7)) ?? "" }
      #expect(Set(names) == Set((0..<Self.rooms).map { "s\($0)" } + ["later"]))
      #expect(try store.openWork().map(\.clientID) == [bytes("later")])
      store.close()
    }
    if isStorage { return }
    try FileManager.default.removeItem(atPath: path + "-new")
    try fixture.reopen()
    try expectRooms(store)
    #expect(try work(store).sends["later"] == "later")
    #expect(try store.isKeptTwice())
  }

  // MARK: A file that is refused

  /// Protects: nothing is put back into a file that is refused after all.
  @Test func aRefusedFileStaysAsItWas() throws {
    try say("a")
    store.close()
    let older = content(path)
    try fixture.reopen()
    try say("b")
    store.close()
    try put(older, at: path)
    let own = content(ownPath)
    let opened = try MessageStore.open(fixture.config, isTentative: true)
    #expect(opened.lacksOwnWork)
    opened.refuse()
    #expect(content(path) == older)
    #expect(content(ownPath) == own)
    #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    try fixture.reopen()
    #expect(try work(store).sends == ["a": "a", "b": "b"])
  }
}
