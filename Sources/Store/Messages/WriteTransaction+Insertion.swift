/// New messages: the row that the first copy of an id makes.
///
/// Rule protected: an id is stored once, whoever looked before. The index itself says whether
/// it was there, in the statement that inserts it.
internal import Base
internal import Timeline

extension WriteTransaction {
  /// Takes in a message that nothing here bears on, as most that come are: the index says
  /// while it is inserted whether it is new, so it is not looked up before. Nil where nothing
  /// was done.
  func insertIfNew(
    _ copy: IncomingMessage, in cid: Int64, issued: UInt64, saysMarks: Bool
  ) throws(StoreFailure) -> UInt64? {
    guard asked.mostAreNew, !copy.isSealed, try !operationTable.hasOpen(),
      try !annotationTable.hasWaiting(), try !hasForgotten()
    else { return nil }
    let number = counters.lastNumber &+ 1
    // Of one that is stored nothing is kept, so nothing is lost where it is not new.
    let told = try annotationTable.takeOffer(copy.id, in: cid)
    let row = newRow(
      copy, flags: copy.flags.kept.union(told), number: number, issued: issued,
      saysMarks: saysMarks)
    asked.mostAreNew = try put(row, in: cid, was: nil, told: told)
    guard asked.mostAreNew else { return nil }
    counters.lastNumber = number
    return number
  }

  func insert(
    _ copy: IncomingMessage, _ cid: Int64, issued: UInt64, _ saysMarks: Bool,
    _ send: OperationRecord?
  ) throws(StoreFailure) -> UInt64 {
    var message = copy
    if let send { try operationTable.arrive(send, as: copy.id, givesNumber: true) }
    let isForgotten = try isForgotten(copy.id, in: cid)
    if isForgotten { message = copy.placeholder }
    message.flags.formUnion(try operationTable.derivedFlags(copy.id, in: cid))
    let told = isForgotten ? [] : try annotationTable.takeOffer(copy.id, in: cid)
    message.flags.formUnion(told)
    var row = newRow(
      message, flags: message.flags, number: send?.number ?? nextNumber(), issued: issued,
      saysMarks: saysMarks)
    if let waiting = try annotationTable.takeWaiting(copy.id, in: cid), !isForgotten {
      row.lay(waiting, user: user)
    }
    try dropKnownMarks(&row.message, in: cid)
    guard try put(row, in: cid, was: send?.row, told: told) else {
      // It was looked for before, so two pages of the file contradict each other.
      throw .damaged
    }
    asked.mostAreNew = true
    return row.number
  }

  /// The row of a copy, with these flags. Where it does not say marks, whatever says
  /// something of them is newer.
  private func newRow(
    _ copy: IncomingMessage, flags: RowFlags, number: UInt64, issued: UInt64,
    saysMarks: Bool
  ) -> StoredMessage {
    StoredMessage(
      message: copy.asNew(flags), number: number, lsn: lsn, issued: issued,
      marked: saysMarks ? issued : 0, pinIssued: saysMarks ? issued : 0,
      reactionsVersion: saysMarks ? copy.version : nil)
  }

  /// Inserts a row, and tells of it. False where the place or the id is taken.
  private func put(
    _ row: StoredMessage, in cid: Int64, was before: RowState?, told: RowFlags = []
  ) throws(StoreFailure) -> Bool {
    let connection = try connection
    try connection.runNoted(
      """
      INSERT OR IGNORE INTO message (cid, time, key, number, flags, lsn, issued, marked, version,
        edited_us, sender, stamp, reply_to, reactions, read_by, payload, rest, raw, sent_us,
        pin_issued, reactions_version, delivered_by, listened_by, digest)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ) { row.bind(to: &$0, in: cid) }
    guard connection.changes > 0 else { return false }
    memo?.entry(cid).summary = nil
    noteRows(cid, change: 1)
    let state = row.message.state
    try feedTable.noteChange(cid, number: row.number, was: before, now: state, told: told)
    if state.isVisible {
      inserted.insert(
        RowKey(number: row.number, position: state.position, revision: row.lsn), cid)
    }
    return true
  }
}

extension IncomingMessage {
  /// What is stored of it where nothing is yet.
  fileprivate func asNew(_ flags: RowFlags) -> IncomingMessage {
    IncomingMessage(
      id: id, sender: sender, timeUs: timeUs, order: order, rank: rank, stamp: stamp,
      payload: payload,
      flags: flags, version: version, editedUs: editedUs, replyTo: replyTo,
      reactions: reactions, readBy: ReaderList.union(nil, added: readBy),
      deliveredBy: ReaderList.union(nil, added: deliveredBy),
      listenedBy: ReaderList.union(nil, added: listenedBy), rest: rest, raw: raw,
      searchable: searchable, digest: digest, written: nil, clientID: nil, sentPayload: nil)
  }
}

extension StoredMessage {
  /// The columns of a new row, in the order of the statement that inserts it.
  fileprivate func bind(to row: inout Parameters, in cid: Int64) {
    row.bind(cid)
    row.bind(message.order)
    row.bind(message.position.key)
    row.bind(number)
    row.bind(message.flags.rawValue)
    row.bind(lsn)
    row.bind(issued)
    row.bind(marked)
    row.bind(message.version)
    row.bind(message.editedUs)
    row.bind(message.sender)
    row.bind(message.stamp)
    row.bind(message.replyTo)
    row.bind(message.reactions)
    row.bind(message.readBy)
    row.bind(message.payload)
    row.bind(message.rest)
    row.bind(message.rawColumn)
    row.bind(message.sentUs)
    row.bind(pinColumn)
    row.bind(reactionsVersion)
    row.bind(message.deliveredBy)
    row.bind(message.listenedBy)
    row.bind(message.digest)
  }
}
