/// What a change of a window costs, counted; and the few cases worth naming.
import Base
import Testing
import Timeline

@Suite struct WindowCostTests {
  private func key(_ index: Int, revision: UInt64 = 1) -> RowKey {
    let id = Array("message-\(index)-with-an-id-as-long-as-a-uuid".utf8.prefix(36))
    return RowKey(
      number: UInt64(index + 1), position: Position(time: Int64(index) * 10, id: id),
      revision: revision)
  }

  /// A window that holds everything and follows the present.
  private func window(_ count: Int, rowsMax: Int? = nil) -> WindowList {
    var list = WindowList(rowsMax: rowsMax ?? count * 2)
    _ = list.apply(
      WindowChange(
        upserted: (0..<count).map { key($0) }, loaded: SpanSet().inserting(.min, high: .max),
        spans: SpanSet().inserting(.min, high: .before(timestampGroup: Int64(count) * 10))))
    return list
  }

  /// The work and the steps of a change.
  private func cost(_ list: WindowList, _ change: WindowChange) -> (work: Int, ops: [DiffOp]) {
    var list = list
    let before = list.work
    let ops = list.apply(change)
    return (list.work - before, ops)
  }

  private func live(_ count: Int, isProven: Bool) -> WindowChange {
    var change = WindowChange(upserted: [key(count)])
    if isProven {
      change.spans = SpanSet().inserting(
        .min, high: .before(timestampGroup: Int64(count) * 10 + 10))
    }
    return change
  }

  @Test(arguments: [true, false])
  func aLiveMessageCostsTheSameInAnyWindow(_ isProven: Bool) {
    let small = cost(window(1_000), live(1_000, isProven: isProven))
    let large = cost(window(100_000), live(100_000, isProven: isProven))
    #expect(small.work == large.work)
    #expect(small.work < 40)
    #expect(large.ops == [DiffOp(.insert, row: 100_000)])
  }

  @Test func aLiveMessageInAFullWindowIsThreeStepsAtMost() {
    let full = window(5_000, rowsMax: 5_000)
    let (_, ops) = cost(full, live(5_000, isProven: true))
    #expect(ops == [DiffOp(.insert, row: 5_000), DiffOp(.remove, row: 0)])
    // The second row had a split before it; as the first row it has none.
    var gap = full
    var spans = gap.spans
    spans.remove(at(5, ""), at(6, ""))
    let made = gap.apply(WindowChange(spans: spans))
    #expect(made == [DiffOp(.update, row: 1)])
    let third = cost(gap, live(5_000, isProven: false)).ops
    #expect(
      third == [DiffOp(.insert, row: 5_000), DiffOp(.remove, row: 0), DiffOp(.update, row: 0)])
  }

  @Test func aChangeInTheMiddleCostsTheSearchOnly() {
    func work(_ count: Int) -> Int {
      let late = RowKey(
        number: 900_000, position: at(Int64(count) * 5 + 1, "late"), revision: 9)
      return cost(window(count), WindowChange(upserted: [late])).work
    }
    let (small, large) = (work(1_000), work(100_000))
    // A hundred times the rows: 7 more halvings, in each direction of each search.
    #expect(large - small <= 2 * 7 * 6)
    #expect(large < 200)
  }

  @Test func anEditAndADeletionAreOneStepEach() {
    let list = window(1_000)
    let edit = cost(list, WindowChange(upserted: [key(500, revision: 2)]))
    #expect(edit.ops == [DiffOp(.update, row: 500)])
    let deletion = cost(list, WindowChange(removed: [key(500).number]))
    #expect(deletion.ops == [DiffOp(.remove, row: 500)])
    #expect(Swift.max(edit.work, deletion.work) < 100)
  }

  @Test func aChangeThatChangesNothingIsNoStep() {
    var list = window(100)
    let version = list.version
    let again = WindowChange(
      removed: [7_777], upserted: [key(5), key(99)], loaded: list.loaded, spans: list.spans)
    #expect(list.apply(again).isEmpty)
    #expect(list.version == version)
  }

  @Test func anOlderPageIsOneStep() {
    var list = WindowList(rowsMax: 1_000)
    let newest = SpanSet().inserting(.before(timestampGroup: 500), high: .max)
    _ = list.apply(
      WindowChange(upserted: (50..<100).map { key($0) }, loaded: newest, spans: newest))
    let older = SpanSet().inserting(.before(timestampGroup: 0), high: .max)
    let ops = list.apply(
      WindowChange(upserted: (0..<50).map { key($0) }, loaded: older, spans: older))
    #expect(ops == [DiffOp(.insert, row: 0, count: 50)])
    #expect(list.splitCount == 0)
  }

  @Test func aRowThatMovesIsOneMoveAndOneUpdate() {
    var list = window(100)
    var moved = key(99, revision: 2)
    moved.position.time = 505
    let ops = list.apply(WindowChange(upserted: [moved]))
    #expect(ops == [DiffOp(.move, row: 51, from: 99), DiffOp(.update, row: 51)])
    #expect(list.row(ofNumber: moved.number) == 51)
    #expect(list.row(ofID: moved.position.id) == 51)
  }

  @Test func tenThousandRowsTakeWellUnderTwoMebibytes() {
    let list = window(10_000, rowsMax: 10_000)
    #expect(list.count == 10_000)
    #expect(list.memoryBytes < 1_800_000)
    #expect(list.memoryBytes > 10_000 * 60)
  }

  /// Thousands of lives of a few rows leave nothing behind.
  @Test func memoryDoesNotGrowWithTime() {
    var list = window(100, rowsMax: 100)
    for index in 100..<5_000 { _ = list.apply(WindowChange(upserted: [key(index)])) }
    #expect(list.count == 100)
    #expect(list.memoryBytes < 4 * window(100, rowsMax: 100).memoryBytes)
  }

  @Test func anOldRowsIDIsTakenOverByItsNewNumber() {
    var list = window(10)
    var again = key(4, revision: 5)
    again.number = 50
    let ops = list.apply(WindowChange(upserted: [again]))
    #expect(ops == [DiffOp(.remove, row: 4), DiffOp(.insert, row: 4)])
    #expect(list.row(ofNumber: 50) == 4)
    #expect(list.row(ofNumber: key(4).number) == nil)
  }

  @Test func theChecksumIsTheHeaders() {
    // mix(0, 1) and mix(1, 2), by the finalizer of SplitMix64.
    var first = Random(seed: 1 &- 0x9E37_79B9_7F4A_7C15)
    var second = Random(seed: 2)
    #expect(windowChecksum([1, 2]) == first.next() &+ second.next())
    #expect(windowChecksum([]) == 0)
    #expect(windowChecksum([1, 2]) != windowChecksum([2, 1]))
  }
}

/// Pictures: a window's life as a reader of the docs sees it.
@Suite struct WindowPictureTests {
  private func key(_ index: Int) -> RowKey {
    let letter = String(UnicodeScalar(UInt8(0x60 + index)))
    return RowKey(number: UInt64(index), position: at(Int64(index), letter), revision: 1)
  }

  private func range(_ low: Int, _ high: Int) -> SpanSet {
    SpanSet().inserting(
      .before(timestampGroup: Int64(low)), high: .before(timestampGroup: Int64(high)))
  }

  @Test func aSplitVanishesWhenItsGapIsFilled() {
    var list = WindowList(rowsMax: 100)
    let island = range(1, 4)
    let newest = SpanSet().inserting(.before(timestampGroup: 7), high: .max)
    _ = list.apply(
      WindowChange(
        upserted: (1...3).map(key) + (7...9).map(key), loaded: island.union(newest),
        spans: island.union(newest)))
    #expect(list.picture == "[1a 2b 3c] -- [7g 8h 9i…")
    #expect(list.items(0..<9).map(\.splitBefore) == [false, false, false, true, false, false])
    // The screen reads on past the gap: one segment, a split inside.
    let reaching = SpanSet().inserting(.before(timestampGroup: 1), high: .max)
    #expect(list.apply(WindowChange(loaded: reaching)).isEmpty)
    #expect(list.picture == "[1a 2b 3c|7g 8h 9i…")
    // A page brings what was missing.
    let ops = list.apply(WindowChange(upserted: (4...6).map(key), spans: reaching))
    #expect(list.picture == "[1a 2b 3c 4d 5e 6f 7g 8h 9i…")
    #expect(ops == [DiffOp(.insert, row: 3, count: 3), DiffOp(.update, row: 6)])
  }

  @Test func trimmingTheNewestEndStopsFollowingThePresent() {
    var list = WindowList(rowsMax: 100)
    let all = SpanSet().inserting(.min, high: .max)
    _ = list.apply(WindowChange(upserted: (1...9).map(key), loaded: all, spans: all))
    let kept = list.loaded(keeping: 2..<5)
    let ops = list.apply(WindowChange(loaded: kept))
    #expect(list.picture == "[3c 4d 5e]")
    #expect(ops == [DiffOp(.remove, row: 5, count: 4), DiffOp(.remove, row: 0, count: 2)])
    #expect(list.apply(WindowChange(upserted: [key(10)])).isEmpty)
    #expect(list.loaded(keeping: 0..<2).newest?.high == at(4, "d").successor)
    #expect(list.loaded(keeping: 1..<1).isEmpty)
  }

  @Test func tooManyRowsLeaveFarFromTheScreen() {
    var list = WindowList(rowsMax: 4)
    let all = SpanSet().inserting(.min, high: .max)
    var older = WindowChange(upserted: (1...9).map(key), loaded: all, spans: all)
    older.focus = at(2, "")
    _ = list.apply(older)
    #expect(list.picture == "[1a 2b 3c 4d]")
    #expect(list.loaded.spans.first?.reachesStart == true)
    var newest = WindowList(rowsMax: 4)
    _ = newest.apply(WindowChange(upserted: (1...9).map(key), loaded: all, spans: all))
    #expect(newest.picture == "[6f 7g 8h 9i…")
  }
}
