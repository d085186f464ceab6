/// Asks a server of a log for pages, and keeps its entries in a book.
///
/// L1: a token is kept at its entry. L2: one of an earlier connection counts only if the server
/// refuses what it does not know. L3: without a token entries further and further inward are asked
/// for. L4: an answer behind a gap has no anchor. L5: what a page lacks is gone.
package import Book
package import LogSupport
package import Timeline

package struct LogClientFaults: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// L1: a token counts for the end of the range, wherever it was given.
  package static let tokensStandAtEnds = LogClientFaults(rawValue: 1 << 0)
  /// L2: tokens of earlier connections count.
  package static let oldTokensCount = LogClientFaults(rawValue: 1 << 1)
  /// L3: an entry that the server has not is the last that is asked for.
  package static let noneFurtherInward = LogClientFaults(rawValue: 1 << 2)
  /// L4: a gap is not looked at.
  package static let gapsAreIgnored = LogClientFaults(rawValue: 1 << 3)
  /// L5: what a page lacks stays.
  package static let absentStays = LogClientFaults(rawValue: 1 << 4)
}

package struct LogDisk {
  package var book = Book<LogKey>()
  package var names: [[UInt8]: Int] = [:]
  package var ids: [Int: [UInt8]] = [:]
  var below: [Int: LogToken] = [:]
  var above: [Int: LogToken] = [:]
  package var clock = 0
  package var connection: UInt64 = 0
  var epoch: [UInt8]?
  /// The highest entry of the range that last reached the present.
  var newest: Int?
  /// The range of this entry is to be joined by a catch-up.
  var owed: Int?

  package init() {}
}

package final class LogClient {
  package typealias Transport = (LogAsk.Place) throws -> LogAnswer

  package var disk: LogDisk
  private let faults: LogClientFaults
  private let refusesUnknown: Bool
  /// What is deleted leaves the log.
  private let leaves: Bool
  private let fetch: Transport
  package private(set) var requests = 0

  package init(
    _ disk: LogDisk, refusesUnknown: Bool, leaves: Bool = false, faults: LogClientFaults = [],
    fetch: @escaping Transport
  ) {
    (self.disk, self.refusesUnknown, self.leaves) = (disk, refusesUnknown, leaves)
    (self.faults, self.fetch) = (faults, fetch)
  }

  package func connect() { disk.connection += 1 }

  @discardableResult
  package func tick() -> Int {
    disk.clock += 1
    return disk.clock
  }

  package func name(_ id: [UInt8]) -> Int {
    if let name = disk.names[id] { return name }
    let name = disk.names.count + 1
    (disk.names[id], disk.ids[name]) = (name, id)
    return name
  }

  // MARK: Pages

  /// The range that reached the present, or did so last.
  package func newestRange() -> ClosedRange<Int>? {
    if let main = disk.book.main() { return main }
    guard let index = disk.newest.flatMap({ disk.book.index(of: $0) }) else { return nil }
    return disk.book.range(at: index)
  }

  private func isUsable(_ token: LogToken) -> Bool {
    token.connection == disk.connection || refusesUnknown || faults.contains(.oldTokensCount)
  }

  /// Takes a page with what it was asked for. Returns whether anything of the order changed.
  @discardableResult
  package func learn(_ page: LogPage, asked: Int, at anchor: Int? = nil, above: Bool = false)
    -> Bool
  {
    if let epoch = page.epoch {
      if let known = disk.epoch, known != epoch {
        disk.book.epoch()
        (disk.below, disk.above, disk.newest, disk.owed) = ([:], [:], nil, nil)
        disk.epoch = epoch
        // It is as the page says, and no entry that was there before is a neighbour of it.
        return take(page, asked: asked, anchor: nil, above: false)
      }
      disk.epoch = epoch
    }
    let isCut = page.gap && !faults.contains(.gapsAreIgnored)
    return take(page, asked: asked, anchor: isCut ? nil : anchor, above: above)
  }

  private func take(_ page: LogPage, asked: Int, anchor: Int?, above: Bool) -> Bool {
    let before = disk.book.picture()
    let names = page.entries.map { name($0.id) }
    var chain: [ChainItem<LogKey>] = names.map { .row($0, .only) }
    if let anchor, disk.book.contains(anchor), !names.contains(anchor) {
      chain.insert(.row(anchor, .only), at: above ? 0 : chain.count)
    }
    if page.before == nil, !page.isCutBelow, !above { chain.insert(.start, at: 0) }
    if page.present { chain.append(.present) }
    let absent = disk.book.take(chain, PageFacts(asked: asked, came: tick()))
    if !faults.contains(.absentStays) {
      for name in absent where !names.contains(name) { disk.book.drop(name) }
    }
    note(page, names, anchor)
    apply(page.entries)
    return disk.book.picture() != before
  }

  /// A deletion takes its message out of the log, on some servers.
  private func apply(_ entries: [LogEntry]) {
    for entry in entries where leaves && entry.change?.kind == .delete {
      guard let target = entry.change?.target.flatMap({ disk.names[$0] }) else { continue }
      if disk.newest == target, let index = disk.book.index(of: target) {
        disk.newest = disk.book.previous(index).map { disk.book.entries[$0].name }
      }
      disk.book.remove(target)
    }
  }

  private func note(_ page: LogPage, _ names: [Int], _ anchor: Int?) {
    func token(_ bytes: [UInt8]) -> LogToken {
      LogToken(bytes: bytes, id: nil, connection: disk.connection, epoch: disk.epoch)
    }
    if let bytes = page.before, let low = names.first ?? anchor { disk.below[low] = token(bytes) }
    if let bytes = page.after, let high = names.last ?? anchor { disk.above[high] = token(bytes) }
    if page.present { disk.newest = names.last ?? anchor ?? disk.newest }
  }

  /// The entry itself is asked for; nil where the server has none of it and of those inward.
  private func askAround(_ range: ClosedRange<Int>, fromAbove: Bool) throws -> Bool {
    let rows = range.filter { !disk.book.entries[$0].isMark && !disk.book.entries[$0].isOut }
      .map { disk.book.entries[$0].name }
    let inward = fromAbove ? rows.reversed() : rows
    var step = 1
    var index = 0
    while index < inward.count {
      let name = inward[index]
      guard let id = disk.ids[name] else { return false }
      let asked = tick()
      requests += 1
      switch try fetch(.around(id)) {
      case .page(let page): return learn(page, asked: asked)
      case .unknownCursor, .notFound:
        if faults.contains(.noneFurtherInward) { return false }
        index += step
        step *= 2
      }
    }
    return false
  }

  // MARK: Syncs

  package func sync(live: Bool = false) throws {
    if let range = newestRange() {
      var token = upperToken(range)
      while let next = token {
        let asked = tick()
        requests += 1
        guard case .page(let page) = try fetch(.after(next.token)) else { break }
        learn(page, asked: asked, at: next.name, above: true)
        if page.gap { break }
        if page.present { return try joinOwed(live) }
        guard let bytes = page.after else { break }
        let top = page.entries.last.map { name($0.id) } ?? next.name
        let after = LogToken(
          bytes: bytes, id: nil, connection: disk.connection, epoch: disk.epoch)
        if page.entries.isEmpty, bytes == next.token.bytes { break }
        token = (after, top)
      }
      disk.owed = disk.owed ?? disk.newest
    }
    let asked = tick()
    requests += 1
    guard case .page(let page) = try fetch(.newest) else { return }
    learn(page, asked: asked)
    try joinOwed(live)
  }

  private func upperToken(_ range: ClosedRange<Int>) -> (token: LogToken, name: Int)? {
    for index in range.reversed() {
      let entry = disk.book.entries[index]
      if entry.isMark || entry.isOut { continue }
      if let token = disk.above[entry.name], isUsable(token) {
        if faults.contains(.tokensStandAtEnds),
          let top = range.last(where: { !disk.book.entries[$0].isMark })
        {
          return (token, disk.book.entries[top].name)
        }
        return (token, entry.name)
      }
    }
    return nil
  }

  /// After a gap: down until the range that was the newest is joined.
  private func joinOwed(_ live: Bool) throws {
    if live {
      disk.owed = nil
      return
    }
    for _ in 0..<200 {
      guard let owed = disk.owed, let range = newestRange(),
        let index = disk.book.index(of: owed), !range.contains(index)
      else {
        disk.owed = nil
        return
      }
      guard try down(range) else { return }
    }
  }

  package var reachesStart: Bool {
    newestRange().map { disk.book.entries[$0.lowerBound].place == .start } ?? false
  }

  package func older() throws {
    guard let range = newestRange() else { return try sync() }
    if disk.book.entries[range.lowerBound].place == .start { return }
    _ = try down(range)
  }

  /// One page below the newest range; false where nothing leads on.
  private func down(_ range: ClosedRange<Int>) throws -> Bool {
    let rows = range.filter { !disk.book.entries[$0].isMark && !disk.book.entries[$0].isOut }
    for index in rows {
      let name = disk.book.entries[index].name
      guard let token = disk.below[name], isUsable(token) else { continue }
      let asked = tick()
      requests += 1
      if case .page(let page) = try fetch(.before(token)) {
        let isFurther = page.before != token.bytes
        return learn(page, asked: asked, at: name) || isFurther
      }
      disk.below[name] = nil
      return true
    }
    return try askAround(range, fromAbove: false)
  }

  // MARK: Pushes

  package func pushed(_ push: LogPush) {
    let came = tick()
    let names = push.entries.map { name($0.id) }
    if names.contains(where: { disk.book.contains($0) }) { return }
    var chain: [ChainItem<LogKey>] = names.map { .row($0, .only) }
    let previous = push.previous.flatMap { disk.names[$0] }
    var isNewest = false
    if let previous, let index = disk.book.index(of: previous), !disk.book.entries[index].isOut {
      // Who names an entry in the middle of a range tells of another history.
      let above = disk.book.next(index)
      let isEnd = disk.book.entries[index].link == .none
      isNewest = !isEnd && above.map { disk.book.entries[$0].place == .present } ?? false
      if isEnd || isNewest { chain.insert(.row(previous, .only), at: 0) }
      if isNewest, push.isFirst { chain.append(.present) }
    }
    if chain.count == names.count {
      for name in names { disk.book.put(name, .only, came: came) }
    } else {
      for name in disk.book.take(chain, PageFacts(asked: came, came: came)) {
        disk.book.drop(name)
      }
      if isNewest { disk.newest = names.last }
    }
    apply(push.entries)
    if let bytes = push.after, let top = names.last {
      disk.above[top] = LogToken(
        bytes: bytes, id: nil, connection: disk.connection, epoch: disk.epoch)
    }
  }
}
