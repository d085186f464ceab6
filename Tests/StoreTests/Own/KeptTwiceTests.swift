/// Own work is kept twice: whatever is lost of the main file, nothing that the user did is.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct KeptTwiceTests {
  private let key = HostKey([UInt8](repeating: 7, count: 32))

  /// A send, an edit of it, a refused reaction, a creation with a send in it, a mark and a draft.
  private func doWork(_ fixture: Fixture) throws {
    let cid = try fixture.conversation()
    try fixture.apply([message("m", at: 5)], cid)
    try fixture.write { tx throws(StoreFailure) in
      var send = OperationRecord(
        .sendMessage, cid: cid, target: bytes("s1"), clientID: bytes("s1"), body: bytes("{}"),
        plain: bytes("hello"))
      send.atUs = 77
      let first = try tx.operationTable.addOperation(send)
      var edit = OperationRecord(.editMessage, cid: cid, target: bytes("s1"), plain: bytes("bye"))
      edit.depends = first.seq
      _ = try tx.operationTable.addOperation(edit)
      var reaction = OperationRecord(.reactMessage, cid: cid, target: bytes("m"), plain: bytes("+"))
      reaction.state = .refused
      reaction.errorCode = bytes("no")
      _ = try tx.operationTable.addOperation(reaction)
      let made = try tx.operationTable.conversation(pending: bytes("new"))
      let creation = try tx.operationTable.addOperation(
        OperationRecord(.createConversation, cid: made.cid, clientID: bytes("new")))
      var inside = OperationRecord(.sendMessage, cid: made.cid, clientID: bytes("s2"))
      inside.depends = creation.seq
      _ = try tx.operationTable.addOperation(inside)
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("m"), in: cid))
      try tx.operationTable.setDraft(StoredDraft(body: bytes("dra"), replyTo: bytes("m")), cid)
      _ = try tx.operationTable.addOperation(OperationRecord(.getConversation, cid: cid))
    }
  }

  private func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  @Test func aFileThatIsLostLosesNoWork() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    let before = try fixture.store.openWork().filter { $0.verb != .getConversation }
    #expect(try fixture.store.isKeptTwice())
    fixture.store.close()
    remove(fixture.path)
    try fixture.reopen()
    let after = try fixture.store.openWork()
    #expect(after.map(\.seq) == before.map(\.seq))
    #expect(after.map(\.verb) == before.map(\.verb))
    #expect(after.map(\.clientID) == before.map(\.clientID))
    #expect(after.map(\.plain) == before.map(\.plain))
    #expect(after.map(\.depends) == before.map(\.depends))
    #expect(after.map(\.number) == before.map(\.number))
    // What may have been sent is as if its answer was lost; what waits for another was not sent.
    #expect(after.map(\.state) == [.inFlight, .queued, .refused, .inFlight, .queued])
    #expect(after[0].firstSent == SendStamp(atUs: 77, by: SendStamp.lost))
    #expect(after[2].errorCode == bytes("no"))
    try fixture.read { rx throws(StoreFailure) in
      let first = try rx.conversation(cid: after[0].cid)
      #expect(first?.id == bytes("c"))
      let made = try rx.conversation(cid: after[3].cid)
      #expect(made?.isPending == true)
      #expect(
        try rx.draft(after[0].cid) == StoredDraft(body: bytes("dra"), replyTo: bytes("m")))
      #expect(try rx.pendingMarks(limit: 9).map(\.ids) == [[bytes("m")]])
    }
    let next = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: after[0].cid, clientID: bytes("s3")))
    }
    #expect(next.seq > before.map(\.seq).max() ?? 0)
    #expect(next.number > before.map(\.number).max() ?? 0)
    // Put back once, it is not put back again.
    #expect(try fixture.store.isKeptTwice())
    try fixture.reopen()
    #expect(try fixture.store.openWork().count == after.count + 1)
  }

  /// Protects: whatever changes own work is noted. Nothing of what was done is left in the folder
  /// once all is done.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func itFollowsEachChange(_ seed: UInt64) throws {
    let fixture = try Fixture(.file)
    var random = Random(seed: seed)
    var ids = 0
    let cid = try fixture.conversation()
    try fixture.apply((0..<40).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    for step in 0..<120 {
      try fixture.write { tx throws(StoreFailure) in
        let all = try tx.operations(OperationFilter(openOnly: true, limit: 100))
        let one = all.randomElement(using: &random)
        ids += 1
        let name = bytes("n\(ids)")
        let target = bytes("m\(random.next() % 40)")
        switch random.next() % 14 {
        case 0, 1:
          _ = try tx.operationTable.addOperation(
            OperationRecord(
              .sendMessage, cid: cid, target: name, clientID: name, plain: bytes("p\(ids)")))
        case 2:
          _ = try tx.operationTable.addOperation(
            OperationRecord(.editMessage, cid: cid, target: target, plain: bytes("e\(ids)")))
        case 3:
          if let one { try tx.operationTable.removeOperation(one.seq) }
        case 4:
          guard var one else { break }
          one.rewrite(bytes("r\(ids)"))
          one.attempts = 1
          one.state = .inFlight
          try tx.operationTable.saveOperation(one)
        case 5:
          guard var one else { break }
          one.state = .refused
          try tx.operationTable.saveOperation(one)
        case 6:
          guard var one, one.verb != .sendMessage else { break }
          one.state = .done
          try tx.operationTable.saveOperation(one)
        case 7:
          guard let one, one.verb == .sendMessage, one.state != .refused else { break }
          var copy = message("id\(ids)", at: Int64(100 + ids), flags: .mine)
          copy.clientID = one.clientID
          _ = try tx.apply(copy, one.cid, issued: tx.lsn)
        case 8:
          let draft = StoredDraft(body: name, replyTo: one?.clientID ?? [])
          try tx.operationTable.setDraft(ids % 3 == 0 ? nil : draft, cid)
        case 9: _ = try tx.annotationTable.enqueueMark(.read, id: target, in: cid)
        case 10: _ = try tx.annotationTable.enqueueMark(.listened, id: target, in: cid)
        case 11: _ = try tx.annotationTable.confirmMarks(.read, ids: [target], in: cid)
        case 12:
          let made = try tx.operationTable.conversation(pending: name)
          let creation = try tx.operationTable.addOperation(
            OperationRecord(.createConversation, cid: made.cid, clientID: name))
          var inside = OperationRecord(
            .sendMessage, cid: made.cid, target: name + [1], clientID: name + [1])
          inside.depends = creation.seq
          _ = try tx.operationTable.addOperation(inside)
          try tx.operationTable.setDraft(StoredDraft(body: name), made.cid)
        default:
          guard let made = all.first(where: { $0.verb == .createConversation }),
            let name = made.clientID
          else { break }
          _ = try tx.operationTable.settle(
            creation: name, as: ids % 2 == 0 ? bytes("c") : name + [2])
        }
      }
      #expect(try fixture.store.isKeptTwice(), "\(step)")
      if step % 40 == 39 { try fixture.reopen() }
    }
    try fixture.write { tx throws(StoreFailure) in
      for one in try tx.operations(OperationFilter(openOnly: true, limit: 1_000)) {
        try tx.operationTable.removeOperation(one.seq)
      }
      var drafts: [Int64] = []
      do {
        let row = try tx.connection.statement(Queries.drafts)
        while try row.step() { drafts.append(row.int(0)) }
      }
      for cid in drafts { try tx.operationTable.setDraft(nil, cid) }
      let ids = (0..<40).map { bytes("m\($0)") }
      try tx.annotationTable.dropMarks(.read, ids: ids, in: cid)
      try tx.annotationTable.dropMarks(.listened, ids: ids, in: cid)
    }
    #expect(try fixture.store.isKeptTwice())
    fixture.store.close()
    #expect(!FileManager.default.fileExists(atPath: fixture.path + "-own"))
  }

  /// Protects: what is no own work costs nothing, and a send one write beside those of the log.
  @Test func onlyOwnWorkCosts() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    try doWork(fixture)
    let cid = try fixture.conversation()
    func own() -> [DiskEvent] { disk.events.filter { $0.path.hasSuffix("-own") } }
    disk.record()
    try fixture.apply((10..<60).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.store.syncDurable()
    #expect(own().isEmpty)
    let sent = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: cid, target: bytes("x"), clientID: bytes("x")))
    }
    #expect(own().count == 1)
    try fixture.store.syncDurable()
    #expect(own().count == 2)
    // That it goes out is not written.
    try fixture.write { tx throws(StoreFailure) in
      var record = sent
      record.state = .inFlight
      record.attempts = 1
      record.firstSent = SendStamp(atUs: 5, by: 7)
      try tx.operationTable.saveOperation(record)
    }
    try fixture.store.syncDurable()
    #expect(own().count == 2)
    try fixture.write { tx throws(StoreFailure) in try tx.operationTable.removeOperation(sent.seq) }
    // Synced like a send: what the user has cancelled must not come back after a power cut.
    try fixture.store.syncDurable()
    #expect(own().count == 4)
  }

  // MARK: Damage

  /// A file with 60 sends, whose log is written back.
  private func many(_ fixture: Fixture) throws {
    let cid = try fixture.conversation()
    try fixture.apply(
      (0..<2_000).map { message("m\($0)", at: Int64($0) + 5, "text of \($0)") }, cid)
    for number in 0..<60 {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.operationTable.addOperation(
          OperationRecord(
            .sendMessage, cid: cid, target: bytes("s\(number)"), clientID: bytes("s\(number)"),
            plain: [UInt8](repeating: 0x61, count: 900)))
      }
      let draft = StoredDraft(body: bytes("draft of \(number)"))
      let other = try fixture.conversation("d\(number)")
      try fixture.write { tx throws(StoreFailure) in
        try tx.operationTable.setDraft(draft, other)
      }
    }
  }

  private func harm(_ path: String, _ pages: Int, _ random: inout Random) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    let all = (try file.seekToEnd() - 8192) / 4096
    for _ in 0..<pages {
      try file.seek(toOffset: 8192 + random.next() % all * 4096 + random.next() % 4000)
      try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
    }
    try file.close()
  }

  private func expectAll(_ store: MessageStore) throws {
    let names = Set(try store.openWork().compactMap { text($0.clientID) })
    #expect(names == Set((0..<60).map { "s\($0)" }))
    try store.read { rx throws(StoreFailure) in
      for number in 0..<60 {
        let cid = try rx.conversation(bytes("d\(number)"))?.cid ?? 0
        #expect(try rx.draft(cid)?.body == bytes("draft of \(number)"))
      }
    }
  }

  @Test func aSalvageKeepsAllWork() throws {
    let fixture = try Fixture(.file)
    try many(fixture)
    fixture.store.close()
    let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    let saved = fixture.path + ".saved"
    var config = fixture.config
    config.kind = .file(path: saved, key: key, create: false, strict: false, baseVFS: nil)
    var lost = 0
    for seed in 1...UInt64(rounds(300, least: 3)) {
      var random = Random(seed: seed)
      try whole.write(to: URL(fileURLWithPath: fixture.path))
      try harm(fixture.path, 100, &random)
      let work = try SalvagedFile(fixture.config, to: saved)
      while try !work.step() {}
      #expect(work.found.operations == 60, "\(seed)")
      lost += work.found.putBack.count
      let store = try MessageStore.open(config)
      try expectAll(store)
      #expect(try store.isKeptTwice(), "\(seed)")
      store.close()
      for end in ["", "-own", "-wal"] { remove(saved + end) }
    }
    #expect(lost > 0)
  }

  @Test func aHealedFileKeepsAllWork() throws {
    let fixture = try Fixture(.file)
    try many(fixture)
    fixture.store.close()
    var random = Random(seed: 9)
    // The pages of the schema are left, so that it opens.
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.path))
    let all = (try file.seekToEnd() - 8192) / 4096
    for page in 60..<all where random.next() % 2 == 0 {
      try file.seek(toOffset: 8192 + page * 4096 + 100)
      try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
    }
    try file.close()
    // What could not be compared is not put back before it is healed.
    let store = try MessageStore.open(fixture.config, isTentative: true)
    store.accept()
    #expect(store.lacksOwnWork)
    let found = try store.heal()
    #expect(!found.putBack.isEmpty)
    try expectAll(store)
    #expect(try store.isKeptTwice())
    store.close()
  }

  /// Protects: a kill at each write loses nothing that was told as done, and doubles nothing, also
  /// where the main file is lost then.
  @Test func aKillAtEachWriteLosesNothing() throws {
    for write in 1...40 {
      let disk = FaultVFS()
      let fixture = try Fixture(.file, baseVFS: disk.name)
      let cid = try fixture.conversation()
      disk.die(atWrite: write, afterBytes: write * 137 % 4_096)
      var told: [String] = []
      for number in 0..<8 {
        let name = "s\(number)"
        do {
          try fixture.write { tx throws(StoreFailure) in
            _ = try tx.operationTable.addOperation(
              OperationRecord(
                .sendMessage, cid: cid, target: bytes(name), clientID: bytes(name),
                plain: bytes("text")))
          }
          try fixture.store.syncDurable()
          told.append(name)
        } catch {
          break
        }
        if disk.isDead { break }
      }
      fixture.store.close()
      disk.revive()
      try fixture.reopen()
      func names() throws -> [String] {
        try fixture.store.openWork().map { text($0.clientID) ?? "" }
      }
      let found = try names()
      #expect(Array(found.prefix(told.count)) == told, "\(write)")
      #expect(found.count <= told.count + 1)
      #expect(try fixture.store.isKeptTwice())
      fixture.store.close()
      remove(fixture.path)
      remove(fixture.path + "-wal")
      try fixture.reopen()
      #expect(try names() == found)
    }
  }

  // MARK: What is not put back

  @Test func itIsOfOneUserAndOneKey() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    fixture.store.close()
    let own = try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-own"))
    func check(_ change: (inout StoreConfig) -> Void) throws {
      remove(fixture.path)
      var config = fixture.config
      change(&config)
      let store = try MessageStore.open(config)
      #expect(try store.openWork().isEmpty)
      store.close()
      #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-own")) == own)
    }
    try check { $0.user = bytes("bob") }
    try check { $0.account = bytes("home") }
    try check { config in
      config.kind = .file(
        path: fixture.path, key: HostKey([UInt8](repeating: 8, count: 32)), create: true,
        strict: false, baseVFS: nil)
    }
    remove(fixture.path)
    try fixture.reopen()
    #expect(try fixture.store.openWork().count == 5)
  }

  @Test func whatTheFileHasIsNotPutBack() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    fixture.store.close()
    let own = try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-own"))
    remove(fixture.path)
    remove(fixture.path + "-own")
    try fixture.reopen()
    // The message that a send made, an operation that is done, and another draft.
    let cid = try fixture.conversation()
    var copy = message("server", at: 9, flags: .mine)
    copy.clientID = bytes("s1")
    try fixture.apply([copy, message("m", at: 5, flags: .readByMe)], cid)
    // It has more commits than what lies beside it.
    for number in 0..<9 { _ = try fixture.conversation("d\(number)") }
    var contents = OwnContents()
    fixture.store.close()
    try own.write(to: URL(fileURLWithPath: fixture.path + "-own"))
    let store = try MessageStore.open(fixture.config)
    let vault = try #require(store.vault)
    #expect(try vault.readOwn(key) { contents.take(record: $0) } == .foreign)
    try store.write { tx throws(StoreFailure) in
      try tx.operationTable.setDraft(StoredDraft(body: bytes("newer")), cid)
      let done = try tx.ownTable.putBack(
        contents, of: store.binding, older: nil)
      #expect(done.count == 4)
      #expect(try tx.operation(clientID: bytes("s1")) == nil)
      #expect(try tx.draft(cid)?.body == bytes("newer"))
      #expect(try tx.pendingMarks(limit: 9).isEmpty)
    }
    store.close()
  }

  // MARK: With the file

  /// Protects: what is erased is in no frame of it; a new data key destroys the old one.
  @Test func whatIsErasedIsGone() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    let cid = try fixture.conversation()
    func keys() throws -> [OwnKey] {
      var keys: [OwnKey] = []
      _ = try fixture.store.vault?.readOwn { record in
        OwnRecord.each(in: record) { key, _ in if key.kind != .commit { keys.append(key) } }
      }
      return keys
    }
    #expect(try keys().count == 8)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.erase(cid, tx.operations(in: cid)) }
    #expect(try keys().map(\.kind) == [.binding, .operation, .operation])
    #expect(try fixture.store.isKeptTwice())
    #expect(try fixture.store.beginRotation())
    while try !fixture.store.stepRotation() {}
    #expect(try fixture.store.isKeptTwice())
    try fixture.reopen()
    #expect(try fixture.store.isKeptTwice())
    #expect(try fixture.store.openWork().count == 2)
    try fixture.store.wipe()
    #expect(!FileManager.default.fileExists(atPath: fixture.path + "-own"))
  }

  @Test func aFileThatIsTakenAgainKeepsIt() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    let kept = try #require(fixture.store.release())
    let store = try MessageStore.open(fixture.config.again(kept))
    #expect(try store.isKeptTwice())
    #expect(try store.openWork().count == 6)
    store.close()
  }

  /// Protects: it is made anew where it is lost, cut, or older than the main file.
  @Test func theMainFileIsRight() throws {
    let fixture = try Fixture(.file)
    try doWork(fixture)
    let path = URL(fileURLWithPath: fixture.path + "-own")
    let older = try Data(contentsOf: path)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.setDraft(StoredDraft(body: bytes("later")), cid)
    }
    for found in [Data(), Data(older.prefix(4_300)), older, Data(repeating: 7, count: 9_000)] {
      fixture.store.close()
      try found.write(to: path)
      try fixture.reopen()
      #expect(try fixture.store.isKeptTwice())
      try fixture.read { rx throws(StoreFailure) in
        #expect(text(try rx.draft(cid)?.body) == "later")
      }
    }
    fixture.store.close()
    remove(path.path)
    try fixture.reopen()
    #expect(try fixture.store.isKeptTwice())
  }
}
