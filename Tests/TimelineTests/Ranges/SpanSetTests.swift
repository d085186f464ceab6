/// Spans against a bitmap: the same ranges after any sequence of changes.
import Base
import Testing
import Timeline

@Suite struct SpanSetTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func anySequenceOfChangesGivesTheSameRangesAsABitmap(_ seed: UInt64) throws {
    var random = Random(seed: seed)
    var set = SpanSet()
    var model = Bitmap()
    var history: [String] = []
    for _ in 0..<400 {
      let ends = [random.below(49), random.below(49)].sorted()
      let isInsert = random.chance(0.55)
      history.append("\(isInsert ? "+" : "-")[\(ends[0]) \(ends[1])]")
      if isInsert {
        set.insert(boundary(ends[0]), boundary(ends[1]))
      } else {
        set.remove(boundary(ends[0]), boundary(ends[1]))
      }
      for cell in ends[0]..<ends[1] { model.cells[cell] = isInsert }
      let trail = history.suffix(6).joined(separator: " ")
      try #require(set.picture == model.picture, "after \(trail)")
      try #require(SpanSet(stored: set.spans) == set, "after \(trail)")
    }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func everyQuestionIsAnsweredAsByABitmap(_ seed: UInt64) throws {
    var random = Random(seed: seed)
    for _ in 0..<60 {
      var set = SpanSet()
      var model = Bitmap()
      for _ in 0..<random.below(9) {
        let ends = [random.below(49), random.below(49)].sorted()
        set.insert(boundary(ends[0]), boundary(ends[1]))
        for cell in ends[0]..<ends[1] { model.cells[cell] = true }
      }
      for _ in 0..<40 {
        let ends = [random.below(49), random.below(49)].sorted()
        let (low, high) = (boundary(ends[0]), boundary(ends[1]))
        let range = ends[0]..<ends[1]
        let covered = range.allSatisfy { model.cells[$0] }
        #expect(set.covers(low, high: high) == covered, "\(model.picture) covers \(range)")
        let gaps = model.runs(range, of: false).map { "[\($0.lowerBound) \($0.upperBound)]" }
        var found = SpanSet()
        for gap in set.gaps(in: low, high: high) { found.insert(gap.low, gap.high) }
        #expect(
          found.picture == gaps.joined(separator: " - "), "gaps of \(model.picture) in \(range)")
        let holder = ends[0] < 48 && model.cells[ends[0]]
        #expect((set.span(holding: low) != nil) == holder, "\(model.picture) holds \(ends[0])")
      }
      #expect(set.newest?.high == model.runs(0..<48).last.map { boundary($0.upperBound) })
    }
  }

  private func random(_ random: inout Random) -> (SpanSet, Bitmap) {
    var set = SpanSet()
    var model = Bitmap()
    for _ in 0..<random.below(8) {
      let ends = [random.below(49), random.below(49)].sorted()
      set = set.inserting(boundary(ends[0]), high: boundary(ends[1]))
      for cell in ends[0]..<ends[1] { model.cells[cell] = true }
    }
    return (set, model)
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func setsOfRangesAreAsSetsOfBits(_ seed: UInt64) throws {
    var generator = Random(seed: seed)
    for _ in 0..<100 {
      let (a, bitsA) = random(&generator)
      let (b, bitsB) = random(&generator)
      let both = zip(bitsA.cells, bitsB.cells)
      let note = "seed \(seed): \(a.picture) and \(b.picture)"
      let union = Bitmap(cells: both.map { $0 || $1 })
      try #require(a.union(b).picture == union.picture, "\(note)")
      let intersection = Bitmap(cells: both.map { $0 && $1 })
      try #require(a.intersection(b).picture == intersection.picture, "\(note)")
      let difference = Bitmap(cells: both.map { $0 != $1 })
      let pieces = SpanSet(stored: a.difference(with: b))
      try #require(pieces?.picture == difference.picture, "\(note)")
      try #require(a.difference(with: a).isEmpty, "\(note)")
      for result in [a.union(b), a.intersection(b)] {
        try #require(SpanSet(stored: result.spans) == result, "\(note)")
      }
    }
  }

  /// All of them, none, or some: of two messages and everything between them.
  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func aStretchIsHeldWhollyOrNotAtAllOrInPart(_ seed: UInt64) {
    var generator = Random(seed: seed)
    for _ in 0..<300 {
      let ends = [generator.below(48), generator.below(48)].sorted()
      let (set, bits) = random(&generator)
      let cells = Set(bits.cells[ends[0]...ends[1]])
      let found = set.holds(from: boundary(ends[0]), through: boundary(ends[1]))
      #expect(found == (cells.count == 1 ? cells.first : nil), "\(set.picture) \(ends)")
    }
  }

  /// Asked without making a successor, the same answer.
  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func neighboursAreJoinedWhereAllBetweenThemIsWhole(_ seed: UInt64) {
    var generator = Random(seed: seed)
    for _ in 0..<300 {
      let ends = [1 + generator.below(47), 1 + generator.below(47)].sorted()
      let a = boundary(ends[0])
      let b = generator.chance(0.2) ? a.successor : boundary(ends[1] + 1)
      var (set, _) = random(&generator)
      if generator.chance(0.3) { set.insert(a.successor, boundary(48)) }
      #expect(set.joins(a, and: b) == set.covers(a.successor, high: b), "\(set.picture) \(ends)")
    }
  }

  @Test func rangesThatTouchAreOneAndRangesWithAGapAreTwo() {
    var set = SpanSet()
    set.insert(boundary(3), boundary(6))
    set.insert(boundary(6), boundary(9))
    set.insert(boundary(10), boundary(12))
    #expect(set.picture == "[3 9] - [10 12]")
    // A message and its successor touch: nothing fits between them.
    var close = SpanSet()
    close.insert(at(1, "a"), at(5, "m").successor)
    close.insert(at(5, "m").successor, at(9, "z"))
    #expect(close.spans.count == 1)
    var apart = SpanSet()
    apart.insert(at(1, "a"), at(5, "m"))
    apart.insert(at(5, "m").successor, at(9, "z"))
    #expect(apart.spans.count == 2)
    #expect(!apart.covers(at(5, "a"), high: at(5, "z")))
  }

  @Test func anEmptyOrReversedRangeChangesNothing() {
    var set = SpanSet()
    set.insert(boundary(4), boundary(4))
    set.insert(boundary(9), boundary(4))
    #expect(set.isEmpty)
    set.insert(boundary(4), boundary(9))
    set.remove(boundary(6), boundary(6))
    set.remove(boundary(8), boundary(5))
    #expect(set.picture == "[4 9]")
    #expect(set.gaps(in: boundary(9), high: boundary(2)).isEmpty)
  }

  @Test func storedSpansThatAreNotSortedAndApartAreRefused() {
    let a = SpanSet.Span(low: boundary(1), high: boundary(4))
    let b = SpanSet.Span(low: boundary(6), high: boundary(8))
    let touching = SpanSet.Span(low: boundary(4), high: boundary(6))
    let empty = SpanSet.Span(low: boundary(10), high: boundary(10))
    #expect(SpanSet(stored: [a, b])?.picture == "[1 4] - [6 8]")
    #expect(SpanSet(stored: []) == SpanSet())
    #expect(SpanSet(stored: [b, a]) == nil)
    #expect(SpanSet(stored: [a, touching]) == nil)
    #expect(SpanSet(stored: [a, a]) == nil)
    #expect(SpanSet(stored: [empty]) == nil)
  }
}
