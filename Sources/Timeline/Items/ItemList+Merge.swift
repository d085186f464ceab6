/// The second phase of a change: from the items that the host has to those that are there now.
///
/// It looks at the rows that changed and at their neighbours only. The steps are made on the list
/// itself, in a fixed order: items that go, items that stand elsewhere, items that come, and at
/// last those that look different.
package import Base

extension ItemList {
  /// What the rows are that `rowsWanted` named, in its order, and before which row the unread line
  /// stands. Gives the steps that lead to the new list.
  package mutating func merge(_ rows: [ItemRow], line: Int?) -> [DiffOp] {
    var merge = Merge(list: ItemList())
    // One owner at a time, so that nothing is copied.
    swap(&self, &merge.list)
    merge.run(rows, line: line)
    swap(&self, &merge.list)
    return merge.steps
  }
}

/// A key on its way to another node.
private struct Claim {
  var ghost: UInt32
  var heir: UInt32
  /// The message that brings it stands where it stood and folds as before.
  var isFirm: Bool
  /// The place that its item had.
  var index: Int
}

private struct Merge {
  var list: ItemList
  var steps: [DiffOp] = []
  /// Rows that changed, and their neighbours.
  private var near: [UInt32] = []
  /// Starts of items that came or stand elsewhere: their looks are new.
  private var changed: [UInt32] = []

  init(list: ItemList) {
    self.list = list
  }

  mutating func run(_ rows: [ItemRow], line: Int?) {
    adopt(rows)
    draw(line: line)
    lookAround()
    for node in near { regroup(node) }
    spreadOpen()
    moveKeys()
    markLosses()
    redraw()
    settle()
    if !steps.isEmpty { list.version &+= 1 }
  }

  // MARK: What the rows are

  private mutating func adopt(_ rows: [ItemRow]) {
    var gone: [UInt64: UInt32] = [:]
    for ghost in list.ghosts where list.entries[Int(ghost)].twin == 0 {
      gone[list.entries[Int(ghost)].number] = ghost
    }
    for (node, row) in zip(list.wanted, rows) {
      list.entries[Int(node)].isWanted = false
      let entry = list.entries[Int(node)]
      if entry.isFresh, entry.twin == 0, let ghost = gone.removeValue(forKey: row.number) {
        // It went and came again: the same message.
        list.pair(ghost, node)
      }
      // One that folds otherwise than before holds the place of its item no more.
      var target = node
      if let content = row.content, !entry.isFresh, content.fold != entry.fold,
        !list.isPlanted(.otherKindKeepsKey)
      {
        target = rebirth(node)
      }
      list.entries[Int(target)].number = row.number
      list.entries[Int(target)].split = row.split
      if let content = row.content { fill(target, content) }
      list.sync(target)
    }
    list.wanted.removeAll(keepingCapacity: true)
  }

  private mutating func rebirth(_ node: UInt32) -> UInt32 {
    let copy = list.copy(of: node)
    list.leave(node)
    let heir = list.enter(copy, before: list.tree.next(node))
    list.pair(node, heir)
    list.entries[Int(heir)].isChanged = true
    return heir
  }

  private mutating func fill(_ node: UInt32, _ content: ItemContent) {
    var entry = list.entries[Int(node)]
    let sender = list.senderTable.retain(content.sender)
    list.senderTable.release(entry.sender)
    entry.sender = sender
    entry.hasTime = content.timeUs != nil
    entry.timeUs = content.timeUs ?? 0
    entry.day = content.day ?? 0
    entry.fold = content.fold
    entry.isEvent = content.isEvent
    entry.bits = content.bits
    list.entries[Int(node)] = entry
  }

  private mutating func draw(line: Int?) {
    let node = line.map { list.tree.node(.rows, at: $0) } ?? 0
    if node == list.line { return }
    if list.line != 0 {
      list.entries[Int(list.line)].isLine = false
      list.touch(list.line)
    }
    if node != 0 {
      list.entries[Int(node)].isLine = true
      list.touch(node)
    }
    list.line = node
  }

  // MARK: What folds together

  /// Each row that changed with the rows before and behind it.
  private mutating func lookAround() {
    var index = 0
    while index < list.touched.count {
      let node = list.touched[index]
      index += 1
      list.entries[Int(node)].isTouched = false
      guard list.entries[Int(node)].isUsed else { continue }
      let row = list.tree.before(node)[.rows]
      let isLive = !list.entries[Int(node)].isGhost
      if isLive { add(node) }
      if list.isPlanted(.neighbourForgotten) { continue }
      add(list.tree.node(.rows, at: row - 1))
      add(list.tree.node(.rows, at: isLive ? row + 1 : row))
    }
    list.touched.removeAll(keepingCapacity: true)
  }

  private mutating func add(_ node: UInt32) {
    list.touches += 1
    if node == 0 || list.entries[Int(node)].isNear { return }
    list.entries[Int(node)].isNear = true
    near.append(node)
  }

  private mutating func neighbour(_ node: UInt32, _ step: Int) -> UInt32 {
    list.tree.node(.rows, at: list.tree.before(node)[.rows] + step)
  }

  /// Whether a fold begins at a row.
  private mutating func regroup(_ node: UInt32) {
    let before = list.entries[Int(neighbour(node, -1))]
    let entry = list.entries[Int(node)]
    let isLine = entry.isLine && !list.isPlanted(.lineSpanned)
    let isDay = isNewDay(before, entry) && !list.isPlanted(.daySpanned)
    let isDrawnBetween = entry.split != .none || isLine || isDay
    let folds = before.isUsed && entry.fold != 0 && before.fold == entry.fold && !isDrawnBetween
    if entry.fold == 0 { list.entries[Int(node)].isOpened = false }
    if entry.isFoldStart == folds {
      list.entries[Int(node)].isFoldStart = !folds
      list.sync(node)
    }
  }

  private func isNewDay(_ before: ItemList.Entry, _ entry: ItemList.Entry) -> Bool {
    // What has no time yet stands behind all others, and begins no day.
    entry.hasTime && (!before.isUsed || before.hasTime && before.day != entry.day)
  }

  /// A fold of which one message was opened is open: the others follow.
  private mutating func spreadOpen() {
    if list.isPlanted(.openNotSpread) { return }
    var index = 0
    while index < near.count {
      let node = near[index]
      index += 1
      guard list.entries[Int(node)].isOpened else { continue }
      var next = node
      while !list.entries[Int(next)].isFoldStart {
        next = neighbour(next, -1)
        if !open(next) { break }
      }
      next = neighbour(node, 1)
      while next != 0, !list.entries[Int(next)].isFoldStart, open(next) {
        next = neighbour(next, 1)
      }
    }
  }

  /// False where it is open.
  private mutating func open(_ node: UInt32) -> Bool {
    if node == 0 || list.entries[Int(node)].isOpened { return false }
    list.entries[Int(node)].isOpened = true
    add(node)
    return true
  }

  private func begins(_ node: UInt32) -> Bool {
    let entry = list.entries[Int(node)]
    return entry.isUsed && !entry.isGhost && (entry.isFoldStart || entry.isOpened)
  }

  /// The row at which the item of a row begins.
  private mutating func start(of node: UInt32) -> UInt32 {
    if list.entries[Int(node)].isOpened { return node }
    let weights = list.tree.weights(of: node)
    return list.tree.node(
      .folds, at: list.tree.before(node)[.folds] + weights[.folds] - 1)
  }

  // MARK: Keys

  private mutating func moveKeys() {
    var leaving: [(index: Int, node: UInt32)] = []
    for node in near + list.ghosts
    where list.entries[Int(node)].isItem && !begins(node) {
      // What was an item is part of another one.
      list.entries[Int(node)].isChanged = true
      leaving.append((list.tree.before(node)[.items], node))
    }
    leaving.order { $0.index < $1.index }
    var claims: [UInt32: Claim] = [:]
    for (index, node) in leaving {
      guard var claim = claim(of: node), !list.isPlanted(.firstLost) else { continue }
      claim.index = index
      // An item that begins where it began keeps its own key.
      if list.entries[Int(claim.heir)].isItem { continue }
      // They come in the order of their items.
      if let other = claims[claim.heir], other.isFirm || !claim.isFirm,
        !list.isPlanted(.newerKeyStays)
      {
        continue
      }
      claims[claim.heir] = claim
    }
    let won = Array(claims.values).ordered { $0.index < $1.index }
    let winners = Set(won.map(\.ghost))
    remove(leaving.filter { !winners.contains($0.node) })
    for claim in won { shift(claim) }
    insert()
  }

  /// To which item the key of one goes that does not begin where it began.
  private mutating func claim(of node: UInt32) -> Claim? {
    var twin: UInt32 = 0
    var next = node
    repeat {
      let entry = list.entries[Int(next)]
      if !entry.isGhost, !entry.isFresh {
        return Claim(ghost: node, heir: start(of: next), isFirm: true, index: 0)
      }
      if entry.isGhost, twin == 0 { twin = entry.twin }
      list.touches += 1
      next = list.tree.next(next)
    } while next != 0 && !list.entries[Int(next)].isItem
    if twin == 0 { return nil }
    return Claim(ghost: node, heir: start(of: twin), isFirm: false, index: 0)
  }

  private mutating func remove(_ items: [(index: Int, node: UInt32)]) {
    for (index, node) in items.reversed() {
      list.holders[list.entries[Int(node)].key] = nil
      set(node, isItem: false)
      if let last = steps.last, last.row == index + 1 {
        steps[steps.count - 1] = DiffOp(.remove, row: index, count: last.count + 1)
      } else {
        steps.append(DiffOp(.remove, row: index))
      }
    }
    turn(from: 0, count: list.count + items.count)
  }

  /// A key goes to another node, which may stand elsewhere.
  private mutating func shift(_ claim: Claim) {
    let from = list.tree.before(claim.ghost)[.items]
    let old = list.entries[Int(claim.ghost)]
    let key = old.key
    set(claim.ghost, isItem: false)
    list.entries[Int(claim.heir)].key = key
    // What the host has drawn of it.
    list.entries[Int(claim.heir)].marks = old.marks
    list.entries[Int(claim.heir)].gapUs = old.gapUs
    list.entries[Int(claim.heir)].rows = old.rows
    list.entries[Int(claim.heir)].isChanged = true
    set(claim.heir, isItem: true)
    list.holders[key] = claim.heir
    add(claim.heir)
    let to = list.tree.before(claim.heir)[.items]
    if from == to { return }
    let isTurned = !list.isPlanted(.moveNotTurned)
    steps.append(
      DiffOp(
        .move, row: isTurned ? list.turned(to) : to, from: isTurned ? list.turned(from) : from))
  }

  private mutating func insert() {
    var coming: [(row: Int, node: UInt32)] = []
    for node in near where begins(node) && !list.entries[Int(node)].isItem {
      coming.append((list.tree.before(node)[.rows], node))
    }
    coming.order { $0.row < $1.row }
    let first = steps.count
    let count = list.count
    for (_, node) in coming {
      list.lastKey &+= 1
      list.entries[Int(node)].key = list.lastKey
      list.holders[list.lastKey] = node
      set(node, isItem: true)
      list.entries[Int(node)].rows = 0
      let index = list.tree.before(node)[.items]
      if steps.count > first, let last = steps.last, last.row + last.count == index {
        steps[steps.count - 1].count += 1
      } else {
        steps.append(DiffOp(.insert, row: index))
      }
    }
    turn(from: first, count: count)
  }

  /// Steps from one on as the list counts its places; so many items there were before the first.
  private mutating func turn(from first: Int, count: Int) {
    if !list.isReversed { return }
    var count = count
    for index in steps.indices.dropFirst(first) {
      let step = steps[index]
      switch step.kind {
      case .insert:
        steps[index].row = count - step.row
        count += step.count
      case .remove:
        steps[index].row = count - step.row - step.count
        count -= step.count
      case .update: steps[index].row = count - step.row - step.count
      case .move: continue
      }
    }
  }

  /// An item begins at a node, or does no more; the checksum follows.
  private mutating func set(_ node: UInt32, isItem: Bool) {
    let index = list.tree.before(node)[.items]
    let key = list.entries[Int(node)].key
    let older = self.key(at: index - 1)
    let newer = self.key(at: isItem ? index : index + 1)
    list.entries[Int(node)].isItem = isItem
    list.sync(node)
    let there = chain(older, key) &+ chain(key, newer)
    let gone = chain(older, newer)
    list.checksum =
      isItem ? list.checksum &+ there &- gone : list.checksum &- there &+ gone
  }

  /// 0 for none.
  private mutating func key(at index: Int) -> UInt64 {
    list.entries[Int(list.tree.node(.items, at: index))].key
  }

  /// The checksum's term of two neighbours, in the order of the list.
  private func chain(_ older: UInt64, _ newer: UInt64) -> UInt64 {
    let (previous, key) = list.isReversed ? (newer, older) : (older, newer)
    let isOneWay = list.isPlanted(.checksumOneWay)
    return key == 0 ? 0 : checksumTerm(isOneWay ? older : previous, number: isOneWay ? newer : key)
  }

  // MARK: What looks different

  /// An item that lost a message in its midst may have gained another: its count says nothing.
  private mutating func markLosses() {
    for ghost in list.ghosts {
      let next = list.tree.node(.rows, at: list.tree.before(ghost)[.rows])
      if next != 0, !begins(next) { list.entries[Int(next)].isChanged = true }
    }
  }

  private mutating func redraw() {
    var rows: [Int] = []
    for node in near {
      let isForced = list.entries[Int(node)].isChanged && !list.isPlanted(.updateForgotten)
      list.entries[Int(node)].isChanged = false
      let start = start(of: node)
      let old = list.entries[Int(start)]
      let (marks, gapUs, count) = look(start)
      list.entries[Int(start)].marks = marks
      list.entries[Int(start)].gapUs = gapUs
      list.entries[Int(start)].rows = count
      // One without rows has just come, and is drawn anyway.
      if old.rows == 0 {
        changed.append(start)
        list.entries[Int(start)].isChanged = false
      } else if isForced || old.marks != marks || old.gapUs != gapUs || old.rows != count {
        rows.append(list.tree.before(start)[.items])
      }
    }
    let new = Set(changed.map { list.tree.before($0)[.items] })
    rows = Array(Set(rows).subtracting(new)).ascending()
    let first = steps.count
    for row in rows {
      if steps.count > first, let last = steps.last, last.row + last.count == row {
        steps[steps.count - 1].count += 1
      } else {
        steps.append(DiffOp(.update, row: row))
      }
    }
    turn(from: first, count: list.count)
  }

  /// What is drawn of the item that begins at a node, and how many rows it has.
  private mutating func look(_ node: UInt32) -> (ItemMarks, gapUs: Int64, rows: UInt32) {
    let entry = list.entries[Int(node)]
    let row = list.tree.before(node)[.rows]
    let before = list.entries[Int(list.tree.node(.rows, at: row - 1))]
    let rows = entry.isOpened ? row..<row + 1 : list.foldRows(of: node)
    let last = list.entries[Int(list.tree.node(.rows, at: rows.upperBound - 1))]
    let after = list.entries[Int(list.tree.node(.rows, at: rows.upperBound))]
    var marks = ItemMarks()
    if rows.count > 1 { marks.insert(.group) }
    let isAlone = entry.isFoldStart && (!after.isUsed || after.isFoldStart)
    if entry.isOpened, !isAlone {
      marks.insert(.opened)
      if entry.isFoldStart { marks.insert(.groupFirst) }
      if !after.isUsed || after.isFoldStart { marks.insert(.groupLast) }
    }
    if isNewDay(before, entry) { marks.insert(.newDay) }
    let gapUs = gap(before, entry)
    if gapUs > 0 { marks.insert(.timeGap) }
    if entry.split != .none { marks.insert(.splitBefore) }
    if entry.split == .healing { marks.insert(.splitHealing) }
    if entry.isLine { marks.insert(.unreadBefore) }
    if endsRun(before, entry) { marks.insert(.runFirst) }
    if endsRun(last, after) { marks.insert(.runLast) }
    return (marks, gapUs, UInt32(truncatingIfNeeded: rows.count))
  }

  /// The time between two rows where it is drawn, else 0.
  private func gap(_ before: ItemList.Entry, _ entry: ItemList.Entry) -> Int64 {
    guard list.gapUs > 0, before.isUsed, before.hasTime, entry.hasTime else { return 0 }
    let gapUs = entry.timeUs.saturating(minus: before.timeUs)
    return gapUs > list.gapUs ? gapUs : 0
  }

  /// Whether two neighbours are no run: of two senders, of two kinds, or something is drawn
  /// between them.
  private func endsRun(_ before: ItemList.Entry, _ after: ItemList.Entry) -> Bool {
    !before.isUsed || !after.isUsed || before.sender != after.sender || before.fold != after.fold
      || before.isEvent != after.isEvent || after.split != .none || after.isLine
      || isNewDay(before, after) || gap(before, after) > 0
  }

  // MARK: The end

  private mutating func settle() {
    for node in near {
      list.entries[Int(node)].isNear = false
      list.entries[Int(node)].isFresh = false
      list.entries[Int(node)].isChanged = false
      list.entries[Int(node)].twin = 0
    }
    for ghost in list.ghosts { list.release(ghost) }
    list.ghosts.removeAll(keepingCapacity: true)
    list.isBehind = false
  }
}
