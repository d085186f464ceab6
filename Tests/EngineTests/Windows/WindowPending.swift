/// What is pending in a window whose rows below it are not loaded.
///
/// Rule protected: rows that stand side by side without a split are neighbours, also where
/// the lower one is confirmed and the upper one is not yet.
import Engine
import ReferenceServer
import Testing

@Suite struct WindowPending {
  /// A window that was trimmed far up, without a connection, then took the newest rows.
  private func trimmed() throws -> (World, TestScreen, [UInt64], [String]) {
    let world = try World.idempotent()
    world.post(120)
    try world.connectListening()
    let screen = try world.window(count: 60)
    try screen.settle(world)
    try world.disconnect()
    let operations = try (0..<3).map { try world.say("mine \($0)").operation }
    try screen.poll()
    let all = try screen.ids()
    #expect(all.count == 63)
    try screen.window.trim(first: 0, count: 20)
    try screen.poll()
    #expect(try screen.ids() == Array(all.prefix(20)))
    #expect(try screen.window.load(Load(.last, count: 1)))
    try screen.settle(world)
    return (world, screen, operations, all)
  }

  @Test func whatIsNotLoadedBelowItIsASplit() throws {
    let (world, screen, _, all) = try trimmed()
    #expect(try screen.ids() == Array(all.prefix(20) + all.suffix(3)))
    #expect(try screen.splits() == [20])
    let state = try screen.state()
    #expect(state.isAtEnd && !state.hasGapAfter)
    // All of it is cached: no connection is needed.
    #expect(try screen.window.fill(row: 20))
    try screen.settle(world)
    #expect(try screen.ids() == all)
    #expect(try screen.splits().isEmpty)
  }

  /// The split goes to the row that is confirmed, and what others sent meanwhile stands there.
  @Test func theSplitStaysWhenItIsConfirmed() throws {
    let (world, screen, _, all) = try trimmed()
    world.post(2)
    try world.connectListening()
    try screen.settle(world)
    #expect(try screen.splits() == [20])
    #expect(try screen.ids().prefix(20) == all.prefix(20))
    #expect(try screen.ids().dropFirst(20) == world.truth().suffix(5))
  }

  /// A window so small that it shows nothing else.
  @Test(arguments: [true, false])
  func whereNothingElseWasShownTheNewestAre(_ isUp: Bool) throws {
    let world = try World.idempotent()
    world.post(60)
    try world.connectListening()
    try world.sync()
    try world.disconnect()
    let operations = try (0..<5).map { try world.say("mine \($0)").operation }
    let screen = try world.window(count: 5)
    #expect(try screen.ids().count == 5)
    for operation in operations { _ = try world.client.cancel(operation: operation) }
    if isUp { try world.connectListening() }
    try screen.settle(world)
    #expect(try screen.ids().suffix(5) == world.truth().suffix(5))
    #expect(try screen.state().isAtEnd)
  }

  /// Its rows were all that was shown of the newest: the newest of the others take their place.
  @Test func whereItIsTakenBackTheNewestAreShown() throws {
    let (world, screen, operations, all) = try trimmed()
    for operation in operations { _ = try world.client.cancel(operation: operation) }
    try screen.settle(world)
    #expect(try screen.ids().suffix(20) == world.truth().suffix(20))
    let state = try screen.state()
    #expect(state.isAtEnd && !state.hasGapAfter)
    #expect(try screen.ids().prefix(20) == all.prefix(20))
  }
}
