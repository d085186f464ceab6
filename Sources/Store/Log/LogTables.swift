/// The tables of a file whose positions are places in a log (`position_kind` 2). Other files have
/// none of them.
///
/// They are part of the cache: what the server said, which can be read anew. How many requests and
/// connections there ever were is counted on, for operations say after which of them they were
/// answered.

enum LogTables {
  /// What the first part of a position is, in a file of a log.
  static let positionKind: Int64 = 2

  static func create(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE entry (
        cid INTEGER NOT NULL,
        place INTEGER NOT NULL,
        id BLOB NOT NULL,
        stored INTEGER NOT NULL,
        heard INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        time INTEGER,
        kind INTEGER,
        target BLOB,
        user BLOB,
        detail BLOB,
        editor BLOB,
        body BLOB NOT NULL,
        PRIMARY KEY (cid, place)
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX entry_id ON entry (cid, id);
      CREATE INDEX entry_target ON entry (cid, target, kind) WHERE target IS NOT NULL;
      CREATE INDEX entry_marked ON entry (cid, place) WHERE flags & 7 != 0;
      CREATE INDEX entry_doubted ON entry (cid, place) WHERE flags & 8 != 0;

      CREATE TABLE log_range (
        cid INTEGER NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        connection INTEGER NOT NULL,
        start_request INTEGER,
        start_connection INTEGER,
        present_request INTEGER,
        present_connection INTEGER,
        note_side INTEGER,
        note_id BLOB,
        note_issued INTEGER,
        PRIMARY KEY (cid, low)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE log_token (
        cid INTEGER NOT NULL,
        low INTEGER NOT NULL,
        side INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        token BLOB NOT NULL,
        id BLOB,
        connection INTEGER NOT NULL,
        epoch BLOB,
        PRIMARY KEY (cid, low, side, seq)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE IF NOT EXISTS log_fact (
        cid INTEGER NOT NULL PRIMARY KEY,
        issued INTEGER NOT NULL,
        connection INTEGER NOT NULL,
        epoch BLOB,
        empty_request INTEGER,
        empty_connection INTEGER,
        contradictions INTEGER NOT NULL,
        step_us INTEGER NOT NULL
      ) STRICT;
      """)
    try addIndexes(connection)
  }

  /// Files of form 13 have none of these.
  static func addIndexes(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE INDEX entry_edits ON entry (cid, target, user, place) WHERE kind = 1;
      CREATE INDEX entry_reaction ON entry (cid, target, user) WHERE kind BETWEEN 3 AND 5;
      CREATE INDEX entry_edited ON entry (cid, heard) WHERE flags & 6 != 0;
      CREATE INDEX entry_blurred ON entry (cid, flags & 8, place)
        WHERE flags & 1 != 0 AND kind IS NOT NULL AND target IS NULL;
      """)
  }

  /// Makes them anew and empty, in a file that has them. Places are given anew: a marker is of its
  /// message, wherever that comes.
  static func renew(_ connection: Connection) throws(StoreFailure) {
    guard connection.hasTable("entry") else { return }
    try connection.execute(
      """
      DROP TABLE entry;
      DROP TABLE log_range;
      DROP TABLE log_token;
      UPDATE log_fact SET epoch = NULL, empty_request = NULL, empty_connection = NULL,
        contradictions = 0, step_us = 0;
      UPDATE conversation SET told_time = NULL, told_id = NULL, read_time = NULL, read_id = NULL,
        read_named = coalesce(read_named, nullif(
          iif(read_id >= x'01' AND read_id < x'F8', read_id, substr(read_id, 5)), x''))
      WHERE read_time IS NOT NULL OR told_time IS NOT NULL;
      """)
    try create(connection)
  }

  /// Takes out all of one conversation.
  static func remove(_ cid: Int64, _ connection: Connection) throws(StoreFailure) {
    try connection.run("DELETE FROM entry WHERE cid = ?", cid)
    try connection.run("DELETE FROM log_range WHERE cid = ?", cid)
    try connection.run("DELETE FROM log_token WHERE cid = ?", cid)
    try connection.run(
      """
      UPDATE log_fact SET epoch = NULL, empty_request = NULL, empty_connection = NULL,
        contradictions = 0, step_us = 0
      WHERE cid = ?
      """, cid)
  }
}
