/// Where the log starts now, and where a range ends of which the server has lost an end.
///
/// What a server purges it does not tell: a start is a claim of its moment (rule 12). It is looked
/// at again by its own entry. Where that is gone the highest entry is asked for, then one halfway
/// between what is gone and what is there, and so on: the logarithm of what is known in requests,
/// and then the pages in between. So it is at the other end, from the lowest entry.
internal import Base

/// Looks for the outermost entry on one side of a range that the server has.
struct EdgeSearch: Sendable {
  var side: LogNote.Side
  /// An entry of the range.
  var range: [UInt8]
  /// Who is asked around.
  var asked: [UInt8]
  /// The innermost entry that the server does not have.
  var gone: [UInt8]?
  /// The outermost entry that it has.
  var there: [UInt8]
}

extension LogWalk {
  mutating func askStart<Table: LogTable>(
    _ book: LogBook<Table>, of id: [UInt8]
  ) throws(Table.Failure) -> Next {
    guard let at = try book.range(of: id), !book.ranges[at].isUnverified else {
      return .ended(.gap)
    }
    let range = book.ranges[at]
    if let start = range.start, start.request > began || book.isPlanted(.startStays) {
      return .ended(.done)
    }
    if case .firstEntry = detour, let row = try book.bottomRow(of: range) {
      detour = .search(EdgeSearch(side: .below, range: id, asked: row.id, there: id))
      return .ask(.around(row.id), carried: nil)
    }
    if range.start == nil { return try askDown(book, from: id) }
    // What lies below the first entry, if anything does.
    guard let token = range.lower.first(where: book.isUsable) else { return .ended(.done) }
    return .ask(.before(token), carried: nil)
  }

  /// The server has lost an end of a range, up to the last entry that `seek` asked for: what it has
  /// is looked for from the other end.
  mutating func searchInward<Table: LogTable>(
    from gone: [UInt8], _ side: LogNote.Side, _ ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    guard let at = try book.range(of: gone) else { return }
    let range = book.ranges[at]
    let far = side == .below ? try book.topRow(of: range) : try book.bottomRow(of: range)
    guard let far, far.id != gone else { return try book.dropRange(of: gone, side, ask) }
    detour = .search(
      EdgeSearch(side: side, range: far.id, asked: far.id, gone: gone, there: far.id))
  }

  var search: EdgeSearch? { if case .search(let search) = detour { search } else { nil } }

  /// The server has what was asked for.
  mutating func searchOn<Table: LogTable>(
    _ known: EdgeSearch, found page: LogPage, of ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    var search = known
    detour = .none
    guard let gone = search.gone, let at = try book.range(of: search.range),
      let edge = try book.table.row(gone)?.place, book.ranges[at].holds(edge),
      (search.side == .below ? book.ranges[at].start : book.ranges[at].present)
        .map({ $0.request < ask.request }) ?? true
    else { return }
    let entries = search.side == .below ? page.entries : page.entries.reversed()
    for entry in entries {
      guard let row = try book.table.row(entry.id), book.ranges[at].holds(row.place) else {
        continue
      }
      if search.side == .below ? row.place > edge : row.place < edge { search.there = row.id }
      break
    }
    try halve(search, in: &book)
  }

  /// It does not have it.
  mutating func searchOn<Table: LogTable>(
    _ known: EdgeSearch, _ ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    var search = known
    detour = .none
    let isFirst = search.gone == nil
    if search.asked == search.there {
      // Nothing of the range is in the log.
      return try book.dropRange(of: search.asked, search.side, ask)
    }
    search.gone = search.asked
    search.asked = search.there
    if isFirst { detour = .search(search) } else { try halve(search, in: &book) }
  }

  /// Whom to ask next; where nobody is left between the two, all beyond is split off, and pages say
  /// what of it there still is.
  private mutating func halve<Table: LogTable>(
    _ known: EdgeSearch, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    guard let gone = known.gone, let outer = try book.table.row(gone)?.place,
      let inner = try book.table.row(known.there)?.place, outer != inner,
      (outer < inner) == (known.side == .below)
    else { return }
    let (low, high) = (Swift.min(outer, inner), Swift.max(outer, inner))
    let middle = Place(low.value / 2 + high.value / 2)
    var row = try book.table.last(below: middle + 1, from: low + 1)
    if row == nil { row = try book.table.first(above: middle, through: high - 1) }
    guard let row else { return try book.splitOff(known.side, of: known.there) }
    var next = known
    next.asked = row.id
    detour = .search(next)
  }
}
