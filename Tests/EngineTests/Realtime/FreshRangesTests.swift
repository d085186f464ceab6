/// What the core notes as fresh comes to the board, whole and in time, whatever changed between.
import Base
import Testing
import Timeline

@testable import Engine

@Suite struct FreshRangesTests {
  private func position(_ time: Int) -> Position { Position(time: Int64(time), id: []) }

  @Test(arguments: 0..<20)
  func theOtherOneHasTheSame(_ seed: Int) {
    var random = Random(seed: UInt64(seed))
    var engine = FreshRanges()
    var board = FreshRanges()
    var known: [Int64: SpanSet] = [:]
    for _ in 0..<300 {
      let cid = Int64(random.below(5))
      let low = random.below(100)
      let span = SpanSet.Span(low: position(low), high: position(low + 1 + random.below(9)))
      switch random.below(12) {
      case 0:
        engine.empty()
        known = [:]
      case 1...3:
        var more = SpanSet()
        more.insert(span.low, span.high)
        more.insert(position(low + 20), position(low + 25))
        engine.insert(more, cid)
        known[cid] = (known[cid] ?? SpanSet()).union(more)
      default:
        engine.insert(span, cid)
        known[cid, default: SpanSet()].insert(span.low, span.high)
      }
      guard random.chance(0.4) else { continue }
      engine.bring(to: &board)
      for cid in Int64(0)..<6 {
        #expect(engine[cid] == known[cid] ?? SpanSet())
        #expect(board[cid] == engine[cid])
      }
    }
  }
}
