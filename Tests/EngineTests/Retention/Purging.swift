/// Budgets: what goes, what stays, and what is told of it.
import Base
import ReferenceServer
import Store
import Testing
import Timeline

@testable import Engine

extension World {
  var keeper: RetentionService { RetentionService(client) }

  /// Entries of the feed that were read to find what is not announced yet.
  func entriesRead() throws -> Int {
    try client.input { engine, _ throws(Failure) in engine.memory.retention.untold.read }
  }

  func keep(_ change: (inout Budget) -> Void) throws {
    var budget = Budget()
    change(&budget)
    try keeper.set(budget)
  }

  /// Purges until nothing is left to do, in how many steps.
  @discardableResult
  func purge() throws -> Int {
    let work = try keeper.purge()
    for step in 1...10_000 where try work.step(milliseconds: 0).isDone { return step }
    Issue.record("the purge does not end")
    return 0
  }

  func feed(after seq: UInt64 = 0) throws -> [ChangeView] {
    guard case .changes(let entries) = try client.changes(after: seq, limit: 10_000) else {
      return []
    }
    return entries
  }

  /// A conversation of so many messages, all of them stored and trusted.
  static func full(
    _ count: Int, knobs: ServerKnobs = ServerKnobs(), profile: Profile = Profile(),
    file: ClientConfig.File = .memory
  ) throws -> World {
    let world = try World(knobs: knobs, profile: profile, file: file)
    world.post(count)
    try world.connect()
    try world.sync(.older, want: count)
    #expect(try world.cached() == world.truth())
    world.reset()
    return world
  }
}

@Suite struct Purging {
  /// What is left is the newest, it is trusted, the rest is a gap, and it comes back when it is
  /// asked for.
  @Test func theOldestGo() throws {
    let world = try World.full(300)
    let seen = try world.feed().count
    try world.keep { $0.messages = 100 }
    let steps = try world.purge()
    #expect(steps > 1)
    let left = try world.cached()
    #expect((80...100).contains(left.count) && left == world.truth().suffix(left.count))
    #expect(try world.lies() == [])
    let page = try world.page()
    #expect(!page.coverage.gaps.isEmpty)
    #expect(try world.client.stats().tombstones == 0)
    let entries = try world.feed().dropFirst(seen)
    #expect(!entries.contains { $0.kind == 3 })
    let told = entries.filter { $0.kind == 9 }.reduce(0) { $0 + Int($1.last - $1.first) + 1 }
    #expect(told == 300 - left.count)
    let room = try world.keeper.room(nil)
    #expect(room.messages == UInt64(left.count) && room.purgedMessages == UInt64(told))
    #expect(!room.isOver && room.isCounted)
    #expect(try world.keeper.room(Array(world.room.utf8)).bytes == room.bytes)
    try world.keep { _ in }
    try world.sync(.older, want: 300)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// `advance` does one slice at a time, and says when it is to be called again.
  @Test func advanceKeepsTheBudget() throws {
    let world = try World.full(1_500)
    try world.keep { $0.messages = 200 }
    var before = try world.cached().count
    var calls = 0
    while try world.client.advance() >= 0, calls < 1_000 {
      let now = try world.cached().count
      #expect(before - now <= 256)
      before = now
      calls += 1
      world.clock.move(ms: 5)
    }
    #expect(before <= 200 && calls > 5 && calls < 100)
    #expect(try world.lies() == [])
    // A message more is no cause for another purge, and what follows keeps the budget.
    world.post(3)
    try world.sync()
    #expect(try world.client.advance() == -1)
  }

  /// The conversation that was looked at least recently goes first.
  @Test func whoWasLookedAtStays() throws {
    let world = try World()
    for room in ["a", "b", "c"] {
      world.server.createConversation(room, participants: ["me", "you"])
      for index in 0..<100 { world.postMessage("text \(index)", in: room) }
    }
    try world.connect()
    for room in ["a", "b", "c"] { try world.sync(.older, want: 100, in: room) }
    try world.keep { $0.messages = 160 }
    for room in ["c", "a"] { _ = try world.page(in: room) }
    try world.purge()
    #expect(try world.cached(in: "b").count == 1)
    #expect(try (40..<60).contains(world.cached(in: "c").count))
    #expect(try world.cached(in: "a").count == 100)
    for room in ["a", "b", "c"] { #expect(try world.lies(in: room) == []) }
  }

  /// Each conversation has a bound of its own, by messages and by bytes.
  @Test func eachConversationHasABound() throws {
    let world = try World.full(100)
    try world.keep { $0.messagesEach = 32 }
    try world.purge()
    #expect(try world.cached().count == 30)
    try world.keep { $0.bytesEach = 5_000 }
    try world.purge()
    let room = try world.keeper.room(nil)
    #expect(room.bytes <= 5_000 && room.bytes > 4_000)
    #expect(try world.lies() == [])
  }

  /// What is older than the budget says goes; what is younger stays, however much it is.
  @Test func ageDecides() throws {
    let world = try World.full(100)
    try world.keep { $0.ageUs = 39_500_000 }
    try world.purge()
    #expect(try world.cached() == world.truth().suffix(40))
    try world.keep {
      $0.messages = 10
      $0.youngUs = 29_500_000
    }
    try world.purge()
    #expect(try world.cached() == world.truth().suffix(30))
    #expect(try world.keeper.room(nil).isOver)
    #expect(try world.lies() == [])
  }

  /// Rows on a screen and two hundred around them stay; the window is told of nothing.
  @Test func rowsOnAScreenStay() throws {
    let world = try World.full(1_000)
    let screen = try world.window(.message(Array(world.truth()[500].utf8)), count: 20)
    let shown = try screen.ids()
    #expect(shown.count == 20)
    try world.keep { $0.messages = 10 }
    try world.purge()
    #expect(try screen.poll() == nil)
    #expect(try screen.ids() == shown)
    #expect(try screen.splits() == [])
    let left = Set(try world.cached())
    let place = try #require(world.truth().firstIndex(of: shown[0]))
    #expect(left.isSuperset(of: world.truth()[place - 200..<place + 220]))
    #expect(left.count == 421)
    #expect(try world.keeper.room(nil).isOver)
    #expect(try world.lies() == [])
    // What the screen then loads beyond is asked of the server.
    _ = try screen.window.load(Load(.before(0), count: 400))
    try screen.settle(world)
    #expect(try screen.ids().count == 420)
    #expect(try screen.splits() == [])
    screen.window.close()
    try world.purge()
    // Far from the window all but the newest had gone before.
    #expect(try world.cached().count == 10)
    #expect(try world.cached().last == world.truth().last)
    #expect(try !world.keeper.room(nil).isOver)
  }

  /// Pinned messages, those that this user is doing something with or answers, and those that the
  /// read marker stands on.
  @Test func whatIsInUseStays() throws {
    let world = try World.full(200)
    let ids = world.truth()
    try world.act("pin_message", ids[10])
    try world.run()
    try world.client.disconnected()
    try world.act("edit_message", ids[20], ",\"payload\":\"mine\"")
    try world.act("delete_message", ids[30])
    try world.perform(
      """
      {"type":"send_message","conversation_id":"\(world.room)","reply_to":"\(ids[40])",\
      "payload":"an answer"}
      """)
    try world.client.setDraft(
      conversation: Array(world.room.utf8), body: Array("d".utf8), replyTo: Array(ids[50].utf8))
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: [Array(ids[60].utf8)])
    try world.perform(
      """
      {"type":"mark_last_read","conversation_id":"\(world.room)","message_id":"\(ids[70])"}
      """)
    try world.keep { $0.messages = 1 }
    try world.purge()
    let left = try world.cached().filter { !$0.isEmpty }
    for place in [10, 20, 40, 50, 60, 70, 71, 199] { #expect(left.contains(ids[place])) }
    #expect(left.count <= 9)
    #expect(try world.keeper.room(nil).isOver)
    try world.client.connected()
    try world.run()
    #expect(try world.client.state().operationsOpen == 0)
    #expect(try world.lies() == [])
  }

  /// The list shows what it showed: last messages and counts do not follow a purge.
  @Test(arguments: [0, 1, 2]) func theListStaysTrue(_ way: Int) throws {
    let world = try World.full(120)
    let list = try TestList(world.client)
    try list.settle(world)
    if way == 1 {
      try world.perform(
        """
        {"type":"mark_last_read","conversation_id":"room","message_id":"\(world.truth()[60])"}
        """)
    }
    if way == 2 {
      world.server.createConversation("other", participants: ["me", "you"])
      try world.client.disconnected()
      list.list.close()
    }
    try world.run()
    var offline = ListConfig()
    offline.isCacheOnly = true
    let list2 = way == 2 ? try TestList(world.client, offline) : list
    try list2.settle(world)
    let before = try list2.row(world.room)
    #expect(before.unread == (way == 1 ? 59 : 120))
    try world.keep { $0.messages = 20 }
    try world.purge()
    #expect(try world.cached().count < 25)
    try list2.settle(world)
    let after = try list2.row(world.room)
    #expect(after.unread == before.unread && after.last == before.last)
    try world.keep { _ in }
    if way == 2 { try world.client.connected() }
    try world.sync(.older, want: 200)
    try list2.settle(world)
    #expect(try list2.row(world.room).unread == before.unread)
    #expect(try world.cached() == world.truth())
  }

  /// A budget that cannot be kept says so and takes nothing; each call ends.
  @Test func whatIsAllProtectedStays() throws {
    let world = try World.full(40)
    let screen = try world.window(count: 20)
    try world.keep { $0.bytes = 1 }
    try world.purge()
    #expect(try world.keeper.room(nil).isOver)
    #expect(try world.cached() == world.truth())
    #expect(try screen.poll() == nil)
    #expect(try world.client.advance() == -1)
  }

  /// A subscriber that has not asked for what comes behind keeps it here.
  @Test func whoIsNotToldKeepsIt() throws {
    let world = try World.full(100)
    try world.keep {
      $0.messages = 20
      $0.keepsUntold = true
    }
    try world.purge()
    #expect(try world.cached().count == 100)
    #expect(try world.keeper.room(nil).isOver)
    let seen = try #require(world.feed().last?.seq)
    world.post(30)
    try world.sync()
    _ = try world.feed(after: seen)
    try world.purge()
    #expect(try world.cached() == world.truth().suffix(30))
    let last = try #require(world.feed(after: seen).last?.seq)
    _ = try world.feed(after: last)
    try world.purge()
    #expect(try world.cached().count < 20)
    #expect(try !world.keeper.room(nil).isOver)
  }

  /// However far behind the subscriber is, a slice reads so much of the feed, and once.
  @Test func whatIsNotToldIsReadInSlices() throws {
    let world = try World.full(20)
    let seen = try #require(world.feed().last?.seq)
    let count = 2 * Untold.sliceEntries + 100
    for _ in 0..<count {
      try world.client.setDraft(conversation: Array(world.room.utf8), body: [1])
      try world.client.setDraft(conversation: Array(world.room.utf8), body: [])
    }
    let last = try #require(world.feed(after: seen).last?.seq)
    #expect(last - seen >= count)
    world.post(1)
    try world.sync()
    try world.keep {
      $0.messages = 2
      $0.keepsUntold = true
    }
    _ = try world.feed(after: seen)
    let work = try world.keeper.purge()
    var (read, most) = (0, 0)
    for _ in 0..<1_000 where try !work.step(milliseconds: 0).isDone {
      let now = try world.entriesRead()
      (read, most) = (now, max(most, now - read))
    }
    #expect(most <= Untold.sliceEntries)
    #expect(read < 2 * Int(last - seen) && read >= Int(last - seen))
    #expect(try world.cached().count < 20)
  }

  /// A purge between two pages of a long catch-up: nothing that went is called whole by what comes,
  /// and the next catch-up asks no more than any.
  @Test(arguments: [false, true]) func besideACatchUp(_ isLong: Bool) throws {
    let world = try World.full(100)
    try world.missing(400)
    try world.keep { $0.messages = 60 }
    var pages = 0
    world.alter = { request, answer in
      if request.contains("get_messages") {
        pages += 1
        if isLong || pages % 3 == 0 { _ = try? world.purge() }
      }
      return answer
    }
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(pages < 30)
    try world.purge()
    #expect(try world.lies() == [])
    let left = try world.cached()
    #expect(left.count <= 60 && left.last == world.truth().last)
    // Each message was told once.
    var told: [UInt64: Int] = [:]
    for entry in try world.feed() where entry.kind == 1 {
      for number in entry.first...entry.last { told[number, default: 0] += 1 }
    }
    #expect(told.values.allSatisfy { $0 == 1 } && told.count >= 500)
    world.alter = { $1 }
    world.reset()
    world.post(2)
    try world.sync()
    #expect(world.requests.count <= 3)
    #expect(try world.lies() == [])
  }

  /// What was purged is found no more, and search says that the conversation is not all here.
  @Test func searchFollows() throws {
    let world = try World.full(100)
    _ = try SearchService(world.client).switchSearch(on: true)
    let build = try SearchService(world.client).buildSearch()
    while try !build.step(milliseconds: 0).isDone {}
    let hit = SearchQuery(Array("\"text 5\"".utf8))
    #expect(try SearchService(world.client).search(hit).rows.count == 1)
    try world.keep { $0.messages = 20 }
    try world.purge()
    let found = try SearchService(world.client).search(hit)
    #expect(found.rows.isEmpty && found.partial == 1)
    try world.keep { _ in }
    try world.sync(.older, want: 100)
    #expect(try SearchService(world.client).search(hit).rows.count == 1)
  }

  /// The cache made anew, and a restart: the budget goes on.
  @Test func afterAClearing() throws {
    let world = try World.full(100)
    try world.keep { $0.messages = 32 }
    try world.purge()
    try world.client.clear()
    try world.sync(.older, want: 100)
    try world.purge()
    #expect(try world.cached() == world.truth().suffix(30))
    #expect(try world.keeper.room(nil).messages == 30)
    #expect(try world.lies() == [])
  }

  @Test func withoutABudgetNothingIsPurged() throws {
    let world = try World.full(20)
    #expect(throws: Failure.self) { _ = try world.keeper.purge() }
    #expect(try !world.keeper.room(nil).isCounted)
    #expect(throws: Failure.noConversation) { _ = try world.keeper.room(Array("none".utf8)) }
  }
}
