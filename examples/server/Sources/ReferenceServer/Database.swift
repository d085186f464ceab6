/// As much of SQLite as the server's file needs.
///
/// Statements are prepared once and kept; each failure is thrown with SQLite's
/// own code and words.

import CSQLite

/// One connection. Confined to one thread at a time.
final class Database {
  enum Value {
    case null
    case number(Int64)
    case text(String)
    case bytes([UInt8])
  }

  /// The current row of a reading.
  struct RowReader {
    fileprivate let statement: OpaquePointer

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func text(_ column: Int32) -> String {
      guard let start = sqlite3_column_text(statement, column) else { return "" }
      let count = Int(sqlite3_column_bytes(statement, column))
      return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }

  private var handle: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  init(_ path: String) throws(ServerFileFailure) {
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    guard code == SQLITE_OK else {
      let failure = self.failure(code)
      sqlite3_close(handle)
      handle = nil
      throw failure
    }
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(handle)
  }

  private func failure(_ code: Int32) -> ServerFileFailure {
    let words = sqlite3_errmsg(handle).map { String(cString: $0) }
    return ServerFileFailure(code: code, text: words ?? "cannot be opened")
  }

  /// Runs statements without values or results.
  func run(_ sql: String) throws(ServerFileFailure) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  func run(_ sql: String, _ values: [Value]) throws(ServerFileFailure) {
    let statement = try prepared(sql)
    for (index, value) in values.enumerated() {
      let code = bind(value, Int32(index + 1), statement)
      guard code == SQLITE_OK else { throw failure(code) }
    }
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code) }
  }

  func each(_ sql: String, _ body: (RowReader) -> Void) throws(ServerFileFailure) {
    let statement = try prepared(sql)
    defer { sqlite3_reset(statement) }
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw failure(code) }
      body(RowReader(statement: statement))
    }
  }

  func number(_ sql: String) throws(ServerFileFailure) -> Int64 {
    var value: Int64 = 0
    try each(sql) { value = $0.number(0) }
    return value
  }

  private func prepared(_ sql: String) throws(ServerFileFailure) -> OpaquePointer {
    if let known = statements[sql] { return known }
    var made: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
    guard code == SQLITE_OK, let made else { throw failure(code) }
    statements[sql] = made
    return made
  }

  private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer) -> Int32 {
    // SQLite copies what it is told is transient.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: return sqlite3_bind_null(statement, index)
    case .number(let number): return sqlite3_bind_int64(statement, index, number)
    case .text(let text):
      return sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), transient)
    case .bytes(let bytes):
      return bytes.withUnsafeBytes { raw in
        let start = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
        return sqlite3_bind_text(statement, index, start, Int32(raw.count), transient)
      }
    }
  }
}

/// Why the server's file cannot be used.
public struct ServerFileFailure: Error, Sendable, CustomStringConvertible {
  public let code: Int32
  public let text: String

  public var description: String { "\(text) (SQLite \(code))" }
}
