/// Asks a server by time or by number for pages, and keeps one conversation in a book.
///
/// What it asks next it reads off the book; it remembers a walk's last offset and nothing else, so
/// a killed process goes on from what is stored.
package import Base
package import Book

/// Rules of the pagers that a test breaks on purpose.
package struct PagerFaults: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// T1, T2: nothing below the newest known time is requested again.
  package static let noOverlap = PagerFaults(rawValue: 1 << 0)
  /// T3: a cut tail leaves the links above what is settled.
  package static let keepsUnsettled = PagerFaults(rawValue: 1 << 1)
  /// T3: a cut tail is not noted as owed.
  package static let owesNothing = PagerFaults(rawValue: 1 << 2)
  /// T4: a page of a walk begins where the last one ended.
  package static let noAnchors = PagerFaults(rawValue: 1 << 3)
  /// T5: all pages are taken as listed oldest first.
  package static let oneDirection = PagerFaults(rawValue: 1 << 4)
  /// T5: one direction for both kinds of requests.
  package static let directionOfAll = PagerFaults(rawValue: 1 << 5)
  /// T6: a page without order counts as ordered.
  package static let shuffledIsOrdered = PagerFaults(rawValue: 1 << 6)
  /// T7: a server that keeps contradicting itself is believed.
  package static let contradictionsCount = PagerFaults(rawValue: 1 << 7)
  /// N1: a pushed number does not touch the next one.
  package static let numbersDoNotTouch = PagerFaults(rawValue: 1 << 8)
  /// N2: a selection by time proves all between its ends.
  package static let selectionsProveAll = PagerFaults(rawValue: 1 << 9)
  /// N3: a hole in the numbers of a tail is not looked at.
  package static let holesAreIgnored = PagerFaults(rawValue: 1 << 10)
  /// A1: one lack is enough.
  package static let oneLackIsEnough = PagerFaults(rawValue: 1 << 11)
  /// A2: what was lacked is not looked at again.
  package static let noSecondLook = PagerFaults(rawValue: 1 << 12)
  /// A3: a restore leaves what was linked.
  package static let restoreKeepsLinks = PagerFaults(rawValue: 1 << 13)
  /// A4: deleted rows that are shown again stay deleted.
  package static let buriedStayBuried = PagerFaults(rawValue: 1 << 14)
  /// D1: deletions are requested from the watermark of the content.
  package static let oneWatermark = PagerFaults(rawValue: 1 << 15)
  /// D2: a deleted row comes back.
  package static let noTombstones = PagerFaults(rawValue: 1 << 16)
  /// D3: an older push does not lower the watermark of deletions.
  package static let olderPushesIgnored = PagerFaults(rawValue: 1 << 17)
}

/// What the file keeps beside the book.
package struct PagingDisk: Sendable {
  package var book = Book<Int64>()
  package var messages: [Int: BookMessage] = [:]
  /// Requests and arrivals, counted together.
  package var clock = 0
  /// Deleted ids, with the count of requests when that was known.
  package var tombstones: [Int: Int] = [:]
  var deletionsFrom: Int64?
  var deletionsLowest: Int64?
  /// The greatest time known.
  var newest: Int64?
  /// The greatest time that a first page of a catch-up showed.
  package var watermark: Int64?
  /// Rows that a page lacked, with the connection on which one did.
  var lacked: [Int: Int] = [:]
  /// Deleted rows that were shown, with the connection.
  var shownAgain: [Int: Int] = [:]
  package var connection = 0
  var largestPage = 1
  /// Whether pages are listed newest first, for each kind of request.
  var isDescending: [PageKind: Bool] = [:]
  /// Rows from before a restore.
  var restoredAt = 0

  package init() {}
}

package enum PageKind: Hashable, Sendable { case after, other }

package struct PageRequest: Sendable {
  package var offset = 0
  package var after: Int64?
  package var before: Int64?
}

package final class PagingClient {
  package typealias Transport = (PageRequest) throws -> (messages: [BookMessage], more: Bool)

  /// How far below the newest known time is requested again, in units of the keys.
  private let unitsAgain: Int64
  static let triesMax = 24

  package var disk: PagingDisk
  package var faults: PagerFaults
  let kind: PageServerKind
  let fetch: Transport
  let fetchDeleted: (Int64) throws -> [Int]
  package internal(set) var requests = 0
  package private(set) var pageRequests = 0

  // What a process may forget.
  var isShuffled: Set<PageKind> = []
  var isFrozen = false
  var lackedNow: Set<Int> = []
  var buried: Set<Int> = []
  var readAll = false

  package init(
    _ kind: PageServerKind, _ disk: PagingDisk, faults: PagerFaults = [], overlap: Int64 = 5,
    fetch: @escaping Transport, fetchDeleted: @escaping (Int64) throws -> [Int]
  ) {
    unitsAgain = overlap
    (self.kind, self.disk, self.faults) = (kind, disk, faults)
    (self.fetch, self.fetchDeleted) = (fetch, fetchDeleted)
  }

  var overlap: Int64 { faults.contains(.noOverlap) ? 0 : unitsAgain }

  @discardableResult
  package func tick() -> Int {
    disk.clock += 1
    return disk.clock
  }

  // MARK: Pages

  private func key(_ message: BookMessage) -> Int64 {
    kind.isNumbered ? message.number : message.time
  }

  func ask(_ request: PageRequest) throws -> (page: [BookMessage], more: Bool, asked: Int) {
    let asked = tick()
    requests += 1
    pageRequests += 1
    let (page, more) = try fetch(request)
    disk.largestPage = max(disk.largestPage, page.count)
    return (page, more, asked)
  }

  /// T5, T6: the page oldest first, and whether the order inside one key is the server's.
  private func oriented(
    _ page: [BookMessage], _ pageKind: PageKind
  ) -> (page: [BookMessage], isOrdered: Bool) {
    let keys = page.filter { !$0.isUnreadable }.map { key($0) }
    let pairs = zip(keys, keys.dropFirst())
    let isUp = pairs.allSatisfy { $0 <= $1 }
    let isDown = pairs.allSatisfy { $0 >= $1 }
    let pageKind = faults.contains(.directionOfAll) ? .other : pageKind
    if !isUp, !isDown {
      isShuffled.insert(pageKind)
      let sorted = page.enumerated().sorted {
        (key($0.element), $0.offset) < (key($1.element), $1.offset)
      }
      return (sorted.map(\.element), faults.contains(.shuffledIsOrdered))
    }
    if let first = keys.first, let last = keys.last, first != last {
      disk.isDescending[pageKind] = first > last
    }
    var direction = disk.isDescending[pageKind]
    if faults.contains(.oneDirection) { direction = false }
    guard let isDescending = direction else { return (page, page.count < 2) }
    let isBelieved = faults.contains(.shuffledIsOrdered) || !isShuffled.contains(pageKind)
    return (isDescending ? page.reversed() : page, isBelieved && !isFrozen)
  }

  /// The elements of a page that are not deleted, once each.
  private func items(_ page: [BookMessage], asked: Int) -> [ChainItem<Int64>] {
    var seen: Set<Int> = []
    return page.compactMap { message in
      if let known = disk.tombstones[message.name] {
        if asked > known { buried.insert(message.name) }
        if !faults.contains(.noTombstones) { return nil }
      }
      guard seen.insert(message.name).inserted else { return nil }
      disk.messages[message.name] = message
      if message.isUnreadable { return .unreadable(message.name) }
      disk.newest = max(disk.newest ?? message.time, message.time)
      return .row(message.name, key(message))
    }
  }

  /// Takes one page; `low` and `high` are its ends where the request draws them.
  @discardableResult
  package func learn(
    _ page: [BookMessage], _ pageKind: PageKind, asked: Int, low: ChainItem<Int64>? = nil,
    high: ChainItem<Int64>? = nil
  ) -> [Int] {
    var (oriented, isOrdered) = oriented(page, pageKind)
    let isKnown = isFrozen || isShuffled.contains(pageKind)
    if !isOrdered, !isKnown, let isNewest = disk.book.listsNewestFirst(oriented.map(\.name)) {
      // T5: all of it is of one time, and what is known tells the direction.
      (oriented, isOrdered) = (isNewest ? oriented.reversed() : oriented, true)
    }
    let came = tick()
    let items = items(oriented, asked: asked)
    let names = items.map(\.name)
    if !isOrdered, items.count > 1, !isKnown, disk.book.knowsOrder(of: names) {
      // The direction is not known yet, and what is known has an order.
      addIslands(items, came)
      return names
    }
    var chain = items
    let isSet = !isOrdered && items.count > 1
    if isSet {
      chain = disk.book.arranged(items, isCutBelow: low == nil, isCutAbove: high == nil)
    }
    let before = disk.book.contradictions
    var absent: [Int] = []
    for part in parts(chain, pageKind, low, high) where !part.isEmpty {
      absent += disk.book.take(
        part, PageFacts(asked: asked, came: came, isOrdered: !isSet))
    }
    if disk.book.contradictions > before, disk.book.contradictions >= 3,
      !faults.contains(.contradictionsCount)
    {
      isFrozen = true
    }
    lackedNow.formUnion(absent)
    for name in names { disk.lacked[name] = nil }
    return names
  }

  /// Takes rows whose neighbours are not believed.
  package func add(_ page: [BookMessage], asked: Int) {
    let (oriented, _) = oriented(page, .after)
    addIslands(items(oriented, asked: asked), tick())
  }

  private func addIslands(_ items: [ChainItem<Int64>], _ came: Int) {
    for case .row(let name, let key) in items where !disk.book.contains(name) {
      disk.book.put(name, key, came: came)
    }
  }

  /// N2: a selection by time proves runs of consecutive numbers only.
  private func parts(
    _ chain: [ChainItem<Int64>], _ pageKind: PageKind, _ low: ChainItem<Int64>?,
    _ high: ChainItem<Int64>?
  ) -> [[ChainItem<Int64>]] {
    func ended(
      _ chain: [ChainItem<Int64>], _ low: ChainItem<Int64>?, _ high: ChainItem<Int64>?
    ) -> [ChainItem<Int64>] {
      // An unreadable item of the mark's own key would be below it.
      [low].compactMap { $0 } + chain + [high].compactMap { $0 }
    }
    guard kind.isNumbered else { return [ended(chain, low, high)] }
    let rows = chain.compactMap { item -> (item: ChainItem<Int64>, number: Int64)? in
      if case .row(_, let number) = item { return (item, number) }
      return nil
    }
    guard let first = rows.first, let last = rows.last else { return [ended(chain, low, high)] }
    if pageKind != .after || faults.contains(.selectionsProveAll) {
      return [ended(chain, low ?? .mark(first.number), high ?? .mark(last.number + 1))]
    }
    var parts: [[ChainItem<Int64>]] = []
    var run: [ChainItem<Int64>] = [.mark(first.number), first.item]
    var top = first.number
    for row in rows.dropFirst() {
      if row.number != top + 1 {
        parts.append(run + [.mark(top + 1)])
        run = [.mark(row.number)]
      }
      run.append(row.item)
      top = row.number
    }
    return parts + [run + [high ?? .mark(top + 1)]]
  }

  // MARK: Pushes

  package func pushed(_ message: BookMessage, after predecessor: Int? = nil) {
    let name = message.name
    if disk.tombstones[name] != nil, !faults.contains(.noTombstones) { return }
    if disk.book.contains(name) || message.isUnreadable { return }
    let came = tick()
    disk.messages[name] = message
    disk.newest = max(disk.newest ?? message.time, message.time)
    if let lowest = disk.deletionsLowest, message.time - overlap < lowest,
      !faults.contains(.olderPushesIgnored)
    {
      disk.deletionsFrom = disk.deletionsFrom.map { min($0, message.time - overlap) }
    }
    guard kind.isNumbered else {
      return disk.book.put(name, message.time, came: came, after: predecessor)
    }
    let number = message.number
    disk.book.endPresent(below: number)
    if faults.contains(.numbersDoNotTouch) {
      return disk.book.put(name, number, came: came)
    }
    lackedNow.formUnion(
      disk.book.take(
        [.mark(number), .row(name, number), .mark(number + 1)],
        PageFacts(asked: came, came: came)))
  }

  package func bury(_ names: [Int]) {
    for name in names {
      if disk.tombstones[name] == nil { disk.tombstones[name] = disk.clock }
      disk.lacked[name] = nil
      disk.book.remove(name)
    }
  }

  // MARK: Catching up

  package func sync(live: Bool = false) throws {
    disk.connection += 1
    (lackedNow, readAll) = ([], false)
    try catchUp(live)
    let isDoubted = disk.book.entries.contains(where: \.isOut)
    if readAll, disk.deletionsFrom == nil, !isDoubted, let newest = disk.newest {
      disk.deletionsFrom = newest - overlap
      disk.deletionsLowest = disk.deletionsFrom
    } else {
      try askDeletions()
    }
    if !faults.contains(.noSecondLook) { try lookAgain() }
    if judge() {
      try catchUp(live)
      try askDeletions()
    }
  }

  package func catchUp(_ live: Bool) throws {
    if kind.isNumbered { return try catchUpByNumber(live) }
    readAll = false
    let isFirst = disk.book.settled == nil && disk.book.keys.isEmpty
    if let settled = disk.book.settled {
      // T1: one unit lower, as the server may compare more finely than it prints.
      let below = faults.contains(.noOverlap) ? settled : settled - 1
      let (page, more, asked) = try ask(PageRequest(after: below))
      if !more {
        learn(page, .after, asked: asked, low: .mark(below + 1), high: .present)
        noteTop(page)
        return try ended(live)
      }
      // T3: the tail is cut.
      if !faults.contains(.keepsUnsettled) { disk.book.unsettle(above: settled) }
      if !faults.contains(.owesNothing) {
        disk.book.owed = min(disk.book.owed ?? settled, settled)
      }
      add(page, asked: asked)
    } else {
      disk.book.unsettle(above: nil)
    }
    let (page, more, asked) = try ask(PageRequest())
    learn(page, .other, asked: asked, low: more ? nil : .start, high: .present)
    noteTop(page)
    readAll = isFirst && !more
    try ended(live)
  }

  private func catchUpByNumber(_ live: Bool) throws {
    readAll = false
    let isFirst = disk.book.settled == nil && disk.book.keys.isEmpty
    if let settled = disk.book.settled, let watermark = disk.watermark {
      let (page, more, asked) = try ask(PageRequest(after: watermark - overlap - 1))
      let top = settled - 1
      let isWhole = !more && goesOn(page.map(\.number), from: top)
      if isWhole || faults.contains(.holesAreIgnored) && !more {
        learn(page, .after, asked: asked, high: .present)
        noteTop(page)
        return try ended(live)
      }
      learn(page, .after, asked: asked)
      disk.book.owed = min(disk.book.owed ?? settled, settled)
    } else {
      disk.book.unsettle(above: nil)
    }
    let (page, more, asked) = try ask(PageRequest())
    learn(page, .other, asked: asked, low: more ? nil : .start, high: .present)
    noteTop(page)
    readAll = isFirst && !more
    try ended(live)
  }

  /// N3: only numbers that go on from the top without a hole say that nothing else is new.
  package func goesOn(_ numbers: [Int64], from top: Int64) -> Bool {
    let new = numbers.filter { $0 > top }.sorted()
    let known = disk.book.entries.compactMap { entry -> Int64? in
      entry.isMark || entry.isOut ? nil : entry.place.key.flatMap { $0 > top ? $0 : nil }
    }
    return numbers.contains(top) && Set(known).isSubset(of: new)
      && new == Array((top + 1)..<(top + 1 + Int64(new.count)))
  }

  /// T2: settled is what lies the overlap below the top of the first page.
  package func noteTop(_ page: [BookMessage]) {
    let rows = page.filter { !$0.isUnreadable }
    guard let top = (rows.map(\.time) + [disk.watermark].compactMap { $0 }).max() else { return }
    disk.watermark = top
    if kind.isNumbered {
      let number = rows.map(\.number).max().map { $0 + 1 }
      disk.book.settled = [disk.book.settled, number].compactMap { $0 }.max()
    } else {
      disk.book.settled = top - overlap
    }
  }

  func ended(_ live: Bool) throws {
    if live {
      disk.book.owed = nil
      return
    }
    guard let owed = disk.book.owed else { return }
    try walkDown(to: owed)
    if let main = disk.book.main(), disk.book.holds(main, owed) { disk.book.owed = nil }
  }
}
