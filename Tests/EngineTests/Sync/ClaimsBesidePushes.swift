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
