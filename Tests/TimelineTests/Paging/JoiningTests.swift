/// When two ranges merge, rule by rule.
import Base
import Testing
import Timeline

@Suite struct JoiningTests {
  @Test func aCutEndSpeaksAsFarAsTheOrderOfTiesAllows() {
    let row = at(7, "m")
    #expect(Joining.cutLow(row, ties: .unknown) == .before(timestampGroup: 8))
    #expect(Joining.cutLow(row, ties: .byID) == row)
    #expect(Joining.cutLow(row, ties: .never) == .before(timestampGroup: 7))
    #expect(Joining.cutHigh(row, ties: .unknown) == .before(timestampGroup: 7))
    #expect(Joining.cutHigh(row, ties: .byID) == row.successor)
    #expect(Joining.cutHigh(row, ties: .never) == .after(timestampGroup: 7))
  }

  @Test func aPageAcrossAnEndReachesIt() {
    // A run that is whole from behind tick 5 on, a page up to tick 6.
    #expect(Joining.reachesUp(at(6, "a"), to: .after(timestampGroup: 5), ties: .unknown))
    #expect(!Joining.reachesUp(at(5, "a"), to: .after(timestampGroup: 5), ties: .unknown))
    #expect(Joining.reachesDown(at(4, "a"), to: .before(timestampGroup: 5), ties: .unknown))
    #expect(!Joining.reachesDown(at(5, "a"), to: .before(timestampGroup: 5), ties: .unknown))
    #expect(Joining.reachesUp(at(5, "m"), to: at(5, "m"), ties: .byID))
    #expect(!Joining.reachesUp(at(5, "l"), to: at(5, "m"), ties: .byID))
    #expect(Joining.reachesDown(at(5, "m"), to: at(5, "m").successor, ties: .byID))
    #expect(!Joining.reachesDown(at(5, "n"), to: at(5, "m").successor, ties: .byID))
  }

  /// The example of the ranges [100–200] and [201–300].
  @Test func consecutiveNumbersTouchAndBecomeOneRange() throws {
    #expect(Joining.reachesUp(at(200, "x"), to: .before(timestampGroup: 201), ties: .never))
    #expect(!Joining.reachesUp(at(199, "x"), to: .before(timestampGroup: 201), ties: .never))
    let old = PageClaim(
      items: (100...200).map { at(Int64($0), "\($0)") }, low: .cut, high: .cut, ties: .never)
    let new = PageClaim(
      items: (201...300).map { at(Int64($0), "\($0)") }, low: .cut, high: .cut, ties: .never)
    var set = SpanSet()
    set.insert(old.low, old.high)
    set.insert(new.low, new.high)
    #expect(
      set.spans == [
        SpanSet.Span(low: .before(timestampGroup: 100), high: .after(timestampGroup: 300))
      ])
    func follows(_ number: Int64, _ other: Int64) throws -> Bool {
      try #require(ServerSequence(number)).follows(#require(ServerSequence(other)))
    }
    #expect(try follows(201, 200) && !follows(202, 200) && !follows(200, 200))
    #expect(try follows(1 << 62 - 1, 1 << 62 - 2))
    // A number that has no neighbours is none.
    #expect(ServerSequence(-1) == nil && ServerSequence(1 << 62) == nil)
    #expect(ServerSequence(.min) == nil && ServerSequence(.max) == nil)
  }

  @Test func aShortPageIsWholeOnlyWhereSizesAreExactAndKnown() {
    func isWhole(
      _ items: Int, asked: Int = 20, largest: Int = 20, vary: Bool = false, more: Bool? = nil,
      counted: Int64? = nil, readable: Bool = true
    ) -> Bool {
      Joining.isWhole(
        items: items, asked: asked, largestPage: largest, sizesVary: vary, hasMore: more,
        counted: counted, areReadable: readable)
    }
    #expect(isWhole(19))
    #expect(!isWhole(20))
    // The server may cap pages below what is asked.
    #expect(!isWhole(19, asked: 50, largest: 19))
    #expect(!isWhole(19, asked: 10))
    #expect(!isWhole(3, vary: true))
    // Its own word outranks the rest, in both directions.
    #expect(isWhole(20, vary: true, more: false))
    #expect(!isWhole(3, more: true))
    // What it counts speaks against a short page, and never for a full one.
    #expect(!isWhole(7, counted: 8))
    #expect(isWhole(7, counted: 7))
    #expect(isWhole(7, counted: 0))
    #expect(!isWhole(20, counted: 20))
    #expect(isWhole(7, more: false, counted: 8))
    // But for one or two, which no server's pages are cut to.
    for few in 1...2 {
      #expect(isWhole(few, largest: few, counted: Int64(few)))
      #expect(!isWhole(few, largest: few))
      #expect(!isWhole(few, largest: few, counted: Int64(few + 1)))
      #expect(!isWhole(few, largest: few, counted: 0))
      #expect(!isWhole(few, asked: few, largest: few, counted: Int64(few)))
      #expect(!isWhole(few, largest: few, vary: true, counted: Int64(few)))
      #expect(!isWhole(few, largest: few, counted: Int64(few), readable: false))
    }
    #expect(!isWhole(3, largest: 3, counted: 3))
  }

  /// A push speaks from the range it follows up to itself, and only by evidence.
  @Test func aPushJoinsByALiveLineANextNumberOrItsPredecessor() throws {
    let range = SpanSet.Span(low: at(2, "b"), high: .after(timestampGroup: 5))
    let new = at(6, "m")
    #expect(Joining.pushed(new, onto: range.high, isLive: false) == nil)
    #expect(
      Joining.pushed(new, onto: range.high, isLive: true)
        == SpanSet.Span(low: range.high, high: .after(timestampGroup: 6)))
    // The message lies inside the range.
    #expect(Joining.pushed(at(4, "x"), onto: range.high, isLive: true) == nil)
    #expect(
      Joining.named(new, after: at(5, "z"))
        == SpanSet.Span(low: at(5, "z"), high: new.successor))
    func numbered(_ hasBelow: Bool, _ hasAbove: Bool) throws -> [Int64] {
      let number = try #require(ServerSequence(7))
      let span = Joining.numbered(number, hasBelow: hasBelow, hasAbove: hasAbove)
      #expect(span.low.key.isEmpty && span.high.key.isEmpty)
      return [span.low.time, span.high.time]
    }
    #expect(try numbered(false, false) == [7, 8])
    #expect(try numbered(true, false) == [6, 8])
    #expect(try numbered(true, true) == [6, 9])
  }

  /// A walk in numbers joins a run that it only touches.
  @Test func aWalkInNumbersJoinsWhatItTouches() {
    var walk = BackwardPagination(
      newest: (281...300).map { at(Int64($0), "\($0)") }, rawCount: 20, ties: .never)
    #expect(walk.low == .before(timestampGroup: 281))
    let older = (261...280).map { at(Int64($0), "\($0)") }
    #expect(walk.extend(rows: older, rawCount: 20, complete: false) == .extended)
    #expect(walk.low == .before(timestampGroup: 261))
    let gone = (200...259).map { at(Int64($0), "\($0)") }
    #expect(walk.extend(rows: gone, rawCount: 60, complete: false) == .apart)
  }
}
