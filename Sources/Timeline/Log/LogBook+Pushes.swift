/// Pushes, tokens that are refused, and retention (rules 6, 20, 21).
internal import Base

extension LogBook {
  // MARK: Pushes

  /// Takes a push: it continues the range whose last entry is the one before it, and stands apart
  /// otherwise. What is known is not changed by it.
  ///
  /// - Parameter below: the last entry below a hole with which the push begins.
  package mutating func take(
    _ push: LogPush, behind below: [UInt8]? = nil
  ) throws(Table.Failure) {
    var entries: [LogEntry] = []
    var listed = IDSet()
    var last: LogRow?
    for entry in push.entries where !listed.contains(entry.id) {
      listed.insert(entry.id)
      if let row = try table.row(entry.id) {
        // What came before it was told in another way: a catch-up says where it stands.
        let isByTime = range(holding: row.place).map { ranges[$0].isByTime } ?? false
        if !entries.isEmpty || isByTime { step.needsCatchUp = true }
        last = row
        entries = []
      } else {
        entries.append(entry)
      }
    }
    guard let final = entries.last else { return }
    var run = LogRun(request: facts.issued)
    run.below = below
    for entry in entries { run.links.append(LogLink(id: entry.id, entry: entry)) }
    if let anchor = try anchor(of: push, known: last) {
      run.links.insert(LogLink(id: anchor, entry: nil), at: 0)
    } else if let end = emptyEnd, push.before == end, push.isFirst,
      entries[0].id == push.entries.first?.id
    {
      // An empty log is a range without entries: it starts the log, and reaches the present.
      (run.start, run.present) = (facts.empty, facts.empty)
    } else {
      step.needsCatchUp = true
      if let before = push.before, push.isFirst, entries[0].id == push.entries.first?.id {
        run.lower = LogToken(
          bytes: before, id: entries[0].id, connection: facts.connection, epoch: facts.epoch)
      }
    }
    run.upper = push.after.map {
      LogToken(bytes: $0, id: final.id, connection: facts.connection, epoch: facts.epoch)
    }
    try merge(run)
  }

  /// The entry that the push follows, where that is the last one of a range.
  private func anchor(of push: LogPush, known: LogRow?) throws(Table.Failure) -> [UInt8]? {
    if isPlanted(.pushAdjacent), let newest, let row = try topRow(of: ranges[newest]) {
      return row.id
    }
    guard push.isFirst else { return nil }
    if let known { return isTop(known) ? known.id : nil }
    if let id = push.previous {
      guard let row = try table.row(id) else { return nil }
      return isTop(row) ? id : nil
    }
    guard let bytes = push.before else { return nil }
    for range in ranges where !range.isUnverified {
      for token in range.upper
      where token.bytes == bytes && token.connection == facts.connection {
        if let row = try topRow(of: range), row.id == token.id { return row.id }
      }
    }
    return nil
  }

  private func isTop(_ row: LogRow) -> Bool {
    range(holding: row.place).map { ranges[$0].high == row.place && !ranges[$0].isUnverified }
      ?? false
  }

  // MARK: Tokens that are refused

  /// The server does not know it.
  package mutating func removeCursor(_ token: LogToken) {
    for index in ranges.indices {
      ranges[index].lower.removeAll { $0.bytes == token.bytes }
      ranges[index].upper.removeAll { $0.bytes == token.bytes }
    }
  }

  /// Splits off what lies beyond an entry, since the server does not have its end (rule 6).
  package mutating func splitOff(
    _ side: LogNote.Side, of id: [UInt8]
  ) throws(Table.Failure) {
    guard !isPlanted(.outerPartStays), let row = try table.row(id),
      let at = range(holding: row.place)
    else { return }
    let range = ranges[at]
    let edge =
      side == .above
      ? try table.first(above: row.place, through: range.high)
      : try table.last(below: row.place, from: range.low)
    guard let edge else { return }
    var outer = LogRange(
      low: side == .above ? edge.place : range.low, high: side == .above ? range.high : edge.place,
      connection: range.connection)
    outer.isUnverified = range.isUnverified
    outer.note = LogNote(side, of: id, issued: facts.issued)
    let startedLog = range.start != nil && !range.isUnverified && side == .below
    if side == .above {
      ranges[at].high = row.place
      ranges[at].present = nil
      ranges[at].upper = []
      ranges.insert(outer, at: at + 1)
    } else {
      ranges[at].low = row.place
      ranges[at].start = nil
      ranges[at].lower = []
      ranges.insert(outer, at: at)
    }
    try keepApart(below: at + 1)
    try touchMarked()
    if startedLog {
      // It may stand elsewhere now than at the start.
      let rows = try table.rows(from: ranges[at].low, through: ranges[at + 1].high)
      try arrange(around: id, changes: rows.filter { $0.entry.change?.target != nil })
    }
    try bound()
  }

  /// Nothing near an end of it was in the log when it was asked for. What came since stands apart.
  package mutating func dropRange(
    of id: [UInt8], _ side: LogNote.Side, _ ask: LogAsk
  ) throws(Table.Failure) {
    guard let at = try range(of: id) else { return }
    let (_, all) = try takeOut(at)
    let rows = all.filter { $0.stored < ask.request || isPlanted(.laterGoesAlong) }
    for row in rows { try drop(row) }
    if !isPlanted(.laterGoesAlong) { try insertDetached(all.filter { $0.stored >= ask.request }) }
    let isRolledBack = side == .above
    try doubt(
      lost: isRolledBack ? rows : [], isRolledBack: isRolledBack,
      LogRun(request: facts.issued))
  }

  /// The log does not hold an entry, which the server was asked for by its id.
  package mutating func lost(_ id: [UInt8]) throws(Table.Failure) {
    guard let row = try table.row(id), let at = range(holding: row.place) else { return }
    let range = ranges[at]
    try drop(row)
    guard range.low < range.high else {
      ranges.remove(at: at)
      return
    }
    if range.low == row.place {
      ranges[at].low = try table.first(above: row.place, through: range.high)?.place ?? range.high
    }
    if range.high == row.place {
      ranges[at].high = try table.last(below: row.place, from: range.low)?.place ?? range.low
    }
    try review()
  }
}
