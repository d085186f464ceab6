/// Where entries get their places (rules 13 and 14).
///
/// The order of places is that of ranges, and in a range that of the log. Between ranges there is
/// room to grow; where it ends, what is in the way is renumbered first, the outermost before the
/// others, so that no two entries ever share a place.
internal import Base

extension LogBook {
  /// Places that are given lie between 0 and this.
  static var placeLimit: Int64 { 1 << 62 }

  /// How much ground so many entries need.
  private func width(_ count: Int) -> Int64 {
    Int64(clamping: max(count - 1, 0)).multipliedReportingOverflow(by: spacing.step).partialValue
  }

  // MARK: Making room

  /// Moves the ranges from an index on up by so much.
  private mutating func shiftUp(from index: Int, by delta: Int64) throws(Table.Failure) {
    for at in ranges.indices.reversed() where at >= index { try shift(at, by: delta) }
  }

  /// Moves the ranges below an index down by so much.
  private mutating func shiftDown(below index: Int, by delta: Int64) throws(Table.Failure) {
    for at in ranges.indices where at < index { try shift(at, by: -delta) }
  }

  private mutating func shift(_ at: Int, by delta: Int64) throws(Table.Failure) {
    let rows = try table.rows(from: ranges[at].low, through: ranges[at].high)
    for row in rows { try table.remove(row.id) }
    for var row in rows {
      row.place += delta
      try table.put(row)
      step.moved.append(row.id)
    }
    ranges[at].low += delta
    ranges[at].high += delta
  }

  private func neighbours(of index: Int) -> (below: Int64?, above: Int64?) {
    (
      index > 0 ? ranges[index - 1].high : nil,
      index < ranges.count ? ranges[index].low : nil
    )
  }

  /// Frees `low...high` between the ranges below `index` and those from it on. What is there
  /// already is not in `ranges`.
  mutating func makeRoom(_ low: Int64, _ high: Int64, at index: Int) throws(Table.Failure) {
    if isPlanted(.neighbourStays) { return }
    let (below, above) = neighbours(of: index)
    if let above, above <= high &+ 1 {
      try shiftUp(from: index, by: high - above + spacing.gap)
    }
    if let below, below >= low &- 1 {
      try shiftDown(below: index, by: below - low + spacing.gap)
    }
  }

  /// Between two ranges is a place at least that neither has: else they would be one.
  mutating func keepApart(below index: Int) throws(Table.Failure) {
    guard ranges[index].low <= ranges[index - 1].high &+ 1 else { return }
    try shiftUp(from: index, by: spacing.gap)
    _ = try respaced(index)
  }

  // MARK: Putting in

  /// Puts a range of entries between the ranges below `index` and those from it on, and gives its
  /// place among them.
  @discardableResult
  mutating func insert(
    _ range: LogRange, rows: [LogRow], at index: Int
  ) throws(Table.Failure) -> Int {
    let (below, above) = neighbours(of: index)
    let wide = width(rows.count)
    var stride = spacing.step
    var low = Self.placeLimit / 2
    switch (below, above) {
    case (nil, nil): break
    case (let below?, nil): low = below + spacing.gap
    case (nil, let above?): low = above - spacing.gap - wide
    case (let below?, let above?):
      let free = above - below
      let parts = Int64(clamping: rows.count) + 3
      if free > wide + 4 * stride {
        low = below + (free - wide) / 2
      } else if free / parts >= 2 {
        stride = free / parts
        low = below + 2 * stride
      } else {
        try shiftUp(from: index, by: wide + 2 * spacing.gap)
        low = below + spacing.gap
      }
    }
    var range = range
    range.low = low
    range.high = low
    for (count, row) in rows.enumerated() {
      var row = row
      row.place = low + Int64(clamping: count) * stride
      range.high = row.place
      try table.put(row)
    }
    ranges.insert(range, at: index)
    return try respaced(index)
  }

  /// Where the room of places ends, all ranges are numbered anew around its middle.
  mutating func respaced(_ index: Int) throws(Table.Failure) -> Int {
    guard let first = ranges.first, let last = ranges.last,
      first.low < spacing.gap || last.high > Self.placeLimit - spacing.gap
    else { return index }
    var all: [[LogRow]] = []
    for range in ranges {
      let rows = try table.rows(from: range.low, through: range.high)
      for row in rows { try table.remove(row.id) }
      all.append(rows)
    }
    var total: Int64 = 0
    for rows in all { total += width(rows.count) + spacing.gap }
    var low = max(Self.placeLimit / 2 - total / 2, spacing.gap)
    for (at, rows) in all.enumerated() {
      ranges[at].low = low
      for var row in rows {
        row.place = low
        try table.put(row)
        step.moved.append(row.id)
        ranges[at].high = low
        low += spacing.step
      }
      low += spacing.gap
    }
    return index
  }

  /// Takes a range out, with its entries, to put it in elsewhere.
  mutating func takeOut(_ index: Int) throws(Table.Failure) -> (LogRange, [LogRow]) {
    let range = ranges.remove(at: index)
    let rows = try table.rows(from: range.low, through: range.high)
    for row in rows { try table.remove(row.id) }
    return (range, rows)
  }

  /// Moves a range directly below or above another one, and gives where that one is then.
  mutating func move(_ index: Int, _ side: LogNote.Side, of other: Int) throws(Table.Failure) -> Int
  {
    let (range, rows) = try takeOut(index)
    let anchor = index < other ? other - 1 : other
    for row in rows {
      step.moved.append(row.id)
      try touch(row)
      // It may stand below now what it changes, or above what changes it.
      if row.entry.change?.target != nil { unsettled.append(row) }
      unsettled += try table.changes(of: row.id)
    }
    try insert(range, rows: rows, at: side == .above ? anchor + 1 : anchor)
    return side == .above ? anchor : anchor + 1
  }

  // MARK: Order of ranges

  /// Where an island of this time goes: above all that are not younger (rule 13).
  func slot(timeUs: Int64?) throws(Table.Failure) -> Int {
    guard let timeUs else { return ranges.count }
    var index = ranges.count
    while index > 0 {
      guard let time = try topRow(of: ranges[index - 1])?.entry.timeUs, time > timeUs else { break }
      index -= 1
    }
    if index == 0, let first = ranges.first, first.start != nil, !first.isVoid { return 1 }
    return index
  }

  /// Brings the ranges into the order that is proven, after the range that holds an entry changed.
  ///
  /// - Parameters:
  ///   - changes: those that came, or whose targets did.
  ///   - isNews: what the range claims is new, or what it holds beside what came.
  mutating func arrange(
    around id: [UInt8], changes: [LogRow], isNews: Bool = true
  ) throws(Table.Failure) {
    guard ranges.count > 1, var at = try range(of: id) else { return }
    if let claim = ranges[at].present, !ranges[at].isVoid, !isPlanted(.presentByTime) {
      at = try raise(at, claim, judging: isNews ? nil : changes)
    }
    try startOnce(at)
    if ranges[at].start != nil, !ranges[at].isVoid {
      while at > 0 { at = try move(at - 1, .above, of: at) }
    }
    for row in changes { try keepShown(row) }
    unsettled += changes
    // In a log that is one order this ends; where entries were lost it may not.
    var left = 16 + 4 * ranges.count
    while let row = unsettled.popLast() {
      if !isPlanted(.changeBelow), left > 0, try lift(row) { left -= 1 }
    }
  }

  /// A log starts once: the claim that was asked for last counts.
  private mutating func startOnce(_ at: Int) throws(Table.Failure) {
    for other in ranges.indices where other != at && !ranges[other].isVoid {
      guard !ranges[at].isVoid, let mine = ranges[at].start, let theirs = ranges[other].start
      else { continue }
      let stale = theirs.request < mine.request ? other : at
      ranges[stale].start = nil
      // What it changes may stand below it now.
      for row in try table.rows(from: ranges[stale].low, through: ranges[stale].high)
      where row.entry.change?.target != nil {
        unsettled.append(row)
      }
    }
  }

  /// Brings a range that reached the present above all that was stored before that claim, not above
  /// what came later.
  ///
  /// - Parameter changes: where given, of the other ranges those are judged that hold one of these.
  private mutating func raise(
    _ index: Int, _ claim: LogClaim, judging changes: [LogRow]?
  ) throws(Table.Failure) -> Int {
    var at = index
    var suspects: [LogRow] = []
    for row in changes ?? [] where try range(of: row.id) != at { suspects.append(row) }
    var earlier: [Int] = []
    var weight = 0
    for other in ranges.indices.reversed() where other != at {
      guard let row = try bottomRow(of: ranges[other]), row.stored < claim.request else { continue }
      var isJudged = changes == nil
      if !isJudged { isJudged = try holds(any: suspects, at: other) }
      if isJudged, try drop(other, impossibleBelow: ranges[at], claim) {
        if other < at { at -= 1 }
        earlier = earlier.map { $0 - 1 }
      } else if other > at {
        earlier.append(other)
        weight += try table.count(from: ranges[other].low, through: ranges[other].high)
      }
    }
    guard let highest = earlier.first else { return at }
    if weight > (try table.count(from: ranges[at].low, through: ranges[at].high)) {
      _ = try move(at, .above, of: highest)
      return highest
    }
    for other in earlier.reversed() { at = try move(other, .below, of: at) }
    return at
  }

  private func holds(any rows: [LogRow], at index: Int) throws(Table.Failure) -> Bool {
    for row in rows where try range(of: row.id) == index { return true }
    return false
  }

  /// A change stands above what it changes: the range of its target goes below its own.
  private mutating func lift(_ change: LogRow) throws(Table.Failure) -> Bool {
    // It came without a place.
    guard let row = try table.row(change.id), let target = row.entry.change?.target,
      let other = try range(of: target), let mine = range(holding: row.place), other > mine,
      ranges[mine].start == nil || ranges[mine].isVoid
    else { return false }
    if let claim = ranges[other].present, row.stored < claim.request,
      try drop(mine, impossibleBelow: ranges[other], claim)
    {
      return false
    }
    if try dropInside(target: target, other, of: row, mine) { return false }
    _ = try move(other, .below, of: mine)
    return true
  }

  /// Drops a range of which something lies below an entry of another and something above one: it
  /// stood between two neighbours of that one, and has left the log.
  ///
  /// - Parameter target: what the row changes, in the range `other`.
  private mutating func dropInside(
    target: [UInt8], _ other: Int, of row: LogRow, _ mine: Int
  ) throws(Table.Failure) -> Bool {
    guard !ranges[other].isVoid, !profile.hasTwoOrders, let low = try table.row(target) else {
      return false
    }
    let rows = try table.rows(from: ranges[other].low, through: ranges[other].high)
    for high in rows {
      guard let id = high.entry.change?.target, let base = try table.row(id),
        ranges[mine].holds(base.place)
      else { continue }
      let isInMine = base.place < row.place && !ranges[mine].isVoid
      let isInOther = low.place < high.place
      guard isInMine || isInOther else { continue }
      var gone = isInMine ? other : mine
      if isInMine, isInOther, try !isOlder(rows, than: mine) { gone = mine }
      let (_, left) = try takeOut(gone)
      for row in left { try drop(row) }
      impossible += left
      return true
    }
    return false
  }

  /// Of two ranges that exclude each other the one that was told last is there, or the longer one.
  private func isOlder(_ rows: [LogRow], than index: Int) throws(Table.Failure) -> Bool {
    let held = try table.rows(from: ranges[index].low, through: ranges[index].high)
    let (theirs, mine) = (Self.heard(rows), Self.heard(held))
    return theirs == mine ? rows.count <= held.count : theirs < mine
  }

  private static func heard(_ rows: [LogRow]) -> UInt64 {
    rows.filter(\.isClaimed).map(\.heard).max() ?? 0
  }

  /// Drops a range that is proven to lie below another one and changes an entry of it: it is in the
  /// log no more.
  private mutating func drop(
    _ index: Int, impossibleBelow range: LogRange, _ claim: LogClaim
  ) throws(Table.Failure) -> Bool {
    guard !range.isVoid, !profile.hasTwoOrders else { return false }
    let rows = try table.rows(from: ranges[index].low, through: ranges[index].high)
    var isImpossible = false
    for row in rows {
      guard row.stored < claim.request else { return false }
      guard let target = row.entry.change?.target, let row = try table.row(target) else { continue }
      isImpossible = isImpossible || range.holds(row.place)
    }
    guard isImpossible else { return false }
    ranges.remove(at: index)
    for row in rows { try drop(row) }
    impossible += rows
    return true
  }

  /// The changes of a message that write one register; of edits one of each range will do.
  private func others(of target: [UInt8], _ slot: LogSlot) throws(Table.Failure) -> [LogRow] {
    if slot != .content {
      return try table.changes(of: target, edits: false).filter { $0.entry.change?.slot == slot }
    }
    var edits: [LogRow] = []
    let user = try table.row(target).flatMap { editor(of: $0) }
    for range in ranges {
      let edit = try table.lastEdit(of: target, by: user, from: range.low, through: range.high)
      if let edit { edits.append(edit) }
    }
    return edits
  }

  /// Between two ranges of which neither holds the message, what is shown stays (rule 18).
  private mutating func keepShown(_ row: LogRow) throws(Table.Failure) {
    guard row.stored == facts.issued, let change = row.entry.change, let target = change.target,
      let slot = change.slot, let own = try range(of: target), var mine = try range(of: row.id),
      own != mine, ranges[mine].present == nil || ranges[mine].isVoid
    else { return }
    for other in try others(of: target, slot) {
      guard other.stored < row.stored, let index = try range(of: other.id), index < mine,
        index != own, index > 0 || ranges[index].start == nil
      else { continue }
      mine = try move(index, .above, of: mine)
    }
  }
}
