/// Payloads and the host's keys: sealed before they go out, opened when keys come.
///
/// Rules protected: the hooks run while nothing is held. What was sealed once is stored
/// and sent again as it is. What cannot be opened keeps its place.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension Client {
  /// Seals what a request carries.
  func seal(_ draft: inout Draft) throws(Failure) {
    guard config.seal != nil, let payload = draft.request.payload else { return }
    let request = draft.request
    var sealable = Sealable(
      conversation: request.conversation ?? [], clientID: [], message: request.message ?? [],
      payload: payload)
    if let message = request.message {
      let send = try record { rx throws(StoreFailure) in try rx.operation(clientID: message) }
      if let send, send.verb == .sendMessage, send.isUnsent {
        // It becomes the text of that message.
        draft.isSealedAsSend = true
        sealable.clientID = message
        sealable.message = []
      }
    } else {
      if draft.request.clientID == nil {
        draft.request.clientID = try input { engine, _ throws(Failure) in engine.outbox.names.next()
        }
      }
      sealable.clientID = draft.request.clientID ?? []
    }
    draft.sealed = try sealed(sealable)
    draft.awaitsSeal = draft.sealed == nil
  }

  /// Nil where the key has not come.
  private func sealed(_ sealable: Sealable) throws(Failure) -> [UInt8]? {
    switch config.seal?(sealable) {
    case .sealed(let value) where value.count <= Limits.messageBytesMax && isJSON(value):
      return value
    case .notYet, nil:
      return nil
    case .sealed, .failed:
      throw .refused
    }
  }

  private func sealable(_ record: OperationRecord, in conversation: [UInt8]) -> Sealable {
    let isSend = record.verb == .sendMessage
    return Sealable(
      conversation: conversation, clientID: isSend ? record.clientID ?? [] : [],
      message: isSend ? [] : record.target, payload: record.plain ?? [])
  }

  /// Seals one that is stored; false where there is no key for it yet.
  @discardableResult
  func sealAgain(_ record: OperationRecord) throws(Failure) -> Bool {
    let conversation = try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in
        try rx.conversation(cid: record.cid)?.id ?? []
      }
    }
    guard let value = try sealed(sealable(record, in: conversation)) else { return false }
    return try input { engine, now throws(Failure) in
      try engine.change(record.seq, now) { stored, tx throws(StoreFailure) in
        guard stored.plain == record.plain, stored.sealed == nil, stored.state != .done else {
          return false
        }
        stored.sealed = value
        if stored.waits == .seal { stored.waits = .nothing }
        try tx.operationTable.saveOperation(stored)
        return true
      }
    }
  }

  /// Puts members of a JSON object in the place of those that a queued or refused
  /// operation has; false where it may have been sent. A refused one is queued again.
  package func editOperation(_ operation: UInt64, _ json: [UInt8]) throws(Failure) -> Bool {
    if json.count > Limits.requestBytesMax { throw .tooLarge("request is over 1 MiB") }
    let known = try record { rx throws(StoreFailure) in try rx.operation(operation) }
    guard let known else { throw .noOperation }
    guard known.isOpenToEdits else { return false }
    let request = try parsed(try merged(known, json: json))
    var sealed: [UInt8]?
    let isOther = request.payload != known.plain
    if known.verb.hasPayload, isOther, config.seal != nil {
      let conversation = request.conversation ?? []
      var changed = known
      changed.plain = request.payload
      sealed = try self.sealed(sealable(changed, in: conversation))
    }
    let mustSeal = config.seal != nil && known.verb.hasPayload
    var isCircle = false
    let isChanged = try input { engine, now throws(Failure) in
      try engine.change(operation, now) { record, tx throws(StoreFailure) in
        guard record.isOpenToEdits else { return false }
        record.body = OperationRecord.body(request.body)
        if record.verb.hasPayload {
          record.rewrite(request.payload)
          if isOther { record.sealed = sealed }
          if record.waits != .upload {
            record.waits = mustSeal && record.sealed == nil ? .seal : .nothing
          }
        }
        if record.verb == .reactMessage || record.verb == .unreactMessage {
          record.plain = operationText("reaction", in: request.body)
        }
        if record.verb == .sendMessage {
          isCircle = try !engine.writer(tx).setReply(&record)
          if isCircle { return false }
        } else {
          try engine.writer(tx).requeue(&record)
        }
        try tx.operationTable.saveOperation(record)
        engine.outbox.resetBackoff(operation)
        return true
      }
    }
    if isCircle { throw .invalid("a message that answers itself") }
    return isChanged
  }

  /// The request of an operation with other members.
  private func merged(_ record: OperationRecord, json: [UInt8]) throws(Failure) -> [UInt8] {
    let given: Document
    do {
      given = try Document(json)
    } catch {
      throw .invalid("members are not JSON")
    }
    guard given.kind(given.root) == .object else { throw .invalid("members are no object") }
    let fixed: [StaticString] = [
      "type", "request_id", "client_id", "conversation_id", "message_id", "message_ids",
    ]
    var all = JSONObject()
    var names: [[UInt8]] = fixed.map { bytes($0) }
    try eachMember(given) { name, member throws(Failure) in
      if names.contains(name) { throw .invalid("a member that may not change, or twice") }
      names.append(name)
      all.add(members: member)
    }
    let current = try request(of: record)
    let old: Document
    do {
      old = try Document(current)
    } catch {
      // One of its pages is older than the others.
      throw .damaged
    }
    try eachMember(old) { name, member throws(Failure) in
      if !names.dropFirst(fixed.count).contains(name) { all.add(members: member) }
    }
    return all.closed()
  }

  private func eachMember(
    _ document: Document, _ body: ([UInt8], ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    var child = document.firstChild(of: document.root)
    while let key = child, let value = document.next(after: key, in: document.root) {
      let whole = document.range(key).lowerBound..<document.range(value).upperBound
      try body(document.string(key) ?? [], document.bytes[whole])
      child = document.next(after: value, in: document.root)
    }
  }

  /// The request of an operation as the host would give it.
  private func request(of record: OperationRecord) throws(Failure) -> [UInt8] {
    var json = JSONObject()
    json.add("type", bytes(record.verb.onWire.name))
    let conversation = try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in try rx.conversation(cid: record.cid)?.id }
    }
    if let conversation, record.verb != .createConversation {
      json.add("conversation_id", conversation)
    }
    if !record.target.isEmpty, record.verb != .sendMessage {
      json.add("message_id", record.target)
    }
    if record.verb.hasPayload, let plain = record.plain { json.add("payload", json: plain) }
    json.add(members: record.members)
    return json.closed()
  }

  // MARK: Keys have come

  /// Offers sealed messages to `open` and unsealed operations to `seal`, of one
  /// conversation or of all. Gives how many were opened or sealed.
  package func reopenPayloads(conversation: [UInt8]?) throws(Failure) -> Int {
    try ensureOpen()
    if let conversation { try check(conversation) }
    return try sealWaiting(conversation) + openSealed(conversation)
  }

  /// A batch is read, opened while nothing is held, and written where the rows are still
  /// what they were.
  private func openSealed(_ conversation: [UInt8]?) throws(Failure) -> Int {
    guard config.open != nil else { return 0 }
    var only: Int64?
    if let conversation {
      only = try reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in try rx.conversation(conversation)?.cid }
      }
      if only == nil { return 0 }
    }
    var opened = 0
    var cid = only ?? 0
    var place = Position.min
    /// Those of the last time, which are not offered again.
    var offered: Set<UInt64> = []
    while true {
      let batch = try reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in
          try SealedMessage.stored(
            after: cid, position: place, limit: 100 + offered.count, in: rx)
        }
      }
      guard let last = batch.last?.row else { return opened }
      let time = last.position.time
      let left = batch.filter { !offered.contains($0.row.number) }
      if cid != last.cid || place.time != time { offered = [] }
      for sealed in batch where sealed.row.cid == last.cid && sealed.row.position.time == time {
        offered.insert(sealed.row.number)
      }
      cid = last.cid
      // Within a time rows may change places while nothing is held; of a very long one what is
      // behind is not read again.
      let goesOn = left.isEmpty || offered.count > 1_000
      place = goesOn ? last.position : .before(timestampGroup: time)
      let mine = left.filter { only == nil || $0.row.cid == only }
      opened += try storeOpened(mine.compactMap { sealed in self.opened(sealed) })
      if let only, cid != only { return opened }
    }
  }

  private func opened(_ sealed: SealedMessage) -> (SealedRow, OpenedPayload)? {
    guard let payload = open(sealed.sealed), !payload.flags.contains(.sealed) else { return nil }
    return (sealed.row, payload)
  }

  private func storeOpened(_ opened: [(SealedRow, OpenedPayload)]) throws(Failure) -> Int {
    if opened.isEmpty { return 0 }
    return try input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in
          var count = 0
          for (row, payload) in opened
          where try tx.takeOpened(
            row, payload: payload.payload, flags: payload.flags, searchable: payload.searchable)
          {
            count += 1
          }
          return count
        }
      }
    }
  }

  func sealWaiting(_ conversation: [UInt8]?) throws(Failure) -> Int {
    guard config.seal != nil else { return 0 }
    var sealed = 0
    var query = OperationQuery(conversation: conversation, limit: 100)
    while true {
      let batch = try input { engine, _ throws(Failure) in
        try engine.storing { () throws(StoreFailure) in try engine.operationReader.operations(query)
        }
      }
      guard let last = batch.last else { return sealed }
      query.after = last.record.seq
      for found in batch
      where found.record.verb.hasPayload && found.record.sealed == nil
        && found.record.waits != .nothing
      {
        do {
          if try sealAgain(found.record) { sealed += 1 }
        } catch .refused {
          try refuse(found.record)
        }
      }
    }
  }

  /// The hook says that it never will be sealed.
  private func refuse(_ record: OperationRecord) throws(Failure) {
    _ = try input { engine, now throws(Failure) in
      try engine.change(record.seq, now) { stored, tx throws(StoreFailure) in
        guard stored.state == .queued, stored.sealed == nil else { return false }
        stored.state = .refused
        stored.errorCode = Array("seal_failed".utf8)
        try tx.operationTable.saveOperation(stored)
        return true
      }
    }
  }
}

// MARK: Logs

extension Client {
  /// Opens every payload of a frame of entries, in order.
  func open(
    _ entries: (items: [EntryItem], conversation: [UInt8]), of frame: Frame
  ) -> ([OpenedPayload], failures: UInt64) {
    var failures: UInt64 = 0
    let opened = entryPayloads(entries.items).map { entry in
      let raw = Array(frame.bytes[entry.payload])
      guard config.open != nil else { return asItIs(raw) }
      let sealed = Sealed(
        frame: frame.bytes, conversation: entry.conversation ?? entries.conversation, id: entry.id,
        sender: entry.sender, payload: entry.payload, message: entry.object)
      let found = open(sealed)
      if found == nil { failures &+= 1 }
      var opened = found ?? OpenedPayload(payload: raw, flags: .sealed, sealed: raw)
      opened.digest = store.digest(raw[...])
      return opened
    }
    return (opened, failures)
  }
}

/// A stored message whose payload could not be opened, as the hook is to see it.
struct SealedMessage {
  let row: SealedRow
  let sealed: Sealed
}

extension SealedMessage {
  /// Those behind a place, each as an object like the one that brought it.
  fileprivate static func stored(
    after cid: Int64, position: Position, limit: Int, in rx: ReadTransaction
  ) throws(StoreFailure) -> [SealedMessage] {
    var found: [SealedMessage] = []
    for row in try rx.sealed(after: cid, position: position, limit: limit) {
      let conversation = try rx.conversation(cid: row.cid)?.id ?? []
      let page = try rx.message(row.position.id, row.cid)
      let sender = page.rows.first.map { page[$0.sender] } ?? []
      let stamp = page.rows.first.map { page[$0.stamp] } ?? []
      var object = JSONObject()
      object.add("message_id", row.position.id)
      object.add("conversation_id", conversation)
      object.add("sender_id", sender)
      object.add("created_at", stamp)
      object.add("payload", json: row.raw)
      let json = object.closed()
      // The payload is its last member.
      let payload = json.count - 1 - row.raw.count..<json.count - 1
      found.append(
        SealedMessage(
          row: row,
          sealed: Sealed(
            frame: json, conversation: conversation, id: row.position.id, sender: sender,
            payload: payload, message: json.indices)))
    }
    return found
  }
}

extension OperationRecord {
  /// The server was never told of it as it is, or may be told again.
  var isOpenToEdits: Bool {
    state == .refused || (state == .queued && (attempts == 0 || !verb.isNew))
  }
}
