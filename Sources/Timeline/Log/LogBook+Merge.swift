/// How a run of neighbours comes among the ranges (rules 7 to 10, 14, 23 to 25).
///
/// A run is the truth for its range. Of each range of which it shows something, what lies between
/// two entries that it shows is judged, and what lies beyond stays where the run ends with the
/// range, goes where the run claims an end of the log, and is split off otherwise.
internal import Base

/// An entry of a run; one without a copy is known, and only stands there.
struct LogLink {
  var id: [UInt8]
  var entry: LogEntry?
}

/// Neighbours that a page or a push showed.
struct LogRun {
  var links: [LogLink] = []
  /// The number of the page's request.
  var request: UInt64
  var start: LogClaim?
  var present: LogClaim?
  var lower: LogToken?
  var upper: LogToken?
  /// The entry that stands below it, with a hole between the two.
  var below: [UInt8]?

  init(request: UInt64) { self.request = request }
}

/// What a run shows of one range.
struct Part {
  var index: Int
  var range: LogRange
  var rows: [LogRow] = []
  var isInOrder = true
  /// The run ends with it.
  var isBottom = false
  var isTop = false
  var below = Beyond.none
  var above = Beyond.none
  var weight = 0

  var low: Place { rows.map(\.place).min() ?? range.low }
  var high: Place { rows.map(\.place).max() ?? range.high }

  /// It is the same range, with more at its ends.
  var goesOn: Bool { isInOrder && below.goesOn && above.goesOn }
}

enum Beyond {
  case none
  /// It goes on as the same range.
  case attached
  /// It becomes a range of its own.
  case split
  /// It was judged: nothing of it is left there.
  case judged

  /// What was said of the range's end is still so.
  var goesOn: Bool {
    switch self {
    case .none, .attached: true
    case .split, .judged: false
    }
  }
}

/// What was taken out of the table, on the way to another place.
struct Moving {
  var later: [LogRow] = []
  var lost: [LogRow] = []
  /// Imported ones, which go by time again.
  var byTime: [LogRow] = []
  var purged: [LogRow] = []
  var below: [LogRow] = []
  var above: [LogRow] = []
  var isRolledBack = false
}

extension LogBook {
  /// Brings a run among the ranges.
  mutating func merge(_ run: LogRun) throws(Table.Failure) {
    var parts = try self.parts(of: run)
    var moving = Moving()
    let survivor = try judge(&parts, run, &moving)
    let loose = try loosened(parts, run)
    let (index, places) = try clear(parts, survivor: survivor, run, &moving)
    for row in moving.purged + moving.lost { try drop(row) }
    var changes = try build(run, parts, survivor: survivor, places, at: index, moving)
    // What they changed may have been taken out meanwhile, and what that changed is not found then.
    for row in moving.purged + moving.lost where row.entry.change != nil { try touch(row) }
    for id in loose {
      if let row = try table.row(id) { changes.append(row) }
    }
    let isNews = run.present != nil || parts.count != 1 || !parts[0].goesOn
    try arrange(around: run.links[0].id, changes: changes, isNews: isNews)
    // What an older claim refutes is gone already.
    let isStart =
      run.start != nil && parts.allSatisfy { $0.range.start == nil || $0.range.isUnverified }
    let isRefuted =
      isNews || isStart ? try refute(around: run.links[0].id, run, &moving) : false
    try insertDetached(moving.later)
    try putByTime(moving.byTime)
    let isRolledBack = moving.isRolledBack || isRefuted || !impossible.isEmpty
    try doubt(lost: moving.lost + impossible, isRolledBack: isRolledBack, run)
    impossible = []
    (facts.empty, emptyEnd) = (nil, nil)
    try noteSteps(of: run)
    try bound(besides: run)
    try review()
  }

  /// What the run shows of each range.
  private mutating func parts(of run: LogRun) throws(Table.Failure) -> [Part] {
    var parts: [Part] = []
    for (count, link) in run.links.enumerated() {
      guard let row = try table.row(link.id), let index = range(holding: row.place) else {
        continue
      }
      let at: Int
      if let known = parts.firstIndex(where: { $0.index == index }) {
        at = known
      } else {
        parts.append(Part(index: index, range: ranges[index]))
        at = parts.count - 1
      }
      if let last = parts[at].rows.last, last.place >= row.place { parts[at].isInOrder = false }
      parts[at].rows.append(row)
      if count == 0 { parts[at].isBottom = true }
      if count == run.links.count - 1 { parts[at].isTop = true }
    }
    for at in parts.indices where !parts[at].isInOrder {
      facts.contradictions &+= 1
      parts[at].isBottom = false
      parts[at].isTop = false
    }
    return parts
  }

  /// The changes of ranges that will start the log no more: what they change stands below them now,
  /// wherever it was put while they were the lowest.
  private func loosened(_ parts: [Part], _ run: LogRun) throws(Table.Failure) -> [[UInt8]] {
    guard run.start == nil else { return [] }
    var found: [[UInt8]] = []
    for part in parts where part.range.start != nil && !part.range.isUnverified {
      if part.isInOrder, part.isBottom, part.below.goesOn { continue }
      for row in try table.rows(from: part.range.low, through: part.range.high)
      where row.entry.change?.target != nil {
        found.append(row.id)
      }
    }
    return found
  }

  // MARK: Judging

  /// Decides what becomes of what the run does not show, and which part keeps its places.
  private mutating func judge(
    _ parts: inout [Part], _ run: LogRun, _ moving: inout Moving
  ) throws(Table.Failure) -> Int? {
    var survivor: Int?
    for at in parts.indices {
      let part = parts[at]
      try judgeBetween(part, run, &moving)
      parts[at].below = try beyond(part, .below, run, &moving)
      parts[at].above = try beyond(part, .above, run, &moving)
      guard part.isInOrder else { continue }
      if parts.count == 1 { return at }
      var weight = part.rows.count
      if case .attached = parts[at].below {
        weight += try table.count(from: part.range.low, through: part.low - 1)
      }
      if case .attached = parts[at].above {
        weight += try table.count(from: part.high + 1, through: part.range.high)
      }
      parts[at].weight = weight
      if survivor.map({ parts[$0].weight < weight }) ?? true { survivor = at }
    }
    return survivor
  }

  /// What lies between two entries of a run and is not in it is gone, where it was stored before
  /// the run was asked for (rule 9).
  private mutating func judgeBetween(
    _ part: Part, _ run: LogRun, _ moving: inout Moving
  ) throws(Table.Failure) {
    guard part.rows.count > 1, part.low + 1 < part.high else { return }
    var shown = IDSet()
    for row in part.rows { shown.insert(row.id) }
    for row in try table.rows(from: part.low + 1, through: part.high - 1)
    where !shown.contains(row.id) {
      if part.range.isByTime {
        moving.byTime.append(row)
      } else if isGone(row, before: run.request), !isPlanted(.absentStays) {
        moving.lost.append(row)
      } else {
        moving.later.append(row)
      }
    }
  }

  private func isGone(_ row: LogRow, before request: UInt64) -> Bool {
    row.stored < request || isPlanted(.laterIsGone)
  }

  private mutating func beyond(
    _ part: Part, _ side: LogNote.Side, _ run: LogRun, _ moving: inout Moving
  ) throws(Table.Failure) -> Beyond {
    let (low, high) =
      side == .below ? (part.range.low, part.low - 1) : (part.high + 1, part.range.high)
    guard low <= high, try table.first(above: low - 1, through: high) != nil else { return .none }
    // What stands there by time alone proves nothing.
    if part.range.isByTime { return .split }
    let isEnd = side == .below ? part.isBottom : part.isTop
    let claim = side == .below ? run.start : run.present
    let isAttached = isEnd && !part.range.isUnverified || isPlanted(.splitForgotten)
    guard let claim else { return isAttached ? .attached : .split }
    if side == .below, isPlanted(.purgedStays) { return isAttached ? .attached : .split }
    let rows = try table.rows(from: low, through: high)
    if isAttached, rows.allSatisfy({ !isGone($0, before: claim.request) }) { return .attached }
    for row in rows {
      if isGone(row, before: claim.request) {
        // What is gone below the start was purged, and nothing that it did is taken back.
        if side == .below { moving.purged.append(row) } else { moving.lost.append(row) }
        if side == .above { moving.isRolledBack = true }
      } else {
        moving.later.append(row)
      }
    }
    return .judged
  }

  // MARK: Taking out

  /// Takes out what changes its place, splits what is split, and says where the run goes and which
  /// places it keeps.
  private mutating func clear(
    _ parts: [Part], survivor: Int?, _ run: LogRun, _ moving: inout Moving
  ) throws(Table.Failure) -> (index: Int, places: [[UInt8]: Place]) {
    var places: [[UInt8]: Place] = [:]
    for (at, part) in parts.enumerated() where at != survivor {
      if case .attached = part.below {
        moving.below = try table.rows(from: part.range.low, through: part.low - 1)
      }
      if case .attached = part.above {
        moving.above = try table.rows(from: part.high + 1, through: part.range.high)
      }
    }
    if let survivor {
      for row in parts[survivor].rows { places[row.id] = row.place }
    }
    var rest: [LogRange] = []
    var index: Int?
    for (at, range) in ranges.enumerated() {
      guard let which = parts.firstIndex(where: { $0.index == at }) else {
        rest.append(range)
        continue
      }
      let part = parts[which]
      if case .split = part.below, let row = try table.last(below: part.low, from: range.low) {
        rest.append(try split(part, .below, range.low, row.place))
      }
      if which == survivor { index = rest.count }
      if case .split = part.above, let row = try table.first(above: part.high, through: range.high)
      {
        rest.append(try split(part, .above, row.place, range.high))
      }
    }
    for row in moving.below + moving.above + moving.later + moving.byTime {
      try table.remove(row.id)
    }
    for (at, part) in parts.enumerated() where at != survivor {
      for row in part.rows { try table.remove(row.id) }
    }
    ranges = rest
    if let index { return (index, places) }
    return (try slot(for: run), places)
  }

  /// A part that the run did not show beside its neighbour (rule 8).
  private func split(
    _ part: Part, _ side: LogNote.Side, _ low: Place, _ high: Place
  ) throws(Table.Failure) -> LogRange {
    var piece = LogRange(low: low, high: high, connection: part.range.connection)
    piece.isUnverified = part.range.isUnverified
    piece.isByTime = part.range.isByTime
    // Where imported ones stand beside it no page has said.
    if piece.isByTime { return piece }
    let place = side == .above ? part.high : part.low
    let id = part.rows.first { $0.place == place }?.id ?? []
    piece.note = LogNote(side, of: id, issued: facts.issued)
    piece.lower = side == .below ? try tokens(part.range.lower, in: piece) : []
    piece.upper = side == .above ? try tokens(part.range.upper, in: piece) : []
    if isPlanted(.outerPartStays) {
      piece.start = side == .below ? part.range.start : nil
      piece.present = side == .above ? part.range.present : nil
    }
    return piece
  }
}
