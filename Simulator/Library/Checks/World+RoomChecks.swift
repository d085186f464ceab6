/// What must hold at rest of conversations as things, and of what this user told about messages.
internal import ReferenceServer

extension World {
  /// What the user did to a conversation is there: its title, its people and its admins are the
  /// server's.
  func checkRooms(_ probe: TidelineClient) throws {
    // They have no version: of two that came in another order the later one holds, until the
    // list is asked for, as every open list does on each connection.
    guard let list = try input({ try probe.syncConversations() }) else { return }
    try pump()
    try until("the list of conversations") { try client.progress(list).outcome != .pending }
    let listed = try probe.allOperations()
    for conversation in conversations {
      let name = conversation.name
      let names = Set([name] + acts.named.filter { $0.value.contains(name) }.map(\.key))
      if !names.isDisjoint(with: acts.vague) { continue }
      let wasChanged = listed.contains {
        $0.conversation == name && $0.standing == .done && Self.roomVerbs.contains($0.verb)
      }
      guard wasChanged, !conversation.wasLeft, let there = server.conversation(name)
      else { continue }
      guard let body = try probe.conversation(name) else {
        throw Violation("at rest nothing is known of \(name), which this user has changed")
      }
      let title = Frames.string("title", body) ?? ""
      let people = Frames.strings("participant_ids", body)
      let admins = Frames.strings("admin_ids", body)
      if title != there.title || people != there.participants || admins != there.admins {
        throw Violation(
          "at rest \(name) is \(title) with \(people) under \(admins), not \(there)")
      }
    }
  }

  private static let roomVerbs: Set<String> = [
    "save_conversation", "add_participants", "remove_participants", "add_admins",
    "remove_admins",
  ]

  /// What this user has left or deleted is empty, also after one more sync.
  func checkLeft(_ probe: TidelineClient) throws {
    // A message from before may come late, and nothing tells it from one after a return.
    if knobs.reorders || knobs.duplicateShare > 0 { return }
    let listed = try probe.allOperations()
    for index in conversations.indices where conversations[index].isGone {
      let name = conversations[index].name
      let names = Set([name] + acts.named.filter { $0.value.contains(name) }.map(\.key))
      let isDone = listed.contains {
        $0.conversation == name && $0.standing == .done && Self.lastVerbs.contains($0.verb)
      }
      guard isDone, names.isDisjoint(with: acts.vague) else { continue }
      if try runSync(index, older: nil).outcome == .ok {
        throw Violation("\(name) was left, and a sync of it ended well")
      }
      let page = try client.page(conversations[index].bytes, limit: 10)
      if let row = page.rows.first ?? page.pending.first {
        throw Violation("\(name) was left and shows \(Self.text(row.id))")
      }
    }
  }

  private static let lastVerbs: Set<String> = ["leave_conversation", "delete_conversation"]

  /// What was to be told as delivered is so on the server.
  func checkDelivered() throws {
    for index in present where !conversations[index].wasLeft {
      for row in try client.page(conversations[index].bytes, limit: 10_000).rows {
        let id = Self.text(row.id)
        guard let serial = ledger.serial(ofID: id), !ledger.posted[serial].mine,
          knobs.operations.tellsDelivery || acts.delivering.contains(id)
        else { continue }
        if acts.deliveredOnServer.contains(id) { continue }
        throw Violation("never marked delivered: \(id)")
      }
    }
  }
}
