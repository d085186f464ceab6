/// What must hold after each step.
import Base

@testable import Viewport

extension Screen {
  /// The reference stands where the viewport does, row by row.
  mutating func agree() throws {
    let state = viewport.state()
    try must(state.rowCount == rows.count, "as many rows")
    try must(
      viewport.viewTop == reference.viewTop,
      "the view's top \(viewport.viewTop) is the reference's \(reference.viewTop)")
    let (low, high) = reference.limits
    try must((low...high).contains(viewport.viewTop), "the view stays within the list")
    try must(state.anchor?.key == reference.pin?.key, "the anchor is the reference's")
    try must(
      state.isHeldToTop == reference.isHeldToTop
        && state.isHeldToBottom == reference.isHeldToBottom,
      "it is held to the reference's ends")
    try must(state.total == reference.total, "the total is the reference's")
    // Order and heights of all rows; what the tree sums up of them for some, and all in the view.
    let nodes = viewport.tree.rows(of: viewport.tree.root)
    for (at, node) in nodes.enumerated() {
      let row = reference.rows[at]
      try must(viewport.tree[node].key == row.key, "the order is the reference's")
      try must(viewport.tree.height(node) == reference.height(at), "a height is the reference's")
      let isKnown = row.known != nil && !row.isOld
      try must(viewport.tree.isMeasured(node) == isKnown, "what is known is told")
    }
    var asked = reference.rowsInView
    for _ in 0..<min(4, rows.count) { asked.append(random.below(rows.count)) }
    for at in asked {
      let key = reference.rows[at].key
      let host = viewport.config.isReversed ? rows.count - 1 - at : at
      let found = viewport.find(key)
      try must(found?.row == host && rows[host].key == key, "a key is found at its index")
      try must(found?.top == reference.drawn(at), "a row stands at the reference's place")
    }
    var checksum: UInt64 = 0
    var previous: UInt64 = 0
    for row in rows {
      checksum &+= checksumTerm(previous, number: row.key)
      previous = row.key
    }
    try must(state.checksum == checksum, "the checksum is that of the keys")
    try barIsMonotone(state)
  }

  private mutating func barIsMonotone(_ state: ViewportState) throws {
    let bar = viewport.bar
    try must(bar.start >= 0 && bar.size >= 0, "the bar is on its track")
    try must(bar.start + bar.size <= ScrollBar.track, "the bar is on its track")
    if state.above == 0, state.below == 0 {
      try must(bar.start == 0 && bar.size == ScrollBar.track, "a short list has a whole bar")
      way = 0
    }
    if way > 0 { try must(bar.start >= barStart, "the bar does not go up on the way down") }
    if way < 0 { try must(bar.start <= barStart, "the bar does not go down on the way up") }
    if way > 0, state.below == 0 {
      try must(bar.start + bar.size == ScrollBar.track, "at the bottom the bar is")
    }
    if way < 0, state.above == 0 { try must(bar.start == 0, "at the top the bar is") }
    barStart = bar.start
  }

  /// The anchor stays where it is, and every other visible row that was not touched moves by what
  /// heights between it and the anchor have changed.
  func stays(since before: Reference, _ what: String) throws {
    // A scroll to, and an end of the list, move everything.
    if reference.goal != nil || before.goal != nil || reference.wasClamped { return }
    if before.extent != reference.extent { return }
    // What was drawn beside its place goes back there.
    if before.slip != 0 || reference.slip != 0 { return }
    guard let pin = before.pin else { return }
    let isBottomUp = before.isBottomUp
    let wasHeld = before.isHeldToTop || before.isHeldToBottom
    var found: [(was: Int, now: Int)] = []
    for was in before.rowsInView {
      let key = before.rows[was].key
      guard !moved.contains(key), let now = reference.at(key) else { continue }
      found.append((was, now))
    }
    func height(_ list: Reference, _ from: Int, _ to: Int) -> Int64 {
      from <= to
        ? (from..<to).reduce(0) { $0 + list.height($1) }
        : -(to..<from).reduce(0) { $0 + list.height($1) }
    }
    if wasHeld {
      // A short list hangs at one end, whichever it is held to.
      if before.total < before.extent { return }
      // The end is the anchor.
      let isBottom = before.isHeldToBottom && (isBottomUp || !before.isHeldToTop)
      for (was, now) in found {
        let old = isBottom ? height(before, was, before.rows.count) : height(before, 0, was)
        let new = isBottom ? height(reference, now, rows.count) : height(reference, 0, now)
        guard let row = viewport.peek(before.rows[was].key) else { continue }
        try must(
          row.top - before.drawn(was) == (isBottom ? old - new : new - old),

          "\(what): a row of a held list moves by what changed up to the end")
      }
      return
    }
    // Where the anchor was moved or taken out, a visible row has its place.
    var key = pin.key
    if moved.contains(key) || reference.at(key) == nil {
      guard let heir = reference.pin?.key,
        found.contains(where: { before.rows[$0.was].key == heir })
      else { return }
      key = heir
    }
    guard let wasAnchor = before.at(key), let anchor = reference.at(key) else { return }
    let old = before.drawn(wasAnchor) + (isBottomUp ? before.height(wasAnchor) : 0)
    guard let row = viewport.peek(key) else { return }
    let new = row.top + (isBottomUp ? row.height : 0)
    try must(old == new, "\(what): the anchor moves by exactly 0")
    for (was, now) in found {
      guard let row = viewport.peek(before.rows[was].key) else { continue }
      let edge: Int64
      let wasBetween: Int64
      let isBetween: Int64
      if isBottomUp {
        edge = row.top + row.height - before.drawn(was) - before.height(was)
        wasBetween = height(before, wasAnchor + 1, was + 1)
        isBetween = height(reference, anchor + 1, now + 1)
      } else {
        edge = row.top - before.drawn(was)
        wasBetween = height(before, wasAnchor, was)
        isBetween = height(reference, anchor, now)
      }
      try must(edge == isBetween - wasBetween, "\(what): a row moves by what changed in between")
    }
  }

  /// A scroll moves every row by as much, and by all of it unless the list ends.
  func moves(by delta: Int64, since before: Reference) throws {
    let scrolled = reference.viewTop - before.viewTop - (reference.shift - before.shift)
    if !reference.wasClamped, before.shift == 0, !before.rows.isEmpty {
      try must(scrolled == delta, "a scroll goes as far as it was told")
    }
    for at in before.rowsInView {
      guard let row = viewport.peek(before.rows[at].key) else { continue }
      try must(row.top - before.drawn(at) == -scrolled, "a scroll moves all rows by as much")
    }
  }

  /// Placed rows cover the view and its margins, each once, in order.
  func covers(_ layout: Layout) throws {
    let margin = reference.config.margin
    let wanted = reference.rows.indices.filter {
      reference.height($0) > 0 && reference.extent + margin > 0
        && reference.drawn($0) < reference.extent + margin
        && reference.drawn($0) + reference.height($0) > -margin
    }
    try must(
      layout.rows.map(\.key) == wanted.map { reference.rows[$0].key },
      "the rows to place are those in the view and its margins")
    for (row, at) in zip(layout.rows, wanted) {
      try must(
        row.top == reference.drawn(at) && row.height == reference.height(at), "placed where it is")
      try must(row.isVisible == reference.isVisible(at), "what is visible is told")
    }
    for (row, next) in zip(layout.rows, layout.rows.dropFirst()) {
      try must(row.top + row.height == next.top, "each row begins where the one above ends")
    }
    for missing in layout.missing {
      try must(!missing.isMeasured, "what is measured is not asked for")
    }
    try must(
      Set(layout.missing.map(\.key)).count == layout.missing.count, "nothing is asked for twice")
    if !layout.isComplete {
      let asked = Set(layout.missing.map(\.key))
      for row in layout.rows where !row.isMeasured {
        try must(asked.contains(row.key), "what is placed without a height is asked for")
      }
    } else {
      try must(layout.rows.allSatisfy(\.isMeasured), "a complete layout knows all its rows")
    }
  }

  /// What is told of the last layout is that layout.
  mutating func shown(_ layout: Layout) throws {
    let state = viewport.state()
    let visible = layout.rows.filter(\.isVisible).map(\.row)
    try must(state.placed.count >= layout.rows.count, "placed rows are told")
    try must(
      visible.isEmpty || state.visible == visible.min()!..<visible.max()! + 1,
      "visible rows are told")
    for row in layout.rows where row.isVisible {
      let place = min(max(row.top, 0), viewport.extent - 1)
      try must(viewport.row(at: place)?.key == row.key, "the row at a place is the one drawn there")
    }
    if let anchor = state.anchor, !visible.isEmpty {
      let first =
        reference.isBottomUp
        ? layout.rows.last(where: \.isVisible) : layout.rows.first(where: \.isVisible)
      try must(anchor.key == first?.key, "the anchor is the first visible row")
    }
  }

  /// After all that came since the last complete layout the anchor stands where it stood, unless
  /// the list ends by the heights that its rows have: an estimate moves nothing.
  ///
  /// - Parameter isSmaller: rows were less high than the host had said.
  mutating func keeps(_ isSmaller: Bool) throws {
    defer {
      let isHeld = reference.isHeldToTop || reference.isHeldToBottom
      kept = nil
      if let pin = reference.pin, !isHeld, reference.shift == 0, reference.extent > 0,
        let row = viewport.peek(pin.key), row.isVisible
      {
        kept = (pin.key, row.top + (pin.isBottom ? row.height : 0))
      }
    }
    guard let kept, reference.shift == 0, !isSmaller else { return }
    let list = viewport.config.isReversed ? rows.reversed() : rows
    guard let at = list.firstIndex(where: { $0.key == kept.key }) else { return }
    // Of a row that was updated, or is as the old width had it, the height is the host's.
    let above = list[..<at].reduce(0) { $0 + $1.height }
    let total = list.reduce(0) { $0 + $1.height }
    let edge = above + (reference.isBottomUp ? list[at].height : 0)
    let high = total - reference.extent
    let (low, top) = (high >= 0 ? 0 : reference.isBottomUp ? high : 0, edge - kept.edge)
    let wanted = min(max(top, low), max(high, low))
    guard let row = viewport.peek(kept.key) else { return }
    let found = edge - (row.top + (reference.isBottomUp ? row.height : 0))
    try must(found == wanted, "the anchor is \(found - wanted) off, as estimates had it")
  }

  /// What was scrolled to is there, unless the list ends.
  mutating func lands() throws {
    defer { asked = nil }
    guard let asked else { return }
    let state = viewport.state()
    let row = asked.key.flatMap { viewport.find($0) }
    var wanted: Int64?
    var found: Int64?
    switch asked {
    case .topEnd: return try must(state.above == 0, "the top end is reached")
    case .bottomEnd: return try must(state.below == 0, "the bottom end is reached")
    case .top(_, let inset): (wanted, found) = (inset, row?.top)
    case .bottom(_, let inset):
      wanted = viewport.extent - inset
      found = row.map { $0.top + $0.height }
    }
    guard let wanted, let found else { return }
    let place = found - viewport.overscroll.shift
    if place == wanted { return }
    // Rows beyond an end would be needed to bring it there.
    try must(
      place > wanted ? state.below == 0 : state.above == 0, "a scroll to a row lands exactly")
  }
}

extension Viewport {
  /// Reads without counting as work, so that rules can be asked of a constant.
  func peek(_ key: UInt64) -> PlacedRow? {
    var copy = self
    return copy.find(key)
  }
}
