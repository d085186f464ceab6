import Engine
import Testing
import Foundation
@Suite struct Debugging {
  @Test func wrongCount() throws {
    let kind = ServerKind.all[1]
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.missing(130)
    let real = world.server.visibleCount(world.room)
    world.alter = { _, answer in
      answer.replacingOccurrences(
        of: "\"total_count\":\(real)", with: "\"total_count\":\(real + 7)")
    }
    func show(_ t: String, _ s: SyncStatus) throws {
      let st = try world.client.stats()
      print("##", t, s, "audit", st.auditMismatches, "restores", st.restores)
      for r in world.requests { print("  ", r.suffix(90)) }
      world.reset()
    }
    try show("latest", world.sync())
    try show("older", world.sync(.older, want: 1_000))
    world.tick(ms: 60_000)
    try show("latest", world.sync())
    try show("latest", world.sync())
  }
  @Test func restored() throws {
    let kind = ServerKind.all[1]
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    let survivor = world.server.newestIDs(world.room, 20)[19]
    let backup = world.server.backup()
    try world.missing(130)
    world.server.delete(conversation: world.room, ids: [survivor])
    world.post(1)
    try world.sync()
    world.server.restore(backup)
    world.tick(ms: 60_000)
    try world.missing(3)
    func show(_ t: String, _ s: SyncStatus) throws {
      let st = try world.client.stats()
      print("##", t, s, "audit", st.auditMismatches, "restores", st.restores)
      for r in world.requests { print("  ", r.suffix(90)) }
      world.reset()
    }
    try show("latest", world.sync())
    try show("older", world.sync(.older, want: 1_000))
    world.tick(ms: 60_000)
    try show("latest", world.sync())
    try show("latest", world.sync())
  }
}
