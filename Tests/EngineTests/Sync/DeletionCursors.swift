/// What a server may say of deletions beside their ids: a cursor to go on from, and that they are
/// later entries of a log, whose pages show what was deleted.
///
/// Rule protected: a cursor of the server's own is asked with as it came; what pages show is asked
/// about, however old it is.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct DeletionCursors {
  private func since(_ world: World) -> [String] {
    world.asked("get_deleted_since").map {
      String($0.components(separatedBy: "\"since\":\"")[1].prefix { $0 != "\"" })
    }
  }

  /// Each answer says what to ask the next time, on this connection and after a restart.
  @Test(arguments: ServerKind.few)
  func theNextTimeIsAskedWithTheCursorThatCame(_ kind: ServerKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try kind.world(
      knobs: { $0.deletionCursors = true }, config: { $0.file = folder.file() })
    world.post(30, everyMs: 2_000)
    try world.connect()
    try world.sync()
    for turn in 0..<3 {
      world.advance(ms: 60_000)
      let gone = Array(world.server.newestIDs(world.room, 8).suffix(2))
      world.server.delete(conversation: world.room, ids: gone)
      world.advance(ms: 60_000)
      world.post(2)
      world.reset()
      #expect(try world.sync().trouble == nil)
      #expect(try Set(world.cached()).isDisjoint(with: gone))
      #expect(since(world).count == 1)
      if turn > 0 { #expect(since(world).allSatisfy { $0.hasPrefix("~") }) }
      if turn == 1 {
        try folder.kill(world)
        try world.connect()
      }
    }
    #expect(try world.lies() == [])
    #expect(try world.client.stats().restores == 0)
  }

  /// A cursor that prints a time is a time: it is asked again below it, and never moves beyond
  /// what the server's clock is known to show.
  @Test func aCursorThatIsATimeIsTakenForOne() throws {
    let world = try ServerKind.all[0].world()
    world.post(30, everyMs: 2_000)
    try world.connect()
    try world.sync()
    world.alter = { request, answer in
      guard request.contains("get_deleted_since") else { return answer }
      return answer.replacingOccurrences(
        of: "\"message_ids\":[]",
        with: "\"message_ids\":[],\"next_since\":\"2999-01-01T00:00:00\"")
    }
    world.advance(ms: 60_000)
    world.post(1)
    try world.sync()
    world.alter = { $1 }
    world.advance(ms: 60_000)
    let gone = Array(world.server.newestIDs(world.room, 9).suffix(1))
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 60_000)
    world.post(1)
    try world.sync()
    #expect(try Set(world.cached()).isDisjoint(with: gone))
  }

  /// The server has forgotten the cursor: all is asked for anew, and nothing is lost.
  @Test func aForgottenCursorBeginsAnew() throws {
    let world = try ServerKind.all[0].world(knobs: { $0.deletionCursors = true })
    world.post(30, everyMs: 2_000)
    try world.connect()
    try world.sync()
    world.advance(ms: 60_000)
    world.post(1)
    try world.sync()
    let gone = Array(world.server.newestIDs(world.room, 9).suffix(1))
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 60_000)
    world.post(1)
    world.alter = { request, answer in
      guard request.contains("\"since\":\"~") else { return answer }
      // As this server answers: without the id of the request.
      return """
        {"type":"get_deleted_since","status":"error",\
        "error":{"code":"unknown_cursor","message":"forgotten"}}
        """
    }
    world.reset()
    #expect(try world.sync().trouble == nil)
    // The time of that answer takes its place; no message is read again.
    #expect(world.requests.count == 3)
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.lies() == [])
    #expect(try world.client.stats().restores == 0)
  }

  /// A pushed message from before all that deletions were asked from: the cursor does not hide
  /// that it may be deleted.
  @Test func anOlderMessageIsAskedAboutBesideACursor() throws {
    let world = try ServerKind.all[0].world(knobs: { $0.deletionCursors = true })
    let old = world.post(1)
    world.advance(ms: 60_000)
    world.server.delete(conversation: world.room, ids: old)
    world.advance(ms: 3_600_000)
    world.post(60, everyMs: 2_000)
    try world.connect()
    try world.sync(.live)
    for _ in 0..<2 {
      world.advance(ms: 60_000)
      world.post(1)
      try world.sync()
    }
    #expect(since(world).last?.hasPrefix("~") == true)
    _ = try world.client.receive(
      Array(
        (#"{"type":"message_new","conversation_id":"room","message":{"sender_id":"you","#
          + #""message_id":"\#(old[0])","created_at":"2026-02-15T22:15:46","payload":"late"}}"#)
          .utf8))
    try world.run()
    try world.sync()
    #expect(try !world.cached().contains(old[0]))
  }
}

/// No time is a cursor of the server's, so pages name the first one.
///
/// Rule protected: deletions and edits are found by the cursor that the first page named, in later
/// processes too, and a cursor that was forgotten ends no sync for good.
@Suite struct FirstCursors {
  private func world(
    _ kind: ServerKind, in folder: TrapsRestart.Folder, tells changes: Bool = false
  ) throws -> World {
    try kind.world(
      knobs: {
        $0.knowsCursorsAlone = true
        $0.tellsChanges = changes
      },
      profile: { if changes { $0.capabilities.insert(.changedSince) } },
      config: { $0.file = folder.file() })
  }

  private func sinces(_ world: World, _ verb: String) -> [String] {
    world.asked(verb).map {
      String($0.components(separatedBy: "\"since\":\"")[1].prefix { $0 != "\"" })
    }
  }

  @Test(arguments: ServerKind.few)
  func deletionsAndEditsAreAskedFromThePagesCursor(_ kind: ServerKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, in: folder, tells: true)
    let posted = world.post(30, everyMs: 2_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    // All that is stored was read just now.
    #expect(world.asked("get_deleted_since").isEmpty)
    for turn in 0..<3 {
      world.advance(ms: 60_000)
      let gone = Array(world.server.newestIDs(world.room, 8).suffix(2))
      world.server.delete(conversation: world.room, ids: gone)
      world.server.edit(conversation: world.room, id: posted[turn], payload: "\"edited\"")
      world.advance(ms: 60_000)
      world.post(2)
      world.reset()
      #expect(try world.sync().trouble == nil)
      #expect(try Set(world.cached()).isDisjoint(with: gone))
      #expect(sinces(world, "get_deleted_since").allSatisfy { $0.hasPrefix("~") })
      #expect(sinces(world, "get_changed_since").allSatisfy { $0.hasPrefix("~") })
      let page = try world.page()
      let row = page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == posted[turn] }
      if let row { #expect(String(decoding: page[row.payload], as: UTF8.self).contains("edited")) }
      try folder.kill(world)
      try world.connect()
    }
    #expect(try world.lies() == [])
    #expect(try world.client.stats().restores == 0)
  }

  /// A push stored a message before any page: that it was deleted before the cursor was made is
  /// seen by its absence.
  @Test(arguments: ServerKind.few)
  func whatWasStoredBeforeTheCursorGoesByAbsence(_ kind: ServerKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, in: folder)
    world.post(10, everyMs: 2_000)
    try world.connectListening()
    let early = world.post(1)
    try world.run()
    try world.disconnect()
    world.server.delete(conversation: world.room, ids: early)
    world.advance(ms: 60_000)
    world.post(3, everyMs: 2_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.cached() == world.truth())
    try folder.kill(world)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.lies() == [])
  }

  /// The server forgets all cursors: what is claimed is read anew, and later processes go on from
  /// the cursor of that page.
  @Test(arguments: ServerKind.few)
  func aForgottenCursorIsReplacedByThePagesOwn(_ kind: ServerKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, in: folder)
    world.post(30, everyMs: 2_000)
    try world.connect()
    try world.sync()
    world.advance(ms: 60_000)
    let forgotten = world.server.nowUs
    let gone = Array(world.server.newestIDs(world.room, 9).suffix(1))
    world.server.delete(conversation: world.room, ids: gone)
    world.advance(ms: 60_000)
    world.post(1)
    world.alter = { request, answer in
      guard let since = request.components(separatedBy: "\"since\":\"~").dropFirst().first,
        let us = Int64(since.prefix { $0 != "\"" }), us < forgotten
      else { return answer }
      return """
        {"type":"get_deleted_since","status":"error",\
        "error":{"code":"unknown_cursor","message":"forgotten"}}
        """
    }
    for _ in 0..<2 {
      #expect(try world.sync().trouble == nil)
      #expect(try world.sync(.older, want: 100).trouble == nil)
      #expect(try world.cached() == world.truth())
      try folder.kill(world)
      try world.connect()
    }
    world.reset()
    #expect(try world.sync().trouble == nil)
    #expect(world.requests.count <= 2)
    #expect(try world.client.stats().restores == 0)
  }

  /// Its pages name none either: syncs end well, and absence alone tells what was deleted.
  @Test func aServerWithoutAnyCursorRefusesNoSyncForGood() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(ServerKind.all[0], in: folder)
    world.alter = { _, answer in
      answer.replacingOccurrences(of: "\"deleted_since\"", with: "\"other\"")
    }
    world.post(12, everyMs: 2_000)
    try world.connect()
    for _ in 0..<2 {
      #expect(try world.sync().trouble == nil)
      world.advance(ms: 60_000)
      let gone = Array(world.server.newestIDs(world.room, 4).suffix(1))
      world.server.delete(conversation: world.room, ids: gone)
      world.advance(ms: 60_000)
      world.post(1)
      #expect(try world.sync().trouble == nil)
      #expect(try world.cached() == world.truth())
      try folder.kill(world)
      try world.connect()
    }
    #expect(try world.client.stats().restores == 0)
  }
}

/// Pages go on showing what was deleted; only the log of deletions tells.
@Suite struct DeletionsAsLaterEntries {
  private func world(_ kind: ServerKind) throws -> World {
    try kind.world(
      knobs: { $0.keepsDeleted = true },
      profile: {
        $0.deletionsAreLater = true
        $0.countsHidden = true
      })
  }

  /// What was deleted before the first opening is in its page, which is all that is stored.
  @Test(arguments: ServerKind.few)
  func afterAFullReadDeletionsAreAskedFor(_ kind: ServerKind) throws {
    let world = try world(kind)
    let posted = world.post(15, everyMs: 2_000)
    world.server.delete(conversation: world.room, ids: [posted[3], posted[9]])
    world.advance(ms: 60_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try world.cached() == posted.filter { $0 != posted[3] && $0 != posted[9] })
    world.reset()
    try world.sync()
    #expect(world.requests.count <= 2)
    #expect(try world.client.stats().restores == 0)
  }

  /// Deleted long ago, and shown by a page further down that is read much later. Asking goes
  /// further back with each question, so that there are few.
  @Test(arguments: ServerKind.few)
  func whatOlderPagesShowIsAskedAbout(_ kind: ServerKind) throws {
    let world = try world(kind)
    let posted = world.post(400, everyMs: 60_000)
    let gone = Set(stride(from: 5, to: 400, by: 7).map { posted[$0] })
    world.server.delete(conversation: world.room, ids: Array(gone))
    world.advance(ms: 60_000)
    try world.connect()
    #expect(try world.sync().trouble == nil)
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    world.reset()
    for _ in 0..<40 where try world.cached().count < 400 - gone.count {
      #expect(try world.sync(.older, want: 40).trouble == nil)
      #expect(try Set(world.cached()).isDisjoint(with: gone))
    }
    #expect(try world.cached() == posted.filter { !gone.contains($0) })
    #expect(world.asked("get_deleted_since").count <= 8)
    #expect(try world.client.stats().restores == 0)
  }

  /// That a whole page shows again what was deleted is no restored server.
  @Test(arguments: ServerKind.few)
  func whatIsShownAgainStaysDeleted(_ kind: ServerKind) throws {
    let world = try world(kind)
    let posted = world.post(12, everyMs: 2_000)
    try world.connect()
    try world.sync()
    for _ in 0..<3 {
      world.advance(ms: 60_000)
      world.server.delete(conversation: world.room, ids: [posted[4]])
      world.advance(ms: 60_000)
      world.post(1)
      try world.client.disconnected()
      try world.client.connected()
      #expect(try world.sync().trouble == nil)
      #expect(try world.sync(.older, want: 10_000).trouble == nil)
      #expect(try !world.cached().contains(posted[4]))
    }
    #expect(try world.client.stats().restores == 0)
  }
}
