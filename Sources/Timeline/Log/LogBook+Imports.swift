/// Messages of an older cache, in a log that does not know where they stand (decision 079).
///
/// They stand by their times, in ranges that claim nothing, until a page lists them: that gives
/// them their places, by id. Since times are not the order of a log, no part of it proves that one
/// of them is gone: what a page does not show between two of them goes by time again. Where the log
/// was read from end to end, or asked for it by id, what it lacks goes; that speaks for no restored
/// server.
internal import Base

extension LogBook {
  /// Takes in what is not known. Gives the ids of it.
  package mutating func take(imported entries: [LogEntry]) throws(Table.Failure) -> [[UInt8]] {
    var seen = IDSet()
    var rows: [LogRow] = []
    for entry in entries where !seen.contains(entry.id) {
      seen.insert(entry.id)
      if try table.row(entry.id) != nil { continue }
      // Whatever the server says of it is later.
      rows.append(LogRow(entry: entry, place: 0, stored: facts.issued, received: 0))
    }
    for row in rows { step.inserted.append(row.id) }
    try putByTime(rows)
    try bound()
    return rows.map(\.id)
  }

  /// Puts rows that are not in the table where their times say.
  mutating func putByTime(_ rows: [LogRow]) throws(Table.Failure) {
    var left = rows.ordered { $0.entry.timeUs ?? .max < $1.entry.timeUs ?? .max }[...]
    while let first = left.first {
      let slot = try slot(timeUs: first.entry.timeUs)
      // All that are older than each range above the slot go there together.
      var bound = Int64.max
      for range in ranges[slot...] {
        if let time = try topRow(of: range)?.entry.timeUs { bound = min(bound, time) }
      }
      var group = left.prefix { ($0.entry.timeUs ?? .max) < bound }
      if group.isEmpty { group = left.prefix(1) }
      left = left.dropFirst(group.count)
      try put(Array(group), byTimeAt: slot)
      for row in group {
        try touch(row)
        var changes = try self.changes(of: row.id, besides: range(of: row.id))
        if row.entry.change != nil { changes.append(row) }
        try arrange(around: row.id, changes: changes)
      }
    }
  }

  private mutating func put(_ rows: [LogRow], byTimeAt slot: Int) throws(Table.Failure) {
    if slot > 0, ranges[slot - 1].isByTime {
      return try grow(slot - 1, by: rows)
    }
    var range = LogRange(low: 0, high: 0, connection: facts.connection)
    range.isByTime = true
    try insert(range, rows: rows, at: slot)
  }

  /// Puts rows behind a range that claims nothing: it goes by time itself.
  private mutating func grow(_ at: Int, by rows: [LogRow]) throws(Table.Failure) {
    var range = ranges.remove(at: at)
    let low = range.high
    range.high = low + Int64(clamping: rows.count) * spacing.step
    try makeRoom(range.low, range.high, at: at)
    for (count, row) in rows.enumerated() {
      var row = row
      row.place = low + Int64(clamping: count + 1) * spacing.step
      try table.put(row)
    }
    ranges.insert(range, at: at)
    _ = try respaced(at)
  }
}
