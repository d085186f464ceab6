/// Where the rows of an endless list stand in a view: arithmetic only.
///
/// It draws nothing and reads no clock. A host tells it the steps of its list, the heights that it
/// measured and what its user scrolled, and is told which rows to place where. A pin holds it all:
/// a row, one of its edges and where in the view that edge is. All else follows from heights.
internal import Base

package struct Viewport: Sendable {
  /// A row's edge at a place of the view, what is pulled beyond an end left out.
  struct Pin: Sendable {
    var node: Int32
    var isBottom: Bool
    var place: Int64
  }

  /// A target, its row found.
  struct Goal: Sendable {
    enum Kind: Sendable { case top, bottom, topEnd, bottomEnd }
    var kind: Kind
    var node: Int32
    var inset: Int64
    /// An end that a scroll by some way came to: nobody asked to follow it.
    var isPassing = false
  }

  package let config: ViewportConfig
  package internal(set) var extent: Int64
  var tree: HeightTree
  /// The row of each key.
  var index: [UInt64: Int32] = [:]
  /// The anchor; nil in an empty list.
  var pin: Pin?
  /// How far from its place the anchor is drawn, since the list ends by what is estimated. It goes
  /// back there when measured heights leave room.
  var slip: Int64 = 0
  /// Where a scroll has to land; it is in force until a layout is complete, since heights are
  /// measured on the way.
  var goal: Goal?
  var animation: Animation?
  /// The offset of the view's top in the list: what pin, goal or a held end come to.
  var viewTop: Int64 = 0
  var overscroll: Overscroll
  var bar = ScrollBar()
  var isHeldToTop: Bool
  var isHeldToBottom: Bool
  /// Layouts since the last complete one.
  var rounds = 0
  var layouts: UInt64 = 0
  /// What the last complete layout has shown.
  var visible = 0..<0
  var placed = 0..<0
  var checksum: UInt64 = 0
  #if DEBUG
    /// A fault that tests plant, to see that it is found.
    package var planted: PlantedFault?
  #endif

  package init(_ config: ViewportConfig) throws(ViewportError) {
    try config.check()
    self.config = config
    extent = config.extent
    tree = HeightTree(estimate: config.estimate, atLeast: config.heightMin)
    overscroll = Overscroll(most: config.overscrollMax)
    isHeldToTop = config.holdsTop
    isHeldToBottom = config.holdsBottom
    viewTop = limits.low
  }

  /// Nodes of the tree touched so far: the cost that tests hold to the change.
  package var work: Int { tree.work }
  package var count: Int { tree.count }
}

// MARK: Places

extension Viewport {
  var isBottomUp: Bool { config.direction == .bottomUp }

  /// The greatest and the least offset of the view's top. A short list hangs at one end.
  var limits: (low: Int64, high: Int64) {
    let high = tree.total &- extent
    if high >= 0 { return (0, high) }
    return isBottomUp ? (high, high) : (0, 0)
  }

  var room: ScrollBar.Room {
    let (low, high) = limits
    return ScrollBar.Room(above: viewTop &- low, below: high &- viewTop)
  }

  /// The index of a row for the host.
  mutating func hostRow(_ node: Int32) -> Int {
    let row = tree.row(node)
    return config.isReversed ? tree.count - 1 - row : row
  }

  /// The offset of a row's edge.
  mutating func edge(_ node: Int32, isBottom: Bool) -> Int64 {
    tree.offset(node) &+ (isBottom ? tree.height(node) : 0)
  }

  /// A row's edge at its place.
  mutating func pin(_ node: Int32, isBottom: Bool) -> Pin {
    Pin(node: node, isBottom: isBottom, place: edge(node, isBottom: isBottom) &- viewTop)
  }

  /// The edge that stays where it is when a row grows.
  var staysBottom: Bool {
    if isPlanted(.otherEdge) { return !isBottomUp }
    return isBottomUp
  }

  /// The edge that a goal puts at a place.
  mutating func pin(of goal: Goal) -> Pin {
    switch goal.kind {
    case .top: Pin(node: goal.node, isBottom: false, place: goal.inset)
    case .bottom: Pin(node: goal.node, isBottom: true, place: extent &- goal.inset)
    case .topEnd: Pin(node: tree.first, isBottom: false, place: 0)
    case .bottomEnd: Pin(node: tree.last, isBottom: true, place: extent)
    }
  }

  /// What holds the list: a goal, an end, or the anchor where it is to stand; nil in an empty list.
  mutating func hold() -> Pin? {
    if tree.count == 0 { return nil }
    if let goal { return pin(of: goal) }
    if isKept, var pin {
      pin.place = pin.place &- slip
      return pin
    }
    let top = Pin(node: tree.first, isBottom: false, place: 0)
    let bottom = Pin(node: tree.last, isBottom: true, place: extent)
    let isAtBottom = isHeldToBottom && !isPlanted(.endNotHeld)
    if isHeldToTop, isAtBottom { return isBottomUp ? bottom : top }
    if isAtBottom { return bottom }
    if isHeldToTop { return top }
    return isBottomUp ? bottom : top
  }

  /// It is the anchor that holds the list.
  private var isKept: Bool {
    goal == nil && pin != nil && !isHeldToTop && (!isHeldToBottom || isPlanted(.endNotHeld))
  }
}

// MARK: Settling

extension Viewport {
  /// Finds the place of the list after heights, rows or the view changed.
  mutating func settle() {
    guard let hold = hold() else {
      (pin, goal, animation, viewTop, slip) = (nil, nil, nil, limits.low, 0)
      noteEnds()
      return bar.jump(to: room, extent: extent)
    }
    let (low, high) = limits
    let offset = edge(hold.node, isBottom: hold.isBottom) &- hold.place
    slip = isKept && !isPlanted(.slipForgotten) ? offset &- offset.clamped(low, high) : 0
    put(at: offset)
    bar.rest(at: room, extent: extent)
  }

  /// Puts the view's top at an offset that was asked for, as far as the list goes.
  mutating func place(at offset: Int64) {
    slip = 0
    put(at: offset)
    noteEnds()
  }

  private mutating func put(at offset: Int64) {
    let (low, high) = limits
    viewTop = isPlanted(.endsIgnored) ? offset : offset.clamped(low, high)
    // What was pulled beyond an end where there is room by now stays as it is drawn. A target is
    // where it is told to be.
    let taken = overscroll.absorb(above: viewTop &- low, below: high &- viewTop)
    if goal == nil {
      viewTop = viewTop &- taken
    } else if taken != 0 {
      overscroll.drop()
    }
    if let pin {
      self.pin = self.pin(pin.node, isBottom: pin.isBottom)
      keepVisible()
    } else {
      pick()
    }
    // It is drawn away from an end that it stood at.
    if taken != 0 { noteEnds() }
  }

  /// Chooses another anchor where this one has left the view.
  mutating func keepVisible() {
    if let pin, extent > 0, slip == 0, !isVisible(pin.node) { pick() }
  }

  mutating func noteEnds() {
    let room = room
    isHeldToTop = config.holdsTop && room.above <= 0
    isHeldToBottom = config.holdsBottom && room.below <= 0
  }

  /// Whether a row is in the view, as it is drawn.
  mutating func isVisible(_ node: Int32) -> Bool {
    isVisible(top: tree.offset(node) &- viewTop &+ overscroll.shift, height: tree.height(node))
  }

  /// Whether a row that is drawn so is in the view.
  func isVisible(top: Int64, height: Int64) -> Bool {
    extent > 0 && height > 0 && top < extent && top &+ height > 0
  }

  /// Makes the first visible row the anchor: the highest, or in a bottom-up list the lowest.
  mutating func pick() {
    let top = viewTop &- overscroll.shift
    let offset = isBottomUp ? top &+ max(extent, 1) &- 1 : top
    var node = tree.find(offset.clamped(0, max(0, tree.total &- 1))).node
    if node == 0 { node = isBottomUp ? tree.last : tree.first }
    pin = node == 0 ? nil : pin(node, isBottom: staysBottom)
  }
}

// MARK: Heights and the view

extension Viewport {
  /// Takes measured heights; keys that are not in the list are left out. Gives how many are.
  package mutating func measure(
    _ heights: [(key: UInt64, height: Int64)]
  ) throws(ViewportError) -> Int {
    for one in heights { try checkLength(one.height) }
    var taken = 0
    for one in heights {
      guard let node = index[one.key] else { continue }
      tree.measure(node, one.height)
      taken += 1
    }
    if taken > 0 { settle() }
    return taken
  }

  /// The view is so high from now on. Where its width changed as well, all heights are old.
  package mutating func resize(_ extent: Int64, heightsAreOld: Bool) throws(ViewportError) {
    try checkLength(extent)
    // A bottom-up list stands on the view's bottom.
    if let pin, pin.isBottom { self.pin?.place = pin.place &+ extent &- self.extent }
    self.extent = extent
    if heightsAreOld { tree.doubtAll() }
    rounds = 0
    settle()
  }
}

// MARK: Reading

extension Viewport {
  package mutating func state() -> ViewportState {
    var state = ViewportState()
    let room = room
    state.rowCount = tree.count
    state.checksum = checksum
    state.layouts = layouts
    (state.visible, state.placed) = (visible, placed)
    if let pin { state.anchor = placedRow(pin.node) }
    state.total = tree.total
    (state.above, state.below) = (room.above, room.below)
    let near = config.near ?? extent
    (state.isNearTop, state.isNearBottom) = (room.above <= near, room.below <= near)
    (state.isHeldToTop, state.isHeldToBottom) = (isHeldToTop, isHeldToBottom)
    state.overscroll = overscroll.shift
    state.isMoving = animation != nil || overscroll.isSpringing
    state.barStart = scaled(1_000_000, bar.start, of: ScrollBar.track)
    state.barSize = scaled(1_000_000, bar.size, of: ScrollBar.track)
    return state
  }

  /// Where a row stands, in the view or not; nil where it is not in the list.
  package mutating func find(_ key: UInt64) -> PlacedRow? {
    guard let node = index[key] else { return nil }
    return placedRow(node)
  }

  /// The row that is drawn at a place of the view; nil where none is.
  package mutating func row(at place: Int64) -> PlacedRow? {
    guard place >= 0, place < extent else { return nil }
    let node = tree.find(viewTop &- overscroll.shift &+ place).node
    return node == 0 ? nil : placedRow(node)
  }

  mutating func placedRow(_ node: Int32) -> PlacedRow {
    placedRow(node, row: hostRow(node), top: tree.offset(node) &- viewTop &+ overscroll.shift)
  }

  func placedRow(_ node: Int32, row: Int, top: Int64) -> PlacedRow {
    let height = tree.height(node)
    return PlacedRow(
      row: row, key: tree[node].key, top: top, height: height, isMeasured: tree.isMeasured(node),
      isVisible: isVisible(top: top, height: height))
  }
}
