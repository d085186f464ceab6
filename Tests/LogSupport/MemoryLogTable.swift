/// A table of entries in memory: a sorted list of places, and what names what.
package import Timeline

/// A table that tests look into.
package protocol InspectedLogTable: LogTable {
  var all: [LogRow] { get throws(Failure) }
  /// Two entries shared a place.
  var isBroken: Bool { get }
  /// All changes that name an entry, in no order.
  func changes(of target: [UInt8]) throws(Failure) -> [LogRow]
}

extension InspectedLogTable {
  package func changes(of target: [UInt8]) throws(Failure) -> [LogRow] {
    try all.filter { $0.entry.change?.target == target }
  }
}

package struct MemoryLogTable: InspectedLogTable {
  package private(set) var byID: [[UInt8]: LogRow] = [:]
  private var order: [(place: Place, id: [UInt8])] = []
  private var byTarget: [[UInt8]: [[UInt8]]] = [:]
  /// Two entries shared a place.
  package private(set) var isBroken = false

  package init() {}

  package var all: [LogRow] { order.compactMap { byID[$0.id] } }

  /// The index of the first entry at or above a place.
  private func index(_ place: Place) -> Int {
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if order[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  package func row(_ id: [UInt8]) -> LogRow? { byID[id] }

  package func rows(from low: Place, through high: Place) -> [LogRow] {
    order[index(low)...].prefix { $0.place <= high }.compactMap { byID[$0.id] }
  }

  package func count(from low: Place, through high: Place) -> Int {
    rows(from: low, through: high).count
  }

  package func first(above place: Place, through high: Place) -> LogRow? {
    let at = index(place.saturating(plus: 1))
    return at < order.count && order[at].place <= high ? byID[order[at].id] : nil
  }

  package func last(below place: Place, from low: Place) -> LogRow? {
    let at = index(place) - 1
    return at >= 0 && order[at].place >= low ? byID[order[at].id] : nil
  }

  package func row(_ distance: Int, above place: Place, through high: Place) -> LogRow? {
    let at = index(place.saturating(plus: 1)) + distance - 1
    return at < order.count && order[at].place <= high ? byID[order[at].id] : nil
  }

  package func row(_ distance: Int, below place: Place, from low: Place) -> LogRow? {
    let at = index(place) - distance
    return at >= 0 && order[at].place >= low ? byID[order[at].id] : nil
  }

  package func changes(of target: [UInt8]) -> [LogRow] {
    (byTarget[target] ?? []).compactMap { byID[$0] }
  }

  package func hasChanges(of target: [UInt8]) -> Bool { !changes(of: target).isEmpty }

  package func lastChange(
    of target: [UInt8], _ slot: LogSlot?, from low: Place, through high: Place
  ) -> LogRow? {
    changes(of: target).filter { low <= $0.place && $0.place <= high }.filter {
      switch slot {
      case nil: true
      case .deletion: $0.entry.change?.kind == .delete
      case .moderation: $0.entry.change?.kind == .moderate
      default: $0.entry.change?.slot == slot
      }
    }.max { $0.place < $1.place }
  }

  package func reactions(
    of target: [UInt8], by user: [UInt8], from low: Place, through high: Place, limit: Int
  ) -> [LogRow] {
    Array(
      changes(of: target).filter {
        $0.entry.change?.slot == .reactions(of: user) && low <= $0.place && $0.place <= high
      }.sorted { $0.place > $1.place }.prefix(limit))
  }

  package func reactions(of target: [UInt8], limit: Int) -> [LogReaction] {
    let found = changes(of: target).filter {
      if case .reactions = $0.entry.change?.slot { true } else { false }
    }.map { (user: $0.entry.change?.user ?? [], row: $0) }
    let sorted = found.sorted { one, other in
      if one.user != other.user { return other.user.lexicographicallyPrecedes(one.user) }
      return one.row.place > other.row.place
    }
    return sorted.prefix(limit).map { LogReaction($0.row, isNamed: hasChanges(of: $0.row.id)) }
  }

  package func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Place, through high: Place
  ) -> LogRow? {
    changes(of: target)
      .filter { $0.entry.change?.kind == .edit && low <= $0.place && $0.place <= high }
      .filter { user == nil || $0.entry.change?.user == user }
      .max { $0.place < $1.place }
  }

  package func isShown(_ edit: LogRow, in row: LogRow) -> Bool {
    edit.entry.content == row.entry.content
  }

  package func markedInPlace(from low: Place, through high: Place) -> [LogRow] {
    all.filter {
      ($0.entry.isDeleted || $0.entry.edited != .no) && low <= $0.place && $0.place <= high
    }
  }

  package func edited(received: Range<UInt64>) -> [LogRow] {
    all.filter { $0.entry.edited != .no && received.contains($0.received) }
  }

  package func lastWithoutTarget(isClaimed: Bool) -> Place? {
    all.last { row in
      row.entry.isDeleted && row.isClaimed == isClaimed && row.entry.change != nil
        && row.entry.change?.target == nil
    }?.place
  }

  package func unclaimed(above place: Place) -> LogRow? {
    all.first { !$0.isClaimed && $0.place > place }
  }

  package mutating func put(_ row: LogRow) {
    remove(row.id)
    byID[row.id] = row
    let at = index(row.place)
    if at < order.count, order[at].place == row.place { isBroken = true }
    order.insert((row.place, row.id), at: at)
    if let target = row.entry.change?.target { byTarget[target, default: []].append(row.id) }
  }

  package mutating func remove(_ id: [UInt8]) {
    guard let old = byID.removeValue(forKey: id) else { return }
    order.removeAll { $0.id == id }
    if let target = old.entry.change?.target { byTarget[target]?.removeAll { $0 == id } }
  }
}
