/// The bound of the number of ranges (rule 28).
///
/// Each input looks at each range, so there is a most of them. Rule protected: beyond it the lowest
/// ones are put together to one that goes by its times. It claims nothing, and nothing in it is
/// gone: pages that list its entries give them their places again.
internal import Base

extension LogBook {
  /// - Parameter run: what has just come; the ranges of its ends stay.
  mutating func bound(besides run: LogRun? = nil) throws(Table.Failure) {
    guard ranges.count > profile.rangesMax else { return }
    var kept: [Place] = []
    for id in keeps + [run?.links.first?.id, run?.links.last?.id].compactMap({ $0 }) {
      if let row = try table.row(id) { kept.append(row.place) }
    }
    if let newest { kept.append(ranges[newest].high) }
    func mayEnd(_ range: LogRange) -> Bool {
      (range.start == nil || range.isUnverified) && !kept.contains(where: range.holds)
    }
    var at = 0
    while ranges.count > profile.rangesMax, at + 1 < ranges.count {
      if mayEnd(ranges[at]), mayEnd(ranges[at + 1]) {
        try putTogether(at)
      } else {
        at += 1
      }
    }
  }

  /// Makes one range of two that stand beside each other.
  private mutating func putTogether(_ at: Int) throws(Table.Failure) {
    let (below, above) = (ranges[at], ranges[at + 1])
    for range in [below, above] where !range.isUnverified && range.present != nil {
      try touchMarked(in: range)
    }
    // What counts of the changes of an entry may be another, where one of them stands below it.
    if try isLonger(below, than: above) {
      for row in try table.rows(from: above.low, through: above.high) {
        guard try table.hasChanges(of: row.id),
          try table.lastChange(of: row.id, nil, from: below.low, through: below.high) != nil
        else { continue }
        try noteOrder(of: row)
      }
    } else {
      for row in try table.rows(from: below.low, through: below.high) {
        guard let target = row.entry.change?.target, let row = try table.row(target),
          above.holds(row.place)
        else { continue }
        try noteOrder(of: row)
      }
    }
    var range = LogRange(
      low: below.low, high: above.high, connection: min(below.connection, above.connection))
    range.isByTime = !isPlanted(.boundedClaims)
    ranges.replaceSubrange(at...at + 1, with: [range])
  }

  private mutating func noteOrder(of row: LogRow) throws(Table.Failure) {
    step.moved.append(row.id)
    try touch(row)
  }
}
