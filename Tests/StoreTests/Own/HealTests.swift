/// What a heal leaves verified: all that lost nothing.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct HealTests {
  private static let rooms = 12
  private let fixture: Fixture
  private var store: MessageStore { fixture.store }

  /// Rooms of many pages, all of whose messages are verified.
  init() throws {
    fixture = try Fixture(.file)
    for number in 0..<Self.rooms {
      let cid = try fixture.conversation(Self.name(number))
      try fixture.apply(
        (0..<200).map {
          message("m\(number)-\($0)", at: Int64($0) + 5, String(repeating: "word ", count: 40))
        }, cid)
      try fixture.write { tx throws(StoreFailure) in
        var spans = SpanSet()
        spans.insert(.min, .after(timestampGroup: 204))
        try tx.save(spans: spans, replacing: SpanSet(), in: cid)
        _ = try tx.tombstone(bytes("gone\(number)"), in: cid, version: nil)
      }
    }
    fixture.store.close()
    try fixture.reopen()
  }

  private static func name(_ number: Int) -> String { "room\(number)" }

  private func cid(_ number: Int) throws -> Int64 {
    try store.read { rx throws(StoreFailure) in
      try rx.conversation(bytes(Self.name(number)))?.cid ?? 0
    }
  }

  /// Which rooms are verified, and how many rows each has.
  private func state() throws -> (whole: [Int], rows: [Int]) {
    var (whole, rows): ([Int], [Int]) = ([], [])
    for number in 0..<Self.rooms {
      let cid = try cid(number)
      try store.read { rx throws(StoreFailure) in
        let spans = try rx.spans(cid)
        if spans.covers(position(5, ""), high: position(204, "")) { whole.append(number) }
        rows.append(try rx.count(cid, from: position(0, ""), to: position(999, "")))
      }
    }
    return (whole, rows)
  }

  /// Destroys pages with messages whose text has `text`, as many as `most`.
  private func harm(_ text: String, kind: UInt8, most: Int = .max) throws {
    var numbers: [Int] = []
    do {
      let vault = try #require(store.vault)
      let pages = try vault.pages()
      for number in 2...pages.count {
        guard let page = try pages.page(number), page[0] == kind,
          String(decoding: page, as: UTF8.self).contains(text),
          String(decoding: page, as: UTF8.self).contains("word word")
        else { continue }
        numbers.append(number)
      }
    }
    store.close()
    #expect(!numbers.isEmpty)
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.path))
    for number in numbers.prefix(most) {
      try file.seek(toOffset: UInt64(8192 + (number - 1) * 4096 + 100))
      try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
    }
    try file.close()
    try fixture.reopen()
  }

  /// Protects: a room that has lost no message stays verified, and keeps what was deleted in mind.
  @Test func aLostPageOfMessagesConcernsItsRoom() throws {
    try harm("m5-100", kind: 10, most: 1)
    let found = try store.heal()
    #expect(found.lostPages == 1)
    let (whole, rows) = try state()
    #expect(whole.count >= Self.rooms - 2)
    #expect(!whole.contains(5))
    #expect(rows[5] < 200 && rows[5] > 150)
    for number in whole { #expect(rows[number] == 200) }
    let first = try #require(whole.first)
    let other = try cid(first)
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.isDeleted(bytes("gone\(first)"), in: other))
    }
    try fixture.reopen()
    #expect(try state() == (whole, rows))
  }

  /// Protects: a page of an index takes nothing, and one that nobody can tell takes all.
  @Test func whatCannotBeToldConcernsAll() throws {
    // What lies below these pages has no way to its root.
    try harm("m", kind: 2)
    _ = try store.heal()
    let (whole, rows) = try state()
    #expect(whole.isEmpty)
    #expect(rows.allSatisfy { $0 > 150 })
    var check = RowCheck()
    while try !store.step(&check) {}
    #expect(check.found.count == 0)
  }

  /// Protects: a heal of contradictions leaves verified what they do not concern.
  @Test func aContradictionConcernsItsRoom() throws {
    let (third, seventh) = (try cid(3), try cid(7))
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.run(
        "UPDATE conversation SET message_count = message_count + 9 WHERE cid = ?", third)
      try tx.connection.run("DELETE FROM message WHERE cid = ? AND time = 50", seventh)
    }
    try fixture.reopen()
    var check = RowCheck()
    while try !store.step(&check) {}
    #expect(check.found.count == 2)
    _ = try store.heal(check.found)
    let (whole, rows) = try state()
    #expect(whole == (0..<Self.rooms).filter { $0 != 3 && $0 != 7 })
    #expect(rows[7] == 199)
  }

  /// Protects: what was met and not found concerns all.
  @Test func whatIsNotKnownConcernsAll() throws {
    _ = try store.heal()
    #expect(try state().whole.isEmpty)
    #expect(try state().rows.allSatisfy { $0 == 200 })
  }
}
