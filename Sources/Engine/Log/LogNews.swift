/// Which messages of a log are new to this device: those that came after it was read for the first
/// time, whichever request brings them.
///
/// Rule protected: they stand above the entry that was the last one then (`LogFacts.news`). Of a
/// range of which nobody knows yet whether it lies above, nothing is said until it is joined.
internal import Base
internal import Store
internal import Timeline

struct LogNews {
  /// The last entries that were known when the walk began.
  private let lastKnown: [[UInt8]]
  /// The ends of the ranges of which nothing was known before the page.
  private var open: [(low: [UInt8], high: [UInt8])] = []

  init(_ walk: LogWalk, before book: LogBook<LogRows>) throws(StoreFailure) {
    lastKnown = walk.lastKnown ?? []
    for index in book.ranges.indices where try floor(of: index, in: book) == nil {
      guard !book.ranges[index].isUnverified,
        let low = try book.bottomRow(of: book.ranges[index])?.id,
        let high = try book.topRow(of: book.ranges[index])?.id
      else { continue }
      open.append((low, high))
    }
  }

  /// What stands above this place of a range is new, and what stands below is history.
  private func floor(of index: Int, in book: LogBook<LogRows>) throws(StoreFailure) -> Place? {
    guard let first = book.facts.news else { return .max }
    if first.isEmpty { return .min }
    let range = book.ranges[index]
    guard let row = try book.table.row(first), let own = book.range(holding: row.place) else {
      // It went from here: what was known last takes its place.
      for id in lastKnown {
        guard let place = try book.table.row(id)?.place else { continue }
        if range.holds(place) { return place }
      }
      return nil
    }
    if own == index { return row.place }
    // Both reached the present, and this one did later.
    guard !range.isUnverified, !book.ranges[own].isUnverified, let claim = range.present,
      claim.request > book.ranges[own].present?.request ?? 0
    else { return nil }
    return .min
  }

  /// What a page showed, and what it joined.
  func flags(
    of entries: LogEntries, in book: LogBook<LogRows>
  ) throws(StoreFailure) -> [[UInt8]: RowFlags] {
    var flags: [[UInt8]: RowFlags] = [:]
    for id in entries.arrivals.keys {
      guard let place = try book.table.row(id)?.place, let index = book.range(holding: place),
        let floor = try floor(of: index, in: book)
      else { continue }
      flags[id] = place > floor ? .offered : .history
    }
    for ends in open {
      guard let low = try book.table.row(ends.low)?.place,
        let high = try book.table.row(ends.high)?.place,
        let index = book.range(holding: low), book.ranges[index].holds(high),
        let floor = try floor(of: index, in: book)
      else { continue }
      for row in try book.table.rows(from: low, through: high) where row.entry.change == nil {
        flags[row.id] = row.place > floor ? .offered : .history
      }
    }
    return flags
  }
}
