/// The last message that the server named, where rows that are stored stand above it.
///
/// Rule protected: a list shows as last what the server named last. Rows above that message were
/// deleted while nothing told of it. They stay in the conversation until a sync finds their
/// deletion, and are passed over where the last message is looked for. A row that was stored since,
/// or that a later page shows again, counts.
internal import Base
package import Timeline

struct NamedLast: Equatable {
  /// Its id; empty where the server named none.
  var id: [UInt8]
  /// The first part of its position, where its row is not stored; the least number where it is not
  /// known where it stands, and no other row is the last one.
  var order: Int64
  /// The newest row that was stored when the server named it, by local number.
  var number: UInt64
  /// The stamp of the request that was answered with it.
  var issued: UInt64

  /// The kind of its row in `entity`, beside those that a host reads.
  static let kind: Int64 = 4
  /// Rows above it that are looked at one by one.
  static let rowsMax = 1_000

  var packed: [UInt8] {
    var row = ColumnPacker()
    row.bind(id)
    row.bind(order)
    row.bind(number)
    row.bind(issued)
    return row.packed
  }

  init(id: [UInt8], order: Int64, number: UInt64, issued: UInt64) {
    (self.id, self.order, self.number, self.issued) = (id, order, number, issued)
  }

  init?(_ packed: [UInt8]) {
    guard let row = PackedColumns(packed), row.count == 4 else { return nil }
    self.init(id: row.bytes(0), order: row.int(1), number: row.uint(2), issued: row.uint(3))
  }
}

/// Reads what was named, for one conversation.
struct NamedLastReader {
  let rx: ReadTransaction
  let cid: Int64

  /// Mostly no list contradicts what is stored, which is asked once for all conversations.
  func named() throws(StoreFailure) -> NamedLast? {
    if try rx.known?.some.namedLast == false { return nil }
    let isSome = try rx.connection.number(Queries.someNamedLast) != nil
    rx.memo?.some.namedLast = isSome
    guard isSome else { return nil }
    let row = try rx.connection.statement(Queries.namedLast, cid)
    return try row.step() ? NamedLast(row.bytes(0)) : nil
  }

  /// From where on rows are passed over.
  func low(of named: NamedLast) throws(StoreFailure) -> Position {
    if named.id.isEmpty || named.order == .min { return .min }
    return .before(timestampGroup: try rx.row(named.id, cid)?.position.time ?? named.order)
  }

  /// Of the rows that are passed over from `place` on: how many are unread above `marker`, and
  /// where the newest stands.
  func passedOver(
    from place: Position, above marker: Position?
  ) throws(StoreFailure) -> (unread: Int64, newest: Position?) {
    guard let named = try named() else { return (0, nil) }
    let from = max(place, try low(of: named))
    var (unread, newest): (Int64, Position?) = (0, nil)
    for row in try rx.rows(
      cid, from: from, to: ReadTransaction.beyond, limit: NamedLast.rowsMax, newestFirst: true)
    where row.number <= named.number && row.position.id != named.id {
      newest = newest ?? row.position
      let isUnread = row.flags.isDisjoint(with: .notUnread)
      if isUnread, marker.map({ $0 < row.position }) ?? true { unread &+= 1 }
    }
    return (unread, newest)
  }
}

/// Writes it, inside of a transaction.
package struct NamedLastTable {
  private let tx: WriteTransaction
  private let cid: Int64
  private let reader: NamedLastReader

  package init(_ tx: WriteTransaction, _ cid: Int64) {
    self.tx = tx
    self.cid = cid
    reader = NamedLastReader(rx: tx, cid: cid)
  }

  /// Takes in which message an answer named as the last one of a conversation; nil for none. A row
  /// that came since its request, or that `mayBeNewer`, is no row that the answer lacks.
  package func name(
    _ id: [UInt8]?, at order: Int64, issued: UInt64, mayBeNewer: (StoredRow) -> Bool
  ) throws(StoreFailure) {
    let known = try reader.named()
    if let known, known.issued > issued { return }
    var named = NamedLast(
      id: id ?? [], order: order, number: tx.counters.lastNumber, issued: issued)
    var isLacking = false
    if let newest = try newestVisible(), newest.position.id != id ?? [] {
      for row in try tx.rows(
        cid, from: try reader.low(of: named), to: ReadTransaction.beyond, limit: NamedLast.rowsMax,
        newestFirst: true)
      where row.position.id != id && row.flags.isDisjoint(with: .hidden) {
        if row.lsn > issued || mayBeNewer(row) {
          named.number = min(named.number, row.number &- 1)
        } else {
          isLacking = true
        }
      }
    }
    if isLacking {
      if known?.id == named.id, known?.number == named.number { return }
      try tx.connection.run(
        """
        INSERT INTO entity (kind, cid, id, body) VALUES (?, ?, x'', ?)
        ON CONFLICT (kind, cid, id) DO UPDATE SET body = excluded.body
        """, NamedLast.kind, cid, named.packed)
    } else if known != nil {
      try removeNamed()
    } else {
      return
    }
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
  }

  /// The newest row of the server's that is shown. Mostly one step.
  package func newestVisible() throws(StoreFailure) -> RowKey? {
    let row = try tx.connection.statement(Queries.newestKeys, cid)
    while try row.step() {
      guard RowFlags(rawValue: row.int(4)).isDisjoint(with: .hidden) else { continue }
      return RowKey(
        number: row.uint(0), position: Position(time: row.int(1), key: row.bytes(2)),
        revision: row.uint(3))
    }
    return nil
  }

  /// Which message is the last one is not known here: the server is asked, as for a number of
  /// unread messages.
  package func doubt() { tx.counting.recounts[cid] = true }

  private func removeNamed() throws(StoreFailure) {
    try tx.connection.run("DELETE FROM entity WHERE kind = ? AND cid = ?", NamedLast.kind, cid)
  }

  /// A later answer shows a row again that the list lacked.
  func noteShown(_ row: StoredMessage, issued: UInt64) throws(StoreFailure) {
    guard let named = try reader.named(), row.number <= named.number, named.issued < issued,
      row.message.id != named.id, try reader.low(of: named) < row.message.position
    else { return }
    try removeNamed()
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
  }
}

extension Queries {
  static let namedLast: StaticString = "SELECT body FROM entity WHERE kind = 4 AND cid = ? LIMIT 1"
  static let someNamedLast: StaticString = "SELECT 1 FROM entity WHERE kind = 4 LIMIT 1"
}
