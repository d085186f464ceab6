/// A viewport that is slow and obvious: an array of rows, and sums over it for every question.
import Base
import Viewport

struct Reference {
  struct Row {
    var key: UInt64
    var kind: UInt32 = 0
    var known: Int64?
    var isOld = false
    /// Taken out and put in by the update under way.
    var isMoved = false
  }

  struct Pin {
    var key: UInt64
    var isBottom: Bool
    var place: Int64
  }

  let config: ViewportConfig
  var extent: Int64
  /// From the highest to the lowest.
  var rows: [Row] = []
  var means: [Int64]
  var pin: Pin?
  var goal: Target? {
    didSet { goalPasses = false }
  }
  /// The goal is an end that a scroll by some way came to.
  private var goalPasses = false
  var viewTop: Int64 = 0
  /// How far rows are drawn below their place. What a finger pulls comes from the viewport.
  var shift: Int64 = 0
  var isHeldToTop: Bool
  var isHeldToBottom: Bool
  /// The last change of place met an end of the list.
  var wasClamped = false
  /// How far below its place the anchor is drawn, since the list ends by what is estimated.
  var slip: Int64 = 0

  init(_ config: ViewportConfig) {
    self.config = config
    extent = config.extent
    means = [Int64](repeating: max(config.estimate, config.heightMin), count: 8)
    (isHeldToTop, isHeldToBottom) = (config.holdsTop, config.holdsBottom)
    viewTop = limits.low
  }

  var isBottomUp: Bool { config.direction == .bottomUp }

  // MARK: Sums

  func height(_ at: Int) -> Int64 { rows[at].known ?? means[Int(rows[at].kind)] }

  /// The offset of each row's top, and of the end.
  private var tops: [Int64] = [0]

  /// Adds up all heights anew.
  private mutating func addUp() {
    tops = [0]
    var top: Int64 = 0
    for at in rows.indices {
      top += height(at)
      tops.append(top)
    }
  }

  func offset(_ at: Int) -> Int64 { tops[at] }

  var total: Int64 { offset(rows.count) }

  func at(_ key: UInt64) -> Int? { rows.firstIndex { $0.key == key } }

  func drawn(_ at: Int) -> Int64 { offset(at) - viewTop + shift }

  func isVisible(_ at: Int) -> Bool {
    extent > 0 && height(at) > 0 && drawn(at) < extent && drawn(at) + height(at) > 0
  }

  var limits: (low: Int64, high: Int64) {
    let high = total - extent
    return high >= 0 ? (0, high) : isBottomUp ? (high, high) : (0, 0)
  }

  var rowsInView: [Int] { rows.indices.filter(isVisible) }

  /// The mean of what is known of some classes.
  mutating func learn(_ kinds: Set<UInt32>) {
    for kind in kinds {
      let known = rows.filter { $0.kind == kind }.compactMap(\.known)
      means[Int(kind)] = max(config.heightMin, known.reduce(0, +) / Int64(known.count))
    }
  }

  // MARK: Places

  func edge(_ pin: Pin) -> Int64 {
    let at = at(pin.key) ?? 0
    return offset(at) + (pin.isBottom ? height(at) : 0)
  }

  func pin(of target: Target) -> Pin {
    switch target {
    case .top(let key, let inset): Pin(key: key, isBottom: false, place: inset)
    case .bottom(let key, let inset): Pin(key: key, isBottom: true, place: extent - inset)
    case .topEnd: Pin(key: rows[0].key, isBottom: false, place: 0)
    case .bottomEnd: Pin(key: rows[rows.count - 1].key, isBottom: true, place: extent)
    }
  }

  mutating func settle() {
    if rows.isEmpty {
      (pin, goal, viewTop, slip) = (nil, nil, limits.low, 0)
      return noteEnds()
    }
    let isKept = goal == nil && !isHeldToTop && !isHeldToBottom && self.pin != nil
    let hold: Pin?
    if let goal {
      hold = pin(of: goal)
    } else if isHeldToBottom, isBottomUp || !isHeldToTop {
      hold = pin(of: .bottomEnd)
    } else if isHeldToTop {
      hold = pin(of: .topEnd)
    } else {
      hold = pin
    }
    let pin = hold ?? self.pin(of: isBottomUp ? .bottomEnd : .topEnd)
    let wanted = edge(pin) - pin.place + (isKept ? slip : 0)
    let (low, high) = limits
    slip = isKept ? wanted - min(max(wanted, low), high) : 0
    put(at: wanted)
  }

  mutating func place(at offset: Int64) {
    slip = 0
    put(at: offset)
    noteEnds()
  }

  private mutating func put(at offset: Int64) {
    let (low, high) = limits
    viewTop = min(max(offset, low), high)
    wasClamped = viewTop != offset
    let room = shift > 0 ? min(shift, viewTop - low) : max(shift, viewTop - high)
    if goal == nil { viewTop -= room }
    shift = goal != nil && room != 0 ? 0 : shift - room
    if let pin, let at = at(pin.key) {
      self.pin = Pin(key: pin.key, isBottom: pin.isBottom, place: edge(pin) - viewTop)
      if extent > 0, slip == 0, !isVisible(at) { pick() }
    } else {
      pick()
    }
    if room != 0 { noteEnds() }
  }

  mutating func noteEnds() {
    isHeldToTop = config.holdsTop && viewTop <= limits.low
    isHeldToBottom = config.holdsBottom && viewTop >= limits.high
  }

  /// The highest row in the view, or the lowest; near the view where it shows none.
  mutating func pick() {
    let seen = viewTop - shift + (isBottomUp ? max(extent, 1) - 1 : 0)
    let inside = min(max(seen, 0), max(0, total - 1))
    let under = rows.indices.first { offset($0) <= inside && inside < offset($0) + height($0) }
    guard let at = under ?? (isBottomUp ? rows.indices.last : rows.indices.first) else {
      pin = nil
      return
    }
    let line = offset(at) + (isBottomUp ? height(at) : 0)
    pin = Pin(key: rows[at].key, isBottom: isBottomUp, place: line - viewTop)
  }

  // MARK: What a host does

  mutating func update(_ steps: [DiffOp], added: [UInt64: UInt32], order: [UInt64]) {
    let places = rows.indices.filter(isVisible).map { at in
      Pin(
        key: rows[at].key, isBottom: isBottomUp,
        place: offset(at) + (isBottomUp ? height(at) : 0) - viewTop)
    }
    // The rows in the order in which they take the anchor's place: first away from it.
    var next: [Pin] = []
    if let pin, let anchor = at(pin.key) {
      let before = places.filter { at($0.key)! < anchor }
      let behind = places.filter { at($0.key)! > anchor }
      next = isBottomUp ? before.reversed() + behind : behind + before.reversed()
    }
    if goalPasses, !steps.isEmpty { goal = nil }
    apply(steps, order: order)
    for at in rows.indices {
      if let kind = added[rows[at].key] { rows[at].kind = kind }
    }
    addUp()
    if let pin {
      let stays = at(pin.key).map { !rows[$0].isMoved } ?? false
      if !stays {
        let heir = next.first { pin in at(pin.key).map { !rows[$0].isMoved } ?? false }
        self.pin =
          heir ?? gap(pin.key).map { Pin(key: $0, isBottom: pin.isBottom, place: pin.place) }
      }
    }
    if let key = goal?.key, at(key) == nil { goal = gap(key, isLast: true).map { goal!.to($0) } }
    for at in rows.indices { rows[at].isMoved = false }
    settle()
  }

  /// Where rows were that are taken out: the key, and its place among those that are there.
  private var marks: [(key: UInt64, at: Int)] = []

  private func isMarked(_ key: UInt64) -> Bool { marks.contains { $0.key == key } }

  /// The row that stands where one was taken out. Of one that was moved first, an anchor stays
  /// where it was moved from, and a target goes along to where it was removed.
  func gap(_ key: UInt64, isLast: Bool = false) -> UInt64? {
    let marks = marks.filter { $0.key == key }
    guard let mark = isLast ? marks.last : marks.first, !rows.isEmpty else { return nil }
    let at = isBottomUp ? mark.at - 1 : mark.at
    return rows[min(max(at, 0), rows.count - 1)].key
  }

  private mutating func apply(_ steps: [DiffOp], order: [UInt64]) {
    marks = []
    // New rows get their keys when all steps are made, since only then their index is known.
    let placeholder = UInt64.max
    if config.isReversed { rows.reverse() }
    for step in steps {
      switch step.kind {
      case .insert:
        let new = [Row](repeating: Row(key: placeholder), count: step.count)
        rows.insert(contentsOf: new, at: step.row)
        put(step.row, step.count)
      case .remove:
        for row in rows[step.row..<step.row + step.count] where row.key != placeholder {
          marks.append((row.key, step.row))
        }
        let fresh = step.count
        rows.removeSubrange(step.row..<step.row + step.count)
        take(step.row, fresh)
      case .update:
        for at in step.row..<step.row + step.count {
          rows[at].isOld = rows[at].known != nil
          if rows[at].known == 0 { (rows[at].known, rows[at].isOld) = (nil, false) }
        }
      case .move:
        var row = rows.remove(at: step.from)
        row.isMoved = true
        take(step.from, 1)
        if !isMarked(row.key), row.key != placeholder { marks.append((row.key, step.from)) }
        rows.insert(row, at: step.row)
        put(step.row, 1)
      }
    }
    for at in rows.indices where rows[at].key == placeholder { rows[at].key = order[at] }
    if config.isReversed {
      rows.reverse()
      marks = marks.map { ($0.key, rows.count - $0.at) }
    }
  }

  /// Whether what comes exactly at a mark comes before it, by the host's count.
  private var comesBefore: Bool { isBottomUp != config.isReversed }

  private mutating func put(_ row: Int, _ count: Int) {
    for index in marks.indices where comesBefore ? row <= marks[index].at : row < marks[index].at {
      marks[index].at += count
    }
  }

  private mutating func take(_ row: Int, _ count: Int) {
    for index in marks.indices where marks[index].at > row {
      marks[index].at = max(row, marks[index].at - count)
    }
  }

  mutating func measure(_ heights: [UInt64: Int64]) {
    var kinds: Set<UInt32> = []
    for at in rows.indices {
      guard let height = heights[rows[at].key] else { continue }
      (rows[at].known, rows[at].isOld) = (height, false)
      kinds.insert(rows[at].kind)
    }
    learn(kinds)
    addUp()
    settle()
  }

  mutating func resize(_ extent: Int64, heightsAreOld: Bool) {
    if let pin, pin.isBottom { self.pin?.place += extent - self.extent }
    self.extent = extent
    if heightsAreOld {
      for at in rows.indices where rows[at].known ?? 0 > 0 { rows[at].isOld = true }
    }
    settle()
  }

  mutating func scroll(by delta: Int64) {
    goal = nil
    if rows.isEmpty { return }
    let (from, ends) = (viewTop, limits)
    place(at: from + delta)
    if delta == 0 || (delta < 0 ? from + delta > ends.low : from + delta < ends.high) { return }
    pass(delta < 0)
  }

  /// A scroll by some way came to an end.
  mutating func pass(_ isTop: Bool) {
    goal = isTop ? .topEnd : .bottomEnd
    goalPasses = true
  }

  mutating func scroll(to target: Target) {
    shift = 0
    goal = target
    settle()
  }

  /// A layout without a missing row.
  mutating func complete() {
    (goal, slip) = (nil, 0)
    pick()
    noteEnds()
  }
}

extension Target {
  var key: UInt64? {
    switch self {
    case .top(let key, _), .bottom(let key, _): key
    case .topEnd, .bottomEnd: nil
    }
  }

  /// The same of another row.
  func to(_ key: UInt64) -> Target {
    switch self {
    case .top(_, let inset): .top(of: key, inset: inset)
    case .bottom(_, let inset): .bottom(of: key, inset: inset)
    case .topEnd, .bottomEnd: self
    }
  }
}
