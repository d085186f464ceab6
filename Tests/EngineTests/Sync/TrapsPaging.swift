/// Pages are cut, ticks are larger than pages, and offsets move under the reader.
///
/// Rule protected: a page joins what is known only by evidence, and what could not
/// be proven stays a gap that the host can see.
import Engine
import ReferenceServer
import Testing

@Suite struct TrapsPaging {
  @Test(arguments: ServerKind.all)
  func t05_aFullPageIsNotTheEnd(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(30)
    try world.connect()
    try world.sync()
    // Exactly two pages, one short of it, one beyond: the end looks like a cut.
    for count in [2 * kind.pageSize - 6, 2 * kind.pageSize, 130, 131] {
      try world.missing(count)
      let status = try world.sync()
      #expect(status.trouble == nil)
      #expect(status.inserted == count)
      #expect(try world.lies() == [])
    }
    #expect(try world.tailFaults(20 + 4 * kind.pageSize + 255) == [])
    #expect(try world.isWhole())
  }

  /// Requests of a catch-up: no more than its pages with their anchors need.
  @Test(arguments: ServerKind.all)
  func t05_aBacklogCostsItsPagesAndLittleMore(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let status = try world.sync()
    // Each page after the first shows four rows again; the first may be in vain
    // where the end that is cut is not known; deletions are one more.
    let pages = (130 + 6 + kind.pageSize - 5) / (kind.pageSize - 4) + 1
    #expect(world.requests.count <= pages + 2)
    #expect(world.requests.count == status.requests)
    #expect(try world.tailFaults(150) == [])
  }

  /// Where nothing is new: two requests, and no body from below the overlap.
  @Test(arguments: ServerKind.all)
  func t05_anUpToDateReopenCostsTwoRequests(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    world.advance(ms: 300_000)
    try world.missing(0)
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(world.requests.count == 2)
    #expect(world.asked("get_messages").count == 1)
    let rows = world.server.truth(world.room)
    let top = try #require(rows.last).stampUs
    let inOverlap = rows.filter { $0.stampUs >= top - 5_000_000 }.map(\.id)
    #expect(world.bodies.sorted() == inOverlap.sorted())
  }

  /// A walk that is broken off leaves a gap, says so, and the next one closes it.
  @Test(arguments: ServerKind.all)
  func t05_aBrokenWalkLeavesAGapThatIsTold(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(300)
    let id = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), pagesMax: 3))
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == .incomplete)
    let page = try world.page()
    #expect(!page.coverage.whole)
    #expect(page.coverage.gaps.contains { $0.beforeRow > 0 && $0.beforeRow < page.rows.count })
    #expect(try world.lies() == [])
    try world.sync()
    #expect(try world.tailFaults(320) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// 130 messages in one printed second, in the order of arrival or of their ids.
  @Test(arguments: ServerKind.few, [ServerKnobs.Ties.id, .arrival])
  func t06_aTickLargerThanAPage(_ kind: ServerKind, _ ties: ServerKnobs.Ties) throws {
    let world = try kind.world(knobs: { $0.ties = ties })
    world.post(30)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(20)
    for _ in 0..<130 { world.put("\"burst\"") }
    world.post(20)
    try world.client.connected()
    world.reset()
    let status = try world.sync()
    #expect(try world.lies() == [])
    #expect(status.trouble == nil)
    #expect(try world.tailFaults(190) == [])
    #expect(world.requests.count < 40)
  }

  /// The watermark stands inside the burst, and the burst goes on.
  @Test(arguments: ServerKind.few, [ServerKnobs.Ties.id, .arrival])
  func t06_aTickThatGrowsWhileItIsRead(_ kind: ServerKind, _ ties: ServerKnobs.Ties) throws {
    let world = try kind.world(knobs: { $0.ties = ties }, profile: { $0.overlapUs = 0 })
    world.post(30)
    try world.connect()
    try world.sync()
    // Pages from a time on tell how they are listed.
    world.post(3)
    try world.sync()
    try world.client.disconnected()
    world.advance(ms: 1_000)
    for _ in 0..<110 { world.put("\"burst\"") }
    try world.client.connected()
    world.before = { index, _ in if index < 5 { world.put("\"in between\"") } }
    try world.sync()
    world.before = { _, _ in }
    #expect(try world.lies(hidden: Set(world.truth())) == [])
    for _ in 0..<60 { world.put("\"more of it\"") }
    try world.sync()
    #expect(try world.tailFaults(190) == [])
    #expect(try world.lies() == [])
  }

  /// What happens between two pages of a walk by offset.
  enum Shift: String, CaseIterable, Sendable {
    case arrivals, deletions, both, wholePages
  }

  @Test(arguments: ServerKind.few, Shift.allCases)
  func t13_offsetsMoveBetweenThePages(_ kind: ServerKind, _ shift: Shift) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(240)
    var next = Set([1, 2, 4])
    var count = 0
    world.before = { _, request in
      guard request.contains("get_messages") else { return }
      count += 1
      guard next.remove(count) != nil else { return }
      if shift != .deletions { world.post(shift == .wholePages ? 120 : 7) }
      if shift != .arrivals {
        let size = shift == .wholePages ? 70 : 9
        world.server.delete(conversation: world.room, ids: world.server.newestIDs("room", size))
      }
    }
    try world.sync()
    world.before = { _, _ in }
    #expect(next.isEmpty)
    // Whatever was proven on the way holds up to where the catch-up began.
    try world.sync()
    #expect(try world.lies() == [])
    let remaining = world.truth().count
    #expect(try world.tailFaults(remaining - 60 + kind.pageSize) == [])
    #expect(try world.isWhole())
  }

  /// Older pages on demand, while the newest end grows and shrinks.
  @Test(arguments: ServerKind.few, Shift.allCases)
  func t13_olderPagesAreAnchored(_ kind: ServerKind, _ shift: Shift) throws {
    let world = try kind.world()
    world.post(400)
    try world.connect()
    try world.sync()
    var index = 0
    world.before = { _, request in
      guard request.contains("get_messages") else { return }
      index += 1
      guard index % 2 == 1, index < 12 else { return }
      if shift != .deletions { world.post(shift == .wholePages ? 60 : 7) }
      if shift != .arrivals {
        let size = shift == .wholePages ? 60 : 9
        world.server.delete(conversation: world.room, ids: world.server.newestIDs("room", size))
      }
    }
    for _ in 0..<4 {
      try world.sync(.older, want: 60)
      // Arrivals since the catch-up are not yet known; nothing below may be amiss.
      #expect(try world.lies().filter { $0.hasPrefix("lacks") } == [])
    }
    world.before = { _, _ in }
    try world.sync(.older, want: 10_000)
    try world.sync()
    #expect(try world.lies() == [])
    #expect(try world.cached() == world.truth())
    #expect(try world.page().coverage.stop == .start)
  }
}
