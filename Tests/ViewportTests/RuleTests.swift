/// The rules of the viewport, one by one, as a host meets them.
import Base
import Testing

@testable import Viewport

/// A viewport whose rows have the keys 1, 2, 3 ... in order, each 10 high.
private final class Host {
  var viewport: Viewport
  var keys: [UInt64] = []

  init(_ rows: Int, _ change: (inout ViewportConfig) -> Void = { _ in }) throws {
    var config = ViewportConfig()
    config.extent = 100
    config.heightMin = 5
    change(&config)
    viewport = try Viewport(config)
    if rows > 0 { try insert(Array(1...UInt64(rows)), at: 0) }
  }

  func insert(_ new: [UInt64], at row: Int) throws {
    keys.insert(contentsOf: new, at: row)
    try update([DiffOp(.insert, row: row, count: new.count)])
  }

  func remove(_ rows: Range<Int>) throws {
    keys.removeSubrange(rows)
    try update([DiffOp(.remove, row: rows.lowerBound, count: rows.count)])
  }

  func update(_ steps: [DiffOp], layOut: Bool = true) throws {
    let keys = keys
    try viewport.update(steps, keyCount: keys.count, key: { keys[$0] }, kind: { _ in 0 })
    if layOut { try self.layOut() }
  }

  func layOut(_ height: Int64 = 10) throws {
    for _ in 0..<2 {
      let layout = viewport.layout()
      if layout.isComplete { return }
      _ = try viewport.measure(layout.missing.map { ($0.key, height) })
    }
    try #require(isComplete())
  }

  func scroll(_ delta: Int64) throws {
    viewport.scroll(by: delta, isFinger: false)
    try layOut()
  }

  // A macro asks a constant, and these are asked of a class.
  func top(_ key: UInt64) -> Int64? { viewport.find(key)?.top }
  func row(_ key: UInt64) -> Int? { viewport.find(key)?.row }
  func tick(_ nowMs: Int64) -> Bool { viewport.tick(nowMs: nowMs) }
  func scroll(to target: Target) throws -> Bool { try viewport.scroll(to: target) }
  func isComplete() -> Bool { viewport.layout().isComplete }
  var state: ViewportState { viewport.state() }
}

@Suite struct RuleTests {
  @Test func aTopDownListKeepsTheHighestVisibleRow() throws {
    let host = try Host(100)
    try host.scroll(255)
    #expect(host.state.anchor?.key == 26)
    #expect(host.top(26) == -5)
    // Above the view, between visible rows, below the view.
    try host.insert([900, 901], at: 3)
    #expect(host.top(26) == -5 && host.top(30) == 35)
    try host.insert([902], at: 31)
    #expect(host.top(26) == -5 && host.top(30) == 45 && host.top(902) == 35)
    try host.insert([903], at: 90)
    #expect(host.top(26) == -5 && host.top(30) == 45)
  }

  /// A view that grows is not moved by what estimates say of the rows above it, and holds no end
  /// that they brought into it.
  @Test func anEstimateAboveMovesNothing() throws {
    var config = ViewportConfig()
    (config.extent, config.heightMin, config.estimate) = (300, 20, 50)
    (config.direction, config.holdsBottom) = (.bottomUp, true)
    var viewport = try Viewport(config)
    func insert(_ keys: ClosedRange<UInt64>, _ kind: UInt32, before: Int) throws {
      let all = Array(keys) + [UInt64](repeating: 0, count: before)
      try viewport.update(
        [DiffOp(.insert, row: 0, count: keys.count)], keyCount: all.count, key: { all[$0] },
        kind: { _ in kind })
    }
    func layOut(_ height: Int64) throws {
      for _ in 0..<3 {
        let layout = viewport.layout()
        if layout.isComplete { return }
        _ = try viewport.measure(layout.missing.map { ($0.key, height) })
      }
      Issue.record("the layout does not end")
    }
    try insert(1...20, 0, before: 0)
    _ = try viewport.measure((1...20).map { (UInt64($0), 20) })
    try layOut(20)
    viewport.scroll(by: -100, isFinger: false)
    try layOut(20)
    var state = viewport.state()
    #expect(state.anchor?.key == 15 && state.below == 100)
    try insert(101...110, 1, before: 20)
    try layOut(200)
    try viewport.resize(900, heightsAreOld: false)
    try layOut(200)
    state = viewport.state()
    #expect(state.anchor?.key == 15 && state.anchor?.top == 880 && state.below == 100)
    #expect(!state.isHeldToBottom)
    let all = [UInt64](repeating: 0, count: 30) + [201]
    try viewport.update(
      [DiffOp(.insert, row: 30, count: 1)], keyCount: 31, key: { all[$0] }, kind: { _ in 0 })
    try layOut(20)
    #expect(viewport.find(15)?.top == 880)
  }

  /// Nor does a step above the view near the start.
  @Test func aStepAboveTheViewNearTheStartMovesNothing() throws {
    let host = try Host(10) { ($0.direction, $0.estimate) = (.bottomUp, 5) }
    _ = try host.viewport.measure((1...10).map { (UInt64($0), 30) })
    try host.layOut(30)
    try host.scroll(-80)
    #expect(host.top(5) == 0 && host.state.anchor?.key == 8)
    let keys: [UInt64] = [101, 102, 6, 7, 8, 9, 10]
    try host.viewport.update(
      [DiffOp(.remove, row: 0, count: 5), DiffOp(.insert, row: 0, count: 2)], keyCount: 7,
      key: { keys[$0] }, kind: { _ in 1 })
    try host.layOut(80)
    #expect(host.top(6) == 30 && host.top(7) == 60 && host.top(8) == 90)
  }

  /// The end of the list is where the heights on the way have it, not where estimates had it.
  @Test(arguments: [Direction.topDown, .bottomUp])
  func aScrollToAnEndStandsAtThatEnd(_ direction: Direction) throws {
    let host = try Host(300) {
      $0.direction = direction
      $0.estimate = 30
    }
    for delta: Int64 in [-1_000_000, 1_000_000, -1_000_000] {
      host.viewport.scroll(by: delta, isFinger: false)
      try host.layOut(40)
      #expect(delta < 0 ? host.state.above == 0 : host.state.below == 0)
      #expect(host.state.visible.contains(delta < 0 ? 0 : 299))
    }
  }

  /// A page that comes before the layout does: what the user sees stays.
  @Test func whatComesAtAnEndThatWasScrolledToMovesNothing() throws {
    let host = try Host(300) { $0.direction = .bottomUp }
    host.viewport.scroll(by: -1_000_000, isFinger: false)
    let top = host.top(5)
    try host.insert(Array(1_000..<1_050), at: 0)
    #expect(host.top(5) == top)
  }

  @Test func aBottomUpListKeepsTheLowestVisibleRow() throws {
    let host = try Host(100) { $0.direction = .bottomUp }
    try host.scroll(-255)
    #expect(host.state.anchor?.key == 75)
    #expect(host.top(75) == 95)
    try host.insert([900, 901], at: 3)
    #expect(host.top(75) == 95 && host.top(70) == 45)
    // Between visible rows: those above it move up by its height.
    try host.insert([902], at: 72)
    #expect(host.top(75) == 95 && host.top(71) == 55 && host.top(902) == 45 && host.top(70) == 35)
    try host.insert([903], at: 102)
    #expect(host.top(75) == 95)
  }

  @Test func aListThatIsHeldToItsEndIsPushedUp() throws {
    let host = try Host(100) { ($0.direction, $0.holdsBottom) = (.bottomUp, true) }
    #expect(host.top(100) == 90)
    try host.insert([900, 901], at: 100)
    #expect(host.top(901) == 90 && host.top(100) == 70)
    // Not in view, not held.
    try host.scroll(-30)
    try host.insert([902], at: 102)
    #expect(host.top(901) == 120)
  }

  @Test func aListThatIsNotHeldStays() throws {
    let host = try Host(100) { $0.direction = .bottomUp }
    try host.insert([900], at: 100)
    #expect(host.top(100) == 90 && host.top(900) == 100)
  }

  @Test func aShortListHangs() throws {
    let up = try Host(3) { $0.direction = .bottomUp }
    #expect(up.top(3) == 90 && up.top(1) == 70)
    let down = try Host(3)
    #expect(down.top(1) == 0 && down.top(3) == 20)
    try up.scroll(-50)
    #expect(up.top(3) == 90)
  }

  @Test func theAnchorThatGoesHasAnHeir() throws {
    let host = try Host(100)
    try host.scroll(255)
    try host.remove(25..<27)
    #expect(host.top(28) == 15)
    #expect(host.state.anchor?.key == 25 || host.state.anchor?.key == 24)
    // All that is visible goes: what comes stands where the anchor stood.
    let top = host.state.anchor?.top
    let row = host.state.anchor?.row ?? 0
    try host.remove(row..<row + 15)
    #expect(host.state.anchor?.top == top)
  }

  @Test func aRowThatIsMovedDoesNotTakeTheViewAlong() throws {
    let host = try Host(100)
    try host.scroll(255)
    host.keys.insert(host.keys.remove(at: 25), at: 0)
    try host.update([DiffOp(.move, row: 0, from: 25)])
    #expect(host.top(27) == 5 && host.state.anchor?.key == 25)
  }

  @Test func aRowIsReversedForTheHostOnly() throws {
    let host = try Host(100) { ($0.isReversed, $0.direction) = (true, .bottomUp) }
    // Row 0 is the lowest.
    #expect(host.top(1) == 90 && host.row(1) == 0)
    try host.insert([900], at: 0)
    #expect(host.top(1) == 90 && host.top(900) == 100)
    #expect(host.state.visible == 1..<11)
  }

  @Test func aScrollToARowIsExactThoughHeightsAreEstimates() throws {
    let host = try Host(1_000) { $0.estimate = 37 }
    #expect(try host.scroll(to: .top(of: 500, inset: 0)) == true)
    try host.layOut(23)
    #expect(host.top(500) == 0)
    #expect(try host.scroll(to: .bottom(of: 700, inset: 4)) == true)
    try host.layOut(23)
    #expect(host.top(700) == 73)
    #expect(try host.scroll(to: .bottomEnd) == true)
    try host.layOut(11)
    #expect(host.top(1_000) == 89 && host.state.below == 0)
  }

  @Test func framesEndWhereAScrollAtOnceDoes() throws {
    let host = try Host(1_000)
    let (start, speed): (Int64, Int64) = (1_000, 5_000)
    _ = try host.viewport.animate(to: .top(of: 300, inset: 7), speed: speed, nowMs: start)
    var tops: [Int64] = []
    var now = start
    while host.tick(now) {
      try host.layOut(12)
      tops.append(host.viewport.viewTop)
      now += 16
      // The list changes on the way.
      if tops.count == 10 { try host.insert([5_000, 5_001], at: 4) }
    }
    try host.layOut(12)
    #expect(host.top(300) == 7)
    #expect(tops.count > 20)
  }

  @Test func upIsAsFastAsDown() throws {
    var ways: [[Int64]] = []
    for isUp in [false, true] {
      let host = try Host(400)
      for _ in 0..<60 { try host.scroll(100) }
      #expect(try host.scroll(to: .top(of: 200, inset: 0)) == true)
      try host.layOut()
      let from = host.viewport.viewTop
      let target: UInt64 = isUp ? 150 : 250
      _ = try host.viewport.animate(to: .top(of: target, inset: 0), speed: 1_000, nowMs: 0)
      var way: [Int64] = []
      var now: Int64 = 0
      while host.tick(now) {
        way.append(abs(host.viewport.viewTop - from))
        now += 16
      }
      ways.append(way)
    }
    #expect(ways[0] == ways[1])
    #expect(ways[0].count > 20)
  }

  @Test func aFingerPullsBeyondAnEndAndItSpringsBack() throws {
    let host = try Host(100) { $0.overscrollMax = 50 }
    host.viewport.scroll(by: -100, isFinger: true)
    #expect(host.top(1) == 33)
    host.viewport.scroll(by: -1_000_000, isFinger: true)
    #expect(host.top(1) == 49)
    _ = host.viewport.release(nowMs: 0)
    #expect(host.tick(100))
    let middle = try #require(host.top(1))
    #expect(middle > 0 && middle < 50)
    #expect(!host.tick(250))
    #expect(host.top(1) == 0)
  }

  @Test func rowsThatComeUnderAPullLeaveItWhereItIs() throws {
    let host = try Host(100) { $0.overscrollMax = 50 }
    host.viewport.scroll(by: -100, isFinger: true)
    try host.insert([900, 901, 902, 903], at: 0)
    #expect(host.top(1) == 33 && host.state.overscroll == 0)
  }

  @Test func theBarStandsStillWhileRowsComeAndHeightsBecomeKnown() throws {
    let host = try Host(200) { ($0.direction, $0.estimate) = (.bottomUp, 40) }
    var start = host.viewport.bar.start
    for turn in 0..<50 {
      try host.scroll(-90)
      #expect(host.viewport.bar.start <= start)
      start = host.viewport.bar.start
      if turn % 10 == 9 {
        let new = (0..<50).map { UInt64(10_000 + turn * 50 + $0) }
        try host.insert(new, at: 0)
        #expect(host.viewport.bar.start == start)
      }
    }
  }

  @Test func nothingIsChangedByWhatIsRefused() throws {
    let host = try Host(20)
    let before = host.state
    let steps = [
      DiffOp(.remove, row: 3, count: 4), DiffOp(.move, row: 0, from: 9),
      DiffOp(.update, row: 2, count: 3), DiffOp(.insert, row: 5, count: 2),
      DiffOp(.remove, row: 6), DiffOp(.insert, row: 17),
    ]
    // Two rows with one key; a class that is none; too few keys; steps beyond the list.
    #expect(throws: ViewportError.invalid("two rows have one key")) {
      try host.viewport.update(steps, keyCount: 18, key: { _ in 7_000 }, kind: { _ in 0 })
    }
    #expect(throws: ViewportError.invalid("two rows have one key")) {
      try host.viewport.update(steps, keyCount: 18, key: { _ in 20 }, kind: { _ in 0 })
    }
    #expect(throws: ViewportError.invalid("a class is over 7")) {
      try host.viewport.update(steps, keyCount: 18, key: { UInt64(500 + $0) }, kind: { _ in 8 })
    }
    #expect(throws: ViewportError.invalid("there is not one key for each row")) {
      try host.viewport.update(steps, keyCount: 17, key: { UInt64(500 + $0) }, kind: { _ in 0 })
    }
    for step in [
      DiffOp(.remove, row: 20), DiffOp(.remove, row: 0, count: 21), DiffOp(.insert, row: 21),
      DiffOp(.update, row: 0, count: .max), DiffOp(.move, row: 20, from: 0),
      DiffOp(.move, row: 0, from: 20), DiffOp(.remove, row: -1),
    ] {
      #expect(
        throws: ViewportError.invalid(
          step.row < 0 ? "a step has a number below 0" : "a step is beyond the list")
      ) {
        try host.viewport.update([step], keyCount: 0, key: { _ in 0 }, kind: { _ in 0 })
      }
    }
    #expect(host.state == before)
    for key in 1...UInt64(20) { #expect(host.row(key) == Int(key) - 1) }
  }

  @Test func numbersAtTheEdgeOfTheirType() throws {
    let host = try Host(20) { $0.overscrollMax = 1 << 30 }
    let most: Int64 = 1 << 40
    for delta in [Int64.min, .max, .min, 0, .max] {
      host.viewport.scroll(by: delta, isFinger: true)
      host.viewport.scroll(by: delta, isFinger: false)
      _ = host.state
      _ = host.viewport.release(nowMs: delta)
      _ = host.tick(.max)
      _ = host.tick(.min)
    }
    _ = try host.viewport.measure((1...20).map { ($0, most) })
    try host.viewport.resize(most, heightsAreOld: false)
    #expect(host.isComplete())
    #expect(host.state.total == 20 * most)
    #expect(throws: ViewportError.tooLarge("a length is over 1,099,511,627,776")) {
      try host.viewport.measure([(1, most + 1)])
    }
    #expect(throws: ViewportError.invalid("a length is negative")) {
      try host.viewport.measure([(1, -1)])
    }
    #expect(throws: ViewportError.tooLarge("a length is over 1,099,511,627,776")) {
      _ = try host.scroll(to: .top(of: 1, inset: .min))
    }
    let isFound = try host.scroll(to: .top(of: 99, inset: 0))
    #expect(!isFound)
    _ = try host.viewport.animate(to: .bottomEnd, speed: 1, nowMs: .min)
    while host.tick(.max) {}
    #expect(host.state.below == 0)
    #expect(throws: ViewportError.tooLarge("the list has over 1,048,576 rows")) {
      try host.viewport.update(
        [DiffOp(.insert, row: 0, count: 1 << 20)], keyCount: 1 << 20, key: { _ in 0 },
        kind: { _ in 0 })
    }
  }
}
