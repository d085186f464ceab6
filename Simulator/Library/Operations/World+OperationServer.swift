/// What the server does with operations, and what of it is wrong at once: a copy too many, an
/// order that was not kept, something that was taken back.
internal import ReferenceServer

extension World {
  private static let operationVerbs: Set<String> = [
    "send_message", "edit_message", "delete_message", "react_message", "unreact_message",
    "pin_message", "unpin_message", "mark_last_read", "create_conversation", "save_conversation",
    "add_participants", "remove_participants", "add_admins", "remove_admins",
    "leave_conversation", "delete_conversation",
  ]

  func isOperation(_ type: String) -> Bool {
    knobs.operations.isOn && Self.operationVerbs.contains(type)
  }

  /// What an operation is about: a message, or a conversation and people.
  static func subject(_ request: [UInt8]) -> String {
    Frames.string("message_id", request)
      ?? subject(Frames.string("conversation_id", request) ?? "", people(request))
  }

  static func subject(_ conversation: String, _ people: [String]) -> String {
    ([conversation] + people).joined(separator: " ")
  }

  static func people(_ request: [UInt8]) -> [String] { Frames.strings("user_ids", request) }

  /// At times the next operation has trouble.
  func troubleNext(_ type: String) {
    if !isQuiet, knobs.operations.denies, type == "send_message", networkDice.chance(0.25) {
      trace.note(nowUs, "server: denies what it has done")
      server.failNext("odd", verb: type, isDone: true)
      return
    }
    guard !isQuiet, knobs.operations.troubleShare > 0,
      networkDice.chance(knobs.operations.troubleShare)
    else { return }
    if knobs.operations.refuses, networkDice.chance(0.3) {
      let code = ["too_large", "forbidden", "conflict"][networkDice.below(3)]
      trace.note(nowUs, "server: refuses with \(code)")
      server.failNext(code, verb: type)
      return
    }
    // A request answered as not done is sent again, so a server that does things twice, or forgets
    // that it did them, must not say so of what it did.
    let isNew = type == "send_message" || type == "create_conversation"
    let isDoneOnce = knobs.operations.idempotent && !knobs.strangers.forgetsSends
    let isDone =
      knobs.operations.isDone && (isDoneOnce || !isNew) && networkDice.chance(0.5)
    let delay = networkDice.chance(0.5) ? 100 + networkDice.below(5_000) : nil
    trace.note(nowUs, "server: has trouble, done \(isDone)")
    server.failNext(
      delay == nil ? "unavailable" : "rate_limited", retryAfterMs: delay, verb: type,
      isDone: isDone)
  }

  /// Notes what a request has done.
  func noteServed(_ type: String, _ request: [UInt8], _ answers: [[UInt8]]) throws {
    guard isOperation(type) else { return }
    let answer = answers.first ?? []
    let isOK = Frames.string("status", answer) == "ok"
    switch type {
    case "send_message": try noteSend(request)
    case "create_conversation": try noteCreation(request, answer)
    default:
      let subject = Self.subject(request)
      let isGone = Frames.string("code", answer) == "not_found"
      if isOK || knobs.operations.isDone || isGone { acts.executed.insert("\(type)|\(subject)") }
      if type == "delete_message" { ledger.deleted.insert(subject) }
      noteLeft()
    }
  }

  private func noteSend(_ request: [UInt8]) throws {
    guard let name = Frames.string("conversation_id", request),
      let mark = Ledger.mark(request), let index = acts.sends[mark.serial]
    else { throw Violation("a send that nobody asked for: \(Frames.brief(request))") }
    guard let room = conversations.firstIndex(where: { $0.name == name }) else {
      throw Violation("a send to \(name), which the server never had")
    }
    let act = acts.all[index]
    if act.neverTold { throw Violation("operation \(act.seq) was taken back, and is sent") }
    let new = server.truth(name).filter { row in
      Ledger.mark(Array(row.payload.utf8))?.serial == mark.serial && !act.copies.contains(row.id)
        && !acts.foreign.contains(row.id)
    }
    guard let row = new.first else { return }
    if mark.version != ledger.posted[mark.serial].payloads.count, !act.isLoose, act.copies.isEmpty {
      trace.note(nowUs, "sent with version \(mark.version)")
    }
    acts.all[index].copies.append(row.id)
    strangers.sends.append((nowUs, name, act.clientID))
    ledger.place(mark.serial, id: row.id, in: room)
    if acts.deletedNames.contains(act.clientID) { ledger.deleting.insert(row.id) }
    conversations[room].changedSinceBackup = true
    trace.note(nowUs, "server: operation \(act.seq) is \(row.id)")
    let isDoneOnce = knobs.operations.idempotent && !knobs.strangers.forgetsSends
    let most = isDoneOnce ? 1 : act.tries
    // What was deleted before it was looked for is not found, and nothing says which one it was.
    let copies = acts.all[index].copies
    let count = isDoneOnce ? copies.count : copies.count { !ledger.deleted.contains($0) }
    if count > most {
      throw Violation(
        "operation \(act.seq) was sent \(act.tries) times and made "
          + "\(acts.all[index].copies.count) messages")
    }
    try noteOrder(index, name)
    moderate(index, name, row.id)
  }

  private func noteOrder(_ index: Int, _ name: String) throws {
    let act = acts.all[index]
    guard !act.isLoose, act.copies.count == 1 else { return }
    // By the name that it was sent under: what waits for a conversation made here may become
    // part of one that was there, in which others were sent meanwhile.
    let key = "\(name) \(act.room)"
    if let last = acts.accepted[key], last.seq > act.seq {
      throw Violation("operation \(act.seq) came after \(last.seq), which is a later one")
    }
    acts.accepted[key] = (act.seq, act.copies[0])
  }

  /// Somebody takes it away at once, or the other device says the same.
  private func moderate(_ index: Int, _ name: String, _ id: String) {
    if isQuiet { return }
    if knobs.operations.moderates, serverDice.chance(0.15) {
      trace.note(nowUs, "server: takes \(id) away")
      server.delete(conversation: name, ids: [id], lateUs: 0)
      ledger.deleted.insert(id)
    }
    if knobs.operations.equalTexts, serverDice.chance(0.15) { sayTheSame(index, name) }
  }

  /// This user's other device sends the same text under a client id of its own.
  func sayTheSame(_ index: Int, _ name: String) {
    let serial = acts.all[index].serial
    guard let room = conversations.firstIndex(where: { $0.name == name }),
      !conversations[room].isGone, let payload = ledger.posted[serial].payloads.first
    else { return }
    let id = server.post(
      conversation: name, sender: Self.me, payload: onServer(payload), lateUs: 0,
      clientID: "other-\(acts.foreign.count)")
    acts.foreign.insert(id)
    ledger.place(serial, id: id, in: room)
    trace.note(nowUs, "server: the other device says \(serial) too, \(id)")
  }

  private func noteCreation(_ request: [UInt8], _ answer: [UInt8]) throws {
    guard let clientID = Frames.string("client_id", request),
      let index = acts.all.firstIndex(where: { $0.clientID == clientID })
    else { throw Violation("a conversation that nobody asked for: \(Frames.brief(request))") }
    let act = acts.all[index]
    if act.neverTold { throw Violation("operation \(act.seq) was taken back, and is told") }
    if let name = Frames.string("conversation_id", answer) {
      acts.named[clientID, default: []].insert(name)
    }
    let known = Set(conversations.map(\.name))
    for name in server.conversationIDs where !known.contains(name) {
      conversations.append(ConversationState(name: name))
      acts.rooms[clientID, default: []].append(name)
      trace.note(nowUs, "server: operation \(act.seq) made \(name)")
    }
    let all = acts.rooms[clientID] ?? []
    let made = all.count
    // What is the one of some people is asked for again, and is another one where this user has
    // changed meanwhile who takes part: no client can know.
    let others = all.filter { name in
      ["add_participants", "remove_participants", "leave_conversation", "delete_conversation"]
        .contains { verb in acts.executed.contains { $0.hasPrefix("\(verb)|\(name)") } }
    }
    let isOfPeople =
      Frames.find(Array("\"distinct\":true".utf8), in: request, from: 0) != nil
      || Frames.find(Array("\"direct\":true".utf8), in: request, from: 0) != nil
    let tries = act.tries + (isOfPeople ? others.count : 0)
    if made > (knobs.operations.idempotent ? 1 : tries) {
      throw Violation("operation \(act.seq) made \(made) conversations")
    }
  }
}
