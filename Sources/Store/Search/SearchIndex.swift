/// The index of words in the file: its tables, and how it follows the messages.
///
/// Rule protected: what is indexed of a message is what the file says of it, with each commit.
/// Triggers on the table of messages, which are there only while search is on, note each row whose
/// text or place changes, with what was indexed of it; the commit takes these notes up.
internal import Base
internal import Text

struct SearchIndex {
  /// Tokenizer, members and form of the tables: another number builds the index anew.
  static let version: Int64 = 4
  let connection: Connection

  /// Whether search is switched on in the state that the connection sees.
  var isOn: Bool { connection.hasTable("search_state") }

  // MARK: - The tables

  /// Makes the tables, empty, for all messages below a number to be built; 0 for none.
  func create(below number: UInt64) throws(StoreFailure) {
    try connection.registerTokenizer()
    // FTS5 would keep lengths by column and token; `search_row` has what ranking needs of them.
    try connection.execute(
      """
      CREATE TABLE search_state (
        one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        members BLOB NOT NULL,
        first INTEGER NOT NULL,
        below INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        merging INTEGER NOT NULL,
        removed INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE search_row (
        place INTEGER NOT NULL PRIMARY KEY,
        number INTEGER NOT NULL,
        size INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE search_crowd (
        stretch INTEGER NOT NULL PRIMARY KEY,
        tries INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE search_change (
        number INTEGER NOT NULL PRIMARY KEY,
        time INTEGER,
        bytes INTEGER NOT NULL,
        cid INTEGER NOT NULL DEFAULT 0,
        flags INTEGER NOT NULL DEFAULT 0,
        sender BLOB NOT NULL DEFAULT x'',
        payload BLOB NOT NULL DEFAULT x'',
        rest BLOB NOT NULL DEFAULT x'',
        raw BLOB
      ) STRICT;
      CREATE VIRTUAL TABLE search USING fts5(
        text, content='', columnsize=0, tokenize='tideline rows 2 3 4');
      CREATE VIRTUAL TABLE search_word USING fts5vocab(search, row);
      CREATE VIRTUAL TABLE search_token USING fts5vocab(search, instance);
      """)
    // Segments are merged in slices, and inside a commit only where nobody did that for long. Two
    // pages of FTS5 fill one of the file. With pages of 4,050 bytes the index is 15 % larger, and a
    // query of the newest hits, which goes through a page backwards, takes 9 % more instructions
    // without marks, 31 % in one conversation. An index that was made with them keeps those.
    try connection.execute(
      """
      INSERT INTO search (search, rank) VALUES ('automerge', 0);
      INSERT INTO search (search, rank) VALUES ('usermerge', 8);
      INSERT INTO search (search, rank) VALUES ('crisismerge', 64);
      INSERT INTO search (search, rank) VALUES ('pgsz', 2000);
      """)
    try connection.execute(Self.triggers)
    try connection.run(
      """
      INSERT INTO search_state (one, version, members, first, below, tries, merging, removed)
      VALUES (1, ?, ?, ?, ?, 0, ?, 0)
      """,
      Self.version, connection.members.bytes, number, number,
      (number > 0 ? SearchBooks.Merging.due : .none).rawValue)
  }

  /// What a message was when it was indexed is noted once, before its first change, and how many
  /// bytes are to be read for it. The masks are `SearchableRow.notFound` and
  /// `SearchableRow.indexed`.
  private static let triggers: StaticString = """
    CREATE TRIGGER search_inserted AFTER INSERT ON message WHEN new.flags & 1480 = 0 BEGIN
      INSERT OR IGNORE INTO search_change (number, bytes)
      VALUES (new.number, length(new.payload) + ifnull(length(new.raw), 0));
    END;
    CREATE TRIGGER search_updated AFTER UPDATE OF time, sent_us, flags, sender, payload, rest, raw
      ON message
    WHEN old.payload IS NOT new.payload OR old.flags & 1481 IS NOT new.flags & 1481
      OR old.time IS NOT new.time OR old.sent_us IS NOT new.sent_us
      OR old.sender IS NOT new.sender OR old.rest IS NOT new.rest OR old.raw IS NOT new.raw
    BEGIN
      INSERT INTO search_change (number, time, bytes, cid, flags, sender, payload, rest, raw)
      VALUES (old.number, coalesce(old.sent_us, old.time),
        length(old.payload) + ifnull(length(old.raw), 0)
          + length(new.payload) + ifnull(length(new.raw), 0),
        old.cid, old.flags, old.sender, old.payload, old.rest, old.raw)
      ON CONFLICT (number) DO UPDATE SET bytes = max(bytes, excluded.bytes);
    END;
    CREATE TRIGGER search_removed AFTER DELETE ON message BEGIN
      INSERT OR IGNORE INTO search_change (number, time, bytes, cid, flags, sender, payload, rest,
        raw)
      VALUES (old.number, coalesce(old.sent_us, old.time),
        length(old.payload) + ifnull(length(old.raw), 0), old.cid, old.flags, old.sender,
        old.payload, old.rest, old.raw);
    END;
    """

  /// It is no index any more. What is large of it has another name from now on, and goes in slices:
  /// to drop a table is to read each page of it.
  func drop() throws(StoreFailure) {
    try connection.registerTokenizer()
    if hasLeft { try dropLeft() }
    // What only drops tables is no change that SQLite counts, and is not committed.
    try connection.execute(
      """
      DELETE FROM search_state;
      DROP TRIGGER IF EXISTS search_inserted;
      DROP TRIGGER IF EXISTS search_updated;
      DROP TRIGGER IF EXISTS search_removed;
      DROP TABLE IF EXISTS search_word;
      DROP TABLE IF EXISTS search_token;
      DROP TABLE IF EXISTS search_change;
      DROP TABLE IF EXISTS search_crowd;
      DROP TABLE IF EXISTS search_state;
      ALTER TABLE search RENAME TO left_search;
      ALTER TABLE search_row RENAME TO left_row;
      """)
    // There is something to be done.
    connection.memo.indexChanges &+= 1
  }

  /// Whether something of a former index is left in the file.
  var hasLeft: Bool { connection.hasTable("left_row") }

  private func dropLeft() throws(StoreFailure) {
    try connection.execute("DROP TABLE IF EXISTS left_search; DROP TABLE IF EXISTS left_row")
  }

  /// Takes so many pages of a former index out of the file; false where there is none.
  func clearLeft(pages: Int64) throws(StoreFailure) -> Bool {
    guard hasLeft else { return false }
    let rows = pages.multipliedReportingOverflow(by: Self.leftOfPage).partialValue
    let before = connection.totalChanges
    try connection.runNoted(
      "DELETE FROM left_row WHERE place IN (SELECT place FROM left_row ORDER BY place LIMIT ?)",
      rows)
    if connection.totalChanges != before { return true }
    if try clearTables(pages: pages, rows: rows) { return true }
    try connection.registerTokenizer()
    // What only drops tables is no change that SQLite counts, and is not committed.
    try connection.runNoted("INSERT INTO left_row (place, number, size) VALUES (0, 0, 0)")
    try dropLeft()
    return true
  }

  /// The same of what FTS5 keeps for itself. It wants to find its configuration, and the two
  /// records below 11 of which the rest hangs.
  private func clearTables(pages: Int64, rows: Int64) throws(StoreFailure) -> Bool {
    connection.guardShadows(false)
    defer { connection.guardShadows(true) }
    let before = connection.totalChanges
    try connection.runNoted(
      """
      DELETE FROM left_search_data WHERE id IN
        (SELECT id FROM left_search_data WHERE id > 10 ORDER BY id LIMIT ?)
      """, pages)
    if connection.totalChanges != before { return true }
    try connection.runNoted(
      """
      DELETE FROM left_search_idx WHERE (segid, term) IN
        (SELECT segid, term FROM left_search_idx ORDER BY segid, term LIMIT ?)
      """, rows)
    return connection.totalChanges != before
  }

  /// Short rows that lie on one page, about.
  private static let leftOfPage: Int64 = 64

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

  /// Whether another version or one with other members has built it, or the table of messages was
  /// made anew without it.
  private func isStale() throws(StoreFailure) -> Bool {
    let kept = try connection.number("SELECT version FROM search_state WHERE one = 1")
    // Older versions do not say their members.
    if kept != Self.version { return true }
    let names = try connection.number(
      "SELECT 1 FROM search_state WHERE one = 1 AND members = ?", connection.members.bytes)
    let triggers = try connection.number(
      """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'trigger' AND tbl_name = 'message' AND name LIKE 'search%'
      """)
    return names == nil || triggers != 3
  }

  /// How far the build is.
  func state() throws(StoreFailure) -> SearchState? {
    guard isOn else { return nil }
    let books = try SearchBooks(connection)
    let waiting = try connection.number(Queries.searchWaitingCount, 1)
    return SearchState(
      total: books.first, unbuilt: UInt64(clamping: books.below),
      isMerged: books.merging == .none && waiting == 0)
  }
}
