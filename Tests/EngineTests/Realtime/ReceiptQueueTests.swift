/// When receipts go out, and how many in one request, by itself.
import Base
import Store
import Testing

@testable import Engine

@Suite struct ReceiptQueueTests {
  private let group = ReceiptGroup(kind: .read, cid: 1)

  @Test func aFewWaitForMore() {
    var receipts = ReceiptQueue()
    receipts.endSending(areLeft: false)
    #expect(!receipts.isWaiting && !receipts.areFew)
    receipts.queue(3)
    #expect(receipts.isWaiting && receipts.areFew)
    receipts.queue(Limits.markReadBatch)
    #expect(!receipts.areFew)
    receipts.beginSending()
    receipts.leave(1)
    receipts.endSending(areLeft: true)
    #expect(receipts.isWaiting && receipts.areFew)
  }

  @Test func aRequestIsHalvedAndGrowsAgain() {
    var receipts = ReceiptQueue()
    let most = Limits.markReadBatch
    #expect(receipts.batch(group) == most)
    receipts.halve(group, of: most)
    receipts.halve(group, of: receipts.batch(group))
    #expect(receipts.batch(group) == most / 4)
    receipts.succeed(group)
    #expect(receipts.batch(group) == most / 2)
    receipts.succeed(group)
    #expect(receipts.batch(group) == most)
  }

  /// Who refuses again and again is asked seldom; who does not answer is asked as soon as
  /// something else is answered.
  @Test func refusalsAreWaitedForAndSilenceEnds() {
    var receipts = ReceiptQueue()
    var least: [Int64] = []
    for _ in 0...SyncScheduler.attemptsMax {
      receipts.fail(isSilent: false, at: 0) { _, atLeast in
        least.append(atLeast)
        return 10
      }
    }
    #expect(least.dropLast().allSatisfy { $0 == 0 } && least.last == 15 * 60_000)
    #expect(receipts.notBeforeMs == 10)
    receipts.noteAnswer(at: 5, backoffMs: 1)
    #expect(receipts.notBeforeMs == 10)
    receipts.fail(isSilent: true, at: 0) { _, atLeast in
      #expect(atLeast == 0)
      return 10_000
    }
    receipts.noteAnswer(at: 5, backoffMs: 1)
    #expect(receipts.notBeforeMs == 6 && !receipts.isSilent)
    receipts.connect()
    #expect(receipts.notBeforeMs == .min && receipts.isWaiting)
  }
}
