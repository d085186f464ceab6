/// When two ranges merge, rule by rule.
import Testing
import Timeline

@Suite struct JoiningTests {
  @Test func aCutEndSpeaksAsFarAsTheOrderOfTiesAllows() {
    let row = at(7, "m")
    #expect(Joining.cutLow(row, .unknown) == .before(tick: 8))
    #expect(Joining.cutLow(row, .byID) == row)
    #expect(Joining.cutLow(row, .never) == .before(tick: 7))
    #expect(Joining.cutHigh(row, .unknown) == .before(tick: 7))
    #expect(Joining.cutHigh(row, .byID) == row.successor)
    #expect(Joining.cutHigh(row, .never) == .after(tick: 7))
  }

  @Test func aPageAcrossAnEndReachesIt() {
    // A run that is whole from behind tick 5 on, a page up to tick 6.
    #expect(Joining.reachesUp(at(6, "a"), to: .after(tick: 5), .unknown))
    #expect(!Joining.reachesUp(at(5, "a"), to: .after(tick: 5), .unknown))
    #expect(Joining.reachesDown(at(4, "a"), to: .before(tick: 5), .unknown))
    #expect(!Joining.reachesDown(at(5, "a"), to: .before(tick: 5), .unknown))
    #expect(Joining.reachesUp(at(5, "m"), to: at(5, "m"), .byID))
    #expect(!Joining.reachesUp(at(5, "l"), to: at(5, "m"), .byID))
    #expect(Joining.reachesDown(at(5, "m"), to: at(5, "m").successor, .byID))
    #expect(!Joining.reachesDown(at(5, "n"), to: at(5, "m").successor, .byID))
  }

  /// The example of the ranges [100–200] and [201–300].
  @Test func consecutiveNumbersTouchAndBecomeOneRange() {
    #expect(Joining.reachesUp(at(200, "x"), to: .before(tick: 201), .never))
    #expect(!Joining.reachesUp(at(199, "x"), to: .before(tick: 201), .never))
    let old = PageClaim(
      items: (100...200).map { at(Int64($0), "\($0)") }, low: .cut, high: .cut, ties: .never)
    let new = PageClaim(
      items: (201...300).map { at(Int64($0), "\($0)") }, low: .cut, high: .cut, ties: .never)
    var set = SpanSet()
    set.insert(old.low, old.high)
    set.insert(new.low, new.high)
    #expect(set.spans == [SpanSet.Span(low: .before(tick: 100), high: .after(tick: 300))])
    #expect(Joining.isNext(201, after: 200))
    #expect(!Joining.isNext(202, after: 200))
    #expect(!Joining.isNext(200, after: 200))
    #expect(!Joining.isNext(.min, after: .max))
  }

  @Test func aShortPageIsWholeOnlyWhereSizesAreExactAndKnown() {
    func isWhole(
      _ items: Int, asked: Int = 20, largest: Int = 20, vary: Bool = false, more: Bool? = nil
    ) -> Bool {
      Joining.isWhole(
        items: items, asked: asked, largestPage: largest, sizesVary: vary, hasMore: more)
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
  }

  @Test func aLinkProvesUpToTheTickOfTheNewerMessage() {
    let (old, new) = (at(5, "m"), at(9, "a"))
    #expect(
      Joining.link(from: old, to: new, .unknown)
        == SpanSet.Span(low: old.successor, high: .before(tick: 9)))
    #expect(Joining.link(from: old, to: new, .byID)?.high == new.successor)
    #expect(Joining.link(from: old, to: new, .never)?.high == .after(tick: 9))
    // In one tick, or backwards, it proves nothing.
    #expect(Joining.link(from: old, to: at(5, "z"), .unknown) == nil)
    #expect(Joining.link(from: new, to: old, .byID) == nil)
  }

  /// A walk in numbers joins a run that it only touches.
  @Test func aWalkInNumbersJoinsWhatItTouches() {
    var walk = Walk(
      newest: (281...300).map { at(Int64($0), "\($0)") }, rawCount: 20, ties: .never)
    #expect(walk.low == .before(tick: 281))
    let older = (261...280).map { at(Int64($0), "\($0)") }
    #expect(walk.take(rows: older, rawCount: 20, complete: false) == .extended)
    #expect(walk.low == .before(tick: 261))
    let gone = (200...259).map { at(Int64($0), "\($0)") }
    #expect(walk.take(rows: gone, rawCount: 60, complete: false) == .apart)
  }
}
