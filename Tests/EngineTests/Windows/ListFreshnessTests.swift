/// When the list of conversations is asked for once more, by itself.
import Base
import Testing

@testable import Engine

@Suite struct ListFreshnessTests {
  @Test func aCountIsAskedForOnceAMinute() {
    var list = ListFreshness()
    #expect(list.recountMs == nil)
    list.doubtCount()
    #expect(list.recountMs == .min)
    list.recount(at: 1_000)
    #expect(list.recountMs == nil)
    list.doubtCount()
    #expect(list.recountMs == 1_000 + Limits.recountApartMs)
    // A new connection asks at once.
    list.begin()
    #expect(list.recountMs == .min)
  }

  @Test func aListIsWholeUntilTheConnectionIsGone() {
    var list = ListFreshness()
    list.becameWhole()
    #expect(list.isWhole)
    list.expire()
    #expect(!list.isWhole)
    list.becameWhole()
    list.begin()
    #expect(!list.isWhole)
  }
}
