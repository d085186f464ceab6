/// What a page of a log proves (rules 1 to 12).
internal import Base

/// What a page was, for the walk that asked for it.
package struct LogOutcome: Equatable, Sendable {
  /// It listed nothing.
  package var isEmpty = false
  /// Something is known now that was not.
  package var isProgress = false
  /// What was unverified before stands in a range again. Another epoch makes it unverified anew.
  package var isConfirming = false
  /// A token that stands at no entry, and the claim of the present that goes with it.
  package var floating: LogToken?
  package var carried: LogClaim?
  /// It does not continue from the token that was asked.
  package var isDetached = false
  /// An entry of the range in which it stands now.
  package var id: [UInt8]?

  package init() {}
}

extension LogBook {
  /// - Parameter below: the last entry below a hole with which the page begins.
  package mutating func take(
    _ page: LogPage, of ask: LogAsk, behind below: [UInt8]? = nil
  ) throws(Table.Failure) -> LogOutcome {
    var outcome = LogOutcome()
    let isNewEpoch = try take(epoch: page.epoch)
    var listed = IDSet()
    var entries: [LogEntry] = []
    for entry in page.entries where !listed.contains(entry.id) {
      listed.insert(entry.id)
      entries.append(entry)
    }
    outcome.isEmpty = entries.isEmpty
    if isOfAnotherHistory(ask.token, isNewEpoch: isNewEpoch) { outcome.isDetached = true }
    let before = (ranges, step.inserted.count, step.removed.count)
    outcome.isConfirming = isNewEpoch ? false : try listsUnverified(entries)
    var run = LogRun(request: ask.request)
    run.below = below
    for entry in entries { run.links.append(LogLink(id: entry.id, entry: entry)) }
    let isAnchored = try anchor(&run, page, ask, listed, isNewEpoch: isNewEpoch)
    if ask.token != nil, !isAnchored { outcome.isDetached = true }
    run.start = startClaim(page, ask, isEmpty: entries.isEmpty)
    run.present = presentClaim(page, ask)
    hang(page, ask, on: &run, entries)
    if run.links.isEmpty {
      try takeNothing(page, ask, run, &outcome)
      return outcome
    }
    if entries.isEmpty, !isAnchored { return outcome }
    try merge(run)
    outcome.id = run.links[0].id
    outcome.isProgress =
      step.inserted.count > before.1 || step.removed.count > before.2
      || before.0.count != ranges.count || before.0.map(\.start) != ranges.map(\.start)
    // A page of nothing with another token may lead on, but not for ever.
    return outcome
  }

  private func listsUnverified(_ entries: [LogEntry]) throws(Table.Failure) -> Bool {
    guard ranges.contains(where: \.isUnverified) else { return false }
    for entry in entries {
      if let at = try range(of: entry.id), ranges[at].isUnverified { return true }
    }
    return false
  }

  /// Whether a token names a place of a history that is no more, by an epoch that this page brings
  /// or that came while it was asked for. The server may have given the same numbers again.
  private func isOfAnotherHistory(_ token: LogToken?, isNewEpoch: Bool) -> Bool {
    guard let token, token.connection != facts.connection else { return false }
    guard let told = token.epoch, let now = facts.epoch else { return isNewEpoch }
    return told != now
  }

  /// Adds the entry at which the token stands, where the page continues from it (rules 1, 3, 7).
  private mutating func anchor(
    _ run: inout LogRun, _ page: LogPage, _ ask: LogAsk, _ listed: IDSet, isNewEpoch: Bool
  ) throws(Table.Failure) -> Bool {
    guard let id = ask.token?.id, var row = try table.row(id) else { return false }
    if listed.contains(id) { return true }
    if isOfAnotherHistory(ask.token, isNewEpoch: isNewEpoch), !isPlanted(.epochIgnored) {
      return false
    }
    if isPlanted(.tokenStandsAtEnd), let at = range(holding: row.place) {
      if case .after = ask.place, let top = try topRow(of: ranges[at]) { row = top }
    }
    if try contradicts(page, row, ask) { return false }
    switch ask.place {
    case .before:
      run.links.append(LogLink(id: row.id, entry: nil))
      return true
    case .after:
      if page.gap, !isPlanted(.gapIgnored) { return false }
      if page.startsLog, !isPlanted(.startIgnored) { return false }
      run.links.insert(LogLink(id: row.id, entry: nil), at: 0)
      return true
    case .newest, .around:
      return false
    }
  }

  /// Whether a page shows what is known to lie on the other side of where its token stands: the
  /// server has taken the token for another place, and the page is one by ids.
  private func contradicts(
    _ page: LogPage, _ row: LogRow, _ ask: LogAsk
  ) throws(Table.Failure) -> Bool {
    guard let own = range(holding: row.place) else { return false }
    for entry in page.entries {
      guard let known = try table.row(entry.id), ranges[own].holds(known.place) else { continue }
      switch ask.place {
      case .before: if known.place > row.place { return true }
      case .after: if known.place < row.place { return true }
      case .newest, .around: break
      }
    }
    return false
  }

  private func startClaim(_ page: LogPage, _ ask: LogAsk, isEmpty: Bool) -> LogClaim? {
    let claim = LogClaim(request: ask.request, connection: ask.connection)
    if isEmpty, isPlanted(.emptyIsStart), case .before = ask.place { return claim }
    guard page.startsLog else { return nil }
    if isEmpty, let token = ask.token {
      // The token of another connection may have been taken for another place.
      if case .after = ask.place { return nil }
      if token.connection != ask.connection, !isPlanted(.oldTokenStart) { return nil }
    }
    return claim
  }

  private func presentClaim(_ page: LogPage, _ ask: LogAsk) -> LogClaim? {
    let claim = LogClaim(request: ask.request, connection: ask.connection)
    switch ask.place {
    case .before(let token):
      guard token.id == nil, ask.carried != nil else { return nil }
      return isPlanted(.carriedIsNew) ? claim : ask.carried
    case .after:
      return page.present || isPlanted(.shortIsPresent) ? claim : nil
    case .newest, .around:
      return page.present ? claim : nil
    }
  }

  /// Where the tokens of a page stand (rules 2 and 4).
  private func hang(
    _ page: LogPage, _ ask: LogAsk, on run: inout LogRun, _ entries: [LogEntry]
  ) {
    func token(_ bytes: [UInt8], _ id: [UInt8]) -> LogToken {
      LogToken(bytes: bytes, id: id, connection: ask.connection, epoch: facts.epoch)
    }
    if let first = entries.first, let last = entries.last {
      run.lower = page.before.map { token($0, first.id) }
      run.upper = page.after.map { token($0, last.id) }
    } else if let id = run.links.first?.id {
      // One of an empty page takes the place of the one that it was asked with.
      switch ask.place {
      case .before: run.lower = page.before.map { token($0, id) }
      case .after: run.upper = page.after.map { token($0, id) }
      case .newest, .around: break
      }
    }
  }

  /// A page that proves nothing of any entry.
  private mutating func takeNothing(
    _ page: LogPage, _ ask: LogAsk, _ run: LogRun, _ outcome: inout LogOutcome
  ) throws(Table.Failure) {
    let isNewest: Bool
    switch ask.place {
    case .newest: isNewest = true
    case .before(let token): isNewest = token.id == nil
    case .after, .around: isNewest = false
    }
    if isNewest, run.start != nil, let present = run.present {
      try takeEmptyLog(present)
      emptyEnd = page.after
      outcome.isProgress = true
      return
    }
    guard let before = page.before, run.present != nil || isNewest else { return }
    outcome.floating = LogToken(
      bytes: before, id: nil, connection: ask.connection, epoch: facts.epoch)
    outcome.carried = run.present
  }

  /// There is nothing in the log; what came since the request stands apart.
  private mutating func takeEmptyLog(_ claim: LogClaim) throws(Table.Failure) {
    facts.empty = claim
    let all = ranges
    ranges = []
    var later: [LogRow] = []
    var byTime: [LogRow] = []
    for range in all {
      let rows = try table.rows(from: range.low, through: range.high)
      for row in rows {
        if row.stored < claim.request {
          try drop(row)
        } else if range.isByTime {
          byTime.append(row)
        } else {
          later.append(row)
        }
      }
    }
    for row in later + byTime { try table.remove(row.id) }
    try insertDetached(later)
    try putByTime(byTime)
  }

  // MARK: Epochs

  /// Another epoch makes all that is claimed unverified (rule 26).
  private mutating func take(epoch: [UInt8]?) throws(Table.Failure) -> Bool {
    guard let epoch, epoch != facts.epoch else { return false }
    defer { facts.epoch = epoch }
    guard facts.epoch != nil, !isPlanted(.epochIgnored) else { return false }
    (facts.empty, emptyEnd) = (nil, nil)
    for index in ranges.indices {
      ranges[index].start = nil
      ranges[index].present = nil
      ranges[index].lower = []
      ranges[index].upper = []
      ranges[index].note = nil
      ranges[index].isUnverified = true
    }
    try touchMarked()
    return true
  }
}

extension LogPage {
  /// The log starts with it.
  var startsLog: Bool { before == nil && !isCutBelow }
}
