/// A burst of more than a page within the overlap, and then silence.
///
/// Rule protected: what two connections have read alike, when nothing could come to be stamped
/// there any more, is not read a third time; and what was committed late is found all the same.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct Bursts {
  static let kinds = ServerKind.all

  private func world(_ kind: ServerKind, in folder: TrapsRestart.Folder, tellsTime: Bool = false)
    throws -> World
  {
    let world = try kind.world(
      knobs: { $0.sendsServerTime = tellsTime }, config: { $0.file = folder.file() })
    world.post(30, everyMs: 60_000)
    world.advance(ms: 600_000)
    world.post(kind.pageSize * 5, everyMs: 10)
    world.advance(ms: 600_000)
    return world
  }

  @Test(arguments: kinds, [false, true])
  func nothingNewCostsTwoRequests(_ kind: ServerKind, _ tellsTime: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, in: folder, tellsTime: tellsTime)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 10_000)
    #expect(try world.cached() == world.truth())
    // A page shows a few messages of the one before it again.
    let pages = (world.truth().count + kind.pageSize - 5) / (kind.pageSize - 4)
    #expect(world.asked("get_messages").count <= pages + 1)
    for turn in 0..<5 {
      try folder.kill(world)
      try world.connect()
      world.advance(ms: 60_000)
      world.reset()
      #expect(try world.sync().trouble == nil)
      if tellsTime || turn > 0 { #expect(world.requests.count <= 2) }
      #expect(try world.cached() == world.truth())
      #expect(try world.page().coverage.whole)
      // All is here up to the watermark, also where that stands above the newest message.
      let row = try #require(try world.client.conversation(Array(world.room.utf8)).rows.first)
      #expect(row.flags & ConversationFlags.unreadExact != 0)
    }
    #expect(try world.lies() == [])
  }

  /// Windows read the newest page, and what lies below it when it is looked at.
  @Test(arguments: kinds, [false, true])
  func aWindowReadsNothingAThirdTime(_ kind: ServerKind, _ tellsTime: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, in: folder, tellsTime: tellsTime)
    try world.connect()
    try world.sync(.live)
    try world.sync(.older, want: 10_000)
    for turn in 0..<5 {
      try folder.kill(world)
      try world.connect()
      world.advance(ms: 60_000)
      world.reset()
      #expect(try world.sync(.live).trouble == nil)
      #expect(try world.sync(.older, want: 10_000).trouble == nil)
      if tellsTime || turn > 0 { #expect(world.requests.count <= 2) }
      #expect(try world.cached() == world.truth())
      #expect(try world.page().coverage.whole)
    }
    #expect(try world.lies() == [])
  }

  /// Openings that follow each other closely settle nothing: what is committed within the overlap
  /// after them is found, whatever the device's clock shows.
  @Test(arguments: ServerKind.few, [(false, 0), (false, 3), (true, 0), (true, 3)])
  func whatIsCommittedLateIsFound(_ kind: ServerKind, _ clocks: (tells: Bool, years: Int64)) throws
  {
    let tellsTime = clocks.tells
    let skewUs = clocks.years * 365 * 86_400 * 1_000_000
    let folder = try TrapsRestart.Folder()
    let world = try kind.world(
      knobs: { $0.sendsServerTime = tellsTime }, config: { $0.file = folder.file() })
    world.clock.setSkew(us: skewUs)
    world.post(kind.pageSize * 5, everyMs: 10)
    let late = world.put("\"late\"", lateMs: 4_000)
    for _ in 0..<3 {
      try world.connect()
      #expect(try world.sync().trouble == nil)
      #expect(try world.sync(.older, want: 10_000).trouble == nil)
      #expect(try !world.cached().contains(late))
      world.advance(ms: 500)
      try folder.kill(world)
    }
    world.advance(ms: 10_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }
}
