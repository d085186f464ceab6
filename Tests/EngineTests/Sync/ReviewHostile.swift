/// Servers that are careless, hostile or out of step, and clocks that make no sense.
///
/// Rule protected: whatever comes from outside, a sync ends, nothing is lost for good
/// that the server has, and no arithmetic traps.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ReviewHostile {
  /// Deletions that promise more for ever, with cursors that go round.
  @Test func deletionCursorsThatGoRoundEndTheSync() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    try world.sync()
    var turn = 0
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      turn += 1
      let next = turn % 2 == 0 ? "2026-02-15T22:00:00" : "2026-02-15T21:00:00"
      return answer.replacingOccurrences(
        of: "\"message_ids\":[]",
        with: "\"message_ids\":[],\"has_more\":true,\"next_since\":\"\(next)\"")
    }
    let status = try world.sync()
    #expect(status.phase == .ended)
    #expect(status.trouble == .incomplete)
  }

  /// More is promised, but not where: the deletions are not known, so it is no success.
  @Test func deletionsWithoutTheirNextPageAreNoSuccess() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    try world.sync()
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      return answer.replacingOccurrences(
        of: "\"message_ids\":[]", with: "\"message_ids\":[],\"has_more\":true")
    }
    let status = try world.sync()
    #expect(status.trouble == .incomplete)
  }

  /// Cursors that are always new, with nothing in them.
  @Test func deletionPagesWithNothingInThemEnd() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    try world.sync()
    var turn = 0
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      turn += 1
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_deleted_since","request_id":"\(id)","status":"ok","data":\
        {"message_ids":[],"has_more":true,"next_since":"c\(turn)"}}
        """
    }
    let status = try world.sync()
    #expect(status.trouble == .incomplete)
  }

  /// One answer for every request.
  @Test(arguments: ServerKind.all)
  func theSamePageForEverEndsAndClaimsNothingFalse(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(200)
    var first: String?
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      guard let start = answer.range(of: "\"data\":") else { return answer }
      let data = first ?? String(answer[start.lowerBound...])
      first = data
      return answer[..<start.lowerBound] + data
    }
    let status = try world.sync()
    #expect(status.phase == .ended)
    #expect(try world.lies() == [])
  }

  @Test(arguments: ServerKind.all)
  func moreForEverEnds(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      return answer.replacingOccurrences(
        of: "\"messages\":", with: "\"has_more\":true,\"messages\":")
    }
    try world.sync()
    try world.missing(200)
    let status = try world.sync()
    try world.sync(.older, want: 10_000)
    #expect(status.phase == .ended)
    #expect(try world.lies() == [])
  }

  /// A message stamped hours ahead, then ordinary ones. The server's clock tells, or
  /// the device's.
  @Test(arguments: ServerKind.all, [true, false])
  func aStampHoursAheadHidesNothing(_ kind: ServerKind, _ tellsTime: Bool) throws {
    let world = try kind.world(knobs: { $0.sendsServerTime = tellsTime })
    world.post(60)
    try world.connect()
    try world.sync()
    world.put("\"ahead\"", agoMs: -2 * 3_600_000)
    try world.sync()
    world.advance(ms: 60_000)
    world.post(5)
    let victim = world.server.newestIDs(world.room, 4)[3]
    try world.sync()
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: [victim])
    world.advance(ms: 60_000)
    world.post(5)
    try world.sync()
    #expect(try world.cached().suffix(30) == world.truth().suffix(30))
  }

  /// A push that is faster than the commit behind it.
  @Test(arguments: ServerKind.few)
  func aPushBeforeItsCommitIsNoRestore(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(70)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    world.advance(ms: 60_000)
    let stamp = ServerTime.text(world.server.nowUs, kind.knobs)
    let id = "early-bird"
    world.reset()
    _ = try world.client.receive(
      Array(
        """
        {"type":"message_new","conversation_id":"room","message":{"message_id":"\(id)",\
        "conversation_id":"room","sender_id":"you","created_at":"\(stamp)","payload":"hi"}}
        """.utf8))
    try world.run()
    #expect(try world.client.stats().restores == 0)
    #expect(try world.cached().contains(id))
    #expect(world.asked("get_messages").count <= 4)
    world.put("\"hi\"", id: id)
    try world.sync()
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().restores == 0)
  }

  /// A server that counts what it does not show: one look, not one for each message.
  @Test(arguments: ServerKind.few)
  func aCountThatIsAlwaysOffCostsOneLook(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.alter = { _, answer in
      guard let range = answer.range(of: "\"total_count\":") else { return answer }
      let digits = answer[range.upperBound...].prefix { $0.isNumber }
      guard let count = Int(digits) else { return answer }
      return answer.replacingOccurrences(
        of: "\"total_count\":\(digits)", with: "\"total_count\":\(count + 7)")
    }
    world.post(300)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    world.post(1)
    try world.sync()
    for _ in 0..<3 {
      world.advance(ms: 60_000)
      world.post(1)
      world.reset()
      try world.sync()
      #expect(world.requests.count <= 2)
    }
    #expect(try world.cached() == world.truth())
  }

  /// A conversation that was emptied on the server, more than one look's worth.
  @Test func aConversationThatWasResetIsFollowed() throws {
    var profile = Profile()
    profile.pageLimit = 1_000
    var knobs = ServerKnobs()
    knobs.sendsTotalCount = false
    let world = try World(knobs: knobs, profile: profile)
    let backup = world.server.backup()
    world.post(11_500)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 20_000)
    world.server.restore(backup)
    world.advance(ms: 60_000)
    world.post(3)
    try world.sync()
    try world.lookOnceMore()
    try world.sync(.older, want: 20_000)
    #expect(try world.cached() == world.truth())
  }

  /// Clocks at the ends of their range, going back, and a server that says "much later".
  @Test(arguments: [Int64.max, Int64.max - 1, 0, -1, Int64.min])
  func noClockTraps(_ time: Int64) throws {
    let clock = Lock(Instant(monotonicMs: 0))
    let world = try World(change: { $0.clock = { clock.withLock { $0 } } })
    world.post(60)
    world.alter = { request, answer in
      guard request.contains("get_") else { return answer }
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_messages","request_id":"\(id)","status":"error","error":\
        {"code":"unavailable","retry_after_ms":9223372036854775807}}
        """
    }
    try world.connect()
    clock.withLock { $0.monotonicMs = time }
    try world.sync()
    _ = try world.client.advance()
    clock.withLock { $0.monotonicMs = 0 }
    _ = try world.client.advance()
    clock.withLock { $0.monotonicMs = time }
    world.alter = { _, _ in nil }
    try world.client.connected()
    try world.run()
    _ = try world.client.advance()
    clock.withLock { $0 = Instant(monotonicMs: time, wallUs: time) }
    world.alter = { $1 }
    try world.client.connected()
    try world.run()
    #expect(try world.cached().count == 50)
  }
}
