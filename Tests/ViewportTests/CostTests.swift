/// The cost of a step, a scroll and a layout is that of the rows on screen and of a way down the
/// tree, whatever the list holds. Counted in nodes, since no test measures time.
import Base
import Testing

@testable import Viewport

@Suite struct CostTests {
  private static func filled(_ count: Int) throws -> Viewport {
    var config = ViewportConfig()
    config.direction = .bottomUp
    config.holdsBottom = true
    config.extent = 600
    config.margin = 100
    var viewport = try Viewport(config)
    try viewport.update(
      [DiffOp(.insert, row: 0, count: count)], keyCount: count, key: { UInt64($0 + 1) },
      kind: { UInt32($0 % 3) })
    try settle(&viewport)
    return viewport
  }

  /// Lays out until nothing is missing; every row measures 40 more than its key's last digit.
  private static func settle(_ viewport: inout Viewport) throws {
    for _ in 0..<2 {
      let layout = viewport.layout()
      if layout.isComplete { return }
      _ = try viewport.measure(layout.missing.map { ($0.key, 40 + Int64($0.key % 10)) })
    }
    let last = viewport.layout()
    #expect(last.isComplete)
  }

  /// What one thing costs in a list of some length: the greatest of many.
  private static func cost(
    _ count: Int, _ times: Int = 50, _ body: (inout Viewport, Int) throws -> Void
  ) throws -> Int {
    var viewport = try filled(count)
    var worst = 0
    for time in 0..<times {
      let before = viewport.work
      try body(&viewport, time)
      worst = max(worst, viewport.work - before)
    }
    return worst
  }

  /// A list a hundred times as long has a tree 7 levels higher, 14 or so as treaps are drawn: what
  /// is one way down the tree may grow by half, and nothing more.
  private func staysSmall(
    _ what: String, _ body: (inout Viewport, Int) throws -> Void
  ) throws {
    let costs = try [1_000, 10_000, 100_000].map { try Self.cost($0, 50, body) }
    #expect(costs[1] < costs[0] * 2, "\(what): \(costs)")
    #expect(costs[2] < costs[0] * 5 / 2, "\(what): \(costs)")
    // A screen of 60 rows, each measured once: a way up the tree for each.
    #expect(costs[2] < 8_000, "\(what): \(costs)")
  }

  @Test func aLiveRow() throws {
    try staysSmall("a row at the end") { viewport, time in
      let count = viewport.count
      try viewport.update(
        [DiffOp(.insert, row: count)], keyCount: count + 1, key: { UInt64($0) + 1_000_000 },
        kind: { _ in 0 })
    }
  }

  @Test func anEdit() throws {
    try staysSmall("steps in the middle") { viewport, time in
      let count = viewport.count
      try viewport.update(
        [
          DiffOp(.remove, row: count / 3, count: 2), DiffOp(.move, row: 5, from: count / 2),
          DiffOp(.update, row: count - 4, count: 2), DiffOp(.insert, row: count - 5, count: 2),
        ],
        keyCount: count, key: { UInt64($0 + time * 1_000_000) + 9_000_000 }, kind: { _ in 1 })
    }
  }

  @Test func aScroll() throws {
    try staysSmall("a scroll and its layouts") { viewport, time in
      viewport.scroll(by: time % 2 == 0 ? -57 : -1_900, isFinger: false)
      try Self.settle(&viewport)
    }
  }

  @Test func aLayout() throws {
    try staysSmall("a layout where all is known") { viewport, _ in
      let layout = viewport.layout()
      #expect(layout.isComplete)
    }
  }

  @Test func aJump() throws {
    try staysSmall("a scroll to a row and its layouts") { viewport, time in
      let key = UInt64(1 + (time * 7_919) % viewport.count)
      _ = try viewport.scroll(to: .top(of: key, inset: 0))
      try Self.settle(&viewport)
    }
  }

  /// A host that hides most of its rows pays for those that it shows.
  @Test func hiddenRows() throws {
    try staysSmall("a layout over hidden rows") { viewport, time in
      if time == 0 {
        let hidden = (1...viewport.count - 40).map { (key: UInt64($0), height: Int64(0)) }
        _ = try viewport.measure(hidden)
        _ = try viewport.scroll(to: .topEnd)
        try Self.settle(&viewport)
        viewport.tree.work = 0
        return
      }
      viewport.scroll(by: time % 2 == 0 ? 300 : -300, isFinger: false)
      try Self.settle(&viewport)
    }
  }
}
