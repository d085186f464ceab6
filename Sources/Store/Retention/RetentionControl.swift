/// What is counted and purged as a whole, inside of a transaction.
internal import Base
package import Timeline

package struct RetentionControl {
  private let tables: RoomTables
  private let tx: WriteTransaction

  package init(_ tx: WriteTransaction) throws(StoreFailure) {
    self.tx = tx
    tables = RoomTables(connection: try tx.connection)
  }

  /// Begins to count what is stored. False where that was begun before.
  package func switchOn() throws(StoreFailure) -> Bool {
    if tables.isOn {
      guard try tables.isStale() else { return false }
      try tables.drop()
    }
    try tables.create()
    return true
  }

  /// Counts no more, and takes what was counted out of the file.
  package func switchOff() throws(StoreFailure) -> Bool {
    guard tables.isOn else { return false }
    try tables.drop()
    return true
  }

  /// Counts a slice; whether all is counted.
  package func count() throws(StoreFailure) -> Bool { try tables.count() }

  package func room(_ cid: Int64) throws(StoreFailure) -> Room { try tables.room(cid) }

  package func noteLooks(_ conversations: [[UInt8]]) throws(StoreFailure) {
    var cids: [Int64] = []
    for id in conversations {
      if let cid = try tx.conversation(id)?.cid { cids.append(cid) }
    }
    try tables.noteLooks(cids)
  }

  package func byLook() throws(StoreFailure) -> [Int64] { try tables.byLook() }

  package func over(rows: Int64, bytes: Int64) throws(StoreFailure) -> [Int64] {
    try tables.over(rows: rows, bytes: bytes)
  }

  /// When the server made the oldest message of a conversation from a place on.
  package func oldestUs(_ cid: Int64, from low: Position) throws(StoreFailure) -> Int64? {
    try tx.rows(cid, from: low, to: .beforePending, limit: 1, newestFirst: false).first?.timeUs
  }

  // MARK: - Who follows the feed

  /// A subscriber has done with all entries up to here.
  package func noteSubscriber(_ seq: UInt64) throws(StoreFailure) {
    let done = Int64(clamping: min(seq, try tx.feedReader.lastChange()))
    try tx.connection.runNoted("UPDATE room_state SET told = ?1 WHERE told < ?1", done)
  }

  // MARK: - Space

  /// Pages of the file that hold nothing.
  package func freePages() throws(StoreFailure) -> Int64 {
    try tx.connection.number("PRAGMA freelist_count") ?? 0
  }

  /// Takes some of them out of the file.
  package func release() throws(StoreFailure) {
    try tx.connection.run("PRAGMA incremental_vacuum(64)")
    // SQLite counts this as a change, and the other not.
    try tx.connection.runNoted("UPDATE room_state SET told = told")
  }
}

extension ReadTransaction {
  /// What a conversation takes, 0 being all of them, and whether all is counted; nil where nothing
  /// is counted.
  package func room(_ cid: Int64) throws(StoreFailure) -> (room: Room, isCounted: Bool)? {
    let tables = RoomTables(connection: try connection)
    guard tables.isOn else { return nil }
    return (try tables.room(cid), try tables.isCounted())
  }

  /// Bytes of the file that hold nothing.
  package func freeBytes() throws(StoreFailure) -> Int64 {
    let pages = try connection.number("PRAGMA freelist_count") ?? 0
    let size = try connection.number("PRAGMA page_size") ?? 0
    return pages.multipliedReportingOverflow(by: size).partialValue
  }
}
