/// The host on the device: a person with a bad network and an operating system that kills.

extension World {
  /// The host does one thing, and the next one is planned.
  func hostTurn() throws {
    hostTurnsLeft -= 1
    let conversation = deviceDice.below(conversations.count)
    switch deviceDice.below(100) {
    case 0..<45: try startSync(conversation, older: nil)
    case 45..<60: try startSync(conversation, older: deviceDice.below(120))
    case 60..<66: try cancelOne()
    case 66..<78: try markSome(conversation)
    case 78..<82: try forgetOne(conversation)
    case 82..<88: if knobs.kills { try planKill() }
    case 88..<90:
      planDiskFailure()
      try foreignFrame()
    case 90..<92: try cut(outageUs: Int64(deviceDice.below(20_000_000)))
    default: try readAll(conversation)
    }
    if knobs.powerCuts, deviceDice.chance(0.06) { try cutPower() }
    if knobs.entities, deviceDice.chance(0.1) { try eventTokens() }
    try updateHostTurn()
    try operate()
    try retentionTurn()
    try lookAtSyncs()
    try pullChanges()
    let pause = Int64(deviceDice.below(Int(knobs.hostPauseUs) * 2) + 1_000)
    queue.plan(at: nowUs + pause, .hostTurn)
  }

  /// Asks for a sync; nil where a kill fell into the call.
  @discardableResult
  func startSync(_ conversation: Int, older want: Int?) throws -> UInt64? {
    let bytes = conversations[conversation].bytes
    let top = serverTop(conversation)
    eyes.free()
    let started = try input {
      if let want { return try client.syncOlder(bytes, want: want) }
      return try client.syncLatest(bytes)
    }
    guard let number = started else { return nil }
    trace.note(nowUs, "host: sync \(number) c\(conversation) older \(want ?? -1)")
    let known = syncs.contains { $0.number == number }
    if !known {
      syncs.append(
        RunningSync(
          number: number, conversation: conversation, isLatest: want == nil, serverTopUs: top,
          restores: findings.restores))
      if want == nil { try shadow?.begin(sync: number, conversations[conversation].name, server) }
    }
    try pump()
    return number
  }

  private func cancelOne() throws {
    guard let sync = syncs.randomElement(using: &deviceDice) else { return }
    trace.note(nowUs, "host: cancel \(sync.number)")
    guard try input({ try client.cancel(sync.number) }) != nil else { return }
    try pump()
  }

  private func markSome(_ conversation: Int) throws {
    let bytes = conversations[conversation].bytes
    let rows = try client.page(bytes, limit: 40).rows
    let chosen = rows.filter { _ in deviceDice.chance(0.4) }
    if chosen.isEmpty { return }
    trace.note(nowUs, "host: mark \(chosen.count) read in c\(conversation)")
    for row in chosen { eyes.marked.insert(Self.text(row.id)) }
    let done: Void? = try input { try client.markRead(bytes, ids: chosen.map(\.id)) }
    guard done != nil else { return }
    for row in chosen where row.unread {
      ledger.marked.insert(String(decoding: row.id, as: UTF8.self))
    }
    try pump()
  }

  private func forgetOne(_ conversation: Int) throws {
    guard knobs.forgets else { return }
    let bytes = conversations[conversation].bytes
    let rows = try client.page(bytes, limit: 30).rows
    guard let row = rows.randomElement(using: &deviceDice) else { return }
    let id = String(decoding: row.id, as: UTF8.self)
    ledger.everForgotten.insert(id)
    trace.note(nowUs, "host: forget \(id)")
    if try input({ try client.forget(bytes, id: row.id) }) == nil {
      // The kill fell into the call: only what is read now tells whether it has happened.
      let rows = try client.page(bytes, limit: 10_000).rows
      if !rows.contains(where: { $0.id == row.id }) { ledger.forgotten.insert(id) }
      return
    }
    ledger.forgotten.insert(id)
    try pump()
  }

  /// A frame of another account is refused and changes nothing.
  private func foreignFrame() throws {
    guard knobs.foreignFrames, link.isUp, !diskFailureIsArmed else { return }
    let before = try images()
    let frame =
      "{\"account\":\"another\",\"type\":\"update\",\"payload\":{\"ref\":\"f1\",\"silent\":false,"
      + "\"action\":\"delete\",\"payload\":{\"entity\":\"conversation\",\"items\":[{"
      + "\"conversation_id\":\"c0\"}]}}}"
    guard let receipt = try input({ try client.receive(Array(frame.utf8)) }) else { return }
    let after = try images()
    if receipt != .foreign || before != after {
      throw Violation("a frame of another account was \(receipt.rawValue)")
    }
  }

  /// Takes note of the syncs that have ended.
  func lookAtSyncs() throws {
    var running: [RunningSync] = []
    for sync in syncs {
      let outcome = try client.progress(sync.number).outcome
      if outcome == .pending {
        running.append(sync)
        continue
      }
      trace.note(nowUs, "sync \(sync.number) ended: \(outcome)")
      shadow?.end(sync: sync.number, isGood: outcome == .ok)
      guard outcome == .ok, sync.isLatest, sync.restores == findings.restores else { continue }
      conversations[sync.conversation].frozen = false
      noteFirstFetch(sync.conversation)
      let top = max(sync.serverTopUs, conversations[sync.conversation].seenThroughUs)
      conversations[sync.conversation].seenThroughUs = top
      if backup != nil, top > conversations[sync.conversation].noticeableUs {
        conversations[sync.conversation].goodSyncs += 1
      }
    }
    syncs = running
  }

  /// The feed's numbers grow, also over restarts.
  func pullChanges() throws {
    // Who asks says that all before was read: a mirror is the one that follows.
    if knobs.retention.mirrors { return }
    guard let numbers = try client.changes(after: changeSeq) else { return }
    for number in numbers {
      if number <= changeSeq { throw Violation("the change feed went back to \(number)") }
      changeSeq = number
    }
    trace.mix(changeSeq)
  }

  // MARK: Kills

  private func planKill() throws {
    if killIsArmed || diskFailureIsArmed { return }
    if deviceDice.chance(0.4) {
      try kill(expecting: [images()])
      return
    }
    let writes = 1 + deviceDice.below(40)
    trace.note(nowUs, "kill armed after \(writes) writes")
    client.armKill(afterWrites: writes)
    killIsArmed = true
    inputsUntilKill = 1 + deviceDice.below(8)
  }

  /// Everything that the client shows.
  func images() throws -> [SimPage] {
    try conversations.map { try client.page($0.bytes, limit: 10_000) }
  }

  /// Kills the client and opens its files again. What it shows then is one of `expected`.
  func kill(expecting expected: [[SimPage]]) throws {
    trace.note(nowUs, "killed")
    findings.kills += 1
    loseConnection()
    try client.killAndReopen()
    let found = try images()
    if client.claimsCoverage, !expected.contains(found) {
      throw Violation(
        "after a kill the client shows neither what it showed before nor after: "
          + Self.difference(expected[0], found))
    }
    for (index, page) in found.enumerated() { try checkShape(index, page) }
    try checkActs("after a kill")
    try checkEffects(of: updates.replied.suffix(60))
    try recallAfterKill()
    planReconnect(afterUs: isQuiet ? 10_000 : Int64(deviceDice.below(3_000_000)))
    try pump()
  }

  static func difference(_ a: [SimPage], _ b: [SimPage]) -> String {
    for (index, (left, right)) in zip(a, b).enumerated() where left != right {
      let row = zip(left.rows, right.rows).first { $0 != $1 }.map {
        "; \(World.text($0.id)) unverified \($0.unverified), then \($1.unverified)"
      }
      return "c\(index): \(left.rows.count) rows and gaps \(left.gapsBefore), then "
        + "\(right.rows.count) rows and gaps \(right.gapsBefore)\(row ?? "")"
    }
    return "no difference"
  }
}
