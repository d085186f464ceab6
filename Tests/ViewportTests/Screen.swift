/// A host that does something random, the viewport, the reference, and what must hold of them.
import Base

@testable import Viewport

struct Violation: Error, CustomStringConvertible {
  let rule: String
  var description: String { rule }
}

func must(_ holds: Bool, _ rule: @autoclosure () -> String) throws {
  if !holds { throw Violation(rule: rule()) }
}

struct Screen {
  /// What the host knows of a row.
  struct Row {
    var key: UInt64
    var kind: UInt32
    /// What it will measure.
    var height: Int64
  }

  var random: Random
  var viewport: Viewport
  var reference: Reference
  /// In the host's order.
  var rows: [Row] = []
  var nextKey: UInt64 = 1
  var nowMs: Int64 = 0
  /// What was done last, for whoever looks for a violation's cause.
  var last = ""
  /// Rows that the last edit moved.
  var moved: Set<UInt64> = []
  let rowsMax: Int
  let isTall: Bool
  /// The bar's last start, and the way scrolled since.
  var barStart: Int64 = 0
  var way = 0
  /// What was asked for since the last complete layout.
  var asked: Target?
  /// Where the anchor has to stand, as the last complete layout has it; nil where an end is held.
  var kept: (key: UInt64, edge: Int64)?

  init(seed: UInt64, planted: PlantedFault? = nil) throws {
    random = Random(seed: seed)
    var config = ViewportConfig()
    config.direction = random.chance(0.5) ? .bottomUp : .topDown
    config.isReversed = random.chance(0.3)
    config.holdsTop = random.chance(0.2)
    config.holdsBottom = random.chance(0.4)
    config.extent = Int64(random.below(8)) == 0 ? 0 : Int64(40 + random.below(400))
    config.margin = random.chance(0.5) ? 0 : Int64(random.below(100))
    config.estimate = Int64(10 + random.below(80))
    config.heightMin = Int64(5 + random.below(10))
    config.overscrollMax = random.chance(0.5) ? 0 : Int64(20 + random.below(100))
    viewport = try Viewport(config)
    reference = Reference(config)
    rowsMax = random.chance(0.15) ? 200 : 30
    isTall = random.chance(0.2)
    #if DEBUG
      viewport.planted = planted
    #endif
  }

  private mutating func height() -> Int64 {
    if random.chance(0.03) { return 0 }
    return viewport.config.heightMin + Int64(random.below(isTall ? 600 : 60))
  }

  private mutating func row() -> Row {
    nextKey += 1
    // Keys in no order.
    return Row(
      key: nextKey &* 0x9E37_79B9_7F4A_7C15, kind: UInt32(random.below(8)), height: height())
  }

  // MARK: Steps

  /// One thing that a host does, and mostly a layout.
  mutating func step() throws {
    let what = random.below(100)
    last = "\(what)"
    // Who scrolls moves it.
    if !(0..<45).contains(what), !(87..<94).contains(what) { kept = nil }
    switch what {
    case 0..<30: try edit()
    case 30..<45: try load()
    case 45..<75: try scroll()
    case 75..<82: try jump()
    case 82..<87: try animate()
    case 87..<90: try resize()
    case 90..<94: try measure()
    case 94..<98: try finger()
    default: try wait()
    }
    try agree()
    if random.chance(0.85) { try layOut() }
  }

  private mutating func edit() throws {
    moved = []
    var steps: [DiffOp] = []
    for _ in 0..<1 + random.below(4) {
      // Mostly near what is in the view.
      let seen = viewport.state().visible
      var at = random.below(rows.count + 1)
      if random.chance(0.6), !seen.isEmpty { at = seen.lowerBound + random.below(seen.count + 1) }
      at = min(at, rows.count)
      let left = rows.count - at
      switch random.below(5) {
      case 0 where rows.count < rowsMax, 1 where rows.count < rowsMax / 2:
        let count = 1 + random.below(3)
        steps.append(DiffOp(.insert, row: at, count: count))
        for _ in 0..<count { rows.insert(row(), at: at) }
      case 2 where left > 0:
        let count = 1 + random.below(min(left, random.chance(0.1) ? 20 : 3))
        steps.append(DiffOp(.remove, row: at, count: count))
        rows.removeSubrange(at..<at + count)
      case 3 where left > 0:
        let to = random.below(rows.count)
        steps.append(DiffOp(.move, row: to, from: at))
        moved.insert(rows[at].key)
        rows.insert(rows.remove(at: at), at: to)
      case 4 where left > 0:
        let count = 1 + random.below(min(left, 3))
        steps.append(DiffOp(.update, row: at, count: count))
        for at in at..<at + count { rows[at].height = height() }
      default: break
      }
    }
    try update(steps)
  }

  /// A page at an end, or what a live message is; some of the time all is read anew.
  private mutating func load() throws {
    moved = []
    if random.chance(0.03) {
      let count = rows.count
      rows.removeAll()
      return try update([DiffOp(.remove, row: 0, count: count)])
    }
    if rows.count >= rowsMax { return try edit() }
    let count = random.chance(0.5) ? 1 : 1 + random.below(min(20, rowsMax - rows.count))
    let at = random.chance(0.5) ? 0 : rows.count
    for _ in 0..<count { rows.insert(row(), at: at) }
    try update([DiffOp(.insert, row: at, count: count)])
  }

  private mutating func update(_ steps: [DiffOp]) throws {
    defer { moved = [] }
    last +=
      " " + steps.map { "\($0.kind) \($0.row) \($0.from) \($0.count)" }.joined(separator: ", ")
    let before = reference
    let rows = rows
    if let key = kept?.key, moved.contains(key) || !rows.contains(where: { $0.key == key }) {
      kept = nil
    }
    try viewport.update(
      steps, keyCount: rows.count, key: { rows[$0].key }, kind: { rows[$0].kind })
    let kinds = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.kind) })
    reference.update(steps, added: kinds, order: rows.map(\.key))
    try stays(since: before, "update")
    asked = asked == nil ? nil : reference.goal
  }

  private mutating func scroll() throws {
    let size = random.chance(0.2) ? 3_000 : random.chance(0.5) ? 200 : 20
    // Mostly the same way as before.
    var delta = Int64(1 + random.below(size))
    if way < 0 ? random.chance(0.8) : random.chance(0.2) { delta = -delta }
    try scroll(delta)
  }

  private mutating func scroll(_ delta: Int64) throws {
    let before = reference
    viewport.scroll(by: delta, isFinger: false)
    reference.scroll(by: delta)
    asked = nil
    try moves(by: delta, since: before)
    way = delta > 0 ? 1 : -1
  }

  private mutating func target() -> Target? {
    if rows.isEmpty || random.chance(0.2) {
      return rows.isEmpty ? nil : random.chance(0.5) ? .topEnd : .bottomEnd
    }
    let key = rows[random.below(rows.count)].key
    let inset = random.chance(0.7) ? 0 : Int64(random.below(50)) - 20
    return random.chance(0.5) ? .top(of: key, inset: inset) : .bottom(of: key, inset: inset)
  }

  private mutating func jump() throws {
    guard let target = target() else { return }
    _ = try viewport.scroll(to: target)
    reference.scroll(to: target)
    (asked, way) = (target, 0)
  }

  /// Goes to a row in frames, while rows come, go and are measured; or a finger ends it.
  private mutating func animate() throws {
    guard let target = target() else { return }
    // A scroll to what is asked for already is nothing.
    (asked, reference.goal) = (nil, nil)
    _ = try viewport.animate(to: target, speed: Int64(100 + random.below(4_000)), nowMs: nowMs)
    var goal: Target? = target
    let isInterrupted = random.chance(0.2)
    for frame in 0..<200 {
      nowMs += Int64(random.below(40))
      let isMoving = viewport.tick(nowMs: nowMs)
      takeViewport()
      if viewport.animation == nil { break }
      try must(isMoving, "an animation that is not over says so")
      if isInterrupted, frame == 3 {
        viewport.scroll(by: 1, isFinger: true)
        takeViewport()
        return try must(viewport.animation == nil, "a finger ends an animation")
      }
      if random.chance(0.3) { try layOut() }
      if random.chance(0.1) {
        // The target is followed as the one of a scroll at once is.
        reference.goal = goal
        try editInFlight()
        goal = reference.goal
        reference.goal = nil
        takeViewport()
        if goal == nil {
          return try must(viewport.animation == nil, "an animation to nothing ends")
        }
      }
    }
    try must(viewport.animation == nil, "an animation ends")
    // Where instant would end.
    reference.shift = viewport.overscroll.shift
    reference.goal = goal
    reference.settle()
    (asked, way) = (goal, 0)
  }

  /// An edit while frames run: what stays is looked at elsewhere.
  private mutating func editInFlight() throws {
    let at = random.below(rows.count + 1)
    let isInsert = rows.count < 3 || random.chance(0.5)
    let count = isInsert ? 1 : min(2, rows.count - at)
    if count == 0 { return }
    if isInsert { rows.insert(row(), at: at) } else { rows.removeSubrange(at..<at + count) }
    let steps = [DiffOp(isInsert ? .insert : .remove, row: at, count: count)]
    let rows = rows
    try viewport.update(
      steps, keyCount: rows.count, key: { rows[$0].key }, kind: { rows[$0].kind })
    let kinds = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.kind) })
    reference.update(steps, added: kinds, order: rows.map(\.key))
  }

  /// Takes over from the viewport where it stands: between frames, and under a finger.
  private mutating func takeViewport() {
    kept = nil
    reference.viewTop = viewport.viewTop
    reference.shift = viewport.overscroll.shift
    reference.slip = viewport.slip
    reference.pin = viewport.pin.map {
      Reference.Pin(key: viewport.tree[$0.node].key, isBottom: $0.isBottom, place: $0.place)
    }
    reference.isHeldToTop = viewport.isHeldToTop
    reference.isHeldToBottom = viewport.isHeldToBottom
    if let goal = viewport.goal, goal.isPassing { reference.pass(goal.kind == .topEnd) }
    way = 0
    barStart = viewport.bar.start
  }

  private mutating func resize() throws {
    let extent = random.chance(0.1) ? 0 : Int64(30 + random.below(400))
    if reference.isBottomUp { kept?.edge += extent - reference.extent }
    if extent == 0 { kept = nil }
    let areOld = random.chance(0.3)
    if areOld {
      for at in rows.indices where rows[at].height > 0 { rows[at].height = max(1, height()) }
      for at in rows.indices where rows[at].height == 1 { rows[at].height = 40 }
    }
    try viewport.resize(extent, heightsAreOld: areOld)
    reference.resize(extent, heightsAreOld: areOld)
    if reference.goal == nil { asked = nil }
    (way, barStart) = (0, viewport.bar.start)
  }

  /// Rows that nobody has asked for.
  private mutating func measure() throws {
    if rows.isEmpty { return }
    let before = reference
    var heights: [UInt64: Int64] = [1: 5]
    for _ in 0..<1 + random.below(5) {
      let row = rows[random.below(rows.count)]
      heights[row.key] = row.height
    }
    try measure(heights, since: before)
  }

  private mutating func measure(_ heights: [UInt64: Int64], since before: Reference) throws {
    _ = try viewport.measure(heights.map { ($0.key, $0.value) })
    reference.measure(heights)
    try stays(since: before, "measure")
  }

  private mutating func finger() throws {
    let delta = Int64(random.below(300)) - 150
    viewport.scroll(by: delta, isFinger: true)
    (reference.goal, asked) = (nil, nil)
    takeViewport()
    let most = viewport.config.overscrollMax
    try must(abs(viewport.overscroll.shift) <= most, "nothing is pulled farther than is allowed")
    if random.chance(0.5) { _ = viewport.release(nowMs: nowMs) }
  }

  private mutating func wait() throws {
    nowMs += Int64(random.below(300))
    let before = abs(viewport.overscroll.shift)
    if viewport.overscroll.pull != 0, random.chance(0.5) { _ = viewport.release(nowMs: nowMs) }
    _ = viewport.tick(nowMs: nowMs)
    try must(abs(viewport.overscroll.shift) <= before, "what was let go springs back")
    if viewport.overscroll.shift != reference.shift { takeViewport() }
  }

  // MARK: The loop between host and viewport

  private mutating func layOut() throws {
    var isSmaller = false
    for round in 1... {
      let before = reference
      let layouts = viewport.state().layouts
      let layout = viewport.layout()
      reference.settle()
      try stays(since: before, "layout")
      try covers(layout)
      if layout.isComplete {
        try must(viewport.state().layouts == layouts + 1, "each complete layout is counted")
        reference.complete()
        try shown(layout)
        try keeps(isSmaller)
        break
      }
      // Where a row turned out to be less high than the least height, another one is asked for.
      try must(round < 2 || isSmaller, "two rounds are enough")
      try must(round < Limits.viewportRoundsMax, "rounds are bounded")
      var heights: [UInt64: Int64] = [:]
      for missing in layout.missing { heights[missing.key] = rows[missing.row].height }
      isSmaller = isSmaller || heights.values.contains { $0 < viewport.config.heightMin }
      try measure(heights, since: reference)
      try agree()
    }
    try agree()
    try lands()
  }
}
