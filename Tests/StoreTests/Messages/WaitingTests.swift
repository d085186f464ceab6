/// Marks in any order and before their message: whatever the order in which they
/// arrive, the row ends as if they had come in the order in which they were made.
import Base
import Testing

@testable import Store

@Suite struct WaitingTests {
  /// One thing that the server tells of a message, each once.
  private enum Told: CaseIterable {
    case page, edit, reaction, olderReaction, pin, read, delivered, listened, ownRead
  }

  /// What became of the message at the server: version 1 as made, 2 with a reaction,
  /// 3 with another, 4 edited; pinned at the end.
  private static func apply(
    _ told: Told, _ tx: WriteTransaction, _ cid: Int64
  ) throws(StoreFailure) {
    let id = bytes("m")
    switch told {
    case .page:
      // Asked for before anything else came, and it shows the message as made.
      _ = try tx.apply(message("m", at: 5, "made", version: 1), cid, issued: 0)
    case .edit:
      let copy = message(
        "m", at: 5, "edited", flags: [.edited, .pinned], version: 4, edited: 9,
        reactions: "{3}")
      _ = try tx.apply(copy, cid, issued: tx.lsn)
    case .reaction:
      _ = try tx.annotationTable.reactions(
        id, in: cid, json: bytes("{3}"), version: 3, issued: tx.lsn)
    case .olderReaction:
      _ = try tx.annotationTable.reactions(
        id, in: cid, json: bytes("{2}"), version: 2, issued: tx.lsn)
    case .pin:
      _ = try tx.annotationTable.pin(id, in: cid, isPinned: true, issued: tx.lsn)
    case .read:
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("eva"), ids: [id], in: cid, isMe: false)
    case .delivered:
      _ = try tx.annotationTable.receipts(
        .delivered, user: bytes("eva"), ids: [id], in: cid, isMe: false)
    case .listened:
      _ = try tx.annotationTable.receipts(
        .listened, user: bytes("me"), ids: [id], in: cid, isMe: true)
    case .ownRead:
      _ = try tx.annotationTable.receipts(.read, user: bytes("me"), ids: [id], in: cid, isMe: true)
    }
  }

  @Test(arguments: Kind.allCases)
  func anyOrderEndsInTheSameRow(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    var random = Random(seed: 3)
    for round in 0..<(kind == .memory ? 400 : 40) {
      let cid = try fixture.conversation("c\(round)")
      var order = Told.allCases
      for last in order.indices.reversed() { order.swapAt(last, random.below(last + 1)) }
      // Some come twice.
      order += order.filter { _ in random.chance(0.2) }
      for told in order {
        try fixture.write { tx throws(StoreFailure) in try Self.apply(told, tx, cid) }
        if random.chance(0.1) { try fixture.reopen() }
      }
      let row = try #require(try fixture.message("m", cid))
      let expected: RowFlags = [.edited, .pinned, .readByMe, .listenedByMe]
      #expect(row.flags == expected, "\(order)")
      #expect(text(row.payload) == "edited" && text(row.reactions) == "{3}", "\(order)")
      let readers = Set(ReaderList.decode(row.readBy ?? []) ?? [])
      #expect(readers == [bytes("eva"), bytes("me")], "\(order)")
      #expect(text(row.deliveredBy) == #"["eva"]"# && text(row.listenedBy) == #"["me"]"#)
    }
    #expect(try fixture.read { rx throws(StoreFailure) in try rx.counts().waiting } == 0)
  }

  @Test(arguments: Kind.allCases)
  func aDeletionAnywhereInTheOrderWins(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    for place in 0...Told.allCases.count {
      let cid = try fixture.conversation("c\(place)")
      for (step, told) in Told.allCases.enumerated() {
        try fixture.write { tx throws(StoreFailure) in
          if step == place { _ = try tx.tombstone(bytes("m"), in: cid, version: nil) }
          try Self.apply(told, tx, cid)
        }
      }
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.tombstone(bytes("m"), in: cid, version: nil)
      }
      try fixture.reopen()
      #expect(try fixture.message("m", cid) == nil)
      try fixture.read { rx throws(StoreFailure) in
        #expect(try rx.counts().waiting == 0)
        #expect(try rx.counts().messages == 0)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func marksWaitAcrossARestartAndAreLaidOverTheFirstCopy(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let stamp = try fixture.write { tx throws(StoreFailure) in
      let id = bytes("m")
      #expect(
        try tx.annotationTable.reactions(
          id, in: cid, json: bytes("{1}"), version: nil, issued: tx.lsn) == nil)
      #expect(try tx.annotationTable.pin(id, in: cid, isPinned: true, issued: tx.lsn) == nil)
      #expect(
        try tx.annotationTable.receipts(.read, user: bytes("me"), ids: [id], in: cid, isMe: true)
          .isEmpty)
      return tx.lsn
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.counts().waiting == 1)
      #expect(try rx.feedReader.lastChange() == 0)
    }
    // A page asked for before the marks came.
    #expect(try fixture.apply([message("m", at: 1)], cid, issued: stamp - 1) == [.inserted(1)])
    let row = try #require(try fixture.message("m", cid))
    #expect(text(row.reactions) == "{1}" && row.flags == [.pinned, .readByMe])
    // Once more the same page: still stale.
    try fixture.apply([message("m", at: 1)], cid, issued: stamp - 1)
    #expect(try fixture.message("m", cid) == row)
    // One asked for after them says what is so now.
    try fixture.apply([message("m", at: 1)], cid, issued: stamp + 1)
    #expect(try fixture.message("m", cid)?.flags == .readByMe)
    #expect(try fixture.message("m", cid)?.reactions == nil)
  }

  @Test func aPageAskedForAfterTheMarksOutranksThoseThatWait() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let stamp = try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.reactions(
        bytes("m"), in: cid, json: bytes("{1}"), version: nil, issued: tx.lsn)
      _ = try tx.annotationTable.pin(bytes("m"), in: cid, isPinned: true, issued: tx.lsn)
      return tx.lsn
    }
    try fixture.apply([message("m", at: 1)], cid, issued: stamp)
    let row = try #require(try fixture.message("m", cid))
    #expect(row.reactions == nil && row.flags == [])
  }

  /// A mark of one kind keeps nothing of another kind out.
  @Test func aReactionDoesNotHoldBackThePinOfAPageAskedForBefore() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("m", at: 1, reactions: "{0}")], cid, issued: 1)
    try fixture.write { tx throws(StoreFailure) in
      #expect(
        try tx.annotationTable.reactions(
          bytes("m"), in: cid, json: bytes("{1}"), version: nil, issued: 9) == 1)
    }
    try fixture.apply([message("m", at: 1, flags: .pinned, reactions: "{0}")], cid, issued: 5)
    let row = try #require(try fixture.message("m", cid))
    #expect(text(row.reactions) == "{1}" && row.flags == .pinned)
  }

  @Test func aMarkThatChangesNothingStillOutranksAnOlderPage() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("m", at: 1)], cid, issued: 1)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.annotationTable.pin(bytes("m"), in: cid, isPinned: false, issued: 9) == nil)
      #expect(
        try tx.annotationTable.reactions(bytes("m"), in: cid, json: nil, version: nil, issued: 9)
          == nil)
    }
    try fixture.apply([message("m", at: 1, flags: .pinned, reactions: "{0}")], cid, issued: 5)
    #expect(try fixture.message("m", cid) == message("m", at: 1))
    #expect(fixture.store.lastChange == 1)
  }

  @Test(arguments: [-1, 0, 1])
  func whatWaitsIsBoundedAndCounted(_ beyond: Int) throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let count = Limits.waitingKept + beyond
    try fixture.write { tx throws(StoreFailure) in
      // Those that came and went leave room for others.
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("eva"), ids: [bytes("gone")], in: cid, isMe: false)
      for step in 0..<count {
        let ids = [bytes("m\(step)")]
        _ = try tx.annotationTable.receipts(
          .read, user: bytes("eva"), ids: ids, in: cid, isMe: false)
        if step == 0 { _ = try tx.tombstone(bytes("gone"), in: cid, version: nil) }
      }
    }
    try fixture.read { rx throws(StoreFailure) in
      let counts = try rx.counts()
      #expect(counts.waiting == UInt64(min(count, Limits.waitingKept)))
      #expect(counts.waitingDropped == UInt64(max(0, beyond)))
    }
    try fixture.apply(["m0", "m\(count - 1)"].map { message($0, at: 1) }, cid)
    let oldest = try fixture.message("m0", cid)?.readBy
    #expect(text(oldest) == (beyond > 0 ? nil : #"["eva"]"#))
    #expect(text(try fixture.message("m\(count - 1)", cid)?.readBy) == #"["eva"]"#)
  }

  /// That they were offered is kept of as many messages as are not stored any more, and the
  /// oldest are forgotten first.
  @Test(arguments: [-1, 0, 1], ["clear", "drop", "delete"])
  func offersAreBounded(_ beyond: Int, _ way: String) throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let count = Limits.offersKept + beyond
    func all() -> [IncomingMessage] {
      (0..<count).map { message("m\($0)", at: Int64($0), flags: .offered) }
    }
    try fixture.apply(all(), cid)
    try fixture.write { tx throws(StoreFailure) in
      switch way {
      case "clear": try tx.clearCache()
      case "drop": try tx.dropMessages(cid)
      default:
        for one in all() { _ = try tx.remove(one.position, cid) }
      }
      #expect(
        try tx.connection.number("SELECT count(*) FROM offered")
          == Int64(min(count, Limits.offersKept)))
    }
    try fixture.apply(all(), cid)
    let offered = try fixture.read { rx throws(StoreFailure) -> [UInt64] in
      guard case .entries(let changes) = try rx.feedReader.changes(after: 0, limit: 10_000) else {
        return []
      }
      return changes.filter { $0.notifies && $0.kind == .inserted }.map(\.first)
    }
    // The first entry tells of the rows that went, where the feed still has it.
    #expect(offered.count == (beyond > 0 ? 1 : 0) + (way == "clear" ? 0 : 1))
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.connection.number("SELECT count(*) FROM offered") == 0)
    }
  }
}
