/// Marks that came before their message, and offers of removed messages.
///
/// Marks wait for it, field by field, and are laid over the first copy of it by
/// the same rules as if they had come behind it. A deletion ends the wait. The
/// number is bounded, the oldest go first and are counted: a server that marks
/// what it never sends cannot fill the file.
///
/// That a message was offered for a notification, and that it was silent, outlasts
/// its row: an offer is once, whatever takes the row out and brings it anew.
internal import Base

/// What waits for one message.
struct WaitingMarks: Equatable {
  /// Stamp of the reactions; nil where none wait.
  var marked: UInt64?
  var reactionsVersion: Int64?
  var reactions: [UInt8]?
  /// Stamp of the pin; nil where none waits.
  var pinIssued: UInt64?
  var isPinned = false
  var lists = ReceiptLists()

  func reactionsYield(to version: Int64?, issued stamp: UInt64) -> Bool {
    guard let marked else { return true }
    if let mine = reactionsVersion, let version, mine != version { return mine < version }
    return marked <= stamp
  }
}

extension StoredMessage {
  /// Lays marks over the first copy. Of two with one stamp the copy stays: it was
  /// received later.
  mutating func lay(_ waiting: WaitingMarks, user: [UInt8]) {
    if let stamp = waiting.marked,
      reactionsYield(to: waiting.reactionsVersion, issued: stamp, isTieNewer: false)
    {
      message.reactions = waiting.reactions
      marked = Swift.max(marked, stamp)
      reactionsVersion = waiting.reactionsVersion ?? reactionsVersion
    }
    if let stamp = waiting.pinIssued, stamp > pinIssued {
      message.flags.replace(.marks, from: waiting.isPinned ? .pinned : [])
      pinIssued = stamp
    }
    message.readBy = ReaderList.union(message.readBy, added: waiting.lists.readBy)
    message.deliveredBy = ReaderList.union(message.deliveredBy, added: waiting.lists.deliveredBy)
    message.listenedBy = ReaderList.union(message.listenedBy, added: waiting.lists.listenedBy)
    if waiting.lists.readBy.map({ ReaderList.contains(user, list: $0) }) ?? false {
      message.flags.insert(.readByMe)
    }
    if waiting.lists.listenedBy.map({ ReaderList.contains(user, list: $0) }) ?? false {
      message.flags.insert(.listenedByMe)
    }
  }
}

extension AnnotationTable {
  /// Changes what waits for an unknown message. For a deleted one nothing waits.
  func wait(
    _ id: [UInt8], in cid: Int64, _ change: (inout WaitingMarks) -> Void
  ) throws(StoreFailure) {
    guard try tx.deletion(id, in: cid) == nil else { return }
    let known = try waiting(id, cid)
    var marks = known ?? WaitingMarks()
    change(&marks)
    guard marks != known else { return }
    if known != nil {
      try tx.connection.run(
        """
        UPDATE waiting SET marked = ?, reactions_version = ?, reactions = ?, pin_issued = ?,
          pinned = ?, read_by = ?, delivered_by = ?, listened_by = ?
        WHERE cid = ? AND id = ?
        """, marks.marked, marks.reactionsVersion, marks.reactions, marks.pinIssued,
        marks.isPinned ? 1 : 0, marks.lists.readBy, marks.lists.deliveredBy,
        marks.lists.listenedBy, cid, id)
      return
    }
    try tx.connection.run(
      """
      INSERT INTO waiting (marked, reactions_version, reactions, pin_issued, pinned, read_by,
        delivered_by, listened_by, cid, id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, marks.marked, marks.reactionsVersion, marks.reactions, marks.pinIssued,
      marks.isPinned ? 1 : 0, marks.lists.readBy, marks.lists.deliveredBy,
      marks.lists.listenedBy, cid, id)
    tx.asked.someWait = true
    try boundWaiting()
  }

  /// What waits for a message, taken out.
  func takeWaiting(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> WaitingMarks? {
    guard let marks = try waiting(id, cid) else { return nil }
    try tx.connection.run("DELETE FROM waiting WHERE cid = ? AND id = ?", cid, id)
    return marks
  }

  /// Mostly nothing waits, which is asked once a transaction.
  func hasWaiting() throws(StoreFailure) -> Bool {
    if let known = tx.asked.someWait ?? tx.memo?.some.wait { return known }
    let isSome = try tx.connection.number("SELECT 1 FROM waiting LIMIT 1") != nil
    tx.asked.someWait = isSome
    tx.memo?.some.wait = isSome
    return isSome
  }

  private func waiting(_ id: [UInt8], _ cid: Int64) throws(StoreFailure) -> WaitingMarks? {
    guard try hasWaiting() else { return nil }
    let row = try tx.connection.statement(Queries.waiting, cid, id)
    guard try row.step() else { return nil }
    return WaitingMarks(
      marked: row.isNull(0) ? nil : row.uint(0), reactionsVersion: row.optionalInt(1),
      reactions: row.optionalBytes(2), pinIssued: row.isNull(3) ? nil : row.uint(3),
      isPinned: row.int(4) != 0, lists: ReceiptLists(row, from: 5))
  }

  // MARK: Offers

  /// A row is removed: keeps whether it was offered for a notification, or silent.
  func keepOffer(_ id: [UInt8], in cid: Int64, _ flags: RowFlags) throws(StoreFailure) {
    let told = flags.intersection(.told)
    guard told != [] else { return }
    try tx.connection.runNoted(
      """
      INSERT INTO offered (cid, id, flags) VALUES (?, ?, ?)
      ON CONFLICT (cid, id) DO UPDATE SET flags = flags | excluded.flags
      """, cid, id, told.rawValue)
    tx.memo?.some.offers = true
    try boundOffers()
  }

  /// All rows go: the same for the newest of them.
  func keepOffers() throws(StoreFailure) {
    try tx.connection.run(
      """
      INSERT INTO offered (cid, id, flags)
      SELECT cid, id, flags FROM
        (SELECT cid, id, flags & ?1 AS flags, number FROM message WHERE flags & ?1 != 0
          ORDER BY number DESC LIMIT ?2)
      WHERE true ORDER BY number
      ON CONFLICT (cid, id) DO UPDATE SET flags = flags | excluded.flags
      """, RowFlags.told.rawValue, Limits.offersKept)
    try boundOffers()
  }

  /// Takes out whether a message that is stored again was offered or silent: its row keeps that.
  func takeOffer(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> RowFlags {
    guard try hasOffers(), let flags = try tx.connection.number(Queries.offered, cid, id) else {
      return []
    }
    try tx.connection.runNoted("DELETE FROM offered WHERE cid = ? AND id = ?", cid, id)
    return RowFlags(rawValue: flags)
  }

  private func hasOffers() throws(StoreFailure) -> Bool {
    if let known = tx.memo?.some.offers { return known }
    let isSome = try tx.connection.number("SELECT 1 FROM offered LIMIT 1") != nil
    tx.memo?.some.offers = isSome
    return isSome
  }

  private func boundOffers() throws(StoreFailure) {
    // As below.
    let reach = try tx.connection.number(
      "SELECT (SELECT max(seq) FROM offered) - (SELECT min(seq) FROM offered)")
    guard reach ?? 0 >= Int64(clamping: Limits.offersKept) else { return }
    let count = try tx.connection.number("SELECT count(*) FROM offered") ?? 0
    let extra = count.saturating(minus: Int64(clamping: Limits.offersKept))
    guard extra > 0 else { return }
    try tx.connection.runNoted(
      "DELETE FROM offered WHERE seq IN (SELECT seq FROM offered ORDER BY seq LIMIT ?)", extra)
  }

  private func boundWaiting() throws(StoreFailure) {
    // Numbers have holes, so the rows are counted only where there may be too many.
    let reach = try tx.connection.number(
      "SELECT (SELECT max(seq) FROM waiting) - (SELECT min(seq) FROM waiting)")
    guard reach ?? 0 >= Int64(Limits.waitingKept) else { return }
    let count = try tx.connection.number("SELECT count(*) FROM waiting") ?? 0
    let extra = count - Int64(Limits.waitingKept)
    guard extra > 0 else { return }
    try tx.connection.run(
      "DELETE FROM waiting WHERE seq IN (SELECT seq FROM waiting ORDER BY seq LIMIT ?)", extra)
    try tx.connection.run(
      "UPDATE meta SET waiting_dropped = waiting_dropped + ? WHERE one = 1", extra)
  }
}
