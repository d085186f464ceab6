/// What a window reads: keys equal a filtered full read, places are found, and
/// positions may be numbers.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct KeyTests {
  /// 300 messages of two conversations, some hidden, in ticks of three.
  private func filled(_ kind: Kind) throws -> (Fixture, Int64) {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    var random = Random(seed: 11)
    for step in 0..<300 {
      let flags: RowFlags = random.chance(0.2) ? .control : random.chance(0.1) ? .pinned : []
      try fixture.apply(
        [message("m\(random.below(90))-\(step)", at: Int64(step / 3), flags: flags)],
        random.chance(0.7) ? cid : other)
    }
    try fixture.reopen()
    return (fixture, cid)
  }

  /// All visible rows, read the long way.
  private func all(_ rx: ReadTransaction, _ cid: Int64) throws(StoreFailure) -> [RowKey] {
    var keys: [RowKey] = []
    for row in try rx.rows(cid, from: .min, to: .max, limit: 10_000, newestFirst: false)
    where row.flags.isDisjoint(with: .hidden) {
      keys.append(RowKey(number: row.number, position: row.position, revision: row.lsn))
    }
    return keys
  }

  @Test(arguments: Kind.allCases)
  func keysEqualAFilteredFullRead(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    var random = Random(seed: 12)
    try fixture.read { rx throws(StoreFailure) in
      let all = try all(rx, cid)
      #expect(all.count > 120)
      for _ in 0..<300 {
        let a = Position(time: Int64(random.below(102)) - 1, id: bytes("m\(random.below(90))"))
        let b = Position(time: Int64(random.below(102)) - 1, id: bytes("m\(random.below(90))"))
        let (low, high) = (min(a, b), max(a, b))
        let limit = random.below(40)
        let range = all.filter { $0.position >= low && $0.position < high }
        #expect(
          try rx.keys(cid, before: high, limit: limit, from: low) == Array(range.suffix(limit)))
        #expect(try rx.keys(cid, from: low, limit: limit, to: high) == Array(range.prefix(limit)))
        #expect(
          try rx.keys(cid, before: high, limit: limit, from: nil)
            == Array(all.filter { $0.position < high }.suffix(limit)))
        #expect(
          try rx.keys(cid, from: low, limit: limit, to: nil)
            == Array(all.filter { $0.position >= low }.prefix(limit)))
        let first = UInt64(random.below(310))
        let numbers = first...(first + UInt64(random.below(60)))
        let found = try rx.keys(numbers: numbers, in: cid, limit: limit)
        let expected = all.filter { numbers.contains($0.number) }
          .sorted { $0.number < $1.number }
        #expect(found == Array(expected.prefix(limit)))
      }
      #expect(try rx.keys(numbers: 0...UInt64.max, in: cid, limit: .max).count == all.count)
      #expect(try rx.keys(cid, before: .max, limit: .max, from: nil) == all)
      #expect(try rx.keys(cid, from: .max, limit: 5, to: .min).isEmpty)
      #expect(try rx.keys(cid, from: .min, limit: -1, to: nil).isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func contentComesInTheOrderOfTheKeysAndWithoutTheMissing(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    try fixture.write { tx throws(StoreFailure) in
      let all = try all(tx, cid)
      let gone = all[10].position
      _ = try tx.tombstone(gone.id, in: cid, version: nil)
      let hidden = all[11].position
      _ = try tx.forget(hidden.id, in: cid)
      var keys = all[5..<40].map(\.position)
      keys.reverse()
      let page = try tx.messages(cid, keys: keys[...])
      #expect(page.rows.map { page.position(of: $0) } == keys.filter { $0 != gone && $0 != hidden })
      #expect(text(Array(page[page.rows[0].payload])) == text(keys[0].id))
      #expect(try tx.messages(cid, keys: []).rows.isEmpty)
    }
  }

  /// Few and many rows between the places, places that nothing stands at, and places that
  /// follow no order.
  @Test(arguments: Kind.allCases)
  func contentOfAnyPlacesIsWhatStandsAtThem(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    var random = Random(seed: 13)
    try fixture.read { rx throws(StoreFailure) in
      let all = try all(rx, cid).map(\.position)
      for _ in 0..<200 {
        let share = [0.02, 0.3, 0.9, 1][random.below(4)]
        var keys: [Position] = []
        for position in all where random.chance(share) {
          if random.chance(0.1) { keys.append(Position(time: position.time, id: [0x21])) }
          keys.append(position)
          if random.chance(0.1) { keys.append(position.successor) }
        }
        if keys.count > 2, random.chance(0.3) {
          keys.swapAt(random.below(keys.count), random.below(keys.count))
        }
        if random.chance(0.2) { keys.append(.pending(7)) }
        let page = try rx.messages(cid, keys: keys[...])
        let known = Set(all)
        #expect(page.rows.map { page.position(of: $0) } == keys.filter { known.contains($0) })
      }
    }
  }

  @Test func pinnedOnesAreReadByTheirIndex() throws {
    let (fixture, cid) = try filled(.memory)
    try fixture.write { tx throws(StoreFailure) in
      func pinned(_ from: RowQuery.From, _ limit: Int) throws(StoreFailure) -> [UInt64] {
        try tx.messages(RowQuery(cid: cid, from: from, limit: limit, pinnedOnly: true))
          .rows.map(\.number)
      }
      let rows = try tx.rows(cid, from: .min, to: .max, limit: 10_000, newestFirst: false)
      let expected = rows.filter { $0.flags.contains(.pinned) }
      #expect(expected.count > 5)
      #expect(try pinned(.oldest, 100) == expected.map(\.number))
      #expect(try pinned(.latest, 3) == expected.suffix(3).map(\.number))
      #expect(try pinned(.before(expected[3].position), 2) == expected[1...2].map(\.number))
      let first = expected[0].position.id
      #expect(
        try tx.annotationTable.pin(first, in: cid, isPinned: false, issued: tx.lsn)
          == expected[0].number)
      #expect(try pinned(.oldest, 1) == [expected[1].number])
    }
  }

  @Test(arguments: Kind.allCases)
  func theFirstUnreadIsBehindAllThatWasReadOrSent(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    func first() throws -> String? {
      try fixture.read { rx throws(StoreFailure) in
        text(try rx.firstUnread(cid)?.id)
      }
    }
    #expect(try first() == nil)
    try fixture.apply((10..<40).map { message("m\($0)", at: Int64($0)) }, cid)
    #expect(try first() == "m10")
    try fixture.apply([message("m12", at: 12, flags: .readByMe)], cid)
    #expect(try first() == "m13")
    try fixture.apply([message("m13", at: 13, flags: .control)], cid)
    #expect(try first() == "m14")
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("m20"), in: cid))
      #expect(try tx.annotationTable.enqueueMark(.listened, id: bytes("m30"), in: cid))
    }
    try fixture.reopen()
    #expect(try first() == "m21")
    try fixture.apply([message("mine", at: 50, flags: .mine)], cid)
    #expect(try first() == nil)
    try fixture.apply([message("last", at: 51)], cid)
    #expect(try first() == "last")
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.place(ofID: bytes("mine"), in: cid) == position(50, "mine"))
      #expect(try rx.place(ofID: bytes("unknown"), in: cid) == nil)
    }
  }

  @Test func oneReadSeesOneState() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    try fixture.read { rx throws(StoreFailure) in
      let before = rx.lsn
      do { try fixture.apply([message("b", at: 2)], cid) } catch { throw .damaged }
      #expect(rx.lsn == before && fixture.store.lsn == before + 1)
      #expect(try rx.feedReader.lastChange() == 1)
      #expect(try rx.keys(cid, from: .min, limit: 9, to: nil).map(\.revision) == [before])
    }
  }
}

@Suite struct SequenceTests {
  /// Numbers 100, 102, … and times that grow with them, except one.
  private func filled(_ kind: Kind) throws -> (Fixture, Int64) {
    let fixture = try Fixture(kind, positionKind: 1)
    let cid = try fixture.conversation()
    try fixture.apply(
      (0..<200).reversed().map { step in
        var sent = message("m\(step)", at: Int64(step) * 10, "\(step)")
        sent.order = 100 + Int64(step) * 2
        return sent
      }, cid)
    try fixture.reopen()
    return (fixture, cid)
  }

  @Test(arguments: Kind.allCases)
  func numbersOrderAndTimesAreKept(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    try fixture.read { rx throws(StoreFailure) in
      let page = try rx.messages(RowQuery(cid: cid, from: .latest, limit: 200))
      #expect(page.rows.map(\.order) == (0..<200).map { 100 + $0 * 2 })
      #expect(page.rows.map(\.timeUs) == (0..<200).map { $0 * 10 })
      #expect(page.position(of: page.rows[3]) == position(106, "m3"))
      let row = try rx.row(bytes("m7"), cid)
      #expect(row?.timeUs == 70 && row?.position == position(114, "m7"))
    }
    // A message that was given another number moves, and keeps its time.
    var moved = message("m7", at: 70, "7")
    moved.order = 9_000
    #expect(try fixture.apply([moved], cid) == [.updated(193)])
    #expect(try fixture.texts(cid, .latest, 1) == ["7"])
    #expect(try fixture.message("m7", cid) == moved)
    moved.order = 70
    try fixture.apply([moved], cid)
    #expect(try fixture.message("m7", cid) == moved)
  }

  @Test(arguments: Kind.allCases)
  func aTimeIsFoundAmongNumbers(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    for time in [-5, 0, 1, 10, 995, 1_000, 1_989, 1_990] as [Int64] {
      let newer = (0..<200).filter { Int64($0) * 10 >= time }.map { "\($0)" }
      let older = (0..<200).filter { Int64($0) * 10 < time }.map { "\($0)" }
      #expect(try fixture.texts(cid, .atTime(time), 3) == Array(newer.prefix(3)))
      #expect(try fixture.texts(cid, .beforeTime(time), 3) == older.suffix(3))
    }
    #expect(try fixture.texts(cid, .atTime(1_991), 3) == [])
    #expect(try fixture.texts(cid, .beforeTime(.max), 1) == ["199"])
    let empty = try fixture.conversation("empty")
    #expect(try fixture.texts(empty, .atTime(0), 3) == [])
    #expect(try fixture.texts(empty, .beforeTime(0), 3) == [])
  }

  @Test func numbersAtTheEndsDoNotTrap() throws {
    let fixture = try Fixture(.memory, positionKind: 1)
    let cid = try fixture.conversation()
    for (id, order) in [("a", Int64.min), ("b", -1), ("c", .max)] {
      var sent = message(id, at: order == .max ? 50 : 0, id)
      sent.order = order
      try fixture.apply([sent], cid)
    }
    #expect(try fixture.texts(cid, .atTime(50), 3) == ["c"])
    #expect(try fixture.texts(cid, .beforeTime(50), 3) == ["a", "b"])
  }

  @Test func timesReadBackwardsToo() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((0..<120).map { message("m\($0)", at: Int64($0 / 2), "\($0)") }, cid)
    #expect(try fixture.texts(cid, .beforeTime(10), 3) == ["17", "18", "19"].map { $0 })
    #expect(try fixture.texts(cid, .beforeTime(.min), 3) == [])
  }
}
