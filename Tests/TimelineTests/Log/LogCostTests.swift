/// What an input of a log costs: in entries that are read, not in time.
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

  func rows(from low: Int64, through high: Int64) -> [LogRow] {
    counted(rows.rows(from: low, through: high))
  }

  func count(from low: Int64, through high: Int64) -> Int {
    counted(rows.rows(from: low, through: high)).count
  }

  func first(above place: Int64, through high: Int64) -> LogRow? {
    counted(rows.first(above: place, through: high))
  }

  func last(below place: Int64, from low: Int64) -> LogRow? {
    counted(rows.last(below: place, from: low))
  }

  func row(_ distance: Int, above place: Int64, through high: Int64) -> LogRow? {
    counted(rows.row(distance, above: place, through: high))
  }

  func row(_ distance: Int, below place: Int64, from low: Int64) -> LogRow? {
    counted(rows.row(distance, below: place, from: low))
  }

  func changes(of target: [UInt8]) -> [LogRow] { counted(rows.changes(of: target)) }

  func changes(of target: [UInt8], edits: Bool) -> [LogRow] {
    counted(rows.changes(of: target, edits: edits))
  }

  func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Int64, through high: Int64
  ) -> LogRow? {
    counted(rows.lastEdit(of: target, by: user, from: low, through: high))
  }

  func isShown(_ edit: LogRow, in row: LogRow) -> Bool { rows.isShown(edit, in: row) }

  func markedInPlace() -> [LogRow] { counted(rows.markedInPlace()) }

  func unclaimed(above place: Int64) -> LogRow? { counted(rows.unclaimed(above: place)) }

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
      _ = try book.blurred()
      let step = book.takeStep()
      #expect(step.inserted == [entry.id] && step.moved.isEmpty && !step.owesCatchUp)
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
}
