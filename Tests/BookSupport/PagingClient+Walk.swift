/// Fetches what is below the newest range, page by page.
package import Book

extension PagingClient {
  /// Fetches what is below the newest range.
  package func older() throws {
    guard disk.book.settled != nil, disk.book.main() != nil else { return try catchUp(false) }
    try walkDown(to: nil, steps: Self.triesMax, isOnce: true)
  }

  package var reachesStart: Bool {
    disk.book.main().map { disk.book.entries[$0.lowerBound].place == .start } ?? false
  }

  struct Walk {
    var asked: Int?
    var low = 0
    var high: Int?
    var tries = 0
    var key: Int64?
    var page = 1
    var skip = 0
  }

  /// How many rows of the newest range a page overlaps.
  func anchors(_ page: Int) -> Int { min(4, max(1, page / 3)) }

  func walkDown(to goal: Int64?, steps: Int = 400, isOnce: Bool = false) throws {
    var walk = Walk()
    for _ in 0..<steps {
      guard let main = disk.book.main() else { return }
      let low = disk.book.entries[main.lowerBound]
      if low.place == .start || goal.map({ disk.book.holds(main, $0) }) ?? false { return }
      let count = rows(from: main.lowerBound)
      let request = next(&walk, low, main.lowerBound, count)
      let (page, more, asked) = try ask(request)
      walk.page = max(1, page.count)
      let isStart = !more && !(page.isEmpty && request.offset > 0)
      let high: ChainItem<Int64>? =
        request.offset > 0 ? nil : request.before.map { .mark($0) } ?? .present
      let names = learn(page, .other, asked: asked, low: isStart ? .start : nil, high: high)
      if hasMoved(low, count) {
        walk.tries = 0
        (walk.low, walk.high, walk.asked) = (0, nil, nil)
        if isOnce { return }
        continue
      }
      walk.tries += 1
      if walk.tries > Self.triesMax { return }
      search(&walk, names, page.count, isByKey: request.before != nil)
    }
  }

  func rows(from index: Int) -> Int {
    disk.book.entries[index...].count { !$0.isMark && !$0.isOut }
  }

  /// Whether the newest range reaches further down than before.
  func hasMoved(_ low: BookEntry<Int64>, _ count: Int) -> Bool {
    guard let main = disk.book.main() else { return false }
    let now = disk.book.entries[main.lowerBound]
    if now.place < low.place { return true }
    let isOther = now.isMark != low.isMark || now.name != low.name
    return now.place == low.place && isOther && rows(from: main.lowerBound) > count
  }

  /// The next request below an entry.
  func next(
    _ walk: inout Walk, _ low: BookEntry<Int64>, _ index: Int, _ count: Int
  ) -> PageRequest {
    if kind.hasBefore, !kind.isNumbered, let key = low.place.key {
      let before = low.isMark ? key : key + 1
      if before != walk.key {
        walk.key = before
        let group = disk.book.entries[index...].count { $0.place == low.place && !$0.isOut }
        let isSmall = low.isMark || group < disk.largestPage
        walk.skip = isSmall ? 0 : max(0, group - anchors(walk.page))
      }
      return PageRequest(offset: walk.skip, before: before)
    }
    // T4: pages overlap.
    let overlap = faults.contains(.noAnchors) ? 0 : anchors(walk.page)
    let offset = walk.asked ?? max(0, count - overlap)
    walk.asked = offset
    return PageRequest(offset: offset)
  }

  /// After a page that joined nothing: further in or out.
  func search(_ walk: inout Walk, _ names: [Int], _ size: Int, isByKey: Bool) {
    let main = disk.book.main()
    let isJoined = names.contains { name in
      guard let main, let index = disk.book.index(of: name) else { return false }
      return index >= main.lowerBound
    }
    if isByKey {
      if size == 0 {
        walk.skip /= 2
      } else {
        walk.skip = isJoined ? walk.skip + max(1, size - 1) : max(0, walk.skip - max(1, size / 2))
      }
      return
    }
    let asked = walk.asked ?? 0
    var next: Int
    if isJoined {
      walk.low = max(walk.low, asked + 1)
      next = asked + max(1, size - 1)
    } else {
      walk.high = min(walk.high ?? asked, asked)
      next = asked - max(1, max(size / 2, 1 << min(walk.tries, 8)) / 2)
    }
    if let high = walk.high, !(walk.low..<max(walk.low, high)).contains(next) {
      next = (walk.low + high) / 2
    }
    if let high = walk.high, walk.low >= high { (walk.low, walk.high) = (0, nil) }
    walk.asked = max(0, next)
  }
}
