/// Conversations, facts, spans and quarantined places: kept exactly, written
/// only where they differ.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct RecordTests {
  @Test(arguments: Kind.allCases)
  func recordsAndFactsSurviveReopening(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    var facts = ServerFacts()
    facts.serverTime = ServerTime(us: -5)
    facts.largestPage = 37
    facts.overlapUs = 9
    facts.epoch = []
    let saved = try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.fetch = ContentMark(
        newest: .before(timestampGroup: .max), text: bytes("2030-01-01T00:00:00Z"))
      record.deletions = Watermark(at: .zero, text: [])
      record.marks = Watermark(at: ServerTime(us: 7), text: bytes("m"))
      record.lowestSince = .min
      record.totalCount = 3
      record.restoredLSN = 4
      record.auditedTotal = 5
      record.auditedCount = 6
      try tx.save(record)
      try tx.save(facts)
      return record
    }
    try fixture.reopen()
    let before = fixture.store.lsn
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.conversation(bytes("c")) == saved)
      #expect(try tx.facts() == facts)
      #expect(try tx.conversation(bytes("d")) == nil)
      try tx.save(saved)
      try tx.save(facts)
    }
    #expect(fixture.store.lsn == before)
  }

  @Test func savingAnUnknownConversationIsRefused() throws {
    let fixture = try Fixture(.memory)
    let unknown = ConversationRecord(cid: 12, id: bytes("x"))
    #expect(throws: StoreFailure.self) {
      try fixture.write { tx throws(StoreFailure) in try tx.save(unknown) }
    }
  }

  @Test(arguments: Kind.allCases)
  func spansAreKeptAndOnlyTheDifferenceIsWritten(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    var spans = SpanSet()
    for step in 0..<40 {
      spans.insert(position(Int64(step) * 10, ""), position(Int64(step) * 10 + 5, "x"))
    }
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: spans, replacing: SpanSet(), in: cid)
    }
    try fixture.reopen()
    var next = spans
    next.insert(position(100, ""), position(118, ""))
    next.remove(position(300, "a"), position(301, ""))
    next.insert(.min, position(2, ""))
    let written = try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.spans(cid) == spans)
      let before = try tx.connection.totalChanges
      try tx.save(spans: next, replacing: spans, in: cid)
      return try tx.connection.totalChanges - before
    }
    // Two joined into one: one goes, one is longer. One split: two written. The
    // lowest has a new low end: one goes, one comes.
    #expect(written == 6)
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.spans(cid) == next)
      #expect(try tx.spans(other).isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsUnverifiedIsKeptBesideWhatIsWhole(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var content = SpanSet()
    for step in 0..<30 {
      content.insert(position(Int64(step) * 10, "a"), position(Int64(step) * 10 + 5, ""))
    }
    var less = content
    less.remove(position(42, ""), position(203, "x"))
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: content, replacing: SpanSet(), in: cid)
      try tx.save(unverified: content, replacing: SpanSet(), in: cid)
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.unverified(cid) == content)
      try tx.save(unverified: less, replacing: content, in: cid)
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.unverified(cid) == less)
      #expect(try tx.spans(cid) == content)
      try tx.save(unverified: SpanSet(), replacing: less, in: cid)
      try tx.save(spans: less, replacing: content, in: cid)
      #expect(try tx.unverified(cid).isEmpty)
      #expect(try tx.spans(cid) == less)
      #expect(try tx.feedReader.lastChange() == 2)
    }
  }

  @Test func storedRangesThatMakeNoSenseVerifyNothing() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    var whole = SpanSet()
    whole.insert(.min, .max)
    var part = whole
    part.remove(position(2, ""), position(3, ""))
    try fixture.write { tx throws(StoreFailure) in
      for low in [Int64(1), 5] {
        try tx.connection.run("INSERT INTO span VALUES (?, 1, ?, x'', 9, x'')", cid, low)
      }
      let stored = try tx.unverified(cid)
      #expect(stored == whole)
      try tx.save(unverified: part, replacing: stored, in: cid)
      #expect(try tx.unverified(cid) == part)
      #expect(try tx.spans(cid).isEmpty)
    }
  }

  @Test(arguments: [(9, nil), (9, 7), (4, 3)] as [(Int64, Int64?)])
  func storedSpansThatMakeNoSenseProveNothing(_ high: Int64, _ top: Int64?) throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      try tx.connection.run(
        "INSERT INTO span VALUES (?, 0, 1, x'', ?, x''), (?, 0, 5, x'', 9, x'')", cid, high, cid)
      try tx.connection.run(
        "UPDATE conversation SET top_time = ?, top_id = x'' WHERE cid = ?", top, cid)
    }
    var good = SpanSet()
    good.insert(position(2, ""), position(3, ""))
    try fixture.write { tx throws(StoreFailure) in
      let stored = try tx.spans(cid)
      #expect(stored.isEmpty)
      try tx.save(spans: good, replacing: stored, in: cid)
      #expect(try tx.spans(cid) == good)
    }
  }

  @Test(arguments: Kind.allCases)
  func aQuarantinedItemIsKeptOnceAtItsPlace(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    for _ in 0..<2 {
      try fixture.write { tx throws(StoreFailure) in
        for item in ["bad", "worse"] {
          try tx.quarantineTable.quarantine(
            cid, bytes: bytes(item), reason: 1, low: position(1, "a"), high: position(4, "b"))
        }
        try tx.quarantineTable.quarantine(
          cid, bytes: bytes("bad"), reason: 1, low: position(0, ""), high: position(1, "a"))
      }
      try fixture.reopen()
    }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.counts().quarantined == 3)
      #expect(
        try tx.quarantined(cid) == [
          SpanSet.Span(low: position(0, ""), high: position(1, "a")),
          SpanSet.Span(low: position(1, "a"), high: position(4, "b")),
        ])
      try tx.quarantineTable.clearQuarantine(cid, low: position(1, "a"), high: position(4, "a"))
      #expect(try tx.quarantined(cid).map(\.low) == [position(0, ""), position(4, "a")])
      try tx.quarantineTable.clearQuarantine(cid, low: position(1, "a"), high: position(4, "b"))
      #expect(try tx.quarantined(cid).map(\.low) == [position(0, "")])
    }
  }

  /// Of a wide place the parts beside what was shown anew stay, seen as they were.
  @Test func aWidePlaceGivesWayToWhatIsShown() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.quarantine(
        cid, bytes: bytes("bad"), reason: 1, low: position(1, ""), high: position(9, ""))
      #expect(try tx.quarantined(cid, seen: true).isEmpty)
      try tx.quarantineTable.seeQuarantine(cid, low: position(1, ""), high: position(8, ""))
      #expect(try tx.quarantined(cid, seen: true).isEmpty)
      try tx.quarantineTable.seeQuarantine(cid, low: position(1, ""), high: position(9, ""))
      try tx.quarantineTable.clearQuarantine(cid, low: position(3, ""), high: position(5, ""))
      let parts = [
        SpanSet.Span(low: position(1, ""), high: position(3, "")),
        SpanSet.Span(low: position(5, ""), high: position(9, "")),
      ]
      #expect(try tx.quarantined(cid, seen: true) == parts)
      #expect(try tx.quarantined(cid, from: position(2, ""), to: position(6, "")) == parts)
      #expect(try tx.quarantined(cid, from: position(3, ""), to: position(6, "")) == [parts[1]])
      #expect(try tx.quarantined(cid, from: position(3, ""), to: position(5, "")).isEmpty)
      try tx.quarantineTable.doubtQuarantine(cid, above: position(8, ""))
      #expect(try tx.quarantined(cid, seen: true) == [parts[0]])
      try tx.quarantineTable.clearQuarantine(cid, low: position(2, ""), high: position(6, ""))
      #expect(
        try tx.quarantined(cid) == [
          SpanSet.Span(low: position(1, ""), high: position(2, "")),
          SpanSet.Span(low: position(6, ""), high: position(9, "")),
        ])
    }
  }

  /// Who reads on from the last number misses none, whatever has gone.
  @Test func aNumberOfAQuarantinedItemIsNeverUsedAgain() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    var numbers: [UInt64] = []
    for step in 0..<3 {
      try fixture.write { tx throws(StoreFailure) in
        try tx.quarantineTable.clearQuarantine(cid, low: .min, high: .max)
        try tx.quarantineTable.quarantine(
          cid, bytes: bytes("bad \(step)"), reason: 7, low: position(1, "a"),
          high: position(9, "b"))
        numbers += try tx.quarantinedItems(cid, after: numbers.last ?? 0, limit: 9).map(\.seq)
      }
    }
    // The place is shown in part: the item hides what lies beside that, and is told anew.
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.clearQuarantine(cid, low: position(3, ""), high: position(5, ""))
      numbers += try tx.quarantinedItems(cid, after: numbers.last ?? 0, limit: 9).map(\.seq)
    }
    #expect(numbers.count == 4 && numbers == Set(numbers).sorted())
  }

  @Test func quarantinedItemsAreReadInPages() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let huge = [UInt8](repeating: 1, count: Limits.quarantineBytesMax + 1)
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.quarantine(
        0, bytes: bytes("nobody's"), reason: 77, low: .min, high: .min)
      try tx.quarantineTable.quarantine(
        cid, bytes: huge, reason: 8, low: position(1, "a"), high: position(2, "b"))
      let all = try tx.quarantinedItems(nil, after: 0, limit: 9)
      #expect(all.map(\.reason) == [77, 8] && all.map(\.low) == [Int64.min, 1])
      #expect(all[0].conversation.isEmpty && all[0].bytes == bytes("nobody's"))
      #expect(all[1].size == UInt64(huge.count))
      #expect(all[1].bytes.count == Limits.quarantineBytesMax && all[1].high == 2)
      #expect(try tx.quarantinedItems(cid, after: 0, limit: 9) == [all[1]])
      #expect(try tx.quarantinedItems(nil, after: all[0].seq, limit: 1) == [all[1]])
      #expect(try tx.quarantinedItems(nil, after: 0, limit: 1) == [all[0]])
      #expect(try tx.quarantinedItems(nil, after: all[1].seq, limit: 9).isEmpty)
      #expect(try tx.quarantinedItems(nil, after: .max, limit: 9).isEmpty)
    }
  }

  @Test func quarantineIsBounded() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let huge = [UInt8](repeating: 1, count: Limits.quarantineBytesMax + 1)
    try fixture.write { tx throws(StoreFailure) in
      try tx.quarantineTable.quarantine(
        cid, bytes: huge, reason: 0, low: .min, high: position(0, ""))
      let kept = try tx.connection.number("SELECT length(bytes) FROM quarantine")
      #expect(kept == Int64(Limits.quarantineBytesMax))
      for step in 1..<Limits.quarantineKept {
        try tx.quarantineTable.quarantine(
          cid, bytes: [], reason: 0, low: position(Int64(step), ""), high: .max)
      }
      #expect(try tx.counts().quarantined == UInt64(Limits.quarantineKept))
      #expect(try tx.quarantined(cid).first?.low == .min)
      try tx.quarantineTable.quarantine(
        cid, bytes: [], reason: 0, low: position(.max, ""), high: .max)
      #expect(try tx.counts().quarantined == UInt64(Limits.quarantineKept))
      #expect(try tx.quarantined(cid).first?.low == position(1, ""))
    }
  }
}
