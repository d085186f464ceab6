/// One order of a conversation's entries, whatever its server orders by.
///
/// A page is a chain of neighbours. `take` alone makes and breaks links because of a page; the
/// calls here do so because of a push, a deletion, a purge or a catch-up. Pure: no I/O, no clock.

package struct Book<Key: BookKey>: Sendable {
  package typealias Entry = BookEntry<Key>
  package typealias Place = BookPlace<Key>

  /// Ordered by place; among rows of one key the order itself is what is known.
  package internal(set) var entries: [Entry] = []
  /// The keys of all rows, by name.
  package internal(set) var keys: [Int: Key] = [:]
  /// Links above it are as of the request of the present; nil before the first catch-up.
  package var settled: Key?
  /// The last catch-up has not read down to here yet.
  package var owed: Key?
  /// How often a page reversed what a page had shown completely.
  package internal(set) var contradictions = 0
  /// How many pages were not in the order of their keys.
  package internal(set) var refused = 0
  package var faults: BookFaults = []

  package init() {}

  // MARK: Looking

  /// The first entry that is not before `place`.
  func bound(_ place: Place, after: Bool = false) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      let isBefore = after ? entries[middle].place <= place : entries[middle].place < place
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Where a row is.
  package func index(of name: Int) -> Int? {
    guard let key = keys[name] else { return nil }
    let end = entries.count
    var index = bound(.row(key))
    while index < end, entries[index].place == .row(key) {
      if entries[index].name == name { return index }
      index += 1
    }
    return nil
  }

  package func contains(_ name: Int) -> Bool { keys[name] != nil }

  /// The next entry that no page lacked.
  package func next(_ index: Int) -> Int? {
    var index = index + 1
    while index < entries.count, entries[index].isOut { index += 1 }
    return index < entries.count ? index : nil
  }

  package func previous(_ index: Int) -> Int? {
    var index = index - 1
    while index >= 0, entries[index].isOut { index -= 1 }
    return index >= 0 ? index : nil
  }

  /// The ends of the range that an entry is in.
  package func range(at index: Int) -> ClosedRange<Int> {
    var (low, high) = (index, index)
    while entries[high].link != .none, let above = next(high) { high = above }
    while let below = previous(low), entries[below].link != .none { low = below }
    return low...high
  }

  /// The range that reached the present; if a push has cut it off, the one at what is settled.
  package func main() -> ClosedRange<Int>? {
    guard let last = entries.last else { return nil }
    if last.place == .present {
      let newest = range(at: entries.count - 1)
      if newest.lowerBound < newest.upperBound { return newest }
    }
    guard let settled else { return nil }
    let at = bound(.mark(settled))
    let isMark = at < entries.count && entries[at].place == .mark(settled)
    var index = isMark ? at : previous(at)
    while let found = index {
      let range = range(at: found)
      if range.lowerBound < range.upperBound { return range }
      index = previous(range.lowerBound)
    }
    return nil
  }

  /// Whether a range holds the boundary below a key.
  package func holds(_ range: ClosedRange<Int>, _ key: Key) -> Bool {
    entries[range.lowerBound].place <= .mark(key)
  }

  // MARK: Marks

  /// B10: the entry of a boundary. Inside a link it is linked to both. If that link leads to the
  /// present and the boundary is above what is settled, it is linked to the present only.
  @discardableResult
  package mutating func mark(_ place: Place) -> Int {
    let index = bound(place)
    if index < entries.count, entries[index].place == place { return index }
    var mark = Entry(name: -1, place: place)
    if let below = previous(index), let key = place.key {
      mark.link = entries[below].link
      let isNewest = next(index - 1).map { entries[$0].place == .present } ?? false
      let isSettled = settled.map { key <= $0 } ?? false
      if mark.link != .none, isNewest, !isSettled, !faults.contains(.unsettledMarksLink) {
        entries[below].link = .none
      }
      if mark.link != .none { mark.link = .neighbour }
    }
    entries.insert(mark, at: index)
    return index
  }

  /// Drops marks inside a range, and marks that are linked to nothing: they say nothing.
  mutating func prune() { Self.prune(&entries, 0..<entries.count) }

  static func prune(_ entries: inout [Entry], _ range: Range<Int>) {
    var kept: [Entry] = []
    kept.reserveCapacity(entries.count)
    var isLinked = false
    for (index, entry) in entries.enumerated() {
      if entry.isOut {
        kept.append(entry)
        continue
      }
      if entry.isMark, range.contains(index) {
        let isInside = isLinked && entry.link != .none
        if isInside, entry.place.key != nil { continue }
        if !isLinked, entry.link == .none { continue }
      }
      kept.append(entry)
      isLinked = entry.link != .none
    }
    entries = kept
  }

  // MARK: Other inputs

  /// B8: a row that came by a push or an answer is behind all of its key, and the link that spans
  /// its place is cut. B9: if it names the newest row as the one before it, it is linked.
  package mutating func put(_ name: Int, _ key: Key, came: Int, after predecessor: Int? = nil) {
    var entry = Entry(name: name, place: .row(key), came: came)
    keys[name] = key
    if let before = predecessor.flatMap({ self.index(of: $0) }), !entries[before].isOut,
      entries[before].place <= .row(key), let above = next(before)
    {
      let isNewest = entries[before].link != .none && entries[above].place == .present
      let isOpen = faults.contains(.predecessorsJoin) && entries[above].place > .row(key)
      if isNewest || isOpen {
        (entry.link, entry.isGuess) = (entries[before].link, false)
        entry.isOrdered = true
        entries[before].link = .neighbour
        entries.insert(entry, at: above)
        return
      }
    }
    let index = bound(.row(key), after: true)
    entries.insert(entry, at: index)
    guard let below = previous(index), entries[below].link != .none else { return }
    if faults.contains(.pushesLink) {
      entries[index].link = entries[below].link
    } else {
      entries[below].link = .none
    }
  }

  /// The server said that a row was deleted: its neighbours become neighbours. If it was the end
  /// of its range, the boundary beside its key becomes that.
  package mutating func remove(_ name: Int) {
    guard let index = self.index(of: name) else { return }
    let entry = entries[index]
    keys[name] = nil
    defer { prune() }
    if entry.isOut {
      entries.remove(at: index)
      return
    }
    let below = previous(index)
    let isLinked = below.map { entries[$0].link != .none } ?? false
    if let below, isLinked {
      if entry.link == .none {
        endBelow(index, below)
      } else if entry.link == .set || entries[below].link == .set {
        let isOneKey = next(index).map { entries[$0].place == entry.place } ?? false
        entries[below].link =
          isOneKey && entries[below].place == entry.place ? .set : .neighbour
      }
    } else if entry.link != .none {
      beginAbove(index)
    }
    guard let now = entries.firstIndex(where: { !$0.isMark && $0.name == name }) else { return }
    entries.remove(at: now)
  }

  /// The deleted row was the upper end: the range ends at the boundary below its key.
  private mutating func endBelow(_ index: Int, _ below: Int) {
    guard let key = entries[index].place.key, key.next != nil,
      entries[below].place < .mark(key)
    else {
      entries[below].link = .none
      return
    }
    entries.insert(Entry(name: -1, place: .mark(key)), at: bound(.mark(key)))
  }

  /// It was the lower end: the range begins at the boundary above its key.
  private mutating func beginAbove(_ index: Int) {
    guard let key = entries[index].place.key?.next, let above = next(index),
      entries[above].place > .mark(key)
    else { return }
    var mark = Entry(name: -1, place: .mark(key))
    mark.link = .neighbour
    entries.insert(mark, at: bound(.mark(key)))
  }

  /// B11: retention takes a row, and what was known around it. Which rows of a set it was between
  /// nobody told: the set is opened.
  package mutating func purge(_ name: Int) {
    guard let index = self.index(of: name) else { return }
    let isSet = set(at: index) != nil
    if isSet, !faults.contains(.purgeKeepsSets) {
      openSet(at: index)
    } else if !entries[index].isOut, !faults.contains(.purgeKeepsLinks) {
      // Else the link of the row below would lead to the row above.
      if let below = previous(index) { entries[below].link = .none }
    }
    drop(name)
    prune()
  }

  /// The rows of one key that are linked to a row, if nobody told the order of all of them.
  private func set(at index: Int) -> ClosedRange<Int>? {
    let place = entries[index].place
    guard !entries[index].isMark, !entries[index].isOut else { return nil }
    var (low, high) = (index, index)
    while entries[high].link != .none, let above = next(high), entries[above].place == place {
      high = above
    }
    while let below = previous(low), entries[below].link != .none, entries[below].place == place {
      low = below
    }
    return entries[low...high].contains { $0.link == .set } ? low...high : nil
  }

  /// Takes the links out of the set that a row is in: what was known around it ends at the
  /// boundaries of its key.
  mutating func openSet(at index: Int) {
    guard let set = set(at: index), let key = entries[index].place.key else { return }
    let isAbove = entries[set.upperBound].link != .none
    let above = next(set.upperBound)
    for index in set { entries[index].link = .none }
    if isAbove, let above, let next = key.next, entries[above].place != .mark(next) {
      var mark = Entry(name: -1, place: .mark(next))
      mark.link = .neighbour
      entries.insert(mark, at: bound(.mark(next)))
    }
    guard let below = previous(set.lowerBound), entries[below].link != .none else { return }
    if key.next == nil || entries[below].place == .mark(key) {
      entries[below].link = .none
    } else {
      entries[below].link = .neighbour
      entries.insert(Entry(name: -1, place: .mark(key)), at: bound(.mark(key)))
    }
  }

  /// Takes a row out, whatever it is linked to.
  package mutating func drop(_ name: Int) {
    guard let index = self.index(of: name) else { return }
    keys[name] = nil
    entries.remove(at: index)
  }

  /// Before what is above a boundary is read anew: nothing above it is proven. Nil means all.
  package mutating func unsettle(above key: Key?) {
    let first = key.map { mark(.mark($0)) } ?? 0
    for index in first..<entries.count { entries[index].link = .none }
    prune()
  }

  /// Another history: rows stay, and nothing is known of them.
  package mutating func epoch() {
    entries.removeAll { $0.isMark }
    for index in entries.indices { entries[index].link = .none }
    (settled, owed) = (nil, nil)
  }
}

extension Book where Key == Int64 {
  /// Numbers go on: what was the present ends above its last number when a greater one is pushed.
  package mutating func endPresent(below number: Int64) {
    guard entries.last?.place == .present, let below = previous(entries.count - 1),
      entries[below].link != .none
    else { return }
    if let key = entries[below].place.key, !entries[below].isMark {
      guard number > key else { return }
      entries[mark(.mark(key + 1))].link = .none
    } else {
      entries[below].link = .none
    }
    prune()
  }
}
