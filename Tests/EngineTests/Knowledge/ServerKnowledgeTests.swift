/// What is known of the server as a whole, by itself: its time, its epoch, how late it commits.
import Base
import Store
import Testing
import Timeline
import Wire

@testable import Engine

@Suite struct ServerKnowledgeTests {
  private static let second: Int64 = 1_000_000
  private static let day: Int64 = 24 * 3_600 * second
  private static let noon = ServerTime(us: 1_771_200_000 * second)

  private func knowledge(
    at time: ServerTime? = ServerKnowledgeTests.noon, _ change: (inout Profile) -> Void = { _ in }
  ) -> ServerKnowledge {
    var profile = Profile()
    change(&profile)
    var facts = ServerFacts()
    facts.serverTime = time
    return ServerKnowledge(profile, facts: facts)
  }

  private func instant(_ ms: Int64, wallUs: Int64? = nil) -> Instant {
    var instant = Instant(monotonicMs: ms)
    instant.wallUs = wallUs
    return instant
  }

  @Test func aLoneStampSetsNoFirstTime() {
    var server = knowledge(at: nil)
    server.learnTime(Self.noon, at: instant(0))
    #expect(server.time == nil)
    server = knowledge()
    server.learnTime(Self.noon.saturating(plus: Self.second), at: instant(0))
    #expect(server.time == Self.noon.saturating(plus: Self.second))
    server.learnTime(Self.noon.saturating(minus: Self.second), at: instant(0))
    #expect(server.time == Self.noon.saturating(plus: Self.second))
  }

  /// One that is a day ahead of the server's clock moves nothing that will be asked from.
  @Test func aStampAheadIsNotBorneOut() {
    let server = knowledge()
    #expect(server.isBorneOut(Self.noon.saturating(plus: Self.day), at: instant(0)))
    #expect(!server.isBorneOut(Self.noon.saturating(plus: Self.day + 1), at: instant(0)))
    #expect(!server.isBorneOut(.max, at: instant(0)))
    #expect(!knowledge(at: nil).isBorneOut(Self.noon, at: instant(0)))
  }

  @Test func theOverlapOnlyWidens() {
    var server = knowledge { $0.overlapUs = 5 * Self.second }
    server.noteLateness(0)
    #expect(server.overlapUs == 5 * Self.second)
    server.noteLateness(9 * Self.second)
    #expect(server.overlapUs == 18 * Self.second)
    server.noteLateness(3 * Self.second)
    #expect(server.overlapUs == 18 * Self.second)
    server.noteLateness(Self.day)
    #expect(server.overlapUs == WatermarkPolicy.overlapUsMax)
  }

  @Test func anEpochIsNewOnce() {
    var server = knowledge()
    let first = [server.enter(epoch: nil, at: 3), server.enter(epoch: [1], at: 3)]
    #expect(first == [nil, false] && server.facts.restoredLSN == 0)
    let second = [server.enter(epoch: [1], at: 4), server.enter(epoch: [2], at: 5)]
    #expect(second == [nil, true])
    #expect(server.facts.restoredLSN == 5)
  }

  @Test func aRestoreIsDistrustedUntilTheConversationIsSynced() {
    var server = knowledge()
    var record = ConversationRecord(cid: 1, id: [1])
    record.restoredLSN = 3
    server.noteRestore(at: 5)
    // Nothing is claimed of it that could be distrusted.
    #expect(!server.mustDistrust(record))
    record.fetch = ContentMark(newest: .before(timestampGroup: 1), text: [])
    #expect(server.mustDistrust(record))
    record.restoredLSN = 5
    #expect(!server.mustDistrust(record))
  }

  /// Where positions are numbers, how far back deletions are asked goes by times all the same.
  @Test(arguments: [false, true]) func deletionsAreAskedFromTwiceAsFarBack(_ isNumbered: Bool) {
    let server = knowledge { if isNumbered { $0.capabilities.insert(.sequence) } }
    let noon = bytes("2026-02-16T00:00:00Z")
    var record = ConversationRecord(cid: 1, id: [1])
    guard let time = server.scheme.stamp(noon)?.time else { return #expect(Bool(false)) }
    record.fetch = ContentMark(
      newest: .before(timestampGroup: isNumbered ? 500 : time.us), text: noon)
    record.deletions = Watermark(at: time, text: noon)
    record.lowestSince = time
    #expect(server.lowerDeletions(&record, showing: time.saturating(minus: 3 * Self.day)))
    #expect(record.lowestSince == time.saturating(minus: 6 * Self.day))
  }

  /// Where deletions are forgotten the device's clocks say how long ago the last time was told.
  @Test func theDevicesClocksLowerTrust() throws {
    let frame = try Frame(
      Array(
        """
        {"type":"get_messages","status":"ok","data":{"messages":[],"total_count":0,\
        "server_time":"2026-02-16T00:00:00Z","has_more":false}}
        """.utf8), zoneOffsetMinutes: 0)
    guard case .response(let response) = frame.body, case .page(let page) = response.outcome else {
      Issue.record("no page")
      return
    }
    func later(_ server: ServerKnowledge) -> ServerTime? {
      var server = server
      server.learn(page, from: Ingested(), at: instant(1_000))
      server.noteAnswer(at: instant(61_000))
      return server.timeAtLeast
    }
    let told = page.serverTime?.time
    #expect(
      later(knowledge { $0.deletionHorizonUs = 1 })
        == told.map { $0.saturating(plus: 60 * Self.second) })
    #expect(later(knowledge()) == told)
  }

  @Test func aTransactionThatFailedHasToldNothing() {
    let memory = SyncMemory(knowledge())
    let before = (memory.learned, facts: memory.server.facts)
    memory.server.noteLateness(9 * Self.second)
    memory.server.setNeedsList(true)
    memory.ties.learn([1, 2], of: .others)
    memory.left.leave(Listing(restarts: 2))
    _ = memory.restores.confirmsBuried(in: [1], askedMs: 1, nowMs: 1)
    memory.effects.restores += 1
    memory.takeBack(to: before.0)
    #expect(memory.server.facts == before.facts)
    #expect(memory.ties.isUnknown(.others))
    #expect(memory.left.takeListing().restarts == 0)
    #expect(memory.restores.nextMs == nil)
    #expect(memory.effects.isEmpty)
  }

  @Test func whatATransactionChangesIsTakenOnce() {
    let memory = SyncMemory(knowledge())
    memory.effects.pending.append([1])
    #expect(memory.takeEffects().pending == [[1]])
    #expect(memory.effects.isEmpty)
  }
}
