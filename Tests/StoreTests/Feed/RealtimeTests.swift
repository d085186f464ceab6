/// What realtime brings beside messages: refs and the replies pending for them,
/// events, entities, and what is silent.
import Base
import Testing

@testable import Store

@Suite struct RefTests {
  private func pending(_ fixture: Fixture, _ limit: Int = 100) throws -> [String] {
    try fixture.read { rx throws(StoreFailure) in
      #expect(
        try rx.feedReader.pendingReplyCount()
          == (try rx.feedReader.pendingReplies(limit: .max).count))
      return try rx.feedReader.pendingReplies(limit: limit).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func aReplyIsOwedUntilSettledAndAgainWhenTheUpdateComesAgain(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    try fixture.write { tx throws(StoreFailure) in
      for ref in ["b", "a", "c"] {
        #expect(try tx.feedReader.seen(bytes(ref)) == false)
        try tx.feedTable.markPending(bytes(ref), wallUs: 1)
      }
    }
    try fixture.reopen()
    #expect(try pending(fixture) == ["b", "a", "c"])
    #expect(try pending(fixture, 2) == ["b", "a"])
    #expect(try pending(fixture, -1) == [])
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.feedReader.seen(bytes("a")))
      try tx.feedTable.settleReplies(["a", "b", "unknown"].map(bytes))
    }
    try fixture.reopen()
    #expect(try pending(fixture) == ["c"])
    let before = fixture.store.lsn
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.feedReader.seen(bytes("b")))
      // Owed already, settled already: nothing to write.
      try tx.feedTable.markPending(bytes("c"), wallUs: 2)
      try tx.feedTable.settleReplies([bytes("a")])
    }
    #expect(fixture.store.lsn == before)
    try fixture.write { tx throws(StoreFailure) in
      try tx.feedTable.markPending(bytes("b"), wallUs: 3)
    }
    #expect(try pending(fixture) == ["b", "c"])
  }

  /// Refs that ascend are told new without a search, others by one: in any order, across moves to
  /// the table, commits that fail, and openings, the same are known.
  @Test(arguments: 0..<8)
  func whatWasSeenIsKnownInWhateverOrderItCame(_ seed: Int) throws {
    var random = Random(seed: UInt64(seed))
    let fixture = try Fixture(.file)
    var known: Set<String> = []
    var next = 990
    for _ in 0..<600 {
      let ref: String
      switch random.below(8) {
      case 0: ref = "\(random.below(2_000))"
      case 1: ref = String(repeating: "9", count: 1 + random.below(4))
      case 2: ref = known.isEmpty ? "" : known.sorted()[random.below(known.count)]
      default:
        next += 1
        ref = "\(next)"
      }
      let isSeen = known.contains(ref)
      let fails = random.below(10) == 0
      do {
        try fixture.write { tx throws(StoreFailure) in
          #expect(try tx.feedReader.seen(bytes(ref)) == isSeen, "\(ref)")
          try tx.feedTable.markPending(bytes(ref), wallUs: 1)
          #expect(try tx.feedReader.seen(bytes(ref)), "\(ref)")
          if fails { throw .full }
        }
        known.insert(ref)
      } catch {
        #expect(fails)
      }
      switch random.below(40) {
      case 0: try fixture.reopen()
      case 1:
        try fixture.write { tx throws(StoreFailure) in
          try tx.feedTable.settleReplies(known.map(bytes))
          try tx.feedTable.trimRefs(kept: 0, beforeUs: .max)
        }
        known = []
      default: break
      }
    }
  }

  @Test func refsAreKnownAlikeWhetherTheyHaveMovedOrNot() throws {
    let fixture = try Fixture(.file)
    // One is too long for the row of the newest.
    let refs = (0..<200).map { step in
      "\(step) " + String(repeating: "x", count: step == 60 ? 2_000 : step % 50)
    }
    for (step, ref) in refs.enumerated() {
      try fixture.write { tx throws(StoreFailure) in
        #expect(try tx.feedReader.seen(bytes(ref)) == false)
        try tx.feedTable.markPending(bytes(ref), wallUs: Int64(step))
        if step % 2 == 1 { try tx.feedTable.settleReplies([bytes(refs[step - 1])]) }
      }
      if step % 70 == 0 { try fixture.reopen() }
    }
    let left = refs.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    #expect(try pending(fixture, 1_000) == left)
    #expect(try pending(fixture, 97) == Array(left.prefix(97)))
    try fixture.write { tx throws(StoreFailure) in
      for ref in refs { #expect(try tx.feedReader.seen(bytes(ref))) }
      try tx.feedTable.settleReplies(left.dropFirst(3).map(bytes))
    }
    #expect(try pending(fixture) == Array(left.prefix(3)))
  }

  @Test func aRefGoesWithTheTransactionOfItsEffect() throws {
    let fixture = try Fixture(.file)
    #expect(throws: StoreFailure.full) {
      try fixture.write { tx throws(StoreFailure) in
        try tx.feedTable.markPending(bytes("a"), wallUs: 1)
        throw .full
      }
    }
    try fixture.reopen()
    #expect(try pending(fixture) == [])
    let isSeen = try fixture.read { rx throws(StoreFailure) in try rx.feedReader.seen(bytes("a")) }
    #expect(isSeen == false)
  }

  /// Refs 0 to 99 at their number as time; every tenth is pending.
  private func filled() throws -> Fixture {
    let fixture = try Fixture(.memory)
    try fixture.write { tx throws(StoreFailure) in
      for step in 0..<100 { try tx.feedTable.markPending(bytes("\(step)"), wallUs: Int64(step)) }
      try tx.feedTable.settleReplies((0..<100).filter { $0 % 10 != 0 }.map { bytes("\($0)") })
    }
    return fixture
  }

  private func seen(_ fixture: Fixture) throws -> [Int] {
    try fixture.read { rx throws(StoreFailure) in
      var seen: [Int] = []
      for step in 0..<100 where try rx.feedReader.seen(bytes("\(step)")) { seen.append(step) }
      return seen
    }
  }

  @Test(arguments: [(99, 1), (100, 0), (101, 0), (5, 95), (0, 100), (-1, 100), (.max, 0)])
  func refsAreBoundedByNumberAndNeverAnOwedOne(_ kept: Int, _ gone: Int) throws {
    let fixture = try filled()
    try fixture.write { tx throws(StoreFailure) in
      try tx.feedTable.trimRefs(kept: kept, beforeUs: .min)
    }
    #expect(try seen(fixture) == (0..<100).filter { $0 >= gone || $0 % 10 == 0 })
    #expect(try pending(fixture).count == 10)
  }

  @Test(arguments: [0, 1, 50, 99, 100, 1_000] as [Int64])
  func refsAreBoundedByAgeAndNeverAnOwedOne(_ before: Int64) throws {
    let fixture = try filled()
    try fixture.write { tx throws(StoreFailure) in
      try tx.feedTable.trimRefs(kept: 1_000, beforeUs: before)
    }
    #expect(try seen(fixture) == (0..<100).filter { $0 >= before || $0 % 10 == 0 })
    // What is settled now goes at the next trim.
    try fixture.write { tx throws(StoreFailure) in
      try tx.feedTable.settleReplies(tx.feedReader.pendingReplies(limit: 100))
      try tx.feedTable.trimRefs(kept: 1_000, beforeUs: before)
    }
    #expect(try seen(fixture) == (0..<100).filter { $0 >= before })
  }

  @Test func aClockThatJumpsForgetsNothingEarly() throws {
    let fixture = try Fixture(.memory)
    try fixture.write { tx throws(StoreFailure) in
      for (step, at) in [5, 900, 6, 7].enumerated() {
        try tx.feedTable.markPending(bytes("\(step)"), wallUs: Int64(at))
      }
      try tx.feedTable.settleReplies((0..<4).map { bytes("\($0)") })
      try tx.feedTable.trimRefs(kept: 4, beforeUs: 100)
    }
    #expect(try seen(fixture) == [1, 2, 3])
  }
}

@Suite struct EventTests {
  private func events(
    _ fixture: Fixture, after: UInt64 = 0, limit: Int = 100
  ) throws -> [String] {
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.events(after: after, limit: limit)
    }
    guard case .entries(let entries) = page else { return ["resync"] }
    return entries.map { event in
      let texts = [event.conversation, event.entity, event.body]
        .map { String(decoding: $0, as: UTF8.self) }
      let silent = event.isSilent ? "silent" : "loud"
      return "\(event.seq) \(event.kind) \(event.action) \(silent) \(event.cid) \(texts)"
    }
  }

  private func add(
    _ fixture: Fixture, _ count: Int, _ body: [UInt8] = [], kind: Int64 = 1
  ) throws {
    try fixture.write { tx throws(StoreFailure) in
      for _ in 0..<count {
        try tx.feedTable.addEvent(
          kind: kind, action: 0, isSilent: false, cid: nil, entity: bytes("e"), body: body)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func eventsAreDurableAndToldByTheFeed(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      try tx.feedTable.addEvent(
        kind: 2, action: 1, isSilent: false, cid: cid, entity: bytes("typing"),
        body: bytes(#"{"a":1}"#))
      try tx.feedTable.addEvent(
        kind: 1, action: 3, isSilent: true, cid: nil, entity: bytes("x"), body: [])
      #expect(tx.isSilent == false)
    }
    try fixture.reopen()
    let all = [
      #"1 2 1 loud \#(cid) ["c", "typing", "{\"a\":1}"]"#, #"2 1 3 silent 0 ["", "x", ""]"#,
    ]
    #expect(try events(fixture) == all)
    #expect(try events(fixture, after: 1) == [all[1]])
    #expect(try events(fixture, limit: 1) == [all[0]])
    #expect(try events(fixture, limit: -1) == [])
    #expect(try events(fixture, after: 2) == [])
    #expect(try events(fixture, after: 3) == ["resync"])
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: 0, limit: 10)
    }
    #expect(
      page
        == .entries([
          ChangeEntry(
            seq: 1, kind: .events, cid: cid, conversation: bytes("c"), first: 1, last: 1,
            isSilent: false, notifies: false, origin: .none),
          ChangeEntry(
            seq: 2, kind: .events, cid: 0, conversation: [], first: 2, last: 2, isSilent: true,
            notifies: false, origin: .none),
        ]))
  }

  @Test(arguments: [-1, 0, 1])
  func theNewestAreKept(_ beyond: Int) throws {
    let fixture = try Fixture(.memory)
    try add(fixture, Limits.eventsKept + beyond)
    let all = try events(fixture, limit: .max)
    #expect(all.count == min(Limits.eventsKept + beyond, Limits.eventsKept))
    let first = UInt64(1 + max(0, beyond))
    #expect(all.first?.hasPrefix("\(first) ") == true)
    try add(fixture, 5)
    // The last that was trimmed is known, the one before it is too old to tell.
    let trimmed = UInt64(5 + beyond)
    #expect(try events(fixture, after: trimmed, limit: 1).first?.first?.isNumber == true)
    let told = trimmed == 1 ? try events(fixture) : ["resync"]
    #expect(try events(fixture, after: trimmed - 1) == told)
  }

  /// Signs of typing are many and soon over: they push out each other and nothing else.
  @Test(arguments: [-1, 0, 1])
  func signsOfTypingHaveABoundOfTheirOwn(_ beyond: Int) throws {
    let fixture = try Fixture(.memory)
    try add(fixture, 3)
    let typing = Limits.typingEventsKept
    try add(fixture, typing + beyond, kind: 2)
    let all = try events(fixture, limit: .max)
    #expect(all.count == 3 + min(typing + beyond, typing))
    #expect(all.prefix(3).map { $0.prefix(3) } == ["1 1", "2 1", "3 1"])
    #expect(all.dropFirst(3).first?.hasPrefix("\(4 + max(0, beyond)) 2") == true)
    // Who follows the others misses nothing.
    #expect(try events(fixture, after: 1, limit: 2).map { $0.prefix(3) } == ["2 1", "3 1"])
    try add(fixture, Limits.eventsKept, kind: 2)
    #expect(try events(fixture, after: 1, limit: 2).map { $0.prefix(3) } == ["2 1", "3 1"])
    #expect(try events(fixture, limit: .max).count == 3 + typing)
    // The others keep their number among themselves, and what is older than all of them goes.
    try add(fixture, Limits.eventsKept - 2)
    // More than one read gives.
    let kept = try events(fixture, limit: .max)
    let last = try #require(kept.last?.prefix { $0 != " " })
    let rest = try events(fixture, after: try #require(UInt64(last)), limit: .max)
    #expect((kept + rest).filter { $0.contains(" 1 0 loud") }.count == Limits.eventsKept)
    #expect(kept.first?.hasPrefix("2 1") == true)
    #expect(try events(fixture, after: 1, limit: 1).map { $0.prefix(3) } == ["2 1"])
    try add(fixture, 1)
    #expect(try events(fixture, after: 1) == ["resync"])
    #expect(try events(fixture, after: 2, limit: 1).map { $0.prefix(3) } == ["3 1"])
    try add(fixture, 2)
    // What was typed before the first of them is not told without them.
    #expect(try !events(fixture, limit: .max).contains { $0.contains(" 2 0 loud") })
  }

  /// What is emptied is no longer kept, whoever follows it.
  @Test func aClearEndsTheEventsThatWere() throws {
    let fixture = try Fixture(.memory)
    try add(fixture, 3)
    try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
    #expect(try events(fixture, after: 1) == ["resync"])
    #expect(try events(fixture, after: 3) == [])
    try add(fixture, 1)
    #expect(try events(fixture).map { $0.prefix(3) } == ["4 1"])
    #expect(try events(fixture, after: 3).map { $0.prefix(3) } == ["4 1"])
    try add(fixture, Limits.eventsKept - 1)
    #expect(try events(fixture, after: 3, limit: 1).map { $0.prefix(3) } == ["4 1"])
  }

  @Test func aPageOfLargeEventsEndsEarlyAndGoesOn() throws {
    let fixture = try Fixture(.memory)
    for _ in 0..<3 { try add(fixture, 6, [UInt8](repeating: 7, count: Limits.messageBytesMax)) }
    let first = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.events(after: 0, limit: 99)
    }
    guard case .entries(let entries) = first else { throw StoreFailure.damaged }
    #expect(entries.count == 16)
    let rest = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.events(after: 16, limit: 99)
    }
    guard case .entries(let others) = rest else { throw StoreFailure.damaged }
    #expect(others.map(\.seq) == [17, 18])
  }
}

@Suite struct EntityTests {
  private func entities(_ fixture: Fixture, _ kind: Int64, _ cid: Int64?) throws -> [String] {
    try fixture.read { rx throws(StoreFailure) in
      let rows =
        if let cid {
          try rx.feedReader.entities(kind: kind, cid: cid, after: [], limit: .max)
        } else {
          try rx.feedReader.entities(kind: kind, after: (0, []), limit: .max)
        }
      return rows.map { row in
        [row.conversation, row.id, row.body].map { String(decoding: $0, as: UTF8.self) }
          .joined(separator: " ")
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func theNewestCopyIsKeptByKindConversationAndID(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("d")
    try fixture.write { tx throws(StoreFailure) in
      for (kind, cid, id) in [
        (2, other, "z"), (2, cid, "v"), (2, cid, "u"), (3, 0, "u"), (1, cid, "c"),
      ] as [(Int64, Int64, String)] {
        #expect(try tx.feedTable.putEntity(kind: kind, cid: cid, id: bytes(id), body: bytes("1")))
      }
      #expect(try tx.feedTable.putEntity(kind: 2, cid: cid, id: bytes("u"), body: bytes("2")))
    }
    try fixture.reopen()
    let before = fixture.store.lsn
    try fixture.write { tx throws(StoreFailure) in
      #expect(
        try tx.feedTable.putEntity(kind: 2, cid: cid, id: bytes("u"), body: bytes("2")) == false)
      #expect(try tx.feedTable.removeEntity(kind: 3, cid: 0, id: bytes("unknown")) == false)
    }
    #expect(fixture.store.lsn == before)
    #expect(try entities(fixture, 2, cid) == ["c u 2", "c v 1"])
    #expect(try entities(fixture, 2, nil) == ["c u 2", "c v 1", "d z 1"])
    #expect(try entities(fixture, 3, 0) == [" u 1"])
    #expect(try entities(fixture, 1, nil) == ["c c 1"])
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.feedTable.removeEntity(kind: 3, cid: 0, id: bytes("u")))
      #expect(try tx.feedTable.removeEntities(of: cid))
      #expect(try tx.feedTable.removeEntities(of: cid) == false)
    }
    #expect(try entities(fixture, 2, nil) == ["d z 1"])
    #expect(try entities(fixture, 1, nil) == [] && entities(fixture, 3, 0) == [])
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: 0, limit: 10)
    }
    guard case .entries(let entries) = page else { throw StoreFailure.damaged }
    #expect(entries.map(\.kind) == [ChangeKind](repeating: .entities, count: 5))
    #expect(entries.map(\.cid) == [other, cid, 0, 0, cid])
  }
}

@Suite struct SilentTests {
  @Test(arguments: Kind.allCases)
  func whatFollowsTheMarkIsSilentInThatCommitOnly(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(message("a", at: 1), cid, issued: tx.lsn)
      tx.isSilent = true
      _ = try tx.apply(message("b", at: 2), cid, issued: tx.lsn)
      _ = try tx.apply(message("a", at: 1, "x"), cid, issued: tx.lsn)
      _ = try tx.apply(message("c", at: 3), cid, issued: tx.lsn)
      tx.isSilent = false
      _ = try tx.apply(message("d", at: 4), cid, issued: tx.lsn)
    }
    try fixture.apply([message("e", at: 5)], cid)
    try fixture.reopen()
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: 0, limit: 10)
    }
    guard case .entries(let entries) = page else { throw StoreFailure.damaged }
    let told = entries.map { "\($0.kind) \($0.isSilent) \($0.first)-\($0.last)" }
    #expect(
      told == [
        "inserted false 1-1", "inserted false 4-4", "inserted true 2-3", "updated true 1-1",
        "inserted false 5-5",
      ])
  }
}
