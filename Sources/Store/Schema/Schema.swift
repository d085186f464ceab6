/// The tables, and how a file comes to the newest form of them.
///
/// `application_id` says that the file is ours, `user_version` which form it
/// has; the cache has a form of its own, for another one is made anew and not
/// converted. A migration is a numbered function that never changes once released. A
/// newer or a foreign file is refused before anything is written to it.
enum Schema {
  /// "TIDL".
  static let applicationID: Int64 = 0x5449_444C

  /// The newest form that this version reads and writes.
  static let version: Int64 = 17

  /// The form of the tables that hold what the server said.
  static let cacheForm: Int64 = 3

  /// Brings an open writer to the newest form, in one transaction, and gives what its one row
  /// says. A file that has that form is only read; the next read goes on where this one ends.
  static func prepare(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) -> Meta {
    do throws(StoreFailure) {
      try connection.run("BEGIN")
      if let meta = try newest(connection, binding: binding) { return meta }
      connection.rollBack()
      try convert(connection, binding: binding)
      guard let meta = try Meta.load(connection, binding) else { throw .damaged }
      return meta
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// What a file of the newest form says; nil where it has another one.
  private static func newest(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) -> Meta? {
    guard try connection.number("PRAGMA application_id") == applicationID,
      try connection.number("PRAGMA user_version") == version
    else { return nil }
    return try Meta.load(connection, binding)
  }

  private static func convert(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) {
    try connection.execute("BEGIN IMMEDIATE")
    try migrate(connection, binding: binding)
    try connection.run(
      """
      INSERT OR IGNORE INTO meta (one, account, user, position_kind, cache_form)
      VALUES (1, ?, ?, ?, ?)
      """, binding.account, binding.user, binding.positionKind, cacheForm)
    // As each opening has: see `Counters`.
    try connection.execute("UPDATE meta SET opening = random(); COMMIT")
  }

  /// Runs the migrations that are missing, on a file that may be opened so.
  private static func migrate(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) {
    let application = try connection.number("PRAGMA application_id") ?? 0
    let found = try connection.number("PRAGMA user_version") ?? 0
    let objects = try connection.number("SELECT count(*) FROM sqlite_schema") ?? 0
    let isNew = application == 0 && found == 0 && objects == 0
    guard isNew || application == applicationID else { throw .notOurs }
    guard found <= version else { throw .tooNew }
    guard isNew || found >= 1 else { throw .damaged }
    let form = isNew ? cacheForm : try oldForm(connection, binding: binding)
    if found < 1 {
      try createOwn(connection)
      try createCache(connection)
      try connection.execute(
        """
        PRAGMA application_id = 1414087756;
        PRAGMA user_version = 17;
        """)
      if binding.positionKind == LogTables.positionKind { try LogTables.create(connection) }
    } else {
      // Before anything else is read, since it had two columns more.
      if found >= 5, found < 16 { try UnreadMigration(connection).settleKept() }
      // Before any cache is made anew, which counts no events.
      if found < 11 { try addEventCount(connection) }
      if found < 2 { try addRecent(connection) }
      if found < 3 { try addOpening(connection) }
      if found == 3 { try addRewritten(connection) }
      if found < 4 { try addTop(connection) }
      if found < 5 { try addKept(connection) }
      if found < 6 { try dropDigests(connection, cacheForm: form) }
      if found < 7 { try addNeedsList(connection) }
      if found < 8 { try addRanks(connection, cacheForm: form) }
      if found < 9 { try countUnread(connection, cacheForm: form) }
      if found < 10 { try addEventID(connection, cacheForm: form) }
      if found < 11 { try countEvents(connection, cacheForm: form) }
      if found < 12 { try addOffered(connection) }
      if found == 13 { try LogTables.addIndexes(connection) }
      if found < 15 { try addTold(connection) }
      if found < 16 { try UnreadMigration(connection).run() }
      if found < 17 { try addOwn(connection) }
    }
    if form < cacheForm {
      try settleKept(connection)
      try rebuildCache(connection)
    }
  }

  private static func addRecent(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE meta ADD COLUMN recent_changes BLOB NOT NULL DEFAULT x'';
      ALTER TABLE meta ADD COLUMN recent_refs BLOB NOT NULL DEFAULT x'';
      PRAGMA user_version = 2;
      """)
  }

  private static func addOpening(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE meta ADD COLUMN opening INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE operation ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0;
      PRAGMA user_version = 3;
      """)
  }

  /// The first files of the third form lack it.
  private static func addRewritten(_ connection: Connection) throws(StoreFailure) {
    let isOld =
      "SELECT 1 WHERE 'rewritten' NOT IN (SELECT name FROM pragma_table_info('operation'))"
      as StaticString
    if try connection.number(isOld) == nil { return }
    try connection.execute(
      "ALTER TABLE operation ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0")
  }

  private static func addTop(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE conversation ADD COLUMN top_time INTEGER;
      ALTER TABLE conversation ADD COLUMN top_id BLOB;
      PRAGMA user_version = 4;
      """)
  }

  private static func addKept(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE meta ADD COLUMN kept_state BLOB NOT NULL DEFAULT x'';
      PRAGMA user_version = 5;
      """)
  }

  /// Digests had no key. Without one a message is known again by its version or as not edited,
  /// and an unreadable item when it is fetched again. An older cache is made anew in any case.
  private static func dropDigests(
    _ connection: Connection, cacheForm form: Int64
  ) throws(StoreFailure) {
    if form == cacheForm {
      try connection.execute(
        """
        UPDATE message SET digest = NULL WHERE digest IS NOT NULL;
        DELETE FROM quarantine;
        """)
    }
    try connection.execute("PRAGMA user_version = 6")
  }

  private static func addNeedsList(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE meta ADD COLUMN owes_list INTEGER NOT NULL DEFAULT 0;
      PRAGMA user_version = 7;
      """)
  }

  /// Messages of one time have an order of their own; those that are stored go by their ids until
  /// pages show it. An older cache is made anew in any case.
  private static func addRanks(
    _ connection: Connection, cacheForm form: Int64
  ) throws(StoreFailure) {
    let isOdd = "SELECT 1 FROM message WHERE substr(id, 1, 1) = x'00' LIMIT 1" as StaticString
    if form == cacheForm, try connection.number(isOdd) != nil {
      // An id that begins with a zero byte names its rank from now on.
      try rebuildCache(connection)
    } else if form == cacheForm {
      try connection.execute(
        """
        DROP INDEX message_id;
        ALTER TABLE message RENAME COLUMN id TO key;
        ALTER TABLE message ADD COLUMN id BLOB GENERATED ALWAYS AS
          (iif(key >= x'01' AND key < x'F8', key, substr(key, 5))) VIRTUAL;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        """)
    }
    try connection.execute("PRAGMA user_version = 8")
  }

  /// Events and what was deleted count no more. What the server counted is asked for anew. An older
  /// cache is made anew in any case.
  private static func countUnread(
    _ connection: Connection, cacheForm form: Int64
  ) throws(StoreFailure) {
    if form == cacheForm {
      try connection.execute(
        """
        UPDATE conversation SET server_unread = NULL, counted_arrived = 0, unread_count =
          (SELECT count(*) FROM message WHERE message.cid = conversation.cid
            AND flags & 3499 /* RowFlags.uncounted */ = 0
            AND (read_time IS NULL OR (time, key) > (read_time, read_id)));
        """)
    }
    try connection.execute("PRAGMA user_version = 9")
  }

  /// Events name what they are about, a conversation made here is found by the number of it, and
  /// what is stored is history for who is to be notified.
  /// An older cache is made anew in any case.
  private static func addEventID(
    _ connection: Connection, cacheForm form: Int64
  ) throws(StoreFailure) {
    // One that was made anew on the way has the column.
    let isOld =
      "SELECT 1 WHERE 'id' NOT IN (SELECT name FROM pragma_table_info('event'))"
      as StaticString
    if form == cacheForm, try connection.number(isOld) != nil {
      try connection.execute(
        """
        ALTER TABLE event ADD COLUMN id BLOB NOT NULL DEFAULT x'';
        UPDATE message SET flags = flags | 524288 /* RowFlags.history */;
        """)
    }
    try connection.execute(
      """
      CREATE INDEX alias_cid ON alias (cid);
      PRAGMA user_version = 10;
      """)
  }

  private static func addEventCount(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE meta ADD COLUMN event_count INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE meta ADD COLUMN trimmed_event INTEGER NOT NULL DEFAULT 0;
      """)
  }

  /// Signs of typing have a bound of their own, and the others are counted.
  /// An older cache is made anew in any case.
  private static func countEvents(
    _ connection: Connection, cacheForm form: Int64
  ) throws(StoreFailure) {
    if form == cacheForm {
      try connection.execute(
        """
        CREATE INDEX IF NOT EXISTS event_typing ON event (seq) WHERE kind = 2;
        UPDATE meta SET event_count = (SELECT count(*) FROM event WHERE kind != 2),
          trimmed_event = max(trimmed_event,
            coalesce((SELECT max(seq) FROM event), last_event) - 10000)
        WHERE one = 1;
        DELETE FROM event WHERE kind = 2 AND seq <=
          (SELECT seq FROM event WHERE kind = 2 ORDER BY seq DESC LIMIT 1 OFFSET 256);
        """)
    }
    try connection.execute("PRAGMA user_version = 11")
  }

  /// That a message was offered outlasts its row.
  private static func addOffered(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE offered (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        flags INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX offered_id ON offered (cid, id);
      PRAGMA user_version = 12;
      """)
  }

  /// Of earlier sends it is not known when they left, or from which login. (Forms 13 and 14 were a
  /// log's alone.)
  private static func addTold(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      ALTER TABLE operation ADD COLUMN told_us INTEGER;
      ALTER TABLE operation ADD COLUMN told_by INTEGER;
      UPDATE operation SET told_us = 0, told_by = -1 WHERE attempts > 0;
      PRAGMA user_version = 15;
      """)
  }

  /// Which commit changed own work last is not known: what lies beside the file has another past.
  private static func addOwn(_ connection: Connection) throws(StoreFailure) {
    let isThere =
      "SELECT 1 WHERE 'own_lsn' IN (SELECT name FROM pragma_table_info('meta'))" as StaticString
    if try connection.number(isThere) == nil {
      try connection.execute(
        """
        ALTER TABLE meta ADD COLUMN own_lsn INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE meta ADD COLUMN own_opening INTEGER NOT NULL DEFAULT 0;
        """)
    }
    try connection.execute(
      """
      UPDATE meta SET own_lsn = lsn, own_opening = random() WHERE one = 1;
      PRAGMA user_version = 17;
      """)
  }

  private static func keptState(_ connection: Connection) throws(StoreFailure) -> LastChangedState?
  {
    let row = try connection.statement("SELECT kept_state FROM meta WHERE one = 1")
    guard try row.step() else { throw .damaged }
    return try LastChangedState(stored: row.bytes(0))
  }

  /// Brings what is kept in the row of `meta` to where a cache that is made anew leaves it.
  static func settleKept(_ connection: Connection) throws(StoreFailure) {
    try keptState(connection)?.write(connection)
    try connection.run("UPDATE meta SET kept_state = x'' WHERE one = 1")
  }

  /// The form of a file's cache, where it may be converted for this host.
  private static func oldForm(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) -> Int64 {
    let row = try connection.statement(
      "SELECT cache_form, account, user, position_kind FROM meta")
    guard try row.step() else { throw .damaged }
    guard row.int(0) <= cacheForm else { throw .tooNew }
    try binding.check(row, from: 1)
    return row.int(0)
  }

  /// What a file is bound to for life.
  struct Binding: Sendable {
    var account: [UInt8]
    var user: [UInt8]
    var positionKind: Int64

    /// Compares what a file says in three columns of a row with what the host does.
    func check(_ row: borrowing Statement, from column: Int32) throws(StoreFailure) {
      guard row.isEqual(column, to: account) else { throw .mismatch(.account) }
      guard row.isEqual(column + 1, to: user) else { throw .mismatch(.user) }
      guard row.int(column + 2) == positionKind else { throw .mismatch(.positionKind) }
    }
  }

  /// Makes the cache anew and empty, whatever form it had, and keeps what is the
  /// user's own: operations, drafts, names given to conversations, what was erased on
  /// this device, what was offered, and how far the user has read. In the caller's transaction.
  ///
  /// A later form of the cache needs no other migration than this.
  static func rebuildCache(_ connection: Connection) throws(StoreFailure) {
    // Events are numbered on: who follows them must not take new ones for old ones.
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS event (seq INTEGER);
      UPDATE meta SET last_event =
        max(last_event, coalesce((SELECT max(seq) FROM event), 0)) WHERE one = 1;
      UPDATE meta SET event_count = 0, trimmed_event = last_event WHERE one = 1;
      DROP TABLE IF EXISTS message;
      DROP TABLE IF EXISTS tombstone;
      DROP TABLE IF EXISTS span;
      DROP TABLE IF EXISTS quarantine;
      DROP TABLE IF EXISTS waiting;
      DROP TABLE IF EXISTS event;
      DROP TABLE IF EXISTS entity;
      DROP TABLE IF EXISTS change;
      UPDATE conversation SET message_count = 0, fetch_us = NULL, fetch_text = NULL,
        deletions_us = NULL, deletions_text = NULL, marks_us = NULL, marks_text = NULL,
        top_time = NULL, top_id = NULL,
        lowest_since_us = NULL, total_count = NULL, audited_total = NULL, audited_count = NULL,
        unread_count = 0, server_unread = NULL, made_us = NULL;
      """)
    try createCache(connection)
    try LogTables.renew(connection)
    let search = SearchIndex(connection: connection)
    if search.isOn { try search.renew() }
    try RoomTables(connection: connection).renew()
    try AskedTable.empty(connection)
    try BurstTable.empty(connection)
    try ImportTable.empty(connection)
    // Who follows the feed reads anew.
    try connection.run(
      """
      UPDATE meta SET cache_form = ?, last_change = last_change + 1,
        trimmed_change = last_change + 1, recent_changes = x''
      WHERE one = 1
      """, cacheForm)
  }
}

extension Schema.Binding {
  init(_ config: StoreConfig) {
    self.init(account: config.account, user: config.user, positionKind: config.positionKind)
  }
}
