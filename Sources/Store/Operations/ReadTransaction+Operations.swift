/// Operations as the engine and the host read them.
internal import Base
package import Timeline

extension ReadTransaction {
  package func operation(_ seq: UInt64) throws(StoreFailure) -> OperationRecord? {
    if let known = try knownOperation(seq) { return known }
    let row = try connection.statement(Queries.operation, seq)
    guard try row.step() else { return nil }
    let record = try Self.operation(row)
    know(record)
    return record
  }

  /// The send or the creation with a client id, done or not.
  package func operation(clientID: [UInt8]) throws(StoreFailure) -> OperationRecord? {
    let row = try connection.statement(Queries.operationByClient, clientID)
    return try row.step() ? try Self.operation(row) : nil
  }

  package func operations(
    _ filter: OperationFilter
  ) throws(StoreFailure) -> [OperationRecord] {
    let limit = Swift.min(filter.limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    if let cid = filter.cid {
      return try operations(
        try connection.statement(
          filter.openOnly ? Queries.operationsOpenOf : Queries.operationsOf, cid, filter.after,
          limit))
    }
    return try operations(
      try connection.statement(
        filter.openOnly ? Queries.operationsOpen : Queries.operations, filter.after, limit))
  }

  /// The operations on a message that are not done, oldest first, marks left out;
  /// addressed by its id, or by the client id that they were given.
  package func operations(
    on target: [UInt8], in cid: Int64
  ) throws(StoreFailure) -> [OperationRecord] {
    try operations(try connection.statement(Queries.operationsOn, cid, target))
  }

  /// The operations that wait for another one.
  package func operations(awaiting seq: UInt64) throws(StoreFailure) -> [OperationRecord] {
    try operations(try connection.statement(Queries.operationsAwaiting, seq))
  }

  /// Those that the server has answered and a log has not listed yet.
  package func answeredOperations(_ cid: Int64) throws(StoreFailure) -> [OperationRecord] {
    guard try connection.number(Queries.someOpen) != nil else { return [] }
    return try operations(
      try connection.statement(Queries.operationsAnswered, cid, Limits.readRowsMax))
  }

  /// Marks of one kind that are pending, beyond a number.
  func marks(
    _ verb: OperationVerb, after seq: UInt64, limit: Int = Limits.readRowsMax
  ) throws(StoreFailure) -> [OperationRecord] {
    try operations(
      try connection.statement(Queries.marksFrom, verb.rawValue, seq, limit))
  }

  private func operations(_ row: consuming Statement) throws(StoreFailure) -> [OperationRecord] {
    var found: [OperationRecord] = []
    var size = 0
    while try row.step() {
      size += row.size(12) + row.size(13) + row.size(14) + row.size(18)
      if !found.isEmpty, size > RowBuilder.bytesMax { break }
      found.append(try Self.operation(row))
    }
    return found
  }

  /// All that is open, in the order of doing, for the order of sending.
  package func openOperations(limit: Int) throws(StoreFailure) -> [OpenOperation] {
    let row = try connection.statement(Queries.openOperations, Swift.max(0, limit))
    var found: [OpenOperation] = []
    while try row.step() {
      guard let verb = OperationVerb(rawValue: row.int(1)),
        let state = OperationState(rawValue: row.int(3)),
        let waits = OperationWait(rawValue: row.int(5))
      else { throw .damaged }
      found.append(
        OpenOperation(
          seq: row.uint(0), verb: verb, cid: row.int(2), state: state, depends: row.uint(4),
          waits: waits, attempts: Int(clamping: row.int(6))))
    }
    // A message that is pending is that of an open operation.
    if found.isEmpty, limit > 0 { memo?.some.pending = false }
    return found
  }

  /// How many operations the engine has before it, and how many are the user's to
  /// decide; marks are not counted.
  package func operationCounts() throws(StoreFailure) -> (open: Int, stuck: Int) {
    let row = try connection.statement(Queries.operationCounts)
    guard try row.step() else { throw .damaged }
    return (Int(clamping: row.int(0)), Int(clamping: row.int(1)))
  }

  private static func operation(
    _ row: borrowing Statement
  ) throws(StoreFailure) -> OperationRecord {
    guard let verb = OperationVerb(rawValue: row.int(1)),
      let state = OperationState(rawValue: row.int(4)),
      let waits = OperationWait(rawValue: row.int(9))
    else { throw .damaged }
    var record = OperationRecord(verb, cid: row.int(2), target: row.bytes(3))
    record.seq = row.uint(0)
    record.state = state
    record.number = row.uint(5)
    record.flags = RowFlags(rawValue: row.int(6))
    record.clientID = row.optionalBytes(7)
    record.depends = row.uint(8)
    record.waits = waits
    record.replyTo = row.optionalBytes(10)
    record.attempts = Int(clamping: row.int(11))
    record.body = row.bytes(12)
    record.plain = row.optionalBytes(13)
    record.sealed = row.optionalBytes(14)
    record.errorCode = row.optionalBytes(15)
    record.errorText = row.optionalBytes(16)
    record.atUs = row.int(17)
    record.sentAfter = row.optionalInt(18)
    record.result = row.optionalBytes(19)
    record.lsn = row.uint(20)
    record.isRewritten = row.int(21) != 0
    if let by = row.optionalInt(23) {
      record.firstSent = SendStamp(atUs: row.optionalInt(22), by: by)
    }
    return record
  }

  /// Whether a message of this user's stands from a boundary on of which no client id is known.
  package func hasNamelessOwn(_ cid: Int64, from low: Position) throws(StoreFailure) -> Bool {
    try connection.number(Queries.namelessOwn, cid, low.time, RowFlags.mine.rawValue) != nil
  }

  /// The operation that makes a conversation which the server does not know yet; 0 for
  /// none.
  package func creation(of cid: Int64) throws(StoreFailure) -> UInt64 {
    guard let known = try conversation(cid: cid), known.isPending,
      let made = try operation(clientID: known.id), made.state != .done
    else { return 0 }
    return made.seq
  }

  package func draft(_ cid: Int64) throws(StoreFailure) -> StoredDraft? {
    guard try hasDrafts() else { return nil }
    let row = try connection.statement(Queries.draft, cid)
    guard try row.step() else { return nil }
    return StoredDraft(body: row.bytes(0), replyTo: row.bytes(1))
  }

  /// Mostly nothing is being written, and each row of a list asks.
  private func hasDrafts() throws(StoreFailure) -> Bool {
    if let kept = try known?.some.drafts { return kept }
    let isSome = try connection.number(Queries.someDraft) != nil
    memo?.some.drafts = isSome
    return isSome
  }

  /// Marks that the server has not confirmed, the oldest of each kind first, grouped
  /// by kind and conversation.
  package func pendingMarks(limit: Int) throws(StoreFailure) -> [PendingMarks] {
    var left = Swift.min(Swift.max(0, limit), Limits.readRowsMax)
    var groups: [PendingMarks] = []
    for kind in [ReceiptKind.read, .delivered, .listened] {
      guard left > 0 else { break }
      let statement = try connection.statement(Queries.pendingMarks, kind.verb.rawValue, left)
      var places: [Int64: Int] = [:]
      while try statement.step() {
        left -= 1
        let cid = statement.int(0)
        if let place = places[cid] {
          groups[place].ids.append(statement.bytes(2))
        } else {
          places[cid] = groups.count
          groups.append(
            PendingMarks(
              kind: kind, cid: cid, conversation: statement.bytes(1), ids: [statement.bytes(2)]))
        }
      }
    }
    return groups
  }
}
