/// Ranges of which the server has lost an end.
import Testing
import Timeline

@Suite struct LogEdgeTests {
  /// The server has lost an end of a range, and knows its token no more or none is left: what it
  /// still has stays, and is found by halving.
  @Test(arguments: [LogNote.Side.below, .above], [true, false])
  func whatIsLeftOfARangeStays(_ side: LogNote.Side, hasToken: Bool) throws {
    var log = LogScript(profile: LogProfile(refusesUnknown: hasToken))
    let all = (1...300).map { LogScript.entry("m\($0)") }
    try log.page(.newest, all, before: "t0", present: true)
    let has = side == .below ? 257..<301 : 1..<45
    func number(_ text: [UInt8]) -> Int {
      Int(String(decoding: text.dropFirst(), as: UTF8.self)) ?? 0
    }
    log.book.connected()
    let goal = LogWalk.Goal.down(from: Array("m300".utf8))
    var walk = try LogWalk(side == .below ? goal : .up(from: Array("m1".utf8)), log.book)
    var asked = 0
    while case .ask(let place, _) = try walk.next(log.book), asked < 60 {
      asked += 1
      let ask = log.book.ask(place)
      // A page is of two entries around one, or of twenty below or above a token.
      var shown = 0..<0
      switch place {
      case .around(let id): shown = number(id)..<number(id) + 2
      case .before(let token): shown = number(token.bytes) - 20..<number(token.bytes)
      case .after(let token): shown = number(token.bytes) + 1..<number(token.bytes) + 21
      case .newest: Issue.record("\(place)")
      }
      shown = shown.clamped(to: has)
      if case .around(let id) = place, !has.contains(number(id)) {
        try walk.isMissing(ask, in: &log.book)
      } else if let token = ask.token, token.bytes.first == UInt8(ascii: "t") {
        try walk.tokenIsUnknown(ask, in: &log.book)
      } else {
        let page = LogPage(
          entries: shown.map { all[$0 - 1] },
          before: shown.lowerBound == has.lowerBound ? nil : Array("b\(shown.lowerBound)".utf8),
          after: Array("a\(shown.upperBound - 1)".utf8),
          present: shown.upperBound == has.upperBound)
        try walk.take(page, of: ask, into: &log.book)
      }
    }
    #expect(asked > 2 && asked <= 24)
    let range = try #require(try log.book.range(of: Array("m\(has.lowerBound)".utf8)))
    let rows = log.book.table.rows(
      from: log.book.ranges[range].low, through: log.book.ranges[range].high)
    #expect(rows.map(\.id) == has.map { Array("m\($0)".utf8) })
  }

  /// What stood between two neighbours has left the log, and what the page shows is there: also
  /// where that deletes what has left, which a change of it stood above.
  @Test func whatAPageShowsStaysAndWhatItDeletesGoes() throws {
    var log = LogScript()
    try log.page(.newest, LogScript.entries("a b"), before: "t0", present: true)
    let token = log.token(.above, of: "b")
    try log.push(LogScript.entry("k"), behind: "b")
    try log.push(LogScript.entry("r", .react(Array("r".utf8)), of: "a"), behind: "k")
    log.book.connected()
    let deletion = LogScript.entry("d", .delete, of: "k")
    try log.page(
      .after(token), LogScript.entries("x y") + [deletion], before: "t1", after: "t2")
    #expect(log.shape == "[a b x y d]")
  }

  /// What another history told claims nothing: it does not drop what the log shows now, whatever
  /// changes what.
  @Test func whatIsVoidDropsNothing() throws {
    var log = LogScript(profile: LogProfile(namesEpoch: true))
    let known = LogScript.entries("a b k") + [LogScript.entry("r", .react([1]), of: "a")]
    try log.page(.newest, known + LogScript.entries("l m n o"), before: "t0", epoch: "1")
    let edit = LogScript.entry("e", .edit, of: "k")
    try log.page(.newest, LogScript.entries("a b") + [edit], before: "t0", epoch: "2")
    #expect(log.shape.hasSuffix("[a b e]"))
  }

  /// A server that stops finding entries in the middle of a search is asked for its newest page.
  @Test func whereASearchCannotGoOnTheNewestPageDoes() throws {
    var log = LogScript(profile: LogProfile(refusesUnknown: true))
    let all = (1...10).map { LogScript.entry("m\($0)") }
    try log.page(.newest, all, before: "t0", present: true)
    var walk = try LogWalk(.present, log.book)
    guard case .ask(let place, _) = try walk.next(log.book) else { return }
    try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
    while case .ask(.around(let id), _) = try walk.next(log.book), id != all[0].id {
      try walk.isMissing(log.book.ask(.around(id)), in: &log.book)
    }
    #expect(try walk.next(log.book) == .ask(.around(all[0].id), carried: nil))
    walk.isUnsupported()
    #expect(try walk.next(log.book) == .ask(.newest, carried: nil))
  }

  /// An edit that stood apart is compared with what its message shows when the two are joined: what
  /// comes after it counts then, also where the page itself was asked for before.
  @Test func anEditThatIsJoinedIsNamed() throws {
    var log = LogScript()
    try log.page(.newest, LogScript.entries("p"), before: "t0", present: true)
    let ask = log.book.ask(.after(log.token(.above, of: "p")))
    let first = LogScript.entry("e1", .edit, of: "a", says: "one")
    let second = LogScript.entry("e2", .edit, of: "a", says: "two")
    try log.push(first)
    try log.push(LogScript.entry("a", edited: .unnamed, says: "one"), behind: "p")
    try log.push(second, behind: "e1")
    let shown = LogScript.entry("a", edited: .unnamed, says: "two")
    try log.answer(ask, [shown, first, second], before: "t0", present: true)
    #expect(try log.book.state(of: Array("a".utf8))?.content == Array("two".utf8))
  }

  /// Protects: what a file says of a place ends no process, and goes not round.
  @Test func sumsOfPlacesStopAtTheEdge() {
    #expect(Place.max.saturating(plus: 1) == .max && Place.min.saturating(minus: 1) == .min)
    #expect(Place.max.saturating(minus: .min) == .max && Place.min.saturating(plus: .min) == .min)
  }
}
