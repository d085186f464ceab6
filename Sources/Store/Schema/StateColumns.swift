/// What changes of a conversation, as values in one order: columns of its own row, or packed in
/// one of the row of `meta`.
internal import Base
internal import Timeline

/// Takes values in turn.
protocol ColumnSink: ~Copyable {
  mutating func bind(_ value: Int64?)
  mutating func bind(_ value: UInt64?)
  mutating func bind(_ value: [UInt8]?)
}

/// Gives values by their places.
protocol ColumnSource: ~Copyable {
  borrowing func int(_ column: Int32) -> Int64
  borrowing func optionalInt(_ column: Int32) -> Int64?
  borrowing func uint(_ column: Int32) -> UInt64
  borrowing func bytes(_ column: Int32) -> [UInt8]
  borrowing func optionalBytes(_ column: Int32) -> [UInt8]?
}

extension ColumnSource where Self: ~Copyable {
  /// A count; nil where none was told, or one that is none: earlier commits took greater ones.
  borrowing func count(_ column: Int32) -> Int64? {
    optionalInt(column).flatMap { (0...Limits.countMax).contains($0) ? $0 : nil }
  }
}

extension Parameters: ColumnSink {}
extension Statement: ColumnSource {}

extension ConversationRecord {
  func bind(_ row: inout some ColumnSink & ~Copyable) {
    row.bind(fetch?.newest.time)
    row.bind(fetch?.text)
    row.bind(deletions?.time.us)
    row.bind(deletions?.text)
    row.bind(marks?.time.us)
    row.bind(marks?.text)
    row.bind(top?.time)
    row.bind(top?.key)
    row.bind(lowestSince?.us)
    row.bind(totalCount)
    row.bind(restoredLSN)
    row.bind(auditedTotal)
    row.bind(auditedCount)
  }
}

extension UnreadCounters {
  func bind(_ row: inout some ColumnSink & ~Copyable) {
    row.bind(marker?.time)
    row.bind(marker?.key)
    row.bind(named)
    row.bind(here)
    row.bind(number)
    row.bind(top?.time)
    row.bind(top?.key)
    row.bind(counted)
    row.bind(went)
    row.bind(came)
  }

  /// How many they are.
  static let columns: Int32 = 10

  init(_ row: borrowing some ColumnSource & ~Copyable, from column: Int32) {
    self.init(
      marker: Position(row, column: column), named: row.optionalBytes(column + 2),
      here: row.count(column + 3) ?? 0, number: row.count(column + 4),
      top: Position(row, column: column + 5), counted: row.uint(column + 7),
      went: row.uint(column + 8), came: row.uint(column + 9))
  }
}

extension ConversationRecord {
  /// How many columns hold what changes of it.
  static let stateColumns: Int32 = 13

  mutating func readState(_ row: borrowing some ColumnSource & ~Copyable, from column: Int32) {
    fetch = Watermark(row, column: column).map {
      ContentMark(newest: .before($0.time), text: $0.text)
    }
    deletions = Watermark(row, column: column + 2)
    marks = Watermark(row, column: column + 4)
    top = Position(row, column: column + 6)
    lowestSince = row.optionalInt(column + 8).map { ServerTime(us: $0) }
    totalCount = row.count(column + 9)
    restoredLSN = row.uint(column + 10)
    auditedTotal = row.count(column + 11)
    auditedCount = row.count(column + 12)
  }

  /// The same of another record of it.
  func with(stateOf other: ConversationRecord) -> ConversationRecord {
    var record = ConversationRecord(cid: cid, id: id)
    record.isPending = isPending
    record.deletedLSN = deletedLSN
    record.fetch = other.fetch
    record.deletions = other.deletions
    record.marks = other.marks
    record.top = other.top
    record.lowestSince = other.lowestSince
    record.totalCount = other.totalCount
    record.restoredLSN = other.restoredLSN
    record.auditedTotal = other.auditedTotal
    record.auditedCount = other.auditedCount
    return record
  }
}

extension Watermark {
  fileprivate init?(_ row: borrowing some ColumnSource & ~Copyable, column: Int32) {
    guard let time = row.optionalInt(column) else { return nil }
    self.init(at: ServerTime(us: time), text: row.bytes(column + 1))
  }
}

extension Position {
  fileprivate init?(_ row: borrowing some ColumnSource & ~Copyable, column: Int32) {
    guard let time = row.optionalInt(column) else { return nil }
    self.init(time: time, key: row.bytes(column + 1))
  }
}
