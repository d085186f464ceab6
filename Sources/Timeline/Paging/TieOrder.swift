/// The order of messages with one printed time, as pages list them, and the ranks that keep it.
///
/// A time group is a set to all that is proven: an order is learned, changed and lost without
/// any range, gap or claim knowing of it. Only pages teach it. Whatever a page does not show of
/// a group keeps its order, in front of what it shows or behind, as the ends of the page say.
package import Base

package enum TieOrder {
  /// What a page shows of a time group.
  package struct Shown: Sendable {
    /// Oldest first, each once.
    package var ids: [[UInt8]]
    /// Nothing of the group stands behind them.
    package var isClosedAbove = false
    /// Nothing of the group stands before them.
    package var isClosedBelow = false
    /// What the walk has shown of the group by its earlier pages.
    package var run = IDSet()
    /// The walk goes towards newer messages.
    package var climbs = false

    package init(ids: [[UInt8]]) {
      self.ids = ids
    }
  }

  /// A row of the group as it is stored.
  package struct Row: Equatable, Sendable {
    package var position: Position
    /// It was stored with this page.
    package var isNew = false
    /// It came another way after this page, not the walk, was asked for.
    package var isLate = false
    /// Another page has placed it while this one waited for its direction.
    package var isPlaced = false
    /// That page showed that nothing of the group stands before it.
    package var isAhead = false

    package init(
      position: Position, isNew: Bool = false, isLate: Bool = false, isPlaced: Bool = false,
      isAhead: Bool = false
    ) {
      self.position = position
      self.isNew = isNew
      self.isLate = isLate
      self.isPlaced = isPlaced
      self.isAhead = isAhead
    }
  }

  /// The stored rows of a group, in their order so far, in the order that a page teaches. Ids of
  /// the page that are not stored count for nothing.
  package static func arranged(_ rows: [Row], by page: Shown) -> [Row] {
    guard rows.contains(where: \.isPlaced) else { return arrangedAlone(rows, by: page) }
    let onPage = Set(page.ids)
    func isAnchor(_ row: Row) -> Bool { row.isPlaced && onPage.contains(row.position.id) }
    guard rows.contains(where: isAnchor) else {
      return arrangedBeside(keepingPlaced(rows), by: page, onPage: onPage)
    }
    // What was placed beside rows of the page stays on its side of them: right below the next one
    // above; where there is none and all else stands above it, right behind the one below.
    var apart: [(row: Row, below: Position?, above: Position?)] = []
    var above: Position?
    for row in rows.reversed() {
      if isAnchor(row) {
        above = row.position
      } else if row.isPlaced, !onPage.contains(row.position.id) {
        apart.append((row, nil, above))
      }
    }
    apart.reverse()
    var below: Position?
    var next = 0
    for row in rows where row.isPlaced {
      if next < apart.count, apart[next].row == row {
        apart[next].below = below
        next += 1
      }
      below = row.position
    }
    var result = arrangedAlone(
      rows.filter { !$0.isPlaced || onPage.contains($0.position.id) }, by: page)
    for (row, below, above) in apart {
      var place = above.flatMap { above in result.firstIndex { $0.position == above } }
      if place == nil, row.isAhead, let below {
        place = result.firstIndex { $0.position == below }.map { $0 + 1 }
      }
      if place == nil {
        place = result.lastIndex { onPage.contains($0.position.id) || $0.isPlaced }.map { $0 + 1 }
      }
      result.insert(row, at: place ?? result.count)
    }
    return result
  }

  /// What came late and was placed before all that the page shows stays before it.
  private static func arrangedBeside(
    _ rows: [Row], by page: Shown, onPage: Set<[UInt8]>
  ) -> [Row] {
    let first = rows.firstIndex { onPage.contains($0.position.id) } ?? 0
    let ahead = rows[..<first].filter { $0.isLate && $0.isAhead }
    if ahead.isEmpty { return arrangedAlone(rows, by: page) }
    let rest = rows[..<first].filter { !($0.isLate && $0.isAhead) } + rows[first...]
    var result = arrangedAlone(rest, by: page)
    let place = result.firstIndex { onPage.contains($0.position.id) } ?? 0
    result.insert(contentsOf: ahead, at: place)
    return result
  }

  /// What came late and stands before a row that was known, where another page has placed that row,
  /// stays before it.
  private static func keepingPlaced(_ rows: [Row]) -> [Row] {
    var rows = rows
    guard let last = rows.lastIndex(where: { $0.isPlaced && !$0.isLate }) else { return rows }
    for index in rows.indices.prefix(upTo: last) { rows[index].isLate = false }
    return rows
  }

  private static func arrangedAlone(_ rows: [Row], by page: Shown) -> [Row] {
    var places: [[UInt8]: Int] = [:]
    for (place, row) in rows.enumerated() { places[row.position.id] = place }
    var shown: [Row] = []
    var isShown = [Bool](repeating: false, count: rows.count)
    for id in page.ids {
      guard let place = places[id], !isShown[place] else { continue }
      isShown[place] = true
      shown.append(rows[place])
    }
    if shown.isEmpty { return rows }
    let others = rows.indices.filter { !isShown[$0] }
    let late = others.filter { rows[$0].isLate }.map { rows[$0] }
    let early = others.filter { !rows[$0].isLate }
    let left = early.map { rows[$0] }
    if page.isClosedBelow { return shown + left + late }
    if page.isClosedAbove { return left + shown + late }
    let isInRun = rows.map { page.run.contains($0.position.id) }
    // A page that nothing but an unreadable item joins to the walk is the next one of it, too.
    let goesOn = page.ids.contains { page.run.contains($0) } || shown.allSatisfy(\.isNew)
    if goesOn, isInRun.contains(true) {
      // A page shows neighbours: what the walk has shown beside them stays on its side of them.
      let seam =
        rows.indices.first { isShown[$0] && isInRun[$0] } ?? (page.climbs ? rows.count : 0)
      let before = early.filter { isInRun[$0] && $0 < seam }.map { rows[$0] }
      let behind = early.filter { isInRun[$0] && $0 >= seam }.map { rows[$0] }
      let outside = early.filter { !isInRun[$0] }
      // What stands on the run's far side was put there by what knew both, and stays there.
      let far = (page.climbs ? isInRun.firstIndex(of: true) : isInRun.lastIndex(of: true)) ?? 0
      let below = outside.filter { page.climbs ? $0 < far : $0 <= far }.map { rows[$0] }
      let above = outside.filter { page.climbs ? $0 >= far : $0 > far }.map { rows[$0] }
      return below + before + shown + behind + above + late
    }
    // At the first place that the page shows of those that were known.
    let first = rows.indices.first { isShown[$0] && !rows[$0].isNew } ?? rows.count
    let below = early.filter { $0 < first }.map { rows[$0] }
    let above = early.filter { $0 >= first }.map { rows[$0] }
    return below + shown + above + late
  }

  /// How far apart ranks are at first, so that there is room between them.
  static let gap = 16

  /// Ranks that keep an order: those of the longest part that stands in it already stay. Rows whose
  /// order is that of their ids share one, so most groups need none but 0.
  package static func ranks(for order: [Position]) -> [Int] {
    let kept = ascending(order)
    var ranks: [Int?] = order.map { _ in nil }
    for index in kept { ranks[index] = order[index].rank }
    var start = 0
    while start < order.count {
      guard ranks[start] == nil else {
        start += 1
        continue
      }
      var end = start
      while end < order.count, ranks[end] == nil { end += 1 }
      let below = start == 0 ? nil : ranks[start - 1].map { ($0, order[start - 1].id) }
      let above = end == order.count ? nil : ranks[end].map { ($0, order[end].id) }
      guard let found = between(order[start..<end].map(\.id), below: below, above: above) else {
        return anew(order)
      }
      for (offset, rank) in found.enumerated() { ranks[start + offset] = rank }
      start = end
    }
    return ranks.map { $0 ?? 0 }
  }

  /// The rank with which a message stands behind another one of its time.
  package static func rank(of id: [UInt8], behind last: Position) -> Int {
    last.id.lexicographicallyPrecedes(id)
      ? last.rank : min(last.rank + gap, Position.rankLimit - 1)
  }

  /// The same between two of its time, nil for none; nil where there is no room.
  package static func rank(
    of id: [UInt8], between below: Position?, and above: Position?
  ) -> Int? {
    if below == nil, above == nil { return 0 }
    guard let above else { return below.map { rank(of: id, behind: $0) } }
    return between(
      [id], below: below.map { ($0.rank, $0.id) }, above: (above.rank, above.id))?.first
  }

  /// Ranks of neighbours between two others; nil where there is no room.
  private static func between(
    _ ids: [[UInt8]], below: (rank: Int, id: [UInt8])?, above: (rank: Int, id: [UInt8])?
  ) -> [Int]? {
    guard let below else {
      guard let above else { return nil }
      // At the front, from the last one down.
      var ranks: [Int] = []
      var next = above
      for id in ids.reversed() {
        let rank = id.lexicographicallyPrecedes(next.id) ? next.rank : next.rank - gap
        ranks.append(rank)
        next = (rank, id)
      }
      return ranks.allSatisfy { $0 >= -Position.rankLimit } ? ranks.reversed() : nil
    }
    var step = gap
    if let above { step = max(1, (above.rank - below.rank) / (ids.count + 1)) }
    var ranks: [Int] = []
    var last = below
    for id in ids {
      let rank = last.id.lexicographicallyPrecedes(id) ? last.rank : last.rank + step
      ranks.append(rank)
      last = (rank, id)
    }
    if let above {
      let isBelow =
        last.rank < above.rank
        || last.rank == above.rank && last.id.lexicographicallyPrecedes(above.id)
      guard isBelow else { return nil }
    }
    return last.rank < Position.rankLimit ? ranks : nil
  }

  /// All numbered anew, as densely as their number needs.
  private static func anew(_ order: [Position]) -> [Int] {
    let step = order.count < Position.rankLimit / gap ? gap : 1
    var ranks: [Int] = []
    var last: (rank: Int, id: [UInt8])?
    for position in order {
      let id = position.id
      let rank = last.map { $0.id.lexicographicallyPrecedes(id) ? $0.rank : $0.rank + step } ?? 0
      ranks.append(min(rank, Position.rankLimit - 1))
      last = (rank, id)
    }
    return ranks
  }

  /// The places of the longest part that ascends.
  private static func ascending(_ order: [Position]) -> [Int] {
    /// By length, the last place of the part that ends lowest.
    var ends: [Int] = []
    var before: [Int?] = []
    for (place, position) in order.enumerated() {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if order[ends[middle]] < position { low = middle + 1 } else { high = middle }
      }
      before.append(low == 0 ? nil : ends[low - 1])
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var part: [Int] = []
    var place = ends.last
    while let found = place {
      part.append(found)
      place = before[found]
    }
    return part.reversed()
  }
}
