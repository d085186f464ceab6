/// The host knows that nothing of an earlier connection reaches the server any more.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct DeadConnections {
  /// A send whose answer was lost with its connection, and one behind it.
  private func lost(_ arrives: Bool) throws -> (World, UInt64) {
    let world = try World.forgetful(tellsClientIDs: false)
    world.post(20)
    try world.connect()
    try world.sync()
    let (operation, _) = try world.sayUnanswered("hello", arrives: arrives)
    try world.say("behind")
    try world.client.disconnected()
    world.reset()
    return (world, operation)
  }

  /// Otherwise a time-out of the new connection passes first.
  @Test(arguments: [true, false])
  func withoutItTheLookWaits(_ arrives: Bool) throws {
    let (world, operation) = try lost(arrives)
    try world.connect()
    try world.run()
    #expect(try world.standing(operation) == .unknown)
    #expect(try world.client.advance() > 1_000)
    #expect(world.asked("send_message").isEmpty)
  }

  /// Said before the next connection, or on it: the look begins at once.
  @Test(arguments: [true, false], [true, false])
  func theLookBeginsAtOnce(_ arrives: Bool, _ isUp: Bool) throws {
    let (world, operation) = try lost(arrives)
    if !isUp { try world.client.formerConnectionIsDead() }
    try world.connect()
    if isUp { try world.client.formerConnectionIsDead() }
    try world.run()
    _ = try world.client.advance()
    try world.run()
    #expect(try world.standing(operation) == (arrives ? .done : .unknown))
    #expect(try world.waiting(operation) == .nothing)
    #expect(world.asked("send_message").count == 1)
    #expect(world.served() == (arrives ? ["hello", "behind"] : ["behind"]))
  }

  /// It holds for what was before, and not for the connection after the next.
  @Test func itHoldsForOneConnection() throws {
    let (world, _) = try lost(true)
    try world.client.formerConnectionIsDead()
    try world.connect()
    try world.run()
    _ = try world.client.advance()
    try world.run()
    #expect(world.served() == ["hello", "behind"])
    let (operation, _) = try world.say("again")
    world.lose("send_message")
    try world.run()
    world.answerAll()
    try world.client.disconnected()
    try world.connect()
    try world.run()
    #expect(try world.standing(operation) == .unknown)
    #expect(try world.client.advance() > 1_000)
  }
}
