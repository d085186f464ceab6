/// Pages of messages in every direction, with hidden rows between.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct ReadTests {
  /// Ten ticks of two messages; every third message is hidden.
  private func filled(_ kind: Kind) throws -> (Fixture, Int64) {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    var all: [IncomingMessage] = []
    for step in 0..<20 {
      all.append(
        message(
          step % 2 == 0 ? "b\(step)" : "c\(step)", at: Int64(step / 2), "\(step)",
          flags: step % 3 == 2 ? .control : step == 4 ? .deleted : []))
    }
    try fixture.apply(all.reversed(), cid)
    try fixture.apply([message("z", at: 5, "elsewhere")], other)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.forget(bytes("b0"), in: cid) }
    return (fixture, cid)
  }

  @Test(arguments: Kind.allCases)
  func everyDirectionSkipsHiddenRowsAndCountsVisibleOnes(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    #expect(try fixture.texts(cid, .latest, 4) == ["15", "16", "18", "19"])
    #expect(try fixture.texts(cid, .oldest, 4) == ["1", "3", "4", "6"])
    #expect(try fixture.texts(cid, .before(position(8, "b16")), 3) == ["12", "13", "15"])
    #expect(try fixture.texts(cid, .before(position(8, "b17")), 3) == ["13", "15", "16"])
    #expect(try fixture.texts(cid, .after(position(2, "b4")), 3) == ["6", "7", "9"])
    #expect(try fixture.texts(cid, .after(position(2, "b")), 2) == ["4", "6"])
    #expect(try fixture.texts(cid, .atTime(5), 3) == ["10", "12", "13"])
    #expect(try fixture.texts(cid, .atTime(.max), 3) == [])
    #expect(try fixture.texts(cid, .before(.min), 3) == [])
    #expect(try fixture.texts(cid, .latest, 0) == [])
    #expect(try fixture.texts(cid, .latest, -1) == [])
    #expect(try fixture.texts(99, .latest, 5) == [])
    #expect(try fixture.texts(cid, .latest, .max).count == 13)
  }

  @Test func aPageHoldsEveryFieldOfItsRows() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let full = IncomingMessage(
      id: [0, 0xFF], sender: bytes("eva"), timeUs: 4, stamp: bytes("s"), payload: bytes("Příliš"),
      flags: [.mine, .edited], version: 1, editedUs: 2, replyTo: bytes("r"),
      reactions: bytes("{}"), readBy: bytes(#"["u"]"#), rest: bytes(#"{"a":1}"#))
    try fixture.apply([full, message("b", at: 5, "")], cid)
    let page = try fixture.read { tx throws(StoreFailure) in
      try tx.messages(RowQuery(cid: cid, from: .latest, limit: 10))
    }
    let row = try #require(page.rows.first)
    #expect(row.number == 1 && row.timeUs == 4 && row.rowFlags == [.mine, .edited])
    #expect(page.position(of: row) == Position(time: 4, id: [0, 0xFF]))
    let fields = [
      row.id, row.sender, row.stamp, row.payload, row.replyTo, row.reactions, row.readBy, row.rest,
    ].map { Array(page[$0]) }
    #expect(
      fields == [
        full.id, full.sender, full.stamp, full.payload, bytes("r"), bytes("{}"), bytes(#"["u"]"#),
        full.rest,
      ])
    #expect(page.rows.last?.payload.isEmpty == true)
    #expect(page[0..<page.textBytes].count == page.textBytes)
    #expect(page[0..<page.textBytes + 1].isEmpty)
    let one = try fixture.read { tx throws(StoreFailure) in try tx.message(full.id, cid) }
    #expect(one.rows.map(\.number) == [1])
  }

  @Test func rangesAreHalfOpenAndBounded() throws {
    let (fixture, cid) = try filled(.memory)
    try fixture.read { tx throws(StoreFailure) in
      let up = try tx.rows(
        cid, from: position(1, "c3"), to: position(3, "b6"), limit: 10, newestFirst: false)
      #expect(up.map(\.position.id) == ["c3", "b4", "c5"].map(bytes))
      let down = try tx.rows(
        cid, from: position(1, "c3"), to: position(3, "b6"), limit: 2, newestFirst: true)
      #expect(down.map(\.position.id) == ["c5", "b4"].map(bytes))
      #expect(try tx.rows(cid, from: .max, to: .min, limit: 2, newestFirst: true).isEmpty)
      #expect(try tx.count(cid, from: position(1, "c3"), to: position(3, "b6")) == 3)
      #expect(try tx.count(cid, from: .min, to: .max) == 20)
      #expect(try tx.oldest(cid) == position(0, "b0"))
      #expect(try tx.newest(cid) == position(9, "c19"))
      #expect(try tx.oldest(99) == nil)
      #expect(try tx.position(ofNumber: 1, in: cid) == position(9, "c19"))
      #expect(try tx.position(ofNumber: 1, in: 99) == nil)
      #expect(try tx.position(ofNumber: .max, in: cid) == nil)
    }
  }

  @Test(arguments: [Limits.readRowsMax - 1, Limits.readRowsMax, Limits.readRowsMax + 1])
  func noReadGivesMoreRowsThanTheLimit(_ stored: Int) throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((0..<stored).map { message("m\($0)", at: Int64($0), "") }, cid)
    let expected = min(stored, Limits.readRowsMax)
    try fixture.read { tx throws(StoreFailure) in
      for from in [RowQuery.From.latest, .oldest] {
        let page = try tx.messages(RowQuery(cid: cid, from: from, limit: .max))
        #expect(page.rows.count == expected)
      }
      let rows = try tx.rows(cid, from: .min, to: .max, limit: .max, newestFirst: true)
      #expect(rows.count == expected)
    }
  }

  @Test func rowsUntilACommitLeaveOutWhatCameSince() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let (old, new) = (stride(from: 0, to: 240, by: 2), stride(from: 1, to: 240, by: 2))
    try fixture.apply(old.map { message("m\($0)", at: Int64($0), "") }, cid)
    let lsn = fixture.store.lsn
    try fixture.apply(new.map { message("m\($0)", at: Int64($0), "") }, cid)
    try fixture.read { tx throws(StoreFailure) in
      func times(
        from low: Position = .min, to high: Position = .max, until lsn: UInt64,
        limit: Int = .max
      ) throws(StoreFailure) -> [Int] {
        try tx.rows(cid, from: low, to: high, until: lsn, limit: limit).map {
          Int($0.position.time)
        }
      }
      #expect(try times(until: lsn) == old.reversed())
      #expect(try times(until: lsn, limit: 3) == [238, 236, 234])
      #expect(
        try times(from: .before(timestampGroup: 10), to: .before(timestampGroup: 16), until: lsn)
          == [14, 12, 10])
      #expect(try times(until: lsn + 1) == (0..<240).reversed())
      #expect(try times(until: lsn - 1) == [])
      #expect(try times(until: .max, limit: 2) == [239, 238])
    }
  }

  @Test func aPageOfLargeMessagesIsCutAndSaysSo() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let large = String(repeating: "x", count: Limits.messageBytesMax)
    for step in 0..<18 {
      try fixture.apply([message("m\(step)", at: Int64(step), large)], cid)
    }
    try fixture.read { tx throws(StoreFailure) in
      let page = try tx.messages(RowQuery(cid: cid, from: .latest, limit: 50))
      #expect(page.isCut && page.rows.count == 15)
      #expect(page.rows.last?.timeUs == 17)
      let few = try tx.messages(RowQuery(cid: cid, from: .latest, limit: 15))
      #expect(!few.isCut && few.rows.count == 15)
    }
  }
}

@Suite struct QueryPlanTests {
  @Test func everyReadThatAScreenWaitsForGoesByAKey() throws {
    let connection = try Connection.memory()
    _ = try Schema.prepare(
      connection, binding: Schema.Binding(account: [], user: [], positionKind: 0))
    try RoomTables(connection: connection).create()
    for query in Queries.all {
      let plan = try connection.plan(of: query)
      #expect(!plan.isEmpty)
      for step in plan {
        #expect(!step.hasPrefix("SCAN"), "\(query): \(step)")
        #expect(!step.contains("TEMP B-TREE"), "\(query): \(step)")
      }
    }
    #expect(
      try connection.plan(of: Queries.older).first
        == "SEARCH message USING PRIMARY KEY (cid=? AND (time,key)<(?,?))")
    #expect(
      try connection.plan(of: Queries.atEight).last
        == "SEARCH message USING PRIMARY KEY (cid=? AND time=? AND key=?)")
    for query in [Queries.pinnedOlder, Queries.pinnedNewer] {
      let plan = try connection.plan(of: query).first
      #expect(plan?.contains("INDEX message_pinned (cid=? AND (time,key)") == true)
    }
    #expect(
      try connection.plan(of: Queries.byNumber).first
        == "SEARCH message USING COVERING INDEX message_number (number=?)")
  }
}
