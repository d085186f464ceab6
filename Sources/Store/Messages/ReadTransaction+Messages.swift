/// Pages of messages for a screen.
///
/// Each is a keyset read on the clustered key, so its cost does not depend on
/// the length of the conversation, and a page is written where the host will read
/// it. Hidden rows are passed over and do not use up the limit.
package import Base
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

extension RowPage {
  /// Where a row of this page stands.
  package func position(of row: MessageRow) -> Position {
    row.operation == 0
      ? Position(time: row.order, key: self[row.key]) : .pending(row.operation)
  }

  package func position(at index: Int) -> Position { position(of: self[index]) }
}

extension MessageRow {
  /// The flags of the stored row.
  package var rowFlags: RowFlags { RowFlags(rawValue: stored) }
}

extension ReadTransaction {
  /// Above every message: an id is never this long.
  static let beyond = Position(
    time: .max, key: [UInt8](repeating: 0xFF, count: Limits.idBytesMax + 1))

  package func messages(_ query: RowQuery) throws(StoreFailure) -> RowPage {
    switch query.from {
    case .latest: try older(than: Self.beyond, query: query)
    case .before(let position): try older(than: position, query: query)
    case .oldest: try newer(from: .min, query: query)
    case .after(let position): try newer(from: position.successor, query: query)
    case .atTime(let time): try newer(from: boundary(atTime: time, in: query.cid), query: query)
    case .beforeTime(let time): try older(than: boundary(atTime: time, in: query.cid), query: query)
    }
  }

  private func older(than high: Position, query: RowQuery) throws(StoreFailure) -> RowPage {
    let limit = Swift.min(query.limit, Limits.readRowsMax)
    guard limit > 0 else { return RowPage() }
    var page = RowBuilder(limit)
    try appendPending(
      to: &page, in: query.cid, from: .min, to: high, limit: limit, newestFirst: true,
      pinnedOnly: query.pinnedOnly)
    if page.count < limit, !page.isCut {
      try append(to: &page, below: high, query: query, limit: limit)
    }
    try lay(over: &page, in: query.cid)
    return page.page(newestFirst: true)
  }

  /// Appends confirmed rows until the page has `limit` of them.
  private func append(
    to page: inout RowBuilder, below high: Position, query: RowQuery, limit: Int
  ) throws(StoreFailure) {
    if query.pinnedOnly {
      let row = try connection.statement(
        Queries.pinnedOlder, query.cid, high.time, high.key, Self.unpinned, limit - page.count)
      try append(to: &page, row, limit)
    } else if query.from == .latest {
      try append(to: &page, connection.statement(Queries.latest, query.cid), limit)
    } else {
      let row = try connection.statement(Queries.older, query.cid, high.time, high.key)
      try append(to: &page, row, limit)
    }
  }

  private func append(
    to page: inout RowBuilder, _ row: consuming Statement, _ limit: Int
  ) throws(StoreFailure) {
    while try row.step() {
      let flags = RowFlags(rawValue: row.int(2))
      guard flags.isDisjoint(with: .hidden) else { continue }
      guard page.append(row, flags), page.count < limit else { return }
    }
  }

  private func newer(from low: Position, query: RowQuery) throws(StoreFailure) -> RowPage {
    let limit = Swift.min(query.limit, Limits.readRowsMax)
    guard limit > 0 else { return RowPage() }
    var page = RowBuilder(limit)
    if query.pinnedOnly {
      let row = try connection.statement(
        Queries.pinnedNewer, query.cid, low.time, low.key, Self.unpinned, limit)
      try append(to: &page, row, limit)
    } else {
      let row = try connection.statement(Queries.newer, query.cid, low.time, low.key)
      try append(to: &page, row, limit)
    }
    if page.count < limit, !page.isCut {
      try appendPending(
        to: &page, in: query.cid, from: low, to: Self.beyond, limit: limit - page.count,
        newestFirst: false, pinnedOnly: query.pinnedOnly)
    }
    try lay(over: &page, in: query.cid)
    return page.page()
  }

  /// What a read of pinned rows passes over: hidden ones, and those that this user unpinned.
  private static let unpinned = RowFlags.hidden.union(.unpinQueued).rawValue

  /// One visible message, by its id or the client id of its send; no row where there is
  /// none.
  package func message(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> RowPage {
    let statement = try connection.statement(
      Queries.one, cid, id, RowFlags.hidden.rawValue)
    var page = RowBuilder(1)
    try append(to: &page, statement, 1)
    if page.count == 0, try row(id, cid) == nil,
      let place = try place(ofClientID: id, in: cid)
    {
      return try messages(cid, keys: [place])
    }
    try lay(over: &page, in: cid)
    return page.page()
  }

  /// Where the row with a local number stands, hidden or not.
  package func position(
    ofNumber number: UInt64, in cid: Int64
  ) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.byNumber, number, cid)
    if try statement.step() {
      return Position(time: statement.int(0), key: statement.bytes(1))
    }
    return try pendingPlace(ofNumber: number, in: cid)
  }

  package func row(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> StoredRow? {
    let statement = try connection.statement(Queries.byID, cid, id)
    return try statement.step() ? Self.storedRow(statement) : nil
  }

  /// The oldest row, hidden or not.
  package func oldest(_ cid: Int64) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.oldest, cid)
    guard try statement.step() else { return nil }
    return Position(time: statement.int(0), key: statement.bytes(1))
  }

  /// The newest row, hidden or not.
  package func newest(_ cid: Int64) throws(StoreFailure) -> Position? {
    let statement = try connection.statement(Queries.newest, cid)
    guard try statement.step() else { return nil }
    return Position(time: statement.int(0), key: statement.bytes(1))
  }

  /// Rows between two boundaries without their content, hidden ones included.
  package func rows(
    _ cid: Int64, from low: Position, to high: Position, limit: Int, newestFirst: Bool
  ) throws(StoreFailure) -> [StoredRow] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0, low < high else { return [] }
    let statement = try connection.statement(
      newestFirst ? Queries.rangeDown : Queries.rangeUp,
      cid, low.time, low.key, high.time, high.key, limit)
    var rows: [StoredRow] = []
    while try statement.step() { rows.append(Self.storedRow(statement)) }
    return rows
  }

  /// The same, newest first, without those that a commit after `lsn` wrote.
  package func rows(
    _ cid: Int64, from low: Position, to high: Position, until lsn: UInt64, limit: Int
  ) throws(StoreFailure) -> [StoredRow] {
    guard limit > 0, low < high else { return [] }
    let statement = try connection.statement(
      Queries.rangeUntil, cid, low.time, low.key, high.time, high.key, lsn,
      Swift.min(limit, Limits.readRowsMax))
    var rows: [StoredRow] = []
    while try statement.step() { rows.append(Self.storedRow(statement)) }
    return rows
  }

  private static func storedRow(_ row: borrowing Statement) -> StoredRow {
    StoredRow(
      position: Position(time: row.int(0), key: row.bytes(1)), number: row.uint(2),
      lsn: row.uint(3), flags: RowFlags(rawValue: row.int(4)),
      timeUs: row.optionalInt(5))
  }

  /// The rows of a time group in their order, hidden ones included.
  package func timestampGroup(_ time: Int64, _ cid: Int64) throws(StoreFailure) -> [StoredRow] {
    try rows(
      cid, from: .before(timestampGroup: time), to: .after(timestampGroup: time),
      limit: Limits.readRowsMax, newestFirst: false)
  }

  /// Sealed rows behind a place, by conversation and position: all of them from cid 0 and
  /// the lowest position on. Fewer than asked where their bytes would be too many.
  package func sealed(
    after cid: Int64, position: Position, limit: Int
  ) throws(StoreFailure) -> [SealedRow] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    let row = try connection.statement(Queries.sealed, cid, position.time, position.key, limit)
    var found: [SealedRow] = []
    var size = 0
    while try row.step() {
      size += row.size(5)
      if !found.isEmpty, size > RowBuilder.bytesMax { break }
      found.append(
        SealedRow(
          cid: row.int(0), position: Position(time: row.int(1), key: row.bytes(2)),
          number: row.uint(3), lsn: row.uint(4), raw: row.bytes(5)))
    }
    return found
  }

  /// Items after a number, oldest first, of one conversation or of all: fewer than asked where
  /// their bytes would become too many, yet one at least.
  package func quarantinedItems(
    _ cid: Int64?, after: UInt64, limit: Int
  ) throws(StoreFailure) -> [QuarantinedItem] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    // A negative one is of no conversation.
    let row = try connection.statement(
      Queries.quarantinedItems, after, cid == nil ? 1 : 0, cid ?? -1, limit)
    var items: [QuarantinedItem] = []
    var size = 0
    while try row.step() {
      size &+= row.size(6)
      if !items.isEmpty, size > RowBuilder.bytesMax { break }
      items.append(
        QuarantinedItem(
          seq: row.uint(0), conversation: row.bytes(1), reason: row.int(2), low: row.int(3),
          high: row.int(4), size: row.uint(5), bytes: row.bytes(6)))
    }
    return items
  }
}
