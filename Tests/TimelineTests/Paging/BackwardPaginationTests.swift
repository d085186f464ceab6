/// The walk by offset against a list that grows and shrinks between its pages.
///
/// Whatever the walk proves must hold: each message that still stands in a proven
/// range was in one of its pages. Nothing is said about how fast it gets there,
/// except where the list stands still.
import Base
import Testing
import Timeline

/// A server's list as a walk sees it, oldest first.
struct ModelList {
  struct Item: Equatable {
    var position: Position
    var arrival: Int
    var isQuarantined: Bool
  }

  var items: [Item] = []
  var tiesByID: Bool
  private var arrivals = 0
  private(set) var now: Int64 = 100

  init(tiesByID: Bool) {
    self.tiesByID = tiesByID
  }

  mutating func post(
    _ random: inout Random, poison: Double = 0, isNewGroup: Bool? = nil
  ) {
    arrivals += 1
    if isNewGroup ?? random.chance(0.6) { now += 1 }
    let id = (0..<3).map { _ in UInt8(0x61 + random.below(26)) } + Array("-\(arrivals)".utf8)
    let item = Item(
      position: Position(time: now, id: id), arrival: arrivals,
      isQuarantined: random.chance(poison))
    let place = items.lastIndex { tiesByID ? $0.position < item.position : true }
    items.insert(item, at: place.map { $0 + 1 } ?? 0)
  }

  mutating func advance() { now += 1 }

  func page(offset: Int, limit: Int) -> ArraySlice<Item> {
    let high = max(0, items.count - offset)
    return items[max(0, high - limit)..<high]
  }
}

@Suite struct WalkTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    var tiesByID: Bool
    var varies: Bool
    var arrivals: Int
    var deletions: Int
    var poison: Double

    var ties: Ties { tiesByID ? .byID : .unknown }

    var testDescription: String {
      "ties by id: \(tiesByID), sizes vary: \(varies), +\(arrivals) -\(deletions) !\(poison)"
    }
  }

  static let settings: [Setting] = [true, false].flatMap { tiesByID in
    [true, false].flatMap { varies in
      [(0, 0, 0), (9, 0, 0), (0, 9, 0), (9, 9, 0), (30, 30, 0), (9, 9, 0.2)].map {
        Setting(
          tiesByID: tiesByID, varies: varies, arrivals: $0.0, deletions: $0.1, poison: $0.2)
      }
    }
  }

  /// One walk over one list; what it proved, what it saw, how it ended.
  struct Run {
    var list: ModelList
    var proven = SpanSet()
    var seen: Set<[UInt8]> = []
    var end = BackwardPagination.Verdict.gaveUp
    var top: Int64 = 0
    var steps = 0
    var fault: String?

    /// A readable message in a proven range that was in no page.
    mutating func check() {
      let missed = list.items.first { item in
        !item.isQuarantined && item.position.time <= top && !seen.contains(item.position.id)
          && proven.span(holding: item.position) != nil
      }
      if let missed, fault == nil {
        fault = "step \(steps) claims over \(missed.position.time) \(missed.arrival)"
      }
    }
  }

  static func walk(_ setting: Setting, seed: UInt64) -> Run {
    var random = Random(seed: seed)
    var list = ModelList(tiesByID: setting.tiesByID)
    for _ in 0..<(20 + random.below(200)) { list.post(&random, poison: setting.poison) }
    let limit = 5 + random.below(15)
    var run = Run(list: list)
    // The page sizes of this server were learned before.
    let largest = limit
    var page = run.list.page(offset: 0, limit: limit)
    run.top = run.list.now
    run.list.advance()
    func readable(_ page: ArraySlice<ModelList.Item>) -> [Position] {
      page.filter { !$0.isQuarantined }.map(\.position).sorted()
    }
    var walk = BackwardPagination(newest: readable(page), rawCount: page.count, ties: setting.ties)
    run.seen.formUnion(readable(page).map(\.id))
    let first = claim(page, low: .cut, high: .open(.max), setting)
    for piece in first.pieces { run.proven.insert(piece.low, piece.high) }
    run.check()
    while run.steps < 3_000, run.fault == nil {
      run.steps += 1
      if random.chance(0.4) { change(&run.list, setting, &random) }
      let size = setting.varies ? 1 + random.below(limit) : limit
      page = run.list.page(offset: walk.offset, limit: size)
      let rows = readable(page)
      run.seen.formUnion(rows.map(\.id))
      let before = walk.low
      let complete = !setting.varies && page.count < limit && page.count < largest
      run.end = walk.extend(rows: rows, rawCount: page.count, complete: complete)
      let low: PageClaim.End = walk.low == .min ? .open(.min) : .cut
      let claim = claim(page, low: low, high: .cut, setting)
      var fresh = SpanSet()
      if [.extended, .start].contains(run.end) { fresh.insert(walk.low, before) }
      if run.end != .same { fresh.insert(claim.low, claim.high) }
      for hole in claim.holes { fresh.remove(hole.low, hole.high) }
      for piece in fresh.spans { run.proven.insert(piece.low, piece.high) }
      for hole in claim.holes { run.proven.remove(hole.low, hole.high) }
      run.check()
      if walk.low == .min || run.end == .gaveUp { break }
    }
    return run
  }

  private static func claim(
    _ page: ArraySlice<ModelList.Item>, low: PageClaim.End, high: PageClaim.End,
    _ setting: Setting
  ) -> PageClaim {
    PageClaim(
      items: page.map { $0.isQuarantined ? nil : $0.position }, low: low, high: high,
      ties: setting.ties)
  }

  private static func change(
    _ list: inout ModelList, _ setting: Setting, _ random: inout Random
  ) {
    for _ in 0..<random.below(setting.arrivals + 1) { list.post(&random) }
    for _ in 0..<random.below(setting.deletions + 1) where !list.items.isEmpty {
      // Mostly near the newest end, where a deletion shifts every offset.
      let reach = random.chance(0.7) ? min(30, list.items.count) : list.items.count
      list.items.remove(at: list.items.count - 1 - random.below(reach))
    }
  }

  /// 24 settings of 60 walks each.
  @Test(arguments: settings)
  func noClaimGoesOverASkippedMessage(_ setting: Setting) {
    var ends: [BackwardPagination.Verdict: Int] = [:]
    for seed in 1...60 as ClosedRange<UInt64> {
      let run = Self.walk(setting, seed: seed)
      #expect(run.fault == nil, "seed \(seed)")
      #expect(run.steps < 3_000, "seed \(seed)")
      ends[run.end, default: 0] += 1
    }
    // The check above is about claims, so there must have been some.
    let whole = ends[.start, default: 0] + ends[.resumed, default: 0]
    if setting.poison == 0 { #expect(whole > 24, "\(ends)") }
  }

  /// Where nothing moves the walk reaches the start and has seen everything.
  @Test(arguments: [true, false])
  func aListThatStandsStillIsReadWhole(_ tiesByID: Bool) {
    let setting = Setting(
      tiesByID: tiesByID, varies: false, arrivals: 0, deletions: 0, poison: 0)
    for seed in 1...80 as ClosedRange<UInt64> {
      let run = Self.walk(setting, seed: seed)
      #expect(run.end == .start, "seed \(seed)")
      #expect(run.seen.count == run.list.items.count, "seed \(seed)")
      #expect(run.proven.covers(.min, high: at(run.top, "")), "seed \(seed)")
    }
  }

  /// A page that lies wholly below the run is not joined to it.
  @Test func aPageBelowTheRunStandsAlone() {
    let rows = (1...20).map { at(Int64($0), "m") }
    var walk = BackwardPagination(newest: Array(rows[10...]), rawCount: 10, ties: .unknown)
    #expect(walk.low == .after(timestampGroup: 11))
    #expect(walk.offset < 10)
    // Four were deleted above: what comes back ends right below the low end.
    let verdict = walk.extend(rows: Array(rows[2..<9]), rawCount: 7, complete: false)
    #expect(verdict == .apart)
    #expect(walk.low == .after(timestampGroup: 11))
  }

  /// The lowest by arrival may be any of its tick: the start is proven by one of them.
  @Test func theLowestOfATickMayBeAnyOfIt() {
    let server = [at(1, "c"), at(1, "a"), at(1, "b"), at(2, "m")]
    var walk = BackwardPagination(low: .before(timestampGroup: 1), above: 4, ties: .unknown)
    var steps = 0
    while steps < 10 {
      steps += 1
      let page = walk.offset < 4 ? server[...(3 - walk.offset)].sorted() : []
      if walk.extend(rows: page, rawCount: page.count, complete: false) == .start { break }
    }
    #expect(walk.low == .min)
    #expect(steps < 8)
  }

  /// Messages that come between the empty answer and the look at the lowest message put
  /// another one in its place, which is not the start.
  @Test func theStartIsProvenByTheLowestMessageAlone() {
    let rows = (1...5).map { at(Int64($0), "m") }
    var walk = BackwardPagination(newest: Array(rows[2...]), rawCount: 3, ties: .unknown)
    #expect(walk.offset == 2)
    #expect(walk.extend(rows: Array(rows[0..<3]), rawCount: 3, complete: false) == .extended)
    #expect(walk.offset == 4)
    #expect(walk.extend(rows: [rows[0]], rawCount: 1, complete: false) == .same)
    #expect(walk.offset == 5)
    #expect(walk.extend(rows: [], rawCount: 0, complete: false) == .same)
    #expect(walk.offset == 4)
    // Two came at the newer end, and a page may be as short as it likes.
    #expect(walk.extend(rows: [rows[2]], rawCount: 1, complete: false) == .same)
    var steps = 0
    while steps < 10 {
      steps += 1
      let page = walk.offset < 7 ? [rows[6 - walk.offset]] : []
      if walk.extend(rows: page, rawCount: page.count, complete: false) == .start { break }
      #expect(walk.low == .after(timestampGroup: 1))
    }
    #expect(walk.low == .min)
    #expect(steps > 3)
  }

  /// A run that ends inside a tick whose order is unknown goes on from above it.
  @Test func aRunThatEndsInsideATickGoesOnFromAboveIt() {
    let walk = BackwardPagination(low: at(5, "m"), above: 10, ties: .unknown)
    #expect(walk.low == .after(timestampGroup: 5))
    #expect(BackwardPagination(low: at(5, "m"), above: 10, ties: .byID).low == at(5, "m"))
    var other = BackwardPagination(low: at(9, ""), above: 10, ties: .unknown)
    other.jump(to: at(5, "m"), skipping: 4)
    #expect(other.low == .after(timestampGroup: 5))
  }

  /// Items that cannot be read join a page by their bytes, and hide what lies between.
  @Test func unreadableItemsJoinAPage() {
    func walk() -> BackwardPagination {
      var walk = BackwardPagination(
        newest: [at(8, "x"), at(9, "y")], rawCount: 3, unread: Unreadable(oldest: [17]),
        ties: .unknown)
      #expect(walk.offset == 2)
      let more = walk.extend(
        rows: [], rawCount: 2, unread: Unreadable(newest: [17, 18], oldest: [17, 18]),
        complete: false)
      #expect(more == .same)
      #expect(walk.offset == 3)
      return walk
    }
    let older = [at(5, "a"), at(6, "b")]
    var joined = walk()
    let verdict = joined.extend(
      rows: older, rawCount: 3, unread: Unreadable(newest: [18]), complete: false)
    #expect(verdict == .resumed)
    #expect(joined.low == .after(timestampGroup: 5))
    var apart = walk()
    let other = apart.extend(
      rows: older, rawCount: 3, unread: Unreadable(newest: [99]), complete: false)
    #expect(other == .apart)
    #expect(apart.low == .after(timestampGroup: 8))
  }

  /// One page of a list whose oldest item cannot be read; false where the walk gave up.
  private func take(
    _ walk: inout BackwardPagination, _ list: [Position?], most: Int, _ seen: inout Set<Position>
  ) -> Bool {
    let high = max(0, list.count - walk.offset)
    let page = list[max(0, high - most)..<high]
    let rows = page.compactMap { $0 }
    let unread = page.contains(nil) ? Unreadable(newest: [17], oldest: [17]) : Unreadable()
    seen.formUnion(rows)
    let verdict = walk.extend(
      rows: rows, rawCount: page.count, unread: unread, complete: page.contains(nil))
    return verdict != .gaveUp
  }

  /// The oldest message cannot be read, and the walk comes upon it by a guess that was too far:
  /// what lies between it and the run is still to be read.
  @Test(arguments: 69...110)
  func whatCannotBeReadJoinsNothingWhereTheWalkGuesses(_ above: Int) {
    // Nil cannot be read; the run has what is from 20 up.
    let list: [Position?] = [nil] + (1...87).map { at($0, "m") }
    var walk = BackwardPagination(low: at(20, "m"), above: above, ties: .unknown)
    var seen: Set<Position> = []
    var steps = 0
    while walk.low != .min, steps < 30 {
      steps += 1
      if !take(&walk, list, most: 50, &seen) { break }
    }
    #expect(walk.low == .min)
    #expect(seen.isSuperset(of: (1..<20).map { at($0, "m") }))
  }

  /// Offsets shift while the walk asks what is right below the run: what it is shown there may be
  /// the one after next. Pages of one item show nothing together, and end all the same.
  @Test(arguments: [1, 3])
  func whatCannotBeReadIsLookedAtTogetherWithTheRun(_ most: Int) {
    let run: [Position?] = (11...20).map { at($0, "m") }
    var list: [Position?] = [nil, at(5, "m")] + run
    var walk = BackwardPagination(newest: run.compactMap { $0 }, rawCount: 10, ties: .unknown)
    var seen: Set<Position> = []
    var steps = 0
    while walk.low != .min, steps < 40 {
      steps += 1
      if walk.offset == 10, list.count == 12 { list.removeLast() }
      if !take(&walk, list, most: most, &seen) { break }
    }
    #expect(walk.low == .min)
    #expect(seen.contains(at(5, "m")))
  }

  /// In the tick that is cut only a shared message joins.
  @Test func inTheCutTickOnlyASharedMessageJoins() {
    let timestampGroups = ["a", "b", "c", "d"].map { at(7, $0) }
    let newest = [timestampGroups[2], timestampGroups[3], at(8, "x"), at(9, "y")]
    var joined = BackwardPagination(newest: newest, rawCount: 4, ties: .unknown)
    #expect(
      joined.extend(
        rows: [at(5, "p"), timestampGroups[0], timestampGroups[2]], rawCount: 3, complete: false)
        == .extended)
    var apart = BackwardPagination(newest: newest, rawCount: 4, ties: .unknown)
    #expect(
      apart.extend(
        rows: [at(5, "p"), timestampGroups[0], timestampGroups[1]], rawCount: 3, complete: false)
        == .apart)
  }

  /// Below a stored message around which nothing is known: no page can be tied to it within
  /// its tick, so the walk begins above the tick, reads all of it, and ends at the start.
  @Test(arguments: [1, 7])
  func aWalkFromTheOldestMessageFindsTheStart(_ inGroup: Int) {
    let list = (0..<inGroup).map { at(1, "t\($0)") } + (2...30).map { at($0, "m") }
    let oldest = list[inGroup / 2]
    var walk = BackwardPagination(low: oldest, above: 29, ties: .unknown)
    var verdict = BackwardPagination.Verdict.same
    var steps = 0
    while verdict != .start, verdict != .gaveUp {
      let high = max(0, list.count - walk.offset)
      // Page sizes vary, so no page says that nothing is below it.
      let page = Array(list[max(0, high - 4)..<high])
      verdict = walk.extend(rows: page, rawCount: page.count, complete: false)
      steps += 1
    }
    #expect(verdict == .start)
    #expect(walk.low == .min)
    #expect(steps <= 12)
  }

  /// A tick much larger than a page, whose upper part is known: a selection by time begins
  /// above all of it, and the walk goes down through it to where the run ends.
  @Test(arguments: [2, 3, 5])
  func aWalkThroughWhatIsKnownOfATickReachesItsEnd(_ size: Int) {
    let list = (1...3).map { at($0, "m") } + (100..<220).map { at(4, "t\($0)") }
    var walk = BackwardPagination(low: list[20], above: 0, ties: .byID)
    var verdict = BackwardPagination.Verdict.same
    var steps = 0
    while verdict != .start, verdict != .gaveUp {
      let high = max(0, list.count - walk.offset)
      let page = Array(list[max(0, high - size)..<high])
      verdict = walk.extend(rows: page, rawCount: page.count, complete: false)
      steps += 1
    }
    #expect(verdict == .start)
    #expect(walk.low == .min)
    #expect(steps <= 2 * list.count + 4)
  }

  /// A range that the walk is passed over may end within a tick as well.
  @Test func aJumpIntoATickBeginsAboveIt() {
    var walk = BackwardPagination(newest: [at(8, "x"), at(9, "y")], rawCount: 2, ties: .unknown)
    walk.jump(to: at(5, "m"), skipping: 3)
    #expect(walk.low == .after(timestampGroup: 5))
    #expect(
      walk.extend(rows: [at(4, "p"), at(5, "a"), at(6, "q")], rawCount: 3, complete: false)
        == .extended)
    #expect(walk.low == .after(timestampGroup: 4))
    var byID = BackwardPagination(newest: [at(8, "x"), at(9, "y")], rawCount: 2, ties: .byID)
    byID.jump(to: at(5, "m"), skipping: 3)
    #expect(byID.low == at(5, "m"))
  }

  /// It never goes on for ever.
  @Test func aListThatNeverShowsTheAnchorEndsTheWalk() {
    var walk = BackwardPagination(
      newest: (50..<60).map { at($0, "m") }, rawCount: 10, ties: .unknown)
    var verdict = BackwardPagination.Verdict.same
    var steps = 0
    while verdict != .gaveUp, steps < 100 {
      verdict = walk.extend(rows: [at(1, "a"), at(2, "b")], rawCount: 2, complete: false)
      steps += 1
    }
    #expect(verdict == .gaveUp || walk.low == .min)
    #expect(steps <= 2 * BackwardPagination.stuckMax)
  }
}
