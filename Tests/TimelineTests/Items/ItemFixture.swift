/// A window and its items by hand, for tests that name a case.
import Base
import Timeline

/// Rows stand an hour apart unless a test says otherwise; their numbers are their ids.
final class ItemFixture {
  var window: WindowList
  var list: ItemList
  var contents: [UInt64: ItemContent] = [:]
  var line: Position?
  private var revision: UInt64 = 0

  /// The same, to go its own way.
  init(_ other: ItemFixture) {
    window = other.window
    list = other.list
    contents = other.contents
    line = other.line
    revision = other.revision
  }

  static let hour: Int64 = 3_600_000_000

  init(isReversed: Bool = false, gapMinutes: Int64 = 0, rowsMax: Int = 1_000_000) {
    window = WindowList(rowsMax: rowsMax)
    list = ItemList(isReversed: isReversed, gapUs: gapMinutes * 60_000_000)
  }

  func place(_ number: UInt64, time: Int64) -> Position {
    Position(time: time, id: Array("\(number)".utf8))
  }

  /// Rows with a fold value each, from a number on, a minute apart.
  func add(
    from first: UInt64 = 0, _ folds: [UInt32], sender: String = "jan", isLoadedWhole: Bool = true
  ) -> [DiffOp] {
    var change = WindowChange()
    if window.loaded.isEmpty, isLoadedWhole {
      change.loaded = SpanSet().inserting(.min, high: .max)
      change.spans = SpanSet().inserting(.min, high: .max)
    }
    for (index, fold) in folds.enumerated() {
      change.upserted.append(
        key(first + UInt64(index), fold: fold, time: Int64(first) + Int64(index), sender))
    }
    return apply(change)
  }

  func key(
    _ number: UInt64, fold: UInt32 = 0, time: Int64? = nil, _ sender: String = "jan"
  ) -> RowKey {
    let time = time ?? Int64(number)
    revision += 1
    contents[number] = ItemContent(
      timeUs: time * 60_000_000, sender: Array(sender.utf8), fold: fold, bits: number * 10)
    return RowKey(number: number + 1, position: place(number, time: time), revision: revision)
  }

  func remove(_ numbers: UInt64...) -> [DiffOp] {
    var change = WindowChange()
    change.removed = numbers.map { $0 + 1 }
    return apply(change)
  }

  /// A split stands behind each of these messages.
  func split(behind numbers: UInt64...) -> [DiffOp] {
    var spans = SpanSet().inserting(.min, high: .max)
    for number in numbers {
      let low = place(number, time: Int64(number)).successor
      spans.remove(low, .before(timestampGroup: Int64(number) + 1))
    }
    return apply(WindowChange(spans: spans))
  }

  func apply(_ change: WindowChange) -> [DiffOp] {
    list.take(window.apply(change))
    return merge()
  }

  func merge() -> [DiffOp] {
    let rows = list.rowsWanted().compactMap { row in
      window[row].map {
        ItemRow(number: $0.number, split: $0.drawnSplit, content: contents[$0.number - 1])
      }
    }
    let row = line.map { window.row(from: $0) }
    return list.merge(rows, line: row)
  }

  func setOpen(_ index: Int, _ isOpen: Bool) -> Bool { list.setOpen(index, isOpen) }

  func item(_ index: Int) -> Item? { list.item(at: index) }

  func range(_ index: Int, reachesPresent: Bool = true) -> Range<Int>? {
    list.range(at: index, reachesPresent: reachesPresent)
  }

  /// The range of each item.
  var ranges: [Int?] {
    (0..<list.count).map { index in
      item(index).flatMap { list.range(of: $0, reachesPresent: true) }
    }
  }

  func bits(_ index: Int, place: Int) -> UInt64? {
    list.row(ofItem: index, place: place).flatMap { list.bits(row: $0) }
  }

  /// The list as a reader of the docs sees it: `3 [2 1 0]` is a message and a group.
  var picture: String {
    var copy = list
    return (0..<copy.count).map { index in
      guard let item = copy.item(at: index) else { return "?" }
      let numbers = (0..<item.rowCount).map { place in
        copy.row(ofItem: index, place: place).flatMap { window[$0] }.map { "\($0.number - 1)" }
          ?? "?"
      }
      return item.marks.contains(.group) ? "[\(numbers.joined(separator: " "))]" : numbers[0]
    }.joined(separator: " ")
  }

  var keys: [UInt64] {
    var copy = list
    return (0..<copy.count).compactMap { copy.item(at: $0)?.key }
  }

  var marks: [ItemMarks] {
    var copy = list
    return (0..<copy.count).compactMap { copy.item(at: $0)?.marks }
  }

  /// The item of a message, by its id.
  func find(_ number: UInt64) -> (item: Int, place: Int)? {
    var copy = list
    return window.row(ofID: Array("\(number)".utf8)).flatMap { copy.find(row: $0) }
  }
}
