import Engine
import ReferenceServer
import Testing

@Suite struct WindowsOpen {
  @Test func atTheLatestItShowsTheCacheAtOnceAndThenThePresent() throws {
    let world = try World()
    world.post(300)
    let screen = try TestScreen(world)
    #expect(try screen.poll() == nil)
    #expect(try screen.state().waiting == .connection)
    try world.connect()
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
    let state = try screen.state()
    #expect(state.isAtEnd)
    #expect(!state.isAtStart)
    #expect(state.waiting == .nothing)
    #expect(state.trouble == nil)
  }

  @Test func loadsBeforeUntilTheStart() throws {
    let world = try World()
    world.post(180)
    try world.connect()
    let screen = try world.window()
    var loads = 0
    while try screen.window.load(Load(.before(0), count: 20)) {
      try screen.settle(world)
      loads += 1
      try #require(loads < 30)
    }
    #expect(try screen.ids() == world.truth())
    #expect(try screen.splits().isEmpty)
    #expect(try screen.state().isAtStart)
  }
}
