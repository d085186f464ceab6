/// One SQLite connection: owns the handle, keeps its prepared statements, and
/// turns every result code into a failure once.
///
/// A connection is used by one thread at a time; the store sees to that.
internal import CSQLite
internal import Support
internal import Text
internal import Vault

@safe package final class Connection {
  private var handle: OpaquePointer?
  private let kept = StatementCache()
  let memo = ReadCache()
  private(set) lazy var room = Parameters.Room()
  private var hasTokenizer = false
  /// New messages may wait to be indexed: somebody does it in slices.
  var indexesLater = false
  /// What of a payload is searched.
  var members = MemberNames.common

  /// Takes over an open handle.
  init(adopting handle: OpaquePointer) {
    unsafe self.handle = handle
    unsafe sqlite3_extended_result_codes(handle, 1)
  }

  /// Opens a private database in memory.
  static func memory() throws(StoreFailure) -> Connection {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    // The system is named, because a host may have made another one the default.
    let code = unsafe sqlite3_open_v2(":memory:", &handle, flags, "unix")
    guard code == SQLITE_OK, let opened = unsafe handle else {
      unsafe sqlite3_close_v2(handle)
      throw StoreFailure(sqlite: code)
    }
    return unsafe Connection(adopting: opened)
  }

  deinit {
    close()
  }

  /// Finalizes what is prepared and closes. A second call does nothing.
  func close() {
    guard let open = unsafe handle else { return }
    kept.empty()
    memo.invalidate()
    unsafe handle = nil
    unsafe sqlite3_close_v2(open)
  }

  /// Writes all that another file has over this one.
  func replaceAll(with source: Connection, in vault: Vault) throws(StoreFailure) {
    guard let handle = unsafe handle, let source = unsafe source.handle else { throw .closed }
    rollBack()
    memo.invalidate()
    do throws(VaultFailure) { try unsafe vault.replaceAll(of: handle, with: source) } catch {
      throw StoreFailure(error)
    }
  }

  /// Copies all of the log into the file and syncs it. False where a reader is in the way.
  func writeBack(_ vault: Vault) throws(StoreFailure) -> Bool {
    guard let handle = unsafe handle else { throw .closed }
    // A read that was kept open would be in the way.
    rollBack()
    do throws(VaultFailure) { return try unsafe vault.writeBack(handle) } catch {
      throw StoreFailure(error)
    }
  }

  /// Begins to give the file a new data key.
  func rotation(of vault: Vault) throws(StoreFailure) -> VaultRotation {
    guard let handle = unsafe handle else { throw .closed }
    do throws(VaultFailure) { return try unsafe vault.rotation(from: handle) } catch {
      throw StoreFailure(error)
    }
  }

  /// Whether the log is left as it is when the connection closes; else what it holds goes into
  /// the file.
  func keepLog(_ isKept: Bool) {
    guard let handle = unsafe handle else { return }
    _ = unsafe tideline_db_config_flag(
      handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept ? 1 : 0)
  }

  /// Whether the tables that a virtual table keeps for itself are safe from all statements but its
  /// own. Where that changes each statement is prepared anew.
  func guardShadows(_ isGuarded: Bool) {
    guard let handle = unsafe handle else { return }
    _ = unsafe tideline_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, isGuarded ? 1 : 0)
  }

  /// Sets how many pages the log may have before a commit writes them back into the file.
  func setLog(pages: Int) {
    guard let handle = unsafe handle else { return }
    unsafe sqlite3_wal_autocheckpoint(handle, Int32(clamping: pages))
  }

  /// Makes the tokenizer of Text known to the full-text search of this connection.
  func registerTokenizer() throws(StoreFailure) {
    if hasTokenizer { return }
    guard let handle = unsafe handle else { throw .closed }
    let code = unsafe SearchTokenizer.register(handle)
    guard code == SQLITE_OK else { throw StoreFailure(sqlite: code) }
    hasTokenizer = true
  }

  /// Whether there is a table, as the schema says that the connection has read: no statement runs.
  func hasTable(_ name: StaticString) -> Bool {
    guard let handle = unsafe handle else { return false }
    return unsafe name.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: name.utf8CodeUnitCount
    ) { name in
      unsafe sqlite3_table_column_metadata(handle, nil, name, nil, nil, nil, nil, nil, nil)
        == SQLITE_OK
    }
  }

  /// Whether no transaction is open.
  var isAutocommit: Bool {
    guard let handle = unsafe handle else { return true }
    return unsafe sqlite3_get_autocommit(handle) != 0
  }

  /// Rows written since the opening; it wraps, so compare for equality only.
  var totalChanges: Int32 {
    guard let handle = unsafe handle else { return 0 }
    return unsafe sqlite3_total_changes(handle)
  }

  /// Rows written by the last statement that wrote.
  var changes: Int32 {
    guard let handle = unsafe handle else { return 0 }
    return unsafe sqlite3_changes(handle)
  }

  /// Runs constant text that gives no rows and is not worth keeping prepared.
  func execute(_ text: StaticString) throws(StoreFailure) {
    guard let handle = unsafe handle else { throw .closed }
    memo.invalidate()
    let code = text.withUTF8Buffer { bytes in
      // A static string of the program ends with a terminator.
      unsafe sqlite3_exec(
        handle, UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self),
        nil, nil, nil)
    }
    guard code == SQLITE_OK else { throw StoreFailure(sqlite: code) }
  }

  /// Sets how much memory the connection may keep decrypted pages in.
  func setCache(bytes: UInt64) {
    guard let handle = unsafe handle else { return }
    let text = "PRAGMA cache_size = -\(Swift.max(64, bytes >> 10))"
    // A cache of another size is slower or larger, and changes no answer.
    _ = unsafe text.withCString { text in unsafe sqlite3_exec(handle, text, nil, nil, nil) }
  }

  /// Ends an open transaction without its effect.
  ///
  /// SQLite may have rolled back by itself. Where it cannot at all the connection
  /// is closed, so that nothing is ever added to a transaction that failed.
  func rollBack() {
    guard unsafe handle != nil, !isAutocommit else { return }
    do {
      // Each read ends here, so the statement is kept.
      try run("ROLLBACK")
    } catch {
      // What did not end is seen below.
    }
    if !isAutocommit { close() }
  }

  /// A prepared statement with its parameters bound, from the cache where it is
  /// there. One that writes ends what was kept of earlier reads.
  func statement<each Value: Bindable>(
    _ text: StaticString, _ values: repeat each Value
  ) throws(StoreFailure) -> Statement {
    let statement = try unbound(text, isNoted: false)
    try bind(repeat each values, to: statement)
    return statement
  }

  /// What does not depend on the parameters is one function: a copy of it for each list of their
  /// types made the library 50 kB larger.
  @inline(never)
  private func unbound(
    _ text: StaticString, isNoted: Bool
  ) throws(StoreFailure) -> Statement {
    let place = kept.place(of: text)
    let prepared: OpaquePointer
    if let ready = unsafe kept.checkOut(place) {
      unsafe prepared = ready
    } else {
      unsafe prepared = try prepare(text)
    }
    let statement = unsafe Statement(prepared, place: place, of: self)
    if !isNoted, !statement.isReadOnly { memo.invalidate() }
    return statement
  }

  private func bind<each Value: Bindable>(
    _ values: repeat each Value, to statement: borrowing Statement
  ) throws(StoreFailure) {
    var index: Int32 = 0
    for value in repeat each values {
      index += 1
      try value.bind(to: statement, at: index)
    }
  }

  /// Runs a statement that gives no rows.
  func run<each Value: Bindable>(
    _ text: StaticString, _ values: repeat each Value
  ) throws(StoreFailure) {
    let statement = try unbound(text, isNoted: false)
    try bind(repeat each values, to: statement)
    try statement.finish()
  }

  /// The same for who brings what was kept of earlier reads to the new state himself.
  func runNoted<each Value: Bindable>(
    _ text: StaticString, _ values: repeat each Value
  ) throws(StoreFailure) {
    let statement = try unbound(text, isNoted: true)
    try bind(repeat each values, to: statement)
    try statement.finish()
  }

  /// The same for a statement with many parameters, which `bind` gives in turn.
  func runNoted(
    _ text: StaticString, binding bind: (inout Parameters) -> Void
  ) throws(StoreFailure) {
    let statement = try unbound(text, isNoted: true)
    var parameters = statement.parameters()
    bind(&parameters)
    try parameters.end()
    while try statement.step() {}
  }

  /// The first column of the first row of a statement, as a number.
  func number<each Value: Bindable>(
    _ text: StaticString, _ values: repeat each Value
  ) throws(StoreFailure) -> Int64? {
    let statement = try statement(text, repeat each values)
    guard try statement.step() else { return nil }
    return statement.optionalInt(0)
  }

  /// How SQLite would run a statement, step by step.
  func plan(of text: StaticString) throws(StoreFailure) -> [String] {
    guard let handle = unsafe handle else { throw .closed }
    var prepared: OpaquePointer?
    let code = unsafe sqlite3_prepare_v2(
      handle, "EXPLAIN QUERY PLAN \(text)", -1, &prepared, nil)
    guard code == SQLITE_OK, let ready = unsafe prepared else {
      throw StoreFailure(sqlite: code)
    }
    let statement = unsafe Statement(ready, place: StatementCache.noPlace, of: self)
    var steps: [String] = []
    while try statement.step() {
      steps.append(String(decoding: statement.bytes(3), as: UTF8.self))
    }
    return steps
  }

  private func prepare(_ text: StaticString) throws(StoreFailure) -> OpaquePointer {
    guard let handle = unsafe handle else { throw .closed }
    var prepared: OpaquePointer?
    let code = text.withUTF8Buffer { bytes in
      unsafe sqlite3_prepare_v3(
        handle, UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self),
        Int32(clamping: bytes.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    }
    guard code == SQLITE_OK, let ready = unsafe prepared else {
      throw StoreFailure(sqlite: code)
    }
    return unsafe ready
  }

  /// Takes a statement back that is no longer used; one without a place is not kept.
  func takeBack(_ prepared: OpaquePointer, place: Int) {
    unsafe sqlite3_reset(prepared)
    unsafe sqlite3_clear_bindings(prepared)
    // One that comes back after the end would keep the connection open.
    if unsafe handle == nil || !kept.giveBack(prepared, place: place) {
      unsafe sqlite3_finalize(prepared)
    }
  }
}
