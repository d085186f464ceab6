/// Items over one window, as the host holds them: what a person sees of it.
///
/// A poll polls the window, reads the rows that changed, asks the host's function what folds, and
/// merges. The function is called while nothing is locked; should the window be polled meanwhile,
/// nothing is merged and the next poll begins anew. What is locked is done by `LockedWindow`.
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

  private var locked: LockedWindow { window.locked }

  /// Idempotent. Later calls fail; the window stays open.
  package func close() { locked.close(items: number) }

  /// Moves to the newest committed state; nil where no item changed.
  package func poll() throws(Failure) -> WindowDiff? {
    try locked.beginPoll(items: number)
    defer { locked.endPoll(items: number) }
    _ = try window.poll()
    var reader = RowReader()
    while var part = try locked.read(items: number, &reader) {
      part.readContents(config)
      if let fold = config.fold { try part.ask(fold) }
      reader.take(part)
    }
    return try locked.merge(items: number, reader)
  }

  // MARK: Reading

  /// Items as of the last poll; none beyond the ends.
  package func items(first: Int, count: Int) throws(Failure) -> [ItemView] {
    guard first >= 0, (0...Limits.readRowsMax).contains(count) else {
      throw .invalid("items are asked for that no list has")
    }
    return try locked.items(number, first: first, count: count)
  }

  /// The item of a message and the place of the message inside of it.
  package func find(_ id: [UInt8]) throws(Failure) -> (item: Int, place: Int)? {
    guard let row = try window.find(id) else { return nil }
    return try locked.find(items: number, row: row)
  }

  package func index(ofKey key: UInt64) throws(Failure) -> Int? {
    try locked.index(items: number, ofKey: key)
  }

  /// Messages of an item in the order of the list; nil where there is none.
  package func messages(
    of item: Int, first: Int, count: Int
  ) throws(Failure) -> MessagePage? {
    guard first >= 0, (1...Limits.readRowsMax).contains(count) else {
      throw .invalid("messages are asked for that no item has")
    }
    let all = try locked.rows(items: number, first: item, count: 1) ?? 0..<0
    let low = min(first, all.count)
    let high = min(low.saturating(plus: count), all.count)
    let rows =
      config.isReversed
      ? all.upperBound.saturating(minus: high)..<all.upperBound.saturating(minus: low)
      : all.lowerBound.saturating(plus: low)..<all.lowerBound.saturating(plus: high)
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
    try locked.bits(items: number, of: item, place: place)
  }

  /// The items between two splits; nil where there is no such range.
  package func range(at place: Int) throws(Failure) -> Range<Int>? {
    try locked.range(items: number, at: place)
  }

  package func state() throws(Failure) -> ItemsStatus { try locked.state(items: number) }

  // MARK: What a person does

  /// False where the item is no group, or already is as it shall be. The next poll shows it.
  package func setOpen(_ item: Int, _ isOpen: Bool) throws(Failure) -> Bool {
    try locked.setOpen(items: number, item, isOpen)
  }

  /// Puts the unread line before a message, or takes it away for 0. The next poll shows it.
  package func setUnread(_ row: UInt64) throws(Failure) {
    try locked.setUnread(items: number, row: row)
  }

  /// Says which items are on the screen: all messages of a group count as shown.
  package func show(first: Int, count: Int) throws(Failure) {
    guard first >= 0, count >= 0 else { throw .invalid("no such item") }
    guard let rows = try locked.rows(items: number, first: first, count: count) else {
      throw .invalid("no such item")
    }
    try window.show(first: rows.lowerBound, count: rows.count)
  }

  /// What was touched so far: the cost that tests hold to the change.
  package var work: Int { locked.work(items: number) }
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
    let list = ItemList(
      isReversed: config.isReversed, gapUs: Int64(clamping: config.gapMinutes) &* 60_000_000)
    let number = try locked.open(items: list, seeksLine: config.drawsUnread)
    client.signalNews()
    return Items(self, number: number, config: config)
  }
}

extension WindowDiff {
  init(from: UInt64, items: borrowing ItemList, _ steps: [DiffOp]) {
    self.init(
      from: from, to: items.version, checksum: items.checksum, rowCount: items.count,
      ops: steps)
  }
}

extension ItemList {
  func status(reachesPresent: Bool) -> ItemsStatus {
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
  func saturating(plus other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  func saturating(minus other: Int) -> Int {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? 0 : difference
  }
}
