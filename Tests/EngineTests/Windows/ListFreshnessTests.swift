/// When the numbers of unread messages are asked for once more.
import Testing

@testable import Engine

@Suite struct ListFreshnessTests {
  private let a: Int64 = 1
  private let b: Int64 = 2

  /// Protects: one conversation is asked for once a minute at most, and the others need not wait.
  @Test func aConversationIsAskedForOnceAMinute() {
    var recounts = Recounts()
    #expect(recounts.isEmpty && recounts.due(at: 5).isEmpty)
    recounts.note(a, isWanted: true)
    #expect(recounts.due(at: 5) == [a])
    let isTaken = recounts.take([a], at: 5, withList: false)
    #expect(isTaken && recounts.isEmpty)
    recounts.note(b, isWanted: true)
    recounts.note(a, isWanted: true)
    #expect(recounts.due(at: 6) == [b])
    #expect(recounts.nextMs(after: 6) == 60_005)
    #expect(recounts.due(at: 60_005) == [a, b])
    // Nothing wakes a device for one that nobody looks at.
    recounts.putAside(a)
    #expect(recounts.due(at: 60_005) == [b] && recounts.nextMs(after: 60_004) == nil)
    recounts.bringBack(a)
    #expect(recounts.due(at: 60_005) == [a, b])
    // A count that is told needs no asking, and each connection begins anew.
    recounts.note(b, isWanted: false)
    recounts.begin()
    #expect(recounts.due(at: 7) == [a])
  }

  /// Protects: what happens together is asked for once, and after what a window asks for.
  @Test func nothingIsAskedForBeforeAllElseRests() {
    var recounts = Recounts()
    recounts.note(a, isWanted: true)
    var isAtRest = recounts.rests(at: 5)
    #expect(!isAtRest && recounts.nextMs(after: 5) == 1_005)
    recounts.note(b, isWanted: true)
    isAtRest = recounts.rests(at: 1_004)
    #expect(!isAtRest)
    isAtRest = recounts.rests(at: 1_005)
    #expect(isAtRest)
    recounts.wake()
    isAtRest = recounts.rests(at: 1_006)
    #expect(!isAtRest)
  }

  /// Protects: the whole list is asked for once a minute at most, whatever is in doubt.
  @Test func theListIsAskedForOnceAMinute() {
    var list = ListFreshness()
    list.becameWhole()
    list.recounts.note(a, isWanted: true)
    list.recounts.asksAlone = false
    let isFirst = list.recounts.take([a], at: 5, withList: true)
    list.recounts.note(b, isWanted: true)
    #expect(list.recounts.nextMs(after: 6) == 60_005)
    let isSecond = list.recounts.take([b], at: 6, withList: true)
    #expect(isFirst && !isSecond)
    #expect(!list.recounts.isListDue(at: 60_004) && list.recounts.isListDue(at: 60_005))
    #expect(list.recounts.due(at: 6) == [b])
    list.begin()
    #expect(!list.isWhole && list.recounts.asksAlone)
  }
}
