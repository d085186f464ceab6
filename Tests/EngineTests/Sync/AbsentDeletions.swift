/// A server that tells deletions by absence alone.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct AbsentDeletions {
  /// Protects: where changes are told, and deletions by absence alone, a count that differs is
  /// looked into.
  @Test(arguments: [FoundServer.rich, .poor, .numbered])
  func deletionsByAbsence(_ server: FoundServer) throws {
    let world = try server.world(
      knobs: {
        $0.tellsChanges = true
        $0.deletionHorizonUs = 1
      },
      profile: {
        $0.capabilities.insert(.changedSince)
        $0.absenceIsDeletion = true
      })
    let ids = world.post(60)
    try world.connectListening()
    try world.sync()
    try world.sync(.older, want: 100)
    #expect(try world.cached() == world.truth())
    try world.disconnect()
    world.server.delete(conversation: world.room, ids: Array(ids[..<12]))
    world.advance(ms: 60_000)
    world.post(1)
    try world.connectListening()
    try world.sync()
    #expect(try world.cached() == world.truth())
  }
}
