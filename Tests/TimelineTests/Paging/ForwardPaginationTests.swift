/// The climb by offset, and the search for a place, against a list that grows and
/// shrinks between their pages.
///
/// Whatever a climb proves must hold: each message that still stands in a proven range
/// was in one of its pages or in the run it began with.
import Base
import Testing
import Timeline

@Suite struct ClimbTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    var ties: Ties
    var arrivals: Int
    var deletions: Int
    var poison: Double = 0
    /// Several messages in a tick, more than a page at times.
    var isBursty = false

    /// Where as many arrive as a page holds, nobody can climb.
    var isHopeless: Bool { arrivals > 20 && isBursty }
    var stepsMax: Int { isHopeless ? 100 : 1_000 }

    var testDescription: String {
      "\(ties) +\(arrivals) -\(deletions) !\(poison)\(isBursty ? " bursts" : "")"
    }
  }

  static let settings: [Setting] = [Ties.unknown, .byID, .never].flatMap { ties in
    [(0, 0, 0), (6, 0, 0), (0, 9, 0), (6, 9, 0), (25, 25, 0), (6, 6, 0.2)].flatMap { numbers in
      [false, true].compactMap { isBursty in
        if ties == .never, isBursty { return nil }
        return Setting(
          ties: ties, arrivals: numbers.0, deletions: numbers.1, poison: numbers.2,
          isBursty: isBursty)
      }
    }
  }

  struct Run {
    var list: ModelList
    var proven = SpanSet()
    var seen: Set<[UInt8]> = []
    var end = ForwardPagination.Verdict.gaveUp
    var isAtPresent = false
    var steps = 0
    var fault: String?

    mutating func check() {
      let missed = list.items.first { item in
        !item.isQuarantined && !seen.contains(item.position.id)
          && proven.span(holding: item.position) != nil
      }
      if let missed, fault == nil {
        fault = "step \(steps) claims over \(name(missed.position)) \(missed.arrival)"
      }
    }
  }

  private static func post(_ list: inout ModelList, _ setting: Setting, _ random: inout Random) {
    if setting.ties == .never { list.advance() }
    let burst = setting.isBursty && random.chance(0.05) ? 20 + random.below(20) : 1
    for _ in 0..<burst {
      list.post(&random, poison: setting.poison, isNewGroup: burst > 1 ? false : nil)
    }
  }

  private static func readable(_ page: ArraySlice<ModelList.Item>) -> [Position] {
    page.filter { !$0.isQuarantined }.map(\.position).sorted()
  }

  private static func unread(_ page: ArraySlice<ModelList.Item>) -> Unreadable {
    let oldest = page.prefix { $0.isQuarantined }
    let newest = page.reversed().prefix { $0.isQuarantined }
    return Unreadable(
      newest: newest.map { Int64($0.arrival) }, oldest: oldest.map { Int64($0.arrival) })
  }

  static func climb(_ setting: Setting, seed: UInt64) -> Run {
    var random = Random(seed: seed)
    var list = ModelList(tiesByID: setting.ties == .byID)
    for _ in 0..<(30 + random.below(200)) { post(&list, setting, &random) }
    var run = Run(list: list)
    // The run: one page somewhere in the middle, as after a jump.
    let first = 4 + random.below(12)
    let start = random.below(list.items.count)
    let page = run.list.page(offset: start, limit: first)
    let rows = readable(page)
    run.seen.formUnion(rows.map(\.id))
    let claim = PageClaim(
      items: page.map { $0.isQuarantined ? nil : $0.position }, low: .cut, high: .cut,
      ties: setting.ties)
    for piece in claim.pieces { run.proven.insert(piece.low, piece.high) }
    guard let top = claim.pieces.last?.high else { return run }
    // Where its top stands is known, roughly known, or not known at all.
    let guess = [start, max(0, start + random.below(60) - 30), 0][random.below(3)]
    var climb = ForwardPagination(
      high: top, index: guess, rows: random.chance(0.5) ? rows : [], ties: setting.ties)
    while run.steps < setting.stepsMax, run.fault == nil {
      run.steps += 1
      if random.chance(0.5) { change(&run.list, setting, &random) }
      // The page size follows the network.
      take(&run, &climb, limit: 5 + random.below(15), setting)
      if run.steps % 8 == 0 { run.check() }
      if climb.isAtPresent || run.end == .gaveUp { break }
    }
    run.check()
    run.isAtPresent = climb.isAtPresent
    return run
  }

  private static func take(
    _ run: inout Run, _ climb: inout ForwardPagination, limit: Int, _ setting: Setting
  ) {
    let offset = climb.offset(limit: limit)
    let page = run.list.page(offset: offset, limit: limit)
    // A tick that was shown is over: what may still commit in it is the overlap's care.
    run.list.advance()
    let rows = readable(page)
    run.seen.formUnion(rows.map(\.id))
    let before = climb.high
    let isStart = offset + page.count >= run.list.items.count && !page.isEmpty
    run.end = climb.extend(
      rows: rows, rawCount: page.count, unread: unread(page), offset: offset,
      endsAtStart: isStart)
    let claim = PageClaim(
      items: page.map { $0.isQuarantined ? nil : $0.position }, low: .cut, high: .cut,
      ties: setting.ties)
    var fresh = SpanSet()
    if [.extended, .present].contains(run.end) { fresh.insert(before, climb.high) }
    if run.end != .same { fresh.insert(claim.low, claim.high) }
    for hole in claim.holes { fresh.remove(hole.low, hole.high) }
    for piece in fresh.spans { run.proven.insert(piece.low, piece.high) }
    for hole in claim.holes { run.proven.remove(hole.low, hole.high) }
  }

  private static func change(
    _ list: inout ModelList, _ setting: Setting, _ random: inout Random
  ) {
    for _ in 0..<random.below(setting.arrivals + 1) { post(&list, setting, &random) }
    for _ in 0..<random.below(setting.deletions + 1) where !list.items.isEmpty {
      let reach = random.chance(0.7) ? min(30, list.items.count) : list.items.count
      list.items.remove(at: list.items.count - 1 - random.below(reach))
    }
  }

  @Test(arguments: settings)
  func noClaimGoesOverASkippedMessage(_ setting: Setting) {
    var present = 0
    var begun = 0
    for seed in 1...30 as ClosedRange<UInt64> {
      let run = Self.climb(setting, seed: seed)
      #expect(run.fault == nil, "seed \(seed)")
      #expect(run.steps < setting.stepsMax || setting.isHopeless, "seed \(seed)")
      if run.isAtPresent { present += 1 }
      if run.steps > 0 { begun += 1 }
    }
    // The check above is about claims, so there must have been some.
    if setting.arrivals + setting.deletions == 0 { #expect(present == begun) }
    if !setting.isHopeless { #expect(present * 10 > begun * 8, "\(present) of \(begun)") }
  }

  @Test(arguments: [Ties.unknown, .byID, .never])
  func aListThatStandsStillIsReadToThePresent(_ ties: Ties) {
    let setting = Setting(ties: ties, arrivals: 0, deletions: 0)
    for seed in 1...60 as ClosedRange<UInt64> {
      let run = Self.climb(setting, seed: seed)
      // A run that claims nothing has no end to climb from.
      if run.steps == 0 { continue }
      #expect(run.isAtPresent, "seed \(seed)")
      #expect(run.proven.spans.count == 1, "seed \(seed)")
    }
  }

  /// One page swallows the way to the present, and an island in it.
  @Test func aPageAcrossTheEdgeJoins() {
    var climb = ForwardPagination(high: .before(timestampGroup: 10), index: 5, ties: .unknown)
    #expect(climb.offset(limit: 20) == 0)
    let rows = (5...14).map { at(Int64($0), "m\($0)") }
    #expect(climb.extend(rows: rows, rawCount: 10, offset: 0) == .present)
    #expect(climb.high == .before(timestampGroup: 14))
  }

  @Test func consecutiveNumbersTouchAndOthersDoNot() {
    let rows = (11...15).map { at(Int64($0), "m\($0)") }
    var touching = ForwardPagination(high: .after(timestampGroup: 10), index: 9, ties: .never)
    #expect(touching.extend(rows: rows, rawCount: 5, offset: 4) == .extended)
    #expect(touching.high == .after(timestampGroup: 15))
    var apart = ForwardPagination(high: .after(timestampGroup: 9), index: 9, ties: .never)
    #expect(apart.extend(rows: rows, rawCount: 5, offset: 4) == .apart)
    #expect(apart.high == .after(timestampGroup: 9))
  }

  @Test func inTheCutTickOnlyASharedMessageJoins() {
    let run = [at(6, "p"), at(7, "c"), at(7, "d")]
    let above = [at(7, "a"), at(8, "x"), at(9, "y")]
    var apart = ForwardPagination(
      high: .before(timestampGroup: 7), index: 9, rows: run, ties: .unknown)
    #expect(apart.extend(rows: above, rawCount: 3, offset: 6) == .apart)
    var joined = ForwardPagination(
      high: .before(timestampGroup: 7), index: 9, rows: run, ties: .unknown)
    #expect(joined.extend(rows: [at(7, "d")] + above, rawCount: 4, offset: 6) == .extended)
    #expect(joined.high == .before(timestampGroup: 9))
  }

  /// Items that cannot be read join a page by their bytes, and hide what lies between.
  @Test func unreadableItemsJoinAPage() {
    func climb() -> ForwardPagination {
      let run = [at(8, "x"), at(9, "y")]
      var climb = ForwardPagination(
        high: .before(timestampGroup: 9), index: 9, rows: run, ties: .unknown)
      let first = climb.extend(
        rows: run, rawCount: 3, unread: Unreadable(newest: [17]), offset: climb.offset(limit: 3))
      #expect(first == .same)
      #expect(climb.offset(limit: 3) == 5)
      let both = Unreadable(newest: [18, 17], oldest: [17, 18])
      #expect(climb.extend(rows: [], rawCount: 2, unread: both, offset: 5) == .same)
      #expect(climb.offset(limit: 3) == 3)
      return climb
    }
    let newer = [at(12, "a"), at(13, "b")]
    var joined = climb()
    let verdict = joined.extend(
      rows: newer, rawCount: 3, unread: Unreadable(oldest: [18]), offset: 3)
    #expect(verdict == .resumed)
    #expect(joined.high == .before(timestampGroup: 13))
    var apart = climb()
    let other = apart.extend(rows: newer, rawCount: 3, unread: Unreadable(oldest: [99]), offset: 3)
    #expect(other == .apart)
    #expect(apart.high == .before(timestampGroup: 9))
    var ended = climb()
    let unread = Unreadable(newest: [19, 18], oldest: [18, 19])
    #expect(ended.extend(rows: [], rawCount: 2, unread: unread, offset: 0) == .present)
    #expect(ended.isAtPresent)
    #expect(ended.high == .before(timestampGroup: 9))
  }

  /// No item of a page can be read, and there is nothing but that page.
  @Test func allThatCannotBeReadIsThePresent() {
    var climb = ForwardPagination(high: at(5, "x"), index: 0, ties: .unknown)
    let unread = Unreadable(newest: [1], oldest: [2])
    let verdict = climb.extend(
      rows: [], rawCount: 2, unread: unread, offset: 0, endsAtStart: true)
    #expect(verdict == .present)
    #expect(climb.isAtPresent)
    var other = ForwardPagination(high: at(5, "x"), index: 0, ties: .unknown)
    #expect(other.extend(rows: [], rawCount: 2, unread: unread, offset: 0) == .apart)
  }

  /// All of an island was deleted on the server: no anchor is left in it.
  @Test func aRunThatIsGoneIsJoinedByThePageAtTheStart() {
    var climb = ForwardPagination(high: .after(timestampGroup: 10), index: 30, ties: .unknown)
    let rows = (20...29).map { at(Int64($0), "m\($0)") }
    #expect(climb.extend(rows: rows, rawCount: 10, offset: 26) == .apart)
    #expect(climb.extend(rows: rows, rawCount: 10, offset: 26, endsAtStart: true) == .extended)
    #expect(climb.high == .before(timestampGroup: 29))
  }

  @Test func aListThatNeverShowsTheAnchorEndsTheClimb() {
    var climb = ForwardPagination(high: .after(timestampGroup: 10), index: 100, ties: .unknown)
    var verdict = ForwardPagination.Verdict.same
    var steps = 0
    while verdict != .gaveUp, steps < 100 {
      let offset = climb.offset(limit: 10) + 1
      verdict = climb.extend(rows: [at(50, "a"), at(60, "b")], rawCount: 2, offset: offset)
      steps += 1
    }
    #expect(verdict == .gaveUp)
    #expect(steps == ForwardPagination.stuckMax + 1)
    var far = ForwardPagination(high: .max, index: .max, ties: .never)
    #expect(far.offset(limit: 1_000) < 1 << 41)
    #expect(far.extend(rows: [], rawCount: 0, offset: far.offset(limit: 10)) == .same)
  }
}
