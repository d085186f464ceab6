/// Feed entries of one commit, gathered into runs of numbers and written at its
/// end, so that a page of fifty new messages is one entry.
///
/// Every change of a visible row notes itself; noting one twice changes nothing.
internal import Base

/// Runs of numbers by conversation and kind, in the order of first appearance.
struct FeedRuns {
  struct Run: Equatable {
    var cid: Int64
    var kind: ChangeKind
    var isSilent = false
    var notifies = false
    var origin = ChangeOrigin.none
    var numbers: ClosedRange<UInt64>
  }

  private struct Key: Hashable {
    var cid: Int64
    var kind: ChangeKind
    var isSilent: Bool
    var notifies: Bool
    var origin: ChangeOrigin

    func run(_ numbers: ClosedRange<UInt64>) -> Run {
      Run(
        cid: cid, kind: kind, isSilent: isSilent, notifies: notifies, origin: origin,
        numbers: numbers)
    }
  }

  /// Whether what is added is silent.
  var isSilent = false
  /// Where what is added comes from.
  var origin = ChangeOrigin.none
  /// What was done to messages; nil where no trace is kept.
  var trace: TraceNotes?
  /// Operations that changed.
  private(set) var operations: Set<UInt64> = []
  /// What came under one key: runs in the order in which they came. Mostly it is one.
  private struct Group {
    var last: ClosedRange<UInt64>
    var earlier: [ClosedRange<UInt64>] = []
  }

  private var groups = SmallDictionary<Key, Group>()

  mutating func add(
    _ kind: ChangeKind, _ cid: Int64, _ numbers: ClosedRange<UInt64>, notifies: Bool = false
  ) {
    if kind == .operations { operations.insert(numbers.lowerBound) }
    let key = Key(
      cid: cid, kind: kind, isSilent: isSilent, notifies: notifies, origin: origin)
    Self.add(numbers, to: &groups[key, default: Group(last: numbers)])
  }

  private static func add(_ numbers: ClosedRange<UInt64>, to group: inout Group) {
    // Numbers mostly come in order, so the last run is the one that grows.
    if touch(group.last, with: numbers) {
      group.last = hull(group.last, b: numbers)
    } else {
      group.earlier.append(group.last)
      group.last = numbers
    }
  }

  /// All runs, merged where they touch.
  func merged() -> [Run] {
    var result: [Run] = []
    result.reserveCapacity(groups.keys.count)
    for key in groups.keys {
      guard let group = groups.value(key) else { continue }
      if group.earlier.isEmpty {
        result.append(key.run(group.last))
        continue
      }
      let runs = (group.earlier + [group.last]).ascending()
      var last: ClosedRange<UInt64>?
      for run in runs {
        guard let open = last else {
          last = run
          continue
        }
        if Self.touch(open, with: run) {
          last = Self.hull(open, b: run)
        } else {
          result.append(key.run(open))
          last = run
        }
      }
      if let last { result.append(key.run(last)) }
    }
    return result
  }

  private static func touch(_ a: ClosedRange<UInt64>, with b: ClosedRange<UInt64>) -> Bool {
    isReached(a.lowerBound, from: b.upperBound) && isReached(b.lowerBound, from: a.upperBound)
  }

  private static func isReached(_ low: UInt64, from high: UInt64) -> Bool {
    low <= high || low - high == 1
  }

  private static func hull(
    _ a: ClosedRange<UInt64>, b: ClosedRange<UInt64>
  ) -> ClosedRange<UInt64> {
    Swift.min(a.lowerBound, b.lowerBound)...Swift.max(a.upperBound, b.upperBound)
  }
}

/// Writes the change feed, events and the refs of updates, inside of a transaction.
package struct FeedTable {
  let tx: WriteTransaction
}

extension FeedTable {
  /// Notes a change for the feed. Rows and spans note theirs by themselves; this
  /// is for what only the caller knows.
  package func change(_ kind: ChangeKind, in cid: Int64, numbers: ClosedRange<UInt64>?) {
    tx.feed.add(kind, cid, numbers ?? 0...0)
  }

  /// Operations that this transaction has changed so far, those that are gone included.
  package var changedOperations: Set<UInt64> { tx.feed.operations }

  /// Notes what a screen sees of a row that changed. Every change of a row comes by here, with its
  /// state before and after, and whether a removed one had been offered for a notification. One
  /// that is removed from the cache alone counts as before. A trace is written of the same.
  /// Inlined, it is there once for each caller.
  @inline(never)
  func noteChange(
    _ cid: Int64, number: UInt64, was before: RowState?, now after: RowState?,
    told: RowFlags = [], counts: Bool = true, trace hint: TraceHint = .none
  ) throws(StoreFailure) {
    if tx.isTraced {
      try tx.traceTable.note(cid, number: number, was: before, now: after, hint)
    }
    let notifies = !told.contains(.offered) && after?.isOffered(after: before) ?? false
    switch (before?.isVisible ?? false, after?.isVisible ?? false) {
    case (false, true): tx.feed.add(.inserted, cid, number...number, notifies: notifies)
    case (true, true): tx.feed.add(.updated, cid, number...number, notifies: notifies)
    case (true, false): tx.feed.add(.removed, cid, number...number)
    case (false, false): break
    }
    if before != nil { tx.inserted.spoil() }
    if counts { try tx.unreadTable.noteUnread(cid, was: before, now: after) }
  }

  /// Notes a row that was purged: the server has its message, and no count changes.
  func notePurged(_ cid: Int64, number: UInt64, was before: RowState) throws(StoreFailure) {
    if tx.isTraced {
      try tx.traceTable.note(cid, number: number, was: before, now: nil, .none)
    }
    if before.isVisible { tx.feed.add(.purged, cid, number...number) }
  }

  /// Notes a row that stands elsewhere in its timestamp group: no count changes by it alone.
  func noteMove(
    _ cid: Int64, number: UInt64, was before: RowState, now after: RowState
  ) throws(StoreFailure) {
    if tx.isTraced {
      try tx.traceTable.note(cid, number: number, was: before, now: after, .none)
    }
    if after.isVisible { tx.feed.add(.updated, cid, number...number) }
  }

  /// Writes the entries, and lets the oldest go beyond what is kept.
  func flushFeed() throws(StoreFailure) {
    let runs = tx.feed.merged()
    guard !runs.isEmpty else { return }
    for run in runs {
      if tx.counters.recentChanges.count >= InlineChanges.countMax { try moveChanges() }
      tx.counters.lastChange &+= 1
      tx.counters.recentChanges.append(run)
    }
    let kept = UInt64(Limits.changesKept)
    guard tx.counters.lastChange > kept else { return }
    tx.counters.trimmedChange = Swift.max(tx.counters.trimmedChange, tx.counters.lastChange - kept)
  }

  /// Moves the newest entries to their table, and trims its oldest ones.
  private func moveChanges() throws(StoreFailure) {
    try tx.connection.runNoted(
      "INSERT INTO change (last, entries) VALUES (?, ?)", tx.counters.lastChange,
      tx.counters.recentChanges.bytes)
    tx.counters.recentChanges = InlineChanges()
    if tx.counters.trimmedChange > 0 {
      try tx.connection.runNoted("DELETE FROM change WHERE last <= ?", tx.counters.trimmedChange)
    }
  }
}
