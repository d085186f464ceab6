/// The user thinks again: takes back what was asked for, retries it, changes it, ends uploads.
internal import Base

extension World {
  private func some(_ fits: (SimOperation) -> Bool) throws -> (SimOperation, Int)? {
    let open = try probe?.allOperations().filter { fits($0) && acts.bySeq[$0.seq] != nil } ?? []
    guard let one = open.randomElement(using: &actDice), let index = acts.bySeq[one.seq] else {
      return nil
    }
    return (one, index)
  }

  func takeBackSomething() throws {
    guard let (one, index) = try some({ $0.standing != .done }) else { return }
    try takeBack(one, index)
  }

  func takeBack(_ one: SimOperation, _ index: Int) throws {
    guard let probe else { return }
    trace.note(nowUs, "host: takes back operation \(one.seq)")
    eyes.free()
    let saved = acts.all
    acts.drop(index, untold: false)
    let answer = try input { try probe.cancelOperation(one.seq) }
    // Where a kill fell into it, it has happened or not.
    let done = try answer ?? !probe.allOperations().contains { $0.seq == one.seq }
    guard done else {
      acts.all = saved
      if answer != nil, one.standing != .inFlight {
        throw Violation("operation \(one.seq) is not taken back")
      }
      return
    }
    acts.all[index].neverTold = one.attempts == 0
    // That a change has left is written and not synced: sent again it does no harm. After a loss
    // of power the device may not know of it, and then nothing tells it.
    let isForgotten = findings.powerCuts > 0 && acts.told.contains("\(one.verb)|\(one.subject)")
    if !Self.isFetch(one.verb), one.attempts > 0 || isForgotten { noteVague(index) }
    try pump()
  }

  /// The server may have done it, and nobody will tell.
  private func noteVague(_ index: Int) {
    let target = acts.all[index].target
    acts.vague.insert(target.isEmpty ? acts.all[index].room : target)
    if let send = acts.send(target) { acts.vague.formUnion(acts.all[send].copies) }
  }

  func retrySomething() throws {
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
    eyes.free()
    let answer = try input { try probe.retryOperation(one.seq) }
    if answer != false, one.standing != .queued {
      acts.all[index].tries += 1
      acts.all[index].isLoose = true
      // An older edit that the user has sent again comes after what he wrote since.
      if one.verb == "edit_message", let serial = serial(of: one.message),
        let send = acts.sends[serial]
      {
        acts.all[send].rewrittenAs = 0
      }
    }
    try pump()
  }

  func editQueued() throws {
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
    if answer == nil || hasNoKey { acts.all[index].isLoose = true }
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

  /// A send that was refused, and done all the same, is written anew.
  func rewriteDenied() throws {
    guard let probe,
      let (one, index) = try some({
        $0.verb == "send_message" && $0.standing == .refused && $0.error == "odd"
      })
    else { return }
    let serial = acts.all[index].serial
    let payload = nextVersion(serial)
    trace.note(nowUs, "host: rewrites operation \(one.seq) to \(Self.text(payload))")
    acts.all[index].isLoose = true
    let answer = try input {
      try probe.editOperation(one.seq, "{\"payload\":\(Self.text(payload))}")
    }
    // An edit that waits behind it comes after it.
    let isEdited = try probe.allOperations().contains {
      $0.verb == "edit_message" && $0.message == one.clientID && $0.standing != .done
    }
    if answer == true, !isEdited {
      acts.all[index].rewrittenAs = ledger.posted[serial].payloads.count
    }
    try pump()
  }

  /// Which content a message has, by either of its names.
  func serial(of name: String) -> Int? {
    acts.send(name).map { acts.all[$0].serial } ?? ledger.serial(ofID: name)
  }

  func endUpload() throws {
    guard let probe, let (one, _) = try some({ $0.waiting == .upload }) else { return }
    if actDice.chance(0.75) {
      _ = try input { try probe.uploaded(one.seq) }
    } else {
      _ = try input { try probe.uploadFailed(one.seq) }
    }
    try pump()
  }
}
