/// Where an answer may come from, and what it says of that.
import Base
import Foundation
import ReferenceServer
import Testing

@testable import Engine

extension World {
  func ask(
    _ policy: Policy, limitMs: Int64 = 0, ageUs: Int64 = 0, _ kind: SyncRequest.Kind = .latest,
    in conversation: String? = nil
  ) throws -> UInt64 {
    var name = conversation ?? room
    if kind == .conversations || kind == .all { name = "" }
    return try client.sync(
      SyncRequest(
        conversation: Array(name.utf8), kind: kind,
        choice: PolicyChoice(policy, limitMs: limitMs, ageUs: ageUs)))
  }

  /// What the device's clock shows.
  var wallUs: Int64 { clock.read().wallUs ?? 0 }
}

private let minute: Int64 = 60_000_000

@Suite struct PolicyTests {
  /// A conversation that was caught up with.
  private func known(
    _ file: ClientConfig.File = .memory, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    let world = try World(file: file, change: change)
    world.post(10)
    try world.connect()
    try world.sync()
    world.reset()
    return world
  }

  // MARK: The usual one

  @Test func whatTheServerWasAskedForSaysSo() throws {
    let world = try World()
    world.post(10)
    let sync = try world.ask(.cacheThenNetwork)
    #expect(try world.client.syncStatus(sync).basis == .cache)
    world.advance(ms: 5_000)
    let asked = world.wallUs
    try world.connect()
    world.before = { _, _ in world.advance(ms: 700) }
    try world.run()
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil && status.reason == nil)
    #expect(status.basis == .network)
    // It is what was so when it was asked for, however long the answers took.
    #expect(status.asOfUs == asked)
  }

  @Test func theCacheSaysAsOfWhen() throws {
    let world = try known()
    let asked = world.wallUs
    world.advance(ms: 90_000)
    let status = try world.client.syncStatus(world.ask(.cacheOnly))
    #expect(status.phase == .ended && status.trouble == nil && status.basis == .cache)
    #expect(status.asOfUs == asked)
    #expect(try world.client.syncStatus(world.ask(.cacheOnly, in: "other")).asOfUs == 0)
  }

  // MARK: The network first

  @Test func theNetworkAnswersFirst() throws {
    let world = try known()
    world.post(3)
    let sync = try world.ask(.networkFirst, limitMs: 2_000)
    try world.run()
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil && status.basis == .network)
    #expect(status.inserted == 3)
  }

  /// The cache answers when the time is up; what the network brings then is taken.
  @Test func afterItsLimitTheCacheAnswers() throws {
    let world = try known()
    let asked = world.wallUs
    world.post(3)
    let sync = try world.ask(.networkFirst, limitMs: 2_000)
    let wait = try world.client.advance()
    #expect(wait == 2_000)
    world.clock.move(ms: 1_999)
    #expect(try world.client.advance() == 1)
    #expect(try world.client.syncStatus(sync).phase != .ended)
    world.clock.move(ms: 1)
    _ = try world.client.advance()
    var status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil)
    #expect(status.basis == .cache && status.reason == .timeout && status.asOfUs == asked)
    try world.run()
    #expect(try world.cached() == world.truth())
    status = try world.client.syncStatus(sync)
    #expect(status.basis == .cache && status.reason == .timeout)
  }

  @Test func withoutAConnectionTheCacheAnswersAtOnceOrAfterItsLimit() throws {
    let world = try known()
    try world.disconnect()
    let now = try world.client.syncStatus(world.ask(.networkFirst))
    #expect(now.phase == .ended && now.trouble == nil && now.reason == .offline)
    let waiting = try world.ask(.networkFirst, limitMs: 500)
    #expect(try world.client.syncStatus(waiting).phase == .waiting)
    let lucky = try world.ask(.networkFirst, limitMs: 5_000)
    world.clock.move(ms: 500)
    _ = try world.client.advance()
    #expect(try world.client.syncStatus(waiting).basis == .cache)
    try world.connect()
    try world.run()
    #expect(try world.client.syncStatus(lucky).basis == .network)
  }

  /// A connection that is lost answers nothing.
  @Test func whereTheConnectionIsLostTheCacheAnswers() throws {
    let world = try known()
    let first = try world.ask(.networkFirst)
    let only = try world.ask(.networkOnly, limitMs: 60_000)
    try world.disconnect()
    #expect(try world.client.syncStatus(first).reason == .offline)
    #expect(try world.client.syncStatus(first).trouble == nil)
    #expect(try world.client.syncStatus(only).trouble == .offline)
  }

  /// What the server refuses is no answer of the network's.
  @Test func whatIsRefusedIsAnsweredByTheCache() throws {
    let world = try known()
    world.alter = { _, answer in
      answer.replacingOccurrences(of: "\"status\":\"ok\"", with: "\"status\":\"error\"")
    }
    let sync = try world.ask(.networkFirst)
    try world.run()
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.trouble == nil && status.basis == .cache)
    #expect(status.reason != nil)
  }

  // MARK: The network only

  @Test func theNetworkAloneFailsWithoutOne() throws {
    let world = try known()
    try world.disconnect()
    let status = try world.client.syncStatus(world.ask(.networkOnly))
    #expect(status.phase == .ended && status.trouble == .offline && status.reason == .offline)
    #expect(status.basis == .cache)
    try world.connect()
    try world.run()
    #expect(world.requests.isEmpty)
  }

  @Test func theNetworkAloneFailsAfterItsLimit() throws {
    let world = try known()
    let sync = try world.ask(.networkOnly, limitMs: 2_000)
    world.clock.move(ms: 2_000)
    _ = try world.client.advance()
    #expect(try world.client.syncStatus(sync).trouble == .timeout)
    #expect(try world.client.state().syncsLeft == 0)
  }

  /// Who cancels a sync takes nothing from others to whom it was promised.
  @Test(arguments: [Policy.networkFirst, .networkOnly], [false, true])
  func aPromiseOutlivesTheSyncOfAnother(_ policy: Policy, _ isFirst: Bool) throws {
    let world = try known()
    world.post(5)
    let (one, other) = (isFirst ? policy : .cacheThenNetwork, isFirst ? .cacheThenNetwork : policy)
    let syncs = [try world.ask(one), try world.ask(other)]
    let (plain, promise) = (syncs[isFirst ? 1 : 0], syncs[isFirst ? 0 : 1])
    _ = try world.client.nextFrame()
    #expect(try world.client.cancel(plain))
    #expect(try world.client.syncStatus(plain).trouble == .cancelled)
    #expect(try world.client.syncStatus(promise).phase != .ended)
    try world.run()
    let status = try world.client.syncStatus(promise)
    #expect(status.phase == .ended && status.trouble == nil && status.basis == .network)
    #expect(try world.cached() == world.truth())
  }

  /// The same of all of them, which goes on where it is.
  @Test(arguments: [Policy.networkFirst, .networkOnly], [false, true])
  func aPromiseOutlivesAllOfAnother(_ policy: Policy, _ isFirst: Bool) throws {
    let world = try known()
    world.post(5)
    let (one, other) = (isFirst ? policy : .cacheThenNetwork, isFirst ? .cacheThenNetwork : policy)
    let syncs = [try world.ask(one, .all), try world.ask(other, .all)]
    let (plain, promise) = (syncs[isFirst ? 1 : 0], syncs[isFirst ? 0 : 1])
    let frame = try #require(try world.client.nextFrame())
    #expect(try world.client.cancel(plain))
    #expect(try !world.client.cancel(plain))
    #expect(try world.client.syncStatus(plain).trouble == .cancelled)
    #expect(try world.client.syncStatus(promise).phase != .ended)
    #expect(try world.client.syncStatus(promise).total == 1)
    // What was asked before is not asked again.
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    try world.run()
    #expect(!world.requests.contains(String(decoding: frame.bytes, as: UTF8.self)))
    let status = try world.client.syncStatus(promise)
    #expect(status.phase == .ended && status.trouble == nil && status.basis == .network)
    #expect(status.done == 1)
    #expect(try world.cached() == world.truth())
  }

  /// Where the last one who was promised all of them lets go, nobody asks for them any more.
  @Test(arguments: [false, true], [false, true])
  func theLastPromiseOfAllEndsIt(_ isLate: Bool, _ isShared: Bool) throws {
    let world = try known()
    world.post(5)
    let promise = try world.ask(.networkOnly, limitMs: 2_000, .all)
    let plain = isShared ? try world.ask(.cacheThenNetwork, .all) : nil
    if isLate {
      world.clock.move(ms: 2_000)
      _ = try world.client.advance()
    } else {
      #expect(try world.client.cancel(promise))
    }
    #expect(try world.client.syncStatus(promise).trouble == (isLate ? .timeout : .cancelled))
    #expect(try (world.client.state().syncsLeft == 0) == !isShared)
    try world.run()
    if let plain { #expect(try world.client.syncStatus(plain).basis == .network) }
    #expect(world.requests.isEmpty == !isShared)
  }

  /// Beneath is one sync, which others may have asked for.
  @Test func onePromiseLessLeavesTheOther() throws {
    let world = try known()
    world.post(3)
    let plain = try world.ask(.cacheThenNetwork)
    let first = try world.ask(.networkFirst, limitMs: 2_000)
    let only = try world.ask(.networkOnly)
    #expect(Set([plain, first, only]).count == 3)
    #expect(try world.client.cancel(only))
    #expect(try !world.client.cancel(only))
    #expect(try world.client.syncStatus(only).trouble == .cancelled)
    try world.run()
    #expect(try world.client.syncStatus(plain).basis == .network)
    #expect(try world.client.syncStatus(first).basis == .network)
    #expect(world.requests.filter { $0.contains("get_messages") }.count == 1)
  }

  /// Protects: a promise ends, also where no other sync can be begun that would keep it.
  @Test func whatNobodyCanKeepIsTold() throws {
    let world = try known()
    let plain = try world.ask(.cacheThenNetwork, .older)
    let promise = try world.ask(.networkOnly, .older)
    let owing = try world.ask(.networkFirst, .older)
    try world.client.input { engine, _ in
      for index in 1..<Limits.syncsMax {
        engine.scheduler.add(SyncRequest(conversation: Array("s\(index)".utf8)))
      }
      engine.scheduler.markPending(Array(world.room.utf8))
    }
    #expect(try world.client.cancel(plain))
    let status = try world.client.syncStatus(promise)
    #expect(status.phase == .ended && status.trouble == .full("4,096 syncs wait"))
    let cached = try world.client.syncStatus(owing)
    #expect(cached.phase == .ended && cached.trouble == nil && cached.basis == .cache)
  }

  // MARK: An age

  @Test func whatIsYoungIsNotAskedFor() throws {
    let world = try known()
    let asked = world.wallUs
    world.advance(ms: 60_000)
    let young = try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute))
    #expect(young.phase == .ended && young.basis == .cache && young.asOfUs == asked)
    try world.run()
    #expect(world.requests.isEmpty)
    world.advance(ms: 1)
    let old = try world.ask(.maximumAge, ageUs: minute)
    #expect(try world.client.syncStatus(old).phase != .ended)
    try world.run()
    #expect(try world.client.syncStatus(old).basis == .network)
    #expect(!world.requests.isEmpty)
  }

  /// An age of nothing is none that an answer could have.
  @Test func nothingIsAsYoungAsNothing() throws {
    let world = try known()
    #expect(try world.client.syncStatus(world.ask(.maximumAge)).phase != .ended)
  }

  /// All of them are as old as this run, not as the one before.
  @Test(arguments: [false, true]) func allAreAsOfTheirOwnRun(_ hasWall: Bool) throws {
    let world = try known()
    if !hasWall { world.clock.setSkew(us: nil) }
    for _ in 0..<3 {
      world.advance(ms: 3_600_000)
      let read = world.clock.read()
      let asked = read.wallUs ?? read.monotonicMs * 1_000
      let sync = try world.ask(.maximumAge, ageUs: minute, .all)
      world.before = { _, _ in world.advance(ms: 700) }
      try world.run()
      #expect(try world.client.syncStatus(sync).asOfUs == asked)
      world.advance(ms: 50_000)
      world.reset()
      let again = try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute, .all))
      #expect(again.phase == .ended && again.basis == .cache && again.asOfUs == asked)
      try world.run()
      #expect(world.requests.isEmpty)
    }
  }

  /// One that was under way when all were asked for is as old as it is.
  @Test func allAreAsOldAsTheOldestOfThem() throws {
    let world = try known()
    world.post(3)
    let asked = world.wallUs
    _ = try world.ask(.cacheThenNetwork, .live)
    let frame = try #require(try world.client.nextFrame())
    world.advance(ms: 5_000)
    let sync = try world.ask(.cacheThenNetwork, .all)
    #expect(try world.client.nextFrame() == nil)
    for answer in world.server.handle(frame.bytes, user: "me") {
      _ = try world.client.receive(answer)
    }
    try world.run()
    let status = try world.client.syncStatus(sync)
    #expect(status.phase == .ended && status.basis == .network && status.asOfUs == asked)
  }

  /// While it is under way it says what is known so far.
  @Test func whatIsUnderWaySaysAsOfWhen() throws {
    let world = try known()
    let all = try world.ask(.cacheThenNetwork, .all)
    try world.run()
    let allAsked = try world.client.syncStatus(all).asOfUs
    let asked = try world.client.syncStatus(world.ask(.cacheOnly)).asOfUs
    world.advance(ms: 5_000)
    let syncs = [
      try world.ask(.cacheThenNetwork), try world.ask(.networkOnly),
      try world.ask(.cacheThenNetwork, .older),
    ]
    for sync in syncs { #expect(try world.client.syncStatus(sync).asOfUs == asked) }
    for policy in [Policy.cacheThenNetwork, .networkFirst] {
      let status = try world.client.syncStatus(world.ask(policy, .all))
      #expect(status.phase != .ended && status.asOfUs == allAsked)
    }
  }

  /// What nobody was asked about stands on the cache, however well it ended.
  @Test func whatWasNotAskedStandsOnTheCache() throws {
    let world = try known()
    try world.sync(.older, want: 100)
    world.reset()
    for policy in [Policy.cacheThenNetwork, .networkOnly] {
      let sync = try world.ask(policy, .older)
      try world.run()
      let status = try world.client.syncStatus(sync)
      #expect(status.phase == .ended && status.trouble == nil && status.reason == nil)
      #expect(world.requests.isEmpty && status.basis == .cache && status.asOfUs > 0)
    }
  }

  /// Where pushes are lossless what is live needs no request, and is what the server has.
  @Test func whatIsPushedStandsOnTheNetwork() throws {
    let world = try known { $0.profile.pushIsLossless = true }
    for kind in [SyncRequest.Kind.live, .all] {
      let sync = try world.ask(.networkOnly, kind)
      try world.run()
      let status = try world.client.syncStatus(sync)
      #expect(world.requests.isEmpty && status.basis == .network && status.asOfUs == world.wallUs)
    }
  }

  /// Another process knows it from the file, once an age was asked for there.
  @Test func anAgeOutlivesTheProcess() throws {
    let path = FileManager.default.temporaryDirectory.path + "/ages-" + UUID().uuidString
    defer { for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let world = try known(
      .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false))
    defer { world.client.close() }
    _ = try world.ask(.maximumAge, ageUs: minute)
    try world.run()
    world.advance(ms: 5_000)
    let asked = world.wallUs
    try world.sync()
    world.advance(ms: 5_000)
    try world.reopen()
    world.reset()
    let young = try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute))
    #expect(young.phase == .ended && young.asOfUs == asked)
    // A clock that was set back tells nothing.
    world.clock.setSkew(us: -3_600_000_000)
    #expect(try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute)).phase != .ended)
  }

  /// Where nothing is believed any more, nothing is young.
  @Test(arguments: [0, 1]) func whatWasClearedIsOld(_ way: Int) throws {
    let world = try known()
    _ = try world.ask(.maximumAge, ageUs: minute)
    if way == 0 { try world.client.clear() }
    if way == 1 { _ = try world.client.drop(conversation: Array("room".utf8), id: []) }
    try world.disconnect()
    #expect(try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute)).phase != .ended)
    #expect(try world.client.syncStatus(world.ask(.cacheOnly)).asOfUs == 0)
  }

  /// The list and all of them have ages of their own; what is older is known by none.
  @Test func eachKindHasItsAge() throws {
    let world = try known()
    for kind in [SyncRequest.Kind.conversations, .all] {
      let first = try world.ask(.maximumAge, ageUs: minute, kind)
      try world.run()
      #expect(try world.client.syncStatus(first).basis == .network)
      let again = try world.client.syncStatus(world.ask(.maximumAge, ageUs: minute, kind))
      #expect(again.phase == .ended && again.basis == .cache && again.asOfUs > 0)
    }
    world.reset()
    let older = try world.ask(.maximumAge, ageUs: minute, .older)
    try world.run()
    #expect(try world.client.syncStatus(older).phase == .ended)
    #expect(try world.client.syncStatus(older).basis == .network)
  }

  // MARK: The host

  @Test func theHostChooses() throws {
    let asked = Asked()
    let world = try known { config in
      config.choose = { question in
        asked.take(question)
      }
    }
    let sync = try world.client.syncStatus(world.ask(.host))
    #expect(sync.phase == .ended && sync.basis == .cache)
    asked.next = PolicyChoice(.networkOnly)
    let other = try world.ask(.host, .live)
    try world.run()
    #expect(try world.client.syncStatus(other).basis == .network)
    #expect(
      asked.questions == [
        PolicyQuestion(conversation: Array("room".utf8), kind: .latest, isWindow: false),
        PolicyQuestion(conversation: Array("room".utf8), kind: .live, isWindow: false),
      ])
  }

  @Test func withoutAFunctionNobodyChooses() throws {
    let world = try known()
    #expect(throws: Failure.self) { _ = try world.ask(.host) }
  }
}

/// What the host's function was asked, and what it answers next.
final class Asked: Sendable {
  private let state = Lock((questions: [PolicyQuestion](), next: PolicyChoice(.cacheOnly)))

  var questions: [PolicyQuestion] { state.withLock { $0.questions } }

  var next: PolicyChoice {
    get { state.withLock { $0.next } }
    set { state.withLock { $0.next = newValue } }
  }

  func take(_ question: PolicyQuestion) -> PolicyChoice {
    state.withLock { state in
      state.questions.append(question)
      return state.next
    }
  }
}
