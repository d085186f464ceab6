/// The index is merged while time acts, a little at a time; and a build that keeps to its steps.
import ReferenceServer
import Store
import Testing

@testable import Engine

@Suite struct SearchUpkeepTests {
  /// Protects: a slice fits into its time after a few, whatever the machine does in it.
  @Test func slicesFindTheirSize() {
    var size = SliceSize()
    for _ in 0..<20 {
      let asked = size.size(aim: 2)
      size.note(asked, tookMs: asked / 100)
    }
    #expect(size.size(aim: 2) >= 100 && size.size(aim: 2) <= 400)
    size.note(200, tookMs: 100)
    #expect(size.size(aim: 2) == 16)
    // A clock that stands still tells nothing, and lets nothing grow without end.
    for _ in 0..<100 { size.note(size.size(aim: 2), tookMs: 0) }
    #expect(size.size(aim: 5) == 1_024)
    size.note(16, tookMs: .max)
    #expect(size.size(aim: 0) == 16)
    // A slice that found nothing to do tells nothing either, however often.
    var idle = SliceSize()
    for _ in 0..<100 { idle.note(0, tookMs: 0) }
    #expect(idle.size(aim: 5) == SliceSize().size(aim: 5) && idle.size(aim: 5) > 16)
  }

  /// Protects: there are pauses between slices, nothing is looked at where nothing changed, and all
  /// is merged to one segment no more than once in ten minutes.
  @Test func pauses() {
    var upkeep = IndexUpkeep()
    /// Whether a slice may begin to merge all; nil where there is none at that time.
    func slice(
      _ nowMs: Int64, _ changes: UInt64, _ rest: SearchSlice.Rest?
    ) -> Bool? {
      guard let slice = upkeep.next(nowMs, changes: changes) else { return nil }
      #expect(!slice.builds)
      upkeep.note(rest.map { ($0, slice.size, 0) }, nowMs)
      return slice.mergesAll
    }
    #expect(slice(1_000, 0, .nothing) == true)
    #expect(slice(5_000, 0, .nothing) == nil && upkeep.waitMs(5_000) == nil)
    #expect(slice(5_000, 1, .begun) == true)
    #expect(slice(5_000, 1, .more) == nil)
    #expect(upkeep.waitMs(5_000) == IndexUpkeep.pauseMs)
    #expect(slice(5_000 + IndexUpkeep.pauseMs, 1, .due) == false)
    #expect(upkeep.waitMs(6_000) == IndexUpkeep.allMs - 1_000)
    #expect(slice(7_000, 1, .due) == nil)
    // What comes meanwhile is merged by size.
    #expect(slice(7_000, 2, .due) == false)
    let again = 5_000 + IndexUpkeep.allMs
    #expect(slice(again, 2, nil) == true)
    // After a failure it is tried later.
    #expect(upkeep.waitMs(again) == IndexUpkeep.troubleMs)
  }

  /// Protects: words that went are gone once time has acted, without a call for it.
  /// header: "merges index segments"
  @Test func wordsGoWhileTimeActs() throws {
    let world = try World()
    _ = try SearchService(world.client).switchSearch(on: true)
    world.post(30)
    try world.connect()
    try world.sync()
    try world.disconnect()
    let work = try SearchService(world.client).buildSearch()
    while try !work.step(milliseconds: 0).isDone {}
    #expect(try work.progress().isDone)
    let gone = try #require(try world.cached().first)
    try world.client.forget(
      conversation: Array(world.room.utf8), id: Array(gone.utf8))
    #expect(try !work.progress().isDone)
    let before = try world.client.state().changeSeq
    for _ in 0..<50 where try !work.progress().isDone {
      let wait = try world.client.advance()
      world.advance(ms: max(wait, 1))
    }
    #expect(try work.progress().isDone)
    #expect(try world.client.state().changeSeq == before)
  }
}
