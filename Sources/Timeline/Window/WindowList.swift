/// The rows of one window: strictly ordered, each once, with splits between them.
///
/// Items are the visible rows whose position is loaded. Between two neighbours lies
/// a split unless everything between them is loaded and proven whole. A change costs
/// what it touches (times a binary search), not what the window holds: rows live in
/// slots that never move, their order is a list of slot numbers, and two tables find
/// a slot by number and by id. What comes out of `apply` are the very steps that were
/// made, so replaying them gives this list.
internal import Base

package struct WindowList: Sendable {
  package struct Item: Equatable, Sendable {
    package var number: UInt64
    package var position: Position
    package var revision: UInt64
    /// Messages may be missing, or are not loaded, between this row and the one
    /// before it. Never on the first row.
    package var splitBefore: Bool
    /// What of that is drawn: one that will heal is held back for a while.
    package var drawnSplit = DrawnSplit.none
  }

  struct Slot: Sendable {
    var item: Item
    var isNew = true
    var isGone = false
    /// Whether a split lies before it is to be looked at.
    var isDoubtful = false
  }

  package let rowsMax: Int
  /// What the screen has loaded.
  package internal(set) var loaded = SpanSet()
  /// What is proven whole.
  package internal(set) var spans = SpanSet()
  /// Where both hold: neighbours in one range of it have no split between them.
  var trusted = SpanSet()
  /// What is under way to settle splits.
  package internal(set) var healing = Healing()
  /// Splits that are not drawn yet, by the number of the row behind them: until when.
  var held: [UInt64: Int64] = [:]
  /// The header's checksum of the row numbers.
  package internal(set) var checksum: UInt64 = 0
  /// Counts the changes that changed rows.
  package internal(set) var version: UInt64 = 0
  /// Comparisons and rows touched so far: the cost that tests hold to the change.
  package internal(set) var work = 0

  var slots: [Slot] = []
  var free: [UInt32] = []
  /// Slots in the order of their positions.
  var order: [UInt32] = []
  var numbers = SlotTable()
  var ids = SlotTable()

  package init(rowsMax: Int) {
    self.rowsMax = Swift.max(1, rowsMax)
  }
}

// MARK: Reading

extension WindowList {
  package var count: Int { order.count }
  package var isEmpty: Bool { order.isEmpty }
  package var first: Item? { self[0] }
  package var last: Item? { self[order.count - 1] }

  /// The item of a row, nil beyond the ends.
  package subscript(row: Int) -> Item? {
    order.indices.contains(row) ? slots[Int(order[row])].item : nil
  }

  /// Where a row stands, nil beyond the ends.
  package func position(ofRow row: Int) -> Position? {
    order.indices.contains(row) ? slots[Int(order[row])].item.position : nil
  }

  /// The number of a row, 0 beyond the ends.
  func number(ofRow row: Int) -> UInt64 {
    order.indices.contains(row) ? slots[Int(order[row])].item.number : 0
  }

  /// The items of the rows that exist among `rows`.
  package func items(_ rows: Range<Int>) -> [Item] {
    rows.clamped(to: 0..<order.count).map { slots[Int(order[$0])].item }
  }

  package func row(ofNumber number: UInt64) -> Int? {
    slot(ofNumber: number).map(row)
  }

  package func row(ofID id: [UInt8]) -> Int? {
    slot(ofID: id).map(row)
  }

  /// The first row at or above a position; the row count for none.
  package func row(from position: Position) -> Int {
    search(position).row
  }

  /// What the list holds in memory, with 32 bytes of the allocator for each id.
  package var memoryBytes: Int {
    let cells = order.capacity + free.capacity + numbers.cells.capacity + ids.cells.capacity
    return slots.capacity * MemoryLayout<Slot>.stride + cells * MemoryLayout<UInt32>.stride
      + slots.reduce(0) { $0 + $1.item.position.id.capacity + 32 }
  }

  /// How many rows have a split before them.
  package var splitCount: Int {
    order.reduce(0) { $0 + (slots[Int($1)].item.splitBefore ? 1 : 0) }
  }

  /// When the first split that is held back is to be drawn, if it is still there.
  package var heldUntilMs: Int64? { held.values.min() }

  /// What stays loaded where only `rows` are kept.
  ///
  /// An end that is kept stays as open as it was: a list that followed the present
  /// goes on following it if its last row stays.
  package func loaded(keeping rows: Range<Int>) -> SpanSet {
    let rows = rows.clamped(to: 0..<order.count)
    var kept = loaded
    guard let low = self[rows.lowerBound], let high = self[rows.upperBound - 1], !rows.isEmpty
    else { return order.isEmpty ? kept : SpanSet() }
    if rows.lowerBound > 0 { kept.remove(.min, low.position) }
    if rows.upperBound < order.count { kept.remove(high.position.successor, .max) }
    return kept
  }

  /// The rows that stay where at most `rowsMax` may: those around `focus`, or the
  /// newest ones.
  package func rowsKept(around focus: Position?) -> Range<Int> {
    guard order.count > rowsMax else { return 0..<order.count }
    let center = focus.map { row(from: $0) } ?? order.count
    let low = Swift.max(0, Swift.min(center - rowsMax / 2, order.count - rowsMax))
    return low..<low + rowsMax
  }

  /// Where the row with a number stands.
  package func position(ofNumber number: UInt64) -> Position? {
    slot(ofNumber: number).map { slots[$0].item.position }
  }

  func slot(ofNumber number: UInt64) -> Int? {
    numbers.find(checksumTerm(0, number: number)) { slots[$0].item.number == number }
  }

  func slot(ofID id: [UInt8]) -> Int? {
    ids.find(SlotTable.hash(id)) { slots[$0].item.position.id == id }
  }

  func row(_ slot: Int) -> Int {
    search(slots[slot].item.position).row
  }

  /// The first row at or above `position`, and the comparisons it took.
  ///
  /// It looks from the newest end in growing strides, so what belongs there, as live
  /// messages do, is found as fast in a long list as in a short one.
  func search(_ position: Position) -> (row: Int, steps: Int) {
    var high = order.count
    var stride = 1
    var steps = 1
    while high > 0, slots[Int(order[Swift.max(0, high - stride)])].item.position >= position {
      high = Swift.max(0, high - stride)
      stride *= 2
      steps += 1
    }
    // Everything from `high` on is at or above; the row at the stride below it is not.
    var low = Swift.min(high, Swift.max(0, high - stride) + 1)
    while low < high {
      let middle = (low + high) / 2
      if slots[Int(order[middle])].item.position < position {
        low = middle + 1
      } else {
        high = middle
      }
      steps += 1
    }
    return (low, steps)
  }
}
