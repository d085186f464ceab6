/// From a conversation's log to what a screen reads: after each input the rows of its messages, the
/// ranges that are whole, and the places of markers are brought to where the log is.
///
/// Rule protected: a row of `message` stands at the place of its entry and shows the state that is
/// derived from all entries of it, in the transaction that changed any of them. A row keeps its
/// number wherever it goes.
internal import Base
package import Timeline

package struct LogProjection {
  let tx: WriteTransaction
  let cid: Int64

  /// What it did to rows of messages.
  package struct Written {
    /// Where new ones stand.
    package var inserted: [Position] = []
    package var removed = 0
  }

  package init(_ tx: WriteTransaction, _ cid: Int64) {
    self.tx = tx
    self.cid = cid
  }

  /// - Parameters:
  ///   - arrivals: the copies of this input, with what each says of how it came.
  ///   - news: which messages are new to this device, and which are not.
  package func write(
    _ step: LogStep, of book: LogBook<LogRows>, arrivals: [[UInt8]: IncomingMessage],
    news: [[UInt8]: RowFlags]
  ) throws(StoreFailure) -> Written {
    var written = Written()
    var seen = IDSet()
    var messages: [(place: Place, row: LogRow)] = []
    let all = [step.removed, step.moved, step.inserted, step.updated, step.touched]
    for id in all.joined() where !seen.contains(id) {
      seen.insert(id)
      if let row = try book.table.row(id), row.entry.change == nil {
        messages.append((row.place, row))
      } else if try remove(id) {
        written.removed &+= 1
      }
    }
    // Numbers are given in the order of the log.
    messages.sort { $0.place < $1.place }
    tx.counting.movesEntries = !step.moved.isEmpty
    if tx.counting.movesEntries || !step.removed.isEmpty { try moveMarkers(in: book) }
    let reactions = LogReactions(tx, cid, step)
    for (_, row) in messages {
      guard var message = try message(row, of: book, arrival: arrivals[row.id]) else { continue }
      message.flags.formUnion(news[row.id] ?? [])
      message.reactions = try reactions.shown(of: message, in: book)
      let applied = try tx.apply(message, cid, issued: tx.lsn, isDerived: true)
      if case .inserted = applied { written.inserted.append(message.position) }
    }
    if tx.counting.movesEntries { try recount() }
    tx.counting.movesEntries = false
    try moveQuarantine(step, of: book)
    return written
  }

  /// A message as it is after all its changes.
  private func message(
    _ row: LogRow, of book: LogBook<LogRows>, arrival: IncomingMessage?
  ) throws(StoreFailure) -> IncomingMessage? {
    guard var message = try LogBody.message(row.entry.content, id: row.id),
      let state = try book.state(of: row.id, withReactions: false)
    else { return nil }
    message.order = row.place.value
    // Every other entry that is ordered by time came from this server.
    let isImported =
      row.received == 0 && book.range(holding: row.place).map { book.ranges[$0].isByTime } ?? false
    if isImported { message.flags.insert(.imported) }
    if state.isEdited {
      message.flags.insert(.edited)
      if state.content != row.entry.content,
        let edit = try LogBody.message(state.content, id: row.id)
      {
        message.show(edit: edit)
      }
    } else if isImported, message.editedUs != nil {
      message.flags.insert(.edited)
    } else {
      message.editedUs = nil
    }
    if state.isModerated { message.flags.insert(.moderated) }
    if state.isDeleted { message.showDeleted() }
    if state.isPinned { message.flags.insert(.pinned) }
    if let arrival {
      message.flags.formUnion(arrival.flags.intersection(Self.ofArrival))
      message.clientID = arrival.clientID
      message.sentPayload = arrival.sentPayload
      message.written = arrival.written
    }
    return message
  }

  private static let ofArrival: RowFlags = [.offered, .history, .silent]

  /// The log has no such message: it was rolled back, has left it, or was no message.
  private func remove(_ id: [UInt8]) throws(StoreFailure) -> Bool {
    guard let position = try tx.row(id, cid)?.position else { return false }
    return try tx.remove(position, cid) != nil
  }

  // MARK: Ranges

  /// Writes what is whole: each range that is claimed, without the entries that are not.
  package func writeSpans(of book: LogBook<LogRows>) throws(StoreFailure) {
    var spans = SpanSet()
    for range in book.ranges where !range.isUnverified {
      let low: Position = range.start == nil ? .before(range.low) : .min
      spans.insert(low, .after(range.high))
    }
    if let empty = book.facts.empty, book.ranges.isEmpty, empty.request > 0 {
      // There is nothing, and that is known.
      spans.insert(.min, .after(timestampGroup: .min))
    }
    for holes in [try book.table.unclaimedPlaces(), try tx.newestQuarantined(cid)] {
      // Of very many only the newest are read, and nothing is claimed below those.
      if holes.count == Limits.spansMax, let last = holes.last { spans.remove(.min, last.high) }
      for hole in holes.reversed() { spans.remove(hole.low, hole.high) }
    }
    if let place = try book.untrustedBelow() { spans.remove(.min, .after(place)) }
    spans.keepNewest(Limits.spansMax)
    try tx.save(spans: spans, replacing: try tx.spans(cid), in: cid)
  }

  // MARK: What goes where its message goes

  /// Markers name messages, and go first where those go: what comes is compared with them.
  private func moveMarkers(in book: LogBook<LogRows>) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    let told = try tx.unreadReader.serverMarker(cid)
    let toldNow = try place(of: told, in: book)
    if toldNow != told { try tx.conversationTable.note(serverMarker: toldNow, of: cid) }
    let old = tally.marker
    tally.marker = try place(of: old, in: book)
    tally.top = try place(of: tally.top, in: book)
    tx.change(cid, to: tally)
    if let old, let now = tally.marker, old != now {
      _ = try tx.unreadTable.passUnread(cid, from: min(old, now), to: max(old, now))
    }
  }

  /// Where the message of a place is to stand. One that has left the log leaves its place right
  /// above the message below it, or below the one above.
  private func place(
    of old: Position?, in book: LogBook<LogRows>
  ) throws(StoreFailure) -> Position? {
    guard let old else { return nil }
    if let row = try book.table.row(old.id) { return Position(place: row.place, id: old.id) }
    if let below = try tx.rows(cid, from: .min, to: old, limit: 1, newestFirst: true).first,
      let row = try book.table.row(below.position.id)
    {
      return Position(place: row.place, id: row.id)
    }
    if let above = try tx.rows(
      cid, from: old, to: ReadTransaction.beyond, limit: 1, newestFirst: false
    ).first, let row = try book.table.row(above.position.id) {
      return .before(row.place)
    }
    return old
  }

  /// Rows may have passed the marker: which of them the server counted is not known any more.
  private func recount() throws(StoreFailure) {
    var tally = try tx.tally(cid)
    let here = try tx.unreadReader.countUnread(
      cid, from: tally.marker?.successor ?? .min, to: ReadTransaction.beyond)
    if here == tally.here { return }
    tally.here = here
    tx.change(cid, to: tally)
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
    try tx.unreadTable.doubt(cid)
  }

  /// What could not be read hides the place of its entry, wherever that is.
  private func moveQuarantine(
    _ step: LogStep, of book: LogBook<LogRows>
  ) throws(StoreFailure) {
    guard try tx.someQuarantined(cid) else { return }
    let places = try quarantinedPlaces()
    if places.isEmpty { return }
    for id in [step.moved, step.updated, step.removed].joined() {
      let key = Position(time: 0, id: id).key
      guard let hidden = places[key] else { continue }
      let row = try book.table.row(id)
      for place in hidden {
        guard let row, row.entry.isUnreadable else {
          try tx.connection.run(Self.freeQuarantined, cid, place, key)
          tx.asked.quarantinedCount = nil
          continue
        }
        let behind = Position(place: row.place, id: id).successor
        try tx.connection.run(Self.moveQuarantined, row.place, behind.key, cid, place, key)
      }
    }
  }

  /// Where entries hide that could not be read, by the keys of their ids. They are looked up by
  /// place, so the places are read once and not for each entry that moves.
  private func quarantinedPlaces() throws(StoreFailure) -> [[UInt8]: [Place]] {
    var places: [[UInt8]: [Place]] = [:]
    let statement = try tx.connection.statement(
      "SELECT DISTINCT low_time, low_id FROM quarantine WHERE cid = ? AND low_time >= 0", cid)
    while try statement.step() {
      places[statement.bytes(1), default: []].append(statement.place(0))
    }
    return places
  }

  static let freeQuarantined: StaticString =
    "DELETE FROM quarantine WHERE cid = ? AND low_time = ? AND low_id = ?"

  static let moveQuarantined: StaticString = """
    UPDATE OR REPLACE quarantine SET low_time = ?1, high_time = ?1, high_id = ?2
    WHERE cid = ?3 AND low_time = ?4 AND low_id = ?5
    """
}

extension LogEntry {
  /// An entry that keeps its place and of which nothing could be read.
  package static func unreadable(_ id: [UInt8]) -> LogEntry {
    LogEntry(id: id, change: LogChange(.none, of: nil))
  }

  package var isUnreadable: Bool {
    change?.kind == LogChange.Kind.none && change?.target == nil && content.isEmpty
  }
}
