/// Opens SQLite's connections to a vault, with the settings that keep it safe.
///
/// One connection writes and checkpoints: SQLite can lose data when another one
/// checkpoints beside a commit, and when a transaction spills its cache and is
/// then partly rolled back. Both settings here avoid that.
internal import CSQLite
internal import Support

struct ConnectionOpener {
  let path: String
  let vfsName: String
  /// The vault's number in the registry: what stands in the name instead of a key.
  let number: UInt64

  /// Pages in the log before the writer checkpoints: about 12 MB. What is left of it by a kill
  /// is read at the next opening, in some 15 ms.
  static let checkpointPages = 3000
  /// What a restarted log is cut to, after a large transaction has made it long.
  private static let logBytesKept = 16 << 20
  /// How long a connection waits for another that is just being opened or closed.
  private static let busyMs: Int32 = 2000

  /// Reads the log and becomes the writer, unless `accept` refuses what was found.
  func openWriter(
    _ accept: (OpaquePointer) throws(VaultFailure) -> Void
  ) throws(VaultFailure) -> OpaquePointer {
    let connection = try unsafe open(writer: true)
    do throws(VaultFailure) {
      // Until everything is well, closing must not touch the file.
      try unsafe set(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
      try unsafe harden(connection)
      try unsafe run(
        connection,
        """
        PRAGMA temp_store=MEMORY;
        PRAGMA cache_spill=OFF;
        PRAGMA synchronous=NORMAL;
        PRAGMA wal_autocheckpoint=\(Self.checkpointPages);
        PRAGMA journal_size_limit=\(Self.logBytesKept);
        SELECT count(*) FROM sqlite_schema;
        """)
      guard try unsafe isInLogMode(connection) else { throw .damaged }
      unsafe try accept(connection)
      try unsafe set(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
      return unsafe connection
    } catch {
      unsafe sqlite3_close_v2(connection)
      throw error
    }
  }

  /// Committed frames of the log, as the header of SQLite's index of it says: byte 12 is 1 once it
  /// was made, and they are at 16.
  static func logFrames(_ connection: OpaquePointer) -> UInt64 {
    var file: SQLiteFile?
    var index: UnsafeMutableRawPointer?
    let isOpen = unsafe sqlite3_file_control(
      connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard isOpen == SQLITE_OK, let base = unsafe baseFile(file),
      let call = unsafe base.pointee.pMethods?.pointee.xShmMap,
      unsafe call(base, 0, 32_768, 0, &index) == SQLITE_OK, let index = unsafe index,
      unsafe index.load(fromByteOffset: 12, as: UInt8.self) != 0
    else { return 0 }
    return UInt64(unsafe index.load(fromByteOffset: 16, as: UInt32.self))
  }

  /// Closes a writer and leaves its log as it is.
  static func discard(_ connection: OpaquePointer) {
    _ = unsafe tideline_db_config_flag(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    unsafe sqlite3_close_v2(connection)
  }

  func openReader() throws(VaultFailure) -> OpaquePointer {
    let connection = try unsafe open(writer: false)
    do throws(VaultFailure) {
      try unsafe set(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
      try unsafe harden(connection)
      try unsafe run(
        connection,
        """
        PRAGMA temp_store=MEMORY;
        PRAGMA cache_spill=OFF;
        PRAGMA query_only=ON;
        PRAGMA wal_autocheckpoint=0;
        """)
      return unsafe connection
    } catch {
      unsafe sqlite3_close_v2(connection)
      throw error
    }
  }

  /// A connection that keeps its transaction, and little in memory, while pages are copied from it.
  func openSource() throws(VaultFailure) -> OpaquePointer {
    let connection = try unsafe openReader()
    do throws(VaultFailure) {
      try unsafe run(
        connection,
        """
        PRAGMA cache_size=-\(Self.copyCacheKiB);
        BEGIN;
        SELECT count(*) FROM sqlite_schema;
        """)
      return unsafe connection
    } catch {
      unsafe sqlite3_close_v2(connection)
      throw error
    }
  }

  /// The connection that pages are copied to. They go into the file as they come: nobody else has
  /// it, and one that is not whole is never used.
  func openTarget() throws(VaultFailure) -> OpaquePointer {
    let connection = try unsafe open(writer: true)
    do throws(VaultFailure) {
      try unsafe run(
        connection,
        """
        PRAGMA temp_store=MEMORY;
        PRAGMA journal_mode=OFF;
        PRAGMA synchronous=OFF;
        PRAGMA cache_size=-\(Self.copyCacheKiB);
        """)
      return unsafe connection
    } catch {
      unsafe sqlite3_close_v2(connection)
      throw error
    }
  }

  private static let copyCacheKiB = 256

  private func open(writer: Bool) throws(VaultFailure) -> OpaquePointer {
    var connection: OpaquePointer?
    // Each connection is used by one thread at a time.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
    let result = unsafe sqlite3_open_v2(uri(writer: writer), &connection, flags, vfsName)
    guard result == SQLITE_OK, let connection = unsafe connection else {
      let extended = unsafe sqlite3_extended_errcode(connection)
      unsafe sqlite3_close_v2(connection)
      throw Vault.failure(fromSQLite: extended) ?? .io(result)
    }
    unsafe sqlite3_extended_result_codes(connection, 1)
    unsafe sqlite3_busy_timeout(connection, Self.busyMs)
    return unsafe connection
  }

  /// The path with every byte but the harmless ones escaped.
  private func uri(writer: Bool) -> String {
    var uri = "file://"
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        bytes.append(byte)
      default:
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    uri += String(decoding: bytes, as: UTF8.self)
    uri += "?\(SealedVFS.numberKey)=\(number)"
    return writer ? uri + "&\(SealedVFS.writerKey)=1" : uri
  }

  /// The schema is bytes from disk: it may not call functions or reach shadow tables.
  private func harden(_ connection: OpaquePointer) throws(VaultFailure) {
    try unsafe set(connection, SQLITE_DBCONFIG_DEFENSIVE, true)
    try unsafe set(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
    try unsafe set(connection, SQLITE_DBCONFIG_DQS_DML, false)
    try unsafe set(connection, SQLITE_DBCONFIG_DQS_DDL, false)
  }

  private func set(
    _ connection: OpaquePointer, _ option: Int32, _ on: Bool
  ) throws(VaultFailure) {
    let result = unsafe tideline_db_config_flag(connection, option, on ? 1 : 0)
    if result != SQLITE_OK { throw .io(result) }
  }

  private func run(_ connection: OpaquePointer, _ sql: String) throws(VaultFailure) {
    let result = unsafe sqlite3_exec(connection, sql, nil, nil, nil)
    if result != SQLITE_OK { throw Vault.failure(fromSQLite: result) ?? .io(result) }
  }

  private func isInLogMode(_ connection: OpaquePointer) throws(VaultFailure) -> Bool {
    var statement: OpaquePointer?
    var result = unsafe sqlite3_prepare_v2(connection, "PRAGMA journal_mode", -1, &statement, nil)
    defer { unsafe sqlite3_finalize(statement) }
    if result == SQLITE_OK { result = unsafe sqlite3_step(statement) }
    // What could not be asked says nothing of the file.
    guard result == SQLITE_ROW else { throw Vault.failure(fromSQLite: result) ?? .io(result) }
    guard let mode = unsafe sqlite3_column_text(statement, 0) else { return false }
    return unsafe String(cString: mode) == "wal"
  }
}
