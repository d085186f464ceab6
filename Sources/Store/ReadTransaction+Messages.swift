/// Pages of messages for a screen.
///
/// Each is a keyset read on the clustered key, so its cost does not depend on
/// the length of the conversation, and all bytes of a page lie in one arena, so
/// it reaches the host in one allocation. Hidden rows are passed over and do not
/// use up the limit.
internal import Base
package import Timeline

/// Which messages to read.
package struct RowQuery: Sendable {
  package enum From: Equatable, Sendable {
    /// The newest, going older.
    case latest
    /// The oldest stored, going newer.
    case oldest
    /// Older than this position.
    case before(Position)
    /// Newer than this position.
    case after(Position)
    /// Stamped at or after this time, going newer.
    case atTime(Int64)
    /// Stamped before this time, going older.
    case beforeTime(Int64)
  }

  package var cid: Int64
  package var from: From
  /// Visible messages at most.
  package var limit: Int
  package var pinnedOnly: Bool

  package init(cid: Int64, from: From, limit: Int, pinnedOnly: Bool = false) {
    self.cid = cid
    self.from = from
    self.limit = limit
    self.pinnedOnly = pinnedOnly
  }
}

/// One message of a page; the ranges point into the page's arena.
package struct RowView: Equatable, Sendable {
  package var number: UInt64
  /// First part of its position: its time, or the server's number.
  package var order: Int64
  package var timeUs: Int64
  package var flags: RowFlags
  package var lsn: UInt64
  package var id: Range<Int>
  package var sender: Range<Int>
  package var stamp: Range<Int>
  package var payload: Range<Int>
  package var replyTo: Range<Int>
  package var reactions: Range<Int>
  package var readBy: Range<Int>
  package var rest: Range<Int>
  package var deliveredBy: Range<Int>
  package var listenedBy: Range<Int>
  /// The send that this row shows while the server has not; 0 for a message.
  package var operation: UInt64 = 0
  /// How far that send is.
  package var state: OperationState = .done
}

/// Messages, oldest first, with the bytes behind them.
package struct RowPage: Equatable, Sendable {
  package internal(set) var rows: [RowView] = []
  package internal(set) var bytes: [UInt8] = []
  /// Ended before its limit, because its bytes would have become too many.
  package internal(set) var isCut = false

  /// Bytes of one page, unless its only row is larger.
  static let bytesMax = 64 << 20

  package func position(of row: RowView) -> Position {
    row.operation == 0
      ? Position(time: row.order, id: Array(self[row.id])) : .pending(row.operation)
  }

  /// The bytes of a field; empty for a range that is not of this page.
  package subscript(_ field: Range<Int>) -> ArraySlice<UInt8> {
    field.lowerBound >= 0 && field.upperBound <= bytes.count ? bytes[field] : []
  }

  /// Makes room for as many rows as are to come, or for those of a screen.
  fileprivate mutating func reserve(_ limit: Int) {
    let count = Swift.min(limit, 64)
    rows.reserveCapacity(count)
    bytes.reserveCapacity(count * 512)
  }

  /// Appends the row that a statement stands on: false when it has no room.
  mutating func append(_ row: borrowing Statement, isPending: Bool = false) -> Bool {
    // Long before that no row is asked how large it is.
    if bytes.count > Self.bytesMax / 2, bytes.count + row.size(7) + row.size(11) > Self.bytesMax {
      isCut = true
      return false
    }
    rows.append(
      RowView(
        number: row.uint(0), order: row.int(1), timeUs: row.optionalInt(12) ?? row.int(1),
        flags: RowFlags(rawValue: row.int(2)), lsn: row.uint(3), id: row.append(4, to: &bytes),
        sender: row.append(5, to: &bytes), stamp: row.append(6, to: &bytes),
        payload: row.append(7, to: &bytes), replyTo: row.append(8, to: &bytes),
        reactions: row.append(9, to: &bytes), readBy: row.append(10, to: &bytes),
        rest: row.append(11, to: &bytes), deliveredBy: row.append(13, to: &bytes),
        listenedBy: row.append(14, to: &bytes)))
    if isPending {
      rows[rows.count - 1].operation = row.uint(15)
      rows[rows.count - 1].state = OperationState(rawValue: row.int(16)) ?? .unknown
    }
    return true
  }
}

extension ReadTransaction {
  /// Above every message: an id is never this long.
  static let beyond = Position(
    time: .max, id: [UInt8](repeating: 0xFF, count: Limits.idBytesMax + 1))

  package func messages(_ query: RowQuery) throws(StoreFailure) -> RowPage {
    switch query.from {
    case .latest: try older(than: Self.beyond, query)
    case .before(let position): try older(than: position, query)
    case .oldest: try newer(from: .min, query)
    case .after(let position): try newer(from: position.successor, query)
    case .atTime(let time): try newer(from: boundary(atTime: time, query.cid), query)
    case .beforeTime(let time): try older(than: boundary(atTime: time, query.cid), query)
    }
  }

  private func older(than high: Position, _ query: RowQuery) throws(StoreFailure) -> RowPage {
    let limit = Swift.min(query.limit, Limits.readRowsMax)
    var page = RowPage()
    guard limit > 0 else { return page }
    page.reserve(limit)
    try appendPending(
      to: &page, query.cid, from: .min, to: high, limit: limit, newestFirst: true,
      pinnedOnly: query.pinnedOnly)
    let left = limit - page.rows.count
    if left > 0, !page.isCut {
      try append(to: &page, below: high, query, limit)
    }
    page.rows.reverse()
    try lay(over: &page, query.cid)
    return page
  }

  /// Appends confirmed rows until the page has `limit` of them.
  private func append(
    to page: inout RowPage, below high: Position, _ query: RowQuery, _ limit: Int
  ) throws(StoreFailure) {
    if query.pinnedOnly {
      let row = try connection.statement(
        Queries.pinnedOlder, query.cid, high.time, high.id, Self.unpinned,
        limit - page.rows.count)
      while try row.step(), page.append(row) {}
    } else if query.from == .latest {
      try append(to: &page, connection.statement(Queries.latest, query.cid), limit)
    } else {
      let row = try connection.statement(Queries.older, query.cid, high.time, high.id)
      try append(to: &page, row, limit)
    }
  }

  private func append(
    to page: inout RowPage, _ row: consuming Statement, _ limit: Int
  ) throws(StoreFailure) {
    while try row.step() {
      guard RowFlags(rawValue: row.int(2)).isDisjoint(with: .hidden) else { continue }
      guard page.append(row), page.rows.count < limit else { return }
    }
  }

  private func newer(from low: Position, _ query: RowQuery) throws(StoreFailure) -> RowPage {
    let limit = Swift.min(query.limit, Limits.readRowsMax)
    var page = RowPage()
    guard limit > 0 else { return page }
    page.reserve(limit)
    if query.pinnedOnly {
      let row = try connection.statement(
        Queries.pinnedNewer, query.cid, low.time, low.id, Self.unpinned, limit)
      while try row.step(), page.append(row) {}
    } else {
      let row = try connection.statement(Queries.newer, query.cid, low.time, low.id)
      try append(to: &page, row, limit)
    }
    let left = limit - page.rows.count
    if left > 0, !page.isCut {
      try appendPending(
        to: &page, query.cid, from: low, to: Self.beyond, limit: left, newestFirst: false,
        pinnedOnly: query.pinnedOnly)
    }
    try lay(over: &page, query.cid)
    return page
  }

  /// What a read of pinned rows passes over: hidden ones, and those that this user unpinned.
  private static let unpinned = RowFlags.hidden.union(.unpinQueued).rawValue

  /// One visible message, by its id or the client id of its send; no row where there is
  /// none.
  package func message(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> RowPage {
    let statement = try connection.statement(
      Queries.one, cid, id, RowFlags.hidden.rawValue)
    var page = RowPage()
    while try statement.step(), page.append(statement) {}
    if page.rows.isEmpty, try row(id, cid) == nil,
      let place = try place(ofClientID: id, cid)
    {
      return try messages(cid, keys: [place])
    }
    try lay(over: &page, cid)
    return page
  }

  /// Where the row with a local number stands, hidden or not.
  package func position(
    ofNumber number: UInt64, _ cid: Int64
  ) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.byNumber, number, cid)
    if try statement.step() {
      return Position(time: statement.int(0), id: statement.bytes(1))
    }
    return try pendingPlace(ofNumber: number, cid)
  }

  package func row(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> StoredRow? {
    let statement = try connection.statement(Queries.byID, cid, id)
    return try statement.step() ? Self.storedRow(statement) : nil
  }

  /// The oldest row, hidden or not.
  package func oldest(_ cid: Int64) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.oldest, cid)
    guard try statement.step() else { return nil }
    return Position(time: statement.int(0), id: statement.bytes(1))
  }

  /// The newest row, hidden or not.
  package func newest(_ cid: Int64) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.newest, cid)
    guard try statement.step() else { return nil }
    return Position(time: statement.int(0), id: statement.bytes(1))
  }

  /// Rows between two boundaries without their content, hidden ones included.
  package func rows(
    _ cid: Int64, from low: Position, to high: Position, limit: Int, newestFirst: Bool
  ) throws(StoreFailure) -> [StoredRow] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0, low < high else { return [] }
    let statement = try connection.statement(
      newestFirst ? Queries.rangeDown : Queries.rangeUp,
      cid, low.time, low.id, high.time, high.id, limit)
    var rows: [StoredRow] = []
    while try statement.step() { rows.append(Self.storedRow(statement)) }
    return rows
  }

  private static func storedRow(_ row: borrowing Statement) -> StoredRow {
    StoredRow(
      position: Position(time: row.int(0), id: row.bytes(1)), number: row.uint(2),
      lsn: row.uint(3), flags: RowFlags(rawValue: row.int(4)),
      timeUs: row.optionalInt(5))
  }
}
