/// Items that could not be read, and that the server shows rightly by now.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct MendedItems {
  /// Protects: a fill on a later connection asks for the place of an unreadable item again, once,
  /// and the message comes where the server mended it.
  @Test(arguments: FoundServer.withPages, [true, false])
  func aFillAsksForTheHoleAgain(_ kind: FoundServer, isMended: Bool) throws {
    let world = try kind.world()
    let ids = world.post(120)
    let stamp = "\"message_id\":\"\(ids[20])\""
    world.alter = { _, answer in answer.replacingOccurrences(of: stamp, with: "\"message_id\":17") }
    try world.connect()
    try world.sync()
    for _ in 0..<3 { try world.sync(.older, want: 100) }
    #expect(try world.cached() == world.truth().filter { $0 != ids[20] })
    // On one connection it is not asked for again.
    world.reset()
    try world.sync(.older, want: 100)
    #expect(world.asked("get_messages").isEmpty)
    if isMended { world.answerAll() }
    try world.lookOnceMore()
    try world.sync()
    for _ in 0..<3 { try world.sync(.older, want: 100) }
    #expect(try world.cached() == world.truth().filter { isMended || $0 != ids[20] })
    #expect(try world.lies(hidden: isMended ? [] : [ids[20]]) == [])
    world.reset()
    try world.sync(.older, want: 100)
    #expect(world.asked("get_messages").isEmpty)
  }
}
