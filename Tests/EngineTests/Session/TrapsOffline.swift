/// No connection, no answer, a late answer, a wrong answer.
///
/// Rule protected: the cache answers and says so, nothing is asked twice, and an
/// answer that could be another's is never taken.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsOffline {
  private func caughtUp(_ kind: ServerKind) throws -> World {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    #expect(try world.tailFaults(150) == [])
    return world
  }

  @Test(arguments: ServerKind.few)
  func offlineTheCacheAnswersWithoutARequest(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    let cached = try world.cached()
    try world.client.disconnected()
    world.post(130)
    world.reset()
    let status = try world.sync()
    #expect(status.phase == .waiting)
    #expect(status.trouble == .offline)
    #expect(world.requests.isEmpty)
    #expect(try world.cached() == cached)
    #expect(try world.isWhole())
    #expect(try world.client.state().phase == .offline)
    #expect(try world.client.advance() == -1)
    // The sync was not forgotten: it goes on by itself.
    try world.client.connected()
    try world.run()
    #expect(try world.tailFaults(280) == [])
    #expect(try world.lies() == [])
    #expect(try world.client.state().phase == .upToDate)
  }

  @Test(arguments: ServerKind.few)
  func aCacheOnlySyncAsksNothing(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    world.post(130)
    world.reset()
    let id = try world.client.sync(
      SyncRequest(conversation: Array("room".utf8), choice: PolicyChoice(.cacheOnly)))
    try world.run()
    #expect(try world.client.syncStatus(id).phase == .ended)
    #expect(world.requests.isEmpty)
    #expect(try world.lies() == [])
  }

  /// The same question twice is one walk.
  @Test(arguments: ServerKind.few)
  func identicalSyncsAreOne(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    try world.missing(130)
    let request = SyncRequest(conversation: Array("room".utf8))
    let first = try world.client.sync(request)
    #expect(try world.client.sync(request) == first)
    try world.run()
    #expect(
      Set(world.requests.map { $0.components(separatedBy: "conversation").last }).count
        == world.requests.count)
    #expect(try world.tailFaults(280) == [])
  }

  /// The connection is cut at each point of the walk in turn.
  @Test(arguments: ServerKind.all)
  func aCutConnectionLosesNothing(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    try world.missing(400)
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    for length in 1...6 {
      var seen = 0
      try world.run { _, _ in
        seen += 1
        return seen >= length
      }
      #expect(try world.lies() == [])
      try world.client.disconnected()
      world.post(3)
      try world.client.connected()
    }
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == nil)
    #expect(try world.client.syncStatus(id).phase == .ended)
    // What arrived while it was cut is there without being asked for again.
    #expect(try world.tailFaults(560) == [])
    #expect(try world.lies() == [])
  }

  /// The sync waits to ask for deletions again while the connection is cut; on the
  /// next one it begins with the messages that were missed.
  @Test(arguments: ServerKind.all)
  func aSyncThatWaitedBeginsAgainOnTheNextConnection(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    world.before = { _, request in
      if request.contains("get_deleted_since") { world.server.failNext("unavailable") }
    }
    try world.run()
    world.before = { _, _ in }
    #expect(try world.client.syncStatus(id).trouble == .unavailable)
    try world.missing(130)
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == nil)
    #expect(try world.client.syncStatus(id).phase == .ended)
    #expect(try world.tailFaults(280) == [])
    #expect(try world.lies() == [])
  }

  /// Four questions at once, answered last first.
  @Test(arguments: ServerKind.few)
  func answersInAnyOrderFindTheirQuestions(_ kind: ServerKind) throws {
    var kind = kind
    kind.echoes = true
    let world = try caughtUp(kind)
    let rooms = ["a", "b", "c", "d"]
    for room in rooms {
      world.server.createConversation(room, participants: ["me", "you"])
      for _ in 0..<130 {
        world.advance(ms: 1_000)
        world.put("\"in \(room)\"", in: room)
      }
    }
    for room in rooms {
      _ = try world.client.sync(
        SyncRequest(conversation: Array(room.utf8), kind: .older, want: 1_000))
    }
    var most = 0
    for _ in 0..<100 {
      var frames: [OutgoingFrame] = []
      while let frame = try world.client.nextFrame() { frames.append(frame) }
      most = max(most, frames.count)
      for frame in frames.reversed() {
        for answer in world.server.handle(frame.bytes, user: "me") {
          _ = try world.client.receive(answer)
        }
      }
    }
    #expect(most == 4)
    for room in rooms {
      #expect(try world.cached(in: room) == world.truth(in: room))
      #expect(try world.lies(in: room) == [])
    }
  }

  /// Without ids a late answer cannot be told from the next one: the connection is
  /// unusable, and the host is asked to make a new one.
  @Test(arguments: ServerKind.all)
  func aLateAnswerWithoutAnIdIsNotTaken(_ kind: ServerKind) throws {
    var kind = kind
    kind.echoes = false
    let world = try caughtUp(kind)
    try world.missing(130)
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    var late: [String] = []
    world.alter = { _, answer in
      late.append(answer)
      return nil
    }
    try world.run()
    #expect(late.count == 1)
    #expect(try !world.client.state().reconnectWanted)
    world.advance(ms: 30_000)
    _ = try world.client.advance()
    #expect(try world.client.state().reconnectWanted)
    #expect(try world.client.stats().timeouts == 1)
    #expect(try world.client.nextFrame() == nil)
    let cached = try world.cached()
    #expect(throws: Failure.offline) { try world.client.receive(Array(late[0].utf8)) }
    #expect(try world.cached() == cached)
    world.alter = { $1 }
    try world.client.disconnected()
    try world.client.connected()
    #expect(try !world.client.state().reconnectWanted)
    try world.settle()
    #expect(try world.client.syncStatus(id).trouble == nil)
    #expect(try world.tailFaults(280) == [])
    #expect(try world.lies() == [])
  }

  /// With ids the connection goes on; the late answer finds nobody and is counted.
  @Test(arguments: ServerKind.all)
  func aLateAnswerWithAnIdIsCountedAndIgnored(_ kind: ServerKind) throws {
    var kind = kind
    kind.echoes = true
    let world = try caughtUp(kind)
    try world.missing(130)
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    var late: [String] = []
    world.alter = { _, answer in
      guard late.isEmpty else { return answer }
      late.append(answer)
      return nil
    }
    try world.run()
    world.advance(ms: 30_000)
    _ = try world.client.advance()
    #expect(try !world.client.state().reconnectWanted)
    #expect(try world.client.syncStatus(id).trouble == .timeout)
    #expect(try world.client.receive(Array(late[0].utf8)) == .ignored)
    #expect(try world.client.stats().answersUnmatched == 1)
    // Nor is it taken for the answer to the second try.
    world.advance(ms: try world.client.advance())
    _ = try world.client.advance()
    let second = try #require(try world.client.nextFrame())
    #expect(try world.client.receive(Array(late[0].utf8)) == .ignored)
    #expect(try world.client.stats().answersUnmatched == 2)
    #expect(try world.tailFaults(150).contains { $0.hasPrefix("not the server's newest") })
    for answer in world.server.handle(second.bytes, user: "me") {
      #expect(try world.client.receive(answer) == .applied)
    }
    try world.settle()
    #expect(try world.client.syncStatus(id).trouble == nil)
    #expect(try world.tailFaults(280) == [])
    #expect(try world.lies() == [])
  }

  /// A server that never answers: the sync ends and says why, the cache is unharmed.
  @Test(arguments: ServerKind.few)
  func aSilentServerEndsTheSync(_ kind: ServerKind) throws {
    var kind = kind
    kind.echoes = true
    let world = try caughtUp(kind)
    let cached = try world.cached()
    try world.missing(130)
    world.alter = { _, _ in nil }
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    try world.settle(stepMs: 5_000)
    #expect(try world.client.syncStatus(id).trouble == .timeout)
    #expect(try world.client.syncStatus(id).phase == .ended)
    #expect(world.requests.count == 6)
    #expect(try world.cached() == cached)
    #expect(try world.isWhole())
  }

  /// docs/reference/errors.md: what a sync ends with, by the code of the server.
  private static let ends: [(code: String, trouble: Failure)] = [
    ("not_found", .noConversation),
    ("unsupported", .unsupported("the server does not know the request")),
    ("forbidden", .refused), ("invalid", .refused), ("conflict", .refused),
    ("too_large", .refused), ("exists", .refused), ("odd", .refused),
  ]

  @Test(arguments: ServerKind.few, ends)
  func anErrorAnswerEndsTheSyncAndHarmsNothing(
    _ kind: ServerKind, _ end: (code: String, trouble: Failure)
  ) throws {
    let world = try caughtUp(kind)
    let cached = try world.cached()
    try world.missing(130)
    world.server.failNext(end.code)
    let status = try world.sync()
    #expect(status.trouble == end.trouble)
    #expect(world.requests.count == 1)
    #expect(try world.cached() == cached)
    #expect(try world.isWhole())
    try world.sync()
    #expect(try world.tailFaults(280) == [])
  }

  @Test(arguments: ServerKind.few)
  func aServerThatAsksForPatienceGetsIt(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    try world.missing(130)
    world.server.failNext("rate_limited", retryAfterMs: 45_000)
    let id = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == .unavailable)
    let wait = try world.client.advance()
    #expect(wait >= 45_000)
    world.advance(ms: wait - 1)
    _ = try world.client.advance()
    try world.run()
    #expect(world.requests.count == 1)
    try world.settle()
    #expect(try world.client.syncStatus(id).trouble == nil)
    #expect(try world.tailFaults(280) == [])
  }

  /// One client, one account: a frame for another is refused before it is looked at.
  @Test(arguments: ServerKind.few)
  func aFrameForAnotherAccountIsRefused(_ kind: ServerKind) throws {
    let world = try caughtUp(kind)
    let before = try world.client.state().changeSeq
    let cached = try world.cached()
    let newest = world.server.newestIDs(world.room, 1)[0]
    let deletion = #""type":"message_deleted","conversation_id":"room","message_ids":"#
    let frame = Array(#"{"account":"work",\#(deletion)["\#(newest)"]}"#.utf8)
    #expect(throws: Failure.mismatch("account is not that of the client")) {
      try world.client.receive(frame)
    }
    #expect(try world.cached() == cached)
    #expect(try world.client.state().changeSeq == before)
    #expect(try world.client.stats().tombstones == 0)
    // What is no string is no name of this account either.
    for name in ["5", "true", #"["personal"]"#, #"{"personal":1}"#] {
      let odd = Array(#"{"account":\#(name),\#(deletion)["\#(newest)"]}"#.utf8)
      #expect(throws: Failure.mismatch("account is not a string")) {
        try world.client.receive(odd)
      }
      #expect(try world.cached() == cached)
    }
    let range = try #require(try frameAccountRange(frame))
    #expect(String(decoding: frame[range], as: UTF8.self) == "work")
    // The same frame for this account is taken, and so is one that names none.
    let mine = String(decoding: frame, as: UTF8.self)
      .replacingOccurrences(of: "work", with: "personal")
    #expect(try world.client.receive(Array(mine.utf8)) == .applied)
    #expect(try !world.cached().contains(newest))
  }
}
