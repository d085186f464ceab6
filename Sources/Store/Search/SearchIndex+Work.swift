/// What is done with the index in slices: it is built for an older file, and its segments merged.
///
/// Rule protected: a slice does about as much as it is told, whatever the file holds, so that who
/// does it can keep to a time. What is done is in the file.
internal import Base

extension SearchIndex {
  /// Messages that are looked at for one read.
  private static let rows: Int64 = 64
  /// Messages that take about as long to be put in as a page takes to be merged.
  private static let rowsOfPage: Int64 = 8
  private static let pagesMin: Int64 = 2

  /// Goes on with what is to be done; what there is after that.
  func work(_ slice: SearchSlice) throws(StoreFailure) -> SearchSlice.Done {
    guard isOn else { return try clear(slice, orElse: .nothing) }
    try connection.registerTokenizer()
    if slice.beginsAll { try beginAll() }
    let taken = try takeUp(most: slice.cost, atLeastOne: true)
    if taken > 0 { return .init(.more, taken) }
    let kept = try SearchBooks(connection)
    var books = kept
    var done = SearchSlice.Done(.more, pages(slice) &* SearchCost.page)
    // What was built is merged as it grows, so that no slice has much of it to do.
    if try mergeBySize(slice) == false {
      if slice.builds, books.below > 0 {
        done.cost = try build(slice, &books)
      } else {
        done.rest = try mergeAll(slice, &books)
        if done.rest != .begun { done.cost = 0 }
      }
    }
    if books != kept { try books.save(connection) }
    return done.rest == .more ? done : try clear(slice, orElse: done.rest)
  }

  /// Clears what is left of a former index.
  private func clear(
    _ slice: SearchSlice, orElse rest: SearchSlice.Rest
  ) throws(StoreFailure) -> SearchSlice.Done {
    let pages = pages(slice)
    return try clearLeft(pages: pages) ? .init(.more, pages &* SearchCost.page) : .init(rest, 0)
  }

  /// All is to be merged to one segment.
  private func beginAll() throws(StoreFailure) {
    var books = try SearchBooks(connection)
    guard books.below == 0, books.merging == .none else { return }
    books.merging = .due
    try books.save(connection)
  }

  // MARK: - Building

  /// Puts messages that were not looked at in, newest numbers first; gives how much that was.
  private func build(
    _ slice: SearchSlice, _ books: inout SearchBooks
  ) throws(StoreFailure) -> Int64 {
    var left = slice.cost
    while left > 0, books.below > 0 {
      let count = Self.rows
      let row = try connection.statement(Queries.searchBuild, books.below, count)
      var found: [Change] = []
      var below: Int64 = 0
      var seen: Int64 = 0
      while left > 0, try row.step() {
        below = row.int(0)
        seen &+= 1
        let change = Change(
          number: row.uint(0), timeUs: row.int(7),
          after: SearchableRow(row, from: 1).document(connection.members),
          read: row.size(4) &+ row.size(6))
        left &-= change.cost
        if !change.after.isEmpty { found.append(change) }
      }
      _ = consume row
      for change in found {
        // What came or changed since search was switched on is there.
        let place = try place(of: change.number, at: change.timeUs, books)
        if place == nil { try insert(change, &books) }
      }
      // Fewer than were asked for, where none was left out: these were the last ones.
      books.below = seen < count && left > 0 ? 0 : below
    }
    return slice.cost &- left
  }

  // MARK: - Merging

  private func pages(_ slice: SearchSlice) -> Int64 {
    Swift.max(slice.size / Self.rowsOfPage, Self.pagesMin)
  }

  /// Merges segments where there are many of a size, or goes on with a merge; false where there
  /// was nothing to do.
  private func mergeBySize(_ slice: SearchSlice) throws(StoreFailure) -> Bool {
    try merge(pages(slice))
  }

  /// Begins to merge all to one segment where that is due.
  private func mergeAll(
    _ slice: SearchSlice, _ books: inout SearchBooks
  ) throws(StoreFailure) -> SearchSlice.Rest {
    // By size there was nothing to do, so what was under way has ended.
    if books.merging == .underWay { books.noteMerged() }
    guard books.merging == .due else { return .nothing }
    guard slice.mergesAll else { return .due }
    books.merging = .underWay
    // A negative number begins with all segments.
    _ = try merge(pages(slice) &* -1)
    return .begun
  }

  private func merge(_ pages: Int64) throws(StoreFailure) -> Bool {
    let before = connection.totalChanges
    try connection.runNoted("INSERT INTO search (search, rank) VALUES ('merge', ?)", pages)
    // As the manual of FTS5 says, two or more were written where there was something to do.
    return connection.totalChanges &- before >= 2
  }
}

/// What is done with the index, in parts of what a short message costs that is put in.
///
/// Rule protected: what a slice does takes about as long whatever messages hold, so that the time
/// of one says how large the next may be.
enum SearchCost {
  /// A message with some 100 bytes of text.
  static let message: Int64 = 8
  /// A page that is merged or cleared.
  static let page: Int64 = 64
  private static let bytesOfText = 32
  private static let bytesOfPayload = 8_192

  /// Puts a document in, or takes it out.
  static func document(_ bytes: Int) -> Int64 {
    bytes == 0 ? 0 : 3 &+ Int64(clamping: bytes / bytesOfText)
  }

  /// Reads the payloads of a message.
  static func payload(_ bytes: Int) -> Int64 { 1 &+ Int64(clamping: bytes / bytesOfPayload) }
}

/// How much is done of what is to be done with the index.
package struct SearchSlice: Sendable {
  /// What a slice has done, and what there is after it.
  package struct Done: Sendable {
    package var rest: Rest
    /// In short messages that are put in; 0 where there was nothing to do.
    package var size: Int64 { (cost &+ SearchCost.message &- 1) / SearchCost.message }
    fileprivate(set) var cost: Int64

    fileprivate init(_ rest: Rest, _ cost: Int64) {
      (self.rest, self.cost) = (rest, cost)
    }
  }

  /// What there is after a slice.
  package enum Rest: Equatable, Sendable {
    case nothing
    case more
    /// More, and all is being merged to one segment from this slice on.
    case begun
    /// All is to be merged to one segment, which this slice was not to begin.
    case due
  }

  /// In short messages that are put in.
  package var size: Int64
  var cost: Int64 {
    let (cost, isTooLarge) = Swift.max(size, 1).multipliedReportingOverflow(by: SearchCost.message)
    return isTooLarge ? .max : cost
  }
  /// Messages are put in that were stored before search was switched on.
  package var builds: Bool
  /// All may be begun to be merged.
  package var mergesAll: Bool
  /// All is to be merged, also where nothing went.
  package var beginsAll = false

  package init(_ size: Int64, builds: Bool = true, mergesAll: Bool = true) {
    self.size = size
    self.builds = builds
    self.mergesAll = mergesAll
  }
}
