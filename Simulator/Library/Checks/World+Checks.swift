/// What must hold of a page at any time, and what must hold once a sync has ended well.
internal import ReferenceServer

extension World {
  /// A message as the server has it, in the order that a client keeps.
  struct Truth {
    var timeUs: Int64
    /// The first part of its place, as the device orders it.
    var order: Int64
    var id: [UInt8]
    var serial: Int
    var payload: [UInt8]
    /// Control messages and those that the host forgot are never shown.
    var hidden: Bool
    /// Nobody can read it, so a gap stays in its place.
    var isQuarantined: Bool
    /// Not certain to be there before the next sync: committed late, or stamped ahead.
    var fleeting: Bool

    func isBefore(_ order: Int64, _ id: [UInt8]) -> Bool {
      self.order != order ? self.order < order : self.id.lexicographicallyPrecedes(id)
    }

    func isAfter(_ row: SimRow) -> Bool {
      order != row.order ? order > row.order : row.id.lexicographicallyPrecedes(id)
    }
  }

  func truth(_ conversation: Int) -> [Truth] { known(conversation).rows }

  func known(_ conversation: Int) -> KnownTruth {
    let revision = server.revision(conversations[conversation].name)
    if let known = truths[conversation], known.revision == revision,
      known.forgettings == ledger.forgettings
    {
      return known
    }
    let known = KnownTruth(revision, ledger.forgettings, readTruth(conversation))
    truths[conversation] = known
    return known
  }

  private func readTruth(_ conversation: Int) -> [Truth] {
    var ahead: [(serial: Int, stampUs: Int64)] = []
    let all = server.truth(conversations[conversation].name)
    if knobs.strangers.stampsAhead {
      for row in all {
        guard let serial = Ledger.mark(Array(row.payload.utf8))?.serial,
          ledger.posted[serial].future
        else { continue }
        ahead.append((serial, row.stampUs))
      }
    }
    let rows = all.compactMap { row -> Truth? in
      let payload = Array(row.payload.utf8)
      guard let mark = Ledger.mark(payload) else { return nil }
      let posted = ledger.posted[mark.serial]
      return Truth(
        timeUs: row.stampUs, order: knobs.sequence ? row.number : row.stampUs,
        id: Array(row.id.utf8), serial: mark.serial, payload: payload,
        hidden: posted.control || ledger.forgotten.contains(row.id)
          || ledger.deleting.contains(row.id) || row.flaw != .none,
        isQuarantined: row.flaw != .none,
        fleeting: !knobs.sequence && (posted.late || posted.future)
          || strangers.returned.contains(row.id)
          // It came to stand below a message that is stamped ahead, and was there before.
          || ahead.contains { $0.serial < mark.serial && row.stampUs < $0.stampUs })
    }
    // The server lists them in its order.
    return knobs.ordersByPages ? rows : rows.sorted { $0.isBefore($1.order, $1.id) }
  }

  /// A look at a screen between two events.
  func read() throws {
    let conversation = deviceDice.below(conversations.count)
    let limit = 5 + deviceDice.below(40)
    try check(conversation, try client.page(conversations[conversation].bytes, limit: limit))
    try checkUnknown()
  }

  /// Of a conversation that nobody has heard of nothing is called whole.
  private func checkUnknown() throws {
    guard client.claimsCoverage else { return }
    let page = try client.page(Array("nobody's".utf8), limit: 5)
    if !page.rows.isEmpty || page.gapsBefore != [0] || page.reachesStart {
      throw Violation("a conversation that nobody knows is called whole")
    }
  }

  func readAll(_ conversation: Int) throws {
    try check(conversation, try client.page(conversations[conversation].bytes, limit: 10_000))
  }

  private func check(_ conversation: Int, _ page: SimPage) throws {
    trace.mix(UInt64(page.rows.count))
    for row in page.rows { trace.mix(row.id) }
    try checkShape(conversation, page)
    try checkOrderShown(conversation, page.rows)
    // A restore takes rows back to life, which only the next sync can find out.
    guard client.claimsCoverage, findings.restores == 0, !conversations[conversation].isGone
    else { return }
    let rows = truth(conversation)
    for segment in segments(page) { try checkNothingMissing(page, segment, rows) }
  }

  /// Rows in order, once each, of this conversation, with content that was posted.
  func checkShape(_ conversation: Int, _ page: SimPage) throws {
    guard client.claimsCoverage else { return }
    var last: SimRow?
    var group: Set<RowKey> = []
    for row in page.rows {
      if let last {
        let isSame = last.order == row.order
        if !isSame, !group.isEmpty { group = [] }
        if isSame, group.isEmpty { group.insert(RowKey(last.id)) }
        let isNext =
          knobs.ordersByPages
          ? group.insert(RowKey(row.id)).inserted : last.id.lexicographicallyPrecedes(row.id)
        if isSame ? !isNext : last.order > row.order {
          throw Violation("rows out of order or twice at \(Self.text(row.id))")
        }
        if !isSame, knobs.ordersByPages { group = [] }
      }
      last = row
      let known = try identify(row, conversation)
      if !ledger.forgotten.isEmpty, ledger.forgotten.contains(known.text) {
        throw Violation("a forgotten message is shown: \(known.text)")
      }
      if known.mine, row.unread { throw Violation("an own message is unread: \(known.text)") }
    }
  }

  /// Which posted message a row is; its payload is one that was posted for it, byte by byte.
  private func identify(_ row: SimRow, _ conversation: Int) throws -> KnownRow {
    if let known = row.known, ledger.posted[known.serial].conversation == conversation {
      return known
    }
    let before = identities[row.number]
    // The same number, id and bytes have been looked at.
    if let before, before.payload == row.payload, before.id == row.id,
      ledger.posted[before.serial].conversation == conversation
    {
      row.known = before
      return before
    }
    let id = Self.text(row.id)
    guard let mark = Ledger.mark(row.payload), mark.serial < ledger.posted.count else {
      throw Violation("a payload that was never posted: \(id)")
    }
    let posted = ledger.posted[mark.serial]
    guard posted.id == id || ledger.serial(ofID: id) == mark.serial,
      posted.conversation == conversation
    else {
      throw Violation("message \(id) shows the content of \(posted.id)")
    }
    guard mark.version >= 1, mark.version <= posted.payloads.count,
      isPosted(row.isSealed ? try opened(row) : row.payload, posted.payloads[mark.version - 1])
    else { throw Violation("the payload of \(id) is not verbatim") }
    try judgeOpening(row, mark)
    if posted.control, !row.isSealed { throw Violation("a control message is shown: \(id)") }
    if let before, before.text != id {
      throw Violation("number \(row.number) stood for \(before.text) and now stands for \(id)")
    }
    let known = KnownRow(row, text: id, mark, mine: posted.mine)
    identities[row.number] = known
    row.known = known
    return known
  }

  private func isPosted(_ shown: [UInt8], _ posted: [UInt8]) -> Bool {
    if shown == posted { return true }
    let text = Self.text(posted)
    return knobs.strangers.printsAnew && Self.text(shown) == ReferenceServer.printedAnew(text)
  }

  /// The mark in a row's payload.
  func mark(_ row: SimRow) -> Ledger.Mark? {
    if let known = row.known {
      return Ledger.Mark(serial: known.serial, version: known.version)
    }
    return Ledger.mark(row.payload)
  }

  /// The runs of rows that the page calls whole.
  func segments(_ page: SimPage) -> [Range<Int>] {
    var segments: [Range<Int>] = []
    let gaps = Set(page.gapsBefore)
    var first = 0
    func close(_ end: Int) {
      if first < end { segments.append(first..<end) }
    }
    for index in page.rows.indices {
      if page.rows[index].unverified {
        close(index)
        first = index + 1
      } else if gaps.contains(index) {
        close(index)
        first = index
      }
    }
    close(page.rows.count)
    return segments
  }

  /// What was surely on the server when a whole range was fetched is in it.
  ///
  /// Surely means: committed when stamped, in an earlier timestamp group than the newest row of the
  /// range.
  func checkNothingMissing(
    _ page: SimPage, _ segment: Range<Int>, _ rows: [Truth]
  ) throws {
    let part = page.rows[segment]
    guard let low = part.first, let high = part.last(where: { !isAhead($0) && !wasAhead($0) })
    else { return }
    if knobs.ordersByPages {
      // Which of the lowest second stand below the range its order says, which is not judged here.
      let have = Set(part.map { RowKey($0.id) })
      for row in rows where low.order < row.order && row.order < high.order {
        if row.fleeting || row.hidden || have.contains(RowKey(row.id)) { continue }
        throw Violation(
          "a range called whole lacks \(Self.name(row)), posted before \(Self.text(high.id))")
      }
      return
    }
    // Both are in the same order, so they are walked side by side.
    var next = part.startIndex
    for row in rows[Self.first(of: rows, from: low)...] {
      if row.order >= high.order { break }
      if row.fleeting || row.hidden { continue }
      while next < part.endIndex, row.isAfter(part[next]) { next += 1 }
      if next < part.endIndex, part[next].id == row.id { continue }
      if part.contains(where: { $0.id == row.id }) { continue }
      throw Violation(
        "a range called whole lacks \(Self.name(row)), posted before \(Self.text(high.id))")
    }
  }

  /// The first message that is not before a row.
  private static func first(of rows: [Truth], from row: SimRow) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].isBefore(row.order, row.id) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// After a sync that ended well: each whole range equals the server, nothing deleted is shown,
  /// content is the newest that was handed over, and the newest message is there.
  func checkLatest(_ conversation: Int, isFetched: Bool = false) throws {
    try openRest()
    let page = try client.page(conversations[conversation].bytes, limit: 10_000)
    try checkShape(conversation, page)
    let known = known(conversation)
    let rows = known.rows
    let shown = known.shown
    // A device that a loss of power took back to before a restore finds it out where its old
    // ranges and the new ones meet.
    if isFetched || findings.restores == 0 || findings.powerCuts == 0 {
      for segment in segments(page) { try checkEqual(page, segment, shown) }
    }
    if findings.restores == 0 {
      // Deletions beyond the horizon can only be seen by those who look.
      for row in page.rows where !known.contains(row.id) {
        if knobs.horizonUs > 0, row.unverified { continue }
        throw Violation("a deleted message is shown: \(Self.text(row.id))")
      }
    }
    try checkContent(page, known)
    // A hidden message may be the newest; the shown one below it may then end a gap.
    let newest = knobs.sequence ? rows.last : rows.last { $0.timeUs <= server.nowUs }
    if rows.last?.id == shown.last?.id, newest?.hidden != true,
      !poisoned.contains(conversation)
    {
      try checkNewest(page, shown)
    }
  }

  /// The newest message is there. It stands in a whole range unless it is stamped ahead: between
  /// now and such a stamp new messages will come, so no honest range reaches over it.
  private func checkNewest(_ page: SimPage, _ shown: [Truth]) throws {
    guard let newest = shown.last else { return }
    guard let last = page.rows.last else {
      throw Violation("nothing is shown, the server has \(shown.count)")
    }
    // In which order they stand at the end of a second is judged by itself.
    let isTied = knobs.ordersByPages && last.order == newest.order
    if last.id != newest.id, !isTied {
      throw Violation("the newest shown is \(Self.text(last.id)), not \(Self.name(newest))")
    }
    // Stamps ahead that bear each other out are the server's time for all that a client knows.
    if !last.unverified, !page.gapsBefore.contains(page.rows.count) { return }
    let ordinary = ordinaryCount(page)
    guard ordinary > 0 else { return }
    let isLast = ordinary == page.rows.count
    let isDoubted = page.rows[ordinary - 1].unverified && knobs.horizonUs == 0
    if isDoubted || (isLast && page.gapsBefore.contains(ordinary)) {
      throw Violation(
        "up to date, yet the newest message is not in a whole range: row \(ordinary) of "
          + "\(page.rows.count), gaps \(page.gapsBefore)")
    }
  }

  /// How many rows are not stamped ahead of the server's time.
  func ordinaryCount(_ page: SimPage) -> Int {
    page.rows.prefix { !isAhead($0) }.count
  }

  /// Whether its stamp was ahead when it was posted: others came below it until the clocks met.
  private func wasAhead(_ row: SimRow) -> Bool {
    knobs.strangers.stampsAhead && mark(row).map { ledger.posted[$0.serial].future } ?? false
  }

  /// Whether it is stamped ahead of the server's time, and stands there. Where messages name
  /// the one before, stamps run ahead of the clock so that none comes in between: they count
  /// where the client believes them, which it does not while most are behind the clock. There the
  /// clock may also pass such a stamp between the page and the look at it.
  func isAhead(_ row: SimRow) -> Bool {
    let isBelieved = knobs.previousIDs && !knobs.futureStamp && !row.unverified
    let pagedUs = server.nowUs - (knobs.previousIDs ? 1_000_000 : 0)
    return !knobs.sequence && !isBelieved && row.timeUs > pagedUs
  }

  /// Whether a gap between two rows may be there for a message that nobody can read: nothing that
  /// can be read stands in it. Where such a message stood, no client can tell. Nil is an end.
  ///
  /// What is shown beside the gap, at the time of one of its ends, does not lack: in which order
  /// those of one time stand is judged by itself.
  func isQuarantined(
    _ conversation: Int, _ low: SimRow?, _ high: SimRow?, besides shown: Set<RowKey> = []
  ) -> Bool {
    poisoned.contains(conversation) && !lacksRows(conversation, low, high, besides: shown)
  }

  /// Whether messages that can be read stand between two rows.
  func lacksRows(
    _ conversation: Int, _ low: SimRow?, _ high: SimRow?, besides shown: Set<RowKey> = []
  ) -> Bool {
    let rows = truth(conversation)
    func isAbove(_ row: Truth) -> Bool { low.map { !row.isBefore($0.order, $0.id) } ?? true }
    func isBelow(_ row: Truth) -> Bool { high.map { row.isBefore($0.order, $0.id) } ?? true }
    var between = rows.indices.filter { isAbove(rows[$0]) && isBelow(rows[$0]) }
    if knobs.ordersByPages {
      // Among those of one time the server's order counts, not that of ids.
      let first = low.map { low in rows.firstIndex { $0.id == low.id || $0.order > low.order } ?? 0
      }
      let last = high.map { high in
        rows.firstIndex { $0.id == high.id || $0.order > high.order } ?? rows.count
      }
      let (start, end) = (first.map { $0 + 1 } ?? 0, last ?? rows.count)
      between = start < end ? Array(start..<end) : []
    }
    func isBeside(_ row: Truth) -> Bool {
      knobs.ordersByPages && (row.order == low?.order || row.order == high?.order)
        && shown.contains(RowKey(row.id))
    }
    return between.contains {
      !rows[$0].hidden && rows[$0].id != low?.id && !isBeside(rows[$0])
    }
  }

  /// Gaps that are there for no such reason, by the row behind them.
  func fillableGaps(_ conversation: Int, _ page: SimPage) -> [Int] {
    let shown = knobs.poison ? Set(page.rows.map { RowKey($0.id) }) : []
    return page.gapsBefore.filter { index in
      !isQuarantined(
        conversation, index > 0 ? page.rows[index - 1] : nil,
        index < page.rows.count ? page.rows[index] : nil, besides: shown)
    }
  }

  private func checkEqual(_ page: SimPage, _ segment: Range<Int>, _ shown: [Truth]) throws {
    let part = page.rows[segment]
    guard let low = part.first, let high = part.last else { return }
    let have = part.map(\.id)
    let inPart = knobs.ordersByPages ? Set(have.map { RowKey($0) }) : []
    let expected = shown.filter { row in
      if knobs.ordersByPages {
        // Of the seconds at its ends the range may hold a part.
        let isEnd = row.order == low.order || row.order == high.order
        return isEnd
          ? inPart.contains(RowKey(row.id)) : low.order < row.order && row.order < high.order
      }
      return !row.isBefore(low.order, low.id)
        && (row.isBefore(high.order, high.id) || row.id == high.id)
    }
    if expected.map(\.id) == have { return }
    let known = Set(have)
    if let row = expected.first(where: { !known.contains($0.id) }) {
      throw Violation("a whole range lacks \(Self.name(row))")
    }
    let alive = Set(expected.map(\.id))
    if let row = part.first(where: { !alive.contains($0.id) }) {
      throw Violation("a whole range has \(Self.text(row.id)), which the server has not")
    }
    if knobs.ordersByPages { return }
    throw Violation("a whole range is in another order than the server's")
  }

  func checkContent(_ page: SimPage, _ known: KnownTruth) throws {
    let posted = ledger.posted
    var next = 0
    for row in page.rows {
      guard let mark = mark(row) else { continue }
      // What this user did lies over it; at rest it is compared with the server.
      if posted[mark.serial].isOperated { continue }
      let delivered = posted[mark.serial].delivered
      if mark.version < delivered, !mayBeOlder(row) {
        throw Violation(
          "\(Self.text(row.id)) shows version \(mark.version), \(delivered) was handed over")
      }
      // A page that came before the restore was found out is not remembered; its rows are read
      // again before they count.
      let isUnread = row.unverified && findings.restores > 0
      if delivered > 0, mark.version > delivered, findings.kills == 0, !isUnread {
        throw Violation(
          "\(Self.text(row.id)) shows version \(mark.version) of a lost time, not \(delivered)")
      }
      let reaction = Self.newestReaction(row)?.version ?? 0
      if reaction < posted[mark.serial].reactionsDelivered, !mayBeOlder(row) {
        throw Violation(
          "\(Self.text(row.id)) shows reactions \(reaction), newer ones were handed over")
      }
      if let there = known.row(row, &next), there.timeUs != row.timeUs {
        throw Violation("\(Self.text(row.id)) is shown at another time than the server's")
      }
    }
  }

  /// After everything was fetched: exactly what the server has.
  func checkExact(_ conversation: Int) throws {
    try checkLatest(conversation, isFetched: true)
    let page = try client.page(conversations[conversation].bytes, limit: 10_000)
    let known = known(conversation)
    let shown = known.shown
    let rows = page.rows.filter { row in
      // Beyond the horizon only a second look tells what was deleted.
      !(knobs.horizonUs > 0 && row.unverified && known.row(row.id)?.hidden ?? true)
    }
    let isAll =
      knobs.ordersByPages
      ? Set(rows.map { RowKey($0.id) }) == Set(shown.map { RowKey($0.id) })
      : rows.elementsEqual(shown, by: { $0.id == $1.id })
    if isAll, knobs.ordersByPages { try checkOrder(rows, shown) }
    if !isAll {
      let have = Set(page.rows.map(\.id))
      let lacking = shown.first { !have.contains($0.id) }.map(Self.name) ?? "none"
      throw Violation(
        "all is fetched: \(page.rows.count) shown, \(shown.count) on the server, c\(conversation) "
          + "lacks \(lacking)")
    }
  }

  /// Messages of one time stand as the server lists them, where its pages have told how, and each
  /// group was shown by one of them: what came another way stands as it came.
  private func checkOrder(_ rows: [SimRow], _ shown: [Truth]) throws {
    guard knobs.judgesOrder, findings.restores == 0, try client.knowsListings() else { return }
    var index = 0
    while index < rows.count {
      var end = index
      while end < rows.count, rows[end].order == rows[index].order { end += 1 }
      let isSame = zip(rows[index..<end], shown[index..<end]).allSatisfy { $0.id == $1.id }
      let isShown = rows[index..<end].allSatisfy { !$0.unverified }
      if !isSame, isShown, end - index < knobs.pageSize / 2 {
        throw Violation("the messages of \(rows[index].timeUs) are in another order")
      }
      index = end
    }
  }

  /// Each message of others that should be read is read on the server, or gone.
  func checkMarks() throws {
    if findings.restores > 0 { return }
    // Marks that were still to be sent went with a conversation that was left.
    for index in present where !conversations[index].wasLeft {
      let page = try client.page(conversations[index].bytes, limit: 10_000)
      for row in page.rows {
        let id = Self.text(row.id)
        guard let serial = ledger.serial(ofID: id), !ledger.posted[serial].mine else { continue }
        let due = ledger.marked.contains(id)
        if due, !ledger.readOnServer.contains(id) {
          throw Violation("never marked read: \(id)")
        }
        if due, row.unread { throw Violation("marked read, yet unread: \(id)") }
      }
    }
  }

  static func text(_ id: [UInt8]) -> String { String(decoding: id, as: UTF8.self) }

  private static func name(_ row: Truth) -> String { "\(text(row.id)) (serial \(row.serial))" }
}

extension World {
  /// A printed time for the control, which keeps text only.
  static func microseconds(_ stamp: String) -> Int64 {
    ServerTime.parse(stamp) ?? 0
  }
}
