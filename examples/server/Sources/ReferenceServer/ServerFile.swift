/// The server's SQLite file: what is committed survives a kill.
///
/// The world lives in memory; the file follows it. Changes are gathered while a
/// frame is handled and written in one transaction by `save`, which the owner
/// calls before the answer leaves. What is stamped but not yet visible is a
/// transaction under way, and dies with the process like one.

import CSQLite

/// A world's file. It follows its server from its opening to its end.
public final class ServerFile {
  private let database: Database
  private let server: ReferenceServer
  private var changes: [ServerChange] = []
  /// "tdls", so that no other program's file is taken for one.
  private static let applicationID: Int64 = 0x7464_6C73
  private static let version: Int64 = 2

  /// Opens or makes the file, loads it into `server` (which must be new) and
  /// follows the server's changes from then on.
  public init(path: String, server: ReferenceServer) throws(ServerFileFailure) {
    database = try Database(path)
    self.server = server
    try prepare()
    try load()
    server.onChange = { [weak self] change in self?.changes.append(change) }
  }

  deinit {
    server.onChange = nil
  }

  /// Whether there is anything in the file.
  public var isEmpty: Bool { server.conversationIDs.isEmpty }

  private func prepare() throws(ServerFileFailure) {
    try database.run("PRAGMA locking_mode=EXCLUSIVE")
    let id = try database.number("PRAGMA application_id")
    let version = try database.number("PRAGMA user_version")
    let tables = try database.number("SELECT count(*) FROM sqlite_master")
    if id == 0, version == 0, tables == 0 {
      try database.run("PRAGMA journal_mode=WAL")
      try database.run(
        """
        BEGIN;
        CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE conversation (
          position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
          participants TEXT NOT NULL);
        CREATE TABLE message (
          conversation TEXT NOT NULL, id TEXT NOT NULL, sender TEXT NOT NULL,
          stamp_us INTEGER NOT NULL, arrival INTEGER NOT NULL, payload TEXT NOT NULL,
          version INTEGER NOT NULL, edited_us INTEGER, reply_to TEXT,
          reactions TEXT NOT NULL, read_by TEXT NOT NULL, flaw INTEGER NOT NULL,
          delivered_by TEXT NOT NULL, listened_by TEXT NOT NULL, pinned INTEGER,
          changed_us INTEGER, number INTEGER NOT NULL, previous TEXT,
          PRIMARY KEY (conversation, id)) WITHOUT ROWID;
        CREATE TABLE number (conversation TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE profile (user TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE account (
          position INTEGER PRIMARY KEY, user TEXT NOT NULL, name TEXT NOT NULL);
        CREATE TABLE owed (
          position INTEGER PRIMARY KEY, user TEXT NOT NULL, account TEXT NOT NULL,
          ref TEXT NOT NULL UNIQUE, frame TEXT NOT NULL);
        CREATE TABLE deletion (
          conversation TEXT NOT NULL, id TEXT NOT NULL, deleted_us INTEGER NOT NULL,
          arrival INTEGER NOT NULL, version INTEGER NOT NULL,
          PRIMARY KEY (conversation, id)) WITHOUT ROWID;
        PRAGMA application_id=\(ServerFile.applicationID);
        PRAGMA user_version=\(ServerFile.version);
        COMMIT
        """)
      return
    }
    guard id == ServerFile.applicationID, version == ServerFile.version else {
      throw ServerFileFailure(code: SQLITE_NOTADB, text: "not a file of this server")
    }
    try database.run("PRAGMA journal_mode=WAL")
  }

  // MARK: Reading

  private func load() throws(ServerFileFailure) {
    var meta: [String: Int64] = [:]
    try database.each("SELECT name, value FROM meta") { row in meta[row.text(0)] = row.number(1) }
    try database.each("SELECT id, title, participants FROM conversation ORDER BY position") {
      server.createConversation(
        $0.text(0), title: $0.text(1), participants: ServerFile.list($0.text(2)))
    }
    let knobs = server.knobs
    // In the order of arrival, so that most rows land at the end.
    try database.each(
      """
      SELECT conversation, id, sender, stamp_us, arrival, payload, version, edited_us, reply_to,
      reactions, read_by, flaw, delivered_by, listened_by, pinned, changed_us, number, previous
      FROM message ORDER BY arrival
      """
    ) { row in
      let message = ServerMessage(
        id: row.text(1), conversation: row.text(0), sender: row.text(2), stampUs: row.number(3),
        arrival: Int(row.number(4)), payload: row.text(5), version: Int(row.number(6)),
        editedUs: row.isNull(7) ? nil : row.number(7), replyTo: row.isNull(8) ? nil : row.text(8),
        reactions: ServerFile.reactions(row.text(9)), readBy: ServerFile.list(row.text(10)),
        deliveredBy: ServerFile.list(row.text(12)), listenedBy: ServerFile.list(row.text(13)),
        isPinned: row.isNull(14) ? nil : row.number(14) != 0,
        changedUs: row.isNull(15) ? nil : row.number(15), number: row.number(16),
        previousID: row.isNull(17) ? nil : row.text(17),
        flaw: ServerMessage.Flaw(rawValue: Int(row.number(11))) ?? .none)
      server.conversations[message.conversation]?.put(message, knobs)
    }
    try database.each(
      """
      SELECT conversation, id, deleted_us, arrival, version FROM deletion
      ORDER BY deleted_us, arrival
      """
    ) { row in
      server.conversations[row.text(0)]?.log(
        ServerDeletion(id: row.text(1), deletedUs: row.number(2), arrival: Int(row.number(3))),
        version: Int(row.number(4)), knobs)
    }
    try loadAccounts()
    server.adopt(
      epoch: Int(meta["epoch"] ?? 1), arrivals: Int(meta["arrivals"] ?? 0),
      posted: Int(meta["posted"] ?? 0),
      refs: Int(meta["refs"] ?? 0))
    if let now = meta["now_us"] { server.nowUs = now }
  }

  private func loadAccounts() throws(ServerFileFailure) {
    try database.each("SELECT conversation, last FROM number") { row in
      server.lastNumbers[row.text(0)] = row.number(1)
    }
    try database.each("SELECT user, name FROM profile") { row in
      server.profiles[row.text(0)] = row.text(1)
    }
    try database.each("SELECT user, name FROM account ORDER BY position") { row in
      server.accounts.append(Account(user: row.text(0), name: row.text(1)))
    }
    try database.each("SELECT user, account, ref, frame FROM owed ORDER BY position") { row in
      let index = server.accounts.firstIndex {
        $0.user == row.text(0) && $0.name == row.text(1)
      }
      guard let index else { return }
      server.accounts[index].owed.append(
        Update(ref: row.text(2), frame: Array(row.text(3).utf8)))
    }
  }

  private static func list(_ json: String) -> [String] {
    var cursor = JSONCursor(Array(json.utf8))
    return cursor.strings() ?? []
  }

  private static func reactions(_ json: String) -> [ServerMessage.Reaction] {
    var cursor = JSONCursor(Array(json.utf8))
    var all: [ServerMessage.Reaction] = []
    _ = cursor.object { cursor, name in
      guard let users = cursor.strings() else { return false }
      all.append(.init(name: name, users: users))
      return true
    }
    return all
  }

  // MARK: Writing

  /// Writes what has changed since the last time, in one transaction.
  public func save() throws(ServerFileFailure) {
    guard !changes.isEmpty else { return }
    try database.run("BEGIN IMMEDIATE")
    do throws(ServerFileFailure) {
      for change in changes { try write(change) }
      let counters = server.counters
      try meta("arrivals", Int64(counters.arrivals))
      try meta("posted", Int64(counters.posted))
      try meta("refs", Int64(server.refs))
      try meta("epoch", Int64(server.epoch))
      try meta("now_us", server.nowUs)
      try database.run("COMMIT")
    } catch {
      // The first failure is the one to tell; a rollback that fails adds nothing.
      do throws(ServerFileFailure) { try database.run("ROLLBACK") } catch _ {}
      throw error
    }
    changes.removeAll()
  }

  private func write(_ change: ServerChange) throws(ServerFileFailure) {
    switch change {
    case .conversation(let id): try writeConversation(id)
    case .message(let message): try writeMessage(message)
    case .deletion(let conversation, let entry, let version):
      try database.run(
        "DELETE FROM message WHERE conversation = ? AND id = ?",
        [.text(conversation), .text(entry.id)])
      try writeDeletion(conversation, entry, version)
    case .conversationDeletion(let id):
      for table in ["message", "deletion"] {
        try database.run("DELETE FROM \(table) WHERE conversation = ?", [.text(id)])
      }
      try database.run("DELETE FROM conversation WHERE id = ?", [.text(id)])
    case .account(let account):
      try database.run(
        "INSERT INTO account (user, name) VALUES (?, ?)",
        [.text(account.user), .text(account.name)])
    case .update(let account, let update):
      try database.run(
        "INSERT INTO owed (user, account, ref, frame) VALUES (?, ?, ?, ?)",
        [.text(account.user), .text(account.name), .text(update.ref), .bytes(update.frame)])
    case .settled(let update):
      try database.run("DELETE FROM owed WHERE ref = ?", [.text(update.ref)])
    case .profile(let user):
      try database.run("DELETE FROM profile WHERE user = ?", [.text(user)])
      if let name = server.profiles[user] {
        try database.run("INSERT INTO profile VALUES (?, ?)", [.text(user), .text(name)])
      }
    case .everything:
      try database.run(
        """
        DELETE FROM message; DELETE FROM deletion; DELETE FROM conversation; DELETE FROM owed
        """)
      for id in server.conversationIDs {
        guard let state = server.conversations[id] else { continue }
        try writeConversation(id)
        for row in state.rows { try writeMessage(row.message) }
        for entry in state.deletions {
          try writeDeletion(id, entry, state.deadVersions[entry.id] ?? 0)
        }
      }
    }
  }

  private func writeConversation(_ id: String) throws(ServerFileFailure) {
    guard let state = server.conversations[id] else { return }
    var participants: [UInt8] = []
    ServerJSON.write(state.participants, into: &participants)
    try database.run(
      """
      INSERT INTO conversation (id, title, participants) VALUES (?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET title = excluded.title, participants = excluded.participants
      """,
      [.text(id), .text(state.title), .bytes(participants)])
  }

  private func writeMessage(_ message: ServerMessage) throws(ServerFileFailure) {
    var reactions: [UInt8] = []
    message.writeReactions(into: &reactions)
    func list(_ users: [String]) -> Database.Value {
      var bytes: [UInt8] = []
      ServerJSON.write(users, into: &bytes)
      return .bytes(bytes)
    }
    try database.run(
      "INSERT OR REPLACE INTO message VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      [
        .text(message.conversation), .text(message.id), .text(message.sender),
        .number(message.stampUs), .number(Int64(message.arrival)), .text(message.payload),
        .number(Int64(message.version)), message.editedUs.map(Database.Value.number) ?? .null,
        message.replyTo.map(Database.Value.text) ?? .null, .bytes(reactions), list(message.readBy),
        .number(Int64(message.flaw.rawValue)), list(message.deliveredBy), list(message.listenedBy),
        message.isPinned.map { .number($0 ? 1 : 0) } ?? .null,
        message.changedUs.map(Database.Value.number) ?? .null, .number(message.number),
        message.previousID.map(Database.Value.text) ?? .null,
      ])
    try database.run(
      """
      INSERT INTO number VALUES (?, ?)
      ON CONFLICT (conversation) DO UPDATE SET last = max(last, excluded.last)
      """, [.text(message.conversation), .number(message.number)])
    guard message.version > 1 else { return }
    // A re-created message leaves the deletion log.
    try database.run(
      "DELETE FROM deletion WHERE conversation = ? AND id = ?",
      [.text(message.conversation), .text(message.id)])
  }

  private func writeDeletion(
    _ conversation: String, _ entry: ServerDeletion, _ version: Int
  ) throws(ServerFileFailure) {
    try database.run(
      "INSERT OR REPLACE INTO deletion VALUES (?, ?, ?, ?, ?)",
      [
        .text(conversation), .text(entry.id), .number(entry.deletedUs),
        .number(Int64(entry.arrival)), .number(Int64(version)),
      ])
  }

  private func meta(_ name: String, _ value: Int64) throws(ServerFileFailure) {
    try database.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", [.text(name), .number(value)])
  }
}
