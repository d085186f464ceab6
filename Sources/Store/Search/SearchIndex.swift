/// The index of words in the file: its tables, and how it follows the messages.
///
/// Rule protected: what is indexed of a message is what the file says of it, with each commit.
/// Triggers on the table of messages, which are there only while search is on, note each row whose
/// text or place changes, with what was indexed of it; the commit takes these notes up.
internal import Base
internal import Text

struct SearchIndex {
  /// Tokenizer, members and form of the tables: another number builds the index anew.
  static let version: Int64 = 1
  /// Rows that are taken up, and looked at by a build, at a time.
  private static let batch = 256

  let connection: Connection

  /// Whether search is switched on in the state that the connection sees.
  var isOn: Bool { connection.hasTable("search_state") }

  // MARK: - The tables

  /// Makes the tables, empty, for all messages below a number to be built; 0 for none.
  func create(below number: UInt64) throws(StoreFailure) {
    try connection.registerTokenizer()
    // A row is known by its place in the index, and the other way round. Lengths of texts are
    // kept for an order by relevance, which is not there.
    try connection.execute(
      """
      CREATE TABLE search_state (
        one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        first INTEGER NOT NULL,
        below INTEGER NOT NULL,
        merges INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE search_row (
        place INTEGER NOT NULL PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE
      ) STRICT;
      CREATE TABLE search_change (
        number INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL DEFAULT 0,
        flags INTEGER NOT NULL DEFAULT 0,
        sender BLOB NOT NULL DEFAULT x'',
        payload BLOB NOT NULL DEFAULT x'',
        rest BLOB NOT NULL DEFAULT x''
      ) STRICT;
      CREATE VIRTUAL TABLE search USING fts5(
        text, content='', columnsize=0, tokenize='tideline rows 2 3 4');
      CREATE VIRTUAL TABLE search_word USING fts5vocab(search, row);
      """)
    try connection.execute(Self.triggers)
    try connection.run(
      "INSERT INTO search_state (one, version, first, below, merges) VALUES (1, ?, ?, ?, ?)",
      Self.version, number, number, number > 0 ? 1 as Int64 : 0)
  }

  /// What a message was when it was indexed is noted once, before its first change. The flags are
  /// those that hide a row, and `mine`.
  private static let triggers: StaticString = """
    CREATE TRIGGER search_inserted AFTER INSERT ON message WHEN new.flags & 1480 = 0 BEGIN
      INSERT OR IGNORE INTO search_change (number) VALUES (new.number);
    END;
    CREATE TRIGGER search_updated AFTER UPDATE OF time, sent_us, flags, sender, payload, rest
      ON message
    WHEN old.payload IS NOT new.payload OR old.flags & 1481 IS NOT new.flags & 1481
      OR old.time IS NOT new.time OR old.sent_us IS NOT new.sent_us
      OR old.sender IS NOT new.sender OR old.rest IS NOT new.rest
    BEGIN
      INSERT OR IGNORE INTO search_change (number, cid, flags, sender, payload, rest)
      VALUES (old.number, old.cid, old.flags, old.sender, old.payload, old.rest);
    END;
    CREATE TRIGGER search_removed AFTER DELETE ON message BEGIN
      INSERT OR IGNORE INTO search_change (number, cid, flags, sender, payload, rest)
      VALUES (old.number, old.cid, old.flags, old.sender, old.payload, old.rest);
    END;
    """

  /// Takes all of it out of the file.
  func drop() throws(StoreFailure) {
    try connection.registerTokenizer()
    // What only drops tables is no change that SQLite counts, and is not committed.
    try connection.execute(
      """
      DELETE FROM search_state;
      DROP TRIGGER IF EXISTS search_inserted;
      DROP TRIGGER IF EXISTS search_updated;
      DROP TRIGGER IF EXISTS search_removed;
      DROP TABLE IF EXISTS search_word;
      DROP TABLE IF EXISTS search;
      DROP TABLE IF EXISTS search_change;
      DROP TABLE IF EXISTS search_row;
      DROP TABLE IF EXISTS search_state;
      """)
  }

  /// Begins anew, with all messages to be built that are there.
  func renew() throws(StoreFailure) {
    try drop()
    let last = try connection.number("SELECT max(number) FROM message")
    try create(below: last.map { UInt64(clamping: $0 &+ 1) } ?? 0)
  }

  /// What another version has built is built anew, at an opening.
  func renewIfStale() throws(StoreFailure) {
    guard isOn, try isStale() else { return }
    connection.rollBack()
    do throws(StoreFailure) {
      try connection.execute("BEGIN IMMEDIATE")
      try renew()
      try connection.execute("COMMIT")
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// Whether another version has built it, or the table of messages was made anew without it.
  private func isStale() throws(StoreFailure) -> Bool {
    let kept = try connection.number("SELECT version FROM search_state WHERE one = 1")
    let triggers = try connection.number(
      """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'trigger' AND tbl_name = 'message' AND name LIKE 'search%'
      """)
    return kept != Self.version || triggers != 3
  }

  /// How far the build is.
  func state() throws(StoreFailure) -> SearchState? {
    guard isOn else { return nil }
    let row = try connection.statement(Queries.searchState)
    guard try row.step() else { throw .damaged }
    return SearchState(total: row.uint(0), unbuilt: row.uint(1), isMerged: row.int(2) == 0)
  }

  // MARK: - What follows the messages

  private struct Change {
    let number: UInt64
    /// Where it is in the index, and what was put in there.
    let place: Int64?
    let before: [UInt8]
    /// What is to be there.
    let time: Int64
    let after: [UInt8]
  }

  /// Takes up what changed since the last commit.
  func takeUp() throws(StoreFailure) {
    while true {
      let changes = try changes()
      guard let last = changes.last else { return }
      try connection.registerTokenizer()
      // Something changed messages that told nobody; what is indexed of them is not known then.
      if changes.contains(where: { $0.place != nil && $0.before.isEmpty }) { return try renew() }
      for change in changes { try take(change) }
      try connection.runNoted("DELETE FROM search_change WHERE number <= ?", last.number)
    }
  }

  private func changes() throws(StoreFailure) -> [Change] {
    let row = try connection.statement(Queries.searchChanges, Self.batch)
    var result: [Change] = []
    while try row.step() {
      let isThere = !row.isNull(7)
      result.append(
        Change(
          number: row.uint(0), place: row.optionalInt(1),
          before: row.isNull(1) ? [] : SearchableRow(row, from: 2).document,
          time: row.int(12), after: isThere ? SearchableRow(row, from: 7).document : []))
    }
    return result
  }

  private func take(_ change: Change) throws(StoreFailure) {
    if let place = change.place {
      if change.before == change.after, SearchPlace.isOf(change.time, place) { return }
      try connection.runNoted(
        "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, CAST(? AS TEXT))", place,
        change.before)
      try connection.runNoted("DELETE FROM search_row WHERE place = ?", place)
    }
    if !change.after.isEmpty { try insert(change.number, at: change.time, change.after) }
  }

  private func insert(
    _ number: UInt64, at time: Int64, _ document: [UInt8]
  ) throws(StoreFailure) {
    let place = try freePlace(at: time)
    try connection.runNoted(
      "INSERT INTO search (rowid, text) VALUES (?, CAST(? AS TEXT))", place, document)
    try connection.runNoted("INSERT INTO search_row (place, number) VALUES (?, ?)", place, number)
  }

  /// The next place of a millisecond; where it is full, the next one after it.
  private func freePlace(at time: Int64) throws(StoreFailure) -> Int64 {
    let all = SearchPlace.all(at: time)
    guard let last = try connection.number(Queries.searchLast, all.lowerBound, all.upperBound)
    else { return all.lowerBound }
    if last < all.upperBound { return last &+ 1 }
    let before = try connection.number(Queries.searchFull, all.lowerBound)
    guard let before, before < .max else { throw .full }
    return before &+ 1
  }

  // MARK: - Building

  /// Builds on until it is asked to stop, at least a little; whether all is built and merged.
  func build(_ isOver: () -> Bool) throws(StoreFailure) -> Bool {
    guard isOn else { return true }
    try connection.registerTokenizer()
    let row = try connection.statement("SELECT below, merges FROM search_state WHERE one = 1")
    guard try row.step() else { throw .damaged }
    var below = row.int(0)
    let merges = row.int(1) != 0
    _ = consume row
    while below > 0 {
      below = try buildBatch(below: below)
      try connection.runNoted("UPDATE search_state SET below = ? WHERE one = 1", below)
      if isOver() { return false }
    }
    if merges { return try merge(isOver) }
    return true
  }

  /// Puts messages below a number in, newest first; below which number none was looked at.
  private func buildBatch(below number: Int64) throws(StoreFailure) -> Int64 {
    let row = try connection.statement(Queries.searchBuild, number, Self.batch)
    var found: [Change] = []
    var next: Int64 = 0
    var count = 0
    while try row.step() {
      next = row.int(0)
      count &+= 1
      if !row.isNull(1) { continue }
      found.append(
        Change(
          number: row.uint(0), place: nil, before: [], time: row.int(7),
          after: SearchableRow(row, from: 2).document))
    }
    _ = consume row
    for change in found { try take(change) }
    return count < Self.batch ? 0 : next
  }

  /// Pages that one step of a merge writes.
  private static let mergePages: Int64 = 16

  /// Merges what was built to one segment.
  private func merge(_ isOver: () -> Bool) throws(StoreFailure) -> Bool {
    // A negative number begins, the same positive goes on.
    var pages = Self.mergePages &* -1
    if try connection.number("SELECT merges FROM search_state WHERE one = 1") != 1 {
      pages = Self.mergePages
    }
    while true {
      let before = connection.totalChanges
      try connection.runNoted("INSERT INTO search (search, rank) VALUES ('merge', ?)", pages)
      // As the manual of FTS5 says, two or more were written where there was something to do.
      let isDone = connection.totalChanges &- before < 2
      pages = Self.mergePages
      try connection.runNoted(
        "UPDATE search_state SET merges = ? WHERE one = 1", isDone ? 0 : 2)
      if isDone { return true }
      if isOver() { return false }
    }
  }
}

/// What is done with the index as a whole, inside of a transaction.
package struct SearchControl {
  private let index: SearchIndex
  private let numbers: UInt64

  package init(_ transaction: WriteTransaction) throws(StoreFailure) {
    index = SearchIndex(connection: try transaction.connection)
    numbers = transaction.counters.lastNumber
  }

  /// Switches search on; what is stored is then built in steps. False where it was on.
  package func switchOn() throws(StoreFailure) -> Bool {
    if index.isOn { return false }
    try index.create(below: numbers > 0 ? numbers &+ 1 : 0)
    return true
  }

  /// Switches search off and takes the index out of the file. False where it was off.
  package func switchOff() throws(StoreFailure) -> Bool {
    guard index.isOn else { return false }
    try index.drop()
    return true
  }

  /// Throws the index away and begins to build it anew.
  package func rebuild() throws(StoreFailure) {
    if index.isOn { try index.renew() }
  }

  /// Builds on until it is asked to stop, at least a little; whether all is done.
  package func build(_ isOver: () -> Bool) throws(StoreFailure) -> Bool {
    try index.build(isOver)
  }
}

extension ReadTransaction {
  /// How far the build is; nil where search is not switched on.
  package func searchState() throws(StoreFailure) -> SearchState? {
    try SearchIndex(connection: try connection).state()
  }
}

/// Rows of the index stand in the order of time: milliseconds and a counter in one number.
enum SearchPlace {
  private static let bits: Int64 = 20
  private static let reach: Int64 = 1 << 43

  /// All places of the millisecond of a time in microseconds.
  static func all(at timeUs: Int64) -> ClosedRange<Int64> {
    let (quotient, remainder) = timeUs.quotientAndRemainder(dividingBy: 1_000)
    let floor = remainder < 0 ? quotient &- 1 : quotient
    let milliseconds = Swift.min(Swift.max(floor, reach &* -1), reach &- 1)
    let first = milliseconds &<< bits
    return first...(first | ((1 &<< bits) &- 1))
  }

  static func isOf(_ timeUs: Int64, _ place: Int64) -> Bool { all(at: timeUs).contains(place) }

  /// The first place with the same milliseconds.
  static func first(_ place: Int64) -> Int64 { (place &>> bits) &<< bits }
}
