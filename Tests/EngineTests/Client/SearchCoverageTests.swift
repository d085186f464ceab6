/// Which conversations a search does not see all of.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct SearchCoverageTests {
  private func unsearched(
    _ world: World, _ name: String? = nil, after number: UInt64 = 0, limit: Int = 100
  ) throws -> [UnsearchedView] {
    try SearchService(world.client).unsearched(
      name.map { Array($0.utf8) }, after: number, limit: limit)
  }

  private func counts(_ world: World, _ name: String? = nil) throws -> (sealed: Int, partial: Int) {
    var query = SearchQuery(Array("x".utf8))
    query.conversation = name.map { Array($0.utf8) }
    let page = try SearchService(world.client).search(query)
    return (page.sealed, page.partial)
  }

  /// They are those that an answer counts, with the time from which on they are whole.
  @Test(arguments: ServerKind.few) func whatAnAnswerCountsIsNamed(_ kind: ServerKind) throws {
    let world = try kind.world()
    for name in ["a", "b", "c", "empty"] {
      world.server.createConversation(name, participants: ["me", "you"])
    }
    world.post(300, everyMs: 10_000)
    for name in ["a", "b"] { for _ in 0..<5 { world.put(in: name) } }
    #expect(throws: Failure.self) { _ = try unsearched(world) }
    _ = try SearchService(world.client).switchSearch(on: true)
    try world.connect()
    for name in ["a", "b", world.room] { try world.sync(.live, in: name) }
    try world.sync(.older, want: 1_000, in: "a")
    try world.sync(.older, want: 1_000, in: "b")
    let found = try unsearched(world)
    #expect(found.map(\.conversation) == [Array(world.room.utf8)])
    #expect(try counts(world).partial == found.count)
    let one = try #require(found.first)
    #expect(one.isPartial && one.sealed == 0)
    // What it says to be whole is: from there on the cache has what the server has.
    let times = world.server.truth(world.room).map(\.stampUs)
    let oldest = try #require(try world.page().rows.map(\.timeUs).min())
    #expect(one.wholeFromUs >= oldest && one.wholeFromUs <= times.last!)
    let here = try world.page().rows.filter { $0.timeUs >= one.wholeFromUs }.count
    let there = times.filter { $0 / kind.resolutionUs * kind.resolutionUs >= one.wholeFromUs }.count
    #expect(here == there)
    #expect(try unsearched(world, world.room) == found)
    #expect(try unsearched(world, "a") == [] && counts(world, "a").partial == 0)
    #expect(try unsearched(world, after: one.number) == [])
    #expect(throws: Failure.self) { _ = try unsearched(world, "nowhere") }
    try world.sync(.older, want: 1_000)
    #expect(try unsearched(world) == [] && counts(world).partial == 0)
  }

  /// Of which nothing is known to be whole, and what is not opened yet.
  @Test func whatIsSealedIsNamed() throws {
    let world = try World { $0.open = { _ in .notYet } }
    _ = try SearchService(world.client).switchSearch(on: true)
    world.post(3)
    try world.connect()
    try world.sync(.older, want: 100)
    let found = try unsearched(world)
    #expect(found.map(\.sealed) == [3] && found.map(\.isPartial) == [false])
    #expect(found.map(\.wholeFromUs) == [0])
    #expect(try counts(world).sealed == 3)
  }

  @Test func whatIsOnlyImportedIsWholeNowhere() throws {
    let world = try World()
    _ = try SearchService(world.client).switchSearch(on: true)
    world.post(3)
    try world.take(world.oldCache())
    let found = try unsearched(world)
    #expect(found.map(\.wholeFromUs) == [.max] && found.map(\.isPartial) == [true])
  }

  /// In pages, each once.
  @Test func manyComeInPages() throws {
    let world = try World()
    _ = try SearchService(world.client).switchSearch(on: true)
    let names = (0..<7).map { "r\($0)" }
    for name in names {
      world.server.createConversation(name, participants: ["me", "you"])
      for _ in 0..<80 {
        world.advance(ms: 1_000)
        world.put(in: name)
      }
    }
    try world.connect()
    for name in names { try world.sync(.live, in: name) }
    var pages: [UnsearchedView] = []
    while true {
      let page = try unsearched(world, after: pages.last?.number ?? 0, limit: 2)
      if page.isEmpty { break }
      #expect(page.count <= 2)
      pages += page
    }
    #expect(pages.map(\.conversation) == names.map { Array($0.utf8) })
    #expect(try counts(world).partial == pages.count)
  }

  /// Nothing is marked for who wants that; all else is the same.
  @Test func marksAreLeftAway() throws {
    let world = try World()
    _ = try SearchService(world.client).switchSearch(on: true)
    world.post(3)
    try world.connect()
    try world.sync()
    var query = SearchQuery(Array("text".utf8))
    let marked = try SearchService(world.client).search(query)
    query.leavesMarks = true
    let plain = try SearchService(world.client).search(query)
    #expect(marked.rows.count == 3 && marked.rows.allSatisfy { !$0.marks.isEmpty })
    #expect(plain.rows.count == 3 && plain.rows.allSatisfy { $0.marks.isEmpty })
    #expect(plain.messages.rows.map(\.number) == marked.messages.rows.map(\.number))
  }
}
