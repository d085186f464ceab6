/// The loop between host and viewport: rows to place, rows to measure, again.
///
/// A layout that finds a row without a height asks for all rows that may turn out to be in the
/// view, each taken for as small as a row can be. So when these were measured the next layout is
/// complete. Hosts whose rows are smaller, or whose heights depend on each other, go round more
/// often, and not for ever.
internal import Base

extension Viewport {
  package mutating func layout() -> Layout {
    settle()
    rounds += 1
    var layout = Layout()
    layout.rows = rowsToPlace()
    // Where the list ends before the anchor has its place, that is to be by what was measured.
    if rounds <= Limits.viewportRoundsMax,
      slip != 0 || layout.rows.contains(where: { !$0.isMeasured })
    {
      layout.missing = rowsToMeasure()
      // Of a host whose rows are smaller than it said, estimates may be, too.
      if layout.isComplete { layout.missing = layout.rows.filter { !$0.isMeasured } }
    }
    if layout.isComplete { complete(layout.rows) }
    return layout
  }

  /// Everything that is shown is measured: the target is reached, and the anchor is chosen anew.
  private mutating func complete(_ rows: [PlacedRow]) {
    rounds = 0
    layouts &+= 1
    (goal, slip) = (nil, 0)
    pick()
    noteEnds()
    visible = Self.range(rows.filter(\.isVisible))
    placed = Self.range(rows)
  }

  private static func range(_ rows: [PlacedRow]) -> Range<Int> {
    guard let first = rows.first, let last = rows.last else { return 0..<0 }
    return min(first.row, last.row)..<max(first.row, last.row) + 1
  }

  // MARK: Placing

  /// The rows in the view and its margins, from top to bottom.
  private mutating func rowsToPlace() -> [PlacedRow] {
    var rows: [PlacedRow] = []
    let low = viewTop &- overscroll.shift &- config.margin
    let end = low &+ extent &+ 2 &* config.margin
    guard end > low else { return [] }
    var (node, offset) = tree.find(max(0, low))
    var row = node == 0 ? 0 : hostRow(node)
    let step = config.isReversed ? -1 : 1
    while node != 0, offset < end, rows.count < Limits.viewportPlacedMax {
      let top = offset &- viewTop &+ overscroll.shift
      rows.append(placedRow(node, row: row, top: top))
      offset = offset &+ tree.height(node)
      row += step
      node = tree.next(node)
      // Rows without height are nowhere, and are many where a host hides them.
      if node != 0, tree.height(node) == 0 {
        node = tree.find(offset).node
        row = node == 0 ? 0 : hostRow(node)
      }
    }
    if isPlanted(.edgeRowLeftOut), rows.count > 2 { rows.removeLast() }
    return rows
  }

  // MARK: Measuring

  /// One way out from what holds the list.
  private struct Walk {
    var node: Int32
    /// How far it is from the view's top if rows are as small as they can be.
    var place: Int64
    var isDown: Bool
  }

  /// Rows without a height that may be in the view once they have one, from top to bottom.
  private mutating func rowsToMeasure() -> [PlacedRow] {
    guard let hold = heldInView(), !isPlanted(.askedByEstimate) else { return [] }
    let more = config.margin &+ max(overscroll.shift, 0 &- overscroll.shift)
    var above: [Int32] = []
    var below: [Int32] = []
    var down = Walk(node: hold.node, place: hold.place, isDown: true)
    var up = Walk(node: hold.node, place: hold.place, isDown: false)
    // The row itself lies on that side of its edge.
    if hold.isBottom {
      down.node = tree.next(hold.node)
    } else {
      up.node = tree.previous(hold.node)
    }
    collect(&down, until: extent &+ more, &below)
    // Where rows end before the view does, all go down by as much at most, or up.
    let short = down.node == 0 ? max(0, extent &- down.place) : 0
    collect(&up, until: 0 &- more &- short, &above)
    if up.node == 0, up.place > 0 { collect(&down, until: extent &+ more &+ up.place, &below) }
    return (above.reversed() + below).map { placedRow($0) }
  }

  /// What holds the list, in the view: where it is not, the row that is there by all estimates.
  private mutating func heldInView() -> Pin? {
    guard let hold = hold() else { return nil }
    if goal != nil || isHeldToTop || isHeldToBottom { return hold }
    if extent > 0, slip == 0, !isVisible(hold.node) {
      pick()
      return pin
    }
    return hold
  }

  private mutating func collect(_ walk: inout Walk, until end: Int64, _ rows: inout [Int32]) {
    while walk.node != 0, walk.isDown ? walk.place < end : walk.place > end {
      let node = walk.node
      let isMeasured = tree.isMeasured(node)
      let known = tree.height(node)
      let height = isMeasured ? known : min(known, config.heightMin)
      if !isMeasured {
        if rows.count >= Limits.viewportPlacedMax / 2 { return }
        rows.append(node)
      }
      walk.place = walk.isDown ? walk.place &+ height : walk.place &- height
      walk.node = walk.isDown ? tree.next(node) : tree.previous(node)
      if isMeasured, height == 0, walk.node != 0 { skipHidden(&walk) }
    }
  }

  /// Goes on behind rows that are nowhere.
  private mutating func skipHidden(_ walk: inout Walk) {
    guard tree.height(walk.node) == 0 else { return }
    let offset = tree.offset(walk.node)
    walk.node = tree.find(walk.isDown ? offset : offset &- 1).node
  }
}
