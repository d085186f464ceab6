/// Opening somewhere and scrolling until ranges merge, on every kind of server.
///
/// Rule protected: ranges merge by evidence only, and once they have, nothing inside is
/// asked for again.
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct ReachTests {
  /// Seed 3: the server has 1…300, local is [100–200]. Opening gives [281–300] and a gap.
  /// Older pages of 20 are fetched until one reaches into the old range; then there is
  /// one block, and nothing inside is asked for again.
  @Test(arguments: CapableKind.all)
  func anOldRangeAndANewPageBecomeOneBlock(_ kind: CapableKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try kind.world(limit: 101, config: { $0.file = folder.file() })
    world.post(200, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    #expect(try world.cached() == Array(world.order().suffix(101)))
    world.advance(ms: 3_600_000)
    world.post(100, everyMs: kind.everyMs)
    world.config.profile.pageLimit = 20
    try world.reopen()
    world.reset()

    #expect(try world.reach(.live, isUrgent: true).trouble == nil)
    let truth = world.order()
    #expect(world.requests.count <= 3)
    #expect(try world.cached().count <= 101 + 20 + 20)
    if !kind.hasTies {
      #expect(try world.cached().suffix(20) == truth.suffix(20))
      #expect(try world.splits().contains(truth[280]))
    }
    #expect(try world.breaks() == [])

    var pages = 0
    while try world.splits().contains(where: { truth.suffix(200).dropFirst().contains($0) }) {
      pages += 1
      try #require(pages <= 12)
      world.reset()
      let top = try world.position(of: try #require(try world.splits().last))
      #expect(try world.reach(.below(top), want: 1, isUrgent: true).trouble == nil)
      #expect(world.asked("get_messages").count >= 1)
      #expect(try world.breaks() == [])
    }
    // Pages of 20, or of 10 where the page is laid around a message.
    #expect(pages <= (kind.hasTies ? 11 : 7))
    #expect(try world.cached().suffix(200) == truth.suffix(200))

    world.reset()
    let bottom = try world.position(of: truth[150])
    let top = try world.position(of: truth[250])
    #expect(try world.reach(.near(bottom)).trouble == nil)
    #expect(try world.reach(.near(top)).trouble == nil)
    #expect(try world.reach(.at(Array(truth[201].utf8))).trouble == nil)
    #expect(world.asked("get_messages") == [])
    #expect(try world.reach(.live).trouble == nil)
    #expect(world.asked("get_messages").count == 1)
  }

  /// A tap on a search hit far back: an island; then up and down until all is one block
  /// from the first message to the last, and no split is left.
  @Test(arguments: CapableKind.all)
  func aJumpIntoTheMiddleMergesUpAndDown(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    let target = world.serverPosition(of: truth[120])
    #expect(try world.reach(.near(target)).trouble == nil)
    #expect(try world.breaks() == [])
    #expect(try world.cached().count < 150)
    #expect(try world.cached().contains(truth[120]))

    for step in 0..<60 {
      try #require(step < 59)
      world.reset()
      // Scrolled in turns, from wherever the island ends now.
      let up = try world.reach(.above(target), want: 15)
      let down = try world.reach(.below(target), want: 15)
      #expect(up.trouble == nil && down.trouble == nil)
      #expect(try world.breaks() == [])
      if world.asked("get_messages").isEmpty { break }
    }
    #expect(try world.cached() == truth)
    #expect(try world.splits() == [])
    #expect(try world.breaks() == [])
  }

  /// One page that reaches from the newest range over a small island into an old range
  /// leaves no split behind.
  @Test(arguments: CapableKind.all)
  func onePageSwallowsAWholeIsland(_ kind: CapableKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try kind.world(limit: 20, config: { $0.file = folder.file() })
    world.post(130, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    world.advance(ms: 3_600_000)
    world.post(30, everyMs: kind.everyMs)
    world.advance(ms: 3_600_000)
    // An island of a few: pages of 5 around the middle of what was missed.
    world.config.profile.pageLimit = 5
    try world.reopen()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    #expect(try world.reach(.near(world.serverPosition(of: truth[143]))).trouble == nil)
    world.advance(ms: 3_600_000)
    world.config.profile.pageLimit = 50
    try world.reopen()
    #expect(try world.reach(.live).trouble == nil)
    let top = try world.position(of: try #require(try world.cached().last))
    world.reset()
    #expect(try world.reach(.below(top), want: 50).trouble == nil)
    #expect(try world.splits().filter { truth.suffix(45).contains($0) } == [])
    #expect(try world.cached().suffix(45) == truth.suffix(45))
    #expect(try world.breaks() == [])
  }

  /// Upwards from an old range, page by page, until the newest one is met.
  @Test(arguments: CapableKind.all)
  func upwardsUntilTheNewestRangeIsMet(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(60, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    try world.missing(130, everyMs: kind.everyMs)
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    let old = world.serverPosition(of: truth[55])
    for round in 0..<40 {
      try #require(round < 39)
      let newest = try #require(try world.cached().last)
      world.reset()
      #expect(try world.reach(.above(old), want: 15).trouble == nil)
      #expect(try world.breaks() == [])
      let splits = try world.splits()
      if !splits.contains(where: { (truth.firstIndex(of: $0) ?? 0) > 55 }) { break }
      #expect(try world.cached().last == newest)
    }
    #expect(try world.cached().suffix(145) == truth.suffix(145))
  }

  /// Deletions at the edge of an island, and of a whole island, while it is not looked at.
  @Test(arguments: CapableKind.all, [false, true])
  func deletionsAtAnIslandLeaveNoSplit(_ kind: CapableKind, _ isWhole: Bool) throws {
    let world = try kind.world()
    world.post(200, everyMs: kind.everyMs)
    try world.connect()
    #expect(try world.reach(.live).trouble == nil)
    let truth = world.order()
    #expect(try world.reach(.near(world.serverPosition(of: truth[100]))).trouble == nil)
    let island = try world.cached().filter { truth.firstIndex(of: $0) ?? 0 < 150 }
    #expect(island.count >= 10)
    try world.client.disconnected()
    world.advance(ms: 60_000)
    let gone = isWhole ? island : [island[0], island[1], island[island.count - 1]]
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 60_000)
    try world.client.connected()
    #expect(try world.reach(.live).trouble == nil)
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.breaks() == [])
    let left = truth.filter { !gone.contains($0) }
    let top = try world.position(of: truth[195])
    #expect(try world.reach(.below(top), want: 200).trouble == nil)
    #expect(try world.reach(.older, want: 300).trouble == nil)
    #expect(try world.cached() == left)
    #expect(try world.splits() == [])
    #expect(try world.breaks() == [])
    #expect(try world.client.stats().restores == 0)
  }

  /// What a server cannot find, it says; it never hangs and never claims.
  @Test(arguments: CapableKind.all)
  func aMessageThatIsNotStoredIsFoundOrUnsupported(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(200, everyMs: kind.everyMs)
    try world.connect()
    let truth = world.order()
    let status = try world.reach(.at(Array(truth[50].utf8)))
    if kind.capabilities.contains(.around) {
      #expect(status.trouble == nil)
      #expect(try world.cached().contains(truth[50]))
      #expect(try world.reach(.at(Array("nobody".utf8))).trouble == .noMessage)
    } else {
      guard case .unsupported = status.trouble else {
        Issue.record("\(String(describing: status.trouble))")
        return
      }
    }
    #expect(try world.breaks() == [])
  }

  /// A tap on a day in the calendar.
  @Test(arguments: CapableKind.all)
  func aTimeIsFoundOnEveryServer(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(400, everyMs: 60_000)
    try world.connect()
    let truth = world.order()
    let time = try #require(world.server.truth(world.room).first { $0.id == truth[90] }).stampUs
    world.reset()
    #expect(try world.reach(.time(time)).trouble == nil)
    let ids = try world.cached()
    #expect(ids.contains(truth[90]) || ids.contains(truth[89]))
    #expect(world.asked("get_messages").count <= 14)
    #expect(try world.breaks() == [])
  }
}

extension World {
  /// Where a cached message stands.
  func position(of id: String) throws -> Position {
    serverPosition(of: id)
  }

  /// Where the server has it.
  func serverPosition(of id: String) -> Position {
    let isSequence = config.profile.capabilities.contains(.sequence)
    let row = server.truth(room).first { $0.id == id }
    return Position(
      time: isSequence ? row?.number ?? 0 : row?.stampUs ?? 0, id: Array(id.utf8))
  }

  /// A way down that begins at the end of time says nothing of what comes later: an island
  /// that a jump brings afterwards stays one.
  @Test(arguments: CapableKind.all)
  func aWayFromTheEndOfTimeClaimsNoMoreThanItSaw(_ kind: CapableKind) throws {
    let world = try kind.world()
    world.post(100, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    #expect(try world.reach(.below(.max), want: 40, isUrgent: true).trouble == nil)
    try world.disconnect()
    world.advance(ms: 60_000)
    world.post(100, everyMs: kind.everyMs)
    let middle = try #require(world.server.truth(world.room).dropFirst(150).first)
    try world.connect()
    #expect(try world.reach(.time(middle.stampUs), isUrgent: true).trouble == nil)
    #expect(try world.cached().contains(middle.id))
    #expect(try world.breaks() == [])
  }

  /// Where absence is deletion, what the first page of such a way showed of a second that it
  /// cuts is not missing from the pages after it.
  @Test func whatTheFirstPageOfAWayShowedIsNotAbsent() throws {
    let world = try CapableKind.all[1].world(
      limit: 8, profile: { $0.absenceIsDeletion = true })
    world.post(30)
    world.advance(ms: 1_000)
    world.post(50, everyMs: 0)
    try world.connect()
    try world.sync(.live)
    #expect(try world.reach(.below(.max), want: 70, isUrgent: true).trouble == nil)
    #expect(try Set(world.cached()).isSuperset(of: world.order().suffix(50)))
    #expect(try world.breaks() == [])
  }

  /// What arrives in a second that pages cut one after the other stands above all of them: it
  /// is not missing from them.
  @Test func whatArrivesInASecondThatIsBeingReadIsNotAbsent() throws {
    let world = try CapableKind.all[0].world(
      limit: 8, knobs: { $0.sendsServerTime = true }, profile: { $0.absenceIsDeletion = true })
    world.post(30)
    world.advance(ms: 1_000)
    world.post(40, everyMs: 0)
    let stamp = try #require(world.server.truth(world.room).last?.stampUs)
    try world.connectListening()
    _ = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), kind: .older, want: 16))
    var pushed: [UInt64] = []
    try world.run { index, _ in
      if index == 0 {
        for number in 10..<22 {
          _ = world.server.post(
            conversation: world.room, sender: "you", payload: "\"late\"", id: "~late\(number)",
            stampUs: stamp, lateUs: nil)
        }
      } else if index == 1 {
        pushed = (try? world.page().rows.suffix(12).map(\.number)) ?? []
        world.advance(ms: 60_000)
      }
      return false
    }
    // A row that goes and comes again has another number.
    #expect(pushed.count == 12)
    #expect(try world.page().rows.suffix(12).map(\.number) == pushed)
  }
}
