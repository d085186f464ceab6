/// Messages: taking in a copy that the server gave.
///
/// Each id is stored at most once. A copy is checked against the tombstones,
/// merged into the row that is there, and where nothing came of it nothing is
/// written. A changed server time moves the row; its local number stays.
internal import Base
internal import Timeline

extension WriteTransaction {
  /// Takes in one message. `issued` is the sequence number at which the request
  /// that brought it was issued; for a push, the number of this commit. A copy that
  /// does not `sayMarks` leaves reactions and pin as they are, or wait. A first copy, of a push
  /// that tells a message as new, may have been overtaken by an edit: see `merged`. An edit was
  /// pushed as one, whether or not the copy says so. What is derived
  /// from the entries of a log is as it is now, whatever the row says. A copy that `revives` was
  /// requested, or pushed, after the message's deletion was known: the message is back.
  package func apply(
    _ message: IncomingMessage, _ cid: Int64, issued: UInt64, saysMarks: Bool = true,
    isFirst: Bool = false, isEdit: Bool = false, isDerived: Bool = false, revives: Bool = false
  ) throws(StoreFailure) -> Applied {
    applied = (message.rank, false)
    var bar = try bar(message, in: cid)
    let isBack = revives && bar.map { $0.lsn <= issued } ?? false
    if isBack {
      try removeTombstone(message.id, in: cid)
      bar = nil
    }
    if bar == nil,
      let number = try insertIfNew(message, in: cid, issued: issued, saysMarks: saysMarks)
    {
      try name(message, clientID: message.clientID, in: cid)
      return isBack ? .returned(number) : .inserted(number)
    }
    var copy = message
    copy.keepWhatIsStored()
    let stored = bar == nil ? try storedMessage(copy.id, in: cid) : nil
    let send = try operationTable.openSend(
      of: message, in: cid, isKnown: bar != nil || stored != nil)
    if let bar {
      if let send { try operationTable.settle(send, as: copy.id, givesNumber: false) }
      traceTable.note(.ignored, copy.id, in: cid, order: copy.order)
      return bar.lsn <= issued ? .tombstoned : .overtaken
    }
    try reveal(&copy, told: message, in: cid, send: send)
    let result: Applied
    if let stored {
      try NamedLastTable(self, cid).noteShown(stored, issued: issued)
      // The row that came first stays: a screen may show it by its number.
      if let send { try operationTable.arrive(send, as: copy.id, givesNumber: false) }
      result = try merge(
        copy, into: stored, in: cid, issued: issued, saysMarks: saysMarks,
        isFirst: isFirst, isEdit: isEdit, hasSettled: send != nil, isDerived: isDerived)
    } else {
      let number = try insert(copy, cid, issued: issued, saysMarks, send)
      result = isBack ? .returned(number) : .inserted(number)
    }
    try name(copy, clientID: message.clientID ?? send?.clientID, in: cid)
    return result
  }

  /// The client id of this user's message, by which it is found as long as it is stored.
  private func name(
    _ copy: IncomingMessage, clientID: [UInt8]?, in cid: Int64
  ) throws(StoreFailure) {
    guard let clientID, copy.flags.contains(.mine) else { return }
    try connection.run(
      "UPDATE message SET client_id = ?3 WHERE cid = ?1 AND id = ?2 AND client_id IS NOT ?3",
      cid, copy.id, clientID)
  }

  private func merge(
    _ copy: IncomingMessage, into known: StoredMessage, in cid: Int64, issued: UInt64,
    saysMarks: Bool, isFirst: Bool, isEdit: Bool, hasSettled: Bool, isDerived: Bool
  ) throws(StoreFailure) -> Applied {
    var stored = known
    var copy = copy
    // What a page has shown is no news where another shows it again; a push says that it is. What
    // came another way, as with a list, is news for the first page that could have brought it.
    if feed.origin != .pushed, !stored.message.flags.isDisjoint(with: [.offered, .history]) {
      copy.flags.subtract([.offered, .history])
    }
    if copy.order == stored.message.order { applied.rank = stored.message.rank }
    // Nothing of the row outranks what is derived; of an import what was opened may.
    let outranksAll = isDerived && !stored.message.flags.contains(.imported)
    let restored = outranksAll ? .max : try restoredLSN(cid)
    let isLost = stored.lsn < restored
    applied.isAnother = !isLost && !isDerived && stored.isAnother(than: copy)
    if stored.message.flags.contains(.forgotten) {
      try movePlaceholder(stored, to: copy, in: cid, issued: issued, isLost: isLost)
      traceTable.note(.ignored, copy.id, in: cid, order: copy.order)
      return .forgotten(stored.number)
    }
    if hasSettled {
      // What waited for it lies over this row now.
      stored.message.flags.replace(
        .derived, from: try operationTable.derivedFlags(copy.id, in: cid))
    }
    var result = stored.merged(
      with: copy, issued: issued, restored: restored, saysMarks: saysMarks, isFirst: isFirst,
      isEdit: isEdit, othersEdit: rules.othersEdit)
    let isChanged = result.message != stored.message
    // A row of a lost epoch that the server still has is marked as seen again.
    if isTraced, !copy.isSealed, result.message.payload != copy.payload {
      traceTable.note(.ignored, copy.id, in: cid, order: copy.order)
    }
    guard isChanged || isLost && !isDerived else { return .unchanged(stored.number) }
    result.lsn = lsn
    try dropKnownMarks(&result.message, in: cid)
    if let list = result.message.deliveredBy, list != stored.message.deliveredBy,
      ReaderList.contains(user, list: list)
    {
      try annotationTable.dropMark(.markDelivered, id: copy.id, in: cid)
    }
    try write(result, over: stored, cid)
    guard isChanged else { return .unchanged(stored.number) }
    try feedTable.noteChange(
      cid, number: stored.number, was: stored.message.state, now: result.message.state,
      trace: isTraced && result.message.hasMarksOnly(besides: stored.message) ? .marks : .none)
    return .updated(stored.number)
  }

  /// Drops pending marks that the server's copy has already.
  func dropKnownMarks(
    _ message: inout IncomingMessage, in cid: Int64
  ) throws(StoreFailure) {
    if message.flags.contains([.readByMe, .readQueued]) {
      try annotationTable.dropMark(.markRead, id: message.id, in: cid)
      message.flags.remove(.readQueued)
    }
    if message.flags.contains([.listenedByMe, .listenQueued]) {
      try annotationTable.dropMark(.markListened, id: message.id, in: cid)
      message.flags.remove(.listenQueued)
    }
  }

  /// The tombstone that keeps the message out. A server version newer than the deletion
  /// removes it.
  private func bar(_ copy: IncomingMessage, in cid: Int64) throws(StoreFailure) -> Deletion? {
    guard let deletion = try deletion(copy.id, in: cid) else { return nil }
    if let version = copy.version, let deleted = deletion.version, version > deleted {
      try removeTombstone(copy.id, in: cid)
      return nil
    }
    return deletion
  }

  private func removeTombstone(_ id: [UInt8], in cid: Int64) throws(StoreFailure) {
    try connection.run("DELETE FROM tombstone WHERE cid = ? AND id = ?", cid, id)
  }

  /// The time of the oldest message as the server printed it.
  package func oldestStamp(_ cid: Int64) throws(StoreFailure) -> [UInt8]? {
    let row = try connection.statement(Queries.oldestStamp, cid)
    return try row.step() ? row.bytes(0) : nil
  }

  /// The whole row of an id.
  func storedMessage(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> StoredMessage? {
    let row = try connection.statement(Queries.stored, cid, id)
    guard try row.step() else { return nil }
    var message = IncomingMessage(
      id: id, sender: row.bytes(8), timeUs: row.optionalInt(16) ?? row.int(0), stamp: row.bytes(9),
      payload: row.bytes(13), flags: RowFlags(rawValue: row.int(2)),
      version: row.optionalInt(6), editedUs: row.optionalInt(7),
      replyTo: row.optionalBytes(10), reactions: row.optionalBytes(11),
      readBy: row.optionalBytes(12), rest: row.bytes(14),
      order: row.int(0), deliveredBy: row.optionalBytes(19), listenedBy: row.optionalBytes(20))
    message.rawColumn = row.optionalBytes(15)
    message.digest = row.optionalInt(21)
    message.rank = Position(time: message.order, key: row.bytes(22)).rank
    var stored = StoredMessage(
      message, number: row.uint(1), lsn: row.uint(3), issued: row.uint(4))
    stored.marked = row.uint(5)
    stored.pinIssued = row.isNull(17) ? stored.marked : row.uint(17)
    stored.reactionsVersion = row.optionalInt(18)
    return stored
  }

  /// Writes a row over the one that it was. Only a move touches the indexes.
  func write(
    _ row: StoredMessage, over old: StoredMessage, _ cid: Int64
  ) throws(StoreFailure) {
    let message = row.message
    if message.order != old.message.order || message.rank != old.message.rank {
      try connection.run(
        "UPDATE message SET time = ?, key = ? WHERE cid = ? AND time = ? AND key = ?",
        message.order, message.position.key, cid, old.message.order, old.message.position.key)
    }
    try connection.run(
      """
      UPDATE message SET flags = ?, lsn = ?, issued = ?, marked = ?, version = ?, edited_us = ?,
        sender = ?, stamp = ?, reply_to = ?, reactions = ?, read_by = ?, payload = ?, rest = ?,
        raw = ?, sent_us = ?, pin_issued = ?, reactions_version = ?, delivered_by = ?,
        listened_by = ?, digest = ?
      WHERE cid = ? AND time = ? AND key = ?
      """, message.flags.rawValue, row.lsn, row.issued, row.marked, message.version,
      message.editedUs, message.sender, message.stamp, message.replyTo, message.reactions,
      message.readBy, message.payload, message.rest, message.rawColumn, message.sentUs,
      row.pinColumn, row.reactionsVersion, message.deliveredBy, message.listenedBy, message.digest,
      cid, message.order, message.position.key)
  }

  /// Keeps an empty row where the server has the message, so that a range that
  /// holds it stays comparable with the server's.
  private func movePlaceholder(
    _ placeholder: StoredMessage, to copy: IncomingMessage, in cid: Int64, issued: UInt64,
    isLost: Bool
  ) throws(StoreFailure) {
    var row = placeholder
    let isMoved =
      copy.order != placeholder.message.order || copy.timeUs != placeholder.message.timeUs
    if isMoved, isLost || issued >= placeholder.issued {
      if copy.order != row.message.order { row.message.rank = copy.rank }
      row.message.order = copy.order
      row.message.timeUs = copy.timeUs
      row.issued = issued
    }
    guard isLost || row != placeholder else { return }
    row.lsn = lsn
    try write(row, over: placeholder, cid)
  }

  /// Erases a message on this device: an empty, hidden row stays in its place,
  /// against which every later copy is dropped. The id is remembered by itself, for
  /// a row may go and a restored server bring the message again. Nil where there is none.
  package func forget(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> UInt64? {
    guard let stored = try storedMessage(id, in: cid) else { return nil }
    guard !stored.message.flags.contains(.forgotten) else { return stored.number }
    var placeholder = stored
    placeholder.message = stored.message.placeholder
    try write(placeholder, over: stored, cid)
    try operationTable.eraseDone(on: id, in: cid)
    try connection.run("INSERT OR IGNORE INTO forgotten (cid, id) VALUES (?, ?)", cid, id)
    asked.someForgotten = true
    try feedTable.noteChange(
      cid, number: stored.number, was: stored.message.state, now: placeholder.message.state)
    return stored.number
  }

  /// Mostly nothing was forgotten, which is asked once a transaction.
  func hasForgotten() throws(StoreFailure) -> Bool {
    if let known = asked.someForgotten ?? memo?.some.forgotten { return known }
    let isSome = try connection.number("SELECT 1 FROM forgotten LIMIT 1") != nil
    asked.someForgotten = isSome
    memo?.some.forgotten = isSome
    return isSome
  }

  func isForgotten(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Bool {
    guard try hasForgotten() else { return false }
    return try connection.statement(Queries.forgotten, cid, id).step()
  }

  /// `restoredLSN` of a conversation, without a copy of all that is known of it.
  func restoredLSN(_ cid: Int64) throws(StoreFailure) -> UInt64 {
    // What is changed is remembered with what was read.
    if let lsn = try known?.entry(cid).record?.restoredLSN { return lsn }
    return try conversation(cid: cid)?.restoredLSN ?? 0
  }
}

extension IncomingMessage {
  /// What is left of a forgotten message: its place.
  var placeholder: IncomingMessage {
    var left = IncomingMessage(
      id: id, sender: [], timeUs: timeUs, stamp: [], payload: [],
      flags: flags.intersection(RowFlags.derived.union([.mine, .readByMe, .listenedByMe]))
        .union(.forgotten),
      version: version, order: order)
    left.rank = rank
    return left
  }

  var state: RowState { RowState(position: position, flags: flags) }

  /// Whether it says the same as another copy, but for receipts, reactions and the pin.
  func hasMarksOnly(besides other: IncomingMessage) -> Bool {
    let marks = RowFlags.growing.union(.derived).union(.marks)
    return payload == other.payload && rest == other.rest && sender == other.sender
      && editedUs == other.editedUs && replyTo == other.replyTo
      && flags.subtracting(marks) == other.flags.subtracting(marks)
  }

  /// The column of the server's time, empty where the position says it.
  var sentUs: Int64? { timeUs == order ? nil : timeUs }
}

extension StoredMessage {
  /// The column of the pin's stamp, empty where it is that of the reactions.
  var pinColumn: UInt64? { pinIssued == marked ? nil : pinIssued }
}

extension WriteTransaction {
  /// Tells items apart that are at hand together. It means nothing in another process, so it is
  /// not stored.
  package static func digest(_ bytes: ArraySlice<UInt8>) -> Int64 {
    ContentDigest.ofProcess(bytes)
  }
}
