/// The queue of syncs by itself: whose turn it is, who shares one, and how one ends.
import Base
import Testing

@testable import Engine

@Suite struct SyncSchedulerTests {
  private func request(_ name: String, isUrgent: Bool = false) -> SyncRequest {
    var request = SyncRequest(conversation: Array(name.utf8))
    request.isUrgent = isUrgent
    return request
  }

  /// Numbers in the order in which they may be sent, each left in flight.
  private func turns(_ scheduler: inout SyncScheduler, nowMs: Int64 = 0) -> [UInt64] {
    var sent: [UInt64] = []
    for isUrgent in [true, false] {
      while true {
        let busy = Set(scheduler.jobs.filter(\.turn.inFlight).map(\.request.conversation))
        guard
          let index = scheduler.ready(
            from: 0, isUrgent: isUrgent, nowMs: nowMs, besides: busy,
            waitsFor: { $0 == Array("pending".utf8) })
        else { break }
        var job = scheduler.jobs[index]
        job.turn.inFlight = true
        scheduler.replace(job)
        sent.append(job.id)
      }
    }
    return sent
  }

  @Test func oneInEachConversationAndScreensFirst() {
    var scheduler = SyncScheduler()
    let first = scheduler.add(request("a"))
    let second = scheduler.add(request("a"))
    let third = scheduler.add(request("b"))
    scheduler.add(request("pending"))
    let urgent = scheduler.add(request("c", isUrgent: true))
    #expect(turns(&scheduler) == [urgent, first, third])
    _ = scheduler.end(scheduler.job(first)!, trouble: nil)
    #expect(turns(&scheduler) == [second])
    #expect(turns(&scheduler) == [])
  }

  @Test func whoAsksForTheSameJoinsIt() {
    var scheduler = SyncScheduler()
    let first = scheduler.add(request("a"))
    let twin = scheduler.join(request("a", isUrgent: true))
    #expect(twin?.id == first && twin?.isRaised == true)
    #expect(scheduler.join(request("a", isUrgent: true))?.isRaised == false)
    #expect(scheduler.join(request("b")) == nil)
    // A look of the library's own is nobody's to share.
    scheduler.add(request("c")) { $0.aim.isBounded = true }
    #expect(scheduler.join(request("c")) == nil)
    #expect(scheduler.leave(first) == nil)
    #expect(scheduler.leave(first) == nil)
    #expect(scheduler.leave(first)?.id == first)
    #expect(scheduler.leave(99) == nil)
  }

  @Test func whatFailsRestsAndIsGivenUpInTheEnd() throws {
    var scheduler = SyncScheduler()
    let sync = scheduler.add(request("a"))
    var nowMs: Int64 = 0
    for attempt in 1..<SyncScheduler.attemptsMax {
      #expect(turns(&scheduler, nowMs: nowMs) == [sync])
      let (isRetried, given) = scheduler.fail(sync, .timeout, nowMs: nowMs) { Int64($0) * 100 }
      #expect(isRetried && given == nil)
      #expect(scheduler.status(sync)?.trouble == .timeout)
      let due = try #require(scheduler.deadlineMs(after: nowMs))
      #expect(due == nowMs + Int64(attempt) * 100)
      #expect(turns(&scheduler, nowMs: due - 1) == [])
      nowMs = due
    }
    #expect(turns(&scheduler, nowMs: nowMs) == [sync])
    let (isRetried, given) = scheduler.fail(sync, .timeout, nowMs: nowMs) { _ in 1 }
    #expect(!isRetried)
    let status = scheduler.end(try #require(given), trouble: .timeout)
    #expect(status.phase == .ended && status.trouble == .timeout)
    #expect(scheduler.jobs.isEmpty)
    // It is over, and later answers change nothing.
    let late = scheduler.fail(sync, .timeout, nowMs: nowMs) { _ in 1 }
    #expect(!late.isRetried && late.given == nil)
    #expect(scheduler.status(sync)?.trouble == .timeout)
  }

  /// How syncs ended is remembered of so many, the oldest go first.
  @Test func endsAreRememberedWithinBounds() {
    var scheduler = SyncScheduler()
    let all = (0...Limits.syncsRemembered).map { _ in scheduler.number() }
    for id in all { scheduler.remember(id, SyncStatus(phase: .ended)) }
    #expect(scheduler.status(all[0]) == nil)
    #expect(all.dropFirst().allSatisfy { scheduler.status($0)?.phase == .ended })
  }

  @Test func aLostConnectionTakesWhatWasInFlightBack() throws {
    var scheduler = SyncScheduler()
    let (first, second) = (scheduler.add(request("a")), scheduler.add(request("b")))
    #expect(turns(&scheduler) == [first, second])
    var job = try #require(scheduler.job(first))
    job.stage = .catchUp(CatchUp())
    job.turn.notBeforeMs = 500
    scheduler.replace(job)
    scheduler.disconnect(losing: [first, second])
    let back = try #require(scheduler.job(first))
    if case .start = back.stage {} else { Issue.record("it goes on where it was") }
    #expect(back.status.trouble == .offline && !back.turn.inFlight)
    #expect(turns(&scheduler) == [second])
    scheduler.wake()
    #expect(turns(&scheduler) == [first])
  }

  /// The longer ones of a conversation take over what a catch-up left below its newest page.
  @Test func aCatchUpThatEndsWellLeavesItsGapToTheOthers() throws {
    var scheduler = SyncScheduler()
    var live = request("a")
    live.kind = .live
    var older = request("a")
    older.kind = .older
    let (one, other, far) = (
      scheduler.add(live), scheduler.add(older), scheduler.add(request("b"))
    )
    var done = try #require(scheduler.job(one))
    done.caughtUp = .live(left: .before(timestampGroup: 7), changesAreDone: false)
    scheduler.pass(done)
    #expect(scheduler.job(other)?.aim.floor == .before(timestampGroup: 7))
    #expect(scheduler.job(far)?.aim.floor == nil)
    done.caughtUp = .live(left: .before(timestampGroup: 9), changesAreDone: false)
    scheduler.pass(done)
    #expect(scheduler.job(other)?.aim.floor == .before(timestampGroup: 7))
  }

  @Test func aConversationHasAnotherName() {
    var scheduler = SyncScheduler()
    scheduler.add(request("a"))
    scheduler.rename(Array("a".utf8), Array("b".utf8))
    #expect(!scheduler.asks(Array("a".utf8)) && scheduler.asks(Array("b".utf8)))
  }

  @Test func whatIsOwedIsForgiven() {
    var scheduler = SyncScheduler()
    scheduler.markPending([1])
    scheduler.markPending([2])
    scheduler.clearPending([1])
    #expect(scheduler.pending == [[2]])
    scheduler.clearAllPending()
    #expect(scheduler.pending.isEmpty)
  }

  /// Requests that cannot be taken back stay in flight, those of other conversations too.
  @Test func whatIsLetGoOfMayStillBeWaitedFor() throws {
    var scheduler = SyncScheduler()
    let (one, other) = (scheduler.add(request("a")), scheduler.add(request("b")))
    #expect(turns(&scheduler) == [one, other])
    scheduler.letGo(of: Array("a".utf8)) { _ in false }
    #expect(scheduler.job(one)?.turn.inFlight == false)
    #expect(scheduler.job(other)?.turn.inFlight == true)
    scheduler.letGo(of: nil) { $0 == one }
    #expect(scheduler.job(one)?.turn.inFlight == true)
    #expect(scheduler.job(other)?.turn.inFlight == false)
  }
}
