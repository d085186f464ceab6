/// Operations: taking them up, changing them, dropping them.
///
/// Rule protected: what a screen shows of an operation changes in the transaction that
/// changes the operation, and the feed tells of both. The flags that lie over a row
/// follow from the open operations alone.
internal import Base
internal import Timeline

/// Writes operations and what a user has drafted, inside of a transaction.
package struct OperationTable {
  let tx: WriteTransaction
}

extension OperationTable {
  /// Takes up an operation: gives it its place in the order, and a send the number of
  /// its row. One whose client id is known already is that one, and nothing new.
  package func addOperation(
    _ record: OperationRecord
  ) throws(StoreFailure) -> OperationRecord {
    if let name = record.clientID, let known = try tx.operation(clientID: name) { return known }
    var record = record
    record.seq = nextOperation()
    record.number = record.verb == .sendMessage ? tx.nextNumber() : 0
    record.flags = record.verb == .sendMessage ? [.mine, .readByMe] : []
    try insert(&record)
    return record
  }

  /// Writes a row that has its number.
  func insert(_ record: inout OperationRecord) throws(StoreFailure) {
    record.lsn = tx.lsn
    try mustBeWhole(record)
    try tx.connection.run(
      """
      INSERT INTO operation (seq, verb, cid, target, state, number, flags, client_id, depends,
        waits, reply_to, body, plain, sealed, attempts, error_code, error_text, result, at_us,
        told_after, lsn, rewritten, told_us, told_by)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, record.seq, record.verb.rawValue, record.cid, record.target, record.state.rawValue,
      record.number, record.flags.rawValue, record.clientID, record.depends,
      record.waits.rawValue, record.replyTo, record.body, record.plain, record.sealed,
      record.attempts, record.errorCode, record.errorText, record.result, record.atUs,
      record.sentAfter, record.lsn, record.isRewritten ? 1 : 0, record.firstSent?.atUs,
      record.firstSent?.by)
    tx.know(record)
    tx.ownTable.note(record.seq)
    tx.asked.someOpen = true
    if record.number != 0 {
      tx.asked.someSends = true
      tx.somePending = true
    }
    tx.feed.add(.operations, record.cid, record.seq...record.seq)
    try tx.feedTable.noteChange(record.cid, number: record.number, was: nil, now: record.row)
    try refresh(over: record)
  }

  /// Saves an operation; one that is as it was is not written. What answers a send that is
  /// refused, or deletes it, waits no longer.
  package func saveOperation(_ record: OperationRecord) throws(StoreFailure) {
    let was = try save(record)
    guard record.verb == .sendMessage, record.state == .refused, was != .refused else { return }
    try abandon(record.seq, isGone: false)
  }

  /// Gives the state that it was in.
  @discardableResult
  func save(_ record: OperationRecord) throws(StoreFailure) -> OperationState {
    guard let known = try tx.operation(record.seq) else {
      // An index of the file names it, or memory.
      throw .damaged
    }
    try mustBeWhole(known)
    try mustBeWhole(record)
    var record = try erased(record)
    record.lsn = known.lsn
    record.flags = known.flags
    record.number = known.number
    guard record != known else { return known.state }
    record.lsn = tx.lsn
    try write(record)
    tx.know(record)
    try tx.feedTable.noteChange(known.cid, number: known.number, was: known.row, now: record.row)
    if (known.target, known.cid) != (record.target, record.cid) { try refresh(over: known) }
    try refresh(over: record)
    return known.state
  }

  /// Held to before it is written and after it is read.
  private func mustBeWhole(_ record: OperationRecord) throws(StoreFailure) {
    try ensure(record.seq != 0, "an operation without a place", or: StoreFailure.broken)
    try ensure(record.attempts >= 0, "an operation tried less than never", or: StoreFailure.broken)
    try ensure(
      record.number == 0 || record.verb == .sendMessage, "a row's number for what is no send",
      or: StoreFailure.broken)
  }

  /// One that is done on a forgotten message says nothing of it.
  func erased(_ record: OperationRecord) throws(StoreFailure) -> OperationRecord {
    guard record.state == .done, try tx.isForgotten(record.target, in: record.cid) else {
      return record
    }
    var left = record
    left.body = []
    left.plain = nil
    left.sealed = nil
    left.result = nil
    return left
  }

  /// Writes what may change of an operation.
  func write(_ record: OperationRecord) throws(StoreFailure) {
    try tx.connection.run(
      """
      UPDATE operation SET cid = ?, target = ?, state = ?, number = ?, client_id = ?,
        depends = ?, waits = ?, reply_to = ?, body = ?, plain = ?, sealed = ?, attempts = ?,
        error_code = ?, error_text = ?, result = ?, at_us = ?, told_after = ?,
        lsn = ?, rewritten = ?, told_us = ?, told_by = ?
      WHERE seq = ?
      """, record.cid, record.target, record.state.rawValue, record.number, record.clientID,
      record.depends, record.waits.rawValue, record.replyTo, record.body, record.plain,
      record.sealed, record.attempts, record.errorCode, record.errorText, record.result,
      record.atUs, record.sentAfter, tx.lsn,
      record.isRewritten ? 1 : 0, record.firstSent?.atUs, record.firstSent?.by, record.seq)
    tx.asked.operation = nil
    tx.ownTable.note(record.seq)
    tx.asked.someOpen = nil
    tx.asked.someSends = nil
    tx.somePending = nil
    tx.feed.add(.operations, record.cid, record.seq...record.seq)
  }

  /// Lets the oldest go of those that are done, beyond what is kept.
  package func trimOperations() throws(StoreFailure) {
    let last = try tx.connection.number(Queries.lastKept, Limits.operationsKept)
    guard let last else { return }
    try tx.connection.run("DELETE FROM operation WHERE state = 4 AND seq <= ?", last)
    tx.asked.operation = nil
  }

  /// Erases what operations that are done said of a message; that they were done stays.
  func eraseDone(on id: [UInt8], in cid: Int64) throws(StoreFailure) {
    try tx.connection.run(
      """
      UPDATE operation SET body = NULL, plain = NULL, sealed = NULL, result = NULL
      WHERE state = 4 AND cid = ? AND target = ?
      """, cid, id)
    tx.asked.operation = nil
    tx.ownTable.noteErased()
  }

  /// The next number of an operation.
  func nextOperation() -> UInt64 {
    tx.counters.lastOperation &+= 1
    return tx.counters.lastOperation
  }

  // MARK: What lies over a row

  /// Whether any operation is open, asked once a transaction: mostly none is.
  func hasOpen() throws(StoreFailure) -> Bool {
    if let known = tx.asked.someOpen ?? tx.memo?.some.open { return known }
    let isOpen = try tx.connection.number(Queries.someOpen) != nil
    tx.asked.someOpen = isOpen
    tx.memo?.some.open = isOpen
    return isOpen
  }

  /// The flags that open operations on an id make.
  func derivedFlags(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> RowFlags {
    guard try hasOpen() else { return [] }
    var flags: RowFlags = []
    let row = try tx.connection.statement(Queries.verbsOn, cid, id)
    while try row.step() {
      switch OperationVerb(rawValue: row.int(0)) {
      case .markRead: flags.insert(.readQueued)
      case .markListened: flags.insert(.listenQueued)
      case .deleteMessage: flags.insert(.deleting)
      case .pinMessage: flags.replace([.pinQueued, .unpinQueued], from: .pinQueued)
      case .unpinMessage: flags.replace([.pinQueued, .unpinQueued], from: .unpinQueued)
      case .editMessage, .reactMessage, .unreactMessage: flags.insert(.overlaid)
      default: break
      }
    }
    return flags
  }

  /// Brings the flags of the row that an operation lies over up to date, and tells that
  /// it looks different.
  func refresh(over record: OperationRecord) throws(StoreFailure) {
    guard !record.target.isEmpty, record.verb.isChange else { return }
    try refresh(record.target, in: record.cid, by: record.seq)
  }

  private func refresh(
    _ id: [UInt8], in cid: Int64, by operation: UInt64
  ) throws(StoreFailure) {
    let derived = try derivedFlags(id, in: cid)
    if let row = try tx.row(id, cid) {
      var flags = row.flags
      flags.replace(.derived, from: derived)
      if flags != row.flags {
        try tx.connection.run(
          "UPDATE message SET flags = ? WHERE cid = ? AND time = ? AND key = ?", flags.rawValue,
          cid, row.position.time, row.position.key)
      }
      try tx.feedTable.noteChange(
        cid, number: row.number, was: RowState(position: row.position, flags: row.flags),
        now: RowState(position: row.position, flags: flags), trace: .operation(operation))
      return
    }
    guard var send = try tx.operation(clientID: id), send.cid == cid, let was = send.row else {
      return
    }
    send.flags.replace(.derived, from: derived)
    if send.flags != was.flags {
      try tx.connection.run(
        "UPDATE operation SET flags = ? WHERE seq = ?", send.flags.rawValue, send.seq)
      tx.asked.operation = nil
    }
    try tx.feedTable.noteChange(cid, number: send.number, was: was, now: send.row)
  }
}
