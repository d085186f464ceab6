/// How the index follows the messages: a commit takes up the notes of the triggers, or they wait.
///
/// Rule protected: what is done at once goes by bytes of text, so that a commit that changes little
/// takes little, whatever the messages hold that it changes. What waits is looked through by each
/// search, and is found as it is now.
internal import Base

extension SearchIndex {
  /// Notes that are taken up at a time.
  private static let notes: Int64 = 256

  /// What is to become of one message in the index.
  struct Change {
    let number: UInt64
    /// What was put in, and the time by which its place is found; nil where it was not there.
    var beforeUs: Int64?
    var before: [UInt8] = []
    let timeUs: Int64
    let after: [UInt8]
    /// Bytes of payloads that were read for it.
    var read: Int
    /// Bytes of its texts.
    var size: Int64 { textBytes(ofDocument: after) }
    var cost: Int64 {
      SearchCost.document(before.count) &+ SearchCost.document(after.count)
        &+ SearchCost.payload(read)
    }
  }

  /// New messages that may wait at a time, and bytes of their payloads: each search looks through
  /// them.
  private static let waitingMax: Int64 = 256
  private static let waitingBytesMax: Int64 = 1 << 20

  /// What a commit does of it at least, for each row that it has written, and for one message; and
  /// bytes that it reads for that.
  private static let costOfCommit: Int64 = 128
  private static let costOfRow: Int64 = 16
  private static let costOfOne: Int64 = 256
  private static let bytesOfOne: Int64 = 64 << 10

  /// Follows what a commit changed that has written so many rows; whether there is anything to be
  /// done, now or later. New messages may wait, for one alone costs the index as much as twenty
  /// together. What the index has of a message that changed or went leaves it with the commit,
  /// where its text is not long: else with a slice to come.
  func indexCommit(rows: Int64) throws(StoreFailure) -> Bool {
    guard connection.indexesLater else { return try takeUp() > 0 }
    let queue = try connection.statement(Queries.searchQueue, Self.waitingMax &+ 1)
    guard try queue.step(), queue.int(0) > 0 else { return false }
    let mayWait =
      queue.int(2) == 0 && queue.int(0) <= Self.waitingMax && queue.int(1) <= Self.waitingBytesMax
    let first = queue.int(3)
    _ = consume queue
    if mayWait || first > Self.bytesOfOne { return true }
    let most = Self.costOfCommit.saturating(
      plus: rows.multipliedReportingOverflow(by: Self.costOfRow).partialValue)
    _ = try takeUp(most: Swift.max(most, Self.costOfCommit), ofOne: Self.costOfOne)
    return true
  }

  /// Takes up what changed, oldest numbers first, until one costs more than is left or than one
  /// may; gives how much that was. Where one at least is taken up that may be more.
  func takeUp(
    most: Int64 = .max, ofOne: Int64 = .max, atLeastOne: Bool = false
  ) throws(StoreFailure) -> Int64 {
    var used: Int64 = 0
    while used < most {
      let (changes, isLast) = try noted(
        most &- used, ofOne: ofOne, atLeastOne: atLeastOne && used == 0)
      guard let last = changes.last else { return used }
      try connection.registerTokenizer()
      let kept = try SearchBooks(connection)
      var books = kept
      for change in changes {
        used &+= change.cost
        let place = try placeBefore(change, books)
        // Something changed messages that told nobody; what is indexed of them is not known then.
        if place != nil, change.before.isEmpty {
          try renew()
          return used
        }
        try take(change, from: place, &books)
      }
      if books != kept { try books.save(connection) }
      try connection.runNoted("DELETE FROM search_change WHERE number <= ?", last.number)
      if isLast { return used }
    }
    return used
  }

  /// The next changes that cost no more; whether they are all that are taken up.
  private func noted(
    _ most: Int64, ofOne: Int64, atLeastOne: Bool
  ) throws(StoreFailure) -> (changes: [Change], isLast: Bool) {
    let row = try connection.statement(Queries.searchChanges, Self.notes)
    let names = connection.members
    var result: [Change] = []
    var left = most
    while try row.step() {
      let beforeUs = row.optionalInt(1)
      let change = Change(
        number: row.uint(0), beforeUs: beforeUs,
        before: beforeUs == nil ? [] : SearchableRow(row, from: 2).document(names),
        timeUs: row.int(14),
        after: row.isNull(8) ? [] : SearchableRow(row, from: 8).document(names),
        read: row.size(5) &+ row.size(7) &+ row.size(11) &+ row.size(13))
      left &-= change.cost
      let isTooMuch = left < 0 || change.cost > ofOne
      if isTooMuch, !(atLeastOne && result.isEmpty) { return (result, true) }
      result.append(change)
    }
    return (result, result.count < Self.notes)
  }

  private func placeBefore(
    _ change: Change, _ books: SearchBooks
  ) throws(StoreFailure) -> Int64? {
    guard let beforeUs = change.beforeUs else { return nil }
    return try place(of: change.number, at: beforeUs, books)
  }

  /// Takes a message out of its place and puts it in where it is to be.
  private func take(
    _ change: Change, from place: Int64?, _ books: inout SearchBooks
  ) throws(StoreFailure) {
    if let place {
      let isSame = change.before == change.after
      if isSame, change.beforeUs.map(SearchPlace.unit) == SearchPlace.unit(change.timeUs) { return }
      try connection.runNoted(
        "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, CAST(? AS TEXT))", place,
        change.before)
      try connection.runNoted("DELETE FROM search_row WHERE place = ?", place)
      if !isSame { books.noteRemoval() }
    }
    if !change.after.isEmpty { try insert(change, &books) }
  }

  /// Puts a message in that is not there.
  func insert(_ change: Change, _ books: inout SearchBooks) throws(StoreFailure) {
    let place = try takePlace(change, &books)
    try connection.runNoted(
      "INSERT INTO search (rowid, text) VALUES (?, CAST(? AS TEXT))", place, change.after)
  }

  // MARK: - Places

  /// Where a message of a time is; nil where it is not in the index.
  func place(
    of number: UInt64, at timeUs: Int64, _ books: SearchBooks
  ) throws(StoreFailure) -> Int64? {
    let unit = SearchPlace.unit(timeUs)
    let most = try tries(in: unit, books)
    var count: Int64 = 0
    while count <= most {
      let place = SearchPlace.place(of: number, in: unit, try: count)
      if try connection.number(Queries.searchNumber, place) == Int64(bitPattern: number) {
        return place
      }
      count &+= 1
    }
    return nil
  }

  /// Takes the first free place of those that a message tries.
  private func takePlace(
    _ change: Change, _ books: inout SearchBooks
  ) throws(StoreFailure) -> Int64 {
    let unit = SearchPlace.unit(change.timeUs)
    var count: Int64 = 0
    while count <= SearchPlace.triesMax {
      let place = SearchPlace.place(of: change.number, in: unit, try: count)
      try connection.runNoted(
        "INSERT OR IGNORE INTO search_row (place, number, size) VALUES (?, ?, ?)", place,
        change.number, change.size)
      if connection.changes > 0 {
        try note(count, in: unit, &books)
        return place
      }
      count &+= 1
    }
    throw .full
  }

  /// The most tries that messages of a unit took.
  private func tries(in unit: Int64, _ books: SearchBooks) throws(StoreFailure) -> Int64 {
    let usual = SearchPlace.triesUsual
    if books.tries <= usual { return books.tries }
    let kept = try connection.number(Queries.searchTries, SearchPlace.stretch(unit))
    return Swift.max(kept ?? usual, usual)
  }

  private func note(
    _ tries: Int64, in unit: Int64, _ books: inout SearchBooks
  ) throws(StoreFailure) {
    if tries > SearchPlace.triesUsual {
      let stretch = SearchPlace.stretch(unit)
      if try tries > connection.number(Queries.searchTries, stretch) ?? 0 {
        try connection.runNoted(
          "INSERT OR REPLACE INTO search_crowd (stretch, tries) VALUES (?, ?)", stretch, tries)
      }
    }
    books.tries = Swift.max(books.tries, tries)
  }

  /// The last place that a message of a unit or of an earlier one may have.
  func lastPlace(upTo unit: Int64) throws(StoreFailure) -> Int64 {
    let books = try SearchBooks(connection)
    let usual = Swift.min(books.tries, SearchPlace.triesUsual)
    var last = unit &+ SearchPlace.reach(usual)
    if books.tries == usual { return last }
    let first = SearchPlace.stretch(unit &- SearchPlace.reach(books.tries))
    let row = try connection.statement(
      Queries.searchCrowds, first, SearchPlace.stretch(unit))
    while try row.step() {
      let tries = Swift.min(row.int(1), SearchPlace.triesMax)
      let end = Swift.min(SearchPlace.last(row.int(0)), unit) &+ SearchPlace.reach(tries)
      last = Swift.max(last, end)
    }
    return last
  }
}
