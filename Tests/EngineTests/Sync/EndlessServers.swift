/// Servers that never come to an end.
///
/// Rule protected: a sync asks a bounded number of times, keeps what it has proven, says that it
/// is not whole, and goes on from there when it is asked again.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct EndlessServers {
  private func number(_ name: String, in request: String) -> Int? {
    guard let at = request.range(of: "\"\(name)\":") else { return nil }
    return Int(request[at.upperBound...].prefix { $0.isNumber })
  }

  private func id(of request: String) -> String {
    request.components(separatedBy: "\"request_id\":\"")[1].components(separatedBy: "\"")[0]
  }

  /// An answer of this test's own.
  private func answer(_ request: String, _ verb: String, _ data: String) -> String {
    """
    {"type":"\(verb)","request_id":"\(id(of: request))","status":"ok","data":{\(data)}}
    """
  }

  private func list(_ ids: some Sequence<Int>) -> String {
    let all = ids.map { "{\"conversation_id\":\"c\($0)\"}" }
    return "\"conversations\":[\(all.joined(separator: ","))]"
  }

  private func sync(_ world: World, _ kind: SyncRequest.Kind = .latest) throws -> SyncStatus {
    let room = kind == .conversations ? "" : world.room
    let id = try world.client.sync(SyncRequest(conversation: Array(room.utf8), kind: kind))
    try world.run()
    return try world.client.syncStatus(id)
  }

  // MARK: The list of conversations

  @Test func aListThatShowsTheSamePageForEver() throws {
    let world = try World()
    try world.connect()
    world.alter = { request, answer in
      request.contains("get_conversations")
        ? self.answer(request, "get_conversations", self.list(0..<50)) : answer
    }
    #expect(try sync(world, .conversations).trouble == .incomplete)
    #expect(world.asked("get_conversations").count <= Limits.idleAnswersMax + 2)
    #expect(try world.client.stats().conversations >= 50)
  }

  /// Ever other pairs of known ones, and a count that is never reached.
  @Test func aListThatMixesWhatIsKnown() throws {
    let world = try World()
    try world.connect()
    var page = 0
    world.alter = { request, answer in
      guard request.contains("get_conversations") else { return answer }
      page += 1
      let pair = page < 11 ? Array((page * 10)..<(page * 10 + 10)) : [page % 97, page % 89]
      return self.answer(
        request, "get_conversations", "\(self.list(pair)),\"total_count\":1099511627776")
    }
    #expect(try sync(world, .conversations).trouble == .incomplete)
    #expect(world.asked("get_conversations").count <= 200 + Limits.idleAnswersMax)
  }

  /// However many are told of, a list ends once its pages bring nothing: empty ones, the same one,
  /// such as cannot be read. One new one a page is little: as many as the host allows.
  @Test(arguments: [0, 1, 2, 3]) func aListThatTellsOfABillion(_ kind: Int) throws {
    let world = try World(change: { $0.profile.pagesMax = 200 })
    try world.connect()
    let list = try TestList(world.client)
    var page = 0
    world.alter = { request, answer in
      guard request.contains("get_conversations") else { return answer }
      page += 1
      let items =
        switch kind {
        case 0: self.list(page == 1 ? Array(0..<50) : [])
        case 1: self.list(0..<50)
        case 2: "\"conversations\":[\(page),{}]"
        default: self.list([page])
        }
      return self.answer(request, "get_conversations", "\(items),\"total_count\":1000000000")
    }
    try world.run()
    try list.poll()
    #expect(try list.list.state().trouble == .incomplete)
    let most = [4, 1 + Limits.idleAnswersMax, Limits.idleAnswersMax, 200][kind]
    #expect(world.asked("get_conversations").count == most)
    // Nobody asks once more by himself.
    for _ in 0..<10 {
      world.advance(ms: 60_000)
      _ = try world.client.advance()
      try world.run()
      try list.poll()
    }
    #expect(world.asked("get_conversations").count == most)
  }

  /// Where there are more than are read, they are not read once more.
  @Test func aListThatIsTooLong() throws {
    let world = try World()
    try world.connect()
    let each = Limits.pageItemsMax
    world.alter = { request, answer in
      guard request.contains("get_conversations") else { return answer }
      let offset = self.number("offset", in: request) ?? 0
      return self.answer(
        request, "get_conversations",
        "\(self.list(offset..<offset + each)),\"total_count\":1000000000")
    }
    #expect(try sync(world, .conversations).trouble == .incomplete)
    #expect(world.asked("get_conversations").count == Limits.conversationsMax / each)
  }

  /// New ones on each page, and no count: so many pages as the host allows.
  @Test func aListWithoutAnEndGoesOnWhereItStood() throws {
    let world = try World(change: { $0.profile.pagesMax = 100 })
    try world.connect()
    var end = Int.max
    world.alter = { request, answer in
      guard request.contains("get_conversations") else { return answer }
      let offset = self.number("offset", in: request) ?? 0
      let page = offset..<max(offset, min(end, offset + 50))
      return self.answer(request, "get_conversations", self.list(page))
    }
    #expect(try sync(world, .conversations).trouble == .incomplete)
    #expect(world.asked("get_conversations").count == 100)
    #expect(try world.client.stats().conversations == 5_001 - 1)
    world.reset()
    end = 6_000
    #expect(try sync(world, .conversations).trouble == nil)
    #expect(world.asked("get_conversations").count == 21)
    #expect(try world.client.stats().conversations == 6_000)
  }

  @Test func aListThatIsLongerThanItsCount() throws {
    let world = try World()
    try world.connect()
    world.alter = { request, answer in
      guard request.contains("get_conversations") else { return answer }
      // Never the one that would make it whole, and each page tells a larger count.
      let offset = self.number("offset", in: request) ?? 0
      let page = self.list(offset..<(offset + 50))
      return self.answer(
        request, "get_conversations", "\(page),\"total_count\":\(offset + 150)")
    }
    #expect(try sync(world, .conversations).trouble == .incomplete)
    #expect(world.asked("get_conversations").count <= 3 + 64 + 1)
  }

  // MARK: Deletions and changes

  @Test(arguments: [true, false])
  func deletionsThatNeverEnd(_ areNew: Bool) throws {
    let world = try World(change: { $0.profile.pagesMax = 200 })
    world.post(130)
    try world.connect()
    try world.sync()
    try world.disconnect()
    world.advance(ms: 3_600_000)
    try world.connect()
    world.reset()
    var asked = 0
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      asked += 1
      let ids = areNew ? "\"x\(asked)\"" : "\"x1\""
      let next = Frames.time(World.epochUs + 130_000_000 + Int64(asked) * 10_000_000)
      return self.answer(
        request, "get_deleted_since",
        "\"message_ids\":[\(ids)],\"has_more\":true,\"next_since\":\"\(next)\"")
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(asked == (areNew ? 200 : Limits.idleAnswersMax + 1))
    #expect(try world.client.stats().tombstones == (areNew ? 200 : 1))
    guard areNew else { return }
    // It goes on where it stood, less the overlap.
    world.reset()
    world.alter = { $1 }
    #expect(try sync(world).trouble == nil)
    let since = try #require(world.asked("get_deleted_since").first)
    let from = Frames.time(World.epochUs + 130_000_000 + 1_995_000_000)
    #expect(since.contains(from.prefix(19)), "\(since)")
  }

  /// Cursors that are no times lead on from the last one, on the same connection.
  @Test func deletionsWithCursorsThatAreNoTimes() throws {
    let world = try World(change: { $0.profile.pagesMax = 150 })
    world.post(130)
    try world.connect()
    try world.sync()
    world.advance(ms: 600_000)
    world.reset()
    var asked: [String] = []
    var end = Int.max
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      asked.append(request)
      let more = asked.count < end
      return self.answer(
        request, "get_deleted_since",
        "\"message_ids\":[\"x\(asked.count)\"],\"has_more\":\(more),"
          + "\"next_since\":\"cursor-\(asked.count)\"")
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(asked.count == 150)
    end = 180
    #expect(try sync(world).trouble == nil)
    #expect(asked.count == 180)
    #expect(asked[150].contains("\"cursor-150\""))
    #expect(try world.client.stats().tombstones == 180)
  }

  @Test func changesThatNeverEnd() throws {
    var knobs = ServerKnobs()
    knobs.tellsChanges = true
    var profile = Profile()
    profile.capabilities = [.changedSince]
    profile.pagesMax = 120
    let world = try World(knobs: knobs, profile: profile)
    world.post(130)
    try world.connect()
    try world.sync()
    world.advance(ms: 600_000)
    world.reset()
    var asked: [String] = []
    world.alter = { request, answer in
      guard request.contains("get_changed_since") else { return answer }
      asked.append(request)
      let item = Frames.message(
        "m", atUs: World.epochUs + 1_000, more: ",\"version\":\(asked.count)")
      return self.answer(
        request, "get_changed_since",
        "\"messages\":[\(item)],\"has_more\":true,\"next_since\":\"cursor-\(asked.count)\"")
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(asked.count == 120)
    #expect(try sync(world).trouble == .incomplete)
    #expect(asked[120].contains("\"cursor-120\""))
    #expect(asked.count == 240)
  }

  // MARK: Messages

  /// A page of messages, each older than all before.
  private func page(_ offset: Int, count: Int = 50, top: Int64) -> String {
    let items = (offset..<(offset + count)).map {
      Frames.message("p\($0)", atUs: top - Int64($0) * 1_000_000)
    }
    return "\"messages\":[\(items.joined(separator: ","))]"
  }

  /// A backlog that has no end: so many pages as the host allows, then on from there.
  @Test func aBacklogWithoutAnEnd() throws {
    var knobs = ServerKnobs()
    knobs.sendsTotalCount = false
    let world = try World(knobs: knobs, change: { $0.profile.pagesMax = 80 })
    world.post(130)
    try world.connect()
    try world.sync()
    try world.disconnect()
    world.advance(ms: 400 * 86_400_000)
    try world.connect()
    world.reset()
    let top = world.server.nowUs
    var lowest = 0
    world.alter = { request, answer in
      guard request.contains("\"get_messages\"") else { return answer }
      let offset = self.number("offset", in: request) ?? 0
      lowest = max(lowest, offset)
      return self.answer(request, "get_messages", self.page(offset, top: top))
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(world.asked("get_messages").count == 80)
    let page = try world.page()
    #expect(!page.coverage.whole && !page.coverage.gaps.isEmpty)
    let (first, before) = (lowest, try world.cached().count)
    #expect(before > 3_000)
    world.reset()
    #expect(try sync(world).trouble == .incomplete)
    #expect(world.asked("get_messages").count == 80)
    // No page is asked twice but the first few.
    #expect(lowest > first + 3_000)
    #expect(try world.cached().count > before + 3_000)
  }

  /// The same where the server counts: so many pages as its count needs, and a few.
  @Test func aBacklogThatIsLongerThanItsCount() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.disconnect()
    world.advance(ms: 400 * 86_400_000)
    try world.connect()
    world.reset()
    let top = world.server.nowUs
    world.alter = { request, answer in
      guard request.contains("\"get_messages\"") else { return answer }
      let offset = self.number("offset", in: request) ?? 0
      return self.answer(
        request, "get_messages", self.page(offset, top: top) + ",\"total_count\":200")
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(world.asked("get_messages").count <= 5 + 64 + 1)
    #expect(try world.lies().count >= 0)
  }

  /// What is long is not endless: a count that is true is never too small.
  @Test(arguments: [2, 3, 7, 50, 0])
  func aLongBacklogOfSmallPagesEndsWell(_ cap: Int) throws {
    var knobs = ServerKnobs()
    knobs.pageCap = cap
    let world = try World(knobs: knobs)
    world.post(10)
    try world.connect()
    try world.sync()
    try world.disconnect()
    world.post(400)
    try world.connect()
    #expect(try sync(world).trouble == nil)
    #expect(try world.tailFaults(400) == [])
  }

  /// The same where sizes vary: a page of one message joins nothing, and much of a small one is
  /// what the one before it showed. Alone in their seconds, and nine of them in each.
  @Test(arguments: [3, 4, 5, 10], 1...4 as ClosedRange<UInt64>)
  func aLongBacklogOfVaryingPagesEndsWell(_ cap: Int, _ seed: UInt64) throws {
    var knobs = ServerKnobs()
    knobs.pageCap = cap
    knobs.pageSizesVary = true
    knobs.ties = .arrival
    var profile = Profile()
    profile.pageSizeVaries = true
    let world = try World(knobs: knobs, profile: profile, seed: seed)
    world.post(10)
    try world.connect()
    try world.sync()
    try world.disconnect()
    for number in 0..<360 {
      world.post(1, everyMs: seed.isMultiple(of: 2) && number % 9 != 0 ? 0 : 1_000)
    }
    try world.connect()
    world.reset()
    #expect(try sync(world).trouble == nil)
    #expect(try world.tailFaults(360) == [])
  }

  /// The first page for ever, whatever the offset: what is shown is known after one.
  @Test func theSamePageForEver() throws {
    let world = try World(change: { $0.profile.pagesMax = 500 })
    world.post(130)
    try world.connect()
    try world.sync()
    try world.disconnect()
    world.advance(ms: 86_400_000)
    try world.connect()
    world.reset()
    let top = world.server.nowUs
    world.alter = { request, answer in
      guard request.contains("\"get_messages\"") else { return answer }
      return self.answer(request, "get_messages", self.page(0, top: top))
    }
    #expect(try sync(world).trouble == .incomplete)
    #expect(world.asked("get_messages").count <= Limits.idleAnswersMax + 3)
  }

  // MARK: Replies

  /// A host that takes no reply: what is pending is kept up to a number.
  @Test func repliesThatNobodyTakesAreBounded() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file(), change: { $0.profile.refsMax = 300 })
    try world.connect()
    func typing(_ ref: String) -> String {
      Frames.update(ref, "typing", ["{\"conversation_id\":\"room\",\"user_id\":\"you\"}"])
    }
    for round in 0..<2 {
      for number in 0..<1_500 { try world.hand(typing("r\(number)")) }
      #expect(try world.client.state().repliesOwed <= 300 + 256 + 64, "\(round)")
    }
    // The newest are known, and are replied to once.
    try world.hand(typing("r1499"))
    #expect(try world.client.stats().updatesRepeated >= 1)
    let refs = try world.replies()
    #expect(Set(refs).count == refs.count && refs.contains("r1499"))
    #expect(try world.client.state().repliesOwed == 0)
  }
}
