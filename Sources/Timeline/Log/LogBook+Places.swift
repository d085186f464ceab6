/// Where entries get their places (rules 13 and 14).
///
/// The order of places is that of ranges, and in a range that of the log. Between ranges there is
/// room to grow; where it ends, what is in the way is renumbered first, the outermost before the
/// others, so that no two entries ever share a place.
internal import Base

extension LogBook {
  /// Places that are given lie between 0 and this.
  static var placeLimit: Place { Place(1 << 62) }
  private static var placeMiddle: Place { Place(1 << 61) }

  /// How much ground so many entries need.
  private func width(_ count: Int) -> Int64 {
    Int64(clamping: max(count - 1, 0)).multipliedReportingOverflow(by: spacing.step).partialValue
  }

  // MARK: Making room

  /// What stays free between two ranges of which one makes room.
  private var spare: Int64 { max(spacing.gap >> 10, 2) }

  /// Moves the range at an index up by so much, and of those above it as many as are in the way.
  private mutating func shiftUp(from index: Int, by delta: Int64) throws(Table.Failure) {
    guard index < ranges.count else { return }
    var deltas = [delta]
    var free = ranges[index].high + delta + spare
    for at in ranges.indices.dropFirst(index + 1) {
      let delta = ranges[at].low.distance(to: free)
      if delta <= 0 { break }
      deltas.append(delta)
      free = ranges[at].high + delta + spare
    }
    for (count, delta) in deltas.enumerated().reversed() { try shift(index + count, by: delta) }
  }

  /// Moves the range below an index down by so much, and of those below it as many as are in the
  /// way.
  private mutating func shiftDown(below index: Int, by delta: Int64) throws(Table.Failure) {
    guard index > 0 else { return }
    var deltas = [delta]
    var free = ranges[index - 1].low - delta - spare
    for at in ranges.indices.prefix(index - 1).reversed() {
      let delta = free.distance(to: ranges[at].high)
      if delta <= 0 { break }
      deltas.append(delta)
      free = ranges[at].low - delta - spare
    }
    for (count, delta) in deltas.enumerated().reversed() {
      try shift(index - 1 - count, by: -delta)
    }
  }

  private mutating func shift(_ at: Int, by delta: Int64) throws(Table.Failure) {
    let rows = try table.rows(from: ranges[at].low, through: ranges[at].high)
    for row in rows { try table.remove(row.id) }
    for var row in rows {
      row.place = row.place + delta
      try table.put(row)
      step.moved.append(row.id)
    }
    ranges[at].low = ranges[at].low + delta
    ranges[at].high = ranges[at].high + delta
  }

  private func neighbours(of index: Int) -> (below: Place?, above: Place?) {
    (
      index > 0 ? ranges[index - 1].high : nil,
      index < ranges.count ? ranges[index].low : nil
    )
  }

  /// Frees `low...high` between the ranges below `index` and those from it on. What is there
  /// already is not in `ranges`.
  mutating func makeRoom(_ low: Place, _ high: Place, at index: Int) throws(Table.Failure) {
    if isPlanted(.neighbourStays) { return }
    let (below, above) = neighbours(of: index)
    if let above, above <= high + 1 {
      try shiftUp(from: index, by: above.distance(to: high) + spacing.gap)
    }
    if let below, below >= low - 1 {
      try shiftDown(below: index, by: low.distance(to: below) + spacing.gap)
    }
  }

  /// Between two ranges is a place at least that neither has: else they would be one.
  mutating func keepApart(below index: Int) throws(Table.Failure) {
    guard ranges[index].low <= ranges[index - 1].high + 1 else { return }
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
    var low = Self.placeMiddle
    switch (below, above) {
    case (nil, nil): break
    case (let below?, nil): low = below + spacing.gap
    case (nil, let above?): low = above - spacing.gap - wide
    case (let below?, let above?):
      let free = below.distance(to: above)
      let parts = Int64(clamping: rows.count) + 3
      if free > wide + 4 * stride {
        // The next one may well go right above it.
        low = below + min((free - wide) / 2, max(spacing.gap >> 8, 2 * stride))
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
      first.low < Place(spacing.gap) || last.high > Self.placeLimit - spacing.gap
    else { return index }
    var all: [[LogRow]] = []
    for range in ranges {
      let rows = try table.rows(from: range.low, through: range.high)
      for row in rows { try table.remove(row.id) }
      all.append(rows)
    }
    var total: Int64 = 0
    for rows in all { total += width(rows.count) + spacing.gap }
    var low = max(Self.placeMiddle - total / 2, Place(spacing.gap))
    for (at, rows) in all.enumerated() {
      ranges[at].low = low
      for var row in rows {
        row.place = low
        try table.put(row)
        step.moved.append(row.id)
        ranges[at].high = low
        low = low + spacing.step
      }
      low = low + spacing.gap
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
      unsettled += try changes(of: row.id, besides: nil)
    }
    try insert(range, rows: rows, at: side == .above ? anchor + 1 : anchor)
    return side == .above ? anchor : anchor + 1
  }

  // MARK: Order of ranges

  /// Where a run goes of which nothing is known: what lies behind a hole above what lies before it,
  /// a change above what it changes, the rest by time.
  func slot(for run: LogRun) throws(Table.Failure) -> Int {
    var index: Int
    if let id = run.below, let below = try range(of: id) {
      index = below + 1
    } else {
      index = try slot(timeUs: run.links.lazy.compactMap(\.entry?.timeUs).first)
    }
    if isPlanted(.changeBelow) { return index }
    for link in run.links {
      guard let target = link.entry?.change?.target, let at = try range(of: target) else {
        continue
      }
      index = max(index, at + 1)
    }
    return index
  }

  /// Where a detached entry of this time goes: above all that are not younger (rule 13).
  func slot(timeUs: Int64?) throws(Table.Failure) -> Int {
    guard let timeUs else { return ranges.count }
    var index = ranges.count
    while index > 0 {
      guard let time = try topRow(of: ranges[index - 1])?.entry.timeUs, time > timeUs else { break }
      index -= 1
    }
    if index == 0, let first = ranges.first, first.start != nil, !first.isUnverified { return 1 }
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
    if let claim = ranges[at].present, !ranges[at].isUnverified, !isPlanted(.presentByTime) {
      at = try renumberAbove(at, claim, judging: isNews ? nil : changes)
    }
    try startOnce(at)
    if ranges[at].start != nil, !ranges[at].isUnverified {
      while at > 0 { at = try move(at - 1, .above, of: at) }
    }
    for row in changes { try keepShown(row) }
    unsettled += changes
    // In a log that is one order this ends; where entries were lost it may not.
    var left = 16 + 4 * ranges.count
    while let row = unsettled.popLast() {
      if !isPlanted(.changeBelow), left > 0, try moveAboveTarget(row) { left -= 1 }
    }
  }

  /// A log starts once: the claim that was asked for last counts.
  private mutating func startOnce(_ at: Int) throws(Table.Failure) {
    for other in ranges.indices where other != at && !ranges[other].isUnverified {
      guard !ranges[at].isUnverified, let mine = ranges[at].start, let theirs = ranges[other].start
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
  private mutating func renumberAbove(
    _ index: Int, _ claim: LogClaim, judging changes: [LogRow]?
  ) throws(Table.Failure) -> Int {
    var at = index
    var suspects: [Place] = []
    for row in changes ?? [] {
      if let row = try table.row(row.id), !ranges[at].holds(row.place) {
        suspects.append(row.place)
      }
    }
    var earlier: [Int] = []
    var weight = 0
    for other in ranges.indices.reversed() where other != at {
      guard let row = try bottomRow(of: ranges[other]), row.stored < claim.request else { continue }
      let isJudged = changes == nil || suspects.contains { ranges[other].holds($0) }
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

  /// A change stands above what it changes: the range of its target goes below its own.
  private mutating func moveAboveTarget(_ change: LogRow) throws(Table.Failure) -> Bool {
    // It came without a place.
    guard let row = try table.row(change.id), let target = row.entry.change?.target,
      let other = try range(of: target), let mine = range(holding: row.place), other > mine,
      ranges[mine].start == nil || ranges[mine].isUnverified, !ranges[mine].isByTime,
      !ranges[other].isByTime
    else { return false }
    if let claim = ranges[other].present, row.stored < claim.request,
      try drop(mine, impossibleBelow: ranges[other], claim)
    {
      return false
    }
    if try dropInside(target: target, other, of: row, mine) { return false }
    // The one of fewer entries moves.
    if try isLonger(ranges[other], than: ranges[mine]) {
      _ = try move(mine, .above, of: other)
    } else {
      _ = try move(other, .below, of: mine)
    }
    return true
  }

  /// Drops a range of which something lies below an entry of another and something above one: it
  /// stood between two neighbours of that one, and has left the log.
  ///
  /// - Parameter target: what the row changes, in the range `other`.
  private mutating func dropInside(
    target: [UInt8], _ other: Int, of row: LogRow, _ mine: Int
  ) throws(Table.Failure) -> Bool {
    guard !ranges[other].isUnverified, let low = try table.row(target) else { return false }
    let rows = try table.rows(from: ranges[other].low, through: ranges[other].high)
    for high in rows {
      guard let id = high.entry.change?.target, let base = try table.row(id),
        ranges[mine].holds(base.place)
      else { continue }
      let isInMine = base.place < row.place && !ranges[mine].isUnverified
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

  /// Whether a range has more entries than another one: read are as many as the shorter one has.
  func isLonger(_ range: LogRange, than other: LogRange) throws(Table.Failure) -> Bool {
    var count = 16
    while true {
      if try table.row(count, above: other.low - 1, through: other.high) == nil {
        let held = try table.count(from: other.low, through: other.high)
        return try table.row(held + 1, above: range.low - 1, through: range.high) != nil
      }
      if try table.row(count, above: range.low - 1, through: range.high) == nil { return false }
      count &*= 4
    }
  }

  /// Of two ranges that exclude each other the one that was received last is there, or the longer.
  private func isOlder(_ rows: [LogRow], than index: Int) throws(Table.Failure) -> Bool {
    let held = try table.rows(from: ranges[index].low, through: ranges[index].high)
    let (theirs, mine) = (Self.received(rows), Self.received(held))
    return theirs == mine ? rows.count <= held.count : theirs < mine
  }

  private static func received(_ rows: [LogRow]) -> UInt64 {
    rows.filter(\.isClaimed).map(\.received).max() ?? 0
  }

  /// Drops a range that is proven to lie below another one and changes an entry of it: it is in the
  /// log no more.
  private mutating func drop(
    _ index: Int, impossibleBelow range: LogRange, _ claim: LogClaim
  ) throws(Table.Failure) -> Bool {
    guard !range.isUnverified, !ranges[index].isByTime else { return false }
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

  /// Of the changes of an entry the topmost of each other range: where those stand is all that the
  /// order of ranges depends on. Those of the range of the entry itself stand where they belong.
  func changes(of id: [UInt8], besides own: Int?) throws(Table.Failure) -> [LogRow] {
    guard ranges.count > (own == nil ? 0 : 1), try table.hasChanges(of: id) else { return [] }
    var found: [LogRow] = []
    var high = Place.max
    while let row = try table.lastChange(of: id, nil, from: .min, through: high) {
      high = row.place - 1
      guard let at = range(holding: row.place) else { continue }
      if at != own { found.append(row) }
      high = ranges[at].low - 1
    }
    return found.reversed()
  }

  /// Between two ranges of which neither holds the message, what is shown stays (rule 18).
  private mutating func keepShown(_ row: LogRow) throws(Table.Failure) {
    guard row.stored == facts.issued, let change = row.entry.change, let target = change.target,
      let slot = change.slot, let own = try range(of: target), var mine = try range(of: row.id),
      own != mine, ranges[mine].present == nil || ranges[mine].isUnverified
    else { return }
    // An edit by another user shows nothing.
    var editor: [UInt8]?
    if slot == .content, let message = try table.row(target) { editor = self.editor(of: message) }
    if let editor, editor != change.user { return }
    // From above, so that those that move keep their order.
    var index = mine
    while index > 0,
      let other = try slot == .content
        ? table.lastEdit(of: target, by: editor, from: .min, through: ranges[index - 1].high)
        : table.lastChange(of: target, slot, from: .min, through: ranges[index - 1].high)
    {
      guard let at = range(holding: other.place) else { return }
      index = at
      if at == (try range(of: target)) || other.stored >= row.stored { continue }
      if at == 0, ranges[0].start != nil { return }
      mine = try move(at, .above, of: mine)
    }
  }
}
