/// The host on a device of the log's worlds: syncs, acts, scrolls, goes offline, is killed.
internal import Base

/// What a host asks of a log.
enum LogAsked: Equatable {
  case latest, live
  case older(Int)
  case at(String)
  case time(Int64)
}

extension LogWorld {
  /// The host does one thing, and the next one is planned.
  func hostTurn(_ device: LogDevice) throws {
    turnsLeft -= 1
    let pause = Int64(device.dice.below(Int(knobs.hostPauseUs) * 2) + 1_000)
    plan(at: nowUs + pause, .hostTurn(device: device.number))
    switch device.dice.below(100) {
    case 0..<30: try sync(device, .latest)
    case 30..<42: try sync(device, .older(device.dice.below(60)))
    case 42..<50: try sync(device, .live)
    case 50..<55: try sync(device, .at(someID(device)))
    case 55..<58:
      try sync(device, .time(serverUs - Int64(device.dice.below(3_600_000)) * 1_000))
    case 58..<62: try cut(device, Int64(device.dice.below(20_000_000)))
    case 62..<66: try cancel(device)
    case 66..<72: if knobs.kills { try planKill(device) }
    case 72..<75: if knobs.powerCuts { try cutPower(device) }
    case 75..<78: try markRead(device)
    default: break
    }
    if knobs.acts, device.dice.chance(0.5) { try act(device) }
    if knobs.screens > 0, device.dice.chance(0.7) { try screenTurn(device) }
    try endSyncs(device)
    try checkOperations(device)
    try check(device)
  }

  func someID(_ device: LogDevice) -> String {
    let ids = room.messages.map(\.id)
    if ids.isEmpty || device.dice.chance(0.1) {
      return room.purged.sorted().first ?? "never"
    }
    return ids[device.dice.below(ids.count)]
  }

  /// Asks for a sync; nil where a kill fell into the call.
  @discardableResult
  func sync(_ device: LogDevice, _ asked: LogAsked) throws -> UInt64? {
    for index in device.screens.indices { device.screens[index].isFree = true }
    let started = try input(device) { () throws -> UInt64 in
      if let tideline = device.tideline { return try tideline.sync(Self.room, asked) }
      if case .older(let want) = asked {
        return try device.client.syncOlder(Self.room, want: want)
      }
      return try device.client.syncLatest(Self.room)
    }
    guard let number = started else { return nil }
    trace.note(nowUs, "d\(device.number) host: sync \(number) \(asked)")
    device.syncs.append(number)
    try pump(device)
    try look(device)
    return number
  }

  private func cancel(_ device: LogDevice) throws {
    guard let sync = device.syncs.randomElement(using: &device.dice) else { return }
    trace.note(nowUs, "d\(device.number) host: cancels sync \(sync)")
    guard try input(device, { try device.client.cancel(sync) }) != nil else { return }
    try pump(device)
  }

  private func endSyncs(_ device: LogDevice) throws {
    device.syncs = try device.syncs.filter {
      let progress = try device.client.progress($0)
      // Down to the start and once more for what is in doubt is the most that there is to ask.
      if progress.requests > 140 + 4 * room.log.count {
        throw Violation("a sync made \(progress.requests) requests")
      }
      return progress.outcome == .pending
    }
  }

  private func markRead(_ device: LogDevice) throws {
    let rows = try image(device).rows.suffix(10).filter(\.unread)
    guard let row = rows.randomElement(using: &device.dice) else { return }
    let done: Void? = try input(device) {
      try device.client.markRead(Self.room, ids: [row.id])
    }
    if done != nil { try pump(device) }
  }

  private func planKill(_ device: LogDevice) throws {
    if device.killIsArmed { return }
    if device.dice.chance(0.4) { return try kill(device, expecting: [image(device)]) }
    let writes = 1 + device.dice.below(40)
    trace.note(nowUs, "d\(device.number) kill armed after \(writes) writes")
    device.client.armKill(afterWrites: writes)
    device.killIsArmed = true
    device.inputsUntilKill = 1 + device.dice.below(8)
  }

  // MARK: The user

  private func act(_ device: LogDevice) throws {
    guard let tideline = device.tideline else { return }
    switch device.dice.below(100) {
    case 0..<50: try say(device, tideline)
    case 50..<62: try change(device, tideline, "edit_message")
    case 62..<68: try change(device, tideline, "delete_message")
    case 68..<80:
      try change(
        device, tideline, device.dice.chance(0.7) ? "react_message" : "unreact_message")
    case 80..<87:
      try change(device, tideline, device.dice.chance(0.6) ? "pin_message" : "unpin_message")
    case 87..<93: try decide(device, tideline, isRetry: false)
    default: try decide(device, tideline, isRetry: true)
    }
  }

  private func perform(
    _ device: LogDevice, _ tideline: TidelineClient, _ json: String
  ) throws -> (seq: UInt64, number: UInt64)? {
    trace.note(nowUs, "d\(device.number) host: \(json)")
    return try input(device) { try tideline.perform(json) }
  }

  private func say(_ device: LogDevice, _ tideline: TidelineClient) throws {
    let name = "k\(device.number)-\(newID())"
    let payload = "own \(name)"
    let made = try perform(
      device, tideline,
      "{\"type\":\"send_message\",\"client_id\":\"\(name)\",\"conversation_id\":\"c0\","
        + "\"payload\":\"\(payload)\"}")
    // Where a kill fell into the call, the user does not ask again: it comes once or never.
    device.sends[name] = LogSend(
      seq: made?.seq ?? 0, number: made?.number ?? 0, payload: payload)
    guard let made else { return }
    guard try tideline.row(Self.room, Array(name.utf8))?.number == made.number else {
      throw Violation("\(name) was performed and is not shown")
    }
    try pump(device)
    try look(device)
  }

  private func change(
    _ device: LogDevice, _ tideline: TidelineClient, _ verb: String
  ) throws {
    let page = try image(device)
    let rows = page.rows.suffix(25) + page.pending
    guard let row = rows.randomElement(using: &device.dice) else { return }
    let id = World.text(row.id)
    var more = ""
    if verb == "edit_message" { more = ",\"payload\":\"edit \(newID())\"" }
    if verb.hasSuffix("react_message") { more = ",\"reaction\":\"r\(device.dice.below(3))\"" }
    device.touched.insert(id)
    if row.isPending, verb == "delete_message" { device.sends[id]?.isTakenBack = true }
    if row.isPending, verb == "edit_message" { device.sends[id]?.payload = "" }
    let made = try perform(
      device, tideline,
      "{\"type\":\"\(verb)\",\"conversation_id\":\"c0\",\"message_id\":\"\(id)\"\(more)}")
    guard made != nil else { return }
    try pump(device)
    try look(device)
  }

  /// The user takes back what waits or is stuck, or has it tried again.
  func decide(_ device: LogDevice, _ tideline: TidelineClient, isRetry: Bool) throws {
    let open = try tideline.allOperations().filter {
      $0.standing == .refused || $0.standing == .unknown || !isRetry && $0.standing == .queued
    }
    guard let one = open.randomElement(using: &device.dice) else { return }
    trace.note(nowUs, "d\(device.number) host: \(isRetry ? "retries" : "takes back") \(one.seq)")
    if isRetry {
      // Where a kill falls into it, it may have been taken up.
      device.sends[one.clientID]?.tries += 1
    } else {
      device.sends[one.clientID]?.isTakenBack = true
      if !one.message.isEmpty { device.touched.insert(one.message) }
    }
    let answer = try input(device) {
      isRetry ? try tideline.retryOperation(one.seq) : try tideline.cancelOperation(one.seq)
    }
    guard answer != nil else { return }
    try pump(device)
    try look(device)
  }
}
