/// A window as slow and obvious as can be: filter, sort, compare.
///
/// It holds the rows of a store and both kinds of ranges, and makes its list anew each
/// time. Nothing in it is incremental, so it has nothing to get out of step with.
import Base
import Timeline

struct WindowModel {
  /// Every visible row of the conversation, loaded or not.
  var store: [UInt64: RowKey] = [:]
  var loaded = SpanSet()
  var spans = SpanSet()
  var rowsMax = Int.max

  struct Row: Equatable {
    var number: UInt64
    var position: Position
    var revision: UInt64
    var splitBefore: Bool
    var drawn = DrawnSplit.none

    /// What a host sees of it: of a split that is held back nothing.
    var seen: Row {
      var row = self
      row.splitBefore = drawn != .none
      return row
    }
  }

  var healing = Healing()
  var holdMs: Int64 = 0
  /// What is drawn of the split before each row, and until when it is held back.
  private var drawn: [UInt64: (split: DrawnSplit, until: Int64?)] = [:]

  var rows: [Row] {
    let keys = store.values
      .filter { key in loaded.spans.contains { $0.contains(key.position) } }
      .sorted { $0.position < $1.position }
    return keys.enumerated().map { index, key in
      Row(
        number: key.number, position: key.position, revision: key.revision,
        splitBefore: index > 0 && !isWhole(keys[index - 1].position, key.position),
        drawn: drawn[key.number]?.split ?? .none)
    }
  }

  /// Draws all splits anew.
  mutating func draw(at nowMs: Int64, holdFromMs: Int64 = .min) {
    var next: [UInt64: (split: DrawnSplit, until: Int64?)] = [:]
    let rows = rows
    for (index, row) in rows.enumerated() where row.splitBefore {
      let was = drawn[row.number]
      let place = row.position
      let isCaughtUp = isCaughtUp(rows, index)
      if healing.fills.holds(place) || isCaughtUp && row.drawn != .none {
        next[row.number] = (.healing, nil)
      } else if !isCaughtUp {
        next[row.number] = (.lasting, nil)
      } else if holdMs > 0, rows[index - 1].splitBefore, self.isCaughtUp(rows, index - 1) {
        // The first of several stands for all of them.
        next[row.number] = (.none, nil)
      } else {
        let until = was?.until ?? (holdMs > 0 ? max(nowMs, holdFromMs) : nowMs) + holdMs
        next[row.number] = nowMs < until ? (.none, until) : (.healing, nil)
      }
    }
    drawn = next
  }

  private func isCaughtUp(_ rows: [Row], _ index: Int) -> Bool {
    guard index > 0, let floor = healing.floor else { return false }
    let (before, place) = (rows[index - 1].position, rows[index].position)
    return !place.isPending && floor <= before && loaded.covers(before.successor, high: place)
  }

  var heldUntilMs: Int64? { drawn.values.compactMap(\.until).min() }

  private func isWhole(_ a: Position, _ b: Position) -> Bool {
    loaded.covers(a.successor, high: b) && (b.isPending || spans.covers(a.successor, high: b))
  }

  /// Where too many rows are loaded, only those around `focus` stay so.
  mutating func bound(around focus: Position?) {
    let rows = rows
    guard rows.count > rowsMax else { return }
    let center = focus.map { focus in rows.count { $0.position < focus } } ?? rows.count
    let low = max(0, min(center - rowsMax / 2, rows.count - rowsMax))
    if low > 0 { loaded.remove(.min, rows[low].position) }
    if low + rowsMax < rows.count {
      loaded.remove(rows[low + rowsMax - 1].position.successor, .max)
    }
  }
}

/// A window on one line: `[a b|c] -- [d e…`.
///
/// Brackets are what is loaded, `--` is what is not, `|` a split inside of it, `…` an
/// end that follows the present.
func picture(
  _ rows: [(position: Position, splitBefore: Bool)], loaded: SpanSet
) -> String {
  var parts: [String] = []
  for span in loaded.spans {
    var text = "["
    for (index, row) in rows.filter({ span.contains($0.position) }).enumerated() {
      if index > 0 { text += row.splitBefore ? "|" : " " }
      text += name(row.position)
    }
    parts.append(text + (span.high == .max ? "…" : "]"))
  }
  return parts.joined(separator: " -- ")
}

func name(_ position: Position) -> String {
  "\(position.time)\(String(decoding: position.id, as: UTF8.self))"
}

extension WindowModel {
  var picture: String {
    TimelineTests.picture(rows.map { ($0.position, $0.splitBefore) }, loaded: loaded)
  }
}

extension WindowList {
  var all: [Item] { items(0..<count) }

  var rows: [WindowModel.Row] {
    all.map {
      WindowModel.Row(
        number: $0.number, position: $0.position, revision: $0.revision,
        splitBefore: $0.splitBefore, drawn: $0.drawnSplit)
    }
  }

  var picture: String {
    TimelineTests.picture(all.map { ($0.position, $0.splitBefore) }, loaded: loaded)
  }
}

/// What a host does with a diff: a list of row contents, read anew where told so.
struct Replay {
  var rows: [WindowModel.Row] = []

  /// False where a step does not fit the list.
  mutating func apply(_ ops: [DiffOp], reading next: [WindowModel.Row]) -> Bool {
    let content = Dictionary(uniqueKeysWithValues: next.map { ($0.number, $0) })
    var stale: [Int?] = rows.indices.map { $0 }
    for op in ops {
      guard op.count > 0, op.row >= 0 else { return false }
      switch op.kind {
      case .insert:
        guard op.row <= stale.count else { return false }
        stale.insert(contentsOf: [Int?](repeating: nil, count: op.count), at: op.row)
      case .remove:
        guard op.row + op.count <= stale.count else { return false }
        stale.removeSubrange(op.row..<op.row + op.count)
      case .move:
        guard op.count == 1, op.from != op.row, stale.indices.contains(op.from),
          op.row < stale.count
        else { return false }
        stale.insert(stale.remove(at: op.from), at: op.row)
      case .update:
        guard op.row + op.count <= stale.count else { return false }
        for row in op.row..<op.row + op.count { stale[row] = nil }
      }
    }
    guard stale.count == next.count else { return false }
    // A row that no step told to read must still be what it was.
    rows = zip(stale, next).map { old, new in
      guard let old else { return content[new.number] ?? new }
      return rows[old]
    }
    return rows == next
  }
}
