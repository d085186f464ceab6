/// A summary says the same whether its conversation was asked for alone or with all others, and a
/// page of messages of many conversations has those that one would give.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct ListingTests {
  /// Conversations of each kind that a summary tells apart, in one store.
  private func mixed(_ kind: Kind) throws -> Fixture {
    let fixture = try Fixture(kind)
    for number in 0..<12 {
      let cid = try fixture.conversation("c\(number)")
      try fixture.apply((1...5).map { message("c\(number)m\($0)", at: Int64($0)) }, cid)
      try fixture.write { tx throws(StoreFailure) in
        var record = try tx.conversation(creating: bytes("c\(number)"))
        record.fetch = ContentMark(newest: .before(timestampGroup: 4), text: bytes("4"))
        let low = Position.before(timestampGroup: .min + 1)
        let whole = SpanSet().inserting(low, high: .after(timestampGroup: 5))
        let halves = SpanSet().inserting(low, high: .after(timestampGroup: 2))
          .inserting(.before(timestampGroup: 4), high: .after(timestampGroup: 5))
        if number != 1 { try tx.save(record) }
        if number != 2 {
          try tx.save(spans: number == 3 ? halves : whole, replacing: SpanSet(), in: cid)
        }
        if number == 4 { try tx.save(unverified: whole, replacing: SpanSet(), in: cid) }
        if number == 5 { try tx.save(stale: whole, replacing: SpanSet(), in: cid) }
        if number == 6 { try tx.note(orderOf: 5, isKnown: false, in: cid) }
        if number % 2 == 0 {
          try tx.putConversation(
            cid, id: record.id, body: bytes("{}"), madeUs: Int64(number), issued: nil)
        }
        if number == 7 { try tx.unreadTable.moveReadMarker(cid, to: position(3, "c7m3")) }
        if number == 8 {
          _ = try tx.apply(message("hidden", at: 9, flags: .control), cid, issued: tx.lsn)
        }
        if number == 9 { try tx.operationTable.setDraft(StoredDraft(body: bytes("later")), cid) }
        if number == 10 {
          for step in 1...5 { _ = try tx.tombstone(bytes("c10m\(step)"), in: cid, version: nil) }
        }
        if number == 11 {
          try tx.unreadTable.noteServer(cid, unread: 40, lastRead: nil, newest: nil, issued: tx.lsn)
        }
      }
    }
    return fixture
  }

  @Test(arguments: Kind.allCases)
  func allAtOnceSayWhatEachSaysAlone(_ kind: Kind) throws {
    let fixture = try mixed(kind)
    var alone: [ConversationSummary] = []
    for cid in Int64(1)...12 {
      // Nothing is known from the read before.
      try fixture.reopen()
      try fixture.read { rx throws(StoreFailure) in
        rx.memo?.invalidate()
        guard let record = try rx.conversation(cid: cid) else { return }
        alone.append(try rx.summary(record))
      }
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      rx.memo?.invalidate()
      #expect(try rx.summaries(after: .min, limit: 100) == alone)
      #expect(try rx.summaries(after: 3, limit: 5) == Array(alone[3..<8]))
    }
    #expect(alone.count == 12 && alone[10].newest == nil && alone[11].unread.count == 40)
    #expect(alone.filter(\.isVerified).count == 8 && alone.contains { !$0.unread.isExact })
  }

  @Test func aPageOfManyHasTheMessagesOfEach() throws {
    let fixture = try mixed(.memory)
    try fixture.read { rx throws(StoreFailure) in
      let places: [(cid: Int64, position: Position)] = [
        (1, position(5, "c0m5")), (2, position(5, "none")), (9, position(9, "hidden")),
        (8, position(4, "c7m4")),
      ]
      let found = try rx.messages(at: places)
      #expect(found.rows == [0, nil, nil, 1] && found.page.count == 2)
      #expect(found.page.rows.map { text(found.page[$0.payload]) } == ["c0m5", "c7m4"])
    }
  }

  /// Protects: where places are read by eights, each is given what it would be given alone.
  @Test func manyPlacesHaveTheMessagesOfEach() throws {
    let fixture = try Fixture(.memory)
    var places: [(cid: Int64, position: Position)] = []
    for number in 1...101 {
      let cid = try fixture.conversation("c\(number)")
      let flags: RowFlags = number % 5 == 0 || (40...47).contains(number) ? .control : []
      try fixture.apply([message("m\(number)", at: Int64(number), flags: flags)], cid)
      let id = number % 7 == 0 ? "none" : "m\(number)"
      places.append((cid, number == 70 ? .pending(1) : position(Int64(number), id)))
    }
    try fixture.read { rx throws(StoreFailure) in
      let found = try rx.messages(at: places)
      var texts: [String?] = []
      for place in places {
        let alone = try rx.messages(at: [place]).page
        texts.append(alone.count == 0 ? nil : text(alone[alone[0].payload]))
      }
      let many = found.rows.map { row in row.flatMap { text(found.page[found.page[$0].payload]) } }
      #expect(many == texts)
      #expect(many.count == 101)
      #expect(found.page.count == many.compactMap { $0 }.count && found.page.count > 50)
    }
  }

  @Test func aDraftIsSeenByWhoHasSeenThatThereIsNone() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.read { rx throws(StoreFailure) in #expect(try rx.draft(cid) == nil) }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.draft(cid) == nil)
      try tx.operationTable.setDraft(StoredDraft(body: bytes("a")), cid)
      #expect(try tx.draft(cid)?.body == bytes("a"))
    }
    try fixture.read { rx throws(StoreFailure) in #expect(try rx.draft(cid)?.body == bytes("a")) }
  }

  /// A mark that is pending for a message goes with it, whoever has seen before that none was.
  @Test func aMarkGoesWithItsMessage() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((1...3).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("m1"), in: cid, version: nil)
      try tx.annotationTable.dropMarks(.read, ids: [bytes("m1")], in: cid)
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("m2"), in: cid))
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("m3"), in: cid))
      _ = try tx.tombstone(bytes("m2"), in: cid, version: nil)
      #expect(try tx.pendingMarkCount() == 1)
      try tx.annotationTable.dropMarks(.read, ids: [bytes("m3")], in: cid)
      #expect(try tx.pendingMarkCount() == 0)
    }
    #expect(try fixture.message("m3", cid)?.flags.contains(.readQueued) == false)
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.count(cid, from: .min, to: .max) == 1)
      #expect(try rx.isDeleted(bytes("m1"), in: cid))
    }
  }
}
