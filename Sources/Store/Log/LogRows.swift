/// The entries of one conversation in the file: the log's door to the table `entry`.
///
/// It lives for one write transaction. Messages and changes are rows of one table, each at a place
/// that no other has; what a message shows is written into its row of `message` when an input has
/// been taken (`LogProjection`).
internal import Base
package import Timeline

package struct LogRows: LogTable {
  package typealias Failure = StoreFailure

  let tx: WriteTransaction
  let cid: Int64

  package init(_ tx: WriteTransaction, _ cid: Int64) {
    self.tx = tx
    self.cid = cid
  }

  // MARK: Looking

  /// By its target's index: in the order of places the planner would read the whole conversation.
  static let lastEdit: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry INDEXED BY entry_target
    WHERE cid = ? AND target = ? AND kind = 1 AND place BETWEEN ? AND ?
    ORDER BY place DESC LIMIT 1
    """

  static let lastEditByUser: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry INDEXED BY entry_edits
    WHERE cid = ? AND target = ? AND user = ? AND kind = 1 AND place BETWEEN ? AND ?
    ORDER BY place DESC LIMIT 1
    """

  package func row(_ id: [UInt8]) throws(StoreFailure) -> LogRow? {
    try one(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry WHERE cid = ? AND id = ?
        """, cid, id))
  }

  package func rows(from low: Place, through high: Place) throws(StoreFailure) -> [LogRow] {
    guard low <= high else { return [] }
    return try all(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry WHERE cid = ? AND place BETWEEN ? AND ? ORDER BY place
        """, cid, low, high))
  }

  package func count(from low: Place, through high: Place) throws(StoreFailure) -> Int {
    let count = try tx.connection.number(
      "SELECT count(*) FROM entry WHERE cid = ? AND place BETWEEN ? AND ?", cid, low, high)
    return Int(clamping: count ?? 0)
  }

  package func first(above place: Place, through high: Place) throws(StoreFailure) -> LogRow? {
    try row(1, above: place, through: high)
  }

  package func last(below place: Place, from low: Place) throws(StoreFailure) -> LogRow? {
    try row(1, below: place, from: low)
  }

  package func row(
    _ distance: Int, above place: Place, through high: Place
  ) throws(StoreFailure) -> LogRow? {
    try one(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry WHERE cid = ? AND place > ? AND place <= ? ORDER BY place LIMIT 1 OFFSET ?
        """, cid, place, high, distance - 1))
  }

  package func row(
    _ distance: Int, below place: Place, from low: Place
  ) throws(StoreFailure) -> LogRow? {
    try one(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry WHERE cid = ? AND place < ? AND place >= ? ORDER BY place DESC LIMIT 1 OFFSET ?
        """, cid, place, low, distance - 1))
  }

  package func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Place, through high: Place
  ) throws(StoreFailure) -> LogRow? {
    guard let user else {
      return try one(tx.connection.statement(Self.lastEdit, cid, target, low, high))
    }
    return try one(tx.connection.statement(Self.lastEditByUser, cid, target, user, low, high))
  }

  package func isShown(_ edit: LogRow, in row: LogRow) throws(StoreFailure) -> Bool {
    guard let edit = try LogBody.message(edit.entry.content, id: edit.id),
      let message = try LogBody.message(row.entry.content, id: row.id)
    else { return false }
    return message.isShowing(edit: edit)
  }

  package func markedInPlace(
    from low: Place, through high: Place
  ) throws(StoreFailure) -> [LogRow] {
    try all(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry INDEXED BY entry_marked
        WHERE cid = ? AND flags & 7 /* LogRows.changedInPlace */ != 0 AND place BETWEEN ? AND ?
        ORDER BY place
        """, cid, low, high))
  }

  package func edited(received: Range<UInt64>) throws(StoreFailure) -> [LogRow] {
    try all(
      tx.connection.statement(
        Self.editedSince, cid, Int64(clamping: received.lowerBound),
        Int64(clamping: received.upperBound))
    )
  }

  static let editedSince: StaticString = """
    SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
    FROM entry INDEXED BY entry_edited
    WHERE cid = ? AND flags & 6 /* LogRows.anyEdit */ != 0 AND heard >= ? AND heard < ?
    """

  package func lastWithoutTarget(isClaimed: Bool) throws(StoreFailure) -> Place? {
    try tx.connection.number(Self.lastWithoutTarget, cid, isClaimed ? 0 : Self.unclaimed)
      .map { Place($0) }
  }

  static let lastWithoutTarget: StaticString = """
    SELECT place FROM entry INDEXED BY entry_blurred
    WHERE cid = ? AND flags & 8 /* LogRows.unclaimed */ = ?
      AND flags & 1 /* LogRows.deleted */ != 0 AND kind IS NOT NULL AND target IS NULL
    ORDER BY place DESC LIMIT 1
    """

  package func unclaimed(above place: Place) throws(StoreFailure) -> LogRow? {
    try one(
      tx.connection.statement(
        """
        SELECT id, place, stored, heard, flags, time, kind, target, user, detail, editor, body
        FROM entry INDEXED BY entry_doubted
        WHERE cid = ? AND flags & 8 /* LogRows.unclaimed */ != 0 AND place > ?
        ORDER BY place LIMIT 1
        """, cid, place))
  }

  static let unclaimedPlaces: StaticString = """
    SELECT place FROM entry INDEXED BY entry_doubted
    WHERE cid = ? AND flags & 8 /* LogRows.unclaimed */ != 0 ORDER BY place DESC LIMIT ?
    """

  /// The places of which nothing is claimed, the newest first.
  func unclaimedPlaces() throws(StoreFailure) -> [SpanSet.Span] {
    let row = try tx.connection.statement(Self.unclaimedPlaces, cid, Limits.spansMax)
    var places: [SpanSet.Span] = []
    while try row.step() {
      places.append(SpanSet.Span(low: .before(row.place(0)), high: .after(row.place(0))))
    }
    return places
  }

  // MARK: Writing

  package func put(_ row: LogRow) throws(StoreFailure) {
    let connection = try tx.connection
    let entry = row.entry
    let (kind, detail) = try Self.columns(entry.change?.kind)
    var editor: [UInt8]?
    if case .by(let id) = entry.edited { editor = id }
    func bind(_ columns: inout Parameters) {
      columns.bind(row.place.value)
      columns.bind(row.stored)
      columns.bind(row.received)
      columns.bind(Self.flags(row))
      columns.bind(entry.timeUs)
      columns.bind(kind)
      columns.bind(entry.change?.target)
      columns.bind(entry.change?.user ?? entry.sender)
      columns.bind(detail)
      columns.bind(editor)
      columns.bind(entry.content)
      columns.bind(cid)
      columns.bind(row.id)
    }
    try connection.runNoted(
      """
      UPDATE entry SET place = ?, stored = ?, heard = ?, flags = ?, time = ?, kind = ?, target = ?,
        user = ?, detail = ?, editor = ?, body = ?
      WHERE cid = ? AND id = ?
      """, binding: bind)
    guard connection.changes == 0 else { return }
    try connection.runNoted(
      """
      INSERT INTO entry (place, stored, heard, flags, time, kind, target, user, detail, editor,
        body, cid, id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, binding: bind)
  }

  package func remove(_ id: [UInt8]) throws(StoreFailure) {
    try tx.connection.runNoted("DELETE FROM entry WHERE cid = ? AND id = ?", cid, id)
  }
}

// MARK: Columns

extension LogRows {
  static let deleted: Int64 = 1
  static let edited: Int64 = 2
  static let editedBy: Int64 = 4
  static let unclaimed: Int64 = 8
  static let anyEdit = edited | editedBy
  static let changedInPlace = deleted | anyEdit

  private static func flags(_ row: LogRow) -> Int64 {
    var flags = row.entry.isDeleted ? deleted : 0
    switch row.entry.edited {
    case .no: break
    case .unnamed: flags |= edited
    case .by: flags |= editedBy
    }
    return row.isClaimed ? flags : flags | unclaimed
  }

  func one(_ row: consuming Statement) throws(StoreFailure) -> LogRow? {
    try row.step() ? try Self.row(row) : nil
  }

  func all(_ row: consuming Statement) throws(StoreFailure) -> [LogRow] {
    var rows: [LogRow] = []
    while try row.step() { rows.append(try Self.row(row)) }
    return rows
  }

  static func row(_ row: borrowing Statement) throws(StoreFailure) -> LogRow {
    let flags = row.int(4)
    var entry = LogEntry(
      id: row.bytes(0), timeUs: row.optionalInt(5), isDeleted: flags & deleted != 0,
      content: row.bytes(11))
    if flags & edited != 0 { entry.edited = .unnamed }
    if flags & editedBy != 0 { entry.edited = .by(row.bytes(10)) }
    if let kind = row.optionalInt(6) {
      entry.change = LogChange(
        try self.kind(kind, row.optionalBytes(9)), of: row.optionalBytes(7), by: row.bytes(8))
    } else {
      // Files of form 13 have it only in what the message says.
      let sender = row.optionalBytes(8)
      entry.sender =
        if let sender { sender } else {
          try LogBody.message(entry.content, id: entry.id)?.sender ?? []
        }
    }
    let place = row.place(1)
    // The log reckons with places that it has given.
    guard logPlaces.contains(place) else { throw .damaged }
    var found = LogRow(entry: entry, place: place, stored: row.uint(2), received: row.uint(3))
    found.isClaimed = flags & unclaimed == 0
    return found
  }

  static let deletionKind: Int64 = 2
  static let pinKind: Int64 = 6
  static let unpinKind: Int64 = 7
  static let moderationKind: Int64 = 8

  /// What a change does, as a number of the file's format, and what belongs to it.
  private static func columns(
    _ kind: LogChange.Kind?
  ) throws(StoreFailure) -> (Int64?, [UInt8]?) {
    switch kind {
    case nil: return (nil, nil)
    case .some(.none): return (0, nil)
    case .edit: return (1, nil)
    case .delete: return (deletionKind, nil)
    case .react(let reaction): return (3, reaction)
    case .unreact(let reaction): return (4, reaction)
    case .reactions(let all):
      var packer = ColumnPacker()
      for reaction in all { packer.bind(reaction) }
      return (5, packer.packed)
    case .pin: return (pinKind, nil)
    case .unpin: return (unpinKind, nil)
    case .moderate: return (moderationKind, nil)
    }
  }

  private static func kind(
    _ kind: Int64, _ detail: [UInt8]?
  ) throws(StoreFailure) -> LogChange.Kind {
    switch kind {
    case 0: return LogChange.Kind.none
    case 1: return .edit
    case deletionKind: return .delete
    case 3: return .react(detail ?? [])
    case 4: return .unreact(detail ?? [])
    case 5:
      guard let all = PackedColumns(detail ?? []) else { throw .damaged }
      return .reactions((0..<all.count).map { all.bytes($0) })
    case pinKind: return .pin
    case unpinKind: return .unpin
    case moderationKind: return .moderate
    default: throw .damaged
    }
  }
}
