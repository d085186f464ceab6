/// A window that was trimmed to what is pending shows that, and never nothing.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowTrimmed {
  /// A window of 40 rows below one that is pending, without a connection.
  private func opened(_ server: FoundServer) throws -> (World, TestScreen) {
    let world = try server.world().ticking()
    world.post(60)
    try world.connectListening()
    let screen = try world.window(count: 40)
    try world.disconnect()
    try world.say("mine")
    try screen.poll()
    return (world, screen)
  }

  /// Protects: all other rows leave, and stay away.
  @Test(arguments: FoundServer.allCases)
  func whatIsTrimmedAwayStaysAway(_ server: FoundServer) throws {
    let (world, screen) = try opened(server)
    try screen.window.trim(first: screen.numbers.count - 1, count: 1)
    try screen.settle(world)
    #expect(screen.numbers.count == 1)
    try world.connectListening()
    try screen.settle(world)
    #expect(try world.seen().last?.text == "mine")
    #expect(screen.numbers.count == 1)
    world.post(1)
    try screen.settle(world)
    #expect(screen.numbers.count == 2)
  }

  /// Protects: it is not empty for a moment while the server confirms it, whether or not the host
  /// has polled since the trim.
  @Test(arguments: FoundServer.allCases, [(true, 0), (false, 0), (true, 80), (false, 80)])
  func theConfirmedRowStays(_ server: FoundServer, _ how: (polls: Bool, others: Int)) throws {
    let (world, screen) = try opened(server)
    let polls = how.polls
    try screen.window.trim(first: screen.numbers.count - 1, count: 1)
    if polls { try screen.poll() }
    world.post(how.others)
    var least = 1_000
    world.alter = { _, answer in
      if polls {
        _ = try? screen.poll()
        least = min(least, screen.numbers.count)
      }
      return answer
    }
    try world.connectListening()
    try world.run()
    try screen.poll()
    least = min(least, screen.numbers.count)
    #expect(least >= 1)
    try screen.settle(world)
    let number = try #require(try world.seen().last).number
    #expect(screen.numbers.contains(number))
  }
}
