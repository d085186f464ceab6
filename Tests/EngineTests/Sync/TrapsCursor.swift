/// What moves a watermark, what does not, and what happens when it is gone.
///
/// Rule protected: only an unbroken answer moves the watermark of its own
/// conversation, in the transaction that stores what it stands for.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsCursor {
  /// The newest message arrives by push before the 130 that were missed.
  @Test(arguments: ServerKind.all)
  func t03_aPushDoesNotMoveTheWatermark(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    let asOf = try world.page().coverage.contentAsOfUs
    try world.push { world.post(1) }
    #expect(try world.cached().last == world.truth().last)
    let page = try world.page()
    #expect(page.coverage.contentAsOfUs == asOf)
    #expect(page.coverage.gaps.contains { $0.beforeRow == page.rows.count - 1 })
    #expect(page.rows.last.map { $0.flags & MessageBit.unverified != 0 } == true)
    #expect(try world.lies() == [])
    let status = try world.sync()
    #expect(status.inserted == 130)
    #expect(try world.tailFaults(150) == [])
    #expect(try world.isWhole())
  }

  /// The newest stamp is years ahead, so a push lands below it, in what was whole.
  @Test(arguments: ServerKind.all)
  func t03_aPushBelowAStampFromTheFutureOpensAGap(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    world.put("\"from the future\"", agoMs: -5 * 365 * 86_400_000)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.push { world.post(1) }
    let page = try world.page()
    // The future one is last, the pushed one before it.
    #expect(page.coverage.gaps.contains { $0.beforeRow == page.rows.count - 2 })
    #expect(page.rows.suffix(2).first.map { $0.flags & MessageBit.unverified != 0 } == true)
    try world.sync()
    #expect(try world.tailFaults(150) == [])
    #expect(try world.lies() == [])
  }

  /// The same while the page that shows the stamp is under way: it is older than the
  /// push, so it does not speak of what was posted between them.
  @Test(arguments: ServerKind.all)
  func t03_aPageUnderWayDoesNotSpeakUpToAStampFromTheFuture(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    world.put("\"from the future\"", agoMs: -5 * 365 * 86_400_000)
    try world.connect()
    try world.sync()
    try world.missing(5)
    var isPosted = false
    var looks = 0
    var faults: [String] = []
    world.alter = { request, answer in
      if !isPosted, request.contains("get_messages") {
        isPosted = true
        world.post(2)
        try? world.push { world.post(1) }
      }
      return answer
    }
    world.before = { _, _ in
      guard isPosted else { return }
      looks += 1
      faults += (try? world.lies()) ?? ["unreadable"]
    }
    try world.sync()
    #expect(looks >= 2)
    #expect(faults == [])
    try world.sync()
    #expect(try world.tailFaults(25) == [])
    #expect(try world.lies() == [])
  }

  /// A push where all is up to date asks for a catch-up by itself, one at a time.
  @Test(arguments: ServerKind.few)
  func t03_aPushIsFollowedByACatchUp(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    world.reset()
    // 120 were lost on the way; the last is heard of.
    world.post(120)
    try world.push { world.post(3) }
    try world.run()
    #expect(try world.tailFaults(140) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
    #expect(world.asked("get_deleted_since").count <= 2)
  }

  /// While the walk goes on, eight messages arrive and one of them is pushed: the
  /// watermark that the walk leaves stands below the seven others.
  @Test(arguments: ServerKind.all)
  func t03_aPushDuringTheWalkDoesNotRaiseItsWatermark(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    world.before = { index, _ in
      guard index == 3 else { return }
      world.post(7, everyMs: 10_000)
      do { try world.push { world.post(1, everyMs: 10_000) } } catch { Issue.record(error) }
    }
    try world.sync()
    world.before = { _, _ in }
    try world.run()
    #expect(try world.tailFaults(150) == [])
    #expect(try world.isWhole())
    #expect(try world.lies() == [])
  }

  /// Two conversations; only one is synced, and it is the newer one.
  @Test(arguments: ServerKind.all)
  func t29_eachConversationHasItsOwnWatermark(_ kind: ServerKind) throws {
    let world = try kind.world()
    let other = "other"
    world.server.createConversation(other, participants: ["me", "you"])
    world.post(30)
    for _ in 0..<30 {
      world.advance(ms: 1_000)
      world.put(in: other)
    }
    try world.connect()
    try world.sync()
    try world.sync(in: other)
    try world.client.disconnected()
    for _ in 0..<130 {
      world.advance(ms: 1_000)
      world.put("\"missed\"", in: other)
    }
    world.post(130)
    try world.client.connected()
    try world.sync()
    #expect(try world.tailFaults(150) == [])
    #expect(try world.lies(in: other) == [])
    #expect(try world.cached(in: other).count <= 30)
    let status = try world.sync(in: other)
    #expect(status.inserted == 130)
    #expect(try world.tailFaults(150, in: other) == [])
    #expect(try world.lies(in: other) == [])
  }

  /// Rows, claims, watermark and feed of a frame are one commit, and a frame with
  /// nothing new is none.
  @Test(arguments: ServerKind.all)
  func t28_eachFrameIsOneCommit(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    var last = try world.client.stats().commits
    var commits: [UInt64] = []
    world.before = { _, _ in
      let now = (try? world.client.stats().commits) ?? 0
      commits.append(now - last)
      last = now
    }
    try world.sync()
    let now = try world.client.stats().commits
    // The first entry is from before any answer.
    let perFrame = commits.dropFirst() + [now - last]
    #expect(perFrame.count == world.requests.count)
    #expect(perFrame.allSatisfy { $0 <= 1 })
    #expect(perFrame.reduce(0, +) >= 4)
    #expect(try world.tailFaults(150) == [])
  }

  /// The server no longer knows the cursor: everything is fetched again, and what
  /// is cached stays readable meanwhile, without any promise.
  @Test(arguments: ServerKind.all)
  func t32_anUnknownCursorMeansAFullFetch(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    let before = try world.cached()
    try world.missing(130)
    world.server.failNext("unknown_cursor")
    var seen: [String] = []
    var promises = 0
    world.before = { index, _ in
      guard index == 1 else { return }
      seen = (try? world.cached()) ?? []
      promises =
        (try? world.page().rows.filter { $0.flags & MessageBit.unverified == 0 }.count) ?? -1
    }
    let status = try world.sync()
    #expect(status.trouble == nil)
    #expect(seen == before)
    #expect(promises == 0)
    #expect(!world.requests[1].contains("after_ts"))
    #expect(try world.lies() == [])
    try world.sync(.older, want: 10_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// Rows without a watermark (here by pushes alone) prove nothing.
  @Test(arguments: ServerKind.all)
  func t32_rowsWithoutAWatermarkAreNoCursor(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    try world.connect()
    try world.push { world.post(5) }
    world.post(130)
    try world.push { world.post(5) }
    #expect(try world.cached().count == 10)
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unverified != 0 })
    try world.sync()
    #expect(!world.requests[0].contains("after_ts"))
    #expect(try world.lies() == [])
    try world.sync(.older, want: 10_000)
    #expect(try world.cached() == world.truth())
  }

  /// A mirror that follows the change feed only is always equal to the cache.
  @Test(arguments: ServerKind.few)
  func t33_theFeedTellsEveryChange(_ kind: ServerKind) throws {
    let locked = Keys()
    let world = try kind.world(config: { config in
      config.open = { sealed in locked.open(sealed) }
    })
    var mirror = Mirror()
    world.post(60)
    try world.connect()
    try world.sync()
    try mirror.applyFeed(world)
    try world.missing(130)
    world.before = { _, _ in
      do {
        try mirror.applyFeed(world)
        #expect(try mirror.rows == Mirror.shown(world))
      } catch {
        Issue.record(error)
      }
    }
    try world.sync()
    try mirror.applyFeed(world)
    #expect(try mirror.rows == Mirror.shown(world))
    // Every row was shown sealed; now it can be read, is edited or goes.
    locked.unlock()
    let newest = world.server.newestIDs(world.room, 130)
    world.server.edit(conversation: world.room, id: newest[0], payload: "\"edited\"")
    world.server.delete(conversation: world.room, ids: [newest[1], newest[60]])
    try world.sync()
    try mirror.applyFeed(world)
    #expect(try mirror.rows == Mirror.shown(world))
    #expect(mirror.rows.values.contains("\"edited\""))
    #expect(mirror.rows.values.contains { $0 != "sealed" && $0 != "\"edited\"" })
  }
}

/// A payload hook that has no key until it is unlocked.
final class Keys: @unchecked Sendable {
  private let lock = NSLock()
  private var isLocked = true

  func unlock() { lock.withLock { isLocked = false } }

  func open(_ sealed: borrowing Sealed) -> Opened {
    let payload = Array(sealed.frame[sealed.payload])
    return lock.withLock {
      isLocked ? .notYet : .plain(payload, control: false, event: false)
    }
  }
}

/// What a host shows that reads the change feed and nothing else.
struct Mirror {
  private var cursor: UInt64 = 0
  private(set) var rows: [UInt64: String] = [:]

  /// Applies the feed: rows that it names are read again, by their numbers.
  mutating func applyFeed(_ world: World) throws {
    while case .changes(let changes) = try world.client.changes(after: cursor, limit: 7) {
      let shown = try Self.shown(world)
      for change in changes {
        cursor = change.seq
        for number in change.first...change.last where number > 0 { rows[number] = shown[number] }
      }
    }
  }

  static func shown(_ world: World) throws -> [UInt64: String] {
    let page = try world.page()
    var shown: [UInt64: String] = [:]
    for row in page.rows {
      let payload = String(decoding: page[row.payload], as: UTF8.self)
      shown[row.number] = row.flags & MessageBit.sealed != 0 ? "sealed" : payload
    }
    return shown
  }
}
