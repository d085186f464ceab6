/// What is told that is not a message: poison, unknown things, entities, silence.
import Base
import Engine
import Foundation
import ReferenceServer
import Store
import Testing

@Suite struct RealtimeEvents {
  private let at = World.epochUs

  /// What is on disk after the client has been closed.
  private func stored<Result>(
    _ world: World, _ folder: TrapsRestart.Folder,
    _ body: (ReadTransaction) throws(StoreFailure) -> Result
  ) throws -> Result {
    world.client.close()
    let (path, key) = folder.storePath
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: key, create: false, strict: false, baseVFS: nil),
        account: Array("personal".utf8), user: Array("me".utf8)))
    defer { store.close() }
    return try store.read(body)
  }

  private func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: Array(bytes), as: UTF8.self)
  }

  private func start() throws -> (World, TrapsRestart.Folder) {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    return (world, folder)
  }

  /// What cannot be applied is kept as it came, told, and replied to.
  @Test func aPoisonUpdateDoesNotBlock() throws {
    let (world, folder) = try start()
    let good = Frames.message("a", atUs: at)
    let bad = "{\"message_id\":\"b\",\"conversation_id\":\"room\",\"payload\":\"x\"}"
    let mixed = Frames.update("r1", "message", [bad, good])
    #expect(try world.hand(mixed) == .quarantined)
    let broken = "{\"type\":\"update\",\"payload\":{\"ref\":\"r2\",\"payload\":7}}"
    #expect(try world.hand(broken) == .quarantined)
    let homeless = Frames.update("r3", "pin", ["{\"message_id\":\"b\"}", "5"])
    #expect(try world.hand(homeless) == .quarantined)
    #expect(
      try world.hand(Frames.update("r4", "message", [Frames.message("c", atUs: at + 1)]))
        == .applied)
    #expect(try world.replies() == ["r1", "r2", "r3", "r4"])
    #expect(try world.cached() == ["a", "c"])
    #expect(try world.client.stats().quarantined >= 4)
    // The same again is no news.
    #expect(try world.hand(mixed) == .applied)
    let events = try events(world, folder)
    #expect(events.map(\.kind) == [4, 4, 4])
    #expect(
      text(events[0].body) == String(mixed.dropFirst(mixed.distance(to: "{\"ref\"")).dropLast()))
    #expect(text(events[1].body) == "{\"ref\":\"r2\",\"payload\":7}")
  }

  /// An entity or an action of a later version goes to the host as it came.
  @Test func whatIsUnknownReachesTheHostAndIsRepliedTo() throws {
    let (world, folder) = try start()
    let poll = Frames.update("r1", "poll", silent: true, ["{\"question\":\"why\"}"])
    #expect(try world.hand(poll) == .applied)
    let moved = Frames.update("r2", "message", "archive", ["{\"message_id\":\"a\"}"])
    #expect(try world.hand(moved) == .applied)
    #expect(try world.replies() == ["r1", "r2"])
    let events = try events(world, folder)
    #expect(events.map(\.kind) == [1, 1])
    #expect(events.map { text($0.entity) } == ["poll", "message"])
    #expect(text(events[0].body).contains("\"items\":[{\"question\":\"why\"}]"))
    #expect(events.map(\.isSilent) == [true, false])
    #expect(events.map(\.action) == [1, 0])
  }

  /// Seed 4's example: profiles that were deleted.
  @Test func profilesThatWereDeletedGo() throws {
    let (world, folder) = try start()
    let people = ["ada", "bob", "eve"].map { "{\"user_id\":\"\($0)\",\"name\":\"\($0)\"}" }
    try world.hand(Frames.update("r1", "profile", people))
    try world.hand(
      Frames.update("r2", "profile", "update", ["{\"user_id\":\"bob\",\"name\":\"Bob\"}"]))
    try world.hand(
      Frames.update("r3", "profile", "delete", ["{\"user_id\":\"ada\"}", "{\"user_id\":\"eve\"}"]))
    // A profile that was never known may be deleted too.
    try world.hand(Frames.update("r4", "profile", "delete", ["{\"user_id\":\"zoe\"}"]))
    #expect(try world.replies() == ["r1", "r2", "r3", "r4"])
    let left = try stored(world, folder) { rx throws(StoreFailure) in
      try rx.feedReader.entities(kind: 3, cid: 0, after: [], limit: 100)
    }
    #expect(left.map { text($0.id) } == ["bob"])
    #expect(left.map { text($0.body) } == ["{\"user_id\":\"bob\",\"name\":\"Bob\"}"])
  }

  /// Members belong to a conversation and go with it; the host is told.
  @Test func aDeletedConversationTakesItsMembersAlong() throws {
    let (world, folder) = try start()
    func member(_ conversation: String, _ user: String) -> String {
      "{\"conversation_id\":\"\(conversation)\",\"user_id\":\"\(user)\"}"
    }
    try world.hand(
      Frames.update("r1", "member", [member("x", "ada"), member("x", "bob"), member("y", "ada")]))
    try world.hand(
      Frames.update("r2", "conversation", ["{\"conversation_id\":\"x\",\"title\":\"T\"}"]))
    try world.hand(Frames.update("r3", "conversation", "delete", ["{\"conversation_id\":\"x\"}"]))
    try world.hand(
      #"{"type":"conversation_updated","conversation_id":"y","conversation":{"title":"U"}}"#
    )
    let (members, rooms) = try stored(world, folder) { rx throws(StoreFailure) in
      (
        try rx.feedReader.entities(kind: 2, after: (0, []), limit: 100),
        try rx.feedReader.entities(kind: 1, after: (0, []), limit: 100)
      )
    }
    #expect(members.map { text($0.id) } == ["ada"])
    #expect(rooms.map { text($0.body) } == ["{\"title\":\"U\"}"])
    world.client = try Client.open(world.config)
    let events = try events(world, folder)
    #expect(events.map(\.kind) == [5, 5, 5, 3, 3, 3])
    #expect(events.map(\.action) == [1, 1, 1, 1, 3, 2])
  }

  @Test func typingReachesTheHost() throws {
    let (world, folder) = try start()
    try world.hand(
      "{\"type\":\"typing\",\"conversation_id\":\"room\",\"user_id\":\"you\",\"event\":\"begin\"}")
    let events = try events(world, folder)
    #expect(events.map(\.kind) == [2])
    #expect(text(events[0].entity) == "typing")
    #expect(text(events[0].body).contains("\"event\":\"begin\""))
  }

  @Test func silentReachesTheFeed() throws {
    let (world, folder) = try start()
    try world.hand(Frames.update("r1", "message", [Frames.message("a", atUs: at)]))
    try world.hand(
      Frames.update("r2", "message", silent: true, [Frames.message("b", atUs: at + 1)]))
    try world.hand(Frames.update("r3", "message", [Frames.message("c", atUs: at + 2)]))
    let page = try stored(world, folder) { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: 0, limit: 100)
    }
    guard case .entries(let entries) = page else {
      Issue.record("no entries")
      return
    }
    let inserted = entries.filter { $0.kind == .inserted }
    #expect(inserted.map(\.isSilent) == [false, true, false])
  }

  /// Delivered and listened receipts of others are kept and only grow.
  @Test func receiptsOfOthersOnlyGrow() throws {
    let (world, folder) = try start()
    let copy = Frames.message("a", atUs: at)
    func receipt(_ type: String, _ user: String) -> String {
      """
      {"type":"messages_\(type)","conversation_id":"room","user_id":"\(user)","message_ids":["a"]}
      """
    }
    try world.hand(receipt("listened", "ada"))
    try world.hand(Frames.push(copy))
    for (type, user) in [("delivered", "ada"), ("listened", "bob"), ("delivered", "eve")] {
      try world.hand(receipt(type, user))
    }
    try world.hand(Frames.edit(copy))
    let (delivered, listened) = try stored(world, folder) { rx throws(StoreFailure) in
      let page = try rx.messages(RowQuery(cid: 1, from: .latest, limit: 10))
      guard let row = page.rows.first else { return ("", "") }
      return (text(page[row.deliveredBy]), text(page[row.listenedBy]))
    }
    #expect(delivered.contains("ada") && delivered.contains("eve"))
    #expect(listened.contains("ada") && listened.contains("bob"))
  }

  private func events(
    _ world: World, _ folder: TrapsRestart.Folder
  ) throws -> [EventEntry] {
    let page = try stored(world, folder) { rx throws(StoreFailure) in
      try rx.feedReader.events(after: 0, limit: 1_000)
    }
    guard case .entries(let entries) = page else { return [] }
    return entries
  }
}

extension String {
  /// How many characters stand before a piece.
  fileprivate func distance(to piece: String) -> Int {
    range(of: piece).map { distance(from: startIndex, to: $0.lowerBound) } ?? 0
  }
}
