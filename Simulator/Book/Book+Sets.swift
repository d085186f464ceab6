/// Pages that do not tell the order of rows with one key.

extension Book {
  /// Whether the order inside a key is known of a row: then a page without order adds islands only.
  package func knowsOrder(of names: [Int]) -> Bool { names.contains { isInOrder($0) } }

  private func isInOrder(_ name: Int) -> Bool {
    guard let index = self.index(of: name), !entries[index].isOut else { return false }
    let place = entries[index].place
    if entries[index].link == .neighbour, let above = next(index), entries[above].place == place {
      return true
    }
    guard let below = previous(index) else { return false }
    return entries[below].link == .neighbour && entries[below].place == place
  }

  /// Whether a page of one key lists its rows newest first, as those say whose order is known.
  package func listsNewestFirst(_ names: [Int]) -> Bool? {
    let known = names.filter { isInOrder($0) }.compactMap { self.index(of: $0) }
    let pairs = zip(known, known.dropFirst())
    if known.count < 2 { return nil }
    return pairs.allSatisfy { $0 > $1 } ? true : pairs.allSatisfy { $0 < $1 } ? false : nil
  }

  /// The chain of a page without order: known rows keep their order, new ones go behind them. At
  /// a cut end the rows that a range shares with the page are put at that end of the range first.
  package mutating func arranged(
    _ page: [ChainItem<Key>], isCutBelow: Bool, isCutAbove: Bool
  ) -> [ChainItem<Key>] {
    var groups: [Key: [ChainItem<Key>]] = [:]
    var last = page.lazy.compactMap { item -> Key? in
      if case .row(_, let key) = item { return key }
      return nil
    }.first
    for item in page {
      if case .row(_, let key) = item { last = key }
      if let last { groups[last, default: []].append(item) }
    }
    let keys = groups.keys.sorted()
    var chain: [ChainItem<Key>] = []
    for key in keys {
      let group = groups[key] ?? []
      var known = group.compactMap { item -> (index: Int, item: ChainItem<Key>)? in
        guard case .row(let name, _) = item, let index = self.index(of: name),
          !entries[index].isGuess, !entries[index].isOut
        else { return nil }
        return (index, item)
      }.sorted { $0.index < $1.index }.map(\.item)
      let names = Set(known.map(\.name))
      let new = group.filter { !names.contains($0.name) }.sorted { $0.name < $1.name }
      if key == keys.last, isCutAbove, let top = known.last {
        let shared = gather(top.name, names, isLow: true)
        known = known.filter { !shared.contains($0.name) } + shared.map { .row($0, key) }
        chain += new + known
      } else if key == keys.first, isCutBelow, let bottom = known.first {
        let shared = gather(bottom.name, names, isLow: false)
        chain += shared.map { .row($0, key) } + known.filter { !shared.contains($0.name) } + new
      } else {
        chain += known + new
      }
    }
    return chain
  }

  /// Puts those rows of a set that a page shows together at the lower or upper end of the set.
  private mutating func gather(_ name: Int, _ shown: Set<Int>, isLow: Bool) -> [Int] {
    guard let index = self.index(of: name) else { return [] }
    let place = entries[index].place
    var (low, high) = (index, index)
    while let below = previous(low), entries[below].link != .none, entries[below].place == place {
      low = below
    }
    while entries[high].link != .none, let above = next(high), entries[above].place == place {
      high = above
    }
    let run = entries[low...high]
    let live = run.filter { !$0.isOut }
    let shared = live.filter { shown.contains($0.name) }
    let others = live.filter { !shown.contains($0.name) }
    var order = isLow ? shared + others : others + shared
    for index in order.indices { order[index].link = .set }
    order[order.count - 1].link = entries[high].link
    entries.replaceSubrange(low...high, with: run.filter(\.isOut) + order)
    return shared.map(\.name)
  }
}

extension ChainItem {
  package var name: Int {
    switch self {
    case .row(let name, _), .unreadable(let name): name
    case .start, .mark, .present: -1
    }
  }
}
