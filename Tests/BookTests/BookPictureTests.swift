/// One picture for each rule of a book: ranges as text, as `Book.picture` draws them.
import Book
import Testing

private func book(_ chains: [ChainItem<Int64>]..., faults: BookFaults = []) -> Book<Int64> {
  var book = Book<Int64>()
  book.faults = faults
  for (index, chain) in chains.enumerated() {
    book.take(chain, PageFacts(asked: index * 10, came: index * 10 + 1))
  }
  return book
}

/// Rows named by their keys.
private func rows(_ keys: Int...) -> [ChainItem<Int64>] { keys.map { .row($0, Int64($0)) } }

@Suite struct BookPictureTests {
  /// B1: a page's rows become neighbours; pages that share none stay apart.
  @Test func pagesAreRanges() {
    #expect(book(rows(5, 6), rows(1, 2)).picture() == "1 2 | 5 6")
  }

  /// B4: a row that both pages show joins them, and so does a boundary that both drew.
  @Test func sharedRowsAndBoundariesJoin() {
    #expect(book(rows(5, 6), rows(1, 2, 5)).picture() == "1 2 5 6")
    let below = rows(1, 2) + [.mark(4)]
    #expect(book([.mark(4)] + rows(5, 6) + [.present], below).picture() == "1 2 5 6 $")
    #expect(book(rows(5, 6), rows(1, 2, 5), faults: .endsLoseLinks).picture() == "1 2 5 | 6")
  }

  /// B2: what was between the rows of a page and came before its request is absent.
  @Test func absentRowsAreOut() {
    var book = book(rows(1, 3, 5))
    #expect(book.take(rows(1, 5), PageFacts(asked: 9, came: 10)) == [3])
    #expect(book.picture() == "1 (3) 5")
    book.take(rows(1, 3, 5), PageFacts(asked: 19, came: 20))
    #expect(book.picture() == "1 3 5")
  }

  /// B3, B8: a push cuts the link that it falls into, and so does one that a page cannot know.
  @Test func pushesCut() {
    var book = book(rows(1, 5))
    book.put(3, 3, came: 8)
    #expect(book.picture() == "1 | ?3 | 5")
    book.take(rows(1, 5), PageFacts(asked: 7, came: 9))
    #expect(book.picture() == "1 | ?3 | 5")
    book.take(rows(1, 3, 5), PageFacts(asked: 10, came: 11))
    #expect(book.picture() == "1 3 5")
  }

  /// B5: a link stands between the same two entries only: another row is beside 1 now.
  @Test func linksAreOfTwo() {
    #expect(book(rows(1, 3, 4), rows(2, 4)).picture() == "1 | 2 (3) 4")
    #expect(book(rows(1, 3, 4), rows(2, 4), faults: .linksStay).picture() == "1 2 (3) 4")
  }

  /// B6: a pushed row whose place is a guess goes to an open place of its key, and is absent only
  /// if there is none.
  @Test func guessesMove() {
    func pushed(_ faults: BookFaults) -> Book<Int64> {
      var book = Book<Int64>()
      book.faults = faults
      book.take([.row(1, 1), .row(2, 1)], PageFacts(asked: 0, came: 1))
      book.put(9, 1, came: 2)
      book.take([.row(2, 1), .row(3, 1), .row(4, 2)], PageFacts(asked: 3, came: 4))
      return book
    }
    // The page shows all of the key above 2, so 9 is below 1.
    #expect(pushed([]).picture() == "?9 | 1 2 3 4")
    #expect(pushed(.guessesAreAbsent).picture() != pushed([]).picture())
  }

  /// B7: a detached row does not say where the rows of its key are.
  @Test func islandsOrderNothing() {
    func taken(_ faults: BookFaults) -> String {
      var book = Book<Int64>()
      book.faults = faults
      book.put(9, 1, came: 1)
      book.take([.row(8, 1)], PageFacts(asked: 1, came: 2))
      book.take([.row(2, 1), .row(3, 1), .row(4, 2)], PageFacts(asked: 3, came: 4))
      book.take([.row(9, 1), .row(2, 1), .row(3, 1)], PageFacts(asked: 5, came: 6))
      return book.picture()
    }
    #expect(taken([]) == "8 | 9 2 3 4")
    #expect(taken(.islandsOrder) != taken([]))
  }

  /// B9: a push that names the newest row as the one before it is the newest; any other name says
  /// nothing.
  @Test func namedPredecessorsJoinAtThePresent() {
    var newest = book(rows(1, 2) + [.present])
    newest.put(3, 3, came: 5, after: 2)
    #expect(newest.picture() == "1 2 3 $")
    newest.put(9, 9, came: 6, after: 1)
    #expect(newest.picture() == "1 2 3 | ?9 | $")
    var lost = book(rows(1, 2) + [.present])
    lost.put(9, 9, came: 5, after: 7)
    #expect(lost.picture() == "1 2 | ?9 | $")
  }

  /// B10: above what is settled a boundary is linked to the present only.
  @Test func unsettledBoundariesBeginAnew() {
    var book = book(rows(1, 2) + [.present])
    book.settled = 2
    book.mark(.mark(7))
    #expect(book.picture() == "1 2 | <7> $")
    var wrong = newest(.unsettledMarksLink)
    wrong.settled = 2
    wrong.mark(.mark(7))
    #expect(wrong.picture() == "1 2 <7> $")
  }

  private func newest(_ faults: BookFaults) -> Book<Int64> {
    var book = Book<Int64>()
    book.faults = faults
    book.take(rows(1, 2) + [.present], PageFacts(asked: 0, came: 1))
    return book
  }

  /// B11: a purge cuts; in a set it opens the whole key, as nobody told which rows were beside it.
  @Test func purgesCut() {
    var plain = book(rows(1, 2, 3))
    plain.purge(2)
    #expect(plain.picture() == "1 | 3")
    var set = Book<Int64>()
    let page: [ChainItem<Int64>] = [
      .row(1, 1), .row(5, 5), .row(6, 5), .row(7, 5), .row(9, 9),
    ]
    set.take(page, PageFacts(asked: 0, came: 1, isOrdered: false))
    #expect(set.picture() == "1 5 ~ 6 ~ 7 9")
    set.purge(6)
    #expect(set.picture() == "1 <5> | 5 | 7 | <6> 9")
  }

  /// B11: what was known around an opened set ends at its boundaries, and not beyond.
  @Test func openedSetsEndAtBoundaries() {
    var set = book(rows(1), rows(9))
    let page: [ChainItem<Int64>] = [.mark(5), .row(5, 5), .row(6, 5), .mark(6)]
    set.take(page, PageFacts(asked: 20, came: 21, isOrdered: false))
    #expect(set.picture() == "1 | <5> 5 ~ 6 <6> | 9")
    set.purge(6)
    #expect(set.picture() == "1 | 5 | 9")
  }

  /// B13: a page that tells the order and ends inside a set opens it: rows of the set that the page
  /// does not show are beyond its end, and not absent.
  @Test func orderedPagesOpenSetsAtTheirEnds() {
    func taken(_ names: [(Int, Int64)], _ faults: BookFaults = []) -> (String, [Int]) {
      var book = Book<Int64>()
      book.faults = faults
      let set: [ChainItem<Int64>] = [.row(1, 1), .row(5, 5), .row(6, 5), .row(7, 5), .row(9, 9)]
      book.take(set, PageFacts(asked: 0, came: 1, isOrdered: false))
      let absent = book.take(
        names.map { .row($0.0, $0.1) }, PageFacts(asked: 2, came: 3, isOrdered: true))
      return (book.picture(), absent)
    }
    let upper = taken([(1, 1), (7, 5)])
    #expect(upper.0 == "1 7 | 5 | 6 | <6> 9")
    #expect(upper.1 == [])
    let lower = taken([(5, 5), (9, 9)])
    #expect(lower.0 == "1 <5> | 6 | 7 | 5 9")
    #expect(lower.1 == [])
    // Which row of the set is beside 1 nobody told.
    #expect(taken([(7, 5), (9, 9)]).0 == "1 <5> | 5 | 6 | 7 9")
    // Shown from end to end, the page says what the set lacks.
    #expect(taken([(1, 1), (7, 5), (5, 5), (9, 9)]).1 == [6])
    #expect(taken([(1, 1), (7, 5)], .setsStay).1 == [5, 6])
  }

  /// B12: an item that cannot be read is an entry beside its older neighbour.
  @Test func unreadableItemsAreEntries() {
    let page: [ChainItem<Int64>] = [.row(1, 1), .unreadable(7), .row(3, 3)]
    #expect(book(page).picture() == "1 !7 3")
    #expect(book(page, rows(1, 3)).picture() == "1 3")
  }

  /// A deleted row leaves its neighbours as neighbours; at an end its key's boundary is the end.
  @Test func deletionsKeepRanges() {
    var book = book([.start] + rows(1, 2, 3))
    book.remove(2)
    #expect(book.picture() == "^ 1 3")
    book.remove(3)
    #expect(book.picture() == "^ 1 <3>")
    var low = newest([])
    low.remove(1)
    #expect(low.picture() == "<2> 2 $")
  }

  @Test func whatIsAboveABoundaryIsUnsettled() {
    var book = book([.start] + rows(1, 2, 3, 4) + [.present])
    book.unsettle(above: 3)
    #expect(book.picture() == "^ 1 2 <3> | 3 | 4")
  }

  /// In a log only pages order: a page between two entries of a range finds what left.
  @Test func aLogIsOneKey() {
    var log = Book<LogKey>()
    func page(_ names: [Int]) -> [ChainItem<LogKey>] { names.map { .row($0, .only) } }
    log.take(page([5, 6]) + [.present], PageFacts(asked: 0, came: 1))
    log.take(page([1, 2]), PageFacts(asked: 2, came: 3))
    #expect(log.picture() == "1 2 | 5 6 $")
    // The detached range is not there: it is further down.
    log.take(page([3, 4, 5]), PageFacts(asked: 4, came: 5))
    #expect(log.picture() == "1 2 | 3 4 5 6 $")
    log.take([.start] + page([7, 3]), PageFacts(asked: 6, came: 7))
    // No place is left for it: it has left the log.
    #expect(log.picture() == "^ 7 3 4 5 6 (1) (2) $")
  }
}
