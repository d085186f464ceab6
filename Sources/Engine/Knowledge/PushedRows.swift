/// Rows that came by push or by answer, and that no page has shown yet.
///
/// Rule protected: a page that was asked for before such a row came says nothing of what came
/// with it, so no claim of that page reaches up to the row.
internal import Base
internal import Timeline

/// A message that came by push.
struct PushedID: Hashable {
  let cid: Int64
  let id: [UInt8]

  func hash(into hasher: inout Hasher) {
    hasher.combine(cid)
    hasher.combine(all: id)
  }
}

/// Where it stands, and the commit that stored it.
struct PushedRow {
  let id: PushedID
  let position: Position
  let lsn: UInt64
}

struct PushedRows {
  private var rows: [PushedID: PushedRow] = [:]
  /// Messages whose deletion was pushed on this connection. A push may be faster than the commit
  /// behind it, so answers of the same connection may show them still.
  private(set) var deleted: Set<PushedID> = []
  /// The newest commit of a row that is not remembered any more.
  private var forgottenLSN: UInt64 = 0

  var isEmpty: Bool { rows.isEmpty }

  func contains(_ id: PushedID) -> Bool { rows[id] != nil }

  /// The commit that stored it.
  func lsn(of id: PushedID) -> UInt64? { rows[id]?.lsn }

  /// When the rows of a conversation are stamped.
  func times(in cid: Int64) -> Set<Int64> {
    rows.isEmpty ? [] : Set(rows.values.lazy.filter { $0.id.cid == cid }.map(\.position.time))
  }

  mutating func insert(_ row: PushedRow) {
    if rows.count >= Limits.pushesRemembered { removeAll() }
    rows[row.id] = row
  }

  mutating func insert(deleted ids: [PushedID]) {
    if deleted.count >= Limits.pushesRemembered { deleted = [] }
    deleted.formUnion(ids)
  }

  mutating func connect() { deleted = [] }

  /// A page has shown it.
  mutating func remove(_ id: PushedID) { rows[id] = nil }

  mutating func removeAll() {
    for row in rows.values { forgottenLSN = max(forgottenLSN, row.lsn) }
    rows = [:]
  }

  /// The lowest row of a range that came after a request was issued, but for those that its
  /// answer shows and those that its run has shown before. Where rows were forgotten since then,
  /// any could be: the end of the range.
  func lowest(
    in cid: Int64, from low: Position, to high: Position, after issued: UInt64,
    besides shown: IDSet, or shownBefore: Set<PushedID>
  ) -> Position? {
    if forgottenLSN > issued { return low }
    var lowest: Position?
    for (id, row) in rows
    where id.cid == cid && row.lsn > issued && low <= row.position && row.position < high {
      if lowest.map({ row.position < $0 }) ?? true, !shown.contains(id.id),
        !shownBefore.contains(id)
      {
        lowest = row.position
      }
    }
    return lowest
  }
}
