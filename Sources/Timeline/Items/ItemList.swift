/// The items of one window: what a person sees, one message or a group that folds together.
///
/// It follows the window's steps in two phases. `take` brings rows in and out, and knows which
/// rows have to be read; `merge` gets those and makes the steps from the items that the
/// host has to those that are there now. Between the two a row that went is a *ghost*: it has no
/// place among the rows any more, but still holds the place of the item that began with it. So
/// old and new order are one order, and each step is a place in it.
///
/// Rules protected:
/// - Neighbours with one fold value are one fold, unless a drawn split, another day or the
///   unread line lies between. A fold of two or more is a group. It is one item, or, where one
///   of its messages was opened, each message is one.
/// - The key of an item goes to the item that has its oldest message that is still there, stands
///   where it stood and folds as before; where there is none, to that of its oldest message that
///   is still there. Of several keys that come to one item the first kind goes before the other,
///   then the oldest item's. Who gets none gets a new one, and no key is given out twice.
package import Base

package struct ItemList: Sendable {
  /// One row, under the number of its node.
  struct Entry: Sendable {
    var number: UInt64 = 0
    /// Of the item that begins here, where one does.
    var key: UInt64 = 0
    var timeUs: Int64 = 0
    var gapUs: Int64 = 0
    var bits: UInt64 = 0
    var day: Int32 = 0
    var sender: UInt32 = 0
    var fold: UInt32 = 0
    /// Rows of the item that begins here, and what is drawn of it.
    var rows: UInt32 = 0
    var marks = ItemMarks()
    /// Of a ghost: the node that stands for its message now; of that one: the ghost. 0 for none.
    var twin: UInt32 = 0
    var split = DrawnSplit.none
    var isUsed = false
    var isGhost = false
    /// It was not there at the last merge.
    var isFresh = false
    var isEvent = false
    var hasTime = false
    var isLine = false
    /// The first one of a fold.
    var isFoldStart = false
    /// Its group is open.
    var isOpened = false
    /// An item of the host's list begins here.
    var isItem = false
    /// It has to be read.
    var isWanted = false
    var isTouched = false
    var isChanged = false
    /// A merge looks at it.
    var isNear = false
  }

  package let isReversed: Bool
  /// More time than this between two rows is drawn; 0 for none.
  let gapUs: Int64
  /// The header's checksum of the keys, in the order of the list.
  package internal(set) var checksum: UInt64 = 0
  /// Counts the merges that made steps.
  package internal(set) var version: UInt64 = 0
  /// Rows came or went since the last merge.
  package internal(set) var isBehind = false
  /// Counts what was taken, so that who reads rows in between knows that they are the last ones.
  package internal(set) var taken: UInt64 = 0

  var tree = ItemTree()
  var entries = [Entry()]
  var senderTable = SenderTable()
  /// Nodes by the keys of their items.
  var holders: [UInt64: UInt32] = [:]
  var lastKey: UInt64 = 0
  /// Each once, by the flag of its entry.
  var wanted: [UInt32] = []
  var touched: [UInt32] = []
  var ghosts: [UInt32] = []
  var line: UInt32 = 0
  var touches = 0
  #if DEBUG
    package var planted: ItemFault?
  #endif

  package init(isReversed: Bool = false, gapUs: Int64 = 0) {
    self.isReversed = isReversed
    self.gapUs = gapUs
  }

  /// Links followed and rows looked at so far: the cost that tests hold to the change.
  package var work: Int { tree.visits + touches }

  /// What it holds in memory beside the senders' ids.
  package var memoryBytes: Int {
    entries.capacity * MemoryLayout<Entry>.stride + tree.memoryBytes
      + holders.capacity * 2 * MemoryLayout<UInt64>.stride
  }
}

// MARK: Reading

extension ItemList {
  package var count: Int { tree.total[.items] }
  package var rowCount: Int { tree.total[.rows] }

  /// From a place in the list to one from the oldest end, or back.
  func turned(_ index: Int) -> Int { isReversed ? count - 1 - index : index }

  /// Nil beyond the ends.
  package mutating func item(at index: Int) -> Item? {
    guard index >= 0, index < count else { return nil }
    let node = tree.node(.items, at: turned(index))
    let entry = entries[Int(node)]
    let before = tree.before(node)
    var item = Item(
      key: entry.key, firstRow: before[.rows], rowCount: Int(entry.rows), marks: entry.marks,
      number: entry.number, bits: entry.bits, day: entry.hasTime ? entry.day : nil,
      gapUs: entry.gapUs, place: 0, groupCount: Int(entry.rows),
      splits: before[.splits] + tree.weights(of: node)[.splits])
    if entry.marks.contains(.opened) {
      let rows = foldRows(of: node)
      item.groupCount = rows.count
      item.place = item.firstRow - rows.lowerBound
      if isReversed { item.place = rows.count - 1 - item.place }
    }
    return item
  }

  /// The item of a row, and the place of the row inside of it.
  package mutating func find(row: Int) -> (item: Int, place: Int)? {
    let node = tree.node(.rows, at: row)
    guard node != 0 else { return nil }
    let index = tree.before(node)[.items] + tree.weights(of: node)[.items] - 1
    let start = tree.node(.items, at: index)
    guard start != 0 else { return nil }
    let place = row - tree.before(start)[.rows]
    return (turned(index), isReversed ? Int(entries[Int(start)].rows) - 1 - place : place)
  }

  package mutating func index(ofKey key: UInt64) -> Int? {
    guard let node = holders[key] else { return nil }
    return turned(tree.before(node)[.items])
  }

  /// The row of one message of an item, in the order of the list; nil beyond the ends.
  package mutating func row(ofItem index: Int, place: Int) -> Int? {
    guard let item = item(at: index), place >= 0, place < item.rowCount else { return nil }
    return item.firstRow + (isReversed ? item.rowCount - 1 - place : place)
  }

  /// What the host gave for a row.
  package mutating func bits(row: Int) -> UInt64? {
    let node = tree.node(.rows, at: row)
    return node == 0 ? nil : entries[Int(node)].bits
  }

  // MARK: Splits

  /// How many ranges end at a split; with what lies behind the newest split, unless that goes on
  /// to the present.
  package func rangeCount(reachesPresent: Bool) -> Int {
    if count == 0 { return 0 }
    return tree.total[.splits] + (reachesPresent ? 0 : 1)
  }

  /// The items of a range; nil beyond the ends.
  package mutating func range(at index: Int, reachesPresent: Bool) -> Range<Int>? {
    let ranges = rangeCount(reachesPresent: reachesPresent)
    guard index >= 0, index < ranges else { return nil }
    let range = isReversed ? ranges - 1 - index : index
    let low = range == 0 ? 0 : tree.before(tree.node(.splits, at: range - 1))[.items]
    let end = tree.node(.splits, at: range)
    let high = end == 0 ? count : tree.before(end)[.items]
    return isReversed ? count - high..<count - low : low..<high
  }

  /// The range in which an item lies; nil where it lies in none, but goes on to the present.
  package func range(of item: Item, reachesPresent: Bool) -> Int? {
    let ranges = rangeCount(reachesPresent: reachesPresent)
    guard item.splits < ranges else { return nil }
    return isReversed ? ranges - 1 - item.splits : item.splits
  }

  // MARK: Groups

  /// Opens or closes the group of an item; the next merge shows it. False where it is no group, or
  /// already is as it shall be.
  package mutating func setOpen(_ index: Int, _ isOpen: Bool) -> Bool {
    guard index >= 0, index < count else { return false }
    let node = tree.node(.items, at: turned(index))
    let rows = foldRows(of: node)
    guard rows.count > 1, entries[Int(node)].isOpened != isOpen else { return false }
    for row in rows {
      let node = tree.node(.rows, at: row)
      entries[Int(node)].isOpened = isOpen
      touch(node)
    }
    return true
  }

  /// The rows that fold together with one.
  mutating func foldRows(of node: UInt32) -> Range<Int> {
    let index = tree.before(node)[.folds] + tree.weights(of: node)[.folds] - 1
    let first = tree.node(.folds, at: index)
    let next = tree.node(.folds, at: index + 1)
    if first == 0 { return 0..<0 }
    return tree.before(first)[.rows]..<(next == 0 ? rowCount : tree.before(next)[.rows])
  }
}

// MARK: Rows that come and go

extension ItemList {
  /// Takes the steps of the window. What they bring is shown by the next merge.
  package mutating func take(_ steps: [DiffOp]) {
    if steps.isEmpty { return }
    isBehind = true
    taken &+= 1
    for step in steps {
      switch step.kind {
      case .insert:
        // One after another before the row that stands there.
        let next = tree.node(.rows, at: step.row)
        for _ in 0..<step.count { want(enter(Entry(), before: next)) }
      case .remove:
        for _ in 0..<step.count { leave(tree.node(.rows, at: step.row)) }
      case .update:
        for row in step.row..<step.row + step.count { want(tree.node(.rows, at: row)) }
      case .move:
        let node = tree.node(.rows, at: step.from)
        if node == 0 { continue }
        let copy = copy(of: node)
        let ghost = entries[Int(node)].isFresh ? entries[Int(node)].twin : node
        leave(node)
        let heir = enter(copy, before: tree.node(.rows, at: step.row))
        pair(ghost, heir)
        want(heir)
      }
    }
  }

  /// The rows that have to be read for the next merge, the oldest first.
  package mutating func rowsWanted() -> [Int] {
    var rows: [(row: Int, node: UInt32)] = []
    for node in wanted where entries[Int(node)].isUsed && !entries[Int(node)].isGhost {
      rows.append((tree.before(node)[.rows], node))
    }
    rows.order { $0.row < $1.row }
    for node in wanted { entries[Int(node)].isWanted = false }
    wanted = rows.map(\.node)
    for node in wanted { entries[Int(node)].isWanted = true }
    return rows.map(\.row)
  }

  /// A ghost and the node that stands for its message now.
  mutating func pair(_ ghost: UInt32, _ heir: UInt32) {
    if ghost == 0 { return }
    entries[Int(ghost)].twin = heir
    entries[Int(heir)].twin = ghost
  }

  /// What is known of a message, for another node of it.
  mutating func copy(of node: UInt32) -> Entry {
    let old = entries[Int(node)]
    var copy = Entry()
    copy.number = old.number
    copy.timeUs = old.timeUs
    copy.hasTime = old.hasTime
    copy.day = old.day
    copy.bits = old.bits
    copy.sender = old.sender
    copy.fold = old.fold
    copy.isEvent = old.isEvent
    senderTable.retain(old.sender)
    return copy
  }

  /// A new node, at its place among the rows.
  mutating func enter(_ entry: Entry, before next: UInt32) -> UInt32 {
    let node = tree.make()
    while entries.count < tree.capacity { entries.append(Entry()) }
    var entry = entry
    entry.isUsed = true
    entry.isFresh = true
    // Who had the node before may still stand in these lists.
    entry.isWanted = entries[Int(node)].isWanted
    entry.isTouched = entries[Int(node)].isTouched
    entries[Int(node)] = entry
    tree.insert(node, before: next, weights(of: entry))
    touch(node)
    return node
  }

  /// A row goes. What the host has seen of it stays as a ghost.
  mutating func leave(_ node: UInt32) {
    if node == 0 { return }
    if entries[Int(node)].isFresh {
      let ghost = entries[Int(node)].twin
      if ghost != 0 { entries[Int(ghost)].twin = 0 }
      release(node)
      return
    }
    entries[Int(node)].isGhost = true
    ghosts.append(node)
    sync(node)
    touch(node)
  }

  mutating func release(_ node: UInt32) {
    senderTable.release(entries[Int(node)].sender)
    tree.remove(node)
    var entry = Entry()
    entry.isWanted = entries[Int(node)].isWanted
    entry.isTouched = entries[Int(node)].isTouched
    entries[Int(node)] = entry
  }

  mutating func want(_ node: UInt32) {
    if node == 0 { return }
    entries[Int(node)].isChanged = true
    touch(node)
    if entries[Int(node)].isWanted { return }
    entries[Int(node)].isWanted = true
    wanted.append(node)
  }

  mutating func touch(_ node: UInt32) {
    touches += 1
    if entries[Int(node)].isTouched { return }
    entries[Int(node)].isTouched = true
    touched.append(node)
  }

  /// The weights in the tree are those of the entry.
  mutating func sync(_ node: UInt32) {
    tree.set(node, weights(of: entries[Int(node)]))
  }

  private func weights(of entry: Entry) -> ItemWeights {
    let isLive = !entry.isGhost
    return ItemWeights(
      rows: isLive ? 1 : 0, items: entry.isItem ? 1 : 0,
      folds: isLive && entry.isFoldStart ? 1 : 0,
      splits: isLive && entry.split != .none ? 1 : 0)
  }
}
