/// The order within one printed time: what a page teaches, and the ranks that keep it.
import Base
import Testing
import Timeline

@Suite struct TieOrderTests {
  private func id(_ name: String) -> [UInt8] { Array(name.utf8) }

  private func rows(
    _ names: String, new: String = "", late: String = "", placed: String = "", ahead: String = ""
  ) -> [TieOrder.Row] {
    names.map { name in
      TieOrder.Row(
        position: Position(time: 7, id: id(String(name))), isNew: new.contains(name),
        isLate: late.contains(name), isPlaced: placed.contains(name), isAhead: ahead.contains(name))
    }
  }

  private func shown(
    _ names: String, above: Bool = false, below: Bool = false, run: String = "",
    climbs: Bool = false
  ) -> TieOrder.Shown {
    var shown = TieOrder.Shown(ids: names.map { id(String($0)) })
    shown.isClosedAbove = above
    shown.isClosedBelow = below
    shown.climbs = climbs
    for name in run { shown.run.insert(id(String(name))) }
    return shown
  }

  private func names(_ rows: [TieOrder.Row]) -> String {
    rows.map { String(decoding: $0.position.id, as: UTF8.self) }.joined()
  }

  @Test func aPageThatClosesAGroupSaysItsOrder() {
    let all = rows("abcde")
    #expect(names(TieOrder.arranged(all, by: shown("edcba", above: true, below: true))) == "edcba")
    #expect(names(TieOrder.arranged(all, by: shown("db", above: true))) == "acedb")
    #expect(names(TieOrder.arranged(all, by: shown("db", below: true))) == "dbace")
    #expect(names(TieOrder.arranged(all, by: shown("db", above: true, below: true))) == "dbace")
    #expect(names(TieOrder.arranged(all, by: shown("xyz", above: true))) == "abcde")
    #expect(names(TieOrder.arranged(all, by: shown("bxb", below: true))) == "bacde")
  }

  /// While a page waited another one has placed what came late among what was known.
  @Test func aPageThatWaitedLeavesWhatAnotherHasPlaced() {
    let mixed = rows("abxde", late: "xd", placed: "de")
    #expect(names(TieOrder.arranged(mixed, by: shown("ba", below: true))) == "baxde")
    #expect(names(TieOrder.arranged(mixed, by: shown("ba", above: true))) == "xdeba")
    // Where all that was placed is late, it stands behind.
    let late = rows("abcde", late: "de", placed: "de")
    #expect(names(TieOrder.arranged(late, by: shown("ba", above: true))) == "cbade")
    #expect(names(TieOrder.arranged(late, by: shown("ba", below: true))) == "bacde")
  }

  @Test func aPageInsideAGroupStandsByTheRun() {
    let all = rows("abcdef")
    #expect(names(TieOrder.arranged(all, by: shown("dc", run: "cef"))) == "abdcef")
    #expect(names(TieOrder.arranged(all, by: shown("dc", run: "cab", climbs: true))) == "abdcef")
    #expect(names(TieOrder.arranged(rows("abcdef", new: "a"), by: shown("ca"))) == "bcadef")
    #expect(names(TieOrder.arranged(rows("abcdef", new: "fe"), by: shown("fe"))) == "abcdfe")
  }

  /// A page that shares no row with the walk, and shows nothing that was known, is its next one.
  @Test func aPageBelowAnUnreadableItemStandsByTheRun() {
    let all = rows("abcdef", new: "ab")
    #expect(names(TieOrder.arranged(all, by: shown("ba", run: "cd"))) == "bacdef")
    #expect(names(TieOrder.arranged(all, by: shown("ba", run: "cd", climbs: true))) == "cdbaef")
    #expect(names(TieOrder.arranged(rows("abcdef"), by: shown("ef", run: "cd"))) == "abcdef")
  }

  /// What stands beyond the run stays there: another walk has shown it, or it came since.
  @Test func whatStandsBeyondTheRunStaysThere() {
    let all = rows("abcdef")
    #expect(names(TieOrder.arranged(all, by: shown("dc", run: "cd"))) == "abdcef")
    #expect(names(TieOrder.arranged(all, by: shown("bd", run: "de"))) == "acbdef")
    #expect(names(TieOrder.arranged(all, by: shown("dc", run: "cd", climbs: true))) == "abdcef")
    #expect(names(TieOrder.arranged(all, by: shown("ce", run: "bc", climbs: true))) == "abcedf")
  }

  /// Pages vary in size: one may show nothing but what the walk has shown. It says nothing of the
  /// other rows of the walk, which stay on their side of it.
  @Test func aPageInsideTheRunMovesNothing() {
    let all = rows("abcdef")
    #expect(names(TieOrder.arranged(all, by: shown("d", run: "cdef"))) == "abcdef")
    #expect(names(TieOrder.arranged(all, by: shown("de", run: "bcdef"))) == "abcdef")
    #expect(names(TieOrder.arranged(all, by: shown("c", run: "abcd", climbs: true))) == "abcdef")
    #expect(
      names(TieOrder.arranged(rows("abcdef", new: "f"), by: shown("fd", run: "cde")))
        == "abcfde")
  }

  /// A page waited until its direction was known. What others have placed meanwhile stays on its
  /// side of what both show, older rows that a walk has brought since among it.
  @Test func aPageThatWaitedLeavesWhatWasPlacedSince() {
    let walked = rows("abcdefhg", late: "abcd", placed: "abcdef")
    #expect(names(TieOrder.arranged(walked, by: shown("efgh"))) == "abcdefgh")
    #expect(names(TieOrder.arranged(walked, by: shown("efgh", above: true))) == "abcdefgh")
    let newer = rows("abcdef", late: "f", placed: "cdef")
    #expect(names(TieOrder.arranged(newer, by: shown("bacd"))) == "bacdef")
    let between = rows("aexb", late: "x", placed: "axb")
    #expect(names(TieOrder.arranged(between, by: shown("abe"))) == "axbe")
    // Where both show nothing of the same, what came since stands behind.
    let apart = rows("abcd", late: "ab", placed: "ab")
    #expect(names(TieOrder.arranged(apart, by: shown("dc"))) == "dcab")
    // The other page began with a row of this one: what it showed behind stays before the rest.
    let begun = rows("axyzbcd", late: "xyz", placed: "axyz", ahead: "axyz")
    let page = shown("adbc", above: true, below: true)
    #expect(names(TieOrder.arranged(begun, by: page)) == "axyzdbc")
    // But what was shown to be the first of all.
    let first = rows("abcde", late: "abe", placed: "ab", ahead: "ab")
    #expect(names(TieOrder.arranged(first, by: shown("dc", above: true, below: true))) == "abdce")
  }

  /// What came after the page was asked for stands behind all.
  @Test func whatCameLaterStandsBehind() {
    let all = rows("abcdef", late: "a")
    #expect(names(TieOrder.arranged(all, by: shown("fe", above: true))) == "bcdfea")
    #expect(names(TieOrder.arranged(all, by: shown("fe", below: true))) == "febcda")
    #expect(names(TieOrder.arranged(all, by: shown("ec", run: "cf"))) == "bdecfa")
  }

  /// Ranks keep every order, change no more rows than they must, and none where there is nothing
  /// to change; groups in the order of their ids have none.
  @Test func ranksKeepEveryOrder() {
    var random = Random(seed: 11)
    for _ in 0..<20_000 {
      let count = 1 + random.below(9)
      var order = (0..<count).map { index in
        Position(
          time: 7, rank: random.chance(0.4) ? 0 : random.below(80) - 40,
          id: id("\(random.below(50)).\(index)"))
      }
      order.shuffle(using: &random)
      let ranks = TieOrder.ranks(for: order)
      let placed = zip(order, ranks).map { Position(time: 7, rank: $1, id: $0.id) }
      #expect(placed == placed.sorted())
      #expect(Set(placed).count == count)
      let again = TieOrder.ranks(for: placed)
      #expect(again == ranks)
      let plain = order.map { Position(time: 7, id: $0.id) }.sorted()
      #expect(TieOrder.ranks(for: plain).allSatisfy { $0 == 0 })
    }
  }

  /// A row that is put between two others again and again.
  @Test func aGroupWithoutRoomIsNumberedAnew() {
    var order = [Position(time: 1, rank: 0, id: id("z")), Position(time: 1, rank: 1, id: id("a"))]
    for turn in 0..<200 {
      order.insert(
        Position(time: 1, id: id("m\(turn % 10)\(turn)")), at: turn.isMultiple(of: 2) ? 0 : 1)
      let ranks = TieOrder.ranks(for: order)
      order = zip(order, ranks).map { Position(time: 1, rank: $1, id: $0.id) }
      #expect(order == order.sorted())
    }
  }

  /// Keys are in the order of (rank, id), and give both back.
  @Test func keysAreInTheOrderOfRanks() {
    var random = Random(seed: 3)
    let ids: [[UInt8]] = [
      [0], [0, 0, 0, 0, 0], [1], id("a"), id("a") + [0], id("zz"), [0xF4, 0x8F],
    ]
    var places: [(Int, [UInt8])] = []
    for _ in 0..<400 {
      let rank =
        [0, 0, 1, -1, 255, 256, -256, Position.rankLimit - 1, -Position.rankLimit]
        .randomElement(using: &random) ?? 0
      places.append((rank, ids.randomElement(using: &random) ?? []))
    }
    for (rank, id) in places {
      let position = Position(time: 1, rank: rank, id: id)
      #expect(position.rank == rank && position.id == id)
      #expect(Position.before(timestampGroup: 1) < position)
      #expect(position < Position.after(timestampGroup: 1))
      #expect(position < position.successor)
      for (other, name) in places where id.first != 0 && name.first != 0 {
        let isLower = rank < other || rank == other && id.lexicographicallyPrecedes(name)
        #expect((position < Position(time: 1, rank: other, id: name)) == isLower)
      }
    }
  }
}
