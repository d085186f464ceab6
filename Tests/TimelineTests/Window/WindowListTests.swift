/// The fast list of a window beside the slow one, through random lives.
///
/// After every step both show the same rows and splits, the steps lead from the old
/// list to the new one, and the checksum is the header's.
import Base
import Testing
import Timeline

/// A store, what is proven of it, what a screen has loaded, and both lists.
private struct World {
  var random: Random
  var model = WindowModel()
  var list: WindowList
  var replay = Replay()
  var numbers: UInt64 = 0
  var revision: UInt64 = 1
  let timestampGroups: Int64
  var trail: [String] = []
  var nowMs: Int64 = 0

  init(seed: UInt64, rowsMax: Int, timestampGroups: Int64) {
    random = Random(seed: seed)
    list = WindowList(rowsMax: rowsMax)
    model.rowsMax = rowsMax
    model.holdMs = [0, 1_000][random.below(2)]
    self.timestampGroups = timestampGroups
  }

  mutating func position() -> Position {
    at(Int64(random.below(Int(timestampGroups))), ["a", "b", "c", "d"][random.below(4)])
  }

  mutating func boundary() -> Position {
    switch random.below(8) {
    case 0: return .min
    case 1: return .max
    case 2: return position().successor
    case 3: return position()
    default: return .before(timestampGroup: Int64(random.below(Int(timestampGroups) + 1)))
    }
  }

  mutating func range() -> (Position, Position) {
    let (a, b) = (boundary(), boundary())
    return a < b ? (a, b) : (b, a)
  }

  /// Rows of the store that the list has not seen with this load.
  func keys(in ranges: [SpanSet.Span]) -> [RowKey] {
    model.store.values.filter { key in ranges.contains { $0.contains(key.position) } }
  }

  /// One step of one of the kinds of change that a poll can bring together.
  mutating func step() -> WindowChange {
    var change = WindowChange()
    for _ in 0...random.below(3) {
      switch random.below(16) {
      case 12, 13: send(&change)
      case 14, 15: settle(&change)
      case 0, 1, 2: arrive(&change)
      case 3: edit(&change)
      case 4: move(&change)
      case 5, 6: delete(&change)
      case 7, 8: load(&change)
      case 9: trim(&change)
      default: prove(&change)
      }
    }
    if random.chance(0.3) { change.focus = position() }
    nowMs += Int64(random.below(600))
    if random.chance(0.4) { heal(&change) }
    if random.chance(0.03) {
      change.isWhole = true
      change.upserted = keys(in: model.loaded.spans)
      trail.append("reload")
    }
    return change
  }

  /// A catch-up or a fill begins or ends.
  private mutating func heal(_ change: inout WindowChange) {
    if random.chance(0.6) {
      model.healing.floor = random.chance(0.5) ? boundary() : nil
    } else {
      let (low, high) = range()
      model.healing.fills = random.chance(0.5) ? SpanSet().inserting(low, high: high) : SpanSet()
    }
    change.healing = model.healing
    trail.append("heals")
  }

  private mutating func arrive(_ change: inout WindowChange) {
    for _ in 0...random.below(6) {
      let place = position()
      // An id stands once in a conversation.
      let unique = Position(time: place.time, id: place.id + Array("\(numbers)".utf8))
      numbers += 1
      revision += 1
      let key = RowKey(number: numbers, position: unique, revision: revision)
      model.store[numbers] = key
      change.upserted.append(key)
      change.removed.removeAll { $0 == numbers }
      trail.append("+\(name(unique))")
    }
  }

  /// What the user did, behind all that the server has.
  private mutating func send(_ change: inout WindowChange) {
    numbers += 1
    revision += 1
    let key = RowKey(number: numbers, position: .pending(numbers), revision: revision)
    model.store[numbers] = key
    change.upserted.append(key)
    change.removed.removeAll { $0 == numbers }
    trail.append("+pending \(numbers)")
  }

  /// The server has it: the same row, at its place.
  private mutating func settle(_ change: inout WindowChange) {
    let pending = model.store.values.filter(\.position.isPending).map(\.number).sorted()
    guard !pending.isEmpty else { return }
    let number = pending[random.below(pending.count)]
    let place = position()
    revision += 1
    let key = RowKey(
      number: number, position: Position(time: place.time, id: Array("s\(number)".utf8)),
      revision: revision)
    model.store[number] = key
    change.upserted.removeAll { $0.number == number }
    change.upserted.append(key)
    trail.append("pending \(number)>\(name(key.position))")
  }

  private mutating func any() -> UInt64? {
    let numbers = model.store.keys.sorted()
    return numbers.isEmpty ? nil : numbers[random.below(numbers.count)]
  }

  private mutating func edit(_ change: inout WindowChange) {
    guard let number = any(), var key = model.store[number] else { return }
    revision += 1
    key.revision = revision
    model.store[number] = key
    change.upserted.append(key)
    trail.append("~\(name(key.position))")
  }

  private mutating func move(_ change: inout WindowChange) {
    guard let number = any(), var key = model.store[number] else { return }
    revision += 1
    key.revision = revision
    let from = key.position
    let isRenamed = random.chance(0.3)
    key.position = Position(
      time: Int64(random.below(Int(timestampGroups))), rank: random.below(5) - 2,
      id: isRenamed ? Array("r\(revision)".utf8) : from.id)
    model.store[number] = key
    change.upserted.removeAll { $0.number == number }
    change.upserted.append(key)
    trail.append("\(name(from))>\(name(key.position))")
  }

  private mutating func delete(_ change: inout WindowChange) {
    for _ in 0...random.below(4) {
      guard let number = any(), let key = model.store.removeValue(forKey: number) else { return }
      change.upserted.removeAll { $0.number == number }
      change.removed.append(number)
      trail.append("-\(name(key.position))")
    }
  }

  private mutating func load(_ change: inout WindowChange) {
    let (low, high) = range()
    let was = model.loaded
    model.loaded.insert(low, high)
    change.loaded = model.loaded
    change.upserted += keys(in: was.difference(with: model.loaded))
    trail.append("load \(name(low)) \(name(high))")
  }

  private mutating func trim(_ change: inout WindowChange) {
    if random.chance(0.5), !list.isEmpty, change.loaded == nil {
      let low = random.below(list.count)
      model.loaded = list.loaded(keeping: low..<low + 1 + random.below(list.count - low))
    } else {
      let (low, high) = range()
      model.loaded.remove(low, high)
    }
    change.loaded = model.loaded
    trail.append("trim")
  }

  private mutating func prove(_ change: inout WindowChange) {
    let (low, high) = range()
    let isProof = random.chance(0.7)
    if isProof { model.spans.insert(low, high) } else { model.spans.remove(low, high) }
    change.spans = model.spans
    trail.append("\(isProof ? "prove" : "doubt") \(name(low)) \(name(high))")
  }

  /// Applies a change to both; says what is wrong.
  mutating func check(_ asked: WindowChange) -> String? {
    let before = list
    var change = asked
    (change.nowMs, change.holdMs) = (nowMs, model.holdMs)
    if nowMs % 3 == 0 { change.holdFromMs = nowMs + 700 }
    let ops = list.apply(change)
    model.bound(around: change.focus)
    model.draw(at: nowMs, holdFromMs: change.holdFromMs)
    let wanted = model.rows
    let pictures = "model \(model.picture)\n list \(list.picture)\n from \(before.picture)"
    if list.rows != wanted { return "rows differ\n \(pictures)\n \(ops)" }
    if list.loaded != model.loaded { return "loaded differs\n \(pictures)" }
    if list.heldUntilMs != model.heldUntilMs { return "held differs\n \(pictures)" }
    let isReplayed = replay.apply(ops, reading: wanted.map(\.seen))
    if !isReplayed { return "steps do not lead there\n \(pictures)\n \(ops)" }
    if list.checksum != windowChecksum(wanted.map(\.number)) { return "checksum\n \(pictures)" }
    let isNews = list.version != before.version
    if isNews == ops.isEmpty { return "version\n \(pictures)" }
    if ops.isEmpty, before.rows.map(\.seen) != wanted.map(\.seen) {
      return "no steps\n \(pictures)"
    }
    for row in [0, random.below(list.count), list.count - 1] {
      guard let item = list[row] else { continue }
      if list.row(ofNumber: item.number) != row { return "number \(item.number)\n \(pictures)" }
      if list.row(ofID: item.position.id) != row { return "id of \(row)\n \(pictures)" }
      if list.row(from: item.position) != row { return "place of \(row)\n \(pictures)" }
    }
    return nil
  }
}

@Suite struct WindowListTests {
  /// A pending row has no split before it where all is loaded; it moves once with its number,
  /// and where it is the newest of all it only changes.
  @Test func aPendingRowIsSettledAsOneRow() {
    var list = WindowList(rowsMax: 100)
    let spans = SpanSet().inserting(.min, high: at(3, "c").successor)
    let loaded = SpanSet().inserting(.min, high: .max)
    func key(_ number: UInt64, _ position: Position, _ revision: UInt64 = 1) -> RowKey {
      RowKey(number: number, position: position, revision: revision)
    }
    _ = list.apply(
      WindowChange(
        upserted: [
          key(1, at(1, "a")), key(2, at(3, "c")), key(3, .pending(7)), key(4, .pending(8)),
        ], loaded: loaded, spans: spans))
    #expect(list.splitCount == 0 && list.count == 4)
    // The later one is confirmed first, below the other.
    let trusted = SpanSet().inserting(.min, high: at(9, "z"))
    let moved = list.apply(WindowChange(upserted: [key(4, at(5, "e"), 2)], spans: trusted))
    #expect(moved == [DiffOp(.move, row: 2, from: 3), DiffOp(.update, row: 2)])
    #expect(list.items(0..<4).map(\.number) == [1, 2, 4, 3])
    // The last one keeps its row, so nothing moves.
    let stayed = list.apply(WindowChange(upserted: [key(3, at(6, "f"), 3)]))
    #expect(stayed == [DiffOp(.update, row: 3)])
    #expect(list.splitCount == 0)
    // An island: the split is the server's row's, and the pending one has none.
    _ = list.apply(WindowChange(upserted: [key(5, at(20, "t")), key(6, .pending(9))]))
    #expect(list.items(0..<6).map(\.splitBefore) == [false, false, false, false, true, false])
  }

  /// 192 lives of 110 steps: 21,120.
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func theFastListIsTheSlowOneAfterEveryStep(_ group: UInt64) throws {
    var largest = 0
    var splits = 0
    for life in 0..<8 as Range<UInt64> {
      let seed = group * 100 + life
      var shape = Random(seed: seed)
      let rowsMax = [3, 20, 1_000][shape.below(3)]
      var world = World(seed: seed, rowsMax: rowsMax, timestampGroups: Int64(4 + shape.below(40)))
      for step in 0..<110 {
        world.trail = []
        let change = world.step()
        let fault = world.check(change)
        try #require(
          fault == nil,
          "seed \(seed) step \(step): \(fault ?? "")\n \(world.trail.joined(separator: ", "))")
        largest = max(largest, world.list.count)
        splits += world.list.splitCount
      }
    }
    #expect(largest > 20)
    #expect(splits > 100)
  }

  /// Numbers and ids that contradict each other never break the order or the steps.
  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func contradictoryKeysBreakNothing(_ seed: UInt64) throws {
    var random = Random(seed: seed)
    var list = WindowList(rowsMax: 12)
    var replay = Replay()
    for step in 0..<150 {
      var change = WindowChange()
      for _ in 0..<random.below(6) {
        change.upserted.append(
          RowKey(
            number: UInt64(random.below(9)), position: boundary(random.below(49)),
            revision: UInt64(random.below(3))))
      }
      for _ in 0..<random.below(3) { change.removed.append(UInt64(random.below(9))) }
      if random.chance(0.3) {
        let ends = [random.below(49), random.below(49)].sorted()
        change.loaded = SpanSet().inserting(boundary(ends[0]), high: boundary(ends[1]))
      }
      change.isWhole = random.chance(0.1)
      let ops = list.apply(change)
      let rows = list.rows
      try #require(
        zip(rows, rows.dropFirst()).allSatisfy { $0.position < $1.position }, "step \(step)")
      try #require(Set(rows.map(\.number)).count == rows.count, "step \(step)")
      let isReplayed = replay.apply(ops, reading: rows)
      try #require(isReplayed, "seed \(seed) step \(step) \(list.picture)")
      try #require(list.checksum == windowChecksum(rows.map(\.number)), "step \(step)")
      for (row, item) in rows.enumerated() {
        try #require(list.row(ofNumber: item.number) == row, "seed \(seed) step \(step)")
      }
    }
  }
}
