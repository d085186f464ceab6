/// What the user does: one call for every verb, and typed ones for the common verbs.
///
/// Rule protected: what returned is on disk, and is told to the server once. The
/// sealing hook runs before any lock is taken.
internal import Base
internal import Store
internal import Wire

extension Client {
  /// Takes a request object of the protocol as an operation. `number` is the row of the
  /// message that is sent, otherwise 0. The same client id again is the same operation.
  /// Marks and typing are no operations: 0.
  package func perform(
    _ json: [UInt8], _ options: PerformOptions = PerformOptions()
  ) throws(Failure) -> (operation: UInt64, number: UInt64) {
    if json.count > Limits.requestBytesMax { throw .tooLarge("request is over 1 MiB") }
    let request = try parsed(json)
    if options.awaitsUpload, request.verb != .sendMessage {
      throw .invalid("only a message has an attachment")
    }
    let conversation = request.conversation ?? []
    switch request.verb {
    case .markRead:
      try markRead(conversation: conversation, ids: request.messageIDs)
      return (0, 0)
    case .markDelivered:
      try markDelivered(conversation: conversation, ids: request.messageIDs)
      return (0, 0)
    case .markListened:
      try markListened(conversation: conversation, ids: request.messageIDs)
      return (0, 0)
    case .typing:
      _ = try sendSign(request)
      return (0, 0)
    default:
      return try perform(request, options)
    }
  }

  /// `send_message` without JSON of the caller's around it.
  package func send(
    _ message: Outgoing, _ options: PerformOptions = PerformOptions()
  ) throws(Failure) -> (operation: UInt64, number: UInt64) {
    try check(message.conversation)
    let size = [
      message.conversation, message.clientID, message.replyTo, message.payload,
      message.attachment, message.metadata,
    ].reduce(0) { $0 + $1.count }
    if size > Limits.requestBytesMax { throw .tooLarge("request is over 1 MiB") }
    let made: OperationRequest
    do throws(Failure) {
      made = try request { () throws(WireFailure) in
        try OperationRequest.send(
          conversation: message.conversation, clientID: message.clientID,
          replyTo: message.replyTo, payload: message.payload, attachment: message.attachment,
          metadata: message.metadata)
      }
    } catch {
      // The host gave no request, but these: the one that is wrong is named.
      if !message.payload.isEmpty, !isJSON(message.payload) {
        throw .invalid("payload is not JSON; a text goes in quotes")
      }
      if !message.metadata.isEmpty, !isJSON(message.metadata) {
        throw .invalid("metadata is not JSON")
      }
      throw error
    }
    return try perform(made, options)
  }

  package func markDelivered(conversation: [UInt8], ids: [[UInt8]]) throws(Failure) {
    try mark(.delivered, conversation, ids)
  }

  /// Tells the others, if connected: false where not. Nothing of it is kept.
  package func typing(conversation: [UInt8], event: TypingAction) throws(Failure) -> Bool {
    try check(conversation)
    let name: StaticString =
      switch event {
      case .begin: "begin"
      case .pause: "pause"
      case .finished: "finished"
      }
    var members = JSONObject()
    members.add("event", bytes(name))
    return try sendSign(
      OperationRequest(verb: .typing, conversation: conversation, body: members.members))
  }

  private func sendSign(_ request: OperationRequest) throws(Failure) -> Bool {
    try input { engine, _ throws(Failure) in engine.sendSign(request) }
  }

  private func perform(
    _ request: OperationRequest, _ options: PerformOptions
  ) throws(Failure) -> (operation: UInt64, number: UInt64) {
    if let name = request.clientID {
      if name.count > Limits.clientIDBytesMax { throw .tooLarge("client_id is over 128 bytes") }
      // It is not sealed twice. That it was kept does not say that it was synced.
      if let known = try record({ rx throws(StoreFailure) in try rx.operation(clientID: name) }) {
        try checkSame(request, as: known)
        if !known.verb.isFetch {
          try input { engine, _ throws(Failure) in
            try engine.storing { () throws(StoreFailure) in try engine.syncOwn() }
          }
        }
        return (known.seq, known.number)
      }
    }
    var draft = Draft(request: request)
    draft.awaitsUpload = options.awaitsUpload
    try seal(&draft)
    let record = try input { engine, now throws(Failure) in try engine.perform(draft, now) }
    if record.waits == .seal, !draft.awaitsSeal { try sealAgain(record) }
    return (record.seq, record.number)
  }

  /// One name for two things would lose the second, and nobody would hear of it.
  private func checkSame(
    _ request: OperationRequest, as known: OperationRecord
  ) throws(Failure) {
    var isSame = known.verb == OperationVerb(request.verb)
    if isSame, let given = request.conversation {
      isSame = try reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in
          guard let there = try rx.conversation(given) else {
            return try rx.conversation(cid: known.cid) == nil
          }
          guard there.cid == known.cid else { return false }
          guard let message = request.message else { return true }
          if known.verb == .reactMessage || known.verb == .unreactMessage,
            operationText("reaction", in: request.body) != known.plain
          {
            return false
          }
          return try rx.id(ofSend: message, in: known.cid) == known.target
        }
      }
    }
    if !isSame { throw .invalid("the client_id is that of something else") }
  }

  func parsed(_ json: [UInt8]) throws(Failure) -> OperationRequest {
    try request { () throws(WireFailure) in try parseOperation(json) }
  }

  private func request(
    _ read: () throws(WireFailure) -> OperationRequest
  ) throws(Failure) -> OperationRequest {
    do {
      return try read()
    } catch .tooLarge {
      throw .tooLarge("a part of the request is too large")
    } catch .ownVerb {
      throw .unsupported("messages are asked for by a sync")
    } catch {
      throw .invalid(error.text(of: "the request"))
    }
  }

  func record(
    _ body: (ReadTransaction) throws(StoreFailure) -> OperationRecord?
  ) throws(Failure) -> OperationRecord? {
    try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in try body(rx) }
    }
  }

  // MARK: Looking

  package func operations(_ query: OperationQuery) throws(Failure) -> OperationPage {
    guard (1...Limits.readRowsMax).contains(query.limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    if let conversation = query.conversation { try check(conversation) }
    return try input { engine, now throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        try engine.operationReader.operations(query)
      }
      return engine.operationReader.page(found, at: now)
    }
  }

  /// - Throws: `notFound`.
  package func operation(_ id: UInt64) throws(Failure) -> OperationPage {
    try input { engine, now throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        try engine.operationReader.operation(id)
      }
      guard let found else { throw .noOperation }
      return engine.operationReader.page([found], at: now)
    }
  }

  // MARK: Deciding

  /// Sends a refused or unknown operation again, under its client id, and a queued one
  /// at once: false where it is under way or done.
  package func retry(_ operation: UInt64) throws(Failure) -> Bool {
    try input { engine, now throws(Failure) in try engine.retry(operation, now) }
  }

  /// Drops an operation and what depends on it: false where it is under way or done.
  package func cancel(operation: UInt64) throws(Failure) -> Bool {
    try input { engine, now throws(Failure) in try engine.cancelOperation(operation, at: now) }
  }

  /// The upload is over: the operation may go out, with this JSON value as its
  /// `attachment`; empty leaves it as it was given.
  package func uploaded(_ operation: UInt64, attachment: [UInt8]) throws(Failure) -> Bool {
    if !attachment.isEmpty, !isJSON(attachment) { throw .invalid("attachment is not JSON") }
    let mustSeal = config.seal != nil
    return try input { engine, now throws(Failure) in
      try engine.change(operation, now) { record, tx throws(StoreFailure) in
        guard record.waits == .upload, record.state == .queued else { return false }
        if !attachment.isEmpty {
          record.body = OperationRecord.body(
            operationBody(record.members, setting: "attachment", to: attachment))
        }
        let awaitsSeal = mustSeal && record.verb.hasPayload && record.sealed == nil
        record.waits = awaitsSeal ? .seal : .nothing
        try tx.operationTable.saveOperation(record)
        return true
      }
    }
  }

  /// Kept in memory only, for whoever lists operations.
  package func uploadProgress(
    _ operation: UInt64, permille: UInt32
  ) throws(Failure) -> Bool {
    guard permille <= 1_000 else { throw .invalid("permille is over 1,000") }
    return try input { engine, _ throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        try engine.operationReader.operation(operation)
      }
      guard let found else { throw .noOperation }
      guard found.record.waits == .upload, found.record.state == .queued else { return false }
      engine.outbox.note(permille: permille, of: operation)
      return true
    }
  }

  /// The operation is refused with the host's own reason; a retry waits for the upload.
  package func uploadFailed(
    _ operation: UInt64, reason: [UInt8]
  ) throws(Failure) -> Bool {
    if reason.count > 1_024 { throw .tooLarge("a reason is over 1,024 bytes") }
    return try input { engine, now throws(Failure) in
      try engine.change(operation, now) { record, tx throws(StoreFailure) in
        guard record.waits == .upload, record.state == .queued else { return false }
        record.state = .refused
        record.errorCode = Array("upload_failed".utf8)
        record.errorText = reason
        try tx.operationTable.saveOperation(record)
        return true
      }
    }
  }
}

func bytes(_ text: StaticString) -> [UInt8] { text.bytes }

/// Whether bytes are one JSON value.
func isJSON(_ bytes: [UInt8]) -> Bool {
  do {
    _ = try Document(bytes)
    return true
  } catch {
    return false
  }
}
