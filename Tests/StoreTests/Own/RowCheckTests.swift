/// What a look at the rows finds: nothing in a sound file, and each thing that contradicts another.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct RowCheckTests {
  private func found(_ fixture: Fixture) throws -> UInt64 {
    var check = RowCheck()
    var steps = 0
    while try !fixture.store.step(&check) { steps += 1 }
    #expect(steps < 1_000)
    return check.found.count
  }

  /// Three slices of messages, a send and a draft.
  private func fill() throws -> Fixture {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((0..<2_500).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    let other = try fixture.conversation("d")
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: other, target: bytes("s"), clientID: bytes("s")))
      try tx.operationTable.setDraft(StoredDraft(body: bytes("draft")), other)
    }
    return fixture
  }

  @Test func aSoundFileIsSound() throws {
    let fixture = try fill()
    #expect(try found(fixture) == 0)
    try fixture.reopen()
    #expect(try found(fixture) == 0)
    #expect(try found(try Fixture(.memory)) == 0)
  }

  @Test func whatLostItsConversationIsFound() throws {
    let fixture = try fill()
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("DELETE FROM conversation WHERE id = CAST('d' AS BLOB)")
    }
    #expect(try found(fixture) == 2)
    // A new one gets a number of its own, so nothing is sent there.
    try fixture.write { tx throws(StoreFailure) in
      let cid = try tx.conversation(creating: bytes("new")).cid
      #expect(try tx.operations(OperationFilter(cid: cid, limit: 9)).isEmpty)
      #expect(try tx.draft(cid) == nil)
    }
    #expect(try found(fixture) == 2)
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("DELETE FROM conversation")
    }
    #expect(try found(fixture) == 2_502)
  }

  /// Protects: a small table that is an older one, whole with its indexes, is found by what lies
  /// beside the file, or by what another table says.
  @Test(
    arguments: [
      "DELETE FROM operation", "UPDATE operation SET plain = x'00'", "DELETE FROM draft",
      "UPDATE draft SET body = x'00'", "UPDATE conversation SET message_count = message_count - 5",
      "DELETE FROM message", "DELETE FROM message WHERE time = 2000",
    ] as [StaticString])
  func anOlderTableIsFound(_ change: StaticString) throws {
    let fixture = try fill()
    try fixture.write { tx throws(StoreFailure) in try tx.connection.execute(change) }
    try fixture.write { tx throws(StoreFailure) in _ = try tx.conversation(creating: bytes("e")) }
    #expect(try found(fixture) == 1)
    var check = RowCheck()
    while try !fixture.store.step(&check) {}
    _ = try fixture.store.heal(check.found)
    #expect(try found(fixture) == 0)
    try expectWork(fixture)
  }

  private func expectWork(_ fixture: Fixture) throws {
    #expect(try fixture.store.openWork().map(\.clientID) == [bytes("s")])
    try fixture.read { rx throws(StoreFailure) in
      let cid = try rx.conversation(bytes("d"))?.cid ?? 0
      #expect(text(try rx.draft(cid)?.body) == "draft")
    }
  }

  /// Protects: an opening takes own work from the file beside where the tables are older ones.
  @Test(arguments: ["DELETE FROM operation", "DELETE FROM draft"] as [StaticString])
  func anOlderTableOfOwnWorkIsPutBack(_ change: StaticString) throws {
    let fixture = try fill()
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in try tx.connection.execute(change) }
    try fixture.reopen()
    try expectWork(fixture)
    #expect(try fixture.store.isKeptTwice())
  }

  /// Protects: the check ends while the user goes on, and finds nothing in what is written then.
  @Test func itEndsBesideSends() throws {
    let fixture = try fill()
    var check = RowCheck()
    var steps = 0
    while steps < 500, try !fixture.store.step(&check) {
      steps += 1
      try fixture.write { tx throws(StoreFailure) in
        let name = bytes("also \(steps)")
        let cid = try tx.conversation(bytes("d"))?.cid ?? 0
        _ = try tx.operationTable.addOperation(
          OperationRecord(
            .sendMessage, cid: cid, target: name, clientID: name,
            plain: [UInt8](repeating: 1, count: 1 << 20)))
      }
    }
    #expect(steps < 100)
    #expect(check.found.count == 0)
  }

  /// Protects: no slice looks at all of a table that may be large.
  @Test func largeTablesAreLookedAtInSlices() throws {
    let fixture = try fill()
    var least = 0
    var check = RowCheck()
    while try !fixture.store.step(&check) { least += 1 }
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO entity (kind, cid, id, body) SELECT 5, 0, CAST(i AS BLOB), x'00' FROM n;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO change (last, entries) SELECT -i, x'00' FROM n;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO tombstone (cid, id, lsn) SELECT 1, CAST(i AS BLOB), 1 FROM n;
        """)
    }
    var steps = 0
    check = RowCheck()
    while try !fixture.store.step(&check) { steps += 1 }
    #expect(steps >= least + 60)
    #expect(check.found.count == 0)
  }

  /// Protects: a page of an earlier state is found in such a table, too.
  @Test(arguments: ["entity", "change", "tombstone"])
  func anOlderPageOfALargeTableIsFound(_ table: String) throws {
    let fixture = try fill()
    func add(_ from: Int64, _ to: Int64) throws {
      try fixture.write { tx throws(StoreFailure) in
        for number in stride(from: from, to: to, by: 2) {
          let id = bytes(String(format: "%06d", Int(number)))
          let body = [UInt8](repeating: 0x61, count: 200)
          switch table {
          case "entity":
            try tx.connection.run(
              "INSERT INTO entity (kind, cid, id, body) VALUES (5, 0, ?, ?)", id, body)
          case "change":
            try tx.connection.run(
              "INSERT INTO change (last, entries) VALUES (?, ?)", number - 1_000_000, body)
          default:
            try tx.connection.run(
              "INSERT INTO tombstone (cid, id, lsn) VALUES (1, ?, 1)", id + body)
          }
        }
      }
    }
    func pages() throws -> [[UInt8]] {
      let vault = try #require(fixture.store.vault)
      let reader = try vault.pages()
      return try (1...reader.count).map { try reader.page($0) ?? [] }
    }
    try add(0, 2_000)
    fixture.store.close()
    let older = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    try fixture.reopen()
    let before = try pages()
    // Between those that are there, so that each page has other rows.
    try add(1, 2_001)
    fixture.store.close()
    try fixture.reopen()
    let after = try pages()
    fixture.store.close()
    let word = table == "change" ? "aaaaaaaa" : "001"
    var harmed = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    let place = try #require(
      before.indices.dropFirst(30).first { number in
        before[number] != after[number] && [10, 13].contains(before[number].first ?? 0)
          && before[number].first == after[number].first
          && String(decoding: before[number], as: UTF8.self).contains(word)
          && String(decoding: after[number], as: UTF8.self).contains("aaaaaaaa")
      })
    let range = 8192 + place * 4096..<8192 + (place + 1) * 4096
    harmed.replaceSubrange(range, with: older[range])
    try harmed.write(to: URL(fileURLWithPath: fixture.path))
    try fixture.reopen()
    #expect(try found(fixture) > 0)
  }

  /// Protects: the check ends where an older page leads back in its tree, as in a ring.
  @Test func itEndsBesideOlderPages() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    func content() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: fixture.path)) }
    try fixture.apply((0..<5_000).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    fixture.store.close()
    let older = try content()
    try fixture.reopen()
    // Their pages are those of later rows.
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.execute("DELETE FROM message")
      try tx.connection.execute("UPDATE conversation SET message_count = 0")
    }
    try fixture.apply((5_000..<9_990).map { message("m\($0)", at: Int64($0) + 5) }, cid)
    fixture.store.close()
    let whole = try content()
    try fixture.reopen()
    let kinds = try {
      let reader = try #require(fixture.store.vault).pages()
      return try (1...reader.count).map { try reader.page($0)?.first ?? 0 }
    }()
    fixture.store.close()
    var tried = 0
    for page in kinds.indices where page > 5 && kinds[page] == 10 && page < older.count / 4096 - 2 {
      let place = 8192 + page * 4096..<8192 + (page + 1) * 4096
      if older[place] == whole[place] { continue }
      var harmed = whole
      harmed.replaceSubrange(place, with: older[place])
      try harmed.write(to: URL(fileURLWithPath: fixture.path))
      try fixture.reopen()
      var check = RowCheck()
      var steps = 0
      while steps < 300, try !fixture.store.step(&check) { steps += 1 }
      #expect(steps < 300, "page \(page)")
      tried += 1
      fixture.store.close()
    }
    #expect(tried > 20)
    try whole.write(to: URL(fileURLWithPath: fixture.path))
    try fixture.reopen()
  }
}
