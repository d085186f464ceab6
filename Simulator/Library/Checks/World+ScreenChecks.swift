/// What must hold of a window after each poll, and what when all is quiet.

extension World {
  /// Rows in order and once, content as handed over, nothing missing between neighbours.
  ///
  /// At rest, and at times in between, also the whole list against the window and the slow model.
  func judge(_ screen: Screen, isAtRest: Bool = false) throws {
    let rows = screen.rows.map(\.row)
    let sent = rows.prefix { !$0.isPending }
    let page = SimPage(
      rows: Array(sent), pending: Array(rows.dropFirst(sent.count)), gapsBefore: splits(screen))
    if let row = page.pending.first(where: { !$0.isPending }) {
      throw Violation("\(Self.text(row.id)) stands behind what is pending")
    }
    for row in page.rows { trace.mix(row.number) }
    try checkShape(screen.conversation, page)
    try checkOrderShown(screen.conversation, page.rows)
    try checkState(screen)
    if findings.restores == 0 {
      let known = known(screen.conversation)
      try checkContent(page, known)
      // What is held back is told by the count alone.
      if try screen.window.state().splits == page.gapsBefore.count {
        for segment in runs(screen) { try checkNothingMissing(page, segment, known.rows) }
      }
    }
    if isAtRest || screenDice.chance(isQuiet ? 0.1 : 0.15) {
      try screen.compareWithWindow()
      try compareWithModel(screen, isAtRest: isAtRest)
    }
  }

  /// Whether two lists hold the same, in the same order but for what stands at one time, which
  /// `checkOrder` judges.
  private func isSame(_ rows: [[UInt8]], _ truth: [[UInt8]]) -> Bool {
    if rows == truth { return true }
    guard knobs.ordersByPages else { return false }
    return Set(rows.map { RowKey($0) }) == Set(truth.map { RowKey($0) })
  }

  /// Whether these are the server's newest, all that stand above the lowest time among them.
  private func isNewest(_ shown: [[UInt8]], of rows: [Truth], from low: Int64) -> Bool {
    if shown == rows.suffix(shown.count).map(\.id) { return true }
    guard knobs.ordersByPages else { return false }
    let have = Set(shown.map { RowKey($0) })
    return rows.allSatisfy { $0.order <= low || have.contains(RowKey($0.id)) }
  }

  private func splits(_ screen: Screen) -> [Int] {
    screen.rows.indices.filter { screen.rows[$0].gapBefore }
  }

  /// The rows between splits, without those that are pending.
  private func runs(_ screen: Screen) -> [Range<Int>] {
    let count = screen.rows.prefix { !$0.row.isPending }.count
    var edges = splits(screen).filter { $0 > 0 && $0 < count }
    edges.append(count)
    var runs: [Range<Int>] = []
    var first = 0
    for edge in edges {
      if first < edge { runs.append(first..<edge) }
      first = edge
    }
    return runs
  }

  private func checkState(_ screen: Screen) throws {
    let state = try screen.window.state()
    if state.version != screen.version { throw Violation("the state is of another version") }
    if state.rowCount != screen.rows.count { throw Violation("the state counts other rows") }
    if state.checksum != Screen.checksum(screen.rows.map(\.row.number)) {
      throw Violation("the state has another checksum")
    }
    let drawn = splits(screen).count
    if screen.holds ? state.splits < drawn : state.splits != drawn {
      throw Violation("the state counts \(state.splits) splits, there are \(splits(screen).count)")
    }
    guard findings.restores == 0, state.atStart, let first = screen.rows.first?.row,
      !first.isPending
    else { return }
    // Below a stamp ahead of the server's time new messages come, and only then are told.
    if isAhead(first) { return }
    let rows = truth(screen.conversation)
    if let older = rows.first(where: {
      $0.isBefore(first.order, first.id) && !$0.hidden && !$0.fleeting && $0.order < first.order
    }) {
      throw Violation("the window is at the start, yet \(Self.text(older.id)) is older")
    }
  }

  /// The slow model: of all rows of the store those within what is loaded, with a split wherever
  /// the store has a gap or something is not loaded.
  private func compareWithModel(_ screen: Screen, isAtRest: Bool) throws {
    let page = try client.page(conversations[screen.conversation].bytes, limit: 10_000)
    let loaded = try screen.window.loaded()
    let gaps = Set(page.gapsBefore)
    var expected: [(number: UInt64, split: Bool)] = []
    var last: Int?
    for (index, row) in (page.rows + page.pending).enumerated()
    where loaded.contains(where: { $0.contains(row) }) {
      var split = false
      if let last {
        let before = last < page.rows.count ? page.rows[last] : page.pending[last - page.rows.count]
        let isLoaded = loaded.contains { $0.covers(after: before, through: row) }
        // What is pending stands behind the present: only what is not loaded parts it.
        split =
          !isLoaded || (index < page.rows.count && (gaps.contains(index) || last + 1 != index))
      }
      expected.append((row.number, split))
      last = index
    }
    if expected.map(\.number) != screen.rows.map(\.row.number) {
      throw Violation(
        "the model has \(expected.count) rows, the window \(screen.rows.count): "
          + Pictures.model(expected.map(\.number), screen))
    }
    for (index, row) in screen.rows.enumerated() where index > 0 {
      // One that heals is held back while anything is under way.
      if screen.holds, !isAtRest, !row.gapBefore { continue }
      if row.gapBefore != expected[index].split {
        throw Violation(
          "the model says split \(expected[index].split) before row \(index), "
            + "\(Self.text(row.row.id))")
      }
    }
    try checkGaps(screen, page)
  }

  /// The gap flags of the state against the store: what lies between the window's ends and the
  /// rows that the store has beside them.
  private func checkGaps(_ screen: Screen, _ page: SimPage) throws {
    let state = try screen.window.state()
    let sent = screen.rows.prefix { !$0.row.isPending }
    guard let first = sent.first?.row, let last = sent.last?.row,
      let low = page.rows.firstIndex(where: { $0.number == first.number }),
      let high = page.rows.lastIndex(where: { $0.number == last.number })
    else {
      // An empty window is whole only where the conversation is.
      if page.rows.isEmpty, state.gapBefore == page.reachesStart {
        throw Violation("an empty window says gap \(state.gapBefore) of what is all known or not")
      }
      return
    }
    if state.gapBefore != page.gapsBefore.contains(low) {
      throw Violation("the state says gap \(state.gapBefore) before row \(low) of the store")
    }
    var isGap = page.gapsBefore.contains(high + 1)
    if high + 1 == page.rows.count, !state.atEnd {
      // Behind what is in no whole range anything may follow, and it does not come by itself.
      if knobs.horizonUs > 0 { return }
      // A row that an answer of a restored server lacked is in doubt inside of a whole range.
      if findings.restores > 0, page.rows[high].unverified { return }
      isGap = isGap || page.rows[high].unverified
    }
    if state.gapAfter != isGap {
      throw Violation("the state says gap \(state.gapAfter) behind row \(high) of the store")
    }
  }

  // MARK: At rest

  /// Lets a window get what it asked for.
  func settle(_ screen: Screen, _ what: String) throws {
    do {
      try until(what) {
        // What ended at once is heard of by the poll after.
        var unchanged = 0
        while unchanged < 3 {
          unchanged = try look(at: screen) ? 0 : unchanged + 1
          try pump()
          // Only time will tell.
          if unchanged > 0, try !screen.window.state().isIdle, try isBusy() { return false }
        }
        return try screen.window.state().isIdle && link.isUp && !isBusy()
      }
    } catch let violation as Violation {
      if violation.text.hasPrefix("window") { throw violation }
      throw fail(screen, violation.text)
    }
  }

  /// Windows left open show the newest part of the server by themselves; then, in some worlds,
  /// windows alone fetch everything.
  func finishScreens() throws {
    for screen in screens {
      try settle(screen, "at rest")
      try judge(screen, isAtRest: true)
      if try screen.followsPresent || screen.window.state().atEnd { try checkPresent(screen) }
    }
    closeScreens()
    for index in present {
      guard let screen = try openScreen(index, at: .latest) else { continue }
      try settle(screen, "the latest")
      try judge(screen, isAtRest: true)
      try checkPresent(screen)
    }
    closeScreens()
    if knobs.screensFillFirst, findings.restores == 0 {
      for index in present { try fillByScreen(index) }
    }
  }

  private func fail(_ screen: Screen, _ text: String) -> Violation {
    Violation("window \(screen.number): \(text)\n  \(Pictures.all(screen, self))")
  }

  /// A window that follows the present ends with exactly what the server ends with, and shows
  /// nothing that the server has not.
  private func checkPresent(_ screen: Screen) throws {
    guard findings.restores == 0 else { return }
    let known = known(screen.conversation)
    let rows = known.shown
    // Where nothing of all there is can be read, a window stays a gap until something comes.
    let isHidden = ledger.posted.contains {
      $0.isQuarantined && $0.conversation == screen.conversation
    }
    if rows.isEmpty, screen.rows.isEmpty, isHidden { return }
    guard try screen.window.state().atEnd else { throw fail(screen, "does not follow the present") }
    guard let newest = rows.last else {
      if !screen.rows.isEmpty { throw fail(screen, "the server has nothing") }
      return
    }
    let isTied = knobs.ordersByPages && screen.rows.last?.row.order == newest.order
    guard isTied || screen.rows.last?.row.id == newest.id else {
      throw fail(screen, "does not end with the newest, \(Self.text(newest.id))")
    }
    if let row = screen.rows.first(where: { !isThere($0.row, known) }) {
      throw fail(screen, "shows \(Self.text(row.row.id)), which the server has not")
    }
    guard let run = runs(screen).last else { return }
    // What was deleted beyond the horizon stands among them, flagged, until it is looked at.
    let shown = screen.rows[run].map(\.row.id).filter { known.row($0) != nil }
    if !isNewest(shown, of: rows, from: screen.rows[run].first?.row.order ?? .min) {
      throw fail(screen, "its newest part is not the server's")
    }
  }

  /// Beyond the horizon only a second look tells what was deleted.
  private func isThere(_ row: SimRow, _ known: KnownTruth) -> Bool {
    known.row(row.id).map { !$0.hidden } ?? (knobs.horizonUs > 0 && row.unverified)
  }

  /// A window fetches a whole conversation, and what it shows is the server's state exactly.
  func fillByScreen(_ index: Int) throws {
    let place = SimPlace.latest
    let opened =
      try openScreen(index, rowsMax: 200_000) ?? openScreen(index, at: place, rowsMax: 200_000)
    guard let screen = opened else { throw Violation("no window opens at the latest") }
    try settle(screen, "opened to be filled")
    try load(screen, .last, count: 50, past: false)
    try settle(screen, "the last")
    try growToStart(screen)
    try fillSplits(screen)
    // Beyond the horizon only a second look tells what was deleted.
    if findings.restores == 0, knobs.horizonUs > 0 { try showAll(screen) }
    try judge(screen, isAtRest: true)
    try checkPresent(screen)
    let known = known(index)
    if findings.restores == 0 {
      let shown = screen.rows.map(\.row).filter { row in
        // Beside what nobody can read nothing is verified.
        !(knobs.horizonUs > 0 && row.unverified && known.row(row.id)?.hidden ?? true)
      }
      if !isSame(shown.map(\.id), known.shown.map(\.id)) {
        throw fail(
          screen, "filled, it has \(shown.count) rows, the server \(known.shown.count)")
      }
    }
    if findings.restores == 0 { try refresh(screen) }
    screen.window.close()
    screens.removeAll { $0.number == screen.number }
  }

  private func growToStart(_ screen: Screen) throws {
    for _ in 0..<60 {
      let state = try screen.window.state()
      if state.atStart || truth(screen.conversation).allSatisfy(\.hidden) { return }
      // A split below a stamp ahead stays, also where all that stands below it is hidden.
      if let first = screen.rows.first?.row, isAhead(first),
        first.id == known(screen.conversation).shown.first?.id
      {
        return
      }
      if isQuarantined(screen.conversation, nil, screen.rows.first?.row) {
        // Beyond what nobody can read lies nothing that a window could stand at.
        try load(screen, .before(0), count: 1_000, past: true)
        try settle(screen, "older, past poison")
        return
      }
      try load(screen, .before(0), count: 1_000, past: false)
      try settle(screen, "older")
    }
    throw fail(screen, "does not reach the start")
  }

  /// Splits that something can be done about. One before a stamp ahead of the server's time stays,
  /// but what lacks there is loaded all the same.
  private func fillable(_ screen: Screen) -> [Int] {
    let shown = knobs.poison ? Set(screen.rows.map { RowKey($0.row.id) }) : []
    return splits(screen).filter { index in
      guard index > 0 else { return false }
      let (before, row) = (screen.rows[index - 1].row, screen.rows[index].row)
      if isAhead(row), !knobs.previousIDs { return false }
      if isAhead(row) { return lacksRows(screen.conversation, before, row, besides: shown) }
      return !isQuarantined(screen.conversation, before, row, besides: shown)
    }
  }

  private func fillSplits(_ screen: Screen) throws {
    // Each fill is for one split, and rows that only pushes brought have one each.
    for _ in 0..<80 + 2 * splits(screen).count {
      guard let split = fillable(screen).last else { return }
      let number = screen.rows[split].row.number
      try fill(screen, split)
      try settle(screen, "filling before \(split)")
      let still = screen.rows.firstIndex { $0.row.number == number && $0.gapBefore }
      if let still {
        try load(screen, .before(screen.rows[still].row.number), count: 1_000, past: false)
        try settle(screen, "loading before \(still)")
      }
    }
    throw fail(screen, "its splits are not filled")
  }

  /// What is stale on screen is verified, and then equals the server with all marks.
  private func showAll(_ screen: Screen) throws {
    try screen.window.show(0, screen.rows.count)
    try pump()
    try settle(screen, "refreshing")
  }

  private func refresh(_ screen: Screen) throws {
    try showAll(screen)
    // A catch-up that begins meanwhile doubts what lies within the overlap, and may leave a gap.
    for _ in 0..<3 where !fillable(screen).isEmpty {
      try fillSplits(screen)
      try showAll(screen)
    }
    guard fillable(screen).isEmpty else { throw fail(screen, "refreshed again, it has splits") }
    let name = conversations[screen.conversation].name
    for row in try screen.rows.isEmpty ? [] : screen.window.rows(0, screen.rows.count) {
      let id = Self.text(row.row.id)
      guard let message = server.message(name, id) else { continue }
      // Beside what nobody can read nothing is verified.
      if knobs.poison, row.row.unverified { continue }
      let marks = row.row.marks
      let reactions = Set(Ledger.marks(marks.reactions, 0x52).map(\.version))
      let expected = message.reactions.flatMap { Ledger.marks(Array($0.name.utf8), 0x52) }
      if reactions != Set(expected.map(\.version)) {
        throw fail(screen, "refreshed, \(id) has reactions \(reactions.sorted())")
      }
      // A pin has no version: of two that change places the later to come is believed. What was
      // lost on its way comes again behind those that were not.
      let keepsOrder = !knobs.reorders && !(knobs.envelope && knobs.dropShare > 0)
      if keepsOrder, marks.pinned != (message.isPinned ?? false) {
        throw fail(screen, "refreshed, \(id) is pinned \(marks.pinned)")
      }
      let kinds: [(String, [UInt8], [String])] = [
        ("readers", marks.readBy, message.readBy),
        ("receivers", marks.deliveredBy, message.deliveredBy),
        ("listeners", marks.listenedBy, message.listenedBy),
      ]
      for (kind, have, all) in kinds {
        let names = Self.names(have)
        if names == Set(all).subtracting([Self.me]) { continue }
        throw fail(screen, "refreshed, \(id) has \(kind) \(names), not \(all)")
      }
      if SimKeys.opened(row.row.payload) != SimKeys.opened(Array(message.payload.utf8)) {
        throw fail(screen, "refreshed, \(id) has old content")
      }
      if row.stale {
        throw fail(screen, "refreshed, \(id) is still called stale")
      }
    }
  }

  private static func names(_ json: [UInt8]) -> Set<String> {
    let parts = json.split(separator: 0x22, omittingEmptySubsequences: false)
    var names: Set<String> = []
    for (index, part) in parts.enumerated() where index % 2 == 1 { names.insert(text(Array(part))) }
    names.remove(me)
    return names
  }
}
