/// What a window knows of one list of items that stands over it.
///
/// It lives beside the window's list, under the same lock, so no step of the window passes it by,
/// whoever polls the window.
internal import Base
internal import Store
internal import Timeline

struct ItemsState: Sendable {
  let number: UInt64
  var list: ItemList
  /// Where the unread line stands: before the first row from here on.
  var line: Position?
  /// Nobody has said yet where it stands, and unread rows are looked for.
  var seeksLine: Bool
  /// The oldest unread row that was read meanwhile.
  var unread: Position?
  var isPolling = false

  /// Rows were read, and this is the oldest unread one of them.
  mutating func note(unread place: Position?) {
    if seeksLine, let place { unread = min(place, unread ?? place) }
  }
}

extension WindowState {
  /// Steps of the window's list, for all that stands over it.
  mutating func applyToItems(_ steps: [DiffOp]) {
    // By index: a loop over the array itself would copy what it holds.
    for index in items.indices { items[index].list.take(steps) }
  }

  /// Before which row the unread line is drawn; nil for none.
  func lineRow(_ index: Int) -> Int? {
    guard let line = items[index].line else { return nil }
    let row = list.row(from: line)
    guard let place = list.position(ofRow: row) else { return nil }
    // Above the first row there may be others behind the line.
    return row > 0 || place == line ? row : nil
  }

  /// The line is put before the oldest unread row once the window has what it asked for, where
  /// that one is known to be the first.
  mutating func seekLine(_ index: Int) {
    guard items[index].seeksLine, !list.isEmpty else { return }
    switch waiting {
    case .nothing, .connection, .refresh: break
    default: return
    }
    guard let unread = items[index].unread else {
      items[index].seeksLine = false
      return
    }
    if list.row(from: unread) == 0, !isAtStart { return }
    items[index].line = unread
    items[index].seeksLine = false
  }
}

extension ItemContent {
  /// What is known of a row, and what folds of it by its flags.
  init(_ row: MessageRow, in page: RowPage, config: ItemsConfig) {
    let flags = row.flags
    self.init(
      timeUs: row.state == .confirmed ? row.timeUs : nil, zoneMinutes: config.zoneMinutes,
      sender: page[row.sender], fold: Self.fold(flags, config.folds),
      isEvent: flags & MessageFlags.event != 0)
  }

  private static func fold(_ flags: UInt32, _ folds: FoldKinds) -> UInt32 {
    let kinds: [(kind: FoldKinds, flag: UInt32, fold: UInt32)] = [
      (.deleted, MessageFlags.deleted, 1), (.moderated, MessageFlags.moderated, 2),
      (.events, MessageFlags.event, 3),
    ]
    for entry in kinds where folds.contains(entry.kind) && flags & entry.flag != 0 {
      return folds.contains(.mixed) ? 1 : entry.fold
    }
    return 0
  }
}

extension MessageFlags {
  static let unread: UInt32 = 1 << 1
  static let deleted: UInt32 = 1 << 3
  static let event: UInt32 = 1 << 5
}
