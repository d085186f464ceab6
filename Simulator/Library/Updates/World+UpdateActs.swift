/// What happens in the worlds of updates beside messages: others come and go, and break things.
internal import ReferenceServer

extension World {
  private static let people = ["anna", "bo", "dan", "eve"]

  /// Adds to a turn of the server.
  func actUpdates(_ conversation: Int) {
    guard knobs.updates.isOn else { return }
    if knobs.updates.things {
      for _ in 0..<(1 + serverDice.below(2)) { changeThings(conversation) }
    }
    if knobs.updates.broken, serverDice.chance(0.4) { announceBroken(conversation) }
    if knobs.reactions, serverDice.chance(0.5) {
      // Something new is reacted to, pinned and read at once, and at times gone at once.
      post(conversation)
      touchNewest(conversation)
    }
  }

  private func touchNewest(_ conversation: Int) {
    let name = conversations[conversation].name
    guard let row = server.truth(name).max(by: { $0.arrival < $1.arrival }),
      let serial = Ledger.mark(Array(row.payload.utf8))?.serial
    else { return }
    for _ in 0..<(1 + serverDice.below(3)) {
      let count = ledger.addReaction(serial)
      server.react(conversation: name, id: row.id, user: "bo", reaction: "R~\(serial)~\(count)")
      if count > 1 {
        server.react(
          conversation: name, id: row.id, user: "bo", reaction: "R~\(serial)~\(count - 1)",
          isSet: false)
      }
    }
    if knobs.pins { server.pin(conversation: name, id: row.id, isPinned: serverDice.chance(0.7)) }
    if knobs.otherReceipts {
      for kind in ServerMark.allCases where serverDice.chance(0.7) {
        server.mark(kind, conversation: name, ids: [row.id], user: "bo")
      }
    }
    if knobs.deletions, serverDice.chance(0.15) {
      server.delete(conversation: name, ids: [row.id])
      ledger.deleted.insert(row.id)
    }
  }

  private func token() -> String {
    pushLog.tokensMade += 1
    return "V~\(pushLog.tokensMade)~1"
  }

  /// Only what is told to this account counts, so nothing is made before it is known.
  private var isKnown: Bool { link.number > 0 }

  private func changeThings(_ conversation: Int) {
    guard isKnown else { return }
    let name = conversations[conversation].name
    let user = Self.people[serverDice.below(4)]
    let spare = "x\(serverDice.below(3))"
    switch serverDice.below(knobs.envelope ? 7 : 4) {
    case 0: server.typing(conversation: name, user: user, event: token())
    case 1: server.rename(conversation: name, title: title(name))
    case 2:
      server.createConversation(spare)
      server.rename(conversation: spare, title: title(spare))
    case 3:
      if server.deleteConversation(spare) { forgetThings(of: spare) }
    case 4:
      server.addMember(conversation: name, user: user)
      thingsOfServer["member/\(name)/\(user)"] = "\"role\""
    case 5:
      if server.removeMember(conversation: name, user: user) {
        thingsOfServer["member/\(name)/\(user)"] = nil
      }
    default:
      if serverDice.chance(0.3) {
        let users = Self.people.prefix(2 + serverDice.below(2)).map { $0 }
        server.deleteProfiles(users)
        for user in users { thingsOfServer["profile/\(user)"] = nil }
      } else {
        pushLog.thingsMade += 1
        server.setProfile(user: user, name: "name \(pushLog.thingsMade)")
        thingsOfServer["profile/\(user)"] = "\"name \(pushLog.thingsMade)\""
      }
    }
  }

  private func title(_ name: String) -> String {
    let title = token()
    thingsOfServer["conversation/\(name)"] = "\"\(title)\""
    return title
  }

  private func forgetThings(of name: String) {
    thingsOfServer = thingsOfServer.filter { key, _ in
      key != "conversation/\(name)" && !key.hasPrefix("member/\(name)/")
    }
  }

  /// Updates that no client can read, or only in part; each is told to the host once.
  private func announceBroken(_ conversation: Int) {
    guard isKnown else { return }
    let name = conversations[conversation].name
    let word = token()
    let (entity, action, items): (String, String, String) =
      switch serverDice.below(8) {
      case 0: ("message", "new", "\"\(word)\"")
      case 1: ("message", "new", "[{\"message_id\":7,\"note\":\"\(word)\"}]")
      case 2: ("message", "delete", "[{\"conversation_id\":[],\"note\":\"\(word)\"}]")
      case 3: ("receipt", "new", "[{\"message_id\":null,\"note\":\"\(word)\"},3]")
      case 4: ("message", "explode", "[\"\(word)\"]")
      case 5: ("", "new", "[\"\(word)\"]")
      case 6: ("pin", "new", "[{\"conversation_id\":\"\(name)\",\"note\":\"\(word)\"}]")
      default: ("mood", "update", "{\"deep\":[[[\"\(word)\"]]]}")
      }
    server.announce(
      entity: entity, action: action, items: items, isSilent: serverDice.chance(0.5))
    trace.note(nowUs, "server: broken \(entity) \(action) \(word)")
  }

  /// Adds to a turn of the host.
  func updateHostTurn() throws {
    guard knobs.updates.isOn, link.isUp else { return }
    if knobs.updates.replays, deviceDice.chance(0.5), let frame = replay() {
      trace.note(nowUs, "an old update comes again")
      try deliver(frame, [])
    }
    if deviceDice.chance(0.15) { try checkFacts() }
    guard knobs.lossless, !knobs.futureStamp, !knobs.poison, (knobs.wallSkewUs ?? 0) >= 0,
      link.isUp, deviceDice.chance(0.6)
    else { return }
    let conversation = deviceDice.below(conversations.count)
    pushLog.liveLinks[conversation] = nil
    if let sync = try startSync(conversation, older: nil), link.isUp {
      pushLog.asked = (sync, conversation, link.number)
    }
  }

  private func replay() -> [UInt8]? {
    guard let frame = pushLog.log.randomElement(using: &deviceDice),
      Frames.type(frame) == "update"
    else { return nil }
    return frame
  }
}
