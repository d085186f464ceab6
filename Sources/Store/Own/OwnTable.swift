/// Own work inside of a transaction: what changes of it is noted, and what the file has lost is put
/// back.
///
/// Rule protected: nothing is sent twice blindly. What may have been sent comes back as one whose
/// answer was lost with its connection, so it is looked for, or repeated where the server knows a
/// repetition. What a fork has, by number, client id or message, is not put back.
internal import Base
internal import Timeline

struct OwnTable {
  let tx: WriteTransaction

  /// An operation, by its number, is another one at the end of this commit.
  func note(_ seq: UInt64) {
    if isKept { tx.own.operations.insert(seq) }
  }

  /// A mark is gone: the server has it, or it has nothing to mark any more.
  func note(endedMark seq: UInt64) {
    note(seq)
    if isKept { tx.own.endedMarks.insert(seq) }
  }

  func note(draft cid: Int64) {
    if isKept { tx.own.drafts.insert(cid) }
  }

  /// A conversation has another id, or is pending no more.
  func note(of cid: Int64) throws(StoreFailure) {
    guard isKept else { return }
    tx.own.drafts.insert(cid)
    tx.own.operations.formUnion(try tx.operations(in: cid))
  }

  /// What was removed is to be found nowhere any more.
  func noteErased() { tx.own.erases = true }

  /// Not in memory.
  private var isKept: Bool { tx.digest.vault != nil }

  /// Runs a statement that deletes marks and gives their numbers.
  func deleteMarks<each Value: Bindable>(
    _ text: StaticString, _ values: repeat each Value
  ) throws(StoreFailure) {
    let row = try tx.connection.statement(text, repeat each values)
    while try row.step() { note(endedMark: row.uint(0)) }
  }

  // MARK: What the file has lost

  /// Gives the operations that are there again. Nothing is done before it in its commit, which is
  /// newer than all that was read: what is not there after it was taken back. A file that is older
  /// than `own`, with the last commit `older`, gets the same; nil for one that went on by itself.
  func putBack(
    _ own: OwnContents, of binding: Schema.Binding, older: UInt64?
  ) throws(StoreFailure) -> [UInt64] {
    guard own.isOf(binding) else { return [] }
    tx.counters.raise(to: own.floor)
    // A commit also where nothing is lacking.
    try tx.connection.run("UPDATE meta SET lsn = lsn WHERE one = 1")
    if let older { try removeOlder(than: own, at: older) }
    var done: [UInt64] = []
    var stored: Set<OwnKey> = []
    let operations = own.units(.operation)
    // Where the file has gone on without them, others have their numbers.
    var numbers: [UInt64: UInt64] = [:]
    for (id, row) in operations {
      let seq = UInt64(clamping: id)
      guard let cid = try conversation(of: row),
        var record = OwnUnit.operation(row, seq: seq, cid: cid)
      else { continue }
      if let there = try tx.operation(seq) {
        if isSame(there, record) {
          if OwnUnit.isKept(there) { stored.insert(.operation(seq)) }
          continue
        }
        tx.counters.lastOperation &+= 1
        record.seq = tx.counters.lastOperation
        numbers[seq] = record.seq
      }
      record.depends = numbers[record.depends] ?? record.depends
      if record.verb.isMark {
        if try tx.annotationTable.putBack(record) { done.append(record.seq) }
      } else if let name = record.clientID, let known = try tx.operation(clientID: name) {
        numbers[seq] = known.seq
      } else if try isMade(record) {
        numbers[seq] = 0
      } else {
        try putBack(record)
        done.append(record.seq)
      }
    }
    for (_, row) in own.units(.draft) {
      guard let cid = try conversation(of: row), cid != 0, try tx.draft(cid) == nil else {
        continue
      }
      try tx.operationTable.setDraft(StoredDraft(body: row.bytes(3), replyTo: row.bytes(4)), cid)
    }
    // Else `own` would be made anew without them, as the newer one.
    try OwnUnits(rx: tx).each { key, _ in stored.remove(key) }
    if !stored.isEmpty { throw .damaged }
    return done
  }

  /// Takes out what is not as `own` has it.
  private func removeOlder(than own: OwnContents, at lsn: UInt64) throws(StoreFailure) {
    var older: [OwnKey] = []
    try OwnUnits(rx: tx).each { key, unit throws(StoreFailure) in
      if !own.agrees(key, unit, at: lsn) { older.append(key) }
    }
    for key in older {
      switch key.kind {
      case .draft: try tx.operationTable.setDraft(nil, key.id)
      case .operation: try removeOlder(UInt64(clamping: key.id))
      case .binding, .commit, .fork: break
      }
    }
  }

  private func removeOlder(_ seq: UInt64) throws(StoreFailure) {
    guard let record = try tx.operation(seq) else { return }
    let marks: [OperationVerb: ReceiptKind] = [.markRead: .read, .markListened: .listened]
    if let kind = marks[record.verb] {
      return try tx.annotationTable.dropMarks(kind, ids: [record.target], in: record.cid)
    }
    try tx.operationTable.drop(seq)
    // What was written in it is the rest of `own`.
    guard record.verb == .createConversation,
      try tx.operations(OperationFilter(cid: record.cid, openOnly: true, limit: 1)).isEmpty
    else { return }
    let made = try tx.conversation(cid: record.cid)
    if made?.isPending ?? false { try tx.removeConversation(record.cid) }
  }

  /// Its number here, 0 for none; it is made where it is not known. Nil where it has no id.
  private func conversation(of row: PackedColumns) throws(StoreFailure) -> Int64? {
    guard let id = row.optionalBytes(1) else { return 0 }
    if id.isEmpty { return nil }
    if row.int(2) != 0 { return try tx.operationTable.conversation(pending: id).cid }
    return try tx.conversation(creating: id).cid
  }

  /// Whether two of one number are one: what it makes, or what it changes, is the same.
  private func isSame(_ there: OperationRecord, _ record: OperationRecord) -> Bool {
    if there.verb != record.verb || there.clientID != record.clientID { return false }
    return record.clientID != nil || there.cid == record.cid && there.target == record.target
  }

  /// Whether the message that it made is here.
  private func isMade(_ record: OperationRecord) throws(StoreFailure) -> Bool {
    guard let name = record.clientID else { return false }
    return try tx.connection.statement(Queries.messageByClient, record.cid, name).step()
  }

  private func putBack(_ unit: OperationRecord) throws(StoreFailure) {
    var record = unit
    if record.depends != 0 {
      let first = try tx.operation(record.depends)
      if first == nil || first?.state == .done { record.depends = 0 }
    }
    if record.state == .queued {
      if record.waits == .nothing, record.depends == 0 {
        record.state = .inFlight
        record.attempts = 1
      }
      // Also one that waits for another: that may have ended before it was lost.
      if record.verb == .sendMessage || record.verb == .createConversation {
        record.attempts = 1
        // Not before it was made.
        let atUs = record.atUs == 0 ? nil : record.atUs
        record.firstSent = SendStamp(atUs: atUs, by: SendStamp.lost)
      }
    }
    tx.counters.lastOperation = Swift.max(tx.counters.lastOperation, record.seq)
    if record.number != 0 {
      let isTaken =
        try tx.connection.number(
          """
          SELECT 1 FROM message WHERE number = ?1
          UNION ALL SELECT 1 FROM operation WHERE number = ?1
          """, record.number) != nil
      if isTaken { record.number = tx.nextNumber() }
      tx.counters.lastNumber = Swift.max(tx.counters.lastNumber, record.number)
    }
    try tx.operationTable.insert(&record)
    // The marker only moves forward.
    guard record.verb == .markLastRead else { return }
    try tx.unreadTable.noteLastRead(record.target, in: record.cid)
  }
}
