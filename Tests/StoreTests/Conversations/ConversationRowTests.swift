/// What is gathered of a conversation in a commit and written with its row: nobody who reads
/// meanwhile, or who opens the file later, can tell that it was not written at once.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct ConversationRowTests {
  /// A statement that writes ends what was kept of reads.
  private func invalidateMemo(_ tx: WriteTransaction) throws(StoreFailure) {
    try tx.connection.run("UPDATE meta SET one = 1")
  }

  @Test(arguments: Kind.allCases)
  func aNewestRangeThatGrowsLeavesItsRowAlone(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var spans = try fixture.twoRanges(cid)
    let stored: StaticString = "SELECT max(high_time) FROM span"
    for high in [Int64(30), 40, 15] {
      var next = spans
      next.remove(position(10, "x"), .max)
      next.insert(position(10, ""), position(high, "c"))
      try fixture.write { tx throws(StoreFailure) in
        try tx.save(spans: next, replacing: spans, in: cid)
        #expect(try tx.spans(cid) == next)
        #expect(try tx.connection.number(stored) == 20)
      }
      try fixture.reopen()
      try fixture.read { rx throws(StoreFailure) in #expect(try rx.spans(cid) == next) }
      spans = next
    }
    // Another one is the newest now: the row of the one before says all.
    var more = spans
    more.insert(position(50, ""), position(60, ""))
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(spans: more, replacing: spans, in: cid)
      try tx.save(spans: spans, replacing: more, in: cid)
      #expect(try tx.connection.number(stored) == 15)
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in #expect(try rx.spans(cid) == spans) }
  }

  /// Random sets, saved one after the other, many in one commit, read by others and anew.
  @Test(arguments: Kind.allCases, [UInt64(1), 2, 3])
  func rangesAreReadAsTheyWereSaved(_ kind: Kind, _ seed: UInt64) throws {
    var random = Random(seed: seed)
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var spans = SpanSet()
    for step in 0..<150 {
      try fixture.write { tx throws(StoreFailure) in
        for _ in 0..<1 + random.below(3) {
          let low = Int64(random.below(100))
          let high = low + Int64(1 + random.below(30))
          var next = spans
          switch random.below(6) {
          case 0: next.remove(position(low, ""), position(high, ""))
          case 1: next.remove(position(low, ""), .max)
          case 2:
            let top = next.newest?.high ?? .min
            next.insert(next.newest?.low ?? .min, position(top.time.clamped + 1, ""))
          case 3: next.insert(.min, position(low, "x"))
          default: next.insert(position(low, ""), position(high, ""))
          }
          try tx.save(spans: next, replacing: spans, in: cid)
          spans = next
          if random.chance(0.5) { try invalidateMemo(tx) }
          #expect(try tx.spans(cid) == spans)
        }
      }
      if step % 7 == 0 { try fixture.reopen() }
      try fixture.read { rx throws(StoreFailure) in #expect(try rx.spans(cid) == spans) }
    }
  }

  /// Commits of several conversations, in which records, unread messages and rows change in any
  /// mixture: what is known of them afterwards is what the file says.
  @Test(arguments: Kind.allCases, [UInt64(1), 2, 3])
  func severalInOneCommitAreKnownAsTheyAreWritten(_ kind: Kind, _ seed: UInt64) throws {
    var random = Random(seed: seed)
    let fixture = try Fixture(kind)
    let cids = try ["a", "b", "c"].map { try fixture.conversation($0) }
    var rows: [Int64: Int] = [:]
    for step in 0..<120 {
      try fixture.write { tx throws(StoreFailure) in
        if random.chance(0.5) { try invalidateMemo(tx) }
        for cid in cids where random.chance(0.7) {
          for number in 0..<random.below(3) {
            // Some are read already, and change the rows alone.
            let flags: RowFlags = random.chance(0.5) ? [] : .readByMe
            let one = message("m\(step)-\(number)", at: Int64(step * 10 + number), flags: flags)
            _ = try tx.apply(one, cid, issued: tx.lsn)
            rows[cid, default: 0] += 1
          }
          if random.chance(0.3), var record = try tx.conversation(cid: cid) {
            record.totalCount = Int64(step)
            try tx.save(record)
          }
          if random.chance(0.3) { try invalidateMemo(tx) }
        }
      }
      if step % 11 == 10 { try fixture.reopen() }
      for cid in cids {
        let known = try fixture.read { rx throws(StoreFailure) in
          (
            try rx.count(cid, from: .min, to: .max), try rx.tally(cid),
            try rx.conversation(cid: cid)
          )
        }
        #expect(known.0 == rows[cid, default: 0])
        try fixture.write { tx throws(StoreFailure) in
          try invalidateMemo(tx)
          #expect(try tx.count(cid, from: .min, to: .max) == known.0)
          #expect(try tx.tally(cid) == known.1)
          #expect(try tx.conversation(cid: cid) == known.2)
        }
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsGatheredIsSeenBeforeItIsWritten(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var spans = SpanSet()
    spans.insert(.min, position(3, "a"))
    let saved = try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      try tx.save(spans: spans, replacing: SpanSet(), in: cid)
      record.fetch = ContentMark(newest: .before(timestampGroup: 3), text: bytes("3"))
      try tx.save(record)
      try invalidateMemo(tx)
      let byName = try tx.conversation(bytes("c"))
      try invalidateMemo(tx)
      let byNumber = try tx.conversation(cid: cid)
      #expect(byName == byNumber)
      #expect(byName?.fetch == record.fetch)
      #expect(byName?.top == position(3, "a"))
      #expect(try tx.spans(cid) == spans)
      // The same again is no change, also by one who does not know of the range.
      try tx.save(record)
      return byName
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.conversation(cid: cid) == saved)
      #expect(try rx.spans(cid) == spans)
    }
  }

  @Test(arguments: Kind.allCases)
  func aConversationThatIsConfirmedKeepsWhatWasGathered(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let fetch = ContentMark(newest: .before(timestampGroup: 3), text: bytes("3"))
    func check(_ rx: ReadTransaction, _ cid: Int64) throws(StoreFailure) {
      let record = try rx.conversation(cid: cid)
      #expect(record?.id == bytes("theirs"))
      #expect(record?.fetch == fetch)
      #expect(record?.isPending == false)
    }
    let cid = try fixture.write { tx throws(StoreFailure) in
      // A draft may have brought the name before.
      var named = try tx.conversation(creating: bytes("mine"))
      named.totalCount = 1
      try tx.save(named)
      var record = try tx.operationTable.conversation(pending: bytes("mine"))
      #expect(record.isPending)
      #expect(record.totalCount == 1)
      record.fetch = fetch
      try tx.save(record)
      let cid = try tx.operationTable.confirm(conversation: record.cid, as: bytes("theirs"))
      try check(tx, cid)
      return cid
    }
    try fixture.write { tx throws(StoreFailure) in try check(tx, cid) }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in try check(rx, cid) }
  }

  /// Nothing of what was gathered before comes back with the end of the commit.
  @Test(arguments: Kind.allCases, [true, false])
  func whatIsRemovedStaysSo(_ kind: Kind, _ isAll: Bool) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var spans = SpanSet()
    spans.insert(position(1, ""), position(3, "a"))
    try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.fetch = ContentMark(newest: .before(timestampGroup: 3), text: bytes("3"))
      try tx.save(record)
      try tx.save(spans: spans, replacing: SpanSet(), in: cid)
      if isAll { try tx.clearCache() } else { try tx.removeConversation(cid) }
      let left = try tx.conversation(cid: cid)
      #expect(left != nil)
      #expect(left?.fetch == nil)
      #expect(left?.top == nil)
      #expect(try tx.spans(cid).isEmpty)
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.conversation(cid: cid)?.fetch == nil)
      #expect(try tx.spans(cid).isEmpty)
      // A range of one's own end.
      var other = SpanSet()
      other.insert(position(1, ""), position(2, ""))
      try tx.save(spans: other, replacing: SpanSet(), in: cid)
      try invalidateMemo(tx)
      #expect(try tx.spans(cid) == other)
    }
  }
}

extension Int64 {
  fileprivate var clamped: Int64 { Swift.max(0, Swift.min(self, 1_000)) }
}
