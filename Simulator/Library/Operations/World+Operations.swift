/// The user of a world of operations: sends, changes, makes conversations, and thinks again.
internal import Base

extension World {
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
    if knobs.operations.subscribes, actDice.chance(0.15) { try subscribeSomething() }
    if knobs.operations.seals, actDice.chance(0.15) { try turnKey() }
    if knobs.operations.opens, actDice.chance(0.2) { try openRest() }
    if knobs.operations.denies, actDice.chance(0.4) { try rewriteDenied() }
    if knobs.operations.asks, actDice.chance(0.4) { try askSomething() }
    try checkActs("after a turn")
  }

  private func operateOnce() throws {
    switch actDice.below(100) {
    case 0..<36: try sendSomething()
    case 36..<47: try editSomething()
    case 47..<53: try deleteSomething()
    case 53..<61: try reactToSomething()
    case 61..<66: try pinSomething()
    case 66..<68: try readOn()
    case 68..<73: try makeConversation()
    case 73..<79: try takeBackSomething()
    case 79..<83: try retrySomething()
    case 83..<88: try editQueued()
    case 88..<92: try draftSomething()
    case 92..<95: try endUpload()
    case 95..<98: try govern()
    default: try sendSigns()
    }
  }

  /// A conversation: one of the server's, or one made here, by the name it was made under.
  func someRoom() -> String {
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
    let before = knobs.usesFile ? try probe.allOperations().last?.seq ?? 0 : 0
    let made =
      try input { try probe.perform(json, upload: upload) }
      ?? performAgain(json, upload, probe, after: before)
    // What is on the disk for sure has all before it there too; what only asks is not synced.
    if made.seq != 0, !Self.isFetch(Frames.type(Array(json.utf8)) ?? "") {
      acts.drafts = acts.drafts.mapValues { Drafts(all: $0.all, durable: $0.all.count - 1) }
    }
    trace.mix(made.seq)
    trace.mix(made.number)
    trace.note(nowUs, "host: it is operation \(made.seq), row \(made.number)")
    return made
  }

  /// A kill fell into it. With a client id it is safe to repeat; without, the host looks first.
  private func performAgain(
    _ json: String, _ upload: Bool, _ probe: TidelineClient, after before: UInt64
  ) throws -> (seq: UInt64, number: UInt64) {
    let bytes = Array(json.utf8)
    if Frames.string("client_id", bytes) == nil {
      let kept = try probe.allOperations().last {
        $0.verb == Frames.type(bytes) && $0.seq > before && acts.bySeq[$0.seq] == nil
      }
      if let kept { return (kept.seq, kept.number) }
    }
    return try probe.perform(json, upload: upload)
  }

  func name(_ letter: String) -> String {
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
    act.isLoose = upload || hasNoKey
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
  func someOwn() throws -> (index: Int, name: String)? {
    let sends = acts.all.indices.filter {
      acts.all[$0].verb == "send_message" && !acts.all[$0].mayGo && acts.all[$0].copies.count < 2
    }
    guard let index = sends.suffix(12).randomElement(using: &actDice) else { return nil }
    let act = acts.all[index]
    // The host knows what it is shown.
    if let id = act.copies.first, actDice.chance(0.5),
      try probe?.row(Array(act.room.utf8), Array(id.utf8)) != nil
    {
      return (index, id)
    }
    return (index, act.clientID)
  }

  /// A message to react to or to pin, in a conversation by the name that the host knows.
  func someMessage() throws -> (room: String, id: String)? {
    if actDice.chance(0.5), let own = try someOwn() { return (acts.all[own.index].room, own.name) }
    let conversation = conversations[actDice.below(conversations.count)]
    let rows = try client.page(conversation.bytes, limit: 20).rows
    return rows.randomElement(using: &actDice).map { (conversation.name, Self.text($0.id)) }
  }
}
