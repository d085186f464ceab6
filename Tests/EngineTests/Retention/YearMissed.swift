/// Seed 2, "Sync outdated data": a year was missed, the file holds three months.
import Base
import Engine
import ReferenceServer
import Testing
import Timeline

@Suite struct YearMissed {
  /// The host's own tables, filled from the feed as docs/reference/retention.md says.
  private final class Mirror {
    var seq: UInt64 = 0
    var texts: [String: String] = [:]
    /// How often each message was told as new.
    var told: [String: Int] = [:]
    private var names: [UInt64: String] = [:]

    func pull(_ world: World) throws {
      while case .changes(let entries) = try world.client.changes(after: seq, limit: 1_000) {
        let page = try world.page()
        var rows: [UInt64: (id: String, text: String)] = [:]
        for row in page.rows {
          rows[row.number] = (
            String(decoding: page[row.id], as: UTF8.self),
            String(decoding: page[row.payload], as: UTF8.self)
          )
        }
        for entry in entries {
          for number in entry.first...max(entry.first, entry.last) {
            if entry.kind == 3, let name = names[number] { texts[name] = nil }
            guard entry.kind == 1 || entry.kind == 2, let row = rows[number] else { continue }
            if entry.kind == 1 { told[row.id, default: 0] += 1 }
            texts[row.id] = row.text
            names[number] = row.id
          }
          seq = entry.seq
        }
      }
    }
  }

  private static let hourMs: Int64 = 3_600_000

  @Test(arguments: [
    Profile.Capabilities(), [.before, .around], [.before, .around, .changedSince],
  ])
  func rowsOnTheScreenStayAndShowTheEdits(_ can: Profile.Capabilities) throws {
    var knobs = ServerKnobs()
    knobs.takesBefore = can.contains(.before)
    knobs.takesAround = can.contains(.around)
    knobs.tellsChanges = can.contains(.changedSince)
    var profile = Profile()
    profile.capabilities = can
    let world = try World(knobs: knobs, profile: profile)
    let mirror = Mirror()
    // Three months that were here, a message each two hours.
    world.post(1_000, everyMs: 2 * Self.hourMs)
    try world.connect()
    try world.sync(.older, want: 1_000)
    let old = world.truth()
    #expect(try world.cached() == old)
    try world.keep {
      $0.ageUs = 92 * 24 * Self.hourMs * 1_000
      $0.keepsUntold = true
    }
    try mirror.pull(world)
    let screen = try world.window(.message(Array(old[500].utf8)), count: 20)
    let shown = try screen.ids()
    try screen.window.show(first: 0, count: 20)
    // A year without a connection. Of what is here some is edited, and some is deleted.
    try world.client.disconnected()
    let edited = [shown[3], shown[11], old[50], old[900]]
    let gone = [shown[7], old[60], old[910]]
    for id in edited {
      #expect(world.server.edit(conversation: world.room, id: id, payload: "\"edited\""))
    }
    world.server.delete(conversation: world.room, ids: gone)
    world.post(1_500, everyMs: 6 * Self.hourMs)
    // The user comes back: everything that was missed, and a purge after each turn.
    try world.connect()
    var request = SyncRequest(conversation: Array(world.room.utf8), kind: .latest, want: 0)
    request.isUrgent = false
    let sync = try world.client.sync(request)
    try screen.window.show(first: 0, count: try screen.ids().count)
    // Between any two answers the subscriber reads, and slices are purged.
    world.alter = { _, answer in
      _ = try? mirror.pull(world)
      for _ in 0..<3 { _ = try? world.client.advance() }
      return answer
    }
    for _ in 0..<2_000 {
      guard try world.client.syncStatus(sync).phase != .ended else { break }
      try world.run()
      try screen.poll()
      _ = try world.client.advance()
      world.clock.move(ms: 5)
    }
    world.alter = { $1 }
    #expect(try world.client.syncStatus(sync).trouble == nil)
    for _ in 0..<3 {
      try mirror.pull(world)
      try world.purge()
      try screen.settle(world)
    }
    // Rows on the screen stay, but for the one that was deleted, and show what was edited.
    #expect(try screen.ids() == shown.filter { $0 != gone[0] })
    let page = try #require(try screen.window.rows(first: 0, count: 20))
    for row in page.rows where edited.contains(String(decoding: page[row.id], as: UTF8.self)) {
      #expect(String(decoding: page[row.payload], as: UTF8.self) == "\"edited\"")
    }
    // The file holds three months, and what the screen needs.
    let truth = world.truth()
    let left = try world.cached()
    let months = truth.suffix(92 * 4)
    #expect(left.suffix(months.count - 2) == months.suffix(months.count - 2))
    #expect(left.count < months.count + 425)
    #expect(Set(left).isDisjoint(with: gone))
    #expect(try world.lies() == [])
    // Every message was told once, also those that are here no more.
    #expect(Set(mirror.told.keys).isSuperset(of: truth))
    #expect(mirror.told.values.allSatisfy { $0 == 1 })
    #expect(mirror.texts[edited[0]] == "\"edited\"")
    #expect(try world.keeper.room(nil).purgedMessages > 1_000)
    // What was purged comes back when somebody goes there.
    screen.window.close()
    try world.keep { _ in }
    try world.sync(.older, want: 5_000)
    #expect(try world.cached() == truth)
    #expect(try world.lies() == [])
  }
}
