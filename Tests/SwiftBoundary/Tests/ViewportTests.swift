/// The viewport from Swift: what is visible stays, and a scroll ends where it is told.
import CTidelineShared
import Testing
import Tideline

@Suite struct ViewportTests {
  @Test func whatIsVisibleStays() throws {
    let viewport = try Viewport(extent: 100, flags: TL_VIEWPORT_BOTTOM_UP, overscrollMax: 30)
    var keys = Array(1...200 as ClosedRange<UInt64>)
    try viewport.update([tl_op(kind: 1, row: 0, from: 0, count: 200)], keys: keys)
    #expect(try viewport.place { _ in 10 }.count == 10)
    #expect(try viewport.scroll(to: TL_EDGE_TOP, of: 80) == true)
    let before = try viewport.place { _ in 10 }.map { [Int64($0.key), $0.top] }
    #expect(before.first == [80, 0])
    keys.insert(contentsOf: 1_000..<1_020, at: 0)
    try viewport.update([tl_op(kind: 1, row: 0, from: 0, count: 20)], keys: keys)
    #expect(try viewport.place { _ in 10 }.map { [Int64($0.key), $0.top] } == before)
    #expect(try viewport.find(80)?.row == 99)
    #expect(try viewport.find(9_999) == nil)
    #expect(try viewport.row(at: 15)?.key == 81)
    #expect(try viewport.state().checksum == Library.checksum(keys))
    try viewport.resize(50)
    #expect(try viewport.place { _ in 10 }.count == 5)
  }

  @Test func framesEnd() throws {
    let viewport = try Viewport(extent: 100, overscrollMax: 30)
    try viewport.update(
      [tl_op(kind: 1, row: 0, from: 0, count: 200)], keys: Array(1...200 as ClosedRange<UInt64>))
    #expect(try viewport.animate(to: TL_EDGE_BOTTOM_END, timeMs: 0) == true)
    #expect(try viewport.stop() == true)
    #expect(try viewport.animate(to: TL_EDGE_BOTTOM_END, timeMs: 0) == true)
    var now: Int64 = 0
    while try viewport.tick(now) { now += 16 }
    #expect(try viewport.place { _ in 10 }.last?.key == 200)
    try viewport.scroll(50, isFinger: true)
    #expect(try viewport.state().overscroll < 0)
    #expect(try viewport.release(now) == true)
    #expect(try viewport.tick(now + 1_000) == false)
    #expect(throws: TidelineError.self) { try viewport.measure([1], [-1]) }
  }
}
