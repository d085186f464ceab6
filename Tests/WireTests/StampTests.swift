/// Printed times: every form, every refusal, and that no form ever rounds up.
import Base
import Testing
import Wire

@Suite struct StampTests {
  private func stamp(_ printed: String, zone: Int = 0) -> Stamp? {
    Stamp(bytes(printed), zoneOffsetMinutes: zone)
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00", 0), ("1970-01-01 00:00:01", 1_000_000),
    ("2026-02-15T22:15:45", 1_771_193_745_000_000), ("2026-02-15T22:15:45Z", 1_771_193_745_000_000),
    ("2026-02-15T22:15:45z", 1_771_193_745_000_000),
    ("2026-02-15T23:15:45+01:00", 1_771_193_745_000_000),
    ("2026-02-15T23:15:45+0100", 1_771_193_745_000_000),
    ("2026-02-15T23:15:45+01", 1_771_193_745_000_000),
    ("2026-02-15T16:45:45.5-05:30", 1_771_193_745_500_000),
    ("2026-02-16T00:00:45.25+01:45", 1_771_193_745_250_000),
    ("2026-02-15T22:15:45.123456", 1_771_193_745_123_456),
    ("2026-02-15T22:15:45.1234569Z", 1_771_193_745_123_456),
    ("1969-12-31T23:59:59.999999999", -1), ("2000-02-29T00:00:00", 951_782_400_000_000),
    ("0001-01-01T00:00:00", -62_135_596_800_000_000),
    ("9999-12-31T23:59:59.999999", 253_402_300_799_999_999),
    ("2016-12-31T23:59:60Z", 1_483_228_799_999_999),
    ("2016-12-31T23:59:60.5Z", 1_483_228_799_999_999),
    ("2026-02-15T22:15:45-00:00", 1_771_193_745_000_000),
    ("2026-02-15t22:15:45z", 1_771_193_745_000_000), ("2026-02-15T22:15", 1_771_193_700_000_000),
    ("2026-02-15 22:15Z", 1_771_193_700_000_000), ("2026-02-15T23:15+01:00", 1_771_193_700_000_000),
    ("2026-02-15T23:15+0100", 1_771_193_700_000_000),
    ("2026-02-15T17:15-05", 1_771_193_700_000_000),
  ])
  func reads(_ printed: String, _ timeUs: Int64) {
    #expect(stamp(printed)?.timeUs == timeUs)
    #expect(stamp(printed)?.text == bytes(printed))
  }

  @Test(arguments: [
    "", "2026", "2026-02-15", "2026-02-15T22", "2026-02-15T22:1", "2026-02-15T22:15:",
    "2026-02-15T22:15:4", "2026-02-15T22:15.5", "2026-02-15T22:15x", "2026-02-15T22:1545",
    "2026-02-15T22:15:45 ", "2026-02-15\u{0}22:15:45", "2026-2-15T22:15:45",
    "2026-02-30T00:00:00", "2025-02-29T00:00:00", "1900-02-29T00:00:00", "2026-04-31T00:00:00",
    "2026-13-01T00:00:00", "2026-00-01T00:00:00", "2026-01-00T00:00:00", "2026-01-32T00:00:00",
    "2026-01-01T24:00:00", "2026-01-01T00:60:00", "2026-01-01T00:00:61", "0000-01-01T00:00:00",
    "10000-01-01T00:00:00", "2026-01-01T00:00:00.", "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00,5",
    "2026-01-01T00:00:00 Z", "2026-01-01T00:00:00ZZ", "2026-01-01T00:00:00+",
    "2026-01-01T00:00:00+1",
    "2026-01-01T00:00:00+001", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60",
    "2026-01-01T00:00:00+00-00", "2026-01-01T00:00:00+00:0", "2026-01-01T00:00:00+00:000",
    " 2026-01-01T00:00:00", "2026-01-01T00:00:00 ", "2026-01-01T-1:00:00", "+026-01-01T00:00:00",
    "2026-01-01T00:00:0x", "2026-01-01T00:00:00.1x", "9999-12-31T23:59:59-01:00", "1771193745",
    "0001-01-01T00:00:00+00:01", "2026-01-01T00:00:00é", "2026/01/01T00:00:00",
    "２０２６-01-01T00:00:00",
  ])
  func refuses(_ printed: String) {
    #expect(stamp(printed) == nil)
  }

  @Test func lengthHasALimit() {
    func long(_ count: Int) -> String {
      "2026-02-15T22:15:45." + String(repeating: "9", count: count - 20)
    }
    #expect(stamp(long(Limits.stampBytesMax - 1))?.timeUs == 1_771_193_745_999_999)
    #expect(stamp(long(Limits.stampBytesMax))?.timeUs == 1_771_193_745_999_999)
    #expect(stamp(long(Limits.stampBytesMax + 1)) == nil)
  }

  @Test func aMissingZoneIsTheProfiles() {
    #expect(stamp("2026-02-15T22:15:45", zone: 90)?.timeUs == 1_771_188_345_000_000)
    #expect(stamp("2026-02-15T22:15:45Z", zone: 90)?.timeUs == 1_771_193_745_000_000)
    #expect(
      stamp("2026-02-15T22:15:45", zone: -60)?.printed(ServerTime(us: 1_771_193_745_000_000))
        == bytes("2026-02-15T21:15:45"))
    // A zone beyond a day cannot break the arithmetic.
    #expect(stamp("2026-02-15T22:15:45", zone: .min) != nil)
    #expect(stamp("2026-02-15T22:15:45", zone: .max) != nil)
  }

  /// Protects: a form without seconds says a minute, and a time in it is never too late.
  @Test func withoutSecondsATimeIsFlooredToItsMinute() {
    let short = stamp("2026-02-15T22:15+01:00")
    #expect(short?.resolutionUs == 60_000_000)
    #expect(
      short?.printed(ServerTime(us: 1_771_193_745_999_999)) == bytes("2026-02-15T23:15+01:00"))
    #expect(
      short?.printed(ServerTime(us: 1_771_193_700_000_000 - 1)) == bytes("2026-02-15T23:14+01:00"))
    #expect(
      stamp("2026-02-15t22:15:45z")?.printed(ServerTime(us: 0)) == bytes("1970-01-01t00:00:00z"))
  }

  @Test func resolutionIsThatOfTheForm() throws {
    let expected: [Int64] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1, 1, 1]
    for (digits, resolution) in expected.enumerated() {
      let fraction = digits == 0 ? "" : "." + String(repeating: "0", count: digits)
      #expect(stamp("2026-02-15T22:15:45\(fraction)Z")?.resolutionUs == resolution)
    }
  }

  @Test func anotherTimeTakesTheSameForm() throws {
    let time: Int64 = 1_771_193_740_987_654
    func like(_ form: String) throws -> String {
      text(try #require(stamp(form)).printed(ServerTime(us: time)))
    }
    #expect(try like("2026-02-15T22:15:45") == "2026-02-15T22:15:40")
    #expect(try like("2026-02-15 22:15:45.0") == "2026-02-15 22:15:40.9")
    #expect(try like("2026-02-15T22:15:45.000+02:00") == "2026-02-16T00:15:40.987+02:00")
    #expect(try like("2026-02-15T22:15:45.000000-0330") == "2026-02-15T18:45:40.987654-0330")
    #expect(try like("2026-02-15T22:15:45.123456789Z") == "2026-02-15T22:15:40.987654000Z")
    #expect(try like("2016-12-31T23:59:60z") == "2026-02-15T22:15:40z")
    // Floored before 1970 too.
    #expect(
      try text(#require(stamp("2026-02-15T22:15:45")).printed(ServerTime(us: -1)))
        == "1969-12-31T23:59:59")
    let form = try #require(stamp("2026-02-15T22:15:45.000000+14:00"))
    #expect(text(form.printed(.max)) == "9999-12-31T23:59:59.999999+14:00")
    #expect(text(form.printed(.min)) == "0001-01-01T14:00:00.000000+14:00")
    let west = try #require(stamp("2026-02-15T22:15:45-14:00"))
    #expect(text(west.printed(.min)) == "0001-01-01T00:00:00-14:00")
    #expect(text(west.printed(.max)) == "9999-12-31T09:59:59-14:00")
  }

  /// Random times in every form: read back, a printed time is the same one less
  /// than a unit of its form, never later; printed again, it is the same text.
  @Test func printingFloorsAndReadsBack() throws {
    var random = Random(seed: 3)
    let zones = ["", "Z", "z", "+00", "-0930", "+05:45", "+14:00", "-23:59"]
    for _ in 0..<20_000 {
      let digits = random.below(10)
      let fraction = digits == 0 ? "" : "." + String(repeating: "7", count: digits)
      let separator = random.chance(0.5) ? "T" : " "
      let zone = zones[random.below(zones.count)]
      let offset = random.below(2_000) - 1_000
      let form = try #require(
        stamp("2026-02-15\(separator)22:15:45\(fraction)\(zone)", zone: offset))
      // Years 2 to 9998.
      let time = -62_104_060_800_000_000 + Int64(random.next() % 315_474_912_000_000_000)
      let printed = form.printed(ServerTime(us: time))
      let again = try #require(Stamp(printed, zoneOffsetMinutes: offset), "\(text(printed))")
      #expect(again.timeUs <= time && time - again.timeUs < form.resolutionUs)
      #expect(again.resolutionUs == form.resolutionUs)
      #expect(again.printed(again.time) == printed)
      #expect(form.printed(form.time).count == form.text.count)
    }
  }

  /// Every day of eight centuries follows the day before it.
  @Test func everyDayFollowsTheLast() throws {
    let form = try #require(stamp("2026-02-15T00:00:00"))
    var year = 1600
    var month = 1
    var day = 1
    let start = try #require(stamp("1600-01-01T00:00:00")).timeUs
    for index in 0..<292_194 {
      let time = start + Int64(index) * 86_400_000_000
      func pad(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
      let expected = "\(year)-\(pad(month))-\(pad(day))T00:00:00"
      let printed = form.printed(ServerTime(us: time))
      if printed != bytes(expected) || stamp(expected)?.timeUs != time {
        Issue.record("\(expected) is not \(text(printed))")
        return
      }
      let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(year == 2400 && month == 1 && day == 1)
  }
}
