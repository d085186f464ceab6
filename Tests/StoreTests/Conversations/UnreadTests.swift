/// Unread counts: what is counted, and when a count may be called exact.
import Testing
import Timeline

@testable import Store

@Suite struct UnreadTests {
  /// The count made the slow way, over all rows.
  static func slow(_ tx: ReadTransaction, _ cid: Int64) throws(StoreFailure) -> Int {
    let marker = try tx.unreadReader.readMarker(cid)
    let rows = try tx.rows(cid, from: .min, to: .max, limit: 10_000, newestFirst: false)
    return rows.count { row in
      row.flags.isDisjoint(
        with: [
          .mine, .readByMe, .readQueued, .control, .forgotten, .deleting, .deleted, .event,
        ])
        && marker.map { $0 < row.position } ?? true
    }
  }

  func unread(_ fixture: Fixture, _ cid: Int64) throws -> Unread {
    try fixture.read { tx throws(StoreFailure) in
      let (kept, slow) = (try tx.tally(cid).here, try Self.slow(tx, cid))
      #expect(kept == Int64(slow))
      guard let record = try tx.conversation(cid: cid) else { throw .notFound }
      return try tx.unreadReader.unread(record)
    }
  }

  /// Makes everything up to a time trusted, as a catch-up does.
  func cover(_ fixture: Fixture, _ cid: Int64, from: Int64? = nil, to time: Int64) throws {
    try fixture.write { tx throws(StoreFailure) in
      guard var record = try tx.conversation(cid: cid) else { throw .notFound }
      record.fetch = ContentMark(newest: .before(timestampGroup: time), text: bytes("t"))
      try tx.save(record)
      let old = try tx.spans(cid)
      let low = from.map { Position.before(timestampGroup: $0) } ?? .min
      try tx.save(
        spans: old.inserting(low, high: .after(timestampGroup: time)), replacing: old, in: cid)
    }
  }

  func told(
    _ fixture: Fixture, _ cid: Int64, _ count: Int64?, newest: Position?, lastRead: String? = nil,
    issued: UInt64? = nil
  ) throws {
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.noteServer(
        cid, unread: count, lastRead: lastRead.map(bytes), newest: newest,
        issued: issued ?? tx.lsn - 1)
    }
  }

  /// Nobody reads an event, or what was deleted: they count for nothing, and hide nothing.
  @Test(arguments: Kind.allCases)
  func eventsAndWhatWasDeletedCountForNothing(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply(
      [
        message("a", at: 1), message("b", at: 2), message("c", at: 3, flags: .event),
        message("d", at: 4), message("e", at: 5, flags: .deleted),
      ], cid)
    try cover(fixture, cid, to: 9)
    #expect(try unread(fixture, cid) == Unread(3, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.unreadTable.moveReadMarker(cid, to: position(1, "a"))
    }
    #expect(try unread(fixture, cid) == Unread(2, isExact: true))
    let first = try fixture.read { tx throws(StoreFailure) in try tx.firstUnread(cid) }
    #expect(first == position(2, "b"))
    // It is deleted for all later on.
    try fixture.apply([message("d", at: 4, flags: .deleted, version: 2)], cid)
    #expect(try unread(fixture, cid) == Unread(1, isExact: true))
  }

  /// The newest message that the server told beside its count is stamped ahead, so what comes
  /// after the count stands below it. More than it counted is not of the count.
  @Test(arguments: Kind.allCases, [false, true])
  func oneMoreBelowTheTopThanWasCountedIsNotCalledExact(
    _ kind: Kind, _ hasNoMarker: Bool
  ) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply(
      [message("o", at: 0, flags: .readByMe), message("ahead", at: 900, flags: .mine)], cid)
    if !hasNoMarker {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.unreadTable.moveReadMarker(cid, to: position(0, "o"))
      }
    }
    try told(fixture, cid, 2, newest: position(900, "ahead"))
    try fixture.apply([message("a", at: 1), message("b", at: 2, flags: .mine)], cid)
    try fixture.apply([message("c", at: 3)], cid)
    #expect(try unread(fixture, cid) == Unread(2, isExact: true))
    try fixture.apply([message("d", at: 4)], cid)
    // Where this user has read to nobody knows, if no marker was told.
    #expect(try unread(fixture, cid) == Unread(hasNoMarker ? 2 : 3, isExact: hasNoMarker))
    try fixture.apply([message("e", at: 5)], cid)
    #expect(try unread(fixture, cid) == Unread(hasNoMarker ? 2 : 4, isExact: hasNoMarker))
    try cover(fixture, cid, to: 900)
    try fixture.apply([message("f", at: 6)], cid)
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
    try told(fixture, cid, 4, newest: position(900, "ahead"))
    #expect(try unread(fixture, cid) == Unread(4, isExact: true))
  }

  /// A file of the eighth form counted them.
  @Test(arguments: [false, true])
  func aFileOfTheEighthForm(_ hasMarker: Bool) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply(
      [
        message("a", at: 1), message("b", at: 2), message("c", at: 3, flags: .event),
        message("d", at: 4), message("e", at: 5, flags: .deleted),
        message("f", at: 6, flags: .mine),
      ], cid)
    try cover(fixture, cid, to: 9)
    if hasMarker {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.unreadTable.moveReadMarker(cid, to: position(1, "a"))
      }
    }
    try told(fixture, cid, 7, newest: nil)
    let change: StaticString =
      "UPDATE conversation SET unread_count = 77; PRAGMA user_version = 8; COMMIT"
    try fixture.alter(change) { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("d"))
      try tx.settleConversations()
      try tx.connection.execute(Fixture.toNinthForm)
    }
    try fixture.reopen()
    #expect(try unread(fixture, cid) == Unread(hasMarker ? 2 : 3, isExact: true))
  }

  @Test(arguments: Kind.allCases)
  func countsWhatOthersSentAndNobodyReadHere(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply(
      [
        message("a", at: 1), message("b", at: 2, flags: .mine),
        message("c", at: 3, flags: .readByMe), message("d", at: 4, flags: .control),
        message("e", at: 5), message("f", at: 6),
      ], cid)
    #expect(try unread(fixture, cid) == Unread(3, isExact: false))
    try cover(fixture, cid, to: 6)
    #expect(try unread(fixture, cid) == Unread(3, isExact: true))
    try fixture.apply([message("a", at: 1), message("e", at: 5)], cid)
    #expect(try unread(fixture, cid).count == 3)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("a"), in: cid))
      _ = try tx.tombstone(bytes("e"), in: cid, version: nil)
    }
    try fixture.reopen()
    #expect(try unread(fixture, cid) == Unread(1, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.confirmMarks(.read, ids: [bytes("a")], in: cid)
      _ = try tx.forget(bytes("f"), in: cid)
    }
    #expect(try unread(fixture, cid) == Unread(0, isExact: true))
  }

  @Test func aMarkThatIsGivenUpCountsAgain() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    try told(fixture, cid, 2, newest: position(2, "b"))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.enqueueMark(.read, id: bytes("a"), in: cid)
    }
    // Another device may have read it before.
    #expect(try unread(fixture, cid) == Unread(1, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      try tx.annotationTable.dropMarks(.read, ids: [bytes("a")], in: cid)
    }
    #expect(try unread(fixture, cid) == Unread(2, isExact: false))
  }

  @Test(arguments: Kind.allCases)
  func theMarkerMovesForwardOnly(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try cover(fixture, cid, to: 9)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.unreadTable.moveReadMarker(cid, to: position(6, "m6")))
      #expect(try tx.unreadTable.moveReadMarker(cid, to: position(3, "m3")) == false)
      #expect(try tx.unreadTable.moveReadMarker(cid, to: .pending(1)) == false)
    }
    #expect(try unread(fixture, cid) == Unread(3, isExact: true))
    try told(fixture, cid, nil, newest: nil, lastRead: "m2")
    #expect(
      try fixture.read { tx throws(StoreFailure) in try tx.unreadReader.readMarker(cid) }?.time == 6
    )
    // One that is not stored is waited for, also across a restart.
    try told(fixture, cid, nil, newest: nil, lastRead: "m11")
    try fixture.reopen()
    try fixture.apply([message("m10", at: 10), message("m11", at: 11)], cid)
    #expect(try unread(fixture, cid) == Unread(0, isExact: false))
    try fixture.apply([message("late", at: 4), message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid).count == 1)
    let feed = try fixture.read { tx throws(StoreFailure) in
      try tx.feedReader.changes(after: 0, limit: 99)
    }
    guard case .entries(let entries) = feed else { throw StoreFailure.damaged }
    #expect(entries.contains { $0.kind == .conversations && $0.cid == cid })
  }

  @Test func messagesThatMoveAreCountedWhereTheyStand() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 5), message("c", at: 9)], cid)
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(5, "b"))
    }
    #expect(try unread(fixture, cid).count == 1)
    try fixture.apply([message("a", at: 7, version: 2), message("c", at: 2, version: 2)], cid)
    #expect(try unread(fixture, cid).count == 1)
    try fixture.apply([message("c", at: 8, version: 3)], cid)
    #expect(try unread(fixture, cid).count == 2)
  }

  @Test func aHoleMakesItALowerBound() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...9).map { message("m\($0)", at: Int64($0)) }, cid)
    try cover(fixture, cid, from: 5, to: 9)
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    // What is read need not be whole.
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(4, "m4"))
    }
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(5, "m5"))
    }
    #expect(try unread(fixture, cid) == Unread(4, isExact: true))
    // Something above the range is an island.
    try fixture.apply([message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
    try cover(fixture, cid, to: 12)
    #expect(try unread(fixture, cid) == Unread(5, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      let none = try tx.unverified(cid)
      try tx.save(
        unverified: none.inserting(position(7, ""), high: position(8, "")), replacing: none, in: cid
      )
    }
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
  }

  /// What shares its time with the newest that the server counted was there when it counted, if it
  /// is stored already; whether a page brings more of that time from before nobody can tell.
  @Test func whatSharesTheTimeOfTheTopIsCountedOnce() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 5), message("c", at: 5)], cid)
    try fixture.write { tx throws(StoreFailure) in
      try tx.note(orderOf: 5, isKnown: false, in: cid)
    }
    try told(fixture, cid, 6, newest: position(5, "c"))
    #expect(try unread(fixture, cid) == Unread(6, isExact: true))
    try fixture.apply([message("d", at: 5)], cid)
    #expect(try unread(fixture, cid) == Unread(6, isExact: false))
    try fixture.apply([message("e", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try cover(fixture, cid, to: 20)
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
  }

  /// A count that may be too low is exact no more. Once all is counted here it is not gone back to,
  /// whichever of the two came first.
  @Test(arguments: [false, true], [false, true])
  func aLowCountIsNotGoneBackTo(_ isToldFirst: Bool, _ isVerifiedLast: Bool) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...5).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.enqueueMark(.read, id: bytes("m2"), in: cid)
    }
    if isToldFirst { try told(fixture, cid, 9, newest: position(5, "m5")) }
    let doubted = SpanSet().inserting(position(1, ""), high: position(2, ""))
    if isVerifiedLast {
      try fixture.write { tx throws(StoreFailure) in
        try tx.save(unverified: doubted, replacing: SpanSet(), in: cid)
      }
    }
    try cover(fixture, cid, to: 9)
    if isVerifiedLast {
      try fixture.write { tx throws(StoreFailure) in
        try tx.save(unverified: SpanSet(), replacing: doubted, in: cid)
      }
    }
    if !isToldFirst { try told(fixture, cid, 9, newest: position(5, "m5")) }
    #expect(try unread(fixture, cid) == Unread(4, isExact: false))
    try fixture.apply([message("m12", at: 12)], cid)
    #expect(try unread(fixture, cid) == Unread(5, isExact: false))
  }

  @Test func theServersCountGoesOn() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("m20", at: 20)], cid)
    try told(fixture, cid, 7, newest: position(20, "m20"))
    #expect(try unread(fixture, cid) == Unread(7, isExact: true))
    // What was counted is not counted again when it comes.
    try fixture.apply([message("m18", at: 18), message("m19", at: 19)], cid)
    #expect(try unread(fixture, cid) == Unread(7, isExact: true))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.enqueueMark(.read, id: bytes("m19"), in: cid)
    }
    // Another device may have read it before.
    #expect(try unread(fixture, cid) == Unread(6, isExact: false))
    try fixture.reopen()
    // What comes above it is more.
    try fixture.apply([message("m22", at: 22)], cid)
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try cover(fixture, cid, from: 19, to: 22)
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(20, "m20"))
    }
    #expect(try unread(fixture, cid) == Unread(1, isExact: false))
  }

  @Test func whatIsHeardWithoutALossKeepsTheCount() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...5).map { message("m\($0)", at: Int64($0)) }, cid)
    try told(fixture, cid, 9, newest: position(5, "m5"))
    let since = fixture.store.lsn
    func receive(
      since lsn: UInt64?, _ body: (WriteTransaction) throws(StoreFailure) -> Void
    ) throws {
      try fixture.write { tx throws(StoreFailure) in
        tx.receivedSince = lsn
        try body(tx)
      }
    }
    try receive(since: since) { tx throws(StoreFailure) in
      _ = try tx.apply(message("m6", at: 6), cid, issued: tx.lsn)
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("me"), ids: [bytes("m2")], in: cid, isMe: true)
      _ = try tx.tombstone(bytes("m3"), in: cid, version: nil)
    }
    // What was read below the newest may have been read before on another device.
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
    try told(fixture, cid, 8, newest: position(6, "m6"))
    #expect(try unread(fixture, cid) == Unread(8, isExact: true))
    // Counted before this connection began: something may have been missed.
    try receive(since: fixture.store.lsn + 1) { tx throws(StoreFailure) in
      _ = try tx.apply(message("m7", at: 7), cid, issued: tx.lsn)
    }
    #expect(try unread(fixture, cid) == Unread(9, isExact: false))
    try receive(since: nil) { tx throws(StoreFailure) in
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("me"), ids: [bytes("m1")], in: cid, isMe: true)
    }
    // It goes on, and is exact no more: the server may have counted without it.
    #expect(try unread(fixture, cid) == Unread(8, isExact: false))
  }

  @Test func aCountThatMayBeMixedIsLeftAside() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...5).map { message("m\($0)", at: Int64($0)) }, cid)
    let issued = fixture.store.lsn
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.enqueueMark(.read, id: bytes("m1"), in: cid)
    }
    try told(fixture, cid, 8, newest: position(5, "m5"), issued: issued)
    // It is the first one, and nearer to the truth than what is here.
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    // Asked after: the mark is pending, so the server counts it, or another device read it.
    try told(fixture, cid, 8, newest: position(5, "m5"))
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.confirmMarks(.read, ids: [bytes("m1")], in: cid)
    }
    // Something unknown was read or went.
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("me"), ids: [bytes("?")], in: cid, isMe: true)
    }
    #expect(try unread(fixture, cid) == Unread(7, isExact: false))
    try told(fixture, cid, 8, newest: position(5, "m5"))
    #expect(try unread(fixture, cid).isExact)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("??"), in: cid, version: nil)
    }
    #expect(try unread(fixture, cid).isExact == false)
    try told(fixture, cid, 8, newest: position(5, "m5"))
    try fixture.write { tx throws(StoreFailure) in try tx.clearTombstones(cid) }
    #expect(try unread(fixture, cid).isExact == false)
  }

  @Test func clearingKeepsTheMarkerAndLeavingForgetsIt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...5).map { message("m\($0)", at: Int64($0)) }, cid)
    try told(fixture, cid, 5, newest: position(5, "m5"))
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(3, "m3"))
      try tx.operationTable.setDraft(StoredDraft(body: bytes("so"), replyTo: bytes("m4")), cid)
      try tx.clearCache()
    }
    #expect(try unread(fixture, cid) == Unread(0, isExact: false))
    try fixture.apply((1...6).map { message("m\($0)", at: Int64($0)) }, cid)
    #expect(try unread(fixture, cid) == Unread(3, isExact: false))
    try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(cid) }
    #expect(try unread(fixture, cid) == Unread(0, isExact: false))
    try fixture.apply((1...6).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.reopen()
    #expect(try unread(fixture, cid) == Unread(6, isExact: false))
    let draft = try fixture.read { tx throws(StoreFailure) in try tx.draft(cid) }
    #expect(draft == StoredDraft(body: bytes("so"), replyTo: bytes("m4")))
  }

  @Test(arguments: Kind.allCases)
  func draftsAreOneAConversation(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    let start = fixture.store.lastChange
    for draft in [StoredDraft(body: [0xFF]), StoredDraft(body: bytes("x"), replyTo: bytes("m"))] {
      for _ in 0..<2 {
        try fixture.write { tx throws(StoreFailure) in try tx.operationTable.setDraft(draft, cid) }
      }
    }
    // The same draft again is no change.
    #expect(fixture.store.lastChange == start + 2)
    try fixture.reopen()
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.draft(cid) == StoredDraft(body: bytes("x"), replyTo: bytes("m")))
      #expect(try tx.draft(other) == nil)
    }
    try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.setDraft(nil, cid)
      try tx.operationTable.setDraft(nil, other)
    }
    #expect(try fixture.read { tx throws(StoreFailure) in try tx.draft(cid) } == nil)
    #expect(fixture.store.lastChange == start + 3)
  }

  /// An object that is older than the marker, with no message beside its count.
  @Test func aCountFromAnotherMarkerIsNotTaken() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...10).map { message("m\($0)", at: Int64($0)) }, cid)
    try cover(fixture, cid, to: 10)
    try fixture.write { tx throws(StoreFailure) in
      try tx.unreadTable.moveReadMarker(cid, to: position(6, "m6"))
    }
    try told(fixture, cid, 7, newest: nil, lastRead: "m3")
    #expect(try unread(fixture, cid) == Unread(4, isExact: false))
    try told(fixture, cid, 7, newest: position(10, "m10"), lastRead: "m3")
    #expect(try unread(fixture, cid) == Unread(4, isExact: false))
    try told(fixture, cid, 4, newest: position(10, "m10"), lastRead: "m6")
    #expect(try unread(fixture, cid) == Unread(4, isExact: true))
  }

  /// What is deleted or marked here may be so on the server already, and uncounted.
  @Test(arguments: [OperationVerb.deleteMessage, .markRead])
  func whatTheServerMayNotHaveCountedMakesALowerBound(_ verb: OperationVerb) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply((1...5).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      if verb == .markRead {
        _ = try tx.annotationTable.enqueueMark(.read, id: bytes("m2"), in: cid)
      } else {
        _ = try tx.operationTable.addOperation(OperationRecord(verb, cid: cid, target: bytes("m2")))
      }
    }
    // Another device has read or deleted it, so the server's 21 are without it.
    try told(fixture, cid, 21, newest: position(5, "m5"))
    try fixture.reopen()
    #expect(try unread(fixture, cid) == Unread(20, isExact: false))
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("m2"), in: cid, version: nil)
    }
    try told(fixture, cid, 21, newest: position(5, "m5"))
    #expect(try unread(fixture, cid) == Unread(21, isExact: true))
  }
}
