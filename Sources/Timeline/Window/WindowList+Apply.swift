/// One change of a window's list, as the steps that make it.
///
/// The order of steps is fixed: rows that leave, rows that move, rows that come, then
/// rows that are too many, and at last the rows that look different. Each step is made
/// on the list itself, so at any moment the list is sorted by the positions it holds.
package import Base

extension WindowList {
  /// Applies a change and returns the steps that lead to the new list.
  package mutating func apply(_ change: WindowChange) -> [DiffOp] {
    var edit = Edit(list: WindowList(rowsMax: rowsMax))
    // One owner at a time, so that nothing is copied.
    swap(&self, &edit.list)
    edit.apply(change)
    swap(&self, &edit.list)
    return edit.ops
  }
}

/// The change under way.
private struct Edit {
  var list: WindowList
  var ops: [DiffOp] = []
  /// Slots that leave; `isGone` says whether they still do.
  private var leaving: [Int] = []
  private var coming: [UInt32] = []
  private var moving: [(slot: Int, position: Position)] = []
  /// Slots whose content changed, of rows that were there before.
  private var changed: [Int] = []
  /// Slots before which a split may have come or gone.
  private var doubtful: [Int] = []

  init(list: WindowList) {
    self.list = list
  }

  mutating func apply(_ change: WindowChange) {
    let wasLoaded = list.loaded
    let wasTrusted = list.trusted
    let (loaded, spans) = (change.loaded, change.spans)
    if let loaded { list.loaded = loaded }
    if let spans { list.spans = spans }
    if loaded != nil || spans != nil {
      list.trusted = list.loaded.intersection(list.spans)
    }
    if change.isWhole { leave(rows: 0..<list.order.count) }
    for number in change.removed {
      list.work += 1
      if let slot = list.slot(ofNumber: number) { leave(slot) }
    }
    if loaded != nil {
      wasLoaded.eachDifference(from: list.loaded) { leave(rows: rows(in: $0)) }
    }
    takeKeys(change.upserted)
    // Where everything was read anew, nothing says what else of a row is different.
    if change.isWhole {
      for slot in leaving where !list.slots[slot].isGone { markChanged(slot) }
    }
    for number in change.touched {
      list.work += 1
      if let slot = list.slot(ofNumber: number) { markChanged(slot) }
    }
    removeLeaving()
    for move in moving where !list.slots[move.slot].isGone { place(move.slot, move.position) }
    insertComing()
    let kept = list.rowsKept(around: change.focus)
    if kept.count < list.order.count {
      list.loaded = list.loaded(keeping: kept)
      list.trusted = list.loaded.intersection(list.spans)
      remove(kept.upperBound..<list.order.count)
      remove(0..<kept.lowerBound)
    }
    wasTrusted.eachDifference(from: list.trusted) { piece in
      let rows = rows(in: piece)
      doubt(rows)
      redraw(rows)
    }
    for index in change.redrawn.indices { redraw(rows(in: change.redrawn[index])) }
    if list.loaded != wasLoaded { doubtPending() }
    if let healing = change.healing { heal(healing) }
    doubtHeld(at: change.nowMs)
    updateRows(change)
    for slot in coming { list.slots[Int(slot)].isNew = false }
    if !ops.isEmpty { list.version &+= 1 }
  }

  // MARK: What the change means

  private mutating func leave(_ slot: Int) {
    guard !list.slots[slot].isGone else { return }
    list.slots[slot].isGone = true
    leaving.append(slot)
  }

  private mutating func leave(rows: Range<Int>) {
    list.work += rows.count
    for row in rows { leave(Int(list.order[row])) }
  }

  private mutating func takeKeys(_ upserted: [RowKey]) {
    var keys = upserted
    // Here and in `insertComing` not by `order`, whose calls were 15 % of a jump.
    if keys.count > 1 { keys.sort { ($0.number, $0.revision) < ($1.number, $1.revision) } }
    // One id is one row: the state that is told now takes it over.
    let isFresh = list.slots.isEmpty
    for key in keys where !isFresh {
      list.work += 1
      guard let holder = list.slot(ofID: key.position.id) else { continue }
      if list.slots[holder].item.number != key.number { leave(holder) }
    }
    if isFresh { list.reserve(keys.count) }
    for (index, key) in keys.enumerated() {
      // Of two states of a row the newer one counts.
      if index + 1 < keys.count, keys[index + 1].number == key.number { continue }
      adopt(key)
    }
  }

  private mutating func adopt(_ key: RowKey) {
    list.work += 1
    let known = list.slot(ofNumber: key.number)
    guard list.loaded.holds(key.position) else {
      if let known { leave(known) }
      return
    }
    guard let known else {
      coming.append(UInt32(list.newSlot(key)))
      return
    }
    list.slots[known].isGone = false
    let item = list.slots[known].item
    if item.position != key.position {
      moving.append((known, key.position))
    } else if item.revision == key.revision {
      return
    }
    list.slots[known].item.revision = key.revision
    markChanged(known)
  }

  // MARK: Making it

  private mutating func removeLeaving() {
    var rows: [Int] = []
    for slot in leaving where list.slots[slot].isGone {
      rows.append(row(of: slot, behind: rows.last))
    }
    rows = rows.ascending()
    var end = rows.count
    while end > 0 {
      var start = end - 1
      while start > 0, rows[start - 1] == rows[start] - 1 { start -= 1 }
      remove(rows[start]..<rows[end - 1] + 1)
      end = start
    }
  }

  private mutating func remove(_ rows: Range<Int>) {
    guard !rows.isEmpty else { return }
    for row in rows { list.freeSlot(Int(list.order[row])) }
    cut(rows)
    ops.append(DiffOp(.remove, row: rows.lowerBound, count: rows.count))
  }

  /// Takes a row out and puts it in where it belongs now.
  private mutating func place(_ slot: Int, _ position: Position) {
    let from = row(of: slot)
    cut(from..<from + 1)
    list.leaveTables(slot)
    list.slots[slot].item.position = position
    let to = row(from: position)
    guard list[to]?.position != position else {
      // Two rows cannot be told apart: the one in its place stays.
      list.freeSlot(slot)
      ops.append(DiffOp(.remove, row: from))
      return
    }
    list.enterTables(slot)
    paste([UInt32(slot)], at: to)
    if to != from { ops.append(DiffOp(.move, row: to, from: from)) }
  }

  private mutating func insertComing() {
    if coming.count > 1 {
      coming.sort { list.slots[Int($0)].item.position < list.slots[Int($1)].item.position }
    }
    var next = 0
    while next < coming.count {
      let row = row(from: list.slots[Int(coming[next])].item.position)
      let bound = list.position(ofRow: row)
      // What stays of a run moves to where it begins.
      let begin = next
      var end = begin
      var last: Position?
      while next < coming.count {
        let slot = coming[next]
        let position = list.slots[Int(slot)].item.position
        if let bound, bound < position { break }
        if bound == position || last == position {
          list.freeSlot(Int(slot))
        } else {
          coming[end] = slot
          end += 1
        }
        last = position
        next += 1
      }
      guard begin < end else { continue }
      paste(coming[begin..<end], at: row)
      ops.append(DiffOp(.insert, row: row, count: end - begin))
    }
  }

  private mutating func cut(_ rows: Range<Int>) {
    list.checksum &-= terms(rows.lowerBound..<rows.upperBound + 1)
    list.order.removeSubrange(rows)
    list.checksum &+= terms(rows.lowerBound..<rows.lowerBound + 1)
    if list.order.indices.contains(rows.lowerBound) { doubt(row: rows.lowerBound) }
  }

  private mutating func paste(_ run: ArraySlice<UInt32>, at row: Int) {
    list.checksum &-= terms(row..<row + 1)
    list.order.insert(contentsOf: run, at: row)
    let rows = row..<Swift.min(row + run.count + 1, list.order.count)
    list.checksum &+= terms(rows)
    for row in rows { doubt(row: row) }
  }

  /// The checksum's terms of some rows.
  private mutating func terms(_ rows: Range<Int>) -> UInt64 {
    list.work += rows.count
    var sum: UInt64 = 0
    var last = list.number(ofRow: rows.lowerBound - 1)
    for row in rows.clamped(to: list.order.indices) {
      let number = list.number(ofRow: row)
      sum &+= checksumTerm(last, number: number)
      last = number
    }
    return sum
  }

  // MARK: What looks different

  /// Rows whose way to the row before leads through a range that was or is trusted.
  private mutating func doubt(_ rows: Range<Int>) {
    for row in rows.lowerBound..<Swift.min(rows.upperBound + 1, list.order.count) {
      doubt(row: row)
    }
  }

  private mutating func doubt(row: Int) {
    let slot = Int(list.order[row])
    // What came is doubted as a new row, and as newly trusted.
    if list.slots[slot].isDoubtful { return }
    list.slots[slot].isDoubtful = true
    doubtful.append(slot)
  }

  /// Rows that are pending go by what is loaded alone.
  private mutating func doubtPending() {
    for slot in list.order.reversed() {
      if !list.slots[Int(slot)].item.position.isPending { return }
      doubtful.append(Int(slot))
    }
  }

  /// Rows before which a split may begin or cease to heal.
  private mutating func heal(_ healing: Healing) {
    let was = list.healing
    guard healing != was else { return }
    list.healing = healing
    if was.floor != healing.floor, let low = [was.floor, healing.floor].compactMap({ $0 }).min() {
      for row in row(from: low)..<list.order.count
      where list.slots[Int(list.order[row])].item.splitBefore {
        doubt(row: row)
      }
    }
    was.fills.eachDifference(from: healing.fills) { doubt(rows(in: $0)) }
    was.opened.eachDifference(from: healing.opened) { gap in
      let row = row(from: gap.high)
      if row < list.order.count { doubt(row: row) }
    }
  }

  /// Rows whose split has been held back for long enough.
  private mutating func doubtHeld(at nowMs: Int64) {
    if list.held.isEmpty { return }
    for (number, until) in list.held where until <= nowMs {
      if let slot = list.slot(ofNumber: number) { doubtful.append(slot) }
    }
  }

  /// What is drawn of the split before a row: one that will heal only once its time has come, and
  /// only the first of several in a row, which one request settles; but where it was drawn before.
  private mutating func drawn(row: Int, in change: WindowChange) -> DrawnSplit {
    let (nowMs, holdMs) = (change.nowMs, change.holdMs)
    let item = list.slots[Int(list.order[row])].item
    let isFilled = item.splitBefore && list.healing.fills.holds(item.position)
    let isCaughtUp = item.splitBefore && isCaughtUp(row: row)
    guard isCaughtUp, !isFilled, item.drawnSplit == .none else {
      if !list.held.isEmpty { list.held[item.number] = nil }
      return !item.splitBefore ? .none : isFilled || isCaughtUp ? .healing : .lasting
    }
    if holdMs > 0, list[row - 1]?.splitBefore == true, self.isCaughtUp(row: row - 1) {
      list.held[item.number] = nil
      return .none
    }
    let fromMs = holdMs > 0 ? max(nowMs, change.holdFromMs) : nowMs
    let due = list.held[item.number] ?? fromMs.saturating(plus: holdMs)
    list.held[item.number] = nowMs < due ? due : nil
    return nowMs < due ? .none : .healing
  }

  /// Whether a catch-up settles the way to the row before. What lies below the row that it begins
  /// at is no matter of its.
  private func isCaughtUp(row: Int) -> Bool {
    guard let place = list.position(ofRow: row), !place.isPending,
      let before = list.position(ofRow: row - 1), let floor = list.healing.floor
    else { return false }
    if floor > before { return false }
    let (loaded, opened) = (list.loaded, list.healing.opened)
    return loaded.joins(before, and: place)
      || !opened.isEmpty && loaded.union(opened).joins(before, and: place)
  }

  /// Rows in a range: whether they are proven is part of what they look like.
  private mutating func redraw(_ rows: Range<Int>) {
    list.work += rows.count
    for row in rows { markChanged(Int(list.order[row])) }
  }

  /// A new row is drawn anyway.
  private mutating func markChanged(_ slot: Int) {
    if !list.slots[slot].isNew { changed.append(slot) }
  }

  private mutating func updateRows(_ change: WindowChange) {
    var rows: [Int] = []
    for slot in changed where !list.slots[slot].isGone {
      rows.append(row(of: slot, behind: rows.last))
    }
    // All are known before any is drawn, since what is drawn of one goes by the one before.
    var split: [Int] = []
    var last: Int?
    for slot in doubtful {
      list.slots[slot].isDoubtful = false
      if list.slots[slot].isGone { continue }
      let row = row(of: slot, behind: last)
      last = row
      let isSplit = isSplit(row: row)
      if hasSplit(row: row + 1) { split.append(row + 1) }
      // Most rows have none and had none.
      if !isSplit, !list.slots[slot].item.splitBefore { continue }
      list.slots[slot].item.splitBefore = isSplit
      split.append(row)
    }
    if split.count > 1 { split.sort() }
    for row in split {
      let drawn = drawn(row: row, in: change)
      let slot = Int(list.order[row])
      guard drawn != list.slots[slot].item.drawnSplit else { continue }
      list.slots[slot].item.drawnSplit = drawn
      if !list.slots[slot].isNew { rows.append(row) }
    }
    rows.sort()
    var start = 0
    while start < rows.count {
      var end = start
      while end + 1 < rows.count, rows[end + 1] <= rows[end] + 1 { end += 1 }
      let count = rows[end] - rows[start] + 1
      ops.append(DiffOp(.update, row: rows[start], count: count))
      start = end + 1
    }
  }

  /// Whether messages may be missing, or are not loaded, before a row.
  private func isSplit(row: Int) -> Bool {
    guard row > 0 else { return false }
    let (slot, before) = (Int(list.order[row]), Int(list.order[row - 1]))
    // What is pending stands behind the present, which no range reaches: only that rows between are
    // not loaded makes a split there.
    let isPending = list.slots[slot].item.position.isPending
    return isPending
      ? !list.loaded.joins(list.slots[before].item.position, and: list.slots[slot].item.position)
      : !list.trusted.joins(list.slots[before].item.position, and: list.slots[slot].item.position)
  }

  private func hasSplit(row: Int) -> Bool {
    list.order.indices.contains(row) && list.slots[Int(list.order[row])].item.splitBefore
  }

  private mutating func rows(in piece: SpanSet.Span) -> Range<Int> {
    row(from: piece.low)..<row(from: piece.high)
  }

  private mutating func row(from position: Position) -> Int {
    let found = list.search(position)
    list.work += found.steps
    return found.row
  }

  /// The row of a slot. Mostly it stands right behind the row that was looked for last: to search
  /// for each, with the copies for that, was 7 % of a jump and 10 % of a scroll.
  private mutating func row(of slot: Int, behind last: Int? = nil) -> Int {
    let next = (last ?? -1) + 1
    if next < list.order.count, Int(list.order[next]) == slot {
      list.work += 1
      return next
    }
    return row(from: list.slots[slot].item.position)
  }
}

// MARK: Slots

extension WindowList {
  fileprivate mutating func newSlot(_ key: RowKey) -> Int {
    let item = Item(
      number: key.number, position: key.position, revision: key.revision, splitBefore: false)
    var slot = slots.count
    if let reused = free.popLast() {
      slot = Int(reused)
      slots[slot] = Slot(item: item)
    } else {
      slots.append(Slot(item: item))
    }
    enterTables(slot)
    return slot
  }

  fileprivate mutating func freeSlot(_ slot: Int) {
    leaveTables(slot)
    if !held.isEmpty { held[slots[slot].item.number] = nil }
    slots[slot].isGone = true
    slots[slot].item.position = .min
    free.append(UInt32(slot))
  }

  /// Room for so many rows, for a list without any: to grow by turns was 4 % of a jump.
  fileprivate mutating func reserve(_ count: Int) {
    slots.reserveCapacity(count)
    numbers.reserve(count) { _ in 0 }
    ids.reserve(count) { _ in 0 }
  }

  fileprivate mutating func enterTables(_ slot: Int) {
    numbers.insert(slot, checksumTerm(0, number: slots[slot].item.number)) {
      checksumTerm(0, number: slots[$0].item.number)
    }
    ids.insert(slot, SlotTable.hash(slots[slot].item.position.id)) {
      SlotTable.hash(slots[$0].item.position.id)
    }
  }

  fileprivate mutating func leaveTables(_ slot: Int) {
    let item = slots[slot].item
    numbers.remove(slot, checksumTerm(0, number: item.number)) {
      checksumTerm(0, number: slots[$0].item.number)
    }
    ids.remove(slot, SlotTable.hash(item.position.id)) {
      SlotTable.hash(slots[$0].item.position.id)
    }
  }
}
