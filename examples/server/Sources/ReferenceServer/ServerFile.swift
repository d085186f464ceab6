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
  private static let version: Int64 = 3

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
    try prepareWorld()
    // Younger than the rest, and empty where no log is kept.
    try database.run(
      """
      CREATE TABLE IF NOT EXISTS entry (
        conversation TEXT NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL,
        sender TEXT NOT NULL, bytes TEXT NOT NULL,
        PRIMARY KEY (conversation, place)) WITHOUT ROWID
      """)
  }

  private func prepareWorld() throws(ServerFileFailure) {
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
          participants TEXT NOT NULL, admins TEXT NOT NULL, metadata TEXT,
          created_us INTEGER NOT NULL, updated_us INTEGER, direct INTEGER NOT NULL,
          distinct_one INTEGER NOT NULL);
        CREATE TABLE marker (
          conversation TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
          number INTEGER NOT NULL, tick_us INTEGER NOT NULL, arrival INTEGER NOT NULL,
          PRIMARY KEY (conversation, user)) WITHOUT ROWID;
        CREATE TABLE sent (
          conversation TEXT NOT NULL, user TEXT NOT NULL, client_id TEXT NOT NULL,
          data TEXT NOT NULL, PRIMARY KEY (conversation, user, client_id)) WITHOUT ROWID;
        CREATE TABLE creation (
          user TEXT NOT NULL, client_id TEXT NOT NULL, conversation TEXT NOT NULL,
          PRIMARY KEY (user, client_id)) WITHOUT ROWID;
        CREATE TABLE channel (user TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE message (
          conversation TEXT NOT NULL, id TEXT NOT NULL, sender TEXT NOT NULL,
          stamp_us INTEGER NOT NULL, arrival INTEGER NOT NULL, payload TEXT NOT NULL,
          version INTEGER NOT NULL, edited_us INTEGER, reply_to TEXT,
          reactions TEXT NOT NULL, read_by TEXT NOT NULL, flaw INTEGER NOT NULL,
          delivered_by TEXT NOT NULL, listened_by TEXT NOT NULL, pinned INTEGER,
          changed_us INTEGER, number INTEGER NOT NULL, previous TEXT, client_id TEXT,
          attachment TEXT, metadata TEXT, marked TEXT NOT NULL,
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
    try loadConversations()
    let knobs = server.knobs
    // In the order of arrival, so that most rows land at the end.
    try database.each(
      """
      SELECT conversation, id, sender, stamp_us, arrival, payload, version, edited_us, reply_to,
      reactions, read_by, flaw, delivered_by, listened_by, pinned, changed_us, number, previous,
      client_id, attachment, metadata, marked FROM message ORDER BY arrival
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
        flaw: ServerMessage.Flaw(rawValue: Int(row.number(11))) ?? .none,
        clientID: row.isNull(18) ? nil : row.text(18),
        attachment: row.isNull(19) ? nil : row.text(19),
        metadata: row.isNull(20) ? nil : row.text(20), markedUs: ServerFile.times(row.text(21)))
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
    try loadDealings()
    try loadAccounts()
    try loadLogs()
    server.adopt(
      epoch: Int(meta["epoch"] ?? 1), arrivals: Int(meta["arrivals"] ?? 0),
      posted: Int(meta["posted"] ?? 0),
      refs: Int(meta["refs"] ?? 0))
    if let now = meta["now_us"] { server.nowUs = now }
  }

  private func loadConversations() throws(ServerFileFailure) {
    try database.each(
      """
      SELECT id, title, participants, admins, metadata, created_us, updated_us, direct,
      distinct_one FROM conversation ORDER BY position
      """
    ) { row in
      server.createConversation(
        row.text(0), title: row.text(1), participants: ServerFile.list(row.text(2)))
      guard let state = server.conversations[row.text(0)] else { return }
      state.admins = ServerFile.list(row.text(3))
      state.metadata = row.isNull(4) ? nil : row.text(4)
      state.createdUs = row.number(5)
      state.updatedUs = row.isNull(6) ? nil : row.number(6)
      state.isDirect = row.number(7) != 0
      state.isDistinct = row.number(8) != 0
    }
  }

  /// The logs. A file that was made without them cannot tell in which order all happened, and one
  /// that was made with them does not go on without.
  private func loadLogs() throws(ServerFileFailure) {
    guard server.knobs.keepsLog else {
      guard try database.number("SELECT count(*) FROM entry") == 0 else {
        throw ServerFileFailure(code: SQLITE_MISMATCH, text: "the file was made with --log")
      }
      return
    }
    try database.each(
      "SELECT conversation, place, id, sender, bytes FROM entry ORDER BY conversation, place"
    ) { row in
      let state = server.conversations[row.text(0)]
      state?.log.begin(at: Int(row.number(1)))
      state?.log.append(
        EntryLog.Entry(id: row.text(2), sender: row.text(3), bytes: Array(row.text(4).utf8)))
    }
    for state in server.conversations.values where !state.rows.isEmpty && state.log.end == 0 {
      throw ServerFileFailure(code: SQLITE_MISMATCH, text: "the file was made without --log")
    }
  }

  /// What users have sent and made under names of their own, and how far they read.
  private func loadDealings() throws(ServerFileFailure) {
    let ties = server.knobs.ties
    try database.each(
      "SELECT conversation, user, id, number, tick_us, arrival FROM marker"
    ) { row in
      let place = Place(
        number: row.number(3), tickUs: row.number(4), arrival: Int(row.number(5)),
        id: row.text(2))
      _ = server.conversations[row.text(0)]?.moveMarker(
        of: row.text(1), to: ReadMarker(id: row.text(2), place: place), ties)
    }
    try database.each("SELECT conversation, user, client_id, data FROM sent") { row in
      let key = SendKey(user: row.text(1), clientID: row.text(2))
      server.conversations[row.text(0)]?.sent[key] = Array(row.text(3).utf8)
    }
    try database.each("SELECT user, client_id, conversation FROM creation") { row in
      server.creations[SendKey(user: row.text(0), clientID: row.text(1))] = row.text(2)
      server.conversations[row.text(2)]?.names[row.text(0)] = row.text(1)
    }
    try database.each("SELECT user, name FROM channel") { row in
      server.channels[row.text(0)] = row.text(1)
    }
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

  private static func times(_ json: String) -> [String: Int64] {
    var cursor = JSONCursor(Array(json.utf8))
    var all: [String: Int64] = [:]
    _ = cursor.object { cursor, name in
      guard let us = cursor.integer() else { return false }
      all[name] = Int64(us)
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
      for table in ["message", "deletion", "marker", "sent", "entry"] {
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
    case .marker(let conversation, let user): try writeMarker(conversation, user)
    case .sent(let conversation, let key): try writeSent(conversation, key)
    case .creation(let key): try writeCreation(key)
    case .channel(let user):
      try database.run("DELETE FROM channel WHERE user = ?", [.text(user)])
      if let name = server.channels[user] {
        try database.run("INSERT INTO channel VALUES (?, ?)", [.text(user), .text(name)])
      }
    case .entry(let conversation, let place, let entry):
      try writeEntry(conversation, place, entry)
    case .purge(let conversation, let first, let ids):
      try database.run(
        "DELETE FROM entry WHERE conversation = ? AND place < ?",
        [.text(conversation), .number(Int64(first))])
      for id in ids {
        try database.run(
          "DELETE FROM message WHERE conversation = ? AND id = ?",
          [.text(conversation), .text(id)])
      }
    case .everything: try writeEverything()
    }
  }

  private func writeEntry(
    _ conversation: String, _ place: Int, _ entry: EntryLog.Entry
  ) throws(ServerFileFailure) {
    try database.run(
      "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)",
      [
        .text(conversation), .number(Int64(place)), .text(entry.id), .text(entry.sender),
        .bytes(entry.bytes),
      ])
  }

  private func writeEverything() throws(ServerFileFailure) {
    try database.run(
      """
      DELETE FROM message; DELETE FROM deletion; DELETE FROM conversation; DELETE FROM owed;
      DELETE FROM marker; DELETE FROM sent; DELETE FROM creation; DELETE FROM entry
      """)
    for id in server.conversationIDs {
      guard let state = server.conversations[id] else { continue }
      try writeConversation(id)
      for row in state.rows { try writeMessage(row.message) }
      for entry in state.deletions {
        try writeDeletion(id, entry, state.deadVersions[entry.id] ?? 0)
      }
      for (index, entry) in state.log.entries.enumerated() {
        try writeEntry(id, state.log.first + index, entry)
      }
      for user in state.markers.keys { try writeMarker(id, user) }
      for key in state.sent.keys { try writeSent(id, key) }
    }
    for key in server.creations.keys { try writeCreation(key) }
  }

  private func writeMarker(_ id: String, _ user: String) throws(ServerFileFailure) {
    guard let marker = server.conversations[id]?.markers[user] else { return }
    try database.run(
      "INSERT OR REPLACE INTO marker VALUES (?, ?, ?, ?, ?, ?)",
      [
        .text(id), .text(user), .text(marker.id), .number(marker.place.number),
        .number(marker.place.tickUs), .number(Int64(marker.place.arrival)),
      ])
  }

  private func writeSent(_ id: String, _ key: SendKey) throws(ServerFileFailure) {
    guard let data = server.conversations[id]?.sent[key] else { return }
    try database.run(
      "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)",
      [.text(id), .text(key.user), .text(key.clientID), .bytes(data)])
  }

  private func writeCreation(_ key: SendKey) throws(ServerFileFailure) {
    guard let id = server.creations[key] else { return }
    try database.run(
      "INSERT OR REPLACE INTO creation VALUES (?, ?, ?)",
      [.text(key.user), .text(key.clientID), .text(id)])
  }

  private func writeConversation(_ id: String) throws(ServerFileFailure) {
    guard let state = server.conversations[id] else { return }
    var participants: [UInt8] = []
    ServerJSON.write(state.participants, into: &participants)
    var admins: [UInt8] = []
    ServerJSON.write(state.admins, into: &admins)
    try database.run(
      """
      INSERT INTO conversation (id, title, participants, admins, metadata, created_us, updated_us,
      direct, distinct_one) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET title = excluded.title, participants = excluded.participants,
      admins = excluded.admins, metadata = excluded.metadata, updated_us = excluded.updated_us
      """,
      [
        .text(id), .text(state.title), .bytes(participants), .bytes(admins),
        state.metadata.map(Database.Value.text) ?? .null, .number(state.createdUs),
        state.updatedUs.map(Database.Value.number) ?? .null, .number(state.isDirect ? 1 : 0),
        .number(state.isDistinct ? 1 : 0),
      ])
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
      "INSERT OR REPLACE INTO message VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      [
        .text(message.conversation), .text(message.id), .text(message.sender),
        .number(message.stampUs), .number(Int64(message.arrival)), .text(message.payload),
        .number(Int64(message.version)), message.editedUs.map(Database.Value.number) ?? .null,
        message.replyTo.map(Database.Value.text) ?? .null, .bytes(reactions), list(message.readBy),
        .number(Int64(message.flaw.rawValue)), list(message.deliveredBy), list(message.listenedBy),
        message.isPinned.map { .number($0 ? 1 : 0) } ?? .null,
        message.changedUs.map(Database.Value.number) ?? .null, .number(message.number),
        message.previousID.map(Database.Value.text) ?? .null,
        message.clientID.map(Database.Value.text) ?? .null,
        message.attachment.map(Database.Value.text) ?? .null,
        message.metadata.map(Database.Value.text) ?? .null, .bytes(marked(message)),
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

  private func marked(_ message: ServerMessage) -> [UInt8] {
    var out = Writer(server.knobs)
    out.raw("{")
    for (index, key) in message.markedUs.keys.sorted().enumerated() {
      if index > 0 { out.raw(",") }
      ServerJSON.write(key, into: &out.bytes)
      out.raw(":\(message.markedUs[key] ?? 0)")
    }
    out.raw("}")
    return out.bytes
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
