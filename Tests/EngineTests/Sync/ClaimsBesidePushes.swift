/// A page is under way while more is committed, and some of it comes another way.
///
/// Rule protected: a claim never swallows a row that came by push or by answer after its run was
/// asked for, so nothing that came with that row is called known.
import Engine
import ReferenceServer
import Testing

@Suite struct ClaimsBesidePushes {
  /// Three more messages of the newest second are committed while the first page is under way,
  /// and the last of them alone is pushed. Nothing else arrives before the process is killed.
  @Test(arguments: [false, true])
  func aClaimSwallowsNoPushOfItsNewestSecond(_ isKnown: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    world.post(130)
    try world.connect()
    if isKnown {
      try world.sync()
      world.post(3)
    }
    var pushed = ""
    world.alter = { request, answer in
      guard pushed.isEmpty, request.contains("get_messages") else { return answer }
      pushed = self.late(world, 3)
      return answer
    }
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    try world.run(drop: { index, _ in index > 0 })
    #expect(try world.cached().contains(pushed))
    #expect(try world.lies() == [])
    #expect(try !world.page().coverage.whole)
    try folder.kill(world)
    #expect(try world.lies() == [])
    // The next catch-up brings what lies between.
    world.alter = { $1 }
    try world.client.connected()
    try world.sync()
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(isKnown ? 56 : 50) == [])
  }

  /// A push that comes while a walk is on its second page, stamped as the first page's rows are.
  @Test func aWalkSwallowsNoPushIntoWhatItHasPassed() throws {
    let world = try World()
    world.post(20)
    try world.connect()
    try world.sync()
    world.post(180, everyMs: 400)
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      if pages == 3 { _ = self.late(world, 2) }
      return answer
    }
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    // It ends, and the answers of the one that follows are lost.
    try world.run(drop: { index, _ in index > 6 })
    #expect(try world.lies() == [])
    world.alter = { $1 }
    try world.client.disconnected()
    try world.connect()
    try world.sync()
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(202) == [])
  }

  /// While a catch-up walks, a window's page shows the one that was pushed: what came with it is
  /// not known by that.
  @Test(arguments: [false, true], 6...13)
  func aPageOfAnotherSyncHidesNoPush(_ isPushed: Bool, _ answers: Int) throws {
    var knobs = ServerKnobs()
    var profile = Profile()
    if !isPushed {
      knobs.takesAround = true
      profile.capabilities = [.around]
    }
    let world = try World(knobs: knobs, profile: profile)
    world.post(20)
    try world.connect()
    try world.sync()
    world.post(180, everyMs: 400)
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      guard pages == 3 else { return answer }
      let last = isPushed ? self.late(world, 70) : world.post(70, everyMs: 0).last ?? ""
      do {
        _ = try world.client.sync(
          SyncRequest(conversation: Array("room".utf8), kind: .at(Array(last.utf8)), isUrgent: true)
        )
      } catch {
        Issue.record(error)
      }
      return answer
    }
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    // It ends, and the answers of the one that follows are lost.
    try world.run(drop: { index, _ in index > answers })
    #expect(try world.lies() == [])
    world.alter = { $1 }
    try world.client.disconnected()
    try world.connect()
    try world.sync()
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(270) == [])
  }

  /// Two messages come right above what a page of a walk shows again of the one before, and the
  /// lower one of them is pushed before: it stands at the edge of the page.
  @Test(arguments: [Profile.Ties.id, .unknown, .arrival], [false, true])
  func aRowThatWasPushedAtTheEdgeOfAPage(_ ties: Profile.Ties, _ isCatchUp: Bool) throws {
    for answers in 2...14 {
      for isPushed in [false, true] {
        try edge(ties, isCatchUp: isCatchUp, isPushed: isPushed, answers)
      }
    }
  }

  private func edge(
    _ ties: Profile.Ties, isCatchUp: Bool, isPushed: Bool, _ answers: Int
  ) throws {
    var profile = Profile()
    profile.ties = ties
    profile.pageLimit = 7
    // A count would tell that one is missing.
    profile.countsHidden = true
    let world = try World(profile: profile)
    if isCatchUp {
      world.post(30)
      try world.connect()
      try world.sync(.older, want: 99)
      try world.client.disconnected()
      world.advance(ms: 60_000)
    }
    let before = world.truth().count
    world.post(30, everyMs: 0)
    let second = world.server.truth("room")[before].stampUs
    // What is older than the overlap is claimed as it is read.
    world.post(10, everyMs: 10_000)
    try world.connect()
    var isDone = false
    world.before = { _, request in
      guard !isDone, request.contains("get_messages"),
        let at = request.range(of: "\"offset\":"),
        let offset = Int(request[at.upperBound...].prefix { $0.isNumber }), offset > 1
      else { return }
      let rows = world.server.truth("room").sorted { ($0.stampUs, $0.id) > ($1.stampUs, $1.id) }
      guard offset <= rows.count else { return }
      let (above, below) = (rows[offset - 2], rows[offset - 1])
      guard above.stampUs == second, below.stampUs == second else { return }
      isDone = true
      for tail in ["2", "1"] {
        #expect(below.id + tail < above.id)
        world.server.post(
          conversation: "room", sender: "you", payload: "\"late\"", id: below.id + tail,
          stampUs: below.stampUs, lateUs: nil)
      }
      guard isPushed else { return }
      do {
        try world.hand(Frames.push(Frames.message(below.id + "1", atUs: below.stampUs)))
      } catch {
        Issue.record(error)
      }
    }
    let kind: SyncRequest.Kind = isCatchUp ? .latest : .older
    _ = try world.client.sync(
      SyncRequest(conversation: Array("room".utf8), kind: kind, want: isCatchUp ? 0 : 99))
    try world.run(drop: { index, _ in index > answers })
    #expect(isDone || answers < 4)
    #expect(try world.lies() == [], "\(answers) answers, pushed: \(isPushed)")
    world.before = { _, _ in }
    try world.client.disconnected()
    try world.connect()
    try world.sync(.older, want: 99)
    #expect(try world.lies() == [])
    #expect(try world.cached() == world.truth())
  }

  /// Posts so many in the second of the newest and hands the last of them over as a push.
  private func late(_ world: World, _ count: Int) -> String {
    let ids = world.post(count, everyMs: 0)
    guard let id = ids.last, let row = world.server.message("room", id) else { return "" }
    do {
      try world.hand(Frames.push(Frames.message(id, atUs: row.stampUs)))
      return id
    } catch {
      return ""
    }
  }
}
