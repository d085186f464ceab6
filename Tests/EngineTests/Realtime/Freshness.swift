/// What is called fresh was seen on the server, and what can be seen is.
///
/// Rule protected: neither a lost watermark, nor a message that nobody can read, nor a stamp
/// years ahead makes old content pass for new, or hides the newest messages for good.
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct Freshness {
  private static let stale: UInt32 = 1 << 9

  private func flags(_ world: World, _ id: String) throws -> UInt32 {
    let page = try world.page()
    let row = page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == id }
    return try #require(row).flags
  }

  /// The server forgot the watermark of changes: what changed before is never told, so what
  /// was stored then is stale on every connection, until a page shows it.
  @Test func t14_aForgottenCursorLeavesWhatIsStoredStale() throws {
    var kind = CapableKind.all[3]
    kind.capabilities.insert(.changedSince)
    let world = try kind.world()
    world.post(70, everyMs: 2_000)
    try world.connect()
    try world.sync()
    #expect(try world.reach(.older, want: 200).trouble == nil)
    let truth = world.order()
    try world.disconnect()
    world.advance(ms: 60_000)
    #expect(world.server.edit(conversation: world.room, id: truth[20], payload: "\"new\""))
    world.advance(ms: 60_000)
    world.alter = { request, answer in
      guard request.contains("get_changed_since") else { return answer }
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_changed_since","request_id":"\(id)","status":"error",\
        "error":{"code":"unknown_cursor","message":"forgotten"}}
        """
    }
    try world.connect()
    #expect(try world.reach(.latest).trouble == nil)
    world.alter = { $1 }
    for _ in 0..<2 {
      try world.disconnect()
      world.advance(ms: 60_000)
      try world.connect()
      #expect(try world.reach(.latest).trouble == nil)
      #expect(try flags(world, truth[20]) & Self.stale != 0)
    }
    let low = world.serverPosition(of: truth[15])
    let high = world.serverPosition(of: truth[25])
    #expect(try world.reach(.refresh(low, high.successor)).trouble == nil)
    #expect(try world.payload(truth[20]) == "\"new\"")
    try world.disconnect()
    try world.connect()
    #expect(try world.reach(.latest).trouble == nil)
    // From here on the watermark says again what has changed.
    #expect(try flags(world, truth[20]) & Self.stale == 0)
    #expect(try flags(world, truth[2]) & Self.stale != 0)
  }

  /// Some of one second stand beside one that nobody can read, where the order of the second
  /// hides them: they are in no trusted range, and are verified on screen all the same.
  @Test func rowsBesideWhatNobodyCanReadAreRefreshed() throws {
    let world = try ServerKind.few[1].world()
    world.post(20)
    world.advance(ms: 2_000)
    let bad = TrapsPoison.post(9, everyMs: 0, to: world) { $0 == 4 ? .missingID : nil }
    world.advance(ms: 2_000)
    world.post(30)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 100).trouble == nil)
    try TrapsPoison.expectAll(world, but: bad)
    let ids = try world.cached()
    let row = try #require(
      try (20..<28).first { try flags(world, ids[$0]) & MessageBit.unverified != 0 })
    try world.disconnect()
    world.advance(ms: 60_000)
    #expect(world.server.edit(conversation: world.room, id: ids[row], payload: "\"new\""))
    world.advance(ms: 60_000)
    try world.connect()
    let screen = try world.window(count: 60)
    #expect(try world.payload(ids[row]) != "\"new\"")
    try screen.window.show(first: row, count: 1)
    try screen.settle(world)
    #expect(try world.payload(ids[row]) == "\"new\"")
    world.reset()
    try screen.window.show(first: row, count: 1)
    try screen.settle(world)
    #expect(world.requests.isEmpty)
  }

  /// Where page sizes vary, the newest page may show stamps years ahead and nothing else, and
  /// the page below it one tick that is cut. A catch-up goes on until the newest messages are
  /// whole.
  @Test(arguments: 1...2) func aPageOfNothingButStampsAheadIsNotThePresent(_ ahead: Int) throws {
    let world = try World(
      knobs: Self.varying, profile: Self.varyingProfile, change: { $0.profile.pageLimit = 30 })
    world.post(40, everyMs: 3_000)
    world.post(3, everyMs: 0)
    for second in 0..<Int64(ahead) {
      world.put("\"from the future\"", agoMs: -5 * 365 * 86_400_000 - second * 1_000)
    }
    world.advance(ms: 60_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.sync(.older, want: 100).trouble == nil)
    let newest = world.truth()[42]
    #expect(try flags(world, newest) & MessageBit.unverified == 0)
    try world.disconnect()
    world.advance(ms: 60_000)
    try world.connect()
    world.reset()
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      return pages > 2 ? answer : Self.newest(pages == 1 ? ahead : ahead + 2, of: answer)
    }
    #expect(try world.reach(.live).trouble == nil)
    #expect(pages > 2)
    #expect(try flags(world, newest) & MessageBit.unverified == 0)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// A server whose stamps run ahead of the clock that it tells. The newest page is one message
  /// alone, which nothing bears out, the one below it bears it out: the newest page, asked for
  /// again and again one message alone, is believed.
  @Test func whatAnotherPageBoreOutIsBelieved() throws {
    var knobs = Self.varying
    knobs.sendsServerTime = true
    let world = try World(knobs: knobs, profile: Self.varyingProfile)
    world.post(40, everyMs: 3_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    try world.disconnect()
    for ahead in 1...Int64(60) { world.put("\"\(ahead)\"", agoMs: -ahead * 1_000) }
    try world.connect()
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      return Self.newest(pages == 1 || pages == 3 ? 1 : 8, of: answer)
    }
    #expect(try world.sync().trouble == nil)
    #expect(pages > 8)
    #expect(try world.tailFaults(60) == [])
    let newest = try #require(world.truth().last)
    #expect(try flags(world, newest) & MessageBit.unverified == 0)
  }

  /// Two messages stamped two hours ahead, of which a small page shows both among an ordinary one.
  /// That is not believed: what comes next has stamps below them.
  @Test func aFewStampsAheadAmongOthersBearOutNone() throws {
    var knobs = Self.varying
    knobs.sendsServerTime = true
    let world = try World(knobs: knobs, profile: Self.varyingProfile)
    world.post(40, everyMs: 3_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    try world.disconnect()
    world.post(3, everyMs: 1_000)
    for second in 0..<2 { world.put("\"ahead\"", agoMs: -7_200_000 - Int64(second) * 1_000) }
    try world.connect()
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      return pages > 3 ? answer : Self.newest(pages == 2 ? 3 : 1, of: answer)
    }
    #expect(try world.sync().trouble == nil)
    #expect(pages > 3)
    try world.disconnect()
    world.advance(ms: 60_000)
    world.post(70, everyMs: 1_000)
    try world.connect()
    world.alter = { Self.newest($0.contains("get_messages") ? 8 : 99, of: $1) }
    #expect(try world.sync().trouble == nil)
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(75) == [])
  }

  /// A server whose clock stands still: stamps are days ahead of it, as far as it says, and not
  /// ahead of the device. The present is one page, not the whole history.
  @Test func aServersClockThatStandsStillCostsNoHistory() throws {
    var knobs = Self.varying
    knobs.sendsServerTime = true
    let world = try World(
      knobs: knobs, profile: Self.varyingProfile, change: { $0.profile.pageLimit = 30 })
    world.post(1, everyMs: 1_000)
    let stuck = world.server.nowUs
    world.advance(ms: 5 * 86_400_000)
    world.post(400, everyMs: 3_000)
    world.advance(ms: 1_000)
    world.alter = { _, answer in
      let object = try? JSONSerialization.jsonObject(with: Data(answer.utf8))
      guard var frame = object as? [String: Any],
        var data = frame["data"] as? [String: Any], data["server_time"] != nil
      else { return answer }
      data["server_time"] = ServerTime.text(stuck, knobs)
      frame["data"] = data
      let bytes = try? JSONSerialization.data(withJSONObject: frame)
      return bytes.map { String(decoding: $0, as: UTF8.self) } ?? answer
    }
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    #expect(world.asked("get_messages").count <= 2)
  }

  /// The newest messages were read within the second of the watermark, and two more came in
  /// it. A page from far above that ends between these two does not make one range with what
  /// was read before them.
  @Test(arguments: 30..<50)
  func noPageJoinsWhatTheWatermarkTopsButACatchUp(_ missed: Int) throws {
    let world = try CapableKind.all[1].world(limit: 10, knobs: { $0.idStyle = .ordered })
    world.post(30, everyMs: 2_000)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    try world.disconnect()
    world.put("\"twin\"")
    world.put("\"triplet\"")
    world.advance(ms: 2_000)
    world.post(missed, everyMs: 2_000)
    world.advance(ms: 60_000)
    try world.connect()
    let place = world.serverPosition(of: world.order()[42]).time
    let screen = try world.window(.time(place), count: 6)
    for _ in 0..<8 {
      _ = try screen.window.load(Load(.before(0), count: 8))
      try screen.settle(world)
      #expect(try world.breaks() == [])
    }
  }

  private static var varying: ServerKnobs {
    var knobs = ServerKnobs()
    knobs.timeResolutionUs = 1_000_000
    knobs.ties = .arrival
    return knobs
  }

  private static var varyingProfile: Profile {
    var profile = Profile()
    profile.pageSizeVaries = true
    return profile
  }

  /// The answer with its newest messages alone; they come oldest first.
  private static func newest(_ count: Int, of answer: String) -> String {
    guard
      var frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      var data = frame["data"] as? [String: Any], let all = data["messages"] as? [Any]
    else { return answer }
    data["messages"] = Array(all.suffix(count))
    data["has_more"] = nil
    frame["data"] = data
    let bytes = try? JSONSerialization.data(withJSONObject: frame)
    return bytes.map { String(decoding: $0, as: UTF8.self) } ?? answer
  }
}
