/// The state of the conversation that changed last stands in the row of `meta`: nobody who reads
/// can tell, in whatever order conversations change, and whoever opens the file.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct KeptStateTests {
  /// What conversations are to be.
  private struct Known: Equatable {
    var rows = 0
    var total: Int64?
    var marker: Position?
    var unread = 0
  }

  private func found(_ rx: ReadTransaction, _ cid: Int64) throws(StoreFailure) -> Known {
    let record = try rx.conversation(cid: cid)
    return Known(
      rows: try rx.count(cid, from: .min, to: .max), total: record?.totalCount,
      marker: try rx.unreadReader.readMarker(cid), unread: Int(try rx.tally(cid).here))
  }

  private static let stored: StaticString = "SELECT message_count FROM conversation WHERE cid = ?"

  @Test(arguments: Kind.allCases)
  func theRowOfTheOneThatChangedLastIsWrittenWhenAnotherChanges(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let (a, b) = (try fixture.conversation("a"), try fixture.conversation("b"))
    for step in 0..<120 { try fixture.apply([message("a\(step)", at: Int64(step))], a) }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.connection.number(Self.stored, a) == 0)
      #expect(try tx.count(a, from: .min, to: .max) == 120)
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.count(a, from: .min, to: .max) == 120)
      #expect(try rx.counts().messages == 120)
    }
    try fixture.apply([message("b", at: 1)], b)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.connection.number(Self.stored, a) == 120)
      #expect(try tx.connection.number(Self.stored, b) == 0)
      #expect(try tx.counts().messages == 121)
    }
  }

  /// Of a commit that changes several, those that are not kept are written at once.
  @Test func oneThatChangesBesideOthersStaysWhereItIs() throws {
    let fixture = try Fixture(.file)
    let (a, b) = (try fixture.conversation("a"), try fixture.conversation("b"))
    try fixture.apply([message("a", at: 1)], a)
    try fixture.write { tx throws(StoreFailure) in
      for (cid, id) in [(a, "a2"), (b, "b")] {
        _ = try tx.apply(message(id, at: 2), cid, issued: tx.lsn)
      }
    }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.connection.number(Self.stored, a) == 0)
      #expect(try tx.connection.number(Self.stored, b) == 1)
    }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.count(a, from: .min, to: .max) == 2)
      #expect(try rx.count(b, from: .min, to: .max) == 1)
    }
  }

  /// A cache of an older form is made anew; how far the user has read is the user's own.
  @Test func theMarkerOutlivesACacheOfAnotherForm() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    for step in 0..<120 { try fixture.apply([message("m\(step)", at: Int64(step))], cid) }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.unreadTable.moveReadMarker(cid, to: position(70, "m70")))
    }
    try fixture.alter("UPDATE meta SET cache_form = 1; COMMIT")
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      #expect(try found(rx, cid) == Known(marker: position(70, "m70")))
    }
  }

  /// Conversations that change in any order, many in a commit, some taken back, some removed, the
  /// cache cleared, read in the write, by the connection that wrote and by another, and anew.
  @Test(arguments: Kind.allCases, 0..<6)
  func itIsReadAsItWasLeft(_ kind: Kind, _ seed: Int) throws {
    var random = Random(seed: UInt64(seed))
    let fixture = try Fixture(kind)
    let cids = try (0..<3).map { try fixture.conversation("c\($0)") }
    var known = [Known](repeating: Known(), count: cids.count)
    var time: Int64 = 0
    for step in 0..<250 {
      let before = known
      let fails = random.chance(0.1)
      do {
        try fixture.write { tx throws(StoreFailure) in
          // Mostly one, as an update has it.
          let some = random.chance(0.7) ? 1 : 1 + random.below(3)
          for _ in 0..<some {
            let place = random.chance(0.6) ? step / 40 % cids.count : random.below(cids.count)
            let cid = cids[place]
            time += 1
            switch random.below(24) {
            case 0:
              try tx.removeConversation(cid)
              known[place] = Known()
              // What it was removed with counts for nothing later.
              _ = try tx.conversation(cid: cid)
            case 1 where some == 1:
              try tx.clearCache()
              known = known.map { Known(marker: $0.marker) }
            case 2, 3, 4:
              guard var record = try tx.conversation(cid: cid) else { continue }
              record.totalCount = time
              try tx.save(record)
              known[place].total = time
            case 5, 6:
              let place2 = position(time, "x")
              if try tx.unreadTable.moveReadMarker(cid, to: place2) {
                known[place].marker = place2
                known[place].unread = 0
              }
            case 7, 8:
              let rows = try tx.rows(
                cid, from: .min, to: ReadTransaction.beyond, limit: 3, newestFirst: true)
              guard let row = rows.last else { continue }
              _ = try tx.remove(row.position, cid)
              known[place].rows -= 1
              let isAbove = known[place].marker.map { $0 < row.position } ?? true
              if isAbove, !row.flags.contains(.mine) { known[place].unread -= 1 }
            case 9, 10:
              var one = message("m\(time)", at: time)
              one.flags.insert(.mine)
              _ = try tx.apply(one, cid, issued: tx.lsn)
              known[place].rows += 1
            case 11:
              // Another statement than those that say what they change.
              try tx.connection.run("UPDATE meta SET one = 1")
            default:
              _ = try tx.apply(message("m\(time)", at: time), cid, issued: tx.lsn)
              known[place].rows += 1
              known[place].unread += 1
            }
            if random.chance(0.3) { #expect(try found(tx, cid) == known[place]) }
          }
          if fails { throw .full }
        }
        #expect(!fails)
      } catch {
        known = before
      }
      if random.chance(0.05) { try fixture.reopen() }
      try fixture.read { rx throws(StoreFailure) in
        for place in cids.indices { #expect(try found(rx, cids[place]) == known[place]) }
        #expect(try rx.counts().messages == UInt64(known.map(\.rows).reduce(0, +)))
      }
      if step % 25 == 0 {
        try fixture.store.read { rx throws(StoreFailure) in
          for place in cids.indices { #expect(try found(rx, cids[place]) == known[place]) }
        }
      }
    }
  }

  /// One that takes the place is read with its row, where nothing of it was known: what it counts
  /// is not what it had before.
  @Test(arguments: Kind.allCases, [true, false])
  func theCountIsThatAfterTheCommitThatTookThePlace(_ kind: Kind, _ isMine: Bool) throws {
    let fixture = try Fixture(kind)
    let (a, b) = (try fixture.conversation("a"), try fixture.conversation("b"))
    func mine(_ id: String, at time: Int64) -> IncomingMessage {
      var one = message(id, at: time)
      if isMine { one.flags.insert(.mine) }
      return one
    }
    func count() throws -> [Int] {
      let inWrite = try fixture.write { tx throws(StoreFailure) in
        try tx.count(a, from: .min, to: .max)
      }
      let glanced = try fixture.store.read { rx throws(StoreFailure) in
        try rx.count(a, from: .min, to: .max)
      }
      return [glanced, inWrite]
    }
    for step in 0..<5 { try fixture.apply([mine("a\(step)", at: Int64(step))], a) }
    try fixture.apply([message("b", at: 1)], b)
    try fixture.write { tx throws(StoreFailure) in _ = try tx.remove(position(2, "a2"), a) }
    #expect(try count() == [4, 4])
    try fixture.apply([message("b2", at: 2)], b)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(mine("a9", at: 9), a, issued: tx.lsn)
      try tx.connection.run("UPDATE meta SET one = 1")
    }
    #expect(try count() == [5, 5])
  }

  /// Names as long as they may be would take the row of `meta` from its page.
  @Test func oneThatIsTooLongHasItsOwnRow() throws {
    let fixture = try Fixture(.file)
    let cid = try fixture.conversation()
    let long = String(repeating: "x", count: 250)
    for step in 0..<4 {
      try fixture.apply([message("\(step)\(long)", at: Int64(step))], cid)
      try fixture.write { tx throws(StoreFailure) in
        if step > 0 {
          try tx.unreadTable.moveReadMarker(cid, to: position(Int64(step), "\(step)\(long)"))
        }
        guard var record = try tx.conversation(cid: cid) else { return }
        record.fetch = ContentMark(
          newest: .before(timestampGroup: Int64(step)), text: bytes(step == 0 ? "" : long + long))
        try tx.save(record)
      }
      try fixture.write { tx throws(StoreFailure) in
        #expect(try tx.connection.number(Self.stored, cid) == (step == 0 ? 0 : Int64(step + 1)))
        #expect((tx.counters.kept == nil) == (step > 0))
      }
      try fixture.reopen()
      try fixture.read { rx throws(StoreFailure) in
        #expect(try rx.count(cid, from: .min, to: .max) == step + 1)
        #expect(try rx.conversation(cid: cid)?.fetch?.newest.time == Int64(step))
      }
    }
  }

  @Test func whatIsPackedIsReadAsItWas() throws {
    var packer = ColumnPacker()
    packer.bind(Int64?.none)
    packer.bind(Int64.min)
    packer.bind(UInt64.max)
    packer.bind([UInt8]?.none)
    packer.bind([UInt8]())
    packer.bind(bytes("text"))
    packer.bind(Int64(-1))
    let read = try #require(PackedColumns(packer.packed))
    #expect(read.optionalInt(0) == nil && read.int(0) == 0 && read.optionalBytes(0) == nil)
    #expect(read.int(1) == .min && read.uint(1) == 0 && read.bytes(1) == [])
    #expect(read.uint(2) == UInt64(Int64.max))
    #expect(read.optionalBytes(3) == nil && read.optionalBytes(4) == [])
    #expect(read.bytes(5) == bytes("text") && read.optionalInt(5) == nil)
    #expect(read.int(6) == -1 && read.optionalInt(7) == nil && read.optionalInt(-1) == nil)
  }

  /// Bytes of a damaged file.
  @Test func whatNoPackerHasMadeIsRefusedOrReadsAsSomething() throws {
    var packer = ColumnPacker()
    for step in 0..<20 {
      packer.bind(Int64(step))
      packer.bind(bytes("text \(step)"))
    }
    let whole = packer.packed
    var random = Random(seed: 1)
    var refused = 0
    for _ in 0..<5_000 {
      var changed = whole
      for _ in 0...random.below(3) {
        changed[random.below(changed.count)] = UInt8(random.below(256))
      }
      if random.chance(0.5) { changed.removeLast(random.below(changed.count)) }
      guard let read = PackedColumns(changed) else {
        refused += 1
        continue
      }
      for column in Int32(-1)...50 {
        _ = read.bytes(column).count + Int(clamping: read.int(column))
      }
    }
    #expect(refused > 1_000 && refused < 5_000)
    #expect(throws: StoreFailure.damaged) { try LastChangedState(stored: [1, 2, 3]) }
    let state = LastChangedState(
      ConversationRecord(cid: 7, id: []), tally: UnreadCounters(), rows: 3)
    #expect(try LastChangedState(stored: state.packed)?.record.cid == 7)
    let far = LastChangedState(
      ConversationRecord(cid: 7, id: []), tally: UnreadCounters(), rows: .max)
    for bad in [state.packed.dropLast(), state.packed + [0], far.packed] {
      #expect(throws: StoreFailure.damaged) { try LastChangedState(stored: Array(bad)) }
    }
    #expect(try LastChangedState(stored: []) == nil)
  }
}
