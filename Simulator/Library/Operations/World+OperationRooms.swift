/// What the user of a world of operations does to conversations: makes them, gives them titles,
/// changes who is in them, writes drafts, and tells what is volatile.
internal import Base

extension World {
  /// Gives a conversation a title, or changes who is in it and who governs it.
  func govern() throws {
    if knobs.operations.leaves, actDice.chance(0.6) { return try goAway() }
    let room = someRoom()
    let verbs = ["add_participants", "remove_participants", "add_admins", "remove_admins"]
    var act = Act(seq: 0, verb: "save_conversation", room: room)
    var more = ",\"title\":\"\(name("t"))\""
    if knobs.operations.governs, actDice.chance(0.7) {
      act.verb = verbs[actDice.below(4)]
      more = ",\"user_ids\":[\"\(["anna", "bo", "dan"][actDice.below(3)])\"]"
    }
    act.seq =
      try perform("{\"type\":\"\(act.verb)\",\"conversation_id\":\"\(room)\"\(more)}").seq
    _ = acts.add(act)
    try pump()
  }

  /// Leaves or deletes a conversation that was made here.
  private func goAway() throws {
    let made = acts.all.filter { $0.verb == "create_conversation" && !$0.mayGo }
    guard let one = made.randomElement(using: &actDice) else { return }
    let room = acts.named[one.clientID]?.min() ?? one.clientID
    let verb = actDice.chance(0.6) ? "leave_conversation" : "delete_conversation"
    guard let made = acts.bySeq[one.seq], let probe else { return }
    let saved = acts.all
    let deaths = findings.kills + findings.powerCuts
    acts.drop(made, untold: acts.all[made].copies.isEmpty)
    let answer = try perform("{\"type\":\"\(verb)\",\"conversation_id\":\"\(room)\"}")
    // The server was never told of it: it was taken back with all that is in it. Where a kill
    // fell into that, it is gone, and what came again found nothing.
    let hasDied = findings.kills + findings.powerCuts > deaths
    let isGone = try !probe.allOperations().contains { $0.seq == one.seq }
    if !isGone || answer.seq != one.seq && !hasDied {
      for index in saved.indices {
        acts.all[index].mayGo = saved[index].mayGo
        acts.all[index].neverTold = saved[index].neverTold
      }
    }
    if acts.bySeq[answer.seq] == nil {
      _ = acts.add(Act(seq: answer.seq, verb: verb, room: room))
    }
    try pump()
  }

  /// Takes note of conversations in which this user has no part any more.
  func noteLeft() {
    for index in conversations.indices where !conversations[index].isGone {
      let there = server.conversation(conversations[index].name)
      let people = there?.participants ?? []
      if there != nil, people.isEmpty || people.contains(Self.me) { continue }
      trace.note(nowUs, "server: c\(index) is \(there == nil ? "no more" : "left")")
      conversations[index].isGone = true
      conversations[index].wasLeft = true
      for screen in screens where screen.conversation == index { screen.window.close() }
      screens.removeAll { $0.conversation == index }
    }
  }

  /// Somebody brings this user back.
  func bringBack(_ index: Int) {
    let name = conversations[index].name
    guard serverDice.chance(0.3), server.addMember(conversation: name, user: Self.me) else {
      return
    }
    trace.note(nowUs, "server: c\(index) has this user back")
    conversations[index].isGone = false
  }

  /// Tells others of what arrived, or that something is being written.
  func sendSigns() throws {
    if knobs.operations.tellsDelivery, actDice.chance(0.3) { return try sendDelivery() }
    guard knobs.operations.governs else { return try govern() }
    let room = someRoom()
    if link.isUp { acts.typing.append(room) }
    _ = try perform(
      "{\"type\":\"typing\",\"conversation_id\":\"\(room)\",\"event\":\"begin\"}")
    try pump()
  }

  private func sendDelivery() throws {
    let conversation = conversations[actDice.below(conversations.count)]
    let ids = try client.page(conversation.bytes, limit: 20).rows.map { Self.text($0.id) }
    guard !ids.isEmpty else { return }
    let quoted = ids.map { "\"\($0)\"" }.joined(separator: ",")
    _ = try perform(
      "{\"type\":\"mark_delivered\",\"conversation_id\":\"\(conversation.name)\","
        + "\"message_ids\":[\(quoted)]}")
    acts.delivering.formUnion(ids)
    try pump()
  }

  /// It is told at most once, to a conversation that is there, and never on a later connection.
  func judgeTyping(_ request: [UInt8]) throws {
    let name = Frames.string("conversation_id", request) ?? ""
    // What was made and answered with an error has a name that the client may hear otherwise.
    let at = acts.typing.firstIndex {
      $0 == name || acts.named[$0]?.contains(name) ?? false
        || acts.rooms[$0]?.contains(name) ?? false
    }
    if let at { acts.typing.remove(at: at) }
    let isKnown = conversations.contains { $0.name == name }
    if at == nil || !isKnown { throw Violation("typing in \(name) is told, and nobody types") }
  }

  func makeConversation() throws {
    let made = acts.all.filter { $0.verb == "create_conversation" }.count
    guard knobs.operations.creates, made < 4 else { return }
    let clientID = name("k")
    let kind = ["", ",\"distinct\":true", ",\"direct\":true"][actDice.below(3)]
    let people = kind.contains("direct") ? "[\"anna\"]" : "[\"anna\",\"bo\"]"
    let answer = try perform(
      "{\"type\":\"create_conversation\",\"client_id\":\"\(clientID)\","
        + "\"participant_ids\":\(people)\(kind)}")
    var act = Act(seq: answer.seq, verb: "create_conversation", room: clientID)
    act.clientID = clientID
    _ = acts.add(act)
    try pump()
  }

  func draftSomething() throws {
    guard knobs.operations.drafts, let probe else { return }
    let room = conversations[actDice.below(conversations.count)].name
    let draft = name("draft ")
    trace.note(nowUs, "host: \(draft) in \(room)")
    let before = acts.drafts.removeValue(forKey: room) ?? Drafts()
    if try input({ try probe.setDraft(room, draft) }) == nil {
      try probe.setDraft(room, draft)
    }
    acts.drafts[room] = Drafts(all: before.all + [draft], durable: before.durable)
  }

  /// A loss of power may take the newest drafts, and never what was there when something later
  /// was promised.
  func draftsAfterPowerCut() throws {
    guard let probe else { return }
    for (room, drafts) in acts.drafts {
      let found = try probe.draft(room)
      guard drafts.all[drafts.durable...].contains(found) else {
        throw Violation("after a loss of power the draft of \(room) is \(found)")
      }
      acts.drafts[room] = Drafts(all: [found])
    }
  }
}
