/// The rules of items, each by a case with a name.
import Base
import Testing
import Timeline

/// What SimpleX's page on messages in a user interface shows.
@Suite struct SimpleXExampleTests {
  /// Rows 0, 1, 3, 4, 6, 7 with splits [1, 4]: two ranges, and the items at the bottom.
  @Test func splitsOneAndFourAreTwoRangesAndTheBottom() {
    let fixture = ItemFixture()
    for number: UInt64 in [0, 1, 3, 4, 6, 7] { _ = fixture.add(from: number, [0]) }
    _ = fixture.split(behind: 1, 4)
    #expect(fixture.picture == "0 1 3 4 6 7")
    #expect(fixture.list.rangeCount(reachesPresent: true) == 2)
    #expect(fixture.range(0) == 0..<2)
    #expect(fixture.range(1) == 2..<4)
    #expect(fixture.range(2) == nil)
    // The items at the bottom lie in none.
    #expect(fixture.ranges == [0, 0, 1, 1, nil, nil])
    // A list that does not go on to the present ends in a range too.
    #expect(fixture.list.rangeCount(reachesPresent: false) == 3)
    #expect(fixture.range(2, reachesPresent: false) == 4..<6)
  }

  /// Rows [0, 1, 2, 3, 4], read from the newest: `.single 4, .single 3, .grouped [2, 1, 0]`.
  @Test func singleFourSingleThreeGroupedTwoOneZero() {
    let fixture = ItemFixture(isReversed: true)
    _ = fixture.add([1, 1, 1, 0, 0])
    #expect(fixture.picture == "4 3 [2 1 0]")
    #expect(fixture.find(4).map { [$0.item, $0.place] } == [0, 0])
    #expect(fixture.find(2).map { [$0.item, $0.place] } == [2, 0])
    #expect(fixture.find(0).map { [$0.item, $0.place] } == [2, 2])
    // Opened, there are as many single items as the group had.
    #expect(fixture.setOpen(2, true))
    _ = fixture.merge()
    #expect(fixture.picture == "4 3 2 1 0")
    let places = (2..<5).compactMap { fixture.item($0)?.place }
    #expect(places == [0, 1, 2])
    #expect(fixture.item(3)?.groupCount == 3)
    #expect(fixture.setOpen(3, false))
    _ = fixture.merge()
    #expect(fixture.picture == "4 3 [2 1 0]")
  }

  /// The same ranges where 0 is the newest.
  @Test func rangesOfAListThatIsReadFromTheNewest() {
    let fixture = ItemFixture(isReversed: true)
    for number: UInt64 in [0, 1, 3, 4, 6, 7] { _ = fixture.add(from: number, [0]) }
    _ = fixture.split(behind: 1, 4)
    #expect(fixture.picture == "7 6 4 3 1 0")
    #expect(fixture.range(0) == 2..<4)
    #expect(fixture.range(1) == 4..<6)
    #expect(fixture.ranges == [nil, nil, 0, 0, 1, 1])
  }
}

@Suite struct ItemIdentityTests {
  @Test func aGroupKeepsItsKeyWhileItGrowsAtEitherEnd() {
    let fixture = ItemFixture()
    _ = fixture.add(from: 10, [0, 1, 1, 0])
    let key = fixture.keys[1]
    _ = fixture.remove(10, 13)
    let newer = fixture.add(from: 13, [1, 1])
    #expect(newer == [DiffOp(.update, row: 0)])
    let older = fixture.add(from: 8, [1, 1, 1])
    #expect(older == [DiffOp(.update, row: 0)])
    #expect(fixture.picture == "[8 9 10 11 12 13 14]")
    #expect(fixture.keys == [key])
  }

  @Test func aGroupKeepsItsKeyWhileItShrinksAndLosesItsFirstMessage() {
    let fixture = ItemFixture()
    _ = fixture.add([0, 1, 1, 1, 1, 0])
    let keys = fixture.keys
    #expect(fixture.remove(1) == [DiffOp(.update, row: 1)])
    #expect(fixture.remove(4) == [DiffOp(.update, row: 1)])
    // Its first one folds no more: that one is new.
    let change = WindowChange(upserted: [fixture.key(2)])
    #expect(fixture.apply(change).contains(DiffOp(.insert, row: 1)))
    #expect(fixture.picture == "0 2 3 5")
    #expect(fixture.keys == [keys[0], 4, keys[1], keys[2]])
  }

  @Test func aSplitMakesOneNewKey() {
    let fixture = ItemFixture()
    _ = fixture.add([1, 1, 1, 1])
    let key = fixture.keys[0]
    let steps = fixture.split(behind: 1)
    #expect(fixture.picture == "[0 1] [2 3]")
    #expect(steps == [DiffOp(.insert, row: 1), DiffOp(.update, row: 0)])
    #expect(fixture.keys == [key, key + 1])
    // Where they come together again the older one stays.
    #expect(fixture.split() == [DiffOp(.remove, row: 1), DiffOp(.update, row: 0)])
    #expect(fixture.keys == [key])
    // No key is given out twice.
    _ = fixture.split(behind: 1)
    #expect(fixture.keys == [key, key + 2])
  }

  @Test func aMessageOfAnotherKindInTheMiddleSplitsAGroup() {
    let fixture = ItemFixture()
    _ = fixture.add([1, 1, 1])
    let change = WindowChange(upserted: [fixture.key(1)])
    _ = fixture.apply(change)
    #expect(fixture.picture == "0 1 2")
    #expect(fixture.keys == [1, 2, 3])
  }

  @Test func aMessageThatMovesKeepsItsItem() {
    let fixture = ItemFixture()
    _ = fixture.add([0, 0, 0])
    let keys = fixture.keys
    var change = WindowChange()
    var moved = fixture.key(0)
    moved.position.time = 9
    change.upserted = [moved]
    let steps = fixture.apply(change)
    #expect(steps.contains(DiffOp(.move, row: 2, from: 0)))
    #expect(fixture.keys == [keys[1], keys[2], keys[0]])
  }

  @Test func openedItsOldestMessageKeepsTheKey() {
    let fixture = ItemFixture()
    _ = fixture.add([0, 1, 1, 1])
    let keys = fixture.keys
    #expect(fixture.setOpen(1, true))
    #expect(!fixture.setOpen(0, true))
    #expect(!fixture.setOpen(9, true))
    #expect(fixture.merge() == [DiffOp(.insert, row: 2, count: 2), DiffOp(.update, row: 1)])
    #expect(fixture.keys == [keys[0], keys[1], 3, 4])
    #expect(
      fixture.marks.map { $0.intersection([.opened, .groupFirst, .groupLast, .group]) }
        == [[], [.opened, .groupFirst], [.opened], [.opened, .groupLast]])
    // What comes to it is shown as the others are.
    #expect(fixture.add(from: 4, [1]).first == DiffOp(.insert, row: 4))
    #expect(fixture.setOpen(3, false))
    _ = fixture.merge()
    #expect(fixture.picture == "0 [1 2 3 4]")
    #expect(fixture.keys == [keys[0], keys[1]])
  }
}

@Suite struct ItemMarksTests {
  @Test func aGroupSpansNoSplitNoDayAndNotTheUnreadLine() {
    let fixture = ItemFixture()
    _ = fixture.add([1, 1, 1, 1, 1, 1])
    #expect(fixture.picture == "[0 1 2 3 4 5]")
    _ = fixture.split(behind: 1)
    #expect(fixture.picture == "[0 1] [2 3 4 5]")
    fixture.line = fixture.place(4, time: 4)
    #expect(fixture.merge() == [DiffOp(.insert, row: 2), DiffOp(.update, row: 1)])
    #expect(fixture.picture == "[0 1] [2 3] [4 5]")
    #expect(fixture.marks[2].contains(.unreadBefore))
    #expect(fixture.marks[1].contains(.splitBefore))
    var change = WindowChange()
    for number: UInt64 in [1, 3, 5] {
      change.upserted.append(fixture.key(number, fold: 1))
      fixture.contents[number]?.timeUs = 30 * ItemFixture.hour
    }
    _ = fixture.apply(change)
    #expect(fixture.picture == "0 1 2 3 4 5")
    fixture.line = nil
    #expect(!fixture.merge().isEmpty)
    #expect(!fixture.marks.contains { $0.contains(.unreadBefore) })
  }

  @Test func aDayBeginsWhereTheHostIs() {
    let late = ItemContent(timeUs: 23 * ItemFixture.hour)
    #expect(late.day == 0)
    var there = late
    there.zoneMinutes = 90
    #expect(there.day == 1)
    there.zoneMinutes = -24 * 60
    #expect(there.day == -1)
    #expect(ItemContent(timeUs: -1).day == -1)
    #expect(ItemContent(timeUs: nil).day == nil)
    // Times of a server that means harm stay within their type.
    #expect(ItemContent(timeUs: .max, zoneMinutes: 60).day != nil)
    #expect(ItemContent(timeUs: .min, zoneMinutes: -60).day != nil)
  }

  @Test func runsEndWithTheSenderTheGapAndTheDay() {
    let fixture = ItemFixture(gapMinutes: 30)
    _ = fixture.add([0, 0])
    _ = fixture.add(from: 2, [0], sender: "eva")
    _ = fixture.add(from: 3, [0, 0])
    var change = WindowChange(upserted: [fixture.key(60), fixture.key(61)])
    change.upserted += [fixture.key(1_500)]
    _ = fixture.apply(change)
    let runs = fixture.marks.map { marks in
      (marks.contains(.runFirst) ? "<" : "") + (marks.contains(.runLast) ? ">" : "")
    }
    #expect(runs == ["<", ">", "<>", "<", ">", "<", ">", "<>"])
    #expect(fixture.marks.indices.filter { fixture.marks[$0].contains(.timeGap) } == [5, 7])
    #expect(fixture.marks.indices.filter { fixture.marks[$0].contains(.newDay) } == [0, 7])
    #expect(fixture.item(5)?.gapUs == 3_360_000_000)
    #expect(fixture.item(7)?.day == 1)
  }

  @Test func theHostsBitsAreThoseOfTheRow() {
    let fixture = ItemFixture(isReversed: true)
    _ = fixture.add([0, 1, 1])
    #expect(fixture.item(0)?.bits == 10)
    #expect(fixture.bits(0, place: 0) == 20)
    #expect(fixture.bits(0, place: 1) == 10)
    #expect(fixture.bits(0, place: 2) == nil)
    #expect(fixture.bits(2, place: 0) == nil)
  }

  /// A split that is held back is none yet: a group goes on over it, and breaks once it is drawn.
  @Test func aSplitThatIsHeldBackBreaksNoGroup() {
    let fixture = ItemFixture()
    _ = fixture.add([1, 1])
    let key = fixture.keys[0]
    var change = WindowChange(upserted: [fixture.key(2, fold: 1)])
    change.spans = SpanSet().inserting(.min, high: .before(timestampGroup: 2))
    change.healing = Healing(floor: .min)
    change.holdMs = 1_000
    _ = fixture.apply(change)
    #expect(fixture.window[2]?.splitBefore == true)
    #expect(fixture.picture == "[0 1 2]")
    var later = WindowChange()
    (later.nowMs, later.holdMs) = (1_000, 1_000)
    _ = fixture.apply(later)
    #expect(fixture.picture == "[0 1] 2")
    #expect(fixture.marks[1].isSuperset(of: [.splitBefore, .splitHealing]))
    #expect(fixture.keys[0] == key)
  }
}
