/// How much room each conversation takes: tables of their own, which triggers keep up.
///
/// Rule protected: what is counted of a conversation is what the file has of it, with each commit.
/// The tables and their triggers are there only once a host has set a budget; in a file without
/// one, ingest runs no other statement than before. What was stored before is counted in slices, in
/// the order in which it lies; a row is counted by its trigger only where the count has passed it.
internal import Timeline

/// How much of something is stored, and how much of it was purged.
package struct Room: Equatable, Sendable {
  package var rows: Int64 = 0
  /// Bytes of contents and of what stands beside them, without pages and indexes.
  package var bytes: Int64 = 0
  package var purgedRows: Int64 = 0
  package var purgedBytes: Int64 = 0

  package init() {}
}

struct RoomTables {
  let connection: Connection

  /// Whether anything is counted in the state that the connection sees.
  var isOn: Bool { connection.hasTable("room_state") }

  /// Whether an earlier version has made the tables, which had no view.
  func isStale() throws(StoreFailure) -> Bool {
    try connection.number(
      "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = 'room_row'") == nil
  }

  // MARK: - The tables

  /// Makes the tables; all that is stored is then to be counted.
  func create() throws(StoreFailure) {
    // The conversation 0 is all of them together.
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS looked (
        cid INTEGER NOT NULL PRIMARY KEY,
        seq INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE room (
        cid INTEGER NOT NULL PRIMARY KEY,
        rows INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0,
        purged_rows INTEGER NOT NULL DEFAULT 0,
        purged_bytes INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE room_state (
        one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        cid INTEGER NOT NULL,
        time INTEGER NOT NULL,
        key BLOB NOT NULL,
        told INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO room (cid) VALUES (0);
      INSERT INTO room_state (one, cid, time, key) VALUES (1, -9223372036854775808, 0, x'');
      """)
    try addView()
    try addTriggers()
  }

  /// Counts no more. Who was looked at stays so.
  func drop() throws(StoreFailure) {
    // What only drops tables is no change that SQLite counts, and is not committed.
    try connection.execute(
      """
      DELETE FROM room_state;
      DROP VIEW IF EXISTS room_row;
      DROP TRIGGER IF EXISTS room_inserted;
      DROP TRIGGER IF EXISTS room_changing;
      DROP TRIGGER IF EXISTS room_updated;
      DROP TRIGGER IF EXISTS room_removed;
      DROP TABLE IF EXISTS room;
      DROP TABLE IF EXISTS room_state;
      """)
  }

  /// The table of messages was made anew, and is empty.
  func renew() throws(StoreFailure) {
    guard isOn else { return }
    try connection.execute("UPDATE room SET rows = 0, bytes = 0")
    try addTriggers()
  }

  /// What a row takes is said here, and nowhere else: 192 bytes stand for numbers, indexes and what
  /// SQLite keeps of it.
  private func addView() throws(StoreFailure) {
    try connection.execute(
      """
      CREATE VIEW room_row AS SELECT cid, time, key, number, flags, read_by, delivered_by,
        listened_by, 192 + length(key) + length(sender) + length(payload) + length(rest)
          + ifnull(length(raw), 0) + ifnull(length(reactions), 0) + ifnull(length(read_by), 0)
          + ifnull(length(delivered_by), 0) + ifnull(length(listened_by), 0) AS bytes
      FROM message;
      """)
  }

  /// Whether a row is counted depends on its place, which a change may move.
  private func addTriggers() throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TRIGGER room_inserted AFTER INSERT ON message
      WHEN (new.cid, new.time, new.key) <= (SELECT cid, time, key FROM room_state)
      BEGIN
        INSERT OR IGNORE INTO room (cid) VALUES (new.cid);
        UPDATE room SET rows = rows + 1, bytes = bytes + (SELECT bytes FROM room_row
          WHERE cid = new.cid AND time = new.time AND key = new.key)
        WHERE cid IN (0, new.cid);
      END;
      CREATE TRIGGER room_removed BEFORE DELETE ON message
      WHEN (old.cid, old.time, old.key) <= (SELECT cid, time, key FROM room_state)
      BEGIN
        UPDATE room SET rows = rows - 1, bytes = bytes - (SELECT bytes FROM room_row
          WHERE cid = old.cid AND time = old.time AND key = old.key)
        WHERE cid IN (0, old.cid);
      END;
      CREATE TRIGGER room_changing
      BEFORE UPDATE OF time, key, sender, payload, rest, raw, reactions, read_by, delivered_by,
        listened_by ON message
      WHEN (old.cid, old.time, old.key) <= (SELECT cid, time, key FROM room_state)
      BEGIN
        UPDATE room SET rows = rows - 1, bytes = bytes - (SELECT bytes FROM room_row
          WHERE cid = old.cid AND time = old.time AND key = old.key)
        WHERE cid IN (0, old.cid);
      END;
      CREATE TRIGGER room_updated
      AFTER UPDATE OF time, key, sender, payload, rest, raw, reactions, read_by, delivered_by,
        listened_by ON message
      WHEN (new.cid, new.time, new.key) <= (SELECT cid, time, key FROM room_state)
      BEGIN
        INSERT OR IGNORE INTO room (cid) VALUES (new.cid);
        UPDATE room SET rows = rows + 1, bytes = bytes + (SELECT bytes FROM room_row
          WHERE cid = new.cid AND time = new.time AND key = new.key)
        WHERE cid IN (0, new.cid);
      END;
      """)
  }

  // MARK: - Counting

  /// Rows that one slice counts.
  static let sliceRows = 1_024

  /// Counts on; whether all is counted.
  func count() throws(StoreFailure) -> Bool {
    let state = try connection.statement("SELECT cid, time, key FROM room_state")
    guard try state.step() else { throw .damaged }
    let from = (cid: state.int(0), time: state.int(1), key: state.bytes(2))
    _ = consume state
    if from.cid == .max { return true }
    let row = try connection.statement(
      Queries.roomRows, from.cid, from.time, from.key, Self.sliceRows)
    var found: [(cid: Int64, rows: Int64, bytes: Int64)] = []
    var last: (cid: Int64, time: Int64, key: [UInt8])?
    var count = 0
    while try row.step() {
      let cid = row.int(0)
      if found.last?.cid != cid { found.append((cid, 0, 0)) }
      found[found.count &- 1].rows &+= 1
      found[found.count &- 1].bytes &+= row.int(3)
      last = (cid, row.int(1), row.bytes(2))
      count &+= 1
    }
    _ = consume row
    for part in found {
      try connection.runNoted("INSERT OR IGNORE INTO room (cid) VALUES (?)", part.cid)
      try connection.runNoted(
        "UPDATE room SET rows = rows + ?, bytes = bytes + ? WHERE cid IN (0, ?)", part.rows,
        part.bytes, part.cid)
    }
    let isAll = count < Self.sliceRows
    if isAll { last = (.max, 0, []) }
    guard let last else { return true }
    try connection.runNoted(
      "UPDATE room_state SET cid = ?, time = ?, key = ?", last.cid, last.time, last.key)
    return isAll
  }

  /// Whether all that is stored is counted.
  func isCounted() throws(StoreFailure) -> Bool {
    try connection.number("SELECT cid FROM room_state") == .max
  }

  /// What a conversation takes; 0 is all of them.
  func room(_ cid: Int64) throws(StoreFailure) -> Room {
    var room = Room()
    let row = try connection.statement(
      "SELECT rows, bytes, purged_rows, purged_bytes FROM room WHERE cid = ?", cid)
    guard try row.step() else { return room }
    (room.rows, room.bytes) = (row.int(0), row.int(1))
    (room.purgedRows, room.purgedBytes) = (row.int(2), row.int(3))
    return room
  }

  func notePurged(_ cid: Int64, rows: Int64, bytes: Int64) throws(StoreFailure) {
    try connection.runNoted("INSERT OR IGNORE INTO room (cid) VALUES (?)", cid)
    try connection.runNoted(
      """
      UPDATE room SET purged_rows = purged_rows + ?, purged_bytes = purged_bytes + ?
      WHERE cid IN (0, ?)
      """, rows, bytes, cid)
  }

  // MARK: - Who was looked at

  /// These were looked at, the last one last.
  func noteLooks(_ cids: [Int64]) throws(StoreFailure) {
    for cid in cids {
      try connection.runNoted(
        """
        INSERT INTO looked (cid, seq) VALUES (?1, (SELECT ifnull(max(seq), 0) + 1 FROM looked))
        ON CONFLICT (cid) DO UPDATE SET seq = excluded.seq
        """, cid)
    }
  }

  /// All conversations, the least recently looked at first.
  func byLook() throws(StoreFailure) -> [Int64] {
    let row = try connection.statement(
      """
      SELECT conversation.cid FROM conversation LEFT JOIN looked USING (cid)
      ORDER BY ifnull(seq, 0), conversation.cid
      """)
    var cids: [Int64] = []
    while try row.step() { cids.append(row.int(0)) }
    return cids
  }

  /// Conversations that take more than so much.
  func over(rows: Int64, bytes: Int64) throws(StoreFailure) -> [Int64] {
    let row = try connection.statement(
      "SELECT cid FROM room WHERE cid != 0 AND (rows > ? OR bytes > ?) ORDER BY cid", rows, bytes)
    var cids: [Int64] = []
    while try row.step() { cids.append(row.int(0)) }
    return cids
  }
}

extension Queries {
  static let retentionQueries = [roomRows, purgeRows, keptTargets, rowsAbove, rowsBelow]

  static let roomRows: StaticString = """
    SELECT cid, time, key, bytes FROM room_row WHERE (cid, time, key) > (?, ?, ?)
    ORDER BY cid, time, key LIMIT ?
    """

  static let purgeRows: StaticString = """
    SELECT time, key, number, flags, read_by, delivered_by, listened_by, bytes FROM room_row
    WHERE cid = ? AND (time, key) >= (?, ?) AND (time, key) < (?, ?) ORDER BY time, key LIMIT ?
    """

  static let keptTargets: StaticString = """
    SELECT target, reply_to FROM operation WHERE cid = ? AND state != 4
    """

  static let rowsAbove: StaticString = """
    SELECT time, key FROM message WHERE cid = ? AND (time, key) >= (?, ?)
    ORDER BY time, key LIMIT 1 OFFSET ?
    """

  static let rowsBelow: StaticString = """
    SELECT time, key FROM message WHERE cid = ? AND (time, key) < (?, ?)
    ORDER BY time DESC, key DESC LIMIT 1 OFFSET ?
    """
}
