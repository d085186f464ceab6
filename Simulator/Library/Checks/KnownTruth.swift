/// What has been looked at once is kept as long as it holds: the server's rows, and rows shown.
///
/// A check that asks the same question of the same bytes a second time says nothing new, so the
/// answers are kept and the question is asked of what changed.
internal import ReferenceServer

/// The messages of one conversation, good while neither the server nor the host changes them.
final class KnownTruth {
  let revision: ServerRevision
  let forgettings: Int
  let rows: [World.Truth]

  init(_ revision: ServerRevision, _ forgettings: Int, _ rows: [World.Truth]) {
    self.revision = revision
    self.forgettings = forgettings
    self.rows = rows
  }

  /// What a client shows when it has everything.
  private(set) lazy var shown: [World.Truth] = rows.filter { !$0.hidden }

  private lazy var places: [RowKey: Int] = {
    var places: [RowKey: Int] = [:]
    places.reserveCapacity(rows.count)
    for (index, row) in rows.enumerated() { places[RowKey(row.id)] = index }
    return places
  }()

  /// The message with this id, hidden or not.
  func row(_ id: [UInt8]) -> World.Truth? { places[RowKey(id)].map { rows[$0] } }

  /// Where it stands among the server's.
  func place(_ id: [UInt8]) -> Int? { places[RowKey(id)] }

  /// The same for one of rows that are asked for in their order; `next` is where to look first.
  func row(_ row: SimRow, _ next: inout Int) -> World.Truth? {
    while next < rows.count, rows[next].isBefore(row.order, row.id) { next += 1 }
    if next < rows.count, rows[next].id == row.id { return rows[next] }
    return self.row(row.id)
  }

  func contains(_ id: [UInt8]) -> Bool { places[RowKey(id)] != nil }
}

/// An id that hashes as a whole and not byte by byte.
struct RowKey: Hashable {
  private let id: [UInt8]

  init(_ id: [UInt8]) { self.id = id }

  func hash(into hasher: inout Hasher) {
    id.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}

/// What a row's id and payload were found to be.
final class KnownRow {
  let id: [UInt8]
  let payload: [UInt8]
  let text: String
  let serial: Int
  let version: Int
  let mine: Bool

  init(_ row: SimRow, text: String, _ mark: Ledger.Mark, mine: Bool) {
    id = row.id
    payload = row.payload
    self.text = text
    serial = mark.serial
    version = mark.version
    self.mine = mine
  }
}
