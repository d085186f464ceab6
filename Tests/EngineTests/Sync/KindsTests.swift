/// Every kind of server with a device that listens: at rest the cache is the server.
import Base
import Engine
import Foundation
import ReferenceServer
import Store
import Testing

@Suite struct KindsTests {
  /// What a device shows of a message, and what the server has.
  private struct Shown: Equatable {
    var id: String
    var payload: String
    var isPinned: Bool
    var reactions: [String: [String]]
    var isRead: Bool
  }

  private func cached(_ world: World) throws -> [Shown] {
    let page = try world.page()
    return page.rows.map { row in
      func text(_ range: Range<Int>?) -> String {
        range.map { String(decoding: page[$0], as: UTF8.self) } ?? ""
      }
      let reactions = try? JSONDecoder().decode(
        [String: [String]].self, from: Data(text(row.reactions).utf8))
      return Shown(
        id: text(row.id), payload: text(row.payload), isPinned: row.flags & (1 << 4) != 0,
        reactions: reactions ?? [:], isRead: text(row.readBy).contains("you"))
    }
  }

  private func truth(_ world: World) -> [Shown] {
    let ids =
      world.server.knobs.numbersMessages ? world.server.truth(world.room).map(\.id) : world.truth()
    return ids.compactMap { world.server.message(world.room, $0) }.map { message in
      Shown(
        id: message.id, payload: message.payload, isPinned: message.isPinned ?? false,
        reactions: Dictionary(uniqueKeysWithValues: message.reactions.map { ($0.name, $0.users) }),
        isRead: message.readBy.contains("you"))
    }
  }

  /// Something of each sort happens to messages of the last page.
  private func stir(_ world: World, _ ids: [String]) {
    let server = world.server
    let room = world.room
    server.edit(conversation: room, id: ids[1], payload: "\"edited\"")
    server.react(conversation: room, id: ids[2], user: "you", reaction: "👍")
    server.react(conversation: room, id: ids[3], user: "you", reaction: "👍")
    server.react(conversation: room, id: ids[3], user: "you", reaction: "👍", isSet: false)
    server.pin(conversation: room, id: ids[4])
    server.pin(conversation: room, id: ids[5])
    server.pin(conversation: room, id: ids[5], isPinned: false)
    server.markRead(conversation: room, ids: [ids[6], ids[7]], user: "you")
    server.delete(conversation: room, ids: [ids[8], ids[9]])
  }

  @Test(arguments: ServerKind.capable)
  func whatHappensWhileListeningIsShown(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130, sender: "me")
    try world.connectListening()
    try world.sync()
    try world.sync(.older, want: 10_000)
    for round in 0..<3 {
      let ids = world.post(12, sender: round == 1 ? "you" : "me")
      stir(world, ids)
      try world.run()
    }
    try world.run()
    #expect(try cached(world) == truth(world))
    #expect(try world.page().coverage.gaps.isEmpty)
    #expect(world.server.pendingRefs(user: "me") == [])
    #expect(world.replies.isEmpty != kind.capabilities.contains(.envelope))
    #expect(world.receipts.allSatisfy { $0 != .quarantined })
  }

  /// What happened while the device was away comes by pages, deletions, changes or updates.
  @Test(arguments: ServerKind.capable)
  func whatHappenedWhileAwayIsFetched(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130, sender: "me")
    try world.connectListening()
    try world.sync()
    try world.sync(.older, want: 10_000)
    try world.disconnect()
    let old = Array(world.truth().suffix(40))
    if !kind.capabilities.isDisjoint(with: [.changedSince, .envelope]) { stir(world, old) }
    let ids = world.post(70, sender: "me")
    stir(world, ids)
    world.server.delete(conversation: world.room, ids: Array(old.prefix(3)))
    world.advance(ms: 60_000)
    try world.connectListening()
    try world.sync()
    #expect(try cached(world) == truth(world))
    #expect(world.server.pendingRefs(user: "me") == [])
  }
}
