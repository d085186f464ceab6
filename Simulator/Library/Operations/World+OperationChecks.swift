/// What must hold of operations at any time, and what at rest.

extension World {
  /// Each operation that was promised is there, and what is pending is shown, last, once, in order.
  func checkActs(_ when: String) throws {
    guard knobs.operations.isOn, let probe else { return }
    let listed = try probe.allOperations()
    let bySeq = Dictionary(uniqueKeysWithValues: listed.map { ($0.seq, $0) })
    for act in acts.all {
      guard let found = bySeq[act.seq] else {
        if act.mayGo || acts.isTakenBack(act) { continue }
        throw Violation("\(when) operation \(act.seq), \(act.verb) \(act.clientID), is forgotten")
      }
      try check(act, found)
    }
    try checkPending(listed)
    try checkMade(when)
    for (room, drafts) in acts.drafts {
      let found = try probe.draft(room)
      if found != drafts.all.last { throw Violation("\(when) the draft of \(room) is \(found)") }
    }
  }

  private func check(_ act: Act, _ found: SimOperation) throws {
    if found.verb != act.verb {
      throw Violation("operation \(act.seq) was \(act.verb) and is \(found.verb)")
    }
    guard found.standing == .done else {
      if act.number != found.number {
        throw Violation("operation \(act.seq) had row \(act.number) and has \(found.number)")
      }
      return
    }
    switch act.verb {
    case "send_message":
      if act.copies.isEmpty {
        throw Violation("operation \(act.seq) is done, and the server has no message of it")
      }
      try checkRow(act, found)
    case "edit_message", "delete_message", "react_message", "unreact_message", "pin_message",
      "unpin_message", "save_conversation", "add_participants", "remove_participants",
      "add_admins", "remove_admins", "leave_conversation", "delete_conversation":
      if !acts.executed.contains("\(act.verb)|\(found.subject)") {
        throw Violation(
          "operation \(act.seq), \(act.verb) of \(found.subject), is done, and never was")
      }
      try checkEdited(act, found)
    default: break
    }
  }

  /// What the server has confirmed is shown, whether or not the answer told it.
  private func checkEdited(_ act: Act, _ found: SimOperation) throws {
    // Where others edit the same messages, the later version need not be the greater one.
    guard act.verb == "edit_message", act.version > 0, !act.mayGo, !knobs.operations.seals,
      !knobs.edits,
      !acts.vague.contains(found.message), let probe,
      let row = try probe.row(Array(found.conversation.utf8), Array(found.message.utf8)),
      let mark = Ledger.mark(row.payload), mark.serial == act.serial, mark.version < act.version,
      // An edit that waits for its send goes when the user sends that again, after a later one.
      !acts.all.contains(where: {
        $0.verb == "send_message" && $0.serial == act.serial && $0.tries > 1
      })
    else { return }
    throw Violation(
      "operation \(act.seq) is done, and \(found.message) shows version \(mark.version), not "
        + "\(act.version)")
  }

  /// A message keeps the row that it was written in.
  private func checkRow(_ act: Act, _ found: SimOperation) throws {
    // What is read again after this user was away is a new row.
    guard knobs.operations.echoesClientIDs, let probe,
      !conversations.contains(where: { $0.name == found.conversation && $0.wasLeft })
    else { return }
    for id in act.copies + acts.foreign {
      guard ledger.serial(ofID: id) == act.serial,
        let row = try probe.row(Array(found.conversation.utf8), Array(id.utf8))
      else { continue }
      if acts.foreign.contains(id), row.number == act.number {
        throw Violation("\(id) of the other device stands in the row of operation \(act.seq)")
      }
      // What is read again after it was purged is a new row, too.
      if act.copies == [id], row.number != act.number, !knobs.retention.isOn {
        throw Violation("\(id) was row \(act.number) and is row \(row.number)")
      }
    }
  }

  /// A conversation made here is one row, as soon as the server's is told under its name.
  private func checkMade(_ when: String) throws {
    guard knobs.operations.creates, let probe else { return }
    let rows = try probe.conversationNames()
    let told = Dictionary(
      rows.filter { !$0.isPending && !$0.clientID.isEmpty }.map { ($0.clientID, $0.id) },
      uniquingKeysWith: { first, _ in first })
    for row in rows where row.isPending {
      guard let other = told[row.id] else { continue }
      throw Violation("\(when) \(row.id) is shown as pending, and as \(other) too")
    }
  }

  private func checkPending(_ listed: [SimOperation]) throws {
    let hidden = Set(
      listed.filter {
        $0.verb == "delete_message" && $0.standing != .done && $0.standing != .refused
      }.map(\.message))
    var expected: [String: [SimOperation]] = [:]
    for one in listed where one.verb == "send_message" && one.standing != .done {
      expected[one.conversation, default: []].append(one)
    }
    let rooms = Set(expected.keys).union(conversations.map(\.name))
    for room in rooms.sorted() {
      let open = expected[room] ?? []
      let page = try client.page(Array(room.utf8), limit: open.count + 20)
      let shown = open.filter { !hidden.contains($0.clientID) }
      if page.pending.map(\.number) != shown.map(\.number) {
        throw Violation(
          "pending in \(room) are rows \(page.pending.map(\.number)), the operations have "
            + "\(shown.map(\.number))")
      }
      let numbers = page.rows.map(\.number) + page.pending.map(\.number)
      if Set(numbers).count != numbers.count { throw Violation("a row is shown twice in \(room)") }
      guard knobs.operations.echoesClientIDs || knobs.matchesPayloads else { continue }
      let ids = Set(page.rows.map { Self.text($0.id) })
      for row in page.pending {
        guard let serial = Ledger.mark(row.payload)?.serial, let index = acts.sends[serial],
          let id = acts.all[index].copies.first(where: { ids.contains($0) }),
          knobs.operations.echoesClientIDs || ledger.posted[serial].payloads.count == 1
        else { continue }
        throw Violation("\(id) is shown, and stands there as pending too")
      }
    }
  }

  /// In a conversation one operation at a time is on its way.
  func judgeTurn() throws {
    var onWay: [String: UInt64] = [:]
    for one in try probe?.allOperations() ?? [] where one.standing == .inFlight {
      if one.verb == "create_conversation" || Self.isFetch(one.verb) { continue }
      if let other = onWay.updateValue(one.seq, forKey: one.conversation) {
        throw Violation("operations \(other) and \(one.seq) are under way in one conversation")
      }
    }
  }

  // MARK: At rest

  /// The user decides about what is stuck, until nothing is left open.
  func settleOperations() throws {
    guard knobs.operations.isOn, let probe else { return }
    try bringKey()
    try checkActs("when all is quiet")
    try until("operations are open") {
      while true {
        let open = try probe.allOperations().filter { $0.standing != .done }
        if open.isEmpty { return true }
        guard let stuck = open.first(where: \.isStuck) else { return false }
        try decide(stuck)
      }
    }
    try until("something is asked") { try link.isUp && !isBusy() }
    try checkActs("at rest")
    ledger.deleting = []
  }

  /// What the user wrote last in place of a send that was refused is what the server has.
  private func checkRewritten() throws {
    for act in acts.all where act.rewrittenAs > 0 && !act.mayGo && !acts.isTakenBack(act) {
      let posted = ledger.posted[act.serial]
      guard act.copies.count == 1, let id = act.copies.first, !acts.vague.contains(id),
        act.rewrittenAs == posted.payloads.count,
        let message = server.message(conversations[posted.conversation].name, id),
        !acts.all.contains(where: {
          $0.verb == "edit_message" && $0.mayGo && ($0.target == id || $0.target == act.clientID)
        })
      else { continue }
      let version = Ledger.mark(SimKeys.opened(Array(message.payload.utf8)))?.version
      if version != act.rewrittenAs {
        throw Violation("\(id) is \(message.payload), it was rewritten as \(act.rewrittenAs)")
      }
    }
  }

  /// The edit that follows by itself, where the server refused a send that it had done, and the
  /// user rewrote it.
  private func adopt(_ one: SimOperation) {
    guard acts.bySeq[one.seq] == nil, one.verb == "edit_message", knobs.operations.idempotent,
      let serial = ledger.serial(ofID: one.message), let send = acts.sends[serial],
      acts.all[send].isLoose
    else { return }
    var act = Act(seq: one.seq, verb: one.verb, room: one.conversation)
    act.target = one.message
    _ = acts.add(act)
  }

  private func decide(_ one: SimOperation) throws {
    adopt(one)
    guard let probe, let index = acts.bySeq[one.seq] else {
      throw Violation("operation \(one.seq) is stuck and was never asked for")
    }
    let isWorthIt = acts.all[index].tries < 6
    if one.waiting == .upload {
      _ = try input { try probe.uploaded(one.seq) }
      try pump()
    } else if isWorthIt, actDice.chance(0.6) {
      try retry(one, index)
    } else {
      try takeBack(one, index)
    }
  }

  /// Everything is done: what is shown is the server's, with nothing of this user's over it.
  func checkActsAtRest() throws {
    guard knobs.operations.isOn, let probe else { return }
    try checkActs("at the end")
    for act in acts.all where act.verb == "send_message" {
      if act.neverTold, !act.copies.isEmpty {
        throw Violation("operation \(act.seq) was taken back, and there is \(act.copies)")
      }
      if !act.mayGo, !acts.isTakenBack(act), act.copies.isEmpty {
        throw Violation("operation \(act.seq) was performed, and nothing came of it")
      }
    }
    try checkRewritten()
    for index in conversations.indices {
      let name = conversations[index].name
      let page = try client.page(conversations[index].bytes, limit: 10_000)
      if let row = page.pending.first { throw Violation("\(Self.text(row.id)) is still pending") }
      for row in page.rows {
        let id = Self.text(row.id)
        guard let message = server.message(name, id), !acts.vague.contains(id),
          let serial = ledger.serial(ofID: id), ledger.posted[serial].isOperated
        else { continue }
        if ledger.posted[serial].mine,
          row.payload != SimKeys.opened(Array(message.payload.utf8))
        {
          throw Violation(
            "at rest \(id) shows \(Self.text(row.payload)), not \(message.payload)")
        }
        // Others have names of their own for theirs, which are judged by what was handed over.
        let reactions = message.reactions.map(\.name).filter(Self.reactions.contains)
        if Set(Self.quoted(row.marks.reactions)).intersection(Self.reactions) != Set(reactions) {
          throw Violation(
            "at rest \(id) shows the reactions \(Self.text(row.marks.reactions)), not \(reactions)")
        }
        // Pins have no version: of two that came in another order the later one holds. What
        // others pin need not have been handed over.
        if !knobs.pins, !knobs.reorders, knobs.duplicateShare == 0, !updates.cameLate(id),
          row.marks.pinned != (message.isPinned ?? false)
        {
          throw Violation("at rest \(id) is pinned \(row.marks.pinned)")
        }
      }
    }
    try checkRooms(probe)
    try checkLeft(probe)
    try checkSubscriptions()
    try checkDelivered()
  }
}
