/// An index that is wrong is found, thrown away, and built anew.
import Base
import ReferenceServer
import Testing

@testable import Engine
@testable import Store

@Suite struct SearchCheckupTests {
  /// header: "A step that finds a difference returns #TL_E_DAMAGED"
  @Test func aWrongIndexIsThrownAway() throws {
    let world = try World()
    #expect(throws: Failure.notFound("search is not switched on")) {
      try SearchService(world.client).checkSearch()
    }
    _ = try SearchService(world.client).switchSearch(on: true)
    world.post(30)
    try world.connect()
    try world.sync()
    try world.disconnect()
    func check() throws {
      let work = try SearchService(world.client).checkSearch()
      while try !work.step(milliseconds: 0).isDone {}
      let progress = try work.progress()
      #expect(progress.done == progress.total && progress.total > 0)
    }
    func build() throws {
      let work = try SearchService(world.client).buildSearch()
      while try !work.step(milliseconds: 0).isDone {}
    }
    try check()
    try build()
    try check()
    try world.client.store.write { tx throws(StoreFailure) in
      try tx.connection.run("DELETE FROM search_row WHERE number = 5")
    }
    #expect(throws: Failure.damaged) { try check() }
    #expect(try SearchService(world.client).search(SearchQuery(Array("x".utf8))).unbuilt > 0)
    try build()
    try check()
  }
}
