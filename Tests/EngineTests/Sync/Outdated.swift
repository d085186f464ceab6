/// A cache that is old: by a year of messages, by forgotten deletions, by changes.
///
/// Rule protected: the present is there within three requests, what is old stays
/// readable, and nothing that was deleted or changed is taken for true when looked at.
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct Outdated {
  /// Seed 2: one year and 50,000 messages behind. The live page comes within three
  /// requests, deletions in the old range are applied, and nothing is replayed.
  @Test func aYearBehindTakesThreeRequests() throws {
    let world = try CapableKind.all[0].world(limit: 50, profile: { $0.truncates = .unknown })
    world.post(300, everyMs: 60_000)
    try world.connect()
    try world.sync()
    #expect(try world.reach(.older, want: 150).trouble == nil)
    let old = try world.cached()
    try world.client.disconnected()
    let gone = Array(old[20..<30])
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: gone)
    world.post(50_000, everyMs: 630_000)
    try world.client.connected()
    world.reset()
    #expect(try world.cached().count == old.count)
    #expect(try world.reach(.live, isUrgent: true).trouble == nil)
    #expect(world.requests.count == 3)
    let now = try world.cached()
    #expect(now.suffix(50) == world.order().suffix(50))
    #expect(Set(now).isDisjoint(with: gone))
    #expect(Set(now).isSuperset(of: Set(old).subtracting(gone)))
    #expect(try world.breaks() == [])
    // Nothing more is asked for by itself, and the next catch-up is a small one.
    try world.settle(steps: 5)
    #expect(world.requests.count == 3)
    world.post(2)
    world.reset()
    #expect(try world.sync().trouble == nil)
    #expect(world.requests.count == 2)
  }

  /// T8: offline longer than the server remembers deletions. What is stored stays and is
  /// not taken for deleted or for restored; a page that shows the range removes what is
  /// gone.
  @Test(arguments: CapableKind.all)
  func t08_afterTheHorizonDeletionsAreFoundOnView(_ kind: CapableKind) throws {
    let day: Int64 = 86_400_000
    let world = try kind.world(
      knobs: { $0.deletionHorizonUs = 30 * day * 1_000 },
      profile: { $0.deletionHorizonUs = 30 * day * 1_000 })
    world.post(90, everyMs: 2_000)
    try world.connect()
    try world.sync()
    #expect(try world.reach(.older, want: 200).trouble == nil)
    let truth = world.order()
    #expect(try world.cached() == truth)
    try world.client.disconnected()
    let early = Array(truth[30..<36])
    world.advance(ms: day)
    world.server.delete(conversation: world.room, ids: early)
    world.advance(ms: 40 * day)
    let late = [truth[60]]
    world.server.delete(conversation: world.room, ids: late)
    world.advance(ms: 60_000)
    world.post(50, everyMs: 2_000)
    try world.client.connected()
    #expect(try world.reach(.live).trouble == nil)
    var ids = try world.cached()
    #expect(Set(ids).isDisjoint(with: late))
    #expect(Set(ids).isSuperset(of: early))
    #expect(try world.client.stats().restores == 0)

    // On screen: the range is asked again and what is gone goes.
    let low = world.serverPosition(of: truth[20])
    let high = world.serverPosition(of: truth[45])
    #expect(try world.reach(.refresh(low, high.successor), isUrgent: true).trouble == nil)
    ids = try world.cached()
    #expect(Set(ids).isDisjoint(with: early))
    #expect(try world.client.stats().restores == 0)
    #expect(try world.reach(.latest).trouble == nil)
    #expect(try world.reach(.older, want: 300).trouble == nil)
    #expect(try world.cached() == world.order())
    #expect(try world.splits() == [])
  }

  /// Nothing new was told since, so only the device's clocks say that deletions are forgotten.
  @Test(arguments: [nil, 0, 3, -3], [true, false])
  func t08_theHorizonPassesInSilenceAsWell(_ skewYears: Int64?, _ isRestarted: Bool) throws {
    // What a device without a clock does not remember it cannot know.
    if isRestarted, skewYears == nil { return }
    let day: Int64 = 86_400_000
    let folder = try TrapsRestart.Folder()
    var knobs = ServerKnobs()
    knobs.deletionHorizonUs = 30 * day * 1_000
    knobs.sendsServerTime = false
    knobs.sendsTotalCount = false
    var profile = Profile()
    profile.deletionHorizonUs = 30 * day * 1_000
    let world = try World(
      knobs: knobs, profile: profile, file: isRestarted ? folder.file() : .memory)
    world.clock.setSkew(us: skewYears.map { $0 * 365 * day * 1_000 })
    world.post(120, everyMs: 2_000)
    try world.connect()
    try world.sync()
    #expect(try world.sync(.older, want: 200).trouble == nil)
    let truth = world.truth()
    #expect(try world.cached() == truth)
    try world.client.disconnected()
    world.advance(ms: day)
    let early = Array(truth[30..<36])
    world.server.delete(conversation: world.room, ids: early)
    world.advance(ms: 40 * day)
    if isRestarted { try world.reopen() } else { try world.client.connected() }
    #expect(try world.sync(.live).trouble == nil)
    let low = world.serverPosition(of: truth[20])
    let high = world.serverPosition(of: truth[45])
    #expect(try world.sync(.refresh(low, high.successor)).trouble == nil)
    #expect(Set(try world.cached()).isDisjoint(with: early))
    #expect(try world.client.stats().restores == 0)
  }

  /// T14: edits of old messages while offline. Without a log of changes they are found
  /// when the range is refreshed; with one they come with the catch-up.
  @Test(arguments: CapableKind.all, [false, true])
  func t14_changesOfOldMessagesAreFound(_ kind: CapableKind, _ tells: Bool) throws {
    var kind = kind
    if tells { kind.capabilities.insert(.changedSince) }
    let world = try kind.world(knobs: { $0.changePageCap = 7 })
    world.post(120, everyMs: 2_000)
    try world.connect()
    try world.sync()
    #expect(try world.reach(.older, want: 200).trouble == nil)
    let truth = world.order()
    try world.client.disconnected()
    world.advance(ms: 60_000)
    for index in stride(from: 10, to: 60, by: 2) {
      world.server.edit(conversation: world.room, id: truth[index], payload: "\"new\"")
      world.advance(ms: 5_000)
    }
    world.advance(ms: 60_000)
    try world.client.connected()
    world.reset()
    #expect(try world.reach(.latest).trouble == nil)
    if tells {
      #expect(world.asked("get_changed_since").count >= 3)
    } else {
      #expect(world.asked("get_changed_since") == [])
      #expect(try world.payload(truth[20]) != "\"new\"")
      let low = world.serverPosition(of: truth[10])
      let high = world.serverPosition(of: truth[59])
      #expect(try world.reach(.refresh(low, high.successor)).trouble == nil)
    }
    for index in stride(from: 10, to: 60, by: 2) {
      #expect(try world.payload(truth[index]) == "\"new\"")
    }
    #expect(try world.cached() == world.order())
    #expect(try world.splits() == [])
    world.reset()
    #expect(try world.reach(.latest).trouble == nil)
    // The second time there is nothing left to tell.
    #expect(world.asked("get_changed_since").count == (tells ? 1 : 0))
  }

  /// A cursor that is no time is kept and echoed as it came; one that the server has
  /// forgotten costs nothing but freshness.
  @Test func t14_aCursorOfTheServersOwn() throws {
    var kind = CapableKind.all[3]
    kind.capabilities.insert(.changedSince)
    let world = try kind.world(knobs: { $0.opaqueCursors = true })
    world.post(70, everyMs: 2_000)
    try world.connect()
    try world.sync()
    let target = world.order()[60]
    for text in ["\"one\"", "\"two\""] {
      world.advance(ms: 60_000)
      world.server.edit(conversation: world.room, id: target, payload: text)
      world.advance(ms: 60_000)
      #expect(try world.reach(.latest).trouble == nil)
      #expect(try world.payload(target) == text)
    }
    world.reset()
    #expect(try world.reach(.latest).trouble == nil)
    #expect(world.asked("get_changed_since").allSatisfy { $0.contains("\"since\":\"~") })
    world.alter = { request, answer in
      guard request.contains("get_changed_since") else { return answer }
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_changed_since","request_id":"\(id)","status":"error",\
        "error":{"code":"unknown_cursor","message":"forgotten"}}
        """
    }
    #expect(try world.reach(.latest).trouble == nil)
    #expect(try world.cached().count == 20)
    #expect(try world.client.stats().restores == 0)
  }

  /// A first opening that is cut after its first page is no first opening any more: what
  /// was deleted since must be asked for.
  @Test func aFirstOpeningThatWasCutAsksForDeletions() throws {
    let world = try CapableKind.all[0].world()
    world.post(60, everyMs: 0)
    try world.connect()
    world.alter = { request, answer in request.contains("\"offset\":0") ? answer : nil }
    _ = try world.sync()
    let stored = try world.cached()
    #expect(stored.count == 20)
    try world.client.disconnected()
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: [stored[7]])
    world.advance(ms: 60_000)
    world.post(30)
    world.alter = { $1 }
    try world.client.connected()
    try world.run()
    #expect(world.asked("get_deleted_since").count == 1)
    #expect(try !world.cached().contains(stored[7]))
  }

  /// A first opening that takes several pages, during which a message goes that the first of
  /// them showed: its deletion must be asked for.
  @Test func whatGoesDuringAFirstOpeningIsAskedFor() throws {
    let world = try CapableKind.all[0].world(knobs: {
      $0.sendsServerTime = false
      $0.sendsTotalCount = false
    })
    let first = world.post(1)
    try world.connect()
    world.before = { index, _ in
      if index == 1 {
        world.advance(ms: 10_000)
        world.server.delete(conversation: world.room, ids: first)
        world.post(3, everyMs: 0)
      } else if index == 2 {
        world.advance(ms: 6_000)
        world.post(2, everyMs: 0)
      }
    }
    #expect(try world.sync().trouble == nil)
    #expect(try world.cached() == world.order())
    #expect(world.asked("get_deleted_since").count == 1)
  }

  /// The server forgets the cursor of a catch-up while another sync of the conversation is on
  /// its way down: what that was about to join is dropped, so it begins again.
  @Test(arguments: CapableKind.all, [90, 200])
  func aForgottenCursorLetsOtherSyncsBeginAgain(_ kind: CapableKind, _ want: Int) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    world.advance(ms: 60_000)
    world.reset()
    var isForgotten = true
    world.alter = { request, answer in
      guard request.contains("get_deleted_since"), isForgotten else { return answer }
      isForgotten = false
      let id = request.components(separatedBy: "\"request_id\":\"")[1].prefix { $0 != "\"" }
      return """
        {"type":"get_deleted_since","request_id":"\(id)","status":"error",\
        "error":{"code":"unknown_cursor","message":"forgotten"}}
        """
    }
    let conversation = Array(world.room.utf8)
    let older = try world.client.sync(
      SyncRequest(conversation: conversation, kind: .older, want: want))
    var latest: UInt64 = 0
    world.before = { index, _ in
      guard index == 1 else { return }
      // A screen's goes first, between two pages of the other.
      latest =
        (try? world.client.sync(SyncRequest(conversation: conversation, isUrgent: true))) ?? 0
    }
    try world.run()
    #expect(!isForgotten)
    #expect(try world.client.syncStatus(older).trouble == nil)
    #expect(try world.client.syncStatus(latest).trouble == nil)
    #expect(try world.cached().count >= want + 20)
    // One row may stand alone at the older end, where the last page cuts its second.
    #expect(try world.splits().allSatisfy { world.order().firstIndex(of: $0) ?? 0 < 285 - want })
    #expect(try world.breaks() == [])
  }

  /// T29: every conversation has watermarks of its own; syncing one says nothing of
  /// another.
  @Test(arguments: CapableKind.all)
  func t29_conversationsDoNotShareWatermarks(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.server.createConversation("other", participants: ["me", "you"])
    world.post(50, everyMs: kind.everyMs)
    for index in 0..<50 { world.put("\"\(index)\"", in: "other") }
    try world.connect()
    try world.sync()
    try world.sync(in: "other")
    try world.client.disconnected()
    world.advance(ms: 60_000)
    let gone = Array(world.server.newestIDs("other", 3))
    world.server.delete(conversation: "other", ids: gone)
    world.advance(ms: 60_000)
    for index in 0..<60 {
      world.advance(ms: 2_000)
      world.put("\"late \(index)\"", in: "other")
    }
    world.post(70, everyMs: kind.everyMs)
    try world.client.connected()
    try world.sync()
    #expect(try Set(world.cached(in: "other")).isSuperset(of: gone))
    #expect(try world.sync(in: "other").trouble == nil)
    #expect(try Set(world.cached(in: "other")).isDisjoint(with: gone))
    let newest = Set(world.server.newestIDs("other", 60))
    #expect(try newest.isSubset(of: world.cached(in: "other")))
  }
}
