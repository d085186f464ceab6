/// Settling: what the server said is recognised as what this user did.
///
/// Rule protected: a send is one row with one number, whatever comes first, its answer,
/// a push or a page. The number moves from the operation to the message in one commit.
internal import Base
internal import Timeline

extension OperationTable {
  /// The open send that a copy is the server's message of.
  ///
  /// By its client id; where the server tells none, the oldest send that may have
  /// arrived with this payload, and only for a message that was not known. It is
  /// rewritten where the copy does not say what goes out now.
  func openSend(
    of copy: IncomingMessage, in cid: Int64, isKnown: Bool
  ) throws(StoreFailure) -> OperationRecord? {
    guard var send = try send(of: copy, in: cid, isKnown: isKnown) else { return nil }
    if send.isRewritten { send.isRewritten = !send.isSaid(by: copy, tx) }
    return send
  }

  private func send(
    of copy: IncomingMessage, in cid: Int64, isKnown: Bool
  ) throws(StoreFailure) -> OperationRecord? {
    guard copy.flags.contains(.mine), try hasSends() else { return nil }
    if tx.positionKind == LogTables.positionKind,
      let send = try tx.operations(on: copy.id, in: cid).first(where: \.isAnsweredSend)
    {
      return send
    }
    if let name = copy.clientID {
      guard let send = try tx.operation(clientID: name), send.cid == cid, send.row != nil else {
        return nil
      }
      return send
    }
    guard !isKnown, let printed = copy.sentPayload else { return nil }
    if let seq = try tx.connection.number(Queries.sendOfPayload, cid, printed) {
      return try tx.operation(UInt64(clamping: seq))
    }
    let row = try tx.connection.statement(Queries.sendsThatMayHaveArrived, cid)
    while try row.step() {
      if tx.rules.isSamePayload(row.bytes(1), printed) { return try tx.operation(row.uint(0)) }
    }
    return nil
  }

  /// Mostly nothing is on its way, which is asked once a transaction.
  private func hasSends() throws(StoreFailure) -> Bool {
    if let known = tx.asked.someSends { return known }
    let isSome = try tx.connection.number(Queries.somePending) != nil
    tx.asked.someSends = isSome
    return isSome
  }

  /// Notes that a send is done and which message it made. What waits for it goes on with
  /// that id. Its row goes, unless the message takes its number.
  package func settle(
    send seq: UInt64, as id: [UInt8]
  ) throws(StoreFailure) {
    guard let send = try tx.operation(seq), send.row != nil else { return }
    try settle(send, as: id, givesNumber: false)
  }

  /// A copy of its message is stored. Where that says what the send said before the user
  /// rewrote it, what he wrote follows as an edit, unless he has asked for something since.
  func arrive(
    _ send: OperationRecord, as id: [UInt8], givesNumber: Bool
  ) throws(StoreFailure) {
    guard send.isRewritten else {
      return try settle(send, as: id, givesNumber: givesNumber)
    }
    // An edit that did not wait for the send is one of a message that nobody knew to be the same.
    let isEdited = try tx.operations(awaiting: send.seq).contains { $0.isOpen(.editMessage) }
    try settle(send, as: id, givesNumber: givesNumber)
    let others = try tx.operations(on: id, in: send.cid)
    if isEdited || others.contains(where: { $0.isOpen(.deleteMessage) }) { return }
    var edit = OperationRecord(.editMessage, cid: send.cid, target: id, plain: send.plain)
    edit.atUs = send.atUs
    edit.waits = tx.seals ? .seal : .nothing
    _ = try addOperation(edit)
    tx.mustSeal = tx.seals
  }

  func settle(
    _ send: OperationRecord, as id: [UInt8], givesNumber: Bool
  ) throws(StoreFailure) {
    var done = send
    done.state = .done
    done.target = id
    done.depends = 0
    done.waits = .nothing
    done.errorCode = nil
    done.errorText = nil
    done.sealed = nil
    if !givesNumber {
      done.number = 0
      try tx.feedTable.noteChange(
        send.cid, number: send.number, was: send.row, now: nil, trace: .effect(.confirmed))
    }
    try write(try erased(done))
    try resolve(send.seq, target: id)
    try tx.unreadTable.renameLastRead(send.clientID, as: id, in: send.cid)
    if id.isEmpty { return }
    // A draft outlives what is remembered of sends.
    try tx.connection.run(
      "UPDATE draft SET reply_to = ?2 WHERE cid = ?1 AND reply_to = ?3", send.cid, id,
      send.clientID)
    if try tx.connection.changes > 0 {
      tx.ownTable.note(draft: send.cid)
      tx.feedTable.change(.conversations, in: send.cid, numbers: nil)
    }
  }

  // MARK: Conversations

  /// A conversation that this user made and the server does not know yet.
  package func conversation(
    pending clientID: [UInt8]
  ) throws(StoreFailure) -> ConversationRecord {
    if let known = try tx.conversation(clientID) {
      guard try isOnlyName(known) else { return known }
      try tx.settleConversations()
      // A draft was written under the name, before it was made or after that was cancelled.
      try tx.conversationTable.begin(known.cid)
      try tx.ownTable.note(of: known.cid)
      tx.feed.add(.entities, known.cid, 0...0)
    } else {
      try tx.conversationTable.insert(clientID, isPending: true)
    }
    guard let made = try tx.conversation(clientID) else { throw .damaged }
    return made
  }

  /// Whether nothing was ever heard of a conversation but a name that this user gave it.
  private func isOnlyName(_ record: ConversationRecord) throws(StoreFailure) -> Bool {
    guard try isEmpty(record) else { return false }
    return try tx.operations(OperationFilter(cid: record.cid, limit: 1)).isEmpty
  }

  /// Whether nothing of the server's is stored of a conversation, nor was fetched.
  private func isEmpty(_ record: ConversationRecord) throws(StoreFailure) -> Bool {
    guard !record.isPending, record.fetch == nil, record.deletions == nil,
      try tx.oldest(record.cid) == nil
    else { return false }
    return try !tx.connection.statement(Queries.entityOfConversation, record.cid).step()
  }

  /// Notes that a conversation which this user makes is there, whether its making was answered or
  /// not: the server calls it `id` and knows the name that it has here. Gives the name; nil where
  /// nothing is made under it.
  package func settle(creation name: [UInt8], as id: [UInt8]) throws(StoreFailure) -> [UInt8]? {
    guard var made = try tx.operation(clientID: name), made.verb == .createConversation,
      let pending = try tx.conversation(cid: made.cid), pending.isPending, pending.id == name
    else { return nil }
    made.cid = try confirm(conversation: made.cid, as: id)
    made.state = .done
    made.waits = .nothing
    made.errorCode = nil
    made.errorText = nil
    try save(made)
    try resolve(made.seq, target: nil)
    return name
  }

  /// Gives a pending conversation the id that the server gave it. Where that one is known
  /// already, what the user did in the pending one moves there. Returns its cid.
  package func confirm(
    conversation cid: Int64, as id: [UInt8]
  ) throws(StoreFailure) -> Int64 {
    guard let pending = try tx.conversation(cid: cid), pending.isPending else { return cid }
    try tx.settleConversations()
    var real = cid
    let known = try tx.conversation(id)
    if let known, known.cid != cid, try !isUnheard(known) {
      real = known.cid
      try move(from: cid, to: real)
    } else {
      // One that was only asked about by the server's id is the one that was made here.
      if let known, known.cid != cid { try move(from: known.cid, to: cid) }
      try tx.conversationTable.confirm(cid, as: id)
      try tx.ownTable.note(of: cid)
    }
    if pending.id != id {
      try tx.conversationTable.add(name: pending.id, of: real)
    }
    tx.feed.add(.entities, real, 0...0)
    return real
  }

  /// Whether the server has told nothing of a conversation, and this user knows no more than its
  /// id and what he asked.
  private func isUnheard(_ record: ConversationRecord) throws(StoreFailure) -> Bool {
    guard record.deletedLSN == 0, try isEmpty(record) else { return false }
    return try tx.connection.number(Queries.heardOf, record.cid) == nil
  }

  /// What the user did in a conversation is of another one, and the first is no more.
  private func move(from cid: Int64, to real: Int64) throws(StoreFailure) {
    try moveOperations(from: cid, to: real)
    try moveDraft(from: cid, to: real)
    try tx.conversationTable.moveNames(from: cid, to: real)
    try tx.conversationTable.remove(cid)
    tx.feed.add(.entities, cid, 0...0)
  }

  private func moveOperations(from cid: Int64, to real: Int64) throws(StoreFailure) {
    var after: UInt64 = 0
    while true {
      let moved = try tx.operations(
        OperationFilter(cid: cid, after: after, limit: Limits.readRowsMax))
      guard let last = moved.last else { return }
      after = last.seq
      for operation in moved {
        var next = operation
        next.cid = real
        try write(next)
        try tx.feedTable.noteChange(cid, number: operation.number, was: operation.row, now: nil)
        try tx.feedTable.noteChange(real, number: next.number, was: nil, now: next.row)
      }
    }
  }
}

extension OperationRecord {
  fileprivate func isOpen(_ verb: OperationVerb) -> Bool {
    self.verb == verb && state != .refused
  }

  /// The server has named the id of its message, and no position.
  fileprivate var isAnsweredSend: Bool { verb == .sendMessage && state == .answered }

  /// Whether a copy has the payload that goes out now.
  fileprivate func isSaid(by copy: IncomingMessage, _ tx: WriteTransaction) -> Bool {
    if copy.payload == plain { return true }
    guard let told = sealed ?? plain else { return false }
    if let found = copy.digest, found == tx.digest(told[...]) { return true }
    return tx.rules.isSamePayload(told, copy.raw ?? copy.payload)
  }
}
