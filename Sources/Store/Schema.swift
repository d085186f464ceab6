/// The tables, and how a file comes to the newest form of them.
///
/// `application_id` says that the file is ours, `user_version` which form it
/// has. A migration is a numbered function that never changes once released. A
/// newer or a foreign file is refused before anything is written to it.
enum Schema {
  /// "TIDL".
  static let applicationID: Int64 = 0x5449_444C

  /// The form that this version reads and writes.
  static let version: Int64 = 1

  /// Brings an open writer to the newest form, in one transaction.
  static func prepare(
    _ connection: Connection, binding: Binding
  ) throws(StoreFailure) {
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreFailure) {
      if try migrate(connection) {
        try connection.run(
          "INSERT OR IGNORE INTO meta (one, account, user, position_kind) VALUES (1, ?, ?, ?)",
          binding.account, binding.user, binding.positionKind)
        try connection.execute("COMMIT")
      } else {
        // Nothing was written, so nothing is committed: opening changes no file.
        connection.rollBack()
      }
    } catch {
      connection.rollBack()
      throw error
    }
    try check(connection, binding)
  }

  /// Runs the migrations that are missing: false where none was.
  private static func migrate(_ connection: Connection) throws(StoreFailure) -> Bool {
    let application = try connection.number("PRAGMA application_id") ?? 0
    let found = try connection.number("PRAGMA user_version") ?? 0
    let objects = try connection.number("SELECT count(*) FROM sqlite_schema") ?? 0
    let isNew = application == 0 && found == 0 && objects == 0
    guard isNew || application == applicationID else { throw .notOurs }
    guard found <= version else { throw .tooNew }
    guard isNew || found >= 1 else { throw .damaged }
    if found < 1 {
      try migrate1(connection)
      try migrate1Realtime(connection)
    }
    return found < version
  }

  /// Compares what the file is bound to with what the host says.
  private static func check(_ connection: Connection, _ binding: Binding) throws(StoreFailure) {
    let statement = try connection.statement(
      "SELECT account, user, position_kind FROM meta WHERE one = 1")
    guard try statement.step() else { throw .damaged }
    guard
      statement.isEqual(0, to: binding.account),
      statement.isEqual(1, to: binding.user),
      statement.int(2) == binding.positionKind
    else { throw .mismatch }
  }

  /// What a file is bound to for life.
  struct Binding: Sendable {
    var account: [UInt8]
    var user: [UInt8]
    var positionKind: Int64
  }

  /// The first form.
  ///
  /// Messages are clustered by their position, so that a window reads
  /// neighbouring pages; ids and account text are bytes, compared as bytes.
  private static func migrate1(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE meta (
        one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        account BLOB NOT NULL,
        user BLOB NOT NULL,
        position_kind INTEGER NOT NULL,
        lsn INTEGER NOT NULL DEFAULT 0,
        last_number INTEGER NOT NULL DEFAULT 0,
        last_change INTEGER NOT NULL DEFAULT 0,
        trimmed_change INTEGER NOT NULL DEFAULT 0,
        server_time INTEGER,
        largest_page INTEGER NOT NULL DEFAULT 0,
        overlap_us INTEGER NOT NULL DEFAULT 0,
        epoch BLOB,
        restored_lsn INTEGER NOT NULL DEFAULT 0,
        waiting_dropped INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      CREATE TABLE conversation (
        cid INTEGER NOT NULL PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        message_count INTEGER NOT NULL DEFAULT 0,
        fetch_us INTEGER,
        fetch_text BLOB,
        deletions_us INTEGER,
        deletions_text BLOB,
        marks_us INTEGER,
        marks_text BLOB,
        lowest_since_us INTEGER,
        total_count INTEGER,
        restored_lsn INTEGER NOT NULL DEFAULT 0,
        audited_total INTEGER,
        audited_count INTEGER
      ) STRICT;

      CREATE TABLE message (
        cid INTEGER NOT NULL,
        time INTEGER NOT NULL,
        id BLOB NOT NULL,
        number INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        lsn INTEGER NOT NULL,
        issued INTEGER NOT NULL,
        marked INTEGER NOT NULL,
        pin_issued INTEGER,
        version INTEGER,
        reactions_version INTEGER,
        edited_us INTEGER,
        sent_us INTEGER,
        sender BLOB NOT NULL,
        stamp BLOB NOT NULL,
        reply_to BLOB,
        reactions BLOB,
        read_by BLOB,
        delivered_by BLOB,
        listened_by BLOB,
        payload BLOB NOT NULL,
        rest BLOB NOT NULL,
        raw BLOB,
        PRIMARY KEY (cid, time, id)
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX message_number ON message (number);
      CREATE UNIQUE INDEX message_id ON message (cid, id);
      CREATE INDEX message_pinned ON message (cid, time, id) WHERE flags & 16 != 0;

      CREATE TABLE forgotten (
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        PRIMARY KEY (cid, id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE tombstone (
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        version INTEGER,
        lsn INTEGER NOT NULL,
        PRIMARY KEY (cid, id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE span (
        cid INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        low_time INTEGER NOT NULL,
        low_id BLOB NOT NULL,
        high_time INTEGER NOT NULL,
        high_id BLOB NOT NULL,
        PRIMARY KEY (cid, kind, low_time, low_id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE quarantine (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        low_time INTEGER NOT NULL,
        low_id BLOB NOT NULL,
        high_time INTEGER NOT NULL,
        high_id BLOB NOT NULL,
        digest INTEGER NOT NULL,
        size INTEGER NOT NULL,
        reason INTEGER NOT NULL,
        lsn INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        seen INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX quarantine_place ON quarantine
        (cid, low_time, low_id, high_time, high_id, digest, size);

      CREATE TABLE operation (
        seq INTEGER NOT NULL PRIMARY KEY,
        verb INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        target BLOB NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        body BLOB,
        lsn INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX operation_target ON operation (cid, verb, target);
      CREATE INDEX operation_verb ON operation (verb);

      CREATE TABLE change (
        seq INTEGER NOT NULL PRIMARY KEY,
        lsn INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        silent INTEGER NOT NULL
      ) STRICT;

      PRAGMA application_id = 1414087756;
      PRAGMA user_version = 1;
      """)
  }

  /// Of the first form: what realtime brings beside messages.
  private static func migrate1Realtime(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE waiting (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        marked INTEGER,
        reactions_version INTEGER,
        reactions BLOB,
        pin_issued INTEGER,
        pinned INTEGER,
        read_by BLOB,
        delivered_by BLOB,
        listened_by BLOB
      ) STRICT;
      CREATE UNIQUE INDEX waiting_id ON waiting (cid, id);

      CREATE TABLE event (
        seq INTEGER NOT NULL PRIMARY KEY,
        kind INTEGER NOT NULL,
        action INTEGER NOT NULL,
        silent INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        entity BLOB NOT NULL,
        body BLOB NOT NULL
      ) STRICT;

      CREATE TABLE entity (
        kind INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (kind, cid, id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE ref (
        seq INTEGER NOT NULL PRIMARY KEY,
        ref BLOB NOT NULL UNIQUE,
        at_us INTEGER NOT NULL,
        owed INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX ref_owed ON ref (seq) WHERE owed = 1;
      """)
  }
}
