/// Rows that go from the cache and stay on the server, as the store does it.
import Base
import Foundation
import Testing
import Timeline

@testable import Store

@Suite struct PurgeTests {
  /// A conversation of so many messages, ten microseconds apart, all of it trusted.
  private func filled(_ kind: Kind, _ count: Int, size: Int = 10) throws -> (Fixture, Int64) {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let body = String(repeating: "x", count: size)
    for part in stride(from: 0, to: count, by: 1_000) {
      try fixture.apply(
        (part..<min(count, part + 1_000)).map {
          message("m\($0)", at: Int64($0 + 1) * 10, body, readBy: "[\"me\"]")
        }, cid)
    }
    try fixture.write { tx throws(StoreFailure) in
      var record = try mustHave(try tx.conversation(cid: cid))
      record.fetch = ContentMark(
        newest: .before(timestampGroup: Int64(count) * 10), text: bytes("t"))
      try tx.save(record)
      try tx.save(
        spans: SpanSet().inserting(.min, high: .after(timestampGroup: Int64(count) * 10)),
        replacing: SpanSet(), in: cid)
    }
    return (fixture, cid)
  }

  private func purge(
    _ fixture: Fixture, _ cid: Int64, to left: Int, keeping ranges: [ClosedRange<Int64>] = []
  ) throws -> (rows: Int64, slices: Int) {
    var (from, rows, slices) = (Position.min as Position?, Int64(0), 0)
    while let low = from {
      let slice = try fixture.write { tx throws(StoreFailure) -> PurgeSlice in
        _ = try RetentionControl(tx).switchOn()
        while try !RetentionControl(tx).count() {}
        let record = try mustHave(try tx.conversation(cid: cid))
        var protection = try Protection(cid, loaded: SpanSet(), youngUs: nil, untold: [], in: tx)
        for range in ranges {
          protection.keep(
            from: .before(timestampGroup: range.lowerBound),
            to: .after(timestampGroup: range.upperBound))
        }
        let all = try RetentionControl(tx).room(cid).rows
        return try Purge(tx).slice(record, from: low, besides: protection, limit: 256) {
          all - $0.rows <= left
        }
      }
      rows += slice.rows
      slices += 1
      from = slice.rows == 0 ? nil : slice.next
    }
    return (rows, slices)
  }

  /// Rows and what is trusted, from the far end on; nothing is called whole where a row went.
  @Test(arguments: Kind.allCases)
  func theFarEndGoes(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind, 1_000)
    #expect(try purge(fixture, cid, to: 100).rows == 900)
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.count(cid, from: .min, to: .max) == 100)
      #expect(try rx.oldest(cid)?.time == 9_010)
      let spans = try rx.spans(cid)
      #expect(spans.spans.count == 1)
      #expect(spans.spans.first?.low == .after(timestampGroup: 9_000))
      let (room, isCounted) = try mustHave(try rx.room(cid))
      #expect(isCounted && room.rows == 100 && room.purgedRows == 900)
      #expect(try rx.counts().tombstones == 0)
      guard case .entries(let entries) = try rx.feedReader.changes(after: 0, limit: 1_000) else {
        return
      }
      #expect(!entries.contains { $0.kind == .removed })
      let told = entries.filter { $0.kind == .purged }.flatMap { Array($0.first...$0.last) }
      #expect(told == Array(1...900))
    }
  }

  /// What stands between two protected ranges goes, and both keep their trust.
  @Test func rangesStay() throws {
    let (fixture, cid) = try filled(.memory, 500)
    _ = try purge(fixture, cid, to: 50, keeping: [1_000...1_200])
    try fixture.read { rx throws(StoreFailure) in
      let times = try rx.rows(cid, from: .min, to: .max, limit: 1_000, newestFirst: false)
        .map(\.position.time)
      #expect(times.count == 50 && times.prefix(21) == (100...120).map { Int64($0 * 10) }[...])
      let spans = try rx.spans(cid)
      #expect(spans.spans.count == 2)
      #expect(spans.covers(.before(timestampGroup: 1_000), high: .after(timestampGroup: 1_200)))
      for time in times { #expect(spans.holds(position(time, "m\(time / 10 - 1)"))) }
    }
  }

  /// Messages of one time lose their trust together, however many a slice takes.
  @Test func aTimestampGroupIsOne() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply((0..<600).map { message("m\($0)", at: 10) }, cid)
    try fixture.apply((0..<5).map { message("n\($0)", at: 20) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      try tx.save(
        spans: SpanSet().inserting(.min, high: .after(timestampGroup: 20)), replacing: SpanSet(),
        in: cid)
      let record = try mustHave(try tx.conversation(cid: cid))
      _ = try RetentionControl(tx).switchOn()
      let protection = try Protection(cid, loaded: SpanSet(), youngUs: nil, untold: [], in: tx)
      let slice = try Purge(tx).slice(record, from: .min, besides: protection, limit: 256) { _ in
        false
      }
      #expect(slice.rows == 256)
      #expect(try tx.spans(cid).spans.map(\.low) == [.after(timestampGroup: 10)])
    }
  }

  /// A place of unreadable items hides more than those once rows went from inside of it.
  @Test func aPlaceOfUnreadableItemsIsAskedForAgain() throws {
    let (fixture, cid) = try filled(.memory, 100)
    try fixture.write { tx throws(StoreFailure) in
      for time in [Int64(150), 900] {
        let (low, high) = (position(time, ""), position(time + 25, ""))
        try tx.quarantineTable.quarantine(cid, bytes: bytes("x"), reason: 1, low: low, high: high)
        try tx.quarantineTable.seeQuarantine(cid, low: low, high: high)
      }
    }
    #expect(
      try fixture.read { tx throws(StoreFailure) in try tx.quarantined(cid, seen: true) }.count == 2
    )
    _ = try purge(fixture, cid, to: 50)
    let seen = try fixture.read { tx throws(StoreFailure) in try tx.quarantined(cid, seen: true) }
    #expect(seen.map(\.low.time) == [900])
  }

  /// What is counted is what is stored, whatever happens beside the count.
  @Test(arguments: 1...20)
  func theCountIsRight(_ seed: Int) throws {
    let fixture = try Fixture(seed % 5 == 0 ? .file : .memory)
    var random = Random(seed: UInt64(seed))
    let cids = try ["a", "b", "c"].map { try fixture.conversation($0) }
    func some() throws {
      for _ in 0..<(1 + random.below(800)) {
        let (cid, id) = (cids[random.below(3)], "m\(random.below(3_000))")
        let long = String(repeating: "y", count: random.below(60))
        let (what, version) = (random.below(5), Int64(random.below(1_000)))
        let time = Int64(random.below(3_000))
        try fixture.write { tx throws(StoreFailure) in
          switch what {
          case 0: _ = try tx.tombstone(bytes(id), in: cid, version: nil)
          case 1: _ = try tx.drop(bytes(id), in: cid)
          default:
            _ = try tx.apply(
              message(id, at: time, long, version: version), cid, issued: tx.lsn)
          }
        }
      }
    }
    for _ in 0..<2 { try some() }
    try fixture.write { tx throws(StoreFailure) in _ = try RetentionControl(tx).switchOn() }
    var isDone = false
    while !isDone {
      isDone = try fixture.write { tx throws(StoreFailure) in try RetentionControl(tx).count() }
      if random.below(2) == 0 { try some() }
    }
    try some()
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      for cid in cids + [0] {
        let row = try rx.connection.statement(
          Queries.roomRows, Int64.min, Int64(0), bytes(""), 9_999)
        var (rows, size) = (Int64(0), Int64(0))
        while try row.step() {
          if cid != 0, row.int(0) != cid { continue }
          rows += 1
          size += row.int(3)
        }
        let (room, isCounted) = try mustHave(try rx.room(cid))
        #expect(isCounted && room.rows == rows && room.bytes == size)
      }
    }
  }

  /// After a purge to a tenth the file is under a fifth, and no slice of the way takes it all.
  @Test func spaceIsGivenBack() throws {
    let (fixture, cid) = try filled(.file, 20_000, size: 400)
    try fixture.reopen()
    let before = fixture.store.fileBytes
    let (rows, slices) = try purge(fixture, cid, to: 2_000)
    #expect(rows == 18_000 && slices > 60)
    var steps = 0
    var free = Int64.max
    while true {
      let left = try fixture.write { tx throws(StoreFailure) -> Int64 in
        let control = try RetentionControl(tx)
        try control.release()
        return try control.freePages()
      }
      #expect(left < free)
      guard left < free, left > 0 else { break }
      free = left
      steps += 1
    }
    #expect(steps > 10)
    try fixture.reopen()
    #expect(fixture.store.fileBytes * 5 < before, "\(fixture.store.fileBytes) of \(before)")
    let left = try fixture.read { rx throws(StoreFailure) in
      try rx.count(cid, from: .min, to: .max)
    }
    #expect(left == 2_000)
  }
}

/// As `#require`, for closures with typed errors.
func mustHave<Value>(_ value: Value?) throws(StoreFailure) -> Value {
  guard let value else { throw .damaged }
  return value
}
