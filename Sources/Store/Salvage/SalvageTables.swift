/// The tables of which rows are saved, and how a record of a page becomes a row of a new file.
///
/// Rule protected: a row is taken only where its values have the kinds of its table's columns. Of
/// two rows of one key the later one stays.
internal import Base

/// A table of the new file.
struct SalvageTable {
  private struct Column {
    let name: [UInt8]
    let isBytes: Bool
    let isOptional: Bool
    let isRowid: Bool
    /// What an older record has that lacks it.
    let standIn: StoredValue?
  }

  let name: [UInt8]
  let insert: StaticString
  let replace: StaticString
  /// Finds the newest of the rows that are in the way; nil where the first one stays.
  let rival: StaticString?
  /// Its rows lie in pages of an index.
  let isIndex: Bool
  /// No other table has records of this shape.
  let isDistinct: Bool
  private let columns: [Column]

  init(
    _ name: StaticString, insert: StaticString, replace: StaticString, rival: StaticString? = nil,
    isIndex: Bool = false, isDistinct: Bool = true, in connection: Connection
  ) throws(StoreFailure) {
    self.name = bytes(name)
    (self.insert, self.replace, self.rival) = (insert, replace, rival)
    (self.isIndex, self.isDistinct) = (isIndex, isDistinct)
    var columns: [Column] = []
    let row = try connection.statement(
      "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)", self.name)
    while try row.step() {
      let isBytes = row.bytes(1) == bytes("BLOB")
      let standIn: StoredValue? =
        row.int(2) == 0 ? .null : row.isNull(3) ? nil : isBytes ? .bytes([]) : .int(0)
      columns.append(
        Column(
          name: row.bytes(0), isBytes: isBytes, isOptional: row.int(2) == 0,
          isRowid: !isIndex && row.int(4) == 1 && !isBytes, standIn: standIn))
    }
    self.columns = columns
  }

  func place(of column: StaticString) -> Int? {
    let name = bytes(column)
    return columns.firstIndex { $0.name == name }
  }

  /// The values of a row in the order of the table; nil for a record that is none of it.
  func row(_ record: PageRecord, order: [[UInt8]]?) -> [StoredValue]? {
    guard (record.rowid == nil) == isIndex else { return nil }
    let names = order ?? columns.map(\.name)
    // Columns that were added since are not in older records.
    guard record.values.count <= names.count, record.values.count &+ 8 >= names.count else {
      return nil
    }
    var row: [StoredValue] = []
    for column in columns {
      let place = names.firstIndex(of: column.name)
      var value =
        place.flatMap { record.values.indices.contains($0) ? record.values[$0] : nil }
        ?? column.standIn
      if column.isRowid, let rowid = record.rowid { value = .int(rowid) }
      switch value {
      case .null where column.isOptional: row.append(.null)
      case .int(let number) where !column.isBytes: row.append(.int(number))
      case .bytes(let text) where column.isBytes: row.append(.bytes(text))
      default: return nil
      }
    }
    return row
  }

  /// The conversation that a row is of; nil for a table whose rows say nothing of what is complete.
  func conversation(of row: [StoredValue]) -> Int64? {
    Self.ofConversations.contains { bytes($0) == name }
      ? place(of: "cid").flatMap { row[$0].int } : nil
  }

  private static let ofConversations: [StaticString] = [
    "message", "conversation", "span", "tombstone", "quarantine", "entry", "log_range", "log_fact",
  ]

  /// Puts a row in; false where another one was in its way, of which the later one stays.
  func put(_ row: [StoredValue], into connection: Connection) throws(StoreFailure) -> Bool {
    try run(insert, row, connection)
    if connection.changes > 0 { return true }
    guard let rival, let place = place(of: "lsn"), let lsn = row[place].int,
      let newest = try newest(rival, row, connection), newest < lsn
    else { return false }
    try run(replace, row, connection)
    return false
  }

  private func run(
    _ text: StaticString, _ row: [StoredValue], _ connection: Connection
  ) throws(StoreFailure) {
    try connection.runNoted(text) { parameters in
      for value in row {
        switch value {
        case .null: parameters.bind(nil as Int64?)
        case .int(let number): parameters.bind(number)
        case .bytes(let text): parameters.bind(text)
        }
      }
    }
  }

  /// The parameters of the statement are the row's first columns.
  private func newest(
    _ text: StaticString, _ row: [StoredValue], _ connection: Connection
  ) throws(StoreFailure) -> Int64? {
    guard let first = row.first?.int else { return nil }
    let client = place(of: "client_id").flatMap { row[$0].bytes }
    if isIndex {
      guard let number = place(of: "number").flatMap({ row[$0].int }), let time = row[1].int,
        let key = row[2].bytes
      else { return nil }
      return try connection.number(text, first, time, key, number)
    }
    guard place(of: "client_id") != nil else { return try connection.number(text, first) }
    return try connection.number(text, first, client)
  }
}

extension SalvageTable {
  static func all(_ connection: Connection) throws(StoreFailure) -> [SalvageTable] {
    var tables: [SalvageTable] = [
      try SalvageTable(
        "message",
        insert: """
          INSERT OR IGNORE INTO message VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        replace: """
          INSERT OR REPLACE INTO message VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        rival: """
          SELECT max(lsn) FROM message WHERE (cid = ?1 AND time = ?2 AND key = ?3) OR number = ?4
            OR (cid = ?1 AND id = iif(?3 >= x'01' AND ?3 < x'F8', ?3, substr(?3, 5)))
          """,
        isIndex: true, in: connection),
      try SalvageTable(
        "operation",
        insert: """
          INSERT OR IGNORE INTO operation VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        replace: """
          INSERT OR REPLACE INTO operation VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        rival: "SELECT max(lsn) FROM operation WHERE seq = ? OR client_id = ?", in: connection),
      try SalvageTable(
        "conversation",
        insert: """
          INSERT OR IGNORE INTO conversation VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
            ?, ?, ?)
          """,
        replace: "SELECT 1", in: connection),
      try SalvageTable(
        "draft", insert: "INSERT OR IGNORE INTO draft VALUES (?, ?, ?, ?)",
        replace: "INSERT OR REPLACE INTO draft VALUES (?, ?, ?, ?)",
        rival: "SELECT lsn FROM draft WHERE cid = ?", in: connection),
      try SalvageTable(
        "offered", insert: "INSERT OR IGNORE INTO offered VALUES (?, ?, ?, ?)",
        replace: "SELECT 1", in: connection),
      try SalvageTable(
        "ref", insert: "INSERT OR IGNORE INTO ref VALUES (?, ?, ?, ?)", replace: "SELECT 1",
        in: connection),
      try SalvageTable(
        "alias", insert: "INSERT OR IGNORE INTO alias VALUES (?, ?)", replace: "SELECT 1",
        isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "forgotten", insert: "INSERT OR IGNORE INTO forgotten VALUES (?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "meta",
        insert: """
          INSERT OR REPLACE INTO meta VALUES
            (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        replace: "SELECT 1", in: connection),
    ]
    tables.append(contentsOf: try cache(connection))
    if connection.hasTable("log_fact") { tables.append(contentsOf: try log(connection)) }
    return tables
  }

  /// What the server said beside messages, which keeps ranges verified.
  private static func cache(_ connection: Connection) throws(StoreFailure) -> [SalvageTable] {
    [
      try SalvageTable(
        "span", insert: "INSERT OR IGNORE INTO span VALUES (?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "tombstone", insert: "INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "quarantine",
        insert: "INSERT OR IGNORE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isDistinct: false, in: connection),
    ]
  }

  private static func log(_ connection: Connection) throws(StoreFailure) -> [SalvageTable] {
    [
      try SalvageTable(
        "log_fact", insert: "INSERT OR IGNORE INTO log_fact VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isDistinct: false, in: connection),
      try SalvageTable(
        "entry",
        insert: "INSERT OR IGNORE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "log_range",
        insert: "INSERT OR IGNORE INTO log_range VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
      try SalvageTable(
        "log_token", insert: "INSERT OR IGNORE INTO log_token VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        replace: "SELECT 1", isIndex: true, isDistinct: false, in: connection),
    ]
  }
}
