/// The connection between device and server: latency, losses, doubles, cuts, errors.
///
/// A connection has a number; a frame of an earlier connection never arrives. Without echoed
/// request ids the order is kept and nothing comes twice, as on any real stream.
internal import ReferenceServer

extension World {
  private func latency() -> Int64 {
    if isQuiet { return 5_000 }
    let span = knobs.latencyMaxUs - knobs.latencyMinUs
    return knobs.latencyMinUs + Int64(networkDice.below(Int(span) + 1))
  }

  private func happens(_ share: Double) -> Bool {
    !isQuiet && share > 0 && networkDice.chance(share)
  }

  /// Puts one frame of the client on its way, after judging what it says.
  func send(_ frame: SimFrame) throws {
    trace.mix(frame.bytes)
    trace.note(nowUs, "→", frame: frame.bytes)
    findings.requests += 1
    if isQuiet { findings.quietRequests += 1 }
    guard link.isUp else { throw Violation("a frame was handed out while offline") }
    let request = Frames.request(frame.bytes)
    guard let type = Frames.type(request) else { throw Violation("a request without a type") }
    if knobs.envelope, type != "reply", request.count == frame.bytes.count {
      throw Violation("a request without its envelope: \(type)")
    }
    if type == "mark_read" || type == "mark_delivered" { try judgeMarks(type, request) }
    try judgeFetch(request)
    pushLog.note(asking: request)
    shadow?.note(asking: request, nowUs: server.nowUs)
    if isOperation(type) {
      try judgeTurn()
      try judgeSealed(type, request)
      acts.told.insert("\(type)|\(Self.subject(request))")
    }
    if type == "typing" { try judgeTyping(request) }
    try judgeSubscription(type, request)
    if type == "reply" {
      findings.requests -= 1
      if isQuiet { findings.quietRequests -= 1 }
      try judgeReply(frame.bytes)
    }
    if try endsConnection(type) { return }
    if happens(knobs.dropShare) {
      trace.note(nowUs, "the request is lost")
      return
    }
    let arrival = max(nowUs + latency(), link.lastUpUs + 1)
    link.lastUpUs = arrival
    queue.plan(at: arrival, .toServer(connection: link.number, bytes: frame.bytes))
    // A pile of replies would cut each connection before the first of them arrives.
    if type != "reply", happens(knobs.cutShare) { planCut() }
  }

  private func planCut() {
    let after = Int64(networkDice.below(1_000_000))
    var outage = Int64(networkDice.below(5_000_000)) + 10_000
    if knobs.longOutages, networkDice.chance(0.4) {
      outage = 20_000_000 + Int64(networkDice.below(300_000_000))
    }
    queue.plan(at: nowUs + after, .cut(connection: link.number, outageUs: outage))
  }

  /// Each id is someone else's, known to the device, and not confirmed before.
  private func judgeMarks(_ type: String, _ bytes: [UInt8]) throws {
    let ids = Frames.strings("message_ids", bytes)
    if ids.isEmpty { throw Violation("\(type) without ids") }
    if Set(ids).count != ids.count { throw Violation("\(type) names an id twice") }
    guard client.claimsCoverage else { return }
    for id in ids {
      guard let serial = ledger.serial(ofID: id) else {
        throw Violation("\(type) names an id that never was: \(id)")
      }
      if ledger.posted[serial].mine { throw Violation("\(type) names an own message: \(id)") }
      // Only what somebody called read is marked, and no push does.
      if type == "mark_read", !knobs.autoMarkRead, !knobs.operations.isOn, !eyes.marked.contains(id)
      {
        throw Violation("mark_read of \(id), which nobody has seen")
      }
      // With a conversation that was left goes what was known of it.
      if conversations[ledger.posted[serial].conversation].wasLeft { continue }
      if ledger.confirmed.contains(Self.confirmation(type, id)) {
        throw Violation("\(type) twice: \(id)")
      }
    }
  }

  /// How it is kept that the device knows of a mark on the server.
  private static func confirmation(_ type: String, _ id: String) -> String {
    type == "mark_read" ? id : "\(type) \(id)"
  }

  /// The server takes one request and answers it.
  func serve(_ bytes: [UInt8]) throws {
    let request = Frames.request(bytes)
    let type = Frames.type(request) ?? ""
    if try isDeaf(type, request) { return }
    if isOperation(type) {
      troubleNext(type)
    } else if type != "reply", happens(knobs.errorShare) {
      failNext(type)
    }
    forgetOldSends()
    let answers = server.handle(bytes, user: Self.me, from: link.subscription)
    try noteServed(type, request, answers)
    if type == "subscribe", answers.contains(where: { Frames.string("status", $0) != "ok" }) {
      acts.mustAskUntilUs = 0
    }
    for answer in answers {
      var marks: [String] = []
      if Frames.string("status", answer) == "ok", type == "mark_read" || type == "mark_delivered" {
        let ids = Frames.strings("message_ids", request)
        marks = ids.map { Self.confirmation(type, $0) }
        if type == "mark_read" {
          ledger.readOnServer.formUnion(ids)
        } else {
          acts.deliveredOnServer.formUnion(ids)
        }
      }
      sendDown(contradicted(type, answer), marks)
    }
  }

  /// At times a page has no rows and says that there are more.
  private func contradicted(_ type: String, _ answer: [UInt8]) -> [UInt8] {
    guard knobs.contradictions, !isQuiet, type == "get_messages", harmDice.chance(0.1) else {
      return answer
    }
    return Frames.contradicted(answer)
  }

  private func failNext(_ type: String) {
    // An older copy that comes behind news of a restore is the newer truth: nothing tells
    // otherwise.
    let hasNoCursor = Self.isFetch(type) || type == "mark_read" || type == "mark_delivered"
    let tellsMuch =
      knobs.updates.isOn || knobs.envelope
      || knobs.pushes && (knobs.operations.isOn || knobs.duplicateShare > 0 || knobs.reorders)
    switch networkDice.below(hasNoCursor || tellsMuch ? 2 : 3) {
    case 0: server.failNext("rate_limited", retryAfterMs: 100 + networkDice.below(5_000))
    case 1: server.failNext("unavailable")
    default: server.failNext("unknown_cursor")
    }
  }

  private func sendDown(_ bytes: [UInt8], _ marks: [String], isPush: Bool = false) {
    let keeps = isPush && knobs.lossless
    if happens(knobs.dropShare) {
      if keeps {
        // What must not be lost is only lost with the connection.
        guard networkDice.chance(0.05) else {
          return plan(bytes, marks, at: max(nowUs + latency(), link.lastDownUs + 1))
        }
        // What was sent before arrives: a long list would end each connection otherwise.
        link.lastDownUs = max(nowUs, link.lastDownUs + 1)
        queue.plan(
          at: link.lastDownUs, .cut(connection: link.number, outageUs: 300_000))
        return
      }
      trace.note(nowUs, "the answer is lost")
      return
    }
    var delay = latency()
    if happens(knobs.hangShare) {
      delay += knobs.timeoutMs * 1_000 + Int64(networkDice.below(5_000_000))
    }
    var arrival = nowUs + delay
    if !knobs.reorders || knobs.lossless || isQuiet { arrival = max(arrival, link.lastDownUs + 1) }
    link.lastDownUs = max(link.lastDownUs, arrival)
    queue.plan(
      at: arrival, .toDevice(connection: link.number, bytes: bytes, marks: marks))
    if happens(knobs.duplicateShare), !keeps || knobs.envelope {
      let again = arrival + Int64(networkDice.below(8_000_000))
      queue.plan(at: again, .toDevice(connection: link.number, bytes: bytes, marks: marks))
    }
  }

  private func plan(_ bytes: [UInt8], _ marks: [String], at arrival: Int64) {
    link.lastDownUs = max(link.lastDownUs, arrival)
    queue.plan(
      at: arrival, .toDevice(connection: link.number, bytes: bytes, marks: marks))
  }

  /// What the server has pushed since the last time goes on its way, best effort.
  func sendPushes() {
    guard let token = link.subscription else { return }
    for bytes in server.drain(token) where link.isUp {
      sendDown(lengthened(bytes), [], isPush: true)
    }
  }

  /// At times an update of messages has more items than a list may have. What it tells reaches
  /// the device by what it asks then.
  private func lengthened(_ bytes: [UInt8]) -> [UInt8] {
    guard knobs.longLists, !isQuiet, Frames.type(bytes) == "update",
      Frames.string("entity", bytes) == "message", Frames.string("action", bytes) != "update",
      listDice.chance(knobs.lossless ? 0.3 : 0.1)
    else { return bytes }
    if let ref = Frames.string("ref", bytes) { longRefs.insert(ref) }
    ledger.note(longListed: bytes)
    return Frames.withLongList(bytes)
  }

  /// Whether all is shown as before. The answer makes room for the next request, and where that is
  /// the first one of a conversation since the server was found restored, nothing is claimed of it
  /// any more: its rows stay.
  private func isShownAsBefore(_ before: [SimPage], _ now: [SimPage]) -> Bool {
    zip(before, now).allSatisfy { $0 == $1 || findings.restores > 0 && $0.hasRows(of: $1) }
  }

  /// A frame reaches the device.
  func deliver(_ bytes: [UInt8], _ marks: [String]) throws {
    trace.mix(bytes)
    // A kill may fall into the call when the effect is on the disk already.
    noteUpdate(bytes)
    let receiving = try beginReceiving(bytes)
    let kept = Frames.isContradicted(bytes) ? try images() : nil
    try forgetPurged()
    let begunNs = shadow == nil ? 0 : Shadow.cpuNs()
    guard let receipt = try input({ try client.receive(bytes) }) else { return }
    if receipt == .ignored {
      shadow?.note(ignored: bytes)
    } else if receipt != .foreign {
      shadow?.note(received: bytes, tookNs: Shadow.cpuNs() - begunNs, nowUs: server.nowUs)
    }
    trace.mix(UInt64(receipt == .applied ? 1 : receipt == .ignored ? 2 : 3))
    trace.note(nowUs, "← \(receipt.rawValue)", frame: bytes)
    if receipt != .ignored {
      notePage(bytes)
      noteCauses(bytes)
      noteOffers(bytes)
    }
    if receipt != .ignored, !Frames.hasLongList(bytes) {
      ledger.noteDelivered(bytes, of: knownSerials(bytes))
      noteSubscribed(bytes)
      ledger.confirmed.formUnion(marks)
    }
    if receipt == .foreign { throw Violation("a frame of this account was refused") }
    if let kept, case let now = try images(), !isShownAsBefore(kept, now) {
      throw Violation(
        "a page that contradicts itself has changed what is shown: " + Self.difference(kept, now))
    }
    if Frames.string("status", Frames.answer(bytes)) != nil { strangers.inVain = 0 }
    try endReceiving(receiving, bytes, receipt)
    try pump()
    if deviceDice.chance(screens.isEmpty ? 0.2 : 0.1) { try read() }
    try editAsAnother()
  }

  /// Changes of messages that are not stored are nobody's: which are, after such an answer.
  private func knownSerials(_ bytes: [UInt8]) -> Set<Int>? {
    guard Frames.type(Frames.answer(bytes)) == "get_changed_since",
      let rows = try? images().flatMap(\.rows)
    else { return nil }
    return Set(rows.compactMap { Ledger.mark($0.payload)?.serial })
  }

  /// The connection breaks; what is under way in either direction is lost.
  func cut(outageUs: Int64) throws {
    guard link.isUp else { return }
    trace.note(nowUs, "cut for \(outageUs / 1_000) ms")
    acts.typing = []
    link.isUp = false
    if let token = link.subscription { server.unsubscribe(token) }
    link.subscription = nil
    shadow?.connectionEnded()
    planReconnect(afterUs: isQuiet ? 10_000 : outageUs)
    guard try input({ try client.disconnected() }) != nil else { return }
    try pump()
  }

  func planReconnect(afterUs: Int64) {
    if link.reconnectPlanned { return }
    link.reconnectPlanned = true
    queue.plan(at: nowUs + afterUs, .reconnect)
  }

  func reconnect() throws {
    link.reconnectPlanned = false
    if link.isUp { return }
    link.number += 1
    link.isUp = true
    link.lastUpUs = nowUs
    link.lastDownUs = nowUs
    if knobs.pushes {
      link.subscription = server.subscribe(user: Self.me, account: Self.account)
    }
    trace.note(nowUs, "connected")
    forgetSends()
    pushLog.forgetAsking()
    try noteConnection()
    guard try input({ try client.connected() }) != nil else { return }
    try pump()
  }
}
