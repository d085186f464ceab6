/// The rules of a log that are about tokens and empty pages.
import Testing
import Timeline

private typealias Script = LogScript
private typealias Rule = LogRule

extension LogRuleTests {
  static let tokens: [LogRule] = [
    Rule(.shortIsPresent) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      try log.page(.after(log.token(.above, of: "b")), Script.entries("c"), before: "t1")
      return log.book.ranges[0].present?.request == 1
    },
    Rule(.tokenStandsAtEnd) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      try log.push(Script.entry("c"), behind: "b")
      // Rolled back: the token stands at b.
      try log.page(.after(log.token(.above, of: "b")), [], before: "t1", present: true)
      return log.shape == "[a b]>"
    },
    Rule(.firstTokenStays) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("b c"), before: "t1", present: true)
      try log.page(.before(log.token(.below, of: "b")), Script.entries("a"), before: "t0")
      return log.token(.below, of: "a").bytes == Array("t0".utf8)
    },
    Rule(.oldTokenCounts) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b"), before: "t0", present: true)
      log.book.connected()
      var walk = try LogWalk(.present, log.book)
      return try walk.next(log.book) == .ask(.newest, carried: nil)
    },
    Rule(.outerPartStays) { fault in
      var log = Script(fault, profile: LogProfile(refusesUnknown: true))
      try log.page(.newest, Script.entries("a b c d"), before: "t0", present: true)
      var walk = try LogWalk(.present, log.book)
      guard case .ask(let place, _) = try walk.next(log.book) else { return false }
      try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
      try walk.isMissing(log.book.ask(.around(Array("d".utf8))), in: &log.book)
      guard try walk.next(log.book) == .ask(.around(Array("c".utf8)), carried: nil) else {
        return false
      }
      let page = LogPage(
        entries: Script.entries("b c"), before: Array("x".utf8), after: Array("y".utf8))
      try walk.take(page, of: log.book.ask(.around(Array("c".utf8))), into: &log.book)
      return log.shape == "[a b c] [d]"
    },
    Rule(.tokenStaysEnd) { fault in
      var log = Script(fault, profile: LogProfile(refusesUnknown: true))
      try log.page(.newest, Script.entries("a"), before: "t0", present: true)
      try log.push(Script.entry("b"), behind: "a")
      var walk = try LogWalk(.present, log.book)
      guard case .ask(let place, _) = try walk.next(log.book) else { return false }
      try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
      return try walk.next(log.book) == .ask(.around(Array("b".utf8)), carried: nil)
    },
    // What came while the last entries of a range were asked for was not asked for.
    Rule(.laterGoesAlong) { fault in
      var log = Script(fault, profile: LogProfile(refusesUnknown: true))
      try log.page(.newest, Script.entries("a"), before: "t0", present: true)
      var walk = try LogWalk(.present, log.book)
      guard case .ask(let place, _) = try walk.next(log.book) else { return false }
      try walk.tokenIsUnknown(log.book.ask(place), in: &log.book)
      let ask = log.book.ask(.around(Array("a".utf8)))
      try log.push(Script.entry("b"), behind: "a")
      try walk.isMissing(ask, in: &log.book)
      return log.shape == "[b]"
    },
    Rule(.emptyIsStart) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("b c"), before: "t1", present: true)
      try log.page(.before(log.token(.below, of: "b")), [], before: "t0")
      return log.shape == "[b c]>" && log.token(.below, of: "b").bytes == Array("t0".utf8)
    },
    Rule(.endlessWalk) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("b c"), before: "t1", present: true)
      var walk = try LogWalk(.down(from: Array("c".utf8)), log.book)
      for count in 0..<100 {
        guard case .ask(let place, _) = try walk.next(log.book) else { return count <= 65 }
        var page = LogPage(entries: [], before: Array("t1".utf8), after: Array("t".utf8))
        if case .before = place {} else { page.present = true }
        try walk.take(page, of: log.book.ask(place), into: &log.book)
      }
      return false
    },
    Rule(.startStays) { fault in
      var log = Script(fault)
      try log.page(.newest, Script.entries("a b c d"), before: nil, present: true)
      log.book.connected()
      var walk = try LogWalk(.start(of: Array("d".utf8)), log.book)
      for _ in 0..<9 {
        guard case .ask(.around(let id), _) = try walk.next(log.book) else { break }
        let ask = log.book.ask(.around(id))
        let gone = id == Array("a".utf8) || id == Array("b".utf8)
        if gone { try walk.isMissing(ask, in: &log.book) }
        if gone { continue }
        let page = LogPage(entries: Script.entries("c d"), before: nil, after: Array("t".utf8))
        try walk.take(page, of: ask, into: &log.book)
      }
      return log.shape == "|[c d]>"
    },
    Rule(.oldTokenStart) { fault in
      var log = Script(fault, profile: LogProfile(refusesUnknown: true))
      try log.page(.newest, Script.entries("b c"), before: "t1", present: true)
      log.book.connected()
      try log.page(.before(log.token(.below, of: "b")), [], before: nil)
      return log.shape == "[b c]>"
    },
  ]
}
