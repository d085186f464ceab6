/// Items as slow and obvious as can be: walk all rows, fold neighbours, hand out the keys.
///
/// It is made anew from all rows after each step. What it knows of the time before is what the
/// host has: the items with their messages, and which rows stood still.
import Base
import Timeline

/// One row of the window with what is known of its message.
struct ModelRow: Equatable {
  var number: UInt64
  var split: DrawnSplit
  var content: ItemContent
  /// It neither came nor moved since the last time.
  var isStill: Bool
}

/// One item as a host draws it.
struct ModelItem: Equatable {
  var key: UInt64
  var numbers: [UInt64]
  var marks: ItemMarks
  var gapUs: Int64
  var bits: UInt64
  var day: Int32?
}

struct ItemModel {
  var gapUs: Int64 = 0
  /// The oldest first.
  var items: [ModelItem] = []
  var opened: Set<UInt64> = []
  private var folds: [UInt64: UInt32] = [:]
  private var lastKey: UInt64 = 0

  mutating func rebuild(_ rows: [ModelRow], line: Int?) {
    let firm = Set(
      rows.filter { $0.isStill && folds[$0.number] == $0.content.fold }.map(\.number))
    opened = opened.filter(firm.contains)
    let stretches = stretches(rows, line: line)
    opened = Set(
      stretches.flatMap { stretch -> [UInt64] in
        let numbers = rows[stretch].map(\.number)
        let folds = rows[stretch.lowerBound].content.fold != 0
        return folds && numbers.contains(where: opened.contains) ? numbers : []
      })
    var parts: [Range<Int>] = []
    var wholes: [Range<Int>] = []
    for stretch in stretches {
      defer { while wholes.count < parts.count { wholes.append(stretch) } }
      if opened.contains(rows[stretch.lowerBound].number) {
        parts += stretch.map { $0..<$0 + 1 }
      } else {
        parts.append(stretch)
      }
    }
    let keys = keys(parts.map { rows[$0].map(\.number) }, firm: firm)
    items = parts.indices.map { index in
      look(rows, parts[index], in: wholes[index], key: keys[index], line: line)
    }
    folds = [:]
    for row in rows { folds[row.number] = row.content.fold }
  }

  /// Rows that fold together.
  private func stretches(_ rows: [ModelRow], line: Int?) -> [Range<Int>] {
    var found: [Range<Int>] = []
    for row in rows.indices {
      let joins =
        row > 0 && rows[row].content.fold != 0 && row != line && rows[row].split == .none
        && rows[row].content.fold == rows[row - 1].content.fold && !isNewDay(rows, row)
      if joins, let last = found.popLast() {
        found.append(last.lowerBound..<row + 1)
      } else {
        found.append(row..<row + 1)
      }
    }
    return found
  }

  private func isNewDay(_ rows: [ModelRow], _ row: Int) -> Bool {
    guard let day = rows[row].content.day else { return false }
    if row == 0 { return true }
    return rows[row - 1].content.day.map { $0 != day } ?? false
  }

  /// The key of each item, by the two rules of `ItemList`.
  private mutating func keys(_ parts: [[UInt64]], firm: Set<UInt64>) -> [UInt64] {
    var claims: [[(isFirm: Bool, old: Int)]] = parts.map { _ in [] }
    var places: [UInt64: Int] = [:]
    for (place, numbers) in parts.enumerated() {
      for number in numbers { places[number] = place }
    }
    for (old, item) in items.enumerated() {
      let kept = item.numbers.first { firm.contains($0) }
      let there = item.numbers.first { places[$0] != nil }
      guard let number = kept ?? there, let part = places[number] else { continue }
      claims[part].append((kept != nil, old))
    }
    return claims.map { claims in
      let best = claims.first(where: \.isFirm) ?? claims.first
      if let best { return items[best.old].key }
      lastKey += 1
      return lastKey
    }
  }

  private func look(
    _ rows: [ModelRow], _ part: Range<Int>, in stretch: Range<Int>, key: UInt64, line: Int?
  ) -> ModelItem {
    let (first, last) = (part.lowerBound, part.upperBound - 1)
    var marks = ItemMarks()
    if part.count > 1 { marks.insert(.group) }
    if part.count == 1, stretch.count > 1 {
      marks.insert(.opened)
      if first == stretch.lowerBound { marks.insert(.groupFirst) }
      if last == stretch.upperBound - 1 { marks.insert(.groupLast) }
    }
    if isNewDay(rows, first) { marks.insert(.newDay) }
    if gap(rows, first) > 0 { marks.insert(.timeGap) }
    if rows[first].split != .none { marks.insert(.splitBefore) }
    if rows[first].split == .healing { marks.insert(.splitHealing) }
    if first == line { marks.insert(.unreadBefore) }
    if first == 0 || endsRun(rows, first, line) { marks.insert(.runFirst) }
    if last == rows.count - 1 || endsRun(rows, last + 1, line) { marks.insert(.runLast) }
    return ModelItem(
      key: key, numbers: rows[part].map(\.number), marks: marks, gapUs: gap(rows, first),
      bits: rows[first].content.bits, day: rows[first].content.day)
  }

  private func gap(_ rows: [ModelRow], _ row: Int) -> Int64 {
    guard gapUs > 0, row > 0, let time = rows[row].content.timeUs,
      let before = rows[row - 1].content.timeUs, time - before > gapUs
    else { return 0 }
    return time - before
  }

  private func endsRun(_ rows: [ModelRow], _ row: Int, _ line: Int?) -> Bool {
    let (a, b) = (rows[row - 1].content, rows[row].content)
    return a.sender != b.sender || a.fold != b.fold || a.isEvent != b.isEvent
      || rows[row].split != .none || row == line || isNewDay(rows, row) || gap(rows, row) > 0
  }
}

/// What a host has: items by steps, read anew only where a step says so.
struct ItemReplay {
  /// In the order of the list.
  var items: [ModelItem] = []

  /// What does not fit, or nil. `next` are the items as they are now.
  mutating func apply(_ steps: [DiffOp], reading next: [ModelItem]) -> String? {
    var held: [ModelItem?] = items
    var keys: [UInt64?] = items.map(\.key)
    for step in steps {
      guard step.count > 0, step.row >= 0 else { return "an empty step" }
      switch step.kind {
      case .insert:
        guard step.row <= held.count else { return "an insert outside" }
        held.insert(contentsOf: [ModelItem?](repeating: nil, count: step.count), at: step.row)
        keys.insert(contentsOf: [UInt64?](repeating: nil, count: step.count), at: step.row)
      case .remove:
        guard step.row + step.count <= held.count else { return "a remove outside" }
        held.removeSubrange(step.row..<step.row + step.count)
        keys.removeSubrange(step.row..<step.row + step.count)
      case .move:
        guard step.count == 1, step.from != step.row, held.indices.contains(step.from),
          step.row < held.count
        else { return "a move outside" }
        held.insert(held.remove(at: step.from), at: step.row)
        keys.insert(keys.remove(at: step.from), at: step.row)
      case .update:
        guard step.row + step.count <= held.count else { return "an update outside" }
        // An item keeps its key when it is drawn anew.
        for row in step.row..<step.row + step.count { held[row] = nil }
      }
    }
    guard held.count == next.count else { return "\(held.count) items, not \(next.count)" }
    let old = Set(items.map(\.key))
    for (index, item) in next.enumerated() {
      if let kept = held[index], kept != item {
        return "item \(index) was \(kept), is \(item), and no step says so"
      }
      if let key = keys[index], key != item.key { return "item \(index) has another key" }
      if keys[index] == nil, old.contains(item.key) { return "item \(index) came twice" }
    }
    items = next
    return nil
  }
}
