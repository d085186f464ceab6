/// Where what is pending stands, and that it says nothing of what the server has.
import Base
import Testing
import Timeline

@Suite struct PendingTests {
  @Test func pendingPlacesStandBehindAllOthersInTheOrderOfDoing() {
    let places = [1, 2, 255, 256, 70_000, 1 << 40, (1 << 56) - 1].map { Position.pending($0) }
    #expect(zip(places, places.dropFirst()).allSatisfy { $0 < $1 })
    #expect(places.allSatisfy { $0 < .max && $0.isPending && $0.id.count == 8 })
    #expect(places.allSatisfy { $0 > Position(time: .max - 2, id: [0xFF]) })
    // No text is taken for one.
    #expect(places.allSatisfy { String(validating: $0.id, as: UTF8.self) == nil })
    #expect(!at(1, "a").isPending && !Position.max.isPending)
  }

  @Test func boundsOfPlacesAreTheLowestNumberAtOrAbove() {
    var random = Random(seed: 3)
    for _ in 0..<500 {
      let number = UInt64(random.below(1 << 20)) + 1
      let place = Position.pending(number)
      #expect(place.pendingBound == number)
      #expect(place.successor.pendingBound == number + 1)
      #expect(Position(time: place.time, id: Array(place.id.prefix(3))).pendingBound ?? 0 <= number)
    }
    #expect(Position.min.pendingBound == 0 && at(9, "z").pendingBound == 0)
    #expect(Position(time: .max - 1, id: []).pendingBound == 0)
    #expect(Position(time: .max - 1, id: [0x41]).pendingBound == 0)
    #expect(Position.max.pendingBound == nil)
  }

  @Test func pendingRowsMakeNoGapInAPage() {
    let spans = SpanSet().inserting(.min, high: .after(timestampGroup: 9))
    for older in [true, false] {
      let page = Completeness(
        spans: spans, poisoned: [], rows: [at(5, "a"), at(8, "c"), .pending(3), .pending(4)],
        goesOlder: older, anchor: nil, reachedLimit: false)
      #expect(page.gaps.isEmpty && page.isWhole)
      #expect(page.stop == (older ? .start : .present))
    }
    let only = Completeness(
      spans: spans, poisoned: [], rows: [.pending(3)], goesOlder: true, anchor: .pending(4),
      reachedLimit: true)
    #expect(only.gaps.isEmpty && only.isWhole && only.stop == .limit)
    let behind = Completeness(
      spans: SpanSet().inserting(.min, high: .after(timestampGroup: 6)), poisoned: [],
      rows: [at(5, "a"), at(8, "c"), .pending(3)], goesOlder: true, anchor: nil,
      reachedLimit: false)
    // The server's own row has the gap, not the pending one.
    #expect(behind.gaps.map(\.beforeRow) == [1])
  }
}
