/// Marks of messages: receipts, reactions and pins from the server, and the read,
/// delivered and listened marks that are pending for it.
///
/// Rule protected: a mark changes its own field only, in whatever order marks,
/// copies and deletions come. Receipts only grow. A mark that is pending is an
/// operation: durable, sent until the server confirms it, and never after.
internal import Base
internal import Timeline

extension ReceiptKind {
  /// The operation that says it.
  var verb: OperationVerb {
    switch self {
    case .read: .markRead
    case .delivered: .markDelivered
    case .listened: .markListened
    }
  }

  /// What it means for a row when this user did it.
  var ownFlag: RowFlags {
    switch self {
    case .read: .readByMe
    case .delivered: []
    case .listened: .listenedByMe
    }
  }

  /// What it means for a row while it is pending.
  var queuedFlag: RowFlags {
    switch self {
    case .read: .readQueued
    case .delivered: []
    case .listened: .listenQueued
    }
  }
}

/// The lists of users of one message.
struct ReceiptLists: Equatable {
  var readBy: [UInt8]?
  var deliveredBy: [UInt8]?
  var listenedBy: [UInt8]?

  mutating func add(_ user: [UInt8], _ kind: ReceiptKind) {
    add([user], kind)
  }

  mutating func add(_ users: [[UInt8]], _ kind: ReceiptKind) {
    switch kind {
    case .read: readBy = ReaderList.adding(users, to: readBy)
    case .delivered: deliveredBy = ReaderList.adding(users, to: deliveredBy)
    case .listened: listenedBy = ReaderList.adding(users, to: listenedBy)
    }
  }
}

/// Writes receipts, reactions and pins, inside of a transaction.
package struct AnnotationTable {
  let tx: WriteTransaction
}

extension AnnotationTable {
  // MARK: From the server

  /// Notes that messages were read, delivered or listened to by `user`. Returns the
  /// numbers of the rows that changed; for unknown messages it waits.
  package func receipts(
    _ kind: ReceiptKind, user: [UInt8], ids: [[UInt8]], in cid: Int64, isMe: Bool
  ) throws(StoreFailure) -> [UInt64] {
    var changed: [UInt64] = []
    for id in ids {
      if let number = try receipts([kind: [user]], of: id, in: cid, areMine: isMe ? [kind] : []) {
        changed.append(number)
      }
    }
    return changed
  }

  /// The same of one message and many users, written once: the list of a message is written
  /// whole each time. This user is among those of the kinds that `areMine`.
  package func receipts(
    _ users: [ReceiptKind: [[UInt8]]], of id: [UInt8], in cid: Int64, areMine: Set<ReceiptKind>
  ) throws(StoreFailure) -> UInt64? {
    // In one order in each process.
    let kinds = Array(users.keys).ordered { $0.rawValue < $1.rawValue }
    for kind in kinds where areMine.contains(kind) { try dropMark(kind.verb, id: id, in: cid) }
    guard let known = try markedRow(id, in: cid) else {
      if areMine.contains(.read), try tx.deletion(id, in: cid) == nil {
        try tx.unreadTable.noteUnreadUnknown(cid)
      }
      try wait(id, in: cid) { waiting in
        for kind in kinds { waiting.lists.add(users[kind] ?? [], kind) }
      }
      return nil
    }
    var row = known
    for kind in kinds {
      if areMine.contains(kind) {
        row.flags.formUnion(kind.ownFlag)
        row.flags.subtract(kind.queuedFlag)
      }
      // A erased placeholder keeps no names.
      if !row.flags.contains(.forgotten) { row.lists.add(users[kind] ?? [], kind) }
    }
    guard row != known else { return nil }
    try write(row, was: known.flags, id, cid)
    return row.number
  }

  /// Takes in the whole set of a message's reactions, nil for none left. Returns the
  /// number of the row that changed; for an unknown message it waits.
  package func reactions(
    _ id: [UInt8], in cid: Int64, json: [UInt8]?, version: Int64?, issued: UInt64
  ) throws(StoreFailure) -> UInt64? {
    guard var row = try tx.storedMessage(id, in: cid) else {
      try wait(id, in: cid) { waiting in
        guard waiting.reactionsYield(to: version, issued: issued) else { return }
        waiting.marked = issued
        waiting.reactionsVersion = version ?? waiting.reactionsVersion
        waiting.reactions = json
      }
      return nil
    }
    let areLost = row.reactionsAreLost(try tx.restoredLSN(cid))
    guard !row.message.flags.contains(.forgotten),
      areLost || row.reactionsYield(to: version, issued: issued)
    else { return nil }
    let old = row.message
    row.message.reactions = json
    row.marked = Swift.max(row.marked, issued)
    row.reactionsVersion = areLost ? version : version ?? row.reactionsVersion
    return try writeMarks(row, was: old, in: cid)
  }

  /// Takes in that one user has reacted, or has taken it back. The set stays as old as it was: what
  /// a page shows that is newer than it replaces it. Returns the number of the row that changed.
  package func react(
    _ id: [UInt8], in cid: Int64, user: [UInt8], reaction: [UInt8], isAdded: Bool, version: Int64?
  ) throws(StoreFailure) -> UInt64? {
    guard var row = try tx.storedMessage(id, in: cid), !row.message.flags.contains(.forgotten)
    else { return nil }
    if let version, let known = row.reactionsVersion, version <= known { return nil }
    let old = row.message
    row.message.reactions = ReactionSet.with(
      reaction, by: user, isAdded: isAdded, in: old.reactions)
    return try writeMarks(row, was: old, in: cid)
  }

  /// Takes in that a message is pinned, or not. Returns the number of the row that
  /// changed; for an unknown message it waits.
  package func pin(
    _ id: [UInt8], in cid: Int64, isPinned: Bool, issued: UInt64
  ) throws(StoreFailure) -> UInt64? {
    guard var row = try tx.storedMessage(id, in: cid) else {
      try wait(id, in: cid) { waiting in
        guard waiting.pinIssued ?? 0 <= issued else { return }
        waiting.pinIssued = issued
        waiting.isPinned = isPinned
      }
      return nil
    }
    guard !row.message.flags.contains(.forgotten), row.pinIssued <= issued else { return nil }
    let old = row.message
    row.message.flags.replace(.marks, from: isPinned ? .pinned : [])
    row.pinIssued = issued
    return try writeMarks(row, was: old, in: cid)
  }

  /// Writes what marks alone change. The stamps are written also where nothing is
  /// seen to change: a page that was asked for before must not undo it.
  private func writeMarks(
    _ row: StoredMessage, was old: IncomingMessage, in cid: Int64
  ) throws(StoreFailure) -> UInt64? {
    let isChanged = row.message != old
    try tx.connection.run(
      """
      UPDATE message SET flags = ?, reactions = ?, marked = ?, pin_issued = ?,
        reactions_version = ?, lsn = ?
      WHERE cid = ? AND time = ? AND key = ?
      """, row.message.flags.rawValue, row.message.reactions, row.marked, row.pinColumn,
      row.reactionsVersion, isChanged ? try lsn(over: row.lsn, in: cid) : row.lsn, cid,
      row.message.order, row.message.position.key)
    guard isChanged else { return nil }
    try tx.feedTable.noteChange(
      cid, number: row.number, was: old.state, now: row.message.state, trace: .marks)
    return row.number
  }

  /// The lsn of a row that changes now. That of a row of a lost epoch waits for a
  /// copy of the row itself.
  private func lsn(over old: UInt64, in cid: Int64) throws(StoreFailure) -> UInt64 {
    old < (try tx.restoredLSN(cid)) ? old : tx.lsn
  }

  private struct MarkedRow: Equatable {
    var position: Position
    var number: UInt64
    var lsn: UInt64
    var flags: RowFlags
    var lists: ReceiptLists
  }

  /// What the server was told of a message of another.
  func toldLists(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> ReceiptLists? {
    guard let row = try markedRow(id, in: cid), row.flags.isDisjoint(with: [.mine, .forgotten])
    else { return nil }
    return tx.told(row.flags, row.lists)
  }

  private func markedRow(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> MarkedRow? {
    let row = try tx.connection.statement(
      """
      SELECT time, number, lsn, flags, read_by, delivered_by, listened_by, key FROM message
      WHERE cid = ? AND id = ?
      """, cid, id)
    guard try row.step() else { return nil }
    return MarkedRow(
      position: Position(time: row.int(0), key: row.bytes(7)), number: row.uint(1),
      lsn: row.uint(2),
      flags: RowFlags(rawValue: row.int(3)), lists: ReceiptLists(row, from: 4))
  }

  private func write(
    _ row: MarkedRow, was old: RowFlags, _ id: [UInt8], _ cid: Int64
  ) throws(StoreFailure) {
    try tx.connection.run(
      """
      UPDATE message SET flags = ?, read_by = ?, delivered_by = ?, listened_by = ?, lsn = ?
      WHERE cid = ? AND time = ? AND key = ?
      """, row.flags.rawValue, row.lists.readBy, row.lists.deliveredBy, row.lists.listenedBy,
      try lsn(over: row.lsn, in: cid), cid, row.position.time,
      row.position.key)
    try tx.feedTable.noteChange(
      cid, number: row.number, was: RowState(position: row.position, flags: old),
      now: RowState(position: row.position, flags: row.flags), trace: .marks)
  }

  // MARK: Owed to the server

  /// Queues a mark. False where it is not pending: the message is unknown, forgotten,
  /// this user's own, already so marked, or the mark is queued.
  package func enqueueMark(
    _ kind: ReceiptKind, id: [UInt8], in cid: Int64
  ) throws(StoreFailure) -> Bool {
    guard let row = try markedRow(id, in: cid),
      row.flags.isDisjoint(with: [.mine, .forgotten, kind.ownFlag, kind.queuedFlag])
    else { return false }
    if kind == .delivered, try isDelivered(row, id: id, in: cid) { return false }
    try queue(kind, tx.operationTable.nextOperation(), id: id, in: cid, over: row)
    return true
  }

  /// Queues a mark that the file has lost. False where it is queued, or its message shows it.
  func putBack(_ mark: OperationRecord) throws(StoreFailure) -> Bool {
    let kinds = [ReceiptKind.read, .delivered, .listened]
    guard let kind = kinds.first(where: { $0.verb == mark.verb }),
      try tx.connection.number(Queries.mark, mark.cid, mark.target, mark.verb.rawValue) == nil
    else { return false }
    let row = try markedRow(mark.target, in: mark.cid)
    if let row, !row.flags.isDisjoint(with: [.mine, .forgotten, kind.ownFlag]) { return false }
    tx.counters.lastOperation = Swift.max(tx.counters.lastOperation, mark.seq)
    try queue(kind, mark.seq, id: mark.target, in: mark.cid, over: row)
    return true
  }

  private func queue(
    _ kind: ReceiptKind, _ seq: UInt64, id: [UInt8], in cid: Int64, over row: MarkedRow?
  ) throws(StoreFailure) {
    try tx.connection.run(
      "INSERT INTO operation (seq, verb, cid, target, lsn) VALUES (?, ?, ?, ?, ?)",
      seq, kind.verb.rawValue, cid, id, tx.lsn)
    tx.asked.someOpen = true
    if kind != .delivered { tx.ownTable.note(seq) }
    guard let row, !kind.queuedFlag.isEmpty else { return }
    try setFlags(row, flags: row.flags.union(kind.queuedFlag), id: id, in: cid)
  }

  /// Whether the server knows of this user's delivery, or it is pending.
  private func isDelivered(
    _ row: MarkedRow, id: [UInt8], in cid: Int64
  ) throws(StoreFailure) -> Bool {
    if let list = row.lists.deliveredBy, ReaderList.contains(tx.user, list: list) { return true }
    return try tx.connection.number(
      Queries.mark, cid, id, OperationVerb.markDelivered.rawValue) != nil
  }

  /// Writes flags that follow from operations. The row's lsn stays: the server said
  /// nothing new.
  private func setFlags(
    _ row: MarkedRow, flags: RowFlags, id: [UInt8], in cid: Int64
  ) throws(StoreFailure) {
    try tx.connection.run(
      "UPDATE message SET flags = ? WHERE cid = ? AND time = ? AND key = ?", flags.rawValue,
      cid, row.position.time,
      row.position.key)
    try tx.feedTable.noteChange(
      cid, number: row.number, was: RowState(position: row.position, flags: row.flags),
      now: RowState(position: row.position, flags: flags), trace: .marks)
  }

  /// Takes in the server's confirmation: the marks are done, and the rows are so
  /// marked. Returns the numbers of the rows that changed.
  package func confirmMarks(
    _ kind: ReceiptKind, ids: [[UInt8]], in cid: Int64
  ) throws(StoreFailure) -> [UInt64] {
    try receipts(kind, user: tx.user, ids: ids, in: cid, isMe: true)
  }

  /// Gives marks up that the server refuses for good.
  package func dropMarks(
    _ kind: ReceiptKind, ids: [[UInt8]], in cid: Int64
  ) throws(StoreFailure) {
    for id in ids where try hasPendingMarks() {
      try dropMark(kind.verb, id: id, in: cid)
      if kind.queuedFlag.isEmpty { continue }
      guard let row = try markedRow(id, in: cid), !row.flags.isDisjoint(with: kind.queuedFlag)
      else { continue }
      try setFlags(row, flags: row.flags.subtracting(kind.queuedFlag), id: id, in: cid)
    }
  }

  /// Whether any mark is pending: mostly none is, and each message that goes asks, three times.
  func hasPendingMarks() throws(StoreFailure) -> Bool {
    if let known = tx.memo?.some.marks { return known }
    let isSome = try tx.connection.number(Queries.someMark) != nil
    tx.memo?.some.marks = isSome
    return isSome
  }

  /// Drops a mark; the flag of the row is the caller's.
  func dropMark(_ verb: OperationVerb, id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let seq = try tx.connection.number(Queries.mark, cid, id, verb.rawValue) else { return }
    try tx.connection.run("DELETE FROM operation WHERE seq = ?", seq)
    tx.ownTable.note(endedMark: UInt64(clamping: seq))
  }
}

extension ReceiptLists {
  /// The three columns of a row.
  init(_ row: borrowing Statement, from column: Int32) {
    readBy = row.optionalBytes(column)
    deliveredBy = row.optionalBytes(column + 1)
    listenedBy = row.optionalBytes(column + 2)
  }
}
