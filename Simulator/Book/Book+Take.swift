/// The one merge: a page becomes a part of the order.

extension Book {
  /// Takes a page: its elements oldest first, with the ends that the request drew.
  ///
  /// - Returns: the rows that were between its elements before it was requested, and are not in
  ///   it. They keep their place, out of all links; the caller decides what becomes of them.
  @discardableResult
  package mutating func take(_ chain: [ChainItem<Key>], _ page: PageFacts) -> [Int] {
    var main: Set<Int> = []
    if let range = self.main() {
      for index in range where !entries[index].isMark { main.insert(entries[index].name) }
    }
    let places = chain.compactMap(\.place)
    guard zip(places, places.dropFirst()).allSatisfy({ $0 <= $1 }) else {
      // It contradicts its own keys or the boundaries of its request: it says nothing.
      refused += 1
      return []
    }
    for case let place? in chain.map(\.mark) { mark(place) }
    if page.isOrdered, !faults.contains(.setsStay) { openSets(at: chain) }
    let links = resolved(chain, page)
    guard let first = links.first, let last = links.last else { return [] }
    // Three more on each side: the neighbours of the page, and what tells whether marks there
    // still say something.
    let low = widened(bound(first.place), by: -1)
    let high = widened(bound(last.place, after: true), by: 1)
    var merge = Merge(
      old: Array(entries[low..<high]), chain: links, page: page, main: main, faults: faults)
    let absent = merge.run()
    contradictions += merge.contradicts ? 1 : 0
    for name in merge.dropped { keys[name] = nil }
    for entry in merge.new where !entry.isMark { keys[entry.name] = entry.place.key }
    let isAll = (low == 0, high == entries.count)
    Self.prune(
      &merge.new, (isAll.0 ? 0 : 2)..<max(isAll.0 ? 0 : 2, merge.new.count - (isAll.1 ? 0 : 2)))
    entries.replaceSubrange(low..<high, with: merge.new)
    return absent
  }

  /// B13: a page that tells the order and ends inside a set opens it: its other rows may be beyond
  /// that end.
  private mutating func openSets(at chain: [ChainItem<Key>]) {
    let keys = chain.compactMap { item -> Key? in
      if case .row(_, let key) = item { return key }
      return nil
    }
    let isLowEnd = chain.first?.mark == nil
    let isHighEnd = chain.last?.mark == nil
    for key in [isLowEnd ? keys.first : nil, isHighEnd ? keys.last : nil].compactMap(\.self) {
      func isSet(_ index: Int) -> Bool {
        entries[index].link == .set && entries[index].place == .row(key)
      }
      while let index = (bound(.row(key))..<bound(.row(key), after: true)).first(where: isSet) {
        openSet(at: index)
      }
    }
  }

  private func widened(_ index: Int, by step: Int) -> Int {
    var (index, seen) = (index, 0)
    while seen < 3, step < 0 ? index > 0 : index < entries.count {
      if !entries[step < 0 ? index - 1 : index].isOut { seen += 1 }
      index += step
    }
    return index
  }

  /// The elements of a page as entries: known ones as they are. B12: what cannot be read is an
  /// entry beside its older neighbour on the page, and not below a mark before it.
  private mutating func resolved(_ chain: [ChainItem<Key>], _ page: PageFacts) -> [Entry] {
    var found: [Entry] = []
    var waiting: [Int] = []
    var (low, floor): (Key?, Key?)
    for item in chain {
      switch item {
      case .row(let name, let key):
        for name in waiting {
          let low = min(keys[name] ?? key, key)
          floor = floor.map { max($0, low) } ?? low
          found.append(entry(name, floor ?? low, page, true))
        }
        waiting = []
        found.append(entry(name, key, page, false))
        low = key
      case .unreadable(let name):
        if faults.contains(.unreadableIsNothing) { continue }
        guard let key = low ?? floor else {
          waiting.append(name)
          continue
        }
        found.append(entry(name, max(key, floor ?? key), page, true))
      case .start, .mark, .present:
        guard let place = item.mark else { continue }
        if let key = place.key { floor = floor.map { max($0, key) } ?? key }
        // Nothing of the page tells where these are.
        for name in waiting {
          guard let key = keys[name], .row(key) < place,
            found.last.map({ $0.place <= .row(key) }) ?? true
          else { continue }
          found.append(entry(name, key, page, true))
        }
        waiting = []
        found.append(entries[bound(place)])
      }
    }
    for name in waiting {
      guard let key = keys[name], found.last.map({ $0.place <= .row(key) }) ?? true
      else { continue }
      found.append(entry(name, key, page, true))
    }
    return found
  }

  private mutating func entry(
    _ name: Int, _ key: Key, _ page: PageFacts, _ isUnreadable: Bool
  ) -> Entry {
    let place = Place.row(key)
    if let index = self.index(of: name) {
      var entry = entries[index]
      if entry.place == place { return entry }
      // The server prints another time for it: it is no neighbour of what it was beside.
      if let below = previous(index), !entry.isOut { entries[below].link = .none }
      drop(name)
      entry.place = place
      entry.link = .none
      return entry
    }
    return Entry(name: name, place: place, isUnreadable: isUnreadable, came: page.came)
  }
}

/// One merge, on the part of the order that it may change.
private struct Merge<Key: BookKey> {
  typealias Entry = BookEntry<Key>
  typealias Tag = BookTag<Key>

  var old: [Entry]
  var chain: [Entry]
  let page: PageFacts
  /// The rows of the newest range.
  let main: Set<Int>
  let faults: BookFaults

  var new: [Entry] = []
  var contradicts = false
  /// Unreadable items that the page did not show where it should have.
  var dropped: [Int] = []

  private var at: [Tag: Int] = [:]
  private var members: Set<Tag> = []
  private var linked: Set<Tag> = []
  /// Islands, and ranges of a log, that are not linked to the page or to a mark.
  private var loose: Set<Tag> = []
  private var below: [Entry] = []
  private var inside: [Entry] = []
  private var above: [Entry] = []
  private var guesses: [[Entry]] = []
  private var absent: [Int] = []
  /// The neighbour above each linked entry, before the page.
  private var neighbours: [Tag: Tag] = [:]
  private var lowerNeighbour: Tag?
  private var upperNeighbour: Tag?
  private var outerLink = BookLink.none
  /// Unreadable items that may be beyond the boundary that ends the page.
  private var beyond: [Entry] = []

  init(
    old: [Entry], chain: [Entry], page: PageFacts, main: Set<Int>, faults: BookFaults
  ) {
    (self.old, self.chain, self.page) = (old, chain, page)
    (self.main, self.faults) = (main, faults)
  }

  mutating func run() -> [Int] {
    members = Set(chain.map(\.tag))
    for (index, entry) in old.enumerated() where members.contains(entry.tag) {
      at[entry.tag] = index
    }
    noteEnds()
    noteOrder()
    breakInto()
    sort()
    let merged = merge()
    join(merged)
    placeGuesses()
    checkNeighbours()
    for index in new.indices where !new[index].isMark && members.contains(new[index].tag) {
      new[index].isGuess = false
      if page.isOrdered { new[index].isOrdered = true }
    }
    return absent
  }

  private func previous(_ index: Int) -> Int? {
    var index = index - 1
    while index >= 0, old[index].isOut { index -= 1 }
    return index >= 0 ? index : nil
  }

  private func next(_ index: Int) -> Int? {
    var index = index + 1
    while index < old.count, old[index].isOut { index += 1 }
    return index < old.count ? index : nil
  }

  /// B4: what the ends of the page are linked to outside of it.
  private mutating func noteEnds() {
    if let first = chain.first, let index = at[first.tag], let below = previous(index),
      old[below].link != .none
    {
      lowerNeighbour = old[below].tag
    }
    if let last = chain.last, let index = at[last.tag], old[index].link != .none,
      let above = next(index)
    {
      (upperNeighbour, outerLink) = (old[above].tag, old[index].link)
    }
    if faults.contains(.endsLoseLinks) { (lowerNeighbour, upperNeighbour) = (nil, nil) }
  }

  /// Which rows are in a range, which are detached ones of one key, and whether the page reverses
  /// what pages have shown.
  private mutating func noteOrder() {
    var run: [Entry] = []
    for entry in old where !entry.isOut {
      run.append(entry)
      if entry.link != .none { continue }
      if run.count > 1 { linked.formUnion(run.map(\.tag)) }
      // Between times a range of several rows says where it is; in a log nothing else does.
      let isLoose =
        (run.count == 1 || run[0].place.key?.next == nil)
        && run.allSatisfy {
          !$0.isMark && $0.place == run[0].place && !members.contains($0.tag)
        }
      if isLoose { loose.formUnion(run.map(\.tag)) }
      run = []
    }
    guard page.isOrdered else { return }
    let known = chain.compactMap { entry -> Int? in
      entry.isMark || !entry.isOrdered || entry.isGuess || entry.isOut ? nil : at[entry.tag]
    }
    contradicts = zip(known, known.dropFirst()).contains { $0 > $1 }
  }

  /// Sorts all others by key into what is below, inside and above the page. B7: at a cut end only
  /// linked rows of the page say where the rows of that key are.
  private mutating func sort() {
    guard let first = chain.first?.place, let last = chain.last?.place else { return }
    var spans: [Key: ClosedRange<Int>] = [:]
    let islandsCount = faults.contains(.islandsOrder)
    for isStrict in [!islandsCount, false] {
      var found: [Key: ClosedRange<Int>] = [:]
      for entry in chain {
        guard case .row(let key) = entry.place, let index = at[entry.tag],
          !isStrict || linked.contains(entry.tag)
        else { continue }
        let span = found[key] ?? index...index
        found[key] = min(span.lowerBound, index)...max(span.upperBound, index)
      }
      spans.merge(found) { strict, _ in strict }
    }
    for (index, entry) in old.enumerated() where !members.contains(entry.tag) {
      let isLow = entry.place == first
      let isHigh = entry.place == last
      if entry.place < first {
        below.append(entry)
      } else if entry.place > last {
        above.append(entry)
      } else if !isLow, !isHigh {
        inside.append(entry)
      } else {
        sortAtEnd(index, entry, entry.place.key.flatMap { spans[$0] }, isLow, isHigh)
      }
    }
  }

  /// A row of the key at which the page is cut.
  private mutating func sortAtEnd(
    _ index: Int, _ entry: Entry, _ span: ClosedRange<Int>?, _ isLow: Bool, _ isHigh: Bool
  ) {
    let isNew = entry.came > page.asked
    let isLoose =
      entry.isGuess || (entry.isOut || loose.contains(entry.tag)) && !faults.contains(.islandsOrder)
    guard let span else {
      if isLow, isHigh {
        let isNewer = main.contains(entry.name) || isNew && entry.isGuess
        if isNewer { above.append(entry) } else { below.append(entry) }
      } else if isLow {
        if isNew { inside.append(entry) } else { below.append(entry) }
      } else {
        above.append(entry)
      }
      return
    }
    if isLow, index < span.lowerBound {
      below.append(entry)
    } else if isHigh, index > span.upperBound {
      above.append(entry)
    } else if isLoose, !isNew, !faults.contains(.guessesAreAbsent) {
      if let last = guesses.last?.last, last.link != .none, neighbours[last.tag] == entry.tag {
        guesses[guesses.count - 1].append(entry)
      } else {
        guesses.append([entry])
      }
    } else {
      inside.append(entry)
    }
  }

  /// An entry that was linked to one which is inside the page now is its neighbour no more.
  private mutating func breakInto() {
    for entry in chain.dropFirst() {
      guard let index = at[entry.tag], let below = previous(index),
        !members.contains(old[below].tag), old[below].link != .none
      else { continue }
      old[below].link = .none
    }
    var last: Entry?
    for entry in old where !entry.isOut {
      if let last, last.link != .none { neighbours[last.tag] = entry.tag }
      last = entry
    }
  }

  /// B2: what was between and came before the request is absent. B3: what came after it cuts.
  private mutating func merge() -> [(entry: Entry, cuts: Bool)] {
    var extra: [(entry: Entry, cuts: Bool)] = []
    let top = chain.last { !$0.isMark }?.place
    let endsAtMark = chain.last.map { $0.isMark && $0.place != .present } ?? false
    for var entry in inside where !entry.isMark {
      if entry.isUnreadable {
        if endsAtMark, top.map({ entry.place >= $0 }) ?? true {
          beyond.append(entry)
        } else {
          dropped.append(entry.name)
        }
      } else if entry.came > page.asked {
        extra.append((entry, !faults.contains(.laterDoesNotCut)))
      } else {
        absent.append(entry.name)
        (entry.isOut, entry.link) = (!faults.contains(.absentStays), .none)
        extra.append((entry, false))
      }
    }
    extra.sort { $0.entry.place < $1.entry.place }
    var merged: [(entry: Entry, cuts: Bool)] = []
    var rest = extra[...]
    for entry in chain {
      while let first = rest.first, first.entry.place < entry.place {
        merged.append(first)
        rest = rest.dropFirst()
      }
      merged.append((entry, false))
    }
    return merged + rest
  }

  /// B1: the entries of a page become neighbours. B4: a known end keeps its outer link.
  private mutating func join(_ merged: [(entry: Entry, cuts: Bool)]) {
    var row = merged
    var last: Int?
    for index in row.indices {
      let isMember = members.contains(row[index].entry.tag)
      if row[index].entry.isOut, !isMember { continue }
      row[index].entry.isOut = false
      if row[index].cuts {
        if let last { row[last].entry.link = .none }
        row[index].entry.link = .none
        last = nil
        continue
      }
      if let last { row[last].entry.link = link(row[last].entry, row[index].entry) }
      last = index
    }
    let end = row.lastIndex { !$0.entry.isOut }
    if let end {
      let isEnd = row[end].entry.tag == chain.last?.tag
      let isSame = above.first { !$0.isOut }.map { $0.tag == upperNeighbour } ?? false
      row[end].entry.link = isEnd && isSame ? outerLink : .none
    }
    if let end, !beyond.isEmpty, let place = row[end].entry.place.key {
      let outer = row[end].entry.link
      row[end].entry.link = .neighbour
      for index in beyond.indices {
        beyond[index].place = max(beyond[index].place, .row(place))
        beyond[index].link = .neighbour
      }
      beyond[beyond.count - 1].link = outer
      above = beyond + above
    }
    if let top = below.lastIndex(where: { !$0.isOut }), below[top].link != .none,
      below[top].tag != lowerNeighbour || row.first.map { $0.entry.tag != chain[0].tag } ?? true,
      !faults.contains(.linksStay)
    {
      below[top].link = .none
    }
    new = below + row.map(\.entry) + above
  }

  /// What two neighbours of a page are to each other.
  private func link(_ low: Entry, _ high: Entry) -> BookLink {
    if faults.contains(.pagesDoNotLink), low.place.key != high.place.key,
      low.place.key != nil, high.place.key != nil, !low.isMark, !high.isMark
    {
      return .none
    }
    if page.isOrdered || low.place != high.place { return .neighbour }
    if let index = at[low.tag], old[index].link == .neighbour, neighbours[low.tag] == high.tag {
      return .neighbour
    }
    return .set
  }

  /// B6: an island, or a detached range of a log, goes to the uppermost open place of its key; if
  /// none is open, it is absent.
  private mutating func placeGuesses() {
    for var run in guesses {
      if run[0].isUnreadable {
        dropped += run.map(\.name)
        continue
      }
      run[run.count - 1].link = .none
      let first = new.firstIndex { $0.place >= run[0].place } ?? new.count
      let end = new.firstIndex { $0.place > run[0].place } ?? new.count
      var place: Int?
      for index in stride(from: end, through: first, by: -1) where place == nil {
        let below = new[..<index].last { !$0.isOut }
        if below.map({ $0.link == .none }) ?? true { place = index }
      }
      for index in run.indices { run[index].isOut = place == nil }
      if place == nil {
        absent += run.map(\.name)
        for index in run.indices { run[index].link = .none }
      }
      new.insert(contentsOf: run, at: place ?? end)
    }
  }

  /// B5: a link that the page did not make stands between the same two entries only.
  private mutating func checkNeighbours() {
    if faults.contains(.linksStay) { return }
    let moved = Set(beyond.map(\.tag))
    var last: Int?
    for index in new.indices where !new[index].isOut {
      if let last, new[last].link != .none, !members.contains(new[last].tag),
        !moved.contains(new[last].tag), neighbours[new[last].tag] != new[index].tag
      {
        new[last].link = .none
      }
      last = index
    }
  }
}
