/// Where the log starts now.
///
/// What a server purges it does not tell: a start is a claim of its moment (rule 12). It is looked
/// at again by its own entry. Where that is gone the highest entry is asked for, then one halfway
/// between what is gone and what is there, and so on: the logarithm of what is known in requests,
/// and then the pages in between.
internal import Base

/// Looks for the lowest entry of a range that the server has.
struct StartSearch: Sendable {
  /// An entry of the range.
  var range: [UInt8]
  /// Who is asked around.
  var asked: [UInt8]
  /// The highest entry that the server does not have.
  var gone: [UInt8]?
  /// The lowest entry that it has.
  var there: [UInt8]
}

extension LogWalk {
  mutating func askStart<Table: LogTable>(
    _ book: LogBook<Table>, of id: [UInt8]
  ) throws(Table.Failure) -> Next {
    guard let at = try book.range(of: id), !book.ranges[at].isVoid else { return .ended(.gap) }
    let range = book.ranges[at]
    if let start = range.start, start.request > began || book.isPlanted(.startStays) {
      return .ended(.done)
    }
    if !hasSearched, let row = try book.bottomRow(of: range) {
      hasSearched = true
      search = StartSearch(range: id, asked: row.id, there: id)
    }
    if let search { return .ask(.around(search.asked), carried: nil) }
    if range.start == nil { return try askDown(book, from: id) }
    // What lies below the first entry, if anything does.
    guard let token = range.lower.first(where: book.isUsable) else { return .ended(.done) }
    return .ask(.before(token), carried: nil)
  }

  /// The server has what was asked for.
  mutating func searchOn<Table: LogTable>(
    found page: LogPage, of ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    guard var search, let gone = search.gone, let at = try book.range(of: search.range),
      let low = try book.table.row(gone),
      book.ranges[at].holds(low.place),
      book.ranges[at].start.map({ $0.request < ask.request }) ?? true
    else {
      search = nil
      return
    }
    for entry in page.entries {
      guard let row = try book.table.row(entry.id), book.ranges[at].holds(row.place) else {
        continue
      }
      if row.place > low.place { search.there = row.id }
      break
    }
    self.search = search
    try halve(in: &book)
  }

  /// It does not have it.
  mutating func searchOn<Table: LogTable>(
    in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    guard var search else { return }
    let isFirst = search.gone == nil
    if search.asked == search.there {
      // Nothing of the range is in the log.
      self.search = nil
      return try book.dropRange(of: search.asked, .below)
    }
    search.gone = search.asked
    search.asked = search.there
    self.search = search
    if !isFirst { try halve(in: &book) }
  }

  /// Whom to ask next; where nobody is left between the two, all below is split off, and pages say
  /// what of it there still is.
  private mutating func halve<Table: LogTable>(
    in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    guard let known = search, let gone = known.gone, let low = try book.table.row(gone),
      let high = try book.table.row(known.there), low.place < high.place
    else {
      search = nil
      return
    }
    let middle = low.place / 2 + high.place / 2
    var row = try book.table.last(below: middle.saturating(plus: 1), from: low.place + 1)
    if row == nil { row = try book.table.first(above: middle, through: high.place - 1) }
    if let row {
      search?.asked = row.id
    } else {
      search = nil
      try book.splitOff(.below, of: high.id)
    }
  }
}
