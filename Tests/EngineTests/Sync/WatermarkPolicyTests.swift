/// How far a watermark may be trusted, as tables.
import Base
import Engine
import Testing
import Timeline
import Wire

@Suite struct TrustTests {
  private static let second: Int64 = 1_000_000
  private static let day: Int64 = 24 * 3_600 * second

  struct BoundCase: Sendable {
    var stamp: String
    var overlapUs: Int64
    var resolutionUs: Int64 = 0
    var after: String
    /// The boundary, below the stamp by this much.
    var belowUs: Int64
  }

  @Test(arguments: [
    BoundCase(
      stamp: "2026-02-15T22:15:45", overlapUs: 5_000_000, after: "2026-02-15T22:15:39",
      belowUs: 5_000_000),
    // Never less than one printed unit, and the question stands one unit below that.
    BoundCase(
      stamp: "2026-02-15T22:15:45", overlapUs: 0, after: "2026-02-15T22:15:43",
      belowUs: 1_000_000),
    BoundCase(
      stamp: "2026-02-15T22:15:45Z", overlapUs: 1_500_000, after: "2026-02-15T22:15:42Z",
      belowUs: 2_000_000),
    BoundCase(
      stamp: "2026-02-15T22:15:45.120", overlapUs: 5_000_000, after: "2026-02-15T22:15:40.119",
      belowUs: 5_000_000),
    BoundCase(
      stamp: "2026-02-15T22:15:45.000001", overlapUs: 0, after: "2026-02-15T22:15:44.999999",
      belowUs: 1),
    BoundCase(
      stamp: "2026-02-15 00:00:02+05:45", overlapUs: 5_000_000,
      after: "2026-02-14 23:59:56+05:45", belowUs: 5_000_000),
    // A server that compares more coarsely than it prints.
    BoundCase(
      stamp: "2026-02-15T22:15:45.700", overlapUs: 0, resolutionUs: 1_000_000,
      after: "2026-02-15T22:15:43.000", belowUs: 1_700_000),
  ])
  func theBoundIsBelowTheOverlapAndTheQuestionBelowTheBound(_ item: BoundCase) throws {
    let stamp = try #require(Stamp(Array(item.stamp.utf8), zoneOffsetMinutes: 0))
    let bound = WatermarkPolicy.bound(
      stamp, overlapUs: item.overlapUs, resolutionUs: item.resolutionUs)
    #expect(String(decoding: bound.after, as: UTF8.self) == item.after)
    #expect(bound.position == .before(timestampGroup: stamp.timeUs - item.belowUs))
  }

  @Test func theBoundOfTheFirstYearDoesNotOverflow() throws {
    let stamp = try #require(Stamp(Array("0001-01-01T00:00:00".utf8), zoneOffsetMinutes: 0))
    let bound = WatermarkPolicy.bound(stamp, overlapUs: .max, resolutionUs: .max / 4)
    #expect(bound.position < .before(timestampGroup: stamp.timeUs))
    #expect(String(decoding: bound.after, as: UTF8.self) == "0001-01-01T00:00:00")
  }

  @Test func roundingDownGoesDownBelowZeroToo() {
    func floored(_ us: Int64) -> Int64 { ServerTime(us: us).floored(to: 1_000).us }
    #expect(floored(1_999) == 1_000)
    #expect(floored(2_000) == 2_000)
    #expect(floored(-1) == -1_000)
    #expect(floored(-1_000) == -1_000)
    #expect(floored(-1_001) == -2_000)
  }

  struct PlausibleCase: Sendable, CustomTestStringConvertible {
    var name: String
    /// In hours.
    var times: [Int64]
    var known: Int64?
    var serverTime: Int64?
    var wall: Int64?
    var greatest: Int64?

    var testDescription: String { name }
  }

  @Test(arguments: [
    PlausibleCase(name: "an empty page says nothing", times: [], wall: 0, greatest: nil),
    PlausibleCase(
      name: "an ordinary page", times: [1, 2, 3, 4], known: 1, wall: 4, greatest: 4),
    PlausibleCase(
      name: "one stamp years ahead of a page", times: [1, 2, 3, 4, 99_999], wall: 4, greatest: 4),
    PlausibleCase(
      name: "half a page ahead is believed", times: [1, 2, 9_000, 9_001, 9_002], wall: 4,
      greatest: 9_002),
    PlausibleCase(
      name: "within a day of what is known", times: [20], known: 0, wall: nil, greatest: 20),
    PlausibleCase(
      name: "a lone stamp far ahead of what is known", times: [99_999], known: 0, wall: 1,
      greatest: nil),
    PlausibleCase(
      name: "a lone stamp, a device years behind, nothing known", times: [90_000], wall: 1,
      greatest: nil),
    PlausibleCase(
      name: "a lone stamp, no clock, nothing known", times: [90_000], greatest: nil),
    PlausibleCase(
      name: "a lone stamp, a clock further ahead, nothing known", times: [90_000],
      wall: 99_999, greatest: nil),
    PlausibleCase(
      name: "a device years ahead believes a lone stamp only as far as it goes",
      times: [100], known: 90, wall: 99_999, greatest: 100),
    PlausibleCase(
      name: "what is known is ahead of the device: the device is not asked", times: [1_010],
      known: 1_000, wall: 1, greatest: 1_010),
    PlausibleCase(
      name: "the server's own clock outranks the page", times: [1, 2, 9_000, 9_001, 9_002],
      serverTime: 4, wall: 9_000, greatest: 2),
    PlausibleCase(
      name: "two of four ahead of it are not most", times: [9, 10, 20, 40], serverTime: 12,
      greatest: 10),
    PlausibleCase(
      name: "stamps climb from one to the next", times: [10, 30, 50, 70], known: 5, wall: 70,
      greatest: 70),
    PlausibleCase(
      name: "but not over a leap", times: [10, 30, 60, 200], known: 5, wall: 70, greatest: 60),
  ])
  func theGreatestStampThatIsBorneOut(_ item: PlausibleCase) {
    func time(_ hours: Int64) -> ServerTime { ServerTime(us: hours * 3_600 * Self.second) }
    let greatest = WatermarkPolicy.greatestPlausible(
      item.times.map(time), known: item.known.map(time), serverTime: item.serverTime.map(time),
      wallUs: item.wall.map { time($0).us })
    #expect(greatest == item.greatest.map(time))
  }

  @Test func extremeTimesDoNotOverflow() {
    #expect(
      WatermarkPolicy.greatestPlausible(
        [.min, .zero, .max], known: .max, serverTime: nil, wallUs: .max) == .max)
    #expect(
      WatermarkPolicy.greatestPlausible([.max], known: nil, serverTime: .min, wallUs: .min) == nil)
  }

  @Test(
    arguments: [
      (5_000_000, 0, 5_000_000), (5_000_000, 2_500_000, 5_000_000),
      (5_000_000, 2_500_001, 5_000_002), (5_000_000, 4_000_000, 8_000_000),
      (8_000_000, 1_000_000, 8_000_000), (5_000_000, 3_600_000_000, 120_000_000),
      (300_000_000, 200_000_000, 120_000_000),
    ] as [(Int64, Int64, Int64)])
  func theOverlapIsTwiceTheLatenessWithinBounds(
    _ overlapUs: Int64, _ latenessUs: Int64, _ expected: Int64
  ) {
    #expect(WatermarkPolicy.widened(overlapUs, latenessUs: latenessUs) == expected)
  }
}
