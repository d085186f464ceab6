/// One committed state of the store, to be read from.
///
/// It is valid inside the closure that got it; afterwards every call throws.
/// What is read of conversations, spans, facts and single rows is here; pages of
/// messages and the change feed have files of their own.
internal import Base
package import Timeline

package class ReadTransaction {
  private let owned: Connection
  private var hasEnded = false
  /// Whether SQLite has begun a transaction for it; a write begins its own.
  var hasBegun = false
  /// Whether any send is pending, once a write has asked.
  var somePending: Bool?
  /// The ref that was asked for last and is not known.
  var unseenRef: [UInt8]?
  /// What the first part of a position is.
  let positionKind: Int64
  private var snapshotLSN: UInt64 = 0
  /// What the store counts in the state that is seen, where that is known.
  private(set) var seenCounters: Counters?
  /// What was read of the state that is seen; a write brings it along as it changes.
  private(set) var memo: ReadCache?

  /// A row may take another position without anybody's doing.
  package var positionsMove: Bool { positionKind == LogTables.positionKind }

  /// Positions are the server's numbers.
  var positionsAreNumbers: Bool { positionKind == 1 }

  init(_ connection: Connection, positionKind: Int64) {
    owned = connection
    self.positionKind = positionKind
  }

  /// What a write transaction has counted anew; it overrides this.
  func changedTally(_ cid: Int64) -> UnreadCounters? { nil }

  /// The same for its record.
  func changedRecord(_ cid: Int64) -> ConversationRecord? { nil }

  /// What it has read or written of an operation, as it is now.
  func knownOperation(_ seq: UInt64) throws(StoreFailure) -> OperationRecord? { nil }

  func know(_ operation: OperationRecord) {}

  /// Rows that it has inserted less those that it has removed, not yet in the table.
  func changedCount(_ cid: Int64) -> Int64 { 0 }

  /// The newest refs; a write transaction knows those that it has added.
  func recentRefs() throws(StoreFailure) -> InlineRefs {
    if let seenCounters { return seenCounters.recentRefs }
    let row = try connection.statement("SELECT recent_refs FROM meta WHERE one = 1")
    guard try row.step() else { throw .damaged }
    return InlineRefs(stored: row.bytes(0))
  }

  /// The conversation whose state is not in its own row. What was read of it before counts for the
  /// state that is seen, unless a write has moved on.
  func kept() throws(StoreFailure) -> LastChangedState? {
    if let seenCounters { return seenCounters.kept }
    if let seenKept { return seenKept.state }
    let row = try connection.statement("SELECT kept_state FROM meta WHERE one = 1")
    guard try row.step() else { throw .damaged }
    let state = try LastChangedState(stored: row.bytes(0))
    seenKept = SeenKept(state: state)
    return state
  }

  private struct SeenKept {
    let state: LastChangedState?
  }

  private var seenKept: SeenKept?

  /// The connection, as long as the transaction lasts.
  var connection: Connection {
    get throws(StoreFailure) {
      try mustLast()
      if !hasBegun { try beginReading() }
      return owned
    }
  }

  /// What was read before of the state that is seen, as long as the transaction lasts. Who finds
  /// all that he wants there needs no transaction of SQLite.
  var known: ReadCache? {
    get throws(StoreFailure) {
      try mustLast()
      return memo
    }
  }

  private func mustLast() throws(StoreFailure) {
    if hasEnded { throw .broken("a transaction was used after its end") }
  }

  /// The last read on this connection may not have ended its own.
  private func beginReading() throws(StoreFailure) {
    if owned.isAutocommit { try owned.run("BEGIN") }
    hasBegun = true
  }

  /// Fixes the state that is seen: SQLite does so at the first read. Who knows the newest commit
  /// and lets none happen tells of it, and SQLite is asked only where something is to be read.
  func beginSnapshot(_ counters: Counters?) throws(StoreFailure) {
    seenCounters = counters
    if let counters {
      snapshotLSN = counters.lsn
    } else {
      try beginReading()
      let read = try owned.number("SELECT lsn FROM meta WHERE one = 1")
      snapshotLSN = UInt64(clamping: read ?? 0)
    }
    recall(snapshotLSN)
  }

  /// Uses what was read at a commit that is seen now.
  func recall(_ lsn: UInt64) {
    owned.memo.see(lsn)
    memo = owned.memo
  }

  /// The commit that made the state that is seen; in a write, the one to come.
  package var lsn: UInt64 { snapshotLSN }

  /// Ends without effect.
  func end() {
    hasEnded = true
    owned.rollBack()
  }

  /// Ends after the effect was committed, or where the next read may go on with the same state.
  func endAsItIs() {
    hasEnded = true
  }

  // MARK: Conversations and facts

  package func conversation(_ id: [UInt8]) throws(StoreFailure) -> ConversationRecord? {
    if let kept = try known?.record(named: id) { return kept }
    let connection = try connection
    guard let record = try storedConversation(id, on: connection) else { return nil }
    memo?.remember(record, named: id)
    return record
  }

  private func storedConversation(
    _ id: [UInt8], on connection: Connection
  ) throws(StoreFailure) -> ConversationRecord? {
    let statement = try connection.statement(Queries.conversation, id, 1, 0)
    if try statement.step() { return try conversation(statement) }
    // The name that this user gave it before the server did.
    guard let cid = try connection.number(Queries.alias, id) else { return nil }
    return try conversation(cid: cid)
  }

  package func conversation(cid: Int64) throws(StoreFailure) -> ConversationRecord? {
    let entry = try known?.entry(cid)
    if let changed = changedRecord(cid) { return changed }
    if let kept = entry?.record { return kept }
    let statement = try connection.statement(Queries.conversation, nil as [UInt8]?, cid, cid)
    return try statement.step() ? try conversation(statement) : nil
  }

  /// What a conversation's own row says, which is known from then on.
  func conversation(_ row: borrowing Statement) throws(StoreFailure) -> ConversationRecord {
    let cid = row.int(0)
    let entry = memo?.entry(cid)
    if let entry, entry.tally == nil { try noteCounts(row, from: Self.recordColumns, in: entry) }
    if let changed = changedRecord(cid) { return changed }
    let record = try laid(over: Self.record(row))
    entry?.record = record
    return record
  }

  private func laid(over record: ConversationRecord) throws(StoreFailure) -> ConversationRecord {
    try kept()?.laid(over: record) ?? record
  }

  /// How many columns a record has.
  static let recordColumns = 4 + ConversationRecord.stateColumns

  private static func record(_ row: borrowing Statement) -> ConversationRecord {
    var record = ConversationRecord(cid: row.int(0), id: row.bytes(1))
    record.readState(row, from: 2)
    record.isPending = row.int(2 + ConversationRecord.stateColumns) != 0
    record.deletedLSN = row.uint(3 + ConversationRecord.stateColumns)
    return record
  }

  package func facts() throws(StoreFailure) -> ServerFacts {
    if let kept = try known?.facts { return kept }
    let statement = try connection.statement(
      """
      SELECT server_time, largest_page, overlap_us, epoch, restored_lsn, clock_ahead,
        owes_list
      FROM meta WHERE one = 1
      """)
    guard try statement.step() else { throw .damaged }
    let facts = ServerFacts(statement)
    memo?.facts = facts
    return facts
  }

  // MARK: Spans and quarantined places

  /// The trusted ranges. Stored ones that are not sorted and apart prove
  /// nothing, so they count as none.
  package func spans(_ cid: Int64) throws(StoreFailure) -> SpanSet {
    let entry = try known?.entry(cid)
    if let kept = entry?.spans { return kept }
    let connection = try connection
    let top = try conversation(cid: cid)?.top
    let found = try ranges(cid, kind: .content, on: connection, top: top)
    entry?.spans = found
    return found
  }

  /// Ranges of the content whose deletions are not known any more.
  package func unverified(_ cid: Int64) throws(StoreFailure) -> SpanSet {
    let entry = try known?.entry(cid)
    if let kept = entry?.unverified { return kept }
    let connection = try connection
    let found = try ranges(cid, kind: .unverified, on: connection)
    entry?.unverified = found
    return found
  }

  /// Ranges of the content of which changes may have been missed, whatever the watermark of
  /// changes says.
  package func stale(_ cid: Int64) throws(StoreFailure) -> SpanSet {
    try ranges(cid, kind: .stale, on: connection)
  }

  /// Time groups that pages have shown, and not in which order.
  func untaught(_ cid: Int64) throws(StoreFailure) -> SpanSet {
    let entry = try known?.entry(cid)
    if let kept = entry?.untaught { return kept }
    let connection = try connection
    let found = try ranges(cid, kind: .untaught, on: connection)
    entry?.untaught = found
    return found
  }

  /// From where on messages are new to this device; nil before its first fetch. In a log they stand
  /// above the entry of this id, or all do where that has none.
  package func news(_ cid: Int64) throws(StoreFailure) -> Position? {
    let entry = try known?.entry(cid)
    if let kept = entry?.news { return kept.newest?.low }
    let connection = try connection
    let found = try ranges(cid, kind: .news, on: connection)
    entry?.news = found
    return found.newest?.low
  }

  /// Everything, as one range.
  static let whole = SpanSet(stored: [SpanSet.Span(low: .min, high: .max)]) ?? SpanSet()

  /// What a stored range says. The values are part of the file's format.
  enum SpanKind: Int64 {
    case content = 0
    case unverified = 1
    case stale = 2
    case untaught = 3
    case news = 4

    /// What ranges that make no sense are read as: nothing is proven by them.
    var unknown: SpanSet { self == .content || self == .news ? SpanSet() : ReadTransaction.whole }
  }

  private func ranges(
    _ cid: Int64, kind: SpanKind, on connection: Connection, top: Position? = nil
  ) throws(StoreFailure) -> SpanSet {
    let statement = try connection.statement(Queries.spans, cid, kind.rawValue)
    return set(try Self.ranges(statement), of: kind, top: top)
  }

  /// - Parameter top: where the newest one ends, which is not kept in its row.
  func set(_ ranges: [SpanSet.Span], of kind: SpanKind, top: Position? = nil) -> SpanSet {
    var ranges = ranges
    if let top, let newest = ranges.indices.last { ranges[newest].high = top }
    return SpanSet(stored: ranges) ?? kind.unknown
  }

  /// Where unreadable items were set aside, oldest first; `seen` leaves out the places
  /// of which a part was not shown yet, `after` those that a later commit than that set aside.
  package func quarantined(
    _ cid: Int64, seen: Bool = false, after lsn: Int64 = -1
  ) throws(StoreFailure) -> [SpanSet.Span] {
    let entry = seen && lsn < 0 ? try known?.entry(cid) : nil
    if let kept = entry?.poisoned { return kept }
    guard try someQuarantined(cid) else { return [] }
    let connection = try connection
    let found = try Self.ranges(connection.statement(Queries.quarantined, cid, seen ? 1 : 0, lsn))
    entry?.poisoned = found
    return found
  }

  /// The newest places, as many as spans are kept; the newest first.
  func newestQuarantined(_ cid: Int64) throws(StoreFailure) -> [SpanSet.Span] {
    guard try someQuarantined(cid) else { return [] }
    return try Self.ranges(connection.statement(Queries.newestQuarantined, cid, Limits.spansMax))
  }

  /// The places that reach into `low ..< high`.
  package func quarantined(
    _ cid: Int64, from low: Position, to high: Position
  ) throws(StoreFailure) -> [SpanSet.Span] {
    guard try someQuarantined(cid) else { return [] }
    let statement = try connection.statement(
      Queries.hidden, cid, high.time, high.key, low.time, low.key)
    return try Self.ranges(statement)
  }

  /// Mostly everything can be read, and each page asks.
  func someQuarantined(_ cid: Int64) throws(StoreFailure) -> Bool {
    let entry = try known?.entry(cid)
    if let kept = entry?.someQuarantined { return kept }
    let isSome = try connection.number(Queries.someQuarantined, cid) != nil
    entry?.someQuarantined = isSome
    return isSome
  }

  private static func ranges(
    _ statement: borrowing Statement
  ) throws(StoreFailure) -> [SpanSet.Span] {
    var ranges: [SpanSet.Span] = []
    while try statement.step() { ranges.append(range(statement, from: 0)) }
    return ranges
  }

  static func range(_ row: borrowing Statement, from column: Int32) -> SpanSet.Span {
    SpanSet.Span(
      low: Position(time: row.int(column), key: row.bytes(column + 1)),
      high: Position(time: row.int(column + 2), key: row.bytes(column + 3)))
  }

  // MARK: Who reads more

  /// The change feed, events, entities and refs.
  package var feedReader: FeedReader { FeedReader(rx: self) }

  /// How many messages are unread, and read markers.
  package var unreadReader: UnreadReader { UnreadReader(rx: self) }

  package var searchReader: SearchReader { SearchReader(rx: self) }

  // MARK: Counts

  /// Rows of a conversation between two boundaries, hidden ones and erased placeholders
  /// included. The whole conversation is counted without a scan.
  package func count(
    _ cid: Int64, from low: Position, to high: Position
  ) throws(StoreFailure) -> Int {
    if low == .min, high == .max {
      let change = changedCount(cid)
      if change == 0, let kept = try known?.entry(cid).count { return kept }
      let stored = try connection.number(
        "SELECT message_count FROM conversation WHERE cid = ?", cid)
      let rows = try keptRows(cid)
      let count = Int(clamping: Swift.max(0, (stored ?? 0) &+ rows &+ change))
      if change == 0 { memo?.entry(cid).count = count }
      return count
    }
    let counted = try connection.number(
      Queries.count, cid, low.time, low.key, high.time, high.key)
    return Int(clamping: counted ?? 0)
  }

  /// Rows that a conversation has beyond those its own row says.
  func keptRows(_ cid: Int64) throws(StoreFailure) -> Int64 {
    let kept = try kept()
    return kept?.record.cid == cid ? kept?.rows ?? 0 : 0
  }

  /// In a write, with what the transaction changed.
  func tally(_ cid: Int64) throws(StoreFailure) -> UnreadCounters {
    let cache = try known
    if let changed = changedTally(cid) { return changed }
    if let kept = cache?.entry(cid).tally { return kept }
    let row = try connection.statement(Queries.conversation, nil as [UInt8]?, cid, cid)
    guard try row.step() else { return UnreadCounters() }
    _ = try conversation(row)
    if let tally = memo?.entry(cid).tally { return tally }
    return try storedTally(row, from: Self.recordColumns, of: cid)
  }

  /// Takes what a row counts into what is known: unread messages, and behind them all.
  func noteCounts(
    _ row: borrowing Statement, from column: Int32, in entry: ReadCache.Entry
  ) throws(StoreFailure) {
    entry.tally = try storedTally(row, from: column, of: entry.cid)
    let count = row.int(column + UnreadCounters.columns)
    entry.count = Int(clamping: Swift.max(0, count &+ (try keptRows(entry.cid))))
  }

  private func storedTally(
    _ row: borrowing Statement, from column: Int32, of cid: Int64
  ) throws(StoreFailure) -> UnreadCounters {
    if let kept = try kept(), kept.record.cid == cid { return kept.tally }
    return UnreadCounters(row, from: column)
  }

  package func pendingMarkCount() throws(StoreFailure) -> Int {
    Int(clamping: try connection.number(Queries.pendingMarkCount) ?? 0)
  }

  /// How much the store holds.
  package func counts() throws(StoreFailure) -> StoreCounts {
    let statement = try connection.statement(
      """
      SELECT (SELECT count(*) FROM conversation),
        (SELECT coalesce(sum(message_count), 0) FROM conversation),
        (SELECT count(*) FROM tombstone), (SELECT count(*) FROM quarantine),
        (SELECT count(*) FROM waiting), (SELECT waiting_dropped FROM meta WHERE one = 1)
      """)
    guard try statement.step() else { throw .damaged }
    let kept = try kept()?.rows ?? 0
    return StoreCounts(
      conversations: statement.uint(0), messages: UInt64(clamping: statement.int(1) &+ kept),
      tombstones: statement.uint(2), quarantined: statement.uint(3),
      waiting: statement.uint(4), waitingDropped: statement.uint(5))
  }
}
