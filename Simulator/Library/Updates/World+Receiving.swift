/// Listening to what the server tells unasked: each frame is judged as the device takes it.
///
/// A new one takes effect at once and whole, one that was taken before changes nothing and is
/// replied to again, and one of another account is as if it had never come.
internal import ReferenceServer

extension World {
  /// The client with what only these checks look at.
  var probe: TidelineClient? { client as? TidelineClient }

  /// What is known before a frame is handed over.
  struct Receiving {
    var isRepeat = false
    var before: [SimPage] = []
  }

  func beginReceiving(_ bytes: [UInt8]) throws -> Receiving {
    guard knobs.updates.isOn else { return Receiving() }
    if knobs.updates.foreignCopies, !isQuiet, deviceDice.chance(0.08) {
      try receiveForeign(bytes)
    }
    var receiving = Receiving()
    pushLog.inHand = bytes
    guard Frames.type(bytes) == "update", let ref = Frames.string("ref", bytes), pushLog.knows(ref),
      !diskFailureIsArmed, !killIsArmed
    else { return receiving }
    receiving.isRepeat = true
    pushLog.repeats += 1
    try drainFeed()
    if deviceDice.chance(0.2) { receiving.before = try images() }
    return receiving
  }

  func endReceiving(_ receiving: Receiving, _ bytes: [UInt8], _ receipt: SimReceipt) throws {
    pushLog.inHand = nil
    guard knobs.updates.isOn, receipt != .ignored else { return }
    try noteSuspicion()
    if receiving.isRepeat {
      guard receipt == .applied else { throw Violation("an update that came again was \(receipt)") }
      if let numbers = try client.changes(after: changeSeq), !numbers.isEmpty {
        throw Violation("an update that came again changed something: \(Frames.brief(bytes))")
      }
      if !receiving.before.isEmpty, try images() != receiving.before {
        throw Violation("an update that came again shows: \(Frames.brief(bytes))")
      }
      return
    }
    let isKnown = Frames.string("ref", bytes).map { pushLog.knows($0) } ?? false
    guard let told = pushLog.learn(bytes, ledger.posted) else { return }
    // The effect of one that comes again has been on the disk since the first time.
    if !isKnown, let ref = told.ref, let probe { pushLog.writes[ref] = probe.logWrites }
    for mark in told.contents + told.reactions where mark.serial < ledger.posted.count {
      try checkFact(ledger.posted[mark.serial].id)
    }
    for id in told.deleted { try checkFact(id) }
    for receipt in told.receipts { try checkFact(receipt.id) }
    if !told.tokens.isEmpty || !told.things.isEmpty { try checkThings() }
    try noteLive()
  }

  /// A client that takes the server for restored drops the marks which wait for their messages:
  /// they may be of what was lost. The pages that it asks for bring them again.
  private func noteSuspicion() throws {
    guard let probe else { return }
    let before = pushLog.restores
    pushLog.restores = try probe.suspectedRestores()
    guard pushLog.restores > before else { return }
    for id in pushLog.facts.keys {
      guard let serial = ledger.serial(ofID: id) else { continue }
      let name = conversations[ledger.posted[serial].conversation].bytes
      if try probe.row(name, Array(id.utf8)) == nil { pushLog.dropMarks(id) }
    }
  }

  /// The same frame for somebody else.
  private func receiveForeign(_ bytes: [UInt8]) throws {
    let mine = Array("\"account\":\"\(Self.account)\"".utf8)
    guard !diskFailureIsArmed, !killIsArmed, let at = Frames.find(mine, in: bytes, from: 0)
    else { return }
    let other =
      bytes[..<at] + Array("\"account\":\"another\"".utf8) + bytes[(at + mine.count)...]
    let before = try images()
    try drainFeed()
    let receipt = try client.receive(Array(other))
    trace.note(nowUs, "← \(receipt.rawValue), a copy for another account")
    pushLog.foreignRefused += 1
    guard receipt == .foreign else {
      throw Violation("a frame of another account was \(receipt.rawValue)")
    }
    if try images() != before || !(client.changes(after: changeSeq) ?? []).isEmpty {
      throw Violation("a frame of another account changed something")
    }
  }

  /// All of the feed up to now.
  private func drainFeed() throws {
    while let numbers = try client.changes(after: changeSeq), let last = numbers.last {
      changeSeq = last
    }
  }

  // MARK: Replies

  /// A reply has been handed out: its update was taken, and its effect is on the disk.
  func noteReply(_ ref: String) throws {
    guard knobs.updates.isOn else { return }
    if let frame = pushLog.doubtful[ref] { _ = pushLog.learn(frame, ledger.posted) }
    guard let place = pushLog.places[ref] else {
      throw Violation("a reply to \(ref), which the device never took")
    }
    if let wrote = pushLog.writes[ref], let pending = probe?.firstUnsynced, pending <= wrote {
      throw Violation("the reply to \(ref) left before its effect was on the disk")
    }
    pushLog.durable = max(pushLog.durable, place + 1)
    if deviceDice.chance(0.05) {
      for mark in Told(pushLog.log[place])?.contents ?? [] {
        try checkFact(ledger.posted[mark.serial].id)
      }
    }
    // After a loss the same updates come again, so that losses would go on for ever.
    guard !isQuiet, knobs.updates.lossShare > 0, deviceDice.chance(knobs.updates.lossShare),
      findings.kills + findings.powerCuts < 12
    else { return }
    powerCutIsDue = true
  }

  /// Whether the host is to forget saying that a frame was sent.
  func forgetsReport() -> Bool {
    !isQuiet && knobs.updates.unreportedShare > 0
      && deviceDice.chance(knobs.updates.unreportedShare)
  }

  /// Whether the connection ends while the host holds a frame.
  func stalls() -> Bool {
    !isQuiet && knobs.updates.stallShare > 0 && deviceDice.chance(knobs.updates.stallShare)
  }

  // MARK: Losses

  /// The power goes, or the process does.
  func endSuddenly() throws {
    if knobs.updates.isOn, knobs.usesFile, deviceDice.chance(0.4) {
      try kill(expecting: [images()])
    } else {
      try cutPower()
    }
  }

  /// The process was killed. All that had been taken is there; the frame in hand is, or is not.
  func recallAfterKill() throws {
    guard knobs.updates.isOn, let probe else { return }
    pushLog.liveLinks = [:]
    let things = try probe.things()
    let tokens = try eventMarks()
    var allowed = [pushLog.tokens]
    if let frame = pushLog.inHand, let told = Told(frame),
      told.ref.map({ !pushLog.knows($0) }) ?? true
    {
      allowed.append(pushLog.tokens(with: told))
    }
    guard allowed.contains(tokens) else {
      throw Violation(
        "after a kill the events are \(tokens.suffix(5)), not \(allowed[0].suffix(5))")
    }
    if pushLog.inHand == nil, !pushLog.isVague, things != pushLog.things {
      throw Violation("after a kill the device has other things than before")
    }
    if let frame = pushLog.inHand {
      pushLog.doubt(frame)
      pushLog.adopt(things, tokens)
    }
    pushLog.inHand = nil
    pushLog.writes = [:]
    try checkFacts()
  }

  /// The power went. All that was replied to is there, and nothing out of its order.
  func recallAfterPowerCut() throws {
    guard knobs.updates.isOn, let probe else { return }
    pushLog.liveLinks = [:]
    pushLog.inHand = nil
    let things = try probe.things()
    let tokens = try eventMarks()
    if !pushLog.isVague {
      let kept = pushLog.tokens(after: pushLog.durable)
      guard tokens.starts(with: kept), pushLog.tokens.starts(with: tokens) else {
        throw Violation("after a loss of power the events are \(tokens), not at least \(kept)")
      }
      let states = (pushLog.durable...pushLog.log.count).contains {
        pushLog.things(after: $0) == things
      }
      if !states { throw Violation("after a loss of power the device has things of no time") }
    }
    pushLog.forget(ledger.posted)
    pushLog.adopt(things, tokens)
    try checkFacts()
  }
}
