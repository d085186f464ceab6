/// What is kept of a conversation's log beside its entries: ranges, the tokens at their ends, and
/// facts.
///
/// Rule protected: they are saved in the transaction that changed the entries, and what is read
/// makes sense to the log: ranges are in order and apart, and an entry stands at each of their
/// ends.
internal import Base
package import Timeline

/// The log gives places of `0...1 << 62`, and in the midst of an input some beside them. With these
/// it reckons without overflow.
let logPlaces: ClosedRange<Place> = -0x2000_0000_0000_0000...0x6000_0000_0000_0000

/// Ranges and facts, as they are stored.
package struct LogShape: Equatable, Sendable {
  package var ranges: [LogRange] = []
  package var facts = LogFacts()

  package init() {}

  package init(ranges: [LogRange], facts: LogFacts) {
    self.ranges = ranges
    self.facts = facts
  }
}

package struct LogRanges {
  let tx: WriteTransaction

  package init(_ tx: WriteTransaction) { self.tx = tx }

  package func load(_ cid: Int64) throws(StoreFailure) -> LogShape {
    var shape = LogShape()
    if let facts = try facts(cid) { shape.facts = facts }
    shape.facts.news = try tx.news(cid).map { $0 == .min ? [] : $0.id }
    shape.ranges = try ranges(cid)
    try hangTokens(on: &shape.ranges, cid)
    try check(shape.ranges)
    return shape
  }

  private func check(_ ranges: [LogRange]) throws(StoreFailure) {
    var last: Place = -2
    for range in ranges {
      guard range.low <= range.high, logPlaces.contains(range.low),
        logPlaces.contains(range.high), range.low > last.saturating(plus: 1)
      else { throw .damaged }
      last = range.high
    }
  }

  /// Nothing is known of a conversation's log any more, its entries included.
  package func deleteAll(_ cid: Int64) throws(StoreFailure) {
    try LogTables.remove(cid, try tx.connection)
  }

  /// Writes what differs.
  package func save(
    _ shape: LogShape, replacing old: LogShape, in cid: Int64
  ) throws(StoreFailure) {
    if shape == old { return }
    if shape.facts != old.facts { try save(shape.facts, cid) }
    if shape.ranges == old.ranges { return }
    var known: [Place: LogRange] = [:]
    for range in old.ranges { known[range.low] = range }
    var kept: Set<Place> = []
    for range in shape.ranges where known[range.low] == range { kept.insert(range.low) }
    for range in old.ranges where !kept.contains(range.low) { try drop(range.low, cid) }
    for range in shape.ranges where !kept.contains(range.low) { try insert(range, cid) }
  }

  // MARK: Facts

  private func facts(_ cid: Int64) throws(StoreFailure) -> LogFacts? {
    let row = try tx.connection.statement(
      """
      SELECT issued, connection, epoch, empty_request, empty_connection, contradictions, step_us
      FROM log_fact WHERE cid = ?
      """, cid)
    guard try row.step() else { return nil }
    var facts = LogFacts()
    facts.issued = row.uint(0)
    facts.connection = row.uint(1)
    facts.epoch = row.optionalBytes(2)
    facts.empty = Self.claim(row, at: 3)
    facts.contradictions = row.uint(5)
    facts.stepUs = max(0, row.int(6))
    return facts
  }

  private func save(_ facts: LogFacts, _ cid: Int64) throws(StoreFailure) {
    try tx.save(news: facts.news.map { $0.isEmpty ? .min : Position(time: 0, id: $0) }, in: cid)
    try tx.connection.runNoted(
      """
      INSERT OR REPLACE INTO log_fact (cid, issued, connection, epoch, empty_request,
        empty_connection, contradictions, step_us)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, cid, facts.issued, facts.connection, facts.epoch, facts.empty?.request,
      facts.empty?.connection, facts.contradictions, facts.stepUs)
  }

  private static func claim(_ row: borrowing Statement, at column: Int32) -> LogClaim? {
    guard !row.isNull(column) else { return nil }
    return LogClaim(request: row.uint(column), connection: row.uint(column &+ 1))
  }

  // MARK: Ranges

  static let isUnverified: Int64 = 1
  private static let isByTime: Int64 = 2

  private func ranges(_ cid: Int64) throws(StoreFailure) -> [LogRange] {
    let row = try tx.connection.statement(
      """
      SELECT low, high, flags, connection, start_request, start_connection, present_request,
        present_connection, note_side, note_id, note_issued
      FROM log_range WHERE cid = ? ORDER BY low
      """, cid)
    var ranges: [LogRange] = []
    while try row.step() {
      var range = LogRange(low: row.place(0), high: row.place(1), connection: row.uint(3))
      range.isUnverified = row.int(2) & Self.isUnverified != 0
      range.isByTime = row.int(2) & Self.isByTime != 0
      range.start = Self.claim(row, at: 4)
      range.present = Self.claim(row, at: 6)
      if let side = row.optionalInt(8) {
        range.note = LogNote(
          side == 0 ? .above : .below, of: row.bytes(9), issued: row.uint(10))
      }
      ranges.append(range)
    }
    return ranges
  }

  private func insert(_ range: LogRange, _ cid: Int64) throws(StoreFailure) {
    try tx.connection.runNoted(
      """
      INSERT INTO log_range (cid, low, high, flags, connection, start_request, start_connection,
        present_request, present_connection, note_side, note_id, note_issued)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ) { row in
      row.bind(cid)
      row.bind(range.low.value)
      row.bind(range.high.value)
      row.bind(
        (range.isUnverified ? Self.isUnverified : 0) | (range.isByTime ? Self.isByTime : 0))
      row.bind(range.connection)
      row.bind(range.start?.request)
      row.bind(range.start?.connection)
      row.bind(range.present?.request)
      row.bind(range.present?.connection)
      row.bind(range.note.map { $0.side == .above ? 0 : 1 as Int64 })
      row.bind(range.note?.id)
      row.bind(range.note?.issued)
    }
    try insert(range.lower, side: 0, of: range, cid)
    try insert(range.upper, side: 1, of: range, cid)
  }

  private func drop(_ low: Place, _ cid: Int64) throws(StoreFailure) {
    try tx.connection.runNoted("DELETE FROM log_range WHERE cid = ? AND low = ?", cid, low)
    try tx.connection.runNoted("DELETE FROM log_token WHERE cid = ? AND low = ?", cid, low)
  }

  // MARK: Tokens

  private func insert(
    _ tokens: [LogToken], side: Int64, of range: LogRange, _ cid: Int64
  ) throws(StoreFailure) {
    for (seq, token) in tokens.enumerated() {
      try tx.connection.runNoted(
        """
        INSERT INTO log_token (cid, low, side, seq, token, id, connection, epoch)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """, cid, range.low, side, seq, token.bytes, token.id, token.connection, token.epoch)
    }
  }

  private func hangTokens(
    on ranges: inout [LogRange], _ cid: Int64
  ) throws(StoreFailure) {
    let row = try tx.connection.statement(
      """
      SELECT low, side, token, id, connection, epoch FROM log_token WHERE cid = ?
      ORDER BY low, side, seq
      """, cid)
    var index = 0
    while try row.step() {
      while index < ranges.count, ranges[index].low < row.place(0) { index &+= 1 }
      guard index < ranges.count, ranges[index].low == row.place(0) else { throw .damaged }
      let token = LogToken(
        bytes: row.bytes(2), id: row.optionalBytes(3), connection: row.uint(4),
        epoch: row.optionalBytes(5))
      if row.int(1) == 0 {
        ranges[index].lower.append(token)
      } else {
        ranges[index].upper.append(token)
      }
    }
  }
}
