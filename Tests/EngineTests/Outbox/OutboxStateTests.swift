/// What the process remembers of operations, by itself: looks, pauses, loose ends, names.
import Base
import Store
import Testing

@testable import Engine

@Suite struct OutboxStateTests {
  private func operation(_ seq: UInt64, _ state: OperationState) -> OpenOperation {
    OpenOperation(seq: seq, verb: .sendMessage, cid: 1, state: state)
  }

  @Test func aLookWaitsForWhatMayStillArrive() {
    var outbox = Outbox()
    outbox.load([operation(1, .unknown), operation(2, .unknown)])
    outbox.check(1)
    outbox.check(2, notBeforeMs: 50)
    #expect(outbox.checks[1]?.notBeforeMs == nil)
    outbox.connect(at: 100, timeoutMs: 1_000)
    #expect(outbox.checks[1]?.notBeforeMs == 1_100)
    #expect(outbox.checks[2]?.notBeforeMs == 50)
    #expect(outbox.deadlineMs(after: 100) == 1_100)
    outbox.look(1, by: 9)
    outbox.look(2, by: 9)
    #expect(outbox.looked(by: 9) == [1, 2])
    #expect(outbox.deadlineMs(after: 100) == nil)
    outbox.lookAgain(1) { 10 * Int64($0) }
    #expect(outbox.looked(by: 9) == [2])
    #expect(outbox.checks[1]?.notBeforeMs == 1_110)
    outbox.endCheck(2)
    outbox.lookAgain(2) { _ in 1 }
    #expect(outbox.checks[2] == nil)
  }

  @Test func aDeadFormerConnectionIsNotWaitedFor() {
    var outbox = Outbox()
    outbox.check(1)
    outbox.formerConnectionIsDead(isUp: false, at: 10)
    outbox.connect(at: 100, timeoutMs: 1_000)
    #expect(outbox.checks[1]?.notBeforeMs == 100)
    // It holds for one connection.
    outbox.check(2)
    outbox.connect(at: 200, timeoutMs: 1_000)
    #expect(outbox.checks[2]?.notBeforeMs == 1_200)
    outbox.formerConnectionIsDead(isUp: true, at: 300)
    #expect(outbox.checks[2]?.notBeforeMs == 300)
  }

  @Test func whatIsDoneIsForgotten() {
    var outbox = Outbox()
    outbox.load([operation(1, .queued)])
    outbox.note(permille: 500, of: 1)
    outbox.noteLoose(1)
    outbox.pause(1, untilMs: 70, isServerPause: false)
    let troubles = [outbox.noteTrouble(1), outbox.noteTrouble(1)]
    #expect(troubles == [1, 2])
    #expect(outbox.permille[1] == 500 && outbox.looseEnds == [1] && outbox.notBeforeMs[1] == 70)
    outbox.update(1, operation: nil)
    #expect(outbox.permille.isEmpty && outbox.looseEnds.isEmpty && outbox.notBeforeMs.isEmpty)
    let again = outbox.noteTrouble(1)
    #expect(outbox.open.isEmpty && again == 1)
  }

  @Test func whatIsToBeSealedIsTakenOnce() {
    var outbox = Outbox()
    var taken = [outbox.takeSeal()]
    outbox.noteSeal()
    taken += [outbox.takeSeal(), outbox.takeSeal()]
    #expect(taken == [false, true, false])
  }

  @Test func aConversationIsUnmadeUntilItIsSettled() {
    var outbox = Outbox()
    outbox.make([1])
    #expect(outbox.isUnmade([1]) && !outbox.isUnmade([2]))
    outbox.settle([1])
    #expect(!outbox.isUnmade([1]))
  }

  @Test func namesDifferAndComeAgainFromTheirSeed() {
    var (one, same, other) = (ClientNames(seed: 5), ClientNames(seed: 5), ClientNames(seed: 6))
    let first = one.next()
    #expect(first.count == 26)
    let others = [same.next(), other.next(), one.next()]
    #expect(others.map { $0 == first } == [true, false, false])
  }
}
