/// What the user of a world of operations does to messages: edits, deletes, reacts, pins, reads on.
///
/// Each change shows at once, and may make earlier ones of the same message moot.
internal import Base

extension World {
  static let reactions = ["like", "heart", "sad"]

  func editSomething() throws {
    guard let own = try someOwn(), let probe else { return }
    let act = acts.all[own.index]
    let shown = try probe.row(Array(act.room.utf8), Array(own.name.utf8))
    if try probe.allOperations().contains(where: { $0.seq == act.seq && $0.standing == .refused }) {
      acts.all[own.index].isLoose = true
    }
    if hasNoKey { acts.all[own.index].isLoose = true }
    let payload = nextVersion(act.serial)
    let made = try change("edit_message", act.room, own.name, ",\"payload\":\(Self.text(payload))")
    if let index = acts.bySeq[made], acts.all[index].verb == "edit_message" {
      acts.all[index].serial = act.serial
      acts.all[index].version = Ledger.mark(payload)?.version ?? 0
    }
    if shown != nil, let row = try probe.row(Array(act.room.utf8), Array(own.name.utf8)),
      row.payload != payload
    {
      let all = try probe.allOperations().filter {
        $0.message == own.name || $0.clientID == own.name || $0.seq == made
      }
      throw Violation(
        "\(own.name) was edited (\(made)) and shows \(Self.text(row.payload)): "
          + all.map { "\($0.seq) \($0.verb) \($0.standing)" }.joined(separator: ", "))
    }
    try pump()
  }

  func nextVersion(_ serial: Int) -> [UInt8] {
    let version = ledger.posted[serial].payloads.count + 1
    let payload = Ledger.payload(
      .init(serial: serial, version: version), control: false, shape: actDice.below(15))
    ledger.addVersion(serial, payload)
    return payload
  }

  /// An operation on a message. Gives its number, which is the send's where that was changed.
  @discardableResult
  func change(
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

  func deleteSomething() throws {
    guard let own = try someOwn(), let probe else { return }
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

  func reactToSomething() throws {
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

  func pinSomething() throws {
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

  func readOn() throws {
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
}
