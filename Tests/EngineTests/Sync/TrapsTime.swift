/// Times lie: coarse stamps, late commits, wrong clocks and many forms of one instant.
///
/// Rule protected: no message is lost because of what its stamp looks like.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsTime {
  /// A second message in the second of the newest one, committed after the fetch.
  ///
  /// Without an overlap only the step of one printed unit keeps it.
  @Test(arguments: ServerKind.all)
  func t01_aMessageInTheSameTickAsTheWatermarkArrives(_ kind: ServerKind) throws {
    let world = try kind.world(profile: { $0.overlapUs = 0 })
    world.post(30)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    #expect(try world.tailFaults(140) == [])
    // The clock stands still: same tick, whatever the resolution.
    let twins = [world.put("\"twin\""), world.put("\"triplet\"")]
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(status.inserted == twins.count)
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
  }

  @Test(arguments: ServerKnobs.StampStyle.allCases, [Int64(1_000_000), 1_000, 1])
  func t01_theServerIsAskedInItsOwnFormOfTime(
    _ style: ServerKnobs.StampStyle, _ resolutionUs: Int64
  ) throws {
    var knobs = ServerKnobs()
    knobs.stampStyle = style
    knobs.zoneMinutes = style == .offset ? 345 : 0
    knobs.timeResolutionUs = resolutionUs
    let world = try World(knobs: knobs)
    world.post(30)
    try world.connect()
    try world.sync()
    try world.missing(120, everyMs: 997)
    let top = world.server.truth(world.room)[29].stampUs
    try world.sync()
    #expect(try world.tailFaults(140) == [])
    let unit = resolutionUs
    let asked = ServerTime.text(
      ServerTime.tick(top - 5_000_000, resolutionUs: unit) - unit, knobs)
    #expect(world.requests[0].contains("\"after_ts\":\"\(asked)\""))
  }

  @Test(arguments: ServerKind.all)
  func t02_aMessageCommittedLateIsStillFetched(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(30)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(60)
    // Stamped first, visible after all that follows has been fetched.
    let late = world.put("\"late\"", lateMs: 4_500)
    world.post(70, everyMs: 60)
    try world.client.connected()
    try world.sync()
    #expect(try !world.cached().contains(late))
    world.advance(ms: 1_000)
    try world.sync()
    #expect(try world.cached().contains(late))
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
  }

  /// The watermark is the top of the *first* page of a walk: what commits while the
  /// walk goes on lies above it, however long the walk takes.
  @Test(arguments: ServerKind.all)
  func t02_aMessageCommittedDuringTheWalkIsNotPassedBy(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(30)
    try world.connect()
    try world.sync()
    try world.missing(150)
    world.before = { _, _ in
      world.advance(ms: 3_000)
      world.put("\"stamped before the page, visible after it\"", agoMs: 2_900, lateMs: 200)
    }
    try world.sync()
    world.before = { _, _ in }
    world.advance(ms: 10_000)
    try world.sync()
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
  }

  @Test(arguments: ServerKind.all)
  func t02_theOverlapGrowsWithTheLatenessSeen(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(30)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    #expect(try world.client.stats().overlapUs == 5_000_000)
    world.put("\"late by four seconds\"", agoMs: 4_000)
    try world.sync()
    #expect(try world.client.stats().overlapUs == 8_000_000)
    let later = world.put("\"late by seven seconds\"", agoMs: 7_000)
    try world.sync()
    #expect(try world.cached().contains(later))
    #expect(try world.tailFaults(140) == [])
  }

  /// The same world under a right clock, one ten years ahead, one ten years behind
  /// and none: the same requests, byte for byte.
  @Test(arguments: ServerKind.all)
  func t04_theClockOfTheDeviceChangesNothing(_ kind: ServerKind) throws {
    var seen: [[String]] = []
    for years: Int64? in [0, 10, -10, nil] {
      let world = try kind.world()
      world.clock.setSkew(us: years.map { $0 * 365 * 86_400_000_000 })
      world.post(60)
      try world.connect()
      try world.sync()
      let first = world.requests
      try world.missing(130)
      try world.sync()
      try world.sync()
      #expect(try world.tailFaults(140) == [])
      #expect(try world.lies() == [])
      seen.append(first + world.requests)
    }
    #expect(seen.allSatisfy { $0 == seen[0] })
    #expect(seen[0].count > 4)
  }

  /// Stamps of one conversation in five forms; as texts they sort wrongly.
  @Test(arguments: ServerKind.all)
  func t30_timesAreComparedAsTimes(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.alter = { _, answer in Self.restamped(answer) }
    world.post(40)
    try world.connect()
    try world.sync()
    try world.missing(140, everyMs: 700)
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
    world.post(3)
    let next = try world.sync()
    #expect(next.inserted == 3)
    #expect(try world.tailFaults(143) == [])
  }

  @Test(arguments: ServerKind.all)
  func t30_whatIsNoTimeIsSetAside(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(40)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(70)
    let bad = world.put(flaw: .garbledTime)
    world.post(70)
    try world.client.connected()
    try world.sync()
    #expect(try world.client.stats().quarantined == 1)
    #expect(try world.tailFaults(140, but: [bad]) == [])
    #expect(try world.lies() == [])
  }

  /// One stamp years ahead is shown and moves nothing.
  @Test(arguments: ServerKind.all)
  func t30_aStampYearsAheadMovesNoWatermark(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(40)
    try world.connect()
    try world.sync()
    let ahead = world.put("\"from the future\"", agoMs: -5 * 365 * 86_400_000)
    try world.sync()
    try world.missing(130)
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(status.inserted == 130)
    #expect(try world.tailFaults(140) == [])
    #expect(try world.cached().last == ahead)
    let asOf = try world.page().coverage.contentAsOfUs
    #expect(asOf <= world.server.nowUs)
  }

  /// Where pages vary the newest one may hold the stamp ahead alone. What is newer than any
  /// time known before is claimed all the same, once another page has told the time.
  @Test(arguments: 1...UInt64(24))
  func t30_aNewestPageOfAStampAheadAloneHidesNothing(_ seed: UInt64) throws {
    var knobs = ServerKnobs()
    knobs.pageSizesVary = true
    knobs.pageCap = 6
    knobs.sendsServerTime = false
    var profile = Profile()
    profile.pageSizeVaries = true
    let world = try World(knobs: knobs, profile: profile, seed: seed)
    world.clock.setSkew(us: nil)
    world.post(40)
    try world.connect()
    try world.sync()
    world.put("\"from the future\"", agoMs: -5 * 365 * 86_400_000)
    try world.missing(13)
    let newest = world.server.nowUs
    #expect(try world.sync().trouble == nil)
    #expect(try world.tailFaults(14) == [])
    #expect(try world.page().coverage.contentAsOfUs == newest)
  }

  /// The first thing that a device ever hears is a stamp years ahead, and its clock, if it has
  /// one, is further ahead still.
  @Test(arguments: ServerKind.all, [nil, Int64(7)])
  func t30_aFirstMessageStampedYearsAheadHidesNothing(_ kind: ServerKind, _ ahead: Int64?) throws {
    let world = try kind.world {
      $0.sendsServerTime = false
      $0.sendsTotalCount = false
    }
    let yearUs: Int64 = 365 * 86_400_000_000
    world.clock.setSkew(us: ahead.map { $0 * yearUs })
    world.put("\"from the future\"", agoMs: -5 * yearUs / 1_000)
    try world.connect()
    try world.sync()
    try world.missing(130)
    #expect(try world.sync().trouble == nil)
    #expect(try world.tailFaults(131) == [])
    try world.missing(3)
    #expect(try world.sync().trouble == nil)
    #expect(try world.tailFaults(134) == [])
    #expect(try world.lies() == [])
    #expect(try world.page().coverage.contentAsOfUs <= world.server.nowUs)
  }

  /// A device whose clock is more than a year behind: nothing bears out a stamp, so all is
  /// asked for again each time. A window reaches the start all the same.
  @Test(arguments: ServerKind.few)
  func withoutATimeToTrustAWindowReachesTheStart(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.clock.setSkew(us: -400 * 86_400_000_000)
    world.post(2)
    try world.connect()
    try world.sync(.live)
    let screen = try world.window(count: 1)
    for _ in 0..<2 {
      _ = try screen.window.load(Load(.before(0), count: 50))
      try screen.settle(world)
    }
    #expect(try screen.state().isAtStart)
    #expect(try screen.ids() == world.truth())
  }

  /// There, what was committed late among what a page had shown is fetched as well.
  @Test(arguments: ServerKind.few)
  func withoutATimeToTrustWhatIsCommittedLateIsFetched(_ kind: ServerKind) throws {
    let world = try kind.world {
      $0.pageCap = 2
    }
    world.clock.setSkew(us: -400 * 86_400_000_000)
    world.post(8)
    world.put("\"late\"", lateMs: 5_000)
    world.post(1)
    try world.connect()
    try world.sync(.live)
    try world.missing(6)
    #expect(try world.sync().trouble == nil)
    #expect(try world.tailFaults(16) == [])
  }

  /// Writes each stamp of an answer in a form chosen by its message.
  private static func restamped(_ answer: String) -> String {
    let key = "\"created_at\":\""
    let pieces = answer.components(separatedBy: key)
    return pieces[0]
      + pieces.dropFirst().map { piece in
        guard let end = piece.firstIndex(of: "\"") else { return key + piece }
        let text = String(piece[..<end])
        let rest = piece[end...]
        guard let us = ServerTime.parse(text) else { return key + piece }
        var knobs = ServerKnobs()
        knobs.timeResolutionUs = text.contains(".") ? 1 : 1_000_000
        let zones = [0, 60, -570, 345, 0]
        let form = Int((us / 1_000_000 + us / 100_000 % 10) % 5)
        knobs.zoneMinutes = zones[form]
        knobs.stampStyle = form == 0 ? .bare : form == 4 ? .zulu : .offset
        return key + ServerTime.text(us, knobs) + rest
      }.joined()
  }
}
