/// The steps from a list to the next one, and what stays where it is.
///
/// The anchor stays. Where it is taken out or moved, the nearest visible row that was neither takes
/// its place: first those on the side to which rows move, then the others; and where none is left,
/// the row that stands at its place then. A step costs O(log n) and the rows that it touches.
package import Base

extension Viewport {
  /// Applies steps. `key` and `kind` give the key and the class of a row of the list as it is after
  /// them; they are asked for new rows only. Nothing changes where something is refused.
  package mutating func update(
    _ steps: [DiffOp], keyCount: Int, key: (Int) -> UInt64, kind: (Int) -> UInt32
  ) throws(ViewportError) {
    if steps.isEmpty { return }
    let after = try count(after: steps)
    let inserts = steps.contains { $0.kind == .insert }
    guard keyCount == after || keyCount == 0 && !inserts else {
      throw .invalid("there is not one key for each row")
    }
    var edit = Edit(anchor: pin?.node, goal: goalRow, isBottomUp: isBottomUp)
    if steps.contains(where: { $0.kind == .remove || $0.kind == .move }) {
      edit.candidates = candidates()
    }
    for step in steps { apply(step, &edit) }
    do throws(ViewportError) {
      try name(&edit, key, kind)
    } catch {
      undo(edit)
      throw error
    }
    if goal?.isPassing ?? false { goal = nil }
    finish(edit)
    rounds = 0
    settle()
  }

  /// The row that a target or an animation goes to.
  private var goalRow: Int32? {
    guard let goal = animation?.goal ?? goal, goal.node != 0 else { return nil }
    return goal.node
  }

  /// How many rows there are after the steps. Refuses steps that no list has.
  private func count(after steps: [DiffOp]) throws(ViewportError) -> Int {
    var count = tree.count
    for step in steps {
      guard step.row >= 0, step.count >= 0, step.from >= 0 else {
        throw .invalid("a step has a number below 0")
      }
      switch step.kind {
      case .insert:
        guard step.row <= count else { throw .invalid("a step is beyond the list") }
        guard step.count <= Limits.viewportRowsMax - count else {
          throw .tooLarge("the list has over 1,048,576 rows")
        }
        count += step.count
      case .remove, .update:
        guard step.row <= count, step.count <= count - step.row else {
          throw .invalid("a step is beyond the list")
        }
        if step.kind == .remove { count -= step.count }
      case .move:
        guard step.row < count, step.from < count, step.count == 1 else {
          throw .invalid("a step is beyond the list")
        }
      }
    }
    return count
  }

  /// The visible rows beside the anchor in the order in which they take its place, each pinned
  /// where it is.
  private mutating func candidates() -> [Pin] {
    guard let pin, extent > 0 else { return [] }
    var pins: [Pin] = []
    for isDown in [!isBottomUp, isBottomUp] {
      var node = isDown ? tree.next(pin.node) : tree.previous(pin.node)
      while node != 0, pins.count < Limits.viewportPlacedMax {
        let height = tree.height(node)
        let edge = self.pin(node, isBottom: staysBottom)
        let top = edge.place &- (staysBottom ? height : 0) &+ overscroll.shift
        if isDown ? top >= extent : top &+ height <= 0 { break }
        if isVisible(top: top, height: height) { pins.append(edge) }
        node = isDown ? tree.next(node) : tree.previous(node)
        if height == 0, node != 0, tree.height(node) == 0 {
          node = tree.find(tree.offset(node) &- (isDown ? 0 : 1)).node
        }
      }
    }
    return pins
  }
}

// MARK: One update

/// Steps that were made, with all that undoing them takes.
private struct Edit {
  /// A row that is followed through the steps, or the place at which it was taken out.
  enum Place {
    case row(Int32)
    case gap(Int)
  }

  enum Made {
    case inserted(Range<Int>)
    case removed([Int32], at: Int)
    case moved(from: Int, to: Int)
    case doubted(Int32, HeightTree.Knowledge)
  }

  var anchor: Place?
  var goal: Place?
  var candidates: [Viewport.Pin] = []
  let isBottomUp: Bool
  var made: [Made] = []
  /// New rows, removed ones, moved ones, and those before or behind which another row stands now.
  var fresh: [Int32] = []
  var gone: [Int32] = []
  var moved: Set<Int32> = []
  var doubtful: [Int32] = []

  init(anchor: Int32?, goal: Int32?, isBottomUp: Bool) {
    self.anchor = anchor.map(Place.row)
    self.goal = goal.map(Place.row)
    self.isBottomUp = isBottomUp
  }

  mutating func inserted(_ rows: Range<Int>) {
    shift(&anchor, inserted: rows)
    shift(&goal, inserted: rows)
  }

  mutating func removed(_ nodes: [Int32], at row: Int) {
    shift(&anchor, removed: nodes, at: row)
    shift(&goal, removed: nodes, at: row)
  }

  /// A target goes along with its row; what stands still does not.
  mutating func takenOut(_ node: Int32, at row: Int) {
    shift(&anchor, removed: [node], at: row)
    if case .gap = goal { shift(&goal, removed: [node], at: row) }
  }

  private func shift(_ place: inout Place?, inserted rows: Range<Int>) {
    guard case .gap(let gap) = place else { return }
    // What comes right there takes the place: from the side from which rows move.
    if isBottomUp ? rows.lowerBound <= gap : rows.lowerBound < gap {
      place = .gap(gap + rows.count)
    }
  }

  private func shift(_ place: inout Place?, removed nodes: [Int32], at row: Int) {
    switch place {
    case .row(let node): if nodes.contains(node) { place = .gap(row) }
    case .gap(let gap): if gap > row { place = .gap(max(row, gap - nodes.count)) }
    case nil: break
    }
  }
}

extension Viewport {
  /// Makes a step. Rows are counted from the top here, whichever way the host counts.
  private mutating func apply(_ step: DiffOp, _ edit: inout Edit) {
    let count = tree.count
    let reversed = config.isReversed
    switch step.kind {
    case .insert:
      if step.count == 0 { return }
      let row = reversed ? count - step.row : step.row
      insert(row..<row + step.count, &edit)
    case .remove:
      if step.count == 0 { return }
      let row = reversed ? count - step.row - step.count : step.row
      remove(row..<row + step.count, &edit)
    case .update:
      let row = reversed ? count - step.row - step.count : step.row
      var node = tree.node(at: row)
      for _ in 0..<step.count where !isPlanted(.updateForgotten) {
        edit.made.append(.doubted(node, tree[node].knowledge))
        tree.doubt(node)
        node = tree.next(node)
      }
    case .move:
      let (from, to) =
        reversed ? (count - 1 - step.from, count - 1 - step.row) : (step.from, step.row)
      move(from, to, &edit)
    }
  }

  private mutating func insert(_ rows: Range<Int>, _ edit: inout Edit) {
    var row = rows.lowerBound
    if isPlanted(.insertedBehind), let pin, !tree[pin.node].isGone, tree.row(pin.node) == row {
      row += 1
    }
    let run = rows.map { _ in tree.make() }
    noteNeighbors(of: row, &edit)
    tree.insert(run, at: row)
    edit.fresh += run
    edit.made.append(.inserted(row..<row + run.count))
    edit.inserted(row..<row + run.count)
  }

  private mutating func remove(_ rows: Range<Int>, _ edit: inout Edit) {
    let run = tree.rows(of: tree.cut(rows))
    for node in run { tree[node].isGone = true }
    noteNeighbors(of: rows.lowerBound, &edit)
    edit.gone += run
    edit.made.append(.removed(run, at: rows.lowerBound))
    edit.removed(run, at: rows.lowerBound)
  }

  private mutating func move(_ from: Int, _ to: Int, _ edit: inout Edit) {
    let node = tree.cut(from..<from + 1)
    noteNeighbors(of: from, &edit)
    edit.takenOut(node, at: from)
    noteNeighbors(of: to, &edit)
    tree.paste(node, at: to)
    edit.inserted(to..<to + 1)
    edit.moved.insert(node)
    edit.doubtful.append(node)
    edit.made.append(.moved(from: from, to: to))
  }

  /// The rows between which a place is: what the checksum says of them is no more true.
  private mutating func noteNeighbors(of row: Int, _ edit: inout Edit) {
    for row in [row - 1, row] {
      let node = tree.node(at: row)
      if node != 0 { edit.doubtful.append(node) }
    }
  }

  /// Gives new rows their keys and classes.
  private mutating func name(
    _ edit: inout Edit, _ key: (Int) -> UInt64, _ kind: (Int) -> UInt32
  ) throws(ViewportError) {
    var added: Set<UInt64> = []
    added.reserveCapacity(edit.fresh.count)
    for node in edit.fresh where !tree[node].isGone {
      let row = hostRow(node)
      let (key, kind) = (key(row), kind(row))
      guard kind < Limits.viewportClasses else { throw .invalid("a class is over 7") }
      let isThere = index[key].map { !tree[$0].isGone } ?? false
      guard !isThere, added.insert(key).inserted else { throw .invalid("two rows have one key") }
      tree.name(node, key: key, kind: UInt8(truncatingIfNeeded: kind))
    }
  }

  /// Takes all steps back.
  private mutating func undo(_ edit: Edit) {
    for made in edit.made.reversed() {
      switch made {
      case .inserted(let rows): _ = tree.cut(rows)
      case .removed(let run, let row):
        for node in run { tree[node].isGone = false }
        tree.insert(run, at: row)
      case .moved(let from, let to):
        let node = tree.cut(to..<to + 1)
        tree.paste(node, at: from)
      case .doubted(let node, let knowledge): tree.restore(node, knowledge)
      }
    }
    for node in edit.fresh { tree.release(node) }
  }

  /// Makes the steps last: keys, checksum, anchor and target.
  private mutating func finish(_ edit: Edit) {
    var isFresh: Set<Int32> = []
    for node in edit.gone {
      // A row that came and went in one update has no key.
      checksum &-= tree[node].term
      if index[tree[node].key] == node { index[tree[node].key] = nil }
    }
    for node in edit.fresh where !tree[node].isGone {
      index[tree[node].key] = node
      isFresh.insert(node)
      sumUp(node)
    }
    for node in edit.doubtful where !tree[node].isGone && !isFresh.contains(node) { sumUp(node) }
    moveAnchor(edit)
    for node in edit.gone { tree.release(node) }
  }

  /// The checksum's term of a row, anew.
  private mutating func sumUp(_ node: Int32) {
    let before = config.isReversed ? tree.next(node) : tree.previous(node)
    let term = checksumTerm(before == 0 ? 0 : tree[before].key, number: tree[node].key)
    checksum &+= term &- tree[node].term
    tree[node].term = term
  }

  /// Finds the anchor and the target where their rows went.
  private mutating func moveAnchor(_ edit: Edit) {
    if case .gap(let gap) = edit.anchor, let was = pin {
      let left = edit.candidates.first { !tree[$0.node].isGone && !edit.moved.contains($0.node) }
      if let left, !isPlanted(.anchorLost) {
        pin = left
      } else {
        let node = row(at: gap)
        pin = node == 0 ? nil : Pin(node: node, isBottom: was.isBottom, place: was.place)
      }
    }
    if case .gap(let gap) = edit.goal, let goal = animation?.goal ?? goal {
      // One that was taken out and put in again is the same row to whoever looks for it.
      let node = index[tree[goal.node].key] ?? row(at: gap)
      if node == 0 { (self.goal, animation) = (nil, nil) }
      self.goal?.node = node
      animation?.goal.node = node
    }
  }

  /// The row that stands at a place now.
  private mutating func row(at gap: Int) -> Int32 {
    let row = isBottomUp ? gap - 1 : gap
    return tree.node(at: row.clamped(0, max(0, tree.count - 1)))
  }
}
