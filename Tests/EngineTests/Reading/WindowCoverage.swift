/// What the pages of a window say of their gaps, and whether the rows say the same.
import Engine
import ReferenceServer
import Testing

@Suite struct WindowCoverage {
  /// Each page of the screen agrees with itself and with the rows; gives how many were read.
  private func check(_ screen: TestScreen) throws -> Int {
    let all = try #require(try screen.window.rows(first: 0, count: 10_000)).rows.count
    let splits = Set(try screen.splits())
    var pages = 0
    for first in 0..<all {
      for count in [1, 2, 3, 7, all] {
        let page = try #require(try screen.window.rows(first: first, count: count))
        let (rows, gaps) = (page.rows.count, page.coverage.gaps.map(\.beforeRow))
        let drawn = (0...rows).filter { splits.contains(first + $0) }
        #expect(Set(gaps).isSuperset(of: drawn), "\(first), \(count)")
        // But for the ends of the window a page has no other ones.
        let inside = gaps.filter { first + $0 > 0 && first + $0 < all }
        #expect(inside == drawn, "\(first), \(count)")
        #expect(page.coverage.whole == !gaps.contains { $0 > 0 && $0 < rows }, "\(first), \(count)")
        #expect(gaps == gaps.sorted())
        for gap in page.coverage.gaps { #expect(gap.lowUs <= gap.highUs) }
        pages += 1
      }
    }
    return pages
  }

  /// Protects: between two loaded parts a page has a gap and is not whole, also where all that lies
  /// between them is stored and only not loaded.
  // header: "Where messages may be missing, or in a window are not loaded."
  @Test(arguments: CapableKind.all, [false, true])
  func aPartThatIsNotLoadedIsAGap(_ kind: CapableKind, _ isStored: Bool) throws {
    let world = try kind.world()
    world.post(300, everyMs: kind.everyMs)
    try world.connect()
    try world.sync()
    if isStored { try world.sync(.older, want: 400) }
    let screen = try world.window(count: 20)
    let stamp = try #require(
      world.server.truth(world.room).first { $0.id == world.order()[100] }?.stampUs)
    #expect(try screen.window.load(Load(.around(.time(stamp)), count: 16)))
    try screen.settle(world)
    #expect(try screen.splits().count == 1)
    let pages = try check(screen)
    #expect(pages > 100)
    // With rows that wait behind all others, which no page of the server's has.
    try world.disconnect()
    try world.perform(
      #"{"type":"send_message","conversation_id":"\#(world.room)","payload":"mine"}"#)
    try screen.poll()
    #expect(try check(screen) > pages)
  }
}
