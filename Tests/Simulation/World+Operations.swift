/// The user of a world of operations: sends, changes, makes conversations, and thinks again.
internal import Base

extension World {
  private static let reactions = ["like", "heart", "sad"]

  /// Adds to a turn of the host.
  func operate() throws {
    guard knobs.operations.isOn, probe != nil else { return }
    for _ in 0..<(1 + actDice.below(3)) { try operateOnce() }
    if knobs.operations.equalTexts, actDice.chance(0.1),
      let index = acts.sends.values.sorted().suffix(4).randomElement(using: &actDice),
      conversations.contains(where: { $0.name == acts.all[index].room })
    {
      sayTheSame(index, acts.all[index].room)
    }
    try checkActs("after a turn")
  }

  private func operateOnce() throws {
    switch actDice.below(100) {
    case 0..<38: try sendSomething()
    case 38..<49: try editSomething()
    case 49..<55: try deleteSomething()
    case 55..<64: try reactToSomething()
    case 64..<69: try pinSomething()
    case 69..<71: try readOn()
    case 71..<76: try makeConversation()
    case 76..<82: try takeBackSomething()
    case 82..<86: try retrySomething()
    case 86..<91: try editQueued()
    case 91..<95: try draftSomething()
    case 95..<98: try endUpload()
    default: try giveTitle()
    }
  }

  /// A conversation: one of the server's, or one made here, by the name it was made under.
  private func someRoom() -> String {
    let made = acts.all.filter { $0.verb == "create_conversation" && !$0.mayGo }
    if let one = made.randomElement(using: &actDice), actDice.chance(0.4) { return one.clientID }
    return conversations[actDice.below(conversations.count)].name
  }

  /// Hands an operation to the client; once more where a kill fell into the call.
  func perform(
    _ json: String, upload: Bool = false
  ) throws -> (seq: UInt64, number: UInt64) {
    guard let probe else { throw Violation("no client that acts") }
    trace.note(nowUs, "host: \(Frames.brief(Array(json.utf8), 400))")
    let made =
      try input { try probe.perform(json, upload: upload) }
      ?? probe.perform(json, upload: upload)
    trace.mix(made.seq)
    trace.mix(made.number)
    trace.note(nowUs, "host: it is operation \(made.seq), row \(made.number)")
    return made
  }

  private func name(_ letter: String) -> String {
    acts.names += 1
    return "\(letter)\(acts.names)"
  }

  // MARK: Sends

  private func sendSomething() throws {
    let room = someRoom()
    let serial = ledger.nextSerial
    let payload = Ledger.payload(
      .init(serial: serial, version: 1), control: false, shape: actDice.below(15))
    _ = ledger.reserve(payload)
    let upload = knobs.operations.uploads && actDice.chance(0.25)
    var act = Act(seq: 0, verb: "send_message", room: room)
    act.clientID = name("q")
    act.serial = serial
    act.isLoose = upload
    var more = ""
    let near = acts.all.filter { $0.verb == "send_message" && $0.room == room && !$0.mayGo }
    if actDice.chance(0.15), let other = near.randomElement(using: &actDice) {
      act.replyTo = other.clientID
      act.isLoose = true
      more = ",\"reply_to\":\"\(other.clientID)\""
    }
    let made = try perform(
      "{\"type\":\"send_message\",\"client_id\":\"\(act.clientID)\",\"conversation_id\":\"\(room)\""
        + "\(more),\"payload\":\(Self.text(payload))}", upload: upload)
    act.seq = made.seq
    act.number = made.number
    _ = acts.add(act)
    guard try probe?.row(Array(room.utf8), Array(act.clientID.utf8))?.number == made.number else {
      throw Violation("\(act.clientID) was performed and is not shown")
    }
    try pump()
  }

  /// A message of this user, by its client id or by its own: the send, and the name.
  private func someOwn() -> (index: Int, name: String)? {
    let sends = acts.all.indices.filter {
      acts.all[$0].verb == "send_message" && !acts.all[$0].mayGo && acts.all[$0].copies.count < 2
    }
    guard let index = sends.suffix(12).randomElement(using: &actDice) else { return nil }
    let act = acts.all[index]
    if let id = act.copies.first, actDice.chance(0.5), ledger.posted[act.serial].delivered > 0 {
      return (index, id)
    }
    return (index, act.clientID)
  }

  /// A message to react to or to pin, in a conversation by the name that the host knows.
  private func someMessage() throws -> (room: String, id: String)? {
    if actDice.chance(0.5), let own = someOwn() { return (acts.all[own.index].room, own.name) }
    let conversation = conversations[actDice.below(conversations.count)]
    let rows = try client.page(conversation.bytes, limit: 20).rows
    return rows.randomElement(using: &actDice).map { (conversation.name, Self.text($0.id)) }
  }

  // MARK: Changes

  private func editSomething() throws {
    guard let own = someOwn(), let probe else { return }
    let act = acts.all[own.index]
    let shown = try probe.row(Array(act.room.utf8), Array(own.name.utf8))
    if try probe.allOperations().contains(where: { $0.seq == act.seq && $0.standing == .refused }) {
      acts.all[own.index].isLoose = true
    }
    let payload = nextVersion(act.serial)
    let made = try change("edit_message", act.room, own.name, ",\"payload\":\(Self.text(payload))")
    if shown != nil, let row = try probe.row(Array(act.room.utf8), Array(own.name.utf8)),
      row.payload != payload
    {
      throw Violation("\(own.name) was edited (\(made)) and shows the old text")
    }
    try pump()
  }

  private func nextVersion(_ serial: Int) -> [UInt8] {
    let version = ledger.posted[serial].payloads.count + 1
    let payload = Ledger.payload(
      .init(serial: serial, version: version), control: false, shape: actDice.below(15))
    ledger.addVersion(serial, payload)
    return payload
  }

  /// An operation on a message. Gives its number, which is the send's where that was changed.
  @discardableResult
  private func change(
    _ verb: String, _ room: String, _ target: String, _ more: String = ""
  ) throws -> UInt64 {
    noteMoot(verb, target)
    let made = try perform(
      "{\"type\":\"\(verb)\",\"conversation_id\":\"\(room)\",\"message_id\":\"\(target)\"\(more)}")
    if let index = acts.bySeq[made.seq] {
      if acts.all[index].verb == verb { acts.all[index].mayGo = false }
    } else {
      var act = Act(seq: made.seq, verb: verb, room: room)
      act.target = target
      _ = acts.add(act)
    }
    return made.seq
  }

  /// Later operations on a message may make earlier ones moot, by whichever name it is called.
  private func noteMoot(_ verb: String, _ target: String) {
    var names: Set<String> = [target]
    if let index = acts.send(target) { names.formUnion(acts.all[index].copies) }
    if let serial = ledger.serial(ofID: target), let index = acts.sends[serial] {
      names.insert(acts.all[index].clientID)
      names.formUnion(acts.all[index].copies)
    }
    for index in acts.all.indices {
      guard names.contains(acts.all[index].target) else { continue }
      let old = acts.all[index].verb
      let isSame =
        switch verb {
        case "delete_message": old != "send_message"
        case "react_message", "unreact_message": old == "react_message" || old == "unreact_message"
        case "pin_message", "unpin_message": old == "pin_message" || old == "unpin_message"
        default: old == verb
        }
      if isSame { acts.all[index].mayGo = true }
    }
    for name in names { acts.touched[name, default: 0] += 1 }
    if let serial = names.compactMap({ ledger.serial(ofID: $0) }).first {
      ledger.note(operated: serial)
    }
  }

  private func deleteSomething() throws {
    guard let own = someOwn(), let probe else { return }
    let act = acts.all[own.index]
    let before = try probe.allOperations().first { $0.seq == act.seq }
    ledger.deleting.formUnion(act.copies)
    ledger.deleted.formUnion(act.copies)
    acts.deletedNames.insert(act.clientID)
    let saved = acts
    acts.drop(own.index, untold: false)
    let dropped = acts
    let seq = try change("delete_message", act.room, own.name)
    // Where a kill fell into it, the send may be gone, and what came again found nothing.
    let isGone = try seq == act.seq || !probe.allOperations().contains { $0.seq == act.seq }
    if isGone {
      acts.all[own.index].neverTold = before?.attempts == 0
    } else {
      for index in saved.all.indices where dropped.all[index].mayGo != saved.all[index].mayGo {
        // It was not taken back; what a deletion makes moot may be gone all the same.
        if saved.all[index].verb == "send_message" { acts.all[index].mayGo = false }
      }
    }
    // Without client ids a message need not be known yet as the send that made it.
    let names = knobs.operations.echoesClientIDs ? [own.name, act.clientID] : [own.name]
    for name in names
    where try probe.row(Array(act.room.utf8), Array(name.utf8)) != nil {
      throw Violation("\(name) was deleted and is shown")
    }
    try pump()
  }

  private func reactToSomething() throws {
    guard let (room, id) = try someMessage(), let probe else { return }
    let reaction = Self.reactions[actDice.below(3)]
    let isSet = actDice.chance(0.65)
    let isShown = try probe.row(Array(room.utf8), Array(id.utf8)) != nil
    try change(
      isSet ? "react_message" : "unreact_message", room, id, ",\"reaction\":\"\(reaction)\"")
    if isShown, let row = try probe.row(Array(room.utf8), Array(id.utf8)),
      Self.text(row.marks.reactions).contains("\"\(reaction)\"") != isSet
    {
      throw Violation("\(id) shows \(Self.text(row.marks.reactions)), \(reaction) is \(isSet)")
    }
    try pump()
  }

  private func pinSomething() throws {
    guard let (room, id) = try someMessage(), let probe else { return }
    let isSet = actDice.chance(0.6)
    let isShown = try probe.row(Array(room.utf8), Array(id.utf8)) != nil
    try change(isSet ? "pin_message" : "unpin_message", room, id)
    if isShown, let row = try probe.row(Array(room.utf8), Array(id.utf8)),
      row.marks.pinned != isSet
    {
      throw Violation("\(id) was pinned (\(isSet)) and does not show it")
    }
    try pump()
  }

  private func readOn() throws {
    let conversation = conversations[actDice.below(conversations.count)]
    let rows = try client.page(conversation.bytes, limit: 20).rows
    guard let row = rows.randomElement(using: &actDice) else { return }
    for index in acts.all.indices where acts.all[index].verb == "mark_last_read" {
      acts.all[index].mayGo = true
    }
    let made = try perform(
      "{\"type\":\"mark_last_read\",\"conversation_id\":\"\(conversation.name)\","
        + "\"message_id\":\"\(Self.text(row.id))\"}")
    _ = acts.add(Act(seq: made.seq, verb: "mark_last_read", room: conversation.name))
    try pump()
  }

  private func giveTitle() throws {
    let room = someRoom()
    let made = try perform(
      "{\"type\":\"save_conversation\",\"conversation_id\":\"\(room)\",\"title\":\"t\"}")
    _ = acts.add(Act(seq: made.seq, verb: "save_conversation", room: room))
    try pump()
  }

  // MARK: Conversations and drafts

  private func makeConversation() throws {
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

  private func draftSomething() throws {
    guard knobs.operations.drafts, let probe else { return }
    let room = conversations[actDice.below(conversations.count)].name
    let draft = name("draft ")
    acts.drafts[room] = nil
    if try input({ try probe.setDraft(room, draft) }) == nil {
      try probe.setDraft(room, draft)
    }
    acts.drafts[room] = draft
  }

  // MARK: Second thoughts

  private func some(_ fits: (SimOperation) -> Bool) throws -> (SimOperation, Int)? {
    let open = try probe?.allOperations().filter { fits($0) && acts.bySeq[$0.seq] != nil } ?? []
    guard let one = open.randomElement(using: &actDice), let index = acts.bySeq[one.seq] else {
      return nil
    }
    return (one, index)
  }

  private func takeBackSomething() throws {
    guard let (one, index) = try some({ $0.standing != .done }) else { return }
    try takeBack(one, index)
  }

  func takeBack(_ one: SimOperation, _ index: Int) throws {
    guard let probe else { return }
    trace.note(nowUs, "host: takes back operation \(one.seq)")
    let saved = acts
    acts.drop(index, untold: false)
    let answer = try input { try probe.cancelOperation(one.seq) }
    // Where a kill fell into it, it has happened or not.
    let done = try answer ?? !probe.allOperations().contains { $0.seq == one.seq }
    guard done else {
      acts = saved
      if answer != nil, one.standing != .inFlight {
        throw Violation("operation \(one.seq) is not taken back")
      }
      return
    }
    acts.all[index].neverTold = one.attempts == 0
    if one.attempts > 0 { noteVague(index) }
    try pump()
  }

  /// The server may have done it, and nobody will tell.
  private func noteVague(_ index: Int) {
    let target = acts.all[index].target
    acts.vague.insert(target)
    if let send = acts.send(target) { acts.vague.formUnion(acts.all[send].copies) }
  }

  private func retrySomething() throws {
    guard
      let (one, index) = try some({
        $0.standing == .refused || $0.standing == .unknown || $0.standing == .queued
      })
    else { return }
    try retry(one, index)
  }

  func retry(_ one: SimOperation, _ index: Int) throws {
    guard let probe else { return }
    trace.note(nowUs, "host: retries operation \(one.seq)")
    let answer = try input { try probe.retryOperation(one.seq) }
    if answer != false, one.standing != .queued {
      acts.all[index].tries += 1
      acts.all[index].isLoose = true
    }
    try pump()
  }

  private func editQueued() throws {
    guard let probe,
      let (one, index) = try some({
        $0.verb == "send_message" && $0.standing != .done || $0.verb == "edit_message"
      })
    else { return }
    let act = acts.all[index]
    let serial = one.verb == "send_message" ? act.serial : self.serial(of: one.message)
    guard let serial else { return }
    let payload = nextVersion(serial)
    trace.note(nowUs, "host: changes operation \(one.seq) to \(Self.text(payload))")
    let answer = try input {
      try probe.editOperation(one.seq, "{\"payload\":\(Self.text(payload))}")
    }
    if answer == true, one.standing == .refused { acts.all[index].isLoose = true }
    if answer == nil { acts.all[index].isLoose = true }
    // An edit that waits behind it lies over it.
    let isEdited = try probe.allOperations().contains {
      $0.verb == "edit_message" && $0.message == one.clientID && $0.standing != .done
    }
    if answer == true, one.number != 0, !isEdited,
      let row = try probe.row(Array(one.conversation.utf8), Array(one.clientID.utf8)),
      row.payload != payload
    {
      throw Violation("operation \(one.seq) was changed and shows the old text")
    }
    try pump()
  }

  /// Which content a message has, by either of its names.
  func serial(of name: String) -> Int? {
    acts.send(name).map { acts.all[$0].serial } ?? ledger.serial(ofID: name)
  }

  private func endUpload() throws {
    guard let probe, let (one, _) = try some({ $0.waiting == .upload }) else { return }
    if actDice.chance(0.75) {
      _ = try input { try probe.uploaded(one.seq) }
    } else {
      _ = try input { try probe.uploadFailed(one.seq) }
    }
    try pump()
  }
}
