/// What is taken out of a log here and is still in it on the server (rule 20).
///
/// Nothing is claimed where an entry was taken out: the range ends on both sides of it, and goes on
/// as two. Pages that list the entry again join them.
internal import Base

/// What is to become of an entry.
package enum LogKeep: Equatable, Sendable {
  case goes, stays
  /// It stays, and all above it.
  case ends
}

/// What a purge did.
package struct LogPurged: Equatable, Sendable {
  /// The lowest and the highest place of each range that went.
  package var runs: [ClosedRange<Place>] = []
  /// Where to go on; nil where all was looked at.
  package var next: Place?

  package init() {}
}

extension LogBook {
  /// Takes out entries from a place on, the older ones first. What changes something that stays,
  /// stays as well, and so does the last entry of the newest range.
  ///
  /// - Parameters:
  ///   - limit: how many entries are looked at.
  ///   - verdict: asked of each that may go, in the order of places.
  package mutating func purge(
    from place: Place, limit: Int,
    _ verdict: (LogRow) throws(Table.Failure) -> LogKeep
  ) throws(Table.Failure) -> LogPurged {
    var purged = LogPurged()
    let last = newest.map { ranges[$0].high }
    var run: [LogRow] = []
    var loose: [LogRow] = []
    var at = place - 1
    var left = limit
    var isOver = false
    while !isOver, left > 0, let row = try table.first(above: at, through: .max) {
      at = row.place
      left -= 1
      var keep = LogKeep.stays
      if row.place != last, try !changesWhatStays(row, besides: run) { keep = try verdict(row) }
      let isInOtherRange =
        range(holding: row.place) != run.last.flatMap { range(holding: $0.place) }
      if keep != .goes || isInOtherRange { try flush(&run, &purged, &loose) }
      if keep == .goes { run.append(row) }
      if keep == .ends {
        purged.next = row.place
        isOver = true
      }
    }
    try flush(&run, &purged, &loose)
    if !isOver, left == 0 { purged.next = at + 1 }
    try settle(loose)
    return purged
  }

  /// Takes out one entry, so that it may come anew.
  package mutating func giveBack(_ id: [UInt8]) throws(Table.Failure) {
    guard let row = try table.row(id) else { return }
    try settle(cut([row]))
  }

  private func changesWhatStays(
    _ row: LogRow, besides run: [LogRow]
  ) throws(Table.Failure) -> Bool {
    guard let target = row.entry.change?.target, !isPlanted(.trimsChanges) else { return false }
    if run.contains(where: { $0.id == target }) { return false }
    return try table.row(target) != nil
  }

  private mutating func flush(
    _ run: inout [LogRow], _ purged: inout LogPurged, _ loose: inout [LogRow]
  ) throws(Table.Failure) {
    defer { run = [] }
    guard let first = run.first, let last = run.last else { return }
    purged.runs.append(first.place...last.place)
    loose += try cut(run)
  }

  /// Parts a range where neighbours of it are taken out. Gives the changes that may stand elsewhere
  /// now, since what holds them starts the log no more.
  private mutating func cut(_ rows: [LogRow]) throws(Table.Failure) -> [LogRow] {
    guard let first = rows.first, let last = rows.last, let at = range(holding: first.place) else {
      return []
    }
    let range = ranges[at]
    for row in rows { try drop(row) }
    var pieces: [LogRange] = []
    if let below = try table.last(below: first.place, from: range.low) {
      var piece = range
      piece.high = below.place
      piece.present = nil
      piece.lower = try tokens(range.lower, in: piece)
      piece.upper = try tokens(range.upper, in: piece)
      pieces.append(piece)
    }
    var loose: [LogRow] = []
    if let above = try table.first(above: last.place, through: range.high) {
      var piece = range
      piece.low = above.place
      if !isPlanted(.trimmedClaims) { piece.start = nil }
      piece.lower = try tokens(range.lower, in: piece)
      piece.upper = try tokens(range.upper, in: piece)
      pieces.append(piece)
      if range.start != nil, !range.isUnverified, at + 1 < ranges.count {
        loose = try table.rows(from: piece.low, through: piece.high)
          .filter { $0.entry.change?.target != nil }
      }
    }
    ranges.replaceSubrange(at...at, with: pieces)
    if range.present != nil { try touchMarked() }
    return loose
  }

  private mutating func settle(_ loose: [LogRow]) throws(Table.Failure) {
    if let first = loose.first { try arrange(around: first.id, changes: loose) }
    try bound()
  }
}
