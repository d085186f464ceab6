/// The search by offset for the page around a place.
import Base
import Testing
import Timeline

@Suite struct SeekTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    var knowsTotal: Bool
    var cap: Int
    var shift: Int

    var testDescription: String { "total: \(knowsTotal), at most \(cap), shift \(shift)" }
  }

  static let settings: [Setting] = [true, false].flatMap { knowsTotal in
    [100, 7].flatMap { cap in
      [0, 5, 40].map { Setting(knowsTotal: knowsTotal, cap: cap, shift: $0) }
    }
  }

  struct Found {
    var verdict = OffsetSearch.Verdict.again
    var rows: [Position] = []
    var list: ModelList
    var steps = 0
  }

  private static func change(_ list: inout ModelList, by shift: Int, _ random: inout Random) {
    for _ in 0..<random.below(shift + 1) { list.post(&random) }
    for _ in 0..<random.below(shift + 1) where list.items.count > 20 {
      list.items.remove(at: list.items.count - 1 - random.below(list.items.count))
    }
  }

  static func seek(
    _ setting: Setting, _ list: ModelList, _ target: Position, _ random: inout Random
  ) -> Found {
    var found = Found(list: list)
    let limit = 5 + random.below(20)
    var seek = OffsetSearch(
      target: target, total: setting.knowsTotal ? list.items.count : nil, limit: limit)
    while found.verdict == .again, found.steps < 200 {
      found.steps += 1
      let page = found.list.page(offset: seek.offset, limit: min(limit, setting.cap))
      found.rows = page.map(\.position).sorted()
      found.verdict = seek.judge(rows: found.rows, rawCount: page.count)
      if setting.shift > 0, found.verdict == .again, random.chance(0.5) {
        change(&found.list, by: setting.shift, &random)
      }
    }
    return found
  }

  @Test(arguments: settings)
  func aMessageIsFoundWhereverItStands(_ setting: Setting) {
    var found = 0
    for seed in 1...60 as ClosedRange<UInt64> {
      var random = Random(seed: seed)
      var list = ModelList(tiesByID: seed % 2 == 0)
      for _ in 0..<(1 + random.below(1_200)) { list.post(&random) }
      let target = list.items[random.below(list.items.count)].position
      let result = Self.seek(setting, list, target, &random)
      #expect(result.steps <= OffsetSearch.stepsMax + 1, "seed \(seed)")
      #expect(result.verdict != .again, "seed \(seed)")
      if result.verdict == .found {
        found += 1
        #expect(result.rows.contains(target), "seed \(seed)")
      }
      let isThere = result.list.items.contains { $0.position == target }
      if setting.shift == 0 { #expect(result.verdict == .found, "seed \(seed)") }
      if !isThere { #expect(result.verdict != .found, "seed \(seed)") }
    }
    // Forty may come and go while a page shows seven.
    #expect(found > (setting.shift > setting.cap ? 40 : 48), "\(found)")
  }

  @Test(arguments: settings)
  func aTimeIsFoundBetweenOrBesideMessages(_ setting: Setting) {
    var around = 0
    for seed in 1...60 as ClosedRange<UInt64> {
      var random = Random(seed: seed)
      var list = ModelList(tiesByID: false)
      for _ in 0..<(1 + random.below(1_200)) { list.post(&random) }
      let target = Position.before(
        timestampGroup: 90 + Int64(random.below(Int(list.now) - 60)))
      let result = Self.seek(setting, list, target, &random)
      #expect(result.verdict == .found || setting.shift > 0, "seed \(seed)")
      guard let first = result.rows.first, let last = result.rows.last,
        let oldest = result.list.items.first?.position
      else { continue }
      let isAround = first <= target && target <= last
      let isBesideTheEnd = last < target || target <= oldest
      // Two pages may meet at the target: then it is right beside this one.
      let between = result.list.items.map(\.position).filter {
        target <= first ? target <= $0 && $0 < first : last < $0 && $0 < target
      }
      if setting.shift == 0 {
        #expect(isAround || isBesideTheEnd || between.isEmpty, "seed \(seed)")
      }
      if isAround || isBesideTheEnd || between.count < 40 { around += 1 }
    }
    #expect(around > 52, "\(around)")
  }

  @Test func halvingTakesAFewRequests() {
    var random = Random(seed: 5)
    var list = ModelList(tiesByID: true)
    for _ in 0..<8_000 { list.post(&random) }
    for index in [0, 1, 777, 4_000, 7_990, 7_999] {
      let target = list.items[index].position
      for knowsTotal in [true, false] {
        let setting = Setting(knowsTotal: knowsTotal, cap: 100, shift: 0)
        let result = Self.seek(setting, list, target, &random)
        #expect(result.verdict == .found)
        #expect(result.steps <= (knowsTotal ? 16 : 26), "\(index): \(result.steps)")
      }
    }
  }

  @Test func whatIsNotThereIsAbsentAndEmptyListsEnd() {
    var gone = OffsetSearch(target: at(5, "x"), total: 3, limit: 10)
    #expect(gone.judge(rows: [at(4, "a"), at(6, "b")], rawCount: 2) == .absent)
    var empty = OffsetSearch(target: at(5, "x"), total: nil, limit: 10)
    #expect(empty.judge(rows: [], rawCount: 0) == .absent)
    var newer = OffsetSearch(target: .before(timestampGroup: 99), total: nil, limit: 10)
    #expect(newer.judge(rows: [at(4, "a")], rawCount: 1) == .found)
    var huge = OffsetSearch(target: at(5, "x"), total: .max, limit: .max)
    var answers = [OffsetSearch.Verdict]()
    while answers.last != .absent, answers.count < OffsetSearch.stepsMax {
      answers.append(huge.judge(rows: [], rawCount: 0))
    }
    #expect(answers.last == .absent)
  }

  @Test func aListOfUnreadableItemsEndsTheSearch() {
    var seek = OffsetSearch(target: at(5, "x"), total: 1_000, limit: 10)
    var verdict = OffsetSearch.Verdict.again
    var steps = 0
    while verdict == .again, steps < 200 {
      verdict = seek.judge(rows: [], rawCount: 10)
      steps += 1
    }
    #expect(verdict == .gaveUp)
  }

  /// Unreadable items at the start of all, below as many others: they are passed once, whether
  /// the server says where the start is or an empty page shows it.
  @Test(arguments: [true, false], [0, 12])
  func whatCannotBeReadAtTheStartIsPassedOnce(_ saysStart: Bool, _ readable: Int) {
    let total = readable + 7
    var seek = OffsetSearch(target: .before(timestampGroup: 1), total: nil, limit: 5)
    var verdict = OffsetSearch.Verdict.again
    var steps = 0
    while verdict == .again, steps < 200 {
      let end = min(total, seek.offset + 5)
      let shown = seek.offset..<max(seek.offset, min(end, readable))
      let rows = shown.map { at(Int64(99 - $0), "x") }
      verdict = seek.judge(
        rows: rows.sorted(), rawCount: max(0, end - seek.offset),
        endsAtStart: saysStart && end == total)
      steps += 1
    }
    #expect(verdict == (readable == 0 ? .absent : .found))
    #expect(steps <= 16)
  }
}
