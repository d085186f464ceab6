/// A log told by hand: pages, pushes, and what is known after them, in a line of text.
import LogSupport
import Timeline

struct LogScript {
  var book: LogBook<MemoryLogTable>

  init(
    _ fault: LogFault? = nil, profile: LogProfile = LogProfile(), spacing: LogSpacing = .normal
  ) {
    book = LogBook(table: MemoryLogTable(), profile: profile, spacing: spacing)
    book.planted = fault
    book.connected()
  }

  static func entry(
    _ id: String, _ change: LogChange.Kind? = nil, of target: String = "", at time: Int64? = nil,
    deleted: Bool = false, edited: LogEditedInPlace = .no, says content: String? = nil,
    by user: String = ""
  ) -> LogEntry {
    LogEntry(
      id: Array(id.utf8), sender: Array(user.utf8),
      change: change.map {
        LogChange($0, of: target.isEmpty ? nil : Array(target.utf8), by: Array(user.utf8))
      },
      timeUs: time, isDeleted: deleted, edited: edited, content: Array((content ?? id).utf8))
  }

  static func entries(_ ids: String) -> [LogEntry] {
    ids.split(separator: " ").map { entry(String($0)) }
  }

  /// The token that stands at an end of the range that holds an entry.
  func token(_ side: LogNote.Side, of id: String) -> LogToken {
    let row = book.table.row(Array(id.utf8))
    let range = row.flatMap { book.range(holding: $0.place) }.map { book.ranges[$0] }
    let token = side == .above ? range?.upper.first : range?.lower.first
    return token ?? LogToken(bytes: [], id: nil, connection: 0, epoch: nil)
  }

  @discardableResult
  mutating func page(
    _ place: LogAsk.Place, _ entries: [LogEntry], before: String?, after: String = "t",
    present: Bool = false, gap: Bool = false, epoch: String? = nil, carried: LogClaim? = nil
  ) throws -> LogOutcome {
    try answer(
      book.ask(place, carried: carried), entries, before: before, after: after, present: present,
      gap: gap, epoch: epoch)
  }

  @discardableResult
  mutating func answer(
    _ ask: LogAsk, _ entries: [LogEntry], before: String?, after: String = "t",
    present: Bool = false, gap: Bool = false, epoch: String? = nil
  ) throws -> LogOutcome {
    let page = LogPage(
      entries: entries, before: before.map { Array($0.utf8) }, after: Array(after.utf8),
      present: present, gap: gap, epoch: epoch.map { Array($0.utf8) })
    return try book.take(page, of: ask)
  }

  mutating func push(_ entry: LogEntry, behind previous: String? = nil) throws {
    try book.take(LogPush(entries: [entry], previous: previous.map { Array($0.utf8) }))
  }

  func says(_ id: String) throws -> String? {
    try book.state(of: Array(id.utf8)).map { state in
      state.isDeleted ? "-" : String(decoding: state.content, as: UTF8.self)
    }
  }

  /// Each range in brackets, `|` where it starts the log, `>` where it reached the present, `~`
  /// where it claims nothing; `?` behind an entry that is to be read again.
  var shape: String {
    book.ranges.map { range in
      let rows = book.table.rows(from: range.low, through: range.high)
      let ids = rows.map { String(decoding: $0.id, as: UTF8.self) + ($0.isClaimed ? "" : "?") }
      return (range.isUnverified ? "~" : "") + (range.start == nil ? "" : "|") + "["
        + ids.joined(separator: " ") + "]" + (range.present == nil ? "" : ">")
    }.joined(separator: " ")
  }
}

extension LogBook {
  /// Takes out up to so many entries of the lowest range, the older ones first. Gives how many.
  mutating func purgeLowest(_ count: Int) throws(Table.Failure) -> Int {
    guard let lowest = ranges.first else { return 0 }
    var gone = 0
    _ = try purge(from: lowest.low, limit: count) { row in
      guard row.place <= lowest.high else { return .ends }
      gone += 1
      return .goes
    }
    return gone
  }
}
