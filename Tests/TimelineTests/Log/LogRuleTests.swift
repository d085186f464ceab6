/// The rules of a log by name. Each holds, and is broken by the fault that is planted for it.
import Testing
import Timeline

private typealias Script = LogScript
private typealias Rule = LogRule

struct LogRule: Sendable {
  let fault: LogFault
  let holds: @Sendable (LogFault?) throws -> Bool

  init(_ fault: LogFault, _ holds: @escaping @Sendable (LogFault?) throws -> Bool) {
    self.fault = fault
    self.holds = holds
  }
}

@Suite struct LogRuleTests {
  @Test(arguments: LogFault.allCases) func holdsAndIsBrokenByItsFault(_ fault: LogFault) throws {
    let rules = (Self.tokens + Self.joining + Self.changes + Self.restores)
      .filter { $0.fault == fault }
    #expect(!rules.isEmpty, "no test of \(fault)")
    for rule in rules {
      #expect(try rule.holds(nil), "\(fault)")
      #expect(try !rule.holds(fault), "\(fault) is not found")
    }
  }

  // MARK: Joining, places

  private static let joining: [Rule] = [
    Rule(.gapIgnored) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      let token = log.token(.above, of: "b")
      try log.page(.after(token), Script.entries("x y"), before: "t1", present: true, gap: true)
      return log.shape == "[a b]> [x y]>"
    },
    Rule(.startIgnored) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      try log.page(.after(log.token(.above, of: "b")), Script.entries("x y"), before: nil)
      return log.book.ranges.count == 2
    },
    Rule(.splitForgotten) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b c d"), before: "t0", present: true)
      try log.page(.around(Array("b".utf8)), Script.entries("b x"), before: "t1")
      return log.shape == "[a b x] [c d]"
    },
    Rule(.partStays) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b c d"), before: "t0", present: true)
      try log.page(.around(Array("b".utf8)), Script.entries("b x"), before: "t1")
      try log.page(
        .after(log.token(.above, of: "x")), Script.entries("y"), before: "t2", present: true)
      return log.shape == "[a b x y]>"
    },
    Rule(.absentStays) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b c"), before: "t0", present: true)
      try log.page(.newest, Script.entries("a c"), before: "t0", present: true)
      return log.shape == "[a c]>"
    },
    Rule(.laterIsGone) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      let ask = log.book.ask(.newest)
      try log.push(Script.entry("c"), behind: "b")
      try log.answer(ask, Script.entries("a b"), before: "t0", present: true)
      return log.shape == "[a b c]>"
    },
    Rule(.carriedIsNew) { fault in
      var log = Script(fault)
      let empty = try log.page(.newest, [], before: "t1", present: true)
      try log.push(Script.entry("x"))
      guard let token = empty.floating else { return false }
      try log.page(.before(token), Script.entries("a b"), before: nil, carried: empty.carried)
      return log.shape == "|[a b]> [x]"
    },
    Rule(.nothingRefuted) { fault in
      var log = Script(fault)
      try log.push(Script.entry("x"))
      try log.page(.newest, Script.entries("a b"), before: nil, present: true)
      return log.shape == "|[a b]>"
    },
    Rule(.presentByTime) { fault in
      var log = Script(fault)
      try log.push(Script.entry("x", at: 100))
      let entries = [Script.entry("a", at: 1), Script.entry("b", at: 2)]
      try log.page(.newest, entries, before: "t0", present: true)
      // Not above what came later.
      try log.push(Script.entry("y", at: 50))
      return log.shape == "[x] [a b]> [y]"
    },
    Rule(.changeBelow) { fault in
      var log = Script(fault)
      let entries = [Script.entry("a", at: 10), Script.entry("b", at: 20)]
      try log.page(.newest, entries, before: "t0", present: true)
      try log.push(Script.entry("e", .edit, of: "a", at: 1))
      return log.shape == "[a b]> [e]"
    },
    Rule(.neighbourStays) { fault in
      var log = Script(fault, spacing: LogSpacing(step: 2, gap: 4))
      try log.page(.newest, [Script.entry("a", at: 1)], before: "t0", present: true)
      try log.push(Script.entry("z", at: 9))
      let token = log.token(.above, of: "a")
      try log.page(.after(token), Script.entries("b c d e f g"), before: "t1")
      return log.shape == "[a b c d e f g]> [z]" && !log.book.table.isBroken
    },
    Rule(.pushAdjacent) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      try log.push(Script.entry("x"), behind: "q")
      return log.shape == "[a b]> [x]" && log.book.step.needsCatchUp
    },
    Rule(.lostTooEarly) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: nil, present: true)
      let isEarly = try log.book.lacks(Array("s".utf8), answered: log.book.facts.issued)
      let issued = log.book.facts.issued
      try log.page(.newest, Script.entries("a b"), before: nil, present: true)
      return try !isEarly && log.book.lacks(Array("s".utf8), answered: issued)
    },
  ]

  // MARK: Changes, retention

  private static let changes: [Rule] = [
    Rule(.changeNotDeleted) { fault in
      var log = Script(fault)
      let edit = Script.entry("e", .edit, of: "a", says: "new")
      let entries = [Script.entry("a"), edit, Script.entry("d", .delete, of: "e")]
      try log.page(.newest, entries, before: nil, present: true)
      return try log.says("a") == "a"
    },
    Rule(.otherRangeFirst) { fault in
      var log = Script(fault)
      let entries = [Script.entry("a"), Script.entry("e", .edit, of: "a", says: "one")]
      try log.page(.newest, entries, before: "t0", present: true)
      try log.push(Script.entry("f", .edit, of: "a", says: "two"))
      return try log.says("a") == "two"
    },
    Rule(.otherEdits) { fault in
      // By a page and by a push, before and behind the message, alone and beside its sender's.
      var log = Script(fault)
      func edit(_ id: String, of target: String, by user: String) -> LogEntry {
        Script.entry(id, .edit, of: target, says: "\(user)'s", by: user)
      }
      let early = edit("e", of: "c", by: "bo")
      let (a, b) = (Script.entry("a", by: "al"), Script.entry("b", by: "al"))
      try log.page(
        .newest, [early, a, b, edit("f", of: "a", by: "bo"), edit("g", of: "b", by: "al")],
        before: nil, present: true)
      try log.push(Script.entry("c", by: "al"), behind: "g")
      try log.push(edit("h", of: "b", by: "bo"), behind: "c")
      let says = try [log.says("a"), log.says("b"), log.says("c")]
      return says == ["a", "al's", "c"]
    },
    Rule(.inPlaceIgnored) { fault in
      var log = Script(fault)
      let shown = Script.entry("a", edited: .by(Array("f".utf8)), says: "two")
      let edit = Script.entry("e", .edit, of: "a", says: "one")
      try log.page(.newest, [shown, edit], before: "t0")
      return try log.says("a") == "two"
    },
    Rule(.inPlaceStays) { fault in
      var log = Script(fault)
      try log.page(.newest, [Script.entry("a", edited: .unnamed, says: "one")], before: "t0")
      let edit = Script.entry("e", .edit, of: "a", says: "two")
      try log.page(.after(log.token(.above, of: "a")), [edit], before: "t1", present: true)
      return try log.says("a") == "two"
    },
    Rule(.inPlaceUnnamed) { fault in
      var log = Script(fault)
      let shown = Script.entry("a", edited: .unnamed, says: "one")
      let edit = Script.entry("e", .edit, of: "a", says: "one")
      try log.page(.newest, [shown, edit], before: "t0", present: true)
      try log.push(Script.entry("f", .edit, of: "a", says: "two"), behind: "e")
      return try log.says("a") == "two"
    },
    Rule(.olderCopyWins) { fault in
      var log = Script(fault)
      let ask = log.book.ask(.newest)
      try log.push(Script.entry("a", says: "two"))
      try log.answer(ask, [Script.entry("a", says: "one")], before: "t0", present: true)
      return try log.says("a") == "two"
    },
    Rule(.trimsChanges) { fault in
      var log = Script(fault)
      let entries = [Script.entry("e", .edit, of: "z"), Script.entry("b")]
      try log.page(.newest, entries, before: nil, present: true)
      try log.push(Script.entry("z"))
      return try log.book.purgeLowest(5) == 0
    },
    Rule(.trimmedClaims) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b c"), before: nil, present: true)
      // Never the last one of the newest range.
      let gone = try log.book.purgeLowest(1) + log.book.purgeLowest(9)
      return gone == 2 && log.shape == "[c]>"
    },
  ]

  // MARK: Purge and restore

  private static let restores: [Rule] = [
    Rule(.purgedStays) { fault in
      var log = Script(fault)
      let entries = [Script.entry("a"), Script.entry("d", .delete, of: "b"), Script.entry("b")]
      try log.page(.newest, entries + Script.entries("c"), before: "t0", present: true)
      try log.page(.newest, Script.entries("b c"), before: nil, present: true)
      // What was purged is no rollback: nothing is doubted but what it had deleted itself.
      return log.shape == "|[b c]>"
    },
    Rule(.restoredIsClaimed) { fault in
      var log = Script(fault)
      let marked = Script.entry("a", deleted: true)
      try log.page(.newest, [marked] + Script.entries("b c d"), before: "t0", present: true)
      try log.page(.newest, Script.entries("b x"), before: "t1", present: true)
      return log.shape == "[a? b x]>"
    },
    Rule(.markStays) { fault in
      var log = Script(fault)
      try log.page(.newest, [Script.entry("a", deleted: true)], before: "t0", present: true)
      try log.page(.newest, [Script.entry("a")], before: "t0", present: true)
      return try log.says("a") == "a"
    },
    Rule(.boundedClaims) { fault in
      var profile = LogProfile()
      profile.rangesMax = 2
      var log = Script(fault, profile: profile)
      try log.page(.newest, Script.entries("a"), before: "t0", present: true)
      for (time, id) in ["p", "q", "r", "s"].enumerated() {
        try log.push(Script.entry(id, at: Int64(time)))
      }
      guard log.shape == "[a]> ~[p q r] [s]" else { return false }
      // A page with two of them beside each other proves nothing of the third.
      try log.page(.around(Array("p".utf8)), Script.entries("p r"), before: "t1")
      return log.book.table.row(Array("q".utf8)) != nil
    },
    Rule(.epochIgnored) { fault in
      var log = Script(fault, profile: LogProfile(namesEpoch: true))
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true, epoch: "1")
      try log.page(.newest, Script.entries("b c"), before: "t1", present: true, epoch: "2")
      return log.shape == "~[a] [b c]>"
    },
  ]

  // MARK: What no fault breaks

  @Test func aPageThatListsTheTokensEntryIsReadByIds() throws {
    var log = Script()
    try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
    let token = log.token(.above, of: "b")
    try log.page(.after(token), Script.entries("b c"), before: nil, present: true)
    #expect(log.shape == "|[b c]>")
  }

  /// An older page is later than the claim of the present. What it shows in place is the edit that
  /// it lists and that says the same; where it says something else, an edit of later may be shown.
  @Test(arguments: ["one", "another"])
  func whatAnOlderPageShowsInPlaceIsTheEditThatSaysTheSame(_ listed: String) throws {
    var log = Script()
    try log.page(.newest, Script.entries("m"), before: "t0", present: true)
    let shown = Script.entry("a", edited: .unnamed, says: "one")
    let edit = Script.entry("e", .edit, of: "a", says: listed)
    try log.page(.before(log.token(.below, of: "m")), [shown, edit], before: "t1")
    try log.push(Script.entry("f", .edit, of: "a", says: "two"), behind: "m")
    #expect(try log.says("a") == (listed == "one" ? "two" : "one"))
    let last = [Script.entry("m"), Script.entry("f", .edit, of: "a", says: "two")]
    try log.page(.newest, last, before: "t0", present: true)
    #expect(try log.says("a") == "two")
  }

  @Test func aRangeOfWhichNothingAnswersIsDropped() throws {
    var log = Script(profile: LogProfile(refusesUnknown: true))
    try log.page(.newest, Script.entries("a b c"), before: "t0", present: true)
    var walk = try LogWalk(.present, log.book)
    guard case .ask(let place, _) = try walk.next(log.book) else { return }
    try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
    var asked: [String] = []
    while case .ask(.around(let id), _) = try walk.next(log.book) {
      asked.append(String(decoding: id, as: UTF8.self))
      try walk.isMissing(log.book.ask(.around(id)), in: &log.book)
    }
    #expect(asked == ["c", "b", "a"])
    #expect(log.shape.isEmpty)
  }

  @Test func changesThatWaitStayAndCountOnceTheirMessageComes() throws {
    var log = Script()
    let edit = Script.entry("e", .edit, of: "a", says: "new")
    try log.page(.newest, [edit, Script.entry("b")], before: "t0", present: true)
    #expect(try log.says("a") == nil)
    try log.page(.before(log.token(.below, of: "e")), Script.entries("a"), before: nil)
    #expect(try log.says("a") == "new")
  }

  @Test func betweenTwoOtherRangesWhatIsShownStays() throws {
    var log = Script()
    try log.page(.newest, [Script.entry("a", at: 1)], before: "t0")
    try log.push(Script.entry("e", .edit, of: "a", at: 5, says: "one"))
    _ = log.book.ask(.newest)
    try log.push(Script.entry("f", .edit, of: "a", at: 9, says: "two"))
    #expect(try log.says("a") == "one")
    // The one that reaches the present by a later request is above the other.
    let entry = Script.entry("f", .edit, of: "a", at: 9, says: "two")
    try log.page(.newest, [entry], before: "t9", present: true)
    #expect(try log.says("a") == "two")
  }

  @Test func theStretchOfMostEntriesKeepsItsPlaces() throws {
    var log = Script()
    try log.page(.newest, Script.entries("e f g h"), before: "t4", present: true)
    try log.page(.around(Array("b".utf8)), Script.entries("a b"), before: nil)
    let before = log.book.table.all.suffix(4).map(\.place)
    try log.page(.before(log.token(.below, of: "e")), Script.entries("b c d"), before: "t1")
    #expect(log.shape == "|[a b c d e f g h]>")
    #expect(log.book.table.all.suffix(4).map(\.place) == before)
  }

  @Test func aPageOutOfOrderEndsInRangesAndNotInALoop() throws {
    var log = Script()
    try log.page(.newest, Script.entries("a b c d"), before: "t0", present: true)
    try log.page(.newest, Script.entries("c a d b"), before: "t0", present: true)
    #expect(log.book.facts.contradictions == 1)
    #expect(log.shape == "[c a d b]>")
  }

  @Test func tenThousandEditsOfOneMessage() throws {
    var log = Script()
    try log.page(.newest, Script.entries("a"), before: nil, present: true)
    for page in 0..<10 {
      let edits = (0..<1000).map {
        Script.entry("e\(page).\($0)", .edit, of: "a", says: "\(page).\($0)")
      }
      let token = log.book.ranges[0].upper[0]
      try log.page(.after(token), edits, before: "t", after: "p\(page)", present: page == 9)
    }
    #expect(try log.says("a") == "9.999")
    #expect(log.book.ranges.count == 1)
  }

  @Test func aLogWithoutEntriesIsOne() throws {
    var log = Script()
    try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
    try log.page(.newest, [], before: nil, present: true)
    #expect(log.shape.isEmpty)
    #expect(log.book.facts.empty?.request == 2)
  }

  /// What is pushed right behind an empty log starts it, and nothing is between; on its connection
  /// only, and only right behind.
  @Test func aPushBehindAnEmptyLogStartsIt() throws {
    func pushed(_ before: String, isNew: Bool = false) throws -> (String, Bool) {
      var log = Script()
      try log.page(.newest, [], before: nil, after: "t0", present: true)
      if isNew { log.book.connected() }
      _ = log.book.takeStep()
      for (id, token) in [("a", before), ("b", "ta")] {
        try log.book.take(
          LogPush(
            entries: Script.entries(id), before: Array(token.utf8), after: Array("t\(id)".utf8)))
      }
      return (log.shape, log.book.takeStep().needsCatchUp)
    }
    #expect(try pushed("t0") == ("|[a b]>", false))
    #expect(try pushed("t1") == ("[a b]", true))
    #expect(try pushed("t0", isNew: true) == ("[a b]", true))
  }

  @Test func whatIsClaimedIsSaidWithItsMoments() throws {
    var log = Script()
    try log.page(.newest, Script.entries("a b"), before: nil, present: true)
    log.book.connected()
    try log.push(Script.entry("x"))
    let claims = log.book.ranges.filter { !$0.isUnverified }
    #expect(claims.map(\.connection) == [1, 2])
    #expect(claims[0].start == LogClaim(request: 1, connection: 1))
    #expect(claims[0].present == LogClaim(request: 1, connection: 1))
    #expect(claims[1].present == nil)
  }

  /// What stood between two neighbours has left the log.
  @Test func whatStandsBetweenNeighboursIsGone() throws {
    var log = LogScript()
    let deletion = LogScript.entry("d", .delete, of: "x")
    try log.page(.newest, [LogScript.entry("a"), deletion], before: "t0", present: true)
    try log.push(LogScript.entry("x", .edit, of: "a"))
    #expect(log.shape == "[a d]>")
    #expect(log.book.takeStep().removed == [Array("x".utf8)])
  }

  /// Protects: ranges do not touch, also where a server has put so much between two neighbours that
  /// no place is left there. Two that touch would be one to who reads the places.
  @Test func whatIsSplitOffStandsApart() throws {
    var log = LogScript(
      profile: LogProfile(refusesUnknown: true), spacing: LogSpacing(step: 2, gap: 4))
    try log.page(.newest, LogScript.entries("a b"), before: "t0", present: true)
    try log.page(.newest, LogScript.entries("a x b"), before: "t0", present: true)
    var walk = try LogWalk(.present, log.book)
    guard case .ask(let place, _) = try walk.next(log.book) else { return }
    try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
    try walk.isMissing(log.book.ask(.around(Array("b".utf8))), in: &log.book)
    // An answer about x that does not show it.
    let page = LogPage(
      entries: LogScript.entries("z"), before: Array("x".utf8), after: Array("y".utf8))
    try walk.take(page, of: log.book.ask(.around(Array("x".utf8))), into: &log.book)
    #expect(log.shape == "[a x] [b] [z]")
    for (low, high) in zip(log.book.ranges, log.book.ranges.dropFirst()) {
      #expect(low.high.saturating(plus: 1) < high.low)
    }
  }

  /// A change that comes to stand elsewhere takes what it changes below it.
  @Test func aChangeThatMovesTakesItsTargetBelow() throws {
    var log = LogScript()
    try log.page(.newest, LogScript.entries("a b"), before: "t0", present: true)
    try log.push(LogScript.entry("k"))
    try log.push(LogScript.entry("p"))
    try log.push(LogScript.entry("d", .delete, of: "k"), behind: "p")
    #expect(log.shape == "[a b]> [k] [p d]")
    try log.page(.after(log.token(.above, of: "b")), LogScript.entries("p"), before: "t1")
    #expect(log.shape == "[k] [a b p d]>")
  }

  /// Where a range starts the log no more, what it changes stands below it.
  @Test func aRangeThatStartsNoMoreStandsAboveWhatItChanges() throws {
    var log = LogScript()
    let deletion = LogScript.entry("d", .delete, of: "k")
    try log.page(
      .newest, LogScript.entries("a b") + [deletion], before: nil, present: true)
    try log.push(LogScript.entry("k"))
    #expect(log.shape == "|[a b d]> [k]")
    #expect(try log.book.purgeLowest(1) == 1)
    #expect(log.shape == "[k] [b d]>")
  }
}
