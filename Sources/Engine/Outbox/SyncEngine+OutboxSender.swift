/// Operations on their way out: whose turn it is, and what is written down before a
/// frame leaves.
///
/// Rule protected: that a message or a conversation may have reached the server is on
/// disk before its frame is handed out, so that no crash makes it be sent twice. What is not known
/// to have arrived is looked for by a catch-up and not sent again unasked; where nobody can tell it
/// is the user's to decide.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Keeps the copy in memory, and takes back a frame that says what is no longer so.
  func track(_ seq: UInt64, _ operation: OpenOperation?) {
    outbox.update(seq, operation: operation)
    guard operation?.state != .inFlight else { return }
    if tracker.isUntaken(.operation(seq)) {
      tracker.abandon(.operation(seq))
    } else {
      tracker.settle(.operation(seq))
    }
  }

  /// Sends what has its turn. Where one request at a time goes out, a screen that waits
  /// gets every second one.
  func sendOperations(_ now: Instant) {
    guard noteLate(now) else { return }
    endLoose(now)
    if !outbox.checks.isEmpty { runChecks(now) }
    guard !outbox.open.isEmpty else { return }
    let screenWaits = scheduler.jobs.contains {
      $0.request.isUrgent && !$0.turn.inFlight && $0.turn.notBeforeMs <= now.monotonicMs
        && !outbox.isUnmade($0.request.conversation)
    }
    var room = tracker.room
    if screenWaits, room > 1 || outbox.wasLast { room -= 1 }
    guard room > 0 else { return }
    var launched: Set<UInt64> = []
    for pending in tracker.pendingRequests {
      if case .operation(let seq) = pending.purpose { launched.insert(seq) }
    }
    let next = OutboxPolicy.next(
      outbox.open, launched: launched, verifying: Set(outbox.checks.keys),
      notBeforeMs: outbox.notBeforeMs, nowMs: now.monotonicMs, limit: room)
    for seq in next {
      do {
        // What the frame would leave room for goes out in its place, and the look has its time.
        if try isLookedForFirst(seq, now) { continue }
        guard let request = try request(of: seq) else { continue }
        report.stats.requests += 1
        tracker.send(
          .operation(request), for: .operation(seq), issued: lastLSN, account: commander)
        outbox.noteSent(isOperation: true)
        report.tellHost()
      } catch {
        report.logLines.append((.error, "an operation could not be read"))
        return
      }
    }
  }

  private func request(of seq: UInt64) throws(StoreFailure) -> OperationRequest? {
    try store.read { rx throws(StoreFailure) in
      guard let record = try rx.operation(seq) else { return nil }
      var request = OperationRequest(verb: record.verb.onWire, clientID: record.clientID)
      request.body = record.members
      if record.cid != 0 { request.conversation = try rx.conversation(cid: record.cid)?.id }
      switch record.verb {
      case .createConversation:
        request.conversation = nil
      case .sendMessage:
        if let reply = record.replyTo {
          let id = try rx.id(ofSend: reply, in: record.cid)
          let send = try rx.operation(clientID: reply)
          // A server may call a message as this user did.
          let isNamed = id != reply || send?.target == id || send?.cid != record.cid
          request.body = operationBody(
            request.body, setting: "reply_to", to: isNamed ? quoted(id) : nil)
        }
      default:
        if !record.target.isEmpty { request.message = record.target }
      }
      if record.verb.hasPayload { request.payload = record.sealed ?? record.plain }
      return request
    }
  }

  /// The next frame for the host.
  func takeFrame(_ now: Instant) throws(Failure) -> OutgoingFrame? {
    while let seq = tracker.nextOperation {
      let isReady = try storing { () throws(StoreFailure) in
        report.tellHost()
        return try begin(seq, now)
      }
      if isReady { break }
      tracker.abandon(.operation(seq))
    }
    return tracker.takeFrame(nowMs: now.monotonicMs)
  }

  /// An operation that would be done twice, and that the server may have forgotten: it waits for a
  /// look. What was sent before may still arrive until then.
  private func isLookedForFirst(_ seq: UInt64, _ now: Instant) throws(StoreFailure) -> Bool {
    let recognition = recognition(now)
    let isRecognized = can(.idempotentSend)
    // Without that, only one that waits in a copy of a file may have been sent.
    let isFirstTry = outbox.operation(seq)?.attempts == 0
    if isRecognized ? recognition.isKnownForEver : isFirstTry { return false }
    if config.profile.isPlanted(.forgottenSendRepeated) { return false }
    let isForgotten = { [outbox] (record: OperationRecord) -> Bool in
      guard record.mayBeTwo, record.state == .queued || record.state == .inFlight,
        let stamp = record.firstSent
      else { return false }
      return !isRecognized || !recognition.isKnown(stamp, sinceMs: outbox.firstSentMs[seq])
    }
    guard let known = try store.read({ rx throws(StoreFailure) in try rx.operation(seq) }),
      isForgotten(known)
    else { return false }
    let verb = try commit { tx throws(StoreFailure) -> OperationVerb? in
      guard var record = try tx.operation(seq), isForgotten(record) else { return nil }
      record.state = .unknown
      try tx.operationTable.saveOperation(record)
      return record.verb
    }
    if verb == .sendMessage {
      outbox.check(seq, notBeforeMs: now.monotonicMs &+ tracker.pacing.timeoutMs)
    }
    return verb != nil
  }

  /// Writes down that an operation leaves. False where it is not to leave any more.
  private func begin(_ seq: UInt64, _ now: Instant) throws(StoreFailure) -> Bool {
    if try isLookedForFirst(seq, now) { return false }
    let recognition = recognition(now)
    var isFirst = false
    let verb = try commit { tx throws(StoreFailure) -> OperationVerb? in
      guard var record = try tx.operation(seq), record.state == .queued || record.state == .inFlight
      else { return nil }
      if record.state == .inFlight { return record.verb }
      record.state = .inFlight
      if record.mayBeTwo, record.firstSent == nil {
        record.firstSent = recognition.now
        isFirst = true
      }
      if record.verb == .sendMessage, record.attempts == 0 {
        record.sentAfter = try sentAfter(record.cid, tx)
      }
      record.attempts &+= 1
      try tx.operationTable.saveOperation(record)
      return record.verb
    }
    if isFirst { outbox.noteFirstSent(seq, at: now.monotonicMs) }
    guard let verb else { return false }
    if verb.isNew { try store.syncDurable() }
    return true
  }

  private func recognition(_ now: Instant) -> RepeatRecognition {
    let by: Int64 =
      switch config.profile.idempotencyScope {
      case .account: 0
      case .device: store.digest(config.device[...])
      // Each connection that has sent something has committed since.
      case .connection: Int64(bitPattern: memory.live.beganLSN)
      }
    return RepeatRecognition(
      now: SendStamp(atUs: now.wallUs, by: by), nowMs: now.monotonicMs,
      isOfAccount: config.profile.idempotencyScope == .account,
      knownUs: config.profile.isPlanted(.expiredSendRepeated) ? 0 : config.profile.idempotencyUs,
      timeoutMs: tracker.pacing.timeoutMs)
  }

  // MARK: In a copy of a file

  /// The file is an original from now on, unless what a copy needs is not written yet.
  func endCopied() {
    if outbox.unnoted.isEmpty { store.endCopied() }
  }

  /// Notes what the opening of a copy could not, as on a full disk. False where it still cannot:
  /// what went out then would be there twice.
  func noteLate(_ now: Instant) -> Bool {
    let late = outbox.unnoted
    if late.isEmpty { return true }
    do throws(StoreFailure) {
      try commit { tx throws(StoreFailure) in
        for seq in late { try noteMaybeSent(seq, tx) }
      }
    } catch {
      return false
    }
    outbox.leaveUnnoted([])
    let fromMs = now.monotonicMs &+ tracker.pacing.timeoutMs
    for seq in late {
      guard let operation = outbox.operation(seq), operation.state == .unknown,
        operation.verb == .sendMessage
      else { continue }
      outbox.check(seq, notBeforeMs: tracker.isUp ? fromMs : nil)
    }
    endCopied()
    return true
  }

  /// The file is a copy: the client of the original may have sent since what waits here, so it is
  /// looked for before it is sent.
  func noteMaybeSent(_ seq: UInt64, _ tx: WriteTransaction) throws(StoreFailure) {
    guard var record = try tx.operation(seq), record.state == .queued else { return }
    if record.firstSent == nil {
      // Not before it was made, and by whom is not known.
      record.firstSent = SendStamp(atUs: record.atUs == 0 ? nil : record.atUs, by: -1)
    }
    if record.verb == .sendMessage, record.sentAfter == nil {
      record.sentAfter = try sentAfter(record.cid, tx)
    }
    record.attempts = max(record.attempts, 1)
    // All at once, since one page may hold them all and shows each as new once only.
    if record.verb == .sendMessage, record.waits == .nothing, record.depends == 0,
      !isRepeatable(record)
    {
      record.state = .unknown
    }
    try tx.operationTable.saveOperation(record)
  }

  // MARK: Without an answer

  /// No answer came in time, or the connection was lost before one did.
  func loseOperation(_ pending: PendingRequest, at now: Instant) {
    guard case .operation(let seq) = pending.purpose else { return }
    // Its frame was not handed out, though that may be written down.
    let wasTaken = pending.sentMs != nil
    guard wasTaken || outbox.operation(seq)?.state == .inFlight else { return }
    do {
      try end(
        seq, ending: .none, refusal: nil, at: now, deadlineMs: pending.deadlineMs,
        wasTaken: wasTaken)
    } catch {
      outbox.noteLoose(seq)
      report.logLines.append((.error, "the end of an operation could not be stored"))
    }
  }

  private func endLoose(_ now: Instant) {
    for seq in outbox.looseEnds {
      do {
        try end(seq, ending: .none, refusal: nil, at: now, deadlineMs: nil)
        outbox.endLoose(seq)
      } catch {
        return
      }
    }
  }

  /// An operation's request has ended otherwise than well.
  func end(
    _ seq: UInt64, ending: OutboxPolicy.Ending, refusal: Refusal?, at now: Instant,
    deadlineMs: Int64?, wasTaken: Bool = true
  ) throws(StoreFailure) {
    var verdict = OutboxPolicy.Verdict.done
    var lowered = LoweredMark.unknown
    try commit { tx throws(StoreFailure) in
      guard var record = try tx.operation(seq), record.state == .inFlight else { return }
      // Sent once more it would undo what was asked later.
      if try record.isOutdated(tx) { return try tx.operationTable.removeOperation(seq) }
      verdict = OutboxPolicy.verdict(
        ending, verb: record.verb.onWire, isRepeatable: isRepeatable(record), wasTaken: wasTaken)
      if record.verb == .markLastRead, case .failed(.notFound, _) = ending,
        outbox.noteTrouble(seq) <= OperationWriter.loweredMax
      {
        lowered = try writer(tx).lower(&record)
        if lowered != .unknown { verdict = .retry(afterMs: 0) }
        // What was read and is not stored the server may count.
        try tx.unreadTable.doubt(record.cid)
      }
      switch verdict {
      case .refused:
        record.state = .refused
        record.firstSent = nil
        // The server counts without it.
        if record.verb == .markLastRead {
          try tx.unreadTable.noteRefused(record.target, in: record.cid)
        }
      case .retry:
        record.state = lowered == .nothing ? .done : .queued
        // No earlier try is left without an answer.
        let isAlone = record.attempts == 1 || !can(.idempotentSend)
        if isAlone, !wasTaken || ending != .none && ending != .malformed { record.firstSent = nil }
      case .done, .unknown:
        verdict = .unknown
        record.state = .unknown
        record.firstSent = nil
      }
      record.errorCode = lowered == .unknown ? refusal?.code : nil
      record.errorText = lowered == .unknown ? refusal?.text : nil
      try tx.operationTable.saveOperation(record)
    }
    report.tellHost()
    switch verdict {
    case .done, .refused:
      break
    case .retry(let afterMs):
      // The server has answered, so the marker of another message is sent at once.
      if lowered != .unknown { return }
      report.stats.retries += 1
      // What a lost connection took is sent again on the next one.
      if ending == .none, !tracker.isUp { return }
      let pause = tracker.backoffMs(attempt: outbox.noteTrouble(seq), atLeast: afterMs)
      outbox.pause(seq, untilMs: now.monotonicMs + pause, isServerPause: afterMs > 0)
    case .unknown:
      guard outbox.operation(seq)?.verb == .sendMessage else { return }
      // Until then it may still arrive.
      outbox.check(seq, notBeforeMs: deadlineMs ?? now.monotonicMs)
    }
  }

  // MARK: Looks at the server

  /// Begins the catch-ups that look for unknown sends. A conversation that may have been
  /// made shows by nothing that it was: it is the user's to decide at once.
  func runChecks(_ now: Instant) {
    guard tracker.isUp else { return }
    for seq in Array(outbox.checks.keys).ascending() {
      guard let check = outbox.checks[seq], check.sync == nil,
        let due = check.notBeforeMs, due <= now.monotonicMs
      else { continue }
      guard let operation = outbox.operation(seq) else {
        outbox.endCheck(seq)
        continue
      }
      do {
        let (record, after) = try store.read { rx throws(StoreFailure) in
          (try rx.conversation(cid: operation.cid), try rx.operation(seq)?.sentAfter)
        }
        guard let conversation = record?.id else {
          try giveUp(seq)
          continue
        }
        // One that began before may not show what has arrived since.
        if scheduler.asks(conversation) { continue }
        outbox.look(seq, by: startLook(conversation, downTo: scheme.boundary(after: after) ?? .min))
      } catch {
        return
      }
    }
  }

  /// A send of unknown outcome is looked for.
  func checkUnknown(_ seq: UInt64) {
    guard let operation = outbox.operation(seq), operation.state == .unknown,
      operation.verb == .sendMessage
    else { return }
    outbox.check(seq)
  }

  /// Nothing that went out on an earlier connection reaches the server any more.
  func formerConnectionIsDead(_ now: Instant) {
    outbox.formerConnectionIsDead(isUp: tracker.isUp, at: now.monotonicMs)
    if tracker.isUp { pump(now) }
  }

  /// A catch-up looks for all unknown ones that were to be looked for.
  func checkEnded(_ job: SyncJob, trouble: Failure?) {
    for seq in outbox.looked(by: job.id) {
      switch trouble {
      case nil, .refused, .notFound, .unsupported, .incomplete:
        do {
          if trouble == nil, try resend(seq) { continue }
          try giveUp(seq)
        } catch {
          lookAgain(seq)
        }
      default:
        lookAgain(seq)
      }
    }
  }

  /// All was looked at and could be read, and it is not there: it is sent again to a server that
  /// recognises a repetition. False where the user decides: also where a message of this user's
  /// came without its client id, which may be this one, or the file was lost meanwhile.
  private func resend(_ seq: UInt64) throws(StoreFailure) -> Bool {
    guard can(.idempotentSend) else { return false }
    let isQueued = try commit { tx throws(StoreFailure) -> Bool in
      guard var record = try tx.operation(seq), record.state == .unknown,
        let first = record.firstSent, first.by != SendStamp.lost, !record.isRewritten,
        let low = scheme.boundary(after: record.sentAfter)
      else { return false }
      guard try tx.quarantined(record.cid, from: low, to: .max).isEmpty,
        try !tx.hasNamelessOwn(record.cid, from: low)
      else { return false }
      record.state = .queued
      record.firstSent = nil
      try tx.operationTable.saveOperation(record)
      return true
    }
    if isQueued { report.tellHost() }
    return isQueued
  }

  /// It was not there, or nobody may look: the user's to decide.
  private func giveUp(_ seq: UInt64) throws(StoreFailure) {
    try commit { tx throws(StoreFailure) in try tx.operationTable.giveUp(send: seq) }
    outbox.endCheck(seq)
    report.tellHost()
  }

  private func lookAgain(_ seq: UInt64) {
    outbox.lookAgain(seq) { attempts in tracker.backoffMs(attempt: attempts, atLeast: 0) }
  }
}

extension OperationRecord {
  /// Whether a server that knows nothing again would do it twice.
  fileprivate var mayBeTwo: Bool {
    !OutboxPolicy.isRepeatable(verb.onWire, body: members, isIdempotent: false)
  }

  /// What stands between the braces of its other members.
  var members: [UInt8] {
    body.count > 2 ? Array(body[1..<body.count - 1]) : []
  }

  /// The object of its other members.
  static func body(_ members: [UInt8]) -> [UInt8] {
    members.isEmpty ? [] : [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")]
  }
}
