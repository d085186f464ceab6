/// Committed together or not at all; one state for a read; what a file is bound
/// to.
import Base
import Foundation
import Synchronization
import Testing
import Timeline

@testable import Store

@Suite struct TransactionTests {
  private struct Stop: Error, Equatable {}

  @Test(arguments: Kind.allCases)
  func aBodyThatThrowsLeavesNothing(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    let before = fixture.store.lsn
    #expect(throws: Stop()) {
      try fixture.attempt { tx in
        #expect(try tx.apply(message("b", at: 2), cid, issued: 1) == .inserted(2))
        _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
        _ = try tx.conversation(creating: bytes("new"))
        throw Stop()
      }
    }
    #expect(fixture.store.lsn == before)
    #expect(try fixture.texts(cid, .latest) == ["a"])
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.feedReader.lastChange() == 1)
      #expect(try tx.conversation(bytes("new")) == nil)
      #expect(try tx.counts().tombstones == 0)
    }
    #expect(try fixture.apply([message("b", at: 2)], cid) == [.inserted(2)])
    #expect(fixture.store.lsn == before + 1)
  }

  @Test(arguments: Kind.allCases)
  func whatDoesNotFitIsRolledBackAndTheStoreGoesOn(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let large = message("large", at: 1, String(repeating: "x", count: 1 << 20))
    #expect(throws: StoreFailure.full) {
      try fixture.write { tx throws(StoreFailure) in
        // Cut to the size that the file has.
        try tx.connection.execute("PRAGMA max_page_count = 1")
        _ = try tx.apply(message("small", at: 1), cid, issued: 1)
        _ = try tx.apply(large, cid, issued: 1)
      }
    }
    #expect(try fixture.texts(cid, .latest) == [])
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("PRAGMA max_page_count = 100000")
    }
    #expect(try fixture.apply([large], cid) == [.inserted(1)])
  }

  @Test(arguments: Kind.allCases)
  func aTransactionIsOfNoUseAfterItsEnd(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let kept = try fixture.write { tx throws(StoreFailure) in tx }
    let read = try fixture.read { tx throws(StoreFailure) in tx }
    #expect(throws: StoreFailure.self) { try kept.apply(message("a", at: 1), cid, issued: 1) }
    #expect(throws: StoreFailure.self) { try read.spans(cid) }
  }

  @Test func aReadSeesOneStateWhileTheWriterCommits() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.read { tx throws(StoreFailure) in
      try fixture.store.write { writer throws(StoreFailure) in
        _ = try writer.apply(message("b", at: 2), cid, issued: writer.lsn)
      }
      #expect(try tx.count(cid, from: .min, to: .max) == 1)
      #expect(try tx.messages(RowQuery(cid: cid, from: .latest, limit: 9)).rows.count == 1)
      #expect(try tx.feedReader.lastChange() == 1)
    }
    #expect(try fixture.texts(cid, .latest) == ["a", "b"])
  }

  /// On the writer's connection or, while that is busy, on another.
  @Test func aReadWaitsForNoWriter() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    func count() throws(StoreFailure) -> Int {
      try fixture.store.read { rx throws(StoreFailure) in
        let counted = try rx.count(cid, from: .min, to: .max)
        #expect(try rx.conversation(bytes("c"))?.cid == cid)
        let rows = try rx.rows(cid, from: .min, to: .max, limit: 9, newestFirst: false)
        #expect(rows.count == counted)
        return counted
      }
    }
    #expect(try count() == 0)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(message("a", at: 1), cid, issued: tx.lsn)
      #expect(try count() == 0)
    }
    #expect(try count() == 1)
    #expect(try count() == 1)
    try fixture.apply([message("b", at: 2)], cid)
    #expect(try count() == 2)
    #expect(throws: Stop()) { try fixture.attempt { _ in throw Stop() } }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try count() == 2)
      _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
    }
    #expect(try count() == 1)
    fixture.store.close()
    #expect(throws: StoreFailure.closed) { try count() }
  }

  @Test(arguments: Kind.allCases, [false, true])
  func readsOnManyThreadsSeeCommittedStatesOnly(_ kind: Kind, _ sharesWriter: Bool) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let store = fixture.store
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { worker in
      do {
        for step in 0..<60 {
          if worker == 0 {
            try store.write { tx throws(StoreFailure) in
              for part in 0..<2 {
                let new = message("\(step)-\(part)", at: Int64(step))
                _ = try tx.apply(new, cid, issued: tx.lsn)
              }
            }
          } else {
            func look(_ tx: ReadTransaction) throws(StoreFailure) -> (Int, Int) {
              (
                try tx.count(cid, from: .min, to: .max),
                try tx.rows(cid, from: .min, to: .max, limit: 500, newestFirst: false).count
              )
            }
            let (counted, listed) =
              try sharesWriter ? store.read(look) : store.readBeside(failure: { $0 }, look)
            if counted != listed || counted % 2 != 0 {
              failures.withLock { $0.append("\(counted) \(listed)") }
            }
          }
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try fixture.texts(cid, .latest, 500).count == 120)
  }

  @Test(arguments: Kind.allCases)
  func aClosedStoreSaysSo(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    fixture.store.close()
    fixture.store.close()
    #expect(throws: StoreFailure.closed) { try fixture.conversation() }
    #expect(throws: StoreFailure.closed) { try fixture.texts(1, .latest) }
    #expect(throws: StoreFailure.closed) { try fixture.store.wipe() }
  }

  @Test func aWipedFileIsGone() throws {
    let fixture = try Fixture(.file)
    try fixture.apply([message("a", at: 1)], try fixture.conversation())
    try fixture.store.wipe()
    #expect(!FileManager.default.fileExists(atPath: fixture.path))
    #expect(throws: StoreFailure.closed) { try fixture.conversation() }
  }

  @Test func aFileIsBoundToAccountUserAndKindOfPosition() throws {
    let fixture = try Fixture(.file)
    fixture.store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    for bound in [StoreFailure.Bound.account, .user, .positionKind] {
      var config = fixture.config
      switch bound {
      case .account: config.account = bytes("Work")
      case .user: config.user = []
      case .positionKind: config.positionKind = 1
      }
      #expect(throws: StoreFailure.mismatch(bound)) { try MessageStore.open(config) }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == before)
    try fixture.reopen()
  }

  @Test(
    arguments: [
      ("PRAGMA user_version = 18", StoreFailure.tooNew),
      ("PRAGMA application_id = 1", StoreFailure.notOurs),
      ("PRAGMA user_version = 0", StoreFailure.damaged),
    ] as [(StaticString, StoreFailure)])
  func aFileOfAnotherFormIsRefusedUntouched(_ mark: StaticString, _ expected: StoreFailure) throws {
    let fixture = try Fixture(.file)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("c"))
      try tx.connection.execute(mark)
    }
    fixture.store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    #expect(throws: expected) { try MessageStore.open(fixture.config) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == before)
  }

  /// What belongs to the cache may be written in any way in another form of it.
  @Test(
    arguments: [
      ("UPDATE meta SET cache_form = 4, recent_changes = x'00'; COMMIT", StoreFailure.tooNew),
      ("UPDATE meta SET cache_form = 2, recent_changes = x'00'; COMMIT", nil),
    ] as [(StaticString, StoreFailure?)])
  func theFormOfACacheIsLookedAtFirst(_ change: StaticString, _ expected: StoreFailure?) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.alter(change)
    fixture.store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    // Nobody else's file is made anew.
    var other = fixture.config
    other.account = bytes("another")
    #expect(throws: expected ?? .mismatch(.account)) { try MessageStore.open(other) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == before)
    if let expected {
      #expect(throws: expected) { try MessageStore.open(fixture.config) }
    } else {
      try fixture.reopen()
      let counts = try fixture.read { rx throws(StoreFailure) in try rx.counts() }
      #expect(counts.conversations == 1 && counts.messages == 0)
    }
  }

  @Test func aFileOfTheFirstFormKeepsWhatIsTheUsersOwn() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.forget(bytes("a"), in: cid) }
    try fixture.goBack(
      """
      ALTER TABLE meta DROP COLUMN opening;
      ALTER TABLE operation DROP COLUMN rewritten;
      ALTER TABLE meta DROP COLUMN recent_changes;
      ALTER TABLE meta DROP COLUMN recent_refs;
      UPDATE meta SET cache_form = 1;
      PRAGMA user_version = 1;
      COMMIT
      """)
    try fixture.write { tx throws(StoreFailure) in
      // The new tables are as little a commit that was lost as any other.
      #expect(try tx.connection.number("SELECT opening FROM meta") != 0)
      #expect(try tx.connection.number("SELECT count(*) FROM operation WHERE rewritten") == 0)
      #expect(try tx.counts().messages == 0)
      try tx.feedTable.markPending(bytes("ref"), wallUs: 1)
    }
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.feedReader.seen(bytes("ref")))
      // The one that was erased here stays so.
      #expect(try rx.keys(cid, before: .max, limit: 9, from: nil).count == 1)
    }
  }

  /// Its events named nothing, and its feed did not say where a change came from.
  @Test func aFileOfTheNinthFormKeepsItsEventsAndItsFeed() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.feedTable.addEvent(
        kind: 3, action: 1, isSilent: true, cid: cid, entity: bytes("conversation"),
        body: bytes("{}"))
    }
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.alter("PRAGMA user_version = 9; COMMIT") { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("d"))
      try tx.settleConversations()
      try tx.connection.execute(Fixture.toNinthForm)
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      tx.origin = .pushed
      _ = try tx.feedTable.addEvent(
        kind: 5, action: 1, isSilent: false, cid: cid, entity: bytes("member"), body: bytes("{}"),
        id: bytes("u"))
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      guard case .entries(let events) = try rx.feedReader.events(after: 0, limit: 9),
        case .entries(let changes) = try rx.feedReader.changes(after: 0, limit: 9)
      else { throw .damaged }
      #expect(events.map(\.id) == [[], bytes("u")])
      #expect(changes.map(\.kind) == [.events, .inserted, .events])
      #expect(changes.map(\.origin) == [.none, .none, .pushed])
      #expect(changes.map(\.isSilent) == [true, false, false])
    }
  }

  /// Its signs of typing pushed out its other events.
  @Test func aFileOfTheTenthFormKeepsItsEvents() throws {
    let fixture = try Fixture(.file)
    let extra = Limits.typingEventsKept + 5
    func add(_ kind: Int64, in tx: WriteTransaction) throws(StoreFailure) {
      _ = try tx.feedTable.addEvent(
        kind: kind, action: 0, isSilent: false, cid: nil, entity: bytes("e"), body: bytes("{}"))
    }
    func kinds(after: UInt64) throws -> [Int64]? {
      try fixture.read { rx throws(StoreFailure) -> [Int64]? in
        guard case .entries(let events) = try rx.feedReader.events(after: after, limit: 10_000)
        else {
          return nil
        }
        return events.map(\.kind)
      }
    }
    try fixture.write { tx throws(StoreFailure) in
      for kind in [1, 3] as [Int64] { try add(kind, in: tx) }
    }
    try fixture.alter("PRAGMA user_version = 10; COMMIT") { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("d"))
      try tx.settleConversations()
      try tx.connection.execute(Fixture.toTenthForm)
      for _ in 0..<extra {
        try tx.connection.execute(
          """
          INSERT INTO event (kind, action, silent, cid, entity, body)
          VALUES (2, 1, 0, 0, x'65', x'7b7d')
          """)
      }
    }
    try fixture.reopen()
    let typing = [Int64](repeating: 2, count: Limits.typingEventsKept)
    #expect(try kinds(after: 0) == [1, 3] + typing)
    #expect(try kinds(after: 1) == [3] + typing)
    try fixture.write { tx throws(StoreFailure) in
      for _ in 0..<(Limits.eventsKept - 1) { try add(1, in: tx) }
    }
    #expect(try kinds(after: 0)?.first == 3)
    #expect(try kinds(after: 1)?.first == 3)
    try fixture.write { tx throws(StoreFailure) in try add(1, in: tx) }
    #expect(try kinds(after: 1) == nil)
  }

  /// What it offered went with its row.
  @Test func aFileOfTheEleventhFormKeepsWhatItOffered() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, flags: .offered)], cid)
    try fixture.alter("PRAGMA user_version = 11; COMMIT") { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("d"))
      try tx.settleConversations()
      try tx.connection.execute(
        """
        DROP TABLE offered;
        ALTER TABLE conversation ADD COLUMN counted_flags INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversation ADD COLUMN counted_arrived INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE operation DROP COLUMN told_us;
        ALTER TABLE operation DROP COLUMN told_by;
        """)
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
    try fixture.reopen()
    try fixture.apply(
      [message("a", at: 1, flags: .offered), message("b", at: 2, flags: .offered)], cid)
    try fixture.read { rx throws(StoreFailure) in
      guard case .entries(let changes) = try rx.feedReader.changes(after: 0, limit: 9) else {
        return
      }
      #expect(changes.filter(\.notifies).count == 1)
    }
  }

  /// Its ranges said all by themselves.
  @Test func aFileOfTheThirdFormKeepsItsRanges() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    let spans = try fixture.twoRanges(cid)
    try fixture.goBack("PRAGMA user_version = 3; COMMIT")
    var grown = spans
    grown.insert(position(10, ""), position(30, "c"))
    var more = grown
    more.insert(position(50, ""), position(60, ""))
    var cut = more
    cut.remove(position(15, ""), .max)
    for (old, next) in [(spans, spans), (spans, grown), (grown, more), (more, cut)] {
      try fixture.write { tx throws(StoreFailure) in
        #expect(try tx.spans(cid) == old)
        try tx.save(spans: next, replacing: old, in: cid)
        #expect(try tx.spans(cid) == next)
      }
      try fixture.reopen()
    }
    try fixture.read { rx throws(StoreFailure) in #expect(try rx.spans(cid) == cut) }
  }
}
