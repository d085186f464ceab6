/// How complete a page of cached rows says it is, case by case.
import Testing
import Timeline

@Suite struct CompletenessTests {
  private func spans(_ ranges: (Position, Position)...) -> SpanSet {
    var set = SpanSet()
    for (low, high) in ranges { set.insert(low, high) }
    return set
  }

  private let rows = [at(5, "a"), at(6, "b"), at(8, "c")]

  private func page(
    _ spans: SpanSet, _ rows: [Position], older: Bool = true, anchor: Position? = nil,
    full: Bool = false, poisoned: [SpanSet.Span] = [], endsAtPresent: Bool = true
  ) -> Completeness {
    let page = Completeness(
      spans: spans, poisoned: poisoned, rows: rows, goesOlder: older, anchor: anchor,
      reachedLimit: full, endsAtPresent: endsAtPresent)
    // The same without a place for each row.
    let lean = Completeness(
      spans: spans, poisoned: poisoned, count: rows.count, goesOlder: older, anchor: anchor,
      reachedLimit: full, endsAtPresent: endsAtPresent
    ) { rows[$0] }
    #expect(lean == page)
    return page
  }

  /// Protects: what stands above the newest part of a log is not called the newest.
  @Test func aPartAboveThePresentHasAGapBehindIt() {
    let part = spans((at(4, ""), .after(timestampGroup: 9)))
    for older in [true, false] {
      #expect(page(part, rows, older: older).gaps.allSatisfy { $0.beforeRow == 0 })
      let apart = page(part, rows, older: older, endsAtPresent: false)
      #expect(apart.gaps.last?.beforeRow == rows.count && apart.gaps.last?.high == .max)
      #expect(apart.isWhole && apart.stop == .gap)
    }
    #expect(page(part, rows, older: false).stop == .present)
    // What was read up to a boundary says nothing of what lies behind it.
    let below = page(part, rows, anchor: at(9, ""), endsAtPresent: false)
    #expect(below.gaps.allSatisfy { $0.beforeRow == 0 })
  }

  @Test func theRowsBetweenTwoEndsOfOneRangeAreNotAsked() {
    var asked: [Int] = []
    let long = (0..<50).map { at(Int64($0), "a") }
    let page = Completeness(
      spans: spans(
        (at(0, "a"), .after(timestampGroup: 30)), (at(40, ""), .after(timestampGroup: 99))),
      poisoned: [],
      count: 20, goesOlder: true, anchor: nil, reachedLimit: false
    ) { row in
      asked.append(row)
      return long[row]
    }
    #expect(asked == [0, 19])
    #expect(page.gaps.map(\.beforeRow) == [0, 20])
    #expect(page.isWhole)
  }

  @Test func aWholeConversationHasNoGapAndEndsAtItsStart() {
    let result = page(spans((.min, .after(timestampGroup: 9))), rows)
    #expect(result.gaps.isEmpty)
    #expect(result.isWhole)
    #expect(result.stop == .start)
  }

  @Test func whereNothingIsKnownEveryRowHasAGapOnBothSides() {
    let result = page(SpanSet(), rows)
    #expect(result.gaps.map(\.beforeRow) == [0, 1, 2])
    #expect(!result.isWhole)
    #expect(result.stop == .gap)
  }

  @Test func aGapBelowTheSpanIsToldAndIsTheStop() {
    let result = page(spans((.before(timestampGroup: 5), .after(timestampGroup: 9))), rows)
    #expect(result.gaps.map(\.beforeRow) == [0])
    #expect(result.gaps.first?.high == .before(timestampGroup: 5))
    #expect(result.isWhole)
    #expect(result.stop == .gap)
  }

  @Test func aGapBetweenRowsMakesThePageBroken() {
    let result = page(
      spans(
        (.min, .after(timestampGroup: 6)), (.before(timestampGroup: 8), .after(timestampGroup: 9))),
      rows)
    #expect(result.gaps.map(\.beforeRow) == [2])
    #expect(result.gaps.first?.low == .after(timestampGroup: 6))
    #expect(result.gaps.first?.high == .before(timestampGroup: 8))
    #expect(!result.isWhole)
    #expect(result.stop == .start)
  }

  @Test func anIslandAboveTheSpanHasAGapBelowIt() {
    let island = at(20, "push")
    let result = page(spans((.min, .after(timestampGroup: 9))), rows + [island])
    #expect(result.gaps.map(\.beforeRow) == [3])
    #expect(!result.isWhole)
  }

  @Test func aGapThatOnlyHidesAnUnreadableItemSaysSo() {
    let hole = SpanSet.Span(low: at(6, "b").successor, high: at(8, "c"))
    let known = spans((.min, hole.low), (hole.high, .after(timestampGroup: 9)))
    let poisoned = page(known, rows, poisoned: [hole])
    #expect(poisoned.gaps.map(\.isQuarantined) == [true])
    #expect(!poisoned.isWhole)
    let smaller = SpanSet.Span(low: hole.low, high: at(7, ""))
    #expect(page(known, rows, poisoned: [smaller]).gaps.map(\.isQuarantined) == [false])
  }

  @Test func aFullPageStopsAtTheLimitAndSpeaksOfNothingBelow() {
    let result = page(spans((.min, .after(timestampGroup: 9))), rows, full: true)
    #expect(result.stop == .limit)
    #expect(result.gaps.isEmpty)
    // A gap that ends right at the oldest row is still told.
    let edge = page(spans((at(5, "a"), .after(timestampGroup: 9))), rows, full: true)
    #expect(edge.gaps.map(\.beforeRow) == [0])
    #expect(edge.stop == .limit)
  }

  @Test func aReadTowardsThePresentTellsTheGapAfterItsLastRow() {
    let known = spans(
      (.min, .after(timestampGroup: 6)), (.before(timestampGroup: 12), .after(timestampGroup: 20)))
    let result = page(known, [at(5, "a"), at(6, "b")], older: false)
    #expect(result.stop == .present)
    #expect(result.gaps.map(\.beforeRow) == [2])
    #expect(result.isWhole)
  }

  @Test func anEmptyReadOfAnUnknownConversationIsAGap() {
    for older in [true, false] {
      for anchor in [nil, at(6, "b")] {
        for full in [true, false] {
          let unknown = page(SpanSet(), [], older: older, anchor: anchor, full: full)
          #expect(!unknown.isWhole && unknown.gaps.map(\.beforeRow) == [0])
          #expect(unknown.stop == (full ? .limit : .gap))
        }
      }
    }
    let known = page(spans((.min, .before(timestampGroup: .min + 1))), [])
    #expect(known.stop == .start)
    #expect(known.gaps.isEmpty && known.isWhole)
  }

  @Test func anEmptyReadIntoAGapIsNotWhole() {
    let top = spans((.before(timestampGroup: 8), .after(timestampGroup: 9)))
    let below = page(top, [], anchor: at(6, "b"))
    #expect(!below.isWhole && below.gaps.map(\.beforeRow) == [0] && below.stop == .gap)
  }

  @Test func aReadBelowAnAnchorSpeaksOfWhatLiesBelowItOnly() {
    let known = spans(
      (.min, .after(timestampGroup: 6)), (.before(timestampGroup: 8), .after(timestampGroup: 9)))
    let below = page(known, [at(5, "a")], anchor: at(6, "b"))
    #expect(below.gaps.isEmpty)
    #expect(below.stop == .start)
    let across = page(known, [at(5, "a"), at(6, "b")], anchor: at(8, "c"))
    #expect(across.gaps.map(\.beforeRow) == [2])
  }
}
