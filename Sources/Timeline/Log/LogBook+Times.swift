/// How far times are from the order of a log.
internal import Base

extension LogBook {
  /// Notes by how much times step back in a run, and where it joins what was known.
  mutating func noteSteps(of run: LogRun) throws(Table.Failure) {
    guard let first = run.links.first, let last = run.links.last,
      let low = try table.row(first.id), let high = try table.row(last.id),
      let at = range(holding: low.place), ranges[at].holds(high.place), low.place <= high.place
    else { return }
    let range = ranges[at]
    var times: [Int64?] = []
    if range.low < low.place {
      times.append(try table.last(below: low.place, from: range.low)?.entry.timeUs)
    }
    for link in run.links {
      if let entry = link.entry {
        times.append(entry.timeUs)
      } else {
        times.append(try table.row(link.id)?.entry.timeUs)
      }
    }
    if high.place < range.high {
      times.append(try table.first(above: high.place, through: range.high)?.entry.timeUs)
    }
    var top: Int64?
    for case let time? in times {
      if let top { facts.stepUs = max(facts.stepUs, top.saturating(minus: time)) }
      top = max(top ?? time, time)
    }
  }
}
