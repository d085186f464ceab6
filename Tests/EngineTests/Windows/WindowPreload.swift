/// The next page comes before the user reaches the end of what is loaded.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowPreload {
  private func scrolling(_ count: Int = 200, at: At = .latest) throws -> (World, TestScreen) {
    let world = try World.exact { $0.echoesRequestIDs = true }
    world.post(count)
    try world.connect()
    let screen = try TestScreen(world, at, count: 20) { $0.preloads = true }
    try screen.settle(world)
    world.reset()
    return (world, screen)
  }

  /// Within half a page of the first row the page before it comes.
  @Test func aPageComesNearTheTop() throws {
    let (world, screen) = try scrolling()
    #expect(try screen.ids() == world.truth().suffix(20))
    try screen.window.show(first: 10, count: 5)
    try screen.settle(world)
    #expect(try screen.ids().count == 20)
    #expect(world.requests == [])
    try screen.window.show(first: 9, count: 5)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(40))
    // Pages overlap.
    #expect(world.asked("get_messages").count <= 2)
    #expect(try screen.splits() == [])
  }

  /// While a page is under way each step of a scroll asks for nothing more.
  @Test func noStormOfRequests() throws {
    let (world, screen) = try scrolling()
    var waiting: [String] = []
    world.alter = { request, answer in
      waiting.append(request)
      return nil
    }
    for step in 0..<50 {
      try screen.window.show(first: 9 - step % 10, count: 5)
      _ = try screen.poll()
      try world.run()
    }
    #expect(waiting.count == 1)
    world.alter = { $1 }
    try world.wait(ms: 120_000)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(40))
  }

  /// A server that refuses is not asked at each step either; a new connection may try again.
  @Test func aRefusedPageIsNotAskedAgain() throws {
    let (world, screen) = try scrolling()
    world.alter = { request, answer in
      guard request.contains("get_messages"), let end = request.range(of: "\"request_id\":\"")
      else {
        return answer
      }
      let id = request[end.upperBound...].prefix { $0 != "\"" }
      return "{\"type\":\"get_messages\",\"request_id\":\"\(id)\",\"status\":\"error\","
        + "\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}"
    }
    for _ in 0..<30 {
      try screen.window.show(first: 0, count: 5)
      try screen.settle(world)
    }
    #expect(world.asked("get_messages").count <= 2)
    world.alter = { $1 }
    try world.lookOnceMore()
    try screen.settle(world)
    try screen.window.show(first: 0, count: 5)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(40))
  }

  /// The whole way up, page by page, and at the start nothing more is asked.
  @Test func theWholeWayUp() throws {
    let (world, screen) = try scrolling(90)
    for _ in 0..<10 {
      try screen.window.show(first: 0, count: 5)
      try screen.settle(world)
    }
    #expect(try screen.ids() == world.truth())
    #expect(try screen.state().isAtStart)
    world.reset()
    for _ in 0..<5 {
      try screen.window.show(first: 0, count: 5)
      try screen.settle(world)
    }
    #expect(world.requests == [])
  }

  /// Towards the present from a place in the past, and there it follows.
  @Test func aPageComesNearTheBottom() throws {
    let (world, screen) = try scrolling(200, at: .time(World.epochUs + 100_000_000))
    var seen = try screen.ids().count
    for _ in 0..<20 where try !screen.state().isAtEnd {
      let count = try screen.ids().count
      #expect(count >= seen)
      seen = count
      try screen.window.show(first: count - 5, count: 5)
      try screen.settle(world)
    }
    #expect(try screen.state().isAtEnd)
    #expect(try screen.ids().last == world.truth().last)
    #expect(try screen.splits() == [])
    world.reset()
    try screen.window.show(first: screen.ids().count - 5, count: 5)
    try screen.settle(world)
    #expect(world.requests == [])
  }

  /// Offline the cache gives what it has.
  @Test func offlineItComesFromTheCache() throws {
    let (world, screen) = try scrolling()
    try world.sync(.older, want: 100)
    try world.disconnect()
    _ = try screen.poll()
    world.reset()
    for _ in 0..<8 {
      try screen.window.show(first: 0, count: 5)
      while try screen.poll() != nil {}
    }
    #expect(try screen.ids() == world.truth().suffix(screen.ids().count))
    #expect(try screen.ids().count >= 100)
    #expect(world.requests == [])
  }

  /// Both ends at once, and not without the flag.
  @Test func withoutTheFlagNothingComes() throws {
    let world = try World.exact()
    world.post(100)
    try world.connect()
    let screen = try world.window()
    world.reset()
    try screen.window.show(first: 0, count: 20)
    try screen.settle(world)
    #expect(try screen.ids().count == 20)
    #expect(world.asked("get_messages") == [])
  }
}
