/// Servers that send what cannot be read, lose what they had, or count differently.
///
/// Rule protected: one bad item harms only itself, and a server that went back in
/// time is noticed and followed.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsServer {
  static let flaws = ServerMessage.Flaw.allCases.filter { $0 != .none }

  /// One of five is broken in each known way; four are kept, and the host is told.
  @Test(arguments: flaws)
  func t27_aPoisonMessageKeepsFourOfFive(_ flaw: ServerMessage.Flaw) throws {
    let world = try World()
    for index in 0..<5 {
      world.advance(ms: 1_000)
      world.put(flaw: index == 2 ? flaw : .none)
    }
    try world.connect()
    try world.sync()
    #expect(world.receipts == [.quarantined])
    #expect(try world.cached().count == 4)
    #expect(try world.client.stats().quarantined == 1)
    let page = try world.page()
    // The place that hides it lies between its neighbours and nowhere else.
    #expect(page.coverage.gaps.contains { $0.beforeRow == 2 && $0.poisoned })
    #expect(!page.coverage.gaps.contains { [3, 4].contains($0.beforeRow) })
  }

  @Test(arguments: ServerKind.all, flaws)
  func t27_poisonInABacklogHarmsOnlyItself(
    _ kind: ServerKind, _ flaw: ServerMessage.Flaw
  ) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    var bad: Set<String> = []
    for index in 0..<140 {
      world.advance(ms: 1_000)
      // Some alone, one at the end of everything, three in a row.
      let isBad = [17, 60, 61, 62, 99, 139].contains(index)
      let id = world.put(flaw: isBad ? flaw : .none)
      if isBad { bad.insert(id) }
    }
    try world.client.connected()
    world.reset()
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(world.receipts.contains(.quarantined))
    #expect(try world.tailFaults(130, but: bad) == [])
    #expect(try world.lies() == [])
    let page = try world.page()
    #expect(page.coverage.gaps.filter(\.poisoned).count >= 3)
    // The next sync asks as little as if nothing were wrong, from above the poison.
    world.advance(ms: 60_000)
    world.post(10)
    world.reset()
    let next = try world.sync()
    #expect(next.inserted == 10)
    #expect(world.requests.count == 2)
  }

  /// The place is remembered: going back passes it by and does not fetch it again.
  @Test(arguments: ServerKind.few)
  func t27_olderDoesNotFetchAKnownPoisonAgain(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(150)
    let bad = world.put(flaw: .garbledTime)
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 100)
    #expect(try world.tailFaults(100, but: [bad]) == [])
    let known = try world.cached().count
    world.reset()
    try world.sync(.older, want: kind.pageSize - 4)
    #expect(!world.bodies.contains(bad))
    #expect(try world.cached().count > known)
    #expect(world.asked("get_messages").count <= 2)
    #expect(try world.lies() == [])
  }

  /// A whole page of which nothing can be read is stepped over.
  @Test(arguments: ServerKind.all)
  func t27_aPageOfPoisonIsSteppedOver(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(70)
    var bad: Set<String> = []
    for _ in 0..<120 {
      world.advance(ms: 1_000)
      bad.insert(world.put(flaw: .missingID))
    }
    world.post(70)
    try world.client.connected()
    try world.sync()
    #expect(try world.tailFaults(140, but: bad) == [])
    #expect(try world.lies() == [])
    #expect(try world.client.stats().quarantined >= 1)
  }

  /// What happens after the backup is put back.
  enum After: String, CaseIterable, Sendable { case nothing, few, many }

  /// The watermark is ahead of the server; empty answers must not go on for ever.
  @Test(arguments: ServerKind.all, After.allCases)
  func t31_aRestoredServerIsFollowed(_ kind: ServerKind, _ after: After) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    let survivor = world.server.newestIDs(world.room, 20)[19]
    let backup = world.server.backup()
    try world.missing(130)
    world.server.delete(conversation: world.room, ids: [survivor])
    world.post(1)
    try world.sync()
    #expect(try world.cached() == world.truth())
    world.server.restore(backup)
    world.advance(ms: 60_000)
    try world.missing(after == .nothing ? 0 : after == .few ? 3 : 130)
    try world.sync()
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.cached().contains(survivor))
    #expect(try world.lies() == [])
    #expect(try world.client.stats().restores >= 1)
    // And then it is quiet again.
    world.advance(ms: 60_000)
    world.reset()
    try world.sync()
    #expect(world.requests.count <= 2)
  }

  /// A message was forgotten here, then deleted on the server, then the server was
  /// restored from a copy that has it: it stays forgotten.
  @Test(arguments: ServerKind.all)
  func t31_whatWasForgottenStaysForgottenAfterARestore(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    let ids = world.server.newestIDs(world.room, 40)
    let gone = ids[25]
    let backup = world.server.backup()
    try world.client.forget(conversation: Array(world.room.utf8), id: Array(gone.utf8))
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: [gone, ids[30]])
    try world.missing(110)
    try world.sync()
    #expect(try world.cached() == world.truth())
    world.server.restore(backup)
    world.advance(ms: 60_000)
    try world.missing(3)
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.client.stats().restores >= 1)
    #expect(world.truth().contains(gone))
    #expect(try world.cached() == world.truth().filter { $0 != gone })
    #expect(try world.lies(hidden: [gone]) == [])
  }

  /// A restore is the whole server's. Here one conversation shows it; in the other
  /// no incremental answer ever could.
  @Test(arguments: ServerKind.few)
  func t31_aRestorePutsEveryConversationInQuestion(_ kind: ServerKind) throws {
    let world = try kind.world()
    let other = "other"
    world.server.createConversation(other, participants: ["me", "you"])
    for _ in 0..<130 {
      world.advance(ms: 1_000)
      world.put(in: other)
      world.put()
    }
    try world.connect()
    for name in [world.room, other] {
      try world.sync(in: name)
      try world.sync(.older, want: 1_000, in: name)
    }
    let backup = world.server.backup()
    let lost = world.server.newestIDs(other, 110)[109]
    world.server.delete(conversation: other, ids: [lost])
    world.post(130)
    for name in [world.room, other] { try world.sync(in: name) }
    #expect(try !world.cached(in: other).contains(lost))
    world.server.restore(backup)
    world.post(140)
    try world.sync(in: world.room)
    try world.lookOnceMore()
    for name in [world.room, other] {
      try world.sync(in: name)
      try world.sync(.older, want: 1_000, in: name)
      #expect(try world.cached(in: name) == world.truth(in: name))
      #expect(try world.lies(in: name) == [])
    }
    #expect(try world.cached(in: other).contains(lost))
    #expect(try world.client.stats().restores == 1)
  }

  /// The server has a message that no answer since could show: the count tells.
  @Test(arguments: ServerKind.all)
  func t35_aCountThatDiffersIsLookedInto(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.missing(130)
    try world.sync()
    #expect(try world.cached() == world.truth())
    let imported = world.put("\"imported\"", agoMs: 100_000)
    world.post(1)
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached().contains(imported))
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().auditMismatches == 1)
    #expect(try world.lies() == [])
  }

  /// A count that is simply wrong is looked into once, and then let be.
  @Test(arguments: ServerKind.all)
  func t35_aCountThatIsWrongCostsOneLook(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.missing(130)
    let real = world.server.visibleCount(world.room)
    world.alter = { _, answer in
      answer.replacingOccurrences(
        of: "\"total_count\":\(real)", with: "\"total_count\":\(real + 7)")
    }
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().auditMismatches == 1)
    #expect(try world.page().coverage.totalCount == Int64(real + 7))
    world.advance(ms: 60_000)
    world.reset()
    try world.sync()
    #expect(world.requests.count == 2)
    #expect(try world.client.stats().auditMismatches == 1)
  }
}
