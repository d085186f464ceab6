/// A file that has lost which number stands for which conversation: what waits to be sent goes to
/// its own conversation, or nowhere.
import Base
import Foundation
import TestSupport
import Testing
import Timeline
import Vault

@testable import Store

struct LostConversationTests {
  private static let rooms = 60

  /// In each room a message, a send that waits and a draft, all of which name the room.
  private func fill(_ fixture: Fixture) throws {
    for number in 0..<Self.rooms {
      let name = "room\(number)"
      let cid = try fixture.conversation(name)
      try fixture.apply([message("m\(number)", at: 5, "text of \(name)")], cid)
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.operationTable.addOperation(
          OperationRecord(
            .sendMessage, cid: cid, target: bytes("send\(number)"),
            clientID: bytes("send\(number)"), plain: bytes(name)))
        try tx.operationTable.setDraft(StoredDraft(body: bytes(name)), cid)
      }
    }
    // So that rows of conversations and of operations share no page of the log.
    fixture.store.close()
  }

  /// Destroys each page with the id of a conversation that is not a message's, an operation's or
  /// a draft's.
  private func harmConversations(_ fixture: Fixture, _ isWanted: (Int) -> Bool) throws {
    let store = try MessageStore.open(fixture.config)
    var harmed: [Int] = []
    do {
      let vault = try #require(store.vault)
      let pages = try vault.pages()
      for number in 2...pages.count {
        guard let page = try pages.page(number) else { continue }
        let text = String(decoding: page, as: UTF8.self)
        let isOther = text.contains("send") || text.contains("text of")
        // A leaf of a table or of an index.
        if text.contains("room"), !isOther, page[0] == 13 || page[0] == 10 { harmed.append(number) }
      }
    }
    store.close()
    let wanted = harmed.enumerated().filter { isWanted($0.offset) }.map(\.element)
    #expect(wanted.count >= 2)
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.path))
    for page in wanted {
      try file.seek(toOffset: UInt64(8192 + (page - 1) * 4096 + 100))
      try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
    }
    try file.close()
  }

  /// Everything is where its text says that it belongs; gives the sends and drafts that are there.
  private func expectRightPlaces(_ store: MessageStore) throws -> (sends: Int, drafts: Int) {
    try store.read { rx throws(StoreFailure) in
      var found = (sends: 0, drafts: 0)
      for record in try rx.operations(OperationFilter(openOnly: true, limit: 1_000)) {
        #expect(try rx.conversation(cid: record.cid)?.id == record.plain)
        found.sends += 1
      }
      for number in 0..<Self.rooms {
        guard let cid = try rx.conversation(bytes("room\(number)"))?.cid else { continue }
        guard let draft = try rx.draft(cid) else { continue }
        #expect(text(draft.body) == "room\(number)")
        found.drafts += 1
      }
      return found
    }
  }

  /// Others come, as a sync brings them, and take no number that something waits in.
  private func addRooms(_ store: MessageStore) throws {
    try store.write { tx throws(StoreFailure) in
      for number in 0..<Self.rooms {
        _ = try tx.conversation(creating: bytes("new\(number)"))
        _ = try tx.conversation(creating: bytes("room\(number)"))
      }
    }
  }

  private func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  @Test(arguments: [true, false], [true, false])
  func aSalvageSendsNothingElsewhere(_ hasOwn: Bool, _ losesAll: Bool) throws {
    let fixture = try Fixture(.file)
    try fill(fixture)
    try harmConversations(fixture) { losesAll || $0 % 2 == 0 }
    if !hasOwn { remove(fixture.path + "-own") }
    let saved = fixture.path + ".saved"
    let work = try SalvagedFile(fixture.config, to: saved)
    while try !work.step() {}
    var config = fixture.config
    config.kind = .file(
      path: saved, key: HostKey([UInt8](repeating: 7, count: 32)), create: false, strict: false,
      baseVFS: nil)
    let store = try MessageStore.open(config)
    let found = try expectRightPlaces(store)
    #expect(work.found.operations == UInt64(found.sends))
    if hasOwn { #expect(found == (Self.rooms, Self.rooms)) }
    try addRooms(store)
    #expect(try expectRightPlaces(store) == found)
    store.close()
    for end in ["", "-own", "-wal"] { remove(saved + end) }
  }

  /// Protects: what is written into a conversation that the server does not know yet is kept where
  /// the page of its row is lost.
  @Test(arguments: [true, false]) func aNewConversationKeepsItsWork(_ hasOwn: Bool) throws {
    let fixture = try Fixture(.file)
    try fill(fixture)
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      let made = try tx.operationTable.conversation(pending: bytes("room-made"))
      let creation = try tx.operationTable.addOperation(
        OperationRecord(.createConversation, cid: made.cid, clientID: bytes("room-made")))
      var inside = OperationRecord(
        .sendMessage, cid: made.cid, target: bytes("inside"), clientID: bytes("inside"))
      inside.depends = creation.seq
      _ = try tx.operationTable.addOperation(inside)
    }
    fixture.store.close()
    try harmConversations(fixture) { _ in true }
    if !hasOwn { remove(fixture.path + "-own") }
    let store = try MessageStore.open(fixture.config)
    _ = try store.heal()
    try store.read { rx throws(StoreFailure) in
      let made = try rx.conversation(bytes("room-made"))
      #expect(made?.isPending == true)
      let inside = try rx.operations(OperationFilter(cid: made?.cid ?? -1, limit: 9))
      #expect(inside.map(\.verb) == [.createConversation, .sendMessage])
    }
    store.close()
  }

  @Test func healingSendsNothingElsewhere() throws {
    let fixture = try Fixture(.file)
    try fill(fixture)
    try harmConversations(fixture) { _ in true }
    let store = try MessageStore.open(fixture.config)
    _ = try store.heal()
    #expect(try expectRightPlaces(store) == (Self.rooms, Self.rooms))
    try addRooms(store)
    #expect(try expectRightPlaces(store) == (Self.rooms, Self.rooms))
    store.close()
  }
}
