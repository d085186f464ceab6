/// Deletions: of known messages, of unknown ones, before their message, after it.
///
/// Rule protected: what the server deleted disappears and stays away, and nothing
/// disappears for any other reason.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsDeletion {
  /// Deletions while offline, then 130 messages, then a push newer than all of it.
  @Test(arguments: ServerKind.all)
  func t07_deletionsHaveAWatermarkOfTheirOwn(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.advance(ms: 60_000)
    let gone = Array(world.server.newestIDs(world.room, 15).suffix(3))
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 60_000)
    world.post(130)
    try world.client.connected()
    try world.push { world.post(1) }
    #expect(try Set(world.cached()).isSuperset(of: gone))
    let status = try world.sync()
    #expect(status.removed == 3)
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
  }

  /// All that the newest range held is deleted. What stands below was the first row of a cut page,
  /// and others of its time may lie beyond the cut: a sync that ends well has seen it whole.
  @Test(arguments: ServerKind.all)
  func theNewestThatIsLeftIsWhole(_ kind: ServerKind) throws {
    let world = try kind.world(knobs: { $0.pageCap = 3 })
    world.post(12, everyMs: 60_000)
    try world.connect()
    try world.sync()
    world.advance(ms: 60_000)
    for _ in 0..<2 {
      world.server.delete(conversation: world.room, ids: world.server.newestIDs(world.room, 1))
      #expect(try world.sync().trouble == nil)
      let newest = try #require(try world.page().rows.last)
      #expect(newest.flags & MessageBit.unverified == 0)
      #expect(try world.cached().last == world.truth().last)
      #expect(try world.lies() == [])
      world.advance(ms: 60_000)
    }
    // Nothing is asked for once more.
    world.reset()
    try world.sync()
    #expect(world.requests.count <= 2)
  }

  /// A first catch-up takes more than one page, and between two of them a message comes by push
  /// that was deleted long ago: no page has read it, so the server is asked about it.
  @Test func t07_whatAFirstCatchUpHasNotReadIsAskedAbout() throws {
    for kind in [SyncRequest.Kind.live, .latest] {
      let world = try World()
      world.post(10)
      let old = world.post(1)[0]
      let stampUs = try #require(world.server.message(world.room, old)?.stampUs)
      world.post(10)
      world.server.delete(conversation: world.room, ids: [old])
      world.advance(ms: 3_600_000)
      // One second that a page cuts: the newest messages are not whole by it.
      world.post(130, everyMs: 0)
      try world.connect()
      var pages = 0
      world.alter = { request, answer in
        guard request.contains("get_messages") else { return answer }
        pages += 1
        if pages == 2 { _ = try? world.hand(Frames.push(Frames.message(old, atUs: stampUs))) }
        return answer
      }
      try world.sync(kind)
      #expect(pages > 2)
      #expect(try !world.cached().contains(old))
      #expect(try world.lies() == [])
    }
  }

  /// The answer of deletions comes in pages; the second is lost with the connection.
  @Test(arguments: ServerKind.all)
  func t07_theWatermarkWaitsForTheLastPageOfDeletions(_ kind: ServerKind) throws {
    let world = try kind.world(knobs: { $0.deletionPageCap = 4 })
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let gone = Array(world.server.newestIDs(world.room, 145).suffix(20))
    for id in gone {
      world.advance(ms: 1_000)
      world.server.delete(conversation: world.room, ids: [id])
    }
    world.advance(ms: 60_000)
    world.post(1)
    var pages = 0
    world.alter = { request, answer in
      if request.contains("get_deleted_since") { pages += 1 }
      return pages == 2 ? nil : answer
    }
    try world.sync()
    #expect(pages == 2)
    world.alter = { $1 }
    try world.client.disconnected()
    try world.client.connected()
    try world.run()
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.lies() == [])
    #expect(try world.tailFaults(110) == [])
  }

  /// Deletions between the fetch of the page and the question for deletions belong
  /// to the next time too, whatever is asked first.
  @Test(arguments: ServerKind.all)
  func t07_aDeletionCommittedLateIsStillHeardOf(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let gone = Array(world.server.newestIDs(world.room, 150).suffix(2))
    // Stamped now, visible when its time has been passed by.
    world.server.delete(conversation: world.room, ids: [gone[0]], lateUs: 4_000_000)
    world.post(3)
    try world.sync()
    #expect(try world.cached().contains(gone[0]))
    world.post(40)
    try world.sync()
    #expect(try Set(world.cached()).contains(gone[0]) == false)
    #expect(try world.lies() == [])
  }

  /// The server forgets deletions after an hour; the device was away for longer. What is
  /// stored stays whole but for those, until its range is seen again.
  @Test(arguments: ServerKind.few)
  func t07_beyondTheHorizonDeletionsAreNotTrusted(_ kind: ServerKind) throws {
    let world = try kind.world(
      knobs: { $0.deletionHorizonUs = 3_600_000_000 },
      profile: { $0.deletionHorizonUs = 3_600_000_000 })
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    let gone = Array(world.server.newestIDs(world.room, 30).suffix(3))
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 5 * 3_600_000)
    world.post(130)
    try world.client.connected()
    try world.sync()
    // What is whole but not known undeleted is flagged as unverified, row by row.
    let lies = try world.lies().filter { !$0.contains("is unverified") }
    #expect(Set(lies).isSubset(of: gone.map { "still shows \($0)" }))
    #expect(try world.client.stats().restores == 0)
    try world.sync(.older, want: 10_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// Away for longer than the horizon for a second time: what was seen anew after the first is
  /// in doubt again, but for what the catch-up itself shows.
  @Test(arguments: ServerKind.few)
  func t07_aSecondAbsenceBeyondTheHorizonDoubtsAgain(_ kind: ServerKind) throws {
    let hour: Int64 = 3_600_000_000
    let world = try kind.world(
      knobs: { $0.deletionHorizonUs = hour }, profile: { $0.deletionHorizonUs = hour })
    world.post(100)
    try world.connect()
    try world.sync(.older, want: 200)
    try world.client.disconnected()
    world.advance(ms: 2 * 3_600_000)
    world.post(1)
    try world.client.connected()
    try world.sync()
    let order = world.truth()
    let low = world.serverPosition(of: order[20])
    let high = world.serverPosition(of: order[40])
    #expect(try world.reach(.refresh(low, high)).trouble == nil)
    try world.client.disconnected()
    world.server.delete(conversation: world.room, ids: [order[30]])
    world.advance(ms: 2 * 3_600_000)
    world.post(130)
    try world.client.connected()
    try world.sync()
    let page = try world.page()
    let row = page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == order[30] }
    #expect(row.map { $0.flags & MessageBit.unverified != 0 } ?? true)
  }

  /// A deletion heard of first keeps its message out, from a page or a push.
  @Test(arguments: ServerKind.all)
  func t09_aDeletionBeforeItsMessageKeepsItOut(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let victim = world.server.newestIDs(world.room, 70)[69]
    let frame = #"{"type":"message_deleted","conversation_id":"room","message_ids":["\#(victim)"]}"#
    _ = try world.client.receive(Array(frame.utf8))
    try world.sync()
    #expect(try !world.cached().contains(victim))
    #expect(try world.tailFaults(140, but: [victim]) == [])
    #expect(try world.client.stats().tombstones == 1)
    try world.sync()
    #expect(try !world.cached().contains(victim))
  }

  /// A deleted message that comes again as it was stays away.
  @Test(arguments: ServerKind.all)
  func t09_aCopySentAgainDoesNotBringItBack(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let victim = world.server.newestIDs(world.room, 3)[2]
    var copies: [[UInt8]] = []
    let token = world.server.subscribe(user: "me")
    world.server.edit(conversation: world.room, id: victim, payload: "\"v2\"")
    copies = world.server.drain(token)
    world.server.unsubscribe(token)
    world.server.delete(conversation: world.room, ids: [victim])
    world.post(2)
    try world.sync()
    #expect(copies.count == 1)
    for copy in copies {
      _ = try world.client.receive(copy)
      #expect(try !world.cached().contains(victim))
    }
    try world.run()
    #expect(try !world.cached().contains(victim))
    #expect(try world.tailFaults(140) == [])
    #expect(try world.lies() == [])
  }

  /// A deleted id that the server made again is not deleted for ever: where the
  /// whole conversation is known, the count says that something is amiss.
  @Test(arguments: ServerKind.all)
  func t09_aMessageMadeAgainComesBack(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.missing(130)
    let victim = world.server.newestIDs(world.room, 3)[2]
    world.server.delete(conversation: world.room, ids: [victim])
    world.post(1)
    try world.sync()
    #expect(try world.cached() == world.truth())
    world.put("\"made again\"", id: victim)
    world.post(3)
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.payload(victim) == "\"made again\"")
  }

  /// A push tells of a deletion while a page is under way that shows the message. That is no
  /// server which shows again what it deleted: it is not taken for a restored one, though it
  /// counts one more than there is, now and later.
  @Test func aPageThatADeletionOvertookShowsNoRestore() throws {
    let world = try World()
    world.post(130)
    try world.connect()
    try world.sync(.older, want: 200)
    #expect(try world.isWhole())
    world.post(1)
    let gone = try #require(world.truth().last)
    world.post(1)
    var pages = 0
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      pages += 1
      // The one that looks again because of the count.
      if pages == 2 {
        world.server.delete(conversation: "room", ids: [gone])
        let push = """
          {"type":"message_deleted","conversation_id":"room","message_ids":["\(gone)"]}
          """
        _ = try? world.client.receive(Array(push.utf8))
      }
      let parts = answer.split(separator: #""total_count":"#, omittingEmptySubsequences: false)
      guard parts.count == 2, let count = Int(parts[1].prefix { $0.isNumber }) else {
        return answer
      }
      return parts[0] + #""total_count":\#(count + 1)"# + parts[1].drop { $0.isNumber }
    }
    #expect(try world.sync().trouble == nil)
    #expect(pages > 2)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.client.stats().auditMismatches == 1)
    #expect(try world.cached() == world.truth())
  }
}
