/// Between devices and the log's server: latency, losses, doubles, cuts, errors; and what happens
/// on the server.
internal import Base

extension LogWorld {
  private func latency() -> Int64 {
    isQuiet ? 5_000 : 5_000 + Int64(networkDice.below(Int(knobs.latencyMaxUs)))
  }

  private func happens(_ share: Double) -> Bool {
    !isQuiet && share > 0 && networkDice.chance(share)
  }

  /// Puts one frame of a client on its way.
  func send(_ device: LogDevice, _ frame: SimFrame) throws {
    trace.mix(frame.bytes)
    trace.note(nowUs, "d\(device.number) →", frame: frame.bytes)
    findings.requests += 1
    guard device.isUp else { throw Violation("a frame was handed out while offline") }
    device.shadow?.note(asking: frame.bytes)
    let verb = Frames.type(frame.bytes) ?? ""
    if verb == "get_entries" { device.requests += 1 }
    if ["get_messages", "get_deleted_since", "get_changed_since"].contains(verb) {
      throw Violation("\(verb) is asked of a log")
    }
    if happens(knobs.dropShare) {
      trace.note(nowUs, "the request is lost")
      return
    }
    let arrival = max(nowUs + latency(), device.lastUpUs + 1)
    device.lastUpUs = arrival
    plan(
      at: arrival,
      .toServer(device: device.number, connection: device.connection, bytes: frame.bytes))
    if happens(knobs.cutShare) {
      var outage = Int64(networkDice.below(5_000_000)) + 10_000
      if knobs.longOutages, networkDice.chance(0.4) {
        outage = 20_000_000 + Int64(networkDice.below(300_000_000))
      }
      plan(
        at: nowUs + Int64(networkDice.below(1_000_000)),
        .cut(device: device.number, connection: device.connection, outageUs: outage))
    }
  }

  /// The server takes one request and answers it.
  func serve(_ device: LogDevice, _ bytes: [UInt8]) {
    if happens(knobs.errorShare) {
      let code = networkDice.chance(0.5) ? "unavailable" : "rate_limited"
      let answer =
        "{\"type\":\"\(Frames.type(bytes) ?? "")\","
        + "\"request_id\":\"\(Frames.string("request_id", bytes) ?? "")\","
        + "\"status\":\"error\",\"error\":{\"code\":\"\(code)\",\"retry_after_ms\":700}}"
      return sendDown(device, answer)
    }
    let served = room.serve(bytes, device.connection, newID: newID, nowUs: serverUs)
    if served.isRefused { device.refusals += 1 }
    let told =
      served.isPage
      ? LogTold(isPresent: served.isPresent, serial: room.serial, epoch: room.epoch) : nil
    if !served.entries.isEmpty {
      for entry in served.entries {
        trace.note(nowUs, "server: \(entry.id) \(entry.target) of d\(device.number)")
      }
      pushAll(served.entries, besides: knobs.room.tellsSender ? nil : device.number)
    }
    sendDown(device, served.answer, told)
  }

  private func sendDown(_ device: LogDevice, _ text: String, _ told: LogTold? = nil) {
    if happens(knobs.dropShare) {
      trace.note(nowUs, "an answer or a push is lost")
      return
    }
    var delay = latency()
    if happens(knobs.hangShare) {
      delay += knobs.timeoutMs * 1_000 + Int64(networkDice.below(5_000_000))
    }
    var arrival = nowUs + delay
    if !knobs.reorders || isQuiet { arrival = max(arrival, device.lastDownUs + 1) }
    device.lastDownUs = max(device.lastDownUs, arrival)
    let event = LogEvent.toDevice(
      device: device.number, connection: device.connection, bytes: Array(text.utf8), told: told)
    plan(at: arrival, event)
    if happens(knobs.duplicateShare) {
      plan(at: arrival + Int64(networkDice.below(8_000_000)), event)
    }
  }

  /// Tells each connection of what came.
  func pushAll(_ entries: [LogRoom.Entry], besides one: Int? = nil) {
    guard knobs.pushes else { return }
    for device in devices where device.isUp && device.number != one {
      if let push = room.push(entries, device.connection) { sendDown(device, push) }
    }
  }

  /// A frame reaches a device.
  func deliver(_ device: LogDevice, _ bytes: [UInt8], _ told: LogTold?) throws {
    trace.mix(bytes)
    let before = (device.presentSerial, device.epoch)
    device.mayDrop = Frames.string("code", bytes) == LogRoom.Refusal.notFound.rawValue
    defer { device.mayDrop = false }
    if device.mayDrop { device.presentSerial = 0 }
    if let told {
      if told.epoch != device.epoch { (device.epoch, device.presentSerial) = (told.epoch, 0) }
    }
    let begunNs = device.shadow == nil ? 0 : Shadow.cpuNs()
    guard let receipt = try input(device, { try device.client.receive(bytes) }) else {
      // It has happened or not: only what surely was known is claimed.
      (device.presentSerial, device.epoch) = (0, before.1 == device.epoch ? before.1 : -1)
      return
    }
    trace.mix(UInt64(receipt == .applied ? 1 : receipt == .ignored ? 2 : 3))
    trace.note(nowUs, "d\(device.number) ← \(receipt.rawValue)", frame: bytes)
    if receipt == .foreign || receipt == .quarantined {
      throw Violation("a good frame was \(receipt.rawValue)")
    }
    if receipt != .ignored {
      device.shadow?.note(received: bytes, tookNs: Shadow.cpuNs() - begunNs)
    }
    if receipt == .ignored {
      (device.presentSerial, device.epoch) = before
    } else if let told, told.isPresent {
      device.presentSerial = max(device.presentSerial, told.serial)
      if device.firstSerial == nil { device.firstSerial = told.serial }
    }
    try pump(device)
    try check(device)
    try look(device)
  }

  // MARK: The server

  func serverTurn() throws {
    plan(at: nowUs + Int64(serverDice.below(Int(knobs.serverPauseUs) * 2) + 1_000), .serverTurn)
    switch serverDice.below(60) {
    case 0 where knobs.purges:
      let most = knobs.purgesMost && serverDice.chance(0.3) ? room.log.count : room.log.count / 2
      let count = serverDice.below(most + 1)
      trace.note(nowUs, "server: purges \(count)")
      room.purge(count)
    case 1..<4 where knobs.restores:
      if knobs.losesTail, serverDice.chance(0.5) {
        room.backUp(without: 1 + serverDice.below(5))
        if canRestore { try restore() }
      } else {
        room.backUp()
      }
    case 4..<6 where knobs.restores && canRestore: try restore()
    case 6..<9 where knobs.expires:
      trace.note(nowUs, "server: tokens expire")
      room.expire()
    case 9..<12 where knobs.clockSteps:
      stepUs += Int64(serverDice.below(7_200_000)) * 1_000 - 3_600_000_000
      trace.note(nowUs, "server: its clock is set")
    case 12..<14 where knobs.bursts:
      for _ in 0..<(5 + serverDice.below(40)) { push([append()]) }
    default:
      var entries: [LogRoom.Entry] = []
      for _ in 0..<(1 + serverDice.below(3)) { entries.append(append()) }
      if serverDice.chance(0.3) {
        push(entries)
      } else {
        for entry in entries { push([entry]) }
      }
    }
  }

  private func push(_ entries: [LogRoom.Entry]) {
    if serverDice.chance(0.9) { pushAll(entries) }
  }

  private var canRestore: Bool { room.canRestore(tops: devices.map(\.presentSerial)) }

  /// A server that is restored begins with new connections.
  func restore() throws {
    trace.note(nowUs, "server: restored")
    findings.restores += 1
    room.restore()
    for device in devices { try cut(device, Int64(serverDice.below(2_000_000)) + 10_000) }
  }

  /// Something new, of others; what it is goes by chance.
  @discardableResult
  func append() -> LogRoom.Entry {
    var us = serverUs
    if knobs.backDates, serverDice.chance(0.2) {
      us -= Int64(serverDice.below(86_400_000)) * 1_000
    }
    let user = ["u0", "u1", World.me][serverDice.below(3)]
    var entry = LogRoom.Entry(id: newID(), sender: user, stampUs: us)
    entry.payload = "p\(entry.id)"
    let messages = room.messages
    if knobs.changes, !messages.isEmpty, serverDice.chance(0.4) {
      // Mostly of what is new, as people do.
      let reach = serverDice.chance(0.6) ? min(8, messages.count) : messages.count
      let target = messages[messages.count - 1 - serverDice.below(reach)].id
      (entry.target, entry.act) = (target, .edit)
      switch serverDice.below(10) {
      // Mostly its sender edits a message; u1 tries it with those of others, too.
      case 0..<3: if user != "u1", let author = room.entry(target)?.sender { entry.sender = author }
      case 3: entry.act = .delete
      case 4: entry.act = .react("r\(serverDice.below(2))")
      case 5: entry.act = .unreact("r\(serverDice.below(2))")
      case 6: entry.act = .reactions(serverDice.chance(0.3) ? [] : ["q", "r0"])
      case 7: entry.act = serverDice.chance(0.7) ? .pin : .unpin
      case 8: entry.act = serverDice.chance(0.5) ? .read : LogRoom.Act.none
      default:
        let changes = room.log.filter { $0.act != nil && $0.act != .delete }
        if knobs.takesBack, !changes.isEmpty {
          entry.target = changes[serverDice.below(changes.count)].id
          entry.act = .delete
        }
      }
    }
    entry = room.append(entry)
    trace.note(
      nowUs, "server: \(entry.id) \(entry.act.map { "\($0) of \(entry.target)" } ?? "")")
    return entry
  }
}
