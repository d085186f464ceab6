/// A table of entries in memory: a sorted list of places, and what names what.
import Timeline

struct MemoryLogTable: LogTable {
  private(set) var byID: [[UInt8]: LogRow] = [:]
  private var order: [(place: Int64, id: [UInt8])] = []
  private var byTarget: [[UInt8]: [[UInt8]]] = [:]
  /// Two entries shared a place.
  private(set) var isBroken = false

  var all: [LogRow] { order.compactMap { byID[$0.id] } }

  /// The index of the first entry at or above a place.
  private func index(_ place: Int64) -> Int {
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if order[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func row(_ id: [UInt8]) -> LogRow? { byID[id] }

  func rows(from low: Int64, through high: Int64) -> [LogRow] {
    order[index(low)...].prefix { $0.place <= high }.compactMap { byID[$0.id] }
  }

  func count(from low: Int64, through high: Int64) -> Int { rows(from: low, through: high).count }

  func first(above place: Int64, through high: Int64) -> LogRow? {
    let at = index(place + 1)
    return at < order.count && order[at].place <= high ? byID[order[at].id] : nil
  }

  func last(below place: Int64, from low: Int64) -> LogRow? {
    let at = index(place) - 1
    return at >= 0 && order[at].place >= low ? byID[order[at].id] : nil
  }

  func changes(of target: [UInt8]) -> [LogRow] { (byTarget[target] ?? []).compactMap { byID[$0] } }

  func markedInPlace() -> [LogRow] { all.filter { $0.entry.isMarkedInPlace } }

  func unclaimed() -> LogRow? { all.first { !$0.isClaimed } }

  mutating func put(_ row: LogRow) {
    remove(row.id)
    byID[row.id] = row
    let at = index(row.place)
    if at < order.count, order[at].place == row.place { isBroken = true }
    order.insert((row.place, row.id), at: at)
    if let target = row.entry.change?.target { byTarget[target, default: []].append(row.id) }
  }

  mutating func remove(_ id: [UInt8]) {
    guard let old = byID.removeValue(forKey: id) else { return }
    order.removeAll { $0.id == id }
    if let target = old.entry.change?.target { byTarget[target]?.removeAll { $0 == id } }
  }
}
