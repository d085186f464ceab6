/// The items of a window beside the slow ones, through random lives.
///
/// After every merge both are the same list with the same keys, the steps lead from the old list
/// to the new one, what no step told of is unchanged, and the checksum is the header's.
import Base
import Glibc
import Testing

@testable import Timeline

/// A conversation, a window on it, and its items both ways.
private struct World {
  var random: Random
  var window: WindowList
  var list: ItemList
  var model = ItemModel()
  var replay = ItemReplay()
  private var store: [UInt64: RowKey] = [:]
  private var contents: [UInt64: ItemContent] = [:]
  private var loaded = SpanSet().inserting(.min, high: .max)
  private var spans = SpanSet().inserting(.min, high: .max)
  private var numbers: UInt64 = 0
  private var revision: UInt64 = 0
  private var line: Position?
  private var lineRow: Int?
  private let times: Int
  /// So many messages are kept, with those that the window does not have.
  private let most: Int
  private let folds: Int
  /// The rows that a host knows, until they come or move; nil in the place of another one.
  private var still: [UInt64?] = []
  private var told: [UInt64: ItemContent] = [:]

  /// What is loaded stays, and no group is opened.
  private let isLong: Bool
  private var keys: [UInt64] = []

  init(seed: UInt64, rowsMax: Int, isLong: Bool = false) {
    random = Random(seed: seed)
    self.isLong = isLong
    window = WindowList(rowsMax: rowsMax)
    most = 2 * rowsMax + 40
    times = isLong ? 100_000 : [6, 40, 200][random.below(3)]
    folds = [1, 2, 3][random.below(3)]
    let gapUs: Int64 = [0, 5_400_000_000][random.below(2)]
    list = ItemList(isReversed: random.chance(0.5), gapUs: gapUs)
    model.gapUs = gapUs
  }

  // MARK: One change of the window

  mutating func change() {
    if store.count > most { forgetUnseen() }
    var change = WindowChange()
    for _ in 0...random.below(3) {
      switch random.below(20) {
      case 0...5: arrive(&change)
      case 6...8: edit(&change)
      case 9, 10: move(&change)
      case 11...13: delete(&change)
      case 14, 15:
        spans = cut(spans)
        change.spans = spans
      case 16, 17: if !isLong { change.loaded = cut(loaded) }
      default: send(&change)
      }
    }
    if let loaded = change.loaded {
      change.upserted += store.values.filter { loaded.holds($0.position) }
        .sorted { $0.number < $1.number }
    }
    if random.chance(0.3) { change.focus = place() }
    let steps = window.apply(change)
    loaded = window.loaded
    list.take(steps)
    applySteps(steps)
  }

  /// What the window has let go of goes for good, or each load would bring more than the last.
  private mutating func forgetUnseen() {
    let shown = Set(window.items(0..<window.count).map(\.number))
    store = store.filter { shown.contains($0.key) }
    contents = contents.filter { shown.contains($0.key) }
  }

  private mutating func place() -> Position {
    at(Int64(random.below(times)), ["a", "b", "c"][random.below(3)])
  }

  private mutating func content(_ position: Position) -> ItemContent {
    let fold = random.chance(0.55) ? random.below(folds) + 1 : 0
    return ItemContent(
      timeUs: position.isPending ? nil : position.time * 3_600_000_000, zoneMinutes: 90,
      sender: Array("s\(random.below(3))".utf8), fold: UInt32(fold),
      isEvent: random.chance(0.2), bits: random.next())
  }

  private mutating func put(_ number: UInt64, _ position: Position, _ change: inout WindowChange) {
    revision += 1
    let key = RowKey(number: number, position: position, revision: revision)
    store[number] = key
    var content = content(position)
    // Mostly a message folds as it did.
    if let old = contents[number], random.chance(0.6) { content.fold = old.fold }
    contents[number] = content
    change.upserted.append(key)
    change.removed.removeAll { $0 == number }
  }

  private mutating func arrive(_ change: inout WindowChange) {
    for _ in 0...random.below(5) {
      numbers += 1
      let place = place()
      put(numbers, Position(time: place.time, id: place.id + Array("\(numbers)".utf8)), &change)
    }
  }

  private mutating func send(_ change: inout WindowChange) {
    numbers += 1
    put(numbers, .pending(numbers), &change)
  }

  private mutating func any() -> RowKey? {
    window[random.below(window.count)].flatMap { store[$0.number] }
  }

  private mutating func edit(_ change: inout WindowChange) {
    guard let key = any() else { return }
    put(key.number, key.position, &change)
  }

  /// Mostly what is pending takes its place.
  private mutating func move(_ change: inout WindowChange) {
    guard let key = random.chance(0.6) ? window.last.flatMap({ store[$0.number] }) : any()
    else { return }
    let place = place()
    put(key.number, Position(time: place.time, id: Array("m\(key.number)".utf8)), &change)
  }

  private mutating func delete(_ change: inout WindowChange) {
    for _ in 0...random.below(4) {
      guard let key = any() else { return }
      store[key.number] = nil
      change.removed.append(key.number)
      change.upserted.removeAll { $0.number == key.number }
    }
  }

  /// A range goes, or comes back.
  private mutating func cut(_ old: SpanSet) -> SpanSet {
    var set = old
    var (low, high) = (place(), place())
    if high < low { swap(&low, &high) }
    if random.chance(0.5) { low = .min }
    if random.chance(0.3) { high = .max }
    if low < high {
      if random.chance(0.4) { set.remove(low, high) } else { set.insert(low, high) }
    }
    return random.chance(0.2) ? SpanSet().inserting(.min, high: .max) : set
  }

  // MARK: What a host does

  private mutating func applySteps(_ steps: [DiffOp]) {
    for step in steps {
      switch step.kind {
      case .insert:
        still.insert(contentsOf: [UInt64?](repeating: nil, count: step.count), at: step.row)
      case .remove: still.removeSubrange(step.row..<step.row + step.count)
      case .move:
        still.remove(at: step.from)
        still.insert(nil, at: step.row)
      case .update: continue
      }
    }
  }

  /// A group is opened or closed, or the unread line is set elsewhere.
  mutating func touch() {
    if !isLong, random.chance(0.3), list.count > 0, !list.isBehind {
      let index = random.below(list.count)
      let isOpen = random.chance(0.6)
      guard list.setOpen(index, isOpen), let item = list.item(at: index) else { return }
      let first = item.firstRow - (isOpen ? 0 : oldestPlace(item))
      for row in first..<first + item.groupCount {
        guard let number = window[row]?.number else { continue }
        if isOpen { model.opened.insert(number) } else { model.opened.remove(number) }
      }
    }
    if random.chance(0.1) { line = random.chance(0.3) ? nil : place() }
  }

  private func oldestPlace(_ item: Item) -> Int {
    list.isReversed ? item.groupCount - 1 - item.place : item.place
  }

  /// Both lists are brought up to the window; what does not agree, or nil. Of a long list the slow
  /// one is made now and then, and hands out keys of its own.
  mutating func merge(rebuilding: Bool = true) -> String? {
    let rows = list.rowsWanted()
    var facts: [ItemRow] = []
    for row in rows {
      guard let item = window[row] else { return "a row is wanted that is not there" }
      // Of one that stood still the content may have gone meanwhile.
      let isGone = still[row] != nil && random.chance(0.1)
      if !isGone { told[item.number] = contents[item.number] }
      facts.append(
        ItemRow(
          number: item.number, split: item.drawnSplit,
          content: isGone ? nil : contents[item.number]))
    }
    lineRow = line.map { window.row(from: $0) }
    if let row = lineRow, row >= window.count { lineRow = nil }
    let steps = list.merge(facts, line: lineRow)
    if list.isBehind { return "it is behind" }
    if isLong, let wrong = compareKeys(steps) { return wrong }
    if rebuilding {
      let rows = window.items(0..<window.count)
      dropGone(rows)
      model.rebuild(
        rows.enumerated().map { row, item in
          ModelRow(
            number: item.number, split: item.drawnSplit,
            content: told[item.number] ?? ItemContent(timeUs: nil), isStill: still[row] != nil)
        }, line: lineRow)
      if let wrong = compare(steps, rows.map(\.number)) { return wrong }
    }
    // Those that did not stand still are known from now on.
    for row in still.indices where still[row] == nil { still[row] = window[row]?.number }
    if still.count != window.count { return "the steps of the window lead elsewhere" }
    return list.senderTable.count <= window.count ? nil : "senders of no row are kept"
  }

  /// What is known of rows that are gone, once it is much.
  private mutating func dropGone(_ rows: [WindowList.Item]) {
    guard told.count > 2 * rows.count + 20 else { return }
    let there = Set(rows.map(\.number))
    told = told.filter { there.contains($0.key) }
  }

  private mutating func compare(_ steps: [DiffOp], _ known: [UInt64]) -> String? {
    var read: [ModelItem] = []
    for index in 0..<list.count {
      guard let item = list.item(at: index) else { return "no item \(index)" }
      if list.index(ofKey: item.key) != index { return "key \(item.key) is not found" }
      guard item.firstRow >= 0, item.rowCount > 0, item.firstRow + item.rowCount <= known.count
      else { return "item \(index) has rows that are not there" }
      let numbers = Array(known[item.firstRow..<item.firstRow + item.rowCount])
      if numbers.first != item.number { return "item \(index) begins elsewhere" }
      // One in eight is looked up message by message.
      for place in 0..<(random.below(8) == 0 ? item.rowCount : 0) {
        guard let row = list.row(ofItem: index, place: place),
          let found = list.find(row: row), found == (index, place)
        else { return "a row of item \(index) is not found" }
      }
      read.append(
        ModelItem(
          key: isLong ? 0 : item.key, numbers: numbers, marks: item.marks, gapUs: item.gapUs,
          bits: item.bits, day: item.day))
    }
    var expected = list.isReversed ? model.items.reversed() : model.items
    if isLong { for index in expected.indices { expected[index].key = 0 } }
    if read.count != expected.count { return "\(read.count) items, not \(expected.count)" }
    for (index, item) in read.enumerated() where item != expected[index] {
      return "item \(index) is \(item), not \(expected[index])"
    }
    if isLong { return ranges(read) }
    if list.checksum != windowChecksum(read.map(\.key)) { return "the checksum is another" }
    if let wrong = replay.apply(steps, reading: read) { return "\(wrong): \(steps)" }
    return ranges(read)
  }

  /// The keys as a host keeps them, by the steps alone.
  private mutating func compareKeys(_ steps: [DiffOp]) -> String? {
    for step in steps {
      switch step.kind {
      case .insert:
        keys.insert(contentsOf: [UInt64](repeating: 0, count: step.count), at: step.row)
      case .remove: keys.removeSubrange(step.row..<step.row + step.count)
      case .move: keys.insert(keys.remove(at: step.from), at: step.row)
      case .update: continue
      }
    }
    for index in keys.indices where keys[index] == 0 {
      guard let item = list.item(at: index) else { return "no item \(index)" }
      keys[index] = item.key
    }
    return list.checksum == windowChecksum(keys) ? nil : "the checksum is another"
  }

  mutating func fill(_ count: Int) {
    var change = WindowChange(loaded: loaded, spans: spans)
    while store.count < count { arrive(&change) }
    let steps = window.apply(change)
    list.take(steps)
    applySteps(steps)
  }

  /// The ranges between splits, and in which each item lies.
  private mutating func ranges(_ items: [ModelItem]) -> String? {
    // One in four times.
    let reaches = random.chance(0.5)
    if random.chance(0.75) { return nil }
    var expected: [Range<Int>] = []
    var low = 0
    let oldestFirst = list.isReversed ? items.reversed() : items
    for (index, item) in oldestFirst.enumerated() where item.marks.contains(.splitBefore) {
      expected.append(low..<index)
      low = index
    }
    if !reaches, !items.isEmpty { expected.append(low..<items.count) }
    if list.isReversed {
      expected = expected.reversed().map {
        items.count - $0.upperBound..<items.count - $0.lowerBound
      }
    }
    guard list.rangeCount(reachesPresent: reaches) == expected.count else { return "ranges" }
    for (index, range) in expected.enumerated()
    where list.range(at: index, reachesPresent: reaches) != range {
      return "range \(index) is not \(range)"
    }
    for index in items.indices {
      guard let item = list.item(at: index) else { return "no item \(index)" }
      let found = list.range(of: item, reachesPresent: reaches)
      if found != expected.firstIndex(where: { $0.contains(index) }) {
        return "item \(index) is said to lie in range \(found ?? -1)"
      }
    }
    return nil
  }
}

/// So many random steps are made: 10,000, or what TL_SCREEN_STEPS says.
private let stepCount =
  getenv("TL_SCREEN_STEPS").flatMap { unsafe Int(String(cString: $0)) } ?? 10_000

@Suite struct ItemListTests {
  /// A life of so many steps in a list of at most 200 rows; what went wrong, or nil.
  private func life(
    _ seed: UInt64, steps: Int, _ prepare: (inout ItemList) -> Void = { _ in }
  ) -> String? {
    // Most are short: there the edges are, and a rebuild costs less.
    let lengths = [
      5, 8, 12, 20, 16, 30, 10, 60, 6, 20, 12, 25, 8, 30, 16, 20, 5, 60, 10, 40, 12, 20, 8, 30, 200,
    ]
    let rowsMax = lengths[Int(seed / 4) % lengths.count]
    var world = World(seed: seed, rowsMax: rowsMax)
    prepare(&world.list)
    for step in 0..<steps {
      world.touch()
      for _ in 0...world.random.below(2) { world.change() }
      if let wrong = world.merge() { return "seed \(seed), step \(step): \(wrong)" }
    }
    return nil
  }

  @Test(arguments: 0..<4)
  func itemsAreThoseOfASlowRebuild(_ lane: Int) {
    for seed in 0..<UInt64(max(1, stepCount / 2_000)) {
      if let wrong = life(seed * 4 + UInt64(lane), steps: 500) {
        Issue.record("\(wrong)")
        return
      }
    }
  }

  /// In longer lists the checksum is looked at after each step, and all of it now and then.
  @Test func longListsKeepTheirChecksum() {
    var world = World(seed: 1, rowsMax: 3_000, isLong: true)
    world.fill(2_000)
    for step in 0..<max(1_000, stepCount / 50) {
      world.touch()
      world.change()
      if let wrong = world.merge(rebuilding: step % 1_000 == 999) {
        Issue.record("step \(step): \(wrong)")
        return
      }
    }
    #expect(world.window.count > 1_000)
  }

  #if DEBUG
    @Test(arguments: ItemFault.allCases)
    func aPlantedFaultIsFound(_ fault: ItemFault) {
      let found = (0..<40).contains { seed in
        life(UInt64(seed), steps: 200) { $0.planted = fault } != nil
      }
      #expect(found, "\(fault) is not found")
    }
  #endif
}
