/// What pages lack: deletions, and restores of the server.
package import Book

extension PagingClient {
  func askDeletions() throws {
    guard let newest = disk.newest else { return }
    let times = disk.book.keys.keys.compactMap { name in
      disk.messages[name].flatMap { $0.isUnreadable ? nil : $0.time }
    }
    let own = faults.contains(.oneWatermark) ? disk.watermark : disk.deletionsFrom
    let since = own ?? (times.min() ?? newest) - overlap
    // D1: what was known before the request.
    let next = newest - overlap
    requests += 1
    bury(try fetchDeleted(since))
    if disk.deletionsLowest.map({ since < $0 }) ?? true { disk.deletionsLowest = since }
    if disk.deletionsFrom.map({ $0 >= since }) ?? true { disk.deletionsFrom = max(next, since) }
  }

  /// A2: what an earlier connection's page lacked is looked at again, once a connection.
  func lookAgain() throws {
    var done: Set<Int> = []
    for _ in 0..<8 {
      let entries = disk.book.entries
      guard
        let index = entries.indices.first(where: { index in
          let entry = entries[index]
          let first = disk.lacked[entry.name] ?? disk.connection
          return entry.isOut && first < disk.connection && !lackedNow.contains(entry.name)
            && !done.contains(entry.name)
        })
      else { return }
      done.insert(entries[index].name)
      let offset = max(0, rows(from: index) - min(8, max(1, disk.largestPage / 2)))
      let (page, more, asked) = try ask(PageRequest(offset: offset))
      learn(
        page, .other, asked: asked, low: more || page.isEmpty && offset > 0 ? nil : .start,
        high: offset == 0 ? .present : nil)
    }
  }

  /// A1: a row that a page lacks is in doubt first. A3, A4: a second lack on another connection,
  /// and deleted rows that are shown on two connections, mean that the server was restored.
  func judge() -> Bool {
    var gone: [Int] = []
    for entry in disk.book.entries where entry.isOut {
      if faults.contains(.oneLackIsEnough) || entry.came <= disk.restoredAt {
        gone.append(entry.name)
      } else if let first = disk.lacked[entry.name] {
        if first < disk.connection, lackedNow.contains(entry.name) { gone.append(entry.name) }
      } else {
        disk.lacked[entry.name] = disk.connection
      }
    }
    for name in gone {
      disk.book.drop(name)
      disk.lacked[name] = nil
    }
    let shown = buried.filter { disk.tombstones[$0] != nil }
    buried = []
    let isBack =
      shown.contains { disk.shownAgain[$0, default: disk.connection] < disk.connection }
      && !faults.contains(.buriedStayBuried)
    for name in shown where disk.shownAgain[name] == nil {
      disk.shownAgain[name] = disk.connection
    }
    if isBack { disk.shownAgain = [:] }
    guard !gone.isEmpty || isBack, !faults.contains(.restoreKeepsLinks) else { return false }
    restored()
    return true
  }

  func restored() {
    disk.restoredAt = disk.clock
    disk.book.unsettle(above: nil)
    disk.watermark =
      disk.book.keys.keys.compactMap { name in
        disk.messages[name].flatMap { $0.isUnreadable ? nil : $0.time }
      }.max()
    disk.newest = disk.watermark
    (disk.book.settled, disk.book.owed) = (nil, nil)
    (disk.tombstones, disk.deletionsFrom) = ([:], nil)
  }
}
