/// How far imports are: tables of their own, which are there once something was imported.
///
/// Rule protected: where an import stands is written with the messages that it took, so that after
/// any end it goes on behind the last of them.
internal import Base

/// How far an import is.
package struct ImportRecord: Equatable, Sendable {
  package var name: [UInt8]
  /// Where its source goes on, how many lines were passed, and what comes next.
  package var offset: Int64 = 0
  package var lines: Int64 = 0
  package var state: Int64 = 0
  /// Messages that were new, that were here, and lines that are of no use.
  package var inserted: Int64 = 0
  package var known: Int64 = 0
  package var bad: Int64 = 0
  package var isDone = false

  package init(name: [UInt8]) { self.name = name }
}

/// A line that is of no use, and why, as the number of the reason in the file.
package struct BadLine: Equatable, Sendable {
  package var number: Int64
  package var reason: Int64

  package init(number: Int64, reason: Int64) {
    self.number = number
    self.reason = reason
  }
}

package struct ImportTable {
  private let connection: Connection

  package init(_ rx: ReadTransaction) throws(StoreFailure) {
    connection = try rx.connection
  }

  private var isThere: Bool { connection.hasTable("import") }

  package func record(_ name: [UInt8]) throws(StoreFailure) -> ImportRecord? {
    guard isThere else { return nil }
    let row = try connection.statement(
      """
      SELECT place, lines, state, inserted, known, bad, done FROM import WHERE name = ?
      """, name)
    guard try row.step() else { return nil }
    var record = ImportRecord(name: name)
    (record.offset, record.lines, record.state) = (row.int(0), row.int(1), row.int(2))
    (record.inserted, record.known, record.bad) = (row.int(3), row.int(4), row.int(5))
    record.isDone = row.int(6) != 0
    return record
  }

  /// Lines of no use behind a number, in their order.
  package func bad(
    _ name: [UInt8], after number: Int64, limit: Int
  ) throws(StoreFailure) -> [BadLine] {
    guard isThere else { return [] }
    let row = try connection.statement(
      """
      SELECT line, reason FROM import_bad WHERE name = ? AND line > ? ORDER BY line LIMIT ?
      """, name, number, limit)
    var found: [BadLine] = []
    while try row.step() { found.append(BadLine(number: row.int(0), reason: row.int(1))) }
    return found
  }

  /// In a write: how far it is now, with the lines of no use that were passed.
  package func save(_ record: ImportRecord, _ bad: [BadLine]) throws(StoreFailure) {
    if !isThere { try create() }
    for line in bad {
      try connection.runNoted(
        "INSERT OR REPLACE INTO import_bad (name, line, reason) VALUES (?, ?, ?)", record.name,
        line.number, line.reason)
    }
    try connection.runNoted(
      """
      INSERT OR REPLACE INTO import (name, place, lines, state, inserted, known, bad, done)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, record.name, record.offset, record.lines, record.state, record.inserted, record.known,
      record.bad, record.isDone ? 1 : 0)
  }

  /// In a write: a line is of use after all, or will be named once more.
  package func clearBad(_ number: Int64, of name: [UInt8]) throws(StoreFailure) {
    try connection.runNoted("DELETE FROM import_bad WHERE name = ? AND line = ?", name, number)
  }

  /// In a write: it begins anew.
  package func remove(_ name: [UInt8]) throws(StoreFailure) {
    guard isThere else { return }
    try connection.runNoted("DELETE FROM import_bad WHERE name = ?", name)
    try connection.runNoted("DELETE FROM import WHERE name = ?", name)
  }

  private func create() throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE import (
        name BLOB NOT NULL PRIMARY KEY,
        place INTEGER NOT NULL,
        lines INTEGER NOT NULL,
        state INTEGER NOT NULL,
        inserted INTEGER NOT NULL,
        known INTEGER NOT NULL,
        bad INTEGER NOT NULL,
        done INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE import_bad (
        name BLOB NOT NULL,
        line INTEGER NOT NULL,
        reason INTEGER NOT NULL,
        PRIMARY KEY (name, line)
      ) STRICT, WITHOUT ROWID;
      """)
  }

  /// Nothing that was imported is stored any more.
  static func empty(_ connection: Connection) throws(StoreFailure) {
    guard connection.hasTable("import") else { return }
    try connection.execute("DELETE FROM import; DELETE FROM import_bad")
  }
}
