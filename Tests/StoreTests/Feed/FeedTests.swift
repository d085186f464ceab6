/// The change feed: runs, restarts, trimming.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct FeedTests {
  private func entries(
    _ fixture: Fixture, after: UInt64 = 0, limit: Int = 1_000
  ) throws -> [String] {
    let page = try fixture.read { tx throws(StoreFailure) in
      try tx.feedReader.changes(after: after, limit: limit)
    }
    guard case .entries(let entries) = page else { return ["resync"] }
    return entries.map {
      let conversation = String(decoding: $0.conversation, as: UTF8.self)
      return "\($0.seq) \($0.kind) \(conversation) \($0.first)-\($0.last)"
    }
  }

  /// Ranges are trusted beside a watermark only: its coming changes what is trusted.
  @Test func aWatermarkThatComesIsAChangeOfRanges() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: SpanSet().inserting(.min, high: .max), replacing: SpanSet(), in: cid)
    }
    let before = try fixture.read { tx throws(StoreFailure) in try tx.feedReader.lastChange() }
    try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.fetch = ContentMark(newest: .before(timestampGroup: 1), text: bytes("1"))
      try tx.save(record)
    }
    let told = try fixture.read { tx throws(StoreFailure) in
      try tx.feedReader.changes(after: before, limit: 9)
    }
    guard case .entries(let entries) = told else {
      Issue.record("no entries")
      return
    }
    #expect(entries.map(\.kind) == [.coverage])
  }

  @Test(arguments: Kind.allCases)
  func aPageIsOneEntryAndTheFeedSurvivesRestarts(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply((0..<50).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.tombstone(bytes("m7"), in: cid, version: nil)
      _ = try tx.forget(bytes("m3"), in: cid)
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("eva"), ids: ["m9", "m7", "m20", "m8"].map(bytes), in: cid, isMe: false)
      tx.feedTable.change(.updated, in: cid, numbers: 9...10)
      var spans = SpanSet()
      spans.insert(.min, .max)
      try tx.save(spans: spans, replacing: SpanSet(), in: cid)
      tx.feedTable.change(.coverage, in: cid, numbers: nil)
    }
    try fixture.reopen()
    let all = [
      "1 inserted c 1-50", "2 removed c 4-4", "3 removed c 8-8", "4 updated c 9-10",
      "5 updated c 21-21", "6 coverage c 0-0",
    ]
    #expect(try entries(fixture) == all)
    #expect(try entries(fixture, after: 2, limit: 2) == Array(all[2..<4]))
    #expect(try entries(fixture, after: 6) == [])
    #expect(try entries(fixture, after: 7) == ["resync"])
    #expect(fixture.store.lastChange == 6)
  }

  @Test func whatAScreenNeverShowsIsNoChange() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, flags: .control)], cid)
    try fixture.apply([message("a", at: 1, "other", flags: .control)], cid)
    #expect(try entries(fixture) == [])
    try fixture.apply([message("a", at: 1, "shown")], cid)
    try fixture.apply([message("a", at: 1, "shown", flags: .control)], cid)
    #expect(try entries(fixture) == ["1 inserted c 1-1", "2 removed c 1-1"])
  }

  @Test func oldEntriesGoAndAConsumerThatLagsIsTold() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let extra = 5
    try fixture.write { tx throws(StoreFailure) in
      for step in 0..<UInt64(Limits.changesKept + extra) {
        tx.feedTable.change(.updated, in: cid, numbers: step * 2 + 1...step * 2 + 1)
      }
    }
    try fixture.read { tx throws(StoreFailure) in
      let last = UInt64(Limits.changesKept + extra)
      #expect(try tx.feedReader.lastChange() == last)
      #expect(try tx.feedReader.changes(after: 4, limit: 1) == .resync(from: last))
      for (after, first) in [(UInt64(5), UInt64(6)), (0, 6), (last - 1, last)] {
        guard case .entries(let entries) = try tx.feedReader.changes(after: after, limit: 1) else {
          Issue.record("entry \(first) is kept")
          continue
        }
        #expect(entries.map(\.seq) == [first])
      }
    }
  }

  @Test func entriesAreToldAlikeWhetherTheyHaveMovedOrNot() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("d")
    let count = UInt64(InlineChanges.countMax * 2 + 9)
    for step in 1...count {
      try fixture.write { tx throws(StoreFailure) in
        tx.isSilent = step % 3 == 0
        tx.feedTable.change(.updated, in: step == 5 ? other : cid, numbers: step...step + 1)
      }
      if step % 50 == 0 { try fixture.reopen() }
    }
    try fixture.read { rx throws(StoreFailure) in
      for after in 0...count {
        guard case .entries(let found) = try rx.feedReader.changes(after: after, limit: 40) else {
          Issue.record("all are kept")
          continue
        }
        #expect(found.map(\.seq) == Array((after..<count).prefix(40).map { $0 + 1 }))
        #expect(found.allSatisfy { $0.first == $0.seq && $0.last == $0.seq + 1 })
        #expect(found.allSatisfy { $0.isSilent == ($0.seq % 3 == 0) })
        #expect(found.allSatisfy { $0.conversation == bytes($0.seq == 5 ? "d" : "c") })
        #expect(try rx.feedReader.hasChanges(other, after: after) == (after < 5))
        #expect(try rx.feedReader.hasChanges(cid, after: after) == (after < count))
      }
    }
  }

  @Test func runsMergeWhereTheyTouch() {
    var runs = FeedRuns()
    for number in [5, 3, 4, 9, 1, 2, 9] as [UInt64] { runs.add(.updated, 1, number...number) }
    runs.add(.inserted, 1, 6...6)
    runs.add(.updated, 2, .max - 1 ... .max)
    runs.add(.updated, 2, .max ... .max)
    #expect(
      runs.merged() == [
        FeedRuns.Run(cid: 1, kind: .updated, numbers: 1...5),
        FeedRuns.Run(cid: 1, kind: .updated, numbers: 9...9),
        FeedRuns.Run(cid: 1, kind: .inserted, numbers: 6...6),
        FeedRuns.Run(cid: 2, kind: .updated, numbers: .max - 1 ... .max),
      ])
  }
}
