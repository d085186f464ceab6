/// Which rows are on a screen, and since when: what a person has seen is marked read.
///
/// Rule protected: a row counts as seen where the host said that it is on the screen and it stayed
/// there for the whole time. Who scrolls past has not read, and what a sync brings nobody has seen.
internal import Base
internal import Store
internal import Timeline

struct SeenRows {
  private struct Row {
    var id: [UInt8]
    var sinceMs: Int64
    /// It was marked, and need not be again while it stays.
    var isDone = false
  }

  private var rows: [UInt64: Row] = [:]

  var isEmpty: Bool { rows.isEmpty }

  /// These are on the screen now; gives those that left it after long enough.
  mutating func show(_ items: [WindowList.Item], at nowMs: Int64, for seenMs: Int64) -> [[UInt8]] {
    var now: [UInt64: Row] = [:]
    for item in items where !item.position.isPending {
      now[item.number] =
        rows.removeValue(forKey: item.number) ?? Row(id: item.position.id, sinceMs: nowMs)
    }
    let left = due(at: nowMs, for: seenMs)
    rows = now
    return left
  }

  /// Rows that are in the list no more are not on the screen either.
  mutating func keep(_ isThere: (UInt64) -> Bool) {
    for number in Array(rows.keys) where !isThere(number) { rows[number] = nil }
  }

  /// What has been on the screen for long enough, each once.
  mutating func due(at nowMs: Int64, for seenMs: Int64) -> [[UInt8]] {
    var ids: [[UInt8]] = []
    for number in Array(rows.keys).ascending() {
      guard let row = rows[number], !row.isDone, row.sinceMs.saturating(plus: seenMs) <= nowMs
      else { continue }
      ids.append(row.id)
      rows[number]?.isDone = true
    }
    return ids
  }

  /// When the next one will have been there for long enough.
  func deadlineMs(for seenMs: Int64) -> Int64? {
    rows.values.lazy.filter { !$0.isDone }.map(\.sinceMs).min()?.saturating(plus: seenMs)
  }
}

/// Rows of all screens, on the board: a screen that scrolls does not wait for the core.
struct SeenBoard {
  /// What was seen and is to be marked.
  struct Group {
    var conversation: [UInt8]
    var ids: [[UInt8]]
  }

  private var screens: [UInt64: SeenRows] = [:]
  private var groups: [Group] = []
  /// Rows that come one by one are marked together.
  private var notBeforeMs = Int64.min

  mutating func show(
    _ items: [WindowList.Item], of window: UInt64, _ conversation: [UInt8], at nowMs: Int64,
    for seenMs: Int64
  ) {
    var rows = screens[window] ?? SeenRows()
    let left = rows.show(items, at: nowMs, for: seenMs)
    screens[window] = rows.isEmpty ? nil : rows
    if !left.isEmpty { groups.append(Group(conversation: conversation, ids: left)) }
  }

  mutating func keep(of window: UInt64, _ isThere: (UInt64) -> Bool) {
    screens[window]?.keep(isThere)
  }

  /// What is to be marked now; `conversation` names that of a window.
  mutating func take(
    at nowMs: Int64, for seenMs: Int64, conversation: (UInt64) -> [UInt8]?
  ) -> [Group] {
    guard notBeforeMs <= nowMs else { return [] }
    var found = groups
    groups = []
    for window in Array(screens.keys).ascending() {
      guard let ids = screens[window]?.due(at: nowMs, for: seenMs), !ids.isEmpty,
        let conversation = conversation(window)
      else { continue }
      found.append(Group(conversation: conversation, ids: ids))
    }
    if !found.isEmpty { notBeforeMs = nowMs.saturating(plus: seenMs / 4) }
    return found
  }

  /// These could not be marked: once more, later.
  mutating func putBack(_ group: Group, at nowMs: Int64) {
    guard groups.count < Limits.windowsMax else { return }
    groups.append(group)
    notBeforeMs = nowMs.saturating(plus: 1_000)
  }

  func deadlineMs(for seenMs: Int64) -> Int64? {
    let next = screens.values.compactMap { $0.deadlineMs(for: seenMs) }.min()
    guard let due = groups.isEmpty ? next : .min else { return nil }
    return max(due, notBeforeMs)
  }
}
