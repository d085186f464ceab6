/// Messages of one time that have an order of their own.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct RankTests {
  private func order(_ fixture: Fixture, _ cid: Int64) throws -> String {
    try fixture.read { rx throws(StoreFailure) in
      try rx.timestampGroup(7, cid).map { String(decoding: $0.position.id, as: UTF8.self) }
    }.joined()
  }

  /// What names the message before it stands right behind that, the first of its time where the
  /// other one is of an earlier one; nothing that is stored moves.
  @Test func whatNamesTheOneBeforeStandsBehindIt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("z", at: 6), message("m", at: 7)], cid)
    func put(_ name: String, behind previous: String?) throws {
      try fixture.write { tx throws(StoreFailure) in
        var copy = message(name, at: 7)
        copy.rank =
          try tx.rankTable.rankBehind(copy, previous: previous.map { bytes($0) }, in: cid).rank
        _ = try tx.apply(copy, cid, issued: tx.lsn)
      }
    }
    try put("a", behind: nil)
    #expect(try order(fixture, cid) == "ma")
    try put("k", behind: "m")
    #expect(try order(fixture, cid) == "mka")
    try put("x", behind: "z")
    #expect(try order(fixture, cid) == "xmka")
    try put("b", behind: "unknown")
    #expect(try order(fixture, cid) == "xmkab")
    #expect(try fixture.message("m", cid)?.position.rank == 0)
    // A copy says nothing of the order, and finds its row by its id.
    try fixture.apply([message("x", at: 7), message("k", at: 7)], cid)
    #expect(try order(fixture, cid) == "xmkab")
    try fixture.reopen()
    #expect(try order(fixture, cid) == "xmkab")
  }

  /// The marker goes where its message goes: what stands on its other side then looks different,
  /// and is told, though it has the rank that it had.
  @Test func whatThePassingMarkerLeavesUnreadIsTold() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 7), message("b", at: 7), message("c", at: 7)], cid)
    let (marked, passed) = try fixture.write { tx throws(StoreFailure) in
      let rows = try tx.timestampGroup(7, cid)
      try tx.unreadTable.moveReadMarker(cid, to: rows[2].position)
      return (rows[2], rows[0])
    }
    let before = try fixture.read { rx throws(StoreFailure) in try rx.feedReader.lastChange() }
    try fixture.write { tx throws(StoreFailure) in
      let rows = try tx.timestampGroup(7, cid)
      try tx.rankTable.rerank(
        rows.map { ($0, rank: $0.number == marked.number ? -16 : 0) }, at: 7, in: cid)
    }
    #expect(try order(fixture, cid) == "cab")
    let entries = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(since: before, limit: 100)
    }
    guard case .entries(let told) = entries else {
      Issue.record("\(entries)")
      return
    }
    let numbers = told.filter { $0.kind == .updated && $0.cid == cid }.map { $0.first...$0.last }
    #expect(numbers.contains { $0.contains(marked.number) })
    #expect(numbers.contains { $0.contains(passed.number) })
  }

  /// A marker of which the message is deleted stays above what it stood above: what a page puts in
  /// another order there is read where it was read.
  @Test func aMarkerWithoutItsMessageGoesWithTheRowBelowIt() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    for name in ["z", "a", "m", "b", "c"] {
      try fixture.write { tx throws(StoreFailure) in
        var copy = message(name, at: 7)
        copy.rank = try tx.rankTable.rankBehind(copy, previous: nil, in: cid).rank
        _ = try tx.apply(copy, cid, issued: tx.lsn)
      }
    }
    #expect(try order(fixture, cid) == "zambc")
    try fixture.write { tx throws(StoreFailure) in
      let marked = try tx.timestampGroup(7, cid)[2]
      try tx.unreadTable.moveReadMarker(cid, to: marked.position)
      _ = try tx.tombstone(bytes("m"), in: cid, version: nil)
    }
    func unread() throws -> String {
      try fixture.read { rx throws(StoreFailure) in
        let marker = try rx.tally(cid).marker
        return try rx.timestampGroup(7, cid).filter { row in
          marker.map { $0 < row.position } ?? true
        }.map { String(decoding: $0.position.id, as: UTF8.self) }
      }.joined()
    }
    #expect(try unread() == "bc")
    try fixture.write { tx throws(StoreFailure) in
      let rows = try tx.timestampGroup(7, cid)
      try tx.rankTable.rerank(
        rows.enumerated().map { ($1, rank: $0 - 9) }, at: 7, in: cid)
    }
    #expect(try order(fixture, cid) == "zabc")
    #expect(try unread() == "bc")
    let here = try fixture.read { rx throws(StoreFailure) in try rx.tally(cid).here }
    #expect(here == 2)
  }

  /// What the server counted and what came since are as many as before, whichever of them a page
  /// puts above the newest that was counted, or below the marker: an order says nothing of when.
  @Test(arguments: [
    // The names in their order by a page; the one that is read; what is unread then.
    ("ba", nil, 2), ("ab", nil, 2), ("acb", "a", 2), ("cab", "a", 2), ("bca", nil, 3),
    ("cba", nil, 3), ("bac", "b", 2),
  ])
  func anOrderChangesNoCountOfTheServers(_ order: String, _ read: String?, _ unread: Int) throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let names = order.sorted().map { String($0) }
    func apply(_ name: String) throws {
      try fixture.write { tx throws(StoreFailure) in
        tx.receivedSince = 0
        var copy = message(name, at: 7)
        copy.rank = try tx.rankTable.rankBehind(copy, previous: nil, in: cid).rank
        _ = try tx.apply(copy, cid, issued: tx.lsn)
      }
    }
    // All but the last one were there when the server counted.
    for name in names.dropLast() { try apply(name) }
    try fixture.write { tx throws(StoreFailure) in
      if let read, let row = try tx.row(bytes(read), cid) {
        try tx.unreadTable.moveReadMarker(cid, to: row.position)
      }
      let above = read.flatMap { order.split(separator: $0).last } ?? order[...]
      let count = names.dropLast().count { above.contains($0) }
      try tx.unreadTable.noteServer(
        cid, unread: Int64(count), lastRead: nil, newest: nil, issued: tx.lsn - 1)
    }
    try apply(names[names.count - 1])
    try fixture.write { tx throws(StoreFailure) in
      let rows = try tx.timestampGroup(7, cid)
      let ranks = order.enumerated().map { (name: $1, rank: 16 * ($0 - 9)) }
      try tx.rankTable.rerank(
        rows.map { row in
          let name = String(decoding: row.position.id, as: UTF8.self)
          return (row, rank: ranks.first { String($0.name) == name }?.rank ?? 0)
        }, at: 7, in: cid)
    }
    #expect(try self.order(fixture, cid) == order)
    let found = try fixture.read { rx throws(StoreFailure) -> Unread in
      let (kept, slow) = (try rx.tally(cid).here, try UnreadTests.slow(rx, cid))
      #expect(kept == Int64(slow))
      guard let record = try rx.conversation(cid: cid) else { throw .notFound }
      return try rx.unreadReader.unread(record)
    }
    // A count without its newest message does not say what came since.
    #expect(found == Unread(unread, isExact: false))
  }

  /// A file of the seventh form keeps its messages, by their ids. One with an id that begins with
  /// a zero byte opens as well: its cache is made anew.
  @Test(arguments: [["a", "b"], ["\u{0}abcX", "X"], ["\u{0}a", "\u{0}b"]])
  func aFileOfTheSeventhForm(_ names: [String]) throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 7), message("b", at: 7)], cid)
    try fixture.alter("PRAGMA user_version = 7; COMMIT") { tx throws(StoreFailure) in
      try tx.settleConversations()
      try tx.connection.execute(Fixture.toNinthForm)
      try tx.connection.execute(
        """
        DROP INDEX message_id;
        ALTER TABLE message DROP COLUMN id;
        ALTER TABLE message RENAME COLUMN key TO id;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        """)
      for (name, old) in zip(names, ["a", "b"]) where name != old {
        try tx.connection.run(
          "UPDATE message SET id = ? WHERE id = ?", bytes(name), bytes(old))
      }
    }
    try fixture.reopen()
    let isOdd = names[0].utf8.first == 0
    #expect(try order(fixture, cid) == (isOdd ? "" : "ab"))
    try fixture.apply(names.map { message($0, at: 7) }, cid)
    #expect(try fixture.message(names[0], cid)?.id == bytes(names[0]))
    try fixture.apply(names.map { message($0, at: 7) }, cid)
    #expect(
      try fixture.read { rx throws(StoreFailure) in try rx.timestampGroup(7, cid).count } == 2)
  }
}
