/// How a run becomes a range, and what follows from it: what is refuted, doubted, or stands apart.
internal import Base

extension LogBook {
  /// Puts the entries of a run in, as one range with what it is attached to. Gives the changes that
  /// may say where ranges belong.
  mutating func build(
    _ run: LogRun, _ parts: [Part], survivor: Int?, _ places: [[UInt8]: Place], at index: Int,
    _ moving: Moving
  ) throws(Table.Failure) -> [LogRow] {
    var rows = moving.below
    var changes: [LogRow] = []
    var edited: [[UInt8]] = []
    var known: [[UInt8]: LogRow] = [:]
    for part in parts {
      for row in part.rows { known[row.id] = row }
    }
    for link in run.links {
      let before = known[link.id]
      guard let row = try written(link, before, run) else { continue }
      if row.entry.change != nil { changes.append(row) }
      if row.entry.edited == .unnamed, row.received > before?.received ?? 0 {
        edited.append(row.id)
      }
      rows.append(row)
    }
    rows += moving.above
    let range = joined(run, parts)
    let old = rows.map { ($0.id, $0.place) }
    let at: Int
    if let survivor, let fitting = fitted(rows, parts[survivor], places) {
      at = try put(fitting, as: range, parts[survivor], at: index)
    } else {
      if let survivor {
        let part = parts[survivor]
        rows = try takeOut(part, .below) + rows + takeOut(part, .above)
        for row in part.rows { try table.remove(row.id) }
      }
      at = try insert(range, rows: rows, at: index)
    }
    try tidy(at, run, parts)
    let isPresent = run.present?.request == run.request
    for id in edited { try nameEdit(of: id, in: ranges[at], isPresent: isPresent) }
    // So is one that stood apart: it counts like one that has just come.
    let isJoined = parts.count > 1
    for edit in rows where edit.entry.change?.kind == .edit {
      guard isJoined || known[edit.id] == nil, let id = edit.entry.change?.target else { continue }
      try nameEdit(of: id, as: edit, in: ranges[at])
    }
    for row in rows where isJoined && row.entry.edited == .unnamed {
      try nameEdit(of: row.id, in: ranges[at], isPresent: false)
    }
    try touchMarked(at, run, parts, moving)
    for (id, before) in old {
      guard let row = try table.row(id) else { continue }
      changes += try self.changes(of: id, besides: at)
      if before != row.place, before != 0 {
        step.moved.append(id)
        try touch(row)
        // What it changes may stand above it now.
        if row.entry.change?.target != nil { changes.append(row) }
      }
    }
    return changes
  }

  private mutating func takeOut(
    _ part: Part, _ side: LogNote.Side
  ) throws(Table.Failure) -> [LogRow] {
    guard case .attached = side == .below ? part.below : part.above else { return [] }
    let rows =
      side == .below
      ? try table.rows(from: part.range.low, through: part.low - 1)
      : try table.rows(from: part.high + 1, through: part.range.high)
    for row in rows { try table.remove(row.id) }
    return rows
  }

  /// The copy that counts of an entry (rules 19 and 25): one that was asked for after the other
  /// was received.
  private mutating func written(
    _ link: LogLink, _ known: LogRow?, _ run: LogRun
  ) throws(Table.Failure) -> LogRow? {
    guard var row = known else {
      guard let entry = link.entry else { return nil }
      let row = LogRow(entry: entry, place: 0, stored: facts.issued, received: facts.issued)
      step.inserted.append(row.id)
      try touch(row)
      return row
    }
    guard var entry = link.entry, run.request > row.received || isPlanted(.olderCopyWins) else {
      return row
    }
    if isPlanted(.markStays), row.entry.isDeleted { entry = row.entry }
    // A withdrawn change may arrive without its content: its target is known from before.
    if entry.isDeleted, entry.change?.target == nil, let change = row.entry.change {
      entry.change = change
    }
    row.received = facts.issued
    // Which edit it shows is known already, unless that was taken back.
    if entry.edited == .unnamed, case .by(let edit) = row.entry.edited, row.isClaimed,
      entry.content == row.entry.content, let known = try table.row(edit), try !isTakenBack(known)
    {
      entry.edited = row.entry.edited
    }
    // Whether what it shows in place counts depends on when it was received.
    if entry.edited != .no { try touch(row) }
    if row.entry != entry || !row.isClaimed {
      try touch(row)
      row.entry = entry
      row.isClaimed = true
      step.updated.append(row.id)
      try touch(row)
    }
    return row
  }

  // MARK: Places

  /// The rows with their places, where those that are kept leave room for the others.
  private func fitted(_ rows: [LogRow], _ part: Part, _ places: [[UInt8]: Place]) -> [LogRow]? {
    var rows = rows
    let kept = rows.indices.filter { places[rows[$0].id] != nil }
    guard let first = kept.first, let last = kept.last else { return nil }
    for index in kept { rows[index].place = places[rows[index].id] ?? 0 }
    for index in rows.indices where index < first {
      rows[index].place = rows[first].place - Int64(clamping: first - index) * spacing.step
    }
    for index in rows.indices where index > last {
      rows[index].place = rows[last].place + Int64(clamping: index - last) * spacing.step
    }
    for (low, high) in zip(kept, kept.dropFirst()) where high > low + 1 {
      let parts = Int64(clamping: high - low)
      let stride = rows[low].place.distance(to: rows[high].place) / parts
      guard stride >= 1 else { return nil }
      for index in low + 1..<high {
        rows[index].place = rows[low].place + Int64(clamping: index - low) * stride
      }
    }
    return rows
  }

  private mutating func put(
    _ rows: [LogRow], as range: LogRange, _ part: Part, at index: Int
  ) throws(Table.Failure) -> Int {
    var range = range
    range.low = rows.first?.place ?? part.low
    range.high = rows.last?.place ?? part.high
    if case .attached = part.below { range.low = min(range.low, part.range.low) }
    if case .attached = part.above { range.high = max(range.high, part.range.high) }
    try makeRoom(range.low, range.high, at: index)
    for row in rows { try table.put(row) }
    ranges.insert(range, at: index)
    return try respaced(index)
  }

  // MARK: What is known of it

  private func joined(_ run: LogRun, _ parts: [Part]) -> LogRange {
    var range = LogRange(low: 0, high: 0, connection: facts.connection)
    range.start = run.start
    range.present = run.present
    for part in parts where part.isInOrder && !part.range.isUnverified {
      if part.isBottom, part.below.goesOn, range.start == nil { range.start = part.range.start }
      if part.above.goesOn, let present = part.range.present {
        // What was whole up to a moment is so, however far it grows.
        if range.present.map({ $0.request < present.request }) ?? true { range.present = present }
      }
    }
    return range
  }

  /// Its tokens and its note, once its places are known.
  private mutating func tidy(
    _ at: Int, _ run: LogRun, _ parts: [Part]
  ) throws(Table.Failure) {
    var lower = run.lower.map { [$0] } ?? []
    var upper = run.upper.map { [$0] } ?? []
    for part in parts where !part.range.isUnverified {
      if isPlanted(.firstTokenStays) {
        lower = part.range.lower + lower
        upper = part.range.upper + upper
        continue
      }
      lower += part.range.lower
      upper += part.range.upper
    }
    ranges[at].lower = try best(lower, in: ranges[at], .below)
    ranges[at].upper = try best(upper, in: ranges[at], .above)
    for part in parts {
      guard let note = part.range.note, ranges[at].note == nil else { continue }
      if let row = try table.row(note.id), ranges[at].holds(row.place) { continue }
      ranges[at].note = note
    }
  }

  /// Those of the tokens that stand in a range.
  func tokens(_ tokens: [LogToken], in range: LogRange) throws(Table.Failure) -> [LogToken] {
    var found: [LogToken] = []
    for token in tokens {
      guard let id = token.id, let row = try table.row(id), range.holds(row.place) else { continue }
      found.append(token)
    }
    return found
  }

  /// The tokens to keep of one end (rule 4): one that may be sent now, then the one that stands
  /// furthest out, then the latest.
  private func best(
    _ all: [LogToken], in range: LogRange, _ side: LogNote.Side
  ) throws(Table.Failure) -> [LogToken] {
    var found = try tokens(all, in: range)
    if isPlanted(.firstTokenStays) { return Array(found.prefix(1)) }
    var places: [[UInt8]: Place] = [:]
    for token in found {
      guard let id = token.id else { continue }
      places[id] = try table.row(id)?.place
    }
    func key(_ token: LogToken) -> (Int, Int64) {
      let place = token.id.flatMap { places[$0]?.value } ?? 0
      return (isUsable(token) ? 0 : 1, side == .below ? place : -place)
    }
    var sorted: [LogToken] = []
    while let next = found.indices.min(by: { key(found[$0]) < key(found[$1]) }) {
      let token = found.remove(at: next)
      if !sorted.contains(where: { $0.bytes == token.bytes }) { sorted.append(token) }
    }
    return Array(sorted.prefix(2))
  }

  // MARK: What follows

  /// Drops what the range that holds an entry refutes (rules 8 and 10). True where something that
  /// stood above was rolled back.
  mutating func refute(
    around id: [UInt8], _ run: LogRun, _ moving: inout Moving
  ) throws(Table.Failure) -> Bool {
    guard let at = try range(of: id) else { return false }
    let mine = ranges[at]
    var isRolledBack = false
    for index in ranges.indices.reversed() where index != at {
      guard let (claim, isPurged) = try refutation(of: ranges[index], by: mine) else { continue }
      let held = try table.rows(from: ranges[index].low, through: ranges[index].high)
      guard held.contains(where: { $0.stored < claim.request }) else { continue }
      let isByTime = ranges[index].isByTime
      let (_, rows) = try takeOut(index)
      for row in rows {
        guard row.stored < claim.request else {
          if isByTime { moving.byTime.append(row) } else { moving.later.append(row) }
          continue
        }
        // What was imported this server may never have had.
        let wasNeverTold = isByTime && row.received == 0
        if isPurged || wasNeverTold { moving.purged.append(row) } else { moving.lost.append(row) }
        isRolledBack = isRolledBack || !isPurged && !wasNeverTold
        try drop(row)
      }
    }
    return isRolledBack
  }

  private func refutation(
    of range: LogRange, by mine: LogRange
  ) throws(Table.Failure) -> (LogClaim, isPurged: Bool)? {
    if let note = range.note, !isPlanted(.partStays),
      let claim = note.side == .above ? mine.present : mine.start, claim.request > note.issued,
      let row = try table.row(note.id), mine.holds(row.place)
    {
      return (claim, note.side == .below)
    }
    if mine.start != nil, let claim = mine.present, !isPlanted(.nothingRefuted) {
      return (claim, false)
    }
    return nil
  }

  /// What may have been undone with what was lost is shown on, and not claimed (rule 24).
  mutating func doubt(
    lost: [LogRow], isRolledBack: Bool, _ run: LogRun
  ) throws(Table.Failure) {
    if isPlanted(.restoredIsClaimed) { return }
    var listed = IDSet()
    for link in run.links where link.entry != nil { listed.insert(link.id) }
    var doubted: [LogRow] = []
    for row in lost where row.entry.change?.kind == .delete {
      if let target = row.entry.change?.target, let row = try table.row(target) {
        doubted.append(row)
      }
    }
    if isRolledBack { doubted += try table.markedInPlace(from: .min, through: .max) }
    for row in doubted where !listed.contains(row.id) { try unclaim(row) }
  }

  mutating func unclaim(_ row: LogRow) throws(Table.Failure) {
    guard var row = try table.row(row.id) else { return }
    row.isClaimed = false
    row.received = facts.issued
    try table.put(row)
    step.updated.append(row.id)
    try touch(row)
  }

  /// What came too late to be judged stands apart, each entry alone.
  mutating func insertDetached(_ rows: [LogRow]) throws(Table.Failure) {
    for row in rows {
      let range = LogRange(low: 0, high: 0, connection: facts.connection)
      let at = try insert(range, rows: [row], at: slot(timeUs: row.entry.timeUs))
      var changes = try self.changes(of: row.id, besides: at)
      if row.entry.change != nil { changes.append(row) }
      try arrange(around: row.id, changes: changes)
      step.moved.append(row.id)
      step.needsCatchUp = true
      try touch(row)
    }
  }

  mutating func drop(_ row: LogRow) throws(Table.Failure) {
    try touch(row)
    if row.id == facts.news {
      // Its neighbour takes its place; where there is none it may come again.
      var next = try table.last(below: row.place, from: .min)
      if next == nil { next = try table.first(above: row.place, through: .max) }
      if let next { facts.news = next.id }
    }
    try table.remove(row.id)
    step.removed.append(row.id)
  }

  mutating func touchMarked() throws(Table.Failure) {
    for row in try table.edited(received: 0..<UInt64.max) { try touch(row) }
  }

  mutating func touchMarked(in range: LogRange) throws(Table.Failure) {
    for row in try table.markedInPlace(from: range.low, through: range.high)
    where row.entry.edited != .no {
      try touch(row)
    }
  }

  /// Whether an edit shown in place counts depends on the claim of the present, and on when it was
  /// received: those are touched on which the claim decides otherwise than before.
  private mutating func touchMarked(
    _ at: Int, _ run: LogRun, _ parts: [Part], _ moving: Moving
  ) throws(Table.Failure) {
    // One that is taken away and names no message may be of any.
    let gone = (moving.lost + moving.purged).map(\.entry)
    if (gone + run.links.compactMap(\.entry)).contains(where: \.lacksTarget) {
      return try touchMarked()
    }
    var claims = parts.map { $0.range.decides } + [ranges[at].decides]
    if parts.contains(where: { !$0.below.goesOn || !$0.above.goesOn }) { claims.append(0) }
    guard let low = claims.min(), let high = claims.max(), low < high else { return }
    for row in try table.edited(received: low..<high) { try touch(row) }
  }

  /// Notes whose state depends on an entry: itself, and what it changes, however far that leads.
  mutating func touch(_ row: LogRow) throws(Table.Failure) {
    var row = row
    step.touched.append(row.id)
    for _ in 0..<8 {
      guard let change = row.entry.change, let target = change.target else { return }
      step.touched.append(target)
      if case .reactions(let user) = change.slot { step.reacted[target, default: []].insert(user) }
      guard let next = try table.row(target) else { return }
      row = next
    }
  }
}

extension LogEntry {
  /// A change that was taken away and tells neither what it did nor to what.
  var lacksTarget: Bool { isDeleted && change != nil && change?.target == nil }
}

extension LogRange {
  /// Edits shown in place do not count that were received before this request.
  fileprivate var decides: UInt64 { isUnverified ? 0 : present?.request ?? 0 }
}
