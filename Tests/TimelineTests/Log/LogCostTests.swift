/// What an input of a log costs: in entries that are read, not in time.
import Base
import LogSupport
import Testing
import Timeline

/// A table that counts the entries that it was asked for.
private struct CountedLogTable: LogTable {
  final class Counter { var read = 0 }

  private var rows = MemoryLogTable()
  let counter = Counter()

  private func counted(_ rows: [LogRow]) -> [LogRow] {
    counter.read += 1 + rows.count
    return rows
  }

  private func counted(_ row: LogRow?) -> LogRow? {
    counter.read += 1
    return row
  }

  func row(_ id: [UInt8]) -> LogRow? { counted(rows.row(id)) }

  func rows(from low: Place, through high: Place) -> [LogRow] {
    counted(rows.rows(from: low, through: high))
  }

  func count(from low: Place, through high: Place) -> Int {
    counted(rows.rows(from: low, through: high)).count
  }

  func first(above place: Place, through high: Place) -> LogRow? {
    counted(rows.first(above: place, through: high))
  }

  func last(below place: Place, from low: Place) -> LogRow? {
    counted(rows.last(below: place, from: low))
  }

  func row(_ distance: Int, above place: Place, through high: Place) -> LogRow? {
    counted(rows.row(distance, above: place, through: high))
  }

  func row(_ distance: Int, below place: Place, from low: Place) -> LogRow? {
    counted(rows.row(distance, below: place, from: low))
  }

  func hasChanges(of target: [UInt8]) -> Bool {
    counter.read += 1
    return rows.hasChanges(of: target)
  }

  func lastChange(
    of target: [UInt8], _ slot: LogSlot?, from low: Place, through high: Place
  ) -> LogRow? {
    counted(rows.lastChange(of: target, slot, from: low, through: high))
  }

  func reactions(
    of target: [UInt8], by user: [UInt8], from low: Place, through high: Place, limit: Int
  ) -> [LogRow] {
    counted(rows.reactions(of: target, by: user, from: low, through: high, limit: limit))
  }

  func reactions(of target: [UInt8], limit: Int) -> [LogReaction] {
    let found = rows.reactions(of: target, limit: limit)
    counter.read += 1 + found.count
    return found
  }

  func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Place, through high: Place
  ) -> LogRow? {
    counted(rows.lastEdit(of: target, by: user, from: low, through: high))
  }

  func isShown(_ edit: LogRow, in row: LogRow) -> Bool { rows.isShown(edit, in: row) }

  func markedInPlace(from low: Place, through high: Place) -> [LogRow] {
    counted(rows.markedInPlace(from: low, through: high))
  }

  func edited(received: Range<UInt64>) -> [LogRow] { counted(rows.edited(received: received)) }

  func lastWithoutTarget(isClaimed: Bool) -> Place? {
    counter.read += 1
    return rows.lastWithoutTarget(isClaimed: isClaimed)
  }

  func unclaimed(above place: Place) -> LogRow? { counted(rows.unclaimed(above: place)) }

  mutating func put(_ row: LogRow) { rows.put(row) }

  mutating func remove(_ id: [UInt8]) { rows.remove(id) }
}

@Suite struct LogCostTests {
  private static let size = 1_000

  private func entries(_ name: String, _ count: Int) -> [LogEntry] {
    (0..<count).map { LogScript.entry("\(name)\($0)") }
  }

  private func page(
    _ book: inout LogBook<CountedLogTable>, _ place: LogAsk.Place, _ entries: [LogEntry],
    before: String?, present: Bool = false
  ) throws {
    let page = LogPage(
      entries: entries, before: before.map { Array($0.utf8) }, after: Array("t".utf8),
      present: present)
    _ = try book.take(page, of: book.ask(place))
  }

  /// Many entries that start the log, and, with a gap, some that reached the present.
  private func book(
    _ old: [LogEntry], isJoined: Bool = false
  ) throws -> LogBook<CountedLogTable> {
    var book = LogBook(table: CountedLogTable(), profile: LogProfile())
    book.connected()
    try page(&book, .newest, old, before: nil, present: true)
    if !isJoined { try page(&book, .newest, entries("n", 10), before: "b", present: true) }
    _ = book.takeStep()
    #expect(book.ranges.count == (isJoined ? 1 : 2))
    return book
  }

  /// Takes pushes, each behind the one before; the most that one of them has read and touched.
  private func pushes(
    _ book: inout LogBook<CountedLogTable>, behind first: String
  ) throws -> (read: Int, touched: Int) {
    var previous = Array(first.utf8)
    var most = (read: 0, touched: 0)
    for entry in entries("p", 10) {
      let before = book.table.counter.read
      try book.take(LogPush(entries: [entry], previous: previous))
      _ = try book.untrustedBelow()
      let step = book.takeStep()
      #expect(step.inserted == [entry.id] && step.moved.isEmpty && !step.needsCatchUp)
      most.read = max(most.read, book.table.counter.read - before)
      most.touched = max(most.touched, Set(step.touched).count)
      previous = entry.id
    }
    return most
  }

  /// Protects: a push costs what it brings, however much is stored beside it and however much of
  /// that is shown as deleted or edited.
  @Test(arguments: [true, false], [false, true]) func aPushCostsWhatItBrings(
    _ isJoined: Bool, _ isMarked: Bool
  ) throws {
    var old = entries("m", Self.size)
    if isMarked {
      for index in old.indices {
        if index % 2 == 0 { old[index].isDeleted = true } else { old[index].edited = .unnamed }
      }
    }
    var book = try book(old, isJoined: isJoined)
    let most = try pushes(&book, behind: isJoined ? "m\(Self.size - 1)" : "n9")
    #expect(most.read <= 40 && most.touched == 1)
  }

  /// Protects: so does each page on the way down to what is stored.
  @Test func aPageOnTheWayDownCostsWhatItBrings() throws {
    var old = entries("m", Self.size)
    for index in old.indices { old[index].edited = .unnamed }
    var book = try book(old)
    for round in 0..<5 {
      let token = try #require(book.newest.flatMap { book.ranges[$0].lower.first })
      let before = book.table.counter.read
      try page(&book, .before(token), entries("d\(round)-", 10), before: "b\(round)")
      #expect(book.takeStep().touched.count < 100)
      #expect(book.table.counter.read - before <= 300)
    }
    #expect(book.ranges.count == 2)
  }

  /// Protects: a catch-up looks at what is shown as edited, and takes up again only what its claim
  /// decides on.
  @Test func aCatchUpTouchesWhatItDecidesOn() throws {
    var old = entries("m", Self.size)
    for index in old.indices {
      if index % 2 == 0 { old[index].isDeleted = true } else { old[index].edited = .unnamed }
    }
    var book = try book(old, isJoined: true)
    for round in 0..<3 {
      let token = try #require(book.ranges[0].upper.first)
      try page(&book, .after(token), entries("r\(round)-", 2), before: "b", present: true)
      // What is shown as edited has no entry of its own: the first claim after it says so.
      #expect(Set(book.takeStep().touched).count == (round == 0 ? Self.size / 2 : 0) + 2)
    }
  }

  // MARK: Many changes of one message

  private func reaction(
    _ number: Int, of target: String, _ kind: LogChange.Kind = .react([1])
  ) -> LogEntry {
    LogEntry(
      id: Array("r\(number)".utf8),
      change: LogChange(kind, of: Array(target.utf8), by: Array("u\(number)".utf8)))
  }

  /// Protects: of a message with any number of reactions one more costs what that user did, and so
  /// does what comes right behind the message.
  @Test(arguments: [100, 2_000]) func oneMoreReactionCostsItself(_ count: Int) throws {
    var book = try book(entries("m", 10))
    let old = (0..<count).map { reaction($0, of: "n9") }
    try book.take(LogPush(entries: old, previous: Array("n9".utf8)))
    _ = book.takeStep()
    for number in count..<count + 5 {
      let before = book.table.counter.read
      try book.take(
        LogPush(
          entries: [reaction(number, of: "n9")], previous: Array("r\(number - 1)".utf8)))
      let step = book.takeStep()
      #expect(step.reacted == [Array("n9".utf8): [Array("u\(number)".utf8)]])
      #expect(
        try book.reactions(of: Array("n9".utf8), by: Array("u\(number)".utf8)) == [[1]])
      _ = try book.state(of: Array("n9".utf8), withReactions: false)
      #expect(book.table.counter.read - before <= 60)
    }
  }

  /// Protects: so it is where the message that has them is shown again.
  @Test func aPageThatShowsItAgainCostsWhatItBrings() throws {
    var book = try book(entries("m", 10))
    let old = (0..<2_000).map { reaction($0, of: "m4") }
    try book.take(LogPush(entries: old, previous: Array("n9".utf8)))
    _ = book.takeStep()
    let before = book.table.counter.read
    try page(&book, .around(Array("m4".utf8)), entries("m", 10), before: nil)
    #expect(book.table.counter.read - before <= 300)
  }

  /// Protects: however often a change was taken back and given again, a few of that are looked at.
  @Test(arguments: [LogSlot.deletion, .pin, .content, .reactions(of: Array("u".utf8))])
  func whatWasTakenBackOftenIsLookedAtSeldom(_ slot: LogSlot) throws {
    var book = try book(entries("m", 10))
    var all: [LogEntry] = []
    for number in 0..<1_000 {
      let kind: LogChange.Kind =
        switch slot {
        case .deletion: .delete
        case .pin: .pin
        case .content: .edit
        default: .react([1])
        }
      let id = Array("x\(number)".utf8)
      // Of edits those of the message's sender count, who is nobody here.
      let user = Array((slot == .content ? "" : "u").utf8)
      all.append(LogEntry(id: id, change: LogChange(kind, of: Array("n9".utf8), by: user)))
      all.append(
        LogEntry(
          id: Array("y\(number)".utf8), change: LogChange(.delete, of: id, by: Array("u".utf8))))
    }
    try book.take(LogPush(entries: all, previous: Array("n9".utf8)))
    let before = book.table.counter.read
    let state = try #require(try book.state(of: Array("n9".utf8), withReactions: false))
    #expect(!state.isDeleted && !state.isPinned && !state.isEdited)
    #expect(try book.reactions(of: Array("n9".utf8), by: Array("u".utf8)).isEmpty)
    #expect(book.table.counter.read - before <= 600)
  }

  // MARK: Many ranges

  private static func cut(_ entries: [LogEntry]) -> LogPage {
    var page = LogPage(entries: entries, before: nil, after: nil)
    page.isCutBelow = true
    return page
  }

  /// Protects: what stands apart is bounded, and so is what each input looks at; nothing of it is
  /// lost or claimed.
  @Test func pushesThatStandApartAreBounded() throws {
    var book = try book(entries("m", 10))
    var most = 0
    let pushed = 1_000
    for number in 0..<pushed {
      let before = book.table.counter.read
      try book.take(LogPush(entries: [LogScript.entry("p\(number)", at: Int64(number))]))
      _ = book.takeStep()
      most = max(most, book.table.counter.read - before)
    }
    #expect(book.ranges.count == Limits.logRangesMax)
    #expect(most <= 100)
    let rows = book.table.rows(from: .min, through: .max)
    #expect(rows.count == pushed + 20)
    #expect(rows.suffix(pushed).map(\.id) == (0..<pushed).map { Array("p\($0)".utf8) })
    let apart = book.ranges.filter(\.isByTime)
    #expect(apart.count == 1 && book.ranges[0].start != nil && book.newest == 1)
  }

  /// Protects: the parts between the holes of an answer cost what they bring, and stand in its
  /// order whatever their times say.
  @Test(arguments: [40, 400]) func partsBetweenHolesCostThemselves(_ count: Int) throws {
    var book = try book(entries("m", 10))
    let before = book.table.counter.read
    var below: [UInt8]?
    for number in 0..<count {
      let entry = LogScript.entry("h\(number)", at: Int64(count - number))
      let page = Self.cut([entry])
      _ = try book.take(page, of: book.ask(.around(entry.id)), behind: below)
      below = entry.id
    }
    #expect(book.table.counter.read - before <= 60 * count)
    let rows = book.table.rows(from: .min, through: .max).filter { $0.id.first == 0x68 }
    #expect(rows.map(\.id) == (0..<count).map { Array("h\($0)".utf8) })
    #expect(book.ranges.count <= Limits.logRangesMax)
  }

  /// Protects: a change that comes without its place stands above what it changes at once, and
  /// moves nothing however long the range of that is.
  @Test func aChangeThatStandsApartMovesNothing() throws {
    var old = entries("m", Self.size)
    for index in old.indices { old[index].timeUs = 100 }
    var book = try book(old, isJoined: true)
    let before = book.table.counter.read
    try book.take(
      LogPush(entries: [LogScript.entry("x", .edit, of: "m5", at: 1, says: "new")]))
    #expect(book.takeStep().moved.isEmpty)
    #expect(book.table.counter.read - before <= 60)
    #expect(book.ranges.count == 2)
  }

  /// Protects: where room ends between two ranges, few of them go elsewhere.
  @Test func roomIsMadeByAFewRanges() throws {
    var old = entries("m", Self.size)
    for index in old.indices { old[index].timeUs = 1_000_000 }
    var book = try book(old, isJoined: true)
    var moved = 0
    for number in 0..<200 {
      // Each goes right below the one before.
      let entry = LogScript.entry("p\(number)", at: Int64(2_000_000 - number))
      try book.take(LogPush(entries: [entry]))
      moved += book.takeStep().moved.count
    }
    #expect(moved <= 2_000)
  }
}
