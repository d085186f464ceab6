/// The entries of a log in the file: they behave as those in memory do, and outlast a process.
import Base
import LogSupport
import Testing
import Timeline

@testable import Store

extension LogRows: InspectedLogTable {
  package var all: [LogRow] { get throws(StoreFailure) { try rows(from: .min, through: .max) } }

  /// The table itself refuses that.
  package var isBroken: Bool { false }
}

@Suite struct LogRowsTests {
  private func fixture(_ kind: Kind) throws -> Fixture { try Fixture(kind, positionKind: 2) }

  /// Protects: what changes an entry is found by its index, however long the log is.
  @Test func changesGoByTheirTarget() throws {
    let connection = try Connection.memory()
    _ = try Schema.prepare(
      connection, binding: Schema.Binding(account: [], user: [], positionKind: 2))
    let queries: [StaticString] = [
      LogRows.someChange, LogRows.lastEdit, LogRows.lastChange, LogRows.lastOfKinds,
      LogRows.reactionsByUser, LogRows.reactions,
    ]
    for query in queries {
      let steps = try connection.plan(of: query)
      #expect(!steps.contains { $0.hasPrefix("SCAN entry") || $0.contains("TEMP B-TREE") })
      let searches = steps.filter { $0.hasPrefix("SEARCH entry") }
      #expect(!searches.isEmpty)
      for step in searches {
        let isByPlace = step.contains("PRIMARY KEY (cid=? AND place=?)")
        let isByTarget =
          step.contains("INDEX entry_target (cid=? AND target=?")
          || step.contains("INDEX entry_reaction (cid=? AND target=?")
        #expect(isByPlace || isByTarget, "\(query): \(step)")
      }
    }
    let steps = try connection.plan(of: LogRows.lastEditByUser).filter { $0.hasPrefix("SEARCH") }
    #expect(steps.count == 1)
    for step in steps {
      let index = "INDEX entry_edits (cid=? AND target=? AND user=? AND place>? AND place<?)"
      #expect(step.contains(index), "\(step)")
    }
  }

  /// Protects: of an entry that moves or goes no other place is looked at, however many entries
  /// could not be read. A page of 10,000 beside 10,000 such places took half a minute.
  @Test func unreadablePlacesGoByTheirPlace() throws {
    let connection = try Connection.memory()
    _ = try Schema.prepare(
      connection, binding: Schema.Binding(account: [], user: [], positionKind: 2))
    for query in [LogProjection.freeQuarantined, LogProjection.moveQuarantined] {
      let steps = try connection.plan(of: query)
      #expect(steps.count == 1)
      #expect(steps[0].contains("(cid=? AND low_time=? AND low_id=?)"), "\(query): \(steps)")
    }
  }

  private func entry(_ random: inout Random, of ids: [[UInt8]]) -> LogEntry {
    let id = ids[random.below(ids.count)]
    var entry = LogEntry(
      id: id, sender: bytes(random.chance(0.5) ? "u" : ""),
      content: Array("c\(random.below(1000))".utf8))
    if random.chance(0.8) { entry.timeUs = Int64(random.below(5000)) - 1000 }
    entry.isDeleted = random.chance(0.1)
    switch random.below(8) {
    case 0: entry.edited = .unnamed
    case 1: entry.edited = .by(ids[random.below(ids.count)])
    default: break
    }
    let kinds: [LogChange.Kind?] = [
      nil, nil, .edit, .delete, .react(bytes("a")), .unreact(bytes("")),
      .reactions([]), .reactions([bytes("a"), bytes(""), bytes("\u{1F44D}")]), .pin, .unpin,
      .moderate,
      LogChange.Kind.none,
    ]
    if let kind = kinds[random.below(kinds.count)] {
      let target = random.chance(0.9) ? ids[random.below(ids.count)] : nil
      entry.change = LogChange(kind, of: target, by: bytes(random.chance(0.5) ? "u" : ""))
      entry.sender = []
    }
    return entry
  }

  /// Protects: what a log is told by the file is what it would be told in memory.
  @Test(arguments: Kind.allCases) func itIsTheTableInMemory(_ kind: Kind) throws {
    let fixture = try fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    var random = Random(seed: 7)
    var memory = MemoryLogTable()
    let ids = (0..<24).map { bytes("e\($0)") } + [bytes(""), [0xFF, 0]]
    for _ in 0..<40 {
      try fixture.write { tx throws(StoreFailure) in
        var rows = LogRows(tx, cid)
        var besides = LogRows(tx, other)
        for _ in 0..<25 {
          let id = ids[random.below(ids.count)]
          let bottom = Int64(random.below(60))
          let (low, high) = (Place(bottom), Place(bottom + Int64(random.below(40)) - 4))
          switch random.below(12) {
          case 0..<4:
            var row = LogRow(
              entry: entry(&random, of: ids), place: Place(Int64(random.below(60))),
              stored: UInt64(random.below(9)), received: UInt64(random.below(9)))
            row.isClaimed = random.chance(0.8)
            if let holder = memory.first(
              above: row.place.saturating(minus: 1), through: row.place)
            {
              if holder.id != row.id { continue }
            }
            try rows.put(row)
            try besides.put(row)
            try besides.remove(row.id)
            memory.put(row)
          case 4:
            try rows.remove(id)
            memory.remove(id)
          case 5: #expect(try rows.rows(from: low, through: high) == memory.rows(low, high))
          case 6:
            #expect(try rows.count(from: low, through: high) == memory.rows(low, high).count)
          case 7:
            #expect(
              try rows.first(above: low, through: high)
                == memory.rows(low.saturating(plus: 1), high).first)
          case 8:
            #expect(
              try rows.last(below: high, from: low)
                == memory.rows(low, high.saturating(minus: 1)).last)
          case 9:
            #expect(try rows.hasChanges(of: id) == memory.hasChanges(of: id))
            let slots: [LogSlot?] = [
              nil, .content, .pin, .deletion, .moderation, .reactions(of: bytes("u")),
            ]
            for slot in slots {
              #expect(
                try rows.lastChange(of: id, slot, from: low, through: high)
                  == memory.lastChange(of: id, slot, from: low, through: high))
            }
            for user in [bytes("u"), bytes("")] {
              #expect(
                try rows.reactions(of: id, by: user, from: low, through: high, limit: 2)
                  == memory.reactions(of: id, by: user, from: low, through: high, limit: 2))
            }
            let (found, same) = (
              try rows.reactions(of: id, limit: 5), memory.reactions(of: id, limit: 5)
            )
            #expect(found.map(\.row) == same.map(\.row))
            #expect(found.map(\.isNamed) == same.map(\.isNamed))
            for user in [nil, bytes("u"), bytes("")] {
              #expect(
                try rows.lastEdit(of: id, by: user, from: low, through: high)
                  == memory.lastEdit(of: id, by: user, from: low, through: high))
            }
          case 10:
            #expect(
              try rows.markedInPlace(from: low, through: high)
                == memory.markedInPlace(from: low, through: high))
            let received = UInt64(random.below(4))..<UInt64(4 + random.below(4))
            let found = try rows.edited(received: received).sorted { $0.place < $1.place }
            #expect(found == memory.edited(received: received))
            for isClaimed in [true, false] {
              #expect(
                try rows.lastWithoutTarget(isClaimed: isClaimed)
                  == memory.lastWithoutTarget(isClaimed: isClaimed))
            }
          default:
            #expect(try rows.unclaimed(above: .min) == memory.unclaimed(above: .min))
            #expect(try rows.row(id) == memory.row(id))
          }
        }
        #expect(try rows.all == memory.all)
        #expect(try besides.all.isEmpty)
      }
      if random.chance(0.1) { try fixture.reopen() }
    }
  }

  /// Protects: ranges, tokens and facts are read as they were saved, and only what differs is
  /// written.
  @Test func rangesAreSavedAsTheyAre() throws {
    let fixture = try fixture(.file)
    let cid = try fixture.conversation()
    var random = Random(seed: 3)
    func claim() -> LogClaim {
      LogClaim(request: UInt64(random.below(99)), connection: UInt64(random.below(9)))
    }
    func token() -> LogToken {
      LogToken(
        bytes: bytes("t\(random.below(99))"), id: random.chance(0.8) ? bytes("e") : nil,
        connection: UInt64(random.below(9)), epoch: random.chance(0.5) ? bytes("1") : nil)
    }
    var known = LogShape()
    for _ in 0..<60 {
      var shape = LogShape()
      shape.facts.issued = UInt64(random.below(5))
      shape.facts.connection = UInt64(random.below(5))
      if random.chance(0.5) { shape.facts.epoch = bytes("e") }
      if random.chance(0.2) { shape.facts.empty = claim() }
      shape.facts.contradictions = UInt64(random.below(2))
      shape.facts.stepUs = Int64(random.below(3))
      var low: Place = 0
      for _ in 0..<random.below(5) {
        low = low.saturating(plus: 2 + Int64(random.below(3)))
        var range = LogRange(
          low: low, high: low.saturating(plus: Int64(random.below(3))), connection: 1)
        if random.chance(0.3) { range.start = claim() }
        if random.chance(0.3) { range.present = claim() }
        if random.chance(0.3) {
          range.note = LogNote(random.chance(0.5) ? .above : .below, of: bytes("n"), issued: 4)
        }
        range.isUnverified = random.chance(0.2)
        range.isByTime = random.chance(0.1)
        for _ in 0..<random.below(3) { range.lower.append(token()) }
        for _ in 0..<random.below(3) { range.upper.append(token()) }
        shape.ranges.append(range)
        low = range.high
      }
      try fixture.write { tx throws(StoreFailure) in
        let ranges = LogRanges(tx)
        #expect(try ranges.load(cid) == known)
        try ranges.save(shape, replacing: known, in: cid)
        #expect(try ranges.load(cid) == shape)
      }
      known = shape
      if random.chance(0.2) { try fixture.reopen() }
    }
    let lsn = fixture.store.lsn
    try fixture.write { tx throws(StoreFailure) in
      try LogRanges(tx).save(known, replacing: known, in: cid)
    }
    #expect(fixture.store.lsn == lsn)
  }

  /// Protects: the rules of the log hold over the file, and a client that begins again from what is
  /// stored after each input knows no less.
  @Test func worldsOverTheFile() throws {
    for seed in 0..<4 as Range<UInt64> {
      let fixture = try fixture(.memory)
      let cid = try fixture.conversation()
      try fixture.attempt { tx in
        var world = LogWorld(seed: seed, in: LogRows(tx, cid))
        var known = LogShape()
        world.restart = { book in
          let shape = LogShape(ranges: book.ranges, facts: book.facts)
          try LogRanges(tx).save(shape, replacing: known, in: cid)
          known = try LogRanges(tx).load(cid)
          #expect(known == shape)
          book = LogBook(
            table: LogRows(tx, cid), ranges: known.ranges, facts: known.facts,
            profile: book.profile, spacing: book.spacing)
        }
        do { try world.run() } catch { Issue.record("seed \(seed): \(error)") }
      }
    }
  }

  /// Protects: a file is bound to its scheme, and has the tables of a log only where it is one.
  @Test func aFileIsBoundToItsScheme() throws {
    for (kind, others) in [(2, [0, 1]), (0, [2]), (1, [2])] as [(Int64, [Int64])] {
      let fixture = try Fixture(.file, positionKind: kind)
      #expect(fixture.store.schemaVersion == 17)
      fixture.store.close()
      for other in others {
        var config = fixture.config
        config.positionKind = other
        #expect(throws: StoreFailure.mismatch(.positionKind)) {
          _ = try MessageStore.open(config)
        }
      }
      try fixture.reopen()
      let hasEntries = try fixture.read { rx throws(StoreFailure) in
        try rx.connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'entry'")
      }
      #expect(hasEntries == (kind == 2 ? 1 : 0))
    }
  }

  /// Protects: a file of form 13 opens: it has no index of edits, and names no sender of a message.
  @Test func aFileOfTheThirteenthFormKeepsItsEntries() throws {
    let fixture = try fixture(.file)
    let cid = try fixture.conversation()
    var copy = message("a", at: 1)
    copy.sender = bytes("eva")
    let entry = LogEntry(id: bytes("a"), sender: bytes("eva"), content: LogBody.packed(copy))
    let edit = LogEntry(id: bytes("b"), change: LogChange(.edit, of: bytes("a"), by: bytes("eva")))
    try fixture.write { tx throws(StoreFailure) in
      var rows = LogRows(tx, cid)
      try rows.put(LogRow(entry: entry, place: 5, stored: 0, received: 0))
      try rows.put(LogRow(entry: edit, place: 6, stored: 0, received: 0))
    }
    try fixture.alter(
      """
      DROP INDEX entry_edits; DROP INDEX entry_reaction; DROP INDEX entry_edited;
      DROP INDEX entry_blurred;
      ALTER TABLE conversation ADD COLUMN counted_flags INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE conversation ADD COLUMN counted_arrived INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE operation DROP COLUMN told_us;
      ALTER TABLE operation DROP COLUMN told_by;
      UPDATE entry SET user = NULL WHERE kind IS NULL;
      PRAGMA user_version = 13;
      COMMIT
      """
    ) { tx throws(StoreFailure) in try tx.settleConversations() }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      let rows = LogRows(tx, cid)
      #expect(try rows.row(bytes("a"))?.entry == entry)
      let found = try rows.lastEdit(of: bytes("a"), by: bytes("eva"), from: .min, through: .max)
      #expect(found?.entry == edit)
    }
  }

  /// Protects: an input reads a bounded number of places of which nothing is claimed, however many
  /// there are; what lies below those that it reads is not claimed either.
  @Test(arguments: [false, true]) func placesThatAreNotClaimedAreBounded(
    _ areQuarantined: Bool
  ) throws {
    let fixture = try fixture(.memory)
    let cid = try fixture.conversation()
    let count = Int64(Limits.spansMax) + 500
    try fixture.write { tx throws(StoreFailure) in
      for place in 1...count {
        let low = Position.before(timestampGroup: place * 10)
        let high = Position.after(timestampGroup: place * 10)
        if areQuarantined {
          let connection = try tx.connection
          try connection.run(
            """
            INSERT INTO quarantine
              (cid, low_time, low_id, high_time, high_id, digest, size, reason, lsn, bytes, seen)
            VALUES (?, ?, ?, ?, ?, 0, 0, 1, 1, x'', 1)
            """, cid, low.time, low.key, high.time, high.key)
        } else {
          var row = LogRow(
            entry: LogEntry(id: Array("m\(place)".utf8)), place: Place(place * 10), stored: 0,
            received: 0)
          row.isClaimed = false
          var rows = LogRows(tx, cid)
          try rows.put(row)
        }
      }
      let read =
        areQuarantined
        ? try tx.newestQuarantined(cid) : try LogRows(tx, cid).unclaimedPlaces()
      #expect(read.count == Limits.spansMax)
      let book = LogBook(
        table: LogRows(tx, cid),
        ranges: [LogRange(low: 1, high: Place(count * 10 + 5), connection: 1)], facts: LogFacts(),
        profile: LogProfile())
      try LogProjection(tx, cid).writeSpans(of: book)
      let spans = try tx.spans(cid)
      #expect(spans.spans.count == Limits.spansMax)
      let lowest = Position.after(timestampGroup: (count - Int64(Limits.spansMax) + 1) * 10)
      #expect(spans.spans.first?.low == lowest)
      for place in [count, count - 1, 600] {
        let hidden = Position(time: place * 10, id: bytes("x"))
        let shown = Position(time: place * 10 + 5, id: bytes("x"))
        #expect(!spans.spans.contains { $0.contains(hidden) })
        #expect(spans.spans.contains { $0.contains(shown) })
      }
    }
    let connection = try Connection.memory()
    _ = try Schema.prepare(
      connection, binding: Schema.Binding(account: [], user: [], positionKind: 2))
    for query in [LogRows.unclaimedPlaces, Queries.newestQuarantined] {
      let steps = try connection.plan(of: query)
      #expect(!steps.contains { $0.hasPrefix("SCAN") || $0.contains("TEMP B-TREE") }, "\(steps)")
    }
  }

  /// Protects: a cache that is cleared, and a conversation that goes, leave nothing of the log.
  @Test func whatIsClearedIsGone() throws {
    let fixture = try fixture(.file)
    let cid = try fixture.conversation()
    let shape = LogShape(
      ranges: [LogRange(low: 5, high: 5, connection: 1)], facts: LogFacts())
    func fill() throws {
      try fixture.write { tx throws(StoreFailure) in
        var rows = LogRows(tx, cid)
        try rows.put(LogRow(entry: LogEntry(id: bytes("a")), place: 5, stored: 0, received: 0))
        try LogRanges(tx).save(shape, replacing: LogShape(), in: cid)
      }
    }
    func isEmpty() throws -> Bool {
      try fixture.write { tx throws(StoreFailure) in
        let shape = try LogRanges(tx).load(cid)
        return try LogRows(tx, cid).all.isEmpty && shape == LogShape()
      }
    }
    try fill()
    #expect(try !isEmpty())
    try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
    #expect(try isEmpty())
    try fill()
    try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(cid) }
    #expect(try isEmpty())
  }
}

extension MemoryLogTable {
  fileprivate func rows(_ low: Place, _ high: Place) -> [LogRow] {
    low <= high ? rows(from: low, through: high) : []
  }
}
