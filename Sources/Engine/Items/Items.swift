/// Items over one window, as the host holds them: what a person sees of it.
///
/// A poll polls the window, reads the rows that changed, asks the host's function what folds, and
/// merges. The function is called while nothing is locked; should the window be polled meanwhile,
/// nothing is merged and the next poll begins anew.
internal import Base
internal import Timeline

package final class Items: Sendable {
  package let window: Window
  private let number: UInt64
  private let config: ItemsConfig

  fileprivate init(_ window: Window, number: UInt64, config: ItemsConfig) {
    self.window = window
    self.number = number
    self.config = config
  }

  deinit {
    close()
  }

  /// Idempotent. Later calls fail; the window stays open.
  package func close() {
    do {
      try window.live.inside { screen in screen.items.removeAll { $0.number == number } }
    } catch {
      // The window is closed, and all that stood over it with it.
    }
  }

  /// Runs `body` with the window's state and the place of these items in it.
  private func inside(
    _ body: (inout WindowState, Int) throws(Failure) -> Void
  ) throws(Failure) {
    try window.live.inside { screen throws(Failure) in
      guard let index = screen.items.firstIndex(where: { $0.number == number }) else {
        throw .closed
      }
      try body(&screen, index)
    }
  }

  /// The same where the items are as of the window's last step.
  private func reading(
    _ body: (inout WindowState, Int) throws(Failure) -> Void
  ) throws(Failure) {
    try inside { screen, index throws(Failure) in
      if screen.items[index].list.isBehind { throw .invalid("the items are to be polled first") }
      try body(&screen, index)
    }
  }

  // MARK: A poll

  /// Moves to the newest committed state; nil where no item changed.
  package func poll() throws(Failure) -> WindowDiff? {
    try inside { screen, index throws(Failure) in
      if screen.items[index].isPolling { throw .invalid("a poll of these items is under way") }
      screen.items[index].isPolling = true
    }
    defer { endPoll() }
    _ = try window.poll()
    var reader = RowReader()
    while try read(&reader) {}
    var diff: WindowDiff?
    try inside { screen, index throws(Failure) in
      try reader.mustBeCurrent(screen.items[index])
      screen.seekLine(index)
      let line = screen.lineRow(index)
      let from = screen.items[index].list.version
      let steps = screen.items[index].list.merge(reader.rows, line: line)
      if !steps.isEmpty { diff = WindowDiff(from: from, items: screen.items[index].list, steps) }
    }
    return diff
  }

  private func endPoll() {
    do {
      try inside { screen, index in screen.items[index].isPolling = false }
    } catch {
      // It was closed meanwhile.
    }
  }

  /// Reads some of the rows that the next merge needs; false where all are read.
  private func read(_ reader: inout RowReader) throws(Failure) -> Bool {
    var part = RowPart()
    try inside { screen, index throws(Failure) in
      if reader.wanted == nil {
        reader.wanted = screen.items[index].list.rowsWanted()
        reader.taken = screen.items[index].list.taken
      }
      try reader.mustBeCurrent(screen.items[index])
      part.items = reader.next.compactMap { screen.list[$0] }
      guard !part.items.isEmpty else { return }
      part.page = try window.client.reading { reading throws(Failure) in
        try reading.page(screen, items: part.items, first: 0)
      }
      part.readContents(config)
      guard screen.items[index].seeksLine else { return }
      let unread = part.unread.map { min($0, screen.items[index].unread ?? $0) }
      if let unread { screen.items[index].unread = unread }
    }
    guard let page = part.page else { return false }
    if let fold = config.fold { try part.ask(fold, of: page) }
    reader.take(part)
    return true
  }

  // MARK: Reading

  /// Items as of the last poll; none beyond the ends.
  package func items(first: Int, count: Int) throws(Failure) -> [ItemView] {
    guard first >= 0, (0...Limits.readRowsMax).contains(count) else {
      throw .invalid("items are asked for that no list has")
    }
    var views: [ItemView] = []
    try reading { screen, index in
      let end = min(first.saturating(plus: count), screen.items[index].list.count)
      let reaches = screen.isAtEnd
      for place in min(first, end)..<end {
        guard let item = screen.items[index].list.item(at: place) else { continue }
        let range = screen.items[index].list.range(of: item, reachesPresent: reaches)
        views.append(ItemView(item, range: range))
      }
    }
    return views
  }

  /// The item of a message and the place of the message inside of it.
  package func find(_ id: [UInt8]) throws(Failure) -> (item: Int, place: Int)? {
    guard let row = try window.find(id) else { return nil }
    var found: (item: Int, place: Int)?
    try reading { screen, index in found = screen.items[index].list.find(row: row) }
    return found
  }

  package func index(ofKey key: UInt64) throws(Failure) -> Int? {
    var found: Int?
    try reading { screen, index in found = screen.items[index].list.index(ofKey: key) }
    return found
  }

  /// Messages of an item in the order of the list; nil where there is none.
  package func messages(
    of item: Int, first: Int, count: Int
  ) throws(Failure) -> MessagePage? {
    guard first >= 0, (1...Limits.readRowsMax).contains(count) else {
      throw .invalid("messages are asked for that no item has")
    }
    var rows = 0..<0
    try reading { screen, index throws(Failure) in
      guard let found = screen.items[index].list.item(at: item) else { return }
      let low = min(first, found.rowCount)
      let high = min(low.saturating(plus: count), found.rowCount)
      let end = found.firstRow.saturating(plus: found.rowCount)
      rows =
        config.isReversed
        ? end.saturating(minus: high)..<end.saturating(minus: low)
        : found.firstRow.saturating(plus: low)..<found.firstRow.saturating(plus: high)
    }
    guard !rows.isEmpty, var page = try window.rows(first: rows.lowerBound, count: rows.count)
    else { return nil }
    if config.isReversed {
      page.page.reverse()
      for index in page.coverage.gaps.indices {
        let row = page.coverage.gaps[index].beforeRow
        page.coverage.gaps[index].beforeRow = page.page.count.saturating(minus: row)
      }
    }
    return page
  }

  /// What the host's function gave for one message of an item; nil where there is none.
  package func bits(of item: Int, place: Int) throws(Failure) -> UInt64? {
    var bits: UInt64?
    try reading { screen, index in
      guard let row = screen.items[index].list.row(ofItem: item, place: place) else { return }
      bits = screen.items[index].list.bits(row: row)
    }
    return bits
  }

  /// The items between two splits; nil where there is no such range.
  package func range(at place: Int) throws(Failure) -> Range<Int>? {
    var range: Range<Int>?
    try reading { screen, index in
      let reaches = screen.isAtEnd
      range = screen.items[index].list.range(at: place, reachesPresent: reaches)
    }
    return range
  }

  package func state() throws(Failure) -> ItemsStatus {
    var status = ItemsStatus()
    try inside { screen, index in
      status = screen.items[index].list.status(reachesPresent: screen.isAtEnd)
      if !status.isBehind, let row = screen.lineRow(index) {
        status.unreadItem = screen.items[index].list.find(row: row)?.item
      }
    }
    return status
  }

  // MARK: What a person does

  /// False where the item is no group, or already is as it shall be. The next poll shows it.
  package func setOpen(_ item: Int, _ isOpen: Bool) throws(Failure) -> Bool {
    var isDone = false
    try reading { screen, index in isDone = screen.items[index].list.setOpen(item, isOpen) }
    if isDone { window.client.signalNews() }
    return isDone
  }

  /// Puts the unread line before a message, or takes it away for 0. The next poll shows it.
  package func setUnread(_ number: UInt64) throws(Failure) {
    try inside { screen, index throws(Failure) in
      var line: Position?
      if number != 0 {
        line = screen.list.position(ofNumber: number)
        if line == nil { throw .notFound("no row of the window has this number") }
      }
      screen.items[index].line = line
      screen.items[index].seeksLine = false
    }
    window.client.signalNews()
  }

  /// Says which items are on the screen: all messages of a group count as shown.
  package func show(first: Int, count: Int) throws(Failure) {
    guard first >= 0, count >= 0 else { throw .invalid("no such item") }
    var rows = 0..<0
    try reading { screen, index throws(Failure) in
      let items = screen.items[index].list.count
      if first > items { throw .invalid("no such item") }
      let last = min(first.saturating(plus: count), items).saturating(minus: 1)
      guard count > 0, let one = screen.items[index].list.item(at: first),
        let other = screen.items[index].list.item(at: last)
      else { return }
      let (low, high) = one.firstRow < other.firstRow ? (one, other) : (other, one)
      rows = low.firstRow..<high.firstRow.saturating(plus: high.rowCount)
    }
    try window.show(first: rows.lowerBound, count: rows.count)
  }

  /// What was touched so far: the cost that tests hold to the change.
  package var work: Int {
    var work = 0
    do {
      try inside { screen, index in work = screen.items[index].list.work }
    } catch {
      // A closed list costs nothing.
    }
    return work
  }
}

extension Window {
  /// Items over this window. They have the window's rows from their first poll on.
  package func openItems(_ config: ItemsConfig) throws(Failure) -> Items {
    guard (0...Limits.gapMinutesMax).contains(config.gapMinutes) else {
      throw .invalid("gap_min is over a year")
    }
    guard (-1_439...1_439).contains(config.zoneMinutes) else {
      throw .invalid("zone_offset_min is a day or more")
    }
    var number: UInt64 = 1
    try live.inside { screen throws(Failure) in
      if screen.items.count >= Limits.itemsMax {
        throw .full("8 lists of items stand over one window; nothing changed")
      }
      number = (screen.items.last?.number ?? 0) &+ 1
      var state = ItemsState(
        number: number,
        list: ItemList(
          isReversed: config.isReversed,
          gapUs: Int64(clamping: config.gapMinutes) &* 60_000_000),
        seeksLine: config.drawsUnread)
      let rows = screen.list.count
      if rows > 0 { state.list.take([DiffOp(.insert, row: 0, count: rows)]) }
      screen.items.append(state)
    }
    client.signalNews()
    return Items(self, number: number, config: config)
  }
}

extension WindowDiff {
  fileprivate init(from: UInt64, items: borrowing ItemList, _ steps: [DiffOp]) {
    self.init(
      from: from, to: items.version, checksum: items.checksum, rowCount: items.count,
      ops: steps.map { step in
        WindowOp(
          WindowOp.Kind(rawValue: step.kind.rawValue) ?? .update, row: step.row, from: step.from,
          count: step.count)
      })
  }
}

extension ItemList {
  fileprivate func status(reachesPresent: Bool) -> ItemsStatus {
    var status = ItemsStatus()
    status.version = version
    status.checksum = checksum
    status.itemCount = count
    status.rowCount = rowCount
    status.rangeCount = rangeCount(reachesPresent: reachesPresent)
    status.isBehind = isBehind
    return status
  }
}

extension Int {
  /// Places of the host stop at the edge of their type.
  fileprivate func saturating(plus other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  fileprivate func saturating(minus other: Int) -> Int {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? 0 : difference
  }
}
